"""The exercise bank: its audit is clean, its linter sees bad cases, and what is built from it is up to date."""

import inspect
import re
from functools import cache

import jupytext
import nbformat
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from autograder import settings
from autograder.bank import catalogue, freezing
from autograder.bank.agreement import differences
from autograder.bank.audit.auditing import Audited, audit, table
from autograder.bank.audit.linting import ALTERNATIVES, MISTAKES, lint
from autograder.bank.declaration import Case, exercise

UNITS = list(catalogue.units())
DECLARED = list(catalogue.declared())  # also before they have a lesson


@cache
def audited(unit: str) -> list[Audited]:
    """A unit's audit, made once for all that is asked of it; in this process, since others test beside it."""
    return audit(unit, processes=1)


@pytest.mark.parametrize("unit", DECLARED)
def test_every_misconception_is_caught_under_its_own_name_and_every_alternative_passes(unit):
    rows = audited(unit)
    assert not [fault for row in rows for fault in row.faults], table(rows)
    assert all(row.misconceptions >= MISTAKES and row.alternatives >= ALTERNATIVES for row in rows)


def test_every_exercise_cites_where_it_comes_from():
    exercises = [one for unit in catalogue.declared().values() for one in unit]
    assert all(re.search(r"(19|20)\d\d|Stanford CS231n", one.source) for one in exercises)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here: the audit ran on the CPU alone")
@pytest.mark.parametrize("unit", UNITS)
def test_the_audit_holds_on_cuda(unit):
    rows = [row for row in audited(unit) if row.device == "cuda"]
    assert rows and not [fault for row in rows for fault in row.faults], table(rows)


@pytest.mark.parametrize("unit", UNITS)
def test_shipped_self_checks_are_up_to_date(unit):
    there = (freezing.PACKS / f"{unit}.json").read_text(encoding="utf-8")
    made = [row.checks for row in audited(unit) if row.device == "cpu"]
    assert not differences(there, freezing.pack_text(unit, made)), "run `make notebooks`"


@pytest.mark.parametrize("unit", UNITS)
def test_self_checks_tell_how_many_properties_grading_examines(unit):
    for row in (row for row in audited(unit) if row.device == "cpu"):
        graded = row.cases - len(row.checks["cases"])
        assert row.checks["examined"] == graded, row.exercise


def test_no_two_exercises_have_one_name():
    """A self-check, and its file, are found by the name alone."""
    names = [one.name for unit in catalogue.declared().values() for one in unit]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("unit", UNITS)
def test_sections_to_reread_exist_in_the_lesson(unit):
    lesson = (settings.LESSON_TWINS / f"{unit}.py").read_text(encoding="utf-8")
    for one in catalogue.units()[unit]:
        assert one.sections.keys() == one.points.keys()
        assert all(
            re.search(rf"^# ##+ {re.escape(section)}$", lesson, re.MULTILINE) for section in one.sections.values()
        )


@pytest.mark.parametrize("unit", UNITS)
def test_stubs_take_the_parameters_that_the_bank_asks_for(unit):
    source = jupytext.read(settings.SOLUTIONS / unit / f"{unit}.py")
    namespace = {}
    for cell in source.cells:
        if (
            cell.cell_type == "code"
            and cell.source.startswith(("import", "from", "def", "class"))
            and "plot_" not in cell.source
        ):
            exec(cell.source, namespace)
    for one in catalogue.units()[unit]:
        made = namespace[one.name]
        forward = made.forward if one.is_module else made
        found = [p for p in inspect.signature(forward).parameters.values() if p.name != "self"]
        wanted = list(one.signature.parameters.values())
        assert [(p.name, str(p.annotation), p.default) for p in found] == [
            (p.name, str(p.annotation), p.default) for p in wanted
        ]


@pytest.mark.parametrize("unit", UNITS)
def test_points_in_the_assignment_are_the_banks_and_sum_to_twenty(unit):
    notebook = nbformat.read(settings.SOLUTIONS / unit / f"{unit}.ipynb", as_version=4)
    marked = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    points = {mark.grade_id: mark.points for mark in marked if mark.grade}
    assert {name: points[settings.CHECK + name] for name in (one.name for one in catalogue.units()[unit])} == {
        one.name: one.max_points for one in catalogue.units()[unit]
    }
    assert sum(points.values()) == 20
    rows = re.findall(r"^\| \d+ · .*?\| (\d|stretch) \|", notebook.cells[0].source, flags=re.MULTILINE)
    told = [0 if row == "stretch" else int(row) for row in rows]
    assert told == list(points.values()), "the table at the assignment's head"


def declared(**changes):
    """A small exercise whose cases can be spoilt."""
    declaration = {
        "points": 1,
        "section": "nowhere",
        "outputs": "Y",
        "formula": "Y = 2 X",
        "cases": [Case("a matrix", expand={"*B": "B"})],
    }

    def doubled(X: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        return 2 * X

    doubled.__module__ = "autograder.exercises.unit_99_test"
    return exercise(**{**declaration, **changes})(doubled)


def faults(one) -> str:
    return "\n".join(lint(one, freezing.freeze(one, "lint", grading=True)))


def test_the_linter_sees_too_few_mistakes_and_alternatives():
    assert "0 misconceptions" in faults(declared())
    assert "0 alternatives" in faults(declared())


def test_the_linter_sees_equal_sizes():
    assert "pairwise different" in faults(declared(cases=[Case("square", sizes={"B": 4, "D": 4})]))
    assert "pairwise different" not in faults(declared(cases=[Case("square on purpose", sizes={"B": 4, "D": "B"})]))


def test_the_linter_sees_a_mistake_that_tolerance_hides():
    one = declared()

    @one.misconception
    def slightly_off(X):
        """Something so small is added that a check with this tolerance could overlook it, now and then."""
        return 2 * X + 3e-5

    assert "slightly_off moves the output by" in faults(one)


def test_the_linter_sees_a_mistake_that_no_case_shows():
    one = declared()

    @one.misconception
    def the_same(X):
        """This one is in truth right, and so nothing can be found."""
        return X + X

    assert "no case shows the misconception the_same" in faults(one)


def test_the_linter_sees_saturation():
    def weights(X: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        return X.softmax(-1)

    weights.__module__ = "autograder.exercises.unit_99_test"
    cases = [Case("large", expand={"*B": "B"}, scale={"X": 200.0})]
    one = exercise(points=1, section="", outputs="A", formula="", cases=cases)(weights)
    assert "saturated" in faults(one)


def test_equal_seeds_give_equal_cases_and_others_differ():
    one = catalogue.find_exercise("attention_scores")
    from autograder.bank.cases.drawing import draw
    from utils.checking.packs.packing import pack

    assert pack(draw(one, "a", True)) == pack(draw(one, "a", True))
    assert pack(draw(one, "a", True)) != pack(draw(one, "b", True))


def test_freezing_does_not_touch_the_random_state():
    torch.manual_seed(7)
    freezing.freeze(catalogue.find_exercise("AttentionLayer"), "seed")
    drawn = torch.rand(1)
    torch.manual_seed(7)
    assert torch.equal(drawn, torch.rand(1))


def test_the_layers_of_a_module_are_told_in_the_symbols_of_its_constructor():
    assert freezing._in_symbols(catalogue.find_exercise("MultiHeadAttention")).layers == {
        "W_QKV": "nn.Linear(H*D_H, 3*H*D_H)",
        "W_O": "nn.Linear(H*D_H, H*D_H)",
    }
    step = freezing._in_symbols(catalogue.find_exercise("AttentionStep")).layers
    assert (step["out"], step["v"]) == ("nn.Linear(D_S + D_H, V)", "nn.Linear(D_A, 1, bias=False)")


def test_an_input_that_may_be_none_is_drawn_in_its_shape_or_left_out():
    from autograder.bank.cases.drawing import draw

    seen = set()
    for case in draw(catalogue.find_exercise("MultiHeadAttention"), "seed"):
        sizes, context = case.sizes, case.inputs.get("context")
        seen.add(context is None)
        assert context is None or context.shape == (sizes["B"], sizes["N_X"], sizes["H"] * sizes["D_H"])
    assert seen == {True, False}
