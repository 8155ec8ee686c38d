"""Right answers to `GPT`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


def block(D, H, D_F):
    return nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)


@practice("minGPT")
class MinGPT(nn.Module):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__()
        self.block_size = N
        self.tokens = nn.Embedding(V, D)
        self.positions = nn.Embedding(N, D)
        self.blocks = nn.ModuleList([block(D, H, D_F) for _ in range(L)])
        self.norm = nn.LayerNorm(D)
        self.register_buffer("bias", torch.tril(torch.ones(N, N)))
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, tokens):
        device = tokens.device
        b, t = tokens.size()
        assert t <= self.block_size, f"Cannot forward sequence of length {t}"
        pos = torch.arange(0, t, dtype=torch.long, device=device).unsqueeze(0)
        x = self.tokens(tokens) + self.positions(pos)
        mask = self.bias[:t, :t] == 0
        for layer in self.blocks:
            x = layer(x, src_mask=mask)
        x = self.norm(x)
        return x @ self.tokens.weight.t()


@practice("nanoGPT, a tied head")
class NanoGPT(nn.Module):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__()
        self.tokens = nn.Embedding(V, D)
        self.positions = nn.Embedding(N, D)
        self.blocks = nn.ModuleList([block(D, H, D_F) for _ in range(L)])
        self.norm = nn.LayerNorm(D)
        self.lm_head = nn.Linear(D, V, bias=False)
        self.tokens.weight = self.lm_head.weight

    def forward(self, tokens):
        b, t = tokens.size()
        pos = torch.arange(0, t, dtype=torch.long, device=tokens.device)
        x = self.tokens(tokens) + self.positions(pos)
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool, device=tokens.device), diagonal=1)
        for layer in self.blocks:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.lm_head(self.norm(x))


@practice("torch's own square subsequent mask")
class TorchMask(nn.Module):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__()
        self.tokens = nn.Embedding(V, D)
        self.positions = nn.Embedding(N, D)
        self.blocks = nn.ModuleList(block(D, H, D_F) for _ in range(L))
        self.norm = nn.LayerNorm(D)

    def forward(self, tokens):
        n = tokens.shape[1]
        x = self.tokens(tokens) + self.positions.weight[:n]
        mask = nn.Transformer.generate_square_subsequent_mask(n, device=x.device, dtype=x.dtype)
        for layer in self.blocks:
            x = layer(x, src_mask=mask)
        return F.linear(self.norm(x), self.tokens.weight)


@practice("GPT-2's TensorFlow code")
class GPT2(nn.Module):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__()
        self.tokens = nn.Embedding(V, D)
        self.positions = nn.Embedding(N, D)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.01)
        self.blocks = nn.ModuleList()
        for _ in range(L):
            self.blocks.append(block(D, H, D_F))
        self.norm = nn.LayerNorm(D)

    def forward(self, tokens):
        wte, wpe = self.tokens.weight, self.positions.weight
        batch, sequence = tokens.shape
        h = wte[tokens] + wpe[torch.arange(sequence, device=tokens.device)]
        i = torch.arange(sequence, device=tokens.device)[:, None]
        j = torch.arange(sequence, device=tokens.device)
        for layer in self.blocks:
            h = layer(h, src_mask=i < j)
        h = self.norm(h)
        h_flat = h.reshape(batch * sequence, -1)
        logits = torch.matmul(h_flat, wte.transpose(0, 1))
        return logits.reshape(batch, sequence, -1)


@practice("Hugging Face")
class HuggingFace(nn.Module):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__()
        self.tokens = nn.Embedding(V, D)
        self.positions = nn.Embedding(N, D)
        self.blocks = nn.ModuleList([block(D, H, D_F) for i in range(L)])
        self.norm = nn.LayerNorm(D, eps=1e-5)
        self.register_buffer("causal", ~torch.ones((N, N), dtype=torch.bool).tril(), persistent=False)
        self.register_buffer("position_ids", torch.arange(N).expand((1, -1)), persistent=False)

    def forward(self, tokens):
        seq_length = tokens.size()[-1]
        position_ids = self.position_ids[:, :seq_length]
        hidden_states = self.tokens(tokens) + self.positions(position_ids)
        for layer_module in self.blocks:
            hidden_states = layer_module(hidden_states, src_mask=self.causal[:seq_length, :seq_length])
        hidden_states = self.norm(hidden_states)
        return nn.functional.linear(hidden_states, self.tokens.weight)


@practice("einops", needs="einops")
class Lucidrains(nn.Module):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__()
        self.max_seq_len = N
        self.tokens = nn.Embedding(V, D)
        self.positions = nn.Embedding(N, D)
        self.blocks = nn.ModuleList([])
        for _ in range(L):
            self.blocks.append(block(D, H, D_F))
        self.norm = nn.LayerNorm(D)

    def forward(self, tokens):
        from einops import einsum, rearrange

        n, device = tokens.shape[1], tokens.device
        x = self.tokens(tokens)
        x = x + rearrange(self.positions(torch.arange(n, device=device)), "n d -> 1 n d")
        causal_mask = torch.ones((n, n), dtype=torch.bool, device=device).triu(1)
        for layer in self.blocks:
            x = layer(x, src_mask=causal_mask)
        return einsum(self.norm(x), self.tokens.weight, "b n d, v d -> b n v")
