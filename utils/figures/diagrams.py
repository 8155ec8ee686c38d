"""Draws layers as boxes and arrows, coloured by the numbers that flow through them."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from utils.figures.plots import (
    BLACK,
    DATA_BOX,
    KEYS,
    MAP,
    OUTPUT,
    QUERY,
    VALUES,
    WEIGHTS,
    array,
    canvas,
    styled,
    written,
)

_SOURCE = "#F3D9C6"  # boxes of the sequence that provides the queries


@styled
def looks(queries: Sequence[str], data: Sequence[str], A, *, output: str = "Y", setters: Sequence[str] = ()) -> Figure:
    """One panel for each query: lines from all data vectors to its output, as thick as the weights A [N_Q, N_X].

    The names `setters` [N_Q] stand in boxes from which an arrow leads to the lines: what the weights are made from.
    """
    A = array(A)
    figure, panels = canvas(3.3 * len(queries), 3.1, len(queries))
    middle = (len(data) - 1) / 2
    for number, (axes, query, weights) in enumerate(zip(panels, queries, A, strict=True), start=1):
        for place, (name, weight) in enumerate(zip(data, weights, strict=True)):
            line = {"color": WEIGHTS, "linewidth": 0.6 + 11 * weight, "alpha": 0.35 + 0.55 * weight}
            axes.plot([place, middle], [0.22, 1.5], solid_capstyle="butt", zorder=1, **line)
            _box(axes, (place, 0), name, DATA_BOX, width=0.88, height=0.42 * (1 + name.count("\n")))
            axes.text(place, -0.48 - 0.21 * name.count("\n"), f"{weight:.2f}", ha="center", va="center")
        _box(axes, (middle, 1.72), f"${output}_{number}$", OUTPUT, width=0.8, height=0.44)
        if setters:
            _setter(axes, setters[number - 1], middle)
        axes.set_title(query, color=QUERY, fontweight="bold")
        axes.set(xlim=(-0.6, len(data) - 0.4), ylim=(-0.95, 2.05))
        axes.axis("off")
    return figure


def _setter(axes: Axes, name: str, middle: float) -> None:
    """A box at the upper left, and a thin arrow from it to the lines that meet at `middle`."""
    left, height = 0.0, 1.2
    _box(axes, (left, height), name, QUERY, width=0.8, height=0.44)
    arrow = {"arrowstyle": "-|>", "mutation_scale": 11, "color": "#444444", "linewidth": 1, "zorder": 2}
    edge = middle * (height - 0.22) / 1.28  # where the first line is at this height
    axes.add_patch(FancyArrowPatch((left + 0.4, height), (edge, height), shrinkA=0, shrinkB=0, **arrow))
    axes.text(left - 0.4, height + 0.3, "sets the weights", ha="left", va="bottom", fontsize=9, color="#444444")


@styled
def reading(source: Sequence[str], written: Sequence[str], A, row: int) -> Figure:
    """The words read, the words written above them, and lines from word `row` to all that it looked at.

    The lines are as thick as the weights A[row] of A [len(written), len(source)]; words not yet written are pale.
    """
    A = array(A)
    columns = max(len(source), len(written))
    turned = {"rotation": 45, "rotation_mode": "anchor"} if columns > 13 else {}
    figure, (axes,) = canvas(min(14.0, 1.2 + 1.0 * columns), 4.2 if turned else 3.2)
    above = [place * (columns - 1) / max(1, len(written) - 1) for place in range(len(written))]
    below = [place * (columns - 1) / max(1, len(source) - 1) for place in range(len(source))]
    for x, weight in zip(below, A[row], strict=True):
        line = {"color": WEIGHTS, "linewidth": 0.4 + 13 * weight, "alpha": 0.3 + 0.6 * weight}
        axes.plot([x, above[row]], [0.25, 1.75], solid_capstyle="butt", zorder=1, **line)
    for place, (x, word) in enumerate(zip(above, written, strict=True)):
        colour = QUERY if place == row else BLACK if place < row else "#BBBBBB"
        weight = "bold" if place == row else "normal"
        side = {"ha": "left" if turned else "center", "va": "bottom"}
        axes.text(x, 1.85, word, color=colour, fontweight=weight, fontsize=12, **side, **turned)
    for x, word in zip(below, source, strict=True):
        axes.text(x, 0.15, word, ha="right" if turned else "center", va="top", fontsize=12, **turned)
    axes.set(xlim=(-0.8, columns - 0.2), ylim=(-0.55, 2.55) if turned else (-0.15, 2.15))
    axes.axis("off")
    return figure


@styled
def attention_layer(
    E,
    A,
    *,
    keys_and_values: bool = False,
    cross: bool = False,
    own: bool = False,
    asking: Sequence[str] = (),
    data: Sequence[str] = (),
) -> Figure:
    """The attention layer, its two matrices coloured by the scores E and the weights A, both [N_Q, N_X].

    One query alone is scored without the division by √D_Q, as at the start of lesson 04; several are divided.
    Plain, the data vectors X are both matched and mixed. With `keys_and_values` X is projected to K and V first; with
    `cross`, which implies it, the queries too are projected, from another sequence S; with `own`, from X itself.
    The words `asking` are written beside S, beside X as the source of the queries, or beside the queries themselves if
    they are not projected, and `data` above X.
    """
    E, A = array(E), array(A)
    cross = cross or own
    projected = keys_and_values or cross
    rows, columns = E.shape
    right = columns + 4.0  # where the matrix of weights begins
    end = right + columns  # and where it ends
    middle = -(rows - 1) / 2
    left_edge, right_edge = (-4.3 if cross else -2.3) - (1.3 if asking else 0), end + 2.5
    bottom, top = -rows - 0.65, (4.1 if projected else 1.75) + 0.2 * bool(data)
    scale = 10.5 / (right_edge - left_edge)
    figure, (axes,) = canvas(10.5, (top - bottom) * scale)

    Q, Y = ("Q", "Y") if rows > 1 else ("q", "y")
    matched, mixed = ("K", "V") if projected else ("X", "X")
    if rows > 1:
        formula, shape, weights = f"E = Q{matched}^\\top / \\sqrt{{D_Q}}", "[N_Q, N_X]", "A"
    else:
        formula, shape, weights = f"e = {matched}q", "[N_X]", "a"
    _matrix(axes, E, 0, f"scores ${formula}$\n${shape}$")
    _matrix(axes, A, right, f"weights ${weights}$\n${shape}$")
    _row(axes, 0, columns, 1.0, matched, KEYS if projected else DATA_BOX)
    _row(axes, right, columns, 1.0, mixed, VALUES if projected else DATA_BOX)
    _column(axes, -1.4, rows, Q, QUERY)
    _column(axes, end + 1.5, rows, Y, OUTPUT)
    _arrow(axes, (columns - 0.4, middle), (right - 0.6, middle), "softmax\nover each row\n(dim = −1)", (0, 0.85))
    _arrow(axes, (end - 0.4, middle), (end + 1.0, middle), f"${weights}\\,{mixed}$", (0, 0.32))
    _shapes(axes, rows, end, projected)
    if projected:
        _projections(axes, columns, right)
    if cross:
        _column(axes, -3.6, rows, *(("X", DATA_BOX) if own else ("S", _SOURCE)))
        _arrow(axes, (-3.1, middle), (-1.9, middle), "$W_Q$", (0, 0.35))
        axes.text(-3.6, -rows - 0.05, "$[N_Q, D_S]$", ha="center", va="center")
    # X stands once above the projections, or twice above the matrices
    _words(axes, asking, data, -4.2 if cross else -2.0, [(right / 2, 3.8)] if projected else [(0, 1.4), (right, 1.4)])
    for text in axes.texts if own else ():  # queries and data are the same N vectors
        for name, plain in (("N_Q", "N"), ("N_X", "N"), ("D_S", "D"), ("D_X", "D")):
            text.set_text(text.get_text().replace(name, plain))
    axes.set(xlim=(left_edge, right_edge), ylim=(bottom, top), aspect="equal")
    axes.axis("off")
    return figure


def _words(axes: Axes, asking: Sequence[str], data: Sequence[str], side: float, above: Sequence) -> None:
    """Writes the words `asking` down to the left of `side`, and `data` from each of the points `above` to the right."""
    for i, word in enumerate(asking):
        axes.text(side, -i, word, ha="right", va="center", fontsize=10)
    for start, height in above:
        for j, word in enumerate(data):
            axes.text(start + j, height, word, ha="center", va="bottom", fontsize=10)


def _shapes(axes: Axes, rows: int, end: float, projected: bool) -> None:
    """Writes what is [rows, columns] beside each group of boxes."""
    many = "N_Q, " if rows > 1 else ""
    narrow, wide = ("D_Q", "D_V") if projected else ("D_X", "D_X")
    axes.text(-1.4, -rows - 0.05, f"$[{many}D_Q]$", ha="center", va="center")
    axes.text(end + 1.5, -rows - 0.05, f"$[{many}{wide}]$", ha="center", va="center")
    axes.text(-0.65, 1.0, f"$[N_X, {narrow}]$", ha="right", va="center")
    axes.text(end - 0.35, 1.0, f"$[N_X, {wide}]$", ha="left", va="center")


def _projections(axes: Axes, columns: int, right: float) -> None:
    """The data vectors above the two matrices, and the arrows that make keys and values of them."""
    start = (right + columns - 1) / 2 - (columns - 1) / 2
    _row(axes, start, columns, 3.4, "X", DATA_BOX)
    axes.text(start + columns - 0.35, 3.4, "$[N_X, D_X]$", ha="left", va="center")
    half = (columns - 1) / 2
    _arrow(axes, (start + half - 0.8, 3.0), (half + 0.6, 1.45), "$W_K$", (-0.45, 0.3))
    _arrow(axes, (start + half + 0.8, 3.0), (right + half - 0.6, 1.45), "$W_V$", (0.45, 0.3))


def _matrix(axes: Axes, M, left: float, name: str) -> None:
    """The matrix M [rows, columns] as coloured cells whose first centre is at (left, 0), its name below."""
    rows, columns = M.shape
    extent = (left - 0.5, left + columns - 0.5, -rows + 0.5, 0.5)
    # zero is the darkest weight; scores have no natural zero, so their range is taken as it comes
    image = axes.imshow(M, cmap=MAP, extent=extent, vmin=min(0, M.min()), vmax=M.max(), zorder=1)
    for i in range(rows):
        for j in range(columns):
            colour = "black" if image.norm(M[i, j]) > 0.45 else "white"
            axes.text(left + j, -i, written(M[i, j], ".1f"), ha="center", va="center", color=colour)
    axes.text(left + (columns - 1) / 2, -rows + 0.23, name, ha="center", va="top", linespacing=1.35)


def _row(axes: Axes, left: float, count: int, height: float, name: str, colour: str) -> None:
    for j in range(count):
        _box(axes, (left + j, height), f"${name}_{j + 1}$", colour)


def _column(axes: Axes, x: float, count: int, name: str, colour: str) -> None:
    for i in range(count):
        _box(axes, (x, -i), f"${name}_{i + 1}$" if count > 1 else f"${name}$", colour)


def _box(axes: Axes, centre, label: str, colour: str, width: float = 0.86, height: float = 0.66) -> None:
    corner = (centre[0] - width / 2, centre[1] - height / 2)
    style = {"boxstyle": "round,pad=0,rounding_size=0.08", "facecolor": colour, "edgecolor": BLACK, "linewidth": 0.9}
    axes.add_patch(FancyBboxPatch(corner, width, height, zorder=3, **style))
    axes.text(*centre, label, ha="center", va="center", zorder=4)


def _arrow(axes: Axes, start, end, label: str, offset: tuple[float, float]) -> None:
    """An arrow with its label beside the middle, moved by `offset`."""
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=15, color="#444444", linewidth=1.5))
    x, y = (start[0] + end[0]) / 2 + offset[0], (start[1] + end[1]) / 2 + offset[1]
    axes.text(x, y, label, ha="center", va="center")
