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
from utils.checking.records import MAX_OUTPUTS, Helper, Output, is_real


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
    expected_count, actual_count = len(c.expected.outputs), len(c.observation.outputs)
    what_is_asked_for = f"{c.returns}, {expected_count} tensors" if expected_count > 1 else f"one tensor, {c.returns}"
    structure = c.observation.structure
    if structure == "tuple" and actual_count == 1:
        return Message(
            f"It should return {what_is_asked_for}; it returns a tuple of one: is there a comma after return?"
        )
    if structure not in ("tuple", "list", "tensor"):
        return Message(f"It should return {what_is_asked_for}; it returns a {structure}.")
    if structure == "list":
        return Message(
            f"It should return {what_is_asked_for}; it returns a list of {_list_length(c.observation.outputs)}"
        )
    values = "one tensor" if actual_count == 1 else f"{actual_count} values"
    return Message(
        f"It should return {what_is_asked_for}; it returns {values}.{_one_of_several(c, expected_count, actual_count)}"
    )


def _list_length(outputs: tuple[Output, ...]) -> str:
    """The end of a sentence on a returned list: how many values it holds, and which function makes a tensor of them."""
    many = f"{MAX_OUTPUTS} or more" if len(outputs) == MAX_OUTPUTS else len(outputs)
    if any(output.kind == "tensor" for output in outputs):
        return f"{many}. torch.stack makes one tensor of a list."
    return f"{many}. torch.tensor makes a tensor of numbers, or of lists of them that are all of one length."


def _one_of_several(c: Context, expected_count: int, actual_count: int) -> str:
    """Advice on several values where one is expected; empty where there is none to give."""
    if not actual_count or expected_count != 1:
        return ""
    first_output, expected_output = c.observation.outputs[0], c.expected.outputs[0]
    limit = tolerance(c.case, c.expected, c.observation)
    comparable = first_output.values is not None and expected_output.values is not None
    if actual_count > 1 and comparable and is_right(expected_output, first_output, limit):
        return f" The first of them is {c.exercise.outputs[0][0]}, and right: return it alone."
    if actual_count > 2 and {math.prod(output.shape) * actual_count for output in c.observation.outputs} == {
        math.prod(expected_output.shape)
    }:
        return " Pieces of equal shape become one tensor with torch.stack(…, dim=…), along a new axis, or torch.cat."
    return " If max(dim=…) is what gave two: take .values or .indices of it." if actual_count == 2 else ""


def _wrong_order(c: Context) -> Message:
    names = [name for name, _ in c.exercise.outputs]
    order = other_order(c.case, c.expected, c.observation)
    assert order is not None
    actual_order = ", ".join(names[place] for place in order)
    return Message(
        f"The results are right, their order is not: it should return {', '.join(names)}, and returns {actual_order}."
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
    learning = any(case.case.gradient for case in c.exercise.cases)
    reason = " loses its gradient" if learning else " is no tensor for the next step"
    return Message(
        f"{name} is a {kind}, not an ordinary tensor. Stay in torch: what leaves it (NumPy, lists, .item()){reason}."
    )


def _wrong_shape(c: Context) -> Message:
    expected_shapes, actual_shapes = (
        [output.shape for output in outputs] for outputs in (c.expected.outputs, c.observation.outputs)
    )
    if len(set(expected_shapes)) > 1 and sorted(expected_shapes) == sorted(actual_shapes):
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
    input_types = {c.case.precision or array.dtype.name for array in c.case.arrays if array.dtype.kind == "f"}
    if expected.dtype.removeprefix("torch.") not in input_types:
        return Message(
            f"{name} is {actual.dtype}; it should be {expected.dtype}, torch's usual type for numbers with a fraction."
        )
    arrays = any(is_real(value) for value in c.case.inputs.values())
    helper = next((name for name, value in c.case.inputs.items() if isinstance(value, Helper)), "")
    source = "the inputs are" if arrays or not helper else f"`{helper}` computes in"
    type_rule = f"{source} {expected.dtype}, and the result keeps that type"
    return Message(f"{name} is {actual.dtype}; {type_rule}. Look for {origin(actual.dtype)}.")


def _wrong_device(c: Context) -> Message:
    there = c.observation.device
    name, device = next((name, actual.device) for name, _, actual in c.pairs() if actual.device != there)
    return Message(
        f"{name} is on {device}; the inputs are on {there}. Make new tensors with device=, or from the inputs"
        " (zeros_like, new_zeros), and leave out .cpu()."
    )


def _left_behind(c: Context) -> Message:
    tensor_name = next((name for name, value in c.case.inputs.items() if isinstance(value, np.ndarray)), "")
    device = f", or with device={tensor_name}.device" if tensor_name else ""
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
