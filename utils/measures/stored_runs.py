"""Results of long runs: made by a lesson's own cells under COURSE_FULL=1, kept beside the lesson with how they came about."""

import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import torch

_FOLDER = Path(__file__).parent.parent.parent / "notebooks" / "stored"
_PACKAGES = ("torch", "numpy")
_DIGITS = 4  # nobody reads a fifth


def full() -> bool:
    """Whether the lesson is to run its long version: COURSE_FULL=1 in the environment."""
    return os.environ.get("COURSE_FULL") == "1"


def keep(name: str, results: dict, *, seed: int | str, seconds: float) -> dict:
    """Writes the results of a long run, with command, seed, machine, versions and time; returns what was written."""
    lesson = name.partition(".")[0]
    record = {
        "command": f"COURSE_FULL=1 jupyter execute --timeout=-1 notebooks/{lesson}.ipynb",
        "seed": seed,
        "machine": _machine(),
        "versions": {package: version(package) for package in _PACKAGES},
        "minutes": round(seconds / 60, 1),
        "results": json.loads(json.dumps(results), parse_float=lambda text: round(float(text), _DIGITS)),
    }
    _FOLDER.mkdir(exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True)
    (_FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return record


def load(name: str) -> dict:
    """What `keep` wrote under that name.

    Raises:
        FileNotFoundError: nothing is stored under it.
    """
    return json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def how(record: dict) -> str:
    """Where stored results come from, in a line for a reader."""
    versions = ", ".join(f"{package} {number}" for package, number in record["versions"].items())
    return f"stored: {record['minutes']:g} minutes on {record['machine']}; {versions}; seed {record['seed']}"


def _machine() -> str:
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    try:
        said = subprocess.run(["lscpu"], capture_output=True, text=True).stdout
        model = next(line.partition(":")[2].strip() for line in said.splitlines() if line.startswith("Model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return f"{model}, {os.cpu_count()} cores"
