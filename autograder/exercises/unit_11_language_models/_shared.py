"""What the exercises on applying and undoing merges share: merges and texts, drawn or spelled in letters.

The last two merges are always of two letters each, and the token of the last one stands nowhere but at the end of a text that is
decoded. A call before the one that counts gets merges that have changed places, or of merges and text all but the last: so none
of these has a token that is part of itself, or one without a merge, and code that goes on until only letters are left comes to
an end there too, even if it looks one row too early.
"""

import numpy as np

from autograder.bank.declaration import Case

LONGEST = 12  # letters of a drawn token
CHAINED = 0.5  # how often a part of a drawn merge is one of the last tokens


def drawn_merges(V, M, rng):
    """M different merges, [M, 2], of which the last two are of two letters each, and others of tokens made before."""
    few = min(V, 9)
    last = [[int(one) // few, int(one) % few] for one in rng.permutation(few * few)[: min(M, 2)]]
    rows, lengths = [], [1] * V
    while len(rows) < M - len(last):
        first = max(len(lengths) - 3, 0) if rng.random() < CHAINED else 0
        row = [int(rng.integers(first, len(lengths))), int(rng.integers(len(lengths)))]
        row = row[:: rng.choice([1, -1])]
        length = lengths[row[0]] + lengths[row[1]]
        if row not in rows + last and length <= LONGEST:
            rows.append(row)
            lengths.append(length)
    return np.array(rows + last, dtype=np.int64)


def in_letters(merges, V):
    """The letters that each token stands for, letters themselves included."""
    made = [[letter] for letter in range(V)]
    for left, right in merges:
        made.append(made[left] + made[right])
    return made


def spelled(property, axis, text, merges, V, letters=(), **more):
    """A case whose text and merges are spelled: a to d are letters, drawn if not given, A is merge 0, B merge 1."""

    def edit(inputs, rng):
        number = {letter: int(one) for letter, one in zip("abcd", letters or rng.permutation(min(V, 1000)))}
        number |= {token: V + m for m, token in enumerate("ABCDEFGH")}
        inputs["tokens"] = np.array([number[one] for one in text], dtype=np.int64)
        inputs["merges"] = np.array([[number[one] for one in pair] for pair in merges.split()], dtype=np.int64)

    return Case(property, sizes={axis: len(text), "M": len(merges.split()), "V": V}, edit=edit, **more)
