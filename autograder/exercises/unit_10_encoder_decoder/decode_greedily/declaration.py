"""Exercise 6: greedy decoding with a cache."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_10_encoder_decoder.decode_greedily.toy_translations import (
    CUT,
    LONG,
    all_once,
    counted,
    drawn,
    fill,
    loud,
    translated,
)
from utils.data.translation import PAD, START, STOP

TOKENS, ONCE = "the tokens", "nothing computed twice"


def _case(text, max_length, V=9, part=TOKENS, edit=None, edge=False, **sizes):
    edit = counted if part == ONCE else edit
    return Case(text, part=part, sizes={"max_length": max_length, "V": V, **sizes}, edit=edit, edge=edge)


@exercise(
    points={TOKENS: 2, ONCE: 1},
    section="Decoding without computing twice",
    source="Shazeer 2019, section 2.4, incremental decoding; Vaswani et al. 2017, section 3.2.3",
    outputs="y",
    formula="decoder.read(memory) gives K and V, once; logits, cache = decoder.step(y_{t−1}, K, V, mask, cache), y_t ="
    " argmax(logits); y_0 = [START], cache = None; until all rows have ended or have max_length tokens; y [B, max_length] begins"
    " with y_1, and behind a row's [STOP] it is [PAD]",
    cases=[
        _case("translations that end at different places", 12),
        _case("a larger batch", 15, V=11, B=7),
        _case("translations cut off at max_length", CUT),
        _case("logits in the hundreds", 10, V=8, edit=loud, edge=True),
        _case("a single token each", 1, edge=True),
        _case("translations that never end", LONG, edge=True),
        _case("reads and steps are counted", 13, part=ONCE),
    ],
    draws=drawn,
    differentiable=False,
    waived=dict.fromkeys(
        ("large", "spread", "zero"), "decoder and source are drawn together, until translations end where they should"
    ),
    equivalent={"logits.argmax(dim=1)": "logits have two axes"},
)
def decode_greedily(
    decoder: Callable, memory: Float[Tensor, "B N D"], mask: Bool[Tensor, "B N"], max_length: int
) -> Int[Tensor, "B max_length"]:
    K, V = decoder.read(memory)
    words = mask.new_full((len(memory), max_length), PAD, dtype=torch.long)
    for row in range(len(memory)):
        k, v, allowed = K[row, None], V[row, None], mask[row, None]  # a batch of one
        y, cache = words.new_full((1,), START), None
        for place in range(max_length):
            logits, cache = decoder.step(y, k, v, allowed, cache)
            words[row, place] = y = logits.argmax(dim=-1)
            if y == STOP:
                break
    return words


@decode_greedily.misconception
def cache_not_carried(decoder, memory, mask, max_length):
    """Every step is without a cache, as if each token were the first: self-attention sees the last token alone, and the decoder
    does not know what it has written before. Hand the cache that a step gives to the next step."""
    return fill(translated(decoder, memory, mask, max_length, carry=False), max_length)


@decode_greedily.misconception
def everything_fed_again(decoder, memory, mask, max_length):
    """Tokens that were fed before are fed again for each new token. Their keys and values do not change, and the cache holds
    them: hand the cache that a step gives to the next step, and feed each token once."""
    K, V = decoder.read(memory)
    words = [torch.full((len(memory),), START, device=memory.device)]
    ended = torch.zeros_like(words[0], dtype=torch.bool)
    while len(words) <= max_length and not ended.all():
        cache = None
        for y in words[:-1]:
            _, cache = decoder.step(y, K, V, mask, cache)
        logits, _ = decoder.step(words[-1], K, V, mask, cache)
        words.append(torch.where(ended, PAD, logits.argmax(dim=-1)))
        ended = ended | (words[-1] == STOP)
    return fill(torch.stack(words[1:], dim=1), max_length)


@decode_greedily.misconception
def mask_left_out(decoder, memory, mask, max_length):
    """The decoder attends to the padding of the source as if it were tokens: every position of the mask is True. Give step the
    mask that came in, which is True at tokens alone."""
    return fill(translated(decoder, memory, torch.ones_like(mask), max_length), max_length)


@decode_greedily.misconception
def mask_inverted(decoder, memory, mask, max_length):
    """The mask is the wrong way round: the decoder attends to the padding of the source, and its tokens are hidden. Here True
    means a token, which may be attended to; torch's key_padding_mask is True at padding. Hand the mask on as it came in."""
    return fill(translated(decoder, memory, ~mask, max_length), max_length)


@decode_greedily.misconception
def memory_for_keys_and_values(decoder, memory, mask, max_length):
    """The vectors of the memory are given to step as they are, as keys and as values. Cross-attention has projections of its own
    for them: decoder.read(memory) gives both."""
    return fill(translated(decoder, memory, mask, max_length, reads=False), max_length)


@decode_greedily.misconception
def memory_zeroed(decoder, memory, mask, max_length):
    """The padding of the source is attended to as vectors of 0, where it should be hidden. A key of 0 has a score, 0, and so it
    takes weight from the tokens. Give step the mask that came in: what it hides has no weight at all."""
    everything = torch.ones_like(mask)
    return fill(translated(decoder, memory * mask[..., None], everything, max_length), max_length)


@decode_greedily.misconception
def keys_and_values_exchanged(decoder, memory, mask, max_length):
    """The keys and the values of the source have changed places. decoder.read gives K and then V, and step takes them in this
    order."""
    return fill(translated(decoder, memory, mask, max_length, exchanged=True), max_length)


@decode_greedily.misconception
def starts_with_padding(decoder, memory, mask, max_length):
    """The first token that is fed is number 0, which is [PAD]. A translation begins with [START], number 1."""
    return fill(translated(decoder, memory, mask, max_length, first=PAD), max_length)


@decode_greedily.misconception
def starts_with_stop(decoder, memory, mask, max_length):
    """The first token that is fed is number 2, which is [STOP]. A translation begins with [START], number 1."""
    return fill(translated(decoder, memory, mask, max_length, first=STOP), max_length)


@decode_greedily.misconception
def always_fed_start(decoder, memory, mask, max_length):
    """The decoder is fed [START] at every step. Feed it the tokens that it has just written: the cache holds the tokens that
    were fed, so otherwise it never learns how its translation begins."""
    return fill(translated(decoder, memory, mask, max_length, feed=False), max_length)


@decode_greedily.misconception
def tokens_after_stop(decoder, memory, mask, max_length):
    """Behind a row's [STOP] stand more tokens, which the decoder wrote while other rows were not finished. A translation ends
    with its [STOP], and behind it there is [PAD], 0."""
    return fill(translated(decoder, memory, mask, max_length, pad=None), max_length)


@decode_greedily.misconception
def ended_forgotten(decoder, memory, mask, max_length):
    """A row that has ended goes on after one [PAD], since only the token before is looked at. A row that has written [STOP] stays
    ended: keep a flag for each row, ended = ended | (y == STOP)."""
    return fill(translated(decoder, memory, mask, max_length, until=all_once(), stays=False), max_length)


@decode_greedily.misconception
def ends_with_the_first(decoder, memory, mask, max_length):
    """All rows end where the first of them has written [STOP], so the longer translations are cut off. Go on until all rows have
    ended (all, not any)."""
    return fill(translated(decoder, memory, mask, max_length, until=any), max_length)


@decode_greedily.misconception
def stop_left_off(decoder, memory, mask, max_length):
    """[STOP] is missing: [PAD] stands in its place. It is the last token of a translation, and it tells one that has ended from
    one that was cut off at max_length."""
    words = fill(translated(decoder, memory, mask, max_length), max_length)
    return words.masked_fill(words == STOP, PAD)


@decode_greedily.misconception
def start_takes_a_place(decoder, memory, mask, max_length):
    """The result begins with [START], and the tokens stand one place further on. [START] is fed first, but it is not written by
    the decoder: y begins with the first token."""
    words = fill(translated(decoder, memory, mask, max_length), max_length)
    return torch.cat([torch.full_like(words[:, :1], START), words[:, :-1]], dim=1)


@decode_greedily.misconception
def one_token_short(decoder, memory, mask, max_length):
    """A translation that is cut off has one token fewer than max_length allows: the last place holds [PAD]. max_length counts the
    tokens that are written; [STOP] is one of them, [START] is not."""
    words = fill(translated(decoder, memory, mask, max_length), max_length)
    return torch.cat([words[:, :-1], torch.full_like(words[:, -1:], PAD)], dim=1)


@decode_greedily.misconception
def never_stops(decoder, memory, mask, max_length):
    """The tokens are right, but the decoder is asked for more than the longest translation has. Leave the loop as soon as all
    rows have written [STOP], before the next step; the places that are left hold [PAD]."""
    return translated(decoder, memory, mask, max_length, until=None)


@decode_greedily.misconception
def cut_to_the_longest(decoder, memory, mask, max_length):
    """The tokens are right, but the result is only as wide as the longest translation. It has max_length places in each row,
    those behind [STOP] filled with [PAD]: begin with a tensor of zeros, [B, max_length], and write into it."""
    return translated(decoder, memory, mask, max_length)


@decode_greedily.alternative
def with_a_flag_for_each_row(decoder, memory, mask, max_length):
    return fill(translated(decoder, memory, mask, max_length), max_length)


@decode_greedily.alternative
def padded_afterwards(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    words, cache = torch.full((len(memory), 1), START, device=memory.device), None
    while words.shape[1] <= max_length and not (words == STOP).any(dim=1).all():
        logits, cache = decoder.step(words[:, -1], K, V, mask, cache)
        words = torch.cat([words, logits.max(dim=-1, keepdim=True).indices], dim=1)
    words = torch.nn.functional.pad(words[:, 1:], (0, max_length + 1 - words.shape[1]))
    stops = (words == STOP).long()
    return words * (stops.cumsum(dim=1) == stops)


@decode_greedily.alternative
def only_the_unfinished_are_asked(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    words = torch.zeros(len(memory), max_length, dtype=torch.long, device=memory.device)
    alive, y, cache = torch.arange(len(memory), device=memory.device), torch.ones_like(words[:, 0]), None
    for place in range(max_length):
        logits, cache = decoder.step(y, K[alive], V[alive], mask[alive], cache)
        y = words[alive, place] = logits.argmax(dim=-1)
        going = y != STOP
        alive, y, cache = alive[going], y[going], [one[going] for one in cache]
        if not len(alive):
            break
    return words


@decode_greedily.alternative
def in_lists(decoder, memory, mask, max_length):
    (K, V), cache, rows = decoder.read(memory), None, [[START] for _ in memory]
    for _ in range(max_length):
        if all(row[-1] in (STOP, PAD) for row in rows):
            break
        last = torch.tensor([row[-1] for row in rows], device=memory.device)
        logits, cache = decoder.step(last, K, V, mask, cache)
        for row, word in zip(rows, logits.argmax(dim=-1).tolist()):
            row.append(PAD if row[-1] in (STOP, PAD) else word)
    return torch.tensor([row[1:] + [PAD] * (max_length + 1 - len(row)) for row in rows], device=memory.device)
