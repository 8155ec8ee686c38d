"""Reads what may be the notebook handed in: files with a notebook's name or beginning, and the members of archives."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.intake import places
from autograder.intake.archive import Budget, Member, members
from autograder.intake.guard import guarded, reason

LOOKED_AT = 40  # the most notebooks of a submission that are compared
OPENED = 150  # the most files of a submission whose first bytes are looked at
# The bytes that are unpacked of all archives of a submission; each archive gets half of what is left, so that none takes all.
UNPACKED = 300_000_000
_STARTS = (b"{", b"\xef\xbb\xbf{", b"\xff\xfe{", b"\xfe\xff\0{", b"<<<<<<<", b"PK\x03\x04")
_ENDINGS = ("", ".json", ".txt", ".zip")  # the endings of an archive's members that are looked at, beside notebooks


@dataclass(frozen=True)
class Candidate:
    """A file, or what lies in an archive, that may be the notebook handed in.

    Attributes:
        name: where it lies in the student's folder; archives count as folders.
        file: the file on disk, which is the archive if it lies in one.
        data: its bytes; None if they cannot be had, for which `fault` gives the reason in a sentence.
        inside: where it lies in the archive; empty if it is a file of its own.
        packed: when it was last changed, as its archive says.
        is_asked: it lies where it should, under the name that it should have.
        is_meant: it lies in the unit's folder, or its name says the unit.
    """

    name: str
    file: Path
    data: bytes | None
    fault: str = ""
    inside: str = ""
    packed: float | None = None
    is_asked: bool = False
    is_meant: bool = True


@dataclass
class Reader:
    """Reads the candidates of one student's folder for a unit, within bounds for all of them together."""

    home: Path
    folder: Path
    unit: str

    def __post_init__(self):
        self.left, self.asked = UNPACKED, self.folder / f"{self.unit}.ipynb"
        self.units = places.units()
        self.taken: set[Path] = set()  # the files that candidates were read from

    def read(self, files: list[Path]) -> list[Candidate]:
        """The candidates among files, as many as are compared; of candidates with the same bytes only the first.

        So it is with those of one archive that cannot be had for the same reason: they would leave no room for others.
        """
        candidates: dict[bytes | str, Candidate] = {}
        likely = sorted(files, key=lambda file: (file != self.asked, not places.is_notebook(file.name)))
        for file in likely[:OPENED]:
            for candidate in self._candidates_in(file):
                self.taken.add(file)
                missing = f"{candidate.file}: {candidate.fault}"
                candidates.setdefault(missing if candidate.data is None else candidate.data, candidate)
                if len(candidates) >= LOOKED_AT:
                    return list(candidates.values())
        return list(candidates.values())

    def _candidates_in(self, file: Path) -> Iterable[Candidate]:
        is_called = places.is_notebook(file.name) or file.suffix.lower() == ".zip"
        start = places.read(file, 8)[0]
        if not is_called and not (start or b"").startswith(_STARTS):
            return []
        if (start or b"")[:4] == b"PK\x03\x04" or file.suffix.lower() == ".zip":
            return [candidate for candidate in self._from_archive(file, is_called) if candidate]
        data, fault = places.read(file)
        if not is_called and (data is None or not _has_cells(data)):
            return []
        return [self._candidate(file, data, fault)]

    def _from_archive(self, file: Path, is_called: bool) -> Iterator[Candidate | None]:
        """The candidates in an archive.

        A damaged archive that is called a notebook or an archive is a candidate itself: it stands for what it held.
        """
        unpacked: list[Member] = []
        budget = Budget(self.left // 2)
        damage = _unpack(file, self.order, budget, unpacked)
        self.left -= self.left // 2 - max(0, budget.left)
        for member in unpacked:
            if member.fault or places.is_notebook(member.path) or _has_cells(member.data):
                fault = f"The notebook in {places.plain(file.name)} {member.fault}." if member.fault else ""
                yield self._candidate(file, member.data, fault, member.path, member.changed)
        if damage and is_called:
            sentence = f"The archive {places.plain(file.name)} cannot be read ({damage}); hand in the notebook."
            yield self._candidate(file, None, sentence)

    def order(self, path: str) -> tuple | None:
        """How likely a member of an archive is the notebook, by its name; None if it is none."""
        parts = PurePosixPath(path).parts
        if not parts or any(places.is_ignored(part) or part == places.CHECKPOINTS[0] for part in parts):
            return None
        ending = PurePosixPath(path).suffix.lower()
        if not places.is_notebook(path) and ending not in _ENDINGS:
            return None
        units_named = {places.unit_of(part, self.units) for part in parts}
        return not places.is_notebook(path), self.unit not in units_named, units_named != {None}, len(parts), path

    def _candidate(
        self, file: Path, data: bytes | None, fault: str = "", inside: str = "", packed: float | None = None
    ) -> Candidate:
        at = file.relative_to(self.folder if file.is_relative_to(self.folder) else self.home)
        name = f"{at.as_posix()}/{inside}" if inside else at.as_posix()
        units_named = [places.unit_of(part, self.units) for part in PurePosixPath(name).parts]
        is_meant = file.is_relative_to(self.folder) or self.unit in units_named
        return Candidate(name, file, data, fault, inside, packed, file == self.asked and not inside, is_meant)


def _unpack(file: Path, order: Callable, budget: Budget, unpacked: list) -> str:
    """Adds an archive's members to `unpacked`; returns what ended that early."""

    @guarded(lambda error: reason(error))
    def unpack() -> str:
        for member in members(file, order, budget, places.MAX_BYTES):
            unpacked.append(member)
            if len(unpacked) >= LOOKED_AT:
                break
        return ""

    return unpack()


def _has_cells(data: bytes | None) -> bool:
    """Whether bytes look like a notebook, under whatever name."""
    return data is not None and (b'"cells"' in data or b'"worksheets"' in data or b"c\0e\0l\0l\0s\0" in data)
