"""The stretch: the self-attention mask of a sequence in which pictures and text alternate."""

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """Runs of one to three vectors a picture, with words before, between and behind them."""
    B, N = sizes["B"], sizes["N"]
    rows = np.zeros((B, N), dtype="int64")
    for b in range(B):
        n, number = int(rng.integers(2)), 0
        while n < N:
            number += 1
            run = int(rng.integers(1, 4))
            rows[b, n : n + run] = number
            n += run + int(rng.integers(0, 3))
    lengths = rng.integers(max(1, N // 2), N + 1, size=B)
    lengths[rng.integers(B)] = max(1, N - 1)
    return {"pictures": rows, "lengths": lengths}


def _of_text(inputs, rng):
    inputs["pictures"][0] = 0


def _cut(inputs, rng):
    """The padding begins within a picture."""
    N = inputs["pictures"].shape[1]
    inputs["pictures"][0, N - 3 :] = inputs["pictures"][0, : N - 3].max() + 1
    inputs["lengths"][0] = N - 1


def _case(text, last_only, edit=None, edge=False, **sizes):
    return Case(text, values={"last_only": last_only}, sizes={"B": 3, "N": 9, **sizes}, edit=edit, edge=edge)


@exercise(
    points=0,
    section="Flamingo: looking from within",
    source="Alayrac et al. 2022 (Flamingo), section 2.3; both directions within a picture as in Beyer et al. 2024 (PaliGemma)",
    outputs="allowed",
    formula="allowed [B, N, N]: row n may attend to column m < lengths[b] if m <= n or both are of one picture; with last_only,"
    " text attends among pictures only to the last one before it",
    cases=[
        _case("pictures and text", False),
        _case("text sees its last picture", True),
        _case("a text without a picture", True, edit=_of_text),
        _case("padding that begins within a picture", False, edit=_cut),
        _case("longer sequences", True, B=2, N=14),
        _case("a single position", False, B=2, N=1, edge=True),
    ],
    equivalent={"m < n or row[m] == row[n]": "m = n is of the same picture"},
    draws=_drawn,
    differentiable=False,
)
def interleaved_mask(pictures: Int[Tensor, "B N"], lengths: Int[Tensor, "B"], last_only: bool) -> Bool[Tensor, "B N N"]:
    def may(row, length, n, m):
        if m >= length:
            return False
        if row[n] > 0:
            return m <= n or row[m] == row[n]
        last = max(row[: n + 1])
        return m <= n and (row[m] == 0 or not last_only or row[m] == last)

    rows = [
        [[may(row, length, n, m) for m in range(len(row))] for n in range(len(row))]
        for row, length in zip(pictures.tolist(), lengths.tolist())
    ]
    return torch.tensor(rows, device=pictures.device)


def _mask(pictures, lengths, last_only, *, both=True, among=None, padding=True, of_pictures=False):
    """The mask from its rules; what is wrong may be the directions within a picture, what text sees, and the padding."""
    place = torch.arange(pictures.shape[1], device=pictures.device)
    causal = (place <= place[:, None]).expand(len(pictures), -1, -1)
    row, column = pictures[:, :, None], pictures[:, None, :]
    last = pictures.cummax(dim=1).values[:, :, None]
    hidden = (column > 0) & (column != last if among is None else among(column, last))
    hidden = hidden & (True if of_pictures else row == 0)
    allowed = causal & ~hidden if last_only else causal
    if both:
        allowed = allowed | ((row == column) & (row > 0))
    return allowed & (place < lengths[:, None])[:, None, :] if padding else allowed


@interleaved_mask.misconception
def causal_within_pictures(pictures, lengths, last_only):
    """The vectors of a picture attend only to earlier ones of it. A picture has no order of reading: all its vectors attend to
    each other."""
    return _mask(pictures, lengths, last_only, both=False)


@interleaved_mask.misconception
def padding_seen(pictures, lengths, last_only):
    """Padding is attended to: lengths is not looked at. Nobody attends to positions from lengths[b] on."""
    return _mask(pictures, lengths, last_only, padding=False)


@interleaved_mask.misconception
def always_last_only(pictures, lengths, last_only):
    """Text attends to its last picture alone also where last_only is False. There it sees all pictures before it."""
    return _mask(pictures, lengths, True)


@interleaved_mask.misconception
def never_last_only(pictures, lengths, last_only):
    """last_only is not used: text attends to all pictures before it. Where it is True, the last one remains."""
    return _mask(pictures, lengths, False)


@interleaved_mask.misconception
def first_picture_only(pictures, lengths, last_only):
    """With last_only, text attends to the first picture of the sequence. It attends to the last one before it."""
    return _mask(pictures, lengths, last_only, among=lambda column, last: column != 1)


@interleaved_mask.misconception
def pictures_limited_too(pictures, lengths, last_only):
    """With last_only, a picture does not attend to the pictures before it either. The rule is for rows of text alone."""
    return _mask(pictures, lengths, last_only, of_pictures=True)


@interleaved_mask.misconception
def text_in_both_directions(pictures, lengths, last_only):
    """Text attends to later text: 0, the number of text, is taken for that of a picture. Only vectors of one picture, with a
    number above 0, see each other in both directions."""
    same = pictures[:, :, None] == pictures[:, None, :]
    token = torch.arange(pictures.shape[1], device=pictures.device) < lengths[:, None]
    return (_mask(pictures, lengths, last_only) | same) & token[:, None]


@interleaved_mask.alternative
def by_rules(pictures, lengths, last_only):
    return _mask(pictures, lengths, last_only)


@interleaved_mask.alternative
def picture_by_picture(pictures, lengths, last_only):
    B, N = pictures.shape
    allowed = torch.ones(N, N, dtype=torch.bool, device=pictures.device).tril().repeat(B, 1, 1)
    for b in range(B):
        for k in range(1, int(pictures[b].max()) + 1):
            own = (pictures[b] == k).nonzero().flatten()
            if len(own) == 0:
                continue
            allowed[b, own[:, None], own[None, :]] = True
            later = (pictures[b] > k).nonzero().flatten()
            if last_only and len(later):
                behind = torch.arange(N, device=pictures.device) > later[0]
                text = (behind & (pictures[b] == 0)).nonzero().flatten()
                allowed[b, text[:, None], own[None, :]] = False
        allowed[b, :, int(lengths[b]) :] = False
    return allowed


@interleaved_mask.alternative
def with_running_numbers(pictures, lengths, last_only):
    N = pictures.shape[-1]
    index = torch.arange(N, device=pictures.device)
    last = pictures.cummax(dim=-1)[0]
    text = pictures == 0
    allowed = index[None, :, None] >= index[None, None, :]
    if last_only:
        allowed = allowed & (~text[:, :, None] | text[:, None, :] | (pictures[:, None, :] == last[:, :, None]))
    own = (pictures[:, :, None] - pictures[:, None, :] == 0) & ~text[:, :, None]
    return torch.logical_and(allowed | own, (index < lengths.unsqueeze(-1)).unsqueeze(1))
