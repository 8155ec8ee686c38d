"""Where things are and what they are called: folders, units, the configuration, and the class's secret with its seeds."""

import hashlib
import os
import re
import secrets
import tomllib
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from autograder.files import create_whole

ROOT = Path(__file__).resolve().parent.parent
LESSONS, LESSON_TWINS = ROOT / "notebooks", ROOT / "notebooks" / "text"
MILESTONES, MILESTONE_TWINS = ROOT / "milestones", ROOT / "milestones" / "text"
SOLUTIONS = ROOT / "solutions"
BOOK = ROOT / "book"  # what a reader opens, once it was built
# another folder keeps a trial out of the repository's
ASSIGNMENTS = ROOT / os.environ.get("COURSE_RELEASE", "assignments")
CHECK = "check_"  # a test cell's grade_id is this and the exercise's name


class KitError(Exception):
    """Something that the person at the command line can mend; its message is one sentence for them."""


def declared_units() -> list[str]:
    """The units whose exercises are declared, in order, also before they have a lesson; nothing is loaded."""
    folders = sorted((ROOT / "autograder" / "exercises").glob("unit_*"))
    return [folder.name.removeprefix("unit_") for folder in folders]


def units() -> list[str]:
    """The units of the course, such as "04_attention_layer", in order: those with a lesson; nothing is loaded."""
    return [name for name in declared_units() if (LESSON_TWINS / f"{name}.py").exists()]


def find_unit(name: str, among: list[str] | None = None) -> str:
    """The full name of a unit given in full or by its number.

    Args:
        among: the units that are meant, if not those of the course.

    Raises:
        KitError: there is none; the message tells the nearest and lists those there are.
    """
    candidates = units() if among is None else among
    for unit in candidates:
        if name in (unit, unit[:2], unit[:2].lstrip("0"), unit[3:]):
            return unit
    nearest = get_close_matches(name, [*candidates, *(unit[3:] for unit in candidates)], 1)
    suggestion = f"did you mean {nearest[0]!r}? There are" if nearest else "there are"
    raise KitError(f"no unit is called {name!r}; {suggestion}: {', '.join(candidates)}")


def find_units(names: list[str]) -> list[str]:
    """The full names of several units; "all" means each of the course.

    Raises:
        KitError: there is no such unit.
    """
    return units() if names == ["all"] else list(dict.fromkeys(find_unit(name) for name in names))


@cache
def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def table() -> dict:
    """The table [tool.course] of pyproject.toml."""
    return _project()["tool"]["course"]


def address() -> str | None:
    """The repository's address, or None while pyproject.toml holds the placeholder."""
    stated = table()["repository"].removesuffix("/")
    return None if "/OWNER/" in stated else stated


def version() -> str:
    """The course's version, as pyproject.toml says it."""
    return _project()["project"]["version"]


def course_id() -> str:
    """What nbgrader calls the course, on its exchange too: COURSE_ID, else pyproject.toml's `course_id`, else attention-course.

    Raises:
        KitError: nbgrader cannot use it.
    """
    identifier = os.environ.get("COURSE_ID") or table().get("course_id", "attention-course")
    if re.fullmatch(r"[\w-][\w.-]*", identifier):
        return identifier
    raise KitError(
        f"the course's id {identifier!r} cannot be used: it takes letters, digits, dots, dashes and underscores."
    )


def class_folder() -> Path:
    """The folder of submissions, results, feedback and gradebook; COURSE_CLASS names another than `classroom`."""
    return ROOT / os.environ.get("COURSE_CLASS", "classroom")


def make_class_folder() -> Path:
    """The class's folder, made if there is none; then nobody else on this machine can look into it."""
    folder = class_folder()
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


# How many draws of cases there are, which the submissions share out among them.
DRAWS = 8


def submission_seed(unit: str, student: str, digest: str = "") -> str:
    """The seed of the cases that one submission is graded on: the same each time it is graded, and not to be guessed.

    It is one of a few, so that what is expected is computed once for many submissions. Nobody can tell which.

    Args:
        digest: what tells the submission from other versions of it, so that a student's next one mostly meets other cases.
    """
    key = f"{secret()} {unit} {student} {digest}".encode()
    number = int.from_bytes(hashlib.sha256(key).digest()[:8], "little") % DRAWS
    return f"{unit}, draw {number} of {secret()}"


def secret() -> str:
    """A random word of this class, made when it is first asked for.

    Raises:
        KitError: its file is empty, which no process of the kit leaves behind.
    """
    file = class_folder() / ".seed"
    if not file.exists():
        make_class_folder()
        create_whole(file, secrets.token_hex(16))
    if class_secret := file.read_text(encoding="utf-8"):
        return class_secret
    raise KitError(f"{file} is empty: delete it, and the class gets a new one.")


def database() -> str:
    """The gradebook's URL: COURSE_GRADEBOOK, else pyproject.toml's, else SQLite in the class's folder."""
    configured = os.environ.get("COURSE_GRADEBOOK") or table().get("gradebook")
    url = configured or f"sqlite:///{class_folder() / 'gradebook.db'}"
    return re.sub("^postgres(ql)?://", "postgresql+psycopg://", url)  # the driver that requirements.txt brings
