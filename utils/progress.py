"""What is done and what is left: points of the self-checks, kept in a small file beside the notebook."""

import json
import os
import sys
from pathlib import Path

from utils.checking.shipped import names_of_units, points_of
from utils.checking.verdict import Result

FILE = ".progress.json"
BEYOND = "a stretch, beyond the points"


def record(unit: str, result: Result) -> None:
    """Notes the points of a check in the notebook's folder; where nothing can be written, nothing is noted."""
    file = Path(FILE)
    known = _read(file)
    known.setdefault(unit, {})[result.exercise] = [result.points, result.max_points, int(result.passed)]
    draft = file.with_suffix(f".{os.getpid()}")
    try:
        draft.write_text(json.dumps(known, indent=1), encoding="utf-8")
        draft.replace(file)
    except OSError:
        draft.unlink(missing_ok=True)


def progress(which: str = "") -> None:
    """Prints points and exercises done in this notebook's unit, as they were when last checked, and what is left.

    Args:
        which: "all" for every unit that was begun, in this folder and those beside it.
    """
    units = names_of_units()
    if which == "all":
        known: dict[str, dict] = {}
        for file in [*Path.cwd().parent.glob(f"*/{FILE}"), Path(FILE)]:
            for unit, results in _read(file).items():
                known.setdefault(unit, {}).update(results)
        begun = [unit for unit in units if known.get(unit)]
    else:
        known, namespace = _read(Path(FILE)), sys._getframe(1).f_globals
        begun = [max(units, key=lambda unit: sum(name in namespace for name in units[unit]))] if units else []
    print(
        "\n\n".join(_account(unit, points_of(unit), known.get(unit, {})) for unit in begun)
        or "No exercise was checked yet."
    )


def _account(unit: str, exercises: dict[str, int], results: dict) -> str:
    lines, done, points = [], 0, 0
    for name, most in exercises.items():
        reached, _, right = results.get(name, [0, most, 0])
        done, points = done + (right if most else 0), points + reached
        mark = "✓" if right else "✗" if name in results else "·"
        state = f"{reached} of {most} points" if name in results else f"not checked yet, {most} points"
        lines.append(f"  {mark} {name}: {state if most else BEYOND}")
    head = f"{unit}: {points} of {sum(exercises.values())} points, {done} of {sum(map(bool, exercises.values()))} exercises done"
    return "\n".join([head, *lines, "  Written answers have points of their own, which a person gives."])


def _read(file: Path) -> dict[str, dict]:
    """Unit -> exercise -> [points, most points, whether all is right]; empty where no such file can be read."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {
            str(unit): {str(name): [int(value) for value in kept] for name, kept in results.items() if len(kept) == 3}
            for unit, results in found.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
