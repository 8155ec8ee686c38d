"""Right answers to `MaskedMultiHeadAttention`, as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("nanoGPT")
class NanoGPT(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.n_head = H
        self.n_embd = H * D_H
        self.W_QKV = nn.Linear(self.n_embd, 3 * self.n_embd, bias=True)
        self.W_O = nn.Linear(self.n_embd, self.n_embd, bias=True)
        self.dropout = 0.0

    def forward(self, X, mask):
        B, T, C = X.size()
        q, k, v = self.W_QKV(X).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        bias = mask.expand(B, T, T).unsqueeze(1)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(bias == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        att = att.masked_fill(bias == 0, 0.0)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.W_O(y), att


@practice("Hugging Face transformers: an extended attention mask that is added")
class HF(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.num_attention_heads = H
        self.attention_head_size = D_H
        self.all_head_size = H * D_H
        self.W_QKV = nn.Linear(self.all_head_size, 3 * self.all_head_size)
        self.W_O = nn.Linear(self.all_head_size, self.all_head_size)
        self.dropout = nn.Dropout(0.0)

    def transpose_for_scores(self, x):
        new_x_shape = x.size()[:-1] + (self.num_attention_heads, self.attention_head_size)
        return x.view(new_x_shape).permute(0, 2, 1, 3)

    def forward(self, X, mask):
        if mask.dim() == 3:
            extended = mask[:, None, :, :]
        elif mask.dim() == 2:
            extended = mask[None, None, :, :]
        else:
            extended = mask
        min_dtype = torch.finfo(X.dtype).min
        attention_mask = torch.zeros(extended.shape, dtype=X.dtype, device=X.device).masked_fill(~extended, min_dtype)
        query, key, value = (self.transpose_for_scores(t) for t in self.W_QKV(X).chunk(3, dim=-1))
        attention_scores = torch.matmul(query, key.transpose(-1, -2))
        attention_scores = attention_scores / math.sqrt(self.attention_head_size)
        attention_scores = torch.max(attention_scores + attention_mask, torch.tensor(min_dtype).to(X))
        attention_probs = nn.functional.softmax(attention_scores, dim=-1)
        attention_probs = self.dropout(attention_probs).masked_fill(~extended, 0.0)
        context_layer = torch.matmul(attention_probs, value)
        context_layer = context_layer.permute(0, 2, 1, 3).contiguous()
        context_layer = context_layer.view(context_layer.size()[:-2] + (self.all_head_size,))
        return self.W_O(context_layer), attention_probs


@practice("einops and x-transformers", needs="einops")
class Lucidrains(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        dim = H * D_H
        self.heads = H
        self.scale = D_H**-0.5
        self.W_QKV = nn.Linear(dim, dim * 3)
        self.W_O = nn.Linear(dim, dim)

    def forward(self, X, mask):
        from einops import einsum, rearrange

        q, k, v = rearrange(self.W_QKV(X), "b n (qkv h d) -> qkv b h n d", qkv=3, h=self.heads)
        sim = einsum(q, k, "b h i d, b h j d -> b h i j") * self.scale
        mask = rearrange(mask, "... i j -> ... 1 i j")
        max_neg_value = -torch.finfo(sim.dtype).max
        sim = sim.masked_fill(~mask, max_neg_value)
        attn = sim.softmax(dim=-1)
        attn = attn.masked_fill(~mask, 0.0)
        out = einsum(attn, v, "b h i j, b h j d -> b h i d")
        out = rearrange(out, "b h n d -> b n (h d)")
        return self.W_O(out), attn


@practice("fairseq: batch and heads in one axis")
class Fairseq(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.num_heads = H
        self.head_dim = D_H
        self.scaling = D_H**-0.5
        self.W_QKV = nn.Linear(H * D_H, 3 * H * D_H)
        self.W_O = nn.Linear(H * D_H, H * D_H)

    def forward(self, X, mask):
        bsz, tgt_len, embed_dim = X.size()
        q, k, v = self.W_QKV(X.transpose(0, 1)).chunk(3, dim=-1)
        q, k, v = (
            t.contiguous().view(tgt_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
            for t in (q * self.scaling, k, v)
        )
        attn_weights = torch.bmm(q, k.transpose(1, 2))
        attn_weights = attn_weights.view(bsz, self.num_heads, tgt_len, tgt_len)
        key_padding_mask = ~mask.unsqueeze(-3)
        attn_weights = attn_weights.masked_fill(key_padding_mask.to(torch.bool), float("-inf"))
        attn_weights_float = F.softmax(attn_weights, dim=-1, dtype=torch.float32)
        attn_weights_float = attn_weights_float.masked_fill(key_padding_mask, 0.0)
        attn_weights = attn_weights_float.type_as(attn_weights)
        attn = torch.bmm(attn_weights.view(bsz * self.num_heads, tgt_len, tgt_len), v)
        attn = attn.transpose(0, 1).contiguous().view(tgt_len, bsz, embed_dim)
        return self.W_O(attn).transpose(0, 1), attn_weights


def _masked_softmax(E, mask):
    E = torch.where(mask, E, -math.inf)
    nothing = ~mask.any(dim=-1, keepdim=True)
    A = E.masked_fill(nothing, 0).softmax(dim=-1)
    return A.masked_fill(nothing, 0)


@practice("timm, with the student's masked softmax")
class Timm(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.num_heads, self.head_dim = H, D_H
        self.W_QKV = nn.Linear(H * D_H, H * D_H * 3)
        self.W_O = nn.Linear(H * D_H, H * D_H)

    def forward(self, X, mask):
        B, N, C = X.shape
        qkv = self.W_QKV(X).reshape(B, N, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = _masked_softmax(q @ k.mT / self.head_dim**0.5, mask.unsqueeze(-3))
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.W_O(x), attn


@practice("a loop over heads")
class Heads(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.H, self.D_H = H, D_H
        self.W_QKV = nn.Linear(H * D_H, 3 * H * D_H)
        self.W_O = nn.Linear(H * D_H, H * D_H)

    def forward(self, X, mask):
        B, N, _ = X.shape
        mask = mask.expand(B, N, N)
        Q, K, V = self.W_QKV(X).split(self.H * self.D_H, dim=-1)
        Y, A = [], []
        for q, k, v in zip(Q.split(self.D_H, -1), K.split(self.D_H, -1), V.split(self.D_H, -1)):
            a = _masked_softmax(torch.einsum("bmd,bnd->bmn", q, k) / math.sqrt(self.D_H), mask)
            Y.append(torch.einsum("bmn,bnd->bmd", a, v))
            A.append(a)
        return self.W_O(torch.cat(Y, dim=-1)), torch.stack(A, dim=1)
