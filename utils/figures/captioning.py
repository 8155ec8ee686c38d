"""Figures of captioners: scenes with their captions, what a cell sees, one step drawn whole, and captions side by side."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import get_sample_data
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.patches import FancyArrowPatch, Rectangle

from utils.figures.image_maps import Box, on_white, outline
from utils.figures.plots import BLACK, GREY, MAP, OUTPUT, QUERY, array, canvas, legend_of, styled, written

_CHARACTER = 0.088  # inches, of the type of captions
_FRAME = ("white", "black")  # of boxes on a picture: the line, and its rim
_LINE, _TOKEN = "#444444", "#F3D9C6"  # arrows; a token of the decoder, as in the figures of lesson 01


@styled
def gallery(images, titles: Sequence[str], boxes: Sequence[Sequence[Box]] = ()) -> Figure:
    """Images [N, 3, H, W] side by side with their titles; boxes (left, top, right, bottom) are drawn round their things."""
    figure, panels = canvas(2.5 * len(titles), 2.8, len(titles))
    for number, (axes, image, title) in enumerate(zip(panels, array(images), titles, strict=True)):
        _image(axes, image.transpose(1, 2, 0), title)
        for box in boxes[number] if boxes else ():
            outline(axes, box, *_FRAME)
    return figure


def _image(axes: Axes, pixels: np.ndarray, title: str, size: tuple[int, int] | None = None) -> None:
    """Shows pixels [H, W, 3] in coordinates of an image of `size`, its height and width; without it, of their own."""
    height, width = size or pixels.shape[:2]
    axes.imshow(pixels.clip(0, 1), extent=(0, width, height, 0), interpolation="nearest")
    axes.set_title(title, fontsize=13)
    axes.set_axis_off()


# What a cell sees -----------------------------------------------------------------------------------------------------


def photograph() -> np.ndarray:
    """A real photograph [3, 480, 480], values from 0 to 1: Grace Hopper, by James S. Davis, US Navy, 1984; public domain.

    It comes with matplotlib, so that no network is needed.
    """
    with get_sample_data("grace_hopper.jpg") as stream:
        pixels = imread(stream, format="jpg")
    return (pixels[10:490, 16:496] / 255).transpose(2, 0, 1).astype(np.float32)


@styled
def receptive_field(photo, pixels, reach, cell: tuple[int, int], cells: int) -> Figure:
    """One cell of a feature map of `cells` by `cells`, and what it sees of an image.

    Left the photo [3, H, W] under the grid, with `cell` (row, column) framed; in the middle the image [3, h, w] that the network
    is given, clear and framed where `reach` [h, w] is not 0; right `reach` itself, how strongly the cell depends on each pixel.
    """
    photo, pixels, reach = array(photo).transpose(1, 2, 0), array(pixels).transpose(1, 2, 0), array(reach)
    side = len(pixels)
    step = side / cells
    figure, panels = canvas(11.5, 4.1, 3)
    _image(panels[0], photo, f"a photograph and its grid\nof {cells} × {cells} cells", (side, side))
    for line in range(cells + 1):
        for draw in (panels[0].axhline, panels[0].axvline):
            draw(line * step, color="white", linewidth=0.7, alpha=0.8)
    panels[0].set(xlim=(0, side), ylim=(side, 0))
    seen = np.where(reach > 0, 1.0, 0.45)[..., None]
    _image(
        panels[1], pixels * seen, f"the network's input, {side} × {side} pixels;\nframed in orange: what the cell sees"
    )
    image = panels[2].imshow(reach / reach.max(), cmap=MAP, vmin=0, vmax=1, extent=(0, side, side, 0))
    panels[2].set_title("how strongly the cell\ndepends on each pixel")
    panels[2].set_axis_off()
    figure.colorbar(image, ax=panels[2], shrink=0.75)
    for axes in panels:
        axes.title.set_fontsize(12)
        outline(axes, (cell[1] * step, cell[0] * step, (cell[1] + 1) * step, (cell[0] + 1) * step), *_FRAME)
    rows, columns = (np.flatnonzero((reach > 0).any(axis=axis)) for axis in (1, 0))
    for axes in panels[1:]:
        outline(axes, (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1), OUTPUT, "black")
    return figure


# The captioner --------------------------------------------------------------------------------------------------------


@styled
def captioner(pixels, weights, fed: str, written: str) -> Figure:
    """One step of a captioner that attends: from the image [3, H, W] over its cells, weighted by `weights` [h, w], to a token.

    The decoder is fed the token `fed` and writes the token `written`.
    """
    weights = array(weights)
    figure, (axes,) = canvas(11.2, 4.7)
    wide, high, low, gate = 2.2, 3.2, 0.0, 1.3  # a picture's side; the heights of both rows, and of the gate between
    image, cells, maps, context, token = 1.1, 4.4, 8.6, 12.2, 14.6  # the middles of what is drawn
    shown = np.full((*weights.shape, 3), 0.87)
    for middle, picture in (
        (image, array(pixels).transpose(1, 2, 0).clip(0, 1)),
        (cells, shown),
        (maps, on_white(weights / weights.max())),
    ):
        extent = (middle - wide / 2, middle + wide / 2, high - wide / 2, high + wide / 2)
        axes.imshow(picture, extent=extent, interpolation="nearest", zorder=2)
        axes.add_patch(Rectangle((extent[0], extent[2]), wide, wide, fill=False, zorder=3))
        for line in np.linspace(0, wide, len(weights) + 1)[1:-1] if middle != image else ():
            thin = {"color": "white" if middle == cells else "#DDDDDD", "linewidth": 0.8, "zorder": 2.5}
            axes.plot([extent[0] + line] * 2, extent[2:], **thin)
            axes.plot(extent[:2], [extent[2] + line] * 2, **thin)
    for x, text in (
        (image, "image"),
        (cells, f"{weights.size} cells $x_i$,\npositions added"),
        (maps, "weights $a_{t,i}$"),
    ):
        axes.text(x, high - wide / 2 - 0.12, text, ha="center", va="top")
    _flow(axes, (image + 1.2, high), (cells - 1.2, high), "CNN")
    scores = (cells + maps) / 2
    _flow(axes, (cells + 1.2, high), (scores - 0.65, high))
    _part(axes, (scores, high), "score,\nsoftmax", "white", wide=1.2)
    _flow(axes, (scores + 0.65, high), (maps - 1.2, high))
    _flow(axes, (maps + 1.2, high), (context - 0.55, high), "$\\sum_i\\ a_{t,i}\\ x_i$")
    above = high + wide / 2 + 0.35  # the cells are also what is summed
    axes.plot([cells, cells, context], [high + wide / 2, above, above], color=_LINE, linewidth=1.5)
    _flow(axes, (context, above), (context, high + 0.42))
    _part(axes, (context, high), "$c_t$", OUTPUT)
    _flow(axes, (context, high - 0.42), (context, gate + 0.42))
    _part(axes, (context, gate), "$z_t = \\beta_t\\ c_t$", OUTPUT, wide=1.6)
    _part(axes, (maps + 1.45, gate), "gate $\\beta_t$", GREY, wide=1.3)
    _flow(axes, (maps + 2.15, gate), (context - 0.85, gate))
    state = scores
    _part(axes, (state, low), "$s_{t-1}$", QUERY)
    axes.text(state - 0.65, low, "decoder state", ha="right", va="center")
    _flow(axes, (state, low + 0.42), (scores, high - 0.42))
    _flow(axes, (state + 0.53, low + 0.3), (maps + 0.75, gate - 0.1))
    _flow(axes, (state + 0.55, low), (context - 0.65, low))
    _part(axes, (context, low), "GRU", "white", wide=1.2)
    _flow(axes, (context, gate - 0.42), (context, low + 0.42))
    _part(axes, (state, low - 1.2), fed, _TOKEN, wide=1.4)
    axes.text(state - 0.85, low - 1.2, "previous token $y_{t-1}$", ha="right", va="center")
    _flow(axes, (state + 0.75, low - 1.15), (context - 0.65, low - 0.2))
    _flow(axes, (context + 0.65, low), (token - 0.55, low))
    _part(axes, (token, low), "$s_t$", QUERY)
    _flow(axes, (token, low + 0.42), (token, gate - 0.42))
    _part(axes, (token, gate), "linear,\nsoftmax", "white", wide=1.2)
    _flow(axes, (context + 0.85, gate), (token - 0.65, gate))
    _flow(axes, (token, gate + 0.42), (token, high - 0.42))
    _part(axes, (token, high), written, _TOKEN, wide=1.4)
    axes.text(token, high + 0.45, "next token $y_t$", ha="center", va="bottom")
    axes.set(xlim=(-0.1, token + 0.95), ylim=(-1.7, above + 0.15), aspect="equal")
    axes.axis("off")
    return figure


def _part(axes: Axes, centre, label: str, colour: str, wide: float = 1.0) -> None:
    corner = (centre[0] - wide / 2, centre[1] - 0.38)
    axes.add_patch(Rectangle(corner, wide, 0.76, facecolor=colour, edgecolor="black", linewidth=0.9, zorder=3))
    axes.text(*centre, label, ha="center", va="center", fontsize=12, zorder=4)


def _flow(axes: Axes, start, end, label: str = "") -> None:
    arrow = {"arrowstyle": "-|>", "mutation_scale": 13, "color": _LINE, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(start, end, zorder=1, **arrow))
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.1)
    axes.text(*middle, label, ha="center", va="bottom", fontsize=10, linespacing=1.1)


# Captions side by side ------------------------------------------------------------------------------------------------


@styled
def compared(images, captions: Sequence[Mapping[str, Sequence[str]]]) -> Figure:
    """Images [N, 3, H, W], each beside its captions, name -> words. The first is right; what differs from it is framed."""
    table = [{name: _columns(words) for name, words in told.items()} for told in captions]
    lines = [line for told in table for line in told.values()]
    widths = [max(len(line[column]) for line in lines) + 1 for column in range(len(lines[0]))]
    names = max(len(name) for told in table for name in told) + 2
    starts = names + np.cumsum([0, *widths[:-1]])
    total = names + sum(widths)
    figure = Figure(figsize=(1.6 + _CHARACTER * total, 1.35 * len(table)), layout="constrained")
    panels = figure.subplots(len(table), 2, squeeze=False, width_ratios=[1.35, _CHARACTER * total])
    frame = {"boxstyle": "square,pad=0.15", "facecolor": "#EEEEEE", "edgecolor": "black", "linewidth": 1.2}
    for (left, axes), image, told in zip(panels, array(images), table, strict=True):
        _image(left, image.transpose(1, 2, 0), "")
        right = next(iter(told.values()))
        for row, (name, line) in enumerate(told.items()):
            type_ = {"family": "DejaVu Sans Mono", "fontsize": 10, "va": "center"}
            axes.text(0, -row, name, color=GREY, **type_)
            for start, word, wanted in zip(starts, line, right, strict=True):
                bad = {"bbox": frame, "fontweight": "bold"} if word != wanted else {}
                axes.text(start, -row, word, **type_, **bad)
        axes.set(xlim=(-0.5, total), ylim=(-len(told) + 0.4, 0.6))
        axes.set_axis_off()
    return figure


def _columns(words: Sequence[str]) -> list[str]:
    """A caption in nine parts: four words, the relation, four words."""
    return [*words[:4], " ".join(words[4:-4]), *words[-4:]]


@styled
def by_group(
    groups: Sequence[str],
    shares: Mapping[str, Sequence[Sequence[float]]],
    colours: Mapping[str, str],
    *,
    value_label: str = "share of captions",
    numbers: str = "",
    axes: Axes | None = None,
) -> Figure:
    """For each group a bar for each name: the mean over training runs, with a dot for each run.

    Args:
        shares: name -> for each group the values of its runs.
        numbers: how the mean is written above its bar; without it, it is not.
    """
    axes = axes or canvas(10, 3.4)[1][0]
    wide = 0.8 / len(shares)
    for number, (name, of_groups) in enumerate(shares.items()):
        at = [place + wide * (number - (len(shares) - 1) / 2) for place in range(len(groups))]
        means = [float(np.mean(one)) for one in of_groups]
        axes.bar(at, means, width=0.92 * wide, color=colours[name], label=name)
        for x, mean, values in zip(at, means, of_groups, strict=True):
            axes.plot([x] * len(values), values, "o", color=BLACK, markersize=3.5)
            if numbers:
                above = {"xytext": (0, 5), "textcoords": "offset points", "ha": "center", "va": "bottom"}
                ground = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none"}
                axes.annotate(written(mean, numbers), (x, max(values)), bbox=ground, zorder=5, **above)
    axes.set_xticks(range(len(groups)), groups)
    axes.set(ylabel=value_label)
    axes.tick_params(axis="x", length=0)
    legend_of(axes)
    return axes.figure
