"""Which of a notebook's exercises are examined again with only the cells that they need, and why."""

import re
from dataclasses import dataclass, replace

from autograder.grading.cause import lacking
from autograder.grading.examined import Came, Examined
from autograder.grading.needs import Needs
from autograder.intake.guard import SECONDS, guarded
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
    """A second job: its cells, and for each exercise why it is examined again and which imports the notebook lacks for it."""

    cells: list[JobCell]
    reasons: dict[str, str]
    imports: dict[str, list[str]]


@guarded(lambda *_: None, SECONDS)
def planned(cells: list[JobCell], first: list[str], came: Came) -> Again | None:
    """A second job for exercises that may come through by themselves; None where there are none.

    An exercise whose answer is merely wrong is not examined again, so that a class of wrong answers is graded no slower.
    """
    failed = [
        judged.exercise for judged in came.examined if not judged.result.passed and judged.exercise not in came.ended
    ]
    if not failed:
        return None
    needs = Needs(cells, first)
    reasons = {name: reason for name in failed if (reason := _reason(needs, name, came.run.how, came.seen.get(name)))}
    if not reasons:
        return None
    plan = needs.plan([*reasons])
    return Again(plan.cells, reasons, plan.imports)


def better(came: Came, alone: Came, again: Again) -> Came:
    """What counts of two examinations.

    For each exercise that is the examination with more points, or that says something of the answer itself.
    """
    second = {judged.exercise: judged for judged in alone.examined}
    chosen = {
        judged.exercise: second[judged.exercise]
        for judged in came.examined
        if judged.exercise in second and _is_better(second[judged.exercise], judged, alone.seen, came.seen)
    }
    noted = {name: replace(judged, note=_note(name, [*chosen], again)) for name, judged in chosen.items()}
    observations = {**came.seen, **{name: alone.seen[name] for name in chosen if name in alone.seen}}
    return replace(came, examined=[noted.get(judged.exercise, judged) for judged in came.examined], seen=observations)


def _is_better(alone: Examined, first: Examined, observations_alone: dict, observations_first: dict) -> bool:
    a, b = alone.result, first.result
    return (a.passed, a.points, _was_examined(observations_alone.get(a.exercise))) > (
        b.passed,
        b.points,
        _was_examined(observations_first.get(b.exercise)),
    )


def _reason(needs: Needs, name: str, how: str, observations: list[Observation] | None) -> str:
    if observations is None:
        return UNREACHED if how == TIMEOUT else ENDED
    failures = [observation.failure for observation in observations if observation.failure]
    if any(failure.stage == "tampered" for failure in failures):
        return TAMPERED
    if any(failure.stage == "missing" for failure in failures):
        return ABSENT if needs.can_be_had(name) else ""
    if any(map(needs.can_be_had, filter(None, map(lacking, failures)))):
        return ABSENT
    if any(failure.type == "MemoryError" or _NO_MEMORY.search(failure.text) for failure in failures):
        return MEMORY
    return DISTURBED if needs.is_disturbed(name) else ""


def _note(name: str, names: list[str], again: Again) -> str:
    """A sentence on an exercise that came through by itself, together with the others that did so for the same reason."""
    reason, lines = again.reasons[name], again.imports[name]
    alike = [other for other in names if (again.reasons[other], again.imports[other]) == (reason, lines)]
    which = f"{', '.join(alike[:-1])} and {alike[-1]}" if alike[1:] else name
    if lines and reason == ABSENT:
        return f"The notebook lacks {' and '.join(f'`{line}`' for line in lines)}, needed in {which}; it was added."
    each = "each was" if alike[1:] else "it was"
    return f"{_NOTES[reason].format(which)}; {each} examined by itself, with only the cells that it needs."


def _was_examined(observations: list[Observation] | None) -> bool:
    """Whether an exercise was examined at all: it was there and reached, and nobody had changed what examines it."""
    gone = ("missing", "tampered")
    return observations is not None and not any(
        observation.failure and observation.failure.stage in gone for observation in observations
    )
