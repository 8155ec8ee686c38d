"""The scenes: boxes that bound, captions and answers that are true, words that point at what they name, the same by seed."""

import pytest
import torch

from utils.data.scenes import COLOURS, OPPOSITE, SHAPES, SIZE, images, scenes, vocabulary


@pytest.fixture(scope="module")
def made():
    return scenes(300, seed=2)


@pytest.fixture(scope="module")
def pictures(made):
    return images(made)


def painted(picture, colour, strictly=0.08):
    """Where a picture has a colour, within a tolerance."""
    return ((picture - torch.tensor(COLOURS[colour])[:, None, None]).abs() < strictly).all(dim=0)


def test_boxes_bound_what_they_name_and_nothing_of_it_lies_outside(made, pictures):
    for scene, picture in zip(made, pictures):
        for thing in scene.things:
            where = painted(picture, thing.colour).nonzero()
            left, top, right, bottom = thing.box
            assert 0 < left < right < SIZE and 0 < top < bottom < SIZE
            assert (where[:, 0] >= top).all() and (where[:, 0] < bottom).all()
            assert (where[:, 1] >= left).all() and (where[:, 1] < right).all()
            spread = where.max(dim=0).values - where.min(dim=0).values
            assert (spread >= min(right - left, bottom - top) - 4).all(), "and they are not larger than they need be"


def test_each_shape_covers_the_share_of_its_box_that_geometry_gives_it(made, pictures):
    share = {"circle": 0.785, "square": 1.0, "triangle": 0.5, "cross": 5 / 9}
    seen = set()
    for scene, picture in zip(made, pictures):
        for thing in scene.things:
            left, top, right, bottom = thing.box
            inside = picture[:, top:bottom, left:right]
            ground = (inside - 0.93).abs().amax(dim=0) < 0.12
            covered = 1 - ground.float().mean()
            assert abs(covered - share[thing.shape]) < 0.16, thing
            seen.add(thing.shape)
    assert seen == set(SHAPES)


def test_captions_are_true(made):
    for scene in made:
        first, second = scene.things
        words = " ".join(scene.caption)
        one, two = (f"a {thing.size} {thing.colour} {thing.shape}" for thing in scene.things)
        assert words.startswith(one) and words.endswith(two)
        relation = words[len(one) + 1 : -len(two) - 1]
        gaps = {
            "left of": first.box[2] < second.box[0],
            "right of": second.box[2] < first.box[0],
            "above": first.box[3] < second.box[1],
            "below": second.box[3] < first.box[1],
        }
        assert [name for name, holds in gaps.items() if holds] == [relation], "this relation and no other"


def test_the_order_of_things_follows_from_the_picture(made):
    relations = set()
    for scene in made:
        first, second = scene.things
        relation = " ".join(scene.caption[4:-4])
        relations.add(relation)
        assert first.size == "large" or second.size == "small"
        assert first.size != second.size or relation in ("left of", "above")
    assert relations == set(OPPOSITE)


def test_every_word_points_at_the_thing_that_it_describes(made):
    for scene in made:
        assert len(scene.mentions) == len(scene.caption)
        for word, place in zip(scene.caption, scene.mentions):
            if place is None:
                assert word in " ".join(OPPOSITE).split()
            else:
                thing = scene.things[place]
                assert word in ("a", thing.size, thing.colour, thing.shape)


def test_things_can_be_told_apart_by_shape_and_by_colour(made):
    assert all(a.shape != b.shape and a.colour != b.colour for a, b in (scene.things for scene in made))


def test_answers_are_true_and_yes_is_as_frequent_as_no(made):
    said = []
    for scene in made:
        by_shape = {thing.shape: thing for thing in scene.things}
        by_colour = {thing.colour: thing for thing in scene.things}
        for question, answer in scene.questions:
            if question[:2] == ("what", "colour"):
                assert by_shape[question[4]].colour == answer
            elif question[:2] == ("which", "shape"):
                assert by_colour[question[3]].shape == answer
            elif question[:2] == ("what", "size"):
                assert by_shape[question[4]].size == answer
            else:
                relation = " ".join(scene.caption[4:-4])
                assert (" ".join(question[3:-3]) == relation) == (answer == "yes")
                said.append(answer)
    assert said.count("yes") == said.count("no") > 0


def test_the_same_seed_gives_the_same_scenes_and_pictures_and_another_seed_others():
    assert scenes(20, seed=1) == scenes(20, seed=1) != scenes(20, seed=3)
    assert torch.equal(images(scenes(5, seed=1)), images(scenes(5, seed=1)))


def test_noise_changes_captions_alone_and_as_many_as_asked_for():
    clean, noisy = scenes(600, seed=4), scenes(600, seed=4, noise=0.3)
    assert [scene.things for scene in clean] == [scene.things for scene in noisy]
    wrong = sum(a.caption != b.caption for a, b in zip(clean, noisy))
    assert 0.24 < wrong / 600 < 0.36
    assert all(a.caption != b.caption for a, b in zip(clean, scenes(600, seed=4, noise=1.0)))
    for bad in (-0.1, 1.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            scenes(1, noise=bad)


def test_the_vocabulary_has_every_word(made):
    words = vocabulary()
    for scene in made:
        assert words.decode(words.encode(scene.caption)) == list(scene.caption)
        for question, answer in scene.questions:
            words.encode([*question, answer])


def test_pictures_are_numbers_from_zero_to_one(pictures):
    assert pictures.shape[1:] == (3, SIZE, SIZE) and pictures.dtype == torch.float32
    assert pictures.min() >= 0 and pictures.max() <= 1
