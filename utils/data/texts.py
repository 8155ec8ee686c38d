"""Text to learn a language from: sentences of the course's grammar, and the source of Python's standard library."""

import os
import random
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from utils.data.grammar import THIRD
from utils.data.lexicon import (
    ADJECTIVES,
    ADVERBS,
    BE,
    CLITICS,
    CONJUNCTIONS,
    FORM,
    MONTHS,
    NOUNS,
    NUMBERS,
    PRONOUNS,
    VERBS,
    YEARS,
    Adjective,
    Noun,
    Verb,
)
from utils.data.translation import PLACES, UNCOUNTED, corpus

SHORTEST, LONGEST = 3, 24  # words of a sentence
_TEST_EVERY = 10  # sentences or files, of which one is kept for testing
_LEFT_OUT = {
    "test",
    "tests",
    "site-packages",
    "idlelib",
    "lib2to3",
    "encodings",
    "pydoc_data",
    "distutils",
    "turtledemo",
}


def sentences(count: int, seed: int = 0) -> list[str]:
    """`count` different English sentences of the course's grammar, of 3 to 24 words; the same for the same seed."""
    pairs = corpus("french", count, SHORTEST, LONGEST, seed=seed)
    return [" ".join(pair.source).replace(" .", ".") for pair in pairs]


def grammar(count: int = 6000, seed: int = 0) -> tuple[str, str]:
    """Text to train with and text to test with, one sentence a line; no sentence is in both.

    One sentence in ten goes to the test, so that 6,000 sentences give 5,400 and 600.
    """
    lines = sentences(count, seed)
    test = lines[::_TEST_EVERY]
    del lines[::_TEST_EVERY]
    return "\n".join(lines) + "\n", "\n".join(test) + "\n"


def standard_library(seed: int = 0) -> tuple[str, str]:
    """The source of this Python's standard library: text to train with and text to test with, from different files.

    The files are in the library's folder and one level below, without tests, tables and what is no library; they come in an
    order drawn from the seed, and one in ten goes to the test. Characters outside ASCII are left out. The text differs between
    versions of Python.
    """
    home = Path(os.__file__).parent
    files = [*home.glob("*.py"), *home.glob("*/*.py")]
    files = sorted(file for file in files if not _LEFT_OUT.intersection(file.relative_to(home).parts))
    random.Random(seed).shuffle(files)
    test = files[::_TEST_EVERY]
    del files[::_TEST_EVERY]
    return _joined(files), _joined(test)


def _joined(files: list[Path]) -> str:
    text = "\n".join(file.read_text(encoding="utf-8", errors="ignore") for file in files)
    return text.encode("ascii", "ignore").decode()


# Recognising ---------------------------------------------------------------------------------------------------------


def is_sentence(line: str) -> bool:
    """Whether the course's grammar can say the line, whatever its length; the line is without its end."""
    places, phrases, sentences = _recogniser()
    line = places.sub(lambda phrase: "@" + phrase[0][:2], line)
    line = phrases.sub(lambda phrase: "@" + phrase[0].split()[-1], line)
    return sentences.fullmatch(line) is not None


@cache
def _recogniser() -> tuple[re.Pattern, re.Pattern, re.Pattern]:
    """What finds "in the garden" (then written @in) and "on the area" (@on), other noun phrases (@ and noun), and sentences."""
    inside = _either(_place(noun) for noun in NOUNS if noun.english[0] in PLACES)
    area = _either(_phrase(noun, False, "the ") for noun in NOUNS if noun.kind == "area")
    places = f"(?:in {inside}|on {area})"
    phrases = _either(_phrase(noun, plural) for noun in NOUNS for plural in (False, True))
    clause = _either([*_descriptions(), *(clause for verb in VERBS for clause in (*_passive(verb), _active(verb)))])
    sentence = f"{clause}(?: {_either(english for english, *_ in CONJUNCTIONS)} {clause})*\\.?"
    return re.compile(rf"\b{places}\b"), re.compile(rf"\b{phrases}\b"), re.compile(sentence)


def _either(options: Iterable[str]) -> str:
    return "(?:" + "|".join(options) + ")"


def _phrase(noun: Noun, plural: bool, determiner: str = "") -> str:
    """A determiner, none to two adjectives of different groups in their order, and the noun."""
    one = "(?:the |a (?![aeiou])|an (?=[aeiou]))"
    several = _either(["the ", *(f"{english} " for english, *_ in NUMBERS)])
    fitting = _fitting(noun)
    groups = dict.fromkeys(adjective.group for adjective in fitting)
    members = [_either(one.english for one in fitting if one.group == group) for group in groups]
    at_most_two = f"(?!(?:{_either(one.english for one in fitting)} ){{3}})"
    described = "".join(f"(?:{words} )?" for words in members)
    return (determiner or (several if plural else one)) + at_most_two + described + noun.english[plural]


def _place(noun: Noun) -> str:
    return f"(?:the|a) (?:{_either(one.english for one in _fitting(noun))} )?{noun.english[0]}"


def _fitting(noun: Noun) -> list[Adjective]:
    return [one for one in ADJECTIVES if noun.kind in one.kinds and noun.english[0] not in one.never]


def _nouns(kinds: Iterable[str], numbers: Iterable[bool] = (False, True), more: bool = False) -> str:
    """Noun phrases of these kinds, as @ and the noun, perhaps with another behind "of", or for a text with @on."""
    behind = {"text": "(?: @on)?"} if more else {}
    of = f"(?: of {_nouns(['person'])})?" if more else ""
    phrases = []
    for noun in NOUNS:
        if noun.kind in kinds and noun.kind in UNCOUNTED:
            phrases.append(noun.english[0])
        elif noun.kind in kinds:
            phrases += [f"@{noun.english[plural]}{behind.get(noun.kind, of)}" for plural in numbers]
    return _either(phrases)


def _descriptions() -> Iterator[str]:
    for noun in NOUNS:
        for plural in (False, True) if noun.kind in ("person", "thing") else ():
            adjectives = _either(one.english for one in _fitting(noun))
            yield f"@{noun.english[plural]} {BE['english']['am'][THIRD[plural]]} {adjectives}"


def _passive(verb: Verb) -> Iterator[str]:
    date = f"(?: in {_either(english for english, *_ in MONTHS)} {_either(YEARS)})?"
    kinds = {"thing", "text"}.intersection(verb.objects)
    for plural in (False, True) if kinds else ():
        yield f"{_nouns(kinds, [plural], more=True)} {BE['english']['was'][plural]} {verb.english[3]}{date}"


def _active(verb: Verb) -> str:
    base, third, progressive, _ = verb.english
    adverb = f"(?:{_either(english for english, *_ in ADVERBS)} )?"
    subjects = [*zip(PRONOUNS["english"], FORM)]
    subjects += [(_nouns(["person"], [plural]), THIRD[plural]) for plural in (False, True)]
    said = [f"{subject} {adverb}{third if form == 2 else base}" for subject, form in subjects]
    if progressive != "-":
        said += [f"{subject} {BE['english']['am'][form]} {adverb}{progressive}" for subject, form in subjects]
    objects = [_nouns(verb.objects, more=True), *(CLITICS["english"] if "person" in verb.objects else ())]
    return f"{_either(said)} {_either(objects)}(?: with {_nouns(['person'])}| @in)?"
