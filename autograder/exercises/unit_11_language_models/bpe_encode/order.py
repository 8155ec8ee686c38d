"""Exercise 2 again: mistakes in which pair is merged first, and in what a merge goes on from."""

from autograder.exercises.unit_11_language_models._shared import in_letters
from autograder.exercises.unit_11_language_models.bpe_encode.declaration import (
    _applied,
    _known,
    _replaced,
    _tensor,
    bpe_encode,
)


@bpe_encode.misconception
def longest_first(tokens, merges, V):
    """From left to right, the longest token that fits was taken. That may cut a text at other places than it was cut when the
    merges were learned: apply them in their order, the first one everywhere, then the second one, and so on."""
    text, place, found = tokens.tolist(), 0, []
    made = in_letters(merges.tolist(), V)
    while place < len(text):
        fitting = [one for one, letters in enumerate(made) if text[place : place + len(letters)] == letters]
        found.append(max(fitting, key=lambda one: len(made[one])))
        place += len(made[found[-1]])
    return _tensor(found, tokens)


@bpe_encode.misconception
def last_learned_first(tokens, merges, V):
    """The merges were applied from the last to the first. A merge may need tokens that an earlier one makes, and of two pairs
    that share a letter the one learned first wins: begin with row 0."""
    pairs = [tuple(pair) for pair in merges.tolist()]
    return _applied(tokens, merges, V, pairs=pairs[::-1], numbers=range(V + len(pairs) - 1, V - 1, -1))


@bpe_encode.misconception
def each_from_the_original_text(tokens, merges, V):
    """Each merge was applied to the text as it was given, and only what the last one made of it was returned. A merge goes on
    from what the merges before it have left."""
    text = tokens.tolist()
    for m, pair in enumerate(merges.tolist()):
        merged = _replaced(text, tuple(pair), V + m)
    return _tensor(merged, tokens)


@bpe_encode.misconception
def read_once(tokens, merges, V):
    """The text was read once from left to right, and each pair of letters that has a merge was replaced on the way. Pairs
    with new tokens are never found like that, and of two pairs that share a letter the left one wins, not the one learned
    first."""
    text, known, place, found = tokens.tolist(), _known(merges, V), 0, []
    while place < len(text):
        new = known.get(tuple(text[place : place + 2]))
        found.append(text[place] if new is None else new)
        place += 1 if new is None else 2
    return _tensor(found, tokens)


@bpe_encode.misconception
def whichever_comes_first(tokens, merges, V):
    """The text was read from left to right again and again, and each time every pair that has some merge was replaced. So of
    two pairs that share a token the left one wins. The one learned first should: finish one merge in the whole text, then
    begin the next."""
    text, known, before = tokens.tolist(), _known(merges, V), None
    while text != before:
        before, place, text = text, 0, []
        while place < len(before):
            new = known.get(tuple(before[place : place + 2]))
            text.append(before[place] if new is None else new)
            place += 1 if new is None else 2
    return _tensor(text, tokens)


@bpe_encode.misconception
def leftmost_pair_first(tokens, merges, V):
    """Of all pairs that have a merge, the leftmost one in the text was replaced first, whichever merge it was. The order of the
    merges decides, not that of the text: finish one merge in the whole text, then begin the next."""
    known, text = _known(merges, V), []
    for token in tokens.tolist():
        while text and (text[-1], token) in known:
            token = known[text.pop(), token]
        text.append(token)
    return _tensor(text, tokens)


@bpe_encode.misconception(universal=True)
def most_frequent_first(tokens, merges, V):
    """Of the pairs that have a merge, the most frequent one in this text was replaced first. Frequencies matter only when
    merges are learned. When they are applied their order is fixed, whatever the text: row 0 first."""
    text, known = tokens.tolist(), _known(merges, V)
    while here := [pair for pair in zip(text, text[1:]) if pair in known]:
        pair = max(known, key=here.count)
        text = _replaced(text, pair, known[pair])
    return _tensor(text, tokens)


@bpe_encode.misconception
def learned_anew(tokens, merges, V):
    """The pairs that were merged are the most frequent ones of this text. These would be the merges learned from it; asked
    for are the merges that are given, which were learned from another text, so that every text is cut by the same rules."""
    text = tokens.tolist()
    for m in range(len(merges)):
        pairs = list(zip(text, text[1:]))
        if pairs:
            text = _replaced(text, min(pairs, key=lambda one: (-pairs.count(one), one)), V + m)
    return _tensor(text, tokens)


@bpe_encode.misconception
def stopped_where_one_is_missing(tokens, merges, V):
    """The first merge that does not occur in the text ended it all. A text need not have every pair: go on with the next
    merge."""
    text = tokens.tolist()
    for m, pair in enumerate(merges.tolist()):
        merged = _replaced(text, tuple(pair), V + m)
        if merged == text:
            break
        text = merged
    return _tensor(text, tokens)


@bpe_encode.misconception
def merges_of_letters_alone(tokens, merges, V):
    """Only merges of two letters were applied. The parts of a merge may be tokens that earlier merges have made: row m is
    sought in the text as the merges before m have left it."""
    return _applied(tokens, merges, V, lambda text, pair, new: _replaced(text, pair, new) if max(pair) < V else text)


@bpe_encode.misconception
def nothing_merged(tokens, merges, V):
    """The tokens come back as they were given: no merge was applied. Each merge goes on from what the one before has left,
    and the last text is what is returned."""
    return tokens.clone()
