"""Answers to induction_scores (assignment 11), written from the text of the exercise alone."""

import itertools
import math
from collections import defaultdict

import numpy as np
import torch
import torch.nn.functional as F
from answers import before, change, left_open, right, wrong

# ---------------------------------------------------------------- right


@right("a dictionary of last places for each line, weights collected in a list")
def by_dictionary(A, tokens):
    taken = []
    for b, line in enumerate(tokens.tolist()):
        last = {}
        for n, token in enumerate(line):
            if token in last:
                taken.append(A[b, :, n, last[token] + 1])
            last[token] = n
    if not taken:
        return A.new_zeros(A.shape[1])
    return torch.stack(taken).mean(0)


@right("all tokens compared with all, the largest earlier index, advanced indexing")
def by_comparison(A, tokens):
    B, H, N, _ = A.shape
    place = torch.arange(N, device=A.device)
    earlier = (tokens[:, :, None] == tokens[:, None, :]) & (place < place[:, None])
    last = torch.where(earlier, place, -1).amax(-1)
    b, n = (last >= 0).nonzero(as_tuple=True)
    if len(b) == 0:
        return torch.zeros(H, dtype=A.dtype, device=A.device)
    return A[b, :, n, last[b, n] + 1].mean(0)


@right("gather of one weight for each position, the others set to 0 by where")
def by_gather(A, tokens):
    B, H, N, _ = A.shape
    same = (tokens.unsqueeze(-1) == tokens.unsqueeze(-2)).tril(-1)
    occurred = same.any(-1)
    j = N - 1 - same.flip(-1).to(torch.uint8).argmax(-1)
    look = torch.where(occurred, j + 1, 0)
    weights = A.gather(-1, look[:, None, :, None].expand(B, H, N, 1)).squeeze(-1)
    weights = torch.where(occurred[:, None], weights, torch.zeros_like(weights))
    return weights.sum((0, 2)) / occurred.sum().clamp(min=1)


@right("a stable sort of each line brings equal tokens side by side: the one before is the last earlier place")
def by_sorting(A, tokens):
    B, H, N, _ = A.shape
    values, order = tokens.sort(dim=-1, stable=True)
    again = values[:, 1:] == values[:, :-1]
    b = torch.arange(B, device=A.device)[:, None].expand(B, N - 1)[again]
    n, j = order[:, 1:][again], order[:, :-1][again]
    weights = A[b, :, n, j + 1]
    return weights.sum(0) / max(weights.shape[0], 1)


@right("a selecting tensor of ones and zeros, and einsum")
def by_einsum(A, tokens):
    N = tokens.shape[1]
    select = A.new_zeros(A.shape[0], N, N)
    count = 0
    for b, line in enumerate(tokens.cpu().numpy()):
        for n in range(1, N):
            before = np.flatnonzero(line[:n] == line[n])
            if before.size:
                select[b, n, before[-1] + 1] = 1
                count += 1
    return torch.einsum("bhnm,bnm->h", A, select) / max(count, 1)


@right("backwards from each position to the first equal token, one mask at the end, gradients cut off")
def by_walking_back(A, tokens):
    lines = tokens.tolist()
    chosen = torch.zeros((A.shape[0], A.shape[2], A.shape[3]), dtype=torch.bool, device=A.device)
    for b, line in enumerate(lines):
        for n, token in enumerate(line):
            j = next((m for m in range(n - 1, -1, -1) if line[m] == token), None)
            if j is not None:
                chosen[b, n, j + 1] = True
    if not chosen.any():
        return torch.zeros_like(A[0, :, 0, 0])
    return A.detach().transpose(0, 1)[:, chosen].mean(-1)


@right("one head after the other, math.fsum of Python's numbers")
def by_fsum(A, tokens):
    where = []
    for b, line in enumerate(tokens.tolist()):
        places = defaultdict(list)
        for n, token in enumerate(line):
            places[token].append(n)
        where += [(b, n, j + 1) for found in places.values() for j, n in itertools.pairwise(found)]
    scores = []
    for h in range(A.shape[1]):
        head = A[:, h].tolist()
        scores.append(math.fsum(head[b][n][m] for b, n, m in where) / len(where) if where else 0.0)
    return torch.tensor(scores, dtype=A.dtype, device=A.device)


@right("by distances: which tokens stand d before, from near to far, until each position has found one")
def by_distance(A, tokens):
    B, H, N, _ = A.shape
    found = torch.zeros_like(tokens, dtype=torch.bool)
    parts = [A.new_zeros(H, 0)]
    for d in range(1, N):
        new = torch.zeros_like(found)
        new[:, d:] = (tokens[:, d:] == tokens[:, :-d]) & ~found[:, d:]
        # the diagonal of m = n - d + 1 begins at n = d - 1: without its first entry it belongs to n = d, d + 1, …
        diagonal = A.diagonal(offset=1 - d, dim1=-2, dim2=-1)[..., 1:]
        parts.append(diagonal.transpose(0, 1)[:, new[:, d:]])
        found |= new
    taken = torch.cat(parts, dim=1)
    return taken.sum(1) / max(taken.shape[1], 1)


@right("calls itself on halves of the batch and joins sums and counts")
def by_halves(A, tokens):
    def sums(A, tokens):
        if len(A) > 1:
            half = len(A) // 2
            (s, c), (t, d) = sums(A[:half], tokens[:half]), sums(A[half:], tokens[half:])
            return s + t, c + d
        place, line = torch.arange(tokens.shape[1], device=A.device), tokens[0]
        earlier = (line[:, None] == line) & (place < place[:, None])
        j = (earlier * (place + 1)).amax(1)
        counts = j > 0
        taken = A[0][:, place[counts], j[counts]]
        return taken.to(torch.promote_types(A.dtype, torch.float32)).sum(1), int(counts.sum())

    total, count = sums(A, tokens)
    return (total / count).to(A.dtype) if count else torch.zeros_like(total, dtype=A.dtype)


@right("a running table of last places, [B, words] after the words were numbered anew by unique")
def by_running_table(A, tokens):
    B, H, N, _ = A.shape
    words, numbers = torch.unique(tokens, return_inverse=True)
    last = torch.full((B, len(words)), -1, dtype=torch.int64, device=A.device)
    lines = torch.arange(B, device=A.device)
    taken = []
    for n in range(N):
        j = last[lines, numbers[:, n]]
        here = j >= 0
        taken.append(A[:, :, n][lines[here], :, j[here] + 1])
        last[lines, numbers[:, n]] = n
    taken = torch.cat(taken)
    return taken.mean(0) if len(taken) else A.new_zeros(H)


@right("flat indices into A laid out anew with heads at the end, NumPy for the places")
def by_flat_indices(A, tokens):
    B, H, N, _ = A.shape
    table = tokens.detach().cpu().numpy()
    flat = []
    for b in range(B):
        for token in np.unique(table[b]):
            at = np.nonzero(table[b] == token)[0]
            flat += list((b * N + at[1:]) * N + at[:-1] + 1)
    rows = A.permute(0, 2, 3, 1).reshape(B * N * N, H)
    picked = rows.index_select(0, torch.tensor([int(i) for i in flat], dtype=torch.int64, device=A.device))
    return picked.mean(dim=0) if flat else torch.zeros_like(rows[0])


@right("cummax over the places of each word on its own")
def by_cummax(A, tokens):
    B, H, N, _ = A.shape
    place = torch.arange(N, device=A.device)
    look = torch.zeros_like(tokens, dtype=torch.int64)
    for token in tokens.unique():
        here = tokens == token
        seen = torch.where(here, place + 1, 0).cummax(1).values
        before = F.pad(seen, (1, -1))
        look = torch.where(here, before, look)
    counts = look > 0
    weights = A.take_along_dim(look[:, None, :, None], dim=-1)[..., 0].movedim(1, 0)
    kept = weights.masked_select(counts).reshape(H, -1)
    return kept.mean(1) if kept.numel() else kept.new_zeros(H)


# ---------------------------------------------------------------- parts that the wrong ones share


def _last(tokens):
    """The last earlier place of each position's token, -1 where there is none; [B, N]."""
    place = torch.arange(tokens.shape[1], device=tokens.device)
    earlier = (tokens[:, :, None] == tokens[:, None, :]) & (place < place[:, None])
    return torch.where(earlier, place, -1).amax(-1)


def _mean_at(A, keep, look):
    """The mean over the kept (b, n) of A[b, :, n, look[b, n]]."""
    b, n = keep.nonzero(as_tuple=True)
    if len(b) == 0:
        return A.new_zeros(A.shape[1])
    return A[b, :, n, look[b, n]].mean(0)


def _scores(A, tokens):
    """The right scores."""
    last = _last(tokens)
    return _mean_at(A, last >= 0, last + 1)


# Right, and not registered: answers below are changes of it.
def _plain(A, tokens):
    last = _last(tokens)
    return _mean_at(A, last >= 0, last + 1)


# ---------------------------------------------------------------- wrong: where is looked


change(_plain, "looks_at_j",
       "the weight on j, the token's last place, is taken instead of the one after it, j + 1", "concept",
       ("last + 1", "last"))


@wrong("the first earlier place is taken instead of the last (argmax of the comparison)", kind="concept")
def first_place(A, tokens):
    same = (tokens[:, :, None] == tokens[:, None, :]).tril(-1)
    return _mean_at(A, same.any(-1), same.to(torch.uint8).argmax(-1) + 1)


@wrong("the weights after all earlier places of the token are added, not that after the last alone", kind="concept")
def sum_over_all_places(A, tokens):
    total, count = A.new_zeros(A.shape[1]), 0
    for b, line in enumerate(tokens.tolist()):
        for n, token in enumerate(line):
            before = [m for m in range(n) if line[m] == token]
            for m in before:
                total = total + A[b, :, n, m + 1]
            count += bool(before)
    return total / max(count, 1)


@wrong(
    "the mean runs over all pairs of equal tokens, each earlier place a pair, instead of the last place of each",
    kind="concept",
)
def mean_over_all_pairs(A, tokens):
    b, n, j = (tokens[:, :, None] == tokens[:, None, :]).tril(-1).nonzero(as_tuple=True)
    return A[b, :, n, j + 1].mean(0) if len(b) else A.new_zeros(A.shape[1])


@wrong(
    "the last place includes the position itself: j = n, and the weight after it, always 0, is taken (the last "
    "position looks at itself)",
    kind="concept",
)
def itself_included(A, tokens):
    N = tokens.shape[1]
    place = torch.arange(N, device=A.device)
    return _mean_at(A, _last(tokens) >= 0, (place + 1).clamp(max=N - 1).expand(len(tokens), N))


change(_plain, "looks_before",
       "looks at the token before the last place, j − 1 (position 0 where j is 0), instead of j + 1", "concept",
       ("last + 1", "(last - 1).clamp(min=0)"))


@wrong("the score of a head of the previous token: the weight on n − 1 where the token occurred before", kind="concept")
def previous_token_head(A, tokens):
    place = torch.arange(tokens.shape[1], device=A.device).expand_as(tokens)
    return _mean_at(A, _last(tokens) >= 0, (place - 1).clamp(min=0))


# Right, and not registered: answers below are changes of it.
def _in_one_call(A, tokens):
    return _scores(A, tokens)


change(_in_one_call, "rows_and_columns_swapped",
       "rows and columns of A are swapped: A[b, h, j + 1, n] is read", "concept",
       ("_scores(A, tokens)", "_scores(A.transpose(-2, -1), tokens)"))


@wrong("the next place of the token is looked for instead of an earlier one", kind="concept")
def next_place(A, tokens):
    N = tokens.shape[1]
    after = N - 1 - _last(tokens.flip(1)).flip(1)
    return _mean_at(A, after < N, (after + 1).clamp(max=N - 1))


@wrong(
    "it is measured whether the head's largest weight lies at j + 1, not how large the weight there is", kind="concept"
)
def share_of_hits(A, tokens):
    hits = F.one_hot(A.argmax(-1), A.shape[-1]).to(A.dtype)
    return _scores(hits, tokens)


change(_plain, "both_places", "the weights on j and on j + 1 are both counted", "concept",
       ("_mean_at(A, last >= 0, last + 1)", "_mean_at(A, last >= 0, last) + _mean_at(A, last >= 0, last + 1)"))
change(_plain, "token_before_is_matched",
       "position n looks for the token before it: where n − 1's token stood last, instead of n's own", "concept",
       ("_last(tokens)", "F.pad(_last(tokens)[:, :-1], (1, 0), value=-1)"))


# ---------------------------------------------------------------- wrong: which positions count


change(_plain, "new_tokens_look_at_zero",
       "positions whose token did not occur before count too: with j = −1 they look at position 0", "concept",
       ("last >= 0", "torch.ones_like(last, dtype=torch.bool)"))


@wrong("the sum is divided by all B N positions instead of those whose token occurred before", kind="concept")
def divided_by_all_positions(A, tokens):
    last = _last(tokens)
    return _scores(A, tokens) * (last >= 0).to(A.dtype).mean()


change(_in_one_call, "sum_without_mean", "the sum is not divided at all", "concept",
       ("_scores(A, tokens)", "_scores(A, tokens) * (_last(tokens) >= 0).sum()"))


@wrong(
    "each line has its mean, and then the mean of the lines is taken: lines with few repetitions count too much",
    kind="concept",
)
def mean_of_line_means(A, tokens):
    each = [_scores(A[b : b + 1], tokens[b : b + 1]) for b in range(len(A)) if (_last(tokens[b : b + 1]) >= 0).any()]
    return torch.stack(each).mean(0) if each else A.new_zeros(A.shape[1])


@wrong(
    "places seen are not forgotten at the end of a line: a later line finds tokens of an earlier line", kind="concept"
)
def seen_in_other_lines(A, tokens):
    taken, last = [], {}
    N = tokens.shape[1]
    for b, line in enumerate(tokens.tolist()):
        for n, token in enumerate(line):
            if token in last:
                taken.append(A[b, :, n, min(last[token] + 1, N - 1)])
            last[token] = n
    return torch.stack(taken).mean(0) if taken else A.new_zeros(A.shape[1])


change(_plain, "direct_repetitions_left_out",
       "a token that occurred directly before, j + 1 = n, does not count", "edge",
       before("return", "place = torch.arange(tokens.shape[1], device=A.device)"),
       ("last >= 0", "(last >= 0) & (last + 1 != place)"))
change(_plain, "zero_means_nowhere",
       "0 stands for nowhere before: positions whose token stood last at position 0 are left out", "edge",
       ("last >= 0", "last > 0"))


@wrong("only the second occurrence of each token counts, not the third and later ones", kind="edge")
def second_occurrences_only(A, tokens):
    same = (tokens[:, :, None] == tokens[:, None, :]).tril(-1)
    return _mean_at(A, same.sum(-1) == 1, _last(tokens) + 1)


@wrong("only the last occurrence of each token counts, one value for each word of a line", kind="edge")
def last_occurrences_only(A, tokens):
    last = _last(tokens)
    no_later = ~(tokens[:, :, None] == tokens[:, None, :]).triu(1).any(-1)
    return _mean_at(A, (last >= 0) & no_later, last + 1)


@wrong(
    "the dictionary of last places is filled for the whole line before it is asked: most repetitions find a place "
    "that is not earlier and are left out",
    kind="concept",
)
def dictionary_filled_before(A, tokens):
    taken = []
    for b, line in enumerate(tokens.tolist()):
        last = {token: n for n, token in enumerate(line[:-1])}
        for n, token in enumerate(line):
            if token in last and last[token] < n:
                taken.append(A[b, :, n, last[token] + 1])
    return torch.stack(taken).mean(0) if taken else A.new_zeros(A.shape[1])


change(_plain, "last_position_left_out",
       "the last position of each line is left out, since no token follows it", "edge",
       before("return", "last[:, -1] = -1"))
change(_plain, "zero_is_padding", "tokens with the number 0 are taken for padding and left out", "edge",
       ("last >= 0", "(last >= 0) & (tokens != 0)"))


@wrong("positions at which the head puts no weight on j + 1 are left out of its mean", kind="edge")
def zero_weights_left_out(A, tokens):
    last = _last(tokens)
    b, n = (last >= 0).nonzero(as_tuple=True)
    weights = A[b, :, n, last[b, n] + 1]
    return weights.sum(0) / (weights > 0).sum(0).clamp(min=1)


@wrong("a line without repetitions ends the search: the lines after it are not read", kind="edge")
def stops_at_a_line_without(A, tokens):
    any_repetition = (_last(tokens) >= 0).any(1)
    read = any_repetition.long().cumprod(0).bool()
    return _scores(A[read], tokens[read])


change(_in_one_call, "first_line_only", "only the first line of the batch is measured", "concept",
       ("_scores(A, tokens)", "_scores(A[:1], tokens[:1])"))
change(_plain, "window_of_64", "only the nearest 64 earlier positions are searched", "edge",
       before("return", "place = torch.arange(tokens.shape[1], device=A.device)"),
       ("last >= 0", "(last >= 0) & (place - last <= 64)"))


# ---------------------------------------------------------------- wrong: no repetition, sizes


@wrong("without any repetition the mean of nothing is NaN instead of 0", kind="edge")
def nan_without_repetition(A, tokens):
    last = _last(tokens)
    b, n = (last >= 0).nonzero(as_tuple=True)
    return A[b, :, n, last[b, n] + 1].mean(0)


@wrong("without any repetition a single 0 comes back instead of one for each head", kind="edge")
def one_zero_without_repetition(A, tokens):
    if not (_last(tokens) >= 0).any():
        return torch.tensor(0.0, dtype=A.dtype, device=A.device)
    return _scores(A, tokens)


@wrong("without any repetition torch.stack of an empty list fails", kind="edge")
def fails_without_repetition(A, tokens):
    taken = []
    for b, line in enumerate(tokens.tolist()):
        for n in range(1, len(line)):
            if line[n] in line[:n]:
                taken.append(A[b, :, n, n - line[:n][::-1].index(line[n])])
    return torch.stack(taken).mean(0)


@wrong("a score for each line and head, [B, H], instead of one for each head", kind="shape")
def score_for_each_line(A, tokens):
    return torch.stack([_scores(A[b : b + 1], tokens[b : b + 1]) for b in range(len(A))])


change(_in_one_call, "mean_over_heads", "the mean runs over the heads too: a single number", "shape",
       ("_scores(A, tokens)", "_scores(A, tokens).mean()"))
change(_in_one_call, "squeezed", "squeeze(): with a single head the score has no axis", "shape",
       ("_scores(A, tokens)", "_scores(A, tokens).squeeze()"))


@wrong("the axes of lines and heads are swapped in A: fails or measures other heads where B = H", kind="shape")
def lines_and_heads_swapped(A, tokens):
    return _scores(A.transpose(0, 1), tokens)


@wrong("last places stand in a table of 50257 words: larger numbers fail", kind="edge")
def table_of_fixed_size(A, tokens):
    taken = []
    for b, line in enumerate(tokens.tolist()):
        last = torch.full((50257,), -1)
        for n, token in enumerate(line):
            if last[token] >= 0:
                taken.append(A[b, :, n, int(last[token]) + 1])
            last[token] = n
    return torch.stack(taken).mean(0) if taken else A.new_zeros(A.shape[1])


# ---------------------------------------------------------------- wrong: numbers


@wrong("10^-3 is added to the number of positions, so that every score is a little too small", kind="numerics")
def epsilon_in_the_count(A, tokens):
    count = (_last(tokens) >= 0).sum()
    return _scores(A, tokens) * count / (count + 1e-3)


change(_in_one_call, "small_weights_cut_off", "weights below 0.01 are cut off to 0", "numerics",
       ("_scores(A, tokens)", "_scores(F.threshold(A, 0.01, 0.0), tokens)"))


@wrong("tokens are compared as float32: numbers beyond 2^24 that differ by little are taken for equal", kind="numerics")
def tokens_as_float32(A, tokens):
    return _scores(A, tokens.float())


@wrong("tokens are compared as int16: words whose numbers differ by 65536 are taken for equal", kind="numerics")
def tokens_as_int16(A, tokens):
    return _scores(A, tokens.to(torch.int16))


@right("computed in float32 and cast back: float64 loses digits")
def through_float32(A, tokens):
    return _scores(A.float(), tokens).to(A.dtype)


@wrong("scores are float32 whatever the type of A", kind="interface")
def always_float32(A, tokens):
    scores = torch.zeros(A.shape[1], device=A.device)
    scores += _scores(A, tokens)
    return scores


change(_in_one_call, "rounded", "scores are rounded to four decimals", "numerics",
       ("_scores(A, tokens)", "_scores(A, tokens).double().round(decimals=4).to(A.dtype)"))


# ---------------------------------------------------------------- wrong: layouts, types, state


@wrong("view on A fails where A is transposed or sliced with a step", kind="layout")
def by_view(A, tokens):
    B, H, N, _ = A.shape
    return _scores(A.view(B * H, N * N).reshape(B, H, N, N), tokens)


@wrong("A is read by as_strided as if it were one contiguous block: other layouts give other weights", kind="layout")
def by_strides(A, tokens):
    B, H, N, _ = A.shape
    return _scores(A.as_strided(A.shape, (H * N * N, N * N, N, 1)), tokens)


@wrong("the weights are marked as read: what was taken is set to 0 in A itself", kind="interface")
def used_up(A, tokens):
    scores, last = _scores(A, tokens).detach(), _last(tokens)
    b, n = (last >= 0).nonzero(as_tuple=True)
    with torch.no_grad():
        A[b, :, n, last[b, n] + 1] = 0
    return scores


@wrong("tokens seen before are overwritten by −1 in place", kind="interface")
def tokens_overwritten(A, tokens):
    scores, last = _scores(A, tokens), _last(tokens)
    tokens[last >= 0] = -1
    return scores


@wrong("zeros are made on the CPU: fails or comes back there where A is on another device", kind="interface")
def on_the_cpu(A, tokens):
    scores = torch.zeros(A.shape[1], dtype=A.dtype)
    for h in range(len(scores)):
        scores[h] = _scores(A[:, h : h + 1], tokens)[0]
    return scores


change(_in_one_call, "list_of_numbers", "a list of Python's numbers comes back instead of a tensor", "interface",
       ("_scores(A, tokens)", "_scores(A, tokens).tolist()"))
change(_in_one_call, "with_the_number", "scores and the number of positions come back as a pair", "interface",
       ("_scores(A, tokens)", "_scores(A, tokens), (_last(tokens) >= 0).sum()"))


@wrong("the scores are printed, head by head, and None comes back", kind="interface")
def printed(A, tokens):
    for h, score in enumerate(_scores(A, tokens).tolist()):
        print(f"head {h}: {score:.3f}")


@wrong("tokens come first: calls by position fail", kind="interface")
def tokens_first(tokens, A):
    return _scores(A, tokens)


_sums = {}


@wrong(
    "sums and numbers go on from call to call (for each number of heads): later scores depend on earlier calls",
    kind="interface",
)
def goes_on(A, tokens):
    count = int((_last(tokens) >= 0).sum())
    key = (A.shape[1], A.dtype, A.device)
    total, number = _sums.get(key, (torch.zeros_like(A[0, :, 0, 0]), 0))
    _sums[key] = (total + _scores(A, tokens).detach() * count, number + count)
    return _sums[key][0] / max(_sums[key][1], 1)


@left_open(
    "weights are added one by one in the type of A: in bfloat16 the sum stops growing after hundreds of "
    "positions, as the text's pseudocode, followed word by word, would have it",
    kind="numerics",
)
def added_one_by_one(A, tokens):
    total, count = A.new_zeros(A.shape[1]), 0
    for b, line in enumerate(tokens.tolist()):
        last = {}
        for n, token in enumerate(line):
            if token in last:
                total = total + A[b, :, n, last[token] + 1]
                count += 1
            last[token] = n
    return total / max(count, 1)


@left_open(
    "the number of positions is cast to the type of A, so that in bfloat16 257 becomes 256: an error as large as "
    "that of the rounding of a result",
    kind="numerics",
)
def number_in_the_type_of_A(A, tokens):
    last = _last(tokens)
    look = (last + 1).clamp(min=0)[:, None, :, None].expand(-1, A.shape[1], -1, 1)
    weights = A.gather(-1, look)[..., 0] * (last >= 0)[:, None].to(A.dtype)
    return weights.sum((0, 2)) / (last >= 0).sum().clamp(min=1).to(A.dtype)


@wrong("tokens are compared as 32-bit integers, in which different large ones are the same", kind="numerics")
def compared_in_32_bits(A, tokens):
    words = tokens.int()
    same = (words[:, :, None] == words[:, None, :]).tril(-1)
    last = torch.where(same, torch.arange(tokens.shape[1], device=A.device), -1).amax(-1)
    b, n = (last >= 0).nonzero(as_tuple=True)
    return A[b, :, n, last[b, n] + 1].mean(0) if len(b) else A.new_zeros(A.shape[1])


@wrong("where no token comes twice, the zeros are of torch's usual type", kind="edge")
def zeros_of_the_usual_type(A, tokens):
    found = []
    for line, weights in zip(tokens.tolist(), A):
        last = {}
        for n, token in enumerate(line):
            if token in last:
                found.append(weights[:, n, last[token] + 1])
            last[token] = n
    return torch.stack(found).mean(0) if found else torch.zeros(A.shape[1], device=A.device)
