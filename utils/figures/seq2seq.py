"""Draws sequence models unrolled in time: states as strips of colour, words as boxes, hypotheses as a tree."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Polygon, Rectangle

from utils.figures.plots import BLACK, DATA, DATA_BOX, GREY, MAP, OUTPUT, QUERY, array, canvas, styled, written

# tokens that are read and tokens that are written, as in the diagrams of attention: data, and the sequence that asks
_SOURCE, _TARGET, _EMPTY = DATA_BOX, "#F3D9C6", "#F4F4F4"
_LINE, _GATE = "#444444", "#C9C9C9"  # arrows; the boxes of gates
_STRIP = 2.6  # the height of a state, in the width of a step
_WIDE = 15.0  # inches that no figure exceeds
_LARGE = 16  # points of the type in wide figures, which are shown smaller


@styled
def encoder_decoder(
    source: Sequence[str],
    fed: Sequence[str],
    written: Sequence[str],
    H,
    S,
    *,
    steps: int | None = None,
    limit: float = 1.0,
    mistake: int | None = None,
) -> Figure:
    """An encoder that has read `source` and a decoder that was fed `fed` and has written `written`, after `steps` steps.

    The states H [len(source), D] and S [len(written), D] are strips of D cells, coloured from -limit to limit. A step is one
    word read or one word written; None shows them all. The word with the index `mistake` of those written is marked.
    """
    H, S = array(H), array(S)
    columns = len(source) + len(written)
    steps = columns if steps is None else steps
    start = len(source) + 1.6  # where the decoder begins
    width = min(_WIDE, 1.0 * (columns + 2.2))
    scale = width / (columns + 2.2)
    turned = 60 if scale < 0.75 else 0
    figure, (axes,) = canvas(width, (_STRIP + 3.4 + (2.2 if turned else 0)) * max(scale, 0.65))
    for t, (word, state) in enumerate(zip(source, H, strict=True)):
        _step(axes, t, state if t < steps else None, limit, below=word, colour=_SOURCE, turned=turned)
        axes.text(t, _STRIP + 0.22, "" if turned else f"$h_{{{t + 1}}}$", ha="center", va="center", color=GREY)
        if t:
            _along(axes, t - 1, t, t < steps)
    done = steps - len(source)
    _context(
        axes, len(source) - 1, start, len(written), H[-1] if done >= 0 else None, limit, _LARGE if turned else None
    )
    for t, (given, word, state) in enumerate(zip(fed, written, S, strict=True)):
        shown = t < done
        _step(
            axes,
            start + t,
            state if shown else None,
            limit,
            below=given if shown else "",
            colour=_TARGET,
            turned=turned,
        )
        _word(axes, start + t, _STRIP + 0.75, word if shown else "", _TARGET, turned, above=True)
        if t == mistake and shown:
            axes.texts[-1].set(color=QUERY, fontweight="bold")
        _point(axes, (start + t, _STRIP + 0.05), (start + t, _STRIP + 0.4), shown)
        axes.text(
            start + t - 0.3, _STRIP + 0.22, "" if turned else f"$s_{{{t + 1}}}$", ha="center", va="center", color=GREY
        )
        if t:
            _along(axes, start + t - 1, start + t, shown)
        if t and shown and not turned:  # what was written before is fed now
            _point(axes, (start + t - 0.64, _STRIP + 0.47), (start + t - 0.36, -0.47), style=":")
    for x, text in (((len(source) - 1) / 2, "encoder"), (start + (len(written) - 1) / 2, "decoder")):
        size = _LARGE if turned else None
        axes.text(x, -1.35 - (1.3 if turned else 0), text, ha="center", va="top", color=GREY, fontsize=size)
    side = 1.5 if turned else 0
    axes.set(xlim=(-0.8, start + len(written) - 0.2), ylim=(-1.8 - 1.5 * bool(turned), _STRIP + 1.3 + side))
    axes.axis("off")
    return figure


def _step(axes: Axes, x: float, state, limit: float, *, below: str, colour: str, turned: int) -> None:
    _strip(axes, x, state, limit)
    _word(axes, x, -0.75, below, colour, turned)
    _point(axes, (x, -0.4), (x, -0.05), state is not None)


def _strip(
    axes: Axes, x: float, state, limit: float, width: float = 0.46, edge: str = BLACK, line: float = 0.9
) -> None:
    left, right = x - width / 2, x + width / 2
    if state is not None:
        extent = (left, right, 0, _STRIP)
        axes.imshow(state[:, None], cmap=MAP, vmin=-limit, vmax=limit, extent=extent, aspect="auto", zorder=2)
    frame = {"facecolor": _EMPTY if state is None else "none", "edgecolor": edge if state is not None else "#CCCCCC"}
    axes.add_patch(Rectangle((left, 0), width, _STRIP, linewidth=line, zorder=3, **frame))


def _word(axes: Axes, x: float, y: float, text: str, colour: str, turned: int, above: bool = False) -> None:
    if turned:
        place = {"va": "bottom" if above else "top", "ha": "left" if above else "right", "rotation": turned}
        axes.text(x, y - 0.3 if above else y + 0.3, text, rotation_mode="anchor", fontsize=_LARGE, **place)
        return
    _box(axes, x, y, text, colour, 0.9)


def _box(axes: Axes, x: float, y: float, text: str, colour: str, width: float, height: float = 0.55) -> None:
    style = {"boxstyle": "round,pad=0,rounding_size=0.08", "edgecolor": BLACK, "linewidth": 0.9, "facecolor": colour}
    if not text:
        style |= {"facecolor": _EMPTY, "edgecolor": "#CCCCCC"}
    axes.add_patch(FancyBboxPatch((x - width / 2, y - height / 2), width, height, zorder=3, **style))
    axes.text(x, y, text, ha="center", va="center", zorder=4, fontsize=10 if len(text) < 9 or width >= 1.2 else 8)


def _point(axes: Axes, start, end, strong: bool = True, style: str = "-") -> None:
    line = {"color": "#444444" if strong else "#CCCCCC", "linewidth": 1.2, "linestyle": style}
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=9, **line))


def _along(axes: Axes, left: float, right: float, strong: bool) -> None:
    _point(axes, (left + 0.24, _STRIP / 2), (right - 0.24, _STRIP / 2), strong)


def _context(axes: Axes, last: float, start: float, count: int, state, limit: float, size: float | None) -> None:
    """The context between the two: the encoder's last state, which goes to every step of the decoder along a rail."""
    x, there = (last + start) / 2, state is not None
    rail = {"color": OUTPUT if there else "#CCCCCC", "linewidth": 2.2, "zorder": 1}
    axes.plot([x, x, start + count - 1.35], [0, -0.2, -0.2], **rail)
    for t in range(count):
        axes.plot([start + t - 0.35, start + t - 0.2], [-0.2, 0], **rail)
    _point(axes, (last + 0.24, _STRIP / 2), (x - 0.32, _STRIP / 2), there)
    _point(axes, (x + 0.32, _STRIP / 2), (start - 0.24, _STRIP / 2), there)
    _strip(axes, x, state, limit, width=0.6, edge=OUTPUT, line=2.2)
    axes.text(x, _STRIP + 0.22, "context $c$" if count < 13 else "$c$", ha="center", va="center", fontsize=size)


@styled
def gated_step() -> Figure:
    """One step of a GRU: the hidden state runs straight along the top; gates decide what it keeps and what is written."""
    figure, (axes,) = canvas(9.6, 4.1)
    top, middle, low, rail = 3.2, 2.15, 0.95, -0.5  # heights: the state's path, the product that writes, boxes, inputs
    z, r, n = 3.2, 5.9, 8.6  # where gates and proposal stand
    for x, name in ((0.4, "$h_{t-1}$"), (10.9, "$h_t$")):
        _box(axes, x, top, name, "white", 0.95, 0.7)
    path = {"arrowstyle": "-|>", "color": BLACK, "lw": 4.5, "mutation_scale": 22, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (10.4, top), (0.9, top), arrowprops=path)
    _box(axes, 0.4, rail, "$x_t$", _SOURCE, 0.95, 0.7)
    axes.plot([1.55, 1.55], [top, rail], "o-", color=_LINE, linewidth=1.4, markersize=7, zorder=1)
    axes.plot([0.9, n], [rail, rail], color=_LINE, linewidth=1.4, zorder=1)
    axes.text(4.55, rail - 0.12, "$x_t$ and $h_{t-1}$", ha="center", va="top")
    for x, name, colour in ((z, "gate $z_t$", _GATE), (r, "gate $r_t$", _GATE), (n, "proposal $n_t$", "white")):
        _point(axes, (x, rail), (x, low - 0.4))
        _box(axes, x, low, name, colour, 1.9, 0.75)
    _point(axes, (z, low + 0.38), (z, top - 0.24))
    _point(axes, (r + 0.95, low), (n - 0.97, low))
    _point(axes, (z, middle), (n - 0.24, middle))
    _point(axes, (n, low + 0.38), (n, middle - 0.22))
    _point(axes, (n, middle + 0.22), (n, top - 0.24))
    for x, y, sign in ((z, top, "⊙"), (n, middle, "⊙"), (n, top, "+")):
        _sign(axes, x, y, sign)
    for label in axes.texts:
        label.set_fontsize(13)
    axes.text(z, top + 0.35, "keep", ha="center", va="bottom", fontweight="bold")
    axes.text(n + 0.4, middle, "write", ha="left", va="center", fontweight="bold")
    axes.text(r, middle + 0.08, "$1 - z_t$", ha="center", va="bottom", fontsize=13)
    axes.text(r, low + 0.43, "what $n_t$ sees of $h_{t-1}$", ha="center", va="bottom", fontsize=10)
    axes.set(xlim=(-0.3, 11.6), ylim=(-1.1, 3.95))
    axes.axis("off")
    return figure


def _sign(axes: Axes, x: float, y: float, sign: str) -> None:
    axes.plot(x, y, "o", markersize=19, markerfacecolor="white", markeredgecolor=BLACK, markeredgewidth=1.4, zorder=4)
    axes.text(x, y, sign, ha="center", va="center", fontsize=14, zorder=5)


@styled
def bottleneck(lengths: Sequence[int], width: int) -> Figure:
    """For each length T a panel: T tokens below, a cell for each, and above them a context vector of `width` cells."""
    figure, panels = canvas(3.5 * len(lengths), 3.4, len(lengths))
    across = 50  # cells in a row of tokens
    tall = -(-max(lengths) // across)
    for axes, T in zip(panels, lengths, strict=True):
        rows, columns = -(-T // across), min(T, across)
        base = tall + 6  # of the context vector
        _cells(axes, T, columns, tall - rows, DATA)
        _cells(axes, width, 16, base, OUTPUT)
        funnel = [(-columns / 2, tall + 0.4), (columns / 2, tall + 0.4), (8, base - 0.4), (-8, base - 0.4)]
        axes.add_patch(Polygon(funnel, facecolor=_EMPTY, edgecolor="none", zorder=0))
        _point(axes, (0, tall + 0.7), (0, base - 0.7))
        above = base + -(-width // 16) + 0.8
        axes.text(
            0, above, f"$c$: {width} numbers,\n{written(width / T, '.3g')} for each token", ha="center", va="bottom"
        )
        axes.text(0, tall - rows - 0.8, f"{T} tokens", ha="center", va="top")
        axes.set(xlim=(-across / 2 - 3, across / 2 + 3), ylim=(-4, above + 7), aspect="equal")
        axes.axis("off")
    return figure


def _cells(axes: Axes, count: int, columns: int, bottom: float, colour: str) -> None:
    """`count` small squares in rows of `columns`, the first row uppermost, centred over x = 0."""
    rows = -(-count // columns)
    places = [(n % columns - columns / 2, bottom + rows - 1 - n // columns) for n in range(count)]
    squares = [Rectangle((x + 0.08, y + 0.08), 0.84, 0.84) for x, y in places]
    axes.add_collection(PatchCollection(squares, facecolor=colour, edgecolor="none"))


@styled
def teacher_forcing(words: Sequence[str], *, guesses: Sequence[str] = (), positions: bool = False) -> Figure:
    """What a decoder is fed and what it is to predict, step by step, when it is trained: the same words, one place apart.

    The predictions are numbered t = 1, 2, …; with `positions` the inputs are, m = 0, 1, …. Between the two rows stands what
    the decoder itself predicts, the `guesses`, if they are given; wrong ones are framed.
    """
    top = 3.0 if guesses else 1.5
    figure, (axes,) = canvas(1.9 + 1.45 * len(words), 1.0 + top)
    fed = ["[START]", *words[:-1]]
    for t, (given, wanted) in enumerate(zip(fed, words, strict=True)):
        x = 1.45 * t
        _box(axes, x, top, wanted, _TARGET, 1.2)
        _box(axes, x, 0.0, given, _TARGET, 1.2)
        _point(axes, (x, 0.3), (x, 1.2))
        if guesses:
            _box(axes, x, 1.5, guesses[t], "white", 1.2)
            axes.annotate("", (x, top - 0.3), (x, 1.8), arrowprops={"arrowstyle": "<->", "color": _LINE})
            axes.text(x - 0.08, (top + 1.5) / 2, "loss", ha="right", va="center", fontsize=9)
            if guesses[t] != wanted:
                axes.add_patch(
                    Rectangle((x - 0.62, 1.2), 1.24, 0.6, fill=False, edgecolor=QUERY, linewidth=3, zorder=5)
                )
        if t:
            line = {"arrowstyle": "-|>", "mutation_scale": 9, "color": GREY, "linestyle": ":"}
            axes.add_patch(FancyArrowPatch((x - 1.2, top - 0.3), (x - 0.25, 0.3), **line))
        number = f"m = {t}" if positions else f"t = {t + 1}"
        axes.text(x, -0.55, number, ha="center", va="center", color=BLACK if positions else GREY)
    rows = {top: "to predict", 0.0: "fed in"}
    rows |= {1.5: "predicted"} if guesses else {}
    for y, text in (rows | ({-0.55: "position"} if positions else {})).items():
        axes.text(-0.85, y, text, ha="right", va="center")
    axes.set(xlim=(-2.3, 1.45 * len(words) - 0.6), ylim=(-0.85, top + 0.45))
    axes.axis("off")
    return figure


@styled
def padded_batch(sentences: Sequence[Sequence[str]]) -> Figure:
    """Sentences as rows of one table, filled up with [PAD]; the place where each one's own last state stands is marked."""
    longest = max(map(len, sentences))
    figure, (axes,) = canvas(0.6 + 1.15 * longest, 0.4 + 0.62 * len(sentences))
    for row, words in enumerate(sentences):
        for t in range(longest):
            word = words[t] if t < len(words) else "[PAD]"
            _box(axes, 1.15 * t, -0.75 * row, word, _SOURCE if t < len(words) else _EMPTY, 1.0)
        last = 1.15 * (len(words) - 1)
        corner = {"linewidth": 2.5, "edgecolor": OUTPUT, "facecolor": "none", "zorder": 6}
        axes.add_patch(Rectangle((last - 0.56, -0.75 * row - 0.34), 1.12, 0.68, **corner))
    axes.set(xlim=(-0.7, 1.15 * longest - 0.4), ylim=(-0.75 * len(sentences) + 0.25, 0.5))
    axes.axis("off")
    return figure


@styled
def search_tree(
    probabilities: Mapping[tuple[str, ...], Mapping[str, float]],
    kept: Sequence[Sequence[tuple[str, ...]]],
    best: tuple[str, ...],
) -> Figure:
    """All continuations of a toy decoder as a tree, with the hypotheses that a beam keeps at each step.

    Args:
        probabilities: beginning -> next word -> its probability.
        kept: for each step the beginnings in the beam; they are framed, and the path to `best` is drawn thick. A dashed
            line is the path of greedy decoding.
    """
    greedy: tuple[str, ...] = ()
    while greedy in probabilities:
        greedy = (*greedy, max(probabilities[greedy], key=probabilities[greedy].__getitem__))
    leaves = [words for words in _beginnings(probabilities) if words not in probabilities]
    height: dict[tuple, float] = {words: -float(row) for row, words in enumerate(leaves)}
    inner = sorted(probabilities, key=len, reverse=True)
    for words in inner:
        below = [height[(*words, word)] for word in probabilities[words]]
        height[words] = sum(below) / len(below)
    depth = max(map(len, leaves))
    figure, (axes,) = canvas(2.4 * depth + 1.2, 0.52 * len(leaves) + 0.6)
    total = {(): 1.0}
    for words in sorted(probabilities, key=len):
        for word, share in probabilities[words].items():
            whole = (*words, word)
            total[whole] = total[words] * share
            strong = best[: len(whole)] == whole
            line = {"color": BLACK if strong else "#BBBBBB", "linewidth": 3.2 if strong else 1.2, "zorder": 1}
            if greedy[: len(whole)] == whole:
                line |= {"color": QUERY, "linewidth": 2.4, "linestyle": "--"}
            axes.plot([len(words) * 2.4 + 0.55, len(whole) * 2.4 - 0.62], [height[words], height[whole]], **line)
            middle = (height[words] + height[whole]) / 2
            ground = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none"}
            at = {"ha": "center", "va": "center", "fontsize": 9, "bbox": ground}
            axes.text(len(words) * 2.4 + 1.165, middle, f"{share:.2f}", **at)
    every = {words for step in kept for words in step}
    for words, y in height.items():
        x = len(words) * 2.4
        _box(
            axes, x, y, words[-1] if words else "[START]", _TARGET if words in every or not words else _EMPTY, 1.15, 0.6
        )
        axes.text(
            x + 0.62, y - 0.02, f"{total[words]:.2f}" if words in leaves else "", va="center", fontsize=9, color=GREY
        )
    axes.set(xlim=(-0.8, depth * 2.4 + 1.3), ylim=(-len(leaves) + 0.3, 0.7))
    axes.axis("off")
    return figure


def _beginnings(probabilities: Mapping, words: tuple = ()) -> list[tuple]:
    """All beginnings, a word's own before those that follow it."""
    found = []
    for word in probabilities.get(words, {}):
        found += [(*words, word), *_beginnings(probabilities, (*words, word))]
    return found
