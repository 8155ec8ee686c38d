"""Hands in every attack, grades them at each sandbox level and by stock nbgrader, and looks for what they changed."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autograder import settings
from autograder.sandbox.inside import confine
from autograder.sandbox.levels import MEANING, RLIMITS, available
from autograder.trials.attacks import (
    demanding,
    filling,
    forbidden,
    forging,
    harming,
    jamming,
    leaking,
    reaching,
    sending,
)
from autograder.trials.attacks.handing_in_again import faults_of, inputs_met
from autograder.trials.attacks.harms import digests, harms
from autograder.trials.attacks.kinds import FULL, UNIT, Attack, build, filled
from autograder.trials.attacks.kit import hand_in, notebooks, run_kit
from autograder.trials.attacks.outside import Outside, is_sandbox, slowest_page
from autograder.trials.processes import family

_THEMES = (forging, sending, forbidden, demanding, leaking, harming, reaching, filling, jamming)
ATTACKS: tuple[Attack, ...] = tuple(attack for theme in _THEMES for attack in theme.ATTACKS)
# graded before, between and after; their marks must not change
NEIGHBOURS = ("a-neighbour", "m-neighbour", "zz-neighbour")
# Seconds for two submissions, after which stock nbgrader counts as stopped.
STOCK_SECONDS = 120
LIMITS = {"COURSE_CELL_SECONDS": "3", "COURSE_SUBMISSION_SECONDS": "12"}
MOST_MEMORY = 900 << 20  # bytes that a process of the grader's may take
MOST_SECONDS = 15  # that a page of feedback may keep others waiting


@dataclass(frozen=True)
class Tried:
    """What came of one attack in one place: its score, the states of its exercises, and what it changed or saw."""

    score: float
    states: tuple
    harm: tuple

    def held(self, attack: Attack, level: str) -> bool:
        """Whether it got no mark that it did not work for, and did no harm, but for what is known to remain."""
        known = attack.remains if attack.remains and attack.remains.at(level) else None
        most = attack.score if known is None or known.score is None else known.score
        return attack.score <= self.score <= most and {*self.harm} <= {*(known.harm if known else ())}

    def exceeds(self, attack: Attack) -> bool:
        """Whether it got more than it worked for, or did harm."""
        return self.score > attack.score or bool(self.harm)


@dataclass(frozen=True)
class TriedClass:
    """What came of a class of attacks at one level.

    Attributes:
        tried: what came of each attack, by its name.
        seconds: how long grading and feedback took.
        peak: the most bytes of memory that a process outside the sandbox took.
        slowest: the longest that others waited for a page of feedback, and whose page it was.
    """

    tried: dict[str, Tried]
    seconds: tuple[float, float]
    peak: int
    slowest: tuple[float, str]


def try_all(level: str, folder: Path, chosen: Collection[Attack] = ATTACKS) -> TriedClass:
    """Grades attacks at a sandbox level, in one class with neighbours that did nothing wrong.

    Attacks on files are not tried where limits alone stand in their way: they would succeed.
    """
    scratch = folder.with_name(f"{folder.name}-scratch")
    scratch.mkdir()
    own = {"COURSE_CLASS": str(folder), "SECRET_TOKEN": "a secret of the grader's", "TMPDIR": str(scratch)}
    environment = {**os.environ, **LIMITS, **own}
    tried = [attack for attack in chosen if not (level == RLIMITS and attack.weak)]
    units = [*dict.fromkeys([UNIT, *(attack.unit for attack in tried)])]
    run_kit(["release", *units], environment)
    # A process that outlives its grader becomes a child of this process, and is found.
    confine.adopt_orphans()
    running = _sandboxes()
    with Outside(scratch) as outside:
        for unit in units:
            released, solved = notebooks(unit)
            for attack in (attack for attack in tried if attack.unit == unit):
                hand_in(folder, attack.who, unit, build(attack, released, solved, folder, outside.marks))
            for name in NEIGHBOURS:
                hand_in(folder, name, unit, {f"{unit}.ipynb": json.dumps(filled(released, solved)).encode()})
        before, started = digests(folder), time.time()
        run_kit(["grade", *units, "--sandbox", level, "--accept-weak-sandbox", "--workers", "2"], environment)
        graded = time.time()
        one_page = [] if level == available()[0] else ["--student", "scripts"]
        if not one_page or any(attack.name == "scripts" for attack in tried):
            run_kit(["feedback", UNIT, *one_page], environment)
        seconds = (graded - started, time.time() - graded)
    slowest = slowest_page([*(folder / "feedback").glob(f"*/{UNIT}/{UNIT}.html")])
    outcomes = _outcomes(tried, folder, before, outside, _sandboxes() - running)
    return TriedClass(outcomes, seconds, outside.peak, slowest)


def _outcomes(tried: list[Attack], folder: Path, before: dict, outside: Outside, survivors: set) -> dict[str, Tried]:
    rows: dict[tuple[str, str], list] = {}
    for unit in {attack.unit for attack in tried} | {UNIT}:
        for line in (folder / "results" / f"{unit}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            rows.setdefault((row["student"], unit), []).append(row)
    for (student, _), own in rows.items():
        lost = [row for row in own if row["points"] != row["max_points"]]
        if student in NEIGHBOURS and lost:
            raise settings.KitError(f"an attack changed the marks of {student}: {lost}")
    messages = {student: "\n".join(row["message"] for row in own) for (student, _), own in rows.items()}
    harm: dict[str, list[str]] = {attack.name: [] for attack in tried}
    for name, description in harms(tried, folder, before, outside, survivors, messages):
        harm.setdefault(name, []).append(description)
    outcomes = {}
    for attack in tried:
        own = rows[attack.who, attack.unit]
        states = tuple(sorted({row["state"] for row in own}))
        outcomes[attack.name] = Tried(
            sum(row["points"] for row in own), states, tuple(dict.fromkeys(harm[attack.name]))
        )
    return outcomes


def _sandboxes() -> set[int]:
    """Processes that run code of a sandbox, of those that descend from this one."""
    sandboxes = set()
    for process in family(os.getpid()):
        with suppress(OSError):
            if is_sandbox(process):
                sandboxes.add(process)
    return sandboxes


def try_stock() -> dict[str, str]:
    """What stock nbgrader makes of the attacks that do not endanger the machine: a score, or what became of the class."""
    with tempfile.TemporaryDirectory() as folder:
        template = stock_course(Path(folder) / "template")
        with ThreadPoolExecutor(2) as pool:
            tried = [attack for attack in ATTACKS if attack.stock]
            return dict(
                zip([attack.name for attack in tried], pool.map(lambda attack: _try_stock(attack, template), tried))
            )


def stock_course(folder: Path) -> Path:
    """A course as plain nbgrader has it, with this unit released in it."""
    source = folder / "source" / UNIT
    source.mkdir(parents=True)
    shutil.copy(settings.SOLUTIONS / UNIT / f"{UNIT}.ipynb", source)
    (folder / "nbgrader_config.py").write_text(
        "c = get_config()\nc.CourseDirectory.root = '.'\nc.ClearMarkScheme.enforce_metadata = False\nc.Execute.timeout = 20\n"
    )
    stock(folder, "generate_assignment", UNIT)
    return folder


def stock(folder: Path, *arguments: str, seconds: float = STOCK_SECONDS) -> subprocess.CompletedProcess:
    """Runs stock nbgrader in a course's folder, where alone it can write."""
    environment = {**os.environ, "COURSE_CLASS": str(folder), "HOME": str(folder), "PYTHONPATH": str(settings.ROOT)}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "MPLCONFIGDIR": str(folder), "IPYTHONDIR": str(folder / ".ipython")}
    confined = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", str(folder), str(folder)]
    confined += ["--unshare-pid", "--die-with-parent", "--chdir", str(folder)] if shutil.which("bwrap") else []
    command = [sys.executable, "-m", "nbgrader", *arguments]
    return subprocess.run(
        [*confined, *command] if shutil.which("bwrap") else command,
        cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip


def _try_stock(attack: Attack, template: Path) -> str:
    released, solved = notebooks()
    folder = template.parent / attack.name
    shutil.copytree(template, folder)
    hand_in(folder, attack.name, UNIT, build(attack, released, solved, folder))
    hand_in(folder, "zz-neighbour", UNIT, {f"{UNIT}.ipynb": json.dumps(filled(released, solved)).encode()})
    try:
        stock(folder, "autograde", UNIT)
    except subprocess.TimeoutExpired:
        return "stops the class"
    scores = stock_scores(folder)
    shutil.rmtree(folder, ignore_errors=True)
    if scores.get("zz-neighbour") != FULL:
        return "stops the class" if scores.get("zz-neighbour") is None else "changes a neighbour's mark"
    score = scores.get(attack.name)
    return "no grade" if score is None else f"{score:g}"


def stock_scores(folder: Path) -> dict[str, float | None]:
    """The automatic scores in a stock course's gradebook; None where a submission has none."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        scores = {}
        for submission in gradebook.assignment_submissions(UNIT):
            grades = [
                grade
                for notebook in submission.notebooks
                for grade in notebook.grades
                if grade.name.startswith("check_")
            ]
            points = [grade.score for grade in grades if grade.auto_score is not None or grade.manual_score is not None]
            scores[submission.student.id] = sum(points) if points else None
        return scores


def table(levels: dict[str, dict[str, Tried]], stock_results: dict[str, str]) -> str:
    """The results as a Markdown table."""
    head = ["attack", "what it tries", "deserves", *levels, *(["stock nbgrader"] if stock_results else [])]
    lines = ["| " + " | ".join(head) + " |", "|---|---|---|" + "---|" * (len(head) - 3)]
    for attack in ATTACKS:
        cells = [
            attack.name,
            attack.aim,
            f"{attack.score:g}",
            *(_table_cell(attack, level, tried.get(attack.name)) for level, tried in levels.items()),
        ]
        if stock_results:
            cells.append(stock_results.get(attack.name, "not tried"))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _table_cell(attack: Attack, level: str, tried: Tried | None) -> str:
    if tried is None:
        return "**not stopped**"
    remains = tried.held(attack, level) and tried.exceeds(attack)
    harm = f"; {', '.join(tried.harm)}" if tried.harm else ""
    return f"{'' if tried.held(attack, level) else '**✗** '}{tried.score:g}{harm}{', remains' if remains else ''}"


def faults(levels: dict[str, TriedClass]) -> list[str]:
    """What should not have come about, a line each."""
    by_name = {attack.name: attack for attack in ATTACKS}
    lines = []
    for level, graded in levels.items():
        for name, outcome in graded.tried.items():
            attack = by_name[name]
            if not outcome.held(attack, level):
                known = f", known to get {attack.remains.score}" if attack.remains and attack.remains.at(level) else ""
                lines.append(f"{name} at {level}: {outcome}, deserves {attack.score:g}{known}")
        if graded.peak > MOST_MEMORY:
            lines.append(f"a process outside the sandbox took {graded.peak >> 20} MB at {level}")
        if graded.slowest[0] > MOST_SECONDS:
            lines.append(f"others waited {graded.slowest[0]:.0f} s for the page of {graded.slowest[1]} at {level}")
    for attack in ATTACKS:
        outcomes = [graded.tried[attack.name] for graded in levels.values() if attack.name in graded.tried]
        expected = attack.remains and attack.remains.always
        if expected and outcomes and not any(outcome.exceeds(attack) for outcome in outcomes):
            lines.append(f"{attack.name} is stopped now: it remains no longer")
    return lines


def _what_remains() -> list[str]:
    """What is known to be possible, and what it would take to stop it, an item for each reason."""
    reasons: dict[str, list[Attack]] = {}
    for attack in ATTACKS:
        if attack.remains:
            reasons.setdefault(attack.remains.why, []).append(attack)
    items = []
    for why, alike in reasons.items():
        known = [attack.remains for attack in alike if attack.remains]
        gains = {
            f"up to {one.score:g} points where {attack.score:g} are deserved"
            for attack, one in zip(alike, known)
            if one.score is not None
        }
        gained = [*sorted(gains), *sorted({harm for one in known for harm in one.harm})]
        names = ", ".join(attack.name for attack in alike)
        items.append(f"- {names}: {'; '.join(gained)}. {why}")
    return items


def attacks(with_stock: bool) -> tuple[str, list[str]]:
    """Tries everything; returns a Markdown page and what should not have come about."""
    levels: dict[str, TriedClass] = {}
    for level in available():
        with tempfile.TemporaryDirectory() as folder:
            levels[level] = try_all(level, Path(folder) / "class")
    with tempfile.TemporaryDirectory() as folder:
        met = faults_of(*inputs_met(Path(folder) / "class"))
    return _page_of(levels, try_stock() if with_stock else {}, met), faults(levels) + met


def _page_of(levels: dict[str, TriedClass], stock_results: dict[str, str], met: list[str]) -> str:
    best = next(iter(levels.values()))
    others = ", ".join(str(row.peak >> 20) for row in levels.values())
    lines = [
        "# Attacks on grading",
        "",
        "Written by `make attacks`, which hands in every notebook below, grades them in one class with three honest",
        "neighbours, and looks for marks, files, processes, connections, hidden inputs and secrets. A number is the score the",
        f"attack got; {FULL:g} are all points of unit 04. An attack deserves them where the rest of its notebook is solved: it must",
        "lose nothing by being contained. The neighbours kept all their marks, and nothing else was changed, unless a cell says so.",
        "**not stopped**: that level is no help against it, and it was not tried there. *remains*: what the attack is known to get;",
        "the section at the end says what it would take to stop it.",
        "",
        "The last column is what nbgrader's own `autograde` makes of the same notebook, with its hidden tests in it: the score",
        "alone, not the harm done; *no grade*: an error, and grading goes on without it; *stops the class*: it does not go on;",
        "*not tried*: it would harm the machine, or is aimed at what nbgrader has not.",
        "",
        f"Sandbox levels: {'; '.join(f'**{level}**: {MEANING[level]}' for level in levels)}. Tried on"
        f" {platform.system()} {platform.release().split('-')[0]}, {platform.machine()}.",
        "",
        f"Grading the class of {len(best.tried) + len(NEIGHBOURS)} took {best.seconds[0]:.0f} s with two workers, its feedback"
        f" {best.seconds[1]:.0f} s; nobody waited longer than {best.slowest[0]:.0f} s for a page. No process outside the sandbox"
        f" took more than {others} MB at these levels."
        f" {'**✗** ' + '; '.join(met) if met else 'The same bytes graded again met the same hidden inputs, and others with a byte changed'}.",
        "",
        table({level: graded.tried for level, graded in levels.items()}, stock_results),
        "",
        "## What remains possible",
        "",
        *(_what_remains() or ["Nothing that is tried here."]),
        "",
    ]
    return "\n".join(lines)
