"""Exercise 3: a decoder with teacher forcing."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.sentences import sentences
from utils.data.translation import START

WORDS = {"V": 11, "T": 7}


def _drawn(inputs, sizes, rng):
    return {"y": sentences(sizes["B"], sizes["T"], sizes["V"], rng)[0]}


@exercise(
    points=3,
    section="Teacher forcing",
    source="Sutskever, Vinyals and Le 2014",
    outputs="logits",
    formula="s_0 = c; s_t = g_U([embedding(y_{t−1}); c], s_{t−1}) with y_0 = [START]; logits_t = out(s_t); logits [B, T, V]",
    cases=[
        Case("a batch of translations", sizes=WORDS),
        Case("a batch of one", sizes={**WORDS, "B": 1}),
        Case("a single word", sizes={"V": 11, "T": 1}),
        Case("longer translations", sizes={"V": 13, "T": 9}),
    ],
    draws=_drawn,
    equivalent={
        "c], dim=1), s)": "there are two axes",
    },
)
class Decoder(nn.Module):
    def __init__(self, V: int, D_E: int, D_H: int):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.cell = nn.GRUCell(D_E + D_H, D_H)
        self.out = nn.Linear(D_H, V)

    def forward(self, y: Int[Tensor, "B T"], c: Float[Tensor, "B D_H"]) -> Float[Tensor, "B T V"]:
        s, previous, logits = c, torch.full_like(y[:, 0], START), []
        for t in range(y.shape[1]):
            s = self.cell(torch.cat([self.embedding(previous), c], dim=-1), s)
            logits.append(self.out(s))
            previous = y[:, t]
        return torch.stack(logits, dim=1)


def _shifted(y):
    return F.pad(y, (1, 0), value=START)[:, :-1]


def _states(self, words, c, context=None, s=None, carried=True):
    """States [B, T, D_H] for the tokens [B, T] that are fed in; c stands in for whatever is not given."""
    s = first = c if s is None else s
    context = c if context is None else context
    states = []
    for t in range(words.shape[1]):
        s = self.cell(torch.cat([self.embedding(words[:, t]), context], dim=-1), s if carried else first)
        states.append(s)
    return torch.stack(states, dim=1)


@Decoder.misconception
def sees_the_answer(self, y, c):
    """At step t the decoder is fed y_t, the very token that it should predict: the loss would fall to zero, and nothing
    would be learned. Feed the token before it: [START], y_1, …, y_{T−1}."""
    return self.out(_states(self, y, c))


@Decoder.misconception
def shifted_twice(self, y, c):
    """The tokens are shifted by two positions: at step t the decoder is fed y_{t−2}. Feed the token just before y_t:
    [START], y_1, …, y_{T−1}."""
    return self.out(_states(self, _shifted(_shifted(y)), c))


@Decoder.misconception
def starts_with_padding(self, y, c):
    """The first token that is fed in is number 0, which is [PAD]. A translation begins with [START], number 1."""
    return self.out(_states(self, F.pad(y, (1, 0))[:, :-1], c))


@Decoder.misconception
def shifted_around(self, y, c):
    """The first token that is fed in is the last token of y, carried round to the front (by roll, or by the index −1).
    A translation begins with [START]."""
    return self.out(_states(self, y.roll(1, dims=1), c))


@Decoder.misconception(universal=True)
def feeds_its_own_words(self, y, c):
    """The decoder is fed the tokens that it has predicted itself. This is right when it translates. In training with
    teacher forcing it is fed the correct tokens, whatever it has predicted."""
    s, previous, logits = c, torch.full_like(y[:, 0], START), []
    for _ in range(y.shape[1]):
        s = self.cell(torch.cat([self.embedding(previous), c], dim=-1), s)
        logits.append(self.out(s))
        previous = logits[-1].argmax(dim=-1)
    return torch.stack(logits, dim=1)


@Decoder.misconception
def first_state_is_zero(self, y, c):
    """The first state is zero. The decoder begins with the context vector, s_0 = c, which is all that it learns from
    the encoder."""
    return self.out(_states(self, _shifted(y), c, s=torch.zeros_like(c)))


@Decoder.misconception
def context_missing_from_the_input(self, y, c):
    """The context vector is not in the cell's input, only in the first state. It is part of the input at every step,
    after the embedding of the token: [embedding(y_{t−1}); c]."""
    return self.out(_states(self, _shifted(y), c, context=torch.zeros_like(c), s=c))


@Decoder.misconception
def state_in_place_of_the_context(self, y, c):
    """The cell's input holds the last state where the context vector should be. The context vector c stays the same at
    every step; the state is the cell's second argument."""
    s, logits = c, []
    for t in range(y.shape[1]):
        s = self.cell(torch.cat([self.embedding(_shifted(y)[:, t]), s], dim=-1), s)
        logits.append(self.out(s))
    return torch.stack(logits, dim=1)


@Decoder.misconception
def context_before_the_word(self, y, c):
    """Embedding and context vector are joined in the wrong order. The weights of the cell belong to
    [embedding(y_{t−1}); c]: the embedding comes first."""
    s, logits = c, []
    for t in range(y.shape[1]):
        s = self.cell(torch.cat([c, self.embedding(_shifted(y)[:, t])], dim=-1), s)
        logits.append(self.out(s))
    return torch.stack(logits, dim=1)


@Decoder.misconception
def state_not_carried_on(self, y, c):
    """Every step starts from c again: the new state is not carried on, so the decoder forgets what it has read. The
    state s_t goes into step t + 1."""
    return self.out(_states(self, _shifted(y), c, carried=False))


@Decoder.misconception
def predicts_before_it_reads(self, y, c):
    """The logits come from the state before the step, s_{t−1}, so the token that was just fed in has no effect on them
    yet. First compute the new state s_t, then out(s_t)."""
    states = _states(self, _shifted(y), c)
    return self.out(torch.cat([c[:, None], states[:, :-1]], dim=1))


@Decoder.misconception
def probabilities_returned(self, y, c):
    """These are probabilities: they are positive and sum to 1 over the vocabulary. The exercise asks for the logits,
    before any softmax; the loss applies its own."""
    return self.out(_states(self, _shifted(y), c)).softmax(dim=-1)


@Decoder.misconception
def log_probabilities_returned(self, y, c):
    """These are log-probabilities: log_softmax was applied. The exercise asks for the logits themselves; the loss
    applies its own log_softmax."""
    return self.out(_states(self, _shifted(y), c)).log_softmax(dim=-1)


@Decoder.misconception
def stacked_along_the_batch(self, y, c):
    """The steps are stacked along the first axis, [T, B, V]. The batch comes first: torch.stack(…, dim=1)."""
    return self.out(_states(self, _shifted(y), c)).transpose(0, 1)


@Decoder.misconception
def always_fed_start(self, y, c):
    """[START] is fed in at every step. Feed the correct token before the one to be predicted: [START], y_1, …,
    y_{T−1}."""
    return self.out(_states(self, torch.full_like(y, START), c))


@Decoder.misconception
def cell_without_a_state(self, y, c):
    """The cell begins from a state of 0 at every step, as it does if it is called without a state. Its call is
    self.cell(input, s)."""
    return self.out(_states(self, _shifted(y), c, s=torch.zeros_like(c), carried=False))


@Decoder.misconception
def only_the_first_word_replaced(self, y, c):
    """The first token was replaced by [START], and the others stayed where they are, so from the second step on the
    decoder is fed the token that it should predict. Shift all tokens by one position."""
    return self.out(_states(self, torch.cat([torch.full_like(y[:, :1], START), y[:, 1:]], dim=1), c))


@Decoder.misconception
def starts_with_stop(self, y, c):
    """The first token that is fed in is number 2, which is [STOP]. A translation begins with [START], number 1."""
    return self.out(_states(self, F.pad(y, (1, 0), value=2)[:, :-1], c))


@Decoder.misconception
def logits_zeroed_at_padding(self, y, c):
    """The logits at padded positions are set to 0. Compute them like all others: the loss is what leaves padding
    out."""
    return self.out(_states(self, _shifted(y), c)) * (y != 0)[..., None]


@Decoder.alternative
def shifted_all_at_once(self, y, c):
    words = torch.cat([y.new_full((len(y), 1), START), y[:, :-1]], dim=1)
    X = torch.cat([self.embedding(words), c.unsqueeze(1).expand(-1, words.shape[1], -1)], dim=-1)
    s, states = c, []
    for x in X.unbind(dim=1):
        s = self.cell(x, s)
        states.append(s)
    return self.out(torch.stack(states, dim=1))


@Decoder.alternative
def with_a_fused_gru(self, y, c):
    words = torch.cat([torch.ones_like(y[:, :1]), y[:, :-1]], dim=1)
    X = torch.cat([self.embedding(words), c[:, None].repeat(1, y.shape[1], 1)], dim=-1)
    weights = [self.cell.weight_ih, self.cell.weight_hh, self.cell.bias_ih, self.cell.bias_hh]
    states, _ = torch.gru(X, c[None], weights, True, 1, 0.0, False, False, True)
    return self.out(states)


@Decoder.alternative
def sentence_by_sentence(self, y, c):
    rows = []
    for words, context in zip(y, c):
        s, previous, row = context, torch.tensor(START, device=y.device), []
        for word in words:
            s = self.cell(torch.cat([self.embedding.weight[previous], context])[None], s[None])[0]
            row.append(s @ self.out.weight.T + self.out.bias)
            previous = word
        rows.append(torch.stack(row))
    return torch.stack(rows)


@Decoder.alternative
def filled_in_place(self, y, c):
    words = torch.empty_like(y)
    words[:, 0] = START
    words[:, 1:] = y[:, :-1]
    logits = c.new_empty(*y.shape, self.out.out_features)
    s = c
    for t in range(y.shape[1]):
        s = self.cell(torch.hstack([self.embedding(words[:, t]), c]), s)
        logits[:, t] = self.out(s)
    return logits
