"""Right answers to `grid_attention`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("Show, Attend and Tell in PyTorch (sgrvinod)")
def sgrvinod(s, G, W, U, v):
    encoder_out = G.permute(0, 2, 3, 1)
    batch_size, height, width, encoder_dim = encoder_out.shape
    encoder_out = encoder_out.reshape(batch_size, -1, encoder_dim)
    att1 = encoder_out @ U  # (batch_size, num_pixels, attention_dim)
    att2 = s @ W  # (batch_size, attention_dim)
    att = torch.tanh(att1 + att2.unsqueeze(1)) @ v
    alpha = F.softmax(att, dim=1)
    attention_weighted_encoding = (encoder_out * alpha.unsqueeze(2)).sum(dim=1)
    return attention_weighted_encoding, alpha.view(batch_size, height, width)


@practice("d2l: bmm on flattened cells")
def d2l(s, G, W, U, v):
    B, _, H, W_ = G.shape
    values = G.flatten(2).permute(0, 2, 1)
    queries, keys = torch.matmul(s, W).unsqueeze(1), torch.matmul(values, U)
    scores = torch.matmul(torch.tanh(queries + keys), v)
    attention_weights = torch.softmax(scores, dim=-1)
    c = torch.bmm(attention_weights.unsqueeze(1), values).squeeze(1)
    return c, attention_weights.reshape(B, H, W_)


@practice("einops: the grid stays a grid", needs="einops")
def lucidrains(s, G, W, U, v):
    from einops import einsum, rearrange

    q = rearrange(s @ W, "b a -> b 1 1 a")
    k = einsum(G, U, "b d h w, d a -> b h w a")
    sim = einsum((q + k).tanh(), v, "b h w a, a -> b h w")
    attn = rearrange(sim, "b h w -> b (h w)").softmax(dim=-1)
    attn = rearrange(attn, "b (h w) -> b h w", h=G.shape[2])
    return einsum(attn, G, "b h w, b d h w -> b d"), attn


@practice("vision: convolutions of one cell")
def convolutions(s, G, W, U, v):
    key = F.conv2d(G, U.t()[:, :, None, None])  # [B, D_A, H, W]
    query = F.linear(s, W.t())[:, :, None, None]
    energy = F.conv2d(torch.tanh(query + key), v[None, :, None, None])
    attn = energy.flatten(1).softmax(dim=1).view(energy.shape[0], *energy.shape[2:])
    return (G * attn.unsqueeze(1)).sum(dim=(2, 3)), attn


@practice("numpy-minded: exponentials over both axes of the grid")
def both_axes(s, G, W, U, v):
    g = torch.moveaxis(G, 1, -1)
    E = torch.tanh((s @ W)[:, None, None] + g @ U) @ v
    A = torch.exp(E - E.amax(dim=(-2, -1), keepdim=True))
    A = A / A.sum(dim=(-2, -1), keepdim=True)
    return torch.einsum("bhw,bdhw->bd", A, G), A


@practice("JAX-minded: one image's attention, vmapped over the batch")
def vmapped(s, G, W, U, v):
    def attend(state, grid):
        cells = grid.reshape(grid.shape[0], -1).T
        weights = torch.softmax(torch.tanh(state @ W + cells @ U) @ v, dim=0)
        return weights @ cells, weights.reshape(grid.shape[1:])

    return torch.func.vmap(attend)(s, G)
