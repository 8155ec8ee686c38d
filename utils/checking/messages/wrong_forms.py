"""The sentences about results that cannot be compared: of another form than is asked for, or made in a forbidden way."""

import math

import numpy as np

from utils.checking.explaining.facts import common
from utils.checking.explaining.shapes import shape_facts
from utils.checking.judging.comparing import is_right, other_order
from utils.checking.judging.finding import forbidden_call
from utils.checking.judging.problems import Problem
from utils.checking.judging.tolerance import tolerance
from utils.checking.messages.context import Context
from utils.checking.messages.exceptions import integers, origin
from utils.checking.messages.message import Message
from utils.checking.messages.shapes import looks_like
from utils.checking.records import MAX_OUTPUTS, Helper, Output


def _forbidden_call(c: Context) -> Message:
    name = forbidden_call(c.exercise, c.observation)
    return Message(
        f"Your code reaches {name}, a ready-made function that does the steps this exercise asks for: write them yourself."
    )


def _returned_none(c: Context) -> Message:
    missing = [name for name, _, actual in c.pairs() if actual.kind == "NoneType"]
    where = "forward" if c.exercise.is_module else "the function"
    if c.observation.structure != "NoneType" and len(c.exercise.outputs) > 1:
        return Message(
            f"{' and '.join(missing)} is None in what {where} returns: is it what a function of your own gives that lacks its"
            " `return`, or is it not made in some branch?"
        )
    mode = " (The module is in eval mode here.)" if c.exercise.is_module and not c.case.training else ""
    return Message(
        f"Nothing is returned: the result is None. Is `return {c.returns.strip('()')}` missing at the end of {where}, or of a"
        " branch of it? Or does it return a call of something that gives nothing back, such as print, append or backward()?"
        f"{mode}"
    )


def _wrong_structure(c: Context) -> Message:
    count, came = len(c.expected.outputs), len(c.observation.outputs)
    asked = f"{c.returns}, {count} tensors" if count > 1 else f"one tensor, {c.returns}"
    structure = c.observation.structure
    if structure == "tuple" and came == 1:
        return Message(f"It should return {asked}; it returns a tuple of one: is there a comma after return?")
    if structure not in ("tuple", "list", "tensor"):
        return Message(f"It should return {asked}; it returns a {structure}.")
    if structure == "list":
        return Message(f"It should return {asked}; it returns a list of {_listing(c.observation.outputs)}")
    values = "one tensor" if came == 1 else f"{came} values"
    return Message(f"It should return {asked}; it returns {values}.{_of_several(c, count, came)}")


def _listing(outputs: tuple[Output, ...]) -> str:
    """The end of a sentence on a list: how many it holds, and what makes a tensor of them."""
    many = f"{MAX_OUTPUTS} or more" if len(outputs) == MAX_OUTPUTS else len(outputs)
    if any(one.kind == "tensor" for one in outputs):
        return f"{many}. torch.stack makes one tensor of a list."
    return f"{many}. torch.tensor makes a tensor of numbers, or of lists of them that are all of one length."


def _of_several(c: Context, count: int, came: int) -> str:
    """What is to be done with several values where one was asked for, as far as it can be seen."""
    if not came or count != 1:
        return ""
    first, asked = c.observation.outputs[0], c.expected.outputs[0]
    limit = tolerance(c.case, c.expected, c.observation)
    known = first.values is not None and asked.values is not None
    if came > 1 and known and is_right(asked, first, limit):
        return f" The first of them is {c.exercise.outputs[0][0]}, and right: return it alone."
    if came > 2 and {math.prod(one.shape) * came for one in c.observation.outputs} == {math.prod(asked.shape)}:
        return " Pieces of equal shape become one tensor with torch.stack(…, dim=…), along a new axis, or torch.cat."
    return " If max(dim=…) is what gave two: take .values or .indices of it." if came == 2 else ""


def _wrong_order(c: Context) -> Message:
    names = [name for name, _ in c.exercise.outputs]
    order = other_order(c.case, c.expected, c.observation)
    assert order is not None
    came = ", ".join(names[place] for place in order)
    return Message(
        f"The results are right, their order is not: it should return {', '.join(names)}, and returns {came}."
    )


def _changed_input(c: Context) -> Message:
    changed = c.observation.changed
    names = ", ".join(changed)
    if all(name in c.case.weights for name in changed):
        return Message(
            f"Calling the module changed its weights, or whether they learn: {names}. A call only computes; weights change in"
            " training, and what is frozen is frozen in __init__."
        )
    kinds = {type(c.case.inputs[name]) for name in changed if name in c.case.inputs}
    if kinds == {Helper}:
        return Message(
            f"What came back is not the {names} that was given but another one: is it a copy that was changed?"
        )
    if kinds == {list}:
        return Message(
            f"The list {names} came back changed: sort, append, pop and the like write into it. Take a copy, or sorted()."
        )
    return Message(
        f"{names} came back changed: your code writes into what it was given (+=, /=, an index on the left of =, a method that"
        " ends in _, or backward(), which fills .grad). A caller's tensors are not yours; make new ones."
    )


def _not_a_tensor(c: Context) -> Message:
    name, expected, actual = next(pair for pair in c.pairs() if pair[2].kind != "tensor")
    if actual.kind == "tuple":
        return Message(
            f"{name} is a tuple, not a tensor: brackets too many behind return, or a function that gives several things at once?"
        )
    if actual.kind == "list":
        return Message(
            f"{name} is a list, not a tensor: torch.stack makes a tensor of a list of tensors, torch.tensor of numbers."
        )
    if actual.kind in ("float", "int", "bool") and expected.shape:
        shape = c.shape(expected.shape, name, expected.shape)
        return Message(f"{name} is a single {actual.kind}; it should be a tensor, {shape}.")
    kind = {"ndarray": "NumPy array"}.get(actual.kind, actual.kind)
    learning = any(one.case.gradient for one in c.exercise.cases)
    reason = " loses its gradient" if learning else " is no tensor for the next step"
    return Message(
        f"{name} is a {kind}, not an ordinary tensor. Stay in torch: what leaves it (NumPy, lists, .item()){reason}."
    )


def _wrong_shape(c: Context) -> Message:
    asked, came = ([one.shape for one in outputs] for outputs in (c.expected.outputs, c.observation.outputs))
    if len(set(asked)) > 1 and sorted(asked) == sorted(came):
        names = ", ".join(name for name, _ in c.exercise.outputs)
        return Message(
            f"The shapes of the results are those asked for, in another order: it should return {names}, in this order."
            " Their numbers are not all right yet, either.",
            formula=c.exercise.formula,
        )
    name, expected, actual = next(pair for pair in c.pairs() if pair[1].shape != pair[2].shape)
    shapes = [c.shape(shape, name, expected.shape) for shape in (expected.shape, actual.shape)]
    axes = dict(c.exercise.outputs)[name].split()
    facts = common([shape_facts(name, axes, expected, actual, c.case.given_sizes)])
    return Message(
        facts[0].sentence if facts else f"{name} {looks_like(expected.shape, actual.shape, axes)}",
        formula=c.exercise.formula,
        detail=f"expected {shapes[0]}, yours is {shapes[1]}",
    )


def _wrong_dtype(c: Context) -> Message:
    name, expected, actual = next(
        pair for pair in c.pairs() if pair[1].dtype != pair[2].dtype or pair[2].values is None
    )
    if not expected.dtype.startswith(("torch.float", "torch.bfloat")):
        return Message(f"{name} is {actual.dtype}; {integers(expected.dtype, actual.dtype)}")
    given = {c.case.precision or array.dtype.name for array in c.case.arrays if array.dtype.kind == "f"}
    if expected.dtype.removeprefix("torch.") not in given:
        return Message(
            f"{name} is {actual.dtype}; it should be {expected.dtype}, torch's usual type for numbers with a fraction."
        )
    arrays = any(isinstance(one, np.ndarray) and one.dtype.kind == "f" for one in c.case.inputs.values())
    helper = next((given for given, one in c.case.inputs.items() if isinstance(one, Helper)), "")
    source = "the inputs are" if arrays or not helper else f"`{helper}` computes in"
    kept = f"{source} {expected.dtype}, and the result keeps that type"
    return Message(f"{name} is {actual.dtype}; {kept}. Look for {origin(actual.dtype)}.")


def _wrong_device(c: Context) -> Message:
    there = c.observation.device
    name, device = next((name, actual.device) for name, _, actual in c.pairs() if actual.device != there)
    return Message(
        f"{name} is on {device}; the inputs are on {there}. Make new tensors with device=, or from the inputs"
        " (zeros_like, new_zeros), and leave out .cpu()."
    )


def _left_behind(c: Context) -> Message:
    given = next((name for name, one in c.case.inputs.items() if isinstance(one, np.ndarray)), "")
    device = f", or with device={given}.device" if given else ""
    line = c.observation.failure.line if c.observation.failure else ""
    return Message(
        "With inputs on a GPU, a tensor would stay behind on the CPU: is it made there, without device= or with"
        ' device="cpu", or moved there by .cpu(), .numpy() or .tolist()? Make new tensors from the inputs (zeros_like,'
        f" new_zeros){device}.",
        detail=f"the line is: {line}" if line else "",
    )


WRONG_FORMS = {
    Problem.FORBIDDEN_CALL: _forbidden_call,
    Problem.RETURNED_NONE: _returned_none,
    Problem.WRONG_STRUCTURE: _wrong_structure,
    Problem.CHANGED_INPUT: _changed_input,
    Problem.NOT_A_TENSOR: _not_a_tensor,
    Problem.WRONG_SHAPE: _wrong_shape,
    Problem.WRONG_DTYPE: _wrong_dtype,
    Problem.WRONG_ORDER: _wrong_order,
    Problem.WRONG_DEVICE: _wrong_device,
    Problem.LEFT_BEHIND: _left_behind,
}
