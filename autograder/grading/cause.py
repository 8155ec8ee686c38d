"""Why a name is not there: the first error that kept it from being defined, and what to do about it."""

import builtins
import re
from dataclasses import replace

from autograder.grading.examined import KILLED, TIMEOUT, Examined
from autograder.intake.statements import statements
from autograder.sandbox.job import JobCell
from utils.checking.messages import composing
from utils.checking.records import Failure, Observation

_NAME = re.compile(r"name '(\w+)' is not defined")
_NAMING = (re.compile(r"name '(\w+)' is not defined"), re.compile(r"No module named '([\w.]+)'"))
_WORDS = re.compile(r"\w+")
_PLACE = re.compile(r"\(<ipython-input-[\w-]+>, (line \d+)\)")
_STATES = {"TimeLimit": TIMEOUT, "ProcessEnded": KILLED}
_TODO = {
    "ModuleNotFoundError": "Grading has the course's packages alone: do without that one.",
    "SyntaxError": "That cell, or a part of it, is not Python, and is not run: mend what the error names.",
    "IndentationError": "That cell, or a part of it, is not Python, and is not run: mend what the error names.",
    "TimeLimit": "Put what takes so long into a cell of its own, without definitions.",
    "ProcessEnded": "Put what ends the process into a cell of its own, or take it out.",
}
_ELSE = "Restart the kernel and run all cells from the top: what is missing here is missing there."


def lacking(failure: Failure) -> str:
    """The name that a NameError says is not there; empty for another failure."""
    match = _NAME.search(failure.text) if failure.type == "NameError" else None
    return match[1] if match else ""


def with_cause(one: Examined, seen: dict[str, list[Observation]], cells: list[JobCell], outputs: dict) -> Examined:
    """Where an object or a name that it uses is not there, says which error kept it from being there."""
    failures = [observation.failure for observation in seen.get(one.exercise) or () if observation.failure]
    name = one.exercise if one.result.problem == "missing_object" else next(filter(None, map(lacking, failures)), "")
    if not name or one.result.problem not in ("missing_object", "exception", "constructor_failed"):
        return one
    place = next(index for index, cell in enumerate(cells) if cell.get("exercise") == one.exercise)
    above = [(cell.get("source", ""), outputs.get(index, ())) for index, cell in enumerate(cells[:place])]
    checked = next(index for index, cell in enumerate(cells) if "exercise" in cell)
    errors = [
        (source, output if index < checked else _without_inputs(output, cells))
        for index, (source, shown) in enumerate(above)
        for output in shown
        if source and _is_error(output)
    ]
    cause = _cause(name, errors)
    # Every cell has failed, as when the whole notebook is a file with one error.
    all_failed = all(any(map(_is_error, shown)) for source, shown in above if source.strip())
    if cause is None and not (errors and all_failed):
        return one
    source, error = cause or errors[0]
    begins = next(line.strip() for line in source.splitlines() if line.strip())[:60]
    sentence = (
        f"`{name}` is not there because the cell that begins “{begins}” failed" if cause else "The first error above it"
    )
    sentence = f"{sentence}: {_error_in_words(error)}. {_TODO.get(error['ename'], _ELSE)}"
    state = _STATES.get(error["ename"], one.state)
    return replace(
        one, state=state, result=replace(one.result, message=composing.continued(one.result.message, sentence))
    )


def _without_inputs(error: dict, cells: list[JobCell]) -> dict:
    """An error of a cell that may have met hidden inputs, without the words that may hold them.

    What stays is the name of an error of Python's or of grading's, and which name was missing, if that stands in the notebook.
    """
    kind, text = error["ename"], error["evalue"]
    named = next(filter(None, (pattern.fullmatch(text) for pattern in _NAMING)), None)
    words = {word for cell in cells for word in _WORDS.findall(cell.get("source", ""))}
    is_known = kind in _STATES or isinstance(getattr(builtins, kind, None), type)
    kept = text if named and set(named[1].split(".")) <= words else ""
    return {**error, "ename": kind if is_known else "an error", "evalue": kept}


def _error_in_words(error: dict) -> str:
    text = _PLACE.sub(r"(\1)", "".join(error["evalue"].splitlines()[:1]))
    return f"{error['ename']}{': ' * bool(text)}{text}".rstrip(".")


def _is_error(output: dict) -> bool:
    return output["output_type"] == "error"


def _cause(name: str, errors: list[tuple[str, dict]]) -> tuple[str, dict] | None:
    """The first error in a cell that would have bound the name; where that error is the lack of another name, its cause."""
    cause, names_asked = None, set()
    while name and name not in names_asked:
        names_asked.add(name)
        binding = [error for error in errors if any(name in statement.binds for statement in statements(error[0]))]
        if not binding:
            break
        cause = binding[0]
        missing = _NAME.search(cause[1]["evalue"]) if cause[1]["ename"] == "NameError" else None
        name = missing[1] if missing else ""
    return cause
