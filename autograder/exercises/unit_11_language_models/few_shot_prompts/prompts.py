"""Exercise 7 again: mistakes in the order of the tokens, in which examples are used, and in where the padding stands."""

import torch

from autograder.exercises.unit_11_language_models.few_shot_prompts.declaration import (
    _first,
    _made,
    _padding,
    _pairs,
    _places,
    _real,
    few_shot_prompts,
)


def _on_the_right(x, y, query, examples, pad):
    """Each prompt from position 0 on, and pad behind it."""
    left = _first(_pairs(x, y), x, query, examples, pad)
    return left.gather(1, (_places(x) + _padding(x, examples)) % left.shape[1])


def _ends(x, examples):
    """[B, 2K+1], True at the first 2e + 1 positions."""
    return _places(x) <= 2 * examples[:, None]


@few_shot_prompts.misconception
def padded_on_the_right(x, y, query, examples, pad):
    """The padding stands behind the prompts. A language model continues a line at its last position, and there stands padding
    now: pad on the left, so that every line ends with its query."""
    mask = _ends(x, examples)
    return _on_the_right(x, y, query, examples, pad), mask, mask & (_places(x) % 2 == 0)


@few_shot_prompts.misconception
def masks_on_the_right(x, y, query, examples, pad):
    """The tokens are padded on the left, but mask and predicts count from position 0, as if the padding stood on the right. Both
    have to speak of the positions at which the tokens of the prompt really stand."""
    mask = _ends(x, examples)
    return _made(x, y, query, examples, pad, mask=mask, predicts=mask & (_places(x) % 2 == 0))


@few_shot_prompts.misconception
def padding_before_the_query(x, y, query, examples, pad):
    """The padding stands between the examples and the query, in the places of the examples that are not used. A prompt stays in
    one piece: first all the padding, then the examples, and the query right behind the last answer."""
    used = _places(x)[:-1] < 2 * examples[:, None]
    tokens = torch.cat([_pairs(x, y).masked_fill(~used, pad), query[:, None]], dim=1)
    mask = torch.cat([used, torch.ones_like(used[:, :1])], dim=1)
    return tokens, mask, mask & (_places(x) % 2 == 0)


@few_shot_prompts.misconception
def last_examples(x, y, query, examples, pad):
    """Each prompt has the right number of examples, but they are the last ones of x and y, as if the left part of all K had been
    overwritten with pad. Asked for are the first e = examples[b] of line b: they have to move to the right."""
    tokens = torch.cat([_pairs(x, y), query[:, None]], dim=1).masked_fill(~_real(x, examples), pad)
    return _made(x, y, query, examples, pad, tokens=tokens)


@few_shot_prompts.misconception(universal=True)
def all_examples(x, y, query, examples, pad):
    """Every prompt has all K examples, whatever `examples` says. Line b uses its first examples[b] alone; padding stands in the
    place of the others."""
    return _made(x, y, query, torch.full_like(examples, x.shape[1]), pad)


@few_shot_prompts.misconception
def unused_hidden_by_the_mask_alone(x, y, query, examples, pad):
    """mask and predicts are right, but no token is pad: every line holds all its K examples. The first examples[b] of them stand
    right before the query, and all tokens before these are pad."""
    return _made(x, y, query, examples, pad, tokens=torch.cat([_pairs(x, y), query[:, None]], dim=1))


@few_shot_prompts.misconception
def one_example_less(x, y, query, examples, pad):
    """Prompts with examples have one too few, as if the query were counted among them. The query comes after examples[b] pairs
    of a question and an answer, and is not one of them."""
    return _made(x, y, query, (examples - 1).clamp(min=0), pad)


@few_shot_prompts.misconception
def questions_then_answers(x, y, query, examples, pad):
    """All questions of a prompt come first and all its answers after them. Each answer follows its question at once, x_0, y_0,
    x_1, y_1, …: the model is to see which answer belongs to which question."""
    tokens = _first(_pairs(x, y), x, query, examples, pad)
    for b, e in enumerate(examples.tolist()):
        tokens[b, 2 * (x.shape[1] - e) : -1] = torch.cat([x[b, :e], y[b, :e]])
    return _made(x, y, query, examples, pad, tokens=tokens)


@few_shot_prompts.misconception
def all_questions_then_answers(x, y, query, examples, pad):
    """All K questions were joined to all K answers, and each prompt begins with the first 2e of these tokens. Questions and
    answers take turns, x_0, y_0, x_1, y_1, …: pair them before they become one row."""
    return _made(x, y, query, examples, pad, tokens=_first(torch.cat([x, y], dim=1), x, query, examples, pad))


@few_shot_prompts.misconception
def lines_mixed(x, y, query, examples, pad):
    """Prompts hold tokens of other lines of the batch, as when x and y are stacked along a new first axis and then reshaped. Line
    b is made of x[b] and y[b] alone: stack them so that question and answer stand side by side, [B, K, 2]."""
    tokens = _first(torch.stack([x, y]).reshape(len(x), -1), x, query, examples, pad)
    return _made(x, y, query, examples, pad, tokens=tokens)


@few_shot_prompts.misconception
def examples_backwards(x, y, query, examples, pad):
    """The examples stand in reverse order, with example 0 next to the query. Their order is that of x and y: example 0 comes
    first."""
    pairs = torch.stack([x, y], dim=2)
    turned = torch.zeros_like(pairs)
    for b, e in enumerate(examples.tolist()):
        turned[b, :e] = pairs[b, :e].flip(0)
    return _made(x, y, query, examples, pad, tokens=_first(turned.flatten(1), x, query, examples, pad))


@few_shot_prompts.misconception
def everything_backwards(x, y, query, examples, pad):
    """Each line is written backwards, with the query before its examples. If you turn the tokens round so that the padding comes
    to the left, the tokens of the prompt have to be in reverse order before."""
    tokens = _first(_pairs(x, y), x, query, examples, pad)
    turned = (2 * x.shape[1] - _places(x) + _padding(x, examples)).clamp(max=2 * x.shape[1])
    return _made(x, y, query, examples, pad, tokens=tokens.gather(1, turned).masked_fill(~_real(x, examples), pad))


@few_shot_prompts.misconception
def padded_with_zeros(x, y, query, examples, pad):
    """The padding is 0. Which number stands for padding is given: `pad`. In many vocabularies 0 is a token like others."""
    return _made(x, y, query, examples, 0)


@few_shot_prompts.misconception
def zeros_taken_for_padding(x, y, query, examples, pad):
    """Where a prompt has the token 0, pad stands in its place, as if 0 were a place that is still free. 0 is a token like others:
    which positions are padding follows from `examples` alone."""
    tokens = _first(_pairs(x, y), x, query, examples, pad)
    return _made(x, y, query, examples, pad, tokens=tokens.masked_fill(tokens == 0, pad))


@few_shot_prompts.misconception(universal=True)
def as_wide_as_the_longest(x, y, query, examples, pad):
    """The lines are as wide as the longest prompt of the batch. Asked for is the width 2K + 1, whatever the prompts need: then
    all batches have the same shape."""
    width = 2 * int(examples.max()) + 1
    return tuple(one[:, -width:] for one in _made(x, y, query, examples, pad))
