"""Whose a file is: what a download says of it, against the class's list of students."""

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
        self._known: dict[str, set[str]] = defaultdict(set)
        self._sections: set[str] = set()
        for one in students:
            for said in (one.id, one.email, *one.also):
                self._known[_folded(said)].add(one.id)
            for name in _orders(one.name):
                self._known[_folded(name)].add(one.id)
            self._sections.add(_folded(one.section))
        self._known.pop("", None)

    def find(self, who: Iterable[str]) -> str | None:
        """The id of the one student whom all that is said means, as far as it means anybody; None if it cannot be told."""
        meant = [self._known[said] for said in map(_folded, who) if said in self._known]
        both = set.intersection(*meant) if meant else set()
        return both.pop() if len(both) == 1 else None

    def knows(self, hint: str) -> bool:
        """Whether a number, an id, an address or a name means anybody in the class."""
        return _folded(hint) in self._known

    def is_section(self, name: str) -> bool:
        """Whether a section or group of the class is called that."""
        return bool(name) and _folded(name) in self._sections


def names_somebody(column: str) -> bool:
    """Whether a table's column, in small letters, says who a row is about."""
    return bool(_WHO.fullmatch(column.strip()))


def hints(row: dict[str, str]) -> list[str]:
    """What a row of a table says of the student whom it is about."""
    said = [value for name, value in row.items() if value and names_somebody(name)]
    first, last = row.get("first name", ""), row.get("last name", "")
    said = [one for one in said if one not in (first, last)] + ([f"{first} {last}"] if first and last else [])
    return [re.sub(r"^participant\s+", "", one, flags=re.IGNORECASE) for one in said]


def _folded(said: str) -> str:
    """What is the same in all ways to write a name or an id: letters and digits, accents composed."""
    composed = unicodedata.normalize("NFC", unicodedata.normalize("NFC", said).casefold())
    return composed if "@" in composed else re.sub(r"[\W_]", "", composed)


def _orders(name: str) -> list[str]:
    """A name with each of its words first in turn: "Jane van Doe" is "Doe, Jane van" and "van Doe, Jane" to an LMS."""
    words = name.replace(",", " ").split()
    return [" ".join(words[at:] + words[:at]) for at in range(len(words))]
