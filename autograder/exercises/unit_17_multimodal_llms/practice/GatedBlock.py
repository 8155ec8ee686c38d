"""Right answers to `GatedBlock`, as others write them."""

import math

import torch
import torch.nn.functional as F
from torch import einsum, nn

from autograder.bank.practice import practice


@practice("open_flamingo", needs="einops")
class OpenFlamingo(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        self.heads = H
        self.scale = (D // H) ** -0.5
        self.norm_text = nn.LayerNorm(D)
        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)
        self.gate_attention = nn.Parameter(torch.tensor(0.0))
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gate_mlp = nn.Parameter(torch.tensor(0.0))

    def forward(self, X, pictures, is_picture):
        from einops import rearrange, repeat

        P, R = pictures.shape[1:3]
        media = rearrange(pictures, "b p r d -> b (p r) d")
        q = rearrange(self.to_queries(self.norm_text(X)), "b n (h d) -> b h n d", h=self.heads) * self.scale
        k = rearrange(self.to_keys(media), "b m (h d) -> b h m d", h=self.heads)
        v = rearrange(self.to_values(media), "b m (h d) -> b h m d", h=self.heads)

        sim = einsum("b h i d, b h j d -> b h i j", q, k)
        media_time = torch.arange(P, device=X.device) + 1
        text_time = is_picture.cumsum(dim=-1)
        text_to_media_mask = rearrange(text_time, "b i -> b 1 i 1") == repeat(media_time, "j -> 1 1 1 (j r)", r=R)
        sim = sim.masked_fill(~text_to_media_mask, -torch.finfo(sim.dtype).max)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        attn = sim.softmax(dim=-1)
        text_without_media_mask = rearrange(text_time == 0, "b i -> b 1 i 1")
        attn = attn.masked_fill(text_without_media_mask, 0.0)

        out = rearrange(einsum("b h i j, b h j d -> b h i d", attn, v), "b h n d -> b n (h d)")
        x = self.output(out) * self.gate_attention.tanh() + X
        return self.mlp(self.norm_mlp(x)) * self.gate_mlp.tanh() + x


@practice("lucidrains")
class Lucid(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        self.heads = H
        self.norm_text = nn.LayerNorm(D)

        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)

        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, D * 4), nn.GELU(), nn.Linear(D * 4, D))
        self.gate_attention = nn.Parameter(torch.tensor(0.0))
        self.gate_mlp = nn.Parameter(torch.tensor(0.0))

    def forward(self, X, pictures, is_picture):
        b, n, d = X.shape
        t, m, h, device = *pictures.shape[1:3], self.heads, X.device
        media = pictures.reshape(b, t * m, d)

        q, k, v = self.to_queries(self.norm_text(X)), self.to_keys(media), self.to_values(media)
        q, k, v = map(lambda z: z.reshape(b, -1, h, d // h).transpose(1, 2), (q, k, v))
        sim = einsum("... i d, ... j d -> ... i j", q * (d // h) ** -0.5, k)

        text_time = is_picture.cumsum(dim=-1)
        media_time = (torch.arange(t, device=device) + 1).repeat_interleave(m)
        mask = text_time[:, None, :, None] == media_time
        sim = sim.masked_fill(~mask, -torch.finfo(sim.dtype).max)
        attn = sim.softmax(dim=-1)
        attn = attn.masked_fill((text_time == 0)[:, None, :, None], 0.0)

        out = einsum("... i j, ... j d -> ... i d", attn, v).transpose(1, 2).reshape(b, n, d)
        out = self.output(out) * self.gate_attention.tanh() + X
        return self.mlp(self.norm_mlp(out)) * self.gate_mlp.tanh() + out


@practice("transformers")
class HuggingFace(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        self.hidden_size = D
        self.num_heads = H
        self.head_dim = D // H
        self.norm_text = nn.LayerNorm(self.hidden_size)
        self.to_queries = nn.Linear(self.hidden_size, self.hidden_size, bias=False)
        self.to_keys = nn.Linear(self.hidden_size, self.hidden_size, bias=False)
        self.to_values = nn.Linear(self.hidden_size, self.hidden_size, bias=False)
        self.output = nn.Linear(self.hidden_size, self.hidden_size, bias=False)
        self.act_cross_attn = nn.Tanh()
        self.act_dense = nn.Tanh()
        self.gate_attention = nn.Parameter(torch.zeros(()))
        self.norm_mlp = nn.LayerNorm(self.hidden_size)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gate_mlp = nn.Parameter(torch.zeros(()))

    def image_attention_mask(self, is_picture, num_images, image_seq_len):
        incremental = is_picture.cumsum(dim=-1) - 1
        mask = incremental.unsqueeze(-1) == torch.arange(num_images, device=is_picture.device)
        mask = mask.unsqueeze(-1).repeat(1, 1, 1, image_seq_len)
        return mask.reshape(*is_picture.shape, num_images * image_seq_len)

    def forward(self, X, pictures, is_picture):
        bsz, q_len, _ = X.size()
        num_images, image_seq_len = pictures.size(1), pictures.size(2)
        image_hidden_states = pictures.reshape(bsz, num_images * image_seq_len, self.hidden_size)
        allowed = self.image_attention_mask(is_picture, num_images, image_seq_len)
        attention_mask = torch.zeros(allowed.shape, dtype=X.dtype, device=X.device)
        attention_mask = attention_mask.masked_fill(~allowed, torch.finfo(X.dtype).min).unsqueeze(1)
        cross_attention_gate = allowed.any(dim=-1)

        residual = X
        hidden_states = self.norm_text(X)
        query_states = self.to_queries(hidden_states).view(bsz, q_len, self.num_heads, self.head_dim).transpose(1, 2)
        key_states = self.to_keys(image_hidden_states).view(bsz, -1, self.num_heads, self.head_dim).transpose(1, 2)
        value_states = self.to_values(image_hidden_states).view(bsz, -1, self.num_heads, self.head_dim).transpose(1, 2)
        attn_output = F.scaled_dot_product_attention(query_states, key_states, value_states, attn_mask=attention_mask)
        attn_output = attn_output.transpose(1, 2).reshape(bsz, q_len, self.hidden_size)
        hidden_states = self.output(attn_output)
        hidden_states = hidden_states.masked_fill((~cross_attention_gate)[:, :, None], 0.0)
        hidden_states = residual + self.act_cross_attn(self.gate_attention) * hidden_states

        residual = hidden_states
        hidden_states = self.mlp(self.norm_mlp(hidden_states))
        return residual + self.act_dense(self.gate_mlp) * hidden_states


@practice("the Annotated Transformer")
class Annotated(nn.Module):
    def __init__(self, D: int, H: int):
        "Take in model size and number of heads."
        super().__init__()
        assert D % H == 0
        self.d_k = D // H
        self.h = H
        self.norm_text, self.norm_mlp = nn.LayerNorm(D), nn.LayerNorm(D)
        self.to_queries, self.to_keys, self.to_values, self.output = (nn.Linear(D, D, bias=False) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gate_attention, self.gate_mlp = (nn.Parameter(torch.zeros([])) for _ in range(2))

    def attention(self, query, key, value, mask):
        "Compute 'Scaled Dot Product Attention'; where the mask is empty the result is 0."
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
        p_attn = scores.softmax(dim=-1)
        p_attn = p_attn.masked_fill(mask == 0, 0.0)
        return torch.matmul(p_attn, value)

    def forward(self, X, pictures, is_picture):
        nbatches, npictures, size = pictures.shape[:3]
        count = torch.cumsum(is_picture.int(), dim=1)
        memory = torch.cat([pictures[:, p] for p in range(npictures)], dim=1)
        mask = torch.cat([(count == p + 1)[:, :, None].expand(-1, -1, size) for p in range(npictures)], dim=-1)
        query, key, value = [
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip((self.to_queries, self.to_keys, self.to_values), (self.norm_text(X), memory, memory))
        ]
        x = self.attention(query, key, value, mask.unsqueeze(1))
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        x = X + torch.tanh(self.gate_attention) * self.output(x)
        return x + torch.tanh(self.gate_mlp) * self.mlp(self.norm_mlp(x))


@practice("nanoGPT")
class Nano(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        assert D % H == 0
        self.n_head = H
        self.norm_text = nn.LayerNorm(D)
        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)
        self.gate_attention = nn.Parameter(torch.zeros([]))
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gate_mlp = nn.Parameter(torch.zeros([]))

    def forward(self, X, pictures, is_picture):
        B, T, C = X.size()
        nh, hs = self.n_head, C // self.n_head
        idx = is_picture.cumsum(1)  # (B, T), 0 before any picture
        has_picture = (idx > 0).unsqueeze(-1)
        b = torch.arange(B, device=X.device).unsqueeze(1)
        idx = (idx - 1).clamp(min=0)
        k = self.to_keys(pictures)[b, idx]  # (B, T, R, C)
        v = self.to_values(pictures)[b, idx]
        q = self.to_queries(self.norm_text(X)).view(B, T, nh, 1, hs)
        k = k.view(B, T, -1, nh, hs).transpose(2, 3)  # (B, T, nh, R, hs)
        v = v.view(B, T, -1, nh, hs).transpose(2, 3)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(hs))
        att = F.softmax(att, dim=-1)
        y = (att @ v).reshape(B, T, C)  # (B, T, nh, 1, hs) -> (B, T, C)
        y = y.masked_fill(~has_picture, 0.0)
        x = X + torch.tanh(self.gate_attention) * self.output(y)
        x = x + torch.tanh(self.gate_mlp) * self.mlp(self.norm_mlp(x))
        return x
