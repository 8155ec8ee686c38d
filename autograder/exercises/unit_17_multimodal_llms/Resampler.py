"""Exercise 5: Flamingo's resampler, which turns any number of picture vectors into a few."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise


def _case(text, edge=False, **sizes):
    return Case(text, sizes={"D": 12, "H": 2, **sizes}, edge=edge)


@exercise(
    points=2,
    section="Flamingo: looking from within",
    source="Alayrac et al. 2022 (Flamingo), appendix A.1.1 and figure 5",
    outputs="X",
    formula="keys and values from Z = [norm_features(features); norm_latents(latents)], [B, M + R, D], queries from"
    " norm_latents(latents); X = latents + output(attention), H heads,"
    " softmax(q Kᵀ/√(D/H)); then X + mlp(norm_mlp(X)), [B, R, D]",
    cases=[
        _case("a few pictures"),
        _case("more latents than features", R=8, M=5),
        _case("four heads", D=16, H=4),
        _case("one latent", R=1, edge=True),
    ],
)
class Resampler(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.H = H
        self.latents = nn.Parameter(torch.randn(R, D))
        self.norm_features, self.norm_latents, self.norm_mlp = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.to_queries, self.to_keys, self.to_values, self.output = (nn.Linear(D, D, bias=False) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, features: Float[Tensor, "B M D"]) -> Float[Tensor, "B R D"]:
        latents = self.latents.expand(len(features), -1, -1)
        normed = self.norm_latents(latents)
        read = torch.cat([self.norm_features(features), normed], dim=1)
        heads = [
            (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v
            for q, k, v in zip(
                self.to_queries(normed).chunk(self.H, dim=-1),
                self.to_keys(read).chunk(self.H, dim=-1),
                self.to_values(read).chunk(self.H, dim=-1),
            )
        ]
        X = latents + self.output(torch.cat(heads, dim=-1))
        return self.mlp(self.norm_mlp(X)) + X


def _resampled(self, features, *, read=None, asks=None, H=None, divisor=None, onto=None, last=True):
    """The resampler; what is wrong may be what is read, what asks, the heads, the scale, and what is added."""
    latents = self.latents.expand(len(features), -1, -1)
    normed, seen = self.norm_latents(latents), self.norm_features(features)
    read = torch.cat([seen, normed], dim=1) if read is None else read(seen, normed)
    parts = (self.to_queries(normed if asks is None else asks), self.to_keys(read), self.to_values(read))
    Q, K, V = (one.unflatten(-1, (H or self.H, -1)).transpose(1, 2) for one in parts)
    A = (Q @ K.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor)).softmax(dim=-1)
    X = (latents if onto is None else onto) + self.output((A @ V).transpose(1, 2).flatten(2))
    return self.mlp(self.norm_mlp(X)) + X if last else self.mlp(self.norm_mlp(X))


@Resampler.misconception
def latents_not_read(self, features):
    """The latents attend to the features alone. They attend to [features; latents], so that each knows what the others hold."""
    return _resampled(self, features, read=lambda seen, normed: seen)


@Resampler.misconception
def features_not_read(self, features):
    """The latents attend to themselves alone: nothing of the picture arrives. They attend to [features; latents]."""
    return _resampled(self, features, read=lambda seen, normed: normed)


@Resampler.misconception
def two_softmaxes(self, features):
    """Features and latents have a softmax each, and both results are added. There is one softmax over all M + R of them."""
    latents = self.latents.expand(len(features), -1, -1)
    normed = self.norm_latents(latents)
    total = 0
    for read in (self.norm_features(features), normed):
        parts = (self.to_queries(normed), self.to_keys(read), self.to_values(read))
        Q, K, V = (one.unflatten(-1, (self.H, -1)).transpose(1, 2) for one in parts)
        total = total + ((Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1) @ V).transpose(1, 2).flatten(2)
    X = latents + self.output(total)
    return self.mlp(self.norm_mlp(X)) + X


@Resampler.misconception
def no_residual(self, features):
    """What was attended to replaces the latents. It is added to them."""
    return _resampled(self, features, onto=0.0)


@Resampler.misconception
def no_residual_of_the_mlp(self, features):
    """The MLP's result stands alone. It is added to X: X + mlp(norm_mlp(X))."""
    return _resampled(self, features, last=False)


@Resampler.misconception
def no_heads(self, features):
    """There is a single head over all D features. Each of the H heads has D/H of them, and a softmax of its own."""
    return _resampled(self, features, H=1)


@Resampler.misconception
def divided_by_the_full_width(self, features):
    """The scores are divided by √D. Each head's vectors have D/H features: √(D/H)."""
    return _resampled(self, features, divisor=math.sqrt(features.shape[-1]))


@Resampler.misconception
def queries_without_norm(self, features):
    """The queries come from the latents as they are. They are normalised first: to_queries(norm_latents(latents))."""
    return _resampled(self, features, asks=self.latents.expand(len(features), -1, -1))


@Resampler.misconception
def one_norm_for_both(self, features):
    """Features and latents are normalised by the same layer. The features have a norm of their own, norm_features."""
    return _resampled(self, features, read=lambda seen, normed: torch.cat([self.norm_latents(features), normed], dim=1))


@Resampler.misconception
def residual_onto_the_normalised(self, features):
    """What was attended to is added to the normalised latents. It is added to the latents themselves."""
    return _resampled(self, features, onto=self.norm_latents(self.latents))


@Resampler.alternative
def all_heads_at_once(self, features):
    return _resampled(self, features)


@Resampler.alternative
def fused(self, features):
    latents = self.latents.unsqueeze(0).repeat(features.shape[0], 1, 1)
    asked = self.norm_latents(latents)
    read = torch.cat((self.norm_features(features), asked), dim=-2)

    def split(X):
        return X.reshape(X.shape[0], X.shape[1], self.H, -1).permute(0, 2, 1, 3)

    Q, K, V = split(self.to_queries(asked)), split(self.to_keys(read)), split(self.to_values(read))
    found = torch.nn.functional.scaled_dot_product_attention(Q, K, V)
    latents = latents + self.output(found.permute(0, 2, 1, 3).flatten(-2))
    return latents + self.mlp(self.norm_mlp(latents))


@Resampler.alternative
def keys_made_apart(self, features):
    latents, seen = self.latents, self.norm_features(features)
    asked = self.norm_latents(latents)  # [R, D]: the same for every picture

    def both(layer):
        own = layer(asked).expand(len(features), -1, -1)
        return torch.cat([layer(seen), own], dim=1).unflatten(-1, (self.H, -1))

    Q = self.to_queries(asked).unflatten(-1, (self.H, -1))
    E = torch.einsum("rhd,bkhd->bhrk", Q, both(self.to_keys)) / math.sqrt(Q.shape[-1])
    found = torch.einsum("bhrk,bkhd->brhd", E.softmax(dim=-1), both(self.to_values))
    X = latents + self.output(found.flatten(2))
    return self.mlp(self.norm_mlp(X)) + X
