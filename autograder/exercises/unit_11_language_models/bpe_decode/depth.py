"""Exercise 3 again: mistakes in what is taken apart, and how far."""

from autograder.exercises.unit_11_language_models.bpe_decode.declaration import (
    _each,
    _letters,
    _tensor,
    bpe_decode,
)


def _once(text, parts):
    return [part for token in text for part in parts.get(token, [token])]


@bpe_decode.misconception
def one_level(tokens, merges, V):
    """Each token was replaced by its two parts once, and parts that are no letters were left as they are. They are tokens of
    earlier merges: replace these by their parts too, until all that is left is below V."""
    return _each(tokens, merges, V, lambda token, parts: _once([token], parts))


@bpe_decode.misconception
def two_levels(tokens, merges, V):
    """The tokens were replaced by their parts, and these by theirs, but then it ended. How deep merges lie in each other is
    not known beforehand: go on until all tokens are below V."""
    return _each(tokens, merges, V, lambda token, parts: _once(_once([token], parts), parts))


@bpe_decode.misconception
def first_merge_kept(tokens, merges, V):
    """The token V was taken for a letter, as by a comparison with > V. The letters are 0 to V − 1, and V is what merge 0
    makes: replace all tokens that are ≥ V."""

    def taken_apart(token, parts):
        return _letters(token, {made: pair for made, pair in parts.items() if made != V})

    return _each(tokens, merges, V, taken_apart)


@bpe_decode.misconception
def numbered_from_one(tokens, merges, V):
    """A token t was looked up one row too early, in row t − V − 1, and the token V was taken for a letter. Merge 0 makes the
    first token that is no letter, V: the parts of t stand in row t − V."""
    return _each(tokens, merges, V + 1, lambda token, parts: _letters(token, parts))


@bpe_decode.misconception
def left_parts_alone(tokens, merges, V):
    """Each token became a single letter, the first one that it stands for: its left part, the left part of that, and so on. A
    token stands for two parts: the right one follows the left one."""
    return _each(tokens, merges, V, lambda token, parts: _letters(token, parts)[:1])


@bpe_decode.misconception
def right_parts_alone(tokens, merges, V):
    """Each token became a single letter, the last one that it stands for: its right part, the right part of that, and so on.
    A token stands for two parts: the left one comes first, then the right one."""
    return _each(tokens, merges, V, lambda token, parts: _letters(token, parts)[-1:])


@bpe_decode.misconception
def right_parts_left_as_they_are(tokens, merges, V):
    """Only left parts were taken apart further. A right part may be the token of an earlier merge too: go on with both until
    all tokens are below V."""

    def taken_apart(token, parts):
        return [*taken_apart(parts[token][0], parts), parts[token][1]] if token in parts else [token]

    return _each(tokens, merges, V, taken_apart)


@bpe_decode.misconception
def left_parts_left_as_they_are(tokens, merges, V):
    """Only right parts were taken apart further. A left part may be the token of an earlier merge too: go on with both until
    all tokens are below V."""

    def taken_apart(token, parts):
        return [parts[token][0], *taken_apart(parts[token][1], parts)] if token in parts else [token]

    return _each(tokens, merges, V, taken_apart)


@bpe_decode.misconception
def letters_left_out(tokens, merges, V):
    """Tokens of the text that are letters are missing: only the letters of the others are there. A token below V stands for
    itself, and stays."""
    return _each(tokens, merges, V, lambda token, parts: _letters(token, parts) if token in parts else [])


@bpe_decode.misconception
def tokens_kept(tokens, merges, V):
    """Each token still stands before its parts. They replace it: what is left are letters alone, all below V."""

    def taken_apart(token, parts):
        return [token, *(one for part in parts.get(token, ()) for one in taken_apart(part, parts))]

    return _each(tokens, merges, V, taken_apart)


@bpe_decode.misconception
def first_place_only(tokens, merges, V):
    """Each merge was undone at one place only, the first one in the text, so that other places still have its token. Replace
    it everywhere."""
    text = tokens.tolist()
    for m, pair in reversed(list(enumerate(merges.tolist()))):
        if V + m in text:
            place = text.index(V + m)
            text[place : place + 1] = pair
    return _tensor(text, tokens)


@bpe_decode.misconception
def merged_further(tokens, merges, V):
    """Merges were applied instead of undone: pairs of neighbours became tokens, and no token became its parts. This is the
    way back: a token t ≥ V is replaced by the pair in row t − V."""
    text = tokens.tolist()
    for m, pair in enumerate(merges.tolist()):
        merged = []
        for token in text:
            if [*merged[-1:], token] == pair:
                merged[-1] = V + m
            else:
                merged.append(token)
        text = merged
    return _tensor(text, tokens)


@bpe_decode.misconception
def row_before(tokens, merges, V):
    """Each token was looked up one row too early, in row t − V − 1, and V therefore in the last row, whose index is −1. Merge
    0 makes the first token that is no letter, V: the parts of t stand in row t − V."""
    return _each(tokens, merges.roll(1, 0), V, lambda token, parts: _letters(token, parts))


@bpe_decode.misconception
def nothing_taken_apart(tokens, merges, V):
    """The tokens come back as they were given: none was replaced by its parts. What is returned is the text of letters, not
    the tokens."""
    return tokens.clone()
