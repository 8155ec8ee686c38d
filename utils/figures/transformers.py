"""Figures of lesson 10: the whole Transformer, its three attentions, and the families that were made of its halves."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from utils.figures.plots import (
    BLACK,
    BLUE,
    DATA,
    DATA_BOX,
    GREY,
    KEYS,
    ORANGE,
    OUTPUT,
    PURPLE,
    SKY,
    VERMILLION,
    WEIGHTS,
    array,
    canvas,
    legend_of,
    styled,
)
from utils.figures.schematics import arrow, box, finish

COLOURS = {"GRU with attention": VERMILLION, "Transformer": BLUE}  # the translators that the lesson compares
_FAMILIES = {"encoder": (SKY, "o"), "decoder": (ORANGE, "s"), "both": (PURPLE, "D")}  # colour and marker
_NORM, _FRAME = "#EEEEEE", "#F7F5EF"
_ALLOWED = ListedColormap(["white", WEIGHTS, PURPLE])  # hidden, self-attention, cross-attention
_SHADES = LinearSegmentedColormap.from_list("weights", ["white", WEIGHTS])
_STEP = 1.72  # from one sublayer of a block to the next
_SUBLAYERS = {  # colour, ink and what is hidden
    "self-attention": (WEIGHTS, "white", "padding hidden"),
    "causal self-attention": (WEIGHTS, "white", "later positions hidden"),
    "cross-attention": (PURPLE, BLACK, "padding hidden"),
    "MLP": (OUTPUT, BLACK, ""),
}


@styled
def whole_model() -> Figure:
    """The encoder on the left and the decoder on the right, from the tokens at the bottom to the next token at the top."""
    figure, (axes,) = canvas(9.9, 8.5)
    left, right = 0.0, 6.6
    top = _stack(axes, left, ("self-attention", "MLP"), "source tokens\n$[B, N]$", "encoder")
    sublayers = ("causal self-attention", "cross-attention", "MLP")
    end = _stack(axes, right, sublayers, "[START] and the target\n$[B, T]$", "decoder")
    _head(axes, right, end)
    memory = top + 0.55
    axes.text(left, memory + 0.42, "memory $[B, N, D]$", ha="center", va="bottom", fontweight="bold")
    across = 2.15 + _STEP + 0.31  # the height of the cross-attention
    between = (left + 3.6 + right - 0.95) / 2
    path = [(left, top), (left, memory + 0.3), (between, memory + 0.3), (between, across), (right + 0.76, across)]
    for colour, width in (("white", 9), (KEYS, 3)):  # it crosses the decoder's stream, and does not join it
        axes.plot(*zip(*path[-2:]), color=colour, linewidth=width, zorder=2, solid_capstyle="butt")
    axes.plot(*zip(*path[:-1]), color=KEYS, linewidth=3, zorder=2, solid_joinstyle="miter")
    axes.annotate(
        "", (right + 0.8, across), (right + 0.5, across), arrowprops={"arrowstyle": "-|>", "color": KEYS, "lw": 3}
    )
    axes.text(between + 0.12, across + 0.14, "keys,\nvalues", ha="left", va="bottom", fontsize=10)
    return finish(axes, (-2.6, 11.4), (-1.75, 10.2))


def _head(axes: Axes, x: float, end: float) -> None:
    """From the last norm to the next token, which goes back to the input when the model writes."""
    arrow(axes, (x, end), (x, end + 0.35))
    box(axes, (x, end + 0.7), 2.4, 0.65, DATA, "embeddingᵀ", "white")
    axes.text(x + 1.3, end + 0.7, "(tied)", ha="left", va="center", fontsize=10)
    arrow(axes, (x, end + 1.04), (x, end + 1.72))
    axes.text(x + 0.15, end + 1.35, "logits $[B, T, V]$", ha="left", va="center")
    box(axes, (x, end + 2.0), 1.7, 0.5, _NORM, "softmax")
    side = x + 4.05
    dashed = {"color": GREY, "linewidth": 1.2, "linestyle": (0, (4, 3))}
    axes.plot([x, x, side, side], [end + 2.27, end + 2.65, end + 2.65, -1.2], **dashed, zorder=1)
    axes.annotate("", (x + 1.58, -1.2), (side, -1.2), arrowprops={"arrowstyle": "-|>", **dashed})
    axes.text(side + 0.12, 4.2, "next token, when it writes", ha="left", va="center", rotation=90, fontsize=10)


def _stack(axes: Axes, x: float, sublayers: Sequence[str], tokens: str, name: str) -> float:
    """One half of the model around the stream at `x`; gives the height at which its last norm ends."""
    box(axes, (x, -1.2), 3.1, 0.85, DATA_BOX, tokens)
    arrow(axes, (x, -0.75), (x, -0.36))
    box(axes, (x, 0.0), 2.4, 0.7, DATA, "embedding · √D", "white")
    axes.plot([x, x], [0.35, 2.15 + _STEP * len(sublayers) - 0.6], color=GREY, linewidth=4, zorder=1)
    _sum(axes, x, 0.85)
    axes.text(x - 1.75, 0.85, "positions", ha="center", va="center")
    arrow(axes, (x - 1.05, 0.85), (x - 0.22, 0.85))
    height = _STEP * len(sublayers) - 0.02
    frame = FancyBboxPatch(
        (x - 0.95, 1.4),
        4.6,
        height,
        boxstyle="round,pad=0.0,rounding_size=0.15",
        facecolor=_FRAME,
        edgecolor=GREY,
        zorder=0,
    )
    axes.add_patch(frame)
    axes.text(x + 3.55, 1.5, "× L", ha="right", va="bottom", fontsize=13)
    for place, sublayer in enumerate(sublayers):
        _sublayer(axes, x, 1.62 + place * _STEP, sublayer)
    end = 1.4 + height
    axes.text(x + 3.6, end + 0.12, name, ha="right", va="bottom", fontweight="bold", fontsize=13)
    box(axes, (x, end + 0.45), 1.7, 0.5, _NORM, "norm")
    return end + 0.7


def _sublayer(axes: Axes, x: float, begin: float, name: str) -> None:
    """A branch with its norm that leaves the stream at `begin` and is added to it a step further up."""
    colour, ink, hidden = _SUBLAYERS[name]
    middle, end = x + 2.15, begin + 1.28
    axes.plot([x, middle, middle], [begin, begin, end], color=BLACK, linewidth=1.4, zorder=1)
    box(axes, (middle, begin + 0.28), 1.3, 0.36, _NORM, "norm")
    box(axes, (middle, begin + 0.84), 2.7, 0.62, colour, "" if hidden else name, ink)
    if hidden:
        axes.text(middle, begin + 0.97, name, ha="center", va="center", color=ink, zorder=4)
        axes.text(
            middle, begin + 0.69, hidden, ha="center", va="center", color=ink, zorder=4, fontsize=9, style="italic"
        )
    if name == "cross-attention":
        axes.text(x + 0.95, begin + 0.06, "queries", ha="center", va="bottom", fontsize=10)
    arrow(axes, (middle, end), (x + 0.2, end))
    _sum(axes, x, end)


def _sum(axes: Axes, x: float, height: float) -> None:
    axes.plot(x, height, "o", markersize=15, markerfacecolor="white", markeredgecolor=BLACK, zorder=4)
    axes.text(x, height - 0.01, "+", ha="center", va="center", fontsize=13, zorder=5)


@styled
def families(N: int = 5) -> Figure:
    """Who may attend to whom in an encoder, a decoder, and both together; blue is self-attention, purple cross-attention."""
    whole, causal = np.ones((N, N)), np.tril(np.ones((N, N)))
    both = np.block([[whole, 0 * whole], [2 * whole, causal]])
    figure, panels = canvas(10.5, 3.6, 3, width_ratios=(1, 1, 1.35))
    titles = ("encoder\n(BERT, ViT)", "decoder\n(GPT, Llama)", "encoder and decoder\n(T5, Whisper)")
    for axes, allowed, title in zip(panels, (whole, causal, both), titles, strict=True):
        size = len(allowed)
        axes.pcolormesh(
            np.arange(size + 1),
            np.arange(size + 1),
            allowed,
            cmap=_ALLOWED,
            vmin=0,
            vmax=2,
            edgecolors=GREY,
            linewidth=0.8,
        )
        axes.invert_yaxis()
        axes.set_aspect("equal")
        axes.set_title(title)
        axes.set(xticks=[], yticks=[], xlabel="attended to", ylabel="attends")
    for axes in panels[2:]:
        for place, name in ((N / 2, "source"), (3 * N / 2, "target")):
            axes.text(-0.3, place, name, ha="right", va="center", rotation=90, fontsize=10)
            axes.text(place, 2 * N + 0.2, name, ha="center", va="top", fontsize=10)
        axes.set(xlabel="\nattended to", ylabel="attends\n")
        axes.plot([0, 2 * N], [N, N], color=BLACK, linewidth=2)
        axes.plot([N, N], [0, 2 * N], color=BLACK, linewidth=2)
    return figure


@styled
def crossing(runs: Mapping[str, Sequence[Mapping[str, float]]], measure: str, label: str) -> Figure:
    """For each model a measure over the steps and over the seconds of training: a point a run, a line through the means."""
    figure, panels = canvas(10.5, 3.8, 2, sharey=True)
    steps = sorted({run["steps"] for found in runs.values() for run in found})
    taken = [run["seconds"] for found in runs.values() for run in found]
    seconds = [mark for mark in (10, 20, 40, 80, 160, 320, 640) if min(taken) <= mark <= max(taken)]
    kinds = (("steps", "training steps", steps), ("seconds", "seconds of training", seconds))
    for axes, (key, x_label, marks) in zip(panels, kinds, strict=True):
        for name, found in runs.items():
            alike = [[run for run in found if run["steps"] == number] for number in steps]
            means = [[float(np.mean([run[what] for run in some])) for some in alike] for what in (key, measure)]
            _seeds(axes, [run[key] for run in found], [run[measure] for run in found], means, name)
        axes.set(xlabel=f"{x_label} (logarithmic)", xscale="log")
        axes.set_xticks(marks, [f"{mark:,.0f}" for mark in marks])
        axes.minorticks_off()
        axes.grid(True)
    panels[0].set_ylabel(label)
    legend_of(panels[1], loc="lower right")
    return figure


@styled
def by_length(runs: Mapping[str, Mapping[float, Sequence[float]]], label: str) -> Figure:
    """For each model a measure over the length of the source sentence: a point a run, a line through the means."""
    figure, (axes,) = canvas(7.4, 3.6)
    for name, points in runs.items():
        each = [(length, value) for length, values in points.items() for value in values]
        means = [list(points), [float(np.mean(values)) for values in points.values()]]
        _seeds(axes, *zip(*each), means, name)
    least = min(value for points in runs.values() for values in points.values() for value in values)
    axes.set(xlabel="words of the English sentence", ylabel=label, ylim=(np.floor(10 * least - 0.3) / 10, 1.02))
    axes.grid(True)
    legend_of(axes, loc="lower left")
    return figure


def _seeds(axes: Axes, x: Sequence[float], y: Sequence[float], means: Sequence[Sequence[float]], name: str) -> None:
    """The runs of a model as points, their means as a line."""
    axes.plot(*means, color=COLOURS[name], label=name)
    axes.plot(x, y, "o", color=COLOURS[name], markersize=4, alpha=0.6)


@styled
def strips(rows: Sequence[tuple[str, Sequence[str], object]]) -> Figure:
    """For each row a title, tokens and their weights: cells with the tokens, the darker the more weight."""
    longest = max(len(tokens) for _, tokens, _ in rows)
    figure, (axes,) = canvas(max(9.0, 0.72 * longest), 1.25 * len(rows) + 0.3)
    for place, (title, tokens, weights) in enumerate(rows):
        y = -1.6 * place
        axes.text(0, y + 0.5, title, ha="left", va="bottom", fontsize=11)
        for number, (token, weight) in enumerate(zip(tokens, array(weights), strict=True)):
            box(axes, (number + 0.5, y), 0.96, 0.8, _SHADES(float(weight)), "")
            ink = BLACK if weight < 0.7 else "white"
            axes.text(
                number + 0.5, y + 0.08, token, ha="center", va="center", rotation=20, color=ink, fontsize=9, zorder=5
            )
            axes.text(
                number + 0.5, y - 0.5, f"{float(weight):.2f}".lstrip("0"), ha="center", va="top", fontsize=8, color=GREY
            )
    return finish(axes, (-0.2, longest + 0.2), (-1.6 * len(rows) + 0.7, 1.0))


@styled
def parameters(models: Mapping[str, tuple[str, float]]) -> Figure:
    """Each model's number of parameters on a logarithmic axis, coloured by family."""
    figure, (axes,) = canvas(8.4, 0.36 * len(models) + 0.9)
    for place, (family, count) in enumerate(models.values()):
        axes.plot([1e7, count], [-place, -place], color=DATA_BOX, linewidth=1.2, zorder=1)
        colour, marker = _FAMILIES[family]
        axes.plot(count, -place, marker, color=colour, markersize=8)
    for family, (colour, marker) in _FAMILIES.items():
        axes.plot([], [], marker, color=colour, label=family)
    axes.set_yticks([-place for place in range(len(models))], list(models))
    axes.set(xscale="log", xlabel="parameters", xlim=(3e7, 1e12))
    legend_of(axes, loc="upper right")
    return figure
