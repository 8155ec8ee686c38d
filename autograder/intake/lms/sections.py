"""The sections of a class: which there are, and who is in one."""

import re
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches

from autograder.intake.lms.students import students
from autograder.settings import KitError

# How Canvas and Moodle join the sections of a student who is in more than one.
_SEVERAL = re.compile(r"\s*[,;]\s*|\s+and\s+")


def sections() -> dict[str, str]:
    """Each student's section, as the class's list has it; "" where it has none."""
    return {student.id: student.section for student in students() if not student.left}


def counted() -> dict[str, int]:
    """How many students each section has, in the order of the names; a student in several sections counts in each."""
    own = [section for section in sections().values() if section]
    parts = {section: set(_SEVERAL.split(section)) - {""} for section in own}
    # A name that holds no other section's name, such as "Design and Analysis", is the name of a single section.
    several = {section for section in own if parts[section] & set(own) - {section}}
    count = Counter(name for section in own for name in (parts[section] if section in several else [section]))
    return dict(sorted(count.items()))


@dataclass(frozen=True)
class Section:
    """A section by the name that the class's list has, and the ids of who is in it."""

    name: str
    students: frozenset[str]

    @property
    def suffix(self) -> str:
        """What is added to the name of a file that is about this section alone."""
        return "-" + re.sub(r"[^\w.]+", "_", self.name)


def find_section(said: str) -> Section:
    """The section of that name, in capitals or not.

    Raises:
        KitError: the class has no section of that name; the message names the nearest and lists all sections.
    """
    by_name: dict[str, set[str]] = {}
    for student, own in sections().items():
        for name in {own, *_SEVERAL.split(own)} - {""}:
            by_name.setdefault(name, set()).add(student)
    folded = {name.casefold(): name for name in by_name}
    if name := folded.get(said.strip().casefold()):
        return Section(name, frozenset(by_name[name]))
    if not by_name:
        how = (
            "`python -m autograder roster FILE` reads them from the list that your LMS exports, in its column `section`"
        )
        raise KitError(f"the class's list of students names no sections: {how}.")
    near = get_close_matches(said.casefold(), [name.casefold() for name in counted()], 1)
    meant = f"did you mean {folded[near[0]]!r}? There are" if near else "there are"
    raise KitError(f"no section is called {said!r}; {meant}: {', '.join(counted())}")
