"""Each relation is found where it holds, and told only if it holds on all cases."""

import ast
import re

import numpy as np
import pytest
from conftest import ROOT

from autograder.import_graph import imported
from utils.checking.explaining.discrete import discrete_facts, truth_facts
from utils.checking.explaining.facts import Fact, Kind, common
from utils.checking.explaining.places import place_facts
from utils.checking.explaining.scales import NamedFactor, named_factors, scale_facts
from utils.checking.explaining.weights import are_weights, weight_facts
from utils.checking.messages.facts.weights import cause_of_factor

LIMIT = 1e-5
SIZES = {"N_Q": 4, "N_X": 5, "D_Q": 7}
RNG = np.random.default_rng(0)
Y = RNG.standard_normal((4, 7))
E = RNG.standard_normal((4, 5))


def softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


A = softmax(E)


def scales(actual, expected=Y):
    return scale_facts("Y", expected, actual, LIMIT, SIZES, vectors=True)


def weights(actual, expected=A):
    return weight_facts("A", ["N_Q", "N_X"], expected, actual, LIMIT, SIZES)


@pytest.mark.parametrize(
    ("actual", "fact"),
    [
        (Y / 7**0.5, Fact(Kind.FACTOR, "Y", value="1/√D_Q")),
        (-Y, Fact(Kind.FACTOR, "Y", value="−1")),
        (Y / 20, Fact(Kind.FACTOR, "Y", value="1/(N_Q·N_X)", evidence=2)),
        (Y * 1.234, Fact(Kind.FACTOR, "Y", value="?")),
        (Y + 0.5, Fact(Kind.SHIFT, "Y")),
        (np.zeros_like(Y), Fact(Kind.CONSTANT, "Y", value="0")),
        (Y[:, ::-1], Fact(Kind.MOVED, "Y")),
        (Y * np.array([1, 2, 3, 4])[:, None], Fact(Kind.ROW_FACTOR, "Y", value=1)),
        (Y * 1.001, Fact(Kind.FACTOR, "Y", value="?")),
        (Y + 1e-3 * np.sin(9 * Y), Fact(Kind.CLOSE, "Y")),
    ],
)
def test_what_became_of_numbers_is_found(actual, fact):
    assert fact in scales(actual)


def test_a_turned_vector_keeps_its_length():
    turned = Y @ np.linalg.qr(RNG.standard_normal((7, 7)))[0]
    assert Fact(Kind.LENGTH, "Y") in scales(turned)
    assert Fact(Kind.LENGTH, "Y") not in scale_facts("Y", Y, turned, LIMIT, SIZES, vectors=False)


def test_numbers_that_are_simply_others_have_no_relation():
    assert scales(RNG.standard_normal(Y.shape)) == []


CAUSAL = np.tril(np.ones((4, 5)))


@pytest.mark.parametrize(
    ("actual", "fact"),
    [
        (softmax(E * 7**0.5), Fact(Kind.TEMPERATURE, "A", value="√D_Q")),
        (softmax(-E), Fact(Kind.TEMPERATURE, "A", value="−1")),
        (softmax(E * np.log(2)), Fact(Kind.TEMPERATURE, "A", value="ln 2")),
        (softmax(E, axis=0), Fact(Kind.SUM_OVER, "A", value=2)),
        (A / 5, Fact(Kind.SUM, "A", value="less")),
        (softmax(A), Fact(Kind.TWICE, "A")),
        (np.full_like(A, 0.2), Fact(Kind.UNIFORM, "A")),
        ((A == A.max(axis=-1, keepdims=True)).astype(float), Fact(Kind.HARD, "A")),
        (A * CAUSAL / (A * CAUSAL).sum(-1, keepdims=True), Fact(Kind.LOST, "A")),
        (A**2 + 0.01, Fact(Kind.ORDER, "A")),
        (A[:, ::-1], Fact(Kind.MOVED_IN_ROWS, "A")),
        (softmax(E + np.arange(20).reshape(4, 5) % 3), Fact(Kind.OTHER_SCORES, "A")),
        (E, Fact(Kind.BEFORE, "A")),
        (E**3, Fact(Kind.NEGATIVE, "A")),
        (softmax(E * (7 / 5) ** 0.5), Fact(Kind.TEMPERATURE, "A", value="√D_Q/√N_X", evidence=2)),
    ],
)
def test_what_became_of_weights_is_found(actual, fact):
    assert fact in weights(actual)


def test_a_causal_mask_is_told_as_such():
    facts = weights(A * CAUSAL / (A * CAUSAL).sum(-1, keepdims=True))
    (lost,) = (fact for fact in facts if fact.kind is Kind.LOST)
    assert "later than the query's own" in lost.sentence


def test_weight_where_none_should_be_is_seen():
    expected = softmax(np.where(np.arange(5) < 3, E, -np.inf))
    assert Fact(Kind.LEAK, "A") in weights(A, expected)
    assert are_weights(expected) and not are_weights(E)


@pytest.mark.parametrize(
    ("place", "fact"),
    [
        (np.s_[-1], Fact(Kind.WRONG_AT, "Y", axis="N_Q", value="last")),
        (np.s_[1:], Fact(Kind.RIGHT_AT, "Y", axis="N_Q", value="first")),
    ],
)
def test_where_numbers_are_wrong_is_found(place, fact):
    actual = Y.copy()
    actual[place] += 1
    assert fact in place_facts("Y", ["N_Q", "D_Q"], Y, actual, LIMIT)


def test_a_loop_that_goes_wrong_later_is_told_from_one_that_begins_wrong():
    tokens = RNG.integers(3, 9, size=(2, 6))
    later, at_once = tokens.copy(), tokens.copy()
    later[:, 3:] += 1
    at_once += 1
    assert Fact(Kind.AFTER_A_START, "y") in place_facts("y", ["B", "steps"], tokens, later, LIMIT)
    assert Fact(Kind.FROM_THE_START, "y") in place_facts("y", ["B", "steps"], tokens, at_once, LIMIT)
    assert not any("start" in fact.kind for fact in place_facts("A", ["B", "N_X"], tokens, later, LIMIT))


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        (lambda n: n + 1, Fact(Kind.OFF_BY, "n", value=1)),
        (lambda n: n * 3, Fact(Kind.TIMES, "n", value="3")),
        (lambda n: n - 2**32, Fact(Kind.OVERFLOW, "n")),
    ],
)
def test_what_became_of_counts_is_found(change, fact):
    counts = np.array([2**40 + 12, 2**41, 2**42 + 5])
    assert fact in discrete_facts("n", counts, change(counts))


def test_a_mask_on_the_wrong_side_is_told():
    mask = np.arange(6) < 3
    assert Fact(Kind.TRUTH, "m", value="inverted") in truth_facts("m", mask, ~mask)
    assert Fact(Kind.TRUTH, "m", value="more") in truth_facts("m", mask, np.arange(6) < 4)
    both = truth_facts("m", mask, np.arange(6) % 2 == 0)
    assert Fact(Kind.TRUTH, "m", value="some more") in both and Fact(Kind.TRUTH, "m", value="both") in both


def test_only_what_all_cases_share_is_told():
    one, other = scales(Y / 7**0.5), scale_facts("Y", Y, Y / 5**0.5, LIMIT, {**SIZES, "D_Q": 5}, vectors=True)
    assert common([one, other]) == [Fact(Kind.FACTOR, "Y", value="1/√D_Q")]
    assert common([one, scales(Y + 0.5)]) == []


def test_a_name_made_of_two_sizes_takes_two_cases():
    wide = {**SIZES, "D_Q": 6}
    one, other = scales(Y / 20), scale_facts("Y", Y, Y / 20, LIMIT, wide, vectors=True)
    assert Fact(Kind.FACTOR, "Y", value="1/(N_Q·N_X)", evidence=2) not in common([one])
    assert Fact(Kind.FACTOR, "Y", value="1/(N_Q·N_X)", evidence=2) in common([one, other])


@pytest.mark.parametrize(
    ("label", "question"),
    [
        ("√D_Q", "is a division by √D_Q missing before the softmax?"),
        ("1/√D_Q", "is there a division by √D_Q too many?"),
        ("√D_Q/√N_X", "divided by √N_X in the place of √D_Q?"),
        ("2/√D_Q", "divided by D_Q/2 in the place of √D_Q?"),
        ("1/(2·√D_Q)", "divided by 2·D_Q in the place of √D_Q?"),
    ],
)
def test_a_factor_of_scores_asks_for_the_division_that_gives_it(label, question):
    assert cause_of_factor(label).endswith(question)
    assert cause_of_factor("N_X") == "."


def test_factors_go_by_the_names_of_sizes():
    assert NamedFactor("√D_Q") in named_factors(7**0.5, SIZES, 1e-4)
    assert NamedFactor("√D_Q/√N_X", evidence=2) in named_factors((7 / 5) ** 0.5, SIZES, 1e-4)
    assert named_factors(0.777, SIZES, 1e-4) == []


def test_huge_rows_have_no_length_to_compare():
    huge = np.full((2, 3), 1e200)
    with np.errstate(all="raise"):
        facts = scale_facts("Y", huge, huge * [1, 2, 3], 1e-5, {}, vectors=True)
    assert not {Kind.LENGTH, Kind.ROW_FACTOR} & {fact.kind for fact in facts}


DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef)
FINDING = sorted((ROOT / "utils" / "checking" / "explaining").glob("*.py"))


def texts(code):
    """The texts that code holds, without docstrings; what an f-string fills in is left out."""
    tree = ast.parse(code)
    nodes = list(ast.walk(tree))
    docstrings = {id(node.body[0].value) for node in nodes if isinstance(node, DEFINITIONS) and ast.get_docstring(node)}
    written = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return [node.value for node in written if isinstance(node.value, str)]


def sentences(code):
    """Texts that read as English: with three words one after another."""
    kinds = {kind.value for kind in Kind}
    return [text for text in texts(code) if re.search(r"\b[A-Za-z][a-z]* [a-z]+ [a-z]+\b", text) and text not in kinds]


@pytest.mark.parametrize("file", FINDING, ids=lambda file: file.stem)
def test_no_sentence_is_made_where_facts_are_found(file):
    assert sentences(file.read_text(encoding="utf-8")) == []


def test_a_sentence_in_code_is_seen():
    code = '"""A module that finds no fact."""\n\ndef f(name):\n    """No sentence of it is told."""\n    return '
    assert sentences(code + 'f"Some rows of {name} are 0."') == ["Some rows of "]
    assert sentences(code + 'f"{name} √D", "rows of zeros", "too few"') == []


def test_the_words_of_facts_know_nothing_of_how_these_are_found():
    reached = {
        other for file in (FINDING[0].parents[1] / "messages" / "facts").glob("*.py") for other in imported(file)
    }
    assert not reached & set(FINDING)
