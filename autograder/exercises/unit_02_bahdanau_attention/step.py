"""Exercise 6: one step of a decoder with attention."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_02_bahdanau_attention.common import padding_mask
from utils.data.translation import PAD

WORDS = {"V": 12}


def _drawn(inputs, sizes, rng):
    y = np.resize(rng.permutation(sizes["V"]), sizes["B"])  # different words, as far as there are so many
    y[0] = PAD  # which is fed where another sentence of the batch is longer
    return {"y": y, "mask": padding_mask(inputs["mask"].shape, rng)}


def _scattered(inputs, rng):
    """Words anywhere, not only in front."""
    inputs["mask"] = rng.random(inputs["mask"].shape) < 0.5
    inputs["mask"][:, 0], inputs["mask"][:, -1] = False, True


@exercise(
    points=3,
    section="A context vector for every output token",
    source="Bahdanau, Cho and Bengio 2015, section 3.1",
    outputs="logits s_new a",
    gradients="logits s_new",
    zeros="a",
    formula="e_i = v·tanh(W s + U h_i), a = softmax over the words, c = Σ_i a_i h_i, s_new = cell([embedding(y); c], s), logits ="
    " out([s_new; c]); logits [B, V], s_new [B, D_S], a [B, T_x]",
    cases=[
        Case("a batch", sizes=WORDS),
        Case("padding in front of words and between them", sizes=WORDS, edit=_scattered),
        Case("a batch of one", sizes={**WORDS, "B": 1}),
        Case("long sentences", sizes={**WORDS, "T_x": 13}),
        Case("a larger batch", sizes={"V": 14, "B": 11}),
    ],
    forbidden=("scaled_dot_product_attention", "multi_head_attention"),
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
    """The mask plays no part: the decoder looks at padding, too. Its scores must be −∞ before the softmax."""
    a, c = _attend(self, s, H, torch.ones_like(mask))
    return *_update(self, y, s, c), a


@AttentionStep.misconception
def step_mask_turned_round(self, y, s, H, mask):
    """The decoder looks at the padding and not at the words: the mask is read the wrong way round. True means: a word."""
    a, c = _attend(self, s, H, ~mask)
    return *_update(self, y, s, c), a


@AttentionStep.misconception
def step_without_tanh(self, y, s, H, mask):
    """The tanh of the additive score is missing. Without it the decoder state adds the same to every score, and the softmax does
    not see it."""
    a, c = _attend(self, s, H, mask, activation=lambda hidden: hidden)
    return *_update(self, y, s, c), a


@AttentionStep.misconception
def looks_after_the_update(self, y, s, H, mask):
    """The new state, s_new, is what asks for the weights and context that are returned or that predict. Here the state before
    the step, s, asks, once, before the update. Luong et al. do it the other way round, with another cell."""
    _, c = _attend(self, s, H, mask)
    _, s_new = _update(self, y, s, c)
    a, c = _attend(self, s_new, H, mask)
    return self.out(torch.cat([s_new, c], dim=-1)), s_new, a


@AttentionStep.misconception
def context_not_fed_to_the_cell(self, y, s, H, mask):
    """The context does not reach the cell: its place in the input is empty. The cell's input is [embedding(y); c]."""
    a, c = _attend(self, s, H, mask)
    s_new = self.cell(torch.cat([self.embedding(y), torch.zeros_like(c)], dim=-1), s)
    return self.out(torch.cat([s_new, c], dim=-1)), s_new, a


@AttentionStep.misconception
def context_not_fed_to_the_output(self, y, s, H, mask):
    """The context does not reach the output layer: its place is empty. The logits are out([s_new; c])."""
    a, c = _attend(self, s, H, mask)
    s_new = self.cell(torch.cat([self.embedding(y), c], dim=-1), s)
    return self.out(torch.cat([s_new, torch.zeros_like(c)], dim=-1)), s_new, a


@AttentionStep.misconception
def context_before_the_embedding(self, y, s, H, mask):
    """Word and context are joined the other way round for the cell. Its weights belong to [embedding(y); c]: the word first."""
    a, c = _attend(self, s, H, mask)
    s_new = self.cell(torch.cat([c, self.embedding(y)], dim=-1), s)
    return self.out(torch.cat([s_new, c], dim=-1)), s_new, a


@AttentionStep.misconception
def context_before_the_state(self, y, s, H, mask):
    """State and context are joined the other way round for the output. Its weights belong to [s_new; c]: the state first."""
    a, c = _attend(self, s, H, mask)
    _, s_new = _update(self, y, s, c)
    return self.out(torch.cat([c, s_new], dim=-1)), s_new, a


@AttentionStep.misconception
def logits_from_the_old_state(self, y, s, H, mask):
    """The logits come from the state before the step. The word that was just read counts only in s_new: out([s_new; c])."""
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
    """The context is the plain mean of the encoder states, padding included: the weights were not used for it."""
    a, _ = _attend(self, s, H, mask)
    return *_update(self, y, s, H.mean(dim=1)), a


@AttentionStep.misconception
def step_probabilities(self, y, s, H, mask):
    """These are probabilities where logits are asked for: a softmax was taken. The loss takes its own."""
    a, c = _attend(self, s, H, mask)
    logits, s_new = _update(self, y, s, c)
    return logits.softmax(dim=-1), s_new, a


@AttentionStep.misconception
def scores_returned(self, y, s, H, mask):
    """The third result are scores; asked for are the weights, after the softmax: positive, 0 at padding, with sum 1."""
    e = self.v(torch.tanh(self.W(s).unsqueeze(1) + self.U(H))).squeeze(-1)
    _, c = _attend(self, s, H, mask)
    return *_update(self, y, s, c), e


@AttentionStep.misconception
def softmax_over_the_batch(self, y, s, H, mask):
    """The softmax runs over the sentences of the batch. Each sentence shares its own weight among its T_x words: dim=-1."""
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
