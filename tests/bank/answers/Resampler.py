"""Answers to Resampler (assignment 17)."""

import math

import torch
import torch.nn.functional as F
from answers import change, right, wrong
from torch import nn

# ---------------------------------------------------------------- right


@right("scaled_dot_product_attention over unflattened heads")
class WithSdpa(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.H = H
        self.latents = nn.Parameter(torch.randn(R, D))
        self.norm_features, self.norm_latents, self.norm_mlp = (nn.LayerNorm(D) for _ in range(3))
        self.to_queries, self.to_keys, self.to_values, self.output = (nn.Linear(D, D, bias=False) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, features):
        latents = self.latents.expand(features.shape[0], -1, -1)
        normed = self.norm_latents(latents)
        memory = torch.cat([self.norm_features(features), normed], dim=1)
        q, k, v = (
            layer(x).unflatten(-1, (self.H, -1)).transpose(1, 2)
            for layer, x in ((self.to_queries, normed), (self.to_keys, memory), (self.to_values, memory))
        )
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = latents + self.output(mixed)
        return x + self.mlp(self.norm_mlp(x))


@right("Scores with the features and with the latents are computed apart, only the scores are joined for one softmax")
class ScoresJoined(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.heads = H
        self.latents = nn.Parameter(torch.empty(R, D).normal_(std=0.02))
        for name in ("norm_features", "norm_latents", "norm_mlp"):
            setattr(self, name, nn.LayerNorm(D))
        for name in ("to_queries", "to_keys", "to_values", "output"):
            setattr(self, name, nn.Linear(D, D, bias=False))
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, features):
        B, M, D = features.shape
        R, H = self.latents.shape[0], self.heads
        shown, own = self.norm_features(features), self.norm_latents(self.latents)
        queries = self.to_queries(own).view(R, H, D // H) / math.sqrt(D / H)
        of_shown = torch.einsum("rhd,bmhd->bhrm", queries, self.to_keys(shown).view(B, M, H, D // H))
        of_own = torch.einsum("rhd,shd->hrs", queries, self.to_keys(own).view(R, H, D // H))
        weights = torch.cat([of_shown, of_own.expand(B, H, R, R)], -1).softmax(-1)
        values = self.to_values(shown).view(B, M, H, D // H), self.to_values(own).view(R, H, D // H)
        mixed = torch.einsum("bhrm,bmhd->brhd", weights[..., :M], values[0])
        mixed = mixed + torch.einsum("bhrs,shd->brhd", weights[..., M:], values[1])
        x = self.latents + self.output(mixed.reshape(B, R, D))
        return x + self.mlp(self.norm_mlp(x))


@right("Two attentions, over features and over latents, merged by the logarithms of their sums (in float32 or better)")
class MergedByLogsumexp(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.H, self.width = H, D // H
        self.latents = nn.Parameter(torch.randn(R, D) / D**0.5)
        self.norm_features, self.norm_latents = nn.LayerNorm(D), nn.LayerNorm(D)
        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def part(self, queries, x):
        keys, values = self.split(self.to_keys(x)), self.split(self.to_values(x))
        scores = queries @ keys.mT * self.width**-0.5
        return scores.softmax(-1) @ values, scores.logsumexp(-1, keepdim=True)

    def split(self, x):
        x = x.reshape(*x.shape[:-1], self.H, self.width).movedim(-2, 1)
        return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x

    def forward(self, features):
        latents = self.latents[None].repeat(len(features), 1, 1)
        own = self.norm_latents(latents)
        queries = self.split(self.to_queries(own))
        (a, size_a), (b, size_b) = self.part(queries, self.norm_features(features)), self.part(queries, own)
        share = torch.sigmoid(size_a - size_b)
        mixed = (share * a + (1 - share) * b).movedim(1, -2).flatten(-2).to(features.dtype)
        x = latents + self.output(mixed)
        return torch.add(x, self.mlp(self.norm_mlp(x)))


@right(
    "One head at a time, with slices of the weights, and the heads' outputs summed through slices of the output layer"
)
class OneHeadAtATime(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.H = H
        self.register_parameter("latents", nn.Parameter(torch.rand(R, D) - 0.5))
        self.norm_features = nn.LayerNorm(D)
        self.norm_latents = nn.LayerNorm(D)
        self.to_queries, self.to_keys = nn.Linear(D, D, False), nn.Linear(D, D, False)
        self.to_values, self.output = nn.Linear(D, D, False), nn.Linear(D, D, False)
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, features):
        B, _, D = features.shape
        d = D // self.H
        own = self.norm_latents(self.latents)
        memory = torch.cat((self.norm_features(features), own.expand(B, *own.shape)), dim=-2)
        x = self.latents
        for h in range(self.H):
            rows = slice(h * d, (h + 1) * d)
            q = own @ self.to_queries.weight[rows].T
            k = memory @ self.to_keys.weight[rows].T
            v = memory @ self.to_values.weight[rows].T
            weights = torch.softmax(q @ k.transpose(1, 2) / d**0.5, dim=-1)
            x = x + weights @ v @ self.output.weight[:, rows].T
        return x + self.mlp(self.norm_mlp(x))


@right("One picture at a time in a loop, stacked at the end")
class OnePictureAtATime(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.d = D // H
        self.latents = nn.Parameter(torch.nn.init.trunc_normal_(torch.zeros(R, D), std=0.02))
        self.norm_features, self.norm_latents, self.norm_mlp = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        projections = (nn.Linear(D, D, bias=False) for _ in range(4))
        self.to_queries, self.to_keys, self.to_values, self.output = projections
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def one(self, picture):
        own = self.norm_latents(self.latents)
        memory = torch.vstack([self.norm_features(picture), own])
        heads = [
            (q @ k.T * self.d**-0.5).softmax(1) @ v
            for q, k, v in zip(
                self.to_queries(own).split(self.d, dim=1),
                self.to_keys(memory).split(self.d, dim=1),
                self.to_values(memory).split(self.d, dim=1),
            )
        ]
        x = self.latents + self.output(torch.hstack(heads))
        return x + self.mlp(self.norm_mlp(x))

    def forward(self, features):
        return torch.stack([self.one(picture) for picture in features])


@right("torch's multi_head_attention_forward with the module's own weights, axes in its old order")
class ByTorchsFunction(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.D, self.H = D, H
        self.latents = nn.Parameter(torch.randn(R, D))
        self.norm_features = nn.LayerNorm(D)
        self.norm_latents = nn.LayerNorm(D)
        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, features):
        latents = self.latents.unsqueeze(1).expand(-1, features.shape[0], -1)
        normed = self.norm_latents(latents)
        memory = torch.cat([self.norm_features(features).transpose(0, 1), normed])
        mixed, _ = F.multi_head_attention_forward(
            normed, memory, memory, self.D, self.H, None, None, None, None, False, 0.0, self.output.weight, None,
            need_weights=False, use_separate_proj_weight=True,
            q_proj_weight=self.to_queries.weight, k_proj_weight=self.to_keys.weight, v_proj_weight=self.to_values.weight,
        )  # fmt: skip
        x = latents + mixed
        return (x + self.mlp(self.norm_mlp(x))).transpose(0, 1)


@right("Heads folded into the batch, baddbmm, latents in front of the features, norms by formula")
class FoldedIntoTheBatch(nn.Module):
    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.H, self.R = H, R
        self.latents = nn.Parameter(torch.zeros(R, D).uniform_(-1, 1))
        self.norm_features = nn.LayerNorm(D)
        self.norm_latents = nn.LayerNorm(D)
        self.to_queries, self.to_keys, self.to_values, self.output = [nn.Linear(D, D, bias=False) for _ in "qkvo"]
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    @staticmethod
    def normed(norm, x):
        y = x.float() if x.element_size() < 4 else x
        variance, mean = torch.var_mean(y, dim=-1, keepdim=True, unbiased=False)
        y = (y - mean) * (variance + norm.eps).rsqrt()
        return (y * norm.weight + norm.bias).to(x.dtype)

    def fold(self, x):
        B, T, D = x.shape
        return x.reshape(B, T, self.H, D // self.H).permute(0, 2, 1, 3).reshape(B * self.H, T, D // self.H)

    def forward(self, features):
        B, M, D = features.shape
        latents = self.latents.broadcast_to(B, self.R, D)
        joined = torch.cat([self.normed(self.norm_latents, latents), self.normed(self.norm_features, features)], 1)
        q, k, v = (
            self.fold(self.to_queries(joined[:, : self.R])),
            self.fold(self.to_keys(joined)),
            self.fold(self.to_values(joined)),
        )
        scores = torch.baddbmm(q.new_zeros(1), q, k.mT, beta=0, alpha=(D // self.H) ** -0.5)
        scores = scores - scores.amax(-1, keepdim=True).detach()
        weights = scores.exp()
        mixed = torch.bmm(weights / weights.sum(-1, keepdim=True), v)
        mixed = mixed.reshape(B, self.H, self.R, D // self.H).permute(0, 2, 1, 3).reshape(B, self.R, D)
        x = self.output(mixed).add(latents)
        return self.mlp(self.normed(self.norm_mlp, x)).add(x)


# ---------------------------------------------------------------- wrong: concepts


class _Resampler(nn.Module):
    """The layers, and multi-head attention without its output layer."""

    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.H = H
        self.latents = nn.Parameter(torch.randn(R, D))
        self.norm_features = nn.LayerNorm(D)
        self.norm_latents = nn.LayerNorm(D)
        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def split(self, x):
        return x.unflatten(-1, (self.H, -1)).transpose(1, 2)

    def attend(self, x, keys_of, values_of=None, scale=None):
        values_of = keys_of if values_of is None else values_of
        q, k, v = self.to_queries(x), self.to_keys(keys_of), self.to_values(values_of)
        mixed = F.scaled_dot_product_attention(self.split(q), self.split(k), self.split(v), scale=scale)
        return mixed.transpose(1, 2).flatten(2)

    def start(self, features):
        """The latents for each picture, normed, and the normed features."""
        latents = self.latents.expand(len(features), -1, -1)
        return latents, self.norm_latents(latents), self.norm_features(features)

    def finish(self, x):
        return x + self.mlp(self.norm_mlp(x))


# Right, and not registered: answers below are changes of it.
class _Plain(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        return self.finish(latents + self.output(self.attend(own, torch.cat([shown, own], 1))))


change(_Plain, "FeaturesOnly", "latents attend to the picture's features only, not to the latents", "concept",
       ("torch.cat([shown, own], 1)", "shown"))
change(_Plain, "TwoSoftmaxesAveraged",
       "two softmaxes, one over the features and one over the latents, and the mean of their results", "concept",
       (".output(self.attend(own, torch.cat([shown, own], 1)))",
        ".output(self.attend(own, shown) + self.attend(own, own)) / 2"))
change(_Plain, "FeaturesNotNormed", "the features are not normed", "concept",
       ("own, shown", "own, _"), ("shown, own", "features, own"))
change(_Plain, "QueriesNotNormed", "queries come from the latents without norm_latents", "concept",
       ("own, torch.cat([shown, own], 1)", "latents, torch.cat([shown, own], 1)"))
change(_Plain, "NormsSwapped", "norm_features and norm_latents are swapped", "concept",
       ("latents, own, shown = self.start(features)", """
        latents = self.latents.expand(len(features), -1, -1)
        own, shown = self.norm_features(latents), self.norm_latents(features)"""))
change(_Plain, "NoResidualOfAttention", "no residual around the attention", "concept",
       ("latents, own", "_, own"), ("latents + self.output", "self.output"))


@wrong("norm_mlp is not used", kind="concept")
class MlpWithoutNorm(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        x = latents + self.output(self.attend(own, torch.cat([shown, own], 1)))
        return x + self.mlp(x)


change(MlpWithoutNorm, "MlpResidualOfTheNorm",
       "the MLP's residual adds the normed x: y + mlp(y) with y = norm_mlp(x)", "concept",
       ("return x + self.mlp(x)", """
        y = self.norm_mlp(x)
        return y + self.mlp(y)"""))
change(_Plain, "WithoutOutput", "the output layer is left out", "concept",
       (".output(self.attend(own, torch.cat([shown, own], 1)))", ".attend(own, torch.cat([shown, own], 1))"))
change(_Plain, "NotScaled", "scores are not divided at all", "concept",
       ("torch.cat([shown, own], 1)", "torch.cat([shown, own], 1), scale=1.0"))


@wrong("H is ignored: one head of width D", kind="concept")
class OneHead(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        memory = torch.cat([shown, own], 1)
        mixed = F.scaled_dot_product_attention(self.to_queries(own), self.to_keys(memory), self.to_values(memory))
        return self.finish(latents + self.output(mixed))


@wrong("the axes of the heads' results are not swapped back before they are joined", kind="concept")
class HeadsJoinedInTheWrongOrder(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        memory = torch.cat([shown, own], 1)
        q, k, v = self.split(self.to_queries(own)), self.split(self.to_keys(memory)), self.split(self.to_values(memory))
        mixed = F.scaled_dot_product_attention(q, k, v).reshape(latents.shape)
        return self.finish(latents + self.output(mixed))


@wrong("softmax over the latents (the queries), not over the M + R keys", kind="concept")
class SoftmaxOverQueries(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        memory = torch.cat([shown, own], 1)
        q, k, v = self.split(self.to_queries(own)), self.split(self.to_keys(memory)), self.split(self.to_values(memory))
        weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-2)
        return self.finish(latents + self.output((weights @ v).transpose(1, 2).flatten(2)))


@wrong("to_values is not used: the keys are the values too", kind="concept")
class KeysAsValues(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        memory = torch.cat([shown, own], 1)
        q, k = self.split(self.to_queries(own)), self.split(self.to_keys(memory))
        mixed = F.scaled_dot_product_attention(q, k, k).transpose(1, 2).flatten(2)
        return self.finish(latents + self.output(mixed))


@wrong("the mask is causal, as in a language model", kind="concept")
class Causal(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        M, R = shown.shape[1], own.shape[1]
        memory = torch.cat([shown, own], 1)
        q, k, v = self.split(self.to_queries(own)), self.split(self.to_keys(memory)), self.split(self.to_values(memory))
        allowed = torch.ones(R, M + R, dtype=torch.bool, device=features.device).tril(M)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed).transpose(1, 2).flatten(2)
        return self.finish(latents + self.output(mixed))


change(MlpWithoutNorm, "MlpTwice", "the MLP is applied twice", "concept",
       ("x + self.mlp(x)", "self.finish(self.finish(x))"))


# ---------------------------------------------------------------- wrong: modules


@wrong("projections and output have a bias", kind="module")
class WithBias(_Resampler):
    def __init__(self, D: int, H: int, R: int):
        super().__init__(D, H, R)
        self.to_queries, self.to_keys, self.to_values, self.output = (nn.Linear(D, D) for _ in range(4))

    def forward(self, features):
        latents, own, shown = self.start(features)
        return self.finish(latents + self.output(self.attend(own, torch.cat([shown, own], 1))))


@wrong("the latents have an axis for the batch, [1, R, D]", kind="module")
class LatentsWithABatch(_Resampler):
    def __init__(self, D: int, H: int, R: int):
        super().__init__(D, H, R)
        self.latents = nn.Parameter(torch.randn(1, R, D))

    def forward(self, features):
        latents, own, shown = self.start(features)
        return self.finish(latents + self.output(self.attend(own, torch.cat([shown, own], 1))))


@wrong("the MLP is D wide inside, not 4 * D", kind="module")
class NarrowMlp(_Resampler):
    def __init__(self, D: int, H: int, R: int):
        super().__init__(D, H, R)
        self.mlp = nn.Sequential(nn.Linear(D, D), nn.GELU(), nn.Linear(D, D))

    def forward(self, features):
        latents, own, shown = self.start(features)
        return self.finish(latents + self.output(self.attend(own, torch.cat([shown, own], 1))))


# ---------------------------------------------------------------- wrong: shapes, gradients, numerics, process, interface


@wrong("features and latents both ask, and all M + R vectors are given back", kind="shape")
class EverythingGivenBack(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        memory = torch.cat([shown, own], 1)
        return self.finish(torch.cat([features, latents], 1) + self.output(self.attend(memory, memory)))


@wrong("with one picture the axis of the batch is squeezed away", kind="shape")
class BatchSqueezed(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        return self.finish(latents + self.output(self.attend(own, torch.cat([shown, own], 1)))).squeeze(0)


@wrong("exp without subtracting the largest score: inf / inf with large scores", kind="numerics")
class SoftmaxOverflows(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        memory = torch.cat([shown, own], 1)
        q, k, v = self.split(self.to_queries(own)), self.split(self.to_keys(memory)), self.split(self.to_values(memory))
        weights = torch.exp(q @ k.mT / math.sqrt(q.shape[-1]))
        mixed = (weights / weights.sum(-1, keepdim=True)) @ v
        return self.finish(latents + self.output(mixed.transpose(1, 2).flatten(2)))


@wrong("dropout on the attention's result in training", kind="process")
class WithDropout(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        mixed = F.dropout(self.attend(own, torch.cat([shown, own], 1)), 0.1, self.training)
        return self.finish(latents + self.output(mixed))


@wrong("the latents are overwritten in every call with what came out for the first picture", kind="process")
class LatentsUpdated(_Resampler):
    def forward(self, features):
        latents, own, shown = self.start(features)
        x = self.finish(latents + self.output(self.attend(own, torch.cat([shown, own], 1))))
        self.latents = nn.Parameter(x[0].detach().clone())
        return x


@wrong("the features are flattened with .view, which fails on a transposed layout", kind="layout")
class FeaturesViewed(_Resampler):
    def forward(self, features):
        B, M, D = features.shape
        shown = self.norm_features(features.view(B * M, D)).view(B, M, D)
        latents = self.latents.expand(B, -1, -1)
        own = self.norm_latents(latents)
        return self.finish(latents + self.output(self.attend(own, torch.cat([shown, own], 1))))
