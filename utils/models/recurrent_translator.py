"""Lesson 02's translator with additive attention, with masks for padding: what a Transformer is compared with."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.data.translation import PAD, START


class RecurrentTranslator(nn.Module):
    """A bidirectional GRU reads, a GRU with additive attention writes (Bahdanau et al., 2015).

    Args:
        source_words, target_words: sizes of the two vocabularies.
        D: width of states, embeddings and scores.
        hidden: the share of the fed tokens that is replaced by padding in training.
    """

    def __init__(self, source_words: int, target_words: int, D: int, hidden: float = 0.3):
        super().__init__()
        self.hidden = hidden
        self.source_embedding, self.target_embedding = nn.Embedding(source_words, D), nn.Embedding(target_words, D)
        self.encoder = nn.GRU(D, D // 2, batch_first=True, bidirectional=True)
        self.start, self.decoder = nn.Linear(D, D), nn.GRUCell(2 * D, D)
        self.of_state, self.of_source = nn.Linear(D, D, bias=False), nn.Linear(D, D)
        self.score, self.head = nn.Linear(D, 1, bias=False), nn.Linear(2 * D, target_words)

    def encode(self, source: Int[Tensor, "B N"]) -> tuple[Tensor, Tensor, Bool[Tensor, "B N"], Tensor]:
        """Encoder states [B, N, D], their part of the scores, the source's mask, True at words, and the first state [B, D]."""
        source_mask = source != PAD
        lengths = source_mask.sum(dim=1).cpu()
        X = self.source_embedding(source)
        packed = nn.utils.rnn.pack_padded_sequence(X, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        state = torch.tanh(self.start(torch.cat([last[0], last[1]], dim=-1)))
        return states, self.of_source(states), source_mask, state

    def step(
        self, fed: Int[Tensor, " B"], state: Float[Tensor, "B D"], encoded: tuple
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What the logits are made of [B, 2D], the next state [B, D] and the weights [B, N]."""
        states, keys, source_mask = encoded
        e = self.score(torch.tanh(self.of_state(state).unsqueeze(1) + keys)).squeeze(-1)  # [B, N]
        a = e.masked_fill(~source_mask, -torch.inf).softmax(dim=-1)
        context = torch.einsum("bn,bnd->bd", a, states)
        state = self.decoder(torch.cat([self.target_embedding(fed), context], dim=-1), state)
        return torch.cat([state, context], dim=-1), state, a

    def forward(self, source: Int[Tensor, "B N"], fed: Int[Tensor, "B T"]) -> tuple[Float[Tensor, "B T V"], Tensor]:
        """Logits for the tokens that come next, and the weights [B, T, N], step by step."""
        *encoded, state = self.encode(source)
        if self.training:
            fed = fed.masked_fill(torch.rand(fed.shape, device=fed.device) < self.hidden, PAD)
        features, looks = [], []
        for one in fed.unbind(dim=1):
            feature, state, a = self.step(one, state, encoded)
            features.append(feature)
            looks.append(a)
        return self.head(torch.stack(features, dim=1)), torch.stack(looks, dim=1)

    @torch.no_grad()
    def write(self, source: Int[Tensor, "B N"], longest: int) -> Int[Tensor, "B longest"]:
        """Greedy translations."""
        *encoded, state = self.encode(source)
        fed, tokens = torch.full_like(source[:, 0], START), []
        for _ in range(longest):
            feature, state, _ = self.step(fed, state, encoded)
            fed = self.head(feature).argmax(dim=-1)
            tokens.append(fed)
        return torch.stack(tokens, dim=1)
