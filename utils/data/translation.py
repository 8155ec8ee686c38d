"""A small bilingual corpus with gold alignments: English sentences of 3 to 60 words in French, Italian or Spanish."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from itertools import groupby

import torch
from jaxtyping import Int
from torch import Tensor

from utils.data import lexicon
from utils.data.grammar import Clause, NounPhrase, Sentence, say
from utils.data.lexicon import ADJECTIVES, ADVERBS, CONJUNCTIONS, MONTHS, NOUNS, NUMBERS, VERBS, YEARS

PAD, START, STOP = 0, 1, 2
SPECIAL = ("[PAD]", "[START]", "[STOP]")
THE, A = "the", "a"
UNCOUNTED = ("food", "drink")
_SHORTEST_CLAUSE = 3  # words: "we see him"
SHORTEST, LONGEST = 3, 60  # words of an English sentence


@dataclass(frozen=True)
class Pair:
    """A sentence in two languages.

    Attributes:
        source: English words.
        target: the words of the translation.
        sure: (place in target, place in source) of words that translate each other.
        possible: `sure`, and links from a word to the noun or subject that it agrees with, and to a helping verb that is not
            said.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]


def translate(sentence: Sentence, language: str) -> Pair:
    """The sentence in English and in one of "french", "italian", "spanish"."""
    source, target = say(sentence, "english"), say(sentence, language)
    place = {name: i for i, word in enumerate(source) for name in word.sure}
    sure = {(j, place[name]) for j, word in enumerate(target) for name in word.sure}
    possible = {(j, place[name]) for j, word in enumerate(target) for name in word.possible}
    texts = [tuple(word.text for word in words) for words in (source, target)]
    return Pair(*texts, frozenset(sure), frozenset(sure | possible))


def corpus(language: str, count: int, shortest: int = SHORTEST, longest: int = LONGEST, seed: int = 0) -> list[Pair]:
    """`count` different pairs whose English sentences have `shortest` to `longest` words; the same for the same seed.

    Raises:
        ValueError: the language is not known, or the lengths leave the range from 3 to 60.
    """
    if language not in lexicon.LANGUAGES:
        raise ValueError(f"language is {language!r}; there are: {', '.join(lexicon.LANGUAGES)}")
    if not SHORTEST <= shortest <= longest <= LONGEST:
        raise ValueError(f"lengths must lie between {SHORTEST} and {LONGEST}, the shortest first")
    chance = random.Random(f"{language} {seed}")
    found: dict[tuple, Pair] = {}
    clauses = _Clauses(chance)
    for _ in range(100 * count):
        pair = translate(_sentence(chance, chance.randint(shortest, longest), clauses), language)
        if shortest <= len(pair.source) <= longest:
            found.setdefault(pair.source, pair)
        if len(found) == count:
            return list(found.values())
    raise ValueError(f"there are not {count} different sentences of {shortest} to {longest} words")


def lecture(name: str, language: str) -> Pair:
    """One of the sentences that lectures use: "sky", "bread" or "agreement"."""
    return translate(_LECTURE[name], language)


# Sampling ------------------------------------------------------------------------------------------------------------


class _Clauses:
    """Clauses by their number of English words; those that did not fit into one sentence wait for another."""

    def __init__(self, chance: random.Random):
        self.chance = chance
        self.waiting: dict[int, list[Clause]] = {}

    def fitting(self, left: int) -> tuple[Clause, int]:
        """A clause that fills `left` words, or leaves enough for one more with its conjunction; and how many words it has."""
        for _ in range(40):
            clause = _clause(self.chance, left)
            words = len(say(Sentence((clause,)), "english"))
            if words == left or words <= left - _SHORTEST_CLAUSE - 1:
                return clause, words
            if self.waiting.get(left):
                return self.waiting[left].pop(), left
            self.waiting.setdefault(words, []).append(clause)
        return clause, words


def _sentence(chance: random.Random, length: int, waiting: _Clauses) -> Sentence:
    """Clauses with conjunctions between them, and perhaps a full stop, of `length` words in nearly all cases."""
    stop = chance.random() < 0.5 and length > _SHORTEST_CLAUSE
    clauses, conjunctions, left = [], [], length - stop
    while left >= _SHORTEST_CLAUSE + bool(clauses):
        conjunctions += [chance.choice(CONJUNCTIONS)] if clauses else []
        clause, words = waiting.fitting(left - bool(clauses))
        left -= words + bool(clauses)
        clauses.append(clause)
    return Sentence(tuple(clauses), tuple(conjunctions), stop)


def _clause(chance: random.Random, room: int) -> Clause:
    form = chance.choice(("active", "active", "active", "passive", "description"))
    if form == "description":
        subject = _phrase(chance, ("person", "thing"))
        return Clause(subject, chance.choice(_fitting(subject.noun)), form)
    if form == "passive":
        verb = chance.choice([verb for verb in VERBS if {"thing", "text"} & set(verb.objects)])
        kinds = {"thing", "text"} & set(verb.objects)
        when = (chance.choice(MONTHS), chance.choice(YEARS)) if chance.random() < 0.5 else None
        return Clause(_phrase(chance, kinds, more=room > 9), verb, form, date=when)
    verb = chance.choice(VERBS)
    form = "progressive" if verb.english[2] != "-" and chance.random() < 0.4 else "simple"
    subject = chance.randrange(6) if room < 7 or chance.random() < 0.5 else _phrase(chance, ("person",))
    if "person" in verb.objects and chance.random() < 0.4:
        thing = chance.randrange(3)
    else:
        thing = _phrase(chance, verb.objects, more=room > 12)
    adverb = chance.choice(ADVERBS) if chance.random() < 0.25 else None
    place = _place(chance) if chance.random() < 0.3 else None
    return Clause(subject, verb, form, thing, adverb, place)


def _fitting(noun) -> list:
    return [one for one in ADJECTIVES if noun.kind in one.kinds and noun.english[0] not in one.never]


def _described(chance: random.Random, noun) -> tuple:
    """None, one or two adjectives for a noun, in English order."""
    drawn = chance.sample(_fitting(noun), chance.choice((0, 0, 1, 1, 2)))
    return tuple({one.group: one for one in sorted(drawn, key=ADJECTIVES.index)}.values())


def _phrase(chance: random.Random, kinds: Iterable[str], more: bool = False) -> NounPhrase:
    noun = chance.choice([noun for noun in NOUNS if noun.kind in kinds])
    if noun.kind in UNCOUNTED:
        return NounPhrase(noun, "")
    described = _described(chance, noun)
    determiner, plural = chance.choice(((THE, False), (THE, True), (A, False), (chance.choice(NUMBERS), True)))
    return NounPhrase(
        noun, determiner, plural, described, _more(chance, noun) if more and chance.random() < 0.5 else None
    )


def _more(chance: random.Random, noun) -> tuple[str, NounPhrase]:
    if noun.kind == "text":
        return "on", NounPhrase(_BY_NAME["area"], adjectives=_described(chance, _BY_NAME["area"]))
    return "of", _phrase(chance, ("person",))


def _place(chance: random.Random) -> tuple[str, NounPhrase]:
    if chance.random() < 0.3:
        return "with", _phrase(chance, ("person",))
    name = chance.choice(PLACES)
    described = (chance.choice(_fitting(_BY_NAME[name])),) if chance.random() < 0.4 else ()
    return "in", NounPhrase(_BY_NAME[name], chance.choice((THE, A)), adjectives=described)


def _every_form() -> Iterator[Sentence]:
    """Sentences that together hold every word that any sentence can hold."""
    nouns = [noun for noun in NOUNS if noun.kind not in UNCOUNTED]
    phrases = [
        NounPhrase(noun, determiner, plural, described)
        for noun in nouns
        for determiner, plural in ((THE, False), (THE, True), (A, False), *((number, True) for number in NUMBERS))
        for described in ((), *((one,) for one in _fitting(noun)))
    ]
    see = _BY_NAME["see"]
    for phrase in phrases:
        yield Sentence((Clause(phrase, _fitting(phrase.noun)[0], "description"),))
        for place in ("with", "of") if phrase.noun.kind == "person" else ("in", "on"):
            if phrase.noun.kind == "person" or (place, phrase.noun.english[0]) in (
                *(("in", name) for name in PLACES),
                ("on", "area"),
            ):
                yield Sentence((Clause(0, see, object=phrase, place=(place, phrase)),))
        yield from (
            Sentence((Clause(phrase, verb, "passive"),))
            for verb in VERBS
            if not phrase.adjectives and phrase.noun.kind in verb.objects
        )
    for verb in VERBS:
        for form in ("simple", "progressive") if verb.english[2] != "-" else ("simple",):
            for subject in (*range(6), *phrases[:2]):
                for thing in (*(NounPhrase(noun, "") for noun in NOUNS if noun.kind in UNCOUNTED), 0, 1, 2):
                    yield Sentence((Clause(subject, verb, form, thing, ADVERBS[subject == 0]),), stop=True)
    for described in _fitting(_BY_NAME["child"]):
        for plural in (False, True):
            for noun in ("child", "woman"):
                yield Sentence((Clause(NounPhrase(_BY_NAME[noun], plural=plural), described, "description"),))
    for month in MONTHS:
        for year in YEARS:
            clause = Clause(phrases[0], see, "passive", date=(month, year))
            yield from (Sentence((clause, clause), (conjunction,)) for conjunction in CONJUNCTIONS)
    yield from (
        Sentence((Clause(0, see, object=1), Clause(subject, see, object=1)), (conjunction,))
        for conjunction in CONJUNCTIONS
        for subject in (*range(6), *phrases)
    )


_BY_NAME = {one.english if isinstance(one.english, str) else one.english[0]: one for one in NOUNS + ADJECTIVES + VERBS}
_EUROPEAN, _ECONOMIC = _BY_NAME["European"], _BY_NAME["economic"]
PLACES = ("garden", "school", "house", "boat")  # that one is in
_WE = lexicon.PRONOUNS["english"].index("we")
_AREA = NounPhrase(_BY_NAME["area"], adjectives=(_EUROPEAN, _ECONOMIC))
_LECTURE = {
    "sky": Sentence((Clause(_WE, _BY_NAME["see"], object=NounPhrase(_BY_NAME["sky"])),)),
    "bread": Sentence((Clause(_WE, _BY_NAME["eat"], "progressive", NounPhrase(_BY_NAME["bread"], "")),)),
    "agreement": Sentence(
        (
            Clause(
                NounPhrase(_BY_NAME["agreement"], more=("on", _AREA)),
                _BY_NAME["sign"],
                "passive",
                date=(MONTHS[2], "1992"),
            ),
        ),
        stop=True,
    ),
}

# Words as numbers ----------------------------------------------------------------------------------------------------


class Vocabulary:
    """Numbers for the words of a language; 0, 1 and 2 are [PAD], [START] and [STOP]."""

    def __init__(self, words: Iterable[str]):
        self.words = [*SPECIAL, *sorted(set(words))]
        self.numbers = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Iterable[str]) -> list[int]:
        """The words' numbers, with [STOP] at the end.

        Raises:
            KeyError: a word that the language does not have.
        """
        return [self.numbers[word] for word in words] + [STOP]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """The words up to the first [STOP], without padding."""
        words = []
        for number in map(int, numbers):
            if number == STOP:
                break
            if number not in (PAD, START):
                words.append(self.words[number])
        return words


@cache
def vocabulary(language: str) -> Vocabulary:
    """All words of "english", "french", "italian" or "spanish" that the corpus can use."""
    return Vocabulary(word.text for sentence in _every_form() for word in say(sentence, language))


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as padded numbers; both sides end with [STOP].

    Attributes:
        source: [B, T_x]; its lengths [B] count the [STOP].
        target: [B, T_y].
        pairs: the sentences themselves, in order.
    """

    source: Int[Tensor, "B T_x"]
    lengths: Int[Tensor, " B"]
    target: Int[Tensor, "B T_y"]
    pairs: tuple[Pair, ...]

    def to(self, device) -> "Batch":
        """The batch with its tensors on `device`."""
        moved = {one.name: getattr(self, one.name) for one in fields(self)}
        return Batch(**{k: v.to(device) if isinstance(v, Tensor) else v for k, v in moved.items()})


def batch(pairs: Iterable[Pair], language: str) -> Batch:
    """The pairs, in order, as one batch."""
    pairs = tuple(pairs)
    english, other = vocabulary("english"), vocabulary(language)
    source = [torch.tensor(english.encode(pair.source)) for pair in pairs]
    target = [torch.tensor(other.encode(pair.target)) for pair in pairs]
    padded = [torch.nn.utils.rnn.pad_sequence(side, batch_first=True, padding_value=PAD) for side in (source, target)]
    return Batch(padded[0], torch.tensor([len(one) for one in source]), padded[1], pairs)


def batches(pairs: Iterable[Pair], language: str, size: int, steps: int, seed: int = 0) -> Iterator[Batch]:
    """`steps` batches of at most `size` pairs, drawn again and again; the English sentences of one batch are equally long."""
    chance = random.Random(seed)
    ordered = sorted(pairs, key=lambda pair: len(pair.source))
    groups = []
    for _, alike in groupby(ordered, key=lambda pair: len(pair.source)):
        alike = list(alike)
        groups += [alike[start : start + size] for start in range(0, len(alike), size)]
    made: dict[int, Batch] = {}
    for _ in range(steps):
        number = chance.choices(range(len(groups)), [len(group) for group in groups])[0]
        if number not in made:
            made[number] = batch(groups[number], language)
        yield made[number]
