"""Small pictures of coloured shapes with captions, boxes, questions and answers; as many as one likes, from a seed."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from utils.data.translation import PAD, Vocabulary

SIZE = 48  # pixels of a side
LONGEST = 12  # places for a caption: ten words at most, [STOP], and at least one of padding
COLOURS = {  # red, green and blue, from 0 to 1
    "red": (0.84, 0.15, 0.16),
    "green": (0.17, 0.63, 0.17),
    "blue": (0.12, 0.35, 0.85),
    "yellow": (0.95, 0.80, 0.10),
    "purple": (0.58, 0.25, 0.74),
}
SHAPES = ("circle", "square", "triangle", "cross")
SIDES = {"small": (9, 12), "large": (16, 19)}  # pixels, the least and the most
OPPOSITE = {"above": "below", "below": "above", "left of": "right of", "right of": "left of"}
_GROUND, _GRAIN, _FINE = 0.93, 0.02, 4  # brightness of the ground, its noise, and parts of a pixel's side


@dataclass(frozen=True)
class Thing:
    """A shape in a picture; its box (left, top, right, bottom) in pixels, right and bottom not included."""

    shape: str
    colour: str
    size: str
    box: tuple[int, int, int, int]


@dataclass(frozen=True)
class Scene:
    """A picture and what can be said of it.

    Attributes:
        things: two mostly: the one of which the caption speaks first, and the other. The large one comes first; of two of one
            size the one on the left, or above. So each picture has just one caption.
        caption: words such as: a small red circle above a large blue square.
        mentions: for each word of the caption the place in `things` of what it describes, None for the relation.
        questions: (words of a question, answer).
        seed: of the picture's grain.
    """

    things: tuple[Thing, ...]
    caption: tuple[str, ...]
    mentions: tuple[int | None, ...]
    questions: tuple[tuple[tuple[str, ...], str], ...]
    seed: int


def scenes(count: int, seed: int = 0, noise: float = 0.0) -> list[Scene]:
    """`count` scenes, the same for the same seed; a share `noise` of them has the caption of another scene.

    Raises:
        ValueError: noise is not between 0 and 1.
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise is {noise}; it is a share, between 0 and 1")
    chance = random.Random(f"scenes {seed}")
    made = [_scene(chance) for _ in range(count)]
    wrong = random.Random(f"noise {seed}")
    return [_miscaptioned(scene, wrong) if wrong.random() < noise else scene for scene in made]


def images(some: Iterable[Scene]) -> Float[Tensor, "B 3 H W"]:
    """The scenes' pictures, values from 0 to 1."""
    return torch.stack([torch.from_numpy(_picture(scene)) for scene in some])


def words(some: Iterable[Scene]) -> Int[Tensor, "B T"]:
    """The numbers of the captions' words: [STOP] behind the last, then [PAD] to LONGEST places."""
    rows = [vocabulary().encode(scene.caption) for scene in some]
    return torch.tensor([row + [PAD] * (LONGEST - len(row)) for row in rows])


@cache
def vocabulary() -> Vocabulary:
    """All words of captions, questions and answers."""
    relations = " ".join(OPPOSITE).split()
    asked = "what colour is the shape which size it of thing where how many things are there ? yes no two one".split()
    return Vocabulary([*COLOURS, *SHAPES, *SIDES, *relations, "a", *asked])


def in_order(one: Thing, other: Thing, relation: str) -> tuple[Thing, Thing, str]:
    """Two things in the order in which a caption names them, and where the first lies seen from the second.

    The large one comes first; of two of one size the one on the left, or above. `relation` is where `one` lies seen from
    `other`.
    """
    behind = relation in ("right of", "below") if one.size == other.size else one.size == "small"
    return (other, one, OPPOSITE[relation]) if behind else (one, other, relation)


def describe(first: Thing, second: Thing, relation: str) -> tuple[tuple[str, ...], tuple[int | None, ...]]:
    """The caption's words, and for each which of the two it is about, None for the relation."""
    said = [("a", thing.size, thing.colour, thing.shape) for thing in (first, second)]
    between = tuple(relation.split())
    return (*said[0], *between, *said[1]), (0, 0, 0, 0, *[None] * len(between), 1, 1, 1, 1)


def place(chance: random.Random, shape: str, colour: str, size: str) -> Thing:
    """An object of this kind, of a side and at a place that chance decides."""
    side = chance.randint(*SIDES[size])
    left, top = chance.randint(1, SIZE - side - 1), chance.randint(1, SIZE - side - 1)
    return Thing(shape, colour, size, (left, top, left + side, top + side))


# Drawing -------------------------------------------------------------------------------------------------------------


def _scene(chance: random.Random) -> Scene:
    """Two things that differ in shape and in colour, clearly on different sides of each other in one direction."""
    while True:
        shapes, colours = chance.sample(SHAPES, 2), chance.sample(list(COLOURS), 2)
        first, second = (
            place(chance, shape, colour, chance.choice(list(SIDES)))
            for shape, colour in zip(shapes, colours, strict=True)
        )
        relation = _relation(first.box, second.box)
        if relation:
            first, second, relation = in_order(first, second, relation)
            caption, mentions = describe(first, second, relation)
            return Scene(
                (first, second), caption, mentions, _questions(first, second, relation), chance.randrange(2**31)
            )


def _relation(one: Sequence[int], other: Sequence[int]) -> str:
    """Where one box lies seen from the other, if in one direction there is room between them, and "" if not in just one."""
    beside = one[2] < other[0] or other[2] < one[0]
    over = one[3] < other[1] or other[3] < one[1]
    if beside == over:
        return ""
    if beside:
        return "left of" if one[0] < other[0] else "right of"
    return "above" if one[1] < other[1] else "below"


def _questions(first: Thing, second: Thing, relation: str) -> tuple:
    found = []
    for thing in (first, second):
        found.append((("what", "colour", "is", "the", thing.shape, "?"), thing.colour))
        found.append((("which", "shape", "is", thing.colour, "?"), thing.shape))
        found.append((("what", "size", "is", "the", thing.shape, "?"), thing.size))
    for asked in (relation, OPPOSITE[relation]):
        question = ("is", "the", first.shape, *asked.split(), "the", second.shape, "?")
        found.append((question, "yes" if asked == relation else "no"))
    return tuple(found)


def _miscaptioned(scene: Scene, chance: random.Random) -> Scene:
    other = _scene(chance)
    while other.caption == scene.caption:
        other = _scene(chance)
    return Scene(scene.things, other.caption, other.mentions, scene.questions, scene.seed)


def _picture(scene: Scene) -> np.ndarray:
    """[3, SIZE, SIZE]: every pixel is a mean over finer ones, so that edges are soft."""
    rng = np.random.default_rng(scene.seed)
    picture = np.full((3, SIZE, SIZE), _GROUND) + _GRAIN * rng.standard_normal((3, SIZE, SIZE))
    for thing in scene.things:
        cover = _cover(thing)
        picture = picture * (1 - cover) + np.array(COLOURS[thing.colour])[:, None, None] * cover
    return picture.clip(0, 1).astype(np.float32)


def _cover(thing: Thing) -> np.ndarray:
    """[SIZE, SIZE]: the share of each pixel that the thing covers."""
    left, top, right, bottom = thing.box
    centres = (np.arange(SIZE * _FINE) + 0.5) / _FINE
    x = (centres[None, :] - left) / (right - left)  # from 0 to 1 across the box
    y = (centres[:, None] - top) / (bottom - top)
    inside = (x >= 0) & (x < 1) & (y >= 0) & (y < 1)
    if thing.shape == "circle":
        inside &= (x - 0.5) ** 2 + (y - 0.5) ** 2 <= 0.25
    elif thing.shape == "triangle":
        inside &= np.abs(x - 0.5) <= y / 2
    elif thing.shape == "cross":
        inside &= (np.abs(x - 0.5) <= 1 / 6) | (np.abs(y - 0.5) <= 1 / 6)
    return inside.reshape(SIZE, _FINE, SIZE, _FINE).mean(axis=(1, 3))
