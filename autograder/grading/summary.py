"""A summary of grading a unit that fits on a screen: marks, exercises, what needs a person, and what to do next."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from statistics import mean, median

from autograder.gradebook.marks import Lateness
from autograder.gradebook.outcomes import Record
from autograder.grading.examined import UNJUDGED
from autograder.intake.places import listed
from autograder.sandbox import levels

BY_HAND = "to be marked by hand in formgrader, since grading could not run them"
_STATES = {  # the states that the summary reports; "graded" is not among them
    "missing": "handed nothing in",
    "malformed": "handed in a file that cannot be read",
    "other_notebook": "handed in another notebook",
    "timeout": "took too long somewhere",
    "killed": "ended the process somewhere",
}


def summary(unit: str, records: list[Record], late: Mapping[str, Lateness], waiting: int) -> list[str]:
    """The lines that `grade` prints by default, at most about twenty.

    Args:
        late: who handed in late.
        waiting: how many written answers wait for a mark.
    """
    rows = _by_student(records)
    handed_in = {
        student: student_records
        for student, student_records in rows.items()
        if {record["state"] for record in student_records} != {"missing"}
    }
    most = sum(record["max_points"] for record in next(iter(rows.values()), []))
    lines = [f"{unit}: {_count(len(rows), 'student')}, {len(handed_in)} handed in", *_mark_lines(handed_in, most), ""]
    lines += _exercise_lines(handed_in)
    lines += ["", *_attention_lines(rows), *_late_lines(late), *_waiting_lines(unit, waiting)]
    used_levels = sorted({record["sandbox"] for record in records} - {""})
    lines += [f"sandbox: {level} ({levels.MEANING[level]})" for level in used_levels]
    number = unit[:2]
    lines.append(f"next: report {number}, feedback {number}; `grade {number} --table` has a line for each student")
    return lines


def who_needs_you(unit: str, records: list[Record], waiting: int) -> list[str]:
    """The summary's lines that ask something of the instructor.

    They name the submissions that could not be examined, and say how many written answers have no mark.
    """
    return [*_attention_lines(_by_student(records)), *_waiting_lines(unit, waiting)]


def _by_student(records: list[Record]) -> dict[str, list[Record]]:
    rows: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        rows[record["student"]].append(record)
    return rows


def _mark_lines(handed_in: Mapping[str, list[Record]], most: float) -> list[str]:
    totals = [sum(record["points"] for record in student_records) for student_records in handed_in.values()]
    if not totals:
        return []
    return [f"mean {mean(totals):.1f} of {most:g}, median {median(totals):g}, from {min(totals):g} to {max(totals):g}"]


def _exercise_lines(handed_in: Mapping[str, list[Record]]) -> list[str]:
    by_name: dict[str, list[Record]] = defaultdict(list)
    for student_records in handed_in.values():
        for record in student_records:
            by_name[record["exercise"]].append(record)
    if not by_name:
        return []
    wide = max(map(len, by_name))
    lines = [f"{'exercise':<{wide}}   max   mean  right  most frequent"]
    for name, exercise_records in by_name.items():
        points = exercise_records[0]["max_points"]
        right = sum(not record["problem"] for record in exercise_records) / len(exercise_records)
        reasons = Counter(
            record["misconception"] or record["problem"] for record in exercise_records if record["problem"]
        )
        most = ", ".join(f"{description} {count}" for description, count in reasons.most_common(2))
        average = f"{mean(record['points'] for record in exercise_records):6.1f}" if points else "     ·"
        lines.append(f"{name:<{wide}}  {points or '·':>4}{average}  {right:5.0%}  {most}".rstrip())
    return lines


def _attention_lines(rows: Mapping[str, list[Record]]) -> list[str]:
    lines = []
    for state, description in _STATES.items():
        students = sorted(
            student
            for student, student_records in rows.items()
            if any(record["state"] == state for record in student_records)
        )
        if students:
            lines.append(f"{len(students)} {description}: {listed(students)}")
    unjudged = [
        f"{record['student']} {record['exercise']}"
        for student_records in rows.values()
        for record in student_records
        if record["state"] == UNJUDGED
    ]
    return lines + ([f"{BY_HAND}: {', '.join(unjudged)}"] if unjudged else [])


def _late_lines(late: Mapping[str, Lateness]) -> list[str]:
    if not late:
        return []
    paying = sorted(student for student, lateness in late.items() if lateness.penalty)
    cost = f"; {len(paying)} lose points: {listed(paying)}" if paying else "; nobody loses points"
    return [f"{len(late)} handed in after the due date{cost}"]


def _waiting_lines(unit: str, waiting: int) -> list[str]:
    """A line that says how many written answers wait for a mark; none where none do."""
    verb = "waits" if waiting == 1 else "wait"
    return [f"{_count(waiting, 'written answer')} {verb} for a mark: mark {unit[:2]}"] if waiting else []


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
