"""Exercise 6: Flamingo's gated block, in which each word looks at the last picture before it."""

import math

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """Pictures at different places: words before the first, rows with fewer than P pictures, gates that are open."""
    B, N, P = sizes["B"], sizes["N"], sizes["P"]
    tokens = np.zeros((B, N), dtype=bool)
    for b in range(B):
        count = min(N, P if b == 0 else int(rng.integers(P + 1)))
        first = min(1, N - count)  # a word before the first picture, where there is room
        tokens[b, first + rng.permutation(N - first)[:count]] = True
    return {"is_picture": tokens}


def _none_in_the_last(inputs, rng):
    inputs["is_picture"][-1] = False


def _at_once(inputs, rng):
    """A picture at the first position: each word has one to look at."""
    inputs["is_picture"][:] = False
    inputs["is_picture"][:, 0] = True


def _neighbours(inputs, rng):
    """Two pictures side by side: the words behind them look at the second."""
    inputs["is_picture"][:] = False
    inputs["is_picture"][:, 1:3] = True


def _case(text, edit=None, edge=False, **more):
    sizes = {"D": 12, "H": 2, **more.pop("sizes", {})}
    return Case(text, sizes=sizes, edit=edit, edge=edge, **more)


@exercise(
    points=3,
    section="Flamingo: looking from within",
    source="Alayrac et al. 2022 (Flamingo), section 2.2, figure 4 and appendix A.1.3",
    outputs="X",
    formula="position n attends to the R vectors of picture k, the number of picture tokens up to n, itself included, and to"
    " nothing if k = 0; X = X + tanh(gate_attention) · output(attention), then X + tanh(gate_mlp) · mlp(norm_mlp(X)), [B, N, D]",
    cases=[
        _case("pictures among words"),
        _case("a text without a picture", edit=_none_in_the_last),
        _case("pictures side by side", edit=_neighbours, sizes={"N": 6, "P": 3}),
        _case("one picture in front, four heads", edit=_at_once, sizes={"D": 16, "H": 4}),
        _case("a new block", starts="gate_attention gate_mlp", blank="gate_attention gate_mlp"),
        _case("one vector a picture", edge=True, sizes={"R": 1}),
    ],
    draws=_drawn,
)
class GatedBlock(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        self.H = H
        self.norm_text, self.norm_mlp = nn.LayerNorm(D), nn.LayerNorm(D)
        self.to_queries, self.to_keys, self.to_values, self.output = (nn.Linear(D, D, bias=False) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gate_attention, self.gate_mlp = nn.Parameter(torch.tensor(0.0)), nn.Parameter(torch.tensor(0.0))

    def forward(
        self, X: Float[Tensor, "B N D"], pictures: Float[Tensor, "B P R D"], is_picture: Bool[Tensor, "B N"]
    ) -> Float[Tensor, "B N D"]:
        nothing = torch.zeros_like(pictures[:, :1])
        every = torch.cat([nothing, pictures], dim=1)  # in place 0, what is seen where no picture was
        rows = torch.arange(len(X), device=X.device).unsqueeze(1)
        own = every[rows, is_picture.cumsum(dim=1)]  # [B, N, R, D]: each word's picture
        Q = self.to_queries(self.norm_text(X)).unflatten(-1, (self.H, -1))  # [B, N, H, D/H]
        K, V = (layer(own).unflatten(-1, (self.H, -1)) for layer in (self.to_keys, self.to_values))  # [B, N, R, H, D/H]
        E = torch.einsum("bnhd,bnrhd->bnhr", Q, K) / math.sqrt(Q.shape[-1])
        seen = torch.einsum("bnhr,bnrhd->bnhd", E.softmax(dim=-1), V)  # the values of nothing are 0
        X = X + self.gate_attention.tanh() * self.output(seen.flatten(2))
        return X + self.gate_mlp.tanh() * self.mlp(self.norm_mlp(X))


def _last(number, place):
    """True at the vectors of the last picture before each word."""
    return place == number


def _before(number, place):
    return (place <= number) & (place >= 0)


def _number(is_picture):
    return is_picture.cumsum(dim=1) - 1  # the last picture's place among the pictures, -1 where there is none


def _heads(self, X):
    return X.unflatten(-1, (self.H, -1)).transpose(1, 2)


def _masked(E, allowed):
    """A softmax over what is allowed; zeros where nothing is."""
    A = E.masked_fill(~allowed, -math.inf).softmax(dim=-1)
    return A.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)


def _gated(
    self,
    X,
    pictures,
    is_picture,
    *,
    sees=_last,
    number=_number,
    weights=_masked,
    gate=torch.tanh,
    norm=True,
    gates=(1, 1),
    divisor=None,
    mlp_gets=None,
):
    """The block; what is wrong may be which pictures a word sees, the softmax, the gates, and the norms."""
    P, R = pictures.shape[1:3]
    place = torch.arange(P, device=X.device).repeat_interleave(R)
    allowed = sees(number(is_picture)[..., None], place)[:, None]  # [B, 1, N, P·R]
    vectors = pictures.flatten(1, 2)
    Q = _heads(self, self.to_queries(self.norm_text(X) if norm else X))
    K, V = _heads(self, self.to_keys(vectors)), _heads(self, self.to_values(vectors))
    A = weights(Q @ K.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor), allowed)
    seen = self.output((A @ V).transpose(1, 2).flatten(2))
    first, second = (gate(one) if counts else 1 for one, counts in zip((self.gate_attention, self.gate_mlp), gates))
    Y = X + first * seen
    return Y + second * self.mlp(self.norm_mlp(Y if mlp_gets is None else mlp_gets(X)))


@GatedBlock.misconception
def all_pictures_before(self, X, pictures, is_picture):
    """A word attends to all pictures before it. It attends to the last of them alone; of the earlier ones it knows what the
    self-attention of the language model hands on."""
    return _gated(self, X, pictures, is_picture, sees=_before)


@GatedBlock.misconception
def all_pictures(self, X, pictures, is_picture):
    """A word attends to all pictures, those behind it included. It attends to the last one before it, and to nothing where there
    is none."""
    return _gated(self, X, pictures, is_picture, sees=lambda number, place: place >= 0 * number)


@GatedBlock.misconception
def next_picture(self, X, pictures, is_picture):
    """A word attends to the picture that comes next. It attends to the last one at or before its position."""
    return _gated(self, X, pictures, is_picture, sees=lambda number, place: place == number + 1)


@GatedBlock.misconception
def picture_token_sees_the_one_before(self, X, pictures, is_picture):
    """The position of a picture token still attends to the picture before. The count includes the token itself: from its own
    position on, its picture is the last."""
    return _gated(self, X, pictures, is_picture, number=lambda tokens: tokens.cumsum(dim=1) - tokens.long() - 1)


@GatedBlock.misconception
def first_picture_before_any(self, X, pictures, is_picture):
    """Words before any picture attend to the first one. There is none that they could see: their cross-attention gives exactly
    0."""
    return _gated(self, X, pictures, is_picture, number=lambda tokens: _number(tokens).clamp(min=0))


@GatedBlock.misconception
def uniform_before_any(self, X, pictures, is_picture):
    """Words before any picture get the mean over all pictures: a softmax over a row in which nothing is allowed is uniform where
    the mask is a large negative number. Set their weights to 0 before these meet the values."""

    def weights(E, allowed):
        return E.masked_fill(~allowed, -1e9).softmax(dim=-1)

    return _gated(self, X, pictures, is_picture, weights=weights)


@GatedBlock.misconception
def nan_before_any(self, X, pictures, is_picture):
    """Words before any picture become NaN: a softmax over a row in which nothing is allowed divides 0 by 0. Set their weights to
    0 before these meet the values; gradients are NaN, too, where only the result is mended."""

    def weights(E, allowed):
        return E.masked_fill(~allowed, -math.inf).softmax(dim=-1)

    return _gated(self, X, pictures, is_picture, weights=weights)


@GatedBlock.misconception
def gates_without_tanh(self, X, pictures, is_picture):
    """The gates are factors as they are. Each goes through tanh, which keeps it between −1 and 1 and is 0 at 0."""
    return _gated(self, X, pictures, is_picture, gate=lambda one: one)


@GatedBlock.misconception
def gates_through_a_sigmoid(self, X, pictures, is_picture):
    """The gates go through a sigmoid, which is one half at 0: a new block would change the text at once. tanh(0) is 0."""
    return _gated(self, X, pictures, is_picture, gate=torch.sigmoid)


@GatedBlock.misconception
def mlp_without_gate(self, X, pictures, is_picture):
    """The MLP has no gate, so a new block changes the text at once. Both the attention and the MLP are gated."""
    return _gated(self, X, pictures, is_picture, gates=(1, 0))


@GatedBlock.misconception
def attention_without_gate(self, X, pictures, is_picture):
    """The cross-attention has no gate, so a new block changes the text at once. Both the attention and the MLP are gated."""
    return _gated(self, X, pictures, is_picture, gates=(0, 1))


@GatedBlock.misconception
def text_not_normalised(self, X, pictures, is_picture):
    """The queries come from X as it is. They come from norm_text(X); the residual stream stays as it is."""
    return _gated(self, X, pictures, is_picture, norm=False)


@GatedBlock.misconception
def mlp_of_what_came_in(self, X, pictures, is_picture):
    """The MLP reads X as it came in. It reads the sum behind the cross-attention, so that it can use what was seen."""
    return _gated(self, X, pictures, is_picture, mlp_gets=lambda X: X)


@GatedBlock.alternative
def with_one_mask(self, X, pictures, is_picture):
    return _gated(self, X, pictures, is_picture)


@GatedBlock.alternative
def picture_by_picture(self, X, pictures, is_picture):
    number, asked = is_picture.cumsum(dim=1), self.to_queries(self.norm_text(X))
    seen = torch.zeros_like(X)
    for k in range(pictures.shape[1]):
        K, V = self.to_keys(pictures[:, k]), self.to_values(pictures[:, k])
        heads = [
            (q @ key.mT * q.shape[-1] ** -0.5).softmax(dim=-1) @ value
            for q, key, value in zip(*(one.chunk(self.H, dim=-1) for one in (asked, K, V)))
        ]
        seen = torch.where((number == k + 1)[..., None], torch.cat(heads, dim=-1), seen)
    X = X + self.gate_attention.tanh() * self.output(seen)
    return X + self.gate_mlp.tanh() * self.mlp(self.norm_mlp(X))


@GatedBlock.alternative
def fused(self, X, pictures, is_picture):
    B, P, R, D = pictures.shape
    number = is_picture.cumsum(dim=-1)
    place = torch.arange(1, P + 1, device=X.device).repeat_interleave(R)
    mask = number.unsqueeze(-1) == place
    empty = number == 0
    mask = mask | empty.unsqueeze(-1)  # a row must allow something
    vectors = pictures.reshape(B, P * R, D)
    parts = (self.to_queries(self.norm_text(X)), self.to_keys(vectors), self.to_values(vectors))
    Q, K, V = (_heads(self, one) for one in parts)
    found = torch.nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask.unsqueeze(1))
    found = found.transpose(1, 2).reshape(*X.shape).masked_fill(empty.unsqueeze(-1), 0.0)
    X = torch.tanh(self.gate_attention) * self.output(found) + X
    return torch.tanh(self.gate_mlp) * self.mlp(self.norm_mlp(X)) + X
