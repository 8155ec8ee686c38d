"""Proves the checks: every misconception is caught under its own name, every alternative passes, the cases are sound."""

import json
import time
from dataclasses import dataclass

import torch

from autograder import bank
from autograder.draw import VISIBLE_SEED
from autograder.freeze import freeze, slim
from autograder.lint import lint
from utils.judge import Result, conclude, judge
from utils.observe import observe
from utils.records import FrozenExercise, pack, unpack_exercise


@dataclass(frozen=True)
class Audited:
    """One exercise's audit on one device."""

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


def audit(unit: str, seeds=(VISIBLE_SEED, "audit")) -> list[Audited]:
    """Audits a unit's exercises on the CPU, and on CUDA where there is one; the self-checks, and a draw as for grading."""
    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    return [_audit(exercise, seeds, device) for device in devices for exercise in bank.units()[unit]]


def examine(frozen: FrozenExercise, student_object, device="cpu", reveal: bool = True) -> Result:
    """Runs an object on all cases of a frozen exercise and concludes."""
    verdicts = [judge(frozen, one, observe(student_object, one.case, device), reveal) for one in frozen.cases]
    return conclude(frozen, verdicts)


def _audit(exercise: bank.Exercise, seeds, device: str) -> Audited:
    started = time.perf_counter()
    faults, surviving, failing, cases = [], set(), set(), 0
    for seed in seeds:
        frozen = freeze(exercise, seed, grading=seed != VISIBLE_SEED, device=device)
        cases += len(frozen.cases)
        faults += lint(exercise, frozen) if device == "cpu" else []
        if seed == VISIBLE_SEED:
            frozen = unpack_exercise(json.loads(json.dumps(pack(slim(frozen)))))  # as students receive it
        for mistake in exercise.misconceptions:
            result = examine(frozen, mistake.object, device)
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
    faults = [fault for row in rows for fault in row.faults]
    return "\n".join(lines + [""] + [f"✗ {fault}" for fault in faults])
