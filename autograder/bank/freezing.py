"""Freezes an exercise: runs reference and misconceptions on drawn cases, so that judging needs their numbers alone."""

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from autograder.bank import catalogue, declaration, rounding
from autograder.bank.agreement import alike, differences
from autograder.bank.audit.faults import waive
from autograder.bank.built_once import lent
from autograder.bank.cases.drawing import DRAWS, EDGE, VISIBLE_SEED, draw
from autograder.bank.layer_sizes import Told, tell
from autograder.bank.separation import SEPARATION, moved
from utils.checking.judging.comparing import in_units, merely_small, same
from utils.checking.judging.judge import judge
from utils.checking.judging.tolerance import sketch
from utils.checking.observing.observe import observe
from utils.checking.packs.packed_exercise import share_arrays, tabulate_mistakes
from utils.checking.packs.packing import pack
from utils.checking.packs.shipped import PACKS
from utils.checking.records import DrawnCase, Failure, FrozenCase, FrozenExercise, Observation, Output

TELLING = 2
MANY = 1500  # numbers of a result that students receive; more are known by a sketch, in cases that conditions add
IMPOSSIBLE = Observation(failure=Failure("impossible", ""))  # no student's code ends like this


def freeze(
    exercise: declaration.Exercise,
    seed: str,
    grading: bool = False,
    mistakes: bool = True,
    invented: bool = True,
    made: dict | None = None,
) -> FrozenExercise:
    """The exercise as data: its cases drawn from `seed`, what is expected, what each misconception gives, all on the CPU.

    What shows on a plain case is told there: those of conditions, at edges, and second draws, hold only the misconceptions that
    plain cases do not tell from what is right, or from each other. Where changes that nobody declared are not `invented` here,
    `with_mistakes` finds those that explain an answer, as grading does.

    Args:
        made: to which the observation of each misconception is added, by its name and the identity of the frozen case.
    """
    drawn = draw(exercise, seed, grading)
    plain = [case for case in drawn if is_told(case)]
    told = [] if not invented else plain if grading else _telling(plain)
    some = [one.name for one in exercise.misconceptions]
    frozen = {
        id(case): freeze_case(exercise, case, mistakes, None if any(case is one for one in told) else some, made)
        for case in plain
    }
    untold = _alike(list(frozen.values()), some) if mistakes else []
    for case in drawn:
        if not is_told(case):
            names = untold if _tells_mistakes_apart(case) else []
            frozen[id(case)] = freeze_case(exercise, case, bool(names), names)
    graded = len(drawn) if grading else DRAWS * len(exercise.cases) + sum(case.once for case in drawn)
    return frozen_exercise(exercise, [frozen[id(case)] for case in drawn], graded)


def is_told(case: DrawnCase) -> bool:
    """Whether misconceptions are told on a case: plain ones, and not their second draws."""
    return case.plain and not case.once


def _alike(declared: list[FrozenCase], names: list[str]) -> list[str]:
    """The misconceptions that give the same as another, or as is expected, on every declared case."""
    made = {name: [one.mistakes.get(name) or one.expected for one in declared] for name in names}
    right = [one.expected for one in declared]

    def as_told(name: str, others: list[Observation]) -> bool:
        return all(alike(case.case, one, other) for case, one, other in zip(declared, made[name], others))

    return [name for name in names if as_told(name, right) or any(as_told(name, made[x]) for x in names if x != name)]


def _telling(cases: list[DrawnCase]) -> list[DrawnCase]:
    """The first plain cases of each part: in a self-check, changes of inputs and results are held against these alone."""
    parts = dict.fromkeys(case.part for case in cases)
    return [case for part in parts for case in [one for one in cases if one.part == part][:TELLING]]


def freeze_case(
    exercise: declaration.Exercise,
    case: DrawnCase,
    mistakes: bool = True,
    names: Collection[str] | None = None,
    made: dict | None = None,
) -> FrozenCase:
    """One case with the reference's observation and, if asked for, each misconception's, or of those that are named."""
    frozen = expect(exercise, case)
    if case.single:
        sizes = rounding.units([exercise.reference, *(one.object for one in exercise.alternatives)], case)
        return replace(frozen, expected=in_units(frozen.expected, sizes), units=sizes)
    frozen = allow_for_rounding(exercise, frozen)
    names = [one.name for one in exercise.explanations] if names is None else names
    told = add_mistakes(exercise, frozen, names, made=made) if mistakes else frozen
    return _told_apart(told) if told.case.tolerance or not case.plain else told


def expect(exercise: declaration.Exercise, case: DrawnCase) -> FrozenCase:
    """One case with the reference's observation."""
    expected = observe(lent(exercise, exercise.reference), case, trusted=True)
    if (expected.failure.type if expected.failure else "") != case.raises:
        came = f"{expected.failure.type}: {expected.failure.text}" if expected.failure else "it gives a result"
        advice = f"; {waive([case.condition])}" if case.condition not in ("", EDGE) else ""
        raise RuntimeError(
            f"the reference should raise {case.raises or 'nothing'} on {case.property!r}: {came}{advice}"
        )
    # the reference need not keep to what is asked of others
    bare = replace(expected, called=(), made={})
    return FrozenCase(case, bare)


def allow_for_rounding(exercise: declaration.Exercise, frozen: FrozenCase) -> FrozenCase:
    """The case with the tolerance that rounding asks for, where that is more than its type's."""
    return replace(
        frozen, case=rounding.allow_for_rounding(lent(exercise, exercise.reference), frozen.case, frozen.expected)
    )


def add_mistakes(
    exercise: declaration.Exercise,
    frozen: FrozenCase,
    names: Collection[str],
    known: dict | None = None,
    made: dict | None = None,
) -> FrozenCase:
    """The case with what tells the misconceptions named; `known` holds what was found before, `made` takes observations in."""
    known = {} if known is None else known
    invented = {one.name for one in exercise.counterfactuals}
    for mistake in exercise.explanations:
        if mistake.name in names and mistake.name not in known:
            # of a change that nobody declared numbers alone are looked at
            case = replace(frozen.case, gradient=(), bounds={}) if mistake.name in invented else frozen.case
            seen = observe(lent(exercise, mistake.object), case, trusted=True)
            if made is not None:
                made[mistake.name, id(case)] = seen
            right = same(frozen.case, seen, frozen.expected) and not _leaves_zeros(exercise, frozen.expected, seen)
            known[mistake.name] = None if right else _what_tells(frozen.case, seen, frozen.expected)
            if mistake.name in invented and known[mistake.name] is not None:
                known[mistake.name] = _of_numbers(frozen.case, seen, frozen.expected)
    told = {mistake.name: known[mistake.name] for mistake in exercise.explanations if mistake.name in names}
    return replace(frozen, mistakes=told)


def with_mistakes(
    exercise: declaration.Exercise, cases: list[FrozenCase], seen: list[Observation], known: list[dict]
) -> list[FrozenCase]:
    """The cases with the misconceptions that explain every failure; one that does not is not run on the other cases.

    Args:
        seen: what an answer did on each case.
        known: for each case the observations of misconceptions that were made before, to which those made here are added.
    """
    frozen, alive = list(cases), [mistake.name for mistake in exercise.explanations]
    bare = frozen_exercise(exercise, frozen)
    failed = [index for index, one in enumerate(frozen) if not judge(bare, one, seen[index]).passed]
    plain = [index for index, one in enumerate(frozen) if one.case.plain]
    telling = [index for index in failed if index in plain] or failed
    for index in telling + [index for index in plain if index not in telling]:
        frozen[index] = add_mistakes(exercise, frozen[index], alive, known[index])
        if index in telling:
            alive = list(judge(bare, frozen[index], seen[index]).matches)
    return frozen


def _tells_mistakes_apart(case: DrawnCase) -> bool:
    return case.precision != "bfloat16" and not case.single  # in so few digits mistakes are hardly told apart


def _leaves_zeros(exercise: declaration.Exercise, expected: Observation, seen: Observation) -> bool:
    """Whether a result has a number that has to be exactly 0, and is merely small."""
    pairs = zip(exercise.outputs, expected.outputs, seen.outputs)
    return any(name in exercise.zeros and merely_small(wanted, got) for name, wanted, got in pairs)


def _told_apart(frozen: FrozenCase) -> FrozenCase:
    """The case without the mistakes that it shows, but not far from what is right: another case tells these."""
    far = {name: made for name, made in frozen.mistakes.items() if made is None or moved(frozen, made) >= SEPARATION}
    return replace(frozen, mistakes=far)


def _of_numbers(case: DrawnCase, seen: Observation, expected: Observation) -> Observation | None:
    """What a change that nobody declared did to numbers; where it ends in an error, nothing can be like it."""
    if seen.failure:
        return IMPOSSIBLE
    bare = replace(seen, gradients={}, called=(), made={})
    return None if same(case, bare, replace(expected, gradients={})) else bare


def _what_tells(case: DrawnCase, seen: Observation, expected: Observation) -> Observation:
    """What a mistake did; gradients, and the size of what it made on the way, only where they alone tell it apart."""
    bare = replace(seen, gradients={}, called=(), made={})
    return replace(seen, called=()) if same(case, bare, replace(expected, gradients={})) else bare


def frozen_exercise(
    exercise: declaration.Exercise, cases: list[FrozenCase], examined: int | None = None
) -> FrozenExercise:
    """An exercise's data around frozen cases; grading examines so many, if not just these."""
    return FrozenExercise(
        name=exercise.name,
        unit=exercise.unit,
        sections=exercise.sections,
        is_module=exercise.is_module,
        parameters=tuple(exercise.signature.parameters),
        constructor=exercise.constructor,
        outputs=tuple(zip(exercise.outputs, exercise.result_shapes)),
        formula=exercise.formula,
        forbidden=exercise.forbidden,
        layers=_told(exercise).layers,
        points=exercise.points,
        misconceptions={mistake.name: mistake.sentence for mistake in exercise.explanations},
        invented=tuple(one.name for one in exercise.counterfactuals),
        cases=tuple(cases),
        examined=len(cases) if examined is None else examined,
        shapes=_told(exercise).shapes,
        zeros=exercise.zeros,
        taught=exercise.taught,
    )


@cache
def _graded_cases(exercise: declaration.Exercise) -> list[DrawnCase]:
    """What grading examines, on numbers that anybody may know."""
    return draw(exercise, VISIBLE_SEED, grading=True)


@cache
def _told(exercise: declaration.Exercise) -> Told:
    """The layers and the parameters' shapes of a module, in a lesson's symbols."""
    if not exercise.is_module:
        return Told({}, {})
    graded = [case for case in _graded_cases(exercise) if case.condition in ("", EDGE)]
    builds = [case.build for case in graded if case.build is not None]
    different = [build for number, build in enumerate(builds) if build not in builds[:number]]
    return tell(exercise.reference, different)


def pack_unit(unit: str) -> str:
    """The text of the self-check file that students receive for a unit."""
    return pack_text(unit, [self_check(freeze(exercise, VISIBLE_SEED)) for exercise in catalogue.exercises_of(unit)])


def self_check(frozen: FrozenExercise) -> dict:
    """An exercise in the form that students receive, ready for JSON; numbers that stand in several cases are held once."""
    return share_arrays(tabulate_mistakes(pack(slim(frozen)), list(frozen.misconceptions)))


def pack_text(unit: str, exercises: list[dict]) -> str:
    """A self-check file: JSON whose first line alone says which exercises it holds, with a line for each case."""
    whole = {"unit": unit, "names": [one["name"] for one in exercises], "exercises": exercises}
    text = json.dumps(whole, separators=(",", ":"))
    return text.replace(',"exercises":', ',\n"exercises":', 1).replace('{"case":', '\n{"case":') + "\n"


def write_pack(unit: str, folder: Path = PACKS) -> Path:
    """Writes a unit's self-checks, unless the file there already holds the same up to rounding."""
    file = folder / f"{unit}.json"
    text = pack_unit(unit)
    if not file.exists() or differences(file.read_text(encoding="utf-8"), text):
        file.write_text(text, encoding="utf-8")
    return file


def slim(frozen: FrozenExercise) -> FrozenExercise:
    """Small enough to ship: mistakes and large results as sketches, single precision as such, without notes that judging does
    not need."""
    cases = [
        replace(
            one,
            units=tuple(unit.astype(np.float32) for unit in one.units),
            expected=_quiet(one.expected, _large_sketched if one.case.condition and not one.units else _narrow),
            mistakes={
                name: made and _quiet(made, _narrow if one.case.rows else _sketched)
                for name, made in one.mistakes.items()
            },
        )
        for one in frozen.cases
    ]
    return replace(frozen, cases=tuple(cases))


def _quiet(seen: Observation, smaller: Callable[[Output], Output]) -> Observation:
    gradients = {name: None if one is None else one.astype(np.float32) for name, one in seen.gradients.items()}
    failure = seen.failure and replace(seen.failure, line="", where="", bases="")
    return replace(seen, called=(), outputs=tuple(map(smaller, seen.outputs)), failure=failure, gradients=gradients)


def _large_sketched(output: Output) -> Output:
    if output.values is None or output.values.size <= MANY:
        return _narrow(output)
    return replace(_sketched(output), carries_gradient=output.carries_gradient)


def _narrow(output: Output) -> Output:
    if output.values is None or output.values.dtype.kind != "f":
        return output
    return replace(output, values=output.values.astype(np.float32))


def _sketched(output: Output) -> Output:
    if output.values is None:
        return output
    return replace(output, values=None, sketch=sketch(output.values), carries_gradient=False)
