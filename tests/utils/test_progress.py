"""`progress` tells what is done and what is left, from a file that nothing else needs."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from conftest import ROOT, UNIT

from utils import progress as kept
from utils.check import CheckFailed, check
from utils.checking.judging.verdict import Result
from utils.progress import FILE, keep_milestone, progress, record


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "04").mkdir()
    monkeypatch.chdir(tmp_path / "04")
    monkeypatch.setattr(kept, "_UNWRITTEN", {})
    return tmp_path


def attention_scores(q, X):
    return (X @ q.unsqueeze(-1)).squeeze(-1)


def scaled(q, X):
    return attention_scores(q, X) / q.shape[-1]


scaled.__name__ = "attention_scores"


def said(capsys, *which):
    capsys.readouterr()
    progress(*which)
    return capsys.readouterr().out


def test_what_was_checked_counts_as_it_was_last_checked(capsys):
    assert "0 of 18 points, 0 of 7 exercises done" in said(capsys)
    assert "attention_scores: not checked yet, 2 points" in said(capsys)
    check(attention_scores)
    assert "2 of 18 points, 1 of 7 exercises done" in said(capsys)
    with pytest.raises(CheckFailed):
        check(scaled)
    assert "✗ attention_scores: 0 of 2 points" in said(capsys)


def stub(q, X):
    raise NotImplementedError()


stub.__name__ = "attention_scores"


def test_what_is_not_begun_is_not_called_wrong(capsys):
    with pytest.raises(CheckFailed, match="Not written yet"):
        check(stub)
    told = said(capsys)
    assert "· attention_scores: not begun, 2 points" in told and "✗" not in told
    with pytest.raises(CheckFailed):
        check(scaled)
    assert "✗ attention_scores: 0 of 2 points" in said(capsys)


def attention_backward(Q, K, V, dY):
    A = (Q @ K.mT / Q.shape[-1] ** 0.5).softmax(dim=-1)
    dA = dY @ V.mT
    dE = A * (dA - (dA * A).sum(dim=-1, keepdim=True)) / Q.shape[-1] ** 0.5
    return dE @ K, dE.mT @ Q, A.mT @ dY


def test_a_stretch_is_told_and_counts_for_nothing(capsys):
    assert "· attention_backward: a stretch, beyond the points" in said(capsys)
    check(attention_backward)
    told = said(capsys)
    assert "✓ attention_backward: a stretch" in told and "0 of 18 points, 0 of 7 exercises done" in told


def test_all_units_that_were_begun_are_told_together(capsys, folder, monkeypatch):
    assert said(capsys, "all") == "No exercise was checked yet.\n"
    check(attention_scores)
    (folder / "01").mkdir()
    monkeypatch.chdir(folder / "01")

    def rnn_step(x, h, W_x, W_h, b):
        return torch.tanh(x @ W_x + h @ W_h + b)

    check(rnn_step)
    told = said(capsys, "all")
    assert told.index("01_rnn_seq2seq:") < told.index("04_attention_layer: 2 of 18 points, 1 of 7")
    assert "02_bahdanau" not in told


def test_milestones_are_told_with_all_units_wherever_one_asks(capsys, folder, monkeypatch):
    course = folder / "course"
    for place in ("assignments/04", "assignments/01", "milestones"):
        (course / place).mkdir(parents=True)
    loss = {"01_rnn_seq2seq": {"masked_cross_entropy": [3, 3, 1], "Encoder": [1, 3, 0]}}
    (course / "assignments" / "01" / FILE).write_text(json.dumps(loss))
    monkeypatch.chdir(course / "assignments" / "04")
    assert "· My translator translates" in (told := said(capsys, "all"))
    assert "(milestones/03_my_translator.ipynb): 1 of its 6 parts are solved" in told
    monkeypatch.chdir(course / "milestones")
    assert keep_milestone("03_my_translator", 2, 6) == ""
    for place in ("milestones", "assignments/04"):
        monkeypatch.chdir(course / place)
        told = said(capsys, "all")
        assert "✓ My translator translates" in told and "reached, 2 of 6 parts were yours" in told
        assert "01_rnn_seq2seq: 4 of" in told
    assert "milestone" not in said(capsys), "one unit's account is about that unit"


@pytest.mark.parametrize(
    "content", ["", "[1, 2]", '{"04_attention_layer": 3}', '{"04_attention_layer": {"a": ["x", 1]}}']
)
def test_a_damaged_file_counts_as_none_and_is_replaced(capsys, folder, content):
    (folder / "04" / FILE).write_text(content)
    assert "0 of 18 points" in said(capsys)
    check(attention_scores)
    assert "2 of 18 points" in said(capsys)


def test_a_check_does_not_need_the_file(capsys, folder):
    (folder / "04" / FILE).mkdir()
    check(attention_scores)
    assert "all hold" in capsys.readouterr().out
    assert [one.name for one in (folder / "04").iterdir()] == [FILE]
    assert "2 of 18 points" in said(capsys), "counted for this kernel"


def test_fractions_of_points_are_kept_and_told(capsys):
    record(UNIT, Result("attention_scores", 1.5, 2, "wrong_values", None, "", ()))
    record(UNIT, Result("scaled_dot_product_attention", 2.25, 3, "wrong_values", None, "", ()))
    told = said(capsys)
    assert "✗ attention_scores: 1.5 of 2 points" in told and "✗ scaled_dot_product_attention: 2.25 of 3 points" in told
    assert "3.75 of 18 points, 0 of 7 exercises done" in told


def test_a_file_of_whole_numbers_is_read_as_before(capsys, folder):
    (folder / "04" / FILE).write_text(json.dumps({UNIT: {"attention_scores": [2, 2, 1]}}), encoding="utf-8")
    assert "2 of 18 points, 1 of 7 exercises done" in said(capsys)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_a_file_that_an_editor_saved_in_another_encoding_does_not_matter(capsys, folder, encoding):
    content = json.dumps({UNIT: {"attention_scores": [1, 2, 0]}, "é": {}}, ensure_ascii=False)
    (folder / "04" / FILE).write_text(content, encoding=encoding)
    check(attention_scores)
    assert "2 of 18 points" in said(capsys)


def test_a_file_nested_without_end_counts_as_none(capsys, folder):
    (folder / "04" / FILE).write_text("[" * 100_000)
    assert "0 of 18 points" in said(capsys)


def test_a_link_is_replaced_and_what_it_leads_to_is_left_alone(capsys, folder):
    (folder / "notes.txt").write_text("mine")
    (folder / "04" / FILE).symlink_to(folder / "notes.txt")
    check(attention_scores)
    assert (folder / "notes.txt").read_text() == "mine" and "2 of 18 points" in said(capsys)


def test_a_link_that_leads_nowhere_or_to_a_folder_does_not_matter(capsys, folder):
    for target in (folder / "nowhere", folder):
        (folder / "04" / FILE).unlink(missing_ok=True)
        (folder / "04" / FILE).symlink_to(target)
        check(attention_scores)
        assert "2 of 18 points" in said(capsys)


def test_progress_lies_beside_the_notebook_wherever_the_kernel_was_started(capsys, folder, monkeypatch, notebook):
    monkeypatch.chdir(folder)
    check(attention_scores)
    assert (notebook.parent / FILE).exists() and not (folder / FILE).exists()
    assert "2 of 18 points" in said(capsys)
    assert "04_attention_layer: 2 of 18 points" in said(capsys, "all")


@pytest.fixture(params=["VS Code", "Jupyter"])
def notebook(request, folder, monkeypatch):
    """A notebook in folder 04, as VS Code or Jupyter names it to its kernel."""
    file = folder / "04" / "04.ipynb"
    file.touch()
    if request.param == "VS Code":
        monkeypatch.setattr(sys.modules["__main__"], "__vsc_ipynb_file__", str(file), raising=False)
    else:
        monkeypatch.setenv("JPY_SESSION_NAME", str(file))
    return file


def test_a_notebook_that_is_not_there_under_the_name_told_is_not_believed(capsys, folder, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "RTC:json:notebook:1f3a")
    monkeypatch.setattr(sys.modules["__main__"], "__vsc_ipynb_file__", "c:\\course\\04.ipynb", raising=False)
    check(attention_scores)
    assert (folder / "04" / FILE).exists()


def unwritable(folder, how):
    """Runs two checks and `progress` in a folder where nothing can be written; gives what a student sees.

    How: on a read-only file system, mounted in a name space of its own; without permission; or in a folder that is gone.
    """
    runner = [sys.executable, "-c", CHECKING]
    if how == "read-only file system":
        mounting = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'
        runner = ["unshare", "-rm", "sh", "-c", mounting, str(folder), *runner]
        probe = [*runner[:6], "true"]
        if not shutil.which("unshare") or subprocess.run(probe, capture_output=True).returncode:
            pytest.skip("no read-only file system can be mounted here")
    elif how == "no permission":
        if os.geteuid() == 0:
            runner = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *runner]
        folder.chmod(0o555)
        probe = subprocess.run([*runner[:-2], "-c", "open('x', 'w')"], cwd=folder, capture_output=True, text=True)
        if "PermissionError" not in probe.stderr:
            pytest.skip("whoever runs the tests may write everywhere")
    ran = subprocess.run(
        runner, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT), "HOW": how}
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout


CHECKING = """
import os
from utils.check import CheckFailed, check
from utils.progress import progress
if os.environ["HOW"] == "folder gone":
    os.rmdir(os.getcwd())
if os.environ["HOW"] == "disk full":
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
def attention_scores(q, X):
    return (X @ q.unsqueeze(-1)).squeeze(-1)
right = attention_scores
def attention_scores(q, X):
    return right(q, X) / q.shape[-1]
try:
    check(attention_scores)
except CheckFailed as failed:
    os.write(1, f"{failed}\\n".encode())
attention_scores = right
check(attention_scores)
progress()
progress("all")
print("left:", [name for name in os.listdir() if name.startswith(".")] if os.path.exists(".") else [])
"""


@pytest.mark.parametrize("how", ["read-only file system", "no permission", "folder gone", "disk full"])
def test_where_nothing_can_be_written_a_check_says_what_it_has_to_say(folder, how):
    seen = unwritable(folder / "04", how)
    assert "✗ attention_scores" in seen and "averaged" in seen and "✓ attention_scores" in seen
    assert seen.count("Points cannot be kept in the notebook's folder") == 1
    assert seen.count("04_attention_layer: 2 of 18 points, 1 of 7 exercises done") == 2, "counted for this kernel"
    assert "left: []" in seen
