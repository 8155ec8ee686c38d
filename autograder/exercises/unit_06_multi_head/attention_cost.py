"""Exercise 5: what multi-head self-attention costs, from shapes."""

import torch
from jaxtyping import Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    return {"N": rng.permutation(500)[: sizes["S"]].astype("int64") + 3}


def _long(inputs, rng):
    """Sequences so long that even double precision cannot count their products: of odd lengths, it skips the right ones."""
    inputs["N"][:] = 30_000_019 + 2 * rng.permutation(1000)[: len(inputs["N"])]


def _case(text, D, H, size, **more):
    return Case(text, values={"D": D, "H": H, "bytes_per_number": size}, **more)


@exercise(
    points=3,
    section="Four matrix products",
    source="Vaswani et al. 2017, table 1; Kaplan et al. 2020, section 2.1",
    outputs="flops memory",
    formula="flops = 2·N·D·3D (projections) + 2·N·N·D (scores of all heads) + 2·N·N·D (weighted sums) + 2·N·D·D (output); memory"
    " of all weights A [H, N, N] = H·N·N·bytes; both whole numbers [S]",
    cases=[
        _case("a few lengths, single precision", 48, 6, 4),
        _case("one head, half precision", 32, 1, 2),
        _case("many narrow heads", 64, 16, 2),
        _case("very long sequences", 200, 25, 2, edit=_long),
        _case("one length, double precision", 24, 3, 8, sizes={"S": 1}),
    ],
    draws=_drawn,
    differentiable=False,
)
def attention_cost(
    N: Int[Tensor, "S"], D: int, H: int, bytes_per_number: int
) -> tuple[Int[Tensor, "S"], Int[Tensor, "S"]]:
    flops = [2 * n * (3 * D * D + H * 2 * n * (D // H) + D * D) for n in N.tolist()]
    memory = [H * n * n * bytes_per_number for n in N.tolist()]
    return torch.tensor(flops, device=N.device), torch.tensor(memory, device=N.device)


def _cost(N, D, H, size, flops=None, memory=None):
    """Both results, the right ones where nothing else is given."""
    return (8 * N * D * D + 4 * N * N * D) if flops is None else flops, (H * N * N * size) if memory is None else memory


@attention_cost.misconception
def projections_left_out(N, D, H, bytes_per_number):
    """The projections are missing: only scores and weighted sums are counted. Making Q, K and V takes 2·N·D·3D, the output
    2·N·D·D."""
    return _cost(N, D, H, bytes_per_number, flops=4 * N * N * D)


@attention_cost.misconception
def output_left_out(N, D, H, bytes_per_number):
    """One of the four products [N, D] @ [D, D] is missing, 2·N·D·D. Queries, keys and values take three, the output is the
    fourth."""
    return _cost(N, D, H, bytes_per_number, flops=6 * N * D * D + 4 * N * N * D)


@attention_cost.misconception
def weighted_sums_left_out(N, D, H, bytes_per_number):
    """One of the two products with N² is missing, or the factor 2 was left out in both: the scores Q Kᵀ and the weighted
    sums A V take 2·N·N·D each."""
    return _cost(N, D, H, bytes_per_number, flops=8 * N * D * D + 2 * N * N * D)


@attention_cost.misconception
def one_projection(N, D, H, bytes_per_number):
    """Half of the projections' operations are missing: is the factor 2 left out there, or only one of W_Q, W_K, W_V
    counted? Making Q, K and V takes 2·N·D·3D, the output 2·N·D·D."""
    return _cost(N, D, H, bytes_per_number, flops=4 * N * D * D + 4 * N * N * D)


@attention_cost.misconception
def heads_times_operations(N, D, H, bytes_per_number):
    """The operations of scores and weighted sums were multiplied by H. Each head is only D/H wide, so that all heads
    together cost what one of the whole width would: 2·N·N·D."""
    return _cost(N, D, H, bytes_per_number, flops=8 * N * D * D + 4 * H * N * N * D)


@attention_cost.misconception
def heads_times_projections(N, D, H, bytes_per_number):
    """The operations of the projections were multiplied by H. For all heads together W_Q, W_K, W_V and W_O are D × D
    each."""
    return _cost(N, D, H, bytes_per_number, flops=8 * H * N * D * D + 4 * N * N * D)


@attention_cost.misconception
def projections_of_one_head(N, D, H, bytes_per_number):
    """Queries, keys and values are counted for one head, D/H wide. There are H of them: 2·N·D·3D for all together."""
    return _cost(N, D, H, bytes_per_number, flops=6 * N * D * (D // H) + 2 * N * D * D + 4 * N * N * D)


@attention_cost.misconception
def one_addition_less(N, D, H, bytes_per_number):
    """A sum of k products was taken to need k − 1 additions. That is so, but the convention counts k: 2·n·k·m for a product
    [n, k] @ [k, m], the first one being added to 0."""
    d = D // H
    exact = N * 4 * D * (2 * D - 1) + H * N * N * (2 * d - 1) + H * N * d * (2 * N - 1)
    return _cost(N, D, H, bytes_per_number, flops=exact)


@attention_cost.misconception
def one_heads_operations(N, D, H, bytes_per_number):
    """Scores and weighted sums are counted for one head, D/H wide. There are H of them: 2·N·N·D each for all together."""
    return _cost(N, D, H, bytes_per_number, flops=8 * N * D * D + 4 * N * N * (D // H))


@attention_cost.misconception
def memory_of_one_head(N, D, H, bytes_per_number):
    """The memory is that of one head's weights. Each head has an N × N table of its own: H·N·N numbers."""
    return _cost(N, D, H, bytes_per_number, memory=N * N * bytes_per_number)


@attention_cost.misconception
def memory_of_the_output(N, D, H, bytes_per_number):
    """This is the memory of the outputs, N·D numbers. Asked for is that of the weights A, which grows as N²."""
    return _cost(N, D, H, bytes_per_number, memory=N * D * bytes_per_number)


@attention_cost.misconception
def numbers_for_bytes(N, D, H, bytes_per_number):
    """The memory is counted in numbers. Each takes bytes_per_number bytes."""
    return _cost(N, D, H, bytes_per_number, memory=H * N * N)


@attention_cost.misconception
def four_bytes_each(N, D, H, bytes_per_number):
    """Each number is taken to have 4 bytes. How many it has is given: bytes_per_number."""
    return _cost(N, D, H, bytes_per_number, memory=4 * H * N * N)


@attention_cost.misconception
def width_in_the_memory(N, D, H, bytes_per_number):
    """The memory contains D. The weights A are H·N·N numbers, however wide the vectors are: their width is summed over."""
    return _cost(N, D, H, bytes_per_number, memory=N * N * D * bytes_per_number)


@attention_cost.misconception
def memory_of_the_vectors(N, D, H, bytes_per_number):
    """This is the memory of queries, keys and values. Asked for is that of the weights A, which grows as N²."""
    return _cost(N, D, H, bytes_per_number, memory=3 * N * D * bytes_per_number)


@attention_cost.misconception
def past_what_int32_holds(N, D, H, bytes_per_number):
    """The counts went past what int32 holds, 2147483647, and wrapped around. Stay with the type of N, int64."""
    flops, memory = _cost(N.int(), D, H, bytes_per_number)
    return flops.long(), memory.long()


@attention_cost.misconception
def results_swapped(N, D, H, bytes_per_number):
    """The two results are swapped: operations first, then memory."""
    return _cost(N, D, H, bytes_per_number)[::-1]


@attention_cost.alternative
def product_by_product(N, D, H, bytes_per_number):
    products = [(N, D, 3 * D), (H * N, D // H, N), (H * N, N, D // H), (N, D, D)]
    return sum(2 * n * k * m for n, k, m in products), bytes_per_number * H * N**2


@attention_cost.alternative
def factored(N, D, H, bytes_per_number):
    return 4 * N * D * (2 * D + N), N * N * H * bytes_per_number


@attention_cost.alternative
def length_by_length(N, D, H, bytes_per_number):
    flops, memory = torch.zeros_like(N), torch.zeros_like(N)
    for place, n in enumerate(N):
        flops[place] = 2 * n * D * (3 * D) + 2 * (2 * n * n * D) + 2 * n * D * D
        memory[place] = H * n * n * bytes_per_number
    return flops, memory
