"""Exercise 8: which queries see each other where some are noised targets, a stretch."""

import torch
from jaxtyping import Bool
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _case(groups, size, N_Q, edge=False, text=""):
    text = text or f"{groups} groups of {size}, and {N_Q} queries"
    return Case(text, values={"groups": groups, "size": size, "N_Q": N_Q}, edge=edge)


@exercise(
    points=0,
    section="Going further",
    source="Li et al. 2022 (DN-DETR), on the attention mask",
    outputs="allowed",
    formula="allowed [N, N], N = groups · size + N_Q, True where a row may attend to a column: first the noised queries, group"
    " after group, then the N_Q queries of the matching; noised queries see their group and the matching, the matching itself",
    cases=[
        _case(2, 3, 4),
        _case(3, 2, 5),
        _case(4, 5, 3),
        _case(1, 4, 2, edge=True, text="one group"),
        _case(3, 1, 2, edge=True, text="groups of one query"),
        _case(0, 3, 4, edge=True, text="no groups, as when the model is used"),
    ],
    differentiable=False,
)
def denoising_mask(groups: int, size: int, N_Q: int) -> Bool[Tensor, "N N"]:
    N = groups * size + N_Q
    allowed = torch.zeros(N, N, dtype=torch.bool)
    allowed[:, N - N_Q :] = True
    for first in range(0, groups * size, size):
        allowed[first : first + size, first : first + size] = True
    return allowed


def _mask(groups, size, N_Q, *, together=None, noised_see_matching=True, matching_sees_noised=False):
    """The mask from its corners; `together` says, for two places among the noised, whether one sees the other."""
    place = torch.arange(groups * size)
    row, column = place[:, None], place
    together = row // max(size, 1) == column // max(size, 1) if together is None else together(row, column)
    upper = torch.cat([together, torch.full((groups * size, N_Q), noised_see_matching)], dim=1)
    lower = torch.cat([torch.full((N_Q, groups * size), matching_sees_noised), torch.ones(N_Q, N_Q).bool()], dim=1)
    return torch.cat([upper, lower])


@denoising_mask.misconception
def matching_sees_the_noised(groups, size, N_Q):
    """The queries of the matching see the noised ones. These are targets with a little noise: whoever sees them need not look at
    the picture, and in use there are none."""
    return _mask(groups, size, N_Q, matching_sees_noised=True)


@denoising_mask.misconception
def noised_do_not_see_the_matching(groups, size, N_Q):
    """The noised queries do not see those of the matching. They may: what is learned in the matching gives no target away. Only
    the other way round something would leak."""
    return _mask(groups, size, N_Q, noised_see_matching=False)


@denoising_mask.misconception
def groups_see_each_other(groups, size, N_Q):
    """The groups see each other. Each holds the same targets with noise of its own: a query could average the noise away instead
    of looking at the picture."""
    return _mask(groups, size, N_Q, together=lambda row, column: row + column >= 0)


@denoising_mask.misconception
def everybody_sees_everybody(groups, size, N_Q):
    """Everybody sees everybody. Other groups hold the same targets, and for the queries of the matching the noised ones give away
    what is to be found."""
    return _mask(groups, size, N_Q, together=lambda row, column: row + column >= 0, matching_sees_noised=True)


@denoising_mask.misconception
def noised_alone(groups, size, N_Q):
    """Of its group each noised query sees itself alone. Within a group all see each other, as queries do: a group holds each
    target once."""
    return _mask(groups, size, N_Q, together=lambda row, column: row == column)


@denoising_mask.misconception
def interleaved_groups(groups, size, N_Q):
    """The groups are interleaved, as if place n belonged to group n % groups. They stand one after another, size queries each:
    group n // size."""
    return _mask(groups, size, N_Q, together=lambda row, column: row % groups == column % groups)


@denoising_mask.misconception
def earlier_groups_seen(groups, size, N_Q):
    """Each group sees the ones before it as well. Groups have no order, and each holds the same targets: it sees no other."""
    return _mask(groups, size, N_Q, together=lambda row, column: row // size >= column // size)


@denoising_mask.misconception
def causal_in_a_group(groups, size, N_Q):
    """Within a group a query sees the ones before it alone. A set has no order: all of a group see each other."""
    return _mask(groups, size, N_Q, together=lambda row, column: (row // size == column // size) & (row >= column))


@denoising_mask.misconception
def matching_first(groups, size, N_Q):
    """The queries of the matching stand in front. The order is: the noised ones, group after group, then those of the
    matching, in rows and in columns."""
    return _mask(groups, size, N_Q).roll((N_Q, N_Q), dims=(0, 1))


@denoising_mask.misconception
def columns_look(groups, size, N_Q):
    """Rows and columns have changed places: here the matching sees the noised queries, and these do not see it. Rows look,
    columns are looked at."""
    return _mask(groups, size, N_Q).T


@denoising_mask.misconception
def blocks_alone(groups, size, N_Q):
    """The last N_Q rows see nothing. The queries of the matching see each other, as in any decoder; a row that sees nothing makes
    a softmax NaN."""
    allowed = _mask(groups, size, N_Q)
    allowed[groups * size :] = False
    return allowed


@denoising_mask.alternative
def from_corners(groups, size, N_Q):
    return _mask(groups, size, N_Q)


@denoising_mask.alternative
def by_group_numbers(groups, size, N_Q):
    """The matching is a group of its own, which all see."""
    number = torch.cat([torch.arange(groups).repeat_interleave(size), torch.full((N_Q,), groups)])
    return (number[:, None] == number) | (number == groups)


@denoising_mask.alternative
def with_blocks(groups, size, N_Q):
    blocks = [torch.ones(size, size) for _ in range(groups)] + [torch.ones(N_Q, N_Q)]
    allowed = torch.block_diag(*blocks).bool()
    allowed[: groups * size, groups * size :] = True
    return allowed


@denoising_mask.alternative
def as_in_the_papers_code(groups, size, N_Q):
    hidden = torch.zeros(groups * size + N_Q, groups * size + N_Q, dtype=torch.bool)
    pad = groups * size
    hidden[pad:, :pad] = True
    for group in range(groups):
        start, end = group * size, (group + 1) * size
        hidden[start:end, :start], hidden[start:end, end:pad] = True, True
    return ~hidden
