"""Other states of a lesson's explorers, drawn when the lesson is built, for the book, in which no control can be moved."""

import io
import json
from collections.abc import Callable, Iterator
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

FOLDER = Path(__file__).parent / "book" / "static" / "gallery"
INDEX = "states.json"
STATES = 4  # states that are drawn of each explorer
WIDTH, COLOURS = 720, 160  # a picture's width in pixels and its colours: the book's files stay small

_explorers: list[tuple[Callable, Any, dict]] = []


def watch() -> None:
    """From now on each explorer that is shown is noted; a lesson's kernel calls this before the first cell."""
    from utils.figures import explorers

    original_explore = explorers.explore

    def noted(draw, *, alt, **controls):
        _explorers.append((draw, alt, controls))
        original_explore(draw, alt=alt, **controls)

    explorers.explore = noted


def draw(folder: str) -> None:
    """Draws a few states of each explorer that was noted; a lesson's kernel calls this after the last cell."""
    from utils.figures.plots import png

    place = Path(folder)
    index: list[list[dict]] = []
    place.mkdir(parents=True, exist_ok=True)
    for old in place.glob("*.png"):
        old.unlink()
    for number, (make, alt, controls) in enumerate(_explorers, 1):
        index.append([])
        for count, (words, values) in enumerate(islice(states(controls), STATES), 1):
            name = f"{number}-{count}.png"
            _small_picture(png(make(**values))).save(place / name, optimize=True)
            index[-1].append({"file": name, "state": words, "alt": alt(**values) if callable(alt) else alt})
    _write_index(place, {"explorers": index})


def states(controls: dict) -> Iterator[tuple[str, dict]]:
    """States in which one control has another value than at the start: in words, and the values of all controls.

    Each control is moved once before any is moved a second time.
    """
    start = {name: control.start for name, control in controls.items()}
    moved = ([(name, control, value) for value in _other_values(control)] for name, control in controls.items())
    for name, control, value in filter(None, chain.from_iterable(zip_longest(*moved))):
        yield f"{control.label}: {_in_words(value)}", {**start, name: value}


def _other_values(control: Any) -> list:
    """Values of a control that are far from its first."""
    kind = type(control).__name__
    if kind == "Slider":
        far = sorted({control.low, control.high} - {control.start}, key=lambda value: -abs(value - control.start))
        return [type(control.start)(value) for value in far]
    if kind == "Switch":
        return [not control.start]
    if kind == "Choice":
        return [option for option in control.options if option != control.start]
    if kind == "Order":
        return [tuple(reversed(control.start))]
    return [tuple(tuple(True for _ in row) for row in control.start)]  # a grid, with all of its cells on


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return " ".join(value) if all(isinstance(part, str) for part in value) else "all on"
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def _small_picture(picture: bytes) -> "Image":
    from PIL import Image  # imported here, since the book itself is made without it

    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    size = (WIDTH, round(whole.height * WIDTH / whole.width))
    fitted = whole if whole.width <= WIDTH else whole.resize(size, Image.Resampling.LANCZOS)
    return fitted.quantize(COLOURS, dither=Image.Dither.NONE)


def sign(unit: str, digest: str) -> None:
    """Notes what a lesson's pictures were made from."""
    _write_index(FOLDER / unit, {**_read_index(unit), "made_from": digest})


def is_of(unit: str, digest: str) -> bool:
    """Whether a lesson's pictures were made from what the digest stands for."""
    return _read_index(unit).get("made_from") == digest


def of_lesson(unit: str) -> list[list[dict]]:
    """The states of each of a lesson's explorers, in the order of the lesson: file, state and alternative text."""
    return _read_index(unit)["explorers"]


def _read_index(unit: str) -> dict:
    file = FOLDER / unit / INDEX
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"explorers": []}


def _write_index(place: Path, index: dict) -> None:
    (place / INDEX).write_text(json.dumps(index, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
