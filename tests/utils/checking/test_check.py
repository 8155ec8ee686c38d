"""The student's `check` in a notebook, and the choice of device."""

import shutil
from pathlib import Path

import pytest
import torch
from conftest import ROOT, UNIT, plain
from IPython.core.interactiveshell import InteractiveShell

import utils.check as checks
from autograder.bank import catalogue, freezing
from autograder.trials.bench import BOUNDS, FULL_COURSE, first_self_check
from utils.check import CheckFailed, check
from utils.checking.packs import shipped
from utils.device import computes, device

RIGHT = "attention_scores = lambda q, X: (q.unsqueeze(-2) * X).sum(-1)"
CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here: checks ran on the CPU alone")


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "cpu")
    shell = InteractiveShell(colors="nocolor")
    shell.run_cell("from utils.check import check")
    return shell


def test_an_exercise_is_found_by_the_name_it_is_bound_to(shell, capsys):
    shell.run_cell(RIGHT + "\ncheck(attention_scores)").raise_error()
    assert capsys.readouterr().out.startswith("✓ attention_scores · ")


def test_a_notebook_shows_the_sentence_and_no_traceback(shell, capsys):
    ran = shell.run_cell(RIGHT.replace("sum", "mean") + "\ncheck(attention_scores)")
    shown = capsys.readouterr().out
    assert isinstance(ran.error_in_exec, CheckFailed)
    assert shown.startswith("✗ attention_scores · one query and its data vectors\n  The products are averaged")
    assert "Traceback" not in shown and "CheckFailed" not in shown


@pytest.mark.parametrize("odd", [len, torch.ones(2), None, "attention_scores", lambda: 1])
def test_what_is_no_exercise_is_told(odd):
    with pytest.raises(CheckFailed, match="no exercise has this name"):
        check(odd)


def test_an_object_of_a_class_is_told_from_the_class():
    LearnedPositions = type("LearnedPositions", (torch.nn.Module,), {})
    with pytest.raises(CheckFailed, match=r"check takes the class itself: check\(LearnedPositions\)"):
        check(LearnedPositions())


@pytest.fixture
def packs(tmp_path, monkeypatch):
    """A copy of the self-check files, which a process reads for the first time."""
    folder = Path(shutil.copytree(freezing.PACKS, tmp_path / "packs"))
    remembering = (shipped.index, checks._exercise, shipped.pack)
    monkeypatch.setattr(shipped, "PACKS", folder)
    monkeypatch.setenv("COURSE_DEVICE", "cpu")
    for one in remembering:
        one.cache_clear()
    yield folder
    for one in remembering:
        one.cache_clear()


def attention_scores(q, X):
    return (q.unsqueeze(-2) * X).sum(-1)


DAMAGES = {
    "cut": lambda text: text[:2000],
    "empty": lambda text: "",
    "of another form": lambda text: text.replace('"cases"', '"examples"'),
    "first line cut": lambda text: text[30:],
    "other names": lambda text: text.replace('"name":', '"title":'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_another_unit_does_not_hurt(packs, capsys, damage):
    for file in packs.glob("*.json"):
        if file.stem != UNIT:
            file.write_text(DAMAGES[damage](file.read_text()))
    check(attention_scores)
    assert capsys.readouterr().out.startswith("✓ attention_scores")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_told_by_its_name(packs, damage):
    file = packs / f"{UNIT}.json"
    file.write_text(DAMAGES[damage](file.read_text()))
    with pytest.raises(CheckFailed) as told:
        check(attention_scores)
    said = plain(str(told.value))
    assert (
        f"the checks in {UNIT}.json cannot be read" in said
        or f"one of those in {UNIT}.json? That file is damaged" in said
    )
    assert "ownload the course again" in said
    with pytest.raises(CheckFailed, match="no exercise has this name"):
        check(len)


def test_a_process_reads_the_checks_of_one_unit(packs, monkeypatch, capsys):
    read, text = [], Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda file, *more, **named: read.append(file.stem) or text(file, *more, **named)
    )
    check(attention_scores)
    check(attention_scores)
    assert [name for name in read if (packs / f"{name}.json").exists()] == [UNIT]


def test_the_first_line_of_a_file_says_which_exercises_it_holds(packs):
    found, unreadable = shipped.index()
    assert not unreadable
    assert found == {one.name: packs / f"{unit}.json" for unit, them in catalogue.units().items() for one in them}
    assert list(checks.all_exercises()) == list(found)


def test_the_first_check_of_a_process_is_quick_in_a_full_course():
    assert min(first_self_check(FULL_COURSE) for _ in range(3)) < BOUNDS["first self-check"]


def test_a_check_leaves_random_numbers_alone(shell):
    torch.manual_seed(3)
    shell.run_cell(RIGHT + "\ncheck(attention_scores)").raise_error()
    drawn = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(drawn, torch.rand(1))


def test_the_device_can_be_chosen(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "cpu")
    assert device() == torch.device("cpu")
    monkeypatch.setenv("COURSE_DEVICE", "no-such-device")
    with pytest.raises(RuntimeError, match="COURSE_DEVICE='no-such-device' cannot be used here"):
        device()


def test_without_a_choice_the_device_is_one_that_works(monkeypatch):
    monkeypatch.delenv("COURSE_DEVICE", raising=False)
    assert torch.ones(2, device=device()).sum() == 2


@pytest.mark.gpu
@CUDA
def test_checks_run_on_cuda(shell, monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "cuda")
    shell.run_cell(RIGHT + "\ncheck(attention_scores)").raise_error()
    ran = shell.run_cell("attention_scores = lambda q, X: (q.unsqueeze(-2) * X).sum(-1).cpu()\ncheck(attention_scores)")
    assert "is on cpu; the inputs are on cuda" in str(ran.error_in_exec)


@pytest.mark.parametrize("where", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, CUDA])])
def test_an_index_out_of_range_is_the_codes_own_and_the_next_check_runs(shell, monkeypatch, capsys, where):
    """On a GPU it would end all that CUDA does for the kernel: the CPU comes first."""
    monkeypatch.setenv("COURSE_DEVICE", where)
    wrong = "attention_scores = lambda q, X: (q.unsqueeze(-2) * X).sum(-1)[..., torch.tensor([999], device=X.device)]"
    ran = shell.run_cell(f"import torch\n{wrong}\ncheck(attention_scores)")
    assert "out of bounds" in plain(str(ran.error_in_exec)) or "out of range" in plain(str(ran.error_in_exec))
    shell.run_cell(RIGHT + "\ncheck(attention_scores)").raise_error()
    assert "ended what" not in capsys.readouterr().out and computes(where)


@pytest.mark.parametrize(("document", "dim"), [("README.md", 1), ("docs/students.md", -2)])
def test_the_messages_that_the_documents_show_are_real(monkeypatch, document, dim):
    monkeypatch.setenv("COURSE_DEVICE", "cpu")

    def scaled_dot_product_attention(Q, X):
        A = (Q @ X.mT / Q.shape[-1] ** 0.5).softmax(dim)
        return A @ X, A

    with pytest.raises(CheckFailed) as failed:
        check(scaled_dot_product_attention)
    assert str(failed.value) in (ROOT / document).read_text(encoding="utf-8")


def test_a_right_answer_that_returns_a_tensor_of_a_class_of_its_own_passes(capsys):
    class Image(torch.Tensor):
        pass

    def attention_scores(q, X):
        return (X @ q.unsqueeze(-1)).squeeze(-1).as_subclass(Image)

    check(attention_scores)
    assert "all hold" in capsys.readouterr().out
