"""Exercise 7: a captioner that is trained in the notebook, and judged by what it says of scenes that nobody has seen."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_03_image_captioning.recognise import recognised
from utils.checking.records import Helper
from utils.data.scenes import LONGEST, OPPOSITE, describe, vocabulary
from utils.data.translation import PAD, START, STOP

MANY = 80  # scenes of a case
Captions = Int[Tensor, "B T"]


def _drawn(inputs, sizes, rng):
    return {"images": Helper("scene_images", {"numbers": np.array([MANY, rng.integers(2**31)])})}


@exercise(
    points={"half of the captions": 2, "three captions in four": 2},
    section="Training the captioner",
    source="Xu et al. 2015, Show, Attend and Tell",
    outputs="captions",
    formula="images [B, 3, 48, 48] with values from 0 to 1 give captions [B, 12]: numbers of words, [STOP] behind the last,"
    " then [PAD]",
    cases=[
        Case("half of the captions are right, word by word", part="half of the captions", rows=0.5),
        Case("three captions in four are right, word by word", part="three captions in four", rows=0.75),
    ],
    draws=_drawn,
    differentiable=False,
)
def caption_scenes(images: Tensor) -> Int[Tensor, "B T"]:
    return _told(images, lambda *scene: describe(*scene)[0])


def _told(images: Float[Tensor, "B 3 H W"], said) -> Captions:
    """What `said` makes of two things and their relation, as they were recognised."""
    rows = [vocabulary().encode(said(*recognised(image))) for image in images]
    return torch.tensor([row + [PAD] * (LONGEST - len(row)) for row in rows], device=images.device)


@caption_scenes.misconception
def no_padding_behind(images):
    """The caption goes on after its [STOP]. A caption that has ended gets [PAD] in all places behind."""
    words = caption_scenes.reference(images)
    ended = (words == PAD).cumsum(dim=1) > 0
    return torch.where(ended, words.gather(1, (words == STOP).int().argmax(dim=1, keepdim=True) - 1), words)


@caption_scenes.misconception
def stops_for_padding(images):
    """Behind the first [STOP] stand more of them. One [STOP] ends the caption; behind it stands [PAD]."""
    words = caption_scenes.reference(images)
    return words.masked_fill(words == PAD, STOP)


@caption_scenes.misconception
def start_kept(images):
    """The captions begin with [START]. It is fed to the first step, and is no word of the caption."""
    words = caption_scenes.reference(images)
    return torch.cat([torch.full_like(words[:, :1], START), words[:, :-1]], dim=1)


@caption_scenes.misconception
def first_word_lost(images):
    """The captions lack their first word: the loop keeps what it feeds from the second step on, or cuts off a word too many."""
    words = caption_scenes.reference(images)
    return torch.cat([words[:, 1:], torch.full_like(words[:, :1], PAD)], dim=1)


@caption_scenes.misconception
def no_stop_written(images):
    """There is no [STOP] at the end of the captions. It belongs to the caption: without it nobody knows that the model
    has ended."""
    words = caption_scenes.reference(images)
    return words.masked_fill(words == STOP, PAD)


@caption_scenes.misconception
def rows_for_columns(images):
    """The captions are right for the pictures turned over their diagonal: rows and columns of the grid are exchanged on the way,
    somewhere between images and cells."""
    return caption_scenes.reference(images.mT)


@caption_scenes.misconception
def always_the_same(images):
    """All pictures of a batch get the same caption, right for the first of them. What the decoder looks at must come from each
    picture itself."""
    return caption_scenes.reference(images[:1]).expand(len(images), -1)


@caption_scenes.misconception
def neighbours_caption(images):
    """The captions are right, but stand in the wrong rows: the pictures have changed their order on the way, or were shuffled
    without their captions."""
    return caption_scenes.reference(images).roll(1, dims=0)


@caption_scenes.misconception
def relation_reversed(images):
    """Where the things lie is said the wrong way round: left for right, above for below. Look for
    pictures, or a grid, that are turned or mirrored on the way."""
    return _told(images, lambda first, second, relation: describe(first, second, OPPOSITE[relation])[0])


@caption_scenes.misconception
def colours_exchanged(images):
    """Each thing is said to have the other one's colour. All is seen, but colour and shape are not kept together: the look that
    finds the colour must be at the thing that is named."""

    def said(first, second, relation):
        one, other = replace(first, colour=second.colour), replace(second, colour=first.colour)
        return describe(one, other, relation)[0]

    return _told(images, said)


@caption_scenes.misconception
def first_thing_twice(images):
    """The second thing is described like the first: the decoder does not look on after the relation."""
    return _told(images, lambda first, second, relation: describe(first, first, relation)[0])


@caption_scenes.misconception
def one_thing_only(images):
    """The captions end after the first thing. Both are to be described, and where the first lies seen from the second."""
    return _told(images, lambda first, second, relation: describe(first, second, relation)[0][:4])


@caption_scenes.alternative
def picture_by_picture(images):
    return torch.cat([caption_scenes.reference(image[None]) for image in images])


@caption_scenes.alternative
def now_and_then_wrong(images):
    words = caption_scenes.reference(images).clone()
    words[7::20, 1] = words[7::20, 2]
    return words


@caption_scenes.alternative
def brighter_pictures(images):
    return caption_scenes.reference((images * 1.03).clamp(max=1))
