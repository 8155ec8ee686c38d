"""Claims of a lesson are compared as nbval compares them, so whoever runs nbval by hand is told the same."""

import re
import subprocess
import sys

import claims
import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output

CLAIM = "# NBVAL_CHECK_OUTPUT\n"
PRINTS, GIVES = CLAIM + "print(1)\nprint(2)", CLAIM + "1 + 2"


def printed(*pieces: str) -> list:
    return [new_output("stream", text=text) for text in pieces]


def given(words: str, **more) -> list:
    return [new_output("execute_result", {"text/plain": words, **more})]


def notebook(*cells):
    """A notebook of cells, each with its source and what came out."""
    made = [
        new_code_cell(source, id=f"cell-{number}", outputs=outputs, execution_count=number + 1)
        for number, (source, outputs) in enumerate(cells)
    ]
    return new_notebook(cells=made, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})


COMES = notebook(*[(PRINTS, printed("1\n2\n"))] * 4, *[(GIVES, given("3"))] * 2, ("print('a')", printed("a\n")))
CLAIMED = notebook(
    (PRINTS, printed("1\n2\n")),
    (PRINTS, printed("1\n5\n")),  # wrong
    (PRINTS, printed("1\n2\n3\n")),  # wrong
    (PRINTS, []),  # wrong
    (GIVES, given("3")),
    (GIVES, given("4")),  # wrong
    ("print('a')", printed("b\n")),  # not claimed
)
WRONG = [1, 2, 3, 5]


def test_we_and_nbval_find_the_same_claims_wrong(tmp_path):
    ours = [int(number) for found in claims.broken(CLAIMED, COMES) for number in re.findall(r"^cell cell-(\d)", found)]
    nbformat.write(CLAIMED, tmp_path / "claims.ipynb")
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env", "-rf", "-p", "no:cacheprovider"]
    said = subprocess.run([*command, "claims.ipynb"], cwd=tmp_path, capture_output=True, text=True).stdout
    nbvals = [int(number) for number in re.findall(r"^FAILED .*::Cell (\d)", said, flags=re.MULTILINE)]
    assert ours == nbvals == WRONG, said


def test_a_difference_shows_what_was_claimed_and_what_came():
    found = claims.broken(CLAIMED, COMES)[0].splitlines()
    assert "print(1)" in found[0] and "-5" in found and "+2" in found


def test_a_claim_that_gave_nothing_is_told():
    silent = notebook((PRINTS, []))
    assert "-1" in claims.broken(notebook((PRINTS, printed("1\n2\n"))), silent)[0].splitlines()


def test_what_is_printed_in_pieces_is_the_same_as_at_once():
    assert claims.broken(notebook((PRINTS, printed("1\n2\n"))), notebook((PRINTS, printed("1\n", "2\n")))) == []


def test_pictures_and_live_controls_are_no_part_of_a_claim():
    live = {"application/vnd.jupyter.widget-view+json": {"model_id": "a"}, "image/png": "another"}
    still, moving = notebook((GIVES, given("3", **{"image/png": "one"}))), notebook((GIVES, given("3", **live)))
    assert claims.broken(still, moving) == []
