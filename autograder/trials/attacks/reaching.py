"""Attacks that reach for what lies outside: Unix sockets, signals by ioctl, the sandbox's own processes, other gates of the kernel."""

from autograder.trials.attacks.kinds import UNIT, Attack

_BY_ADDRESS = """
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", @PORT@)), (socket.AF_INET6, ("::1", @PORT@))):
    try: socket.socket(family, socket.SOCK_DGRAM).sendto(b"@NAME@", address)
    except OSError: pass
"""
# One end of a pair is a socket that no filter refused; it can send elsewhere, and be connected anew.
_BY_PAIR = """
import array, socket
for name in ("@SOCKET@", "@STREAM@", "\\0" + "@ABSTRACT@"):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        def connected():
            end = socket.socketpair(socket.AF_UNIX, kind)[0]
            end.connect(name)
            end.send(b"@NAME@")
        def addressed():
            socket.socketpair(socket.AF_UNIX, kind)[0].sendto(b"@NAME@", name)
        def with_descriptors():
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))]
            socket.socketpair(socket.AF_UNIX, kind)[0].sendmsg([b"@NAME@"], rights, 0, name)
        def anew():
            end = socket.socket(socket.AF_UNIX, kind)
            end.connect(name)
            end.send(b"@NAME@")
        for attempt in (connected, addressed, with_descriptors, anew):
            if NAMED:
                try: attempt()
                except OSError: pass
"""
_SIGNALS = """
import fcntl, os, socket, struct, time
def end(process):
    for request in (0x8901, 0x8902):
        for number in (process, -process):
            here, there = socket.socketpair()
            try:
                fcntl.ioctl(here, request, struct.pack("i", number))
                fcntl.fcntl(here, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
                there.send(b"x")
                time.sleep(0.05)
            except OSError: pass
"""
_PARENTS = (
    _SIGNALS
    + """
process = os.getppid()
for _ in range(2):  # what watches this process, and what it was forked from
    try: above = int(open(f"/proc/{process}/stat").read().rpartition(")")[2].split()[1])
    except OSError: above = 0
    if process > 1: end(process)
    process = above
"""
)
_GATES = """
import ctypes, mmap, os, platform
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(0x40000000 + 57)  # fork, by the numbers of x32
if platform.machine() == "x86_64":
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("b802000000cd80c3"))  # fork, by the gate for programs of 32 bits
    child = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    if child == 0:
        open("attack-left-this-@NAME@", "w").write("x")
        os._exit(0)
"""
# Calls of the years from 2023 on, by their numbers: a library may be too old to know their names.
_NEWEST = """
import ctypes, struct
libc = ctypes.CDLL(None)
path = b"@CLASS@/submitted/@NAME@/@UNIT@/@UNIT@.ipynb"
def given(name, value):
    text = ctypes.create_string_buffer(value, len(value))
    asked = ctypes.create_string_buffer(struct.pack("=QII", ctypes.addressof(text), len(value), 0), 16)
    libc.syscall(463, -100, path, 0, name, asked, ctypes.c_size_t(16))  # setxattrat
entries = ((1, 6, -1), (2, 4, 65534), (4, 0, -1), (16, 4, -1), (32, 0, -1))  # another user may read it
given(b"user.attack", b"x")
given(b"system.posix_acl_access", struct.pack("=I", 2) + b"".join(struct.pack("=HHi", *entry) for entry in entries))
libc.syscall(469, -100, path, (ctypes.c_uint64 * 3)(0x80), ctypes.c_size_t(24), 0)  # file_setattr: not to be dumped
libc.syscall(452, -100, path, 0o666, 0)  # fchmodat2
"""

ATTACKS = [
    Attack("datagrams-by-address", "send datagrams to an address, without a connection", _BY_ADDRESS, solved=True),
    Attack("sockets-by-path", "reach a Unix socket by its path, from one end of a pair of sockets",
           _BY_PAIR.replace("NAMED", 'name[0] != "\\0"'), solved=True),
    Attack("sockets-by-name", "reach a Unix socket by its abstract name", _BY_PAIR.replace("NAMED", 'name[0] == "\\0"'), solved=True),
    Attack("signals-by-ioctl", "end a process outside by signals that ioctl has sockets send", _SIGNALS + "end(@PROCESS@)", solved=True),
    Attack("ends-its-sandbox", "end the process that watches it, and the warm one that it was forked from", _PARENTS, solved=True),
    Attack("other-gates", "fork by system calls of other architectures, which a filter may forget", _GATES, solved=True, stock=False),
    Attack("newest-calls", "give its notebook attributes and readers by calls newer than a filter may be",
           _NEWEST.replace("@UNIT@", UNIT), solved=True, stock=False),
]  # fmt: skip
