"""Answers for rms_norm of assignment 09."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import before, change, right, wrong

# ------------------------------------------------------------------------------------------------------------- right


@right("The pseudocode, line by line")
def by_the_hint(X, weight, eps):
    m = (X**2).mean(dim=-1, keepdim=True)
    return X / torch.sqrt(m + eps) * weight


@right("rsqrt, and weight multiplied first")
def by_rsqrt(X, weight, eps):
    return (weight * X) * X.square().mean(-1, keepdim=True).add(eps).rsqrt()


@right("einsum for the sum of the squares, divided by D afterwards")
def by_einsum(X, weight, eps):
    D = X.shape[-1]
    squares = torch.einsum("...d,...d->...", X, X) / D
    return torch.einsum("...d,...,d->...d", X, (squares + eps) ** -0.5, weight)


@right("A product of a row and a column for each position gives the sum of the squares")
def by_matmul(X, weight, eps):
    total = (X.unsqueeze(-2) @ X.unsqueeze(-1)).squeeze(-1)
    return X.div((total / X.size(-1) + eps).sqrt()).mul(weight)


@right("vector_norm over the root of D, then hypot with the root of eps")
def by_vector_norm_and_hypot(X, weight, eps):
    rms = torch.linalg.vector_norm(X, dim=-1, keepdim=True) / math.sqrt(X.shape[-1])
    return X / torch.hypot(rms, torch.full_like(rms, math.sqrt(eps))) * weight


@right("One more feature, the root of D eps, is appended; the length of the longer vector has eps in it")
def by_one_more_feature(X, weight, eps):
    D = X.shape[-1]
    longer = torch.cat([X, X.new_full((*X.shape[:-1], 1), math.sqrt(D * eps))], dim=-1)
    return X * (math.sqrt(D) / longer.norm(dim=-1, keepdim=True)) * weight


@right("Scaled by the largest number before squares are taken, so that no square overflows")
def by_scaling_first(X, weight, eps):
    top = X.detach().abs().amax(-1, keepdim=True).clamp(min=1.0)
    small = X / top
    return small / (small.square().mean(-1, keepdim=True) + eps / top / top).sqrt() * weight


@right("A loop over the positions, one vector at a time, stacked again")
def by_positions(X, weight, eps):
    rows = [x / (torch.dot(x, x) / len(x) + eps).sqrt() * weight for x in X.reshape(-1, X.shape[-1])]
    return torch.stack(rows).reshape(X.shape)


@right("torch.vmap of a function of one vector over the flattened positions")
def by_vmap(X, weight, eps):
    flat = X.reshape(-1, X.shape[-1])
    return torch.vmap(lambda x: x * (x.square().mean() + eps).rsqrt() * weight)(flat).view(X.shape)


@right("The variance plus the squared mean is the mean square; torch.var_mean gives both")
def by_var_mean(X, weight, eps):
    var, mean = torch.var_mean(X, dim=-1, correction=0, keepdim=True)
    return weight * X / torch.sqrt(var + mean * mean + eps)


@right("The root by logarithm and exponential, after eps is added")
def by_logarithm(X, weight, eps):
    work = X.to(torch.promote_types(X.dtype, torch.float32))
    scale = torch.exp(-0.5 * torch.log(work.square().mean(-1, keepdim=True) + eps))
    return (work * scale).to(X.dtype) * weight


class _ByHand(torch.autograd.Function):
    @staticmethod
    def forward(ctx, X, eps):
        scale = (X.square().mean(-1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(X * scale, scale)
        return X * scale

    @staticmethod
    def backward(ctx, grad):
        normal, scale = ctx.saved_tensors
        return scale * (grad - normal * (grad * normal).mean(-1, keepdim=True)), None


@right("An autograd.Function of its own with the backward pass derived by hand")
def by_own_backward(X, weight, eps):
    return _ByHand.apply(X, eps) * weight


@right("The features come to the front, and a Python sum runs over them; bfloat16 is computed in float32")
def by_features_in_front(X, weight, eps):
    work = torch.promote_types(X.dtype, torch.float32)
    Z = X.movedim(-1, 0).to(work)
    root = (sum(z * z for z in Z) / len(Z) + eps).sqrt()
    return torch.stack([z / root * w for z, w in zip(Z, weight.to(work))], dim=-1).to(X.dtype)


# Right, and not registered: answers below are changes of it.
def _plain(X, weight, eps):
    return X / (X.square().mean(-1, keepdim=True) + eps).sqrt() * weight


# --------------------------------------------------------------------------------------------------- wrong, concept


change(_plain, "mean_subtracted", "The mean is subtracted from X first, as in layer normalisation", "concept",
       before("return", "X = X - X.mean(-1, keepdim=True)"))


@wrong("The variance (squares around the mean) stands in the denominator in place of the mean square", kind="concept")
def variance_below(X, weight, eps):
    return X / (X.var(-1, correction=0, keepdim=True) + eps).sqrt() * weight


@wrong("eps is added to the root in place of the mean square inside it", kind="concept")
def eps_added_to_the_root(X, weight, eps):
    return X / (torch.linalg.vector_norm(X, dim=-1, keepdim=True) / math.sqrt(X.shape[-1]) + eps) * weight


change(by_rsqrt, "no_eps", "eps is left out: a position of zeros gives NaN, and a large eps has no effect", "concept",
       ("(weight * X) * X", "X / X"), (".add(eps).rsqrt()", ".sqrt() * weight"))
change(_plain, "sum_of_squares", "The squares are summed, not averaged: the factor 1/D is missing", "concept",
       (".mean", ".sum"))
change(by_own_backward, "no_root", "The root is missing: divided by the mean square plus eps", "concept",
       ("_ByHand.apply(X, eps)", "X / (X.square().mean(-1, keepdim=True) + eps)"))
change(_plain, "mean_absolute", "The mean of the absolute values stands in place of the root mean square", "concept",
       ("X.square().mean(-1, keepdim=True)", "X.abs().mean(-1, keepdim=True).square()"))


@wrong("The mean of the features is squared, in place of the mean of their squares", kind="concept")
def square_of_the_mean(X, weight, eps):
    return X / (X.mean(-1, keepdim=True).square() + eps).sqrt() * weight


change(_plain, "over_the_positions", "The mean runs over the positions (axis -2) in place of the features", "concept",
       ("-1, keepdim", "-2, keepdim"))


@wrong("One root mean square for the whole tensor in place of one for each position", kind="concept")
def over_everything(X, weight, eps):
    return X / (X.square().mean() + eps).sqrt() * weight


change(_plain, "over_each_sequence",
       "The last two axes are averaged together, so that the positions of a sequence share one scale", "concept",
       before("return", "axes = (-2, -1) if X.ndim > 1 else (-1,)"), ("-1, keepdim", "axes, keepdim"))
change(_plain, "one_plus_weight", "Multiplied by 1 + weight in place of weight", "concept",
       ("* weight", "* (1 + weight)"))
change(_plain, "no_weight", "weight is not applied", "concept",
       (".sqrt() * weight", ".sqrt() * weight.new_ones(weight.shape)"))


@wrong("weight multiplies X before the root mean square is taken, and so changes it", kind="concept")
def weight_first(X, weight, eps):
    Z = X * weight
    return Z / (Z.square().mean(-1, keepdim=True) + eps).sqrt()


change(_plain, "divided_by_weight", "Divided by weight in place of multiplied by it", "concept",
       ("* weight", "/ weight"))
change(_plain, "multiplied_by_the_root", "Multiplied by the root mean square in place of divided by it", "concept",
       ("X /", "X *"))


@wrong("The mean square is taken at least eps (clamp) in place of having eps added", kind="concept")
def clamped_at_eps(X, weight, eps):
    return X / X.square().mean(-1, keepdim=True).clamp(min=eps).sqrt() * weight


@wrong("The mean is divided by D - 1 in place of D (division by 0 for D = 1)", kind="concept")
def divided_by_one_less(X, weight, eps):
    return X / (X.square().sum(-1, keepdim=True) / (X.shape[-1] - 1) + eps).sqrt() * weight


@wrong("eps is added to each of the squares' sum before the division by D, so that it counts as eps/D", kind="concept")
def eps_divided_by_D(X, weight, eps):
    return X / ((X.square().sum(-1, keepdim=True) + eps) / X.shape[-1]).sqrt() * weight


change(_plain, "maximum_norm", "The largest absolute feature stands in place of the root mean square", "concept",
       ("X.square().mean(-1, keepdim=True)", "X.abs().amax(-1, keepdim=True).square()"))


@wrong("Each position is divided by the root mean square of the position before it", kind="concept")
def scale_of_the_neighbour(X, weight, eps):
    root = (X.square().mean(-1, keepdim=True) + eps).sqrt()
    return X / (root.roll(1, -2) if X.ndim > 1 else root) * weight


# ---------------------------------------------------------------------------------------------------- two mistakes


change(_plain, "centred_and_summed",
       "The mean is subtracted, and the squares are summed in place of averaged", "concept",
       before("return", "X = X - X.mean(-1, keepdim=True)"), (".mean", ".sum"))


@wrong("eps is added to the root in place of inside it, and 1 is added to weight", kind="concept")
def eps_outside_and_one_plus_weight(X, weight, eps):
    return X / (X.norm(dim=-1, keepdim=True) / X.shape[-1] ** 0.5 + eps) * (weight + 1)


change(by_rsqrt, "residual_and_no_eps", "X is added to the result as a residual, and eps is left out", "concept",
       ("(weight * X) * X.square", "X + X / X.square"), (".add(eps).rsqrt()", ".sqrt() * weight"))


@wrong("The length is divided by D, not by its root, and eps is used as a lower bound of it", kind="concept")
def length_over_D_and_bounded(X, weight, eps):
    return X / (X.norm(dim=-1, keepdim=True) / X.shape[-1]).clamp(min=eps) * weight


# -------------------------------------------------------------------------------------------------- wrong, numerics


@right("Computed in float32 and converted back, as in Llama's code: float64 loses digits, above 3e38 it is inf")
def llama_float32(X, weight, eps):
    Z = X.to(torch.float32)
    Z = Z * torch.rsqrt(Z.pow(2).mean(-1, keepdim=True) + eps)
    return weight * Z.to(X.dtype)


change(_plain, "eps_fixed", "1e-6 stands inside the root, whatever eps is", "numerics",
       ("weight, eps", "weight, eps=1e-6"), ("+ eps", "+ 1e-6"))


@wrong("F.normalize times the root of D: its own lower bound replaces eps, which has no effect", kind="numerics")
def by_F_normalize(X, weight, eps):
    return F.normalize(X, dim=-1, eps=eps) * math.sqrt(X.shape[-1]) * weight


@wrong("The scale is rounded to bfloat16, which leaves it with three digits", kind="numerics")
def scale_in_bfloat16(X, weight, eps):
    scale = (X.square().mean(-1, keepdim=True) + eps).rsqrt().bfloat16()
    return X * scale.to(X.dtype) * weight


@wrong("X is cut to ±1000 before it is normalised, so that larger numbers count as 1000", kind="numerics")
def input_clamped(X, weight, eps):
    Z = X.clamp(-1e3, 1e3)
    return Z / (Z.square().mean(-1, keepdim=True) + eps).sqrt() * weight


@wrong("Normalised features are cut to ±3, though they reach the root of D", kind="numerics")
def result_clamped(X, weight, eps):
    return (X / (X.square().mean(-1, keepdim=True) + eps).sqrt()).clamp(-3, 3) * weight


@wrong("The result is rounded to four decimals, which also takes its gradient", kind="numerics")
def rounded(X, weight, eps):
    return torch.round(X / (X.square().mean(-1, keepdim=True) + eps).sqrt() * weight, decimals=4)


@wrong("Features smaller than 1e-6 of the largest one of their position are set to 0", kind="numerics")
def small_features_cut(X, weight, eps):
    keep = X.abs() >= 1e-6 * X.abs().amax(-1, keepdim=True)
    return (X * keep) / (X.square().mean(-1, keepdim=True) + eps).sqrt() * weight


@wrong(
    "The mean square goes through fourth powers, which overflow for float32 above 4e9 and so give 0",
    kind="numerics",
)
def by_fourth_powers(X, weight, eps):
    squares = X.square().mean(-1, keepdim=True)
    return X / (squares * squares + 2 * eps * squares + eps * eps) ** 0.25 * weight


@wrong("The mean square is the mean of those of blocks of 8 features, wrong where D is no multiple of 8", "numerics")
def mean_of_block_means(X, weight, eps):
    blocks = torch.stack([block.square().mean(-1, keepdim=True) for block in X.split(8, -1)])
    return X / (blocks.mean(0) + eps).sqrt() * weight


@wrong("All positions are divided by the largest number of the tensor first: eps then counts too much", kind="numerics")
def scaled_by_the_largest_of_all(X, weight, eps):
    Z = X / X.detach().abs().max().clamp(min=1)
    return Z / (Z.square().mean(-1, keepdim=True) + eps).sqrt() * weight


# ------------------------------------------------------------------------------------------------- wrong, gradients


@wrong("The root mean square is detached: values are right, but the gradient lacks the part through it", "gradient")
def root_detached(X, weight, eps):
    return X / (X.square().mean(-1, keepdim=True) + eps).sqrt().detach() * weight


@wrong("The whole normalisation is under no_grad, so that no gradient reaches X", kind="gradient")
def normalised_under_no_grad(X, weight, eps):
    with torch.no_grad():
        normal = X / (X.square().mean(-1, keepdim=True) + eps).sqrt()
    return normal * weight


change(_plain, "weight_detached", "weight is detached, so that no gradient reaches it", "gradient",
       (".sqrt() * weight", ".sqrt() * weight.detach()"))
change(by_own_backward, "root_squared_again", "The root of the mean square is squared again before eps is added: NaN "
       "gradient at a position of zeros", "gradient",
       before("return", "rms = X.square().mean(-1, keepdim=True).sqrt()"),
       ("_ByHand.apply(X, eps)", "X / (rms**2 + eps).sqrt()"))


@wrong("Positions of zeros are replaced by zeros with torch.where: right values, but their gradient is 0", "gradient")
def zero_rows_replaced(X, weight, eps):
    zero = (X == 0).all(-1, keepdim=True)
    return torch.where(zero, torch.zeros_like(X), X / (X.square().mean(-1, keepdim=True) + eps).sqrt() * weight)


@wrong("The scale of each position is a Python number (item()), so that gradients miss the part through it", "gradient")
def scale_by_item(X, weight, eps):
    rows = X.reshape(-1, X.shape[-1])
    scales = [1 / math.sqrt(row.square().mean().item() + eps) for row in rows]
    return torch.stack([row * scale for row, scale in zip(rows, scales)]).reshape(X.shape) * weight


@wrong("The result is rebuilt by torch.tensor from its numbers, so that no gradient reaches X or weight", "gradient")
def result_rebuilt(X, weight, eps):
    result = X / (X.square().mean(-1, keepdim=True) + eps).sqrt() * weight
    return torch.tensor(result.tolist(), dtype=X.dtype, device=X.device).requires_grad_()


# ------------------------------------------------------------------------------------- wrong, layout, shapes, edges


@wrong("view(-1, D) on X, which raises for a transposed or strided X", kind="layout")
def by_view(X, weight, eps):
    Z = X.view(-1, X.shape[-1])
    return (Z / (Z.square().mean(-1, keepdim=True) + eps).sqrt() * weight).view(X.shape)


@wrong("Axis 2 is taken for the features: an error for a vector or one sequence, wrong with more batch axes", "shape")
def axis_2(X, weight, eps):
    return X / (X.square().mean(2, keepdim=True) + eps).sqrt() * weight


@wrong("The number of features is read from axis 0, right only where it coincides with D", kind="shape")
def D_from_axis_0(X, weight, eps):
    return X / (X.square().sum(-1, keepdim=True) / X.shape[0] + eps).sqrt() * weight


@wrong("keepdim is missing, so the scales line up with the features: an error, or wrong rows where N = D", "shape")
def without_keepdim(X, weight, eps):
    return X / (X.square().mean(-1) + eps).sqrt() * weight


@wrong("The mean squares are squeezed without an axis before unsqueeze(-1), which mixes axes of size 1", kind="layout")
def scale_squeezed(X, weight, eps):
    m = X.square().mean(-1, keepdim=True).squeeze().unsqueeze(-1)
    return X / (m + eps).sqrt() * weight


@wrong("weight lies along the positions where there are as many positions as features", kind="shape")
def weight_turned_where_square(X, weight, eps):
    if X.ndim >= 2 and X.shape[-2] == len(weight):
        weight = weight.unsqueeze(-1)
    return X / (X.square().mean(-1, keepdim=True) + eps).sqrt() * weight


change(_plain, "one_feature_is_its_sign", "With D = 1 the sign of X times weight is returned, without eps", "edge",
       before("return", """
        if X.shape[-1] == 1:
            return X.sign() * weight"""))
change(input_clamped, "vector_becomes_a_row", "A single vector [D] comes back with one axis more, [1, D]", "shape",
       ("X.clamp(-1e3, 1e3)", "torch.atleast_2d(X)"))
change(_plain, "scale_of_the_first_entry",
       "Only the positions of the first batch entry set the scale, which all other entries share", "shape",
       before("return", "Z = X[:1] if X.ndim > 2 else X"), ("X.square", "Z.square"))


# ------------------------------------------------------------------------------------------------ wrong, interface


@wrong("X is normalised in place (through .data), so that the caller's tensor is changed", kind="interface")
def in_place(X, weight, eps):
    Z = X.clone()
    X.data.div_((X.data.square().mean(-1, keepdim=True) + eps).sqrt())
    return Z / (Z.square().mean(-1, keepdim=True) + eps).sqrt() * weight


@wrong("The result is collected in torch.empty without dtype, so that it is float32 for every type of X", "interface")
def empty_without_dtype(X, weight, eps):
    result = torch.empty(X.shape, device=X.device)
    result.copy_(X / (X.square().mean(-1, keepdim=True) + eps).sqrt() * weight)
    return result


@wrong("The mean is taken by a CPU tensor of ones, an error for inputs on another device", kind="interface")
def ones_on_the_cpu(X, weight, eps):
    ones = torch.ones(X.shape[-1], 1, dtype=X.dtype)
    return X / (X.square() @ ones / X.shape[-1] + eps).sqrt() * weight


@wrong("bfloat16 comes back as float32: it is converted for the computation and not converted back", "interface")
def bfloat16_not_back(X, weight, eps):
    if X.dtype == torch.bfloat16:
        X, weight = X.float(), weight.float()
    return X / (X.square().mean(-1, keepdim=True) + eps).sqrt() * weight


@right("The arguments are named x and g, so that X= and weight= are an error")
def other_names(x, g, eps):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * g


@wrong("eps stands before weight in the signature, so that arguments given by position are exchanged", kind="interface")
def eps_before_weight(X, eps, weight):
    return X / (X.square().mean(-1, keepdim=True) + eps).sqrt() * weight


@wrong("The pair of result and scale is returned in place of the result", kind="interface")
def scale_returned_too(X, weight, eps):
    root = (X.square().mean(-1, keepdim=True) + eps).sqrt()
    return X / root * weight, root


_mean_square = {}


@wrong(
    "The mean squares are a running average over the calls of this shape, so calls change later results",
    kind="interface",
)
def running_average(X, weight, eps):
    m = X.square().mean(-1, keepdim=True)
    if X.shape in _mean_square:
        m = 0.9 * _mean_square[X.shape].to(m.dtype) + 0.1 * m
    _mean_square[X.shape] = m.detach()
    return X / (m + eps).sqrt() * weight


_weights = {}


change(_plain, "weight_kept",
       "weight is kept from the first call for each D; another weight later has no effect", "interface",
       before("return", "kept = _weights.setdefault((weight.shape, weight.dtype), weight)"), ("* weight", "* kept"))


# -------------------------------------------------------------------------------------------------- wrong, process


@wrong("F.rms_norm is called, which the text does not allow", kind="process")
def calls_F_rms_norm(X, weight, eps):
    return F.rms_norm(X, (X.shape[-1],), weight, eps)


@wrong("nn.RMSNorm does the normalisation, which the text does not allow", kind="process")
def calls_nn_RMSNorm(X, weight, eps):
    norm = nn.RMSNorm(X.shape[-1], eps=eps, elementwise_affine=False)
    return norm(X) * weight


@wrong("torch.rms_norm, the function behind F.rms_norm, is called; RMSNorm ready-made is not allowed", kind="process")
def calls_torch_rms_norm(X, weight, eps):
    return torch.rms_norm(X, [X.shape[-1]], weight, eps)


@wrong(
    "F.layer_norm of X beside -X, whose mean is 0, gives the root mean square; F.layer_norm is not allowed",
    kind="process",
)
def layer_norm_of_both_signs(X, weight, eps):
    both = torch.cat([X, -X], dim=-1)
    return F.layer_norm(both, both.shape[-1:], eps=eps)[..., : X.shape[-1]] * weight
