"""Finds copies among submissions, and of the published solution, by copydetect's fingerprints of what students added."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import nbformat
import numpy as np

from autograder import settings
from autograder.gradebook import store
from autograder.intake.guard import guarded
from autograder.intake.marked_cells import is_test_of

K = 20  # characters of tokenised code in one fingerprint: a short statement
WINDOW = 4  # one fingerprint is kept of so many neighbours; a line of code has three or four
COMMON, FEW = 0.25, 5  # what more than this share of the class have, and more than so few, is how one writes this
LEAST = 20  # fingerprints that a submission must have of its own to be compared
ALIKE = 0.7  # share of the smaller one's unusual fingerprints
WHOLE, SAME = 40, 0.9  # so many fingerprints, nearly all of them in both, are no chance, however common each one is
TAKEN = 0.8  # share of the published solution; independent answers have less than 0.2, with half of them as taught 0.6
PUBLISHED = "the published solution"


@dataclass(frozen=True)
class AlikePair:
    """Two submissions and the share of the smaller one's unusual code that is in the other, names aside.

    Where the other is the published solution, the share is that of the solution. `identical`: all added code is the same.
    """

    one: str
    other: str
    share: float
    fingerprints: int
    identical: bool = False


def similar_pairs(unit: str, students: list[str]) -> list[AlikePair]:
    """The pairs of submissions that are near-identical, and who took the published solution, most alike first.

    What was handed out is taken out: the released code and the lesson's. So is, between students, what the published
    solution has too, and what much of the class wrote alike. Names, comments and spacing do not count. A high share is a
    reason to look at two submissions, not a proof.
    """
    released = nbformat.read(settings.ASSIGNMENTS / unit / f"{unit}.ipynb", as_version=4)
    lesson = settings.LESSON_TWINS / f"{unit}.py"
    handed_out = _of_cells(released.cells) | _fingerprints(lesson.read_text(encoding="utf-8"))
    prints = {student: _own(store.graded_file(student, unit), released) - handed_out for student in students}
    published = _own(settings.SOLUTIONS / unit / f"{unit}.ipynb", released) - handed_out
    return pairs(prints, published)


@guarded(lambda *_: set())
def _own(file: Path, released: nbformat.NotebookNode) -> set[int]:
    """The fingerprints of the code in a notebook that was not handed out: of cells that are no checks, nor as released."""
    if not file.exists():
        return set()
    known = {cell.source.strip() for cell in released.cells}
    notebook = nbformat.read(file, as_version=4)
    return _of_cells([cell for cell in notebook.cells if cell.source.strip() not in known])


def _of_cells(cells: list) -> set[int]:
    """Cell by cell, so that their order, and what stands between them, changes nothing."""
    written = [cell.source for cell in cells if cell.cell_type == "code" and not is_test_of(cell)]
    return set().union(*map(_fingerprints, written))


def pairs(prints: dict[str, set[int]], published: Set[int] = frozenset()) -> list[AlikePair]:
    """The near-identical pairs among sets of fingerprints by student, and the students who have most of what is published."""
    taken = {name: len(own & published) for name, own in prints.items()}
    took = {name for name, count in taken.items() if len(published) >= LEAST and count >= TAKEN * len(published)}
    own = {name: found - published for name, found in prints.items()}
    enough = {name for name, found in own.items() if len(found) >= LEAST}
    found = {(pair.one, pair.other): pair for pair in _alike({name: own[name] for name in enough}, len(prints))}
    for one, other in _identical({name: prints[name] for name in enough | took}):
        found[one, other] = AlikePair(one, other, 1.0, len(prints[one]), True)
    for name in took:
        share, same = taken[name] / len(published), prints[name] == published
        found[name, PUBLISHED] = AlikePair(name, PUBLISHED, share, taken[name], same)
    return sorted(found.values(), key=lambda pair: (-pair.share, -pair.fingerprints, pair.one, pair.other))


def _identical(prints: dict[str, set[int]]) -> Iterator[tuple[str, str]]:
    """Who has written the same and nothing else, two at a time."""
    groups: dict[frozenset, list[str]] = {}
    for name in sorted(prints):
        groups.setdefault(frozenset(prints[name]), []).append(name)
    for names in groups.values():
        yield from combinations(names, 2)


def _alike(prints: dict[str, set[int]], size: int) -> Iterator[AlikePair]:
    """The pairs that share most of what few of the class have, or nearly all of what they have."""
    names = sorted(prints)
    owners = Counter(one for own in prints.values() for one in own)
    rare = {one for one, count in owners.items() if count <= max(FEW, COMMON * size)}
    unusual, every = _shared([prints[name] & rare for name in names]), _shared([prints[name] for name in names])
    few = np.minimum.outer(unusual.diagonal(), unusual.diagonal())
    many = np.minimum.outer(every.diagonal(), every.diagonal())
    union = np.add.outer(every.diagonal(), every.diagonal()) - every
    alike = (few >= LEAST) & (unusual >= ALIKE * few)
    whole = (many >= WHOLE) & (every >= SAME * union)
    for a, b in np.argwhere(np.triu(alike | whole, 1)).tolist():
        count, of = (unusual[a, b], few[a, b]) if alike[a, b] else (every[a, b], union[a, b])
        yield AlikePair(names[a], names[b], float(count / of), int(count))


def _shared(prints: list[set[int]]) -> np.ndarray:
    """How many fingerprints each two of the sets have in common; each with itself: how many it has."""
    owners = Counter(one for own in prints for one in own)
    known = {one: place for place, one in enumerate(one for one, count in owners.items() if count > 1)}
    held = [np.array([known[one] for one in own if one in known], int) for own in prints]
    shared = np.zeros((len(prints), len(prints)), np.float32)
    for start in range(0, len(known), 4096):
        has = np.zeros((len(prints), 4096), np.float32)
        for row, places in enumerate(held):
            has[row, places[(places >= start) & (places < start + 4096)] - start] = 1
        shared += has @ has.T
    np.fill_diagonal(shared, list(map(len, prints)))
    return shared


def _fingerprints(code: str) -> set[int]:
    """Winnowed hashes of the tokenised code (Schleimer, Wilkerson and Aiken, 2003), the same in every run."""
    from copydetect.utils import filter_code, winnow

    tokens, _ = filter_code(code, "code.py", "python")
    grams = [tokens[start : start + K].encode() for start in range(len(tokens) - K + 1)]
    hashes = [int.from_bytes(hashlib.blake2b(gram, digest_size=8).digest(), "little", signed=True) for gram in grams]
    return set(winnow(np.array(hashes, dtype=np.int64), WINDOW)[0].tolist()) if len(hashes) >= WINDOW else set()
