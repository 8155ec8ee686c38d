"""Freezes an exercise: runs reference and misconceptions on drawn cases, so that judging needs their numbers alone."""

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from autograder.bank import catalogue, declaration, rounding
from autograder.bank.agreement import differences, observations_agree
from autograder.bank.audit.faults import waive
from autograder.bank.built_once import lent
from autograder.bank.cases.drawing import DRAWS, EDGE, VISIBLE_SEED, draw
from autograder.bank.layer_sizes import ModuleInSymbols, tell
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
MANY = 1500  # numbers of a result that students receive; larger results of cases under a condition are sketches
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

    Plain cases hold the observations of all misconceptions. Cases of conditions, at edges, and second draws hold only those that
    plain cases cannot distinguish from the right answer, or from each other. Where the undeclared changes are not `invented`
    here, `with_mistakes` finds those that explain an answer, as grading does.

    Args:
        made: a dict that the observation of each misconception is added to, by its name and the identity of the frozen case.
    """
    drawn = draw(exercise, seed, grading)
    plain = [case for case in drawn if holds_all_mistakes(case)]
    telling = [] if not invented else plain if grading else _first_of_each_part(plain)
    declared = [mistake.name for mistake in exercise.misconceptions]
    frozen = {
        id(case): freeze_case(
            exercise, case, mistakes, None if any(case is other for other in telling) else declared, made
        )
        for case in plain
    }
    undistinguished = _indistinguishable(list(frozen.values()), declared) if mistakes else []
    for case in drawn:
        if not holds_all_mistakes(case):
            names = undistinguished if _tells_mistakes_apart(case) else []
            frozen[id(case)] = freeze_case(exercise, case, bool(names), names)
    graded = len(drawn) if grading else DRAWS * len(exercise.cases) + sum(case.once for case in drawn)
    return frozen_exercise(exercise, [frozen[id(case)] for case in drawn], graded)


def holds_all_mistakes(case: DrawnCase) -> bool:
    """Whether a case holds the observations of all misconceptions: a plain one does, unless it is a second draw."""
    return case.plain and not case.once


def _indistinguishable(declared: list[FrozenCase], names: list[str]) -> list[str]:
    """The names of misconceptions that give the same as another, or the expected results, on every declared case."""
    results = {
        name: [frozen_case.mistakes.get(name) or frozen_case.expected for frozen_case in declared] for name in names
    }
    expected = [frozen_case.expected for frozen_case in declared]

    def is_same(name: str, other_results: list[Observation]) -> bool:
        return all(
            observations_agree(frozen_case.case, result, other_result)
            for frozen_case, result, other_result in zip(declared, results[name], other_results)
        )

    return [
        name for name in names if is_same(name, expected) or any(is_same(name, results[x]) for x in names if x != name)
    ]


def _first_of_each_part(cases: list[DrawnCase]) -> list[DrawnCase]:
    """The first plain cases of each part: a self-check compares undeclared changes of inputs and results on these alone."""
    parts = dict.fromkeys(case.part for case in cases)
    return [case for part in parts for case in [other for other in cases if other.part == part][:TELLING]]


def freeze_case(
    exercise: declaration.Exercise,
    case: DrawnCase,
    mistakes: bool = True,
    names: Collection[str] | None = None,
    made: dict | None = None,
) -> FrozenCase:
    """One case with the reference's observation and, with `mistakes`, that of each misconception or of those in `names`."""
    frozen = expect_in_units(exercise, case)
    if case.single:
        return frozen
    frozen = allow_for_rounding(exercise, frozen)
    names = [mistake.name for mistake in exercise.explanations] if names is None else names
    explained = add_mistakes(exercise, frozen, names, made=made) if mistakes else frozen
    return _only_separated(explained) if explained.case.tolerance or not case.plain else explained


def expect(exercise: declaration.Exercise, case: DrawnCase) -> FrozenCase:
    """One case with the reference's observation."""
    expected = observe(lent(exercise, exercise.reference), case, trusted=True)
    if (expected.failure.type if expected.failure else "") != case.raises:
        outcome = f"{expected.failure.type}: {expected.failure.text}" if expected.failure else "it gives a result"
        advice = f"; {waive([case.condition])}" if case.condition not in ("", EDGE) else ""
        raise RuntimeError(
            f"the reference should raise {case.raises or 'nothing'} on {case.property!r}: {outcome}{advice}"
        )
    # the reference itself may call any function and make tables of any size
    bare = replace(expected, called=(), made={})
    return FrozenCase(case, bare)


def expect_in_units(exercise: declaration.Exercise, case: DrawnCase) -> FrozenCase:
    """One case with the reference's observation; where each number counts by its own size, in units of these sizes."""
    return measure_in_units(exercise, expect(exercise, case))


def measure_in_units(exercise: declaration.Exercise, frozen: FrozenCase) -> FrozenCase:
    """The case in units of its numbers' sizes, where each number counts by its own."""
    if not frozen.case.single:
        return frozen
    ways = [exercise.reference, *(alternative.object for alternative in exercise.alternatives)]
    return in_sizes(frozen, rounding.units(ways, frozen.case))


def in_sizes(frozen: FrozenCase, sizes: tuple) -> FrozenCase:
    """The case with what is expected in units of these sizes, an array for each result."""
    return replace(frozen, expected=in_units(frozen.expected, sizes), units=sizes)


def allow_for_rounding(exercise: declaration.Exercise, frozen: FrozenCase) -> FrozenCase:
    """The case with the tolerance that rounding needs, where that exceeds that of its type; units allow for it themselves."""
    if frozen.case.single:
        return frozen
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
    """The case with the observations by which it recognises the misconceptions in `names`.

    Args:
        known: observations from before, to which the new ones are added.
        made: a dict that the full observations are added to, by name and the identity of the case.
    """
    known = {} if known is None else known
    invented = {mistake.name for mistake in exercise.counterfactuals}
    for mistake in exercise.explanations:
        if mistake.name in names and mistake.name not in known:
            # an undeclared change is compared by its numbers alone
            case = replace(frozen.case, gradient=(), bounds={}) if mistake.name in invented else frozen.case
            observation = in_units(observe(lent(exercise, mistake.object), case, trusted=True), frozen.units)
            if made is not None:
                made[mistake.name, id(case)] = observation
            is_right = same(frozen.case, observation, frozen.expected) and not _leaves_zeros(
                exercise, frozen.expected, observation
            )
            known[mistake.name] = None if is_right else _telling_part(frozen.case, observation, frozen.expected)
            if mistake.name in invented and known[mistake.name] is not None:
                known[mistake.name] = _numbers_alone(frozen.case, observation, frozen.expected)
    observations = {mistake.name: known[mistake.name] for mistake in exercise.explanations if mistake.name in names}
    return replace(frozen, mistakes=observations)


def with_mistakes(
    exercise: declaration.Exercise, cases: list[FrozenCase], seen: list[Observation], known: list[dict]
) -> list[FrozenCase]:
    """The cases with the misconceptions that may explain every failure; one that cannot is not run on further cases.

    Args:
        seen: what an answer did on each case.
        known: for each case the observations of misconceptions that were made before, to which those made here are added.
    """
    frozen, alive = list(cases), [mistake.name for mistake in exercise.explanations]
    bare = frozen_exercise(exercise, frozen)
    failed = [index for index, frozen_case in enumerate(frozen) if not judge(bare, frozen_case, seen[index]).passed]
    plain = [index for index, frozen_case in enumerate(frozen) if frozen_case.case.plain]
    telling = [index for index in failed if index in plain] or failed
    for index in telling + [index for index in plain if index not in telling]:
        frozen[index] = add_mistakes(exercise, frozen[index], alive, known[index])
        if index in telling:
            alive = list(judge(bare, frozen[index], seen[index]).matches)
    return frozen


def _tells_mistakes_apart(case: DrawnCase) -> bool:
    return case.precision != "bfloat16" and not case.single  # so few digits hardly distinguish mistakes


def _leaves_zeros(exercise: declaration.Exercise, expected: Observation, observation: Observation) -> bool:
    """Whether a result has a number that is merely small where it must be exactly 0."""
    pairs = zip(exercise.outputs, expected.outputs, observation.outputs)
    return any(
        name in exercise.zeros and merely_small(expected_output, output) for name, expected_output, output in pairs
    )


def _only_separated(frozen: FrozenCase) -> FrozenCase:
    """The case without the mistakes whose results lie near the right ones: another case has to recognise those."""
    separated = {
        name: observation
        for name, observation in frozen.mistakes.items()
        if observation is None or moved(frozen, observation) >= SEPARATION
    }
    return replace(frozen, mistakes=separated)


def _numbers_alone(case: DrawnCase, observation: Observation, expected: Observation) -> Observation | None:
    """An undeclared change's observation with its numbers alone; None where they are right, IMPOSSIBLE after an error."""
    if observation.failure:
        return IMPOSSIBLE
    bare = replace(observation, gradients={}, called=(), made={})
    return None if same(case, bare, replace(expected, gradients={})) else bare


def _telling_part(case: DrawnCase, observation: Observation, expected: Observation) -> Observation:
    """A mistake's observation; with gradients, and sizes of intermediate tensors, only where they alone differ from the right."""
    bare = replace(observation, gradients={}, called=(), made={})
    return replace(observation, called=()) if same(case, bare, replace(expected, gradients={})) else bare


def frozen_exercise(
    exercise: declaration.Exercise, cases: list[FrozenCase], examined: int | None = None
) -> FrozenExercise:
    """An exercise's data around frozen cases; `examined` is the number of cases in grading, if not that of these."""
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
        layers=_in_symbols(exercise).layers,
        points=exercise.points,
        misconceptions={mistake.name: mistake.sentence for mistake in exercise.explanations},
        invented=tuple(mistake.name for mistake in exercise.counterfactuals),
        universal=tuple(mistake.name for mistake in exercise.misconceptions if mistake.universal),
        cases=tuple(cases),
        examined=len(cases) if examined is None else examined,
        shapes=_in_symbols(exercise).shapes,
        zeros=exercise.zeros,
        taught=exercise.taught,
    )


@cache
def _graded_cases(exercise: declaration.Exercise) -> list[DrawnCase]:
    """The cases of grading, drawn from the visible seed."""
    return draw(exercise, VISIBLE_SEED, grading=True)


@cache
def _in_symbols(exercise: declaration.Exercise) -> ModuleInSymbols:
    """The layers and the parameters' shapes of a module, in a lesson's symbols."""
    if not exercise.is_module:
        return ModuleInSymbols({}, {})
    graded = [case for case in _graded_cases(exercise) if case.condition in ("", EDGE)]
    builds = [case.build for case in graded if case.build is not None]
    different = [build for number, build in enumerate(builds) if build not in builds[:number]]
    return tell(exercise.reference, different)


def pack_unit(unit: str) -> str:
    """The text of a unit's self-check file, which students receive."""
    return pack_text(unit, [self_check(freeze(exercise, VISIBLE_SEED)) for exercise in catalogue.exercises_of(unit)])


def self_check(frozen: FrozenExercise) -> dict:
    """An exercise in the form that students receive, ready for JSON; numbers that stand in several cases are held once."""
    return share_arrays(tabulate_mistakes(pack(slim(frozen)), list(frozen.misconceptions)))


def pack_text(unit: str, exercises: list[dict]) -> str:
    """The text of a self-check file: JSON whose first line names the exercises that it holds, with a line for each case."""
    whole = {"unit": unit, "names": [exercise["name"] for exercise in exercises], "exercises": exercises}
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
    """The exercise small enough to ship: with mistakes and large results as sketches, and without what judging does not need."""
    cases = [
        replace(
            frozen_case,
            units=tuple(unit.astype(np.float32) for unit in frozen_case.units),
            expected=_without_notes(
                frozen_case.expected,
                _large_sketched if frozen_case.case.condition and not frozen_case.units else _narrow,
            ),
            mistakes={
                name: observation and _without_notes(observation, _narrow if frozen_case.case.rows else _sketched)
                for name, observation in frozen_case.mistakes.items()
            },
        )
        for frozen_case in frozen.cases
    ]
    return replace(frozen, cases=tuple(cases))


def _without_notes(observation: Observation, reduce: Callable[[Output], Output]) -> Observation:
    gradients = {
        name: None if gradient is None else gradient.astype(np.float32)
        for name, gradient in observation.gradients.items()
    }
    failure = observation.failure and replace(observation.failure, line="", where="", bases="")
    return replace(
        observation, called=(), outputs=tuple(map(reduce, observation.outputs)), failure=failure, gradients=gradients
    )


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
