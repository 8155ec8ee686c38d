"""Measures grading: a class of any size by the kit, a sample of it by stock nbgrader, in one run on the same cores."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder import settings
from autograder.trials.attacks.kinds import UNIT, build
from autograder.trials.attacks.run import ATTACKS, stock, stock_course, stock_scores
from autograder.trials.processes import family
from autograder.trials.sample_class import sample_class

SAMPLE = 12  # submissions that stock nbgrader grades too
GOAL = 20  # times stock nbgrader's throughput
HOSTILE = (
    "fork-bomb",
    "memory-bomb",
    "deaf-to-alarms",
    "exits",
    "results-forged",
    "disk-filling",
    "nested-json",
    "reads-others",
)
# The beginnings of names in the sample class whose submissions are no plain wrong answers.
STILL = ("right-", "stub-", "notebook-", "endless-")
BROKEN_SHARE, RIGHT_SHARE = 0.01, 0.6


@dataclass(frozen=True)
class Measured:
    """The time and memory that grading a class took, and the scores and states that came of it."""

    seconds: float
    peak_bytes: int
    p95: float
    scores: dict[str, float]
    states: dict[str, int]


def bench_grading(size: int, workers: int) -> Iterator[str]:
    """Builds a class, grades a sample of it with stock nbgrader and all of it with the kit; yields lines to print."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "class"
        ordinary = build_class(folder, size)
        yield f"\na class of {size}: {len(ordinary)} right and wrong ones, {size - len(ordinary)} broken or hostile"
        kit = grade_class(folder, workers)
        yield f"{'the kit, ' + str(workers) + ' workers':<44} {kit.seconds:8.1f} s, {size / kit.seconds:.2f} submissions a second"
        yield f"{'':<44} p95 {kit.p95:.2f} s, peak memory {kit.peak_bytes / 2**30:.2f} GiB, exercises: {kit.states}"
        seconds, scores = grade_sample(Path(place) / "stock", folder, ordinary[:SAMPLE])
        ratio = size / kit.seconds * seconds / len(scores)
        name = f"stock nbgrader, {len(scores)} of them"
        yield f"{name:<44} {seconds:8.1f} s, {len(scores) / seconds:.2f} submissions a second"
        yield f"{'ratio':<44} {ratio:8.1f}{'' if ratio >= GOAL else '  below ' + str(GOAL)}"
        different = [name for name, score in scores.items() if score != kit.scores[name]]
        yield f"{'scores that differ':<44} {len(different):8} of {len(scores)} {', '.join(different)}"


def build_class(folder: Path, size: int) -> list[str]:
    """Hands in `size` notebooks, 1 % of them broken or hostile, and returns the names of the others, mixed."""
    released = nbformat.read(settings.ASSIGNMENTS / UNIT / f"{UNIT}.ipynb", as_version=4)
    solved = nbformat.read(settings.SOLUTIONS / UNIT / f"{UNIT}.ipynb", as_version=4)
    texts = {name: text for name, text in sample_class(released, solved).items() if text}
    right = [texts["right-as-taught"], texts["right-with-einsum"]]
    wrong = [text for name, text in texts.items() if not name.startswith(STILL)]
    by_name = {attack.name: attack for attack in ATTACKS}
    broken = max(1, round(BROKEN_SHARE * size))
    ordinary = []
    for number in range(size):
        student = f"student-{number:05}"
        period = size // broken
        if number % period == period - 1 and number // period < broken:
            files = build(by_name[HOSTILE[number // period % len(HOSTILE)]], released, solved, folder)
        else:
            solved_it = number % 10 < 10 * RIGHT_SHARE
            text = right[number // 2 % len(right)] if solved_it else wrong[number % len(wrong)]
            files = {f"{UNIT}.ipynb": text.replace("def ", f"# {student}\\ndef ", 1).encode()}
            ordinary.append(student)
        for name, data in files.items():
            file = folder / "submitted" / student / UNIT / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    return ordinary


def grade_class(folder: Path, workers: int) -> Measured:
    """Grades a class as an instructor would, from the command line, and watches its memory."""
    environment = {**os.environ, "COURSE_CLASS": str(folder)}
    kit = [sys.executable, "-m", "autograder"]
    subprocess.run([*kit, "release", UNIT], cwd=settings.ROOT, env=environment, check=True, capture_output=True)
    started = time.perf_counter()
    grading = subprocess.Popen(
        [*kit, "grade", UNIT, "--workers", str(workers)],
        cwd=settings.ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    watch = _Memory(grading.pid)
    _, errors = grading.communicate()
    seconds = time.perf_counter() - started
    if grading.returncode:
        raise settings.KitError(f"grading failed: {errors.strip().splitlines()[-1:]}")
    lines = (folder / "results" / f"{UNIT}.journal.jsonl").read_text(encoding="utf-8").splitlines()
    outcomes = [entry for line in lines if "records" in (entry := json.loads(line))]
    seconds_each = sorted(outcome["seconds"] for outcome in outcomes)
    states: dict[str, int] = {}
    for record in (record for outcome in outcomes for record in outcome["records"]):
        states[record["state"]] = states.get(record["state"], 0) + 1
    scores = {outcome["student"]: sum(record["points"] for record in outcome["records"]) for outcome in outcomes}
    return Measured(seconds, watch.end(), seconds_each[round(0.95 * (len(seconds_each) - 1))], scores, states)


def grade_sample(folder: Path, submitted: Path, students: list[str]) -> tuple[float, dict[str, float | None]]:
    """Grades some of a class with stock nbgrader, from the command line; returns seconds and scores."""
    stock_course(folder)
    for student in students:
        place = folder / "submitted" / student / UNIT
        place.mkdir(parents=True)
        (place / f"{UNIT}.ipynb").write_bytes((submitted / "submitted" / student / UNIT / f"{UNIT}.ipynb").read_bytes())
    started = time.perf_counter()
    stock(folder, "autograde", UNIT, seconds=3600)
    return time.perf_counter() - started, stock_scores(folder)


class _Memory:
    """The largest sum of the memory of a process and all it started, each shared page counted in parts."""

    def __init__(self, process: int):
        self.process, self.peak, self.ended = process, 0, threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        while not self.ended.wait(0.5):
            self.peak = max(self.peak, sum(map(_memory, family(self.process))))

    def end(self) -> int:
        self.ended.set()
        self.thread.join()
        return self.peak


def _memory(process: int) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:  # the process has ended, or belongs to another user
        pass
    return 0
