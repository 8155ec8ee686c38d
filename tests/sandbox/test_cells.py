"""A cell is run as far as it can be: behind what fails, beside what is not Python, and without what grading has not."""

import pytest
from conftest import UNIT

from autograder.sandbox import job, levels
from autograder.sandbox.limits import limits_of


@pytest.fixture(scope="module")
def shown():
    """shown(cell, ...) -> what the last cell printed, and the names of the errors of all, in order."""

    def run(*cells, **more):
        told = {"cells": [{"source": cell} for cell in cells], "cases": {}, "device": "cpu", **more}
        outputs = [
            out
            for shown in job.Job(told, levels.available()[0], limits_of(UNIT)).result().outputs.values()
            for out in shown
        ]
        printed = [out["text"].strip() for out in outputs if out["output_type"] == "stream"]
        return "\n".join(printed), [out["ename"] for out in outputs if out["output_type"] == "error"]

    return run


def test_statements_behind_one_that_fails_are_run_and_the_last_is_shown(shown):
    assert shown("import no_such_module\nx = 3\n1 / 0\nx") == ("3", ["ModuleNotFoundError", "ZeroDivisionError"])


def test_no_statement_runs_twice(shown):
    assert shown("n = 0\nn += 1\n1 / 0\nn += 1\nprint(n)") == ("2", ["ZeroDivisionError"])


def test_a_statement_that_compiles_to_nothing_stops_no_other(shown):
    assert shown("return 1\nprint('behind')") == ("behind", ["SyntaxError"])


def test_what_the_time_limit_stopped_is_not_run_on(shown):
    with_time = {"seconds": 1}
    told = {"cells": [{"source": "while True:\n    pass\nprint('behind')"}], "cases": {}, "device": "cpu", **with_time}
    limits = limits_of(UNIT).__class__(1.0, 30.0, 1 << 30, 1 << 28)
    outputs = job.Job(told, levels.available()[0], limits).result().outputs[0]
    assert [out.get("ename") for out in outputs] == ["TimeLimit"]


@pytest.mark.parametrize(
    "cell",
    [
        "def f():\n    return 7\n\nprint(f()",
        "Here the answer comes:\ndef f():\n    return 7",
        "x = (1,\n@staticmethod\ndef f():\n    return 7",
        "%matplotlib widget\nimport = 3\ndef f():\n    '''\nwords\n'''\n    return 7",
    ],
)
def test_definitions_beside_what_is_not_python_are_there(shown, cell):
    assert shown(cell, "print(f())")[0] == "7"


def test_a_definition_whose_body_is_broken_is_not_taken_for_a_whole_one(shown):
    said, errors = shown(
        "def f(x):\n    y = 2 * x\n  return y", "def g(x):\n    y = 2\nreturn (y", "print('f' in dir(), 'g' in dir())"
    )
    assert said == "False False" and set(errors) <= {"SyntaxError", "IndentationError"}


def test_code_that_is_handed_out_runs_first_and_shows_nothing(shown):
    assert shown("print(x)", first=["1 / 0\nx = 5\nprint('unseen')"]) == ("5", [])


@pytest.mark.parametrize(
    "asked",
    [
        "breakpoint()",
        "import pdb; pdb.set_trace()",
        "from IPython.core.debugger import set_trace; set_trace()",
        "%debug",
        "import torch; torch.set_default_device('cuda'); torch.ones(1)",
        "import torch\n@torch.compile\ndef g(x):\n    return x\ng(1)",
        "import torch\n@torch.compile(fullgraph=True)\ndef g(x):\n    return x\ng(1)",
        "import torch; torch.nn.Linear(1, 1).compile()",
    ],
)
def test_what_grading_has_no_use_for_costs_nothing(shown, asked):
    said, errors = shown(f"{asked}\nprint('on')")
    assert "on" in said.splitlines() and not errors


def test_what_only_a_person_or_a_gpu_could_give_costs_its_statement_alone(shown):
    said, errors = shown("name = input()\nimport torch\nx = torch.ones(1).cuda()\nprint('on')")
    assert said == "on" and errors[0] == "EOFError" and len(errors) == 2


def displayed(*cells):
    told = {"cells": [*cells], "cases": {}, "device": "cpu"}
    outputs = job.Job(told, levels.available()[0], limits_of(UNIT)).result().outputs
    return [
        [out["data"] for out in outputs[index] if out["output_type"] == "display_data"] for index in range(len(cells))
    ]


def test_what_a_cell_displays_is_shown_and_a_figure_is_drawn_where_it_is_asked_for():
    figure = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    text, drawn, named = displayed(
        {"source": "display('hello')"}, {"source": figure}, {"source": figure, "pictures": False}
    )
    assert text == [{"text/plain": "'hello'"}]
    assert [sorted(data) for data in drawn] == [["image/png", "text/plain"]]
    assert [sorted(data) for data in named] == [["text/plain"]]


def test_of_what_is_displayed_without_end_the_beginning_is_kept():
    large = "from IPython.display import display\nfor _ in range(40):\n    display({'text/plain': 'x' * 1_000_000}, raw=True)"
    many, after = displayed({"source": large}, {"source": "display(1)"})
    assert len(many) == 3 and after == [{"text/plain": "1"}]
