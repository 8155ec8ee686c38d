"""Right answers to `subspace_overlap`, as others write them."""

import itertools

import numpy as np
import torch

from autograder.bank.practice import practice


@practice("the paper's formula, in loops")
def loops(A_1, A_2):
    _, _, V1 = torch.linalg.svd(A_1, full_matrices=False)
    _, _, V2 = torch.linalg.svd(A_2, full_matrices=False)
    r, s = A_1.shape[0], A_2.shape[0]
    phi = torch.zeros(r, s, dtype=A_1.dtype, device=A_1.device)
    for i in range(1, r + 1):
        for j in range(1, s + 1):
            phi[i - 1, j - 1] = torch.linalg.norm(V1[:i] @ V2[:j].T, ord="fro") ** 2 / min(i, j)
    return phi


@practice("cumulative sums")
def cumulative(A_1, A_2):
    U_1 = torch.linalg.svd(A_1, full_matrices=False).Vh.mT
    U_2 = torch.linalg.svd(A_2, full_matrices=False).Vh.mT
    sums = (U_1.mT @ U_2).square().cumsum(0).cumsum(1)
    i = torch.arange(1, len(A_1) + 1, device=A_1.device)
    j = torch.arange(1, len(A_2) + 1, device=A_1.device)
    return sums / torch.minimum(i[:, None], j[None, :])


@practice("full matrices, the first rows")
def full(A_1, A_2):
    (r, _), (s, _) = A_1.shape, A_2.shape
    V_1 = torch.linalg.svd(A_1)[2][:r]
    V_2 = torch.linalg.svd(A_2)[2][:s]
    phi = [[(V_1[:i] @ V_2[:j].T).pow(2).sum() / min(i, j) for j in range(1, s + 1)] for i in range(1, r + 1)]
    return torch.stack([torch.stack(row) for row in phi])


@practice("of the transposed matrices")
def transposed(A_1, A_2):
    U_1, _, _ = torch.linalg.svd(A_1.T, full_matrices=False)
    U_2, _, _ = torch.linalg.svd(A_2.T, full_matrices=False)
    r, s = U_1.shape[1], U_2.shape[1]
    squares = (U_1.T @ U_2) ** 2
    lower = torch.tril(torch.ones(r, r, dtype=A_1.dtype, device=A_1.device))
    upper = torch.triu(torch.ones(s, s, dtype=A_1.dtype, device=A_1.device))
    least = [[min(i, j) for j in range(1, s + 1)] for i in range(1, r + 1)]
    return lower @ squares @ upper / torch.tensor(least, device=A_1.device)


@practice("numpy-minded")
def numpy_minded(A_1, A_2):
    V_1 = np.linalg.svd(A_1.detach().cpu().numpy(), full_matrices=False)[2]
    V_2 = np.linalg.svd(A_2.detach().cpu().numpy(), full_matrices=False)[2]
    M = V_1 @ V_2.T
    phi = np.empty_like(M)
    for i, j in itertools.product(range(M.shape[0]), range(M.shape[1])):
        phi[i, j] = np.sum(M[: i + 1, : j + 1] ** 2) / min(i + 1, j + 1)
    return torch.from_numpy(phi).to(A_1.device)


@practice("einops", needs="einops")
def lucidrains(A_1, A_2):
    from einops import einsum, rearrange

    v1, v2 = (torch.linalg.svd(t, full_matrices=False).Vh for t in (A_1, A_2))
    overlap = einsum(v1, v2, "i d, j d -> i j").pow(2).cumsum(dim=-2).cumsum(dim=-1)
    i, j = (torch.arange(n, device=A_1.device) + 1 for n in overlap.shape)
    return overlap / torch.minimum(rearrange(i, "i -> i 1"), rearrange(j, "j -> 1 j"))
