"""Sets of points on the surfaces of eight solids, turned about the upright axis; as many as one likes, from a generator."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

SOLIDS = ("sphere", "cube", "cylinder", "cone", "torus", "two balls", "plate", "helix")
_GRAIN = 0.05  # noise of each coordinate; the mean distance from the middle is 1


def solids(
    B: int, N: int, generator: torch.Generator, grain: float = _GRAIN
) -> tuple[Float[Tensor, "B N 3"], Int[Tensor, "B"]]:
    """B sets of N points in no order, centred and brought to one size, and which solid each comes from."""

    def chance(*shape):
        return torch.rand(*shape, generator=generator)

    which = torch.randint(len(SOLIDS), (B,), generator=generator)
    turn, height, part = 2 * math.pi * chance(B, N), 2 * chance(B, N) - 1, 2 * math.pi * chance(B, N)
    side = (chance(B, N) < 0.5).float() * 2 - 1
    ball = torch.randn(B, N, 3, generator=generator)
    ball = ball / ball.norm(dim=-1, keepdim=True)
    face = torch.randint(3, (B, N, 1), generator=generator)
    cube = (2 * chance(B, N, 3) - 1).scatter(2, face, side[..., None])
    narrow, zero = chance(B, N).sqrt(), torch.zeros(B, N)
    ring = 1 + 0.4 * part.cos()
    made = (
        ball,
        cube,
        torch.stack([turn.cos(), turn.sin(), height], dim=-1),
        torch.stack([narrow * turn.cos(), narrow * turn.sin(), 1 - 2 * narrow], dim=-1),
        torch.stack([ring * turn.cos(), ring * turn.sin(), 0.4 * part.sin()], dim=-1),
        0.5 * ball + torch.stack([zero, zero, 0.7 * side], dim=-1),
        torch.stack([2 * chance(B, N) - 1, height, zero], dim=-1),
        torch.stack([(2 * turn).cos(), (2 * turn).sin(), turn / math.pi - 1], dim=-1),
    )
    points = torch.stack(made, dim=1)[torch.arange(B), which]  # [B, N, 3]
    points = points - points.mean(dim=1, keepdim=True)
    points = _turned(points, 2 * math.pi * chance(B))
    points = points / points.norm(dim=-1).mean(dim=1)[:, None, None]
    return points + grain * torch.randn(B, N, 3, generator=generator), which


def _turned(points: Tensor, angles: Float[Tensor, "B"]) -> Tensor:
    """Each set turned by its angle about the third axis."""
    cosine, sine = angles.cos()[:, None], angles.sin()[:, None]
    x, y, z = points.unbind(dim=-1)
    return torch.stack([cosine * x - sine * y, sine * x + cosine * y, z], dim=-1)
