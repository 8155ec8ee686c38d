"""Finds facts about weights, which are positive and sum to 1 over the last axis: their sums, temperature and positions."""

import numpy as np

from utils.checking.explaining.facts import Fact, Facts, Kind
from utils.checking.explaining.places import POSITIONS
from utils.checking.explaining.scales import NEARLY, named_factors
from utils.checking.messages.facts import weights as words
from utils.checking.messages.facts.weights import Row

_SUMS = 1e-3  # absolute accuracy of a sum of weights
_VANISHING = 1e-30  # a weight below it may be rounded to 0 elsewhere
_LEAST = -80.0  # the logarithm of the smallest weight that single precision holds
_EXACT = 2e-3  # share of the size of log-weights by which a pattern in them may be off
_SOME = 1e-6  # where more weight is expected, the actual weight should not be 0
_ONE_FACTOR = 1e-3  # accuracy of a factor of the scores
# facts that explain all weights
_BY_SCORES = {Kind.TEMPERATURE, Kind.PROPORTION, Kind.SUM_OVER, Kind.TWICE, Kind.CUT, Kind.KEPT}


def are_weights(values: np.ndarray) -> bool:
    """Whether numbers are positive and sum to 1 over the last axis, or over the last two together."""
    return bool(weighed_axes(values))


def weighed_axes(values: np.ndarray) -> int:
    """The number of last axes over which positive numbers sum to 1: one, two (a map), or 0 where they are no weights."""
    if not values.ndim or (values < 0).any():
        return 0
    if values.shape[-1] > 1 and _sum_to_one(values.sum(axis=-1)):
        return 1
    return 2 if values.ndim > 1 and values.shape[-2] > 1 and _sum_to_one(values.sum(axis=(-1, -2))) else 0


def _sum_to_one(sums: np.ndarray) -> bool:
    return bool(np.allclose(sums, 1, atol=_SUMS))


def _are_ones_or_zeros(sums: np.ndarray) -> np.ndarray:
    return np.isclose(sums, 1, atol=_SUMS) | (sums == 0)


def _are_about(actual: np.ndarray, other: np.ndarray, limit: float) -> bool:
    """Whether weights equal the other ones within a tolerance that is small compared with the differences among the others."""
    return bool(np.allclose(actual, other, rtol=1e-3, atol=min(10 * limit, np.ptp(other) / 20)))


def weight_facts(
    name: str, axes: list[str], expected: np.ndarray, actual: np.ndarray, limit: float, sizes: dict[str, int]
) -> Facts:
    """Facts about a result that should hold weights; none where it should not, or where numbers are not finite."""
    if not are_weights(expected) or not np.isfinite(actual).all():
        return []
    if weighed_axes(expected) == 2:
        return _map_facts(name, axes, expected, actual, limit, sizes)
    return _row_facts(name, axes, expected, actual, limit, sizes, Row.ROW)


def _row_facts(
    name: str,
    axes: list[str],
    expected: np.ndarray,
    actual: np.ndarray,
    limit: float,
    sizes: dict[str, int],
    row: Row,
) -> Facts:
    """Facts about weights over the last axis; `row` is the word for weights that sum to 1 together."""
    powers = np.exp(actual - actual.max(axis=-1, keepdims=True))
    if _are_about(powers / powers.sum(axis=-1, keepdims=True), expected, limit):
        return [Fact(Kind.BEFORE, name, sentence=words.scores(name))]
    facts = _sums(name, axes, expected, actual, limit, row)
    if (actual < -limit).any():
        return [*facts, Fact(Kind.NEGATIVE, name, sentence=words.negative(name))]
    facts += _twice(name, expected, actual, limit) + _support(name, axes, expected, actual)
    if not facts or any(_leaves_room(fact) for fact in facts):
        facts += _temperature(name, expected, actual, limit, sizes, row)
    if not any(fact.kind in _BY_SCORES for fact in facts):
        facts += _pattern(name, expected, actual, limit, row) or _order(name, expected, actual, limit, row)
    return facts + _without_scores(name, expected, actual, limit, row) if are_weights(actual) else facts


def _leaves_room(fact: Fact) -> bool:
    """Whether a fact leaves it possible that the scores were the right ones, or the right ones times a factor."""
    return fact.kind is Kind.LOST or fact.kind is Kind.SUM and fact.value in ("less", "more")


def _twice(name: str, expected: np.ndarray, actual: np.ndarray, limit: float) -> Facts:
    """Whether weights went through one more softmax."""
    powers = np.exp(expected)
    twice = _are_about(actual, powers / powers.sum(axis=-1, keepdims=True), limit)
    return [Fact(Kind.TWICE, name, sentence=words.twice(name))] if twice else []


def _without_scores(name: str, expected: np.ndarray, actual: np.ndarray, limit: float, row: Row) -> Facts:
    """Whether one position has all the weight, or all positions that may get weight have the same."""
    facts: Facts = []
    if ((actual == 0) | (actual == 1)).all():
        facts.append(Fact(Kind.HARD, name, sentence=words.hard(name, row=row)))
    has_weight = expected > 0
    if _are_about(actual, has_weight / has_weight.sum(axis=-1, keepdims=True), limit):
        facts.append(Fact(Kind.UNIFORM, name, sentence=words.uniform(name)))
    return facts


def _map_facts(
    name: str, axes: list[str], expected: np.ndarray, actual: np.ndarray, limit: float, sizes: dict[str, int]
) -> Facts:
    """Facts about weights over two axes together: a softmax along one of them, or else the facts of weights over one axis."""
    height, width = axes[-2:] if len(axes) > 1 else ("axis −2", "axis −1")
    for axis, other in ((-1, width), (-2, height)):
        totals = actual.sum(axis=axis)
        if _sum_to_one(totals) and totals.shape[-1] > 1:
            sentence = words.sum_over_one_of_two(name, axis=other, height=height, width=width)
            return [Fact(Kind.SUM_OVER, name, value=axis, sentence=sentence)]
    flat_expected, flat_actual = (values.reshape(*values.shape[:-2], -1) for values in (expected, actual))
    facts = _row_facts(name, [*axes[:-2], f"{height}*{width}"], flat_expected, flat_actual, limit, sizes, Row.MAP)
    return _totals(name, height, width, actual) + facts


def _totals(name: str, height: str, width: str, actual: np.ndarray) -> Facts:
    """Whether each index along one of a map's two axes gets the same total."""
    if not _sum_to_one(actual.sum(axis=(-1, -2))):
        return []
    for axis, other in ((-1, height), (-2, width)):
        totals = actual.sum(axis=axis)
        if not np.ptp(np.round(totals, 5)) and totals.shape[-1] > 1:
            return [Fact(Kind.TOTALS, name, axis=other, sentence=words.totals(name, axis=other))]
    return []


def _sums(name: str, axes: list[str], expected: np.ndarray, actual: np.ndarray, limit: float, row: Row) -> Facts:
    """Facts about rows of weights that do not sum to 1."""
    sums = actual.sum(axis=-1)
    if _sum_to_one(sums):
        return []
    square = actual.ndim > 1 and actual.shape[-1] == actual.shape[-2]
    if square and _are_about(actual.swapaxes(-1, -2), expected, limit):
        return [Fact(Kind.TRANSPOSED, name, sentence=words.transposed(name))]
    for back in range(2, actual.ndim + 1):
        if actual.shape[-back] > 1 and _sum_to_one(actual.sum(axis=-back)):
            return [Fact(Kind.SUM_OVER, name, value=back, sentence=words.sum_over_another(name, axes=axes, back=back))]
    if np.all(_are_ones_or_zeros(sums)):
        return [Fact(Kind.EMPTY, name, sentence=words.empty_rows(name, axes=axes, row=row))]
    if actual.ndim > 1 and actual.shape[-2] > 1 and _sum_to_one(actual.sum(axis=(-1, -2))):
        return [Fact(Kind.SUM_OVER, name, value="both", sentence=words.sum_over_both(name, axes=axes, row=row))]
    return _other_sums(name, axes, sums, row)


def _other_sums(name: str, axes: list[str], sums: np.ndarray, row: Row) -> Facts:
    """A fact on whether rows sum to less than 1, to more, or to other numbers; and a fact that their sum is not 1."""
    how = "less" if (sums < 1 + _SUMS).all() else "more" if (sums > 1 - _SUMS).all() else "other"
    some = bool(_are_ones_or_zeros(sums).any())
    return [
        Fact(Kind.SUM, name, value=how, sentence=words.sums(name, axes=axes, row=row, some=some, how=how)),
        Fact(Kind.SUM, name, value="?", sentence=words.sums_not_one(name, axes=axes, row=row, some=some)),
    ]


def _pattern(name: str, expected: np.ndarray, actual: np.ndarray, limit: float, row: Row) -> Facts:
    """Whether rows hold the right weights at other places, or scores have a factor for each row, or a number for each column."""
    ordered, right = (np.sort(values, axis=-1) for values in (actual, expected))
    if np.abs(actual - expected).max() > NEARLY and np.allclose(ordered, right, rtol=1e-3, atol=10 * limit):
        return [Fact(Kind.MOVED_IN_ROWS, name, sentence=words.moved_in_rows(name, row=row))]
    if actual.ndim < 2 or min(actual.shape[-2:]) < 3 or (expected <= 1e-9).any() or (actual <= 1e-9).any():
        return []
    logarithms = np.log(expected), np.log(actual)
    right, scores = (values - values.mean(axis=-1, keepdims=True) for values in logarithms)
    if np.ptp(right, axis=-1).min() < 0.1 or np.abs(scores - right).max() < 0.05:
        return []
    exact = _EXACT * (1 + np.abs(scores).max())
    factors = (right * scores).sum(axis=-1, keepdims=True) / (right * right).sum(axis=-1, keepdims=True)
    if np.abs(scores - factors * right).max() < exact:
        return [Fact(Kind.ROW_TEMPERATURE, name, sentence=words.row_temperature(name, row=row))]
    added = (scores - right).mean(axis=-2, keepdims=True)
    if np.abs(scores - right - added).max() < exact:
        return [Fact(Kind.COLUMN, name, sentence=words.column(name))]
    return []


def _order(name: str, expected: np.ndarray, actual: np.ndarray, limit: float, row: Row) -> Facts:
    """Whether weights have the right order in each row, though not the right sizes; or whether they come from other scores."""
    has_choice = (expected > 0).sum(axis=-1) > 1
    if not has_choice.any() or np.abs(actual - expected).max() < NEARLY:  # a small difference is another fact
        return []
    order = expected.argsort(axis=-1, kind="stable")
    right, steps = (
        np.diff(np.take_along_axis(values, order, axis=-1), axis=-1)[has_choice] for values in (expected, actual)
    )
    if ((steps > 0) | (steps == 0) & (right == 0)).all():
        return [Fact(Kind.ORDER, name, sentence=words.right_order(name, row=row))]
    if not np.allclose(actual.sum(axis=-1), 1, atol=10 * limit) or not np.ptp(actual):
        return []
    return [Fact(Kind.OTHER_SCORES, name, sentence=words.other_scores(name, row=row))]


def _support(name: str, axes: list[str], expected: np.ndarray, actual: np.ndarray) -> Facts:
    """Facts about weight where there should be none, and about no weight where there should be some."""
    facts: Facts = []
    along = "" if not axes or axes[-1][0] in POSITIONS else axes[-1]
    leaked, lost = (expected == 0) & (actual > 0), _lost(expected, actual)
    vanishing = (expected > 0) & (expected < _VANISHING)  # beside such weights, a 0 may be one too small for its type
    if leaked.any() and not vanishing.any():
        facts.append(Fact(Kind.LEAK, name, sentence=words.leak(name, along=along)))
    if lost.any():
        side = _side_of_the_diagonal(axes, expected > _SOME, lost)
        sentence = words.lost_by_the_diagonal(name, side=side) if side else words.lost(name, along=along)
        facts.append(Fact(Kind.LOST, name, sentence=sentence))
    return facts


def _lost(expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """Where there is no weight and should be some."""
    return (expected > _SOME) & (actual == 0)


def _side_of_the_diagonal(axes: list[str], shown: np.ndarray, lost: np.ndarray) -> str:
    """The side of the diagonal on which all weight is lost: "after" it, "before" it or on it, "same"; empty where there is none.

    It counts only if two rows or more lose weight, and each of them keeps some.
    """
    if lost.ndim < 2 or not all(axis[0] in POSITIONS for axis in axes[-2:]):
        return ""
    losing = lost.any(axis=-1)
    if losing.sum() < 2 or not (shown & ~lost).any(axis=-1)[losing].all():
        return ""
    rows, columns = np.indices(lost.shape[-2:])
    for side, where in (("after", columns > rows), ("before", columns < rows), ("same", columns == rows)):
        if where.any() and np.array_equal(lost, shown & np.broadcast_to(where, lost.shape)):
            return side
    return ""


def _temperature(
    name: str, expected: np.ndarray, actual: np.ndarray, limit: float, sizes: dict[str, int], row: Row
) -> Facts:
    """Whether weights are those of the right scores, or of these times a factor, and what was done to them afterwards."""
    factor, lost = _factor_of_scores(expected, actual), _lost(expected, actual)
    if factor is None or abs(factor) < _ONE_FACTOR:  # all weights are alike
        return []
    if abs(factor - 1) >= _ONE_FACTOR:
        if (factor * np.log(expected[lost]) > _LEAST).any():
            return []  # no factor before a softmax makes a 0 of these
        return _temperatures(name, factor, sizes, row)
    if lost.any():
        return _zeroed(name, expected, actual, limit, row) or _temperatures(name, factor, sizes, row)
    return _proportion(name, expected, actual, row)


def _both_positive(expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """Where weights have logarithms that can be compared."""
    return (expected > _SOME) & (actual > 1e-12)


def _factor_of_scores(expected: np.ndarray, actual: np.ndarray) -> float | None:
    """The factor from logarithms of the right weights to those of the actual ones, up to a constant in each row; else None."""
    both = _both_positive(expected, actual)
    if (both.sum(axis=-1) < 2).all():
        return None
    right, scores = (_centred_logarithms(values, both) for values in (expected, actual))
    weight = (right * right).sum()
    if weight < 1e-3:
        return None
    factor = (right * scores).sum() / weight
    if np.abs(scores - factor * right).max() > _EXACT * (1 + np.abs(scores).max()):
        return None
    return factor


def _centred_logarithms(weights: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Logarithms of the weights with a mean of 0 in each row; 0 where weights are not positive."""
    logarithms = np.where(positive, np.log(np.where(positive, weights, 1.0)), np.nan)
    means = np.nanmean(np.where(positive.any(-1, keepdims=True), logarithms, 0.0), axis=-1, keepdims=True)
    return np.where(positive, logarithms - means, 0.0)


def _zeroed(name: str, expected: np.ndarray, actual: np.ndarray, limit: float, row: Row) -> Facts:
    """Of weights some of which are 0: whether the others are right, or share the rest in the right proportion."""
    both = _both_positive(expected, actual)
    if np.allclose(actual[both], expected[both], rtol=1e-3):
        return [Fact(Kind.CUT, name, sentence=words.cut(name))]
    if np.allclose(actual.sum(axis=-1)[(expected > _SOME).any(axis=-1)], 1, atol=10 * limit):
        return [Fact(Kind.KEPT, name, sentence=words.kept(name, row=row))]
    return []


def _proportion(name: str, expected: np.ndarray, actual: np.ndarray, row: Row) -> Facts:
    """Of weights in the right proportion: whether they do not sum to 1, and what they sum to."""
    both, totals = _both_positive(expected, actual), actual.sum(axis=-1)
    if np.allclose(actual[both], expected[both], rtol=1e-3) or _sum_to_one(totals[both.any(axis=-1)]):
        return []
    hidden, counts = expected == 0, (expected > 0).sum(axis=-1)
    sentence = words.proportion(
        name,
        row=row,
        some=bool(_are_ones_or_zeros(totals).any()),
        one_over_count=np.allclose(totals * counts, 1, atol=1e-2) and np.ptp(counts) > 0,
        hidden_late=hidden.any() and not actual[hidden].any() and (totals < 1 + _SUMS).all(),
    )
    return [Fact(Kind.PROPORTION, name, sentence=sentence)]


def _temperatures(name: str, factor: float, sizes: dict[str, int], row: Row) -> Facts:
    """A factor of the scores by all names that it may go by."""
    named = [
        Fact(
            Kind.TEMPERATURE,
            name,
            value=label,
            evidence=evidence,
            sentence=words.temperature(name, label=label, row=row),
        )
        for label, evidence in named_factors(factor, sizes, _ONE_FACTOR)
    ]
    return [*named, Fact(Kind.TEMPERATURE, name, value="?", sentence=words.some_temperature(name, row=row))]
