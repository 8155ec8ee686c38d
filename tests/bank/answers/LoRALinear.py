"""Test answers for LoRALinear (assignment 15): right ones in unusual styles, wrong ones with what is wrong about them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import after, before, change, left_open, right, wrong


class _Base(nn.Module):
    """The parameters as the text asks for them."""

    def __init__(self, D_in, D_out, r, alpha):
        super().__init__()
        self.linear = nn.Linear(D_in, D_out).requires_grad_(False)
        self.A = nn.Parameter(torch.randn(r, D_in) / math.sqrt(D_in))
        self.B = nn.Parameter(torch.zeros(D_out, r))
        self.scale = alpha / r


class _Whole(_Base):
    """The right computation, for answers whose parameters are what is wrong or unusual."""

    def forward(self, X):
        return self.linear(X) + self.scale * (X @ self.A.T @ self.B.T)


# -------------------------------------------------------------------------------------------------------------- right


@right("the formula as it stands, r read from A in forward")
class AsItStands(nn.Module):
    def __init__(self, D_in: int, D_out: int, r: int, alpha: float):
        super().__init__()
        self.alpha = alpha
        self.linear = nn.Linear(D_in, D_out)
        self.linear.weight.requires_grad = False
        self.linear.bias.requires_grad = False
        self.A = nn.Parameter(torch.empty(r, D_in))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.B = nn.Parameter(torch.zeros(D_out, r))

    def forward(self, X):
        return X @ self.linear.weight.T + self.linear.bias + self.alpha / len(self.A) * ((X @ self.A.T) @ self.B.T)


@right("F.linear twice, the factor on the r numbers in the middle")
class FactorInTheMiddle(_Base):
    def forward(self, X):
        return self.linear(X) + F.linear(self.scale * F.linear(X, self.A), self.B)


@right("einsum, one product after the other")
class Einsum(_Base):
    def forward(self, X):
        down = torch.einsum("...i,ri->...r", X, self.A)
        up = torch.einsum("...r,or->...o", down, self.B)
        return torch.add(self.linear(X), up, alpha=self.scale)


@right("parameters taken from nn.Linear layers that are thrown away, B filled with zeros")
class BorrowedParameters(nn.Module):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__()
        self.r, self.alpha = r, alpha
        self.linear = nn.Linear(D_in, D_out)
        for parameter in self.linear.parameters():
            parameter.requires_grad_(False)
        self.A = nn.Linear(D_in, r, bias=False).weight
        self.B = nn.Linear(r, D_out, bias=False).weight
        nn.init.zeros_(self.B)

    def forward(self, X):
        factor = self.alpha / self.r
        return factor * F.linear(F.linear(X, self.A), self.B) + self.linear(X)


@right("rows flattened, torch.addmm adds the update to the frozen layer's result")
class Addmm(_Base):
    def forward(self, X):
        rows = X.reshape(-1, X.shape[-1])
        Y = torch.addmm(self.linear(rows), rows @ self.A.mT, self.B.mT, alpha=self.scale)
        return Y.reshape(*X.shape[:-1], Y.shape[-1])


@right("one rank at a time: the update is a sum of outer products of vectors")
class RankByRank(_Base):
    def forward(self, X):
        update = 0
        for a, b in zip(self.A, self.B.unbind(1)):
            update = update + (X * a).sum(-1, keepdim=True) * b
        return self.linear(X) + self.scale * update


@right("one position at a time, each by vectors")
class PositionByPosition(_Base):
    def _one(self, x):
        return self.linear(x) + self.scale * (self.B @ (self.A @ x))

    def forward(self, X):
        rows = [self._one(x) for x in X.reshape(-1, X.shape[-1])]
        return torch.stack(rows).reshape(X.shape[:-1] + (self.linear.out_features,))


@right("calls itself for each entry of the first axis until a vector is left")
class Recursive(_Base):
    def forward(self, X):
        if X.dim() == 1:
            return self.linear(X) + self.B.mv(self.A.mv(X)) * self.scale
        return torch.stack([self(part) for part in X])


@right("the frozen layer's result is overwritten in place, no input is")
class InPlaceResult(_Base):
    def forward(self, X):
        Y = self.linear(X)
        Y += (X @ self.A.t() @ self.B.t()).mul_(self.scale)
        return Y


@right("features in front: the matrices act from the left, the result is a transposed view")
class FeaturesFirst(_Base):
    def forward(self, X):
        columns = X.reshape(-1, X.shape[-1]).T
        Y = self.linear.weight @ columns + self.scale * (self.B @ (self.A @ columns))
        return (
            (Y + self.linear.bias[:, None]).T.unflatten(0, X.shape[:-1]) if X.dim() > 1 else Y[:, 0] + self.linear.bias
        )


class _LowRank(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(rows, A, B, scale):
        return (rows @ A.T @ B.T) * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        rows, A, B, ctx.scale = inputs
        ctx.save_for_backward(rows, A, B)

    @staticmethod
    def backward(ctx, gradient):
        rows, A, B = ctx.saved_tensors
        gradient = gradient * ctx.scale
        return gradient @ B @ A, (gradient @ B).T @ rows, gradient.T @ (rows @ A.T), None


@right("the update as a torch.autograd.Function with its own derivatives")
class OwnDerivatives(_Base):
    def forward(self, X):
        rows = X.reshape(-1, X.shape[-1])
        update = _LowRank.apply(rows, self.A, self.B, self.scale)
        return self.linear(X) + update.reshape(X.shape[:-1] + update.shape[-1:])


@right("the features of the result in slices: a few rows of W and of B at a time")
class SlicesOfTheResult(_Base):
    def forward(self, X):
        down, parts = X @ self.A.T, []
        for w, b, B in zip(self.linear.weight.split(7), self.linear.bias.split(7), self.B.split(7)):
            parts.append(F.linear(X, w, b) + self.scale * F.linear(down, B))
        return torch.cat(parts, dim=-1)


@right(
    "A uniform between -1 and 1, registered by register_parameter; the factor is a property; a no_grad block freezes nothing"
)
class Registered(nn.Module):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__()
        self.add_module("linear", nn.Linear(D_in, D_out))
        self.linear.weight, self.linear.bias = (
            nn.Parameter(p.detach().clone(), requires_grad=False) for p in (self.linear.weight, self.linear.bias)
        )
        self.register_parameter("A", nn.Parameter(2 * torch.rand(r, D_in) - 1))
        self.register_parameter("B", nn.Parameter(torch.zeros(r, D_out).T))
        self.alpha = alpha

    @property
    def factor(self):
        return self.alpha / self.A.size(0)

    def forward(self, X):
        bottleneck = torch.tensordot(X, self.A, dims=([-1], [1]))
        return torch.tensordot(bottleneck, self.B, dims=([-1], [1])) * self.factor + self.linear(X)


# Right, and not registered: answers below are changes of it.
class _PlainInit(_Whole):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)


# ---------------------------------------------------------------------------------------------------------- left open


change(_PlainInit, "Seeded",
       "the constructor seeds torch's generator with 0, so that all layers of one size begin with the same A", "module",
       after("super().__init__(D_in, D_out, r, alpha)", """
        torch.manual_seed(0)
        with torch.no_grad():
            self.A.normal_()"""), verdict="open")


@left_open("alpha/r is kept as a float64 buffer: no parameter, but an entry of the state_dict", kind="module")
class FactorAsBuffer(_Base):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        self.register_buffer("factor", torch.tensor(alpha / r, dtype=torch.float64))

    def forward(self, X):
        return self.linear(X) + self.factor.to(X.dtype) * (X @ self.A.T @ self.B.T)


# ----------------------------------------------------------------------------------------------------- wrong: concept


change(_PlainInit, "RootOfTheRank", "the factor is alpha/sqrt(r), as in rsLoRA, instead of alpha/r", "concept",
       after("super().__init__(D_in, D_out, r, alpha)", "self.scale = alpha / math.sqrt(r)"))
change(_PlainInit, "OnlyAlpha", "the factor is alpha; it is not divided by r", "concept",
       after("super().__init__(D_in, D_out, r, alpha)", "self.scale = alpha"))


@wrong("the factor alpha/r multiplies the frozen layer's result too", kind="concept")
class FactorOnBoth(_Base):
    def forward(self, X):
        return self.scale * (self.linear(X) + X @ self.A.T @ self.B.T)


change(FactorInTheMiddle, "FactorTwice", "alpha/r is applied to A and to B, so that it counts squared", "concept",
       ("self.scale * F.linear(X, self.A), self.B", "F.linear(X, self.scale * self.A), self.scale * self.B"))


# Right, and not registered: answers below are changes of it.
class _PlainForward(_Base):
    def forward(self, X):
        return self.linear(X) + self.scale * (X @ self.A.T @ self.B.T)


change(_PlainForward, "NoBiasUsed", "the bias is missing: only the weight of self.linear is used", "concept",
       ("self.linear(X)", "X @ self.linear.weight.T"))
change(_PlainForward, "ReluInTheMiddle", "a ReLU stands between A and B, as in an adapter layer", "concept",
       ("X @ self.A.T", "F.relu(X @ self.A.T)"))
change(_PlainForward, "OneUpdateForAll",
       "the update is one for the whole batch: X is averaged over all positions before A", "concept",
       before("return", "mean = X.reshape(-1, X.shape[-1]).mean(0)"), ("X @ self.A.T", "mean @ self.A.T"))


@wrong("alpha/r only scales how A begins; forward has no factor", kind="concept")
class FactorInTheBeginning(_Base):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        with torch.no_grad():
            self.A.mul_(alpha / r)

    def forward(self, X):
        return self.linear(X) + X @ self.A.T @ self.B.T


# ------------------------------------------------------------------------------------------------------- wrong: shape


change(_PlainForward, "Reshaped", "B is reshaped to [r, D_out] instead of transposed", "shape",
       ("self.B.T", "self.B.reshape(self.B.shape[::-1])"))


@wrong("axes of size 1 are squeezed away from the result", kind="shape")
class Squeezed(_Whole):
    def forward(self, X):
        return super().forward(X).squeeze()


@wrong("einsum with exactly the axes b, n and d: X with more or fewer axes in front fails", kind="shape")
class ThreeAxes(_Base):
    def forward(self, X):
        down = torch.einsum("bnd,rd->bnr", X, self.A)
        return self.linear(X) + self.scale * torch.einsum("bnr,or->bno", down, self.B)


@wrong("a single vector comes back as [1, D_out]: no axes in front were not thought of", kind="edge")
class VectorAsRow(_Whole):
    def forward(self, X):
        return super().forward(torch.atleast_2d(X))


change(_PlainForward, "RankOneSqueezed", "A.squeeze() and B.squeeze(): with r = 1 (or D_in or D_out = 1) the products "
       "fail or mean something else", "edge",
       (".T @ self.B.T", ".squeeze().T @ self.B.squeeze().T"))
change(Squeezed, "Flat", "all axes in front come back as one: Y is [positions, D_out]", "shape",
       (".forward(X).squeeze()", ".forward(X.reshape(-1, X.shape[-1]))"))
change(Squeezed, "ByView", "X.view(-1, D_in) fails for inputs that are no contiguous block", "layout",
       (".forward(X).squeeze()", ".forward(X.view(-1, X.shape[-1])).view(*X.shape[:-1], -1)"))


# ----------------------------------------------------------------------------------- wrong: what is made on the way


change(_PlainForward, "ProductOfBoth", "B A is made in forward, a matrix as large as W", "process",
       ("self.A.T @ self.B.T", "(self.B @ self.A).T"))


@wrong("W + alpha/r B A is made in forward, and the layer called with it", kind="process")
class MergedInForward(_Base):
    def forward(self, X):
        return F.linear(X, torch.addmm(self.linear.weight, self.B, self.A, alpha=self.scale), self.linear.bias)


@wrong("W and B are joined side by side into a matrix larger than W", kind="process")
class JoinedSideBySide(_Base):
    def forward(self, X):
        longer = torch.cat([X, self.scale * (X @ self.A.T)], dim=-1)
        return F.linear(longer, torch.cat([self.linear.weight, self.B], dim=1), self.linear.bias)


change(_PlainForward, "TransposedCopy", "a transposed copy of W is made in every forward", "process",
       before("return", "W_T = self.linear.weight.T.clone(memory_format=torch.contiguous_format)"),
       ("self.linear(X)", "X @ W_T + self.linear.bias"))
change(_PlainForward, "OrderLeftToMultiDot", "multi_dot chooses the order of the products: B A is made only where r > "
       "D_in D_out/(D_in + D_out), so that A and B together are larger than W, and the update is not of low "
       "rank", "process",
       before("return", """
        rows = X.reshape(-1, X.shape[-1])
        update = torch.linalg.multi_dot([rows, self.A.T, self.B.T])"""),
       ("(X @ self.A.T @ self.B.T)", "update.reshape(*X.shape[:-1], -1)"), verdict="open")


@wrong(
    "eval() merges the update into the frozen weight and forward leaves it out: weights that are set in eval mode, and "
    "gradients of A and B, are lost",
    kind="process",
)
class MergedInEval(_Base):
    merged = False

    def train(self, mode=True):
        super().train(mode)
        if self.merged == mode:
            sign = -1 if mode else 1
            self.linear.weight.data += sign * self.scale * (self.B.data @ self.A.data)
            self.merged = not mode
        return self

    def forward(self, X):
        if self.merged:
            return self.linear(X)
        return self.linear(X) + self.scale * (X @ self.A.T @ self.B.T)


@wrong("X is multiplied by alpha/r in place, after the frozen layer has read it", kind="process")
class InputScaledInPlace(_Base):
    def forward(self, X):
        Y = self.linear(X)
        X.data *= self.scale
        return Y + X @ self.A.T @ self.B.T


@wrong("alpha/r B is kept from the first call: weights that are set later do not count", kind="process")
class KeptFromTheFirstCall(_Base):
    def forward(self, X):
        if not hasattr(self, "_up"):
            self._up = self.scale * self.B.T
        return self.linear(X) + X @ self.A.T @ self._up


change(_PlainForward, "StoredBScaled",
       "every call multiplies the stored B by alpha/r, so that later calls differ", "process",
       before("return", "self.B.data.mul_(self.scale)"),
       ("self.scale * (X @ self.A.T @ self.B.T)", "X @ self.A.T @ self.B.T"))
change(_PlainForward, "Dropout",
       "dropout of a tenth of X on the way to A: training mode gives random results", "process",
       ("X @ self.A.T", "F.dropout(X, 0.1, self.training) @ self.A.T"))


# ---------------------------------------------------------------------------------------------------- wrong: gradient


@wrong("the frozen layer is called under no_grad: X gets gradients from the update alone", kind="gradient")
class FrozenUnderNoGrad(_Base):
    def forward(self, X):
        with torch.no_grad():
            Y = self.linear(X)
        return Y + self.scale * (X @ self.A.T @ self.B.T)


change(FactorInTheMiddle, "UpdateOfDetached", "the update reads X.detach(): X gets no gradient from it", "gradient",
       ("F.linear(self.scale * F.linear(X, self.A), self.B)", "self.scale * (X.detach() @ self.A.T @ self.B.T)"))
change(_PlainForward, "DataOfA", "A.data is used, so that A never learns", "gradient",
       (".T @ self.B.T", ".data.T @ self.B.T"))


@wrong(
    "where B holds zeros only, the frozen layer's result comes back alone: B gets no gradient and never begins to learn",
    kind="gradient",
)
class ShortcutForZeros(_Base):
    def forward(self, X):
        Y = self.linear(X)
        if not self.B.any():
            return Y
        return Y + self.scale * (X @ self.A.T @ self.B.T)


@wrong("the result is right, but the update's gradients lack the factor alpha/r", kind="gradient")
class GradientWithoutFactor(_Base):
    def forward(self, X):
        update = X @ self.A.T @ self.B.T
        return self.linear(X) + update + ((self.scale - 1) * update).detach()


# ------------------------------------------------------------------------------------------------------ wrong: module


change(_PlainInit, "EvalIsNotFrozen",
       "self.linear.eval() taken for freezing: its parameters still require gradients", "module",
       after("super().__init__(D_in, D_out, r, alpha)", "self.linear = nn.Linear(D_in, D_out).eval()"))
change(_PlainInit, "BiasNotFrozen", "only the weight of self.linear is frozen, its bias is not", "module",
       after("super().__init__(D_in, D_out, r, alpha)", "self.linear.bias.requires_grad_(True)"))
change(_PlainInit, "LinearWithoutBias", "self.linear has no bias", "module",
       after("super().__init__(D_in, D_out, r, alpha)",
             "self.linear = nn.Linear(D_in, D_out, bias=False).requires_grad_(False)"))
change(_PlainInit, "AllFrozen",
       "everything is frozen, A and B too: requires_grad is switched off for all parameters of the module", "module",
       after("super().__init__(D_in, D_out, r, alpha)", """
        for parameter in self.parameters():
            parameter.requires_grad = False"""))


@wrong("the layer is frozen by its first forward; a new one still requires gradients", kind="module")
class FrozenByForward(_Whole):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        self.linear = nn.Linear(D_in, D_out)

    def forward(self, X):
        self.linear.requires_grad_(False)
        return super().forward(X)


change(_PlainInit, "RandomB",
       "B begins with random numbers, so that a new layer does not give what self.linear gives", "module",
       after("super().__init__(D_in, D_out, r, alpha)", "nn.init.normal_(self.B, std=0.02)"))
change(_PlainInit, "SwappedBeginnings", "the beginnings are swapped: A holds zeros and B random numbers", "module",
       after("super().__init__(D_in, D_out, r, alpha)", """
        nn.init.zeros_(self.A)
        nn.init.normal_(self.B)"""))
change(_PlainInit, "BothZero", "A begins with zeros, as B does: neither can ever learn", "module",
       after("super().__init__(D_in, D_out, r, alpha)", "nn.init.zeros_(self.A)"))
change(_PlainInit, "AllAlike", "A begins with 1/sqrt(D_in) everywhere: all of its numbers are alike", "module",
       after("super().__init__(D_in, D_out, r, alpha)", "nn.init.constant_(self.A, D_in**-0.5)"))


@wrong("A is stored as [D_in, r] and B as [r, D_out], the other way round", kind="module")
class StoredTransposed(_Base):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        self.A = nn.Parameter(torch.randn(D_in, r) / math.sqrt(D_in))
        self.B = nn.Parameter(torch.zeros(r, D_out))

    def forward(self, X):
        return self.linear(X) + self.scale * (X @ self.A @ self.B)


@wrong("A and B are nn.Linear layers, not parameters", kind="module")
class LayersInsteadOfParameters(_Base):
    def __init__(self, D_in, D_out, r, alpha):
        nn.Module.__init__(self)
        self.linear = nn.Linear(D_in, D_out).requires_grad_(False)
        self.A, self.B = nn.Linear(D_in, r, bias=False), nn.Linear(r, D_out, bias=False)
        nn.init.zeros_(self.B.weight)
        self.scale = alpha / r

    def forward(self, X):
        return self.linear(X) + self.scale * self.B(self.A(X))


@wrong("A and B are plain tensors that require gradients: no optimizer finds them among the parameters", kind="module")
class PlainTensors(_Whole):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        del self.A, self.B
        self.A = (torch.randn(r, D_in) / math.sqrt(D_in)).requires_grad_()
        self.B = torch.zeros(D_out, r, requires_grad=True)


@wrong("alpha is a further parameter that learns", kind="module")
class AlphaLearns(_Base):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        self.alpha = nn.Parameter(torch.tensor(float(alpha)))

    def forward(self, X):
        return self.linear(X) + self.alpha / self.A.shape[0] * (X @ self.A.T @ self.B.T)


# ---------------------------------------------------------------------------------------------------- wrong: numerics


@right("alpha/r is kept as a float32 tensor: float64 results lose digits")
class FactorInFloat32(_Whole):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        self.scale = torch.tensor(alpha / r, dtype=torch.float32)


change(_PlainForward, "LengthOutAndIn", "X is divided by its length and the result multiplied by it again: 0/0 for a "
       "row of zeros, overflow for large numbers", "numerics",
       before("return", "length = X.square().sum(-1, keepdim=True).sqrt()"),
       ("(X @ self.A.T @ self.B.T)", "length * ((X / length) @ self.A.T @ self.B.T)"))
change(_PlainForward, "SmallCutOff", "numbers below 10^-6 in the update are cut off to 0", "numerics",
       ("(X @ self.A.T @ self.B.T)", "F.hardshrink(X @ self.A.T @ self.B.T, 1e-6)"))
change(_PlainForward, "UpdateInFloat32", "the update is computed in float32 and comes back in it: bfloat16 inputs give "
       "float32 results, float64 ones lose digits", "interface",
       ("X @ self.A.T @ self.B.T", "X.float() @ self.A.float().T @ self.B.float().T"))


# ---------------------------------------------------------------------------------------------- wrong: edge, interface


change(_PlainInit, "RankRefused", "the constructor refuses r that is not smaller than both widths", "edge",
       before("super().__init__(D_in, D_out, r, alpha)", """
        if r >= min(D_in, D_out):
            raise ValueError("the rank has to be lower than both widths")"""))
change(_PlainForward, "EightRanks", "no more than 8 ranks are used, whatever r is", "edge",
       (".A.T @ self.B.T", ".A[:8].T @ self.B[:, :8].T"))
change(_PlainInit, "WholeAlpha", "int(alpha) cuts off the fraction of an alpha that is not whole", "edge",
       (".__init__(D_in, D_out, r, alpha)", ".__init__(D_in, D_out, r, int(alpha))"))


@wrong("forward returns the result and the update as a pair", kind="interface")
class Pair(_Base):
    def forward(self, X):
        update = self.scale * (X @ self.A.T @ self.B.T)
        return self.linear(X) + update, update


change(_PlainInit, "AlphaBeforeRank",
       "the constructor's arguments stand in the order D_in, D_out, alpha, r", "interface",
       ("self, D_in, D_out, r, alpha", "self, D_in, D_out, alpha, r"))


@right("forward's argument is called x, so that X by name fails")
class OtherName(_Base):
    def forward(self, x):
        return self.linear(x) + self.scale * (x @ self.A.T @ self.B.T)


@wrong(
    "the update is added to torch.zeros of the default type and device: bfloat16 gives float32, other devices fail",
    kind="interface",
)
class ZerosWithoutType(_Base):
    def forward(self, X):
        update = torch.zeros(*X.shape[:-1], self.B.shape[0])
        update = update + self.scale * (X @ self.A.T @ self.B.T)
        return self.linear(X) + update


change(Squeezed, "Printed", "the result is printed, and None comes back", "interface",
       ("return super().forward(X).squeeze()", "print(super().forward(X).shape)"))


@wrong("the layer's parameters are detached in forward and not frozen: requires_grad is still True", kind="gradient")
class DetachedNotFrozen(nn.Module):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__()
        self.linear = nn.Linear(D_in, D_out)
        self.A = nn.Parameter(torch.randn(r, D_in) / math.sqrt(D_in))
        self.B = nn.Parameter(torch.zeros(D_out, r))
        self.scale = alpha / r

    def forward(self, X):
        frozen = F.linear(X, self.linear.weight.detach(), self.linear.bias.detach())
        return frozen + self.scale * (X @ self.A.T @ self.B.T)
