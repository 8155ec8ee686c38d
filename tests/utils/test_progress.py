"""`progress` tells what is done and what is left, from a file that nothing else needs."""

import pytest
import torch

from utils.check import CheckFailed, check
from utils.progress import FILE, progress


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "04").mkdir()
    monkeypatch.chdir(tmp_path / "04")
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
    assert "0 of 18 points" in said(capsys)
