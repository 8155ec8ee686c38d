"""Exercise 1: a frozen linear layer with a low-rank update beside it, LoRA."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import SMALL

MATRIX = {"largest": ("D_out", "D_in")}  # of the update B A
LARGE = {"D_in": 24, "D_out": 20, "r": 3}
LAYER, START = "the layer", "a new layer"


def _case(text, axes="N", part=LAYER, edge=False, bounds=None, starts="", blank="", **sizes):
    more = {"bounds": bounds or {}, "starts": starts, "blank": blank}
    return Case(text, {"*S": axes}, sizes=sizes, part=part, edge=edge, **more)


@exercise(
    points={LAYER: 2, START: 1},
    taught=("gradients",),  # what is frozen, and what learns
    section="A frozen layer and a low-rank update",
    source="Hu et al. 2022, section 4.1, equation 3",
    outputs="Y",
    formula="Y = X Wᵀ + bias + alpha/r · (X Aᵀ) Bᵀ; X [*S, D_in]; W [D_out, D_in] and bias [D_out] of self.linear, frozen;"
    " A [r, D_in], B [D_out, r]; X Aᵀ [*S, r], Y [*S, D_out]. No matrix as large as W is made on the way",
    cases=[
        _case("a batch of sequences", axes="B N"),
        _case("one sequence"),
        _case("one position by itself", axes=""),
        _case("an alpha below the rank", alpha=3, r=8),
        _case("an alpha above the rank", alpha=16, r=3),
        _case("no matrix as large as W is made", N=5, bounds=MATRIX, **LARGE),
        _case("a layer that widens", D_in=4, D_out=13, r=2, edge=True),
        _case("three axes in front", axes="B_1 B_2 N", edge=True, **SMALL),
        _case("an alpha with a fraction", alpha=2.5, r=4, edge=True),
        _case("a rank beyond the layer's width", r=19, D_in=5, D_out=7, edge=True),
        _case("one position, no matrix as large as W", axes="", bounds=MATRIX, edge=True, **LARGE),
        _case("an update that is still 0, and begins to learn", blank="B", edge=True),
        _case("how a new layer begins", part=START, axes="B N", B=1, starts="A B", blank="B"),
        _case("how a new layer of rank 1 begins", part=START, r=1, starts="A B", blank="B", edge=True),
    ],
)
class LoRALinear(nn.Module):
    def __init__(self, D_in: int, D_out: int, r: int, alpha: float):
        super().__init__()
        self.linear = nn.Linear(D_in, D_out).requires_grad_(False)
        self.A = nn.Parameter(nn.Linear(D_in, r).weight)  # random, as any layer's weight
        self.B = nn.Parameter(torch.zeros(D_out, r))
        self.r, self.alpha = r, alpha

    def forward(self, X: Float[Tensor, "*S D_in"]) -> Float[Tensor, "*S D_out"]:
        low = torch.einsum("...i,ri->...r", X, self.A)  # [*S, r]
        update = torch.einsum("...r,or->...o", low, self.B)  # [*S, D_out]
        return F.linear(X, self.linear.weight, self.linear.bias) + self.alpha / self.r * update


def _adapted(self, X, scale=None, between=lambda low: low):
    """Both paths, with another scale, or something done between A and B."""
    scale = self.alpha / self.r if scale is None else scale
    return self.linear(X) + scale * (between(X @ self.A.T) @ self.B.T)


@LoRALinear.misconception
def not_scaled(self, X):
    """The update is added as it is. It is multiplied by alpha/r first, so that there is less to tune again when the rank
    changes."""
    return _adapted(self, X, scale=1)


@LoRALinear.misconception
def not_divided_by_the_rank(self, X):
    """The update is multiplied by alpha alone. The factor is alpha/r: with a larger rank more terms are added up, and the
    division by r makes up for that."""
    return _adapted(self, X, scale=self.alpha)


@LoRALinear.misconception
def factor_turned_over(self, X):
    """The update is multiplied by r/alpha. The factor is the other way up, alpha/r: a larger alpha makes the update count
    more."""
    return _adapted(self, X, scale=self.r / self.alpha)


@LoRALinear.misconception
def divided_by_the_root(self, X):
    """The update is divided by √r. A later variant, rank-stabilised LoRA, does so; LoRA itself, and this exercise, divide by
    r."""
    return _adapted(self, X, scale=self.alpha / self.r**0.5)


@LoRALinear.misconception
def factor_in_both_matrices(self, X):
    """alpha/r multiplies A and B, and so counts squared in their product. Multiply one of them by it, or the update."""
    return _adapted(self, X, scale=(self.alpha / self.r) ** 2)


@LoRALinear.misconception
def one_update_for_all(self, X):
    """All positions get the same update: is X averaged, or summed, over positions? Each position has an update of its own, made
    from its own row of X."""
    mean = X.reshape(-1, X.shape[-1]).mean(dim=0)
    return self.linear(X) + self.alpha / self.r * (mean @ self.A.T @ self.B.T)


@LoRALinear.misconception
def divided_without_a_fraction(self, X):
    """alpha/r is rounded down to a whole number, so that an update with an alpha below r is 0. / keeps the fraction; // and
    int(…) cut it off."""
    return _adapted(self, X, scale=self.alpha // self.r)


@LoRALinear.misconception
def all_of_it_scaled(self, X):
    """What comes out of the frozen layer is multiplied by alpha/r too. The factor belongs to the update alone; else the
    pre-trained layer would give other numbers from the start."""
    return self.alpha / self.r * _adapted(self, X, scale=1)


@LoRALinear.misconception
def bias_scaled_too(self, X):
    """The bias is multiplied by alpha/r as well. It belongs to the frozen layer; the factor is for the update alone."""
    return _adapted(self, X) + (self.alpha / self.r - 1) * self.linear.bias


@LoRALinear.misconception
def bias_added_twice(self, X):
    """The bias is added twice. self.linear(X) has it already."""
    return _adapted(self, X) + self.linear.bias


@LoRALinear.misconception(universal=True)
def update_left_out(self, X):
    """A and B make no difference: the result is that of the frozen layer alone. Add alpha/r · (X Aᵀ) Bᵀ in forward. A product of
    A and B that was made in __init__ stays 0, whatever they learn."""
    return self.linear(X)


@LoRALinear.misconception
def frozen_layer_left_out(self, X):
    """This is the update alone. LoRA adds it to what the frozen layer gives: self.linear(X) + the update."""
    return _adapted(self, X) - self.linear(X)


@LoRALinear.misconception
def relu_between(self, X):
    """There is a ReLU between A and B. Other adapters have a nonlinearity there; LoRA has none, and so its update is a matrix,
    alpha/r · B A, that can be merged into the weight after training."""
    return _adapted(self, X, between=torch.relu)


@LoRALinear.misconception
def factors_not_transposed(self, X):
    """X @ A does not fit: A is [r, D_in], as nn.Linear stores its weights. Positions are rows of X, so A acts from the right as
    its transpose, and so does B: X Aᵀ is [*S, r], and (X Aᵀ) Bᵀ is [*S, D_out]."""
    return self.linear(X) + self.alpha / self.r * (X @ self.A @ self.B)


@LoRALinear.misconception
def update_made(self, X):
    """The numbers are right, but a matrix as large as W is made on the way: is it B A, W with B A added to it, or a copy of W?
    self.linear(X) needs no copy, and the update costs far less by way of the r numbers of X Aᵀ: (X Aᵀ) Bᵀ."""
    return F.linear(X, self.linear.weight + self.alpha / self.r * self.B @ self.A, self.linear.bias)


@LoRALinear.misconception
def frozen_layer_detached(self, X):
    """The numbers are right, but what self.linear gives is cut off from X (no_grad or .detach()), so layers in front of this one
    learn from the update alone. Frozen weights get no gradients; the gradient of X still flows through them."""
    return _adapted(self, X) - self.linear(X) + self.linear(X).detach()


@LoRALinear.misconception
class not_frozen(LoRALinear.reference):
    """The weight and the bias of self.linear still learn. Freeze both with self.linear.requires_grad_(False), which sets all
    parameters of a layer; self.linear.requires_grad = False only gives the layer an attribute that nobody reads."""

    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        self.linear.requires_grad_(True)


@LoRALinear.misconception
class all_of_it_frozen(LoRALinear.reference):
    """A and B are frozen too, so there is nothing left that learns. Freeze the parameters of self.linear alone, not those of the
    whole module."""

    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        self.requires_grad_(False)


@LoRALinear.misconception
class both_random(LoRALinear.reference):
    """In a new layer B is not 0, so that it already gives something else than the pre-trained layer. Begin with zeros in B and
    random numbers in A: then the update is 0, and training starts where pre-training ended."""

    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        nn.init.normal_(self.B)


@LoRALinear.misconception
class both_zero(LoRALinear.reference):
    """In a new layer A and B are both 0, and never learn: the gradient of each is a product with the other, so it is 0 as well.
    Zeros in B alone make the update 0; A begins with random numbers."""

    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        nn.init.zeros_(self.A)


@LoRALinear.misconception
class zeros_in_the_other(LoRALinear.reference):
    """In a new layer A is 0 and B is random. The update is 0 that way as well, but LoRA has it the other way round, and so does
    this exercise: random numbers in A, zeros in B."""

    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        nn.init.normal_(self.B)
        nn.init.zeros_(self.A)


@LoRALinear.alternative
class as_a_student(LoRALinear.reference):
    def __init__(self, D_in, D_out, r, alpha):
        nn.Module.__init__(self)
        self.linear = nn.Linear(D_in, D_out)
        for parameter in self.linear.parameters():
            parameter.requires_grad = False
        self.A = nn.Parameter(torch.randn(r, D_in) / D_in**0.5)
        self.B = nn.Parameter(torch.zeros(D_out, r))
        self.scale = alpha / r

    def forward(self, X):
        return self.linear(X) + self.scale * (X @ self.A.T @ self.B.T)


@LoRALinear.alternative
class with_init_functions(LoRALinear.reference):
    def __init__(self, D_in, D_out, r, alpha):
        nn.Module.__init__(self)
        self.B = nn.Parameter(torch.empty(D_out, r))
        self.A = nn.Parameter(torch.empty(r, D_in))
        nn.init.kaiming_uniform_(self.A, a=5**0.5)
        nn.init.zeros_(self.B)
        self.linear = nn.Linear(D_in, D_out)
        self.linear.weight.requires_grad_(False)
        self.linear.bias.requires_grad_(False)
        self.r, self.alpha = r, alpha

    def forward(self, X):
        return torch.add(self.linear(X), F.linear(F.linear(X, self.A), self.B), alpha=self.alpha / self.r)


@LoRALinear.alternative
def by_columns(self, X):
    rows = X.reshape(-1, X.shape[-1]).T  # [D_in, S]
    update = self.B @ (self.A @ rows) * self.alpha / len(self.A)
    return self.linear(X) + update.T.reshape(*X.shape[:-1], -1)


@LoRALinear.alternative
def factor_after_factor(self, X):
    Y = self.linear(X)
    for a, b in zip(self.A, self.B.unbind(dim=1)):  # the update is a sum of r outer products
        Y = Y + self.alpha / self.r * (X @ a)[..., None] * b
    return Y


@LoRALinear.alternative
def in_place(self, X):
    Y = F.linear(X, self.linear.weight)
    Y += (X * (self.alpha / self.r)) @ self.A.mT @ self.B.mT
    return Y + self.linear.bias
