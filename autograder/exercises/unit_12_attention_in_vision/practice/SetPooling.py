"""Right answers to `SetPooling`, as others write them."""

import math

import torch
import torch.nn.functional as F
from torch import einsum, nn

from autograder.bank.practice import practice


@practice("Set Transformer")
class PMA(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.dim = D
        self.seed = nn.Parameter(torch.Tensor(D))
        nn.init.normal_(self.seed)
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def forward(self, X, mask):
        Q = self.seed.view(1, 1, -1).repeat(X.size(0), 1, 1)
        K, V = self.W_K(X), self.W_V(X)
        A = Q.bmm(K.transpose(1, 2)) / math.sqrt(self.dim)
        A = A.masked_fill(mask.unsqueeze(1) == 0, -float("inf"))
        return torch.softmax(A, 2).bmm(V).squeeze(1)


@practice("lucidrains", needs="einops")
class AttentionPool(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.scale = D**-0.5
        self.seed = nn.Parameter(torch.randn(D) * 0.02)
        self.W_K, self.W_V = (nn.Linear(D, D, bias=False) for _ in range(2))

    def forward(self, X, mask):
        from einops import rearrange

        k, v = self.W_K(X), self.W_V(X)
        sim = einsum("d, b n d -> b n", self.seed * self.scale, k)
        sim = sim.masked_fill(~mask, -torch.finfo(sim.dtype).max)
        attn = rearrange(sim.softmax(dim=-1), "b n -> b n 1")
        return (attn * v).sum(dim=-2)


@practice("timm")
class AttentionPoolLatent(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.zeros(D))
        nn.init.trunc_normal_(self.seed, std=D**-0.5)
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def forward(self, X, mask):
        B, N, C = X.shape
        q = self.seed.expand(B, 1, 1, C)
        k = self.W_K(X).reshape(B, N, 1, C).transpose(1, 2)
        v = self.W_V(X).reshape(B, N, 1, C).transpose(1, 2)
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        return x.transpose(1, 2).reshape(B, 1, C)[:, 0]


@practice("transformers")
class HuggingFace(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.hidden_size = D
        self.seed = nn.Parameter(torch.ones(D))
        self.W_K = nn.Linear(self.hidden_size, self.hidden_size, bias=False)
        self.W_V = nn.Linear(self.hidden_size, self.hidden_size, bias=False)

    def forward(self, X, mask):
        extended_attention_mask = (1.0 - mask.to(X.dtype)) * torch.finfo(X.dtype).min
        key_layer, value_layer = self.W_K(X), self.W_V(X)
        attention_scores = torch.matmul(key_layer, self.seed.unsqueeze(-1)).squeeze(-1)
        attention_scores = attention_scores / math.sqrt(self.hidden_size)
        attention_scores = torch.where(mask, attention_scores, extended_attention_mask)
        attention_probs = nn.functional.softmax(attention_scores, dim=-1)
        return torch.matmul(attention_probs.unsqueeze(1), value_layer).squeeze(1)


@practice("d2l")
class D2l(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.rand(D))
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def masked_softmax(self, X, valid):
        shape = X.shape
        X = X.reshape(-1, shape[-1]).clone()
        X[~valid.reshape(-1, shape[-1])] = torch.finfo(X.dtype).min
        return F.softmax(X.reshape(shape), dim=-1)

    def forward(self, X, mask):
        queries, keys, values = self.seed.repeat(len(X), 1, 1), self.W_K(X), self.W_V(X)
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
        self.attention_weights = self.masked_softmax(scores, mask.unsqueeze(1))
        return torch.bmm(self.attention_weights, values)[:, 0, :]


@practice("plain loops")
class Loops(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.randn(D))
        self.W_K, self.W_V = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)

    def forward(self, X, mask):
        out = []
        for points, there in zip(X, mask):
            scores, values = [], []
            for n, point in enumerate(points):
                if there[n]:
                    scores.append(torch.dot(self.seed, self.W_K(point)) / math.sqrt(len(point)))
                    values.append(self.W_V(point))
            weights = torch.softmax(torch.stack(scores), dim=0)
            out.append(sum(w * v for w, v in zip(weights, values)))
        return torch.stack(out)
