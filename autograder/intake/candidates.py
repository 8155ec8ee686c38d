"""Reads what may be the notebook handed in: files that are called so, files that begin so, and what archives hold."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.intake import places
from autograder.intake.archive import Budget, Member, members
from autograder.intake.guard import guarded, reason

LOOKED_AT = 40  # notebooks of a submission that are compared
OPENED = 150  # files of a submission whose first bytes are looked at
UNPACKED = 300_000_000  # bytes of all archives of a submission; each gets half of what is left, so that none takes all
_STARTS = (b"{", b"\xef\xbb\xbf{", b"\xff\xfe{", b"\xfe\xff\0{", b"<<<<<<<", b"PK\x03\x04")
_ENDINGS = ("", ".json", ".txt", ".zip")  # of members of archives that are looked at, beside notebooks


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
        """The candidates among files, as many as are compared; of those with the same bytes the first."""
        found: dict[bytes | str, Candidate] = {}
        likely = sorted(files, key=lambda file: (file != self.asked, not places.is_notebook(file.name)))
        for file in likely[:OPENED]:
            for one in self._of(file):
                self.taken.add(file)
                found.setdefault(one.name if one.data is None else one.data, one)
                if len(found) >= LOOKED_AT:
                    return list(found.values())
        return list(found.values())

    def _of(self, file: Path) -> Iterable[Candidate]:
        is_called = places.is_notebook(file.name) or file.suffix.lower() == ".zip"
        start = places.read(file, 8)[0]
        if not is_called and not (start or b"").startswith(_STARTS):
            return []
        if (start or b"")[:4] == b"PK\x03\x04" or file.suffix.lower() == ".zip":
            return [one for one in self._packed(file, is_called) if one]
        data, fault = places.read(file)
        if not is_called and (data is None or not _has_cells(data)):
            return []
        return [self._made(file, data, fault)]

    def _packed(self, file: Path, is_called: bool) -> Iterator[Candidate | None]:
        """What is in an archive; one that is damaged and called a notebook or an archive stands for what it held."""
        found: list[Member] = []
        budget = Budget(self.left // 2)
        damage = _unpack(file, self.order, budget, found)
        self.left -= self.left // 2 - max(0, budget.left)
        for one in found:
            if one.fault or places.is_notebook(one.path) or _has_cells(one.data):
                fault = f"The notebook in {places.plain(file.name)} {one.fault}." if one.fault else ""
                yield self._made(file, one.data, fault, one.path, one.changed)
        if damage and is_called:
            said = f"The archive {places.plain(file.name)} cannot be read ({damage}); hand in the notebook."
            yield self._made(file, None, said)

    def order(self, path: str) -> tuple | None:
        """How likely a member of an archive is the notebook, by its name; None if it is none."""
        parts = PurePosixPath(path).parts
        if not parts or any(places.is_ignored(one) or one == places.CHECKPOINTS[0] for one in parts):
            return None
        ending = PurePosixPath(path).suffix.lower()
        if not places.is_notebook(path) and ending not in _ENDINGS:
            return None
        says = {places.unit_of(part, self.units) for part in parts}
        return not places.is_notebook(path), self.unit not in says, says != {None}, len(parts), path

    def _made(
        self, file: Path, data: bytes | None, fault: str = "", inside: str = "", packed: float | None = None
    ) -> Candidate:
        at = file.relative_to(self.folder if file.is_relative_to(self.folder) else self.home)
        name = f"{at.as_posix()}/{inside}" if inside else at.as_posix()
        says = [places.unit_of(part, self.units) for part in PurePosixPath(name).parts]
        is_meant = file.is_relative_to(self.folder) or self.unit in says
        return Candidate(name, file, data, fault, inside, packed, file == self.asked and not inside, is_meant)


def _unpack(file: Path, order: Callable, budget: Budget, found: list) -> str:
    """Adds an archive's members to `found`; returns what ended that early."""

    @guarded(lambda error: reason(error))
    def unpack() -> str:
        for member in members(file, order, budget, places.MAX_BYTES):
            found.append(member)
            if len(found) >= LOOKED_AT:
                break
        return ""

    return unpack()


def _has_cells(data: bytes | None) -> bool:
    """Whether bytes look like a notebook, under whatever name."""
    return data is not None and (b'"cells"' in data or b'"worksheets"' in data or b"c\0e\0l\0l\0s\0" in data)
