"""The self-checks that come with the course, as they lie in files: which file holds which exercise, and for how many points."""

import json
from functools import cache
from pathlib import Path

PACKS = Path(__file__).resolve().parent
MALFORMED = (KeyError, TypeError, ValueError, AttributeError)  # what reading a damaged file raises


@cache
def index() -> tuple[dict[str, Path], list[Path]]:
    """Which file holds the checks of which exercise, as the files' first lines say; and the files that do not say it.

    A notebook checks exercises of one unit: what the other units' files hold is not read.
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
    """What a file holds, by exercise; still packed, for one exercise at a time is checked."""
    return {data["name"]: data for data in json.loads(file.read_text(encoding="utf-8"))["exercises"]}


def names_of_units() -> dict[str, tuple[str, ...]]:
    """Unit -> the names of its exercises, in the order of the course."""
    found: dict[str, tuple[str, ...]] = {}
    for name, file in index()[0].items():
        found[file.stem] = (*found.get(file.stem, ()), name)
    return found


def points_of(unit: str) -> dict[str, int]:
    """Exercise -> its points, of one unit; empty where its file cannot be read."""
    try:
        return {name: sum(data["points"].values()) for name, data in pack(PACKS / f"{unit}.json").items()}
    except (OSError, *MALFORMED):
        return {}
