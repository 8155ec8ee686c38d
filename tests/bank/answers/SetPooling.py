"""Answers to SetPooling (assignment 12)."""

import math

import torch
import torch.nn.functional as F
from answers import right, wrong
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


@wrong("mean of the points themselves", kind="concept")
class MeanOfPoints(_Pooling):
    def forward(self, X, mask):
        return (X * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


@wrong("mean of the values over all N places", kind="concept")
class MeanOfAllPlaces(_Pooling):
    def forward(self, X, mask):
        return self.W_V(X).mean(1)


@wrong("maximum of the values", kind="concept")
class MaxOfValues(_Pooling):
    def forward(self, X, mask):
        return self.W_V(X).masked_fill(~mask[..., None], -math.inf).max(1).values


@wrong("maximum of the points", kind="concept")
class MaxOfPoints(_Pooling):
    def forward(self, X, mask):
        return X.masked_fill(~mask[..., None], -math.inf).max(1).values


@wrong("sum of the values, no weights", kind="concept")
class SumOfValues(_Pooling):
    def forward(self, X, mask):
        return (self.W_V(X) * mask[..., None]).sum(1)


@wrong("hard choice of the point with the largest score", kind="concept")
class HardChoice(_Pooling):
    def forward(self, X, mask):
        best = self.scores(X).masked_fill(~mask, -math.inf).argmax(1)
        return self.W_V(X)[torch.arange(len(X)), best]


@wrong("the mask is not used", kind="concept")
class MaskLeftOut(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.scores(X).softmax(-1), self.W_V(X))


@wrong("masked_fill returns a copy that is dropped", kind="concept")
class CopyDropped(_Pooling):
    def forward(self, X, mask):
        E = self.scores(X)
        E.masked_fill(~mask, -math.inf)
        return self.mix(E.softmax(-1), self.W_V(X))


@wrong("the mask is inverted", kind="concept")
class MaskInverted(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.scores(X).masked_fill(mask, -math.inf).softmax(-1), self.W_V(X))


@wrong("the mask is inverted, with -1e9", kind="concept")
class MaskInvertedFinite(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.scores(X).masked_fill(mask, -1e9).softmax(-1), self.W_V(X))


@wrong("scores times the mask: hidden ones are 0", kind="concept")
class ScoresTimesMask(_Pooling):
    def forward(self, X, mask):
        return self.mix((self.scores(X) * mask).softmax(-1), self.W_V(X))


@wrong("the mask is added as 0 and 1", kind="concept")
class MaskAdded(_Pooling):
    def forward(self, X, mask):
        return self.mix((self.scores(X) + mask).softmax(-1), self.W_V(X))


@wrong("hidden scores of -1", kind="concept")
class HiddenByMinusOne(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.scores(X).masked_fill(~mask, -1.0).softmax(-1), self.W_V(X))


@wrong("weights times the mask after the softmax", kind="concept")
class MaskAfterSoftmax(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.scores(X).softmax(-1) * mask, self.W_V(X))


@wrong("the vectors of padding are zeros, their weights are not", kind="concept")
class PaddingAsZeros(_Pooling):
    def forward(self, X, mask):
        X = X * mask[..., None]
        return self.mix(self.scores(X).softmax(-1), self.W_V(X))


@wrong("-inf before the division and zero scores by nan_to_num afterwards", kind="concept")
class InfinityRepaired(_Pooling):
    def forward(self, X, mask):
        E = self.scores(X).masked_fill(~mask, -math.inf).nan_to_num(neginf=0.0)
        return self.mix(E.softmax(-1), self.W_V(X))


@wrong("the mask is taken for a prefix: the first mask.sum() places", kind="concept")
class MaskAsLength(_Pooling):
    def forward(self, X, mask):
        prefix = torch.arange(X.shape[1]) < mask.sum(1, keepdim=True)
        return self.mix(self.weights(X, prefix), self.W_V(X))


@wrong("the mask of the first set for all", kind="concept")
class MaskOfTheFirst(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.weights(X, mask[:1].expand_as(mask)), self.W_V(X))


@wrong("softmax over the batch", kind="concept")
class SoftmaxOverBatch(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.scores(X).masked_fill(~mask, -1e9).softmax(0), self.W_V(X))


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


@wrong("one softmax over all places of all sets", kind="concept")
class SoftmaxOverEverything(_Pooling):
    def forward(self, X, mask):
        E = self.scores(X).masked_fill(~mask, -math.inf)
        return self.mix(E.flatten().softmax(0).view_as(E), self.W_V(X))


@wrong("no softmax: scores as weights", kind="concept")
class NoSoftmax(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.scores(X).masked_fill(~mask, 0), self.W_V(X))


@wrong("a sigmoid gate in place of the softmax", kind="concept")
class SigmoidGates(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.scores(X).masked_fill(~mask, -math.inf).sigmoid(), self.W_V(X))


@wrong("scores divided by their sum, without exp", kind="concept")
class ScoresOverTheirSum(_Pooling):
    def forward(self, X, mask):
        E = self.scores(X).masked_fill(~mask, 0)
        return self.mix(E / E.sum(1, keepdim=True), self.W_V(X))


@wrong("softmax twice", kind="concept")
class SoftmaxTwice(_Pooling):
    def forward(self, X, mask):
        A = self.weights(X, mask).masked_fill(~mask, -math.inf)
        return self.mix(A.softmax(-1), self.W_V(X))


@wrong("no division by the root", kind="concept")
class NoRoot(_Pooling):
    def forward(self, X, mask):
        E = (self.W_K(X) @ self.seed).masked_fill(~mask, -math.inf)
        return self.mix(E.softmax(-1), self.W_V(X))


@wrong("divided by D", kind="concept")
class OverTheWidth(_Pooling):
    def forward(self, X, mask):
        E = (self.W_K(X) @ self.seed / X.shape[-1]).masked_fill(~mask, -math.inf)
        return self.mix(E.softmax(-1), self.W_V(X))


@wrong("divided by the root of N", kind="concept")
class RootOfPoints(_Pooling):
    def forward(self, X, mask):
        E = (self.W_K(X) @ self.seed / X.shape[1] ** 0.5).masked_fill(~mask, -math.inf)
        return self.mix(E.softmax(-1), self.W_V(X))


@wrong("multiplied by the root", kind="concept")
class TimesTheRoot(_Pooling):
    def forward(self, X, mask):
        E = (self.W_K(X) @ self.seed * X.shape[-1] ** 0.5).masked_fill(~mask, -math.inf)
        return self.mix(E.softmax(-1), self.W_V(X))


@wrong("the weights are divided by the root, not the scores", kind="concept")
class WeightsScaled(_Pooling):
    def forward(self, X, mask):
        E = (self.W_K(X) @ self.seed).masked_fill(~mask, -math.inf)
        return self.mix(E.softmax(-1) / math.sqrt(X.shape[-1]), self.W_V(X))


@wrong("keys are summed in place of values", kind="concept")
class KeysAsValues(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.weights(X, mask), self.W_K(X))


@wrong("keys and values exchanged", kind="concept")
class KeysAndValuesExchanged(_Pooling):
    def forward(self, X, mask):
        E = self.W_V(X) @ self.seed / math.sqrt(X.shape[-1])
        return self.mix(E.masked_fill(~mask, -math.inf).softmax(-1), self.W_K(X))


@wrong("the values' layer also makes the keys", kind="concept")
class ValuesAsKeys(_Pooling):
    def forward(self, X, mask):
        E = self.W_V(X) @ self.seed / math.sqrt(X.shape[-1])
        return self.mix(E.masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


@wrong("the points as they are for keys", kind="concept")
class PointsForKeys(_Pooling):
    def forward(self, X, mask):
        E = X @ self.seed / math.sqrt(X.shape[-1])
        return self.mix(E.masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


@wrong("the points as they are for values", kind="concept")
class PointsForValues(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.weights(X, mask), X)


@wrong("the seed goes through W_K too", kind="concept")
class SeedThroughKeys(_Pooling):
    def forward(self, X, mask):
        E = self.W_K(X) @ self.W_K(self.seed) / math.sqrt(X.shape[-1])
        return self.mix(E.masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


@wrong("the seed is added to the result", kind="concept")
class SeedAdded(_Pooling):
    def forward(self, X, mask):
        return self.seed + self.mix(self.weights(X, mask), self.W_V(X))


@wrong("the seed is normalised to length 1", kind="concept")
class SeedNormalised(_Pooling):
    def forward(self, X, mask):
        E = self.W_K(X) @ F.normalize(self.seed, dim=0) / math.sqrt(X.shape[-1])
        return self.mix(E.masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


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


@wrong("the weighted values are divided by the number of points", kind="concept")
class OverTheCount(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.weights(X, mask), self.W_V(X)) / mask.sum(1, keepdim=True)


@wrong("scores of negative distances between seed and keys", kind="concept")
class ByDistance(_Pooling):
    def forward(self, X, mask):
        E = -(self.W_K(X) - self.seed).square().sum(-1) / math.sqrt(X.shape[-1])
        return self.mix(E.masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


@wrong("cosines as scores", kind="concept")
class ByCosine(_Pooling):
    def forward(self, X, mask):
        E = F.cosine_similarity(self.W_K(X), self.seed, dim=-1)
        return self.mix(E.masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


@wrong("a position is added: the order of the set matters", kind="concept")
class WithPositions(_Pooling):
    def forward(self, X, mask):
        place = torch.arange(X.shape[1], device=X.device, dtype=X.dtype) / X.shape[1]
        return self.mix((self.scores(X) + place).masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


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


@wrong("the weights are left without the values: [B, N, D]", kind="shape")
class NotSummed(_Pooling):
    def forward(self, X, mask):
        return self.weights(X, mask).unsqueeze(-1) * self.W_V(X)


@wrong("exp without the maximum", kind="numerics")
class ExpOverflows(_Pooling):
    def forward(self, X, mask):
        powers = self.scores(X).exp() * mask
        return self.mix(powers / powers.sum(1, keepdim=True), self.W_V(X))


@wrong("the maximum of all places, padding included, is subtracted: everything underflows", kind="numerics")
class MaximumOfPadding(_Pooling):
    def forward(self, X, mask):
        E = self.scores(X)
        powers = (E - E.amax(1, keepdim=True)).exp() * mask
        return self.mix(powers / powers.sum(1, keepdim=True), self.W_V(X))


@wrong("hidden scores of -100", kind="numerics")
class HiddenByMinusHundred(_Pooling):
    def forward(self, X, mask):
        return self.mix(self.scores(X).masked_fill(~mask, -100.0).softmax(-1), self.W_V(X))


@wrong("the seed is detached", kind="gradient")
class SeedDetached(_Pooling):
    def forward(self, X, mask):
        E = self.W_K(X) @ self.seed.detach() / math.sqrt(X.shape[-1])
        return self.mix(E.masked_fill(~mask, -math.inf).softmax(-1), self.W_V(X))


@wrong("the padding of X is set to 0 in place", kind="interface")
class PaddingZeroedInPlace(_Pooling):
    def forward(self, X, mask):
        with torch.no_grad():
            X[~mask] = 0
        return self.mix(self.weights(X, mask), self.W_V(X))


@wrong("dropout on the weights in training mode", kind="module")
class WithDropout(_Pooling):
    def forward(self, X, mask):
        return self.mix(F.dropout(self.weights(X, mask), 0.1, self.training), self.W_V(X))


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


@wrong("W_V is applied to the keys", kind="concept")
class ValuesOfKeys(_PoolingToo):
    def forward(self, X, mask):
        return self.add_up(self.weights(X, mask), self.W_K(X))


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


@wrong("multiplied by the number of points that exist: a sum in place of a mean", kind="concept")
class TimesTheCount(_PoolingToo):
    def forward(self, X, mask):
        return self.add_up(self.weights(X, mask), X) * mask.sum(1, keepdim=True)


@wrong("a position is added to the points, so that their order counts", kind="concept")
class WithPositionsToo(_PoolingToo):
    def forward(self, X, mask):
        X = X + torch.arange(X.shape[1], dtype=X.dtype)[:, None] / X.shape[1]
        return self.add_up(self.weights(X, mask), X)


@wrong("the first point that exists, whatever the seed", kind="concept")
class FirstPoint(_PoolingToo):
    def forward(self, X, mask):
        return self.W_V(X)[torch.arange(len(X)), mask.int().argmax(1)]


@wrong("two mistakes: the mask after the softmax, and not scaled", kind="concept")
class MaskedAfterAndNotScaled(_PoolingToo):
    def forward(self, X, mask):
        return self.add_up((self.W_K(X) @ self.seed).softmax(-1) * mask, X)


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


@wrong("one vector for the whole batch: added up over sets and points", kind="shape")
class OneVectorForAll(_PoolingToo):
    def forward(self, X, mask):
        return self.add_up(self.weights(X, mask), X).sum(0)


@wrong("added up over the features: [B, N]", kind="shape")
class AddedOverTheFeatures(_PoolingToo):
    def forward(self, X, mask):
        return (self.weights(X, mask)[..., None] * self.W_V(X)).sum(-1)


@wrong("the mask is cut out with X[mask] and viewed as [B, n, D]: fails where sets have different sizes", kind="edge")
class EqualSizes(_PoolingToo):
    def forward(self, X, mask):
        X = X[mask].view(len(X), -1, X.shape[-1])
        return self.add_up(self.scores(X).softmax(1), X)


@wrong("the weights are detached: neither seed nor W_K learns", kind="gradient")
class WeightsDetached(_PoolingToo):
    def forward(self, X, mask):
        return self.add_up(self.weights(X, mask).detach(), X)
