"""Exercise 6: one step of a decoder with attention."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED
from autograder.exercises.unit_02_bahdanau_attention._shared import padding_mask
from utils.data.translation import PAD

WORDS = {"V": 12}


def _drawn(inputs, sizes, rng):
    y = np.resize(rng.permutation(sizes["V"]), sizes["B"])  # different tokens, as far as there are so many
    y[0] = PAD  # which is fed where another sentence of the batch is longer
    return {"y": y, "mask": padding_mask(inputs["mask"].shape, rng)}


def _scattered(inputs, rng):
    """Tokens anywhere, not only in front."""
    inputs["mask"] = rng.random(inputs["mask"].shape) < 0.5
    inputs["mask"][:, 0], inputs["mask"][:, -1] = False, True


@exercise(
    points=3,
    section="A context vector for every output token",
    source="Bahdanau, Cho and Bengio 2015, section 3.1",
    outputs="logits s_new a",
    gradients="logits s_new",
    zeros="a",
    formula="e_i = v·tanh(W s + U h_i), a = softmax over the tokens, c = Σ_i a_i h_i, s_new = cell([embedding(y); c], s), logits"
    " = out([s_new; c]); logits [B, V], s_new [B, D_S], a [B, T_x]",
    cases=[
        Case("a batch", sizes=WORDS),
        Case("padding in front of words and between them", sizes=WORDS, edit=_scattered),
        Case("a batch of one", sizes={**WORDS, "B": 1}),
        Case("long sentences", sizes={**WORDS, "T_x": 13}),
        Case("a larger batch", sizes={"V": 14, "B": 11}),
    ],
    forbidden=FUSED,
    draws=_drawn,
    equivalent={
        "softmax(dim=1)": "there are two axes",
        "self.embedding(y), c], dim=1), s)": "there are two axes",
        "[s_new, c], dim=1)), s_new, a)": "there are two axes",
    },
)
class AttentionStep(nn.Module):
    def __init__(self, V: int, D_E: int, D_H: int, D_S: int, D_A: int):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D_H, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = nn.Linear(D_S + D_H, V)

    def forward(
        self, y: Int[Tensor, "B"], s: Float[Tensor, "B D_S"], H: Float[Tensor, "B T_x D_H"], mask: Bool[Tensor, "B T_x"]
    ) -> tuple[Float[Tensor, "B V"], Float[Tensor, "B D_S"], Float[Tensor, "B T_x"]]:
        scores = [self.v(torch.tanh(self.W(s) + self.U(h))) for h in H.unbind(dim=1)]
        a = torch.cat(scores, dim=1).masked_fill(~mask, -torch.inf).softmax(dim=-1)
        c = torch.einsum("bx,bxh->bh", a, H)
        s_new = self.cell(torch.cat([self.embedding(y), c], dim=-1), s)
        return self.out(torch.cat([s_new, c], dim=-1)), s_new, a


def _attend(self, s, H, mask, activation=torch.tanh):
    e = self.v(activation(self.W(s).unsqueeze(1) + self.U(H))).squeeze(-1)
    a = e.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return a, (a.unsqueeze(1) @ H).squeeze(1)


def _update(self, y, s, c):
    s_new = self.cell(torch.cat([self.embedding(y), c], dim=-1), s)
    return self.out(torch.cat([s_new, c], dim=-1)), s_new


@AttentionStep.misconception
def padding_looked_at(self, y, s, H, mask):
    """The mask has no effect: the decoder attends to padding, too. Set the scores of the padding to −∞ before the
    softmax."""
    a, c = _attend(self, s, H, torch.ones_like(mask))
    return *_update(self, y, s, c), a


@AttentionStep.misconception
def step_mask_turned_round(self, y, s, H, mask):
    """The decoder attends to the padding and not to the tokens: the mask is inverted. True means that this position may
    be attended to."""
    a, c = _attend(self, s, H, ~mask)
    return *_update(self, y, s, c), a


@AttentionStep.misconception
def step_without_tanh(self, y, s, H, mask):
    """The tanh of the additive score is missing. Without it the decoder state adds the same number to every score, and
    the softmax removes it again."""
    a, c = _attend(self, s, H, mask, activation=lambda hidden: hidden)
    return *_update(self, y, s, c), a


@AttentionStep.misconception
def looks_after_the_update(self, y, s, H, mask):
    """The weights that are returned, or the context vector that goes into the logits, are computed from the new state,
    s_new. In this exercise the state before the step, s, attends, once, before the update. Luong et al. let the new
    state attend, with another cell."""
    _, c = _attend(self, s, H, mask)
    _, s_new = _update(self, y, s, c)
    a, c = _attend(self, s_new, H, mask)
    return self.out(torch.cat([s_new, c], dim=-1)), s_new, a


@AttentionStep.misconception
def context_not_fed_to_the_cell(self, y, s, H, mask):
    """The context vector does not reach the cell: zeros stand in its part of the input. The cell's input is
    [embedding(y); c]."""
    a, c = _attend(self, s, H, mask)
    s_new = self.cell(torch.cat([self.embedding(y), torch.zeros_like(c)], dim=-1), s)
    return self.out(torch.cat([s_new, c], dim=-1)), s_new, a


@AttentionStep.misconception
def context_not_fed_to_the_output(self, y, s, H, mask):
    """The context vector does not reach the output layer: zeros stand in its part of the input. The logits are
    out([s_new; c])."""
    a, c = _attend(self, s, H, mask)
    s_new = self.cell(torch.cat([self.embedding(y), c], dim=-1), s)
    return self.out(torch.cat([s_new, torch.zeros_like(c)], dim=-1)), s_new, a


@AttentionStep.misconception
def context_before_the_embedding(self, y, s, H, mask):
    """Embedding and context vector are joined in the wrong order for the cell. Its weights belong to [embedding(y); c]:
    the embedding comes first."""
    a, c = _attend(self, s, H, mask)
    s_new = self.cell(torch.cat([c, self.embedding(y)], dim=-1), s)
    return self.out(torch.cat([s_new, c], dim=-1)), s_new, a


@AttentionStep.misconception
def context_before_the_state(self, y, s, H, mask):
    """State and context vector are joined in the wrong order for the output layer. Its weights belong to [s_new; c]:
    the state comes first."""
    a, c = _attend(self, s, H, mask)
    _, s_new = _update(self, y, s, c)
    return self.out(torch.cat([c, s_new], dim=-1)), s_new, a


@AttentionStep.misconception
def logits_from_the_old_state(self, y, s, H, mask):
    """The logits come from the state before the step. Only s_new has read the token that was just fed in: out([s_new;
    c])."""
    a, c = _attend(self, s, H, mask)
    _, s_new = _update(self, y, s, c)
    return self.out(torch.cat([s, c], dim=-1)), s_new, a


@AttentionStep.misconception
def old_state_returned(self, y, s, H, mask):
    """The state that came in is returned. The next step needs the new one, s_new."""
    a, c = _attend(self, s, H, mask)
    return _update(self, y, s, c)[0], s, a


@AttentionStep.misconception
def mean_for_context(self, y, s, H, mask):
    """The context vector is the plain mean of the encoder states, padding included: the weights were not used for
    it."""
    a, _ = _attend(self, s, H, mask)
    return *_update(self, y, s, H.mean(dim=1)), a


@AttentionStep.misconception
def step_probabilities(self, y, s, H, mask):
    """These are probabilities: a softmax was applied. The exercise asks for logits; the loss applies its own
    softmax."""
    a, c = _attend(self, s, H, mask)
    logits, s_new = _update(self, y, s, c)
    return logits.softmax(dim=-1), s_new, a


@AttentionStep.misconception
def scores_returned(self, y, s, H, mask):
    """The third result holds scores. The exercise asks for the weights after the softmax: they are positive, 0 at
    padding, and sum to 1."""
    e = self.v(torch.tanh(self.W(s).unsqueeze(1) + self.U(H))).squeeze(-1)
    _, c = _attend(self, s, H, mask)
    return *_update(self, y, s, c), e


@AttentionStep.misconception
def softmax_over_the_batch(self, y, s, H, mask):
    """The softmax runs over the sentences of the batch. In each sentence a weight of 1 is distributed over its own T_x
    positions: dim=-1."""
    e = self.v(torch.tanh(self.W(s).unsqueeze(1) + self.U(H))).squeeze(-1)
    a = e.masked_fill(~mask, -1e9).softmax(dim=0)
    return *_update(self, y, s, (a.unsqueeze(1) @ H).squeeze(1)), a


@AttentionStep.alternative
def with_matrix_products(self, y, s, H, mask):
    hidden = torch.tanh((s @ self.W.weight.T)[:, None, :] + H @ self.U.weight.T)
    a = torch.where(mask, hidden @ self.v.weight[0], torch.full_like(H[..., 0], -torch.inf)).softmax(dim=1)
    c = torch.bmm(a[:, None], H)[:, 0]
    s_new = self.cell(torch.hstack((self.embedding(y), c)), s)
    return self.out(torch.hstack((s_new, c))), s_new, a


@AttentionStep.alternative
def weighted_sum_by_hand(self, y, s, H, mask):
    e = self.v(torch.tanh(self.U(H) + self.W(s)[:, None]))[..., 0]
    a = (e + (~mask).to(e.dtype) * -1e9).softmax(dim=-1)
    c = (a[..., None] * H).sum(dim=1)
    s_new = self.cell(torch.cat((self.embedding(y), c), 1), s)
    return self.out(torch.cat((s_new, c), 1)), s_new, a


@AttentionStep.alternative
def sentence_by_sentence(self, y, s, H, mask):
    found = []
    for word, state, states, real in zip(y, s, H, mask):
        e = self.v(torch.tanh(self.W(state) + self.U(states[real])))[:, 0]
        a = torch.zeros_like(states[:, 0])
        a[real] = e.softmax(dim=0)
        c = a @ states
        new = self.cell(torch.cat([self.embedding(word), c])[None], state[None])[0]
        found.append((self.out(torch.cat([new, c])), new, a))
    logits, s_new, a = map(torch.stack, zip(*found))
    return logits, s_new, a
