"""Stored long runs: written with where they come from, read back, and there for every lesson that shows one."""

import json

import pytest
import torch
from torch import nn

from autograder import settings
from utils.measures import stored_runs, stored_weights


def test_a_record_says_how_it_came_about_and_keeps_four_digits(monkeypatch, tmp_path):
    monkeypatch.setattr(stored_runs, "_FOLDER", tmp_path / "stored")
    made = stored_runs.keep("01_rnn_seq2seq.widths", {"accuracy": [0.123456, 1.0], "widths": [64]}, seed=7, seconds=90)
    assert stored_runs.load("01_rnn_seq2seq.widths") == json.loads(json.dumps(made))
    assert made["results"] == {"accuracy": [0.1235, 1.0], "widths": [64]}
    assert made["command"].endswith("notebooks/01_rnn_seq2seq.ipynb") and made["minutes"] == 1.5
    assert "torch" in made["versions"] and "seed 7" in stored_runs.how(made) and "1.5 minutes" in stored_runs.how(made)
    with pytest.raises(FileNotFoundError):
        stored_runs.load("99_nothing")


def test_weights_come_back_in_half_precision(monkeypatch, tmp_path):
    monkeypatch.setattr(stored_runs, "_FOLDER", tmp_path / "stored")
    torch.manual_seed(0)
    layer = nn.Linear(3, 2)
    stored_weights.keep("17_multimodal_llms.reader", layer)
    other = stored_weights.load("17_multimodal_llms.reader", nn.Linear(3, 2).train())
    assert not other.training and other.weight.dtype == torch.float32
    assert torch.equal(other.weight, layer.weight.half().float())
    with pytest.raises(FileNotFoundError):
        stored_weights.load("99_nothing", layer)


def test_long_runs_are_asked_for_by_the_environment_alone(monkeypatch):
    monkeypatch.delenv("COURSE_FULL", raising=False)
    assert not stored_runs.full()
    monkeypatch.setenv("COURSE_FULL", "1")
    assert stored_runs.full()


@pytest.mark.parametrize("file", sorted((settings.LESSONS / "stored").glob("*.pt")), ids=lambda file: file.stem)
def test_all_stored_weights_are_loaded_by_their_lesson_and_made_by_it(file):
    text = (settings.LESSON_TWINS / f"{file.stem.partition('.')[0]}.py").read_text(encoding="utf-8")
    assert f'stored_weights.load("{file.stem}"' in text and f'stored_weights.keep("{file.stem}"' in text


@pytest.mark.parametrize("file", sorted((settings.LESSONS / "stored").glob("*.json")), ids=lambda file: file.stem)
def test_every_stored_run_belongs_to_a_lesson_and_names_its_origin(file):
    record = json.loads(file.read_text(encoding="utf-8"))
    assert file.stem.partition(".")[0] in settings.units()
    assert {"command", "seed", "machine", "versions", "minutes", "results"} <= record.keys()
    twin = settings.LESSON_TWINS / f"{file.stem.partition('.')[0]}.py"
    assert f'stored_runs.load("{file.stem}")' in twin.read_text(encoding="utf-8")
