"""A small file costs little memory and time, however much it would be once it is unpacked and made into objects."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import ROOT, UNIT
from handed_in import own, put, solved, zipped

from autograder.intake import archive, notebook_file
from autograder.intake.archive import Budget, members
from autograder.intake.notebook_file import MOST_CELLS, parse
from autograder.intake.submissions import find
from utils.checking.packs.packing import UNKNOWN_DTYPE, pack, unpack_observation
from utils.checking.records import MAX_TEXT, Observation, Output

MEASURE = """
import sys, time
from autograder.intake import notebook_file
from autograder.intake.submissions import find
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1000
before, started = peak(), time.process_time()
one = find("ada", sys.argv[1])
said = one.malformed or notebook_file.parse(one.data)[1]
print(round(peak() - before), round(time.process_time() - started), said)
"""


def notebook(cells: bytes, kind: bytes = b'"cells":[%s]') -> bytes:
    return b"{" + kind % cells + b',"metadata":{},"nbformat":4,"nbformat_minor":5}'


def many(piece: bytes, count: int) -> bytes:
    return b",".join([piece] * count)


SHEETS = b'"worksheets":[{"cells":[%s]}]'
LARGE = {
    "cells that are empty": notebook(many(b"{}", 600_000)),
    "cells of an old form": notebook(many(b'{"cell_type":"code"}', 300_000), SHEETS),
    "metadata": notebook(b'{"cell_type":"code","source":"x","metadata":{"a":[%s]}}' % many(b"{}", 600_000)),
    "lists for a source": notebook(b'{"cell_type":"code","source":[%s]}' % many(b"[]", 600_000)),
    "attachments": notebook(
        b'{"cell_type":"markdown","source":"x","attachments":{%s}}' % b",".join(b'"%d":{}' % n for n in range(400_000))
    ),
}


def measured(class_folder, files) -> tuple[int, int, str]:
    """Megabytes and seconds that reading a submission takes in a process of its own, and what is said of it."""
    put(class_folder, {f"{UNIT}/{name}": data for name, data in files.items()})
    command = [sys.executable, "-c", MEASURE, UNIT]
    environment = {**os.environ, "COURSE_CLASS": str(class_folder)}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    megabytes, seconds, said = ran.stdout.strip().split(" ", 2)
    return int(megabytes), int(seconds), said


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("packed", [False, True])
def test_more_cells_or_parts_than_anybody_writes_are_told(class_folder, kind, packed):
    file = {"a.zip": zipped({f"{UNIT}.ipynb": LARGE[kind]})} if packed else {f"{UNIT}.ipynb": LARGE[kind]}
    megabytes, seconds, said = measured(class_folder, file)
    assert ("cells, and more than 10,000 are not read" if "cells" in kind else "more attachments or metadata") in said
    assert megabytes < 200 and seconds < 3


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
@pytest.mark.parametrize(
    "data",
    [
        b'{"cells":[]}' + b" " * 90_000_000,
        notebook(b'{"cell_type":"code","source":"x","outputs":["%s"]}' % (b"a" * 90_000_000)),
    ],
    ids=["blanks", "outputs"],
)
def test_a_small_archive_takes_little_memory(class_folder, data):
    archives = {f"{number}.zip": zipped({f"{UNIT}.ipynb": data, "b.ipynb": own("x")}) for number in range(2)}
    assert all(len(packed) < 100_000 for packed in archives.values())
    megabytes, seconds, said = measured(class_folder, archives)
    assert megabytes < 60 and seconds < 3 and "packed more tightly than a notebook can be" in said


def test_what_honest_students_hand_in_is_read_as_before():
    outputs = [{"output_type": "stream", "name": "stdout", "text": "epoch 1 loss 0.5\n" * 20_000}] * 20
    made = json.loads(solved())
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = outputs
    made["metadata"]["widgets"] = {str(number): {"state": {}} for number in range(300_000)}
    read, fault, notes = parse(json.dumps(made).encode())
    assert not fault and len(read.cells) == len(made["cells"])
    size = sum(len(str(cell["outputs"])) for cell in made["cells"] if cell["cell_type"] == "code") // 1_000_000
    assert notes == [f"The outputs of the notebook took {size} MB; they were dropped, as outputs are made anew."]
    many_cells = json.loads(own(*["x = 1"] * (MOST_CELLS - 1)))
    read, fault, notes = parse(json.dumps(many_cells).encode())
    assert not fault and len(read.cells) == notebook_file.MAX_CELLS and "cells were left out" in notes[0]


def test_a_notebook_of_an_old_form_is_read_without_its_outputs():
    cells = [
        {
            "cell_type": "code",
            "input": "x = 1",
            "outputs": [{"output_type": "stream", "text": "1"}],
            "language": "python",
        },
        {"cell_type": "code", "input": "y = 1", "language": "python"},
        {"cell_type": "markdown", "source": "words"},
    ]
    old = {"worksheets": [{"cells": cells}], "metadata": {}, "nbformat": 3, "nbformat_minor": 0}
    read, fault, _ = parse(json.dumps(old).encode())
    assert not fault and [cell.source for cell in read.cells] == ["x = 1", "y = 1", "words"]
    assert [cell.get("outputs") for cell in read.cells[:2]] == [[], []]


def test_text_that_repeats_itself_may_be_packed(class_folder):
    log = notebook(
        b'{"cell_type":"code","source":"x","outputs":[{"text":"%s"}]}'
        % b"".join(b"step %d of 900000: loss %.4f\\n" % (step, 1 / (step + 1)) for step in range(900_000))
    )
    assert len(log) > archive.FREE
    put(class_folder, {f"{UNIT}/a.zip": zipped({f"{UNIT}.ipynb": log})})
    assert find("ada", UNIT).data == log
    small = b'{"cells":[]}' + b" " * (archive.FREE - 1000)
    put(class_folder, {f"{UNIT}/b.zip": zipped({f"{UNIT}.ipynb": small})}, "bob")
    assert find("bob", UNIT).data == small


def test_sizes_in_an_archives_list_are_bounds_and_not_believed(class_folder):
    data = bytearray(zipped({f"{UNIT}.ipynb": b'{"cells":[]}' + b" " * 20_000_000}))
    entry = data.rindex(b"PK\x01\x02")
    data[entry + 20 : entry + 24] = (0xFFFFFFF0).to_bytes(4, "little")  # as if it were not packed at all
    put(class_folder, {f"{UNIT}/a.zip": bytes(data)})
    assert find("ada", UNIT).data is None
    data[entry + 24 : entry + 28] = (500).to_bytes(4, "little")  # as if it were small
    put(class_folder, {f"{UNIT}/a.zip": bytes(data)}, "bob")
    assert find("bob", UNIT).data is None


def test_names_in_archives_within_archives_are_weighed_up_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "LISTED", 500)
    inner = zipped({f"{number:04}.ipynb": "x" for number in range(200)})
    file = tmp_path / "a.zip"
    file.write_bytes(zipped({f"{number}.zip": inner for number in range(20)}))
    weighed = []

    def order(path):
        weighed.append(path)
        return (path,)

    found = list(members(file, order, Budget(10**9, archive.LISTED), 10**6))
    assert found and len(weighed) <= 500


@pytest.mark.parametrize(
    "name", ["f4," * 700_000, "9" * 20_000, "x" * 2_000_000, "float32\n", "object", "<U9", "V8", "(2,)f4"]
)
def test_a_types_name_from_a_students_process_is_one_that_there_is(name):
    values = {"array": name, "shape": [1], "data": "AAAAAA=="}
    started = time.process_time()
    with pytest.raises(ValueError, match="type"):
        unpack_observation({"outputs": [{"kind": "tensor", "shape": [1], "values": values}]})
    read = unpack_observation({"outputs": [{"kind": "tensor", "shape": [1], "dtype": name}]})
    assert read.outputs[0].dtype == UNKNOWN_DTYPE and time.process_time() - started < 0.5


@pytest.mark.parametrize("dtype", ["?", "b", "B", "h", "H", "i", "I", "l", "L", "e", "f", "d", "g"])
def test_types_that_there_are_come_back_as_they_went(dtype):
    values = np.ones(3, dtype)
    for name in (f"torch.{values.dtype.name}", values.dtype.name, "torch.bfloat16", ""):
        there = Observation("tensor", (Output("tensor", name if dtype != "g" else "", "cpu", (3,), values),))
        back = unpack_observation(json.loads(json.dumps(pack(there))))
        assert back.outputs[0].dtype == there.outputs[0].dtype and back.outputs[0].values.dtype == values.dtype


@pytest.mark.parametrize("part", ["made", "starts", "gradients"])
def test_no_part_of_an_observation_has_more_entries_than_there_can_be(part):
    unpack_observation({part: {str(number): 1 for number in range(MAX_TEXT)}})
    with pytest.raises(ValueError, match=f"more {part}"):
        unpack_observation({part: {str(number): 1 for number in range(MAX_TEXT + 1)}})
