"""Registers the answers of a bank: right ones, wrong ones with what is wrong about them, and what the text leaves open."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

BANK = Path(__file__).parents[1] / "bank" / "answers"
KINDS = ("concept", "shape", "numerics", "layout", "gradient", "process", "module", "interface", "edge")


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
    assert kind in KINDS, kind
    return _registering("wrong", truth, kind)


def left_open(words: str, kind: str):
    """Registers an answer that is worse than others, though no text asks for better: it may pass or fail."""
    return _registering("open", words, kind)


def _registering(verdict: str, words: str, kind: str):
    def register(made):
        _found.append(Answer(verdict, made.__name__, made, words, kind))
        return made

    return register


def answers_to(exercise: str) -> list[Answer]:
    """All answers to an exercise that the bank holds."""
    _found.clear()
    spec = importlib.util.spec_from_file_location(f"answers_to_{exercise}", BANK / f"{exercise}.py")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return list(_found)
