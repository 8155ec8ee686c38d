"""Draws images that are cut into patches: the cut, weights over patches, and windows of patches that are moved."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from utils.figures.plots import (
    BLACK,
    CYCLE,
    KEYS,
    MAP,
    OUTPUT,
    QUERY,
    SCORES,
    SKY,
    array,
    canvas,
    rows_of,
    styled,
    written,
)
from utils.figures.schematics import arrow, box, finish

_HALO = [Stroke(linewidth=2.5, foreground="white"), Normal()]  # keeps writing legible on any ground
_GAP = 0.35  # between patches in a row, in patches
_LINE = "#333333"  # dark, since pictures are mostly light
_BLOCKS = "#DDDDDD"  # grey, in the scheme, for the blocks alone
_SIDE = 8  # patches of a side in the scheme of windows


@styled
def cut_up(image, P: int) -> Figure:
    """An image [3, H, W] with values from 0 to 1 and the lines of its cut; below, its patches in a row, counted from 0."""
    pixels = array(image).transpose(1, 2, 0)
    rows, columns = pixels.shape[0] // P, pixels.shape[1] // P
    figure = Figure(figsize=(10.5, 3.4), layout="constrained")
    whole, row = figure.subplots(2, 1, height_ratios=[3.2, 1])
    outline(whole, image, P)
    for number, patch in enumerate(_patches(pixels, P)):
        top, left = number // columns * P, number % columns * P
        whole.text(left, top, str(number), ha="left", va="top", fontsize=8, color=BLACK, path_effects=_HALO)
        begin = number * (1 + _GAP)
        row.imshow(patch, extent=(begin, begin + 1, 0, 1), interpolation="nearest")
        row.text(begin + 0.5, -0.15, str(number), ha="center", va="top", fontsize=9)
    row.set(xlim=(-0.1, rows * columns * (1 + _GAP)), ylim=(-0.6, 1.1))
    row.axis("off")
    return figure


@styled
def vit(image, P: int, N: int = 7) -> Figure:
    """A Vision Transformer from the patches of an image [3, H, W], below, to the logits, above; `N` patches stand for all."""
    figure, (axes,) = canvas(11, 5.9)
    cut = _patches(array(image).transpose(1, 2, 0), P)
    places = [1.3 * n + 0.45 * (n == N) for n in range(N + 1)]  # before the last, room for dots
    left, end = -0.53, places[N] + 0.53
    for n, x in enumerate(places):
        last = n == N
        if n:
            _thumbnail(axes, (x, 0), cut[-1 if last else n - 1])
            axes.text(x, -0.7, "patch $N-1$" if last else f"patch {n - 1}", ha="center", va="top", fontsize=10)
            arrow(axes, (x, 0.65), (x, 1.25))
        token, place = f"$x_{{{'N-1' if last else n - 1}}}$" if n else "class", f"$p_{{{'N' if last else n}}}$"
        box(axes, (x, 1.65), 1.06, 0.7, SKY if n else OUTPUT, token)
        axes.text(x, 2.22, "+", ha="center", va="center", fontsize=14)
        box(axes, (x, 2.7), 1.06, 0.55, "white", place)
        arrow(axes, (x, 3.0), (x, 3.55))
        arrow(axes, (x, 4.75), (x, 5.23))
        box(axes, (x, 5.6), 1.06, 0.7, "white" if n else OUTPUT, "")
    for y in (0, 1.65, 2.7, 5.6):
        axes.text((places[N - 1] + places[N]) / 2, y, "…", ha="center", va="center", fontsize=14)
    box(axes, ((left + end) / 2, 4.15), end - left, 1.15, _BLOCKS, "$L$ Transformer blocks, without a mask")
    arrow(axes, (0, 6.0), (0, 6.55))
    box(axes, (0.4, 6.95), 2 * (0.4 - left), 0.75, SCORES, "norm, head: logits")
    axes.plot([places[1] - 0.53] * 2 + [end] * 2, [6.05, 6.2, 6.2, 6.05], color="#555555", linewidth=1.2)
    axes.text((places[1] + places[N]) / 2, 6.25, "not read", ha="center", va="bottom", color="#555555")
    labels = ((0, "$[N, CP^2]$"), (0.95, "$W_E, b_E$"), (1.65, "$[N+1, D]$"), (2.7, "positions"), (5.6, "$[N+1, D]$"))
    for y, text in (*labels, (6.95, "$[K]$")):
        axes.text(end + 0.25 if y < 6.9 else 1.55, y, text, ha="left", va="center")
    return finish(axes, (left - 0.15, end + 1.5), (-1.15, 7.45))


def _patches(pixels: np.ndarray, P: int) -> list[np.ndarray]:
    """The patches [P, P, 3] of an image [H, W, 3], row by row."""
    rows, columns = pixels.shape[0] // P, pixels.shape[1] // P
    return [pixels[y * P : y * P + P, x * P : x * P + P] for y in range(rows) for x in range(columns)]


def _thumbnail(axes: Axes, centre, pixels: np.ndarray) -> None:
    """A small square picture in a thin frame, around a point of an axes."""
    inset = axes.inset_axes((centre[0] - 0.6, centre[1] - 0.6, 1.2, 1.2), transform=axes.transData)
    inset.imshow(pixels, interpolation="nearest")
    inset.set(xticks=[], yticks=[])
    inset.spines[:].set(visible=True, color=_LINE, linewidth=0.8)


@styled
def weights_over(
    images: Sequence,
    weights: Sequence,
    titles: Sequence[str],
    asking: Sequence[int | None] = (),
    largest: bool = False,
) -> Figure:
    """For each image [3, H, W], values from 0 to 1, beside it the weights [h, w] of its patches, both under their grid.

    `asking` outlines a patch in the colour of queries, `largest` the one with the largest weight in that of keys.
    """
    rows = 1 if len(images) < 4 else 2
    across = -(-len(images) // rows)
    side = min(2.4, 5.7 / across)
    figure, grid = rows_of(2 * side * across, 1.21 * side * rows, *[2 * across] * rows)
    panels = [panel for row in grid for panel in row]
    for number, (image, own, title) in enumerate(zip(images, weights, titles, strict=True)):
        left, right = panels[2 * number : 2 * number + 2]
        own = array(own)
        P = array(image).shape[1] // own.shape[0]
        outline(left, image, P)
        right.imshow(own, cmap=MAP, vmin=0, vmax=own.max(), interpolation="nearest")
        _grid(right, *own.shape, 1, color="white", alpha=0.35)
        right.set(xticks=[], yticks=[], xlabel=f"largest {written(own.max())}")
        right.spines[:].set_visible(False)
        left.set_title(title)
        best, asks = own.argmax() if largest else None, asking[number] if asking else None
        for axes, length in ((left, P), (right, 1)):
            for patch, colour in ((best, KEYS), (asks, QUERY)):
                wide = 6 if colour == KEYS and patch == asks else 3  # so that both frames of one patch are seen
                if patch is not None:
                    _frame(axes, divmod(patch, own.shape[1]), length, colour, wide)
    for panel in panels[2 * len(images) :]:
        panel.axis("off")
    return figure


def _frame(axes: Axes, place: tuple[int, int], side: int, colour: str, wide: float) -> None:
    """Outlines the patch in a row and a column of a grid."""
    corner = (place[1] * side - 0.5, place[0] * side - 0.5)
    look = {"edgecolor": colour, "linewidth": wide, "zorder": 3, "clip_on": False}
    axes.add_patch(Rectangle(corner, side, side, fill=False, **look))


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


def _grid(axes: Axes, rows: int, columns: int, P: int, **look) -> None:
    look = {"color": _LINE, "linewidth": 1, **look}
    for row in range(1, rows):
        axes.axhline(row * P - 0.5, **look)
    for column in range(1, columns):
        axes.axvline(column * P - 0.5, **look)
