"""A small language model that reads vectors as well as words, and its training on captions with questions and answers."""

import random
from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from utils.data.questions import document
from utils.data.scenes import Scene, vocabulary
from utils.data.translation import PAD
from utils.models.grid_cnn import GridCNN, grids
from utils.models.training import train

LONGEST = 160  # positions
_BASE = 100.0  # of the rotary angles: the texts are short


class ReaderBlock(nn.Module):
    """A pre-norm block with causal self-attention. Half of each head is rotated by its position, half compares content alone."""

    def __init__(self, D: int, H: int):
        super().__init__()
        self.H = H
        self.norm_own, self.projections, self.output = nn.LayerNorm(D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        with torch.no_grad():  # at first, equal words attend to each other
            self.projections.weight[D : 2 * D] = self.projections.weight[:D]

    def forward(self, X: Float[Tensor, "B N D"], angles: Float[Tensor, "N d"]) -> Float[Tensor, "B N D"]:
        projected = self.projections(self.norm_own(X)).chunk(3, dim=-1)
        Q, K, V = (one.unflatten(-1, (self.H, -1)).transpose(1, 2) for one in projected)  # [B, H, N, D/H]
        attended = F.scaled_dot_product_attention(rotated(Q, angles), rotated(K, angles), V, is_causal=True)
        X = X + self.output(attended.transpose(1, 2).flatten(2))
        return X + self.mlp(self.norm_mlp(X))


class TextReader(nn.Module):
    """A decoder-only language model over the words of scenes. It takes vectors, so that a picture can be put among the words."""

    def __init__(self, D: int = 96, H: int = 6, L: int = 3):
        super().__init__()
        self.D = D
        self.words = nn.Embedding(len(vocabulary()), D)
        nn.init.normal_(self.words.weight, std=0.1)
        d = D // H // 4  # angles: a pair of numbers for each, in half of a head
        self.register_buffer(
            "angles", torch.arange(LONGEST)[:, None] * _BASE ** (-torch.arange(d) / d), persistent=False
        )
        self.blocks = nn.ModuleList(ReaderBlock(D, H) for _ in range(L))
        self.norm, self.next_token = nn.LayerNorm(D), nn.Linear(D, len(vocabulary()))

    def forward(
        self, X: Float[Tensor, "B N D"], before: Sequence[Callable[[Tensor], Tensor]] = ()
    ) -> Float[Tensor, "B N words"]:
        """Logits of the next token. `before` holds what is done to the vectors before each block, where anything is."""
        for place, block in enumerate(self.blocks):
            X = block(before[place](X) if before else X, self.angles[: X.shape[1]])
        return self.next_token(self.norm(X))


def rotated(X: Float[Tensor, "... N d_head"], angles: Float[Tensor, "N d"]) -> Float[Tensor, "... N d_head"]:
    """The first 2·d numbers of each vector turned in pairs by the angles of its position, as in lesson 05; the rest as it is."""
    d = angles.shape[-1]
    cos, sin, one, other = angles.cos(), angles.sin(), X[..., :d], X[..., d : 2 * d]
    return torch.cat([one * cos - other * sin, one * sin + other * cos, X[..., 2 * d :]], dim=-1)


@torch.no_grad()
def cells_with_places(cnn: GridCNN, pictures: Float[Tensor, "B 3 H W"]) -> Float[Tensor, "B 36 72"]:
    """What a CNN sees, for each picture 36 cells: 64 numbers about what is there, and 8 that say where the cell lies."""
    features = F.avg_pool2d(grids(cnn, pictures), kernel_size=2)  # [B, 64, 6, 6]
    side = features.shape[-1]
    angle = torch.pi * (torch.arange(side, device=features.device) + 0.5) / side
    waves = torch.stack([angle.cos(), angle.sin(), (2 * angle).cos(), (2 * angle).sin()])  # [4, 6]
    across, down = waves[:, None, :].expand(-1, side, -1), waves[:, :, None].expand(-1, -1, side)
    places = torch.cat([across, down]).expand(len(features), -1, -1, -1)
    return torch.cat([features / features.std(), places], dim=1).flatten(2).mT.contiguous()


def padded(rows: Sequence[Sequence[int]]) -> Int[Tensor, "B N"]:
    """Rows of tokens as one tensor, [PAD] behind the shorter ones."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


def trained_reader(
    some: Sequence[Scene], *, seed: int = 0, steps: int = 300, rate: float = 3e-3, other_words: float = 0.03
) -> TextReader:
    """A reader that has learned from texts alone: captions, each with six questions and their answers.

    Args:
        other_words: the weight of all words that are not answers; an answer's is 1.
    """
    torch.manual_seed(seed)
    reader = TextReader()

    def loss(reader, batch):
        tokens, weights = batch
        losses = F.cross_entropy(
            reader(reader.words(tokens[:, :-1])).flatten(0, 1), tokens[:, 1:].flatten(), reduction="none"
        )
        return (losses * weights.flatten()).sum() / weights.sum()

    train(reader, _documents(some, other_words, seed), loss, steps=steps, rate=rate, what="learning to read")
    return reader


def _documents(some: Sequence[Scene], other_words: float, seed: int, size: int = 32) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of texts [B, N] and the weights [B, N - 1] of what is to be predicted."""
    chance = random.Random(seed)
    while True:
        rows, places = zip(*(document(scene, 6, chance) for scene in chance.choices(some, k=size)))
        tokens = padded(rows)
        weights = other_words * (tokens != PAD).float()
        for row, those in enumerate(places):
            weights[row, those] = 1.0
        yield tokens, weights[:, 1:]
