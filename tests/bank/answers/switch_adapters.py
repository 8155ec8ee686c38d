"""Test answers for switch_adapters (assignment 15): right ones in unusual styles, wrong ones with what is wrong about them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import after, before, change, left_open, right, wrong


def _update(A, B, alpha):
    """What an adapter adds to a weight; 0 where there is none."""
    return 0 if A is None else alpha / A.shape[0] * (B @ A)


# -------------------------------------------------------------------------------------------------------------- right


@right("a loop over both adapters with their signs")
def signs(W, A, B, alpha, A_new, B_new, alpha_new):
    for sign, down, up, factor in ((-1, A, B, alpha), (1, A_new, B_new, alpha_new)):
        if down is not None:
            W = W + sign * factor / down.shape[0] * (up @ down)
    return W


@right("one conditional expression for each adapter")
def one_expression(W, A, B, alpha, A_new, B_new, alpha_new):
    old = 0 if A is None else alpha / len(A) * B @ A
    new = 0 if A_new is None else alpha_new / len(A_new) * B_new @ A_new
    return W - old + new


@right("all factors side by side, one product for both adapters")
def one_product(W, A, B, alpha, A_new, B_new, alpha_new):
    ups, downs = [], []
    if A is not None:
        ups.append(-alpha / B.shape[1] * B)
        downs.append(A)
    if A_new is not None:
        ups.append(alpha_new / B_new.shape[1] * B_new)
        downs.append(A_new)
    return W + torch.cat(ups, dim=1) @ torch.cat(downs) if ups else W.clone()


@right("torch.addmm with the factor as its alpha, under no_grad")
@torch.no_grad()
def by_addmm(W, A, B, alpha, A_new, B_new, alpha_new):
    if A_new is not None:
        W = torch.addmm(W, B_new, A_new, alpha=alpha_new / A_new.size(0))
    if A is not None:
        W = torch.addmm(W, B, A, alpha=-alpha / A.size(0))
    return W


@right("einsum, the new adapter merged in before the old one is taken out")
def by_einsum(W, A, B, alpha, A_new, B_new, alpha_new):
    if B_new is not None:
        W = W + torch.einsum("or,ri->oi", B_new, A_new) * (alpha_new / B_new.size(1))
    if B is not None:
        W = W - torch.einsum("or,ri->oi", B, A) * (alpha / B.size(1))
    return W


@right("match over which adapters are there, the four cases written out")
def four_cases(W, A, B, alpha, A_new, B_new, alpha_new):
    match (A is None, A_new is None):
        case (True, True):
            return W
        case (True, False):
            return W + alpha_new / A_new.shape[0] * (B_new @ A_new)
        case (False, True):
            return W - alpha / A.shape[0] * (B @ A)
        case _:
            return W - alpha / A.shape[0] * (B @ A) + alpha_new / A_new.shape[0] * (B_new @ A_new)


@right("calls itself: an adapter comes out as one with the opposite alpha goes in")
def recursive(W, A, B, alpha, A_new, B_new, alpha_new):
    if A is not None:
        W = recursive(W, None, None, 0.0, A, B, -alpha)
    return W if A_new is None else W + (alpha_new / A_new.shape[0]) * B_new.matmul(A_new)


@right("row by row of the weight")
def row_by_row(W, A, B, alpha, A_new, B_new, alpha_new):
    rows = []
    for o, row in enumerate(W):
        if A is not None:
            row = row - alpha / A.shape[0] * (B[o] @ A)
        if A_new is not None:
            row = row + alpha_new / A_new.shape[0] * (B_new[o] @ A_new)
        rows.append(row)
    return torch.stack(rows)


@right("the mean over the ranks of their outer products, times alpha: that divides by the rank")
def mean_of_outer_products(W, A, B, alpha, A_new, B_new, alpha_new):
    for down, up, factor in ((A, B, -alpha if A is not None else None), (A_new, B_new, alpha_new)):
        if down is not None:
            W = W + factor * (up.mT[:, :, None] * down[:, None, :]).mean(0)
    return W


@right("everything transposed; the result is a transposed view")
def transposed(W, A, B, alpha, A_new, B_new, alpha_new):
    turned = W.T
    if A is not None:
        turned = turned - A.T @ (alpha / A.shape[0] * B.T)
    if A_new is not None:
        turned = turned + A_new.T @ (alpha_new / A_new.shape[0] * B_new.T)
    return turned.T


@right("a copy of the weight, overwritten in place")
def in_place_on_a_copy(W, A, B, alpha, A_new, B_new, alpha_new):
    with torch.no_grad():
        result = W.detach().clone()
        if A is not None:
            result -= F.linear(B, A.T).mul(alpha / A.shape[0])
        if A_new is not None:
            result += F.linear(B_new, A_new.T).mul(alpha_new / A_new.shape[0])
    return result


@right("the diagonal matrix of the factors between both matrices")
def diagonal_between(W, A, B, alpha, A_new, B_new, alpha_new):
    def merged(down, up, factor):
        if down is None:
            return torch.zeros_like(W)
        return up @ torch.diag(down.new_full((len(down),), factor / len(down))) @ down

    return W - (merged(A, B, alpha) - merged(A_new, B_new, alpha_new))


@right("column by column: the layer's weight applied to the unit vectors, beside its adapters")
def unit_vectors(W, A, B, alpha, A_new, B_new, alpha_new):
    E = torch.eye(W.shape[1], dtype=W.dtype, device=W.device)
    Y = F.linear(E, W)
    if A is not None:
        Y = Y - alpha / A.shape[0] * F.linear(F.linear(E, A), B)
    if A_new is not None:
        Y = Y + alpha_new / A_new.shape[0] * F.linear(F.linear(E, A_new), B_new)
    return Y.mT


# ---------------------------------------------------------------------------------------------------------- left open


@left_open(
    "a missing adapter counts as alpha times a matrix of zeros: NaN where its meaningless alpha is infinite",
    kind="edge",
)
def alpha_times_zeros(W, A, B, alpha, A_new, B_new, alpha_new):
    old = torch.zeros_like(W) if A is None else B @ A / len(A)
    new = torch.zeros_like(W) if A_new is None else B_new @ A_new / len(A_new)
    return W - alpha * old + alpha_new * new


@left_open("the result is an nn.Parameter", kind="interface")
def as_parameter(W, A, B, alpha, A_new, B_new, alpha_new):
    return nn.Parameter((W - _update(A, B, alpha) + _update(A_new, B_new, alpha_new)).detach().clone())


# Right, and not registered: answers below are changes of it.
def _plain(W, A, B, alpha, A_new, B_new, alpha_new):
    return W - _update(A, B, alpha) + _update(A_new, B_new, alpha_new)


change(_plain, "negative_refused", "an adapter whose alpha is negative is refused", "edge",
       before("return", """
        if (A is not None and alpha < 0) or (A_new is not None and alpha_new < 0):
            raise ValueError("alpha is negative")"""), verdict="open")


# ----------------------------------------------------------------------------------------------------- wrong: concept


change(_plain, "old_added", "the old adapter is added once more instead of taken out", "concept",
       ("W - _update", "W + _update"))


@wrong("the signs are swapped: the old adapter is added and the new one subtracted", kind="concept")
def signs_swapped(W, A, B, alpha, A_new, B_new, alpha_new):
    return W + _update(A, B, alpha) - _update(A_new, B_new, alpha_new)


# Right, and not registered: answers below are changes of it.
def _one_after_the_other(W, A, B, alpha, A_new, B_new, alpha_new):
    if A is not None:
        W = W - alpha / A.shape[0] * (B @ A)
    if A_new is not None:
        W = W + alpha_new / A_new.shape[0] * (B_new @ A_new)
    return W


change(_one_after_the_other, "no_factors", "the factors are missing: B A and B_new A_new count once each", "concept",
       ("alpha / A.shape[0] * (B @ A)", "B @ A"), ("alpha_new / A_new.shape[0] * (B_new @ A_new)", "B_new @ A_new"))
change(_one_after_the_other, "not_divided", "alpha and alpha_new are not divided by the ranks", "concept",
       ("alpha / A.shape[0]", "alpha"), ("alpha_new / A_new.shape[0]", "alpha_new"))
change(_one_after_the_other, "old_rank_for_both",
       "the new adapter's factor is alpha_new divided by the old rank r, where there is an old adapter", "concept",
       before("if A is not None:",
              "r = (A if A is not None else A_new).shape[0] if A is not None or A_new is not None else 1"),
       ("A.shape[0]", "r"), ("A_new.shape[0]", "r"))
change(_plain, "one_alpha", "alpha serves for both adapters, alpha_new is never read", "concept",
       ("_update(A_new, B_new, alpha_new)", "_update(A_new, B_new, alpha)"))


@wrong("alpha and alpha_new are swapped", kind="concept")
def alphas_swapped(W, A, B, alpha, A_new, B_new, alpha_new):
    return W - _update(A, B, alpha_new) + _update(A_new, B_new, alpha)


change(_one_after_the_other, "width_as_rank", "the rank is read from the wrong axis of A: D_in", "concept",
       (".shape[0]", ".shape[1]", 2))


@wrong("r is read rightly from A, but s from the wrong axis of B_new: D_out", kind="concept")
def new_rank_from_the_height(W, A, B, alpha, A_new, B_new, alpha_new):
    if A_new is not None:
        W = W + alpha_new / B_new.shape[0] * (B_new @ A_new)
    return W - _update(A, B, alpha)


change(_one_after_the_other, "root_of_the_rank", "alpha is divided by the root of the rank, as in rsLoRA", "concept",
       ("A.shape[0]", "math.sqrt(A.shape[0])"), ("A_new.shape[0]", "math.sqrt(A_new.shape[0])"))
change(signs, "factors_squared",
       "each factor multiplies both matrices of its adapter, and so counts squared", "concept",
       ("up, factor", "up, number"), before("W =", "scale = number / down.shape[0]"),
       ("factor / down.shape[0] * (up @ down)", "(scale * up) @ (scale * down)"))
change(_plain, "never_taken_out", "the new adapter is merged in, but the old one is never taken out", "concept",
       ("W - _update(A, B, alpha)", "W"))


@wrong(
    "the second step begins with W again: where both are given, the old adapter is still in the result", kind="concept"
)
def begins_again(W, A, B, alpha, A_new, B_new, alpha_new):
    W_new = W
    if A is not None:
        W_new = W - alpha / A.shape[0] * (B @ A)
    if A_new is not None:
        W_new = W + alpha_new / A_new.shape[0] * (B_new @ A_new)
    return W_new


change(_one_after_the_other, "either_or",
       "elif: where both are given, the old adapter is taken out and the new one is not merged in", "concept",
       ("W = W -", "return W -"), ("if A_new is not None:", "elif A_new is not None:"), ("W = W +", "return W +"))
change(_one_after_the_other, "ranks_added", "both adapters are divided by the sum of the ranks, r + s", "concept",
       before("if A is not None:", "rank = sum(len(down) for down in (A, A_new) if down is not None)"),
       ("A.shape[0]", "rank"), ("A_new.shape[0]", "rank"))
change(_plain, "product_of_differences", "the difference of the matrices instead of the products: (B_new - B)(A_new - "
       "A) where the ranks are equal", "concept",
       before("return", """
        if A is not None and A_new is not None and A.shape == A_new.shape:
            return W + (alpha_new - alpha) / len(A) * (B_new - B) @ (A_new - A)"""))
change(_plain, "without_the_weight", "the updates alone come back, without W", "concept",
       ("return W", "return torch.zeros_like(W)"))


# ------------------------------------------------------------------------------------------------------- wrong: shape


change(_one_after_the_other, "transposed_product",
       "A^T B^T instead of B A: fails, and in a square layer it is the transposed update", "shape",
       ("B @ A", "A.T @ B.T"), ("B_new @ A_new", "A_new.T @ B_new.T"))


@wrong("A^T B^T is transposed only where its shape does not fit: a square layer gets the wrong one", kind="edge")
def turned_until_it_fits(W, A, B, alpha, A_new, B_new, alpha_new):
    for sign, down, up, number in ((-1, A, B, alpha), (1, A_new, B_new, alpha_new)):
        if down is not None:
            product = down.T @ up.T
            W = W + sign * number / down.shape[0] * (product if product.shape == W.shape else product.T)
    return W


@wrong("the result is transposed, [D_in, D_out]", kind="shape")
def turned_result(W, A, B, alpha, A_new, B_new, alpha_new):
    return (W - _update(A, B, alpha) + _update(A_new, B_new, alpha_new)).T


@wrong("axes of size 1 are squeezed away from the result", kind="shape")
def squeezed(W, A, B, alpha, A_new, B_new, alpha_new):
    return (W - _update(A, B, alpha) + _update(A_new, B_new, alpha_new)).squeeze()


change(_one_after_the_other, "reshaped",
       "B is read as [r, D_out] by reshape and transposed: its numbers are in the wrong places", "shape",
       ("B @ A", "B.reshape(A.shape[0], -1).T @ A"),
       ("W = W + alpha_new / A_new.shape[0] * (B_new @ A_new)",
        "W = W + alpha_new / A_new.shape[0] * (B_new.reshape(A_new.shape[0], -1).T @ A_new)"))
change(_one_after_the_other, "rank_one_squeezed",
       "the matrices are squeezed before the product: an adapter of rank 1 fails or becomes one number", "edge",
       ("B @ A", "B.squeeze() @ A.squeeze()"), ("B_new @ A_new", "B_new.squeeze() @ A_new.squeeze()"))
change(_one_after_the_other, "one_row_for_all",
       "the update is a row of numbers for all outputs: B is summed over its outputs before the product", "shape",
       ("B @ A", "B.sum(0) @ A"),
       ("W = W + alpha_new / A_new.shape[0] * (B_new @ A_new)",
        "W = W + alpha_new / A_new.shape[0] * (B_new.sum(0) @ A_new)"))


# ------------------------------------------------------------------------------------------------------ wrong: layout


change(signs, "by_view", "A.view(-1) fails for an A that is no contiguous block", "layout",
       ("up, factor", "up, number"), before("W =", "rank = down.shape[0]"),
       ("factor / down.shape[0] * (up @ down)", "number / rank * (up @ down.view(-1).view(rank, -1))"))
change(_plain, "by_strides", "as_strided reads W as one contiguous block, whatever its layout is", "layout",
       before("return", """
        D_out, D_in = W.shape
        W = torch.as_strided(W, (D_out, D_in), (D_in, 1))"""))


# -------------------------------------------------------------------------------------------------------- wrong: edge


@wrong("without an old adapter W comes back at once, and the new one is not merged in", kind="edge")
def early_without_old(W, A, B, alpha, A_new, B_new, alpha_new):
    if A is None or B is None:
        return W
    return W - _update(A, B, alpha) + _update(A_new, B_new, alpha_new)


change(_plain, "early_without_new", "without a new adapter W comes back at once, and the old one stays in it", "edge",
       before("return", """
        if A_new is None:
            return W.clone()"""))


@wrong("None was not thought of: the ranks are read before anything is asked", kind="edge")
def never_none(W, A, B, alpha, A_new, B_new, alpha_new):
    r, s = A.shape[0], A_new.shape[0]
    return W - alpha / r * (B @ A) + alpha_new / s * (B_new @ A_new)


change(_plain, "nothing_to_do", "where all four matrices are None an exception is raised", "edge",
       before("return", """
        if A is None and A_new is None:
            raise ValueError("no adapter was given")"""))
change(_one_after_the_other, "none_for_nothing", "nothing comes back (None) where there is nothing to do", "edge",
       after("W = W - alpha / A.shape[0] * (B @ A)", """
        if A_new is None:
            return W"""),
       ("W = W +", "return W +"), ("return W", ""))
change(_one_after_the_other, "truth_of_a_tensor",
       "`if A:` asks for the truth of a tensor, which fails where it has more than one number", "edge",
       ("A is not None", "A"), ("A_new is not None", "A_new"))
change(_one_after_the_other, "asked_of_alpha", "whether an adapter is there is read from its alpha: with None for the "
       "matrices and another alpha than 0 it fails", "edge",
       ("A is not None", "alpha"), ("A_new is not None", "alpha_new"))
change(_one_after_the_other, "alpha_of_zero",
       "an alpha of 0 is taken for one that was not given: the factor becomes 1", "edge",
       ("alpha / A.shape[0]", "(alpha or len(A)) / len(A)"),
       ("alpha_new / A_new.shape[0]", "(alpha_new or len(A_new)) / len(A_new)"))


@wrong("where the new matrices are the old ones W comes back, though alpha and alpha_new may differ", kind="edge")
def same_adapter(W, A, B, alpha, A_new, B_new, alpha_new):
    if (
        A is not None
        and A_new is not None
        and A.shape == A_new.shape
        and torch.equal(A, A_new)
        and torch.equal(B, B_new)
    ):
        return W
    return W - _update(A, B, alpha) + _update(A_new, B_new, alpha_new)


change(_one_after_the_other, "smaller_size",
       "the rank is the smaller of A's sizes: wrong where the rank is larger than D_in", "edge",
       ("A.shape[0]", "min(A.shape)"), ("A_new.shape[0]", "min(A_new.shape)"))


@wrong("adapters of different ranks are refused", kind="edge")
def equal_ranks_only(W, A, B, alpha, A_new, B_new, alpha_new):
    if A is not None and A_new is not None:
        assert A.shape == A_new.shape, "the adapters differ in rank"
    return W - _update(A, B, alpha) + _update(A_new, B_new, alpha_new)


change(_one_after_the_other, "sixteen_ranks", "no more than 16 ranks of an adapter are used", "edge",
       ("A.shape[0] * (B @ A)", "len(A) * (B[:, :16] @ A[:16])"),
       ("A_new.shape[0] * (B_new @ A_new)", "len(A_new) * (B_new[:, :16] @ A_new[:16])"))


# ----------------------------------------------------------------------------------------------------- wrong: process


@wrong("W.detach() is no copy: W is overwritten", kind="process")
def detached_is_no_copy(W, A, B, alpha, A_new, B_new, alpha_new):
    result = W.detach()
    if A is not None:
        result -= alpha / A.shape[0] * (B @ A)
    if A_new is not None:
        result += alpha_new / A_new.shape[0] * (B_new @ A_new)
    return result


change(_one_after_the_other, "overwritten_without_old",
       "W is overwritten only where the layer has no adapter yet", "process",
       ("W = W + alpha_new / A_new.shape[0] * (B_new @ A_new)",
        "W.data.add_(B_new @ A_new, alpha=alpha_new / A_new.shape[0])"))


@wrong("the factors are multiplied into B and B_new in place", kind="process")
def factor_in_place(W, A, B, alpha, A_new, B_new, alpha_new):
    with torch.no_grad():
        if A is not None:
            W = W - B.mul_(alpha / A.shape[0]) @ A
        if A_new is not None:
            W = W + B_new.mul_(alpha_new / A_new.shape[0]) @ A_new
    return W


@wrong(
    "W is overwritten and put back afterwards by the opposite steps, which leaves rounding errors in it", kind="process"
)
def put_back(W, A, B, alpha, A_new, B_new, alpha_new):
    change = _update(A_new, B_new, alpha_new) - _update(A, B, alpha)
    with torch.no_grad():
        W.add_(change)
        result = W.clone()
        W.sub_(change)
    return result


_bases = {}


change(_plain, "base_remembered", "the weight without adapters is remembered for each shape from the first call on, "
       "and later W are ignored", "process",
       before("return", """
        if W.shape not in _bases:
            _bases[W.shape] = (W - _update(A, B, alpha)).detach()"""),
       ("W - _update(A, B, alpha)", "_bases[W.shape].to(W)"))


# ---------------------------------------------------------------------------------------------------- wrong: numerics


change(_one_after_the_other, "whole_quotients", "alpha // r: the quotients lose their fractions", "numerics",
       ("/ A.shape[0]", "// A.shape[0]"), ("/ A_new.shape[0]", "// A_new.shape[0]"))


@right("computed in float32 and converted back: float64 loses digits, and numbers beyond float32 become infinite")
def through_float32(W, A, B, alpha, A_new, B_new, alpha_new):
    result = W.float()
    if A is not None:
        result = result - alpha / A.shape[0] * (B.float() @ A.float())
    if A_new is not None:
        result = result + alpha_new / A_new.shape[0] * (B_new.float() @ A_new.float())
    return result.to(W.dtype)


@right("the quotients alpha/r are float32 tensors: float64 results lose digits")
def quotients_in_float32(W, A, B, alpha, A_new, B_new, alpha_new):
    if A is not None:
        W = W - torch.tensor(alpha / A.shape[0], dtype=torch.float32).to(W) * (B @ A)
    if A_new is not None:
        W = W + torch.tensor(alpha_new / A_new.shape[0], dtype=torch.float32).to(W) * (B_new @ A_new)
    return W


@wrong("the result is rounded to 4 decimals, to hide rounding errors", kind="numerics")
def rounded(W, A, B, alpha, A_new, B_new, alpha_new):
    return torch.round(W - _update(A, B, alpha) + _update(A_new, B_new, alpha_new), decimals=4)


change(signs, "largest_out_and_in",
       "B is divided by its largest number and multiplied by it again: 0/0 where B holds zeros", "numerics",
       ("up, factor", "up, number"), before("W =", "largest = up.abs().max()"),
       ("factor / down.shape[0] * (up @ down)", "number / down.shape[0] * largest * ((up / largest) @ down)"))
change(_one_after_the_other, "small_cut_off", "numbers of the updates below 10^-5 are cut off to 0", "numerics",
       ("alpha / A.shape[0] * (B @ A)", "F.hardshrink(_update(A, B, alpha), 1e-5)"),
       ("alpha_new / A_new.shape[0] * (B_new @ A_new)", "F.hardshrink(_update(A_new, B_new, alpha_new), 1e-5)"))


# --------------------------------------------------------------------------------------------------- wrong: interface


@wrong(
    "the change begins with torch.zeros of the default type and device: bfloat16 gives float32, other devices fail",
    kind="interface",
)
def zeros_without_type(W, A, B, alpha, A_new, B_new, alpha_new):
    change = torch.zeros(W.shape)
    if A is not None:
        change = change - alpha / A.shape[0] * (B @ A)
    if A_new is not None:
        change = change + alpha_new / A_new.shape[0] * (B_new @ A_new)
    return W + change


change(_plain, "as_numpy", "a numpy array comes back, and bfloat16 fails", "interface",
       before("return",
              "W, A, B, A_new, B_new = (None if M is None else M.detach().cpu().numpy() for M in (W, A, B, A_new, B_new))"))
change(_plain, "alphas_last", "the arguments stand in another order, alpha and alpha_new last", "interface",
       ("alpha, A_new, B_new", "A_new, B_new, alpha"))
change(_plain, "up_before_down", "B and B_new stand before A and A_new, as in the product", "interface",
       ("A, B, alpha, A_new, B_new", "B, A, alpha, B_new, A_new"))
change(_plain, "floats_only", "whole numbers are refused for alpha and alpha_new", "interface",
       before("return", """
        if not isinstance(alpha, float) or not isinstance(alpha_new, float):
            raise TypeError("alpha must be a float")"""))


@wrong("the new weight and the weight without any adapter come back as a pair", kind="interface")
def pair(W, A, B, alpha, A_new, B_new, alpha_new):
    base = W - _update(A, B, alpha)
    return base + _update(A_new, B_new, alpha_new), base
