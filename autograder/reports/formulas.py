"""Draws formulas as pictures within a page, so that showing them needs no script, no font and no network."""

import base64
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from html import escape

import numpy as np

from autograder.intake.guard import guarded

# characters and braces of what one picture shows, characters of the picture
LONGEST, DEEPEST, LARGEST = (500, 40, 50_000)
WHOLE = 5_000  # characters of a formula
OTHERWISE = {  # TeX that matplotlib does not know, by what it knows and looks alike
    "le": r"\leq", "ge": r"\geq", "ne": r"\neq", "tfrac": r"\frac", "implies": r"\Rightarrow", "iff": r"\Leftrightarrow",
    "lvert": "|", "rvert": "|", "lVert": r"\|", "rVert": r"\|", "land": r"\wedge", "lor": r"\vee", "dots": r"\ldots",
    "bmod": r"\;\mathrm{mod}\;",
    **dict.fromkeys("big Big bigg Bigg bigl bigr Bigl Bigr displaystyle textstyle limits nolimits nonumber".split(), ""),
}  # fmt: skip
# Units of a picture in the height of the text around it: the letters of formulas are smaller than a page's.
EM = 88
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")
_BARE = re.compile(  # one digit, letter or symbol without the braces that matplotlib wants
    r"\\(frac|tfrac)\s*(\d|(?<=\s)[A-Za-z])\s*([\dA-Za-z])"
    r"|\\(sqrt)\s*(\d|(?<=\s)[A-Za-z]|\\[A-Za-z]+(?![A-Za-z]|\s*\{))"
)
_TABLE = re.compile(r"\\begin\{(pmatrix|cases)\}(.*?)\\end\{\1\}", re.DOTALL)
_SPACES = re.compile(r"(?:\\q?quad|\\[;,: ]|\s)*")
_LINES = re.compile(r"\\\\(?:\[[^\]]*\])?")
_AROUND = re.compile(r"\s*\\(?:begin|end)\{(?:align|aligned|equation|gather|gathered|split)\*?\}\s*")
_PATH = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}  # matplotlib's codes, in SVG's letters
_POINTS = {1: 1, 2: 1, 3: 2, 4: 3, 79: 1}


def drawn(tex: str, displayed: bool) -> str | None:
    """A formula as HTML that holds pictures, each of its lines for itself; None where it is not of the TeX that is known."""
    if len(tex) > WHOLE:
        return None
    texts, tables = _split_tables(_BARE.sub(_with_braces, _AROUND.sub(" ", tex) if displayed else tex))
    if displayed:
        texts = [text.replace("&", " ").replace(r"\frac", r"\dfrac") for text in texts]
    around = zip(texts, [*tables, ("", "")])
    drawings = [piece for text, table in around for piece in (*_line_pictures(text), *_table_pictures(*table))]
    pieces = [piece for piece in drawings if piece is not None]
    if len(pieces) < len(drawings) or not any("<img" in piece for piece in pieces):
        return None
    whole = re.sub("(?:<br>)+", "<br>", "".join(pieces)).removeprefix("<br>").removesuffix("<br>")
    return f'<span class="formula">{whole}</span>' if displayed else whole


def _with_braces(match: re.Match[str]) -> str:
    return (
        "\\"
        + (match[1] or match[4])
        + "".join(f"{{{argument}}}" for argument in (match[2], match[3], match[5]) if argument)
    )


def _split_tables(tex: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Splits a formula at its matrices and cases: the texts around them, and the kind and content of each of them."""
    parts = _TABLE.split(tex)
    return parts[::3], list(zip(parts[1::3], parts[2::3]))


def _line_pictures(tex: str) -> Iterator[str | None]:
    """Pictures of lines, with breaks between them."""
    for number, line in enumerate(_LINES.split(tex)):
        if number:
            yield "<br>"
        if not _SPACES.fullmatch(line):
            yield picture(" ".join(line.split()))


def _table_pictures(kind: str, content: str) -> Iterator[str | None]:
    """A matrix or cases, which matplotlib does not know, as a table of pictures, of spans, since a <table> ends its paragraph."""
    if content:
        rows = [[picture(cell.strip()) for cell in row.split("&")] for row in _LINES.split(content) if row.strip()]
        if len({len(row) for row in rows}) != 1 or None in sum(rows, []):
            yield None
        else:
            within = ("".join(f"<span>{cell}</span>" for cell in row) for row in rows)
            yield f'<span class="{kind}">' + "".join(f"<span>{row}</span>" for row in within) + "</span>"


@lru_cache(maxsize=4096)
@guarded(lambda error, tex: None)
def picture(tex: str) -> str | None:
    """One line of TeX as an <img> of an SVG, as high as the text around it and on its line."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    if len(tex) > LONGEST or tex.count("{") > DEEPEST or tex.count("\\left") > DEEPEST:
        return None
    supported = "$" + _COMMAND.sub(lambda match: OTHERWISE.get(match[1], match[0]), tex) + "$"
    font = FontProperties(size=100, math_fontfamily="stix")
    with _refusing_letters_without_a_font():
        width, height, depth = text_to_path.get_text_width_height_descent(supported, font, ismath=True)
        points, codes = text_to_path.get_text_path(font, supported, ismath=True)
    if not len(points) or not 0 < width < 10_000 or not 0 < height < 2_000:
        return None
    box = f"-2 {-(height - depth) - 2:.0f} {width + 4:.0f} {height + 4:.0f}"
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}"><path d="{_svg_path(points, codes)}"/></svg>'
    data = base64.b64encode(drawing.encode()).decode()
    place = (
        f"width:{(width + 4) / 100:.2f}em;height:{(height + 4) / 100:.2f}em;vertical-align:{-(depth + 2) / 100:.2f}em;"
        "border:0!important"
    )
    if len(data) > LARGEST:
        return None
    return f'<img class="formula" alt="{escape(tex)}" style="{place}" src="data:image/svg+xml;base64,{data}"/>'


@contextmanager
def _refusing_letters_without_a_font():
    """Has matplotlib fail where it would only note in its log that it draws another letter, and draw that."""

    class Refusal(logging.Handler):
        def emit(self, record):
            raise ValueError(record.getMessage())

    log, refusal = logging.getLogger("matplotlib.mathtext"), Refusal()
    log.addHandler(refusal)
    try:
        yield
    finally:
        log.removeHandler(refusal)


def _svg_path(points: np.ndarray, codes: np.ndarray) -> str:
    """The outline of letters, as an SVG path; upwards is downwards there."""
    parts, index = [], 0
    while index < len(codes):
        code = int(codes[index])
        count = _POINTS[code]
        pairs = " ".join(f"{x:.0f} {-y:.0f}" for x, y in points[index : index + count])
        parts.append("Z" if code == 79 else _PATH[code] + pairs)
        index += count
    return "".join(parts)
