"""Answers to count_gpt (assignment 11), written from the text of the exercise alone."""

import math
from fractions import Fraction
from functools import reduce

import numpy as np
import torch
from answers import before, change, left_open, right, wrong

# ---------------------------------------------------------------- right


@right("the formula, term by term")
def by_formula(V, N, D, L, D_F, tied):
    attention = 4 * (D * D + D)
    mlp = D * D_F + D_F + D_F * D + D
    parameters = V * D + N * D + L * (attention + mlp + 4 * D) + 2 * D
    if not tied:
        parameters = parameters + D * V
    operations = L * (8 * N * D * D + 4 * N * N * D + 4 * N * D * D_F) + 2 * N * D * V
    return parameters, operations


@right("D factored out, as few products as possible")
def factored(V, N, D, L, D_F, tied):
    heads = 1 if tied else 2
    parameters = D * (heads * V + N + 2 + L * (4 * D + 2 * D_F + 9)) + L * D_F
    operations = 2 * N * D * (V + 2 * L * (2 * D + N + D_F))
    return parameters.long(), operations.long()


@right("Python's integers, one model at a time")
def by_python_integers(V, N, D, L, D_F, tied):
    parameters, operations = [], []
    for v, n, d, l, f in zip(*(argument.tolist() for argument in (V, N, D, L, D_F))):
        matrices = [(d, d)] * 4 + [(d, f), (f, d)]
        block = sum(a * b + b for a, b in matrices) + 2 * 2 * d
        work = sum(2 * n * a * b for a, b in matrices) + 2 * n * d * n + 2 * n * n * d
        parameters.append(v * d + n * d + l * block + 2 * d + (0 if tied else d * v))
        operations.append(l * work + 2 * n * d * v)
    return (
        torch.tensor(parameters, dtype=torch.int64, device=V.device),
        torch.tensor(operations, dtype=torch.int64, device=V.device),
    )


@right("lists of the shapes of all parameters and of all products")
def by_shapes(V, N, D, L, D_F, tied):
    parameters, operations = torch.empty_like(V, dtype=torch.int64), torch.empty_like(V, dtype=torch.int64)
    for s in range(len(V)):
        v, n, d, l, f = (int(argument[s]) for argument in (V, N, D, L, D_F))
        once = [(v, d), (n, d), (d,), (d,)] + ([] if tied else [(d, v)])
        each = [(d, d), (d,)] * 4 + [(d, f), (f,), (f, d), (d,)] + [(d,), (d,)] * 2
        products = [(n, d, d)] * 4 + [(n, d, n), (n, n, d), (n, d, f), (n, f, d)]
        parameters[s] = sum(map(math.prod, once)) + l * sum(map(math.prod, each))
        operations[s] = 2 * (l * sum(map(math.prod, products)) + n * d * v)
    return parameters, operations


@right("follows the text through the model and adds to two totals, block norms and last norm by one helper")
def by_following(V, N, D, L, D_F, tied):
    stored = torch.zeros_like(V, dtype=torch.int64)
    computed = torch.zeros_like(V, dtype=torch.int64)

    def linear(n, m, bias, times):
        nonlocal stored, computed
        stored = stored + times * (n * m + (m if bias else 0))
        computed = computed + times * 2 * N * n * m

    stored = stored + (V + N) * D
    for _ in ("queries", "keys", "values", "output"):
        linear(D, D, True, L)
    linear(D, D_F, True, L)
    linear(D_F, D, True, L)
    computed = computed + L * (2 * N * D * N) + L * (2 * N * N * D)
    stored = stored + (2 * L + 1) * 2 * D
    linear(D, V, False, 1)
    if tied:
        stored = stored - V * D
    return stored, computed


@right("all terms stacked and summed over a new axis")
def by_stack(V, N, D, L, D_F, tied):
    terms = [V * D, N * D, 4 * L * D * D, 4 * L * D, 2 * L * D * D_F, L * D_F, L * D, 4 * L * D, 2 * D]
    terms += [] if tied else [V * D]
    work = torch.stack([8 * L * N * D * D, 2 * L * N * N * D, 2 * L * N * N * D, 4 * L * N * D * D_F, 2 * N * D * V])
    return torch.stack(terms, dim=-1).sum(-1), work.sum(dim=0)


@right("NumPy's integers of 64 bits, and back to the device")
def by_numpy(V, N, D, L, D_F, tied):
    v, n, d, l, f = (argument.detach().cpu().numpy().astype(np.int64) for argument in (V, N, D, L, D_F))
    parameters = (2 - int(bool(tied))) * v * d + n * d + l * (4 * d**2 + 2 * d * f + 9 * d + f) + 2 * d
    operations = 2 * n * d * v + 4 * l * n * d * (2 * d + n + f)
    return torch.from_numpy(parameters).to(V.device), torch.from_numpy(operations).to(V.device)


@right("NumPy's objects: Python's integers in an array, cast at the end")
def by_objects(V, N, D, L, D_F, tied):
    table = np.array([argument.tolist() for argument in (V, N, D, L, D_F)], dtype=object)
    v, n, d, l, f = table
    parameters = v * d + n * d + 2 * d + l * (d * (4 * d + 4 + 2 * f + 1 + 4) + f)
    if not tied:
        parameters += v * d
    operations = n * 2 * (d * v + l * (d * d * 4 + d * n * 2 + d * f * 2))
    return tuple(torch.tensor(part.tolist(), dtype=torch.int64, device=V.device) for part in (parameters, operations))


@right("a loop over the blocks, as many as the deepest model has, in which finished models wait")
def block_by_block(V, N, D, L, D_F, tied):
    block = 4 * D * D + 4 * D + 2 * D * D_F + D_F + D + 4 * D
    work = 8 * N * D * D + 4 * N * N * D + 4 * N * D * D_F
    parameters = (V + N + 2) * D if tied else (2 * V + N + 2) * D
    operations = 2 * N * D * V
    for depth in range(min(int(L.max()), 64)):
        parameters = parameters + torch.where(L > depth, block, 0)
        operations = operations + (L > depth) * work
    rest = (L - 64).clamp(min=0)
    return parameters + rest * block, operations + rest * work


@right("exact fractions: multiply-adds per token, times the tokens and 2")
def by_fractions(V, N, D, L, D_F, tied):
    results = []
    for row in torch.stack([V, N, D, L, D_F], dim=1):
        v, n, d, l, f = map(Fraction, row.tolist())
        per_token = l * (4 * d * d + 2 * d * f) + d * v + l * 2 * n * d
        stored = (v + n) * d + l * (4 * d * d + 2 * d * f + 9 * d + f) + 2 * d + (v * d if not tied else 0)
        results.append([int(stored), int(2 * n * per_token)])
    both = torch.tensor(results, dtype=torch.int64, device=V.device)
    return both[:, 0], both[:, 1]


@right("recursion over the models")
def recursive(V, N, D, L, D_F, tied):
    if len(V) > 1:
        half = len(V) // 2
        parts = (recursive(*(a[side] for a in (V, N, D, L, D_F)), tied) for side in (slice(half), slice(half, None)))
        return tuple(torch.cat(both) for both in zip(*parts))
    untied = 0 if tied else V * D
    block = reduce(torch.add, [4 * (D + 1) * D, (D + 1) * D_F, (D_F + 1) * D, 2 * D, 2 * D])
    layers = [(D, D)] * 4 + [(D, D_F), (D_F, D), (N, D), (D, N)]
    work = reduce(torch.add, [N * n * m for n, m in layers])
    return V * D + untied + N * D + L * block + 2 * D, torch.mul(torch.add(torch.mul(L, work), N * D * V), 2)


@right("addcmul and Horner's scheme in D")
def by_horner(V, N, D, L, D_F, tied):
    V, N, D, L, D_F = (argument.to(torch.int64) for argument in (V, N, D, L, D_F))
    linear = torch.addcmul(N + 2 + (V if tied else 2 * V), L, 2 * D_F + 9)
    parameters = torch.addcmul(L * D_F, torch.addcmul(linear, L, D, value=4), D)
    inner = torch.addcmul(2 * V, L, N + D_F, value=4)
    return parameters, torch.addcmul(inner, L, D, value=8) * D * N


# ---------------------------------------------------------------- parts that the wrong ones share


def _counts(V, N, D, L, D_F, tied):
    """The right pair."""
    parameters = (V + N + 2) * D + L * (4 * D * D + 2 * D * D_F + 9 * D + D_F)
    if not tied:
        parameters = parameters + V * D
    return parameters, 2 * N * D * V + 4 * L * N * D * (2 * D + N + D_F)


# Right, and not registered: answers below are changes of it.
def _plain(V, N, D, L, D_F, tied):
    return _counts(V, N, D, L, D_F, tied)


# ---------------------------------------------------------------- wrong: parameters


change(_plain, "tied_head_counted", "a tied head is counted as a second matrix: V D too many", "concept",
       ("_counts(V, N, D, L, D_F, tied)", "_counts(V, N, D, L, D_F, False)"))
change(_plain, "head_never_counted", "the head never counts, tied or not: V D too few where it is not tied", "concept",
       ("_counts(V, N, D, L, D_F, tied)", "_counts(V, N, D, L, D_F, True)"))


@wrong("the wrong way round: the head counts where it is tied, and does not where it is not", kind="concept")
def tied_inverted(V, N, D, L, D_F, tied):
    return _counts(V, N, D, L, D_F, not tied)


# Right, and not registered: answers below are changes of it.
def _unpacked(V, N, D, L, D_F, tied):
    parameters, operations = _counts(V, N, D, L, D_F, tied)
    return parameters, operations


change(_unpacked, "table_missing_where_tied",
       "a tied head is counted instead of the table, without it: the table of tokens is missing where tied", "concept",
       ("return parameters", "return (parameters - V * D if tied else parameters)"))
change(_unpacked, "without_positions", "the table of positions is missing: N D too few", "concept",
       ("return parameters", "return parameters - N * D"))
change(_unpacked, "positions_as_numbers", "a position is one number instead of a row of D: N instead of N D", "concept",
       ("return parameters", "return parameters - N * D + N"))
change(_unpacked, "positions_in_each_block", "each block has a table of positions of its own", "concept",
       ("return parameters", "return parameters + (L - 1) * N * D"))
change(_unpacked, "attention_without_biases", "the biases of the attention's four projections are missing", "concept",
       ("return parameters", "return parameters - 4 * L * D"))
change(_unpacked, "mlp_without_biases", "the biases of the MLP are missing", "concept",
       ("return parameters", "return parameters - L * (D + D_F)"))
change(_unpacked, "mlp_biases_of_inputs",
       "the biases of the MLP are the wrong way round twice: 2 D_F instead of D_F + D", "concept",
       ("return parameters", "return parameters + L * (D_F - D)"))
change(_unpacked, "without_last_norm", "the LayerNorm after the last block is missing", "concept",
       ("return parameters", "return parameters - 2 * D"))
change(_unpacked, "last_norm_in_each_block",
       "the last LayerNorm stands in each block: three for each block, and none beside", "concept",
       ("return parameters", "return parameters + 2 * (L - 1) * D"))
change(_unpacked, "one_norm_each_block", "one LayerNorm in each block instead of two", "concept",
       ("return parameters", "return parameters - 2 * L * D"))
change(_unpacked, "norms_without_bias", "a LayerNorm has a weight for each feature but no bias, as RMSNorm", "concept",
       ("return parameters", "return parameters - (2 * L + 1) * D"))
change(_unpacked, "norms_of_two_numbers",
       "a LayerNorm has two numbers, one weight and one bias, instead of two for each feature", "concept",
       ("return parameters", "return parameters - (2 * L + 1) * 2 * (D - 1)"))
change(_unpacked, "head_with_bias", "a head that is not tied has a bias: V too many", "concept",
       ("return parameters", "return (parameters if tied else parameters + V)"))
change(_plain, "hidden_width_4D", "the hidden width is 4 D, whatever D_F is", "concept",
       ("_counts(V, N, D, L, D_F, tied)", "_counts(V, N, D, L, 4 * D, tied)"))


@wrong("the tables and the head are multiplied by L with the blocks", kind="concept")
def everything_times_L(V, N, D, L, D_F, tied):
    parameters, operations = _counts(V, N, D, torch.ones_like(L), D_F, tied)
    return L * parameters, L * operations


change(_plain, "one_block", "one block alone is counted: L is not used", "concept",
       ("_counts(V, N, D, L, D_F, tied)", "_counts(V, N, D, torch.ones_like(L), D_F, tied)"))


# ---------------------------------------------------------------- wrong: operations


change(_unpacked, "pairs_only",
       "each pair is one operation: the factor 2 of multiplication and addition is missing", "concept",
       ("return parameters, operations", "return parameters, operations // 2"))
change(_unpacked, "without_scores", "scores and weighted sums are missing: only the layers count", "concept",
       ("return parameters, operations", "return parameters, operations - 4 * L * N * N * D"))
change(_unpacked, "without_weighted_sums",
       "the scores count, the weighted sums A V do not: 2 N N D a block instead of 4 N N D", "concept",
       ("return parameters, operations", "return parameters, operations - 2 * L * N * N * D"))
change(_unpacked, "causal_half",
       "the causal mask halves the scores and sums: N (N + 1) / 2 pairs of positions instead of N N", "concept",
       ("return parameters, operations", "return parameters, operations - 4 * L * D * (N * N - N * (N + 1) // 2)"))
change(_unpacked, "scores_with_D_twice", "the scores are N D D instead of N N D: N and D are mixed up", "concept",
       ("return parameters, operations", "return parameters, operations + 4 * L * N * D * (D - N)"))
change(_unpacked, "without_output_projection",
       "three projections in the operations: the output's product is forgotten", "concept",
       ("return parameters, operations", "return parameters, operations - 2 * L * N * D * D"))
change(_unpacked, "mlp_once", "the MLP's second product is forgotten in the operations", "concept",
       ("return parameters, operations", "return parameters, operations - 2 * L * N * D * D_F"))
change(_unpacked, "without_logits", "the head's product is missing in the operations", "concept",
       ("return parameters, operations", "return parameters, operations - 2 * N * D * V"))
change(_unpacked, "logits_only_untied",
       "a tied head computes nothing: its product counts only where it is not tied", "concept",
       ("return parameters, operations", "return parameters, (operations - 2 * N * D * V if tied else operations)"))
change(_unpacked, "logits_of_the_last", "only the last token gets logits: 2 D V instead of 2 N D V", "concept",
       ("return parameters, operations", "return parameters, operations - 2 * (N - 1) * D * V"))
change(_unpacked, "look_up_as_product",
       "the look-up in the table of tokens counts as a product with one-hot vectors, 2 N V D", "concept",
       ("return parameters, operations", "return parameters, operations + 2 * N * V * D"))
change(_unpacked, "biases_as_operations", "the additions of the biases in the blocks count as operations", "concept",
       ("return parameters, operations", "return parameters, operations + L * N * (5 * D + D_F)"))
change(_unpacked, "softmax_counted",
       "softmax counts, an operation for each of the N N weights of each block", "concept",
       ("return parameters, operations", "return parameters, operations + L * N * N"))
change(_unpacked, "rule_of_thumb",
       "the rule of thumb 2 · parameters · tokens instead of the sum of the products", "concept",
       ("operations =", "_ ="), ("return parameters, operations", "return parameters, 2 * parameters * N"))
change(_unpacked, "forward_and_backward", "operations of training, three times those of a forward pass", "concept",
       ("return parameters, operations", "return parameters, 3 * operations"))
change(_unpacked, "per_token", "operations of one token instead of the N tokens of the text", "concept",
       ("return parameters, operations", "return parameters, operations // N"))


# ---------------------------------------------------------------- wrong: numbers


@wrong("computed in float32 and cast to int64: counts beyond 2^24 are rounded", kind="numerics")
def in_float32(V, N, D, L, D_F, tied):
    return tuple(part.long() for part in _counts(V.float(), N.float(), D.float(), L.float(), D_F.float(), tied))


@wrong("computed in float64 and cast to int64: counts beyond 2^53 are rounded", kind="numerics")
def in_float64(V, N, D, L, D_F, tied):
    parts = _counts(*(argument.double() for argument in (V, N, D, L, D_F)), tied)
    return tuple(part.round().long() for part in parts)


change(_unpacked, "halved_by_division", "the operations are divided by 2 with / on the way: of integers that is "
       "float32, so counts beyond 2^24 are rounded", "numerics",
       ("return parameters, operations", "return parameters, (operations / 2).long() * 2"))


@wrong("computed in int32: counts from 2^31 on wrap around, and so does GPT-2 small", kind="numerics")
def in_int32(V, N, D, L, D_F, tied):
    return tuple(part.long() for part in _counts(*(argument.int() for argument in (V, N, D, L, D_F)), tied))


change(_unpacked, "overflow_on_the_way", "the operations are counted eight times too often and divided by 8: counts "
       "near the end of 64 bits wrap around", "numerics",
       ("return parameters, operations", "return parameters, (operations * 8) // 8"))


# ---------------------------------------------------------------- wrong: interface, shapes, state


@wrong("results are float64 instead of int64", kind="interface")
def float_results(V, N, D, L, D_F, tied):
    return tuple(part.double() for part in _counts(V, N, D, L, D_F, tied))


change(_plain, "operations_first", "operations come first, then parameters", "interface",
       ("_counts(V, N, D, L, D_F, tied)", "_counts(V, N, D, L, D_F, tied)[::-1]"))


@wrong("both counts are stacked to one tensor [S, 2] instead of a pair", kind="interface")
def one_tensor(V, N, D, L, D_F, tied):
    return torch.stack(_counts(V, N, D, L, D_F, tied), dim=-1)


@wrong("the counts are lists of Python's integers instead of tensors", kind="interface")
def lists(V, N, D, L, D_F, tied):
    return tuple(part.tolist() for part in _counts(V, N, D, L, D_F, tied))


@wrong("the first model alone is counted, as a tensor without axes", kind="shape")
def first_model(V, N, D, L, D_F, tied):
    return tuple(part[0] for part in _counts(V, N, D, L, D_F, tied))


@wrong("the counts of all models are added up, and every entry is their sum", kind="shape")
def sum_of_the_models(V, N, D, L, D_F, tied):
    return tuple(part.sum().repeat(len(V)) for part in _counts(V, N, D, L, D_F, tied))


@wrong("squeeze(): with a single model the counts come back without an axis", kind="shape")
def squeezed(V, N, D, L, D_F, tied):
    return tuple(part.squeeze() for part in _counts(V, N, D, L, D_F, tied))


change(_unpacked, "V_used_up", "the totals are summed up in place in V, which comes back changed", "interface",
       before("return", """
        V += N
        V *= D"""))


@wrong("results are on the CPU, whatever the inputs' device", kind="interface")
def on_the_cpu(V, N, D, L, D_F, tied):
    return tuple(torch.tensor(part.tolist()) for part in _counts(V, N, D, L, D_F, tied))


change(_unpacked, "printed", "the result is printed and None comes back", "interface",
       ("return parameters, operations", 'print("parameters:", parameters, "operations:", operations)'))


@wrong("D and L are swapped in the order of the arguments: calls by position mix them up", kind="interface")
def other_order(V, N, L, D, D_F, tied):
    return _counts(V, N, D, L, D_F, tied)


@right("the hidden width is called d_ff: calls by name fail")
def other_name(V, N, D, L, d_ff, tied):
    return _counts(V, N, D, L, d_ff, tied)


_total = [0]


@wrong("a total outside the function is not set back: parameters of earlier calls are counted again", kind="interface")
def total_kept(V, N, D, L, D_F, tied):
    parameters, operations = _counts(V, N, D, L, D_F, tied)
    _total[0] += int(parameters.sum())
    return parameters + (_total[0] - int(parameters.sum())), operations


_known = {}


@wrong(
    "counts are kept by the number of models and `tied`: other models of that number get the old counts",
    kind="interface",
)
def counts_kept(V, N, D, L, D_F, tied):
    key = (len(V), tied, V.device)
    if key not in _known:
        _known[key] = _counts(V, N, D, L, D_F, tied)
    return tuple(part.clone() for part in _known[key])


change(_plain, "by_strides", "D is read by as_strided as if it lay in one piece: slices with a step and expanded views "
       "give other widths", "layout",
       ("_counts(V, N, D, L, D_F, tied)", "_counts(V, N, D.as_strided(D.shape, (1,)), L, D_F, tied)"))
change(lists, "type_of_the_inputs", "computed in the type of the inputs: int32 inputs wrap around; the text says only "
       "\"tensors of integers\"", "numerics",
       (".tolist()", ".to(torch.int64)"), verdict="open")


@left_open("a model without blocks is counted as if it had one; the text does not say whether L may be 0", kind="edge")
def at_least_one_block(V, N, D, L, D_F, tied):
    return _counts(V, N, D, L.clamp(min=1), D_F, tied)
