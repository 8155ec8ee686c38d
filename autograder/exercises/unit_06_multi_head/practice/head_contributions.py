"""Right answers to `head_contributions`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("nanoGPT")
def nanogpt(A, V, W_O):
    B, nh, T, hs = V.size()
    y = A @ V
    w = W_O.view(nh, hs, -1)
    return y @ w


@practice("TransformerLens: einsum", needs="einops")
def lens(A, V, W_O):
    from einops import einsum, rearrange

    W_O = rearrange(W_O, "(n_heads d_head) d_model -> n_heads d_head d_model", n_heads=A.shape[1])
    z = einsum(A, V, "batch head query key, batch head key d_head -> batch head query d_head")
    return einsum(z, W_O, "batch head query d_head, head d_head d_model -> batch head query d_model")


@practice("plain loops")
def loops(A, V, W_O):
    H, D_H = V.shape[1], V.shape[-1]
    contributions = []
    for h in range(H):
        rows = W_O[h * D_H : (h + 1) * D_H]
        contributions.append(A[:, h] @ V[:, h] @ rows)
    return torch.stack(contributions, dim=1)


@practice("one einsum of three tensors")
def einsum(A, V, W_O):
    return torch.einsum("bhqk,bhkd,hdm->bhqm", A, V, W_O.reshape(A.size(1), V.size(-1), W_O.size(-1)))


@practice("projected values first, as in attention-norm analysis")
def norms(A, V, W_O):
    W = torch.stack(W_O.chunk(V.shape[1], dim=0))
    transformed = torch.matmul(V, W)
    return torch.matmul(A, transformed)


@practice("the whole projection with all other heads set to zero")
def ablation(A, V, W_O):
    B, H, N_Q, _ = A.shape
    D_H = V.shape[-1]
    merged = (A @ V).transpose(1, 2).reshape(B, N_Q, H * D_H)
    out = A.new_zeros(B, H, N_Q, W_O.shape[-1])
    for h in range(H):
        only = torch.zeros_like(merged)
        only[..., h * D_H : (h + 1) * D_H] = merged[..., h * D_H : (h + 1) * D_H]
        out[:, h] = F.linear(only, W_O.t())
    return out
