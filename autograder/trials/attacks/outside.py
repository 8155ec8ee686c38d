"""Stands around a class that is being graded, and notes whom attacks call, whom they end, and what they take meanwhile."""

import os
import selectors
import socket
import subprocess
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from autograder.trials.processes import family

LOOK = 0.02  # seconds between two looks at the disk
FAMILY = 10  # looks between two listings of the processes
FILLING = "fill-"  # how the names of files begin by which attacks fill the disk; the attack's own name follows
_KINDS = (socket.SOCK_DGRAM, socket.SOCK_STREAM)


class Outside:
    """While it is entered, sockets are listened to, a process waits to be ended, and disk and memory are looked at.

    Attributes:
        scratch: the folder in which graders make temporary files.
        marks: what attacks are told of it, by the words in their code.
        callers: the names of those that called.
        written: by name, the most bytes on disk at any look, deleted files included.
        peak: bytes of memory, the most that any process outside the sandbox has had.
        ended: whether somebody ended the process that waited.
    """

    def __init__(self, scratch: Path):
        self.scratch = scratch
        self.marks: dict[str, str] = {}
        self.callers: set[str] = set()
        self.written: dict[str, int] = {}
        self.peak, self.ended = 0, False
        self._inside: list[int] = []
        self._stop = threading.Event()

    def __enter__(self) -> "Outside":
        with ExitStack() as stack:
            self._selector = stack.enter_context(selectors.DefaultSelector())
            for endpoint in self._endpoints():
                stack.enter_context(endpoint)
                self._selector.register(endpoint, selectors.EVENT_READ)
            waiting = stack.enter_context(subprocess.Popen(["sleep", "7200"]))
            stack.callback(waiting.kill)
            self.marks["@PROCESS@"] = str(waiting.pid)
            self._waiting = waiting
            self._thread = threading.Thread(target=self._watch)
            self._thread.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self.ended = self._waiting.poll() is not None
        self._stack.close()

    def _endpoints(self) -> list[socket.socket]:
        """Sockets of this machine's own network, and Unix sockets with a path and with an abstract name."""
        endpoints, port = [], 0
        for kind in _KINDS:
            endpoints.append(socket.socket(socket.AF_INET, kind))
            endpoints[-1].bind(("127.0.0.1", port))
            port = endpoints[-1].getsockname()[1]
        abstract = f"attacks-{os.getpid()}-{port}"
        paths = {"@SOCKET@": self.scratch.parent / "datagrams", "@STREAM@": self.scratch.parent / "stream"}
        for kind, path in zip(_KINDS, paths.values()):
            for address in (str(path), "\0" + abstract):
                endpoints.append(socket.socket(socket.AF_UNIX, kind))
                endpoints[-1].bind(address)
        for endpoint in endpoints:
            if endpoint.type == socket.SOCK_STREAM:
                endpoint.listen()
        self.marks |= {"@PORT@": str(port), "@ABSTRACT@": abstract, **{word: str(path) for word, path in paths.items()}}
        return endpoints

    def _watch(self) -> None:
        looks = 0
        while not self._stop.is_set():
            for key, _ in self._selector.select(LOOK):
                self._receive(key.fileobj)
            if looks % FAMILY == 0:
                self._look_at_processes()
            self._look_at_disk()
            looks += 1

    def _receive(self, endpoint: Any) -> None:
        """Takes the name that a caller sends; one who sends none is taken for the attack that opens connections."""
        with suppress(OSError):
            if endpoint.type == socket.SOCK_DGRAM:
                said = endpoint.recv(1000)
            else:
                caller, _ = endpoint.accept()
                with caller:
                    caller.settimeout(1)
                    said = caller.recv(1000)
            self.callers.add(said.decode(errors="replace") or "calls-home")

    def _look_at_processes(self) -> None:
        self._inside = []
        for process in family(os.getpid()):
            with suppress(OSError, ValueError):
                if is_sandbox(process):
                    self._inside.append(process)
                elif process != os.getpid():
                    text = Path(f"/proc/{process}/status").read_text().partition("VmHWM:")[2]
                    self.peak = max(self.peak, int(text.split()[0]) << 10 if text else 0)

    def _look_at_disk(self) -> None:
        sizes: dict[str, int] = {}
        files: list[Path] = []
        for pattern in (f"*/*/{FILLING}*", f"*/{FILLING}*"):
            with suppress(OSError):  # folders come and go
                files += self.scratch.glob(pattern)
        for process in self._inside:
            for descriptor in Path(f"/proc/{process}/task").glob("*/fd/*"):  # a thread may have files of its own
                with suppress(OSError):
                    if os.readlink(descriptor).endswith(" (deleted)"):
                        files.append(descriptor)
        for file in files:
            with suppress(OSError):
                name = Path(os.readlink(file)).name if file.is_symlink() else file.name
                if name.startswith(FILLING):
                    owner = name.removeprefix(FILLING).removesuffix(" (deleted)").rpartition("-")[0]
                    sizes[owner] = sizes.get(owner, 0) + file.stat().st_blocks * 512
        for owner, size in sizes.items():
            self.written[owner] = max(size, self.written.get(owner, 0))


def is_sandbox(process: int) -> bool:
    """Whether a process runs code of a sandbox; one whose first thread has ended says so by the others."""
    return any(b"inside.warm" in file.read_bytes() for file in Path(f"/proc/{process}/task").glob("*/cmdline"))


def slowest_page(pages: list[Path]) -> tuple[float, str]:
    """The longest time between one page and the next, and whose page came next; the first waits for the program to start."""
    moments = sorted((page.stat().st_mtime, page.parent.parent.name) for page in pages)
    pauses = [(moment - before, who) for (before, _), (moment, who) in zip(moments, moments[1:])]
    return max(pauses, default=(0.0, ""))
