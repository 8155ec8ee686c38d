"""The message a student reads: what was checked, the sentence about it, the numbers, and where to reread."""

from collections.abc import Sequence
from dataclasses import replace

from utils.checking.explaining.circumstances import Circumstance
from utils.checking.explaining.explanation import Explanation
from utils.checking.judging.problems import Problem
from utils.checking.judging.verdict import Verdict
from utils.checking.messages.conditions import under
from utils.checking.messages.describing import describe
from utils.checking.messages.message import Message, indented
from utils.checking.records import FrozenExercise

# the rest of a declared sentence behind it is shown only if a result or a gradient of the answer is NaN
IF_NAN = "{NaN}"


def success(exercise: FrozenExercise, verdicts: Sequence[Verdict]) -> str:
    """What a student reads when every case passed."""
    count = len(verdicts)
    message = f"✓ {exercise.name} · {count} properties checked, all hold"
    if exercise.examined > count:
        message += f"\n  Grading examines the same on {exercise.examined} draws of other numbers and sizes."
    return message


def failure(exercise: FrozenExercise, explanation: Explanation, points: dict[str, float], unwritten: bool) -> str:
    """What a student reads when a case failed: headline, sentence, numbers, and where to reread.

    Args:
        points: those earned, by part.
        unwritten: whether another part is not written yet.
    """
    shown, message = explanation.shown, _explained_message(exercise, explanation)
    reread = f'reread lesson {exercise.unit[:2]}, "{exercise.sections[shown.part]}"'
    lines = [f"✗ {exercise.name} · {shown.property}", *message.lines]
    lines += indented(f"{message.detail} · {reread}" if message.detail else reread)
    if unwritten and shown.problem is not Problem.UNFINISHED:
        lines += indented("Another part is not written yet: it still raises NotImplementedError.")
    if any(points.values()):
        lines += indented(_points_earned(exercise, points))
    return "\n".join(lines)


def _points_earned(exercise: FrozenExercise, points: dict[str, float]) -> str:
    """A sentence on the points that are earned although something failed, and what for."""
    share = "the share for robustness is not"
    earned = f"{sum(points.values()):g} of {sum(exercise.points.values()):g} points"
    if len(points) == 1:
        return f"{earned} are earned: for the idea; {share}"
    parts = [
        f"{part} ({share})" if reached < exercise.points[part] else part for part, reached in points.items() if reached
    ]
    return f"{earned}, for: {', '.join(parts)}"


def _explained_message(exercise: FrozenExercise, explanation: Explanation) -> Message:
    """The message on the shown case, with the explanation where there is one."""
    described = describe(exercise, explanation.shown)
    if explanation.misconception:
        return Message(_misconception_sentence(exercise, explanation), detail=described.detail)
    if explanation.called_by:
        return Message(_argument_order_sentence(exercise, explanation.called_by), detail=described.detail)
    findings = [
        _finding_sentence(finding.fact.sentence, finding.case, finding.on_most) for finding in explanation.findings
    ]
    own = [described.sentence] if explanation.beside or not findings else []
    sentence = " ".join(filter(None, [_boundary_sentence(explanation), *own, *findings]))
    return replace(described, sentence=sentence)


def _misconception_sentence(exercise: FrozenExercise, explanation: Explanation) -> str:
    """A misconception's sentence, with the circumstance if it needs one, and without its part about NaN where none occurred."""
    assert explanation.misconception is not None
    sentence = exercise.misconceptions[explanation.misconception]
    always, _, consequence = sentence.partition(f" {IF_NAN} ")
    place = _exactly_where(explanation.where) if explanation.where else ""
    return " ".join(filter(None, (place, always, consequence if explanation.is_undefined else "")))


def _argument_order_sentence(exercise: FrozenExercise, by: str) -> str:
    """The sentence for results that are right unless arguments come by "position", or by "name"."""
    order = f"{exercise.name}({', '.join(exercise.parameters)})"
    if exercise.is_module:
        inner = ", ".join(("self", *exercise.constructor))
        order = f"__init__({inner}) and forward({', '.join(('self', *exercise.parameters))})"
    if by == "name":
        return f"With arguments by position it is right, by name it is not: does each name stand for what it should in {order}?"
    return (
        f"With arguments by name it is right, by position it is not: does your code take them in this order, {order}?"
    )


def _finding_sentence(sentence: str, case: str, on_most: bool) -> str:
    """A fact's sentence, with the cases on which it holds where these are not all."""
    if case:
        return f"In the case “{case}”: {sentence}"
    return f"On most of the inputs on which it fails: {sentence}" if on_most else sentence


def _boundary_sentence(explanation: Explanation) -> str:
    """A sentence on where alone code fails; empty where it fails in general."""
    boundary, problem = explanation.boundary, explanation.shown.problem
    if boundary.circumstance:
        return _exactly_where(boundary.circumstance)
    if boundary.only:
        return "All else that was checked holds; only this does not."
    return under(boundary.condition, problem is not None and problem.of_gradients, near_enough=boundary.near_enough)


def _exactly_where(circumstance: Circumstance) -> str:
    return f"In all that was checked here it fails exactly where {circumstance.words}."


def unjudged(name: str, message: Message) -> str:
    """What a student reads of an exercise that grading itself could not run."""
    return "\n".join([f"? {name} · to be marked by hand", *message.lines])


def continued(message: str, sentence: str) -> str:
    """A message with another sentence below it."""
    return "\n".join([message, *indented(sentence)])
