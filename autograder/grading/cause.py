"""Why a name is not there: the first error that kept it from being defined, and what to do about it."""

import re
from dataclasses import replace

from autograder.grading.examined import KILLED, TIMEOUT, Examined
from autograder.intake.statements import statements
from autograder.sandbox.job import JobCell
from utils.checking.messages import composing
from utils.checking.records import Failure, Observation

_NAME = re.compile(r"name '(\w+)' is not defined")
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
    found = _NAME.search(failure.text) if failure.type == "NameError" else None
    return found[1] if found else ""


def with_cause(one: Examined, seen: dict[str, list[Observation]], cells: list[JobCell], outputs: dict) -> Examined:
    """Where an object or a name that it uses is not there, says which error kept it from being there."""
    failures = [each.failure for each in seen.get(one.exercise) or () if each.failure]
    name = one.exercise if one.result.problem == "missing_object" else next(filter(None, map(lacking, failures)), "")
    if not name or one.result.problem not in ("missing_object", "exception", "constructor_failed"):
        return one
    place = next(index for index, cell in enumerate(cells) if cell.get("exercise") == one.exercise)
    above = [(cell.get("source", ""), outputs.get(index, ())) for index, cell in enumerate(cells[:place])]
    errors = [(source, out) for source, shown in above for out in shown if source and _is_error(out)]
    found = _cause(name, errors)
    # as of a file with one error
    all_failed = all(any(map(_is_error, shown)) for source, shown in above if source.strip())
    if found is None and not (errors and all_failed):
        return one
    source, error = found or errors[0]
    begins = next(line.strip() for line in source.splitlines() if line.strip())[:60]
    said = (
        f"`{name}` is not there because the cell that begins “{begins}” failed" if found else "The first error above it"
    )
    said = f"{said}: {_spoken(error)}. {_TODO.get(error['ename'], _ELSE)}"
    state = _STATES.get(error["ename"], one.state)
    return replace(one, state=state, result=replace(one.result, message=composing.continued(one.result.message, said)))


def _spoken(error: dict) -> str:
    text = _PLACE.sub(r"(\1)", "".join(error["evalue"].splitlines()[:1]))
    return f"{error['ename']}{': ' * bool(text)}{text}".rstrip(".")


def _is_error(output: dict) -> bool:
    return output["output_type"] == "error"


def _cause(name: str, errors: list[tuple[str, dict]]) -> tuple[str, dict] | None:
    """The first error among cells that would have bound the name; of an error for the lack of another name, its cause."""
    found, asked = None, set()
    while name and name not in asked:
        asked.add(name)
        binding = [each for each in errors if any(name in one.binds for one in statements(each[0]))]
        if not binding:
            break
        found = binding[0]
        missing = _NAME.search(found[1]["evalue"]) if found[1]["ename"] == "NameError" else None
        name = missing[1] if missing else ""
    return found
