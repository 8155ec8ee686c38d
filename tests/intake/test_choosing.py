"""Of all that a student handed in, the notebook with most work on the unit is graded, wherever it lies."""

import json
import os
import time

import pytest
from conftest import ROOT, UNIT
from handed_in import lesson, own, put, released, solved, zipped

from autograder.intake import candidates, choosing, submissions

NAME, IN = f"{UNIT}.ipynb", f"{UNIT}/"
WORK, LESS, STUB, LESSON = solved(), solved(count=5), released(), lesson()
FIFTH, SCRATCH, EMPTY = solved("05_self_attention"), own("x = 1", "print(x)"), json.dumps({"cells": [], "nbformat": 4})
BARE = own(*["".join(cell["source"]) for cell in json.loads(WORK)["cells"] if cell["cell_type"] == "code"])
COURSE = {
    f"attention-course/notebooks/{NAME}": LESSON,
    "attention-course/assignments/05_self_attention/05_self_attention.ipynb": FIFTH,
    f"attention-course/assignments/{UNIT}/{NAME}": WORK,
    "attention-course/README.md": "# The course",
}

PLACES = {  # where the one notebook with all the work lies, beside what
    "the untouched original and a copy": {IN + NAME: STUB, f"{IN}{UNIT}-Copy1.ipynb": WORK},
    "an empty notebook under the right name": {IN + NAME: EMPTY, IN + "Untitled.ipynb": WORK},
    "a lesson under the right name": {IN + NAME: LESSON, IN + "mine.ipynb": WORK},
    "another unit under the right name": {IN + NAME: FIFTH, IN + "mine.ipynb": WORK},
    "less work under the right name": {IN + NAME: LESS, f"{IN}final/{NAME}": WORK},
    "an upload that broke off": {IN + NAME: WORK[:20_000], IN + "again.ipynb": WORK},
    "zeros under the right name": {IN + NAME: b"\0" * 9000, f"{IN}{UNIT} (1).ipynb": WORK},
    "more cells, less work": {IN + "a.ipynb": own(*[f"check({n})" for n in range(50)]), IN + "b.ipynb": WORK},
    "a folder with spaces": {f"04 attention layer/{NAME}": WORK},
    "a folder in other case": {f"04_Attention_Layer/{NAME}": WORK},
    "a folder with hyphens": {f"04-attention-layer/{NAME}": WORK},
    "a folder with the number alone": {"04/work.ipynb": WORK},
    "a folder called unit 04": {"unit 04/work.ipynb": WORK},
    "a folder called Assignment 4": {"Assignment 4/work.ipynb": WORK},
    "a folder called hw4": {"hw4/work.ipynb": WORK},
    "two folders, one of them empty": {IN + "notes.txt": "to do", f"hw4/{NAME}": WORK},
    "the course unpacked": COURSE,
    "the course unpacked in the unit's folder": {IN + name: data for name, data in COURSE.items()},
    "flat in the student's folder": {NAME: WORK, "05_self_attention.ipynb": FIFTH},
    "flat, under a name of the student's own": {"my homework.ipynb": WORK},
    "under another unit's name": {"05_self_attention/05_self_attention.ipynb": WORK},
    "with the ending json": {f"{IN}{UNIT}.json": WORK},
    "with the endings ipynb.txt": {f"{IN}{NAME}.txt": WORK},
    "with the endings ipynb.json": {f"{IN}{NAME}.json": WORK},
    "without an ending": {f"{IN}{UNIT}": WORK},
    "with an ending that a browser gave": {f"{IN}{NAME}.download": WORK, IN + "data.json": '{"a": 1}'},
    "the whole course in a zip": {IN + "attention-course.zip": zipped(COURSE)},
    "original and copy in a zip": {IN + "a.zip": zipped({NAME: STUB, f"{UNIT}-Copy1.ipynb": WORK})},
    "a copy beside scratch in a zip": {IN + "a.zip": zipped({f"Copy of {NAME}": WORK, "my_scratch.ipynb": EMPTY})},
    "two zips": {IN + "a.zip": zipped({"notes.ipynb": EMPTY}), IN + "b.zip": zipped({NAME: WORK})},
    "a zip in a zip": {IN + "work.zip": zipped({"inner.zip": zipped({NAME: WORK})})},
    "a zip in a zip in a zip": {IN + "1.zip": zipped({"2.zip": zipped({"x/3.zip": zipped({NAME: WORK})})})},
    "a damaged zip beside a good one": {IN + "a.zip": b"PK\x03\x04 broken", IN + "b.zip": zipped({NAME: WORK})},
    "a zip called a notebook": {IN + NAME: zipped({NAME: WORK})},
    "a zip without an ending": {IN + "upload": zipped({NAME: WORK})},
    "a notebook without an ending in a zip": {IN + "a.zip": zipped({UNIT: WORK, "data.bin": b"\0" * 99})},
    "an untouched notebook beside a zip": {IN + NAME: STUB, IN + "work.zip": zipped({f"x/{NAME}": WORK})},
    "a zip in the student's folder": {"everything.zip": zipped(COURSE)},
    "the published solution lies about": {
        IN + NAME: WORK,
        f"course/solutions/{UNIT}/{NAME}": solved().replace("return", "### BEGIN SOLUTION\\n    return"),
    },
    "a checkpoint alone": {f"{IN}.ipynb_checkpoints/{UNIT}-checkpoint.ipynb": WORK, IN + NAME: STUB},
    "a copy of a copy": {f"{IN}Copy of Copy of {NAME}": WORK, f"{IN}Copy of {NAME}": STUB},
    "a folder called like the notebook": {f"{IN}{NAME}/{NAME}": WORK},
    "what Jupyter keeps while it saves": {IN + NAME: b"", f"{IN}.~{NAME}": WORK},
    "an editor's backup": {IN + NAME: STUB, f"{IN}{NAME}~": WORK},
    "paths as Windows packs them": {
        IN + "a.zip": zipped({name.replace("/", chr(92)): data for name, data in COURSE.items()})
    },
    "paths that lead upwards in a zip": {IN + "a.zip": zipped({f"../{NAME}": WORK, "../05.ipynb": FIFTH})},
    "a zip of the homework in the student's folder": {"Assignment 4.zip": zipped({"homework/Untitled1.ipynb": WORK})},
    "a zip called a notebook, with the ending zip": {f"{IN}{NAME}.zip": zipped({NAME: WORK})},
    "as UTF-16": {IN + NAME: STUB, IN + "b.ipynb": WORK.encode("utf-16")},
    "in the letters of old Windows": {IN + NAME: STUB, IN + "b.ipynb": WORK.encode("cp1252", "ignore")},
    "a conflicted copy": {IN + NAME: STUB, f"{IN}{UNIT} (ada's conflicted copy 2026-11-20).ipynb": WORK},
    "labels stripped": {IN + NAME: STUB, IN + "b.ipynb": BARE},
}


@pytest.mark.parametrize("kind", PLACES)
def test_the_notebook_with_the_work_is_found(class_folder, kind):
    put(class_folder, PLACES[kind])
    found = submissions.find("ada", UNIT)
    assert found.data in (WORK.encode(), BARE.encode(), WORK.encode("utf-16"), WORK.encode("cp1252", "ignore")), (
        found.missing,
        found.malformed,
        found.notes,
    )
    assert not found.malformed and all(len(note) < 1000 for note in found.notes)


EQUAL = {  # two notebooks with as much work: the one called "new" is the newer
    "a number behind a hyphen": {f"{IN}{UNIT}-1.ipynb": "old", f"{IN}{UNIT}-2.ipynb": "new"},
    "two digits": {f"{IN}{UNIT}-9.ipynb": "old", f"{IN}{UNIT}-10.ipynb": "new"},
    "a browser's number": {f"{IN}{UNIT} (1).ipynb": "old", f"{IN}{UNIT} (2).ipynb": "new"},
    "Jupyter's copies": {f"{IN}work-Copy2.ipynb": "new", f"{IN}work-Copy1.ipynb": "old", f"{IN}work.ipynb": "older"},
    "Drive's copies": {f"{IN}Copy of mine.ipynb": "new", f"{IN}mine.ipynb": "old"},
    "a copy of a copy": {f"{IN}Copy of mine.ipynb": "old", f"{IN}Copy of Copy of mine.ipynb": "new"},
    "dated folders": {f"2026-11-20/{NAME}": "old", f"2026-11-23/{NAME}": "new"},
    "dated folders within the unit's": {f"{IN}2026-12-02/{NAME}": "new", f"{IN}2026-11-30/{NAME}": "old"},
    "dates as written in Europe": {f"{IN}02.12.2026/{NAME}": "new", f"{IN}30.11.2026/{NAME}": "old"},
    "dates and times": {f"{IN}2026-11-20 09-15/{NAME}": "old", f"{IN}2026-11-20 17-00/{NAME}": "new"},
    "a second upload beside the proper name": {IN + NAME: "old", f"{IN}{UNIT}-1.ipynb": "new"},
    "a copy beside the proper name": {IN + NAME: "old", f"{IN}{UNIT}-Copy1.ipynb": "new"},
    "attempts": {f"{IN}attempt 1/{NAME}": "old", f"{IN}attempt 2/{NAME}": "new"},
    "versions": {f"{IN}work_v1.ipynb": "old", f"{IN}work_v2.ipynb": "new"},
}


@pytest.mark.parametrize("packed", [False, True], ids=["in folders", "in a zip"])
@pytest.mark.parametrize("kind", EQUAL)
def test_of_two_with_as_much_work_the_newer_by_its_name_is_taken(class_folder, kind, packed):
    files = {name: solved(note=note) for name, note in EQUAL[kind].items()}
    put(class_folder, {f"{IN}all.zip": zipped(files)} if packed else files)
    newest = list(EQUAL[kind].values()).index("new")
    if not packed:  # what a file system says is worth less than what a name says
        os.utime(class_folder / "submitted" / "ada" / list(files)[newest], (1e9, 1e9))
    found = submissions.find("ada", UNIT)
    assert found.data == solved(note="new").encode(), found.notes


def test_of_two_in_archives_the_one_changed_last_is_taken(class_folder):
    times = {"a.ipynb": (2026, 11, 25, 9, 0, 0), "b.ipynb": (2026, 11, 24, 9, 0, 0)}
    put(class_folder, {IN + "1.zip": zipped({name: solved(note=name) for name in times}, times)})
    assert submissions.find("ada", UNIT).data == solved(note="a.ipynb").encode()
    put(class_folder, {IN + "2.zip": zipped({"c.ipynb": solved(note="c")}, {"c.ipynb": (2026, 11, 26, 9, 0, 0)})})
    assert submissions.find("ada", UNIT).data == solved(note="c").encode()


def test_of_two_the_one_run_last_is_taken_as_colab_and_jupyterlab_note(class_folder):
    def run(stamp: dict) -> str:
        made = json.loads(WORK)
        made["cells"][3]["metadata"].update(stamp)
        return json.dumps(made)

    early, late = (
        run({"executionInfo": {"timestamp": 1795000000000}}),
        run({"executionInfo": {"timestamp": 1795100000000}}),
    )
    put(class_folder, {IN + "mine.ipynb": late, IN + "mine-1.ipynb": early})
    assert submissions.find("ada", UNIT).data == late.encode()
    later = run({"execution": {"iopub.execute_input": "2027-01-01T10:00:00.000000Z"}})
    put(class_folder, {IN + "a.ipynb": later})
    assert submissions.find("ada", UNIT).data == later.encode()


def test_without_anything_else_the_files_own_times_decide(class_folder):
    home = put(class_folder, {IN + "a.ipynb": solved(note="a"), IN + "b.ipynb": solved(note="b")})
    os.utime(home / IN / "a.ipynb", (2e9, 2e9))
    assert submissions.find("ada", UNIT).data == solved(note="a").encode()
    os.utime(home / IN / "b.ipynb", (2e9 + 9000, 2e9 + 9000))
    assert submissions.find("ada", UNIT).data == solved(note="b").encode()


def test_a_notebook_under_its_proper_name_wins_where_it_holds_as_much(class_folder):
    put(class_folder, {IN + NAME: WORK, f"{IN}{UNIT}-Copy1.ipynb": LESS, f"{IN}old/{NAME}": solved(note="old")})
    found = submissions.find("ada", UNIT)
    assert found.data == WORK.encode()
    (said,) = found.notes
    assert f"Of 3 notebooks {NAME} was taken, since it holds as much as any (9 of 9 exercises and answers)." in said
    assert f"old/{NAME} (9 done), {UNIT}-Copy1.ipynb (5 done)" in said


def test_a_normal_hand_in_is_chosen_without_a_word_and_without_reading_anything_else(class_folder, monkeypatch):
    others = {f"{unit}/{unit}.ipynb": solved(unit) for unit in ("03_image_captioning", "05_self_attention")}
    home = put(class_folder, {IN + NAME: WORK, **others})
    for name in others:
        (home / name).chmod(0)
    read = []
    monkeypatch.setattr(os, "open", lambda path, *flags, to=os.open: read.append(path) or to(path, *flags))
    found = submissions.find("ada", UNIT)
    assert (
        found.data == WORK.encode()
        and found.notes == ()
        and {home / IN / NAME} == {*read} - {home / IN / "timestamp.txt"}
    )


def test_what_was_chosen_and_what_else_was_there_is_told(class_folder):
    put(
        class_folder,
        {
            IN + NAME: LESSON,
            IN + "mine.ipynb": WORK,
            IN + "early.ipynb": LESS,
            IN + "c.zip": zipped({"x.ipynb": FIFTH}),
        },
    )
    called, chosen = submissions.find("ada", UNIT).notes
    assert "mine.ipynb" in called
    assert "Of 4 notebooks mine.ipynb was taken, since it holds the most work (9 of 9 exercises and answers)." in chosen
    assert "Left aside: early.ipynb (5 done), " in chosen and f"{NAME} (lesson 04)" in chosen
    assert "c.zip/x.ipynb (assignment 05)" in chosen


def test_an_answer_that_does_not_parse_is_work_all_the_same(class_folder):
    broken = solved(AttentionLayer="class AttentionLayer(nn.Module):\n    def __init__((self):\n        pass")
    put(class_folder, {IN + "a.ipynb": broken, IN + "b.ipynb": solved(count=4)})
    assert submissions.find("ada", UNIT).data == broken.encode()


def test_stubs_that_were_handed_out_with_code_in_them_are_no_work(class_folder):
    unit = "03_image_captioning"
    put(class_folder, {f"{unit}/{unit}.ipynb": released(unit), f"{unit}/b.ipynb": solved(unit, count=1)})
    assert submissions.find("ada", unit).data == solved(unit, count=1).encode()


def test_the_published_solution_is_nobodys_work_unless_it_is_all_there_is(class_folder):
    place, solution = f"course/solutions/{UNIT}/{NAME}", (ROOT / "solutions" / UNIT / NAME).read_text(encoding="utf-8")
    put(class_folder, {IN + NAME: STUB, place: solution})
    assert submissions.find("ada", UNIT).data == STUB.encode()
    put(class_folder, {IN + NAME: LESS})
    assert submissions.find("ada", UNIT).data == LESS.encode()
    put(class_folder, {IN + NAME: solution}, student="bob")
    assert submissions.find("bob", UNIT).data == solution.encode()


def test_answers_typed_into_the_lesson_are_work(class_folder):
    mixed = json.loads(LESSON)
    mixed["cells"] += json.loads(own("def attention_scores(q, X):\n    return X @ q"))["cells"]
    put(class_folder, {IN + NAME: STUB, IN + "b.ipynb": json.dumps(mixed)})
    assert submissions.find("ada", UNIT).data == json.dumps(mixed).encode()


def test_functions_that_a_lesson_itself_defines_are_no_work(class_folder):
    for unit in ("03_image_captioning", "07_masking", "09_transformer_block", "11_language_models"):
        put(class_folder, {f"{unit}/{unit}.ipynb": lesson(unit), f"{unit}/b.ipynb": released(unit)})
        assert submissions.find("ada", unit).data == released(unit).encode()


def test_an_answer_pasted_into_another_units_notebook_does_not_make_it_this_ones(class_folder):
    fifth, fourth = json.loads(FIFTH), json.loads(WORK)
    fifth["cells"] += [cell for cell in fourth["cells"] if cell["id"] in ("stable_softmax", "check_stable_softmax")]
    place = "05_self_attention/05_self_attention.ipynb"
    put(class_folder, {place: json.dumps(fifth)})
    assert "No notebook" in submissions.find("ada", UNIT).missing
    put(class_folder, {IN + NAME: STUB})
    assert submissions.find("ada", UNIT).data == STUB.encode()
    put(class_folder, {IN + NAME: "", place: json.dumps({**fifth, "cells": fifth["cells"] + fourth["cells"]})})
    assert json.loads(submissions.find("ada", UNIT).data)["cells"][-len(fourth["cells"]) :] == fourth["cells"]


def test_who_handed_in_other_units_alone_has_handed_in_nothing_here(class_folder):
    put(
        class_folder,
        {"05_self_attention/05_self_attention.ipynb": FIFTH, "hw6/06_multi_head.ipynb": solved("06_multi_head")},
    )
    assert "No notebook" in submissions.find("ada", UNIT).missing


def test_what_was_looked_at_is_bounded(class_folder):
    put(class_folder, {f"{IN}{number:03}.ipynb": solved(count=1, note=str(number)) for number in range(120)})
    put(class_folder, {IN + NAME: WORK})
    found = submissions.find("ada", UNIT)
    assert found.data == WORK.encode() and f"Of {candidates.LOOKED_AT} notebooks" in found.notes[0]


def test_many_archives_within_archives_cost_little(class_folder):
    bomb = zipped({NAME: b" " * 60_000_000})
    for _ in range(2):
        bomb = zipped({f"{number}.zip": bomb for number in range(8)})
    put(class_folder, {IN + "a.zip": bomb, IN + "b.zip": zipped({NAME: WORK})})
    started = time.process_time()
    assert submissions.find("ada", UNIT).data == WORK.encode()
    assert time.process_time() - started < 5


def test_an_archive_with_a_password_is_told(class_folder):
    locked = bytearray(zipped({NAME: WORK}))
    locked[6] |= 1  # in the member's own header, and in the list
    locked[bytes(locked).rindex(b"PK\x01\x02") + 8] |= 1
    put(class_folder, {IN + "a.zip": bytes(locked)})
    assert "protected by a password" in submissions.find("ada", UNIT).malformed


def test_a_link_elsewhere_does_not_hide_the_work(class_folder, tmp_path):
    home = put(class_folder, {f"hw4/{NAME}": WORK})
    (tmp_path / NAME).write_text(LESS)
    (home / UNIT).symlink_to(tmp_path)
    assert submissions.find("ada", UNIT).data == WORK.encode()


def test_the_same_choice_comes_out_every_time(class_folder):
    put(class_folder, {f"{IN}{name}.ipynb": solved(note=name) for name in "dcab"})
    assert len({submissions.find("ada", UNIT).digest for _ in range(5)}) == 1
    assert choosing.SAME > 0
