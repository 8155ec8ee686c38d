"""Exercise 5: parameters and operations of a block, from its sizes."""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    D, more, N = (rng.permutation(500)[: sizes["S"]].astype("int64") + 5 for _ in range(3))
    return {"D": D, "D_F": D + more, "N": N}


def _gpt2(inputs, rng):
    inputs["D"][:] = 768, 1024, 1280, 1600
    inputs["D_F"][:], inputs["N"][:] = 4 * inputs["D"], 1024


def _edges(inputs, rng):
    """A width of 1, a single token, a hidden width as large as the width, and a width whose square needs more than 24 bits."""
    inputs["D"][:], inputs["D_F"][:], inputs["N"][:] = (1, 9, 31, 16411), (7, 40, 31, 50021), (6, 1, 5, 8)


def _long(inputs, rng):
    """Sequences so long that even double precision cannot count their operations: of odd lengths, it skips the right ones."""
    inputs["N"][:] = 30_000_019 + 2 * rng.permutation(1000)[: len(inputs["N"])]


def _case(text, gated, **more):
    return Case(f"{text}, {'gated' if gated else 'not gated'}", values={"gated": gated}, **more)


@exercise(
    points=2,
    section="Counting a block",
    source="Kaplan et al. 2020, table 1 (which has 2·N·N·D where we count 4·N·N·D); GPT-2's parameters: Radford et al. 2019",
    outputs="parameters operations",
    formula="not gated: W_QKV [D, 3D], W_O [D, D], W_in [D, D_F], W_out [D_F, D], each with a bias, two LayerNorms with weight"
    " and bias; gated: W_QKV, W_O, W_1 and W_2 [D, D_F], W_3 [D_F, D] without biases, two RMSNorms with weights; operations:"
    " 2·n·k·m for each product [n, k] @ [k, m], scores and weighted sums (2·N·N·D each) among them; both whole numbers [S]",
    cases=[
        _case("a few blocks", False),
        _case("a few blocks", True),
        _case("GPT-2's four sizes", False, sizes={"S": 4}, edit=_gpt2),
        _case("sizes at their edges", False, sizes={"S": 4}, edit=_edges),
        _case("sizes at their edges", True, sizes={"S": 4}, edit=_edges, edge=True),
        _case("very long sequences", False, edit=_long),
        _case("very long sequences", True, edit=_long),
        _case("one block", True, sizes={"S": 1}),
    ],
    draws=_drawn,
    differentiable=False,
)
def count_block(
    D: Int[Tensor, "S"], D_F: Int[Tensor, "S"], N: Int[Tensor, "S"], gated: bool
) -> tuple[Int[Tensor, "S"], Int[Tensor, "S"]]:
    parameters, operations = [], []
    for d, f, n in zip(D.tolist(), D_F.tolist(), N.tolist()):
        linear = [(d, 3 * d), (d, d), (d, f), (f, d)] + [(d, f)] * gated
        norms = 2 * [d] if gated else 4 * [d]
        biases = [] if gated else [m for _, m in linear]
        parameters.append(sum(k * m for k, m in linear) + sum(biases) + sum(norms))
        products = [(n, k, m) for k, m in linear] + [(n, d, n), (n, n, d)]
        operations.append(sum(2 * n * k * m for n, k, m in products))
    return torch.tensor(parameters, device=D.device), torch.tensor(operations, device=D.device)


def _right(D, D_F, N, gated):
    if gated:
        return 4 * D * D + 3 * D * D_F + 2 * D, 8 * N * D * D + 4 * N * N * D + 6 * N * D * D_F
    return 4 * D * D + 2 * D * D_F + 9 * D + D_F, 8 * N * D * D + 4 * N * N * D + 4 * N * D * D_F


def _off(D, D_F, N, gated, parameters=0, operations=0):
    """Both counts, with so much added."""
    right = _right(D, D_F, N, gated)
    return right[0] + parameters, right[1] + operations


@count_block.misconception
def biases_left_out(D, D_F, N, gated):
    """The biases of the block that is not gated are missing: 3·D of W_QKV, D of W_O, D_F of W_in and D of W_out."""
    return _off(D, D_F, N, gated, parameters=0 if gated else -(5 * D + D_F))


@count_block.misconception
def biases_of_attention_left_out(D, D_F, N, gated):
    """In the block that is not gated, 4·D parameters are missing. So many are the biases of W_QKV and W_O together, and the
    weights and biases of the two LayerNorms."""
    return _off(D, D_F, N, gated, parameters=0 if gated else -4 * D)


@count_block.misconception
def biases_of_the_mlp_left_out(D, D_F, N, gated):
    """The MLP's biases are missing in the block that is not gated: D_F of W_in and D of W_out. A bias is as wide as what comes
    out of its layer."""
    return _off(D, D_F, N, gated, parameters=0 if gated else -(D + D_F))


@count_block.misconception
def layer_norms_without_biases(D, D_F, N, gated):
    """In the block that is not gated, 2·D parameters are missing. Two LayerNorms have weights and biases, 4·D in all; and a bias
    is as wide as what comes out of its layer, 3·D for W_QKV."""
    return _off(D, D_F, N, gated, parameters=0 if gated else -2 * D)


@count_block.misconception
def biases_in_the_gated_block(D, D_F, N, gated):
    """Biases are counted in the gated block. Its linear layers have none, as in the models that use SwiGLU."""
    return _off(D, D_F, N, gated, parameters=5 * D + 2 * D_F if gated else 0)


@count_block.misconception
def biases_in_the_gated_blocks_attention(D, D_F, N, gated):
    """The gated block has 4·D parameters too many, as many as biases of W_QKV and W_O would be. The gated block has no bias
    anywhere."""
    return _off(D, D_F, N, gated, parameters=4 * D if gated else 0)


@count_block.misconception
def norms_left_out(D, D_F, N, gated):
    """The parameters of the norms are missing: two LayerNorms with weight and bias have 4·D, two RMSNorms, which have a weight
    alone, 2·D."""
    return _off(D, D_F, N, gated, parameters=-2 * D if gated else -4 * D)


@count_block.misconception
def one_norm(D, D_F, N, gated):
    """As many parameters are missing as one norm has. A block has two norms, one for the attention and one for the MLP."""
    return _off(D, D_F, N, gated, parameters=-D if gated else -2 * D)


@count_block.misconception
def layer_norms_in_the_gated_block(D, D_F, N, gated):
    """The gated block has 2·D parameters too many, as if its norms were LayerNorms. RMSNorm adds no bias: D parameters each."""
    return _off(D, D_F, N, gated, parameters=2 * D if gated else 0)


@count_block.misconception
def output_projection_left_out(D, D_F, N, gated):
    """W_O is missing in both counts. It mixes the heads after they were joined: D·D parameters (and D biases in the block that is
    not gated), and 2·N·D·D operations."""
    return _off(D, D_F, N, gated, -D * D if gated else -(D * D + D), -2 * N * D * D)


@count_block.misconception
def one_projection_for_three(D, D_F, N, gated):
    """W_QKV is counted as D × D in both counts. It makes queries, keys and values: D × 3D."""
    return _off(D, D_F, N, gated, -2 * D * D if gated else -2 * (D * D + D), -4 * N * D * D)


@count_block.misconception
def two_matrices_in_swiglu(D, D_F, N, gated):
    """The gated MLP is counted with two matrices. It has three: W_1 and W_2 lead to the hidden width, one of them for the gate,
    and W_3 leads back."""
    return _off(D, D_F, N, gated, -D * D_F if gated else 0, -2 * N * D * D_F if gated else 0)


@count_block.misconception
def one_matrix_in_the_mlp(D, D_F, N, gated):
    """One product of the MLP is missing in the block that is not gated. W_in leads from D to D_F, and W_out leads back."""
    more = (0, 0) if gated else (-D * D_F - D, -2 * N * D * D_F)
    return _off(D, D_F, N, gated, *more)


@count_block.misconception
def gates_ignored(D, D_F, N, gated):
    """The gated block is counted like the other. It has three matrices in its MLP, no biases, and two RMSNorms without
    biases."""
    return _right(D, D_F, N, False)


@count_block.misconception
def gates_turned_round(D, D_F, N, gated):
    """The two blocks have changed places: `gated` True is SwiGLU with RMSNorm, False is the MLP of two layers with LayerNorm."""
    return _right(D, D_F, N, not gated)


@count_block.misconception
def hidden_width_four_times(D, D_F, N, gated):
    """The MLP's hidden width is taken to be 4·D. That is usual, but here it is given: D_F."""
    return _right(D, 4 * D, N, gated)


@count_block.misconception
def attention_products_left_out(D, D_F, N, gated):
    """The products that have no parameters are missing: scores and weighted sums take 2·N·N·D operations each, over all heads."""
    return _off(D, D_F, N, gated, operations=-4 * N * N * D)


@count_block.misconception
def one_attention_product(D, D_F, N, gated):
    """One of the two products with N² is missing, or the factor 2 in both: the scores Q Kᵀ and the weighted sums A V take
    2·N·N·D each (Kaplan et al. have half of our number there)."""
    return _off(D, D_F, N, gated, operations=-2 * N * N * D)


@count_block.misconception
def two_for_each_parameter(D, D_F, N, gated):
    """The operations are two for each parameter and token. That rule of thumb leaves out scores and weighted sums, 2·N·N·D each,
    which have no parameters, and counts norms and biases, which belong to no matrix product."""
    parameters = _right(D, D_F, N, gated)[0]
    return parameters, 2 * N * parameters


@count_block.misconception
def one_for_each_pair(D, D_F, N, gated):
    """The operations are half of what is asked for. A multiplication and an addition count as two: a product [n, k] @ [k, m] has
    2·n·k·m operations."""
    parameters, operations = _right(D, D_F, N, gated)
    return parameters, operations // 2


@count_block.misconception
def operations_of_one_token(D, D_F, N, gated):
    """The operations are those of one token. Asked for are those of all N."""
    parameters, operations = _right(D, D_F, N, gated)
    return parameters, operations // N


@count_block.misconception
def projections_of_one_token(D, D_F, N, gated):
    """The operations of projections and MLP are those of one token, without the factor N: X [N, D] is projected as a whole."""
    per_token = 8 * D * D + (6 if gated else 4) * D * D_F
    return _right(D, D_F, N, gated)[0], per_token + 4 * N * N * D


@count_block.misconception
def one_addition_less(D, D_F, N, gated):
    """A sum of k products was taken to need k − 1 additions. That is so, but the convention counts k: 2·n·k·m for a product
    [n, k] @ [k, m], the first one being added to 0."""
    numbers = N * (5 * D + (2 if gated else 1) * D_F) + N * N + N * D
    return _off(D, D_F, N, gated, operations=-numbers)


@count_block.misconception
def biases_among_the_operations(D, D_F, N, gated):
    """The additions of biases are counted. Asked for are the operations of the matrix products alone."""
    return _off(D, D_F, N, gated, operations=0 if gated else N * (5 * D + D_F))


@count_block.misconception
def gate_among_the_operations(D, D_F, N, gated):
    """The product of the two halves of SwiGLU is counted, N·D_F multiplications. It goes element by element; asked for are the
    operations of the matrix products alone."""
    return _off(D, D_F, N, gated, operations=N * D_F if gated else 0)


@count_block.misconception
def results_swapped(D, D_F, N, gated):
    """The two results are swapped: parameters first, then operations."""
    return _right(D, D_F, N, gated)[::-1]


@count_block.alternative
def term_by_term(D, D_F, N, gated):
    """As a student would write it."""
    if gated:
        parameters = D * 3 * D + D * D + 3 * D * D_F + 2 * D
        mlp = 3 * 2 * N * D * D_F
    else:
        parameters = (D * 3 * D + 3 * D) + (D * D + D) + (D * D_F + D_F) + (D_F * D + D) + 2 * (2 * D)
        mlp = 2 * 2 * N * D * D_F
    attention = 2 * N * D * 3 * D + 2 * N * N * D + 2 * N * N * D + 2 * N * D * D
    return parameters, attention + mlp


@count_block.alternative
def factored(D, D_F, N, gated):
    matrices = 4 * D**2 + (2 + gated) * D * D_F
    return matrices + (2 * D if gated else 9 * D + D_F), 2 * N * (matrices + 2 * N * D)


@count_block.alternative
def of_layers(D, D_F, N, gated):
    """Layers without numbers are made, and what they hold is counted."""
    parameters = []
    for d, f in zip(D.tolist(), D_F.tolist()):
        sizes = [(d, 3 * d), (d, d), (d, f), (f, d), *[(d, f)] * gated]
        layers = [nn.Linear(*one, bias=not gated, device="meta") for one in sizes]
        layers += [(nn.RMSNorm if gated else nn.LayerNorm)(d, device="meta") for _ in range(2)]
        parameters.append(sum(one.numel() for layer in layers for one in layer.parameters()))
    mlp = (6 if gated else 4) * D_F
    return torch.tensor(parameters, device=D.device), N * D * (8 * D + 4 * N + mlp)


@count_block.alternative
def through_numpy(D, D_F, N, gated):
    d, f, n = (one.cpu().numpy() for one in (D, D_F, N))
    products = [(d, 3 * d), (d, d), (d, f), (f, d)] + ([(d, f)] if gated else [])
    parameters = np.add.reduce([k * m + (0 if gated else m) for k, m in products]) + (2 if gated else 4) * d
    operations = sum(2 * n * k * m for k, m in [*products, (d, n), (n, d)])
    return torch.from_numpy(parameters).to(D.device), torch.from_numpy(operations).to(D.device)
