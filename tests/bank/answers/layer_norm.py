"""Answers for layer_norm of assignment 09."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import before, change, right, wrong

# ------------------------------------------------------------------------------------------------------------- right


@right("The pseudocode, line by line")
def by_the_hint(X, weight, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    centred = X - mean
    variance = (centred**2).mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(variance + eps) * weight + bias


@right("torch.var_mean with correction=0, and rsqrt")
def by_var_mean(X, weight, bias, eps):
    var, mu = torch.var_mean(X, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, (X - mu) * torch.rsqrt(var + eps), weight)


@right("var with the old argument unbiased=False, and a power of -0.5")
def by_unbiased_false(X, weight, bias, eps):
    s2 = X.var(-1, unbiased=False, keepdim=True)
    return bias + weight * ((X - X.mean(-1, keepdim=True)) * (s2 + eps) ** -0.5)


@right("The variance with D - 1 from torch, corrected by (D - 1)/D, and D = 1 by a branch that keeps the gradient")
def by_the_corrected_sample_variance(X, weight, bias, eps):
    D = X.shape[-1]
    centred = X - X.mean(-1, keepdim=True)
    variance = torch.var(X, -1, keepdim=True) * ((D - 1) / D) if D > 1 else centred.square()
    return centred / (variance + eps).sqrt() * weight + bias


@right("A loop over the positions, one vector at a time, stacked again")
def by_positions(X, weight, bias, eps):
    rows = []
    for x in X.reshape(-1, X.shape[-1]).unbind(0):
        deviation = x - x.mean()
        rows.append(deviation / (deviation.square().mean() + eps).sqrt() * weight + bias)
    return torch.stack(rows).reshape(X.shape)


@right("Recursion over the axes in front until one vector is left")
def by_recursion(X, weight, bias, eps):
    if X.ndim > 1:
        return torch.stack([by_recursion(part, weight, bias, eps) for part in X])
    D = len(X)
    away = X - X.sum() / D
    away = away - away.sum() / D
    return weight * away / (torch.dot(away, away) / D + eps).sqrt() + bias


@right("The features come to the front, are normalised along axis 0, and go back")
def by_features_in_front(X, weight, bias, eps):
    Z = X.movedim(-1, 0)
    Z = Z - Z.mean(0)
    Z = Z / (Z * Z).mean(0).add(eps).sqrt()
    return Z.movedim(0, -1) * weight + bias


@right("First shifted by the first feature, so that the mean is of small numbers; einsum for the squares")
def by_a_shift(X, weight, bias, eps):
    D = X.size(-1)
    shifted = X - X[..., :1]
    centred = shifted - shifted.mean(-1, keepdim=True)
    variance = torch.einsum("...d,...d->...", centred, centred).div(D).unsqueeze(-1)
    return torch.true_divide(centred, torch.sqrt(eps + variance)).mul(weight).add(bias)


@right("Scaled by the largest deviation before squares are taken, so that no square overflows")
def by_scaling_first(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    centred = centred - centred.mean(-1, keepdim=True)
    top = centred.detach().abs().amax(-1, keepdim=True).clamp(min=1.0)
    small = centred / top
    root = (small.square().mean(-1, keepdim=True) + eps / top / top).sqrt()
    return small / root * weight + bias


@right("The length of the centred vector from vector_norm, then hypot with the root of eps")
def by_vector_norm_and_hypot(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    spread = torch.linalg.vector_norm(centred, dim=-1, keepdim=True) / math.sqrt(X.shape[-1])
    return centred / torch.hypot(spread, torch.full_like(spread, math.sqrt(eps))) * weight + bias


@right("torch.vmap of a function of one vector over the flattened positions")
def by_vmap(X, weight, bias, eps):
    def one(x):
        centred = x - x.mean()
        return centred * torch.rsqrt(centred.square().mean() + eps) * weight + bias

    return torch.vmap(one)(X.flatten(0, -2)).reshape(X.shape) if X.ndim > 1 else one(X)


class _ByHand(torch.autograd.Function):
    @staticmethod
    def forward(ctx, X, eps):
        centred = X - X.mean(-1, keepdim=True)
        scale = (centred.square().mean(-1, keepdim=True) + eps).rsqrt()
        normal = centred * scale
        ctx.save_for_backward(normal, scale)
        return normal

    @staticmethod
    def backward(ctx, grad):
        normal, scale = ctx.saved_tensors
        along = normal * (grad * normal).mean(-1, keepdim=True)
        return scale * (grad - grad.mean(-1, keepdim=True) - along), None


@right("An autograd.Function of its own with the backward pass derived by hand")
def by_own_backward(X, weight, bias, eps):
    return _ByHand.apply(X, eps) * weight + bias


@right("Mean and variance feature by feature with Welford's running update, bfloat16 computed in float32")
def by_welford(X, weight, bias, eps):
    work = torch.promote_types(X.dtype, torch.float32)
    mean = X[..., 0].to(work)
    moment = torch.zeros_like(mean)
    for count, x in enumerate(X.to(work).unbind(-1)[1:], 2):
        step = x - mean
        mean = mean + step / count
        moment = moment + step * (x - mean)
    scale = (moment / X.shape[-1] + eps).sqrt()
    normal = (X.to(work) - mean[..., None]) / scale[..., None]
    return (normal * weight.to(work) + bias.to(work)).to(X.dtype)


# --------------------------------------------------------------------------------------------------- wrong, concept


change(by_own_backward, "sample_variance", "The variance is divided by D - 1 in place of D (NaN for D = 1)", "concept",
       ("_ByHand.apply(X, eps)", "(X - X.mean(-1, keepdim=True)) / torch.sqrt(X.var(-1, keepdim=True) + eps)"))


# Right, and not registered: answers below are changes of it.
def _plain(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias


change(_plain, "eps_outside", "eps is added to the root in place of the variance inside the root", "concept",
       ("(centred.square().mean(-1, keepdim=True) + eps).sqrt()",
        "(centred.square().mean(-1, keepdim=True).sqrt() + eps)"))
change(_plain, "no_eps",
       "eps is not used at all, so that constant positions give NaN and a large eps has no effect", "concept",
       ("(centred.square().mean(-1, keepdim=True) + eps).sqrt()", "centred.square().mean(-1, keepdim=True).sqrt()"))
change(_plain, "over_the_positions",
       "Mean and variance run over the last-but-one axis (the positions) in place of the features", "concept",
       ("-1", "-2", 2))
change(_plain, "over_everything",
       "One mean and one variance for the whole tensor in place of one for each position", "concept",
       ("X.mean(-1, keepdim=True)", "X.mean()"), (".mean(-1, keepdim=True) + eps", ".mean() + eps"))


@wrong("Mean and variance run over the last two axes together, so positions of a sequence share them", kind="concept")
def over_each_sequence(X, weight, bias, eps):
    axes = (-2, -1) if X.ndim > 1 else (-1,)
    centred = X - X.mean(axes, keepdim=True)
    return centred / (centred.square().mean(axes, keepdim=True) + eps).sqrt() * weight + bias


@wrong("The mean is subtracted but nothing is divided: the root of the variance is missing", kind="concept")
def only_centred(X, weight, bias, eps):
    return (X - X.mean(-1, keepdim=True)) * weight + bias


@wrong("Divided by variance plus eps in place of its root", kind="concept")
def divided_by_the_variance(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + eps) * weight + bias


@wrong("The mean is not subtracted in the numerator: X itself is divided by the root", kind="concept")
def numerator_not_centred(X, weight, bias, eps):
    return X / (X.var(-1, correction=0, keepdim=True) + eps).sqrt() * weight + bias


@wrong("The denominator has the mean square of X in place of the variance (X not centred there)", kind="concept")
def mean_square_below(X, weight, bias, eps):
    return (X - X.mean(-1, keepdim=True)) / (X.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias


@wrong("bias is added before the multiplication by weight, so that it is scaled too", kind="concept")
def bias_before_weight(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    return (centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + bias) * weight


change(_plain, "one_plus_weight", "Multiplied by 1 + weight in place of weight", "concept",
       ("* weight", "* (1 + weight)"))
change(_plain, "weight_first",
       "weight multiplies X before mean and variance are taken, in place of the normalised features", "concept",
       before("centred =", "scaled = X * weight"), ("X - X.mean", "scaled - scaled.mean"),
       (".sqrt() * weight", ".sqrt()"))
change(_plain, "weight_and_bias_exchanged",
       "weight and bias are exchanged: bias multiplies and weight is added", "concept",
       ("* weight + bias", "* bias + weight"))
change(_plain, "absolute_deviation",
       "The mean absolute deviation (plus eps) stands in place of the root of variance plus eps", "concept",
       ("(centred.square().mean(-1, keepdim=True) + eps).sqrt()", "(centred.abs().mean(-1, keepdim=True) + eps)"))
change(_plain, "sum_of_squares",
       "Divided by the length of the centred vector: the sum of the squares is not divided by D", "concept",
       (".square().mean", ".square().sum"))


@wrong("The variance is taken at least eps (clamp) in place of having eps added", kind="concept")
def variance_clamped(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    return centred / centred.square().mean(-1, keepdim=True).clamp(min=eps).sqrt() * weight + bias


change(_plain, "median_subtracted", "The median of the features is subtracted in place of their mean", "concept",
       ("X.mean(-1, keepdim=True)", "X.median(-1, keepdim=True).values"),
       ("centred.square().mean(-1, keepdim=True)", "X.var(-1, correction=0, keepdim=True)"))
change(_plain, "with_a_residual", "The input is added to the result, as a residual connection", "concept",
       ("return", "return X +"))


# ---------------------------------------------------------------------------------------------------- two mistakes


@wrong("The variance is divided by D - 1, and eps is added to its root in place of inside the root", kind="concept")
def sample_deviation_and_eps_outside(X, weight, bias, eps):
    return weight * (X - X.mean(-1, keepdim=True)) / (X.std(-1, keepdim=True) + eps) + bias


@wrong("eps is added twice (2 eps inside the root), and bias is left out", kind="concept")
def eps_twice_and_no_bias(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True) + eps
    return centred / (variance + eps).sqrt() * weight


change(_plain, "bias_subtracted_and_no_weight",
       "bias is subtracted in place of added, and weight is not applied", "concept",
       ("* weight + bias", "- bias"))


@wrong("eps is squared inside the root, and the mean is detached, so that gradients miss its part", kind="gradient")
def eps_squared_and_mean_detached(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True).detach()
    return centred / (centred.square().mean(-1, keepdim=True) + eps**2).sqrt() * weight + bias


# -------------------------------------------------------------------------------------------------- wrong, numerics


@wrong("The variance is the mean square minus the squared mean, which cancels far from 0 (NaN or wrong)", "numerics")
def cancelling_variance(X, weight, bias, eps):
    mean = X.mean(-1, keepdim=True)
    variance = X.square().mean(-1, keepdim=True) - mean.square()
    return (X - mean) / (variance + eps).sqrt() * weight + bias


@wrong("The mean square minus the squared mean, cut at 0: never NaN, but cancels and is wrong far from 0", "numerics")
def cancelling_variance_cut_at_0(X, weight, bias, eps):
    mean = X.mean(-1, keepdim=True)
    variance = (X.square().mean(-1, keepdim=True) - mean * mean).clamp(min=0)
    return (X - mean) / (variance + eps).sqrt() * weight + bias


@right("Everything is computed in float32 and converted back, so float64 loses digits, and above 3e38 is inf")
def float_and_back(X, weight, bias, eps):
    Z = X.float()
    centred = Z - Z.mean(-1, keepdim=True)
    return (centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()).to(X.dtype) * weight + bias


@wrong("Only the root is computed in bfloat16, which leaves it with three digits", kind="numerics")
def root_in_bfloat16(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    root = (centred.square().mean(-1, keepdim=True) + eps).bfloat16().sqrt().to(X.dtype)
    return centred / root * weight + bias


change(_plain, "input_clamped",
       "X is cut to ±10000 before it is normalised, so that larger numbers count as 10000", "numerics",
       before("centred =", "Z = X.clamp(-1e4, 1e4)"), ("X - X.mean", "Z - Z.mean"))


@wrong("Normalised features are cut to ±5, though they reach the root of D - 1 with many features", kind="numerics")
def result_clamped(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    normal = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    return normal.clamp(-5, 5) * weight + bias


change(_plain, "eps_fixed", "1e-5 always stands inside the root, whatever eps is", "numerics",
       ("bias, eps", "bias, eps=1e-5"), ("+ eps", "+ 1e-5"))
change(_plain, "small_deviations_cut",
       "Deviations smaller than a millionth are set to 0, so small features are cut off", "numerics",
       before("return", "centred = torch.where(centred.abs() < 1e-6, torch.zeros_like(centred), centred)"))
change(_plain, "mean_of_block_means",
       "The mean is the mean of the means of blocks of 8 features, wrong where D is not a multiple of 8", "numerics",
       ("centred = X - X.mean(-1, keepdim=True)", """
        mean = torch.stack([block.mean(-1, keepdim=True) for block in X.split(8, -1)]).mean(0)
        centred = X - mean"""))
change(_plain, "root_at_least_a_hundredth",
       "The root is kept at 0.01 or above, so positions with a small spread are scaled too little", "numerics",
       (".sqrt()", ".sqrt().clamp(min=1e-2)"))


# ------------------------------------------------------------------------------------------------- wrong, gradients


@wrong("The mean is detached: values are right, but the gradient lacks the part through the mean", kind="gradient")
def mean_detached(X, weight, bias, eps):
    mean = X.mean(-1, keepdim=True).detach()
    variance = X.var(-1, correction=0, keepdim=True)
    return (X - mean) / (variance + eps).sqrt() * weight + bias


@wrong("Variance is computed under no_grad: values are right, but the gradient lacks the part through it", "gradient")
def variance_under_no_grad(X, weight, bias, eps):
    with torch.no_grad():
        variance = X.var(-1, correction=0, keepdim=True)
    return (X - X.mean(-1, keepdim=True)) / (variance + eps).sqrt() * weight + bias


change(_plain, "weight_data", "weight.data is used, so that no gradient reaches weight", "gradient",
       (".sqrt() * weight", ".sqrt() * weight.data"))
change(_plain, "bias_rebuilt",
       "bias is rebuilt by torch.tensor from its numbers, so that no gradient reaches bias", "gradient",
       before("return", "shift = torch.tensor(bias.tolist(), dtype=X.dtype, device=X.device)"), ("+ bias", "+ shift"))
change(_plain, "input_detached", "X is replaced by a detached copy, so that no gradient reaches X at all", "gradient",
       before("centred =", "Z = X.detach().clone()"), ("X - X.mean", "Z - Z.mean"))


@wrong(
    "The root of the variance is squared again before eps is added: NaN gradient where the variance is 0",
    kind="gradient",
)
def root_squared_again(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    deviation = torch.sqrt(centred.square().mean(-1, keepdim=True))
    return centred / torch.sqrt(deviation**2 + eps) * weight + bias


@wrong(
    "Constant positions are replaced by bias with torch.where: the value is right, the gradient of X there 0",
    kind="gradient",
)
def constant_rows_replaced(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    same = X.amax(-1, keepdim=True) == X.amin(-1, keepdim=True)
    result = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias
    return torch.where(same, bias.expand_as(X), result)


# ------------------------------------------------------------------------------------- wrong, layout, shapes, edges


@wrong("view(-1, D) on X, which raises for a transposed or strided X", kind="layout")
def by_view(X, weight, bias, eps):
    Z = X.view(-1, X.shape[-1])
    centred = Z - Z.mean(-1, keepdim=True)
    return (centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias).view(X.shape)


@wrong("Axis 1 is taken for the features, right for X [N, D] only: wrong or error with another number of axes", "shape")
def axis_1(X, weight, bias, eps):
    centred = X - X.mean(1, keepdim=True)
    return centred / (centred.square().mean(1, keepdim=True) + eps).sqrt() * weight + bias


@wrong("X is unpacked as [B, N, D], which raises for a single vector, one sequence or more batch axes", kind="shape")
def three_axes_only(X, weight, bias, eps):
    B, N, D = X.shape
    centred = X - X.sum(2).reshape(B, N, 1) / D
    return centred / (centred.square().sum(2).reshape(B, N, 1) / D + eps).sqrt() * weight + bias


@wrong("Mean and variance lack keepdim, so they line up with features: an error, or wrong rows where N = D", "shape")
def without_keepdim(X, weight, bias, eps):
    return (X - X.mean(-1)) / (X.var(-1, correction=0) + eps).sqrt() * weight + bias


@wrong("The result is squeezed without an axis, so that axes of size 1 are lost", kind="layout")
def result_squeezed(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    return (centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias).squeeze()


@wrong(
    "The feature axis is looked up as the first axis of size D: the wrong one where another axis is as long",
    kind="shape",
)
def axis_by_its_size(X, weight, bias, eps):
    axis = list(X.shape).index(weight.shape[0])
    centred = X - X.mean(axis, keepdim=True)
    return centred / (centred.square().mean(axis, keepdim=True) + eps).sqrt() * weight + bias


change(_plain, "weight_turned_where_square",
       "weight and bias are turned to lie along the positions where there are as many positions as features", "shape",
       before("return", """
        if X.ndim > 1 and X.shape[-2] == X.shape[-1]:
            weight, bias = weight[:, None], bias[:, None]"""))
change(_plain, "one_feature_unchanged", "With D = 1 X itself comes back, unnormalised, in place of bias", "edge",
       before("centred =", """
        if X.shape[-1] == 1:
            return X * 1.0"""))
change(_plain, "one_feature_gives_bias_alone",
       "With D = 1 bias itself is returned, [1] in place of [*S, 1], and without a gradient to X and weight", "edge",
       before("centred =", """
        if X.shape[-1] == 1:
            return bias.clone()"""))
change(result_clamped, "one_position_without_weight",
       "A single position, [1, D], is normalised without weight and bias", "edge",
       ("normal.clamp(-5, 5) * weight", "normal if X.ndim > 1 and X.shape[-2] == 1 else normal * weight"))


# ------------------------------------------------------------------------------------------------ wrong, interface


change(_plain, "mean_subtracted_in_place",
       "X is changed in place: the mean is subtracted from the caller's tensor", "interface",
       before("centred =", """
        with torch.no_grad():
            X -= X.mean(-1, keepdim=True)"""))


@wrong("The caller's weight is doubled in place (through .data) after the result has been computed", "interface")
def weight_changed_in_place(X, weight, bias, eps):
    centred = X - X.mean(-1, keepdim=True)
    result = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * weight.clone() + bias
    weight.data.mul_(2)
    return result


@wrong("The result is collected in torch.zeros without dtype, so that it is float32 for every type of X", "interface")
def zeros_without_dtype(X, weight, bias, eps):
    result = torch.zeros(X.shape, device=X.device)
    centred = X - X.mean(-1, keepdim=True)
    result[...] = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias
    return result


change(zeros_without_dtype, "zeros_without_device", "The result is collected in a tensor made without device, so that "
       "it lies on the CPU for X on a GPU", "interface",
       ("device", "dtype", 2))


@wrong("bfloat16 becomes float32: the result has float32 unless X is float64", kind="interface")
def bfloat16_becomes_float32(X, weight, bias, eps):
    kind = torch.float64 if X.dtype == torch.float64 else torch.float32
    Z = X.to(kind)
    centred = Z - Z.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * weight.to(kind) + bias.to(kind)


@right("The arguments are named gamma and beta, so that weight= and bias= are an error")
def gamma_and_beta(X, gamma, beta, eps):
    centred = X - X.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * gamma + beta


change(_plain, "bias_before_weight_by_position",
       "bias and weight stand in the other order in the signature: wrong by position, right by name", "interface",
       ("weight, bias", "bias, weight"))
change(_plain, "eps_by_name_only", "eps can be given by name only; by position it is an error", "interface",
       ("bias, eps", "bias, *, eps"))


@wrong("A tuple of the result, mean and variance is returned in place of the result", kind="interface")
def statistics_returned_too(X, weight, bias, eps):
    variance, mean = torch.var_mean(X, -1, correction=0, keepdim=True)
    return (X - mean) / (variance + eps).sqrt() * weight + bias, mean, variance


_seen = {}


@wrong("Mean and variance are kept, detached, from the first call of each shape for all later ones", "interface")
def statistics_kept(X, weight, bias, eps):
    if X.shape not in _seen:
        _seen[X.shape] = [t.detach() for t in torch.var_mean(X, -1, correction=0, keepdim=True)]
    variance, mean = _seen[X.shape]
    return (X - mean) / (variance + eps).sqrt() * weight + bias


_eps = []


change(_plain, "eps_kept", "eps is kept from the first call; other values in later calls are ignored", "interface",
       before("centred =", "_eps.append(eps)"), ("+ eps", "+ _eps[0]"))


# -------------------------------------------------------------------------------------------------- wrong, process


@wrong("F.layer_norm is called, which the text does not allow", kind="process")
def calls_F_layer_norm(X, weight, bias, eps):
    return F.layer_norm(X, X.shape[-1:], weight, bias, eps)


@wrong("nn.LayerNorm does the normalisation, which the text does not allow", kind="process")
def calls_nn_LayerNorm(X, weight, bias, eps):
    norm = nn.LayerNorm(X.shape[-1], eps=eps, elementwise_affine=False, device=X.device, dtype=X.dtype)
    return norm(X) * weight + bias


@wrong("F.group_norm with one group does the normalisation, which the text does not allow", kind="process")
def calls_group_norm(X, weight, bias, eps):
    return F.group_norm(X.reshape(-1, X.shape[-1]), 1, weight, bias, eps).reshape(X.shape)


@wrong("F.batch_norm, with the positions as its channels, does the normalisation; not allowed", kind="process")
def calls_batch_norm(X, weight, bias, eps):
    rows = X.reshape(-1, X.shape[-1])
    if X.shape[-1] == 1:
        return (X - X) * weight + bias
    return F.batch_norm(rows.T, None, None, training=True, eps=eps).T.reshape(X.shape) * weight + bias


@wrong(
    "torch.layer_norm, the function behind F.layer_norm, is called; layer normalisation ready-made is not allowed",
    kind="process",
)
def calls_torch_layer_norm(X, weight, bias, eps):
    return torch.layer_norm(X, (X.shape[-1],), weight, bias, eps)


@wrong("torch.instance_norm, with one channel for each position, does the normalisation; not allowed", kind="process")
def calls_instance_norm(X, weight, bias, eps):
    if X.shape[-1] == 1:
        return (X - X) * weight + bias
    rows = X.reshape(1, -1, X.shape[-1])
    return F.instance_norm(rows, eps=eps).reshape(X.shape) * weight + bias
