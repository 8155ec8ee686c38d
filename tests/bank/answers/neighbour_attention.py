"""Answers to neighbour_attention (assignment 12)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

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


change(one_hot_mask, "full_attention", "full attention, neighbours are not used", "concept",
       ("mask = F.one_hot(neighbours, Q.shape[1]).sum(2).bool()", ""), ("V, attn_mask=mask", "V"))


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


# Right, and not registered: answers below are changes of it.
def _plain(Q, K, V, neighbours):
    return _mixed(_own_scores(Q, K, neighbours), _pick(V, neighbours))


change(_plain, "no_root", "no division by the root", "concept",
       before("return", 'E = torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours))'),
       ("_own_scores(Q, K, neighbours)", "E"))


# Right, and not registered: answers below are changes of it.
def _scores_by_einsum(Q, K, V, neighbours):
    E = torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours)) / math.sqrt(Q.shape[-1])
    return _mixed(E, _pick(V, neighbours))


change(_scores_by_einsum, "divided_by_width", "divided by D, not by its root", "concept",
       ("math.sqrt(Q.shape[-1])", "Q.shape[-1]"))
change(_scores_by_einsum, "root_of_k", "divided by the root of the number of neighbours", "concept",
       ("math.sqrt(Q.shape[-1])", "neighbours.shape[-1] ** 0.5"))
change(_scores_by_einsum, "root_of_points", "divided by the root of the number of points", "concept",
       ("math.sqrt(Q.shape[-1])", "Q.shape[1] ** 0.5"))
change(_scores_by_einsum, "root_of_value_width", "divided by the root of the values' width", "concept",
       ("math.sqrt(Q.shape[-1])", "V.shape[-1] ** 0.5"))


@wrong("the root is applied to the weights", kind="concept")
def weights_divided(Q, K, V, neighbours):
    E = torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours))
    return torch.einsum("bnk,bnkd->bnd", E.softmax(-1) / math.sqrt(Q.shape[-1]), _pick(V, neighbours))


change(_scores_by_einsum, "own_key", "the point's own key in all products: every neighbour weighs the same", "concept",
       ('torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours))',
        "(Q * K).sum(-1, keepdim=True).expand(neighbours.shape)"))
change(_scores_by_einsum, "neighbours_ask", "queries of the neighbours meet the point's own key", "concept",
       ('"bnd,bnkd->bnk", Q, _pick(K, neighbours)', '"bnkd,bnd->bnk", _pick(Q, neighbours), K'))


@wrong("queries are looked up too, so each neighbour's query meets its own key", kind="concept")
def query_and_key_of_neighbours(Q, K, V, neighbours):
    E = (_pick(Q, neighbours) * _pick(K, neighbours)).sum(-1) / math.sqrt(Q.shape[-1])
    return _mixed(E, _pick(V, neighbours))


change(_plain, "keys_with_keys", "keys are compared with keys: the queries are not used", "concept",
       ("Q, K, neighbours", "K, K, neighbours"))
change(_plain, "queries_with_queries", "queries with queries: the keys are not used", "concept",
       ("K, neighbours", "Q, neighbours"))
change(_plain, "keys_mixed", "keys are mixed in place of values", "concept",
       ("_pick(V, neighbours)", "_pick(K, neighbours)"))


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


change(_plain, "softmax_twice", "softmax twice", "concept",
       ("_own_scores(Q, K, neighbours)", "_own_scores(Q, K, neighbours).softmax(-1)"))


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


change(_plain, "offset_for_keys_only", "keys have an offset for the batch, values have none", "concept",
       ("_pick(V, neighbours)", "V.flatten(0, 1)[neighbours]"))


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


change(_plain, "first_k_keys", "keys of the first k points, not of the neighbours", "concept",
       before("return", "k = neighbours.shape[-1]"), ("_own_scores(Q, K, neighbours)", "_scores(Q, K)[..., :k]"))
change(lists_of_the_first, "list_of_the_first_point", "the list of the first point for all points", "concept",
       ("neighbours[:1]", "neighbours[:, :1]"))


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


change(_scores_by_einsum, "by_distance", "scores of negative distances in place of products", "concept",
       ('torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours))',
        "-(Q.unsqueeze(2) - _pick(K, neighbours)).square().sum(-1)"))
change(_plain, "by_cosine", "cosines in place of products", "concept",
       before("return", "E = F.cosine_similarity(Q.unsqueeze(2), _pick(K, neighbours), dim=-1)"),
       ("_own_scores(Q, K, neighbours)", "E"))
change(_plain, "residual", "the point's own value is added to the result", "concept",
       ("_mixed", "V + _mixed"))
change(_plain, "relative_values", "values relative to the point's own value", "concept",
       ("_pick(V, neighbours)", "_pick(V, neighbours) - V.unsqueeze(2)"))


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


change(_plain, "keys_detached", "no gradient reaches the keys", "gradient",
       ("K, neighbours", "K.detach(), neighbours"))


@wrong("the queries are scaled in place", kind="interface")
def scaled_in_place(Q, K, V, neighbours):
    Q.data /= math.sqrt(Q.shape[-1])
    return _mixed(torch.einsum("bnd,bnkd->bnk", Q, _pick(K, neighbours)), _pick(V, neighbours))


# ---------------------------------------------------------------- of a second author, who knew the text alone


@right("Advanced indexing with the numbers of the sets, products along D")
def advanced_indexing(Q, K, V, neighbours):
    b = torch.arange(Q.shape[0], device=Q.device)[:, None, None]
    k, v = K[b, neighbours], V[b, neighbours]
    weights = ((Q.unsqueeze(2) * k).sum(-1) / math.sqrt(Q.shape[-1])).softmax(-1)
    return (weights.unsqueeze(-1) * v).sum(2)


@right("gather from keys and values that are expanded to [B, N, N, D]")
def gather_from_expanded(Q, K, V, neighbours):
    B, N, _ = Q.shape

    def look_up(x):
        x = x.unsqueeze(1).expand(B, N, N, x.shape[-1])
        return x.gather(2, neighbours.unsqueeze(-1).expand(-1, -1, -1, x.shape[-1]))

    scores = torch.einsum("bnd,bnkd->bnk", Q, look_up(K)) * Q.shape[-1] ** -0.5
    return torch.einsum("bnk,bnkd->bnd", F.softmax(scores, dim=-1), look_up(V))


@right("gather along the points with flattened neighbours, [B, N * k, D]")
def gather_with_flattened(Q, K, V, neighbours):
    B, N, k = neighbours.shape
    index = neighbours.reshape(B, N * k, 1)
    keys = torch.gather(K, 1, index.expand(-1, -1, K.shape[-1])).view(B, N, k, -1)
    values = torch.gather(V, 1, index.expand(-1, -1, V.shape[-1])).view(B, N, k, -1)
    scores = (keys @ Q[..., None]).squeeze(-1) / K.shape[-1] ** 0.5
    return (scores.softmax(dim=2)[:, :, None] @ values).squeeze(2)


@right("All against all, with a mask that is scattered from the neighbours")
def masked_attention(Q, K, V, neighbours):
    B, N, D = Q.shape
    allowed = torch.zeros(B, N, N, dtype=torch.bool, device=Q.device).scatter(2, neighbours, True)
    scores = (Q @ K.mT / math.sqrt(D)).masked_fill(~allowed, float("-inf"))
    return scores.softmax(-1) @ V


@right("scaled_dot_product_attention with one query for each point, points in the batch")
def fused_point_by_point(Q, K, V, neighbours):
    b = torch.arange(len(Q), device=Q.device).view(-1, 1, 1)
    return F.scaled_dot_product_attention(Q[:, :, None], K[b, neighbours], V[b, neighbours]).squeeze(2)


@right("Plain loops over sets, points and neighbours")
def plain_loops(Q, K, V, neighbours):
    sets = []
    for q, k, v, near in zip(Q, K, V, neighbours.tolist()):
        points = []
        for n, listed in enumerate(near):
            scores = torch.stack([q[n].dot(k[m]) for m in listed]) / math.sqrt(q.shape[-1])
            points.append(sum(w * v[m] for w, m in zip(scores.softmax(0), listed)))
        sets.append(torch.stack(points))
    return torch.stack(sets)


@right("Sets are laid end to end; b * N is added to the numbers, and rows are looked up with F.embedding")
def offsets_and_embedding(Q, K, V, neighbours):
    B, N, D = Q.shape
    rows = neighbours + N * torch.arange(B, device=Q.device)[:, None, None]
    k, v = F.embedding(rows, K.reshape(B * N, -1)), F.embedding(rows, V.reshape(B * N, -1))
    weights = torch.matmul(k, Q.unsqueeze(-1)).div(D**0.5).softmax(2)
    return weights.mul(v).sum(dim=2)


@right("Scores of all pairs; those of the neighbours are gathered, and their weights scattered into zeros")
def gathered_scores(Q, K, V, neighbours):
    scores = torch.bmm(Q, K.transpose(1, 2)) / math.sqrt(Q.size(-1))
    weights = scores.gather(-1, neighbours).softmax(-1)
    return torch.zeros_like(scores).scatter(-1, neighbours, weights) @ V


@right("one_hot matrices pick keys and values")
def picked_by_one_hot(Q, K, V, neighbours):
    pick = F.one_hot(neighbours, Q.shape[1]).to(Q.dtype)
    keys = torch.einsum("bnkm,bmd->bnkd", pick, K)
    scores = torch.einsum("bnkd,bnd->bnk", keys, Q / math.sqrt(Q.shape[2]))
    return torch.einsum("bnk,bnkm,bmd->bnd", scores.softmax(-1), pick.to(V.dtype), V)


@right("One set after the other: plain indexing with the neighbours [N, k]")
def set_after_set_too(Q, K, V, neighbours):
    def one(q, k, v, near):
        return torch.softmax((k[near] * q[:, None]).sum(2) / q.shape[1] ** 0.5, 1)[:, None].bmm(v[near])[:, 0]

    return torch.stack([one(*each) for each in zip(Q, K, V, neighbours)])


@right("A running softmax, one column of neighbours at a time")
def running_softmax_too(Q, K, V, neighbours):
    largest = total = mixed = None
    for column in neighbours.unbind(-1):
        k, v = (torch.take_along_dim(x, column.unsqueeze(-1), dim=1) for x in (K, V))
        score = (Q * k).sum(-1, keepdim=True) / math.sqrt(Q.shape[-1])
        if largest is None:
            largest, total, mixed = score, torch.ones_like(score), v
            continue
        new = torch.maximum(largest, score)
        old_part, new_part = (largest - new).exp(), (score - new).exp()
        mixed, total, largest = mixed * old_part + v * new_part, total * old_part + new_part, new
    return mixed / total


def _pick_too(x, neighbours):
    """[B, N, D], [B, N, k] -> [B, N, k, D]"""
    return x[torch.arange(len(x))[:, None, None], neighbours]


def _mask(neighbours):
    B, N, _ = neighbours.shape
    return torch.zeros(B, N, N, dtype=torch.bool).scatter(2, neighbours, True)


def _scores_too(Q, K, neighbours):
    return (Q.unsqueeze(2) * _pick_too(K, neighbours)).sum(-1) / math.sqrt(Q.shape[-1])


def _sum(weights, V, neighbours):
    return (weights.unsqueeze(-1) * _pick_too(V, neighbours)).sum(2)


@wrong("gather without expand: features are gathered, not points", kind="concept")
def features_gathered(Q, K, V, neighbours):
    scores = torch.einsum("bnd,bnd->bn", Q, K)[..., None] / math.sqrt(Q.shape[-1])
    weights = scores.expand(neighbours.shape).softmax(-1)
    values = V.gather(2, neighbours.clamp(max=V.shape[2] - 1))
    return (weights * values).sum(-1, keepdim=True).expand_as(V)


@wrong("gathered neighbours are viewed as [B, k, N, D] and turned", kind="concept")
def neighbours_outside(Q, K, V, neighbours):
    B, N, k = neighbours.shape
    index = neighbours.reshape(B, N * k, 1)
    keys = torch.take_along_dim(K, index, 1).view(B, k, N, -1).transpose(1, 2)
    values = torch.take_along_dim(V, index, 1).view(B, k, N, -1).transpose(1, 2)
    weights = ((Q.unsqueeze(2) * keys).sum(-1) / math.sqrt(Q.shape[-1])).softmax(-1)
    return (weights.unsqueeze(-1) * values).sum(2)


@wrong("the value of the point itself, whatever the weights", kind="concept")
def value_of_itself(Q, K, V, neighbours):
    return (_scores_too(Q, K, neighbours).softmax(-1).unsqueeze(-1) * V.unsqueeze(2)).sum(2)


@wrong("one mask for all sets: whoever is a neighbour in any of them", kind="concept")
def one_mask_for_all_sets(Q, K, V, neighbours):
    allowed = _mask(neighbours).any(0)
    return (Q @ K.mT / math.sqrt(Q.shape[-1])).masked_fill(~allowed, -1e9).softmax(-1) @ V


@wrong("scores from sorted neighbours, values from the neighbours as they are listed", kind="concept")
def sorted_for_the_keys(Q, K, V, neighbours):
    return _sum(_scores_too(Q, K, neighbours.sort(-1).values).softmax(-1), V, neighbours)


@wrong("Point Transformer's vector attention: a softmax for each feature of query minus key", kind="concept")
def vector_attention_too(Q, K, V, neighbours):
    weights = ((Q.unsqueeze(2) - _pick_too(K, neighbours)) / math.sqrt(Q.shape[-1])).softmax(2)
    v = _pick_too(V, neighbours)
    width = min(weights.shape[-1], v.shape[-1])
    return F.pad((weights[..., :width] * v[..., :width]).sum(2), (0, v.shape[-1] - width))


@wrong("values are sent to the neighbours (scatter_add) in place of fetched from them", kind="concept")
def sent_to_the_neighbours(Q, K, V, neighbours):
    B, N, k = neighbours.shape
    messages = _scores_too(Q, K, neighbours).softmax(-1).unsqueeze(-1) * V.unsqueeze(2)
    index = neighbours.reshape(B, N * k, 1).expand(-1, -1, V.shape[-1])
    return torch.zeros_like(V).scatter_add(1, index, messages.flatten(1, 2))


@wrong("two mistakes: no root, and softmax over the points", kind="concept")
def no_root_over_the_points(Q, K, V, neighbours):
    scores = (Q.unsqueeze(2) * _pick_too(K, neighbours)).sum(-1)
    return _sum(scores.softmax(1), V, neighbours)


@wrong("two mistakes: the first set for all, and the neighbours' queries", kind="concept")
def first_set_and_their_queries(Q, K, V, neighbours):
    weights = ((K.unsqueeze(2) * Q[0][neighbours]).sum(-1) / math.sqrt(Q.shape[-1])).softmax(-1)
    return (weights.unsqueeze(-1) * V[0][neighbours]).sum(2)


@wrong("the index is expanded to the keys' width for the values too: wider values are cut", kind="edge")
def values_of_the_keys_width(Q, K, V, neighbours):
    B, N, k = neighbours.shape
    index = neighbours.reshape(B, N * k, 1).expand(-1, -1, K.shape[-1])
    keys, values = (x.gather(1, index).view(B, N, k, -1) for x in (K, V))
    weights = ((Q.unsqueeze(2) * keys).sum(-1) / math.sqrt(Q.shape[-1])).softmax(-1)
    return (weights.unsqueeze(-1) * values).sum(2)


@wrong("the result has the shape of Q, whatever the values' width", kind="edge")
def shaped_like_q(Q, K, V, neighbours):
    return _sum(_scores_too(Q, K, neighbours).softmax(-1), V, neighbours).view(Q.shape)


@wrong("three neighbours, whatever k is", kind="edge")
def three_neighbours(Q, K, V, neighbours):
    neighbours = neighbours[..., :3]
    return _sum(_scores_too(Q, K, neighbours).softmax(-1), V, neighbours)


@wrong("the axis of the one query stays: [B, N, 1, D]", kind="shape")
def axis_left(Q, K, V, neighbours):
    return _scores_too(Q, K, neighbours).softmax(-1).unsqueeze(2) @ _pick_too(V, neighbours)


@wrong("added up over the features, [B, N, k]", kind="shape")
def added_over_the_features(Q, K, V, neighbours):
    return (_scores_too(Q, K, neighbours).softmax(-1).unsqueeze(-1) * _pick_too(V, neighbours)).sum(-1)


@wrong("the offset is added to neighbours in place", kind="interface")
def offset_in_place(Q, K, V, neighbours):
    B, N, _ = Q.shape
    neighbours += (1 + torch.arange(B))[:, None, None] * N
    k, v = K.flatten(0, 1)[neighbours - N], V.flatten(0, 1)[neighbours - N]
    weights = ((Q.unsqueeze(2) * k).sum(-1) / Q.shape[-1] ** 0.5).softmax(-1)
    return (weights.unsqueeze(-1) * v).sum(2)


@wrong("written with numpy: nothing is learned through it", kind="gradient")
def by_numpy(Q, K, V, neighbours):
    b = torch.arange(len(Q))[:, None, None].numpy()
    q, k, v, near = Q.detach().numpy(), K.detach().numpy(), V.detach().numpy(), neighbours.numpy()
    scores = (q[:, :, None] * k[b, near]).sum(-1) / math.sqrt(q.shape[-1])
    weights = torch.from_numpy(scores).softmax(-1).numpy()
    return torch.from_numpy((weights[..., None] * v[b, near]).sum(2))
