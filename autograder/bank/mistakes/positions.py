"""Mistakes of position that nobody declared: the first or the last left out, or taken twice; each row taken by itself."""

from collections.abc import Callable, Iterator
from itertools import product

import torch

from autograder.bank import declaration
from utils.checking.explaining.places import POSITIONS


def of_positions(exercise: declaration.Exercise) -> Iterator[tuple[str, str, Callable]]:
    """(name, what would be so, `run_changed`), as `autograder.bank.mistakes.counterfactuals.made_of` takes it."""
    yield from _end_changes(exercise)
    yield from _row_by_row(exercise)


def _end_changes(exercise: declaration.Exercise) -> Iterator[tuple]:
    """Along each axis of positions: the first or the last left out, where results get 0; or the first or the last taken twice.

    With a plain number among the inputs, such as the size of a block, also as many positions as this number says.
    """
    axes = dict.fromkeys(axis for shape in exercise.input_shapes.values() for axis in shape.split())
    returned = " ".join(exercise.result_shapes).split()
    numbers = [name for name, kind in exercise.input_types.items() if kind == "number" and name not in exercise.lengths]
    for axis, which, count in product(filter(_is_of_positions, axes), ("first", "last"), ("", *numbers)):
        positions = f"the {which} {f'`{count}` positions' if count else 'position'} along {axis} were"
        label = f"{which} {count}".strip()
        yield (
            f"{axis} without its {label}",
            f"{positions} not there",
            _changing_ends(exercise, axis, which, count),
        )
        if axis not in returned:
            yield (
                f"{axis} with its {label} twice",
                f"{positions} there twice",
                _changing_ends(exercise, axis, which, count, True),
            )


def _row_by_row(exercise: declaration.Exercise) -> Iterator[tuple]:
    """For a result that is a single number: its mean or sum where each row, or each position, is taken by itself."""
    if exercise.result_shapes != [""]:
        return
    inputs = {name: shape.split() for name, shape in exercise.input_shapes.items()}
    for axis in dict.fromkeys(
        axis for axes in inputs.values() for axis in axes if axis == "B" or _is_of_positions(axis)
    ):
        for label, together in (("averaged", torch.Tensor.nanmean), ("summed", torch.Tensor.nansum)):
            what = f"each index along {axis} were taken by itself, and what comes out {label}"
            yield f"each {axis} by itself, {label}", what, _each_by_itself(exercise, inputs, axis, together)


def _each_by_itself(exercise: declaration.Exercise, inputs: dict, axis: str, together: Callable) -> Callable:
    def run_changed(run, arguments, named):
        inputs_by_name = exercise.signature.bind(*arguments, **named).arguments
        along = {name: axes.index(axis) for name, axes in inputs.items() if axis in axes}
        pieces = zip(*(inputs_by_name[name].split(1, dim) for name, dim in along.items()))
        return together(torch.stack([run(**{**inputs_by_name, **dict(zip(along, piece))}) for piece in pieces]))

    return run_changed


def _is_of_positions(axis: str) -> bool:
    return axis[0] in POSITIONS and "*" not in axis


def _changing_ends(exercise: declaration.Exercise, axis: str, which: str, count: str, twice: bool = False) -> Callable:
    """Runs a form on inputs without their first or last positions along an axis, one or `count`, or with these twice.

    The last `count` are the remainder when the axis is cut into pieces of that size.
    """
    inputs = {name: shape.split() for name, shape in exercise.input_shapes.items() if axis in shape.split()}
    results = [shape.split() for shape in exercise.result_shapes]

    def cut(X, axes, size):
        dim = axes.index(axis) - len(axes)
        end = size if which == "first" else (X.shape[dim] - 1) // size * size
        parts = [X.narrow(dim, 0, end), X.narrow(dim, end, X.shape[dim] - end)]
        if twice:
            return torch.cat([parts[0], *parts] if which == "first" else [*parts, parts[1]], dim)
        return parts[which == "first"]

    def filled(Y, axes, size):
        if axis not in axes:
            return Y
        missing = torch.zeros_like(Y.narrow(axes.index(axis) - len(axes), 0, size))
        return torch.cat([missing, Y] if which == "first" else [Y, missing], axes.index(axis) - len(axes))

    def run_changed(run, arguments, named):
        bound = exercise.signature.bind(*arguments, **named)
        bound.apply_defaults()
        arguments_by_name = {**bound.arguments}
        size = arguments_by_name[count] if count else 1
        changed = {
            name: cut(arguments_by_name[name], axes, size)
            for name, axes in inputs.items()
            if arguments_by_name[name] is not None
        }
        result = run(**{**arguments_by_name, **changed})
        several = result if isinstance(result, tuple) else (result,)
        whole = tuple(filled(Y, axes, size) for Y, axes in zip(several, results))
        return whole if isinstance(result, tuple) else whole[0]

    return run_changed
