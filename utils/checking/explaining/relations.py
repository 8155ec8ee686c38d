"""Collects the facts about the wrong results of a case from all that finds them, and relates results to inputs and other results.

A relation that holds on one case by accident does not hold on all of them: `common` keeps the facts that every failed case has.
A fact's sentence says what was observed; where several causes give the same observation it asks.
"""

from typing import NamedTuple

import numpy as np

from utils.checking.explaining.discrete import difference_facts, discrete_facts, truth_facts
from utils.checking.explaining.facts import Fact, Facts, Kind
from utils.checking.explaining.influence import influence_facts
from utils.checking.explaining.places import place_facts
from utils.checking.explaining.scales import scale_facts
from utils.checking.explaining.shapes import shape_facts
from utils.checking.explaining.traits import trait_facts
from utils.checking.explaining.weights import are_weights, weight_facts
from utils.checking.judging.tolerance import clear, close, tolerance
from utils.checking.messages.facts import relations as words
from utils.checking.records import DrawnCase, FrozenCase, FrozenExercise, Observation, Output, is_real


class ResultPair(NamedTuple):
    """One result: its name, its declared axes, the expected output and the actual one."""

    name: str
    axes: list[str]
    expected: Output
    actual: Output

    @property
    def has_numbers(self) -> bool:
        """Whether there are numbers on both sides, of one shape."""
        return self.actual.values is not None and self.expected.numbers.shape == self.actual.values.shape

    def is_right(self, limit: float, among: str) -> bool:
        """Whether all numbers are within tolerance; see `close`."""
        return bool(close(self.actual.numbers, self.expected.numbers, limit, among).all())


def facts(exercise: FrozenExercise, frozen: FrozenCase, observation: Observation) -> Facts:
    """Facts about the wrong results of one case, the most telling first.

    Every result with wrong numbers gives facts, in the order of the results; of results with wrong shapes, only the first for
    which there is a fact.
    """
    case, limit = frozen.case, tolerance(frozen.case, frozen.expected, observation)
    pairs = [
        ResultPair(name, axes.split(), expected, actual)
        for (name, axes), expected, actual in zip(exercise.outputs, frozen.expected.outputs, observation.outputs)
    ]
    if any(pair.expected.shape != pair.actual.shape for pair in pairs):
        return _shape_relations(pairs, frozen, observation)
    comparable = [pair for pair in pairs if pair.has_numbers]
    wrong = [pair for pair in comparable if not pair.is_right(limit, among="row" if case.coarse else "")]
    all_facts = _wrong_choice(comparable)
    if len(comparable) >= len(exercise.outputs):
        all_facts += _right_results(case, wrong, comparable, limit)
    for pair in wrong:
        all_facts += _number_relations(pair, exercise, frozen, limit)
        all_facts += place_facts(pair.name, pair.axes, pair.expected.numbers, pair.actual.numbers, limit)
    all_facts += influence_facts(exercise, frozen, observation)
    for pair in wrong:
        if pair.expected.dtype != "torch.bool":
            all_facts += trait_facts(pair.name, pair.axes, pair.expected.numbers, pair.actual.numbers, limit)
    return all_facts


def _shape_relations(pairs: list[ResultPair], frozen: FrozenCase, observation: Observation) -> Facts:
    """Facts about the first result of a wrong shape for which there are any; none where results are exchanged."""
    expected, actual = (
        sorted(output.shape for output in outputs) for outputs in (frozen.expected.outputs, observation.outputs)
    )
    if expected == actual and len(set(expected)) > 1:  # the message for exchanged results says so by itself
        return []
    sizes = frozen.case.given_sizes
    facts_by_pair = (shape_facts(pair.name, pair.axes, pair.expected, pair.actual, sizes) for pair in pairs)
    return next((facts for facts in facts_by_pair if facts), [])


def _number_relations(pair: ResultPair, exercise: FrozenExercise, frozen: FrozenCase, limit: float) -> Facts:
    """Facts about one result whose numbers, or truth values, are wrong."""
    name, axes, case = pair.name, pair.axes, frozen.case
    expected, actual = pair.expected.numbers, pair.actual.numbers
    if expected.dtype.kind == "f":
        return [
            *weight_facts(name, axes, expected, actual, limit, case.sizes),
            *scale_facts(name, expected, actual, limit, case.sizes, vectors=not are_weights(expected)),
            *_equal_to_given(name, expected, actual, case, limit),
            *_right_for_another_case(name, actual, frozen, exercise, limit),
        ]
    if pair.expected.dtype == "torch.bool":
        return truth_facts(name, expected.astype(bool), actual.astype(bool))
    return [
        *difference_facts(name, expected, actual, case.inputs),
        *discrete_facts(name, expected, actual, *axes[:1]),
    ]


def _wrong_choice(comparable: list[ResultPair]) -> Facts:
    """Whether integers that should be where another result is largest are not where the code's own is."""
    for pair in comparable:
        for scores in comparable:
            expected, right = pair.expected.numbers, scores.expected.numbers
            if expected.dtype.kind not in "iu" or right.dtype.kind != "f" or right.ndim < 1:
                continue
            if scores.expected.shape[:-1] != pair.expected.shape or scores.expected.shape[-1] < 2:
                continue
            if _are_largest(right, expected) and not _are_largest(scores.actual.numbers, pair.actual.numbers):
                sentence = words.chosen(pair.name, scores=scores.name)
                return [Fact(Kind.CHOSEN, pair.name, value=scores.name, sentence=sentence)]
    return []


def _are_largest(scores: np.ndarray, places: np.ndarray) -> bool:
    """Whether integers are the places of the largest scores along the last axis; any of several equal scores counts."""
    if (places < 0).any() or (places >= scores.shape[-1]).any():
        return False
    chosen = np.take_along_axis(scores, places[..., None].astype(np.int64), axis=-1)[..., 0]
    return bool((chosen == scores.max(axis=-1)).all())


def _right_results(case: DrawnCase, wrong: list[ResultPair], comparable: list[ResultPair], limit: float) -> Facts:
    """Which of several results are right, where others are wrong; right weights say where to look."""
    bad = [pair.name for pair in wrong]
    good = [pair for pair in comparable if pair.name not in bad]
    if not bad or not good:
        return []
    if not all(clear(case, pair.expected, pair.actual, limit) for pair in good):
        return []  # a result may be as wrong as the others, and still be within tolerance
    right = [pair.name for pair in good]
    weights = [pair.name for pair in good if are_weights(pair.expected.numbers)]
    sentence = words.which(right=right, wrong=bad, weights=weights)
    return [Fact(Kind.WHICH, " ".join(right), sentence=sentence)]


def _right_for_another_case(
    name: str, actual: np.ndarray, frozen: FrozenCase, exercise: FrozenExercise, limit: float
) -> Facts:
    """Whether a result is the right one for the inputs of another case: something is kept between calls."""
    place = [output for output, _ in exercise.outputs].index(name)
    if not (actual.size > 1 and (actual != actual.flat[0]).any()):
        return []  # the same number everywhere is right somewhere by chance
    for other in exercise.cases:
        if other is frozen or other.case.condition or len(other.expected.outputs) <= place:
            continue
        expected = other.expected.outputs[place].values
        same = expected is not None and expected.shape == actual.shape and close(actual, expected, limit).all()
        if same and _share_no_numbers(frozen.case, other.case):
            return [Fact(Kind.EARLIER, name, sentence=words.earlier(name))]
    return []


def _share_no_numbers(case: DrawnCase, other: DrawnCase) -> bool:
    """Whether two cases have arrays of floats, and none in common: results of equal inputs may be equal."""
    reals = [[value for value in drawn.arrays if is_real(value)] for drawn in (case, other)]
    return all(reals) and not any(np.array_equal(a, b) for a in reals[0] for b in reals[1])


def _equal_to_given(name: str, expected: np.ndarray, actual: np.ndarray, case: DrawnCase, limit: float) -> Facts:
    """Whether a result, or some of its features, equals one of the inputs."""
    if close(actual - expected, actual, limit).all():
        return []  # beside a result so small, an input that was added looks like one returned
    facts_found: Facts = []
    for argument, value in case.inputs.items():
        if getattr(value, "shape", None) != actual.shape or value.dtype.kind != "f":
            continue
        if actual.size > 1 and close(actual, value, limit).all():
            sentence = words.given(name, argument=argument)
            facts_found.append(Fact(Kind.GIVEN, name, value=argument, sentence=sentence))
        elif actual.ndim > 1 and _some_features_are(value, expected, actual, limit):
            sentence = words.given_part(name, argument=argument)
            facts_found.append(Fact(Kind.GIVEN_PART, name, value=argument, sentence=sentence))
    return facts_found


def _some_features_are(argument: np.ndarray, expected: np.ndarray, actual: np.ndarray, limit: float) -> bool:
    """Whether some features, along the last axis, equal those of an input at all positions, and should not."""
    others = tuple(range(actual.ndim - 1))
    unchanged, right = (close(values, argument, limit).all(axis=others) for values in (actual, expected))
    return bool((unchanged & ~right).any())
