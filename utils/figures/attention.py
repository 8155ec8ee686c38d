"""Draws attention as products of matrices, and tokens that all attend to each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from utils.figures.plots import BLACK, DATA_BOX, GREY, OUTPUT, QUERY, WEIGHTS, array, canvas, styled, written

_LINE = "#444444"
_TALL, _SHORT, _THIN = (
    0.42,
    0.3,
    0.046,
)  # sides of cells: with a number; beside thin ones; of a long side without numbers
_MANY = 12  # a side of more cells than this is long
_GAP, _OPERATOR, _LETTER = 0.15, 0.42, 0.1  # beside a matrix; what stands between two; a letter of writing
_STRONG = 0.75  # share of the colour in the cell of the largest number, which leaves black writing legible


@dataclass(frozen=True)
class Matrix:
    """A matrix [rows, columns] to be drawn: its name above, its shape below, names of its rows and columns beside them."""

    name: str
    values: object
    shape: str
    colour: str
    rows: Sequence[str] = ()
    numbers: str = ".0f"
    columns: Sequence[str] = ()

    @property
    def cell(self) -> tuple[float, float]:
        """Width and height of one of its cells."""
        rows, columns = array(self.values).shape
        if self.numbered:
            longest = max(len(written(value, self.numbers)) for value in array(self.values).flat)
            longest = max(longest, *map(len, self.columns), 0)
            return max(0.5, _LETTER * longest + 0.12), _TALL
        return _THIN if columns > _MANY else _SHORT, _THIN if rows > _MANY else _SHORT

    @property
    def numbered(self) -> bool:
        return max(array(self.values).shape) <= _MANY

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, without names."""
        (rows, columns), (width, height) = array(self.values).shape, self.cell
        return columns * width, rows * height

    @property
    def below(self) -> str:
        """Its shape; and where its cells hold no numbers, which numbers the lightest and the darkest stand for."""
        if self.numbered:
            return self.shape
        low, high = (written(value, self.numbers) for value in (array(self.values).min(), array(self.values).max()))
        return f"{self.shape}\nwhite: {low}, darkest: {high}"

    @property
    def height(self) -> float:
        """Height with all that is written above and below, which takes equal room on both sides."""
        return self.size[1] + (1.4 if self.columns or not self.numbered else 0.85)


@styled
def equations(lines: Sequence[Sequence[Matrix | str]]) -> Figure:
    """Lines of matrices, with operators such as "×" and "=" as strings between them.

    The larger a number, the darker its cell, in the colour of its matrix. A matrix with more than a dozen rows or
    columns has small cells without numbers.
    """
    heights = [max(part.height for part in line if isinstance(part, Matrix)) for line in lines]
    widths = [sum(_width(part) for part in line) for line in lines]
    scale = 10.5 / max(*widths, 10.2)
    figure, (axes,) = canvas(10.5, sum(heights) * scale)
    top = 0.0
    for line, height in zip(lines, heights, strict=True):
        left = 0.0
        for part in line:
            if isinstance(part, Matrix):
                _matrix(axes, part, left, top - height / 2)
            else:
                axes.text(left + _width(part) / 2, top - height / 2, part, ha="center", va="center", fontsize=13)
            left += _width(part)
        top -= height
    axes.set(xlim=(0, 10.5 / scale), ylim=(top, 0), aspect="equal")
    axes.axis("off")
    return figure


def _width(part: Matrix | str) -> float:
    """The room that a matrix, with the names of its rows, or an operator takes."""
    if isinstance(part, str):
        return max(_OPERATOR, 1.3 * _LETTER * len(part))
    return part.size[0] + 2 * _GAP + _LETTER * max(map(len, part.rows), default=0)


def _matrix(axes: Axes, matrix: Matrix, left: float, middle: float) -> None:
    values = array(matrix.values)
    (wide, tall), (cell_width, cell_height) = matrix.size, matrix.cell
    left, top = left + _width(matrix) - _GAP - wide, middle + tall / 2
    low, high = values.min(), values.max()
    for (i, j), value in np.ndenumerate(values):
        corner = (left + j * cell_width, top - (i + 1) * cell_height)
        share = _STRONG * (value - low) / ((high - low) or 1)
        colour = tuple(1 - share * (1 - channel) for channel in to_rgb(matrix.colour))
        edge = {"edgecolor": GREY, "linewidth": 0.6} if matrix.numbered else {"linewidth": 0}
        axes.add_patch(Rectangle(corner, cell_width, cell_height, facecolor=colour, **edge))
        if matrix.numbered:
            centre = (corner[0] + cell_width / 2, corner[1] + cell_height / 2)
            axes.text(*centre, written(value, matrix.numbers), ha="center", va="center")
    axes.add_patch(Rectangle((left, top - tall), wide, tall, fill=False, edgecolor=BLACK, linewidth=1.1))
    for i, name in enumerate(matrix.rows):
        axes.text(left - 0.08, top - (i + 0.5) * cell_height, name, ha="right", va="center")
    for j, name in enumerate(matrix.columns):
        axes.text(left + (j + 0.5) * cell_width, top + 0.07, name, ha="center", va="bottom")
    above = top + (0.35 if matrix.columns else 0.07)
    axes.text(left + wide / 2, above, matrix.name, ha="center", va="bottom", fontsize=12)
    axes.text(left + wide / 2, top - tall - 0.07, matrix.below, ha="center", va="top", linespacing=1.4)


@styled
def all_to_all(tokens: Sequence[str], query: int) -> Figure:
    """One box for each token, one above it for its output, and lines between all; those of token `query` stand out."""
    count = len(tokens)
    figure, (axes,) = canvas(10.5, 3.3)
    for m in range(count):
        for n in range(count):
            line = (
                {"color": WEIGHTS, "linewidth": 2.2, "zorder": 2} if m == query else {"color": "#DDDDDD", "zorder": 1}
            )
            axes.plot([n, m], [0.3, 2.2], **{"linewidth": 0.9, **line})
    for n, token in enumerate(tokens):
        asking = {"edgecolor": QUERY, "linewidth": 2.6} if n == query else {}
        _box(axes, (n, 0), token, DATA_BOX, asking)
        _box(axes, (n, 2.5), f"$y_{{{n + 1}}}$", OUTPUT, {"edgecolor": BLACK, "linewidth": 1.0})
    axes.text(-0.65, 0, "tokens", ha="right", va="center", color=_LINE)
    axes.text(-0.65, 2.5, "outputs", ha="right", va="center", color=_LINE)
    axes.set(xlim=(-1.5, count - 0.4), ylim=(-0.45, 2.95))
    axes.axis("off")
    return figure


def _box(axes: Axes, centre, label: str, colour: str, edge) -> None:
    style = {"boxstyle": "round,pad=0,rounding_size=0.08", "facecolor": colour, "edgecolor": BLACK, "linewidth": 0.9}
    axes.add_patch(FancyBboxPatch((centre[0] - 0.45, centre[1] - 0.3), 0.9, 0.6, zorder=3, **(style | edge)))
    axes.text(*centre, label, ha="center", va="center", zorder=4)
