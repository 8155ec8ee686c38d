"""Whatever lies in a submission's place is read, or described in a sentence; it raises nothing."""

import json

import nbformat
import pytest
from conftest import ROOT, UNIT

from autograder import submissions

NOTEBOOK = (ROOT / "assignments" / UNIT / f"{UNIT}.ipynb").read_text(encoding="utf-8")


def hand_in(class_folder, content, student="student"):
    place = class_folder / "submitted" / student / UNIT
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{UNIT}.ipynb").write_bytes(content)
    return submissions.read(student, UNIT)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (NOTEBOOK[:3000].encode(), "cut off"),
        (b"\xff\xfe" + NOTEBOOK.encode("utf-16-le"), "UTF-8"),
        (b"PK\x03\x04 a zip", "not JSON"),
        (b"<html></html>", "not JSON"),
        (b"[]", "no notebook"),
        (b"{}", "no notebook"),
        (b"3", "no notebook"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "cells": 3, "metadata": {}}', "no notebook"),
        (b'{"nbformat": 99, "nbformat_minor": 0, "cells": [], "metadata": {}}', "no notebook"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "cells": [{"cell_type": "code"}], "metadata": {}}', "no notebook"),
        (b"[" * 100_000, "n"),
    ],
)
def test_what_is_no_notebook_gets_a_sentence(class_folder, content, said):
    read = hand_in(class_folder, content)
    assert read.notebook is None and said in read.malformed
    assert "hand that in" in read.malformed


def test_what_editors_write_is_read(class_folder):
    data = json.loads(NOTEBOOK)
    for cell in data["cells"]:
        cell["source"] = [cell["source"]] if isinstance(cell["source"], str) else cell["source"]
        cell["metadata"] = {**cell["metadata"], "id": "colab", "executionInfo": {"status": "ok", "user": {}}}
        cell["id"] = "same"
    data["metadata"] = {"colab": {"provenance": []}, "kernelspec": {"name": "julia", "display_name": "Julia"}}
    read = hand_in(class_folder, b"\xef\xbb\xbf" + json.dumps(data).encode())
    assert read.notebook is not None and read.notebook.metadata.kernelspec.name == "python3"


def test_an_older_format_is_read(class_folder):
    old = nbformat.v3.new_notebook(
        worksheets=[nbformat.v3.new_worksheet(cells=[nbformat.v3.new_code_cell(input="x = 1")])]
    )
    read = hand_in(class_folder, json.dumps(old).encode())
    assert [cell.source for cell in read.notebook.cells] == ["x = 1"]


def test_a_missing_notebook_is_told_with_what_is_there_instead(class_folder):
    place = class_folder / "submitted" / "student" / UNIT
    place.mkdir(parents=True)
    assert "No notebook" in submissions.read("student", UNIT).missing
    (place / "Kopie von 04.ipynb").write_text(NOTEBOOK)
    assert "Kopie von 04.ipynb" in submissions.read("student", UNIT).missing


def test_links_are_not_followed(class_folder, tmp_path):
    (tmp_path / "other.ipynb").write_text(NOTEBOOK)
    place = class_folder / "submitted" / "student" / UNIT
    place.mkdir(parents=True)
    (place / f"{UNIT}.ipynb").symlink_to(tmp_path / "other.ipynb")
    assert submissions.read("student", UNIT).missing


def test_the_roster_counts_as_well_as_the_folders(class_folder):
    hand_in(class_folder, NOTEBOOK.encode(), "handed-in")
    assert submissions.students(UNIT, ["on-the-roster"]) == ["handed-in", "on-the-roster"]
