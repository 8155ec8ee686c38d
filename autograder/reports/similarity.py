"""Finds copies among submissions, and of the published solution, by copydetect's fingerprints of what students added."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import nbformat
import numpy as np

from autograder import settings
from autograder.gradebook import store
from autograder.intake.marked_cells import is_test_of
from autograder.reports.bounded import each_bounded

K = 20  # characters of tokenised code in one fingerprint: a short statement
# One fingerprint is kept of so many neighbours; a line of code has three or four.
WINDOW = 4
# A fingerprint that more than this share of the class have, and more than so few students, is just the usual way to
# write the exercise.
COMMON, FEW = 0.25, 5
# Fingerprints of its own that a submission must have to be compared.
LEAST = 20
# Fingerprints of a submission beyond which it is not compared: a page of code has a hundred.
MOST = 20_000
# The share of the smaller submission's unusual fingerprints from which two submissions count as alike.
ALIKE = 0.7
# So many fingerprints, with this share of them in both, are no chance, however common each one is.
WHOLE, SAME = 40, 0.9
# The share of the published solution from which it counts as taken. Independent answers have less than 0.2 of it, and
# those that are half as taught 0.6.
TAKEN = 0.8
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


def similar_pairs(unit: str, students: list[str], workers: int | None = None) -> tuple[list[AlikePair], list[str]]:
    """The pairs of submissions that are near-identical, and who took the published solution, most alike first.

    And the students whose code is not compared, as it is too much, or cannot be read within limits of time and memory.

    What was handed out is taken out: the released code and the lesson's. So is, between students, what the published
    solution has too, and what much of the class wrote alike. Names, comments and spacing do not count. A high share is a
    reason to look at two submissions, not a proof.
    """
    released = nbformat.read(settings.ASSIGNMENTS / unit / f"{unit}.ipynb", as_version=4)
    lesson = settings.LESSON_TWINS / f"{unit}.py"
    handed_out = _of_cells(released.cells) | _fingerprints(lesson.read_text(encoding="utf-8"))
    released_code = frozenset(cell.source.strip() for cell in released.cells)
    prints, not_compared = {student: set[int]() for student in students}, set()
    for student, own in each_bounded(partial(_fingerprints_of, unit, released_code), students, workers):
        if own is None or len(own) > MOST:
            not_compared.add(student)
        else:
            prints[student] = own - handed_out
    published = _own_fingerprints(settings.SOLUTIONS / unit / f"{unit}.ipynb", released_code) - handed_out
    return pairs(prints, published), [student for student in students if student in not_compared]


def _fingerprints_of(unit: str, released_code: Set[str], student: str) -> set[int]:
    return _own_fingerprints(store.graded_file(student, unit), released_code)


def _own_fingerprints(file: Path, released_code: Set[str]) -> set[int]:
    """The fingerprints of the code in a notebook that was not handed out: of cells that are no checks, nor as released."""
    if not file.exists():
        return set()
    notebook = nbformat.read(file, as_version=4)
    return _of_cells([cell for cell in notebook.cells if cell.source.strip() not in released_code])


def _of_cells(cells: list) -> set[int]:
    """The fingerprints of code cells, each cell by itself: their order, and what stands between them, changes nothing."""
    written = [cell.source for cell in cells if cell.cell_type == "code" and not is_test_of(cell)]
    return set().union(*map(_fingerprints, written))


def pairs(prints: dict[str, set[int]], published: Set[int] = frozenset()) -> list[AlikePair]:
    """The near-identical pairs among sets of fingerprints by student, and the students who have most of what is published."""
    published_counts = {name: len(fingerprints & published) for name, fingerprints in prints.items()}
    takers = {
        name for name, count in published_counts.items() if len(published) >= LEAST and count >= TAKEN * len(published)
    }
    own_prints = {name: fingerprints - published for name, fingerprints in prints.items()}
    comparable = {name for name, fingerprints in own_prints.items() if len(fingerprints) >= LEAST}
    found_pairs = {
        (pair.one, pair.other): pair
        for pair in _alike_pairs({name: own_prints[name] for name in comparable}, len(prints))
    }
    for one, other in _identical_pairs({name: prints[name] for name in comparable | takers}):
        found_pairs[one, other] = AlikePair(one, other, 1.0, len(prints[one]), True)
    for name in takers:
        share, is_same = published_counts[name] / len(published), prints[name] == published
        found_pairs[name, PUBLISHED] = AlikePair(name, PUBLISHED, share, published_counts[name], is_same)
    return sorted(found_pairs.values(), key=lambda pair: (-pair.share, -pair.fingerprints, pair.one, pair.other))


def _identical_pairs(prints: dict[str, set[int]]) -> Iterator[tuple[str, str]]:
    """Who has written the same and nothing else, two at a time."""
    groups: dict[frozenset, list[str]] = {}
    for name in sorted(prints):
        groups.setdefault(frozenset(prints[name]), []).append(name)
    for names in groups.values():
        yield from combinations(names, 2)


def _alike_pairs(prints: dict[str, set[int]], size: int) -> Iterator[AlikePair]:
    """The pairs that share most of what few of the class have, or nearly all of what they have."""
    names = sorted(prints)
    owners = Counter(fingerprint for fingerprints in prints.values() for fingerprint in fingerprints)
    rare = {fingerprint for fingerprint, count in owners.items() if count <= max(FEW, COMMON * size)}
    unusual, all_shared = (
        _shared_counts([prints[name] & rare for name in names]),
        _shared_counts([prints[name] for name in names]),
    )
    smaller_unusual = np.minimum.outer(unusual.diagonal(), unusual.diagonal())
    smaller_whole = np.minimum.outer(all_shared.diagonal(), all_shared.diagonal())
    union = np.add.outer(all_shared.diagonal(), all_shared.diagonal()) - all_shared
    alike = (smaller_unusual >= LEAST) & (unusual >= ALIKE * smaller_unusual)
    whole = (smaller_whole >= WHOLE) & (all_shared >= SAME * union)
    for a, b in np.argwhere(np.triu(alike | whole, 1)).tolist():
        count, of = (unusual[a, b], smaller_unusual[a, b]) if alike[a, b] else (all_shared[a, b], union[a, b])
        yield AlikePair(names[a], names[b], float(count / of), int(count))


def _shared_counts(prints: list[set[int]]) -> np.ndarray:
    """How many fingerprints each two of the sets have in common; each with itself: how many it has."""
    owners = Counter(fingerprint for own in prints for fingerprint in own)
    place_of = {
        fingerprint: place
        for place, fingerprint in enumerate(fingerprint for fingerprint, count in owners.items() if count > 1)
    }
    places_by_set = [
        np.array([place_of[fingerprint] for fingerprint in own if fingerprint in place_of], int) for own in prints
    ]
    shared = np.zeros((len(prints), len(prints)), np.float32)
    for start in range(0, len(place_of), 4096):
        has = np.zeros((len(prints), 4096), np.float32)
        for row, places in enumerate(places_by_set):
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
