"""The stretch: how far the main directions of two adapters agree."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _orthonormal(columns):
    """[D, n], of which the first k span what the first k of the given columns span."""
    return np.linalg.qr(columns)[0]


def _matrix(V, rng):
    """[r, D] with the right singular vectors V [D, r] and singular values that are far enough apart; the rows are mixtures."""
    r = V.shape[1]
    S = np.arange(r, 0, -1) + rng.uniform(1.6, 2, r)
    return (_orthonormal(rng.standard_normal((r, r))) * S @ V.T).astype("float32")


def _drawn(inputs, sizes, rng):
    return {name: _matrix(_orthonormal(A.T), rng) for name, A in inputs.items()}


def _right(A):
    return np.linalg.svd(A, full_matrices=False)[2].T  # [D, r]


def _main_directions_shared(inputs, rng):
    """Two of each adapter's directions are nearly those of the other, all others are not, as the paper finds."""
    V_1, A_2 = _right(inputs["A_1"]), inputs["A_2"]
    columns = rng.standard_normal(A_2.T.shape)
    columns[:, :2] = V_1[:, :2] + 0.1 * columns[:, :2]
    A_2[:] = _matrix(_orthonormal(columns), rng)


def _contained(inputs, rng):
    """The rows of A_1 are mixtures of those of A_2."""
    V_2, A_1 = _right(inputs["A_2"]), inputs["A_1"]
    mixture = rng.standard_normal((V_2.shape[1], len(A_1)))
    A_1[:] = _matrix(_orthonormal(V_2 @ mixture), rng)


def _orthogonal(inputs, rng):
    A_1, A_2 = inputs["A_1"], inputs["A_2"]
    V = _orthonormal(rng.standard_normal((A_1.shape[1], len(A_1) + len(A_2))))
    A_1[:], A_2[:] = _matrix(V[:, : len(A_1)], rng), _matrix(V[:, len(A_1) :], rng)


def _mixed(inputs, rng):
    """A_2 has the rows of A_1, mixed by a rotation."""
    inputs["A_2"][:] = _matrix(_right(inputs["A_1"]), rng)


def _small(inputs, rng):
    inputs["A_2"] *= np.float32(0.01)


def _large(inputs, rng):
    for A in inputs.values():
        A *= np.float32(1e25)


@exercise(
    points=0,
    section="How similar are two adapters?",
    source="Hu et al. 2022, section 7.2",
    outputs="phi",
    formula="phi[i − 1, j − 1] = ‖U_1[:, :i]ᵀ U_2[:, :j]‖_F² / min(i, j) for i = 1, …, r and j = 1, …, s, where ‖M‖_F² adds the"
    " squares of all entries of M; the columns of U_1 [D, r] and U_2 [D, s] are the right singular vectors of A_1 [r, D] and"
    " A_2 [s, D], that of the largest singular value first; phi is [r, s]",
    differentiable=False,
    equivalent={"min(j, i)": "the smaller of two numbers is the same in either order"},
    waived={
        "bfloat16": "torch has no singular value decomposition in bfloat16",
        "spread": "singular vectors whose singular values are a millionth of the largest are lost in single precision",
        "zero": "the singular value 0 leaves its singular vectors undetermined",
    },
    cases=[
        Case("two adapters", sizes={"D": 7}),
        Case("more directions in the first", sizes={"r": 6, "s": 3, "D": 10}),
        Case("more directions in the second", sizes={"r": 3, "s": 7, "D": 11}),
        Case("main directions in common", sizes={"D": 16}, edit=_main_directions_shared),
        Case("one subspace inside the other", sizes={"r": 3, "s": 5, "D": 8}, edit=_contained),
        Case("orthogonal subspaces", sizes={"D": 14}, edit=_orthogonal, extreme=True),
        Case("one subspace, from other rows", sizes={"r": 4, "s": "r", "D": 7}, edit=_mixed, extreme=True, edge=True),
        Case("as many directions as there are", sizes={"r": 4, "s": 3, "D": "r"}, edge=True),
        Case("one feature", sizes={"r": 1, "s": 1, "D": 1}, edge=True, extreme=True),
        Case("ranks 4 and 72", sizes={"r": 4, "s": 72, "D": 200}, edge=True),
        Case("numbers whose squares overflow", sizes={"D": 13}, edit=_large, edge=True, extreme=True),
        Case("small numbers in one of the two", sizes={"D": 12}, edit=_small, edge=True),
    ],
)
def subspace_overlap(A_1: Float[Tensor, "r D"], A_2: Float[Tensor, "s D"]) -> Float[Tensor, "r s"]:
    U_1 = torch.linalg.svd(A_1).Vh.mT  # [D, D], of which the first r columns are asked for
    U_2 = torch.linalg.svd(A_2).Vh.mT  # [D, D], the first s
    phi = A_1.new_zeros(len(A_1), len(A_2))  # [r, s]
    for i in range(1, len(A_1) + 1):
        for j in range(1, len(A_2) + 1):
            phi[i - 1, j - 1] = torch.sum((U_1[:, :i].mT @ U_2[:, :j]) ** 2) / min(i, j)
    return phi


def _vectors(A):
    return torch.linalg.svd(A, full_matrices=False).Vh.mT  # [D, r]


def _counts(squares):
    """i [r, 1] and j [s], from 1."""
    i, j = (torch.arange(1, n + 1, device=squares.device) for n in squares.shape)
    return i[:, None], j


def _sums(M):
    """The squares of the first i rows and j columns, added."""
    return M.square().cumsum(0).cumsum(1)


@subspace_overlap.alternative
def as_a_student(A_1, A_2):
    U, S, Vh_1 = torch.linalg.svd(A_1, full_matrices=False)
    U, S, Vh_2 = torch.linalg.svd(A_2, full_matrices=False)
    r, s = A_1.shape[0], A_2.shape[0]
    phi = torch.zeros(r, s, dtype=A_1.dtype, device=A_1.device)
    for i in range(r):
        for j in range(s):
            M = Vh_1[: i + 1] @ Vh_2[: j + 1].T
            phi[i, j] = torch.norm(M) ** 2 / min(i + 1, j + 1)
    return phi


@subspace_overlap.alternative
def by_running_sums(A_1, A_2):
    squares = torch.einsum("di,dj->ij", _vectors(A_1), _vectors(A_2)) ** 2
    return squares.cumsum(dim=0).cumsum(dim=1) / torch.minimum(*_counts(squares))


@subspace_overlap.alternative
def from_left_vectors_of_the_transposes(A_1, A_2):
    U_1, U_2 = (torch.linalg.svd(A.mT, full_matrices=False).U for A in (A_1, A_2))
    squares = (U_1.mT @ U_2).pow(2)
    up_to = [torch.ones(n, n, dtype=A_1.dtype, device=A_1.device).tril() for n in squares.shape]
    return up_to[0] @ squares @ up_to[1].mT / torch.minimum(*_counts(squares))


@subspace_overlap.alternative
def with_projections(A_1, A_2):
    """‖U_1ᵀ U_2‖² is the trace of the product of the two projections."""
    P_1, P_2 = (torch.einsum("di,ei->ide", U, U).cumsum(dim=0) for U in (_vectors(A_1), _vectors(A_2)))
    traces = torch.einsum("ide,jde->ij", P_1, P_2)
    return traces / torch.minimum(*_counts(traces))


@subspace_overlap.alternative
def with_principal_angles(A_1, A_2):
    M = _vectors(A_1).mT @ _vectors(A_2)
    rows = [
        torch.stack([torch.linalg.svdvals(M[:i, :j]).square().mean() for j in range(1, M.shape[1] + 1)])
        for i in range(1, len(M) + 1)
    ]
    return torch.stack(rows)


@subspace_overlap.alternative
def with_eigenvectors(A_1, A_2):
    def directions(A):
        # squares need more digits
        return torch.linalg.eigh(A.double().mT @ A.double()).eigenvectors.flip(1)[:, : len(A)]

    sums = _sums(directions(A_1).mT @ directions(A_2))
    return (sums / torch.minimum(*_counts(sums))).to(A_1.dtype)
