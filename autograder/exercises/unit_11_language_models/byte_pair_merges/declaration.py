"""Exercise 1: which merges byte pair encoding learns from a text."""

from collections import Counter

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

WORDS = {"low": 5, "lower": 2, "newest": 6, "widest": 3}  # of Sennrich et al., and how often each occurs
# written out, "1 2" stands in "11 2", "1 21" and "1 20" too
PIECES = ((1, 2), (11, 2), (1, 21), (12, 12, 12), (1, 1, 1), (22, 22, 22, 22))
FREQUENCIES = (0.3, 0.2, 0.15, 0.15, 0.1, 0.1)
OTHERS = (33, 31, 30, 21, 20, 3, 2, 22)


def _drawn(inputs, sizes, rng):
    """A text of short pieces, some of them frequent, some of them runs; of different tokens if there are many merges."""
    N, M = sizes["N"], sizes["M"]
    if N < 4 * M:
        return _different(N, rng)
    drawn = rng.choice(len(PIECES), N, p=FREQUENCIES)
    return {"tokens": np.concatenate([PIECES[one] for one in drawn])[:N], "V": int(rng.integers(24, 30))}


def _different(N, rng):
    """Different tokens, but for the pair (1, 0), with which the text begins and ends."""
    V = N + int(rng.integers(3, 6))
    text = np.concatenate([[1, 0], rng.choice(np.arange(2, V), N - 4, replace=False), [1, 0]])
    return {"tokens": text, "V": V}


def _rare(inputs, rng):
    inputs.update(_different(len(inputs["tokens"]), rng))


def _twice(inputs, rng):
    """Different tokens, and all of them again in the same order."""
    N = len(inputs["tokens"])
    others = rng.permutation(np.arange(2, N // 2))
    inputs.update(tokens=np.tile([*others, 1, 0], 2), V=N // 2 + int(rng.integers(3, 6)))


def _runs(inputs, rng):
    """Runs of an odd and of an even number of times the same token."""
    V, N = 4, len(inputs["tokens"])
    lengths = rng.permutation(np.tile([1, 3, 3, 5, 4], N))
    inputs.update(tokens=np.repeat(np.resize(rng.permutation(V), len(lengths)), lengths)[:N], V=V)


def _same_left(inputs, rng):
    """One token before each of many others, which stand in another order than by their numbers."""
    others = np.roll(OTHERS, rng.integers(3, 6))  # the smallest is neither first nor last
    text = np.stack([np.full(len(others), 1), others], axis=1).flatten()
    text[-1] = text[1]  # of all pairs the only one that occurs twice
    inputs.update(tokens=text, V=int(rng.integers(max(OTHERS) + 2, 40)))


def _one_token(inputs, rng):
    V = int(rng.integers(4, 8))
    inputs.update(tokens=np.full(len(inputs["tokens"]), rng.integers(1, V - 1)), V=V)


def _words(inputs, rng):
    """A text of words with a space after each, as its bytes."""
    text = " ".join(rng.permutation([word for word, count in WORDS.items() for _ in range(count)]))
    inputs.update(tokens=np.frombuffer(text.encode(), np.uint8).astype(np.int64), V=256)


BYTES = sum((len(word) + 1) * count for word, count in WORDS.items()) - 1


@exercise(
    points=2,
    section="Byte pair encoding",
    source="Sennrich, Haddow and Birch 2016 (Neural Machine Translation of Rare Words with Subword Units), section 3.2",
    outputs="merges",
    formula="for m = 0 … M − 1: count the pairs (tokens[i], tokens[i + 1]) at all i, those that overlap too; merges[m] = the most"
    " frequent pair, of equally frequent ones the one with the smaller left number, then with the smaller right number; each"
    " place where it stands, from left to right and without overlap, becomes the single token V + m, and the result is the text"
    " for m + 1. tokens [N] gives merges [M, 2]",
    cases=[
        Case("a text of a few letters", sizes={"N": 48, "M": 7}),
        Case("words as bytes", sizes={"N": BYTES, "M": 9}, edit=_words),
        Case("runs of the same token", sizes={"N": 29, "M": 5}, edit=_runs),
        Case("one token over and over", sizes={"N": 23, "M": 5}, edit=_one_token),
        Case("pairs that occur twice each", sizes={"N": 18, "M": 7}, edit=_twice),
        Case("pairs that occur once, but for one", sizes={"N": 12, "M": 8}, edit=_rare),
        Case("one token before many others", sizes={"N": 2 * len(OTHERS), "M": 5}, edit=_same_left),
        Case("a single merge", sizes={"N": 14, "M": 1}),
        Case("merges until one token is left", sizes={"N": 9, "M": 7}, edit=_rare, edge=True),
        Case("long runs", sizes={"N": 90, "M": 9}, edit=_runs, edge=True),
        Case("a long text", sizes={"N": 600, "M": 50}, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
)
def byte_pair_merges(tokens: Int[Tensor, "N"], V: int, M: int) -> Int[Tensor, "M 2"]:
    text, merges = tokens.tolist(), []
    for new in range(V, V + M):
        count = Counter(zip(text, text[1:]))
        pair = min(count, key=lambda one: (-count[one], one))  # pairs are compared by their left number first
        merges.append(pair)
        merged = []
        for token in text:
            merged.append(token)
            if tuple(merged[-2:]) == pair:
                merged[-2:] = [new]  # which belongs to no such pair, so nothing overlaps
        text = merged
    return torch.tensor(merges, device=tokens.device)  # [M, 2]


# The three steps of a merge, for mistakes that make one of them in another way.


def _counted(text):
    return Counter(zip(text, text[1:]))


def _chosen(count):
    return min(count, key=lambda one: (-count[one], one))


def _replaced(text, pair, new):
    merged, i = [], 0
    while i < len(text):
        found = tuple(text[i : i + 2]) == pair
        merged.append(new if found else text[i])
        i += 1 + found
    return merged


def _learned(tokens, V, M, count=_counted, choose=_chosen, replace=_replaced, number=lambda text, V, m: V + m):
    """The merges with other steps in the place of those that are named; fewer where no pair is left."""
    text, merges = tokens.tolist(), []
    for m in range(M):
        counts = count(text)
        if not counts:
            break
        merges.append(tuple(choose(counts)))
        text = replace(text, merges[-1], number(text, V, m))
    return torch.tensor(merges, dtype=torch.int64, device=tokens.device).reshape(-1, 2)


@byte_pair_merges.alternative
def as_a_student(tokens, V, M):
    ids = [int(one) for one in tokens]
    merges = []
    for m in range(M):
        counts = {}
        for i in range(len(ids) - 1):
            pair = (ids[i], ids[i + 1])
            counts[pair] = counts.get(pair, 0) + 1
        best = sorted(counts.items(), key=lambda item: (-item[1], item[0][0], item[0][1]))[0][0]
        merges.append(best)
        new_ids = []
        i = 0
        while i < len(ids):
            if i < len(ids) - 1 and (ids[i], ids[i + 1]) == best:
                new_ids.append(V + m)
                i += 2
            else:
                new_ids.append(ids[i])
                i += 1
        ids = new_ids
    return torch.tensor(merges, dtype=torch.long, device=tokens.device)


@byte_pair_merges.alternative
def with_unique(tokens, V, M):
    """unique sorts the pairs, and argmax takes the first of equal counts."""
    merges = torch.empty(M, 2, dtype=tokens.dtype, device=tokens.device)
    for m in range(M):
        pairs, counts = torch.stack([tokens[:-1], tokens[1:]], dim=1).unique(dim=0, return_counts=True)
        merges[m] = pairs[max(range(len(counts)), key=lambda one: int(counts[one]))]
        replaced, keep, free = tokens.clone(), torch.ones_like(tokens, dtype=torch.bool), 0
        for i in ((tokens[:-1] == merges[m, 0]) & (tokens[1:] == merges[m, 1])).nonzero().flatten().tolist():
            if i >= free:
                replaced[i], keep[i + 1], free = V + m, False, i + 2
        tokens = replaced[keep]
    return merges


@byte_pair_merges.alternative
def from_a_table(tokens, V, M):
    """A table of counts for all pairs that there may ever be, and runs halved by their length."""
    text, merges, size = tokens.cpu().numpy(), [], V + M
    for new in range(V, size):
        counts = np.zeros((size, size), dtype=int)
        np.add.at(counts, (text[:-1], text[1:]), 1)
        left, right = np.unravel_index(counts.argmax(), counts.shape)
        merges.append([int(left), int(right)])
        at = np.flatnonzero((text[:-1] == left) & (text[1:] == right))
        if left == right:  # of places that follow each other every second one
            begins = np.concatenate([[True], np.diff(at) > 1])
            at = at[(np.arange(len(at)) - np.flatnonzero(begins)[begins.cumsum() - 1]) % 2 == 0]
        text = text.copy()
        text[at] = new
        text = np.delete(text, at + 1)
    return torch.tensor(merges, device=tokens.device)


@byte_pair_merges.alternative
def as_text(tokens, V, M):
    """Each token a character, so that str.replace does the merging."""
    first = 0xF0000
    text, merges = "".join(chr(first + one) for one in tokens.tolist()), []
    for m in range(M):
        counts = Counter(map("".join, zip(text, text[1:])))
        most = max(counts.values())
        pair = min(one for one, count in counts.items() if count == most)
        merges.append([ord(one) - first for one in pair])
        text = text.replace(pair, chr(first + V + m))
    return torch.tensor(merges).to(tokens)


@byte_pair_merges.alternative
def in_place(tokens, V, M):
    """A list that shrinks; the pair is looked for again behind each place."""
    ids, merges = tokens.tolist(), torch.zeros(M, 2, dtype=torch.int64, device=tokens.device)
    for m, row in enumerate(merges):
        pairs = [(ids[i], ids[i + 1]) for i in range(len(ids) - 1)]
        count = Counter(sorted(pairs))  # of equal counts most_common gives the one that came first
        pair = count.most_common(1)[0][0]
        row[0], row[1] = pair
        i = 0
        while i < len(ids) - 1:
            if (ids[i], ids[i + 1]) == pair:
                ids[i : i + 2] = [V + m]
            i += 1
    return merges
