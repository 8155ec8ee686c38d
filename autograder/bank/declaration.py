"""What an exercise is: a reference with its cases, misconceptions and alternatives, declared in one place."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, get_args, overload

from torch import nn

Made = TypeVar("Made", bound=Callable)


@dataclass(frozen=True)
class Case:
    """A declared case: the inputs that an exercise is run on, apart from the numbers, which come from a seed.

    Attributes:
        property: what the case examines, in the words of a headline: "a batch of sequences".
        expand: what a starred axis stands for, such as {"*N": "H W"}; by default one axis of its own name.
        values: arguments that are no tensors: {"dim": 0}.
        scale: standard deviation of a named input; 1 for those not named.
        sizes: sizes that must not be left to chance: {"D_Q": 64}; the name of another axis makes the two equal on purpose.
        edit: changes the drawn arrays in place, given (inputs, rng); for large, masked or repeated entries.
        part: the part of the exercise that the case belongs to.
        edge: the case is at the edge of what is asked, in sizes or numbers: whoever fails there alone has the idea, and loses no
            more than the share for robustness.
        extreme: the numbers are large on purpose, so saturation is no fault of the case.
        precision: the type in which numbers with a fraction arrive, where it is not float32: "float64" or "bfloat16".
        layout: how the inputs lie in memory, where they are not contiguous: "transposed", "permuted" or "stepped".
        rows: the share of rows that must be right all through, for a function that uses what was trained; else 0. Such a
            case is examined as it is, in no other type or memory layout.
        raises: the error that the reference raises on the case and everybody should, such as "ValueError". Its message must
            name the numbers that the reference's names.
        bounds: the axes of a table that must not be made. {"largest": axes}: at no time, every intermediate tensor is smaller;
            {"kept": axes}: nor in pieces that are kept, all that are alive at a time have fewer entries; {"made": axes}: nor in
            pieces one after another, all together have fewer entries.
        starts: names of a module's parameters, "A B", that begin as the reference's do: as zeros, as one number, or as several.
        blank: names of a module's parameters, "A B", that are 0 in this case.
    """

    property: str
    expand: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)
    scale: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)
    edit: Callable | None = None
    part: str = "result"
    edge: bool = False
    extreme: bool = False
    precision: str = ""
    layout: str = ""
    rows: float = 0.0
    raises: str = ""
    bounds: dict = field(default_factory=dict)
    starts: str = ""
    blank: str = ""


@dataclass(frozen=True)
class Variation:
    """A mistake or an alternative solution: its name, the object, and for a mistake the student's sentence.

    Attributes:
        made: the code as the author wrote it, where the object is derived from it.
        universal: the sentence speaks of every result, so that each result in which the mistake does not show belies it.
    """

    name: str
    object: Callable
    sentence: str = ""
    made: Callable | None = None
    universal: bool = False


class Exercise:
    """One exercise of the bank.

    Args:
        points: a number, or points by part; 0 for a stretch, which is checked and earns nothing.
        section: the lesson's section to reread, or one for each part: {"result": "Many queries at once"}.
        outputs: the names of what is returned, "Y A".
        formula: the formula with its shapes, shown when numbers or shapes are wrong.
        cases: what the exercise is run on. Those of `autograder.bank.cases.conditions` are added to them.
        source: the paper, book, deck or documentation that what is asked comes from.
        forbidden: torch functions that would answer the question, matched by the beginning of their names.
        draws: gives, for (inputs, sizes, rng), the inputs that are not independent normal numbers: words, lengths, helpers.
        differentiable: whether a gradient must flow through the result; False for a measurement.
        waived: names of conditions that do not apply, each with the reason, which the audit prints.
        taught: names of conditions that are what the exercise teaches: they belong to the idea, and may cost all of a part.
        gradients: the names of the results that gradients must flow from, where not from all that have a fraction: "Y".
        zeros: the names of the results whose zeros are exact: a weight that is hidden is 0, not merely small.
        equivalent: for each mutant of the reference (see `autograder.bank.audit.mutants`) that changes nothing, the end
            of its line and the reason.
    """

    def __init__(
        self,
        reference: Callable,
        *,
        points: int | dict[str, int],
        section: str | dict[str, str],
        outputs: str,
        formula: str,
        cases: Iterable[Case],
        source: str = "",
        forbidden: Iterable[str] = (),
        draws: Callable | None = None,
        differentiable: bool = True,
        waived: Mapping[str, str] | tuple[()] = (),
        taught: Iterable[str] = (),
        gradients: str = "",
        zeros: str = "",
        equivalent: Mapping[str, str] | tuple[()] = (),
    ):
        self.reference: Any = reference  # a function, or a class of modules
        self.unit = reference.__module__.split(".")[2].removeprefix("unit_")
        self.name = reference.__name__
        self.points = points if isinstance(points, dict) else {"result": points}
        self.sections = section if isinstance(section, dict) else dict.fromkeys(self.points, section)
        self.outputs = tuple(outputs.replace(",", " ").split())
        self.formula = formula
        self.cases = tuple(cases)
        self.source = source
        self.forbidden = tuple(forbidden)
        self.draws = draws
        self.differentiable = differentiable
        self.waived = dict(waived)
        self.taught = tuple(taught)
        self.zeros = tuple(zeros.split())
        self.equivalent = dict(equivalent)
        self._gradients = gradients
        self.misconceptions: list[Variation] = []
        self.alternatives: list[Variation] = []
        self.changes: Callable[[Exercise], list[Variation]] = lambda exercise: []  # which the catalogue knows

    @property
    def is_module(self) -> bool:
        return isinstance(self.reference, type) and issubclass(self.reference, nn.Module)

    @property
    def max_points(self) -> int:
        return sum(self.points.values())

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the function, or of the module's forward without self."""
        return _without_self(self.reference.forward) if self.is_module else inspect.signature(self.reference)

    @property
    def constructor(self) -> tuple:
        return tuple(_without_self(self.reference.__init__).parameters) if self.is_module else ()

    @property
    def result_shapes(self) -> list[str]:
        """The symbolic shape of each output, as it is annotated: ["B N_Q D_V", "B N_Q N_X"]."""
        return [annotation.dim_str for annotation in self._returned]

    @property
    def result_types(self) -> list[str]:
        """The kind of numbers of each output: "float", "int" or "bool"."""
        return list(map(kind, self._returned))

    @property
    def input_types(self) -> dict[str, str]:
        """The kind of each input, as `kind` calls it."""
        return {name: kind(parameter.annotation) for name, parameter in self.signature.parameters.items()}

    @property
    def _returned(self) -> list:
        returned = self.signature.return_annotation
        return list(returned.__args__) if len(self.outputs) > 1 else [returned]

    @property
    def gradients(self) -> tuple[int, ...]:
        """The places of the results that gradients must flow from."""
        if not self.differentiable:
            return ()
        names = self._gradients.split() or self.outputs
        kinds = zip(self.outputs, self.result_types)
        return tuple(place for place, (name, kind) in enumerate(kinds) if name in names and kind == "float")

    @property
    def input_shapes(self) -> dict[str, str]:
        """The symbolic shape of each input that is a tensor."""
        shapes = {name: dimensions(parameter.annotation) for name, parameter in self.signature.parameters.items()}
        return {name: shape for name, shape in shapes.items() if shape is not None}

    @property
    def starred(self) -> set[str]:
        """The axes that stand for any number of axes: {"*B"}."""
        return {axis for shape in self.input_shapes.values() for axis in shape.split() if axis.startswith("*")}

    @property
    def lengths(self) -> list[str]:
        """The parameters that are sizes of a result's axes: N_Q of f(N_Q: int, X: …) -> Bool[Tensor, "N_Q M+N_Q"]."""
        results = re.split(r"[ +*]", " ".join(self.result_shapes))
        integers = [name for name, parameter in self.signature.parameters.items() if parameter.annotation is int]
        return [name for name in integers if name in results]

    def symbols(self, case: Case) -> dict[str, str]:
        """The axes of each tensor that a case draws, starred ones expanded."""
        shapes = {name: shape for name, shape in self.input_shapes.items() if name not in case.values}
        return {name: _expanded_axes(shape, case.expand) for name, shape in shapes.items()}

    def axes(self, case: Case) -> list[str]:
        """The axes that need a size in a case: of the constructor, the inputs, and lengths that are arguments."""
        lengths = [name for name in self.lengths if name not in case.values]
        return [*self.constructor, *" ".join(self.symbols(case).values()).split(), *lengths]

    @cached_property
    def counterfactuals(self) -> list[Variation]:
        """The mistakes that nobody declared; they are derived when first asked for."""
        return self.changes(self)

    @property
    def explanations(self) -> list[Variation]:
        """All mistakes that may explain a wrong result: the declared ones, then those derived from the signature."""
        return self.misconceptions + self.counterfactuals

    @overload
    def misconception(self, made: Made) -> Made: ...

    @overload
    def misconception(self, *, universal: bool) -> Callable[[Made], Made]: ...

    def misconception(self, made: Callable | None = None, *, universal: bool = False) -> Callable:
        """Registers a mistake; its docstring is the sentence that a student who makes it reads, what follows {NaN} only where
        something of the answer is NaN.

        For a module, a plain function becomes the `forward` of a subclass of the reference. It decorates with or without
        arguments: `@exercise.misconception`, `@exercise.misconception(universal=True)`.

        Args:
            universal: the sentence speaks of every result, whatever the inputs are: "The block is post-norm whatever norm_first
                says." It is not told where another part of the exercise comes out otherwise.
        """
        if made is None:
            return lambda decorated: self._register(decorated, universal)
        return self._register(made, universal)

    def _register(self, made: Callable, universal: bool) -> Callable:
        sentence = inspect.getdoc(made)
        if sentence is None:
            raise ValueError(f"the misconception {made.__name__} has no docstring, which is its sentence")
        text = " ".join(sentence.split())
        self.misconceptions.append(Variation(made.__name__, self._object(made), text, made, universal))
        return made

    def alternative(self, made: Made) -> Made:
        """Registers a correct solution in another style."""
        self.alternatives.append(Variation(made.__name__, self._object(made)))
        return made

    def _object(self, function: Callable) -> Callable:
        if not self.is_module or isinstance(function, type):
            return function
        return type(function.__name__, (self.reference,), {"forward": function})


def _without_self(function: Callable) -> inspect.Signature:
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return inspect.Signature(parameters, return_annotation=inspect.signature(function).return_annotation)


def _expanded_axes(shape: str, expand: dict) -> str:
    return " ".join(expanded for axis in shape.split() for expanded in expand.get(axis, axis.lstrip("*")).split())


def parts(axis: str, axes: list[str]) -> list[str]:
    """The axes that an axis is composed of: H and W of H*W, Q and N of Q+N where both are axes; N+1 alone without an axis N."""
    pieces = re.split(r"[+*]", axis)
    composed = "*" in axis or all(piece.isdigit() or piece in axes for piece in pieces)
    return pieces if composed else [axis]


def _tensor_annotation(annotation: Any) -> Any:
    """The `Float[Tensor, "B N"]` of an annotation, also of one that allows None; else None."""
    return next((candidate for candidate in (annotation, *get_args(annotation)) if hasattr(candidate, "dim_str")), None)


def dimensions(annotation: Any) -> str | None:
    """The axes that an annotation such as `Float[Tensor, "B N"]` names; None for what is no tensor."""
    tensor = _tensor_annotation(annotation)
    return tensor and tensor.dim_str


def kind(annotation: Any) -> str:
    """The kind of a tensor's numbers: "float", "int" or "bool"; of other values "number", "real" or "flag"; else empty."""
    tensor = _tensor_annotation(annotation)
    if tensor is None:
        return {int: "number", float: "real", bool: "flag"}.get(annotation, "")
    return tensor.__name__.partition("[")[0].lower()


def exercise(**declared: Any) -> Callable[..., Exercise]:
    """Declares the decorated reference as an exercise; its name, parameters and jaxtyping shapes are the exercise's.

    Args:
        declared: the arguments of `Exercise`.
    """
    return lambda reference: Exercise(reference, **declared)
