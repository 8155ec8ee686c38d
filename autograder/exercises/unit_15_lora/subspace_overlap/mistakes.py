"""subspace_overlap: which vectors are compared, what is made of their products, and what that is divided by."""

import torch

from autograder.exercises.unit_15_lora.subspace_overlap.declaration import _counts, _sums, _vectors, subspace_overlap


def _of_length_1(A):
    return (A / A.norm(dim=1, keepdim=True)).mT


def _in_the_order_of_rows(A):
    return torch.linalg.qr(A.mT).Q


def _smallest_first(A):
    return _vectors(A).flip(1)


def _across(A):
    return torch.linalg.svd(A).Vh[:, : len(A)]


def _stretched(A):
    return _vectors(A) * torch.linalg.svdvals(A)


def _phi(A_1, A_2, vectors=_vectors, divisor=torch.minimum):
    sums = _sums(vectors(A_1).mT @ vectors(A_2))  # [r, s]
    return sums / divisor(*_counts(sums))


def _declare(name, sentence, **changed):
    """Other vectors, or another divisor."""

    def made(A_1, A_2):
        return _phi(A_1, A_2, **changed)

    made.__name__, made.__doc__ = name, sentence
    subspace_overlap.misconception(made)


_declare(
    "rows_themselves",
    "The rows of A_1 and A_2 were compared as they are. They are neither of length 1 nor orthogonal, so their products"
    " depend on more than the subspaces. Take the right singular vectors, an orthonormal basis of what the rows span.",
    vectors=lambda A: A.mT,
)
_declare(
    "rows_of_length_1",
    "The rows of A_1 and A_2 were scaled to length 1 and compared. They are not orthogonal, so what two of them share counts"
    " twice, and they are in no order. Take the right singular vectors.",
    vectors=_of_length_1,
)
_declare(
    "rows_in_their_order",
    "The bases are orthonormal, but their first i vectors span the first i rows, as after QR or Gram–Schmidt. The order of the"
    " rows means nothing: take the right singular vectors, that of the largest singular value first.",
    vectors=_in_the_order_of_rows,
)
_declare(
    "smallest_first",
    "The singular vectors come in the order of rising singular values, as eigh gives eigenvectors. The first i are to be the"
    " main directions, those with the largest values.",
    vectors=_smallest_first,
)
_declare(
    "columns_of_Vh",
    "The columns of what torch.linalg.svd calls Vh were taken for the right singular vectors. It returns Vᵀ: the right singular"
    " vectors are its rows, Vh[:i].",
    vectors=_across,
)
_declare(
    "smallest_eigenvectors",
    "The first r of the D eigenvectors of AᵀA were taken. eigh sorts them by rising eigenvalues, so these are the directions in"
    " which A has least, or nothing at all where r < D. Take the last r, in reverse order.",
    vectors=lambda A: torch.linalg.svd(A).Vh.mT.flip(1)[:, : len(A)],
)
_declare(
    "centred",
    "The mean of each row was subtracted first, as in a principal component analysis. The directions of an adapter are those of A"
    " itself.",
    vectors=lambda A: _vectors(A - A.mean(dim=1, keepdim=True)),
)
_declare(
    "times_the_singular_values",
    "Each singular vector was multiplied by its singular value. How large an adapter is says nothing about where it points: the"
    " vectors have length 1.",
    vectors=_stretched,
)
_declare(
    "divided_by_the_product",
    "The sums were divided by i·j, the number of squares that were added. That is their mean, which never comes near 1: at most"
    " min(i, j) directions can agree, so divide by min(i, j).",
    divisor=torch.multiply,
)
_declare(
    "divided_by_the_larger",
    "The sums were divided by max(i, j). No more than min(i, j) directions can agree, so phi could never become 1 where i and j"
    " differ: divide by min(i, j).",
    divisor=torch.maximum,
)
_declare(
    "divided_by_the_smaller_rank",
    "All sums were divided by the same number, min(r, s). Each entry compares the first i directions with the first j, and has"
    " its own divisor, min(i, j).",
    divisor=lambda i, j: torch.minimum(i[-1], j[-1]),
)
_declare(
    "not_divided",
    "The sums were not divided. Up to min(i, j) directions can agree, so divide by min(i, j), and phi lies between 0 and 1.",
    divisor=lambda i, j: torch.ones_like(j),
)


@subspace_overlap.misconception
def norm_not_squared(A_1, A_2):
    """The Frobenius norm was divided by min(i, j) without being squared. Its square is the sum that reaches min(i, j) where one
    subspace lies in the other."""
    sums = _sums(_vectors(A_1).mT @ _vectors(A_2))
    return sums.sqrt() / torch.minimum(*_counts(sums))


@subspace_overlap.misconception
def one_pair_alone(A_1, A_2):
    """Each entry compares the i-th direction of A_1 with the j-th of A_2 alone. The first i directions are to be compared with
    the first j: add the squares up to there, and divide by min(i, j)."""
    return (_vectors(A_1).mT @ _vectors(A_2)).square()


@subspace_overlap.misconception
def largest_alone(A_1, A_2):
    """The norm of U_1[:, :i]ᵀ U_2[:, :j] is not the Frobenius norm but the largest singular value, as torch.linalg.norm(M, 2)
    gives it. It sees the best direction alone; add the squares of all entries."""
    M = _vectors(A_1).mT @ _vectors(A_2)
    norms = [[torch.linalg.norm(M[:i, :j], 2) for j in range(1, M.shape[1] + 1)] for i in range(1, len(M) + 1)]
    norms = torch.stack([torch.stack(row) for row in norms])
    return norms**2 / torch.minimum(*_counts(norms))


@subspace_overlap.misconception
def counted_from_zero(A_1, A_2):
    """i and j begin at 0, so that the first row and the first column of phi compare no vectors at all, and 0/0 is NaN. phi[0, 0]
    is that of one direction each: where i and j are indices, take the vectors up to i + 1 and j + 1."""
    phi = _phi(A_1, A_2)
    moved = torch.full_like(phi, torch.nan)
    moved[1:, 1:] = phi[:-1, :-1]
    return moved


@subspace_overlap.misconception
def ended_too_early(A_1, A_2):
    """The last row and the last column of phi were left at 0. All r and all s directions take part there: range(1, r) ends at
    r − 1, range(1, r + 1) at r."""
    phi = _phi(A_1, A_2)
    phi[-1], phi[:, -1] = 0, 0
    return phi


_declare(
    "divided_from_zero",
    "The sums are right, but i and j are counted from 0 in min(i, j): it is 0 in the first row and the first column, and one too"
    " small everywhere else. phi[0, 0] is that of one direction each, and is divided by 1.",
    divisor=lambda i, j: torch.minimum(i, j) - 1,
)


@subspace_overlap.misconception
def second_not_decomposed(A_1, A_2):
    """The rows of A_2, scaled to length 1, were taken for its directions. They are not orthogonal, and in no order: decompose
    both matrices."""
    sums = _sums(_vectors(A_1).mT @ _of_length_1(A_2))
    return sums / torch.minimum(*_counts(sums))


@subspace_overlap.misconception
def along_the_rows(A_1, A_2):
    """The vectors that are multiplied have r and s entries, so they do not fit. Those to be compared have D: they are the rows of
    Vh. The columns of U are the left singular vectors, and a column of Vh holds one entry of each vector."""
    U_1, U_2 = torch.linalg.svd(A_1).U, torch.linalg.svd(A_2).U
    return U_1[:, :1].mT @ U_2[:, :1]


def _changed_sums(name, sentence, sums):
    """Other sums of the products of all pairs of directions."""

    def made(A_1, A_2):
        M = _vectors(A_1).mT @ _vectors(A_2)  # [r, s]
        return sums(M) / torch.minimum(*_counts(M))

    made.__name__, made.__doc__ = name, sentence
    subspace_overlap.misconception(made)


_changed_sums(
    "magnitudes_summed",
    "Magnitudes were added, not squares. The norm ‖M‖_F² adds the squares of all entries.",
    lambda M: M.abs().cumsum(0).cumsum(1),
)
_changed_sums(
    "summed_along_one_axis",
    "The squares were added along one axis alone. phi[i − 1, j − 1] adds those of the first i rows and of the first j columns.",
    lambda M: M.square().cumsum(1),
)
_changed_sums(
    "summed_along_the_other_axis",
    "The squares were added along one axis alone. phi[i − 1, j − 1] adds those of the first i rows and of the first j columns.",
    lambda M: M.square().cumsum(0),
)
_changed_sums(
    "same_places_alone",
    "Only directions of the same place were compared, the first with the first, the second with the second: the squares on the"
    " diagonal. Two subspaces may agree with their directions in another order: add the squares of all entries.",
    lambda M: (M.square() * torch.eye(*M.shape, device=M.device)).cumsum(0).cumsum(1),
)
_changed_sums(
    "squared_after_the_sum",
    "The products were added up first and squared afterwards, so that those of different signs cancel. Square each, then add.",
    lambda M: M.cumsum(0).cumsum(1).square(),
)
