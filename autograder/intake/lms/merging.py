"""A class's list of students brought up to date by a newer one, perhaps of another system."""

from dataclasses import replace

from autograder import settings
from autograder.intake.lms.matching import Whose
from autograder.intake.lms.students import Student
from autograder.intake.places import listed, plain


def _recognised(known: list[Student], new: list[Student]) -> dict[str, Student]:
    """A newer list by the ids that the class has: another system calls the same student by another id.

    Raises:
        KitError: two rows are the same student.
    """
    whose, ids = Whose(known), {one.id for one in known}
    found: dict[str, Student] = {}
    for one in new:
        same = None if one.id in ids else whose.find((one.id, *one.also, one.email, one.name))
        whoever = replace(one, id=same, also=(*one.also, one.id)) if same else one
        if whoever.id in found:
            both = f"{found[whoever.id].name or found[whoever.id].id}, {one.name or one.id}"
            raise settings.KitError(f"two rows of the list are the same student, {whoever.id}: {both}.")
        found[whoever.id] = whoever
    return found


def merged(known: list[Student], new: list[Student]) -> tuple[list[Student], list[str]]:
    """A class after a newer list: new students are added, known ones are brought up to date, nobody is removed.

    Returns:
        the students, and sentences on what has changed.
    """
    before, after = {one.id: one for one in known}, _recognised(known, new)
    whole = {}
    for id, old in before.items():
        fresh = after.get(id, old)
        whole[id] = replace(
            old,
            **{field: getattr(fresh, field) or getattr(old, field) for field in ("name", "email", "section")},
            also=tuple(dict.fromkeys(old.also + fresh.also)),
        )
    back = [id for id, one in before.items() if one.left and id in after]
    added = [one for id, one in after.items() if id not in before]
    whole |= {one.id: one for one in added}
    gone = [_named(one) for id, one in before.items() if id not in after and not one.left]
    whole_list = " (all are in the class's roster.csv)" if len(added) > 3 else ""
    said = [f"{len(added)} new: {listed([_named(one) for one in added])}{whole_list}."] if added else []
    if back:
        had, how = "is" if len(back) == 1 else "are", "`roster --restore ID` takes a student in again."
        said.append(f"{listed(back)} had left and {had} in this list again; {how}")
    if known and gone:
        verb, stays = ("is", "stays") if len(gone) == 1 else ("are", "stay")
        how = "`roster --remove ID` takes a student out."
        said.append(f"{', '.join(gone)} {verb} not in this list and {stays}; {how}")
    return list(whole.values()), said


def _named(one: Student) -> str:
    """A student by id and name, as far as that is known."""
    name = " ".join(filter(None, one.first_and_last))
    return f"{plain(one.id)} ({plain(name)})" if name else plain(one.id)
