"""What a job has on disk is bounded, measured and removed, however deep its folders are."""

import mmap
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, chdir
from pathlib import Path

import pytest
from in_sandbox import run

from autograder.sandbox import job, levels
from autograder.sandbox.inside import disk

DEEP = 5000
MB = 1 << 20
ALLOWED = 64 * MB
LONG = "n" * 255
# Deleted files that are held by a page of memory alone: nothing has them open.
MAPPED = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
def hold(name, size):
    file = os.open(name, os.O_CREAT | os.O_RDWR)
    os.write(file, bytes(size))
    libc.mmap(None, 4096, 1, 1, file, 0)
    os.unlink(name)
    os.close(file)
"""
BURSTS = {
    "large files": "for n in range(60):\n    with open(f'f{n}', 'wb') as file: file.write(bytes(1 << 24))",
    "deleted and mapped": MAPPED + "for n in range(60): hold('f', 1 << 24)",
    "promised": (
        "import ctypes, os\nfor n in range(10):\n    file = os.open(f'f{n}', os.O_CREAT | os.O_RDWR)\n"
        "    ctypes.CDLL(None).fallocate(file, 1, ctypes.c_long(0), ctypes.c_long(1 << 26))\nimport time; time.sleep(0.5)"
    ),
    "passed on": (
        "import os, socket\na, b = socket.socketpair()\nfor n in range(40):\n    file = os.open('f', os.O_CREAT | os.O_RDWR)\n"
        "    os.write(file, bytes(1 << 24)); os.unlink('f')\n    socket.send_fds(a, [b'x'], [file]); os.close(file)"
    ),
}
# Files that are open in a thread alone: one whose open files are its own, or one that outlives the first.
THREAD = """
import threading
held = threading.Event()
def work():
    UNSHARED
    MADE
    held.set()
    threading.Event().wait()
threading.Thread(target=work).start()
"""
UNSHARED = "libc.unshare(0x400)"
MANY = (
    "for n in range(40):\n        file = os.open('f', os.O_CREAT | os.O_RDWR); os.unlink('f')\n"
    "        os.write(file, bytes(1 << 24))"
)
ENDED = f"libc.syscall({60 if platform.machine() == 'x86_64' else 93}, 0)"
BURSTS |= {
    "apart": MAPPED
    + THREAD.replace("UNSHARED", "libc.syscall(436, 1 << 20, 1 << 20, 2)").replace("MADE", MANY)
    + "held.wait(3)",
    "outlived": MAPPED + THREAD.replace("UNSHARED", "pass").replace("MADE", MANY) + ENDED,
}
EMPTY = "import os\nfor n in range(60_000): os.close(os.open(f'f{n}', os.O_CREAT))\nprint('made')"


@pytest.fixture
def deep(tmp_path):
    with chdir(tmp_path):
        for _ in range(DEEP):
            os.mkdir("d")
            os.chdir("d")
        with open("file", "wb") as file:
            file.write(bytes(1 << 20))
    yield tmp_path
    disk.remove(tmp_path)


def test_a_file_below_thousands_of_folders_is_counted(deep):
    assert 1 << 20 <= disk.used(deep, os.getpid()) < (1 << 20) + DEEP * 8192


def test_folders_within_each_other_are_removed(deep):
    disk.remove(deep)
    assert not deep.exists()


def test_what_is_deleted_and_still_open_is_counted(tmp_path):
    before = disk.used(tmp_path, os.getpid())
    with open(tmp_path / "file", "wb") as file:
        file.write(bytes(1 << 20))
        os.unlink(tmp_path / "file")
        file.flush()
        assert disk.used(tmp_path, os.getpid()) >= before + (1 << 20)


def test_what_cannot_be_seen_counts_as_too_much(tmp_path, monkeypatch):
    """A folder that nobody may read; for root, who may read all, a folder whose opening fails."""

    def refused(*args, **options):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "closed").mkdir()
    monkeypatch.setattr(os, "open", refused)
    assert disk.used(tmp_path, os.getpid()) == float("inf")


def as_another(work):
    """Does something in a process without root's rights, which would hide what modes of files forbid."""
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setresuid(65534, 65534, 65534)
            work()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


@pytest.fixture
def open_to_all():
    """A folder that any user can work in, without one above it that hinders."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o777)
        yield Path(place)


def test_no_mode_name_or_number_keeps_a_folder_from_being_removed(open_to_all):
    def build():
        for name in ("work", "work/inner", "work/.lifted-1", "work/.lifted-2", f"work/{LONG}", f"work/{LONG}/{LONG}"):
            (open_to_all / name).mkdir()
        for name in ("work/.lifted-1/f", "work/.lifted-2/f", "work/inner/f", f"work/{LONG}/{LONG}/f", f"work/{LONG}/f"):
            (open_to_all / name).write_text("x")
        for name, mode in (("unseen", 0o000), ("unchanged", 0o500), ("unlisted", 0o300), ("closed", 0o600)):
            (open_to_all / "work" / name / "below").mkdir(parents=True)
            (open_to_all / "work" / name / "below" / "file").write_text("x")
            (open_to_all / "work" / name / "below").chmod(mode)
            (open_to_all / "work" / name).chmod(mode)
        (open_to_all / "work").chmod(0)

    as_another(build)
    assert (open_to_all / "work").exists()
    as_another(lambda: disk.remove(open_to_all / "work"))
    assert not (open_to_all / "work").exists()


def test_nothing_outside_is_removed_or_changed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o750)
    (outside / "kept").write_text("x")
    work = tmp_path / "work"
    work.mkdir()
    (work / "link").symlink_to(outside)
    (work / "file").symlink_to(outside / "kept")
    disk.remove(work)
    assert not work.exists() and (outside / "kept").exists() and outside.stat().st_mode & 0o777 == 0o750
    (tmp_path / "link").symlink_to(outside)
    disk.remove(tmp_path / "link")
    disk.remove(tmp_path / "none")
    disk.remove(tmp_path / "none" / "below")
    assert (outside / "kept").exists()


def test_a_file_that_is_open_twice_is_counted_once(tmp_path):
    with open(tmp_path / "file", "wb+") as file:
        file.write(bytes(MB))
        file.flush()
        os.unlink(tmp_path / "file")
        twice = os.dup(file.fileno())
        mapped = mmap.mmap(file.fileno(), MB)
        assert MB <= disk.used(tmp_path, os.getpid(), lost=0) < 2 * MB
        mapped.close()
        os.close(twice)


def test_empty_files_take_room_as_well(tmp_path):
    for number in range(100):
        (tmp_path / f"{number}").touch()
    assert disk.used(tmp_path, os.getpid()) >= 100 * disk.ENTRY


@pytest.fixture
def holder(tmp_path):
    """A process that holds a deleted file of 8 MB by a page of its memory."""
    source = MAPPED + "hold(os.path.join(os.getcwd(), 'f'), 1 << 23)\nprint('held', flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", source], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process.pid
        process.kill()


def test_what_is_deleted_and_mapped_is_counted(tmp_path, holder):
    assert disk.used(tmp_path, holder) < MB <= 8 * MB <= disk.used(tmp_path, holder, lost=20 * MB) < 9 * MB


def test_what_is_mapped_and_cannot_be_seen_is_what_was_written_and_lost(tmp_path, holder, monkeypatch):
    stat = os.stat

    def refused(path, **options):
        if "map_files" in str(path):
            raise PermissionError(1, "Operation not permitted")
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", refused)
    assert disk.used(tmp_path, holder, lost=5 * MB) == 5 * MB
    assert 8 * MB <= disk.used(tmp_path, holder, lost=20 * MB) < 9 * MB


@pytest.fixture
def threaded(tmp_path):
    """Starts a process of a thread's files; the first thread says that they are there, and then waits, or ends."""
    with ExitStack() as stack:

        def start(unshared, made, then="input()"):
            source = MAPPED + THREAD.replace("UNSHARED", unshared).replace("MADE", made)
            source += f"held.wait()\nprint('held', flush=True)\n{then}"
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", source],
                    cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
            )  # fmt: skip
            stack.callback(process.kill)
            assert process.stdout.readline() == "held\n"
            return process.pid

        yield start


OPENED = "file = os.open('f', os.O_CREAT | os.O_RDWR); os.unlink('f'); os.write(file, bytes(1 << 23))"


def becomes(process, state):
    """Whether the first thread of a process is within a second "R", running, "T", stopped, or "Z", ended."""
    until = time.monotonic() + 1
    while (found := Path(f"/proc/{process}/stat").read_text().split()[2]) != state and time.monotonic() < until:
        time.sleep(0.001)
    return found == state


@pytest.mark.parametrize("unshared", [UNSHARED, "pass"])
@pytest.mark.parametrize("then", ["input()", ENDED])
def test_what_is_open_in_any_thread_is_counted(tmp_path, threaded, unshared, then):
    process = threaded(unshared, OPENED, then)
    assert then != ENDED or becomes(process, "Z")
    assert 8 * MB <= disk.used(tmp_path, process) < 9 * MB


def test_what_is_mapped_is_what_was_written_and_lost_once_the_first_thread_has_ended(tmp_path, threaded):
    process = threaded("pass", "hold(os.path.join(os.getcwd(), 'f'), 1 << 23)", ENDED)
    assert becomes(process, "Z")
    assert disk.used(tmp_path, process, lost=5 * MB) == 5 * MB
    assert 8 * MB <= disk.used(tmp_path, process, lost=20 * MB) < 9 * MB


@pytest.mark.skipif(bool(disk._apart([str(os.getpid())] * 2)[1:]), reason="threads cannot be compared here")
def test_threads_are_looked_at_once_for_the_files_that_they_share(threaded):
    threads = os.listdir(f"/proc/{threaded('pass', 'pass')}/task")
    assert len(threads) == 2 and len(disk._apart(threads)) == 1
    threads = os.listdir(f"/proc/{threaded(UNSHARED, 'pass')}/task")
    assert disk._apart(threads) == threads


@pytest.fixture
def busy():
    """A process that computes."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield process.pid
    process.kill()
    process.wait()


def test_a_quota_measures_where_room_is_lost_and_the_process_stands_still(tmp_path, monkeypatch, busy):
    room, stopped = [1000 * MB], []

    def used(folder, process, lost=None):
        stopped.append(becomes(process, "T"))
        return 48 * MB

    monkeypatch.setattr(disk, "_room", lambda *_: room[0])
    monkeypatch.setattr(disk, "used", used)
    quota = disk.Quota(tmp_path, ALLOWED)
    for lost, looks in ((0, 0), (60, 0), (70, 1), (80, 1), (87, 2), (40, 2), (54, 2), (60, 3)):
        room[0] = (1000 - lost) * MB
        assert not quota.exceeded(busy) and len(stopped) == looks, lost
    assert all(stopped) and becomes(busy, "R")
    monkeypatch.setattr(disk, "used", lambda *arguments: ALLOWED + 1)
    assert quota.exceeded(busy, anyway=True) and not quota.exceeded(busy)


def test_a_folder_that_is_gone_ends_no_watch(tmp_path):
    (tmp_path / "work").mkdir()
    quota = disk.Quota(tmp_path / "work", ALLOWED)
    (tmp_path / "work").rmdir()
    assert not quota.exceeded(os.getpid(), anyway=True)


@pytest.mark.parametrize("level", levels.available())
def test_a_job_that_removes_its_folder_or_takes_the_name_of_the_next_harms_none(level):
    source = (
        "import os, re\nhere = os.getcwd()\nwhere, number = os.path.dirname(here), int((re.findall('[0-9]+$', here) or [0])[0])"
        "\nfor one in range(number, number + 40):\n    try: os.mkdir(f'{where}/job-{one}')\n    except OSError: pass\n"
        "try: os.rmdir(here)\nexcept OSError: pass\nimport time; time.sleep(0.3)\nprint('left')"
    )
    assert "left" in str(run(level, source).outputs[0])
    assert run(level, "print('next')").outputs[0][0]["text"] == "next\n"


@pytest.fixture(params=[level for level in levels.available() if level != levels.BUBBLEWRAP])
def in_memory(request):
    """A level whose scratch folders lie where nobody else writes."""
    place = tempfile.mkdtemp(dir="/dev/shm")
    before, tempfile.tempdir = tempfile.tempdir, place
    kept = job._running.pop(request.param, None)
    yield request.param, place
    tempfile.tempdir = before
    job._running.pop(request.param).end()
    if kept:
        job._running[request.param] = kept
    assert os.listdir(place) == []
    os.rmdir(place)


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/shm")
@pytest.mark.parametrize("burst", BURSTS)
def test_a_burst_is_bounded_while_it_writes(in_memory, burst):
    level, place = in_memory
    run(level, "1")
    free, lowest, over = os.statvfs(place), [1 << 62], threading.Event()

    def watch():
        while not over.wait(0.001):
            lowest[0] = min(lowest[0], os.statvfs(place).f_bfree)

    watcher = threading.Thread(target=watch)
    watcher.start()
    run(level, BURSTS[burst])
    over.set()
    watcher.join()
    assert (free.f_bfree - lowest[0]) * free.f_frsize < 4 * ALLOWED  # room for a machine on which much else runs


def test_the_number_of_files_is_bounded(in_memory):
    level, _ = in_memory
    assert "wrote more to disk" in run(level, EMPTY, seconds=20).fatal[0]


@pytest.mark.skipif(levels.BUBBLEWRAP not in levels.available(), reason="no bubblewrap here")
def test_the_number_of_files_is_bounded_in_bubblewrap():
    assert "[Errno 28] No space left" in str(run(levels.BUBBLEWRAP, EMPTY, seconds=20).outputs[0])
