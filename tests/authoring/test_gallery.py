"""The book shows each explorer in a few states besides the first, drawn when the lesson was built."""

import json

import nbformat
import pytest
from PIL import Image

from autograder import settings
from autograder.authoring import build, gallery
from autograder.authoring.labels import is_explorer
from autograder.authoring.provenance import KEY
from utils.figures.explorers import Choice, Grid, Order, Slider, Switch

UNITS = settings.units()


def _explorers(unit: str) -> int:
    nb = nbformat.read(settings.LESSONS / f"{unit}.ipynb", as_version=4)
    return sum(is_explorer(cell) for cell in nb.cells)


@pytest.mark.parametrize("unit", UNITS)
def test_each_explorer_of_a_lesson_is_shown_in_other_states(unit):
    shown = gallery.of_lesson(unit)
    assert len(shown) == _explorers(unit) and all(1 <= len(states) <= gallery.STATES for states in shown)
    files = {one["file"] for states in shown for one in states}
    assert files == {file.name for file in (gallery.FOLDER / unit).glob("*.png")}
    for states in shown:
        assert len({one["state"] for one in states}) == len(states), "each state is another"
        assert len({(gallery.FOLDER / unit / one["file"]).read_bytes() for one in states}) == len(states)
        assert min(len(one["alt"]) for one in states) > 30


@pytest.mark.parametrize("unit", UNITS)
def test_the_pictures_are_of_the_lesson_as_it_is(unit):
    made_from = nbformat.read(settings.LESSONS / f"{unit}.ipynb", as_version=4).metadata[KEY]
    assert gallery.is_of(unit, made_from), f"run `python -m autograder build {unit[:2]}`"


def test_the_pictures_stay_small():
    files = [*gallery.FOLDER.rglob("*.png")]
    assert sum(file.stat().st_size for file in files) < 6e6
    assert max(Image.open(file).width for file in files) <= gallery.WIDTH


def test_each_control_is_moved_before_any_is_moved_again():
    controls = {
        "n": Slider("length", 1, 9, 2, 1),
        "on": Switch("scaled", True),
        "kind": Choice("task", ["a", "b", "c"], "b"),
        "words": Order("words", ("we", "see", "it")),
        "mask": Grid("mask", ["x"], ["y", "z"], [[True, False]]),
    }
    made = [*gallery.states(controls)]
    assert [words for words, _ in made] == [
        "length: 9",
        "scaled: off",
        "task: a",
        "words: it see we",
        "mask: all on",
        "length: 1",
        "task: c",
    ]
    start = {name: control.start for name, control in controls.items()}
    assert all(sum(values[name] != start[name] for name in start) == 1 for _, values in made)
    assert made[0][1]["n"] == 9 and isinstance(made[0][1]["n"], int)


def test_explorers_are_noted_while_a_notebook_runs_and_nothing_of_it_is_left_in_the_notebook(tmp_path):
    code = (
        "from matplotlib.figure import Figure\nfrom utils.figures.explorers import Slider, explore\n"
        "def drawn(n):\n    figure = Figure()\n    figure.subplots().plot(range(n))\n    return figure\n"
        'explore(drawn, alt=lambda n: f"A line over {n} points.", n=Slider("points", 2, 6, 3, 1))'
    )
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    build.run(nb, tmp_path, explorers=tmp_path / "gallery")
    (cell,) = nb.cells
    assert cell.source == code and cell.execution_count == 1 and len(cell.outputs) == 1
    (states,) = json.loads((tmp_path / "gallery" / gallery.INDEX).read_text(encoding="utf-8"))["explorers"]
    assert [(one["state"], one["alt"]) for one in states] == [
        ("points: 6", "A line over 6 points."),
        ("points: 2", "A line over 2 points."),
    ]
    assert all((tmp_path / "gallery" / one["file"]).exists() for one in states)
