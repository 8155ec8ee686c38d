"""What the README says of the course: its units, each with a line about its lesson, and the sample of a check."""

import re
from dataclasses import dataclass

from autograder import settings

ROW = re.compile(
    r"^\| \*\*\d\d\*\* \| \[\*\*(?P<title>.+?)\*\*\]\(notebooks/(?P<unit>\w+)\.ipynb\): (?P<teaser>.+?) \|", re.M
)
FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Unit:
    """A unit as the README's table shows it."""

    name: str  # such as 04_attention_layer
    title: str
    teaser: str

    @property
    def number(self) -> str:
        return self.name[:2]


def units() -> list[Unit]:
    """The units in the README's order.

    Raises:
        KitError: the README's table and the course disagree.
    """
    course_units = [Unit(row["unit"], row["title"], row["teaser"]) for row in ROW.finditer(_readme())]
    if [unit.name for unit in course_units] != settings.units():
        raise settings.KitError(
            "README.md: the table of the course does not list the lessons that there are, in order."
        )
    return course_units


def sample_of_a_check() -> str:
    """What a check says of a mistake, as the README quotes it."""
    quoted = FENCE.search(_readme())
    if quoted is None:
        raise settings.KitError("README.md quotes no check.")
    return quoted[1].rstrip("\n")


def _readme() -> str:
    return (settings.ROOT / "README.md").read_text(encoding="utf-8")
