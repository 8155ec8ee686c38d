"""Moves every control of every explorer in an open lesson, as a reader would, and notes what the page did."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

from browser import IDLE, screenshot
from playwright.sync_api import Locator, Page

BOX = ".widget-vbox:has(> img.widget-image)"  # controls, the picture and the words about it
PATIENCE = 60  # seconds for a picture to be drawn again; a busy machine takes its time
QUIET = 15  # seconds for which a kernel does nothing, after which nothing more is drawn
CUT = "labels => labels.filter(label => label.scrollWidth > label.clientWidth).map(label => label.innerText)"
DIGEST = """async image => {
    const bytes = await (await fetch(image.src)).arrayBuffer();
    return Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))).join();
}"""


@dataclass(frozen=True)
class Move:
    """What came of moving a control: `restored` says whether moving it back gave the first picture and words again."""

    control: str
    to: str
    redrawn: bool  # both picture and words are others
    words: str  # what they are after the move
    restored: bool | None = None  # None where nothing was moved back


@dataclass(frozen=True)
class Explorer:
    """One explorer: the words below its picture at first, labels that do not fit, and all the moves made."""

    words: str
    cut_labels: list[str]
    moves: list[Move]


def tour(page: Page, lesson: str) -> list[dict]:
    """Visits the explorers of an open lesson, all of whose cells have been run, one after the other."""
    boxes = page.locator(BOX)
    return [
        asdict(Visit(page, boxes.nth(number), f"{lesson}-explorer-{number}").go()) for number in range(boxes.count())
    ]


@dataclass
class Visit:
    """Moves the controls of one explorer and puts each back; words that were dragged away stay away, so they come last."""

    page: Page
    box: Locator
    name: str

    def go(self) -> Explorer:
        self.come_into_view()
        self.box.locator("> img.widget-image").wait_for()
        words = self.seen()[1]
        kinds = (self.sliders, self.switches, self.choices, self.grids, self.orders)
        moves = [move for kind in kinds for move in kind()]
        return Explorer(words, self.box.locator(".widget-slider .widget-label").evaluate_all(CUT), moves)

    def come_into_view(self) -> None:
        """Scrolls there: what is out of view JupyterLab need not lay out, and a part of it may have moved."""
        self.box.evaluate("box => box.scrollIntoView({block: 'center'})")

    def seen(self) -> tuple[str, str]:
        """The picture, as a digest, and the words below it."""
        picture = self.box.locator("> img.widget-image").evaluate(DIGEST)
        return picture, self.box.locator(".widget-html-content").text_content().strip()

    def sliders(self) -> Iterator[Move]:
        """One step each; the other way where the first changes nothing, as at an end, or where all is told already."""
        for slider in self.box.locator(".widget-slider").all():
            label, knob = slider.locator(".widget-label").text_content(), slider.get_by_role("slider")
            at_the_end = knob.get_attribute("aria-valuenow") == knob.get_attribute("aria-valuemax")
            ways = [("ArrowRight", "ArrowLeft"), ("ArrowLeft", "ArrowRight")][:: -1 if at_the_end else 1]
            for there, back in ways:
                made = self.move(label, there, lambda: knob.press(there), lambda: knob.press(back))
                if made.redrawn:
                    break
            yield made

    def switches(self) -> Iterator[Move]:
        for switch in self.box.locator(".widget-checkbox").all():
            button = switch.get_by_role("checkbox")
            yield self.move(switch.inner_text().strip(), "switched", button.click, button.click)

    def choices(self) -> Iterator[Move]:
        for choice in self.box.locator(".widget-dropdown").all():
            label, menu = choice.locator(".widget-label").text_content(), choice.get_by_role("combobox")
            first, begun = menu.locator("option:checked").text_content(), self.seen()
            others = menu.locator("option:not(:checked)").all_text_contents()
            for other in others:  # from one to the next, and back from the last
                made = self.move(label, other, lambda: menu.select_option(other))
                if other == others[-1]:
                    menu.select_option(first)
                    made = replace(made, restored=self.comes(lambda: self.seen() == begun))
                yield made

    def grids(self) -> Iterator[Move]:
        """The last button of the first row, and the first, each pressed twice; and then all that are 1 in this row."""
        for grid in self.box.locator(".widget-gridbox").all():
            rows: dict[str, list[Locator]] = {}
            for button in grid.get_by_role("button").all():
                rows.setdefault(button.get_attribute("title").partition(" → ")[0], []).append(button)
            row = next(iter(rows.values()))
            for button in (row[-1], row[0]):
                title, to = button.get_attribute("title"), "0" if button.inner_text() == "1" else "1"
                yield self.move(title, to, button.click, button.click, lambda: button.inner_text() == to)
            begun, ones = self.seen(), [button for button in row if button.inner_text() == "1"]
            for button in ones:
                made = self.move(
                    f"row {next(iter(rows))}", "emptied", button.click, None, lambda: button.inner_text() == "0"
                )
            if ones:
                for button in ones:
                    button.click()
                yield replace(made, restored=self.comes(lambda: self.seen() == begun))

    def orders(self) -> Iterator[Move]:
        """The second word dragged onto the last place, and then the first one taken away."""
        for order in self.box.locator(".jupyter-widget-tagsinput").all():
            words = order.locator(".jupyter-widget-tag:has(.jupyter-widget-tag-close)")
            last = words.nth(words.count() - 1)
            yield self.move("order", "second word dragged to the end", lambda: words.nth(1).drag_to(last))
            yield self.move("order", "first word taken away", words.nth(0).locator(".jupyter-widget-tag-close").click)

    def move(self, control: str, to: str, there: Callable, back: Callable | None = None, also=lambda: True) -> Move:
        """Makes a move and waits for another picture with other words; then moves back and waits for the first ones."""
        self.come_into_view()
        first = self.seen()
        there()
        redrawn = self.comes(lambda: all(a != b for a, b in zip(self.seen(), first)) and also())
        words, restored = self.seen()[1], None
        screenshot(self.page, f"{self.name}-{''.join(filter(str.isalnum, control))}-{to.replace(' ', '-')}")
        if back:
            back()
            restored = self.comes(lambda: self.seen() == first)
        return Move(control, to, redrawn, words, restored)

    def comes(self, holds: Callable[[], bool]) -> bool:
        """Whether it comes true while one waits, as long as the kernel has something to do."""
        busy = begun = time.monotonic()
        while not holds():
            now = time.monotonic()
            busy = now if not self.page.locator(IDLE).count() else busy
            if now > begun + PATIENCE or now > busy + QUIET:
                return False
            self.page.wait_for_timeout(300)
        return True
