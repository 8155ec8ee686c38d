"""The data that flows from a case to a verdict, and its form as plain JSON (no pickle anywhere)."""

import base64
import re
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import lru_cache

import numpy as np

FAILURE = ("stage", "type", "text", "line", "where", "bases")
MAX_TEXT = 4000  # characters of one text, and members of one list, that are taken over from a student's process
MAX_OUTPUTS, MAX_DIMENSIONS = 16, 64
UNDECIDED = "undecided"  # the structure of what could not be seen
MAX_VALUES = 1_000_000  # an output larger than this travels as a shape without values


@dataclass(frozen=True)
class Helper:
    """An input that is more than an array: the name of a class in `utils.checking.toy_models`, and the arrays it is built from.

    `limit` is the number of words that it may be asked for; 0 for any.
    """

    helper: str
    arguments: dict
    limit: int = 0


@dataclass(frozen=True)
class DrawnCase:
    """One set of inputs that an object is run on.

    Attributes:
        property: what the case examines, in words that end the headline of a message.
        part: the part of the exercise, with its own points, that the case belongs to.
        inputs: name -> numpy array, number, bool, string, list of strings, None or Helper; arrays become tensors.
        symbols: name -> symbolic shape of an array input, such as "B N_Q D_Q".
        sizes: symbol -> size, all pairwise different.
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
    inputs: dict
    symbols: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)
    build: dict | None = None
    weights: dict = field(default_factory=dict)
    condition: str = ""
    layout: str = ""
    precision: str = ""
    training: bool = False
    elsewhere: bool = False
    coarse: bool = False
    extreme: bool = False
    by: str = ""
    gradient: tuple = ()
    once: bool = False
    single: bool = False
    tolerance: float = 0.0
    gradient_tolerances: dict = field(default_factory=dict)
    rows: float = 0.0
    raises: str = ""
    bounds: dict = field(default_factory=dict)
    starts: str = ""

    def __post_init__(self):
        """Weights are arrays: numpy's arithmetic makes a number of a parameter that has no axis."""
        object.__setattr__(self, "weights", {name: np.asarray(weight) for name, weight in self.weights.items()})

    @property
    def plain(self) -> bool:
        """Whether an author declared the case for students to see, and it is about results, not about what is kept."""
        return not self.condition and "kept" not in self.bounds

    @property
    def given_sizes(self) -> dict[str, int]:
        """The sizes of axes, and the whole numbers among the inputs."""
        numbers = {name: one for name, one in self.inputs.items() if isinstance(one, int) and not isinstance(one, bool)}
        return {**self.sizes, **numbers}

    @property
    def arrays(self) -> list[np.ndarray]:
        """All arrays of the case: inputs, those that helpers are built from, and weights."""
        given = [*self.inputs.values(), *self.weights.values()]
        given += [array for value in given if isinstance(value, Helper) for array in value.arguments.values()]
        return [value for value in given if isinstance(value, np.ndarray)]


@dataclass(frozen=True)
class Output:
    """One returned value: what it was, and its numbers (float64, int64 or bool; None if too large or no array).

    Where only a comparison is needed, a sketch stands for the numbers (see `utils.checking.judging.tolerance.sketch`).
    """

    kind: str  # "tensor", "ndarray", or a type's name
    dtype: str = ""
    device: str = ""
    shape: tuple = ()
    values: np.ndarray | None = None
    sketch: np.ndarray | None = None
    carries_gradient: bool = False


@dataclass(frozen=True)
class Failure:
    """Why no output came: a stage ("signature", "constructor", "weights", "call", "timeout"), and the error."""

    stage: str
    type: str
    text: str = ""
    line: str = ""  # the student's source line that raised
    where: str = ""  # the function that this line is part of
    bases: str = ""  # what the error's type extends, separated by spaces
    helper: bool = False  # raised by what the case gave to the code, such as a toy decoder that refuses what it is fed
    own: bool = False  # raised or asserted by the author of the code, in words of his own
    refused: str = ""  # by the confinement, were there one: see `utils.checking.observing.refusals`


@dataclass(frozen=True)
class Observation:
    """What a student's object did with one case. Plain data: judging it runs none of the student's code."""

    structure: str = ""  # "tensor", "tuple", "list", "NoneType", ... : the type that was returned
    outputs: tuple = ()
    failure: Failure | None = None
    changed: tuple = ()  # names of the inputs or weights that came back modified, and of networks that did not come back
    called: tuple = ()  # names of the torch functions that ran
    gradients: dict = field(default_factory=dict)  # name -> array, or None where no gradient arrived
    asking: tuple = ()  # names of parameters that ask for a gradient, and that none reached
    backward: str = ""  # the error that computing the gradients raised
    unstable: bool = False  # another call with the same inputs gave something else
    overwritten: bool = False  # what an earlier call had given was changed by a later one
    asked_only: bool = False  # it failed, and would not have if no gradient had been asked for
    made: dict = field(default_factory=dict)  # entries of tensors on the way, by the names of a case's bounds
    starts: dict = field(default_factory=dict)  # name -> what a parameter holds in a new module: see `DrawnCase.starts`
    device: str = "cpu"  # where the inputs were
    there: "Observation | None" = None  # what came on a GPU, where that differs from what came on the CPU


@dataclass(frozen=True)
class FrozenCase:
    """A case with what is expected of it and what each misconception would give.

    Where each number counts by its own size, `units` are these sizes, an array for each result, and the numbers expected are
    divided by them.
    """

    case: DrawnCase
    expected: Observation
    mistakes: dict = field(default_factory=dict)  # misconception -> Observation, None where it gives what is expected
    units: tuple = ()


@dataclass(frozen=True)
class FrozenExercise:
    """All that judging needs to know of an exercise, and nothing that answers it."""

    name: str
    unit: str
    sections: dict  # part -> the lesson's section to reread
    is_module: bool
    parameters: tuple  # of the function, or of forward
    constructor: tuple
    outputs: tuple  # (name, symbolic shape) pairs
    formula: str
    forbidden: tuple
    layers: dict  # of a module, by name: "nn.Linear(D_X, D_Q)"; those inside of others too: "mlp.0"
    points: dict  # part -> points
    misconceptions: dict  # name -> the sentence a student reads
    cases: tuple
    invented: tuple = ()  # of the misconceptions those that nobody declared: a change of an input, a weight or a result
    examined: int = 0  # how many properties grading examines
    shapes: dict = field(default_factory=dict)  # of a module's parameters, by name: "[D_Q, D_X]"
    zeros: tuple = ()  # names of the outputs whose zeros are exact
    taught: tuple = ()  # names of the conditions that belong to the idea


def pack(value):
    """Turns records, arrays and containers into what `json` can write."""
    if isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        return {
            "array": value.dtype.name,
            "shape": list(value.shape),  # that of `little` is [1] for a single number
            "data": base64.b64encode(little.tobytes()).decode(),
        }
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value):
        held = [(name, getattr(value, name), default) for name, default in _defaults(type(value))]
        return {name: pack(one) for name, one, default in held if isinstance(one, np.ndarray) or one != default}
    if isinstance(value, dict):
        return {str(key): pack(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [pack(item) for item in value]
    return value


@lru_cache
def _defaults(record: type) -> tuple[tuple[str, object], ...]:
    """The fields of a record, and what each holds if nothing is given."""
    return tuple(
        (one.name, one.default_factory() if one.default_factory is not MISSING else one.default)
        for one in fields(record)
    )


def unpack_value(value):
    """The array, number, string or Helper that `pack` wrote.

    Raises:
        ValueError: an array's declared size and its bytes disagree, its type is not numeric, or it is too large.
    """
    if isinstance(value, dict) and "helper" in value:
        return Helper(value["helper"], _values(value["arguments"]), value.get("limit", 0))
    if not (isinstance(value, dict) and "array" in value):
        return value
    dtype = np.dtype(value["array"])
    shape = tuple(int(n) for n in value["shape"])
    if len(shape) > MAX_DIMENSIONS:
        raise ValueError("an array with more dimensions than there can be")
    if dtype.kind not in "fiub" or any(n < 0 for n in shape):
        raise ValueError("an array with a type or shape that cannot be")
    data = base64.b64decode(value["data"], validate=True)
    count = 1
    for n in shape:
        count *= n
    if count > MAX_VALUES or count * dtype.itemsize != len(data):
        raise ValueError("an array whose size and data disagree")
    return np.frombuffer(data, dtype=dtype.newbyteorder("<")).reshape(shape).astype(dtype)


def unpack_array(data):
    return None if data is None else np.asarray(unpack_value(data))


def _values(mapping: dict) -> dict:
    return {bounded_text(name): unpack_value(item) for name, item in mapping.items()}


def unpack_case(data: dict) -> DrawnCase:
    """A DrawnCase from its JSON form."""
    return DrawnCase(**{**data, "inputs": _values(data["inputs"]), "weights": _values(data.get("weights", {}))})


def unpack_observation(data: dict) -> Observation:
    """An Observation from its JSON form; raises ValueError, KeyError, TypeError or AttributeError on anything else."""
    failure = data.get("failure")
    return Observation(
        structure=bounded_text(data.get("structure", "")),
        outputs=tuple(_unpack_output(item) for item in data.get("outputs", ())[:MAX_OUTPUTS]),
        failure=failure and _unpack_failure(failure),
        changed=tuple(bounded_text(name) for name in data.get("changed", ())[:MAX_TEXT]),
        called=tuple(bounded_text(name) for name in data.get("called", ())[:MAX_TEXT]),
        gradients=_values(data.get("gradients", {})),
        asking=tuple(bounded_text(name) for name in data.get("asking", ())[:MAX_TEXT]),
        backward=bounded_text(data.get("backward", "")),
        unstable=bool(data.get("unstable", False)),
        overwritten=bool(data.get("overwritten", False)),
        asked_only=bool(data.get("asked_only", False)),
        made={bounded_text(name): int(count) for name, count in data.get("made", {}).items()},
        starts={bounded_text(name): bounded_text(held) for name, held in data.get("starts", {}).items()},
        device=bounded_text(data.get("device", "cpu")),
        there=unpack_observation({**data["there"], "there": None}) if data.get("there") else None,
    )


def _unpack_failure(data: dict) -> Failure:
    return Failure(
        **{name: bounded_text(data.get(name, "")) for name in FAILURE},
        own=bool(data.get("own")),
        helper=bool(data.get("helper")),
    )


def bounded_text(value) -> str:
    """A text that may have been made to do harm: bounded, without control characters, without memory addresses."""
    text = str(value)[:MAX_TEXT]
    if not text.isprintable():
        text = "".join(one if one.isprintable() or one in "\n\t" else "�" for one in text)
    return re.sub(r"\b0x[0-9a-fA-F]{6,}", "0x…", text) if "0x" in text else text


def _unpack_output(data: dict) -> Output:
    shape = data.get("shape", ())
    if len(shape) > MAX_DIMENSIONS:
        raise ValueError("an array with more dimensions than there can be")
    values = unpack_array(data.get("values"))
    if values is not None and values.shape != tuple(shape):
        raise ValueError("numbers of another shape than is declared")
    return Output(
        kind=bounded_text(data["kind"]),
        carries_gradient=bool(data.get("carries_gradient", False)),
        dtype=bounded_text(data.get("dtype", "")),
        device=bounded_text(data.get("device", "")),
        shape=tuple(int(n) for n in shape),
        values=values,
        sketch=unpack_array(data.get("sketch")),
    )
