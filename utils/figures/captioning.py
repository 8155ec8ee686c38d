"""Pictures of what a captioner attends to: the image, clear where the weight is and dark elsewhere, token by token."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import get_sample_data
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from utils.figures.plots import GREY, MAP, array, canvas, styled, written

_DARK = 0.4  # brightness of what is not attended to
_FINE = 6  # parts of a pixel's side in which weights are smoothed
_CHARACTER = 0.088  # inches, of the type of captions
_RIM = [Stroke(linewidth=3.5, foreground="black"), Normal()]  # makes a white frame visible on any ground
Box = tuple[int, int, int, int]


@styled
def gallery(images, titles: Sequence[str], boxes: Sequence[Sequence[Box]] = ()) -> Figure:
    """Images [N, 3, H, W] side by side with their titles; boxes (left, top, right, bottom) are drawn round their things."""
    figure, panels = canvas(2.5 * len(titles), 2.8, len(titles))
    for number, (axes, image, title) in enumerate(zip(panels, array(images), titles, strict=True)):
        _image(axes, image.transpose(1, 2, 0), title)
        for box in boxes[number] if boxes else ():
            _outline(axes, box)
    return figure


# Attention maps -------------------------------------------------------------------------------------------------------


@styled
def word_maps(
    image, words: Sequence[str], maps, boxes: Sequence[Box | None] = (), columns: int = 5, title: str = ""
) -> Figure:
    """One panel for each token: the image [3, H, W], clear where its map has weight, and below it the scale of its map.

    Args:
        maps: for each token weights [h, w] with sum 1, where h and w divide the image's sides; None leaves the image as it is.
        boxes: for each token the box of what it names, outlined; None where there is none.
    """
    rows = -(-len(words) // columns)
    side = 2.45 if columns > 3 else 3.0
    figure = Figure(figsize=(side * columns, (side + 0.55) * rows + (0.4 if title else 0)), layout="constrained")
    if title:
        figure.suptitle(title, fontsize=12)
    panels = figure.subplots(rows, columns, squeeze=False).flat
    pixels = array(image).transpose(1, 2, 0)
    for number, axes in enumerate(panels):
        if number >= len(words):
            axes.set_axis_off()
            continue
        weights = None if maps[number] is None else array(maps[number])
        _image(axes, pixels if weights is None else veiled(pixels, weights), words[number], pixels.shape[:2])
        if weights is not None:
            _scale(axes, weights.max())
        if boxes and boxes[number]:
            _outline(axes, boxes[number])
    return figure


def veiled(pixels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """An image [H, W, 3], enlarged, that is as it was where `weights` [h, w] are largest, and dark where they are 0.

    Between the centres of its cells the weights are smoothed.
    """
    enlarged = np.kron(pixels, np.ones((_FINE, _FINE, 1)))
    for axis in (0, 1):
        centres = (np.arange(weights.shape[axis]) + 0.5) / weights.shape[axis]
        places = (np.arange(enlarged.shape[axis]) + 0.5) / enlarged.shape[axis]
        weights = np.apply_along_axis(lambda line: np.interp(places, centres, line), axis, weights)
    return enlarged * (_DARK + (1 - _DARK) * weights / weights.max())[..., None]


def _scale(axes: Axes, largest: float) -> None:
    """A strip below the panel: how bright which weight is, from 0 to the largest of this map."""
    strip = axes.inset_axes((0.0, -0.09, 1.0, 0.05))
    strip.imshow(np.linspace(_DARK, 1, 200)[None], cmap="gray", vmin=0, vmax=1, extent=(0, 1, 0, 1), aspect="auto")
    strip.set_yticks([])
    strip.set_xticks([0, 1], ["0", written(largest, ".2g")], fontsize=9)
    for label, side in zip(strip.get_xticklabels(), ("left", "right"), strict=True):
        label.set_horizontalalignment(side)
    strip.tick_params(length=0, pad=2)


def _image(axes: Axes, pixels: np.ndarray, title: str, size: tuple[int, int] | None = None) -> None:
    """Shows pixels [H, W, 3] in coordinates of an image of `size`, its height and width; without it, of their own."""
    height, width = size or pixels.shape[:2]
    axes.imshow(pixels.clip(0, 1), extent=(0, width, height, 0), interpolation="nearest")
    axes.set_title(title, fontsize=13)
    axes.set_axis_off()


def _outline(axes: Axes, box: Box) -> None:
    left, top, right, bottom = box
    frame = {"fill": False, "edgecolor": "white", "linewidth": 1.5, "path_effects": _RIM}
    axes.add_patch(Rectangle((left, top), right - left, bottom - top, **frame))


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
    is given, clear where `reach` [h, w] is not 0; right `reach` itself, how strongly the cell depends on each pixel.
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
    seen = np.where(reach > 0, 1.0, 0.3)[..., None]
    _image(panels[1], pixels * seen, f"the network's input, {side} × {side} pixels;\nclear: what the cell sees")
    image = panels[2].imshow(reach / reach.max(), cmap=MAP, vmin=0, vmax=1, extent=(0, side, side, 0))
    panels[2].set_title("how strongly the cell\ndepends on each pixel")
    panels[2].set_axis_off()
    figure.colorbar(image, ax=panels[2], shrink=0.75)
    for axes in panels:
        axes.title.set_fontsize(12)
        _outline(axes, (cell[1] * step, cell[0] * step, (cell[1] + 1) * step, (cell[0] + 1) * step))
    return figure


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
