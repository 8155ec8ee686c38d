"""Exercise 6 again: mistakes in which positions and sequences belong together, and ways without derivatives."""

import torch

from autograder.exercises.unit_07_masking.find_dependencies.declaration import (
    _depends,
    _drawn_sum,
    _slopes,
    _sum,
    find_dependencies,
)


@find_dependencies.misconception
def transposed(model, X):
    """Rows and columns have changed places: here row n belongs to input n. Row m belongs to output m, and says on which inputs
    it depends, as a mask's row m says where query m may attend."""
    return _depends(_slopes(model, X)).mT


@find_dependencies.misconception
def reshaped_instead_of_moved(model, X):
    """The rows were stacked in front of the batch, [N, *B, N], and then reshaped. A reshape does not move numbers, so that rows
    of different sequences are mixed: stack them along dim=-2, or move that axis (movedim)."""
    return _depends(_slopes(model, X)).movedim(-2, 0).reshape(*X.shape[:-1], X.shape[-2])


@find_dependencies.misconception
def own_position_left_out(model, X):
    """No output depends on the input at its own position here. Most do: a query is made from it, and often a value and a
    residual as well. Whatever has a derivative that is not 0 is True, on the diagonal too."""
    return _depends(_slopes(model, X)) & ~torch.eye(X.shape[-2], dtype=torch.bool, device=X.device)


@find_dependencies.misconception
def leaks_alone(model, X):
    """Only dependencies on later inputs are True. Asked for are all of them: which ones are leaks is seen in the result, above
    the diagonal."""
    return _depends(_slopes(model, X)).triu(1)


def _all_outputs_together(of):
    def made(model, X):
        """All rows are equal, and hold what all outputs together depend on. Take each output m by itself, with a backward pass
        of its own, and keep what you found before the next: .grad is one tensor, to which each pass adds."""
        X = X.detach().clone().requires_grad_()
        (slope,) = torch.autograd.grad(of(model(X)).sum(), X)
        return (slope != 0).any(dim=-1)[..., None, :].expand(*X.shape[:-1], X.shape[-2])

    made.__name__ = f"all_outputs_together{of.__name__}"
    return made


for _of in (_drawn_sum, _sum):
    find_dependencies.misconception(_all_outputs_together(_of))


@find_dependencies.misconception
def last_row_everywhere(model, X):
    """Every row is that of the last output. .grad is one tensor, which zero_() and the next backward pass overwrite: keep what
    you found in it before the next pass, X.grad.abs().sum(dim=-1), or a clone."""
    found = _depends(_slopes(model, X))
    return found[..., -1:, :].expand_as(found)


@find_dependencies.misconception
def all_sequences_together(model, X):
    """All sequences of the batch have the same dependencies here, those of all of them together. Padding differs from sequence
    to sequence: do not join the batch axes when you look for derivatives that are not 0."""
    found = _depends(_slopes(model, X))
    return found.reshape(-1, *found.shape[-2:]).any(dim=0).expand_as(found)


@find_dependencies.misconception
def the_mask_itself(model, X):
    """This is the model's mask, which says where a position may attend. An output depends on more than that, and on less: on
    the input at its own position through its query and residual, on what other positions have attended to in the layers before,
    and on no padding. Take derivatives."""
    return model.mask.expand(*X.shape[:-1], X.shape[-2]).clone()


@find_dependencies.misconception
def at_another_input(model, X):
    """The derivatives are those at another input. Asked for are those at X: on it depends which positions are padding, and what
    an output depends on there."""
    return _depends(_slopes(model, X + 1.0))


def _by_change(name, change, least):
    def made(model, X):
        """The inputs were changed, and outputs compared. Where a dependence is weak, its effect is lost in rounding; changes of
        several features may cancel; and a change that is not small asks another question: padding that is changed is padding no
        more. Take derivatives at X as it is."""
        Y, columns = model(X), []
        for n in range(X.shape[-2]):
            other = X.clone()
            other[..., n, :] = change(other[..., n, :])
            columns.append(((model(other) - Y).abs() > least).any(dim=-1))
        return torch.stack(columns, dim=-1)

    made.__name__ = name
    return made


for _name, _change, _least in (
    ("by_a_change", lambda x: x + torch.linspace(1, 2, x.shape[-1], dtype=x.dtype, device=x.device), 0),
    ("by_a_small_change", lambda x: x + 1e-3, 1e-5),
    ("by_zeros", torch.zeros_like, 0),
):
    find_dependencies.misconception(_by_change(_name, _change, _least))


@find_dependencies.misconception
def input_not_as_it_was(model, X):
    """X comes back other than it was given: its numbers, whether it asks for gradients (requires_grad), or what stands in its
    .grad. It belongs to whoever calls you: work on a copy, X.detach().clone().requires_grad_()."""
    depends = _depends(_slopes(model, X))
    X.requires_grad_()
    return depends


@find_dependencies.misconception
def nothing_recorded(model, X):
    """Nothing was recorded that a derivative could be computed from. Call the model with a tensor that asks for gradients (the
    very one that requires_grad_() was called on before), not under torch.no_grad(), and do not detach what it gives."""
    return torch.autograd.grad(model(X.detach()).sum(), X)[0]


@find_dependencies.misconception
def not_a_single_number(model, X):
    """backward() and torch.autograd.grad start from a single number, and were given several. Of a feature of an output there is
    one for each sequence of the batch: sum over the batch, since no sequence depends on another."""
    X = X.detach().clone().requires_grad_()
    return torch.autograd.grad(model(X)[..., 0], X)[0]
