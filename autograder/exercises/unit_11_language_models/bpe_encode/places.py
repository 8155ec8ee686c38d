"""Exercise 2 again: mistakes in where a pair is replaced, and in what stands there then."""

from autograder.exercises.unit_11_language_models.bpe_encode.declaration import (
    _applied,
    _replaced,
    _tensor,
    bpe_encode,
)


@bpe_encode.misconception
def first_place_only(tokens, merges, V):
    """Each merge was applied at one place only, the first one in the text. It is applied everywhere that its pair stands,
    before the next merge begins."""

    def replaced(text, pair, new):
        place = next((i for i in range(len(text) - 1) if (text[i], text[i + 1]) == pair), None)
        return text if place is None else [*text[:place], new, *text[place + 2 :]]

    return _applied(tokens, merges, V, replaced)


@bpe_encode.misconception
def from_right_to_left(tokens, merges, V):
    """The text was merged from right to left. In a run such as a a a the pair a a stands at two places that overlap, and the
    left one is replaced: the single a that is left over comes last."""
    return _applied(tokens, merges, V, lambda text, pair, new: _replaced(text[::-1], pair[::-1], new)[::-1])


def _places(text, pair):
    """Where the pair begins, overlapping places too."""
    return [i for i, two in enumerate(zip(text, text[1:])) if two == pair]


@bpe_encode.misconception
def overlapping_all_made(tokens, merges, V):
    """Places that overlap were all replaced: a a a became two new tokens, though together they stand for four letters. A
    token that was merged is used up, so the next pair begins behind it: here one new token, and a."""

    def replaced(text, pair, new):
        places = _places(text, pair)
        return [new if i in places else one for i, one in enumerate(text) if i in places or i - 1 not in places]

    return _applied(tokens, merges, V, replaced)


@bpe_encode.misconception
def overlapping_lost(tokens, merges, V):
    """In a run of equal tokens, letters are lost: all of a a a became a single token, which stands for two letters. Where
    places overlap only the left one counts, and what it does not cover stays: one new token, and a."""

    def replaced(text, pair, new):
        places = _places(text, pair)
        return [new if i in places else one for i, one in enumerate(text) if i - 1 not in places]

    return _applied(tokens, merges, V, replaced)


@bpe_encode.misconception
def right_part_kept(tokens, merges, V):
    """The new token stands in the place of the left part alone, and the right part still follows it. The new token stands for
    both: it replaces the two, and the text gets shorter by one token at each place."""

    def replaced(text, pair, new):
        places = _places(text, pair)
        return [new if i in places else one for i, one in enumerate(text)]

    return _applied(tokens, merges, V, replaced)


@bpe_encode.misconception
def last_pair_left_out(tokens, merges, V):
    """The last two tokens of the text are never merged. A text of n tokens has n − 1 pairs of neighbours, and the last of
    them begins at n − 2."""

    def replaced(text, pair, new):
        merged = _replaced(text[:-1], pair, new)
        return merged + text[-1:]

    return _applied(tokens, merges, V, replaced)


@bpe_encode.misconception
def last_token_lost(tokens, merges, V):
    """The last token is lost whenever it is not the right part of a pair: it has no right neighbour, but belongs to the text
    all the same."""

    def replaced(text, pair, new):
        merged = _replaced(text, pair, new)
        ends = len(text) > 1 and merged[-1] == new != text[-1]
        return merged if ends else merged[:-1]

    return _applied(tokens, merges, V, replaced)


@bpe_encode.misconception
def at_even_places_only(tokens, merges, V):
    """Pairs were sought at even places alone, as when the text is cut into pieces of two. A pair may begin anywhere: compare
    each token with its right neighbour."""

    def replaced(text, pair, new):
        pieces = [text[i : i + 2] for i in range(0, len(text), 2)]
        return [token for piece in pieces for token in ([new] if tuple(piece) == pair else piece)]

    return _applied(tokens, merges, V, replaced)


@bpe_encode.misconception
def parts_exchanged(tokens, merges, V):
    """Left and right are exchanged: what was replaced is merges[m, 1] followed by merges[m, 0]. The first column is the left
    part of a pair, the second column the right one."""
    return _applied(tokens, merges.flip(1), V)


@bpe_encode.misconception
def in_either_order(tokens, merges, V):
    """A pair was replaced in either order, b a as well as a b. These are different texts, and could not be told apart
    afterwards: the left part has to stand on the left."""

    def replaced(text, pair, new):
        merged = []
        for token in text:
            if merged and (merged[-1], token) in (pair, pair[::-1]):
                merged[-1] = new
            else:
                merged.append(token)
        return merged

    return _applied(tokens, merges, V, replaced)


@bpe_encode.misconception
def numbered_from_one(tokens, merges, V):
    """Merge m made the token V + m + 1. The letters have the numbers 0 to V − 1, so the first new token is V and merge m
    makes V + m. With other numbers the later merges do not find their parts either."""
    return _applied(tokens, merges, V, numbers=range(V + 1, V + len(merges) + 1))


@bpe_encode.misconception
def numbered_without_the_letters(tokens, merges, V):
    """Merge m made the token m. That number belongs to a letter already, unless there are fewer letters than merges: the new
    tokens follow the V letters, and merge m makes V + m."""
    return _applied(tokens, merges, V, numbers=range(len(merges)))


@bpe_encode.misconception
def numbered_by_use(tokens, merges, V):
    """The new tokens are numbered by the merges that occur in this text: one that does not occur takes no number. The number
    of a token is the same in every text: merge m makes V + m, whichever merges were used before it."""
    text, new = tokens.tolist(), V
    for pair in merges.tolist():
        merged = _replaced(text, tuple(pair), new)
        new, text = new + (merged != text), merged
    return _tensor(text, tokens)


@bpe_encode.misconception
def inside_of_numbers(tokens, merges, V):
    """Pairs were found inside of other numbers. As text, the pair "1 2" stands in "11 25" too, where the tokens are 11 and
    25: compare whole tokens, not their digits."""
    text = " ".join(map(str, tokens.tolist()))
    for m, (left, right) in enumerate(merges.tolist()):
        text = text.replace(f"{left} {right}", str(V + m))
    return _tensor([int(one) for one in text.split()], tokens)
