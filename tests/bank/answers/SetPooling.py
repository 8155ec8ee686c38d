"""Answers to SetPooling (assignment 12)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong
from torch import nn


class _Pooling(nn.Module):
    """The parameters, and what most answers do with them."""

    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.randn(D))
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def scores(self, X):
        return self.W_K(X) @ self.seed / math.sqrt(X.shape[-1])

    def weights(self, X, mask):
        return self.scores(X).masked_fill(~mask, -math.inf).softmax(-1)

    def mix(self, weights, values):
        return (weights.unsqueeze(1) @ values).squeeze(1)


# ---------------------------------------------------------------- right


@right("the fused attention with one query a set")
class Fused(_Pooling):
    def forward(self, X, mask):
        query = self.seed[None, None].expand(len(X), -1, -1)
        return F.scaled_dot_product_attention(query, self.W_K(X), self.W_V(X), attn_mask=mask[:, None])[:, 0]


@right("set after set, with the points that are there alone")
class SetAfterSet(_Pooling):
    def forward(self, X, mask):
        pooled = []
        for b in range(X.shape[0]):
            there = X[b, mask[b]]
            pooled.append(
                self.weights(there[None], torch.ones_like(mask[b : b + 1, : len(there)]))[0] @ self.W_V(there)
            )
        return torch.stack(pooled)


@right("an additive mask of zeros and -inf, made by where")
class AdditiveMask(_Pooling):
    def forward(self, X, mask):
        bias = torch.where(mask, 0.0, -math.inf).to(X.dtype)
        weights = F.softmax(self.scores(X) + bias, dim=1)
        return torch.einsum("bn,bnd->bd", weights, self.W_V(X))


@right("exp of what is left after the maximum, times the mask, over its sum")
class ByHand(_Pooling):
    def forward(self, X, mask):
        E = self.scores(X).masked_fill(~mask, torch.finfo(X.dtype).min)
        powers = (E - E.max(1, keepdim=True).values).exp() * mask
        return self.mix(powers / powers.sum(1, keepdim=True), self.W_V(X))


@right("the values' layer is applied after the sum, since it is linear and the weights sum to 1")
class ValuesLast(_Pooling):
    def forward(self, X, mask):
        return self.W_V(self.mix(self.weights(X, mask), X))


@right("the points that are there in one long list, summed set by set with index_add")
class OneLongList(_Pooling):
    def forward(self, X, mask):
        owner, place = mask.nonzero(as_tuple=True)
        points = X[owner, place]
        E = self.scores(points)
        top = torch.full((len(X),), -math.inf, dtype=E.dtype, device=E.device)
        top = top.scatter_reduce(0, owner, E.detach(), "amax")
        powers = (E - top[owner]).exp()
        total = torch.zeros(len(X), dtype=E.dtype, device=E.device).index_add(0, owner, powers)
        values = self.W_V(points) * (powers / total[owner]).unsqueeze(1)
        return torch.zeros(len(X), X.shape[-1], dtype=values.dtype, device=E.device).index_add(0, owner, values)


@right("log_softmax, exp and a transposed product")
class ByLogSoftmax(_Pooling):
    def forward(self, X, mask):
        E = torch.inner(self.seed, self.W_K(X)) * X.size(-1) ** -0.5
        E[~mask] = float("-inf")
        return torch.matmul(self.W_V(X).mT, E.log_softmax(-1).exp().unsqueeze(-1)).squeeze(-1)


@right("one weight for keys and values side by side, made in forward; the padding's vectors become zeros first")
class SideBySide(_Pooling):
    def forward(self, X, mask):
        X = X.masked_fill(~mask.unsqueeze(-1), 0)
        keys, values = F.linear(X, torch.cat([self.W_K.weight, self.W_V.weight])).chunk(2, dim=-1)
        E = (keys * self.seed).sum(-1, keepdim=True) / math.sqrt(len(self.seed))
        E = E.masked_fill(~mask.unsqueeze(-1), -math.inf)
        return (E.softmax(dim=1) * values).sum(dim=1)


@right("a running softmax over the places, which skips those that are not there")
class Running(_Pooling):
    def forward(self, X, mask):
        top = torch.full_like(X[:, 0, :1], -1e30)
        total, result = torch.zeros_like(top), torch.zeros_like(X[:, 0])
        E, V = self.scores(X), self.W_V(X)
        for n in range(X.shape[1]):
            there = mask[:, n, None]
            new = torch.where(there, torch.maximum(top, E[:, n, None]), top)
            old, now = (top - new).exp(), torch.where(there, E[:, n, None] - new, -math.inf).exp()
            total, result, top = total * old + now, result * old + now * V[:, n], new
        return result / total


# ---------------------------------------------------------------- wrong


@wrong("mean of the values of the points that are there", kind="concept")
class MeanOfValues(_Pooling):
    def forward(self, X, mask):
        return (self.W_V(X) * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


change(MeanOfValues, "MeanOfPoints", "mean of the points themselves", "concept",
       ("self.W_V(X)", "X"))
change(ValuesLast, "MeanOfAllPlaces", "mean of the values over all N places", "concept",
       (".W_V(self.mix(self.weights(X, mask), X))", ".W_V(X).mean(1)"))
change(ValuesLast, "MaxOfValues", "maximum of the values", "concept",
       (".W_V(self.mix(self.weights(X, mask), X))", ".W_V(X).masked_fill(~mask[..., None], -math.inf).max(1).values"))


@wrong("maximum of the points", kind="concept")
class MaxOfPoints(_Pooling):
    def forward(self, X, mask):
        return X.masked_fill(~mask[..., None], -math.inf).max(1).values


change(MeanOfValues, "SumOfValues", "sum of the values, no weights", "concept",
       (".sum(1) / mask.sum(1, keepdim=True)", ".sum(1)"))


@wrong("hard choice of the point with the largest score", kind="concept")
class HardChoice(_Pooling):
    def forward(self, X, mask):
        best = self.scores(X).masked_fill(~mask, -math.inf).argmax(1)
        return self.W_V(X)[torch.arange(len(X)), best]


# Right, and not registered: answers below are changes of it.
class _PlainForward(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.scores(X).masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


change(_PlainForward, "MaskLeftOut", "the mask is not used", "concept",
       (".masked_fill(~mask, -math.inf).softmax(-1)", ".softmax(-1)"))


# Right, and not registered: answers below are changes of it.
class _Plain(_Pooling):
    def forward(self, X, mask):
        E = (self.W_K(X) @ self.seed / X.shape[-1] ** 0.5).masked_fill(~mask, -math.inf)
        return self.mix(E.softmax(-1), self.W_V(X))


change(_Plain, "CopyDropped", "masked_fill returns a copy that is dropped", "concept",
       ("E = (self.W_K(X) @ self.seed / X.shape[-1] ** 0.5).masked_fill(~mask, -math.inf)", """
        E = self.scores(X)
        E.masked_fill(~mask, -math.inf)"""))
change(_PlainForward, "MaskInverted", "the mask is inverted", "concept",
       ("~mask", "mask"))
change(_PlainForward, "MaskInvertedFinite", "the mask is inverted, with -1e9", "concept",
       ("~mask, -math.inf", "mask, -1e9"))


# Right, and not registered: answers below are changes of it.
class _Plain2(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.weights(X, mask), self.W_V(X))


change(_Plain2, "ScoresTimesMask", "scores times the mask: hidden ones are 0", "concept",
       ("self.weights(X, mask)", "(self.scores(X) * mask).softmax(-1)"))
change(_Plain2, "MaskAdded", "the mask is added as 0 and 1", "concept",
       ("self.weights(X, mask)", "(self.scores(X) + mask).softmax(-1)"))
change(_PlainForward, "HiddenByMinusOne", "hidden scores of -1", "concept",
       ("-math.inf", "-1.0"))
change(_Plain2, "MaskAfterSoftmax", "weights times the mask after the softmax", "concept",
       (".weights(X, mask)", ".scores(X).softmax(-1) * mask"))
change(_PlainForward, "PaddingAsZeros", "the vectors of padding are zeros, their weights are not", "concept",
       before("return", "X = X * mask[..., None]"), (".masked_fill(~mask, -math.inf).softmax(-1)", ".softmax(-1)"))
change(_Plain2, "InfinityRepaired", "-inf before the division and zero scores by nan_to_num afterwards", "concept",
       before("return", "E = self.scores(X).masked_fill(~mask, -math.inf).nan_to_num(neginf=0.0)"),
       ("self.weights(X, mask)", "E.softmax(-1)"))
change(_Plain2, "MaskAsLength", "the mask is taken for a prefix: the first mask.sum() places", "concept",
       before("return", "prefix = torch.arange(X.shape[1]) < mask.sum(1, keepdim=True)"),
       (".weights(X, mask)", ".weights(X, prefix)"))
change(_Plain2, "MaskOfTheFirst", "the mask of the first set for all", "concept",
       (".weights(X, mask)", ".weights(X, mask[:1].expand_as(mask))"))
change(_PlainForward, "SoftmaxOverBatch", "softmax over the batch", "concept",
       (".masked_fill(~mask, -math.inf).softmax(-1)", ".masked_fill(~mask, -1e9).softmax(0)"))


@wrong("softmax over the features of the keys", kind="concept")
class SoftmaxOverFeatures(_Pooling):
    def forward(self, X, mask):
        A = (self.W_K(X) * self.seed / math.sqrt(X.shape[-1])).softmax(-1) * mask[..., None]
        return (A * self.W_V(X)).sum(1)


@wrong("a softmax for each feature over the points", kind="concept")
class FeatureByFeature(_Pooling):
    def forward(self, X, mask):
        E = self.W_K(X) * self.seed / math.sqrt(X.shape[-1])
        return (E.masked_fill(~mask[..., None], -math.inf).softmax(1) * self.W_V(X)).sum(1)


@wrong("softmax along an axis of one entry: all weights are 1", kind="concept")
class SoftmaxOverOne(_Pooling):
    def forward(self, X, mask):
        E = self.scores(X)[..., None]
        return (E.softmax(-1) * mask[..., None] * self.W_V(X)).sum(1)


change(_Plain, "SoftmaxOverEverything", "one softmax over all places of all sets", "concept",
       ("(self.W_K(X) @ self.seed / X.shape[-1] ** 0.5)", "self.scores(X)"),
       ("E.softmax(-1)", "E.flatten().softmax(0).view_as(E)"))
change(_PlainForward, "NoSoftmax", "no softmax: scores as weights", "concept",
       (".masked_fill(~mask, -math.inf).softmax(-1)", ".masked_fill(~mask, 0)"))
change(_PlainForward, "SigmoidGates", "a sigmoid gate in place of the softmax", "concept",
       (".softmax(-1)", ".sigmoid()"))
change(_Plain2, "ScoresOverTheirSum", "scores divided by their sum, without exp", "concept",
       before("return", "E = self.scores(X).masked_fill(~mask, 0)"),
       ("self.weights(X, mask)", "E / E.sum(1, keepdim=True)"))
change(_Plain, "SoftmaxTwice", "softmax twice", "concept",
       ("E = (self.W_K(X) @ self.seed / X.shape[-1] ** 0.5)", "A = self.weights(X, mask)"),
       ("E.softmax(-1)", "A.softmax(-1)"))
change(_Plain, "NoRoot", "no division by the root", "concept",
       (".seed / X.shape[-1] ** 0.5", ".seed"))
change(_Plain, "OverTheWidth", "divided by D", "concept",
       ("X.shape[-1] ** 0.5", "X.shape[-1]"))
change(_Plain, "RootOfPoints", "divided by the root of N", "concept",
       ("X.shape[-1]", "X.shape[1]"))
change(_Plain, "TimesTheRoot", "multiplied by the root", "concept",
       (".seed / X", ".seed * X"))
change(_Plain, "WeightsScaled", "the weights are divided by the root, not the scores", "concept",
       (".seed / X.shape[-1] ** 0.5", ".seed"), ("E.softmax(-1)", "E.softmax(-1) / math.sqrt(X.shape[-1])"))
change(_Plain2, "KeysAsValues", "keys are summed in place of values", "concept",
       (".W_V(X)", ".W_K(X)"))
change(_PlainForward, "KeysAndValuesExchanged", "keys and values exchanged", "concept",
       before("return", "E = self.W_V(X) @ self.seed / math.sqrt(X.shape[-1])"), ("self.scores(X)", "E"),
       (".W_V(X)", ".W_K(X)"))
change(_PlainForward, "ValuesAsKeys", "the values' layer also makes the keys", "concept",
       before("return", "E = self.W_V(X) @ self.seed / math.sqrt(X.shape[-1])"), ("self.scores(X)", "E"))
change(_PlainForward, "PointsForKeys", "the points as they are for keys", "concept",
       before("return", "E = X @ self.seed / math.sqrt(X.shape[-1])"), ("self.scores(X)", "E"))
change(_Plain2, "PointsForValues", "the points as they are for values", "concept",
       ("self.W_V(X)", "X"))
change(_PlainForward, "SeedThroughKeys", "the seed goes through W_K too", "concept",
       before("return", "E = self.W_K(X) @ self.W_K(self.seed) / math.sqrt(X.shape[-1])"), ("self.scores(X)", "E"))
change(_Plain2, "SeedAdded", "the seed is added to the result", "concept",
       ("self.mix", "self.seed + self.mix"))
change(_PlainForward, "SeedNormalised", "the seed is normalised to length 1", "concept",
       before("return", "E = self.W_K(X) @ F.normalize(self.seed, dim=0) / math.sqrt(X.shape[-1])"),
       ("self.scores(X)", "E"))


@wrong("the first point asks in place of the seed", kind="concept")
class FirstPointAsks(_Pooling):
    def forward(self, X, mask):
        E = (self.W_K(X) @ X[:, 0, :, None]).squeeze(-1) / math.sqrt(X.shape[-1]) + 0 * self.seed.sum()
        return self.mix(E.masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


@wrong("the mean of the points asks in place of the seed", kind="concept")
class MeanAsks(_Pooling):
    def forward(self, X, mask):
        query = (X * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        E = torch.einsum("bnd,bd->bn", self.W_K(X), query) / math.sqrt(X.shape[-1]) + 0 * self.seed.sum()
        return self.mix(E.masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


@wrong("all points ask (self-attention), then their mean", kind="concept")
class SelfAttentionThenMean(_Pooling):
    def forward(self, X, mask):
        E = X @ self.W_K(X).mT / math.sqrt(X.shape[-1])
        Y = E.masked_fill(~mask[:, None], -math.inf).softmax(-1) @ self.W_V(X)
        return (Y * mask[..., None]).sum(1) / mask.sum(1, keepdim=True) + 0 * self.seed


@wrong("the seed is appended to the set as one more point", kind="concept")
class SeedAmongThePoints(_Pooling):
    def forward(self, X, mask):
        more = torch.cat([self.seed.expand(len(X), 1, -1), X], 1)
        there = F.pad(mask, (1, 0), value=True)
        return self.mix(self.weights(more, there), self.W_V(more))


@wrong("the weighted values are averaged over N, not summed", kind="concept")
class WeightedMean(_Pooling):
    def forward(self, X, mask):
        return (self.weights(X, mask)[..., None] * self.W_V(X)).mean(1)


change(MeanOfValues, "OverTheCount", "the weighted values are divided by the number of points", "concept",
       ("(self.W_V(X) * mask[..., None]).sum(1)", "self.mix(self.weights(X, mask), self.W_V(X))"))
change(_PlainForward, "ByDistance", "scores of negative distances between seed and keys", "concept",
       before("return", "E = -(self.W_K(X) - self.seed).square().sum(-1) / math.sqrt(X.shape[-1])"),
       ("self.scores(X)", "E"))
change(_PlainForward, "ByCosine", "cosines as scores", "concept",
       before("return", "E = F.cosine_similarity(self.W_K(X), self.seed, dim=-1)"), ("self.scores(X)", "E"))
change(_PlainForward, "WithPositions", "a position is added: the order of the set matters", "concept",
       before("return", "place = torch.arange(X.shape[1], device=X.device, dtype=X.dtype) / X.shape[1]"),
       ("self.scores(X)", "(self.scores(X) + place)"))


@wrong("layers with bias", kind="module")
class WithBias(_Pooling):
    def __init__(self, D: int):
        super().__init__(D)
        self.W_K, self.W_V = nn.Linear(D, D), nn.Linear(D, D)

    def forward(self, X, mask):
        return self.mix(self.weights(X, mask), self.W_V(X))


@wrong("the seed is no parameter", kind="module")
class SeedIsNoParameter(_Pooling):
    def __init__(self, D: int):
        super().__init__(D)
        del self.seed
        self.seed = torch.randn(D)

    def forward(self, X, mask):
        return self.mix(self.weights(X, mask), self.W_V(X))


@wrong("the seed has the shape [1, D]", kind="module")
class SeedOfTwoAxes(_Pooling):
    def __init__(self, D: int):
        super().__init__(D)
        self.seed = nn.Parameter(torch.randn(1, D))

    def forward(self, X, mask):
        E = (self.W_K(X) * self.seed).sum(-1) / math.sqrt(X.shape[-1])
        return self.mix(E.masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


@wrong("an axis of one query is left: [B, 1, D]", kind="shape")
class QueryAxisLeft(_Pooling):
    def forward(self, X, mask):
        return self.weights(X, mask).unsqueeze(1) @ self.W_V(X)


@wrong("squeeze() takes a batch of one away too", kind="shape")
class SqueezedAll(_Pooling):
    def forward(self, X, mask):
        return (self.weights(X, mask).unsqueeze(1) @ self.W_V(X)).squeeze()


change(QueryAxisLeft, "NotSummed", "the weights are left without the values: [B, N, D]", "shape",
       (".unsqueeze(1) @ self.W_V(X)", ".unsqueeze(-1) * self.W_V(X)"))
change(_Plain2, "ExpOverflows", "exp without the maximum", "numerics",
       before("return", "powers = self.scores(X).exp() * mask"),
       ("self.weights(X, mask)", "powers / powers.sum(1, keepdim=True)"))
change(ByHand, "MaximumOfPadding",
       "the maximum of all places, padding included, is subtracted: everything underflows", "numerics",
       (".scores(X).masked_fill(~mask, torch.finfo(X.dtype).min)", ".scores(X)"),
       ("E.max(1, keepdim=True).values", "E.amax(1, keepdim=True)"))
change(_PlainForward, "HiddenByMinusHundred", "hidden scores of -100", "numerics",
       ("-math.inf", "-100.0"))
change(_PlainForward, "SeedDetached", "the seed is detached", "gradient",
       before("return", "E = self.W_K(X) @ self.seed.detach() / math.sqrt(X.shape[-1])"), ("self.scores(X)", "E"))
change(_Plain2, "PaddingZeroedInPlace", "the padding of X is set to 0 in place", "interface",
       before("return", """
        with torch.no_grad():
            X[~mask] = 0"""))
change(_Plain2, "WithDropout", "dropout on the weights in training mode", "module",
       ("self.weights(X, mask)", "F.dropout(self.weights(X, mask), 0.1, self.training)"))


# ---------------------------------------------------------------- of a second author, who knew the text alone


@right("Scores with the seed as a vector, -inf where there is no point")
class SeedAsAVector(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.randn(D))
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def forward(self, X, mask):
        scores = self.W_K(X) @ self.seed / math.sqrt(X.shape[-1])
        weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        return torch.einsum("bn,bnd->bd", weights, self.W_V(X))


@right("scaled_dot_product_attention with one query and the mask of the set")
class FusedWithOneQuery(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.empty(D))
        nn.init.normal_(self.seed, std=0.02)
        self.W_K, self.W_V = (nn.Linear(D, D, bias=False) for _ in range(2))

    def forward(self, X, mask):
        query = self.seed.expand(len(X), 1, -1)
        return F.scaled_dot_product_attention(query, self.W_K(X), self.W_V(X), attn_mask=mask[:, None]).squeeze(1)


@right("Set by set, with only the points that exist")
class SetBySet(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.D = D
        self.seed = nn.Parameter(torch.randn(D) / D**0.5)
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def forward(self, X, mask):
        pooled = []
        for x, exists in zip(X, mask):
            x = x[exists]
            weights = F.softmax(self.W_K(x).matmul(self.seed) / self.D**0.5, dim=0)
            pooled.append(weights @ self.W_V(x))
        return torch.stack(pooled)


@right("The seed is pulled through W_K once, the points are mixed before W_V")
class MixedBeforeTheValues(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.randn(D))
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def forward(self, X, mask):
        query = self.seed @ self.W_K.weight / math.sqrt(X.shape[2])
        scores = torch.where(mask, X @ query, -torch.inf)
        mixed = (scores.softmax(1).unsqueeze(1) @ X).squeeze(1)
        return self.W_V(mixed)


@right("A softmax by hand: exponentials times the mask, divided by their sum")
class SoftmaxByHand(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.zeros(D))
        nn.init.trunc_normal_(self.seed, std=0.02)
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def forward(self, X, mask):
        scores = (self.W_K(X) * self.seed).sum(-1) * X.shape[-1] ** -0.5
        scores = scores.masked_fill(mask.logical_not(), torch.finfo(scores.dtype).min)
        powers = (scores - scores.max(1, keepdim=True).values).exp() * mask
        return (powers.unsqueeze(-1) * self.W_V(X)).sum(1) / powers.sum(1, keepdim=True)


@right("An additive mask of 0 and -inf, keys transposed, bmm")
class AdditiveMaskToo(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.rand(D) - 0.5)
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def forward(self, X, mask):
        B, N, D = X.shape
        added = torch.zeros(B, N, dtype=X.dtype, device=X.device).masked_fill(~mask, -math.inf)
        q = self.seed.view(1, 1, D).repeat(B, 1, 1)
        scores = torch.bmm(q, self.W_K(X).transpose(1, 2)) / D**0.5 + added.unsqueeze(1)
        return torch.bmm(torch.softmax(scores, -1), self.W_V(X)).flatten(1)


@right("The points that exist are packed in one line and added up by the number of their set")
class Packed(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.randn(D))
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def forward(self, X, mask):
        B, N, D = X.shape
        owner = mask.nonzero()[:, 0]
        points = X[mask]
        scores = self.W_K(points) @ self.seed / D**0.5
        largest = scores.detach().new_full((B,), -math.inf).scatter_reduce(0, owner, scores.detach(), "amax")
        powers = (scores - largest[owner]).exp()
        total = powers.new_zeros(B).index_add(0, owner, powers)
        summed = X.new_zeros(B, D).index_add(0, owner, powers[:, None] * self.W_V(points))
        return summed / total[:, None]


@right("One running softmax over the points, those that do not exist are passed over by torch.where")
class PointByPoint(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.randn(D))
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def forward(self, X, mask):
        scores = torch.einsum("bnd,d->bn", self.W_K(X), self.seed) / math.sqrt(self.seed.numel())
        total = torch.where(mask, scores, -math.inf).logsumexp(1)
        pooled = torch.zeros_like(X[:, 0])
        for score, value, exists in zip(scores.unbind(1), self.W_V(X).unbind(1), mask.unbind(1)):
            weight = torch.where(exists, score - total, -math.inf).exp()
            pooled = pooled + weight[:, None] * value
        return pooled


@right("Points that do not exist are moved to the end by a sort of the mask, then cut off as far as all allow")
class SortedByTheMask(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.randn(D))
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def forward(self, X, mask):
        order = mask.int().argsort(1, descending=True)[:, : int(mask.sum(1).max())]
        X, mask = torch.take_along_dim(X, order[..., None], 1), mask.gather(1, order)
        scores = F.linear(self.W_K(X), self.seed[None])[..., 0].div(X.shape[-1] ** 0.5)
        weights = scores.masked_fill(~mask, -math.inf).softmax(1)
        return (self.W_V(X).mT @ weights[..., None])[..., 0]


class _PoolingToo(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.randn(D))
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def scores(self, X):
        return self.W_K(X) @ self.seed / math.sqrt(X.shape[-1])

    def weights(self, X, mask):
        return self.scores(X).masked_fill(~mask, -math.inf).softmax(-1)

    def add_up(self, weights, X):
        return (weights.unsqueeze(-1) * self.W_V(X)).sum(1)


# Right, and not registered: answers below are changes of it.
class _Plain3(_PoolingToo):
    def forward(self, X, mask):
        return self.add_up(self.weights(X, mask), X)


change(_Plain3, "ValuesOfKeys", "W_V is applied to the keys", "concept",
       ("self.weights(X, mask), X", "self.weights(X, mask), self.W_K(X)"))


@wrong("W_K is used transposed: X @ W_K.weight", kind="concept")
class WeightNotTransposed(_PoolingToo):
    def forward(self, X, mask):
        scores = X @ self.W_K.weight @ self.seed / math.sqrt(X.shape[-1])
        weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
        return (weights[..., None] * (X @ self.W_V.weight)).sum(1)


@wrong("self-attention of the points first, and the mean of what they get", kind="concept")
class SelfAttentionThenMeanToo(_PoolingToo):
    def forward(self, X, mask):
        scores = (X + self.seed) @ self.W_K(X).mT / math.sqrt(X.shape[-1])
        mixed = scores.masked_fill(~mask[:, None], -math.inf).softmax(-1) @ self.W_V(X)
        return (mixed * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


change(_Plain3, "TimesTheCount", "multiplied by the number of points that exist: a sum in place of a mean", "concept",
       ("self.add_up(self.weights(X, mask), X)", "self.add_up(self.weights(X, mask), X) * mask.sum(1, keepdim=True)"))
change(_Plain3, "WithPositionsToo", "a position is added to the points, so that their order counts", "concept",
       before("return", "X = X + torch.arange(X.shape[1], dtype=X.dtype)[:, None] / X.shape[1]"))


@wrong("the first point that exists, whatever the seed", kind="concept")
class FirstPoint(_PoolingToo):
    def forward(self, X, mask):
        return self.W_V(X)[torch.arange(len(X)), mask.int().argmax(1)]


change(_Plain3, "MaskedAfterAndNotScaled", "two mistakes: the mask after the softmax, and not scaled", "concept",
       ("self.weights(X, mask)", "(self.W_K(X) @ self.seed).softmax(-1) * mask"))


@wrong("two mistakes: the mask inverted, and keys as values", kind="concept")
class InvertedAndKeysAsValues(_PoolingToo):
    def forward(self, X, mask):
        weights = self.scores(X).masked_fill(mask, -1e4).softmax(-1)
        return (weights[..., None] * self.W_K(X)).sum(1)


@wrong("a layer W_Q for the seed on top", kind="module")
class LayerForTheSeed(_PoolingToo):
    def __init__(self, D: int):
        super().__init__(D)
        self.W_Q = nn.Linear(D, D, bias=False)

    def scores(self, X):
        return self.W_K(X) @ self.W_Q(self.seed) / math.sqrt(X.shape[-1])

    def forward(self, X, mask):
        return self.add_up(self.weights(X, mask), X)


@wrong("a new seed at each call", kind="module")
class NewSeedAtEachCall(_PoolingToo):
    def forward(self, X, mask):
        seed = torch.randn_like(self.seed)
        scores = self.W_K(X) @ seed / math.sqrt(X.shape[-1])
        return self.add_up(scores.masked_fill(~mask, -math.inf).softmax(-1), X)


change(_Plain3, "OneVectorForAll", "one vector for the whole batch: added up over sets and points", "shape",
       ("self.add_up(self.weights(X, mask), X)", "self.add_up(self.weights(X, mask), X).sum(0)"))


@wrong("added up over the features: [B, N]", kind="shape")
class AddedOverTheFeatures(_PoolingToo):
    def forward(self, X, mask):
        return (self.weights(X, mask)[..., None] * self.W_V(X)).sum(-1)


change(_Plain3, "EqualSizes",
       "the mask is cut out with X[mask] and viewed as [B, n, D]: fails where sets have different sizes", "edge",
       before("return", "X = X[mask].view(len(X), -1, X.shape[-1])"), (".weights(X, mask)", ".scores(X).softmax(1)"))
change(_Plain3, "WeightsDetached", "the weights are detached: neither seed nor W_K learns", "gradient",
       ("self.weights(X, mask)", "self.weights(X, mask).detach()"))
