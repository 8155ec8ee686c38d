"""Draws the Transformer block: its two branches and normalisations, and experts instead of a single MLP."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from utils.figures.plots import BLACK, DATA_BOX, GREY, OUTPUT, SCORES, WEIGHTS, canvas, styled, written
from utils.figures.schematics import arrow, box, finish

_NORM, _LINE, _STREAM = "#DDDDDD", "#444444", 0.0  # colours of a normalisation and of a line; where the stream runs
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


@styled
def mixture_of_experts(logits: Sequence[float], k: int) -> Figure:
    """One token in a mixture of experts: the router's logits, the k experts that it chooses, and the sum by their gates."""
    logits = np.array(logits, dtype=float)
    E = len(logits)
    chosen = sorted(np.argsort(-logits)[:k])
    gates = np.exp(logits[chosen]) / np.exp(logits[chosen]).sum()
    middle, zero, end = (E - 1) / 2, 3.6, 9.9  # the token's height, where the bars begin, where the outputs are added
    figure, (axes,) = canvas(11, 0.75 * E + 0.9)
    box(axes, (0, middle), 0.6, 0.6, DATA_BOX, "$x$")
    arrow(axes, (0.35, middle), (0.95, middle))
    box(axes, (1.6, middle), 1.25, E - 0.2, "white", "router")
    axes.plot([zero, zero], [-0.45, E - 0.55], color=GREY, linewidth=1)
    for e, logit in enumerate(logits):
        _expert(axes, E - 1 - e, f"expert {e}", zero, logit, 0.8 / np.abs(logits).max(), e in chosen)
    for e, gate in zip(chosen, gates, strict=True):
        height = E - 1 - e
        turn = end if height != middle else end - 0.5
        axes.text(8.6, height + 0.1, f"$g_{e}$ = {gate:.3f}", ha="center", va="bottom", color=WEIGHTS)
        axes.plot([7.65, turn], [height, height], color=_LINE, linewidth=1.5)
        arrow(axes, (turn, height), (end - 0.22 * (turn < end), middle + 0.22 * np.sign(height - middle)))
    axes.plot(end, middle, "o", markersize=19, markerfacecolor="white", markeredgecolor=BLACK, zorder=4)
    axes.text(end, middle - 0.01, "+", ha="center", va="center", fontsize=16, zorder=5)
    arrow(axes, (end + 0.2, middle), (end + 0.9, middle))
    box(axes, (end + 1.25, middle), 0.6, 0.6, OUTPUT, "$y$")
    largest = f"the {k} largest are chosen" if k > 1 else "the largest is chosen"
    for x, title in ((zero, f"logits $z$:\n{largest}"), (8.6, "gates $g$: softmax of\nthe chosen logits")):
        axes.text(x, E - 0.4, title, ha="center", va="bottom", linespacing=1.3)
    return finish(axes, (-0.4, end + 1.65), (-0.55, E + 0.35))


def _expert(axes: Axes, height: float, name: str, zero: float, logit: float, unit: float, taken: bool) -> None:
    """An expert with the bar of its logit, which begins at `zero`; pale unless it is chosen and given the token."""
    ink, side = BLACK if taken else GREY, 1 if logit >= 0 else -1
    axes.barh(height, unit * logit, 0.5, zero, color=SCORES, alpha=1 if taken else 0.35)
    place = {"ha": "left" if side > 0 else "right", "va": "center", "color": ink}
    axes.text(zero + unit * logit + 0.1 * side, height, written(logit, ".1f"), **place)
    box(axes, (6.8, height), 1.6, 0.66, OUTPUT if taken else "#F4F4F4", name, ink)
    if taken:
        arrow(axes, (5.1, height), (5.95, height), "$x$")
    else:
        axes.patches[-1].set_edgecolor(_NORM)
