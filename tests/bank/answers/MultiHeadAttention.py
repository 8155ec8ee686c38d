"""Answers to exercise MultiHeadAttention of assignment 06."""
import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong
from torch import nn


class _Base(nn.Module):
    """A right layer, cut into steps that the answers below replace one by one."""

    def __init__(self, H, D_H):
        super().__init__()
        self.H, self.D_H = H, D_H
        self.make(H * D_H)

    def make(self, D):
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)

    def split(self, Z):
        return Z.unflatten(-1, (self.H, self.D_H)).transpose(1, 2)

    def merge(self, Z):
        return Z.transpose(1, 2).flatten(2)

    def project(self, X, context):
        source = X if context is None else context
        Q = self.W_QKV(X).chunk(3, dim=-1)[0]
        _, K, V = self.W_QKV(source).chunk(3, dim=-1)
        return self.split(Q), self.split(K), self.split(V)

    def scores(self, Q, K):
        return Q @ K.mT / math.sqrt(self.D_H)

    def weights(self, E):
        return E.softmax(dim=-1)

    def mix(self, A, V):
        return A @ V

    def forward(self, X, context=None):
        Q, K, V = self.project(X, context)
        A = self.weights(self.scores(Q, K))
        return self.W_O(self.merge(self.mix(A, V))), A


# ----------------------------------------------------------------------------------------------------------- right


@right("As the hints say")
class ByTheHints(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.H = H
        self.W_QKV = nn.Linear(H * D_H, 3 * H * D_H)
        self.W_O = nn.Linear(H * D_H, H * D_H)

    def forward(self, X, context=None):
        source = X if context is None else context
        Q = self.W_QKV(X).chunk(3, dim=-1)[0]
        K, V = self.W_QKV(source).chunk(3, dim=-1)[1:]
        Q, K, V = (Z.reshape(*Z.shape[:2], self.H, -1).transpose(1, 2) for Z in (Q, K, V))
        A = torch.softmax(Q @ K.transpose(-2, -1) / K.shape[-1] ** 0.5, dim=-1)
        Y = (A @ V).transpose(1, 2)
        return self.W_O(Y.reshape(*Y.shape[:2], -1)), A


@right("Everything by einsum, heads never exchanged with vectors")
class ByEinsum(nn.Module):
    def __init__(self, H, D_H):
        super().__init__()
        self.H, self.D_H = H, D_H
        self.W_QKV = nn.Linear(H * D_H, 3 * H * D_H)
        self.W_O = nn.Linear(H * D_H, H * D_H)

    def forward(self, X, context=None):
        W, b = self.W_QKV.weight.view(3, self.H, self.D_H, -1), self.W_QKV.bias.view(3, self.H, self.D_H)
        c = X if context is None else context
        q = torch.einsum("bnd,hed->bnhe", X, W[0]) + b[0]
        k, v = torch.einsum("bnd,phed->pbnhe", c, W[1:]) + b[1:, None, None]
        A = (torch.einsum("bqhe,bkhe->bhqk", q, k) * self.D_H**-0.5).softmax(-1)
        return self.W_O(torch.einsum("bhqk,bkhe->bqhe", A, v).flatten(-2)), A


@right("A loop over the heads, each with its slice of features")
class HeadByHead(nn.Module):
    def __init__(self, H, D_H):
        super().__init__()
        self.H, self.D_H = H, D_H
        D = H * D_H
        self.W_QKV, self.W_O = nn.Linear(D, 3 * D), nn.Linear(D, D)

    def forward(self, X, context=None):
        asks = self.W_QKV(X)
        tells = asks if context is None else self.W_QKV(context)
        D, results, tables = self.H * self.D_H, [], []
        for start in range(0, D, self.D_H):
            q = asks.narrow(-1, start, self.D_H)
            k = tells.narrow(-1, D + start, self.D_H)
            v = tells.narrow(-1, 2 * D + start, self.D_H)
            tables.append(F.softmax(torch.bmm(q / math.sqrt(self.D_H), k.transpose(1, 2)), dim=2))
            results.append(torch.bmm(tables[-1], v))
        return self.W_O(torch.cat(results, dim=2)), torch.stack(tables, dim=1)


@right("Only the needed rows of W_QKV are multiplied, by F.linear")
class NeededRows(_Base):
    def project(self, X, context):
        if context is None:
            return self.W_QKV(X).unflatten(-1, (3, self.H, self.D_H)).permute(2, 0, 3, 1, 4).unbind(0)
        D = X.shape[-1]
        (w_q, w_kv), (b_q, b_kv) = self.W_QKV.weight.split((D, 2 * D)), self.W_QKV.bias.split((D, 2 * D))
        K, V = F.linear(context, w_kv, b_kv).chunk(2, dim=-1)
        return self.split(F.linear(X, w_q, b_q)), self.split(K), self.split(V)


@right("softmax as exp of the scores less their logsumexp")
class ByLogsumexp(_Base):
    def weights(self, E):
        return torch.exp(E - torch.logsumexp(E, dim=-1, keepdim=True))


@right("softmax by hand, with the maximum of each row, detached")
class SoftmaxByHand(_Base):
    def weights(self, E):
        P = (E - E.detach().amax(dim=-1, keepdim=True)).exp()
        return P / P.sum(dim=-1, keepdim=True)


@right("Batch and heads as one axis, baddbmm and bmm")
class BatchTimesHeads(_Base):
    def forward(self, X, context=None):
        Q, K, V = (Z.flatten(0, 1) for Z in self.project(X, context))
        start = torch.zeros(1, 1, 1, dtype=Q.dtype, device=Q.device)
        A = torch.baddbmm(start, Q, K.mT, beta=0, alpha=1 / math.sqrt(self.D_H)).softmax(-1)
        A, Y = A.unflatten(0, (-1, self.H)), torch.bmm(A, V).unflatten(0, (-1, self.H))
        return self.W_O(torch.cat(Y.unbind(1), dim=-1)), A


@right("One query at a time")
class QueryByQuery(_Base):
    def forward(self, X, context=None):
        Q, K, V = self.project(X, context)
        Y, A = [], []
        for n in range(X.shape[1]):
            row = ((Q[:, :, n, None, :] * K).sum(-1) / math.sqrt(self.D_H)).softmax(-1)
            A.append(row)
            Y.append((row[..., None] * V).sum(2).flatten(1))
        return self.W_O(torch.stack(Y, dim=1)), torch.stack(A, dim=2)


@right("The output layer as a sum over the heads, each with its columns of W_O's weight")
class OutputHeadByHead(_Base):
    def forward(self, X, context=None):
        Q, K, V = self.project(X, context)
        A = self.weights(self.scores(Q, K))
        Y = self.W_O.bias.expand(*X.shape[:2], -1)
        for h, columns in enumerate(self.W_O.weight.split(self.D_H, dim=1)):
            Y = Y + A[:, h] @ V[:, h] @ columns.T
        return Y, A


@right("X and the context go through W_QKV together, joined along their vectors, and are cut apart again")
class ProjectedTogether(_Base):
    def project(self, X, context):
        N_Q = X.shape[1]
        Z = self.W_QKV(X if context is None else torch.cat((X, context), dim=1))
        Q, K, V = Z.reshape(*Z.shape[:2], 3, self.H, self.D_H).movedim(2, 0).transpose(2, 3)
        start = 0 if context is None else N_Q
        return Q[:, :, :N_Q], K[:, :, start:], V[:, :, start:]


@right("softmax in at least single precision, cast back; the scale on the queries")
class AtLeastSingle(_Base):
    def scores(self, Q, K):
        wide = torch.promote_types(Q.dtype, torch.float32)
        return torch.einsum("...qd,...kd->...qk", Q.to(wide) * self.D_H**-0.5, K.to(wide))

    def mix(self, A, V):
        return (A @ V.to(A.dtype)).to(V.dtype)

    def forward(self, X, context=None):
        Y, A = super().forward(X, context)
        return Y, A.to(X.dtype)


@right("Layers registered by add_module, sizes read from the layers, the fourth root of D_H on both sides")
class FourthRoots(nn.Module):
    def __init__(self, H, D_H):
        super().__init__()
        self.add_module("W_QKV", nn.Linear(H * D_H, H * D_H * 3, bias=True))
        self.add_module("W_O", nn.Linear(H * D_H, H * D_H, bias=True))
        self.heads = H

    def attend(self, q, k, v):
        scale = q.size(-1) ** -0.25
        table = torch.softmax((q * scale) @ (k * scale).T, -1)
        return table @ v, table

    def forward(self, X, context=None):
        context = X if context is None else context
        d = self.W_O.in_features
        q, k, v = self.W_QKV(X)[..., :d], self.W_QKV(context)[..., d : 2 * d], self.W_QKV(context)[..., 2 * d :]
        q, k, v = (torch.stack(z.tensor_split(self.heads, dim=-1), dim=1) for z in (q, k, v))
        y, A = torch.func.vmap(torch.func.vmap(self.attend))(q, k, v)
        return self.W_O(y.permute(0, 2, 1, 3).contiguous().view(*X.shape)), A


# --------------------------------------------------------------------------------------------------- wrong: concept


change(_Base.scores, "DividedByWidth", "scores are divided by D_H instead of its root", "concept",
       ("math.sqrt(self.D_H)", "self.D_H"))
change(_Base.scores, "NoScale", "scores are not scaled", "concept",
       ("K.mT / math.sqrt(self.D_H)", "K.mT"))
change(_Base.scores, "RootOfWholeWidth",
       "scores are divided by the root of H*D_H, the width of the whole vector, instead of D_H", "concept",
       ("self.D_H", "self.H * self.D_H"))
change(_Base.scores, "TimesRoot", "scores are multiplied by the root of D_H instead of divided", "concept",
       ("K.mT / math", "K.mT * math"))
change(_Base.scores, "RootOfLength",
       "scores are divided by the root of the number of keys N_X instead of D_H", "concept",
       ("self.D_H", "K.shape[-2]"))
change(_Base.scores, "RootOfHeads", "scores are divided by the root of the number of heads instead of D_H", "concept",
       ("self.D_H", "self.H"))
change(_Base.weights, "ScaledAfterSoftmax", "the weights, not the scores, are divided by the root of D_H", "concept",
       ("E.softmax(dim=-1)", "(E * math.sqrt(self.D_H)).softmax(dim=-1) / math.sqrt(self.D_H)"))
change(_Base.weights, "OverQueries", "the softmax runs over the queries instead of the data vectors", "concept",
       ("dim=-1", "dim=-2"))
change(_Base.weights, "OverHeads", "the softmax runs over the heads instead of the data vectors", "concept",
       ("dim=-1", "dim=1"))
change(_Base.weights, "OverTheTable",
       "the softmax runs over queries and data vectors together: the whole table of a head sums to 1", "concept",
       ("E.softmax(dim=-1)", "E.flatten(2).softmax(dim=-1).view(E.shape)"))


@wrong("the thirds of W_QKV are read as queries, values, keys", kind="concept")
class ValuesBeforeKeys(_Base):
    def project(self, X, context):
        Q, K, V = super().project(X, context)
        return Q, V, K


@wrong("the thirds of W_QKV are read as keys, queries, values", kind="concept")
class KeysFirst(_Base):
    def project(self, X, context):
        Q = self.W_QKV(X).chunk(3, dim=-1)[1]
        K, _, V = self.W_QKV(X if context is None else context).chunk(3, dim=-1)
        return self.split(Q), self.split(K), self.split(V)


@wrong("the output of W_QKV is cut head by head, each with its query, key and value, not first all queries",
       kind="concept")
class HeadsOutermost(_Base):
    def project(self, X, context):
        Q = self.W_QKV(X).unflatten(-1, (self.H, 3, self.D_H))[..., 0, :]
        Z = self.W_QKV(X if context is None else context).unflatten(-1, (self.H, 3, self.D_H))
        return Q.transpose(1, 2), Z[..., 1, :].transpose(1, 2), Z[..., 2, :].transpose(1, 2)


@wrong("a head gets every H-th feature (cut as D_H times H) instead of D_H neighbouring ones; merged the same way",
       kind="concept")
class StridedHeads(_Base):
    def split(self, Z):
        return Z.unflatten(-1, (self.D_H, self.H)).permute(0, 3, 1, 2)

    def merge(self, Z):
        return Z.permute(0, 2, 3, 1).flatten(2)


@wrong("splits by reshaping to [B, H, N, D_H] at once, without exchanging axes: heads mix vectors", kind="shape")
class ReshapedAtOnce(_Base):
    def split(self, Z):
        return Z.reshape(Z.shape[0], self.H, Z.shape[1], self.D_H)


change(_Base.merge, "MergedAtOnce",
       "merges by reshaping [B, H, N, D_H] to [B, N, H*D_H] without exchanging the axes back", "shape",
       ("Z.transpose(1, 2).flatten(2)", "Z.reshape(Z.shape[0], Z.shape[2], -1)"))
change(_Base.merge, "LastHeadFirst", "merges the heads in reverse order, the last head first", "concept",
       ("return Z.transpose(1, 2).flatten(2)", "return super().merge(Z.flip(1))"))
change(_Base.merge, "HeadsInnermost",
       "merges with the features outside and the heads inside, as D_H times H", "concept",
       ("Z.transpose(1, 2).flatten(2)", "Z.permute(0, 2, 3, 1).flatten(2)"))
change(_Base.forward, "WithoutOutputLayer", "the merged heads are returned without going through W_O", "concept",
       (".W_O(self.merge(self.mix(A, V)))", ".merge(A @ V)"))


# Right, and not registered: answers below are changes of it.
class _PlainForward(_Base):
    def forward(self, X, context=None):
        Y, A = super().forward(X, context)
        return Y, A


change(_PlainForward, "Residual", "the residual X is added to the output", "concept",
       ("return Y", "return X + Y"))
change(_PlainForward, "Normalised", "the output is normalised (layer norm without parameters)", "concept",
       ("return Y", "return F.layer_norm(Y, Y.shape[-1:])"))
change(_PlainForward, "WithRelu", "a ReLU stands behind the output layer", "concept",
       ("return Y", "return Y.relu()"))


@wrong("the context is ignored: always self-attention", kind="concept")
class IgnoresContext(_Base):
    def project(self, X, context):
        return super().project(X, None)


@wrong("with a context the roles are exchanged: queries from the context, keys and values from X", kind="concept")
class ContextAsks(_Base):
    def project(self, X, context):
        return super().project(*((X, None) if context is None else (context, X)))


@wrong("with a context the keys come from it but the values from X: wrong for N_X = N_Q, an error otherwise",
       kind="concept")
class ValuesFromX(_Base):
    def project(self, X, context):
        Q, K, _ = super().project(X, context)
        return Q, K, super().project(X, None)[2]


@wrong("with a context the queries too come from it, X is not used: self-attention of the context", kind="concept")
class ContextAlone(_Base):
    def project(self, X, context):
        return super().project(X if context is None else context, None)


@wrong("with a context the keys and values of X stand beside those of the context", kind="concept")
class XAndContext(_Base):
    def project(self, X, context):
        Q, K, V = super().project(X, None)
        if context is not None:
            _, K2, V2 = super().project(context, None)
            K, V = torch.cat((K, K2), dim=2), torch.cat((V, V2), dim=2)
        return Q, K, V


@wrong("with a context keys and values are made by the first two thirds of W_QKV (of queries and keys)", kind="concept")
class FirstTwoThirds(_Base):
    def project(self, X, context):
        Q, K, V = super().project(X, None)
        if context is not None:
            K, V, _ = super().project(context, None)
        return Q, K, V


change(ValuesBeforeKeys, "UnprojectedValues",
       "with a context the values are the context's own features, without the projection", "concept",
       ("Q, V, K", "Q, K, V if context is None else self.split(context)"))


@wrong("query n sees only the data vectors 0 to n, also those of a context (a causal mask)", kind="concept")
class Causal(_Base):
    def scores(self, Q, K):
        E = super().scores(Q, K)
        return E.masked_fill(torch.ones_like(E, dtype=torch.bool).triu(1), -math.inf)


@wrong("in self-attention no vector sees itself (where there are others)", kind="concept")
class NotItself(_Base):
    def forward(self, X, context=None):
        Q, K, V = self.project(X, context)
        E = self.scores(Q, K)
        if context is None and X.shape[1] > 1:
            E = E.masked_fill(torch.eye(X.shape[1], dtype=torch.bool, device=X.device), -math.inf)
        A = E.softmax(dim=-1)
        return self.W_O(self.merge(A @ V)), A


change(_Base.mix, "TransposedWeights",
       "the values are mixed by the transposed weights: wrong for N_X = N_Q, an error otherwise", "concept",
       ("return A", "return A.mT"))
change(_Base.weights, "Sigmoid", "sigmoid instead of softmax", "concept",
       ("E.softmax(dim=-1)", "E.sigmoid()"))
change(_Base.weights, "SoftmaxTwice", "softmax is applied twice", "concept",
       ("E.softmax(dim=-1)", "E.softmax(-1).softmax(-1)"))


@wrong("queries and keys are scaled to length 1 first (cosine similarity)", kind="concept")
class Cosine(_Base):
    def scores(self, Q, K):
        return super().scores(F.normalize(Q, dim=-1), F.normalize(K, dim=-1))


change(_Base.mix, "ValuesOfTheNeighbour", "head h mixes the values of head h - 1 (in a circle)", "concept",
       ("A @ V", "A @ V.roll(1, dims=1)"))


@wrong("head h gets the features from h on instead of from h*D_H on: heads overlap", kind="concept")
class OverlappingHeads(_Base):
    def split(self, Z):
        return torch.stack([Z[..., h : h + self.D_H] for h in range(self.H)], dim=1)


# ------------------------------------------------------------------------------------------------ wrong: two at once


@wrong("scores are not scaled, and the residual X is added", kind="concept")
class NoScaleAndResidual(_Base):
    def scores(self, Q, K):
        return Q @ K.mT

    def forward(self, X, context=None):
        Y, A = super().forward(X, context)
        return Y + X, A


@wrong("keys and values are exchanged, and the heads are merged without exchanging the axes back", kind="concept")
class ExchangedAndMerged(_Base):
    def project(self, X, context):
        Q, K, V = super().project(X, context)
        return Q, V, K

    def merge(self, Z):
        return Z.reshape(Z.shape[0], Z.shape[2], -1)


@wrong("the scale is the root of the whole width H*D_H, and A is the mean over the heads", kind="concept")
class WholeRootAndMean(_Base):
    def scores(self, Q, K):
        return Q @ K.mT / math.sqrt(self.H * self.D_H)

    def forward(self, X, context=None):
        Y, A = super().forward(X, context)
        return Y, A.mean(dim=1)


@wrong("the context is ignored, and the softmax runs over the queries", kind="concept")
class IgnoredAndOverQueries(_Base):
    def project(self, X, context):
        return super().project(X, None)

    def weights(self, E):
        return E.softmax(dim=2)


@wrong("both layers lack their bias, and the scores are divided by D_H", kind="module")
class NoBiasAndWidth(_Base):
    def make(self, D):
        self.W_QKV, self.W_O = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)

    def scores(self, Q, K):
        return Q @ K.mT / self.D_H


# Right, and not registered: answers below are changes of it.
class _PlainMake(_Base):
    def make(self, D):
        self.W_QKV, self.W_O = nn.Linear(D, 3 * D), nn.Linear(D, D)


# ----------------------------------------------------------------------------------------------------- wrong: module


change(_PlainMake, "NoInputBias", "W_QKV has no bias", "module",
       ("3 * D", "3 * D, bias=False"))
change(_PlainMake, "NoOutputBias", "W_O has no bias", "module",
       ("D, D", "D, D, bias=False"))


@wrong("with a context W_QKV's bias is left out for keys and values", kind="module")
class NoBiasForContext(_Base):
    def project(self, X, context):
        Q, K, V = super().project(X, None)
        if context is not None:
            K, V = F.linear(context, self.W_QKV.weight[X.shape[-1] :]).chunk(2, dim=-1)
            K, V = self.split(K), self.split(V)
        return Q, K, V


change(_Base.forward, "BiasForEachHead",
       "W_O's bias is counted once for each head (W_O is applied to each head's part and summed)", "module",
       ("return self.W_O(self.merge(self.mix(A, V))), A", """
        Y = sum(F.linear(A[:, h] @ V[:, h], W, self.W_O.bias)
                for h, W in enumerate(self.W_O.weight.split(self.D_H, dim=1)))
        return Y, A"""))


@wrong("the layers are named qkv and out instead of W_QKV and W_O", kind="module")
class OtherNames(nn.Module):
    def __init__(self, H, D_H):
        super().__init__()
        self.H = H
        self.qkv, self.out = nn.Linear(H * D_H, 3 * H * D_H), nn.Linear(H * D_H, H * D_H)

    def forward(self, X, context=None):
        q, k, v = (Z.unflatten(-1, (self.H, -1)).mT.movedim(-1, 1) for Z in (
            self.qkv(X).chunk(3, -1)[0], *self.qkv(X if context is None else context).chunk(3, -1)[1:]))
        A = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
        return self.out((A @ v).transpose(1, 2).flatten(2)), A


@wrong("three layers W_Q, W_K and W_V stand in place of the one W_QKV", kind="module")
class ThreeLayers(_Base):
    def make(self, D):
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(D, D) for _ in range(4))

    def project(self, X, context):
        source = X if context is None else context
        return self.split(self.W_Q(X)), self.split(self.W_K(source)), self.split(self.W_V(source))


change(_PlainMake, "NarrowOutput", "W_O maps to D_H instead of H*D_H features: Y is too narrow", "module",
       ("D, D", "D, self.D_H"))


@wrong("W_QKV is H layers in a ModuleList instead of one linear layer", kind="module")
class LayerForEachHead(_Base):
    def make(self, D):
        self.W_QKV = nn.ModuleList(nn.Linear(D, 3 * self.D_H) for _ in range(self.H))
        self.W_O = nn.Linear(D, D)

    def project(self, X, context):
        source = X if context is None else context
        Q = torch.stack([layer(X).chunk(3, -1)[0] for layer in self.W_QKV], dim=1)
        K, V = (torch.stack([layer(source).chunk(3, -1)[i] for layer in self.W_QKV], dim=1) for i in (1, 2))
        return Q, K, V


@wrong("the layers are made by the first call of forward: before it there are none to set", kind="module")
class MadeLate(_Base):
    def make(self, D):
        pass

    def project(self, X, context):
        if not hasattr(self, "W_QKV"):
            super().make(X.shape[-1])
            self.to(X)
        return super().project(X, context)


@wrong("in training mode a tenth of the weights is dropped (and the others grow)", kind="module")
class DropsWeights(_Base):
    def weights(self, E):
        A = E.softmax(dim=-1)
        if self.training:
            drawn = torch.rand(A.shape, generator=torch.Generator().manual_seed(0)).to(A.device)
            A = A * (drawn > 0.1) / 0.9
        return A


change(_PlainForward, "NoWeightsInEval",
       "in eval mode A is returned as None: it is there in training mode only", "module",
       ("return Y, A", "return Y, A if self.training else None"))


@wrong("in eval mode all runs under no_grad: no gradients flow there", kind="gradient")
class NoGradientInEval(_Base):
    def forward(self, X, context=None):
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.training):
            return super().forward(X, context)


@wrong("the softmax is nn.MultiheadAttention's: the layer wraps the forbidden class, with the weights of W_QKV and W_O",
       kind="process")
class Wrapped(_Base):
    def forward(self, X, context=None):
        D = X.shape[-1]
        ready = nn.MultiheadAttention(D, self.H, batch_first=True, device=X.device, dtype=X.dtype)
        mine = {"in_proj_weight": self.W_QKV.weight, "in_proj_bias": self.W_QKV.bias,
                "out_proj.weight": self.W_O.weight, "out_proj.bias": self.W_O.bias}
        source = X if context is None else context
        return torch.func.functional_call(ready, mine, (X, source, source), {"average_attn_weights": False})


change(_Base.forward, "ReadyMade",
       "Y is made by scaled_dot_product_attention, which is not allowed; the weights are computed beside it", "process",
       ("self.mix(A, V)", "F.scaled_dot_product_attention(Q, K, V)"))


# --------------------------------------------------------------------------------------------------- wrong: numerics


change(SoftmaxByHand, "NoMaximum",
       "softmax without subtracting a maximum: overflows to nan for scores of about 100 in float32", "numerics",
       ("(E - E.detach().amax(dim=-1, keepdim=True)).exp()", "E.exp()"))
change(SoftmaxByHand, "OneMaximum", "one maximum for the whole batch and all heads is subtracted: rows hundreds below "
       "it become 0/0 = nan", "numerics",
       ("E.detach().amax(dim=-1, keepdim=True)", "E.max()"))
change(SoftmaxByHand, "MaximumOfTheTable", "one maximum for each head's whole table is subtracted: a row hundreds "
       "below another of it becomes nan", "numerics",
       ("E.detach().amax(dim=-1, keepdim=True)", "E.amax(dim=(-2, -1), keepdim=True)"))
change(SoftmaxByHand, "MeanForMaximum", "the mean of each row is subtracted instead of its maximum: overflows where a "
       "score lies about 100 above it", "numerics",
       ("E.detach().amax", "E.mean"))
change(SoftmaxByHand, "Epsilon",
       "1e-5 is added to the denominator of the softmax: the weights do not sum to 1", "numerics",
       ("E.detach().amax", "E.amax"), ("P.sum(dim=-1, keepdim=True)", "(P.sum(dim=-1, keepdim=True) + 1e-5)"))
change(_Base.scores, "Clamped", "scores are clamped to -20 .. 20: larger ones give wrong weights", "numerics",
       ("return Q @ K.mT / math.sqrt(self.D_H)", "return super().scores(Q, K).clamp(-20, 20)"))
change(_Base.scores, "HalfInside",
       "the product of queries and keys is made in half precision: coarse, and infinite above 65504", "numerics",
       ("Q @ K.mT", "(Q.half() @ K.half().mT).to(Q.dtype)"))
change(_Base.weights, "SingleSoftmax",
       "the softmax is made in single precision and cast back: double precision is lost", "numerics",
       ("E.softmax(dim=-1)", "E.float().softmax(dim=-1).to(E.dtype)"), verdict="open")
change(_Base.scores, "SingleRoot", "the root of D_H is a single-precision tensor: where it is irrational, double "
       "results are wrong by 1e-8 of the score", "numerics",
       ("math.sqrt(self.D_H)", "torch.sqrt(torch.tensor(float(self.D_H)))"), verdict="open")
change(_Base.weights, "SmallWeightsZero", "weights below 1e-3 are set to 0", "numerics",
       ("return E.softmax(dim=-1)", """
        A = super().weights(E)
        return A * (A >= 1e-3)"""))
change(_Base.weights, "LargestSixteen",
       "only the 16 largest scores of each query count: wrong for more than 16 data vectors", "numerics",
       before("return", "least = E.topk(min(16, E.shape[-1]), dim=-1).values[..., -1:]"),
       (".softmax(dim=-1)", ".masked_fill(E < least, -math.inf).softmax(dim=-1)"))


@wrong("scores as (|q|^2 + |k|^2 - |q - k|^2)/2 through torch.cdist, which bfloat16 does not have: it raises there; in "
       "other types digits cancel where queries and keys are long but nearly at right angles", kind="numerics")
class ByDistances(_Base):
    def scores(self, Q, K):
        apart = torch.cdist(Q, K, compute_mode="donot_use_mm_for_euclid_dist")
        squares = (Q**2).sum(-1)[..., :, None] + (K**2).sum(-1)[..., None, :]
        return (squares - apart**2) / (2 * math.sqrt(self.D_H))


# ----------------------------------------------------------------------------------------------- wrong: layout, edge


@wrong("X is cut by view: an X whose numbers do not lie side by side raises a RuntimeError", kind="layout")
class ViewOfX(_Base):
    def project(self, X, context):
        B, N, D = X.shape
        Q = self.W_QKV(X.view(B * N, D)).view(B, N, -1).chunk(3, dim=-1)[0]
        return self.split(Q), *super().project(X, context)[1:]


@wrong("the context is cut by view: a context whose numbers do not lie side by side raises a RuntimeError",
       kind="layout")
class ViewOfContext(_Base):
    def project(self, X, context):
        if context is not None:
            context = context.view(-1, context.shape[-1]).view(context.shape)
        return super().project(X, context)


@wrong("merges by view after the exchange of axes: raises wherever there are several heads and vectors", kind="layout")
class MergedByView(_Base):
    def merge(self, Z):
        Z = Z.transpose(1, 2)
        return Z.view(*Z.shape[:2], self.H * self.D_H)


change(_PlainForward, "Squeezed", "Y and A are squeezed: axes of size 1 disappear", "layout",
       ("return Y, A", "return Y.squeeze(), A.squeeze()"))
change(_PlainForward, "OneHeadSqueezed", "with one head A loses the axis of the heads", "edge",
       ("return Y, A", "return Y, A.squeeze(1)"))
change(_Base.forward, "OneHeadWithoutOutputLayer", "with one head W_O is left out", "edge",
       ("return self.W_O(self.merge(self.mix(A, V))), A", """
        Y = self.merge(A @ V)
        return (self.W_O(Y) if self.H > 1 else Y), A"""))


@wrong("only the first sequence of the batch is computed, and repeated for the others", kind="layout")
class FirstOfTheBatch(_Base):
    def forward(self, X, context=None):
        Y, A = super().forward(X[:1], None if context is None else context[:1])
        return Y.expand(len(X), -1, -1), A.expand(len(X), -1, -1, -1)


change(IgnoresContext, "SameShapeIsSelf", "a context of the same shape as X is taken for X: self-attention", "edge",
       ("X, None", "X, None if context is None or context.shape == X.shape else context"))
change(IgnoresContext, "OneVectorIsNone", "a context of one vector is taken for none: self-attention", "edge",
       ("X, None", "X, None if context is None or context.shape[1] == 1 else context"))
change(IgnoresContext, "ContextOrX",
       "tells by its truth value whether there is a context: a tensor of several numbers raises a RuntimeError", "edge",
       ("X, None", "X, context or X"))


@wrong("rows of the context that are all zero are taken for padding and masked out", kind="edge")
class ZeroRowsArePadding(_Base):
    def forward(self, X, context=None):
        Q, K, V = self.project(X, context)
        E = self.scores(Q, K)
        if context is not None:
            empty = (context == 0).all(dim=-1)
            empty = empty & ~empty.all(dim=-1, keepdim=True)
            E = E.masked_fill(empty[:, None, None], -math.inf)
        A = E.softmax(dim=-1)
        return self.W_O(self.merge(A @ V)), A


@wrong("a buffer of fixed size, 256 by 256, is added to the scores: more vectors raise an error", kind="process")
class FixedBuffer(_Base):
    def make(self, D):
        super().make(D)
        self.register_buffer("bias", torch.zeros(256, 256), persistent=False)

    def scores(self, Q, K):
        E = super().scores(Q, K)
        return E + self.bias[: E.shape[-2], : E.shape[-1]]


# -------------------------------------------------------------------------------------- wrong: gradient and interface


change(_PlainForward, "DetachedWeights", "the returned A is detached: no gradient flows from it", "gradient",
       ("return Y, A", "return Y, A.detach()"), verdict="open")
change(_Base.mix, "MixedByDetached",
       "the weights that mix the values are detached: queries and keys get no gradient from Y", "gradient",
       ("return A", "return A.detach()"))
change(IgnoresContext, "DetachedContext", "the context is detached: no gradient flows to it", "gradient",
       ("X, None", "X, None if context is None else context.detach()"))


@wrong("in self-attention keys and values come from a detached X: part of X's gradient is missing", kind="gradient")
class DetachedSource(_Base):
    def project(self, X, context):
        return super().project(X, X.detach() if context is None else context)


@wrong("the weight of W_QKV is read through .data for keys and values of a context: no gradient to it from there",
       kind="gradient")
class WeightData(_Base):
    def project(self, X, context):
        Q, K, V = super().project(X, None)
        if context is not None:
            D = X.shape[-1]
            K, V = F.linear(context, self.W_QKV.weight.data[D:], self.W_QKV.bias[D:]).chunk(2, dim=-1)
            K, V = self.split(K), self.split(V)
        return Q, K, V


change(SoftmaxByHand, "DetachedSum",
       "the denominator of the softmax is detached: the gradient of the weights is wrong", "gradient",
       ("P.sum(dim=-1, keepdim=True)", "P.sum(dim=-1, keepdim=True).detach()"))


@wrong("divides the queries in place, a view that chunk made: raises a RuntimeError as soon as gradients are kept",
       kind="gradient")
class InPlaceOnChunk(_Base):
    def project(self, X, context):
        Q = self.W_QKV(X).chunk(3, dim=-1)[0]
        Q /= math.sqrt(self.D_H)
        return self.split(Q), *super().project(X, context)[1:]

    def scores(self, Q, K):
        return Q @ K.mT


# Right, and not registered: answers below are changes of it.
class _Plain(_Base):
    def forward(self, X, context=None):
        return super().forward(X, context)


change(_Plain, "ChangesX", "numbers of X beyond -2 .. 2 are cut to that in place: X is changed, and the result is that "
       "of the cut X", "interface",
       before("return", "X.data.clamp_(-2, 2)"))
change(_Plain, "SetsRequiresGrad", "sets requires_grad on the input X: the input is changed", "interface",
       before("return", "X.requires_grad_()"))


@wrong("sets the bias of W_QKV to zero in each call", kind="interface")
class ZeroesBias(_Base):
    def project(self, X, context):
        self.W_QKV.bias.data.zero_()
        return super().project(X, context)


@wrong("keeps the last context: a later call without one attends to it instead of to X", kind="interface")
class KeepsContext(_Base):
    kept = None

    def project(self, X, context):
        if context is not None:
            self.kept = context
        elif self.kept is not None and self.kept.shape[0] == X.shape[0]:
            context = self.kept
        return super().project(X, context)


@wrong("keys and values are kept from call to call for contexts of the same shape: another context gets the old ones",
       kind="interface")
class KeepsKeys(_Base):
    def __init__(self, H, D_H):
        super().__init__(H, D_H)
        self.kept = {}

    def project(self, X, context):
        Q, K, V = super().project(X, context)
        if context is not None:
            K, V = self.kept.setdefault((context.shape, context.dtype), (K, V))
        return Q, K, V


change(_Plain, "OutputsAlone", "returns Y alone, without the weights", "interface",
       ("super().forward(X, context)", "super().forward(X, context)[0]"))
change(_Plain, "WeightsFirst", "returns the weights first and the outputs second", "interface",
       ("super().forward(X, context)", "super().forward(X, context)[::-1]"))
change(_PlainForward, "MeanWeights",
       "returns the mean of A over the heads instead of the weights of each head", "interface",
       ("return Y, A", "return Y, A.mean(dim=1)"))
change(_PlainForward, "HeadsLast", "the returned A has the heads last, [B, N_Q, N_X, H]", "interface",
       ("return Y, A", "return Y, A.movedim(1, -1)"))
change(_Base.forward, "ScoresForWeights", "returns the scaled scores in place of the weights", "interface",
       ("A = self.weights(self.scores(Q, K))", "E = self.scores(Q, K)"),
       ("self.W_O(self.merge(self.mix(A, V))), A", "self.W_O(self.merge(E.softmax(-1) @ V)), E"))
change(_PlainForward, "SingleWeights", "the returned A is single precision whatever X is", "interface",
       ("return Y, A", "return Y, A.float()"))


@wrong("collects the heads in a tensor made by torch.zeros without a type: raises for types other than float32",
       kind="interface")
class ZerosWithoutType(_Base):
    def mix(self, A, V):
        result = torch.zeros(A.shape[:-1] + V.shape[-1:])
        for h in range(self.H):
            result[:, h] = A[:, h] @ V[:, h]
        return result


change(_Plain, "ContextByKeyword", "context must be given by keyword: a call by position fails", "interface",
       ("context=None", "*, context=None"))
change(_Plain, "ContextDemanded", "context has no default: a call with X alone fails", "interface",
       ("context=None", "context"))


@right("forward calls its arguments x and memory instead of X and context: calls by keyword fail")
class OtherArgumentNames(_Base):
    def forward(self, x, memory=None):
        return super().forward(x, memory)


@wrong("the constructor takes D_H first and H second", kind="interface")
class WidthFirst(_Base):
    def __init__(self, D_H, H):
        super().__init__(H, D_H)


@wrong("the constructor takes the whole width D in place of D_H, and cuts it into H heads", kind="interface")
class WholeWidth(_Base):
    def __init__(self, H, D_H):
        super().__init__(H, D_H // H)
