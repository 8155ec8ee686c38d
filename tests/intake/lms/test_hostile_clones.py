"""A repository that a student hands in makes git run nothing, leads nowhere else, and takes nobody else's work away."""

import os
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from conftest import UNIT
from handed_in import solved

from autograder.intake.lms import collecting, students
from autograder.intake.timestamp import read_time

ALL = ["alice", "bob", "carol"]
HOME = f"assignments/{UNIT}/{UNIT}.ipynb"
FIRST, LATER = "2026-03-06T17:58:00+01:00", "2026-03-08T12:00:00+01:00"
IN_UTC = datetime(2026, 3, 6, 16, 58)
PARTIAL = """
[core]
    repositoryformatversion = 1
[extensions]
    partialClone = origin
[remote "origin"]
    promisor = true
"""
# Each makes git run `{command}` when it looks into the history of a repository that lacks an object.
FETCHES = {
    "ext": '    url = ext::{command}\n[protocol "ext"]\n    allow = always\n',
    "ssh": "    url = ssh://nobody.invalid/x\n[core]\n    sshCommand = {command}\n",
    "proxy": "    url = git://nobody.invalid/x\n[core]\n    gitProxy = {command}\n",
    "uploadpack": "    url = file:///\n    uploadpack = {command}\n",
    "included": "[include]\n    path = more\n",
}


@pytest.fixture
def place(class_folder, tmp_path):
    """The folder that is collected from, for a class of three."""
    file = tmp_path / "list.csv"
    file.write_text("id,name\n" + "".join(f"{id},\n" for id in ALL), encoding="utf-8")
    students.write(students.read(file))
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def git(folder: Path, *arguments: str, at: str = FIRST, given: str | None = None) -> str:
    told = {f"GIT_{who}_{what}": "x@y.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **told, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at, "GIT_TERMINAL_PROMPT": "0"}
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, env=environment, input=given, check=True, capture_output=True, text=True).stdout


def repository(folder: Path, path: str = HOME, at: str = FIRST) -> Path:
    """Makes a repository with work that was committed at a time, and something else that was committed later."""
    for name, text, when in ((path, solved(count=1, note=folder.name), at), ("README.md", "mine", LATER)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        if not (folder / ".git").exists():
            git(folder, "init", "--quiet", "--initial-branch=main")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", "work", at=when)
    return folder


def plain_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / f"{UNIT}.ipynb").write_text(solved(count=1, note=folder.name), encoding="utf-8")
    return folder


def when(class_folder: Path, student: str) -> datetime | None:
    return read_time(class_folder / "submitted" / student / UNIT / "timestamp.txt")[0]


def command_file(folder: Path) -> tuple[Path, Path]:
    """Makes a command that leaves a mark when it is run, and says where."""
    command, mark = folder / "command", folder / "it_ran"
    command.write_text(f"#!/bin/sh\ntouch {mark}\n")
    command.chmod(0o755)
    return command, mark


def fetching(folder: Path, kind: str, command: Path) -> None:
    """Makes a repository that lacks an object, and says how it is fetched."""
    repository(folder)
    tree = git(folder, "rev-parse", "HEAD^{tree}").strip()
    (folder / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    (folder / ".git" / "more").write_text('[remote "origin"]\n' + FETCHES["ext"].format(command=command))
    with (folder / ".git" / "config").open("a") as configuration:
        configuration.write(PARTIAL + FETCHES[kind].format(command=command))
    for hook in (folder / ".git" / "hooks").iterdir():
        shutil.copy(command, hook.with_suffix(""))


def signed(folder: Path, command: Path) -> None:
    """Makes a repository whose commit is signed, and says what looks at the signature."""
    repository(folder)
    head, _, message = git(folder, "cat-file", "commit", "HEAD~").partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    commit = git(folder, "hash-object", "-t", "commit", "-w", "--stdin", given=f"{head}\n{signature}\n\n{message}")
    git(folder, "update-ref", "HEAD", commit.strip())
    git(folder, "config", "log.showSignature", "true")
    git(folder, "config", "gpg.program", str(command))


@pytest.mark.parametrize("others", [plain_folder, repository], ids=["folders", "clones"])
@pytest.mark.parametrize("kind", [*FETCHES, "signature"])
def test_a_students_repository_makes_git_run_nothing(class_folder, place, tmp_path, kind, others):
    command, mark = command_file(tmp_path)
    if kind == "signature":
        signed(place / "alice", command)
    else:
        fetching(place / "alice", kind, command)
    asked = ["git", "-C", place / "alice", "log", "-1", "--format=%cI", "--", HOME]
    subprocess.run(asked, capture_output=True, timeout=60)
    assert mark.exists(), "git itself runs the command: there is something to be protected from"
    mark.unlink()
    for name in ("bob", "carol"):
        others(place / name)
    said = collecting.collect(UNIT, place)
    assert not mark.exists()
    assert said.new == ALL and not said.missing and not said.unmatched
    assert said.system == ("clones" if others is repository else "folders")
    assert when(class_folder, "bob") == (IN_UTC if others is repository else None)
    assert when(class_folder, "alice") == (IN_UTC if others is repository and kind == "signature" else None)


def test_one_folder_with_a_repository_is_a_folder_as_the_others_are(class_folder, place):
    repository(place / "alice")
    for name in ("bob", "carol"):
        plain_folder(place / name)
    said = collecting.collect(UNIT, place)
    assert said.system == "folders" and said.new == ALL and when(class_folder, "alice") is None


def test_one_folder_without_a_repository_is_collected_beside_clones(class_folder, place):
    plain_folder(place / "alice")
    for name in ("bob", "carol"):
        repository(place / name)
    said = collecting.collect(UNIT, place)
    assert said.system == "clones" and said.new == ALL
    assert [when(class_folder, name) for name in ALL] == [None, IN_UTC, IN_UTC]


def _linked(link: Path, target: Path) -> None:
    """Puts a link in the place of a file or folder."""
    shutil.rmtree(link) if link.is_dir() else link.unlink()
    link.symlink_to(target)


def _linked_pack(own: Path, other: Path) -> None:
    git(other, "gc", "--quiet")
    for pack in (other / "objects" / "pack").iterdir():
        (own / "objects" / "pack" / pack.name).symlink_to(pack)


def _git_file(own: Path, other: Path) -> None:
    shutil.rmtree(own)
    own.write_text(f"gitdir: {other}\n")


def _objects_elsewhere(own: Path, other: Path) -> None:
    for folder in (own / "objects").iterdir():
        if len(folder.name) == 2:
            _linked(folder, other / "objects" / folder.name)


LEADING = {
    "git": lambda own, other: _linked(own, other),
    "git-file": _git_file,
    "objects": lambda own, other: _linked(own / "objects", other / "objects"),
    "some-objects": _objects_elsewhere,
    "packs": _linked_pack,
    "alternates": lambda own, other: (own / "objects" / "info" / "alternates").write_text(f"{other / 'objects'}\n"),
    "head": lambda own, other: _linked(own / "HEAD", other / "refs" / "heads" / "main"),
    "branch": lambda own, other: _linked(own / "refs" / "heads" / "main", other / "refs" / "heads" / "main"),
    "branches": lambda own, other: _linked(own / "refs", other / "refs"),
    "upwards": lambda own, other: (own / "HEAD").write_text("ref: refs/heads/../../../../../other\n"),
}


@pytest.mark.parametrize("how", LEADING)
def test_nothing_is_read_where_a_repository_leads_elsewhere(class_folder, place, tmp_path, how):
    for name in ALL:
        repository(place / name)
    other = Path(shutil.copytree(place / "alice" / ".git", tmp_path / "elsewhere"))  # would tell the time
    (tmp_path / "other").write_text(git(place / "alice", "rev-parse", "HEAD"))
    LEADING[how](place / "alice" / ".git", other)
    said = collecting.collect(UNIT, place)
    assert said.system == "clones" and said.new == ALL
    assert [when(class_folder, name) for name in ALL] == [None, IN_UTC, IN_UTC]


def _without_objects(own: Path) -> None:
    shutil.rmtree(own / "objects")


def _with_a_spoilt_commit(own: Path) -> None:
    commit = git(own, "rev-parse", "HEAD").strip()
    file = own / "objects" / commit[:2] / commit[2:]
    file.chmod(0o644)
    file.write_bytes(b"spoilt")


BROKEN = {
    "empty": lambda own: [shutil.rmtree(own), own.mkdir()],
    "no-objects": _without_objects,
    "spoilt": _with_a_spoilt_commit,
    "bytes": lambda own: (own / "HEAD").write_bytes(b"\xff\x00ref: \n"),
    "option": lambda own: (own / "HEAD").write_text("--output=x\n"),
    "no-branch": lambda own: (own / "HEAD").write_text("ref: refs/heads/none\n"),
    "long": lambda own: (own / "HEAD").write_text(f"ref: refs/heads/{'a' * 9000}\n"),
    "folder": lambda own: [(own / "HEAD").unlink(), (own / "HEAD").mkdir()],
    "pipe": lambda own: [(own / "HEAD").unlink(), os.mkfifo(own / "HEAD")],
    "object-pipe": lambda own: os.mkfifo(own / "objects" / "pack" / "pack-1.idx"),
    "no-commit": lambda own: (own / "HEAD").write_text(git(own, "rev-parse", "HEAD^{tree}")),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_repository_tells_no_time_and_is_collected(class_folder, place, how):
    for name in ALL:
        repository(place / name)
    BROKEN[how](place / "alice" / ".git")
    said = collecting.collect(UNIT, place)
    assert said.new == ALL and [when(class_folder, name) for name in ALL] == [None, IN_UTC, IN_UTC]


@pytest.mark.parametrize("at", ["@253402340000 -1200", "@99999999999999 +0000"])
def test_a_time_that_no_calendar_has_is_none(class_folder, place, at):
    repository(place / "alice", at=at)
    assert collecting.collect(UNIT, place).new == ["alice"] and when(class_folder, "alice") is None


def _packed(clone: Path) -> None:
    git(clone, "gc", "--quiet")
    assert not (clone / ".git" / "refs" / "heads" / "main").exists()


def _shallow(clone: Path) -> None:
    origin = clone.rename(clone.parent.parent / "origin")
    git(origin, "checkout", "--quiet", "--detach", "HEAD~")
    git(origin.parent, "clone", "--quiet", "--depth=1", f"file://{origin}", str(clone))
    assert (clone / ".git" / "shallow").exists()


KEPT = {
    "loose": lambda clone: None,
    "packed": _packed,
    "detached": lambda clone: git(clone, "checkout", "--quiet", "--detach"),
    "shallow": _shallow,
    "branch": lambda clone: git(clone, "checkout", "--quiet", "-b", "réponse/4#1"),
    "merged": lambda clone: [
        git(clone, "checkout", "--quiet", "-b", "side", "HEAD~"),
        git(clone, "merge", "--quiet", "--no-ff", "-m", "merge", "main", at=LATER),
    ],
}


@pytest.mark.parametrize("how", KEPT)
def test_the_time_is_found_in_whatever_way_git_keeps_it(class_folder, place, how):
    KEPT[how](repository(place / "alice"))
    assert collecting.collect(UNIT, place).new == ["alice"] and when(class_folder, "alice") == IN_UTC


def test_a_name_that_means_something_to_git_is_a_name(class_folder, place):
    repository(place / "alice", path=f"assignments/{UNIT}/:(exclude)*.ipynb")
    collecting.collect(UNIT, place)
    assert when(class_folder, "alice") == IN_UTC


def test_what_git_is_told_around_it_leads_to_no_other_repository(class_folder, place, tmp_path, monkeypatch):
    repository(place / "alice")
    monkeypatch.setenv("GIT_DIR", str(repository(tmp_path / "other", at=LATER) / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    collecting.collect(UNIT, place)
    assert when(class_folder, "alice") == IN_UTC
