"""The message on one failure: a sentence, and code, advice, a formula and numbers, each in a field of its own."""

from dataclasses import dataclass
from textwrap import wrap

WIDTH = 80
CODE = "in your line  "  # what stands before a student's own line


@dataclass(frozen=True)
class Message:
    """The message on one failure.

    Attributes:
        sentence: what is wrong.
        code: the student's own line that led to the failure; empty where there is none.
        advice: what an error like this usually comes from.
        formula: the exercise's formula.
        detail: the numbers that show the failure; empty for a case that the student may not see.
    """

    sentence: str
    code: str = ""
    advice: str = ""
    formula: str = ""
    detail: str = ""

    @property
    def lines(self) -> list[str]:
        """All fields but the numbers, wrapped and indented; a line of code stays whole."""
        line, _, rest = self.code.partition("\n")
        code = [f"  {CODE}{line}", *indented(rest)] if line else []
        return [*indented(self.sentence), *code, *indented(self.advice), *indented(self.formula)]


def indented(text: str) -> list[str]:
    """The lines of a text, at most so long, indented by two."""
    lines = text.splitlines()
    return [part for line in lines for part in wrap(line, WIDTH, initial_indent="  ", subsequent_indent="  ")]
