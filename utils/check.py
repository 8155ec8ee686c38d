"""Self-checks for a notebook: `check(my_function)` says what holds, or what was misunderstood."""

import sys
from functools import cache
from pathlib import Path

from utils.checking.concluding import examine as examine_on_all
from utils.checking.judging.verdict import Result
from utils.checking.observing.surroundings import undisturbed
from utils.checking.packs.packed_exercise import unpack_exercise
from utils.checking.packs.shipped import MALFORMED, index, pack
from utils.checking.records import FrozenExercise
from utils.device import computes, device
from utils.progress import record

STOPPED = (
    "  An earlier error, such as an index out of range, ended what {} can do for this kernel: your code was examined on\n"
    "  the CPU alone. Restart the kernel to use the GPU again."
)


class CheckFailed(Exception):
    """A check that did not hold. A notebook shows its message alone, without a traceback."""

    def _render_traceback_(self):
        return str(self).splitlines()


def check(student_object) -> None:
    """Examines a function or class of an assignment on the checks that are shipped with the course.

    The exercise is found by the name under which the notebook holds the object.

    Raises:
        CheckFailed: a property does not hold, or the object belongs to no exercise; the message says what to mend.
    """
    exercise = _exercise_of(student_object, sys._getframe(1).f_globals)
    where = device()
    with undisturbed():
        result = examine_on_all(exercise, student_object, where)
    not_kept = record(exercise.unit, result)
    stopped = "" if computes(where) else STOPPED.format(where.type)
    message = "\n".join(filter(None, (result.message, stopped, not_kept)))
    if not result.passed:
        raise CheckFailed(message)
    print(message)


def examine(name: str, student_object) -> Result:
    """What the self-check of an exercise finds in an object, without a word and without noting points.

    Raises:
        CheckFailed: the shipped checks cannot be read.
        KeyError: there is no exercise of this name.
    """
    with undisturbed():
        return examine_on_all(_exercise(name), student_object, device())


def _exercise_of(student_object, namespace: dict) -> FrozenExercise:
    packs, unreadable = index()
    name, kind = exercise_name(student_object, packs, namespace), type(student_object).__name__
    if kind in packs:
        raise CheckFailed(f"✗ {kind} · this is an object of the class\n  check takes the class itself: check({kind}).")
    if name not in packs:
        raise CheckFailed(
            f"✗ check({name or kind}) · no exercise has this name\n"
            "  check takes the function or class that an exercise asks for, by its own name, without\n"
            "  calling it: check(my_function), not check(my_function(x))."
            + "".join(
                f"\n  Or is it one of those in {file.name}? That file is damaged: download the course again."
                for file in unreadable
            )
        )
    return _exercise(name)


def exercise_name(student_object, known, namespace: dict) -> str | None:
    """The name among `known` under which a notebook's namespace holds the object, else the object's own name."""
    bound = [name for name in known if name in namespace and namespace[name] is student_object]
    return bound[0] if bound else getattr(student_object, "__name__", None)


def all_exercises() -> dict[str, FrozenExercise]:
    """Every exercise whose self-checks are shipped, by name."""
    packs, unreadable = index()
    if unreadable:
        raise _damaged(unreadable[0])
    return {name: _exercise(name) for name in packs}


@cache
def _exercise(name: str) -> FrozenExercise:
    file = index()[0][name]
    try:
        return unpack_exercise(pack(file)[name])
    except (OSError, *MALFORMED):
        raise _damaged(file) from None


def _damaged(file: Path) -> CheckFailed:
    return CheckFailed(
        f"✗ the checks in {file.name} cannot be read\n"
        "  They do not fit the rest of `utils`: parts of the course are of different releases, or\n"
        "  a file is damaged. Download the course again; your notebooks can stay as they are."
    )
