"""Draws images that are cut into patches: the cut, weights over patches, and windows of patches that are moved."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from utils.figures.plots import BLACK, CYCLE, DATA_BOX, MAP, OUTPUT, QUERY, SCORES, SKY, array, canvas, styled, written
from utils.figures.schematics import arrow, box, finish

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
def vit(N: int = 5) -> Figure:
    """A Vision Transformer from the patches, below, to the logits, above; `N` patches stand for all."""
    figure, (axes,) = canvas(10.5, 5.6)
    for n in range(N + 1):
        x, last = 1.5 * n, n == N
        name = "N - 1" if last else str(n - 1)
        if n:
            box(axes, (x, 0), 1.2, 0.7, DATA_BOX, f"patch {name}".replace("N - 1", "N−1"))
            arrow(axes, (x, 0.4), (x, 1.25))
        token, place = ("class", "$p_0$") if n == 0 else (f"$x_{{{name}}}$", "$p_N$" if last else f"$p_{{{n}}}$")
        box(axes, (x, 1.65), 1.2, 0.7, OUTPUT if n == 0 else SKY, token)
        axes.text(x, 2.22, "+", ha="center", va="center", fontsize=14)
        box(axes, (x, 2.7), 1.2, 0.55, "white", place)
        arrow(axes, (x, 3.0), (x, 3.55))
        arrow(axes, (x, 4.75), (x, 5.25))
        box(axes, (x, 5.6), 1.2, 0.7, OUTPUT if n == 0 else "white", "", BLACK)
    for y in (0, 1.65, 2.7, 5.6):
        axes.text(1.5 * (N - 0.5), y, "…", ha="center", va="center", fontsize=14, zorder=6)
    box(axes, (0.75 * N, 4.15), 1.5 * N + 1.2, 1.15, "#DDDDDD", "$L$ Transformer blocks, without a mask")
    arrow(axes, (0, 6.0), (0, 6.55))
    box(axes, (0, 6.95), 2.1, 0.75, SCORES, "norm, head: logits")
    axes.plot([0.9, 0.9, 1.5 * N + 0.6, 1.5 * N + 0.6], [6.05, 6.2, 6.2, 6.05], color="#555555", linewidth=1.2)
    axes.text(0.75 * N + 0.75, 6.25, "not read", ha="center", va="bottom", color="#555555")
    labels = ((0, "$[N, CP^2]$"), (0.85, "$W_E, b_E$"), (1.65, "$[N+1, D]$"), (2.7, "positions"), (5.6, "$[N+1, D]$"))
    for y, text in (*labels, (6.95, "$[K]$")):
        axes.text(1.5 * N + 0.85 if y < 6.9 else 1.25, y, text, ha="left", va="center")
    return finish(axes, (-1.3, 1.5 * N + 2.8), (-0.5, 7.5))


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
    """A grid of patches cut into windows of M by M, the same grid cut `shift` patches further, and that grid rolled by `shift`.

    The patches have the colour of the window in which they were before; those that the roll moves out of the grid above or at the
    left, and into it below or at the right, are hatched.
    """
    figure, panels = canvas(12.6, 4.2, 3)
    rows, columns = np.indices((_SIDE, _SIDE))
    before = rows // M * (_SIDE // M) + columns // M
    leaves = (rows < shift) | (columns < shift)
    shifted = [edge + shift for edge in range(0, _SIDE, M)]
    views = [
        ("windows", before, np.zeros_like(leaves), range(0, _SIDE + 1, M)),
        (f"windows shifted by {shift} patches", before, leaves, shifted),
        (
            "shifted windows, rolled",
            *(np.roll(table, (-shift, -shift), axis=(0, 1)) for table in (before, leaves)),
            range(0, _SIDE + 1, M),
        ),
    ]
    for axes, (title, owner, hatched, edges) in zip(panels, views, strict=True):
        for (row, column), window in np.ndenumerate(owner):
            hatch = "//" if hatched[row, column] else None
            look = {"facecolor": CYCLE[window], "alpha": 0.55, "edgecolor": "white", "hatch": hatch}
            box = Rectangle((column, row), 1, 1, linewidth=1, **look)
            axes.add_patch(box)
        for edge in edges:
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
