"""Draws the Transformer block: the residual stream with its two branches, and where the normalisations stand."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from utils.figures.plots import BLACK, GREY, OUTPUT, WEIGHTS, canvas, styled
from utils.figures.schematics import arrow, box, finish

_NORM, _STREAM = "#DDDDDD", 0.0  # the colour of a normalisation; where the stream runs
_WIDE, _NARROW, _HIGH = 2.5, 1.7, 0.62
_ATTENTION = ("attention\nall tokens together", WEIGHTS, "white")
_MLP = ("MLP\neach token alone", OUTPUT, BLACK)


@styled
def block_wirings() -> Figure:
    """A block with post-norm and one with pre-norm, side by side, each read from the bottom to the top.

    The stream is the thick line. In a post-norm block the normalisations stand on it, in a pre-norm block on the branches.
    """
    figure, panels = canvas(9.5, 5.6, 2)
    for axes, title, first in zip(panels, ("post-norm", "pre-norm"), (False, True), strict=True):
        top = _block(axes, norm_first=first)
        axes.set_title(title)
        finish(axes, (-1.5, 4.6), (-0.7, top + 1.0))
    return figure


def _block(axes: Axes, norm_first: bool) -> float:
    """Draws one block from the height 0 up; gives the height at which it ends."""
    height, stops = 0.0, []
    for number, (branch, name) in enumerate(((_ATTENTION, "$X_1$"), (_MLP, "$X_\\mathrm{new}$")), start=1):
        norm = f"norm$_{number}$"
        begin = height + 0.35
        norms = [begin + 0.5] if norm_first else []
        layer = begin + (1.5 if norm_first else 0.5)
        height = _branch(axes, begin, norms, layer, branch, norm)
        stops.append(height)
        if not norm_first:
            height += 0.85
            box(axes, (_STREAM, height), _NARROW, _HIGH, _NORM, norm)
            height += 0.31
        axes.text(_STREAM - 0.25, height + 0.12, name, ha="right", va="bottom")
    axes.plot([_STREAM, _STREAM], [-0.25, height + 0.35], color=GREY, linewidth=5, zorder=1)
    for stop in stops:
        axes.plot(_STREAM, stop, "o", markersize=17, markerfacecolor="white", markeredgecolor=BLACK, zorder=4)
        axes.text(_STREAM, stop - 0.01, "+", ha="center", va="center", fontsize=15, zorder=5)
    axes.text(_STREAM, -0.35, "$X$  $[N, D]$", ha="center", va="top")
    onward = "to the next block" + ("\n(after the last one: LayerNorm)" if norm_first else "")
    axes.text(_STREAM, height + 0.42, onward, ha="center", va="bottom", color=GREY)
    return height


def _branch(axes: Axes, begin: float, norms: list, layer: float, branch: tuple, norm: str) -> float:
    """A branch, with `norm` at the heights `norms`, that leaves the stream at `begin`; gives the height of its return."""
    label, colour, ink = branch
    middle, end = _STREAM + 2.9, layer + 0.95
    path = [(_STREAM, begin), (middle, begin), (middle, end - 0.2)]
    axes.plot(*zip(*path), color=BLACK, linewidth=1.5, zorder=1)
    for height in norms:
        box(axes, (middle, height), _NARROW, _HIGH, _NORM, norm)
    box(axes, (middle, layer), _WIDE, 0.8, colour, label, ink)
    axes.plot([middle, middle], [end - 0.2, end], color=BLACK, linewidth=1.5, zorder=1)
    arrow(axes, (middle, end), (_STREAM + 0.12, end))
    return end
