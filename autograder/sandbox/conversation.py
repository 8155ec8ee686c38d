"""What a job's process is told, step by step, and what of its answers is believed.

A step is a cell, or an exercise with a turn for each case. The process is told of a step once it has answered the one
before, and answers count once it has sent back a word that it is told only then: when code of the student's has ended.
"""

import base64
import json
import re
import secrets
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from autograder.sandbox.run import ENDED, Run
from utils.checking.observing.refusals import CONFINED
from utils.checking.packs.packing import bounded_text, unpack_observation
from utils.checking.records import Failure, Observation

MAX_PARTS = 500_000  # commas and brackets in a line: for each of them, Python makes an object of many bytes
MAX_OUTPUTS = 60  # outputs of one cell that are kept
MAX_SIDE = 8000  # pixels of a picture's side
_PNG = b"\x89PNG\r\n\x1a\n"
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,40}[A-Za-z]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
TAMPERED = Observation(failure=Failure("tampered", "tampered", "the grading code was changed from within the notebook"))
_NOT_YET = ("NotImplementedError", "NameError")

# The cases, in JSON, on which an exercise is to be observed once more, by its name and what was observed; none if that is enough.
Closer = Callable[[str, list[Observation]], list[str]]


@dataclass
class Step:
    """What a process is told at a time, each turn to be answered by a line, and what these lines said."""

    cell: int  # the index of the notebook's cell; -1 for what comes before all of them
    turns: list[dict]
    exercise: str = ""
    again: bool = False  # the exercise was observed before, and something was not defined yet
    closer: bool = False  # the exercise was observed just before, on other cases
    number: int = 0
    answers: list = field(default_factory=list)  # None for a line of another form
    word: str = field(default_factory=lambda: secrets.token_hex(16))

    def is_incomplete(self) -> bool:
        """Whether an exercise, or what it calls, was not defined yet: it may be further down in the notebook."""
        failures = [observation.failure for observation, _ in filter(None, self.answers) if self.exercise]
        return any(failure and (failure.stage == "missing" or failure.type in _NOT_YET) for failure in failures)


class Conversation:
    """The grader's side of a job under way: `heard(line)` says what to send, and enters into the run what has come.

    A line that was not asked for is a sign of forging: of the exercise that it was meant for, nothing is believed.
    """

    def __init__(self, job: dict, seconds: float, run: Run, closer: Closer):
        self.job, self.seconds, self.run, self.closer = job, seconds, run, closer
        self.unasked = 0  # lines that were not asked for
        self._forged: set[str] = set()
        self._later: list[Step] = []
        self._steps = self._all_steps()
        self._open = next(self._steps)
        self._told = [self._open]

    def heard(self, line: bytearray) -> bytes:
        """Takes a line and returns what is to be sent to the process, if anything."""
        step = self._open
        if len(step.answers) < len(step.turns):
            answer = _parsed(line)
            if answer is not None and answer.get("place") != [step.number, len(step.answers)]:
                self._suspect(answer)
            step.answers.append(_understood(step, answer or {}))
            return self._said_after(step) if len(step.answers) == len(step.turns) else b""
        word, _, remark = line.partition(b" ")
        if word == step.word.encode():
            self._forged |= {step.exercise} if remark == b"tampered" else set()
            self._enter(step)
        else:
            self._suspect(_parsed(line) or {})
        return b""

    def end(self) -> None:
        """Takes back what was entered of exercises for which something was forged."""
        for name in self._forged - {""}:
            cases = self.job["cases"][name]
            cases = self.closer(name, [TAMPERED] * len(cases)) or cases
            self.run.observations[name] = [TAMPERED] * len(cases)

    def _all_steps(self) -> Iterator[Step]:
        job = self.job
        yield Step(-1, [{}])  # the process says that it is there
        yield Step(-1, [{"files": job.get("files", {})}])
        yield from (Step(-1, [{"source": source, "pictures": False}]) for source in job.get("first", ()))
        for index, cell in enumerate(job["cells"]):
            if index in self.run.fatal:
                continue
            if name := cell.get("exercise"):
                yield from self._looks(index, name)
            elif cell["source"]:  # a cell of text has none
                yield Step(index, [{"source": cell["source"], "pictures": cell.get("pictures", True)}])
        for step in self._later:
            yield from self._looks(step.cell, step.exercise, again=True)

    def _looks(self, index: int, name: str, again: bool = False) -> Iterator[Step]:
        """A look at an exercise, and a closer one where the first is not enough."""
        look = self._look(index, name, self.job["cases"][name], again)
        yield look
        if None not in look.answers and not (again and look.is_incomplete()):
            if cases := self.closer(name, [observation for observation, _ in look.answers]):
                yield replace(self._look(index, name, cases, again), closer=True)

    def _look(self, index: int, name: str, cases: list[str], again: bool) -> Step:
        about = {"exercise": name, "device": self.job["device"], "watched": name in self.job.get("watched", (name,))}
        return Step(index, [{**about, "case": case} for case in cases], name, again)

    def _said_after(self, step: Step) -> bytes:
        """The word for a step that was answered, and the step that follows it: one without turns at the end."""
        if step.is_incomplete() and not step.again and not step.closer:
            self._later.append(step)
        following = next(self._steps, Step(-1, []))
        following.number = len(self._told)
        self._told.append(following)
        said = [f"{step.word} {int(bool(step.exercise))} {len(following.turns)}"]
        for number, turn in enumerate(following.turns, 1):
            about = {"place": [following.number, number - 1], "last": number == len(following.turns)}
            said.append(_in_json({**turn, **about, "seconds": self.seconds}))
        return b"".join(b"%08d%s" % (len(message), message.encode()) for message in said)

    def _enter(self, step: Step) -> None:
        """Enters into the run what a step has given, and goes on with the one that follows."""
        run, self._open = self.run, self._told[-1]
        if None not in step.answers and step.exercise:
            seconds = sum(seconds for _, seconds in step.answers)
            run.seconds[step.exercise] = run.seconds.get(step.exercise, 0.0) + seconds
            if not (step.again and step.is_incomplete()):
                run.observations[step.exercise] = [observation for observation, _ in step.answers]
            if self._open.closer:  # what came at the first look counts no more
                run.observations.pop(step.exercise, None)
        elif None not in step.answers and step.cell >= 0:
            run.outputs[step.cell], refused = step.answers[0]
            if refused:
                run.confined[step.cell] = refused[0]
        run.how = run.how if self._open.turns else ENDED
        run.reached = len(self.job["cells"]) if run.how == ENDED or self._open.again else max(0, self._open.cell)

    def _suspect(self, answer: dict) -> None:
        """Notes the exercises that a line which was not asked for can have been meant for."""
        self.unasked += 1
        coming = self.job["cells"][max(0, self._open.cell) :]
        self._forged |= {self._open.exercise} if self._open.exercise else {cell.get("exercise", "") for cell in coming}
        match answer.get("place"):
            case [int(number), *_] if 0 <= number < len(self._told):
                self._forged.add(self._told[number].exercise)


def _in_json(turn: dict) -> str:
    """A turn in JSON; that of its case, which is the same for all who are asked, is there already."""
    text = json.dumps({name: value for name, value in turn.items() if name != "case"})
    return f'{text[:-1]}, "case": {turn["case"]}}}' if "case" in turn else text


def _parsed(line: bytearray) -> dict | None:
    """A line's data, empty where it is of another form; None where it has so many parts that it would fill memory."""
    if sum(map(line.count, (b",", b"[", b"{"))) > MAX_PARTS:
        return None
    try:
        data = json.loads(line) if line.isascii() else {}
    except (ValueError, RecursionError):
        data = {}
    return data if isinstance(data, dict) else {}


def _understood(step: Step, answer: dict) -> tuple | None:
    """An observation and its seconds, or outputs and those of the confinement; None for an answer of another form."""
    try:
        if step.exercise:
            return unpack_observation(answer["observation"]), min(1e6, max(0.0, float(answer["seconds"])))
        outputs = answer.get("outputs", [])
        refused = [_rebuilt_output(output) for output in outputs if output.get("refused") == CONFINED]
        return [_rebuilt_output(output) for output in outputs[:MAX_OUTPUTS]], refused
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def _rebuilt_output(item: dict) -> dict:
    """An output in nbformat's form, rebuilt field by field: whatever else was sent is left out."""
    kind = item["output_type"]
    if kind == "stream":
        name = "stderr" if item["name"] == "stderr" else "stdout"
        return {"output_type": kind, "name": name, "text": _writable_text(item["text"])}
    if kind == "error":
        text = {name: bounded_text(item[name]) for name in ("ename", "evalue")}
        return {"output_type": kind, **text, "traceback": [f"{text['ename']}: {text['evalue']}"]}
    data = {"text/plain": _writable_text(item["data"]["text/plain"])} if "text/plain" in item["data"] else {}
    if picture := _picture(item["data"].get("image/png")):
        data["image/png"] = picture
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _picture(text: object) -> str:
    """A PNG in base64, without line breaks; empty for anything else, and for a picture that is too large to look at."""
    try:
        data = base64.b64decode(str(text), validate=False)
    except ValueError:
        return ""
    sides = struct.unpack(">II", data[16:24]) if data[:8] == _PNG and data[12:16] == b"IHDR" and len(data) >= 24 else ()
    return base64.b64encode(data).decode() if sides and 0 < min(sides) and max(sides) <= MAX_SIDE else ""


def _writable_text(text: object) -> str:
    """Text that can be written to a file and shown: half a character becomes a question mark, and colours are left out."""
    plain = _COLOURS.sub("", str(text).encode("utf-8", "replace").decode())
    return plain if plain.isprintable() else _CONTROLS.sub("", plain)
