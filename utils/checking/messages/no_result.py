"""The sentence where an object gave no result: not written, not callable, stopped, or an error."""

import re

from utils.checking.messages.exceptions import hint
from utils.checking.messages.shapes import symbolic
from utils.checking.records import Helper

CODE = "in your line  "
LISTED = 12  # names of parameters, at most
_MISSING = re.compile(  # what Python says where a name is not there
    r"name '(\w+)' is not defined|No module named '([\w.]+)'.*|cannot import name '(\w+)' from .*"
    r"|(?:module|type object|partially initialized module)? ?'([\w.]+)'(?: object)? has no attribute '(\w+)'"
    r"|cannot access (?:local|free) variable '(\w+)' where it is not associated with a value.*"
)
PARAMETER = "nn.Parameter "  # so begins what is told of a parameter that belongs to no layer


def _unfinished(c):
    failure = c.seen.failure
    if failure.where:
        return f"It calls `{failure.where}`, which is not written yet: it still raises NotImplementedError.", ""
    what = "its __init__" if failure.stage == "constructor" else "it"
    return f"Not written yet: {what} still raises NotImplementedError. Put your code in that line's place.", ""


def _exception(c):
    failure = c.seen.failure
    text = f": {_said(c)}" if _said(c) else ""
    sentence = f"Your code raised {failure.type}{text}"
    if failure.helper:
        said = failure.text.splitlines()[0] if failure.text else failure.type
        givers = [name for name, value in c.case.inputs.items() if isinstance(value, Helper)] or ["what was passed in"]
        giver = next((name for name in givers if said.startswith(f"{name}(")), givers[0])
        said = said if c.reveal else re.sub(r"\d+", "…", said)
        line = f"\n{CODE}{failure.line}" if failure.line else ""
        return (
            f"`{giver}`, as your code calls it, refuses: {said.rstrip('.')}{'' if said.endswith('?') else '.'}{line}",
            "",
        )
    if failure.own:
        sentence = f"A raise or an assert of your own refuses an input that must be accepted: {failure.type}{text}"
    if failure.line:
        sentence += f"\n{CODE}{failure.line}"
    return sentence + hint(failure, c.case.sizes, c.exercise.constructor), _expects(c)


def _said(c) -> str:
    """The first line of an error's text, where it may be shown: a name that is missing tells nothing of a case's numbers."""
    failure = c.seen.failure
    first = next(iter(failure.text.splitlines()), "")
    named = None if failure.own else _MISSING.fullmatch(first)
    words = [word for word in (named.groups() if named else ()) if word]
    plain = named and all(re.search(rf"\b{re.escape(word)}\b", failure.line) for word in words)
    return first if c.reveal or plain else ""


def _expects(c) -> str:
    shapes = ", ".join(
        f"{name} {c.shape(out.shape, name, out.shape)}"
        for name, out in zip(dict(c.exercise.outputs), c.expected.outputs)
    )
    return f"expected {shapes}"


def _wrong_signature(c):
    failure, name = c.seen.failure, c.exercise.name
    if failure.type == "not_callable":
        return f"`{name}` is a {failure.text}, not a function: is its name used for something else further up?", ""
    if failure.type == "not_a_module":
        return f"`{name}` must be a class that extends nn.Module: class {name}(nn.Module).", ""
    if failure.type == "no_forward":
        return f"`{name}` has no method forward: is it spelt right, and indented as far as __init__?", ""
    asked = f"{name}({', '.join(c.exercise.parameters)})"
    if c.exercise.is_module:
        asked = (
            f"__init__(self, {', '.join(c.exercise.constructor)}) and forward(self, {', '.join(c.exercise.parameters)})"
        )
    left_out = [name for name in c.exercise.parameters if name not in c.case.inputs]
    if left_out and failure.text.split(", ") == list(c.exercise.parameters):
        return (
            f"It is called without {', '.join(left_out)} here: give it the default that the exercise's signature shows.",
            "",
        )
    if failure.type in ("name", "position"):
        how = "under these names" if failure.type == "name" else "in this order, without their names"
        return f"It must take its arguments {how} too: {asked}. Yours takes ({failure.text}).", ""
    return f"It does not take the parameters that are asked for, {asked}. Yours takes ({failure.text}).", ""


def _missing_object(c):
    kind = "class" if c.exercise.is_module else "function"
    return (
        f"Nothing is called `{c.exercise.name}` at this point: its {kind} was renamed, deleted, or its cell failed.",
        "",
    )


def _constructor_failed(c):
    failure = c.seen.failure
    if failure.type == "no_super_init" or "before Module.__init__() call" in failure.text:
        return (
            "__init__ must begin with super().__init__(), so that nn.Module can register the layers you make after it.",
            "",
        )
    arguments = ", ".join(c.exercise.constructor)
    text = f": {failure.text.splitlines()[0]}" if failure.text else ""
    line = f"\n{CODE}{failure.line}" if failure.line else ""
    return f"{c.exercise.name}({arguments}) could not be built: {failure.type}{text}{line}", ""


def _wrong_parameters(c):
    failure = c.seen.failure
    wanted = {name: list(weight.shape) for name, weight in c.case.weights.items()}
    more = f", … ({len(wanted)} in all)" if len(wanted) > LISTED else ""
    expected = f"expected parameters {', '.join([*wanted][:LISTED])}{more}"
    if failure.type == "missing":
        layer, _, kind = failure.text.rpartition(".")
        if kind == "bias" and layer and failure.text not in c.exercise.layers:
            return f"The layer {layer} has no bias. This exercise asks for one: leave out bias=False.", expected
        return f"The module has no parameter {failure.text}. {_make(c.exercise.layers, failure.text)}", expected
    if failure.type == "extra":
        return f"The module has parameters that were not asked for: {_extra(failure.text, wanted)}", expected
    if failure.type == "type":
        name, kind = failure.text.split(" ", 1)
        return (
            f"{name} is made as {kind}. Layers are made in torch's usual type, torch.float32 (leave out dtype= and"
            f" .double()); whoever"
            " needs another calls .to(…) on the whole model."
        ), expected
    if failure.type != "shape":
        return _exception(c)
    name, shape = failure.text.split(" ", 1)
    told = c.exercise.layers.get(_part(c.exercise.layers, name), "")
    should = f" {'It' if told.startswith(PARAMETER) else 'The layer'} should be {told}." if told else ""
    stored = " (nn.Linear(in, out) stores its weight as [out, in].)" if told.startswith("nn.Linear") else ""
    symbols = c.exercise.shapes.get(name) or symbolic(tuple(wanted[name]), c.case.sizes, 2 * tuple(c.case.sizes))
    return (
        f"{name} has the wrong shape.{should}{stored}",
        f"expected {symbols} = {wanted[name]}, yours is {shape}",
    )


def _extra(text: str, wanted: dict) -> str:
    """Their names, and what to do: one with the shape of a matrix that is asked for may be meant to be that one."""
    found = {
        name: [int(size) for size in re.findall(r"\d+", shape)] for name, shape in re.findall(r"(\S+) (\[.*?\])", text)
    }
    names = ", ".join(found)
    if found and all(name.endswith(".bias") for name in found):
        return f"{names}. A layer without bias is nn.Linear(…, …, bias=False)."
    alike = [other for name in found for other, shape in wanted.items() if len(shape) > 1 and shape == found[name]]
    if len(found) > 1 or len(alike) != 1:
        return f"{names}. Leave them out."
    return (
        f"{names}, of the shape of {alike[0]}. Leave it out. Is {alike[0]} itself to be used there, as where weights are tied:"
        " one parameter with two uses?"
    )


def _part(layers: dict, parameter: str) -> str:
    """The innermost part of a module that is told and that a parameter belongs to, or is."""
    while parameter not in layers and "." in parameter:
        parameter = parameter.rpartition(".")[0]
    return parameter


def _make(layers: dict, parameter: str) -> str:
    """What is to be written so that a module has a parameter; also inside of a part that is a class of the author's own."""
    outer, inner = parameter.partition(".")[0], _part(layers, parameter)
    if outer not in layers:
        return "Make it in __init__."
    why = "checks set its weights themselves, so that no mark depends on chance."
    write = f"Write {_assigned(outer, layers[outer])} in __init__"
    above, _, name = inner.rpartition(".")
    if not layers.get(above, "nn.").startswith("nn."):
        write += f", and in that of {layers[above].partition('(')[0]} {_assigned(name, layers[inner])}"
    return f"{write.removesuffix(',')}, under this very name: {why}"


def _assigned(name: str, told: str) -> str:
    return f"`self.{name}`, an {told}," if told.startswith(PARAMETER) else f"`self.{name} = {told}`"


def _too_slow(c):
    return (
        f"It took longer than {c.seen.failure.text} and was stopped: a loop that does not end, or one over single numbers?",
        "",
    )


def _not_reached(c):
    return (
        f"The notebook as a whole may take {c.seen.failure.text}. It was stopped before this exercise was reached: a cell"
        " above it runs for too long."
    ), ""


def _process_ended(c):
    return f"The notebook's process did not survive this exercise, or a cell above it: {c.seen.failure.text}.", ""


def _tampered(c):
    return (
        "The notebook changes the code that examines it, so nothing could be said about this exercise. Take out whatever"
        " assigns to names inside `utils`."
    ), ""


def _raised(c) -> str:
    """The error in words, and the line that it came from."""
    failure = c.seen.failure
    text = f": {_said(c)}" if _said(c) else ""
    return f"{failure.type}{text}" + (f"\n{CODE}{failure.line}" if failure.line else "")


def _confined(c):
    return (
        "The sandbox in which grading runs your code refused a library what it needs. That is no fault of yours: nothing is"
        f" decided, and your instructor is told to mark this exercise by hand. What came was {_raised(c)}"
    ), ""


def newer_python(written: str, here: str) -> str:
    """What a student reads whose answer is written for a Python that grading does not have."""
    return (
        f"The notebook was written with Python {written}, grading runs Python {here}, and this exercise uses what only the"
        " newer one has. That is no fault of yours: nothing is decided, and your instructor is told to mark this exercise by"
        " hand."
    )


def _not_allowed(c):
    return (
        "Your code asks for what grading does not allow: files outside its own folder, a network, another process."
        f" What came was {_raised(c)}"
    ), ""


def _no_error(c):
    wanted = c.expected.failure.type
    came = "it was returned: write raise, not return" if c.seen.structure == wanted else "a result came instead"
    return f"A {wanted} should be raised here, and {came}.\n{c.exercise.formula}", ""


def _wrong_error(c):
    failure, wanted = c.seen.failure, c.expected.failure.type
    text = f": {failure.text.splitlines()[0]}" if c.reveal and failure.text else ""
    return (
        f"A {wanted} of your own should be raised here, before anything else fails. What came was {failure.type}{text}\n"
        f"{c.exercise.formula}"
    ), ""


def _vague_error(c):
    text = c.seen.failure.text.splitlines()
    said = f": it says “{text[0]}”" if c.reveal and text else ""
    if text and "{" in text[0]:
        said += " (is the f missing before the quotation mark?)"
    return (
        f"The {c.seen.failure.type} comes, but its message does not help{said}. Whoever reads it wants the numbers: how much"
        f" there is, and how much there may be.\n{c.exercise.formula}"
    ), ""


NO_RESULT = {
    "unfinished": _unfinished,
    "exception": _exception,
    "wrong_signature": _wrong_signature,
    "missing_object": _missing_object,
    "constructor_failed": _constructor_failed,
    "wrong_parameters": _wrong_parameters,
    "too_slow": _too_slow,
    "not_reached": _not_reached,
    "process_ended": _process_ended,
    "tampered": _tampered,
    "confined": _confined,
    "not_allowed": _not_allowed,
    "no_error": _no_error,
    "wrong_error": _wrong_error,
    "vague_error": _vague_error,
}
