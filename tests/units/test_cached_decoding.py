"""Greedy decoding with a cache: the toy translator against torch's attention over whole prefixes, the reference against both."""

import copy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograder.bank.cases.drawing import draw
from autograder.bank.catalogue import find_exercise
from utils.checking import toy_models
from utils.checking.observing.observe import observe
from utils.checking.records import DrawnCase, Helper
from utils.data.translation import PAD, START, STOP

B, N, D, V = 3, 5, 4, 9
RNG = np.random.default_rng(0)
SHAPES = {"E": (V, D), "W": (D, 3 * D), "C": (D, 3 * D), "U": (D, V), "b": (V,)}
HELPER = Helper("ToyTranslator", {name: RNG.standard_normal(shape).astype("f4") for name, shape in SHAPES.items()})
MEMORY = torch.from_numpy(RNG.standard_normal((B, N, D)).astype("f4"))
MASK = torch.arange(N) < torch.tensor([[5], [2], [4]])


def translator(limit=0):
    return toy_models.build(Helper(HELPER.helper, HELPER.arguments, limit), torch.from_numpy)


def all_at_once(toy, words, memory, mask):
    """The logits at each of the words [B, T], computed without a cache: [B, T, V]."""
    X, T = toy.E[words], words.shape[1]
    place = torch.arange(T)
    distance = (place[:, None] - place).float()
    bias = (-toy_models.FALL * distance).masked_fill(distance < 0, -torch.inf)
    X = X + F.scaled_dot_product_attention(*(X @ toy.W).chunk(3, dim=-1), attn_mask=bias.to(X.dtype))
    to_query, *others = toy.C.chunk(3, dim=-1)
    query, (key, value) = X @ to_query, (memory @ one for one in others)
    X = torch.tanh(X + F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None].expand(-1, T, -1)))
    return X @ toy.U + toy.b


def test_with_a_cache_the_logits_are_those_of_the_whole_prefix():
    toy, words = translator(), torch.randint(V, (B, 7), generator=torch.Generator().manual_seed(0))
    K, values = toy.read(MEMORY)
    cache, logits = None, []
    for y in words.T:
        said, cache = toy.step(y, K, values, MASK, cache)
        logits.append(said)
    assert all(one.shape == (B, 7, D) for one in cache)
    torch.testing.assert_close(torch.stack(logits, dim=1), all_at_once(toy, words, MEMORY, MASK))


def test_what_is_hidden_of_the_source_and_what_other_rows_hold_changes_nothing():
    toy, y = translator(), torch.tensor([START] * B)
    logits, _ = toy.step(y, *toy.read(MEMORY), MASK, None)
    others, _ = toy.step(y, *toy.read(MEMORY.masked_fill(~MASK[..., None], 9.0)), MASK, None)
    alone, _ = toy.step(y[:1], *toy.read(MEMORY[:1]), MASK[:1], None)
    torch.testing.assert_close(logits, others)
    torch.testing.assert_close(logits[:1], alone)


def without_a_cache(toy, memory, mask, max_length):
    """The likeliest words, everything read again for each."""
    words = torch.full((len(memory), 1), START)
    for _ in range(max_length):
        new = all_at_once(toy, words, memory, mask)[:, -1].argmax(dim=-1)
        words = torch.cat([words, new.where(~(words == STOP).any(dim=1), torch.tensor(PAD))[:, None]], dim=1)
    return words[:, 1:]


@pytest.mark.parametrize("seed", ["a", "b"])
def test_the_reference_writes_what_is_written_without_a_cache(seed):
    exercise = find_exercise("decode_greedily")
    declared = [case for case in draw(exercise, seed) if case.condition in ("", "edge")]
    assert len(declared) == len(exercise.cases)
    for case in declared:
        given = [torch.from_numpy(case.inputs[name]) for name in ("memory", "mask")]
        toy, limit = toy_models.build(case.inputs["decoder"], torch.from_numpy), case.inputs["max_length"]
        words = exercise.reference(toy, *given, limit)
        assert words.dtype == torch.int64 and words.shape == (len(given[0]), limit)
        assert torch.equal(words, without_a_cache(toy, *given, limit)), case.property


def test_with_a_limit_a_source_is_read_once_and_rows_begin_once():
    toy, y = translator(limit=2 * B), torch.tensor([START] * B)
    K, values = toy.read(MEMORY)
    _, cache = toy.step(y, K, values, MASK, None)
    with pytest.raises(toy_models.AskedTooOften, match="read was called more than once"):
        toy.read(MEMORY)
    with pytest.raises(toy_models.AskedTooOften, match="begun again"):
        toy.step(y, K, values, MASK, None)
    toy = translator(limit=2 * B)
    K, values = toy.read(MEMORY)
    for row in range(B):  # one after the other
        one = slice(row, row + 1)
        _, cache = toy.step(y[one], K[one], values[one], MASK[one], None)
        toy.step(y[one], K[one], values[one], MASK[one], cache)
    with pytest.raises(toy_models.AskedTooOften, match="need 6 words at most"):
        toy.step(y[one], K[one], values[one], MASK[one], cache)


def decodes(decoder, memory, mask, reads=1, begins=1, before=lambda decoder: decoder):
    """Reads as often, and begins all rows as often; `before` is what happens to the decoder before each."""
    for _ in range(reads):
        K, values = before(decoder).read(memory)
    for _ in range(begins):
        logits, _ = before(decoder).step(torch.tensor([START] * B), K, values, mask, None)
    return logits


def forgetting(decoder):
    decoder.asked = decoder.steps = decoder.reads = decoder.rows = decoder.begun = decoder.limit = 0
    return decoder


@pytest.mark.parametrize("before", [forgetting, copy.copy, copy.deepcopy])
@pytest.mark.parametrize(
    ("limit", "often", "said"),
    [
        (9 * B, {"reads": 2}, "read was called more than once"),
        (9 * B, {"begins": 2}, "begun again"),
        (B - 1, {}, "need 2 words at most"),
    ],
)
def test_what_a_translator_counts_is_not_set_back(before, limit, often, said):
    given = {"decoder": replace(HELPER, limit=limit), "memory": MEMORY.numpy(), "mask": MASK.numpy()}
    case = DrawnCase("p", "result", given)
    refused = observe(partial(decodes, before=before, **often), case).failure
    assert refused is not None and said in refused.text and refused.helper
    enough = replace(case, inputs={**given, "decoder": replace(HELPER, limit=B)})
    assert observe(partial(decodes, before=before), enough).failure is None


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"y": torch.tensor([[START]] * B)}, r"last words y \[B\].* given \[3, 1\]"),
        ({"y": torch.ones(B)}, r"integers.* given \[3\] of torch.float32"),
        ({"y": torch.tensor([START, 42, START])}, "from 0 to 8.* given .*42"),
        ({"y": [START] * B}, "given list"),
        ({"K": torch.zeros(B, N)}, r"step takes K \[3, N, 4\]; it was given \[3, 5\]"),
        ({"V": torch.zeros(B, N + 1, D)}, r"step takes V \[3, 5, 4\]; it was given \[3, 6, 4\]"),
        ({"mask": MASK[:, None]}, r"step takes mask \[3, 5\]; it was given \[3, 1, 5\]"),
        ({"mask": MASK.float()}, "True and False; it was given one of torch.float32"),
        ({"cache": torch.zeros(B, 1, D)}, "None at the first step.* it was given"),
        ({"cache": (torch.zeros(B, 1, D),)}, r"None at the first step.* it was given \[3, 1, 4\]"),
        ({"cache": (torch.zeros(2, 1, D),) * 2}, "as many rows as y, 3"),
        ({"cache": (torch.zeros(B, 1, D),) * 2}, "holds 1 words behind 0 steps"),
    ],
)
def test_what_it_is_given_is_looked_at(changed, said):
    toy, y = translator(), torch.tensor([START] * B)
    K, values = toy.read(MEMORY)
    with pytest.raises(ValueError, match=said):
        toy.step(**{"y": y, "K": K, "V": values, "mask": MASK, "cache": None, **changed})


def test_what_a_step_gives_back_is_all_of_the_cache():
    toy, y = translator(), torch.tensor([START] * B)
    K, values = toy.read(MEMORY)
    _, first = toy.step(y, K, values, MASK, None)
    _, second = toy.step(y, K, values, MASK, first)
    doubled = [torch.cat(pair, dim=1) for pair in zip(first, second)]
    with pytest.raises(ValueError, match="holds 3 words behind 2 steps.* append nothing"):
        toy.step(y, K, values, MASK, doubled)
    with pytest.raises(ValueError, match=r"read takes the memory \[B, N, 4\]; it was given \[3, 5\]"):
        toy.read(MEMORY[..., 0])
    with pytest.raises(TypeError, match="not called itself"):
        toy(y)
