"""The records that lead from a case to a verdict. Their form in JSON is in `utils.checking.packs.packing`."""

import builtins
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MAX_TEXT = 4000  # characters of one text, and members of one list, that are taken over from a student's process
MAX_OUTPUTS, MAX_DIMENSIONS = 16, 64
UNDECIDED = "undecided"  # the structure of a result that could not be observed
MAX_VALUES = 1_000_000  # an output larger than this travels as a shape without values


def is_real(value: object) -> bool:
    """Whether a value is an array of numbers with a fraction."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


@dataclass(frozen=True)
class Helper:
    """An input that is more than an array: the name of a class in `utils.checking.toy_models`, and the arrays it is built from.

    `limit` is the number of words that it may be asked for; 0 for any.
    """

    helper: str
    arguments: dict[str, np.ndarray]
    limit: int = 0


@dataclass(frozen=True)
class DrawnCase:
    """One set of inputs that an object is run on.

    Attributes:
        property: what the case examines, in words that end the headline of a message.
        part: the part of the exercise, with its own points, that the case belongs to.
        inputs: name -> numpy array, number, bool, string, list of strings, None or Helper; arrays become tensors.
        symbols: name -> symbolic shape of an array input, such as "B N_Q D_Q".
        sizes: symbol -> size; they differ pairwise unless a condition, or the author, makes them equal.
        build: constructor arguments, for an exercise that is a module; else None.
        weights: parameter name -> array, injected into the module.
        condition: the name of the condition that was added to what the author declared; "edge" for a declared case at the edge of
            what is asked; empty for another.
        layout: how tensors lie in memory: "transposed", "permuted", "stepped", "expanded"; empty where contiguous.
        precision: the type in which numbers with a fraction arrive, "float64" or "bfloat16"; empty for that of the arrays.
        training: the module is in training mode.
        extreme: the numbers are large on purpose, as the author declared.
        coarse: the numbers are so large, or so short, that right ways to compute differ: a number counts as right within a part
            of the largest in its row.
        elsewhere: the inputs are on a device that knows shapes and types alone: what is seen is whether anything stays behind.
        by: "name" or "position" where arguments must be taken in that way; empty where either will do.
        gradient: the places of the results whose gradients, with respect to inputs and weights, are observed too.
        once: the object is called once; whether a call depends on those before is seen on other cases.
        tolerance: a coarser tolerance than the numbers' type asks for, where rounding itself is large; else 0.
        gradient_tolerances: by name, those of gradients that rounding moves further than results.
        single: each number counts by its own size, to within what rounding alone may do to it.
        rows: the share of rows, along the first axis, that must be right all through: what a trained model is asked for;
            0 where every number counts.
        raises: the type of the error that must be raised, such as "ValueError"; empty where a result is asked for.
        bounds: of the entries of tensors on the way, how many there may be: in the "largest", in all that are "kept" at a time,
            and in all that are "made" together.
        starts: names of parameters of which it is looked at what they hold in a new module, separated by spaces.
    """

    property: str
    part: str
    inputs: dict[str, Any]
    symbols: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, Any] = field(default_factory=dict)
    build: dict[str, Any] | None = None
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    condition: str = ""
    layout: str = ""
    precision: str = ""
    training: bool = False
    elsewhere: bool = False
    coarse: bool = False
    extreme: bool = False
    by: str = ""
    gradient: tuple[int, ...] = ()
    once: bool = False
    single: bool = False
    tolerance: float = 0.0
    gradient_tolerances: dict[str, float] = field(default_factory=dict)
    rows: float = 0.0
    raises: str = ""
    bounds: dict[str, int] = field(default_factory=dict)
    starts: str = ""

    def __post_init__(self):
        """Weights are arrays: numpy's arithmetic makes a number of a parameter that has no axis."""
        object.__setattr__(self, "weights", {name: np.asarray(weight) for name, weight in self.weights.items()})

    @builtins.property  # `property` is a field here
    def plain(self) -> bool:
        """Whether the case is declared and no condition adds to it, and it has no bound on kept tensors."""
        return not self.condition and "kept" not in self.bounds

    @builtins.property
    def given_sizes(self) -> dict[str, int]:
        """The sizes of axes, and the whole numbers among the inputs."""
        numbers = {
            name: value for name, value in self.inputs.items() if isinstance(value, int) and not isinstance(value, bool)
        }
        return {**self.sizes, **numbers}

    @builtins.property
    def arrays(self) -> list[np.ndarray]:
        """All arrays of the case: inputs, those that helpers are built from, and weights."""
        values = [*self.inputs.values(), *self.weights.values()]
        values += [array for value in values if isinstance(value, Helper) for array in value.arguments.values()]
        return [value for value in values if isinstance(value, np.ndarray)]


@dataclass(frozen=True)
class Output:
    """One returned value: what it was, and its numbers: float64, or int64 where a tensor holds integers or truth values.

    There are none where they are too many, or where it is no array. Where only a comparison is needed, a sketch stands for the
    numbers (see `utils.checking.judging.tolerance.sketch`).
    """

    kind: str  # "tensor", "ndarray", or a type's name
    dtype: str = ""
    device: str = ""
    shape: tuple[int, ...] = ()
    values: np.ndarray | None = None
    sketch: np.ndarray | None = None
    carries_gradient: bool = False

    @property
    def numbers(self) -> np.ndarray:
        """The numbers of a result that has some, as those of a reference have.

        Raises:
            ValueError: it has none.
        """
        if self.values is None:
            raise ValueError(f"a {self.kind} of shape {self.shape} without numbers")
        return self.values


@dataclass(frozen=True)
class Failure:
    """Why there is no output: a stage, and the error.

    The stage is the step that raised the error, "missing" (there is no such object), "signature", "constructor", "weights" or
    "call"; or what stopped the code: "timeout", "unreached", "killed", "tampered", or one of `observing.refusals`. "impossible"
    stands for what no student's code ends like.
    """

    stage: str
    type: str
    text: str = ""
    line: str = ""  # the student's source line that raised
    where: str = ""  # the function that this line is part of
    bases: str = ""  # what the error's type extends, separated by spaces
    helper: bool = False  # raised by an input of the case, such as a toy decoder that refuses its arguments
    own: bool = False  # raised or asserted by the author of the code, in words of his own
    refused: str = ""  # how the sandbox of grading would have caused the error: see `utils.checking.observing.refusals`


@dataclass(frozen=True)
class Observation:
    """What a student's object did on one case, as plain data: judging it runs none of the student's code."""

    structure: str = ""  # "tensor", "tuple", "list", "NoneType", ... : the type that was returned
    outputs: tuple[Output, ...] = ()
    failure: Failure | None = None
    # names of the inputs or weights that came back modified, and of networks that did not come back
    changed: tuple[str, ...] = ()
    called: tuple[str, ...] = ()  # names of the torch functions that ran
    # name -> array, or None where no gradient arrived
    gradients: dict[str, np.ndarray | None] = field(default_factory=dict)
    asking: tuple[str, ...] = ()  # names of parameters that ask for a gradient and that no gradient reached
    backward: str = ""  # the error that computing the gradients raised
    unstable: bool = False  # another call with the same inputs gave something else
    overwritten: bool = False  # a later call changed the result of an earlier one
    asked_only: bool = False  # it failed, and would not have if no gradient had been asked for
    # entries of intermediate tensors, by the names of a case's bounds
    made: dict[str, int] = field(default_factory=dict)
    # name -> what a parameter holds in a new module: see `DrawnCase.starts`
    starts: dict[str, str] = field(default_factory=dict)
    device: str = "cpu"  # where the inputs were
    there: "Observation | None" = None  # the observation on a GPU, where it differs from the one on the CPU


@dataclass(frozen=True)
class FrozenCase:
    """A case with what is expected of it and what each misconception would give.

    Where each number counts by its own size, `units` are these sizes, an array for each result, and the numbers expected are
    divided by them.
    """

    case: DrawnCase
    expected: Observation
    # misconception -> Observation, None where it gives what is expected
    mistakes: dict[str, Observation | None] = field(default_factory=dict)
    units: tuple[np.ndarray, ...] = ()

    @property
    def is_sketched(self) -> bool:
        """Whether the case holds only a sketch of some expected result, as of large results in a self-check."""
        return any(output.sketch is not None for output in self.expected.outputs)


@dataclass(frozen=True)
class FrozenExercise:
    """The data of an exercise that judging needs, without any code that answers it."""

    name: str
    unit: str
    sections: dict[str, str]  # part -> the lesson's section to reread
    is_module: bool
    parameters: tuple[str, ...]  # of the function, or of forward
    constructor: tuple[str, ...]
    outputs: tuple[tuple[str, str], ...]  # (name, symbolic shape) pairs
    formula: str
    forbidden: tuple[str, ...]
    layers: dict[str, str]  # of a module, by name: "nn.Linear(D_X, D_Q)"; those inside of others too: "mlp.0"
    points: dict[str, int]  # part -> points
    misconceptions: dict[str, str]  # name -> the sentence a student reads
    cases: tuple[FrozenCase, ...]
    # names of the misconceptions that nobody declared: changes of an input, a weight or a result
    invented: tuple[str, ...] = ()
    # names of the declared misconceptions whose sentences speak of every result, whatever the inputs are
    universal: tuple[str, ...] = ()
    examined: int = 0  # how many properties grading examines
    shapes: dict[str, str] = field(default_factory=dict)  # of a module's parameters, by name: "[D_Q, D_X]"
    zeros: tuple[str, ...] = ()  # names of the outputs whose zeros are exact
    taught: tuple[str, ...] = ()  # names of the conditions that belong to the idea
    is_hidden: bool = False  # no message may show the cases' numbers
