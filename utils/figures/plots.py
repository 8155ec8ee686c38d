"""Draws the figures of the lessons, and shows each with its description for those who cannot see it."""

import base64
import functools
import io
import math
import struct
from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import LogLocator

# Okabe and Ito's colours: told apart by readers of every kind of colour vision
BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, BLACK, GREY = "#56B4E9", "#CC79A7", "#000000", "#8A8A8A"
CYCLE = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK)
MAP = "cividis"
# one colour for one thing, in every figure
DATA, SCORES, WEIGHTS = "#6B6B6B", PURPLE, BLUE
QUERY, KEYS, VALUES, OUTPUT = VERMILLION, SKY, GREEN, ORANGE
DATA_BOX = "#DDDDDD"  # a box that stands for a data vector or a token, with black writing
SHADES = {"one vector": VERMILLION, "attention": BLUE}  # the translators and captioners that lessons 02 and 03 compare

_DPI = 144
_NO_COLOUR = "#E4E4E4"  # the ground of a cell whose value no colour stands for
_HALO = [Stroke(linewidth=3, foreground="white"), Normal()]  # keeps writing legible on any ground
_STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so a picture is the same on every machine
    "mathtext.fontset": "dejavusans",
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


def png(figure: Figure) -> bytes:
    """The figure as PNG; the same figure gives the same bytes, as neither date nor version is written."""
    stream = io.BytesIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(stream, format="png", dpi=_DPI, metadata={"Software": None})
    return stream.getvalue()


def show(figure: Figure, alt: str) -> None:
    """Displays the figure with its description `alt`, and closes it."""
    publish(png(figure), alt)
    figure.clear()


def publish(picture: bytes, alt: str, more: Mapping[str, object] | None = None) -> None:
    """Displays PNG bytes; `alt` becomes the plain text and the image's alternative text, `more` other formats."""
    width, height = size(picture)
    bundle = {"image/png": base64.b64encode(picture).decode(), "text/plain": alt, **(more or {})}
    display(bundle, raw=True, metadata={"image/png": {"alt": alt, "width": width, "height": height}})


def size(picture: bytes) -> tuple[int, int]:
    """Width and height, in pixels of a page, at which PNG bytes are to be shown; the PNG itself is finer than that."""
    return tuple(pixels * 96 // _DPI for pixels in struct.unpack(">II", picture[16:24]))  # where a PNG states its size


def styled(draw):
    """Draws under the house style and leaves matplotlib's settings as they were."""

    @functools.wraps(draw)
    def drawn(*args, **kwargs):
        with matplotlib.rc_context(_STYLE):
            return draw(*args, **kwargs)

    return drawn


@styled
def canvas(width: float, height: float, columns: int = 1, **options) -> tuple[Figure, list[Axes]]:
    """A figure of `width` × `height` inches with one row of `columns` axes; `options` go to `Figure.subplots`."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False, **options)
    return figure, list(axes[0])


@styled
def rows_of(width: float, height: float, *columns: int, **options) -> tuple[Figure, list[list[Axes]]]:
    """A figure of `width` × `height` inches with a row of axes for each of `columns`; `options` go to `Figure.subplot_mosaic`."""
    figure = Figure(figsize=(width, height), layout="constrained")
    cells = math.lcm(*columns)
    grid = [[f"{row} {place * count // cells}" for place in range(cells)] for row, count in enumerate(columns)]
    axes = figure.subplot_mosaic(grid, **options)
    return figure, [[axes[f"{row} {place}"] for place in range(count)] for row, count in enumerate(columns)]


def array(values) -> np.ndarray:
    """Numbers on the CPU to five digits, from a tensor on any device or from anything numpy takes; the shape stays.

    Nobody sees a sixth digit, but the last bits differ between runs and machines, and would change a picture's bytes.
    """
    values = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values, dtype=float)
    return np.array([float(f"{value:.5g}") for value in values.flat]).reshape(values.shape)


def written(value: float, spec: str = ".2f") -> str:
    """A number for a figure: with a true minus sign, no minus before a zero, and ∞ for infinity."""
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "NaN")
    text = f"{value:{spec}}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def legend_of(axes: Axes, **options) -> None:
    """Adds a legend on a white ground, which no grid line crosses; `options` go to `Axes.legend`."""
    axes.legend(facecolor="white", edgecolor="none", framealpha=0.85, **options)


@styled
def heat_map(
    M,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str = "",
    row_label: str = "",
    column_label: str = "",
    limits: tuple[float, float] | None = (0, 1),
    numbers: str = ".2f",
    least: float = -math.inf,
    axes: Axes | None = None,
) -> Figure:
    """A matrix M [len(rows), len(columns)] as coloured cells, each with its number.

    With `numbers=""` a colour bar stands in for the numbers, for matrices with many cells; `least` leaves out the
    numbers below it. Infinite entries and NaN have no colour: their cells are grey.

    `limits` are the values of the darkest and the lightest colour; None takes them from M.
    """
    M = array(M)
    finite = np.ma.masked_invalid(M)
    axes = axes or canvas(1.6 + 0.95 * len(columns), 1.3 + 0.55 * len(rows))[1][0]
    low, high = limits or (finite.min(), finite.max())
    image = axes.imshow(finite, cmap=MAP, vmin=low, vmax=high, aspect="auto")
    axes.set_facecolor(_NO_COLOUR)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(title=title, xlabel=column_label, ylabel=row_label)
    if not numbers:
        axes.figure.colorbar(image, ax=axes)
        return axes.figure
    for (i, j), value in np.ndenumerate(M):
        if value < least:
            continue
        dark = np.isfinite(value) and image.norm(value) <= 0.45  # the map's middle grey needs black
        colour = "white" if dark else "black"
        axes.text(j, i, written(value, numbers), ha="center", va="center", color=colour)
    return axes.figure


@styled
def field(
    M,
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    limits=(-1, 1),
    row: int | None = None,
    bar: bool = True,
    axes: Axes | None = None,
) -> Figure:
    """A matrix M [rows, columns] as a coloured field without numbers; `row` is marked; `bar` adds a colour bar."""
    M = array(M)
    axes = axes or canvas(6.5, 3.6)[1][0]
    image = axes.imshow(M, cmap=MAP, vmin=limits[0], vmax=limits[1], aspect="auto", interpolation="nearest")
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    if bar:
        axes.figure.colorbar(image, ax=axes)
    if row is not None:
        axes.axhspan(row - 0.5, row + 0.5, fill=False, edgecolor=QUERY, linewidth=2)
    return axes.figure


@styled
def bars(
    values,
    labels: Sequence[str],
    *,
    title: str = "",
    value_label: str = "",
    colour: str | Sequence[str] = BLUE,
    limits: tuple[float, float] | None = None,
    numbers: str = ".2f",
    axes: Axes | None = None,
) -> Figure:
    """A strip of bars, one for each of the values [len(labels)], with its number.

    `limits` bound the axis; a bar that leaves it has its number inside, with an arrow.
    """
    values = array(values)
    low, high = limits or (-math.inf, math.inf)
    axes = axes or canvas(1.5 + 0.9 * len(labels), 2.8)[1][0]
    drawn = axes.bar(range(len(labels)), values, color=colour, width=0.7)
    texts = [written(value, numbers) if low <= value <= high else "" for value in values]
    axes.bar_label(drawn, labels=texts, padding=2)
    for place in np.flatnonzero((values < low) | (values > high)):
        _cut_off(axes, place, values[place], numbers, limits)
    axes.axhline(0, color=BLACK, linewidth=0.8)
    axes.set_xticks(range(len(labels)), labels)
    axes.tick_params(axis="x", length=0)
    axes.set(title=title, ylabel=value_label)
    if limits:
        axes.set_ylim(*limits)
    else:
        axes.margins(y=0.18)
    return axes.figure


def _cut_off(axes: Axes, place: int, value: float, numbers: str, limits: tuple[float, float]) -> None:
    """The number of a bar that leaves the axis, inside the bar, with an arrow that points on."""
    up, text = bool(value > limits[1]), written(value, numbers)
    side = {"xytext": (0, -3 if up else 3), "textcoords": "offset points", "va": "top" if up else "bottom"}
    text = f"↑\n{text}" if up else f"{text}\n↓"
    axes.annotate(text, (place, limits[up]), ha="center", path_effects=_HALO, zorder=5, **side)


@styled
def curves(
    x,
    lines: Mapping[str, Sequence[float]],
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    log: str = "",
    bands: Mapping[str, tuple] | None = None,
    styles: Mapping[str, str] | None = None,
    colours: Mapping[str, str] | None = None,
    legend: bool = True,
    axes: Axes | None = None,
) -> Figure:
    """Curves y [len(x)] over x [len(x)], one for each name in `lines`.

    `log` names the logarithmic axes ("x", "y" or "xy"); `bands` gives a lower and an upper edge [len(x)] to shade;
    `styles` a matplotlib format such as "s--" and `colours` a colour for a name, where the usual ones do not do.
    """
    axes = axes or canvas(6.5, 3.6)[1][0]
    x = array(x)
    for index, (name, y) in enumerate(lines.items()):
        colour = (colours or {}).get(name, CYCLE[index % len(CYCLE)])
        axes.plot(x, array(y), (styles or {}).get(name, "o-"), color=colour, label=name, markersize=5, linewidth=2)
        if name in (bands or {}):
            axes.fill_between(x, *(array(edge) for edge in bands[name]), color=colour, alpha=0.18, linewidth=0)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    if "x" in log:
        axes.set_xscale("log", base=2 if np.allclose(np.log2(x) % 1, 0) else 10)
        ticks = x[:: 2 if len(x) > 7 else 1]  # more would run into each other
        axes.set_xticks(ticks, [f"{value:g}" for value in ticks])
        axes.minorticks_off()
    if "y" in log:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
    axes.grid(True)
    if legend:
        legend_of(axes)
    return axes.figure


@styled
def level(axes: Axes, height: float, name: str, *, at: float = 0.98, above: bool = True) -> None:
    """A dotted line across `axes` at `height`, named at the share `at` of the width."""
    axes.axhline(height, color=GREY, linestyle=":", linewidth=1.5, zorder=1)
    side = {"ha": "right" if at > 0.5 else "left", "va": "bottom" if above else "top"}
    place = {"xycoords": axes.get_yaxis_transform(), "xytext": (0, 3 if above else -3), "textcoords": "offset points"}
    axes.annotate(name, (at, height), color="#555555", **place, **side)


@styled
def plane(
    vectors,
    names: Sequence[str],
    *,
    colours: Sequence[str] | None = None,
    reach: float | None = None,
    title: str = "",
    axes: Axes | None = None,
) -> Figure:
    """Arrows from the origin to `vectors` [len(names), 2], named at their tips; the axes run from -reach to reach."""
    vectors = array(vectors)
    axes = axes or canvas(4.4, 4.2)[1][0]
    reach = reach or 1.35 * np.abs(vectors).max()
    for index, (tip, name) in enumerate(zip(vectors, names, strict=True)):
        colour = colours[index] if colours else CYCLE[index % len(CYCLE)]
        _arrow(axes, tip, colour)
        right, up = tip / (np.linalg.norm(tip) or 1)
        # the name continues the arrow: its near corner, not its middle, stands at the tip
        side = {"ha": "left" if right > 0.5 else "right" if right < -0.5 else "center"}
        side["va"] = "bottom" if up > 0.35 else "top" if up < -0.35 else "center"
        beyond = tip + 0.03 * reach * np.array([right, up])
        axes.text(*beyond, name, color=colour, fontweight="bold", **side)
    _cross(axes, reach)
    axes.set_title(title)
    return axes.figure


@styled
def angle(axes: Axes, first, second, radius: float, name: str) -> None:
    """An arc between two arrows [2] from the origin, at a distance of `radius` from it, with `name` beside it."""
    begin, end = (math.atan2(y, x) for x, y in (array(first), array(second)))
    end = begin + (end - begin + math.pi) % (2 * math.pi) - math.pi  # the shorter way round
    turn = np.linspace(begin, end, 40)
    axes.plot(radius * np.cos(turn), radius * np.sin(turn), color=BLACK, linewidth=1.2, zorder=2)
    middle = 1.5 * radius * np.array([np.cos(turn[20]), np.sin(turn[20])])
    axes.text(*middle, name, ha="center", va="center", zorder=4, path_effects=_HALO)


def _arrow(axes: Axes, tip: np.ndarray, colour: str) -> None:
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2.3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tip, (0, 0), arrowprops=arrow, zorder=3)


def _cross(axes: Axes, reach: float) -> None:
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.set(xlabel="first feature", ylabel="second feature")
    axes.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    axes.axvline(0, color=GREY, linewidth=0.8, zorder=0)


@styled
def attention_in_the_plane(q, X, names: Sequence[str], e, a, y, *, reach: float = 3.2) -> Figure:
    """One query among data vectors of two features, and the weights it gives them.

    Left, the plane: query q [2], data vectors X [N_X, 2] as discs whose area grows with the weights a [N_X], and the
    output y [2]. Right, bars: scores e [N_X] as they enter the softmax, and the weights.
    """
    q, X, e, a, y = map(array, (q, X, e, a, y))
    figure, (left, middle, right) = canvas(10.5, 4.3, 3, gridspec_kw={"width_ratios": [1.45, 1, 1]})
    left.scatter(*X.T, s=420 + 2000 * a, color="#DDDDDD", edgecolor=DATA, linewidth=1.5, alpha=0.9, zorder=2)
    for name, place in zip(names, X, strict=True):
        left.text(*place, name, ha="center", va="center", zorder=5)
    _arrow(left, q, QUERY)
    left.plot(*y, "*", color=OUTPUT, markersize=17, markeredgecolor=BLACK, zorder=4)
    length = np.linalg.norm(q) or 1
    beside = q + 0.3 * np.array([q[1], -q[0]]) / length  # to the right of the tip: the output is often ahead of it
    away = y - q if np.linalg.norm(y - q) > 0.05 else np.array([0, 1])  # from the arrow's tip
    for place, name, colour in ((beside, "q", QUERY), (y + 0.36 * away / np.linalg.norm(away), "y", BLACK)):
        left.text(*place, name, color=colour, fontweight="bold", ha="center", va="center", zorder=6, path_effects=_HALO)
    _cross(left, reach)
    left.set_title("query q, data vectors, output y")
    # the axis stays where it is, so that one sees the scores grow and shrink
    bars(e, names, title="scores into the softmax", colour=SCORES, limits=(-8, 8), numbers=".1f", axes=middle)
    bars(a, names, title="weights a", colour=WEIGHTS, limits=(0, 1.12), axes=right)
    return figure
