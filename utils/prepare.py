"""Installs the few small packages that the notebooks need and that a runtime such as Colab's lacks."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

NEEDED = ("numpy", "torch", "matplotlib", "ipywidgets", "jaxtyping", "tqdm")  # what notebooks and `utils` import


def prepare() -> list[str]:
    """Installs what is missing, at the course's versions, and nothing else: what a runtime has is left as it is.

    Returns:
        the requirements that were installed.

    Raises:
        RuntimeError: pip could not install them.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if not missing:
        return []
    pins = (Path(__file__).parent.parent / "requirements.txt").read_text(encoding="utf-8").split()
    wanted = [pin for pin in pins if re.split("[=<>~!]", pin)[0] in missing]
    if subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *wanted]).returncode:
        raise RuntimeError(f"pip could not install {', '.join(wanted)}; is there a network?")
    importlib.invalidate_caches()
    return wanted
