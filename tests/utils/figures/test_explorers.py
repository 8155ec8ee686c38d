"""Explorers: the grid of buttons says what is painted, and a figure draws what has no colour."""

import math

import numpy as np
import pytest

from utils.figures import explorers, plots

START = ((True, False, False), (True, True, False))
GRID = explorers.Grid("who → whom", ["a", "b"], ["x", "y", "z"], START)


def _buttons(grid):
    return {button.tooltip: button for button in grid.children if hasattr(button, "icon")}


def test_a_grid_has_a_button_for_each_pair_and_starts_as_it_is_told():
    buttons = _buttons(GRID.widget())
    assert list(buttons) == ["a → x", "a → y", "a → z", "b → x", "b → y", "b → z"]
    assert [button.value for button in buttons.values()] == [on for row in START for on in row]
    assert [button.description for button in buttons.values()] == list("100110")


def test_a_grid_tells_who_watches_it_the_whole_table_each_time_a_button_is_pressed():
    grid, told = GRID.widget(), []
    grid.observe(lambda change: told.append(change["new"]), names="value")
    button = _buttons(grid)["a → z"]
    button.value = True
    assert told == [((True, False, True), (True, True, False))] and button.description == "1"
    button.value = False
    assert told[1:] == [START] == [grid.value] and button.description == "0"


def test_two_widgets_of_one_grid_do_not_share_what_is_painted():
    one, other = GRID.widget(), GRID.widget()
    _buttons(one)["a → z"].value = True
    assert other.value == START


@pytest.mark.parametrize("start", [[[True, False]], [[True, False, True]], [[True], [False]]])
def test_a_grid_refuses_a_start_that_does_not_fit_its_names(start):
    with pytest.raises(ValueError):
        explorers.Grid("who → whom", ["a", "b"], ["x", "y"], start).widget()


def test_an_explorer_with_a_grid_redraws_and_describes_what_was_painted(monkeypatch):
    drawn, shown = [], []
    monkeypatch.setattr(explorers, "still", lambda: False)
    monkeypatch.setattr(explorers, "publish", lambda picture, words, more: shown.append((words, more)))
    grid = GRID.widget()
    monkeypatch.setattr(explorers.Grid, "widget", lambda self: grid)

    def draw(painted):
        drawn.append(painted)
        return plots.canvas(1, 1)[0]

    explorers.explore(draw, alt=lambda painted: f"{sum(map(sum, painted))} painted", painted=GRID)
    assert shown[0][0] == "3 painted" and "application/vnd.jupyter.widget-view+json" in shown[0][1]
    _buttons(grid)["b → z"].value = True
    assert drawn == [START, ((True, False, False), (True, True, True))]


@pytest.mark.parametrize(
    ("value", "text"), [(-math.inf, "−∞"), (math.inf, "∞"), (math.nan, "NaN"), (-0.001, "0.00"), (-2, "−2.00")]
)
def test_a_number_in_a_figure_is_written_as_people_write_it(value, text):
    assert plots.written(value) == text


def test_a_heat_map_takes_its_colours_from_the_finite_entries_and_writes_the_others():
    M = np.array([[0.5, -math.inf], [math.nan, 2.0]])
    axes = plots.heat_map(M, ["a", "b"], ["x", "y"], limits=None).axes[0]
    assert axes.images[0].get_clim() == (0.5, 2.0)
    assert [text.get_text() for text in axes.texts] == ["0.50", "−∞", "NaN", "2.00"]
    assert axes.images[0].get_array().mask.tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize("step, shown", [(1, "d"), (0.5, ".2f")])
def test_a_slider_over_whole_numbers_shows_whole_numbers(step, shown):
    assert explorers.Slider("n", 0, 4, 2, step).widget().readout_format == shown
