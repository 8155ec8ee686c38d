"""Which of a notebook's exercises are examined again with only the cells that they need, and why."""

import re
from dataclasses import dataclass, replace

from autograder.grading.cause import lacking
from autograder.grading.examined import Came, Examined
from autograder.grading.needs import Needs
from autograder.intake.guard import guarded
from autograder.sandbox.job import TIMEOUT, JobCell
from utils.checking.records import Observation

UNREACHED, ENDED, TAMPERED, ABSENT, MEMORY, DISTURBED = (
    "unreached",
    "ended",
    "tampered",
    "absent",
    "memory",
    "disturbed",
)
_NOTES = {
    UNREACHED: "Time ran out before the check of {}",
    ENDED: "The notebook's process ended before the check of {}",
    TAMPERED: "A cell changes the code that examines {}",
    ABSENT: "Something was not there at the check of {}",
    MEMORY: "Other cells left too little memory for {}",
    DISTURBED: "Other cells give a new meaning to a name that is used in {}",
}
_NO_MEMORY = re.compile(r"can't allocate memory|not enough memory|[Cc]annot allocate memory")


@dataclass(frozen=True)
class Again:
    """A second job: its cells, for each exercise why it is examined again, and the imports that the notebook lacks for it."""

    cells: list[JobCell]
    reasons: dict[str, str]
    imports: dict[str, list[str]]


@guarded(lambda *_: None)
def planned(cells: list[JobCell], first: list[str], came: Came) -> Again | None:
    """A second job for exercises that may come through by themselves; None where there are none.

    An answer that is merely wrong is not among them, so that a class of wrong answers is graded no slower.
    """
    failed = [one.exercise for one in came.examined if not one.result.passed and one.exercise not in came.ended]
    if not failed:
        return None
    needs = Needs(cells, first)
    reasons = {name: reason for name in failed if (reason := _reason(needs, name, came.run.how, came.seen.get(name)))}
    if not reasons:
        return None
    plan = needs.plan([*reasons])
    return Again(plan.cells, reasons, plan.imports)


def better(came: Came, alone: Came, again: Again) -> Came:
    """What counts of two examinations: by exercise the one with more points, or that says something of the answer itself."""
    second = {one.exercise: one for one in alone.examined}
    chosen = {
        one.exercise: second[one.exercise]
        for one in came.examined
        if one.exercise in second and _is_better(second[one.exercise], one, alone.seen, came.seen)
    }
    noted = {name: replace(one, note=_note(name, [*chosen], again)) for name, one in chosen.items()}
    seen = {**came.seen, **{name: alone.seen[name] for name in chosen if name in alone.seen}}
    return replace(came, examined=[noted.get(one.exercise, one) for one in came.examined], seen=seen)


def _is_better(alone: Examined, first: Examined, seen_alone: dict, seen_first: dict) -> bool:
    a, b = alone.result, first.result
    return (a.passed, a.points, _is_seen(seen_alone.get(a.exercise))) > (
        b.passed,
        b.points,
        _is_seen(seen_first.get(b.exercise)),
    )


def _reason(needs: Needs, name: str, how: str, seen: list[Observation] | None) -> str:
    if seen is None:
        return UNREACHED if how == TIMEOUT else ENDED
    failures = [one.failure for one in seen if one.failure]
    if any(one.stage == "tampered" for one in failures):
        return TAMPERED
    if any(one.stage == "missing" for one in failures):
        return ABSENT if needs.can_be_had(name) else ""
    if any(map(needs.can_be_had, filter(None, map(lacking, failures)))):
        return ABSENT
    if any(one.type == "MemoryError" or _NO_MEMORY.search(one.text) for one in failures):
        return MEMORY
    return DISTURBED if needs.is_disturbed(name) else ""


def _note(name: str, names: list[str], again: Again) -> str:
    """What is told of an exercise that came through by itself, in one sentence with others of which the same is true."""
    reason, lines = again.reasons[name], again.imports[name]
    alike = [one for one in names if (again.reasons[one], again.imports[one]) == (reason, lines)]
    which = f"{', '.join(alike[:-1])} and {alike[-1]}" if alike[1:] else name
    if lines and reason == ABSENT:
        return f"The notebook lacks {' and '.join(f'`{line}`' for line in lines)}, needed in {which}; it was added."
    each = "each was" if alike[1:] else "it was"
    return f"{_NOTES[reason].format(which)}; {each} examined by itself, with only the cells that it needs."


def _is_seen(seen: list[Observation] | None) -> bool:
    """Whether an exercise was examined at all: it was there and reached, and nobody had changed what examines it."""
    gone = ("missing", "tampered")
    return seen is not None and not any(one.failure and one.failure.stage in gone for one in seen)
