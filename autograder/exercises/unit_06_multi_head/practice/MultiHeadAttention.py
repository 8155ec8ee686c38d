"""Right answers to `MultiHeadAttention`, as others write them."""

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
        self.W_QKV = nn.Linear(self.n_embd, 3 * self.n_embd)
        self.W_O = nn.Linear(self.n_embd, self.n_embd)
        self.attn_dropout = nn.Dropout(0.0)
        self.resid_dropout = nn.Dropout(0.0)

    def forward(self, X, context=None):
        B, T, C = X.size()
        q, k, v = self.W_QKV(X).split(self.n_embd, dim=2)
        if context is not None:
            _, k, v = self.W_QKV(context).split(self.n_embd, dim=2)
        S = k.size(1)
        k = k.view(B, S, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, S, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = F.softmax(att, dim=-1)
        y = self.attn_dropout(att) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.W_O(y)), att


@practice("timm")
class Timm(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.num_heads = H
        self.head_dim = D_H
        self.scale = D_H**-0.5
        dim = H * D_H
        self.W_QKV = nn.Linear(dim, dim * 3, bias=True)
        self.attn_drop = nn.Identity()
        self.W_O = nn.Linear(dim, dim)

    def _qkv(self, x):
        B, N, _ = x.shape
        return self.W_QKV(x).reshape(B, N, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)

    def forward(self, X, context=None):
        x = X
        B, N, C = x.shape
        q, k, v = self._qkv(x).unbind(0)
        if context is not None:
            _, k, v = self._qkv(context).unbind(0)
        q = q * self.scale
        attn = q @ k.transpose(-2, -1)
        attn = attn.softmax(dim=-1)
        attn = self.attn_drop(attn)
        x = attn @ v
        x = x.transpose(1, 2).reshape(B, N, C)
        return self.W_O(x), attn


@practice("fairseq and torch's functional multi_head_attention_forward")
class Fairseq(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.num_heads, self.head_dim, self.embed_dim = H, D_H, H * D_H
        self.scaling = self.head_dim**-0.5
        self.W_QKV = nn.Linear(self.embed_dim, 3 * self.embed_dim, bias=True)
        self.W_O = nn.Linear(self.embed_dim, self.embed_dim, bias=True)
        nn.init.xavier_uniform_(self.W_QKV.weight, gain=1 / math.sqrt(2))
        nn.init.xavier_uniform_(self.W_O.weight)
        nn.init.constant_(self.W_O.bias, 0.0)

    def _in_proj(self, input, start=0, end=None):
        return F.linear(input, self.W_QKV.weight[start:end, :], self.W_QKV.bias[start:end])

    def forward(self, X, context=None):
        query = X.transpose(0, 1)
        tgt_len, bsz, embed_dim = query.size()
        key = query if context is None else context.transpose(0, 1)
        q = self._in_proj(query, end=embed_dim)
        k, v = self._in_proj(key, start=embed_dim).chunk(2, dim=-1)
        q = q * self.scaling
        q = q.contiguous().view(tgt_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        k = k.contiguous().view(-1, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        v = v.contiguous().view(-1, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        src_len = k.size(1)
        attn_weights = torch.bmm(q, k.transpose(1, 2))
        attn_weights = F.softmax(attn_weights.float(), dim=-1).type_as(attn_weights)
        attn = torch.bmm(attn_weights, v)
        attn = attn.transpose(0, 1).contiguous().view(tgt_len, bsz, embed_dim)
        attn = self.W_O(attn)
        return attn.transpose(0, 1), attn_weights.view(bsz, self.num_heads, tgt_len, src_len)


@practice("einops", needs="einops")
class Lucidrains(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        inner_dim = D_H * H
        self.heads = H
        self.scale = D_H**-0.5
        self.attend = nn.Softmax(dim=-1)
        self.W_QKV = nn.Linear(inner_dim, inner_dim * 3)
        self.W_O = nn.Linear(inner_dim, inner_dim)

    def forward(self, X, context=None):
        from einops import rearrange

        x = X
        kv_input = x if context is None else context
        q = self.W_QKV(x).chunk(3, dim=-1)[0]
        k, v = self.W_QKV(kv_input).chunk(3, dim=-1)[1:]
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), (q, k, v))
        dots = torch.einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        attn = self.attend(dots)
        out = torch.einsum("b h i j, b h j d -> b h i d", attn, v)
        out = rearrange(out, "b h n d -> b n (h d)")
        return self.W_O(out), attn


@practice("Megatron and GPT-NeoX: baddbmm")
class Megatron(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.np, self.hn = H, D_H
        self.norm_factor = math.sqrt(D_H)
        self.W_QKV = nn.Linear(H * D_H, 3 * H * D_H)
        self.W_O = nn.Linear(H * D_H, H * D_H)

    def forward(self, X, context=None):
        memory = X if context is None else context
        b, sq, h = X.shape
        sk = memory.shape[1]
        query_layer = self.W_QKV(X)[..., :h].reshape(b, sq, self.np, self.hn).permute(0, 2, 1, 3)
        mixed_kv_layer = self.W_QKV(memory)[..., h:].reshape(b, sk, 2, self.np, self.hn)
        key_layer, value_layer = mixed_kv_layer.permute(2, 0, 3, 1, 4)
        matmul_input_buffer = torch.empty(b * self.np, sq, sk, dtype=X.dtype, device=X.device)
        attention_scores = torch.baddbmm(
            matmul_input_buffer,
            query_layer.flatten(0, 1),
            key_layer.flatten(0, 1).transpose(1, 2),
            beta=0.0,
            alpha=(1.0 / self.norm_factor),
        ).view(b, self.np, sq, sk)
        attention_probs = torch.softmax(attention_scores, dim=-1)
        context_layer = torch.matmul(attention_probs, value_layer)
        context_layer = context_layer.permute(0, 2, 1, 3).contiguous().view(b, sq, h)
        return self.W_O(context_layer), attention_probs


@practice("a list of heads, one after another")
class Heads(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.H, self.D_H = H, D_H
        self.W_QKV = nn.Linear(H * D_H, 3 * H * D_H)
        self.W_O = nn.Linear(H * D_H, H * D_H)

    def forward(self, X, context=None):
        D = self.H * self.D_H
        source = X if context is None else context
        QKV_X, QKV_source = self.W_QKV(X), self.W_QKV(source)
        outputs, weights = [], []
        for h in range(self.H):
            own = slice(h * self.D_H, (h + 1) * self.D_H)
            Q = QKV_X[:, :, :D][:, :, own]
            K = QKV_source[:, :, D : 2 * D][:, :, own]
            V = QKV_source[:, :, 2 * D :][:, :, own]
            A = torch.softmax(torch.bmm(Q, K.mT) / self.D_H**0.5, dim=-1)
            outputs.append(torch.bmm(A, V))
            weights.append(A)
        return self.W_O(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)
