"""Exercise 5: one token of a caption, with a gate on the context vector."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED
from utils.data.translation import PAD

WORDS = {"V": 13}


def _drawn(inputs, sizes, rng):
    y = np.resize(rng.permutation(sizes["V"]), sizes["B"])  # different tokens, as far as there are so many
    y[0] = PAD  # which is fed where another caption of the batch is longer
    return {"y": y}


@exercise(
    points=3,
    section="One token at a time",
    source="Xu et al. 2015, Show, Attend and Tell, section 4.2.1",
    outputs="logits s_new a",
    formula="e_i = v(tanh(W(s) + U(x_i))), a = softmax over the L cells, β = sigmoid(gate(s)), z = β · Σ_i a_i x_i, s_new ="
    " cell([embedding(y); z], s), logits = out([s_new; z]); logits [B, V], s_new [B, D_S], a [B, L]",
    cases=[
        Case("a batch", sizes=WORDS),
        Case("a batch of one", sizes={**WORDS, "B": 1}, scale={"X": 3.0}),
        Case("many cells", sizes={**WORDS, "L": 30}),
        Case("a larger batch", sizes={"V": 14, "B": 11}),
    ],
    forbidden=FUSED,
    draws=_drawn,
)
class CaptionStep(nn.Module):
    def __init__(self, V: int, D_E: int, D: int, D_S: int, D_A: int):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.gate = nn.Linear(D_S, 1)
        self.cell = nn.GRUCell(D_E + D, D_S)
        self.out = nn.Linear(D_S + D, V)

    def forward(
        self, y: Int[Tensor, "B"], s: Float[Tensor, "B D_S"], X: Float[Tensor, "B L D"]
    ) -> tuple[Float[Tensor, "B V"], Float[Tensor, "B D_S"], Float[Tensor, "B L"]]:
        scores = [self.v(torch.tanh(self.W(s) + self.U(x)))[:, 0] for x in X.unbind(dim=1)]
        a = torch.softmax(torch.stack(scores, dim=1), dim=1)
        beta = torch.tanh(self.gate(s) / 2) / 2 + 0.5  # the sigmoid, by another formula
        z = beta * torch.einsum("bl,bld->bd", a, X)
        s_new = self.cell(torch.cat([self.embedding(y), z], dim=1), s)
        return self.out(torch.cat([s_new, z], dim=1)), s_new, a


def _scores(self, s, X):
    return self.v(torch.tanh(self.W(s)[:, None] + self.U(X)))[..., 0]


def _find(self, s, X):
    """The weights, and the context before the gate."""
    a = _scores(self, s, X).softmax(dim=-1)
    return a, (a[:, None] @ X)[:, 0]


def _write(self, y, s, z):
    s_new = self.cell(torch.cat([self.embedding(y), z], dim=-1), s)
    return self.out(torch.cat([s_new, z], dim=-1)), s_new


@CaptionStep.misconception
def gate_left_out(self, y, s, X):
    """The gate has no effect, or it cancels out. β = sigmoid(gate(s)) is one number between 0 and 1 for each caption,
    and z is β times the context vector."""
    a, c = _find(self, s, X)
    return *_write(self, y, s, c), a


@CaptionStep.misconception
def gate_without_sigmoid(self, y, s, X):
    """The output of the layer `gate` is used as it is. A sigmoid turns it into a number between 0 and 1: β =
    sigmoid(gate(s))."""
    a, c = _find(self, s, X)
    return *_write(self, y, s, self.gate(s) * c), a


@CaptionStep.misconception
def gate_turned_round(self, y, s, X):
    """The context vector is multiplied by 1 − β. It should be multiplied by β: a gate near 1 lets the context vector
    through."""
    a, c = _find(self, s, X)
    return *_write(self, y, s, (1 - torch.sigmoid(self.gate(s))) * c), a


@CaptionStep.misconception
def gate_on_the_weights_returned(self, y, s, X):
    """The weights that are returned are multiplied by β, so they no longer sum to 1. The gate acts on the context
    vector alone."""
    a, c = _find(self, s, X)
    beta = torch.sigmoid(self.gate(s))
    return *_write(self, y, s, beta * c), beta * a


@CaptionStep.misconception
def gate_from_the_new_state(self, y, s, X):
    """The gate is computed after the step, from the new state. The state before the step, s, decides how much of the
    context vector this step receives."""
    a, c = _find(self, s, X)
    _, s_new = _write(self, y, s, torch.sigmoid(self.gate(s)) * c)
    z = torch.sigmoid(self.gate(s_new)) * c
    return self.out(torch.cat([s_new, z], dim=-1)), s_new, a


@CaptionStep.misconception
def ungated_for_the_output(self, y, s, X):
    """The cell gets the gated context vector, but the output layer gets the one before the gate. Both get z."""
    a, c = _find(self, s, X)
    _, s_new = _write(self, y, s, torch.sigmoid(self.gate(s)) * c)
    return self.out(torch.cat([s_new, c], dim=-1)), s_new, a


@CaptionStep.misconception
def ungated_for_the_cell(self, y, s, X):
    """The output layer gets the gated context vector, but the cell gets the one before the gate. Both get z."""
    a, c = _find(self, s, X)
    _, s_new = _write(self, y, s, c)
    return self.out(torch.cat([s_new, torch.sigmoid(self.gate(s)) * c], dim=-1)), s_new, a


@CaptionStep.misconception
def new_state_looks(self, y, s, X):
    """The state is updated first, and the new state attends. In this exercise the state before the step, s, attends,
    and the context vector goes into the update."""
    _, c = _find(self, s, X)
    beta = torch.sigmoid(self.gate(s))
    _, s_new = _write(self, y, s, beta * c)
    a, c = _find(self, s_new, X)
    return self.out(torch.cat([s_new, beta * c], dim=-1)), s_new, a


@CaptionStep.misconception
def looks_without_tanh(self, y, s, X):
    """The tanh of the score is missing. Without it the state adds the same number to every score, and every token
    attends to the same cells."""
    a = self.v(self.W(s)[:, None] + self.U(X))[..., 0].softmax(dim=-1)
    return *_write(self, y, s, torch.sigmoid(self.gate(s)) * (a[:, None] @ X)[:, 0]), a


@CaptionStep.misconception
def softmax_over_captions(self, y, s, X):
    """The softmax runs over the captions of the batch. In each caption a weight of 1 is distributed over its own L
    cells: dim=-1."""
    a = _scores(self, s, X).softmax(dim=0)
    return *_write(self, y, s, torch.sigmoid(self.gate(s)) * (a[:, None] @ X)[:, 0]), a


@CaptionStep.misconception
def picture_before_the_word(self, y, s, X):
    """Embedding and context vector are joined in the wrong order for the cell. Its weights belong to [embedding(y); z]:
    the embedding comes first."""
    a, c = _find(self, s, X)
    z = torch.sigmoid(self.gate(s)) * c
    s_new = self.cell(torch.cat([z, self.embedding(y)], dim=-1), s)
    return self.out(torch.cat([s_new, z], dim=-1)), s_new, a


@CaptionStep.misconception
def picture_before_the_state(self, y, s, X):
    """State and context vector are joined in the wrong order for the output layer. Its weights belong to [s_new; z]:
    the state comes first."""
    a, c = _find(self, s, X)
    z = torch.sigmoid(self.gate(s)) * c
    _, s_new = _write(self, y, s, z)
    return self.out(torch.cat([z, s_new], dim=-1)), s_new, a


@CaptionStep.misconception
def words_from_the_old_state(self, y, s, X):
    """The logits come from the state before the step. Only s_new has read the token that was just fed in: out([s_new;
    z])."""
    a, c = _find(self, s, X)
    z = torch.sigmoid(self.gate(s)) * c
    _, s_new = _write(self, y, s, z)
    return self.out(torch.cat([s, z], dim=-1)), s_new, a


@CaptionStep.misconception
def state_not_renewed(self, y, s, X):
    """The state that came in is returned. The next step needs the new one, s_new."""
    a, c = _find(self, s, X)
    return _write(self, y, s, torch.sigmoid(self.gate(s)) * c)[0], s, a


@CaptionStep.misconception
def all_cells_alike(self, y, s, X):
    """The context vector is the plain mean of the cells: the weights were not used for it."""
    a, _ = _find(self, s, X)
    return *_write(self, y, s, torch.sigmoid(self.gate(s)) * X.mean(dim=1)), a


@CaptionStep.misconception
def probabilities_of_words(self, y, s, X):
    """These are probabilities: a softmax was applied. The exercise asks for logits; the loss applies its own
    softmax."""
    a, c = _find(self, s, X)
    logits, s_new = _write(self, y, s, torch.sigmoid(self.gate(s)) * c)
    return logits.softmax(dim=-1), s_new, a


@CaptionStep.misconception
def softmax_over_an_axis_of_one(self, y, s, X):
    """All weights are 1: the softmax ran over an axis of size 1, such as the last one of v(…), [B, L, 1]. Remove that
    axis first."""
    a = torch.ones_like(X[..., 0])
    return *_write(self, y, s, torch.sigmoid(self.gate(s)) * (a[:, None] @ X)[:, 0]), a


@CaptionStep.misconception
def state_not_asked(self, y, s, X):
    """The decoder state has no effect on the weights: every token attends to the same cells. W(s) goes into the same
    tanh as U(X)."""
    a, c = _find(self, torch.zeros_like(s), X)
    return *_write(self, y, s, torch.sigmoid(self.gate(s)) * c), a


@CaptionStep.misconception
def log_probabilities_of_words(self, y, s, X):
    """These are log-probabilities: log_softmax was applied. The exercise asks for logits; the loss applies its own
    log_softmax."""
    a, c = _find(self, s, X)
    logits, s_new = _write(self, y, s, torch.sigmoid(self.gate(s)) * c)
    return logits.log_softmax(dim=-1), s_new, a


@CaptionStep.misconception
def gate_applied_twice(self, y, s, X):
    """The context vector is multiplied by β twice. z = β · c."""
    a, c = _find(self, s, X)
    return *_write(self, y, s, torch.sigmoid(self.gate(s)) ** 2 * c), a


@CaptionStep.misconception
def cell_without_its_state(self, y, s, X):
    """The cell begins from a state of 0 at every token, as it does if it is called without a state. Its call is
    self.cell(input, s)."""
    a, c = _find(self, s, X)
    z = torch.sigmoid(self.gate(s)) * c
    s_new = self.cell(torch.cat([self.embedding(y), z], dim=-1))
    return self.out(torch.cat([s_new, z], dim=-1)), s_new, a


@CaptionStep.misconception
def scores_of_cells(self, y, s, X):
    """The third result holds scores. The exercise asks for the weights after the softmax: they are positive and sum to
    1."""
    a, c = _find(self, s, X)
    return *_write(self, y, s, torch.sigmoid(self.gate(s)) * c), _scores(self, s, X)


@CaptionStep.alternative
def with_products(self, y, s, X):
    hidden = torch.tanh((s @ self.W.weight.T).unsqueeze(1) + X @ self.U.weight.T)
    a = (hidden @ self.v.weight[0]).softmax(dim=1)
    z = torch.bmm(a.unsqueeze(1), X).squeeze(1) * self.gate(s).sigmoid()
    s_new = self.cell(torch.hstack((self.embedding(y), z)), s)
    return self.out(torch.hstack((s_new, z))), s_new, a


@CaptionStep.alternative
def weighted_by_hand(self, y, s, X):
    a = torch.softmax(self.v(torch.tanh(self.U(X) + self.W(s)[:, None, :])), dim=1)
    z = torch.sigmoid(self.gate(s)) * (a * X).sum(dim=1)
    s_new = self.cell(torch.cat((self.embedding(y), z), 1), s)
    return self.out(torch.cat((s_new, z), 1)), s_new, a.squeeze(-1)


@CaptionStep.alternative
def caption_by_caption(self, y, s, X):
    found = []
    for word, state, cells in zip(y, s, X):
        a = self.v(torch.tanh(self.W(state) + self.U(cells)))[:, 0].softmax(dim=0)
        z = torch.sigmoid(self.gate(state)) * (a @ cells)
        new = self.cell(torch.cat([self.embedding(word), z])[None], state[None])[0]
        found.append((self.out(torch.cat([new, z])), new, a))
    logits, s_new, a = map(torch.stack, zip(*found))
    return logits, s_new, a
