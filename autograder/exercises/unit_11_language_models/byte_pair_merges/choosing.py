"""Exercise 1 again: mistakes in which pairs are counted, and in which of them is taken."""

from collections import Counter

import torch

from autograder.exercises.unit_11_language_models.byte_pair_merges.declaration import (
    _chosen,
    _counted,
    _learned,
    _replaced,
    byte_pair_merges,
)

# counting


@byte_pair_merges.misconception
def counted_once_for_all(tokens, V, M):
    """These are the M most frequent pairs of the text as it was given. Each merge changes the text, and brings in pairs with the
    new token: after it, the pairs are counted again."""
    count = _counted(tokens.tolist())
    ranked = sorted(count, key=lambda one: (-count[one], one))
    return torch.tensor(ranked[:M], device=tokens.device)


@byte_pair_merges.misconception
def old_counts_kept(tokens, V, M):
    """Pairs with the new token were added to the counts, but others kept the counts that they had before. A merge also takes
    pairs away: where a and b become one token, b is no longer the left neighbour of what follows. Count anew, or subtract."""
    text, merges = tokens.tolist(), []
    count = _counted(text)
    for new in range(V, V + M):
        pair = _chosen(count)
        merges.append(pair)
        del count[pair]
        text = _replaced(text, pair, new)
        count.update({one: many for one, many in _counted(text).items() if new in one})
    return torch.tensor(merges, device=tokens.device)


@byte_pair_merges.misconception
def new_tokens_never_merged(tokens, V, M):
    """Only pairs of the first V tokens are counted. A new token is a token like any other: pairs with it count too, and that is
    how pieces grow longer than two letters."""

    def count(text):
        return {pair: many for pair, many in _counted(text).items() if max(pair) < V}

    return _learned(tokens, V, M, count)


@byte_pair_merges.misconception
def counted_without_overlap(tokens, V, M):
    """Pairs that overlap were counted once: of three equal tokens in a row, one pair instead of two. Every place i counts, with
    its pair (tokens[i], tokens[i + 1]); only where pairs are replaced must the places not overlap."""

    def count(text):
        found, end = Counter(), {}
        for i, pair in enumerate(zip(text, text[1:])):
            if end.get(pair, 0) <= i:
                found[pair] += 1
                end[pair] = i + 2
        return found

    return _learned(tokens, V, M, count)


@byte_pair_merges.misconception
def last_pair_not_counted(tokens, V, M):
    """The last pair of the text is not counted. A text of n tokens has n − 1 pairs, and the last of them is that of its last two
    tokens."""

    def count(text):
        return _counted(text[:-1]) or _counted(text)

    return _learned(tokens, V, M, count)


@byte_pair_merges.misconception
def pairs_numbered_alike(tokens, V, M):
    """Different pairs were counted as one. That happens when a pair is made a single number such as left · V + right: it tells
    all pairs apart only while tokens are less than V, and merged tokens are V or more."""
    return _learned(
        tokens, V, M, lambda text: Counter(divmod(left * V + right, V) for left, right in zip(text, text[1:]))
    )


# choosing


@byte_pair_merges.misconception
def first_seen_of_equals(tokens, V, M):
    """Of equally frequent pairs, the one that comes first in the text was taken, as `max` over a dictionary of counts and
    `most_common` do. Asked for is the pair with the smaller left number, then with the smaller right number."""
    return _learned(tokens, V, M, choose=lambda count: max(count, key=count.get))


@byte_pair_merges.misconception
def last_seen_of_equals(tokens, V, M):
    """Of equally frequent pairs, the one that is met last was taken, as happens when a later pair of the same count replaces an
    earlier one. Asked for is the pair with the smaller left number, then with the smaller right number."""
    return _learned(tokens, V, M, choose=lambda count: max(reversed(list(count)), key=count.get))


@byte_pair_merges.misconception
def largest_of_equals(tokens, V, M):
    """Of equally frequent pairs, the one with the largest numbers was taken, as `max` over (count, pair) does. Asked for is the
    smallest: the smaller left number, then the smaller right number."""
    return _learned(tokens, V, M, choose=lambda count: max(count, key=lambda one: (count[one], one)))


@byte_pair_merges.misconception
def right_number_compared_first(tokens, V, M):
    """Of equally frequent pairs, the one with the smaller right number was taken. The left numbers are compared first, and the
    right ones only if these are equal."""
    return _learned(tokens, V, M, choose=lambda count: min(count, key=lambda one: (-count[one], one[::-1])))


@byte_pair_merges.misconception
def compared_with_chance(tokens, V, M):
    """The count of a pair was divided by the counts of its two tokens, as WordPiece does. Byte pair encoding takes the pair that
    is most frequent, however frequent its parts are."""

    def scores(text):
        single = Counter(text)
        return {pair: round(many / (single[pair[0]] * single[pair[1]]), 9) for pair, many in _counted(text).items()}

    return _learned(tokens, V, M, scores)


def _of_repeated(tokens, V, M):
    """The merges of pairs that occur at least twice."""

    def count(text):
        return {pair: many for pair, many in _counted(text).items() if many > 1}

    return _learned(tokens, V, M, count)


@byte_pair_merges.misconception
def nothing_rare_merged(tokens, V, M):
    """There are fewer rows where no pair occurs twice any more: merging stopped there. M merges are asked for, and a pair that
    occurs once is as good as any other if none is more frequent."""
    return _of_repeated(tokens, V, M)


@byte_pair_merges.misconception
def nothing_rare_merged_and_zeros(tokens, V, M):
    """Where no pair occurs twice any more, the rows are 0: merging stopped there. M merges are asked for, and a pair that occurs
    once is as good as any other if none is more frequent."""
    merges = tokens.new_zeros(M, 2)
    found = _of_repeated(tokens, V, M)
    merges[: len(found)] = found
    return merges
