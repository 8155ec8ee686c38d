"""Reads scenes off their pixels, by colour and geometry: the reference for a captioner, which is given pictures alone."""

from functools import lru_cache

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import max_pool2d

from utils.data.scenes import COLOURS, SIDES, Thing, in_order

_NEAR = 0.15  # a pixel that is nearer to a colour than this, in each channel, has it
_GROUND, _RIM = 0.93, 0.15  # brightness of the ground; a pixel that differs more from it, in a channel, is covered
_BETWEEN = (max(SIDES["small"]) + min(SIDES["large"])) / 2  # pixels of a side


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
    rim = (
        max_pool2d(pure[None].to(torch.float32), 3, stride=1, padding=1)[0] > 0
    )  # where the colour mixes with the ground
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
