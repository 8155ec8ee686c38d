"""Exercise 3: with which probability a caption is drawn as a picture's hard negative."""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _draws(inputs, sizes, rng):
    """Captions that are right for a picture: its own, and here and there another's."""
    N = sizes["N"]
    return {"right": (rng.random((N, N)) < 0.2) | np.eye(N, dtype=bool)}


def _own_alone(inputs, rng):
    inputs["right"][:] = np.eye(len(inputs["right"]), dtype=bool)


def _one_without_negatives(inputs, rng):
    """One picture for which every caption is right."""
    inputs["right"][1] = True


@exercise(
    points=3,
    section="Matching, with hard negatives",
    source="Li et al. 2022 (BLIP), section 3.2, after Li et al. 2021 (ALBEF), section 3.2",
    outputs="P",
    formula="P_ij ∝ exp(S_ij) where right_ij is False, and exactly 0 where it is True; each row of P [N, N] sums to 1, and is all"
    " 0 where no negative is left",
    zeros="P",
    cases=[
        Case("captions that fit several pictures"),
        Case("captions that fit their own picture alone", edit=_own_alone),
        Case("a picture for which every caption is right", edit=_one_without_negatives),
        Case("a single pair, for which no negative is left", edge=True, sizes={"N": 1}),
    ],
    draws=_draws,
    equivalent={
        "where(total > 0, 2)": "where the total is 0, so is what is divided by it",
        "where(total > 1, 1)": "the largest weight is 1, so a total that is not 0 is 1 at least",
        "(S - best.nan_to_num()).masked_fill(right, -torch.inf).exp()": "what is subtracted there is hidden",
        "(S - best.nan_to_num(neginf=1)).masked_fill(right, -torch.inf).exp()": "what is subtracted there is hidden",
    },
)
def negative_probabilities(S: Float[Tensor, "N N"], right: Bool[Tensor, "N N"]) -> Float[Tensor, "N N"]:
    best = S.masked_fill(right, -torch.inf).amax(dim=1, keepdim=True)
    weights = (S - best.nan_to_num(neginf=0)).masked_fill(right, -torch.inf).exp()
    total = weights.sum(dim=1, keepdim=True)
    return weights / total.where(total > 0, 1)


def _where(S, hidden, dim=1):
    """The softmax of what is not hidden; 0 where all is."""
    return S.masked_fill(hidden, -torch.inf).softmax(dim=dim).masked_fill(hidden, 0.0).nan_to_num(0.0)


@negative_probabilities.misconception
def pair_itself_drawn(S, right):
    """The right caption itself may be drawn: right is not looked at. A negative that is right would teach the network that right
    is wrong."""
    return S.softmax(dim=1)


@negative_probabilities.misconception
def own_pair_alone_left_out(S, right):
    """Only the diagonal is left out, a picture's own caption. The same words may stand under another picture: every caption that
    right names is no negative."""
    return _where(S, torch.eye(len(S), dtype=torch.bool, device=S.device))


@negative_probabilities.misconception
def right_ones_drawn(S, right):
    """True and False are exchanged: the right captions are drawn. right is True where a caption fits, and those have probability
    0."""
    return _where(S, ~right)


@negative_probabilities.misconception
def zeroed_after_the_softmax(S, right):
    """The right captions are set to 0 after the softmax, so a row no longer sums to 1: hide them before it, with −∞, or divide by
    what is left."""
    return S.softmax(dim=1).masked_fill(right, 0.0)


@negative_probabilities.misconception
def scores_of_right_ones_zero(S, right):
    """The scores of right captions are set to 0, and exp(0) = 1 is not 0: they are drawn all the same. A score of −∞ gives 0."""
    return S.masked_fill(right, 0.0).softmax(dim=1)


@negative_probabilities.misconception
def pictures_for_captions(S, right):
    """The columns sum to 1: a picture is drawn for each caption. Row i is picture i, and its negatives are captions: dim=1."""
    return _where(S, right, dim=0)


@negative_probabilities.misconception
def hardest_alone(S, right):
    """Only the most similar negative has a probability. It is drawn by similarity: the others have theirs, softmax of their
    scores."""
    P = _where(S, right)
    return torch.where(P == P.amax(dim=1, keepdim=True), (P > 0).to(S.dtype), 0.0)


@negative_probabilities.misconception
def rows_without_negatives_are_nan(S, right):
    """A picture for which every caption is right has NaN for probabilities: the softmax of nothing but −∞ is 0/0. There is no
    negative to draw, and its row is 0."""
    return S.masked_fill(right, -torch.inf).softmax(dim=1)


@negative_probabilities.misconception(universal=True)
def all_alike(S, right):
    """All negatives have the same probability, whatever their scores. Hard negatives are drawn by similarity, with the softmax of
    S."""
    return _where(torch.zeros_like(S) * S, right)


@negative_probabilities.alternative
def by_nan(S, right):
    return torch.nan_to_num(S.masked_fill(right, float("-inf")).softmax(-1), nan=0.0)


@negative_probabilities.alternative
def row_by_row(S, right):
    rows = []
    for scores, hidden in zip(S, right):
        row = torch.zeros_like(scores)
        if not hidden.all():
            row = row.masked_scatter(~hidden, scores[~hidden].softmax(dim=0))
        rows.append(row)
    return torch.stack(rows)


@negative_probabilities.alternative
def by_a_low_score(S, right):
    low = torch.finfo(S.dtype).min
    return torch.where(right, low, S).softmax(dim=-1) * ~right
