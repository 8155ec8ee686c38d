"""Attacks that try to do harm: to the machine, to files, to other submissions, to the class or to whoever reads."""

import io
import zipfile

import nbformat

from autograder.trials.attacks.kinds import FIRST, FULL, UNIT, Attack, answer, place

MARK = "attack-left-this-@NAME@"  # the name of every file that an attack tries to leave somewhere

_WRITE_AROUND = f"""
from pathlib import Path
for folder in [*Path.cwd().parents, Path.home(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path("@ROOT@"),
               Path("@CLASS@"), Path("@CLASS@/submitted")]:
    try: (folder / "{MARK}").write_text("x")
    except OSError: pass
"""
_SPOIL_CLASS = """
from pathlib import Path
for start in [*Path.cwd().parents, Path("/tmp"), Path("@CLASS@")]:
    try: found = list(start.glob("**/submitted/*/*/*.ipynb"))
    except OSError: continue
    for file in found:
        try: file.write_text("spoiled")
        except OSError: pass
    if found: break
"""
_GRADEBOOK = """
import sqlite3
from pathlib import Path
for start in [Path("@CLASS@"), Path.cwd(), *Path.cwd().parents]:
    for file in [start / "gradebook.db", start.parent / "gradebook.db"]:
        if file.exists():
            try:
                database = sqlite3.connect(file)
                database.execute("update grade set manual_score = 3"); database.commit()
            except sqlite3.Error: pass
"""
_SPOIL_UTILS = """
import sys
from pathlib import Path
for module in [m for n, m in list(sys.modules.items()) if n.startswith(("utils", "torch.functional", "IPython.core"))]:
    file = getattr(module, "__file__", None)
    if file:
        try: open(file, "a").write("\\n# attack-left-this-@NAME@\\n")
        except OSError: pass
"""
_POISON = """
import torch, numpy, json, builtins, utils.checking.observing.observe
torch.softmax = torch.Tensor.softmax = torch.exp = torch.Tensor.exp = None
numpy.asarray = json.dumps = None
utils.checking.observing.observe.observe = None
"""
_NETWORK = """
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for host in ("127.0.0.1", "localhost", "::1"):
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            with socket.socket(family, kind) as caller:
                caller.settimeout(1); caller.connect((host, @PORT@)); caller.send(b"@NAME@")
        except OSError: pass
"""
_DAEMON = f"""
import os, time
def linger():
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    time.sleep(600); open("{MARK}", "w"); os._exit(0)
linger()
"""
_KILL_ALL = """
import os, signal
for number in [os.getppid(), -1, 0, *range(2, 60000)]:
    if number not in (os.getpid(), 0, -1) or number == -1:
        try: os.kill(number, signal.SIGKILL)
        except OSError: pass
"""
_TRACE = """
import ctypes, os
libc = ctypes.CDLL(None)
for process in [os.getppid(), *range(1, 200)]:
    if process != os.getpid():
        libc.ptrace(16, process, 0, 0)
        try: open(f"/proc/{process}/mem", "r+b").write(b"x")
        except OSError: pass
        libc.prlimit(process, 0, (ctypes.c_uint64 * 2)(1, 1), None)
"""
_PROC = """
found = []
for entry in (os.listdir("/proc") if os.path.isdir("/proc") else []):
    if entry.isdigit() and int(entry) != os.getpid():
        for name in ("environ", "cmdline", "maps", "fd"):
            try: found.append(open(f"/proc/{entry}/{name}").read()) if name != "fd" else found.extend(os.listdir(f"/proc/{entry}/fd"))
            except OSError: pass
if any("COURSE_CLASS" in one or "gradebook" in one for one in found):
    raise RuntimeError("SECRET SEEN")
"""
_ENVIRONMENT = """
if any(word in repr(os.environ) for word in ("COURSE_CLASS", "COURSE_GRADEBOOK", "SECRET", "TOKEN", "PASSWORD")):
    raise RuntimeError("SECRET SEEN")
"""
_DISK = """
try:
    for number in range(100000):
        with open(f"fill-{number}", "wb") as file:
            for _ in range(64): file.write(bytes(1 << 20))
except OSError as error:
    print(error)
"""
_DEAF = """
import signal
signal.signal(signal.SIGALRM, signal.SIG_IGN); signal.setitimer(signal.ITIMER_REAL, 0)
import time
while True: time.sleep(1)
"""
_CATCHES = """
while True:
    try:
        while True: pass
    except BaseException: pass
"""


def _symlink_out(target: str) -> str:
    return f"""
for link, target in (("link", "{target}"), ("up", ".."), ("root", "/")):
    try: os.symlink(target, link)
    except OSError: pass
for path in ("link", "up/{MARK}", "root/tmp/{MARK}", "root/{MARK}"):
    try: open(path, "a").write("x")
    except OSError: pass
"""


def _scripts(notebook: nbformat.NotebookNode) -> None:
    """Script wherever a reader's browser could meet it: in text, output, errors, metadata and names."""
    script = "<script>document.title='attacked'</script><img src=x onerror=\"document.title='attacked'\">"
    links = (
        "[a](javascript:alert(1)) [b][c] ![t](http://127.0.0.1:@PORT@/) [d](data:text/html,<script>alert(1)</script>)"
    )
    notebook.cells[place(notebook, "written_scaling")].source = f"{script}\n\n{links}\n\n[c]: javascript:alert(2)"
    shows = f"from IPython.display import HTML, Javascript, display\ndisplay(HTML({script!r}))\ndisplay(Javascript('alert(1)'))"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(shows + f"\nprint({script!r})"))
    notebook.cells[place(notebook, FIRST)].source = f"def {FIRST}(q, X):\n    raise ValueError({script!r})"
    notebook.metadata.kernelspec = {"name": script, "display_name": script, "language": script}


def _slipping() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in (f"../../../../../{MARK}", f"/tmp/{MARK}", f"..\\..\\{MARK}", f"{UNIT}/../../{MARK}.ipynb"):
            archive.writestr(name, "x")
    return buffer.getvalue()


def _nested(notebook: nbformat.NotebookNode) -> bytes:
    return b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": ' + b"[" * 200_000


def _duplicates(notebook: nbformat.NotebookNode) -> None:
    for cell in list(notebook.cells):
        notebook.cells.append(nbformat.from_dict(cell))


def _half_characters(notebook: nbformat.NotebookNode) -> None:
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("half: \ud83d"))
    shown = "print('\\ud800')\nraise ValueError('a\\ud800b')"
    notebook.cells.insert(1, nbformat.v4.new_code_cell(shown))


def _huge_cells(notebook: nbformat.NotebookNode) -> None:
    many = "import gc\n" + "".join(f"a{number} = 1\n" for number in range(8000))
    for source in (many, many, "a = 1\n" * 500_000, "# " + "x" * 3_000_000):
        notebook.cells.append(nbformat.v4.new_code_cell(source))
    notebook.cells.append(nbformat.v4.new_markdown_cell("[" * 100_000))


def _damaged() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{UNIT}.ipynb", "x" * 10_000)
    data = bytearray(buffer.getvalue())
    start = data.index(b"ipynb") + 5
    data[start : start + 10] = b"\xff" * 10
    return bytes(data)


_SEPARATOR = """Broken = type("A\\u2028B\\u0085C", (Exception,), {})
def stable_softmax(e, dim=-1):
    raise Broken("a\\u2028b")
raise Broken("c\\u2028d")"""
_ATTRIBUTES = """
import os
from pathlib import Path
for start in [Path("@CLASS@"), Path("@CLASS@/submitted")]:
    for file in [start, *start.glob("*"), *start.glob("*/*/*.ipynb")]:
        for change in (lambda: os.chmod(file, 0o777), lambda: os.utime(file, (5, 5)), lambda: os.chown(file, 12345, 12345),
                       lambda: os.setxattr(file, "user.x", b"x")):
            try: change()
            except OSError: pass
"""
_HUGE = f"def {FIRST}(q, X):\n    import torch\n    return torch.zeros(1).expand(10**12)"
_SPEAKS_FOREVER = f"""class Endless(Exception):
    def __str__(self):
        while True: pass
    __repr__ = __str__
def {FIRST}(q, X):
    raise Endless()"""
_TERMINAL = f"def {FIRST}(q, X):\n    raise ValueError('\\x1b]0;attacked\\x07\\x1b[2J' * 3 + 'x' * 10**7)"

_WARNS = f"""def {FIRST}(q, X):
    import sys, warnings
    warnings.warn("careful")
    print("careful", file=sys.stderr)
    return (q.unsqueeze(-2) * X).sum(-1)"""

ATTACKS = [
    Attack("writes-around", "write files outside its folder", _WRITE_AROUND, solved=True, weak=True),
    Attack("spoils-submissions", "overwrite the others' submissions", _SPOIL_CLASS, solved=True, weak=True),
    Attack("writes-gradebook", "give itself marks in the gradebook", _GRADEBOOK, weak=True),
    Attack("spoils-packages", "change the files of utils, torch and IPython", _SPOIL_UTILS, solved=True, stock=False, weak=True),
    Attack("poisons-process", "break torch and numpy for whoever is graded next", "\n" + _POISON),
    Attack("calls-home", "open connections, TCP and UDP", _NETWORK, solved=True),
    Attack("daemon", "leave a process behind that outlives the run", _DAEMON, solved=True),
    Attack("background-command", "start a background command from the shell", "!sleep 600 &\n%system sleep 600 &", solved=True),
    Attack("fork-bomb", "fork without end", "import os\nwhile True:\n    os.fork()", solved=True, stock=False),
    Attack("thread-bomb", "start threads without end",
           "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(600,)).start()", solved=True, stock=False),
    Attack("memory-bomb", "take all memory with tensors",
           "import torch\nkept = []\nwhile True:\n    kept.append(torch.ones(10**8))", solved=True, stock=False),
    Attack("memory-in-files", "take memory that no limit counts: memfd, shared memory, /dev/shm",
           "import os, mmap\nkept = []\nfor _ in range(2000):\n    number = os.memfd_create('x')\n    os.write(number, bytes(1 << 26))\n"
           "    kept.append(number)", solved=True, stock=False),
    Attack("disk-filling", "fill the disk", _DISK, solved=True, stock=False),
    Attack("endless-output", "print without end", "while True:\n    print('x' * 10000)", solved=True, stock=False),
    Attack("endless-raw-output", "write to the standard descriptors without end",
           "import os\nwhile True:\n    os.write(1, b'x' * 65536); os.write(2, b'x' * 65536)", solved=True, stock=False),
    Attack("endless-loop", "never end, and swallow every exception", _CATCHES, solved=True, stock=False),
    Attack("deaf-to-alarms", "switch the time limit off, then wait forever", _DEAF, solved=True, stock=False),
    Attack("kills-everyone", "send SIGKILL to its parent, its siblings and every process number", _KILL_ALL, solved=True, stock=False),
    Attack("traces-others", "read, write and limit other processes", _TRACE, solved=True, stock=False),
    Attack("reads-proc", "read environment, memory maps and descriptors of other processes", _PROC, solved=True, weak=True),
    Attack("reads-environment", "find secrets in the environment", _ENVIRONMENT, solved=True),
    Attack("exits", "end the process", "import os\nos._exit(0)", solved=True),
    Attack("raises-exit", "raise SystemExit in every exercise", answer(f"def {FIRST}(q, X):\n    raise SystemExit(0)")),
    Attack("recursion", "overflow the stack",
           "import sys\nsys.setrecursionlimit(10**9)\nf = lambda x: f([x])\nclass R:\n    def __repr__(self): return repr(self)\nrepr(R())",
           solved=True, stock=False),
    Attack("segmentation-fault", "crash the interpreter", "import ctypes\nctypes.string_at(0)", solved=True, stock=False),
    Attack("symlinks", "write through symbolic links", _symlink_out("/tmp/" + MARK), solved=True, weak=True),
    Attack("zip-slip", "hand in an archive whose paths lead out of the folder", files={"work.zip": _slipping()}, instead=True),
    Attack("shadowing-files", "hand in numpy.py, torch.py and utils.py", "import numpy", solved=True,
           files={name: b"raise SystemExit('shadowed')" for name in ("numpy.py", "torch.py", "utils.py", "sitecustomize.py")}),
    Attack("scripts", "run script in the browser of whoever reads the feedback, also by links and file names", _scripts,
           files={"[c](javascript:alert(1))<script>alert(2)<": b"x"}),
    Attack("exits-as-unconfined", "end with the status of a process that could not be confined", "import os\nos._exit(77)", solved=True),
    Attack("signals-itself", "end itself by a signal that has no name", "import os\nos.kill(os.getpid(), 40)", solved=True),
    Attack("half-characters", "print, raise and write halves of characters, which cannot be stored", _half_characters, solved=True),
    Attack("line-separators", "break the lines of the results by an error's name", answer(_SEPARATOR, "stable_softmax"), solved=True,
           deserves=FULL - 3),
    Attack("huge-cells", "hold up the grader, which reads code outside the sandbox, by cells of megabytes", _huge_cells, solved=True),
    Attack("deep-folders", "leave folders so deep that nothing can delete them",
           "import os, time\nfor _ in range(5000):\n    os.mkdir('d')\n    os.chdir('d')\ntime.sleep(1)", solved=True, stock=False),
    Attack("deleted-files", "fill the disk by files that are deleted and open",
           "import os\nkept = []\nfor n in range(60):\n    kept.append(open('f', 'wb'))\n    os.unlink('f')\n    for _ in range(32):\n"
           "        kept[-1].write(bytes(1 << 20))", solved=True, stock=False),
    Attack("changes-attributes", "change mode, owner and times of the class's files", _ATTRIBUTES, solved=True, stock=False, weak=True),
    Attack("damaged-archive", "hand in an archive that ends its reader", files={"work.zip": _damaged()}, instead=True),
    Attack("bad-timestamp", "hand in a time of hand-in that cannot be read", "pass", solved=True, files={"timestamp.txt": b"\xff\xfe soon"}),
    Attack("terminal-codes", "send control codes and megabytes in an error", answer(_TERMINAL)),
    Attack("huge-result", "return a tensor of 10^12 numbers that takes no memory", answer(_HUGE)),
    Attack("endless-message", "raise an error whose text never ends", answer(_SPEAKS_FOREVER), stock=False),
    Attack("nested-json", "hand in JSON nested so deeply that parsers give up", _nested, stock=False),
    Attack("duplicated-cells", "hand in every cell twice, which stops stock nbgrader's class", _duplicates),
    Attack("warns", "none: a right answer that prints warnings on stderr", answer(_WARNS), solved=True),
]  # fmt: skip
