"""Exercise 5: greedy decoding that stops."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.sentences import NEVER, written
from autograder.exercises.unit_01_rnn_seq2seq._shared import built, draw_until
from utils.data.translation import PAD, START, STOP

CUT, MANY = 4, 7  # a max_length that cuts some sentences off, and the size of a large batch


def _drawn(inputs, sizes, rng):
    limit = inputs["max_length"]

    def fits(decoder, s):
        if "B" not in sizes:
            return False
        words = _greedy(built(decoder), torch.from_numpy(s), limit + 3)
        lengths = written(words)
        ends = (words == STOP).any(1)
        if limit <= CUT:
            return bool((lengths > limit).any() and 1 < lengths.min() < limit - 1)
        several = len(s) == 1 or (lengths.min() < lengths.max() - 1 and lengths.argmax() > 0)
        soon = len(s) < MANY or lengths.min() == 1  # in a large batch, a sentence that ends at once
        return bool(ends.all() and several and soon and 4 <= lengths.max() < limit - 1)

    drawn = draw_until(fits, sizes, rng, (sizes["B"], sizes["D_H"]), stop=0.6)
    needed = _greedy(built(drawn["decoder"]), torch.from_numpy(drawn["s"]), limit).shape[1]
    return {**drawn, "decoder": replace(drawn["decoder"], limit=needed * sizes["B"])}


def _with(inputs, **arrays):
    """Gives the drawn decoder other arrays."""
    decoder = inputs["decoder"]
    inputs["decoder"] = replace(decoder, arguments={**decoder.arguments, **arrays})


def _loud(inputs, rng):
    """Logits in the hundreds; which is the largest stays as it was."""
    given = inputs["decoder"].arguments
    _with(inputs, U=given["U"] * 300, b=given["b"] * 300)


def _endless(inputs, rng):
    """A [STOP] that never comes."""
    b = inputs["decoder"].arguments["b"].copy()
    b[STOP] = NEVER
    _with(inputs, b=b)
    inputs["decoder"] = replace(inputs["decoder"], limit=inputs["max_length"] * len(inputs["s"]))


def _no_words(inputs, rng):
    """[PAD] and [START] in the place of two other tokens, so that now and then they are the most likely."""
    words = _greedy(built(inputs["decoder"]), torch.from_numpy(inputs["s"]), inputs["max_length"])
    said, often = words[words > STOP].unique(return_counts=True)
    order = np.arange(len(inputs["decoder"].arguments["b"]))
    for special, word in zip((PAD, START), said[often.argsort(descending=True)].tolist()):
        order[[special, word]] = order[[word, special]]
    given = inputs["decoder"].arguments
    E = given["E"][order]
    E[START] = given["E"][START]  # with which every sentence begins
    _with(inputs, E=E, U=given["U"][:, order], b=given["b"][order])
    needed = _greedy(built(inputs["decoder"]), torch.from_numpy(inputs["s"]), inputs["max_length"]).shape[1]
    inputs["decoder"] = replace(inputs["decoder"], limit=needed * len(inputs["s"]))


def _greedy(decoder, s, max_length):
    y, ended, words = (
        torch.full((len(s),), START, device=s.device),
        torch.zeros(len(s), dtype=torch.bool, device=s.device),
        [],
    )
    while len(words) < max_length and not ended.all():
        logits, s = decoder(y, s)
        y = torch.where(ended, PAD, logits.argmax(dim=-1))
        ended = ended | (y == STOP)
        words.append(y)
    return torch.stack(words, dim=1)


@exercise(
    points={"one sentence": 1, "a batch": 2},
    section="Greedy decoding",
    source="Sutskever, Vinyals and Le 2014, section 3.2",
    outputs="y",
    formula="y [B, L]: logits, s = decoder(y_{t−1}, s), y_t = argmax(logits), y_0 = [START] (not part of y); [PAD] after a"
    " sentence's [STOP]; L: as many tokens as the longest sentence needs, at most max_length",
    cases=[
        Case(
            "a batch whose sentences end at different places", values={"max_length": 12}, sizes={"V": 9}, part="a batch"
        ),
        Case("a larger batch", values={"max_length": 15}, sizes={"V": 11, "B": MANY}, part="a batch"),
        Case("one sentence", values={"max_length": 12}, sizes={"V": 9, "B": 1}, part="one sentence"),
        Case("sentences cut off at max_length", values={"max_length": CUT}, sizes={"V": 9}, part="a batch"),
        Case("logits in the hundreds", values={"max_length": 12}, sizes={"V": 9}, part="a batch", edit=_loud),
        Case(
            "sentences of forty words",
            values={"max_length": 40},
            sizes={"V": 9},
            part="a batch",
            edit=_endless,
            edge=True,
        ),
        Case(
            "[PAD] and [START] among the likeliest words",
            values={"max_length": 12},
            sizes={"V": 9, "B": 2},
            part="a batch",
            edit=_no_words,
            edge=True,
        ),
        Case("one more sentence", values={"max_length": 9}, sizes={"V": 12, "B": 1}, part="one sentence"),
    ],
    draws=_drawn,
    differentiable=False,
    waived=dict.fromkeys(
        ("large", "spread", "zero"), "decoder and state are drawn together, until sentences end where they should"
    ),
)
def greedy_decode(decoder: Callable, s: Float[Tensor, "B D_H"], max_length: int) -> Int[Tensor, "B L"]:
    return _greedy(decoder, s, max_length)


def _steps(decoder, s, max_length, first=START, choose=torch.argmax, carry=True, feed=True, until=lambda words: False):
    """All max_length tokens [B, max_length], without looking for [STOP]; fewer where `until` says that they are enough."""
    y = torch.full((len(s),), first, device=s.device)
    words = []
    for _ in range(max_length):
        logits, new = decoder(y, s)
        s = new if carry else s
        chosen = choose(logits, dim=-1)
        y = chosen if feed else y
        words.append(chosen)
        if until(torch.stack(words, dim=1)):
            break
    return torch.stack(words, dim=1)


def _until_all_stop(decoder, s, max_length, **options):
    """The tokens until every sentence has a [STOP], with whatever the decoder writes after it."""
    return _steps(decoder, s, max_length, until=lambda words: (words == STOP).any(dim=1).all(), **options)


def _padded(words):
    after = (words == STOP).cumsum(dim=1) - (words == STOP).long() > 0
    return words.masked_fill(after, PAD)


@greedy_decode.misconception
def never_stops(decoder, s, max_length):
    """The decoder is asked for more tokens although every sentence has written its [STOP]. Leave the loop as soon as
    all sentences have ended, before the next step. They end at different steps, so remember which have ended."""
    return _padded(_steps(decoder, s, max_length))


@greedy_decode.misconception
def words_after_stop(decoder, s, max_length):
    """After a sentence's [STOP] more tokens follow, which the decoder wrote while longer sentences were not finished.
    After its [STOP] a sentence holds [PAD], 0."""
    return _until_all_stop(decoder, s, max_length)


@greedy_decode.misconception
def ends_with_the_first(decoder, s, max_length):
    """The result ends where the first sentence has ended, so the others are cut off. Go on until all sentences have
    ended (all, not any)."""
    words = _greedy(decoder, s, max_length)
    first = int(written(words).min())
    return words[:, :first]


@greedy_decode.misconception
def stop_left_off(decoder, s, max_length):
    """[STOP] is left out of the result. It is the last token of a sentence, and it tells a sentence that has ended from
    one that was cut off at max_length."""
    words = _greedy(decoder, s, max_length)
    return words.masked_fill(words == STOP, PAD)


@greedy_decode.misconception
def start_included(decoder, s, max_length):
    """The result begins with [START]. The decoder is fed [START] first, but it is not part of the translation."""
    words = _greedy(decoder, s, max_length)
    return torch.cat([torch.full_like(words[:, :1], START), words], dim=1)


@greedy_decode.misconception
def starts_with_padding(decoder, s, max_length):
    """The first token that is fed in is number 0, which is [PAD]. A translation begins with [START], number 1."""
    return _padded(_until_all_stop(decoder, s, max_length, first=PAD))


@greedy_decode.misconception
def always_fed_start(decoder, s, max_length):
    """The decoder is fed [START] at every step. Feed it the token that it has just written: otherwise it does not know
    how its sentence goes on."""
    return _padded(_until_all_stop(decoder, s, max_length, feed=False))


@greedy_decode.misconception
def state_not_carried(decoder, s, max_length):
    """The state is not carried on: the decoder is given the first state at every step. It returns the logits and the
    new state, and the new state goes into the next step."""
    return _padded(_until_all_stop(decoder, s, max_length, carry=False))


@greedy_decode.misconception
def least_likely_word(decoder, s, max_length):
    """The least likely token is taken at each step: argmin, or argmax of the logits times −1."""
    return _padded(_steps(decoder, s, max_length, choose=torch.argmin))


@greedy_decode.misconception
def one_word_short(decoder, s, max_length):
    """One token fewer is written than max_length allows. max_length counts the tokens that are returned; [STOP] is one
    of them, [START] is not."""
    return _greedy(decoder, s, max_length - 1)


@greedy_decode.misconception
def padded_to_max_length(decoder, s, max_length):
    """The tokens are right, but the result is always max_length wide. L is the number of tokens that the longest
    sentence of the batch needs."""
    words = _greedy(decoder, s, max_length)
    return torch.nn.functional.pad(words, (0, max_length - words.shape[1]), value=PAD)


@greedy_decode.misconception
def time_before_batch(decoder, s, max_length):
    """The tokens are stacked along the first axis, [L, B]. The batch comes first: torch.stack(…, dim=1)."""
    return _greedy(decoder, s, max_length).T


@greedy_decode.misconception
def stop_not_looked_for(decoder, s, max_length):
    """[STOP] has no effect: every sentence goes on to max_length, and what the decoder writes after [STOP] stays in the
    result. Remember which sentences have ended, write [PAD] in them from then on, and leave the loop when all have
    ended."""
    return _steps(decoder, s, max_length)


@greedy_decode.misconception
def filled_with_stop(decoder, s, max_length):
    """After a sentence's [STOP] more [STOP] follow. After its first [STOP] a sentence holds [PAD], 0."""
    words = _greedy(decoder, s, max_length)
    return words.masked_fill(words == PAD, STOP)


@greedy_decode.misconception
def starts_with_stop(decoder, s, max_length):
    """The first token that is fed in is number 2, which is [STOP]. A translation begins with [START], number 1."""
    return _padded(_until_all_stop(decoder, s, max_length, first=STOP))


@greedy_decode.misconception
def max_length_ignored(decoder, s, max_length):
    """Sentences that have not ended after max_length tokens go on. Write at most max_length tokens."""
    return _greedy(decoder, s, 10 * max_length)


@greedy_decode.alternative
def one_sentence_after_the_other(decoder, s, max_length):
    rows = []
    for state in s.split(1):
        y, row = torch.tensor([START], device=s.device), []
        while len(row) < max_length and (not row or row[-1] != STOP):
            logits, state = decoder(y, state)
            y = logits.argmax(dim=-1)
            row.append(y.item())
        rows.append(torch.tensor(row, device=s.device))
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


@greedy_decode.alternative
def sentence_by_sentence(decoder, s, max_length):
    words = torch.full((len(s), max_length), PAD, device=s.device)
    y, ended, length = torch.tensor([START] * len(s), device=s.device), [False] * len(s), 0
    while length < max_length and not all(ended):
        logits, s = decoder(y, s)
        y = logits.argmax(-1)
        for b, word in enumerate(y.tolist()):
            if not ended[b]:
                words[b, length] = word
                ended[b] = word == STOP
        length += 1
    return words[:, :length]


@greedy_decode.alternative
def masked_afterwards(decoder, s, max_length):
    words = torch.full((len(s), 1), START, device=s.device)
    for _ in range(max_length):
        logits, s = decoder(words[:, -1], s)
        words = torch.cat([words, logits.max(dim=-1, keepdim=True).indices], dim=1)
        if bool((words == STOP).any(dim=1).all()):
            break
    words = words[:, 1:]
    before = (words == STOP).long().cumsum(1).roll(1, 1)
    before[:, 0] = 0
    return words * (before == 0)


@greedy_decode.alternative
def only_the_unfinished_are_asked(decoder, s, max_length):
    words = torch.zeros(len(s), max_length, dtype=torch.long, device=s.device)
    alive, y, length = torch.arange(len(s), device=s.device), torch.ones(len(s), dtype=torch.long, device=s.device), 0
    while length < max_length and len(alive):
        logits, s = decoder(y, s)
        y = logits.argmax(-1)
        words[alive, length] = y
        going = y != STOP
        alive, y, s, length = alive[going], y[going], s[going], length + 1
    return words[:, :length]
