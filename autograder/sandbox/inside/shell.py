"""An IPython shell that runs a notebook's cells and returns their outputs as plain data."""

import ast
import gc
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import jaxtyping  # noqa: F401 - imported here once, so that no submission waits for it
import matplotlib.pyplot as plt
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output
from matplotlib import font_manager, mathtext
from traitlets import Type
from traitlets.config import Config

import utils.check  # noqa: F401 - what every assignment imports
import utils.device  # noqa: F401
import utils.prepare  # noqa: F401
from utils.checking.observing.failures import place
from utils.checking.observing.refusals import refusal

from .pieces import readable_pieces

MAX_TEXT = 50_000  # characters kept of what a cell prints
MAX_PICTURE = 2_000_000  # characters kept of one displayed item
MAX_ITEMS = 50  # displayed items kept of a cell
MAX_DISPLAYED = 3_000_000  # characters kept of all items that a cell displays
MAX_ERRORS = 8  # errors kept of a cell


class TimeLimit(KeyboardInterrupt):
    """Raised in student code that has run for too long; no `except Exception` stops it."""


class _Hook(DisplayHook):
    def write_output_prompt(self):
        """A value is shown without "Out[1]:": cells are not numbered here."""


class Shell(InteractiveShell):
    """Runs a cell's statements, keeps its errors, and starts nothing beside them."""

    displayhook_class = Type(_Hook)
    errors: list = []  # the errors of the cell that is being run

    def enable_gui(self, gui=None):
        """There is no window to open."""

    def system(self, cmd):
        """Runs no command, as none can be started; the rest of the cell is run."""
        print(f"! {cmd[:200]}: commands are not run while grading")

    system_raw = system_piped = system

    def getoutput(self, cmd, split=True, depth=0):
        self.system(cmd)
        return []

    def showtraceback(self, *args, **kwargs):
        """The error is returned as data, not printed."""

    showsyntaxerror = showindentationerror = showtraceback

    def transform_cell(self, raw_cell):
        """Python as it is; what is none, such as a line that begins with %, is translated, which takes far longer."""
        try:
            ast.parse(raw_cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return super().transform_cell(raw_cell)
        return raw_cell

    async def run_ast_nodes(self, nodelist, cell_name, interactivity="last_expr", compiler=compile, result=None):
        """Runs a cell's statements one by one: those behind one that fails are run as well, unless the time is up."""
        errors = []
        for node in nodelist:
            display = interactivity if node is nodelist[-1] else "none"
            if await super().run_ast_nodes([node], cell_name, display, compiler, result):
                errors.append(result.error_before_exec or result.error_in_exec)
                result.error_before_exec = result.error_in_exec = None
                if isinstance(errors[-1], TimeLimit):
                    break
        self.errors += errors
        result.error_in_exec = errors[0] if errors else None
        return bool(errors)


def make_shell() -> Shell:
    """A shell without history, files or debugger that draws figures into the cell's output."""
    config = Config()
    config.HistoryManager.enabled = False  # the history's file would be open in every job
    config.HistoryManager.hist_file = ":memory:"
    shell = Shell.instance(colors="nocolor", autocall=0, config=config)
    shell.run_line_magic("matplotlib", "inline")
    # Without a tight bounding box a figure is drawn once, not twice.
    shell.run_line_magic("config", "InlineBackend.print_figure_kwargs = {'bbox_inches': None}")
    return shell


def draw_once() -> None:
    """Draws a figure that nobody sees, so that fonts and the labels of axes are ready before a process is forked."""
    figure, axes = plt.subplots(1, 2)
    axes[0].loglog([1e-6, 1e6], [1e-6, 1e6], "o-", label="$x$")
    axes[1].plot([0, 1], [0, 1], "s--", label="x")
    for axis in axes:
        axis.set_xlabel("$D$")
        axis.set_title("title")
        axis.legend()
    figure.tight_layout()
    figure.savefig(io.BytesIO(), format="png", bbox_inches=None)
    plt.close(figure)
    for cached in (font_manager._get_font, mathtext.MathTextParser._parse_cached):  # type: ignore[attr-defined]  # private
        cached.cache_clear()  # a font that was still open would be closed in a job: by its number, which by then may be
    gc.collect()  # that of a file of the student's


class _Bounded(io.StringIO):
    """Keeps the beginning of what is written and counts the rest, so that endless output fills no memory."""

    dropped = 0

    def write(self, text):
        room = MAX_TEXT - self.tell()
        if len(text) > room:
            self.dropped += len(text) - max(0, room)
            super().write(text[: max(0, room)])
        else:
            super().write(text)
        return len(text)

    def kept(self) -> str:
        return self.getvalue() + (f"\n… {self.dropped} more characters" if self.dropped else "")


class quietly:
    """Collects what is printed and displayed while it is entered; `stdout`, `stderr` and `displayed` hold it."""

    def __enter__(self):
        self.stdout, self.stderr = _Bounded(), _Bounded()
        self._before = sys.stdout, sys.stderr
        self._displays, self.displayed = capture_output(stdout=False, stderr=False, display=True), []
        self._captured = self._displays.__enter__()
        sys.stdout, sys.stderr = self.stdout, self.stderr
        return self

    def __exit__(self, *error):
        sys.stdout, sys.stderr = self._before
        self._displays.__exit__(*error)
        self.displayed = self._captured.outputs


@contextmanager
def unseen() -> Iterator[None]:
    """Keeps what is printed and displayed meanwhile from being seen, and figures that are left open from the next cell."""
    before = set(plt.get_fignums())
    with quietly():
        yield
    for number in set(plt.get_fignums()) - before:
        plt.close(number)


def run_cell(shell: Shell, source: str, seconds: float, pictures: bool = True) -> dict:
    """Runs one cell and returns {"outputs": a list in nbformat's form}.

    A statement that fails does not keep the others from being run, nor does a piece of the cell that is not Python. Each error
    is an output; "refused" in it says whether the confinement brought it about (see `utils.checking.observing.refusals`).
    Without `pictures`, figures that the cell shows are named in its output and not drawn.
    """
    formatter: Any = shell.display_formatter
    formatter.formatters["image/png"].enabled = pictures
    shell.errors = errors = []
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with quietly() as captured:
            unread = shell.run_cell(source, store_history=False, silent=False).error_before_exec
            if unread is not None:
                errors.append(unread)
                for piece in readable_pieces(shell, source):
                    shell.run_cell(piece, store_history=False, silent=False)
    except (TimeLimit, Exception) as raised:
        # IPython itself fails on code that is nested very deeply.
        errors.append(raised)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    outputs = []
    for name in ("stdout", "stderr"):
        text = getattr(captured, name).kept()
        if text:
            outputs.append({"output_type": "stream", "name": name, "text": text})
    outputs += _display_outputs(captured.displayed)
    return {"outputs": outputs + [_error_output(error, seconds) for error in errors[:MAX_ERRORS]]}


def _error_output(error: BaseException, seconds: float) -> dict:
    late = isinstance(error, TimeLimit)
    name, text = (
        ("TimeLimit", f"stopped after {seconds:g} s") if late else (type(error).__name__, _error_text(error)[:2000])
    )
    output = {"output_type": "error", "ename": name, "evalue": text, "traceback": [f"{name}: {text}"]}
    return {**output, "refused": refusal(error, place(error)[0])}


def _error_text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:
        return ""


def _display_outputs(displayed: list[RichOutput]) -> list[dict]:
    """What a cell displays, from the beginning, as far as there is room for it."""
    outputs = [_display_output(item) for item in displayed[:MAX_ITEMS]]
    sizes = accumulate(sum(map(len, output["data"].values())) for output in outputs)
    return [output for output, size in zip(outputs, sizes) if size <= MAX_DISPLAYED]


def _display_output(item: RichOutput) -> dict:
    # HTML is left out: it could carry scripts to a reader.
    representations = {kind: item.data.get(kind) for kind in ("text/plain", "image/png")}
    data = {
        kind: value for kind, value in representations.items() if isinstance(value, str) and len(value) < MAX_PICTURE
    }
    return {"output_type": "display_data", "data": data, "metadata": {}}


def settle(scratch: str) -> None:
    """Makes a folder the one that programs write to by default."""
    os.environ.update(HOME=scratch, TMPDIR=scratch, MPLCONFIGDIR=scratch, IPYTHONDIR=scratch)
    os.chdir(scratch)
    if scratch not in sys.path:
        sys.path.append(scratch)  # last: a file of the submission shadows no module
