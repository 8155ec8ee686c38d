"""Pictures of where a captioner looks: the image, clear where the weight is and dark elsewhere, word by word."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from utils.figures.plots import ORANGE, array, canvas, styled

_DARK = 0.12  # brightness of what is not looked at
Box = tuple[int, int, int, int]


@styled
def gallery(images, titles: Sequence[str], boxes: Sequence[Sequence[Box]] = ()) -> Figure:
    """Images [N, 3, H, W] side by side with their titles; boxes (left, top, right, bottom) are drawn round their things."""
    figure, panels = canvas(2.5 * len(titles), 2.8, len(titles))
    for number, (axes, image, title) in enumerate(zip(panels, array(images), titles, strict=True)):
        _image(axes, image.transpose(1, 2, 0), title)
        for box in boxes[number] if boxes else ():
            _outline(axes, box)
    return figure


@styled
def word_maps(image, words: Sequence[str], maps, boxes: Sequence[Box | None] = (), columns: int = 6) -> Figure:
    """One panel for each word: the image [3, H, W], clear where its map has weight.

    Args:
        maps: [len(words), h, w], weights with sum 1; h and w divide the image's sides.
        boxes: for each word the box of what it names, outlined; None where there is none.
    """
    rows = -(-len(words) // columns)
    figure = Figure(figsize=(1.95 * columns, 2.25 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flat
    maps, pixels = array(maps), array(image).transpose(1, 2, 0)
    for number, axes in enumerate(panels):
        if number >= len(words):
            axes.set_axis_off()
            continue
        _image(axes, veiled(pixels, maps[number]), words[number])
        if boxes and boxes[number]:
            _outline(axes, boxes[number])
    return figure


def veiled(pixels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """An image [H, W, 3] that is as it was where `weights` [h, w] are largest, and dark where they are 0."""
    tall, wide = (side // cells for side, cells in zip(pixels.shape, weights.shape))
    clear = np.kron(weights / weights.max(), np.ones((tall, wide)))[..., None]  # [H, W, 1]
    return pixels * clear + _DARK * (1 - clear)


def _image(axes: Axes, pixels: np.ndarray, title: str) -> None:
    height, width = pixels.shape[:2]
    axes.imshow(pixels.clip(0, 1), extent=(0, width, height, 0), interpolation="nearest")
    axes.set_title(title, fontsize=11)
    axes.set_axis_off()


def _outline(axes: Axes, box: Box) -> None:
    left, top, right, bottom = box
    axes.add_patch(Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=ORANGE, linewidth=1.6))
