"""The sentences a student reads: what was checked, expected and received, and the mistake it looks like."""

from textwrap import wrap

import numpy as np

from utils.records import FrozenCase, FrozenExercise, Observation, Output
from utils.tolerance import close, tolerance

CODE = "in your line  "


def explain(problem: str, exercise: FrozenExercise, frozen: FrozenCase, seen: Observation, reveal: bool) -> tuple[str, str]:
    """The sentence for a problem and, where the case may be shown, the line of numbers below it."""
    writer = _WRITERS[problem]
    sentence, detail = writer(_Context(exercise, frozen, seen, reveal))
    return sentence, detail if reveal else ""


def success(exercise: FrozenExercise, verdicts) -> str:
    """What a student reads when every case passed."""
    count = len(verdicts)
    message = f"✓ {exercise.name} · {count} properties checked, all hold"
    if exercise.examined > count:
        message += f"\n  Grading examines {exercise.examined} properties, on other numbers and other sizes."
    return message


def failure(exercise: FrozenExercise, shown, misconception: str | None, lost: set, points: float) -> str:
    """What a student reads when a case failed: headline, sentence, numbers, and where to reread."""
    sentence = exercise.misconceptions[misconception] if misconception else shown.sentence
    lines = [f"✗ {exercise.name} · {shown.property}", *_indent(sentence)]
    reread = f'reread lesson {exercise.unit[:2]}, "{exercise.section}"'
    lines += _indent(f"{shown.detail} · {reread}" if shown.detail else reread)
    if len(exercise.points) > 1 and points:
        kept = [part for part in exercise.points if part not in lost]
        lines += _indent(f"{points:g} of {sum(exercise.points.values()):g} points: {' and '.join(kept)} is right.")
    return "\n".join(lines)


def forbidden_call(exercise: FrozenExercise, seen: Observation) -> str | None:
    """The first forbidden function that ran, by the name a student knows it under."""
    for name in exercise.forbidden:
        if any(called.lstrip("_").startswith(name) for called in seen.called):
            return name
    return None


def symbolic(shape: tuple, sizes: dict) -> str:
    """A shape in the lesson's symbols where its sizes are known: (2, 5) -> "[B, N_Q]"."""
    names = {size: symbol for symbol, size in sizes.items()}
    return "[" + ", ".join(names.get(size, str(size)) for size in shape) + "]"


def _indent(text: str) -> list[str]:
    """Lines of at most 80 characters; a quoted line of code stays whole."""
    wrapped = []
    for line in text.splitlines():
        wrapped += ["  " + line] if line.startswith(CODE) else wrap(line, 80, initial_indent="  ", subsequent_indent="  ")
    return wrapped


class _Context:
    """What a sentence can speak of: the exercise, the case, what was expected and what came."""

    def __init__(self, exercise: FrozenExercise, frozen: FrozenCase, seen: Observation, reveal: bool):
        self.exercise, self.case, self.expected, self.seen, self.reveal = exercise, frozen.case, frozen.expected, seen, reveal

    @property
    def returns(self) -> str:
        names = [name for name, _ in self.exercise.outputs]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    def shape(self, shape: tuple) -> str:
        text = symbolic(shape, self.case.sizes)
        return f"{text} = {list(shape)}" if self.reveal and text != str(list(shape)) else text

    def pairs(self):
        """(name, expected output, received output), for every output."""
        names = [name for name, _ in self.exercise.outputs]
        return zip(names, self.expected.outputs, self.seen.outputs)


def _unfinished(c):
    where = "its constructor" if c.seen.failure.stage == "constructor" else "it"
    return f"Not written yet: {where} still raises NotImplementedError. Put your code in that line's place.", ""


def _exception(c):
    failure = c.seen.failure
    text = f": {failure.text.splitlines()[0]}" if c.reveal and failure.text else ""
    sentence = f"Your code raised {failure.type}{text}"
    if failure.line:
        sentence += f"\n{CODE}{failure.line}"
    return sentence + _hint(failure), _expects(c)


def _expects(c) -> str:
    shapes = ", ".join(f"{name} {c.shape(out.shape)}" for name, out in zip(dict(c.exercise.outputs), c.expected.outputs))
    return f"expected {shapes}"


def _hint(failure) -> str:
    text = failure.text
    if any(words in text for words in ("cannot be multiplied", "must match the size", "Expected size for", "inconsistent tensor size")):
        return "\nTwo shapes do not fit. Write each factor's shape beside the line: a product [.., n, k] @ [.., k, m] needs equal k."
    if failure.type == "NameError":
        return "\nA name is used that nothing defines at this point: a typing slip, or a variable of another cell."
    if "in-place" in text and "leaf" in text:
        return "\nAn input was overwritten in place (+=, -=, or a method that ends in _). Make a new tensor instead."
    if "view" in text and "stride" in text:
        return "\nThis input is a view whose elements do not lie side by side: use reshape, which copies where it must."
    if "requires grad" in text and "numpy" in text:
        return "\nNumPy cannot follow gradients. Stay in torch from the inputs to the result."
    return ""


def _wrong_signature(c):
    failure, name = c.seen.failure, c.exercise.name
    if failure.type == "not_callable":
        return f"`{name}` is a {failure.text}, not a function: is its name used for something else further up?", ""
    if failure.type == "not_a_module":
        return f"`{name}` must be a class that extends nn.Module; it is a {failure.text}.", ""
    asked = ", ".join(c.exercise.parameters)
    if c.exercise.is_module:
        asked = f"forward(self, {asked}) and __init__(self, {', '.join(c.exercise.constructor)})"
        return f"`{name}` does not take the asked parameters: it needs {asked}.\nYours: {failure.text}", ""
    return f"`{name}` does not take the asked parameters: it is called as {name}({asked}).\nYours: {failure.text}", ""


def _missing_object(c):
    kind = "class" if c.exercise.is_module else "function"
    return f"Nothing is called `{c.exercise.name}` at this point: its {kind} was renamed, deleted, or its cell failed.", ""


def _constructor_failed(c):
    failure = c.seen.failure
    if failure.type == "no_super_init" or "before Module.__init__() call" in failure.text:
        return "__init__ must begin with super().__init__(), so that nn.Module can register the layers you make after it.", ""
    arguments = ", ".join(c.exercise.constructor)
    text = f": {failure.text.splitlines()[0]}" if failure.text else ""
    line = f"\n{CODE}{failure.line}" if failure.line else ""
    return f"{c.exercise.name}({arguments}) could not be built: {failure.type}{text}{line}", ""


def _wrong_parameters(c):
    failure = c.seen.failure
    wanted = {name: list(weight.shape) for name, weight in c.case.weights.items()}
    if failure.type == "missing":
        layer = failure.text.split(".")[0]
        return (
            f"The module has no parameter {failure.text}. Make `self.{layer}` an nn.Linear in __init__, under this very name:"
            " checks set its weights themselves, so that no mark depends on chance."
        ), f"expected parameters {', '.join(wanted)}"
    if failure.type == "extra":
        return (
            f"The module has parameters that were not asked for: {failure.text}. (A layer without bias is"
            " nn.Linear(…, …, bias=False).)"
        ), f"expected parameters {', '.join(wanted)}"
    if failure.type != "shape":
        return _exception(c)
    name, shape = failure.text.split(" ", 1)
    symbols = symbolic(tuple(wanted[name]), c.case.sizes)
    return (
        f"{name} has the wrong shape. nn.Linear(in, out) stores its weight as [out, in]; this one maps"
        f" {symbols[1:-1].split(', ')[-1]} numbers to {symbols[1:-1].split(', ')[0]}."
    ), f"expected {symbols} = {wanted[name]}, yours is {shape}"


def _too_slow(c):
    return f"It took longer than {c.seen.failure.text} and was stopped: a loop that does not end, or one over single numbers?", ""


def _process_ended(c):
    return (
        "The notebook's process ended before this exercise was reached: something above it crashed or exited Python, or"
        " used more than it was given."
    ), ""


def _forbidden_call(c):
    name = forbidden_call(c.exercise, c.seen)
    return f"torch's own {name} was called. This exercise asks you to build what that function does; use the steps it is made of.", ""


def _returned_none(c):
    missing = [name for name, _, got in c.pairs() if got.kind == "NoneType"]
    what = "The result" if len(c.exercise.outputs) == 1 or c.seen.structure == "NoneType" else f"{' and '.join(missing)}"
    return f"{what} is None. Does the last line say `return {c.returns.strip('()')}`?", f"expected {c.returns}"


def _wrong_structure(c):
    count = len(c.expected.outputs)
    wanted = f"{c.returns}, {count} tensors" if count > 1 else f"one tensor, {c.returns}"
    got = "one tensor" if c.seen.structure == "tensor" else f"a {c.seen.structure} of {len(c.seen.outputs)}"
    return f"It should return {wanted}; it returns {got}.", ""


def _changed_input(c):
    names = " and ".join(c.seen.changed)
    return (
        f"{names} came back changed: your code writes into what it was given (+=, -=, an index on the left of =, or a"
        " method that ends in _). A caller's tensors are not yours; make new ones."
    ), ""


def _not_a_tensor(c):
    name, got = next((name, got) for name, _, got in c.pairs() if got.kind != "tensor")
    return f"{name} is a {got.kind}, not a tensor. Stay in torch: what leaves it (NumPy, lists, .item()) loses its gradient.", ""


def _wrong_shape(c):
    name, wanted, got = next(pair for pair in c.pairs() if pair[1].shape != pair[2].shape)
    sentence = f"{name} has the wrong shape."
    if sorted(wanted.shape) == sorted(got.shape):
        sentence = f"{name} has its axes in another order."
    elif len(got.shape) == len(wanted.shape) - 1:
        sentence = f"{name} has one axis too few: summed over, or lost to an index?"
    elif len(got.shape) == len(wanted.shape) + 1:
        sentence = f"{name} has one axis too many: a sum that is missing, or an unsqueeze that was not undone?"
    elif 1 in got.shape and 1 not in wanted.shape:
        sentence = f"{name} has an axis of size 1 left over from keepdim or unsqueeze."
    return f"{sentence}\n{c.exercise.formula}", f"expected {c.shape(wanted.shape)}, yours is {c.shape(got.shape)}"


def _wrong_dtype(c):
    name, wanted, got = next(pair for pair in c.pairs() if pair[1].dtype != pair[2].dtype or pair[2].values is None)
    return (
        f"{name} is {got.dtype}; the inputs are {wanted.dtype}, and the result keeps their type. Look for a tensor that your"
        " code makes without dtype=, for .float(), or for an argmax where weights were meant."
    ), ""


def _wrong_device(c):
    name, got = next((name, got) for name, _, got in c.pairs() if got.device != c.seen.device)
    return (
        f"{name} is on {got.device}; the inputs are on {c.seen.device}. Make new tensors with device=, or from the inputs"
        " (zeros_like, new_zeros), and leave out .cpu()."
    ), ""


def _not_finite(c):
    name, wanted, got = next(pair for pair in c.pairs() if np.isnan(pair[2].values).any())
    return (
        f"{name} contains NaN. Usually inf/inf, inf−inf or 0/0: exp of a large number overflows, a sum of underflowed"
        " numbers is 0."
    ), f"{int(np.isnan(got.values).sum())} of {got.values.size} numbers are NaN, none expected"


def _wrong_value(c):
    limit = tolerance(c.expected, c.seen)
    name, wanted, got = next(p for p in c.pairs() if not close(p[2].values, p[1].values, limit).all())
    symbols = dict(c.exercise.outputs)[name]
    sentence = f"The shape of {name} is right, its numbers are not. {_pattern(name, symbols, wanted, got, c.reveal)}".rstrip()
    return f"{sentence}\n{c.exercise.formula}", _numbers(name, wanted, got)


def _numbers(name: str, wanted: Output, got: Output) -> str:
    worst = np.nanargmax(np.abs(np.nan_to_num(got.values - wanted.values)).reshape(-1))
    index = np.unravel_index(worst, wanted.shape) if wanted.shape else ()
    place = f"{name}[{', '.join(str(int(i)) for i in index)}]" if index else name
    return f"expected {place} = {_number(wanted.values[index])}, yours is {_number(got.values[index])}"


def _number(value) -> str:
    return f"{float(value):.4g}" if abs(value) >= 1e-3 or value == 0 else f"{float(value):.2e}"


def _pattern(name: str, symbols: str, wanted: Output, got: Output, reveal: bool) -> str:
    """What the wrong numbers have in common with the right ones, if anything."""
    a, b = wanted.values.astype(float), got.values.astype(float)
    axes = symbols.split()
    if a.ndim and _sums_to_one(a, -1) and not _sums_to_one(b, -1):
        other = next((axis for axis in range(b.ndim - 1) if _sums_to_one(b, axis)), None)
        if other is not None and b.shape[other] > 1:
            label = axes[other - b.ndim] if len(axes) >= b.ndim - other else f"axis {other}"
            return f"They sum to 1 over {label}; they should sum to 1 over the last axis."
        return "They should sum to 1 over the last axis, and do not."
    finite = np.isfinite(a) & np.isfinite(b) & (np.abs(a) > 1e-6)
    if finite.sum() > 2:
        ratio = b[finite] / a[finite]
        if np.allclose(ratio, ratio.flat[0], rtol=1e-3) and abs(ratio.flat[0] - 1) > 1e-3:
            times = f", {ratio.flat[0]:.4g} times the right ones" if reveal else ""
            return f"They differ from the right ones by one constant factor{times}."
        shift = (b - a)[finite]
        if np.allclose(shift, shift.flat[0], atol=1e-4):
            return "They differ from the right ones by one constant that is added."
    if a.ndim >= 2:
        right = [bool(np.isclose(x, y, rtol=1e-4, atol=1e-5).all()) for x, y in zip(a, b)]
        if any(right) and not all(right):
            return f"They are right for the first index {right.index(True)}, wrong for {right.index(False)}: is an axis mixed up or an index fixed?"
    if np.allclose(np.sort(a, axis=None), np.sort(b, axis=None), rtol=1e-4, atol=1e-5):
        return "They are the right numbers in the wrong places: a reshape where a transpose was meant?"
    if np.isclose(a, b, rtol=2e-2, atol=2e-2).all():
        return "They are close: something small is added, left out or rounded."
    return ""


def _sums_to_one(values: np.ndarray, axis: int) -> bool:
    return bool(np.allclose(values.sum(axis=axis), 1, atol=1e-3))


def _unstable(c):
    return "Two calls with the same inputs gave different results. Nothing in it may depend on chance or on an earlier call.", ""


def _gradient_names(c) -> tuple:
    return tuple(
        name for name, wanted in c.expected.gradients.items() if wanted is not None and c.seen.gradients.get(name) is None
    )


def _no_gradient(c):
    names = " and ".join(_gradient_names(c))
    if not names:
        return "A gradient reaches an input that should not have one.", ""
    return (
        f"The numbers are right, but no gradient reaches {names}: nothing could be learned through it. Something cuts the"
        " graph: .detach(), .data, .item(), torch.tensor(…) of a tensor, NumPy, or no_grad."
    ), ""


def _wrong_gradient(c):
    names = [
        name for name, wanted in c.expected.gradients.items()
        if wanted is not None and not np.allclose(c.seen.gradients[name], wanted, rtol=1e-3, atol=1e-4)
    ]  # fmt: skip
    what = f" for {' and '.join(names)}" if names else ""
    return (
        f"The numbers are right, but the gradient{what} is not: a part of the computation is detached, or done outside of"
        " torch."
    ), ""


_WRITERS = {
    "unfinished": _unfinished,
    "exception": _exception,
    "wrong_signature": _wrong_signature,
    "missing_object": _missing_object,
    "constructor_failed": _constructor_failed,
    "wrong_parameters": _wrong_parameters,
    "too_slow": _too_slow,
    "process_ended": _process_ended,
    "forbidden_call": _forbidden_call,
    "returned_none": _returned_none,
    "wrong_structure": _wrong_structure,
    "changed_input": _changed_input,
    "not_a_tensor": _not_a_tensor,
    "wrong_shape": _wrong_shape,
    "wrong_dtype": _wrong_dtype,
    "wrong_device": _wrong_device,
    "not_finite": _not_finite,
    "wrong_value": _wrong_value,
    "unstable": _unstable,
    "no_gradient": _no_gradient,
    "wrong_gradient": _wrong_gradient,
}
