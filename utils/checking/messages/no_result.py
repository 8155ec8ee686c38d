"""The sentence where an object gave no result: not written, not callable, stopped, or an error."""

import re

from utils.checking.judging.problems import Problem
from utils.checking.messages.context import Context
from utils.checking.messages.exceptions import advice
from utils.checking.messages.message import Message
from utils.checking.messages.parameters import wrong_parameters
from utils.checking.records import Helper

_MISSING = re.compile(  # Python's words for a missing name
    r"name '(\w+)' is not defined|No module named '([\w.]+)'.*|cannot import name '(\w+)' from .*"
    r"|(?:module|type object|partially initialized module)? ?'([\w.]+)'(?: object)? has no attribute '(\w+)'"
    r"|cannot access (?:local|free) variable '(\w+)' where it is not associated with a value.*"
)


def _unfinished(c: Context) -> Message:
    if c.failure.where:
        return Message(f"It calls `{c.failure.where}`, which is not written yet: it still raises NotImplementedError.")
    what = "its __init__" if c.failure.stage == "constructor" else "it"
    return Message(f"Not written yet: {what} still raises NotImplementedError. Put your code in that line's place.")


def _exception(c: Context) -> Message:
    failure = c.failure
    if failure.helper:
        return _refused_by_a_helper(c)
    error = f"{failure.type}{_shown_error_text(c)}"
    sentence = f"Your code raised {error}"
    if failure.own:
        sentence = f"A raise or an assert of your own refuses an input that must be accepted: {error}"
    return Message(
        sentence,
        code=failure.line,
        advice=advice(failure, c.case.sizes, c.exercise.constructor),
        detail=_expected_shapes(c),
    )


def _refused_by_a_helper(c: Context) -> Message:
    """The message where a network or a function among the inputs refuses the arguments that the code calls it with."""
    failure = c.failure
    text = failure.text.splitlines()[0] if failure.text else failure.type
    givers = [name for name, value in c.case.inputs.items() if isinstance(value, Helper)] or ["what was passed in"]
    giver = next((name for name in givers if text.startswith(f"{name}(")), givers[0])
    text = text if c.may_show_numbers else re.sub(r"\d+", "…", text)
    end = "" if text.endswith("?") else "."
    return Message(f"`{giver}`, as your code calls it, refuses: {text.rstrip('.')}{end}", code=failure.line)


def _shown_error_text(c: Context) -> str:
    """ ": " and the first line of an error's text, where it may be shown: a missing name reveals no numbers."""
    failure = c.failure
    first = next(iter(failure.text.splitlines()), "")
    missing_name = None if failure.own else _MISSING.fullmatch(first)
    words = [word for word in (missing_name.groups() if missing_name else ()) if word]
    plain = missing_name and all(re.search(rf"\b{re.escape(word)}\b", failure.line) for word in words)
    return f": {first}" if first and (c.may_show_numbers or plain) else ""


def _expected_shapes(c: Context) -> str:
    outputs = zip(dict(c.exercise.outputs), c.expected.outputs)
    shapes = ", ".join(f"{name} {c.shape(output.shape, name, output.shape)}" for name, output in outputs)
    return f"expected {shapes}"


def _wrong_signature(c: Context) -> Message:
    failure, exercise = c.failure, c.exercise
    name, parameters = exercise.name, ", ".join(exercise.parameters)
    if failure.type == "not_callable":
        return Message(f"`{name}` is a {failure.text}, not a function: is its name used for something else further up?")
    if failure.type == "not_a_module":
        return Message(f"`{name}` must be a class that extends nn.Module: class {name}(nn.Module).")
    if failure.type == "no_forward":
        return Message(f"`{name}` has no method forward: is it spelt right, and indented as far as __init__?")
    signature = f"{name}({parameters})"
    if exercise.is_module:
        signature = f"__init__(self, {', '.join(exercise.constructor)}) and forward(self, {parameters})"
    left_out = [parameter for parameter in exercise.parameters if parameter not in c.case.inputs]
    if left_out and failure.text == parameters:
        return Message(
            f"It is called without {', '.join(left_out)} here: give it the default that the exercise's signature shows."
        )
    if failure.type in ("name", "position"):
        how = "under these names" if failure.type == "name" else "in this order, without their names"
        return Message(f"It must take its arguments {how} too: {signature}. Yours takes ({failure.text}).")
    return Message(f"It does not take the parameters that are asked for, {signature}. Yours takes ({failure.text}).")


def _missing_object(c: Context) -> Message:
    kind = "class" if c.exercise.is_module else "function"
    return Message(
        f"Nothing is called `{c.exercise.name}` at this point: its {kind} was renamed, deleted, or its cell failed."
    )


def _constructor_failed(c: Context) -> Message:
    failure = c.failure
    if failure.type == "no_super_init" or "before Module.__init__() call" in failure.text:
        return Message(
            "__init__ must begin with super().__init__(), so that nn.Module can register the layers you make after it."
        )
    arguments = ", ".join(c.exercise.constructor)
    text = f": {failure.text.splitlines()[0]}" if failure.text else ""
    return Message(f"{c.exercise.name}({arguments}) could not be built: {failure.type}{text}", code=failure.line)


def _wrong_parameters(c: Context) -> Message:
    return wrong_parameters(c) or _exception(c)


def _too_slow(c: Context) -> Message:
    return Message(
        f"It took longer than {c.failure.text} and was stopped: a loop that does not end, or one over single numbers?"
    )


def _not_reached(c: Context) -> Message:
    return Message(
        f"The notebook as a whole may take {c.failure.text}. It was stopped before this exercise was reached: a cell"
        " above it runs for too long."
    )


def _process_ended(c: Context) -> Message:
    return Message(f"The notebook's process did not survive this exercise, or a cell above it: {c.failure.text}.")


def _tampered(c: Context) -> Message:
    return Message(
        "The notebook changes the code that examines it, so nothing could be said about this exercise. Take out whatever"
        " assigns to names inside `utils`."
    )


def _confined(c: Context) -> Message:
    return Message(
        "The sandbox in which grading runs your code refused a library what it needs. That is no fault of yours: nothing is"
        " decided, and your instructor is told to mark this exercise by hand. What came was"
        f" {c.failure.type}{_shown_error_text(c)}",
        code=c.failure.line,
    )


def newer_python(written: str, here: str) -> str:
    """What a student reads whose answer needs a newer Python than grading has."""
    return (
        f"The notebook was written with Python {written}, grading runs Python {here}, and this exercise uses what only the"
        " newer one has. That is no fault of yours: nothing is decided, and your instructor is told to mark this exercise by"
        " hand."
    )


def _not_allowed(c: Context) -> Message:
    return Message(
        "Your code asks for what grading does not allow: files outside its own folder, a network, another process."
        f" What came was {c.failure.type}{_shown_error_text(c)}",
        code=c.failure.line,
    )


def _error_asked_for(c: Context) -> str:
    """The type of the error that should be raised."""
    assert c.expected.failure is not None
    return c.expected.failure.type


def _no_error(c: Context) -> Message:
    error_type = _error_asked_for(c)
    returned = c.observation.structure == error_type
    outcome = "it was returned: write raise, not return" if returned else "a result came instead"
    return Message(f"A {error_type} should be raised here, and {outcome}.", formula=c.exercise.formula)


def _wrong_error(c: Context) -> Message:
    failure = c.failure
    text = f": {failure.text.splitlines()[0]}" if c.may_show_numbers and failure.text else ""
    return Message(
        f"A {_error_asked_for(c)} of your own should be raised here, before anything else fails. What came was"
        f" {failure.type}{text}",
        formula=c.exercise.formula,
    )


def _vague_error(c: Context) -> Message:
    text = c.failure.text.splitlines()
    words = f": it says “{text[0]}”" if c.may_show_numbers and text else ""
    if text and "{" in text[0]:
        words += " (is the f missing before the quotation mark?)"
    return Message(
        f"The {c.failure.type} comes, but its message does not help{words}. Whoever reads it wants the numbers: how much"
        " there is, and how much there may be.",
        formula=c.exercise.formula,
    )


NO_RESULT = {
    Problem.UNFINISHED: _unfinished,
    Problem.EXCEPTION: _exception,
    Problem.WRONG_SIGNATURE: _wrong_signature,
    Problem.MISSING_OBJECT: _missing_object,
    Problem.CONSTRUCTOR_FAILED: _constructor_failed,
    Problem.WRONG_PARAMETERS: _wrong_parameters,
    Problem.TOO_SLOW: _too_slow,
    Problem.NOT_REACHED: _not_reached,
    Problem.PROCESS_ENDED: _process_ended,
    Problem.TAMPERED: _tampered,
    Problem.CONFINED: _confined,
    Problem.NOT_ALLOWED: _not_allowed,
    Problem.NO_ERROR: _no_error,
    Problem.WRONG_ERROR: _wrong_error,
    Problem.VAGUE_ERROR: _vague_error,
}
