"""Right answers to `find_dependencies`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("a random sum for each output, torch.autograd.grad")
def plain(model, X):
    x = X.detach().clone().requires_grad_()
    Y = model(x)
    if not Y.requires_grad:
        return torch.zeros(*X.shape[:-1], X.shape[-2], dtype=torch.bool, device=X.device)
    r = torch.randn(Y.shape[-1], dtype=Y.dtype, device=Y.device)
    rows = []
    for m in range(X.shape[-2]):
        (g,) = torch.autograd.grad((Y[..., m, :] * r).sum(), x, retain_graph=True, materialize_grads=True)
        rows.append((g != 0).any(dim=-1))
    return torch.stack(rows, dim=-2)


@practice("Karpathy's gradient check: backward and .grad")
def karpathy(model, X):
    x = X.detach().clone()
    x.requires_grad = True
    out = model(x)
    T, C = out.shape[-2:]
    depends = torch.zeros(*X.shape[:-1], T, dtype=torch.bool, device=X.device)
    if not out.requires_grad:
        return depends
    for t in range(T):
        for c in range(C):
            x.grad = None
            out[..., t, c].sum().backward(retain_graph=True, inputs=[x])
            if x.grad is not None:
                depends[..., t, :] |= x.grad.abs().amax(-1) > 0
    return depends


@practice("torch.autograd.functional.jacobian")
def jacobian(model, X):
    batch_axes = tuple(range(X.dim() - 2))

    def summed(x):
        Y = model(x)
        return Y.sum(dim=batch_axes) if batch_axes else Y

    J = torch.autograd.functional.jacobian(summed, X.detach())
    return J.ne(0).any(dim=-1).any(dim=1).movedim(0, -2)


@practice("torch.func: a pullback of each basis vector")
def vjp(model, X):
    Y, pullback = torch.func.vjp(model, X.detach())
    depends = torch.zeros(X.shape[:-1] + X.shape[-2:-1], dtype=torch.bool, device=X.device)
    for m in range(Y.shape[-2]):
        for j in range(Y.shape[-1]):
            v = torch.zeros_like(Y)
            v[..., m, j] = 1
            (g,) = pullback(v)
            depends[..., m, :] |= g.ne(0).any(dim=-1)
    return depends


@practice("grad_outputs, one pass a feature, in the manner of physics-informed networks")
def grad_outputs(model, X):
    with torch.enable_grad():
        x = X.detach().clone().requires_grad_(True)
        y = model(x) + 0 * x.sum()
        N, D_V = y.shape[-2:]
        rows = []
        for m in range(N):
            found = torch.zeros(x.shape[:-1], dtype=torch.bool, device=x.device)
            for j in range(D_V):
                seed = torch.zeros_like(y)
                seed[..., m, j] = 1.0
                grad = torch.autograd.grad(y, x, grad_outputs=seed, retain_graph=True, create_graph=False)[0]
                found = found | (grad.abs().sum(dim=-1) > 0)
            rows.append(found)
    return torch.stack(rows, dim=-2)
