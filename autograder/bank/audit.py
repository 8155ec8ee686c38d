"""Proves the checks: every misconception is caught under its own name, every alternative passes, the cases are sound."""

import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product

import torch

from autograder.bank import catalogue
from autograder.bank.drawing import VISIBLE_SEED
from autograder.bank.freezing import freeze, self_check
from autograder.bank.linting import lint
from utils.checking.judge import Result, conclude, judge
from utils.checking.observe import observe
from utils.checking.records import FrozenExercise, unpack_exercise


@dataclass(frozen=True)
class Audited:
    """One exercise's audit on one device; `checks` are its self-checks, frozen on the way, in the form that students receive."""

    exercise: str
    device: str
    points: int
    cases: int
    caught: int
    misconceptions: int
    passed: int
    alternatives: int
    faults: tuple
    seconds: float
    checks: dict
    waived: dict


SEEDS = (VISIBLE_SEED, "audit")  # the self-checks, and a draw as for grading


def audit(*units: str) -> list[Audited]:
    """Audits units' exercises on the CPU, and on CUDA where there is one; two exercises at a time where there are two cores."""
    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    names = [exercise.name for unit in units for exercise in catalogue.units()[unit]]
    fresh = multiprocessing.get_context("spawn")  # a process forked after torch has computed may hang
    workers = min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, fresh, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        return list(pool.map(_audit, *zip(*product(devices, names))))


def examine(frozen: FrozenExercise, student_object, device="cpu", reveal: bool = True) -> Result:
    """Runs an object on all cases of a frozen exercise and concludes."""
    verdicts = [judge(frozen, one, observe(student_object, one.case, device), reveal) for one in frozen.cases]
    return conclude(frozen, verdicts)


def _audit(device: str, name: str) -> Audited:
    started = time.perf_counter()
    exercise = catalogue.find_exercise(name)
    faults, surviving, failing, cases, checks = [], set(), set(), 0, {}
    for seed in SEEDS:
        frozen = freeze(exercise, seed, grading=seed != VISIBLE_SEED, device=device)
        cases += len(frozen.cases)
        faults += lint(exercise, frozen) if device == "cpu" else []
        if seed == VISIBLE_SEED:
            checks = json.loads(json.dumps(self_check(frozen)))
            frozen = unpack_exercise(checks)  # as students receive it
        bare = replace(frozen, forbidden=())  # mistakes are made with what students may not call
        for mistake in exercise.misconceptions:
            result = examine(bare, mistake.object, device)
            if result.misconception != mistake.name:
                surviving.add(mistake.name)
                taken = result.misconception or ("right" if result.passed else result.problem)
                faults.append(f"{exercise.name}: the misconception {mistake.name} is taken for {taken} (seed {seed})")
        for alternative in exercise.alternatives:
            result = examine(frozen, alternative.object, device)
            if not result.passed:
                failing.add(alternative.name)
                faults.append(
                    f"{exercise.name}: the alternative {alternative.name} fails (seed {seed})\n{result.message}"
                )
    return Audited(
        exercise=exercise.name,
        device=device,
        points=exercise.max_points,
        cases=cases,
        caught=len(exercise.misconceptions) - len(surviving),
        misconceptions=len(exercise.misconceptions),
        passed=len(exercise.alternatives) - len(failing),
        alternatives=len(exercise.alternatives),
        faults=tuple(dict.fromkeys(faults)),
        seconds=time.perf_counter() - started,
        checks=checks,
        waived=exercise.waived,
    )


def table(rows: list[Audited]) -> str:
    """The audit as a table, with the faults below it."""
    lines = [
        f"{'exercise':<32} {'device':<6} {'points':>6} {'cases':>6} {'caught':>8} {'pass':>6} {'faults':>7} {'seconds':>8}"
    ]
    for row in rows:
        caught, passed = f"{row.caught}/{row.misconceptions}", f"{row.passed}/{row.alternatives}"
        lines.append(
            f"{row.exercise:<32} {row.device:<6} {row.points:>6} {row.cases:>6} {caught:>8} {passed:>6}"
            f" {len(row.faults):>7} {row.seconds:>8.2f}"
        )
    waived = [f"{row.exercise}: {name} is not asked: {why}" for row in rows for name, why in row.waived.items()]
    lines += ["", *waived] if waived else []
    faults = [fault for row in rows for fault in row.faults]
    return "\n".join(lines + [""] + [f"✗ {fault}" for fault in faults])
