"""The stretch: how much each head attends to what followed the last time, as an induction head does."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """Weights of causal attention, and lines of few different words, the first of which comes again at the end."""
    E = inputs["A"].astype("float64") + np.triu(np.full((sizes["N"], sizes["N"]), -np.inf), 1)
    A = np.exp(1.5 * E)
    tokens = rng.integers(0, max(2, sizes["N"] // 3), (sizes["B"], sizes["N"]))
    tokens[0, -1] = tokens[0, 0]
    return {"A": (A / A.sum(axis=-1, keepdims=True)).astype("float32"), "tokens": tokens}


def _twice(inputs, rng):
    """Each line is a sequence of different words, and then the same again."""
    lines, N = inputs["tokens"].shape
    inputs["tokens"][:] = [np.tile(rng.permutation(N)[: N // 2], 2) for _ in range(lines)]


def _uneven_lines(inputs, rng):
    """No word comes again in one line, in another there is a single word, in others a few come again."""
    tokens = inputs["tokens"]
    tokens[0], tokens[2] = rng.permutation(tokens.shape[1]), 4


def _runs(inputs, rng):
    """The same word twice or three times side by side, once also at the beginning of a line."""
    tokens = inputs["tokens"]
    for line in tokens:
        line[:] = np.repeat(rng.permutation(3).tolist() * 2, rng.permutation([1, 2, 3, 3, 2, 1]))[: len(line)]
    tokens[0, :2] = tokens[0, 0]


def _different(inputs, rng):
    for line in inputs["tokens"]:
        line[:] = rng.permutation(len(line))


def _heads(inputs, rng):
    """The first head is an induction head, the second attends to the position before, the third to the word itself."""
    A, tokens = inputs["A"], inputs["tokens"]
    for b, line in enumerate(tokens.tolist()):
        for n, word in enumerate(line):
            last = max((j for j in range(n) if line[j] == word), default=None)
            for head, place in enumerate((0 if last is None else last + 1, max(n - 1, 0), last or 0)):
                share = rng.uniform(0.4, 0.95)
                A[b, head, n] *= 1 - share
                A[b, head, n, place] += share


def _single(inputs, rng):
    """In all lines together, one word comes again."""
    _different(inputs, rng)
    inputs["tokens"][1, -2] = inputs["tokens"][1, 1]


def _rare(inputs, rng):
    """Numbers of words as large as in GPT-2's vocabulary."""
    inputs["tokens"][:] = 50256 - 7001 * inputs["tokens"]


def _enormous(inputs, rng):
    """Numbers that smaller types, and double precision, do not tell apart."""
    half, odd = np.divmod(inputs["tokens"], 2)
    inputs["tokens"][:] = 2**60 + 2**32 * half + odd


@exercise(
    points=0,
    section="Induction heads",
    source="Olsson et al. 2022, In-context learning and induction heads (the prefix-matching score)",
    outputs="scores",
    formula="scores[h] = mean of A[b, h, n, j + 1] over all positions n of all lines b whose token occurred before in its line,"
    " where j is the last j < n with tokens[b, j] = tokens[b, n]; 0 if no token occurred before; A [B, H, N, N] and tokens"
    " [B, N] give scores [H]",
    cases=[
        Case("a batch of lines"),
        Case("words that come again and again", sizes={"N": 11}),
        Case("lines that say everything twice", sizes={"N": 10}, edit=_twice),
        Case("lines with many repetitions and with none", sizes={"B": 4, "N": 9}, edit=_uneven_lines),
        Case("the same word side by side", sizes={"N": 12}, edit=_runs),
        Case("no word comes twice", sizes={"N": 6}, edit=_different, extreme=True),
        Case("an induction head among others", sizes={"H": 3, "N": 13}, edit=_heads),
        Case("one line", sizes={"B": 1, "N": 14}),
        Case("one repetition in all lines", sizes={"N": 7}, edit=_single, edge=True),
        Case("a large vocabulary", sizes={"N": 10}, edit=_rare, edge=True),
        Case("words with very large numbers", sizes={"N": 10}, edit=_enormous, edge=True),
        Case("one head", sizes={"H": 1, "N": 8}, edge=True),
        Case(
            "no word comes twice, float64",
            sizes={"N": 5},
            edit=_different,
            precision="float64",
            edge=True,
            extreme=True,
        ),
    ],
    draws=_drawn,
    differentiable=False,
)
def induction_scores(A: Float[Tensor, "B H N N"], tokens: Int[Tensor, "B N"]) -> Float[Tensor, "H"]:
    found = []
    for line, weights in zip(tokens.tolist(), A):  # weights [H, N, N]
        last = {}  # where each token stood last
        for n, token in enumerate(line):
            if token in last:
                found.append(weights[:, n, last[token] + 1])  # [H]
            last[token] = n
    return torch.stack(found).mean(dim=0) if found else A.new_zeros(A.shape[1])


def _earlier(tokens):
    """[B, N, N], True at (n, j) where j < n has the token of n."""
    return (tokens[:, :, None] == tokens[:, None, :]).tril(-1)


def _last(tokens):
    """[B, N], the last earlier place of each token, −1 where there is none."""
    place = torch.arange(tokens.shape[1], device=tokens.device)
    return torch.where(_earlier(tokens), place, -1).amax(dim=-1)


def _at(A, j):
    """[B, H, N], of each query n the weight on j[b, n]."""
    j = j.clamp(0, A.shape[-1] - 1)
    return A.gather(-1, j[:, None, :, None].expand(*A.shape[:3], 1)).squeeze(-1)


def _mean(W, counted, axes=(0, 2)):
    """The mean of W [B, H, N] over the positions that count [B, N]; 0 where there are none."""
    counted = counted[:, None].expand_as(W)
    return torch.where(counted, W, 0).sum(dim=axes) / counted.sum(dim=axes).clamp(min=1).to(W.dtype)


def _right(A, tokens):
    return _mean(_at(A, _last(tokens) + 1), _last(tokens) >= 0)
