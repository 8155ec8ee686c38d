"""The names of the conditions under which cases are examined, with what each varies."""

from enum import Flag, auto

from utils.checking.enumerations import Described


class Varies(Flag):
    """What a condition changes."""

    MAGNITUDE = auto()  # numbers are large
    EXTREME = auto()  # no number has an ordinary size
    PRECISION = auto()  # finer tolerances show mistakes that are within tolerance elsewhere


class ConditionName(Described):
    """The name of a condition, by which an author waives it; and of two kinds of cases that no condition adds."""

    FLOAT64 = "float64", Varies.PRECISION
    BFLOAT16 = "bfloat16"
    LAYOUT = "layout"
    DEVICE = "device"
    LARGE = "large", Varies.MAGNITUDE | Varies.EXTREME
    SPREAD = "spread", Varies.MAGNITUDE | Varies.EXTREME | Varies.PRECISION
    ZERO = "zero"
    ONES = "ones"
    EQUAL = "equal"
    SCALE = "scale", Varies.MAGNITUDE
    BATCHES = "batches"
    TRAINING = "training"
    CALLS = "calls"
    GRADIENTS = "gradients"
    SATURATION = "saturation", Varies.MAGNITUDE | Varies.EXTREME
    EDGE = "edge"  # declared, at the edge of what is asked
    JOINT = "joint"  # several conditions at once, as grading tries them at first


def those(varied: Varies) -> frozenset[ConditionName]:
    """The names of all conditions that vary something of a kind."""
    return frozenset(name for name in ConditionName if name.has(varied))


MAGNITUDES, EXTREME, FINER = those(Varies.MAGNITUDE), those(Varies.EXTREME), those(Varies.PRECISION)
