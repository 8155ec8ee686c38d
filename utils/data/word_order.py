"""Two tasks for one decoder: English to French, and English to French words that stay in the order of the English ones."""

import itertools
from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from utils.data.translation import PAD, START, STOP, Pair, corpus, vocabulary

LONGEST = 7  # words of an English sentence
S = LONGEST + 1  # tokens of the English part, [STOP] included; shorter sentences are padded on the left


def size() -> int:
    """How many tokens there are: those of English, then those of French."""
    return len(vocabulary("english")) + len(vocabulary("french"))


def sentences(count: int, seed: int) -> list[Pair]:
    """`count` different pairs of 4 to 7 English words; the same for the same seed."""
    return corpus("french", count, 4, LONGEST, seed=seed)


def in_english_order(pair: Pair) -> tuple[str, ...]:
    """The words of the translation in the order of the English words that they translate.

    A French word that translates no word by itself (the "de" of "beaucoup de") stays before the next one that does.
    """
    first = {}
    for j, i in sorted(pair.sure):
        first.setdefault(j, i)
    keys, following = [], len(pair.source)
    for j in reversed(range(len(pair.target))):
        following = first.get(j, following)
        keys.append((following, j))
    return tuple(pair.target[j] for _, j in sorted(keys))


def differing(pairs: Sequence[Pair]) -> list[Pair]:
    """Those of the pairs whose words change places between the two tasks."""
    return [pair for pair in pairs if in_english_order(pair) != pair.target]


def tokens(pairs: Sequence[Pair], english_order: bool = False) -> Int[Tensor, "B N"]:
    """Each pair as one row: the English part [S], padded on the left, then the French words and their [STOP], padded behind.

    The numbers of the French tokens follow those of the English ones; 0 is the padding of both.

    Raises:
        ValueError: an English sentence is longer than `LONGEST`.
    """
    english, french = vocabulary("english"), vocabulary("french")
    rows = []
    for pair in pairs:
        before = english.encode(pair.source)
        if len(before) > S:
            raise ValueError(f"an English sentence has {len(before) - 1} words; there is room for {LONGEST}")
        words = in_english_order(pair) if english_order else pair.target
        behind = [len(english) + number for number in french.encode(words)]
        rows.append(torch.tensor([PAD] * (S - len(before)) + before + behind))
    return pad_sequence(rows, True, PAD)


def words(row: Sequence[int]) -> list[str]:
    """The words of a row of tokens, of both languages, up to the French [STOP]; without padding and the English [STOP]."""
    english, french = vocabulary("english"), vocabulary("french")
    both = [*english.words, *french.words]
    special = {start + number for start in (0, len(english)) for number in (PAD, START, STOP)}
    numbers = itertools.takewhile(lambda number: number != len(english) + STOP, map(int, row))
    return [both[number] for number in numbers if number not in special]
