"""Draws images that are cut into patches: the cut, weights over patches, and windows of patches that are moved."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from utils.figures.plots import BLACK, CYCLE, MAP, QUERY, array, canvas, styled, written

_HALO = [Stroke(linewidth=2.5, foreground="white"), Normal()]  # keeps writing legible on any ground
_GAP = 0.35  # between patches in a row, in patches
_LINE = "#333333"  # dark, since pictures are mostly light
_SIDE = 8  # patches of a side in the scheme of windows


@styled
def cut_up(image, P: int) -> Figure:
    """An image [3, H, W] with values from 0 to 1 and the lines of its cut; below, its patches in a row, counted from 0."""
    pixels = array(image).transpose(1, 2, 0)
    rows, columns = pixels.shape[0] // P, pixels.shape[1] // P
    figure = Figure(figsize=(10.5, 3.4), layout="constrained")
    whole, row = figure.subplots(2, 1, height_ratios=[3.2, 1])
    outline(whole, image, P)
    for number in range(rows * columns):
        top, left = number // columns * P, number % columns * P
        whole.text(left, top, str(number), ha="left", va="top", fontsize=8, color=BLACK, path_effects=_HALO)
        begin = number * (1 + _GAP)
        row.imshow(pixels[top : top + P, left : left + P], extent=(begin, begin + 1, 0, 1), interpolation="nearest")
        row.text(begin + 0.5, -0.15, str(number), ha="center", va="top", fontsize=9)
    row.set(xlim=(-0.1, rows * columns * (1 + _GAP)), ylim=(-0.6, 1.1))
    row.axis("off")
    return figure


@styled
def weights_over(
    images: Sequence, weights: Sequence, titles: Sequence[str], asking: Sequence[int | None] = ()
) -> Figure:
    """For each image [3, H, W], values from 0 to 1, beside it the weights [h, w] of its patches; `asking` outlines a patch."""
    figure, panels = canvas(1.9 * 2 * len(images), 2.3, 2 * len(images))
    for number, (image, own, title) in enumerate(zip(images, weights, titles, strict=True)):
        left, right = panels[2 * number : 2 * number + 2]
        own = array(own)
        P = array(image).shape[1] // own.shape[0]
        outline(left, image, P)
        right.imshow(own, cmap=MAP, vmin=0, vmax=own.max(), interpolation="nearest")
        right.set(xticks=[], yticks=[], xlabel=f"largest {written(own.max())}")
        left.set_title(title)
        if asking and asking[number] is not None:
            row, column = divmod(asking[number], own.shape[1])
            for axes, side in ((left, P), (right, 1)):
                corner = (column * side - 0.5, row * side - 0.5)
                axes.add_patch(Rectangle(corner, side, side, fill=False, edgecolor=QUERY, linewidth=3))
    return figure


@styled
def windows(M: int = 4, shift: int = 2) -> Figure:
    """A grid of patches cut into windows of M by M, and the same grid cut after it was moved by `shift` patches.

    In the second the patches have the colour of the window in which they were before; those that left the grid above or at the
    left, and came in below or at the right, are hatched.
    """
    figure, panels = canvas(8.4, 4.2, 2)
    rows, columns = np.indices((_SIDE, _SIDE))
    before = rows // M * (_SIDE // M) + columns // M
    moved = np.roll(before, (-shift, -shift), axis=(0, 1))
    for axes, owner, title in zip(panels, (before, moved), ("windows", f"shifted by {shift} patches"), strict=True):
        for (row, column), window in np.ndenumerate(owner):
            wrapped = owner is moved and (row >= _SIDE - shift or column >= _SIDE - shift)
            look = {"facecolor": CYCLE[window], "alpha": 0.55, "edgecolor": "white", "hatch": "//" if wrapped else None}
            box = Rectangle((column, row), 1, 1, linewidth=1, **look)
            axes.add_patch(box)
        for edge in range(0, _SIDE + 1, M):
            axes.plot([edge, edge], [0, _SIDE], color=BLACK, linewidth=3)
            axes.plot([0, _SIDE], [edge, edge], color=BLACK, linewidth=3)
        axes.set(xlim=(-0.1, _SIDE + 0.1), ylim=(_SIDE + 0.1, -0.1), title=title, aspect="equal")
        axes.axis("off")
    return figure


def outline(axes: Axes, image, P: int) -> None:
    """An image [3, H, W], values from 0 to 1, in `axes`, with the lines along which it is cut."""
    pixels = array(image).transpose(1, 2, 0)
    _image(axes, pixels)
    _grid(axes, pixels.shape[0] // P, pixels.shape[1] // P, P)


def _image(axes: Axes, pixels: np.ndarray) -> None:
    axes.imshow(pixels, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def _grid(axes: Axes, rows: int, columns: int, P: int) -> None:
    for row in range(1, rows):
        axes.axhline(row * P - 0.5, color=_LINE, linewidth=1)
    for column in range(1, columns):
        axes.axvline(column * P - 0.5, color=_LINE, linewidth=1)
