"""Right answers to `AttentionLayer`, as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("nanoGPT")
class NanoLayer(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        k, v = self.W_K(X), self.W_V(X)
        att = (Q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = F.softmax(att, dim=-1)
        return att @ v, att


class DotProductAttention(nn.Module):
    """d2l's layer without weights."""

    def forward(self, queries, keys, values):
        d = queries.shape[-1]
        scores = torch.matmul(queries, keys.transpose(-1, -2)) / math.sqrt(d)
        self.attention_weights = nn.functional.softmax(scores, dim=-1)
        return torch.matmul(self.attention_weights, values)


@practice("d2l: a module for the attention itself")
class D2LLayer(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.attention = DotProductAttention()
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        Y = self.attention(Q, self.W_K(X), self.W_V(X))
        return Y, self.attention.attention_weights


@practice("einops", needs="einops")
class EinopsLayer(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.scale = D_Q**-0.5
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        from einops import einsum

        sim = einsum(Q, self.W_K(X), "... i d, ... j d -> ... i j") * self.scale
        attn = sim.softmax(dim=-1)
        return einsum(attn, self.W_V(X), "... i j, ... j d -> ... i d"), attn


@practice("Hugging Face: eager_attention_forward")
class HFLayer(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.head_dim = D_Q
        self.scaling = self.head_dim**-0.5
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        query, key, value = Q, self.W_K(X), self.W_V(X)
        attn_weights = torch.matmul(query, key.transpose(-2, -1)) * self.scaling
        attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query.dtype)
        attn_weights = nn.functional.dropout(attn_weights, p=0.0, training=self.training)
        attn_output = torch.matmul(attn_weights, value).contiguous()
        return attn_output, attn_weights


@practice("bentrevett's tutorials: the root as a tensor, in a buffer")
class BufferLayer(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)
        nn.init.xavier_uniform_(self.W_K.weight)
        nn.init.xavier_uniform_(self.W_V.weight)
        self.register_buffer("root", torch.tensor(float(D_Q)).sqrt(), persistent=False)

    def forward(self, Q, X):
        energy = torch.einsum("...qd,...kd->...qk", Q, self.W_K(X)) / self.root.to(Q.dtype)
        attention = torch.softmax(energy, dim=-1)
        return torch.einsum("...qk,...kd->...qd", attention, self.W_V(X)), attention


@practice("numpy-minded: weight matrices; the weighted sum before the projection")
class LateLayer(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K, self.W_V = (nn.Linear(D_X, n, bias=False) for n in (D_Q, D_V))

    def forward(self, Q, X):
        E = Q @ (X @ self.W_K.weight.T).mT / Q.shape[-1] ** 0.5
        A = E.softmax(-1)
        return (A @ X) @ self.W_V.weight.T, A
