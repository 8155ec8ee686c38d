"""Downloads from Canvas, Moodle and Gradescope: whose each file is, as far as names and lists say, and when it was handed in.

Which system a download comes from is known by what the system itself writes. Students choose how their files are called, too,
and one of them may call a file as a system would: that file is the student's, and changes nothing for the others.
"""

import os
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath

import yaml

from autograder import settings
from autograder.intake.guard import reason
from autograder.intake.lms.matching import Whose

LARGEST = 100_000_000  # bytes of a file that is taken
GRADESCOPE = "submission_metadata.yml"
# lastfirst[_LATE]_USER_FILE_name.ipynb: names in small letters, Canvas's number of the user, and of the file
_CANVAS = re.compile(
    r"(?!(?:late_)?anon_)(?P<who>.+?)(?P<late>_late)?_(?P<number>\d+)_(?P<file>\d+)_(?P<name>.+)",
    re.IGNORECASE | re.DOTALL,
)
# Jane Doe_PARTICIPANT_assignsubmission_file_, a folder or with the name of the file behind it; nothing that Canvas has named
_MOODLE = re.compile(
    r"(?P<who>(?:(?!_\d+_\d+_).)+?)_(?P<number>\d+)_assignsubmission_(?P<kind>file|onlinetext)_?(?P<name>.*)", re.DOTALL
)
_ANONYMOUS = re.compile(r"(late_)?anon_", re.IGNORECASE)
_ATTEMPT = re.compile(r"(.+?)(?:-(\d+)| \((\d+)\))?(\.[^.]*)?", re.DOTALL)
_HIDDEN = re.compile(r"(^|/)(\.|__MACOSX/|__pycache__/)")


@dataclass(frozen=True)
class Handed:
    """A file that somebody handed in.

    Attributes:
        path: where it lies in the download.
        name: what it was called when it was handed in.
        who: what tells whose it is: numbers, ids, e-mail addresses, names, the surest first.
        read: gives its bytes.
        at: when it was handed in, if the download says so.
        late: whether the download marks it as late.
        order: of a student's files of one name, the last in this order is the newest.
    """

    path: str
    name: str
    who: tuple[str, ...]
    read: Callable[[], bytes]
    at: datetime | None = None
    late: bool = False
    order: tuple = ()


@dataclass(frozen=True)
class Download:
    """What is in a download, the system that it comes from, and the files of which nothing tells whose they are.

    Attributes:
        large: files that are too large to be taken.
    """

    system: str
    handed: list[Handed]
    strangers: list[str]
    large: list[str] = field(default_factory=list)


def opened(place: Path, whose: Whose) -> Download:
    """What a zip or a folder holds that students handed in.

    Raises:
        KitError: it cannot be read, or holds no file.
    """
    all_files = dict(_files(place))
    files, large = (
        {path: read for path, read in all_files.items() if read},
        [path for path, read in all_files.items() if not read],
    )
    if not files:
        raise settings.KitError(f"{place} holds no file that somebody handed in.")
    return replace(_by_system(files, place, whose), large=large)


def _by_system(files: dict, place: Path, whose: Whose) -> Download:
    """What is in a download, whose system is known by a list that lies above all files, or by the names of most."""
    if (listing := _listing(files, whose)) and (submissions := _submissions(files, listing)):
        return _gradescope(files, listing, submissions)
    moodle = {path: _named_by_moodle(path, whose) for path in files}
    folders = {PurePosixPath(path).parent for path in files}
    flat = len(folders) == 1 and not any(map(whose.knows, folders.pop().parts))  # as Canvas packs them
    if flat and all(_ANONYMOUS.match(PurePosixPath(path).name) for path in files):
        raise settings.KitError(
            f"{place} is of an anonymous assignment: show the names in Canvas and download it again."
        )
    if _most_are_named(moodle):
        return _by_name("moodle", files, moodle)
    canvas = {path: _CANVAS.fullmatch(PurePosixPath(path).name) for path in files}
    if flat and _most_are_named(canvas):
        return _by_name("canvas", files, canvas)
    return _by_folder(files)


def _most_are_named(matched: Mapping[str, re.Match | None]) -> bool:
    """Whether most of what lies at the top of a download is called as a system calls it; of a folder, most files in it.

    A student who has a folder there counts once, however many files it holds. Other files beside folders do not count.
    """
    parts_by_path = {path: PurePosixPath(path).parts for path in matched}
    depth = len(os.path.commonprefix([parts[:-1] for parts in parts_by_path.values()]))
    in_folders = {path for path, parts in parts_by_path.items() if len(parts) > depth + 1}
    named_by_entry = defaultdict(list)
    for path, match in matched.items():
        if match or path in in_folders or not in_folders:
            named_by_entry[parts_by_path[path][depth]].append(match is not None)
    return _are_most([_are_most(named) for named in named_by_entry.values()])


def _are_most(told: list[bool]) -> bool:
    return 2 * sum(told) > len(told)


def _files(place: Path) -> Iterator[tuple[str, Callable[[], bytes] | None]]:
    """The files of a zip or folder: paths as text, and what reads each; None for one that is too large."""
    if place.is_dir():
        for file in sorted(place.rglob("*")):
            path = file.relative_to(place).as_posix()
            if file.is_file() and not file.is_symlink() and not _HIDDEN.search(path):
                yield path, file.read_bytes
        return
    try:
        archive = zipfile.ZipFile(place)
    except (OSError, zipfile.BadZipFile) as error:
        raise settings.KitError(f"{place} is no zip and no folder ({reason(error)}).") from None
    for member in archive.infolist():
        if not member.is_dir() and not _HIDDEN.search(member.filename):
            large = member.file_size > LARGEST
            yield member.filename, None if large else partial(archive.read, member)


def _named_by_moodle(path: str, whose: Whose) -> re.Match | None:
    """The uppermost part of a path that is called as Moodle calls it; none where a student's own folder lies above it."""
    for part in PurePosixPath(path).parts:
        if match := _MOODLE.fullmatch(part):
            return match
        if whose.knows(part):
            return None
    return None


def _by_name(system: str, files: dict, matched: Mapping[str, re.Match | None]) -> Download:
    """A download whose system puts into each name whose the file is; `matched` has for each path what its name says."""
    handed, strangers = [], []
    for path, match in matched.items():
        if match is None or match.groupdict().get("kind") == "onlinetext":
            strangers.append(path)
            continue
        fields = match.groupdict()
        name = PurePosixPath(path).name
        name = (fields["name"] if match.string == name else "") or name
        order = (int(fields.get("file") or 0), _attempt_number(name))
        who = (fields["number"], fields["who"])
        handed.append(Handed(path, name, who, files[path], late=bool(fields.get("late")), order=order))
    return Download(system, handed, strangers)


def _attempt_number(name: str) -> int:
    """The number that an LMS or a browser puts behind a name that is handed in again; 0 if there is none."""
    match = _ATTEMPT.fullmatch(name)
    return int(match[2] or match[3] or 0) if match else 0


def _listing(files: dict, whose: Whose) -> str | None:
    """Where Gradescope's list may lie: above all other folders, in one that is no student's; None if no file lies so."""
    lists = [path for path in files if PurePosixPath(path).name == GRADESCOPE]
    listing = min(lists, key=lambda path: len(PurePosixPath(path).parts), default=None)
    if listing is None:
        return None
    root = PurePosixPath(listing).parent
    below = all(PurePosixPath(path).is_relative_to(root) or len(PurePosixPath(path).parts) == 1 for path in files)
    own = any(whose.knows(part) or _MOODLE.fullmatch(part) for part in root.parts)
    return listing if below and not own else None


def _submissions(files: dict, listing: str) -> dict:
    """What a list says of each submission, by the name of its folder; nothing if most folders beside it are none of its own.

    Raises:
        KitError: it cannot be read.
    """
    try:
        submissions = yaml.load(files[listing](), _UntaggedLoader)
    except yaml.YAMLError as error:
        raise settings.KitError(f"{listing} cannot be read ({reason(error)}).") from None
    depth = len(PurePosixPath(listing).parts)
    folders = {parts[depth - 1] for path in files if len(parts := PurePosixPath(path).parts) > depth}
    named = isinstance(submissions, dict) and _are_most([folder in submissions for folder in folders])
    return submissions if named else {}


def _gradescope(files: dict, listing: str, submissions: dict) -> Download:
    """A download from Gradescope, in which a list names each submission's folder, its submitters and the time."""
    root, handed, strangers = PurePosixPath(listing).parent, [], []
    for path in sorted(files.keys() - {listing}):
        inside = PurePosixPath(path)
        inside = inside.relative_to(root) if inside.is_relative_to(root) else inside
        entry = submissions.get(inside.parts[0]) if len(inside.parts) > 1 else None
        details = entry if isinstance(entry, dict) else {}
        people = details.get(":submitters") or []
        if not people:
            strangers.append(path)
        for submitter in people:
            who = tuple(str(submitter[key]) for key in (":sid", ":email", ":name") if submitter.get(key))
            at = details.get(":created_at")
            at = in_utc(at) if isinstance(at, datetime) else None
            handed.append(
                Handed(path, inside.name, who, files[path], at, bool(details.get(":late")), (at or _LONG_AGO,))
            )
    return Download("gradescope", handed, strangers)


_LONG_AGO = datetime(1970, 1, 1)


def in_utc(time: datetime) -> datetime:
    """A time as nbgrader keeps it: in UTC, without a time zone."""
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


class _UntaggedLoader(yaml.SafeLoader):
    """Reads Gradescope's list; values that Ruby has tagged are left out."""


_UntaggedLoader.add_multi_constructor("!", lambda loader, suffix, node: None)


def _by_folder(files: dict) -> Download:
    """A download with a folder for each student, called after the student; all folders above a file may name its student."""
    parts_by_path = {path: PurePosixPath(path).parts for path in files}
    handed = [
        Handed(path, parts[-1], parts[:-1], files[path], order=(_attempt_number(parts[-1]),))
        for path, parts in parts_by_path.items()
        if len(parts) > 1
    ]
    return Download("folders", handed, [path for path, parts in parts_by_path.items() if len(parts) == 1])
