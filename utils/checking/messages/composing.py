"""The message a student reads: what was checked, the sentence about it, the numbers, and where to reread."""

from textwrap import wrap

from utils.checking.messages.conditions import UNDER, UNDER_GRADIENT
from utils.checking.messages.no_result import CODE
from utils.checking.records import FrozenExercise

IF_NAN = "{NaN}"  # in a declared sentence: what follows is told only if a result, or a gradient, of the answer is NaN


def success(exercise: FrozenExercise, verdicts) -> str:
    """What a student reads when every case passed."""
    count = len(verdicts)
    message = f"✓ {exercise.name} · {count} properties checked, all hold"
    if exercise.examined > count:
        message += f"\n  Grading examines the same on {exercise.examined} draws of other numbers and sizes."
    return message


def failure(
    exercise: FrozenExercise, shown, misconception: str | None, points: dict[str, float], unwritten: bool
) -> str:
    """What a student reads when a case failed: headline, sentence, numbers, and where to reread."""
    sentence = _seen(exercise.misconceptions[misconception], shown) if misconception else shown.sentence
    lines = [f"✗ {exercise.name} · {shown.property}", *_indent(sentence)]
    reread = f'reread lesson {exercise.unit[:2]}, "{exercise.sections[shown.part]}"'
    lines += _indent(f"{shown.detail} · {reread}" if shown.detail else reread)
    if unwritten and shown.problem != "unfinished":
        lines += _indent("Another part is not written yet: it still raises NotImplementedError.")
    if any(points.values()):
        lines += _indent(_account(exercise, points))
    return "\n".join(lines)


def _account(exercise: FrozenExercise, points: dict[str, float]) -> str:
    """Which points are earned although something failed, and for what."""
    share = "the share for robustness is not"
    earned = f"{sum(points.values()):g} of {sum(exercise.points.values()):g} points"
    if len(points) == 1:
        return f"{earned} are earned: for the idea; {share}"
    parts = [
        f"{part} ({share})" if reached < exercise.points[part] else part for part, reached in points.items() if reached
    ]
    return f"{earned}, for: {', '.join(parts)}"


def _seen(sentence: str, shown) -> str:
    """A declared sentence with where it holds, if not everywhere, and without what it claims of NaN where none came."""
    always, _, consequence = sentence.partition(f" {IF_NAN} ")
    place = hint("", shown.where) if shown.where else ""
    return " ".join(filter(None, (place, always, consequence if shown.undefined else "")))


def related(shown, found: list[str], hint: str) -> str:
    """The sentence of a verdict with relations in the place of what was seen on one case.

    Args:
        found: the relations' sentences.
        hint: what comes before them; see `hint`.
    """
    sentence = shown.sentence
    if found and shown.problem == "not_finite":
        sentence = f"{sentence} {' '.join(found)}"  # which says where NaN comes from
    elif found:
        _, newline, formula = sentence.partition("\n")
        sentence = " ".join(found) + newline + formula
    return f"{hint} {sentence}" if hint else sentence


def called(exercise: FrozenExercise, by: str) -> str:
    """The sentence where results are right but for arguments that come by "position", or by "name"."""
    order = f"{exercise.name}({', '.join(exercise.parameters)})"
    if exercise.is_module:
        inner = ", ".join(("self", *exercise.constructor))
        order = f"__init__({inner}) and forward({', '.join(('self', *exercise.parameters))})"
    if by == "name":
        return f"With arguments by position it is right, by name it is not: does each name stand for what it should in {order}?"
    return (
        f"With arguments by name it is right, by position it is not: does your code take them in this order, {order}?"
    )


def hint(
    under: str, circumstance: str = "", only: bool = False, gradient: bool = False, near_enough: bool = False
) -> str:
    """Where code fails, in words.

    Args:
        near_enough: whether results that pass are off by a little, too.
        gradient: whether results are right, and gradients are not.
        under: the condition under which alone anything fails; empty if ordinary inputs fail too.
        circumstance: what is true of all that fails, and of nothing that passes.
        only: whether no other property fails.
    """
    if circumstance:
        return f"In all that was checked here it fails exactly where {circumstance}."
    if only:
        return "All else that was checked holds; only this does not."
    told = UNDER_GRADIENT.get(under, "") if gradient else UNDER.get(under, "")
    return told.replace("the right result;", "a result that is near enough;") if near_enough else told


def unjudged(name: str, shown) -> str:
    """What a student reads of an exercise that grading itself could not run."""
    return "\n".join([f"? {name} · to be marked by hand", *_indent(shown.sentence)])


def continued(message: str, sentence: str) -> str:
    """A message with another sentence below it."""
    return "\n".join([message, *_indent(sentence)])


def _indent(text: str) -> list[str]:
    """Lines of at most 80 characters; a quoted line of code stays whole."""
    wrapped = []
    for line in text.splitlines():
        wrapped += (
            ["  " + line] if line.startswith(CODE) else wrap(line, 80, initial_indent="  ", subsequent_indent="  ")
        )
    return wrapped
