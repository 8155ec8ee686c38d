"""Draws what language models do: texts cut into tokens, a GPT, the next token's distribution, prompts and who attends to what."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from utils.figures.plots import (
    BLACK,
    BLUE,
    DATA_BOX,
    GREY,
    OUTPUT,
    QUERY,
    SCORES,
    SKY,
    array,
    canvas,
    legend_of,
    styled,
)
from utils.figures.schematics import arrow, box, finish

_PALE, _LETTER = "#EFEFEF", 0.155  # width of a letter
_SPACE = "\u2423"  # how a space is drawn


@styled
def pieces(cuts: Mapping[str, Sequence[str]]) -> Figure:
    """The same text cut in several ways, one below the other; a box for each piece, a mark for each space.

    Args:
        cuts: what is written beside a line, and its pieces.
    """
    figure, (axes,) = canvas(10.5, 0.4 + 0.62 * len(cuts))
    widest = 0.0
    for row, (name, line) in enumerate(cuts.items()):
        axes.text(-0.15, -row, name, ha="right", va="center")
        left = 0.0
        for place, piece in enumerate(line):
            wide = _LETTER * (len(piece) + 0.7)
            shade = (DATA_BOX, _PALE)[place % 2] if len(piece) == 1 else (SKY, "#A9D8F3")[place % 2]
            box(axes, (left + wide / 2, -row), wide, 0.62, shade, _visible(piece))
            left += wide
        axes.text(left + 0.15, -row, f"{len(line)} tokens", ha="left", va="center", color=GREY)
        widest = max(widest, left)
    return finish(axes, (-1.9, widest + 1.5), (0.5 - len(cuts), 0.5))


def _visible(piece: str) -> str:
    return piece.replace(" ", _SPACE).replace("\n", "\u21b5")


@styled
def gpt() -> Figure:
    """A GPT from the tokens on the left to the logits on the right; the table of embeddings is used at both ends."""
    figure, (axes,) = canvas(10.5, 3.9)
    parts = (
        (0.6, 1.0, DATA_BOX, "tokens\n$[B, n]$"),
        (2.6, 1.25, DATA_BOX, "$X_0$\n$[B, n, D]$"),
        (4.75, 1.35, OUTPUT, "block 1\ncausal"),
        (6.75, 1.35, OUTPUT, "block $L$\ncausal"),
        (8.6, 1.0, DATA_BOX, "norm"),
        (10.9, 1.4, SCORES, "logits\n$[B, n, V]$"),
    )
    for x, wide, colour, label in parts:
        box(axes, (x, 0), wide, 1.1, colour, label)
    for (x, wide, *_), (next_x, next_wide, *_) in zip(parts, parts[1:]):
        arrow(axes, (x + wide / 2 + 0.05, 0), (next_x - next_wide / 2 - 0.05, 0))
    axes.text(5.75, 0.2, "…", ha="center", va="bottom", fontsize=14)
    axes.text(7.76, 0.15, "$X_L$", ha="center", va="bottom")
    box(axes, (1.6, 2.2), 2.0, 0.8, DATA_BOX, "embeddings $E$  $[V, D]$")
    box(axes, (2.6, -1.9), 2.1, 0.8, DATA_BOX, "positions $P$  $[N, D]$")
    arrow(axes, (1.6, 1.75), (1.6, 0.15))
    axes.text(1.7, 0.95, "look up", ha="left", va="center")
    arrow(axes, (2.6, -1.45), (2.6, -0.62))
    axes.text(2.7, -1.02, "add the first $n$ rows", ha="left", va="center")
    axes.annotate(
        "",
        (9.65, 0.15),
        (2.65, 2.2),
        arrowprops={
            "arrowstyle": "-|>",
            "color": BLACK,
            "lw": 1.5,
            "connectionstyle": "angle,angleA=0,angleB=90,rad=8",
        },
    )
    axes.text(6.2, 2.32, "the same table, as the head: multiply by $E^\\top$", ha="center", va="bottom")
    return finish(axes, (-0.1, 11.8), (-2.5, 2.8))


@styled
def next_token(tokens: Sequence[str], before, after, *, title: str = "", axes: Axes | None = None) -> Figure:
    """The next token's distribution as the model gives it, in outline, and what is drawn from, filled.

    Args:
        tokens: the tokens that are shown, the likeliest first.
        before, after: their probabilities, [len(tokens)] each.
    """
    axes = axes or canvas(10.5, 3.4)[1][0]
    before, after, places = array(before), array(after), np.arange(len(tokens))
    axes.bar(places, after, color=BLUE, width=0.8, label="after the controls")
    axes.bar(places, before, facecolor="none", edgecolor=BLACK, linewidth=1.2, width=0.8, label="the model's softmax")
    for place in np.flatnonzero(after == 0):
        axes.text(place, before[place] + 0.01, "0", ha="center", va="bottom", color=GREY, fontsize=9)
    axes.set_xticks(places, [_visible(token) for token in tokens], rotation=60, ha="right", rotation_mode="anchor")
    axes.set(title=title, ylabel="probability", ylim=(0, max(0.05, before.max(), after.max()) * 1.15))
    axes.tick_params(axis="x", length=0)
    legend_of(axes, loc="upper right")
    return axes.figure


@styled
def prompt(tokens: Sequence[str], weights, answers: Sequence[str], probabilities, *, title: str = "") -> Figure:
    """A prompt, coloured by what its last token attends to, and the probabilities of the answers.

    Args:
        tokens: of the prompt; the last one asks.
        weights: the attention weights of the last token, [len(tokens)].
        probabilities: of the answers, [len(answers)].
    """
    figure, (left, right) = canvas(10.5, 2.5, 2, width_ratios=(3, 1.25))
    weights, values = array(weights), array(probabilities)
    for place, (token, weight) in enumerate(zip(tokens, weights, strict=True)):
        shade = _mix(weight)
        ink = "white" if weight > 0.6 else BLACK
        box(left, (place, 0), 0.92, 0.9, shade, token, ink=ink)
        if weight >= 0.1:
            left.text(place, 0.55, f"{weight:.2f}", ha="center", va="bottom", fontsize=9)
    left.text(len(tokens) - 1, -0.6, "asks", ha="center", va="top", color=QUERY)
    left.set_title(title)
    finish(left, (-0.7, max(len(tokens), 12) - 0.3), (-1.1, 1.1))
    right.bar(range(len(answers)), values, color=OUTPUT, width=0.8)
    right.set_xticks(range(len(answers)), answers)
    right.tick_params(axis="x", length=0)
    right.set(ylim=(0, 1.05), ylabel="probability", title="next token")
    return figure


def _mix(weight: float) -> tuple:
    """From white to the colour of weights."""
    full = np.array([0x00, 0x72, 0xB2]) / 255
    return tuple(1 - weight * (1 - full))


@styled
def induction(tokens: Sequence[str] = ("c", "5", "a", "2", "h", "1", "a"), found: int = 3) -> Figure:
    """The two steps by which an induction head finds what followed last time.

    Args:
        tokens: a text; the last token occurred before, at `found - 1`.
        found: the position that the second layer attends to.
    """
    figure, (axes,) = canvas(10.5, 4.4)
    last = len(tokens) - 1
    for place, token in enumerate(tokens):
        box(axes, (place, 0), 0.6, 0.6, DATA_BOX, token)
        before = tokens[place - 1] if place else "–"
        box(axes, (place, 2.2), 0.86, 0.86, SKY if place == found else _PALE, f"{token}\n(after {before})")
        if place:
            arrow(axes, (place - 1 + 0.12, 0.34), (place - 0.1, 1.74))
        axes.plot([place, place], [0.34, 1.74], color=GREY, linewidth=0.8, linestyle=":", zorder=1)
    box(axes, (last, 4.2), 0.9, 0.6, OUTPUT, tokens[found])
    axes.annotate(
        "",
        (last - 0.5, 4.2),
        (found + 0.2, 2.68),
        arrowprops={"arrowstyle": "-|>", "color": QUERY, "lw": 2, "connectionstyle": "arc3,rad=-0.15"},
    )
    arrow(axes, (last, 2.66), (last, 3.86))
    for height, label in ((0, "tokens"), (2.2, "after layer 1"), (4.2, "after layer 2")):
        axes.text(-0.75, height, label, ha="right", va="center")
    axes.text(last + 0.6, 1.05, "each position attends\nto the one before it", ha="left", va="center")
    axes.text(
        last + 0.6,
        3.3,
        f"{tokens[last]} asks: “what stands after {tokens[last]}?”\nand copies what it finds",
        ha="left",
        va="center",
        color=QUERY,
    )
    return finish(axes, (-2.2, last + 3.6), (-0.5, 4.7))


@styled
def next_or_hidden(words: Sequence[str] = ("the", "student", "reads", "a", "book"), asked: int = 2) -> Figure:
    """What GPT and BERT predict at the same position of a sentence, and the tokens that this position attends to."""
    last = len(words) - 1
    figure, panels = canvas(10.5, 3.3, 2, width_ratios=(last + 2.35, last + 1.2))
    schemes = (  # title, the token at the position, the last token that it sees, the place that it predicts
        ("GPT: the next token", words[asked], asked, asked + 1),
        ("BERT: the hidden token", "[MASK]", last, asked),
    )
    for axes, (title, own, end, place) in zip(panels, schemes, strict=True):
        axes.set_title(title)
        for n, word in enumerate(words):
            box(axes, (n, 0), 0.86, 0.5, DATA_BOX if n <= end else "white", own if n == asked else word)
            if n <= end:
                arrow(axes, (n, 0.28), (asked + 0.1 * (n - asked), 1.12))
        box(axes, (asked, 1.4), 0.86, 0.5, SKY, "")
        arrow(axes, (asked + 0.2 * (place - asked), 1.68), (place - 0.2 * (place - asked), 2.42))
        box(axes, (place, 2.7), 0.86, 0.5, OUTPUT, words[place])
        finish(axes, (-0.6 if end == last else -1.75, last + 0.6), (-0.35, 3.05))
    panels[0].text((asked + 1 + last) / 2, 0.4, "not seen", ha="center", va="bottom", color="#555555")
    for height, label in ((0, "tokens"), (1.4, "output at\nthis position"), (2.7, "prediction")):
        panels[0].text(-0.6, height, label, ha="right", va="center")
    return figure
