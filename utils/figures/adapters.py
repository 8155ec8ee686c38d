"""Draws fine-tuning with few weights: the low-rank update, the places of its relatives, directions shared, code books."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from utils.figures.plots import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    SKY,
    VERMILLION,
    array,
    canvas,
    styled,
)
from utils.figures.schematics import arrow, box, finish

_FROZEN = "#DDDDDD"  # what is not trained
_WIDE, _THIN = 1.9, 0.34  # the sides of a matrix, as drawn: a width of the layer, a rank
_STREAM, _HIGH = -2.2, 0.62  # where the residual stream runs, and how high a layer is, as drawn


@styled
def low_rank_update() -> Figure:
    """Left, the sum of a frozen matrix and the product of two thin ones; right, the same as two paths from X to Y."""
    figure, (axes,) = canvas(11, 2.8)
    parts = (
        "$W\\;=$",
        ("$W_0$", _WIDE, _WIDE, _FROZEN, "$[D_{out}, D_{in}]$"),
        "$+\\;\\dfrac{\\alpha}{r}$",
        ("$B$", _WIDE, _THIN, BLUE, "$[D_{out}, r]$"),
        ("$A$", _THIN, _WIDE, BLUE, "$[r, D_{in}]$"),
    )
    x = 0.0
    for part in parts:
        if isinstance(part, str):
            axes.text(x + 0.55, 0, part, ha="center", va="center", fontsize=15)
            x += 1.1
            continue
        name, tall, wide, colour, shape = part
        box(axes, (x + wide / 2, 0), wide, tall, colour, name, "white" if colour == BLUE else BLACK)
        axes.text(x + wide / 2, -tall / 2 - 0.12, shape, ha="center", va="top")
        x += wide + 0.3
    left, right, middle = 8.3, 13.3, 10.8
    for height in (0.85, -0.85):
        axes.plot([left + 0.45, left + 0.75, left + 0.75], [0, 0, height], color=BLACK, linewidth=1.5, zorder=1)
        bend, end = right - 0.8, math.copysign(0.2, height)
        axes.plot([left + 0.75, bend, bend], [height, height, end], color=BLACK, linewidth=1.5, zorder=1)
    box(axes, (middle, 0.85), 2.5, 0.8, _FROZEN, "frozen layer $W_0$")
    for x, name, wide_first in ((middle - 1.0, "$A$", True), (middle + 0.15, "$B$", False)):
        _funnel(axes, (x, -0.85), name, wide_first)
    box(axes, (middle + 1.22, -0.85), 0.5, 0.8, "white", "$\\frac{\\alpha}{r}$")
    for x, size in ((middle - 1.65, "$D_{in}$"), (middle - 0.42, "$r$"), (middle + 0.8, "$D_{out}$")):
        axes.text(x, -0.79 if size == "$r$" else -1.4, size, ha="center", va="bottom", fontsize=9)
    axes.plot(right - 0.8, 0, "o", markersize=17, markerfacecolor="white", markeredgecolor=BLACK, zorder=4)
    axes.text(right - 0.8, -0.01, "+", ha="center", va="center", fontsize=15, zorder=5)
    arrow(axes, (right - 0.6, 0), (right - 0.1, 0))
    box(axes, (left, 0), 0.9, 0.7, "white", "$X$")
    box(axes, (right + 0.35, 0), 0.9, 0.7, "white", "$Y$")
    axes.set_aspect("equal")
    return finish(axes, (-0.2, right + 0.9), (-1.6, 1.5))


def _funnel(axes: Axes, centre, name: str, wide_first: bool) -> None:
    """A matrix as a trapezoid that narrows, or widens, from left to right."""
    x, y = centre
    left, right = (0.5, 0.15) if wide_first else (0.15, 0.5)
    corners = [(x - 0.4, y - left), (x + 0.4, y - right), (x + 0.4, y + right), (x - 0.4, y + left)]
    axes.add_patch(Polygon(corners, facecolor=BLUE, edgecolor=BLACK, linewidth=0.9, zorder=3))
    axes.text(x, y, name, ha="center", va="center", color="white", zorder=4)


@styled
def places() -> Figure:
    """A pre-norm block, in grey what is frozen, and in colour where four ways to fine-tune put their weights."""
    figure, (axes,) = canvas(11.5, 4.6)
    axes.plot([-0.6, 15.2], [_STREAM, _STREAM], color=GREY, linewidth=5, zorder=1)
    axes.text(-0.65, _STREAM, "$X$", ha="right", va="center")
    _branch(axes, 0, 8.4, (0.5, 0))
    _branch(axes, 9.3, 14.8, (9.3, -1.1))
    for height, name in ((1.3, "query"), (0, "key"), (-1.3, "value")):
        axes.plot([1.1, 1.1, 3.9, 3.9], [0, height, height, 0], color=BLACK, linewidth=1.5, zorder=1)
        _layer(axes, (2.5, height), 1.3, name)
        if name != "key":
            beside = height + 0.66
            axes.plot([1.45, 1.45, 3.55, 3.55], [height, beside, beside, height], color=BLUE, linewidth=1.5, zorder=1)
            box(axes, (2.5, beside), 0.9, 0.4, BLUE, "$BA$", "white")
    box(axes, (4.7, 0), 1.5, 0.8, _FROZEN, "attention")
    box(axes, (4.7, 1.15), 1.35, 0.5, PURPLE, "$P_K$, $P_V$")
    arrow(axes, (4.7, 0.9), (4.7, 0.42))
    for x, wide, name in ((6.35, 1.2, "output"), (10.2, 0.95, "up"), (12.7, 0.95, "down")):
        _layer(axes, (x, 0), wide, name)
    box(axes, (11.45, 0), 0.95, _HIGH, _FROZEN, "GELU")
    for x in (7.62, 13.95):
        box(axes, (x + 0.06, 0), 1.0, 0.8, GREEN, "adapter\nlayer", "white")
    ways = {"LoRA": BLUE, "BitFit: the biases": VERMILLION, "prefix tuning": PURPLE, "adapter layers": GREEN}
    for place, (name, colour) in enumerate(ways.items()):
        axes.plot(0.4 + 3.6 * place, 2.55, "s", markersize=11, color=colour)
        axes.text(0.7 + 3.6 * place, 2.55, name, ha="left", va="center")
    return finish(axes, (-1.2, 15.4), (-2.7, 2.9))


def _branch(axes: Axes, begin: float, end: float, norm: tuple[float, float]) -> None:
    """A branch that leaves the stream, is normalised at `norm`, and is added to the stream at its end."""
    axes.plot([begin, begin, end, end], [_STREAM, 0, 0, _STREAM + 0.2], color=BLACK, linewidth=1.5, zorder=1)
    axes.plot(end, _STREAM, "o", markersize=17, markerfacecolor="white", markeredgecolor=BLACK, zorder=4)
    axes.text(end, _STREAM - 0.01, "+", ha="center", va="center", fontsize=15, zorder=5)
    _layer(axes, norm, 0.75, "norm")


def _layer(axes: Axes, centre, wide: float, name: str) -> None:
    """A frozen layer with its bias as a small square in the corner."""
    box(axes, centre, wide, _HIGH, _FROZEN, name)
    axes.plot(centre[0] + wide / 2, centre[1] - _HIGH / 2, "s", markersize=9, color=VERMILLION, zorder=5)


@styled
def shadows(angles: Sequence[float] = (0, 45, 90)) -> Figure:
    """A direction of length 1 and its shadow on the plane of two other directions, at these angles in degrees."""
    figure, panels = canvas(10.5, 2.3, len(angles))
    plane = [_on_paper(x, y, 0) for x, y in ((-1.3, -1), (1.3, -1), (1.3, 1), (-1.3, 1))]
    for axes, degrees in zip(panels, angles):
        radians = math.radians(degrees)
        along, up = math.cos(radians), math.sin(radians)
        tip, foot = _on_paper(along, 0, up), _on_paper(along, 0, 0)
        axes.fill(*zip(*plane), color=SKY, alpha=0.45, zorder=0)
        axes.plot(*zip(tip, foot), color=GREY, linestyle=":", linewidth=1.5)
        if degrees < 90:
            below = [(x, y - 0.06) for x, y in ((0, 0), foot)]  # where it can be seen beside an arrow that lies flat
            axes.plot(*zip(*below), color=BLUE, linewidth=4, solid_capstyle="butt")
        style = {"arrowstyle": "-|>", "color": VERMILLION, "lw": 2.5, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", tip, (0, 0), arrowprops=style)
        axes.set_title(f"angle {degrees:g}°: shadow {along:.2f}, $\\phi(1, 2) = {along**2:.1f}$")
        axes.set_aspect("equal")
        finish(axes, (-1.9, 1.9), (-0.55, 1.2))
    return figure


def _on_paper(x: float, y: float, z: float) -> tuple[float, float]:
    """Where a point in space is drawn: the second axis goes to the back."""
    return x + 0.45 * y, z + 0.38 * y


@styled
def code_books(books: Mapping[str, object], sample, quantiles) -> Figure:
    """The numbers of several code books on one line each, below a histogram of the scaled weights `sample`.

    On the left, the derivation of one of them: its numbers before they are divided by the largest, `quantiles` [16].
    """
    figure, (left, axes) = canvas(14, 1.6 + 0.55 * len(books), 2, width_ratios=[1, 1.4])
    _derivation(left, array(quantiles))
    counts, edges = np.histogram(array(sample), bins=80, range=(-1, 1))
    axes.bar(edges[:-1], counts / counts.max() * 2, width=edges[1] - edges[0], align="edge", color=SKY)
    for row, (name, code) in enumerate(books.items(), 1):
        axes.plot([-1, 1], [-0.6 * row] * 2, color=GREY, linewidth=0.8, zorder=1)
        axes.plot(array(code), [-0.6 * row] * len(code), "|", color=VERMILLION, markersize=16, markeredgewidth=2.2)
        axes.text(-1.05, -0.6 * row, name, ha="right", va="center")
    for value in (-1, -0.5, 0, 0.5, 1):
        axes.text(value, -0.6 * len(books) - 0.42, f"{value:g}".replace("-", "−"), ha="center", va="top")
    return finish(axes, (-1.2, 1.08), (-0.6 * len(books) - 0.75, 2.1))


def _derivation(axes: Axes, quantiles: np.ndarray) -> None:
    """Draws the normal curve with a line at each of the quantiles, the areas between them and the tails beyond."""
    reach, middle = 2.9, int(np.abs(quantiles).argmin())
    for place, (begin, end) in enumerate(zip(quantiles, quantiles[1:])):
        x = np.linspace(begin, end, 40)
        axes.fill_between(x, _normal(x), color=SKY, alpha=0.7 if place % 2 else 0.3, linewidth=0)
    for begin, end in ((-reach, quantiles[0]), (quantiles[-1], reach)):
        x = np.linspace(begin, end, 40)
        axes.fill_between(x, _normal(x), facecolor="white", edgecolor=GREY, hatch="////", linewidth=0)
        axes.text((begin + end) / 2, 0.09, "beyond $o$", ha="center", va="bottom", fontsize=10)
    x = np.linspace(-reach, reach, 400)
    axes.plot(x, _normal(x), color=BLACK, linewidth=1.5)
    axes.vlines(quantiles, 0, _normal(quantiles), color=VERMILLION, linewidth=2.2)
    for count, side in ((middle, -1), (len(quantiles) - 1 - middle, 1)):
        axes.text(1.95 * side, 0.3, f"{count} equal\nareas", ha="center", va="center")
    outer = f"{quantiles[-1]:.2f}"
    labels = ("$-\\Phi^{-1}(o)$\n−" + outer, "$\\Phi^{-1}(1/2)$\n0", "$\\Phi^{-1}(o)$\n" + outer)
    axes.set_xticks(quantiles[[0, middle, -1]], labels)
    axes.set(xlim=(-reach, reach), ylim=(0, 0.42), yticks=[])
    axes.spines["left"].set_visible(False)


def _normal(x: np.ndarray) -> np.ndarray:
    """The density of the normal distribution."""
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
