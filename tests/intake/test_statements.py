"""What a statement binds and needs is read as Python would find it, and nothing is run."""

import time

import pytest

from autograder.intake import student_code
from autograder.intake.statements import statements


def one(source):
    (found,) = statements(source)
    return found


def test_parameters_and_local_names_are_not_needed():
    found = one("def f(x, n=K):\n    y = helper(x)\n    return [z + y for z in G]")
    assert found.binds == {"f"} and found.needs == {"K", "helper", "G"} and found.at_once == {"K"} and found.defines


def test_a_class_needs_its_bases_at_once_and_what_methods_use_later():
    found = one("@made\nclass A(Base):\n    width = W\n    def f(self):\n        return self.g(R)")
    assert found.needs == {"made", "Base", "W", "R"} and found.at_once == {"made", "Base", "W"}


@pytest.mark.parametrize(
    ("source", "binds"),
    [
        ("import a.b, c as d", {"a", "d"}),
        ("for i in range(3):\n    with open('f') as g:\n        h = i", {"i", "g", "h"}),
        ("f.limit = 3", {"f"}),
        ("table['x'][0] = 3", {"table"}),
        ("a, (b, *c) = d", {"a", "b", "c"}),
        ("del x", {"x"}),
        ("print(f(x))", set()),
    ],
)
def test_names_are_bound_by_whatever_changes_what_they_stand_for(source, binds):
    assert one(source).binds == binds


def test_a_method_that_is_called_may_change_its_object():
    assert one("table.append(3)").touches == {"table"} and not one("x = table.copy()").touches


def test_statements_of_one_line_stay_together_and_magics_are_left_out():
    found = statements("%%time\nimport math; x = 1\n!ls\n%matplotlib inline\ny = math.pi\n")
    assert [each.source for each in found if each.binds] == ["import math; x = 1", "y = math.pi"]


@pytest.mark.parametrize(
    ("source", "binds"),
    [
        ("x = !ls", [("x = !ls", {"x"})]),
        ("x = %timeit -o f()\ny = x", [("x = %timeit -o f()", {"x"}), ("y = x", {"y"})]),
        ("files = !ls \\\n  -l\ny = 1", [("files = !ls \\\n  -l", {"files"}), ("y = 1", {"y"})]),
        ("if a:\n    t['k'] = !ls", [("if a:\n    t['k'] = !ls", {"t"})]),
        ("x: list = !ls", [("x: list = !ls", {"x"})]),
        (
            "x = !ls\n!pip install \\\n  y\ndef f(x):\n    return x",
            [("x = !ls", {"x"}), ("def f(x):\n    return x", {"f"})],
        ),
        ("f?\ndef g():\n    return 1", [("def g():\n    return 1", {"g"})]),
    ],
)
def test_a_command_whose_output_is_assigned_is_read_as_the_assignment_that_it_is(source, binds):
    found = [(each.source, set(each.binds)) for each in statements(source) if each.binds]
    assert found == binds and student_code.parses(source)
    assert student_code.defined(source) >= {name for _, names in binds for name in names} - {"t"}


def test_code_beside_a_command_that_is_assigned_is_looked_at():
    sources = ["from threading import Thread\nx = !ls\ndef f(X):\n    return torch.softmax(X)"]
    assert student_code.Notebook(sources).hidden_call(("softmax",), "f") == "softmax"


@pytest.mark.parametrize("piece", ["x = !ls\n", "=", " = ", "?", "\\\n", "x = !ls \\\n", "a.b*", "%x"])
def test_commands_without_end_are_read_in_no_time(piece):
    started = time.process_time()
    statements(piece * (90_000 // len(piece)))
    assert time.process_time() - started < 5


def test_a_cell_that_is_not_python_counts_as_one_statement():
    found = one("def f(:\n    return helper\nx = 1")
    assert found.binds == {"f", "x"} and "helper" in found.needs and statements("# words\n") == ()


@pytest.mark.parametrize(
    "source", ["x = " + "(" * 5000, "x" + ".y" * 50_000, "a" * 90_000, "x = " + "-" * 20_000 + "1", "\0"]
)
def test_what_is_nested_without_end_is_read_in_no_time(source):
    statements(source)
