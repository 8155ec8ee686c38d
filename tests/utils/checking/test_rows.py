"""What was trained is judged by the share of rows that are right: enough pass, too few fail, and the message says where."""

import numpy as np
import pytest
import torch

from autograder.bank.cases.drawing import draw
from autograder.bank.freezing import freeze
from autograder.exercises.unit_03_image_captioning.caption_scenes import MANY, caption_scenes, recognised
from utils.checking import toy_models
from utils.checking.concluding import examine
from utils.checking.records import Helper
from utils.data import scenes


@pytest.fixture(scope="module")
def frozen():
    return freeze(caption_scenes, "rows")


def wrong_in(share: float, place: int):
    """A captioner that is right but for a share of the rows, which are wrong from a place on."""

    def captioner(images):
        words = caption_scenes.reference(images).clone()
        words[: round(share * len(words)), place:] = 5
        return words

    return captioner


@pytest.mark.parametrize(("share", "points"), [(0.0, 4), (0.24, 4), (0.3, 2), (0.5, 2), (0.55, 0), (1.0, 0)])
def test_points_follow_the_share_of_right_rows(frozen, share, points):
    assert examine(frozen, wrong_in(share, 3)).points == points


def test_the_message_says_how_many_rows_are_right_and_where_they_go_wrong(frozen):
    message = " ".join(examine(frozen, wrong_in(0.8, 3)).message.split())
    assert "20% of the rows of captions are right" in message and "50% are asked for" in message
    assert "at position 3 (counted from 0): 64 of 64" in message


def test_an_imperfect_learner_with_a_misconception_is_told_of_it(frozen):
    mistaken = {mistake.name: mistake.object for mistake in caption_scenes.misconceptions}["colours_exchanged"]

    def learner(images):
        words = mistaken(images).clone()
        words[:8] = 7
        return words

    assert examine(frozen, learner).misconception == "colours_exchanged"


def test_a_class_of_its_own_error_is_no_misconception(frozen):
    result = examine(frozen, lambda images: torch.zeros(len(images), scenes.LONGEST, dtype=torch.long))
    assert (result.points, result.misconception, result.problem) == (0, None, "wrong_value")


def test_grading_hands_out_pictures_and_not_how_they_were_drawn():
    (visible,) = {type(case.inputs["images"]) for case in draw(caption_scenes, "seed")}
    assert visible is Helper
    for case in draw(caption_scenes, "seed", grading=True):
        pictures = case.inputs["images"]
        assert isinstance(pictures, np.ndarray) and pictures.shape == (MANY, 3, scenes.SIZE, scenes.SIZE)


def test_a_helper_for_pictures_gives_new_ones_each_time_it_is_asked():
    helper = Helper("scene_images", {"numbers": np.array([3, 8])})
    one, other = (toy_models.build(helper, torch.from_numpy) for _ in range(2))
    one.zero_()
    assert torch.equal(other, scenes.images(scenes.scenes(3, seed=8)))


def test_the_reference_reads_scenes_off_their_pixels_without_a_mistake():
    made = scenes.scenes(400, seed=21)
    for scene, image in zip(made, scenes.images(made), strict=True):
        assert scenes.describe(*recognised(image))[0] == scene.caption
