"""The kit's command line, `python -m autograder` or `attention-course`: its verbs are in `commands/`."""

import argparse
import os
import sys
from pathlib import Path

from autograder.commands import authoring, class_list, grading, reporting
from autograder.settings import KitError, version


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
    program = "python -m autograder" if Path(sys.argv[0]).stem == "__main__" else Path(sys.argv[0]).name
    parser = argparse.ArgumentParser(prog=program, description=__doc__)
    parser.add_argument("--version", action="version", version=f"attention-course {version()}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    def verb(name, action, help):
        verb_parser = verbs.add_parser(name, help=help, description=help)
        verb_parser.set_defaults(verb=action)
        return verb_parser

    for kind in (class_list, grading, reporting, authoring):
        kind.add(verb)
    return parser


if __name__ == "__main__":
    sys.exit(main())
