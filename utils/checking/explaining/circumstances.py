"""Finds circumstances under which code fails: what is true of every case that fails, and of none that passes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from utils.checking.messages.facts import circumstances as words
from utils.checking.records import DrawnCase, is_real

LARGE = 80.0  # exp of more overflows single precision soon
ENOUGH = 2  # so many cases must fail, and so many pass, before a difference between them counts
FEW = 3  # at most so many sizes may separate failed from passed cases: of more nobody can say which one it is


@dataclass(frozen=True)
class Circumstance:
    """What may or may not be true of a case.

    Attributes:
        words: the circumstance in words for a student: "there is no batch axis".
        may_go_unsaid: it may be true of a case that does not list it, since the case has no name for a size.
        of_an_argument: it is the value of an argument.
    """

    words: str
    may_go_unsaid: bool = field(default=False, compare=False)
    of_an_argument: bool = field(default=False, compare=False)


def circumstances(case: DrawnCase) -> dict[Circumstance, bool]:
    """All circumstances that may be true of a case, and whether they are."""
    return {
        **dict(_axis_circumstances(case)),
        **dict(_truth_circumstances(case)),
        **dict(_number_circumstances(case)),
    }


def _axis_circumstances(case: DrawnCase) -> Iterator[tuple[Circumstance, bool]]:
    """Circumstances of axes: how many batch axes there are, and which sizes are 1."""
    batch = max((sum(axis.startswith("B") for axis in shape.split()) for shape in case.symbols.values()), default=0)
    yield Circumstance(words.no_batch_axis()), batch == 0
    yield Circumstance(words.several_batch_axes()), batch > 1
    yield Circumstance(words.another_number_of_batch_axes()), batch != 1
    for axis, size in case.sizes.items():
        yield Circumstance(words.size_is_one(axis), may_go_unsaid=True), size == 1
    yield Circumstance(words.some_size_is_one()), 1 in case.sizes.values()


def _truth_circumstances(case: DrawnCase) -> Iterator[tuple[Circumstance, bool]]:
    """Circumstances of truth values: what masks hold, and which arguments are True, False or None."""
    for name, value in case.inputs.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "b" and value.ndim:
            yield Circumstance(words.has_empty_row(name)), bool((~value).all(axis=-1).any())
            yield Circumstance(words.has_false(name)), not value.all()
        if value is None or isinstance(value, bool):
            yield Circumstance(words.argument_is(name, value), of_an_argument=True), True


def _number_circumstances(case: DrawnCase) -> Iterator[tuple[Circumstance, bool]]:
    """Circumstances of numbers: which integers are smaller than which sizes, and whether there are large numbers."""
    for name, number in case.given_sizes.items():
        if name not in case.sizes:
            for axis, size in case.sizes.items():
                yield Circumstance(words.number_is_smaller(name, axis)), number < size
    if any(is_real(value) for value in case.inputs.values()):  # of several inputs nobody can say which it is
        yield Circumstance(words.has_large_numbers(bound=LARGE)), has_large_numbers(case)


def has_large_numbers(case: DrawnCase) -> bool:
    """Whether some input has a number, not an infinite one, of which exp may be too large."""
    reals = [value for value in case.inputs.values() if is_real(value)]
    return any(bool((np.abs(value[np.isfinite(value)]) > LARGE).any()) for value in reals)


def where(failed: list[DrawnCase], passed: list[DrawnCase]) -> Circumstance | None:
    """The first circumstance that is true of every failed case and of no passed one; None where there is none."""
    ordinary = [case for case in passed if 1 not in case.sizes.values()]  # where a size is 1, much is right by luck
    if len(failed) < ENOUGH or len(ordinary) < ENOUGH:
        return None
    of_failed, of_passed = [circumstances(case) for case in failed], [circumstances(case) for case in passed]
    for circumstance in of_failed[0]:
        holds = all(known_of_case.get(circumstance) for known_of_case in of_failed)
        if holds and not any(
            known_of_case.get(circumstance, circumstance.may_go_unsaid) for known_of_case in of_passed
        ):
            return circumstance
    return _sizes_beyond([case.given_sizes for case in failed], [case.given_sizes for case in passed], len(ordinary))


def _sizes_beyond(failed: list[dict[str, int]], passed: list[dict[str, int]], ordinary: int) -> Circumstance | None:
    """The axes whose sizes are larger in every failed case than in any passed one, if there are some and not too many."""
    axes = [axis for axis in failed[0] if _separates_cases(axis, failed, passed, ordinary)]
    axes = [axis for axis in axes if not any(other != axis and other in axis.split("*") for other in axes)]
    return Circumstance(words.sizes_are_large(axes)) if 0 < len(axes) <= FEW else None


def _separates_cases(axis: str, failed: list[dict[str, int]], passed: list[dict[str, int]], ordinary: int) -> bool:
    """Whether a size is larger in each case that fails than in any that passes."""
    small, large = ([sizes[axis] for sizes in sizes_by_case if axis in sizes] for sizes_by_case in (passed, failed))
    are_enough = len(small) >= ordinary and len(large) == len(failed)
    return are_enough and len(set(small)) > ENOUGH and max(small) < min(large)
