"""Exercise 3: a layer of the Q-Former, in which only the queries look at the picture."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise

SEES, BLIND = "with a picture", "without a picture"


def _allowed(inputs, sizes, rng):
    """A random mask in which each row may attend to something: its own position."""
    shape = inputs["allowed"].shape
    return {"allowed": (rng.random(shape) < 0.5) | torch.eye(shape[-1]).bool().numpy()}


def _everything(inputs, rng):
    inputs["allowed"][:] = True


def _case(part, text, edit=None, edge=False, values=(), **sizes):
    sizes = {"D": 12, "H": 2, **sizes}
    values = dict(values) if part == SEES else {"picture": None, **dict(values)}
    return Case(f"{part}, {text}", sizes=sizes, part=part, edit=edit, edge=edge, values=values)


@exercise(
    points={SEES: 2, BLIND: 1},
    section="BLIP-2: queries that read a picture",
    source="Li et al. 2023 (BLIP-2), figure 2; post-norm as in BERT; the layer of transformers' Blip2QFormerModel",
    outputs="queries text",
    formula="X = norm_own(X + own attention(X)) for X = [queries; text] under the mask; with a picture: queries ="
    " norm_cross(queries + cross attention(queries, picture)); queries = norm_queries(queries + mlp_queries(queries)), text ="
    " norm_text(text + mlp_text(text)); softmax(q Kᵀ/√(D/H)) in each of H heads",
    cases=[
        _case(SEES, "a mask for each pair"),
        _case(SEES, "everybody sees everybody", edit=_everything),
        _case(SEES, "four heads", D=16, H=4),
        _case(SEES, "a single query", Q=1, edge=True),
        _case(BLIND, "one head, everybody sees everybody", edit=_everything, D=11, H=1),
        _case(BLIND, "one head", D=13, H=1),
    ],
    draws=_allowed,
)
class QFormerLayer(nn.Module):
    def __init__(self, D: int, H: int, D_P: int, F: int):
        super().__init__()
        self.H = H
        self.own_queries, self.own_keys, self.own_values, self.own_output = (nn.Linear(D, D) for _ in range(4))
        self.norm_own = nn.LayerNorm(D)
        self.cross_queries, self.cross_output = nn.Linear(D, D), nn.Linear(D, D)
        self.cross_keys, self.cross_values = nn.Linear(D_P, D), nn.Linear(D_P, D)
        self.norm_cross = nn.LayerNorm(D)
        self.mlp_queries = nn.Sequential(nn.Linear(D, F), nn.GELU(), nn.Linear(F, D))
        self.norm_queries = nn.LayerNorm(D)
        self.mlp_text = nn.Sequential(nn.Linear(D, F), nn.GELU(), nn.Linear(F, D))
        self.norm_text = nn.LayerNorm(D)

    def forward(
        self,
        queries: Float[Tensor, "B Q D"],
        text: Float[Tensor, "B N D"],
        picture: Float[Tensor, "B M D_P"] | None,
        allowed: Bool[Tensor, "B Q+N Q+N"],
    ) -> tuple[Float[Tensor, "B Q D"], Float[Tensor, "B N D"]]:
        Q = queries.shape[1]
        X = torch.cat([queries, text], dim=1)
        heads = _attend(self.H, self.own_queries(X), self.own_keys(X), self.own_values(X), allowed)
        X = self.norm_own(X + self.own_output(heads))
        queries, text = X[:, :Q], X[:, Q:]
        if picture is not None:
            keys, values = self.cross_keys(picture), self.cross_values(picture)
            seen = _attend(self.H, self.cross_queries(queries), keys, values)
            queries = self.norm_cross(queries + self.cross_output(seen))
        return self.norm_queries(queries + self.mlp_queries(queries)), self.norm_text(text + self.mlp_text(text))


def _attend(H, Q, K, V, allowed=None, divisor=None):
    """Attention head by head, the heads side by side."""
    found = []
    for q, k, v in zip(Q.chunk(H, dim=-1), K.chunk(H, dim=-1), V.chunk(H, dim=-1)):
        E = q @ k.mT / (math.sqrt(q.shape[-1]) if divisor is None else divisor)
        E = E if allowed is None else E.masked_fill(~allowed, -math.inf)
        found.append(E.softmax(dim=-1) @ v)
    return torch.cat(found, dim=-1)


def _add_and_norm(norm, X, change):
    return norm(X + change)


def _layer(self, queries, text, picture, allowed, *, attend=_attend, add=_add_and_norm, text_sees=False, mlp_text=None):
    """The layer; what is wrong may be its attention, how sublayers are added, who sees the picture, and the text's MLP."""
    Q = queries.shape[1]
    X = torch.cat([queries, text], dim=1)
    own = attend(self.H, self.own_queries(X), self.own_keys(X), self.own_values(X), allowed)
    X = add(self.norm_own, X, self.own_output(own))
    if picture is not None:
        looking = X if text_sees else X[:, :Q]
        keys, values = self.cross_keys(picture), self.cross_values(picture)
        seen = add(
            self.norm_cross, looking, self.cross_output(attend(self.H, self.cross_queries(looking), keys, values))
        )
        X = seen if text_sees else torch.cat([seen, X[:, Q:]], dim=1)
    queries, text = X[:, :Q], X[:, Q:]
    new_text = (self.mlp_text if mlp_text is None else mlp_text)(text)
    return add(self.norm_queries, queries, self.mlp_queries(queries)), add(self.norm_text, text, new_text)


@QFormerLayer.misconception
def text_looks_too(self, queries, text, picture, allowed):
    """The text attends to the picture as well. Only the queries do: what the text learns of the picture comes through them, and
    where the mask keeps the two apart it knows nothing of it."""
    return _layer(self, queries, text, picture, allowed, text_sees=True)


@QFormerLayer.misconception
def one_mlp_for_both(self, queries, text, picture, allowed):
    """Queries and text go through the same MLP, mlp_queries. They share the self-attention; the text has an MLP of its own."""
    return _layer(self, queries, text, picture, allowed, mlp_text=self.mlp_queries)


@QFormerLayer.misconception
def mask_unused(self, queries, text, picture, allowed):
    """The mask is not used: each row of the self-attention attends to all columns. It decides which loss the layer serves."""
    return _layer(self, queries, text, picture, torch.ones_like(allowed))


@QFormerLayer.misconception
def mask_read_the_other_way(self, queries, text, picture, allowed):
    """The mask is read the wrong way round: the allowed columns are hidden. True means: may attend. nn.MultiheadAttention reads
    it as hidden."""
    return _layer(self, queries, text, picture, ~allowed)


@QFormerLayer.misconception
def mask_transposed(self, queries, text, picture, allowed):
    """The mask is transposed: rows attend, columns are attended to."""
    return _layer(self, queries, text, picture, allowed.mT)


@QFormerLayer.misconception
def pre_norm(self, queries, text, picture, allowed):
    """The norms stand before the sublayers (pre-norm). This layer is BERT's, which normalises the sum: norm(x + f(x))."""
    Q = queries.shape[1]
    X = torch.cat([queries, text], dim=1)
    Z = self.norm_own(X)
    X = X + self.own_output(_attend(self.H, self.own_queries(Z), self.own_keys(Z), self.own_values(Z), allowed))
    queries, text = X[:, :Q], X[:, Q:]
    if picture is not None:
        keys, values = self.cross_keys(picture), self.cross_values(picture)
        seen = _attend(self.H, self.cross_queries(self.norm_cross(queries)), keys, values)
        queries = queries + self.cross_output(seen)
    queries = queries + self.mlp_queries(self.norm_queries(queries))
    return queries, text + self.mlp_text(self.norm_text(text))


@QFormerLayer.misconception
def no_residuals(self, queries, text, picture, allowed):
    """The residual connections are missing: each sublayer's result stands alone. It is added to what went in, and then
    normalised."""
    return _layer(self, queries, text, picture, allowed, add=lambda norm, X, change: norm(change))


@QFormerLayer.misconception
def no_heads(self, queries, text, picture, allowed):
    """There is a single head over all D features. Each of the H heads has D/H of them, and a softmax of its own."""

    def whole(H, Q, K, V, allowed=None):
        return _attend(1, Q, K, V, allowed)

    return _layer(self, queries, text, picture, allowed, attend=whole)


@QFormerLayer.misconception
def divided_by_the_full_width(self, queries, text, picture, allowed):
    """The scores are divided by √D. Each head's vectors have D/H features: √(D/H)."""

    def flat(H, Q, K, V, allowed=None):
        return _attend(H, Q, K, V, allowed, divisor=math.sqrt(Q.shape[-1]))

    return _layer(self, queries, text, picture, allowed, attend=flat)


@QFormerLayer.misconception(universal=True)
def queries_do_not_meet(self, queries, text, picture, allowed):
    """Queries and text attend among themselves alone, whatever the mask says. Self-attention runs over one sequence,
    [queries; text], and the mask decides who sees whom."""
    Q = queries.shape[1]
    apart = torch.zeros_like(allowed)
    apart[:, :Q, :Q], apart[:, Q:, Q:] = allowed[:, :Q, :Q], allowed[:, Q:, Q:]
    return _layer(self, queries, text, picture, apart)


@QFormerLayer.alternative
def from_parts(self, queries, text, picture, allowed):
    return _layer(self, queries, text, picture, allowed)


@QFormerLayer.alternative
def fused(self, queries, text, picture, allowed):
    def split(X):
        return X.unflatten(-1, (self.H, -1)).transpose(1, 2)

    def attend(Q, K, V, mask=None):
        found = torch.nn.functional.scaled_dot_product_attention(split(Q), split(K), split(V), attn_mask=mask)
        return found.transpose(1, 2).flatten(2)

    both = torch.cat((queries, text), 1)
    found = attend(self.own_queries(both), self.own_keys(both), self.own_values(both), allowed[:, None])
    both = self.norm_own(both + self.own_output(found))
    queries, text = both.split((queries.shape[1], text.shape[1]), dim=1)
    if picture is not None:
        found = attend(self.cross_queries(queries), self.cross_keys(picture), self.cross_values(picture))
        queries = self.norm_cross(self.cross_output(found) + queries)
    return self.norm_queries(self.mlp_queries(queries) + queries), self.norm_text(self.mlp_text(text) + text)


@QFormerLayer.alternative
def with_einsum(self, queries, text, picture, allowed):
    def attend(H, Q, K, V, allowed=None):
        Q, K, V = (one.reshape(*one.shape[:2], H, -1) for one in (Q, K, V))
        E = torch.einsum("bqhd,bkhd->bhqk", Q, K) * Q.shape[-1] ** -0.5
        if allowed is not None:
            E = E + torch.zeros_like(E).masked_fill(~allowed.unsqueeze(1), -math.inf)
        return torch.einsum("bhqk,bkhd->bqhd", torch.softmax(E, -1), V).reshape(*Q.shape[:2], -1)

    return _layer(self, queries, text, picture, allowed, attend=attend)
