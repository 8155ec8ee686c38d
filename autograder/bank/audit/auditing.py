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
from autograder.bank.cases.drawing import VISIBLE_SEED
from autograder.bank.declaration import Exercise
from autograder.bank.freezing import freeze, is_told, self_check, with_mistakes
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
    told: int
    faults: tuple
    seconds: float
    checks: dict
    waived: dict
    equivalent: dict


@dataclass
class _Found:
    """What the audit of an exercise found on one draw of its cases; sets hold names."""

    cases: int = 0
    faults: list = field(default_factory=list)
    surviving: set = field(default_factory=set)
    failing: set = field(default_factory=set)
    unpractised: set = field(default_factory=set)
    alive: set = field(default_factory=set)
    practices: int = 0
    mutants: int = 0  # those known to be no others left out
    seconds: float = 0.0
    checks: dict = field(default_factory=dict)


SECONDS = 2.0  # of the processor that a mutant may take, which may well never end
SEEDS = (VISIBLE_SEED, "audit")  # the self-checks, and a draw as for grading


def audit(*names: str, processes: int = 2) -> list[Audited]:
    """Audits exercises, or all of a unit, on the CPU, and on CUDA where there is one; two draws at a time, on two cores."""
    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    known = catalogue.unit_of()
    named = [[name] if name in known else [one.name for one in catalogue.exercises_of(name)] for name in names]
    exercises = [catalogue.find_exercise(name) for unit in named for name in unit]
    asked = list(product(devices, [one.name for one in exercises], SEEDS))
    longest_first = sorted(asked, key=lambda one: -_work(one[1]))
    if processes == 1:
        made = {one: _find(*one) for one in longest_first}
    else:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        with ProcessPoolExecutor(
            min(processes, cores), _processes(), initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            made = dict(zip(longest_first, pool.map(_find, *zip(*longest_first))))
    pairs = product(devices, exercises)
    return [_joined(one, device, [made[device, one.name, seed] for seed in SEEDS]) for device, one in pairs]


def _processes():
    """How workers begin: as copies of this process, which save them two seconds of imports, or from nothing.

    A process forked beside other threads, or after CUDA began, may hang.
    """
    tasks = Path("/proc/self/task")
    alone = tasks.is_dir() and len([*tasks.iterdir()]) == 1 and not torch.cuda.is_available()
    return multiprocessing.get_context("fork" if alone else "spawn")


def _work(name: str) -> int:
    """About how long an exercise's audit takes, against others'."""
    exercise = catalogue.find_exercise(name)
    return len(exercise.misconceptions) * len(exercise.cases) * (3 if exercise.is_module else 1)


def _repeated_where_plain(frozen: FrozenExercise) -> FrozenExercise:
    """The exercise with one call on each case that is not plain: whether calls may be repeated there, alternatives show."""
    cases = tuple(one if one.case.plain else replace(one, case=replace(one.case, once=True)) for one in frozen.cases)
    return replace(frozen, cases=cases)


def _find(device: str, name: str, seed: str) -> _Found:
    started = time.perf_counter()
    chosen()  # which keeps convolutions on a GPU in single precision
    found = _Found()
    try:
        _audit(catalogue.find_exercise(name), device, seed, found)
    except Exception as error:  # of a declaration, which its author has to read about
        found.faults.append(Fault(name, f"it cannot be examined: {because(error)}"))
    return replace(found, seconds=time.perf_counter() - started)


def _audit(exercise: Exercise, device: str, seed: str, found: _Found) -> None:
    """Adds what one draw of the cases shows to what was found."""
    shown = seed == VISIBLE_SEED
    once: dict[tuple[str, int], Observation] = {}  # what each misconception does where its calls are not repeated
    frozen = freeze(exercise, seed, grading=not shown, invented=shown, made=once)
    found.cases = len(frozen.cases)
    found.faults += [Fault(exercise.name, one) for one in lint(exercise, frozen)] if device == "cpu" else []
    if shown:
        found.checks = json.loads(json.dumps(self_check(frozen)))
        frozen = unpack_exercise(found.checks)  # as students receive it
    _mistakes(exercise, frozen, device, shown, {} if shown or device != "cpu" else once, found)
    # a self-check has the kinds of cases that grading has: what passes all of these is asked there for what is plain
    plain = replace(frozen, cases=tuple(one for one in frozen.cases if one.case.plain))
    for alternative in exercise.alternatives:
        result = examine(plain if shown else frozen, lent(exercise, alternative.object), device)
        if not result.passed:
            found.failing.add(alternative.name)
            found.faults.append(Fault.of(frozen, result, "an alternative", alternative.name))
    if shown:
        return
    known = practices(exercise)
    found.practices = len(known)
    for one in known:
        asked, made = without_bounds(frozen) if one.of_reference else frozen, lent(exercise, one.object)
        result = examine(_repeated_where_plain(asked), made, device)
        if not result.passed:
            found.unpractised.add(one.style)
            found.faults.append(Fault.of(frozen, result, "a right answer in another style", one.style))
    changed = mutants(exercise)
    found.mutants = len(changed) - len(exercise.equivalent)
    found.alive = set(survivors(exercise, frozen, device))
    what = "no case tells this mutant from the reference"
    found.faults += [Fault(exercise.name, f"{what}: {one}") for one in sorted(found.alive)]
    for end in exercise.equivalent:
        if sum(one.name.endswith(end) for one in changed) != 1:
            found.faults.append(Fault(exercise.name, f"it is not one mutant whose line ends with {end}"))


def _mistakes(exercise: Exercise, frozen: FrozenExercise, device: str, shown: bool, once: dict, found: _Found) -> None:
    """Looks whether each misconception is told under its own name.

    On a draw that is not shown, calls are repeated on one case first, and on all only where that does not tell it.

    Args:
        once: what misconceptions were seen to do where their calls are not repeated, by name and the identity of the case.
    """
    bare = replace(frozen, forbidden=())  # mistakes are made with what students may not call
    known = {} if shown else {id(one.case): dict(one.mistakes) for one in frozen.cases}
    for mistake in exercise.misconceptions:
        made = lent(exercise, mistake.object)
        held = tuple(one for one in frozen.cases if is_told(one.case) or mistake.name in one.mistakes)
        asked = replace(bare, cases=held)  # other cases name no mistake
        for repeated in dict.fromkeys((len(held),) if shown else (1, len(held))):
            seen = []
            for place, case in enumerate(one.case for one in held):
                asked_once = case.once or place >= repeated
                known_already = once.get((mistake.name, id(case))) if asked_once else None
                seen.append(known_already or observe(made, replace(case, once=asked_once), device, watched=False))
            result = _concluded(exercise, asked, seen, known)
            if result.misconception == mistake.name:
                break
        else:
            found.surviving.add(mistake.name)
            taken = result.misconception or ("right" if result.passed else result.problem)
            found.faults.append(Fault(exercise.name, f"a misconception is taken for {taken}: {{}}", mistake.name))


def _concluded(exercise: Exercise, frozen: FrozenExercise, seen: list, known: dict) -> Result:
    """What a self-check says or, where something is `known`, grading, which runs what nothing speaks against yet."""
    if known:
        cases = [replace(one, mistakes={}) if one.case.plain else one for one in frozen.cases]
        explained = with_mistakes(exercise, cases, seen, [known[id(one.case)] for one in frozen.cases])
        frozen = replace(frozen, cases=tuple(explained))
    return conclude(frozen, [judge(frozen, one, each) for one, each in zip(frozen.cases, seen)])


def _joined(exercise: Exercise, device: str, draws: list[_Found]) -> Audited:
    """One row of what was found on several draws."""
    one = _Found(
        surviving=set().union(*(each.surviving for each in draws)),
        failing=set().union(*(each.failing for each in draws)),
        unpractised=set().union(*(each.unpractised for each in draws)),
        alive=set().union(*(each.alive for each in draws)),
    )
    if not all(each.cases for each in draws):  # nothing could be examined
        one.surviving = {mistake.name for mistake in exercise.misconceptions}
        one.failing = {alternative.name for alternative in exercise.alternatives}
    known, asked = (sum(getattr(each, name) for each in draws) for name in ("practices", "mutants"))
    return Audited(
        exercise=exercise.name,
        device=device,
        points=exercise.max_points,
        cases=sum(each.cases for each in draws),
        caught=len(exercise.misconceptions) - len(one.surviving),
        misconceptions=len(exercise.misconceptions),
        passed=len(exercise.alternatives) - len(one.failing),
        alternatives=len(exercise.alternatives),
        practiced=known - len(one.unpractised),
        practices=known,
        mutants=asked,
        told=asked - len(one.alive),
        faults=told([fault for each in draws for fault in each.faults]),
        seconds=sum(each.seconds for each in draws),
        checks=draws[0].checks,
        waived=exercise.waived,
        equivalent=exercise.equivalent,
    )


def without_bounds(frozen: FrozenExercise) -> FrozenExercise:
    """The exercise for what is made of the reference, which may call what it likes and make tables as large as it likes."""
    cases = tuple(replace(one, case=replace(one.case, bounds={})) for one in frozen.cases)
    return replace(frozen, cases=cases, forbidden=())


def survivors(exercise: Exercise, frozen: FrozenExercise, device: torch.device | str = "cpu") -> list[str]:
    """The mutants of the reference that pass every case and are not known to be equivalent."""
    asked = [one for one in mutants(exercise) if not one.name.endswith(tuple(exercise.equivalent))]
    free = without_bounds(frozen)  # mutants call what the reference calls, and are not told by that
    return [one.name for one in asked if not tells_apart(free, one.object, device)]


def tells_apart(frozen: FrozenExercise, mutant: Callable, device: torch.device | str) -> bool:
    """Whether some case tells a mutant from the reference, or it takes too long."""
    before = signal.signal(signal.SIGPROF, _out_of_time)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        seen = ((one, observe(mutant, one.case, device, watched=False)) for one in frozen.cases)
        return any(not judge(frozen, one, each).passed for one, each in seen)
    except _OutOfTime:
        return True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class _OutOfTime(BaseException):
    """No `except Exception` stops it."""


def _out_of_time(*_):
    raise _OutOfTime


def table(rows: list[Audited]) -> str:
    """The audit as a table, with the faults below it."""
    titles = f"{'points':>6} {'cases':>6} {'caught':>8} {'pass':>6} {'practice':>9} {'mutants':>8} {'faults':>7} {'seconds':>8}"
    lines = [f"{'exercise':<32} {'device':<6} {titles}"]
    for row in rows:
        caught, passed = f"{row.caught}/{row.misconceptions}", f"{row.passed}/{row.alternatives}"
        told, practiced = f"{row.told}/{row.mutants}", f"{row.practiced}/{row.practices}"
        lines.append(
            f"{row.exercise:<32} {row.device:<6} {row.points:>6} {row.cases:>6} {caught:>8} {passed:>6}"
            f" {practiced:>9} {told:>8} {len(row.faults):>7} {row.seconds:>8.2f}"
        )
    waived = [f"{row.exercise}: {name} is not asked: {why}" for row in rows for name, why in row.waived.items()]
    waived += [
        f"{row.exercise}: the mutant whose line ends with {one} is no other: {why}"
        for row in rows
        for one, why in row.equivalent.items()
    ]
    lines += ["", *waived] if waived else []
    faults = [fault for row in rows for fault in row.faults]
    return "\n".join(lines + [""] + [f"✗ {fault}" for fault in faults])
