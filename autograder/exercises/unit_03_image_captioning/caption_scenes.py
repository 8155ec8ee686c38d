"""Exercise 7: a captioner that is trained in the notebook, and judged by the captions that it writes for new scenes."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import max_pool2d

from autograder.bank.declaration import Case, exercise
from utils.checking.records import Helper
from utils.data.scenes import COLOURS, LONGEST, OPPOSITE, SIDES, Thing, describe, in_order, vocabulary
from utils.data.translation import PAD, START, STOP

MANY = 80  # scenes of a case
Captions = Int[Tensor, "B T"]

# how scenes are read off their pixels, by colour and geometry: the reference is given pictures alone
_NEAR = 0.15  # a pixel that is nearer to a colour than this, in each channel, has it
_GROUND, _RIM = 0.93, 0.15  # brightness of the ground; a pixel that differs more from it, in a channel, is covered
_BETWEEN = (max(SIDES["small"]) + min(SIDES["large"])) / 2  # pixels of a side


def _drawn(inputs, sizes, rng):
    return {"images": Helper("scene_images", {"numbers": np.array([MANY, rng.integers(2**31)])})}


@exercise(
    points={"half of the captions": 2, "three captions in four": 2},
    section="Training the captioner",
    source="Xu et al. 2015, Show, Attend and Tell",
    outputs="captions",
    formula="images [B, 3, 48, 48] with values from 0 to 1 give captions [B, 12]: numbers of tokens with [STOP] at the end,"
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
    """The captions that `said` makes of two objects and their relation, as they were recognised."""
    rows = [vocabulary().encode(said(*recognised(image))) for image in images]
    return torch.tensor([row + [PAD] * (LONGEST - len(row)) for row in rows], device=images.device)


def recognised(image: Float[Tensor, "3 H W"]) -> tuple[Thing, Thing, str]:
    """The two things of a picture in the order of its caption, and their relation."""
    pixels = image.to("cpu", torch.float32).contiguous()
    return _recognised(pixels.numpy().tobytes(), tuple(pixels.shape))


@lru_cache(maxsize=1024)  # reference and misconceptions look at the same pictures
def _recognised(pixels: bytes, shape: tuple) -> tuple[Thing, Thing, str]:
    image = torch.frombuffer(bytearray(pixels), dtype=torch.float32).view(shape)
    covered = (image - _GROUND).abs().amax(dim=0) > _RIM  # [H, W]
    pure = {
        name: (image - torch.tensor(value)[:, None, None]).abs().amax(dim=0) < _NEAR for name, value in COLOURS.items()
    }
    two = sorted(pure, key=lambda name: -int(pure[name].sum()))[:2]
    one, other = (_thing(name, pure[name], covered) for name in two)
    return in_order(one, other, _relation(one.box, other.box))


def _relation(one: tuple, other: tuple) -> str:
    """Where one box lies seen from the other, in the direction in which there is more room between them."""
    room = {
        "left of": other[0] - one[2],
        "right of": one[0] - other[2],
        "above": other[1] - one[3],
        "below": one[1] - other[3],
    }
    return max(room, key=room.get)


def _thing(colour: str, pure: Bool[Tensor, "H W"], covered: Bool[Tensor, "H W"]) -> Thing:
    left, top, right, bottom = _box(pure)
    shape = _shape(pure[top:bottom, left:right].to(torch.float32))
    # where the colour mixes with the ground
    rim = max_pool2d(pure[None].to(torch.float32), 3, stride=1, padding=1)[0] > 0
    box = _box(rim & covered)
    return Thing(shape, colour, "small" if max(right - left, bottom - top) < _BETWEEN else "large", box)


def _box(where: Bool[Tensor, "H W"]) -> tuple[int, int, int, int]:
    rows, columns = where.any(dim=1).nonzero()[:, 0], where.any(dim=0).nonzero()[:, 0]
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _shape(inside: Float[Tensor, "h w"]) -> str:
    """By what is covered: of a square all, of a circle three quarters, of a triangle half with an empty top, else a cross."""
    share = inside.mean().item()
    if share > 0.9:
        return "square"
    upper, lower = inside[: len(inside) // 3].mean().item(), inside[-(len(inside) // 3) :].mean().item()
    if lower > 2 * upper:
        return "triangle"
    middle = inside[len(inside) // 2].mean().item()
    corner = inside[: len(inside) // 4, : inside.shape[1] // 4].mean().item()
    return "cross" if corner < 0.02 and middle > 0.9 and share < 0.66 else "circle"


@caption_scenes.misconception
def no_padding_behind(images):
    """The caption goes on after its [STOP]. After its [STOP] a caption holds [PAD] at all positions."""
    words = caption_scenes.reference(images)
    ended = (words == PAD).cumsum(dim=1) > 0
    return torch.where(ended, words.gather(1, (words == STOP).int().argmax(dim=1, keepdim=True) - 1), words)


@caption_scenes.misconception
def stops_for_padding(images):
    """After the first [STOP] more [STOP] follow. One [STOP] ends the caption; after it stands [PAD]."""
    words = caption_scenes.reference(images)
    return words.masked_fill(words == PAD, STOP)


@caption_scenes.misconception
def start_kept(images):
    """The captions begin with [START]. The first step is fed [START], but it is not part of the caption."""
    words = caption_scenes.reference(images)
    return torch.cat([torch.full_like(words[:, :1], START), words[:, :-1]], dim=1)


@caption_scenes.misconception
def first_word_lost(images):
    """The first token of each caption is missing: check which tokens the loop keeps, and whether a position too many is
    cut off at the front."""
    words = caption_scenes.reference(images)
    return torch.cat([words[:, 1:], torch.full_like(words[:, :1], PAD)], dim=1)


@caption_scenes.misconception
def no_stop_written(images):
    """There is no [STOP] at the end of the captions. It belongs to the caption: it says that the caption has ended."""
    words = caption_scenes.reference(images)
    return words.masked_fill(words == STOP, PAD)


@caption_scenes.misconception
def rows_for_columns(images):
    """The captions are right for the images mirrored along their diagonal: rows and columns of the grid are exchanged
    somewhere between the images and the cells."""
    return caption_scenes.reference(images.mT)


@caption_scenes.misconception
def always_the_same(images):
    """All images of a batch get the same caption, which is right for the first of them. Each caption must be written
    from its own image."""
    return caption_scenes.reference(images[:1]).expand(len(images), -1)


@caption_scenes.misconception
def neighbours_caption(images):
    """The captions are right, but they stand in the wrong rows: the order of the images has changed on the way, or the
    images were shuffled without their captions."""
    return caption_scenes.reference(images).roll(1, dims=0)


@caption_scenes.misconception
def relation_reversed(images):
    """The relation of the two objects is reversed: left for right, above for below. Look for images, or a grid, that
    are turned or mirrored on the way."""
    return _told(images, lambda first, second, relation: describe(first, second, OPPOSITE[relation])[0])


@caption_scenes.misconception
def colours_exchanged(images):
    """The colours of the two objects are exchanged. Colour and shape are both found, but they are not kept together:
    when the decoder writes the colour, it must attend to the object that it describes."""

    def said(first, second, relation):
        one, other = replace(first, colour=second.colour), replace(second, colour=first.colour)
        return describe(one, other, relation)[0]

    return _told(images, said)


@caption_scenes.misconception
def first_thing_twice(images):
    """The second object is described like the first. Does the decoder still attend to the first object after the
    relation? It should go on to the second one."""
    return _told(images, lambda first, second, relation: describe(first, first, relation)[0])


@caption_scenes.misconception
def one_thing_only(images):
    """The captions end after the first object. A caption describes both objects, and where the first lies relative to
    the second."""
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
