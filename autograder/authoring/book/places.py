"""Where the book's files lie, and the address of the course, if it has one."""

from pathlib import Path

from autograder import settings

HERE = Path(__file__).resolve().parent
BOOK = settings.BOOK
WORK = settings.ROOT / ".book"  # sources laid out for Sphinx, and what it remembers of them
DOWNLOADS = "downloads"  # the folder of files as they are in the repository
BUNDLE = "attention-course.zip"
DOCUMENTS = {  # the pages of the folder docs, in order, with their names in the list of contents
    "glossary": "Glossary and notation",
    "students": "For students",
    "instructors": "For instructors",
    "recipes": "Recipes for a course's machines",
    "adding-a-unit": "Adding a unit",
    "architecture": "How it works",
    "attacks": "Attacks on grading",
    "margins": "Margins of the lessons' assertions",
}


def address() -> str | None:
    """The repository's address, or None while pyproject.toml holds the placeholder."""
    return settings.address()
