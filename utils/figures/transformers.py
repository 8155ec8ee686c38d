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
    OUTPUT,
    PURPLE,
    VERMILLION,
    WEIGHTS,
    array,
    canvas,
    legend_of,
    styled,
)
from utils.figures.schematics import arrow, box, finish

COLOURS = {"GRU with attention": VERMILLION, "Transformer": BLUE}  # the translators that the lesson compares
_FAMILIES = {"encoder": "o", "both": "D", "decoder": "s"}  # the marker of each, in the order of the figure
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
    bridge = np.linspace(np.pi, 0, 30)  # over the decoder's stream, which the line crosses and does not join
    arc = list(zip(right + 0.22 * np.cos(bridge), across + 0.22 * np.sin(bridge), strict=True))
    path = [(left, top), (left, memory + 0.3), (between, memory + 0.3), (between, across), *arc, (right + 0.76, across)]
    axes.plot(*zip(*arc), color=_FRAME, linewidth=8, zorder=2)
    axes.plot(*zip(*path), color=KEYS, linewidth=3, zorder=3, solid_joinstyle="miter")
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
    axes.text(side + 0.12, 4.2, "next token, fed back when writing", ha="left", va="center", rotation=90, fontsize=10)


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
    figure, (axes,) = canvas(7.4, 5.9)
    right, middle = N + 2.6, 0.75  # the corner of the third table, as tall as the two others with what is between
    _who_attends(axes, (0, 0), whole, "encoder\n(BERT, ViT)")
    _who_attends(axes, (0, -N - 3.5), causal, "decoder\n(GPT, Llama)")
    _who_attends(axes, (right, -middle), both, "encoder and decoder\n(T5, Whisper)", room=0.9)
    for place, name in ((N / 2, "source"), (3 * N / 2, "target")):
        axes.text(right - 0.15, -middle - place, name, ha="right", va="center", rotation=90, fontsize=10)
        axes.text(right + place, -middle - 2 * N - 0.1, name, ha="center", va="top", fontsize=10)
    axes.plot([right, right + 2 * N], [-middle - N] * 2, color=BLACK, linewidth=2)
    axes.plot([right + N] * 2, [-middle, -middle - 2 * N], color=BLACK, linewidth=2)
    axes.set_aspect("equal")
    return finish(axes, (-1.1, right + 2 * N + 0.1), (-2 * N - 4.6, 2.0))


def _who_attends(axes: Axes, corner: tuple[float, float], allowed, title: str, room: float = 0.0) -> None:
    """A table below and to the right of `corner`, with cells of size 1; `room` is left for more names beside it."""
    (x, y), size = corner, len(allowed)
    edges = np.arange(size + 1)
    axes.pcolormesh(x + edges, y - edges, allowed, cmap=_ALLOWED, vmin=0, vmax=2, edgecolors=GREY, linewidth=0.8)
    axes.text(x + size / 2, y + 0.2, title, ha="center", va="bottom", fontsize=12)
    axes.text(x - 0.15 - room, y - size / 2, "attends", ha="right", va="center", rotation=90)
    axes.text(x + size / 2, y - size - 0.1 - room, "attended to", ha="center", va="top")


@styled
def crossing(runs: Mapping[str, Sequence[Mapping[str, float]]], measures: Mapping[str, str]) -> Figure:
    """A panel for each of the measures, with its label, over the steps: a point a run, a line through a model's means."""
    figure, panels = canvas(10.5, 3.8, len(measures))
    steps = sorted({run["steps"] for found in runs.values() for run in found})
    for axes, (measure, label) in zip(panels, measures.items(), strict=True):
        for name, found in runs.items():
            alike = [[run[measure] for run in found if run["steps"] == number] for number in steps]
            means = [steps, [float(np.mean(some)) for some in alike]]
            _seeds(axes, [run["steps"] for run in found], [run[measure] for run in found], means, name)
        axes.set(xlabel="training steps (logarithmic)", ylabel=label, xscale="log")
        axes.set_xticks(steps, [f"{number:,}" for number in steps])
        axes.minorticks_off()
        axes.grid(True)
    legend_of(panels[0], loc="lower right")
    return figure


@styled
def by_length(runs: Mapping[str, Mapping[float, Sequence[float]]], label: str) -> Figure:
    """For each model a share over the length of the source sentence: a point a run, a line through the means.

    The models are drawn side by side, since their points would hide each other.
    """
    figure, (axes,) = canvas(7.4, 3.6)
    for place, (name, points) in enumerate(runs.items()):
        aside = 1.2 * (place - (len(runs) - 1) / 2)
        each = [(length + aside, value) for length, values in points.items() for value in values]
        means = [[length + aside for length in points], [float(np.mean(values)) for values in points.values()]]
        _seeds(axes, *zip(*each), means, name)
    least = min(value for points in runs.values() for values in points.values() for value in values)
    axes.set(xlabel="words of the English sentence", ylabel=label, ylim=(np.floor(100 * least - 0.5) / 100, 1.002))
    axes.grid(True)
    legend_of(axes, loc="lower left")
    return figure


def _seeds(axes: Axes, x: Sequence[float], y: Sequence[float], means: Sequence[Sequence[float]], name: str) -> None:
    """The runs of a model as points, their means as a line."""
    axes.plot(*means, color=COLOURS[name], label=name)
    axes.plot(x, y, "o", color=COLOURS[name], markersize=5, alpha=0.6, clip_on=False, zorder=3)


@styled
def strips(rows: Sequence[tuple[str, Sequence[str], object]]) -> Figure:
    """For each row a title, tokens and their weights: a cell below each token, the darker the more weight."""
    longest = max(len(tokens) for _, tokens, _ in rows)
    figure, (axes,) = canvas(max(9.0, 0.84 * longest), 1.45 * len(rows))
    for place, (title, tokens, weights) in enumerate(rows):
        y = -1.9 * place
        axes.text(0.05, y + 0.88, title, ha="left", va="bottom", fontsize=11, fontweight="bold")
        for number, (token, weight) in enumerate(zip(tokens, array(weights), strict=True)):
            box(axes, (number + 0.5, y), 0.6, 0.6, _SHADES(float(weight)), "")
            axes.text(number + 0.5, y + 0.4, token, ha="center", va="bottom", fontsize=10)
            share = f"{float(weight):.2f}".removeprefix("0")
            axes.text(number + 0.5, y - 0.38, share, ha="center", va="top", fontsize=9, color="#555555")
    return finish(axes, (-0.1, longest + 0.1), (-1.9 * len(rows) + 1.1, 1.3))


@styled
def parameters(models: Mapping[str, tuple[str, float]]) -> Figure:
    """Each model's number of parameters on a logarithmic axis, by family and size; the marker tells the family."""
    figure, (axes,) = canvas(8.4, 0.34 * (len(models) + len(_FAMILIES)) + 0.9)
    heights, height = {}, 0.0
    for family, marker in _FAMILIES.items():
        of_family = {name: count for name, (kind, count) in models.items() if kind == family}
        axes.plot([], [], marker, color=BLACK, label=family)
        for name, count in sorted(of_family.items(), key=lambda one: one[1]):
            heights[name] = height
            axes.plot(count, height, marker, color=BLACK, markersize=7)
            size = f"{count / 1e6:,.0f}M" if count < 1e9 else f"{count / 1e9:.3g}B"
            side = {"xytext": (9, 0), "textcoords": "offset points"}
            ground = {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1}}  # which no grid line crosses
            axes.annotate(size, (count, height), ha="left", va="center", **ground, **side)
            height -= 1
        height -= 0.6
    axes.set_yticks(list(heights.values()), list(heights))
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x")
    axes.set(xscale="log", xlabel="parameters (logarithmic)", xlim=(3e7, 1.5e12))
    legend_of(axes, loc="upper right")
    return figure
