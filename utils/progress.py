"""What is done and what is left: points of the self-checks, kept in a small file beside the notebook."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from utils.checking.judging.verdict import Result
from utils.checking.packs.shipped import names_of_units, points_of
from utils.milestones.declared import MILESTONES

FILE = ".progress.json"
REACHED = "milestones"  # what stands in such a file of milestones: by name, how many parts were the student's own
BEYOND = "a stretch, beyond the points"
# folder -> what could not be written there, for as long as the kernel runs
_UNWRITTEN: dict[Path, dict[str, dict]] = {}


def record(unit: str, result: Result) -> str:
    """Notes the points of a check in the notebook's folder; where nothing can be written there, for this kernel alone.

    Returns:
        a sentence that says so, the first time; else nothing.
    """
    folder = notebook_folder()
    known = _known(folder)
    begun = [] if result.points or result.problem != "unfinished" else [0]  # a stub is no wrong answer
    known.setdefault(unit, {})[result.exercise] = [result.points, result.max_points, int(result.passed), *begun]
    return _keep(folder, known)


def keep_milestone(name: str, own: int, parts: int) -> str:
    """Notes that a milestone was reached, and with how many parts of the student's own; a sentence if it cannot be kept."""
    folder = notebook_folder()
    known = _known(folder)
    known.setdefault(REACHED, {})[name] = [own, parts, int(own == parts)]
    return _keep(folder, known)


def _keep(folder: Path, known: dict) -> str:
    draft = folder / f"{FILE}.{os.getpid()}"
    try:
        draft.write_text(json.dumps(known, indent=1), encoding="utf-8")
        draft.replace(folder / FILE)
    except OSError as error:
        with suppress(OSError):  # on a read-only file system this fails for a file that is not there, too
            draft.unlink(missing_ok=True)
        first = not _UNWRITTEN
        _UNWRITTEN[folder] = known
        reason = f"Points cannot be kept in the notebook's folder ({error.strerror or type(error).__name__})"
        return f"  {reason}: progress() counts them until the kernel stops." if first else ""
    _UNWRITTEN.pop(folder, None)
    return ""


def progress(which: str = "") -> None:
    """Prints points and exercises done in this notebook's unit, as they were when last checked, and what is left.

    Args:
        which: "all" for every unit that was begun, in the notebook's folder and those beside it, and for the milestones.
    """
    units, folder = names_of_units(), notebook_folder()
    if which == "all":
        known: dict[str, dict] = {}
        for one in [*_beside(folder), folder]:
            for unit, results in _known(one).items():
                known.setdefault(unit, {}).update(results)
        begun = [unit for unit in units if known.get(unit)]
    else:
        known, namespace = _known(folder), sys._getframe(1).f_globals
        begun = [max(units, key=lambda unit: sum(name in namespace for name in units[unit]))] if units else []
    told = [_account(unit, points_of(unit), known.get(unit, {})) for unit in begun]
    if which == "all":
        told.append(_milestones(known))
    print("\n\n".join(filter(None, told)) or "No exercise was checked yet.")


def notebook_folder() -> Path:
    """The folder of the notebook, where VS Code or Jupyter tells it; else the kernel's working folder."""
    told = (getattr(sys.modules.get("__main__"), "__vsc_ipynb_file__", None), os.environ.get("JPY_SESSION_NAME"))
    return next((Path(file).parent for file in told if file and os.path.isfile(file)), Path())


def _beside(folder: Path) -> list[Path]:
    """The folders of other notebooks: beside this one, and in the course that both belong to."""
    with suppress(OSError):
        here = folder.resolve()
        places = (here.parent.glob(f"*/{FILE}"), here.parent.parent.glob(f"milestones/{FILE}"))
        if here.name == REACHED:
            places += (here.parent.glob(f"assignments/*/{FILE}"),)
        return sorted({file.parent for found in places for file in found})
    return []


def _milestones(known: dict[str, dict]) -> str:
    """A line for each milestone: reached, and how much of it was one's own; or how many of its parts are right by now."""
    right = {name for unit, results in known.items() if unit != REACHED for name, kept in results.items() if kept[2]}
    if not right and REACHED not in known:
        return ""
    lines = ["milestones: what your solved exercises are together"]
    for one in MILESTONES:
        own = known.get(REACHED, {}).get(one.name)
        parts = [name for name in one.exercises if name in right]
        state = f"{len(parts)} of its {len(one.exercises)} parts are solved"
        state = f"reached, {own[0]:g} of {own[1]:g} parts were yours" if own else state
        lines.append(f"  {'✓' if own else '·'} {one.title} (milestones/{one.name}.ipynb): {state}")
    return "\n".join(lines)


def _account(unit: str, exercises: dict[str, float], results: dict) -> str:
    lines, done, points = [], 0, 0.0
    for name, most in exercises.items():
        reached, _, right, *unbegun = results.get(name, [0, most, 0])
        done, points = done + bool(right and most), points + reached
        mark = "✓" if right else "✗" if name in results and not unbegun else "·"
        state = f"{reached:g} of {most:g} points" if name in results else f"not checked yet, {most:g} points"
        state = f"not begun, {most:g} points" if unbegun else state
        lines.append(f"  {mark} {name}: {state if most else BEYOND}")
    total = f"{points:g} of {sum(exercises.values()):g} points"
    head = f"{unit}: {total}, {done} of {sum(map(bool, exercises.values()))} exercises done"
    return "\n".join([head, *lines, "  Written answers have points of their own, which a person gives."])


def _known(folder: Path) -> dict[str, dict]:
    """What is noted of a folder's units: what could not be written there, else what was."""
    return _UNWRITTEN[folder] if folder in _UNWRITTEN else _read(folder / FILE)


def _read(file: Path) -> dict[str, dict]:
    """Unit -> exercise -> [points, most points, whether all is right], and a fourth number where the stub is all there is.

    Empty where no such file can be read.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8-sig")) if file.is_file() else {}
        return {
            str(unit): {
                str(name): [float(value) for value in kept] for name, kept in results.items() if len(kept) in (3, 4)
            }
            for unit, results in found.items()
        }
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
