"""Hands the same work in again: the hidden cases are the same as long as nothing changes, and others after a changed byte."""

import json
import os
from pathlib import Path

import nbformat

from autograder.sandbox.levels import RLIMITS
from autograder.trials.attacks.kinds import FIRST, UNIT, answer, filled
from autograder.trials.attacks.kit import hand_in, notebooks, run_kit

# Where limits alone confine it, code can write down what it was examined with.
_MET = f"""
def {FIRST}(q, X):
    with open("@FILE@", "a") as file:
        print(*q.flatten()[:4].tolist(), file=file)
    return (q.unsqueeze(-2) * X).sum(-1)
"""


def inputs_met(folder: Path) -> tuple[set[str], set[str], set[str]]:
    """The beginnings of the hidden inputs at a first hand-in, at the same one graded again, and after a byte was changed."""
    environment = {**os.environ, "COURSE_CLASS": str(folder)}
    run_kit(["release", UNIT], environment)
    notebook, met = filled(*notebooks()), folder.with_name("met")
    answer(_MET.replace("@FILE@", str(met)))(notebook)
    sets: list[set[str]] = []
    for options in ([], ["--again"], []):
        if len(sets) == 2:
            notebook.cells.append(nbformat.v4.new_markdown_cell("x"))
        hand_in(folder, "again", UNIT, {f"{UNIT}.ipynb": json.dumps(notebook).encode()})
        run_kit(["grade", UNIT, *options, "--sandbox", RLIMITS, "--accept-weak-sandbox", "--workers", "1"], environment)
        sets.append({*met.read_text().splitlines()})
        met.unlink()
    return sets[0], sets[1], sets[2]


def faults_of(first: set[str], same: set[str], changed: set[str]) -> list[str]:
    """What is wrong with the inputs of three hand-ins; some cases, such as those of zeros, are the same in any draw."""
    faults = []
    if first != same:
        faults.append("the same bytes met other hidden inputs when they were graded again")
    if len(first & changed) > len(first) / 10:
        faults.append(f"{len(first & changed)} of {len(first)} hidden inputs came again after a byte was changed")
    return faults
