"""Whatever lies in a submission's place is read, or described in a sentence; it raises nothing."""

import io
import json
import os
import zipfile

import nbformat
import pytest
from conftest import ROOT, UNIT

from autograder.intake import notebook_file, places, submissions
from autograder.intake.timestamp import read_time

NOTEBOOK = (ROOT / "assignments" / UNIT / f"{UNIT}.ipynb").read_text(encoding="utf-8")


def hand_in(class_folder, content, student="student", name=f"{UNIT}.ipynb"):
    file = class_folder / "submitted" / student / UNIT / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return submissions.find(student, UNIT)


def zipped(*members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (NOTEBOOK[:3000].encode(), "cut off"),
        (b"some \x81\x8d words", "UTF-8"),
        (b"some words", "not JSON"),
        (b"[]", "no notebook"),
        (b"{}", "no notebook"),
        (b"3", "no notebook"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "cells": 3, "metadata": {}}', "no notebook"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_notebook_gets_a_sentence(class_folder, content, said):
    notebook, fault, _ = notebook_file.parse(hand_in(class_folder, content).data)
    assert notebook is None and said in fault
    assert "hand that in" in fault


def test_what_editors_write_is_read(class_folder):
    data = json.loads(NOTEBOOK)
    for cell in data["cells"]:
        cell["source"] = [cell["source"]] if isinstance(cell["source"], str) else cell["source"]
        cell["metadata"] = {**cell["metadata"], "id": "colab", "executionInfo": {"status": "ok", "user": {}}}
        cell["id"] = "same"
    data["metadata"] = {"colab": {"provenance": []}, "kernelspec": {"name": "julia", "display_name": "Julia"}}
    found = hand_in(class_folder, b"\xef\xbb\xbf" + json.dumps(data).encode())
    notebook, _, notes = notebook_file.parse(found.data)
    assert notebook is not None and notebook.metadata.kernelspec.name == "python3"
    assert notes == ["The notebook asked for the kernel 'julia'; it was run with the course's Python."]


@pytest.mark.parametrize(("encoding", "said"), [("utf-16", "UTF-16"), ("cp1252", "not in UTF-8")])
def test_a_notebook_in_another_encoding_is_read_and_told(class_folder, encoding, said):
    text = NOTEBOOK.encode("ascii", "ignore").decode().replace("YOUR ANSWER HERE", "Größe")
    notebook, _, notes = notebook_file.parse(hand_in(class_folder, text.encode(encoding)).data)
    assert any("Größe" in cell.source for cell in notebook.cells) and said in notes[0]


def test_huge_outputs_are_dropped_and_told(class_folder):
    data = json.loads(NOTEBOOK)
    huge = {"output_type": "stream", "name": "stdout", "text": ["x" * 1000] * 8000}
    next(cell for cell in data["cells"] if cell["cell_type"] == "code")["outputs"] = [huge]
    notebook, _, notes = notebook_file.parse(hand_in(class_folder, json.dumps(data).encode()).data)
    assert all(not cell.get("outputs") for cell in notebook.cells) and "were dropped" in notes[0]


def test_an_older_format_is_read(class_folder):
    old = nbformat.v3.new_notebook(
        worksheets=[nbformat.v3.new_worksheet(cells=[nbformat.v3.new_code_cell(input="x = 1")])]
    )
    notebook, _, _ = notebook_file.parse(hand_in(class_folder, json.dumps(old).encode()).data)
    assert [cell.source for cell in notebook.cells] == ["x = 1"]


def test_a_missing_notebook_is_told_with_what_is_there_instead(class_folder):
    assert "No notebook" in submissions.find("student", UNIT).missing
    assert "essay.pdf, which is no notebook" in hand_in(class_folder, b"%PDF", name="essay.pdf").missing


@pytest.mark.parametrize(
    "name", ["Kopie von 04.ipynb", f"{UNIT} (1).ipynb", f"{UNIT}/{UNIT}.ipynb", f"a/b/{UNIT}.IPYNB", "untitled.ipynb"]
)
def test_a_renamed_or_nested_notebook_is_found_and_told(class_folder, name):
    found = hand_in(class_folder, NOTEBOOK.encode(), name=name)
    assert found.data == NOTEBOOK.encode() and name in found.notes[0]


def test_of_several_notebooks_the_one_of_the_unit_is_taken(class_folder):
    hand_in(class_folder, b"{}", name="01_other.ipynb")
    found = hand_in(class_folder, NOTEBOOK.encode(), name="my 04_attention_layer final.ipynb")
    assert found.data == NOTEBOOK.encode() and "01_other.ipynb" in found.notes[1]


def test_a_zip_is_read_in_memory_and_nothing_is_unpacked(class_folder, tmp_path):
    data = zipped((f"x/{UNIT}.ipynb", NOTEBOOK), ("../../../../slipped.ipynb", "{}"), ("/tmp/slipped.ipynb", "{}"))
    found = hand_in(class_folder, data, name="work.zip")
    assert found.data == NOTEBOOK.encode() and "inside work.zip" in found.notes[0]
    assert not list(tmp_path.rglob("slipped*"))


@pytest.mark.parametrize("data", [b"PK\x03\x04 broken", zipped(("readme.txt", "none"))])
def test_a_zip_without_a_notebook_is_told(class_folder, data):
    found = hand_in(class_folder, data, name="work.zip")
    assert found.data is None and "work.zip" in found.missing + found.malformed


def test_a_zip_bomb_is_not_read(class_folder, monkeypatch):
    monkeypatch.setattr(places, "MAX_BYTES", 10_000)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{UNIT}.ipynb", " " * 1_000_000)
    assert hand_in(class_folder, buffer.getvalue(), name="work.zip").data is None


@pytest.mark.parametrize("where", ["file", "unit", "student"])
def test_links_are_not_followed(class_folder, tmp_path, where):
    other = tmp_path / "other" / UNIT
    other.mkdir(parents=True)
    (other / f"{UNIT}.ipynb").write_text(NOTEBOOK)
    student = class_folder / "submitted" / "student"
    if where == "student":
        student.parent.mkdir(parents=True)
        student.symlink_to(other.parent)
    elif where == "unit":
        student.mkdir(parents=True)
        (student / UNIT).symlink_to(other)
    else:
        (student / UNIT).mkdir(parents=True)
        (student / UNIT / f"{UNIT}.ipynb").symlink_to(other / f"{UNIT}.ipynb")
    found = submissions.find("student", UNIT)
    assert found.data is None and found.missing


def test_a_pipe_in_the_place_of_a_notebook_stops_nothing(class_folder):
    place = class_folder / "submitted" / "student" / UNIT
    place.mkdir(parents=True)
    os.mkfifo(place / f"{UNIT}.ipynb")
    assert submissions.find("student", UNIT).missing


def test_extra_files_are_told_and_only_listed_ones_travel(class_folder, monkeypatch):
    from autograder import settings

    monkeypatch.setitem(settings.table(), "extra_files", ["helper*.py"])
    for name in ("helpers.py", "numpy.py"):
        hand_in(class_folder, b"x = 1", name=name)
    found = hand_in(class_folder, NOTEBOOK.encode())
    assert list(found.files) == ["helpers.py"]
    assert found.notes == ("numpy.py lay beside the notebook and was left out.",)


def test_a_change_to_a_submission_changes_its_digest(class_folder):
    first = hand_in(class_folder, NOTEBOOK.encode()).digest
    assert hand_in(class_folder, NOTEBOOK.encode()).digest == first
    assert hand_in(class_folder, NOTEBOOK.encode() + b" ").digest != first


def cells(**odd) -> bytes:
    """A notebook of one good cell and one that is odd in the way asked."""
    good = {"cell_type": "code", "source": "x = 1", "metadata": {}, "outputs": [], "execution_count": None}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [good, {**good, **odd}]}).encode()


@pytest.mark.parametrize(
    "content",
    [
        cells(metadata=[]),
        cells(metadata={"nbgrader": {"grade_id": ["a"]}}),
        cells(metadata={"nbgrader": 3, "tags": "one"}),
        cells(outputs="none"),
        cells(cell_type="markdown", attachments={"a": "b"}),
        cells(source=["x", 3]),
        cells(source=None),
        cells(id=7),
        cells().replace(b'"metadata": {}, "cells"', b'"metadata": null, "cells"'),
        cells().replace(b'"nbformat": 4, ', b""),
        cells().replace(b'"nbformat": 4', b'"nbformat": "4"'),
        cells() + b" and some junk",
        cells() + b"\0\0\0",
        cells().decode().encode("utf-16-le"),
        cells(source="caf\xe9 \x81").decode().replace("\\u00e9", "\xe9").encode("latin-1"),
        b'{"cells": [{"cell_type": "code", "source": "x = 1"}, 3, {}, "text"]}',
    ],
)
def test_a_notebook_whose_parts_are_odd_is_read(content):
    notebook, fault, _ = notebook_file.parse(content)
    assert notebook is not None, fault
    assert notebook.cells[0].source == "x = 1"
    nbformat.writes(notebook)


def test_halves_of_characters_are_replaced():
    notebook, _, _ = notebook_file.parse(cells(source="print('\ud83d') # \ud83d\ude00"))
    assert notebook.cells[1].source == "print('?') # \U0001f600"


def test_cells_that_nobody_wrote_by_hand_are_left_out_and_told():
    notebook, _, notes = notebook_file.parse(cells(source="a = 1\n" * 100_000))
    assert len(notebook.cells) == 1 and "1 of 2 cells were left out" in notes[0]


@pytest.mark.parametrize("name", [f"{UNIT}.ipynb.json", f"{UNIT}.ipynb.txt", "04-mine.IPYNB"])
def test_a_notebook_with_another_ending_is_found(class_folder, name):
    found = hand_in(class_folder, NOTEBOOK.encode(), name=name)
    assert found.data == NOTEBOOK.encode() and name in found.notes[0]


def test_a_notebook_that_is_an_archive_is_opened(class_folder):
    assert hand_in(class_folder, zipped((f"{UNIT}.ipynb", NOTEBOOK))).data == NOTEBOOK.encode()
    assert "cannot be read" in hand_in(class_folder, b"PK\x03\x04 damaged").malformed


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_told(class_folder, method):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(f"{UNIT}.ipynb", NOTEBOOK * 3)
    data = bytearray(buffer.getvalue())
    start = data.index(b".ipynb") + 20
    data[start : start + 40] = b"\xff" * 40
    assert "cannot be read" in hand_in(class_folder, bytes(data), name="work.zip").malformed


def test_folders_and_places_that_are_a_little_wrong_are_found(class_folder):
    home = class_folder / "submitted"
    for student, place in {"a": UNIT.title(), "b": ".", "c": f"{UNIT}/1/2/3/4"}.items():
        (home / student / place).mkdir(parents=True)
        (home / student / place / f"{UNIT}.ipynb").write_text(NOTEBOOK)
        assert submissions.find(student, UNIT).data == NOTEBOOK.encode(), place


def test_many_other_files_do_not_hide_the_notebook(class_folder):
    for number in range(600):
        hand_in(class_folder, b"x", name=f"{number}.png")
    assert hand_in(class_folder, NOTEBOOK.encode()).data == NOTEBOOK.encode()


def test_of_two_notebooks_the_one_with_work_is_taken(class_folder):
    hand_in(class_folder, NOTEBOOK.encode(), name=f"1/{UNIT}.ipynb")
    worked = NOTEBOOK.replace("raise NotImplementedError()", "return 1").encode()
    assert hand_in(class_folder, worked, name=f"2/{UNIT}.ipynb").data == worked


def test_a_link_in_the_notebooks_place_is_told(class_folder):
    hand_in(class_folder, NOTEBOOK.encode(), "other")
    place = class_folder / "submitted" / "linked" / UNIT
    place.mkdir(parents=True)
    (place / f"{UNIT}.ipynb").symlink_to(class_folder / "submitted" / "other" / UNIT / f"{UNIT}.ipynb")
    found = submissions.find("linked", UNIT)
    assert found.data is None and "symbolic link" in found.missing


@pytest.mark.parametrize("text", [b"", b"soon", b"\xff\xfe", b"9999-12-31 23:59:59 -1400", b"x" * 10_000_000])
def test_a_time_of_hand_in_that_cannot_be_read_is_none(class_folder, text):
    hand_in(class_folder, NOTEBOOK.encode())
    hand_in(class_folder, text, name="timestamp.txt")
    assert submissions.hand_in_time("student", UNIT).at is None


def test_when_a_submission_was_handed_in_is_read_once_and_travels_with_it(class_folder, monkeypatch):
    hand_in(class_folder, NOTEBOOK.encode())
    hand_in(class_folder, b"2026-02-03 04:05:06 UTC\n", name="timestamp.txt")
    read = []
    monkeypatch.setattr(submissions, "read_time", lambda path: read.append(path) or read_time(path))
    found = submissions.find("student", UNIT)
    assert found.handed_in.at.hour == 4 and found.handed_in.text == "2026-02-03 04:05:06 UTC\n"
    assert read == [class_folder / "submitted" / "student" / UNIT / "timestamp.txt"]
    (class_folder / "submitted" / "student" / UNIT / f"{UNIT}.ipynb").unlink()
    nothing = submissions.find("student", UNIT)
    assert nothing.missing and nothing.handed_in == found.handed_in


def test_a_time_of_hand_in_is_read_and_neither_links_nor_pipes_are(class_folder):
    hand_in(class_folder, NOTEBOOK.encode())
    hand_in(class_folder, b"2026-02-03 04:05:06 UTC\n", name="timestamp.txt")
    assert submissions.hand_in_time("student", UNIT).at.hour == 4
    file = class_folder / "submitted" / "student" / UNIT / "timestamp.txt"
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")
    assert submissions.hand_in_time("student", UNIT)[:2] == (None, "")
    file.unlink()
    os.mkfifo(file)
    assert submissions.hand_in_time("student", UNIT)[:2] == (None, "")
