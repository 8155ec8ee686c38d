"""Right answers to `SelfAttentionLayer`, as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("nanoGPT")
class NanoGPT(nn.Module):
    def __init__(self, D: int, D_Q: int, D_V: int):
        super().__init__()
        self.W_Q = nn.Linear(D, D_Q, bias=False)
        self.W_K = nn.Linear(D, D_Q, bias=False)
        self.W_V = nn.Linear(D, D_V, bias=False)

    def forward(self, X, P=None):
        x = X
        h = x if P is None else x + P
        q = self.W_Q(h)
        k = self.W_K(h)
        v = self.W_V(x)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = F.softmax(att, dim=-1)
        y = att @ v
        return y, att


@practice("DETR")
class DETR(nn.Module):
    def __init__(self, D: int, D_Q: int, D_V: int):
        super().__init__()
        self.W_Q = nn.Linear(D, D_Q, bias=False)
        self.W_K = nn.Linear(D, D_Q, bias=False)
        self.W_V = nn.Linear(D, D_V, bias=False)
        self._reset_parameters()

    def _reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def with_pos_embed(self, tensor, pos):
        return tensor if pos is None else tensor + pos

    def forward(self, X, P=None):
        src, pos = X, P
        q = k = self.with_pos_embed(src, pos)
        scaling = float(self.W_Q.out_features) ** -0.5
        q = self.W_Q(q) * scaling
        attn_output_weights = torch.matmul(q, self.W_K(k).transpose(-2, -1)).softmax(dim=-1)
        attn_output = torch.matmul(attn_output_weights, self.W_V(src))
        return attn_output, attn_output_weights


@practice("Meta's Llama code")
class Llama(nn.Module):
    def __init__(self, D: int, D_Q: int, D_V: int):
        super().__init__()
        self.head_dim = D_Q
        self.W_Q = nn.Linear(D, D_Q, bias=False)
        self.W_K = nn.Linear(D, D_Q, bias=False)
        self.W_V = nn.Linear(D, D_V, bias=False)

    def forward(self, X, P=None):
        h = X
        if P is not None:
            h = h + P.type_as(h)
        xq, xk, xv = self.W_Q(h), self.W_K(h), self.W_V(X)
        scores = torch.matmul(xq, xk.transpose(-2, -1)) / math.sqrt(self.head_dim)
        scores = F.softmax(scores.float(), dim=-1).type_as(xq)
        output = torch.matmul(scores, xv)
        return output, scores


@practice("einops", needs="einops")
class Lucidrains(nn.Module):
    def __init__(self, D: int, D_Q: int, D_V: int):
        super().__init__()
        self.scale = D_Q**-0.5
        self.W_Q = nn.Linear(D, D_Q, bias=False)
        self.W_K = nn.Linear(D, D_Q, bias=False)
        self.W_V = nn.Linear(D, D_V, bias=False)
        self.attend = nn.Softmax(dim=-1)

    def forward(self, X, P=None):
        from einops import einsum

        qk_input = X + P if P is not None else X
        q, k, v = self.W_Q(qk_input), self.W_K(qk_input), self.W_V(X)
        sim = einsum(q * self.scale, k, "... i d, ... j d -> ... i j")
        attn = self.attend(sim)
        out = einsum(attn, v, "... i j, ... j d -> ... i d")
        return out, attn


def _attention(query, key, value, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


@practice("the Annotated Transformer")
class Annotated(nn.Module):
    def __init__(self, D: int, D_Q: int, D_V: int):
        super().__init__()
        self.W_Q, self.W_K, self.W_V = (nn.Linear(D, width, bias=False) for width in (D_Q, D_Q, D_V))
        self.attn = None

    def forward(self, X, P=None):
        placed = X
        if P is not None:
            placed = X + P.unsqueeze(0).expand_as(X) if X.dim() == 3 else X + P
        query, key, value = [lin(x) for lin, x in zip((self.W_Q, self.W_K, self.W_V), (placed, placed, X))]
        x, self.attn = _attention(query, key, value)
        return x, self.attn


@practice("d2l")
class D2L(nn.Module):
    def __init__(self, D: int, D_Q: int, D_V: int):
        super().__init__()
        self.W_Q = nn.Linear(D, D_Q, bias=False)
        self.W_K = nn.Linear(D, D_Q, bias=False)
        self.W_V = nn.Linear(D, D_V, bias=False)

    def forward(self, X, P=None):
        N, D = X.shape[-2:]
        batch = X.shape[:-2]
        inputs = X.reshape(-1, N, D)
        if P is None:
            P = torch.zeros((N, D), dtype=X.dtype, device=X.device)
        queries, keys, values = self.W_Q(inputs + P), self.W_K(inputs + P), self.W_V(inputs)
        d = queries.shape[-1]
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(d)
        self.attention_weights = nn.functional.softmax(scores, dim=-1)
        outputs = torch.bmm(self.attention_weights, values)
        return outputs.reshape(*batch, N, -1), self.attention_weights.reshape(*batch, N, N)
