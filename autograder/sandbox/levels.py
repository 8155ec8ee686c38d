"""Chooses how submissions are confined, and starts the confined process from which their processes are forked."""

import json
import os
import shutil
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path

from autograder import settings
from autograder.sandbox.inside import landlock, syscalls
from autograder.sandbox.inside.warm import BUBBLEWRAP, LANDLOCK, RLIMITS
from autograder.sandbox.own_folder import OwnFolder

LEVELS = (BUBBLEWRAP, LANDLOCK, RLIMITS)  # best first
MEANING = {
    BUBBLEWRAP: "own view of the file system, no other processes, no network, limits on memory, time and disk",
    LANDLOCK: "only allowed files can be opened, no network, no signals to others, limits on memory, time and disk",
    RLIMITS: "limits on memory, time and files alone: code can read and write what you can",
}
_SYSTEM_FOLDERS = (
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/lib",
)
_LINKED_FOLDERS = ("/bin", "/sbin", "/lib", "/lib64")
_SMALL_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/usr/share/fonts", "/etc/fonts")
# These folders say what the processor can do, by which torch chooses its kernels.
_MACHINE_FOLDERS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
_START_SECONDS = 120
_STARTS = 5  # a process that ends without a word while it starts, as one that is killed does, is started again


class Warm:
    """The confined process that has imported everything; `fork` has it start a job."""

    def __init__(self, level: str):
        self.level = level
        for _ in range(_STARTS):
            self._start()
            # bubblewrap may have been killed before what is inside was bound to end with it.
            if self._receive() == b"r" and self.process.poll() is None:
                return
            self.process.kill()
            self.process.wait()
            self.said.seek(0)
            lines = self.said.read().decode(errors="replace").strip().splitlines()
            self.end()
            if lines:
                break
        raise settings.KitError(
            f"the {level} sandbox could not be started: {lines[-1] if lines else 'no reason given'}"
        )

    def _start(self) -> None:
        self.folder = None if self.level == BUBBLEWRAP else OwnFolder("submissions-")
        scratch = str(self.folder.path) if self.folder else _SCRATCH
        plan = {"level": self.level, "readable": readable(), "scratch": scratch, "writable": _writable()}
        self.said = tempfile.TemporaryFile()
        self.channel, far_end = socket.socketpair()
        command = [sys.executable, "-m", "inside.warm", str(far_end.fileno()), json.dumps(plan)]
        self.process = subprocess.Popen(
            _bubblewrap(command) if self.level == BUBBLEWRAP else command,
            cwd=scratch if self.folder else "/",
            env=_environment(self.level, scratch),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.said,
            pass_fds=(far_end.fileno(),),
            start_new_session=True,
        )
        far_end.close()
        # Workers do not run what is registered with atexit.
        self.at_exit = Finalize(None, self.end, exitpriority=1)
        self.channel.settimeout(_START_SECONDS)

    def fork(self, *descriptors: int) -> bool:
        """Has a job started that reads and writes these descriptors; False if this process is gone."""
        try:
            return bool(socket.send_fds(self.channel, [b"j"], list(descriptors)))
        except OSError:
            return False

    def end(self) -> None:
        """Ends this process and every job that it has started."""
        self.at_exit.cancel()
        self.channel.close()
        self.process.kill()
        self.process.wait()
        self.said.close()
        if self.folder:
            self.folder.remove()

    def _receive(self) -> bytes:
        try:
            return self.channel.recv(1)
        except OSError:
            return b""


def readable() -> list[str]:
    """What submissions can read: the interpreter, its packages, system libraries, `utils`, and what runs beside them."""
    packages = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    places = [
        sys.prefix,
        sys.exec_prefix,
        sys.base_prefix,
        *packages,
        *site.getsitepackages(),
        *_SYSTEM_FOLDERS,
        *_LINKED_FOLDERS,
        *_SMALL_FILES,
        *_MACHINE_FOLDERS,
    ]
    readable_places = dict.fromkeys(
        [*map(str, _OWN_FOLDERS), *(place for place in places if place != "/usr" and Path(place).exists())]
    )
    return [place for place in readable_places if not settings.ROOT.is_relative_to(place)]


def _bubblewrap(command: list[str]) -> list[str]:
    """The command line that runs `command` with a view of its own, no network and no other processes."""
    arguments = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--uid", "65534"]
    arguments += ["--gid", "65534", "--hostname", "course", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    arguments += ["--tmpfs", _SCRATCH]
    for place in sorted(readable(), key=lambda place: place.count("/")):
        path = Path(place)
        if path.is_symlink() and place in _LINKED_FOLDERS:
            arguments += ["--symlink", os.readlink(place), place]
        else:
            arguments += ["--ro-bind", place, f"{_COURSE}/{path.name}" if path in _OWN_FOLDERS else place]
    for place in ("/tmp", "/dev", "/"):
        # A job could otherwise leave something there for the next one.
        arguments += ["--remount-ro", place]
    return [*arguments, "--chdir", _SCRATCH, *command]


# All of the course that a submission can see.
_OWN_FOLDERS = (settings.ROOT / "utils", settings.ROOT / "autograder" / "sandbox" / "inside")
# Where the course's folders and the scratch folder lie in bubblewrap's view.
_COURSE, _SCRATCH = "/course", "/scratch"


def _writable() -> list[str]:
    """The folders that each job finds empty: /tmp among them, unless the interpreter itself lies there."""
    return [_SCRATCH] + ([] if any(place.startswith("/tmp/") for place in readable()) else ["/tmp"])


def _environment(level: str, home: str) -> dict:
    inherited = {name: value for name, value in os.environ.items() if name in ("LANG", "LC_ALL", "LD_LIBRARY_PATH")}
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        **inherited,
        **one_thread,
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": home,
        "USER": "student",  # the sandbox has no list of users to look the name up in
        "PYTHONPATH": _COURSE if level == BUBBLEWRAP else os.pathsep.join(str(path.parent) for path in _OWN_FOLDERS),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
        **({} if level == RLIMITS else {"CUDA_VISIBLE_DEVICES": ""}),
        "COURSE_STATIC": "1",
    }


@cache
def available() -> tuple[str, ...]:
    """The levels that this machine has, best first; each was tried, not assumed."""
    levels = []
    if shutil.which("bwrap") and syscalls.available() and _succeeds(_bubblewrap(_probe())):
        levels.append(BUBBLEWRAP)
    if landlock.version() and syscalls.available():
        levels.append(LANDLOCK)
    return (*levels, RLIMITS)


def _probe() -> list[str]:
    """Enters the namespaces that every job gets; succeeds only if the kernel allows it."""
    code = "from inside import confine; confine.enter_namespaces(1 << 20, ['/scratch'])"
    return [sys.executable, "-c", code]


def _succeeds(command: list[str]) -> bool:
    try:
        completed = subprocess.run(command, env=_environment(BUBBLEWRAP, _SCRATCH), capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return completed.returncode == 0


def choose(level: str | None = None, accept_weak: bool = False, proven: bool = False, device: str = "cpu") -> str:
    """The level asked for, or the best there is; `proven` says that the level was tried on this machine already.

    Raises:
        KitError: this machine does not have it, or only the weakest, which must be accepted in so many words; or it hides
            the device.
    """
    chosen = level or available()[0]
    if chosen not in LEVELS or (not proven and chosen not in available()):
        raise settings.KitError(f"the {chosen} sandbox is not to be had here; there is: {', '.join(available())}.")
    if device != "cpu" and chosen != RLIMITS:
        raise settings.KitError(
            f"{chosen} hides {device} from submissions: leave COURSE_DEVICE out to grade on the CPU, or say"
            " --sandbox rlimits --accept-weak-sandbox if you trust every one."
        )
    if chosen == RLIMITS and not (accept_weak or os.environ.get("COURSE_ACCEPT_WEAK_SANDBOX")):
        raise settings.KitError(
            "only the weakest sandbox is in reach: submissions could read and change your files. Install bubblewrap and"
            " libseccomp (`apt-get install bubblewrap libseccomp2`), or say --accept-weak-sandbox (in nbgrader:"
            " COURSE_ACCEPT_WEAK_SANDBOX=1) if you trust every one."
        )
    return chosen
