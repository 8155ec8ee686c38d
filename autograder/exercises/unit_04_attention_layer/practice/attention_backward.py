"""Right answers to `attention_backward`, as others write them."""

import math

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("the formulas, line by line")
def formulas(Q, K, V, dY):
    root = math.sqrt(Q.shape[-1])
    A = torch.softmax(Q @ K.mT / root, dim=-1)
    dV = A.mT @ dY
    dA = dY @ V.mT
    dE = A * (dA - (dA * A).sum(dim=-1, keepdim=True))
    return dE @ K / root, dE.mT @ Q / root, dV


@practice("FlashAttention: P from the row maxima and row sums, delta from dO and O")
def flash(Q, K, V, dY):
    scale = Q.shape[-1] ** -0.5
    S = torch.matmul(Q, K.transpose(-2, -1)) * scale
    m = S.amax(dim=-1, keepdim=True)
    P = torch.exp(S - m)
    P = P / P.sum(dim=-1, keepdim=True)
    O = torch.matmul(P, V)
    delta = (dY * O).sum(dim=-1, keepdim=True)
    dV = torch.matmul(P.transpose(-2, -1), dY)
    dP = torch.matmul(dY, V.transpose(-2, -1))
    dS = P * (dP - delta) * scale
    return torch.matmul(dS, K), torch.matmul(dS.transpose(-2, -1), Q), dV


@practice("einops: softmax in float32, as in lucidrains' memory-efficient attention", needs="einops")
def lucidrains(Q, K, V, dY):
    from einops import einsum

    scale = Q.shape[-1] ** -0.5
    attn = (einsum(Q, K, "... i d, ... j d -> ... i j") * scale).softmax(dim=-1, dtype=torch.float32).type(Q.dtype)
    dv = einsum(attn, dY, "... i j, ... i d -> ... j d")
    dp = einsum(dY, V, "... i d, ... j d -> ... i j")
    D = (dp * attn).sum(dim=-1, keepdim=True)
    ds = attn * scale * (dp - D)
    return einsum(ds, K, "... i j, ... j d -> ... i d"), einsum(ds, Q, "... i j, ... i d -> ... j d"), dv


@practice("the Jacobian of each row, built and applied")
def jacobian(Q, K, V, dY):
    d = Q.size(-1)
    p = F.softmax(torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(d), dim=-1)
    grad_v = torch.matmul(p.transpose(-2, -1), dY)
    grad_p = torch.matmul(dY, V.transpose(-2, -1))
    J = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
    grad_s = torch.matmul(grad_p.unsqueeze(-2), J).squeeze(-2) / math.sqrt(d)
    return torch.matmul(grad_s, K), torch.matmul(grad_s.transpose(-2, -1), Q), grad_v


@practice("numpy-minded: in place, keys scaled")
def in_place(Q, K, V, dY):
    Ks = K / Q.shape[-1] ** 0.5
    A = (Q @ Ks.mT).softmax(-1)
    dE = dY @ V.mT
    dE -= torch.einsum("...ij,...ij->...i", dE, A)[..., None]
    dE *= A
    dK = dE.mT @ Q
    dK /= Q.shape[-1] ** 0.5
    return dE @ Ks, dK, A.mT @ dY


@practice("plain loops: a query at a time, keys' and values' gradients summed up")
def loops(Q, K, V, dY):
    root = Q.shape[-1] ** 0.5
    dQ, dK, dV = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
    for i in range(Q.shape[-2]):
        q, dy = Q[..., i, :, None], dY[..., i, :, None]
        a = torch.softmax((K @ q).squeeze(-1) / root, dim=-1)
        da = (V @ dy).squeeze(-1)
        de = a * (da - (a * da).sum(-1, keepdim=True))
        dQ[..., i, :] = (de[..., None] * K).sum(-2) / root
        dK += de[..., None] * q.transpose(-1, -2) / root
        dV += a[..., None] * dy.transpose(-1, -2)
    return dQ, dK, dV
