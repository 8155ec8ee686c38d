"""The texts of the lesson on language models."""

import random
import string

import pytest

from utils.data.texts import grammar, is_sentence, sentences, standard_library


def test_the_grammars_text_is_the_same_for_a_seed_and_no_sentence_is_in_both_parts():
    train, test = grammar(200, seed=1)
    assert (train, test) == grammar(200, seed=1) != grammar(200, seed=2)
    lines, others = train.splitlines(), test.splitlines()
    assert (len(lines), len(others)) == (180, 20)
    assert not set(lines) & set(others) and len(set(lines)) == 180


def test_sentences_are_lines_of_words_with_at_most_a_full_stop():
    for line in sentences(100):
        assert 3 <= len(line.rstrip(".").split()) <= 24
        assert set(line) <= set(string.ascii_letters + string.digits + " .'") and " ." not in line


def test_the_standard_librarys_parts_are_ascii_and_come_from_different_files():
    train, test = standard_library()
    assert train.isascii() and test.isascii()
    assert 5 < len(train) / len(test) < 20 and len(train) > 2_000_000
    long = [line for line in test.splitlines() if line.startswith('"""') and len(line) > 40]
    assert long and sum(line in train for line in long) < len(long) / 4  # a module's first line is its own
    assert standard_library() == (train, test) != standard_library(seed=1)


def test_every_sentence_of_the_grammar_is_recognised():
    refused = [line for line in sentences(4000, seed=7) if not is_sentence(line)]
    assert not refused


def test_nearly_no_sentence_survives_a_word_put_at_random():
    chance = random.Random(0)
    lines = [line.split() for line in sentences(1000)]
    words = sorted({word for line in lines for word in line if "." not in word})
    for line in lines:
        line[chance.randrange(len(line))] = chance.choice(words)
    assert 0 < sum(is_sentence(" ".join(line)) for line in lines) < 50


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("she reads a letter", "she read a letter"),
        ("we are eating bread", "we are eating letters"),
        ("an agreement was signed in May 1992.", "a agreement was signed in May 1992."),
        ("a European student sees him", "an European student sees him"),
        ("the small black boat is modern", "the black small boat is modern"),
        ("the big modern houses are red", "the big modern red houses are red"),
        ("they often see the sky", "they see often the sky"),
        ("the books on the European area were read", "the boats on the European area were read"),
        ("the books were read", "the books in the garden were read"),
        ("we read the book on the area", "we see him on the area"),
        ("I love her but he drinks water", "I love her but drinks water"),
    ],
)
def test_agreement_order_and_meaning_decide(right, wrong):
    assert is_sentence(right) and not is_sentence(wrong)
