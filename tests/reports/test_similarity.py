"""Copies are seen, of each other and of the published solution, in small classes and large; honest work is not accused."""

import ast
import os
import random
import re
import subprocess
import sys
import time
from itertools import combinations

import nbformat
import pytest
from answers import BANK
from conftest import ROOT, UNIT

from autograder.bank import catalogue
from autograder.reports import similarity
from autograder.reports.similarity import PUBLISHED, pairs, similar_pairs
from autograder.trials.sample_class import sample_class

UNITS_OF_THE_BANK = ("09_transformer_block", "11_language_models", "13_vision_transformer", "15_lora")


@pytest.fixture(scope="module")
def sample():
    """The sample class's notebooks as text."""
    return sample_class(*(_notebook(kind) for kind in ("assignments", "solutions")))


def _notebook(kind):
    return nbformat.read(ROOT / kind / UNIT / f"{UNIT}.ipynb", as_version=4)


@pytest.fixture
def alike(class_folder):
    """alike(student=notebook's text) -> the pairs of that class, as names -> share."""

    def compare(**texts):
        for student, text in texts.items():
            file = class_folder / "autograded" / student / UNIT / f"{UNIT}.ipynb"
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
        return {frozenset((one.one, one.other)): one.share for one in similar_pairs(UNIT, list(texts))[0]}

    return compare


def _all_of(*names):
    return {frozenset(pair) for pair in combinations(names, 2)}


def _only(text, *exercises):
    """A notebook in which these exercises alone were begun."""
    notebook, released = nbformat.reads(text, as_version=4), {cell.id: cell for cell in _notebook("assignments").cells}
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.id not in exercises and cell.id in released:
            cell.source = released[cell.id].source
    return nbformat.writes(notebook)


def _renamed(text):
    """The same with other names and comments."""
    notebook = nbformat.reads(text, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code" and "check(" not in cell.source:
            cell.source = "# my own\n" + re.sub(r"\b(powers|flat|E|A|K|V|J|S)\b", r"my_\1", cell.source)
    return nbformat.writes(notebook)


def test_three_of_four_identical_submissions_are_reported(alike, sample):
    copies = dict.fromkeys(("ada", "ben", "cyd"), sample["right-with-loops"]) | {"dan": sample["right-with-einsum"]}
    assert alike(**copies).keys() == _all_of("ada", "ben", "cyd")


@pytest.mark.parametrize("count", [5, 8, 12])
def test_identical_submissions_are_reported_whatever_their_share_of_a_class_of_twelve(alike, sample, count):
    copies = {f"copy{number}": sample["right-with-loops"] for number in range(count)}
    others = {f"other{number}": _only(sample["right-with-einsum"], "attention_scores") for number in range(12 - count)}
    assert alike(**copies, **others).keys() == _all_of(*copies)


def test_copies_with_a_change_each_are_reported_though_many_have_them():
    prints = {f"copy{number}": set(range(200)) | {1000 + number} for number in range(9)}
    prints |= {f"other{number}": set(range(5000 + 100 * number, 5100 + 100 * number)) for number in range(3)}
    assert {frozenset((one.one, one.other)) for one in pairs(prints)} == _all_of(*list(prints)[:9])


@pytest.mark.parametrize("change", [str, _renamed], ids=["word for word", "other names and comments"])
def test_the_published_solution_is_recognised(alike, change):
    solution = nbformat.writes(_notebook("solutions"))
    assert alike(ada=change(solution)) == {frozenset(("ada", PUBLISHED)): 1.0}


def test_most_of_the_published_solution_is_told_with_its_share_and_half_of_it_is_not(alike, sample):
    half = ["attention_scores", "stable_softmax", "attention_pooling", "AttentionLayer"]
    most = [*half, "scaled_dot_product_attention", "CrossAttentionLayer", "gradient_through_softmax"]
    found = alike(ada=_only(sample["right-as-taught"], *most), ben=_only(sample["right-as-taught"], *half))
    ((names, share),) = found.items()
    assert names == {"ada", PUBLISHED} and 0.8 <= share < 0.95


def test_short_answers_that_everybody_writes_alike_accuse_nobody(alike, sample):
    short = _only(sample["right-as-taught"], "attention_scores", "stable_softmax")
    assert alike(ada=short, ben=short, cyd=short, dan=sample["right-with-einsum"]) == {}


@pytest.mark.parametrize("unit", UNITS_OF_THE_BANK)
@pytest.mark.parametrize("size", [4, 12, 40])
def test_a_class_that_wrote_its_answers_itself_is_not_accused(unit, size):
    """Each student has for each exercise one of the right answers that were written from the assignment's text alone."""
    draw, styles = random.Random(size), {}
    for exercise in catalogue.units()[unit]:
        text = (BANK / f"{exercise.name}.py").read_text(encoding="utf-8")
        right = [one for one in ast.parse(text).body if any("right(" in ast.unparse(d) for d in _decorators(one))]
        styles[exercise.name] = [ast.get_source_segment(text, one) for one in right]
    solution = nbformat.read(ROOT / "solutions" / unit / f"{unit}.ipynb", as_version=4)
    code = {f"s{number}": "\n\n".join(map(draw.choice, styles.values())) for number in range(size)}
    prints = {student: similarity._fingerprints(text) for student, text in code.items()}
    assert pairs(prints, similarity._of_cells(solution.cells)) == []


def _decorators(node):
    return getattr(node, "decorator_list", ())


def test_a_class_of_a_thousand_is_compared_in_seconds():
    draw = random.Random(0)
    prints = {f"s{one}": {int(10 ** draw.uniform(0, 5)) for _ in range(400)} for one in range(1000)}
    started = time.process_time()
    pairs(prints | {"copy": set(prints["s3"])})
    assert time.process_time() - started < 10


def test_fingerprints_are_the_same_in_every_process():
    code = "from autograder.reports.similarity import _fingerprints\n"
    code += "print(sorted(_fingerprints('def f(x):\\n    return x + 1\\n' * 9)))"
    seen = {_printed(code, PYTHONHASHSEED=seed) for seed in ("1", "2")}
    assert len(seen) == 1 and "[]" not in seen.pop()


def _printed(code: str, **environment) -> str:
    command = [sys.executable, "-c", code]
    made = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, env=made, capture_output=True, text=True, check=True).stdout


def test_pairs_are_told_by_what_is_unusual():
    common = set(range(30))
    prints = {f"s{number}": common | {1000 * number + one for one in range(40)} for number in range(8)}
    assert pairs(prints) == []
    prints["copy"] = prints["s3"] | {99_000 + one for one in range(5)}
    (pair,) = pairs(prints)
    assert (pair.one, pair.other, pair.share) == ("copy", "s3", 1.0)
    assert pairs({"a": {1, 2, 3}, "b": {1, 2, 3}}) == [], "too little to compare"
