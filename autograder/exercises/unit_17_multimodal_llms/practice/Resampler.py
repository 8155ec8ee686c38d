"""Right answers to `Resampler`, as others write them."""

import math

import torch
import torch.nn.functional as F
from torch import einsum, nn

from autograder.bank.practice import practice


@practice("lucidrains")
class Lucid(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        dim_head = D // H
        self.scale = dim_head**-0.5
        self.heads = H
        self.latents = nn.Parameter(torch.randn(R, D))

        self.norm_features = nn.LayerNorm(D)
        self.norm_latents = nn.LayerNorm(D)

        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)

        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, D * 4), nn.GELU(), nn.Linear(D * 4, D))

    def forward(self, features):
        b, h = features.shape[0], self.heads
        latents = self.latents.unsqueeze(0).repeat(b, 1, 1)
        x, normed = self.norm_features(features), self.norm_latents(latents)

        q = self.to_queries(normed)
        kv_input = torch.cat((x, normed), dim=-2)
        k, v = self.to_keys(kv_input), self.to_values(kv_input)
        q, k, v = map(lambda t: t.reshape(b, t.shape[1], h, -1).permute(0, 2, 1, 3), (q, k, v))

        q = q * self.scale
        sim = einsum("... i d, ... j d -> ... i j", q, k)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        attn = sim.softmax(dim=-1)

        out = einsum("... i j, ... j d -> ... i d", attn, v)
        out = out.permute(0, 2, 1, 3).reshape(b, latents.shape[1], -1)
        latents = self.output(out) + latents
        return self.mlp(self.norm_mlp(latents)) + latents


@practice("open_flamingo", needs="einops")
class OpenFlamingo(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.heads, self.scale = H, (D // H) ** -0.5
        self.latents = nn.Parameter(torch.randn(R, D))
        self.norm_features = nn.LayerNorm(D)
        self.norm_latents = nn.LayerNorm(D)
        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, features):
        from einops import rearrange, repeat

        latents = repeat(self.latents, "n d -> b n d", b=features.shape[0])
        normed = self.norm_latents(latents)
        media = torch.cat((self.norm_features(features), normed), dim=1)
        q = rearrange(self.to_queries(normed), "b n (h d) -> b h n d", h=self.heads) * self.scale
        k = rearrange(self.to_keys(media), "b n (h d) -> b h n d", h=self.heads)
        v = rearrange(self.to_values(media), "b n (h d) -> b h n d", h=self.heads)
        attn = einsum("b h i d, b h j d -> b h i j", q, k).softmax(dim=-1)
        out = rearrange(einsum("b h i j, b h j d -> b h i d", attn, v), "b h n d -> b n (h d)")
        latents = latents + self.output(out)
        return latents + self.mlp(self.norm_mlp(latents))


@practice("transformers")
class HuggingFace(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.embed_dim, self.n_heads, self.head_dim, self.n_latents = D, H, D // H, R
        self.latents = nn.Parameter(torch.randn(self.n_latents, self.embed_dim), requires_grad=True)
        self.norm_features = nn.LayerNorm(self.embed_dim)
        self.norm_latents = nn.LayerNorm(self.embed_dim)
        self.to_queries = nn.Linear(self.embed_dim, self.n_heads * self.head_dim, bias=False)
        self.to_keys = nn.Linear(self.embed_dim, self.n_heads * self.head_dim, bias=False)
        self.to_values = nn.Linear(self.embed_dim, self.n_heads * self.head_dim, bias=False)
        self.output = nn.Linear(self.n_heads * self.head_dim, self.embed_dim, bias=False)
        self.norm_mlp = nn.LayerNorm(self.embed_dim)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        batch_size, seq_length, _ = features.shape
        latents = self.latents.expand(batch_size, -1, -1)
        context, normed_latents = self.norm_features(features), self.norm_latents(latents)
        kv_seq_len = seq_length + self.n_latents

        hidden_states = torch.cat([context, normed_latents], dim=-2)
        query_states = self.to_queries(normed_latents)
        key_states = self.to_keys(hidden_states)
        value_states = self.to_values(hidden_states)
        query_states = query_states.reshape(batch_size, self.n_latents, self.n_heads, self.head_dim).transpose(1, 2)
        key_states = key_states.reshape(batch_size, kv_seq_len, self.n_heads, self.head_dim).transpose(1, 2)
        value_states = value_states.reshape(batch_size, kv_seq_len, self.n_heads, self.head_dim).transpose(1, 2)

        attn_weights = torch.matmul(query_states, key_states.transpose(2, 3)) / math.sqrt(self.head_dim)
        upcast = torch.promote_types(attn_weights.dtype, torch.float32)
        attn_weights = F.softmax(attn_weights, dim=-1, dtype=upcast).to(query_states.dtype)
        attn_output = torch.matmul(attn_weights, value_states)
        attn_output = attn_output.transpose(1, 2).contiguous().reshape(batch_size, self.n_latents, -1)

        residual = latents
        latents = residual + self.output(attn_output)
        residual = latents
        return residual + self.mlp(self.norm_mlp(latents))


@practice("timm")
class Timm(nn.Module):
    def __init__(self, D: int, H: int, R: int) -> None:
        super().__init__()
        assert D % H == 0, "D should be divisible by H"
        self.num_heads = H
        self.head_dim = D // H
        self.latents = nn.Parameter(torch.zeros(R, D))
        self.norm_features = nn.LayerNorm(D)
        self.norm_latents = nn.LayerNorm(D)
        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, D * 4), nn.GELU(), nn.Linear(D * 4, D))
        nn.init.trunc_normal_(self.latents, std=D**-0.5)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        B, N, C = features.shape
        latent = self.latents.expand(B, -1, -1)
        L = latent.shape[1]
        y = self.norm_latents(latent)
        x = torch.cat([self.norm_features(features), y], dim=1)
        q = self.to_queries(y).reshape(B, L, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.to_keys(x).reshape(B, N + L, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.to_values(x).reshape(B, N + L, self.num_heads, self.head_dim).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0)
        y = y.transpose(1, 2).reshape(B, L, C)
        x = latent + self.output(y)
        x = x + self.mlp(self.norm_mlp(x))
        return x


@practice("the Annotated Transformer")
class Annotated(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        "Take in model size, number of heads and number of latents."
        super().__init__()
        assert D % H == 0
        self.d_k = D // H
        self.h = H
        self.latents = nn.Parameter(torch.randn(R, D))
        self.norm_features, self.norm_latents, self.norm_mlp = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.to_queries, self.to_keys, self.to_values, self.output = (nn.Linear(D, D, bias=False) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def attention(self, query, key, value):
        "Compute 'Scaled Dot Product Attention'"
        d_k = query.size(-1)
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
        p_attn = scores.softmax(dim=-1)
        return torch.matmul(p_attn, value)

    def forward(self, features):
        nbatches = features.size(0)
        latents = torch.stack([self.latents] * nbatches)
        query = self.norm_latents(latents)
        memory = torch.cat([self.norm_features(features), query], dim=1)
        query, key, value = [
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip((self.to_queries, self.to_keys, self.to_values), (query, memory, memory))
        ]
        x = self.attention(query, key, value)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        x = latents + self.output(x)
        return x + self.mlp(self.norm_mlp(x))
