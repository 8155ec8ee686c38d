"""Answers for count_vit (assignment 13, exercise 7)."""

import functools
import math

import torch
from torch import nn

from answers import before, change, right, wrong


def _embedding(P, C, D):
    return (C * P * P + 1) * D


def _positions(size, P, D):
    return ((size // P) ** 2 + 1) * D


def _attention(D):
    return 4 * (D * D + D)


def _mlp(D, D_F):
    return D * D_F + D_F + D_F * D + D


def _norm(D):
    return 2 * D


def _block(D, D_F):
    return _attention(D) + _mlp(D, D_F) + 2 * _norm(D)


def _head(D, classes):
    return D * classes + classes


def _longs(*tensors):
    return [t.to(torch.int64) for t in tensors]


def _total(size, P, C, D, L, D_F, classes):
    """The right count."""
    size, P, C, D, L, D_F, classes = _longs(size, P, C, D, L, D_F, classes)
    way_in = _embedding(P, C, D) + D + _positions(size, P, D)
    return way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)


# -------------------- right


@right("one polynomial, ordered by powers of D")
def polynomial(size, P, C, D, L, D_F, classes):
    size, P, C, D, L, D_F, classes = (t.long() for t in (size, P, C, D, L, D_F, classes))
    N = (size // P).square()
    square = 4 * L
    linear = C * P.square() + N + 5 + classes + L * (2 * D_F + 9)
    return D * (D * square + linear) + L * D_F + classes


@right("Python's own integers, one model after another")
def by_python_integers(size, P, C, D, L, D_F, classes):
    counts = []
    for s, p, c, d, depth, f, v in zip(*(t.tolist() for t in (size, P, C, D, L, D_F, classes))):
        n = (s // p) ** 2
        block = 4 * d * (d + 1) + f * (d + 1) + d * (f + 1) + 4 * d
        counts.append(d * (c * p * p + 1) + d + d * (n + 1) + depth * block + 2 * d + v * (d + 1))
    return torch.tensor(counts, dtype=torch.int64, device=size.device)


@right("a table of all the layers (from, to, how often), where a bias is one more input")
def by_table_of_layers(size, P, C, D, L, D_F, classes):
    size, P, C, D, L, D_F, classes = _longs(size, P, C, D, L, D_F, classes)
    one = torch.ones_like(L)
    side = torch.div(size, P, rounding_mode="floor")
    layers = [(C * P * P, D, one), (D, D, 4 * L), (D, D_F, L), (D_F, D, L), (D, classes, one)]
    norms = [(one, D, 2 * L + 1)]
    count = sum((n + 1) * m * times for n, m, times in layers + norms)
    return count + (side * side + 2) * D


@right("the parts are stacked and summed over the first axis")
def by_stack(size, P, C, D, L, D_F, classes):
    size, P, C, D, L, D_F, classes = _longs(size, P, C, D, L, D_F, classes)
    parts = [
        C * P * P * D,
        D,
        D,
        (size // P) * (size // P) * D,
        D,
        L * 4 * D * D,
        L * 4 * D,
        L * D * D_F * 2,
        L * (D_F + D),
        L * 4 * D,
        2 * D,
        D * classes,
        classes,
    ]
    return torch.stack(parts).sum(0)


@right("the numbers of all tensors' shapes, multiplied and added by functools and math.prod")
def by_shapes(size, P, C, D, L, D_F, classes):
    size, P, C, D, L, D_F, classes = _longs(size, P, C, D, L, D_F, classes)
    N = (size // P) * (size // P)
    block = [(D, D), (D,)] * 4 + [(D, D_F), (D_F,), (D_F, D), (D,)] + [(D,), (D,)] * 2
    other = [(D, C, P, P), (D,), (D,), (N + 1, D), (D,), (D,), (classes, D), (classes,)]

    def numbers(shapes):
        return functools.reduce(torch.add, (math.prod(shape[1:], start=shape[0]) for shape in shapes))

    return torch.addcmul(numbers(other), L, numbers(block))


@right("tensors without memory on the meta device, whose numel() are added; blocks are multiplied by L")
def by_meta_tensors(size, P, C, D, L, D_F, classes):
    def numel(*shape):
        return torch.empty(shape, dtype=torch.int8, device="meta").numel()

    out = torch.empty_like(size, dtype=torch.int64)
    for i in range(len(size)):
        s, p, c, d, depth, f, v = (int(t[i]) for t in (size, P, C, D, L, D_F, classes))
        n = (s // p) ** 2
        attention = 4 * (numel(d, d) + numel(d))
        mlp = numel(d, f) + numel(f) + numel(f, d) + numel(d)
        outside = numel(d, c, p, p) + numel(d) + numel(d) + numel(n + 1, d) + 2 * numel(d) + numel(v, d) + numel(v)
        out[i] = outside + depth * (attention + mlp + 4 * numel(d))
    return out


@right("an einsum of integers over the terms' factors, padded with ones")
def by_products(size, P, C, D, L, D_F, classes):
    size, P, C, D, L, D_F, classes = _longs(size, P, C, D, L, D_F, classes)
    one = torch.ones_like(D)
    side = size // P
    rows = [
        [C, P, P, D],
        [side, side, D, one],
        [one * 5, D, one, one],
        [L * 4, D, D, one],
        [L * 2, D, D_F, one],
        [L * 9, D, one, one],
        [L, D_F, one, one],
        [D, classes, one, one],
        [classes, one, one, one],
    ]
    table = torch.stack([torch.stack(row) for row in rows])
    return torch.einsum("ts,ts,ts,ts->s", *table.unbind(1))


class _Running:
    """A sum that grows by layers."""

    def __init__(self, like):
        self.count = torch.zeros_like(like)

    def linear(self, n, m, times=1):
        self.count = self.count + times * (n * m + m)
        return self

    def vectors(self, how_many, width):
        self.count = self.count + how_many * width
        return self


@right("an object that keeps the running sum while layer after layer is reported to it")
def by_running_sum(size, P, C, D, L, D_F, classes):
    size, P, C, D, L, D_F, classes = _longs(size, P, C, D, L, D_F, classes)
    count = _Running(D)
    count.linear(C * P**2, D).vectors(1, D).vectors((size // P) ** 2, D).vectors(1, D)
    count.linear(D, D, 4 * L).linear(D, D_F, L).linear(D_F, D, L).vectors(4 * L, D)
    return count.vectors(2, D).linear(D, classes).count


@right("L blocks by repeated doubling, over the binary digits of L")
def by_doubling(size, P, C, D, L, D_F, classes):
    size, P, C, D, L, D_F, classes = _longs(size, P, C, D, L, D_F, classes)
    count = _embedding(P, C, D) + D + _positions(size, P, D) + _norm(D) + _head(D, classes)
    power, left = _block(D, D_F), L
    for _ in range(64):
        count = count + torch.where(left % 2 == 1, power, torch.zeros_like(power))
        power, left = power * 2, left // 2
    return count


@right("three functions: way in, block and way out, all arguments stacked into one table first")
def by_unbinding_a_table(size, P, C, D, L, D_F, classes):
    table = torch.stack([t.long() for t in (size, P, C, D, L, D_F, classes)], dim=-1)
    size, P, C, D, L, D_F, classes = table.unbind(-1)
    N = (size - size % P).div(P, rounding_mode="trunc").pow(2)
    way_in = D * (C * P.pow(2) + N + 3)
    block = 4 * D.pow(2) + 2 * D * D_F + D_F + 9 * D
    way_out = 2 * D + (D + 1) * classes
    return way_in + L * block + way_out


@right("vmap of a function for a single model")
def by_vmap(size, P, C, D, L, D_F, classes):
    def single(s, p, c, d, depth, f, v):
        side = s // p
        return d * (c * p * p + side * side + 5) + depth * (4 * d * d + 2 * d * f + f + 9 * d) + d * v + v

    return torch.vmap(single)(*_longs(size, P, C, D, L, D_F, classes))


# -------------------- wrong: something not counted


def _without(part, *arguments):
    return _total(*arguments) - part


# Right, and not registered: answers below are changes of it.
def _plain(size, P, C, D, L, D_F, classes):
    return _total(size, P, C, D, L, D_F, classes)


change(_plain, "no_class_token", "the class token is not counted (its position is)", "concept",
       ("_total(size, P, C, D, L, D_F, classes)", "_without(D, size, P, C, D, L, D_F, classes)"))


# Right, and not registered: answers below are changes of it.
def _in_parts(size, P, C, D, L, D_F, classes):
    return _embedding(P, C, D) + D + _positions(size, P, D) + L * _block(D, D_F) + _norm(D) + _head(D, classes)


change(_in_parts, "no_position_for_class_token",
       "the table of positions has no row for the class token: N·D instead of (N + 1)·D", "concept",
       before("return", "positions = (size // P) ** 2 * D"), ("_positions(size, P, D)", "positions"))
change(_in_parts, "no_positions", "the table of positions is not counted at all", "concept",
       ("_positions(size, P, D) + L", "L"))


@wrong("the bias of the patch embedding is not counted", kind="concept")
def embedding_without_bias(size, P, C, D, L, D_F, classes):
    way_in = C * P * P * D + D + _positions(size, P, D)
    return way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)


@wrong("the kernels of the patch embedding have one channel: C is left out", kind="concept")
def embedding_without_channels(size, P, C, D, L, D_F, classes):
    way_in = P * P * D + D + D + _positions(size, P, D)
    return way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)


@wrong("a kernel of the patch embedding has C·P numbers instead of C·P·P", kind="concept")
def kernel_in_one_direction(size, P, C, D, L, D_F, classes):
    way_in = C * P * D + D + D + _positions(size, P, D)
    return way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)


@wrong("each patch has an embedding of its own: the embedding is counted N times", kind="concept")
def embedding_for_each_patch(size, P, C, D, L, D_F, classes):
    way_in = (size // P) ** 2 * _embedding(P, C, D) + D + _positions(size, P, D)
    return way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)


change(_in_parts, "three_projections", "the output projection of the attention is not counted", "concept",
       before("return", "block = 3 * (D * D + D) + _mlp(D, D_F) + 2 * _norm(D)"), ("_block(D, D_F)", "block"))
change(_in_parts, "attention_without_biases", "the four projections of the attention have no biases", "concept",
       before("return", "block = 4 * D * D + _mlp(D, D_F) + 2 * _norm(D)"), ("_block(D, D_F)", "block"))


@wrong("only three of the attention's projections have a bias: that of the output is missing", kind="concept")
def output_projection_without_bias(size, P, C, D, L, D_F, classes):
    return _without(L * D, size, P, C, D, L, D_F, classes)


change(_in_parts, "first_mlp_bias_missing",
       "the bias of the MLP's first layer, D_F numbers in each block, is not counted", "concept",
       before("return", "block = _attention(D) + 2 * D * D_F + D + 2 * _norm(D)"), ("_block(D, D_F)", "block"))
change(_in_parts, "both_mlp_biases_wide",
       "the bias of the MLP's second layer is counted with D_F numbers instead of D", "concept",
       before("return", "block = _attention(D) + 2 * D * D_F + 2 * D_F + 2 * _norm(D)"), ("_block(D, D_F)", "block"))
change(_in_parts, "one_mlp_matrix", "the MLP has only one matrix: D·D_F is counted once, with both biases", "concept",
       before("return", "block = _attention(D) + D * D_F + D_F + D + 2 * _norm(D)"), ("_block(D, D_F)", "block"))
change(_plain, "gated_mlp", "the MLP is gated: it has three matrices", "concept",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, L, D_F, classes) + L * D * D_F"))
change(_in_parts, "one_norm_in_a_block", "a block has one LayerNorm instead of two", "concept",
       before("return", "block = _attention(D) + _mlp(D, D_F) + _norm(D)"), ("_block(D, D_F)", "block"))
change(_plain, "norms_without_bias", "LayerNorms have a weight but no bias, in the blocks and after them", "concept",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, L, D_F, classes) - (2 * L + 1) * D"))
change(_in_parts, "norms_of_two_numbers", "a LayerNorm is counted as two numbers, not two for each feature", "concept",
       before("return", "block = _attention(D) + _mlp(D, D_F) + 4"), ("L * _block(D, D_F) + _norm(D)", "L * block + 2"))
change(_in_parts, "no_final_norm", "the LayerNorm after the last block is not counted", "concept",
       ("_norm(D) + _head", "_head"))


@wrong("the final LayerNorm is counted in every block", kind="concept")
def final_norm_in_each_block(size, P, C, D, L, D_F, classes):
    way_in = _embedding(P, C, D) + D + _positions(size, P, D)
    return way_in + L * (_block(D, D_F) + _norm(D)) + _head(D, classes)


@wrong("the head has no bias", kind="concept")
def head_without_bias(size, P, C, D, L, D_F, classes):
    way_in = _embedding(P, C, D) + D + _positions(size, P, D)
    return way_in + L * _block(D, D_F) + _norm(D) + D * classes


change(head_without_bias, "head_reads_all_tokens", "the head reads all N + 1 tokens side by side", "concept",
       ("D * classes", "((size // P) ** 2 + 1) * D * classes + classes"))


@wrong("N is size/P, not its square", kind="concept")
def patches_not_squared(size, P, C, D, L, D_F, classes):
    way_in = _embedding(P, C, D) + D + (size // P + 1) * D
    return way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)


change(patches_not_squared, "patches_divided_once", "N is size²/P: only one side is divided by the patch", "concept",
       ("size // P", "size * size // P"))


@wrong("the patches overlap, as with a stride of 1: N = (size − P + 1)²", kind="concept")
def overlapping_patches(size, P, C, D, L, D_F, classes):
    way_in = _embedding(P, C, D) + D + ((size - P + 1) ** 2 + 1) * D
    return way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)


@wrong("rows and columns have tables of their own: 2·size/P + 1 positions instead of N + 1", kind="concept")
def positions_by_row_and_column(size, P, C, D, L, D_F, classes):
    way_in = _embedding(P, C, D) + D + (2 * (size // P) + 1) * D
    return way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)


change(_in_parts, "positions_in_each_block", "every block has a table of positions of its own", "concept",
       ("_positions(size, P, D) + L * _block(D, D_F)", "L * (_block(D, D_F) + _positions(size, P, D))"))
change(_in_parts, "one_block", "the blocks are counted once, not L times", "concept",
       ("L * _block(D, D_F)", "_block(D, D_F)"))
change(_plain, "with_distillation_token", "a distillation token and its position are counted as well", "concept",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, L, D_F, classes) + 2 * D"))


# -------------------- wrong: two mistakes


@wrong("neither the class token nor the bias of the patch embedding is counted", kind="concept")
def no_class_token_no_embedding_bias(size, P, C, D, L, D_F, classes):
    return _without(2 * D, size, P, C, D, L, D_F, classes)


@wrong("the bias of the head and the LayerNorm after the last block are missing", kind="concept")
def no_head_bias_no_final_norm(size, P, C, D, L, D_F, classes):
    return _embedding(P, C, D) + D + _positions(size, P, D) + L * _block(D, D_F) + D * classes


@wrong("the class token's position is missing, and the attention has no biases", kind="concept")
def no_class_position_no_attention_biases(size, P, C, D, L, D_F, classes):
    block = 4 * D * D + _mlp(D, D_F) + 2 * _norm(D)
    return _embedding(P, C, D) + D + (size // P) ** 2 * D + L * block + _norm(D) + _head(D, classes)


@wrong("the output projection is missing, and N is not squared", kind="concept")
def three_projections_patches_not_squared(size, P, C, D, L, D_F, classes):
    block = 3 * (D * D + D) + _mlp(D, D_F) + 2 * _norm(D)
    return _embedding(P, C, D) + D + (size // P + 1) * D + L * block + _norm(D) + _head(D, classes)


@wrong("no bias in any linear layer or in the embedding, and only the weights of the norms", kind="concept")
def weights_alone(size, P, C, D, L, D_F, classes):
    way_in = C * P * P * D + D + _positions(size, P, D)
    return way_in + L * (4 * D * D + 2 * D * D_F + 2 * D) + D + D * classes


# -------------------- wrong: fixed sizes, special cases


change(_plain, "hidden_width_fixed", "D_F is ignored: the MLPs have the hidden width 4·D", "edge",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, L, 4 * D, classes)"))
change(_plain, "three_channels", "C is ignored: the images have three channels", "edge",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, torch.full_like(C, 3), D, L, D_F, classes)"))


@wrong("images of a single patch (size = P) have no class token and no position for it", kind="edge")
def single_patch_without_class_token(size, P, C, D, L, D_F, classes):
    return _total(size, P, C, D, L, D_F, classes) - torch.where(size == P, 2 * D, torch.zeros_like(D))


@wrong("where D_F equals D the MLP is counted as one square matrix with one bias", kind="edge")
def square_mlp_counted_once(size, P, C, D, L, D_F, classes):
    return _total(size, P, C, D, L, D_F, classes) - torch.where(D_F == D, L * (D * D + D), torch.zeros_like(D))


@wrong("a single class (classes = 1) is given no head", kind="edge")
def no_head_for_one_class(size, P, C, D, L, D_F, classes):
    return _total(size, P, C, D, L, D_F, classes) - torch.where(classes == 1, D + 1, torch.zeros_like(D))


@wrong("the embedding is left out where a patch is one pixel (P = 1)", kind="edge")
def no_embedding_for_pixels(size, P, C, D, L, D_F, classes):
    return _total(size, P, C, D, L, D_F, classes) - torch.where(P == 1, _embedding(P, C, D), torch.zeros_like(D))


change(_plain, "one_block_less", "where L is over 1 only L − 1 blocks are counted", "edge",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, (L - 1).clamp_min(1), D_F, classes)"))


@wrong("torch.unique sorts the models and keeps one of equal ones: counts change places or are missing",
       kind="edge")
def equal_models_once(size, P, C, D, L, D_F, classes):
    models = torch.unique(torch.stack([size, P, C, D, L, D_F, classes]), dim=1)
    return _total(*models)


@wrong("only the first model is counted, and the rest get its number", kind="shape")
def first_model_for_all(size, P, C, D, L, D_F, classes):
    return _total(*(t[:1] for t in (size, P, C, D, L, D_F, classes))).expand_as(size)


@wrong("squeeze() makes a single number [] of the result of one model, which should be [1]", kind="layout")
def squeezed(size, P, C, D, L, D_F, classes):
    return _total(size, P, C, D, L, D_F, classes).squeeze()


change(_plain, "summed_over_models", "the counts of all models are added up to one number", "shape",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, L, D_F, classes).sum()"))
change(_plain, "as_a_column", "the result has a second axis: [S, 1]", "shape",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, L, D_F, classes)[:, None]"))


@wrong("every model's entries are combined with every other's patch size: the result is [S, S]", kind="shape")
def all_pairs(size, P, C, D, L, D_F, classes):
    return _total(size[:, None], P[:, None], C, D, L, D_F, classes)


@wrong("the models are counted in the order of their widths, sorted by D", kind="shape")
def sorted_by_width(size, P, C, D, L, D_F, classes):
    order = D.argsort(stable=True)
    return _total(*(t[order] for t in (size, P, C, D, L, D_F, classes)))


# -------------------- wrong: numbers


@wrong("computed in float64 and turned to integers at the end: counts above 2⁵³ are rounded", kind="numerics")
def in_double(size, P, C, D, L, D_F, classes):
    size, P, C, D, L, D_F, classes = (t.double() for t in (size, P, C, D, L, D_F, classes))
    N = (size / P) ** 2
    block = _attention(D) + _mlp(D, D_F) + 2 * _norm(D)
    count = _embedding(P, C, D) + D + (N + 1) * D + L * block + _norm(D) + _head(D, classes)
    return count.round().long()


@wrong("computed in float32 and rounded: counts above 2²⁴ are not exact", kind="numerics")
def in_single(size, P, C, D, L, D_F, classes):
    size, P, C, D, L, D_F, classes = (t.float() for t in (size, P, C, D, L, D_F, classes))
    N = (size / P) ** 2
    block = _attention(D) + _mlp(D, D_F) + 2 * _norm(D)
    return (_embedding(P, C, D) + D + (N + 1) * D + L * block + _norm(D) + _head(D, classes)).round().long()


@wrong("divides with /, so the positions and with them the whole count are float32", kind="numerics")
def true_division(size, P, C, D, L, D_F, classes):
    way_in = _embedding(P, C, D) + D + ((size / P) ** 2 + 1) * D
    return way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)


@wrong("divides with / and casts only the table of positions: above 2²⁴ its (N + 1)·D is rounded", kind="numerics")
def positions_in_single(size, P, C, D, L, D_F, classes):
    way_in = _embedding(P, C, D) + D + (((size / P) ** 2 + 1) * D).long()
    return way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)


@wrong("the squares D² are computed as floating-point powers in float64: above 2⁵³ they are rounded", kind="numerics")
def squares_in_double(size, P, C, D, L, D_F, classes):
    block = 4 * (torch.pow(D.double(), 2.0).long() + D) + _mlp(D, D_F) + 2 * _norm(D)
    return _embedding(P, C, D) + D + _positions(size, P, D) + L * block + _norm(D) + _head(D, classes)


@wrong("the parts are added with a floating-point sum, and counts above 2⁵³ are rounded", kind="numerics")
def summed_in_double(size, P, C, D, L, D_F, classes):
    parts = [_embedding(P, C, D), D, _positions(size, P, D), L * _block(D, D_F), _norm(D), _head(D, classes)]
    return torch.stack(parts).sum(0, dtype=torch.float64).to(torch.int64)


change(_plain, "result_in_32_bits", "the result is int32: counts above 2³¹ wrap around", "numerics",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, L, D_F, classes).int()"))


@wrong("computed in int32 and cast to int64 at the end: parts above 2³¹ wrap around", kind="numerics")
def computed_in_32_bits(size, P, C, D, L, D_F, classes):
    size, P, C, D, L, D_F, classes = (t.int() for t in (size, P, C, D, L, D_F, classes))
    way_in = _embedding(P, C, D) + D + _positions(size, P, D)
    return (way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)).long()


@wrong("only D² is computed in int32: it wraps around from D = 46,341 on", kind="numerics")
def square_in_32_bits(size, P, C, D, L, D_F, classes):
    short = D.to(torch.int32)
    block = 4 * ((short * short).long() + D) + _mlp(D, D_F) + 2 * _norm(D)
    return _embedding(P, C, D) + D + _positions(size, P, D) + L * block + _norm(D) + _head(D, classes)


@wrong("the count is formed four times too large and divided by 4 at the end: exact counts above 2⁶¹ overflow",
       kind="numerics")
def divided_at_the_end(size, P, C, D, L, D_F, classes):
    way_in = 4 * (_embedding(P, C, D) + D) + 4 * _positions(size, P, D)
    return (way_in + 4 * L * _block(D, D_F) + 4 * (_norm(D) + _head(D, classes))) // 4


change(_plain, "limited", "counts are limited to 2⁵³", "numerics",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, L, D_F, classes).clamp(max=2**53)"))
change(_plain, "result_in_double", "the result is given in float64 instead of torch.int64", "interface",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, L, D_F, classes).to(torch.float64)"))


@wrong("the count is rounded to whole thousands", kind="numerics")
def in_thousands(size, P, C, D, L, D_F, classes):
    return (_total(size, P, C, D, L, D_F, classes) + 500) // 1000 * 1000


# -------------------- wrong: layout, interface, manners


@wrong("as_strided with stride 1: arguments sliced with a step are misread, expanded ones raise an error",
       kind="layout")
def strides_assumed(size, P, C, D, L, D_F, classes):
    return _total(*(t.as_strided(t.shape, (1,)) for t in (size, P, C, D, L, D_F, classes)))


@wrong("size is divided in place: the argument is changed, and an expanded one raises an error", kind="interface")
def size_changed(size, P, C, D, L, D_F, classes):
    size //= P
    way_in = _embedding(P, C, D) + D + (size * size + 1) * D
    return way_in + L * _block(D, D_F) + _norm(D) + _head(D, classes)


@wrong("the count is added up in the tensor classes, which is changed by it", kind="interface")
def classes_changed(size, P, C, D, L, D_F, classes):
    head = D * classes
    classes += _embedding(P, C, D) + D + _positions(size, P, D) + L * _block(D, D_F) + _norm(D) + head
    return classes


_KEPT = {}


change(_in_parts, "blocks_kept", "block counts are kept between calls by the number of models alone: later models get "
       "those of earlier ones", "interface",
       before("return", "blocks = _KEPT.setdefault(len(D), L * _block(D, D_F))"), ("L * _block(D, D_F)", "blocks"))


@wrong("the result is made on the CPU, whatever the arguments' device", kind="interface")
def on_the_cpu(size, P, C, D, L, D_F, classes):
    lists = [t.tolist() for t in (size, P, C, D, L, D_F, classes)]
    return torch.tensor([int(_total(*(torch.tensor(n) for n in model))) for model in zip(*lists)])


change(_plain, "as_a_list", "returns a Python list of integers instead of a tensor", "interface",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, L, D_F, classes).tolist()"))


@wrong("int() of the arguments: more than one model raises an error, and one gives an integer instead of a tensor",
       kind="shape")
def a_single_model(size, P, C, D, L, D_F, classes):
    s, p, c, d, depth, f, v = (int(t) for t in (size, P, C, D, L, D_F, classes))
    return _embedding(p, c, d) + d + _positions(s, p, d) + depth * _block(d, f) + _norm(d) + _head(d, v)


@right("the arguments have other names (img_size, patch, ...): calls by name fail")
def other_names(img_size, patch, channels, dim, depth, mlp_dim, num_classes):
    return _total(img_size, patch, channels, dim, depth, mlp_dim, num_classes)


@wrong("D_F stands before L in the order of the arguments: calls by position exchange the two", kind="interface")
def other_order(size, P, C, D, D_F, L, classes):
    return _total(size, P, C, D, L, D_F, classes)


@wrong("the arguments can only be given by name", kind="interface")
def only_by_name(*, size, P, C, D, L, D_F, classes):
    return _total(size, P, C, D, L, D_F, classes)


change(_plain, "as_a_pair", "returns the counts together with the counts of the blocks", "interface",
       ("_total(size, P, C, D, L, D_F, classes)", "_total(size, P, C, D, L, D_F, classes), L * _block(D, D_F)"))


@wrong("returns the counts of the known example models from a table of sizes and widths, whatever their other numbers",
       kind="edge")
def known_models_by_table(size, P, C, D, L, D_F, classes):
    known = (size == 224) & (P == 16) & (D == 768)
    count = _total(size, P, C, D, L, D_F, classes)
    return torch.where(known, torch.full_like(count, 86_567_656), count)


@wrong("makes a layer of torch for the head, whose features are those of the first model alone", kind="shape")
def head_of_first_model(size, P, C, D, L, D_F, classes):
    head = nn.Linear(int(D[0]), int(classes[0]), device="meta")
    numbers = sum(p.numel() for p in head.parameters())
    return _embedding(P, C, D) + D + _positions(size, P, D) + L * _block(D, D_F) + _norm(D) + numbers
