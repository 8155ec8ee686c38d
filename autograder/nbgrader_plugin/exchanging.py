"""What the kit adds to nbgrader's exchange: no student's link is followed, no work is lost, and everybody gets the feedback."""

import os
import pwd
import shutil
from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback
from nbgrader.utils import ignore_patterns, notebook_hash

from autograder import settings
from autograder.files import write_atomically
from autograder.gradebook.store import roster
from autograder.intake.guard import guarded
from autograder.intake.lms.collecting import put_aside
from autograder.intake.places import SECRET, is_usable, listed, plain, read


class Collect(ExchangeCollect):
    """Collects as nbgrader does, and leaves out links and what one student laid down in another's name.

    Anybody can write to an exchange, and nbgrader would follow a link there with the instructor's rights. What was
    handed in before moves to the class's folder `earlier`.
    """

    src_records: list[dict]  # set by nbgrader's `init_src`

    def init_src(self):
        self._students, self._warned_of = set(roster()), set()
        super().init_src()

    def _sort_by_timestamp(self, records):
        """The records of one student, the newest first; those that can be collected come before the others."""
        newest = super()._sort_by_timestamp(records)
        return [record for record in newest if not self._fault(record)] or newest

    def _fault(self, record: dict) -> str:
        """Why something in the exchange is not collected, logged once; "" if it is collected."""
        folder, student = Path(self.inbound_path) / record["filename"], record["username"]
        owner = _owner(folder)
        fault = "is a link" if folder.is_symlink() else "" if is_usable(student) else "names nobody"
        if not fault and self.get_size(folder) > 1000 * self.coursedir.max_dir_size:
            fault = f"is larger than {self.coursedir.max_dir_size} kB"
        if not fault and self.check_owner and owner != student and owner in self._students:
            fault = f"was laid there by {owner}"
        if fault and folder not in self._warned_of:
            self._warned_of.add(folder)
            self.log.warning("%s %s, and was left out.", plain(folder.name), fault)
        return fault

    def copy_files(self):
        self.src_records = [record for record in self.src_records if not self._fault(record)]
        for record in self.src_records:
            folder = Path(self._submitted(record["username"]))
            before = self.coursedir.get_existing_timestamp(folder) if folder.is_dir() else None
            newer = self.update and (before is None or record["timestamp"] > before)
            if folder.is_dir() and (newer or (self.before_duedate and before != record["timestamp"])):
                put_aside(record["username"], self.coursedir.assignment_id, folder)
        super().copy_files()

    def _submitted(self, student: str) -> str:
        return self.coursedir.format_path(self.coursedir.submitted_directory, student, self.coursedir.assignment_id)

    def do_copy(self, src, dest, log=None):
        """Copies one student's folder; a link that appears meanwhile is copied as a link."""
        unwanted = ignore_patterns(
            self.coursedir.ignore, self.coursedir.include, self.coursedir.max_file_size, self.log
        )

        def ignored(folder, names):
            links = [name for name in names if os.path.islink(os.path.join(folder, name))]
            if links:
                self.log.warning("%s: %s: links are left out.", plain(Path(src).name), listed(links))
            return [*links, *unwanted(folder, [name for name in names if name not in links])]

        shutil.copytree(src, dest, symlinks=True, ignore=ignored)
        for folder, _, names in os.walk(dest) if self.coursedir.groupshared else ():
            os.chmod(folder, 0o2770 | os.stat(folder).st_mode & 0o2777)
            for file in (Path(folder, name) for name in names):
                os.chmod(file, 0o660 | file.lstat().st_mode & 0o777)


def _owner(folder: Path) -> str:
    try:
        return pwd.getpwuid(os.lstat(folder).st_uid).pw_name
    except (KeyError, OSError):
        return ""


class ReleaseFeedback(ExchangeReleaseFeedback):
    """Releases the feedback of those who handed in through the exchange, also of notebooks that they had renamed."""

    def copy_files(self):
        unit, others = self.coursedir.assignment_id, []
        for page in sorted((settings.class_folder() / "feedback").glob(f"*/{unit}/{unit}.html")):
            student = page.parent.parent.name
            if not self._is_asked_for(student):
                continue
            secret = _secret(page.with_name(SECRET))
            if not secret:
                others.append(student)
            for name in {unit, *_handed_in(student, unit)} if secret else ():
                released = Path(self.dest_path) / f"{notebook_hash(secret=secret, notebook_id=name)}.html"
                write_atomically(released, page.read_text(encoding="utf-8")).chmod(0o644)
        if others:
            how = "feedback of those who did not hand in through the exchange is not released there"
            self.log.warning("%s: %s", how, listed(others))

    def _is_asked_for(self, student: str) -> bool:
        return self.coursedir.student_id in ("", "*", student) and (
            student not in self.coursedir.student_id_exclude.split(",")
        )


@guarded(lambda *_: "")
def _secret(file: Path) -> str:
    data, _ = read(file)
    return "" if data is None else data.decode()


def _handed_in(student: str, unit: str) -> list[str]:
    """What a student's notebooks were called; nbgrader looks for the feedback of each under its name."""
    return [file.stem for file in (settings.class_folder() / "submitted" / student / unit).glob("*.ipynb")]
