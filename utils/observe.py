"""Runs a student's function or module on one case and writes down, as plain data, what it did."""

import inspect
import linecache
import sysconfig
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from utils.records import MAX_VALUES, Case, Failure, Observation, Output

SLOW = 1.0  # seconds; a call slower than this is not repeated
_HERE = Path(__file__).parent
_LIBRARIES = tuple(str(Path(sysconfig.get_paths()[name]).resolve()) for name in ("stdlib", "purelib", "platlib"))


def observe(student_object, case: Case, device: torch.device | str = "cpu") -> Observation:
    """Runs `student_object` on `case` and returns what came out, without judging it.

    A module class is built with `case.build`, put in eval mode and given `case.weights`; a function is called as it
    is. Whatever the student's code raises becomes the observation's `failure`, except KeyboardInterrupt, by which
    time limits reach the code.
    """
    try:
        target, parameters = _target(student_object, case, device)
        inputs = _inputs(case, device)
        if case.gradient:
            for tensor in inputs.values():
                if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                    tensor.requires_grad_()
        pristine = {name: value.detach().clone() for name, value in _tensors({**inputs, **parameters})}
        started = time.monotonic()
        with _Calls() as calls:
            result = _stage("call", lambda: _call(target, inputs))
        outputs = _outputs(result)
        repeat = outputs
        if time.monotonic() - started < SLOW:
            repeat = _outputs(_stage("call", lambda: _call(target, _inputs(case, device))))
    except _Failed as failed:
        return Observation(failure=failed.failure, device=torch.device(device).type)
    watched = {**inputs, **parameters}
    return Observation(
        structure=_kind(result),
        outputs=outputs,
        changed=tuple(name for name, before in pristine.items() if not torch.equal(watched[name].detach(), before)),
        called=tuple(sorted(calls.names)),
        gradients=_gradients(result, watched) if case.gradient else {},
        unstable=not _alike(outputs, repeat),
        device=torch.device(device).type,
    )


class _Failed(Exception):
    def __init__(self, failure: Failure):
        self.failure = failure


def _stage(stage: str, action):
    try:
        return action()
    except _Failed:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and exceptions of the student's own included
        raise _Failed(Failure(stage, type(error).__name__, _text(error), _line(error))) from None


def _text(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except BaseException:
        return ""


def _line(error: BaseException) -> str:
    """The innermost source line that is neither a library's nor the kit's: the student's own."""
    line = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_LIBRARIES) and Path(file).parent != _HERE:
            line = linecache.getline(file, trace.tb_lineno, trace.tb_frame.f_globals).strip() or line
        trace = trace.tb_next
    return line[:200]


def _target(student_object, case: Case, device):
    """The callable that takes the inputs, and its named parameters."""
    if case.build is None:
        if not callable(student_object):
            raise _Failed(Failure("signature", "not_callable", _kind(student_object)))
        return student_object, {}
    if not (isinstance(student_object, type) and issubclass(student_object, nn.Module)):
        raise _Failed(Failure("signature", "not_a_module", _kind(student_object)))
    module = _stage("constructor", lambda: _call(student_object, case.build))
    if not hasattr(module, "_parameters"):
        raise _Failed(Failure("constructor", "no_super_init"))
    return _stage("weights", lambda: _inject(module, case, device))


def _inject(module: nn.Module, case: Case, device):
    parameters = dict(module.named_parameters())
    for name, weight in case.weights.items():
        if name not in parameters:
            raise _Failed(Failure("weights", "missing", name))
        if tuple(parameters[name].shape) != weight.shape:
            raise _Failed(Failure("weights", "shape", f"{name} {list(parameters[name].shape)}"))
    extra = sorted(set(parameters) - set(case.weights))
    if extra:
        raise _Failed(Failure("weights", "extra", ", ".join(extra)))
    dtype = next((torch.from_numpy(w).dtype for w in case.weights.values()), None)
    module.to(device=device, dtype=dtype).eval()
    parameters = dict(module.named_parameters())
    with torch.no_grad():
        for name, weight in case.weights.items():
            parameters[name].copy_(torch.from_numpy(weight))
    return module, parameters


def _call(target, arguments: dict):
    """Calls by name where the names are the asked ones, else in the asked order."""
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return target(*arguments.values())
    try:
        signature.bind(**arguments)
    except TypeError:
        try:
            signature.bind(*arguments.values())
        except TypeError as error:
            raise _Failed(Failure("signature", "arguments", f"{signature}: {error}")) from None
        return target(*arguments.values())
    return target(**arguments)


def _inputs(case: Case, device) -> dict:
    return {
        name: _tensor(value, device, case.strided) if isinstance(value, np.ndarray) else value
        for name, value in case.inputs.items()
    }


def _tensor(array: np.ndarray, device, strided: bool) -> torch.Tensor:
    if array.dtype == np.float64 and torch.device(device).type == "mps":
        array = array.astype(np.float32)  # MPS has no double precision
    tensor = torch.from_numpy(array.copy()).to(device)
    return torch.stack([tensor, tensor], dim=-1)[..., 0] if strided else tensor


def _tensors(values: dict):
    return [(name, value) for name, value in values.items() if isinstance(value, torch.Tensor)]


class _Calls:
    """Notes the names of torch functions while it is entered: as Python calls them, and as they are dispatched."""

    def __init__(self):
        self.names = names = set()

        class Functions(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                names.add(getattr(function, "__name__", str(function)))
                return function(*args, **(kwargs or {}))

        class Dispatched(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                names.add(function.overloadpacket.__name__)
                return function(*args, **(kwargs or {}))

        self.modes = (Functions(), Dispatched())

    def __enter__(self):
        for mode in self.modes:
            mode.__enter__()
        return self

    def __exit__(self, *error):
        for mode in reversed(self.modes):
            mode.__exit__(*error)


def _kind(value) -> str:
    if isinstance(value, torch.Tensor):
        return "tensor"
    return type(value).__name__


def _outputs(result) -> tuple:
    items = result if isinstance(result, (tuple, list)) else (result,)
    return tuple(_output(item) for item in items[:16])


def _output(value) -> Output:
    if isinstance(value, torch.Tensor):
        plain = torch.Tensor.detach(value).as_subclass(torch.Tensor)
        return Output("tensor", str(plain.dtype), plain.device.type, tuple(plain.shape), _numbers(plain))
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        values = value.astype(np.float64) if value.size <= MAX_VALUES else None
        return Output("ndarray", str(value.dtype), "cpu", value.shape, values)
    if isinstance(value, (bool, int, float)):
        return Output(type(value).__name__, values=np.asarray(value, dtype=np.float64))
    return Output(_kind(value))


def _numbers(tensor: torch.Tensor) -> np.ndarray | None:
    if tensor.numel() > MAX_VALUES or tensor.is_complex():
        return None
    try:
        dense = tensor.to_dense() if tensor.layout != torch.strided else tensor
        wide = dense.cpu().to(torch.float64 if dense.is_floating_point() else torch.int64)
        return np.ascontiguousarray(wide.numpy())
    except (RuntimeError, TypeError):
        return None


def _gradients(result, watched: dict) -> dict:
    """Gradients of a fixed, uneven sum of all outputs, so that no symmetry hides a missing one."""
    items = result if isinstance(result, (tuple, list)) else (result,)
    total = 0.0
    for index, item in enumerate(items):
        if isinstance(item, torch.Tensor) and item.is_floating_point() and item.requires_grad:
            slope = torch.cos(torch.arange(item.numel(), dtype=item.dtype, device=item.device) * (0.7 + index))
            total = total + (item.reshape(-1) * slope).sum()
    leaves = {name: value for name, value in watched.items() if getattr(value, "requires_grad", False)}
    if not isinstance(total, torch.Tensor):
        return dict.fromkeys(leaves)
    try:
        found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    except RuntimeError:
        return dict.fromkeys(leaves)
    return {name: None if slope is None else _numbers(slope) for name, slope in zip(leaves, found)}


def _alike(first: tuple, second: tuple) -> bool:
    if len(first) != len(second):
        return False
    for a, b in zip(first, second):
        if (a.shape, a.kind) != (b.shape, b.kind):
            return False
        if a.values is not None and b.values is not None and not np.allclose(a.values, b.values, 1e-4, 1e-6, equal_nan=True):
            return False
    return True
