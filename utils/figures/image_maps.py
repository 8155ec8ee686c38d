"""Attention maps over an image: a warm glow that is the stronger the larger the weight, on one scale for a row of panels."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from utils.figures.plots import BLACK, array, styled, written

_GLOW = LinearSegmentedColormap.from_list("glow", ["#FFF3B0", "#FDB338", "#E8590C", "#8F1D04"])
_THICK = 0.85  # how much the glow covers of the image where the weight is largest
_PALE = 0.55  # how much of an image's colour and contrast is left under the glow
_FINE = 4  # parts of a pixel's side in which weights are smoothed
Box = tuple[int, int, int, int]


@styled
def glowing(
    image,
    titles: Sequence[str],
    maps: Sequence,
    boxes: Sequence[Box | None] = (),
    columns: int = 3,
    side: float = 3.0,
    title: str = "",
    one_scale: bool = False,
) -> Figure:
    """A panel for each map: the image [3, H, W], pale, with the borders of the map's cells, under a glow.

    Beside each row is the scale that its panels share; with `one_scale` all rows share it.

    Args:
        maps: weights [h, w] with sum 1; None shows the image as it is.
        boxes: for each panel a box (left, top, right, bottom) in pixels, outlined; None for none.
    """
    rows = -(-len(titles) // columns)
    height, width = array(image).shape[1:]
    size = (side * columns + 0.9, (side * height / width + 0.45) * rows + (0.5 if title else 0))
    figure = Figure(figsize=size, layout="constrained")
    if title:
        figure.suptitle(title, fontsize=13)
    for row, panels in enumerate(figure.subplots(rows, columns, squeeze=False)):
        numbers = range(row * columns, min((row + 1) * columns, len(titles)))
        compared = maps if one_scale else [maps[number] for number in numbers]
        largest = max((array(one).max() for one in compared if one is not None), default=None)
        for number, axes in zip(numbers, panels, strict=False):
            glow(axes, image, maps[number], largest)
            if maps[number] is not None:
                _cells(axes, array(maps[number]).shape, (height, width))
            axes.set_title(titles[number], fontsize=14)
            if boxes and boxes[number]:
                outline(axes, boxes[number])
        for axes in panels:
            axes.set_axis_off()
        if largest is not None:
            bar = figure.colorbar(_scale(largest), ax=list(panels), shrink=0.8, pad=0.02, fraction=0.04)
            bar.set_ticks([0, largest], labels=["0", written(largest, ".2g")])
            bar.set_label("attention weight", labelpad=-12)
            bar.outline.set_linewidth(0.6)
    return figure


@styled
def glow(
    axes: Axes, image, weights=None, largest: float | None = None, size: tuple[float, float] | None = None
) -> None:
    """The image [3, H, W] under the glow of weights [h, w], strongest at `largest` (by default at the largest of them).

    Coordinates are those of an image of `size`, its height and width; by default pixels.
    """
    pixels = array(image).transpose(1, 2, 0).clip(0, 1)
    height, width = size or pixels.shape[:2]
    area = {"extent": (0, width, height, 0)}
    if weights is None:
        axes.imshow(pixels, interpolation="nearest", **area)
    else:
        grey = pixels.mean(axis=2, keepdims=True)
        axes.imshow(1 - _PALE * (1 - (0.6 * pixels + 0.4 * grey)), interpolation="nearest", **area)
        weights = array(weights)
        shares = _smoothed(weights / (largest or weights.max()), _FINE * max(pixels.shape) // max(weights.shape))
        colours = _GLOW(shares.clip(0, 1))
        colours[..., 3] = _cover(shares.clip(0, 1))
        axes.imshow(colours, interpolation="bilinear", **area)
    axes.set_axis_off()


def _cells(axes: Axes, cells: tuple[int, int], size: tuple[int, int]) -> None:
    """Hairlines between the cells of a map [h, w] on an image of `size`, its height and width."""
    height, width = size
    for lines, count, length, end in ((axes.hlines, cells[0], height, width), (axes.vlines, cells[1], width, height)):
        lines(np.arange(1, count) * length / count, 0, end, colors=BLACK, linewidth=0.5, alpha=0.15)


def _scale(largest: float) -> ScalarMappable:
    """The colours of the glow as they look on a white ground, from no weight to the largest."""
    colours = LinearSegmentedColormap.from_list("on white", [*map(tuple, on_white(np.linspace(0, 1, 64)))])
    return ScalarMappable(Normalize(0, largest), colours)


def on_white(shares: np.ndarray) -> np.ndarray:
    """The colours [..., 3] of the glow on a white ground, for shares [...] of the largest weight."""
    cover = _cover(shares)[..., None]
    return cover * _GLOW(shares)[..., :3] + 1 - cover


def _cover(shares: np.ndarray) -> np.ndarray:
    """How much of the image the glow covers where the weight is this share of the largest."""
    return _THICK * np.minimum(1, 2.2 * shares)


def _smoothed(weights: np.ndarray, fine: int) -> np.ndarray:
    """Weights [h, w] on a grid that is `fine` times as fine, in straight lines between the centres of the cells."""
    for axis in (0, 1):
        cells = weights.shape[axis]
        places = (np.arange(cells * fine) + 0.5) / fine
        weights = np.apply_along_axis(lambda line: np.interp(places, np.arange(len(line)) + 0.5, line), axis, weights)
    return weights


def outline(axes: Axes, box: Box, colour: str = BLACK, rim: str = "white") -> None:
    """A frame around the box, with a rim of another colour that makes it visible on any ground."""
    left, top, right, bottom = box
    effects = [Stroke(linewidth=3.5, foreground=rim), Normal()]
    axes.add_patch(
        Rectangle(
            (left, top), right - left, bottom - top, fill=False, edgecolor=colour, linewidth=1.5, path_effects=effects
        )
    )
