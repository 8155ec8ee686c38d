"""Exercise 3 again: mistakes in where the letters stand."""

from collections import deque

from torch.nn.utils.rnn import pad_sequence

from autograder.exercises.unit_11_language_models._shared import in_letters
from autograder.exercises.unit_11_language_models.bpe_decode.declaration import (
    _each,
    _letters,
    _tensor,
    bpe_decode,
)
from autograder.exercises.unit_11_language_models.bpe_decode.depth import _once


@bpe_decode.misconception
def right_part_first(tokens, merges, V):
    """The letters of each token are in reverse order: its right part stands before its left one, as when both are put on a
    stack and the one that was put there last is taken first. merges[m, 0] is the left part, and comes first."""
    return _each(tokens, merges, V, lambda token, parts: _letters(token, parts)[::-1])


@bpe_decode.misconception
def parts_exchanged_at_the_top(tokens, merges, V):
    """The two parts of each token of the text are exchanged, though what they consist of is in order. The left part,
    merges[m, 0], comes first at every level."""

    def taken_apart(token, parts):
        return [letter for part in parts.get(token, [token])[::-1] for letter in _letters(part, parts)]

    return _each(tokens, merges, V, taken_apart)


@bpe_decode.misconception
def back_to_front(tokens, merges, V):
    """The letters are right, but the whole text is in reverse order. Tokens that are taken from the end of a list come out in
    reverse; text that is turned round once too often does, too."""
    return _each(tokens.flip(0), merges, V, lambda token, parts: _letters(token, parts)[::-1])


@bpe_decode.misconception
def shallow_letters_first(tokens, merges, V):
    """Within a token, letters come the sooner the less deep they lie: parts wait at the end of a queue until all others have
    had their turn. Parts stand where their token stood: take the left one apart completely before the right one."""

    def taken_apart(token, parts):
        waiting, found = deque([token]), []
        while waiting:
            token = waiting.popleft()
            found += [] if token in parts else [token]
            waiting.extend(parts.get(token, ()))
        return found

    return _each(tokens, merges, V, taken_apart)


def _level_by_level(tokens, merges, V, step):
    text, parts = tokens.tolist(), {V + m: pair for m, pair in enumerate(merges.tolist())}
    while any(token in parts for token in text):
        text = step(text, parts)
    return _tensor(text, tokens)


@bpe_decode.misconception
def letters_in_front(tokens, merges, V):
    """All letters of the text come first, then the parts of what was taken apart: the order of the text is lost. The parts
    stand in the place of their token, between the same neighbours."""

    def step(text, parts):
        return [one for one in text if one not in parts] + _once([one for one in text if one in parts], parts)

    return _level_by_level(tokens, merges, V, step)


@bpe_decode.misconception
def right_parts_at_the_end(tokens, merges, V):
    """Only the left part stands in the place of its token, and the right parts were put at the end of the text. The two
    belong side by side, the right part directly behind the left one."""

    def step(text, parts):
        lefts = [parts.get(one, [one])[0] for one in text]
        return lefts + [parts[one][1] for one in text if one in parts]

    return _level_by_level(tokens, merges, V, step)


@bpe_decode.misconception
def a_row_for_each_token(tokens, merges, V):
    """The result has a row for each token, filled up to the length of the longest one. Asked for is one text: the letters of
    the first token, directly behind them those of the second one, and so on."""
    made = in_letters(merges.tolist(), V)
    return pad_sequence([_tensor(made[token], tokens) for token in tokens.tolist()], batch_first=True)
