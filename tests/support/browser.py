"""A JupyterLab over a copy of the course, and pages of a headless Chromium that note what they could not load."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Page, sync_playwright

from autograder.authoring.release import bundle

ROOT = Path(__file__).resolve().parent.parent.parent
SCREENSHOTS = ROOT / "screenshots"
HOST, PATIENCE = "127.0.0.1", 120  # seconds; a busy machine takes its time
FLAGS = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync".split()
# No other host is found. (Playwright could refuse each request instead, which costs a second a page and the cache of scripts.)
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
IDLE = ".jp-Notebook-ExecutionIndicator[data-status=idle]"
NO_NEWS = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}  # it asks outside, and covers


def installed_chromium() -> str | None:
    """Where Chromium is, if it is installed."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def chromium() -> str:
    """Where Chromium is; skips where it is missing, or fails if REQUIRE_BROWSER is set."""
    found = installed_chromium()
    if not found:
        word = "Chromium is not installed, so nothing was tried in a browser"
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(f"{word}, and REQUIRE_BROWSER asks for it")
        pytest.skip(word)
    return found


@dataclass(frozen=True)
class Copy:
    """A copy of the course with settings of its own: no user's, and no other checkout, play a part."""

    folder: Path
    environment: dict[str, str]
    python: str = sys.executable

    @classmethod
    def make(cls, place: Path, **variables: str) -> "Copy":
        """Copies the repository, as git would hold it and without what it ignores, below `place`."""
        listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
            if (ROOT / name).exists():
                (place / "course" / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, place / "course" / name)
        return cls(place / "course", {**own_environment(place / "home"), **variables})

    @classmethod
    def of_the_bundle(cls, place: Path, **variables: str) -> "Copy":
        """Unpacks what students receive, and nothing else, below `place`."""
        for name, data in bundle().items():
            file = place / "attention-course" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return cls(place / "attention-course", {**own_environment(place / "home"), **variables})

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        """Runs the kit's command line in the copy."""
        command = [self.python, "-m", "autograder", *arguments]
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)

    def kit(self, *arguments: str) -> None:
        """The same, where nothing may go wrong."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr


def own_environment(home: Path) -> dict[str, str]:
    """Variables under which Jupyter reads and writes its settings in `home` alone, and Python finds no other checkout."""
    settings = home / "config" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "page_config.json").write_text(json.dumps(NO_NEWS), encoding="utf-8")
    foreign = ("JUPYTER", "COURSE_", "PYTHONPATH", "IPYTHON", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    own = {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
    }
    return {**kept, **own}


@contextmanager
def running_lab(copy: Copy):
    """JupyterLab over the copy, on a free port of the loopback address; yields its URL."""
    process, address = _start(copy)
    try:
        yield address
    finally:
        _end(process)


def _start(copy: Copy, attempts: int = 3) -> tuple[subprocess.Popen, str]:
    """Starts JupyterLab and waits for its answer; again on another port if it ends at once, as where that one was taken."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    server = {"ip": HOST, "port": port, "port_retries": 0, "password": "", "disable_check_xsrf": True}
    options = ["--no-browser", "--allow-root", "--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True"]
    options += [f"--ServerApp.{name}={value}" for name, value in server.items()]
    command = [copy.python, "-m", "jupyterlab", *options]
    log = Path(copy.environment["HOME"]) / "lab.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            command, cwd=copy.folder, env=copy.environment, stdout=stream, stderr=stream, start_new_session=True
        )
    try:
        _wait_for_answer(f"http://{HOST}:{port}/api", process, log)
    except BaseException:
        ended = process.poll() is not None
        _end(process)
        if ended and attempts > 1:
            return _start(copy, attempts - 1)
        raise
    return process, f"http://{HOST}:{port}"


def _wait_for_answer(address: str, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab does not answer:\n{log.read_text(encoding='utf-8')[-3000:]}")


def _end(process: subprocess.Popen) -> None:
    """Asks the server to end, which ends its kernels too; then ends whatever is left of its process group."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


CONNECTED = """() => {
    const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
    const kernel = session?.session?.kernel;
    return session?.isReady && kernel?.connectionStatus === "connected" && kernel?.status === "idle";
}"""


@dataclass
class Browser:
    """Pages on one JupyterLab; `missed` lists what of the server's own they could not load."""

    address: str
    context: object
    missed: list[str] = field(default_factory=list)
    pages: int = 0

    @contextmanager
    def lab(self, path: str = ""):
        """JupyterLab in a page and a workspace of its own, at a file if `path` names one; its kernels end with it."""
        self.pages += 1
        page = self.context.new_page()
        page.on("response", lambda got: self._note(got.status >= 400, got.url, got.status))
        page.on("requestfailed", lambda sent: self._note("ABORTED" not in (sent.failure or ""), sent.url, sent.failure))
        page.on("console", lambda said: self._note("Failed to load" in said.text, said.location["url"], said.text))
        try:
            page.goto(f"{self.address}/lab/workspaces/page-{self.pages}" + (f"/tree/{path}" if path else ""))
            page.get_by_role("menuitem", name="Nbgrader", exact=True).wait_for()
            yield page
        finally:
            for session in self.context.request.get(f"{self.address}/api/sessions").json():
                self.context.request.delete(f"{self.address}/api/sessions/{session['id']}")
            page.close()

    @contextmanager
    def notebook(self, path: str):
        """A notebook in JupyterLab, with its kernel ready."""
        with self.lab(path) as page:
            dialog = page.locator(".jp-Dialog")
            page.locator(IDLE).or_(dialog).first.wait_for()
            assert not dialog.count(), f"{path} does not open: {dialog.inner_text()}"
            page.wait_for_function(CONNECTED)  # what is asked of a kernel before that is lost
            yield page

    def _note(self, failed: bool, url: str, why: object) -> None:
        if failed and url.startswith(self.address):
            self.missed.append(f"{url}: {why}")


@contextmanager
def running_browser(address: str):
    """Headless Chromium in front of a JupyterLab; it reaches no other host, and keeps compiled scripts for the next page."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium(), args=[*FLAGS, ALONE], viewport={"width": 1400, "height": 1000}
        )
        context.set_default_timeout(PATIENCE * 1000)
        context.set_default_navigation_timeout(PATIENCE * 1000)
        yield Browser(address, context)
        context.close()


@contextmanager
def offline_browser():
    """Headless Chromium without network, for pages that are files."""
    program = chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started.new_context(viewport={"width": 1300, "height": 1000}, offline=True)
        started.close()


def choose(page: Page, menu: str, entry: str) -> None:
    """Chooses an entry of JupyterLab's menu bar."""
    page.get_by_role("menuitem", name=menu, exact=True).click()
    page.locator(".lm-Menu-itemLabel").get_by_text(entry, exact=True).click()


def formgrader(page: Page) -> FrameLocator:
    """Opens formgrader as an instructor does, from the menu."""
    choose(page, "Nbgrader", "Formgrader")
    return page.frame_locator("iframe[src*=formgrader]")


def until(page: Page, holds, what: str, seconds: float | None = None) -> None:
    """Waits until `holds()` is true, for `seconds` at most; `what` says what was waited for."""
    deadline = time.monotonic() + (seconds or PATIENCE)
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        page.wait_for_timeout(100)


def screenshot(page: Page, name: str) -> None:
    """Keeps what the page shows for whoever has made a folder `screenshots` to look into: no test does."""
    if SCREENSHOTS.is_dir():
        page.screenshot(path=SCREENSHOTS / f"{name}.png")
