"""Finds near-identical submissions, by copydetect's fingerprints of what students added to the released code."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import nbformat
import numpy as np

from autograder import settings
from autograder.gradebook import store
from autograder.intake.guard import guarded
from autograder.intake.marked_cells import is_test_of

K = 20  # characters of tokenised code in one fingerprint: a short statement
WINDOW = 4  # one fingerprint is kept of so many neighbours
COMMON = 0.25  # a fingerprint that more of the class share says nothing: it is how one writes this
LEAST = 12  # fingerprints that a submission must have of its own to be compared
ALIKE = 0.7  # share of the smaller one's fingerprints


@dataclass(frozen=True)
class AlikePair:
    """Two submissions and the share of the smaller one's unusual code that is in the other, names aside."""

    one: str
    other: str
    share: float
    fingerprints: int


def similar_pairs(unit: str, students: list[str]) -> list[AlikePair]:
    """The pairs of submissions that are near-identical, most alike first.

    Released code is taken out, and so is code that much of the class wrote alike. Names, comments and spacing do not
    count. A high share is a reason to look at two submissions, not a proof.
    """
    released = nbformat.read(settings.ASSIGNMENTS / unit / f"{unit}.ipynb", as_version=4)
    handed_out = _fingerprints(_code(released))
    return pairs({student: _own(student, unit, released) - handed_out for student in students})


@guarded(lambda *_: set())
def _own(student: str, unit: str, released) -> set[int]:
    return _fingerprints(_written(student, unit, released))


def pairs(prints: dict[str, set[int]]) -> list[AlikePair]:
    """The near-identical pairs among sets of fingerprints by student."""
    owners: dict[int, list[str]] = {}
    for student, found in prints.items():
        for one in found:
            owners.setdefault(one, []).append(student)
    most = max(2, COMMON * len(prints))
    rare = {one: who for one, who in owners.items() if len(who) <= most}
    own, shared = Counter(), Counter()
    for who in rare.values():
        own.update(who)
        shared.update(combinations(sorted(who), 2))
    found = [
        AlikePair(a, b, count / min(own[a], own[b]), count)
        for (a, b), count in shared.items()
        if min(own[a], own[b]) >= LEAST and count >= ALIKE * min(own[a], own[b])
    ]
    return sorted(found, key=lambda pair: (-pair.share, -pair.fingerprints, pair.one, pair.other))


def _fingerprints(code: str) -> set[int]:
    """Winnowed hashes of the tokenised code (Schleimer, Wilkerson and Aiken, 2003), the same in every run."""
    from copydetect.utils import filter_code, winnow

    tokens, _ = filter_code(code, "code.py", "python")
    grams = [tokens[start : start + K].encode() for start in range(len(tokens) - K + 1)]
    hashes = [int.from_bytes(hashlib.blake2b(gram, digest_size=8).digest(), "little", signed=True) for gram in grams]
    return set(winnow(np.array(hashes, dtype=np.int64), WINDOW)[0].tolist()) if len(hashes) >= WINDOW else set()


def _written(student: str, unit: str, released) -> str:
    """The code that a student added: every code cell that is neither a check nor as it was released."""
    file = store.graded_file(student, unit)
    if not file.exists():
        return ""
    known = {cell.source.strip() for cell in released.cells}
    notebook = nbformat.read(file, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.source.strip() not in known]
    return _code(notebook)


def _code(notebook) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code" and not is_test_of(cell))
