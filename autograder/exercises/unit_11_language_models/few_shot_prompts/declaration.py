"""Exercise 7: prompts of different numbers of examples in one batch, padded on the left."""

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

HIGHEST = 99  # of the tokens' numbers, so that they are short to read; more where there are more tokens


def _drawn(inputs, sizes, rng):
    """Tokens that are all different, and different from pad; numbers of examples from 1 to K − 1, or 1 and 0 where K is 1."""
    B, K = sizes["B"], sizes["K"]
    count = B * (2 * K + 1) + 1
    tokens = rng.permutation(max(HIGHEST, 2 * count))[:count] + 1
    x, y, query, pad = np.split(tokens, np.cumsum([B * K, B * K, B]))
    some = rng.permutation(max(K - 1, 1)) + 1
    examples = np.resize(some if K > 1 else [1, 0], B)
    return {"x": x.reshape(B, K), "y": y.reshape(B, K), "query": query, "examples": examples, "pad": int(pad[0])}


def _of(*examples):
    """An edit that gives the first prompts these numbers of examples; −1 stands for K, −2 for K − 1."""

    def edit(inputs, rng):
        K = inputs["x"].shape[1]
        inputs["examples"][: len(examples)] = [e if e >= 0 else K + 1 + e for e in examples]

    return edit


def _pad_among_tokens(inputs, rng):
    """The number of pad as a question, an answer and a query that the prompts hold."""
    pad, K = inputs["pad"], inputs["x"].shape[1]
    inputs["examples"][:3] = 2, K, K - 1
    inputs["x"][0, 0] = inputs["x"][2, 1] = inputs["y"][1, 1] = inputs["y"][0, K - 1] = inputs["query"][2] = pad


def _repeated(inputs, rng):
    """Questions that are asked again, and answers that are questions elsewhere; one of these tokens is 0."""
    x, y, query, K = inputs["x"], inputs["y"], inputs["query"], inputs["x"].shape[1]
    inputs["examples"][:3] = K - 1, K, 2
    x[1, 0] = 0
    query[:3] = x[:3, 0]
    x[:3, 1] = y[:3, 0]
    y[0, 1], y[1, 1], x[1, 2] = y[0, 0], x[1, 0], x[1, 0]


def _with_zeros(inputs, rng):
    """The token 0 as a question, an answer and a query that the prompts hold."""
    inputs["examples"][:3] = 2, 3, 1
    inputs["x"][0, 1] = inputs["y"][1, 0] = inputs["query"][2] = 0


def _few_tokens(inputs, rng):
    """Tokens 0 and 1 alone, of which 0 is pad as well."""
    for name in ("x", "y", "query"):
        inputs[name] = rng.integers(0, 2, size=inputs[name].shape)
    inputs["pad"] = 0


def _pad_is_negative(inputs, rng):
    inputs["pad"] = -100


def _enormous(inputs, rng):
    """Numbers that single precision does not tell from their neighbours."""
    for name in ("x", "y", "query"):
        inputs[name] = inputs[name] + 2**40


@exercise(
    points=2,
    section="Zero-shot, one-shot, few-shot",
    source="Brown et al. 2020, section 2 and figure 2.1; Garg et al. 2022, section 2; padding_side of transformers' tokenizers",
    outputs="tokens mask predicts",
    formula="with e = examples[b] and s = 2·(K − e): tokens[b] = (pad, …, pad, x[b, 0], y[b, 0], …, x[b, e−1], y[b, e−1],"
    " query[b]), where pad stands s times; mask[b, n] = (n ≥ s); predicts[b, n] is True at each x and at the query, so where"
    " n ≥ s and n is even; n = 0, …, 2K; tokens, mask and predicts [B, 2*K+1], torch.int64, torch.bool and torch.bool",
    cases=[
        Case("prompts with different numbers of examples"),
        Case("prompts without examples beside others", sizes={"B": 4, "K": 3}, edit=_of(2, 0, 1, 0)),
        Case("prompts that use all K examples, and one that does not", sizes={"B": 3, "K": 4}, edit=_of(-1, -1, -2)),
        Case("more prompts than a prompt has tokens", sizes={"B": 6, "K": 2}, edit=_of(1, 2, 1, 0)),
        Case("tokens that have the number of pad", sizes={"B": 3, "K": 5}, edit=_pad_among_tokens),
        Case("tokens of which some are 0", sizes={"B": 3, "K": 4}, edit=_with_zeros),
        Case("tokens that occur several times in a prompt", sizes={"B": 5, "K": 4}, edit=_repeated),
        Case("a single prompt", sizes={"B": 1, "K": 4}, edit=_of(2)),
        Case("all prompts without examples", sizes={"B": 3, "K": 4}, edit=_of(0, 0, 0), edge=True),
        Case("all prompts use all K examples", sizes={"B": 4, "K": 3}, edit=_of(-1, -1, -1, -1), edge=True),
        Case("a negative pad", sizes={"B": 4, "K": 5}, edit=_pad_is_negative, edge=True),
        Case("tokens with very large numbers", sizes={"B": 4, "K": 5}, edit=_enormous, edge=True),
        Case("two tokens in all, of which one is pad", sizes={"B": 4, "K": 6}, edit=_few_tokens, edge=True),
        Case("hundreds of examples", sizes={"B": 3, "K": 150}, edit=_of(-2, 0, 77), edge=True),
    ],
    draws=_drawn,
    differentiable=False,
)
def few_shot_prompts(
    x: Int[Tensor, "B K"], y: Int[Tensor, "B K"], query: Int[Tensor, "B"], examples: Int[Tensor, "B"], pad: int
) -> tuple[Int[Tensor, "B 2*K+1"], Bool[Tensor, "B 2*K+1"], Bool[Tensor, "B 2*K+1"]]:
    tokens, mask, predicts = [], [], []
    for questions, answers, asked, e in zip(x.tolist(), y.tolist(), query.tolist(), examples.tolist()):
        pairs = [token for pair in list(zip(questions, answers))[:e] for token in pair]
        padding = 2 * (len(questions) - e)
        tokens.append([pad] * padding + pairs + [asked])
        mask.append([False] * padding + [True] * (2 * e + 1))
        predicts.append([False] * padding + [True, False] * e + [True])
    return tuple(torch.tensor(table, device=x.device) for table in (tokens, mask, predicts))  # [B, 2K+1] each


def _places(x):
    """The positions of a prompt, [2K+1]."""
    return torch.arange(2 * x.shape[1] + 1, device=x.device)


def _padding(x, examples):
    """How many positions stand in front of each prompt, [B, 1]."""
    return 2 * (x.shape[1] - examples)[:, None]


def _pairs(x, y):
    """All K examples, question and answer in turn, [B, 2K]."""
    return torch.stack([x, y], dim=2).flatten(1)


def _real(x, examples):
    """[B, 2K+1], True at the prompt and False at the padding."""
    return _places(x) >= _padding(x, examples)


def _at_questions(x, examples):
    """[B, 2K+1], True at the questions that are used and at the query."""
    return _real(x, examples) & (_places(x) % 2 == 0)


def _first(pairs, x, query, examples, pad):
    """The first examples of each prompt moved to the right, pad in front of them and the query behind, [B, 2K+1]."""
    moved = pairs.gather(1, (_places(x)[:-1] - _padding(x, examples)).clamp(min=0))  # [B, 2K]
    return torch.cat([moved, query[:, None]], dim=1).masked_fill(~_real(x, examples), pad)


def _made(x, y, query, examples, pad, tokens=None, mask=None, predicts=None):
    """What is right, but for those results that are given."""
    return (
        _first(_pairs(x, y), x, query, examples, pad) if tokens is None else tokens,
        _real(x, examples) if mask is None else mask,
        _at_questions(x, examples) if predicts is None else predicts,
    )


@few_shot_prompts.alternative
def as_a_student(x, y, query, examples, pad):
    B, K = x.shape
    tokens = torch.full((B, 2 * K + 1), pad, dtype=x.dtype, device=x.device)
    mask = torch.zeros(B, 2 * K + 1, dtype=torch.bool, device=x.device)
    predicts = torch.zeros_like(mask)
    for b in range(B):
        e = int(examples[b])
        start = 2 * (K - e)
        for k in range(e):
            tokens[b, start + 2 * k] = x[b, k]
            tokens[b, start + 2 * k + 1] = y[b, k]
            predicts[b, start + 2 * k] = True
        tokens[b, -1] = query[b]
        predicts[b, -1] = True
        mask[b, start:] = True
    return tokens, mask, predicts


@few_shot_prompts.alternative
def with_slices(x, y, query, examples, pad):
    B, K = x.shape
    tokens = x.new_full((B, 2 * K + 1), pad)
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    predicts = torch.zeros_like(tokens, dtype=torch.bool)
    for b, e in enumerate(examples):
        first = 2 * (K - e)
        tokens[b, first:-1:2], tokens[b, first + 1 :: 2], tokens[b, -1] = x[b, :e], y[b, :e], query[b]
        mask[b, first:] = predicts[b, first::2] = True
    return tokens, mask, predicts


@few_shot_prompts.alternative
def by_gathering(x, y, query, examples, pad):
    B, K = x.shape
    whole = torch.cat([torch.stack((x, y), dim=-1).reshape(B, 2 * K), query.unsqueeze(1)], dim=1)
    n = torch.arange(2 * K + 1, device=x.device)
    start = (2 * (K - examples)).unsqueeze(1)
    index = torch.where(n == 2 * K, 2 * K, (n - start).clamp(min=0))
    mask = n >= start
    return torch.where(mask, whole.gather(1, index), pad), mask, mask & ((n - start) % 2 == 0)


@few_shot_prompts.alternative
def by_rolling_each(x, y, query, examples, pad):
    K, tokens = x.shape[1], []
    for b, e in enumerate(examples.tolist()):
        row = torch.stack((x[b], y[b])).T.flatten()
        row[2 * e :] = pad
        tokens.append(torch.cat((row.roll(2 * (K - e)), query[b : b + 1])))
    last = torch.arange(2 * K, -1, -1, device=x.device)  # how many tokens follow
    mask = last <= 2 * examples[:, None]
    return torch.stack(tokens), mask, mask.logical_and(last % 2 == 0)


@few_shot_prompts.alternative
def by_scattering(x, y, query, examples, pad):
    """Each token is written to its place, those that are not used to a place that is cut off."""
    B, K = x.shape
    k = torch.arange(K, device=x.device)
    to = torch.where(k < examples[:, None], 2 * (K - examples[:, None] + k), 2 * K + 1)
    tokens = torch.full((B, 2 * K + 3), pad, dtype=x.dtype, device=x.device)
    tokens.scatter_(1, to, x).scatter_(1, to + 1, y)
    predicts = torch.zeros(B, 2 * K + 3, dtype=torch.bool, device=x.device).scatter_(1, to, True)
    tokens[:, 2 * K] = query
    predicts[:, 2 * K] = True
    mask = predicts | predicts.roll(1, dims=1)
    mask[:, 0] = predicts[:, 0]
    return tokens[:, : 2 * K + 1], mask[:, : 2 * K + 1], predicts[:, : 2 * K + 1]


@few_shot_prompts.alternative
def with_pad_sequence(x, y, query, examples, pad):
    """Written backwards and padded on the right, then turned round."""
    K, backwards = x.shape[1], []
    for b, e in enumerate(examples.tolist()):
        backwards.append(torch.cat([query[b].view(1), torch.stack([x[b, :e], y[b, :e]], dim=1).flatten().flip(0)]))
    backwards.append(x.new_zeros(2 * K + 1))  # so that all are padded to this length
    tokens = torch.nn.utils.rnn.pad_sequence(backwards, batch_first=True, padding_value=pad)[:-1].flip(1)
    lengths = torch.tensor([len(one) for one in backwards[:-1]], device=x.device)
    mask = (torch.arange(2 * K + 1, device=x.device) < lengths[:, None]).flip(1)
    odd = torch.arange(2 * K + 1, device=x.device) % 2 == 1
    return tokens, mask, mask.masked_fill(odd, False)
