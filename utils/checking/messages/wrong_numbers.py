"""The sentences about results of the right form: wrong numbers, results that change, and too much that is made on the way."""

from collections.abc import Sequence

import numpy as np

from utils.checking.explaining.topics import hides, takes_exponentials
from utils.checking.explaining.weights import are_weights
from utils.checking.judging.problems import Problem
from utils.checking.judging.tolerance import clear, close, tolerance
from utils.checking.messages.context import Context
from utils.checking.messages.facts.weights import look_past
from utils.checking.messages.message import Message
from utils.checking.messages.where_numbers_differ import numbers, rows


def _not_quite_zero(c: Context) -> Message:
    hidden = [pair for pair in c.pairs() if pair[0] in c.exercise.zeros]
    name, largest = next(
        (name, largest)
        for name, expected, actual in hidden
        if (largest := np.abs(actual.numbers[expected.numbers == 0]).max(initial=0))
    )
    return Message(
        f"{name} should be exactly 0 at some positions, and is merely small there: something was added to it, or kept it from"
        " becoming 0 (clamp, an epsilon, a large negative number in the place of −∞).",
        detail=f"the largest number where 0 is expected is {largest:.3g}",
    )


def _not_finite(c: Context) -> Message:
    name, values = next((name, values) for name, _, actual in c.pairs() if np.isnan(values := actual.numbers).any())
    return Message(
        f"{name} contains NaN: {_cause_of_nan(c)}.",
        detail=f"{int(np.isnan(values).sum())} of {values.size} numbers are NaN, none expected",
    )


def _cause_of_nan(c: Context) -> str:
    for argument, value in reversed(c.case.inputs.items()):
        if isinstance(value, np.ndarray) and np.isneginf(value).any():
            return f"{argument} holds −inf: exp(−inf) is 0, but −inf − (−inf), 0·inf and inf/inf are NaN"
    causes = ["exp of a large number overflows"]
    if takes_exponentials(c.exercise):
        causes += ["a sum of underflowed numbers is 0"]
    else:
        causes += ["something is divided by 0", "a root or a logarithm is taken where it has none"]
    if hides(c.exercise):
        causes += ["a mask is multiplied by −inf", "a softmax runs over scores that are all −inf"]
    return f"usually inf/inf, inf − inf, 0/0 or 0·inf: {', '.join(causes[:-1])}, or {causes[-1]}"


def _wrong_value(c: Context) -> Message:
    limit = tolerance(c.case, c.expected, c.observation)
    among = "row" if c.case.coarse else ""
    wrong = [pair for pair in c.pairs() if not close(pair[2].numbers, pair[1].numbers, limit, among).all()]
    weights = [name for name, expected, _ in c.pairs() if are_weights(expected.numbers)]
    # other results are made with weights
    name, expected, actual = next((pair for pair in wrong if pair[0] in weights), wrong[0])
    if c.case.rows:
        sentence, detail = rows(name, expected, actual, limit, c.case.rows)
        return Message(sentence, detail=detail)
    what = "truth values" if expected.dtype == "torch.bool" else "numbers"
    sure = all(
        clear(c.case, expected_output, actual_output, limit)
        for result, expected_output, actual_output in c.pairs()
        if result in weights
    )
    beside = _beside(name, [pair[0] for pair in wrong], weights, sure)
    return Message(
        " ".join([f"The shape of {name} is right, its {what} are not.", *beside]),
        formula=c.exercise.formula,
        detail=numbers(name, expected, actual),
    )


def _beside(name: str, wrong: Sequence[str], weights: Sequence[str], sure: bool) -> list[str]:
    """What else is wrong; and what it means that a wrong result and weights came together, if they did.

    Args:
        sure: weights that count as right are so by much.
    """
    others = [other for other in wrong if other != name]
    if name in weights and others:
        return [f"{', '.join(others)} is wrong as well, and may be so because of {name}."]
    if weights and sure and not set(weights) & set(wrong):
        return [f"{', '.join(weights)} is right: {look_past(list(weights), [name])}."]
    if others:
        return [
            f"{', '.join(others)} {'is' if len(others) == 1 else 'are'} wrong as well; they may come from one mistake."
        ]
    return []


def _unstable(c: Context) -> Message:
    twice, chance = "Two calls with the same inputs", "Nothing in it may depend on chance, or on an earlier call"
    if not c.exercise.is_module:
        return Message(f"{twice} gave different results. {chance}.")
    return Message(
        f"{twice}, or two modules with the same weights, gave different results. {chance}, or on a copy of weights that was"
        " made in __init__: they are learned, and set, later."
    )


def _overwritten(c: Context) -> Message:
    return Message(
        "A later call changed what an earlier one had returned: both results lie in the same memory, such as a tensor that is"
        " kept between calls. Each call returns a tensor of its own."
    )


def _wrong_start(c: Context) -> Message:
    starts = [(name, start, c.observation.starts.get(name)) for name, start in c.expected.starts.items()]
    name, expected, actual = next(triple for triple in starts if triple[1] != triple[2])
    words = {"zeros": "zeros alone", "equal": "the same number everywhere", "different": "numbers that differ"}
    return Message(
        f"With the weights that the check sets, the results are right. In a new module, though, {name} should hold"
        f" {words[expected]}, and yours holds {words.get(actual or '', 'nothing')}. How a layer begins decides what training can"
        " make of it."
    )


def _too_large(c: Context) -> Message:
    return Message(
        "The numbers are right here, but a tensor that is made on the way is too large. It must not exist at any time;"
        " that is the point here.",
        formula=c.exercise.formula,
        detail=f"the largest intermediate tensor holds {c.observation.made['largest']} numbers;"
        f" it should hold fewer than {c.case.bounds['largest'] + 1}",
    )


def _too_much(c: Context) -> Message:
    return Message(
        "The numbers are right here, but the tensors that are made on the way are too large together: piece by piece it is the"
        " same work, and doing less is the point here.",
        formula=c.exercise.formula,
        detail=f"they hold {c.observation.made['made']} numbers together;"
        f" it should be fewer than {c.case.bounds['made'] + 1}",
    )


def _too_much_kept(c: Context) -> Message:
    return Message(
        "The numbers are right here, but something of every piece is kept until the end, such as a list of the pieces'"
        " results, or calls of a function by itself that wait for one another: all that is held at one time is too large"
        " together. Keep only what is carried from piece to piece.",
        formula=c.exercise.formula,
        detail=f"tensors of {c.observation.made['kept']} numbers are held at a time;"
        f" it should be fewer than {c.case.bounds['kept'] + 1}",
    )


WRONG_NUMBERS = {
    Problem.NOT_QUITE_ZERO: _not_quite_zero,
    Problem.NOT_FINITE: _not_finite,
    Problem.WRONG_VALUE: _wrong_value,
    Problem.UNSTABLE: _unstable,
    Problem.OVERWRITTEN: _overwritten,
    Problem.WRONG_START: _wrong_start,
    Problem.TOO_LARGE: _too_large,
    Problem.TOO_MUCH: _too_much,
    Problem.TOO_MUCH_KEPT: _too_much_kept,
}
