"""Verbs for who makes the course: release, audit, build, margins, demo, attacks, bench."""

import argparse
import os
import sys
from pathlib import Path

from autograder.commands.grading import positive
from autograder.commands.verb_maker import VerbMaker
from autograder.settings import declared_units, find_unit, find_units, units


def add(verb: VerbMaker) -> None:
    """Adds these verbs; `verb(name, action, help)` gives a verb's parser."""
    release = verb("release", _release, "generate a unit's assignment and the student bundle")
    release.add_argument("units", nargs="+", metavar="UNIT", help="such as 04 or 04_attention_layer; several, or all")
    release.add_argument("--publish", type=Path, metavar="DIR", help="also write the students' repository into DIR")
    audit = verb("audit", _audit, "prove that the checks catch every mistake and pass every alternative")
    audit.add_argument(
        "names", nargs="*", metavar="NAME", help="units or exercises, such as 09 or layer_norm; default: all"
    )
    build = verb("build", _build, "rebuild notebooks, assignments and self-checks from their sources")
    build.add_argument("units", nargs="*", metavar="UNIT", help="such as 04; default: all")
    build.add_argument("--no-execute", action="store_true", help="leave lessons as they are that would have to be run")
    demo = verb("demo", _demo, "build a sample class, grade it and show the results")
    demo.set_defaults(unit="04_attention_layer")
    margins = verb(
        "margins", _margins, "run lessons with other random numbers: how near are their assertions to failing"
    )
    margins.add_argument(
        "units", nargs="*", metavar="UNIT", help="such as 04; default: all, which takes an hour or more"
    )
    attacks = verb("attacks", _attacks, "try every attack at every sandbox level, and on stock nbgrader")
    attacks.add_argument("--no-stock", action="store_true", help="leave stock nbgrader out, which takes minutes")
    attacks.add_argument("--write", type=Path, metavar="FILE", help="also write the table into a Markdown file")
    bench = verb("bench", _bench, "measure lessons, checks, audits and grading against their bounds")
    bench.add_argument(
        "--size", type=positive, default=200, help="submissions of the class that is graded; default: 200"
    )
    bench.add_argument("--workers", type=positive, default=os.cpu_count() or 1)
    bench.add_argument("--grading-only", action="store_true", help="leave lessons, checks and audits out")


def _release(options: argparse.Namespace) -> None:
    from autograder.authoring.release import release

    printed = set()  # lines about what is written for all units are printed once
    for unit in find_units(options.units):
        for line in release(unit, options.publish):
            if line not in printed:
                print(line, flush=True)
            printed.add(line)


def _audit(options: argparse.Namespace) -> int:
    # Only a process with one thread can be forked safely.
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    from autograder.bank import catalogue
    from autograder.bank.audit.auditing import audit, table

    unit_of = catalogue.unit_of()
    names = [name if name in unit_of else find_unit(name, declared_units()) for name in options.names or units()]
    rows = audit(*names)
    print(table(rows))
    return 1 if any(row.faults for row in rows) else 0


def _build(options: argparse.Namespace) -> None:
    from autograder.authoring.build import build

    for file in build([find_unit(unit) for unit in options.units] or units(), execute=not options.no_execute):
        print(file, flush=True)


def _demo(options: argparse.Namespace) -> None:
    from autograder.trials.demo import demo

    for line in demo(options.unit):
        print(line, flush=True)


def _attacks(options: argparse.Namespace) -> int:
    from autograder.trials.attacks.run import attacks

    page, faults = attacks(not options.no_stock)
    print(page)
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    for fault in faults:
        print(f"✗ {fault}", file=sys.stderr)
    return 1 if faults else 0


def _margins(options: argparse.Namespace) -> int:
    from autograder.trials.margins import margins, record, table

    rows = []
    for unit in [find_unit(unit) for unit in options.units] or units():
        rows += (measured := [*margins([unit])])
        record(measured)
    print(table(rows), end="")
    return 1 if any(row.held < row.runs for row in rows) else 0


def _bench(options: argparse.Namespace) -> None:
    from autograder.trials.bench import bench

    for line in bench(options.size, options.workers, options.grading_only):
        print(line, flush=True)
