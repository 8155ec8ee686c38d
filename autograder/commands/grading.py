"""Verbs that grade: judge, grade, regrade, mark."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.commands.verb_maker import VerbMaker
from autograder.settings import KitError, find_unit, find_units

if TYPE_CHECKING:
    from autograder.grading.class_run import Options


def add(verb: VerbMaker) -> None:
    """Adds these verbs; `verb(name, action, help)` gives a verb's parser."""
    judge = verb("judge", _judge, "examine the object that a Python file defines; prints JSON")
    judge.add_argument("exercise")
    judge.add_argument("file", type=Path)
    _add_sandbox(judge)
    grade = verb("grade", _grade, "grade what is new or changed of a unit's submissions into the gradebook")
    add_units(grade)
    grade.add_argument("--student", help="only this student, whether changed or not")
    grade.add_argument("--again", action="store_true", help="also what was graded before and has not changed")
    grade.add_argument(
        "--missing-as-zero",
        action="store_true",
        help="enter 0 where a submission that was graded is gone or can no longer be graded; otherwise its mark stays",
    )
    grade.add_argument("--table", action="store_true", help="a line for each student instead of the summary")
    add_section(grade)
    grade.add_argument("--quiet", action="store_true", help="print only what needs you")
    grade.add_argument(
        "--json", action="store_true", help="print the results as JSON, a line for each student and exercise"
    )
    _add_workers(grade)
    regrade = verb("regrade", _regrade, "grade a unit anew after a change, and show whose marks change before writing")
    regrade.add_argument("unit")
    regrade.add_argument("--yes", action="store_true", help="write the new marks without asking")
    _add_workers(regrade)
    mark = verb("mark", _mark, "mark one written question across all students, on a page in your browser")
    mark.add_argument("unit")
    mark.add_argument("--port", type=positive, default=None, help="of the page; default: any that is free")


def add_units(parser: argparse.ArgumentParser) -> None:
    """Adds the units, of which there may be several."""
    parser.add_argument("units", nargs="+", metavar="UNIT", help="such as 04 or 04_attention_layer; several, or all")


def add_section(parser: argparse.ArgumentParser) -> None:
    """Adds the choice of one section, by which what is shown is narrowed down."""
    parser.add_argument("--section", metavar="NAME", help="show only this section of the class's list of students")


def _add_sandbox(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sandbox", metavar="LEVEL", help="bubblewrap, landlock or rlimits; default: the best there is"
    )
    parser.add_argument("--accept-weak-sandbox", action="store_true", help="grade even where only rlimits can be had")


def _add_workers(parser: argparse.ArgumentParser) -> None:
    _add_sandbox(parser)
    parser.add_argument("--workers", type=positive, default=os.cpu_count() or 1, help="processes; default: one a core")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="send the work to a dask.distributed cluster")


def positive(text: str) -> int:
    """A number of processes, submissions or the like: at least 1."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")


def _device() -> str:
    """What submissions are examined on: the CPU, the same for everybody, unless COURSE_DEVICE asks for another."""
    if not os.environ.get("COURSE_DEVICE"):
        return "cpu"  # torch is not loaded for the default
    from utils.device import device

    try:
        return str(device())
    except RuntimeError as error:
        raise KitError(str(error)) from None


def _judge(options: argparse.Namespace) -> None:
    from autograder.grading.single_file import judge_file
    from autograder.sandbox.levels import choose

    device = _device()
    level = choose(options.sandbox, options.accept_weak_sandbox, device=device)
    print(json.dumps(judge_file(options.exercise, options.file, level, device), indent=2, ensure_ascii=False))


def _warm_up(options: argparse.Namespace) -> None:
    from autograder.grading.workers import local

    if not options.scheduler:
        local.warm_up()


def _options(options: argparse.Namespace) -> "Options":
    from autograder.grading.class_run import Options

    return Options(_device(), options.workers, options.scheduler, options.sandbox, options.accept_weak_sandbox)


def each(names: list[str], do: Callable[[str], object]) -> int:
    """Does something for each unit; where there are several, one that cannot be done is reported and the others are done.

    Raises:
        KitError: the only unit cannot be done, or one of the names is no unit's.
    """
    units, failed = find_units(names), 0
    for unit in units:
        try:
            do(unit)
        except KitError as error:
            if len(units) == 1:
                raise
            note(str(error))
            failed = 2
    return failed


def _grade(options: argparse.Namespace) -> int:
    find_units(options.units)
    _warm_up(options)
    from autograder.gradebook.marks import lateness, waiting
    from autograder.grading.class_run import grade, table
    from autograder.grading.summary import summary, who_needs_you
    from autograder.intake.lms.sections import find_section
    from autograder.intake.lms.students import students
    from autograder.intake.misfiled import misfiled

    section_students = find_section(options.section).students if options.section else None

    def grade_unit(unit):
        for sentence in misfiled(unit):
            note(sentence)
        records = grade(unit, _options(options), options.student, options.again, note, options.missing_as_zero)
        records = [record for record in records if section_students is None or record["student"] in section_students]
        if options.json:
            print("\n".join(json.dumps(record, ensure_ascii=False) for record in records))
        elif options.table or options.student:
            penalties = {student: delay.penalty for student, delay in lateness(unit).items()}
            print(table(records, {student.id: student.name for student in students()}, penalties))
        elif options.quiet:
            for line in who_needs_you(unit, records, waiting(unit, section_students)):
                print(line)
        else:
            late = {
                student: delay
                for student, delay in lateness(unit).items()
                if section_students is None or student in section_students
            }
            print("\n".join(summary(unit, records, late, waiting(unit, section_students))))
        _tell_what_is_left(unit)

    return each(options.units, grade_unit)


def _tell_what_is_left(unit: str) -> None:
    from autograder.gradebook.store import roster
    from autograder.grading.regrade import outdated
    from autograder.intake.roster import unusable

    if left_out := unusable(roster()):
        names = ", ".join(left_out[:5])
        subject = "folder or student is" if len(left_out) == 1 else "folders or students are"
        note(f"{len(left_out)} {subject} passed over, as such a name cannot be used: {names}. Rename it.")
    if count := outdated(unit):
        subject = "result comes" if count == 1 else "results come"
        note(f"{count} {subject} from an earlier version of the exercises or checks: see what `regrade {unit}` says.")


def note(sentence: str) -> None:
    """Prints a sentence on stderr, beside the output that was asked for."""
    print(f"autograder: {sentence}", file=sys.stderr)


def _regrade(options: argparse.Namespace) -> None:
    _warm_up(options)
    from autograder.grading.regrade import accept, regrade

    unit = find_unit(options.unit)
    lines, outcomes = regrade(unit, _options(options))
    print("\n".join(lines))
    if options.yes or (sys.stdin.isatty() and input("Write this to the gradebook? [y/N] ").strip().lower() == "y"):
        accept(unit, outcomes)
        print("Written.")
    else:
        print("Nothing was written; `--yes` writes it.")


def _mark(options: argparse.Namespace) -> None:
    from autograder.marking.server import page, server

    unit = find_unit(options.unit)
    page(unit, None)  # this raises a KitError for a unit that cannot be marked
    serving, address = server(unit, options.port or 0)
    print(f"{address}\nOpen this in a browser on this machine; Ctrl+C ends it.", flush=True)
    with serving:
        serving.serve_forever()
