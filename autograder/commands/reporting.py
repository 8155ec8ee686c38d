"""Verbs that tell what grading has found: feedback, report, export."""

import argparse
from pathlib import Path

from autograder.commands.grading import add_section, add_units, each, note, positive
from autograder.commands.verb_maker import VerbMaker
from autograder.intake.places import listed
from autograder.settings import KitError, find_units


def add(verb: VerbMaker) -> None:
    """Adds these verbs; `verb(name, action, help)` gives a verb's parser."""
    feedback = verb("feedback", _feedback, "write each student's feedback page")
    add_units(feedback)
    feedback.add_argument("--student", help="only this student's")
    feedback.add_argument("--quiet", action="store_true", help="print nothing")
    _add_workers(feedback)
    packed = feedback.add_mutually_exclusive_group()
    packed.add_argument(
        "--zip",
        nargs="?",
        const=True,
        metavar="FILE",
        help="also pack the pages so that Moodle or Canvas takes them; default: in the class's folder",
    )
    packed.add_argument("--folder", type=Path, metavar="DIR", help="the same, not packed, into a folder of its own")
    export = verb("export", _export, "write marks as a table, or into a file of your LMS")
    add_units(export)
    add_section(export)
    export.add_argument(
        "--into",
        type=Path,
        metavar="FILE",
        help="the gradebook that Canvas exports, Moodle's grading worksheet, or another table that names students",
    )
    report = verb("report", _report, "write the class report of a unit, or that of the course")
    report.add_argument(
        "units", nargs="*", metavar="UNIT", help="such as 04 or 04_attention_layer; several, or all; none with --course"
    )
    report.add_argument("--course", action="store_true", help="one page over all units that have results")
    report.add_argument("--pseudonyms", action="store_true", help="replace names by ones that say nothing")
    add_section(report)
    _add_workers(report)


def _add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=positive, help="processes; default: one a core")


def _feedback(options: argparse.Namespace) -> int:
    from autograder.reports.feedback import write_feedback
    from autograder.reports.giving_back import as_folder, as_zip, told

    if (options.zip not in (None, True) or options.folder) and len(find_units(options.units)) > 1:
        raise KitError("one file or folder holds one unit: give one unit, or `--zip` without a file.")

    def write_pages(unit):
        pages = write_feedback(unit, options.student, options.workers)
        if options.zip or options.folder:
            file = None if options.zip is True else Path(options.zip or ".")
            packed = as_folder(unit, pages, options.folder) if options.folder else as_zip(unit, pages, file)
            lines = [*told(packed)]
        else:
            is_short = len(pages) <= 3
            lines = [*map(str, pages)] if is_short else [f"{len(pages)} feedback pages, such as {pages[0]}"]
        if not options.quiet:
            print("\n".join(lines))

    return each(options.units, write_pages)


def _export(options: argparse.Namespace) -> int:
    from autograder.reports.export import as_table, into

    def export_unit(unit):
        exported = into(unit, options.into, options.section) if options.into else as_table(unit, options.section)
        print(
            f"{exported.file}: {exported.filled} marks"
            + (f", in the column {exported.column!r}" if exported.column else "")
        )
        if exported.scale:
            note(
                f"{options.into} allows at most {exported.scale}: change that there, or the marks mean something else."
            )
        if exported.pending:
            note(
                f"{len(exported.pending)} of these have written answers that are not graded yet: {listed(exported.pending)}."
            )
        if exported.unknown:
            note(f"{options.into} does not name {listed(exported.unknown)}; their marks are not in it.")

    return each(options.units, export_unit)


def _report(options: argparse.Namespace) -> int:
    if options.course == bool(options.units):
        raise KitError("name the units to report on, or give --course alone for the report over all of them.")
    if options.course:
        from autograder.reports.course_report import write_course_report

        print(write_course_report(options.pseudonyms, options.section))
        return 0
    from autograder.reports.class_report import write_report

    return each(
        options.units, lambda unit: print(write_report(unit, options.pseudonyms, options.section, options.workers))
    )
