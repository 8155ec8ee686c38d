"""A class's secret word is there whole, for its owner alone, or not at all; whoever is first, all have the same."""

import os
import subprocess
import sys
import textwrap

import pytest
from conftest import ROOT

from autograder import settings

RACE = """
import sys, time
from autograder import settings

file = settings.class_folder() / ".seed"
while not (file.parent / "go").exists():
    time.sleep(0.0005)
if sys.argv[1] == "asks":
    print(settings.secret())
else:
    until = time.monotonic() + 20
    while not file.exists() and time.monotonic() < until:
        pass
    print(file.read_text(), oct(file.stat().st_mode & 0o777), sep="\\n")
"""


@pytest.mark.parametrize("attempt", range(3))
def test_processes_that_race_for_it_get_one_whole_word_and_never_less(class_folder, attempt):
    class_folder.mkdir()
    command = [sys.executable, "-c", textwrap.dedent(RACE)]
    old = os.umask(0)
    try:
        running = [
            subprocess.Popen([*command, what], cwd=ROOT, stdout=subprocess.PIPE, text=True)
            for what in ("looks", "looks", *["asks"] * 6)
        ]
        (class_folder / "go").touch()
        said = [one.communicate(timeout=60)[0].split() for one in running]
    finally:
        os.umask(old)
    assert all(one.returncode == 0 for one in running)
    assert {one[0] for one in said} == {settings.secret()} and len(settings.secret()) == 32
    assert {one[1] for one in said[:2]} == {"0o600"}
    assert sorted(one.name for one in class_folder.iterdir()) == [".seed", "go"]


def test_it_stays_and_no_moment_shows_it_to_others(class_folder, monkeypatch):
    seen, link = [], os.link

    def look(source, target):
        seen.append((oct(os.stat(source).st_mode & 0o777), target.exists()))
        link(source, target)

    monkeypatch.setattr(os, "link", look)
    word = settings.secret()
    assert settings.secret() == word and seen == [("0o600", False)]


def test_a_file_system_without_links_has_one_too(class_folder, monkeypatch):
    def refused(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    assert settings.secret() == settings.secret() != ""
    assert [one.name for one in class_folder.iterdir()] == [".seed"]


def test_an_empty_word_is_refused(class_folder):
    class_folder.mkdir()
    (class_folder / ".seed").touch()
    with pytest.raises(settings.KitError, match="is empty"):
        settings.secret()
