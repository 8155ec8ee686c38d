"""Registers the answers of a bank: right ones, wrong ones with what is wrong about them, and what the text leaves open.

Many wrong answers are changes of a right one, of a class's method, or of a function that stands in the file for them alone:

    change(_plain, "sum_of_probabilities", "P is the sum over the tokens and not the mean", "concept",
           (".mean(0)", ".sum(0)"))
"""

import ast
import functools
import importlib.util
import linecache
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

BANK = Path(__file__).parents[1] / "bank" / "answers"
KINDS = ("concept", "shape", "numerics", "layout", "gradient", "process", "module", "interface", "edge")
REGISTERING = ("right", "wrong", "left_open")


@dataclass(frozen=True)
class Answer:
    """One answer to an exercise: "right", "wrong" or "open", the object, and in words its style or what is wrong."""

    verdict: str
    name: str
    object: object
    words: str
    kind: str = ""


_found: list[Answer] = []


def right(style: str):
    """Registers a right answer in an unusual style."""
    return _registering("right", style, "")


def wrong(truth: str, kind: str):
    """Registers a wrong answer; `truth` is what is wrong about it, against which a human holds the sentence it gets."""
    return _registering("wrong", truth, kind)


def left_open(words: str, kind: str):
    """Registers an answer that is worse than others, though no text asks for better: it may pass or fail."""
    return _registering("open", words, kind)


def _registering(verdict: str, words: str, kind: str):
    assert verdict == "right" or kind in KINDS, kind

    def register(made):
        _found.append(Answer(verdict, made.__name__, made, words, kind))
        return made

    return register


def change(base, name: str, truth: str, kind: str, *edits: tuple, verdict: str = "wrong"):
    """Registers the answer that `base` becomes under a new name and by edits: wrong or, as `verdict` says, "open".

    The base is a function or a class that the same file holds in full, or a method of such a class: the answer is then a
    subclass that has this method alone, in its changed form. An edit is (old, new) for what occurs once in the base, and
    (old, new, n) for what occurs n times. Text that begins with a line break is a block of lines, and gets the margin of
    the line in which the old text begins. `before` and `after` make edits that add lines.
    """
    namespace = sys._getframe(1).f_globals
    exercise = Path(namespace["__file__"])
    source = _renamed(edited(_written(exercise, base.__qualname__), *edits), base.__qualname__, name)
    file = f"<{name}, an answer to {exercise.stem}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec", dont_inherit=True), namespace)
    _registering(verdict, truth, kind)(namespace[name])


def before(line: str, added: str) -> tuple[str, str]:
    """An edit that adds lines before the line that begins with `line`."""
    return line, f"{_text(added)}\n{_text(line)}"


def after(line: str, added: str) -> tuple[str, str]:
    """An edit that adds lines after the line that ends with `line`."""
    return line, f"{_text(line)}\n{_text(added)}"


def edited(source: str, *edits: tuple) -> str:
    """`source` after all edits, each of which is an edit of `source` as it was."""
    spans = sorted(span for edit in edits for span in _spans(source, *edit))
    for (_, end, _), (start, _, _) in zip(spans, spans[1:]):
        assert end <= start, f"two edits meet in {source[start:end]!r}"
    for start, end, new in reversed(spans):
        source = source[:start] + new + source[end:]
    return source


def _spans(source: str, old: str, new: str, times: int = 1) -> list[tuple[int, int, str]]:
    """From where to where `old` stands in `source`, and what replaces it; without new text, a line's own end goes too."""
    old, new, found = _text(old), _text(new), []
    for start in (at.start() for at in re.finditer(re.escape(old.partition("\n")[0]), source)):
        line = source.rfind("\n", 0, start) + 1
        margin = re.match(" *", source[line:])[0]
        end = start + len(_with_margin(old, margin))
        if source[start:end] != _with_margin(old, margin):
            continue
        whole = line + len(margin) == start and source[end : end + 1] == "\n"
        found.append((start, end, _with_margin(new, margin)) if new or not whole else (line, end + 1, ""))
    assert len(found) == times, f"{old!r} occurs {len(found)} times, not {times}, in\n{source}"
    return found


def _text(text: str) -> str:
    return textwrap.dedent(text[1:]) if text.startswith("\n") else text


def _with_margin(text: str, margin: str) -> str:
    return re.sub("\n(?=.)", f"\n{margin}", text)


def _written(exercise: Path, qualified_name: str) -> str:
    """What a file holds under a name, without the decorators of this module."""
    lines, definitions = _definitions(exercise)
    assert qualified_name in definitions, f"{qualified_name} is not written out in {exercise.name}"
    start, end = definitions[qualified_name]
    return "\n".join(lines[start:end]) + "\n"


def _renamed(source: str, qualified_name: str, name: str) -> str:
    """A function or class under another name; a method as all that a subclass with this name has of its own."""
    known_as, _, method = qualified_name.partition(".")
    return f"class {name}({known_as}):\n{source}" if method else re.sub(rf"(?<![.\w]){known_as}\b", name, source)


@functools.cache
def _definitions(exercise: Path) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """A file's lines, and between which of them its functions, classes and their methods stand."""
    text = exercise.read_text(encoding="utf-8")
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    found = {node.name: _extent(node) for node in nodes}
    for node in nodes:
        methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
        found |= {f"{node.name}.{one.name}": _extent(one) for one in methods}
    return text.splitlines(), found


def _extent(node) -> tuple[int, int]:
    kept = [one for one in node.decorator_list if getattr(getattr(one, "func", None), "id", "") not in REGISTERING]
    return min(one.lineno for one in (*kept, node)) - 1, node.end_lineno


def answers_to(exercise: str) -> list[Answer]:
    """All answers to an exercise that the bank holds."""
    _found.clear()
    spec = importlib.util.spec_from_file_location(f"answers_to_{exercise}", BANK / f"{exercise}.py")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return list(_found)
