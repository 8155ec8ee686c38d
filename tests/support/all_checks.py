"""Checks every solution as students' notebooks do, with whatever versions of the packages this Python has.

It needs students' packages alone: `PYTHON tests/support/all_checks.py`.
"""

import contextlib
import io
import json
import platform
import sys
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BEGINNINGS = ("import", "from", "def", "class", "@")  # of cells that define something
TRAINED = "caption_scenes"  # needs a network that its notebook trains


def defined(notebook: Path) -> dict:
    """What the cells of a solution define; nothing is trained, drawn or checked."""
    namespace = {"__name__": "__main__"}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "check(" not in source and source.startswith(BEGINNINGS):
            exec(compile(source, str(notebook), "exec"), namespace)
    return namespace


def main() -> int:
    """Prints the versions, each failure, and how many passed; returns how many failed."""
    sys.path.insert(0, str(ROOT))
    import numpy
    import torch

    from utils.check import check
    from utils.checking.packs.shipped import names_of_units

    torch.set_num_threads(1)
    passed, failed = 0, []
    for unit, names in names_of_units().items():
        namespace = defined(ROOT / "solutions" / unit / f"{unit}.ipynb")
        for name in names:
            if name == TRAINED:
                continue
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    check(namespace[name])
                passed += 1
            except Exception as error:  # a check's message, or whatever the versions at hand make of it
                told = str(error) if type(error).__name__ == "CheckFailed" else traceback.format_exc()
                failed.append(f"{unit} {name}: {told}")
    print(*failed, sep="\n")
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, numpy {numpy.__version__}"
    print(f"{versions}: {passed} passed, {len(failed)} failed")
    return len(failed)


if __name__ == "__main__":
    sys.exit(bool(main()))
