"""The sentences about a module whose parameters are not those that are asked for."""

import re

from utils.checking.messages.context import Context
from utils.checking.messages.message import Message
from utils.checking.messages.shapes import symbolic

LISTED = 12  # names of parameters that a message lists at most
PARAMETER = "nn.Parameter "  # the beginning of the description of a parameter that belongs to no layer


def wrong_parameters(c: Context) -> Message | None:
    """The message on a module's wrong parameters; None where setting them failed for another reason."""
    failure, layers = c.failure, c.exercise.layers
    expected_shapes = {name: list(weight.shape) for name, weight in c.case.weights.items()}
    more = f", … ({len(expected_shapes)} in all)" if len(expected_shapes) > LISTED else ""
    expected = f"expected parameters {', '.join([*expected_shapes][:LISTED])}{more}"
    if failure.type == "missing":
        layer, _, kind = failure.text.rpartition(".")
        if kind == "bias" and layer and failure.text not in layers:
            sentence = f"The layer {layer} has no bias. This exercise asks for one: leave out bias=False."
        else:
            sentence = f"The module has no parameter {failure.text}. {_how_to_make(layers, failure.text)}"
        return Message(sentence, detail=expected)
    if failure.type == "extra":
        extra = _extra(failure.text, expected_shapes)
        return Message(f"The module has parameters that were not asked for: {extra}", detail=expected)
    if failure.type == "type":
        name, kind = failure.text.split(" ", 1)
        return Message(
            f"{name} is made as {kind}. Layers are made in torch's usual type, torch.float32 (leave out dtype= and"
            " .double()); whoever needs another calls .to(…) on the whole model.",
            detail=expected,
        )
    return _wrong_shape(c, expected_shapes) if failure.type == "shape" else None


def _wrong_shape(c: Context, expected_shapes: dict[str, list[int]]) -> Message:
    name, shape = c.failure.text.split(" ", 1)
    layers = c.exercise.layers
    layer = layers.get(_innermost_part(layers, name), "")
    should = f" {'It' if layer.startswith(PARAMETER) else 'The layer'} should be {layer}." if layer else ""
    stored = " (nn.Linear(in, out) stores its weight as [out, in].)" if layer.startswith("nn.Linear") else ""
    symbols = c.exercise.shapes.get(name) or symbolic(
        tuple(expected_shapes[name]), c.case.sizes, 2 * tuple(c.case.sizes)
    )
    return Message(
        f"{name} has the wrong shape.{should}{stored}",
        detail=f"expected {symbols} = {expected_shapes[name]}, yours is {shape}",
    )


def _extra(text: str, expected_shapes: dict[str, list[int]]) -> str:
    """The names of extra parameters, and what to do: one with the shape of an expected matrix may be meant to be that one."""
    extra = {
        name: [int(size) for size in re.findall(r"\d+", shape)] for name, shape in re.findall(r"(\S+) (\[.*?\])", text)
    }
    names = ", ".join(extra)
    if extra and all(name.endswith(".bias") for name in extra):
        return f"{names}. A layer without bias is nn.Linear(…, …, bias=False)."
    twins = [
        other for name in extra for other, shape in expected_shapes.items() if len(shape) > 1 and shape == extra[name]
    ]
    if len(extra) > 1 or len(twins) != 1:
        return f"{names}. Leave them out."
    return (
        f"{names}, of the shape of {twins[0]}. Leave it out. Is {twins[0]} itself to be used there, as where weights are tied:"
        " one parameter with two uses?"
    )


def _innermost_part(layers: dict[str, str], parameter: str) -> str:
    """The innermost described part of a module that a parameter belongs to, or is."""
    while parameter not in layers and "." in parameter:
        parameter = parameter.rpartition(".")[0]
    return parameter


def _how_to_make(layers: dict[str, str], parameter: str) -> str:
    """What to write so that a module has a parameter, also inside of a part that is a class of the author's own."""
    outer, inner = parameter.partition(".")[0], _innermost_part(layers, parameter)
    if outer not in layers:
        return "Make it in __init__."
    why = "checks set its weights themselves, so that no mark depends on chance."
    write = f"Write {_assignment(outer, layers[outer])} in __init__"
    above, _, name = inner.rpartition(".")
    if not layers.get(above, "nn.").startswith("nn."):
        write += f", and in that of {layers[above].partition('(')[0]} {_assignment(name, layers[inner])}"
    return f"{write.removesuffix(',')}, under this very name: {why}"


def _assignment(name: str, layer: str) -> str:
    return f"`self.{name}`, an {layer}," if layer.startswith(PARAMETER) else f"`self.{name} = {layer}`"
