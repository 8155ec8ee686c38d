"""How good sequences of words are: token accuracy and BLEU."""

import math
from collections import Counter
from collections.abc import Sequence

MAX_ORDER = 4


def token_accuracy(hypothesis: Sequence[str], reference: Sequence[str]) -> float:
    """The share of the reference's places at which the hypothesis has the same word."""
    return sum(ours == theirs for ours, theirs in zip(hypothesis, reference)) / len(reference)


def bleu(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Corpus BLEU, from 0 to 100, of tokenised sentences with one reference each, without smoothing.

    The geometric mean of the precisions of 1- to 4-grams, each n-gram counted at most as often as the reference has it,
    times exp(1 − r/c) where the hypotheses' total length c is below the references' r (Papineni et al., 2002).
    """
    matches, totals = Counter(), Counter()
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for order in range(1, MAX_ORDER + 1):
            ours, theirs = _ngrams(hypothesis, order), _ngrams(reference, order)
            matches[order] += (ours & theirs).total()
            totals[order] += ours.total()
    orders = range(1, MAX_ORDER + 1)
    if any(matches[order] == 0 for order in orders):
        return 0.0
    precision = sum(math.log(matches[order] / totals[order]) for order in orders) / MAX_ORDER
    length, wanted = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * math.exp(precision + min(0.0, 1 - wanted / length))


def _ngrams(words: Sequence[str], order: int) -> Counter:
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))
