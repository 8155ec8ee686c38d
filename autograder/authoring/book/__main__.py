"""Makes the book: `python -m autograder.authoring.book`; what its pages need is in requirements-book.txt."""

import shutil
import subprocess
import sys
from pathlib import Path

from autograder.authoring.book.places import BOOK, HERE, WORK
from autograder.authoring.book.sources import lay_downloads, lay_out

# what packages bring along and no page asks for: a template of the theme's, and MathJax for other inputs and outputs
UNUSED = (
    ".buildinfo*",
    "*webpack-macros.html",
    "tex-svg*.js",
    "tex-mml*.js",
    "tex-chtml-*.js",
    "mml-*.js",
    "node-main.js",
)


def make(book: Path = BOOK, work: Path = WORK) -> int:
    """Lays out the sources and has Sphinx write the pages; what Sphinx warns of, a dead link above all, is an error.

    Args:
        book: the folder of the book, which is replaced.
        work: a folder for sources and pages on the way; what is in it makes the next run faster.
    """
    lay_out(work / "sources")
    options = ["-b", "html", "-c", str(HERE), "-d", str(work / "doctrees"), "-q", "-W", "--keep-going"]
    completed = subprocess.run([sys.executable, "-m", "sphinx", *options, str(work / "sources"), str(work / "html")])
    if completed.returncode:
        # Sphinx warns of a page only when it reads it: without its notes it reads all pages again.
        shutil.rmtree(work)
    else:
        lay_downloads(work / "html")
        shutil.rmtree(book, ignore_errors=True)
        shutil.copytree(work / "html", book, ignore=shutil.ignore_patterns(*UNUSED))
    return completed.returncode


if __name__ == "__main__":
    status = make()
    print(f"The book could not be made (status {status})." if status else f"The book is at {BOOK / 'index.html'}")
    sys.exit(status)
