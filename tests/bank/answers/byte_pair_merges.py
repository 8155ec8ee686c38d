"""Test answers for byte_pair_merges (assignment 11): right ones in unusual styles, wrong ones with what is wrong about them."""

import heapq
import re
from collections import Counter, defaultdict
from itertools import groupby, pairwise

import numpy as np
import torch

from answers import change, left_open, right, wrong


def _replaced(text, pair, new):
    """The text with the pair replaced from left to right, as the exercise asks for it."""
    out, i = [], 0
    while i < len(text):
        if i + 1 < len(text) and (text[i], text[i + 1]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(text[i])
            i += 1
    return out


def _best(text):
    """The most frequent pair of the text, the smallest of equally frequent ones."""
    counts = Counter(pairwise(text))
    return min(counts, key=lambda pair: (-counts[pair], pair))


def _learned(tokens, V, M, best=_best, replaced=_replaced):
    """The merges as a list of tuples, with the two steps exchangeable."""
    text, rows = tokens.tolist(), []
    for m in range(M):
        rows.append(best(text))
        text = replaced(text, rows[-1], V + m)
    return rows


# -------------------------------------------------------------------------------------------------------------- right


@right("Counter, and the minimum by (-count, pair)")
def by_counter(tokens, V, M):
    text, rows = tokens.tolist(), []
    for m in range(M):
        counts = Counter(zip(text, text[1:]))
        pair = min(counts, key=lambda p: (-counts[p], *p))
        rows.append(pair)
        out = []
        for token in text:  # the last number of `out` is an old token unless it has just been made
            if out and (out[-1], token) == pair:
                out[-1] = V + m
            else:
                out.append(token)
        text = out
    return torch.tensor(rows, device=tokens.device)


@right("torch.unique over rows, argmax gives the first of equal counts; a loop replaces")
def by_unique(tokens, V, M):
    text, rows = tokens.long(), []
    for m in range(M):
        pairs, counts = torch.stack([text[:-1], text[1:]], dim=1).unique(dim=0, return_counts=True)
        rows.append(pairs[(counts == counts.max()).nonzero()[0, 0]])
        new = _replaced(text.tolist(), tuple(rows[-1].tolist()), V + m)
        text = torch.tensor(new, dtype=torch.int64, device=tokens.device)
    return torch.stack(rows)


@right("tensors alone: within a run of overlapping matches every second one counts, found by a running maximum")
def tensors_alone(tokens, V, M):
    text = tokens.to(torch.int64, copy=True)
    merges = torch.empty(M, 2, dtype=torch.int64, device=tokens.device)
    for m in range(M):
        pairs, counts = torch.unique(torch.stack([text[:-1], text[1:]]), dim=1, return_counts=True)
        merges[m] = pairs[:, counts == counts.max()][:, 0]
        match = (text[:-1] == merges[m, 0]) & (text[1:] == merges[m, 1])
        places = torch.arange(match.numel(), device=tokens.device)
        since = places - torch.where(match, torch.full_like(places, -1), places).cummax(0).values
        starts = match & (since % 2 == 1)
        text[:-1][starts] = V + m
        keep = torch.ones_like(text, dtype=torch.bool)
        keep[1:] = ~starts
        text = text[keep]
    return merges


@right("the text as a Python string with one character for each token, replaced by str.replace")
def characters(tokens, V, M):
    numbers = sorted(set(tokens.tolist()))
    rank = {number: chr(k) for k, number in enumerate(numbers)}
    text, rows = "".join(map(rank.get, tokens.tolist())), []
    for m in range(M):
        counts = Counter(map("".join, zip(text, text[1:])))
        pair = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[0][0]
        numbers.append(V + m)
        rows.append([numbers[ord(c)] for c in pair])
        text = text.replace(pair, chr(len(numbers) - 1))
    return torch.tensor(rows, dtype=torch.long, device=tokens.device)


@right("the text as decimal numbers between spaces, replaced by a regular expression with whole numbers only")
def by_regular_expression(tokens, V, M):
    text, rows = " ".join(map(str, tokens.tolist())), []
    for m in range(M):
        numbers = [int(word) for word in text.split()]
        rows.append(_best(numbers))
        text = re.sub(rf"(?<!\S){rows[-1][0]} {rows[-1][1]}(?!\S)", str(V + m), text)
    return torch.tensor(rows, device=tokens.device)


@right("numpy: np.unique over rows, the text as an array of int64 on the CPU")
def in_numpy(tokens, V, M):
    text, merges = tokens.cpu().numpy().astype(np.int64), np.zeros((M, 2), dtype=np.int64)
    for m in range(M):
        pairs, counts = np.unique(np.column_stack([text[:-1], text[1:]]), axis=0, return_counts=True)
        merges[m] = pairs[counts.argmax()]
        text = np.array(_replaced(text.tolist(), tuple(merges[m].tolist()), V + m), dtype=np.int64)
    return torch.from_numpy(merges).to(tokens.device)


@right("pairs sorted and grouped; max keeps the first of equally long groups")
def sorted_and_grouped(tokens, V, M):
    def best(text):
        groups = [(pair, len(list(group))) for pair, group in groupby(sorted(zip(text, text[1:])))]
        return max(groups, key=lambda group: group[1])[0]

    return torch.tensor(_learned(tokens, V, M, best=best), dtype=torch.int64).to(tokens.device)


@right("a doubly linked list and the set of places of each pair, kept up to date from merge to merge")
def linked_list(tokens, V, M):
    text = tokens.tolist()
    before, after = [i - 1 for i in range(len(text))], [*range(1, len(text)), -1]
    places = defaultdict(set)
    for i, pair in enumerate(zip(text, text[1:])):
        places[pair].add(i)
    rows = []
    for m in range(M):
        pair = min(places, key=lambda p: (-len(places[p]), p))
        rows.append(pair)
        for i in sorted(places[pair]):
            if i not in places[pair]:
                continue
            j, k, h = after[i], after[after[i]], before[i]
            places[pair].discard(i)
            if h >= 0:
                places[text[h], text[i]].discard(h)
                places[text[h], V + m].add(h)
            if k >= 0:
                places[text[j], text[k]].discard(j)
                places[V + m, text[k]].add(i)
                before[k] = i
            text[i], after[i] = V + m, k
    return torch.tensor(rows, dtype=torch.int64, device=tokens.device)


@right("a heap of (-count, left, right), whose top is the best pair")
def by_heap(tokens, V, M):
    def best(text):
        heap = [(-count, *pair) for pair, count in Counter(pairwise(text)).items()]
        heapq.heapify(heap)
        return heap[0][1:]

    return tokens.new_tensor(_learned(tokens, V, M, best=best), dtype=torch.int64)


@right("nested dictionaries: counts by left token, then by right token")
def nested_dictionaries(tokens, V, M):
    def best(text):
        table = {}
        for left, following in pairwise(text):
            row = table.setdefault(left, {})
            row[following] = row.get(following, 0) + 1
        top = max(max(row.values()) for row in table.values())
        left = min(left for left, row in table.items() if top in row.values())
        return left, min(r for r, count in table[left].items() if count == top)

    lefts, rights = zip(*_learned(tokens, V, M, best=best))
    return torch.stack([torch.tensor(side, device=tokens.device) for side in (lefts, rights)], dim=-1)


@right("recursion over halves of the merges, each returning its rows and the text that is left")
def halves(tokens, V, M):
    def learn(text, first, last):
        if last - first == 1:
            pair = _best(text)
            return [pair], _replaced(text, pair, V + first)
        middle = (first + last) // 2
        early, text = learn(text, first, middle)
        late, text = learn(text, middle, last)
        return early + late, text

    return torch.tensor(learn(tokens.tolist(), 0, M)[0], device=tokens.device, dtype=torch.int64)


@right("an iterator with one token of lookahead replaces; the result is filled as [2, M] and comes back transposed")
def lookahead(tokens, V, M):
    def replaced(text, pair, new):
        rest = iter(text)
        held = next(rest, None)
        while held is not None:
            following = next(rest, None)
            if (held, following) == pair:
                yield new
                held = next(rest, None)
            else:
                yield held
                held = following

    merges = torch.zeros(2, M, dtype=torch.int64, device=tokens.device)
    text = [int(token) for token in tokens]
    for m in range(M):
        counts = Counter(pairwise(text))
        left, following = min(counts, key=lambda pair: (-counts[pair], pair))
        merges[0, m], merges[1, m] = left, following
        text = list(replaced(text, (left, following), V + m))
    return merges.mT


@right("each pair as one whole number left * (V + M) + right, whose order is the order of the pairs")
def one_number_for_a_pair(tokens, V, M):
    base, text, codes = V + M, tokens.tolist(), []
    for m in range(M):
        counts = Counter(left * base + following for left, following in pairwise(text))
        most = max(counts.values())
        codes.append(min(code for code in counts if counts[code] == most))
        text = _replaced(text, divmod(codes[-1], base), V + m)
    return torch.tensor([divmod(code, base) for code in codes], device=tokens.device)


# Right, and not registered: answers below are changes of it.
def _with_own_best(tokens, V, M):
    def best(text):
        counts = Counter(pairwise(text))
        return min(counts, key=lambda pair: (-counts[pair], pair))

    return torch.tensor(_learned(tokens, V, M, best=best), device=tokens.device)


# ---------------------------------------------------------------------------------------------------------- left open


change(_with_own_best, "quadratic",
       "each pair is counted by a walk through the whole text: quadratic, slow for long texts", "process",
       ("counts = Counter(pairwise(text))", "pairs = list(zip(text, text[1:]))"), ("counts, key", "set(pairs), key"),
       ("-counts[pair]", "-pairs.count(pair)"), verdict="open")


@left_open("the result has the type of the tokens: not int64 where they are int32", kind="interface")
def type_of_the_tokens(tokens, V, M):
    return torch.tensor(_learned(tokens, V, M), dtype=tokens.dtype, device=tokens.device)


# ------------------------------------------------------------------------------------------------- wrong: the choice


change(_with_own_best, "largest_of_ties", "of equally frequent pairs the largest is taken, not the smallest", "concept",
       ("min", "max"), ("-counts[pair]", "counts[pair]"))


@wrong("of equally frequent pairs the one that occurs first in the text is taken (Counter.most_common)", kind="concept")
def first_of_ties(tokens, V, M):
    def best(text):
        return Counter(pairwise(text)).most_common(1)[0][0]

    return torch.tensor(_learned(tokens, V, M, best=best), device=tokens.device)


change(_with_own_best, "larger_right",
       "of equally frequent pairs with equal left numbers the one with the larger right number is taken", "edge",
       ("-counts[pair], pair", "-counts[pair], pair[0], -pair[1]"))
change(_with_own_best, "left_number_alone",
       "ties go by the smaller left number alone; if these are equal, too, by the first place in the text", "edge",
       ("-counts[pair], pair", "-counts[pair], pair[0]"))
change(_with_own_best, "ties_as_strings", "ties are compared as strings, for which 10 comes before 9", "edge",
       ("-counts[pair], pair", "-counts[pair], str(pair[0]), str(pair[1])"))
change(_with_own_best, "wordpiece",
       "the pair's count is divided by the counts of both tokens (the score of WordPiece)", "concept",
       ("counts = Counter(pairwise(text))", "counts, single = Counter(pairwise(text)), Counter(text)"),
       ("-counts[pair]", "-counts[pair] / (single[pair[0]] * single[pair[1]])"))


@wrong("the search begins with a count of 1 to beat: fails once every pair occurs only once", kind="edge")
def begins_with_one(tokens, V, M):
    def best(text):
        best, most = None, 1
        for pair, count in sorted(Counter(pairwise(text)).items()):
            if count > most:
                best, most = pair, count
        return best

    return torch.tensor(_learned(tokens, V, M, best=best), device=tokens.device)


@wrong("learning ends once no pair occurs twice: the result has fewer than M rows", kind="concept")
def ends_early(tokens, V, M):
    text, rows = tokens.tolist(), []
    for m in range(M):
        if Counter(pairwise(text)).most_common(1)[0][1] < 2:
            break
        rows.append(_best(text))
        text = _replaced(text, rows[-1], V + m)
    return torch.tensor(rows, dtype=torch.int64, device=tokens.device).reshape(-1, 2)


@wrong("once no pair occurs twice, the rows that remain are (-1, -1)", kind="edge")
def filled_up(tokens, V, M):
    text = tokens.tolist()
    merges = torch.full((M, 2), -1, dtype=torch.int64, device=tokens.device)
    for m in range(M):
        pair = _best(text)
        if Counter(pairwise(text))[pair] > 1:
            merges[m] = torch.tensor(pair, device=tokens.device)
            text = _replaced(text, pair, V + m)
    return merges


# ---------------------------------------------------------------------------------------------- wrong: the counting


change(_with_own_best, "no_overlap_in_counts",
       "overlapping pairs are counted once: a a a is one pair (a, a) instead of two", "concept",
       ("counts = Counter(pairwise(text))", """
        counts, i = Counter(), 0
        for pair, group in groupby(pairwise(text)):
            length = len(list(group))
            counts[pair] += (length + 1) // 2"""))
change(_with_own_best, "counted_without_order",
       "(a, b) and (b, a) are counted together; of both, the ordered pair that is smaller is taken", "concept",
       ("return min(counts, key=lambda pair: (-counts[pair], pair))", """
        both = {(a, b): counts[a, b] + (counts[b, a] if a != b else 0) for a, b in counts}
        return min(both, key=lambda pair: (-both[pair], pair))"""))
change(_with_own_best, "last_pair_not_counted",
       "the last pair of the text is not counted (unless it is the only one)", "edge",
       ("pairwise(text)", "(text[i], text[i + 1]) for i in range(max(len(text) - 2, 1))"))
change(_with_own_best, "around_the_end", "the last and the first token are counted as a pair, too (torch.roll)", "edge",
       ("counts = Counter(pairwise(text))", """
        line = torch.tensor(text)
        counts = Counter(zip(text, line.roll(-1).tolist()))"""))


@wrong("the counts of earlier texts are kept and added to instead of counting anew for each merge", kind="concept")
def counts_kept(tokens, V, M):
    text, rows, counts = tokens.tolist(), [], Counter()
    for m in range(M):
        counts.update(pairwise(text))
        rows.append(min(counts, key=lambda pair: (-counts[pair], pair)))
        text = _replaced(text, rows[-1], V + m)
    return torch.tensor(rows, device=tokens.device)


@wrong(
    "the text is counted once: the rows are the M most frequent pairs of the given text, without any replacement "
    "(filled up with the last one)",
    kind="concept",
)
def without_replacement(tokens, V, M):
    counts = Counter(pairwise(tokens.tolist()))
    rows = sorted(counts, key=lambda pair: (-counts[pair], pair))[:M]
    return torch.tensor(rows + rows[-1:] * (M - len(rows)), device=tokens.device)


change(_with_own_best, "letters_only",
       "new tokens are never merged again: only pairs of numbers below V are counted (while there are any)", "concept",
       ("Counter(pairwise(text))",
        "Counter(pair for pair in pairwise(text) if max(pair) < V) or Counter(pairwise(text))"))
change(_with_own_best, "zero_is_a_border",
       "token 0 is taken for a space or padding: pairs with it are not counted (while there are others)", "concept",
       ("Counter(pairwise(text))",
        "Counter(pair for pair in pairwise(text) if 0 not in pair) or Counter(pairwise(text))"))


@wrong("pairs are counted as left * V + right, where pairs with new tokens fall together with others", kind="concept")
def codes_collide(tokens, V, M):
    def best(text):
        counts, pairs = Counter(), {}
        for left, following in pairwise(text):
            counts[left * V + following] += 1
            pairs.setdefault(left * V + following, (left, following))
        return pairs[min(counts, key=lambda code: (-counts[code], code))]

    return torch.tensor(_learned(tokens, V, M, best=best), device=tokens.device)


@wrong("the table of counts has 512 rows and columns, as for bytes: fails for larger numbers", kind="edge")
def table_for_bytes(tokens, V, M):
    def best(text):
        counts = np.zeros((512, 512), dtype=np.int64)
        np.add.at(counts, (text[:-1], text[1:]), 1)
        return tuple(int(number) for number in np.unravel_index(counts.argmax(), counts.shape))

    return torch.tensor(_learned(tokens, V, M, best=best), device=tokens.device)


change(first_of_ties, "first_tokens_counted", "only the first 200 tokens of the text are counted", "edge",
       ("return Counter(pairwise(text)).most_common(1)[0][0]", "return _best(text[:200])"))


@wrong("the text is read by as_strided with step 1: wrong for views with another step", kind="layout")
def by_strides(tokens, V, M):
    text = torch.as_strided(tokens, tokens.shape, (1,)).tolist()
    rows = []
    for m in range(M):
        rows.append(_best(text))
        text = _replaced(text, rows[-1], V + m)
    return torch.tensor(rows, device=tokens.device)


# ------------------------------------------------------------------------------------------- wrong: the replacement


@wrong("pairs are replaced from right to left: a a a becomes a and the new token", kind="concept")
def from_the_right(tokens, V, M):
    def replaced(text, pair, new):
        return _replaced(text[::-1], pair[::-1], new)[::-1]

    return torch.tensor(_learned(tokens, V, M, replaced=replaced), device=tokens.device)


@wrong("only the first place of the pair is replaced", kind="concept")
def first_place_only(tokens, V, M):
    def replaced(text, pair, new):
        i = list(pairwise(text)).index(pair)
        return text[:i] + [new] + text[i + 2 :]

    return torch.tensor(_learned(tokens, V, M, replaced=replaced), device=tokens.device)


@wrong("a token takes part in two replacements: a a a becomes two new tokens", kind="concept")
def overlapping(tokens, V, M):
    def replaced(text, pair, new):
        hit = [p == pair for p in pairwise(text)]
        out = []
        for i, token in enumerate(text):
            if i < len(hit) and hit[i]:
                out.append(new)
            elif i == 0 or not hit[i - 1]:
                out.append(token)
        return out

    return torch.tensor(_learned(tokens, V, M, replaced=replaced), device=tokens.device)


@wrong("the new token replaces the left token of the pair alone, the right one stays in the text", kind="concept")
def right_token_stays(tokens, V, M):
    def replaced(text, pair, new):
        return [new if p == pair else p[0] for p in pairwise(text)] + text[-1:]

    return torch.tensor(_learned(tokens, V, M, replaced=replaced), device=tokens.device)


@wrong(
    "the pair is not replaced where it stands at the very end of the text (unless nothing else is left)", kind="edge"
)
def not_at_the_end(tokens, V, M):
    def replaced(text, pair, new):
        out = _replaced(text[:-1], pair, new) + text[-1:]
        return out if len(text) > 2 else [new]

    return torch.tensor(_learned(tokens, V, M, replaced=replaced), device=tokens.device)


@wrong("the text's last token is lost in the replacement unless it belongs to the pair", kind="edge")
def last_token_lost(tokens, V, M):
    def replaced(text, pair, new):
        out, i = [], 0
        while i < len(text) - 1:
            hit = (text[i], text[i + 1]) == pair
            out.append(new if hit else text[i])
            i += 2 if hit else 1
        return out if len(out) > 1 else out + text[-1:]

    return torch.tensor(_learned(tokens, V, M, replaced=replaced), device=tokens.device)


@wrong("the text is shortened while `for i in range(len(text) - 1)` walks through it: IndexError", kind="process")
def shortened_in_the_loop(tokens, V, M):
    text, rows = tokens.tolist(), []
    for m in range(M):
        rows.append(_best(text))
        for i in range(len(text) - 1):
            if (text[i], text[i + 1]) == rows[-1]:
                text[i : i + 2] = [V + m]
    return torch.tensor(rows, device=tokens.device)


@wrong("of overlapping matches only the first counts: a a a a becomes the new token, a and a", kind="edge")
def every_match_after_a_match_dropped(tokens, V, M):
    def replaced(text, pair, new):
        hit = [p == pair for p in pairwise(text)] + [False]
        start = [h and not (i and hit[i - 1]) for i, h in enumerate(hit)]
        return [new if start[i] else token for i, token in enumerate(text) if not (i and start[i - 1])]

    return torch.tensor(_learned(tokens, V, M, replaced=replaced), device=tokens.device)


@wrong(
    "numbers are compared with `is`: numbers above 256 are not found, so that nothing is replaced there",
    kind="numerics",
)
def compared_by_identity(tokens, V, M):
    def replaced(text, pair, new):
        text, out, i = torch.tensor(text).tolist(), [], 0
        while i < len(text):
            if i + 1 < len(text) and text[i] is pair[0] and text[i + 1] is pair[1]:
                out.append(new)
                i += 2
            else:
                out.append(text[i])
                i += 1
        return out

    return torch.tensor(_learned(tokens, V, M, replaced=replaced), device=tokens.device)


@wrong(
    "numbers in a string with single spaces between: of two pairs that follow each other only the first is replaced",
    kind="edge",
)
def shared_spaces(tokens, V, M):
    def replaced(text, pair, new):
        line = f" {' '.join(map(str, text))} ".replace(f" {pair[0]} {pair[1]} ", f" {new} ")
        return [int(word) for word in line.split()]

    return torch.tensor(_learned(tokens, V, M, replaced=replaced), device=tokens.device)


@wrong("numbers in a string, where the pair 1 2 is also found within 11 2 and 1 23", kind="edge")
def within_other_numbers(tokens, V, M):
    def replaced(text, pair, new):
        line = " ".join(map(str, text)).replace(f"{pair[0]} {pair[1]}", str(new))
        return [int(word) for word in line.split()]

    return torch.tensor(_learned(tokens, V, M, replaced=replaced), device=tokens.device)


# Right, and not registered: answers below are changes of it.
def _plain(tokens, V, M):
    return torch.tensor(_learned(tokens, V, M), device=tokens.device)


# ------------------------------------------------------------------------------------------ wrong: the new tokens


change(_plain, "after_the_largest", "new tokens begin after the largest number in the text, not at V", "edge",
       ("_learned(tokens, V, M)", "_learned(tokens, int(tokens.max()) + 1, M)"))
change(_plain, "one_too_high", "new tokens begin at V + 1 instead of V", "concept",
       ("_learned(tokens, V, M)", "_learned(tokens, V + 1, M)"))


@wrong("every merge makes the same token V", kind="concept")
def always_the_same(tokens, V, M):
    text, rows = tokens.tolist(), []
    for _ in range(M):
        rows.append(_best(text))
        text = _replaced(text, rows[-1], V)
    return torch.tensor(rows, device=tokens.device)


@wrong("the text is kept in uint8: numbers above 255 wrap around", kind="numerics")
def text_in_bytes(tokens, V, M):
    def replaced(text, pair, new):
        return [number % 256 for number in _replaced(text, pair, new)]

    return torch.tensor(_learned(tokens.to(torch.uint8), V, M, replaced=replaced), device=tokens.device)


@right("the text is kept in float32, in which whole numbers above 2^24 fall together")
def text_in_float32(tokens, V, M):
    return torch.tensor(_learned(tokens.float(), V, M), device=tokens.device).long()


# ---------------------------------------------------------------------------------------------- wrong: the result


change(text_in_float32, "right_token_first", "each row holds the right token first", "concept",
       ("tokens.float()", "tokens"), (".long()", ".flip(1)"))
change(_plain, "last_merge_first", "the merges come in reverse order, the last one in row 0", "concept",
       ("_learned(tokens, V, M)", "_learned(tokens, V, M)[::-1]"))
change(_plain, "transposed", "the result is [2, M]: left tokens in one row, right ones in another", "shape",
       ("_learned(tokens, V, M)", "list(zip(*_learned(tokens, V, M)))"))
change(text_in_float32, "squeezed", "squeeze() at the end: with M = 1 the result is [2] and not [1, 2]", "shape",
       ("tokens.float()", "tokens"), (".long()", ".squeeze()"))


@wrong("one merge too few: range(1, M)", kind="concept")
def one_too_few(tokens, V, M):
    text, rows = tokens.tolist(), []
    for m in range(1, M):
        rows.append(_best(text))
        text = _replaced(text, rows[-1], V + m - 1)
    return torch.tensor(rows, dtype=torch.int64, device=tokens.device).reshape(-1, 2)


@wrong(
    "after the last merge pairs are counted once more, which fails if the text is a single token by then", kind="edge"
)
def counted_once_more(tokens, V, M):
    text, rows = tokens.tolist(), []
    pair = _best(text)
    for m in range(M):
        rows.append(pair)
        text = _replaced(text, pair, V + m)
        pair = _best(text)
    return torch.tensor(rows, device=tokens.device)


change(_plain, "at_most_100", "at most 100 merges are learned", "edge",
       ("_learned(tokens, V, M)", "_learned(tokens, V, min(M, 100))"))


@wrong("a list of pairs comes back, not a tensor", kind="interface")
def a_list(tokens, V, M):
    return _learned(tokens, V, M)


@wrong("the merges are printed, and nothing is returned", kind="interface")
def printed(tokens, V, M):
    print(torch.tensor(_learned(tokens, V, M), device=tokens.device))


@right("the result is int32 instead of int64")
def int32(tokens, V, M):
    return torch.tensor(_learned(tokens, V, M), dtype=torch.int32, device=tokens.device)


@wrong("the result is float32: torch.zeros without a type was filled", kind="interface")
def float32(tokens, V, M):
    merges = torch.zeros(M, 2, device=tokens.device)
    for m, pair in enumerate(_learned(tokens, V, M)):
        merges[m, 0], merges[m, 1] = pair
    return merges


change(_plain, "on_the_cpu", "the result is on the CPU, wherever the tokens are", "interface",
       ("_learned(tokens, V, M), device=tokens.device", "_learned(tokens, V, M)"))


@wrong("the new tokens are written into the given tensor", kind="interface")
def input_overwritten(tokens, V, M):
    rows, n = [], len(tokens)
    for m in range(M):
        rows.append(_best(tokens[:n].tolist()))
        text = _replaced(tokens[:n].tolist(), rows[-1], V + m)
        n = len(text)
        tokens[:n] = torch.tensor(text, dtype=tokens.dtype, device=tokens.device)
    return torch.tensor(rows, device=tokens.device)


_counts_of_all_calls = Counter()


@wrong(
    "the first merge counts the pairs of earlier calls, too, since their counts are kept in a global variable",
    kind="interface",
)
def counts_of_earlier_calls(tokens, V, M):
    text, rows = tokens.tolist(), []
    for m in range(M):
        counts = Counter(pairwise(text))
        if m == 0:
            _counts_of_all_calls.update(counts)
            counts = _counts_of_all_calls
        rows.append(min(counts, key=lambda pair: (-counts[pair], pair)))
        text = _replaced(text, rows[-1], V + m)
    return torch.tensor(rows, device=tokens.device)


@wrong(
    "the rows are collected in a default argument, so that later calls return the rows of earlier ones, too",
    kind="interface",
)
def rows_of_earlier_calls(tokens, V, M, rows=[]):  # noqa: B006
    rows.extend(_learned(tokens, V, M))
    return torch.tensor(rows, device=tokens.device)


@wrong("the arguments stand in the order (tokens, M, V), so that a call by position exchanges them", kind="interface")
def other_order(tokens, M, V):
    return torch.tensor(_learned(tokens, V, M), device=tokens.device)


@right("the last argument is called num_merges, so that M by name fails")
def other_name(tokens, V, num_merges):
    return torch.tensor(_learned(tokens, V, num_merges), device=tokens.device)


@wrong("two mistakes: a a a is counted as one pair, and pairs are replaced from right to left", kind="concept")
def no_overlap_and_from_the_right(tokens, V, M):
    def best(text):
        counts = Counter()
        for pair, group in groupby(pairwise(text)):
            counts[pair] += (len(list(group)) + 1) // 2
        return min(counts, key=lambda pair: (-counts[pair], pair))

    def replaced(text, pair, new):
        return _replaced(text[::-1], pair[::-1], new)[::-1]

    return torch.tensor(_learned(tokens, V, M, best, replaced), device=tokens.device)
