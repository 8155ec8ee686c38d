"""Captions that are changed on purpose: colours or places exchanged, pairs of words that training never shows, single objects."""

import random
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from utils.data.scenes import COLOURS, LONGEST, OPPOSITE, SHAPES, SIDES, Scene, place, vocabulary
from utils.data.translation import PAD

Words = tuple[str, ...]
PAIRS = tuple((colour, shape) for colour in COLOURS for shape in SHAPES)
LEFT_OUT = (("red", "cross"), ("blue", "circle"), ("yellow", "square"), ("green", "triangle"))  # each shape once
_OBJECT = 4  # words that describe an object: a small red circle


def colours_swapped(caption: Words) -> Words:
    """The same words, with the colours of the two objects exchanged."""
    words = list(caption)
    words[2], words[-2] = words[-2], words[2]
    return tuple(words)


def places_swapped(caption: Words) -> Words:
    """The caption of a picture in which the two objects have changed places, worded as captions of scenes are."""
    one, relation, other = caption[:_OBJECT], caption[_OBJECT:-_OBJECT], caption[-_OBJECT:]
    if one[1] == other[1]:  # of two of one size the left or upper one comes first, which is now the other
        return (*other, *relation, *one)
    return (*one, *OPPOSITE[" ".join(relation)].split(), *other)


def tokens(captions: Iterable[Words]) -> Int[Tensor, "N T"]:
    """The numbers of the captions' words: [STOP] behind the last, then [PAD] to `scenes.LONGEST` places."""
    rows = [vocabulary().encode(caption) for caption in captions]
    return torch.tensor([row + [PAD] * (LONGEST - len(row)) for row in rows])


def shows(scene: Scene, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether an object of the scene has the colour and the shape of one of these pairs."""
    return any((thing.colour, thing.shape) in pairs for thing in scene.things)


def single_objects(pairs: Iterable[tuple[str, str]], seed: int = 0) -> list[Scene]:
    """For each pair of a colour and a shape a scene with one such object, small or large; its caption: a small red circle."""
    chance = random.Random(f"single objects {seed}")
    made = []
    for colour, shape in pairs:
        thing = place(chance, shape, colour, chance.choice(list(SIDES)))
        made.append(Scene((thing,), ("a", thing.size, colour, shape), (0, 0, 0, 0), (), chance.randrange(2**31)))
    return made
