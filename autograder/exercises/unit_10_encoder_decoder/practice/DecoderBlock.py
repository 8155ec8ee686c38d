"""Right answers to `DecoderBlock`, as others write them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.bank.practice import practice


@practice("nanoGPT")
class Nano(nn.Module):
    def __init__(self, D, H, D_F):
        super().__init__()
        assert D % H == 0
        self.n_head, self.n_embd = H, D
        self.norm_1 = nn.LayerNorm(D)
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.norm_2 = nn.LayerNorm(D)
        self.W_Q = nn.Linear(D, D)
        self.W_KV = nn.Linear(D, 2 * D)
        self.W_C = nn.Linear(D, D)
        self.norm_3 = nn.LayerNorm(D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)

    def heads(self, x):
        B, T, C = x.size()
        return x.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)  # (B, nh, T, hs)

    def attn(self, x):
        B, T, C = x.size()
        q, k, v = map(self.heads, self.W_QKV(x).split(self.n_embd, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0, is_causal=True)
        return self.W_O(y.transpose(1, 2).contiguous().view(B, T, C))

    def cross(self, x, memory, mask):
        B, T, C = x.size()
        q = self.heads(self.W_Q(x))
        k, v = map(self.heads, self.W_KV(memory).split(self.n_embd, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.view(B, 1, 1, -1))
        return self.W_C(y.transpose(1, 2).contiguous().view(B, T, C))

    def forward(self, X, memory, mask):
        x = X + self.attn(self.norm_1(X))
        x = x + self.cross(self.norm_2(x), memory, mask)
        return x + self.W_out(F.relu(self.W_in(self.norm_3(x))))


class SublayerConnection:
    "A residual connection, with the norm first as opposed to last."

    def __call__(self, x, norm, sublayer):
        return x + sublayer(norm(x))


def attention(query, key, value, mask=None):
    "Compute 'Scaled Dot Product Attention'"
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, value), p_attn


def subsequent_mask(size, device):
    "Mask out subsequent positions."
    attn_shape = (1, size, size)
    return torch.triu(torch.ones(attn_shape, device=device), diagonal=1).type(torch.uint8) == 0


@practice("the Annotated Transformer")
class Annotated(nn.Module):
    "Decoder is made of self-attn, src-attn, and feed forward."

    def __init__(self, D, H, D_F):
        super().__init__()
        assert D % H == 0
        self.d_k = D // H
        self.h = H
        self.size = D
        self.W_QKV, self.W_O = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.W_Q, self.W_KV, self.W_C = nn.Linear(D, D), nn.Linear(D, 2 * D), nn.Linear(D, D)
        self.W_in, self.W_out = nn.Linear(D, D_F), nn.Linear(D_F, D)
        self.norm_1, self.norm_2, self.norm_3 = [nn.LayerNorm(D) for _ in range(3)]
        self.sublayer = [SublayerConnection() for _ in range(3)]

    def attn(self, query, key, value, mask):
        nbatches = query.size(0)
        query, key, value = [x.view(nbatches, -1, self.h, self.d_k).transpose(1, 2) for x in (query, key, value)]
        x, self.p_attn = attention(query, key, value, mask=mask.unsqueeze(1))
        return x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)

    def self_attn(self, x, mask):
        qkv = self.W_QKV(x)
        return self.W_O(
            self.attn(qkv[..., : self.size], qkv[..., self.size : -self.size], qkv[..., -self.size :], mask)
        )

    def src_attn(self, x, m, mask):
        key, value = torch.chunk(self.W_KV(m), 2, dim=2)
        return self.W_C(self.attn(self.W_Q(x), key, value, mask))

    def feed_forward(self, x):
        return self.W_out(self.W_in(x).relu())

    def forward(self, X, memory, mask):
        m, src_mask = memory, mask.unsqueeze(-2)
        tgt_mask = subsequent_mask(X.size(1), X.device)
        x = self.sublayer[0](X, self.norm_1, lambda x: self.self_attn(x, tgt_mask))
        x = self.sublayer[1](x, self.norm_2, lambda x: self.src_attn(x, m, src_mask))
        return self.sublayer[2](x, self.norm_3, self.feed_forward)


@practice("transformers")
class HuggingFace(nn.Module):
    def __init__(self, D, H, D_F):
        super().__init__()
        self.embed_dim = D
        self.num_heads = H
        self.head_dim = D // H
        self.scaling = self.head_dim**-0.5
        self.norm_1 = nn.LayerNorm(self.embed_dim)
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.activation_fn = nn.ReLU()
        self.norm_2 = nn.LayerNorm(self.embed_dim)
        self.W_Q = nn.Linear(D, D)
        self.W_KV = nn.Linear(D, 2 * D)
        self.W_C = nn.Linear(D, D)
        self.W_in = nn.Linear(self.embed_dim, D_F)
        self.W_out = nn.Linear(D_F, self.embed_dim)
        self.norm_3 = nn.LayerNorm(self.embed_dim)

    def _shape(self, tensor, seq_len, bsz):
        return tensor.view(bsz, seq_len, self.num_heads, self.head_dim).transpose(1, 2).contiguous()

    def _attend(self, query_states, key_states, value_states, attention_mask):
        bsz, tgt_len, _ = query_states.size()
        src_len = key_states.size(1)
        proj_shape = (bsz * self.num_heads, -1, self.head_dim)
        query_states = self._shape(query_states * self.scaling, tgt_len, bsz).view(*proj_shape)
        key_states = self._shape(key_states, src_len, bsz).reshape(*proj_shape)
        value_states = self._shape(value_states, src_len, bsz).reshape(*proj_shape)
        attn_weights = torch.bmm(query_states, key_states.transpose(1, 2))
        attn_weights = attn_weights.view(bsz, self.num_heads, tgt_len, src_len) + attention_mask
        attn_weights = attn_weights.view(bsz * self.num_heads, tgt_len, src_len)
        attn_weights = nn.functional.softmax(attn_weights, dim=-1)
        attn_output = torch.bmm(attn_weights, value_states)
        attn_output = attn_output.view(bsz, self.num_heads, tgt_len, self.head_dim).transpose(1, 2)
        return attn_output.reshape(bsz, tgt_len, self.embed_dim)

    def forward(self, X, memory, mask):
        hidden_states = X
        tgt_len, dtype = X.size(1), X.dtype
        causal_mask = torch.full((tgt_len, tgt_len), torch.finfo(dtype).min, dtype=dtype, device=X.device)
        mask_cond = torch.arange(tgt_len, device=X.device)
        causal_mask.masked_fill_(mask_cond < (mask_cond + 1).view(tgt_len, 1), 0)
        inverted_mask = 1.0 - mask[:, None, None, :].to(dtype)
        encoder_attention_mask = inverted_mask.masked_fill(inverted_mask.to(torch.bool), torch.finfo(dtype).min)

        residual = hidden_states
        hidden_states = self.norm_1(hidden_states)
        query, key, value = self.W_QKV(hidden_states).split(self.embed_dim, dim=-1)
        hidden_states = self.W_O(self._attend(query, key, value, causal_mask))
        hidden_states = residual + hidden_states

        residual = hidden_states
        hidden_states = self.norm_2(hidden_states)
        key, value = self.W_KV(memory).split(self.embed_dim, dim=-1)
        hidden_states = self.W_C(self._attend(self.W_Q(hidden_states), key, value, encoder_attention_mask))
        hidden_states = residual + hidden_states

        residual = hidden_states
        hidden_states = self.norm_3(hidden_states)
        hidden_states = self.activation_fn(self.W_in(hidden_states))
        hidden_states = self.W_out(hidden_states)
        return residual + hidden_states


def masked_softmax(X, valid_lens):
    """Softmax over the last axis, with -1e6 where the mask is False."""
    X = torch.where(valid_lens, X, torch.tensor(torch.finfo(X.dtype).min, dtype=X.dtype, device=X.device))
    return nn.functional.softmax(X, dim=-1)


@practice("d2l")
class DiveIntoDeepLearning(nn.Module):
    def __init__(self, D, H, D_F):
        super().__init__()
        self.num_heads = H
        self.W_QKV, self.W_O = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.W_Q, self.W_KV, self.W_C = nn.Linear(D, D), nn.Linear(D, 2 * D), nn.Linear(D, D)
        self.norm_1, self.norm_2, self.norm_3 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.W_in, self.relu, self.W_out = nn.Linear(D, D_F), nn.ReLU(), nn.Linear(D_F, D)

    def transpose_qkv(self, X):
        X = X.reshape(X.shape[0], X.shape[1], self.num_heads, -1)
        X = X.permute(0, 2, 1, 3)
        return X.reshape(-1, X.shape[2], X.shape[3])

    def transpose_output(self, X):
        X = X.reshape(-1, self.num_heads, X.shape[1], X.shape[2])
        X = X.permute(0, 2, 1, 3)
        return X.reshape(X.shape[0], X.shape[1], -1)

    def attention(self, queries, keys, values, valid):
        queries, keys, values = map(self.transpose_qkv, (queries, keys, values))
        valid = torch.repeat_interleave(valid, repeats=self.num_heads, dim=0)
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
        return self.transpose_output(torch.bmm(masked_softmax(scores, valid), values))

    def forward(self, X, memory, mask):
        batch_size, num_steps, num_hiddens = X.shape
        dec_valid_lens = torch.arange(1, num_steps + 1, device=X.device).repeat(batch_size, 1)
        dec_valid = torch.arange(num_steps, device=X.device)[None, None, :] < dec_valid_lens[:, :, None]
        Q, K, V = torch.tensor_split(self.W_QKV(self.norm_1(X)), 3, dim=-1)
        Y = X + self.W_O(self.attention(Q, K, V, dec_valid))
        K, V = torch.tensor_split(self.W_KV(memory), 2, dim=-1)
        Z = Y + self.W_C(self.attention(self.W_Q(self.norm_2(Y)), K, V, mask.unsqueeze(1)))
        return Z + self.W_out(self.relu(self.W_in(self.norm_3(Z))))


@practice("fairseq")
class Fairseq(nn.Module):
    """Time before batch, one axis for batch and heads, -inf where keys are padding."""

    def __init__(self, D, H, D_F):
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = D, H, D // H
        self.normalize_before = True
        self.norm_1 = nn.LayerNorm(D)
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.norm_2 = nn.LayerNorm(D)
        self.W_Q = nn.Linear(D, D)
        self.W_KV = nn.Linear(D, 2 * D)
        self.W_C = nn.Linear(D, D)
        self.norm_3 = nn.LayerNorm(D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)

    def attn(self, q, k, v, attn_mask=None, key_padding_mask=None):
        tgt_len, bsz, embed_dim = q.size()
        q = q * self.head_dim**-0.5
        q, k, v = (
            x.contiguous().view(-1, bsz * self.num_heads, self.head_dim).transpose(0, 1)  # bsz*heads x time x head_dim
            for x in (q, k, v)
        )
        attn_weights = torch.bmm(q, k.transpose(1, 2))
        if attn_mask is not None:
            attn_weights = attn_weights + attn_mask.unsqueeze(0)
        if key_padding_mask is not None:
            attn_weights = attn_weights.view(bsz, self.num_heads, tgt_len, -1)
            attn_weights = attn_weights.masked_fill(key_padding_mask.unsqueeze(1).unsqueeze(2), float("-inf"))
            attn_weights = attn_weights.view(bsz * self.num_heads, tgt_len, -1)
        attn = torch.bmm(F.softmax(attn_weights, dim=-1), v)
        return attn.transpose(0, 1).contiguous().view(tgt_len, bsz, embed_dim)

    def buffered_future_mask(self, tensor):
        dim = tensor.size(0)
        return torch.triu(torch.full([dim, dim], float("-inf"), dtype=tensor.dtype, device=tensor.device), 1)

    def forward(self, X, memory, mask):
        x, encoder_out, encoder_padding_mask = X.transpose(0, 1), memory.transpose(0, 1), ~mask
        residual = x
        q, k, v = self.W_QKV(self.norm_1(x)).chunk(3, dim=-1)
        x = residual + self.W_O(self.attn(q, k, v, attn_mask=self.buffered_future_mask(x)))
        residual = x
        q = self.W_Q(self.norm_2(x))
        k, v = self.W_KV(encoder_out).chunk(2, dim=-1)
        x = residual + self.W_C(self.attn(q, k, v, key_padding_mask=encoder_padding_mask))
        residual = x
        x = self.norm_3(x)
        x = F.relu(self.W_in(x))
        x = self.W_out(x)
        return (residual + x).transpose(0, 1)


@practice("plain loops")
class Loops(nn.Module):
    def __init__(self, D, H, D_F):
        super().__init__()
        self.D, self.H = D, H
        self.norm_1 = nn.LayerNorm(D)
        self.norm_2 = nn.LayerNorm(D)
        self.norm_3 = nn.LayerNorm(D)
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.W_Q = nn.Linear(D, D)
        self.W_KV = nn.Linear(D, 2 * D)
        self.W_C = nn.Linear(D, D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)

    def look(self, q, keys, values):
        """One query at some keys, each head by itself."""
        d, found = self.D // self.H, []
        for h in range(self.H):
            mine = slice(h * d, (h + 1) * d)
            weights = torch.softmax(keys[:, mine] @ q[mine] / d**0.5, dim=0)
            found.append(weights @ values[:, mine])
        return torch.cat(found)

    def forward(self, X, memory, mask):
        D, rows = self.D, []
        for x, source, words in zip(X, memory, mask):
            qkv = self.W_QKV(self.norm_1(x))
            own = [self.look(qkv[t, :D], qkv[: t + 1, D : 2 * D], qkv[: t + 1, 2 * D :]) for t in range(len(x))]
            x = x + self.W_O(torch.stack(own))
            q, kv = self.W_Q(self.norm_2(x)), self.W_KV(source[words])
            x = x + self.W_C(torch.stack([self.look(one, kv[:, :D], kv[:, D:]) for one in q]))
            rows.append(x + self.W_out(torch.relu(self.W_in(self.norm_3(x)))))
        return torch.stack(rows)
