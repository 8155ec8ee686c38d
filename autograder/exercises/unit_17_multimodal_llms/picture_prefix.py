"""Exercise 1: a picture in front of a text, and the labels of what is to be learned."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

IGNORED = -100


def _draws(inputs, sizes, rng):
    """Prompts and answers of different lengths, one text without padding, and padding tokens of 0 behind the others."""
    B, N = sizes["B"], sizes["N"]
    lengths = rng.integers(min(2, N), N + 1, size=B)
    lengths[rng.integers(B)] = N
    tokens = rng.integers(3, 50, size=(B, N)) * (np.arange(N) < lengths[:, None])
    return {"tokens": tokens, "lengths": lengths, "prompts": rng.integers(np.minimum(1, lengths - 1), lengths)}


def _no_prompt(inputs, rng):
    inputs["prompts"][:] = 0


def _one_word_answers(inputs, rng):
    inputs["prompts"][:] = inputs["lengths"] - 1


def _zeros_among_them(inputs, rng):
    """A token of number 0 within an answer, where no padding is."""
    inputs["lengths"][0], inputs["prompts"][0], inputs["tokens"][0, -1] = inputs["tokens"].shape[1], 1, 0


def _case(text, edit=None, edge=False, **sizes):
    return Case(text, sizes={"B": 3, "M": 4, "N": 7, "D": 5, **sizes}, edit=edit, edge=edge)


@exercise(
    points=3,
    section="A picture as a prefix",
    source="Tsimpoukelli et al. 2021 (Frozen), section 3; labels as in transformers: −100 counts for nothing, the loss shifts",
    outputs="inputs labels",
    formula="inputs = [picture; words] [B, M + N, D]; labels [B, M + N]: −100 at the M positions of the picture, at the first"
    " prompts[b] tokens and from lengths[b] on, elsewhere the token that stands there",
    cases=[
        _case("questions with answers"),
        _case("answers of one word", edit=_one_word_answers),
        _case("captions without a prompt", edit=_no_prompt),
        _case("more texts than positions", B=6, N=4, M=2),
        _case("a token of number 0 in an answer", edit=_zeros_among_them, edge=True),
    ],
    draws=_draws,
    gradients="inputs",
)
def picture_prefix(
    picture: Float[Tensor, "B M D"],
    words: Float[Tensor, "B N D"],
    tokens: Int[Tensor, "B N"],
    prompts: Int[Tensor, "B"],
    lengths: Int[Tensor, "B"],
) -> tuple[Float[Tensor, "B M+N D"], Int[Tensor, "B M+N"]]:
    M = picture.shape[1]
    labels = F.pad(tokens, (M, 0))
    for b, (first, last) in enumerate(zip(prompts.tolist(), lengths.tolist())):
        labels[b, : M + first] = IGNORED
        labels[b, M + last :] = IGNORED
    return torch.cat([picture, words], dim=1), labels


def _labelled(picture, words, tokens, prompts, lengths, *, first=None, last=None, ignored=IGNORED, text=None):
    """Inputs and labels, with mistakes in what counts: `first` and `last` are its bounds, `text` what it shows."""
    place = torch.arange(tokens.shape[1], device=tokens.device)
    first, last = prompts if first is None else first, lengths if last is None else last
    counts = (place >= first[:, None]) & (place < last[:, None])
    shown = torch.where(counts, tokens if text is None else text, torch.full_like(tokens, ignored))
    return torch.cat([picture, words], dim=1), torch.cat([_nothing(picture, tokens, ignored), shown], dim=1)


def _nothing(picture, tokens, ignored=IGNORED):
    return torch.full((len(tokens), picture.shape[1]), ignored, dtype=tokens.dtype, device=tokens.device)


@picture_prefix.misconception
def prompt_learned(picture, words, tokens, prompts, lengths):
    """The tokens of the prompt are among the labels. The question is given: the loss counts the answer alone, the tokens from
    prompts[b] on."""
    return _labelled(picture, words, tokens, prompts, lengths, first=torch.zeros_like(prompts))


@picture_prefix.misconception
def padding_learned(picture, words, tokens, prompts, lengths):
    """Padding is among the labels. From lengths[b] on there is no token, so the label is −100 there."""
    return _labelled(picture, words, tokens, prompts, lengths, last=torch.full_like(lengths, tokens.shape[1]))


@picture_prefix.misconception(universal=True)
def padding_by_its_number(picture, words, tokens, prompts, lengths):
    """A token of number 0 within an answer is taken for padding. Where a text ends, lengths says, whatever the numbers are."""
    inputs, labels = _labelled(picture, words, tokens, prompts, lengths)
    return inputs, labels.masked_fill(labels == 0, IGNORED)


@picture_prefix.misconception
def shifted_already(picture, words, tokens, prompts, lengths):
    """The labels are one position too far to the left: each holds the next token. The loss shifts by one itself, so a label is
    the token that stands at its own position."""
    inputs, labels = _labelled(picture, words, tokens, prompts, lengths)
    return inputs, torch.cat([labels[:, 1:], torch.full_like(labels[:, :1], IGNORED)], dim=1)


@picture_prefix.misconception
def first_token_of_the_answer_lost(picture, words, tokens, prompts, lengths):
    """The first token of each answer is not learned: its label is −100. The prompt ends before position prompts[b], which
    holds the first token of the answer."""
    return _labelled(picture, words, tokens, prompts, lengths, first=prompts + 1)


@picture_prefix.misconception
def ignored_as_zero(picture, words, tokens, prompts, lengths):
    """Where nothing is to be learned, the label is 0 instead of −100. 0 is the number of a token, which the model would learn to
    write; cross_entropy leaves out −100."""
    return _labelled(picture, words, tokens, prompts, lengths, ignored=0)


@picture_prefix.misconception
def picture_behind(picture, words, tokens, prompts, lengths):
    """The picture's vectors come behind the words. The language model reads from left to right: its words could not attend to a
    picture that comes later."""
    inputs, labels = _labelled(picture, words, tokens, prompts, lengths)
    M = picture.shape[1]
    return torch.cat([words, picture], dim=1), torch.cat([labels[:, M:], labels[:, :M]], dim=1)


@picture_prefix.misconception
def prompts_counted_with_the_picture(picture, words, tokens, prompts, lengths):
    """The labels begin at position prompts[b] and end at lengths[b] of the whole sequence, as if no picture stood in front of
    the text. The picture takes the first M positions; the text's are counted from there."""
    inputs, labels = _labelled(picture, words, tokens, prompts, lengths)
    place = torch.arange(labels.shape[1], device=labels.device)
    whole = torch.cat([_nothing(picture, tokens), tokens], dim=1)
    counts = (place >= prompts[:, None]) & (place < lengths[:, None])
    return inputs, torch.where(counts, whole, torch.full_like(whole, IGNORED))


@picture_prefix.alternative
def by_comparing(picture, words, tokens, prompts, lengths):
    return _labelled(picture, words, tokens, prompts, lengths)


@picture_prefix.alternative
def by_copying_and_filling(picture, words, tokens, prompts, lengths):
    place = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
    labels = tokens.clone()
    labels[place < prompts[:, None]] = IGNORED
    labels[place >= lengths[:, None]] = IGNORED
    return torch.hstack([picture, words]), torch.hstack([_nothing(picture, tokens), labels])


@picture_prefix.alternative
def text_by_text(picture, words, tokens, prompts, lengths):
    rows = []
    for row, first, last in zip(tokens, prompts, lengths):
        new = torch.full((picture.shape[1] + len(row),), IGNORED, dtype=row.dtype, device=row.device)
        new[picture.shape[1] + int(first) : picture.shape[1] + int(last)] = row[int(first) : int(last)]
        rows.append(new)
    return torch.cat((picture, words), 1), torch.stack(rows)
