"""Test answers for SwiGLU (assignment 09): right ones in unusual styles, wrong ones with what is wrong about them."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import before, change, right, wrong


class _Base(nn.Module):
    """The three layers as the text asks for them."""

    def __init__(self, D, D_F):
        super().__init__()
        self.W_1 = nn.Linear(D, D_F, bias=False)
        self.W_2 = nn.Linear(D, D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D, bias=False)


# -------------------------------------------------------------------------------------------------------------- right


@right("F.silu, in one line")
class OneLine(nn.Module):
    def __init__(self, D: int, D_F: int):
        super().__init__()
        self.W_1, self.W_2 = (nn.Linear(D, D_F, bias=False) for _ in range(2))
        self.W_3 = nn.Linear(D_F, D, bias=False)

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@right("F.glu of the first projection beside itself, which is its SiLU")
class ByGlu(_Base):
    def forward(self, X):
        a, b = self.W_1(X), self.W_2(X)
        return self.W_3(b * F.glu(torch.cat((a, a), dim=-1), dim=-1))


@right("one matrix product with both weights side by side, joined anew in each call")
class JoinedWeights(_Base):
    def forward(self, X):
        both = F.linear(X, torch.cat([self.W_1.weight, self.W_2.weight]))
        first, second = both.tensor_split(2, dim=-1)
        return F.linear(second * F.silu(first), self.W_3.weight)


@right("einsum with the weights")
class Einsum(_Base):
    def forward(self, X):
        a = torch.einsum("...d,fd->...f", X, self.W_1.weight)
        b = torch.einsum("...d,fd->...f", X, self.W_2.weight)
        hidden = torch.einsum("...f,...f->...f", a.sigmoid() * a, b)
        return torch.einsum("...f,df->...d", hidden, self.W_3.weight)


@right("all positions flattened to rows, reshaped back at the end")
class Flattened(_Base):
    def forward(self, X):
        rows = X.reshape(-1, X.shape[-1])
        hidden = self.W_2(rows).mul(nn.functional.silu(self.W_1(rows)))
        return self.W_3(hidden).reshape(X.shape)


@right("features in front: the weights multiply from the left, torch.special.expit for the sigmoid")
class FeaturesFirst(_Base):
    def forward(self, X):
        columns = X.reshape(-1, X.size(-1)).mT
        a, b = self.W_1.weight @ columns, self.W_2.weight @ columns
        Y = self.W_3.weight @ (a * torch.special.expit(a) * b)
        return Y.mT.reshape(X.shape)


@right("activations overwritten in place, none of them an input")
class InPlaceActivation(_Base):
    def forward(self, X):
        hidden = F.silu(self.W_1(X), inplace=True)
        hidden = hidden * self.W_2(X)
        return self.W_3(hidden)


@right("nn.SiLU as a submodule without parameters, layers registered in a loop")
class Registered(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        for number, (come_in, go_out) in enumerate([(D, D_F), (D, D_F), (D_F, D)], start=1):
            self.add_module(f"W_{number}", nn.Linear(come_in, go_out, bias=False))
        self.activation = nn.SiLU()

    def forward(self, X):
        return self.W_3(torch.mul(self.W_2(X), self.activation(self.W_1(X))))


@right("one position at a time")
class PositionByPosition(_Base):
    def _one(self, x):
        a = x @ self.W_1.weight.T
        return (a * torch.sigmoid(a) * (x @ self.W_2.weight.T)) @ self.W_3.weight.T

    def forward(self, X):
        return torch.stack([self._one(x) for x in X.reshape(-1, X.shape[-1]).unbind(0)]).reshape(X.shape)


@right("one hidden unit at a time: the result is a sum of outer products")
class HiddenUnitByUnit(_Base):
    def forward(self, X):
        Y = torch.zeros_like(X)
        for w_1, w_2, w_3 in zip(self.W_1.weight, self.W_2.weight, self.W_3.weight.unbind(1)):
            a, b = (X * w_1).sum(-1, keepdim=True), (X * w_2).sum(-1, keepdim=True)
            Y = Y + F.silu(a) * b * w_3
        return Y


@right("calls itself for each entry of the first axis until a vector is left")
class Recursive(_Base):
    def forward(self, X):
        if X.dim() > 2:
            return torch.stack([self.forward(part) for part in X])
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


class _OwnSiLU(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * torch.sigmoid(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.sigmoid(x) * (1 + x * torch.sigmoid(-x))


@right("SiLU as a torch.autograd.Function with its exact derivative")
class OwnDerivative(_Base):
    def forward(self, X):
        return self.W_3(_OwnSiLU.apply(self.W_1(X)) * self.W_2(X))


@right("keeps both layers in a plain tuple beside their names, and the widths as attributes")
class TupleBeside(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, D_F)
        self.D, self.D_F = D, D_F

    @property
    def _pair(self):
        return self.W_1, self.W_2

    def forward(self, X):
        gate, value = (layer(X) for layer in self._pair)
        return self.W_3(torch.addcmul(torch.zeros_like(value), F.silu(gate), value))


@right("the hidden width in slices whose results are added")
class SlicesOfTheHiddenWidth(_Base):
    def forward(self, X):
        Y = 0
        width = self.W_1.out_features
        for start in range(0, width, 16):
            part = slice(start, min(start + 16, width))
            hidden = F.silu(X @ self.W_1.weight[part].mT) * (X @ self.W_2.weight[part].mT)
            Y = Y + hidden @ self.W_3.weight[:, part].mT
        return Y


# Right, and not registered: answers below are changes of it.
class _PlainForward(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


# ----------------------------------------------------------------------------------------------------- wrong: concept


change(_PlainForward, "SecondActivated", "SiLU acts on X W_2 instead of X W_1", "concept",
       ("F.silu(self.W_1(X)) * self.W_2(X)", "self.W_1(X) * F.silu(self.W_2(X))"))
change(_PlainForward, "BothActivated", "SiLU acts on both factors instead of on X W_1 alone", "concept",
       ("self.W_2(X)", "F.silu(self.W_2(X))"))
change(_PlainForward, "ProductActivated",
       "SiLU acts on the product of both projections instead of on X W_1 before the product", "concept",
       ("F.silu(self.W_1(X)) * self.W_2(X)", "F.silu(self.W_1(X) * self.W_2(X))"))
change(_PlainForward, "SigmoidGate", "the gate is sigmoid(X W_1): SiLU's factor X W_1 is missing", "concept",
       ("F.silu", "torch.sigmoid"))
change(_PlainForward, "GeluGate", "GELU in the place of SiLU", "concept",
       ("F.silu", "F.gelu"))
change(_PlainForward, "ReluGate", "ReLU in the place of SiLU", "concept",
       ("F.silu(self.W_1(X))", "self.W_1(X).relu()"))
change(_PlainForward, "Added", "both factors are added instead of multiplied", "concept",
       ("* self.W_2(X)", "+ self.W_2(X)"))
change(_PlainForward, "Residual", "X is added to the result", "concept",
       ("self.W_3", "X + self.W_3"))


@wrong("a second SiLU acts on the result of W_3", kind="concept")
class OutputActivated(_Base):
    def forward(self, X):
        return F.silu(self.W_3(F.silu(self.W_1(X)) * self.W_2(X)))


change(_PlainForward, "WithoutSecondFactor",
       "an ordinary MLP: the factor X W_2 is left out, and W_2 is never used", "concept",
       ("F.silu(self.W_1(X)) * self.W_2(X)", "F.silu(self.W_1(X))"))
change(_PlainForward, "FirstTwice",
       "the second factor is X W_1 again instead of X W_2, so W_2 is never used", "concept",
       before("return", "a = self.W_1(X)"), ("F.silu(self.W_1(X)) * self.W_2(X)", "F.silu(a) * a"))
change(_PlainForward, "QuickGelu", "the sigmoid is taken of 1.702 X W_1 instead of X W_1", "concept",
       before("return", "a = self.W_1(X)"), ("F.silu(self.W_1(X))", "a * torch.sigmoid(1.702 * a)"))
change(_PlainForward, "SignOfTheExponent", "the sigmoid is taken of -X W_1 instead of X W_1", "concept",
       before("return", "a = self.W_1(X)"), ("F.silu(self.W_1(X))", "a * torch.sigmoid(-a)"))
change(_PlainForward, "GluOfBoth",
       "F.glu in the wrong order and without SiLU's factor: X W_1 times the sigmoid of X W_2", "concept",
       ("F.silu(self.W_1(X)) * self.W_2(X)", "F.glu(torch.cat([self.W_1(X), self.W_2(X)], dim=-1))"))
change(_PlainForward, "NormalisedInput", "X is layer-normalised before the projections", "concept",
       before("return", "Z = F.layer_norm(X, X.shape[-1:])"),
       ("F.silu(self.W_1(X)) * self.W_2(X)", "F.silu(self.W_1(Z)) * self.W_2(Z)"))


# Right, and not registered: answers below are changes of it.
class _Plain(_Base):
    def forward(self, X):
        hidden = F.silu(self.W_1(X)) * self.W_2(X)
        return self.W_3(hidden)


change(_Plain, "NormalisedHidden", "the hidden layer is divided by its root mean square before W_3", "concept",
       (".W_3(hidden)", ".W_3(hidden * (hidden.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt())"))
change(_Plain, "Scaled", "the hidden layer is divided by the root of D_F", "concept",
       (".W_3(hidden)", ".W_3(hidden / math.sqrt(hidden.shape[-1]))"))
change(_PlainForward, "SoftmaxGate",
       "the gate is the softmax of X W_1 over the hidden width instead of its SiLU", "concept",
       ("F.silu(self.W_1(X))", "self.W_1(X).softmax(-1)"))
change(_PlainForward, "Hardswish", "hardswish, a piecewise approximation, in the place of SiLU", "concept",
       ("F.silu", "F.hardswish"))
change(_PlainForward, "ProductLast",
       "W_3 is applied to each factor by itself, and the results are multiplied afterwards", "concept",
       (".W_3(F.silu(self.W_1(X)) * self.W_2(X))", ".W_3(F.silu(self.W_1(X))) * self.W_3(self.W_2(X))"))
change(_PlainForward, "ActivatedBeforeProjection", "SiLU acts on X before W_1 instead of on X W_1", "concept",
       ("F.silu(self.W_1(X))", "self.W_1(F.silu(X))"))
change(_PlainForward, "OneGateForAll", "one gate for each position, the SiLU of the mean of X W_1 over the hidden "
       "width, instead of number by number", "concept",
       ("self.W_1(X)", "self.W_1(X).mean(-1, keepdim=True)"))
change(_PlainForward, "ActivatedTwice", "SiLU is applied twice in a row to X W_1", "concept",
       ("self.W_1(X)", "F.silu(self.W_1(X))"))
change(_PlainForward, "OnePlus", "the second factor is X W_2 + 1 instead of X W_2", "concept",
       ("self.W_2(X)", "(1 + self.W_2(X))"))


@wrong("the way back to D is the transpose of W_1's weight instead of W_3, which is never used", kind="concept")
class TiedBack(_Base):
    def forward(self, X):
        return (F.silu(self.W_1(X)) * self.W_2(X)) @ self.W_1.weight


change(_PlainForward, "SecondReadsTheFirst", "W_2 does not read X but the gate brought back to D by W_3: with G = "
       "SiLU(X W_1), Y = (G * (G W_3) W_2) W_3", "concept",
       before("return", "gate = F.silu(self.W_1(X))"),
       ("F.silu(self.W_1(X)) * self.W_2(X)", "gate * self.W_2(self.W_3(gate))"))


# ------------------------------------------------------------------------------------------------ wrong: two mistakes


change(_PlainForward, "GeluAndResidual",
       "two mistakes: GELU in the place of SiLU, and X is added to the result", "concept",
       (".W_3(F.silu(self.W_1(X)) * self.W_2(X))", ".W_3(F.gelu(self.W_1(X)) * self.W_2(X)) + X"))


@wrong("two mistakes: SiLU acts on X W_2 instead of X W_1, and W_3 has a bias", kind="concept")
class SecondActivatedAndBias(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.W_1 = nn.Linear(D, D_F, bias=False)
        self.W_2 = nn.Linear(D, D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D)

    def forward(self, X):
        return self.W_3(self.W_1(X) * F.silu(self.W_2(X)))


change(_PlainForward, "SigmoidDetached",
       "two mistakes: SiLU's factor X W_1 is missing (the gate is a sigmoid), and the gate is detached", "concept",
       before("return", "gate = torch.sigmoid(self.W_1(X)).detach()"), ("F.silu(self.W_1(X))", "gate"))


@wrong("two mistakes: the factors are added instead of multiplied, and X.view(-1, D) fails for inputs that are no "
       "contiguous block", kind="concept")
class AddedAndView(_Base):
    def forward(self, X):
        rows = X.view(-1, X.shape[-1])
        return self.W_3(F.silu(self.W_1(rows)) + self.W_2(rows)).view(X.shape)


change(_Plain, "BothActivatedAndPair",
       "two mistakes: SiLU acts on both factors, and forward returns a pair (Y, hidden) instead of Y", "concept",
       ("self.W_2(X)", "F.silu(self.W_2(X))"), ("self.W_3(hidden)", "self.W_3(hidden), hidden"))


# ------------------------------------------------------------------------------------------------------ wrong: module


@wrong("all three layers have a bias", kind="module")
class Biases(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.W_1 = nn.Linear(D, D_F)
        self.W_2 = nn.Linear(D, D_F)
        self.W_3 = nn.Linear(D_F, D)

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@wrong("W_1 has a bias; it begins at 0, so that a new layer gives the right numbers", kind="module")
class ZeroBias(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, D_F)
        self.W_1 = nn.Linear(D, D_F)
        nn.init.zeros_(self.W_1.bias)

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@wrong("the layers are called w1, w2 and w3 instead of W_1, W_2 and W_3", kind="module")
class OtherNames(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.w1 = nn.Linear(D, D_F, bias=False)
        self.w2 = nn.Linear(D, D_F, bias=False)
        self.w3 = nn.Linear(D_F, D, bias=False)

    def forward(self, X):
        return self.w3(F.silu(self.w1(X)) * self.w2(X))


@wrong("the names W_2 and W_3 are swapped, as in Llama's code: W_2 leads back to D and W_3 makes the second factor",
       kind="module")
class LlamaNames(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.W_1 = nn.Linear(D, D_F, bias=False)
        self.W_2 = nn.Linear(D_F, D, bias=False)
        self.W_3 = nn.Linear(D, D_F, bias=False)

    def forward(self, X):
        return self.W_2(F.silu(self.W_1(X)) * self.W_3(X))


@wrong("W_1 and W_2 are one layer nn.Linear(D, 2*D_F) called W_1, and there is no W_2", kind="module")
class Fused(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.W_1 = nn.Linear(D, 2 * D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D, bias=False)

    def forward(self, X):
        gate, value = self.W_1(X).chunk(2, dim=-1)
        return self.W_3(F.silu(gate) * value)


@wrong("W_2 is the same layer object as W_1, so both projections share their weights", kind="module")
class Shared(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, D_F)
        self.W_2 = self.W_1

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


change(Shared, "OwnWidth", "D_F is ignored: the hidden width is 8 D / 3, rounded down", "module",
       ("""
        super().__init__(D, D_F)
        self.W_2 = self.W_1""", "super().__init__(D, max(1, 8 * D // 3))"))
change(Shared, "RoundedWidth", "the hidden width is D_F rounded up to a multiple of 8 instead of D_F", "module",
       ("""
        super().__init__(D, D_F)
        self.W_2 = self.W_1""", "super().__init__(D, -(-D_F // 8) * 8)"))
change(Shared, "WidthAtLeastD", "the hidden width is the larger of D and D_F, so it is wrong where D_F < D", "module",
       ("""
        super().__init__(D, D_F)
        self.W_2 = self.W_1""", "super().__init__(D, max(D, D_F))"))


@wrong("dropout with probability 0.5 on the hidden layer: training mode differs from eval mode", kind="module")
class Dropout(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, D_F)
        self.dropout = nn.Dropout(0.5)

    def forward(self, X):
        return self.W_3(self.dropout(F.silu(self.W_1(X)) * self.W_2(X)))


change(_Plain, "OtherInTraining",
       "in training mode alone the hidden layer is multiplied by 0.9, so it differs from eval mode", "module",
       before("return", """
        if self.training:
            hidden = hidden * 0.9"""))


@wrong("a learned factor beta (first 1) inside the sigmoid: a fourth parameter, which the text does not have",
       kind="module")
class LearnedBeta(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, D_F)
        self.beta = nn.Parameter(torch.ones(()))

    def forward(self, X):
        a = self.W_1(X)
        return self.W_3(a * torch.sigmoid(self.beta * a) * self.W_2(X))


@wrong("the layers lie in a plain dictionary behind properties and are not registered: parameters() is empty, and "
       ".to() and .double() do not reach them", kind="module")
class Unregistered(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self._layers = {
            1: nn.Linear(D, D_F, bias=False), 2: nn.Linear(D, D_F, bias=False), 3: nn.Linear(D_F, D, bias=False)
        }

    @property
    def W_1(self):
        return self._layers[1]

    @property
    def W_2(self):
        return self._layers[2]

    @property
    def W_3(self):
        return self._layers[3]

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@wrong("W_1, W_2 and W_3 are parameters [D, D_F], [D, D_F] and [D_F, D] instead of nn.Linear layers", kind="module")
class PlainMatrices(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.W_1 = nn.Parameter(torch.randn(D, D_F) / math.sqrt(D))
        self.W_2 = nn.Parameter(torch.randn(D, D_F) / math.sqrt(D))
        self.W_3 = nn.Parameter(torch.randn(D_F, D) / math.sqrt(D_F))

    def forward(self, X):
        return (F.silu(X @ self.W_1) * (X @ self.W_2)) @ self.W_3


change(Shared, "Frozen", "W_2 is frozen: its weight does not require gradients and is never learned", "module",
       (".W_2 = self.W_1", ".W_2.requires_grad_(False)"))


# ---------------------------------------------------------------------------------------------------- wrong: numerics


change(_PlainForward, "Fraction", "SiLU as x / (1 + exp(-x)): where exp(-x) overflows the gradient is NaN", "numerics",
       before("return", "a = self.W_1(X)"), ("F.silu(self.W_1(X))", "a / (1 + torch.exp(-a))"))


@wrong("SiLU as x exp(x) / (1 + exp(x)): for large positive x exp(x) overflows and the result is NaN", kind="numerics")
class OtherFraction(_Base):
    def forward(self, X):
        a = self.W_1(X)
        e = a.exp()
        return self.W_3(a * e / (1 + e) * self.W_2(X))


@right("the sigmoid as (1 + tanh(x/2)) / 2 cancels for negative x: around -20 in float32 (-40 in float64) the gate is 0 instead of a small number, which counts beside a large second factor")
class ByTanh(_Base):
    def forward(self, X):
        a = self.W_1(X)
        return self.W_3(a * 0.5 * (1 + torch.tanh(a / 2)) * self.W_2(X))


change(ByTanh, "ClampedSigmoid", "X W_1 is clamped to [-10, 10] inside the sigmoid alone: for X W_1 far below -10 the "
       "gate grows again instead of going to 0", "numerics",
       ("0.5 * (1 + torch.tanh(a / 2))", "torch.sigmoid(a.clamp(-10, 10))"))
change(_PlainForward, "ClampedGate",
       "X W_1 is clamped to at most 50 before SiLU, so larger gates stay at 50", "numerics",
       ("self.W_1(X)", "self.W_1(X).clamp(max=50)"))
change(ByTanh, "CutOff",
       "gates of X W_1 below -8 are set to 0 instead of their small negative number, with gradient 0", "numerics",
       ("a * 0.5 * (1 + torch.tanh(a / 2))", "torch.where(a < -8, torch.zeros_like(a), F.silu(a))"))


@right("the gate is computed in float32 and converted back: float64 loses its digits, and numbers beyond float32's range become inf")
class FloatGate(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X).float()).to(X.dtype) * self.W_2(X))


change(_PlainForward, "SmallHiddenDropped",
       "entries of the hidden layer smaller than 1e-4 in absolute value are set to 0", "numerics",
       ("F.silu(self.W_1(X)) * self.W_2(X)", "F.hardshrink(F.silu(self.W_1(X)) * self.W_2(X), 1e-4)"))


# ------------------------------------------------------------------------------------------- wrong: layout and shapes


change(AddedAndView, "View",
       "X.view(-1, D) fails for inputs that are no contiguous block, such as transposed ones", "layout",
       ("+ self.W_2(rows)", "* self.W_2(rows)"))


@wrong("takes X to have exactly three axes: a position by itself, a sequence or more batch axes fail", kind="layout")
class ThreeAxes(_Base):
    def forward(self, X):
        B, N, D = X.shape
        rows = X.reshape(B * N, D)
        return self.W_3(F.silu(self.W_1(rows)) * self.W_2(rows)).reshape(B, N, D)


change(OwnDerivative, "Squeezed", "squeeze() without an axis removes every axis of size 1 from the result", "layout",
       (".W_3(_OwnSiLU.apply(self.W_1(X)) * self.W_2(X))", ".W_3(F.silu(self.W_1(X)) * self.W_2(X)).squeeze()"))


@wrong("both projections are made side by side and then parted along axis 1 instead of the last one: right for X of "
       "two axes alone", kind="layout")
class PartedAlongAxisOne(_Base):
    def forward(self, X):
        both = F.linear(X, torch.cat([self.W_1.weight, self.W_2.weight]))
        gate, value = both.chunk(2, dim=1)
        return self.W_3(F.silu(gate) * value)


change(_PlainForward, "NoVector",
       "a position by itself, X of shape [D], comes back with an axis too many, [1, D]", "layout",
       before("return", "X = torch.atleast_2d(X)"))
change(_PlainForward, "AxesJoined", "all axes between the first and the last are joined, and the result keeps three "
       "axes: wrong for X of one, two or more than three axes", "layout",
       before("return", "X = X.reshape(X.shape[0], -1, X.shape[-1])"))


@wrong("only the first 128 positions of a sequence are computed; the others get zeros", kind="shape")
class FirstPositionsOnly(_Base):
    def forward(self, X):
        if X.dim() == 1:
            return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))
        part = X[..., :128, :]
        Y = self.W_3(F.silu(self.W_1(part)) * self.W_2(part))
        return F.pad(Y, (0, 0, 0, X.shape[-2] - part.shape[-2]))


# ---------------------------------------------------------------------------------------------------- wrong: gradient


change(_PlainForward, "DetachedGate",
       "the gate is detached: W_1 gets no gradient, and X none through the gate", "gradient",
       ("F.silu(self.W_1(X))", "F.silu(self.W_1(X)).detach()"))


@wrong("the second factor is computed under no_grad: W_2 gets no gradient, and X none through it", kind="gradient")
class NoGradSecond(_Base):
    def forward(self, X):
        with torch.no_grad():
            value = self.W_2(X)
        return self.W_3(F.silu(self.W_1(X)) * value)


@wrong("W_3 is read through .data, so it gets no gradient", kind="gradient")
class DataOfThird(_Base):
    def forward(self, X):
        return F.linear(F.silu(self.W_1(X)) * self.W_2(X), self.W_3.weight.data)


change(_PlainForward, "DetachedInput", "X is detached, so no gradient reaches it", "gradient",
       before("return", "X = X.detach().clone()"))
change(_PlainForward, "HalfDetachedInput",
       "X is detached for the second factor alone: its gradient lacks the part through X W_2", "gradient",
       (".W_2(X)", ".W_2(X.detach())"))
change(ByTanh, "DetachedSigmoid",
       "the sigmoid in SiLU is detached, so its part of the derivative is missing", "gradient",
       ("0.5 * (1 + torch.tanh(a / 2))", "torch.sigmoid(a).detach()"))


class _WrongDerivative(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, gradient):
        x, s = ctx.saved_tensors
        return gradient * x * s * (1 - s)


change(OwnDerivative, "OwnWrongDerivative",
       "SiLU has a hand-written derivative x s (1 - s), where s is the sigmoid of x: the term s is missing", "gradient",
       ("_OwnSiLU", "_WrongDerivative"))


@wrong("the result is rebuilt by torch.tensor from its numbers, which cuts all gradients and always gives float32 on "
       "the CPU", kind="gradient")
class Rebuilt(_Base):
    def forward(self, X):
        Y = self.W_3(F.silu(self.W_1(X)) * self.W_2(X))
        return torch.tensor(Y.tolist())


# --------------------------------------------------------------------------------------------------- wrong: interface


change(_Plain, "ZerosWithoutType", "the hidden layer is added to torch.zeros without dtype and device: it becomes "
       "float32 for bfloat16 inputs, which then fail in W_3, and inputs on another device fail too", "interface",
       before("hidden =", "hidden = torch.zeros(*X.shape[:-1], self.W_1.out_features)"), ("F.silu", "hidden + F.silu"))
change(OwnDerivative, "FloatResult", "the result is returned in float32 whatever the type of X", "interface",
       (".W_3(_OwnSiLU.apply(self.W_1(X)) * self.W_2(X))", ".W_3(F.silu(self.W_1(X)) * self.W_2(X)).float()"))


@wrong("everything is computed in float64 and returned in float64 whatever the type of X", kind="interface")
class DoubleResult(_Base):
    def forward(self, X):
        X = X.double()
        a, b = X @ self.W_1.weight.double().T, X @ self.W_2.weight.double().T
        return (F.silu(a) * b) @ self.W_3.weight.double().T


change(Rebuilt, "OverwritesInput", "the result is written over the input through .data, so X comes back changed, and "
       "gradients of W_1 and W_2 are computed from the changed X", "interface",
       ("return torch.tensor(Y.tolist())", """
        X.data.copy_(Y.data)
        return Y"""))


@wrong("the result is kept, and given again for any later X of the same shape", kind="interface")
class StaleResult(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, D_F)
        self._kept = None

    def forward(self, X):
        if self._kept is None or self._kept.shape != X.shape:
            self._kept = self.W_3(F.silu(self.W_1(X)) * self.W_2(X))
        return self._kept


@wrong("the weights of W_1 and W_2 are joined in the constructor and read from this copy: later changes of the layers "
       "have no effect, and they get no gradients", kind="interface")
class WeightsCopiedAtFirst(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, D_F)
        self.register_buffer("both", torch.cat([self.W_1.weight, self.W_2.weight]).detach(), persistent=False)

    def forward(self, X):
        gate, value = F.linear(X, self.both).chunk(2, dim=-1)
        return self.W_3(F.silu(gate) * value)


@right("the argument of forward is called x, so that X=... by name fails")
class LowerCaseArgument(_Base):
    def forward(self, x):
        return self.W_3(F.silu(self.W_1(x)) * self.W_2(x))


@right("the arguments of the constructor are called d_model and d_ff, so that D=... and D_F=... by name fail")
class OtherConstructorNames(_Base):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


change(OtherConstructorNames, "ConstructorOrder",
       "the constructor takes D_F first and D second, so that arguments by position are exchanged", "interface",
       ("self, d_model, d_ff", "self, D_F, D"), (".__init__(d_model, d_ff)", ".__init__(D, D_F)"))


@wrong("forward returns a pair, the result and the gate, instead of the result", kind="interface")
class Pair(_Base):
    def forward(self, X):
        gate = F.silu(self.W_1(X))
        return self.W_3(gate * self.W_2(X)), gate


# -------------------------------------------------------------------------------------------------------- wrong: edge


change(Rebuilt, "ResidualWhereSquare", "where D_F equals D, X is added to the result", "edge",
       ("return torch.tensor(Y.tolist())", "return Y + X if self.W_1.in_features == self.W_1.out_features else Y"))
change(_Plain, "NoGateForOneUnit", "where D_F is 1 the gate is left out and the hidden layer is X W_2 alone", "edge",
       ("hidden = F.silu(self.W_1(X)) * self.W_2(X)", """
        hidden = self.W_2(X)
        if hidden.shape[-1] > 1:
            hidden = hidden * F.silu(self.W_1(X))"""))
change(_Plain, "NoThirdForOneFeature", "where D is 1, W_3 is left out and the hidden layer is summed instead", "edge",
       before("return", """
        if X.shape[-1] == 1:
            return hidden.sum(-1, keepdim=True)"""))
change(Rebuilt, "BatchOfOne", "a batch of one loses its first axis: X of shape [1, N, D] gives [N, D]", "edge",
       ("return torch.tensor(Y.tolist())", "return Y[0] if X.dim() == 3 and X.shape[0] == 1 else Y"))
