"""Runs a student's function or module on one case and writes down, as plain data, what it did."""

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from utils.checking.observing.call_recorder import WatchedCalls
from utils.checking.observing.devices import EXPECTED, THERE, Device, other_device
from utils.checking.observing.failures import Failed, at_stage
from utils.checking.observing.gradients import gradients_of, tensors_of
from utils.checking.observing.inputs import inputs_of, real_type
from utils.checking.observing.other_numbers import another, shortened
from utils.checking.observing.outputs import kind_of, outputs_of, plain_result, same_outputs
from utils.checking.observing.signatures import can_bind, parameter_names, takes_in_order
from utils.checking.observing.surroundings import undisturbed
from utils.checking.observing.tables import unseen_table
from utils.checking.records import UNDECIDED, DrawnCase, Failure, Observation
from utils.checking.toy_models import WithinLimits
from utils.checking.toy_networks import ToyNetwork
from utils.device import computes

SLOW = 1.0  # seconds; a call slower than this is not repeated


def observe(
    student_object: Any,
    case: DrawnCase,
    device: torch.device | str = "cpu",
    trusted: bool = False,
    watched: bool = True,
) -> Observation:
    """Runs `student_object` on `case` and returns what came out, without judging it.

    A module class is built with `case.build`, put in eval mode and given `case.weights`; a function is called as it
    is. Whatever the student's code raises becomes the observation's `failure`, except KeyboardInterrupt, by which
    time limits reach the code. The state of torch's random numbers is left as it was, and what the notebook has set for all of
    torch is set aside meanwhile. A trusted object is called once, any other several times, unless `case.once`, to see whether a
    call depends on the ones before. Where nothing is forbidden, calls need not be `watched`.

    The CPU comes first always: an index out of range is an error of the code there, and on a GPU the end of CUDA in the
    process. What runs on the CPU and stays there runs on a GPU too, once; where its result differs, it is recorded as `there`.
    """
    here = _observe_reproducibly(student_object, case, "cpu", trusted, watched)
    # code that takes plain numbers alone cannot know of another device; cuDNN's recurrent layers refuse views that the CPU takes
    if (
        torch.device(device).type == "cpu"
        or case.elsewhere
        or case.layout
        or not case.arrays
        or not _stayed_on_the_cpu(here)
        or not computes(device)
    ):
        return here
    # cuDNN's recurrent layers give gradients in training mode alone
    with torch.backends.cudnn.flags(enabled=not case.gradient, allow_tf32=False):
        there = _observe_reproducibly(student_object, case, device, trusted=True)
    if _gpu_agrees(here, there):
        return here
    cpu_only = {name: getattr(here, name) for name in ("called", "made", "unstable", "overwritten", "starts")}
    return replace(here, there=replace(there, **cpu_only))


def _stayed_on_the_cpu(observation: Observation) -> bool:
    """Whether nothing failed on the CPU, and every result stayed there."""
    return (
        not observation.failure
        and not observation.backward
        and all(output.device in ("", "cpu") for output in observation.outputs)
    )


def _observe_reproducibly(
    student_object: Any, case: DrawnCase, device: Device, trusted: bool, watched: bool = False
) -> Observation:
    with undisturbed(), _seeded(device), torch.enable_grad():
        return _observe(student_object, case, device, trusted, watched)


def _gpu_agrees(here: Observation, there: Observation) -> bool:
    """Whether the observation on a GPU equals the one on the CPU, and its results are on the GPU."""
    if there.failure or there.backward or set(there.changed) != set(here.changed) or there.structure != here.structure:
        return False
    at_home = all(output.device in ("", there.device) for output in there.outputs)
    types = [[output.dtype for output in observation.outputs] for observation in (here, there)]
    reached = [
        {name for name, gradient in observation.gradients.items() if gradient is not None}
        for observation in (here, there)
    ]
    return at_home and types[0] == types[1] and reached[0] == reached[1] and same_outputs(here.outputs, there.outputs)


@contextmanager
def _seeded(device: Device) -> Iterator[None]:
    """Within it the random numbers of the CPU and of a GPU begin anew; after it they go on as before."""
    gpus = [device] if torch.device(device).type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        torch.default_generator.manual_seed(0)
        if gpus:
            torch.cuda.manual_seed_all(0)
        yield


def _observe(student_object: Any, case: DrawnCase, device: Device, trusted: bool, watched: bool = False) -> Observation:
    if case.elsewhere:
        return _observe_elsewhere(student_object, case)
    # what is dispatched takes long to note, and one answer calls on all cases what it calls on those that are declared
    calls = WatchedCalls(watched and not trusted, dispatched=not case.condition)
    recorder = WatchedCalls(watched and not trusted, sizes=bool(case.bounds), dispatched=not case.condition)
    try:
        repeatable, rehearsal_failure, earlier = (
            (None,) * 3 if trusted or case.once else _rehearse(student_object, case, device, calls)
        )
        target, parameters = _prepare_target(student_object, case, device)
        inputs = inputs_of(case, device)
        if case.gradient:
            for _, tensor in tensors_of(inputs):
                if tensor.is_floating_point():
                    tensor.requires_grad_()
        asked_for_gradient = {name: value.requires_grad for name, value in tensors_of({**inputs, **parameters})}
        pristine = {name: value.detach().clone() for name, value in tensors_of({**inputs, **parameters})}
        lists = {name: [*value] for name, value in inputs.items() if isinstance(value, list)}
        with recorder as notes:
            result = at_stage("call", lambda: _result(target, inputs, case, trusted))
        if rehearsal_failure:
            raise rehearsal_failure
        not_returned = _networks_not_returned(result, inputs)
        result, learned = _answered(result)
        outputs = outputs_of(result)
        starts = _initial_values(student_object, case)
        repeated = [] if repeatable is None else _repeat_call(student_object, repeatable or target, case, device, calls)
        unseen = 0 if repeatable is None or case.condition else _unseen_table(target, case, device)
    except Failed as failed:
        asked_only = (
            bool(case.gradient) and not _observe(student_object, replace(case, gradient=()), device, True).failure
        )
        return Observation(failure=failed.failure, device=torch.device(device).type, asked_only=asked_only)
    tensors = {**inputs, **parameters}
    changed = [
        name for name, before in pristine.items() if _has_changed(tensors[name], before, asked_for_gradient[name])
    ]
    changed += [name for name, before in lists.items() if inputs[name] != before] + not_returned
    gradients, backward = gradients_of(result, {**tensors, **learned}, case.gradient) if case.gradient else ({}, "")
    weights = [name for name, tensor in {**parameters, **learned}.items() if tensor.requires_grad]
    return Observation(
        structure=kind_of(result),
        outputs=outputs,
        changed=tuple(changed),
        called=tuple(sorted(notes.names | calls.notes.names)),
        made={**notes.counts, "largest": max(notes.counts["largest"], unseen)} if case.bounds else {},
        gradients=gradients,
        asking=tuple(name for name in weights if name in gradients and gradients[name] is None and not backward),
        backward=backward,
        unstable=any(repetition is None or not same_outputs(outputs, repetition) for repetition in repeated),
        overwritten=earlier is not None and not same_outputs(earlier[1], outputs_of(earlier[0])),
        starts=starts,
        device=torch.device(device).type,
    )


def _result(target: Callable, inputs: dict, case: DrawnCase, trusted: bool) -> Any:
    """What a call gives; unless it is trusted, helpers hold it to their limits, whatever it does to them."""
    with nullcontext() if trusted else WithinLimits(case.inputs):
        return plain_result(at_stage("call", lambda: _call(target, inputs, case.by)))


def _answered(result: Any) -> tuple:
    """A returned toy network's answer and its parameters by name; any other result as it is, and no parameters."""
    if not isinstance(result, ToyNetwork):
        return result, {}
    return plain_result(at_stage("call", result.answer)), dict(result.named_parameters())


def _networks_not_returned(result: object, inputs: dict) -> list[str]:
    """The names of the networks among the inputs, if the result is a network and none of them; else an empty list."""
    networks = {name: value for name, value in inputs.items() if isinstance(value, ToyNetwork)}
    is_other = isinstance(result, ToyNetwork) and not any(result is network for network in networks.values())
    return [*networks] if is_other else []


def _initial_values(student_object: Any, case: DrawnCase) -> dict[str, str]:
    """What the parameters that `case.starts` names hold in a new module: "zeros", "equal" numbers, or "different" ones."""
    if not case.starts:
        return {}
    module = at_stage("constructor", lambda: _call(student_object, case.build or {}, case.by))
    parameters = {
        name: parameter.detach() for name, parameter in module.named_parameters() if name in case.starts.split()
    }
    kinds = {
        name: "equal" if (parameter == parameter.flatten()[0]).all() else "different"
        for name, parameter in parameters.items()
    }
    return {name: kind if parameters[name].any() else "zeros" for name, kind in kinds.items()}


def _has_changed(tensor: torch.Tensor, before: torch.Tensor, asked_for_gradient: bool) -> bool:
    """Whether a tensor's numbers, its requires_grad or its .grad, which was None, are no longer what they were."""
    is_other = not torch.equal(tensor.detach(), before) or tensor.requires_grad != asked_for_gradient
    return is_other or tensor.is_leaf and tensor.grad is not None


def _observe_elsewhere(student_object: Any, case: DrawnCase) -> Observation:
    """What the object gives for inputs on another device, and whether it mixes tensors of that device and the CPU.

    A call that ends in an error which a GPU would not raise stays undecided.
    """
    try:
        with other_device():
            target, _ = _prepare_target(student_object, case, THERE)
            result, _ = _answered(plain_result(at_stage("call", lambda: _call(target, inputs_of(case, THERE)))))
    except Failed as failed:
        apart = EXPECTED in failed.failure.text
        return Observation(structure=UNDECIDED, failure=failed.failure if apart else None, device=THERE)
    return Observation(structure=kind_of(result), outputs=outputs_of(result), device=THERE)


def _rehearse(student_object: Any, case: DrawnCase, device: Device, calls: WatchedCalls) -> tuple:
    """Calls the object once on other numbers and weights, so that whatever it keeps is stale by the next call.

    Args:
        calls: notes what is called.

    Returns:
        The module that was called, False for a function, or None if the call is too slow to be repeated; the failure, if the
        call failed (a failure on the case itself takes precedence); and the result, as it is now and as it was then.
    """
    target, parameters = _prepare_target(student_object, case, device)
    others = {name: another(value, turn=case.rows > 0) for name, value in case.inputs.items()}
    started = time.monotonic()
    try:
        with torch.no_grad():
            for parameter in {id(parameter): parameter for parameter in parameters.values()}.values():
                parameter.mul_(0.5).add_(0.1)
        arguments = inputs_of(replace(case, inputs=others), device)
        with calls:
            result, _ = _answered(plain_result(at_stage("call", lambda: _call(target, arguments))))
        if parameters:
            at_stage("weights", lambda: _inject(target, _parameters(target), case, device))
    except Failed as failed:
        return False, failed, None
    if time.monotonic() - started > SLOW:
        return None, None, None
    return (target if case.build is not None else False), None, (result, deepcopy(outputs_of(result)))


def _repeat_call(student_object: Any, target: Callable, case: DrawnCase, device: Device, calls: WatchedCalls) -> list:
    """The results of a second call, and of a third after a call on fewer positions; None for the third where it fails."""

    def again() -> tuple:
        arguments = inputs_of(case, device)
        with calls:
            return outputs_of(_answered(at_stage("call", lambda: _call(target, arguments)))[0])

    results = [again()]
    fewer = replace(case, inputs=shortened(case))
    target, _ = _prepare_target(student_object, case, device)
    with suppress(Failed), calls:  # this result is not compared: there may be no right way to shorten the inputs
        arguments = inputs_of(fewer, device)
        at_stage("call", lambda: _call(target, arguments))
    try:
        return [*results, again()]
    except Failed:
        return [*results, None]


def _unseen_table(target: Callable, case: DrawnCase, device: Device) -> int:
    """How many numbers a table holds that torch's modes do not see, by further calls without them, on numbers of their own."""

    def prepared(inputs: dict) -> Callable:
        arguments = inputs_of(replace(case, inputs=inputs), device)
        return lambda: at_stage("call", lambda: _call(target, arguments))

    with suppress(Failed):
        others = {name: another(another(value)) for name, value in case.inputs.items()}
        return unseen_table(prepared, others, case.bounds)
    return 0


def _prepare_target(student_object: Any, case: DrawnCase, device: Device) -> tuple[Any, dict[str, torch.Tensor]]:
    """The callable that takes the inputs, and its named parameters."""
    build = case.build
    if build is None:
        if not callable(student_object):
            raise Failed(Failure("signature", "not_callable", kind_of(student_object)))
        return student_object, {}
    if not (isinstance(student_object, type) and issubclass(student_object, nn.Module)):
        raise Failed(Failure("signature", "not_a_module", kind_of(student_object)))
    module = at_stage("constructor", lambda: _call(student_object, build, case.by))
    if "_parameters" not in vars(module):
        raise Failed(Failure("constructor", "no_super_init"))
    if getattr(module.forward, "__func__", None) is nn.Module.forward:
        raise Failed(Failure("signature", "no_forward"))
    parameters = at_stage("weights", lambda: _expected_parameters(module, case))
    return at_stage("weights", lambda: _inject(module, parameters, case, device))


def _expected_parameters(module: nn.Module, case: DrawnCase) -> dict:
    """A new module's parameters by name; raises Failed unless they are those of the case's weights, in torch's usual type."""
    parameters = _parameters(module)
    for name, weight in case.weights.items():
        if name not in parameters:
            raise Failed(Failure("weights", "missing", name))
        if tuple(parameters[name].shape) != weight.shape:
            raise Failed(Failure("weights", "shape", f"{name} {list(parameters[name].shape)}"))
    asked_for = {id(parameters[name]) for name in case.weights}
    extra = sorted(name for name, parameter in parameters.items() if id(parameter) not in asked_for)
    if extra:
        raise Failed(Failure("weights", "extra", ", ".join(f"{name} {list(parameters[name].shape)}" for name in extra)))
    odd = [
        f"{name} {parameter.dtype}"
        for name, parameter in parameters.items()
        if parameter.dtype != torch.get_default_dtype()
    ]
    if odd:
        raise Failed(Failure("weights", "type", odd[0]))
    return parameters


def _parameters(module: nn.Module) -> dict:
    return dict(module.named_parameters(remove_duplicate=False))


def _inject(module: nn.Module, parameters: dict, case: DrawnCase, device: Device) -> tuple:
    """The module with the case's weights, and these by name."""
    dtype = next((real_type(weight, case.precision, device) for weight in case.weights.values()), None)
    # one tensor of each device and type
    samples = {(sample.device, sample.dtype): sample for sample in (*parameters.values(), *module.buffers())}
    if not all(_is_in_place(sample, device, dtype) for sample in samples.values()):
        module.to(device=device, dtype=dtype)
        parameters = _parameters(module)
    module.train(case.training)
    with torch.no_grad():
        for name, weight in case.weights.items():
            parameters[name].copy_(torch.from_numpy(weight))
    return module, {name: parameters[name] for name in case.weights}


def _is_in_place(tensor: torch.Tensor, device: Device, dtype: torch.dtype | None) -> bool:
    """Whether `nn.Module.to` would leave the tensor as it is."""
    is_other_type = dtype is not None and (tensor.is_floating_point() or tensor.is_complex()) and tensor.dtype != dtype
    return not is_other_type and tensor.device == torch.device(device)


def _call(target: Callable, arguments: dict, by: str = "") -> Any:
    """Calls in the declared order, or by name where the object takes the declared names in another order or by name only.

    With `by` the arguments are passed in that way and in no other, as far as the object takes the declared names.
    """
    if not by and takes_in_order(target, arguments):
        return target(*arguments.values())
    try:
        signature = inspect.signature(target.forward if isinstance(target, nn.Module) else target)
    except (TypeError, ValueError):
        return target(*arguments.values())
    taken = [name for name in signature.parameters if name in arguments]
    renamed = len(taken) < len(arguments)
    by = "" if renamed else by
    in_order = renamed or taken == list(arguments)
    if by != "name" and (in_order or by) and can_bind(signature, *arguments.values()):
        return target(*arguments.values())
    if by != "position" and (by or not renamed) and can_bind(signature, **arguments):
        return target(**arguments)
    names = ", ".join(parameter_names(list(signature.parameters.values())))
    raise Failed(Failure("signature", by or "arguments", names))
