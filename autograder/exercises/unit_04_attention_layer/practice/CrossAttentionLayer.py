"""Right answers to `CrossAttentionLayer`, as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("nanoGPT")
class NanoCross(nn.Module):
    def __init__(self, D_S, D_X, D_Q, D_V):
        super().__init__()
        self.W_Q = nn.Linear(D_S, D_Q)
        self.W_K = nn.Linear(D_X, D_Q)
        self.W_V = nn.Linear(D_X, D_V)

    def forward(self, S, X):
        q, k, v = self.W_Q(S), self.W_K(X), self.W_V(X)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(q.size(-1)))
        att = F.softmax(att, dim=-1)
        y = att @ v
        return y, att


@practice("UvA tutorials: scaled_dot_product as a function of its own")
class UvACross(nn.Module):
    def __init__(self, D_S, D_X, D_Q, D_V):
        super().__init__()
        self.W_Q = nn.Linear(D_S, D_Q)
        self.W_K = nn.Linear(D_X, D_Q)
        self.W_V = nn.Linear(D_X, D_V)
        self._reset_parameters()

    def _reset_parameters(self):
        for proj in (self.W_Q, self.W_K, self.W_V):
            nn.init.xavier_uniform_(proj.weight)
            proj.bias.data.fill_(0)

    @staticmethod
    def scaled_dot_product(q, k, v):
        d_k = q.size()[-1]
        attn_logits = torch.matmul(q, k.transpose(-2, -1))
        attn_logits = attn_logits / math.sqrt(d_k)
        attention = F.softmax(attn_logits, dim=-1)
        values = torch.matmul(attention, v)
        return values, attention

    def forward(self, S, X):
        values, attention = self.scaled_dot_product(self.W_Q(S), self.W_K(X), self.W_V(X))
        return values, attention


@practice("einops", needs="einops")
class EinopsCross(nn.Module):
    def __init__(self, D_S, D_X, D_Q, D_V):
        super().__init__()
        self.scale = D_Q**-0.5
        self.W_Q = nn.Linear(D_S, D_Q)
        self.W_K = nn.Linear(D_X, D_Q)
        self.W_V = nn.Linear(D_X, D_V)

    def forward(self, S, X):
        from einops import einsum

        q, k, v = self.W_Q(S) * self.scale, self.W_K(X), self.W_V(X)
        attn = einsum(q, k, "... i d, ... j d -> ... i j").softmax(dim=-1)
        return einsum(attn, v, "... i j, ... j d -> ... i d"), attn


@practice("Meta's Llama: softmax in float32")
class LlamaCross(nn.Module):
    def __init__(self, D_S, D_X, D_Q, D_V):
        super().__init__()
        self.head_dim = D_Q
        self.W_Q = nn.Linear(D_S, D_Q, bias=True)
        self.W_K = nn.Linear(D_X, D_Q, bias=True)
        self.W_V = nn.Linear(D_X, D_V, bias=True)

    def forward(self, S, X):
        xq, xk, xv = self.W_Q(S), self.W_K(X), self.W_V(X)
        scores = torch.matmul(xq, xk.transpose(-2, -1)) / math.sqrt(self.head_dim)
        scores = F.softmax(scores.float(), dim=-1).type_as(xq)
        output = torch.matmul(scores, xv)
        return output, scores


@practice("fairseq: queries scaled in place, flattened batch axes, bmm")
class FairseqCross(nn.Module):
    def __init__(self, D_S, D_X, D_Q, D_V):
        super().__init__()
        self.scaling = D_Q**-0.5
        self.W_Q = nn.Linear(D_S, D_Q)
        self.W_K = nn.Linear(D_X, D_Q)
        self.W_V = nn.Linear(D_X, D_V)

    def forward(self, S, X):
        *bsz, tgt_len, _ = S.size()
        src_len = X.size(-2)
        q = self.W_Q(S)
        q *= self.scaling
        q = q.reshape(-1, tgt_len, q.size(-1))
        k = self.W_K(X).reshape(-1, src_len, q.size(-1))
        v = self.W_V(X)
        v = v.reshape(-1, src_len, v.size(-1))
        attn_weights = torch.bmm(q, k.transpose(1, 2))
        attn_probs = F.softmax(attn_weights, dim=-1)
        attn = torch.bmm(attn_probs, v)
        return attn.view(*bsz, tgt_len, -1), attn_probs.view(*bsz, tgt_len, src_len)


@practice("numpy-minded: F.linear, the softmax by hand")
class HandCross(nn.Module):
    def __init__(self, D_S, D_X, D_Q, D_V):
        super().__init__()
        self.W_Q, self.W_K, self.W_V = nn.Linear(D_S, D_Q), nn.Linear(D_X, D_Q), nn.Linear(D_X, D_V)

    def forward(self, S, X):
        Q, K, V = (F.linear(Z, w.weight, w.bias) for Z, w in ((S, self.W_Q), (X, self.W_K), (X, self.W_V)))
        E = torch.einsum("...id,...jd->...ij", Q, K) / Q.shape[-1] ** 0.5
        A = torch.exp(E - E.amax(dim=-1, keepdim=True))
        A = A / A.sum(dim=-1, keepdim=True)
        return torch.einsum("...ij,...jd->...id", A, V), A
