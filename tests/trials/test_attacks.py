"""Every attack, at every sandbox level of this machine, and what a browser makes of what they leave to be read."""

import pytest
from browser import offline_browser, screenshot
from classes import kit
from conftest import ROOT, UNIT

from autograder.sandbox.levels import RLIMITS, available
from autograder.trials.attacks.handing_in_again import faults_of, inputs_met
from autograder.trials.attacks.run import ATTACKS, faults, try_all

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=available())
def tried(request, tmp_path_factory):
    """The level, the class's folder, and what came of its attacks."""
    folder = tmp_path_factory.mktemp(request.param) / "class"
    return request.param, folder, try_all(request.param, folder)


def test_no_attack_gets_what_it_did_not_work_for_or_does_harm(tried):
    level, _, graded = tried
    assert faults({level: graded}) == []
    assert len(graded.tried) == len(ATTACKS) if level != RLIMITS else len(graded.tried) >= 120


@pytest.mark.browser
def test_no_script_of_a_students_runs_in_feedback_or_report(tried):
    _, folder, _ = tried
    assert kit("report", UNIT, COURSE_CLASS=str(folder)).returncode == 0
    pages = [folder / "report" / f"{UNIT}.html", folder / "feedback" / "scripts" / UNIT / f"{UNIT}.html"]
    with offline_browser() as browser:
        for file in pages:
            page = browser.new_page()
            said = []
            page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
            page.goto(file.as_uri())
            page.wait_for_timeout(500)
            assert page.title() != "attacked" and not said
            assert "document.title" in page.inner_text("body") or file.parent.name == "report", "it is shown, as text"
            screenshot(page, f"attacked-{file.parent.name}")


def test_hidden_inputs_are_others_once_a_byte_was_changed_and_the_same_while_none_was(tmp_path):
    first, same, changed = inputs_met(tmp_path / "class")
    assert len(first) > 5 and faults_of(first, same, changed) == []


def test_every_attack_has_a_name_of_its_own_and_is_in_the_documented_table():
    names = [attack.name for attack in ATTACKS]
    assert len(names) == len(set(names)) >= 120
    table = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    assert {line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("| ")} == {
        "attack",
        *names,
    }
    assert "✗" not in table
    remaining = table.partition("## What remains possible")[2]
    assert all(attack.name in remaining and attack.remains.why in remaining for attack in ATTACKS if attack.remains)
