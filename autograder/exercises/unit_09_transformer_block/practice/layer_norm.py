"""Right answers to `layer_norm`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("nanoGPT")
def nanogpt(X, weight, bias, eps):
    mu = X.mean(dim=-1, keepdim=True)
    var = X.var(dim=-1, keepdim=True, unbiased=False)
    return (X - mu) / torch.sqrt(var + eps) * weight + bias


@practice("the Annotated Transformer")
def annotated(X, weight, bias, eps):
    a_2, b_2 = weight, bias
    mean = X.mean(-1, keepdim=True)
    std = ((X - mean) ** 2).mean(-1, keepdim=True).add(eps).sqrt()
    return a_2 * (X - mean) / std + b_2


@practice("Llama, in float32 and back")
def llama(X, weight, bias, eps):
    def _norm(x):
        x = x - x.mean(-1, keepdim=True)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)

    output = _norm(X.float()).type_as(X)
    return output * weight + bias


@practice("Hugging Face, wholly in float32")
def hugging_face(X, weight, bias, eps):
    input_dtype = X.dtype
    hidden_states = X.to(torch.float32)
    mean = hidden_states.mean(-1, keepdim=True)
    variance = (hidden_states - mean).pow(2).mean(-1, keepdim=True)
    hidden_states = (hidden_states - mean) * torch.rsqrt(variance + eps)
    hidden_states = weight.to(torch.float32) * hidden_states + bias.to(torch.float32)
    return hidden_states.to(input_dtype)


@practice("timm's LayerNorm2d")
def timm_like(X, weight, bias, eps):
    s, u = torch.var_mean(X, dim=-1, correction=0, keepdim=True)
    x = (X - u) * torch.rsqrt(s + eps)
    return torch.addcmul(bias, x, weight)


@practice("einops", needs="einops")
def lucidrains(X, weight, bias, eps):
    from einops import reduce

    centred = X - reduce(X, "... d -> ... 1", "mean")
    var = reduce(centred**2, "... d -> ... 1", "mean")
    return centred * (var + eps).rsqrt() * weight + bias


@practice("numpy-minded")
def numpy_minded(X, weight, bias, eps):
    D = X.shape[-1]
    flat = X.reshape(-1, D)
    xmu = flat - 1.0 / D * torch.sum(flat, axis=1)[:, None]
    sqrtvar = torch.sqrt(1.0 / D * torch.sum(xmu * xmu, axis=1) + eps)
    out = weight * (xmu / sqrtvar[:, None]) + bias
    return out.reshape(X.shape)
