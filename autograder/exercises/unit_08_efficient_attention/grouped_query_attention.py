"""Exercise 2: attention whose heads share keys and values in groups."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED

VALUES, COPIES = "outputs and weights", "keys and values not copied"
REPEATED = ("B", "G*R", "N_X", "D_H")  # the keys, repeated for each head: R times as much as they are
ONE_QUERY = {"B": 2, "G": 3, "R": 4, "N_Q": 1, "N_X": 9, "D_H": 8}  # the weights are far smaller than the keys repeated


@exercise(
    points={VALUES: 3, COPIES: 1},
    section="Grouped-query attention",
    source="Ainslie et al. 2023, section 2.2; one group: Shazeer 2019",
    outputs="Y A",
    formula="head h of the H = G*R query heads attends to group g = h // R: A_h = softmax(Q_h K_gᵀ/√D_H), Y_h = A_h V_g;"
    " Q [B, G*R, N_Q, D_H], K and V [B, G, N_X, D_H] give Y [B, G*R, N_Q, D_H] and A [B, G*R, N_Q, N_X]",
    cases=[
        Case("a batch", sizes={"B": 2, "G": 3}, part=VALUES),
        Case("one group for all heads (multi-query attention)", sizes={"B": 2, "G": 1, "R": 4}, part=VALUES),
        Case("a group for each head (multi-head attention)", sizes={"B": 2, "G": 4, "R": 1}, part=VALUES),
        Case("one new token", sizes={"B": 2, "G": 3, "N_Q": 1}, part=VALUES),
        Case("as many groups as heads in each", sizes={"B": 2, "G": 3, "R": "G"}, part=VALUES, edge=True),
        Case("one new token, nothing copied", sizes=ONE_QUERY, bounds={"largest": REPEATED}, part=COPIES),
    ],
    forbidden=FUSED,
)
def grouped_query_attention(
    Q: Float[Tensor, "B G*R N_Q D_H"], K: Float[Tensor, "B G N_X D_H"], V: Float[Tensor, "B G N_X D_H"]
) -> tuple[Float[Tensor, "B G*R N_Q D_H"], Float[Tensor, "B G*R N_Q N_X"]]:
    k, v = (one.repeat_interleave(Q.shape[1] // K.shape[1], dim=1) for one in (K, V))  # copies, which are easy to trust
    A = torch.softmax(torch.einsum("bhqd,bhxd->bhqx", Q, k) / math.sqrt(Q.shape[-1]), dim=-1)
    return torch.einsum("bhqx,bhxd->bhqd", A, v), A


def _own(h, G, R):
    return h // R


def _in_turns(h, G, R):
    return h % G


def _attend(Q, K, V, keys=_own, values=_own, divisor=None):
    """Attention of head h to the keys and values of groups that the mistake chooses, given (h, G, R)."""
    G, H = K.shape[1], torch.arange(Q.shape[1], device=Q.device)
    k, v = K[:, keys(H, G, len(H) // G)], V[:, values(H, G, len(H) // G)]
    A = (Q @ k.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor)).softmax(dim=-1)
    return A @ v, A


def _cut(X, G, first="G"):
    """The axis of the heads cut in two: [B, G, R, N, D], or with R first [B, R, G, N, D]."""
    return X.unflatten(1, (G, -1) if first == "G" else (-1, G))


def _exchanged(results):
    """The axes of groups and heads exchanged, [B, R, G, …], and then joined."""
    return tuple(one.transpose(1, 2).flatten(1, 2) for one in results)


def _in_five_axes(Q, K, V, dim=-1):
    """Outputs [B, G, R, N_Q, D_H] and weights [B, G, R, N_Q, N_X]; the softmax runs along `dim`."""
    E = torch.einsum("bgrqd,bgxd->bgrqx", _cut(Q, K.shape[1]), K) / math.sqrt(Q.shape[-1])
    A = E.softmax(dim=dim)
    return torch.einsum("bgrqx,bgxd->bgrqd", A, V), A


def _joined(results):
    return tuple(one.flatten(1, 2) for one in results)


@grouped_query_attention.misconception
def groups_in_turns(Q, K, V):
    """Head h attends to group h % G, so that neighbouring heads have different groups: that is what repeat gives, or a split
    of the heads' axis into [R, G]. Neighbouring heads share a group: head h attends to group h // R, as after a split into
    [G, R]."""
    return _attend(Q, K, V, _in_turns, _in_turns)


@grouped_query_attention.misconception
def keys_in_turns(Q, K, V):
    """Head h compares its queries with the keys of group h % G, and mixes the values of group h // R. A key and its value
    come from the same group, h // R: treat keys and values alike."""
    return _attend(Q, K, V, keys=_in_turns)


@grouped_query_attention.misconception
def values_in_turns(Q, K, V):
    """The weights are right, but head h mixes the values of group h % G with them. A key and its value come from the same
    group, h // R: treat keys and values alike."""
    return _attend(Q, K, V, values=_in_turns)


@grouped_query_attention.misconception
def queries_in_turns(Q, K, V):
    """Group g was given the query heads g, g + G, g + 2G and so on, and the results stand group after group. The heads of
    group g are the R neighbours from head g*R on: split the heads' axis into [G, R], and join it in the same order."""
    return _joined(_in_five_axes(_cut(Q, K.shape[1], "R").transpose(1, 2).flatten(1, 2), K, V))


@grouped_query_attention.misconception
def results_in_turns(Q, K, V):
    """Each head attends to its own group, but the results stand in another order: the first head of each group, then the
    second of each. The heads come out in the order in which they came in: join the axes [G, R] with G first."""
    return _exchanged(_in_five_axes(Q, K, V))


@grouped_query_attention.misconception
def first_group_for_all(Q, K, V):
    """All heads attend to the first group. Each group has R heads of its own: head h attends to group h // R."""
    return _attend(Q, K, V, *[lambda h, G, R: 0 * h] * 2)


@grouped_query_attention.misconception
def groups_averaged(Q, K, V):
    """All heads attend to the mean of the groups' keys and mix the mean of their values, as if there were one group. Each
    group keeps its own keys and values for its R heads."""
    return _attend(Q, K.mean(dim=1, keepdim=True), V.mean(dim=1, keepdim=True))


@grouped_query_attention.misconception
def queries_of_a_group_averaged(Q, K, V):
    """The queries of a group's R heads, or their scores, were averaged, so that G heads come out. The heads of a group share
    keys and values alone: each of the G*R heads has its own queries, weights and output."""
    return _attend(_cut(Q, K.shape[1]).mean(dim=2), K, V)


@grouped_query_attention.misconception
def queries_of_a_group_averaged_for_all_its_heads(Q, K, V):
    """All heads of a group have the same output, made with the mean of their queries. The heads of a group share keys and
    values alone: each of the G*R heads has its own queries, weights and output."""
    return _attend(_cut(Q, K.shape[1]).mean(dim=2, keepdim=True).expand_as(_cut(Q, K.shape[1])).flatten(1, 2), K, V)


@grouped_query_attention.misconception
def scores_of_a_group_summed(Q, K, V):
    """The scores of a group's R heads were summed, so that G heads come out; an einsum does this where the axis of the heads
    is missing in its result. Each of the G*R heads has its own scores, weights and output."""
    return _attend(_cut(Q, K.shape[1]).sum(dim=2), K, V)


@grouped_query_attention.misconception
def softmax_over_groups(Q, K, V):
    """Your weights sum to 1 over the G groups. Each query of each head needs its own distribution over the N_X data vectors of
    its group: the softmax runs over the last axis."""
    return _joined(_in_five_axes(Q, K, V, dim=1))


@grouped_query_attention.misconception
def softmax_over_the_heads_of_a_group(Q, K, V):
    """Your weights sum to 1 over the R heads of a group. Heads do not compete: each query of each head needs its own
    distribution over the N_X data vectors, so the softmax runs over the last axis."""
    return _joined(_in_five_axes(Q, K, V, dim=2))


@grouped_query_attention.misconception
def softmax_over_the_queries_of_a_group(Q, K, V):
    """Your weights sum to 1 over all R*N_Q queries of a group. Queries do not compete: each needs its own distribution over the
    N_X data vectors, so the softmax runs over the last axis."""
    return _by_group(Q, K, V, dim=-2)


@grouped_query_attention.misconception
def data_of_all_groups(Q, K, V):
    """Each head attends to the keys of all groups side by side, G*N_X of them. A head attends to the keys of its own group
    alone, N_X of them."""
    return _attend(Q, K.flatten(1, 2).unsqueeze(1), V.flatten(1, 2).unsqueeze(1))


@grouped_query_attention.misconception
def scaled_by_the_whole_width(Q, K, V):
    """The scores are divided by the root of the width of all heads together, G*R*D_H. The dot product of a head runs over its
    own D_H features: divide by √D_H."""
    return _attend(Q, K, V, divisor=math.sqrt(Q.shape[1] * Q.shape[-1]))


@grouped_query_attention.misconception
def heads_and_queries_mixed(Q, K, V):
    """Heads and queries are mixed: the results stand as if the R heads and N_Q queries of a group had been joined as [N_Q,
    R] and cut apart as [R, N_Q]. A reshape does not move numbers: cut the axes in the order in which they were joined."""
    return tuple(one.transpose(2, 3).reshape(*Q.shape[:3], -1) for one in _in_five_axes(Q, K, V))


@grouped_query_attention.misconception
def heads_and_queries_mixed_the_other_way(Q, K, V):
    """Heads and queries are mixed: the results stand as if the R heads and N_Q queries of a group had been joined as [R,
    N_Q] and cut apart as [N_Q, R]. A reshape does not move numbers: cut the axes in the order in which they were joined."""
    cut = [one.flatten(2, 3).unflatten(2, (Q.shape[2], -1)).transpose(2, 3) for one in _in_five_axes(Q, K, V)]
    return _joined(cut)


@grouped_query_attention.misconception
def results_swapped(Q, K, V):
    """The two results are swapped: return the outputs Y first, then the weights A."""
    return _attend(Q, K, V)[::-1]


@grouped_query_attention.misconception
def copied(Q, K, V):
    """On the way a tensor is made that is as large as the keys repeated for each head, [B, G*R, N_X, D_H]. repeat_interleave
    copies; so do a reshape of what was expanded, a list of indices, and @ where it has to broadcast keys or values over the
    heads of a group. In decoding that copies the whole cache R times for one token. Let the R heads of a group ask
    their keys in one product, as R*N_Q queries."""
    return _attend(Q, K, V)


def _by_group(Q, K, V, dim=-1):
    q = _cut(Q, K.shape[1]).flatten(2, 3)  # [B, G, R*N_Q, D_H]
    A = (q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=dim)
    return tuple(one.unflatten(2, (-1, Q.shape[2])).flatten(1, 2) for one in (A @ V, A))


@grouped_query_attention.alternative
def all_queries_of_a_group_at_once(Q, K, V):
    return _by_group(Q, K, V)


@grouped_query_attention.alternative
def by_einsum(Q, K, V):
    return _joined(_in_five_axes(Q, K, V))


@grouped_query_attention.alternative
def group_by_group(Q, K, V):
    found = [_by_group(q, k, v) for q, k, v in zip(Q.chunk(K.shape[1], dim=1), K.split(1, dim=1), V.split(1, dim=1))]
    return tuple(torch.cat(results, dim=1) for results in zip(*found))


@grouped_query_attention.alternative
def one_head_of_each_group_at_a_time(Q, K, V):
    R, found = Q.shape[1] // K.shape[1], []
    for r in range(R):
        A = (Q[:, r::R] @ K.transpose(-2, -1) * Q.shape[-1] ** -0.5).softmax(dim=-1)
        found.append((A @ V, A))
    return tuple(torch.stack(results, dim=2).flatten(1, 2) for results in zip(*found))


@grouped_query_attention.alternative
def head_by_head(Q, K, V):
    R, Y, A = Q.shape[1] // K.shape[1], [], []
    for h in range(Q.shape[1]):
        A.append(torch.softmax(Q[:, h] @ K[:, h // R].mT / math.sqrt(Q.shape[-1]), dim=-1))
        Y.append(A[-1] @ V[:, h // R])
    return torch.stack(Y, dim=1), torch.stack(A, dim=1)
