"""Draws pictures and captions that belong together or not: similarities, the two encoders, three losses, cleaning of pairs."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from utils.figures.plots import (
    BLACK,
    BLUE,
    DATA_BOX,
    GREEN,
    GREY,
    MAP,
    ORANGE,
    OUTPUT,
    PURPLE,
    SKY,
    VERMILLION,
    array,
    canvas,
    legend_of,
    styled,
    written,
)
from utils.figures.schematics import arrow, box, finish

PICTURES, TEXTS = SKY, ORANGE  # one colour for what comes from pictures, one for what comes from texts
_ALONE = "#F3D9C6"  # a layer that one mode has to itself


def in_lines(words: Sequence[str]) -> str:
    """A caption of a scene in three lines, the relation on a line of its own; one of a single object in one line."""
    parts = [words[:4], words[4:-4], words[-4:]] if len(words) > 4 else [words]
    return "\n".join(" ".join(part) for part in parts)


@styled
def matched(images, captions: Sequence[Sequence[str]], M, *, numbers: str = ".2f", title: str = "") -> Figure:
    """A matrix M [pictures, captions] as coloured cells with numbers, each picture to the left of its row, captions above.

    Cells on the diagonal have a frame where rows and columns are as many: picture and caption of one pair.
    """
    M, pixels = array(M), array(images)
    rows, columns = M.shape
    figure, (axes,) = canvas(1.5 + 1.55 * columns, 1.15 + 0.95 * rows)
    axes.imshow(
        M, cmap=MAP, aspect="auto", extent=(0, columns, rows, 0), vmin=min(0.0, M.min()), vmax=max(1.0, M.max())
    )
    middle = (min(0.0, M.min()) + max(1.0, M.max())) / 2
    for i, row in enumerate(M):
        frame = (-0.72, -0.08, i + 0.94, i + 0.06)
        axes.imshow(pixels[i].transpose(1, 2, 0), extent=frame, aspect="auto", interpolation="nearest", zorder=3)
        axes.add_patch(Rectangle((-0.72, i + 0.06), 0.64, 0.88, fill=False, edgecolor=GREY, linewidth=0.8, zorder=4))
        for j, value in enumerate(row):
            ink = "white" if value < middle else BLACK
            axes.text(j + 0.5, i + 0.5, written(value, numbers), ha="center", va="center", color=ink)
    for j, caption in enumerate(captions):
        axes.text(j + 0.5, -0.08, in_lines(caption), ha="center", va="bottom", fontsize=8.5, linespacing=1.25)
    if rows == columns:
        for i in range(rows):
            cell = Rectangle((i + 0.03, i + 0.03), 0.94, 0.94, fill=False, edgecolor=VERMILLION, linewidth=2, zorder=5)
            axes.add_patch(cell)
    axes.set_title(title, pad=46)
    return finish(axes, (-0.75, columns), (rows + 0.02, -0.55))


@styled
def two_encoders(N: int = 4) -> Figure:
    """CLIP: pictures and texts go through an encoder each; all products of their vectors, and which of them belong together."""
    figure, (axes,) = canvas(10.5, 4.3)
    for y, what, colour, end in ((2.4, "texts", TEXTS, 8.62), (0.18, "pictures", PICTURES, 7.82)):
        box(axes, (0.75, y), 1.5, 1.0, DATA_BOX, f"$N$ {what}")
        arrow(axes, (1.55, y), (2.25, y))
        box(axes, (3.25, y), 1.9, 1.0, colour, f"{what[:-1]} encoder\n(Transformer)")
        arrow(axes, (4.25, y), (4.95, y))
        box(axes, (5.95, y), 1.9, 1.0, colour, "projection to $D_S$,\nlength 1")
        arrow(axes, (6.95, y), (end, y))
        axes.text(7.35, y + 0.18, "$[N, D_S]$", ha="center", va="bottom")
    corner, side = (8.6, -0.9), 0.72
    for k in range(N):
        box(axes, (corner[0] - 0.45, corner[1] + side * (N - k - 0.5)), 0.6, 0.5, PICTURES, f"$v_{k + 1}$")
        box(axes, (corner[0] + side * (k + 0.5), corner[1] + side * N + 0.42), 0.6, 0.5, TEXTS, f"$t_{k + 1}$")
        for j in range(N):
            own = j == k
            middle = (corner[0] + side * (j + 0.5), corner[1] + side * (N - k - 0.5))
            box(
                axes, middle, side, side, BLUE if own else "white", f"$S_{{{k + 1}{j + 1}}}$", "white" if own else BLACK
            )
    right = corner[0] + side * N
    axes.text(right + 0.15, corner[1] + side * 2.5, "each row: which text\nbelongs to this picture?", va="center")
    axes.text(
        corner[0] + side * N / 2,
        corner[1] - 0.15,
        "each column: which picture\nbelongs to this text?",
        ha="center",
        va="top",
    )
    axes.text(right + 0.15, corner[1] + side * 0.9, "$S_{ij} = v_i \\cdot t_j\\,/\\,\\tau$", va="center")
    return finish(axes, (-0.1, 14.4), (-1.9, 3.3))


@styled
def three_modes() -> Figure:
    """BLIP: a picture encoder, and one text network in three modes; layers of one colour share their weights."""
    figure, (axes,) = canvas(11, 6.0)
    box(axes, (1.35, 2.2), 2.1, 4.2, PICTURES, "picture encoder\n\n$L$ blocks:\nself-attention,\nMLP")
    box(axes, (1.35, -1.1), 1.5, 0.8, DATA_BOX, "picture")
    arrow(axes, (1.35, -0.65), (1.35, 0.02))
    columns = (
        (5.0, "contrast", "own", "[CLS] + text", "contrastive loss\n(ITC)", "vector of [CLS]"),
        (8.0, "match", "own", "[ENC] + text", "matching loss\n(ITM)", "two logits of [ENC]"),
        (11.0, "write", "causal", "[START] + text", "language-model\nloss (LM)", "logits of each next token"),
    )
    for x, mode, mask, tokens, loss, read in columns:
        box(axes, (x, -1.1), 2.2, 0.8, DATA_BOX, tokens)
        arrow(axes, (x, -0.65), (x, 0.02))
        causal = mask == "causal"
        box(
            axes,
            (x, 0.5),
            2.3,
            0.9,
            _ALONE if causal else TEXTS,
            "causal\nself-attention" if causal else "self-attention",
        )
        arrow(axes, (x, 0.98), (x, 1.52 if mode != "contrast" else 3.02))
        if mode == "contrast":
            skipped = {"facecolor": "none", "edgecolor": GREY, "linestyle": "--", "linewidth": 1.2}
            axes.add_patch(Rectangle((x - 1.15, 1.55), 2.3, 0.9, **skipped))
            axes.text(x + 0.1, 2.0, "no picture:\nskipped", ha="left", va="center", fontsize=9, color=GREY)
        else:
            box(axes, (x, 2.0), 2.3, 0.9, GREEN, "cross-attention")
            arrow(axes, (x, 2.48), (x, 3.02))
        box(axes, (x, 3.5), 2.3, 0.9, PURPLE, "MLP")
        arrow(axes, (x, 3.98), (x, 4.92))
        axes.text(x + 0.1, 4.42, read, ha="left", va="center", fontsize=9)
        box(axes, (x, 5.4), 2.3, 0.9, "white", loss)
        axes.text(x, 6.1, f"mode “{mode}”", ha="center", va="bottom", fontweight="bold")
    # the picture's vectors, to both modes that look at it
    axes.plot([2.45, 9.55], [2.75, 2.75], color=PICTURES, linewidth=1.8, zorder=1)
    for x in (6.55, 9.55):
        axes.plot([x, x], [2.75, 2.0], color=PICTURES, linewidth=1.8, zorder=1)
        arrow(axes, (x, 2.0), (x + 0.28, 2.0))
    axes.text(2.55, 2.85, "vectors of all cells", ha="left", va="bottom", fontsize=9)
    axes.plot([1.35, 1.35, 3.7], [4.35, 5.4, 5.4], color=PICTURES, linewidth=1.8, zorder=1)
    arrow(axes, (3.5, 5.4), (3.82, 5.4))
    axes.text(1.5, 5.5, "vector of the class token", ha="left", va="bottom", fontsize=9)
    return finish(axes, (0.1, 12.6), (-1.7, 6.6))


@styled
def slow_copies() -> Figure:
    """Soft targets: trained encoders and slow copies of them see one batch; a queue keeps what the copies gave before."""
    figure, (axes,) = canvas(10.5, 3.9)
    box(axes, (0.8, 1.0), 1.5, 0.9, DATA_BOX, "picture $i$")
    for y, name, colour, gives in (
        (2.1, "encoder\n(trained)", PICTURES, "$v_i$"),
        (-0.1, "slow copy\n(not trained)", "#CFE6F5", "$\\bar v_i$"),
    ):
        arrow(axes, (1.6, 1.0), (2.3, y))
        box(axes, (3.2, y), 1.7, 0.9, colour, name)
        arrow(axes, (4.1, y), (4.9, y), gives)
    axes.annotate(
        "", (3.2, 0.4), (3.2, 1.6), arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 1.5, "linestyle": "--"}
    )
    axes.text(
        3.3, 1.0, "$\\bar\\theta \\leftarrow m\\,\\bar\\theta + (1-m)\\,\\theta$", ha="left", va="center", fontsize=10
    )
    box(axes, (6.2, 2.1), 2.4, 0.9, "white", "scores with\n$N + K$ texts")
    box(axes, (6.2, -0.1), 2.4, 0.9, "white", "scores with\nthe same texts")
    box(axes, (6.2, 1.0), 2.4, 0.62, TEXTS, "$\\bar t$: batch $N$ + queue $K$")
    arrow(axes, (6.2, 1.35), (6.2, 1.62))
    arrow(axes, (6.2, 0.65), (6.2, 0.38))
    arrow(axes, (7.45, 2.1), (8.3, 2.1))
    box(axes, (9.3, 2.1), 1.9, 0.9, "white", "softmax")
    arrow(axes, (7.45, -0.1), (8.3, -0.1))
    box(axes, (9.3, -0.1), 1.9, 0.9, "white", "$\\alpha\\,$softmax\n$+\\,(1-\\alpha)\\,$[own]")
    arrow(axes, (10.3, 2.1), (11.0, 1.3))
    arrow(axes, (10.3, -0.1), (11.0, 0.7))
    box(axes, (11.9, 1.0), 1.8, 0.9, OUTPUT, "cross-entropy")
    axes.text(10.75, 1.95, "prediction", ha="left", va="center", fontsize=9.5)
    axes.text(10.75, 0.02, "target (no gradient)", ha="left", va="center", fontsize=9.5)
    return finish(axes, (-0.1, 13.0), (-0.9, 2.9))


@styled
def cleaning() -> Figure:
    """CapFilt: with a few clean pairs a model that learned from noisy ones becomes a captioner and a filter that clean these."""
    figure, (axes,) = canvas(10.5, 4.2)
    box(axes, (1.0, 2.9), 2.3, 0.9, DATA_BOX, "pairs from the\nweb (noisy)")
    box(axes, (4.1, 2.9), 1.9, 0.9, OUTPUT, "model")
    arrow(axes, (2.2, 2.9), (3.1, 2.9), "1 train")
    box(axes, (4.1, 0.0), 1.9, 0.9, DATA_BOX, "few clean pairs")
    for y, name, colour in ((1.95, "captioner", GREEN), (0.75, "filter", VERMILLION)):
        box(axes, (7.3, y), 1.7, 0.8, colour, name)
        arrow(axes, (5.1, 2.75), (6.4, y + 0.1))
        arrow(axes, (5.1, 0.15), (6.4, y - 0.15))
    axes.text(5.7, 2.75, "2 fine-tune", ha="left", va="bottom")
    box(axes, (10.4, 2.9), 2.2, 0.9, DATA_BOX, "web captions")
    box(axes, (10.4, 1.6), 2.2, 0.9, DATA_BOX, "written captions")
    arrow(axes, (8.2, 1.9), (9.25, 1.65), "3 write")
    axes.plot([7.3, 7.3, 12.3, 12.3], [0.3, -0.25, -0.25, 0.3], color=BLACK, linewidth=1.3, zorder=1)
    for y in (2.9, 1.6):
        arrow(axes, (11.55, y), (13.05, y))
        box(axes, (12.3, y), 0.75, 0.42, "white", "keep?")
    axes.plot([12.3, 12.3], [1.82, 2.68], color=BLACK, linewidth=1.3, zorder=1)
    arrow(axes, (12.3, 0.2), (12.3, 1.36))
    axes.text(12.3, 3.5, "4 keep what fits", ha="center", va="bottom")
    box(axes, (14.1, 2.25), 1.9, 1.9, DATA_BOX, "clean pairs\nfor a\nnew model")
    return finish(axes, (-0.2, 15.2), (-0.7, 4.1))


@styled
def by_seed(
    results: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    x_label: str,
    chance: float | None = None,
    title: str = "",
    shades=(),
) -> Figure:
    """For each name a line, and on it a point for each seed of each measure; the measures have a colour each.

    Args:
        results: name -> measure -> its value for each seed.
        chance: where a dotted line says what guessing gives.
    """
    measures = list(dict.fromkeys(measure for found in results.values() for measure in found))
    colours = dict(zip(measures, shades or (BLUE, VERMILLION, GREEN, PURPLE)))
    figure, (axes,) = canvas(9.5, 0.9 + 0.45 * len(results))
    for place, found in enumerate(results.values()):
        for shift, (measure, values) in enumerate(found.items()):
            height = -place + 0.13 * (len(found) - 1) / 2 - 0.13 * shift
            axes.plot(values, [height] * len(values), "o", color=colours[measure], markersize=6, alpha=0.75)
    for measure in measures:
        axes.plot([], [], "o", color=colours[measure], label=measure)
    if chance is not None:
        axes.axvline(chance, color=GREY, linestyle=":", linewidth=1.3)
        axes.text(chance, 0.62, " chance", color=GREY, ha="left", va="center", fontsize=9.5)
    axes.set_yticks([-place for place in range(len(results))], list(results))
    axes.set(xlabel=x_label, title=title, ylim=(-len(results) + 0.4, 0.75))
    axes.grid(True, axis="x")
    if len(measures) > 1:
        legend_of(axes, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


@styled
def filtered(right: Sequence[int], wrong: Sequence[int], threshold: float) -> Figure:
    """Left, how many right and wrong captions get each probability of fitting; right, the shares that a threshold keeps.

    Args:
        right: counts of right captions in equal bins of the probability, from 0 to 1; `wrong` likewise.
    """
    right, wrong = np.array(right), np.array(wrong)
    bins = len(right)
    edges = np.linspace(0, 1, bins + 1)
    figure, (left, kept) = canvas(11, 3.4, 2)
    for counts, colour, name in ((wrong, VERMILLION, "wrong captions"), (right, BLUE, "right captions")):
        left.stairs(counts, edges, fill=True, color=colour, alpha=0.55, label=name)
        share = counts[::-1].cumsum()[::-1] / max(
            1, counts.sum()
        )  # with a probability of at least each bin's lower edge
        kept.step(edges[:-1], share, where="post", color=colour, label=name)
    for axes in (left, kept):
        axes.axvline(threshold, color=BLACK, linestyle="--", linewidth=1.2)
        axes.set(xlim=(0, 1), xlabel="probability that the caption fits")
    left.set(ylabel="captions", yscale="symlog")
    kept.set(ylabel="share that is kept", ylim=(-0.02, 1.02))
    kept.grid(True)
    legend_of(left, loc="upper center")
    legend_of(kept, loc="center")
    return figure
