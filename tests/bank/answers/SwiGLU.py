"""Test answers for SwiGLU (assignment 09): right ones in unusual styles, wrong ones with what is wrong about them."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import right, wrong


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


# ----------------------------------------------------------------------------------------------------- wrong: concept


@wrong("SiLU acts on X W_2 instead of X W_1", kind="concept")
class SecondActivated(_Base):
    def forward(self, X):
        return self.W_3(self.W_1(X) * F.silu(self.W_2(X)))


@wrong("SiLU acts on both factors instead of on X W_1 alone", kind="concept")
class BothActivated(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * F.silu(self.W_2(X)))


@wrong("SiLU acts on the product of both projections instead of on X W_1 before the product", kind="concept")
class ProductActivated(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X) * self.W_2(X)))


@wrong("the gate is sigmoid(X W_1): SiLU's factor X W_1 is missing", kind="concept")
class SigmoidGate(_Base):
    def forward(self, X):
        return self.W_3(torch.sigmoid(self.W_1(X)) * self.W_2(X))


@wrong("GELU in the place of SiLU", kind="concept")
class GeluGate(_Base):
    def forward(self, X):
        return self.W_3(F.gelu(self.W_1(X)) * self.W_2(X))


@wrong("ReLU in the place of SiLU", kind="concept")
class ReluGate(_Base):
    def forward(self, X):
        return self.W_3(self.W_1(X).relu() * self.W_2(X))


@wrong("both factors are added instead of multiplied", kind="concept")
class Added(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) + self.W_2(X))


@wrong("X is added to the result", kind="concept")
class Residual(_Base):
    def forward(self, X):
        return X + self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@wrong("a second SiLU acts on the result of W_3", kind="concept")
class OutputActivated(_Base):
    def forward(self, X):
        return F.silu(self.W_3(F.silu(self.W_1(X)) * self.W_2(X)))


@wrong("an ordinary MLP: the factor X W_2 is left out, and W_2 is never used", kind="concept")
class WithoutSecondFactor(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)))


@wrong("the second factor is X W_1 again instead of X W_2, so W_2 is never used", kind="concept")
class FirstTwice(_Base):
    def forward(self, X):
        a = self.W_1(X)
        return self.W_3(F.silu(a) * a)


@wrong("the sigmoid is taken of 1.702 X W_1 instead of X W_1", kind="concept")
class QuickGelu(_Base):
    def forward(self, X):
        a = self.W_1(X)
        return self.W_3(a * torch.sigmoid(1.702 * a) * self.W_2(X))


@wrong("the sigmoid is taken of -X W_1 instead of X W_1", kind="concept")
class SignOfTheExponent(_Base):
    def forward(self, X):
        a = self.W_1(X)
        return self.W_3(a * torch.sigmoid(-a) * self.W_2(X))


@wrong("F.glu in the wrong order and without SiLU's factor: X W_1 times the sigmoid of X W_2", kind="concept")
class GluOfBoth(_Base):
    def forward(self, X):
        return self.W_3(F.glu(torch.cat([self.W_1(X), self.W_2(X)], dim=-1)))


@wrong("X is layer-normalised before the projections", kind="concept")
class NormalisedInput(_Base):
    def forward(self, X):
        Z = F.layer_norm(X, X.shape[-1:])
        return self.W_3(F.silu(self.W_1(Z)) * self.W_2(Z))


@wrong("the hidden layer is divided by its root mean square before W_3", kind="concept")
class NormalisedHidden(_Base):
    def forward(self, X):
        hidden = F.silu(self.W_1(X)) * self.W_2(X)
        return self.W_3(hidden * (hidden.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt())


@wrong("the hidden layer is divided by the root of D_F", kind="concept")
class Scaled(_Base):
    def forward(self, X):
        hidden = F.silu(self.W_1(X)) * self.W_2(X)
        return self.W_3(hidden / math.sqrt(hidden.shape[-1]))


@wrong("the gate is the softmax of X W_1 over the hidden width instead of its SiLU", kind="concept")
class SoftmaxGate(_Base):
    def forward(self, X):
        return self.W_3(self.W_1(X).softmax(-1) * self.W_2(X))


@wrong("hardswish, a piecewise approximation, in the place of SiLU", kind="concept")
class Hardswish(_Base):
    def forward(self, X):
        return self.W_3(F.hardswish(self.W_1(X)) * self.W_2(X))


@wrong("W_3 is applied to each factor by itself, and the results are multiplied afterwards", kind="concept")
class ProductLast(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X))) * self.W_3(self.W_2(X))


@wrong("SiLU acts on X before W_1 instead of on X W_1", kind="concept")
class ActivatedBeforeProjection(_Base):
    def forward(self, X):
        return self.W_3(self.W_1(F.silu(X)) * self.W_2(X))


@wrong("one gate for each position, the SiLU of the mean of X W_1 over the hidden width, instead of number by number",
       kind="concept")
class OneGateForAll(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X).mean(-1, keepdim=True)) * self.W_2(X))


@wrong("SiLU is applied twice in a row to X W_1", kind="concept")
class ActivatedTwice(_Base):
    def forward(self, X):
        return self.W_3(F.silu(F.silu(self.W_1(X))) * self.W_2(X))


@wrong("the second factor is X W_2 + 1 instead of X W_2", kind="concept")
class OnePlus(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * (1 + self.W_2(X)))


@wrong("the way back to D is the transpose of W_1's weight instead of W_3, which is never used", kind="concept")
class TiedBack(_Base):
    def forward(self, X):
        return (F.silu(self.W_1(X)) * self.W_2(X)) @ self.W_1.weight


@wrong("W_2 does not read X but the gate brought back to D by W_3: with G = SiLU(X W_1), Y = (G * (G W_3) W_2) W_3",
       kind="concept")
class SecondReadsTheFirst(_Base):
    def forward(self, X):
        gate = F.silu(self.W_1(X))
        return self.W_3(gate * self.W_2(self.W_3(gate)))


# ------------------------------------------------------------------------------------------------ wrong: two mistakes


@wrong("two mistakes: GELU in the place of SiLU, and X is added to the result", kind="concept")
class GeluAndResidual(_Base):
    def forward(self, X):
        return self.W_3(F.gelu(self.W_1(X)) * self.W_2(X)) + X


@wrong("two mistakes: SiLU acts on X W_2 instead of X W_1, and W_3 has a bias", kind="concept")
class SecondActivatedAndBias(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.W_1 = nn.Linear(D, D_F, bias=False)
        self.W_2 = nn.Linear(D, D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D)

    def forward(self, X):
        return self.W_3(self.W_1(X) * F.silu(self.W_2(X)))


@wrong("two mistakes: SiLU's factor X W_1 is missing (the gate is a sigmoid), and the gate is detached", kind="concept")
class SigmoidDetached(_Base):
    def forward(self, X):
        gate = torch.sigmoid(self.W_1(X)).detach()
        return self.W_3(gate * self.W_2(X))


@wrong("two mistakes: the factors are added instead of multiplied, and X.view(-1, D) fails for inputs that are no "
       "contiguous block", kind="concept")
class AddedAndView(_Base):
    def forward(self, X):
        rows = X.view(-1, X.shape[-1])
        return self.W_3(F.silu(self.W_1(rows)) + self.W_2(rows)).view(X.shape)


@wrong("two mistakes: SiLU acts on both factors, and forward returns a pair (Y, hidden) instead of Y", kind="concept")
class BothActivatedAndPair(_Base):
    def forward(self, X):
        hidden = F.silu(self.W_1(X)) * F.silu(self.W_2(X))
        return self.W_3(hidden), hidden


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


@wrong("D_F is ignored: the hidden width is 8 D / 3, rounded down", kind="module")
class OwnWidth(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, max(1, 8 * D // 3))

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@wrong("the hidden width is D_F rounded up to a multiple of 8 instead of D_F", kind="module")
class RoundedWidth(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, -(-D_F // 8) * 8)

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@wrong("the hidden width is the larger of D and D_F, so it is wrong where D_F < D", kind="module")
class WidthAtLeastD(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, max(D, D_F))

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@wrong("dropout with probability 0.5 on the hidden layer: training mode differs from eval mode", kind="module")
class Dropout(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, D_F)
        self.dropout = nn.Dropout(0.5)

    def forward(self, X):
        return self.W_3(self.dropout(F.silu(self.W_1(X)) * self.W_2(X)))


@wrong("in training mode alone the hidden layer is multiplied by 0.9, so it differs from eval mode", kind="module")
class OtherInTraining(_Base):
    def forward(self, X):
        hidden = F.silu(self.W_1(X)) * self.W_2(X)
        if self.training:
            hidden = hidden * 0.9
        return self.W_3(hidden)


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


@wrong("W_2 is frozen: its weight does not require gradients and is never learned", kind="module")
class Frozen(_Base):
    def __init__(self, D, D_F):
        super().__init__(D, D_F)
        self.W_2.requires_grad_(False)

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


# ---------------------------------------------------------------------------------------------------- wrong: numerics


@wrong("SiLU as x / (1 + exp(-x)): where exp(-x) overflows the gradient is NaN", kind="numerics")
class Fraction(_Base):
    def forward(self, X):
        a = self.W_1(X)
        return self.W_3(a / (1 + torch.exp(-a)) * self.W_2(X))


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


@wrong("X W_1 is clamped to [-10, 10] inside the sigmoid alone: for X W_1 far below -10 the gate grows again instead "
       "of going to 0", kind="numerics")
class ClampedSigmoid(_Base):
    def forward(self, X):
        a = self.W_1(X)
        return self.W_3(a * torch.sigmoid(a.clamp(-10, 10)) * self.W_2(X))


@wrong("X W_1 is clamped to at most 50 before SiLU, so larger gates stay at 50", kind="numerics")
class ClampedGate(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X).clamp(max=50)) * self.W_2(X))


@wrong("gates of X W_1 below -8 are set to 0 instead of their small negative number, with gradient 0", kind="numerics")
class CutOff(_Base):
    def forward(self, X):
        a = self.W_1(X)
        return self.W_3(torch.where(a < -8, torch.zeros_like(a), F.silu(a)) * self.W_2(X))


@right("the gate is computed in float32 and converted back: float64 loses its digits, and numbers beyond float32's range become inf")
class FloatGate(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X).float()).to(X.dtype) * self.W_2(X))


@wrong("entries of the hidden layer smaller than 1e-4 in absolute value are set to 0", kind="numerics")
class SmallHiddenDropped(_Base):
    def forward(self, X):
        return self.W_3(F.hardshrink(F.silu(self.W_1(X)) * self.W_2(X), 1e-4))


# ------------------------------------------------------------------------------------------- wrong: layout and shapes


@wrong("X.view(-1, D) fails for inputs that are no contiguous block, such as transposed ones", kind="layout")
class View(_Base):
    def forward(self, X):
        rows = X.view(-1, X.shape[-1])
        return self.W_3(F.silu(self.W_1(rows)) * self.W_2(rows)).view(X.shape)


@wrong("takes X to have exactly three axes: a position by itself, a sequence or more batch axes fail", kind="layout")
class ThreeAxes(_Base):
    def forward(self, X):
        B, N, D = X.shape
        rows = X.reshape(B * N, D)
        return self.W_3(F.silu(self.W_1(rows)) * self.W_2(rows)).reshape(B, N, D)


@wrong("squeeze() without an axis removes every axis of size 1 from the result", kind="layout")
class Squeezed(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X)).squeeze()


@wrong("both projections are made side by side and then parted along axis 1 instead of the last one: right for X of "
       "two axes alone", kind="layout")
class PartedAlongAxisOne(_Base):
    def forward(self, X):
        both = F.linear(X, torch.cat([self.W_1.weight, self.W_2.weight]))
        gate, value = both.chunk(2, dim=1)
        return self.W_3(F.silu(gate) * value)


@wrong("a position by itself, X of shape [D], comes back with an axis too many, [1, D]", kind="layout")
class NoVector(_Base):
    def forward(self, X):
        X = torch.atleast_2d(X)
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@wrong("all axes between the first and the last are joined, and the result keeps three axes: wrong for X of one, two "
       "or more than three axes", kind="layout")
class AxesJoined(_Base):
    def forward(self, X):
        X = X.reshape(X.shape[0], -1, X.shape[-1])
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@wrong("only the first 128 positions of a sequence are computed; the others get zeros", kind="shape")
class FirstPositionsOnly(_Base):
    def forward(self, X):
        if X.dim() == 1:
            return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))
        part = X[..., :128, :]
        Y = self.W_3(F.silu(self.W_1(part)) * self.W_2(part))
        return F.pad(Y, (0, 0, 0, X.shape[-2] - part.shape[-2]))


# ---------------------------------------------------------------------------------------------------- wrong: gradient


@wrong("the gate is detached: W_1 gets no gradient, and X none through the gate", kind="gradient")
class DetachedGate(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)).detach() * self.W_2(X))


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


@wrong("X is detached, so no gradient reaches it", kind="gradient")
class DetachedInput(_Base):
    def forward(self, X):
        X = X.detach().clone()
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@wrong("X is detached for the second factor alone: its gradient lacks the part through X W_2", kind="gradient")
class HalfDetachedInput(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X.detach()))


@wrong("the sigmoid in SiLU is detached, so its part of the derivative is missing", kind="gradient")
class DetachedSigmoid(_Base):
    def forward(self, X):
        a = self.W_1(X)
        return self.W_3(a * torch.sigmoid(a).detach() * self.W_2(X))


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


@wrong("SiLU has a hand-written derivative x s (1 - s), where s is the sigmoid of x: the term s is missing",
       kind="gradient")
class OwnWrongDerivative(_Base):
    def forward(self, X):
        return self.W_3(_WrongDerivative.apply(self.W_1(X)) * self.W_2(X))


@wrong("the result is rebuilt by torch.tensor from its numbers, which cuts all gradients and always gives float32 on "
       "the CPU", kind="gradient")
class Rebuilt(_Base):
    def forward(self, X):
        Y = self.W_3(F.silu(self.W_1(X)) * self.W_2(X))
        return torch.tensor(Y.tolist())


# --------------------------------------------------------------------------------------------------- wrong: interface


@wrong("the hidden layer is added to torch.zeros without dtype and device: it becomes float32 for bfloat16 inputs, "
       "which then fail in W_3, and inputs on another device fail too", kind="interface")
class ZerosWithoutType(_Base):
    def forward(self, X):
        hidden = torch.zeros(*X.shape[:-1], self.W_1.out_features)
        hidden = hidden + F.silu(self.W_1(X)) * self.W_2(X)
        return self.W_3(hidden)


@wrong("the result is returned in float32 whatever the type of X", kind="interface")
class FloatResult(_Base):
    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X)).float()


@wrong("everything is computed in float64 and returned in float64 whatever the type of X", kind="interface")
class DoubleResult(_Base):
    def forward(self, X):
        X = X.double()
        a, b = X @ self.W_1.weight.double().T, X @ self.W_2.weight.double().T
        return (F.silu(a) * b) @ self.W_3.weight.double().T


@wrong("the result is written over the input through .data, so X comes back changed, and gradients of W_1 and W_2 are "
       "computed from the changed X", kind="interface")
class OverwritesInput(_Base):
    def forward(self, X):
        Y = self.W_3(F.silu(self.W_1(X)) * self.W_2(X))
        X.data.copy_(Y.data)
        return Y


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


@wrong("the constructor takes D_F first and D second, so that arguments by position are exchanged", kind="interface")
class ConstructorOrder(_Base):
    def __init__(self, D_F, D):
        super().__init__(D, D_F)

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@wrong("forward returns a pair, the result and the gate, instead of the result", kind="interface")
class Pair(_Base):
    def forward(self, X):
        gate = F.silu(self.W_1(X))
        return self.W_3(gate * self.W_2(X)), gate


# -------------------------------------------------------------------------------------------------------- wrong: edge


@wrong("where D_F equals D, X is added to the result", kind="edge")
class ResidualWhereSquare(_Base):
    def forward(self, X):
        Y = self.W_3(F.silu(self.W_1(X)) * self.W_2(X))
        return Y + X if self.W_1.in_features == self.W_1.out_features else Y


@wrong("where D_F is 1 the gate is left out and the hidden layer is X W_2 alone", kind="edge")
class NoGateForOneUnit(_Base):
    def forward(self, X):
        hidden = self.W_2(X)
        if hidden.shape[-1] > 1:
            hidden = hidden * F.silu(self.W_1(X))
        return self.W_3(hidden)


@wrong("where D is 1, W_3 is left out and the hidden layer is summed instead", kind="edge")
class NoThirdForOneFeature(_Base):
    def forward(self, X):
        hidden = F.silu(self.W_1(X)) * self.W_2(X)
        if X.shape[-1] == 1:
            return hidden.sum(-1, keepdim=True)
        return self.W_3(hidden)


@wrong("a batch of one loses its first axis: X of shape [1, N, D] gives [N, D]", kind="edge")
class BatchOfOne(_Base):
    def forward(self, X):
        Y = self.W_3(F.silu(self.W_1(X)) * self.W_2(X))
        return Y[0] if X.dim() == 3 and X.shape[0] == 1 else Y
