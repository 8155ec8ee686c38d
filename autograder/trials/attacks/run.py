"""Hands in every attack, grades them at each sandbox level and by stock nbgrader, and looks for what they changed."""

import hashlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder import settings
from autograder.sandbox.inside import confine
from autograder.sandbox.levels import MEANING, RLIMITS, available
from autograder.trials.attacks import forging, harming
from autograder.trials.attacks.kinds import FULL, UNIT, Attack, build, filled
from autograder.trials.processes import family
from utils import progress

ATTACKS = (*forging.ATTACKS, *harming.ATTACKS)
# graded before, between and after; their marks must not change
NEIGHBOURS = ("a-neighbour", "m-neighbour", "zz-neighbour")
# Seconds for two submissions, after which stock nbgrader counts as stopped.
STOCK_SECONDS = 120
LEFT = "attack-left-this-"
LIMITS = {"COURSE_CELL_SECONDS": "3", "COURSE_SUBMISSION_SECONDS": "12"}


@dataclass(frozen=True)
class Tried:
    """What came of one attack in one place: its score, the states of its exercises, and what it changed or saw."""

    score: float | None
    states: tuple
    harm: tuple

    def held(self, attack: Attack) -> bool:
        """Whether it got no mark that it did not work for, and did no harm."""
        return self.score == attack.score and not self.harm


def try_all(level: str, folder: Path) -> dict[str, Tried]:
    """Grades every attack at a sandbox level, in one class with neighbours that did nothing wrong.

    Attacks on files are not tried where limits alone stand in their way: they would succeed.
    """
    environment = {**os.environ, **LIMITS, "COURSE_CLASS": str(folder), "SECRET_TOKEN": "a secret of the grader's"}
    _run_kit(["release", UNIT], environment)
    released, solved = _notebooks()
    tried = [attack for attack in ATTACKS if not (level == RLIMITS and attack.weak)]
    calls, port, stop = _listen()
    for attack in tried:
        _hand_in(folder, attack.name, build(attack, released, solved, folder, port))
    for name in NEIGHBOURS:
        _hand_in(folder, name, {f"{UNIT}.ipynb": json.dumps(filled(released, solved)).encode()})
    # A process that outlives its grader becomes a child of this process, and is found.
    confine.adopt_orphans()
    before, running = _digests(folder), _sandboxes()
    try:
        _run_kit(["grade", UNIT, "--sandbox", level, "--accept-weak-sandbox", "--workers", "2"], environment)
    finally:
        stop()
    one_page = [] if level == available()[0] else ["--student", "scripts"]
    _run_kit(["feedback", UNIT, *one_page], environment)
    return _outcomes(tried, folder, before, calls, port, _sandboxes() - running)


def _run_kit(arguments: list[str], environment: dict) -> subprocess.CompletedProcess:
    completed = subprocess.run(
        [sys.executable, "-m", "autograder", *arguments],
        cwd=settings.ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    if completed.returncode:
        raise settings.KitError(f"`{' '.join(arguments)}` failed: {completed.stderr.strip().splitlines()[-1:]}")
    return completed


def _notebooks() -> tuple:
    released = nbformat.read(settings.ASSIGNMENTS / UNIT / f"{UNIT}.ipynb", as_version=4)
    return released, nbformat.read(settings.SOLUTIONS / UNIT / f"{UNIT}.ipynb", as_version=4)


def _hand_in(folder: Path, student: str, files: dict[str, bytes]) -> None:
    place = folder / "submitted" / student / UNIT
    place.mkdir(parents=True)
    for name, data in files.items():
        (place / name).write_bytes(data)


def _digests(folder: Path) -> dict[Path, str]:
    """What every file that must not change holds: submissions, the repository's sources, and a few of the packages'.

    What `progress()` counts is none of these: whoever runs a notebook of the repository meanwhile writes it.
    """
    files = [file for file in (folder / "submitted").rglob("*") if file.is_file()]
    for name in ("utils", "autograder", "solutions", "assignments"):
        files += [
            file
            for file in (settings.ROOT / name).rglob("*")
            if file.suffix in (".py", ".ipynb", ".json", ".html") and file.name != progress.FILE
        ]
    for name in ("torch.functional", "IPython.core.interactiveshell"):
        place = sys.modules[name].__file__ if name in sys.modules else None
        files.append(Path(place) if place else settings.ROOT / "pyproject.toml")
    return {file: _file_state(file) for file in files}


def _file_state(file: Path) -> str:
    """A file's content, mode, owner and time of change."""
    status = file.lstat()
    marks = (status.st_mode, status.st_uid, status.st_mtime_ns)
    return hashlib.sha256(file.read_bytes()).hexdigest() + repr(marks)


def _listen():
    """Notes who calls a free port, which attacks are told; returns the names, the port, and a function that ends it."""
    calls, ended, port = set(), threading.Event(), 0
    stream, datagram = (socket.socket(socket.AF_INET, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM))
    for endpoint in (stream, datagram):
        endpoint.bind(("127.0.0.1", port))
        endpoint.settimeout(0.2)
        port = endpoint.getsockname()[1]
    stream.listen()

    def note(receive):
        while not ended.is_set():
            try:
                receive()
                calls.add("calls-home")
            except TimeoutError:
                pass

    threads = [
        threading.Thread(target=note, args=(receive,)) for receive in (stream.accept, lambda: datagram.recv(100))
    ]

    def stop():
        ended.set()
        for thread in threads:
            thread.join()
        stream.close()
        datagram.close()

    for thread in threads:
        thread.start()
    return calls, port, stop


def _outcomes(
    tried: list[Attack], folder: Path, before: dict, calls: set, port: int, survivors: set
) -> dict[str, Tried]:
    rows: dict[str, list] = {}
    for line in (folder / "results" / f"{UNIT}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows.setdefault(row["student"], []).append(row)
    harm: dict[str, list[str]] = {attack.name: [] for attack in tried}
    for name, description in _harms(folder, before, calls, port, survivors):
        harm[name].append(description)
    for neighbour in NEIGHBOURS:
        if sum(row["points"] for row in rows[neighbour]) != FULL:
            raise settings.KitError(f"an attack changed the marks of {neighbour}: {rows[neighbour]}")
    return {
        name: Tried(
            sum(row["points"] for row in rows[name]), tuple(sorted({row["state"] for row in rows[name]})), tuple(harms)
        )
        for name, harms in harm.items()
    }


def _harms(folder: Path, before: dict, calls: set, port: int, survivors: set) -> Iterator[tuple[str, str]]:
    """What was changed, left, called or seen, and by which attack."""
    yield from ((name, "reached the network") for name in calls)
    for place in _surroundings(folder):
        for file in place.glob(f"{LEFT}*"):
            yield file.name.removeprefix(LEFT).split(".")[0], f"left a file in {place}"
            file.unlink()
    for file, digest in before.items():
        if not file.exists() or _file_state(file) != digest:
            yield (
                "spoils-packages" if file.is_relative_to(settings.ROOT) else "spoils-submissions",
                f"changed {file.name}",
            )
    for attack in ATTACKS:
        graded = folder / "autograded" / attack.name / UNIT / f"{UNIT}.ipynb"
        if graded.exists() and any("SECRET SEEN" in json.dumps(cell.get("outputs", [])) for cell in _cells(graded)):
            yield attack.name, "saw a secret"
    page = folder / "feedback" / "scripts" / UNIT / f"{UNIT}.html"
    text = page.read_text(encoding="utf-8")
    if "<script>document.title" in text or 'href="javascript' in text or f'src="http://127.0.0.1:{port}' in text:
        yield "scripts", "script in the feedback"
    for process in survivors:
        yield "daemon", f"process {process} goes on"


def _cells(file: Path) -> list:
    return nbformat.read(file, as_version=4).cells


def _surroundings(folder: Path) -> list[Path]:
    shared_folders = [Path(path) for path in ("/", "/tmp", "/var/tmp", "/dev/shm", tempfile.gettempdir())]
    return list(
        dict.fromkeys([*shared_folders, Path.home(), settings.ROOT, *folder.parents, folder, folder / "submitted"])
    )


def _sandboxes() -> set[int]:
    """Processes that run code of a sandbox, of those that descend from this one."""
    sandboxes = set()
    for process in family(os.getpid()):
        with suppress(OSError):
            if b"inside.warm" in Path(f"/proc/{process}/cmdline").read_bytes():
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
    released, solved = _notebooks()
    folder = template.parent / attack.name
    shutil.copytree(template, folder)
    _hand_in(folder, attack.name, build(attack, released, solved, folder))
    _hand_in(folder, "zz-neighbour", {f"{UNIT}.ipynb": json.dumps(filled(released, solved)).encode()})
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
            *(_table_cell(attack, tried.get(attack.name)) for tried in levels.values()),
        ]
        if stock_results:
            cells.append(stock_results.get(attack.name, "not tried: would harm the machine"))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _table_cell(attack: Attack, tried: Tried | None) -> str:
    if tried is None:
        return "**not stopped**"
    harm = f"; {', '.join(dict.fromkeys(tried.harm))}" if tried.harm else ""
    return f"{'' if tried.held(attack) else '**✗** '}{tried.score:g}{harm}"


def faults(levels: dict[str, dict[str, Tried]]) -> list[str]:
    """What should not have come about, a line each."""
    by_name = {attack.name: attack for attack in ATTACKS}
    return [
        f"{name} at {level}: {outcome}, deserves {by_name[name].score:g}"
        for level, tried in levels.items()
        for name, outcome in tried.items()
        if not outcome.held(by_name[name])
    ]


def attacks(with_stock: bool) -> tuple[str, list[str]]:
    """Tries everything; returns a Markdown page and what should not have come about."""
    tried = {}
    for level in available():
        with tempfile.TemporaryDirectory() as folder:
            tried[level] = try_all(level, Path(folder) / "class")
    lines = [
        "# Attacks on grading",
        "",
        "Written by `make attacks`, which hands in every notebook below, grades them in one class with three honest",
        "neighbours, and looks for marks, files, processes, connections and secrets. A number is the score the attack got;",
        f"{FULL:g} are all points. An attack deserves them where the rest of its notebook is solved: it must lose nothing by",
        "being contained. The neighbours kept all their marks, and nothing else was changed, unless a cell says so.",
        "**not stopped**: that level is no help against it, and it was not tried there.",
        "",
        "The last column is what nbgrader's own `autograde` makes of the same notebook, with its hidden tests in it: the score",
        "alone, not the harm done; *no grade*: an error, and grading goes on without it; *stops the class*: it does not go on.",
        "",
        f"Sandbox levels: {'; '.join(f'**{level}**: {MEANING[level]}' for level in tried)}. Tried on"
        f" {platform.system()} {platform.release().split('-')[0]}, {platform.machine()}.",
        "",
        table(tried, try_stock() if with_stock else {}),
        "",
    ]
    return "\n".join(lines), faults(tried)
