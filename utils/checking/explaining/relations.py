"""Relations between what came and what was expected: facts about numbers, found on each case and told if they hold on all.

A fact is a key and a sentence. What holds on one case by accident does not hold on all of them: `common` keeps the keys that
every failed case has. A sentence says what was observed; where several causes give the same observation it asks.
"""

import numpy as np

from utils.checking.explaining.discrete import difference_facts, discrete_facts, truth_facts
from utils.checking.explaining.facts import Facts
from utils.checking.explaining.influence import influence_facts
from utils.checking.explaining.places import place_facts
from utils.checking.explaining.scales import scale_facts
from utils.checking.explaining.shapes import shape_facts
from utils.checking.explaining.traits import trait_facts
from utils.checking.explaining.weights import are_weights, look_past, weight_facts
from utils.checking.judging.tolerance import clear, close, tolerance
from utils.checking.records import DrawnCase, FrozenCase, FrozenExercise, Observation


def facts(exercise: FrozenExercise, frozen: FrozenCase, seen: Observation) -> Facts:
    """What wrong numbers have in common with the right ones on one case: the most telling first.

    Of several wrong results the first that holds weights is looked at, for others are made with it; else the first.
    """
    case, limit = frozen.case, tolerance(frozen.case, frozen.expected, seen)
    pairs = list(zip(exercise.outputs, frozen.expected.outputs, seen.outputs))
    shapes = [shape_facts(name, axes.split(), a, b, case.given_sizes) for (name, axes), a, b in pairs]
    if any(a.shape != b.shape for _, a, b in pairs):
        asked, came = (sorted(one.shape for one in outputs) for outputs in (frozen.expected.outputs, seen.outputs))
        exchanged = asked == came and len(set(asked)) > 1  # which is told as such
        return {} if exchanged else next((one for one in shapes if one), {})
    comparable = [one for one in pairs if one[2].values is not None and one[1].values.shape == one[2].values.shape]
    among = "row" if case.coarse else ""
    wrong = [one for one in comparable if not close(one[2].values, one[1].values, limit, among).all()]
    found: Facts = _chosen(comparable) | _which(exercise, case, wrong, comparable, limit)
    for (name, symbols), wanted, got in wrong:
        axes = symbols.split()
        if wanted.values.dtype.kind == "f":
            found |= weight_facts(name, axes, wanted.values, got.values, limit, case.sizes)
            found |= scale_facts(
                name, wanted.values, got.values, limit, case.sizes, vectors=not are_weights(wanted.values)
            )
            found |= _equal_to_given(name, wanted.values, got.values, case, limit)
            found |= _of_another_case(name, got, frozen, exercise, limit)
        elif wanted.dtype == "torch.bool":
            found |= truth_facts(name, wanted.values.astype(bool), got.values.astype(bool))
        else:
            found |= difference_facts(name, wanted.values, got.values, case.inputs)
            found |= discrete_facts(name, wanted.values, got.values, *axes[:1])
        found |= place_facts(name, axes, wanted.values, got.values, limit)
    found |= influence_facts(exercise, frozen, seen)
    for (name, symbols), wanted, got in wrong:
        if wanted.dtype != "torch.bool":
            found |= trait_facts(name, symbols.split(), wanted.values, got.values, limit)
    return found


def _chosen(comparable: list) -> Facts:
    """Whether integers that should be where another result is largest are not where the code's own is."""
    for (name, _), wanted, got in comparable:
        for (scores, _), theirs, ours in comparable:
            if wanted.values.dtype.kind not in "iu" or theirs.values.dtype.kind != "f" or theirs.values.ndim < 1:
                continue
            fits = theirs.shape[:-1] == wanted.shape and theirs.shape[-1] > 1
            if fits and _at(theirs.values, wanted.values) and not _at(ours.values, got.values):
                told = f"{name} is not where your own {scores} is largest along its last axis: how is it chosen?"
                return {("chosen", name, scores): told}
    return {}


def _at(scores, places) -> bool:
    """Whether integers are places where scores are largest along the last axis; of equal ones, any."""
    if (places < 0).any() or (places >= scores.shape[-1]).any():
        return False
    found = np.take_along_axis(scores, places[..., None].astype(np.int64), axis=-1)[..., 0]
    return bool((found == scores.max(axis=-1)).all())


def _which(exercise: FrozenExercise, case: DrawnCase, wrong: list, comparable: list, limit: float) -> Facts:
    """Of several results: which are right, and where to look if the right ones are weights."""
    bad = [name for (name, _), _, _ in wrong]
    good = [one for one in comparable if one[0][0] not in bad]
    if not all(
        clear(case, a, b, limit) for _, a, b in good
    ):  # what is as wrong, and within tolerance, is not called right
        return {}
    good = [name for (name, _), _, _ in good]
    if not bad or not good or len(comparable) < len(exercise.outputs):
        return {}
    weights = [name for (name, _), wanted, _ in comparable if name in good and are_weights(wanted.values)]
    after = f": {look_past(weights, bad)}" if weights else ""
    verb = "is" if len(good) == 1 else "are"
    return {
        (
            "which",
            *good,
        ): f"{' and '.join(good)} {verb} right, {' and '.join(bad)} {'is' if len(bad) == 1 else 'are'} not{after}."
    }


def _of_another_case(name: str, got, frozen: FrozenCase, exercise: FrozenExercise, limit: float) -> Facts:
    """Whether a result is what was right on other inputs, which came before."""
    place = [output for output, _ in exercise.outputs].index(name)
    if not (got.values.size > 1 and (got.values != got.values.flat[0]).any()):
        return {}  # the same number everywhere is right somewhere by chance
    case = frozen.case
    for other in exercise.cases:
        if other is frozen or other.case.condition or len(other.expected.outputs) <= place:
            continue
        wanted = other.expected.outputs[place].values
        same = wanted is not None and wanted.shape == got.shape and close(got.values, wanted, limit).all()
        if same and _unlike(case, other.case):
            return {
                ("earlier", name): f"{name} was right for the inputs of another call: is something kept between calls?"
            }
    return {}


def _unlike(one: DrawnCase, other: DrawnCase) -> bool:
    """Whether two cases have numbers, and none in common: else what is right for both may come of those alone."""
    reals = [[value for value in case.arrays if value.dtype.kind == "f"] for case in (one, other)]
    return all(reals) and not any(np.array_equal(a, b) for a in reals[0] for b in reals[1])


def _equal_to_given(name: str, wanted, got, case, limit: float) -> Facts:
    """Whether a result, or some of its features, is one of the inputs, as it was given."""
    found = {}
    if close(
        got - wanted, got, limit
    ).all():  # beside a result so small, an input that was added looks like one returned
        return found
    for given, value in case.inputs.items():
        if (
            getattr(value, "shape", None) == got.shape
            and value.dtype.kind == "f"
            and got.size > 1
            and close(got, value, limit).all()
        ):
            found["given", name, given] = f"{name} is {given}, as it was given."
        elif getattr(value, "shape", None) == got.shape and value.dtype.kind == "f" and got.ndim > 1:
            others = tuple(range(got.ndim - 1))
            left = close(got, value, limit).all(axis=others) & ~close(wanted, value, limit).all(axis=others)
            if left.any():
                told = f"Some features of {name}, along the last axis, are those of {given}, unchanged at all positions"
                found["given part", name, given] = f"{told}: should they change as well?"
    return found
