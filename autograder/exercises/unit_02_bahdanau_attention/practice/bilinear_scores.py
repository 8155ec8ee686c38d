"""Right answers to `bilinear_scores`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("plain matrix products")
def matmuls(S, H, W):
    return S @ W @ H.mT


@practice("OpenNMT: linear_in on the flattened states, then bmm")
def opennmt(S, H, W):
    *batch, tgt_len, tgt_dim = S.shape
    src_len, src_dim = H.shape[-2:]
    h_t_ = F.linear(S.reshape(-1, tgt_dim), W.t())
    h_t = h_t_.view(-1, tgt_len, src_dim)
    h_s_ = H.reshape(-1, src_len, src_dim).transpose(1, 2)
    return torch.bmm(h_t, h_s_).view(*batch, tgt_len, src_len)


@practice("AllenNLP's BilinearMatrixAttention: the encoder states are mapped")
def allennlp(S, H, W):
    intermediate = torch.matmul(H, W.t())
    return torch.matmul(S, intermediate.transpose(-1, -2))


@practice("einops", needs="einops")
def lucidrains(S, H, W):
    from einops import einsum

    return einsum(S, W, H, "... i d, d e, ... j e -> ... i j")


@practice("torch.nn.functional.bilinear on all pairs")
def functional(S, H, W):
    t, i = S.size(-2), H.size(-2)
    left = S[..., :, None, :].expand(*S.shape[:-1], i, S.size(-1)).contiguous()
    right = H[..., None, :, :].expand(*H.shape[:-2], t, i, H.size(-1)).contiguous()
    return F.bilinear(left, right, W[None]).squeeze(-1)


@practice("a loop over the decoder states")
def loops(S, H, W):
    rows = []
    for t in range(S.shape[-2]):
        s_t = S[..., t, :] @ W
        rows.append((H * s_t[..., None, :]).sum(-1))
    return torch.stack(rows, dim=-2)
