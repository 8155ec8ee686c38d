"""A new address of the course reaches every notebook in seconds: nothing is run, and a full build would write the same."""

import re
import subprocess

import pytest
from browser import Copy
from conftest import UNIT

from autograder import settings
from autograder.authoring.address import BADGE, PLACEHOLDER, repository, with_address
from autograder.settings import KitError

NEW = "https://github.com/a-university/attention-2027"
ELSEWHERE = "https://git.example.org/courses/attention.git"


def named(copy, address: str) -> None:
    """Sets the address in the copy's pyproject.toml."""
    file = copy.folder / "pyproject.toml"
    text = re.sub(r'^repository = ".*"$', f'repository = "{address}"', file.read_text("utf-8"), flags=re.MULTILINE)
    file.write_text(text, encoding="utf-8")


def contents(copy) -> dict[str, bytes]:
    """All notebooks of the copy, and their twins."""
    folders = ("notebooks/*.ipynb", "milestones/*.ipynb", "*/text/*.py", "solutions/*/*.*", "assignments/*/*.ipynb")
    return {str(file.relative_to(copy.folder)): file.read_bytes() for one in folders for file in copy.folder.glob(one)}


BUILT = f"""
from autograder import settings
from autograder.authoring import build
from autograder.trials.margins import measured_on
lesson, solution = settings.LESSON_TWINS / "{UNIT}.py", settings.SOLUTIONS / "{UNIT}" / "{UNIT}.py"
assert not build.differences(lesson, settings.LESSONS / "{UNIT}.ipynb")
assert not build.differences(solution, solution.with_suffix(".ipynb"))
print(measured_on("{UNIT}"), build.made_from(lesson, build.dressed(lesson)))
"""


def built(copy) -> str:
    """What margins and outputs of the copy's unit depend on; its notebooks are as a build would write them."""
    ran = subprocess.run(
        [copy.python, "-c", BUILT], cwd=copy.folder, env=copy.environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_a_release_gives_every_notebook_the_new_address_as_a_build_would(tmp_path):
    course, target = Copy.make(tmp_path, COURSE_CLASS="class"), tmp_path / "students"
    old, before, depends = settings.table()["repository"], contents(course), built(course)
    named(course, NEW)
    done = course.run("release", "04", "--publish", str(target))
    assert done.returncode == 0, done.stderr
    after = contents(course)
    assert f" files now name {NEW}" in done.stdout
    place, new_place = (one.removeprefix("https://github.com/").encode() for one in (old, NEW))
    assert after == {name: data.replace(place, new_place) for name, data in before.items()}, "and nothing else changes"
    assert built(course) == depends, "outputs and margins are as fresh as they were"
    published = {file.relative_to(target): file.read_bytes() for file in target.rglob("*") if file.is_file()}
    assert {str(file) for file, data in published.items() if new_place in data} >= {f"notebooks/{UNIT}.ipynb"}
    assert not [file for file, data in published.items() if place in data]


def test_an_address_that_is_not_on_github_has_no_badge_which_comes_back_with_one_that_is():
    placed = with_address(BADGE, UNIT, PLACEHOLDER)
    assert f"github/OWNER/attention-course/blob/main/notebooks/{UNIT}.ipynb)" in placed
    elsewhere = with_address(f"# {placed}\n# text", UNIT, ELSEWHERE)
    assert elsewhere == f"# {BADGE}\n# text"
    assert with_address(elsewhere, UNIT, PLACEHOLDER) == f"# {placed}\n# text"
    assert f"github/me/mine/blob/main/notebooks/{UNIT}.ipynb)" in with_address(
        placed, UNIT, "https://github.com/me/mine.git"
    )


@pytest.mark.parametrize("address", ["git@github.com:me/mine.git", 'https://x.org/"', "https://x.org/a b", "", "mine"])
def test_what_is_no_web_address_is_refused_in_one_sentence(address, monkeypatch):
    monkeypatch.setitem(settings.table(), "repository", address)
    with pytest.raises(KitError, match="repository in pyproject.toml has to be a web address"):
        repository()
