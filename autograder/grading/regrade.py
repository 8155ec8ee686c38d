"""Grades a unit anew after a change: says whose marks would change and why, and enters that only when it is accepted."""

from contextlib import closing

from autograder.gradebook import store
from autograder.grading.class_run import Options, class_of, graded, has_changed, keep
from autograder.grading.fingerprint import fingerprint
from autograder.grading.journal import Journal, journal_file


def regrade(unit: str, options: Options) -> tuple[list[str], list[dict]]:
    """Grades every submission of a unit anew, enters nothing, and says whose marks would change.

    Returns:
        lines that say what would change and why; and the outcomes, for `accept`.
    """
    handed_out, submissions = class_of(unit, None)
    with Journal(journal_file(unit)) as journal, _regrade_journal(unit) as fresh:
        kit = fingerprint(unit)
        todo = [
            one for one in submissions if has_changed(one, fresh.outcomes) or fresh.outcomes[one.student]["kit"] != kit
        ]
        with closing(graded(unit, todo, handed_out, options)) as reached:
            for outcome in reached:
                fresh.append(outcome)
        outcomes = [fresh.outcomes[one.student] for one in submissions]
        return _changes(journal.outcomes, outcomes), outcomes


def accept(unit: str, outcomes: list[dict]) -> None:
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
    """How many results were reached with exercises or checks other than today's."""
    kit = fingerprint(unit)
    with Journal(journal_file(unit)) as journal:
        return sum(one["kit"] != kit for one in journal.outcomes.values())


def _changes(before: dict, outcomes: list[dict]) -> list[str]:
    """A line for each mark that would change, with what was found then and what is found now; and how many there are."""
    lines, students = [], set()
    for outcome in outcomes:
        old = {one["exercise"]: one for one in before.get(outcome["student"], {}).get("records", ())}
        for new in outcome["records"]:
            was = old.get(new["exercise"])
            if was is None or was["points"] != new["points"]:
                students.add(outcome["student"])
                points = "not graded" if was is None else f"{was['points']:g}"
                lines.append(
                    f"{outcome['student']}  {new['exercise']}  {points} → {new['points']:g} of {new['max_points']:g}"
                    f"  ({_reason(_found(was), _found(new))})"
                )
    if not lines:
        return [f"No mark changes, of {len(outcomes)} submissions."]
    count = "1 mark changes" if len(lines) == 1 else f"{len(lines)} marks change"
    return [*lines, f"{count}, of {len(students)} of {len(outcomes)} submissions."]


def _reason(before: str, now: str) -> str:
    return f"{before} → {now}" if before != now else f"{now}, for which the points were changed"


def _found(one: dict | None) -> str:
    if one is None:
        return "nothing"
    return one["misconception"] or one["problem"] or ("right" if one["points"] == one["max_points"] else one["state"])
