"""Test answers for bpe_encode (assignment 11): right ones in unusual styles, wrong ones with what is wrong about them."""

import re
from collections import Counter
from functools import reduce
from itertools import groupby, pairwise

import numpy as np
import torch

from answers import before, change, left_open, right, wrong


def _replaced(text, pair, new):
    """The text with the pair replaced from left to right, as the exercise asks for it."""
    out, i = [], 0
    while i < len(text):
        if i + 1 < len(text) and text[i] == pair[0] and text[i + 1] == pair[1]:
            out.append(new)
            i += 2
        else:
            out.append(text[i])
            i += 1
    return out


def _encoded(tokens, merges, V, replaced=_replaced):
    """The encoded text as a list, with the replacement exchangeable."""
    text = tokens.tolist()
    for m, pair in enumerate(merges.tolist()):
        text = replaced(text, pair, V + m)
    return text


# -------------------------------------------------------------------------------------------------------------- right


@right("a stack: the token before joins with the next one if both are the pair")
def by_stack(tokens, merges, V):
    text = tokens.tolist()
    for m, (left, following) in enumerate(merges.tolist()):
        stack = []
        for token in text:
            if token == following and stack and stack[-1] == left:
                stack[-1] = V + m
            else:
                stack.append(token)
        text = stack
    return torch.tensor(text, dtype=torch.int64, device=tokens.device)


@right("functools.reduce over the merges")
def by_reduce(tokens, merges, V):
    text = reduce(lambda text, rule: _replaced(text, rule[1], V + rule[0]), enumerate(merges.tolist()), tokens.tolist())
    return torch.tensor(text, device=tokens.device)


@right("as in GPT-2: as long as some neighbours have a merge, those with the lowest number are joined everywhere")
def lowest_rank(tokens, merges, V):
    rank = {tuple(pair): m for m, pair in enumerate(merges.tolist())}
    text = tokens.tolist()
    while True:
        found = [rank[pair] for pair in pairwise(text) if pair in rank]
        if not found:
            return torch.tensor(text, dtype=torch.int64, device=tokens.device)
        text = _replaced(text, merges[min(found)].tolist(), V + min(found))


@right("lowest rank first, one place at a time: the leftmost of the pairs with the lowest number")
def one_place_at_a_time(tokens, merges, V):
    rank = {(left, following): m for m, (left, following) in enumerate(merges.tolist())}
    text = [int(token) for token in tokens]
    while len(text) > 1:
        m, i = min((rank.get(pair, len(rank)), i) for i, pair in enumerate(pairwise(text)))
        if m == len(rank):
            break
        text[i : i + 2] = [V + m]
    return tokens.new_tensor(text, dtype=torch.int64)


@right("tensors alone: within a run of overlapping matches every second one counts, by a running maximum")
def tensors_alone(tokens, merges, V):
    text = tokens.to(torch.int64, copy=True)
    for m in range(merges.shape[0]):
        if text.numel() == 1:
            break
        match = (text[:-1] == merges[m, 0]) & (text[1:] == merges[m, 1])
        places = torch.arange(match.numel(), device=tokens.device)
        since = places - torch.where(match, torch.full_like(places, -1), places).cummax(0).values
        starts = match & (since % 2 == 1)
        text[:-1][starts] = V + m
        keep = torch.ones_like(text, dtype=torch.bool)
        keep[1:] = ~starts
        text = text[keep]
    return text


@right("one character for each number, replaced by str.replace; letters without a merge keep their numbers aside")
def characters(tokens, merges, V):
    numbers = sorted({*tokens.tolist(), *merges.flatten().tolist(), *range(V, V + len(merges))})
    rank = {number: chr(k) for k, number in enumerate(numbers)}
    text = "".join(rank[token] for token in tokens.tolist())
    for m, (left, following) in enumerate(merges.tolist()):
        text = text.replace(rank[left] + rank[following], rank[V + m])
    return torch.tensor([numbers[ord(c)] for c in text], dtype=torch.int64, device=tokens.device)


@right("decimal numbers between spaces, replaced by a regular expression that finds whole numbers only")
def by_regular_expression(tokens, merges, V):
    text = " ".join(str(token) for token in tokens.tolist())
    for m in range(merges.size(0)):
        text = re.sub(rf"\b{merges[m, 0].item()} {merges[m, 1].item()}\b", f"{V + m}", text)
    return torch.tensor([int(word) for word in text.split()], device=tokens.device)


@right("numpy, with the matches of a merge walked through by their places")
def in_numpy(tokens, merges, V):
    text = tokens.cpu().numpy().astype(np.int64)
    for m, (left, following) in enumerate(merges.cpu().numpy()):
        used, keep = -1, np.ones(len(text), dtype=bool)
        for i in np.flatnonzero((text[:-1] == left) & (text[1:] == following)):
            if i > used:
                used = i + 1
                keep[used] = False
        starts = np.flatnonzero(~keep) - 1
        text[starts] = V + m
        text = text[keep]
    return torch.from_numpy(text).to(tokens.device)


@right("a linked list of places: replaced tokens are skipped, not removed")
def linked_list(tokens, merges, V):
    text, after = tokens.tolist(), list(range(1, len(tokens) + 1))
    end = len(text)
    for m, (left, following) in enumerate(merges.tolist()):
        i = 0
        while i < end and after[i] < end:
            if (text[i], text[after[i]]) == (left, following):
                text[i], after[i] = V + m, after[after[i]]
            i = after[i]
    out, i = [], 0
    while i < end:
        out.append(text[i])
        i = after[i]
    return torch.tensor(out, dtype=torch.int64, device=tokens.device)


@right("runs of equal tokens: a pair of equal tokens is a division with remainder, another pair joins the runs' ends")
def by_runs(tokens, merges, V):
    runs = [[token, len(list(group))] for token, group in groupby(tokens.tolist())]
    for m, (left, following) in enumerate(merges.tolist()):
        out = []
        for token, length in runs:
            if left == following == token:
                out += [[V + m, length // 2], [token, length % 2]]
            elif left != following == token and out and out[-1][0] == left and out[-1][1]:
                out[-1][1] -= 1
                out += [[V + m, 1], [token, length - 1]]
            else:
                out.append([token, length])
        runs = []
        for token, length in out:
            if length and runs and runs[-1][0] == token:
                runs[-1][1] += length
            elif length:
                runs.append([token, length])
    return torch.tensor([token for token, length in runs for _ in range(length)], device=tokens.device)


@right("an iterator with one token of lookahead for each merge, chained one behind another")
def chained_iterators(tokens, merges, V):
    def joined(text, left, following, new):
        held = None
        for token in text:
            if held == left and token == following:
                yield new
                held = None
                continue
            if held is not None:
                yield held
            held = token
        if held is not None:
            yield held

    text = tokens.tolist()
    for m, (left, following) in enumerate(merges.tolist()):
        text = list(joined(iter(text), left, following, V + m))
    return torch.as_tensor(text, dtype=torch.int64, device=tokens.device)


@right("a place to read and a place to write in one list: the text is moved together in place")
def moved_together(tokens, merges, V):
    buffer, n = tokens.tolist(), tokens.shape[0]
    for m in range(len(merges)):
        left, following = (part.item() for part in merges[m])
        read = write = 0
        while read < n:
            hit = read + 1 < n and buffer[read] == left and buffer[read + 1] == following
            buffer[write] = V + m if hit else buffer[read]
            read, write = read + (2 if hit else 1), write + 1
        n = write
    return torch.tensor(buffer, dtype=torch.int64, device=tokens.device)[:n]


# ---------------------------------------------------------------------------------------------------------- left open


@left_open("without merges (M = 0) it fails, since the last new text is never made", kind="edge")
def fails_without_merges(tokens, merges, V):
    text = tokens.tolist()
    for m, pair in enumerate(merges.tolist()):
        text = new = _replaced(text, pair, V + m)
    return torch.tensor(new, dtype=torch.int64, device=tokens.device)


@left_open("an empty text gives float32: torch.tensor([]) without a type", kind="edge")
def empty_text_is_float(tokens, merges, V):
    return torch.tensor(_encoded(tokens, merges, V), device=tokens.device)


@left_open("the result has the type of the tokens: not int64 where they are int32", kind="interface")
def type_of_the_tokens(tokens, merges, V):
    return torch.tensor(_encoded(tokens, merges, V), dtype=tokens.dtype, device=tokens.device)


@left_open("where no merge occurs, the given tensor itself comes back, not a copy", kind="interface")
def given_tensor_comes_back(tokens, merges, V):
    text = _encoded(tokens, merges, V)
    if len(text) == len(tokens):
        return tokens
    return torch.tensor(text, dtype=torch.int64, device=tokens.device)


# ------------------------------------------------------------------------------------- wrong: the order of the merges


@wrong("the merges are applied in reverse order, the last one first", kind="concept")
def last_merge_first(tokens, merges, V):
    text = tokens.tolist()
    for m in reversed(range(len(merges))):
        text = _replaced(text, merges[m].tolist(), V + m)
    return torch.tensor(text, device=tokens.device)


@wrong(
    "the merges are sorted by their numbers before they are applied (each still makes its own token)", kind="concept"
)
def sorted_merges(tokens, merges, V):
    text = tokens.tolist()
    for pair, m in sorted((pair, m) for m, pair in enumerate(merges.tolist())):
        text = _replaced(text, pair, V + m)
    return torch.tensor(text, device=tokens.device)


@wrong(
    "from left to right the longest piece that fits is taken at each position, whatever the order of the merges",
    kind="concept",
)
def longest_piece(tokens, merges, V):
    pieces = {}
    for m, (left, following) in enumerate(merges.tolist()):
        pieces[V + m] = pieces.get(left, [left]) + pieces.get(following, [following])
    text, out, i = tokens.tolist(), [], 0
    while i < len(text):
        fits = [(len(piece), -t) for t, piece in pieces.items() if text[i : i + len(piece)] == piece]
        length, token = max(fits, default=(1, -text[i]))
        out.append(-token)
        i += length
    return torch.tensor(out, device=tokens.device)


@wrong(
    "one walk through the text: each new letter is joined with the token before as long as there is a merge for both",
    kind="concept",
)
def joined_at_once(tokens, merges, V):
    rank = {tuple(pair): m for m, pair in enumerate(merges.tolist())}
    out = []
    for token in tokens.tolist():
        out.append(token)
        while len(out) > 1 and tuple(out[-2:]) in rank:
            out[-2:] = [V + rank[tuple(out[-2:])]]
    return torch.tensor(out, device=tokens.device)


@wrong(
    "the merge whose pair is most frequent in this text comes first, not the one with the lowest number", kind="concept"
)
def most_frequent_first(tokens, merges, V):
    rank = {tuple(pair): m for m, pair in enumerate(merges.tolist())}
    text = tokens.tolist()
    while found := Counter(pair for pair in pairwise(text) if pair in rank):
        pair = min(found, key=lambda p: (-found[p], rank[p]))
        text = _replaced(text, pair, V + rank[pair])
    return torch.tensor(text, device=tokens.device)


@wrong("the merges are learned anew from the text itself, and the given ones are not used", kind="concept")
def learned_anew(tokens, merges, V):
    text = tokens.tolist()
    for m in range(len(merges)):
        counts = Counter(pairwise(text))
        if counts:
            text = _replaced(text, min(counts, key=lambda p: (-counts[p], p)), V + m)
    return torch.tensor(text, device=tokens.device)


@wrong("the loop ends at the first merge that does not occur in the text", kind="concept")
def ends_early(tokens, merges, V):
    text = tokens.tolist()
    for m, pair in enumerate(merges.tolist()):
        new = _replaced(text, pair, V + m)
        if new == text:
            break
        text = new
    return torch.tensor(text, device=tokens.device)


@wrong(
    "one walk through the letters: each pair that has a merge is replaced, pairs with new tokens are not",
    kind="concept",
)
def letters_only(tokens, merges, V):
    rank = {tuple(pair): m for m, pair in enumerate(merges.tolist())}
    text, out, i = tokens.tolist(), [], 0
    while i < len(text):
        m = rank.get(tuple(text[i : i + 2]))
        out.append(text[i] if m is None else V + m)
        i += 1 if m is None else 2
    return torch.tensor(out, device=tokens.device)


change(last_merge_first, "last_merge_missing", "the last merge is never applied: range(M - 1)", "concept",
       ("reversed(range(len(merges)))", "range(len(merges) - 1)"))


# Right, and not registered: answers below are changes of it.
def _plain(tokens, merges, V):
    return torch.tensor(_encoded(tokens, merges, V), device=tokens.device)


change(_plain, "first_merges_only", "only the first 64 merges are applied", "edge",
       ("_encoded(tokens, merges, V)", "_encoded(tokens, merges[:64], V)"))


@wrong("a dictionary from the left part to the merge keeps one merge for each left part only", kind="concept")
def one_merge_for_a_left_part(tokens, merges, V):
    by_left = {left: (m, following) for m, (left, following) in enumerate(merges.tolist())}
    text = tokens.tolist()
    for left, (m, following) in sorted(by_left.items(), key=lambda item: item[1]):
        text = _replaced(text, (left, following), V + m)
    return torch.tensor(text, device=tokens.device)


@wrong("a merge whose pair occurs only once in the text is not applied", kind="concept")
def not_if_it_occurs_once(tokens, merges, V):
    def replaced(text, pair, new):
        return _replaced(text, pair, new) if list(pairwise(text)).count(tuple(pair)) > 1 else text

    return torch.tensor(_encoded(tokens, merges, V, replaced), device=tokens.device)


# -------------------------------------------------------------------------------------------- wrong: the new tokens


@wrong("new tokens are numbered by the merges that occurred so far, not by the row of the merge", kind="edge")
def numbered_by_occurrence(tokens, merges, V):
    text, used = tokens.tolist(), 0
    for pair in merges.tolist():
        new = _replaced(text, pair, V + used)
        used += new != text
        text = new
    return torch.tensor(text, device=tokens.device)


change(_plain, "one_too_high", "new tokens begin at V + 1 instead of V", "concept",
       ("_encoded(tokens, merges, V)", "_encoded(tokens, merges, V + 1)"))


@wrong("V is not used: new tokens begin after the largest letter of the text", kind="edge")
def after_the_largest_letter(tokens, merges, V):
    return torch.tensor(_encoded(tokens, merges, int(tokens.max()) + 1), device=tokens.device)


change(_plain, "bytes_assumed", "V is not used: new tokens begin at 256, as for bytes", "concept",
       ("_encoded(tokens, merges, V)", "_encoded(tokens, merges, 256)"))


@wrong("the number of the merge is written, without V: letters and new tokens get the same numbers", kind="concept")
def without_V(tokens, merges, V):
    return torch.tensor(_encoded(tokens, merges, 0), device=tokens.device)


# ------------------------------------------------------------------------------------------- wrong: the replacement


@wrong("pairs are replaced from right to left: a a a becomes a and the new token", kind="concept")
def from_the_right(tokens, merges, V):
    def replaced(text, pair, new):
        return _replaced(text[::-1], pair[::-1], new)[::-1]

    return torch.tensor(_encoded(tokens, merges, V, replaced), device=tokens.device)


@wrong("each merge replaces only the first place of its pair", kind="concept")
def first_place_only(tokens, merges, V):
    def replaced(text, pair, new):
        for i in range(len(text) - 1):
            if text[i : i + 2] == pair:
                return text[:i] + [new] + text[i + 2 :]
        return text

    return torch.tensor(_encoded(tokens, merges, V, replaced), device=tokens.device)


@wrong("places overlap: a a a becomes two new tokens", kind="concept")
def overlapping(tokens, merges, V):
    def replaced(text, pair, new):
        hit = [[*p] == pair for p in pairwise(text)] + [False]
        return [new if hit[i] else t for i, t in enumerate(text) if hit[i] or not (i and hit[i - 1])]

    return torch.tensor(_encoded(tokens, merges, V, replaced), device=tokens.device)


@wrong("only pairs that begin at an even position are found", kind="concept")
def even_positions(tokens, merges, V):
    def replaced(text, pair, new):
        out = []
        for i in range(0, len(text), 2):
            out += [new] if text[i : i + 2] == pair else text[i : i + 2]
        return out

    return torch.tensor(_encoded(tokens, merges, V, replaced), device=tokens.device)


@wrong("of overlapping matches only the first counts: a a a a becomes the new token, a and a", kind="edge")
def matches_after_matches_dropped(tokens, merges, V):
    text = tokens.long()
    for m, (left, following) in enumerate(merges.tolist()):
        hit = torch.zeros_like(text, dtype=torch.bool)
        hit[:-1] = (text[:-1] == left) & (text[1:] == following)
        before = hit.roll(1)
        starts = hit & ~before
        text = torch.where(starts, V + m, text)[~starts.roll(1)]
    return text


@wrong(
    "in a run of equal tokens the whole run becomes one new token: a a a becomes the new token alone", kind="concept"
)
def runs_collapse(tokens, merges, V):
    def replaced(text, pair, new):
        if pair[0] != pair[1]:
            return _replaced(text, pair, new)
        out = []
        for token, group in groupby(text):
            group = list(group)
            out += [new] if token == pair[0] and len(group) > 1 else group
        return out

    return torch.tensor(_encoded(tokens, merges, V, replaced), device=tokens.device)


@wrong("the last token is lost unless it belongs to a pair that is replaced (or is alone)", kind="edge")
def last_token_lost(tokens, merges, V):
    def replaced(text, pair, new):
        out, i = [], 0
        while i < len(text) - 1:
            hit = text[i : i + 2] == pair
            out.append(new if hit else text[i])
            i += 2 if hit else 1
        return out or text

    return torch.tensor(_encoded(tokens, merges, V, replaced), device=tokens.device)


change(from_the_right, "not_at_the_end", "a pair at the very end of the text is not replaced", "edge",
       ("_replaced(text[::-1], pair[::-1], new)[::-1]", "_replaced(text[:-1], pair, new) + text[-1:]"))
change(from_the_right, "not_at_the_beginning", "a pair at the very beginning of the text is not replaced", "edge",
       ("return _replaced(text[::-1], pair[::-1], new)[::-1]", "return text[:1] + _replaced(text[1:], pair, new)"))


@wrong(
    "the token behind a replaced pair is not looked at: of two pairs that follow each other the second one stays",
    kind="edge",
)
def token_behind_a_pair(tokens, merges, V):
    def replaced(text, pair, new):
        out, i = [], 0
        while i < len(text):
            if text[i : i + 2] == pair:
                out += [new, *text[i + 2 : i + 3]]
                i += 3
            else:
                out.append(text[i])
                i += 1
        return out

    return torch.tensor(_encoded(tokens, merges, V, replaced), device=tokens.device)


@wrong("the right token of the pair stays in the text beside the new token", kind="concept")
def right_token_stays(tokens, merges, V):
    def replaced(text, pair, new):
        return [new if text[i : i + 2] == pair else token for i, token in enumerate(text)]

    return torch.tensor(_encoded(tokens, merges, V, replaced), device=tokens.device)


@wrong("the pair is replaced in either order: (b, a) as well as (a, b)", kind="concept")
def either_order(tokens, merges, V):
    def replaced(text, pair, new):
        out, i = [], 0
        while i < len(text):
            hit = sorted(text[i : i + 2]) == sorted(pair)
            out.append(new if hit else text[i])
            i += 2 if hit else 1
        return out

    return torch.tensor(_encoded(tokens, merges, V, replaced), device=tokens.device)


change(_plain, "columns_exchanged", "the columns of merges are taken for (right, left)", "concept",
       ("_encoded(tokens, merges, V)", "_encoded(tokens, merges.flip(1), V)"))


@wrong("the text is shortened while `for i in range(len(text) - 1)` walks through it: IndexError", kind="process")
def shortened_in_the_loop(tokens, merges, V):
    text = tokens.tolist()
    for m, pair in enumerate(merges.tolist()):
        for i in range(len(text) - 1):
            if [text[i], text[i + 1]] == pair:
                text[i : i + 2] = [V + m]
    return torch.tensor(text, device=tokens.device)


@wrong("numbers are compared with `is`: pairs with numbers above 256 are never found", kind="numerics")
def compared_by_identity(tokens, merges, V):
    text = tokens
    for m, (left, following) in enumerate(merges.tolist()):
        old, out, i = text.tolist(), [], 0
        while i < len(old):
            hit = i + 1 < len(old) and old[i] is left and old[i + 1] is following
            out.append(V + m if hit else old[i])
            i += 2 if hit else 1
        text = torch.tensor(out, device=tokens.device)
    return text


@wrong(
    "numbers in a string with single spaces between: of two pairs that follow each other only the first is replaced",
    kind="edge",
)
def shared_spaces(tokens, merges, V):
    line = f" {' '.join(map(str, tokens.tolist()))} "
    for m, (left, following) in enumerate(merges.tolist()):
        line = line.replace(f" {left} {following} ", f" {V + m} ")
    return torch.tensor([int(word) for word in line.split()], device=tokens.device)


@wrong("numbers in a string, where the pair 1 2 is also found within 11 2 and 1 23", kind="edge")
def within_other_numbers(tokens, merges, V):
    line = " ".join(map(str, tokens.tolist()))
    for m, (left, following) in enumerate(merges.tolist()):
        line = line.replace(f"{left} {following}", f"{V + m}")
    return torch.tensor([int(word) for word in line.split()], device=tokens.device)


@wrong("the text is a Python `bytes`, which fails for numbers above 255", kind="edge")
def text_in_bytes(tokens, merges, V):
    text = bytes(tokens.tolist())
    for m, pair in enumerate(merges.tolist()):
        text = text.replace(bytes(pair), bytes([V + m]))
    return torch.tensor(list(text), device=tokens.device)


@wrong("the text is kept in int16: numbers above 32767 wrap around", kind="numerics")
def text_in_int16(tokens, merges, V):
    text = np.array(tokens.tolist()).astype(np.int16)
    for m, pair in enumerate(merges.tolist()):
        text = np.array(_replaced(text.tolist(), pair, V + m)).astype(np.int16)
    return torch.tensor(text.tolist(), device=tokens.device)


@wrong("pairs are compared by left * V + right, where pairs with new tokens fall together with others", kind="concept")
def codes_collide(tokens, merges, V):
    def replaced(text, pair, new):
        out, i = [], 0
        while i < len(text):
            hit = i + 1 < len(text) and text[i] * V + text[i + 1] == pair[0] * V + pair[1]
            out.append(new if hit else text[i])
            i += 2 if hit else 1
        return out

    return torch.tensor(_encoded(tokens, merges, V, replaced), device=tokens.device)


# -------------------------------------------------------------------------------------------- wrong: sizes and layouts


@wrong(
    "unfold finds the pairs, which fails with a text of one token, at the beginning or after some merges", kind="edge"
)
def by_unfold(tokens, merges, V):
    text = tokens.long()
    for m in range(len(merges)):
        hits = (text.unfold(0, 2, 1) == merges[m]).all(-1).tolist() + [False]
        out, i = [], 0
        while i < len(text):
            out.append(V + m if hits[i] else int(text[i]))
            i += 2 if hits[i] else 1
        text = torch.tensor(out, device=tokens.device)
    return text


change(_plain, "merges_by_strides", "the numbers of merges are read by as_strided with the steps 2 and 1: wrong for a "
       "transposed or sliced layout", "layout",
       ("_encoded(tokens, merges, V)", "_encoded(tokens, torch.as_strided(merges, merges.shape, (2, 1)), V)"))


@wrong("merges.view(-1) fails for a transposed layout", kind="layout")
def merges_by_view(tokens, merges, V):
    flat, text = merges.view(-1).tolist(), tokens.tolist()
    for m in range(len(flat) // 2):
        text = _replaced(text, flat[2 * m : 2 * m + 2], V + m)
    return torch.tensor(text, device=tokens.device)


change(_plain, "merges_squeezed", "merges.squeeze(): fails with a single merge, since rows become numbers", "shape",
       ("_encoded(tokens, merges, V)", "_encoded(tokens, merges.squeeze(), V)"))
change(_plain, "cut_off", "the text is cut off after 256 tokens", "edge",
       ("_encoded(tokens, merges, V)", "_encoded(tokens[:256], merges, V)"))


# --------------------------------------------------------------------------------------------------- wrong: the result


change(_plain, "filled_up", "the result is filled up to N numbers with -1", "shape",
       before("return", "text = _encoded(tokens, merges, V)"),
       ("_encoded(tokens, merges, V)", "text + [-1] * (len(tokens) - len(text))"))


@wrong("squeeze() at the end: a result of one token is [] and not [1]", kind="shape")
def squeezed(tokens, merges, V):
    return torch.tensor(_encoded(tokens, merges, V), device=tokens.device).squeeze()


@wrong("a list comes back, not a tensor", kind="interface")
def a_list(tokens, merges, V):
    return _encoded(tokens, merges, V)


@wrong("the tokens are printed, and nothing is returned", kind="interface")
def printed(tokens, merges, V):
    print(torch.tensor(_encoded(tokens, merges, V), device=tokens.device))


@right("the result is int32 instead of int64")
def int32(tokens, merges, V):
    return torch.tensor(_encoded(tokens, merges, V), dtype=torch.int32, device=tokens.device)


@wrong("the result is float32 (torch.Tensor instead of torch.tensor)", kind="interface")
def float32(tokens, merges, V):
    return torch.Tensor(_encoded(tokens, merges, V)).to(tokens.device)


change(_plain, "on_the_cpu", "the result is on the CPU, wherever the tokens are", "interface",
       ("_encoded(tokens, merges, V), device=tokens.device", "_encoded(tokens, merges, V)"))


@wrong("the new tokens are written into the given tensor", kind="interface")
def input_overwritten(tokens, merges, V):
    text = tokens.tolist()
    for m, pair in enumerate(merges.tolist()):
        text = _replaced(text, pair, V + m)
        tokens[: len(text)] = torch.tensor(text, dtype=tokens.dtype, device=tokens.device)
    return tokens[: len(text)].long()


_merges_of_the_first_call = {}


@wrong("the table of merges is made in the first call and kept for later ones with other merges", kind="interface")
def merges_of_the_first_call(tokens, merges, V):
    if not _merges_of_the_first_call:
        _merges_of_the_first_call.update({V + m: pair for m, pair in enumerate(merges.tolist())})
    text = tokens.tolist()
    for new, pair in _merges_of_the_first_call.items():
        text = _replaced(text, pair, new)
    return torch.tensor(text, device=tokens.device)


@wrong("the arguments stand in the order (merges, tokens, V), so that a call by position fails", kind="interface")
def other_order(merges, tokens, V):
    return torch.tensor(_encoded(tokens, merges, V), device=tokens.device)


@wrong("two mistakes: pairs are replaced from right to left, and the result is int32", kind="concept")
def from_the_right_and_int32(tokens, merges, V):
    def replaced(text, pair, new):
        return _replaced(text[::-1], pair[::-1], new)[::-1]

    text = _encoded(tokens, merges, V, replaced)
    return torch.tensor(text, dtype=torch.int32, device=tokens.device)
