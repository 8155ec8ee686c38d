"""Whose a file is: matches what a download says of its student with the class's list."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from autograder.intake.lms.students import Student

_WHO = re.compile(
    r"(student|user|sis|canvas)?[ _]?(id|login id|user id|number)|students?|names?|full name|first name|last name"
    r"|e-?mail( address)?|username|identifier|sid|github_username|roster_identifier"
)


class Whose:
    """Finds the student whom numbers, ids, addresses and names mean."""

    def __init__(self, students: Iterable[Student]):
        self._ids_by_hint: dict[str, set[str]] = defaultdict(set)
        self._sections: set[str] = set()
        for student in students:
            for hint in (student.id, student.email, *student.also):
                self._ids_by_hint[_folded(hint)].add(student.id)
            for name in _word_orders(student.name):
                self._ids_by_hint[_folded(name)].add(student.id)
            self._sections.add(_folded(student.section))
        self._ids_by_hint.pop("", None)

    def find(self, who: Iterable[str]) -> str | None:
        """The id of the only student meant by every hint that means anybody; None if there is no such student."""
        meant = [self._ids_by_hint[hint] for hint in map(_folded, who) if hint in self._ids_by_hint]
        both = set.intersection(*meant) if meant else set()
        return both.pop() if len(both) == 1 else None

    def knows(self, hint: str) -> bool:
        """Whether a number, an id, an address or a name means anybody in the class."""
        return _folded(hint) in self._ids_by_hint

    def is_section(self, name: str) -> bool:
        """Whether a section or group of the class is called that."""
        return bool(name) and _folded(name) in self._sections


def names_somebody(column: str) -> bool:
    """Whether a table's column, in small letters, says who a row is about."""
    return bool(_WHO.fullmatch(column.strip()))


def hints(row: dict[str, str]) -> list[str]:
    """What a row of a table says of the student whom it is about."""
    values = [value for name, value in row.items() if value and names_somebody(name)]
    first, last = row.get("first name", ""), row.get("last name", "")
    values = [value for value in values if value not in (first, last)] + ([f"{first} {last}"] if first and last else [])
    return [re.sub(r"^participant\s+", "", value, flags=re.IGNORECASE) for value in values]


def _folded(text: str) -> str:
    """A name or an id in the form that all ways of writing it share: letters and digits, accents composed."""
    composed = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return composed if "@" in composed else re.sub(r"[\W_]", "", composed)


def _word_orders(name: str) -> list[str]:
    """A name with each of its words first in turn: "Jane van Doe" is "Doe, Jane van" and "van Doe, Jane" to an LMS."""
    words = name.replace(",", " ").split()
    return [" ".join(words[at:] + words[:at]) for at in range(len(words))]
