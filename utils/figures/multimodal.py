"""Figures of lesson 17: five bridges to a frozen language model, their masks and answers, and the whole course in one model."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import MaxNLocator

from utils.figures.plots import (
    BLACK,
    BLUE,
    CYCLE,
    DATA_BOX,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    array,
    canvas,
    legend_of,
    styled,
)
from utils.figures.schematics import arrow, box, finish

FROZEN, TRAINED = "#B9C8DB", ORANGE
_LINE = "#444444"  # the colour of arrows, for the lines that lead to them
_TEXT = "#C6C6C6"  # a cell of a mask at which text is attended to; darker than a box, since white is beside it
_BRIDGES = (  # name, what makes the picture's vectors, whether the image encoder is trained, whether the question goes in, gates
    ("Frozen", "linear layer", True, False, False),
    ("LLaVA", "projector", False, False, False),
    ("BLIP-2", "Q-Former", False, False, False),
    ("InstructBLIP", "Q-Former", False, True, False),
    ("Flamingo", "resampler", False, False, True),
)
_GIVES = {"linear layer": "2", "projector": "256", "Q-Former": "32", "resampler": "64"}


@styled
def five_bridges() -> Figure:
    """Five ways to show a picture to a frozen language model: what is trained, what is frozen, and what passes between them."""
    figure, (axes,) = canvas(13, 6.7)
    step, model, high = 3.35, 6.4, 2.0  # from one to the next; the middle and the height of a language model
    for number, (name, bridge, encoder_trained, asks, gated) in enumerate(_BRIDGES):
        x = number * step
        axes.text(x + 0.2, 8.55, name, ha="center", va="bottom", fontweight="bold", fontsize=12)
        _data(axes, (x - 0.5, 0.0), 1.3, 0.7, "picture")
        arrow(axes, (x - 0.5, 0.4), (x - 0.5, 0.98))
        box(axes, (x - 0.5, 1.4), 1.8, 0.8, TRAINED if encoder_trained else FROZEN, "image encoder")
        arrow(axes, (x - 0.5, 1.85), (x - 0.5, 2.53))
        box(axes, (x - 0.5, 3.0), 1.6, 0.9, TRAINED, bridge)
        _data(axes, (x + 1.2, 3.0), 1.04, 0.7, "question")
        if asks:
            arrow(axes, (x + 0.66, 3.0), (x + 0.32, 3.0))
        if gated:
            stripes = [(model + (level - 1.5) * high / 4, level % 2 == 0) for level in range(4)]
            for height, new in stripes:
                words = "gated block" if new else "language model layer"
                box(axes, (x + 0.2, height), 2.5, high / 4, TRAINED if new else FROZEN, words)
            _line(axes, (x - 0.5, 3.45), (x - 0.5, 3.9), (x - 1.4, 3.9), (x - 1.4, stripes[2][0]))
            for height, new in stripes:
                if new:
                    arrow(axes, (x - 1.4, height), (x - 1.06, height))
            axes.text(x - 0.42, 3.62, f"{_GIVES[bridge]} vectors", ha="left", va="bottom", fontsize=9)
        else:
            box(axes, (x + 0.2, model), 2.5, high, FROZEN, "language model")
            for place, label in ((-0.7, ""), (-0.3, "")) if encoder_trained else ((-0.9, ""), (-0.5, "…"), (-0.1, "")):
                box(axes, (x + place, 4.5), 0.3, 0.42, SKY, label)
            arrow(axes, (x - 0.5, 3.48), (x - 0.5, 4.25))
            axes.text(x - 0.42, 3.72, f"{_GIVES[bridge]} vectors", ha="left", va="center", fontsize=9)
            arrow(axes, (x - 0.5, 4.75), (x - 0.5, model - high / 2 - 0.03))
        for place in (0.8, 1.2, 1.6):
            _data(axes, (x + place, 4.5), 0.3, 0.42)
        arrow(axes, (x + 1.2, 3.38), (x + 1.2, 4.25))
        arrow(axes, (x + 1.2, 4.75), (x + 1.2, model - high / 2 - 0.03))
        arrow(axes, (x + 0.2, model + high / 2 + 0.02), (x + 0.2, 7.85))
        axes.text(x + 0.2, 7.9, "answer", ha="center", va="bottom", fontsize=10)
    for x, (colour, words) in zip(
        (1.3, 3.8, 6.2), ((TRAINED, "trained"), (FROZEN, "frozen"), (SKY, "vectors of the picture"))
    ):
        box(axes, (x, -1.05), 0.5, 0.4, colour, "")
        axes.text(x + 0.35, -1.05, words, ha="left", va="center")
    _data(axes, (10.0, -1.05), 0.5, 0.4)
    axes.text(10.35, -1.05, "input and its tokens", ha="left", va="center")
    return finish(axes, (-1.6, 4 * step + 1.9), (-1.4, 9.0))


@styled
def q_former_layer() -> Figure:
    """A pre-norm layer of a Q-Former: all vectors attend to each other, the queries alone to the picture, and an MLP follows."""
    figure, (axes,) = canvas(13, 4.3)
    queries, text, between = 2.4, 0.0, 1.2
    for height, enters, leaves, words in (
        (queries, TRAINED, SKY, "queries"),
        (text, DATA_BOX, DATA_BOX, "text, where\nthere is one"),
    ):
        box(axes, (0.0, height), 1.7, 0.75, enters, words)
        _line(axes, (0.85, height), (14.6, height))
        arrow(axes, (14.6, height), (15.1, height))
        box(axes, (15.75, height), 1.25, 0.75, leaves, words.partition(",")[0])
    for x, words in ((3.4, "norm, self-attention\nwith a mask"), (12.1, "norm, MLP for\neach vector alone")):
        box(axes, (x, between), 2.75, 1.0, TRAINED, words)
        for height, side in ((queries, 0.25), (text, -0.25)):
            _line(axes, (x - 1.85, height), (x - 1.85, between + side))
            arrow(axes, (x - 1.85, between + side), (x - 1.4, between + side))
            _line(axes, (x + 1.38, between + side), (x + 1.85, between + side))
            arrow(axes, (x + 1.85, between + side), (x + 1.85, height + (-0.24 if side > 0 else 0.24)))
            _sum(axes, (x + 1.85, height))
    x, above = 7.6, 3.75
    _line(axes, (x - 1.55, queries), (x - 1.55, above))
    arrow(axes, (x - 1.55, above), (x - 1.15, above))
    box(axes, (x, above), 2.25, 1.0, TRAINED, "norm,\ncross-attention")
    _line(axes, (x + 1.13, above), (x + 1.55, above))
    arrow(axes, (x + 1.55, above), (x + 1.55, queries + 0.24))
    _sum(axes, (x + 1.55, queries))
    box(axes, (x, 5.2), 2.7, 0.7, SKY, "cells of the picture")
    arrow(axes, (x, 4.85), (x, 4.28))
    return finish(axes, (-1.0, 16.5), (-0.6, 5.7))


@styled
def three_masks(masks: Mapping[str, object], Q: int) -> Figure:
    """Masks [Q + N, Q + N] side by side: what each row may attend to, queries and text in a colour each."""
    figure, panels = canvas(3.7 * len(masks), 4.5, len(masks))
    for axes, (name, mask) in zip(panels, masks.items(), strict=True):
        mask = array(mask).astype(bool)
        size = len(mask)
        for i, j in np.ndindex(size, size):
            colour = (SKY if j < Q else _TEXT) if mask[i, j] else "white"
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor=colour, edgecolor="#999999", linewidth=0.8))
        axes.plot([Q, Q], [0, size], color=BLACK, linewidth=1.6)
        axes.plot([0, size], [Q, Q], color=BLACK, linewidth=1.6)
        labels = [f"$q_{k + 1}$" for k in range(Q)] + [f"$t_{k + 1}$" for k in range(size - Q)]
        axes.set_xticks([k + 0.5 for k in range(size)], labels)
        axes.set_yticks([k + 0.5 for k in range(size)], labels)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set(xlim=(0, size), ylim=(size, 0), aspect="equal", title=f"{name}: {int(mask.sum())} of {mask.size}")
        axes.set_xlabel("may be attended to")
    panels[0].set_ylabel("attends")
    return figure


@styled
def last_picture(tokens: Sequence[str], pictures: Sequence[bool]) -> Figure:
    """Which picture each token looks at: a line to the last one before it, and none where no picture came before."""
    figure, (axes,) = canvas(0.95 * len(tokens) + 0.6, 2.9)
    seen = 0
    for place, (token, is_picture) in enumerate(zip(tokens, pictures, strict=True)):
        seen += is_picture
        box(axes, (place, 0.0), 0.88, 0.6, SKY if is_picture else DATA_BOX, f"{token}\n{seen}" if is_picture else token)
        if seen:
            above = [k for k, one in enumerate(pictures) if one][seen - 1]
            those = list(accumulate(map(int, pictures))).count(seen)  # the tokens that attend to this picture
            arrow(axes, (place, 0.32), (above + 0.7 * ((place - above + 0.5) / those - 0.5), 1.33))
        else:
            axes.text(place, 0.42, "attends to\nnothing", ha="center", va="bottom", fontsize=9)
    for number, place in enumerate(k for k, one in enumerate(pictures) if one):
        box(axes, (place, 1.66), 0.9, 0.62, SKY, f"picture {number + 1}")
    return finish(axes, (-0.7, len(tokens) - 0.3), (-0.4, 2.1))


@styled
def gated_block() -> Figure:
    """A gated block in front of a frozen layer: cross-attention and MLP, each times the tanh of a gate that begins at 0."""
    figure, (axes,) = canvas(9.5, 2.9)
    _line(axes, (0, 0), (12.6, 0))
    for x, inner, gate in ((3.2, "cross-\nattention", "\\alpha"), (7.4, "MLP", "\\beta")):
        _line(axes, (x - 1.7, 0), (x - 1.7, 1.5))
        arrow(axes, (x - 1.7, 1.5), (x - 0.97, 1.5))
        box(axes, (x - 0.1, 1.5), 1.7, 1.25, TRAINED, f"norm,\n{inner}")
        arrow(axes, (x + 0.77, 1.5), (x + 1.0, 1.5))
        box(axes, (x + 1.55, 1.5), 1.1, 0.6, "white", f"$\\times\\,\\tanh {gate}$")
        arrow(axes, (x + 1.55, 1.18), (x + 1.55, 0.22))
        _sum(axes, (x + 1.55, 0))
    box(axes, (3.1, 3.0), 2.9, 0.6, SKY, "vectors of the picture")
    arrow(axes, (3.1, 2.68), (3.1, 2.15))
    box(axes, (11.4, 0.0), 2.4, 1.3, FROZEN, "frozen layer of the\nlanguage model")
    axes.text(-0.15, 0, "$X$", ha="right", va="center", fontsize=13)
    arrow(axes, (12.6, 0), (13.4, 0))
    return finish(axes, (-0.7, 13.6), (-0.9, 3.5))


def _line(axes, *points, **style) -> None:
    """A line through points that ends in an arrow, or in a sum."""
    axes.plot(*zip(*points), **{"color": _LINE, "linewidth": 1.5, "zorder": 1, "snap": False, **style})


def _data(axes, centre, width: float, height: float, label: str = "") -> None:
    """A box that stands for data, with round corners, so that it is not taken for a frozen part."""
    corner, style = (centre[0] - width / 2, centre[1] - height / 2), "round,pad=0,rounding_size=0.12"
    axes.add_patch(
        FancyBboxPatch(corner, width, height, style, facecolor=DATA_BOX, edgecolor=BLACK, linewidth=0.9, zorder=3)
    )
    axes.text(*centre, label, ha="center", va="center", zorder=4)


def _sum(axes, centre) -> None:
    """A sum on the residual stream."""
    axes.plot(*centre, "o", markersize=16, markerfacecolor="white", markeredgecolor=BLACK, zorder=3)
    axes.text(centre[0], centre[1] - 0.01, "+", ha="center", va="center", zorder=4, fontsize=13)


@styled
def scene_with_questions(picture, questions) -> Figure:
    """A picture [3, H, W] and beside it the questions about it (`words` and `answer` of each), the answers in colour."""
    figure, (left, axes) = canvas(9.5, 3.2, 2)
    left.imshow(array(picture).transpose(1, 2, 0))
    left.set_xticks([])
    left.set_yticks([])
    left.spines[:].set_visible(False)
    for line, question in enumerate(questions):
        height = 0.97 - 0.125 * line
        axes.text(0.0, height, " ".join(question.words), transform=axes.transAxes, va="center", fontsize=11)
        axes.text(0.72, height, question.answer, transform=axes.transAxes, va="center", fontsize=11, color=BLUE)
    axes.axis("off")
    return figure


@styled
def shares_by_kind(
    results: Mapping[str, Mapping[str, Sequence[float]]], chance: Mapping[str, float], after=()
) -> Figure:
    """A panel for each kind of question: a line for each name, on it a point for each seed, and what guessing gives.

    Args:
        results: name -> kind -> the share of each seed.
        after: names below which a thin line separates the groups.
    """
    names = list(results)
    figure, panels = canvas(13, 0.9 + 0.36 * len(names), len(chance), sharey=True)
    for axes, (kind, guessing) in zip(panels, chance.items()):
        for place, name in enumerate(names):
            values = results[name][kind]
            heights = -place + 0.24 * (np.arange(len(values)) - (len(values) - 1) / 2)  # none hides another
            axes.plot(values, heights, "o", color=BLUE, markersize=5, alpha=0.75)
            if name in after:
                axes.axhline(-place - 0.5, color="#BBBBBB", linewidth=0.8)
        axes.axvline(guessing, color=GREY, linestyle=":", linewidth=1.3)
        axes.text(guessing, 0.55, "chance", color="#555555", ha="center", va="bottom", fontsize=9)
        axes.set_title(kind, pad=16)
        axes.set(xlim=(0, 1.04), ylim=(-len(names) + 0.4, 0.6), xlabel="share answered right")
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
        axes.set_yticks([-place for place in range(len(names))], names)
        axes.grid(True, axis="x")
    return figure


@styled
def gates(opened, steps: int, marked: int) -> Figure:
    """How far gates are open [seeds, times, blocks, 2] over `steps` steps: attention and MLPs; thin lines are single seeds.

    The last of the times is one interval before the end. A dotted line stands at the step `marked`.
    """
    opened = array(opened)
    figure, panels = canvas(10.5, 3.4, 2, sharey=True)
    x = np.arange(opened.shape[1]) * steps / opened.shape[1]
    for place, (axes, what, gate) in enumerate(zip(panels, ("cross-attention", "MLP"), ("\\alpha", "\\beta"))):
        for block in range(opened.shape[2]):
            lines = opened[:, :, block, place]
            axes.plot(x, lines.T, color=CYCLE[block], linewidth=0.8, alpha=0.6)
            axes.plot(x, lines.mean(axis=0), color=CYCLE[block], linewidth=2.6, label=f"block {block + 1}")
        axes.axvline(marked, color=BLACK, linestyle=":", linewidth=1.5)
        axes.set(xlabel="training step", ylabel=f"$|\\tanh(10\\,{gate})|$", title=what, ylim=(0, None))
        axes.grid(True)
    legend_of(panels[1], loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


@styled
def looks_at(picture, maps, answers: Mapping[str, str], right: str, question: str) -> Figure:
    """A picture, where each query attends in it, and the answers of several bridges.

    Args:
        picture: [3, H, W], values from 0 to 1.
        maps: [Q, rows, columns], the weights of each query over the picture's cells.
        answers: name of a bridge -> its answer.
        right: the right answer.
        question: what is asked, above the picture.
    """
    maps, picture = array(maps), array(picture).transpose(1, 2, 0)
    ratios = [1] * (len(maps) + 1) + [0.62]
    figure, panels = canvas(2.25 * sum(ratios) + 0.8, 2.9, len(ratios), gridspec_kw={"width_ratios": ratios})
    height, width = picture.shape[:2]
    for axes in panels:
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
    panels[0].imshow(picture)
    panels[0].set_title(_in_two(question))
    for number, (axes, weights) in enumerate(zip(panels[1:], maps)):
        extent = (-0.5, width - 0.5, height - 0.5, -0.5)
        drawn = axes.imshow(weights, cmap="Blues", extent=extent, vmin=0, vmax=maps.max())
        outlines = axes.contour(picture.min(axis=2), levels=[0.6], colors=BLACK, linewidths=0.9)  # the ground is light
        outlines.set_path_effects([Stroke(linewidth=2.2, foreground="white"), Normal()])
        axes.set_title(f"query {number + 1}")
    bar = figure.colorbar(drawn, ax=panels[1:-1], fraction=0.03, pad=0.01, ticks=MaxNLocator(4))
    bar.ax.set_title("weight", fontsize=10)
    for line, (name, answer) in enumerate(answers.items()):
        sign, colour = ("✓", GREEN) if answer == right else ("✗", "#B03A00")
        panels[-1].text(0.02, 0.94 - 0.34 * line, f"{name}:", transform=panels[-1].transAxes, va="top")
        panels[-1].text(
            0.1, 0.81 - 0.34 * line, f"{sign} {answer}", transform=panels[-1].transAxes, color=colour, va="top"
        )
    return figure


def _in_two(question: str) -> str:
    """A question in two lines of about one length."""
    words = question.split()
    cut = min(range(1, len(words)), key=lambda place: abs(len(" ".join(words[:place])) - len(" ".join(words[place:]))))
    return " ".join(words[:cut]) + "\n" + " ".join(words[cut:])


@styled
def the_whole_course() -> Figure:
    """A multimodal language model of today, and at each of its parts the lesson that builds it."""
    figure, (axes,) = canvas(13, 7.8)
    box(axes, (1.2, 0.0), 2.0, 0.8, DATA_BOX, "picture")
    box(axes, (1.2, 1.75), 2.4, 0.9, SKY, "patches  13")
    box(axes, (1.2, 3.75), 2.4, 1.5, SKY, "Transformer encoder\n06, 09, 13\ntrained as in  16")
    box(axes, (1.2, 6.0), 2.4, 1.2, TRAINED, "bridge: projector,\nqueries or\nresampler  17")
    for low, high in ((0.42, 1.28), (2.22, 2.98), (4.52, 5.38)):
        arrow(axes, (1.2, low), (1.2, high))
    stream, middle, right = 5.7, 8.3, 10.2  # where the residual stream runs, the layers stand, and the block ends
    axes.add_patch(Rectangle((4.95, 2.85), right - 4.95, 4.35, facecolor="#F4F4F4", edgecolor=BLACK, linewidth=1.2))
    axes.text(right - 0.1, 2.9, "× L", ha="right", va="bottom", fontsize=12)
    for low, layer, colour, ink in (
        (3.55, "self-attention  04, 05", BLUE, "white"),
        (5.5, "SwiGLU, or experts  09", PURPLE, BLACK),
    ):
        box(axes, (middle, low), 3.1, 0.6, "white", "RMSNorm  09")
        box(axes, (middle, low + 1.0), 3.1, 0.6, colour, layer, ink)
        arrow(axes, (stream, low), (middle - 1.57, low))
        arrow(axes, (middle, low + 0.32), (middle, low + 0.68))
        arrow(axes, (middle - 1.57, low + 1.0), (stream + 0.2, low + 1.0))
        _sum(axes, (stream, low + 1.0))
    _line(axes, (stream, 2.62), (stream, 7.5), color=GREY, linewidth=5, zorder=2, solid_capstyle="butt")
    arrow(axes, (stream, 7.48), (stream, 7.62))
    box(axes, (stream + 0.6, 8.0), 3.9, 0.7, "white", "next token: sampling  11, search  01")
    for place in range(6):
        box(axes, (stream - 1.25 + 0.5 * place, 2.42), 0.4, 0.32, SKY if place < 3 else DATA_BOX, "")
    axes.text(stream + 1.65, 2.42, "vectors of the picture and of the words", ha="left", va="center", fontsize=9.5)
    box(axes, (stream + 0.75, 1.45), 3.0, 0.7, DATA_BOX, "tokens: byte pairs  11")
    box(axes, (stream + 0.75, 0.0), 2.6, 0.8, DATA_BOX, "question")
    arrow(axes, (stream + 0.75, 0.42), (stream + 0.75, 1.08))
    arrow(axes, (stream + 0.75, 1.82), (stream + 0.75, 2.22))
    _line(axes, (2.42, 6.0), (3.0, 6.0), (3.0, 2.42))
    arrow(axes, (3.0, 2.42), (stream - 1.5, 2.42))
    _line(axes, (3.0, 6.0), (4.7, 6.0), linestyle="--")
    arrow(axes, (4.7, 6.0), (4.93, 6.0))
    axes.text(3.95, 6.1, "or into\ngated blocks\n(Flamingo)  17", ha="center", va="bottom", fontsize=9.5)
    notes = (
        (5.0, "causal mask  07"),
        (4.7, "rotary positions  05"),
        (4.4, "many heads, grouped  06, 08"),
        (4.1, "KV cache, exact tiles  08"),
        (5.8, "adapted by LoRA  15"),
    )
    for height, words in notes:
        axes.text(right + 0.4, height, words, ha="left", va="center", fontsize=10.5)
    _line(axes, (right + 0.15, 3.98), (right + 0.15, 5.12), linewidth=1.2)
    _line(axes, (middle + 1.55, 4.55), (right + 0.15, 4.55), linewidth=1.2, zorder=2)
    _line(axes, (right, 5.8), (right + 0.3, 5.8), linewidth=1.2, zorder=2)
    axes.text(stream + 0.2, 6.98, "residual stream  09", ha="left", va="center", fontsize=10.5)
    axes.text(
        right + 0.15,
        8.0,
        "before Transformers: one vector for a sentence  01;\nattention to a sentence  02, and to a picture  03",
        ha="left",
        va="center",
        fontsize=10.5,
    )
    axes.text(15.2, 0.0, "numbers are lessons", ha="right", va="center", fontstyle="italic")
    return finish(axes, (-0.3, 15.3), (-0.6, 8.5))
