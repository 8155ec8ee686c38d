"""The process from which jobs are forked: it has imported everything and computed nothing, and watches each job."""

import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import utils  # noqa: F401 - its folder can be read later on, the one that it lies in cannot

from . import confine, disk, landlock, syscalls

BUBBLEWRAP, LANDLOCK, RLIMITS = "bubblewrap", "landlock", "rlimits"
STEP = 0.004  # seconds between two checks of a job


def main(descriptor: int, plan: dict) -> None:
    """Serves jobs over the inherited socket.

    Args:
        descriptor: of a socket that brings a message and three descriptors a job: a socket over which it is told what
            to do, and answers; where its end is told; and one that is closed at the other side when it is to be stopped.
        plan: {"level", "readable": paths, "scratch": the folder that jobs work in, "writable": folders that each job
            gets empty and of its own}.
    """
    confine.die_with_parent()
    confine.hide_memory()
    if plan["level"] == LANDLOCK:
        landlock.restrict([*plan["readable"], "/proc"], [plan["scratch"], *_DEVICES])
    # torch is first imported here, since the files that it reads are inside the sandbox's view.
    import torch

    from utils.checking.observing.devices import THERE, other_device

    from . import runner, shell, wishes

    torch.set_num_threads(1)
    torch.backends.cpu.get_cpu_capability()  # determined once, not in every job
    with other_device():
        torch.ones(2).to(THERE).mul(2)  # this imports, which takes a second, the modules that follow operations
    tempfile.tempdir = None  # that import looked the folder up, and each job has one of its own
    shell.settle(plan["scratch"])
    ipython_shell = shell.make_shell()
    shell.draw_once()
    wishes.pass_over()
    filtered = syscalls.prepare(landlock.unruled() if plan["level"] == LANDLOCK else ())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended watchers are reaped by the system
    # Otherwise collecting garbage would touch, and so copy, nearly all memory that a job shares with this process.
    gc.freeze()
    with socket.socket(fileno=descriptor) as channel:
        channel.sendall(b"r")  # tells the grader that this process is ready
        while True:
            request, descriptors, *_ = socket.recv_fds(channel, 1, 3)
            if not request:
                return
            process = os.fork()
            if process == 0:
                channel.close()
                _Watcher(plan, descriptors, filtered).watch(lambda talk: runner.work(talk, ipython_shell))
            for job_descriptor in descriptors:
                os.close(job_descriptor)


_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class _Watcher:
    """Confines one job, waits for its end, ends what is left of it, and says how it went."""

    def __init__(self, plan: dict, descriptors: list, filtered: Any):
        self.plan, self.level, self.filtered = plan, plan["level"], filtered
        self.talk, self.status, self.stop = descriptors
        self.limits = json.loads(os.read(self.talk, 1 << 16))
        self.scratch: Path | None = None
        self.quota: disk.Quota | None = None

    def watch(self, work: Callable[[int], None]) -> None:
        """Runs `work` in a confined child; writes {"how", "signal"} to the status descriptor."""
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        confine.die_with_parent()
        confine.adopt_orphans()
        report = {"how": "killed", "signal": 0}
        try:
            report = self._run(work)
        except OSError as error:
            report["why"] = f"the sandbox could not be set up: {error}"
        finally:
            if self.level != BUBBLEWRAP:
                _end_children()
            with suppress(OSError):
                os.write(self.status, json.dumps(report).encode())
            if self.scratch:
                disk.remove(self.scratch)  # this may take a while, and this process ends when it is done
            os._exit(0)

    def _run(self, work: Callable[[int], None]) -> dict:
        used = confine.address_space()
        if self.level == BUBBLEWRAP:
            confine.enter_namespaces(self.limits["disk"], self.plan["writable"])
        self.scratch = Path(tempfile.mkdtemp(prefix="job-", dir=self.plan["scratch"]))
        if self.level != BUBBLEWRAP:  # there the folder is a file system of its own, which cannot hold more
            self.quota = disk.Quota(self.scratch, self.limits["disk"])
        # Through this pipe the child says that it is confined, before it runs anything.
        confined, tell = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self._confine(used, tell)
            except BaseException:
                os._exit(1)
            work(self.talk)
        os.close(self.talk)
        os.close(tell)
        report = self._wait(child, time.monotonic() + self.limits["total"])
        return report if report["how"] != "killed" or os.read(confined, 1) else _told_of_unconfined(report)

    def _confine(self, used: int, tell: int) -> None:
        from .shell import settle

        os.setsid()
        confine.die_with_parent()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nowhere, standard)
        confine.close_all_but(0, 1, 2, self.talk, tell)
        limits = self.limits
        confine.limit(limits["memory"] and used + limits["memory"], 2 * limits["total"], limits["disk"])
        settle(str(self.scratch))
        confine.drop_capabilities()
        if self.level == LANDLOCK:
            landlock.restrict([*self.plan["readable"], *confine.MACHINE], [str(self.scratch), *_DEVICES])
        if self.level != BUBBLEWRAP:
            confine.show_open_files()
        if self.filtered is not None:
            syscalls.restrict(self.filtered)
        os.write(tell, b"y")
        os.close(tell)

    def _wait(self, child: int, deadline: float) -> dict:
        how, looks = "ended", 0
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            looks += 1
            if time.monotonic() > deadline:
                how = "timeout"
            elif select.select([self.stop], [], [], 0)[0]:
                how = "stopped"
            elif self.quota is not None and self.quota.exceeded(child, anyway=looks % 32 == 0):
                how = "disk"
            if how != "ended":
                os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
                break
            time.sleep(STEP)
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if how == "ended" and status:
            how = "killed"
        return {"how": how, "signal": number}


def _told_of_unconfined(report: dict) -> dict:
    """The report on a process that ended before it was confined, and so before it ran anything.

    Where a signal ended it, that came from outside: nothing is said, as of a sandbox that is gone, and the job is run again.
    """
    return {} if report["signal"] else {**report, "how": "unconfined"}


def _end_children() -> None:
    """Kills every descendant, those that have left their process group included: orphans come to this process."""
    listing = Path(f"/proc/self/task/{os.getpid()}/children")
    for _ in range(1000):
        try:
            children = listing.read_text().split()
        except OSError:
            return
        if not children:
            return
        for process in map(int, children):
            try:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
            except OSError:
                pass


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
