"""What other cells spoil is examined by itself, as the student saw it pass; and what is wrong stays wrong."""

from dataclasses import replace

import pytest
from conftest import UNIT, plain

from autograder.grading import examination
from autograder.grading.examination import examine_cells
from autograder.grading.needs import MAX_STATEMENTS, Needs
from autograder.sandbox import levels
from autograder.sandbox.limits import limits_of

SCORES = "def attention_scores(q, X):\n    return (q.unsqueeze(-2) * X).sum(-1)"
WRONG = SCORES.replace("sum", "mean")
CHECK = {"exercise": "attention_scores"}
OWN = "attention_scores"


def cell(source, own=""):
    return {"source": source, **({"own": own} if own else {})}


def examined(*cells, first=(), **limits):
    told = [cell(one) if isinstance(one, str) else one for one in cells]
    asked = replace(limits_of(UNIT), **limits)
    _, (found,) = examine_cells(told, "seed", levels.available()[0], asked, first=["import torch\nimport math", *first])
    return found


LOOP = "while True:\n    pass"
RIGHT_BY_ITSELF = {
    "time ran out above": [*[LOOP] * 4, cell(SCORES, OWN), CHECK],
    "a loop above it in its cell": [cell(f"{LOOP}\n{SCORES}", OWN), CHECK],
    "a loop among what it needs": [cell(f"H = 1.0\n{LOOP}\n{SCORES} * H", OWN), CHECK],
    "the process ended in its cell": [cell(f"{SCORES}\nimport os; os._exit(1)", OWN), CHECK],
    "numpy of a cell that is gone": [cell(f"{SCORES} * np.ones(1, np.float32)[0].item()", OWN), CHECK],
    "a default that comes below": [cell(SCORES.replace("X)", "X, H=H)", 1), OWN), CHECK, "H = 1"],
    "a decorator that comes below": [cell(f"@same\n{SCORES}", OWN), CHECK, "def same(f):\n    return f"],
    "a helper that another cell has anew": [
        "def mul(q, X):\n    return q.unsqueeze(-2) * X",
        cell("def attention_scores(q, X):\n    return mul(q, X).sum(-1)", OWN), "def mul(q, X):\n    return q", CHECK,
    ],
    "an earlier try, run later": [cell(SCORES, OWN), WRONG, CHECK],
    "a module's name for a number": ["math = 3", cell(f"{SCORES} * math.pi / math.pi", OWN), CHECK],
    "a name that was deleted": [cell(f"H = 1\n{SCORES} * H", OWN), "del H", CHECK],
    "what it keeps was changed": [cell(f"H = [1]\n{SCORES} * H[0]", OWN), "H[0] = 2", CHECK],
}  # fmt: skip


@pytest.mark.parametrize("accident", RIGHT_BY_ITSELF)
def test_a_right_answer_keeps_its_points_and_it_is_told_why(accident):
    found = examined(*RIGHT_BY_ITSELF[accident], cell_seconds=1.0, submission_seconds=3.0)
    assert found.result.passed and found.state == "graded", found.result.message
    assert OWN in found.note and found.note.endswith(".")


@pytest.mark.parametrize("accident", RIGHT_BY_ITSELF)
def test_a_wrong_answer_is_wrong_by_itself_too(accident):
    made = [
        {**one, "source": one["source"].replace(".sum(-1)", ".mean(-1)")}
        if isinstance(one, dict) and "own" in one
        else one
        for one in RIGHT_BY_ITSELF[accident]
    ]
    found = examined(*made, cell_seconds=1.0, submission_seconds=3.0)
    assert not found.result.passed and found.result.points == 0


def jobs_of(monkeypatch, *cells) -> int:
    started = []
    monkeypatch.setattr(examination, "Job", lambda *told, made=examination.Job: started.append(1) or made(*told))
    examined(*cells)
    return len(started)


@pytest.mark.parametrize(
    "cells",
    [
        [cell(SCORES, OWN), CHECK],
        [cell(WRONG, OWN), "X = torch.ones(2)\nloss = X.sum()", CHECK],
        [cell("def attention_scores(q, X):\n    raise NotImplementedError()", OWN), CHECK, "H = 1"],
        [cell(SCORES.replace("sum", "smu"), OWN), CHECK],
        [cell(SCORES.replace("q.", "no_such_name."), OWN), CHECK],
        [cell("def attention_scores((q, X): pass", OWN), CHECK][1:],
        [cell("def other(q, X):\n    return q", OWN), CHECK],
    ],
)
def test_what_is_right_or_merely_wrong_is_run_once(monkeypatch, cells):
    assert jobs_of(monkeypatch, *cells) == 1


def test_the_whole_takes_no_more_than_twice_its_time_and_says_what_held():
    loops = [f"while True:\n    {name} = 1" for name in "abcd"]
    found = examined(*loops, cell(f"{SCORES} * a * b * c * d", OWN), CHECK, cell_seconds=1.0, submission_seconds=2.5)
    assert found.state == "timeout" and found.result.points == 0 and not found.note
    assert "The notebook as a whole may take 2.5 s" in plain(found.result.message)


def test_a_plan_leaves_out_what_nobody_needs_and_keeps_the_order():
    cells = [cell("import os\nx = 1"), cell("K = 2"), cell("print(K)"), cell("def f(x):\n    return g(x) + K"), {"exercise": "f"},
             cell("def g(x):\n    return x"), cell("K = 3")]  # fmt: skip
    plan = Needs(cells, []).plan(["f"])
    run = [one.get("source", "?") for one in plan.cells if one.get("source") != ""]
    assert [one.splitlines()[0] for one in run] == ["K = 2", "def f(x):", "?", "def g(x):", "K = 3"]


def test_a_notebook_of_more_statements_than_anybody_writes_gets_no_second_try():
    cells = [cell("\n".join(f"a{n} = a{n + 1}" for n in range(MAX_STATEMENTS + 1))), cell("f = a0"), {"exercise": "f"}]
    with pytest.raises(ValueError, match="too many"):
        Needs(cells, [])


def test_a_forbidden_call_of_a_library_that_was_not_imported_is_still_forbidden():
    source = "def stable_softmax(e, dim=-1):\n    return torch.as_tensor(scipy.special.softmax(e.numpy(), axis=dim))"
    told = [cell("import torch"), cell(source, "stable_softmax"), {"exercise": "stable_softmax"}]
    _, (found,) = examine_cells(told, "seed", levels.available()[0], limits_of(UNIT))
    assert not found.result.passed and found.result.points == 0


def test_the_first_error_that_kept_a_name_away_is_told_as_the_cause():
    helper = "from google.colab import tool\nhelper = tool\ndef show():\n    pass"
    found = examined("1 / 0", helper, cell("scale = helper(1)", ""), cell(f"{SCORES} * scale", OWN), CHECK)
    said = plain(found.result.message)
    assert "NameError: name 'scale' is not defined" in said
    assert (
        "`scale` is not there because the cell that begins “from google.colab import tool” failed: ModuleNotFoundError"
        in said
    )
    assert "No module named 'google" in said and "ZeroDivisionError" not in said


SOFTMAX = "def stable_softmax(e, dim=-1):\n    return scale * e"
CHECKED_TOO = {"exercise": "stable_softmax"}


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("raise ValueError('SEC' + 'RET')", "failed: ValueError. "),
        ('raise NameError("name \'SEC" + "RET\' is not defined")', "failed: NameError. "),
        ("raise SyntaxError('SEC' + 'RET')", "failed: SyntaxError. "),
        ("raise type('SEC' + 'RET', (Exception,), {})('x')", "failed: an error. "),
        ("raise type('TimeLimit', (Exception,), {})('SEC' + 'RET')", "failed: TimeLimit. "),
        ("missing_here", "failed: NameError: name 'missing_here' is not defined. "),
    ],
)
def test_an_error_below_a_check_is_told_without_words_that_may_be_made_of_hidden_inputs(raised, told):
    failing = f"def fails():\n    {raised}\nscale = fails()"
    cells = [cell(SCORES), CHECK, cell(failing), cell(SOFTMAX, "stable_softmax"), CHECKED_TOO]
    _, (_, found) = examine_cells(cells, "seed", levels.available()[0], limits_of(UNIT), first=["import torch"])
    said = plain(found.result.message)
    assert "SECRET" not in said and told in said, said


def test_a_missing_object_is_told_by_the_error_of_its_own_cell():
    found = examined("1 / 0", cell("def attention_scores((q, X):\n    return q", OWN), CHECK)
    said = plain(found.result.message)
    assert (
        "Nothing is called `attention_scores`" in said
        and "failed: SyntaxError: " in said
        and "ipython-input" not in said
    )


def test_no_error_is_told_that_has_nothing_to_do_with_it():
    found = examined("1 / 0", cell("def attentionscores(q, X):\n    return q", OWN), CHECK)
    assert "ZeroDivisionError" not in found.result.message
