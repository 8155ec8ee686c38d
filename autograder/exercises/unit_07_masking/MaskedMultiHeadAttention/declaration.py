"""Exercise 4: multi-head self-attention with a mask that all heads share."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED
from autograder.bank.families.masks import random_mask
from autograder.exercises.unit_07_masking._shared import empty_rows

HEADS, EMPTY = "masks and heads", "empty rows"


def _drawn(inputs, sizes, rng):
    return {"mask": random_mask(inputs["mask"].shape, rng)}


def _causal(inputs, rng):
    N = inputs["mask"].shape[-1]
    inputs["mask"][:] = torch.ones(N, N).tril().bool().numpy()


def _some_empty(inputs, rng):
    inputs["mask"] = empty_rows(inputs["mask"], rng)


def _case(text, mask="B N N", part=HEADS, edit=None, scale=None, extreme=False, **sizes):
    sizes = {"H": 3, "D_H": 4, **sizes}
    return Case(text, expand={"*M": mask}, part=part, edit=edit, scale=scale or {}, extreme=extreme, sizes=sizes)


@exercise(
    points={HEADS: 3, EMPTY: 1},
    section={HEADS: "Masks and heads", EMPTY: "Rows with nothing to attend to"},
    source="Vaswani et al. 2017, section 3.2.3",
    outputs="Y A",
    gradients="Y",
    zeros="A",
    formula="W_QKV gives Q, K, V side by side; for each head A = softmax over the allowed keys of Q Kᵀ/√D_H, 0 at the others and"
    " in rows that allow none; A V; heads side by side through W_O: Y [B, N, H*D_H], A [B, H, N, N]; the mask broadcasts to"
    " [B, N, N], the same for all heads",
    cases=[
        _case("a mask for each sequence"),
        _case("one causal mask for all", mask="N N", edit=_causal),
        _case("a padding mask for each sequence", mask="B 1 N"),
        _case("as many heads as sequences", H="B", B=3),
        _case("a batch of one", B=1),
        _case("scores in the hundreds", scale={"X": 13.0}, extreme=True),
        _case("some rows allow nothing", part=EMPTY, edit=_some_empty),
        _case("a sequence of length 0", mask="B 1 N", part=EMPTY, edit=_some_empty),
        _case("one mask for all, not causal", mask="N N"),
    ],
    forbidden=FUSED,
    draws=_drawn,
    equivalent={"I = torch.eye(X.shape[1], dtype=X.dtype, device=X.device)": "one table for all heads broadcasts"},
)
class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.H = H
        self.W_QKV = nn.Linear(H * D_H, 3 * H * D_H)
        self.W_O = nn.Linear(H * D_H, H * D_H)

    def forward(
        self, X: Float[Tensor, "B N H*D_H"], mask: Bool[Tensor, "*M"]
    ) -> tuple[Float[Tensor, "B N H*D_H"], Float[Tensor, "B H N N"]]:
        Q, K, V = _heads(self, X)
        mask = mask.expand(len(X), *mask.shape[-2:]).unsqueeze(1)  # [B, 1 or N, …]
        I = torch.eye(X.shape[1], dtype=X.dtype, device=X.device).expand(len(X), self.H, -1, -1)
        A = F.scaled_dot_product_attention(Q, K, I, attn_mask=mask.expand(-1, self.H, X.shape[1], -1))
        Y = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask.expand(-1, self.H, X.shape[1], -1))
        return F.linear(torch.cat(Y.unbind(dim=1), dim=-1), self.W_O.weight, self.W_O.bias), A


def _heads(self, X):
    """Q, K and V of all heads, [B, H, N, D_H] each."""
    return self.W_QKV(X).unflatten(-1, (3, self.H, -1)).permute(2, 0, 3, 1, 4)


def _weights(E, mask):
    """The masked softmax; the mask broadcasts to the scores."""
    A = E.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return A.masked_fill(~mask, 0.0)


def _merge(found):
    return found.transpose(1, 2).flatten(2)


def _attend(self, X, mask, weights=_weights, divisor=None, heads=_heads, merge=_merge):
    """With mask [B or nothing, 1 or N, N] as it comes in; `weights` gets it with the heads' axis, [B or 1, 1, N, N]."""
    Q, K, V = heads(self, X)
    A = weights(Q @ K.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor), _for_heads(mask))
    return self.W_O(merge(A @ V)), A


def _for_heads(mask):
    return mask.unsqueeze(-3)


@MaskedMultiHeadAttention.misconception
def mask_turned_round_and_not_a_number(self, X, mask):
    """The allowed keys are hidden and the forbidden ones are not: the mask is read the wrong way round. nn.MultiheadAttention
    reads True as forbidden; here True means allowed. And a query that has nothing left is NaN: its weights should be zeros."""
    return _attend(self, X, mask, lambda E, mask: E.masked_fill(mask, -math.inf).softmax(dim=-1))


@MaskedMultiHeadAttention.misconception
def mask_turned_round_and_even(self, X, mask):
    """The allowed keys are hidden and the forbidden ones are not: the mask is read the wrong way round. nn.MultiheadAttention
    reads True as forbidden; here True means allowed. And a query that has nothing left attends evenly to all keys: its weights
    should be zeros."""
    return _attend(self, X, mask, lambda E, mask: E.masked_fill(mask, -1e9).softmax(dim=-1))


@MaskedMultiHeadAttention.misconception
def hidden_keys_do_not_ask(self, X, mask):
    """The mask was turned to hide queries as well as keys: mask & mask.mT. A position to which no query may attend may still
    have a query of its own; the outputs of padding are simply not used, and rows without any key only make trouble. Take the
    mask as it is."""
    return _attend(self, X, mask & mask.mT)


@MaskedMultiHeadAttention.misconception
def no_axis_for_the_heads(self, X, mask):
    """The mask has no axis for the heads, or has it in front of all. Against scores [B, H, N, N] its B then lines up with H: an
    error or, where there are as many heads as sequences, head h gets the mask of sequence h. The axis of size 1 stands where
    the heads do, behind the batch: mask.unsqueeze(-3)."""
    return _attend(self, X, mask, lambda E, _: _weights(E, mask))


@MaskedMultiHeadAttention.misconception
def axis_counted_from_the_front(self, X, mask):
    """The axis for the heads was put at axis 1, counted from the front. That is right for [B, N, N]; a mask [N, N] for all
    sequences becomes [N, 1, N], and its rows line up with the batch or the heads. Count from the end: mask.unsqueeze(-3)."""
    return _attend(self, X, mask, lambda E, _: _weights(E, mask.unsqueeze(1)))


@MaskedMultiHeadAttention.misconception
def masks_of_other_sequences(self, X, mask):
    """Heads of one sequence get masks of others: batch and heads were joined to one axis, and the masks were repeated one whole
    batch after the other (repeat, or cat). Each sequence has H neighbours there: repeat_interleave, or keep the two axes
    apart."""
    mask = mask.expand(len(X), *mask.shape[-2:])
    repeated = mask.repeat(self.H, 1, 1).unflatten(0, (len(X), self.H))
    return _attend(self, X, mask, lambda E, _: _weights(E, repeated))


@MaskedMultiHeadAttention.misconception
def one_head_masked(self, X, mask):
    """Only one head is masked, the others attend to everything. All heads of a sequence share its mask: since W_O mixes the
    heads, one that attends to the future is enough to leak it."""

    def first(E, mask):
        return torch.cat([_weights(E[:, :1], mask), E[:, 1:].softmax(dim=-1)], dim=1)

    return _attend(self, X, mask, first)


@MaskedMultiHeadAttention.misconception
def mask_transposed(self, X, mask):
    """The mask is transposed: there row n says which queries may attend to key n. Row n of the mask belongs to query n, as row
    n of the scores does."""
    return _attend(self, X, mask, lambda E, _: _weights(E, _for_heads(mask).mT))


@MaskedMultiHeadAttention.misconception
def multiplied_after_the_softmax(self, X, mask):
    """The forbidden weights were set to 0 after the softmax, and their share is missing: the rows of A sum to less than 1. Hide
    the scores before the softmax: −∞."""
    return _attend(self, X, mask, lambda E, mask: E.softmax(dim=-1) * mask)


@MaskedMultiHeadAttention.misconception
def scores_set_to_zero(self, X, mask):
    """The forbidden scores were set to 0 before the softmax. exp(0) is 1, so that forbidden keys still get weight. The score
    whose weight is 0 is −∞."""
    return _attend(self, X, mask, lambda E, mask: (E * mask).softmax(dim=-1))


@MaskedMultiHeadAttention.misconception
def empty_rows_even(self, X, mask):
    """A query that may attend to nothing shares its weight evenly among all keys, as a large negative number for the forbidden
    scores makes it do. It should have no weights at all: zeros, as your masked softmax gives."""
    return _attend(self, X, mask, lambda E, mask: E.masked_fill(~mask, -1e9).softmax(dim=-1))


@MaskedMultiHeadAttention.misconception
def empty_rows_not_a_number(self, X, mask):
    """A query that may attend to nothing has NaN for weights, as a softmax of −∞ alone does, and so is its output
    (nn.MultiheadAttention does the same). Its weights should be zeros, as your masked softmax gives them."""
    return _attend(self, X, mask, lambda E, mask: E.masked_fill(~mask, -math.inf).softmax(dim=-1))


@MaskedMultiHeadAttention.misconception
def outputs_of_empty_rows_zeroed(self, X, mask):
    """The output of a query that may attend to nothing was set to 0. Its weights are zeros, and so is what the heads found;
    through W_O that becomes W_O's bias. No more is to be done; NaN is to be replaced in the weights."""
    Y, A = _attend(self, X, mask)
    return Y * mask.any(dim=-1, keepdim=True), A


@MaskedMultiHeadAttention.misconception
def softmax_over_queries(self, X, mask):
    """The softmax ran over the queries, dim=-2. Each query of each head shares its weight among the keys to which it may
    attend: dim=-1."""
    return _attend(self, X, mask, lambda E, mask: E.masked_fill(~mask, -1e9).softmax(dim=-2) * mask)


@MaskedMultiHeadAttention.misconception
def weights_rescaled_afterwards(self, X, mask):
    """The forbidden weights were set to 0 after the softmax and the rest divided by its sum. Where forbidden scores are far above
    the allowed ones, the allowed weights are already 0 by then, and nothing is left to divide. Hide the scores before: −∞."""

    def weights(E, mask):
        A = E.softmax(dim=-1).masked_fill(~mask, 0.0)
        return A / A.sum(dim=-1, keepdim=True).clamp(min=1e-9)

    return _attend(self, X, mask, weights)


@MaskedMultiHeadAttention.misconception
def not_low_enough(self, X, mask):
    """The forbidden scores were set to a number that is not low enough: where the allowed scores lie far below, too, forbidden
    keys get weight, or take it away. Set them to −∞."""
    return _attend(self, X, mask, lambda E, mask: E.masked_fill(~mask, -50.0).softmax(dim=-1) * mask)


@MaskedMultiHeadAttention.misconception
def exponentials_as_they_are(self, X, mask):
    """The exponentials of the scores were taken as they are and overflow where scores are large. A softmax subtracts the largest
    allowed score of each row first; torch's does, if the forbidden scores are −∞."""

    def weights(E, mask):
        powers = E.exp() * mask
        return powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-12)

    return _attend(self, X, mask, weights)


@MaskedMultiHeadAttention.misconception
def mask_added_as_numbers(self, X, mask):
    """The mask was added to the scores as it is, 1 and 0. That hides nothing: forbidden scores have to become −∞."""
    return _attend(self, X, mask, lambda E, mask: (E + mask.to(E.dtype)).softmax(dim=-1))


@MaskedMultiHeadAttention.misconception
def lowered_by_a_number(self, X, mask):
    """In a row that allows nothing a large number was subtracted from all scores. A softmax does not notice what is subtracted
    from a whole row: the forbidden keys share the weight. It should be zeros, as your masked softmax gives."""
    return _attend(self, X, mask, lambda E, mask: (E - 1e9 * ~mask).softmax(dim=-1))


@MaskedMultiHeadAttention.alternative
def with_zeros_before_and_after(self, X, mask):
    def weights(E, mask):
        nothing = ~mask.any(dim=-1, keepdim=True)
        return E.masked_fill(~mask, -math.inf).masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing, 0.0)

    return _attend(self, X, mask, weights)


@MaskedMultiHeadAttention.alternative
def by_einsum(self, X, mask):
    Q, K, V = (one.unflatten(-1, (self.H, -1)) for one in self.W_QKV(X).chunk(3, dim=-1))
    E = torch.einsum("bqhd,bxhd->bhqx", Q, K) / Q.shape[-1] ** 0.5
    A = torch.where(mask[..., None, :, :], E, torch.finfo(E.dtype).min).softmax(dim=-1) * mask[..., None, :, :]
    return self.W_O(torch.einsum("bhqx,bxhd->bqhd", A, V).flatten(2)), A


@MaskedMultiHeadAttention.alternative
def head_by_head(self, X, mask):
    found, weights = [], []
    for Q, K, V in zip(*(one.chunk(self.H, dim=-1) for one in self.W_QKV(X).chunk(3, dim=-1))):
        A = _weights(torch.bmm(Q, K.transpose(1, 2)) / math.sqrt(Q.shape[-1]), mask)  # no axis of heads here
        weights.append(A)
        found.append(torch.bmm(A, V))
    return self.W_O(torch.cat(found, dim=-1)), torch.stack(weights, dim=1)


@MaskedMultiHeadAttention.alternative
def heads_in_the_batch(self, X, mask):
    B, N, _ = X.shape
    Q, K, V = (one.flatten(0, 1) for one in _heads(self, X))
    masks = mask.expand(B, N, N).repeat_interleave(self.H, dim=0)
    A = _weights(torch.bmm(Q * Q.shape[-1] ** -0.5, K.mT), masks)
    Y = torch.bmm(A, V).unflatten(0, (B, self.H))
    return self.W_O(Y.transpose(1, 2).flatten(2)), A.unflatten(0, (B, self.H))


@MaskedMultiHeadAttention.alternative
def added_to_the_scores(self, X, mask):
    """The forbidden scores are lowered and the empty rows set to 0 afterwards."""

    def weights(E, mask):
        return (E + torch.zeros_like(E).masked_fill(~mask, torch.finfo(E.dtype).min)).softmax(dim=-1) * mask

    return _attend(self, X, mask, weights)
