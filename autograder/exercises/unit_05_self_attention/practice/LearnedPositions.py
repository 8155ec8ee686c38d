"""Right answers to `LearnedPositions`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("nanoGPT")
class NanoGPT(nn.Module):
    def __init__(self, max_length: int, D: int):
        super().__init__()
        self.block_size = max_length
        self.table = nn.Embedding(max_length, D)

    def forward(self, X):
        device = X.device
        t = X.size(-2)
        if t > self.block_size:
            raise ValueError(f"Cannot forward sequence of length {t}, block size is only {self.block_size}")
        pos = torch.arange(0, t, dtype=torch.long, device=device)
        pos_emb = self.table(pos)
        return X + pos_emb


@practice("Hugging Face transformers")
class HF(nn.Module):
    def __init__(self, max_length: int, D: int):
        super().__init__()
        self.table = nn.Embedding(max_length, D)
        self.register_buffer("position_ids", torch.arange(max_length).expand((1, -1)), persistent=False)
        self.table.weight.data.normal_(mean=0.0, std=0.02)

    def forward(self, X):
        seq_length = X.shape[-2]
        max_position_embeddings = self.table.num_embeddings
        if seq_length > max_position_embeddings:
            raise ValueError(
                f"Sequence length must be less than or equal to max_position_embeddings (got `sequence length`: "
                f"{seq_length} and max_position_embeddings: {max_position_embeddings})"
            )
        position_ids = self.position_ids[0, :seq_length].to(X.device)
        position_embeddings = self.table(position_ids)
        embeddings = X + position_embeddings
        return embeddings


@practice("timm: rows sliced from the weight")
class Timm(nn.Module):
    def __init__(self, max_length: int, D: int):
        super().__init__()
        self.table = nn.Embedding(max_length, D)
        nn.init.trunc_normal_(self.table.weight, std=0.02)

    def forward(self, X):
        *_, N, _ = X.shape
        if N > len(self.table.weight):
            raise ValueError(f"{N} vectors, but only {len(self.table.weight)} positions in the table")
        return X + self.table.weight[:N]


@practice("fairseq")
class Fairseq(nn.Module):
    def __init__(self, max_length: int, D: int):
        super().__init__()
        self.max_positions = max_length
        self.table = nn.Embedding(max_length, D)
        nn.init.normal_(self.table.weight, mean=0, std=D**-0.5)

    def forward(self, X):
        bsz_shape, seq_len = X.shape[:-2], X.shape[-2]
        if seq_len > self.max_positions:
            raise ValueError(f"tokens exceeds maximum length: {seq_len} > {self.max_positions}")
        positions = torch.ones(*bsz_shape, seq_len, dtype=torch.long, device=X.device).cumsum(dim=-1) - 1
        return X + F.embedding(positions, self.table.weight)


@practice("einops and x-transformers", needs="einops")
class Lucidrains(nn.Module):
    def __init__(self, max_length: int, D: int):
        super().__init__()
        self.max_seq_len = max_length
        self.table = nn.Embedding(max_length, D)

    def forward(self, X):
        from einops import repeat

        seq_len, device = X.shape[-2], X.device
        if seq_len > self.max_seq_len:
            raise ValueError(
                f"you are passing in a sequence length of {seq_len} but your absolute positional embedding has a max "
                f"sequence length of {self.max_seq_len}"
            )
        pos = torch.arange(seq_len, device=device)
        lead = X[..., 0, 0].numel()
        pos_emb = repeat(self.table(pos), "n d -> b n d", b=lead)
        return X + pos_emb.reshape(X.shape)


@practice("let the lookup fail, then explain")
class Late(nn.Module):
    def __init__(self, max_length: int, D: int):
        super().__init__()
        self.table = nn.Embedding(num_embeddings=max_length, embedding_dim=D)

    def forward(self, X):
        rows = self.table.weight.narrow(0, 0, min(X.shape[-2], self.table.num_embeddings))
        if rows.shape[0] != X.shape[-2]:
            raise ValueError(f"sequence of {X.shape[-2]} vectors is too long for {len(rows)} positions")
        return rows.expand_as(X) + X
