"""Mistakes of attention between projection and result, wherever queries meet keys and values; and forbidden functions."""

import math

# parts of the names of torch functions, and of their kernels, that do all of it
FUSED = ("scaled_dot_product", "multi_head_attention", "flash_attention", "efficient_attention", "flex_attention")
SMALL = {"B_1": 3, "B_2": 2}  # two batch axes of any size would make large self-checks


def attend(Q, K, V, divisor=None, dim=-1):
    """Attention whose scale and softmax axis may be wrong, for mistakes."""
    E = Q @ K.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor)
    A = E.softmax(dim=dim)
    return A @ V, A


# K and V are the data X, or made from them.


def not_scaled(Q, K, V):
    """The scores are not divided by √D_Q. The standard deviation of a dot product of D_Q independent terms grows like √D_Q, so
    with wide vectors the softmax would saturate."""
    return attend(Q, K, V, divisor=1)


def divided_by_root_of_queries(Q, K, V):
    """The scores are divided by √N_Q, the number of queries. The scale belongs to the width of the vectors in the dot
    product, D_Q: Q.shape[-1]."""
    return attend(Q, K, V, divisor=math.sqrt(Q.shape[-2]))


def divided_by_root_of_axis_one(Q, K, V):
    """The scale is read from shape[1]. For one sequence that is the width, but with a batch axis in front shape[1] is a number
    of vectors. The width is always the last axis: shape[-1]."""
    return attend(Q, K, V, divisor=math.sqrt(Q.shape[1]))


def scaled_after_softmax(Q, K, V):
    """The division by √D_Q comes after the softmax, so the weights no longer sum to 1. Scale the scores, then take the
    softmax."""
    A = (Q @ K.mT).softmax(dim=-1) / math.sqrt(Q.shape[-1])
    return A @ V, A


def softmax_over_queries(Q, K, V):
    """Your weights sum to 1 over the queries: softmax ran over dim=-2. Each query needs its own distribution over the N_X
    data vectors, so softmax runs over the last dimension of E [N_Q, N_X]."""
    return attend(Q, K, V, dim=-2)


def softmax_over_axis_one(Q, K, V):
    """softmax(dim=1) is right for one sequence, E [N_Q, N_X]. With a batch axis in front, however, axis 1 no longer belongs to
    the data vectors, which are always the last axis: dim=-1."""
    return attend(Q, K, V, dim=1)


def softmax_over_axis_zero(Q, K, V):
    """softmax(dim=0) runs over the queries, or, with a batch axis in front, over the batch, so that unrelated sequences
    compete. Each query needs its own distribution over the N_X data vectors: dim=-1."""
    return attend(Q, K, V, dim=0)


def weights_transposed(Q, K, V):
    """A comes as [N_X, N_Q]. Row i belongs to query i, and column j to data vector j: A is [N_Q, N_X]."""
    Y, A = attend(Q, K, V)
    return Y, A.mT


def not_transposed(Q, K, V):
    """Q @ K (or Q @ X) needs a transpose: the product sums over the features, so Q [N_Q, D_Q] is multiplied by a matrix
    [D_Q, N_X]. For a batch the transpose is .mT, or .transpose(-2, -1)."""
    A = (Q @ K / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return A @ V, A


def first_two_axes_swapped(Q, K, V):
    """transpose(0, 1) swaps the first two axes. That is right for one sequence, but with a batch axis in front it moves the
    batch. Swap the last two axes: .mT, or .transpose(-2, -1)."""
    A = (Q @ K.transpose(0, 1) / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return A @ V, A


def reshaped_instead_of_transposed(Q, K, V):
    """A reshape (or view) to [D_Q, N_X] is not a transpose: it keeps the numbers in their order and only cuts them into rows
    of another length. Swap the last two axes: .mT, or .transpose(-2, -1)."""
    A = (Q @ K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2]) / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return A @ V, A


def results_swapped(Q, K, V):
    """The two results are swapped: return the outputs Y first, then the weights A."""
    Y, A = attend(Q, K, V)
    return A, Y


MECHANICS = (
    not_scaled,
    divided_by_root_of_queries,
    divided_by_root_of_axis_one,
    scaled_after_softmax,
    softmax_over_queries,
    softmax_over_axis_one,
    softmax_over_axis_zero,
    weights_transposed,
    not_transposed,
    first_two_axes_swapped,
    reshaped_instead_of_transposed,
    results_swapped,
)


def declare_mechanics(exercise, projected, leave_out=(), words=()):
    """Registers the mistakes of MECHANICS, but for some.

    Args:
        projected: turns an exercise's own arguments into Q, K and V.
        words: pairs of texts; in every sentence the first is replaced by the second.
    """
    for mistake in MECHANICS:
        if mistake in leave_out:
            continue

        def misconception(*arguments, mistake=mistake):
            return mistake(*projected(*arguments))

        sentence = mistake.__doc__ or ""
        for general, own in words:
            sentence = sentence.replace(general, own)
        misconception.__name__, misconception.__doc__ = mistake.__name__, sentence
        exercise.misconception(misconception)
