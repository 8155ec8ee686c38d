"""When work is due, who has longer, and what lateness costs: `deadlines.toml` in the class's folder."""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from autograder import settings
from autograder.intake.lms.students import called, students
from autograder.intake.lms.times import deadlines_file, zone
from autograder.intake.submissions import hand_in_time

NOTHING: Mapping[str, Any] = MappingProxyType({})
_KEYS = ("timezone", "grace", "late_days", "penalty", "at_most", "due", "extensions")
_SPANS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(minute|hour|day|week)s?")
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*(%|points?)(?:\s*(?:a|an|per|each)\s*(hour|day|week))?")
_MOST = re.compile(r"(\d+(?:\.\d+)?)\s*(%|points?)")


@dataclass(frozen=True)
class Penalty:
    """What lateness costs: a share of the points reached, or points, once or for each period begun; and the most it may cost."""

    share: float = 0.0
    points: float = 0.0
    period: timedelta | None = None
    most_share: float = 1.0
    most_points: float = math.inf

    def of(self, score: float, seconds: float) -> float:
        """The points that work of this score loses, handed in so many seconds after all that was granted."""
        if seconds <= 0:
            return 0.0
        times = math.ceil(seconds / self.period.total_seconds()) if self.period else 1
        cost = times * (self.share * score + self.points)
        return min(cost, self.most_share * score, self.most_points, score)


@dataclass(frozen=True)
class Deadlines:
    """The rules of a class.

    Attributes:
        due: unit -> when it is due, in UTC.
        extensions: student -> unit -> how much longer that student has.
        grace: how late everybody may be.
        late_days: days that each student may be late without cost, over all units; they are used up in the units' order.
    """

    due: dict[str, datetime] = field(default_factory=dict)
    extensions: dict[str, dict[str, timedelta]] = field(default_factory=dict)
    grace: timedelta = timedelta(0)
    late_days: int = 0
    penalty: Penalty = Penalty()

    def granted(self, student: str, unit: str, known: Mapping[str, datetime | None] = NOTHING) -> timedelta:
        """How much later than the due date a student may hand in a unit: extension, grace, and the late days left for it."""
        return self._extra_time(student, unit) + timedelta(days=self.late_days_used(student, known)[unit])

    def late_days_used(self, student: str, known: Mapping[str, datetime | None] = NOTHING) -> dict[str, int]:
        """The late days that a student has used for each unit, by when each unit was handed in.

        Args:
            known: when units were handed in as the gradebook knows it, for folders that are gone or spelled otherwise.
        """
        used, left = {}, self.late_days
        for unit, due in sorted(self.due.items(), key=lambda item: (item[1], item[0])):
            at = hand_in_time(student, unit).at or known.get(unit)
            late = at - due - self._extra_time(student, unit) if at else timedelta(0)
            used[unit] = min(left, max(0, math.ceil(late / timedelta(days=1))))
            left -= used[unit]
        return used

    def _extra_time(self, student: str, unit: str) -> timedelta:
        return self.grace + self.extensions.get(student, {}).get(unit, timedelta(0))


def deadlines() -> Deadlines | None:
    """The class's rules; None where the instructor has written none down.

    Raises:
        KitError: the file cannot be used; the message names the place.
    """
    file = deadlines_file()
    return _read(file, file.stat().st_mtime_ns) if file.exists() else None


@lru_cache(maxsize=4)
def _read(file: Path, changed: int) -> Deadlines:
    try:
        written = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise settings.KitError(f"{file} cannot be read ({error}).") from None
    try:
        return _rules(written)
    except _Wrong as wrong:
        raise settings.KitError(f"{file}: {wrong}") from None


class _Wrong(Exception):
    """What is wrong in the file, as a sentence."""


def _rules(written: dict) -> Deadlines:
    for key in written:
        if key not in _KEYS:
            raise _Wrong(f"{key!r} is not known here; known are {', '.join(_KEYS)}.")
    home = _zone(written.get("timezone"))
    due = {_unit(unit): _time(value, home, f"due.{unit}") for unit, value in _table(written, "due").items()}
    extensions = {}
    for student in (granted := _table(written, "extensions")):
        who = _student_id(student, granted)
        extensions[who] = {
            _unit(unit): _extension(value, home, due, unit, f"extensions.{student}.{unit}")
            for unit, value in _table(granted, student).items()
        }
    days = written.get("late_days", 0)
    if not isinstance(days, int) or isinstance(days, bool) or days < 0:
        raise _Wrong("late_days is a whole number, such as 3.")
    return Deadlines(due, extensions, _span(written.get("grace", "0 minutes"), "grace"), days, _penalty(written))


def _student_id(name: str, granted: dict) -> str:
    """The id of the student who is named: by id, number, login or address; where the class has no list, the name itself."""
    class_list = students()
    student = called(name, class_list)
    if class_list and not student:
        within = granted[name] if isinstance(granted[name], dict) else {}
        dotted = next((f"{name}.{part}" for part, value in within.items() if isinstance(value, dict)), None)
        hint = f' A name with a dot goes in quotation marks: [extensions."{dotted}"].' if dotted else ""
        raise _Wrong(f"extensions.{name}: nobody in the class has this id.{hint}")
    return student.id if student else name


def _table(written: dict, name: str) -> dict:
    if not isinstance(table := written.get(name, {}), dict):
        raise _Wrong(f"{name!r} is no table of units: write a line [{name}], and below it one such as 04 = …")
    return table


def _zone(name: Any) -> ZoneInfo | None:
    """The time zone that is named, or this machine's."""
    try:
        return zone(name)
    except settings.KitError as error:
        raise _Wrong(str(error)) from None


def _unit(name: str) -> str:
    try:
        return settings.find_unit(name)
    except settings.KitError as error:
        raise _Wrong(f"{error}") from None


def _time(value: Any, home: ZoneInfo | None, where: str) -> datetime:
    try:
        if isinstance(value, str) and not re.search(r"\d[T ]\d", value):
            raise ValueError("a day without a time")
        at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _Wrong(f"{where}: {value!r} is no time; write one such as 2026-03-06T18:00:00.") from None
    return (at if at.tzinfo else at.replace(tzinfo=home)).astimezone(UTC).replace(tzinfo=None)


def _span(value: object, where: str) -> timedelta:
    match = _SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    if not match:
        raise _Wrong(f"{where}: {value!r} is no length of time; write one such as '2 days' or '15 minutes'.")
    return float(match[1]) * _SPANS[match[2]]


def _extension(value: object, home: ZoneInfo | None, due: dict, unit: str, where: str) -> timedelta:
    """An extension: a length of time, or a due date of its own."""
    if isinstance(value, str) and _SPAN.fullmatch(value.strip()):
        return _span(value, where)
    if _unit(unit) not in due:
        raise _Wrong(f"{where}: {unit} has no due date, so this can only be a length of time.")
    return max(timedelta(0), _time(value, home, where) - due[_unit(unit)])


def _penalty(written: dict) -> Penalty:
    rule, most = written.get("penalty", "none"), written.get("at_most", "100%")
    if rule in ("none", ""):
        return Penalty()
    rate = _RATE.fullmatch(rule.strip()) if isinstance(rule, str) else None
    bound = _MOST.fullmatch(most.strip()) if isinstance(most, str) else None
    if not rate:
        raise _Wrong(f"penalty: {rule!r} is no rule; write 'none', '10% a day', '2 points a day' or '50%'.")
    if not bound:
        raise _Wrong(f"at_most: {most!r} is no bound; write one such as '50%' or '5 points'.")
    amount, percent = float(rate[1]), rate[2] == "%"
    limit, share = float(bound[1]), bound[2] == "%"
    return Penalty(
        share=amount / 100 if percent else 0.0,
        points=0.0 if percent else amount,
        period=_SPANS[rate[3]] if rate[3] else None,
        most_share=limit / 100 if share else 1.0,
        most_points=math.inf if share else limit,
    )
