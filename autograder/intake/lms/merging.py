"""A class's list of students brought up to date by a newer one, perhaps of another system."""

from dataclasses import replace

from autograder import settings
from autograder.intake.lms.matching import Whose
from autograder.intake.lms.students import Student
from autograder.intake.places import listed, plain


def _by_class_id(class_list: list[Student], new: list[Student]) -> dict[str, Student]:
    """The students of a newer list by the ids that the class has; another system may know the same student by another id.

    Raises:
        KitError: two rows are the same student.
    """
    whose, ids = Whose(class_list), {student.id for student in class_list}
    by_id: dict[str, Student] = {}
    for student in new:
        same = None if student.id in ids else whose.find((student.id, *student.also, student.email, student.name))
        recognised = replace(student, id=same, also=(*student.also, student.id)) if same else student
        if recognised.id in by_id:
            both = f"{by_id[recognised.id].name or by_id[recognised.id].id}, {student.name or student.id}"
            raise settings.KitError(f"two rows of the list are the same student, {recognised.id}: {both}.")
        by_id[recognised.id] = recognised
    return by_id


def merged(known: list[Student], new: list[Student]) -> tuple[list[Student], list[str]]:
    """A class after a newer list: new students are added, known ones are brought up to date, nobody is removed.

    Returns:
        the students, and sentences on what has changed.
    """
    before, after = {student.id: student for student in known}, _by_class_id(known, new)
    whole = {}
    for id, old in before.items():
        fresh = after.get(id, old)
        whole[id] = replace(
            old,
            **{field: getattr(fresh, field) or getattr(old, field) for field in ("name", "email", "section")},
            also=tuple(dict.fromkeys(old.also + fresh.also)),
        )
    back = [id for id, student in before.items() if student.left and id in after]
    added = [student for id, student in after.items() if id not in before]
    whole |= {student.id: student for student in added}
    gone = [_id_and_name(student) for id, student in before.items() if id not in after and not student.left]
    whole_list = " (all are in the class's roster.csv)" if len(added) > 3 else ""
    sentences = (
        [f"{len(added)} new: {listed([_id_and_name(student) for student in added])}{whole_list}."] if added else []
    )
    if back:
        had, how = "is" if len(back) == 1 else "are", "`roster --restore ID` takes a student in again."
        sentences.append(f"{listed(back)} had left and {had} in this list again; {how}")
    if known and gone:
        verb, stays = ("is", "stays") if len(gone) == 1 else ("are", "stay")
        how = "`roster --remove ID` takes a student out."
        sentences.append(f"{', '.join(gone)} {verb} not in this list and {stays}; {how}")
    return list(whole.values()), sentences


def _id_and_name(student: Student) -> str:
    """A student by id and name, as far as that is known."""
    name = " ".join(filter(None, student.first_and_last))
    return f"{plain(student.id)} ({plain(name)})" if name else plain(student.id)
