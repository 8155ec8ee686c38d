"""Multi-head attention whose keys and values can be read beforehand, and an encoder block made of it."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn


class HeadedAttention(nn.Module):
    """Lesson 06's heads in two steps: `read` makes keys and values, which can be kept; calling it attends to them.

    Args:
        D: width of all vectors.
        H: number of heads.
    """

    def __init__(self, D: int, H: int):
        super().__init__()
        self.H = H
        self.W_Q, self.W_KV, self.W_O = nn.Linear(D, D), nn.Linear(D, 2 * D), nn.Linear(D, D)
        self.look = False  # whether `A` is kept
        self.A = None  # the weights [B, H, N_Q, N_X] of the last call

    def read(self, X: Float[Tensor, "B N_X D"]) -> tuple[Tensor, Tensor]:
        """Keys and values, each [B, H, N_X, D/H]."""
        K, V = self.W_KV(X).chunk(2, dim=-1)
        return self._heads(K), self._heads(V)

    def forward(
        self, X: Float[Tensor, "B N_Q D"], K: Tensor, V: Tensor, allowed: Bool[Tensor, "..."] | None
    ) -> Float[Tensor, "B N_Q D"]:
        """What the queries of X find.

        Args:
            X: the vectors that ask.
            K, V: keys and values from `read`.
            allowed: True where a query may attend to a key, of a shape that broadcasts to [B, H, N_Q, N_X], such as [T, T]
                or [B, 1, 1, N_X]; None where all may.
        """
        Q = self._heads(self.W_Q(X))
        if self.look:
            E = Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1])
            self.A = (E if allowed is None else E.masked_fill(~allowed, -torch.inf)).softmax(dim=-1)
            found = self.A @ V
        else:
            found = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)
        return self.W_O(found.transpose(1, 2).flatten(2))

    def _heads(self, X: Tensor) -> Tensor:
        return X.unflatten(-1, (self.H, X.shape[-1] // self.H)).transpose(1, 2)


class EncoderBlock(nn.Module):
    """Lesson 09's pre-norm block, with dropout on both sublayers."""

    def __init__(self, D: int, H: int, D_F: int, dropout: float):
        super().__init__()
        self.norm_1, self.norm_2 = (nn.LayerNorm(D) for _ in range(2))
        self.self_attention = HeadedAttention(D, H)
        self.mlp = nn.Sequential(nn.Linear(D, D_F), nn.ReLU(), nn.Linear(D_F, D))
        self.dropout = nn.Dropout(dropout)

    def forward(self, X: Float[Tensor, "B N D"], source_mask: Bool[Tensor, "B 1 1 N"] | None) -> Float[Tensor, "B N D"]:
        """All positions attend to those where the mask is True, which are the ones that are no padding."""
        Z = self.norm_1(X)
        X = X + self.dropout(self.self_attention(Z, *self.self_attention.read(Z), source_mask))
        return X + self.dropout(self.mlp(self.norm_2(X)))
