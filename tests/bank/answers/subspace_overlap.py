"""Test answers for subspace_overlap (assignment 15): right ones in unusual styles, wrong ones with what is wrong."""

import math

import torch
import torch.nn.functional as F

from answers import before, change, right, wrong


def _directions(A):
    """The right singular vectors in rows, the main one first."""
    return torch.linalg.svd(A, full_matrices=False)[2]


def _squares(A_1, A_2):
    return (_directions(A_1) @ _directions(A_2).T).square()


def _least(squares):
    """min(i, j), counted from 1."""
    r, s = squares.shape
    i, j = torch.arange(1, r + 1, device=squares.device), torch.arange(1, s + 1, device=squares.device)
    return torch.minimum(i.unsqueeze(1), j)


# ---------------------------------------------------------------- right


@right("running sums along both axes, divided by a table of min(i, j)")
def running_sums(A_1, A_2):
    squares = _squares(A_1, A_2)
    return squares.cumsum(0).cumsum(1) / _least(squares)


@right("a double loop with torch.linalg.norm of each part")
def double_loop(A_1, A_2):
    U_1, U_2 = _directions(A_1).mT, _directions(A_2).mT
    phi = torch.empty(A_1.shape[0], A_2.shape[0], dtype=A_1.dtype, device=A_1.device)
    for i in range(1, len(A_1) + 1):
        for j in range(1, len(A_2) + 1):
            phi[i - 1, j - 1] = torch.linalg.matrix_norm(U_1[:, :i].mT @ U_2[:, :j]) ** 2 / min(i, j)
    return phi


@right("the full decomposition, of whose [D, D] factor the first r rows are taken")
def full_matrices(A_1, A_2):
    V_1, V_2 = torch.linalg.svd(A_1).Vh[: A_1.size(0)], torch.linalg.svd(A_2).Vh[: A_2.size(0)]
    products = torch.einsum("id,jd->ij", V_1, V_2)
    return torch.cumsum(torch.cumsum(products * products, dim=1), dim=0) / _least(products)


@right("triangular matrices of ones add the squares up")
def triangles(A_1, A_2):
    squares = _squares(A_1, A_2)
    r, s = squares.shape
    left = torch.ones(r, r, dtype=squares.dtype, device=squares.device).tril()
    right_ = torch.ones(s, s, dtype=squares.dtype, device=squares.device).triu()
    return left @ squares @ right_ / torch.minimum(left.sum(1, keepdim=True), right_.sum(0))


@right("each number grows out of its three neighbours")
def from_neighbours(A_1, A_2):
    squares = _squares(A_1, A_2)
    r, s = squares.shape
    sums = [[0] * (s + 1) for _ in range(r + 1)]
    for i in range(r):
        for j in range(s):
            sums[i + 1][j + 1] = squares[i, j] + sums[i][j + 1] + sums[i + 1][j] - sums[i][j]
    rows = [torch.stack([sums[i][j] / min(i, j) for j in range(1, s + 1)]) for i in range(1, r + 1)]
    return torch.stack(rows)


@right("the decomposition of the transpose, whose left singular vectors are the directions")
def of_the_transpose(A_1, A_2):
    U_1, _, _ = torch.linalg.svd(A_1.T, full_matrices=False)
    U_2, _, _ = torch.linalg.svd(A_2.T, full_matrices=False)
    squares = torch.pow(U_1.T @ U_2, 2)
    return squares.cumsum(-1).cumsum(-2).div(_least(squares))


@right("numpy's decomposition on the CPU, in the type of the inputs")
def with_numpy(A_1, A_2):
    import numpy as np

    V_1, V_2 = (np.linalg.svd(A.detach().cpu().numpy(), full_matrices=False)[2] for A in (A_1, A_2))
    sums = ((V_1 @ V_2.T) ** 2).cumsum(0).cumsum(1)
    least = np.minimum.outer(np.arange(1, len(V_1) + 1), np.arange(1, len(V_2) + 1)).astype(sums.dtype)
    return torch.from_numpy(sums / least).to(A_1.device)


@right("QR of the transpose first, then the decomposition of the small triangle")
def by_qr_and_svd(A_1, A_2):
    def directions(A):
        Q, R = torch.linalg.qr(A.mT)
        return Q @ torch.linalg.svd(R.mT).Vh.mT

    squares = (directions(A_1).mT @ directions(A_2)).abs() ** 2
    return squares.cumsum(1).cumsum(0) * (1 / _least(squares).to(squares.dtype))


@right("one-sided Jacobi rotations, many pairs of rows at once as in a tournament, sorted afterwards")
def by_jacobi(A_1, A_2):
    def directions(A):
        A = A / A.abs().max()
        r, tiny = len(A), torch.finfo(A.dtype).tiny
        players = list(range(r + r % 2))
        for _ in range(20 if r > 1 else 0):
            worst = 0.0
            for _ in players[1:]:
                half = len(players) // 2
                pairs = [(p, q) for p, q in zip(players[:half], players[: half - 1 : -1]) if p < r and q < r]
                players = players[:1] + players[-1:] + players[1:-1]
                p, q = torch.tensor(pairs, device=A.device).T
                a, b, c = (A[p] * A[p]).sum(1), (A[q] * A[q]).sum(1), (A[p] * A[q]).sum(1)
                worst = max(worst, float((c.abs() / (a * b).sqrt().clamp(min=tiny)).max()))
                # the smaller of both angles, as larger ones change rows back and forth
                swap = torch.where(a < b, -1.0, 1.0).to(A.dtype)
                angle = (torch.atan2(2 * c * swap, (a - b).abs()) / 2).unsqueeze(1)
                A = A.index_copy(
                    0,
                    torch.cat((p, q)),
                    torch.cat((angle.cos() * A[p] + angle.sin() * A[q], angle.cos() * A[q] - angle.sin() * A[p])),
                )
            if worst < 4 * torch.finfo(A.dtype).eps:
                break
        lengths = torch.linalg.vector_norm(A, dim=1)
        order = lengths.argsort(descending=True)
        return A[order] / lengths[order].unsqueeze(1)

    squares = (directions(A_1) @ directions(A_2).T) ** 2
    return squares.cumsum(0).cumsum(1) / _least(squares)


@right("eigenvectors of the symmetric matrix with A and its transpose beside zeros: nothing is squared")
def beside_zeros(A_1, A_2):
    def directions(A):
        r, D = A.shape
        A = A / A.abs().max()
        zeros_r, zeros_D = A.new_zeros(r, r), A.new_zeros(D, D)
        whole = torch.cat((torch.cat((zeros_r, A), dim=1), torch.cat((A.T, zeros_D), dim=1)))
        vectors = torch.linalg.eigh(whole).eigenvectors[r:, -r:].flip(1)
        return F.normalize(vectors, dim=0)

    squares = (directions(A_1).T @ directions(A_2)).square()
    return squares.cumsum(0).cumsum(1) / _least(squares)


@right("projections: how much of each direction of one lies in the first j of the other, row sums by a prefix product")
def by_projectors(A_1, A_2):
    V_1, V_2 = _directions(A_1), _directions(A_2)
    columns = []
    for j in range(1, len(V_2) + 1):
        lengths = (V_1 @ V_2[:j].mT @ V_2[:j]).square().sum(1)
        least = torch.arange(1, len(V_1) + 1, device=V_1.device).clamp(max=j)
        columns.append(lengths.cumsum(0) / least)
    return torch.stack(columns, dim=1)


@right("grid of masks in one einsum, limited to 0 … 1 at the end")
def masks_in_einsum(A_1, A_2):
    squares = _squares(A_1, A_2)
    r, s = squares.shape
    upto_i = torch.ones(r, r, dtype=torch.bool, device=squares.device).tril().to(squares.dtype)
    upto_j = torch.ones(s, s, dtype=torch.bool, device=squares.device).tril().to(squares.dtype)
    phi = torch.einsum("ia,ab,jb->ij", upto_i, squares, upto_j) / _least(squares)
    return phi.clamp(0, 1)


@right("the running sums go from behind: all of it less what is too much; V of torch.svd, vectors in columns")
def from_behind(A_1, A_2):
    V_1, V_2 = torch.svd(A_1).V, torch.svd(A_2).V
    squares = (V_1.T @ V_2) ** 2
    rest = squares.flip(0).cumsum(0).flip(0)
    above = squares.sum(0) - rest + squares
    return above.cumsum(1) / _least(squares)


# ---------------------------------------------------------------- wrong: directions


@wrong("the columns of Vh are taken for the directions, not its rows", kind="concept")
def columns_of_vh(A_1, A_2):
    V_1, V_2 = torch.linalg.svd(A_1).Vh, torch.linalg.svd(A_2).Vh
    squares = (V_1[:, : len(A_1)].T @ V_2[:, : len(A_2)]).square()
    return squares.cumsum(0).cumsum(1) / _least(squares)


change(running_sums, "left_vectors",
       "left singular vectors are compared, which fails (or means nothing) as they have r and s entries", "concept",
       ("squares = _squares(A_1, A_2)", """
        P_1, P_2 = torch.linalg.svd(A_1, full_matrices=False).U, torch.linalg.svd(A_2, full_matrices=False).U
        squares = (P_1.T @ P_2).square()"""))
change(running_sums, "rows_normalised", "the rows of A are only brought to length 1, not made orthogonal", "concept",
       ("_squares(A_1, A_2)", "(F.normalize(A_1, dim=1) @ F.normalize(A_2, dim=1).T).square()"))
change(running_sums, "by_qr", "an orthogonal basis by QR in the order of the rows, not the main directions", "concept",
       ("_squares(A_1, A_2)", "(torch.linalg.qr(A_1.T).Q.T @ torch.linalg.qr(A_2.T).Q).square()"))


@wrong("the directions are weighted with their singular values", kind="concept")
def weighted(A_1, A_2):
    _, S_1, V_1 = torch.linalg.svd(A_1, full_matrices=False)
    _, S_2, V_2 = torch.linalg.svd(A_2, full_matrices=False)
    V_1, V_2 = V_1 * (S_1 / S_1[0]).unsqueeze(1), V_2 * (S_2 / S_2[0]).unsqueeze(1)
    squares = (V_1 @ V_2.T).square()
    return squares.cumsum(0).cumsum(1) / _least(squares)


change(running_sums, "smallest_first", "the directions begin with the smallest singular value", "concept",
       ("_squares(A_1, A_2)", "_squares(A_1, A_2).flip(0, 1)"))


@wrong(
    "eigenvectors of A^T A, in whose ascending order the first r belong to eigenvalues 0 (for r < D)", kind="concept"
)
def ascending_eigenvectors(A_1, A_2):
    E_1, E_2 = (torch.linalg.eigh(A.T @ A).eigenvectors for A in (A_1, A_2))
    squares = (E_1[:, : len(A_1)].T @ E_2[:, : len(A_2)]).square()
    return squares.cumsum(0).cumsum(1) / _least(squares)


change(running_sums, "centred", "the rows' means are subtracted first, as in a principal component analysis", "concept",
       ("_squares(A_1, A_2)", "_squares(A_1 - A_1.mean(1, keepdim=True), A_2 - A_2.mean(1, keepdim=True))"))
change(running_sums, "only_one_decomposed",
       "only A_1 is decomposed; the rows of A_2 are taken with length 1 in their order", "concept",
       ("_squares(A_1, A_2)", "(_directions(A_1) @ F.normalize(A_2, dim=1).T).square()"))
change(running_sums, "all_rows", "all D rows of the full factor are compared: the result is [D, D]", "shape",
       ("_squares(A_1, A_2)", "(torch.linalg.svd(A_1).Vh @ torch.linalg.svd(A_2).Vh.T).square()"))
change(running_sums, "sorted_rows", "rows are sorted by their lengths before an orthogonal basis is made, which gives "
       "no singular vectors", "concept",
       ("squares = _squares(A_1, A_2)", """
        Q_1, Q_2 = (torch.linalg.qr(A[A.abs().sum(1).argsort(descending=True)].T).Q for A in (A_1, A_2))
        squares = (Q_1.T @ Q_2).square()"""))


# ---------------------------------------------------------------- wrong: the number for i and j


@wrong("divided by max(i, j)", kind="concept")
def by_the_larger(A_1, A_2):
    squares = _squares(A_1, A_2)
    r, s = squares.shape
    i, j = torch.arange(1, r + 1, device=squares.device), torch.arange(1, s + 1, device=squares.device)
    return squares.cumsum(0).cumsum(1) / torch.maximum(i.unsqueeze(1), j)


change(running_sums, "by_i_alone", "divided by i alone", "concept",
       before("return", "i = torch.arange(1, len(squares) + 1, device=squares.device)"),
       ("_least(squares)", "i.unsqueeze(1)"))
change(by_the_larger, "mean_of_squares", "divided by i*j: the mean of the squares", "concept",
       (".maximum(i.unsqueeze(1), j)", ".outer(i, j)"))
change(running_sums, "by_the_lower_rank", "divided by min(r, s) everywhere", "concept",
       ("_least(squares)", "min(squares.shape)"))


@wrong("not divided at all", kind="concept")
def not_divided(A_1, A_2):
    return _squares(A_1, A_2).cumsum(0).cumsum(1)


change(running_sums, "norm_not_squared", "the norm is not squared", "concept",
       (".cumsum(1)", ".cumsum(1).sqrt()"))


@wrong("the quotient is under the root, too: the root of φ", kind="concept")
def root_of_phi(A_1, A_2):
    squares = _squares(A_1, A_2)
    return (squares.cumsum(0).cumsum(1) / _least(squares)).sqrt()


@wrong("magnitudes are added instead of squares", kind="concept")
def sum_of_magnitudes(A_1, A_2):
    products = (_directions(A_1) @ _directions(A_2).T).abs()
    return products.cumsum(0).cumsum(1) / _least(products)


@wrong("the products are added first and squared afterwards, so that signs matter", kind="concept")
def squared_last(A_1, A_2):
    products = _directions(A_1) @ _directions(A_2).T
    return products.cumsum(0).cumsum(1).square() / _least(products)


@wrong("the spectral norm of the products, not Frobenius'", kind="concept")
def spectral_norm(A_1, A_2):
    products = _directions(A_1) @ _directions(A_2).T
    r, s = products.shape
    rows = [[torch.linalg.matrix_norm(products[:i, :j], 2) ** 2 for j in range(1, s + 1)] for i in range(1, r + 1)]
    return torch.stack([torch.stack(row) for row in rows]) / _least(products)


@wrong("the sum runs over pairs of equal places only: the diagonal of the products", kind="concept")
def diagonal_only(A_1, A_2):
    squares = _squares(A_1, A_2)
    r, s = squares.shape
    same = torch.eye(r, s, dtype=squares.dtype, device=squares.device)
    return (squares * same).cumsum(0).cumsum(1) / _least(squares)


change(running_sums, "sum_along_one_axis",
       "a running sum along j alone: φ of the i-th direction, not of the first i", "concept",
       (".cumsum(0).cumsum(1)", ".cumsum(1)"))


@wrong("the squares of the products come back, without sums and division", kind="concept")
def squares_alone(A_1, A_2):
    return _squares(A_1, A_2)


@wrong("off by one: the sum ends before i and j, so that the first row and column are 0", kind="edge")
def one_too_few(A_1, A_2):
    squares = _squares(A_1, A_2)
    sums = F.pad(squares.cumsum(0).cumsum(1), (1, 0, 1, 0))[:-1, :-1]
    return sums / _least(squares)


change(running_sums, "counted_from_zero",
       "the divisor is counted from 0: the first row and column are infinite", "edge",
       ("_least(squares)", "(_least(squares) - 1)"))


@wrong("the cosines of the principal angles of both whole spaces are used for every i and j", kind="concept")
def whole_spaces(A_1, A_2):
    cosines = torch.linalg.svdvals(_directions(A_1) @ _directions(A_2).T)
    r, s = len(A_1), len(A_2)
    least = _least(torch.empty(r, s, device=A_1.device))
    return cosines.square().cumsum(0)[least - 1] / least


change(running_sums, "distance", "what was measured is turned round: 1 - φ, a distance", "concept",
       ("squares.cumsum(0).cumsum(1) / _least(squares)", "1 - squares.cumsum(0).cumsum(1) / _least(squares)"))
change(running_sums, "last_number", "only the last number, φ(r, s), comes back", "shape",
       (".cumsum(0).cumsum(1) / _least(squares)", ".sum() / min(squares.shape)"))
change(root_of_phi, "equal_numbers_only", "only φ(i, i) comes back, as a vector", "shape",
       (".sqrt()", ".diagonal()"))
change(running_sums, "transposed", "the result is [s, r]", "shape",
       ("_squares(A_1, A_2)", "_squares(A_2, A_1)"))
change(running_sums, "cut_to_the_lower_rank",
       "both adapters are cut to the lower rank: the result is [min(r, s), min(r, s)]", "shape",
       before("squares =", "lower = min(len(A_1), len(A_2))"),
       ("_squares(A_1, A_2)", "_squares(A_1, A_2)[:lower, :lower]"))
change(root_of_phi, "squeezed", "squeeze() on the result: an axis is missing where r or s is 1", "shape",
       (".sqrt()", ".squeeze()"))


@wrong("at most 64 directions of each adapter are compared; what lies behind stays 0", kind="edge")
def sixty_four_directions(A_1, A_2):
    squares = _squares(A_1, A_2)
    phi = torch.zeros_like(squares)
    phi[:64, :64] = (squares.cumsum(0).cumsum(1) / _least(squares))[:64, :64]
    return phi


# ---------------------------------------------------------------- wrong: numbers


change(running_sums, "by_squared_matrix", "eigenvectors of A^T A: its eigenvalues are the squares, and small "
       "directions lose digits (large A overflow)", "numerics",
       ("squares = _squares(A_1, A_2)", """
        E_1, E_2 = (torch.linalg.eigh(A.T @ A).eigenvectors.flip(1)[:, : len(A)] for A in (A_1, A_2))
        squares = (E_1.T @ E_2).square()"""))


@wrong(
    "eigenvectors of A A^T lead back to directions as A^T p / σ: digits are lost, and large A overflow", kind="numerics"
)
def by_left_eigenvectors(A_1, A_2):
    def directions(A):
        P = torch.linalg.eigh(A @ A.T).eigenvectors.flip(1)
        return F.normalize(P.T @ A, dim=1)

    squares = (directions(A_1) @ directions(A_2).T).square()
    return squares.cumsum(0).cumsum(1) / _least(squares)


change(running_sums, "scaled_by_overflowing_norm",
       "A is divided by the root of the sum of its squares, which overflows for large numbers", "numerics",
       ("_squares(A_1, A_2)", "_squares(A_1 / A_1.square().sum().sqrt(), A_2 / A_2.square().sum().sqrt())"))


@right("computed in float32 and converted back: float64 loses digits, and larger numbers become infinite")
def there_and_back_to_float32(A_1, A_2):
    squares = _squares(A_1.float(), A_2.float())
    return (squares.cumsum(0).cumsum(1) / _least(squares)).to(A_1.dtype)


@wrong("three steps of the power method for each direction: not converged", kind="numerics")
def power_method(A_1, A_2):
    def directions(A):
        A, found = A / A.abs().max(), []
        for _ in range(len(A)):
            v = A[A.abs().sum(1).argmax()]
            for _ in range(3):
                v = F.normalize(A.T @ (A @ v), dim=0)
            found.append(v)
            A = A - torch.outer(A @ v, v)
        return torch.stack(found)

    squares = (directions(A_1) @ directions(A_2).T).square()
    return squares.cumsum(0).cumsum(1) / _least(squares)


change(running_sums, "with_noise",
       "a little noise is added to A so that no singular values are equal: digits differ from call to call", "process",
       ("_squares(A_1, A_2)", "_squares(*(A + 1e-3 * A.abs().max() * torch.randn_like(A) for A in (A_1, A_2)))"))
change(root_of_phi, "three_decimals", "the result is rounded to three decimals", "numerics",
       (".sqrt()", ".round(decimals=3)"))
change(running_sums, "epsilon_in_the_divisor", "0.001 is added to the divisor", "numerics",
       ("_least(squares)", "(_least(squares) + 1e-3)"))


@wrong("directions of singular values below a tenth of the largest are dropped as noise (set to 0)", kind="numerics")
def small_directions_dropped(A_1, A_2):
    def directions(A):
        _, S, V = torch.linalg.svd(A, full_matrices=False)
        return V * (S > S[0] / 10).unsqueeze(1)

    squares = (directions(A_1) @ directions(A_2).T).square()
    return squares.cumsum(0).cumsum(1) / _least(squares)


# ---------------------------------------------------------------- wrong: types, layouts, state, interface


@wrong("φ goes into a table of float32, also for float64 inputs", kind="interface")
def table_of_float32(A_1, A_2):
    squares = _squares(A_1, A_2)
    phi = torch.zeros(squares.shape, device=squares.device)
    for i in range(len(A_1)):
        for j in range(len(A_2)):
            phi[i, j] = squares[: i + 1, : j + 1].sum() / (min(i, j) + 1)
    return phi


@wrong("min(i, j) is counted on the CPU, which fails with inputs on another device", kind="interface")
def counted_on_the_cpu(A_1, A_2):
    squares = _squares(A_1, A_2)
    least = torch.minimum(torch.arange(1, len(A_1) + 1).unsqueeze(1), torch.arange(1, len(A_2) + 1))
    return squares.cumsum(0).cumsum(1) / least


change(running_sums, "by_view", "A.view fails for a transposed layout", "layout",
       ("squares = _squares(A_1, A_2)", """
        r, D = A_1.shape
        squares = _squares(A_1.view(-1).view(r, D), A_2.view(-1).view(-1, D))"""))
change(running_sums, "scaled_in_place", "A is divided by its largest magnitude in place", "interface",
       before("squares =", """
        for A in (A_1, A_2):
            A.detach().div_(A.detach().abs().max())"""))


_known = {}


@wrong(
    "the directions of A_1 are kept by its shape: another matrix of the same shape gets those of the first",
    kind="interface",
)
def directions_remembered(A_1, A_2):
    if A_1.shape not in _known:
        _known[A_1.shape] = _directions(A_1).detach()
    squares = (_known[A_1.shape].to(A_2) @ _directions(A_2).T).square()
    return squares.cumsum(0).cumsum(1) / _least(squares)


change(running_sums, "equal_ranks_only",
       "the second adapter must have the rank of the first: a check raises an error where r and s differ", "edge",
       before("squares =", """
        if A_1.shape != A_2.shape:
            raise ValueError("adapters must have the same shape")"""))
change(running_sums, "one_direction_is_one",
       "the loops ask for at least two directions: with r = 1 or s = 1 the result is 1", "edge",
       before("return", """
        if min(squares.shape) == 1:
            return torch.ones_like(squares)"""))


@right("the first argument is called A1 and the second A2, so that a call by name fails")
def other_names(A1, A2):
    squares = _squares(A1, A2)
    return squares.cumsum(0).cumsum(1) / _least(squares)


change(root_of_phi, "nested_lists", "nested Python lists come back, not a tensor", "interface",
       (".sqrt()", ".tolist()"))


@wrong("the result is printed and not returned", kind="interface")
def printed(A_1, A_2):
    squares = _squares(A_1, A_2)
    print(squares.cumsum(0).cumsum(1) / _least(squares))


# ---------------------------------------------------------------- left open


change(running_sums, "detached", "no gradients reach the adapters; the text asks for none", "gradient",
       ("_squares(A_1, A_2)", "_squares(A_1.detach(), A_2.detach())"), verdict="open")
