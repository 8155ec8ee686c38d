"""What is committed is what the build makes: twins, notebooks, assignments; building twice gives the same bytes."""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, UNIT

from autograder import settings
from autograder.authoring import build
from autograder.authoring.provenance import made_from
from autograder.bank import catalogue

LESSONS = sorted(settings.LESSON_TWINS.glob("*.py"))
SOLUTIONS = [settings.SOLUTIONS / unit / f"{unit}.py" for unit in catalogue.units()]


@pytest.mark.parametrize("twin", SOLUTIONS, ids=lambda path: path.stem)
def test_a_solution_and_its_twin_agree(twin):
    assert build.differences(twin, twin.with_suffix(".ipynb")) == []


@pytest.mark.parametrize("twin", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_and_its_twin_agree(twin):
    assert build.differences(twin, settings.LESSONS / f"{twin.stem}.ipynb") == []


SMALL = """# %% [markdown]
# # A lesson in small, with all that a lesson shows

# %% tags=["setup"]

# %%
import time

import torch

from utils.figures import plots
from utils.figures.explorers import Grid, Order, Slider, explore, progress

# %% tags=["nbval-check-output"]
torch.manual_seed(0)
for n in progress(range(4), "counting"):
    print(n, torch.randn(2))
    time.sleep(0.2)


# %%
def draw(size=2, **others):
    return plots.heat_map(torch.rand(2, 2, generator=torch.Generator().manual_seed(int(size))), "ab", "cd")


plots.show(draw(), "two rows of two numbers")

# %%
order, grid = Order("order", ["one", "two"]), Grid("grid", ["a"], ["b"], [[True]])
explore(draw, alt="two rows of two numbers", size=Slider("size", 1, 3, 2, 1), order=order, grid=grid)
"""


def test_building_a_lesson_twice_gives_the_same_bytes(tmp_path):
    """On a lesson in small; that training gives the same numbers each time is tested with the training loop."""
    twin, built = tmp_path / "small.py", []
    twin.write_text(SMALL, encoding="utf-8")
    for number in "12":
        (tmp_path / number).mkdir()
        file = build.build_lesson(twin, folder=tmp_path / number)
        built.append((file.read_bytes(), twin.read_bytes()))
    assert built[0] == built[1]
    outputs = [out for cell in json.loads(built[0][0])["cells"] for out in cell.get("outputs", [])]
    shown = [out["data"].get("image/png") for out in outputs if "data" in out]
    assert "".join(outputs[0]["text"]).startswith("0 tensor") and shown[-1] and shown[-1] == shown[-2]


def small(tmp_path, text):
    """A twin of a lesson, and its notebook as it is built."""
    twin = tmp_path / "small.py"
    twin.write_text(text, encoding="utf-8")
    return twin, nbformat.read(build.build_lesson(twin, folder=tmp_path), as_version=4)


CODE = "# %% [markdown]\n# # Small\n# {}\n\n# %%\nfrom time import time_ns\n\nprint(time_ns()){}\n"


def test_a_lesson_is_run_again_only_if_its_code_changed(tmp_path):
    """Its cell prints the time, which tells one run from another."""
    outputs = [
        small(tmp_path, CODE.format(*texts))[1].cells[1].outputs[0].text
        for texts in (("Words.", ""), ("Other words.", "  # why"), ("Words.", "\n1 + 1"), ("Words.", "  # why\n1 + 1"))
    ]
    assert outputs[0] == outputs[1] != outputs[2] == outputs[3]


def test_a_lesson_is_made_from_the_modules_that_it_uses(monkeypatch):
    twin = settings.LESSON_TWINS / f"{UNIT}.py"
    cells = build.dressed(twin)
    before = made_from(twin, cells)
    used = settings.ROOT / "utils" / "figures" / "plots.py"
    real = Path.read_text

    def read(to_add):
        return lambda file, **how: real(file, **how) + (to_add if file == used else "")

    monkeypatch.setattr(Path, "read_text", read("\n# a comment\n"))
    assert made_from(twin, cells) == before
    monkeypatch.setattr(Path, "read_text", read("\nSIZE = 3\n"))
    assert made_from(twin, cells) != before


@pytest.mark.parametrize("twin", LESSONS, ids=lambda path: path.stem)
def test_a_committed_lesson_was_made_from_what_is_here(twin):
    assert build.is_fresh(twin), f"run `python -m autograder build {twin.stem[:2]}`"


def test_metadata_that_cannot_be_read_are_told(tmp_path):
    twin = tmp_path / "broken.py"
    twin.write_text('# %% [markdown] nbgrader={"grade": true,\n# "points": 2}\n# text\n', encoding="utf-8")
    with pytest.raises(settings.KitError, match="one line"):
        build.dressed(twin)


def test_what_a_cell_prints_slowly_is_one_output(tmp_path):
    source = "import time\nfor n in range(3):\n    print(n)\n    time.sleep(0.4)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    build.run(notebook, tmp_path)
    assert [output.text for output in notebook.cells[0].outputs] == ["0\n1\n2\n"]


@pytest.mark.parametrize("twin", LESSONS, ids=lambda path: path.stem)
def test_a_committed_lesson_shows_all_its_outputs_and_no_error(twin):
    notebook = nbformat.read(settings.LESSONS / f"{twin.stem}.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    kinds = {output.output_type for cell in code for output in cell.outputs}
    assert "error" not in kinds
    pictures = [out for cell in code for out in cell.outputs if "image/png" in out.get("data", {})]
    assert pictures
    assert all(len(out.metadata["image/png"]["alt"]) > 30 for out in pictures), "every figure has alt text"


def test_the_set_up_cell_is_the_same_everywhere_and_names_the_configured_address():
    for twin in LESSONS + SOLUTIONS:
        sources = [cell.source for cell in build.dressed(twin).cells if "setup" in cell.metadata.get("tags", [])]
        assert sources == [build.setup_code()]
    assert settings.table()["repository"] in build.setup_code()


def test_the_kit_and_nbgrader_release_the_same_bytes(kit, class_folder):
    file = settings.ASSIGNMENTS / UNIT / f"{UNIT}.ipynb"
    committed = (ROOT / "assignments" / UNIT / f"{UNIT}.ipynb").read_bytes()
    assert kit("release", UNIT).returncode == 0
    assert file.read_bytes() == committed, "run `python -m autograder release` for the unit and commit"
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", UNIT, "--force"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert file.read_bytes() == committed
