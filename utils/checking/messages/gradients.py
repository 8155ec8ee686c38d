"""The sentences about right numbers with wrong gradients."""

import numpy as np

from utils.checking.judging.tolerance import extra_gradients, not_frozen


def _no_graph(c):
    names = [name for name, wanted, got in c.pairs() if wanted.carries_gradient > got.carries_gradient]
    return (
        f"The numbers are right, but no gradient flows back from {', '.join(names)}: something cuts the graph, such as .detach(),"
        " .data, no_grad, torch.tensor(…) of a tensor, or a new tensor that is returned as it is."
    ), ""


def _backward_failed(c):
    if "inplace" in c.seen.backward or "in-place" in c.seen.backward:
        return (
            "The numbers are right, but gradients cannot be computed: a tensor that backward still needs was overwritten"
            " (/=, +=, an index on the left of =, or a method that ends in _). Make a new tensor: p = p / …, and masked_fill or"
            " torch.where in place of A[…] = …"
        ), ""
    return f"The numbers are right, but computing gradients fails: {c.seen.backward.splitlines()[0]}", ""


def _no_gradient(c):
    wanted = [name for name, gradient in c.expected.gradients.items() if gradient is not None]
    names = _some([name for name in wanted if c.seen.gradients.get(name) is None])
    source = " and ".join(c.exercise.outputs[place][0] for place in c.case.gradient)
    mode = " (The module is in eval mode here.)" if c.exercise.is_module and not c.case.training else ""
    return (
        f"The numbers are right, but no gradient reaches {names} from {source}.{mode} May it not"
        " learn (requires_grad=False, as from_pretrained sets it)? Does something cut the graph, such as .detach(), .data,"
        " .item(), torch.tensor(…) or nn.Parameter(…) of a tensor, NumPy, or no_grad? Or is it left out of this result, as by an"
        " if?"
    ), ""


def _wrong_gradient(c):
    gradients = [
        (name, gradient, c.seen.gradients.get(name))
        for name, gradient in c.expected.gradients.items()
        if gradient is not None
    ]
    gradients = [(name, gradient, got) for name, gradient, got in gradients if got is not None]
    if any(np.isnan(got).any() for _, _, got in gradients):
        return "The numbers are right, but a gradient is NaN: a root of 0, 0/0, log of 0 or inf·0 on the way.", ""
    wrong = [(name, gradient, got) for name, gradient, got in gradients if not _close(got, gradient).all()]
    names = ", ".join(name for name, _, _ in wrong)
    if wrong and all((_close(got, gradient) | (gradient == 0)).all() for _, gradient, got in wrong):
        return (
            f"The numbers are right, but the gradient for {names} is not: it is right where it should not be 0, and not 0 at some"
            " places where it should be. Is something that has no part in the result multiplied by 0, in place of being left out?"
        ), ""
    return (
        f"The numbers are right, but the gradient{' for ' + names if names else ''} is not: is a part of the computation"
        " detached, or done outside of torch? Is part of a layer kept from learning (padding_idx, requires_grad=False)? Does an"
        " autograd.Function of your own compute the gradient? Is something cut off (a threshold, where, a comparison)? Or does"
        " a gradient flow through something that should be a constant here (.detach())?"
    ), ""


def _close(got: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    return np.isclose(got, gradient, rtol=1e-3, atol=1e-4)


def _extra_gradient(c):
    found = extra_gradients(c.expected, c.seen)
    told = "targets, and what is decided or counted, are constants here: .detach() or torch.no_grad()."
    if not any(name in c.case.inputs for name in found):
        told = "what is frozen is not to learn: requires_grad_(False) on these parameters."
    return f"The numbers are right, but a gradient reaches {_some(found)}, and none should: {told}", ""


def _some(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _not_frozen(c):
    some = _some(not_frozen(c.expected, c.seen))
    return (
        f"The numbers are right, and no gradient reaches {some} from them. But requires_grad is still True there, so these"
        " parameters are not frozen: requires_grad_(False) freezes them."
    ), ""


GRADIENTS = {
    "no_graph": _no_graph,
    "backward_failed": _backward_failed,
    "no_gradient": _no_gradient,
    "wrong_gradient": _wrong_gradient,
    "extra_gradient": _extra_gradient,
    "not_frozen": _not_frozen,
}
