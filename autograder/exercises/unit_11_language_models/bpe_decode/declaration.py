"""Exercise 3: from tokens back to the letters that they stand for."""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_11_language_models._shared import drawn_merges, spelled


def _drawn(inputs, sizes, rng):
    """Tokens of all kinds. That of the last merge comes last, and not where it would be the only one of several."""
    V, M = sizes.get("V") or int(rng.integers(3, 5)), sizes["M"]
    tokens = rng.integers(V + M - 1, size=sizes["n"])
    tokens[-1] = V + M - 1 if sizes["n"] > 1 or M == 1 else V + M - 2
    return {"tokens": tokens, "merges": drawn_merges(V, M, rng), "V": V}


def _spelled(property, text, merges, V, **more):
    return spelled(property, "n", text, merges, V, **more)


def _chained(inputs, rng):
    """Each merge adds one letter to the token of the merge before, on either side."""
    V, M = inputs["V"], len(inputs["merges"])
    parts = [(V + m - 1 if m else 0, int(rng.integers(V))) for m in range(M)]
    inputs["merges"] = np.array([pair[:: rng.choice([1, -1])] for pair in parts], dtype=np.int64)
    inputs["merges"][-2:] = [(1, 2), (2, 2)]
    inputs["tokens"][:-1] = rng.permutation([0, V, V + M - 3, V + M - 4, V + M // 2])


@exercise(
    points=1,
    section="Byte pair encoding",
    source="Sennrich et al. 2016, Neural Machine Translation of Rare Words with Subword Units, section 3.2",
    outputs="decoded",
    formula="a token t < V is a letter and stays; a token t ≥ V is replaced by its two parts, merges[t − V, 0] and then"
    " merges[t − V, 1], and these likewise, until all tokens are letters; tokens [n] and merges [M, 2] give decoded [N] with"
    " N ≥ n, torch.int64",
    cases=[
        _spelled("merges of what merges made", "DcCBaAEF", "ab cA BA CB ca dd", 7),
        _spelled("letters, and tokens of two letters", "aAbBCcAd", "ab bc ca dd", 5),
        _spelled("the same tokens again and again", "BBaBAABABCD", "ab Ac dc ca", 5),
        _spelled("parts that go deep on the left or on the right", "CFbDGaAH", "ab Ac Bd Ca bA dE cF bd ca", 6),
        Case("drawn tokens", sizes={"n": 12, "M": 9}),
        Case("a few drawn tokens"),
        _spelled("letters alone", "bacadcb", "ab Ac bc dd", 5),
        Case("a single token", sizes={"n": 1, "M": 6}, edge=True),
        Case("hundreds of tokens and many merges", sizes={"n": 300, "M": 40}, edge=True),
        Case("each merge on top of the one before", sizes={"n": 6, "M": 70, "V": 4}, edit=_chained, edge=True),
        _spelled("a large vocabulary", "dFAaDEBCcb", "ca bc ab Bd aB Ca dd", 50257, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
)
def bpe_decode(tokens: Int[Tensor, "n"], merges: Int[Tensor, "M 2"], V: int) -> Int[Tensor, "N"]:
    text = tokens.tolist()
    for m, parts in reversed(list(enumerate(merges.tolist()))):  # parts of merge m are made by earlier ones
        text = [part for token in text for part in (parts if token == V + m else [token])]
    return torch.tensor(text, device=tokens.device)


def _tensor(text, tokens):
    return torch.tensor(text, dtype=torch.int64, device=tokens.device)


def _each(tokens, merges, V, taken_apart):
    """What each token becomes, one after another; `taken_apart(token, parts)` knows the parts of those that are no
    letters."""
    parts = {V + m: pair for m, pair in enumerate(merges.tolist())}
    return _tensor([one for token in tokens.tolist() for one in taken_apart(token, parts)], tokens)


def _letters(token, parts):
    return sum((_letters(part, parts) for part in parts[token]), []) if token in parts else [token]


@bpe_decode.alternative
def as_a_student(tokens, merges, V):
    letters = []
    for token in tokens.tolist():
        stack = [token]
        while stack:
            token = stack.pop()
            if token < V:
                letters.append(token)
            else:
                left, right = merges[token - V].tolist()
                stack += [right, left]  # so that the left one is taken first
    return torch.tensor(letters, device=tokens.device)


@bpe_decode.alternative
def with_recursion(tokens, merges, V):
    def letters(token):
        if token < V:
            return [token]
        left, right = pairs[token - V]
        return letters(left) + letters(right)

    pairs = merges.tolist()
    return torch.tensor([letter for token in tokens.tolist() for letter in letters(token)], device=tokens.device)


@bpe_decode.alternative
def with_a_table_of_letters(tokens, merges, V):
    letters = {token: [token] for token in range(V)}
    for m in range(merges.shape[0]):
        letters[V + m] = letters[merges[m, 0].item()] + letters[merges[m, 1].item()]
    return torch.cat([torch.tensor(letters[token.item()], device=tokens.device) for token in tokens])


@bpe_decode.alternative
def level_by_level(tokens, merges, V):
    while (tokens >= V).any():
        both = torch.stack([tokens, torch.full_like(tokens, -1)], dim=1)  # [n, 2]
        both[tokens >= V] = merges[tokens[tokens >= V] - V]
        tokens = both[both >= 0]
    return tokens.clone()


@bpe_decode.alternative
def with_strings(tokens, merges, V):
    text = "".join(map(chr, tokens.tolist()))
    for m in range(len(merges) - 1, -1, -1):
        text = text.replace(chr(V + m), "".join(map(chr, merges[m].tolist())))
    return tokens.new_tensor(list(map(ord, text)))


@bpe_decode.alternative
def in_place(tokens, merges, V):
    text, i = tokens.tolist(), 0
    while i < len(text):
        if text[i] >= V:
            text[i : i + 1] = merges[text[i] - V].tolist()
        else:
            i += 1
    return torch.as_tensor(text, device=tokens.device)
