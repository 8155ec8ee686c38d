"""Proves the checks: mistakes are caught under their own names, mutants caught, alternatives pass, the cases are sound."""

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import torch

from autograder.bank import catalogue
from autograder.bank.audit.faults import Fault, because, told
from autograder.bank.audit.linting import lint
from autograder.bank.audit.mutants import mutants
from autograder.bank.built_once import lent
from autograder.bank.cases.drawing import VISIBLE_SEED, draw
from autograder.bank.cases.joining import joined
from autograder.bank.declaration import Exercise
from autograder.bank.freezing import (
    expect_in_units,
    freeze,
    frozen_exercise,
    holds_all_mistakes,
    self_check,
    with_mistakes,
)
from autograder.bank.practice import practices
from utils.checking.concluding import conclude, examine
from utils.checking.judging.judge import judge
from utils.checking.judging.verdict import Result
from utils.checking.observing.observe import observe
from utils.checking.packs.packed_exercise import unpack_exercise
from utils.checking.records import FrozenExercise, Observation
from utils.device import device as chosen


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
    practiced: int
    practices: int
    mutants: int
    mutants_caught: int
    faults: tuple
    seconds: float
    checks: dict
    waived: dict
    equivalent: dict


@dataclass
class _Findings:
    """What the audit of an exercise finds on one draw of its cases; the sets hold names of misconceptions and the like."""

    cases: int = 0
    faults: list = field(default_factory=list)
    surviving: set = field(default_factory=set)
    failing: set = field(default_factory=set)
    unpractised: set = field(default_factory=set)
    alive: set = field(default_factory=set)
    practices: int = 0
    mutants: int = 0  # without those that are declared as equivalent to the reference
    seconds: float = 0.0
    checks: dict = field(default_factory=dict)


SECONDS = 2.0  # processor time that a mutant may take: some never end
SEEDS = (VISIBLE_SEED, "audit")  # the self-checks, and a draw as for grading


def audit(*names: str, processes: int = 2) -> list[Audited]:
    """Audits exercises, or all of a unit, on the CPU, and on CUDA where there is one; two draws at a time, on two cores."""
    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    units = catalogue.unit_of()
    groups = [
        [name] if name in units else [exercise.name for exercise in catalogue.exercises_of(name)] for name in names
    ]
    exercises = [catalogue.find_exercise(name) for group in groups for name in group]
    draws = list(product(devices, [exercise.name for exercise in exercises], SEEDS))
    longest_first = sorted(draws, key=lambda draw: -_workload(draw[1]))
    if processes == 1:
        findings = {draw: _find(*draw) for draw in longest_first}
    else:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        with ProcessPoolExecutor(
            min(processes, cores), _process_context(), initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            findings = dict(zip(longest_first, pool.map(_find, *zip(*longest_first))))
    pairs = product(devices, exercises)
    return [
        _row(exercise, device, [findings[device, exercise.name, seed] for seed in SEEDS]) for device, exercise in pairs
    ]


def _process_context():
    """The context in which workers start: forked, which saves each two seconds of imports, or spawned.

    A process forked beside other threads, or after CUDA began, may hang.
    """
    tasks = Path("/proc/self/task")
    alone = tasks.is_dir() and len([*tasks.iterdir()]) == 1 and not torch.cuda.is_available()
    return multiprocessing.get_context("fork" if alone else "spawn")


def _workload(name: str) -> int:
    """An estimate of how long an exercise's audit takes, in units that compare exercises."""
    exercise = catalogue.find_exercise(name)
    return len(exercise.misconceptions) * len(exercise.cases) * (3 if exercise.is_module else 1)


def _repeated_where_plain(frozen: FrozenExercise) -> FrozenExercise:
    """The exercise with one call on each case that is not plain: alternatives show whether calls may be repeated there."""
    cases = tuple(
        frozen_case if frozen_case.case.plain else replace(frozen_case, case=replace(frozen_case.case, once=True))
        for frozen_case in frozen.cases
    )
    return replace(frozen, cases=cases)


def _find(device: str, name: str, seed: str) -> _Findings:
    started = time.perf_counter()
    chosen()  # choosing a device keeps convolutions on a GPU in single precision
    findings = _Findings()
    try:
        _add_findings(catalogue.find_exercise(name), device, seed, findings)
    except Exception as error:  # the author of a declaration has to read about its errors
        findings.faults.append(Fault(name, f"it cannot be examined: {because(error)}"))
    return replace(findings, seconds=time.perf_counter() - started)


def _add_findings(exercise: Exercise, device: str, seed: str, findings: _Findings) -> None:
    """Adds what one draw of the cases shows to the findings."""
    visible = seed == VISIBLE_SEED
    # what each misconception does where its calls are not repeated
    observations: dict[tuple[str, int], Observation] = {}
    frozen = freeze(exercise, seed, grading=not visible, invented=visible, made=observations)
    findings.cases = len(frozen.cases)
    findings.faults += [Fault(exercise.name, line) for line in lint(exercise, frozen)] if device == "cpu" else []
    if visible:
        findings.checks = json.loads(json.dumps(self_check(frozen)))
        frozen = unpack_exercise(findings.checks)  # as students receive it
    _check_mistakes(exercise, frozen, device, visible, {} if visible or device != "cpu" else observations, findings)
    # a self-check has the kinds of cases that grading has: alternatives that pass all of grading are tried on its plain cases
    plain = replace(frozen, cases=tuple(frozen_case for frozen_case in frozen.cases if frozen_case.case.plain))
    for alternative in exercise.alternatives:
        result = examine(plain if visible else frozen, lent(exercise, alternative.object), device)
        if not result.passed:
            findings.failing.add(alternative.name)
            findings.faults.append(Fault.of(frozen, result, "an alternative", alternative.name))
    if visible:
        return
    answers = practices(exercise)
    findings.practices = len(answers)
    for answer in answers:
        checked, code = without_bounds(frozen) if answer.of_reference else frozen, lent(exercise, answer.object)
        result = examine(_repeated_where_plain(checked), code, device)
        if not result.passed:
            findings.unpractised.add(answer.style)
            findings.faults.append(Fault.of(frozen, result, "a right answer in another style", answer.style))
    all_mutants = mutants(exercise)
    findings.mutants = len(all_mutants) - len(exercise.equivalent)
    first_look = [expect_in_units(exercise, case) for case in joined(draw(exercise, seed, grading=True))]
    findings.alive = {*survivors(exercise, frozen, device)}
    findings.alive |= {*survivors(exercise, frozen_exercise(exercise, first_look), device)}
    what = "no case tells this mutant from the reference"
    findings.faults += [Fault(exercise.name, f"{what}: {name}") for name in sorted(findings.alive)]
    for ending in exercise.equivalent:
        if sum(mutant.name.endswith(ending) for mutant in all_mutants) != 1:
            findings.faults.append(Fault(exercise.name, f"it is not one mutant whose line ends with {ending}"))


def _check_mistakes(
    exercise: Exercise, frozen: FrozenExercise, device: str, visible: bool, observations: dict, findings: _Findings
) -> None:
    """Adds a fault for each misconception that is not recognised under its own name.

    On a draw that is not visible, calls are repeated on one case first, and on all only where that does not suffice.

    Args:
        observations: those of misconceptions whose calls are not repeated, by name and the identity of the case.
    """
    bare = replace(frozen, forbidden=())  # mistakes are written with functions that students may not call
    earlier = {} if visible else {id(frozen_case.case): dict(frozen_case.mistakes) for frozen_case in frozen.cases}
    for mistake in exercise.misconceptions:
        wrong_object = lent(exercise, mistake.object)
        telling_cases = tuple(
            frozen_case
            for frozen_case in frozen.cases
            if holds_all_mistakes(frozen_case.case) or mistake.name in frozen_case.mistakes
        )
        telling = replace(bare, cases=telling_cases)  # other cases name no mistake
        for repetitions in dict.fromkeys((len(telling_cases),) if visible else (1, len(telling_cases))):
            observed = []
            for place, case in enumerate(frozen_case.case for frozen_case in telling_cases):
                asked_once = case.once or place >= repetitions
                known = observations.get((mistake.name, id(case))) if asked_once else None
                observed.append(known or observe(wrong_object, replace(case, once=asked_once), device, watched=False))
            result = _conclude_as_grading_does(exercise, telling, observed, earlier)
            if result.misconception == mistake.name:
                break
        else:
            findings.surviving.add(mistake.name)
            taken = result.misconception or ("right" if result.passed else result.problem)
            findings.faults.append(Fault(exercise.name, f"a misconception is taken for {taken}: {{}}", mistake.name))


def _conclude_as_grading_does(exercise: Exercise, frozen: FrozenExercise, observations: list, earlier: dict) -> Result:
    """The result of a self-check or, with observations from `earlier`, of grading, which runs misconceptions on demand."""
    if earlier:
        cases = [
            replace(frozen_case, mistakes={}) if frozen_case.case.plain else frozen_case for frozen_case in frozen.cases
        ]
        explained = with_mistakes(
            exercise, cases, observations, [earlier[id(frozen_case.case)] for frozen_case in frozen.cases]
        )
        frozen = replace(frozen, cases=tuple(explained))
    return conclude(
        frozen,
        [judge(frozen, frozen_case, observation) for frozen_case, observation in zip(frozen.cases, observations)],
    )


def _row(exercise: Exercise, device: str, draws: list[_Findings]) -> Audited:
    """One row of the audit's table, from the findings on several draws."""
    all_draws = _Findings(
        surviving=set().union(*(draw.surviving for draw in draws)),
        failing=set().union(*(draw.failing for draw in draws)),
        unpractised=set().union(*(draw.unpractised for draw in draws)),
        alive=set().union(*(draw.alive for draw in draws)),
    )
    if not all(draw.cases for draw in draws):  # nothing could be examined
        all_draws.surviving = {mistake.name for mistake in exercise.misconceptions}
        all_draws.failing = {alternative.name for alternative in exercise.alternatives}
    practice_count, mutant_count = (sum(getattr(draw, name) for draw in draws) for name in ("practices", "mutants"))
    return Audited(
        exercise=exercise.name,
        device=device,
        points=exercise.max_points,
        cases=sum(draw.cases for draw in draws),
        caught=len(exercise.misconceptions) - len(all_draws.surviving),
        misconceptions=len(exercise.misconceptions),
        passed=len(exercise.alternatives) - len(all_draws.failing),
        alternatives=len(exercise.alternatives),
        practiced=practice_count - len(all_draws.unpractised),
        practices=practice_count,
        mutants=mutant_count,
        mutants_caught=mutant_count - len(all_draws.alive),
        faults=told([fault for draw in draws for fault in draw.faults]),
        seconds=sum(draw.seconds for draw in draws),
        checks=draws[0].checks,
        waived=exercise.waived,
        equivalent=exercise.equivalent,
    )


def without_bounds(frozen: FrozenExercise) -> FrozenExercise:
    """The exercise for code derived from the reference, which may call any function and make tables of any size."""
    cases = tuple(replace(frozen_case, case=replace(frozen_case.case, bounds={})) for frozen_case in frozen.cases)
    return replace(frozen, cases=cases, forbidden=())


def survivors(exercise: Exercise, frozen: FrozenExercise, device: torch.device | str = "cpu") -> list[str]:
    """The mutants of the reference that pass every case and are not known to be equivalent."""
    candidates = [mutant for mutant in mutants(exercise) if not mutant.name.endswith(tuple(exercise.equivalent))]
    free = without_bounds(frozen)  # mutants call what the reference calls, which may not count against them
    return [mutant.name for mutant in candidates if not tells_apart(free, mutant.object, device)]


def tells_apart(frozen: FrozenExercise, mutant: Callable, device: torch.device | str) -> bool:
    """Whether some case tells a mutant from the reference, or it takes too long."""
    before = signal.signal(signal.SIGPROF, _out_of_time)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        observations = (
            (frozen_case, observe(mutant, frozen_case.case, device, watched=False)) for frozen_case in frozen.cases
        )
        return any(not judge(frozen, frozen_case, observation).passed for frozen_case, observation in observations)
    except _OutOfTime:
        return True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class _OutOfTime(BaseException):
    """Raised when a mutant takes too long; no `except Exception` in its code stops it."""


def _out_of_time(*_):
    raise _OutOfTime


def table(rows: list[Audited]) -> str:
    """The audit as a table, with the faults below it."""
    titles = f"{'points':>6} {'cases':>6} {'caught':>8} {'pass':>6} {'practice':>9} {'mutants':>8} {'faults':>7} {'seconds':>8}"
    lines = [f"{'exercise':<32} {'device':<6} {titles}"]
    for row in rows:
        caught, passed = f"{row.caught}/{row.misconceptions}", f"{row.passed}/{row.alternatives}"
        caught_mutants, practiced = f"{row.mutants_caught}/{row.mutants}", f"{row.practiced}/{row.practices}"
        lines.append(
            f"{row.exercise:<32} {row.device:<6} {row.points:>6} {row.cases:>6} {caught:>8} {passed:>6}"
            f" {practiced:>9} {caught_mutants:>8} {len(row.faults):>7} {row.seconds:>8.2f}"
        )
    waived = [f"{row.exercise}: {name} is not asked: {why}" for row in rows for name, why in row.waived.items()]
    waived += [
        f"{row.exercise}: the mutant whose line ends with {ending} is no other: {why}"
        for row in rows
        for ending, why in row.equivalent.items()
    ]
    lines += ["", *waived] if waived else []
    faults = [fault for row in rows for fault in row.faults]
    return "\n".join(lines + [""] + [f"✗ {fault}" for fault in faults])
