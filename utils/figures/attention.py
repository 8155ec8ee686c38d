"""Draws tokens that all attend to each other."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from utils.figures.plots import BLACK, DATA_BOX, OUTPUT, QUERY, WEIGHTS, canvas, styled

_LINE = "#444444"


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
