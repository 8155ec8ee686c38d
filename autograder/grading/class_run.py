"""Grades a class: finds submissions, hands them to workers, keeps what comes back, and enters it into the gradebook."""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass

import nbformat
from tqdm import tqdm

from autograder import settings
from autograder.gradebook import store
from autograder.gradebook.deadlines import NOTHING, deadlines
from autograder.gradebook.outcomes import Outcome, Record
from autograder.grading.earlier_marks import EarlierMarks
from autograder.grading.fingerprint import fingerprint
from autograder.grading.journal import Journal, journal_file, load_outcomes
from autograder.grading.summary import BY_HAND
from autograder.grading.task import task
from autograder.grading.workers.handing_out import grade_all
from autograder.intake.marked_cells import with_plain_cells
from autograder.intake.places import listed
from autograder.intake.roster import Class, find_all
from autograder.intake.submissions import Submission
from autograder.sandbox import levels

BATCH = 16  # outcomes entered into the gradebook at once


@dataclass(frozen=True)
class Options:
    """How to grade: where code runs, how it is confined, and by how many workers or by which cluster."""

    device: str = "cpu"
    workers: int = 1
    scheduler: str | None = None
    level: str | None = None
    accept_weak: bool = False

    def sandbox(self) -> str:
        """The sandbox's level on this machine; "" leaves it to a cluster's workers.

        Raises:
            KitError: it cannot be had.
        """
        return (self.level or "") if self.scheduler else levels.choose(self.level, self.accept_weak, device=self.device)


def grade(
    unit: str,
    options: Options,
    student: str | None = None,
    again: bool = False,
    tell: Callable[[str], object] = lambda sentence: None,
    missing_as_zero: bool = False,
) -> list[Record]:
    """Grades the submissions of a unit that are new or have changed, and returns the records of all it looked at.

    A mark stays where the submission that earned it is gone, or where nothing can be made of what has taken its place.

    Args:
        student: only this student, whether changed or not.
        again: also those that were graded before and have not changed.
        tell: called with a sentence on what was put right in the gradebook, and on students who are there or not.
        missing_as_zero: no mark stays without a submission that can be graded.

    Raises:
        KitError: the unit is not released, there is nothing to grade, or sandbox, cluster, gradebook or the instructor's
            nbgrader configuration cannot be used.
    """
    handed_out, found = class_of(unit, student)
    with Journal(journal_file(unit)) as journal:
        earlier = EarlierMarks(unit, journal, missing_as_zero)
        todo = [one for one in found.submissions if not earlier.is_settled(one) or again or student]
        with closing(graded(unit, todo, handed_out, options, found.folders)) as outcomes:
            keep(unit, journal, (one for one in outcomes if not earlier.stays(one)))
        others = found.folders.keys() - ({one.student for one in todo} - earlier.kept.keys())
        earlier.note(others)
        lost = _lost(unit, journal, others)
        keep(unit, journal, ())
        store.apply_deadlines(unit, journal.outcomes)
        for sentence in [*found.notes, *earlier.told(), *([_told(lost)] if lost else [])]:
            tell(sentence)
        journal.compact()
        store.save_results(unit, journal.outcomes)
        return [line for one in found.submissions for line in journal.outcomes[one.student]["records"]]


def _lost(unit: str, journal: Journal, students: set[str]) -> list[str]:
    """Those whose outcomes were entered once and are not in the gradebook any more; they are to be entered again."""
    entered = {one: journal.outcomes[one] for one in sorted(students - journal.unrecorded)}
    lost = store.not_entered(unit, entered)
    journal.unrecorded |= set(lost)
    return lost


def _told(lost: list[str]) -> str:
    said = "were missing in the gradebook, though graded before; they were entered, apart from those given by hand."
    return f"the marks of {listed(lost)} {said}"


def class_of(unit: str, student: str | None) -> tuple[tuple, Class]:
    """What was handed out (released cells, and code cells that need no pictures when unchanged), and what was handed in."""
    released, plain = store.released(unit), []
    store.late_penalties()  # a configuration or deadlines that cannot be used is told before any work is done
    deadlines()
    file = settings.ASSIGNMENTS / unit / f"{unit}.ipynb"
    if file.exists():
        assignment = nbformat.read(file, as_version=4)
        released = with_plain_cells(released, assignment)
        if settings.table().get("pictures") != "all":
            plain = [cell.source for cell in assignment.cells if cell.cell_type == "code"]
    found = find_all(unit, store.roster(), student, load_outcomes(unit))
    if not found.submissions:
        who = f"of {student} " if student else ""
        raise settings.KitError(f"there is no submission {who}in {settings.class_folder() / 'submitted'}.")
    return (released, plain), found


def has_changed(submission: Submission, known: Mapping[str, Outcome]) -> bool:
    before = known.get(submission.student)
    return before is None or before.get("digest") != submission.digest


def graded(
    unit: str, todo: list[Submission], handed_out: tuple, options: Options, folders: dict[str, str]
) -> Generator[Outcome, None, None]:
    """The outcome of each submission as it is reached, with the folder it lay in and the fingerprint of what reached it."""
    (released, plain), level, kit = handed_out, options.sandbox(), fingerprint(unit)
    here = not options.scheduler
    tasks = [task(one, released, plain, options.device, level, options.accept_weak, here) for one in todo]
    outcomes = grade_all(tasks, options.workers, options.scheduler)
    shown = {"desc": f"grading {unit}", "unit": "submission", "leave": False, "disable": not tasks}
    outcome: Outcome
    with tqdm(outcomes, total=len(tasks), **shown) as bar:
        for outcome in bar:
            yield {**outcome, "folder": folders[outcome["student"]], "kit": kit}


def keep(unit: str, journal: Journal, outcomes: Iterable[Outcome]) -> None:
    """Writes each outcome down at once, and enters them into the gradebook in batches.

    What an earlier run wrote down and did not come to enter is entered now.
    """
    for outcome in outcomes:
        outcome = {**outcome, "unchanged": store.unchanged_answers(outcome)}
        store.save_notebook(outcome)
        journal.append(outcome)
        if len(journal.unrecorded) >= BATCH:
            _enter(unit, journal)
    _enter(unit, journal)


def _enter(unit: str, journal: Journal) -> None:
    students = sorted(journal.unrecorded)
    if students:
        store.save_scores(unit, [journal.outcomes[student] for student in students])
        journal.recorded(students)


def table(records: list[Record], names: Mapping[str, str] = NOTHING, penalties: Mapping[str, float] = NOTHING) -> str:
    """The grades as a table: a line for each student, a column for each exercise.

    Args:
        names: what the class's list calls the students, by id.
        penalties: the points that lateness costs, by id.
    """
    exercises = list(dict.fromkeys(record["exercise"] for record in records))
    by_student: dict[str, dict[str, Record]] = {}
    for one in records:
        by_student.setdefault(one["student"], {})[one["exercise"]] = one
    called = {student: f"{student}  {names.get(student, '')}".rstrip() for student in by_student}
    late = {student: f"{-penalties[student]:g}" for student in by_student if penalties.get(student)}
    width = max(len("student"), *map(len, called.values()))
    short = [f"{number}" for number in range(1, len(exercises) + 1)]
    lines = [
        f"{'student':<{width}}  "
        + " ".join(f"{name:>4}" for name in short)
        + ("  total   late" if late else "  total")
        + "  state, and what to talk about"
    ]
    for student, row in by_student.items():
        points = " ".join(f"{_in_table(row[name]) if name in row else '–':>4}" for name in exercises)
        total = sum(one["points"] for one in row.values())
        states = sorted({one["state"] for one in row.values()} - {"graded"}) or ["graded"]
        topics = list(dict.fromkeys(one["misconception"] or one["problem"] for one in row.values() if one["problem"]))
        said = [topic for topic in topics if topic not in states]
        sums = f"{total:>5g}" + (f"  {late.get(student, ''):>5}" if late else "")
        lines.append(f"{called[student]:<{width}}  {points}  {sums}  {'/'.join(states)} {', '.join(said[:3])}".rstrip())
    lines.append("")
    lines += [f"{number} {name} ({_points(records, name)})" for number, name in zip(short, exercises)]
    lines += ["", "late: what lateness costs; it is not taken off in this table"] if late else []
    left = [f"{one['student']} {one['exercise']}" for one in records if one["state"] == "unjudged"]
    if left:
        lines += ["", f"{BY_HAND}: {', '.join(left)}"]
    used = sorted({one["sandbox"] for one in records} - {""})
    return "\n".join([*lines, "", *(f"sandbox: {level} ({levels.MEANING[level]})" for level in used)])


def _in_table(record: Record) -> str:
    """The points of one record; a stretch has none, and is right or is not."""
    return f"{record['points']:g}" if record["max_points"] else "·" if record["problem"] else "✓"


def _points(records: list[Record], exercise: str) -> str:
    most = next(one["max_points"] for one in records if one["exercise"] == exercise)
    return f"{most:g}" if most else "a stretch, no points"
