"""Exercise 7: the whole decoder, with teacher forcing and a step that attends."""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_02_bahdanau_attention._shared import padding_mask
from utils.checking.records import Helper
from utils.data.translation import PAD, START, STOP

WORDS = {"V": 13}


def _drawn(inputs, sizes, rng):
    B, T, V, D_S, D_H = (sizes[name] for name in ("B", "T_y", "V", "D_S", "D_H"))
    shapes = {"E": (V, D_S), "W": (D_S, D_S), "K": (D_S, D_H), "C": (D_H, D_S), "U": (D_S, V)}
    arrays = {
        name: (rng.standard_normal(shape) * shape[0] ** -0.5 * (3 if name == "E" else 1)).astype(np.float32)
        for name, shape in shapes.items()
    }
    y = rng.integers(STOP + 1, V, size=(B, T))
    y[:, -1] = STOP
    for row in range(B if B > 1 and T > 3 else 0):
        ends = 3 if row == 0 else int(rng.integers(2, 4))  # every row ends early, and padding is fed
        y[row, -ends:] = [STOP] + [PAD] * (ends - 1)
    return {"step": Helper("ToyAttentionStep", arrays), "y": y, "mask": padding_mask(inputs["mask"].shape, rng)}


@exercise(
    points=2,
    section="Training a translator with attention",
    source="Bahdanau, Cho and Bengio 2015, section 3.1",
    outputs="logits A",
    gradients="logits",
    formula="logits_t, s_t, a_t = step(y_{t−1}, s_{t−1}, H, mask) with y_0 = [START]; logits [B, T_y, V], A [B, T_y, T_x]",
    cases=[
        Case("a batch", sizes=WORDS),
        Case("a batch of one", sizes={**WORDS, "B": 1}),
        Case("a single word", sizes={**WORDS, "T_y": 1}),
        Case("long translations", sizes={"V": 15, "T_y": 11}),
    ],
    draws=_drawn,
)
def decode_with_attention(
    step: Callable,
    y: Int[Tensor, "B T_y"],
    s: Float[Tensor, "B D_S"],
    H: Float[Tensor, "B T_x D_H"],
    mask: Bool[Tensor, "B T_x"],
) -> tuple[Float[Tensor, "B T_y V"], Float[Tensor, "B T_y T_x"]]:
    previous, logits, weights = torch.full_like(y[:, 0], START), [], []
    for t in range(y.shape[1]):
        scores, s, a = step(previous, s, H, mask)
        logits.append(scores)
        weights.append(a)
        previous = y[:, t]
    return torch.stack(logits, dim=1), torch.stack(weights, dim=1)


def _shifted(y, first=START):
    return F.pad(y, (1, 0), value=first)[:, :-1]


def _run(step, words, s, H, mask, carried=True):
    found = []
    for word in words.unbind(dim=1):
        scores, new, a = step(word, s, H, mask)
        s = new if carried else s
        found.append((scores, a))
    logits, weights = (torch.stack(one, dim=1) for one in zip(*found))
    return logits, weights


@decode_with_attention.misconception
def reads_the_answer(step, y, s, H, mask):
    """At step t the decoder is fed y_t, the token that it should predict. Feed the token before it: [START], y_1, …,
    y_{T−1}."""
    return _run(step, y, s, H, mask)


@decode_with_attention.misconception
def shifted_by_two(step, y, s, H, mask):
    """The tokens are shifted by two positions. Feed the token just before the one to be predicted: [START], y_1, …,
    y_{T−1}."""
    return _run(step, _shifted(_shifted(y)), s, H, mask)


@decode_with_attention.misconception
def begins_with_padding(step, y, s, H, mask):
    """The first token that is fed in is number 0, which is [PAD]. A translation begins with [START], number 1."""
    return _run(step, _shifted(y, PAD), s, H, mask)


@decode_with_attention.misconception
def carried_round(step, y, s, H, mask):
    """The first token that is fed in is the last token of y, carried round to the front (by roll, or by the index −1).
    A translation begins with [START]."""
    return _run(step, y.roll(1, dims=1), s, H, mask)


@decode_with_attention.misconception
def follows_its_own_words(step, y, s, H, mask):
    """The decoder is fed the tokens that it has predicted itself. With teacher forcing it is fed the correct tokens."""
    previous, logits, weights = torch.full_like(y[:, 0], START), [], []
    for _ in range(y.shape[1]):
        scores, s, a = step(previous, s, H, mask)
        logits.append(scores)
        weights.append(a)
        previous = scores.argmax(dim=-1)
    return torch.stack(logits, dim=1), torch.stack(weights, dim=1)


@decode_with_attention.misconception
def always_the_first_state(step, y, s, H, mask):
    """Every step is given the first state: the new state is not carried on. The state that a step returns goes into the
    next step."""
    return _run(step, _shifted(y), s, H, mask, carried=False)


@decode_with_attention.misconception
def mask_not_passed_on(step, y, s, H, mask):
    """The decoder attends to padding, too: the step is given a mask that is True everywhere. Pass on the mask as it
    is."""
    return _run(step, _shifted(y), s, H, torch.ones_like(mask))


@decode_with_attention.misconception
def mask_handed_on_turned(step, y, s, H, mask):
    """The step is given the inverted mask, so the decoder attends to the padding alone; where a sentence has no
    padding, nothing is left and the weights are NaN. True means that this position may be attended to."""
    return _run(step, _shifted(y), s, H, ~mask)


@decode_with_attention.misconception
def start_fed_each_time(step, y, s, H, mask):
    """Every step is fed [START]. Only the first step is; each later step is fed the correct token before the one to be
    predicted: y_1, y_2, …"""
    return _run(step, torch.full_like(y, START), s, H, mask)


@decode_with_attention.misconception
def begins_with_a_zero_state(step, y, s, H, mask):
    """The first state is zero. The decoder begins with the state s that it is given."""
    return _run(step, _shifted(y), torch.zeros_like(s), H, mask)


@decode_with_attention.misconception
def weights_of_the_last_step(step, y, s, H, mask):
    """All rows of A are the weights of one step. Each step has its own row: keep all of them and stack them."""
    logits, weights = _run(step, _shifted(y), s, H, mask)
    return logits, weights[:, -1:].expand_as(weights)


@decode_with_attention.misconception
def steps_along_the_first_axis(step, y, s, H, mask):
    """The steps are stacked along the first axis. The batch comes first, then the steps: torch.stack(…, dim=1)."""
    logits, weights = _run(step, _shifted(y), s, H, mask)
    return logits.transpose(0, 1), weights.transpose(0, 1)


@decode_with_attention.misconception
def weights_by_word_first(step, y, s, H, mask):
    """The last two axes of A are swapped. Its rows belong to the tokens that are written, its columns to the tokens
    that are attended to: [B, T_y, T_x]."""
    logits, weights = _run(step, _shifted(y), s, H, mask)
    return logits, weights.mT


@decode_with_attention.misconception
def decoded_to_probabilities(step, y, s, H, mask):
    """These are probabilities: a softmax was applied. The exercise asks for logits; the loss applies its own
    softmax."""
    logits, weights = _run(step, _shifted(y), s, H, mask)
    return logits.softmax(dim=-1), weights


@decode_with_attention.alternative
def shifted_first(step, y, s, H, mask):
    fed = torch.cat([torch.full((len(y), 1), START, device=y.device, dtype=y.dtype), y[:, :-1]], dim=1)
    logits, A = [], []
    for t in range(fed.shape[1]):
        out, s, a = step(fed[:, t], s, H, mask)
        logits.append(out)
        A.append(a)
    return torch.stack(logits, 1), torch.stack(A, 1)


@decode_with_attention.alternative
def recursively(step, y, s, H, mask):
    def rest(t, previous, s):
        if t == y.shape[1]:
            return []
        out, s, a = step(previous, s, H, mask)
        return [(out, a), *rest(t + 1, y[:, t], s)]

    found = rest(0, torch.ones_like(y[:, 0]), s)
    return torch.stack([out for out, _ in found], dim=1), torch.stack([a for _, a in found], dim=1)


@decode_with_attention.alternative
def filled_tensors(step, y, s, H, mask):
    first, s_next, a = step(torch.full_like(y[:, 0], START), s, H, mask)
    logits = first.new_zeros(*y.shape, first.shape[-1])
    A = a.new_zeros(*y.shape, a.shape[-1])
    logits[:, 0], A[:, 0] = first, a
    for t in range(1, y.shape[1]):
        logits[:, t], s_next, A[:, t] = step(y[:, t - 1], s_next, H, mask)
    return logits, A
