"""What is no notebook is named as what it is, with what to do; it is never called damaged."""

import io
import json
import zipfile

import pytest
from conftest import ROOT, UNIT

from autograder.intake import notebook_file, submissions

NOTEBOOK = (ROOT / "assignments" / UNIT / f"{UNIT}.ipynb").read_text(encoding="utf-8")
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 40590\n"
GDOC = b'{"url": "https://docs.google.com/open?id=1xYz", "doc_id": "1xYz", "email": "someone@example.org"}'
KINDS = {  # what was handed in, what it is called, what is advised
    "nothing": (b"", "an empty file (0 bytes)", "save the notebook"),
    "zeros": (b"\0" * 4096, "nothing but zeros", "save the notebook"),
    "a page": (b"\n<!DOCTYPE html>\n<html lang='en'><body>Log in</body></html>", "a saved web page (HTML)", "download"),
    "a page of Chrome's": (b"From: <Saved by Blink>\nSubject: 04", "a saved web page", "download"),
    "a PDF": (b"%PDF-1.7\n%\xe2\xe3", "a PDF", "hand in the notebook itself"),
    "an LFS pointer": (LFS, "a Git LFS pointer", "git lfs pull"),
    "a Google document": (GDOC, "a shortcut of Google Drive", ".ipynb"),
    "a shortcut": (
        b"[InternetShortcut]\nURL=https://colab.research.google.com",
        "a shortcut to a web page",
        "download",
    ),
    "a picture": (b"\x89PNG\r\n\x1a\n\x81\x8d", "a picture (PNG)", "hand in the notebook"),
    "a photo": (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a picture (JPEG)", "hand in the notebook"),
    "a script": (
        b"# %%\nimport torch\n\ndef f(x):\n    return x\n",
        "a Python script",
        "hand in the notebook (.ipynb)",
    ),
    "an old Word file": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office document", "hand in the notebook"),
    "a 7z archive": (b"7z\xbc\xaf\x27\x1c\0\4", "a 7z archive", "a zip file"),
    "a tar archive": (b"\x1f\x8b\x08\0\0\0", "a gzip archive", "a zip file"),
    "an iCloud placeholder": (
        b"bplist00\xd3\x01",
        "a placeholder of a file that is in iCloud",
        "download the notebook",
    ),
}


def hand_in(class_folder, content: bytes, name=f"{UNIT}.ipynb") -> submissions.Submission:
    file = class_folder / "submitted" / "ada" / UNIT / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return submissions.find("ada", UNIT)


def docx() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<w:document/>")
    return made.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_under_a_notebooks_name_it_is_named_with_what_to_do(class_folder, kind):
    content, what, advice = KINDS[kind]
    notebook, fault, _ = notebook_file.parse(hand_in(class_folder, content).data)
    assert notebook is None and what in fault and advice in fault.replace("\n", " ")
    assert "damaged" not in fault and "cut off" not in fault


@pytest.mark.parametrize("name", ["work.pdf", "answer", "photo.heic"])
@pytest.mark.parametrize("kind", KINDS)
def test_under_another_name_it_is_named_too(class_folder, kind, name):
    content, what, advice = KINDS[kind]
    said = hand_in(class_folder, content, name).missing
    assert name in said and what in said and advice in said


def test_an_office_document_is_no_archive(class_folder):
    for name in (f"{UNIT}.ipynb", "work.docx", "work.zip"):
        found = hand_in(class_folder, docx(), name)
        assert "an Office document" in found.missing and found.data is None


def test_a_file_that_was_never_fetched_from_icloud_is_told(class_folder):
    said = hand_in(class_folder, b"bplist00\xd3", f".{UNIT}.ipynb.icloud").missing
    assert "iCloud" in said and "download" in said


@pytest.mark.parametrize(
    "content", [NOTEBOOK.encode(), NOTEBOOK.encode("utf-16"), b'{"cells": []}', b'{"cells": [{"ce']
)
def test_a_notebook_is_none_of_these(content):
    from autograder.intake.file_kinds import kind

    assert kind(content) == ("", "")


def conflict(ours: str, theirs: str, base: str = "") -> bytes:
    """The assignment whose line with "STUB 1" is in conflict."""
    marked = json.dumps(json.loads(NOTEBOOK), indent=1).split("\n")
    at = next(number for number, line in enumerate(marked) if "raise NotImplementedError" in line)
    old = [*base.split("\n")] if base else []
    lines = [
        "<<<<<<< HEAD",
        *ours.split("\n"),
        *(["||||||| base", *old] if old else []),
        "=======",
        *theirs.split("\n"),
    ]
    return "\n".join([*marked[:at], *lines, ">>>>>>> feature/attention", *marked[at + 1 :]]).encode()


def test_a_merge_conflict_in_a_cell_is_told_with_its_line(class_folder):
    content = conflict('    "    return X @ q"', '    "    return (X * q).sum(-1)"')
    line = content.decode().split("\n").index("<<<<<<< HEAD") + 1
    notebook, fault, _ = notebook_file.parse(hand_in(class_folder, content).data)
    assert notebook is None and f"a Git merge conflict: <<<<<<< HEAD in line {line}." in fault
    assert "choose one side" in fault and "damaged" not in fault


@pytest.mark.parametrize("base", ["", '    "    return 0"'])
def test_a_merge_conflict_outside_of_the_cells_texts_costs_nothing(base):
    data = json.loads(NOTEBOOK)
    next(cell for cell in data["cells"] if cell["cell_type"] == "code")["execution_count"] = 77
    text = json.dumps(data, indent=1)
    old = '||||||| 1a2b3c\n   "execution_count": null,\n' if base else ""
    sides = f'<<<<<<< HEAD\n   "execution_count": 7,\n{old}=======\n   "execution_count": 12,\n>>>>>>> theirs\n'
    text = text.replace('   "execution_count": 77,\n', sides)
    assert "<<<<<<<" in text
    notebook, fault, notes = notebook_file.parse(text.encode())
    assert not fault and "merge conflict" in notes[0]
    assert [cell.source for cell in notebook.cells] == ["".join(cell["source"]) for cell in data["cells"]]


def test_markers_in_a_students_text_are_no_conflict():
    data = json.loads(NOTEBOOK)
    data["cells"][0]["source"] = "<<<<<<< HEAD\n=======\n>>>>>>> theirs"
    notebook, fault, notes = notebook_file.parse(json.dumps(data).encode())
    assert notebook is not None and not fault and not notes
