"""Runs a lesson from the student's bundle as a reader does, in JupyterLab in Chromium, and reports what there was to see."""

import time
from pathlib import Path

import nbformat
from browser import IDLE, Browser, Copy, choose, screenshot, until
from explorer_tour import tour
from nbclient import NotebookClient
from playwright.sync_api import Page

RUN_SECONDS = 800  # for all cells of a lesson; one or two minutes are usual, on a machine that does nothing else
# As the build runs a lesson, or last digits would differ from what it claims. COURSE_STATIC is not set: figures move.
# A progress bar is drawn once a second instead of ten times, which costs the page an eighth of a core.
VARIABLES = {"OMP_NUM_THREADS": "1", "COURSE_DEVICE": "cpu", "TQDM_MININTERVAL": "1"}

# Asked of the notebook, not of the page, which holds no cell that is out of view; what follows an error is not run.
WAITING = """() => {
    const cells = window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model);
    const code = cells.filter(model => model.type === "code");
    const failed = code.some(model => model.toJSON().outputs.some(output => output.output_type === "error"));
    return code.filter(model => model.executionState === "running" || !(failed || model.executionCount)).length;
}"""
UNSAVED = "() => window.jupyterapp.shell.currentWidget.context.model.dirty"
IN_VIEW = """() => {
    const cells = window.jupyterapp.shell.currentWidget.context.model.toJSON().cells;
    return cells.map(cell => [cell.id, cell.execution_count ?? null]);
}"""
FORMULAS = """() => {
    const cells = [...document.querySelectorAll(".jp-MarkdownCell .jp-MarkdownOutput")];
    const plain = cell => {
        const copy = cell.cloneNode(true);
        copy.querySelectorAll("mjx-container, code, pre").forEach(part => part.remove());
        return copy.textContent;
    };
    return {
        cells: cells.length,
        typeset: cells.reduce((sum, cell) => sum + cell.querySelectorAll("mjx-container").length, 0),
        left_as_written: cells.map(plain).filter(text => text.includes("$")),
        with_errors: [...document.querySelectorAll("mjx-merror, [data-mjx-error]")].map(part => part.textContent),
    };
}"""
ASK_THE_KERNEL = """async ([name, code]) => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const asked = {code: "", silent: true, store_history: false, user_expressions: {[name]: code}};
    const reply = await kernel.requestExecute(asked).done;
    return reply.content.user_expressions[name].data["text/plain"];
}"""
FINDS_THE_AUTOGRADER = "__import__('importlib.util').util.find_spec('autograder') is not None"


def in_the_browser(browser: Browser, copy: Copy, unit: str, result: Path, folder: str = "notebooks") -> dict:
    """Runs a lesson, or another notebook, saves it by the menu, keeps the saved notebook as `result`, and moves its explorers.

    Returns:
        the report: errors, what of the server's own the page missed, formulas, explorers, and what each part took in seconds.
    """
    missed_before, times = len(browser.missed), [time.monotonic()]
    path, name = f"{folder}/{unit}.ipynb", f"{'lesson' if folder == 'notebooks' else folder}-{unit[:2]}"
    with browser.notebook(path) as page:
        _run_all(page)
        times.append(time.monotonic())
        until(page, lambda: _saved(page, copy.folder / path), "the notebook is saved as it is")
        result.write_bytes((copy.folder / path).read_bytes())
        seen = {
            "formulas": page.evaluate(FORMULAS),
            "autograder": page.evaluate(ASK_THE_KERNEL, ["found", FINDS_THE_AUTOGRADER]) == "True",
            "explorers": tour(page, name),
        }
        screenshot(page, name)
    times.append(time.monotonic())
    seconds = {"running": round(times[1] - times[0], 1), "looking": round(times[2] - times[1], 1)}
    return {**problems(result), "browser": {**seen, "missed": browser.missed[missed_before:]}, "seconds": seconds}


def _run_all(page: Page) -> None:
    choose(page, "Run", "Run All Cells")
    page.locator("[data-status=busy]").wait_for()
    page.locator(IDLE).wait_for(timeout=RUN_SECONDS * 1000)
    until(page, lambda: not page.evaluate(WAITING), "no cell waits for its turn")


def _saved(page: Page, file: Path) -> bool:
    """Saves, and says whether the file holds what the page does: a save that JupyterLab began by itself may end later."""
    choose(page, "File", "Save Notebook")
    until(page, lambda: not page.evaluate(UNSAVED), "nothing is left to save")
    cells = nbformat.read(file, as_version=4).cells
    return [[cell.id, cell.get("execution_count")] for cell in cells] == page.evaluate(IN_VIEW)


def without_a_browser(copy: Copy, unit: str, result: Path) -> dict:
    """Runs a lesson where there is no Chromium: the notebook with its outputs is kept, and nothing was seen."""
    started = time.monotonic()
    notebook = nbformat.read(copy.folder / "notebooks" / f"{unit}.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=RUN_SECONDS, kernel_name="python3", allow_errors=True)
    client.execute(cwd=str(copy.folder / "notebooks"), env=copy.environment)
    nbformat.write(notebook, result)
    return {**problems(result), "browser": None, "seconds": {"running": round(time.monotonic() - started, 1)}}


def problems(result: Path) -> dict[str, list]:
    """The cells of a notebook after a run that ended with an error, and those that were not run."""
    code = [cell for cell in nbformat.read(result, as_version=4).cells if cell.cell_type == "code"]
    errors = [(cell.id, out.ename, out.evalue) for cell in code for out in cell.outputs if out.output_type == "error"]
    return {"errors": errors, "not_run": [cell.id for cell in code if not cell.execution_count]}
