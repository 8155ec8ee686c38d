"""What a case is examined under: the names of the conditions, with what is true of each, and of declared cases at the edge."""

from enum import Flag, auto

from utils.checking.enumerations import Described


class Varies(Flag):
    """What a condition changes."""

    MAGNITUDE = auto()  # numbers are large
    EXTREME = auto()  # no number is an ordinary one
    PRECISION = auto()  # what is wrong elsewhere shows too, through finer tolerances


class ConditionName(Described):
    """A condition's name, by which an author waives it. How its cases are made is the instructor's side's business."""

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
    EDGE = "edge"  # of a declared case at the edge of what is asked, which no condition made


def those(varied: Varies) -> frozenset[ConditionName]:
    """The names of all conditions that change something of a kind."""
    return frozenset(one for one in ConditionName if one.has(varied))


MAGNITUDES, EXTREME, FINER = those(Varies.MAGNITUDE), those(Varies.EXTREME), those(Varies.PRECISION)
