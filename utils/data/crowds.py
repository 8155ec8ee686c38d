"""Pictures of one to three objects in no order, with their names and boxes: the answers of a detector."""

import random
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from utils.data.scenes import COLOURS, SHAPES, SIDES, SIZE, Scene, Thing, place

MOST = 3  # objects in a picture
_TRIES = 200  # to find room for all of them


def crowds(count: int, seed: int = 0) -> list[Scene]:
    """`count` scenes of one to three objects, the same for the same seed; their boxes do not overlap.

    Shapes, colours and sizes are drawn independently, so two objects may be alike. The objects of a scene are listed in the
    order in which they were drawn, which nobody can tell from the picture. These scenes have no captions.
    """
    chance = random.Random(f"crowds {seed}")
    return [Scene(_objects(chance), (), (), (), chance.randrange(2**31)) for _ in range(count)]


def _objects(chance: random.Random) -> tuple[Thing, ...]:
    wanted, found = chance.randint(1, MOST), []
    for _ in range(_TRIES):
        one = place(chance, chance.choice(SHAPES), chance.choice(list(COLOURS)), chance.choice(list(SIDES)))
        if not any(_meet(one.box, other.box) for other in found):
            found.append(one)
        if len(found) == wanted:
            break
    return tuple(found)


def _meet(one: Sequence[int], other: Sequence[int]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def answers(some: Sequence[Scene]) -> tuple[Int[Tensor, "B T"], Float[Tensor, "B T 4"], Bool[Tensor, "B T"]]:
    """What a detector should say, padded to MOST objects: numbers of shapes, boxes, and where there is an object at all.

    Boxes are (middle across, middle down, width, height) as shares of the picture's side. Padding is of class 0 and has a box
    of zeros.
    """
    labels, boxes = torch.zeros(len(some), MOST, dtype=torch.long), torch.zeros(len(some), MOST, 4)
    real = torch.zeros(len(some), MOST, dtype=torch.bool)
    for row, scene in enumerate(some):
        for column, thing in enumerate(scene.things):
            left, top, right, bottom = (side / SIZE for side in thing.box)
            middle_and_size = ((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)
            boxes[row, column] = torch.tensor(middle_and_size)
            labels[row, column], real[row, column] = SHAPES.index(thing.shape), True
    return labels, boxes, real


def from_left_to_right(
    labels: Int[Tensor, "B T"], boxes: Float[Tensor, "B T 4"], real: Bool[Tensor, "B T"]
) -> tuple[Tensor, Tensor, Tensor]:
    """The same answers, the objects of each picture sorted by the middles of their boxes; padding stays at the end."""
    order = boxes[..., 0].masked_fill(~real, 2.0).argsort(dim=1)  # [B, T]
    return labels.gather(1, order), boxes.gather(1, order[..., None].expand_as(boxes)), real.gather(1, order)
