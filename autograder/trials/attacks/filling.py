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
           _burst(_WRITTEN, "kept.append(file); os.unlink(file.name)"), solved=True, stock=False),
    Attack("disk-allocated", "allocate many files on disk without writing them",
           _burst("os.posix_fallocate(file.fileno(), 0, 60 << 20); total += 60 << 20"), solved=True, stock=False),
    Attack("disk-allocated-beyond", "allocate disk beyond a file's end, where no limit on its size looks", _burst(
        'import ctypes; libc = ctypes.CDLL(None); size = ctypes.c_long\n'
        "        total += (60 << 20) * (libc.fallocate(file.fileno(), 1, size(0), size(60 << 20)) == 0)"), solved=True, stock=False),
    Attack("disk-mapped", "write through memory into deleted files that are open no more", _burst(
        'import mmap; file.truncate(60 << 20); os.unlink(file.name); view = mmap.mmap(os.dup(file.fileno()), 60 << 20)\n'
        "        file.close(); kept.append(view); view[:] = bytes([1]) * (60 << 20); total += 60 << 20").replace('"wb"', '"w+b"'),
        solved=True, stock=False),
    Attack("lifted-folders", "leave folders named as those that removal makes on its way", _LIFTED, solved=True, stock=False),
    Attack("closed-folders", "leave folders that cannot be opened, and names that are no text", _UNREADABLE, solved=True, stock=False),
]  # fmt: skip
