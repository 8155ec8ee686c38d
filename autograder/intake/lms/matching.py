"""Whose a file is: what a download says of it, against the class's list of students."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from autograder.intake.lms.students import Student


class Whose:
    """Finds the student whom numbers, ids, addresses and names mean."""

    def __init__(self, students: Iterable[Student]):
        self._known: dict[str, set[str]] = defaultdict(set)
        for one in students:
            for said in (one.id, one.email, one.email.partition("@")[0], *one.also):
                self._known[_folded(said)].add(one.id)
            for name in _orders(one.name):
                self._known[_folded(name)].add(one.id)
        self._known.pop("", None)

    def find(self, who: Iterable[str]) -> str | None:
        """The id of the one student whom all that is said means, as far as it means anybody; None if it cannot be told."""
        said = [one if (one := _folded(hint)) in self._known else _folded(one.partition("@")[0]) for hint in who]
        meant = [self._known[one] for one in said if one in self._known]
        both = set.intersection(*meant) if meant else set()
        return both.pop() if len(both) == 1 else None


def _folded(said: str) -> str:
    """What is the same in all ways to write a name or an id: letters and digits, accents composed."""
    composed = unicodedata.normalize("NFC", unicodedata.normalize("NFC", said).casefold())
    return composed if "@" in composed else re.sub(r"[\W_]", "", composed)


def _orders(name: str) -> list[str]:
    """A name with each of its words first in turn: "Jane van Doe" is "Doe, Jane van" and "van Doe, Jane" to an LMS."""
    words = name.replace(",", " ").split()
    return [" ".join(words[at:] + words[:at]) for at in range(len(words))]
