"""Attention as well-known projects write it, through thin adapters: where an exercise's text makes it right, it passes.

Written anew after nanoGPT, the UvA tutorials, the Annotated Transformer, and the algorithms of FlashAttention (Dao et al. 2022,
algorithm 1) and FlashAttention-2 (Dao 2023).
"""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import freeze
from utils.checking.concluding import examine

SEEDS = ("public", "code")


def results(name, made):
    return [examine(freeze(find_exercise(name), seed, grading=True, mistakes=False), made) for seed in SEEDS]


def annotated(Q, X):
    """The Annotated Transformer's `attention`, of data that is key and value."""
    d_k = Q.size(-1)
    scores = torch.matmul(Q, X.transpose(-2, -1)) / math.sqrt(d_k)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, X), p_attn


def uva(Q, X):
    """`scaled_dot_product` of UvA's tutorial 6, of data that is key and value."""
    attn_logits = torch.matmul(Q, X.transpose(-2, -1))
    attn_logits = attn_logits / math.sqrt(Q.size()[-1])
    attention = F.softmax(attn_logits, dim=-1)
    return torch.matmul(attention, X), attention


class NanoGPT(nn.Module):
    """nanoGPT's `CausalSelfAttention` without its mask and dropout, with a context beside X."""

    def __init__(self, H, D_H):
        super().__init__()
        self.n_head, self.n_embd = H, H * D_H
        self.W_QKV = nn.Linear(self.n_embd, 3 * self.n_embd)
        self.W_O = nn.Linear(self.n_embd, self.n_embd)

    def heads(self, x):
        B, T, C = x.size()
        parts = self.W_QKV(x).split(self.n_embd, dim=2)
        return [part.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for part in parts]

    def forward(self, X, context=None):
        B, T, C = X.size()
        q, k, v = self.heads(X)
        if context is not None:
            _, k, v = self.heads(context)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.W_O(y), att


class MaskedNanoGPT(NanoGPT):
    """The same with a mask: what it hides is filled with −∞, as nanoGPT does; rows that allow nothing are 0, as the text asks."""

    def forward(self, X, mask):
        B, T, C = X.size()
        q, k, v = self.heads(X)
        mask = mask.unsqueeze(-3) if mask.dim() > 2 else mask
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(mask == 0, float("-inf"))
        att = torch.where(mask.any(dim=-1, keepdim=True), att, torch.zeros_like(att))
        att = F.softmax(att, dim=-1).masked_fill(mask == 0, 0.0)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.W_O(y), att


def subsequent(N_Q, N_X, offset):
    """The Annotated Transformer's `subsequent_mask`, with an offset."""
    return torch.triu(torch.ones(N_Q, N_X), diagonal=1 + offset).type(torch.uint8) == 0


def flash(Q, K, V, block):
    """FlashAttention's algorithm 1: K and V block by block outside, Q block by block inside, O divided all along."""
    O = torch.zeros(*Q.shape[:-1], V.shape[-1], dtype=Q.dtype, device=Q.device)
    l = torch.zeros(*Q.shape[:-1], 1, dtype=Q.dtype, device=Q.device)
    m = torch.full_like(l, -math.inf)
    for K_j, V_j in zip(K.split(block, dim=-2), V.split(block, dim=-2)):
        rows = []
        for Q_i, O_i, l_i, m_i in zip(*(one.split(block, dim=-2) for one in (Q, O, l, m))):
            S = Q_i @ K_j.transpose(-2, -1) / math.sqrt(Q.shape[-1])
            m_ij = S.amax(dim=-1, keepdim=True)
            P = torch.exp(S - m_ij)
            l_ij = P.sum(dim=-1, keepdim=True)
            m_new = torch.maximum(m_i, m_ij)
            l_new = torch.exp(m_i - m_new) * l_i + torch.exp(m_ij - m_new) * l_ij
            O_new = (l_i * torch.exp(m_i - m_new) * O_i + torch.exp(m_ij - m_new) * (P @ V_j)) / l_new
            rows.append((O_new, l_new, m_new))
        O, l, m = (torch.cat(parts, dim=-2) for parts in zip(*rows))
    return O


def flash_step(m, l, O, E, V):
    """The inner step of FlashAttention-2, which divides at the end."""
    m_new = torch.maximum(m, E.amax(dim=-1))
    P = torch.exp(E - m_new.unsqueeze(-1))
    factor = torch.exp(m - m_new)
    return m_new, factor * l + P.sum(dim=-1), factor.unsqueeze(-1) * O + P @ V


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("scaled_dot_product_attention", annotated),
        ("scaled_dot_product_attention", uva),
        ("MultiHeadAttention", NanoGPT),
        ("MaskedMultiHeadAttention", MaskedNanoGPT),
        ("causal_mask", subsequent),
        ("tiled_attention", flash),
        ("online_softmax_step", flash_step),
    ],
)
def test_public_code_passes_where_the_text_makes_it_right(name, made):
    for result in results(name, made):
        assert result.passed, result.message


def test_a_score_of_minus_a_billion_is_not_low_enough_where_zeros_are_promised():
    def by_a_billion(E, mask):
        """As the Annotated Transformer masks."""
        return E.masked_fill(mask == 0, -1e9).softmax(dim=-1)

    for result in results("masked_softmax", by_a_billion):
        assert not result.passed, result.message
