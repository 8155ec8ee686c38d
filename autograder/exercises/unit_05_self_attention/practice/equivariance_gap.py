"""Right answers to `equivariance_gap`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("a plain first answer")
def plain(layer, X, order):
    permuted_first = layer(X[:, order])
    permuted_after = layer(X)[:, order]
    return (permuted_first - permuted_after).abs().amax(dim=(1, 2))


@practice("timm's tests")
@torch.no_grad()
def timm(layer, X, order):
    out = layer(X)
    out_perm = layer(X[:, order, :])
    diff = torch.abs(out_perm - out[:, order, :])
    return diff.flatten(1).max(dim=1).values


@practice("e3nn: undo the permutation afterwards")
def inverse(layer, X, order):
    inverse_order = torch.argsort(order)
    y = layer(X)
    y_back = layer(torch.index_select(X, 1, order)).index_select(1, inverse_order)
    return (y - y_back).abs().flatten(start_dim=1).max(dim=-1)[0]


@practice("permutation matrices")
def matrices(layer, X, order):
    P = torch.eye(len(order), dtype=X.dtype, device=X.device)[order]
    Y1 = layer(P @ X)
    Y2 = layer(X)
    Y2 = P.to(Y2.dtype) @ Y2
    return torch.linalg.vector_norm(Y1 - Y2, ord=float("inf"), dim=(-2, -1))


@practice("plain loops")
def loops(layer, X, order):
    B, N, _ = X.shape
    permuted = torch.empty_like(X)
    for n in range(N):
        permuted[:, n] = X[:, order[n]]
    first, second = layer(permuted), layer(X)
    gaps = []
    for b in range(B):
        worst = first.new_zeros(())
        for n in range(N):
            worst = torch.maximum(worst, (first[b, n] - second[b, order[n]]).abs().max())
        gaps.append(worst)
    return torch.stack(gaps)


@practice("einops", needs="einops")
def lucidrains(layer, X, order):
    from einops import reduce, repeat

    def permute(t):
        index = repeat(order, "n -> b n d", b=t.shape[0], d=t.shape[-1])
        return t.gather(1, index)

    diff = layer(permute(X)) - permute(layer(X))
    return reduce(diff.abs(), "b n d -> b", "max")
