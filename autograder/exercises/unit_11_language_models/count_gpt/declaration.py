"""Parameters and operations of GPT-2, from its sizes."""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

NAMES = ("V", "N", "D", "L", "D_F")
RANGES = {"V": (101, 400), "N": (21, 60), "D": (7, 20), "L": (2, 8), "more": (23, 60)}  # a single vector of D counts


def _drawn(inputs, sizes, rng):
    S, found = sizes["S"], {}
    for name, (least, most) in RANGES.items():
        found[name] = rng.choice(np.arange(least, most), S, replace=most - least < S)
    return found | {"D_F": found["D"] + found.pop("more")}


def _gpt2(inputs, rng):
    inputs["V"][:], inputs["N"][:] = 50257, 1024
    inputs["D"][:], inputs["L"][:] = (768, 1024, 1280, 1600), (12, 24, 36, 48)
    inputs["D_F"][:] = 4 * inputs["D"]


def _edges(inputs, rng):
    """A single word, token, feature or block; a hidden width as large as the width, or smaller; a number beyond 24 bits."""
    inputs["V"][:], inputs["N"][:], inputs["D"][:] = (1, 33, 12, 3), (6, 1, 9, 5), (8, 5, 1, 16411)
    inputs["L"][:], inputs["D_F"][:] = (2, 3, 4, 1), (8, 2, 7, 50021)


def _long(inputs, rng):
    """Sequences so long that even double precision cannot count their operations."""
    inputs["N"][:] = 20_000_019 + 2 * rng.permutation(1000)[: len(inputs["N"])]


def _wide(inputs, rng):
    """Models so wide that even double precision cannot count their parameters."""
    inputs["D"][:] = 20_000_019 + 2 * rng.permutation(1000)[: len(inputs["D"])]


def _huge(inputs, rng):
    """Counts for which there is hardly room in 64 bits."""
    for name, size in {"V": 2, "N": 10**9, "D": 1, "L": 2, "D_F": 1}.items():
        inputs[name][:] = size


def _many_words(inputs, rng):
    """A vocabulary whose table has more parameters than all blocks."""
    inputs["V"][:] = 50_000 + rng.permutation(9000)[: len(inputs["V"])]


def _case(text, tied, **more):
    return Case(f"{text}, head {'tied' if tied else 'not tied'}", values={"tied": tied}, **more)


@exercise(
    points=2,
    section="Counting a GPT",
    source="Radford et al. 2019, GPT-2; operations as in Kaplan et al. 2020, table 1 (which has 2·N·N·D where we count 4·N·N·D)",
    outputs="parameters operations",
    formula="parameters: tables of tokens [V, D] and positions [N, D]; L blocks, each with four projections [D, D] and an MLP"
    " [D, D_F], [D_F, D], all with biases, and two LayerNorms with weight and bias; one more LayerNorm; a head [D, V] without"
    " bias, only if it is not tied. operations: 2·n·k·m for each product [n, k] @ [k, m] on all N tokens: the layers above,"
    " scores and weighted sums (2·N·N·D each) in each block; and the head [N, D] @ [D, V], tied or not. Both whole numbers [S]",
    cases=[
        _case("a few models", True),
        _case("a few models", False),
        _case("GPT-2's four sizes", True, sizes={"S": 4}, edit=_gpt2),
        _case("sizes at their edges", False, sizes={"S": 4}, edit=_edges),
        _case("very long sequences", True, edit=_long),
        _case("one model", False, sizes={"S": 1}),
        _case("sizes at their edges", True, sizes={"S": 4}, edit=_edges, edge=True),
        _case("GPT-2's four sizes", False, sizes={"S": 4}, edit=_gpt2, edge=True),
        _case("very wide models", False, edit=_wide, edge=True),
        _case("very large vocabularies", True, edit=_many_words, edge=True),
        _case("operations close to the largest number", True, sizes={"S": 1}, edit=_huge, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
)
def count_gpt(
    V: Int[Tensor, "S"],
    N: Int[Tensor, "S"],
    D: Int[Tensor, "S"],
    L: Int[Tensor, "S"],
    D_F: Int[Tensor, "S"],
    tied: bool,
) -> tuple[Int[Tensor, "S"], Int[Tensor, "S"]]:
    parameters, operations = [], []
    for v, n, d, blocks, f in zip(*(one.tolist() for one in (V, N, D, L, D_F))):
        layers = [(d, 3 * d), (d, d), (d, f), (f, d)]  # queries, keys and values; output; the MLP's two
        block = sum(k * m + m for k, m in layers) + 2 * (d + d)
        tables = [v * d, n * d] if tied else [v * d, n * d, d * v]
        parameters.append(sum(tables) + blocks * block + d + d)
        products = [(n, k, m) for k, m in layers] + [(n, d, n), (n, n, d)]
        operations.append(2 * (blocks * sum(i * k * m for i, k, m in products) + n * d * v))
    return torch.tensor(parameters, device=V.device), torch.tensor(operations, device=V.device)


def _right(V, N, D, L, D_F, tied):
    parameters = (V + N) * D + L * (4 * D * D + 2 * D * D_F + D_F + 9 * D) + 2 * D + (0 if tied else V * D)
    return parameters, L * (8 * N * D * D + 4 * N * D * D_F + 4 * N * N * D) + 2 * N * D * V


def _off(sizes, parameters=None, operations=None):
    """Both counts, with what the functions of the sizes by name give added to them."""
    named, right = dict(zip((*NAMES, "tied"), sizes)), _right(*sizes)
    return tuple(one + (more(**named) if more else 0) for one, more in zip(right, (parameters, operations)))
