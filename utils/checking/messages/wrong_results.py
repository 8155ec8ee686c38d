"""The sentence for each kind of problem: what was expected, what came, and what that usually comes from."""

import math

import numpy as np

from utils.checking.explaining.facts import common
from utils.checking.explaining.shapes import shape_facts
from utils.checking.explaining.topics import hides, takes_exponentials
from utils.checking.explaining.weights import are_weights, look_past
from utils.checking.judging.tolerance import clear, close, tolerance
from utils.checking.messages.context import Context
from utils.checking.messages.exceptions import integers, origin
from utils.checking.messages.gradients import GRADIENTS
from utils.checking.messages.no_result import NO_RESULT
from utils.checking.messages.shapes import looks_like
from utils.checking.messages.wrong_numbers import numbers, rows
from utils.checking.records import MAX_OUTPUTS, DrawnCase, FrozenCase, FrozenExercise, Helper, Observation, Output


def describe(
    problem: str, exercise: FrozenExercise, frozen: FrozenCase, seen: Observation, reveal: bool
) -> tuple[str, str]:
    """The sentence for a problem and, where the case may be shown, the line of numbers below it."""
    if problem in ("wrong_value", "not_finite") and is_sketched(frozen):
        return f"The shape is right, the numbers are not.\n{exercise.formula}", ""
    sentence, detail = _WRITERS[problem](Context(exercise, frozen, seen, reveal))
    return sentence, detail if reveal else ""


def is_sketched(frozen: FrozenCase) -> bool:
    """Whether of some result a sketch alone is known, as of large ones in a self-check."""
    return any(one.sketch is not None for one in frozen.expected.outputs)


def forbidden_call(exercise: FrozenExercise, seen: Observation) -> str | None:
    """The first forbidden function that ran, by the name a student knows it under."""
    for word in exercise.forbidden:
        found = sorted(
            (name for name in seen.called if word in name), key=lambda name: (name.startswith("_"), len(name))
        )
        if found:
            return found[0].strip("_ =")
    return None


def _forbidden_call(c):
    name = forbidden_call(c.exercise, c.seen)
    return (
        f"Your code reaches {name}, a ready-made function that does the steps this exercise asks for: write them yourself.",
        "",
    )


def _returned_none(c):
    missing = [name for name, _, got in c.pairs() if got.kind == "NoneType"]
    where = "forward" if c.exercise.is_module else "the function"
    if c.seen.structure != "NoneType" and len(c.exercise.outputs) > 1:
        told = f"{' and '.join(missing)} is None in what {where} returns: is it what a function of your own gives that lacks its"
        return f"{told} `return`, or is it not made in some branch?", ""
    mode = " (The module is in eval mode here.)" if c.exercise.is_module and not c.case.training else ""
    told = f"Nothing is returned: the result is None. Is `return {c.returns.strip('()')}` missing at the end of {where}, or of a"
    told += " branch of it? Or does it return a call of something that gives nothing back, such as print, append or backward()?"
    return f"{told}{mode}", ""


def _wrong_structure(c):
    count, got = len(c.expected.outputs), len(c.seen.outputs)
    wanted = f"{c.returns}, {count} tensors" if count > 1 else f"one tensor, {c.returns}"
    if c.seen.structure == "tuple" and got == 1:
        return f"It should return {wanted}; it returns a tuple of one: is there a comma after return?", ""
    if c.seen.structure not in ("tuple", "list", "tensor"):
        return f"It should return {wanted}; it returns a {c.seen.structure}.", ""
    if c.seen.structure == "list":
        many = f"{MAX_OUTPUTS} or more" if got == MAX_OUTPUTS else got
        tensors = any(one.kind == "tensor" for one in c.seen.outputs)
        how = (
            "torch.stack makes one tensor of a list."
            if tensors
            else "torch.tensor makes a tensor of numbers, or of lists of them that are all of one length."
        )
        return f"It should return {wanted}; it returns a list of {many}. {how}", ""
    pair = " If max(dim=…) is what gave two: take .values or .indices of it." if (count, got) == (1, 2) else ""
    first, asked = c.seen.outputs[0] if got else None, c.expected.outputs[0]
    if count == 1 and got > 1 and first.values is not None and first.shape == asked.shape and _alike(c, asked, first):
        pair = f" The first of them is {c.exercise.outputs[0][0]}, and right: return it alone."
    elif count == 1 and got > 2 and {math.prod(one.shape) * got for one in c.seen.outputs} == {math.prod(asked.shape)}:
        pair = " Pieces of equal shape become one tensor with torch.stack(…, dim=…), along a new axis, or torch.cat."
    return f"It should return {wanted}; it returns {'one tensor' if got == 1 else f'{got} values'}.{pair}", ""


def _alike(c, wanted: Output, got: Output) -> bool:
    limit = tolerance(c.case, c.expected, c.seen)
    return wanted.values is not None and bool(close(got.values, wanted.values, limit).all())


def other_order(case: DrawnCase, expected: Observation, seen: Observation) -> tuple | None:
    """The order in which right results came, if they came in another one than was asked for."""
    wanted, limit = expected.outputs, tolerance(case, expected, seen)
    if len(wanted) != len(seen.outputs) or any(one.values is None for one in (*wanted, *seen.outputs)):
        return None
    fits = [
        {
            place
            for place, one in enumerate(wanted)
            if one.shape == got.shape and close(got.values, one.values, limit).all()
        }
        for got in seen.outputs
    ]
    return next((order for order in _orders(fits) if order != tuple(range(len(wanted)))), None)


def _orders(fits: list[set]) -> list[tuple]:
    """Every way to choose one of each set, no element twice."""
    found = [()]
    for one in fits:
        found = [(*order, place) for order in found for place in sorted(one - set(order))]
    return found


def _wrong_order(c):
    names = [name for name, _ in c.exercise.outputs]
    came = ", ".join(names[place] for place in other_order(c.case, c.expected, c.seen))
    return f"The results are right, their order is not: it should return {', '.join(names)}, and returns {came}.", ""


def _changed_input(c):
    names = _listed(c.seen.changed)
    if all(name in c.case.weights for name in c.seen.changed):
        return (
            f"Calling the module changed its weights, or whether they learn: {names}. A call only computes; weights change in"
            " training, and what is frozen is frozen in __init__.",
            "",
        )
    kinds = {type(c.case.inputs[name]) for name in c.seen.changed if name in c.case.inputs}
    if kinds == {Helper}:
        return f"What came back is not the {names} that was given but another one: is it a copy that was changed?", ""
    if kinds == {list}:
        return (
            f"The list {names} came back changed: sort, append, pop and the like write into it. Take a copy, or sorted().",
            "",
        )
    return (
        f"{names} came back changed: your code writes into what it was given (+=, /=, an index on the left of =, a method that"
        " ends in _, or backward(), which fills .grad). A caller's tensors are not yours; make new ones."
    ), ""


def _not_a_tensor(c):
    name, wanted, got = next(pair for pair in c.pairs() if pair[2].kind != "tensor")
    if got.kind == "tuple":
        return (
            f"{name} is a tuple, not a tensor: brackets too many behind return, or a function that gives several things at once?",
            "",
        )
    if got.kind == "list":
        return (
            f"{name} is a list, not a tensor: torch.stack makes a tensor of a list of tensors, torch.tensor of numbers.",
            "",
        )
    if got.kind in ("float", "int", "bool") and wanted.shape:
        return f"{name} is a single {got.kind}; it should be a tensor, {c.shape(wanted.shape, name, wanted.shape)}.", ""
    kind = {"ndarray": "NumPy array"}.get(got.kind, got.kind)
    learning = any(one.case.gradient for one in c.exercise.cases)
    reason = " loses its gradient" if learning else " is no tensor for the next step"
    return (
        f"{name} is a {kind}, not an ordinary tensor. Stay in torch: what leaves it (NumPy, lists, .item()){reason}.",
        "",
    )


def _wrong_shape(c):
    name, wanted, got = next(pair for pair in c.pairs() if pair[1].shape != pair[2].shape)
    asked, came = ([one.shape for one in outputs] for outputs in (c.expected.outputs, c.seen.outputs))
    if len(set(asked)) > 1 and sorted(asked) == sorted(came):
        names = ", ".join(name for name, _ in c.exercise.outputs)
        told = (
            f"The shapes of the results are those asked for, in another order: it should return {names}, in this order."
        )
        return f"{told} Their numbers are not all right yet, either.\n{c.exercise.formula}", ""
    shapes = [c.shape(shape, name, wanted.shape) for shape in (wanted.shape, got.shape)]
    axes = dict(c.exercise.outputs)[name].split()
    found = shape_facts(name, axes, wanted, got, c.case.given_sizes)
    told = [found[key] for key in common([found])] or [f"{name} {looks_like(wanted.shape, got.shape, axes)}"]
    return f"{told[0]}\n{c.exercise.formula}", f"expected {shapes[0]}, yours is {shapes[1]}"


def _wrong_dtype(c):
    name, wanted, got = next(pair for pair in c.pairs() if pair[1].dtype != pair[2].dtype or pair[2].values is None)
    if not wanted.dtype.startswith(("torch.float", "torch.bfloat")):
        return f"{name} is {got.dtype}; {integers(wanted.dtype, got.dtype)}", ""
    given = {c.case.precision or array.dtype.name for array in c.case.arrays if array.dtype.kind == "f"}
    if wanted.dtype.removeprefix("torch.") not in given:
        return (
            f"{name} is {got.dtype}; it should be {wanted.dtype}, torch's usual type for numbers with a fraction.",
            "",
        )
    arrays = any(isinstance(one, np.ndarray) and one.dtype.kind == "f" for one in c.case.inputs.values())
    helper = next((given for given, one in c.case.inputs.items() if isinstance(one, Helper)), "")
    source = "the inputs are" if arrays or not helper else f"`{helper}` computes in"
    kept = f"{source} {wanted.dtype}, and the result keeps that type"
    return f"{name} is {got.dtype}; {kept}. Look for {origin(got.dtype)}.", ""


def _wrong_device(c):
    name, got = next((name, got) for name, _, got in c.pairs() if got.device != c.seen.device)
    return (
        f"{name} is on {got.device}; the inputs are on {c.seen.device}. Make new tensors with device=, or from the inputs"
        " (zeros_like, new_zeros), and leave out .cpu()."
    ), ""


def _left_behind(c):
    given = next((name for name, one in c.case.inputs.items() if isinstance(one, np.ndarray)), "")
    device = f", or with device={given}.device" if given else ""
    return (
        "With inputs on a GPU, a tensor would stay behind on the CPU: is it made there, without device= or with"
        ' device="cpu", or moved there by .cpu(), .numpy() or .tolist()? Make new tensors from the inputs (zeros_like,'
        f" new_zeros){device}."
    ), f"the line is: {c.seen.failure.line}" if c.seen.failure and c.seen.failure.line else ""


def _not_quite_zero(c):
    name, wanted, got = next(
        pair
        for pair in c.pairs()
        if pair[0] in c.exercise.zeros and np.abs(pair[2].values[pair[1].values == 0]).max(initial=0)
    )
    largest = np.abs(got.values[wanted.values == 0]).max()
    return (
        f"{name} should be exactly 0 at some positions, and is merely small there: something was added to it, or kept it from"
        " becoming 0 (clamp, an epsilon, a large negative number in the place of −∞)."
    ), f"the largest number where 0 is expected is {largest:.3g}"


def _not_finite(c):
    name, wanted, got = next(pair for pair in c.pairs() if np.isnan(pair[2].values).any())
    causes = [
        "exp of a large number overflows",
        "something is divided by 0",
        "a root or a logarithm is taken where it has none",
    ]
    if takes_exponentials(c.exercise):
        causes[1:] = ["a sum of underflowed numbers is 0"]
    if hides(c.exercise):
        causes += ["a mask is multiplied by −inf", "a softmax runs over scores that are all −inf"]
    cause = f"usually inf/inf, inf − inf, 0/0 or 0·inf: {', '.join(causes[:-1])}, or {causes[-1]}"
    for given, value in c.case.inputs.items():
        if isinstance(value, np.ndarray) and np.isneginf(value).any():
            cause = f"{given} holds −inf: exp(−inf) is 0, but −inf − (−inf), 0·inf and inf/inf are NaN"
    return (
        f"{name} contains NaN: {cause}.",
        f"{int(np.isnan(got.values).sum())} of {got.values.size} numbers are NaN, none expected",
    )


def _wrong_value(c):
    limit = tolerance(c.case, c.expected, c.seen)
    among = "row" if c.case.coarse else ""
    wrong = [pair for pair in c.pairs() if not close(pair[2].values, pair[1].values, limit, among).all()]
    weights = [pair[0] for pair in c.pairs() if are_weights(pair[1].values)]
    name, wanted, got = next((pair for pair in wrong if pair[0] in weights), wrong[0])  # others are made with weights
    if c.case.rows:
        return rows(name, wanted, got, limit, c.case.rows)
    what = "truth values" if wanted.dtype == "torch.bool" else "numbers"
    sure = all(clear(c.case, one, got, limit) for given, one, got in c.pairs() if given in weights)
    beside = _beside(name, [pair[0] for pair in wrong], weights, sure)
    found = [f"The shape of {name} is right, its {what} are not.", *beside]
    return f"{' '.join(found)}\n{c.exercise.formula}", numbers(name, wanted, got)


def _beside(name: str, wrong: list, weights: list, sure: bool) -> list[str]:
    """What else is wrong; and what it means that a wrong result and weights came together, if they did.

    Args:
        sure: weights that count as right are so by much.
    """
    if name in weights and len(wrong) > 1:
        return [f"{_listed(one for one in wrong if one != name)} is wrong as well, and may be so because of {name}."]
    if weights and sure and not set(weights) & set(wrong):
        return [f"{_listed(weights)} is right: {look_past(weights, [name])}."]
    others = [one for one in wrong if one != name]
    if others:
        return [
            f"{_listed(others)} {'is' if len(others) == 1 else 'are'} wrong as well; they may come from one mistake."
        ]
    return []


def _unstable(c):
    twice, none = "Two calls with the same inputs", "Nothing in it may depend on chance, or on an earlier call"
    if not c.exercise.is_module:
        return f"{twice} gave different results. {none}.", ""
    twice, copy = f"{twice}, or two modules with the same weights,", "a copy of weights that was made in __init__"
    return f"{twice} gave different results. {none}, or on {copy}: they are learned, and set, later.", ""


def _overwritten(c):
    return (
        "A later call changed what an earlier one had returned: both results lie in the same memory, such as a tensor that is"
        " kept between calls. Each call returns a tensor of its own.",
        "",
    )


def _wrong_start(c):
    pairs = [(name, held, c.seen.starts.get(name)) for name, held in c.expected.starts.items()]
    name, wanted, got = next(one for one in pairs if one[1] != one[2])
    words = {"zeros": "zeros alone", "equal": "the same number everywhere", "different": "numbers that differ"}
    return (
        f"With the weights that the check sets, the results are right. In a new module, though, {name} should hold"
        f" {words[wanted]}, and yours holds {words.get(got, 'nothing')}. How a layer begins decides what training can make of it."
    ), ""


def _too_large(c):
    return (
        (
            "The numbers are right here, but a tensor that is made on the way is too large. It must not exist at any time;"
            f" that is the point here.\n{c.exercise.formula}"
        ),
        f"the largest intermediate tensor holds {c.seen.made['largest']} numbers;"
        f" it should hold fewer than {c.case.bounds['largest'] + 1}",
    )


def _too_much(c):
    return (
        "The numbers are right here, but the tensors that are made on the way are too large together: piece by piece it is the"
        f" same work, and doing less is the point here.\n{c.exercise.formula}"
    ), f"they hold {c.seen.made['made']} numbers together; it should be fewer than {c.case.bounds['made'] + 1}"


def _too_much_kept(c):
    return (
        (
            "The numbers are right here, but something of every piece is kept until the end, such as a list of the pieces'"
            " results, or calls of a function by itself that wait for one another: all that is held at one time is too large"
            f" together. Keep only what is carried from piece to piece.\n{c.exercise.formula}"
        ),
        f"tensors of {c.seen.made['kept']} numbers are held at a time; it should be fewer than {c.case.bounds['kept'] + 1}",
    )


def _listed(names) -> str:
    return ", ".join(names)


_WRITERS = {
    **NO_RESULT,
    **GRADIENTS,
    "forbidden_call": _forbidden_call,
    "returned_none": _returned_none,
    "wrong_structure": _wrong_structure,
    "changed_input": _changed_input,
    "not_a_tensor": _not_a_tensor,
    "wrong_shape": _wrong_shape,
    "wrong_dtype": _wrong_dtype,
    "wrong_order": _wrong_order,
    "wrong_device": _wrong_device,
    "left_behind": _left_behind,
    "not_quite_zero": _not_quite_zero,
    "not_finite": _not_finite,
    "wrong_value": _wrong_value,
    "unstable": _unstable,
    "overwritten": _overwritten,
    "wrong_start": _wrong_start,
    "too_large": _too_large,
    "too_much": _too_much,
    "too_much_kept": _too_much_kept,
}
