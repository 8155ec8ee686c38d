"""Defines facts and their kinds, and finds the facts that several failed cases share."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Flag, auto

from utils.checking.enumerations import Described

# the share of failed cases that must have a fact of most, and how many failed cases there must be
MOST, ENOUGH = (0.6, 4)


class Trait(Flag):
    """What may be true of a kind of fact."""

    OPEN = auto()  # its sentence asks an open question
    PLACE = auto()  # it is about positions along an axis
    STEP = auto()  # it is about the steps of a sequence
    UNIVERSAL = auto()  # it speaks of each input, or of each number
    LOOK = auto()  # any look at the wrong numbers shows it; it is named only where nothing else is known
    INFLUENCE = auto()  # gradients show it


class Kind(Described):
    """The kinds of facts, in the order of the modules that find them. Of one group only the first fact is named."""

    # shapes, sizes
    SHAPE_EMPTY = "shape empty"
    SHAPE_SQUEEZED = "shape squeezed"
    SHAPE_LEFT_OVER = "shape left over"
    SHAPE_TRANSPOSED = "shape transposed"
    SHAPE_TAKEN = "shape taken"
    SHAPE_DIAGONAL = "shape diagonal"
    SHAPE_MERGED = "shape merged"
    SHAPE_ORDER = "shape order"
    SHAPE_SHARED = "shape shared"
    SHAPE_PART = "shape part"
    SHAPE_START = "shape start"
    SHAPE_ONE = "shape one"
    SHAPE_SIZE = "shape size"
    SHAPE_OTHER = "shape other"
    SHAPE_DOUBLE = "shape double"
    SHAPE_COUNT = "shape count", Trait.UNIVERSAL
    SHAPE_FIXED = "shape fixed", Trait.UNIVERSAL
    SHAPE_CUT = "shape cut"
    SHAPE_BEYOND = "shape beyond"
    # relations
    CHOSEN = "chosen"
    WHICH = "which", Trait.OPEN
    EARLIER = "earlier"
    GIVEN = "given"
    GIVEN_PART = "given part"
    # weights
    BEFORE = "before"
    TRANSPOSED = "transposed"
    SUM_OVER = "sum over"
    SUM = "sum"
    EMPTY = "empty"
    NEGATIVE = "negative"
    TWICE = "twice"
    LEAK = "leak"
    LOST = "lost"
    TEMPERATURE = "temperature"
    PROPORTION = "proportion"
    CUT = "cut"
    KEPT = "kept"
    MOVED_IN_ROWS = "moved in rows"
    ROW_TEMPERATURE = "row temperature"
    COLUMN = "column"
    ORDER = "order"
    OTHER_SCORES = "other scores", Trait.OPEN
    HARD = "hard"
    UNIFORM = "uniform"
    TOTALS = "totals"
    # scales
    FACTOR = "factor"
    SHIFT = "shift"
    CONSTANT = "constant"
    MOVED = "moved"
    CLOSE = "close"
    LENGTH = "length"
    ROWS_OF_ZEROS = "rows of zeros"
    ROW_FACTOR = "row factor"
    ALL_NOT_FINITE = "all not finite"
    # discrete
    TRUTH = "truth"
    DIFFERENCE = "difference"
    ROWS = "rows"
    OVERFLOW = "overflow"
    OFF_BY = "off by"
    TIMES = "times"
    ROUNDED = "rounded"
    # places
    WRONG_AT = "wrong at", Trait.PLACE
    RIGHT_AT = "right at", Trait.PLACE
    FROM_THE_START = "from the start", Trait.STEP
    AFTER_A_START = "after a start", Trait.STEP
    # influence
    INFLUENCE_NONE = "influence none", Trait.INFLUENCE
    INFLUENCE_SHIFT = "influence shift", Trait.INFLUENCE
    INFLUENCE_EXTRA = "influence extra", Trait.INFLUENCE
    INFLUENCE_MISSING = "influence missing", Trait.INFLUENCE
    INFLUENCE_GROUP = "influence group", Trait.INFLUENCE
    INFLUENCE_SIZE = "influence size", Trait.INFLUENCE
    # traits
    INFINITE = "infinite", Trait.LOOK
    ONE_VALUE = "one value", Trait.LOOK | Trait.UNIVERSAL
    RATIO = "ratio", Trait.LOOK | Trait.UNIVERSAL
    CORNER = "corner", Trait.LOOK
    STRETCH = "stretch", Trait.LOOK | Trait.PLACE
    ZEROS = "zeros", Trait.LOOK
    SIGN = "sign", Trait.LOOK
    RANGE = "range", Trait.LOOK
    SIDE = "side", Trait.LOOK | Trait.UNIVERSAL

    @property
    def group(self) -> str:
        """The group of which only one fact is named: all facts about shapes are one group, any other kind is its own."""
        return "shape" if self.startswith("shape ") else self.value


@dataclass(frozen=True)
class Fact:
    """Something that is true of a wrong result, compared with the right one. Facts are compared without their sentences.

    Attributes:
        kind: what kind of fact it is.
        subject: the name of the result, or of the input, that it is about.
        axis: the axis along which it holds; empty where it is about no axis.
        value: what else distinguishes it from facts of its kind: a factor's name, a position, another result.
        evidence: how many cases must share it before it is named: a fact that is easily true by accident needs several.
        sentence: the fact as a student reads it, from `utils.checking.messages`.
    """

    kind: Kind
    subject: str = ""
    axis: str = ""
    value: str | int | tuple = ""
    evidence: int = 1
    sentence: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """The fact in one line, for counting facts: "factor Y √D", "shape count Y N too few 1 on 2 cases"."""
        parts = [part for part in (self.kind, self.subject, self.axis, self.value) if part != ""]
        return " ".join(map(str, parts + [f"on {self.evidence} cases"] * (self.evidence > 1)))


Facts = list[Fact]  # the most telling first


def called(axes: Sequence[str], axis: int, count: int) -> str:
    """The name of an axis, one of `count`: "N"; with its place where another axis has the same name: "N (axis −1)"."""
    if len(axes) < count - axis:
        return f"axis {axis}"
    own = axes[axis - count].lstrip("*")
    return f"{own} (axis −{count - axis})" if [name.lstrip("*") for name in axes].count(own) > 1 else own


def last_of_each(facts: Facts) -> Facts:
    """The facts, with the last of equal ones at the place of the first; two axes of one name give equal facts."""
    return list({fact: fact for fact in facts}.values())


def common(each: Sequence[Facts], most: int = 2, different: int | None = None) -> Facts:
    """The facts that all cases share, in the order of the first case; of each group only the first.

    Args:
        different: how many of the cases differ in their sizes, if not all do: two cases of equal sizes are evidence only once.
    """
    count = len(each) if different is None else different
    same = [fact for fact in (each[0] if each else ()) if all(fact in case for case in each) and count >= fact.evidence]
    groups: dict[str, Fact] = {}
    for fact in same:
        # two facts of one group may both hold, as where √D_Q equals √D_V in all cases
        groups.setdefault(fact.kind.group, fact)
    return list(groups.values())[:most]


def mostly(each: Sequence[Facts], shown: Facts) -> Facts:
    """At most one fact: the first of the shown case's facts that most cases share, where there are enough cases."""
    return [
        fact
        for fact in shown
        if len(each) >= max(fact.evidence, ENOUGH) and sum(fact in case for case in each) / len(each) >= MOST
    ][:1]
