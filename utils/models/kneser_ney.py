"""The n-gram language model with interpolated Kneser-Ney smoothing, what language models were before neural networks."""

from dataclasses import dataclass

import numpy as np

_DISCOUNT = 0.5  # where no k-gram is counted once, so that what was never seen keeps a probability


@dataclass(frozen=True)
class _Level:
    """The k-grams of the training text for one k.

    A k-gram is known by its context's place among the (k-1)-grams and its last token, as the code place * V + token.

    Attributes:
        codes: [K], in increasing order; a k-gram's own place is where its code stands here.
        counts: [K], how often it occurs, or for k < n how many different tokens stand before it.
        totals: [contexts], the sum of the counts of each context's k-grams.
        kinds: [contexts], how many of them are above zero.
        discount: taken from each count above zero.
    """

    codes: np.ndarray
    counts: np.ndarray
    totals: np.ndarray
    kinds: np.ndarray
    discount: float


class KneserNey:
    """Predicts a token from the n - 1 before it.

    For k = 1 to n, with h the last k - 1 tokens, c the counts of order k and p_0(w) = 1 / V:

        p_k(w | h) = max(c(h w) - d, 0) / c(h ·) + d · kinds(h) / c(h ·) · p_{k-1}(w | h without its first token)

    and p_k = p_{k-1} after an h that the training text does not have. In the order n, c counts occurrences, and in those
    below, how many different tokens stand before the k-gram. Each order's discount is d = n1 / (n1 + 2 n2), from the numbers
    of k-grams that are counted once and twice (0.5 if there are none of the first).

    Source: R. Kneser, H. Ney (1995), Improved backing-off for m-gram language modeling; interpolated as in S. Chen,
    J. Goodman (1999), An empirical study of smoothing techniques for language modeling, section 4.
    """

    def __init__(self, tokens, n: int, V: int, discount: float | None = None):
        """Counts the n-grams of `tokens` [T], numbers below V.

        Args:
            discount: for all orders, between 0 and 1; None estimates it.

        Raises:
            ValueError: n is below 1, the text is shorter than n, or a number is not below V.
        """
        tokens = np.asarray(tokens, dtype=np.int64)
        if not 1 <= n <= len(tokens):
            raise ValueError(f"n is {n}; it must be at least 1 and at most the text's length, {len(tokens)}")
        if tokens.min() < 0 or tokens.max() >= V:
            raise ValueError(f"tokens must be numbers from 0 to V - 1 = {V - 1}")
        self.n, self.V = n, V
        # of the k-gram that begins at each token; at first the empty one
        places = np.zeros(len(tokens) + 1, dtype=np.int64)
        sizes, found = [1], []
        for k in range(1, n + 1):
            codes, first, places, occurrences = np.unique(
                places[: len(tokens) - k + 1] * V + tokens[k - 1 :],
                return_index=True,
                return_inverse=True,
                return_counts=True,
            )
            if found:  # each k-gram stands for one token before its last k - 1
                shorter = found[-1][2][first + 1]
                found[-1] = (found[-1][0], np.bincount(shorter, minlength=sizes[-1]), found[-1][2])
            found.append((codes, occurrences, places))
            sizes.append(len(codes))
        self.levels = [
            _level(codes, counts, contexts, V, discount) for (codes, counts, _), contexts in zip(found, sizes)
        ]

    def probabilities(self, tokens) -> np.ndarray:
        """For each token of a text [T] its probability [T], given those before it in the text."""
        tokens = np.asarray(tokens, dtype=np.int64)
        p = np.full(len(tokens), 1 / self.V)
        places = np.zeros(len(tokens) + 1, dtype=np.int64)  # of the (k-1)-gram that begins at each token, or -1
        for k, level in enumerate(self.levels, 1):
            contexts = places[: len(tokens) - k + 1]
            longer = _find(level, contexts, tokens[k - 1 :], self.V)
            p[k - 1 :] = _interpolated(level, contexts, longer, p[k - 1 :])
            places = longer
        return p

    def distribution(self, context) -> np.ndarray:
        """The probabilities [V] of all tokens after `context`, of which the last n - 1 tokens count."""
        context = np.asarray(context, dtype=np.int64)
        p, every = np.full(self.V, 1 / self.V), np.arange(self.V)
        for k, level in enumerate(self.levels, 1):
            if k - 1 > len(context):
                break
            place = np.zeros(1, dtype=np.int64)
            for below, token in zip(self.levels, context[len(context) - k + 1 :]):
                place = _find(below, place, token, self.V)
            contexts = np.repeat(place, self.V)
            p = _interpolated(level, contexts, _find(level, contexts, every, self.V), p)
        return p


def _level(codes, counts, contexts: int, V: int, discount: float | None) -> _Level:
    if discount is None:
        once, twice = (counts == 1).sum(), (counts == 2).sum()
        discount = float(once / (once + 2 * twice)) if once else _DISCOUNT
    place = codes // V
    totals = np.bincount(place, weights=counts, minlength=contexts)
    return _Level(codes, counts, totals, np.bincount(place, weights=counts > 0, minlength=contexts), discount)


def _find(level: _Level, contexts, tokens, V: int) -> np.ndarray:
    """The places of the k-grams made of contexts' places and tokens; -1 for one that the training text does not have."""
    codes = contexts * V + tokens
    places = np.searchsorted(level.codes, codes).clip(max=len(level.codes) - 1)
    return np.where((contexts >= 0) & (level.codes[places] == codes), places, -1)


def _interpolated(level: _Level, contexts, grams, lower) -> np.ndarray:
    """p_k from p_{k-1}: the formula of the class."""
    totals = np.where(contexts >= 0, level.totals[contexts], 0)
    counts = np.where(grams >= 0, level.counts[grams], 0)
    seen = np.maximum(totals, 1)
    p = (np.maximum(counts - level.discount, 0) + level.discount * level.kinds[contexts] * lower) / seen
    return np.where(totals > 0, p, lower)
