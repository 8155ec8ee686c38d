"""Right answers to `rotary_encoding`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("Meta's Llama code")
def llama(X, positions, base, interleaved):
    dim = X.shape[-1]
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2, device=X.device)[: (dim // 2)].float() / dim))
    freqs = torch.outer(positions.to(X.device).float(), freqs)
    freqs_cis = torch.polar(torch.ones_like(freqs), freqs)
    x = X.float()
    if interleaved:
        x_ = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
        x_out = torch.view_as_real(x_ * freqs_cis).flatten(-2)
    else:
        x_ = torch.complex(*x.chunk(2, dim=-1))
        x_out = x_ * freqs_cis
        x_out = torch.cat((x_out.real, x_out.imag), dim=-1)
    return x_out.type_as(X)


def _rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def _rotate_every_two(x):
    x1 = x[..., ::2]
    x2 = x[..., 1::2]
    x = torch.stack((-x2, x1), dim=-1)
    return x.flatten(-2)


@practice("Hugging Face transformers: GPT-NeoX and GPT-J")
def hf(X, positions, base, interleaved):
    dim = X.shape[-1]
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.int64, device=X.device).float() / dim))
    freqs = positions[:, None].float() @ inv_freq[None, :]
    if interleaved:
        emb = torch.repeat_interleave(freqs, 2, dim=-1)
        rotate = _rotate_every_two
    else:
        emb = torch.cat((freqs, freqs), dim=-1)
        rotate = _rotate_half
    cos, sin = emb.cos().to(X.dtype), emb.sin().to(X.dtype)
    return (X * cos) + (rotate(X) * sin)


@practice("FlashAttention's rotary reference")
def tridao(X, positions, base, interleaved):
    inv_freq = 1.0 / base ** (torch.arange(0, X.shape[-1], 2, device=X.device, dtype=torch.float32) / X.shape[-1])
    t = positions.to(device=X.device, dtype=torch.float32)
    freqs = torch.outer(t, inv_freq)
    cos, sin = torch.cos(freqs).to(X.dtype), torch.sin(freqs).to(X.dtype)
    x1, x2 = (X[..., ::2], X[..., 1::2]) if interleaved else X.chunk(2, dim=-1)
    o1 = x1 * cos - x2 * sin
    o2 = x1 * sin + x2 * cos
    if not interleaved:
        return torch.cat((o1, o2), dim=-1)
    return torch.stack((o1, o2), dim=-1).flatten(-2)


@practice("einops, in the manner of rotary-embedding-torch", needs="einops")
def lucidrains(X, positions, base, interleaved):
    from einops import rearrange, repeat

    dim = X.shape[-1]
    pattern = "(d r)" if interleaved else "(r d)"
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2, device=X.device)[: (dim // 2)].float() / dim))
    freqs = torch.einsum("n,f->nf", positions.type(freqs.dtype), freqs)
    freqs = repeat(freqs, f"n d -> n {pattern}", r=2)
    x = rearrange(X, f"... {pattern} -> ... d r", r=2)
    x1, x2 = x.unbind(dim=-1)
    rotated = rearrange(torch.stack((-x2, x1), dim=-1), f"... d r -> ... {pattern}")
    out = X * freqs.cos() + rotated * freqs.sin()
    return out.type(X.dtype)


@practice("matrices of rotations")
def matrices(X, positions, base, interleaved):
    D = X.shape[-1]
    j = torch.arange(D // 2, device=X.device, dtype=X.dtype)
    theta = positions.to(X.dtype)[:, None] * base ** (-2 * j / D)
    c, s = theta.cos(), theta.sin()
    R = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
    if interleaved:
        pairs = X.reshape(*X.shape[:-1], D // 2, 2)
    else:
        pairs = X.reshape(*X.shape[:-1], 2, D // 2).transpose(-1, -2)
    rotated = torch.einsum("njab,...njb->...nja", R, pairs)
    if not interleaved:
        rotated = rotated.transpose(-1, -2)
    return rotated.reshape(X.shape)


@practice("filling an empty tensor, with loops over the pairs")
def loops(X, positions, base, interleaved):
    D = X.shape[-1]
    out = torch.empty_like(X)
    for j in range(D // 2):
        a, b = (2 * j, 2 * j + 1) if interleaved else (j, j + D // 2)
        phi = positions.to(X.dtype) * base ** (-2 * j / D)
        out[..., a] = X[..., a] * torch.cos(phi) - X[..., b] * torch.sin(phi)
        out[..., b] = X[..., a] * torch.sin(phi) + X[..., b] * torch.cos(phi)
    return out
