"""How far lessons' assertions are from failing: over several seeds, and two instruction sets of the processor."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from autograder import settings
from autograder.authoring.build import dressed
from autograder.authoring.provenance import made_from

SETS = {"native": {}, "plain": {"ATEN_CPU_CAPABILITY": "default"}}
# run 0 has the lesson's own seeds
RUNS = [*((run, "native") for run in range(5)), *((run, "plain") for run in range(2))]
RECORD, PAGE = Path(__file__).with_suffix(".json"), settings.ROOT / "docs" / "margins.md"


@dataclass(frozen=True)
class Margin:
    """An assertion of a lesson over all runs: in how many it held, of how many, and its least margin, if it compares sizes."""

    unit: str
    text: str
    held: int
    runs: int
    least: float | None


def margins(units: Iterable[str], processes: int = 2) -> Iterator[Margin]:
    """The margins of each lesson's assertions, lesson by lesson in the order of the lesson.

    Raises:
        KitError: a lesson ends with an error.
    """
    with ThreadPoolExecutor(processes) as pool:
        for unit in units:
            runs = [(settings.LESSON_TWINS / f"{unit}.py", run, name) for run, name in RUNS]
            yield from _joined(unit, [*pool.map(seen, *zip(*runs))])


def seen(twin: Path, run: int, name: str) -> list[dict]:
    """What the assertions of a lesson say in one run, with one of the instruction sets."""
    command = [sys.executable, "-m", "autograder.trials.watched_lesson", str(twin), str(run)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **SETS[name]}
    completed = subprocess.run(command, cwd=settings.ROOT, env=environment, capture_output=True, text=True)
    if completed.returncode:
        raise settings.KitError(
            f"{twin.stem}, run {run}, {name} instructions: {completed.stderr.strip().splitlines()[-1]}"
        )
    return json.loads(completed.stdout)


def _joined(unit: str, runs: list[list[dict]]) -> Iterator[Margin]:
    """One row for each assertion; an assertion that stands in the text twice counts as two."""
    for place, first in enumerate(runs[0]):
        same_assertion = [run[place] for run in runs if place < len(run) and run[place]["text"] == first["text"]]
        compared_margins = [assertion["margin"] for assertion in same_assertion if assertion["margin"] is not None]
        held = sum(assertion["held"] for assertion in same_assertion)
        yield Margin(unit, first["text"], held, len(runs), min(compared_margins) if compared_margins else None)


def measured_on(unit: str) -> str:
    """A digest of all that a lesson's assertions depend on: everything that it is made from but the drawing."""
    twin = settings.LESSON_TWINS / f"{unit}.py"
    return made_from(twin, dressed(twin), apart=settings.ROOT / "utils" / "figures")


def recorded() -> dict[str, dict]:
    """What is recorded of each lesson: the digest of what was measured, and its assertions."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def record(rows: Iterable[Margin]) -> None:
    """Enters the assertions of whole lessons into the record, and writes the page anew."""
    contents, rows = recorded(), list(rows)
    for unit in dict.fromkeys(row.unit for row in rows):
        assertions = [
            [row.text, row.held, row.runs, row.least and round(row.least, 3)] for row in rows if row.unit == unit
        ]
        contents[unit] = {"made_from": measured_on(unit), "assertions": assertions}
    RECORD.write_text(json.dumps(contents, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The record as a page of Markdown."""
    rows = [Margin(unit, *assertion) for unit, lesson in recorded().items() for assertion in lesson["assertions"]]
    note = "\nWhat is compared may be stored, and then is the same in every run: a small margin is no risk there.\n"
    return "# How far the lessons' assertions are from failing\n\n" + table(rows) + note


def table(rows: Iterable[Margin], below: float = 0.1) -> str:
    """Markdown: for each lesson how many assertions hold in all runs, and those that do not or whose margin is small."""
    rows = list(rows)
    lines = [
        "Each lesson's code, run five times with different random numbers on the widest instruction set of the processor, and",
        "twice on the plainest. A margin is how far two numbers are apart that an assertion compares by size, as a share of the",
        "larger one: the least of all runs. `python -m autograder margins` measures them.",
        "",
        "| lesson | assertions | hold in every run | by a margin below 10 % |",
        "|---|---|---|---|",
    ]
    for unit in dict.fromkeys(row.unit for row in rows):
        unit_rows = [row for row in rows if row.unit == unit]
        always_held = [row for row in unit_rows if row.held == row.runs]
        close_rows = [row for row in always_held if row.least is not None and row.least < below]
        lines.append(f"| {unit} | {len(unit_rows)} | {len(always_held)} | {len(close_rows)} |")
    weak = [row for row in rows if row.held < row.runs]
    lines += ["", *(f"- ✗ {row.unit}: holds in {row.held} of {row.runs}: `{row.text}`" for row in weak)]
    close = [row for row in rows if row not in weak and (row.least or 1) < below]
    close.sort(key=lambda row: row.least or 1)
    lines += [f"- {row.unit}: {row.least:.1%}: `{row.text}`" for row in close]
    return "\n".join(lines).rstrip() + "\n"
