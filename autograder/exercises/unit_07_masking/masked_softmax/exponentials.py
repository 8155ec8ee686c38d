"""Exercise 3 again: mistakes in the exponentials, and in the axis over which they are shared out."""

import math

import torch

from autograder.exercises.unit_07_masking.masked_softmax.declaration import _right, masked_softmax


@masked_softmax.misconception
def over_the_queries_and_not_a_number(E, mask):
    """Your weights sum to 1 over the queries: the softmax ran over dim=-2. Each query shares its weight among the keys: dim=-1.
    A key to which no query may attend gets NaN in this way."""
    return E.masked_fill(~mask, -math.inf).softmax(dim=-2)


@masked_softmax.misconception
def over_axis_one(E, mask):
    """The softmax runs over the axis with the number 1. That is the keys for one sequence, but the queries in a batch, and the
    heads where there are heads. The keys are always last: dim=-1."""
    return _right(E, mask, dim=1)


@masked_softmax.misconception
def overflowing(E, mask):
    """The exponentials are taken of the scores as they are: around 800 they overflow, and inf/inf is NaN. Subtract the largest
    allowed score of each row first, or use softmax."""
    powers = torch.where(mask, E, -math.inf).exp()
    return powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)


@masked_softmax.misconception
def overflowing_and_empty_rows_not_a_number(E, mask):
    """The exponentials are taken of the scores as they are: around 800 they overflow, and inf/inf is NaN. And in a row that
    allows nothing the sum is 0, and 0/0 is NaN too. Subtract the largest allowed score of each row first, or use softmax; then
    treat the empty rows."""
    powers = torch.where(mask, E, -math.inf).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


@masked_softmax.misconception
def exponentials_times_mask(E, mask):
    """The exponentials are taken of all scores, forbidden ones too, and multiplied by the mask. Large scores overflow, and inf
    · 0 is NaN as inf/inf is. Replace the forbidden scores by −∞ first, and subtract the largest allowed score, or use softmax.
    In a row that allows nothing 0/0 is NaN too."""
    powers = E.exp() * mask
    return powers / powers.sum(dim=-1, keepdim=True)


@masked_softmax.misconception
def softmax_twice(E, mask):
    """The softmax was taken twice. What comes out of the first are weights already; the second makes them more even."""
    A = _right(E, mask)
    return _right(A, mask)


@masked_softmax.misconception
def far_below_something_else(E, mask):
    """Where the allowed scores of a row lie far below something else that stands in the exponentials (a forbidden score that was
    set to 0 or to −100, the largest score of another row), they all become 0, and the row is lost. Put −∞ at the forbidden
    positions, let softmax subtract the largest score of each row by itself, and then treat the rows that allow nothing."""
    hidden = torch.where(mask, E, -math.inf)
    powers = (hidden - hidden.detach().amax().nan_to_num(neginf=0.0)).exp()
    return powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)


@masked_softmax.misconception
def over_the_first_axis(E, mask):
    """The softmax runs over the axis with the number 0 where there are three, as F.softmax does without dim: over the
    sequences, or over the heads where there are four. The keys are always last: dim=-1."""
    return _right(E, mask, dim=0 if E.ndim == 3 else 1)
