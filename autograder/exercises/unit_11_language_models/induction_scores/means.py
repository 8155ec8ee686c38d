"""induction_scores again: which positions count, what is made of their weights, and right answers in other styles."""

import torch

from autograder.exercises.unit_11_language_models.induction_scores.declaration import (
    _at,
    _last,
    _mean,
    _right,
    induction_scores,
)

# which positions count


@induction_scores.misconception
def side_by_side_left_out(A, tokens):
    """A token that occurred directly before, j + 1 = n, is left out. It counts as well: the weight is that of n on itself."""
    j = _last(tokens)
    place = torch.arange(A.shape[-1], device=A.device)
    return _mean(_at(A, j + 1), (j >= 0) & (j + 1 < place))


@induction_scores.misconception
def beginning_left_out(A, tokens):
    """Where the last occurrence is the first token of the line, it is left out: j = 0 is taken for `none`. 0 is a position as
    the others are: an occurrence is j ≥ 0, and what was not found is marked by another number, such as −1."""
    return _mean(_at(A, _last(tokens) + 1), _last(tokens) > 0)


@induction_scores.misconception
def position_one_where_there_is_none(A, tokens):
    """Positions whose token did not occur before count too, with the weight on position 1, as if j were 0. They have no j:
    leave them out of the sum and of the number that it is divided by."""
    return _at(A, _last(tokens).clamp(min=0) + 1).mean(dim=(0, 2))


@induction_scores.misconception
def all_positions_counted(A, tokens):
    """The sum is divided by the number of all positions, B·N. The mean is over the positions whose token occurred before."""
    return _mean(_at(A, _last(tokens) + 1), _last(tokens) >= 0, axes=(0, 2)) * (_last(tokens) >= 0).to(A.dtype).mean()


@induction_scores.misconception
def mean_of_means(A, tokens):
    """Each line has a mean of its own, and these are averaged, 0 for a line without repetitions. The mean is over the positions
    of all lines together, so that a line with more repetitions counts more."""
    return _mean(_at(A, _last(tokens) + 1), _last(tokens) >= 0, axes=2).mean(dim=0)


@induction_scores.misconception
def mean_of_means_where_there_are_some(A, tokens):
    """Each line with repetitions has a mean of its own, and these are averaged. The mean is over the positions of all lines
    together, so that a line with more repetitions counts more."""
    means, some = _mean(_at(A, _last(tokens) + 1), _last(tokens) >= 0, axes=2), (_last(tokens) >= 0).any(dim=1)
    return means.sum(dim=0) / some.sum().clamp(min=1).to(A.dtype)


# what is made of the weights


@induction_scores.misconception
def added(A, tokens):
    """The weights are added. The score is their mean, over the positions whose token occurred before."""
    j = _last(tokens)
    return torch.where((j >= 0)[:, None], _at(A, j + 1), 0).sum(dim=(0, 2))


@induction_scores.misconception
def how_often(A, tokens):
    """The score is the share of positions at which j + 1 has the largest weight of all. Asked for is the mean of the weights,
    which also tells how strongly a head attends there."""
    j = _last(tokens)
    return _mean((A.argmax(dim=-1) == (j + 1)[:, None]).to(A.dtype), j >= 0)


@induction_scores.misconception
def not_a_number(A, tokens):
    """Where no token occurs twice, the mean of no positions at all is NaN. The score is 0 then."""
    right, some = _right(A, tokens), (_last(tokens) >= 0).any()
    return torch.where(some, right, torch.nan)


@induction_scores.misconception
def for_each_line(A, tokens):
    """Each line has scores of its own, [B, H]. A head has one score, the mean over the positions of all lines together."""
    return _mean(_at(A, _last(tokens) + 1), _last(tokens) >= 0, axes=2)


@induction_scores.misconception
def one_number(A, tokens):
    """All heads are averaged to one number. Each head has a score of its own: some are induction heads, most are not."""
    return _right(A, tokens).mean()


@induction_scores.alternative
def as_a_student(A, tokens):
    B, H, N, _ = A.shape
    total, count = torch.zeros(H, dtype=A.dtype, device=A.device), 0
    for b in range(B):
        for n in range(N):
            earlier = (tokens[b, :n] == tokens[b, n]).nonzero()
            if len(earlier) > 0:
                total += A[b, :, n, earlier[-1, 0] + 1]
                count += 1
    return total / count if count else total


@induction_scores.alternative
def by_indices(A, tokens):
    N = tokens.shape[1]
    place = torch.arange(N, device=A.device)
    same = (tokens.unsqueeze(2) == tokens.unsqueeze(1)) & (place < place[:, None])
    j = (same * (place + 1)).amax(dim=-1)  # counted from 1; 0 is none
    b, n = torch.nonzero(j, as_tuple=True)
    return A[b, :, n, j[b, n]].sum(dim=0) / max(len(b), 1)


@induction_scores.alternative
def by_a_table_of_targets(A, tokens):
    same = torch.tril(tokens[:, :, None] == tokens[:, None, :], diagonal=-1)
    later = same.flip(-1).cumsum(dim=-1).flip(-1)  # how many occurrences from j on
    target = torch.nn.functional.pad(same & (later == 1), (1, -1)).to(A.dtype)  # [B, N, N], moved on by one
    return torch.einsum("bhnm,bnm->h", A, target) / target.sum().clamp(min=1)


@induction_scores.alternative
def by_sorting(A, tokens):
    """Equal tokens of a line come to stand side by side, in the order of their positions."""
    order = tokens.argsort(dim=1, stable=True)
    ordered = tokens.gather(1, order)
    b, i = (ordered[:, 1:] == ordered[:, :-1]).nonzero(as_tuple=True)
    weights = A[b, :, order[b, i + 1], order[b, i] + 1]  # [positions, H]
    return weights.mean(dim=0) if len(b) else A[0, :, 0, 0] * 0


@induction_scores.alternative
def with_a_table_of_words(A, tokens):
    """All lines at once, position by position; the table says where each word stood last."""
    B, N = tokens.shape
    lines, found = torch.arange(B, device=A.device), []
    different, tokens = tokens.unique(return_inverse=True)  # numbered anew from 0
    seen = torch.full((B, len(different)), -1, device=A.device)
    for n in range(N):
        words = tokens[:, n]
        j = seen[lines, words]
        found.append(A[lines[j >= 0], :, n, j[j >= 0] + 1])
        seen[lines, words] = n
    found = torch.cat(found)
    return found.sum(dim=0) / max(1, len(found))
