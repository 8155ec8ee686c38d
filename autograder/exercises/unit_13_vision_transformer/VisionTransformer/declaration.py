"""Exercise 6: the encoder of a Vision Transformer, its pooling and its head."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise

CLASS, MEAN = "class token", "mean"


def _case(part, text, edge=False, **sizes):
    usual = {"D": 12, "H": 3, "depth": 2} if part == CLASS else {"D": 8, "H": 4, "depth": 2, "N+1": 9}
    return Case(f"{part}, {text}", sizes={**usual, **sizes, "mean_pooling": part == MEAN}, part=part, edge=edge)


@exercise(
    points={CLASS: 2, MEAN: 2},
    section="Encoder, pooling and head",
    source="Dosovitskiy et al. 2021, equations 2 to 4; mean pooling: their appendix D.3",
    outputs="logits",
    formula="X_0 = X, X_l = block_l(X_{l−1}), Y = norm(X_depth) with rows y_0, …, y_N; logits = head(y_0) with the class token,"
    " and head((y_1 + … + y_N)/N) with mean pooling; X, X_l, Y [B, N+1, D], logits [B, classes]",
    cases=[
        _case(CLASS, "a batch of images"),
        _case(CLASS, "one head, three blocks", D=7, H=1, depth=3),
        _case(CLASS, "one block, as many tokens as images", depth=1, B="N+1"),
        _case(MEAN, "a batch of images"),
        _case(MEAN, "a single patch, three blocks", **{"N+1": 2, "H": 1, "depth": 3, "D": 5}),
        _case(MEAN, "as many classes as features", edge=True, classes="D"),
    ],
)
class VisionTransformer(nn.Module):
    def __init__(self, D: int, H: int, D_F: int, depth: int, classes: int, mean_pooling: bool):
        super().__init__()
        self.mean_pooling = bool(mean_pooling)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, classes)

    def forward(self, X: Float[Tensor, "B N+1 D"]) -> Float[Tensor, "B classes"]:
        Y = nn.Sequential(*self.blocks, self.norm)(X)
        patches = Y.shape[1] - 1
        pooled = Y[:, 1:].sum(dim=1) / patches if self.mean_pooling else Y.select(1, 0)
        return torch.einsum("bd,cd->bc", pooled, self.head.weight) + self.head.bias


def _encoded(self, X, blocks=None):
    for block in self.blocks if blocks is None else blocks:
        X = block(X)
    return X


def _pooled(self, Y, mean=None):
    return Y[:, 1:].mean(dim=1) if (self.mean_pooling if mean is None else mean) else Y[:, 0]


def _after(self, X):
    """The logits from what the last block gives."""
    return self.head(_pooled(self, self.norm(X)))
