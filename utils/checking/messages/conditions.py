"""The sentences for code that is right on ordinary inputs and fails under a condition alone."""

from utils.checking.conditions import ConditionName as Name

RIGHT, NEAR_ENOUGH = "the right result", "a result that is near enough"  # the words for results of cases that pass

UNDER: dict[str, str] = {
    Name.FLOAT64: (
        "Inputs of float32 give {result}; inputs of float64 do not: is something fixed to float32 on the way, or made in torch's"
        " usual type, so that two types meet?"
    ),
    Name.BFLOAT16: (
        "Ordinary inputs give {result}; inputs of bfloat16 do not: is a count or a position computed in the inputs' own type,"
        " something fixed to another, or is a function called that does not exist for it?"
    ),
    Name.LAYOUT: (
        "Inputs that lie in memory in order give {result}; some views, such as slices with a step or transposed tensors, do not:"
        " does something depend on how numbers lie in memory?"
    ),
    Name.LARGE: (
        "Ordinary numbers give {result}; some large ones do not. Does something overflow or underflow: exp without the maximum of"
        " its own row subtracted, a square, a type with fewer digits? Is a number cut off, or one that stands for infinity not"
        " large enough?"
    ),
    Name.SPREAD: (
        "Ordinary inputs give {result}; numbers that differ much in size do not. Is something small cut off, or a number that"
        " stands for infinity not large enough?"
    ),
    Name.ZERO: "Ordinary numbers give {result}; zeros do not. Is 0 taken as a sign of something, or divided by?",
    Name.SATURATION: (
        "Ordinary numbers give {result}; some large ones, at which a softmax, a sigmoid or a tanh would saturate, do not."
    ),
    Name.TRAINING: (
        "Eval mode gives {result}; training mode does not: is there a dropout, a batch normalisation, or a branch on"
        " self.training?"
    ),
    Name.ONES: (
        "Sizes larger than 1 give {result}; a size of 1 does not always. Does squeeze() take an axis away, or does an axis of"
        " size 1 broadcast where it should not? Is such a size treated by itself?"
    ),
    Name.EQUAL: (
        "Sizes that differ give {result}; sizes that coincide do not always. Is an axis recognised by its size, or does a missing"
        " axis broadcast by luck?"
    ),
    Name.BATCHES: (
        "Another number of batch axes gives the right result: count axes from the end, and name none in front."
    ),
    Name.SCALE: (
        "Small sizes give {result}; some large one does not: is a number of positions, or a width, fixed somewhere, or is"
        " something cut off that becomes small among many?"
    ),
    Name.JOINT: (
        "Each of the ways in which inputs are passed here gives {result} on other numbers by itself; together they do not. Does"
        " something depend on two of them at once, or is a result kept from an earlier call?"
    ),
}

# the sentences for code whose result is right under the condition too, and whose gradient is not
UNDER_GRADIENT: dict[str, str] = {
    Name.ZERO: "With ordinary numbers gradients are right as well; with zeros they are not.",
    Name.SATURATION: (
        "With ordinary numbers gradients are right as well; with large ones, at which a softmax, a sigmoid or a tanh would"
        " saturate, they are not."
    ),
}


def under(condition: str, of_gradients: bool = False, near_enough: bool = False) -> str:
    """The sentence on code that fails under a condition alone; empty where there is none for the condition.

    Args:
        of_gradients: results are right, and gradients are not.
        near_enough: results that pass are off by a little, too.
    """
    words = UNDER_GRADIENT if of_gradients else UNDER
    return words.get(condition, "").format(result=NEAR_ENOUGH if near_enough else RIGHT)
