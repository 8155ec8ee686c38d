"""What runs in a student's repository on a push: the points of the self-checks, without a file of the instructors'."""

import base64
import json
import os
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT, UNIT
from handed_in import own, solved

from autograder.authoring.bundle import bundle

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("a student's repository")]
HOME = f"assignments/{UNIT}/{UNIT}.ipynb"
STEPS = yaml.safe_load((ROOT / "recipes" / "github" / "classroom.yml").read_text(encoding="utf-8"))["jobs"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A student's repository: what a release publishes, and nothing else."""
    folder = tmp_path_factory.mktemp("repository")
    for name, data in bundle().items():
        if not name.startswith(("assignments/", "notebooks/")) or name == HOME:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def pushed(repository):
    """pushed(text, **environment) runs the workflow's step on an assignment; gives the process and what Classroom is told."""

    def run(text: str, *options, **environment):
        (repository / HOME).write_text(text, encoding="utf-8")
        (repository / HOME).with_name(".progress.json").write_text(
            '{"04_attention_layer": {"stable_softmax": [3, 3, 1]}}'
        )
        output = repository / "output"
        output.unlink(missing_ok=True)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COURSE"))}
        clean |= {"GITHUB_OUTPUT": str(output), "UNITS": "04", "COURSE_DEVICE": "cpu", **environment}
        (step,) = [one for one in STEPS["self-checks"]["steps"] if one.get("id") == "checks"]
        command = step["run"].replace("python ", f"{sys.executable} ", 1) + " " + " ".join(options)
        ran = subprocess.run(command, shell=True, cwd=repository, env=clean, capture_output=True, text=True)
        told = output.read_text().removeprefix("result=") if output.exists() else ""
        return ran, json.loads(base64.b64decode(told)) if told else None

    return run


def test_points_of_what_is_done_are_printed_and_given_to_classroom(pushed):
    text = solved(count=2, stable_softmax="def stable_softmax(e, dim=-1):\n    return torch.softmax(e, 0)")
    text = text.replace('"name": "python3"', '"name": "my-own-kernel"')
    ran, told = pushed(text)
    assert ran.returncode == 0, ran.stderr
    assert f"{UNIT}: 2 of 18 points" in ran.stdout and "✓ attention_scores: 2 of 2 points" in ran.stdout
    assert "✗ stable_softmax · " in ran.stdout and "· AttentionLayer: 0 of 3 points" in ran.stdout
    assert "Not written yet" not in ran.stdout
    scores = {one["name"]: (one["score"], one["status"]) for one in told["tests"]}
    assert scores["attention_scores"] == (2, "pass") and scores["stable_softmax"] == (0, "fail")
    assert told["max_score"] == 18 and told["status"] == "fail" and "attention_backward" not in scores


def test_everything_right_passes(pushed):
    ran, told = pushed(solved())
    assert ran.returncode == 0 and f"{UNIT}: 18 of 18 points" in ran.stdout and told["status"] == "pass"
    assert sum(one["score"] for one in told["tests"]) == told["max_score"] == 18


def test_a_cell_that_does_not_end_keeps_the_points_before_it(pushed):
    text = solved(count=2, stable_softmax="while True: pass")
    ran, told = pushed(text, "--seconds", "30")
    assert ran.returncode == 0 and "longer than 30 seconds" in ran.stdout
    assert sum(one["score"] for one in told["tests"]) == 2


@pytest.mark.parametrize(("text", "said"), [("no notebook", "cannot be read"), (own("1 / 0"), "ZeroDivisionError")])
def test_what_is_no_assignment_has_no_points_and_says_why(pushed, text, said):
    ran, told = pushed(text)
    assert said in ran.stdout and sum(one["score"] for one in told["tests"]) == 0
    assert ran.returncode == (0 if "cells" in text else 2)


def test_a_unit_that_there_is_not_is_told(pushed):
    ran, told = pushed(solved(count=1), UNITS="44")
    assert ran.returncode == 2 and "04_attention_layer" in ran.stderr and told is None


def test_the_reporter_reads_the_output_of_the_step_that_runs_the_checks():
    *_, checks, reporter = STEPS["self-checks"]["steps"]
    runner = reporter["with"]["runners"]
    expected = {f"{runner.upper()}_RESULTS": f"${{{{ steps.{checks['id']}.outputs.result }}}}"}
    assert reporter["env"] == expected and runner == checks["id"]
