"""Draws schemes of efficient attention: caches, shared keys, a tile in a GPU's memories, and what cheaper layers compute."""

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
    OUTPUT,
    QUERY,
    SCORES,
    SKY,
    VALUES,
    WEIGHTS,
    canvas,
    styled,
)
from utils.figures.schematics import arrow, box, finish

_DATA, _LINE, _PALE = "#DDDDDD", "#444444", "#C9C9C9"
_LEVELS = (  # the memories of a GPU and its host, from the bottom to the top: height, names, size, rate, colour
    (1.1, "DRAM of the host's CPU", "what does not fit on the GPU", "over 1 TB", "12.8 GB/s", "#E4E4E4"),
    (3.4, "HBM, the GPU's memory", "$Q$, $K$, $V$ and $Y$", "40 GB", "1.5 TB/s", "#CCCCCC"),
    (1.5, "SRAM on the GPU's chip", "one tile in each of 108 pieces", "20 MB", "19 TB/s", "#ADADAD"),
)


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
def memory_hierarchy() -> Figure:
    """The memories of a GPU of the kind A100 and of its host (Dao et al., 2022), and beside them the way of one tile.

    Beside HBM stands the table of scores, which is never stored, between queries, keys, values and outputs; a block of
    each is marked. The marked blocks go up to SRAM, where their tile is computed, and the output comes down.
    """
    figure, (axes,) = canvas(11.5, 5.3)
    bottom, full = 0.0, sum(level[0] for level in _LEVELS)
    for tall, name, use, size, rate, colour in _LEVELS:
        low, high = (0.6 + 0.22 * (full - height) for height in (bottom, bottom + tall))  # half the width
        corners = [(-high, bottom + tall), (high, bottom + tall), (low, bottom), (-low, bottom)]
        axes.add_patch(Polygon(corners, facecolor=colour, edgecolor="white", linewidth=3))
        middle = bottom + tall / 2
        axes.text(0, middle, f"{size}\n{rate}", ha="center", va="center", linespacing=1.4)
        axes.text(-2.1, middle + 0.05, name, ha="right", va="bottom", fontweight="bold")
        axes.text(-2.1, middle - 0.05, use, ha="right", va="top")
        if bottom:
            axes.plot([-4.9, 8.1], [bottom, bottom], color=GREY, linestyle=":", linewidth=1.2, zorder=0)
        bottom += tall
    _way_of_a_tile(axes, left=3.4, low=1.5, above=full - 0.75)
    axes.set_aspect("equal")
    return finish(axes, (-4.9, 8.1), (-0.05, full + 0.05))


def _way_of_a_tile(axes: Axes, left: float, low: float, above: float, part: float = 0.48) -> None:
    """The table with its vectors, its corner at (`left`, `low`), the tile at the height `above`, and arrows between them."""
    side, thin = 4 * part, 0.28
    row, column, top = 2, 2, low + side  # the marked blocks, counted from the bottom and from the left
    x, y = left + (column + 0.5) * part, low + (row + 0.5) * part  # the middle of the marked tile
    for place in range(16):
        corner = (left + place % 4 * part, low + place // 4 * part)
        style = {"facecolor": "white", "edgecolor": _PALE, "linestyle": "--", "hatch": "///"}
        axes.add_patch(Rectangle(corner, part, part, **style))
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.text(left + side / 2, low + part, "scores $[N, N]$:\nnever stored", ha="center", va="center", bbox=ground)
    axes.add_patch(
        Rectangle((x - part / 2, y - part / 2), part, part, facecolor="white", edgecolor=SCORES, linewidth=2.5)
    )
    for name, colour, at in (("Q", QUERY, left - 0.28), ("Y", OUTPUT, left + side + 0.28)):  # tall bars
        _bar(axes, (at, low + part / 2), (0, part), (thin, part), colour, row)
        axes.text(at, low - 0.08, f"${name}$", ha="center", va="top")
    for name, colour, at in (("K", KEYS, top + 0.28), ("V", VALUES, top + 0.62)):  # wide bars
        _bar(axes, (left + part / 2, at), (part, 0), (part, thin), colour, column)
        axes.text(left - 0.1, at, f"${name}$", ha="right", va="center")
    big = 0.72
    box(axes, (x, above), big, big, SCORES, "tile")
    words = "with $m$, $\\ell$ and $O$\nof these queries"
    axes.text(x + big / 2 + 0.15, above, words, ha="left", va="center", linespacing=1.4)
    arrow(axes, (x, top + 0.8), (x, above - big / 2 - 0.04))
    near, far = left - 0.75, left + side + 1.0
    axes.plot([left - 0.45, near, near], [y, y, above], color=_LINE, linewidth=1.5)
    arrow(axes, (near, above), (x - big / 2 - 0.04, above))
    axes.plot([far, far], [above - 0.45, y], color=_LINE, linewidth=1.5)
    arrow(axes, (far, y), (left + side + 0.45, y))
    axes.text(far + 0.15, y, "the output comes\nback, no score", ha="left", va="center", linespacing=1.4)


def _bar(axes: Axes, first, step, size, colour: str, marked: int) -> None:
    """Four blocks in a row, one of them marked: the centre of the first, the way to the next, and their size."""
    for place in range(4):
        centre = (first[0] + place * step[0], first[1] + place * step[1])
        box(axes, centre, *size, colour, "")
        axes.patches[-1].set(alpha=1 if place == marked else 0.25)


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
        axes.pcolormesh(
            edges, np.arange(N + 1), cells, cmap=colours, vmin=-0.5, vmax=2.5, edgecolor=GREY, linewidth=0.5
        )
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
