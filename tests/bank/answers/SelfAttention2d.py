"""Answers to SelfAttention2d (assignment 12)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong
from torch import nn


class _Layers(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries = nn.Conv2d(C, C_K, 1)
        self.keys = nn.Conv2d(C, C_K, 1)
        self.values = nn.Conv2d(C, C_K, 1)
        self.output = nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.tensor(0.0))

    def qkv(self, X):
        """Each [B, rows·columns, C_K]."""
        return (layer(X).flatten(2).transpose(1, 2) for layer in (self.queries, self.keys, self.values))

    def grid(self, seen, X):
        B, _, rows, columns = X.shape
        return self.output(seen.transpose(1, 2).reshape(B, -1, rows, columns))


# ---------------------------------------------------------------- right


@right("bmm and view as in the first public code")
class Bmm(_Layers):
    def forward(self, X):
        B, C, W, H = X.shape
        q = self.queries(X).view(B, -1, W * H).permute(0, 2, 1)
        k = self.keys(X).view(B, -1, W * H)
        attention = torch.softmax(torch.bmm(q, k), dim=-1)
        v = self.values(X).view(B, -1, W * H)
        out = torch.bmm(v, attention.permute(0, 2, 1)).view(B, -1, W, H)
        return self.gamma * self.output(out) + X


@right("fused attention, which is told a scale of 1")
class Fused(_Layers):
    def forward(self, X):
        q, k, v = self.qkv(X)
        return X + self.gamma * self.grid(F.scaled_dot_product_attention(q, k, v, scale=1), X)


@right("fused attention of queries times the root, which divides it away again")
class FusedTimesRoot(_Layers):
    def forward(self, X):
        q, k, v = self.qkv(X)
        root = math.sqrt(q.shape[-1])
        return X + self.gamma * self.grid(F.scaled_dot_product_attention(q * root, k, v), X)


@right("einsum over the four axes of the grid, the largest score taken away, logsumexp for the softmax")
class FourAxes(_Layers):
    def forward(self, X):
        E = torch.einsum("bcij,bckl->bijkl", self.queries(X), self.keys(X))
        E = E - E.amax(dim=(-2, -1), keepdim=True)
        A = (E - E.logsumexp(dim=(-2, -1), keepdim=True)).exp()
        return X + self.gamma * self.output(torch.einsum("bijkl,bckl->bcij", A, self.values(X)))


@right("the 1×1 convolutions as matrix products with channels last")
class ChannelsLast(_Layers):
    def forward(self, X):
        x = X.permute(0, 2, 3, 1).flatten(1, 2)
        q, k, v = (x @ one.weight[:, :, 0, 0].T + one.bias for one in (self.queries, self.keys, self.values))
        seen = (q @ k.mT).softmax(-1) @ v
        out = seen @ self.output.weight[:, :, 0, 0].T + self.output.bias
        return X + self.gamma * out.mT.unflatten(-1, X.shape[2:])


@right("counted column by column, there and back")
class ColumnByColumn(_Layers):
    def forward(self, X):
        q, k, v = (layer(X).transpose(2, 3).flatten(2) for layer in (self.queries, self.keys, self.values))
        seen = v @ torch.softmax(k.mT @ q, dim=1)
        return X + self.gamma * self.output(seen.unflatten(2, (X.shape[3], X.shape[2])).transpose(2, 3))


@right("softmax by hand, the largest score taken away")
class ByHand(_Layers):
    def forward(self, X):
        q, k, v = self.qkv(X)
        scores = q @ k.transpose(-1, -2)
        powers = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
        seen = powers @ v / powers.sum(dim=-1, keepdim=True)
        return torch.addcmul(X, self.gamma, self.grid(seen, X))


@right("one query cell after the other")
class CellByCell(_Layers):
    def forward(self, X):
        q, k, v = self.qkv(X)
        seen = [((k @ one.unsqueeze(-1)).softmax(dim=1) * v).sum(dim=1) for one in q.unbind(1)]
        return X + self.gamma * self.grid(torch.stack(seen, dim=1), X)


@right("output first, then the weights: the weights of a row sum to 1, so the bias comes through")
class OutputFirst(_Layers):
    def forward(self, X):
        q, k, _ = self.qkv(X)
        v = self.output(self.values(X)).flatten(2)
        return X + self.gamma * torch.einsum("bnm,bcm->bcn", (q @ k.mT).softmax(2), v).view(X.shape)


# Right, and not registered: answers below are changes of it.
class _PlainForward(_Layers):
    def forward(self, X):
        q, k, v = self.qkv(X)
        return X + self.gamma * self.grid((q @ k.mT).softmax(-1) @ v, X)


# ---------------------------------------------------------------- wrong


change(_PlainForward, "Root", "divided by the root of C_K, as in the Transformer", "concept",
       ("q @ k.mT", "q @ k.mT / q.shape[-1] ** 0.5"))
change(Fused, "FusedAsItIs", "fused attention with its own scale", "concept",
       ("q, k, v = self.qkv(X)", ""), ("q, k, v, scale=1", "*self.qkv(X)"))
change(_PlainForward, "RootOfC", "divided by the root of C, the picture's channels", "concept",
       ("q @ k.mT", "q @ k.mT / math.sqrt(X.shape[1])"))
change(_PlainForward, "DividedByWidth", "divided by C_K itself", "concept",
       ("q @ k.mT", "q @ k.mT / q.shape[-1]"))
change(_PlainForward, "DotProductNonLocal",
       "divided by the number of cells and no softmax (the non-local block's dot-product form)", "concept",
       ("(q @ k.mT).softmax(-1)", "q @ k.mT / q.shape[1]"))
change(_PlainForward, "NoSoftmax", "no softmax", "concept",
       ("(q @ k.mT).softmax(-1)", "q @ k.mT"))
change(_PlainForward, "SoftmaxDimOne", "softmax over the queries: dim=1 of [B, N, N]", "concept",
       ("(q @ k.mT).softmax(-1)", "F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=1)"))
change(_PlainForward, "SoftmaxDimZero", "softmax over the batch: dim=0", "concept",
       ("(q @ k.mT).softmax(-1)", "F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=0)"))
change(_PlainForward, "SoftmaxOverTheTable", "softmax over the whole table of a picture", "concept",
       before("return", "A = (q @ k.mT).flatten(1).softmax(-1).unflatten(1, (q.shape[1], -1))"),
       ("(q @ k.mT).softmax(-1)", "A"))
change(_PlainForward, "ForgottenTranspose",
       "value times A instead of value times A transposed: each cell gets what it gives away", "concept",
       before("return", "A = (q @ k.mT).softmax(-1)"), ("(q @ k.mT).softmax(-1) @ v", "(v.mT @ A).mT"))
change(_PlainForward, "Sigmoid", "a sigmoid for each score", "concept",
       (".softmax(-1)", ".sigmoid()"))
change(_PlainForward, "NoGamma", "gamma not used", "concept",
       (".gamma * self.grid", ".grid"))
change(_PlainForward, "NoResidual", "no residual", "concept",
       ("X + self.gamma", "self.gamma"))
change(Fused, "GammaOnX", "gamma multiplies the stream", "concept",
       ("return X", "return self.grid((q @ k.mT).softmax(-1) @ v, X)"),
       ("self.grid(F.scaled_dot_product_attention(q, k, v, scale=1), X)", "X"))


@wrong("gamma multiplies everything", kind="concept")
class GammaOnBoth(_Layers):
    def forward(self, X):
        q, k, v = self.qkv(X)
        return self.gamma * (self.grid((q @ k.mT).softmax(-1) @ v, X) + X)


@wrong("a convex blend", kind="concept")
class Lerp(_Layers):
    def forward(self, X):
        q, k, v = self.qkv(X)
        return torch.lerp(X, self.grid((q @ k.mT).softmax(-1) @ v, X), self.gamma)


change(_PlainForward, "TanhGamma", "tanh of gamma, as in Flamingo", "concept",
       ("self.gamma", "torch.tanh(self.gamma)"))
change(_PlainForward, "GammaInside", "gamma inside, before the output convolution", "concept",
       (".gamma * self.grid((q @ k.mT).softmax(-1) @ v, X)", ".grid(self.gamma * ((q @ k.mT).softmax(-1) @ v), X)"))
change(_PlainForward, "GammaAsTemperature", "gamma used as a temperature of the scores", "concept",
       (".gamma * self.grid", ".grid"), ("q @ k.mT", "self.gamma * q @ k.mT"))
change(_PlainForward, "Subtracted", "the attention is taken away from the picture", "concept",
       ("X +", "X -"))


# Right, and not registered: answers below are changes of it.
class _Plain(_Layers):
    def __init__(self, C: int, C_K: int):
        super().__init__(C, C_K)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, X):
        q, k, v = self.qkv(X)
        return X + self.gamma * self.grid((q @ k.mT).softmax(-1) @ v, X)


change(_Plain, "StartsAtOne", "gamma starts at 1", "module",
       (".zeros(())", ".tensor(1.0)"))
change(_Plain, "StartsAtRandom", "gamma starts at a random number", "module",
       (".zeros(())", ".randn(())"))
change(_Plain, "GammaOfShapeOne", "gamma of shape [1], not []", "module",
       (".zeros(())", ".zeros(1)"))
change(_Plain, "GammaPerChannel", "a gamma for each channel", "module",
       (".zeros(())", ".zeros(C, 1, 1)"))
change(_Plain, "GammaIsAFloat", "gamma is a plain number, which does not learn", "module",
       ("self.gamma = nn.Parameter(torch.zeros(()))", """
        del self.gamma
        self.gamma = 0.0"""))
change(_Plain, "GammaFrozen", "gamma is frozen", "module",
       (".gamma = nn.Parameter(torch.zeros(()))", ".gamma.requires_grad_(False)"))
change(_Plain, "NoBias", "convolutions without bias", "module",
       ("self.gamma = nn.Parameter(torch.zeros(()))",
        "self.queries, self.keys, self.values = (nn.Conv2d(C, C_K, 1, bias=False) for _ in range(3))"))
change(_Plain, "ThreeByThree", "3×3 convolutions with padding", "module",
       ("self.gamma = nn.Parameter(torch.zeros(()))",
        "self.queries, self.keys, self.values = (nn.Conv2d(C, C_K, 3, padding=1) for _ in range(3))"))
change(_Plain, "ValuesOfC", "values keep all C channels, as in the public code, so that output is C to C", "module",
       ("self.gamma = nn.Parameter(torch.zeros(()))",
        "self.values, self.output = nn.Conv2d(C, C, 1), nn.Conv2d(C, C, 1)"))


@wrong("linear layers for convolutions", kind="module")
class Linears(_Layers):
    def __init__(self, C: int, C_K: int):
        super().__init__(C, C_K)
        self.queries, self.keys, self.values = (nn.Linear(C, C_K) for _ in range(3))
        self.output = nn.Linear(C_K, C)

    def forward(self, X):
        x = X.flatten(2).mT
        seen = (self.queries(x) @ self.keys(x).mT).softmax(-1) @ self.values(x)
        return X + self.gamma * self.output(seen).mT.unflatten(2, X.shape[2:])


@wrong("reshaped to [B, N, C_K] without moving the channels", kind="layout")
class ReshapedOnly(_Layers):
    def forward(self, X):
        B, C, rows, columns = X.shape
        q, k, v = (layer(X).reshape(B, rows * columns, -1) for layer in (self.queries, self.keys, self.values))
        seen = (q @ k.mT).softmax(-1) @ v
        return X + self.gamma * self.output(seen.reshape(B, -1, rows, columns))


@wrong("the sums are reshaped to a grid without moving the channels", kind="layout")
class ReshapedBack(_Layers):
    def forward(self, X):
        q, k, v = self.qkv(X)
        seen = ((q @ k.mT).softmax(-1) @ v).reshape(X.shape[0], -1, *X.shape[2:])
        return X + self.gamma * self.output(seen)


change(_PlainForward, "ValuesReshaped", "the values alone are reshaped wrongly", "layout",
       ("q, k, v", "q, k, _"), before("return", "v = self.values(X).reshape(q.shape)"))
change(_PlainForward, "ColumnsThereRowsBack", "counted column by column there, row by row back", "layout",
       ("self.qkv(X)", "(layer(X).mT.flatten(2).mT for layer in (self.queries, self.keys, self.values))"))
change(_PlainForward, "KeysAndValuesDiffer", "keys counted row by row, values column by column", "layout",
       ("q, k, v", "q, k, _"), before("return", "v = self.values(X).mT.flatten(2).mT"))
change(_PlainForward, "Channels", "attention between channels", "concept",
       before("return", "A = (q.mT @ k).softmax(-1)"), ("(q @ k.mT).softmax(-1) @ v", "v @ A.mT"))


@wrong("each row by itself", kind="concept")
class Rows(_Layers):
    def forward(self, X):
        q, k, v = (layer(X).permute(0, 2, 3, 1) for layer in (self.queries, self.keys, self.values))
        seen = (q @ k.mT).softmax(-1) @ v
        return X + self.gamma * self.output(seen.permute(0, 3, 1, 2))


change(Rows, "Columns", "each column by itself", "concept",
       ("2, 3, 1", "3, 2, 1"), ("3, 1, 2", "3, 2, 1"))
change(_PlainForward, "AcrossTheBatch",
       "a cell attends across the batch to its own place in the other pictures", "concept",
       ("self.qkv(X)", "(one.transpose(0, 1) for one in self.qkv(X))"),
       ("(q @ k.mT).softmax(-1) @ v", "((q @ k.mT).softmax(-1) @ v).transpose(0, 1)"))


@wrong("all cells of all pictures attend to each other", kind="concept")
class AllPictures(_Layers):
    def forward(self, X):
        q, k, v = (one.flatten(0, 1) for one in self.qkv(X))
        seen = (q @ k.T).softmax(-1) @ v
        return X + self.gamma * self.grid(seen.unflatten(0, (len(X), -1)), X)


change(_PlainForward, "ValuesAreKeys", "values are the keys", "concept",
       ("q, k, v", "q, k, _"), (".softmax(-1) @ v", ".softmax(-1) @ k"))
change(_PlainForward, "QueriesForKeys", "queries and keys exchanged", "concept",
       ("q @ k.mT", "k @ q.mT"))
change(_PlainForward, "KeysAreQueries", "the keys are the queries", "concept",
       ("q, k, v", "q, _, v"), ("q @ k.mT", "q @ q.mT"))
change(_PlainForward, "NotItself", "a cell does not see itself", "concept",
       before("return", "own = torch.eye(q.shape[1], dtype=torch.bool, device=X.device)"),
       (".softmax(-1)", ".masked_fill(own, -1e9).softmax(-1)"))
change(Fused, "Causal", "causal, as if the picture were written", "concept",
       ("scale=1", "is_causal=True, scale=1.0"))


@wrong("keys and values from a pooled grid, as in BigGAN", kind="concept")
class Pooled(_Layers):
    def forward(self, X):
        q, _, _ = self.qkv(X)
        k, v = (F.max_pool2d(layer(X), 2, ceil_mode=True).flatten(2) for layer in (self.keys, self.values))
        return X + self.gamma * self.grid((q @ k).softmax(-1) @ v.mT, X)


change(_PlainForward, "Cosines", "cosines for products", "concept",
       before("return", "A = (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT).softmax(-1)"),
       ("(q @ k.mT).softmax(-1)", "A"))
change(_PlainForward, "Dropout", "dropout on the weights", "process",
       before("return", "A = F.dropout((q @ k.mT).softmax(-1), 0.1, self.training)"), ("(q @ k.mT).softmax(-1)", "A"))


@wrong("adds to X in place", kind="interface")
class InPlace(_Layers):
    def forward(self, X):
        q, k, v = self.qkv(X)
        X += self.gamma * self.grid((q @ k.mT).softmax(-1) @ v, X)
        return X


change(_PlainForward, "PlainExp", "exp without taking away the largest score", "numerics",
       before("return", "powers = (q @ k.mT).exp()"),
       ("(q @ k.mT).softmax(-1)", "powers / powers.sum(-1, keepdim=True)"))
change(_PlainForward, "Detached", "the weights are detached", "gradient",
       ("(q @ k.mT).softmax(-1)", "(q @ k.mT).softmax(-1).detach()"))
change(FusedTimesRoot, "WithWeights", "returns the weights, too", "interface",
       ("root = math.sqrt(q.shape[-1])", "A = (q @ k.mT).softmax(-1)"),
       (".grid(F.scaled_dot_product_attention(q * root, k, v), X)", ".grid(A @ v, X), A"))
change(_PlainForward, "Square", "taken for a square grid", "edge",
       before("return", """
        seen = (q @ k.mT).softmax(-1) @ v
        side = math.isqrt(seen.shape[1])"""),
       (".grid((q @ k.mT).softmax(-1) @ v, X)", ".output(seen.mT.reshape(len(X), -1, side, side))"))


@wrong("returns a sequence, not a grid", kind="shape")
class StillASequence(_Layers):
    def forward(self, X):
        q, k, v = self.qkv(X)
        return (X + self.gamma * self.grid((q @ k.mT).softmax(-1) @ v, X)).flatten(2).mT


# ---------------------------------------------------------------- of a second author, who knew the text alone


@right("As in most reproductions of SAGAN: view, permute and two bmm, cells along the last axis of the values")
class ViewsAndBmm(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries = nn.Conv2d(C, C_K, kernel_size=1)
        self.keys = nn.Conv2d(C, C_K, kernel_size=1)
        self.values = nn.Conv2d(C, C_K, kernel_size=1)
        self.output = nn.Conv2d(C_K, C, kernel_size=1)
        self.gamma = nn.Parameter(torch.tensor(0.0))

    def forward(self, X):
        B, C, rows, columns = X.size()
        N = rows * columns
        f = self.queries(X).view(B, -1, N).permute(0, 2, 1)
        g = self.keys(X).view(B, -1, N)
        attention = torch.softmax(torch.bmm(f, g), dim=-1)
        h = self.values(X).view(B, -1, N)
        o = torch.bmm(h, attention.permute(0, 2, 1)).view(B, -1, rows, columns)
        return self.gamma * self.output(o) + X


@right("scaled_dot_product_attention with scale=1 on the flattened cells")
class FusedWithScaleOne(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries, self.keys, self.values = (nn.Conv2d(C, C_K, 1) for _ in range(3))
        self.output = nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.zeros([]))

    def forward(self, X):
        q, k, v = (layer(X).flatten(2).mT for layer in (self.queries, self.keys, self.values))
        mixed = F.scaled_dot_product_attention(q, k, v, scale=1.0)
        return X + self.gamma * self.output(mixed.mT.unflatten(2, X.shape[2:]))


@right("einsum over the two axes of the grid, which are flattened for the softmax only")
class EinsumOverTheGrid(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries = nn.Conv2d(C, C_K, 1)
        self.keys = nn.Conv2d(C, C_K, 1)
        self.values = nn.Conv2d(C, C_K, 1)
        self.output = nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, X):
        scores = torch.einsum("bdij,bdkl->bijkl", self.queries(X), self.keys(X))
        weights = scores.flatten(3).softmax(-1).view(scores.shape)
        return X + self.gamma * self.output(torch.einsum("bijkl,bdkl->bdij", weights, self.values(X)))


@right("Channels last: movedim, reshape to [B, N, C_K], attention, and back")
class ChannelsLastToo(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.C_K = C_K
        for name in ("queries", "keys", "values"):
            setattr(self, name, nn.Conv2d(C, C_K, 1))
        self.output = nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.zeros([]))

    def flat(self, x):
        return x.movedim(1, -1).reshape(len(x), -1, self.C_K)

    def forward(self, X):
        B, _, rows, columns = X.shape
        scores = self.flat(self.queries(X)) @ self.flat(self.keys(X)).transpose(1, 2)
        mixed = scores.softmax(dim=2) @ self.flat(self.values(X))
        mixed = mixed.reshape(B, rows, columns, self.C_K).permute(0, 3, 1, 2)
        return torch.addcmul(X, self.gamma, self.output(mixed))


@right("The matrix of scores has the keys in its rows, so softmax runs over dim 1 and the values come from the left")
class KeysInTheRows(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries = nn.Conv2d(C, C_K, 1)
        self.keys = nn.Conv2d(C, C_K, 1)
        self.values = nn.Conv2d(C, C_K, 1)
        self.output = nn.Conv2d(C_K, C, 1)
        self.register_parameter("gamma", nn.Parameter(torch.zeros(1).squeeze()))

    def forward(self, X):
        q, k, v = self.queries(X).flatten(2), self.keys(X).flatten(2), self.values(X).flatten(2)
        weights = F.softmax(k.transpose(1, 2) @ q, dim=1)
        return X + self.output((v @ weights).view(X.shape[0], -1, *X.shape[2:])) * self.gamma


@right("Plain loops over pictures and cells")
class CellByCellToo(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries, self.keys = nn.Conv2d(C, C_K, 1), nn.Conv2d(C, C_K, 1)
        self.values, self.output = nn.Conv2d(C, C_K, 1), nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.zeros([]))

    def forward(self, X):
        queries, keys, values = self.queries(X), self.keys(X), self.values(X)
        pictures = []
        for q, k, v in zip(queries, keys, values):
            rows = []
            for i in range(X.shape[2]):
                row = []
                for j in range(X.shape[3]):
                    scores = (q[:, i, j, None, None] * k).sum(0)
                    weights = scores.flatten().softmax(0).reshape(scores.shape)
                    row.append((weights * v).sum((1, 2)))
                rows.append(torch.stack(row, -1))
            pictures.append(torch.stack(rows, 1))
        return X + self.gamma * self.output(torch.stack(pictures))


@right("output comes before the mixing: weights that add up to 1 leave its bias as it is")
class OutputBeforeTheMixing(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries = nn.Conv2d(C, C_K, 1)
        self.keys = nn.Conv2d(C, C_K, 1)
        self.values = nn.Conv2d(C, C_K, 1)
        self.output = nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.zeros([]))

    def forward(self, X):
        weights = torch.softmax(self.queries(X).flatten(2).mT @ self.keys(X).flatten(2), -1)
        back = self.output(self.values(X)).flatten(2)
        return X + self.gamma * torch.einsum("bnm,bcm->bcn", weights, back).view_as(X)


@right("One product with the stacked weights of the three convolutions, the softmax by hand")
class StackedWeights(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries = nn.Conv2d(C, C_K, 1)
        self.keys = nn.Conv2d(C, C_K, 1)
        self.values = nn.Conv2d(C, C_K, 1)
        self.output = nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.zeros([]))

    def forward(self, X):
        layers = (self.queries, self.keys, self.values)
        weight, bias = torch.cat([x.weight for x in layers]), torch.cat([x.bias for x in layers])
        q, k, v = F.conv2d(X, weight, bias).flatten(2).chunk(3, dim=1)
        scores = q.mT @ k
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        mixed = (powers @ v.mT) / powers.sum(-1, keepdim=True)
        return X + self.gamma * self.output(mixed.mT.reshape(len(X), -1, *X.shape[-2:]))


@right("1x1 convolutions as linear maps on the cells, one row of queries at a time")
class RowOfQueries(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries = nn.Conv2d(C, C_K, (1, 1))
        self.keys = nn.Conv2d(C, C_K, (1, 1))
        self.values = nn.Conv2d(C, C_K, (1, 1))
        self.output = nn.Conv2d(C_K, C, (1, 1))
        self.gamma = nn.Parameter(torch.zeros([]))

    @staticmethod
    def apply_to(layer, x):
        return F.linear(x, layer.weight[:, :, 0, 0], layer.bias)

    def forward(self, X):
        cells = X.permute(0, 2, 3, 1)
        k, v = (self.apply_to(layer, cells).flatten(1, 2) for layer in (self.keys, self.values))
        rows = []
        for row in cells.unbind(1):
            weights = (self.apply_to(self.queries, row) @ k.mT).softmax(-1)
            rows.append(self.apply_to(self.output, weights @ v))
        return (cells + self.gamma * torch.stack(rows, 1)).permute(0, 3, 1, 2)


class _Block(nn.Module):
    """The layers of the text, and the parts of its forward."""

    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries = nn.Conv2d(C, C_K, 1)
        self.keys = nn.Conv2d(C, C_K, 1)
        self.values = nn.Conv2d(C, C_K, 1)
        self.output = nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.zeros([]))

    def parts(self, X):
        """Queries, keys and values, [B, N, C_K]."""
        return (layer(X).flatten(2).mT for layer in (self.queries, self.keys, self.values))

    def back(self, mixed, X):
        """[B, N, C_K] -> [B, C, rows, columns]"""
        return self.output(mixed.mT.unflatten(2, X.shape[2:]))


@wrong("X is added twice: before output's gamma and after", kind="concept")
class TwiceX(_Block):
    def forward(self, X):
        q, k, v = self.parts(X)
        return X + self.gamma * (X + self.back((q @ k.mT).softmax(-1) @ v, X))


@wrong("the attention multiplies X like a mask: X * (1 + gamma * attention)", kind="concept")
class AttentionAsMask(_Block):
    def forward(self, X):
        q, k, v = self.parts(X)
        return X * (1 + self.gamma * self.back((q @ k.mT).softmax(-1) @ v, X))


@wrong("values are taken by the queries' convolution", kind="concept")
class ValuesOfQueries(_Block):
    def forward(self, X):
        q, k, _ = self.parts(X)
        return X + self.gamma * self.back((q @ k.mT).softmax(-1) @ q, X)


@wrong("rows and columns are exchanged when the cells are laid out again", kind="concept")
class LaidOutByColumns(_Block):
    def forward(self, X):
        B, _, rows, columns = X.shape
        q, k, v = self.parts(X)
        mixed = ((q @ k.mT).softmax(-1) @ v).mT.reshape(B, -1, columns, rows).transpose(2, 3)
        return X + self.gamma * self.output(mixed)


@wrong("softmax over a row of keys, not over all cells: flattened too late", kind="concept")
class SoftmaxOverARow(_Block):
    def forward(self, X):
        scores = torch.einsum("bdij,bdkl->bijkl", self.queries(X), self.keys(X)).softmax(-1)
        return X + self.gamma * self.output(torch.einsum("bijkl,bdkl->bdij", scores, self.values(X)))


@wrong("output is never applied; channels are repeated until they fit", kind="concept")
class OutputUnused(_Block):
    def forward(self, X):
        q, k, v = self.parts(X)
        mixed = ((q @ k.mT).softmax(-1) @ v).mT.unflatten(2, X.shape[2:])
        repeated = mixed.repeat(1, -(-X.shape[1] // mixed.shape[1]), 1, 1)[:, : X.shape[1]]
        return X + self.gamma * repeated


@wrong("a ReLU behind output", kind="concept")
class ReluBehindOutput(_Block):
    def forward(self, X):
        q, k, v = self.parts(X)
        return X + self.gamma * F.relu(self.back((q @ k.mT).softmax(-1) @ v, X))


@wrong("two mistakes: softmax over the queries and divided by the root", kind="concept")
class OverQueriesAndScaled(_Block):
    def forward(self, X):
        q, k, v = self.parts(X)
        return X + self.gamma * self.back((q @ k.mT / k.shape[-1] ** 0.5).softmax(1) @ v, X)


@wrong("two mistakes: no residual, and gamma left out", kind="concept")
class NeitherResidualNorGamma(_Block):
    def forward(self, X):
        q, k, v = self.parts(X)
        return self.back((q @ k.mT).softmax(-1) @ v, X)


@wrong("the width of queries and keys is C // 8, whatever C_K says", kind="module")
class AnEighthOfC(_Block):
    def __init__(self, C: int, C_K: int):
        super().__init__(C, C // 8)

    def forward(self, X):
        q, k, v = self.parts(X)
        return X + self.gamma * self.back((q @ k.mT).softmax(-1) @ v, X)


@wrong("spectral norm on the convolutions, as in SAGAN's repository: other parameters", kind="module")
class SpectralNorm(_Block):
    def __init__(self, C: int, C_K: int):
        super().__init__(C, C_K)
        for name in ("queries", "keys", "values", "output"):
            setattr(self, name, nn.utils.parametrizations.spectral_norm(getattr(self, name)))

    def forward(self, X):
        q, k, v = self.parts(X)
        return X + self.gamma * self.back((q @ k.mT).softmax(-1) @ v, X)


@wrong("the grid is taken for a square: int(sqrt(N)) rows", kind="edge")
class SquareGrid(_Block):
    def forward(self, X):
        q, k, v = self.parts(X)
        side = int(math.sqrt(q.shape[1]))
        mixed = ((q @ k.mT).softmax(-1) @ v).mT.reshape(len(X), -1, side, side)
        return X + self.gamma * self.output(mixed)


@wrong("squeezed: with one cell or one picture an axis is lost", kind="edge")
class Squeezed(_Block):
    def forward(self, X):
        q, k, v = (x.squeeze() for x in self.parts(X))
        mixed = torch.softmax(q @ k.transpose(-1, -2), -1) @ v
        return X + self.gamma * self.output(mixed.transpose(-1, -2).reshape(len(X), v.shape[-1], *X.shape[2:]))
