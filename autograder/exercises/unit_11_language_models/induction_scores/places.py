"""induction_scores: which weight is taken, and which occurrence."""

import torch

from autograder.exercises.unit_11_language_models.induction_scores.declaration import (
    _at,
    _earlier,
    _last,
    _mean,
    induction_scores,
)

# where the head is looked at


@induction_scores.misconception
def the_token_itself(A, tokens):
    """The weight is that on the earlier occurrence itself, A[n, j]. An induction head attends to the token that followed it,
    j + 1, since this is what may follow again."""
    return _mean(_at(A, _last(tokens)), _last(tokens) >= 0)


@induction_scores.misconception
def the_token_before(A, tokens):
    """The weight is that on the position before the earlier occurrence, j − 1. An induction head attends to the position after
    it, j + 1."""
    j = _last(tokens)
    return _mean(torch.where(j[:, None] > 0, _at(A, j - 1), 0), j >= 0)


@induction_scores.misconception
def two_further(A, tokens):
    """The weight is that on j + 2, two positions after the earlier occurrence. The token that followed it stands at j + 1."""
    j = _last(tokens)
    inside = j + 2 < A.shape[-1]
    return _mean(torch.where(inside[:, None], _at(A, j + 2), 0), j >= 0)


@induction_scores.misconception
def query_after_the_repetition(A, tokens):
    """The weights are those of position n + 1, one after the repeated token. The repeated token itself, at n, is the query: it
    predicts n + 1, and looks for what followed it the last time."""
    j = _last(tokens)[:, :-1]
    return _mean(_at(A[:, :, 1:], j + 1), j >= 0)


@induction_scores.misconception
def query_and_key_exchanged(A, tokens):
    """Queries and keys have changed places: the weights are A[b, h, j + 1, n]. The query n is the row of A, and j + 1, which it
    attends to, the column."""
    return _mean(_at(A.mT, _last(tokens) + 1), _last(tokens) >= 0)


# which occurrence counts


@induction_scores.misconception
def first_occurrence(A, tokens):
    """The first occurrence of the token in its line is taken for j. Where it occurred more than once before, j is the last of
    them."""
    some = _earlier(tokens)
    return _mean(_at(A, some.int().argmax(dim=-1) + 1), some.any(dim=-1))


@induction_scores.misconception
def nothing_found(A, tokens):
    """All scores are 0. Was an occurrence found at all, and was it looked for before n? To a dict or a set, two tensors are
    different keys even where their numbers are equal: take int(token), or tokens.tolist()."""
    return A.new_zeros(A.shape[1])


@induction_scores.misconception
def own_position_counted(A, tokens):
    """An index is one beyond the end of the line. Is the token at n found as its own last occurrence, j = n? Then j + 1 = N for
    the last of them. An earlier occurrence has j < n: tril(-1) leaves out the diagonal, tril() keeps it."""
    j = (tokens[:, :, None] == tokens[:, None, :]).tril() * torch.arange(tokens.shape[1], device=tokens.device)
    j = j.amax(dim=-1) + 1
    return A.gather(-1, j[:, None, :, None].expand(*A.shape[:3], 1)).squeeze(-1).mean(dim=(0, 2))


@induction_scores.misconception
def kept_from_line_to_line(A, tokens):
    """Where tokens stood last is remembered from one line to the next. An occurrence counts in its own line alone: begin each
    line with nothing found."""
    found, last = [], {}
    for b, line in enumerate(tokens.tolist()):
        for n, token in enumerate(line):
            if token in last:
                found.append(A[b, :, n, last[token] + 1])
            last[token] = n
    return torch.stack(found).mean(dim=0) if found else A.new_zeros(A.shape[1])


@induction_scores.misconception
def all_occurrences_added(A, tokens):
    """The weights after all earlier occurrences of the token are added. Only the position after the last one counts."""
    some = _earlier(tokens)
    W = (A[..., 1:] * some[:, None, :, :-1]).sum(dim=-1)
    return _mean(W, some.any(dim=-1))


@induction_scores.misconception
def all_occurrences_averaged(A, tokens):
    """For each position the mean over all earlier occurrences of its token is taken. Only the position after the last one
    counts."""
    some = _earlier(tokens)
    W = (A[..., 1:] * some[:, None, :, :-1]).sum(dim=-1)
    return _mean(W / some.sum(dim=-1).clamp(min=1)[:, None].to(A.dtype), some.any(dim=-1))


@induction_scores.misconception
def mean_over_pairs(A, tokens):
    """The mean runs over all pairs of a position and an earlier occurrence of its token. Each position counts once, with the
    last of its earlier occurrences."""
    some = _earlier(tokens)
    total = (A[..., 1:] * some[:, None, :, :-1]).sum(dim=(0, 2, 3))
    return total / some.sum().clamp(min=1).to(A.dtype)


@induction_scores.misconception
def largest_weight(A, tokens):
    """Of the weights after all earlier occurrences the largest is taken. Which occurrence counts does not depend on the weights:
    it is the last."""
    some = _earlier(tokens)
    W = (A[..., 1:] * some[:, None, :, :-1]).amax(dim=-1)
    return _mean(W, some.any(dim=-1))


@induction_scores.misconception
def halves(A, tokens):
    """The weights are those on n − N/2 + 1, for the n of the second half. That is right where each line says everything twice;
    in general the tokens tell where the last occurrence is."""
    half = A.shape[-1] // 2
    if not half:
        return A.new_zeros(A.shape[1])
    place = torch.arange(half, A.shape[-1], device=A.device)
    return A[:, :, place, place - half + 1].mean(dim=(0, 2))
