"""Submissions are brought into shape: what students, editors and Colab do to notebooks, and what stays as it was."""

import copy

import nbformat
import pytest
from conftest import ROOT, UNIT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.intake.marked_cells import Released, is_test_of, with_plain_cells
from autograder.intake.repair import repair
from autograder.settings import CHECK


@pytest.fixture
def released_notebook():
    return nbformat.read(ROOT / "assignments" / UNIT / f"{UNIT}.ipynb", as_version=4)


@pytest.fixture
def released(released_notebook):
    return [
        Released(cell.metadata.nbgrader.grade_id, cell.cell_type, cell.source, dict(cell.metadata.nbgrader))
        for cell in released_notebook.cells
        if "nbgrader" in cell.metadata
    ]


def at(notebook, grade_id):
    return [i for i, cell in enumerate(notebook.cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id]


def labels(notebook):
    return [cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata]


def test_an_untouched_notebook_needs_no_repair(released_notebook, released):
    repaired = repair(released_notebook, released)
    assert repaired.metadata.course.repairs == []
    assert [cell.source for cell in repaired.cells] == [cell.source for cell in released_notebook.cells]


def test_the_submission_itself_is_not_touched(released_notebook, released):
    del released_notebook.cells[at(released_notebook, "check_stable_softmax")[0]]
    before = copy.deepcopy(released_notebook)
    repair(released_notebook, released)
    assert released_notebook == before


def test_a_deleted_check_returns_behind_its_exercise(released_notebook, released):
    del released_notebook.cells[at(released_notebook, "check_stable_softmax")[0]]
    repaired = repair(released_notebook, released)
    (place,) = at(repaired, "check_stable_softmax")
    assert place == at(repaired, "stable_softmax")[0] + 1
    assert "had been deleted" in repaired.metadata.course.repairs[0]


def test_of_copied_cells_the_one_that_holds_work_counts(released_notebook, released):
    (place,) = at(released_notebook, "stable_softmax")
    stub = copy.deepcopy(released_notebook.cells[place])
    released_notebook.cells[place].source = "def stable_softmax(e, dim=-1):\n    return 'work'"
    released_notebook.cells.insert(place + 1, stub)
    repaired = repair(released_notebook, released)
    (place,) = at(repaired, "stable_softmax")
    assert "work" in repaired.cells[place].source
    assert not any("NotImplementedError" in cell.source for cell in repaired.cells[place + 1 : place + 2])


def test_of_two_worked_copies_both_run_and_the_last_is_labelled(released_notebook, released):
    (place,) = at(released_notebook, "stable_softmax")
    for text in ("first", "second"):
        made = copy.deepcopy(released_notebook.cells[place])
        made.source = f"def stable_softmax(e, dim=-1):\n    return '{text}'"
        released_notebook.cells.insert(at(released_notebook, "check_stable_softmax")[0], made)
    repaired = repair(released_notebook, released)
    (place,) = at(repaired, "stable_softmax")
    assert "second" in repaired.cells[place].source
    assert any("first" in cell.source for cell in repaired.cells[:place])


@pytest.mark.parametrize("lost", ["metadata", "metadata and ids", "ids"])
def test_lost_labels_are_found_again(released_notebook, released, lost):
    wanted = labels(released_notebook)
    for index, cell in enumerate(released_notebook.cells):
        if "metadata" in lost:
            cell.metadata = nbformat.from_dict({})
        if "ids" in lost:
            cell.id = f"fresh-{index}"
    repaired = repair(released_notebook, released)
    code = [label for label in wanted if label.startswith(CHECK) or CHECK + label in wanted]
    assert [label for label in labels(repaired) if label in code] == code
    assert set(labels(repaired)) == set(wanted)


def test_work_in_a_cell_of_the_students_own_is_recognised_by_its_name(released_notebook, released):
    (place,) = at(released_notebook, "stable_softmax")
    released_notebook.cells[place] = nbformat.v4.new_code_cell("def stable_softmax(e, dim=-1):\n    return e")
    repaired = repair(released_notebook, released)
    assert repaired.cells[place].metadata.nbgrader.grade_id == "stable_softmax"


def test_a_check_before_its_exercise_is_moved_behind_it(released_notebook, released):
    (place,) = at(released_notebook, "check_AttentionLayer")
    released_notebook.cells.insert(0, released_notebook.cells.pop(place))
    repaired = repair(released_notebook, released)
    assert at(repaired, "check_AttentionLayer")[0] > at(repaired, "AttentionLayer")[0]


def test_an_edited_check_is_reported(released_notebook, released):
    released_notebook.cells[at(released_notebook, "check_AttentionLayer")[0]].source = "print('fine')"
    assert "had been edited" in repair(released_notebook, released).metadata.course.repairs[0]


def test_tampered_points_and_flags_are_restored(released_notebook, released):
    (place,) = at(released_notebook, "check_AttentionLayer")
    released_notebook.cells[place].metadata.nbgrader.update(points=100, solution=True, grade=False)
    repaired = repair(released_notebook, released)
    marks = repaired.cells[at(repaired, "check_AttentionLayer")[0]].metadata.nbgrader
    assert (marks.points, marks.solution, marks.grade) == (3, False, True)


@pytest.mark.parametrize("metadata", [{"nbgrader": 3}, {"nbgrader": {"grade_id": "unknown"}}, {"nbgrader": {}}])
def test_foreign_labels_are_dropped(released_notebook, released, metadata):
    released_notebook.cells.insert(3, nbformat.v4.new_code_cell("x = 1", metadata=metadata))
    assert "nbgrader" not in repair(released_notebook, released).cells[3].metadata


def test_repeated_and_odd_cell_ids_become_valid(released_notebook, released):
    for cell in released_notebook.cells:
        cell.id = "same"
    released_notebook.cells[0].id = "ß" * 80
    repaired = repair(released_notebook, released)
    ids = [cell.id for cell in repaired.cells]
    assert len(set(ids)) == len(ids)
    nbformat.validate(repaired)


def test_every_exercise_is_tested_exactly_once_whatever_was_deleted(released_notebook, released):
    released_notebook.cells = []
    repaired = repair(released_notebook, released)
    tested = [name for cell in repaired.cells if (name := is_test_of(cell))]
    assert tested == [one.grade_id.removeprefix(CHECK) for one in released if one.is_test]


@pytest.mark.parametrize("kind", ["markdown", "raw"])
@pytest.mark.parametrize("grade_id", ["check_AttentionLayer", "AttentionLayer"])
def test_a_cell_whose_type_was_changed_is_code_again(released_notebook, released, grade_id, kind):
    cell = released_notebook.cells[at(released_notebook, grade_id)[0]]
    cell.cell_type = kind
    for name in ("outputs", "execution_count"):
        del cell[name]
    repaired = repair(released_notebook, released)
    cell = repaired.cells[at(repaired, grade_id)[0]]
    assert cell.cell_type == "code" and cell.outputs == []
    assert f"had become {kind}" in repaired.metadata.course.repairs[0]
    nbformat.validate(repaired)


def test_work_below_an_untouched_stub_and_its_check_is_graded(released_notebook, released):
    (check,) = at(released_notebook, "check_stable_softmax")
    own = nbformat.v4.new_code_cell("def stable_softmax(e, dim=-1):\n    return 'work'")
    released_notebook.cells.insert(check + 1, own)
    repaired = repair(released_notebook, released)
    (place,) = at(repaired, "stable_softmax")
    assert "work" in repaired.cells[place].source and at(repaired, "check_stable_softmax")[0] > place
    assert "stood in another cell" in repaired.metadata.course.repairs[0]


def test_moved_cells_return_to_their_order_and_the_students_own_stay(released_notebook, released):
    wanted = labels(released_notebook)
    own = nbformat.v4.new_code_cell("helper = 1")
    marked = [cell for cell in released_notebook.cells if "nbgrader" in cell.metadata]
    rest = [cell for cell in released_notebook.cells if "nbgrader" not in cell.metadata]
    released_notebook.cells = [*rest, own, *reversed(marked)]
    repaired = repair(released_notebook, released)
    assert labels(repaired) == wanted
    assert repaired.cells[len(rest)].source == "helper = 1"
    assert any("another order" in one for one in repaired.metadata.course.repairs)


def test_a_split_answer_is_joined(released_notebook, released):
    (place,) = at(released_notebook, "written_scaling")
    second = copy.deepcopy(released_notebook.cells[place])
    released_notebook.cells[place].source, second.source = "The first half.", "The second half."
    released_notebook.cells.insert(place + 1, second)
    repaired = repair(released_notebook, released)
    (place,) = at(repaired, "written_scaling")
    assert repaired.cells[place].source == "The first half.\n\nThe second half."


def test_split_code_runs_piece_by_piece_and_the_definition_is_labelled(released_notebook, released):
    (place,) = at(released_notebook, "stable_softmax")
    second = copy.deepcopy(released_notebook.cells[place])
    released_notebook.cells[place].source = "def stable_softmax(e, dim=-1):\n    return helper(e)"
    second.source = "def helper(e):\n    return e"
    released_notebook.cells.insert(place + 1, second)
    repaired = repair(released_notebook, released)
    (place,) = at(repaired, "stable_softmax")
    assert "def stable_softmax" in repaired.cells[place].source
    assert repaired.cells[place + 1].source == second.source
    assert at(repaired, "check_stable_softmax")[0] == place + 2


@pytest.mark.parametrize("change", ["deleted", "moved to the end"])
def test_the_imports_return_to_the_top(released_notebook, released, change):
    everything = with_plain_cells(released, released_notebook)
    place = next(i for i, cell in enumerate(released_notebook.cells) if cell.source.startswith("import math"))
    moved = released_notebook.cells.pop(place)
    if change != "deleted":
        released_notebook.cells.append(moved)
    repaired = repair(released_notebook, everything)
    (place,) = [i for i, cell in enumerate(repaired.cells) if cell.source.startswith("import math")]
    assert place < at(repaired, "attention_scores")[0]
    assert repaired.metadata.course.repairs


def test_locked_text_is_as_released(released_notebook, released):
    for label in ("question_scaling", "check_stable_softmax"):
        released_notebook.cells[at(released_notebook, label)[0]].source = "changed"
    repaired = repair(released_notebook, released)
    for one in released:
        if one.metadata["locked"]:
            assert repaired.cells[at(repaired, one.grade_id)[0]].source == one.source


WORK = "def stable_softmax(e, dim=-1):\n    return 'work'"


def own(source):
    return nbformat.v4.new_code_cell(source)


def holder(repaired, name="stable_softmax"):
    """What the exercise's cell holds after repair."""
    return [repaired.cells[place].source for place in at(repaired, name)]


@pytest.mark.parametrize(
    "left",
    [
        lambda stub: stub.replace("raise NotImplementedError()", "raise NotImplementedError"),
        lambda stub: stub.replace("raise NotImplementedError()", "pass"),
        lambda stub: stub + "\n# I wrote it below",
        lambda stub: "",
        lambda stub: "\n".join("# " + line for line in stub.splitlines()),
    ],
)
def test_work_elsewhere_is_found_whatever_was_left_in_the_stub(released_notebook, released, left):
    (place,) = at(released_notebook, "stable_softmax")
    released_notebook.cells[place].source = left(released_notebook.cells[place].source)
    released_notebook.cells.insert(place + 2, own(WORK))
    repaired = repair(released_notebook, released)
    assert holder(repaired) == [WORK]
    assert "stood in another cell" in repaired.metadata.course.repairs[0]


def test_a_backup_of_the_stub_below_the_answer_does_not_count(released_notebook, released):
    (place,) = at(released_notebook, "stable_softmax")
    backup = copy.deepcopy(released_notebook.cells[place])
    backup.source += "\n# backup"
    released_notebook.cells[place].source = WORK
    released_notebook.cells.insert(place + 1, backup)
    assert holder(repair(released_notebook, released)) == [WORK]


@pytest.mark.parametrize("labelled", [True, False])
def test_all_functions_in_one_cell_are_found(released_notebook, released, labelled):
    names = [cell.grade_id for cell in released if cell.metadata["solution"] and not cell.metadata["grade"]]
    everything = "\n\n".join(f"def {name}(*a):\n    return 'work'" for name in names)
    if labelled:
        released_notebook.cells[at(released_notebook, names[0])[0]].source = everything
    else:
        released_notebook.cells.insert(0, own(everything))
    repaired = repair(released_notebook, released)
    assert sum(cell.source == everything for cell in repaired.cells) == 1
    assert not [
        cell for cell in repaired.cells if cell.cell_type == "code" and "raise NotImplementedError" in cell.source
    ]


def test_a_solution_written_into_the_check_is_kept_before_it(released_notebook, released):
    (place,) = at(released_notebook, "check_stable_softmax")
    released_notebook.cells[place].source = WORK + "\ncheck(stable_softmax)"
    repaired = repair(released_notebook, released)
    assert holder(repaired) == [WORK]
    assert "kept in a cell of its own" in " ".join(repaired.metadata.course.repairs)
    assert holder(repaired, "check_stable_softmax") == [
        next(cell.source for cell in released if cell.grade_id == "check_stable_softmax")
    ]


@pytest.mark.parametrize("labelled", [True, False])
def test_an_answer_split_in_its_middle_is_joined(released_notebook, released, labelled):
    (place,) = at(released_notebook, "stable_softmax")
    head, tail = WORK.split("\n")
    head, tail = head + "\n    m = e.amax()", tail
    second = copy.deepcopy(released_notebook.cells[place]) if labelled else own("")
    second.source = tail
    released_notebook.cells[place].source = head
    released_notebook.cells.insert(place + 1, second)
    repaired = repair(released_notebook, released)
    assert holder(repaired) == [head + "\n" + tail]
    assert "pieces were joined" in " ".join(repaired.metadata.course.repairs)


def test_without_labels_an_experiment_below_the_check_is_not_the_answer(released_notebook, released):
    (place,) = at(released_notebook, "stable_softmax")
    released_notebook.cells[place].source = WORK
    released_notebook.cells.append(own("stable_softmax = lambda e: 'experiment'"))
    for cell in released_notebook.cells:
        cell.metadata.pop("nbgrader", None)
        cell.pop("id")
    assert holder(repair(released_notebook, released)) == [WORK]


@pytest.mark.parametrize("where", ["own cell", "question", "without labels", "id where Colab keeps it"])
def test_a_written_answer_elsewhere_is_copied_to_its_place(released_notebook, released, where):
    released = with_plain_cells(released, released_notebook)
    (place,) = at(released_notebook, "written_scaling")
    answer = released_notebook.cells[place]
    if where == "own cell":
        released_notebook.cells.insert(place + 1, nbformat.v4.new_markdown_cell("the softmax saturates"))
    elif where == "question":
        (place,) = at(released_notebook, "question_scaling")
        released_notebook.cells[place].source += "\n\nthe softmax saturates"
    else:
        answer.source = "the softmax saturates"
        for cell in released_notebook.cells:
            cell.metadata.pop("nbgrader", None)
            name = cell.pop("id")
            if where != "without labels":
                cell.metadata["id"] = name
    repaired = repair(released_notebook, released)
    (text,) = holder(repaired, "written_scaling")
    assert "the softmax saturates" in text and repaired.metadata.course.repairs


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["delete", "double", "move", "unlabel", "retype", "write", "split", "empty"]),
        st.integers(0, 60),
        st.integers(0, 60),
    ),
    max_size=6,
)


def edited(notebook, edits):
    """The notebook after what somebody may do to it, one thing after the other."""
    cells = [nbformat.from_dict(cell) for cell in notebook.cells]
    for what, one, other in edits:
        cell = cells[one % len(cells)]
        if what == "delete" and len(cells) > 1:
            cells.remove(cell)
        elif what == "double":
            cells.insert(other % len(cells), nbformat.from_dict(cell))
        elif what == "move":
            cells.remove(cell)
            cells.insert(other % (len(cells) + 1), cell)
        elif what == "unlabel":
            cell.metadata.pop("nbgrader", None)
        elif what == "retype":
            cell.cell_type = "markdown" if cell.cell_type == "code" else "code"
        elif what == "write":
            cell.source += f"\nmine = {other}"
        elif what == "split":
            lines = cell.source.splitlines()
            cells.insert(one % len(cells) + 1, nbformat.v4.new_code_cell("\n".join(lines[other % (len(lines) + 1) :])))
            cell.source = "\n".join(lines[: other % (len(lines) + 1)])
        elif what == "empty":
            cell.source = ""
    return nbformat.from_dict({**notebook, "cells": cells})


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(edits=EDITS)
def test_what_is_repaired_needs_no_repair(released_notebook, released, edits):
    once = repair(edited(released_notebook, edits), released)
    twice = repair(once, released)
    assert twice.metadata.course.repairs == []
    assert [(cell.cell_type, cell.source, cell.metadata.get("nbgrader")) for cell in twice.cells] == [
        (cell.cell_type, cell.source, cell.metadata.get("nbgrader")) for cell in once.cells
    ]
