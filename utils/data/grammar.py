"""What a sentence of the translation data means, and how each language says it; every word knows what it stands for."""

from dataclasses import dataclass

from utils.data.lexicon import (
    BE,
    CLITICS,
    ENDINGS,
    FORM,
    PREPOSITIONS,
    PRONOUNS,
    Adjective,
    Noun,
    Verb,
    in_language,
)

_PREPOSITION = {entry[0]: entry for entry in PREPOSITIONS}
THIRD = (2, 4)  # which of a verb's present forms a noun takes, by number


@dataclass(frozen=True)
class NounPhrase:
    """`determiner` is "the", "a", an entry of NUMBERS, or "" for food and drink; `more` is a preposition with its noun phrase."""

    noun: Noun
    determiner: str | tuple = "the"
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    more: tuple[str, "NounPhrase"] | None = None


@dataclass(frozen=True)
class Clause:
    """Subject and object are noun phrases, or places in PRONOUNS and CLITICS; an Adjective as verb describes the subject.

    `form` is "simple", "progressive" or, with a noun phrase as subject, "passive" (past) or "description".
    """

    subject: NounPhrase | int
    verb: Verb | Adjective
    form: str = "simple"
    object: NounPhrase | int | None = None
    adverb: tuple | None = None
    place: tuple[str, NounPhrase] | None = None
    date: tuple[tuple, str] | None = None


@dataclass(frozen=True)
class Sentence:
    """Clauses, the conjunctions between them, and whether a full stop ends it."""

    clauses: tuple[Clause, ...]
    conjunctions: tuple[tuple, ...] = ()
    stop: bool = False


@dataclass(frozen=True)
class Word:
    """A word, and names of English words' places: of those it translates for sure, and of those it may be linked to as well.

    These are the noun or subject that it agrees with, and a helping verb that is not said. Elision is no agreement.
    """

    text: str
    sure: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()


def say(sentence: Sentence, language: str) -> list[Word]:
    """The sentence in "english" or one of LANGUAGES; an English word's only name is in `sure`."""
    speaker = _English() if language == "english" else _SPEAKERS[language]()
    words = []
    for number, clause in enumerate(sentence.clauses):
        if number:
            texts = in_language(sentence.conjunctions[number - 1], language).split()
            words += [Word(text, (f"{number}:and",)) for text in texts]
        words += speaker.clause(clause, f"{number}:")
    if sentence.stop:
        words.append(Word(".", ("stop",)))
    return speaker.joined(words)


class _English:
    def clause(self, clause: Clause, at: str) -> list[Word]:
        subject = clause.subject
        pronoun = isinstance(subject, int)
        plural = not pronoun and subject.plural
        words = [Word(PRONOUNS["english"][subject], (at + "subject",))] if pronoun else self.phrase(subject, at + "s")
        form = FORM[subject] if pronoun else THIRD[plural]
        words += self.verb(clause, form, plural, at)
        if isinstance(clause.object, int):
            words.append(Word(CLITICS["english"][clause.object], (at + "object",)))
        elif clause.object:
            words += self.phrase(clause.object, at + "o")
        if clause.place:
            words += self.place(clause.place, at + "p")
        if clause.date:
            month, year = clause.date
            words += [Word("in", (at + "in",)), Word(month[0], (at + "month",)), Word(year, (at + "year",))]
        return words

    def verb(self, clause: Clause, form: int, plural: bool, at: str) -> list[Word]:
        adverb = [Word(clause.adverb[0], (at + "adverb",))] if clause.adverb else []
        be, verb = (at + "be",), (at + "verb",)
        if clause.form == "description":
            return [Word(BE["english"]["am"][form], be), Word(clause.verb.english, verb)]
        base, third, progressive, participle = clause.verb.english
        if clause.form == "passive":
            return [Word(BE["english"]["was"][plural], be), Word(participle, verb)]
        if clause.form == "progressive":
            return [Word(BE["english"]["am"][form], be), *adverb, Word(progressive, verb)]
        return [*adverb, Word(third if form == 2 else base, verb)]

    def phrase(self, phrase: NounPhrase, at: str) -> list[Word]:
        determiner = phrase.determiner if isinstance(phrase.determiner, str) else phrase.determiner[0]
        words = [Word(determiner, (at + "the",))] if determiner else []
        words += [Word(one.english, (f"{at}adjective{i}",)) for i, one in enumerate(phrase.adjectives)]
        words.append(Word(phrase.noun.english[phrase.plural], (at + "noun",)))
        return words + (self.place(phrase.more, at + "m") if phrase.more else [])

    def place(self, place: tuple[str, NounPhrase], at: str) -> list[Word]:
        return [Word(place[0], (at + "in",)), *self.phrase(place[1], at)]

    def joined(self, words: list[Word]) -> list[Word]:
        """`a` is `an` before a vowel; "European" begins with the sound of you."""
        following = [word.text for word in words[1:]] + [""]
        return [
            Word("an", word.sure) if word.text == "a" and after[:1] in tuple("aeiou") else word
            for word, after in zip(words, following)
        ]


class _Romance:
    """What French, Italian and Spanish have in common; the three classes below say where they differ."""

    language = ""
    drops_pronouns = True

    def clause(self, clause: Clause, at: str) -> list[Word]:
        subject = clause.subject
        if isinstance(subject, int):
            gender, plural, form, agrees = "m", False, FORM[subject], (at + "subject",)
            words = [] if self.drops_pronouns else [Word(PRONOUNS[self.language][subject], agrees)]
        else:
            agrees = (at + "snoun",)
            gender, plural, form = self.noun(subject.noun)[0], subject.plural, THIRD[subject.plural]
            words = self.phrase(subject, at + "s")
        if isinstance(clause.object, int):
            words.append(Word(CLITICS[self.language][clause.object], (at + "object",)))
        words += self.verb(clause, form, 2 * plural + (gender == "f"), agrees, at)
        if isinstance(clause.object, NounPhrase):
            words += self.object(clause.object, at)
        if clause.place:
            words += self.place(clause.place, at + "p")
        return words + (self.date(*clause.date, at) if clause.date else [])

    def verb(self, clause: Clause, form: int, agreement: int, agrees: tuple, at: str) -> list[Word]:
        """The verb with what stands around it; `agrees` names the subject."""
        be, verb = (at + "be",), (at + "verb",)
        adverbs = in_language(clause.adverb, self.language).split() if clause.adverb else []
        adverb = [Word(text, (at + "adverb",)) for text in adverbs]
        forms = getattr(clause.verb, self.language)
        plural = agreement > 1
        if clause.form == "description":
            return [Word(BE[self.language]["is"][plural], be, agrees), Word(forms[agreement], verb, agrees)]
        if clause.form == "passive":
            participle = forms[6] + ENDINGS[self.language][agreement]
            return [*self.past(agreement, be, agrees), Word(participle, verb, agrees)]
        if clause.form == "progressive" and "am" in BE[self.language]:
            return [Word(BE[self.language]["am"][form], be, agrees), *adverb, Word(forms[5], verb)]
        also = be if clause.form == "progressive" else ()
        return [Word(forms[form], verb, agrees + also), *adverb]

    def past(self, agreement: int, be: tuple, agrees: tuple) -> list[Word]:
        """What stands before the participle for "was", in one word or two."""
        return [Word(text, be, agrees) for text in BE[self.language]["was"][agreement > 1].split()]

    def object(self, phrase: NounPhrase, at: str) -> list[Word]:
        return self.phrase(phrase, at + "o")

    def phrase(self, phrase: NounPhrase, at: str) -> list[Word]:
        """Some adjectives stand before the noun, the others behind it, the one nearest in English nearest here too."""
        gender, *forms = self.noun(phrase.noun)
        agreement = 2 * phrase.plural + (gender == "f")
        noun = (at + "noun",)
        adjectives = [
            (self.language in one.before, Word(getattr(one, self.language)[agreement], (f"{at}adjective{i}",), noun))
            for i, one in enumerate(phrase.adjectives)
        ]
        words = [word for before, word in adjectives if before]
        words.append(Word(forms[phrase.plural], noun))
        words += [word for before, word in reversed(adjectives) if not before]
        words = self.determiner(phrase, agreement, words[0].text, (at + "the",), noun) + words
        return words + (self.place(phrase.more, at + "m") if phrase.more else [])

    def determiner(self, phrase: NounPhrase, agreement: int, following: str, name: tuple, noun: tuple) -> list[Word]:
        if isinstance(phrase.determiner, tuple):
            return [Word(in_language(phrase.determiner, self.language), name)]
        if phrase.determiner == "the":
            return [Word(self.article(agreement, following), name, noun)]
        if phrase.determiner == "a":
            return [Word(self.indefinite(agreement, following), name, noun)]
        return self.some(agreement, following, noun)

    def some(self, agreement: int, following: str, name: tuple) -> list[Word]:
        """What stands before food of no stated amount."""
        return []

    def place(self, place: tuple[str, NounPhrase], at: str) -> list[Word]:
        preposition = in_language(_PREPOSITION[place[0]], self.language)
        return [Word(preposition, (at + "in",)), *self.phrase(place[1], at)]

    def noun(self, noun: Noun) -> tuple[str, str, str]:
        return getattr(noun, self.language)

    def joined(self, words: list[Word]) -> list[Word]:
        """Two words that melt into one, and words that change before a vowel, put right from the end to the start."""
        done: list[Word] = []
        for word in reversed(words):
            following = done[0] if done else Word("")
            melted = self.melt(word.text, following.text)
            if melted:
                done[0] = Word(melted, word.sure + following.sure, word.possible + following.possible)
            else:
                done.insert(0, Word(self.elide(word.text, following.text), word.sure, word.possible))
        return done

    def melt(self, text: str, following: str) -> str:
        return ""

    def elide(self, text: str, following: str) -> str:
        return text


class _French(_Romance):
    language = "french"
    drops_pronouns = False

    def article(self, agreement: int, following: str) -> str:
        return ("le", "la", "les", "les")[agreement]

    def indefinite(self, agreement: int, following: str) -> str:
        return ("un", "une")[agreement]

    def some(self, agreement: int, following: str, name: tuple) -> list[Word]:
        return [Word("de", (), name), Word(self.article(agreement, following), (), name)]

    def date(self, month: tuple, year: str, at: str) -> list[Word]:
        return [Word("en", (at + "in",)), Word(month[1], (at + "month",)), Word(year, (at + "year",))]

    def melt(self, text: str, following: str) -> str:
        return {("de", "le"): "du", ("de", "les"): "des"}.get((text, following), "")

    def elide(self, text: str, following: str) -> str:
        vowel = following[:1] in tuple("aeiouéèêàâîôûh")  # all words with h in the lexicon have a mute one
        return text[:-1] + "'" if vowel and text in ("je", "le", "la", "de", "que") else text


class _Italian(_Romance):
    language = "italian"

    def article(self, agreement: int, following: str) -> str:
        vowel, special = self.sound(following)
        if vowel:
            return ("l'", "l'", "gli", "le")[agreement]
        return (("lo", "la", "gli", "le") if special else ("il", "la", "i", "le"))[agreement]

    def indefinite(self, agreement: int, following: str) -> str:
        vowel, special = self.sound(following)
        if agreement:
            return "un'" if vowel else "una"
        return "uno" if special else "un"

    @staticmethod
    def sound(text: str) -> tuple[bool, bool]:
        """Whether a word begins with a vowel; and with s and a consonant, which asks for lo and gli."""
        return text[0] in "aeiou", text[0] == "s" and text[1] not in "aeiou"

    def past(self, agreement: int, be: tuple, agrees: tuple) -> list[Word]:
        texts = BE["italian"]["is"][agreement > 1], "stat" + ENDINGS["italian"][agreement]
        return [Word(text, be, agrees) for text in texts]

    def date(self, month: tuple, year: str, at: str) -> list[Word]:
        named = Word(month[2], (at + "month",))
        return [Word("in", (at + "in",)), Word(self.article(0, month[2])), named, Word(year, (at + "year",))]

    def melt(self, text: str, following: str) -> str:
        stem = {"in": "ne", "su": "su", "di": "de"}.get(text)
        end = {"il": "l", "lo": "llo", "l'": "ll'", "la": "lla", "i": "i", "gli": "gli", "le": "lle"}.get(following)
        return stem + end if stem and end else ""


class _Spanish(_Romance):
    language = "spanish"

    def article(self, agreement: int, following: str) -> str:
        return ("el", "la", "los", "las")[agreement]

    def indefinite(self, agreement: int, following: str) -> str:
        return ("un", "una")[agreement]

    def object(self, phrase: NounPhrase, at: str) -> list[Word]:
        """People as objects have an "a" before them."""
        to = [Word("a", (), (at + "verb",))] if phrase.noun.kind == "person" else []
        return to + self.phrase(phrase, at + "o")

    def date(self, month: tuple, year: str, at: str) -> list[Word]:
        spoken = [Word("en", (at + "in",)), Word(month[3], (at + "month",))]
        return [*spoken, Word("de", (), (at + "year",)), Word(year, (at + "year",))]

    def melt(self, text: str, following: str) -> str:
        return {("a", "el"): "al", ("de", "el"): "del"}.get((text, following), "")


_SPEAKERS = {"french": _French, "italian": _Italian, "spanish": _Spanish}
