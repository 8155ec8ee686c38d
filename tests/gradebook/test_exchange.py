"""nbgrader's exchange with the kit: from release to the feedback that a student fetches; what others lay there does no harm."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import classes
import pytest
from classes import ROOT, UNIT
from handed_in import put, released, solved
from traitlets.config.loader import PyFileConfigLoader

from autograder.gradebook import nbgrader_configuration
from autograder.gradebook.nbgrader_configuration import configuration
from autograder.gradebook.store import course_directory
from autograder.nbgrader_plugin import exchanging
from autograder.settings import KitError

NAME = f"{UNIT}.ipynb"
EARLY, LATER = "2026-03-06 10:00:00.000000 UTC", "2026-03-06 11:00:00.000000 UTC"


@pytest.fixture
def course(class_folder, tmp_path, monkeypatch):
    """The course's folder in the exchange that the server's configuration names; anybody can lay something in `inbound`."""
    server, folder = tmp_path / "server", tmp_path / "exchange" / "attention-2027"
    (folder / "inbound").mkdir(parents=True)
    server.mkdir()
    (server / "nbgrader_config.py").write_text(f'c = get_config()\nc.Exchange.root = "{tmp_path / "exchange"}"\n')
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(server))
    monkeypatch.setenv("COURSE_ID", "attention-2027")
    return folder


def _as(student: str, home: Path, *arguments) -> subprocess.CompletedProcess:
    """Runs nbgrader in a student's own folder, where there is nothing of the kit."""
    home.mkdir(exist_ok=True)
    left_out = ("COURSE", "PYTHON")
    told = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    told["JUPYTER_DATA_DIR"] = str(home / ".data")
    command = [sys.executable, "-m", "nbgrader", *arguments, "--course=attention-2027", f"--student={student}"]
    return subprocess.run(command, cwd=home, env=told, capture_output=True, text=True)


@pytest.mark.slow
def test_work_and_feedback_go_through_the_exchange(course, class_folder, tmp_path, kit):
    assert kit("release", UNIT).returncode == 0
    ran = classes.nbgrader("release_assignment", UNIT)
    assert ran.returncode == 0, ran.stderr
    assert _as("ada", tmp_path / "ada", "fetch_assignment", UNIT).returncode == 0
    assert (tmp_path / "ada" / UNIT / NAME).read_text(encoding="utf-8") == released()
    work = {"ada": (NAME, solved(count=2)), "bob": ("04 (1).ipynb", solved(count=1)), "eve": (NAME, "{}")}
    for student, (name, text) in work.items():
        folder = tmp_path / student / UNIT
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        assert _as(student, folder.parent, "submit", UNIT).returncode == 0
    put(class_folder, {f"{UNIT}/{NAME}": solved(count=1)}, "of-the-lms")
    ran = classes.nbgrader("collect", UNIT)
    assert ran.returncode == 0, ran.stderr
    assert kit("grade", UNIT).returncode == 0 and kit("feedback", UNIT).returncode == 0
    ran = classes.nbgrader("release_feedback", UNIT)
    assert ran.returncode == 0 and "of-the-lms" in ran.stderr
    for student, (name, _) in work.items():
        assert _as(student, tmp_path / student, "fetch_feedback", UNIT).returncode == 0
        (page,) = (tmp_path / student / UNIT / "feedback").glob("*/*.html")
        own = class_folder / "feedback" / student / UNIT / f"{UNIT}.html"
        assert page.stem == Path(name).stem and page.read_bytes() == own.read_bytes()
    assert all(one.stat().st_mode & 0o777 == 0o644 for one in (course / "feedback").iterdir())
    assert "submission_secret" not in (class_folder / "feedback" / "ada" / UNIT / f"{UNIT}.html").read_text()


def _laid(course: Path, student: str, time: str, text: str | None) -> Path:
    folder = course / "inbound" / f"{student}+{UNIT}+{time}+x1y2"
    folder.mkdir()
    (folder / "timestamp.txt").write_text(time)
    if text is not None:
        (folder / NAME).write_text(text, encoding="utf-8")
    return folder


def test_no_link_is_followed_and_the_others_are_collected(course, class_folder, kit):
    solution = ROOT / "solutions" / UNIT
    folder = _laid(course, "bob", LATER, None)
    (folder / NAME).symlink_to(solution / NAME)
    (folder / "more").symlink_to(solution)
    (course / "inbound" / f"eve+{UNIT}+{LATER}+x1y2").symlink_to(solution)
    _laid(course, "ada", EARLY, solved(count=1))
    with open(_laid(course, "kim", EARLY, solved(count=1)) / "large.bin", "wb") as large:
        large.truncate(200_000_000)
    ran = classes.nbgrader("collect", UNIT)
    assert ran.returncode == 0 and (class_folder / "submitted" / "ada" / UNIT / NAME).exists()
    assert [one.name for one in (class_folder / "submitted" / "bob" / UNIT).iterdir()] == ["timestamp.txt"]
    assert not (class_folder / "submitted" / "eve").exists() and not (class_folder / "submitted" / "kim").exists()
    told = ran.stderr.splitlines()
    for student, why in (("bob", "links are left out"), ("eve", "is a link"), ("kim", "is larger than")):
        assert any(student in line and why in line for line in told)


def _collected(caplog, **settings) -> str:
    """Collects in this process; gives what nbgrader said."""
    caplog.clear()
    exchanging.Collect(coursedir=course_directory(UNIT), config=configuration(), **settings).start()
    return caplog.text


def test_a_later_hand_in_replaces_an_earlier_one_which_is_kept(course, class_folder, caplog):
    file = class_folder / "submitted" / "ada" / UNIT / NAME
    for time, note in ((EARLY, "first"), (LATER, "second")):
        _laid(course, "ada", time, solved(note=note))
        _collected(caplog, update=True)
        assert file.read_text(encoding="utf-8") == solved(note=note)
    (earlier,) = (class_folder / "earlier" / UNIT / "ada").glob(f"*/{NAME}")
    assert earlier.read_text(encoding="utf-8") == solved(note="first")
    _collected(caplog, update=True)
    assert len(list((class_folder / "earlier" / UNIT / "ada").iterdir())) == 1


def test_nobody_hands_in_for_somebody_else_of_the_class(course, class_folder, caplog, monkeypatch, tmp_path, kit):
    listed = tmp_path / "class.csv"
    listed.write_text("id,name\nada,Ada Lovelace\nbob,Bob Noyce\n")
    assert kit("roster", listed).returncode == 0
    _laid(course, "ada", EARLY, solved(note="ada's own"))
    foreign = _laid(course, "ada", LATER, solved(note="not hers"))
    owners = {foreign: "bob"}
    monkeypatch.setattr(exchanging, "_owner", lambda folder: owners.get(folder, "jovyan"))
    said = _collected(caplog)
    file = class_folder / "submitted" / "ada" / UNIT / NAME
    assert file.read_text(encoding="utf-8") == solved(note="ada's own") and "was laid there by bob" in said
    shutil.rmtree(class_folder / "submitted")
    _collected(caplog, check_owner=False)
    assert file.read_text(encoding="utf-8") == solved(note="not hers")


def _exchange_of(folder: Path) -> dict:
    """What nbgrader's own commands read in the repository's file."""
    return PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config()


def test_the_exchange_is_the_servers_else_the_class_has_its_own(class_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(nbgrader_configuration, "SHARED_EXCHANGE", tmp_path / "none")
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    own = str(class_folder / "exchange")
    assert configuration().Exchange.root == own == _exchange_of(ROOT).Exchange.root
    file = tmp_path / "nbgrader_config.py"
    file.write_text('c.Exchange.root = "/srv/exchange"\nc.ExchangeFactory.collect = "elsewhere.Collect"\n')
    assert configuration().Exchange.root == "/srv/exchange" and "root" not in _exchange_of(ROOT).Exchange
    assert configuration().ExchangeFactory.collect == "elsewhere.Collect"
    assert "collect" not in _exchange_of(ROOT).ExchangeFactory
    file.write_text(f"c.JupyterApp.answer_yes = True\nload_subconfig({str(ROOT / 'nbgrader_config.py')!r})\n")
    os.utime(file, (1, 1))
    found = _exchange_of(ROOT)
    assert found.Exchange.root == own and found.ExchangeFactory.collect.endswith("exchanging.Collect")


def test_two_courses_on_one_server_have_two_names(class_folder, monkeypatch):
    monkeypatch.setenv("COURSE_ID", "attention-2027")
    assert configuration().CourseDirectory.course_id == "attention-2027"
    monkeypatch.setenv("COURSE_ID", "../2027")
    with pytest.raises(KitError, match="course's id"):
        configuration()
