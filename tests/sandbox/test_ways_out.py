"""What is open to a job by other ways than files: sockets, signals, and calls to the kernel that hide or hold up something."""

import ctypes
import json
import os
import platform
import socket
import subprocess
import sys
import threading
import time

import pytest
from conftest import ROOT
from in_sandbox import printed

from autograder.sandbox import levels
from autograder.sandbox.inside import landlock, syscalls

pytestmark = pytest.mark.skipif(not syscalls.available(), reason="no libseccomp here")

SEND = """
import os, socket
one, other = socket.socketpair(socket.AF_UNIX, socket.KIND)
open("own", "w").close()
for address in ADDRESSES:
    for reach in (one.connect, lambda at: one.sendto(b"out", at), lambda at: one.sendmsg([b"out"], [], 0, at)):
        try:
            reach(address)
            print("reached", address)
        except OSError as error:
            print(type(error).__name__)
try:
    socket.send_fds(one, [b"x"], [0])
    print("passed")
except OSError as error:
    print(type(error).__name__)
"""
# An event loop wakes itself up through a pair of sockets.
LOOP = """
import asyncio, socket
async def later(number):
    await asyncio.sleep(0.01)
    return number
async def main():
    loop = asyncio.get_running_loop()
    found = await asyncio.gather(*(later(number) for number in range(3)), asyncio.to_thread(sum, (3, 4)))
    one, other = socket.socketpair()
    one.setblocking(False); other.setblocking(False)
    await loop.sock_sendall(one, b"sent")
    reader, writer = await asyncio.open_connection(sock=one)
    other.sendall(b"back")
    writer.write(b" on"); await writer.drain()
    return found, other.recv(9), await reader.read(4)
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as pool:
    print(pool.submit(asyncio.run, main()).result())
"""
FRAGMENT = "import socket\nfrom multiprocessing import Pipe\na, b = Pipe()\na.send([1]); print(b.recv())"

# Each call's bits above the 32 that the kernel looks at are set as well: a filter that compares all 64 would let it pass.
CALLS = """
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
one, other = socket.socketpair()
file = os.open("own", os.O_RDWR | os.O_CREAT)
number = (ctypes.c_int * 2)(0, PROCESS)
def call(name, *arguments):
    for high in (0, 1 << 40):
        told = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
        place = {"prctl": 0}.get(name, 1)
        told[place] = ctypes.c_long(arguments[place] | high)
        ctypes.set_errno(0)
        if libc.syscall(ctypes.c_long(NUMBERS[name]), *told) >= 0:
            print("done", name, hex(arguments[place]), high)
"""
NUMBERS = {"x86_64": {"ioctl": 16, "fcntl": 72, "prctl": 157}, "aarch64": {"ioctl": 29, "fcntl": 25, "prctl": 167}}
OWNERS = """
for descriptor in (one.fileno(), file):
    call("fcntl", descriptor, 8, PROCESS)  # F_SETOWN
    call("fcntl", descriptor, 10, 9)  # F_SETSIG
    call("fcntl", descriptor, 15, number)  # F_SETOWN_EX
call("ioctl", one.fileno(), 0x8901, ctypes.byref(ctypes.c_int(PROCESS)))  # FIOSETOWN
call("ioctl", one.fileno(), 0x8902, ctypes.byref(ctypes.c_int(PROCESS)))  # SIOCSPGRP
one.setblocking(False)
call("ioctl", one.fileno(), 0x5452, ctypes.byref(ctypes.c_int(1)))  # FIOASYNC: from now on the owner is signalled
other.send(b"x")
"""
CHANGES = """
call("ioctl", file, 0x40086602, ctypes.byref(ctypes.c_long(64)))  # FS_IOC_SETFLAGS: not to be dumped
call("fcntl", file, 1024, 1)  # F_SETLEASE: whoever opens the file waits
call("prctl", 1, 0)  # PR_SET_PDEATHSIG
call("prctl", 4, 0)  # PR_SET_DUMPABLE: hides what is open
"""
# Without CLONE_FILES (0x400) what a thread has open is seen by none of the others.
OWN_FILES = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
stack = ctypes.create_string_buffer(1 << 20)
top = (ctypes.addressof(stack) + (1 << 20)) & ~15
print(libc.clone(libc.pause, ctypes.c_void_p(top), 0x10000 | 0x100 | 0x200 | 0x800, None), ctypes.get_errno())
"""
# All numbers of calls that are newer than 2018 or that no call has yet, and those by which x32 programs fork and exit;
# without those of uprobes, which the kernel answers by a signal before it asks a filter.
NEW_CALLS = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
answered = []
for number in (*range(FIRST, 424), *range(424, 800), 1 << 20, (1 << 31) - 1, *(X32 + one for one in (57, 60, 463))):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
    if (result, ctypes.get_errno()) != (-1, errno.ENOSYS):
        answered.append(number)
print(answered)
"""
CLOSING = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
files = [os.open("f", os.O_RDWR | os.O_CREAT) for _ in range(3)]
for flags in (2, 4, 6, 1 << 31):
    print(libc.syscall(436, files[1], files[2], ctypes.c_long(flags)), ctypes.get_errno())
os.closerange(files[1], files[2] + 1)
for file in files:
    try: print(os.fstat(file).st_size)
    except OSError: print("closed")
"""
# Queues and semaphores that other programs of the user made are told by small numbers.
OTHERS_QUEUES = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for call in (lambda: libc.msgctl(QUEUE, 0, None), lambda: libc.semctl(SEMAPHORE, 0, 0, 0)):
    print(call(), ctypes.get_errno())
"""


@pytest.fixture(params=levels.available())
def level(request):
    return request.param


@pytest.fixture
def listening(tmp_path):
    """The addresses of sockets outside, by path and by name; and what came there."""
    came, sockets, addresses = [], [], [str(tmp_path / "socket"), f"\0ways-out-{os.getpid()}"]
    for address in addresses:
        sockets.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        sockets[-1].bind(address)
        threading.Thread(target=lambda one=sockets[-1]: came.append(one.recv(9)), daemon=True).start()
    yield addresses, came
    for one, address in zip(sockets, addresses, strict=True):
        one.sendto(b"end", address)
        one.close()


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM", "SOCK_SEQPACKET"])
def test_a_socket_outside_is_not_reached_by_path_nor_by_name(level, listening, kind):
    addresses, came = listening
    said = printed(level, SEND.replace("KIND", kind).replace("ADDRESSES", repr(addresses)))
    assert said.split() == ["PermissionError"] * 7 and came == []


def test_an_event_loop_works(level):
    assert printed(level, LOOP) == "([0, 1, 2, 7], b'sent on', b'back')"
    assert printed(level, FRAGMENT) == "[1]"


@pytest.fixture
def bystander():
    """A process outside."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def called(level, source, process=0):
    numbers = NUMBERS.get(platform.machine())
    if numbers is None:
        pytest.skip("the numbers of its system calls are not written down")
    source = CALLS + source + "print('end')"
    return printed(level, source.replace("PROCESS", str(process)).replace("NUMBERS", repr(numbers)))


def test_nobody_is_made_the_owner_of_a_file_to_whom_signals_go(level, bystander):
    said = called(level, OWNERS, bystander.pid).splitlines()
    assert [line for line in said if "0x5452" not in line] == ["end"]
    time.sleep(0.2)
    assert bystander.poll() is None


def test_what_files_are_and_who_watches_the_process_are_not_changed(level):
    assert called(level, CHANGES) == "end"


def test_a_thread_has_no_open_files_of_its_own(level):
    assert printed(level, OWN_FILES) == "-1 1"


def test_closing_files_gives_a_thread_no_files_of_its_own(level):
    assert printed(level, CLOSING).splitlines() == ["-1 22"] * 4 + ["0", "closed", "closed"]


@pytest.mark.skipif(platform.machine() not in NUMBERS, reason="the numbers that no call has are not written down")
def test_of_the_newest_calls_none_is_there_but_harmless_ones(level):
    source = NEW_CALLS.replace("FIRST", str(337 if platform.machine() == "x86_64" else 295)).replace(
        "X32", str(1 << 30)
    )
    answered = json.loads(printed(level, source))
    assert {436, 437} <= {*answered} <= {*syscalls._HARMLESS}


def test_a_strong_level_is_refused_where_the_library_does_not_know_what_is_to_be_denied(monkeypatch):
    assert syscalls.unknown() == []
    monkeypatch.setattr(syscalls, "_NEVER", [*syscalls._NEVER, "no_such_call"])
    assert syscalls.unknown() == ["no_such_call"]
    assert levels.available.__wrapped__() == (levels.RLIMITS,)
    assert syscalls.prepare() is not None


def test_the_queues_of_other_programs_are_not_removed(level):
    libc = ctypes.CDLL(None, use_errno=True)
    queue, semaphore = libc.msgget(0, 0o600), libc.semget(0, 1, 0o600)
    try:
        source = OTHERS_QUEUES.replace("QUEUE", str(queue)).replace("SEMAPHORE", str(semaphore))
        assert printed(level, source).splitlines() == ["-1 1", "-1 1"]
    finally:
        assert libc.msgctl(queue, 0, None) == libc.semctl(semaphore, 0, 0, 0) == 0


@pytest.mark.parametrize("start", ["libc.inotify_init()", "libc.fallocate(file.fileno(), 1, 0, 1 << 20)"])
def test_what_tells_of_others_or_writes_uncounted_is_refused(level, start):
    assert printed(level, f"import ctypes\nlibc = ctypes.CDLL(None)\nfile = open('f', 'w')\nprint({start})") == "-1"


def test_room_can_be_asked_for_beforehand(level):
    source = "import os\nfile = os.open('f', os.O_RDWR | os.O_CREAT)\nos.posix_fallocate(file, 0, 1 << 20)"
    assert (
        printed(level, f"{source}\nprint(os.fstat(file).st_size, os.fstat(file).st_blocks * 512)") == "1048576 1048576"
    )


@pytest.mark.parametrize(("version", "denied"), [(1, True), (2, True), (3, False), (7, False)])
def test_an_old_landlock_leaves_truncation_to_the_filter(monkeypatch, version, denied):
    monkeypatch.setattr(landlock, "version", lambda: version)
    assert ("truncate" in landlock.unruled()) is denied


def test_the_filter_denies_what_landlock_leaves(tmp_path):
    file = tmp_path / "file"
    file.write_text("kept")
    code = (
        "import os, sys\nfrom autograder.sandbox.inside import syscalls\nsyscalls.restrict(syscalls.prepare(('truncate',)))\n"
        "os.truncate(sys.argv[1], 0)"
    )
    said = subprocess.run([sys.executable, "-c", code, str(file)], cwd=ROOT, capture_output=True, text=True)
    assert "PermissionError" in said.stderr and file.read_text() == "kept"
