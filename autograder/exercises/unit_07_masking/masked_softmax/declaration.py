"""Exercise 3: a softmax over the allowed keys, defined for rows that allow none."""

import math

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED
from autograder.bank.families.masks import random_mask
from autograder.exercises.unit_07_masking._shared import empty_rows

ALLOWED, EMPTY = "allowed keys", "empty rows"
HUGE = 1e30
SHAPES = {  # what the mask says of: (axes of the scores before the queries, axes of the mask)
    "each row": ("B", "B N_Q N_X"),
    "one sequence": ("", "N_Q N_X"),
    "all sequences": ("B", "N_Q N_X"),
    "all queries": ("B", "B 1 N_X"),
    "all keys": ("B", "B N_Q 1"),
    "all heads and queries": ("B H", "B 1 1 N_X"),
}


def _drawn(inputs, sizes, rng):
    return {"mask": random_mask(inputs["mask"].shape, rng)}


def _some_empty(inputs, rng):
    inputs["mask"] = empty_rows(inputs["mask"], rng)


def _all_empty(inputs, rng):
    inputs["mask"][:] = False


def _spread(inputs):
    return np.broadcast_to(inputs["mask"], inputs["E"].shape)


def _huge_where_forbidden(inputs, rng):
    inputs["E"][~_spread(inputs)] = HUGE


def _higher_where_forbidden(inputs, rng):
    """Forbidden scores that lie far enough above the others for their exponentials to leave nothing for the rest."""
    inputs["E"][~_spread(inputs)] += 300


def _large(inputs, rng):
    inputs["E"] += 800


def _levels(inputs, rng):
    """Rows at different levels, all far below zero but for the first."""
    E = inputs["E"]
    E[..., 1:, :] -= np.linspace(2000, 3000, E.shape[-2] - 1, dtype=np.float32)[:, None]


def _empty_and_large(inputs, rng):
    _some_empty(inputs, rng)
    inputs["E"] += 800
    inputs["E"][~_spread(inputs)] = HUGE


def _case(text, kind, part, **more):
    scores, mask = SHAPES[kind]
    return Case(text, expand={"*B": scores, "*M": mask}, part=part, **more)


@exercise(
    points={ALLOWED: 2, EMPTY: 2},
    section={ALLOWED: "Masking before the softmax", EMPTY: "Rows with nothing to attend to"},
    source="Vaswani et al. 2017, section 3.2.3",
    outputs="A",
    zeros="A",
    formula="A_mn = exp(E_mn) / Σ_j exp(E_mj), where j runs over the allowed keys alone (mask True); A_mn = 0 at the others, and"
    " in rows that allow no key; A [*B, N_Q, N_X]; the mask broadcasts to that shape",
    cases=[
        _case("a mask for each row", "each row", ALLOWED, sizes={"N_X": 7}),
        _case("one sequence", "one sequence", ALLOWED),
        _case("one mask for all sequences", "all sequences", ALLOWED),
        _case("the same keys for all queries", "all queries", ALLOWED),
        _case("the same keys for all heads and queries", "all heads and queries", ALLOWED, sizes={"B": 3, "H": 2}),
        _case("a batch of one", "each row", ALLOWED, sizes={"B": 1}),
        _case("forbidden scores 300 above the others", "each row", ALLOWED, edit=_higher_where_forbidden, extreme=True),
        _case("forbidden scores of 1e30", "all sequences", ALLOWED, edit=_huge_where_forbidden, extreme=True),
        _case("scores around 800", "each row", ALLOWED, edit=_large, extreme=True),
        _case("rows at different levels", "each row", ALLOWED, edit=_levels, extreme=True),
        _case("some rows allow nothing", "each row", EMPTY, edit=_some_empty, sizes={"N_X": 7}),
        _case("a mask that allows a query all keys or none", "all keys", EMPTY, edit=_some_empty),
        _case("a single key, to which some queries may not attend", "each row", EMPTY, edit=_some_empty, sizes={"N_X": 1}),
        _case("no key anywhere", "each row", EMPTY, edit=_all_empty, extreme=True),
        _case("a sequence of length 0", "all queries", EMPTY, edit=_some_empty),
        _case("the same rows empty in all sequences", "all sequences", EMPTY, edit=_some_empty),
        _case("empty rows beside large scores", "each row", EMPTY, edit=_empty_and_large, extreme=True),
    ],
    forbidden=FUSED,
    draws=_drawn,
    waived={"batches": "the mask's axes must fit those of E: each case declares both"},
    equivalent=dict.fromkeys(
        ("amax(dim=-1, keepdim=True)", "nan_to_num()", "neginf=1.0)"), "in a row that allows nothing no exponential counts"
    ),
)  # fmt: skip
def masked_softmax(E: Float[Tensor, "*B N_Q N_X"], mask: Bool[Tensor, "*M"]) -> Float[Tensor, "*B N_Q N_X"]:
    mask = mask.expand(E.shape)
    allowed = torch.where(mask, E, torch.zeros_like(E))
    largest = allowed.detach().masked_fill(~mask, -math.inf).amax(dim=-1, keepdim=True).nan_to_num(neginf=0.0)
    powers = torch.where(mask, torch.exp(allowed - largest), 0.0)  # the largest of a row that allows a key is 1
    return powers / powers.sum(dim=-1, keepdim=True).clamp(min=0.5)  # the sum is at least 1, or 0


def _right(E, mask, dim=-1):
    """Forbidden scores at −∞, the softmax, zeros where nothing is allowed; the gradient stays finite."""
    hidden = torch.where(mask, E, -math.inf)
    nothing = ~mask.expand(E.shape).any(dim=dim, keepdim=True)
    return torch.where(nothing, 0.0, torch.where(nothing, 0.0, hidden).softmax(dim=dim))


@masked_softmax.misconception
def multiplied_after_the_softmax(E, mask):
    """The forbidden weights were set to 0 after the softmax. Their share is then missing: rows sum to less than 1, and what a
    forbidden key's score is changes all the others' weights. Hide the scores before the softmax: −∞."""
    return E.softmax(dim=-1) * mask


@masked_softmax.misconception
def made_to_sum_to_one_afterwards(E, mask):
    """The forbidden scores took part in the exponentials, and the weights were made to sum to 1 again afterwards. Where a
    forbidden score lies far above the others nothing is left of these: all exponentials are 0, and 0/0 is NaN; so it is in a
    row that allows nothing. Leave the forbidden ones out before the softmax (and out of the largest score that is
    subtracted)."""
    A = E.softmax(dim=-1) * mask
    return A / A.sum(dim=-1, keepdim=True)


@masked_softmax.misconception
def made_to_sum_to_one_with_a_small_number(E, mask):
    """Where a forbidden score lies far above the others nothing is left of these: a row that allows keys gives none of them
    weight. The forbidden scores still took part in the exponentials, as they are or lowered by too little, and their weights were
    taken away afterwards. Hide the scores before the softmax: −∞ in their place."""
    A = E.softmax(dim=-1) * mask
    return A / A.sum(dim=-1, keepdim=True).clamp(min=1e-12)


@masked_softmax.misconception
def empty_rows_even(E, mask):
    """In a row that allows nothing all keys get the same weight. Equal scores do that, such as one number in the
    place of all of them (−1e9, the lowest of the type, or 0). Such a query would attend to padding, or to the future. Asked
    for are weights of 0: find these rows, mask.any(dim=-1), and set their weights to 0 after the softmax."""
    return E.masked_fill(~mask, torch.finfo(E.dtype).min).softmax(dim=-1)


@masked_softmax.misconception
def empty_rows_by_their_own_scores(E, mask):
    """In a row that allows nothing the forbidden keys share the weight by their own scores. Either all keys are allowed there, or
    one number is subtracted from all scores of the row, which a softmax does not notice. Asked for are zeros: set the weights of
    these rows to 0."""
    nothing = ~mask.expand(E.shape).any(dim=-1, keepdim=True)
    return torch.where(nothing, E, E.masked_fill(~mask, -math.inf)).softmax(dim=-1)


@masked_softmax.misconception
def empty_rows_not_a_number(E, mask):
    """Right where something is allowed; a row that allows nothing is NaN: all its scores are −∞, and the softmax divides 0 by
    0. One such row spoils every sum that it gets into, and the gradients with it. Find these rows, mask.any(dim=-1), and give
    them zeros."""
    return E.masked_fill(~mask, -math.inf).softmax(dim=-1)


@masked_softmax.misconception
def not_a_number_hidden_in_the_result_alone(E, mask):
    """The numbers are right, but the gradient of a row that allows nothing is NaN: the NaN of the softmax was replaced in the
    result, and on the way back it meets every score of its row (0 · NaN is NaN). It must not come up: give such rows finite
    scores before the softmax, or replace the forbidden scores (masked_fill, where) rather than adding −∞ to them."""
    return (E + torch.zeros_like(E).masked_fill(~mask, -math.inf)).softmax(dim=-1).nan_to_num(0.0)


@masked_softmax.misconception
def scores_set_to_zero(E, mask):
    """The forbidden scores were set to 0 before the softmax. exp(0) is 1, so that forbidden keys still get weight, often more
    than allowed ones. The score whose weight is 0 is −∞."""
    return (E * mask).softmax(dim=-1)


@masked_softmax.misconception
def scores_set_to_zero_and_multiplied(E, mask):
    """The forbidden scores were set to 0 before the softmax, and their weights after it. exp(0) is 1, so that forbidden keys
    take a share first, which is missing then: rows sum to less than 1. The score whose weight is 0 is −∞."""
    return (E * mask).softmax(dim=-1) * mask


@masked_softmax.misconception
def mask_added(E, mask):
    """The mask was added to the scores as it is, 1 for allowed and 0 for forbidden: the allowed keys get e times the weight,
    and the forbidden ones keep theirs. What is added must be 0 and −∞."""
    return (E + mask).softmax(dim=-1)


@masked_softmax.misconception
def not_low_enough(E, mask):
    """The forbidden scores were set to, or lowered by, a number that is not low enough: where what they become is not far below
    the allowed scores, the forbidden keys get weight. Use −∞, and then treat the rows that allow nothing."""
    return E.masked_fill(~mask, -1000.0).softmax(dim=-1)


@masked_softmax.misconception(universal=True)
def lowered_by_a_number_and_rows_zeroed(E, mask):
    """A large number was subtracted from the forbidden scores. That is enough only while these scores are smaller: one of 1e30
    stays far above all others and takes all the weight. Replace forbidden scores, whatever they are, by −∞."""
    return (E - 1e9 * ~mask).softmax(dim=-1).masked_fill(~mask.expand(E.shape).any(dim=-1, keepdim=True), 0.0)


@masked_softmax.misconception
def rows_with_a_forbidden_key_emptied(E, mask):
    """Rows in which some key is forbidden are 0 all through. A row is empty only if all its keys are forbidden:
    ~mask.any(dim=-1), not ~mask.all(dim=-1)."""
    return _right(E, mask) * mask.all(dim=-1, keepdim=True)


@masked_softmax.misconception
def axis_for_heads_added(E, mask):
    """An axis for heads was added to the mask, as if it were always the same kind. The mask that comes in broadcasts to E
    already: use it as it is."""
    return _right(E, mask.unsqueeze(1))


@masked_softmax.misconception
def allowed_scores_picked_out(E, mask):
    """E[mask] picks the allowed scores out into one long row, of all queries together, and the softmax lets them compete. The
    shape must stay: replace the forbidden scores by −∞."""
    return E[mask].softmax(dim=-1)


@masked_softmax.alternative
def empty_rows_filled_before(E, mask):
    nothing = ~mask.any(dim=-1, keepdim=True)
    return E.masked_fill(~mask, -math.inf).masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(~mask, 0.0)


@masked_softmax.alternative
def not_a_number_replaced(E, mask):
    """masked_fill's own gradient is 0 where it has filled, NaN or not, so that this is right on the way back too."""
    return E.masked_fill(~mask, float("-inf")).softmax(-1).nan_to_num(0.0)


@masked_softmax.alternative
def lowest_number_and_then_zeros(E, mask):
    return E.masked_fill(~mask, torch.finfo(E.dtype).min).softmax(dim=-1) * mask


@masked_softmax.alternative
def with_a_sum_of_logarithms(E, mask):
    hidden = torch.where(mask, E, torch.full_like(E, torch.finfo(E.dtype).min))
    return (hidden - hidden.logsumexp(dim=-1, keepdim=True)).exp().masked_fill(~mask, 0.0)


@masked_softmax.alternative
def row_by_row(E, mask):
    rows, allowed = E.reshape(-1, E.shape[-1]), mask.expand(E.shape).reshape(-1, E.shape[-1])
    found = []
    for e, keys in zip(rows, allowed):
        a = torch.zeros_like(e)
        if keys.any():
            a[keys] = e[keys].softmax(dim=0)
        found.append(a)
    return torch.stack(found).reshape(E.shape)
