"""Verbs for who is in the class and what they hand in: roster, collect."""

import argparse
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from autograder.commands.verb_maker import VerbMaker
from autograder.settings import KitError, find_unit


def add(verb: VerbMaker) -> None:
    """Adds these verbs; `verb(name, action, help)` gives a verb's parser."""
    roster = verb("roster", _roster, "who is in the class: list, bring up to date from an LMS's list, take out")
    roster.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="a CSV that Canvas, Moodle or Gradescope exports, or your own",
    )
    roster.add_argument(
        "--remove",
        nargs="+",
        default=[],
        metavar="ID",
        help="take students out of tables and reports; their work stays",
    )
    roster.add_argument("--restore", nargs="+", default=[], metavar="ID", help="take students in again")
    collect = verb("collect", _collect, "put what an LMS lets you download into the class's folder")
    collect.add_argument("unit")
    collect.add_argument("place", type=Path, metavar="ZIP_OR_FOLDER")
    collect.add_argument(
        "--times",
        type=Path,
        metavar="FILE",
        help="a table that says when each student handed in, such as Moodle's grading worksheet",
    )
    collect.add_argument("--all-names", action="store_true", help="name everybody where a list would be cut")


def _roster(options: argparse.Namespace) -> None:
    from autograder.gradebook.store import enrol
    from autograder.intake.lms import students
    from autograder.intake.lms.merging import merged
    from autograder.intake.lms.sections import counted

    listed = students.students()
    sentences: list[str] = []
    if options.file:
        listed, sentences = merged(listed, students.read(options.file))
    for names, has_left in ((options.remove, True), (options.restore, False)):
        for name in names:
            listed[_index_of(listed, name)] = replace(listed[_index_of(listed, name)], left=has_left)
    if not listed:
        raise KitError("the class has no list of students yet: give this the list that your LMS exports.")
    if options.file or options.remove or options.restore:
        students.write(listed)
        enrol([student for student in listed if not student.left])
    present = [student for student in listed if not student.left]
    print(
        f"{len(present)} students"
        + (f", and {len(listed) - len(present)} who have left" if len(present) < len(listed) else "")
    )
    for section, count in counted().items():
        print(f"  section {section}: {count}")
    for sentence in sentences:
        print(sentence)


def _index_of(listed: list, name: str) -> int:
    """The index in the list of the student who is named by id, number, login or address.

    Raises:
        KitError: nobody is called that; the message has the nearest id.
    """
    from autograder.intake.lms.students import called

    if student := called(name, listed):
        return listed.index(student)
    ids = [listed_student.id for listed_student in listed]
    nearest = get_close_matches(name, ids, 1)
    raise KitError(f"nobody in the class has the id {name!r}" + (f"; did you mean {nearest[0]!r}?" if nearest else "."))


def _collect(options: argparse.Namespace) -> None:
    from autograder.intake.lms.collecting import collect
    from autograder.intake.lms.telling import told

    unit = find_unit(options.unit)
    if not options.place.exists():
        raise KitError(f"there is no {options.place}.")
    for line in told(collect(unit, options.place, options.times), options.all_names):
        print(line)
