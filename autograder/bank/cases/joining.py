"""Joins cases for a first look at an answer: other ways to pass numbers are tried on cases that have other numbers anyway."""

from collections.abc import Sequence
from dataclasses import fields, replace

from utils.checking.conditions import ConditionName
from utils.checking.records import DrawnCase

WAYS = ("layout", "precision", "training", "by")  # how numbers are passed
_DEFAULTS = {field.name: field.default for field in fields(DrawnCase)}
_SAME = _DEFAULTS.keys() - {*WAYS, "inputs", "weights", "property", "condition", "once", "gradient", "bounds"}
# what a case has by default where its author declared it and its numbers are neither large nor small on purpose
_ORDINARY = ("condition", "extreme", "coarse", "single", "elsewhere", "raises", "rows", "starts")


def joined(cases: Sequence[DrawnCase]) -> list[DrawnCase]:
    """Fewer cases, on which an answer passes, in all likelihood, only if it passes on each of `cases`.

    A case that passes the numbers of an earlier one in another way is left out; a plain case with numbers of its own is passed in
    that way instead. The first case of each part is called several times, others only where they ask for a share of rows or bound
    what is made on the way. An answer that fails here is to be examined on all cases, one by one: they alone tell what is wrong.
    """
    first: dict[str, DrawnCase] = {}
    bases: dict[tuple, DrawnCase] = {}
    carriers: list[DrawnCase] = []
    riders: list[tuple[DrawnCase, dict]] = []
    for case in cases:
        base, is_first = bases.setdefault(_numbers(case), case), first.setdefault(case.part, case) is case
        if base is not case and all(getattr(case, name) == getattr(base, name) for name in _SAME):
            ways = {name: getattr(case, name) for name in WAYS if getattr(case, name) != getattr(base, name)}
            riders.append((case, ways))
        else:
            carriers.append(case if is_first or case.rows or case.bounds else replace(case, once=True))
    loads: list[list[tuple[DrawnCase, dict]]] = [[] for _ in carriers]
    for rider, ways in riders:
        fitting = [place for place, carrier in enumerate(carriers) if _can_carry(carrier, loads[place], rider, ways)]
        if not fitting:
            carriers.append(rider)
            loads.append([])
        elif ways:
            loads[min(fitting, key=lambda place: (len(loads[place]), -place))].append((rider, ways))
    return [_carrying(carrier, load) for carrier, load in zip(carriers, loads)]


def _numbers(case: DrawnCase) -> tuple:
    """What tells a case's numbers from those of others; cases that pass the same numbers hold the same objects."""
    inputs = tuple((name, id(value)) for name, value in case.inputs.items())
    return case.part, inputs, tuple(map(id, case.weights.values()))


def _can_carry(carrier: DrawnCase, load: list, rider: DrawnCase, ways: dict) -> bool:
    """Whether a case's own numbers can be passed in these ways, and would show what goes wrong then.

    A rider that changes nothing of how numbers are passed asks for gradients, and is carried by whatever asks for the same ones.
    """
    if carrier.part != rider.part or not carrier.once or carrier.bounds:
        return False
    if any(getattr(carrier, name) != _DEFAULTS[name] for name in _ORDINARY):
        return False
    if carrier.inputs.keys() != rider.inputs.keys() or carrier.symbols != rider.symbols:
        return False
    different_sizes = [len(set(case.given_sizes.values())) for case in (carrier, rider)]
    if min(carrier.sizes.values(), default=2) < 2 or different_sizes[0] < different_sizes[1]:
        return False
    taken = {name for _, others in load for name in others}
    is_free = all(name not in taken and getattr(carrier, name) == _DEFAULTS[name] for name in ways)
    return is_free if ways else carrier.gradient == rider.gradient


def _carrying(carrier: DrawnCase, load: list[tuple[DrawnCase, dict]]) -> DrawnCase:
    """The case, passed as its riders are: what fails here alone is a matter of them, and not of what the exercise teaches."""
    if not load:
        return carrier
    ways = {name: value for _, others in load for name, value in others.items()}
    words = [rider.property.partition(":")[0] for rider, _ in load]
    return replace(carrier, **ways, property=", ".join([*words, carrier.property]), condition=ConditionName.JOINT)
