"""The kit's command line: release, judge, grade, feedback, report, audit, and the build of the notebooks."""

import argparse
import json
import os
import sys
from pathlib import Path

from autograder.commands import class_list
from autograder.settings import KitError, declared_units, find_unit, units


def main(arguments: list[str] | None = None) -> int:
    """Runs one verb; returns its exit status: 0 done, 1 the audit found faults, 2 something must be mended first."""
    options = _parser().parse_args(arguments)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    try:
        return options.verb(options) or 0
    except KitError as error:
        print(f"autograder: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"autograder: {place}{error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("autograder: stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m autograder", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    def verb(name, action, help):
        made = verbs.add_parser(name, help=help, description=help)
        made.set_defaults(verb=action)
        return made

    release = verb("release", _release, "generate a unit's assignment and the student bundle")
    release.add_argument("unit", help="such as 04 or 04_attention_layer")
    release.add_argument("--publish", type=Path, metavar="DIR", help="also write the students' repository into DIR")
    class_list.add(verb)
    judge = verb("judge", _judge, "examine the object that a Python file defines; prints JSON")
    judge.add_argument("exercise")
    judge.add_argument("file", type=Path)
    _add_sandbox(judge)
    grade = verb("grade", _grade, "grade what is new or changed of a unit's submissions into the gradebook")
    grade.add_argument("unit")
    grade.add_argument("--student", help="only this student, whether changed or not")
    grade.add_argument("--again", action="store_true", help="also what was graded before and has not changed")
    grade.add_argument(
        "--missing-as-zero",
        action="store_true",
        help="enter 0 where a submission that was graded is gone or can no longer be graded; otherwise its mark stays",
    )
    _add_workers(grade)
    regrade = verb("regrade", _regrade, "grade a unit anew after a change, and show whose marks change before writing")
    regrade.add_argument("unit")
    regrade.add_argument("--yes", action="store_true", help="write the new marks without asking")
    _add_workers(regrade)
    feedback = verb("feedback", _feedback, "write each student's feedback page")
    feedback.add_argument("unit")
    feedback.add_argument("--student", help="only this student's")
    report = verb("report", _report, "write the class report")
    report.add_argument("unit")
    report.add_argument("--pseudonyms", action="store_true", help="replace names by ones that say nothing")
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
    bench.add_argument("--size", type=int, default=200, help="submissions of the class that is graded; default: 200")
    bench.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    bench.add_argument("--grading-only", action="store_true", help="leave lessons, checks and audits out")
    return parser


def _add_sandbox(parser) -> None:
    parser.add_argument(
        "--sandbox", metavar="LEVEL", help="bubblewrap, landlock or rlimits; default: the best there is"
    )
    parser.add_argument("--accept-weak-sandbox", action="store_true", help="grade even where only rlimits can be had")


def _add_workers(parser) -> None:
    _add_sandbox(parser)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes; default: one a core")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="send the work to a dask.distributed cluster")


def _device() -> str:
    """What submissions are examined on: the CPU, the same for everybody, unless COURSE_DEVICE asks for another."""
    if not os.environ.get("COURSE_DEVICE"):
        return "cpu"  # torch is not loaded here
    from utils.device import device

    try:
        return str(device())
    except RuntimeError as error:
        raise KitError(str(error)) from None


def _judge(options):
    from autograder.grading.single_file import judge_file
    from autograder.sandbox.levels import choose

    device = _device()
    level = choose(options.sandbox, options.accept_weak_sandbox, device=device)
    print(json.dumps(judge_file(options.exercise, options.file, level, device), indent=2, ensure_ascii=False))


def _audit(options):
    for library in ("OMP", "OPENBLAS", "MKL"):  # a process with one thread can be forked
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    from autograder.bank import catalogue
    from autograder.bank.audit import audit, table

    known = catalogue.unit_of()
    names = [name if name in known else find_unit(name, declared_units()) for name in options.names or units()]
    rows = audit(*names)
    print(table(rows))
    return 1 if any(row.faults for row in rows) else 0


def _build(options):
    from autograder.authoring.build import build

    for file in build([find_unit(unit) for unit in options.units] or units(), execute=not options.no_execute):
        print(file, flush=True)


def _release(options):
    from autograder.authoring.release import release

    for line in release(find_unit(options.unit), options.publish):
        print(line)


def _warm_up(options):
    from autograder.grading.workers import local

    if not options.scheduler:
        local.warm_up()


def _options(options):
    from autograder.grading.class_run import Options

    return Options(_device(), options.workers, options.scheduler, options.sandbox, options.accept_weak_sandbox)


def _grade(options):
    _warm_up(options)
    from autograder.gradebook.store import roster
    from autograder.grading.class_run import grade, table
    from autograder.grading.regrade import outdated
    from autograder.intake.misfiled import misfiled
    from autograder.intake.roster import unusable

    unit, zero = find_unit(options.unit), options.missing_as_zero
    for sentence in misfiled(unit):
        _note(sentence)
    print(table(grade(unit, _options(options), options.student, options.again, _note, zero)))
    if left_out := unusable(roster()):
        names = ", ".join(left_out[:5])
        what = "folder or student is" if len(left_out) == 1 else "folders or students are"
        _note(f"{len(left_out)} {what} passed over, as such a name cannot be used: {names}. Rename it.")
    if count := outdated(unit):
        what = "result comes" if count == 1 else "results come"
        _note(f"{count} {what} from an earlier version of the exercises or checks: see what `regrade {unit}` says.")


def _note(sentence: str) -> None:
    print(f"autograder: {sentence}", file=sys.stderr)


def _regrade(options):
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


def _feedback(options):
    from autograder.reports.feedback import write_feedback

    for file in write_feedback(find_unit(options.unit), options.student):
        print(file)


def _report(options):
    from autograder.reports.class_report import write_report

    print(write_report(find_unit(options.unit), options.pseudonyms))


def _demo(options):
    from autograder.trials.demo import demo

    for line in demo(options.unit):
        print(line, flush=True)


def _attacks(options):
    from autograder.trials.attacks.run import attacks

    page, faults = attacks(not options.no_stock)
    print(page)
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    for fault in faults:
        print(f"✗ {fault}", file=sys.stderr)
    return 1 if faults else 0


def _margins(options):
    from autograder.trials.margins import margins, record, table

    rows = []
    for unit in [find_unit(unit) for unit in options.units] or units():
        rows += (found := [*margins([unit])])
        record(found)
    print(table(rows), end="")
    return 1 if any(row.held < row.runs for row in rows) else 0


def _bench(options):
    from autograder.trials.bench import bench

    for line in bench(options.size, options.workers, options.grading_only):
        print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
