"""Fairy-tale sentences with a pronoun: whom it stands for, and what that one really was."""

import random
from dataclasses import dataclass

import torch
from torch import Tensor

KINDS = {
    "it": ("frog", "dragon", "cat", "wolf", "bear", "swan", "mouse", "horse"),
    "she": ("queen", "witch", "princess", "maid", "fairy", "duchess", "nun", "widow"),
    "he": ("king", "wizard", "prince", "knight", "monk", "giant", "duke", "tailor"),
}
NOUNS = tuple(noun for kind in KINDS.values() for noun in kind)
VERBS = ("marry", "follow", "kiss", "fear", "visit", "trust")
WORDS = (*NOUNS, *VERBS, *KINDS, "the", "did", "not", "because", "was", "a", ",")
LENGTH = 13  # words of a sentence, the comma counted


@dataclass(frozen=True)
class Tale:
    """A sentence and its answers.

    Attributes:
        words: the sentence, LENGTH words.
        pronoun: the place of it, she or he.
        who: the noun that the pronoun stands for.
        what: the noun that this one really was.
        disguise: the place of `what`.
    """

    words: tuple[str, ...]
    pronoun: int
    who: str
    what: str

    @property
    def disguise(self) -> int:
        return self.pronoun + 3


def tale(rng: random.Random) -> Tale:
    """A sentence such as "the frog did not marry the king , because it was a witch", or with its clauses exchanged.

    The two nouns of the main clause have different pronouns, so that the pronoun says which of them is meant; what that one
    really was may be any third noun.
    """
    first, second = rng.sample(sorted(KINDS), 2)
    nouns = [rng.choice(KINDS[first]), rng.choice(KINDS[second])]
    place = rng.randrange(2)
    what = rng.choice([noun for noun in NOUNS if noun not in nouns])
    main = ["the", nouns[0], "did", "not", rng.choice(VERBS), "the", nouns[1]]
    reason = ["because", (first, second)[place], "was", "a", what]
    swapped = rng.random() < 0.5
    words = [*reason, ",", *main] if swapped else [*main, ",", *reason]
    return Tale(tuple(words), 1 if swapped else 9, nouns[place], what)


def batch(tales: list[Tale]) -> tuple[Tensor, Tensor, Tensor]:
    """Tales as numbers: words [B, LENGTH], the places of pronoun and disguise [B, 2], the answers who and what [B, 2].

    Words and answers are places in WORDS. The nouns come first there, so that a noun's place in NOUNS is the same.
    """
    index = {word: number for number, word in enumerate(WORDS)}
    words = torch.tensor([[index[word] for word in one.words] for one in tales])
    places = torch.tensor([[one.pronoun, one.disguise] for one in tales])
    return words, places, torch.tensor([[index[one.who], index[one.what]] for one in tales])
