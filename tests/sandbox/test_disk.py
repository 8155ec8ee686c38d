"""What a job has on disk is measured and removed, however deep its folders are."""

import os
from contextlib import chdir

import pytest

from autograder.sandbox.inside import disk

DEEP = 5000


@pytest.fixture
def deep(tmp_path):
    with chdir(tmp_path):
        for _ in range(DEEP):
            os.mkdir("d")
            os.chdir("d")
        with open("file", "wb") as file:
            file.write(bytes(1 << 20))
    yield tmp_path
    disk.remove(tmp_path)


def test_a_file_below_thousands_of_folders_is_counted(deep):
    assert 1 << 20 <= disk.used(deep, os.getpid()) < (1 << 20) + DEEP * 8192


def test_folders_within_each_other_are_removed(deep):
    disk.remove(deep)
    assert not deep.exists()


def test_what_is_deleted_and_still_open_is_counted(tmp_path):
    before = disk.used(tmp_path, os.getpid())
    with open(tmp_path / "file", "wb") as file:
        file.write(bytes(1 << 20))
        os.unlink(tmp_path / "file")
        file.flush()
        assert disk.used(tmp_path, os.getpid()) >= before + (1 << 20)


def test_what_cannot_be_seen_counts_as_too_much(tmp_path, monkeypatch):
    """A folder that nobody may read; for root, who may read all, a folder whose opening fails."""

    def refused(*args, **options):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "closed").mkdir()
    monkeypatch.setattr(os, "open", refused)
    assert disk.used(tmp_path, os.getpid()) == float("inf")
