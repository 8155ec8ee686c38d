"""Exercise 3: an MLP whose hidden layer is gated, SwiGLU."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import SMALL


@exercise(
    points=2,
    section="Gated MLPs: SwiGLU",
    source="Shazeer 2020, equation 6",
    outputs="Y",
    formula="Y = (SiLU(X W_1) ⊙ X W_2) W_3 with SiLU(x) = x · σ(x); X [*S, D], X W_1 and X W_2 [*S, D_F], Y [*S, D]",
    cases=[
        Case("a batch of sequences", expand={"*S": "B N"}),
        Case("one sequence", expand={"*S": "N"}),
        Case("one position by itself", expand={"*S": ""}),
        Case("three axes in front, gates far from 0", expand={"*S": "B_1 B_2 N"}, sizes={"B_1": 2}, scale={"X": 60.0}),
        Case("three axes in front", expand={"*S": "B_1 B_2 N"}, sizes=SMALL),
        Case("a batch of one", expand={"*S": "B N"}, sizes={"B": 1}),
        Case("a hidden layer that is wider", expand={"*S": "B N"}, sizes={"D": 6, "D_F": 16}),
        Case("a hidden layer that is narrower", expand={"*S": "N"}, sizes={"D": 9, "D_F": 4}),
    ],
)
class SwiGLU(nn.Module):
    def __init__(self, D: int, D_F: int):
        super().__init__()
        self.W_1 = nn.Linear(D, D_F, bias=False)
        self.W_2 = nn.Linear(D, D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D, bias=False)

    def forward(self, X: Float[Tensor, "*S D"]) -> Float[Tensor, "*S D"]:
        gate = torch.einsum("...d,fd->...f", X, self.W_1.weight)
        hidden = gate * torch.sigmoid(gate) * torch.einsum("...d,fd->...f", X, self.W_2.weight)
        return torch.einsum("...f,df->...d", hidden, self.W_3.weight)


def _gated(self, X, activation):
    """The MLP with another function in the place of SiLU."""
    return self.W_3(activation(self.W_1(X)) * self.W_2(X))


@SwiGLU.misconception
def silu_on_the_other_factor(self, X):
    """SiLU is applied to X W_2. It belongs to X W_1, the gate; X W_2 is multiplied by it as it is."""
    return self.W_3(self.W_1(X) * F.silu(self.W_2(X)))


@SwiGLU.misconception
def silu_on_both_factors(self, X):
    """SiLU is applied to both factors. It is applied to X W_1 alone, the gate; X W_2 stays linear."""
    return self.W_3(F.silu(self.W_1(X)) * F.silu(self.W_2(X)))


@SwiGLU.misconception
def silu_of_the_product(self, X):
    """SiLU is applied to the product of the two factors. It is applied to X W_1, before the product is taken."""
    return self.W_3(F.silu(self.W_1(X) * self.W_2(X)))


@SwiGLU.misconception
def silu_at_the_end(self, X):
    """SiLU is applied to what comes out of W_3. It is applied to X W_1, in the hidden layer; the result is linear in the
    hidden numbers."""
    return F.silu(self.W_3(self.W_1(X) * self.W_2(X)))


@SwiGLU.misconception
def nothing_but_a_product(self, X):
    """X W_1 and X W_2 are multiplied as they are: there is no SiLU. It is applied to X W_1 first."""
    return self.W_3(self.W_1(X) * self.W_2(X))


@SwiGLU.misconception
def sigmoid_for_silu(self, X):
    """The gate is σ(X W_1), which lies between 0 and 1: that is the plain GLU. SiLU multiplies the sigmoid by its own input:
    SiLU(x) = x · σ(x)."""
    return _gated(self, X, torch.sigmoid)


@SwiGLU.misconception
def sigmoid_on_the_other_factor(self, X):
    """X W_1 is multiplied by σ(X W_2): that is the plain GLU with its sigmoid on the second factor, as F.glu has it. In SwiGLU,
    SiLU is applied to the first, X W_1, and SiLU(x) = x · σ(x)."""
    return self.W_3(self.W_1(X) * torch.sigmoid(self.W_2(X)))


@SwiGLU.misconception
def silu_with_an_overflow(self, X):
    """The numbers are right, but where X W_1 is far below 0 the gradients are NaN: exp(−x) overflows there, and on the way back ∞
    is multiplied by 0. torch.sigmoid and F.silu do not overflow."""
    return _gated(self, X, lambda gate: gate / (1 + torch.exp(-gate)))


@SwiGLU.misconception
def gelu_for_silu(self, X):
    """The gate went through GELU, x · Φ(x): that is GEGLU, another variant in the same paper. SwiGLU takes SiLU, x · σ(x)."""
    return _gated(self, X, F.gelu)


@SwiGLU.misconception
def gelu_by_tanh_for_silu(self, X):
    """The gate went through GELU in its approximation by tanh: that is GEGLU, another variant in the same paper. SwiGLU takes
    SiLU, x · σ(x)."""
    return _gated(self, X, lambda gate: F.gelu(gate, approximate="tanh"))


@SwiGLU.misconception
def relu_for_silu(self, X):
    """The gate went through ReLU, so that its negative numbers are 0: that is ReGLU, another variant in the same paper. SwiGLU
    takes SiLU, x · σ(x), which is a little below 0 there."""
    return _gated(self, X, F.relu)


@SwiGLU.misconception
def tanh_for_silu(self, X):
    """The gate went through tanh, which lies between −1 and 1. SiLU(x) = x · σ(x) grows with x without a bound."""
    return _gated(self, X, torch.tanh)


@SwiGLU.misconception
def added_instead_of_multiplied(self, X):
    """SiLU(X W_1) and X W_2 are added. They are multiplied, number by number: the first decides how much of the second passes
    through."""
    return self.W_3(F.silu(self.W_1(X)) + self.W_2(X))


@SwiGLU.misconception
def not_gated(self, X):
    """W_2 makes no difference: this is an ordinary MLP, SiLU(X W_1) W_3. Multiply SiLU(X W_1) by X W_2, number by number, before
    W_3."""
    return self.W_3(F.silu(self.W_1(X)))


@SwiGLU.misconception
def gate_without_its_factor(self, X):
    """W_1 makes no difference: the result is that of X W_2 alone. Multiply X W_2 by SiLU(X W_1), number by number, before W_3."""
    return self.W_3(self.W_2(X))


@SwiGLU.misconception
def not_projected_back(self, X):
    """W_3 is missing: these are the hidden numbers, D_F at each position. X W_3 takes them back to the D features of X."""
    return F.silu(self.W_1(X)) * self.W_2(X)


@SwiGLU.misconception
def weight_not_transposed(self, X):
    """X @ W_1.weight does not fit: nn.Linear stores its weight as [out, in]. Call the layer, self.W_1(X), or transpose the
    weight: X @ self.W_1.weight.T."""
    return (F.silu(X @ self.W_1.weight) * (X @ self.W_2.weight)) @ self.W_3.weight


@SwiGLU.alternative
def in_one_line(self, X):
    return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@SwiGLU.alternative
def both_projections_at_once(self, X):
    gate, value = F.linear(X, torch.cat([self.W_1.weight, self.W_2.weight])).chunk(2, dim=-1)
    return F.linear(torch.mul(value, F.silu(gate)), self.W_3.weight)


@SwiGLU.alternative
def by_hand(self, X):
    gate = X @ self.W_1.weight.T
    return (gate.sigmoid() * gate * (X @ self.W_2.weight.T)) @ self.W_3.weight.T


@SwiGLU.alternative
def by_torchs_glu(self, X):
    gate = self.W_1(X)
    return self.W_3(F.glu(torch.cat([gate, gate], dim=-1), dim=-1) * self.W_2(X))


@SwiGLU.alternative
class with_an_activation_of_its_own(SwiGLU.reference):
    def __init__(self, D, D_F):
        nn.Module.__init__(self)
        self.W_3 = nn.Linear(in_features=D_F, out_features=D, bias=False)
        self.W_2 = nn.Linear(in_features=D, out_features=D_F, bias=False)
        self.W_1 = nn.Linear(in_features=D, out_features=D_F, bias=False)
        self.activation = nn.SiLU()

    def forward(self, X):
        return self.W_3(self.W_2(X) * self.activation(self.W_1(X)))
