"""Exercise 4: a Transformer block, post-norm or pre-norm; here its mistakes of wiring."""

import math
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.masks import random_mask

POST, PRE = "post-norm", "pre-norm"
WITHOUT = {"mask": None}


def _drawn(inputs, sizes, rng):
    return {} if inputs["mask"] is None else {"mask": random_mask(inputs["mask"].shape, rng)}


def _causal(inputs, rng):
    inputs["mask"][:] = torch.ones(inputs["mask"].shape[1:]).tril().bool().numpy()


def _last_sees_all(inputs, rng):
    """The last position may attend to all, as in a causal mask; the others may attend to later ones too."""
    inputs["mask"][:, -1], inputs["mask"][:, 0, -1] = True, True


def _case(part, text, edit=None, values=(), edge=False, **sizes):
    sizes = {"D": 12, "H": 3, **sizes, "norm_first": part == PRE}
    return Case(f"{part}, {text}", values=dict(values), sizes=sizes, part=part, edit=edit, edge=edge)


@exercise(
    points={POST: 2, PRE: 2},
    section="Post-norm and pre-norm",
    source="post-norm: Vaswani et al. 2017, section 3; pre-norm: Xiong et al. 2020, table 1",
    outputs="X_new",
    formula="post-norm: X_1 = norm_1(X + attention(X)), X_new = norm_2(X_1 + MLP(X_1)); pre-norm: X_1 = X + attention(norm_1(X)),"
    " X_new = X_1 + MLP(norm_2(X_1)); attention: W_QKV, H heads with softmax(Q Kᵀ/√(D/H)) over the allowed keys, W_O;"
    " MLP(X) = W_out(GELU(W_in(X))); X, X_1, X_new [B, N, D], mask [B, N, N]",
    cases=[
        _case(POST, "a mask for each sequence"),
        _case(POST, "without a mask", values=WITHOUT),
        _case(POST, "as many sequences as heads", B="H"),
        _case(POST, "one head", D=7, H=1),
        _case(POST, "a mask whose last row allows all", edit=_last_sees_all, edge=True),
        _case(PRE, "without a mask", values=WITHOUT),
        _case(PRE, "a mask for each sequence"),
        _case(PRE, "a causal mask", edit=_causal, D=10, H=2),
        _case(PRE, "as many positions and hidden units as features", N="D", D_F="D", D=6, H=2, edge=True),
    ],
    forbidden=("multi_head_attention", "transformer_encoder_layer"),
    draws=_drawn,
)
class TransformerBlock(nn.Module):
    def __init__(self, D: int, H: int, D_F: int, norm_first: bool):
        super().__init__()
        self.D, self.H, self.D_F, self.norm_first = D, H, D_F, bool(norm_first)
        self.norm_1, self.norm_2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)

    def forward(self, X: Float[Tensor, "B N D"], mask: Bool[Tensor, "B N N"] | None = None) -> Float[Tensor, "B N D"]:
        own = {"in_proj_": self.W_QKV, "out_proj.": self.W_O}
        layers = {"self_attn." + name: layer for name, layer in own.items()}
        layers |= {"linear1.": self.W_in, "linear2.": self.W_out, "norm1.": self.norm_1, "norm2.": self.norm_2}
        weights = {name + kind: getattr(layer, kind) for name, layer in layers.items() for kind in ("weight", "bias")}
        forbidden = None if mask is None else mask.logical_not().repeat_interleave(self.H, dim=0)
        layer = _torchs_own(self.D, self.H, self.D_F, self.norm_first)
        return torch.func.functional_call(layer, weights, X, {"src_mask": forbidden})


@cache
def _torchs_own(D, H, D_F, norm_first) -> nn.Module:
    """torch's own block, without numbers: its weights are given when it is called."""
    wiring = {"norm_first": norm_first, "batch_first": True}
    return nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, activation="gelu", device="meta", **wiring)


def _heads(self, X):
    """Q, K and V of all heads, [B, H, N, D/H] each."""
    return self.W_QKV(X).unflatten(-1, (3, self.H, -1)).permute(2, 0, 3, 1, 4)


def _merge(found):
    return found.transpose(1, 2).flatten(2)


def _weights(E, mask):
    """The softmax over the allowed keys; the mask is [B, N, N] or None."""
    return (E if mask is None else E.masked_fill(~mask[:, None], -math.inf)).softmax(dim=-1)


def _attention(self, X, mask, heads=_heads, weights=_weights, divisor=None, merge=_merge):
    Q, K, V = heads(self, X)
    A = weights(Q @ K.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor), mask)
    return self.W_O(merge(A @ V))


def _mlp(self, X, activation=F.gelu):
    return self.W_out(activation(self.W_in(X)))


def _wired(self, X, mask, attention=_attention, mlp=_mlp, first=None, norms=(0, 1)):
    """The block; what is wrong in it may be its attention, its MLP, which wiring it has, or which norm stands where."""
    norm_1, norm_2 = ((self.norm_1, self.norm_2)[number] for number in norms)
    if self.norm_first if first is None else first:
        X = X + attention(self, norm_1(X), mask)
        return X + mlp(self, norm_2(X))
    X = norm_1(X + attention(self, X, mask))
    return norm_2(X + mlp(self, X))


@TransformerBlock.misconception(universal=True)
def always_post_norm(self, X, mask=None):
    """The block is post-norm whatever norm_first says. Where it is True, each sublayer reads a normalised X and its result is
    added to X as it was: X + attention(norm_1(X)), then X + MLP(norm_2(X))."""
    return _wired(self, X, mask, first=False)


@TransformerBlock.misconception(universal=True)
def always_pre_norm(self, X, mask=None):
    """The block is pre-norm whatever norm_first says. Where it is False, each norm comes after the sum: norm_1(X +
    attention(X)), then norm_2(X + MLP(X))."""
    return _wired(self, X, mask, first=True)


@TransformerBlock.misconception
def wirings_exchanged(self, X, mask=None):
    """The two wirings have changed places. norm_first=True is pre-norm, which normalises what a sublayer reads; False is
    post-norm, which normalises the sum."""
    return _wired(self, X, mask, first=not self.norm_first)


@TransformerBlock.misconception
def sum_with_the_normalised(self, X, mask=None):
    """In pre-norm, the result of each sublayer is added to the normalised X. It is added to X as it was before the norm, so
    that the residual stream runs through the block without any norm: X + attention(norm_1(X))."""
    if not self.norm_first:
        return _wired(self, X, mask)
    X = self.norm_1(X)
    X = self.norm_2(X + _attention(self, X, mask))
    return X + _mlp(self, X)


@TransformerBlock.misconception
def normalised_before_the_sum(self, X, mask=None):
    """In post-norm, the result of each sublayer is normalised and then added to X. The sum comes first: norm_1(X +
    attention(X)), and likewise norm_2(X + MLP(X))."""
    if self.norm_first:
        return _wired(self, X, mask)
    X = X + self.norm_1(_attention(self, X, mask))
    return X + self.norm_2(_mlp(self, X))


@TransformerBlock.misconception
def no_residual_around_attention(self, X, mask=None):
    """The residual connection around the attention is missing: X itself has to be added to what attention gives."""
    if self.norm_first:
        X = _attention(self, self.norm_1(X), mask)
        return X + _mlp(self, self.norm_2(X))
    X = self.norm_1(_attention(self, X, mask))
    return self.norm_2(X + _mlp(self, X))


@TransformerBlock.misconception
def no_residual_around_the_mlp(self, X, mask=None):
    """The residual connection around the MLP is missing: what attention has left is to be added to what the MLP gives."""
    if self.norm_first:
        return _mlp(self, self.norm_2(X + _attention(self, self.norm_1(X), mask)))
    return self.norm_2(_mlp(self, self.norm_1(X + _attention(self, X, mask))))


@TransformerBlock.misconception
def no_residuals(self, X, mask=None):
    """Both residual connections are missing: each sublayer's result takes the place of X, and should be added to it."""
    if self.norm_first:
        return _mlp(self, self.norm_2(_attention(self, self.norm_1(X), mask)))
    return self.norm_2(_mlp(self, self.norm_1(_attention(self, X, mask))))


@TransformerBlock.misconception
def input_added_after_the_mlp(self, X, mask=None):
    """The second residual connection comes from the input of the block. What is added there is the X_1 that attention has already
    changed, the stream as it is at this point."""
    if self.norm_first:
        return X + _mlp(self, self.norm_2(X + _attention(self, self.norm_1(X), mask)))
    return self.norm_2(X + _mlp(self, self.norm_1(X + _attention(self, X, mask))))


@TransformerBlock.misconception
def mlp_reads_the_input(self, X, mask=None):
    """The MLP reads the input of the block, beside the attention. Some models do that; here the two sublayers follow each other,
    and the MLP reads the X to which attention was added."""
    if self.norm_first:
        return X + _attention(self, self.norm_1(X), mask) + _mlp(self, self.norm_2(X))
    return self.norm_2(self.norm_1(X + _attention(self, X, mask)) + _mlp(self, X))


@TransformerBlock.misconception
def norm_1_twice(self, X, mask=None):
    """norm_1 is used in both places. Each sublayer has a norm of its own: norm_2 belongs to the MLP."""
    return _wired(self, X, mask, norms=(0, 0))


@TransformerBlock.misconception
def norm_2_twice(self, X, mask=None):
    """norm_2 is used in both places, or norm_1 is the same layer. Each sublayer has a norm of its own: norm_1 belongs to the
    attention."""
    return _wired(self, X, mask, norms=(1, 1))


@TransformerBlock.misconception
def norms_exchanged(self, X, mask=None):
    """The norms have changed places: norm_1 belongs to the attention, which comes first, norm_2 to the MLP."""
    return _wired(self, X, mask, norms=(1, 0))


@TransformerBlock.misconception
def norm_1_left_out(self, X, mask=None):
    """norm_1 is not applied: in pre-norm to what attention reads, in post-norm to the sum of X and the attention."""
    X = X + _attention(self, X, mask)
    return X + _mlp(self, self.norm_2(X)) if self.norm_first else self.norm_2(X + _mlp(self, X))


@TransformerBlock.misconception
def norm_2_left_out(self, X, mask=None):
    """norm_2 is not applied: in pre-norm to what the MLP reads, in post-norm to the sum of X and the MLP."""
    read = X + _attention(self, self.norm_1(X), mask) if self.norm_first else self.norm_1(X + _attention(self, X, mask))
    return read + _mlp(self, read)


@TransformerBlock.misconception
def norms_without_weights(self, X, mask=None):
    """Mean and variance are right, but the weights and biases of the norms are not used. LayerNorm multiplies by a learned weight
    and adds a learned bias: call norm_1 and norm_2 themselves."""

    def norm(X):
        return F.layer_norm(X, X.shape[-1:])

    if self.norm_first:
        X = X + _attention(self, norm(X), mask)
        return X + _mlp(self, norm(X))
    X = norm(X + _attention(self, X, mask))
    return norm(X + _mlp(self, X))


@TransformerBlock.misconception
def norm_at_the_end_of_pre_norm(self, X, mask=None):
    """In pre-norm, the sum at the end is normalised as well. The residual stream leaves a pre-norm block as it is; the one norm
    at the end of a model comes after its last block and belongs to none."""
    X = _wired(self, X, mask)
    return self.norm_2(X) if self.norm_first else X


@TransformerBlock.alternative
def step_by_step(self, X, mask=None):
    """As a student would write it."""
    N, D = X.shape[1:]

    def attention(X):
        Q, K, V = (one.view(-1, N, self.H, D // self.H).transpose(1, 2) for one in self.W_QKV(X).split(D, dim=-1))
        Y = F.scaled_dot_product_attention(Q, K, V, None if mask is None else mask.unsqueeze(1))
        return self.W_O(Y.transpose(1, 2).reshape(-1, N, D))

    def mlp(X):
        return self.W_out(F.gelu(self.W_in(X)))

    if self.norm_first:
        X = X + attention(self.norm_1(X))
        X = X + mlp(self.norm_2(X))
    else:
        X = self.norm_1(X + attention(X))
        X = self.norm_2(X + mlp(X))
    return X
