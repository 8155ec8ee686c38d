"""Figures of lesson 14: overlapping boxes, matchings, DETR drawn whole, what queries take, and captioners side by side."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from utils.figures import plots
from utils.figures.image_maps import glow
from utils.figures.plots import array, canvas, styled, written
from utils.figures.schematics import arrow, box, finish

COLOURS = {
    "matching": plots.BLUE,
    "left to right": plots.ORANGE,
    "order of a list": plots.GREY,
}  # the ways that the lesson compares
CAPTIONERS = {
    "RNN, one vector": plots.VERMILLION,
    "RNN, attention": plots.BLUE,
    "CNN, Transformer": plots.GREEN,
    "Transformers only": plots.PURPLE,
}
_RIM = [Stroke(linewidth=4, foreground="white"), Normal()]
_HALO = [Stroke(linewidth=2.5, foreground="white"), Normal()]
_FRAME, _LINE, _PALE = "#F7F5EF", "#444444", "#C9C9C9"


# Boxes ---------------------------------------------------------------------------------------------------------------


def _corner(middle_and_size) -> tuple[tuple[float, float], float, float]:
    across, down, width, height = (float(one) for one in middle_and_size)
    return (across - width / 2, down - height / 2), width, height


@styled
def pairs_of_boxes(pairs: Sequence[tuple], titles: Sequence[str]) -> Figure:
    """A panel for each pair of boxes (middle across, middle down, width, height): both, their common part, their frame."""
    figure, panels = canvas(2.9 * len(pairs), 3.5, len(pairs))
    for axes, pair, title in zip(panels, pairs, titles, strict=True):
        corners = [_corner(one) for one in pair]
        low = np.max([corner for corner, _, _ in corners], axis=0)
        far = [np.add(corner, (width, height)) for corner, width, height in corners]
        high = np.min(far, axis=0)
        first, last = np.min([corner for corner, _, _ in corners], axis=0), np.max(far, axis=0)
        frame = {"fill": False, "edgecolor": plots.BLACK, "linewidth": 1.5, "linestyle": ":"}
        axes.add_patch(Rectangle(first, *(last - first), zorder=2, **frame))
        for (corner, width, height), colour, name in zip(corners, (plots.QUERY, plots.KEYS), "AB"):
            axes.add_patch(Rectangle(corner, width, height, facecolor=colour, alpha=0.35, zorder=1))
            axes.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=colour, linewidth=2.5, zorder=3))
            own = np.add(corner, (0.01, 0.02) if name == "A" else (width - 0.01, height - 0.02))
            at = {"ha": "left", "va": "top"} if name == "A" else {"ha": "right", "va": "bottom"}
            axes.text(*own, f" {name} ", fontweight="bold", zorder=4, **at)
        if (high > low).all():
            axes.add_patch(Rectangle(low, *(high - low), facecolor=plots.GREEN, alpha=0.75, zorder=2))
        axes.set(xlim=(0, 1), ylim=(1, 0), aspect="equal", xticks=[], yticks=[])
        axes.set_title(title, fontsize=11)
        axes.spines[:].set(visible=True, color=_PALE)
    return figure


def _picture(axes: Axes, image) -> None:
    axes.imshow(array(image).transpose(1, 2, 0).clip(0, 1), extent=(0, 1, 1, 0), interpolation="nearest")
    axes.set(xlim=(0, 1), ylim=(1, 0))
    axes.axis("off")


def _outlined(axes: Axes, middle_and_size, name: str, colour: str, dashed: bool = False, inside: bool = False) -> None:
    """A box with its name at the upper left corner, above it or inside."""
    corner, width, height = _corner(middle_and_size)
    style = {"edgecolor": colour, "linewidth": 2, "linestyle": "--" if dashed else "-", "path_effects": _RIM}
    axes.add_patch(Rectangle(corner, width, height, fill=False, zorder=3, **style))
    x, y = max(corner[0], 0.0), max(corner[1], 0.07)
    place = {"ha": "left", "va": "top" if inside else "bottom", "fontsize": 10, "fontweight": "bold"}
    axes.text(x + 0.01, y - 0.005, name, color=colour, path_effects=_HALO, zorder=4, **place)


@styled
def found(images, answers: Sequence[Sequence[tuple]], titles: Sequence[str]) -> Figure:
    """Pictures [N, 3, H, W] side by side with the boxes that were found: for each picture (box, name)."""
    figure, panels = canvas(2.75 * len(titles), 3.1, len(titles))
    for axes, image, told, title in zip(panels, array(images), answers, titles, strict=True):
        _picture(axes, image)
        for place, name in told:
            _outlined(axes, place, name, plots.BLACK)
        axes.set_title(title)
    return figure


# Matching ------------------------------------------------------------------------------------------------------------


@styled
def assignments(costs, ways: Mapping[str, Sequence[int]], objects: Sequence[str]) -> Figure:
    """A panel for each way to give the objects to queries: lines for all costs [N_Q, N_T], thick ones for what is chosen."""
    costs = array(costs)
    N_Q, N_T = costs.shape
    figure, panels = canvas(3.5 * len(ways), 3.7, len(ways))
    heights = [(N_Q - 1) * (t + 0.5) / N_T for t in range(N_T)]
    for axes, (title, queries) in zip(panels, ways.items(), strict=True):
        for (q, t), cost in np.ndenumerate(costs):
            chosen = len(queries) and queries[t] == q
            style = {"color": plots.WEIGHTS if chosen else _PALE, "linewidth": 3 if chosen else 1.2}
            axes.plot([0.35, 2.65], [q, heights[t]], zorder=2 if chosen else 1, **style)
            share = 0.22 + 0.16 * t
            place = (0.35 + 2.3 * share, q + (heights[t] - q) * share)
            if chosen or not len(queries):
                axes.text(*place, f"{cost:g}", ha="center", va="center", fontsize=10, path_effects=_HALO, zorder=4)
        for q in range(N_Q):
            busy = not len(queries) or q in queries
            box(axes, (0, q), 0.7, 0.55, plots.QUERY if busy else plots.DATA_BOX, f"{q}")
        for t, name in enumerate(objects):
            box(axes, (3.2, heights[t]), 1.1, 0.6, plots.KEYS, name)
        axes.set_title(title)
        finish(axes, (-0.6, 3.95), (N_Q - 0.4, -0.6))
    return figure


@styled
def matching(image, boxes, names: Sequence[str], costs, queries, targets, objects: Sequence[str]) -> Figure:
    """A picture with the boxes of all queries and of its objects; beside it the costs [N_Q, N_T], the chosen ones framed.

    `names` say for each query what it takes its object for. Queries that are given nothing have no object to learn.
    """
    costs = array(costs)
    figure, (left, right) = canvas(10.4, 4.4, 2, gridspec_kw={"width_ratios": [1, 1.45]})
    _picture(left, image)
    for name, place in zip(objects, array(targets), strict=True):
        _outlined(left, place, name.split()[0], plots.BLACK, inside=True)
    for q, place in enumerate(array(boxes)):
        _outlined(left, place, f"{q}", plots.QUERY, dashed=q not in queries)
    low, high = min(costs.min(), -1.0), max(costs.max(), 4.0)
    right.imshow(costs, cmap=plots.MAP, aspect="auto", vmin=low, vmax=high, zorder=0)
    frame = {"fill": False, "edgecolor": plots.QUERY, "linewidth": 3, "zorder": 3}
    for (q, t), cost in np.ndenumerate(costs):
        ink = "black" if cost > low + 0.45 * (high - low) else "white"
        right.text(t, q, written(cost), ha="center", va="center", color=ink)
        if queries[t] == q:
            right.add_patch(Rectangle((t - 0.47, q - 0.45), 0.94, 0.9, **frame))
    right.set_xticks(range(len(objects)), objects)
    right.xaxis.tick_top()
    right.set_yticks(range(len(names)), [f"{q}  {name}" for q, name in enumerate(names)])
    for q in range(len(names)):
        given = next((f"is given {objects[t].split()[0]}" for t, one in enumerate(queries) if one == q), "no object")
        right.text(len(objects) - 0.4, q, given, va="center", color=plots.BLACK if q in queries else plots.GREY)
    right.tick_params(length=0)
    right.spines[:].set_visible(False)
    return figure


# The detector --------------------------------------------------------------------------------------------------------


@styled
def detr(image) -> Figure:
    """DETR from the picture to its answers, with what is added where."""
    figure, (axes,) = canvas(10.5, 6.9)
    axes.imshow(array(image).transpose(1, 2, 0).clip(0, 1), extent=(-0.9, 0.9, 1.9, 3.7), zorder=2)
    axes.text(0, 1.75, "picture", ha="center", va="top")
    arrow(axes, (0.95, 2.8), (1.75, 2.8), "CNN")
    box(axes, (2.5, 2.8), 1.4, 0.9, plots.VALUES, "$M$\n$[36, D]$")
    axes.text(2.5, 3.35, "memory", ha="center", va="bottom", fontweight="bold")
    box(axes, (2.5, 0.6), 1.4, 0.9, plots.SKY, "places\n$[36, D]$")
    axes.add_patch(Rectangle((5.05, -0.25), 4.3, 6.0, facecolor=_FRAME, edgecolor=_PALE, zorder=0))
    axes.text(9.25, 5.6, "× 2 layers", ha="right", va="top")
    stream = 5.7
    axes.plot([stream] * 2, [-0.75, 6.35], color=plots.GREY, linewidth=4, zorder=1, solid_capstyle="butt")
    axes.text(stream, -0.85, "$Y = 0\\ \\ [6, D]$", ha="center", va="top")
    for height, name, colour, ink in (
        (0.7, "self-attention\nof the queries", plots.WEIGHTS, "white"),
        (2.8, "cross-attention\nto the picture", plots.PURPLE, plots.BLACK),
        (4.7, "MLP", plots.OUTPUT, plots.BLACK),
    ):
        box(axes, (7.85, height), 2.1, 0.95, colour, name, ink)
        _path(axes, [(stream, height - 0.62), (7.85, height - 0.62), (7.85, height - 0.48)])
        _path(axes, [(7.85, height + 0.48), (7.85, height + 0.68), (stream + 0.08, height + 0.68)])
        axes.text(6.0, height - 0.58, "norm", ha="left", va="bottom", fontsize=10)
        axes.text(stream - 0.1, height + 0.68, "+", ha="right", va="center", fontsize=14, fontweight="bold")
    _path(axes, [(3.2, 3.05), (6.8, 3.05)], plots.VALUES)
    axes.text(4.1, 3.1, "values $M$", ha="center", va="bottom", fontsize=10)
    _path(axes, [(3.2, 2.55), (6.8, 2.55)], plots.SKY)
    axes.text(4.35, 2.5, "keys\n$M$ + places", ha="center", va="top", fontsize=10)
    _path(axes, [(2.5, 1.05), (2.5, 1.6), (3.55, 1.6), (3.55, 2.5)], plots.SKY)
    box(axes, (11.6, 1.7), 1.5, 1.2, plots.QUERY, "object\nqueries\n$[6, D]$")
    _path(axes, [(10.85, 2.1), (10.2, 2.1), (10.2, 2.8), (8.92, 2.8)], plots.QUERY)
    axes.text(10.3, 2.85, "added to the queries", ha="left", va="bottom", fontsize=10)
    _path(axes, [(10.85, 1.3), (10.2, 1.3), (10.2, 0.7), (8.92, 0.7)], plots.QUERY)
    axes.text(10.3, 0.6, "added to the queries\nand keys, not to the values", ha="left", va="top", fontsize=10)
    box(axes, (stream, 6.65), 1.3, 0.5, "#EEEEEE", "norm")
    for y, text in ((7.45, "class: logits $[6, C + 1]$"), (6.65, "box: sigmoid $[6, 4]$")):
        box(axes, (9.0, y), 3.2, 0.6, plots.OUTPUT, text)
        _path(axes, [(6.35, 6.65), (6.85, 6.65), (6.85, y), (7.38, y)])
        _path(axes, [(10.62, y), (11.25, y)])
    box(axes, (12.3, 7.05), 2.1, 1.4, "white", "six answers,\na set: matched\nwith the objects")
    axes.text(0.0, 7.05, "The two output heads are the same after\neach layer, which has its own loss.", va="center")
    return finish(axes, (-1.0, 13.4), (-1.3, 7.9))


def _path(axes: Axes, points: Sequence[tuple[float, float]], colour: str = _LINE) -> None:
    """Lines from point to point, with an arrowhead at the last."""
    if len(points) > 2:
        axes.plot(*zip(*points[:-1]), color=colour, linewidth=1.8, zorder=2, solid_joinstyle="miter")
    tip = {"arrowstyle": "-|>", "color": colour, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", points[-1], points[-2], arrowprops=tip, zorder=2)


@styled
def taken(places: Sequence, reach: Sequence[str]) -> Figure:
    """A panel for each query: the middles [n, 2] of the objects that it is given, as shares of the picture's side."""
    figure, panels = canvas(1.75 * len(places), 2.35, len(places), sharey=True)
    for q, (axes, middles, text) in enumerate(zip(panels, places, reach, strict=True)):
        axes.plot(*array(middles).reshape(-1, 2).T, "o", color=plots.QUERY, markersize=3, alpha=0.5, markeredgewidth=0)
        axes.set(xlim=(0, 1), ylim=(1, 0), aspect="equal", xticks=[], yticks=[])
        axes.set_title(f"query {q}\n{text}", fontsize=11)
        axes.spines[:].set(visible=True, color=plots.GREY)
    return figure


@styled
def looks(image, maps, boxes, names: Sequence[str], title: str) -> Figure:
    """The picture with the boxes of these queries, and for each the picture with a glow where it attends: maps [n, 6, 6]."""
    figure, panels = canvas(2.5 * (1 + len(names)), 3.1, 1 + len(names))
    _picture(panels[0], image)
    panels[0].set_title(title)
    for axes, weights, place, name in zip(panels[1:], maps, boxes, names, strict=True):
        glow(axes, image, weights, size=(1, 1))
        for shown in (panels[0], axes):
            _outlined(shown, place, name.split()[1], plots.QUERY)
        axes.set_title(name)
    return figure


# Results -------------------------------------------------------------------------------------------------------------


@styled
def seeds(measures: Mapping[str, Mapping[str, Sequence[float]]], colours: Mapping[str, str], most=1.05) -> Figure:
    """A panel for each measure: bars of the means, dots for the seeds."""
    figure, panels = canvas(3.55 * len(measures), 3.3, len(measures))
    for axes, (measure, ways) in zip(panels, measures.items(), strict=True):
        for place, (name, values) in enumerate(ways.items()):
            mean = float(np.mean(values))
            axes.bar(place, mean, color=colours[name], width=0.66)
            axes.plot([place] * len(values), values, "o", color=plots.BLACK, markersize=4, zorder=3)
            axes.text(place, max(values) + 0.02 * most, f"{mean:.2f}", ha="center", va="bottom")
        axes.set_xticks(range(len(ways)), [name.replace(" ", "\n", 1) for name in ways])
        axes.tick_params(axis="x", length=0)
        axes.set(title=measure, ylim=(0, most))
    return figure


@styled
def captioners() -> Figure:
    """Two captioners: a CNN's grid and a Transformer decoder, and a vision transformer and the same decoder."""
    figure, (axes,) = canvas(10.5, 4.2)
    rows = (
        (2.6, (("CNN", plots.DATA_BOX), ("36 cells\n+ places", plots.VALUES)), "CNN and Transformer"),
        (0.0, (("64 patches\n+ places", plots.DATA_BOX), ("encoder\nblocks", plots.WEIGHTS)), "Transformers only"),
    )
    for y, parts, title in rows:
        axes.text(-0.75, y + 0.85, title, ha="left", va="bottom", fontweight="bold")
        box(axes, (0, y), 1.3, 1.0, "white", "picture")
        arrow(axes, (0.65, y), (1.35, y))
        for place, (name, colour) in enumerate(parts):
            ink = "white" if colour == plots.WEIGHTS else plots.BLACK
            box(axes, (2.2 + 2.4 * place, y), 1.7, 1.0, colour, name, ink)
            arrow(axes, (3.05 + 2.4 * place, y), (3.75 + 2.4 * place, y))
        box(axes, (6.9, y), 1.5, 1.0, plots.VALUES, "memory\n$M$")
        arrow(axes, (7.65, y), (8.85, 1.3))
    axes.text(8.0, 1.3, "keys and\nvalues", ha="center", va="center", fontsize=10)
    box(axes, (10.0, 1.3), 2.3, 1.6, plots.PURPLE, "decoder blocks:\ncausal self-att.,\ncross-attention,\nMLP")
    box(axes, (10.0, -0.55), 2.3, 0.8, plots.DATA_BOX, "[START] a large")
    arrow(axes, (10.0, -0.12), (10.0, 0.48))
    box(axes, (10.0, 3.15), 2.3, 0.8, plots.OUTPUT, "a large red")
    arrow(axes, (10.0, 2.12), (10.0, 2.73))
    return finish(axes, (-0.85, 11.3), (-1.1, 4.1))
