"""Captions that are changed on purpose: they say what another picture would show, in the words that scenes use."""

import pytest
import torch

from utils.data import captions, scenes
from utils.data.translation import PAD


@pytest.fixture(scope="module")
def made():
    return scenes.scenes(400, seed=3)


def test_exchanged_colours_keep_all_other_words_and_undo_themselves(made):
    for scene in made:
        swapped = captions.colours_swapped(scene.caption)
        one, other = scene.things
        assert [swapped[2], swapped[-2]] == [other.colour, one.colour]
        differing = [i for i, words in enumerate(zip(swapped, scene.caption)) if words[0] != words[1]]
        assert differing == [2, len(swapped) - 2], "the two objects never have one colour"
        assert captions.colours_swapped(swapped) == scene.caption


def test_exchanged_places_are_the_caption_of_the_picture_with_the_two_objects_exchanged(made):
    for scene in made:
        one, other = scene.things
        relation = scenes.OPPOSITE[" ".join(scene.caption[4:-4])]
        wanted, _ = scenes.describe(*scenes.in_order(one, other, relation))
        assert captions.places_swapped(scene.caption) == wanted != scene.caption
        assert captions.places_swapped(wanted) == scene.caption


def test_tokens_are_those_of_scenes(made):
    assert torch.equal(captions.tokens(scene.caption for scene in made), scenes.words(made))
    short = captions.tokens([("a", "small", "red", "circle")])
    assert short.shape == (1, scenes.LONGEST) and (short[0, 5:] == PAD).all()


def test_pairs_that_are_left_out_are_found(made):
    red = [scene for scene in made if captions.shows(scene, [("red", "cross")])]
    assert 0 < len(red) < len(made)
    for scene in made:
        said = " ".join(scene.caption)
        assert captions.shows(scene, [("red", "cross")]) == ("red cross" in said)
    assert len({shape for _, shape in captions.LEFT_OUT}) == len(captions.LEFT_OUT) == len(scenes.SHAPES)
    assert set(captions.LEFT_OUT) < set(captions.PAIRS) and len(captions.PAIRS) == 20


def test_single_objects_are_what_their_captions_say_and_the_same_for_a_seed():
    some = captions.single_objects(captions.PAIRS, seed=4)
    for (colour, shape), scene in zip(captions.PAIRS, some, strict=True):
        assert [(thing.colour, thing.shape) for thing in scene.things] == [(colour, shape)]
        assert scene.caption == ("a", scene.things[0].size, colour, shape)
    assert scenes.images(some).shape == (20, 3, scenes.SIZE, scenes.SIZE)
    assert some == captions.single_objects(captions.PAIRS, seed=4) != captions.single_objects(captions.PAIRS, seed=5)
