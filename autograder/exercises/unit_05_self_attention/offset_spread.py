"""Exercise 5: whether scores depend on the offset alone."""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _spread_below(inputs, rng):
    """One number far below the diagonal stands out."""
    inputs["E"][..., -1, 1] += 9


def _spread_above(inputs, rng):
    inputs["E"][..., 1, -1] -= 9


def _relative(inputs, rng):
    """The first matrix depends on the offset alone."""
    E = inputs["E"]
    N = E.shape[-1]
    steps = rng.standard_normal(2 * N - 1)
    for m in range(N):
        for n in range(N):
            E[0, m, n] = steps[m - n + N - 1]


def _two_runs(inputs, rng):
    """A diagonal whose numbers are far apart at its ends and close from step to step."""
    E, N = inputs["E"], inputs["E"].shape[-1]
    E *= 0.3
    for n in range(N - 1):
        E[..., n + 1, n] += 2.0 * n


@exercise(
    points=3,
    section="Relative positions: only the distance counts",
    source="Shaw, Uszkoreit and Vaswani 2018",
    outputs="spread",
    formula="spread = the largest (max − min) of the scores E[m, n] with one offset n − m, over all offsets from 1 − N to N − 1;"
    " E [*B, N, N] gives spread [*B]",
    cases=[
        Case("a batch of score matrices", expand={"*B": "B"}, sizes={"N": 6}),
        Case("one matrix", expand={"*B": ""}, sizes={"N": 5}, edit=_spread_below),
        Case("keys behind the query stand out", expand={"*B": "B"}, sizes={"N": 6}, edit=_spread_below),
        Case("keys ahead of the query stand out", expand={"*B": "B"}, sizes={"N": 6}, edit=_spread_above),
        Case("one of them depends on the offset alone", expand={"*B": "B"}, sizes={"N": 6}, edit=_relative),
        Case("a slow drift along a diagonal", expand={"*B": "B"}, sizes={"N": 8}, edit=_two_runs),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes={"B_1": 3, "B_2": 2, "N": 5}),
    ],
    differentiable=False,
    equivalent={
        "E.shape[-2]": "E is square",
        "range(2 - N, N)]": "the diagonal that is left out has one entry, which has no spread",
    },
)
def offset_spread(E: Float[Tensor, "*B N N"]) -> Float[Tensor, "*B"]:
    N = E.shape[-1]
    diagonals = [E.diagonal(offset, dim1=-2, dim2=-1) for offset in range(1 - N, N)]
    return torch.stack([one.amax(dim=-1) - one.amin(dim=-1) for one in diagonals], dim=-1).amax(dim=-1)


def _over(E, offsets, measure=lambda one: one.amax(dim=-1) - one.amin(dim=-1)):
    """`measure` of each of the diagonals, [*B, offsets]."""
    return torch.stack([measure(E.diagonal(offset, dim1=-2, dim2=-1)) for offset in offsets], dim=-1)


def _all(E):
    return range(1 - E.shape[-1], E.shape[-1])


@offset_spread.misconception
def main_diagonal_alone(E):
    """Only the main diagonal was used, the scores of each position with itself. Every offset from −(N − 1) to N − 1
    has a diagonal."""
    return _over(E, [0]).amax(dim=-1)


@offset_spread.misconception
def upper_diagonals_alone(E):
    """Only the main diagonal and those above it were used. Negative offsets have diagonals, too, below the main
    one."""
    return _over(E, range(E.shape[-1])).amax(dim=-1)


@offset_spread.misconception
def lower_diagonals_alone(E):
    """Only the main diagonal and those below it were used. Positive offsets have diagonals, too, above the main
    one."""
    return _over(E, range(1 - E.shape[-1], 1)).amax(dim=-1)


@offset_spread.misconception
def main_diagonal_left_out(E):
    """The main diagonal was left out. 0 is an offset, too: that of each position with itself."""
    return _over(E, [offset for offset in _all(E) if offset]).amax(dim=-1)


@offset_spread.misconception
def diagonals_of_the_sum(E):
    """The scores with equal m + n were compared, along the other diagonals. Equal offset means equal n − m: these
    diagonals run from the upper left to the lower right."""
    return _over(E.flip(-1), _all(E)).amax(dim=-1)


@offset_spread.misconception
def around_the_edge(E):
    """The diagonals continue at the other edge: n − m was taken modulo N, which merges offsets that differ by N.
    Offset 1 and offset 1 − N are different offsets."""
    N = E.shape[-1]
    place = torch.arange(N, device=E.device)
    wrapped = torch.stack([E[..., (place + k) % N, place] for k in range(N)], dim=-2)
    return (wrapped.amax(dim=-1) - wrapped.amin(dim=-1)).amax(dim=-1)


@offset_spread.misconception
def step_by_step(E):
    """Each score was compared only with its neighbour on the diagonal. Small steps in one direction add up: compare
    the largest score of a diagonal with the smallest."""
    return (E[..., 1:, 1:] - E[..., :-1, :-1]).abs().amax(dim=(-2, -1))


@offset_spread.misconception
def distance_without_direction(E):
    """Offsets of both signs were merged, as |n − m|. Two positions ahead and two positions back are different
    offsets."""
    N = E.shape[-1]
    found = []
    for offset in range(N):
        both = torch.cat([E.diagonal(one, dim1=-2, dim2=-1) for one in (offset, -offset)], dim=-1)
        found.append(both.amax(dim=-1) - both.amin(dim=-1))
    return torch.stack(found, dim=-1).amax(dim=-1)


@offset_spread.misconception
def averaged_over_offsets(E):
    """The spreads of the diagonals were averaged. One diagonal with a spread is enough to show that more than the
    offset counts: take the largest spread."""
    return _over(E, _all(E)).mean(dim=-1)


@offset_spread.misconception
def standard_deviation(E):
    """This is a standard deviation along the diagonals. The spread is the largest score minus the smallest."""
    return _over(E, _all(E), lambda one: one.std(dim=-1, correction=0)).amax(dim=-1)


@offset_spread.misconception
def sample_deviation(E):
    """This is a standard deviation along the diagonals, and that of a single number is not defined (NaN). The spread
    is the largest score minus the smallest."""
    return _over(E, _all(E), lambda one: one.std(dim=-1) if one.shape[-1] > 1 else one.sum(dim=-1) * torch.nan).amax(
        dim=-1
    )


@offset_spread.misconception
def length_from_axis_one(E):
    """N is read from shape[1], which is right for one matrix and for a batch, but with two batch axes it is another
    axis. Count from the end: E.shape[-1]."""
    N = E.shape[1]
    offsets = [offset for offset in range(1 - N, N) if abs(offset) < E.shape[-1]]
    return _over(E, offsets).amax(dim=-1)


@offset_spread.misconception
def length_from_axis_zero(E):
    """N is read from shape[0], or len(E), which is right for one matrix. In a batch this is the number of matrices,
    and offsets beyond it are left out. Count from the end: E.shape[-1]."""
    return _over(E, range(1 - len(E), len(E))).amax(dim=-1)


@offset_spread.misconception
def zeros_counted(E):
    """Zeros were counted as scores on the diagonals: zeros that masking or cutting leaves elsewhere, as in E *
    (offset == k) or E.triu(k).tril(k), or zeros that fill up short diagonals. A diagonal with scores from 2 to 3 then
    has a spread of 3, not of 1."""
    return _over(E, _all(E), lambda one: one.amax(dim=-1).clamp(min=0) - one.amin(dim=-1).clamp(max=0)).amax(dim=-1)


@offset_spread.misconception
def offsets_in_front(E):
    """These are the spreads of all 2N − 1 offsets, along a first axis. The exercise asks for the largest of them, one
    number for each matrix: amax(dim=0)."""
    return _over(E, _all(E)).movedim(-1, 0)


@offset_spread.misconception
def largest_number(E):
    """This is the largest absolute score on any diagonal. A score may be as large as it likes; what counts is how
    much the scores vary along a diagonal, the largest minus the smallest."""
    return _over(E, _all(E), lambda one: one.abs().amax(dim=-1)).amax(dim=-1)


@offset_spread.misconception
def distance_from_the_mean(E):
    """The scores were compared with the mean of their diagonal. The spread is the largest score minus the
    smallest."""
    return _over(E, _all(E), lambda one: (one - one.mean(dim=-1, keepdim=True)).abs().amax(dim=-1)).amax(dim=-1)


@offset_spread.misconception
def compared_with_the_first(E):
    """The scores were compared only with the first of their diagonal. The two that differ most may both be others."""
    return _over(E, _all(E), lambda one: (one - one[..., :1]).abs().amax(dim=-1)).amax(dim=-1)


@offset_spread.misconception
def last_minus_first(E):
    """Only the two ends of each diagonal were compared. The largest and the smallest score may stand anywhere on
    it."""
    return _over(E, _all(E), lambda one: (one[..., -1] - one[..., 0]).abs()).amax(dim=-1)


@offset_spread.misconception
def whole_matrix(E):
    """This is the spread of the whole matrix. Scores of different offsets may differ; compare only scores of the same
    offset."""
    return E.flatten(-2).amax(dim=-1) - E.flatten(-2).amin(dim=-1)


@offset_spread.misconception
def along_the_rows(E):
    """The spread was taken along the rows of E, over the scores of one query. Equal offsets lie along the
    diagonals."""
    return (E.amax(dim=-1) - E.amin(dim=-1)).amax(dim=-1)


@offset_spread.misconception
def a_spread_for_each_offset(E):
    """These are the spreads of all 2N − 1 offsets. The exercise asks for the largest of them, one number for each
    matrix."""
    return _over(E, _all(E))


@offset_spread.misconception
def one_number_for_all(E):
    """This is one number for the whole batch. Each matrix has its own spread."""
    return _over(E, _all(E)).max()


@offset_spread.alternative
def by_numbering_offsets(E):
    N = E.shape[-1]
    place = torch.arange(N, device=E.device)
    offset = place[:, None] - place
    spread = E.new_zeros(E.shape[:-2])
    for k in range(1 - N, N):
        here = E[..., offset == k]
        spread = torch.maximum(spread, here.max(dim=-1).values - here.min(dim=-1).values)
    return spread


@offset_spread.alternative
def by_every_pair(E):
    N = E.shape[-1]
    largest = E.new_zeros(E.shape[:-2])
    for step in range(1, N):
        largest = torch.maximum(largest, (E[..., step:, step:] - E[..., :-step, :-step]).abs().amax(dim=(-2, -1)))
    return largest


@offset_spread.alternative
def sheared_into_columns(E):
    N = E.shape[-1]
    sheared = (
        torch.nn.functional.pad(E.flip(-1), (0, N)).flatten(-2)[..., : N * (2 * N - 1)].unflatten(-1, (N, 2 * N - 1))
    )
    there = (
        torch.nn.functional.pad(torch.ones_like(E), (0, N)).flatten(-2)[..., : N * (2 * N - 1)].unflatten(-1, (N, -1))
    )
    low, high = sheared.masked_fill(there == 0, torch.inf), sheared.masked_fill(there == 0, -torch.inf)
    return (high.amax(dim=-2) - low.amin(dim=-2)).amax(dim=-1)
