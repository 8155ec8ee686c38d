"""Right answers to `QFormerLayer`, as others write them."""

import math

import torch
import torch.nn.functional as F
from torch import einsum, nn

from autograder.bank.practice import practice


class Given(nn.Module):
    """The layers, as the stub gives them."""

    def __init__(self, D: int, H: int, D_P: int, F: int):
        super().__init__()
        self.H = H
        self.own_queries, self.own_keys, self.own_values, self.own_output = (nn.Linear(D, D) for _ in range(4))
        self.norm_own = nn.LayerNorm(D)
        self.cross_queries, self.cross_output = nn.Linear(D, D), nn.Linear(D, D)
        self.cross_keys, self.cross_values = nn.Linear(D_P, D), nn.Linear(D_P, D)
        self.norm_cross = nn.LayerNorm(D)
        self.mlp_queries = nn.Sequential(nn.Linear(D, F), nn.GELU(), nn.Linear(F, D))
        self.norm_queries = nn.LayerNorm(D)
        self.mlp_text = nn.Sequential(nn.Linear(D, F), nn.GELU(), nn.Linear(F, D))
        self.norm_text = nn.LayerNorm(D)


@practice("salesforce/LAVIS")
class Lavis(Given):
    def transpose_for_scores(self, x):
        new_x_shape = x.size()[:-1] + (self.H, x.size(-1) // self.H)
        return x.view(*new_x_shape).permute(0, 2, 1, 3)

    def self_attention(self, mixed_query_layer, mixed_key_layer, mixed_value_layer, attention_mask=None):
        query_layer = self.transpose_for_scores(mixed_query_layer)
        key_layer = self.transpose_for_scores(mixed_key_layer)
        value_layer = self.transpose_for_scores(mixed_value_layer)
        attention_scores = torch.matmul(query_layer, key_layer.transpose(-1, -2))
        attention_scores = attention_scores / math.sqrt(query_layer.size(-1))
        if attention_mask is not None:
            attention_scores = attention_scores + attention_mask
        attention_probs = nn.Softmax(dim=-1)(attention_scores)
        context_layer = torch.matmul(attention_probs, value_layer).permute(0, 2, 1, 3).contiguous()
        return context_layer.view(*context_layer.size()[:-2], -1)

    def forward(self, queries, text, picture, allowed):
        query_length = queries.shape[1]
        hidden_states = torch.cat([queries, text], dim=1)
        extended_attention_mask = allowed[:, None, :, :].to(dtype=hidden_states.dtype)
        extended_attention_mask = (1.0 - extended_attention_mask) * torch.finfo(hidden_states.dtype).min
        context_layer = self.self_attention(
            self.own_queries(hidden_states),
            self.own_keys(hidden_states),
            self.own_values(hidden_states),
            extended_attention_mask,
        )
        attention_output = self.norm_own(self.own_output(context_layer) + hidden_states)
        query_attention_output = attention_output[:, :query_length, :]
        if picture is not None:
            context_layer = self.self_attention(
                self.cross_queries(query_attention_output), self.cross_keys(picture), self.cross_values(picture)
            )
            query_attention_output = self.norm_cross(self.cross_output(context_layer) + query_attention_output)
        layer_output = self.feed_forward_chunk_query(query_attention_output)
        layer_output_text = self.feed_forward_chunk(attention_output[:, query_length:, :])
        return layer_output, layer_output_text

    def feed_forward_chunk(self, attention_output):
        return self.norm_text(self.mlp_text(attention_output) + attention_output)

    def feed_forward_chunk_query(self, attention_output):
        return self.norm_queries(self.mlp_queries(attention_output) + attention_output)


def eager_attention_forward(query, key, value, attention_mask, scaling):
    attn_weights = torch.matmul(query, key.transpose(-1, -2)) * scaling
    if attention_mask is not None:
        attn_weights = attn_weights.masked_fill(~attention_mask, torch.finfo(attn_weights.dtype).min)
    dtype = torch.promote_types(torch.float32, query.dtype)
    attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=dtype).to(query.dtype)
    return torch.matmul(attn_weights, value).transpose(1, 2).contiguous()


@practice("transformers")
class HuggingFace(Given):
    def attention(self, query_states, key_states, value_states, attention_mask):
        input_shape = query_states.shape[:-1]
        head_dim = query_states.shape[-1] // self.H
        query_states = query_states.view(*input_shape, -1, head_dim).transpose(1, 2)
        key_states = key_states.view(*key_states.shape[:-1], -1, head_dim).transpose(1, 2)
        value_states = value_states.view(*value_states.shape[:-1], -1, head_dim).transpose(1, 2)
        attn_output = eager_attention_forward(query_states, key_states, value_states, attention_mask, head_dim**-0.5)
        return attn_output.reshape(*input_shape, -1).contiguous()

    def forward(self, queries, text, picture, allowed):
        query_length = queries.shape[1]
        hidden_states = torch.cat((queries, text), dim=1)
        residual = hidden_states
        hidden_states = self.attention(
            self.own_queries(hidden_states),
            self.own_keys(hidden_states),
            self.own_values(hidden_states),
            allowed.unsqueeze(1),
        )
        hidden_states = self.norm_own(self.own_output(hidden_states) + residual)
        query_states, text_states = hidden_states[:, :query_length], hidden_states[:, query_length:]
        if picture is not None:
            residual = query_states
            query_states = self.attention(
                self.cross_queries(query_states), self.cross_keys(picture), self.cross_values(picture), None
            )
            query_states = self.norm_cross(self.cross_output(query_states) + residual)
        query_states = self.norm_queries(self.mlp_queries(query_states) + query_states)
        text_states = self.norm_text(self.mlp_text(text_states) + text_states)
        return query_states, text_states


@practice("lucidrains, with einops", needs="einops")
class Lucid(Given):
    def attend(self, q, k, v, mask=None):
        from einops import rearrange

        h = self.H
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=h) for t in (q, k, v))
        q = q * (q.shape[-1] ** -0.5)
        sim = einsum("b h i d, b h j d -> b h i j", q, k)
        if mask is not None:
            sim = sim.masked_fill(~rearrange(mask, "b i j -> b 1 i j"), -torch.finfo(sim.dtype).max)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        attn = sim.softmax(dim=-1)
        out = einsum("b h i j, b h j d -> b h i d", attn, v)
        return rearrange(out, "b h n d -> b n (h d)")

    def forward(self, queries, text, picture, allowed):
        from einops import pack, unpack

        x, packed = pack([queries, text], "b * d")
        out = self.attend(self.own_queries(x), self.own_keys(x), self.own_values(x), mask=allowed)
        x = self.norm_own(self.own_output(out) + x)
        queries, text = unpack(x, packed, "b * d")
        if picture is not None:
            out = self.attend(self.cross_queries(queries), self.cross_keys(picture), self.cross_values(picture))
            queries = self.norm_cross(self.cross_output(out) + queries)
        return self.norm_queries(self.mlp_queries(queries) + queries), self.norm_text(self.mlp_text(text) + text)


@practice("nanoGPT and timm")
class NanoGpt(Given):
    def forward(self, queries, text, picture, allowed):
        x = torch.cat([queries, text], dim=1)
        B, T, C = x.size()
        nq, hs = queries.size(1), C // self.H
        q = self.own_queries(x).view(B, T, self.H, hs).transpose(1, 2)
        k = self.own_keys(x).view(B, T, self.H, hs).transpose(1, 2)
        v = self.own_values(x).view(B, T, self.H, hs).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed.unsqueeze(1), dropout_p=0.0, is_causal=False)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        x = self.norm_own(x + self.own_output(y))
        q_x, t_x = x[:, :nq], x[:, nq:]
        if picture is not None:
            M = picture.size(1)
            q = self.cross_queries(q_x).reshape(B, nq, self.H, hs).transpose(1, 2)
            kv = torch.stack([self.cross_keys(picture), self.cross_values(picture)])
            k, v = kv.reshape(2, B, M, self.H, hs).permute(0, 1, 3, 2, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0)
            q_x = self.norm_cross(q_x + self.cross_output(y.transpose(1, 2).reshape(B, nq, C)))
        return self.norm_queries(q_x + self.mlp_queries(q_x)), self.norm_text(t_x + self.mlp_text(t_x))


def attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, value), p_attn


@practice("the Annotated Transformer")
class Annotated(Given):
    def multi_headed(self, linears, query, key, value, mask=None):
        nbatches, d_model = query.size(0), linears[0].out_features
        if mask is not None:
            mask = mask.unsqueeze(1)
        query, key, value = [
            lin(x).view(nbatches, -1, self.H, d_model // self.H).transpose(1, 2)
            for lin, x in zip(linears, (query, key, value))
        ]
        x, _ = attention(query, key, value, mask=mask)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, d_model)
        return linears[-1](x)

    def sublayer(self, x, norm, f):
        return norm(x + f(x))

    def forward(self, queries, text, picture, allowed):
        own = [self.own_queries, self.own_keys, self.own_values, self.own_output]
        src = [self.cross_queries, self.cross_keys, self.cross_values, self.cross_output]
        x = torch.cat([queries, text], dim=1)
        x = self.sublayer(x, self.norm_own, lambda x: self.multi_headed(own, x, x, x, allowed))
        queries, text = x.split([queries.size(1), text.size(1)], dim=1)
        if picture is not None:
            queries = self.sublayer(queries, self.norm_cross, lambda x: self.multi_headed(src, x, picture, picture))
        queries = self.sublayer(queries, self.norm_queries, self.mlp_queries)
        return queries, self.sublayer(text, self.norm_text, self.mlp_text)


@practice("plain loops")
class Loops(Given):
    def attend(self, q, k, v, mask=None):
        d = q.shape[-1] // self.H
        pictures = []
        for b in range(q.shape[0]):
            heads = []
            for h in range(self.H):
                part = slice(h * d, (h + 1) * d)
                scores = q[b, :, part] @ k[b, :, part].T / d**0.5
                if mask is not None:
                    scores = scores.masked_fill(~mask[b], float("-inf"))
                heads.append(torch.softmax(scores, dim=1) @ v[b, :, part])
            pictures.append(torch.cat(heads, dim=1))
        return torch.stack(pictures)

    def forward(self, queries, text, picture, allowed):
        Q = queries.shape[1]
        x = torch.cat([queries, text], dim=1)
        a = self.attend(self.own_queries(x), self.own_keys(x), self.own_values(x), allowed)
        x = self.norm_own(x + self.own_output(a))
        queries, text = x[:, :Q], x[:, Q:]
        if picture is not None:
            a = self.attend(self.cross_queries(queries), self.cross_keys(picture), self.cross_values(picture))
            queries = self.norm_cross(queries + self.cross_output(a))
        queries = self.norm_queries(queries + self.mlp_queries(queries))
        text = self.norm_text(text + self.mlp_text(text))
        return queries, text
