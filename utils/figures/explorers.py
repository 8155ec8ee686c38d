"""Shows a figure that one can play with, and a still one where no widget can run."""

import html
import importlib.util
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from utils.figures.plots import png, publish, size


@dataclass(frozen=True)
class Slider:
    """A number between `low` and `high`, in steps of `step`, that starts at `start`."""

    label: str
    low: float
    high: float
    start: float
    step: float = 0.1

    def widget(self):
        import ipywidgets

        whole = all(float(one).is_integer() for one in (self.low, self.start, self.step))
        shown = {"readout_format": "d" if whole else ".2f"}
        return ipywidgets.FloatSlider(min=self.low, max=self.high, step=self.step, **shown, **_described(self))


@dataclass(frozen=True)
class Switch:
    """On or off; it starts at `start`."""

    label: str
    start: bool = True

    def widget(self):
        import ipywidgets

        return ipywidgets.Checkbox(indent=False, **_described(self))


@dataclass(frozen=True)
class Choice:
    """One of the `options`; it starts at `start`."""

    label: str
    options: Sequence[str]
    start: str

    def widget(self):
        import ipywidgets

        return ipywidgets.Dropdown(options=list(self.options), **_described(self))


@dataclass(frozen=True)
class Order:
    """Words that are dragged into another order, or removed; they start as they are in `start`."""

    label: str
    start: Sequence[str]

    def widget(self):
        import ipywidgets

        if not hasattr(
            ipywidgets, "TagsInput"
        ):  # before ipywidgets 8, which Colab is slow to take up, one writes the order
            return ipywidgets.Text(value=" ".join(self.start))
        words = list(self.start)
        return ipywidgets.TagsInput(value=words, allowed_tags=words, allow_duplicates=False)

    def read(self, value) -> tuple[str, ...]:
        """The words in the order that was chosen; all of them where none is left."""
        chosen = value.split() if isinstance(value, str) else value
        return tuple(word for word in dict.fromkeys(chosen) if word in self.start) or tuple(self.start)


@dataclass(frozen=True)
class Grid:
    """A table of buttons that are on (1) or off (0); each says when pointed at which row and column it stands for.

    `start` [len(rows), len(columns)] says which are on at first. The value is a tuple of rows, each a tuple of booleans.
    """

    label: str
    rows: Sequence[str]
    columns: Sequence[str]
    start: Sequence[Sequence[bool]]

    def widget(self):
        import ipywidgets
        import traitlets

        middle = ipywidgets.Layout(margin="0 auto")
        names = [ipywidgets.Label(name, layout=middle) for name in ("", *self.columns)]
        buttons = [
            [_cell(bool(on), f"{row} → {column}") for on, column in zip(line, self.columns, strict=True)]
            for line, row in zip(self.start, self.rows, strict=True)
        ]
        cells = [cell for row, line in zip(self.rows, buttons) for cell in (ipywidgets.Label(row), *line)]
        widths = f"repeat({len(names)}, max-content)"
        grid = ipywidgets.GridBox(
            [*names, *cells], layout=ipywidgets.Layout(grid_template_columns=widths, grid_gap="0 4px")
        )

        def painted() -> tuple[tuple[bool, ...], ...]:
            return tuple(tuple(button.value for button in line) for line in buttons)

        grid.add_traits(value=traitlets.Any(painted()))
        for button in (button for line in buttons for button in line):
            button.observe(lambda _change: grid.set_trait("value", painted()), names="value")
        return grid


def _cell(on: bool, meaning: str):
    """A button of a grid; it shows 1 when it is on and 0 when it is off."""
    import ipywidgets

    button = ipywidgets.ToggleButton(
        value=on, tooltip=meaning, layout=ipywidgets.Layout(width="auto", min_width="3.2em")
    )

    def write(_change=None) -> None:
        button.description, button.button_style = ("1", "info") if button.value else ("0", "")

    write()
    button.observe(write, names="value")
    return button


Control = Slider | Switch | Choice | Order | Grid


def explore(draw: Callable[..., Figure], *, alt: Callable[..., str] | str, **controls: Control) -> None:
    """Displays `draw(**values)` with one control for each argument, drawn again whenever one is moved.

    Args:
        draw: makes a figure from one value for each of the controls.
        alt: describes the figure in words; a function gets the same values as `draw`. The words are the picture's
            alternative text, and in the live version they stand below it and change with it.
        controls: what the values may be and where they start.

    Without ipywidgets, or with COURSE_STATIC=1 in the environment, the figure of the starting values is all there is,
    the same bytes at each run. The live version carries that figure too, for a viewer that has no widgets.
    """
    describe = alt if callable(alt) else lambda **values: alt
    start = {name: control.start for name, control in controls.items()}
    picture, words = png(draw(**start)), describe(**start)
    publish(picture, words, {} if still() else _live(draw, describe, controls, picture, words))


def still() -> bool:
    """Whether figures stay as they are here: COURSE_STATIC=1, or no ipywidgets to move them with."""
    return os.environ.get("COURSE_STATIC") == "1" or importlib.util.find_spec("ipywidgets") is None


def progress(steps: Iterable, what: str) -> Iterable:
    """Goes through `steps` with a bar that says `what`; it vanishes at the end, and where figures stay still there is none.

    So stored outputs hold nothing that changes from run to run.
    """
    if still() or importlib.util.find_spec("tqdm") is None:
        return steps
    from tqdm.auto import tqdm

    return tqdm(steps, desc=what, leave=False)


def _live(draw, describe, controls: dict[str, Control], picture: bytes, words: str) -> dict[str, object]:
    """Builds the controls and the picture below them; returns the part of a display bundle that shows them."""
    import ipywidgets

    widgets = {name: control.widget() for name, control in controls.items()}
    # replacing an image's bytes does not flicker, unlike clearing an output and filling it again
    fitted = ipywidgets.Layout(width=f"{size(picture)[0]}px", max_width="100%")
    image = ipywidgets.Image(value=picture, format="png", layout=fitted)
    caption = ipywidgets.HTML(html.escape(words))

    def redraw(_change) -> None:
        values = {name: _value(controls[name], widget) for name, widget in widgets.items()}
        image.value = png(draw(**values))
        caption.value = html.escape(describe(**values))

    for widget in widgets.values():
        widget.observe(redraw, names="value")
    box = ipywidgets.VBox([*(_labelled(controls[name], widget) for name, widget in widgets.items()), image, caption])
    view = {"model_id": box.model_id, "version_major": 2, "version_minor": 0}
    return {"application/vnd.jupyter.widget-view+json": view}


def _value(control: Control, widget):
    return control.read(widget.value) if isinstance(control, Order) else widget.value


def _labelled(control: Control, widget):
    """The widget; below its label where it shows none itself."""
    import ipywidgets

    above = isinstance(control, Order | Grid)
    return ipywidgets.VBox([ipywidgets.Label(control.label), widget]) if above else widget


def _described(control: Control) -> dict[str, object]:
    import ipywidgets

    return {
        "value": control.start,
        "description": control.label,
        "tooltip": control.label,
        "style": {"description_width": "13em"},  # labels of one width, so that the sliders line up
        "layout": ipywidgets.Layout(width="36em", max_width="100%"),
    }
