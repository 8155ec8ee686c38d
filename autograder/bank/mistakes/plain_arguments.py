"""Mistakes with plain numbers and flags that nobody declared: one more or less, inverted, or an example's value throughout."""

from collections.abc import Callable, Iterator

from autograder.bank import declaration

NUMBERS = ("number", "real")


def of_plain_arguments(exercise: declaration.Exercise) -> Iterator[tuple[str, str, str, Callable]]:
    """(name, what would be so, a question, the change of all arguments by name) for arguments that are no tensors."""
    for name, kind in exercise.input_types.items():
        if kind == "number":
            yield f"{name} one more", f"{name} were one larger", "", _changing_argument(name, lambda number: number + 1)
            yield (
                f"{name} one less",
                f"{name} were one smaller",
                "",
                _changing_argument(name, lambda number: number - 1),
            )
        if kind == "flag":
            inverted = f"{name} were inverted, True where it is False and False where it is True"
            yield f"{name} inverted", inverted, "", _changing_argument(name, lambda flag: not flag)
            for value in (True, False):
                what = f"{name} were {value}, whatever is given"
                yield f"{name} always {value}", what, f"Is {name} used?", _fixing_arguments({name: value})
    yield from _example_values(exercise)


def _changing_argument(name: str, change: Callable) -> Callable:
    def changed(values: dict) -> dict:
        if values.get(name) is None:
            raise ValueError(f"there is no {name} to be changed")
        return {**values, name: change(values[name])}

    return changed


def _example_values(exercise: declaration.Exercise) -> Iterator[tuple]:
    """Arguments fixed to the numbers of one of the exercise's examples, whatever is passed: one number, or all of them."""
    plain = [name for name, kind in exercise.input_types.items() if kind in NUMBERS]
    shown = [case.values for case in exercise.cases if not case.edge]
    numbers_by_case = [{name: values[name] for name in plain if values.get(name) is not None} for values in shown]
    fixed = [{name: number} for values in numbers_by_case for name, number in values.items()] + [
        numbers for numbers in numbers_by_case if len(numbers) > 1
    ]
    for values in fixed:
        what = " and ".join(f"{name} were {number}" for name, number in values.items())
        question = "Is this number" if len(values) == 1 else "Are these numbers"
        question += " written into the code, or is something kept from an earlier call?"
        yield what, f"{what}, whatever is given", question, _fixing_arguments(values)


def _fixing_arguments(fixed: dict) -> Callable:
    return lambda values: {**values, **fixed}
