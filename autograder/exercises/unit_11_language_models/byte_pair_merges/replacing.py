"""Exercise 1 again: mistakes in how a pair is replaced, in the new token's number, and in the form of the result."""

import torch

from autograder.exercises.unit_11_language_models.byte_pair_merges.declaration import (
    _learned,
    _replaced,
    byte_pair_merges,
)

# replacing


@byte_pair_merges.misconception
def replaced_from_the_right(tokens, V, M):
    """In a run of an odd number of equal tokens, the pairs were taken from the right, so that the first token was left over.
    Pairs are replaced from left to right: the last one is left over."""

    def replace(text, pair, new):
        return _replaced(text[::-1], pair[::-1], new)[::-1]

    return _learned(tokens, V, M, replace=replace)


@byte_pair_merges.misconception
def overlapping_places_replaced(tokens, V, M):
    """Places that overlap were all replaced: of three equal tokens in a row, the middle one went into two new tokens. A token
    goes into one merge only; go on behind the pair that was replaced."""

    def replace(text, pair, new):
        starts = [one == pair for one in zip(text, text[1:])] + [False]
        behind = [False] + starts[:-1]
        return [new if start else token for token, start, end in zip(text, starts, behind) if start or not end]

    return _learned(tokens, V, M, replace=replace)


@byte_pair_merges.misconception
def overlapping_tokens_swallowed(tokens, V, M):
    """A run of three or more equal tokens has become a single new token, as when the right token of each place is removed and
    the places overlap. A merge puts one token in the place of exactly two: the third token stays."""

    def replace(text, pair, new):
        starts = [one == pair for one in zip(text, text[1:])] + [False]
        behind = [False] + starts[:-1]
        return [new if start else token for token, start, end in zip(text, starts, behind) if not end]

    return _learned(tokens, V, M, replace=replace)


@byte_pair_merges.misconception
def found_inside_other_numbers(tokens, V, M):
    """Pairs were also replaced where only digits agree. In a text that is written out, "1 2" stands in "11 2" too, and `replace`
    finds it there: compare whole tokens, as numbers."""

    def replace(text, pair, new):
        written = " ".join(map(str, text)).replace("{} {}".format(*pair), str(new))
        return list(map(int, written.split()))

    return _learned(tokens, V, M, replace=replace)


@byte_pair_merges.misconception
def only_the_first_place(tokens, V, M):
    """Only the first place where the pair stands was replaced. The merge is made all over the text, and only then the pairs are
    counted again."""

    def replace(text, pair, new):
        at = list(zip(text, text[1:])).index(pair)
        return text[:at] + [new] + text[at + 2 :]

    return _learned(tokens, V, M, replace=replace)


@byte_pair_merges.misconception
def right_token_kept(tokens, V, M):
    """The new token took the place of the pair's left token, and the right one was left behind it. It stands for both, so the
    text becomes one token shorter with each place."""

    def replace(text, pair, new):
        merged, i = [], 0
        while i < len(text):
            found = tuple(text[i : i + 2]) == pair
            merged += [new, text[i + 1]] if found else [text[i]]
            i += 1 + found
        return merged

    return _learned(tokens, V, M, replace=replace)


@byte_pair_merges.misconception
def end_not_replaced(tokens, V, M):
    """A pair at the very end of the text is counted, but not replaced. It belongs to the text like any other: the last place
    where a pair may stand is that of the last two tokens."""

    def replace(text, pair, new):
        return _replaced(text[:-1], pair, new) + text[-1:]

    return _learned(tokens, V, M, replace=replace)


@byte_pair_merges.misconception
def end_lost(tokens, V, M):
    """The last token of the text was lost in a merge, where it is not part of the pair: it has no right neighbour to be compared
    with. It stays as it is."""

    def replace(text, pair, new):
        merged, i = [], 0
        while i < len(text) - 1:
            found = tuple(text[i : i + 2]) == pair
            merged.append(new if found else text[i])
            i += 1 + found
        return merged

    return _learned(tokens, V, M, replace=replace)


# numbers


@byte_pair_merges.misconception
def one_number_for_all_merges(tokens, V, M):
    """All merges make the same new token. Each makes one of its own: merge m, counted from 0, makes token V + m."""
    return _learned(tokens, V, M, number=lambda text, V, m: V)


@byte_pair_merges.misconception
def next_number_in_the_text(tokens, V, M):
    """A new token has the number that follows the largest one in the text. The vocabulary has V tokens, whether they occur in
    this text or not, and merge m makes token V + m."""
    return _learned(tokens, V, M, number=lambda text, V, m: max(text) + 1)


# the form of the result


@byte_pair_merges.misconception
def right_number_first(tokens, V, M):
    """The pairs are right, but each row has the right token before the left one. A row is (left, right), as they stand in the
    text."""
    return _learned(tokens, V, M).flip(1)


@byte_pair_merges.misconception
def sorted_pairs(tokens, V, M):
    """The merges are right, but sorted by their numbers. They belong in the order in which they were learned: that is the order
    in which an encoder applies them, and row m makes token V + m."""
    return torch.tensor(sorted(_learned(tokens, V, M).tolist()), device=tokens.device)
