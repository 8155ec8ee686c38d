"""A small decoder that translates by going on with a row of tokens; its six matrices in each block have names of their own."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from utils.data.translation import PAD
from utils.data.word_order import S, size
from utils.models.training import train

MATRICES = ("query", "key", "value", "output", "up", "down")


class CausalAttention(nn.Module):
    """Each token attends to itself and to the tokens before it; Q, K, V and the result are [B, H, N, D_H]."""

    def forward(self, Q, K, V):
        return F.scaled_dot_product_attention(Q, K, V, is_causal=True)


class Block(nn.Module):
    """A pre-norm block; its linear layers are `query`, `key`, `value`, `output`, `up` and `down`."""

    def __init__(self, D: int, H: int, D_F: int):
        super().__init__()
        self.H, self.attention = H, CausalAttention()
        self.norm_1 = nn.LayerNorm(D)
        self.norm_2 = nn.LayerNorm(D)
        self.query, self.key, self.value, self.output = (nn.Linear(D, D) for _ in range(4))
        self.up, self.down = nn.Linear(D, D_F), nn.Linear(D_F, D)

    def forward(self, X: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        normed = self.norm_1(X)
        Q, K, V = (
            layer(normed).unflatten(-1, (self.H, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )  # each [B, H, N, D_H]
        X = X + self.output(self.attention(Q, K, V).transpose(1, 2).flatten(2))
        return X + self.down(F.gelu(self.up(self.norm_2(X))))


class Translator(nn.Module):
    """Tokens [B, N] give logits [B, N, V] for the token that comes next."""

    def __init__(self, D: int = 64, H: int = 4, D_F: int = 256, L: int = 3, N: int = 32):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(size(), D), nn.Embedding(N, D)
        for table in (self.embedding, self.positions):
            nn.init.normal_(table.weight, std=0.1)
        self.blocks = nn.ModuleList(Block(D, H, D_F) for _ in range(L))
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, size())

    def forward(self, X: Int[Tensor, "B N"]) -> Float[Tensor, "B N V"]:
        hidden_state = self.embedding(X) + self.positions.weight[: X.shape[1]]
        for block in self.blocks:
            hidden_state = block(hidden_state)
        return self.head(self.norm(hidden_state))


def loss(model: nn.Module, X: Int[Tensor, "B N"]) -> Tensor:
    """The mean cross entropy of the French tokens, given the English ones and the French ones before."""
    logits = model(X[:, :-1])[:, S - 1 :]  # [B, N - S, V]
    return F.cross_entropy(logits.flatten(0, 1), X[:, S:].flatten(), ignore_index=PAD)


def fit(model: nn.Module, X: Int[Tensor, "B N"], *, steps: int, rate: float, seed: int, what: str) -> list[float]:
    """Trains on batches of 64 rows; returns the loss at each step."""
    generator = torch.Generator().manual_seed(seed)
    device = next(model.parameters()).device
    X = X.to(device)
    batches = (X[torch.randint(len(X), (64,), generator=generator).to(device)] for _ in range(steps))
    return train(model, batches, loss, steps=steps, rate=rate, what=what)


@torch.no_grad()
def write(model: nn.Module, X: Int[Tensor, "B S"], count: int) -> Int[Tensor, "B S+count"]:
    """The rows, continued by `count` tokens, each the likeliest."""
    X = X.to(next(model.parameters()).device)
    for _ in range(count):
        X = torch.cat([X, model(X)[:, -1:].argmax(dim=-1)], dim=1)
    return X


@torch.no_grad()
def exact(model: nn.Module, X: Int[Tensor, "B N"]) -> float:
    """The share of rows whose French part the model writes without a mistake, taking the likeliest token each time.

    It does so where it finds every token from the right ones before it, so one pass over the rows tells.
    """
    X = X.to(next(model.parameters()).device)
    found, right = model(X[:, :-1])[:, S - 1 :].argmax(dim=-1), X[:, S:]
    return ((found == right) | (right == PAD)).all(dim=1).cpu().double().mean().item()
