"""Tells by its bytes what a file is that is no notebook, and what its student can do about it."""

import ast
import re

from autograder.intake.guard import guarded

READ = 100_000  # bytes that are looked at
_BLANK = b"\0 \t\r\n\xef\xbb\xbf\xff\xfe"
_PYTHON = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)

_MAGIC = (  # the bytes with which a file begins, what it is, and what to do; the first entry that fits counts
    (b"%PDF-", "a PDF", "hand in the notebook itself, not a printout of it"),
    (
        b"version https://git-lfs.github.com",
        "a Git LFS pointer, not the file that it stands for",
        "run `git lfs pull` and hand in the notebook that it fetches",
    ),
    (b"bplist", "a placeholder of a file that is in iCloud alone", "download the notebook in Finder, then hand it in"),
    (b"[InternetShortcut]", "a shortcut to a web page", "download the notebook itself (.ipynb) from there"),
    (b"\x89PNG", "a picture (PNG)", "hand in the notebook, not a picture of it"),
    (b"\xff\xd8\xff", "a picture (JPEG)", "hand in the notebook, not a picture of it"),
    (b"GIF8", "a picture (GIF)", "hand in the notebook, not a picture of it"),
    (b"\xd0\xcf\x11\xe0", "an Office document", "hand in the notebook (.ipynb), not a copy of its text"),
    (b"{\\rtf", "an RTF document", "hand in the notebook (.ipynb), not a copy of its text"),
    (b"Rar!", "a RAR archive, which is not opened", "hand in the notebook, or a zip file"),
    (b"7z\xbc\xaf", "a 7z archive, which is not opened", "hand in the notebook, or a zip file"),
    (b"\x1f\x8b", "a gzip archive, which is not opened", "hand in the notebook, or a zip file"),
    (b"\xfd7zXZ", "an xz archive, which is not opened", "hand in the notebook, or a zip file"),
    (b"BZh", "a bzip2 archive, which is not opened", "hand in the notebook, or a zip file"),
)
_OFFICE = (b"[Content_Types].xml", b"mimetypeapplication/vnd.oasis")
_WEB = re.compile(rb"<(!doctype\s+html|html|head|body)\b|From: <Saved by", re.IGNORECASE)
_GOOGLE = re.compile(rb'"(doc_id|url)"\s*:\s*"[^"]*', re.IGNORECASE)


@guarded(lambda *_: ("", ""))
def kind(data: bytes) -> tuple[str, str]:
    """What a file is and what to do instead, in words; both empty for a file that may be a notebook or is of no known kind.

    Args:
        data: the file's bytes, or as many of its first as there are at hand.
    """
    data = data[:READ]
    start = data.lstrip(_BLANK)
    if not start:
        what = "a file of nothing but zeros or blanks" if data else "an empty file (0 bytes)"
        return what, "its upload broke off, or it was never saved; save the notebook and hand it in again"
    for magic, what, advice in _MAGIC:
        if data.startswith(magic) or start.startswith(magic):
            return what, advice
    if data.startswith(b"PK") and any(mark in data for mark in _OFFICE):
        return "an Office document", "hand in the notebook (.ipynb), not a copy of its text"
    if data[:4] == b"PK\x03\x04":
        return "an archive without a notebook", "hand in the notebook (.ipynb)"
    if _WEB.match(start) or start.startswith(b"<?xml") and b"<html" in start.lower():
        return "a saved web page (HTML)", "download the notebook itself (.ipynb), not the page that shows it"
    if start.startswith(b"{") and b"google.com" in start[:2000] and _GOOGLE.search(start) and b'"cells"' not in data:
        return (
            "a shortcut of Google Drive, which holds no more than an address",
            "open it, choose File > Download > .ipynb, and hand that in",
        )
    if _is_python(data):
        return "a Python script", "hand in the notebook (.ipynb), not its code alone"
    return "", ""


@guarded(lambda *_: False)
def _is_python(data: bytes) -> bool:
    """Whether a text is Python that defines or imports something; what was cut off at the end is left out."""
    text = data.decode("utf-8-sig", "strict" if len(data) < READ else "ignore")
    if text.lstrip()[:1] in ("{", "["):
        return False
    while len(data) == READ and text and not text.endswith("\n"):
        text = text[:-1]
    return any(isinstance(statement, _PYTHON) for statement in ast.parse(text).body)
