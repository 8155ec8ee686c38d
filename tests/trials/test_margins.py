"""Margins of lessons' assertions: what is compared by size is noted, and nothing that fails ends a run."""

from pathlib import Path

import pytest

from autograder import settings
from autograder.settings import KitError
from autograder.trials import margins, watched_lesson
from autograder.trials.margins import SETS, Margin, _joined, table
from autograder.trials.margins import seen as seen_in_a_run
from autograder.trials.watched_lesson import watched


def seen(code: str) -> dict[str, tuple]:
    return {one.text: (one.held, one.margin and round(one.margin, 3)) for one in watched(code.split("\n---\n"))}


def test_a_margin_is_the_least_distance_of_all_that_an_assertion_compares():
    found = seen(
        "a, b = 0.8, 1.0\n---\nassert a < b\nassert all(one > 0.5 for one in (0.6, 0.75, 2.0))\nassert 0 < a < 0.9 < b"
    )
    assert found == {
        "a < b": (True, 0.2),
        "all((one > 0.5 for one in (0.6, 0.75, 2.0)))": (True, 0.167),
        "0 < a < 0.9 < b": (True, 0.1),
    }


def test_an_assertion_that_fails_is_told_and_the_lesson_goes_on():
    found = seen(
        "assert 3 > 4, 'no'\nassert [1] == [2]\nfor n in range(3):\n    assert n < 2\n---\nlater = 1\nassert later"
    )
    assert {text: held for text, (held, _) in found.items()} == {
        "3 > 4": False,
        "[1] == [2]": False,
        "n < 2": False,
        "later": True,
    }


def test_tensors_and_what_is_no_number_are_compared_as_the_lesson_compares_them():
    found = seen(
        "import torch\nx = torch.tensor([1.0, 2.0])\nassert (x < 4).all()\nassert {1} < {1, 2}\nassert x.sum() >= 2"
    )
    assert found == {"(x < 4).all()": (True, 0.5), "{1} < {1, 2}": (True, None), "x.sum() >= 2": (True, 0.333)}


@pytest.fixture
def shifted(monkeypatch):
    import torch

    for place, name in ((torch, "manual_seed"), (torch, "Generator"), (torch.random, "manual_seed")):
        monkeypatch.setattr(place, name, getattr(place, name))
    watched_lesson._shifted(1000)


def test_other_random_numbers_come_from_the_same_seeds(shifted):
    import torch

    torch.manual_seed(3)
    one, drawn = torch.rand(2), torch.rand(2, generator=torch.Generator().manual_seed(3))
    assert torch.equal(one, drawn)
    usual = torch._C.Generator().manual_seed(1003)
    assert torch.equal(one, torch.rand(2, generator=usual))


def test_rows_of_several_runs_are_joined_and_the_weak_ones_listed():
    runs = [[{"text": "a < b", "held": True, "margin": 0.5}], [{"text": "a < b", "held": False, "margin": 0.02}]]
    (row,) = _joined("04", runs)
    assert row == Margin("04", "a < b", 1, 2, 0.02)
    near = Margin("04", "c > 0", 2, 2, 0.04)
    said = table([row, near, Margin("04", "d", 2, 2, None)])
    assert "| 04 | 3 | 2 | 1 |" in said
    assert "- ✗ 04: holds in 1 of 2: `a < b`" in said and "- 04: 4.0%: `c > 0`" in said and "`d`" not in said


LESSON = """# %% [markdown]
# # In small

# %% tags=["setup"]
raise RuntimeError("the set-up is left out")

# %%
import torch

from utils.figures import explorers, plots
from utils.figures.explorers import explore
from utils.figures.plots import show

show(None, "a figure that nobody looks at")
explore(None, alt=None)

# %%
torch.manual_seed(0)
assert torch.rand(1).item() < {below}
"""


@pytest.mark.slow
def test_a_lesson_is_run_in_a_process_of_its_own_with_other_random_numbers(tmp_path):
    twin = tmp_path / "99_small.py"
    twin.write_text(LESSON.format(below=2.0))
    own, plain = (seen_in_a_run(twin, 0, name)[0]["margin"] for name in SETS)
    assert own == plain != seen_in_a_run(twin, 1, "native")[0]["margin"]
    twin.write_text(LESSON.format(below="undefined"))
    with pytest.raises(KitError, match="99_small, run 0, plain instructions: NameError"):
        seen_in_a_run(twin, 0, "plain")


# The record ----------------------------------------------------------------------------------------------------------


def test_a_new_record_takes_the_place_of_the_lessons_old_one_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(margins, "RECORD", tmp_path / "record.json")
    monkeypatch.setattr(margins, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(margins, "measured_on", lambda unit: f"what {unit} is made from")
    margins.record([Margin("04", "a < b", 7, 7, 0.123456), Margin("05", "c", 7, 7, None)])
    margins.record([Margin("04", "a < d", 6, 7, 0.02)])
    assert margins.recorded() == {
        "04": {"made_from": "what 04 is made from", "assertions": [["a < d", 6, 7, 0.02]]},
        "05": {"made_from": "what 05 is made from", "assertions": [["c", 7, 7, None]]},
    }
    assert "holds in 6 of 7: `a < d`" in margins.PAGE.read_text(encoding="utf-8")


def test_what_a_record_is_of_changes_with_the_code_and_not_with_the_drawing(monkeypatch):
    before = margins.measured_on("03_image_captioning")
    real = Path.read_text

    def added(to: str):
        monkeypatch.setattr(Path, "read_text", lambda file, **how: real(file, **how) + "\nX = 1\n" * (file.name == to))
        return margins.measured_on("03_image_captioning")

    assert added("captioning.py") == before != added("training.py")


@pytest.mark.parametrize("unit", settings.units())
def test_what_is_recorded_of_a_lesson_is_of_the_lesson_as_it_is(unit):
    kept = margins.recorded()[unit]
    assert kept["made_from"] == margins.measured_on(unit), f"run `python -m autograder margins {unit[:2]}`"
    assert {runs for _, _, runs, _ in kept["assertions"]} == {len(margins.RUNS)}


@pytest.mark.parametrize("unit", settings.units())
def test_each_assertion_of_a_lesson_has_held_in_every_run(unit):
    assert [text for text, held, runs, _ in margins.recorded()[unit]["assertions"] if held < runs] == []


def test_the_page_of_margins_shows_the_record():
    assert margins.PAGE.read_text(encoding="utf-8") == margins.page()
