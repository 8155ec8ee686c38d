"""Right answers to `TransformerBlock`, as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("nanoGPT")
class NanoGPT(nn.Module):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__()
        assert D % H == 0
        self.norm_1 = nn.LayerNorm(D)
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.norm_2 = nn.LayerNorm(D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)
        self.n_head, self.n_embd = H, D
        self.norm_first = norm_first

    def attn(self, x, mask):
        B, T, C = x.size()
        q, k, v = self.W_QKV(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if mask is not None:
            mask = mask.unsqueeze(1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.0)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.W_O(y)

    def mlp(self, x):
        return self.W_out(F.gelu(self.W_in(x)))

    def forward(self, X, mask=None):
        x = X
        if self.norm_first:
            x = x + self.attn(self.norm_1(x), mask)
            x = x + self.mlp(self.norm_2(x))
        else:
            x = self.norm_1(x + self.attn(x, mask))
            x = self.norm_2(x + self.mlp(x))
        return x


@practice("minGPT")
class MinGPT(nn.Module):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__()
        self.norm_1 = nn.LayerNorm(D)
        self.norm_2 = nn.LayerNorm(D)
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.W_in = nn.Linear(D, D_F)
        self.act = nn.GELU()
        self.W_out = nn.Linear(D_F, D)
        self.n_head = H
        self.n_embd = D
        self.norm_first = norm_first
        self.mlpf = lambda x: self.W_out(self.act(self.W_in(x)))

    def attn(self, x, mask):
        B, T, C = x.size()
        q, k, v = self.W_QKV(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        if mask is not None:
            att = att.masked_fill(mask[:, None, :, :] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.W_O(y)

    def forward(self, X, mask=None):
        if not self.norm_first:
            X = self.norm_1(X + self.attn(X, mask))
            return self.norm_2(X + self.mlpf(X))
        X = X + self.attn(self.norm_1(X), mask)
        return X + self.mlpf(self.norm_2(X))


@practice("the Annotated Transformer")
class Annotated(nn.Module):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__()
        assert D % H == 0
        self.d_k = D // H
        self.h = H
        self.norm_first = norm_first
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)
        self.norm_1 = nn.LayerNorm(D)
        self.norm_2 = nn.LayerNorm(D)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def self_attn(self, x, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        nbatches = x.size(0)
        query, key, value = [
            y.view(nbatches, -1, self.h, self.d_k).transpose(1, 2) for y in self.W_QKV(x).chunk(3, dim=-1)
        ]
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -torch.inf)
        p_attn = scores.softmax(dim=-1)
        x = torch.matmul(p_attn, value)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.W_O(x)

    def feed_forward(self, x):
        return self.W_out(F.gelu(self.W_in(x)))

    def sublayer(self, x, norm, sublayer):
        if self.norm_first:
            return x + sublayer(norm(x))
        return norm(x + sublayer(x))

    def forward(self, X, mask=None):
        x = self.sublayer(X, self.norm_1, lambda x: self.self_attn(x, mask))
        return self.sublayer(x, self.norm_2, self.feed_forward)


@practice("timm")
class Timm(nn.Module):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__()
        self.num_heads = H
        head_dim = D // H
        self.scale = head_dim**-0.5
        self.norm_first = norm_first
        self.norm_1 = nn.LayerNorm(D)
        self.W_QKV = nn.Linear(D, D * 3, bias=True)
        self.W_O = nn.Linear(D, D)
        self.norm_2 = nn.LayerNorm(D)
        self.W_in = nn.Linear(D, D_F)
        self.act = nn.GELU()
        self.W_out = nn.Linear(D_F, D)

    def attn(self, x, mask):
        B, N, C = x.shape
        qkv = self.W_QKV(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q = q * self.scale
        attn = q @ k.transpose(-2, -1)
        if mask is not None:
            attn = attn.masked_fill(~mask[:, None], float("-inf"))
        attn = attn.softmax(dim=-1)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.W_O(x)

    def mlp(self, x):
        x = self.W_in(x)
        x = self.act(x)
        return self.W_out(x)

    def forward(self, X, mask=None):
        if self.norm_first:
            x = X + self.attn(self.norm_1(X), mask)
            x = x + self.mlp(self.norm_2(x))
        else:
            x = self.norm_1(X + self.attn(X, mask))
            x = self.norm_2(x + self.mlp(x))
        return x


@practice("Hugging Face, additive mask and softmax in float32")
class HuggingFace(nn.Module):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__()
        self.num_heads = H
        self.head_dim = D // H
        self.normalize_before = norm_first
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)
        self.norm_1 = nn.LayerNorm(D)
        self.norm_2 = nn.LayerNorm(D)

    def _attn(self, hidden_states, attention_mask):
        input_shape = hidden_states.shape[:-1]
        hidden_shape = (*input_shape, -1, self.head_dim)
        query, key, value = self.W_QKV(hidden_states).split(self.num_heads * self.head_dim, dim=-1)
        query = query.view(hidden_shape).transpose(1, 2)
        key = key.view(hidden_shape).transpose(1, 2)
        value = value.view(hidden_shape).transpose(1, 2)
        attn_weights = torch.matmul(query, key.transpose(2, 3)) * self.head_dim**-0.5
        if attention_mask is not None:
            attn_weights = attn_weights + attention_mask
        attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query.dtype)
        attn_output = torch.matmul(attn_weights, value).transpose(1, 2).contiguous()
        return self.W_O(attn_output.reshape(*input_shape, -1).contiguous())

    def forward(self, X, mask=None):
        hidden_states = X
        if mask is not None:
            bias = torch.zeros(mask.shape, dtype=X.dtype, device=X.device)
            mask = bias.masked_fill(mask.logical_not(), torch.finfo(X.dtype).min)[:, None, :, :]
        residual = hidden_states
        if self.normalize_before:
            hidden_states = self.norm_1(hidden_states)
        hidden_states = residual + self._attn(hidden_states, mask)
        if not self.normalize_before:
            hidden_states = self.norm_1(hidden_states)
        residual = hidden_states
        if self.normalize_before:
            hidden_states = self.norm_2(hidden_states)
        hidden_states = residual + self.W_out(nn.functional.gelu(self.W_in(hidden_states)))
        if not self.normalize_before:
            hidden_states = self.norm_2(hidden_states)
        return hidden_states


@practice("einops", needs="einops")
class Lucidrains(nn.Module):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__()
        self.heads = H
        self.scale = (D // H) ** -0.5
        self.norm_first = norm_first
        self.norm_1 = nn.LayerNorm(D)
        self.W_QKV = nn.Linear(D, D * 3)
        self.W_O = nn.Linear(D, D)
        self.norm_2 = nn.LayerNorm(D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)

    def attend(self, x, mask):
        from einops import einsum, rearrange

        qkv = self.W_QKV(x).chunk(3, dim=-1)
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads), qkv)
        q = q * self.scale
        sim = einsum(q, k, "b h i d, b h j d -> b h i j")
        if mask is not None:
            mask = rearrange(mask, "b i j -> b 1 i j")
            sim = sim.masked_fill(~mask, -torch.finfo(sim.dtype).max)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        attn = sim.softmax(dim=-1)
        out = einsum(attn, v, "b h i j, b h j d -> b h i d")
        return self.W_O(rearrange(out, "b h n d -> b n (h d)"))

    def forward(self, X, mask=None):
        ff = nn.Sequential(self.W_in, nn.GELU(), self.W_out)
        if self.norm_first:
            X = self.attend(self.norm_1(X), mask) + X
            return ff(self.norm_2(X)) + X
        X = self.norm_1(self.attend(X, mask) + X)
        return self.norm_2(ff(X) + X)


@practice("fairseq")
class Fairseq(nn.Module):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__()
        self.embed_dim = D
        self.num_heads = H
        self.head_dim = D // H
        self.scaling = self.head_dim**-0.5
        self.normalize_before = norm_first
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.norm_1 = nn.LayerNorm(D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)
        self.norm_2 = nn.LayerNorm(D)

    def self_attn(self, x, key_mask):
        x = x.transpose(0, 1)
        tgt_len, bsz, embed_dim = x.size()
        q, k, v = self.W_QKV(x).chunk(3, dim=-1)
        q = q * self.scaling
        q = q.contiguous().view(tgt_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        k = k.contiguous().view(-1, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        v = v.contiguous().view(-1, bsz * self.num_heads, self.head_dim).transpose(0, 1)
        attn_weights = torch.bmm(q, k.transpose(1, 2))
        if key_mask is not None:
            attn_weights = attn_weights.view(bsz, self.num_heads, tgt_len, tgt_len)
            attn_weights = attn_weights.masked_fill(key_mask.unsqueeze(1).logical_not(), float("-inf"))
            attn_weights = attn_weights.view(bsz * self.num_heads, tgt_len, tgt_len)
        attn_probs = F.softmax(attn_weights, dim=-1, dtype=torch.float32).type_as(attn_weights)
        attn = torch.bmm(attn_probs, v)
        attn = attn.transpose(0, 1).contiguous().view(tgt_len, bsz, embed_dim)
        return self.W_O(attn).transpose(0, 1)

    def maybe_layer_norm(self, layer_norm, x, before=False, after=False):
        assert before ^ after
        return layer_norm(x) if after ^ self.normalize_before else x

    def forward(self, X, mask=None):
        x = X
        residual = x
        x = self.maybe_layer_norm(self.norm_1, x, before=True)
        x = residual + self.self_attn(x, mask)
        x = self.maybe_layer_norm(self.norm_1, x, after=True)
        residual = x
        x = self.maybe_layer_norm(self.norm_2, x, before=True)
        x = residual + self.W_out(F.gelu(self.W_in(x)))
        return self.maybe_layer_norm(self.norm_2, x, after=True)


@practice("plain loops over heads")
class Loops(nn.Module):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__()
        self.D, self.H, self.norm_first = D, H, norm_first
        self.norm_1, self.norm_2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.W_QKV, self.W_O = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.W_in, self.W_out = nn.Linear(D, D_F), nn.Linear(D_F, D)

    def attention(self, X, mask):
        QKV = self.W_QKV(X)
        Q, K, V = QKV[..., : self.D], QKV[..., self.D : 2 * self.D], QKV[..., 2 * self.D :]
        size = self.D // self.H
        heads = []
        for h in range(self.H):
            part = slice(h * size, (h + 1) * size)
            scores = Q[..., part] @ K[..., part].mT / size**0.5
            if mask is not None:
                scores = torch.where(mask, scores, -math.inf)
            heads.append(torch.softmax(scores, -1) @ V[..., part])
        return self.W_O(torch.cat(heads, -1))

    def MLP(self, X):
        return self.W_out(F.gelu(self.W_in(X)))

    def forward(self, X, mask=None):
        if self.norm_first:
            X_1 = X + self.attention(self.norm_1(X), mask)
            return X_1 + self.MLP(self.norm_2(X_1))
        X_1 = self.norm_1(X + self.attention(X, mask))
        return self.norm_2(X_1 + self.MLP(X_1))
