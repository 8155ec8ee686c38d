"""The translation data: grammar that agrees, alignments that are right, lengths as asked, the same data for the same seed."""

import pytest

from utils.data import lexicon
from utils.data.lexicon import LANGUAGES
from utils.data.translation import (
    PAD,
    START,
    STOP,
    batch,
    batches,
    corpus,
    lecture,
    vocabulary,
)

LECTURE = {
    ("sky", "italian"): ("we see the sky", "vediamo il cielo"),
    ("bread", "spanish"): ("we are eating bread", "estamos comiendo pan"),
    ("agreement", "french"): (
        "the agreement on the European economic area was signed in August 1992 .",
        "l' accord sur la zone économique européenne a été signé en août 1992 .",
    ),
}


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request):
    return request.param


@pytest.fixture(scope="module")
def pairs(language):
    return corpus(language, 1500, seed=3)


@pytest.mark.parametrize("name, language", LECTURE)
def test_the_lectures_sentences_are_translated_as_on_the_slides(name, language):
    pair = lecture(name, language)
    assert (" ".join(pair.source), " ".join(pair.target)) == LECTURE[name, language]


def test_the_agreements_area_is_said_in_the_reverse_order():
    pair = lecture("agreement", "french")
    links = {(pair.target[j], pair.source[i]) for j, i in pair.sure}
    assert {("zone", "area"), ("économique", "economic"), ("européenne", "European"), ("été", "was")} <= links
    places = [i for j in range(4, 7) for t, i in sorted(pair.sure) if t == j]
    assert places == [6, 5, 4]
    assert (pair.target.index("a"), pair.source.index("was")) in pair.sure


def test_words_may_be_linked_to_what_their_form_depends_on():
    pair = lecture("sky", "italian")
    assert pair.sure == {(0, 1), (1, 2), (2, 3)} and pair.possible - pair.sure == {(0, 0), (1, 3)}


@pytest.mark.parametrize("shortest, longest", [(3, 3), (3, 8), (20, 20), (40, 60)])
def test_lengths_stay_in_the_range_and_fill_it(language, shortest, longest):
    lengths = [len(pair.source) for pair in corpus(language, 60, shortest, longest)]
    assert min(lengths) >= shortest and max(lengths) <= longest
    assert len(set(lengths)) >= min(5, longest - shortest + 1)


@pytest.mark.parametrize("bad", [("german", 5, 3, 9), ("french", 5, 2, 9), ("french", 5, 9, 8), ("french", 5, 9, 61)])
def test_what_cannot_be_had_is_refused_with_a_reason(bad):
    with pytest.raises(ValueError, match="there are|between 3 and 60"):
        corpus(*bad)


def test_the_same_seed_gives_the_same_sentences_and_another_seed_others(language):
    assert corpus(language, 50, seed=1) == corpus(language, 50, seed=1)
    assert corpus(language, 50, seed=1) != corpus(language, 50, seed=2)


def test_no_sentence_comes_twice(pairs):
    assert len({pair.source for pair in pairs}) == len(pairs)


def test_every_link_joins_words_that_are_there_and_sure_links_are_possible(pairs):
    for pair in pairs:
        assert pair.sure <= pair.possible
        assert all(j < len(pair.target) and i < len(pair.source) for j, i in pair.possible)
        assert {i for _, i in pair.possible} == set(range(len(pair.source))), "an English word without a partner"


def _said(language: str) -> dict[str, set[str]]:
    """English word -> every word that the lexicon gives for it."""
    column = ("english", *LANGUAGES).index(language)
    said: dict[str, set[str]] = {}

    def note(english, others):
        said.setdefault(english, set()).update(others)

    for noun in lexicon.NOUNS:
        for english, other in zip(noun.english, getattr(noun, language)[1:]):
            note(english, [other])
    for adjective in lexicon.ADJECTIVES:
        note(adjective.english, getattr(adjective, language))
    for verb in lexicon.VERBS:
        *finite, gerund, stem = getattr(verb, language)
        base, third, progressive, participle = verb.english
        note(base, finite)
        note(third, finite[2:3])
        note(progressive, [gerund, *(finite if language == "french" else [])])
        note(participle, [stem + ending for ending in lexicon.ENDINGS[language]])
    for entry in (*lexicon.MONTHS, *lexicon.ADVERBS, *lexicon.NUMBERS, *lexicon.CONJUNCTIONS):
        note(entry[0], entry[column].split())
    for year in (*lexicon.YEARS, "."):
        note(year, [year])
    return said


def test_sure_links_join_words_that_mean_the_same(pairs, language):
    said = _said(language)
    checked = 0
    for pair in pairs:
        for j, i in pair.sure:
            if pair.source[i] in said and pair.target[j] not in ("parce", "tandis", "qu'", "que"):
                assert pair.target[j] in said[pair.source[i]], (pair.source[i], pair.target[j])
                checked += 1
    assert checked > 10_000


GENDERED = {"french": ("un", "une"), "italian": ("un", "uno", "una", "un'"), "spanish": ("un", "una")}


def _form(language: str) -> dict[str, set[tuple[str, int]]]:
    """Word -> the (kind of word, 2·plural + feminine) that it can be."""
    found: dict[str, set] = {}
    for noun in lexicon.NOUNS:
        gender, *forms = getattr(noun, language)
        for plural, text in enumerate(forms):
            found.setdefault(text, set()).add(("noun", 2 * plural + (gender == "f")))
    for adjective in lexicon.ADJECTIVES:
        for agreement, text in enumerate(getattr(adjective, language)):
            found.setdefault(text, set()).add(("adjective", agreement))
    return found


def test_adjectives_agree_with_their_nouns_in_gender_and_number(pairs, language):
    forms = _form(language)
    seen = set()
    for pair in pairs:
        for before, after in zip(pair.target, pair.target[1:]):
            one, two = forms.get(before, set()), forms.get(after, set())
            for first, second in ((one, two), (two, one)):
                nouns = {agreement for kind, agreement in first if kind == "noun"}
                adjectives = {agreement for kind, agreement in second if kind == "adjective"}
                if nouns and adjectives:
                    assert nouns & adjectives, (before, after)
                    seen |= nouns
    assert seen == {0, 1, 2, 3}, "every gender and number came up"


ARTICLES = {
    "french": {"le": 0, "la": 1, "un": 0, "une": 1},
    "italian": {"il": 0, "lo": 0, "la": 1, "un": 0, "uno": 0, "una": 1, "un'": 1, "i": 2, "gli": 2, "le": 3},
    "spanish": {"el": 0, "la": 1, "un": 0, "una": 1, "los": 2, "las": 3, "del": 0, "al": 0},
}


def test_articles_agree_with_the_word_behind_them(pairs, language):
    forms, checked = _form(language), 0
    for pair in pairs:
        for article, word in zip(pair.target, pair.target[1:]):
            if article in ARTICLES[language] and word in forms and len(forms[word]) == 1:
                assert next(iter(forms[word]))[1] == ARTICLES[language][article], (article, word)
                checked += 1
    assert checked > 500


FORBIDDEN = {
    "french": [
        ("de", "le"),
        ("de", "les"),
        ("je", "aime"),
        ("la", "eau"),
        ("le", "ami"),
        ("que", "il"),
        ("le", "école"),
    ],
    "italian": [("in", "il"), ("su", "la"), ("di", "il"), ("il", "specchio"), ("il", "amico"), ("un", "specchio")],
    "spanish": [("de", "el"), ("a", "el"), ("en", "al")],
}


def test_words_melt_and_change_as_the_language_asks(pairs, language):
    neighbours = {two for pair in pairs for two in zip(pair.target, pair.target[1:])}
    forms = _form(language)
    assert not neighbours & set(FORBIDDEN[language])
    vowels = tuple("aeiouéèêàâîôûh")
    for before, after in neighbours:
        if language == "french":
            assert before not in ("je", "le", "la", "de", "que") or not after.startswith(vowels), (before, after)
            assert not before.endswith("'") or after.startswith(vowels), (before, after)
        if language == "italian" and after in forms and before in ("il", "lo", "la", "i", "gli", "un", "uno", "una"):
            special = after[0] == "s" and after[1] not in "aeiou"
            assert not after.startswith(vowels) or before in ("gli", "un"), (before, after)
            assert before not in (("il", "i", "un") if special else ("lo", "uno")), (before, after)
    english = {two for pair in pairs for two in zip(pair.source, pair.source[1:])}
    assert ("a", "agreement") not in english and ("an", "agreement") in english and ("a", "European") in english


def test_adjectives_stand_where_each_language_puts_them():
    order = {}
    for language in LANGUAGES:
        for pair in corpus(language, 1500, seed=4):
            place = {i: j for j, i in pair.sure}
            for i, two in enumerate(zip(pair.source, pair.source[1:])):
                if two == ("small", "house"):
                    order.setdefault(language, set()).add(place[i] < place[i + 1])
    assert order == {"french": {True}, "italian": {True}, "spanish": {False}}


def test_object_pronouns_stand_before_the_verb(pairs):
    seen = 0
    for pair in pairs:
        for i, word in enumerate(pair.source):
            if word in ("him", "them"):
                (clitic,) = [j for j, k in pair.sure if k == i]
                verb = [j for j, k in pair.sure if k == i - 1]
                seen += bool(verb)
                assert not verb or clitic < min(verb)
    assert seen > 50


def test_the_vocabulary_holds_every_word_and_reads_back_what_it_wrote(pairs, language):
    english, other = vocabulary("english"), vocabulary(language)
    for pair in pairs:
        assert english.decode(english.encode(pair.source)) == list(pair.source)
        assert other.decode([START, *other.encode(pair.target), PAD, 7]) == list(pair.target)
    assert other.words[:3] == ["[PAD]", "[START]", "[STOP]"] and len(set(other.words)) == len(other)
    with pytest.raises(KeyError):
        other.encode(["Transformer"])


def test_a_batch_is_padded_behind_and_ends_each_sentence_with_stop(pairs, language):
    made = batch(pairs[:7], language)
    assert made.pairs == tuple(pairs[:7])
    for row, length, pair in zip(made.source, made.lengths, made.pairs):
        assert length == len(pair.source) + 1 and row[length - 1] == STOP and (row[length:] == PAD).all()
        assert vocabulary("english").decode(row) == list(pair.source)
    for row, pair in zip(made.target, made.pairs):
        assert (row != PAD).sum() == len(pair.target) + 1 and vocabulary(language).decode(row) == list(pair.target)


def test_batches_hold_equally_long_sentences_and_repeat_with_the_seed(pairs, language):
    first, again = ([made.source.tolist() for made in batches(pairs, language, 16, 8, seed=5)] for _ in range(2))
    assert first == again and len(first) == 8
    for made in batches(pairs, language, 16, 8):
        assert len(made.pairs) <= 16 and made.lengths.min() == made.lengths.max() == made.source.shape[1]


def test_batches_reach_every_pair(language):
    pairs = corpus(language, 90, 3, 12)
    reached = {pair for made in batches(pairs, language, 16, 300) for pair in made.pairs}
    assert reached == set(pairs)
