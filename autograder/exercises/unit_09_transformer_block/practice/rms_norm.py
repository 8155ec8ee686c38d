"""Right answers to `rms_norm`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("Llama")
def llama(X, weight, eps):
    def _norm(x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)

    return _norm(X) * weight


@practice("Hugging Face")
def hugging_face(X, weight, eps):
    input_dtype = X.dtype
    variance = X.pow(2).mean(-1, keepdim=True)
    hidden_states = X * torch.rsqrt(variance + eps)
    return weight * hidden_states.to(input_dtype)


@practice("the paper's authors")
def authors(X, weight, eps):
    d_x = X.size(-1)
    norm_x = X.norm(2, dim=-1, keepdim=True)
    rms_x = norm_x * d_x ** (-1.0 / 2)
    x_normed = X / torch.sqrt(rms_x**2 + eps)
    return weight * x_normed


@practice("einops", needs="einops")
def lucidrains(X, weight, eps):
    from einops import einsum, rearrange

    squares = einsum(X, X, "... d, ... d -> ...") / X.shape[-1]
    return X / rearrange(squares + eps, "... -> ... 1").sqrt() * weight


@practice("plain loops")
def loops(X, weight, eps):
    rows = []
    for x in X.reshape(-1, X.shape[-1]):
        ms = (x * x).sum() / len(x)
        rows.append(x / torch.sqrt(ms + eps) * weight)
    return torch.stack(rows).reshape(X.shape)


@practice("Tensor2Tensor")
def tensor2tensor(X, weight, eps):
    variance = torch.mean(torch.square(X), dim=-1, keepdim=True)
    return X * (variance + eps) ** -0.5 * weight
