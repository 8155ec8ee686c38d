"""The n-gram model against the textbook's formula, counted the slow way."""

import random
from collections import Counter, defaultdict

import numpy as np
import pytest

from utils.models.kneser_ney import KneserNey

V = 7
_CHANCE = random.Random(0)
TEXT = [_CHANCE.choice((0, 0, 0, 1, 1, 2, 3, 4, 5)) for _ in range(400)]  # 6 never occurs
NEW = [_CHANCE.randrange(V) for _ in range(60)]


def textbook(text, n, d):
    """p(token, history) with dictionaries and recursion, as Chen and Goodman write it."""
    grams = {k: Counter(tuple(text[i : i + k]) for i in range(len(text) - k + 1)) for k in range(1, n + 1)}
    before = {k: defaultdict(set) for k in range(1, n)}
    for k in range(1, n):
        for gram in grams[k + 1]:
            before[k][gram[1:]].add(gram[0])
    count = {k: {gram: len(those) for gram, those in before[k].items()} for k in before} | {n: grams[n]}

    def p(token, history):
        k = len(history) + 1
        shorter = p(token, history[1:]) if history else 1 / V
        after = {gram[-1]: c for gram, c in count[k].items() if gram[:-1] == history}
        if not after:
            return shorter
        total = sum(after.values())
        return max(after.get(token, 0) - d, 0) / total + d * len(after) / total * shorter

    return p


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_probabilities_are_those_of_the_formula(n):
    p = textbook(TEXT, n, 0.75)
    expected = [p(token, tuple(NEW[max(0, i - n + 1) : i])) for i, token in enumerate(NEW)]
    np.testing.assert_allclose(KneserNey(TEXT, n, V, 0.75).probabilities(NEW), expected, rtol=1e-12)


def test_an_example_by_hand():
    # "a b a b a c": after a, b twice and c once; b and c each stand after one kind of token, a after one (b)
    model = KneserNey([0, 1, 0, 1, 0, 2], 2, 3, 0.5)
    lower = (1 - 0.5) / 3 + 0.5 * 3 / 3 * (1 / 3)  # each of the three tokens has one kind of token before it
    assert model.distribution([0]) == pytest.approx(
        [0.5 * 2 / 3 * lower, 1.5 / 3 + 0.5 * 2 / 3 * lower, 0.5 / 3 + 0.5 * 2 / 3 * lower]
    )


@pytest.mark.parametrize("n", [1, 3, 4])
@pytest.mark.parametrize("context", [[], [0], [6], [0, 1, 0], [4, 6, 0], [0, 0, 5, 4, 3]])
def test_a_distribution_sums_to_one_and_agrees_with_the_probabilities_of_a_text(n, context):
    model = KneserNey(TEXT, n, V)
    p = model.distribution(context)
    assert p.sum() == pytest.approx(1) and (p > 0).all()
    np.testing.assert_allclose([model.probabilities([*context, token])[-1] for token in range(V)], p)


def test_the_discount_is_estimated_from_what_is_counted_once_and_twice():
    pairs = Counter(zip(TEXT, TEXT[1:])).values()
    once, twice = sum(c == 1 for c in pairs), sum(c == 2 for c in pairs)
    assert once and KneserNey(TEXT, 2, V).levels[-1].discount == pytest.approx(once / (once + 2 * twice))


def test_text_that_cannot_be_counted_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        KneserNey(TEXT, 0, V)
    with pytest.raises(ValueError, match="at most the text's length"):
        KneserNey([0, 1], 3, V)
    with pytest.raises(ValueError, match="numbers from 0"):
        KneserNey(TEXT, 2, 4)
