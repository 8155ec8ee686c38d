"""A GPT from tokens to logits; here its cases, its reference, and what its mistakes are made of."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    return {"tokens": rng.integers(sizes["V"], size=inputs["tokens"].shape)}


def _case(text, edge=False, precision="", **sizes):
    return Case(text, sizes={"D": 12, "H": 3, "L": 2, **sizes}, edge=edge, precision=precision)


@exercise(
    points=3,
    section="GPT",
    source="Radford et al. 2019 (GPT-2), section 2.3; the tied head: Press and Wolf 2017",
    outputs="logits",
    formula="X_0[b, i] = E[tokens[b, i]] + P[i] for the positions i = 0, …, n−1; X_l = block_l(X_{l−1}) for l = 1, …, L, where"
    " position i attends to the positions 0, …, i; logits = norm(X_L) Eᵀ; E = tokens.weight [V, D], P = positions.weight"
    " [N, D]; tokens [B, n], X_l [B, n, D], logits [B, n, V]",
    cases=[
        _case("texts that are shorter than the context", N=11, n=9),
        _case("texts that fill the context", n="N"),
        _case("one head, three blocks", D=7, H=1, L=3, N=10, n=8),
        _case("one block, as many texts as positions", L=1, N=10, n=6, B="n"),
        _case("one block, as many words as features", L=1, D=8, H=4, N=9, n=7, V="D"),
        _case("texts of a single token", edge=True, N=7, n=1),
        _case("a long text, a longer context", edge=True, N=80, n=35),
        _case("a long text in double precision", edge=True, precision="float64", N=40, n=37),
        _case("a wide model", edge=True, D=70, H=5, N=9, n=6, D_F=67),
        _case("six blocks", edge=True, D=8, H=2, L=6, N=10, n=7),
    ],
    draws=_drawn,
)
class GPT(nn.Module):
    def __init__(self, V: int, N: int, D: int, H: int, D_F: int, L: int):
        super().__init__()
        self.tokens = nn.Embedding(V, D)
        self.positions = nn.Embedding(N, D)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
            for _ in range(L)
        )
        self.norm = nn.LayerNorm(D)

    def forward(self, tokens: Int[Tensor, "B n"]) -> Float[Tensor, "B n V"]:
        places = torch.arange(tokens.shape[1], device=tokens.device)  # [n]
        later = places > places.unsqueeze(1)  # [n, n], row i: True at the places that position i may not attend to
        X = self.tokens.weight[tokens] + self.positions.weight[: len(places)]  # [B, n, D]
        for block in self.blocks:
            X = block(X, src_mask=later)
        return torch.einsum("bnd,vd->bnv", self.norm(X), self.tokens.weight)


def _embedded(self, tokens, places=None):
    """The sums of token and position embeddings, [B, n, D]; the positions may be others than 0, …, n−1."""
    places = torch.arange(tokens.shape[1], device=tokens.device) if places is None else places
    return self.tokens(tokens) + self.positions(places)


def _later(X, diagonal=1):
    """Where attention is forbidden, as torch's layers want it: True at the later positions, [n, n]."""
    return torch.ones(X.shape[1], X.shape[1], dtype=torch.bool, device=X.device).triu(diagonal)


def _run(self, X, blocks=None, mask=_later):
    """The residual stream after these blocks; the mask is made of X, or None."""
    hidden = None if mask is None else mask(X)
    for block in self.blocks if blocks is None else blocks:
        X = block(X, src_mask=hidden)
    return X


def _head(self, X):
    """The logits of what the last block gives."""
    return self.norm(X) @ self.tokens.weight.T
