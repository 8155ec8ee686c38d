"""Draws schemes that hold for every input: how heads, their weights, memories and paths are laid out."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Polygon, Rectangle

from utils.figures.plots import (
    BLACK,
    BLUE,
    GREY,
    KEYS,
    MAP,
    OUTPUT,
    QUERY,
    SCORES,
    SKY,
    VALUES,
    WEIGHTS,
    canvas,
    styled,
)

_DATA, _LINE, _PALE = "#DDDDDD", "#444444", "#C9C9C9"
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


@styled
def grouped_heads(H: int = 8, groups: Sequence[int] = (8, 2, 1)) -> Figure:
    """Which of G key-value heads each of H query heads uses, one panel for each G."""
    figure, panels = canvas(10.5, 3.1, len(groups))
    for axes, G in zip(panels, groups, strict=True):
        at = [(H / G) * (g + 0.5) - 0.5 for g in range(G)]  # each above the middle of its own query heads
        for g, x in enumerate(at):
            box(axes, (x, 1.95), 0.74, 0.5, KEYS, f"$K_{g}$")
            box(axes, (x, 1.4), 0.74, 0.5, VALUES, f"$V_{g}$")
        for h in range(H):
            axes.plot([h, at[h // (H // G)]], [0.25, 1.15], color=_LINE, linewidth=1.2, zorder=1)
            box(axes, (h, 0), 0.74, 0.5, QUERY, f"$Q_{h}$")
        kind = {H: "multi-head", 1: "multi-query"}.get(G, "grouped-query")
        axes.set_title(f"{kind}: G = {G}")
        finish(axes, (-0.6, H - 0.4), (-0.35, 2.3))
    return figure


@styled
def orders_of_products() -> Figure:
    """Three matrices multiplied in the two possible orders, as rectangles with their sizes, and what each order costs."""
    figure, (axes,) = canvas(10.5, 5.0)
    N, D = 2.2, 0.62  # the sides, as drawn
    Q, Y = ("$Q$", N, D, QUERY, "$[N, D_Q]$"), ("$Y$", N, D, OUTPUT, "$[N, D_V]$")
    K, V = ("$K^\\top$", D, N, KEYS, "$[D_Q, N]$"), ("$V$", N, D, VALUES, "$[N, D_V]$")
    table, state = ("$QK^\\top$", N, N, SCORES, "$[N, N]$"), ("$K^\\top V$", D, D, _DATA, "$[D_Q, D_V]$")
    lines = (
        ("$(QK^\\top)\\,V$", ("(", Q, "×", K, ")", "×", V, "→", table, "×", V, "→", Y), "$2N^2(D_Q + D_V)$"),
        ("$Q\\,(K^\\top V)$", (Q, "×", "(", K, "×", V, ")", "→", Q, "×", state, "→", Y), "$4N D_Q D_V$"),
    )
    for place, (title, parts, cost) in enumerate(lines):
        middle, x = -3.35 * place, 2.1
        axes.text(0, middle + 0.35, title, ha="left", va="center", fontsize=14)
        axes.text(0, middle - 0.3, f"{cost}\noperations", ha="left", va="center", linespacing=1.5)
        for part in parts:
            if isinstance(part, str):
                step = 0.2 if part in "()" else 0.5 if part == "→" else 0.3
                axes.text(x + step / 2, middle, part, ha="center", va="center", fontsize=22 if part in "()" else 14)
                x += step
                continue
            name, tall, wide, colour, shape = part
            room = max(wide, 0.95)  # for the shape written below
            box(axes, (x + room / 2, middle), wide, tall, colour, name)
            axes.text(x + room / 2, middle - tall / 2 - 0.12, shape, ha="center", va="top")
            x += room
    axes.set_aspect("equal")
    return finish(axes, (-0.1, 12.6), (-5.1, 1.3))


@styled
def latents(N: int = 12, M: int = 3) -> Figure:
    """N data vectors that M latents gather, and N queries that attend to the latents alone, with lines for all weights."""
    figure, (axes,) = canvas(10.5, 4.4)
    at = [(N - 1) * (m + 0.5) / M for m in range(M)]  # where the latents stand
    for low, high in ((0, 2), (2, 4)):
        for n in range(N):
            for x in at:
                begin, end = (n, x) if low == 0 else (x, n)
                axes.plot([begin, end], [low + 0.25, high - 0.25], color=WEIGHTS, linewidth=0.9, alpha=0.6, zorder=1)
    for n in range(N):
        box(axes, (n, 0), 0.8, 0.5, _DATA, f"$x_{{{n}}}$")
        box(axes, (n, 4), 0.8, 0.5, OUTPUT, f"$y_{{{n}}}$")
    for m, x in enumerate(at):
        box(axes, (x, 2), 1.5, 0.5, "white", f"latent {m}")
        if m:
            line = {"arrowstyle": "<->", "color": SCORES, "lw": 1.8}
            axes.annotate("", (x - 0.78, 2), (at[m - 1] + 0.78, 2), arrowprops=line)
            name = "$L$ blocks of\nself-attention" if m == 1 else "$L \\cdot M^2$ weights"
            ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            axes.text((x + at[m - 1]) / 2, 2, name, ha="center", va="center", color=SCORES, bbox=ground, fontsize=9)
    for height, text in (
        (0, "$N$ data vectors:\nkeys and values"),
        (1, "$M \\cdot N$ weights"),
        (2, "$M$ latents gather\n$M$ summaries"),
        (3, "$N \\cdot M$ weights"),
        (4, "$N$ queries give\n$N$ outputs"),
    ):
        colour = WEIGHTS if height % 2 else BLACK
        axes.text(-0.7, height, text, ha="right", va="center", color=colour, linespacing=1.3)
    return finish(axes, (-3.6, N - 0.4), (-0.45, 4.45))


@styled
def chunks(N: int = 12, w: int = 3) -> Figure:
    """The scores of attention to at most w positions on either side: all pairs under a mask, and chunks of w queries."""
    kinds = {"not computed": "white", "computed, then hidden by the mask": _DATA, "in the window": BLUE}
    figure, panels = canvas(10.5, 4.3, 2, width_ratios=[N, N + 2 * w])
    m, n = np.arange(N)[:, None], np.arange(-w, N + w)
    inside = (np.abs(m - n) <= w) & (n >= 0) & (n < N)
    near = np.abs(m // w - n // w) <= 1  # the chunk of the query and the two beside it, zero vectors included
    ways = {"masked: all pairs": (1 + inside)[:, w:-w], "in chunks of $w$": near * (1 + inside)}
    for axes, (title, cells) in zip(panels, ways.items(), strict=True):
        first = n[-cells.shape[1]] if cells.shape[1] > N else 0
        edges = np.arange(cells.shape[1] + 1) + first
        colours = ListedColormap([*kinds.values()])
        axes.pcolormesh(edges, np.arange(N + 1), cells, cmap=colours, vmin=-0.5, vmax=2.5, edgecolor=GREY, linewidth=0.5)
        axes.set(title=title, xlabel="key", aspect="equal")
        axes.set_xticks(np.arange(N) + 0.5, range(N))
        axes.set_yticks(np.arange(N) + 0.5, range(N))
        axes.tick_params(length=0)
        axes.invert_yaxis()
    panels[0].set_ylabel("query")
    for start in range(0, N, w):
        panels[1].add_patch(Rectangle((start - w, start), 3 * w, w, fill=False, edgecolor=QUERY, linewidth=2, zorder=3))
    for place in (-w / 2, N + w / 2):
        panels[1].text(place, N + 0.3, "zeros", ha="center", va="top", fontsize=10, color=GREY)
    keys = [Patch(facecolor=colour, edgecolor=GREY, label=name) for name, colour in kinds.items()]
    figure.legend(handles=keys, ncols=3, loc="outside lower center", frameon=False)
    return figure


@styled
def memory_hierarchy() -> Figure:
    """The memories of a GPU of the kind A100 and of its host, with the sizes and rates that Dao et al. (2022) give."""
    figure, (axes,) = canvas(10.5, 3.9)
    tile = "in each of 108 pieces one tile of scores\nat a time, with $m$, $\\ell$ and $O$ of its queries"
    whole = "$Q$, $K$, $V$ and $Y$ $[N, D]$; and, if they\nare stored, the tables $E$ and $A$ $[N, N]$"
    levels = (  # name, size, rate, what attention keeps there
        ("SRAM on the GPU's chip", "20 MB", "19 TB/s", tile),
        ("HBM, the GPU's memory", "40 GB", "1.5 TB/s", whole),
        ("DRAM of the host's CPU", "over 1 TB", "12.8 GB/s", "what does not fit on the GPU"),
    )
    for place, ((name, size, rate, use), colour) in enumerate(zip(levels, (OUTPUT, KEYS, _DATA), strict=True)):
        top, bottom = 3 - place, 2 - place
        wide = [0.9 + 0.85 * (3 - height) for height in (top, bottom)]  # half the width at the top and at the bottom
        corners = [(-wide[0], top), (wide[0], top), (wide[1], bottom), (-wide[1], bottom)]
        axes.add_patch(Polygon(corners, facecolor=colour, edgecolor="white", linewidth=3))
        axes.text(0, (top + bottom) / 2, f"{size}\n{rate}", ha="center", va="center", linespacing=1.4)
        axes.text(-3.7, (top + bottom) / 2, name, ha="right", va="center", fontweight="bold")
        axes.text(3.75, (top + bottom) / 2, use, ha="left", va="center", linespacing=1.4)
    return finish(axes, (-8.3, 9.6), (-0.1, 3.1))


@styled
def paths(N: int = 5) -> Figure:
    """A recurrent network, convolutions of three and attention over N vectors, with a path from the first to the last."""
    figure, panels = canvas(10.5, 4.3, 3)
    depth = N - 1  # layers of a convolution of three before the last output depends on the first input
    recurrent = [((n, 0), (n, 1)) for n in range(N)] + [((n, 1), (n + 1, 1)) for n in range(N - 1)]
    stacked = [
        ((n, layer), (m, layer + 1)) for layer in range(depth) for n in range(N) for m in range(N) if abs(n - m) <= 1
    ]
    everyone = [((n, 0), (m, 1)) for n in range(N) for m in range(N)]
    schemes = (
        ("recurrent network", 2, recurrent, [(0, 0), *((n, 1) for n in range(N))], ("$O(N D^2)$", "$O(N)$", "$O(N)$")),
        (
            "convolutions of $k = 3$",
            depth + 1,
            stacked,
            [(n, n) for n in range(N)],
            ("$O(k N D^2)$", "$O(1)$", "$O(N/k)$"),
        ),
        ("self-attention", 2, everyone, [(0, 0), (N - 1, 1)], ("$O(N^2 D)$", "$O(1)$", "$O(1)$")),
    )
    for axes, (title, rows, lines, path, costs) in zip(panels, schemes, strict=True):
        up = 1 if rows > 2 else 1.6
        for begin, end in lines:
            _line(axes, begin, end, up, _PALE, 1.2)
        for begin, end in zip(path, path[1:]):
            _line(axes, begin, end, up, QUERY, 3)
        for row in range(rows):
            for n in range(N):
                colour = _DATA if row == 0 else OUTPUT if row == rows - 1 else "white"
                style = {"markeredgecolor": QUERY if (n, row) in path else GREY, "markeredgewidth": 2}
                axes.plot(n, row * up, "o", markersize=15, markerfacecolor=colour, zorder=3, **style)
        for name, cost, height in zip(("operations", "sequential steps", "longest path"), costs, (-1.0, -1.55, -2.1)):
            axes.text(N / 2 - 0.15, height, f"{name}:", ha="right", va="center")
            axes.text(N / 2, height, cost, ha="left", va="center")
        axes.set_title(title)
        finish(axes, (-0.6, N - 0.4), (-2.4, depth + 0.4))
    return figure


def _line(axes: Axes, begin, end, up: float, colour: str, width: float) -> None:
    style = {"color": colour, "linewidth": width, "zorder": 2 if colour == QUERY else 1}
    axes.plot([begin[0], end[0]], [begin[1] * up, end[1] * up], **style)


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


@styled
def steps_of_generation(count: int) -> Figure:
    """What is done with each position at each of `count` steps of generation, without a cache and with the KV cache."""
    kinds = {"not there yet": "white", "computed again": SKY, "computed for the first time": BLUE, "kept": _DATA}
    figure, panels = canvas(9.5, 4.4, 2)
    before, newest = np.tri(count, count, -1), 2 * np.eye(count)
    for axes, kind, title in zip(panels, (1, 3), ("without a cache", "with the KV cache"), strict=True):
        cells = ListedColormap([*kinds.values()])
        axes.pcolormesh(kind * before + newest, cmap=cells, vmin=-0.5, vmax=3.5, edgecolor=GREY, linewidth=0.5)
        axes.set(title=title, xlabel="position", ylabel="step", aspect="equal")
        axes.set_xticks(np.arange(count) + 0.5, range(count))
        axes.set_yticks(np.arange(count) + 0.5, range(1, count + 1))
        axes.tick_params(length=0)
        axes.invert_yaxis()
    keys = [Patch(facecolor=colour, edgecolor=GREY, label=name) for name, colour in kinds.items()]
    figure.legend(handles=keys, ncols=4, loc="outside lower center", frameon=False)
    return figure
