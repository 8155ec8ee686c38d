"""Grades a unit anew after a change: says whose marks would change and why, and enters the new marks once they are accepted."""

from collections.abc import Mapping
from contextlib import closing

from autograder.gradebook import store
from autograder.gradebook.outcomes import Outcome, Record
from autograder.grading.class_run import Options, class_of, graded, has_changed, keep, note_times
from autograder.grading.earlier_marks import EarlierMarks
from autograder.grading.fingerprint import fingerprint
from autograder.grading.journal import Journal, journal_file


def regrade(unit: str, options: Options) -> tuple[list[str], list[Outcome]]:
    """Grades every submission of a unit anew, enters nothing, and says whose marks would change.

    A mark stays where there is nothing any more that could be graded anew.

    Returns:
        lines that say what would change and why, and what would stay; and the outcomes, for `accept`.
    """
    handed_out, handed_in = class_of(unit, None)
    with Journal(journal_file(unit)) as journal, _regrade_journal(unit) as fresh:
        kit, earlier = fingerprint(unit), EarlierMarks(unit, journal)
        todo = [
            submission
            for submission in handed_in.submissions
            if has_changed(submission, fresh.outcomes) or fresh.outcomes[submission.student]["kit"] != kit
        ]
        with closing(graded(unit, todo, handed_out, options, handed_in.folders)) as reached:
            for outcome in reached:
                fresh.append(outcome)
        note_times(fresh, handed_in.submissions)
        outcomes = [fresh.outcomes[submission.student] for submission in handed_in.submissions]
        outcomes = [outcome for outcome in outcomes if not earlier.stays(outcome)]
        return [*_change_lines(journal.outcomes, outcomes), *handed_in.notes, *earlier.told()], outcomes


def accept(unit: str, outcomes: list[Outcome]) -> None:
    """Enters what `regrade` found into gradebook and results; manual grades stay."""
    with Journal(journal_file(unit)) as journal:
        keep(unit, journal, outcomes)
        journal.compact()
        store.save_results(unit, journal.outcomes)
    with _regrade_journal(unit) as fresh:
        fresh.discard()


def _regrade_journal(unit: str) -> Journal:
    """Where outcomes wait to be accepted, the graded notebooks among them."""
    return Journal(journal_file(unit, "regrade"), left_out=())


def outdated(unit: str) -> int:
    """How many outcomes were reached with exercises or checks other than today's; earlier marks that stay are not counted."""
    kit = fingerprint(unit)
    with Journal(journal_file(unit)) as journal:
        return sum(outcome["kit"] != kit and "kept" not in outcome for outcome in journal.outcomes.values())


def _change_lines(before: Mapping[str, Outcome], outcomes: list[Outcome]) -> list[str]:
    """A line for each mark that would change, with the earlier finding and the new one; and a line with the number of them."""
    lines, students = [], set()
    for outcome in outcomes:
        earlier = before.get(outcome["student"])
        old_records = {record["exercise"]: record for record in earlier["records"]} if earlier else {}
        for new in outcome["records"]:
            old = old_records.get(new["exercise"])
            if old is None or old["points"] != new["points"]:
                students.add(outcome["student"])
                points = "not graded" if old is None else f"{old['points']:g}"
                lines.append(
                    f"{outcome['student']}  {new['exercise']}  {points} → {new['points']:g} of {new['max_points']:g}"
                    f"  ({_reason(_finding(old), _finding(new))})"
                )
    if not lines:
        return [f"No mark changes, in {_counted(len(outcomes), 'submission')}."]
    count = "1 mark changes" if len(lines) == 1 else f"{len(lines)} marks change"
    return [*lines, f"{count}, in {len(students)} of {_counted(len(outcomes), 'submission')}."]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _reason(before: str, now: str) -> str:
    return f"{before} → {now}" if before != now else f"{now}, for which the points were changed"


def _finding(record: Record | None) -> str:
    if record is None:
        return "nothing"
    return (
        record["misconception"]
        or record["problem"]
        or ("right" if record["points"] == record["max_points"] else record["state"])
    )
