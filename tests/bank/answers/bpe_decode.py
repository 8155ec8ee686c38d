"""Test answers for bpe_decode (assignment 11): right ones in unusual styles, wrong ones with what is wrong about them."""

import math
import re
from collections import deque
from functools import lru_cache
from itertools import chain, groupby

import numpy as np
import torch

from answers import before, change, left_open, right, wrong


def _letters(tokens, merges, V):
    """The letters of a list of tokens, by a stack; `merges` is a list of pairs."""
    stack, out = list(reversed(tokens)), []
    while stack:
        token = stack.pop()
        if token < V:
            out.append(token)
        else:
            left, following = merges[token - V]
            stack += [following, left]
    return out


def _decoded(tokens, merges, V):
    """The decoded text as a list."""
    return _letters(tokens.tolist(), merges.tolist(), V)


# -------------------------------------------------------------------------------------------------------------- right


@right("recursion from token to parts")
def by_recursion(tokens, merges, V):
    pairs = merges.tolist()

    def letters(token):
        if token < V:
            return [token]
        left, following = pairs[token - V]
        return letters(left) + letters(following)

    return torch.tensor([x for token in tokens.tolist() for x in letters(token)], device=tokens.device)


@right("a stack of tokens that are still to be read, the next one on top")
def by_stack(tokens, merges, V):
    stack, out = tokens.tolist()[::-1], []
    while stack:
        token = stack.pop()
        if token < V:
            out.append(token)
        else:
            stack.extend(merges[token - V].tolist()[::-1])
    return torch.tensor(out, dtype=torch.int64, device=tokens.device)


@right("the merges undone one after another, the last one first, in lists")
def undone(tokens, merges, V):
    text = tokens.tolist()
    for m in range(len(merges) - 1, -1, -1):
        parts = merges[m].tolist()
        text = list(chain.from_iterable(parts if token == V + m else (token,) for token in text))
    return torch.tensor(text, dtype=torch.int64, device=tokens.device)


@right("tensors alone: all tokens are split at once by repeat_interleave, round after round, until letters are left")
def rounds_of_tensors(tokens, merges, V):
    text = tokens.long()
    while (text >= V).any():
        is_token = text >= V
        text = text.repeat_interleave(is_token.long() + 1)
        second = torch.zeros_like(text, dtype=torch.bool)
        second[1:] = True
        ends = (is_token.long() + 1).cumsum(0) - 1
        token_here = is_token.repeat_interleave(is_token.long() + 1)
        second = torch.zeros_like(token_here).index_fill(0, ends[is_token], True)
        rows = merges[(text - V).clamp(min=0)]
        text = torch.where(token_here, torch.where(second, rows[:, 1], rows[:, 0]), text)
    return text.clone()


@right("a table of the letters of every merge, made forward from row to row")
def table_of_all(tokens, merges, V):
    pieces = {}
    for m, (left, following) in enumerate(merges.tolist()):
        pieces[V + m] = pieces.get(left, (left,)) + pieces.get(following, (following,))
    return torch.tensor(sum((pieces.get(token, (token,)) for token in tokens.tolist()), ()), device=tokens.device)


@right("lru_cache on a function made anew in each call, with tuples")
def cached_in_the_call(tokens, merges, V):
    @lru_cache(maxsize=None)
    def letters(token):
        if token < V:
            return (token,)
        return sum(map(letters, merges[token - V].tolist()), ())

    text = []
    for token in tokens.tolist():
        text += letters(token)
    return torch.tensor(text, device=tokens.device, dtype=torch.long)


@right("one character for each number, merges undone by str.replace, the last one first")
def characters(tokens, merges, V):
    numbers = sorted({*tokens.tolist(), *merges.flatten().tolist(), *range(V, V + len(merges))})
    rank = {number: chr(k) for k, number in enumerate(numbers)}
    text = "".join(map(rank.get, tokens.tolist()))
    for m, (left, following) in reversed(list(enumerate(merges.tolist()))):
        text = text.replace(rank[V + m], rank[left] + rank[following])
    return torch.tensor([numbers[ord(c)] for c in text], dtype=torch.int64, device=tokens.device)


@right("decimal numbers between spaces, each merge undone by a regular expression for its whole number")
def by_regular_expression(tokens, merges, V):
    text = " ".join(map(str, tokens.tolist()))
    for m in reversed(range(merges.size(0))):
        text = re.sub(rf"\b{V + m}\b", "{} {}".format(*merges[m].tolist()), text)
    return torch.tensor([int(word) for word in text.split()], device=tokens.device)


@right("str.replace on decimal numbers: with the highest merge first no number that is left can contain its token")
def plain_replacement_of_digits(tokens, merges, V):
    line = " ".join(map(str, tokens.tolist()))
    for m in reversed(range(len(merges))):
        line = line.replace(str(V + m), "{} {}".format(*merges[m].tolist()))
    return torch.tensor([int(word) for word in line.split()], dtype=torch.int64, device=tokens.device)


@right("lengths first, then every token writes its letters into its own slice of the result")
def slices_of_the_result(tokens, merges, V):
    pairs, length = merges.tolist(), {}

    def size(token):
        return length.get(token, 1)

    for m, (left, following) in enumerate(pairs):
        length[V + m] = size(left) + size(following)
    total = sum(map(size, tokens.tolist()))
    out = torch.empty(total, dtype=torch.int64, device=tokens.device)
    start, waiting = 0, []
    for token in tokens.tolist():
        waiting.append((start, token))
        start += size(token)
    while waiting:
        start, token = waiting.pop()
        if token < V:
            out[start] = token
        else:
            left, following = pairs[token - V]
            waiting += [(start + size(left), following), (start, left)]
    return out


@right("numpy: the tokens of the highest merge that is left are found and split by np.insert")
def in_numpy(tokens, merges, V):
    text, rows = tokens.cpu().numpy().astype(np.int64), merges.cpu().numpy()
    while text.max() >= V:
        highest = text.max()
        places = np.flatnonzero(text == highest)
        left, following = rows[highest - V]
        text[places] = left
        text = np.insert(text, places + 1, following)
    return torch.from_numpy(text).to(tokens.device)


@right("a deque that is read from the left; parts are put back at its left end")
def by_deque(tokens, merges, V):
    lefts, rights = merges.unbind(1)
    queue, out = deque(tokens.tolist()), []
    while queue:
        token = queue.popleft()
        if token < V:
            out.append(token)
        else:
            queue.extendleft([rights[token - V].item(), lefts[token - V].item()])
    return tokens.new_tensor(out, dtype=torch.int64)


@right("written from the end to the beginning: right parts first, then the whole text is reversed")
def from_the_end(tokens, merges, V):
    pairs, stack, out = merges.tolist(), tokens.tolist(), []
    while stack:
        token = stack.pop()
        while token >= V:
            left, token = pairs[token - V]
            stack.append(left)
        out.append(token)
    return torch.tensor(out, device=tokens.device).flip(0)


@right("a generator that descends along the left parts and keeps the right ones for later; torch.cat of single letters")
def descending(tokens, merges, V):
    pairs = merges.tolist()

    def letters(token):
        later = [token]
        while later:
            part = later.pop()
            while part >= V:
                part, following = pairs[part - V]
                later.append(following)
            yield tokens.new_full((1,), part, dtype=torch.int64)

    return torch.cat([letter for token in tokens.tolist() for letter in letters(token)])


# ---------------------------------------------------------------------------------------------------------- left open


@left_open("an empty text gives float32: torch.tensor([]) without a type", kind="edge")
def empty_text_is_float(tokens, merges, V):
    return torch.tensor(_decoded(tokens, merges, V), device=tokens.device)


@left_open("the result has the type of the tokens: not int64 where they are int32", kind="interface")
def type_of_the_tokens(tokens, merges, V):
    return torch.tensor(_decoded(tokens, merges, V), dtype=tokens.dtype, device=tokens.device)


@left_open("where all tokens are letters, the given tensor itself comes back, not a copy", kind="interface")
def given_tensor_comes_back(tokens, merges, V):
    if (tokens < V).all():
        return tokens
    return torch.tensor(_decoded(tokens, merges, V), dtype=torch.int64, device=tokens.device)


@left_open(
    "recursion with three calls for each level: Python's limit of 1000 is reached for tokens of a depth of "
    "several hundred",
    kind="edge",
)
def deep_recursion(tokens, merges, V):
    def of_text(text):
        return list(chain.from_iterable(of_token(token) for token in text))

    def of_token(token):
        return [token] if token < V else of_text(merges[token - V].tolist())

    return torch.tensor(of_text(tokens.tolist()), device=tokens.device)


# ------------------------------------------------------------------------------------------------ wrong: the depth


@wrong("tokens are replaced by their parts once; parts that are tokens themselves stay", kind="concept")
def once(tokens, merges, V):
    pairs, out = merges.tolist(), []
    for token in tokens.tolist():
        out += [token] if token < V else pairs[token - V]
    return torch.tensor(out, device=tokens.device)


@wrong(
    "the merges are undone from the first to the last, once each, so that parts that are tokens may stay",
    kind="concept",
)
def first_merge_first(tokens, merges, V):
    text = tokens.tolist()
    for m, pair in enumerate(merges.tolist()):
        text = [part for token in text for part in (pair if token == V + m else [token])]
    return torch.tensor(text, device=tokens.device)


@wrong("merge 0 is never undone: range(M - 1, 0, -1)", kind="edge")
def merge_0_stays(tokens, merges, V):
    text = tokens.tolist()
    for m in range(len(merges) - 1, 0, -1):
        pair = merges[m].tolist()
        text = [part for token in text for part in (pair if token == V + m else [token])]
    return torch.tensor(text, device=tokens.device)


@wrong(
    "as many rounds as a balanced tree would need, ⌈log2(M + 1)⌉: deeper tokens are not taken apart completely",
    kind="concept",
)
def balanced_tree(tokens, merges, V):
    pairs, text = merges.tolist(), tokens.tolist()
    for _ in range(math.ceil(math.log2(len(pairs) + 1))):
        text = [part for token in text for part in ([token] if token < V else pairs[token - V])]
    return torch.tensor(text, device=tokens.device)


change(balanced_tree, "ten_rounds",
       "at most 10 rounds: tokens of a depth above 10 are not taken apart completely", "edge",
       ("math.ceil(math.log2(len(pairs) + 1))", "10"))


@wrong("only the left part is taken apart further, a right part that is a token stays", kind="concept")
def left_parts_only(tokens, merges, V):
    pairs, out = merges.tolist(), []
    for token in tokens.tolist():
        later = []
        while token >= V:
            token, following = pairs[token - V]
            later.append(following)
        out += [token, *reversed(later)]
    return torch.tensor(out, device=tokens.device)


@wrong("only the right part is taken apart further, a left part that is a token stays", kind="concept")
def right_parts_only(tokens, merges, V):
    pairs, out = merges.tolist(), []
    for token in tokens.tolist():
        while token >= V:
            left, token = pairs[token - V]
            out.append(left)
        out.append(token)
    return torch.tensor(out, device=tokens.device)


@wrong("each merge is undone at its first place only", kind="concept")
def first_place_only(tokens, merges, V):
    text = tokens.tolist()
    for m in reversed(range(len(merges))):
        if V + m in text:
            i = text.index(V + m)
            text[i : i + 1] = merges[m].tolist()
    return torch.tensor(text, device=tokens.device)


# Right, and not registered: answers below are changes of it.
def _plain(tokens, merges, V):
    return torch.tensor(_decoded(tokens, merges, V), device=tokens.device)


# ------------------------------------------------------------------------------------------------ wrong: the order


change(_plain, "right_part_first", "the right part stands before the left one", "concept",
       ("_decoded(tokens, merges, V)", "_decoded(tokens, merges.flip(1), V)"))


@wrong("a stack is read from the end and never reversed: the whole text comes back in reverse order", kind="concept")
def reversed_text(tokens, merges, V):
    return torch.tensor(_decoded(tokens, merges, V)[::-1], device=tokens.device)


@wrong(
    "the parts are put at the end of a queue, not in the place of their token: letters come in order of depth",
    kind="concept",
)
def parts_at_the_end(tokens, merges, V):
    pairs, queue, out = merges.tolist(), deque(tokens.tolist()), []
    while queue:
        token = queue.popleft()
        if token < V:
            out.append(token)
        else:
            queue.extend(pairs[token - V])
    return torch.tensor(out, device=tokens.device)


@wrong("the parts of a merge with two tokens of earlier merges change places (the later one first)", kind="edge")
def later_part_first(tokens, merges, V):
    pairs = [sorted(pair, reverse=True) if min(pair) >= V else pair for pair in merges.tolist()]
    return torch.tensor(_letters(tokens.tolist(), pairs, V), device=tokens.device)


@wrong("the letters of each token are sorted", kind="concept")
def sorted_letters(tokens, merges, V):
    pairs = merges.tolist()
    return torch.tensor([x for t in tokens.tolist() for x in sorted(_letters([t], pairs, V))], device=tokens.device)


# ------------------------------------------------------------------------------------- wrong: letters and row numbers


change(_plain, "row_before", "a token t is looked up in row t - V - 1 (and the token V in row 0)", "concept",
       before("return", "pairs = merges.tolist()"),
       ("_decoded(tokens, merges, V)", "_letters(tokens.tolist(), pairs[:1] + pairs, V)"))


@wrong("the token V is taken for a letter: t > V instead of t >= V", kind="edge")
def V_is_a_letter(tokens, merges, V):
    pairs, stack, out = merges.tolist(), tokens.tolist()[::-1], []
    while stack:
        token = stack.pop()
        if token > V:
            stack += pairs[token - V][::-1]
        else:
            out.append(token)
    return torch.tensor(out, device=tokens.device)


change(once, "rows_from_the_end",
       "rows are counted from the last merge: token t is looked up in row M - 1 - (t - V), once", "concept",
       ("token - V", "V - 1 - token"))


@wrong("letters are replaced, too: a negative row number t - V reads merges from the end, once", kind="concept")
def letters_replaced(tokens, merges, V):
    return merges[(tokens - V) % len(merges)].reshape(-1).long()


@wrong("the letter 0 is lost: parts are kept only `if part`", kind="edge")
def zero_is_lost(tokens, merges, V):
    letters = [letter for letter in _decoded(tokens, merges, V) if letter]
    return torch.tensor(letters, dtype=torch.int64, device=tokens.device)


@wrong("the text ends at the first letter 0, taken for an end token", kind="edge")
def zero_ends_the_text(tokens, merges, V):
    text = _decoded(tokens, merges, V)
    return torch.tensor(text[: text.index(0)] if 0 in text else text, dtype=torch.int64, device=tokens.device)


@wrong("letters of the text are left out, only the letters of tokens from V on come back", kind="concept")
def letters_left_out(tokens, merges, V):
    text = _letters([token for token in tokens.tolist() if token >= V], merges.tolist(), V)
    return torch.tensor(text, dtype=torch.int64, device=tokens.device)


change(_plain, "repeated_letters", "equal letters beside each other become one", "concept",
       ("_decoded(tokens, merges, V)", "[letter for letter, _ in groupby(_decoded(tokens, merges, V))]"))
change(_plain, "digits", "the letters of a token are put in the list as one string of digits, each digit one letter: "
       "wrong from V = 11 on", "edge",
       ("_decoded(tokens, merges, V)", "[int(d) for x in _decoded(tokens, merges, V) for d in str(x)]"))
change(_plain, "through_bytes", "the letters pass through Python's `bytes`: fails for letters above 255", "edge",
       ("_decoded(tokens, merges, V)", "list(bytes(_decoded(tokens, merges, V)))"))


@wrong("tokens that encoding would have written otherwise are refused with an error", kind="concept")
def other_tokens_refused(tokens, merges, V):
    text = letters = _decoded(tokens, merges, V)
    for m, pair in enumerate(merges.tolist()):
        out = []
        for token in text:
            if out and [out[-1], token] == pair:
                out[-1] = V + m
            else:
                out.append(token)
        text = out
    if text != tokens.tolist():
        raise ValueError("these tokens do not come from bpe_encode")
    return torch.tensor(letters, device=tokens.device)


# --------------------------------------------------------------------------------------------- wrong: tables, numbers


@wrong(
    "the list of the left part's letters is extended in place: it is the list of another token, which grows, too",
    kind="process",
)
def shared_lists(tokens, merges, V):
    pieces = {}
    for m, (left, following) in enumerate(merges.tolist()):
        pieces[V + m] = pieces.get(left, [left])
        pieces[V + m] += pieces.get(following, [following])[:100]
    text = [letter for token in tokens.tolist() for letter in pieces.get(token, [token])]
    return torch.tensor(text, device=tokens.device)


@wrong("the letters of a token are taken out of the table by pop: a token that occurs twice fails", kind="edge")
def popped(tokens, merges, V):
    pieces = {V + m: _letters([V + m], merges.tolist(), V) for m in range(len(merges))}
    out = []
    for token in tokens.tolist():
        out += [token] if token < V else pieces.pop(token)
    return torch.tensor(out, device=tokens.device)


@wrong("the result is written into a buffer of 4 N numbers: fails where tokens stand for more letters", kind="edge")
def short_buffer(tokens, merges, V):
    out = torch.zeros(4 * len(tokens), dtype=torch.int64, device=tokens.device)
    n = 0
    for letter in _decoded(tokens, merges, V):
        out[n] = letter
        n += 1
    return out[:n]


@wrong("zeros at the end of a buffer are cut off, and with them letters 0 at the end of the text", kind="edge")
def zeros_at_the_end(tokens, merges, V):
    text = _decoded(tokens, merges, V)
    while text and text[-1] == 0:
        text.pop()
    return torch.tensor(text, dtype=torch.int64, device=tokens.device)


@wrong("letters are kept in uint8: numbers above 255 wrap around", kind="numerics")
def letters_in_uint8(tokens, merges, V):
    return torch.tensor(_decoded(tokens, merges, V), device=tokens.device).to(torch.uint8).long()


@right("merges are converted to float32, in which whole numbers above 2^24 are rounded")
def merges_in_float32(tokens, merges, V):
    pairs = merges.to(torch.float32).tolist()
    letters = [int(x) for x in _letters(tokens.tolist(), [[int(p) for p in pair] for pair in pairs], V)]
    return torch.tensor(letters, device=tokens.device)


# -------------------------------------------------------------------------------------------- wrong: sizes and layouts


@wrong("merges.squeeze(): fails with a single merge, since its row becomes two numbers", kind="shape")
def merges_squeezed(tokens, merges, V):
    return torch.tensor(_decoded(tokens, merges.squeeze(), V), device=tokens.device)


@wrong("tokens.squeeze().tolist() is a number and not a list if there is one token: TypeError", kind="shape")
def tokens_squeezed(tokens, merges, V):
    return torch.tensor(_decoded(tokens.squeeze(), merges, V), device=tokens.device)


@wrong("the pieces of the tokens are padded with -1 to [n, L], the length of the longest", kind="shape")
def padded_rows(tokens, merges, V):
    pieces = [torch.tensor(_letters([t], merges.tolist(), V), device=tokens.device) for t in tokens.tolist()]
    return torch.nn.utils.rnn.pad_sequence(pieces, batch_first=True, padding_value=-1)


@wrong("merges.view(-1) fails for a transposed layout", kind="layout")
def merges_by_view(tokens, merges, V):
    flat = merges.view(-1).tolist()
    return torch.tensor(_letters(tokens.tolist(), list(zip(flat[::2], flat[1::2])), V), device=tokens.device)


@wrong("tokens are read by as_strided with step 1: wrong for views with another step", kind="layout")
def tokens_by_strides(tokens, merges, V):
    return torch.tensor(_decoded(torch.as_strided(tokens, tokens.shape, (1,)), merges, V), device=tokens.device)


@wrong(
    "the pieces of the tokens from V on are joined by torch.cat, which fails in a text of letters alone", kind="edge"
)
def letters_alone_fail(tokens, merges, V):
    pairs, device = merges.tolist(), tokens.device
    pieces = {t: torch.tensor(_letters([t], pairs, V), device=device) for t in tokens.tolist() if t >= V}
    table, start = torch.cat(list(pieces.values())), {}
    for token, piece in pieces.items():
        start[token] = sum(len(p) for t, p in pieces.items() if t in start)
    parts = [
        table[start[t] : start[t] + len(pieces[t])] if t >= V else torch.tensor([t], device=device)
        for t in tokens.tolist()
    ]
    return torch.cat(parts)


@wrong(
    "lists within lists, as deep as the merges, are flattened by one level only: fails for deeper tokens",
    kind="process",
)
def nested_lists(tokens, merges, V):
    pairs = merges.tolist()

    def nested(token):
        return token if token < V else [nested(part) for part in pairs[token - V]]

    out = []
    for part in map(nested, tokens.tolist()):
        out += part if isinstance(part, list) else [part]
    return torch.tensor(out, device=tokens.device)


# ------------------------------------------------------------------------------------- wrong: result, inputs, calls


change(_plain, "batch_of_one", "the result is [1, N], a batch of one text", "shape",
       ("_decoded(tokens, merges, V)", "[_decoded(tokens, merges, V)]"))


@wrong("a list comes back, not a tensor", kind="interface")
def a_list(tokens, merges, V):
    return _decoded(tokens, merges, V)


@wrong("a list of tensors comes back, one for each token", kind="interface")
def list_of_tensors(tokens, merges, V):
    return [torch.tensor(_letters([t], merges.tolist(), V), device=tokens.device) for t in tokens.tolist()]


@wrong("the letters are printed, and nothing is returned", kind="interface")
def printed(tokens, merges, V):
    print(*_decoded(tokens, merges, V))


@right("the result is int32 instead of int64")
def int32(tokens, merges, V):
    return torch.tensor(_decoded(tokens, merges, V), dtype=torch.int32, device=tokens.device)


@wrong("the result is float32 (torch.Tensor instead of torch.tensor)", kind="interface")
def float32(tokens, merges, V):
    return torch.Tensor(_decoded(tokens, merges, V)).to(tokens.device)


change(_plain, "on_the_cpu", "the result is on the CPU, wherever the tokens are", "interface",
       ("_decoded(tokens, merges, V), device=tokens.device", "_decoded(tokens, merges, V)"))


@wrong("V is subtracted from the given tokens in place", kind="interface")
def tokens_shifted(tokens, merges, V):
    text = tokens.tolist()
    tokens -= V
    return torch.tensor(_letters(text, merges.tolist(), V), device=tokens.device)


@wrong("parts that are tokens are overwritten in the given merges by a letter of their own", kind="interface")
def merges_overwritten(tokens, merges, V):
    out = _decoded(tokens, merges, V)
    for m in range(len(merges)):
        for side in range(2):
            if merges[m, side] >= V:
                merges[m, side] = merges[merges[m, side] - V, 0]
    return torch.tensor(out, device=tokens.device)


_pieces_of_all_calls = {}


@wrong("the letters of each token are kept in a global dictionary for later calls with other merges", kind="interface")
def pieces_of_earlier_calls(tokens, merges, V):
    out = []
    for token in tokens.tolist():
        if token not in _pieces_of_all_calls:
            _pieces_of_all_calls[token] = _letters([token], merges.tolist(), V)
        out += _pieces_of_all_calls[token]
    return torch.tensor(out, device=tokens.device)


@wrong(
    "the letters are collected in a default argument, so that later calls return earlier texts, too", kind="interface"
)
def text_of_earlier_calls(tokens, merges, V, out=[]):  # noqa: B006
    out += _decoded(tokens, merges, V)
    return torch.tensor(out, device=tokens.device)


@wrong("the arguments stand in the order (tokens, V, merges), so that a call by position fails", kind="interface")
def other_order(tokens, V, merges):
    return torch.tensor(_decoded(tokens, merges, V), device=tokens.device)


@right("the last argument is called vocab_size, so that V by name fails")
def other_name(tokens, merges, vocab_size):
    return torch.tensor(_decoded(tokens, merges, vocab_size), device=tokens.device)


@wrong(
    "two mistakes: the right part stands before the left one, and a text of letters alone comes back in int32",
    kind="concept",
)
def right_part_first_and_int32(tokens, merges, V):
    text = _decoded(tokens, merges.flip(1), V)
    return torch.tensor(text, device=tokens.device, dtype=torch.int32 if int(tokens.max()) < V else torch.int64)
