"""Milestones: notebooks in which a student's own solutions run together, from the bundle, in JupyterLab in Chromium."""

import json
import re
import shutil

import lesson_run
import nbformat
import pytest
from browser import Copy, chromium, running_browser, running_lab

from autograder import settings
from autograder.authoring import build
from utils.check import examine
from utils.milestones import parts, solved
from utils.milestones.declared import MILESTONES, milestone
from utils.milestones.lent import LENT
from utils.milestones.parts import my_parts
from utils.progress import FILE

NAMES = [one.name for one in MILESTONES]
HERE = pytest.mark.xdist_group("milestones in the browser")  # one server, one solved course
FEW = 8  # steps of training, where only is asked whether it runs


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    """A student's machine on which every assignment is solved, and training is short."""
    copy = Copy.of_the_bundle(tmp_path_factory.mktemp("student"), **lesson_run.VARIABLES)
    for unit in settings.units():
        shutil.copy(settings.SOLUTIONS / unit / f"{unit}.ipynb", copy.folder / "assignments" / unit)
    for file in (copy.folder / "milestones").glob("*.ipynb"):
        nb = nbformat.read(file, as_version=4)
        found = 0
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.source, count = re.subn(r"(?m)^(.*\bsteps = .*?)\d+$", rf"\g<1>{FEW}", cell.source)
                found += count
        assert found, f"{file.name} has no steps to shorten"
        nbformat.write(nb, file)
    return copy


@pytest.fixture(scope="module")
def browser(student):
    chromium()
    with running_lab(student) as address, running_browser(address) as browser:
        yield browser


@HERE
@pytest.mark.browser
@pytest.mark.parametrize("name", NAMES)
def test_what_was_solved_runs_together(student, browser, name, tmp_path):
    report = lesson_run.in_the_browser(browser, student, name, tmp_path / "ran.ipynb", "milestones")
    assert report["errors"] == [] and report["not_run"] == []
    assert report["browser"]["missed"] == [] and report["browser"]["formulas"]["left_as_written"] == []
    cells = nbformat.read(tmp_path / "ran.ipynb", as_version=4).cells
    outputs = [one for cell in cells for one in cell.get("outputs", ())]
    said = "".join(one.text for one in outputs if one.output_type == "stream")
    count = len(milestone(name).exercises)
    assert said.count("  yours\n") == count and "lent" not in said
    assert f"with {count} of {count} parts of your own" in said
    assert any("image/png" in one.get("data", {}) for one in outputs), "it ends with something to see"
    kept = json.loads((student.folder / "milestones" / FILE).read_text())
    assert kept["milestones"][name] == [count, count, 1]


def test_a_milestone_follows_a_unit_and_each_is_in_the_bundle():
    twins = sorted(file.stem for file in settings.MILESTONE_TWINS.glob("*.py"))
    assert twins == sorted(NAMES) and {name[:2] for name in NAMES} <= {unit[:2] for unit in settings.units()}
    assert [name[:2] for name in NAMES] == ["03", "09", "11", "13", "15", "17"]


@pytest.mark.parametrize("name", NAMES)
def test_a_milestone_is_as_it_was_built_last_with_nothing_solved(name):
    twin, notebook = settings.MILESTONE_TWINS / f"{name}.py", settings.MILESTONES / f"{name}.ipynb"
    assert build.differences(twin, notebook) == [] and build.is_fresh(twin, settings.MILESTONES)
    cells = nbformat.read(notebook, as_version=4).cells
    outputs = [one for cell in cells for one in cell.get("outputs", ())]
    said = "".join(one.text for one in outputs if one.output_type == "stream")
    assert said.count("lent by the course: not begun in assignment") == len(milestone(name).exercises)
    assert not any(one.output_type == "error" for one in outputs)
    assert max(map(len, said.splitlines())) <= 100


def test_something_is_lent_for_each_part():
    assert set(LENT) == {part for one in MILESTONES for part in one.exercises}


@pytest.mark.parametrize("name", LENT)
def test_nothing_that_is_lent_is_a_solution(name):
    assert not examine(name, LENT[name]).passed


# Whose part it is ----------------------------------------------------------------------------------------------------


def work(folder, unit: str, *sources: str, name: str = "") -> None:
    """A solved notebook of a unit."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    file = folder / unit / f"{name or unit}.ipynb"
    file.parent.mkdir(exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), file)


LOSS = """def masked_cross_entropy(logits, y):
    real = y != PADDING
    chosen = logits.log_softmax(-1).gather(-1, y.long().unsqueeze(-1)).squeeze(-1)
    return -torch.where(real, chosen, 0.0).sum() / {count}"""
UNIT, NUMBER = "01_rnn_seq2seq", "masked_cross_entropy"


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    """What `my_parts` says of the loss in a folder of solved notebooks, and whether it is the student's."""
    monkeypatch.chdir(tmp_path)

    def ask() -> tuple[str, bool]:
        my = my_parts("03_my_translator", tmp_path)
        line = next(line for line in capsys.readouterr().out.splitlines() if NUMBER in line)
        return line, my.masked_cross_entropy is not LENT[NUMBER]

    return ask


def test_what_is_right_is_taken_with_what_it_needs_and_nothing_else_is_run(tmp_path, said):
    work(
        tmp_path,
        UNIT,
        "%matplotlib inline\nimport torch\nimport no_such_package",
        "if True:\n    PADDING = 0\ncurve = 1 / 0\nraise SystemExit",
        "def masked_cross_entropy(logits, y):\n    raise NotImplementedError",
        LOSS.format(count="real.sum()"),
        "this is no Python",
        "open('made', 'w')\ncheck(masked_cross_entropy)",
    )
    line, own = said()
    assert own and line.startswith("  ✓") and line.endswith("yours")
    assert not (tmp_path / "made").exists()


def test_what_is_wrong_is_lent_and_the_check_is_named(tmp_path, said):
    work(tmp_path, UNIT, "import torch\nPADDING = 0", LOSS.format(count="y.numel()"))
    line, own = said()
    assert not own and line.startswith("  ✗") and f"run check({NUMBER}) in assignment 01" in line


def test_what_is_not_begun_or_not_there_is_lent(tmp_path, said):
    assert "no notebook of assignment 01 was found" in said()[0]
    work(tmp_path, UNIT, "def masked_cross_entropy(logits, y):\n    raise NotImplementedError()")
    line, own = said()
    assert not own and line.startswith("  ·") and line.endswith("not begun in assignment 01")


@pytest.mark.parametrize("stub", ["{", None])
def test_a_renamed_notebook_is_found_beside_a_damaged_or_untouched_one(tmp_path, said, stub):
    work(tmp_path, UNIT, "def masked_cross_entropy(logits, y):\n    raise NotImplementedError()")
    if stub:
        (tmp_path / UNIT / f"{UNIT}.ipynb").write_text(stub)
    work(tmp_path, UNIT, "import torch\nPADDING = 0", LOSS.format(count="real.sum()"), name=f"Copy of {UNIT} (1)")
    assert said()[1]


def test_what_is_mended_in_a_later_cell_counts(tmp_path, capsys):
    notebook = settings.SOLUTIONS / UNIT / f"{UNIT}.ipynb"
    nb = nbformat.read(notebook, as_version=4)
    (cell,) = [one for one in nb.cells if one.source.startswith("class Encoder")]
    head, _, body = cell.source.partition("    def forward(")
    cell.source = head + "    def forward(self, tokens, lengths):\n        return None\n"
    mended = nbformat.v4.new_code_cell("def forward(" + body.replace("\n    ", "\n") + "\nEncoder.forward = forward")
    nb.cells.insert(nb.cells.index(cell) + 1, mended)
    nbformat.write(nb, tmp_path / notebook.name)
    assert "Encoder" in my_parts("03_my_translator", tmp_path).own


def test_right_for_ordinary_inputs_alone_is_not_taken(tmp_path, said):
    """What is wrong for types or gradients may break the training of the whole."""
    detached = LOSS.format(count="real.sum()").replace("return ", "loss = ") + "\n    return loss.detach()"
    work(tmp_path, UNIT, "import torch\nPADDING = 0", detached)
    assert not said()[1]


def test_parts_that_need_each_other_are_lent_together(tmp_path, capsys):
    notebook = settings.SOLUTIONS / "15_lora" / "15_lora.ipynb"
    text = notebook.read_text(encoding="utf-8").replace("def add_adapters(", "def another(")
    (tmp_path / "15_lora.ipynb").write_text(text, encoding="utf-8")
    my = my_parts("15_my_lora", tmp_path)
    assert my.own == () and my.LoRALinear is LENT["LoRALinear"]
    assert "yours is right, and waits for add_adapters" in capsys.readouterr().out


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="your solved notebooks"):
        my_parts("03_my_translator", tmp_path / "nowhere")


def test_each_solution_is_found_in_its_notebook_alone():
    for one in MILESTONES:
        for name in one.exercises:
            unit = parts.unit_of(name)
            file = settings.SOLUTIONS / unit / f"{unit}.ipynb"
            made = solved.definition(name, file)
            assert made.__name__ == name and examine(name, made).passed, name
