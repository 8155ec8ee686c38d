"""Grades a class: finds submissions, hands them to workers, keeps their outcomes, and enters these into the gradebook."""

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
    """Grades the submissions of a unit that are new or have changed, and returns the records of all submissions of the unit.

    A mark stays where the submission that earned it is gone, or where the submission that took its place cannot be graded.

    Args:
        student: only this student, whether changed or not.
        again: also those that were graded before and have not changed.
        tell: called with each sentence on what was put right in the gradebook, and on folders and students that do not match.
        missing_as_zero: no mark stays without a submission that can be graded.

    Raises:
        KitError: the unit is not released, there is nothing to grade, or sandbox, cluster, gradebook or the instructor's
            nbgrader configuration cannot be used.
    """
    handed_out, handed_in = class_of(unit, student)
    with Journal(journal_file(unit)) as journal:
        earlier = EarlierMarks(unit, journal, missing_as_zero)
        settled = {submission.student for submission in handed_in.submissions if earlier.is_settled(submission)}
        present = settled - earlier.kept.keys()
        note_times(journal, [submission for submission in handed_in.submissions if submission.student in present])
        todo = [
            submission for submission in handed_in.submissions if again or student or submission.student not in settled
        ]
        with closing(graded(unit, todo, handed_out, options, handed_in.folders)) as outcomes:
            keep(unit, journal, (outcome for outcome in outcomes if not earlier.stays(outcome)))
        others = handed_in.folders.keys() - ({submission.student for submission in todo} - earlier.kept.keys())
        earlier.note(others)
        lost = _lost_students(unit, journal, others)
        keep(unit, journal, ())
        store.apply_deadlines(unit, journal.outcomes)
        for sentence in [*handed_in.notes, *earlier.told(), *([_lost_marks_note(lost)] if lost else [])]:
            tell(sentence)
        journal.compact()
        store.save_results(unit, journal.outcomes)
        return [
            record for submission in handed_in.submissions for record in journal.outcomes[submission.student]["records"]
        ]


def note_times(journal: Journal, submissions: list[Submission]) -> None:
    """Notes when submissions that were graded before were handed in: they may have been handed in again as they are."""
    for submission in submissions:
        journal.outcomes[submission.student]["handed_in"] = submission.handed_in.text


def _lost_students(unit: str, journal: Journal, students: set[str]) -> list[str]:
    """The students whose outcomes were entered once and are not in the gradebook any more; they are to be entered again."""
    entered = {student: journal.outcomes[student] for student in sorted(students - journal.unrecorded)}
    lost = store.not_entered(unit, entered)
    journal.unrecorded |= set(lost)
    return lost


def _lost_marks_note(lost: list[str]) -> str:
    note = "were missing in the gradebook, though graded before; they were entered, apart from those given by hand."
    return f"the marks of {listed(lost)} {note}"


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
    handed_in = find_all(unit, store.roster(), student, load_outcomes(unit))
    if not handed_in.submissions:
        who = f"of {student} " if student else ""
        raise settings.KitError(f"there is no submission {who}in {settings.class_folder() / 'submitted'}.")
    return (released, plain), handed_in


def has_changed(submission: Submission, known: Mapping[str, Outcome]) -> bool:
    earlier_outcome = known.get(submission.student)
    return earlier_outcome is None or earlier_outcome.get("digest") != submission.digest


def graded(
    unit: str, todo: list[Submission], handed_out: tuple, options: Options, folders: dict[str, str]
) -> Generator[Outcome, None, None]:
    """The outcome of each submission once it is graded, with where it lay, when it was handed in, and the code's fingerprint."""
    (released, plain), level, kit = handed_out, options.sandbox(), fingerprint(unit)
    here = not options.scheduler
    times = {submission.student: submission.handed_in.text for submission in todo}
    tasks = [task(submission, released, plain, options.device, level, options.accept_weak, here) for submission in todo]
    outcomes = grade_all(tasks, options.workers, options.scheduler)
    shown = {"desc": f"grading {unit}", "unit": "submission", "leave": False, "disable": not tasks}
    outcome: Outcome
    with tqdm(outcomes, total=len(tasks), **shown) as bar:
        for outcome in bar:
            student = outcome["student"]
            yield {**outcome, "folder": folders[student], "handed_in": times[student], "kit": kit}


def keep(unit: str, journal: Journal, outcomes: Iterable[Outcome]) -> None:
    """Writes each outcome down at once, and enters outcomes into the gradebook in batches.

    Outcomes that an earlier run wrote down but did not come to enter are entered now.
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
    for record in records:
        by_student.setdefault(record["student"], {})[record["exercise"]] = record
    labels = {student: f"{student}  {names.get(student, '')}".rstrip() for student in by_student}
    late = {student: f"{-penalties[student]:g}" for student in by_student if penalties.get(student)}
    width = max(len("student"), *map(len, labels.values()))
    short = [f"{number}" for number in range(1, len(exercises) + 1)]
    lines = [
        f"{'student':<{width}}  "
        + " ".join(f"{name:>4}" for name in short)
        + ("  total   late" if late else "  total")
        + "  state, and what to talk about"
    ]
    for student, row in by_student.items():
        points = " ".join(f"{_points_in_table(row[name]) if name in row else '–':>4}" for name in exercises)
        total = sum(record["points"] for record in row.values())
        states = sorted({record["state"] for record in row.values()} - {"graded"}) or ["graded"]
        topics = list(
            dict.fromkeys(record["misconception"] or record["problem"] for record in row.values() if record["problem"])
        )
        topics_to_discuss = [topic for topic in topics if topic not in states]
        sums = f"{total:>5g}" + (f"  {late.get(student, ''):>5}" if late else "")
        lines.append(
            f"{labels[student]:<{width}}  {points}  {sums}  {'/'.join(states)} {', '.join(topics_to_discuss[:3])}".rstrip()
        )
    lines.append("")
    lines += [f"{number} {name} ({_max_points_in_words(records, name)})" for number, name in zip(short, exercises)]
    lines += ["", "late: what lateness costs; it is not taken off in this table"] if late else []
    unjudged = [f"{record['student']} {record['exercise']}" for record in records if record["state"] == "unjudged"]
    if unjudged:
        lines += ["", f"{BY_HAND}: {', '.join(unjudged)}"]
    used_levels = sorted({record["sandbox"] for record in records} - {""})
    return "\n".join([*lines, "", *(f"sandbox: {level} ({levels.MEANING[level]})" for level in used_levels)])


def _points_in_table(record: Record) -> str:
    """The points of one record; a stretch has no points, so a sign says whether it is right."""
    return f"{record['points']:g}" if record["max_points"] else "·" if record["problem"] else "✓"


def _max_points_in_words(records: list[Record], exercise: str) -> str:
    most = next(record["max_points"] for record in records if record["exercise"] == exercise)
    return f"{most:g}" if most else "a stretch, no points"
