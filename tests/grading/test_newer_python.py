"""An answer in newer Python than grading has is left to a human, and told so; whatever else fails is judged as ever."""

import sys

import pytest
from conftest import plain

from autograder.grading import newer_python
from autograder.grading.examined import GRADED, UNJUDGED, Examined
from utils.checking.judging.problems import Problem
from utils.checking.judging.verdict import Result

HERE = "{}.{}".format(*sys.version_info)
NEXT = "3.99.1"
SOURCES = {
    "def attention_scores[T](q: T, X: T) -> T:\n    return q": (3, 12),
    "type Row = list[int]\ndef attention_scores(q, X): return q": (3, 12),
    "def attention_scores(q, X):\n    try: return q\n    except TypeError, ValueError: return X": (3, 14),
    "def attention_scores(q, X):\n    return t'{q}'": (3, 14),
}


def failed(message="✗ attention_scores · x", passed=False):
    problem = None if passed else Problem.MISSING_OBJECT
    result = Result("attention_scores", 2.0 * passed, 2.0, problem, None, message, ())
    return Examined("attention_scores", GRADED, result)


def left(source, written, **more):
    return newer_python.left_open(failed(**more), [{"source": source, "own": "attention_scores"}], written)


@pytest.mark.parametrize("source", [one for one, since in SOURCES.items() if since > sys.version_info[:2]])
def test_syntax_that_only_the_notebooks_python_has_is_left_open(source):
    found = left(source, "3.14.0")
    assert (found.state, found.result.points, found.result.problem) == (UNJUDGED, 0, "newer_python")
    said = plain(found.result.message)
    assert f"written with Python 3.14, grading runs Python {HERE}" in said and "no fault of yours" in said


def test_a_module_that_only_the_notebooks_python_has_is_left_open():
    said = "✗ attention_scores · x\n  failed: ImportError: cannot import name 'batched' from 'itertools' (unknown"
    assert left("x = 1", NEXT, message=said).state == UNJUDGED
    assert left("x = 1", NEXT, message=said.replace("itertools", "einops")).state == GRADED


@pytest.mark.parametrize("written", [HERE, "3.9.1", "", "three"])
def test_a_notebook_that_is_no_newer_is_judged(written):
    for source in SOURCES:
        assert left(source, written).state == GRADED


def test_what_no_python_can_read_and_what_is_right_is_judged():
    assert left("def attention_scores((q, X):\n    return q", "3.14.0").state == GRADED
    assert left(next(iter(SOURCES)), "3.14.0", passed=True).state == GRADED
