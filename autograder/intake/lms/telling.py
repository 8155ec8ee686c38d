"""Says in a few lines what became of a download; whatever is left for the instructor is named."""

from collections.abc import Iterator

from autograder.intake.lms.collecting import Collected
from autograder.intake.lms.students import students
from autograder.intake.places import plain

MOST = 10  # names of one list
_TAKEN = {"new": "new", "replaced": "handed in again (the earlier one is in `earlier/`)", "same": "already here"}
_LEFT = {
    "older": "older than what is here, and left out",
    "late": "marked as late, without the time (`--times FILE` can say it)",
    "untold": "without a time in the table of times",
    "otherwise": "under another name, perhaps a group's: give it to the other members, too",
    "unmatched": "files match nobody in the class's list, or two students",
    "unread": "cannot be read",
    "large": "too large to be taken: have their outputs cleared",
    "missing": "missing",
}


def told(said: Collected, whole: bool = False) -> Iterator[str]:
    """What became of a download.

    Args:
        whole: whether to name all of each list; otherwise a long one is cut.
    """
    called = {one.id: " ".join(filter(None, one.first_and_last)) for one in students()}
    counts = [f"{len(names)} {what}" for key, what in _TAKEN.items() if (names := getattr(said, key))]
    yield f"{said.unit}, from {said.system}: {', '.join(counts) or 'nothing'}."
    if said.zoneless:
        yield f"{_times(said.zoneless)} without a zone {'is' if said.zoneless == 1 else 'are'} read as {said.zone}."
    if said.retimed:
        yield f"{_times(len(said.retimed))} changed."
    for key, what in _LEFT.items():
        if names := getattr(said, key):
            shown = names if whole else names[:MOST]
            more = len(names) - len(shown)
            what = what.replace("files match", "file matches") if len(names) == 1 else what
            listed = ", ".join(_named(one, called) for one in shown)
            yield f"{len(names)} {what}: {listed}" + (f" … and {more} more (`--all-names` names them)" if more else "")


def _times(count: int) -> str:
    return f"{count} {'time' if count == 1 else 'times'}"


def _named(one: str, called: dict[str, str]) -> str:
    """A student by id and name, as far as the class's list has it; a file by its path."""
    return f"{plain(one)} ({plain(called[one])})" if called.get(one) else plain(one)
