"""Each reader of a submission is fed what nobody has listed: it answers, in its own form, and raises nothing."""

import io
import json
import struct
import time
import zipfile
from datetime import datetime
from functools import cache, partial

import nbformat
import pytest
from conftest import UNIT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.intake import archive, marked_cells, notebook_file, student_code, submissions, timestamp
from autograder.intake.repair import repair

anything = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A class folder that all examples of this file share: the unit's folder of its one student."""
    with pytest.MonkeyPatch.context() as patched:
        folder = tmp_path_factory.mktemp("hostile") / "class"
        patched.setenv("COURSE_CLASS", str(folder))
        home = folder / "submitted" / "student" / UNIT
        home.mkdir(parents=True)
        yield home


def found(place, name: str, content: bytes) -> submissions.Submission:
    """What is found of a submission of one file, of the form that later steps rely on; it came in reasonable time."""
    (place / name).write_bytes(content)
    started = time.process_time()
    try:
        one = submissions.find("student", UNIT)
    finally:
        (place / name).unlink()
    assert time.process_time() - started < 5
    assert (one.data is None) == bool(one.missing or one.malformed)
    for sentence in (one.missing, one.malformed, *one.notes):
        sentence.encode()
        assert sentence.isprintable() and len(sentence) < 1000
    assert len(one.digest) == 64
    return one


# --- times


TIMES = st.one_of(
    st.binary(max_size=120),
    st.text(max_size=120).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.from_regex(rb"\A[0-9]{1,40}[-:/ ][0-9]{1,40}[ T][0-9.:]{1,40} [-+./\w]{1,30}\Z"),
    st.builds("{} {}".format, st.datetimes(), st.text(st.sampled_from("ABCZutc0123456789+-/.~"), max_size=12)).map(
        str.encode
    ),
)


@anything
@given(TIMES)
def test_any_time(place, content):
    file = place / "timestamp.txt"
    file.write_bytes(content)
    at, text, said = timestamp.read_time(file)
    assert submissions.hand_in_time("student", UNIT)[:2] == (at, text)
    file.unlink()
    if at is None:
        assert (text, said) == ("", timestamp.UNREAD)
    else:
        assert isinstance(at, datetime) and at.tzinfo is None and text.encode() == content and not said


# --- archives


def zipped(*members, method=zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        for name, data in members:
            made.writestr(name, data)
    return buffer.getvalue()


@cache
def bomb(method: int) -> bytes:
    """An archive that is made when it is needed: packing so many blanks takes a second."""
    return zipped((NAME, b" " * 120_000_000), method=method)


def _list_of(count: int, claimed: int | None = None, size: int = 0) -> bytes:
    """An archive that is a list alone: so many notebooks of a claimed size, at no place."""
    name = f"{UNIT}.ipynb".encode()
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, size, size, len(name), *[0] * 6) + name
    end = struct.pack(
        "<4s4H2LH", b"PK\x05\x06", 0, 0, *[min(claimed or count, 65535)] * 2, len(entry) * count, 4 if count else 0, 0
    )
    return b"PK\x03\x04" + entry * count + end


def _with(data: bytes, at: bytes, offset: int, new: bytes) -> bytes:
    """The archive with some bytes changed behind the last place of `at`."""
    start = data.rindex(at) + offset
    return data[:start] + new + data[start + len(new) :]


NAME = f"{UNIT}.ipynb"
PLAIN = zipped((NAME, "{}"), method=zipfile.ZIP_STORED)
ARCHIVES = {
    "a bomb": partial(bomb, zipfile.ZIP_DEFLATED),
    "a bomb of another method": partial(bomb, zipfile.ZIP_BZIP2),
    "a third bomb": partial(bomb, zipfile.ZIP_LZMA),
    "a list too long": _list_of(200_000),
    "a list of nothing": _list_of(0),
    "an absurd count": _list_of(3, claimed=60_000),
    "a place beyond the file": _with(PLAIN, b"PK\x01\x02", 42, b"\xff\xff\xff\x7f"),
    "a huge size": _list_of(1, size=0xFFFFFFF0),
    "encrypted": _with(_with(PLAIN, b"PK\x01\x02", 8, b"\x01\x00"), b"PK\x03\x04", 6, b"\x01\x00"),
    "an unknown method": _with(PLAIN, b"PK\x01\x02", 10, b"\x63\x00"),
    "another sum": _with(PLAIN, b"PK\x01\x02", 16, b"\0\0\0\0"),
    "another name": _with(PLAIN, b"PK\x03\x04", 30, b"99"),
    "a negative list": _with(PLAIN, b"PK\x05\x06", 12, b"\xff\xff\xff\xff"),
    "no end": PLAIN[:-10],
    "a name that is none": zipped(("\n\r\x1b[31m\u202e.ipynb" + "x" * 3000 + ".ipynb", "{}")),
    "folders alone": zipped(*[(f"{'../' * depth}x.ipynb/", "") for depth in range(9)]),
}


@pytest.mark.parametrize("kind", ARCHIVES)
@pytest.mark.parametrize("name", ["work.zip", NAME])
def test_archives_of_every_kind(place, kind, name):
    archive = ARCHIVES[kind]
    one = found(place, name, archive() if callable(archive) else archive)
    assert one.data is None or (kind, one.data) == ("a name that is none", b"{}")


def test_of_two_notebooks_of_one_name_the_last_counts_and_hidden_ones_do_not(place):
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = zipped((NAME, b"[1]"), (NAME, b"[2]"), (f"__MACOSX/{NAME}", b"[3]"), (f"._{NAME}", b"[4]"))
    assert found(place, "work.zip", twice).data == b"[2]"
    assert found(place, "work.zip", zipped((f"__MACOSX/._{NAME}", b"[3]"))).missing


def test_an_archive_is_read_in_small_pieces(tmp_path):
    import resource

    file = tmp_path / "work.zip"
    file.write_bytes(ARCHIVES["a bomb of another method"]())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (one,) = archive.members(file, lambda path: (path,), archive.Budget(10**9), 1_000_000)
    assert one.data is None and "larger than" in one.fault
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"


@anything
@given(
    st.lists(st.tuples(st.integers(0, len(PLAIN) + 60), st.binary(min_size=1, max_size=4)), max_size=6), st.booleans()
)
def test_any_damage_to_an_archive(place, changes, packed):
    data = bytearray(zipped((NAME, '{"cells": []}' * 20)) if packed else PLAIN)
    for at, new in changes:
        data[at : at + len(new)] = new
    found(place, "work.zip", b"PK\x03\x04" + bytes(data)[4:])


# --- names of files


@anything
@given(st.text(min_size=1, max_size=60), st.sampled_from(["", ".ipynb", ".zip", ".ipynb.txt"]))
def test_any_name_of_a_file(place, text, ending):
    name = text.replace("/", "").replace("\0", "").encode("utf-8", "surrogateescape" if text.isascii() else "replace")
    name = (name.decode(errors="surrogateescape") + ending).strip(".") or "x"
    try:
        (place / name).touch()
    except (OSError, ValueError):
        return  # no student can have it either
    (place / name).unlink()
    found(place, name, b'{"cells": []}')


@pytest.mark.parametrize(
    "name", ["line\nbreak.ipynb", "\x1b[31mred.ipynb", "..x..ipynb", "-rf.ipynb", "\udcff.ipynb", "é" * 120]
)
def test_odd_names_are_printed_as_text(place, name):
    assert "\x1b" not in "".join(found(place, name, b"{}").notes)


# --- notebooks


def notebook(**parts) -> bytes:
    cell = {"cell_type": "code", "source": "x = 1", "metadata": {}, "outputs": [], "execution_count": None}
    return json.dumps({"cells": [cell, {**cell, **parts}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


RELEASED = [
    marked_cells.Released(
        "f",
        "code",
        "def f(x):\n    raise NotImplementedError()",
        {"grade": False, "grade_id": "f", "locked": False, "solution": True, "task": False, "cell_type": "code"},
    ),
    marked_cells.Released(
        "check_f",
        "code",
        "check(f)",
        {"grade": True, "grade_id": "check_f", "locked": True, "solution": False, "cell_type": "code", "points": 1.0},
    ),
]
NOTEBOOKS = {
    "a huge whole number": notebook(metadata={"x": 0}).replace(b'"x": 0', b'"x": ' + b"9" * 5000),
    "a huge exponent": notebook(metadata={"x": 0}).replace(b'"x": 0', b'"x": 1e999999999'),
    "not a number": notebook(metadata={"x": float("nan"), "y": float("inf")}),
    "keys twice": notebook().replace(b'"metadata": {}', b'"metadata": {"a": 1, "a": [], "a": {"a": {}}}'),
    "halves": notebook(source="\ud800", metadata={"\udfff": "\ud800"}, id="\ud800"),
    "nested metadata": notebook(metadata={"x": 0}).replace(b'"x": 0', b'"x": ' + b"[" * 900 + b"]" * 900),
    "more nested metadata": notebook(metadata={"x": 0}).replace(b'"x": 0', b'"x": ' + b'{"a":' * 90_000),
    "nested outputs": notebook(outputs=0).replace(b'"outputs": 0', b'"outputs": ' + b"[" * 400 + b"]" * 400),
    "too many values": notebook(outputs=[0]).replace(b"[0]", b"[" + b"{}," * 3_000_000 + b"0]"),
    "a number as a label": notebook(metadata={"nbgrader": {"grade_id": 5, "points": "many"}}),
    "a label of bytes": notebook(metadata={"nbgrader": {"grade_id": "f\0\n", "locked": {}}}),
    "a list as a type": notebook(cell_type=["code"]),
    "a number as a source": notebook(source=10**400),
    "lists in a source": notebook(source=[["a"], {"b": 1}, None, 1e308]),
    "no metadata": notebook(metadata=None),
    "an old version": b'{"worksheets": [{"cells": [{"cell_type": "code", "input": {"a": 1}, "metadata": 4}]}], "nbformat": 3}',
    "a version of the future": notebook().replace(b'"nbformat": 4', b'"nbformat": 1e400'),
    "attachments": notebook(cell_type="markdown", attachments={"a": {"image/png": 3}}),
    "a kernel": notebook().replace(
        b'"metadata": {}, "nbformat"', b'"metadata": {"kernelspec": {"name": [{}]}}, "nbformat"'
    ),
}
KEYS = st.sampled_from(
    "cells cell_type source metadata nbgrader grade_id locked tags id outputs attachments name".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | KEYS, inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    "cells cell_type source metadata nbgrader grade_id locked tags id outputs attachments name".split()
)


def read_and_repair(data: bytes) -> None:
    made, fault, notes = notebook_file.parse(data)
    assert (made is None) == bool(fault) and all(isinstance(note, str) for note in notes)
    if made is not None:
        repaired = repair(made, RELEASED)
        assert [marked_cells.label(cell) for cell in repaired.cells if marked_cells.label(cell)][-1:] == ["check_f"]
        nbformat.writes(repaired).encode()


@pytest.mark.parametrize("kind", NOTEBOOKS)
def test_notebooks_of_every_kind(kind):
    started = time.process_time()
    read_and_repair(NOTEBOOKS[kind])
    assert time.process_time() - started < 8


@anything
@given(JSON)
def test_any_json(made):
    read_and_repair(json.dumps(made).encode())


@anything
@given(st.dictionaries(KEYS, JSON, max_size=5), st.dictionaries(KEYS, JSON, max_size=3))
def test_any_part_of_a_cell(parts, marks):
    read_and_repair(notebook(**parts))
    read_and_repair(notebook(metadata={"nbgrader": marks, **parts}))


@anything
@given(st.binary(max_size=200))
def test_any_bytes(data):
    read_and_repair(data)
    read_and_repair(notebook()[:150] + data)


# --- code


PIECES = st.sampled_from(
    "def f(x): ; return x ; class A(B): ; raise NotImplementedError() ; \n ; \n\t ; \n   ; ( ; ) ; [ ; ] ; { ; } ; \f ; \0 ; 'a ;"
    ' """ ; f"{ ; lambda: ; not  ; a.b ; x= ; @ ; ** ; \\\n ; # ; %time  ; !ls ; ﬁ ; \ud800 ; é ; \u2028 ; \r ; import a ;'
    " async  ; await  ; match x: ; case _: ; := ; 9999999999 ; 1e999 ; 0x ; ... ; super().__init__() ; gc ; numpy".split(
        " ; "
    )
)
CODE = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=30).map("".join))


@anything
@given(CODE)
def test_any_code(code):
    assert isinstance(student_code.parses(code), bool)
    assert student_code.finished(code) <= student_code.defined(code) and all(map(str, student_code.defined(code)))
    assert isinstance(student_code.Notebook([code, "import gc, numpy"]).hidden_call(("softmax",), "f"), str)
    read_and_repair(notebook(source=code))
    read_and_repair(notebook(source=code, metadata={"nbgrader": {"grade_id": "f"}}))
