"""Answers to count_block (assignment 09)."""
import torch
from answers import after, before, change, right, wrong

# ---------------------------------------------------------------- right


@right("Both counts as polynomials, multiplied out")
def polynomials(D, D_F, N, gated):
    if gated:
        return 4 * D * D + 3 * D * D_F + 2 * D, 8 * N * D * D + 6 * N * D * D_F + 4 * N * N * D
    return 4 * D * D + 2 * D * D_F + 9 * D + D_F, 8 * N * D * D + 4 * N * D * D_F + 4 * N * N * D


@right("Loops over the blocks with Python's integers, and makes tensors of the lists")
def python_integers(D, D_F, N, gated):
    parameters, operations = [], []
    for d, d_f, n in zip(D.tolist(), D_F.tolist(), N.tolist()):
        matrices = [(d, 3 * d), (d, d)] + ([(d, d_f), (d, d_f), (d_f, d)] if gated else [(d, d_f), (d_f, d)])
        weights = sum(rows * columns for rows, columns in matrices)
        biases = 0 if gated else sum(columns for _, columns in matrices)
        parameters.append(weights + biases + (2 * d if gated else 4 * d))
        operations.append(2 * n * weights + 2 * 2 * n * n * d)
    made = {"dtype": D.dtype, "device": D.device}
    return torch.tensor(parameters, **made), torch.tensor(operations, **made)


@right("A table of layers, summed in one loop")
def table_of_layers(D, D_F, N, gated):
    layers = [(D, 3 * D), (D, D), (D, D_F), (D_F, D)]
    if gated:
        layers.append((D, D_F))
    parameters, operations = torch.zeros_like(D), torch.zeros_like(D)
    for rows, columns in layers:
        parameters = parameters + rows * columns
        operations = operations + 2 * N * rows * columns
        if not gated:
            parameters = parameters + columns
    for _ in range(2):
        parameters = parameters + (D if gated else D + D)
        operations = operations + 2 * N * D * N
    return parameters, operations


@right("Coefficients times monomials, summed over the monomials")
def coefficients(D, D_F, N, gated):
    monomials = torch.stack([D * D, D * D_F, D, D_F, N * D * D, N * D * D_F, N * N * D], dim=-1)
    rows = [[4, 3, 2, 0, 0, 0, 0], [0, 0, 0, 0, 8, 6, 4]] if gated else [[4, 2, 9, 1, 0, 0, 0], [0, 0, 0, 0, 8, 4, 4]]
    factors = torch.tensor(rows, dtype=D.dtype, device=D.device)
    counts = (monomials[None] * factors[:, None]).sum(dim=-1, dtype=D.dtype)
    return counts[0], counts[1]


@right("Asks empty meta tensors for their number of elements")
def meta_tensors(D, D_F, N, gated):
    parameters = []
    for d, d_f in zip(D.tolist(), D_F.tolist()):
        if gated:
            shapes = [(d, 3 * d), (d, d), (d, d_f), (d, d_f), (d_f, d), (d,), (d,)]
        else:
            shapes = [(d, 3 * d), (3 * d,), (d, d), (d,), (d, d_f), (d_f,), (d_f, d), (d,), (d,), (d,), (d,), (d,)]
        parameters.append(sum(torch.empty(shape, dtype=torch.int8, device="meta").numel() for shape in shapes))
    parameters = torch.tensor(parameters, dtype=D.dtype, device=D.device)
    matrices = parameters - 2 * D if gated else parameters - 9 * D - D_F
    return parameters, 2 * N * (matrices + 2 * N * D)


@right("Horner's scheme, factors pulled out")
def horner(D, D_F, N, gated):
    if gated:
        return D * (4 * D + 3 * D_F + 2), 2 * N * D * (4 * D + 3 * D_F + 2 * N)
    return D * (4 * D + 2 * D_F + 9) + D_F, 4 * N * D * (2 * D + D_F + N)


@right("A function for the cost of a product; attention as if there was one head")
def products(D, D_F, N, gated):
    def cost(n, k, m):
        return 2 * n * k * m

    query_key_value = cost(N, D, 3 * D)
    output = cost(N, D, D)
    attention = cost(N, D, N) + cost(N, N, D)
    into, out = cost(N, D, D_F), cost(N, D_F, D)
    biases = 0 if gated else 3 * D + D + D_F + D
    norms = 2 * D if gated else 2 * (D + D)
    weights = D * (3 * D) + D * D + D * D_F + D_F * D + (D * D_F if gated else 0)
    return weights + biases + norms, query_key_value + output + attention + into + out + (into if gated else 0)


@right("The truth value is calculated with")
def arithmetic_of_truth(D, D_F, N, gated):
    yes = int(bool(gated))
    no = 1 - yes
    weights = 4 * D**2 + (2 + yes) * D * D_F
    return weights + no * (5 * D + D_F) + (2 + 2 * no) * D, 2 * N * weights + 4 * D * N**2


@right("Integer addcmul, term after term")
def by_addcmul(D, D_F, N, gated):
    weights = torch.addcmul(torch.mul(D, D) * 4, D, D_F, value=3 if gated else 2)
    operations = torch.addcmul(torch.mul(weights, N) * 2, N * N, D, value=4)
    parameters = torch.add(weights, D, alpha=2 if gated else 9)
    return (parameters if gated else torch.add(parameters, D_F)), operations


@right("Shifts of bits in place of multiplications by powers of 2")
def shifts(D, D_F, N, gated):
    mlp = D * D_F
    weights = ((D * D) << 2) + (mlp << 1)
    if gated:
        weights = weights + mlp
        parameters = weights + (D << 1)
    else:
        parameters = weights + (D << 3) + D + D_F
    return parameters, ((weights * N) << 1) + ((N * N * D) << 2)


@right("One block by scalars, mapped over the blocks by vmap")
def by_vmap(D, D_F, N, gated):
    def block(d, d_f, n):
        matrices = [d * 3 * d, d * d, *[d * d_f] * (3 if gated else 2)]
        vectors = [d, d] if gated else [3 * d, d, d_f, d, d, d, d, d]
        return sum(matrices) + sum(vectors), sum(2 * n * m for m in matrices) + 2 * (2 * n * n * d)

    return torch.vmap(block)(D, D_F, N)


@right("Counts for one token, times the tokens; keys make the rest")
def per_token(D, D_F, N, gated):
    names = {"W_QKV": 3 * D.square(), "W_O": D.square(), "W_1": D * D_F, "W_3": D_F * D}
    names |= {"W_2": D_F * D} if gated else {}
    learned = torch.stack(list(names.values())).sum(0, dtype=D.dtype)
    one_token = 2 * learned + 2 * (D * N) + 2 * (N * D)
    others = [D, D] if gated else [D, D, D, D, 3 * D, D, D_F, D]
    return learned + torch.stack(others).sum(0, dtype=D.dtype), one_token * N


# Right, and not registered: answers below are changes of it.
def _plain(D, D_F, N, gated):
    weights = 4 * D * D + (3 if gated else 2) * D * D_F
    extra = 2 * D if gated else 9 * D + D_F
    return weights + extra, 2 * N * weights + 4 * N * N * D


# ---------------------------------------------------------------- wrong: concepts


change(_plain, "one_projection_for_three",
       "W_QKV is counted as one matrix [D, D] in parameters and operations, not as [D, 3*D]", "concept",
       ("4 * D", "2 * D"))
change(_plain, "no_output_projection",
       "the output projection W_O (matrix and bias) is left out of parameters and operations", "concept",
       ("4 * D", "3 * D"), ("9 * D", "8 * D"))


@wrong("with gated=False the bias of W_QKV is counted as D numbers, not 3*D", kind="concept")
def short_bias(D, D_F, N, gated):
    weights = 4 * D * D + (3 if gated else 2) * D * D_F
    biases = 0 if gated else D + D + D_F + D
    norms = 2 * D if gated else 4 * D
    return weights + biases + norms, 2 * N * weights + 4 * N * N * D


change(_plain, "no_biases", "with gated=False the biases of the four layers are left out", "concept",
       ("extra = 2 * D if gated else 9 * D + D_F", ""), ("weights + extra", "weights + (2 if gated else 4) * D"))


@wrong("with gated=True biases are counted for W_QKV and W_O, although that block has none anywhere", kind="concept")
def biases_in_the_gated_attention(D, D_F, N, gated):
    attention = 4 * D * D + 3 * D + D
    mlp = 3 * D * D_F if gated else 2 * D * D_F + D_F + D
    norms = 2 * D if gated else 4 * D
    operations = 8 * N * D * D + (6 if gated else 4) * N * D * D_F + 4 * N * N * D
    return attention + mlp + norms, operations


@wrong("with gated=True biases are counted for W_1, W_2 and W_3, although that block has none anywhere", kind="concept")
def biases_in_the_gated_mlp(D, D_F, N, gated):
    attention = 4 * D * D if gated else 4 * D * D + 4 * D
    mlp = 3 * D * D_F + 2 * D_F + D if gated else 2 * D * D_F + D_F + D
    norms = 2 * D if gated else 4 * D
    operations = 8 * N * D * D + (6 if gated else 4) * N * D * D_F + 4 * N * N * D
    return attention + mlp + norms, operations


change(_plain, "rms_norm_with_bias",
       "the RMSNorms of gated=True are counted with a bias (4*D), and they have a weight alone (2*D)", "concept",
       ("extra = 2 * D if gated else 9 * D", "biases = 0 if gated else 5 * D"),
       ("weights + extra", "weights + biases + 4 * D"))


@wrong("one norm is counted for each block, not two (both kinds of blocks)", kind="concept")
def one_norm(D, D_F, N, gated):
    weights = 4 * D * D + (3 if gated else 2) * D * D_F
    biases = 0 if gated else 5 * D + D_F
    norm = D if gated else 2 * D
    return weights + biases + norm, 2 * N * weights + 4 * N * N * D


change(_plain, "layer_norm_without_bias",
       "the LayerNorms of gated=False are counted with a weight alone (2*D), not weight and bias (4*D)", "concept",
       ("extra = 2 * D if gated else 9 * D", "biases = 0 if gated else 5 * D"),
       ("weights + extra", "weights + biases + 2 * D"))
change(_plain, "two_matrices_in_swiglu",
       "SwiGLU is counted with two matrices in parameters and operations, and it has three", "concept",
       ("(3 if gated else 2)", "2"))
change(_plain, "inverted",
       "gated is inverted: True counts the MLP with LayerNorms and biases, False counts SwiGLU", "concept",
       ("3 if gated else 2", "2 if gated else 3"),
       ("extra = 2 * D if gated else 9 * D + D_F", "extra = 9 * D + D_F if gated else 2 * D"))
change(_plain, "multiply_adds",
       "all operations lack the factor 2: a multiplication and an addition are counted as one", "concept",
       ("2 * N", "N"), ("4 * N", "2 * N"))
change(_plain, "kaplan", "scores and weighted sums count 2 N² D together, as in Kaplan et al., not 4 N² D", "concept",
       ("4 * N", "2 * N"))
change(_plain, "only_the_matrices",
       "the operations leave out both products without parameters, the scores and the weighted sums", "concept",
       ("2 * N * weights + 4 * N * N * D", "2 * N * weights"))
change(_plain, "exchanged_in_attention",
       "scores and weighted sums count 4 N D² (N and D exchanged), not 4 N² D", "concept",
       ("N * D", "D * D"))


@wrong("with gated=False the operations also count the additions of the biases, which are left out", kind="concept")
def bias_additions(D, D_F, N, gated):
    weights = 4 * D * D + (3 if gated else 2) * D * D_F
    biases = 0 * D if gated else 5 * D + D_F
    norms = 2 * D if gated else 4 * D
    return weights + biases + norms, 2 * N * weights + N * biases + 4 * N * N * D


change(_plain, "causal_pairs",
       "a causal mask is taken off: the attention products count N(N+1)/2 pairs, not N²", "concept",
       ("N * N * D", "D * (N * (N + 1) // 2)"))
change(_plain, "operations_of_one_token",
       "the operations are those of one token, not of the sequence: a factor N is missing in all terms", "concept",
       ("2 * N * weights + 4 * N * N * D", "2 * weights + 4 * N * D"))


@wrong("with gated=True the operations also count the elementwise product, N D_F, which is left out", kind="concept")
def elementwise_product(D, D_F, N, gated):
    weights = 4 * D * D + (3 if gated else 2) * D * D_F
    extra = 2 * D if gated else 9 * D + D_F
    operations = 2 * N * weights + 4 * N * N * D
    return weights + extra, operations + N * D_F if gated else operations


@wrong("a product of [n, k] and [k, m] counts n (2k − 1) m operations, not 2 n k m", kind="concept")
def one_addition_less(D, D_F, N, gated):
    def cost(n, k, m):
        return n * (2 * k - 1) * m

    weights = 4 * D * D + (3 if gated else 2) * D * D_F
    extra = 2 * D if gated else 9 * D + D_F
    mlp = (2 if gated else 1) * cost(N, D, D_F) + cost(N, D_F, D)
    return weights + extra, cost(N, D, 3 * D) + cost(N, D, D) + cost(N, D, N) + cost(N, N, D) + mlp


change(_plain, "times_the_heads",
       "the attention products are multiplied by a number of heads, D // 64 (at least 1)", "concept",
       before("weights =", "H = (D // 64).clamp(min=1)"), ("N * D", "N * D * H"))
change(_plain, "positions_too",
       "the parameters also count learned positions, N D, which are no part of a block", "concept",
       ("weights + extra", "weights + extra + N * D"))


# ---------------------------------------------------------------- wrong: two mistakes at once


change(_plain, "two_no_biases_and_rms_bias",
       "two mistakes: gated=False counts no biases of layers, and gated=True counts RMSNorms with bias", "concept",
       ("extra = 2 * D if gated else 9 * D + D_F", ""), ("weights + extra", "weights + 4 * D"))


@wrong("two mistakes: parameters leave out the norms, and the operations use two MLP matrices when gated",
       kind="concept")
def two_no_norms_and_mlp(D, D_F, N, gated):
    parameters = 4 * D * D + (3 * D * D_F if gated else 2 * D * D_F + 5 * D + D_F)
    return parameters, 8 * N * D * D + 4 * N * D * D_F + 4 * N * N * D


change(_plain, "two_exchanged_and_halved",
       "two mistakes: the two results are exchanged, and the operations lack the weighted sums", "interface",
       ("return weights + extra, 2 * N * weights + 4 * N * N * D",
        "return 2 * N * weights + 2 * N * N * D, weights + extra"))


@wrong("two mistakes: D_F is not used (4 D in its place), and the factor 2 is missing in the attention products",
       kind="concept")
def two_fixed_width(D, D_F, N, gated):
    hidden = 4 * D
    weights = 4 * D * D + (3 if gated else 2) * D * hidden
    extra = 2 * D if gated else 9 * D + hidden
    return weights + extra, 2 * N * weights + 2 * N * N * D


# ---------------------------------------------------------------- wrong: numbers


@wrong("everything is computed in float32 and converted back, so that counts above 2^24 are not exact", kind="numerics")
def in_float32(D, D_F, N, gated):
    D, D_F, N = D.float(), D_F.float(), N.float()
    weights = 4 * D * D + (3 if gated else 2) * D * D_F
    extra = 2 * D if gated else 9 * D + D_F
    return (weights + extra).long(), (2 * N * weights + 4 * N * N * D).long()


change(_plain, "operations_in_float64", "the operations are computed in float64 and converted back: not exact above "
       "2^53, for long sequences", "numerics",
       before("return", "n = N.double()"),
       ("2 * N * weights + 4 * N * N * D", "(2 * n * weights + 4 * n * n * D).round().long()"))
change(_plain, "floats_come_back", "the results are floating-point (float64) tensors, not integers", "interface",
       ("return weights + extra, 2 * N * weights + 4 * N * N * D",
        "return (weights + extra).double(), (2 * N * weights + 4 * N * N * D).double()"))
change(in_float32, "in_int32", "the counts are computed in int32 and overflow above 2^31 − 1", "numerics",
       ("D.float(), D_F.float(), N.float()", "(x.to(torch.int32) for x in (D, D_F, N))"))
change(_plain, "square_in_float32",
       "N² is taken in float32 and converted back: not exact in general for N above 4096", "numerics",
       before("return", "pairs = (N**2.0).long()"), ("N * N", "pairs"))
change(_plain, "square_by_division",
       "D² comes from the float32 quotient D / (1 / D): D² in the weights is not exact for wide blocks", "numerics",
       before("weights =", "square = (D / (1 / D)).round().long()"), ("4 * D * D", "4 * square"))
change(_plain, "overflow_on_the_way",
       "the attention products are 4 (N D)² // D: (N D)² overflows int64 where 4 N² D is far from it", "numerics",
       ("N * N * D", "(N * D) ** 2 // D"))
change(_plain, "longest_context",
       "N is cut to at most 65536 tokens, so that longer sequences get too few operations", "numerics",
       before("weights =", "N = N.clamp(max=65536)"))


@wrong("operations above 10^9 are counted in whole thousands (their last three digits become 0)", kind="numerics")
def whole_thousands(D, D_F, N, gated):
    weights = 4 * D * D + (3 if gated else 2) * D * D_F
    extra = 2 * D if gated else 9 * D + D_F
    operations = 2 * N * weights + 4 * N * N * D
    return weights + extra, torch.where(operations > 10**9, operations // 1000 * 1000, operations)


# ---------------------------------------------------------------- wrong: shapes and single blocks


change(_plain, "squeezed", "squeeze() at the end: with S = 1 the results have the shape [] and not [1]", "shape",
       ("return weights + extra, 2 * N * weights + 4 * N * N * D",
        "return (weights + extra).squeeze(), (2 * N * weights + 4 * N * N * D).squeeze()"))
change(_plain, "whole_stack",
       "the counts of all S blocks are added up: the results have the shape [], one number for the stack", "shape",
       ("return weights + extra, 2 * N * weights + 4 * N * N * D",
        "return (weights + extra).sum(), (2 * N * weights + 4 * N * N * D).sum()"))
change(_plain, "dot_product_of_widths",
       "the MLP is counted by D @ D_F, which sums over the blocks and gives all of them the same MLP", "shape",
       ("D * D_F", "(D * D_F).sum()"))
change(_plain, "first_length", "N is taken from the first block, N[0], for all blocks", "shape",
       before("weights =", "n = N[0]"), ("2 * N", "2 * n"), ("N * N", "n * n"))
change(_plain, "padded_to_the_longest",
       "all sequences are counted as long as the longest, N.max(), in the attention products", "concept",
       before("weights =", "keys = N.max()"), ("N * D", "keys * D"))
change(_plain, "outer_product",
       "N is set up as a column, so that the operations have the shape [S, S] and not [S]", "shape",
       before("return", "n = N.reshape(-1, 1)"), ("2 * N", "2 * n"), ("N * N", "n * n"))


@wrong("item() is used, which fails for more than one block", kind="shape")
def one_block_only(D, D_F, N, gated):
    d, d_f, n = D.item(), D_F.item(), N.item()
    weights = 4 * d * d + (3 if gated else 2) * d * d_f
    extra = 2 * d if gated else 9 * d + d_f
    return D.new_tensor([weights + extra]), D.new_tensor([2 * n * weights + 4 * n * n * d])


@wrong("the loop over the blocks stops one too early: the last block keeps 0 in both counts", kind="edge")
def last_block_forgotten(D, D_F, N, gated):
    parameters, operations = torch.zeros_like(D), torch.zeros_like(D)
    for s in range(len(D) - 1):
        weights = 4 * D[s] * D[s] + (3 if gated else 2) * D[s] * D_F[s]
        parameters[s] = weights + (2 * D[s] if gated else 9 * D[s] + D_F[s])
        operations[s] = 2 * N[s] * weights + 4 * N[s] * N[s] * D[s]
    return parameters, operations


change(_plain, "sorted_by_width",
       "the blocks are sorted by their width first, so that the results do not stand at their blocks", "concept",
       before("weights =", """
        D, order = D.sort(stable=True)
        D_F, N = D_F[order], N[order]"""))


@wrong("D is read with step 1 from its memory: wrong for a slice with a step, and fails for an expanded D",
       kind="layout")
def steps_ignored(D, D_F, N, gated):
    width = torch.as_strided(D, D.shape, (1,))
    weights = 4 * width * width + (3 if gated else 2) * width * D_F
    extra = 2 * width if gated else 9 * width + D_F
    return weights + extra, 2 * N * weights + 4 * N * N * width


# ---------------------------------------------------------------- wrong: edges


change(_plain, "nobody_to_attend_to",
       "where N = 1 the scores and the weighted sums are left out, because there is no other token", "edge",
       before("return", "attention = torch.where(N > 1, 4 * N * N * D, 0)"), ("4 * N * N * D", "attention"))


@wrong("where D = 1 the norms are left out of the parameters, because one feature needs no norm", kind="edge")
def no_norm_for_one_feature(D, D_F, N, gated):
    weights = 4 * D * D + (3 if gated else 2) * D * D_F
    biases = 0 if gated else 5 * D + D_F
    norms = torch.where(D == 1, 0, (2 if gated else 4) * D)
    return weights + biases + norms, 2 * N * weights + 4 * N * N * D


change(_plain, "shared_where_square",
       "where D_F = D one MLP matrix is left out of the parameters, as if two were shared", "edge",
       after("extra = 2 * D if gated else 9 * D + D_F", "learned = torch.where(D_F == D, weights - D * D_F, weights)"),
       ("return weights", "return learned"))


# ---------------------------------------------------------------- wrong: interface


change(_plain, "lists", "the results are lists of Python integers, not tensors", "interface",
       ("return weights + extra, 2 * N * weights + 4 * N * N * D",
        "return (weights + extra).tolist(), (2 * N * weights + 4 * N * N * D).tolist()"))
change(_plain, "a_dictionary", "a dictionary comes back, not two tensors", "interface",
       ("return weights + extra, 2 * N * weights + 4 * N * N * D",
        'return {"parameters": weights + extra, "operations": 2 * N * weights + 4 * N * N * D}'))
change(elementwise_product, "three_results",
       "three results come back (parameters, operations, operations for each token), not two", "interface",
       ("operations + N * D_F if gated else operations", "operations, operations // N"))


@right("the arguments have other names (d_model, d_ff, n_tokens), so that D, D_F and N by name fail")
def other_names(d_model, d_ff, n_tokens, gated):
    weights = 4 * d_model * d_model + (3 if gated else 2) * d_model * d_ff
    extra = 2 * d_model if gated else 9 * d_model + d_ff
    return weights + extra, 2 * n_tokens * weights + 4 * n_tokens * n_tokens * d_model


change(_plain, "gated_by_name_only",
       "gated can be given by name only, so that a call with four positional arguments fails", "interface",
       ("N, gated", "N, *, gated"))
change(_plain, "other_order", "the arguments stand in another order (D, N, D_F, gated), so that D_F and N are "
       "exchanged by position", "interface",
       ("D_F, N", "N, D_F"))


@wrong("the input D_F is multiplied by D in place and so comes back changed", kind="interface")
def hidden_width_changed(D, D_F, N, gated):
    extra = 2 * D if gated else 9 * D + D_F
    D_F *= D
    weights = 4 * D * D + (3 if gated else 2) * D_F
    return weights + extra, 2 * N * weights + 4 * N * N * D


@wrong("with gated=True the input N is multiplied in place and so comes back changed", kind="interface")
def tokens_changed(D, D_F, N, gated):
    if gated:
        weights = 4 * D * D + 3 * D * D_F
        attention = 4 * N * N * D
        return weights + 2 * D, N.mul_(2 * weights) + attention
    weights = 4 * D * D + 2 * D * D_F
    return weights + 9 * D + D_F, 2 * N * weights + 4 * N * N * D


_seen = {}


@wrong("results are kept by gated and S: a later call with other numbers gets those of the first call",
       kind="interface")
def remembered(D, D_F, N, gated):
    key = bool(gated), len(D)
    if key not in _seen:
        weights = 4 * D * D + (3 if gated else 2) * D * D_F
        extra = 2 * D if gated else 9 * D + D_F
        _seen[key] = weights + extra, 2 * N * weights + 4 * N * N * D
    return _seen[key]


@wrong("the results are made by torch.tensor from lists without device: on the CPU wherever the inputs are",
       kind="interface")
def on_the_cpu(D, D_F, N, gated):
    parameters, operations = [], []
    for d, d_f, n in zip(D.tolist(), D_F.tolist(), N.tolist()):
        weights = 4 * d * d + (3 if gated else 2) * d * d_f
        parameters.append(weights + (2 * d if gated else 9 * d + d_f))
        operations.append(2 * n * weights + 4 * n * n * d)
    return torch.tensor(parameters), torch.tensor(operations)


@wrong("the factors of the terms are a tensor on the CPU, which meets inputs on another device", kind="interface")
def factors_on_the_cpu(D, D_F, N, gated):
    factors = torch.tensor([4, 3, 2, 0] if gated else [4, 2, 9, 1])
    terms = torch.stack([D * D, D * D_F, D, D_F], dim=-1) * factors
    return terms.sum(-1), 2 * N * terms[:, :2].sum(-1) + 4 * N * N * D
