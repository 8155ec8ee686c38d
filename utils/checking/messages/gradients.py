"""The sentences about right numbers with wrong gradients."""

from collections.abc import Sequence

import numpy as np

from utils.checking.judging.comparing import extra_gradients, not_frozen
from utils.checking.judging.problems import Problem
from utils.checking.messages.context import Context
from utils.checking.messages.message import Message


def _no_graph(c: Context) -> Message:
    names = [name for name, expected, actual in c.pairs() if expected.carries_gradient > actual.carries_gradient]
    return Message(
        f"The numbers are right, but no gradient flows back from {', '.join(names)}: something cuts the graph, such as .detach(),"
        " .data, no_grad, torch.tensor(…) of a tensor, or a new tensor that is returned as it is."
    )


def _backward_failed(c: Context) -> Message:
    if "inplace" in c.observation.backward or "in-place" in c.observation.backward:
        return Message(
            "The numbers are right, but gradients cannot be computed: a tensor that backward still needs was overwritten"
            " (/=, +=, an index on the left of =, or a method that ends in _). Make a new tensor: p = p / …, and masked_fill or"
            " torch.where in place of A[…] = …"
        )
    return Message(f"The numbers are right, but computing gradients fails: {c.observation.backward.splitlines()[0]}")


def _no_gradient(c: Context) -> Message:
    expected_gradients = [name for name, gradient in c.expected.gradients.items() if gradient is not None]
    names = _listing([name for name in expected_gradients if c.observation.gradients.get(name) is None])
    source = " and ".join(c.exercise.outputs[place][0] for place in c.case.gradient)
    mode = " (The module is in eval mode here.)" if c.exercise.is_module and not c.case.training else ""
    return Message(
        f"The numbers are right, but no gradient reaches {names} from {source}.{mode} May it not"
        " learn (requires_grad=False, as from_pretrained sets it)? Does something cut the graph, such as .detach(), .data,"
        " .item(), torch.tensor(…) or nn.Parameter(…) of a tensor, NumPy, or no_grad? Or is it left out of this result, as by an"
        " if?"
    )


def _wrong_gradient(c: Context) -> Message:
    expected_gradients = {name: gradient for name, gradient in c.expected.gradients.items() if gradient is not None}
    pairs = [(name, gradient, c.observation.gradients.get(name)) for name, gradient in expected_gradients.items()]
    arrived = [(name, gradient, actual) for name, gradient, actual in pairs if actual is not None]
    if any(np.isnan(actual).any() for _, _, actual in arrived):
        return Message("The numbers are right, but a gradient is NaN: a root of 0, 0/0, log of 0 or inf·0 on the way.")
    wrong = [(name, gradient, actual) for name, gradient, actual in arrived if not _close(actual, gradient).all()]
    names = ", ".join(name for name, _, _ in wrong)
    if wrong and all((_close(actual, gradient) | (gradient == 0)).all() for _, gradient, actual in wrong):
        return Message(
            f"The numbers are right, but the gradient for {names} is not: it is right where it should not be 0, and not 0 at some"
            " places where it should be. Is something that has no part in the result multiplied by 0, in place of being left out?"
        )
    return Message(
        f"The numbers are right, but the gradient{' for ' + names if names else ''} is not: is a part of the computation"
        " detached, or done outside of torch? Is part of a layer kept from learning (padding_idx, requires_grad=False)? Does an"
        " autograd.Function of your own compute the gradient? Is something cut off (a threshold, where, a comparison)? Or does"
        " a gradient flow through something that should be a constant here (.detach())?"
    )


def _close(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return np.isclose(actual, expected, rtol=1e-3, atol=1e-4)


def _extra_gradient(c: Context) -> Message:
    reached = extra_gradients(c.expected, c.observation)
    cause = "targets, and what is decided or counted, are constants here: .detach() or torch.no_grad()."
    if not any(name in c.case.inputs for name in reached):
        cause = "what is frozen is not to learn: requires_grad_(False) on these parameters."
    return Message(f"The numbers are right, but a gradient reaches {_listing(reached)}, and none should: {cause}")


def _listing(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _not_frozen(c: Context) -> Message:
    names = _listing(not_frozen(c.expected, c.observation))
    return Message(
        f"The numbers are right, and no gradient reaches {names} from them. But requires_grad is still True there, so these"
        " parameters are not frozen: requires_grad_(False) freezes them."
    )


GRADIENTS = {
    Problem.NO_GRAPH: _no_graph,
    Problem.BACKWARD_FAILED: _backward_failed,
    Problem.NO_GRADIENT: _no_gradient,
    Problem.WRONG_GRADIENT: _wrong_gradient,
    Problem.EXTRA_GRADIENT: _extra_gradient,
    Problem.NOT_FROZEN: _not_frozen,
}
