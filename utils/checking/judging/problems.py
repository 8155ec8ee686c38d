"""Every kind of problem that judging finds, with its traits. The sentences on problems are in `utils.checking.messages`."""

from enum import Flag, auto

from utils.checking.enumerations import Described
from utils.checking.observing import refusals


class About(Flag):
    """What a problem is about."""

    NUMBERS = auto()  # shape and type are right, and numbers are not
    PLACE = auto()  # right results in a wrong order cause it as well
    GRADIENTS = auto()  # results are right, and gradients are not
    # it does not depend on the case, or is measured on some cases alone, so that circumstances do not explain it
    WHOLE = auto()
    SHAPE = auto()  # there are numbers, in a wrong shape


class Problem(Described):
    """A kind of problem with an observation. `find_problem` decides which of several problems comes first."""

    # there is no result
    UNFINISHED = "unfinished", About.WHOLE
    MISSING_OBJECT = "missing_object", About.WHOLE
    WRONG_SIGNATURE = "wrong_signature", About.WHOLE
    WRONG_PARAMETERS = "wrong_parameters", About.WHOLE
    CONSTRUCTOR_FAILED = "constructor_failed"
    EXCEPTION = "exception"
    TOO_SLOW = "too_slow"
    NOT_REACHED = "not_reached"
    PROCESS_ENDED = "process_ended", About.WHOLE
    TAMPERED = "tampered"
    CONFINED = refusals.CONFINED
    NOT_ALLOWED = refusals.NOT_ALLOWED
    # an error is asked for
    NO_ERROR = "no_error"
    WRONG_ERROR = "wrong_error"
    VAGUE_ERROR = "vague_error"
    # there is a result, which cannot be compared
    LEFT_BEHIND = "left_behind"
    FORBIDDEN_CALL = "forbidden_call", About.WHOLE
    RETURNED_NONE = "returned_none"
    WRONG_STRUCTURE = "wrong_structure"
    CHANGED_INPUT = "changed_input"
    NOT_A_TENSOR = "not_a_tensor"
    WRONG_SHAPE = "wrong_shape", About.SHAPE | About.PLACE
    WRONG_DEVICE = "wrong_device"
    WRONG_DTYPE = "wrong_dtype", About.PLACE
    WRONG_ORDER = "wrong_order"
    # numbers
    UNSTABLE = "unstable"
    OVERWRITTEN = "overwritten"
    NOT_FINITE = "not_finite", About.NUMBERS
    WRONG_VALUE = "wrong_value", About.NUMBERS | About.PLACE
    NOT_QUITE_ZERO = "not_quite_zero", About.NUMBERS
    WRONG_START = "wrong_start"
    # intermediate tensors
    TOO_LARGE = "too_large", About.WHOLE
    TOO_MUCH_KEPT = "too_much_kept", About.WHOLE
    TOO_MUCH = "too_much", About.WHOLE
    # gradients
    BACKWARD_FAILED = "backward_failed", About.GRADIENTS
    NO_GRADIENT = "no_gradient", About.GRADIENTS
    NO_GRAPH = "no_graph", About.GRADIENTS
    EXTRA_GRADIENT = "extra_gradient"
    NOT_FROZEN = "not_frozen"
    WRONG_GRADIENT = "wrong_gradient", About.GRADIENTS

    @property
    def of_numbers(self) -> bool:
        """Whether results of the right shape and type hold wrong numbers."""
        return self.has(About.NUMBERS)

    @property
    def of_gradients(self) -> bool:
        """Whether results are right, and gradients are not."""
        return self.has(About.GRADIENTS)
