"""Finds the self-checks that come with the course: which file holds which exercise, and for how many points."""

import json
from functools import cache
from pathlib import Path

PACKS = Path(__file__).resolve().parent
MALFORMED = (KeyError, TypeError, ValueError, AttributeError)  # the errors that reading a damaged file raises


@cache
def index() -> tuple[dict[str, Path], list[Path]]:
    """The file of each exercise's checks, by the exercise's name, and the files whose first line names no exercises.

    Only first lines are read: a notebook checks exercises of one unit, and does not need the other units' files.
    """
    packs: dict[str, Path] = {}
    unreadable: list[Path] = []
    for file in sorted(PACKS.glob("*.json")):
        try:
            with file.open(encoding="utf-8") as opened:
                head = json.loads(opened.readline().rstrip().removesuffix(",") + "}")
            packs |= {str(name): file for name in head["names"]}
        except (OSError, *MALFORMED):
            unreadable.append(file)
    return packs, unreadable


@cache
def pack(file: Path) -> dict[str, dict]:
    """A file's exercises by name, still packed, since one exercise is checked at a time."""
    return {data["name"]: data for data in json.loads(file.read_text(encoding="utf-8"))["exercises"]}


def names_of_units() -> dict[str, tuple[str, ...]]:
    """Unit -> the names of its exercises, in the order of the course."""
    names_by_unit: dict[str, tuple[str, ...]] = {}
    for name, file in index()[0].items():
        names_by_unit[file.stem] = (*names_by_unit.get(file.stem, ()), name)
    return names_by_unit


def points_of(unit: str) -> dict[str, int]:
    """Exercise -> its points, of one unit; empty where its file cannot be read."""
    try:
        return {name: sum(data["points"].values()) for name, data in pack(PACKS / f"{unit}.json").items()}
    except (OSError, *MALFORMED):
        return {}
