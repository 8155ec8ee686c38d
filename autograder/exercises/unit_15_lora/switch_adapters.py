"""Exercise: one merged adapter taken out of a layer's weight, and another merged in."""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise

BOTH, ALONE = "one adapter for another", "an adapter in or out"
NO_OLD = {"A": None, "B": None, "alpha": 3.0}
NO_NEW = {"A_new": None, "B_new": None, "alpha_new": 3.0}


def _same_matrices(inputs, rng):
    inputs["A_new"][:], inputs["B_new"][:] = inputs["A"], inputs["B"]


def _untrained(inputs, rng):
    """An adapter that has learned nothing yet."""
    inputs["B_new"][:] = 0


def _far_larger_than_what_remains(inputs, rng):
    """W holds an adapter whose numbers are far larger than its own: in single precision, little of them would be left."""
    A, B = (inputs[name].astype("float64") * 1e2 for name in "AB")
    W = inputs["W"] + inputs["alpha"] / len(A) * B @ A
    inputs.update(W=W, A=A, B=B)


def _switch(text, alpha=9.5, alpha_new=4.5, edge=False, edit=None, precision="", **sizes):
    values = {"alpha": alpha, "alpha_new": alpha_new}
    return Case(text, values=values, sizes=sizes, part=BOTH, edge=edge, edit=edit, precision=precision)


def _first(text, alpha_new=6.5, edge=False, **sizes):
    return Case(text, values={**NO_OLD, "alpha_new": alpha_new}, sizes=sizes, part=ALONE, edge=edge)


def _last(text, alpha=6.5, edge=False, **sizes):
    return Case(text, values={**NO_NEW, "alpha": alpha}, sizes=sizes, part=ALONE, edge=edge)


@exercise(
    points={BOTH: 1, ALONE: 1},
    section="Merging an adapter",
    source="Hu et al. 2022, section 4.1",
    outputs="W_new",
    formula="W_new = W − alpha/r B A + alpha_new/s B_new A_new with W, W_new [D_out, D_in], A [r, D_in], B [D_out, r],"
    " A_new [s, D_in], B_new [D_out, s]; the second term is left out where A and B are None, the third where A_new and"
    " B_new are None",
    differentiable=False,  # merging comes after training, mostly under torch.no_grad()
    cases=[
        _switch("one adapter for another"),
        _switch("two adapters of a square layer", alpha=5.5, D_in="D_out"),
        _switch("a larger rank, the same alpha", alpha=8.5, alpha_new=8.5, r=2, s=11),
        _first("a first adapter, where A and B are None"),
        _first("a square layer's first adapter, where A and B are None", alpha_new=11.5, D_in="D_out"),
        _last("no new adapter, A_new and B_new are None"),
        _last("no new adapter of a square layer, A_new and B_new are None", alpha=10.5, D_in="D_out"),
        Case("no adapter before and none after", values={**NO_OLD, **NO_NEW}, part=ALONE),
        _switch("two adapters of one rank", alpha=2.5, alpha_new=7.5, s="r", edge=True),
        _switch("two adapters of rank 1", r=1, s="r", edge=True),
        _switch("ranks beyond the layer's width", D_in=4, D_out=3, r=9, s=7, edge=True),
        _switch("alphas that are whole numbers", alpha=16, alpha_new=8, r=3, s=5, edge=True),
        _switch("large ranks", r=37, s=70, edge=True),
        _switch("alphas of 0", alpha=0.0, alpha_new=0.0, edge=True),
        _switch("the same adapter with another alpha", s="r", edit=_same_matrices, edge=True),
        _switch("a new adapter whose B is 0", edit=_untrained, edge=True),
        _switch(
            "an adapter far larger than W, float64",
            alpha=7.3,
            r=3,
            edit=_far_larger_than_what_remains,
            precision="float64",
            edge=True,
        ),
        _last("a layer with one output", D_out=1, r=2, D_in=5, edge=True),
    ],
)
def switch_adapters(
    W: Float[Tensor, "D_out D_in"],
    A: Float[Tensor, "r D_in"] | None,
    B: Float[Tensor, "D_out r"] | None,
    alpha: float,
    A_new: Float[Tensor, "s D_in"] | None,
    B_new: Float[Tensor, "D_out s"] | None,
    alpha_new: float,
) -> Float[Tensor, "D_out D_in"]:
    W_new = W.clone()
    if A is not None:
        W_new = W_new - alpha / A.shape[0] * (B @ A)
    if A_new is not None:
        W_new = W_new + alpha_new / A_new.shape[0] * (B_new @ A_new)
    return W_new


def _own_rank(alpha, A, B):
    return alpha / len(A)


def _declare(name, sentence, signs=(-1, 1), scale=_own_rank, product=lambda A, B: B @ A):
    """The signs of what is taken out and put in, the factor of each, or their product may be wrong."""

    def made(W, A, B, alpha, A_new, B_new, alpha_new):
        W = W.clone()
        for sign, factors, size in zip(signs, ((A, B), (A_new, B_new)), (alpha, alpha_new)):
            if factors[0] is not None:
                W = W + sign * scale(size, *factors) * product(*factors)
        return W

    made.__name__, made.__doc__ = name, sentence
    switch_adapters.misconception(made)


_declare(
    "old_left_in",
    "The new adapter was merged in, but the old one is still in W, so that the layer now has both. Take the old one out first:"
    " subtract alpha/r B A.",
    signs=(0, 1),
)
_declare(
    "old_merged_again",
    "The old adapter was added, so that W now holds it twice. It is merged in W already: subtract alpha/r B A to take it out.",
    signs=(1, 1),
)
_declare(
    "new_left_out",
    "The old adapter was taken out, but the new one was not merged in: what is left are the weights before any adapter. Add"
    " alpha_new/s B_new A_new.",
    signs=(-1, 0),
)
_declare(
    "exchanged",
    "The signs are exchanged: the old adapter, which W holds already, was added, and the new one, which it does not hold, was"
    " subtracted.",
    signs=(1, -1),
)
_declare(
    "not_divided_by_the_rank",
    "Each adapter is multiplied by its alpha, but not divided by its rank. LoRA scales an update by alpha/r.",
    scale=lambda alpha, A, B: alpha,
)
_declare(
    "not_scaled",
    "The product of B and A was taken as it is. LoRA scales an update by alpha/r, and so does whoever merges it.",
    scale=lambda alpha, A, B: 1.0,
)
_declare(
    "divided_by_the_root",
    "Each adapter is divided by the square root of its rank. That is a variant of LoRA, rsLoRA; LoRA itself scales by alpha/r.",
    scale=lambda alpha, A, B: alpha / len(A) ** 0.5,
)
_declare(
    "divided_by_the_input_width",
    "The updates are divided by D_in, the length of A's rows. The rank is the number of its rows: A is [r, D_in].",
    scale=lambda alpha, A, B: alpha / A.shape[1],
)
_declare(
    "divided_by_the_output_width",
    "The updates are divided by D_out, the number of B's rows. The rank is the number of its columns: B is [D_out, r].",
    scale=lambda alpha, A, B: alpha / len(B),
)
_declare(
    "factor_in_both_matrices",
    "alpha/r multiplies A and B, and so counts squared in their product. Multiply one of them by it, or the product.",
    scale=lambda alpha, A, B: (alpha / len(A)) ** 2,
)
_declare(
    "reshaped",
    "The numbers of B are at other places: is it reshaped, to [r, D_out], where it should be transposed, or left as it is?"
    " reshape keeps the order of the numbers in memory and mixes up rows and columns.",
    product=lambda A, B: B.reshape(len(A), -1).mT @ A,
)
_declare(
    "transposed",
    "The updates have the shape [D_in, D_out], as AᵀBᵀ has. W is [D_out, D_in], as in nn.Linear, and so is B A: nothing is"
    " to be transposed. In a square layer only the numbers show it.",
    product=lambda A, B: (B @ A).mT,
)


_declare(
    "divided_without_a_fraction",
    "alpha/r is rounded down to a whole number. / keeps the fraction; // and int(…) cut it off.",
    scale=lambda alpha, A, B: alpha // len(A),
)
_declare(
    "alpha_without_its_fraction",
    "alpha lost its fraction, as in int(alpha). It is any number, also one such as 2.5.",
    scale=lambda alpha, A, B: int(alpha) / len(A),
)


@switch_adapters.misconception
def one_rank_for_both(W, A, B, alpha, A_new, B_new, alpha_new):
    """Both adapters were divided by the rank of the old one. The ranks may differ, and each adapter was trained with its own:
    divide alpha_new by s, the number of A_new's rows."""
    if A is not None and A_new is not None:
        alpha_new = alpha_new / len(A) * len(A_new)
    return switch_adapters.reference(W, A, B, alpha, A_new, B_new, alpha_new)


@switch_adapters.misconception
def divided_by_both_ranks(W, A, B, alpha, A_new, B_new, alpha_new):
    """Both adapters were divided by the sum of the two ranks. Each has a rank of its own, with which it was trained: alpha/r and
    alpha_new/s."""
    r, s = (0 if one is None else len(one) for one in (A, A_new))
    return switch_adapters.reference(W, A, B, alpha * r / max(r + s, 1), A_new, B_new, alpha_new * s / max(r + s, 1))


@switch_adapters.misconception
def new_divided_by_the_output_width(W, A, B, alpha, A_new, B_new, alpha_new):
    """The new adapter was divided by D_out, the number of B_new's rows. Its rank is the number of B_new's columns."""
    factor = 1 if A_new is None else len(A_new) / len(B_new)
    return switch_adapters.reference(W, A, B, alpha, A_new, B_new, alpha_new * factor)


@switch_adapters.misconception
def product_of_differences(W, A, B, alpha, A_new, B_new, alpha_new):
    """Where the ranks are equal, the difference of the two adapters was made matrix by matrix, (B_new − B)(A_new − A). A
    difference of products is no product of differences: make B A and B_new A_new, each with its factor, and subtract."""
    if A is None or A_new is None or A.shape != A_new.shape:
        return switch_adapters.reference(W, A, B, alpha, A_new, B_new, alpha_new)
    return W + (alpha_new - alpha) / len(A) * (B_new - B) @ (A_new - A)


@switch_adapters.misconception
def new_not_divided(W, A, B, alpha, A_new, B_new, alpha_new):
    """The new adapter is not divided by its rank. LoRA scales an update by alpha/r, with the alpha and the rank of its own."""
    return switch_adapters.reference(W, A, B, alpha, A_new, B_new, alpha_new * (1 if A_new is None else len(A_new)))


@switch_adapters.misconception
def new_rank_for_both(W, A, B, alpha, A_new, B_new, alpha_new):
    """Both adapters were divided by the rank of the new one. Of the old one this takes out more or less than was merged in:
    divide alpha by r, the number of A's rows."""
    if A is not None and A_new is not None:
        alpha = alpha / len(A_new) * len(A)
    return switch_adapters.reference(W, A, B, alpha, A_new, B_new, alpha_new)


@switch_adapters.misconception
def one_alpha_for_both(W, A, B, alpha, A_new, B_new, alpha_new):
    """alpha is used for both adapters. The new one has a factor of its own, alpha_new."""
    return switch_adapters.reference(W, A, B, alpha, A_new, B_new, alpha)


@switch_adapters.misconception
def nothing_without_an_old_one(W, A, B, alpha, A_new, B_new, alpha_new):
    """Where there is no adapter to take out, W comes back as it is. Then there is nothing to subtract, but the new adapter is
    still to be merged in: ask about each of the two by itself."""
    if A is None:
        return W.clone()
    return switch_adapters.reference(W, A, B, alpha, A_new, B_new, alpha_new)


@switch_adapters.misconception
def nothing_without_a_new_one(W, A, B, alpha, A_new, B_new, alpha_new):
    """Where there is no new adapter, W comes back as it is, with the old one still in it. Then there is nothing to add, but the
    old one is still to be taken out: ask about each of the two by itself."""
    if A_new is None:
        return W.clone()
    return switch_adapters.reference(W, A, B, alpha, A_new, B_new, alpha_new)


@switch_adapters.misconception
def nothing_unless_there_are_two(W, A, B, alpha, A_new, B_new, alpha_new):
    """Where one of the two adapters is None, W comes back as it is. The other one is still to be taken out or merged in: ask
    about each of the two by itself."""
    if A is None or A_new is None:
        return W.clone()
    return switch_adapters.reference(W, A, B, alpha, A_new, B_new, alpha_new)


@switch_adapters.alternative
def as_a_student(W, A, B, alpha, A_new, B_new, alpha_new):
    W = W.clone()
    if A is not None:
        r = A.shape[0]
        W -= (alpha / r) * (B @ A)
    if A_new is not None:
        s = A_new.shape[0]
        W += (alpha_new / s) * (B_new @ A_new)
    return W


@switch_adapters.alternative
def with_a_function(W, A, B, alpha, A_new, B_new, alpha_new):
    def update(A, B, alpha):
        return torch.zeros_like(W) if A is None else alpha * torch.einsum("or,ri->oi", B, A) / B.shape[1]

    return W + update(A_new, B_new, alpha_new) - update(A, B, alpha)


@switch_adapters.alternative
def by_addmm(W, A, B, alpha, A_new, B_new, alpha_new):
    W = W if A is None else torch.addmm(W, B, A, alpha=-alpha / len(A))
    return W if A_new is None else torch.addmm(W, B_new, A_new, alpha=alpha_new / len(A_new))


@switch_adapters.alternative
def rank_by_rank(W, A, B, alpha, A_new, B_new, alpha_new):
    for left, right, scale in ((B, A, -alpha), (B_new, A_new, alpha_new)):
        if left is not None:
            for column, row in zip(left.unbind(1), right):
                W = W + scale / len(right) * torch.outer(column, row)
    return W


@switch_adapters.alternative
def one_product(W, A, B, alpha, A_new, B_new, alpha_new):
    left = [] if A is None else [B * (-alpha / len(A))]
    left += [] if A_new is None else [B_new * (alpha_new / len(A_new))]
    right = [one for one in (A, A_new) if one is not None]
    return W + torch.cat(left, dim=1) @ torch.cat(right) if left else W


@switch_adapters.alternative
def by_linear(W, A, B, alpha, A_new, B_new, alpha_new):
    if A is not None:
        W = torch.sub(W, torch.nn.functional.linear(B, A.mT), alpha=alpha / A.size(0))
    if B_new is not None:
        W = torch.add(W, B_new.matmul(A_new), alpha=alpha_new / B_new.size(-1))
    return W
