"""Right answers to `additive_scores`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("d2l")
def d2l(S, H, W, U, v):
    queries, keys = torch.matmul(S, W), torch.matmul(H, U)
    features = queries.unsqueeze(-2) + keys.unsqueeze(-3)
    features = torch.tanh(features)
    return torch.matmul(features, v)


@practice("OpenNMT: wq, uh, expand")
def opennmt(S, H, W, U, v):
    *batch, tgt_len, _ = S.shape
    src_len, dim = H.shape[-2], v.numel()
    wq = F.linear(S, W.t()).unsqueeze(-2).expand(*batch, tgt_len, src_len, dim)
    uh = F.linear(H, U.t()).unsqueeze(-3).expand(*batch, tgt_len, src_len, dim)
    wquh = torch.tanh(wq + uh)
    return F.linear(wquh, v.view(1, -1)).squeeze(-1)


@practice("einops", needs="einops")
def lucidrains(S, H, W, U, v):
    from einops import einsum, rearrange

    q = rearrange(einsum(S, W, "... i d, d a -> ... i a"), "... i a -> ... i 1 a")
    k = rearrange(einsum(H, U, "... j d, d a -> ... j a"), "... j a -> ... 1 j a")
    return einsum((q + k).tanh(), v, "... a, a -> ...")


@practice("fairseq's BahdanauAttention: a step at a time, (v * tanh(...)).sum")
def fairseq(S, H, W, U, v):
    key = torch.matmul(H, U)
    attn_scores = []
    for query in S.unbind(dim=-2):
        projected_query = torch.matmul(query, W).unsqueeze(-2)
        attn_scores.append((v * torch.tanh(projected_query + key)).sum(dim=-1))
    return torch.stack(attn_scores, dim=-2)


@practice("numpy-minded: None, in place")
def in_place(S, H, W, U, v):
    hidden = (S @ W)[..., :, None, :] + (H @ U)[..., None, :, :]
    hidden.tanh_()
    return torch.einsum("...a,a->...", hidden, v)


@practice("plain loops over all pairs")
def loops(S, H, W, U, v):
    SW, HU = S @ W, H @ U
    return torch.stack(
        [
            torch.stack([torch.tanh(SW[..., t, :] + HU[..., i, :]) @ v for i in range(H.shape[-2])], dim=-1)
            for t in range(S.shape[-2])
        ],
        dim=-2,
    )
