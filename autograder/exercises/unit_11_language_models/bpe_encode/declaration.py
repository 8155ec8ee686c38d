"""Exercise 2: a text in the tokens that byte pair encoding has learned."""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_11_language_models._shared import drawn_merges, in_letters, spelled

ODD = 0.3  # how often a drawn text goes on with any letter, where else the letters of some token follow


def _drawn(inputs, sizes, rng):
    """A text with something to merge in it: the letters of drawn tokens one after another, and others between them."""
    V = sizes.get("V") or int(rng.integers(3, 5))
    merges = drawn_merges(V, sizes["M"], rng)
    made = in_letters(merges, V)
    text = list(made[int(rng.integers(V, len(made)))])
    while len(text) < sizes["N"]:
        text += made[int(rng.integers(V if rng.random() < ODD else len(made)))]
    return {"tokens": np.array(text[: sizes["N"]], dtype=np.int64), "merges": merges, "V": V}


def _spelled(property, text, merges, V, **more):
    return spelled(property, "N", text, merges, V, **more)


@exercise(
    points=2,
    section="Byte pair encoding",
    source="Sennrich et al. 2016, Neural Machine Translation of Rare Words with Subword Units, section 3.2 and algorithm 1",
    outputs="encoded",
    formula="for m = 0, 1, …, M − 1, in the text that the merges before m have left: from left to right, each pair of neighbours"
    " (merges[m, 0], merges[m, 1]) becomes the one token V + m, and pairs that are replaced do not overlap; tokens [N], all below"
    " V, and merges [M, 2] give encoded [n] with n ≤ N, torch.int64",
    cases=[
        _spelled("merges of what merges made", "abcabcdababcddabcd", "ab Ac BB dA ca dd", 7),
        _spelled("two pairs that share a letter", "abcdabacdbcdabdcd", "bc Ad ab cd", 5),
        _spelled("runs of the same letter", "aaabaaaaabbbaaaacaab", "aa AA Ab bb", 6),
        _spelled("merges that do not occur in the text", "abcabbccaabccc", "ad ab AB Bc cc", 7),
        Case("a drawn text", sizes={"N": 40, "M": 8}),
        Case("a short text"),
        _spelled(
            "letters with numbers of two digits", "abcdcbadcdabcbacda", "bc aA ab Bd da dd", 24, letters=(1, 2, 11, 21)
        ),
        _spelled("nothing to merge", "cbadacb", "ab bc ca Ad dd", 6),
        _spelled("a text that becomes one token", "abcabcab", "ab Ac BB CA dd", 6, edge=True),
        Case("a text of one letter", sizes={"N": 1, "M": 5}, edge=True),
        Case("hundreds of letters and many merges", sizes={"N": 400, "M": 90}, edge=True),
        _spelled("a large vocabulary", "dabcabcdabaabccab", "ca bc ab Bd aB Ca dd", 50257, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
)
def bpe_encode(tokens: Int[Tensor, "N"], merges: Int[Tensor, "M 2"], V: int) -> Int[Tensor, "n"]:
    text = tokens.tolist()
    for m, (left, right) in enumerate(merges.tolist()):
        merged = []
        for token in text:
            if merged[-1:] == [left] and token == right:
                merged[-1] = V + m  # which is no part of this merge, so what follows cannot overlap
            else:
                merged.append(token)
        text = merged
    return torch.tensor(text, device=tokens.device)


def _replaced(text, pair, new):
    """The text with each place of the pair replaced, from left to right."""
    merged = []
    for token in text:
        if merged and (merged[-1], token) == pair:
            merged[-1] = new
        else:
            merged.append(token)
    return merged


def _tensor(text, tokens):
    return torch.tensor(text, dtype=torch.int64, device=tokens.device)


def _applied(tokens, merges, V, replaced=_replaced, numbers=None, pairs=None):
    """The merges one after another, each replaced in some way and by some number."""
    text = tokens.tolist()
    pairs = [tuple(pair) for pair in merges.tolist()] if pairs is None else pairs
    for pair, new in zip(pairs, range(V, V + len(pairs)) if numbers is None else numbers):
        text = replaced(text, pair, new)
    return _tensor(text, tokens)


def _known(merges, V):
    """The token that each pair becomes."""
    return {tuple(pair): V + m for m, pair in enumerate(merges.tolist())}


@bpe_encode.alternative
def as_a_student(tokens, merges, V):
    text = tokens.tolist()
    for m in range(len(merges)):
        left, right = merges[m].tolist()
        new, i = [], 0
        while i < len(text):
            if i + 1 < len(text) and text[i] == left and text[i + 1] == right:
                new.append(V + m)
                i += 2
            else:
                new.append(text[i])
                i += 1
        text = new
    return torch.tensor(text, device=tokens.device)


@bpe_encode.alternative
def by_rank(tokens, merges, V):
    """As GPT-2's tokenizer does: of the pairs that are there, the one that was learned first, until none is left."""
    rank = {tuple(pair): m for m, pair in enumerate(merges.tolist())}
    text = tokens.tolist()
    while True:
        m = min((rank.get(pair, len(rank)) for pair in zip(text, text[1:])), default=len(rank))
        if m == len(rank):
            return tokens.new_tensor(text)
        text = _replaced(text, tuple(merges[m].tolist()), V + m)


@bpe_encode.alternative
def with_strings(tokens, merges, V):
    text = "".join(map(chr, tokens.tolist()))
    for m, pair in enumerate(merges.tolist()):
        text = text.replace("".join(map(chr, pair)), chr(V + m))
    return torch.tensor([ord(one) for one in text], device=tokens.device)


@bpe_encode.alternative
def with_deletions(tokens, merges, V):
    text = tokens.tolist()
    for new, pair in enumerate(merges.tolist(), start=V):
        i = 0
        while i < len(text) - 1:
            if text[i : i + 2] == pair:
                text[i] = new
                del text[i + 1]
            i += 1
    return torch.tensor(text, dtype=torch.long, device=tokens.device)


@bpe_encode.alternative
def with_masks(tokens, merges, V):
    text = tokens.clone()
    for m in range(merges.shape[0]):
        if len(text) == 1:
            break
        pair = (text[:-1] == merges[m, 0]) & (text[1:] == merges[m, 1])
        place = torch.arange(len(pair), device=text.device)
        before = torch.where(pair, -1, place).cummax(dim=0).values  # the last place without the pair
        taken = pair & ((place - before) % 2 == 1)  # every other place of a run
        text[:-1][taken] = V + m
        keep = torch.ones_like(text, dtype=torch.bool)
        keep[1:] = ~taken
        text = text[keep]
    return text
