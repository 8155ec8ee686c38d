"""One step of a decoder that attends to the encoder states, every arrow named."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from utils.figures.plots import BLACK, DATA_BOX, OUTPUT, QUERY, SCORES, WEIGHTS, canvas, styled

_LINE, _TOKEN = "#444444", "#F3D9C6"  # arrows; a token of the decoder, as in the figures of lesson 01
_LOW, _HIGH = 0.0, 3.6  # the rows of the decoder and of the context vector


@styled
def attending_step(source: Sequence[str], fed: str, written: str) -> Figure:
    """From the encoder states and the decoder's old state to its new state and the next token: fed `fed`, it writes `written`.

    A frame holds all states, all scores or all weights; an arrow to or from it belongs to each of them.
    """
    figure, (axes,) = canvas(12, 5.2)
    states, scores, weights, context, token = 0.6, 4.3, 7.4, 11.0, 14.2  # the middles of the columns
    heights = [_HIGH + 0.45 * (len(source) - 1) - 0.9 * number for number in range(len(source))]
    for i, (word, height) in enumerate(zip(source, heights, strict=True), 1):
        axes.text(states - 0.75, height, word, ha="right", va="center", fontsize=10)
        _part(axes, (states, height), f"$h_{i}$", DATA_BOX)
        _part(axes, (scores, height), f"$e_{{t,{i}}}$", SCORES)
        _part(axes, (weights, height), f"$a_{{t,{i}}}$", WEIGHTS, ink="white")
        _flow(axes, (states + 0.5, height), (scores - 0.5, height))
    low, high = heights[-1] - 0.48, heights[0] + 0.48
    frame = {"facecolor": "none", "edgecolor": _LINE, "linestyle": "--", "linewidth": 1}
    for x, name, at, side in (
        (states, "encoder states", states, "center"),
        (scores, "scores", scores - 0.12, "right"),
        (weights, "weights", weights, "center"),
    ):
        axes.add_patch(Rectangle((x - 0.6, low), 1.2, high - low, **frame))
        axes.text(at, low - 0.1, name, ha=side, va="top", fontsize=10)
    axes.text(
        (states + scores) / 2, heights[0] + 0.12, "$f_{att}(s_{t-1}, h_i)$", ha="center", va="bottom", fontsize=10
    )
    _flow(axes, (scores + 0.6, _HIGH), (weights - 0.6, _HIGH), "softmax\nover $i$")
    _flow(axes, (weights + 0.6, _HIGH), (context - 0.5, _HIGH), "weighted\nsum")
    axes.text((weights + context) / 2, _HIGH - 0.12, "$\\sum_i\\ a_{t,i}\\ h_i$", ha="center", va="top", fontsize=10)
    above = heights[0] + 0.9  # the states are also what is summed
    axes.plot([states, states, context], [high, above, above], color=_LINE, linewidth=1.5)
    axes.text(
        (scores + weights) / 2,
        above + 0.06,
        "the states $h_i$ are what is summed",
        ha="center",
        va="bottom",
        fontsize=10,
    )
    _flow(axes, (context, above), (context, _HIGH + 0.38))
    _part(axes, (context, _HIGH), "$c_t$", OUTPUT)
    axes.text(context + 0.6, _HIGH + 0.1, "context\nvector", ha="left", va="center", fontsize=10)
    _part(axes, (scores, _LOW), "$s_{t-1}$", QUERY)
    axes.text(scores - 0.65, _LOW, "decoder state so far", ha="right", va="center", fontsize=10)
    _flow(axes, (scores, _LOW + 0.38), (scores, low))
    _part(axes, (context, _LOW), "GRU, $g_U$", "white", wide=1.7)
    _flow(axes, (scores + 0.5, _LOW), (context - 0.85, _LOW), "old state")
    _flow(axes, (context, _HIGH - 0.38), (context, _LOW + 0.38))
    _part(axes, (scores, _LOW - 1.3), fed, _TOKEN, wide=1.5)
    axes.text(scores - 0.85, _LOW - 1.3, "previous token $y_{t-1}$", ha="right", va="center", fontsize=10)
    axes.plot([scores + 0.75, context], [_LOW - 1.3] * 2, color=_LINE, linewidth=1.5)
    axes.text((scores + context) / 2, _LOW - 1.24, "embedding", ha="center", va="bottom", fontsize=10)
    _flow(axes, (context, _LOW - 1.3), (context, _LOW - 0.38))
    _flow(axes, (context + 0.85, _LOW), (token - 0.5, _LOW), "new state")
    _part(axes, (token, _LOW), "$s_t$", QUERY)
    middle = (_LOW + _HIGH) / 2
    _flow(axes, (token, _LOW + 0.38), (token, middle - 0.38))
    _flow(axes, (context + 0.5, _HIGH - 0.3), (token - 0.75, middle + 0.25))
    _part(axes, (token, middle), "logits", "white", wide=1.5)
    _flow(axes, (token, middle + 0.38), (token, _HIGH - 0.38))
    axes.text(token + 0.1, (middle + _HIGH) / 2, "softmax", ha="left", va="center", fontsize=10)
    _part(axes, (token, _HIGH), written, _TOKEN, wide=1.7)
    axes.text(token, _HIGH + 0.45, "next token $y_t$", ha="center", va="bottom", fontsize=10)
    axes.set(xlim=(-2.3, token + 1.3), ylim=(_LOW - 1.8, above + 0.6), aspect="equal")
    axes.axis("off")
    return figure


def _part(axes: Axes, centre, label: str, colour: str, wide: float = 1.0, ink: str = BLACK) -> None:
    corner = (centre[0] - wide / 2, centre[1] - 0.38)
    axes.add_patch(Rectangle(corner, wide, 0.76, facecolor=colour, edgecolor=BLACK, linewidth=0.9, zorder=3))
    axes.text(*centre, label, ha="center", va="center", fontsize=12, color=ink, zorder=4)


def _flow(axes: Axes, start, end, label: str = "") -> None:
    arrow = {"arrowstyle": "-|>", "mutation_scale": 13, "color": _LINE, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(start, end, zorder=1, **arrow))
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.1)
    axes.text(*middle, label, ha="center", va="bottom", fontsize=10, linespacing=1.1)
