"""Reads a notebook from the bytes that were handed in, in whatever state they are."""

import json
import re
import warnings
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.intake import file_kinds, merge_conflict
from autograder.intake.guard import guarded, reason

# The most characters of a cell, the most cells of a notebook, and the most characters of all its cells.
MAX_CELL, MAX_CELLS, MAX_SOURCE = 100_000, 2000, 1_000_000
# The most values of a notebook's JSON: reading a million takes a second and a hundred megabytes.
MAX_VALUES = 3_000_000
# A notebook with more cells than this, or with more lists and mappings in them, their outputs aside, is not read: each
# becomes an object of a kilobyte. Long notebooks have 200 cells of about five; nobody writes a fiftieth of either.
MOST_CELLS, MOST_OBJECTS = 10_000, 200_000
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_VERSION = re.compile(r"3\.\d{1,3}(?:\.\w{1,9})?", re.ASCII)
_KINDS = ("code", "markdown", "raw")


_FAULTS = (  # what reading a file raises, and a sentence on it; the first that fits counts
    (UnicodeDecodeError, "The notebook is not text in UTF-8: it was damaged, or saved as something else."),
    (RecursionError, "The notebook is nested too deeply to be read: it was damaged."),
    (
        json.JSONDecodeError,
        "The notebook is not JSON: it was cut off or damaged, perhaps by an upload that broke off.",
    ),
    ((MemoryError, OverflowError), "The notebook holds more values than can be read, most of them in its outputs."),
)


class TooMuch(ValueError):
    """A notebook holds more than anybody writes; the message is a sentence on what."""


def _fault(error: BaseException, data: bytes) -> tuple[None, str, list[str]]:
    """A sentence on why a file cannot be read, from whatever nbformat and json raise.

    Where the file is of a known other kind, the sentence names that kind instead.
    """
    if isinstance(error, (merge_conflict.Conflicted, TooMuch)):
        return None, str(error), []
    kind_name, advice = file_kinds.kind(data)
    if kind_name:
        return None, f"What was handed in is {kind_name}, no notebook: {advice}.", []
    other = f"The file is no notebook that can be read ({reason(error)})."
    sentence = next((sentence for kind, sentence in _FAULTS if isinstance(error, kind)), other)
    return None, f"{sentence} Open it in JupyterLab, save it again and hand that in.", []


@guarded(_fault)
def parse(data: bytes) -> tuple[nbformat.NotebookNode | None, str, list[str]]:
    """A notebook from its bytes, or a sentence on why they are no notebook; and sentences on what had to be put right.

    Every fault of the file becomes a sentence, never an exception.
    """
    if sum(map(data.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise MemoryError("too many values")
    notes: list[str] = []
    notebook = _load_json(_decode(data, notes), notes)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells", notebook.get("worksheets")), list):
        raise TypeError("no list of cells")
    _keep_what_is_read(notebook, notes)
    return _sound(_mended(notebook), notes), "", notes


def _keep_what_is_read(notebook: dict, notes: list[str]) -> None:
    """Leaves out what no later step reads, before an object is made of anything; counts what is left.

    Raises:
        TooMuch: there are more cells than anybody writes, or more in them.
    """
    cells = _cells_as_read(notebook)
    if len(cells) > MOST_CELLS:
        raise TooMuch(
            f"The notebook has {len(cells):,} cells, and more than {MOST_CELLS:,} are not read. Copy what you wrote into the"
            " assignment as it was handed out, and hand that in."
        )
    _drop_outputs(cells, notes)
    about = notebook.get("metadata")
    notebook["metadata"] = (
        {name: about[name] for name in ("kernelspec", "language_info") if name in about}
        if isinstance(about, dict)
        else {}
    )
    if _has_more_objects([cells, notebook["metadata"]], MOST_OBJECTS):
        raise TooMuch(
            "The notebook's cells hold more attachments or metadata than can be read. Copy what you wrote into the"
            " assignment as it was handed out, and hand that in."
        )


def _cells_as_read(notebook: dict) -> list[dict]:
    """The cells of a notebook, in the form of today or in that before 2015."""
    sheets = notebook.get("worksheets", [])
    lists = [notebook.get("cells"), *(sheet.get("cells") for sheet in sheets if isinstance(sheet, dict))]
    return [cell for cells in lists if isinstance(cells, list) for cell in cells if isinstance(cell, dict)]


def _has_more_objects(values: list, most: int) -> bool:
    """Whether there are more lists and mappings than so many within one another."""
    level, count = values, len(values)
    while level and count <= most:
        inner = (held for value in level for held in (value.values() if isinstance(value, dict) else value))
        level = [value for value in inner if isinstance(value, (list, dict))]
        count += len(level)
    return count > most


def _decode(data: bytes, notes: list[str]) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[:2] in (b"{\0", b"\0{"):
        kind = "utf-16" if data[:1] in (b"\xff", b"\xfe") else "utf-16-le" if data[:1] == b"{" else "utf-16-be"
        notes.append("The notebook was saved as UTF-16; it was read as such.")
        return data.decode(kind)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        if not data.lstrip().startswith(b"{"):
            raise
        notes.append("The notebook was not in UTF-8; it was read as Windows text, and some characters may be wrong.")
        return data.decode("cp1252", "replace")


def _load_json(text: str, notes: list[str]) -> Any:
    """The JSON value at the beginning of a text; zero bytes and whatever follows it are left out, half characters become "?"."""
    try:
        content, _ = json.JSONDecoder().raw_decode(text.replace("\0", "").lstrip())
    except json.JSONDecodeError:
        if (content := merge_conflict.agreed(text)) is None:
            raise
        notes.append("A Git merge conflict stood in the notebook's outputs or metadata alone; its cells were read.")
    if _HALF_CHARACTER.search(text):
        content = json.loads(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"))
    return content


def _mended(notebook: dict) -> nbformat.NotebookNode:
    """The notebook with parts of the types that later steps rely on."""
    if not isinstance(notebook.get("metadata"), dict):
        notebook["metadata"] = {}
    if "worksheets" in notebook:  # the form of notebooks before 2015, in which code has to have outputs
        for cell in _cells_as_read(notebook):
            if cell.get("cell_type") == "code":
                cell.setdefault("outputs", [])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            notebook = nbformat.reads(json.dumps(notebook), as_version=4)
    notebook["nbformat"], notebook["nbformat_minor"] = 4, 5
    notebook["cells"] = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    for cell in notebook["cells"]:
        cell.setdefault("cell_type", "code")
        cell.setdefault("source", "")
        if not isinstance(cell.get("metadata"), dict):
            cell["metadata"] = {}
        marks = cell["metadata"].get("nbgrader", {})
        if not isinstance(marks, dict) or not isinstance(marks.get("grade_id", ""), str):
            del cell["metadata"]["nbgrader"]
        if not isinstance(cell["metadata"].get("tags", []), list):
            del cell["metadata"]["tags"]
        attached = cell.get("attachments", {})
        if not isinstance(attached, dict) or not all(isinstance(attachment, dict) for attachment in attached.values()):
            del cell["attachments"]
    return nbformat.from_dict(notebook)


def _sound(notebook: NotebookNode, notes: list[str]) -> NotebookNode:
    """The notebook with each cell in the form, and of the size, that later steps rely on."""
    _drop_outputs(notebook.cells, notes)
    for cell in notebook.cells:
        source = "".join(map(str, cell.source)) if isinstance(cell.source, list) else str(cell.source)
        cell.source = source.replace("\r\n", "\n")
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    _drop_excess_cells(notebook, notes)
    kernel = notebook.metadata.get("kernelspec", {})
    language = kernel.get("language") or kernel.get("name") if isinstance(kernel, dict) else None
    if isinstance(language, str) and language and "python" not in language.lower() and kernel.get("name") != "python3":
        notes.append(f"The notebook asked for the kernel {language[:40]!r}; it was run with the course's Python.")
    kept = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}}
    language_info = notebook.metadata.get("language_info", {})
    if isinstance(language_info, dict) and _VERSION.fullmatch(str(language_info.get("version"))):
        kept["language_info"] = {"name": "python", "version": language_info["version"]}
    notebook.metadata = nbformat.from_dict(kept)
    return notebook


def _drop_outputs(cells: list, notes: list[str]) -> None:
    """Leaves outputs out of the cells before any other step works through them."""
    size = sum(_length(cell.pop("outputs")) for cell in cells if isinstance(cell, dict) and cell.get("outputs"))
    if size > 5_000_000:
        notes.append(
            f"The outputs of the notebook took {size // 1_000_000} MB; they were dropped, as outputs are made anew."
        )


def _length(outputs: object) -> int:
    """The length of outputs as text, of which no more than one is made at a time."""
    return sum(len(repr(output)) + 2 for output in outputs) if isinstance(outputs, list) else len(str(outputs))


def _drop_excess_cells(notebook: NotebookNode, notes: list[str]) -> None:
    """Leaves out cells of a size that nobody writes by hand: they would hold up whoever reads them."""
    kept, total = [], 0
    for cell in notebook.cells:
        if cell.cell_type in _KINDS and len(cell.source) <= MAX_CELL and total + len(cell.source) <= MAX_SOURCE:
            kept.append(cell)
            total += len(cell.source)
    kept = kept[:MAX_CELLS]
    if len(kept) < len(notebook.cells):
        notes.append(
            f"{len(notebook.cells) - len(kept)} of {len(notebook.cells)} cells were left out: of no known kind, longer than"
            f" {MAX_CELL // 1000} kB, or beyond {MAX_CELLS} cells or {MAX_SOURCE // 1000} kB in all."
        )
    notebook.cells = kept
