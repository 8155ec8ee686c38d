"""Right answers to `gradient_through_softmax`, as others write them."""

import math

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("the closed form: diag_embed minus an outer product")
def closed(Q, X, scaled):
    e = Q @ X.T
    if scaled:
        e = e / math.sqrt(Q.shape[-1])
    a = torch.softmax(e, dim=-1)
    J = torch.diag_embed(a) - a[:, :, None] * a[:, None, :]
    return torch.linalg.matrix_norm(J)


@practice("einops: a * (delta - a)", needs="einops")
def lucidrains(Q, X, scaled):
    from einops import einsum, rearrange

    scale = Q.shape[-1] ** -0.5 if scaled else 1.0
    attn = (einsum(Q, X, "i d, j d -> i j") * scale).softmax(dim=-1)
    eye = torch.eye(X.shape[0], device=X.device, dtype=X.dtype)
    jacobian = rearrange(attn, "i j -> i j 1") * (eye - rearrange(attn, "i j -> i 1 j"))
    return rearrange(jacobian, "i j k -> i (j k)").norm(dim=-1)


@practice("torch.func: vmap of jacrev")
def functional(Q, X, scaled):
    e = F.linear(Q, X)
    e = e / Q.size(1) ** 0.5 if scaled else e
    J = torch.func.vmap(torch.func.jacrev(lambda row: F.softmax(row, dim=-1)))(e)
    return J.pow(2).sum(dim=(1, 2)).sqrt()


@practice("autograd: one derivative for each weight")
def autograd(Q, X, scaled):
    with torch.enable_grad():
        scores = torch.matmul(Q.detach(), X.detach().transpose(0, 1))
        if scaled:
            scores = scores * (1.0 / math.sqrt(Q.size(-1)))
        scores = scores.requires_grad_()
        probs = scores.softmax(dim=-1)
        squares = torch.zeros(Q.size(0), dtype=Q.dtype, device=Q.device)
        for i in range(probs.size(1)):
            (row,) = torch.autograd.grad(probs[:, i].sum(), scores, retain_graph=True)
            squares += row.square().sum(dim=1)
    return squares.sqrt()


@practice("torch.autograd.functional.jacobian, a loop over the queries")
def jacobians(Q, X, scaled):
    norms = []
    for q in Q:
        e = torch.mv(X, q)
        if scaled:
            e = e / len(q) ** 0.5
        J = torch.autograd.functional.jacobian(lambda x: torch.softmax(x, dim=0), e)
        norms.append(torch.linalg.norm(J))
    return torch.stack(norms)


@practice("numpy-minded: off the diagonal by einsum, in place")
def in_place(Q, X, scaled):
    A = torch.softmax(Q @ X.t() / (Q.shape[1] ** 0.5 if scaled else 1), dim=1)
    J = -torch.einsum("qi,qj->qij", A, A)
    J.diagonal(dim1=1, dim2=2).add_(A)
    return torch.norm(J, p="fro", dim=(1, 2))
