"""Attacks on the disk: more than is allowed, in one burst, and folders that nothing removes."""

from autograder.trials.attacks.kinds import Attack

# Each says at last how much it wrote; 40 files of 60 MB, each of which is allowed alone.
_BURST = """
import os, time
kept, total = [], 0
try:
    for number in range(40):
        file = open(f"fill-@NAME@-{number}", "wb", buffering=0)
        DELETED
        FILLED
except OSError as error:
    print(error)
time.sleep(0.5)
print("WROTE", total >> 20, "MB")
"""
_WRITTEN = "for _ in range(60): total += file.write(bytes(1 << 20))"


def _burst(filled: str, deleted: str = "") -> str:
    return _BURST.replace("DELETED", deleted or "pass").replace("FILLED", filled)


_HELD = _burst(_WRITTEN, "kept.append(file); os.unlink(file.name)")
# A thread that takes a copy of the table of open files: what it opens from then on, the others have not open.
_IN_THREAD = """
import ctypes, threading
libc = ctypes.CDLL(None)
def hold():
    APART
    DONE
thread = threading.Thread(target=hold)
thread.start()
JOINED
"""
_END = "import platform; libc.syscall({'x86_64': 60}.get(platform.machine(), 93), 0)  # this thread alone"
_APART = "libc.unshare(0x400); libc.syscall(436, 1 << 20, 1 << 20, 2)  # close_range with its flag to unshare"


def _in_thread(burst: str, apart: str, joined: str) -> str:
    source = _IN_THREAD.replace("APART", apart).replace("JOINED", joined)
    return source.replace("DONE", burst.strip().replace("\n", "\n    "))


# The kernel keeps a file of which a rule speaks for as long as there is the rule.
_PINNED = """os.unlink(file.name)
        import ctypes, struct; libc = ctypes.CDLL(None)
        rules = kept[0] if kept else libc.syscall(444, ctypes.byref(ctypes.c_uint64(4)), ctypes.c_size_t(8), 0)
        kept.append(rules)
        rule = ctypes.create_string_buffer(struct.pack("=Qi", 4, file.fileno()))
        total += (60 << 20) * (libc.syscall(445, rules, 1, rule, 0) == 0)
        if not total or total > 600 << 20: raise OSError("no rules can be made, or it is enough")
        for _ in range(60): file.write(bytes(1 << 20))
        file.close(); print("WROTE", total >> 20, "MB")"""

_LIFTED = """
import os
for number in range(1, 60):
    os.makedirs(f".lifted-{number}/attack-left-this-@NAME@-{number}/inner")
    open(f".lifted-{number}/attack-left-this-@NAME@-{number}/file", "w").write("x")
"""
_UNREADABLE = """
import os
os.makedirs("attack-left-this-@NAME@/inner")
for name in ("\\udcff\\udcfe", "a\\nb", "-rf", "*"):
    open("attack-left-this-@NAME@/inner/" + name, "w").write("x")
os.umask(0o777)
os.makedirs("attack-left-this-@NAME@/closed", mode=0)
"""

ATTACKS = [
    Attack("disk-burst", "write many files at once, each as large as is allowed", _burst(_WRITTEN), solved=True, stock=False),
    Attack("disk-burst-deleted", "write files that are deleted and open, faster than anybody looks",
           _HELD, solved=True, stock=False),
    Attack("disk-allocated", "allocate many files on disk without writing them",
           _burst("os.posix_fallocate(file.fileno(), 0, 60 << 20); total += 60 << 20"), solved=True, stock=False),
    Attack("disk-allocated-beyond", "allocate disk beyond a file's end, where no limit on its size looks", _burst(
        'import ctypes; libc = ctypes.CDLL(None); size = ctypes.c_long\n'
        "        total += (60 << 20) * (libc.fallocate(file.fileno(), 1, size(0), size(60 << 20)) == 0)"), solved=True, stock=False),
    Attack("disk-mapped", "write through memory into deleted files that are open no more", _burst(
        'import mmap; file.truncate(60 << 20); os.unlink(file.name); view = mmap.mmap(os.dup(file.fileno()), 60 << 20)\n'
        "        file.close(); kept.append(view); view[:] = bytes([1]) * (60 << 20); total += 60 << 20").replace('"wb"', '"w+b"'),
        solved=True, stock=False),
    Attack("disk-apart", "hold deleted files in a thread whose open files are its own",
           _in_thread(_HELD, _APART, "thread.join()"), solved=True, stock=False),
    Attack("disk-outlived", "hold deleted files in a thread that outlives the first, where one looks for them",
           _in_thread(_HELD, "pass", _END), solved=True, stock=False),
    Attack("disk-pinned", "keep deleted files by rules of Landlock that speak of them",
           _burst(_PINNED), solved=True, stock=False),
    Attack("lifted-folders", "leave folders named as those that removal makes on its way", _LIFTED, solved=True, stock=False),
    Attack("closed-folders", "leave folders that cannot be opened, and names that are no text", _UNREADABLE, solved=True, stock=False),
]  # fmt: skip
