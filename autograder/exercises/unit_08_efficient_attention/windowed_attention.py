"""Exercise 6, a stretch: attention to the vectors nearby, without a table of all pairs."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED

TABLE = ("N", "N")
# the table is nearly twice all that a loop over the distances makes
LONG = {
    "B": 1,
    "N": 400,
    "D_Q": 3,
    "D_V": 4,
}


def _case(text, window, **more):
    return Case(text, values={"window": window}, **more)


@exercise(
    points=0,
    section="Windowed attention",
    source="Beltagy et al. 2020, Longformer, section 3.1",
    outputs="Y",
    formula="y_m = Σ_n a_mn v_n over the data vectors n with |m − n| ≤ window and 0 ≤ n < N, a_m = softmax of q_m · k_n/√D_Q over"
    " just these; Q and K [B, N, D_Q], V [B, N, D_V] give Y [B, N, D_V], and nothing on the way is as large as N × N, neither at"
    " once nor in pieces",
    cases=[
        _case("a batch", 1),
        _case("a wider window", 3, sizes={"B": 2, "N": 11}),
        _case("a window wider than the sequence", 7, sizes={"N": 5}),
        _case("a window of 0", 0, sizes={"B": 2, "N": 6}),
        _case("a long sequence", 2, sizes=LONG, bounds={"largest": TABLE, "made": TABLE}),
    ],
    forbidden=FUSED,
)
def windowed_attention(
    Q: Float[Tensor, "B N D_Q"], K: Float[Tensor, "B N D_Q"], V: Float[Tensor, "B N D_V"], window: int
) -> Float[Tensor, "B N D_V"]:
    m, n = torch.arange(Q.shape[1], device=Q.device)[:, None], torch.arange(Q.shape[1], device=Q.device)
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=(m - n).abs() <= window)  # the whole table, easy to trust


def _places(Q, before, after):
    """[N, T]: for each query the positions from `before` places before it to `after` places behind, some outside."""
    here = torch.arange(Q.shape[1], device=Q.device)
    return here[:, None] + torch.arange(-before, after + 1, device=Q.device)


def _inside(places):
    return (places >= 0) & (places < len(places))


def _at(X, places):
    """[B, N, T, D]; zeros where a position is outside."""
    return X[:, places.clamp(0, len(places) - 1)] * _inside(places)[..., None]


def _scores(Q, keys, scale=None):
    return (keys @ Q[..., None]).squeeze(-1) * (Q.shape[-1] ** -0.5 if scale is None else scale)


def _mixed(A, values):
    return (A[..., None, :] @ values).squeeze(-2)


def _near(Q, K, V, before, after, allowed=_inside, scale=None):
    places = _places(Q, before, after)
    E = _scores(Q, _at(K, places), scale).masked_fill(~allowed(places), -torch.inf)
    return _mixed(E.softmax(dim=-1), _at(V, places))


@windowed_attention.misconception
def whole_table(Q, K, V, window):
    """The numbers are right, but a table of N × N is made on the way: of scores, of distances, or a mask. A mask saves nothing,
    since the scores that it hides are computed as well. Make 2·window + 1 scores for each query, and no more."""
    m, n = torch.arange(Q.shape[1], device=Q.device)[:, None], torch.arange(Q.shape[1], device=Q.device)
    E = Q @ K.mT * Q.shape[-1] ** -0.5
    return E.masked_fill((m - n).abs() > window, -torch.inf).softmax(dim=-1) @ V


@windowed_attention.misconception
def table_in_pieces(Q, K, V, window):
    """The numbers are right, but all that was made on the way is together as large as a table of N × N: does each query meet all
    keys, piece by piece, or is a chunk much longer than the window? The work should grow as N · window: 2·window + 1 scores for
    each query."""
    n, rows = torch.arange(Q.shape[1], device=Q.device), []
    for q, m in zip(Q.split(16, dim=1), n.split(16)):
        E = q @ K.mT * Q.shape[-1] ** -0.5
        rows.append(E.masked_fill((m[:, None] - n).abs() > window, -torch.inf).softmax(dim=-1) @ V)
    return torch.cat(rows, dim=1)


@windowed_attention.misconception
def padding_takes_part(Q, K, V, window):
    """At both ends of the sequence, positions outside take part in the softmax: keys of zeros that were filled in have the score
    0, and take weight from the others. Their score has to be −∞, or they must not be there at all."""
    return _near(Q, K, V, window, window, allowed=lambda places: torch.ones_like(places, dtype=torch.bool))


@windowed_attention.misconception
def slices_from_the_end(Q, K, V, window):
    """The first outputs are wrong: where the slice of a query would begin before the sequence, its start is negative, which
    counts from the end, and other keys, or none, come out. Let it begin at max(0, m − window)."""
    rows = []
    for m in range(Q.shape[1]):
        near = slice(m - window, m + window + 1)
        A = (Q[:, m : m + 1] @ K[:, near].mT * Q.shape[-1] ** -0.5).softmax(dim=-1)
        rows.append(A @ V[:, near])
    return torch.cat(rows, dim=1)


@windowed_attention.misconception
def ends_joined(Q, K, V, window):
    """The sequence is closed to a circle: at its beginning a query attends to the last vectors, at its end to the first ones.
    Both torch.roll and an index below 0 do this. Positions outside the sequence get no weight."""
    places = _places(Q, window, window) % Q.shape[1]
    return _mixed(_scores(Q, _at(K, places)).softmax(dim=-1), _at(V, places))


@windowed_attention.misconception
def ends_repeated(Q, K, V, window):
    """At the ends of the sequence its first or last vector is counted several times, once for each position outside, as if
    indices had been clamped. Positions outside get no weight: clamp an index if you like, but set its score to −∞."""
    places = _places(Q, window, window).clamp(0, Q.shape[1] - 1)
    return _mixed(_scores(Q, _at(K, places)).softmax(dim=-1), _at(V, places))


@windowed_attention.misconception
def window_moved_inwards(Q, K, V, window):
    """At the ends of the sequence the window is moved inwards, so that each query attends to 2·window + 1 vectors. That is
    neighbourhood attention; here a query attends to no vector that is more than `window` positions away, and has fewer near
    the ends."""
    N = Q.shape[1]
    here = torch.arange(N, device=Q.device).clamp(min(window, N // 2), max(N - 1 - window, N // 2))
    places = here[:, None] + torch.arange(-window, window + 1, device=Q.device)
    E = _scores(Q, _at(K, places)).masked_fill(~_inside(places), -torch.inf)
    return _mixed(E.softmax(dim=-1), _at(V, places))


@windowed_attention.misconception
def hidden_after_the_softmax(Q, K, V, window):
    """At the ends of the sequence the weights sum to less than 1: the first or last vector stood in for the positions outside,
    and this weight was set to 0 after the softmax. Take positions outside out before the softmax, with the score −∞."""
    places = _places(Q, window, window)
    A = _scores(Q, K[:, places.clamp(0, Q.shape[1] - 1)]).softmax(dim=-1)
    return _mixed(A * _inside(places), _at(V, places))


@windowed_attention.misconception
def causal_window(Q, K, V, window):
    """Each query attends only to vectors before it and to its own. That is the window of a causal model; here the window has two
    sides, |m − n| ≤ window."""
    return _near(Q, K, V, window, 0)


@windowed_attention.misconception
def end_left_out(Q, K, V, window):
    """The last vector of each window is missing. A slice or a range stops before its end: the window of query m ends with
    position m + window, so the slice ends at m + window + 1."""
    return _near(Q, K, V, window, window - 1, allowed=lambda places: _inside(places[:, : 2 * window or 1]))


@windowed_attention.misconception
def narrower(Q, K, V, window):
    """The windows end one position too early on both sides: the condition is |m − n| < window. It should be |m − n| ≤ window."""
    return _near(Q, K, V, max(window - 1, 0), max(window - 1, 0))


@windowed_attention.misconception
def window_as_the_whole_width(Q, K, V, window):
    """The window reaches only half as far, window // 2 positions to each side, as if `window` were its whole width. It is how far
    a query looks to either side: |m − n| ≤ window."""
    return _near(Q, K, V, window // 2, window // 2)


@windowed_attention.misconception
def window_ignored(Q, K, V, window):
    """This is ordinary attention: each query attends to all vectors. It may attend only to those with |m − n| ≤ window."""
    return (Q @ K.mT * Q.shape[-1] ** -0.5).softmax(dim=-1) @ V


@windowed_attention.misconception
def neighbouring_chunks_whole(Q, K, V, window):
    """Each chunk of `window` queries attends to all of its own chunk and of the two beside it, up to 2·window − 1 positions away.
    These chunks hold what the queries need, and more: hide the keys with |m − n| > window before the softmax."""
    size, rows = max(window, 1), []
    for start in range(0, Q.shape[1], size):
        near = slice(max(0, start - size), start + 2 * size)
        E = Q[:, start : start + size] @ K[:, near].mT * Q.shape[-1] ** -0.5
        rows.append(E.softmax(dim=-1) @ V[:, near])
    return torch.cat(rows, dim=1)


@windowed_attention.misconception
def own_chunk_alone(Q, K, V, window):
    """The sequence is cut into chunks, and each query attends to its own chunk alone. Then two neighbours on either side of a cut
    never meet. The window moves along with its query: |m − n| ≤ window."""
    T = 2 * window + 1
    pairs = zip(Q.split(T, dim=1), K.split(T, dim=1), V.split(T, dim=1))
    return torch.cat([(q @ k.mT * Q.shape[-1] ** -0.5).softmax(dim=-1) @ v for q, k, v in pairs], dim=1)


@windowed_attention.misconception
def values_the_other_way_round(Q, K, V, window):
    """The weight of the vector at distance +d goes to the value at distance −d: keys and values run through the window in
    opposite directions. A key and its value belong to the same position."""
    places = _places(Q, window, window)
    E = _scores(Q, _at(K, places)).masked_fill(~_inside(places), -torch.inf)
    return _mixed(E.softmax(dim=-1), _at(V, places.flip(-1)))


@windowed_attention.misconception
def softmax_along_the_sequence(Q, K, V, window):
    """The softmax runs over the queries: for each distance the weights of all queries sum to 1. Each query needs its own
    distribution over the vectors of its window: the softmax runs over the axis of the 2·window + 1 distances."""
    places = _places(Q, window, window)
    E = _scores(Q, _at(K, places)).masked_fill(~_inside(places), -torch.inf)
    return _mixed(E.softmax(dim=1).nan_to_num(), _at(V, places))


@windowed_attention.alternative
def by_gathering(Q, K, V, window):
    places = _places(Q, window, window)
    outside, near = ~_inside(places), places.clamp(0, Q.shape[1] - 1)
    E = torch.einsum("bnd,bntd->bnt", Q, K[:, near]) / math.sqrt(Q.shape[-1])
    return torch.einsum("bnt,bntv->bnv", E.masked_fill(outside, -torch.inf).softmax(dim=-1), V[:, near])


@windowed_attention.alternative
def by_unfolding(Q, K, V, window):
    k, v = (F.pad(X, (0, 0, window, window)).unfold(1, 2 * window + 1, 1) for X in (K, V))  # [B, N, D, T], views
    there = F.pad(Q.new_ones(Q.shape[1]), (window, window)).unfold(0, 2 * window + 1, 1) > 0
    A = ((Q[:, :, None] @ k)[:, :, 0] / math.sqrt(Q.shape[-1])).masked_fill(~there, -torch.inf).softmax(dim=-1)
    return (v @ A[..., None])[..., 0]


@windowed_attention.alternative
def distance_by_distance(Q, K, V, window):
    N, scores = Q.shape[1], []
    for d in range(-window, window + 1):
        E = Q.new_full(Q.shape[:2], -torch.inf)
        first, last = max(0, -d), min(N, N - d)  # the queries that have a vector at this distance
        if first < last:
            E[:, first:last] = (Q[:, first:last] * K[:, first + d : last + d]).sum(dim=-1) * Q.shape[-1] ** -0.5
        scores.append(E)
    A, Y = torch.stack(scores, dim=-1).softmax(dim=-1), torch.zeros_like(V)
    for t, d in enumerate(range(-window, window + 1)):
        first, last = max(0, -d), min(N, N - d)
        if first < last:
            moved = A[:, first:last, t, None] * V[:, first + d : last + d]
            Y = Y + F.pad(moved, (0, 0, first, N - last))
    return Y


@windowed_attention.alternative
def query_by_query(Q, K, V, window):
    rows = []
    for m in range(Q.shape[1]):
        near = slice(max(0, m - window), m + window + 1)
        A = (Q[:, m : m + 1] @ K[:, near].mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
        rows.append(A @ V[:, near])
    return torch.cat(rows, dim=1)


@windowed_attention.alternative
def in_chunks(Q, K, V, window):
    N, size = Q.shape[1], max(window, 1)
    missing = -N % size  # the last chunk is filled up
    q = F.pad(Q, (0, 0, 0, missing)).unflatten(1, (-1, size))  # [B, chunks, size, D_Q]
    # and the two beside it
    k, v = (F.pad(X, (0, 0, size, size + missing)).unfold(1, 3 * size, size).mT for X in (K, V))
    m = torch.arange(N + missing, device=Q.device).view(-1, size, 1)
    n = m[:, :1] + torch.arange(-size, 2 * size, device=Q.device)
    hidden = (n < 0) | (n >= N) & (m < N) | ((m - n).abs() > window)
    E = (q @ k.mT / math.sqrt(Q.shape[-1])).masked_fill(hidden, -torch.inf)
    return (E.softmax(dim=-1) @ v).flatten(1, 2)[:, :N]
