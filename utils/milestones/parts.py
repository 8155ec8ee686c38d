"""Puts a milestone's parts together: the student's own where its check passes, the course's for the others, and says which."""

from pathlib import Path

from utils.check import examine
from utils.checking.packs.shipped import names_of_units
from utils.milestones.declared import Milestone, milestone
from utils.milestones.lent import LENT
from utils.milestones.solved import definition, notebooks
from utils.progress import keep_milestone


class Parts:
    """What a milestone is made of: a function or class for each exercise, under its name.

    Attributes:
        milestone: the milestone.
        own: the names of those that are the student's.
    """

    def __init__(self, milestone: Milestone, own: dict):
        self.milestone, self.own = milestone, tuple(own)
        for name in milestone.exercises:
            setattr(self, name, own[name] if name in own else LENT[name])

    def reached(self) -> None:
        """Notes the milestone for `progress("all")`, and prints what is the student's own in it."""
        count, own = len(self.milestone.exercises), len(self.own)
        if not own:
            print("Nothing in it is your own code yet: solve a part, and run this notebook again.")
            return
        print(f"✓ {self.milestone.title}, with {own} of {count} parts of your own.")
        if not_kept := keep_milestone(self.milestone.name, own, count):
            print(not_kept)


def my_parts(name: str, work: str | Path | None = None) -> Parts:
    """The functions and classes that a milestone is made of; prints where each of them comes from.

    Each exercise that was solved is examined by its own self-check. What is missing, not begun or wrong is lent by the course.

    Args:
        name: of the milestone, as "03_my_translator".
        work: a folder that holds the solved assignments; without one, `assignments` in the course's folder.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    folder = Path(work).expanduser() if work else _course() / "assignments"
    if not folder.exists():
        raise FileNotFoundError(f"There is no folder {folder}. Give the one in which your solved notebooks are.")
    wanted = milestone(name)
    found = {one: _own(one, folder) for one in wanted.exercises}
    own = {one: made for one, (made, _) in found.items() if made is not None}
    told = {one: reason for one, (_, reason) in found.items()}
    for together in wanted.parts:
        missing = [one for one in together if one not in own]
        for one in together if missing else ():
            if own.pop(one, None) is not None:
                told[one] = f"yours is right, and waits for {missing[0]}"
    width = max(map(len, wanted.exercises))
    print(f"{wanted.title}. Its parts:")
    for one in wanted.exercises:
        mark = "✓" if one in own else "✗" if "does not pass" in told[one] else "·"
        print(f"  {mark} {one:{width}}  {'yours' if one in own else f'lent by the course: {told[one]}'}")
    return Parts(wanted, own)


def unit_of(name: str) -> str:
    """The unit of an exercise."""
    return next(unit for unit, names in names_of_units().items() if name in names)


def _course() -> Path:
    return Path(__file__).resolve().parents[2]


def _own(name: str, folder: Path) -> tuple[object, str]:
    """A student's solution of an exercise, from the first notebook in which its check passes; else None, and why."""
    unit = unit_of(name)
    reasons = {"": f"no notebook of assignment {unit[:2]} was found"}
    for file in notebooks(unit, folder):
        made = definition(name, file)
        if made is None:
            reasons.setdefault("absent", f"{file.name} does not define it")
            continue
        result = examine(name, made)
        if result.passed:
            return made, ""
        if result.points or result.problem != "unfinished":
            reasons.setdefault("wrong", f"yours does not pass; run check({name}) in assignment {unit[:2]} to see why")
        else:
            reasons.setdefault("begun", f"not begun in assignment {unit[:2]}")
    return None, next(reasons[what] for what in ("wrong", "begun", "absent", "") if what in reasons)
