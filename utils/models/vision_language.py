"""What networks for pictures and texts are made of: a block that may look at a picture, and an encoder of a CNN's grid."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn


class Attention(nn.Module):
    """Multi-head attention of queries to a source, D wide, as in lesson 06; what it may attend to is True in `allowed`."""

    def __init__(self, D: int, H: int):
        super().__init__()
        self.H = H
        self.queries, self.keys_and_values, self.output = nn.Linear(D, D), nn.Linear(D, 2 * D), nn.Linear(D, D)

    def forward(
        self, X: Float[Tensor, "B N D"], source: Float[Tensor, "B M D"], allowed: Bool[Tensor, "B N M"] | None = None
    ) -> Float[Tensor, "B N D"]:
        Q, K, V = self._heads(X, source)
        of_all_heads = None if allowed is None else allowed.unsqueeze(1)
        attended = F.scaled_dot_product_attention(Q, K, V, attn_mask=of_all_heads)
        return self.output(attended.transpose(1, 2).flatten(2))

    def weights(self, X: Float[Tensor, "B N D"], source: Float[Tensor, "B M D"]) -> Float[Tensor, "B H N M"]:
        """Where each query attends, for a figure: no mask is applied."""
        Q, K, _ = self._heads(X, source)
        return (Q @ K.mT / Q.shape[-1] ** 0.5).softmax(dim=-1)

    def _heads(self, X, source):
        projected = (self.queries(X), *self.keys_and_values(source).chunk(2, dim=-1))
        return (one.unflatten(-1, (self.H, -1)).transpose(1, 2) for one in projected)  # [B, H, ..., D/H]


class MultimodalBlock(nn.Module):
    """A pre-norm Transformer block; with `looks` it has a cross-attention layer, which is skipped where no picture is given."""

    def __init__(self, D: int, H: int, looks: bool = False):
        super().__init__()
        self.norm_own, self.own = nn.LayerNorm(D), Attention(D, H)
        self.norm_cross, self.cross = (nn.LayerNorm(D), Attention(D, H)) if looks else (None, None)
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(
        self,
        X: Float[Tensor, "B N D"],
        allowed: Bool[Tensor, "B N N"] | None = None,
        picture: Float[Tensor, "B M D"] | None = None,
    ) -> Float[Tensor, "B N D"]:
        Z = self.norm_own(X)
        X = X + self.own(Z, Z, allowed)
        if picture is not None:
            X = X + self.cross(self.norm_cross(X), picture)
        return X + self.mlp(self.norm_mlp(X))


class GridEncoder(nn.Module):
    """A Transformer over the cells of a CNN's feature map, with a class token in front, as in lesson 13."""

    def __init__(self, D: int, H: int, cells: int, L: int = 1, width: int = 64):
        super().__init__()
        self.cells, self.positions = nn.Linear(width, D), nn.Parameter(0.2 * torch.randn(cells, D))
        self.class_token = nn.Parameter(0.2 * torch.randn(1, 1, D))
        self.blocks, self.norm = nn.ModuleList(MultimodalBlock(D, H) for _ in range(L)), nn.LayerNorm(D)

    def forward(self, grids: Float[Tensor, "B M width"]) -> Float[Tensor, "B M+1 D"]:
        X = torch.cat([self.class_token.expand(len(grids), -1, -1), self.cells(grids) + self.positions], dim=1)
        for block in self.blocks:
            X = block(X)
        return self.norm(X)
