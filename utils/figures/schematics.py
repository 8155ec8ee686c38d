"""Draws schemes that hold for every input: how heads and their weights are laid out, with boxes and arrows for all schemes."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from utils.figures.plots import (
    BLACK,
    GREY,
    KEYS,
    MAP,
    OUTPUT,
    QUERY,
    VALUES,
    canvas,
    styled,
)

_DATA, _LINE = "#DDDDDD", "#444444"
_PATTERNS = (  # weights of five queries over five keys, made up to look different in each head
    lambda distance: np.exp(-2.5 * np.abs(distance + 1)),
    lambda distance: np.exp(-0.15 * distance**2),
    lambda distance: np.exp(-2.5 * np.abs(np.abs(distance) - 2)),
)


@styled
def multi_head() -> Figure:
    """Multi-head attention with three heads: each projects X and attends, their outputs are concatenated, W_O mixes them.

    All boxes are drawn to size: N vectors tall, and D or D_H = D / 3 wide.
    """
    figure, (axes,) = canvas(10.5, 4.9)
    rows = (3.4, 1.7, 0.0)  # the heights of the heads
    tall, wide, narrow = 1.0, 1.2, 0.4
    box(axes, (0.6, 1.7), wide, tall, _DATA, "$X$\n$[N, D]$")
    for h, (middle, pattern) in enumerate(zip(rows, _PATTERNS, strict=True), start=1):
        arrow(axes, (1.25, 1.7 + 0.3 * (2 - h)), (2.4, middle))
        for place, (name, colour) in enumerate((("Q", QUERY), ("K", KEYS), ("V", VALUES))):
            box(axes, (2.7 + 0.5 * place, middle), narrow, tall, colour, f"${name}_{h}$")
        below = middle - 0.66  # queries and keys make the weights
        for x in (2.7, 3.2):
            axes.plot([x, x], [middle - 0.5, below], color=_LINE, linewidth=1.5, zorder=1)
        axes.plot([2.7, 4.3, 4.3], [below, below, middle - 0.2], color=_LINE, linewidth=1.5, zorder=1)
        arrow(axes, (4.3, middle - 0.2), (4.7, middle - 0.2))
        over = middle + 0.68  # the values pass the weights and meet them in the output
        axes.plot([3.7, 3.7, 6.95], [middle + 0.5, over, over], color=VALUES, linewidth=2, zorder=1)
        arrow(axes, (6.95, over), (6.95, middle + 0.52))
        weights = pattern(np.subtract.outer(np.arange(5), np.arange(5)))
        extent = (4.75, 5.75, middle - 0.5, middle + 0.5)
        axes.imshow(weights / weights.sum(axis=1, keepdims=True), cmap=MAP, extent=extent, vmin=0, zorder=3)
        axes.text(5.25, middle - 0.55, f"$A_{h}\\ [N, N]$", ha="center", va="top")
        arrow(axes, (5.82, middle), (6.58, middle), f"$A_{h}V_{h}$")
        box(axes, (6.95, middle), narrow, tall, OUTPUT, f"$Y_{h}$")
        axes.text(2.95, over - 0.12, f"head {h}", ha="center", va="bottom", fontweight="bold")
        arrow(axes, (7.2, middle), (8.45, 1.7 + 0.3 * (2 - h)))
        box(axes, (8.75 + narrow * (h - 1), 1.7), narrow, tall, OUTPUT, f"$Y_{h}$")
    arrow(axes, (9.8, 1.7), (10.75, 1.7), "$W_O$")
    box(axes, (11.4, 1.7), wide, tall, OUTPUT, "$Y$\n$[N, D]$")
    for x, text in (
        (3.2, "project with\n$W_Q^h, W_K^h, W_V^h$"),
        (5.25, "attend:\nsoftmax over keys"),
        (6.95, "$[N, D_H]$\neach"),
        (9.15, "concatenate\n$[N, H \\cdot D_H]$"),
        (11.4, "mix"),
    ):
        axes.text(x, 4.55 if x < 8 else 2.45, text, ha="center", va="bottom")
    return finish(axes, (-0.1, 12.1), (-1.0, 5.35))


@styled
def split_and_merge(B: int = 2, N: int = 2, H: int = 3, D_H: int = 2) -> Figure:
    """Where the numbers 0, 1, … of a tensor [B, N, H · D_H] go when it is split into heads and merged again.

    Each head has a shade of grey. On the right stands what a reshape to [B, H, N, D_H] alone would make of the numbers.
    """
    figure, (axes,) = canvas(10.5, 5.4)
    numbers = np.arange(B * N * H * D_H).reshape(B, N, H, D_H)
    owner = np.broadcast_to(np.arange(H)[:, None], numbers.shape)  # the head that owns each number
    apart = 0.35  # between the parts of a table
    wide, block = H * D_H, N + apart
    starts = np.cumsum([0, wide + 4.2, D_H + 6.1, D_H + 2.6])
    tall = H * block - apart
    each = H + (tall - N * H) / (N - 1)  # from a vector's parts, one above the other, to the next vector's
    for b in range(B):
        top = -b * (tall + 1.1)
        row = top - (tall - N) / 2  # the tables of N rows stand beside the middle of those of H · N rows
        _numbers(axes, (starts[0], row), numbers[b].reshape(N, -1), owner[b].reshape(N, -1))
        reshaped, reshaped_owner = (part[b].reshape(H, N, D_H) for part in (numbers, owner))
        for h in range(H):
            _numbers(axes, (starts[2], top - h * block), numbers[b, :, h], owner[b, :, h])
            _numbers(axes, (starts[3], top - h * block), reshaped[h], reshaped_owner[h])
            axes.text(starts[2] - 0.15, top - h * block - N / 2, f"head {h}", ha="right", va="center")
        for n in range(N):
            _numbers(axes, (starts[1], top - n * each), numbers[b, n], owner[b, n])
            axes.text(starts[1] - 0.15, top - n * each - H / 2, f"$x_{{{n}}}$", ha="right", va="center")
            axes.text(starts[0] - 0.15, row - n - 0.5, f"$x_{{{n}}}$", ha="right", va="center")
        axes.text(starts[0], row + 0.2, f"sequence {b}", ha="left", va="bottom", fontweight="bold")
        gaps = (
            (starts[0] + wide, starts[1] - 1.0, "view", "reshape"),
            (starts[1] + D_H, starts[2] - 1.7, "transpose(1, 2)", "transpose(1, 2)"),
        )
        for begin, end, there, back in gaps:
            arrow(axes, (begin + 0.25, row - N / 2 + 0.4), (end - 0.25, row - N / 2 + 0.4), there)
            arrow(axes, (end - 0.25, row - N / 2 - 0.4), (begin + 0.25, row - N / 2 - 0.4))
            axes.text((begin + end) / 2, row - N / 2 - 0.6, back, ha="center", va="top")
    ends = (wide, D_H, D_H, D_H)
    titles = ("$[B, N, H \\cdot D_H]$", "$[B, N, H, D_H]$", "split:\n$[B, H, N, D_H]$", "a reshape alone:\nwrong")
    for start, width, title in zip(starts, ends, titles, strict=True):
        axes.text(start + width / 2, 0.45, title, ha="center", va="bottom", linespacing=1.3)
    bottom = -B * (tall + 1.1) + 1.1
    axes.plot([starts[3] - 1.3] * 2, [bottom, 1.9], color=GREY, linestyle=":", linewidth=1.5)
    return finish(axes, (-1.0, starts[3] + D_H + 1.2), (bottom - 0.2, 2.1))


def _numbers(axes: Axes, corner, numbers, owner) -> None:
    """A table of numbers whose upper left corner is given, each in the shade of the head that owns it."""
    shades = ("white", "#CFCFCF", "#8F8F8F")
    for (i, j), number in np.ndenumerate(numbers):
        centre = (corner[0] + j + 0.5, corner[1] - i - 0.5)
        box(axes, centre, 1, 1, shades[owner[i, j] % len(shades)], f"{number}")


@styled
def fused_layouts(H: int = 3) -> Figure:
    """The rows of a fused weight in two orders: all queries first, and head by head."""
    figure, (axes,) = canvas(10.5, 2.6)
    colours = {"Q": QUERY, "K": KEYS, "V": VALUES}
    orders = (
        ("torch: all queries, all keys, all values", [(name, h) for name in colours for h in range(1, H + 1)]),
        ("interleaved: head by head", [(name, h) for h in range(1, H + 1) for name in colours]),
    )
    for line, (title, order) in enumerate(orders):
        middle = -1.7 * line
        for place, (name, h) in enumerate(order):
            box(axes, (place + 0.5, middle), 1.0, 0.7, colours[name], f"$W_{name}^{h}$")
        axes.text(0, middle + 0.45, title, ha="left", va="bottom")
    axes.text(3 * H / 2, -2.2, "rows of the weight, $D_H$ in each box", ha="center", va="top")
    return finish(axes, (-0.1, 3 * H + 0.1), (-2.75, 1.0))


def box(axes: Axes, centre, width: float, height: float, colour: str, label: str, ink: str = BLACK) -> None:
    """A box with writing in the colour `ink`, around a point of an axes that `finish` will close."""
    corner = (centre[0] - width / 2, centre[1] - height / 2)
    axes.add_patch(Rectangle(corner, width, height, facecolor=colour, edgecolor=BLACK, linewidth=0.9, zorder=3))
    axes.text(*centre, label, ha="center", va="center", color=ink, zorder=4, linespacing=1.3)


def arrow(axes: Axes, start, end, label: str = "") -> None:
    """An arrow between two points, with a label above its middle."""
    arrow = {"arrowstyle": "-|>", "color": _LINE, "lw": 1.5, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=arrow)
    axes.text((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.15, label, ha="center", va="bottom")


def finish(axes: Axes, x: tuple[float, float], y: tuple[float, float]) -> Figure:
    """Sets what is seen of a scheme, takes the axes' frame away and gives the figure."""
    axes.set(xlim=x, ylim=y)
    axes.axis("off")
    return axes.figure
