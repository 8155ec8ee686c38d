"""Answers to the exercise AttentionLayer of assignment 04."""
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import after, before, change, right, wrong


class _Base(nn.Module):
    """The two layers; what follows changes one thing or another."""

    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)

    def scores(self, Q, X):
        return Q @ self.W_K(X).mT / math.sqrt(Q.shape[-1])

    def both(self, A, X):
        return A @ self.W_V(X), A

    def forward(self, Q, X):
        return self.both(self.scores(Q, X).softmax(-1), X)


# ---------------------------------------------------------------------------------------------------------------- right


@right("The value matrix is applied after the mixing, which is the same for a layer without bias")
class ValuesAfterMixing(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_V = nn.Linear(D_X, D_V, bias=False)
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.scale = 1 / math.sqrt(D_Q)

    def forward(self, Q, X):
        A = torch.softmax(torch.matmul(Q, self.W_K(X).transpose(-1, -2)) * self.scale, dim=-1)
        return self.W_V(A @ X), A


@right("The queries are carried over to the data's width: (Q W) X^T")
class QueriesToTheData(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K, self.W_V = (nn.Linear(D_X, width, bias=False) for width in (D_Q, D_V))

    def forward(self, Q, X):
        carried = (Q / math.sqrt(Q.size(-1))) @ self.W_K.weight
        A = F.softmax(carried @ X.mT, dim=-1)
        V = X @ self.W_V.weight.t()
        return torch.matmul(A, V), A


@right("Both projections in one product of concatenated weights, and split")
class OneProduct(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.widths = [D_Q, D_V]
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        K, V = F.linear(X, torch.cat([self.W_K.weight, self.W_V.weight])).split(self.widths, dim=-1)
        E = torch.einsum("...id,...jd->...ij", Q, K) / math.sqrt(self.widths[0])
        A = torch.exp(E - E.logsumexp(-1, keepdim=True))
        return torch.einsum("...ij,...jv->...iv", A, V), A


@right("Loops over the queries, softmax from exp and sums")
class QueryByQuery(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        K, V, outputs, weights = self.W_K(X), self.W_V(X), [], []
        for i in range(Q.shape[-2]):
            e = (K * Q[..., i, None, :]).sum(-1) / K.shape[-1] ** 0.5
            p = torch.exp(e - e.max(dim=-1, keepdim=True).values)
            a = p / p.sum(dim=-1, keepdim=True)
            weights.append(a)
            outputs.append((a.unsqueeze(-2) @ V).squeeze(-2))
        return torch.stack(outputs, dim=-2), torch.stack(weights, dim=-2)


@right("All batch axes joined, baddbmm with the scale as alpha, taken apart at the end")
class JoinedBatch(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        front, (n, d), m = Q.shape[:-2], Q.shape[-2:], X.shape[-2]
        B = math.prod(front)
        K, V = self.W_K(X).reshape(B, m, d), self.W_V(X).reshape(B, m, -1)
        empty = torch.zeros(B, n, m, dtype=K.dtype, device=K.device)
        A = torch.baddbmm(empty, Q.reshape(B, n, d), K.transpose(1, 2), alpha=d**-0.5).softmax(dim=2)
        return torch.bmm(A, V).reshape(*front, n, V.shape[-1]), A.reshape(*front, n, m)


@right("A base class makes the layers; a softmax module and a dropout of probability 0")
class WithModules(_Base):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.softmax = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(0.0)

    def forward(self, Q, X):
        E = self.scores(Q, X)
        A = self.dropout(self.softmax(E))
        return torch.matmul(A, self.W_V(X)), A


@right("Weights begin orthogonal and scaled; the layers are made by a helper and registered with add_module")
class OtherBeginnings(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        for name, width in {"W_V": D_V, "W_K": D_Q}.items():
            layer = nn.Linear(D_X, width, bias=False)
            nn.init.orthogonal_(layer.weight, gain=0.5)
            self.add_module(name, layer)

    def forward(self, Q, X):
        quarter = Q.shape[-1] ** 0.25
        A = ((Q / quarter) @ (self.W_K(X) / quarter).mT).log_softmax(-1).exp()
        return A @ self.W_V(X), A


@right("Recursion over the batch axes down to two matrices")
class Recursive(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K = nn.Linear(in_features=D_X, out_features=D_Q, bias=False)
        self.W_V = nn.Linear(in_features=D_X, out_features=D_V, bias=False)

    def forward(self, Q, X):
        if Q.dim() == 2:
            A = (torch.mm(Q, self.W_K(X).t()) / math.sqrt(Q.shape[1])).softmax(dim=1)
            return torch.mm(A, self.W_V(X)), A
        Y, A = zip(*(self.forward(q, x) for q, x in zip(Q, X)))
        return torch.stack(Y), torch.stack(A)


@right("Transposed all through: data vectors down, queries across; forward takes and hands on keywords")
class TransposedAllThrough(nn.Module):
    def __init__(self, D_X: int, D_Q: int, D_V: int):
        super().__init__()
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)

    def look(self, *, keys, values, queries):
        A = (keys @ queries.mT).div(math.sqrt(keys.shape[-1])).softmax(dim=-2)
        return (values.mT @ A).mT, A.mT

    def forward(self, Q, X):
        return self.look(queries=Q, keys=self.W_K(X), values=self.W_V(X))


@right("Streams over the data vectors with a running maximum, sum and output")
class Streaming(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K, self.W_V = nn.Linear(D_X, D_Q, bias=False), nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        top = total = mixed = None
        scores = []
        for x in X.split(1, dim=-2):
            e = (Q * self.W_K(x)).sum(-1, keepdim=True) / math.sqrt(Q.shape[-1])
            scores.append(e)
            if top is None:
                top, total, mixed = e, torch.ones_like(e), torch.ones_like(e) * self.W_V(x)
                continue
            new = torch.maximum(top, e)
            shrink, weight = (top - new).exp(), (e - new).exp()
            top, total, mixed = new, total * shrink + weight, mixed * shrink + weight * self.W_V(x)
        return mixed / total, (torch.cat(scores, -1) - top).exp() / total


@right("At least single precision inside, results in the inputs' dtype; the layers in a subclass of nn.Linear")
class AtLeastSingle(nn.Module):
    class Plain(nn.Linear):
        def __init__(self, wide, narrow):
            super().__init__(wide, narrow, bias=False)

    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K = self.Plain(D_X, D_Q)
        self.W_V = self.Plain(D_X, D_V)

    def forward(self, Q, X):
        wide = torch.promote_types(Q.dtype, torch.float32)
        K, V = self.W_K(X).to(wide), self.W_V(X).to(wide)
        A = torch.softmax(Q.to(wide) @ K.mT / K.shape[-1] ** 0.5, dim=-1)
        return (A @ V).to(Q.dtype), A.to(Q.dtype)


# Right, and not registered: answers below are changes of it.
class _PlainInit(_Base):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)


# --------------------------------------------------------------------------------------------------------------- module


change(_PlainInit, "BothWithBias", "both layers have a bias", "module",
       after("super().__init__(D_X, D_Q, D_V)", "self.W_K, self.W_V = nn.Linear(D_X, D_Q), nn.Linear(D_X, D_V)"))
change(_PlainInit, "KeysWithBias", "W_K has a bias: it changes no weight, since it moves each row of scores by one "
       "number, but it is there", "module",
       after("super().__init__(D_X, D_Q, D_V)", "self.W_K = nn.Linear(D_X, D_Q)"))
change(_PlainInit, "ValuesWithBias", "W_V has a bias", "module",
       after("super().__init__(D_X, D_Q, D_V)", "self.W_V = nn.Linear(D_X, D_V)"))


@wrong("the names are exchanged: the layer named W_V makes the keys, the one named W_K the values", kind="module")
class NamesExchanged(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_V = nn.Linear(D_X, D_Q, bias=False)
        self.W_K = nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        A = (Q @ self.W_V(X).mT / math.sqrt(Q.shape[-1])).softmax(-1)
        return A @ self.W_K(X), A


@wrong("the layers are named key and value, not W_K and W_V", kind="module")
class OtherNames(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.key, self.value = nn.Linear(D_X, D_Q, bias=False), nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        A = (Q @ self.key(X).mT / math.sqrt(Q.shape[-1])).softmax(-1)
        return A @ self.value(X), A


@wrong("W_K and W_V are bare nn.Parameter matrices [D_X, out], not nn.Linear layers", kind="module")
class BareParameters(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K = nn.Parameter(torch.randn(D_X, D_Q) / math.sqrt(D_X))
        self.W_V = nn.Parameter(torch.randn(D_X, D_V) / math.sqrt(D_X))

    def forward(self, Q, X):
        A = (Q @ (X @ self.W_K).mT / math.sqrt(Q.shape[-1])).softmax(-1)
        return A @ (X @ self.W_V), A


@wrong("a third layer W_Q projects the queries, which come ready", kind="module")
class QueriesProjected(_Base):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.W_Q = nn.Linear(D_Q, D_Q, bias=False)

    def forward(self, Q, X):
        return super().forward(self.W_Q(Q), X)


@wrong("an output layer W_O follows the mixing", kind="module")
class OutputLayer(_Base):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.W_O = nn.Linear(D_V, D_V, bias=False)

    def forward(self, Q, X):
        Y, A = super().forward(Q, X)
        return self.W_O(Y), A


@wrong("the scale is a learnt parameter that only begins at 1 / sqrt(D_Q): a third parameter that the text does not"
       " have, and that a step of training moves", kind="module")
class LearntScale(_Base):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.scale = nn.Parameter(torch.tensor(1 / math.sqrt(D_Q)))

    def forward(self, Q, X):
        return self.both((Q @ self.W_K(X).mT * self.scale).softmax(-1), X)


@wrong("one layer W_KV makes keys and values together; W_K and W_V do not exist", kind="module")
class OneLayerForBoth(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.D_Q = D_Q
        self.W_KV = nn.Linear(D_X, D_Q + D_V, bias=False)

    def forward(self, Q, X):
        both = self.W_KV(X)
        A = (Q @ both[..., : self.D_Q].mT / math.sqrt(self.D_Q)).softmax(-1)
        return A @ both[..., self.D_Q :], A


change(_PlainInit, "SharedIfEqual",
       "with D_Q equal to D_V both names hold one and the same layer, so keys and values cannot differ", "edge",
       after("super().__init__(D_X, D_Q, D_V)", """
        if D_Q == D_V:
            self.W_V = self.W_K"""))
change(_PlainInit, "Sequentials",
       "W_K and W_V are nn.Sequential of one linear layer each, so that W_K.weight does not exist", "module",
       after("super().__init__(D_X, D_Q, D_V)",
             "self.W_K, self.W_V = nn.Sequential(self.W_K), nn.Sequential(self.W_V)"))


@wrong("the layers are nn.Conv1d of kernel 1 and not nn.Linear, so that their weights have the shape"
       " [out, in, 1]", kind="module")
class Convolutions(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K, self.W_V = nn.Conv1d(D_X, D_Q, 1, bias=False), nn.Conv1d(D_X, D_V, 1, bias=False)

    def forward(self, Q, X):
        x = X.reshape(-1, *X.shape[-2:]).mT
        K = self.W_K(x).reshape(*X.shape[:-2], -1, X.shape[-2])
        V = self.W_V(x).reshape(*X.shape[:-2], -1, X.shape[-2])
        A = (Q @ K / math.sqrt(Q.shape[-1])).softmax(-1)
        return A @ V.mT, A


@wrong("the layers lie in a plain list behind properties, so that they are no submodules: parameters() is empty, .to()"
       " and .double() do not reach them", kind="module")
class HiddenInAList(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.layers = [nn.Linear(D_X, D_Q, bias=False), nn.Linear(D_X, D_V, bias=False)]

    W_K = property(lambda self: self.layers[0])
    W_V = property(lambda self: self.layers[1])

    def forward(self, Q, X):
        A = (Q @ self.W_K(X).mT / math.sqrt(Q.shape[-1])).softmax(-1)
        return A @ self.W_V(X), A


@wrong("new layers with identity weights are made in every forward: what has been learnt or set is lost at each call",
       kind="module")
class NewLayersEachTime(_Base):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.widths = D_X, D_Q, D_V

    def forward(self, Q, X):
        D_X, D_Q, D_V = self.widths
        self.W_K = nn.Linear(D_X, D_Q, bias=False, dtype=Q.dtype, device=Q.device)
        self.W_V = nn.Linear(D_X, D_V, bias=False, dtype=Q.dtype, device=Q.device)
        nn.init.eye_(self.W_K.weight)
        nn.init.eye_(self.W_V.weight)
        return super().forward(Q, X)


@wrong("the layers are made in the first forward: before it there is no W_K and no W_V, nor any parameter",
       kind="module")
class LayersAtFirstUse(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.widths = D_X, D_Q, D_V

    def forward(self, Q, X):
        if not hasattr(self, "W_K"):
            D_X, D_Q, D_V = self.widths
            self.W_K = nn.Linear(D_X, D_Q, bias=False, dtype=Q.dtype, device=Q.device)
            self.W_V = nn.Linear(D_X, D_V, bias=False, dtype=Q.dtype, device=Q.device)
        A = (Q @ self.W_K(X).mT / math.sqrt(Q.shape[-1])).softmax(-1)
        return A @ self.W_V(X), A


@wrong("forward uses a transposed copy of W_K's weight made in __init__, so that weights set or learnt later change"
       " no scores", kind="module")
class CopyOfTheKeyMatrix(_Base):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.register_buffer("turned", self.W_K.weight.detach().t().clone(), persistent=False)

    def scores(self, Q, X):
        return Q @ (X @ self.turned).mT / math.sqrt(Q.shape[-1])


@wrong("forward runs through deep copies of both layers, further parameters beside W_K and W_V, which take no part",
       kind="module")
class DeepCopies(_Base):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.used = nn.ModuleList([copy.deepcopy(self.W_K), copy.deepcopy(self.W_V)])

    def forward(self, Q, X):
        A = (Q @ self.used[0](X).mT / math.sqrt(Q.shape[-1])).softmax(-1)
        return A @ self.used[1](X), A


change(_PlainInit, "FrozenKeys", "W_K is frozen (requires_grad False): no gradient reaches it", "gradient",
       after("super().__init__(D_X, D_Q, D_V)", "self.W_K.requires_grad_(False)"))


# Right, and not registered: answers below are changes of it.
class _PlainForward(_Base):
    def forward(self, Q, X):
        return super().forward(Q, X)


change(_PlainForward, "ClampsItsWeights",
       "forward clamps the value matrix to [-0.5, 0.5] in place, which changes the parameter", "module",
       before("return", """
        with torch.no_grad():
            self.W_V.weight.clamp_(-0.5, 0.5)"""))
change(_Base.scores, "UnitRows", "the rows of the key matrix are scaled to length 1 at each use", "module",
       ("self.W_K(X).mT", "F.linear(X, F.normalize(self.W_K.weight, dim=1)).mT"))
change(_PlainInit, "DoubleLayers",
       "both layers are made in double precision, so that a model and inputs in single precision do not fit", "module",
       after("super().__init__(D_X, D_Q, D_V)", "self.double()"))


@wrong("a dropout of one tenth on the weights, active in training mode", kind="module")
class DropoutInTraining(_Base):
    def forward(self, Q, X):
        A = self.scores(Q, X).softmax(-1)
        if self.training:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(1)
                A = A * (torch.rand(A.shape) > 0.1).to(A) / 0.9
        return self.both(A, X)


@wrong("in training mode only the outputs are given back, without the weights", kind="module")
class OutputsOnlyInTraining(_Base):
    def forward(self, Q, X):
        Y, A = super().forward(Q, X)
        return Y if self.training else (Y, A)


@wrong("in eval mode the weights are one-hot at the best data vector, not a softmax", kind="module")
class HardInEval(_Base):
    def forward(self, Q, X):
        E = self.scores(Q, X)
        A = E.softmax(-1)
        return self.both(A if self.training else F.one_hot(E.argmax(-1), E.shape[-1]).to(A) + 0 * A, X)


@wrong("the keys go through a batch normalisation (without parameters, with running statistics), which changes the"
       " weights, in training and in eval mode differently", kind="module")
class BatchNormalisedKeys(_Base):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.norm = nn.BatchNorm1d(D_Q, affine=False)

    def scores(self, Q, X):
        K = self.W_K(X)
        K = self.norm(K.reshape(-1, K.shape[-1])).reshape(K.shape) if K.numel() > K.shape[-1] else K
        return Q @ K.mT / math.sqrt(Q.shape[-1])


# -------------------------------------------------------------------------------------------------------------- concept


@wrong("where D_Q equals D_V the layers' parts are exchanged: W_V makes the keys and W_K the values; right for other"
       " widths", kind="edge")
class KeysAndValuesExchanged(_Base):
    def forward(self, Q, X):
        K, V = self.W_K(X), self.W_V(X)
        if K.shape[-1] == V.shape[-1]:
            K, V = V, K
        A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(-1)
        return A @ V, A


change(_Base.both, "MixesTheKeys", "the keys are mixed into the outputs, and W_V is never used", "concept",
       (".W_V(X)", ".W_K(X)"))
change(_Base.both, "ValuesFromKeys",
       "the values are made from the keys, W_V(W_K(X)), where the widths D_Q and D_X are equal", "edge",
       before("return", "K = self.W_K(X)"), (".W_V(X)", ".W_V(K if K.shape[-1] == X.shape[-1] else X)"))


@wrong("square weights are applied without the transpose, X @ weight: wrong where D_X equals D_Q", kind="edge")
class SquareWeightsNotTransposed(_Base):
    def scores(self, Q, X):
        square = self.W_K.weight.shape[0] == self.W_K.weight.shape[1]
        return Q @ (X @ self.W_K.weight if square else self.W_K(X)).mT / math.sqrt(Q.shape[-1])


change(_Base.scores, "RootOfTheDataWidth",
       "the scores are divided by the root of D_X, the data's width, not of D_Q", "concept",
       ("Q.shape[-1]", "X.shape[-1]"))
change(_Base.scores, "RootOfTheValueWidth",
       "the scores are divided by the root of D_V, the values' width, not of D_Q", "concept",
       ("Q.shape[-1]", "self.W_V.out_features"))
change(_Base.scores, "NotScaled", "the scores are not scaled", "concept",
       (".mT / math.sqrt(Q.shape[-1])", ".mT"))
change(_Base.scores, "DividedByTheWidth", "the scores are divided by D_Q without the root", "concept",
       ("math.sqrt(Q.shape[-1])", "Q.shape[-1]"))


@wrong("the scores are scaled twice: queries and keys are both divided by the root of D_Q", kind="concept")
class ScaledTwice(_Base):
    def scores(self, Q, X):
        root = math.sqrt(Q.shape[-1])
        return (Q / root) @ (self.W_K(X) / root).mT


change(_Base.forward, "SoftmaxOverQueries",
       "the softmax runs over the queries, so that columns sum to 1 and not rows", "concept",
       (".softmax(-1)", ".softmax(-2)"))
change(_Base.scores, "TanhOfTheKeys", "the keys go through a tanh", "concept",
       (".mT / math.sqrt(Q.shape[-1])", ".tanh().mT / math.sqrt(Q.shape[-1])"))
change(_Base.both, "ReluOfTheOutputs", "the outputs go through a relu", "concept",
       ("A @ self.W_V(X)", "(A @ self.W_V(X)).relu()"))
change(OutputsOnlyInTraining, "ResidualIfItFits",
       "where D_V equals D_Q the queries are added to the outputs as a residual", "edge",
       ("return Y if self.training else (Y, A)", "return (Y + Q if Y.shape[-1] == Q.shape[-1] else Y), A"))


@wrong("where D_Q is even it is two heads: scores of each half of the width, their two softmaxes averaged",
       kind="concept")
class TwoHeads(_Base):
    def forward(self, Q, X):
        K = self.W_K(X)
        n = 2 if K.shape[-1] % 2 == 0 else 1
        parts = zip(Q.chunk(n, -1), K.chunk(n, -1))
        A = sum((q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) for q, k in parts) / n
        return self.both(A, X)


change(_Base.forward, "WrongRootAndAxis",
       "two mistakes: the scores are divided by the root of D_X, and the softmax runs over the queries", "concept",
       ("self.scores(Q, X).softmax(-1)", "(Q @ self.W_K(X).mT / math.sqrt(X.shape[-1])).softmax(-2)"))


@wrong("two mistakes: W_V has a bias, and the scores are not scaled", kind="module")
class BiasAndNoScale(_Base):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.W_V = nn.Linear(D_X, D_V)

    def scores(self, Q, X):
        return Q @ self.W_K(X).mT


@wrong("two mistakes: the weights come first and the outputs second, and the scores are negated", kind="concept")
class NegatedAndSwapped(_Base):
    def forward(self, Q, X):
        A = (-self.scores(Q, X)).softmax(-1)
        return A, A @ self.W_V(X)


@wrong("a causal mask: query i sees only data vectors 0 to i", kind="concept")
class Causal(_Base):
    def scores(self, Q, X):
        E = super().scores(Q, X)
        return E.masked_fill(torch.ones_like(E).triu(1).bool(), -math.inf)


@wrong("data vectors that are all zeros are taken for padding and hidden by a score of -1e9", kind="concept")
class ZerosArePadding(_Base):
    def scores(self, Q, X):
        return super().scores(Q, X).masked_fill((X == 0).all(-1)[..., None, :], -1e9)


# ------------------------------------------------------------------------------------------------------------- numerics


change(_Base.forward, "ExpWithoutMaximum",
       "exp of the scores without subtracting a maximum: nan for scores above 88 in single precision", "numerics",
       before("return", "P = self.scores(Q, X).exp()"),
       ("self.scores(Q, X).softmax(-1)", "P / P.sum(-1, keepdim=True)"))


@wrong("one maximum for the whole batch: rows whose scores all lie far below it become 0 / 0", kind="numerics")
class OneMaximum(_Base):
    def forward(self, Q, X):
        E = self.scores(Q, X)
        P = (E - E.max()).exp()
        return self.both(P / P.sum(-1, keepdim=True), X)


change(OneMaximum, "AbsoluteMaximum", "the largest absolute score is subtracted, not the largest score: a row of "
       "scores far below 0 becomes 0 / 0", "numerics",
       ("E.max()", "E.abs().amax(-1, keepdim=True)"))
change(_PlainForward, "EpsilonForMaximum", "scores are cut at 80 and no maximum is subtracted; 1e-8 is added to the "
       "sum: scores above 80 become ties, and rows of scores below some -15 get weights that sum to less than "
       "1", "numerics",
       ("return super().forward(Q, X)", """
        P = self.scores(Q, X).clamp(max=80).exp()
        return self.both(P / (P.sum(-1, keepdim=True) + 1e-8), X)"""))
change(_Base.forward, "ClampedWeights", "weights are clamped to [1e-4, 1 - 1e-4]: rows do not sum to 1, and at the "
       "ends there is no gradient", "numerics",
       (".softmax(-1)", ".softmax(-1).clamp(1e-4, 1 - 1e-4)"))
change(_Base.scores, "Bfloat16Scores", "keys and queries are cast to bfloat16 for the scores, which keeps two to three "
       "digits of float32 or float64", "numerics",
       before("return", "E = Q.to(torch.bfloat16) @ self.W_K(X).to(torch.bfloat16).mT"),
       ("Q @ self.W_K(X).mT", "E.to(Q.dtype)"))
change(_Base.forward, "SinglePrecisionSoftmax",
       "the softmax is taken in float32 and cast back, so that double has some six digits", "numerics",
       (".softmax(-1)", ".float().softmax(-1).to(Q.dtype)"), verdict="open")
change(_Base.forward, "ExpOfLog",
       "the weights are exp(log(softmax)): where one underflows to 0 gradients become nan", "gradient",
       (".softmax(-1)", ".softmax(-1).log().exp()"))


@wrong("only the ten best data vectors keep their weights, renormalised: wrong from eleven data vectors on",
       kind="numerics")
class TopTen(_Base):
    def scores(self, Q, X):
        E = super().scores(Q, X)
        if E.shape[-1] > 10:
            E = E.masked_fill(E < E.topk(10, -1).values[..., -1:], -math.inf)
        return E


# --------------------------------------------------------------------------------------------------------------- layout


change(_Base.scores, "TransposesOneAndTwo", "K.transpose(1, 2) takes exactly one batch axis for granted: raises with "
       "none, swaps wrong axes with more", "layout",
       (".mT", ".transpose(1, 2)"))


@wrong("einsum with the letters b, i, j, d: only one batch axis is possible, none or several raise", kind="layout")
class EinsumWithOneBatchAxis(_Base):
    def forward(self, Q, X):
        A = (torch.einsum("bid,bjd->bij", Q, self.W_K(X)) / math.sqrt(Q.shape[-1])).softmax(-1)
        return torch.einsum("bij,bjv->biv", A, self.W_V(X)), A


@wrong("X.view joins data vectors before the layers, which raises for transposed or permuted data", kind="layout")
class ViewsTheData(_Base):
    def forward(self, Q, X):
        flat = X.view(-1, X.shape[-1])
        K, V = (layer(flat).view(*X.shape[:-1], -1) for layer in (self.W_K, self.W_V))
        A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(-1)
        return A @ V, A


change(OutputsOnlyInTraining, "Squeezed",
       "squeeze() without an axis on both results: every axis of size 1 is lost", "layout",
       ("Y if self.training else (Y, A)", "Y.squeeze(), A.squeeze()"))
change(_PlainForward, "JoinedForGood", "batch axes are joined and only one is put back: with several the results are "
       "[B1*B2, ...], with none [1, ...]", "layout",
       (".forward(Q, X)", ".forward(Q.reshape(-1, *Q.shape[-2:]), X.reshape(-1, *X.shape[-2:]))"))


# ------------------------------------------------------------------------------------------------------------- gradient


change(_Base.scores, "DataOfTheKeyMatrix",
       "the key matrix is used as weight.data, so that W_K gets no gradient", "gradient",
       ("self.W_K(X).mT", "F.linear(X, self.W_K.weight.data).mT"))
change(_Base.both, "DetachedValues",
       "the values are detached, so that W_V gets no gradient and X one through the keys only", "gradient",
       ("self.W_V(X)", "self.W_V(X).detach()"))
change(_Base.both, "DetachedWeights", "the weights are detached before they mix the values, so that the outputs give "
       "W_K and Q no gradient", "gradient",
       ("return A", "return A.detach()"))
change(OutputsOnlyInTraining, "DetachedAtTheEnd",
       "the returned weights are detached, so that nothing flows back from A", "gradient",
       ("Y if self.training else (Y, A)", "Y, A.detach()"), verdict="open")


@wrong("the data are detached on their way to the keys, so that X gets no gradient from the scores",
       kind="gradient")
class DataDetachedForTheKeys(_Base):
    def scores(self, Q, X):
        return super().scores(Q, X.detach())


@wrong("in eval mode forward runs under no_grad, so that no gradient flows there", kind="gradient")
class NoGradInEval(_Base):
    def forward(self, Q, X):
        with torch.set_grad_enabled(self.training and torch.is_grad_enabled()):
            return super().forward(Q, X)


@wrong("the scores are rebuilt by torch.tensor from a list, so that Q and W_K get no gradient", kind="gradient")
class RebuiltScores(_Base):
    def scores(self, Q, X):
        E = super().scores(Q, X)
        return torch.tensor(E.tolist(), dtype=E.dtype, device=E.device)


# ------------------------------------------------------------------------------------------------ process and interface


@wrong("the outputs come from torch's scaled_dot_product_attention, which the text forbids", kind="process")
class TorchDoesIt(_Base):
    def forward(self, Q, X):
        A = self.scores(Q, X).softmax(-1)
        return F.scaled_dot_product_attention(Q, self.W_K(X), self.W_V(X)), A


@wrong("Q is divided by the root of its width in place, which changes the caller's tensor", kind="interface")
class ScalesQInPlace(_Base):
    def scores(self, Q, X):
        return Q.div_(math.sqrt(Q.shape[-1])) @ self.W_K(X).mT


@wrong("keys and values are kept from the first call and used again, detached, for other data of the same shape",
       kind="interface")
class KeepsKeysAndValues(_Base):
    def forward(self, Q, X):
        if getattr(self, "kept_shape", None) != (X.shape, X.dtype):
            self.kept_shape, self.kept = (X.shape, X.dtype), (self.W_K(X).detach(), self.W_V(X).detach())
            K, V = self.W_K(X), self.W_V(X)
        else:
            K, V = self.kept
        A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(-1)
        return A @ V, A


@wrong("the temperature follows a running mean of the scores' size over calls, so that each call changes the next",
       kind="interface")
class RunningTemperature(_Base):
    size = 1.0

    def forward(self, Q, X):
        E = self.scores(Q, X)
        A = (E / self.size).softmax(-1)
        self.size = 0.9 * self.size + 0.1 * E.detach().abs().mean().item()
        return self.both(A, X)


change(_PlainInit, "OtherOrderOfWidths",
       "the arguments of __init__ come in the order D_Q, D_X, D_V: by position D_X and D_Q are exchanged", "interface",
       ("self, D_X, D_Q", "self, D_Q, D_X"))


@right("the arguments of __init__ are named d_x, d_q and d_v, so that D_X= by keyword raises")
class LowercaseWidths(_Base):
    def __init__(self, d_x, d_q, d_v):
        super().__init__(d_x, d_q, d_v)


change(_PlainForward, "DataFirst",
       "forward takes X first and Q second, so that by position the two are exchanged", "interface",
       ("self, Q, X", "self, X, Q"))


@right("forward names its arguments queries and data, so that Q= and X= by keyword raise")
class OtherArguments(_Base):
    def forward(self, queries, data):
        return super().forward(queries, data)


change(_PlainForward, "WeightsFirst", "the weights come first and the outputs second", "interface",
       ("super().forward(Q, X)", "super().forward(Q, X)[::-1]"))
change(OutputsOnlyInTraining, "ADictionary",
       "the results are a dictionary with the keys Y and A, not a pair", "interface",
       ("return Y if self.training else (Y, A)", 'return {"Y": Y, "A": A}'))


@wrong("the outputs are summed in torch.zeros without dtype and come back as float32 for double and bfloat16",
       kind="interface")
class ZerosWithoutDtype(_Base):
    def both(self, A, X):
        V = self.W_V(X)
        Y = torch.zeros(*A.shape[:-1], V.shape[-1], device=V.device)
        for j in range(V.shape[-2]):
            Y += A[..., j, None] * V[..., j, None, :]
        return Y, A
