"""Answers to neighbour_attention (assignment 12)."""

import math

import torch
import torch.nn.functional as F
from answers import right, wrong

# ---------------------------------------------------------------- right


@right("take_along_dim on keys and values that got an axis for the points that ask")
def along_a_new_axis(Q, K, V, neighbours):
    index = neighbours.unsqueeze(-1)
    keys, values = (
        torch.take_along_dim(K.unsqueeze(1), index, dim=2),
        torch.take_along_dim(V.unsqueeze(1), index, dim=2),
    )
    weights = torch.softmax(keys @ Q.unsqueeze(-1) * Q.shape[-1] ** -0.5, dim=2)
    return (weights * values).sum(2)


@right("one hot of the neighbours, whose sum is a mask, in the fused attention")
def one_hot_mask(Q, K, V, neighbours):
    mask = F.one_hot(neighbours, Q.shape[1]).sum(2).bool()
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)


@right("one hot vectors pick keys and values by a product")
def picked_by_products(Q, K, V, neighbours):
    picks = F.one_hot(neighbours, Q.shape[1]).to(K.dtype)
    keys = torch.einsum("bnkm,bmd->bnkd", picks, K)
    scores = torch.einsum("bnd,bnkd->bnk", Q, keys) / math.sqrt(K.shape[-1])
    mixed = torch.einsum("bnk,bnkm->bnm", scores.softmax(-1), picks.to(scores.dtype))
    return mixed @ V


@right("a bias of zeros at neighbours and -inf elsewhere is added to all scores")
def added_bias(Q, K, V, neighbours):
    bias = torch.full((*Q.shape[:2], Q.shape[1]), float("-inf"), dtype=Q.dtype, device=Q.device)
    bias.scatter_(2, neighbours, 0)
    return torch.softmax(torch.baddbmm(bias, Q, K.transpose(1, 2), alpha=1 / math.sqrt(Q.shape[2])), -1) @ V


@right("set after set, with plain indexing")
def set_after_set(Q, K, V, neighbours):
    results = []
    for b in range(len(Q)):
        keys, values = K[b][neighbours[b]], V[b][neighbours[b]]
        weights = torch.einsum("nd,nkd->nk", Q[b], keys).div(Q.shape[-1] ** 0.5).softmax(1)
        results.append(torch.einsum("nk,nkd->nd", weights, values))
    return torch.stack(results)


@right("neighbour after neighbour, with a running maximum and a running sum")
def running_softmax(Q, K, V, neighbours):
    B, N, k = neighbours.shape
    rows = torch.arange(B, device=Q.device).unsqueeze(1)
    top = total = result = None
    for j in range(k):
        m = neighbours[:, :, j]
        score = (Q * K[rows, m]).sum(-1, keepdim=True) / math.sqrt(Q.shape[-1])
        value = V[rows, m]
        if top is None:
            top, total, result = score, torch.ones_like(score), value
            continue
        new = torch.maximum(top, score)
        old, now = (top - new).exp(), (score - new).exp()
        total, result, top = total * old + now, result * old + value * now, new
    return result / total


@right("fused attention with one query a point and k keys, sets and points as batch")
def fused_with_one_query(Q, K, V, neighbours):
    def near(X):
        return torch.stack([x[i] for x, i in zip(X, neighbours)])

    return F.scaled_dot_product_attention(Q.unsqueeze(-2), near(K), near(V)).squeeze(-2)


@right("vmap of what one point of one set does")
def by_vmap(Q, K, V, neighbours):
    def one(q, near, keys, values):
        scores = keys.index_select(0, near) @ q / math.sqrt(q.shape[0])
        return scores.softmax(0) @ values.index_select(0, near)

    over_points = torch.vmap(one, in_dims=(0, 0, None, None))
    return torch.vmap(over_points)(Q, neighbours, K, V)


@right("logarithms of the weights, then exp")
def by_log_softmax(Q, K, V, neighbours):
    flat = neighbours.flatten(1)
    keys = torch.stack([x.index_select(0, i) for x, i in zip(K, flat)]).unflatten(1, neighbours.shape[1:])
    values = torch.stack([x.index_select(0, i) for x, i in zip(V, flat)]).unflatten(1, neighbours.shape[1:])
    scores = torch.matmul(keys, Q[..., None])[..., 0] / math.sqrt(Q.shape[-1])
    return (scores.log_softmax(2).exp()[..., None] * values).sum(2)


# ---------------------------------------------------------------- wrong


def _pick(X, index):
    return X[torch.arange(len(X), device=X.device)[:, None, None], index]


def _scores(Q, K):
    return Q @ K.mT / math.sqrt(Q.shape[-1])


def _near(Q, neighbours):
    mask = torch.zeros(*Q.shape[:2], Q.shape[1], dtype=torch.bool, device=Q.device)
    return mask.scatter(2, neighbours, True)


def _mixed(E, values):
    return torch.einsum("bnk,bnkd->bnd", E.softmax(-1), values)


def _own_scores(Q, K, neighbours):
    return torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours)) / math.sqrt(Q.shape[-1])


@wrong("full attention, neighbours are not used", kind="concept")
def full_attention(Q, K, V, neighbours):
    return F.scaled_dot_product_attention(Q, K, V)


@wrong("the mask is inverted: everything but the neighbours", kind="concept")
def everything_else(Q, K, V, neighbours):
    return _scores(Q, K).masked_fill(_near(Q, neighbours), -math.inf).softmax(-1) @ V


@wrong("hidden scores are 0 instead of -inf", kind="concept")
def hidden_as_zero(Q, K, V, neighbours):
    return (_scores(Q, K) * _near(Q, neighbours)).softmax(-1) @ V


@wrong("softmax over all, then multiplied by the mask", kind="concept")
def mask_after_softmax(Q, K, V, neighbours):
    return (_scores(Q, K).softmax(-1) * _near(Q, neighbours)) @ V


@wrong("softmax over all, the neighbours' weights are gathered and not normalised again", kind="concept")
def weights_gathered(Q, K, V, neighbours):
    weights = _scores(Q, K).softmax(-1).gather(-1, neighbours)
    return (weights.unsqueeze(-1) * _pick(V, neighbours)).sum(2)


@wrong("no division by the root", kind="concept")
def no_root(Q, K, V, neighbours):
    E = torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours))
    return _mixed(E, _pick(V, neighbours))


@wrong("divided by D, not by its root", kind="concept")
def divided_by_width(Q, K, V, neighbours):
    E = torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours)) / Q.shape[-1]
    return _mixed(E, _pick(V, neighbours))


@wrong("divided by the root of the number of neighbours", kind="concept")
def root_of_k(Q, K, V, neighbours):
    E = torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours)) / neighbours.shape[-1] ** 0.5
    return _mixed(E, _pick(V, neighbours))


@wrong("divided by the root of the number of points", kind="concept")
def root_of_points(Q, K, V, neighbours):
    E = torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours)) / Q.shape[1] ** 0.5
    return _mixed(E, _pick(V, neighbours))


@wrong("divided by the root of the values' width", kind="concept")
def root_of_value_width(Q, K, V, neighbours):
    E = torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours)) / V.shape[-1] ** 0.5
    return _mixed(E, _pick(V, neighbours))


@wrong("the root is applied to the weights", kind="concept")
def weights_divided(Q, K, V, neighbours):
    E = torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours))
    return torch.einsum("bnk,bnkd->bnd", E.softmax(-1) / math.sqrt(Q.shape[-1]), _pick(V, neighbours))


@wrong("the point's own key in all products: every neighbour weighs the same", kind="concept")
def own_key(Q, K, V, neighbours):
    E = (Q * K).sum(-1, keepdim=True).expand(neighbours.shape) / math.sqrt(Q.shape[-1])
    return _mixed(E, _pick(V, neighbours))


@wrong("queries of the neighbours meet the point's own key", kind="concept")
def neighbours_ask(Q, K, V, neighbours):
    E = torch.einsum("bnkd,bnd->bnk", _pick(Q, neighbours), K) / math.sqrt(Q.shape[-1])
    return _mixed(E, _pick(V, neighbours))


@wrong("queries are looked up too, so each neighbour's query meets its own key", kind="concept")
def query_and_key_of_neighbours(Q, K, V, neighbours):
    E = (_pick(Q, neighbours) * _pick(K, neighbours)).sum(-1) / math.sqrt(Q.shape[-1])
    return _mixed(E, _pick(V, neighbours))


@wrong("keys are compared with keys: the queries are not used", kind="concept")
def keys_with_keys(Q, K, V, neighbours):
    return _mixed(_own_scores(K, K, neighbours), _pick(V, neighbours))


@wrong("queries with queries: the keys are not used", kind="concept")
def queries_with_queries(Q, K, V, neighbours):
    return _mixed(_own_scores(Q, Q, neighbours), _pick(V, neighbours))


@wrong("keys are mixed in place of values", kind="concept")
def keys_mixed(Q, K, V, neighbours):
    return _mixed(_own_scores(Q, K, neighbours), _pick(K, neighbours))


@wrong("the mean of the neighbours' values", kind="concept")
def mean_of_values(Q, K, V, neighbours):
    return _pick(V, neighbours).mean(2)


@wrong("the sum of the neighbours' values", kind="concept")
def sum_of_values(Q, K, V, neighbours):
    return _pick(V, neighbours).sum(2)


@wrong("the maximum over the neighbours' values", kind="concept")
def max_pooling(Q, K, V, neighbours):
    return _pick(V, neighbours).max(2).values


@wrong("hard attention: the value of the neighbour with the largest score", kind="concept")
def hard_attention(Q, K, V, neighbours):
    best = _own_scores(Q, K, neighbours).argmax(-1, keepdim=True)
    return _pick(V, neighbours.gather(-1, best)).squeeze(2)


@wrong("raw scores as weights, no softmax", kind="concept")
def no_softmax(Q, K, V, neighbours):
    return torch.einsum("bnk,bnkd->bnd", _own_scores(Q, K, neighbours), _pick(V, neighbours))


@wrong("a sigmoid in place of the softmax", kind="concept")
def sigmoid_weights(Q, K, V, neighbours):
    return torch.einsum("bnk,bnkd->bnd", _own_scores(Q, K, neighbours).sigmoid(), _pick(V, neighbours))


@wrong("softmax over the points that ask", kind="concept")
def softmax_dim_one(Q, K, V, neighbours):
    return torch.einsum("bnk,bnkd->bnd", _own_scores(Q, K, neighbours).softmax(1), _pick(V, neighbours))


@wrong("softmax over the batch", kind="concept")
def softmax_dim_zero(Q, K, V, neighbours):
    return torch.einsum("bnk,bnkd->bnd", _own_scores(Q, K, neighbours).softmax(0), _pick(V, neighbours))


@wrong("one softmax over all pairs of point and neighbour of a set", kind="concept")
def softmax_over_pairs(Q, K, V, neighbours):
    E = _own_scores(Q, K, neighbours)
    return torch.einsum("bnk,bnkd->bnd", E.flatten(1).softmax(-1).view_as(E), _pick(V, neighbours))


@wrong("softmax over the features of elementwise products, each feature apart over the neighbours", kind="concept")
def vector_attention(Q, K, V, neighbours):
    products = Q.unsqueeze(2) * _pick(K, neighbours) / math.sqrt(Q.shape[-1])
    weights = products.softmax(2).mean(-1, keepdim=True)
    return (weights * _pick(V, neighbours)).sum(2)


@wrong("softmax over the last axis after keepdim, which has one entry: all weights are 1", kind="concept")
def softmax_over_one(Q, K, V, neighbours):
    E = (Q.unsqueeze(2) * _pick(K, neighbours)).sum(-1, keepdim=True) / math.sqrt(Q.shape[-1])
    return (E.softmax(-1) * _pick(V, neighbours)).sum(2)


@wrong("softmax twice", kind="concept")
def softmax_twice(Q, K, V, neighbours):
    return _mixed(_own_scores(Q, K, neighbours).softmax(-1), _pick(V, neighbours))


@wrong("itself is added to the neighbours", kind="concept")
def itself_too(Q, K, V, neighbours):
    mask = _near(Q, neighbours) | torch.eye(Q.shape[1], dtype=torch.bool, device=Q.device)
    return _scores(Q, K).masked_fill(~mask, -math.inf).softmax(-1) @ V


@wrong("itself is appended as one more neighbour, twice where it is listed already", kind="concept")
def itself_appended(Q, K, V, neighbours):
    B, N, _ = neighbours.shape
    own = torch.arange(N, device=Q.device)[None, :, None].expand(B, N, 1)
    more = torch.cat([own, neighbours], dim=-1)
    return _mixed(_own_scores(Q, K, more), _pick(V, more))


@wrong("the first of the list is taken for the point itself and left out", kind="concept")
def first_left_out(Q, K, V, neighbours):
    few = neighbours[..., 1:] if neighbours.shape[-1] > 1 else neighbours
    return _mixed(_own_scores(Q, K, few), _pick(V, few))


@wrong("itself is left out where it is listed", kind="concept")
def itself_hidden(Q, K, V, neighbours):
    own = torch.arange(Q.shape[1], device=Q.device)[:, None]
    E = _own_scores(Q, K, neighbours).masked_fill(neighbours == own, -1e9)
    return _mixed(E, _pick(V, neighbours))


@wrong("the last neighbour is forgotten (range(k - 1))", kind="concept")
def last_forgotten(Q, K, V, neighbours):
    few = neighbours[..., : max(1, neighbours.shape[-1] - 1)]
    return _mixed(_own_scores(Q, K, few), _pick(V, few))


@wrong("numbers are taken to count from 1", kind="concept")
def counts_from_one(Q, K, V, neighbours):
    return _mixed(_own_scores(Q, K, neighbours - 1), _pick(V, neighbours - 1))


@wrong("relation transposed: points that list me", kind="concept")
def listed_by(Q, K, V, neighbours):
    return _scores(Q, K).masked_fill(~_near(Q, neighbours).mT, -1e9).softmax(-1) @ V


@wrong("symmetric: those that I list and those that list me", kind="concept")
def both_directions(Q, K, V, neighbours):
    near = _near(Q, neighbours)
    return _scores(Q, K).masked_fill(~(near | near.mT), -math.inf).softmax(-1) @ V


@wrong("neighbours of the neighbours", kind="concept")
def two_steps(Q, K, V, neighbours):
    near = _near(Q, neighbours).float()
    return _scores(Q, K).masked_fill((near @ near) == 0, -math.inf).softmax(-1) @ V


@wrong("flattened over the batch without an offset: all neighbours from the first set", kind="concept")
def no_offset(Q, K, V, neighbours):
    keys, values = K.flatten(0, 1)[neighbours], V.flatten(0, 1)[neighbours]
    return _mixed(torch.einsum("bnd,bnkd->bnk", Q, keys) / math.sqrt(Q.shape[-1]), values)


@wrong("keys have an offset for the batch, values have none", kind="concept")
def offset_for_keys_only(Q, K, V, neighbours):
    return _mixed(_own_scores(Q, K, neighbours), V.flatten(0, 1)[neighbours])


@wrong("the neighbour lists of the first set for all sets", kind="concept")
def lists_of_the_first(Q, K, V, neighbours):
    lists = neighbours[:1].expand_as(neighbours)
    return _mixed(_own_scores(Q, K, lists), _pick(V, lists))


@wrong("the offset is b·k in place of b·N", kind="concept")
def wrong_offset(Q, K, V, neighbours):
    B, N, k = neighbours.shape
    index = neighbours + torch.arange(B, device=Q.device)[:, None, None] * k
    keys, values = K.flatten(0, 1)[index], V.flatten(0, 1)[index]
    return _mixed(torch.einsum("bnd,bnkd->bnk", Q, keys) / math.sqrt(Q.shape[-1]), values)


@wrong("values of the first k points, not of the neighbours", kind="concept")
def first_k_values(Q, K, V, neighbours):
    return _own_scores(Q, K, neighbours).softmax(-1) @ V[:, : neighbours.shape[-1]]


@wrong("keys of the first k points, not of the neighbours", kind="concept")
def first_k_keys(Q, K, V, neighbours):
    k = neighbours.shape[-1]
    return _mixed(_scores(Q, K)[..., :k], _pick(V, neighbours))


@wrong("the list of the first point for all points", kind="concept")
def list_of_the_first_point(Q, K, V, neighbours):
    lists = neighbours[:, :1].expand_as(neighbours)
    return _mixed(_own_scores(Q, K, lists), _pick(V, lists))


@wrong("gather without expanding the index over the features: only the first feature is right", kind="concept")
def gather_of_one_feature(Q, K, V, neighbours):
    B, N, k = neighbours.shape
    keys = K.gather(1, neighbours.reshape(B, N * k, 1)).view(B, N, k, 1).expand(B, N, k, K.shape[-1])
    return _mixed((Q.unsqueeze(2) * keys).sum(-1) / math.sqrt(Q.shape[-1]), _pick(V, neighbours))


@wrong("K[:, neighbours] makes an axis too many; its first batch is taken", kind="concept")
def lists_cross_sets(Q, K, V, neighbours):
    keys, values = K[:, neighbours][:, 0], V[:, neighbours][:, 0]
    return _mixed(torch.einsum("bnd,bnkd->bnk", Q, keys) / math.sqrt(Q.shape[-1]), values)


@wrong("reshape of the gathered keys in a wrong order, neighbours before points", kind="concept")
def reshaped_wrongly(Q, K, V, neighbours):
    B, N, k = neighbours.shape
    keys = _pick(K, neighbours).reshape(B, k, N, -1).transpose(1, 2)
    return _mixed((Q.unsqueeze(2) * keys).sum(-1) / math.sqrt(Q.shape[-1]), _pick(V, neighbours))


@wrong("scores of negative distances in place of products", kind="concept")
def by_distance(Q, K, V, neighbours):
    E = -(Q.unsqueeze(2) - _pick(K, neighbours)).square().sum(-1) / math.sqrt(Q.shape[-1])
    return _mixed(E, _pick(V, neighbours))


@wrong("cosines in place of products", kind="concept")
def by_cosine(Q, K, V, neighbours):
    E = F.cosine_similarity(Q.unsqueeze(2), _pick(K, neighbours), dim=-1)
    return _mixed(E, _pick(V, neighbours))


@wrong("the point's own value is added to the result", kind="concept")
def residual(Q, K, V, neighbours):
    return V + _mixed(_own_scores(Q, K, neighbours), _pick(V, neighbours))


@wrong("values relative to the point's own value", kind="concept")
def relative_values(Q, K, V, neighbours):
    return _mixed(_own_scores(Q, K, neighbours), _pick(V, neighbours) - V.unsqueeze(2))


@wrong("divided by k once more at the end", kind="concept")
def mean_at_the_end(Q, K, V, neighbours):
    weights = _own_scores(Q, K, neighbours).softmax(-1)
    return (weights.unsqueeze(-1) * _pick(V, neighbours)).mean(2)


@wrong("each neighbour's result is returned: [B, N, k, D_V]", kind="shape")
def sum_forgotten(Q, K, V, neighbours):
    weights = _own_scores(Q, K, neighbours).softmax(-1)
    return weights.unsqueeze(-1) * _pick(V, neighbours)


@wrong("squeezed at the end: sets of one point lose an axis", kind="shape")
def squeezed(Q, K, V, neighbours):
    return _mixed(_own_scores(Q, K, neighbours), _pick(V, neighbours)).squeeze()


@wrong("values are taken to have the width of the queries", kind="shape")
def width_of_queries(Q, K, V, neighbours):
    B, N, k = neighbours.shape
    index = neighbours.reshape(B, N * k, 1).expand(-1, -1, Q.shape[-1])
    values = V.gather(1, index).view(B, N, k, Q.shape[-1])
    return _mixed(_own_scores(Q, K, neighbours), values)


@wrong("exp without the maximum: inf / inf at large scores", kind="numerics")
def exp_overflows(Q, K, V, neighbours):
    powers = _own_scores(Q, K, neighbours).exp()
    return torch.einsum("bnk,bnkd->bnd", powers / powers.sum(-1, keepdim=True), _pick(V, neighbours))


@wrong("hidden scores of -100, which large scores fall below", kind="numerics")
def hidden_by_minus_hundred(Q, K, V, neighbours):
    return _scores(Q, K).masked_fill(~_near(Q, neighbours), -100.0).softmax(-1) @ V


@wrong("no gradient reaches the keys", kind="gradient")
def keys_detached(Q, K, V, neighbours):
    return _mixed(_own_scores(Q, K.detach(), neighbours), _pick(V, neighbours))


@wrong("the queries are scaled in place", kind="interface")
def scaled_in_place(Q, K, V, neighbours):
    Q.data /= math.sqrt(Q.shape[-1])
    return _mixed(torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours)), _pick(V, neighbours))
