"""Figures of lesson 12: what cells, points and pixels can see, SAGAN's block, pooling by a query, and runs by distance."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle

from utils.figures.plots import (
    BLACK,
    BLUE,
    CYCLE,
    DATA_BOX,
    GREEN,
    GREY,
    KEYS,
    ORANGE,
    OUTPUT,
    PURPLE,
    QUERY,
    SCORES,
    SKY,
    VALUES,
    VERMILLION,
    WEIGHTS,
    array,
    canvas,
    legend_of,
    styled,
)
from utils.figures.schematics import arrow, box, finish

SEEN = "#9CCBEE"  # a cell that can be seen
_LINE = "#444444"
_SHADES = {  # middle parts of a network, in the figure by distance
    "nothing": GREY,
    "2 convolutions": ORANGE,
    "11 convolutions": VERMILLION,
    "4 dilated convolutions": GREEN,
    "4 dilated ones, narrow": PURPLE,
    "self-attention": BLUE,
    "3 layers, windows": SKY,
    "3 layers, shifted windows": BLACK,
}
_STYLES = {"4 dilated ones, narrow": "D:", "self-attention": "s-", "3 layers, windows": "o--"}


def spread_of(reached, kernel):
    """From where a layer brings something to the cells `reached` [rows, columns]: `kernel` [k, k] says what each reads."""
    reached, kernel = np.asarray(reached, dtype=bool), np.asarray(kernel)[::-1, ::-1]
    middle = len(kernel) // 2
    rows, columns = reached.shape
    wide, found = np.pad(reached, middle), np.zeros_like(reached)
    for i, j in zip(*np.nonzero(kernel)):
        found |= wide[i : i + rows, j : j + columns]
    return found


@styled
def seen_in(picture, panels: Mapping[str, object], cell: tuple[int, int]) -> Figure:
    """A picture [3, H, W] under its grid, once for each panel: clear where the cell (row, column) sees, [rows, columns]."""
    pixels = array(picture).transpose(1, 2, 0)
    figure, axes = canvas(3.1 * len(panels), 3.5, len(panels))
    for panel, (title, seen) in zip(axes, panels.items(), strict=True):
        seen = array(seen)
        side = len(pixels) // len(seen)
        clear = np.kron(seen, np.ones((side, side)))[..., None]
        panel.imshow(pixels * clear + (1 - clear) * (0.35 * pixels + 0.4), interpolation="nearest")
        _grid(panel, len(seen), side)
        _frame(panel, cell, side)
        panel.set_title(title)
    return figure


def _grid(axes: Axes, cells: int, side: float, colour: str = "white") -> None:
    for line in range(cells + 1):
        for draw in (axes.axhline, axes.axvline):
            draw(line * side - 0.5, color=colour, linewidth=0.6)
    axes.set(xticks=[], yticks=[], xlim=(-0.5, cells * side - 0.5), ylim=(cells * side - 0.5, -0.5))
    axes.spines[:].set_visible(False)


def _frame(axes: Axes, cell: tuple[int, int], side: float = 1, colour: str = QUERY) -> None:
    corner = (cell[1] * side - 0.5, cell[0] * side - 0.5)
    axes.add_patch(Rectangle(corner, side, side, fill=False, edgecolor=colour, linewidth=3, zorder=4))


@styled
def cells_seen(
    panels: Mapping[str, object], cell: tuple[int, int], windows: Mapping[str, Sequence[int]] = {}
) -> Figure:
    """Grids [rows, columns] side by side: blue where the cell (row, column) sees; `windows` gives lines where a panel is cut."""
    figure, axes = canvas(2.75 * len(panels), 3.2, len(panels))
    for panel, (title, seen) in zip(axes, panels.items(), strict=True):
        seen = array(seen).astype(bool)
        for (row, column), on in np.ndenumerate(seen):
            colour = SEEN if on else "white"
            corner = (column - 0.5, row - 0.5)
            panel.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor="#BBBBBB", linewidth=0.7))
        _frame(panel, cell)
        for line in windows.get(title, ()):
            panel.axhline(line - 0.5, color=BLACK, linewidth=2.2)
            panel.axvline(line - 0.5, color=BLACK, linewidth=2.2)
        panel.set(xlim=(-0.6, seen.shape[1] - 0.4), ylim=(seen.shape[0] - 0.4, -0.6), aspect="equal", title=title)
        panel.axis("off")
    return figure


@styled
def sagan_block() -> Figure:
    """Self-attention between the layers of a convolutional network: 1×1 convolutions, scores, weights, gate and residual."""
    figure, (axes,) = canvas(12.5, 4.4)
    stream = 0.0
    axes.plot([-0.3, 15.6], [stream, stream], color=GREY, linewidth=5, zorder=1, solid_capstyle="butt")
    arrow(axes, (15.5, stream), (16.1, stream))
    box(axes, (-1.0, stream), 1.5, 1.1, DATA_BOX, "$X$\n$[C, N]$")
    box(axes, (16.9, stream), 1.5, 1.1, OUTPUT, "$Y$\n$[C, N]$")
    for height, name, colour in ((4.0, "Q", QUERY), (2.7, "K", KEYS), (1.3, "V", VALUES)):
        axes.plot([0.5, 0.5], [stream, height], color=_LINE, linewidth=1.5, zorder=1)
        arrow(axes, (0.5, height), (1.2, height))
        box(axes, (2.0, height), 1.6, 0.75, "white", f"1×1 conv.\n$W_{name}$")
        arrow(axes, (2.8, height), (3.6, height))
        box(axes, (4.3, height), 1.4, 0.75, colour, f"${name}\\ [N, C_K]$")
    axes.plot([5.0, 5.5, 5.5], [4.0, 4.0, 3.35], color=_LINE, linewidth=1.5)
    axes.plot([5.0, 5.5, 5.5], [2.7, 2.7, 3.35], color=_LINE, linewidth=1.5)
    arrow(axes, (5.5, 3.35), (6.2, 3.35))
    box(axes, (7.2, 3.35), 2.0, 0.95, SCORES, "scores $QK^\\top$\n$[N, N]$")
    arrow(axes, (8.2, 3.35), (9.6, 3.35), "softmax\nover keys")
    box(axes, (10.5, 3.35), 1.8, 0.95, WEIGHTS, "weights $A$\n$[N, N]$", "white")
    axes.plot([5.0, 10.5], [1.3, 1.3], color=_LINE, linewidth=1.5)
    axes.plot([10.5, 10.5], [2.87, 1.3], color=_LINE, linewidth=1.5)
    arrow(axes, (10.5, 1.3), (11.4, 1.3))
    box(axes, (12.1, 1.3), 1.4, 0.75, OUTPUT, "$AV$\n$[N, C_K]$")
    arrow(axes, (12.8, 1.3), (13.3, 1.3))
    box(axes, (14.05, 1.3), 1.5, 0.75, "white", "1×1 conv.\n$W_O$")
    arrow(axes, (14.05, 0.92), (14.05, 0.3))
    box(axes, (14.9, 0.62), 0.8, 0.42, "white", "$\\times\\,\\gamma$")
    axes.plot(14.05, stream, "o", markersize=17, markerfacecolor="white", markeredgecolor=BLACK, zorder=3)
    axes.text(14.05, stream - 0.02, "+", ha="center", va="center", zorder=4, fontsize=13)
    axes.text(7.0, stream - 0.2, "residual: $X$ passes unchanged", ha="center", va="top")
    axes.text(-1.0, 0.75, "$N$ cells,\n$C$ channels", ha="center", va="bottom", fontsize=9.5)
    return finish(axes, (-2.0, 17.8), (-0.75, 4.5))


@styled
def by_distance(
    panels: Mapping[str, Mapping[str, Sequence[Sequence[float]]]], distances: Sequence[str], chance: float
) -> Figure:
    """Shares that are right over the distance: a panel for each group, a line for each name, its band from seed to seed.

    Args:
        panels: title -> name -> for each seed the share in each of the `distances`.
    """
    figure, axes = canvas(11.5, 3.9, len(panels))
    for panel, (title, lines) in zip(axes, panels.items(), strict=True):
        for name, values in lines.items():
            values, colour = array(values), _SHADES[name]
            panel.plot(
                values.mean(axis=0), _STYLES.get(name, "o-"), color=colour, label=name, markersize=5, linewidth=2
            )
            panel.fill_between(
                range(len(distances)), values.min(0), values.max(0), color=colour, alpha=0.15, linewidth=0
            )
        panel.axhline(chance, color=GREY, linestyle=":", linewidth=1.4)
        panel.set_xticks(range(len(distances)), distances)
        panel.set(title=title, xlabel="cells to the other object")
        least = min(np.min(values) for values in lines.values())
        panel.set_ylim((0, 1.04) if least < 0.5 else (np.floor(20 * least) / 20, 1.005))
        panel.grid(True)
        legend_of(panel, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=9.5)
    axes[0].set_ylabel("cells that are right")
    return figure


# Points --------------------------------------------------------------------------------------------------------------


@styled
def clouds(sets, titles: Sequence[str], columns: int = 4) -> Figure:
    """Sets of points [B, N, 3] as seen from the side and a little from above; the nearer, the darker."""
    rows = -(-len(titles) // columns)
    figure = Figure(figsize=(2.4 * columns, 2.35 * rows), layout="constrained")
    for axes, points, title in zip(figure.subplots(rows, columns, squeeze=False).flat, array(sets), titles):
        x, y, depth = _on_paper(points)
        axes.scatter(x, y, c=-depth, cmap="Blues", vmin=-2.2, vmax=1.2, s=26, edgecolor="#335577", linewidth=0.4)
        axes.set(xlim=(-1.9, 1.9), ylim=(-1.9, 1.9), aspect="equal", title=title)
        axes.axis("off")
    return figure


def _on_paper(points):
    """Across, upwards and away from the eye, for points [N, 3]."""
    tilt = 0.45
    x, y, z = points.T
    return x, z * np.cos(tilt) + y * np.sin(tilt), y * np.cos(tilt) - z * np.sin(tilt)


@styled
def neighbourhoods(points, panels: Mapping[str, object], asking: Sequence[int], radius: float) -> Figure:
    """Points of the plane [N, 2], once a panel: what the points `asking` may attend to by its mask [N, N]; balls get a circle."""
    points = array(points)
    figure, axes = canvas(4.1 * len(panels), 3.9, len(panels))
    for panel, (title, mask) in zip(axes, panels.items(), strict=True):
        panel.plot(*points.T, "o", color="#C9C9C9", markersize=6, zorder=2)
        for n in asking:
            for m in np.flatnonzero(array(mask)[n]):
                panel.plot(*points[[n, m]].T, color=WEIGHTS, linewidth=1.2, zorder=1)
                panel.plot(*points[m], "o", color=SKY, markersize=7, markeredgecolor=BLUE, zorder=3)
            panel.plot(*points[n], "o", color=QUERY, markersize=9, zorder=4)
            if "ball" in title:
                panel.add_patch(Circle(points[n], radius, fill=False, edgecolor=QUERY, linestyle="--", linewidth=1.2))
        low, high = points.min(axis=0) - radius, points.max(axis=0) + radius
        panel.set(aspect="equal", title=title, xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        panel.axis("off")
    return figure


@styled
def pooling() -> Figure:
    """One learned query attends to a set of vectors and gives one vector."""
    figure, (axes,) = canvas(11.0, 3.0)
    for n, weight in enumerate((0.5, 0.1, 0.25, 0.15)):
        height = 2.4 - 0.8 * n
        box(axes, (0.0, height), 1.2, 0.55, DATA_BOX, f"$x_{n + 1}$")
        arrow(axes, (0.6, height), (2.1, height))
        box(axes, (2.7, height), 1.2, 0.55, KEYS, f"$k_{n + 1}$")
        box(axes, (3.9, height), 1.2, 0.55, VALUES, f"$v_{n + 1}$")
        axes.plot([4.5, 10.2], [height, 1.2], color=WEIGHTS, linewidth=1 + 12 * weight, alpha=0.5, zorder=1)
    axes.text(1.35, 2.55, "$W_K,\\ W_V$", ha="center", va="bottom")
    box(axes, (7.0, 3.3), 2.3, 0.6, QUERY, "query $s$, learned")
    axes.text(7.3, 2.9, "weights: softmax of $s \\cdot k_n / \\sqrt{D}$", ha="left", va="top")
    arrow(axes, (7.0, 3.0), (7.0, 2.2))
    box(axes, (10.9, 1.2), 1.4, 0.7, OUTPUT, "$y\\ [D]$")
    axes.text(10.9, 0.75, "weighted sum\nof the values", ha="center", va="top")
    axes.text(3.3, -0.4, "in any order", ha="center", va="top")
    return finish(axes, (-0.8, 12.4), (-0.9, 3.7))


# Pixels --------------------------------------------------------------------------------------------------------------


@styled
def raster(digit, t: int, reach: int = 2) -> Figure:
    """A digit [8, 8] written up to pixel t: the order, what the next pixel may depend on, and only the near part of that."""
    digit = array(digit)
    side = len(digit)
    n = np.arange(side**2).reshape(side, side)
    far = np.hypot(n // side - t // side, n % side - t % side)
    figure, panels = canvas(10.5, 3.6, 3)
    titles = (
        "raster order",
        f"pixel {t} depends on\nall pixels before it",
        f"or only on those\nup to {reach} pixels away",
    )
    for axes, title, seen in zip(panels, titles, (n >= 0, n < t, (n < t) & (far <= reach)), strict=True):
        shown = np.ma.masked_where(~seen, digit)
        axes.set_facecolor("#F3E3D6")
        axes.imshow(shown, cmap="Greys", vmin=0, vmax=16)
        _grid(axes, side, 1, "#BBBBBB")
        axes.set_title(title)
        if axes is not panels[0]:
            _frame(axes, divmod(t, side))
    for row in range(side):
        style = {"arrowstyle": "-|>", "color": VERMILLION, "lw": 1.4}
        panels[0].annotate("", (side - 0.6, row), (-0.4, row), arrowprops=style)
    return figure


@styled
def digits_shown(rows: Mapping[str, object], begun: int = 0) -> Figure:
    """Rows of digits [B, 8, 8] with values from 0 to 16, each row named; a line below `begun` rows of pixels."""
    count = max(len(one) for one in rows.values())
    figure = Figure(figsize=(1.9 + 0.86 * count, 0.95 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), count, squeeze=False)
    for line, (name, pictures) in zip(grid, rows.items(), strict=True):
        for axes, picture in zip(line, array(pictures)):
            axes.imshow(picture, cmap="Greys", vmin=0, vmax=16, interpolation="nearest")
            if begun:
                axes.axhline(begun - 0.5, color=VERMILLION, linewidth=1.6)
        for axes in line:
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
    return figure


@styled
def bit_bars(runs: Mapping[str, Sequence[float]]) -> Figure:
    """Bits a pixel of several models: a bar for the mean over the seeds, a point for each."""
    figure, (axes,) = canvas(9.5, 0.9 + 0.42 * len(runs))
    for place, (name, values) in enumerate(runs.items()):
        colour = CYCLE[0] if "attention" in name else "#BBBBBB"
        axes.barh(-place, np.mean(values), color=colour, height=0.62, alpha=0.85)
        axes.plot(values, [-place] * len(values), "o", color=BLACK, markersize=4, zorder=3)
        axes.text(max(values) + 0.06, -place, f"{np.mean(values):.2f}", va="center")
    axes.set_yticks([-place for place in range(len(runs))], list(runs))
    axes.set(xlabel="bits per pixel, new digits (less is better)", xlim=(0, 4.6))
    return figure
