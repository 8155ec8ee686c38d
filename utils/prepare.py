"""Installs the few small packages that the notebooks need and that a runtime such as Colab's lacks."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

NEEDED = {  # what notebooks and `utils` import, and the packages that hold it
    "numpy": "numpy", "torch": "torch", "matplotlib": "matplotlib", "ipywidgets": "ipywidgets", "jaxtyping": "jaxtyping",
    "tqdm": "tqdm", "scipy": "scipy", "sklearn": "scikit-learn",
}  # fmt: skip
OLDEST = (3, 11)


def prepare() -> list[str]:
    """Installs what is missing, at the course's versions, and nothing else: what a runtime has is left as it is.

    Returns:
        the requirements that were installed.

    Raises:
        RuntimeError: this Python is too old for the course, or pip could not install what is missing.
    """
    if sys.version_info < OLDEST:
        have, want = (".".join(map(str, version[:2])) for version in (sys.version_info, OLDEST))
        raise RuntimeError(f"The course needs Python {want} or newer, and this notebook's kernel is Python {have}.")
    missing = {package for name, package in NEEDED.items() if importlib.util.find_spec(name) is None}
    if not missing:
        return []
    lines = (Path(__file__).parent.parent / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if re.split(r"[\s=<>~!;\[]", line)[0] in missing]
    if subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *wanted]).returncode:
        raise RuntimeError(
            f"pip could not install {', '.join(sorted(missing))}; is there a network, and has this Python pip? In the"
            " course's folder, `pip install -r requirements.txt` says more."
        )
    importlib.invalidate_caches()
    return wanted
