"""Joins cases for a first look at an answer: other ways to pass numbers are tried on cases that have other numbers anyway.

It was measured which wrong answers then pass that all cases catch: none, of all answers of the banks, on four draws. Two things
were tried and hid some: large and tiny numbers on cases that examine sizes, and a single draw where no gradients are compared.
"""

from collections.abc import Sequence
from dataclasses import fields, replace

from utils.checking.conditions import ConditionName
from utils.checking.records import DrawnCase

WAYS = ("layout", "precision", "training", "by")  # how numbers are passed
_WHATEVER_SIZES = {"precision", "training"}  # ways that go wrong, if they do, for all sizes alike
_DEFAULTS = {field.name: field.default for field in fields(DrawnCase)}
_SAME = _DEFAULTS.keys() - {*WAYS, "inputs", "weights", "property", "condition", "once", "gradient", "bounds"}
# what a case has by default where its numbers are neither large nor small on purpose
_ORDINARY = ("extreme", "coarse", "single", "elsewhere", "raises", "rows", "starts")
# the conditions of cases that may carry others: what a layout, a type or a mode does wrong shows on their numbers, too
_CARRYING = ("", ConditionName.BATCHES, ConditionName.SCALE, ConditionName.SPREAD, ConditionName.ZERO)
_DECLARED = ("", ConditionName.EDGE)  # the conditions of cases that their author declared


def joined(cases: Sequence[DrawnCase]) -> list[DrawnCase]:
    """Fewer cases, on which an answer passes, in all likelihood, only if it passes on each of `cases`.

    A case that passes the numbers of an earlier one in another way is left out; a plain case with numbers of its own is passed in
    that way instead. A declared case is left out where its second draw asks for gradients, too: what is smooth is wrong on one
    draw as on another. The first case of each part is called several times, others only where they ask for a share of rows or
    bound what is made on the way. An answer that fails here is to be examined on all cases, one by one: they alone tell what is
    wrong.
    """
    first: dict[str, DrawnCase] = {}
    bases: dict[tuple, DrawnCase] = {}
    carriers: list[DrawnCase] = []
    riders: list[tuple[DrawnCase, dict]] = []
    second = [case for case in cases if case.once and case.gradient and case.condition in _DECLARED]
    drawn_again = {(case.part, case.property) for case in second}
    for case in cases:
        base, is_first = bases.setdefault(_numbers(case), case), first.setdefault(case.part, case) is case
        if base is not case and all(getattr(case, name) == getattr(base, name) for name in _SAME):
            ways = {name: getattr(case, name) for name in WAYS if getattr(case, name) != getattr(base, name)}
            riders.append((case, ways))
        elif is_first or case.rows or case.bounds:
            carriers.append(case)
        elif case.once or (case.part, case.property) not in drawn_again:
            carriers.append(replace(case, once=True))
    loads: list[list[tuple[DrawnCase, dict]]] = [[] for _ in carriers]
    for rider, ways in riders:
        fitting = [place for place, carrier in enumerate(carriers) if _can_carry(carrier, loads[place], rider, ways)]
        if not fitting:
            carriers.append(rider)
            loads.append([])
        elif ways:
            loads[min(fitting, key=lambda place: _reluctance(carriers[place], loads[place], rider))].append(
                (rider, ways)
            )
    return [_carrying(carrier, load) for carrier, load in zip(carriers, loads)]


def _numbers(case: DrawnCase) -> tuple:
    """What tells a case's numbers from those of others; cases that pass the same numbers hold the same objects."""
    inputs = tuple((name, id(value)) for name, value in case.inputs.items())
    return case.part, inputs, tuple(map(id, case.weights.values()))


def _can_carry(carrier: DrawnCase, load: list, rider: DrawnCase, ways: dict) -> bool:
    """Whether a case's own numbers can be passed in these ways, and would show what goes wrong then.

    A rider that changes nothing of how numbers are passed asks for gradients, and is carried by whatever asks for the same ones.
    """
    if carrier.part != rider.part or not carrier.once or carrier.bounds or carrier.condition not in _CARRYING:
        return False
    if any(getattr(carrier, name) != _DEFAULTS[name] for name in _ORDINARY):
        return False
    if carrier.inputs.keys() != rider.inputs.keys() or min(carrier.sizes.values(), default=2) < 2:
        return False
    if not (ways.keys() <= _WHATEVER_SIZES or _has_different_sizes(carrier, rider)):
        return False
    if (not ways or "layout" in ways) and not _has_all_axes(carrier, rider):
        return False
    taken = {name for _, others in load for name in others}
    is_free = all(name not in taken and getattr(carrier, name) == _DEFAULTS[name] for name in ways)
    return is_free if ways else carrier.gradient == rider.gradient


def _has_different_sizes(carrier: DrawnCase, rider: DrawnCase) -> bool:
    """Whether the sizes of a case, and whole numbers among its inputs, are all different, or as many as those of another one."""
    given, others = (list(case.given_sizes.values()) for case in (carrier, rider))
    return len(set(given)) >= min(len(given), len(set(others)))


def _has_all_axes(carrier: DrawnCase, rider: DrawnCase) -> bool:
    """Whether each array of a case has at least as many axes as that of another one."""
    return all(len(carrier.symbols.get(name, "").split()) >= len(axes.split()) for name, axes in rider.symbols.items())


def _reluctance(carrier: DrawnCase, load: list, rider: DrawnCase) -> tuple[int, bool]:
    """The less a case carries, and the more alike its arrays are, the rather it takes another one."""
    return len(load), carrier.symbols != rider.symbols


def _carrying(carrier: DrawnCase, load: list[tuple[DrawnCase, dict]]) -> DrawnCase:
    """The case, passed as its riders are: what fails here alone is a matter of them, and not of what the exercise teaches."""
    if not load:
        return carrier
    ways = {name: value for _, others in load for name, value in others.items()}
    words = [rider.property.partition(":")[0] for rider, _ in load]
    return replace(carrier, **ways, property=", ".join([*words, carrier.property]), condition=ConditionName.JOINT)
