"""Mistakes that nobody declared: what the reference would give if an input, a weight or a result were another.

A student who scales twice, forgets a bias, inverts a mask or takes keys for values gets the numbers that the reference gives on
changed inputs. A mistake's sentence names the change, and does not guess at the code behind it.
"""

import math
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.bank import declaration
from autograder.bank.built_once import BuiltOnce
from autograder.bank.mistakes.plain_arguments import of_plain_arguments
from autograder.bank.mistakes.positions import of_positions
from autograder.bank.mistakes.weights import of_weights

FACTORS = {"2": 2.0, "1/2": 0.5, "ln 2, as if powers of 2 stood in the place of powers of e": math.log(2)}


def counterfactuals(exercise: declaration.Exercise) -> list[declaration.Variation]:
    """The changes that the exercise's signature, weights and results allow, each as a variation of the reference."""
    variations: list[declaration.Variation] = []
    if any(case.rows for case in exercise.cases):
        return variations  # a trained model takes too long to be run often
    for name, sentence, change in _input_changes(exercise):
        variations.append(declaration.Variation(name, _on_inputs(exercise, change), sentence))
    for name, what, run_changed in of_positions(exercise):
        variations.append(declaration.Variation(name, made_of(exercise, exercise.reference, run_changed), _as_if(what)))
    for name, what, question, change in of_weights(exercise):
        variations.append(declaration.Variation(name, _on_weights(exercise, change), _as_if(what, question)))
    for name, sentence, change in _result_changes(exercise):
        variations.append(declaration.Variation(name, _on_results(exercise, change), sentence))
    return list({variation.name: variation for variation in reversed(variations)}.values())[::-1]


# how a change becomes an object that can be observed


def _on_inputs(exercise: declaration.Exercise, change: Callable) -> Callable:
    def changed(arguments: tuple, named: dict) -> dict:
        bound = exercise.signature.bind(*arguments, **named)
        bound.apply_defaults()
        return change(dict(bound.arguments))

    return made_of(exercise, exercise.reference, lambda run, arguments, named: run(**changed(arguments, named)))


def _on_results(exercise: declaration.Exercise, change: Callable) -> Callable:
    def run_changed(run, arguments, named):
        bound = exercise.signature.bind(*arguments, **named)
        results = run(*arguments, **named)
        several = isinstance(results, tuple)
        changed = change(list(results if several else [results]), dict(bound.arguments))
        return tuple(changed) if several else changed[0]

    return made_of(exercise, exercise.reference, run_changed)


def made_of(exercise: declaration.Exercise, form: Any, run_changed: Callable) -> Callable:
    """A function or module that calls `run_changed(run, arguments, named)`, where `run` calls `form` itself."""
    if not exercise.is_module:
        return lambda *arguments, **named: run_changed(form, arguments, named)

    def forward(self, *arguments, **named):
        return run_changed(lambda *a, **n: form.forward(self, *a, **n), arguments, named)

    kind = BuiltOnce if form is exercise.reference else type  # other forms may keep something in a module
    return kind(form.__name__, (form,), {"forward": forward})


def _on_weights(exercise: declaration.Exercise, change: Callable) -> Callable:
    reference = exercise.reference

    def forward(self, *arguments, **named):
        if getattr(self, "_changed", False):
            return reference.forward(self, *arguments, **named)
        self._changed = True
        try:
            return torch.func.functional_call(self, change(dict(self.named_parameters())), arguments, named)
        finally:
            self._changed = False

    return BuiltOnce(reference.__name__, (reference,), {"forward": forward})


# what may be another: (name, sentence, change)


AS_IF = "Here the result is exactly what one would get if {}."


def _as_if(what: str, question: str = "") -> str:
    return AS_IF.format(what) + (f" {question}" if question else "")


def _input_changes(exercise: declaration.Exercise) -> Iterator[tuple]:
    kinds = exercise.input_types
    shapes = {name: shape.split() for name, shape in exercise.input_shapes.items()}
    for name, kind in kinds.items():
        changes = {"float": _real_changes, "bool": _truth_changes, "int": _integer_changes}.get(kind)
        for label, what, question, change in changes(name, shapes.get(name, [])) if changes else ():
            yield f"{name} {label}", _as_if(what, question), _replacing(name, change)
        if kind in ("float", "bool", "int"):
            yield from _axis_changes(name, shapes[name])
    yield from _all_at_once([name for name, kind in kinds.items() if kind == "float"], shapes)
    for label, what, question, change in of_plain_arguments(exercise):
        yield label, _as_if(what, question), change
    interchangeable = [pair for pair in combinations(kinds, 2) if _could_stand_for(pair, shapes, kinds)]
    for first, second in interchangeable:
        yield f"{first} and {second} swapped", _as_if(f"{first} and {second} changed places"), _swapping(first, second)
        yield (
            f"{first} for {second}",
            _as_if(f"{first} stood in the place of {second} too"),
            _replacing(second, None, first),
        )
        yield (
            f"{second} for {first}",
            _as_if(f"{second} stood in the place of {first} too"),
            _replacing(first, None, second),
        )


def _could_stand_for(pair: tuple[str, str], shapes: dict[str, list[str]], kinds: dict[str, str]) -> bool:
    """Whether each of two inputs fits in the other's place: plain numbers of one kind, or tensors of equal axes and width."""
    if kinds[pair[0]] != kinds[pair[1]] or not kinds[pair[0]]:
        return False
    first, second = (shapes.get(name, []) for name in pair)
    return len(first) == len(second) and first[-1:] == second[-1:]


def _replacing(name: str, change: Callable | None, source: str = "") -> Callable:
    def changed(values: dict) -> dict:
        if values.get(source or name) is None:
            raise ValueError(f"there is no {source or name} to be changed")
        return {**values, name: change(values[name]) if change else values[source]}

    return changed


def _swapping(first: str, second: str) -> Callable:
    return lambda values: {**values, first: values[second], second: values[first]}


def _is_used(name: str, such: str = "") -> str:
    """A question that also helps where a value computed from an input was dropped."""
    return f"Is {name} used, and is what comes of it kept{such}?"


def _real_changes(name: str, axes: list) -> Iterator[tuple]:
    yield "negated", f"{name} had the opposite sign", "", lambda X: -X
    kept_or_cancelled = f"{_is_used(name)} Or does its influence cancel?"
    yield "zero", f"{name} were 0 everywhere", kept_or_cancelled, torch.zeros_like
    if len(axes) == 1:
        yield "plus 1", f"1 were added to each number of {name}", "", lambda X: X + 1
    yield "without negatives", f"the negative numbers of {name} were 0", "", torch.relu
    yield "absolute", f"{name} had no signs", "", torch.abs
    yield "through a softmax", f"{name} went through a softmax first", "", lambda X: X.softmax(dim=-1)
    yield "through a tanh", f"{name} went through a tanh first", "", torch.tanh
    yield (
        "of length 1",
        f"each vector of {name} were scaled to length 1",
        "",
        lambda X: X / X.norm(dim=-1, keepdim=True),
    )
    yield (
        "centred",
        f"the mean of each vector of {name} were subtracted",
        "",
        lambda X: X - X.mean(dim=-1, keepdim=True),
    )
    for text, factor in FACTORS.items():
        yield (
            f"times {text[:4].strip(' ,')}",
            f"{name} were multiplied by {text}",
            "",
            lambda X, factor=factor: X * factor,
        )
    for place, axis in enumerate(axes):
        if axis.startswith("*") or axis.isdigit() or axis == "B":
            continue
        back = place - len(axes)
        if axis in axes[:place]:
            continue
        yield from _scaled_by(name, axis, lambda X, back=back: X.shape[back])


def _scaled_by(name: str, axis: str, size: Callable) -> Iterator[tuple]:
    for label, exponent in (("√" + axis, 0.5), (axis, 1.0)):
        missing, twice = (
            f"Is a division by {label} missing, or a multiplication too many?",
            f"Is a division by {label} too many, or a multiplication missing?",
        )
        yield (
            f"times {label}",
            f"{name} were multiplied by {label} first",
            missing,
            lambda X, e=exponent: X * size(X) ** e,
        )
        yield f"over {label}", f"{name} were divided by {label} first", twice, lambda X, e=exponent: X / size(X) ** e


def _truth_changes(name: str, axes: list) -> Iterator[tuple]:
    yield "inverted", f"{name} were inverted, True where it is False", "", torch.logical_not
    yield (
        "all True",
        f"{name} were True everywhere",
        _is_used(name, ", such as the copy that masked_fill returns"),
        torch.ones_like,
    )
    yield "all False", f"{name} were False everywhere", "", torch.zeros_like
    yield "as a prefix", f"the True entries of each row of {name} all came first", "", lambda m: _prefix(m.sum(-1), m)
    last = f"each row of {name} were True up to its last True"
    yield "up to the last", last, "", lambda m: m.flip(-1).cumsum(-1).flip(-1) > 0


def _prefix(counts: Tensor, like: Tensor) -> Tensor:
    return torch.arange(like.shape[-1], device=like.device) < counts[..., None]


def _integer_changes(name: str, axes: list) -> Iterator[tuple]:
    yield "one more", f"each number in {name} were one larger", "", lambda X: X + 1
    yield "one less", f"each number in {name} were one smaller", "", lambda X: X - 1
    yield (
        "all the largest",
        f"each number in {name} were the largest of them",
        "",
        lambda X: torch.full_like(X, X.max()),
    )
    yield "from 0 on", f"{name} counted from 0 on", _is_used(name), lambda X: torch.arange(X.numel()).view_as(X)


def _axis_changes(name: str, axes: list) -> Iterator[tuple]:
    for place, axis in enumerate(axes):
        if axis.startswith("*") and place == 0 or axis == "B":
            yield (
                f"{name} of the first",
                _as_if(f"every row of the batch had the {name} of the first"),
                _replacing(name, _first_row),
            )
            continue
        if axis.startswith("*") or axis.isdigit():
            continue
        back, axis = place - len(axes), _axis_name(axes, place)
        yield (
            f"{name} reversed along {axis}",
            _as_if(f"{name} came in reverse order along {axis}"),
            _replacing(name, lambda X, d=back: X.flip(d)),
        )
        for label, step in (("later", 1), ("earlier", -1)):
            yield (
                f"{name} one {label} along {axis}",
                _as_if(f"{name} were moved by one place along {axis}, to the {label} one"),
                _replacing(name, lambda X, d=back, step=step: X.roll(step, d)),
            )


def _axis_name(axes: list, place: int) -> str:
    """An axis by its name; of two axes with one name, also whether it is the first or the second."""
    axis, place = axes[place], place % len(axes)
    return axis if axes.count(axis) == 1 else f"the {'first' if axis not in axes[:place] else 'second'} {axis}"


def _first_row(X: Tensor) -> Tensor:
    return X[:1].expand_as(X)


def _all_at_once(names: list, shapes: dict) -> Iterator[tuple]:
    """Changes that repeat the batch's first row in all batched inputs but one."""
    batched = [name for name in names if shapes[name][0] in ("B", "*B")]
    for own in batched if len(batched) > 2 else ():
        others = [name for name in batched if name != own]
        listed = " and ".join([", ".join(others[:-1]), others[-1]])

        def change(values, others=others):
            return {**values, **{name: _first_row(values[name]) for name in others}}

        yield f"{listed} of the first", _as_if(f"every row of the batch had {listed} of the first"), change


def _result_changes(exercise: declaration.Exercise) -> Iterator[tuple]:
    for place, (name, shape, kind) in enumerate(zip(exercise.outputs, exercise.result_shapes, exercise.result_types)):
        axes = shape.split()
        if kind == "bool":
            yield (
                f"{name} inverted",
                f"{name} is inverted: it is True where it should be False.",
                _changing_result(place, torch.logical_not),
            )
        if kind == "int":
            sentence = (
                f"{name} is what is left of the right numbers after a division by 256: is it kept in uint8 on the way?"
            )
            yield f"{name} modulo 256", sentence, _changing_result(place, lambda Y: Y % 256)
        if kind == "float":
            yield from _real_result_changes(name, place, axes)
            for argument, argument_shape in exercise.input_shapes.items():
                if argument_shape == shape:
                    yield from _residual_changes(name, place, argument)
        for back in range(-len(axes), 0):
            axis = _axis_name(axes, back)
            if axis.startswith("*") or axis.isdigit():
                continue
            sentence = f"{name} is right, but in reverse order along {axis}."
            yield f"{name} reversed along {axis}", sentence, _changing_result(place, lambda Y, d=back: Y.flip(d))
            for label, step in (("late", 1), ("early", -1)):
                sentence = f"{name} is right, but each entry stands one place too {label} along {axis}."
                yield (
                    f"{name} one too {label} along {axis}",
                    sentence,
                    _changing_result(place, lambda Y, d=back, s=step: Y.roll(s, d)),
                )


def _real_result_changes(name: str, place: int, axes: list) -> Iterator[tuple]:
    yield f"{name} negated", f"{name} has the opposite sign.", _changing_result(place, lambda Y: -Y)
    sentence = f"{name} is what is asked for after one more softmax over its last axis."
    if axes:
        yield f"{name} through a softmax", sentence, _changing_result(place, lambda Y: Y.softmax(dim=-1))
    yield (
        f"{name} without negatives",
        f"{name} is right, but for its negative numbers, which have become 0.",
        _changing_result(place, torch.relu),
    )
    yield f"{name} through a tanh", f"{name} is the tanh of what is asked for.", _changing_result(place, torch.tanh)
    for label, function in (("GELU", F.gelu), ("SiLU", F.silu), ("a sigmoid", torch.sigmoid)):
        yield (
            f"{name} through {label}",
            f"{name} is what {label} makes of what is asked for.",
            _changing_result(place, function),
        )
    yield f"log of {name}", f"{name} is the logarithm of what is asked for.", _changing_result(place, torch.log)
    yield f"exp of {name}", f"{name} is the exponential of what is asked for.", _changing_result(place, torch.exp)
    yield f"square of {name}", f"{name} is the square of what is asked for.", _changing_result(place, torch.square)
    yield (
        f"one minus {name}",
        f"Each number of {name} is 1 minus what is asked for.",
        _changing_result(place, lambda Y: 1 - Y),
    )
    yield (
        f"one over {name}",
        f"Each number of {name} is 1 divided by what is asked for.",
        _changing_result(place, torch.reciprocal),
    )
    yield f"root of {name}", f"{name} is the square root of what is asked for.", _changing_result(place, torch.sqrt)
    sentence = f"{name} is 1/ln 2 times what is asked for: is the logarithm to the base 2, not e?"
    yield f"{name} in bits", sentence, _changing_result(place, lambda Y: Y / math.log(2))


def _residual_changes(name: str, place: int, argument: str) -> Iterator[tuple]:
    yield f"{argument} added to {name}", f"{name} has {argument} added to it.", _adding_argument(place, argument, 1)
    yield (
        f"{argument} taken from {name}",
        f"{name} has {argument} taken from it.",
        _adding_argument(place, argument, -1),
    )


def _changing_result(place: int, change: Callable) -> Callable:
    def changed(results: list, arguments: dict) -> list:
        return [change(result) if index == place else result for index, result in enumerate(results)]

    return changed


def _adding_argument(place: int, name: str, sign: int) -> Callable:
    def changed(results: list, arguments: dict) -> list:
        return [result + sign * arguments[name] if index == place else result for index, result in enumerate(results)]

    return changed
