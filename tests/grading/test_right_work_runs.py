"""A right notebook keeps all its points: with any line in its imports cell, compiled, or with long experiments in it."""

import json

import nbformat
import pytest
from classes import hand_in
from conftest import ROOT, UNIT

from autograder.trials.attacks.kinds import FIRST, FULL, filled, place

LINES = {
    "colab": "from google.colab import drive\ndrive.mount('/content/drive')",
    "package": "import a_package_of_mine as pd",
    "widget": "%matplotlib widget",
    "cuda": "import torch\nprint(torch.cuda.get_device_name(0))",
    "assert": "import torch\nassert torch.cuda.is_available()",
    "folder": "import os\nos.chdir('/content/drive/MyDrive')",
    "conda": "%conda install seaborn",
    "style": "import matplotlib.pyplot as plt\nplt.style.use('seaborn')",
    "default": "import torch\ntorch.set_default_device('cuda')",
    "words": "First of all the imports:",
}
COMPILED = "@torch.compile\ndef attention_scores(q, X):\n    return (q.unsqueeze(-2) * X).sum(-1)"
EXPERIMENT = "X = torch.randn(50, 50)\nfor step in range(10**9):\n    X = (X @ X).softmax(-1)"


@pytest.fixture(scope="module")
def notebooks():
    return [nbformat.read(ROOT / kind / UNIT / f"{UNIT}.ipynb", 4) for kind in ("assignments", "solutions")]


def beginning(notebook):
    return next(cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.startswith("import math"))


def cut(notebook):
    beginning(notebook).source = "import math"


def compiled(notebook):
    notebook.cells[place(notebook, FIRST)].source = COMPILED


def experiments(notebook):
    where = place(notebook, "check_attention_pooling") + 1
    notebook.cells[where:where] = [nbformat.v4.new_code_cell(EXPERIMENT) for _ in range(4)]


def begun(line):
    def change(notebook):
        beginning(notebook).source = f"{line}\n{beginning(notebook).source}"

    return change


HANDED_IN = {name: begun(line) for name, line in LINES.items()}
HANDED_IN |= {"cut": cut, "compiled": compiled, "experiments": experiments}


def test_each_earns_all_points_and_what_was_done_is_told(kit, class_folder, notebooks):
    assert kit("release", UNIT).returncode == 0
    for name, change in HANDED_IN.items():
        made = filled(*notebooks)
        change(made)
        hand_in(class_folder, name, made)
    said = kit("grade", UNIT, COURSE_CELL_SECONDS="4", COURSE_SUBMISSION_SECONDS="14")
    assert said.returncode == 0, said.stderr
    records = [json.loads(line) for line in (class_folder / "results" / f"{UNIT}.jsonl").read_text().splitlines()]
    points = {name: sum(one["points"] for one in records if one["student"] == name) for name in HANDED_IN}
    assert points == dict.fromkeys(HANDED_IN, FULL)
    notes = {note for one in records if one["student"] == "experiments" for note in one["repairs"]}
    assert any(note.startswith("Time ran out before the check of scaled_dot_product_attention") for note in notes)
