"""Runs assignments from top to bottom on a fresh copy and prints the points of their self-checks: for GitHub Actions, say.

`python -m utils.run_checks 04` does so in the course's folder; with `--classroom` the points go to GitHub Classroom, too.
"""

import argparse
import base64
import json
import math
import os
import sys
import tempfile
from pathlib import Path

from utils.checking.packs.shipped import names_of_units, points_of
from utils.progress import FILE

COURSE = Path(__file__).resolve().parent.parent


def main(arguments: list[str] | None = None) -> int:
    """The command line; gives 0 where every notebook could be run, whatever its points, else 2."""
    reader = argparse.ArgumentParser(prog="python -m utils.run_checks", description=__doc__.splitlines()[0])
    reader.add_argument("units", nargs="+", metavar="UNIT", help="a number, such as 04, or a name")
    reader.add_argument("--seconds", type=int, default=120, help="that one cell may take (120)")
    reader.add_argument("--classroom", action="store_true", help="give the points to GitHub Classroom's reporter")
    options = reader.parse_args(arguments)
    known = names_of_units()
    tests, unrun = [], 0
    for asked in options.units:
        unit = next((one for one in known if asked in (one, one[:2], one[:2].lstrip("0"), one[3:])), "")
        if not unit:
            reader.error(f"no unit is called {asked!r}; there are: {', '.join(known)}")
        results, said = _run(COURSE / "assignments" / unit / f"{unit}.ipynb", options.seconds)
        noted = (results or {}).get(unit, {})
        for reason in said:
            if not any(reason.startswith(f"✗ {name} ·") for name in _not_begun(noted)):
                print(reason, end="\n\n")
        unrun += results is None
        tests += _told(unit, known[unit], noted)
    if options.classroom:
        _report(tests)
    return 2 if unrun else 0


def _run(notebook: Path, seconds: int) -> tuple[dict | None, list[str]]:
    """What the checks of a notebook note, and the errors that its cells end with; None where it cannot be run at all."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    try:
        copy = nbformat.read(notebook, as_version=4)
    except Exception as error:  # whatever a notebook that is none makes its reader stumble over
        return None, [f"✗ {notebook.name} cannot be read ({type(error).__name__}: {error})."]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(COURSE), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as place:  # what was noted before does not count
        stopped = []
        try:
            told = {"kernel_name": "python3", "resources": {"metadata": {"path": place}}}
            NotebookClient(copy, timeout=seconds, allow_errors=True, **told).execute()
        except (CellTimeoutError, DeadKernelError) as error:
            why = f"a cell took longer than {seconds} seconds" if isinstance(error, CellTimeoutError) else "it crashed"
            stopped = [f"✗ {notebook.name} was not run to its end: {why}. What comes after that cell has no points."]
        noted = Path(place, FILE)
        results = json.loads(noted.read_text(encoding="utf-8")) if noted.exists() else {}
    return results, [*_errors(copy), *stopped]


def _errors(notebook) -> list[str]:
    """What a failing check says, and what error another cell ends with; stubs that are still to be filled in say nothing."""
    outputs = [one for cell in notebook.cells if cell.cell_type == "code" for one in cell.get("outputs", [])]
    errors = [one for one in outputs if one.output_type == "error" and one.ename != "NotImplementedError"]
    return [one.evalue if one.ename == "CheckFailed" else f"{one.ename}: {one.evalue}" for one in errors]


def _not_begun(results: dict) -> list[str]:
    return [name for name, kept in results.items() if len(kept) > 3]


def _told(unit: str, exercises: tuple[str, ...], results: dict) -> list[dict]:
    """Prints a line for each exercise of a unit, and gives them as GitHub Classroom's reporter takes them."""
    most, tests = points_of(unit), []
    reached = {name: results.get(name, [0, 0, 0]) for name in exercises}
    total = sum(points for points, *_ in reached.values())
    print(f"{unit}: {total:g} of {sum(most.values()):g} points in the self-checks")
    for name, (points, _, right, *_) in reached.items():
        state = f"{points:g} of {most[name]:g} points" if most[name] else "a stretch, beyond the points"
        print(f"  {'✓' if right else '✗' if name in results.keys() - _not_begun(results) else '·'} {name}: {state}")
        tests.append({"name": name, "status": "pass" if right else "fail", "score": math.floor(points)})
        tests[-1] |= {"message": state, "test_code": f"check({name})", "line_no": 0, "max_score": most[name]}
    return [one for one in tests if one["max_score"]]


def _report(tests: list[dict]) -> None:
    """Gives the points, rounded down to whole ones, to the steps that follow: as `result`, where GitHub reads outputs."""
    status = "pass" if all(one["status"] == "pass" for one in tests) else "fail"
    said = {"version": 1, "status": status, "max_score": sum(one["max_score"] for one in tests), "tests": tests}
    line = f"result={base64.b64encode(json.dumps(said).encode()).decode()}\n"
    if file := os.environ.get("GITHUB_OUTPUT"):
        with open(file, "a", encoding="utf-8") as output:
            output.write(line)
    else:
        print(line, end="")


if __name__ == "__main__":
    sys.exit(main())
