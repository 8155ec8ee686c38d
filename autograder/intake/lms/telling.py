"""Says in a few lines what became of a download, and names whatever is left for the instructor to do."""

from collections.abc import Iterator

from autograder.intake.lms.collecting import Collected
from autograder.intake.lms.students import students
from autograder.intake.places import plain

MOST = 10  # the most names of one list that are shown
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
    full_names = {student.id: " ".join(filter(None, student.first_and_last)) for student in students()}
    counts = [f"{len(names)} {description}" for key, description in _TAKEN.items() if (names := getattr(said, key))]
    yield f"{said.unit}, from {said.system}: {', '.join(counts) or 'nothing'}."
    if said.zoneless:
        yield f"{_times_in_words(said.zoneless)} without a zone {'is' if said.zoneless == 1 else 'are'} read as {said.zone}."
    if said.retimed:
        yield f"{_times_in_words(len(said.retimed))} changed."
    for key, description in _LEFT.items():
        if names := getattr(said, key):
            shown = names if whole else names[:MOST]
            more = len(names) - len(shown)
            description = description.replace("files match", "file matches") if len(names) == 1 else description
            listed = ", ".join(_with_full_name(name, full_names) for name in shown)
            yield f"{len(names)} {description}: {listed}" + (
                f" … and {more} more (`--all-names` names them)" if more else ""
            )


def _times_in_words(count: int) -> str:
    return f"{count} {'time' if count == 1 else 'times'}"


def _with_full_name(name: str, full_names: dict[str, str]) -> str:
    """A student by id and name, as far as the class's list has it; a file by its path."""
    return f"{plain(name)} ({plain(full_names[name])})" if full_names.get(name) else plain(name)
