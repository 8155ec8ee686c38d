"""Answers to match (assignment 14)."""

import itertools

import numpy as np
import torch
from answers import left_open, right, wrong
from scipy.optimize import linear_sum_assignment

# ---------------------------------------------------------------- right


@right("scipy, and the pairs sorted by target")
def sorted_pairs(costs):
    pairs = sorted(zip(*linear_sum_assignment(costs.detach().cpu().numpy())), key=lambda pair: pair[1])
    return torch.tensor([int(q) for q, _ in pairs], dtype=torch.long, device=costs.device)


@right("scipy on the transpose, whose rows are targets in order")
def transpose(costs):
    targets, queries = linear_sum_assignment(costs.t().cpu().detach())
    return torch.as_tensor(queries).to(costs.device)


@right("scatter into a new tensor")
def scattered(costs):
    q, t = linear_sum_assignment(costs.detach().cpu())
    q, t = torch.as_tensor(q), torch.as_tensor(t)
    return torch.zeros(costs.shape[1], dtype=torch.long).scatter(0, t, q).to(costs.device)


@right("lexsort of the pairs")
def lexsorted(costs):
    q, t = linear_sum_assignment(np.asarray(costs.detach().cpu().double()))
    return torch.tensor(q[np.lexsort((q, t))], device=costs.device)


@right("maximize with the opposite sign")
def maximised_negatives(costs):
    q, t = linear_sum_assignment(-costs.detach().cpu().numpy(), maximize=True)
    out = np.empty(costs.shape[1], dtype=np.int64)
    out[t] = q
    return torch.from_numpy(out).to(costs.device)


@right("The matrix of pairs, and its argmax over the queries")
def argmax_of_the_matrix(costs):
    pairs = torch.zeros(costs.shape, dtype=torch.long)
    q, t = linear_sum_assignment(costs.detach().cpu())
    pairs[q, t] = 1
    return pairs.argmax(0).to(costs.device)


@right("Costs that are all positive, padded to a square")
def padded_to_a_square(costs):
    c = costs.detach().cpu().double().numpy()
    n, m = c.shape
    square = np.zeros((n, n))
    square[:, :m] = c - c.min()
    q, t = linear_sum_assignment(square)
    return torch.tensor([int(q[np.where(t == k)[0][0]]) for k in range(m)], device=costs.device)


@right("scipy's matching of a sparse graph, with all costs moved above 0")
def sparse_graph(costs):
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    c = costs.detach().cpu().double().numpy()
    c = c - c.min() + 1
    rows, columns = min_weight_full_bipartite_matching(csr_matrix(c.T))
    out = np.empty(c.shape[1], dtype=np.int64)
    out[rows] = columns
    return torch.from_numpy(out).to(costs.device)


@right("Improving along negative cycles is left to scipy where there are many, else all permutations are tried")
def permutations_where_few(costs):
    c = costs.detach().cpu().double()
    n, m = c.shape
    if n > 7:
        q, t = linear_sum_assignment(c.numpy())
        return torch.tensor(q[np.argsort(t)], device=costs.device)
    best = min(itertools.permutations(range(n), m), key=lambda p: sum(float(c[q, t]) for t, q in enumerate(p)))
    return torch.tensor(best, device=costs.device)


# ---------------------------------------------------------------- wrong


def _best(costs, **options):
    q, t = linear_sum_assignment(costs.detach().cpu().numpy(), **options)
    return torch.as_tensor(q).to(costs.device), torch.as_tensor(t).to(costs.device)


@wrong("the cheapest query of each target, several times", kind="concept")
def argmin_of_columns(costs):
    return costs.argmin(0)


@wrong("the dearest query of each target", kind="concept")
def argmax_of_columns(costs):
    return costs.argmax(0)


@wrong("the cheapest target of each query", kind="concept")
def argmin_of_rows(costs):
    return costs.argmin(1)


@wrong("the cheapest target of each query, cut to N_T", kind="concept")
def argmin_of_rows_cut(costs):
    return costs.argmin(1)[: costs.shape[1]]


@wrong("greedy: targets in order", kind="concept")
def greedy_by_target(costs):
    c, out = costs.clone(), []
    for t in range(c.shape[1]):
        q = int(c[:, t].argmin())
        out.append(q)
        c[q] = float("inf")
    return torch.tensor(out, device=costs.device)


@wrong("greedy: targets in reverse order", kind="concept")
def greedy_from_the_last(costs):
    c, out = costs.clone(), [0] * costs.shape[1]
    for t in reversed(range(c.shape[1])):
        out[t] = int(c[:, t].argmin())
        c[out[t]] = float("inf")
    return torch.tensor(out, device=costs.device)


@wrong("greedy: the smallest entry first", kind="concept")
def greedy_by_entry(costs):
    c, out = costs.clone(), torch.zeros(costs.shape[1], dtype=torch.long, device=costs.device)
    for _ in range(c.shape[1]):
        q, t = divmod(int(c.argmin()), c.shape[1])
        out[t] = q
        c[q, :] = float("inf")
        c[:, t] = float("inf")
    return out


@wrong("greedy: queries in order", kind="concept")
def greedy_by_query(costs):
    c, out = costs.clone(), torch.zeros(costs.shape[1], dtype=torch.long, device=costs.device)
    for q in range(c.shape[1]):
        t = int(c[q].argmin())
        out[t] = q
        c[:, t] = float("inf")
    return out


@wrong("greedy: targets by their cheapest query, the cheapest target first", kind="concept")
def greedy_by_ease(costs):
    c, out = costs.clone(), torch.zeros(costs.shape[1], dtype=torch.long, device=costs.device)
    for t in costs.min(0).values.argsort():
        q = c[:, t].argmin()
        out[t] = q
        c[q] = float("inf")
    return out


@wrong("greedy: the target that has most to lose first (regret)", kind="concept")
def greedy_by_regret(costs):
    c = costs.clone()
    out = torch.zeros(costs.shape[1], dtype=torch.long, device=costs.device)
    todo = list(range(costs.shape[1]))
    while todo:
        regret = []
        for t in todo:
            low = c[:, t].sort().values
            regret.append(float(low[1] - low[0]) if len(low) > 1 else 0.0)
        t = todo.pop(int(np.argmax(regret)))
        out[t] = c[:, t].argmin()
        c[out[t]] = 1e30
    return out


@wrong("a second target gets its second-best query, whether taken or not", kind="concept")
def second_best(costs):
    order, out = costs.argsort(0), []
    for t in range(costs.shape[1]):
        q = int(order[0, t])
        out.append(q if q not in out or len(order) < 2 else int(order[1, t]))
    return torch.tensor(out, device=costs.device)


@wrong("a target whose query is taken gets the first free one, whatever it costs", kind="concept")
def first_free(costs):
    out = []
    for t in range(costs.shape[1]):
        q = int(costs[:, t].argmin())
        if q in out:
            q = next(k for k in range(len(costs)) if k not in out)
        out.append(q)
    return torch.tensor(out, device=costs.device)


@wrong("-1 where a query would be taken twice", kind="concept")
def minus_one_for_conflicts(costs):
    out = []
    for q in costs.argmin(0).tolist():
        out.append(-1 if q in out else q)
    return torch.tensor(out, device=costs.device)


@wrong("the largest sum", kind="concept")
def maximised(costs):
    q, t = _best(costs, maximize=True)
    return q[t.argsort()]


@wrong("the costs' sign is turned", kind="concept")
def of_negatives(costs):
    q, t = _best(-costs)
    return q[t.argsort()]


@wrong("in scipy's order, by query", kind="concept")
def by_query(costs):
    return _best(costs)[0]


@wrong("the targets in scipy's order", kind="concept")
def second_of_scipy(costs):
    return _best(costs)[1]


@wrong("queries[targets]", kind="concept")
def indexed_by_targets(costs):
    q, t = _best(costs)
    return q[t]


@wrong("argsort of the targets", kind="concept")
def places_of_targets(costs):
    return _best(costs)[1].argsort()


@wrong("the targets, sorted by themselves", kind="concept")
def zero_to_the_last(costs):
    return _best(costs)[1].sort().values


@wrong("sorted by query after being sorted by target", kind="concept")
def sorted_again(costs):
    q, t = _best(costs)
    return q[t.argsort()].sort().values


@wrong("argsort twice", kind="concept")
def twice_sorted(costs):
    q, t = _best(costs)
    return q[t.argsort().argsort()]


@wrong("descending by target", kind="concept")
def last_target_first(costs):
    q, t = _best(costs)
    return q[t.argsort(descending=True)]


@wrong("only the first N_T queries", kind="concept")
def square_from_the_top(costs):
    q, t = _best(costs[: costs.shape[1]])
    return q[t.argsort()]


@wrong("only the last N_T queries, numbered as if from 0", kind="concept")
def square_from_the_bottom(costs):
    q, t = _best(costs[-costs.shape[1] :])
    return q[t.argsort()]


@wrong("a target for each query, -1 for none", kind="shape")
def for_each_query(costs):
    q, t = _best(costs)
    out = torch.full((len(costs),), -1, dtype=torch.long, device=costs.device)
    out[q] = t
    return out


@wrong("a target for each query, N_T for none (no-object)", kind="shape")
def for_each_query_with_nothing(costs):
    q, t = _best(costs)
    out = torch.full((len(costs),), costs.shape[1], dtype=torch.long, device=costs.device)
    out[q] = t
    return out


@wrong("both of scipy's results", kind="interface")
def both(costs):
    return _best(costs)


@wrong("pairs [N_T, 2]", kind="shape")
def stacked_pairs(costs):
    return torch.stack(_best(costs), dim=1)


@wrong("a matrix of 0 and 1", kind="shape")
def permutation_matrix(costs):
    out = torch.zeros(costs.shape, dtype=torch.long, device=costs.device)
    q, t = _best(costs)
    out[q, t] = 1
    return out


@wrong("a mask of the queries that are used", kind="shape")
def used_queries(costs):
    out = torch.zeros(len(costs), dtype=torch.bool, device=costs.device)
    out[_best(costs)[0]] = True
    return out


@wrong("the costs of the pairs", kind="concept")
def costs_of_the_pairs(costs):
    q, t = _best(costs)
    return costs[q[t.argsort()], torch.arange(costs.shape[1], device=costs.device)]


@wrong("the sum of the costs", kind="concept")
def total(costs):
    q, t = _best(costs)
    return costs[q, t].sum()


@wrong("queries counted from 1", kind="concept")
def from_one(costs):
    q, t = _best(costs)
    return q[t.argsort()] + 1


@wrong("as numbers with a fraction", kind="interface")
def as_floats(costs):
    q, t = _best(costs)
    return q[t.argsort()].to(costs.dtype)


@wrong("a list", kind="interface")
def as_a_list(costs):
    q, t = _best(costs)
    return q[t.argsort()].tolist()


@wrong("an array of numpy", kind="interface")
def as_an_array(costs):
    q, t = linear_sum_assignment(costs.detach().cpu().numpy())
    return q[t.argsort()]


@wrong("the absolute values of the costs", kind="concept")
def absolute(costs):
    q, t = _best(costs.abs())
    return q[t.argsort()]


@wrong("squared costs", kind="concept")
def squared(costs):
    q, t = _best(costs.square())
    return q[t.argsort()]


@wrong("a softmax over the queries first, negated", kind="concept")
def by_softmax(costs):
    q, t = _best(-(-costs).softmax(0))
    return q[t.argsort()]


@wrong("each column is ranked first, and ranks are matched", kind="concept")
def by_ranks(costs):
    q, t = _best(costs.argsort(0).argsort(0))
    return q[t.argsort()]


@wrong("whole numbers of the costs", kind="numerics")
def whole_numbers(costs):
    q, t = _best(costs.long())
    return q[t.argsort()]


@wrong("the largest single cost is minimised first", kind="concept")
def bottleneck(costs):
    c = costs.detach().cpu().double().numpy()
    limits = np.sort(c, axis=None)
    low, high = 0, len(limits) - 1
    while low < high:  # the least limit under which a matching fits
        middle = (low + high) // 2
        q, t = linear_sum_assignment(c > limits[middle])
        low, high = (low, middle) if not (c[q, t] > limits[middle]).any() else (middle + 1, high)
    q, t = linear_sum_assignment(c > limits[low])
    return torch.tensor(q[t.argsort()], device=costs.device)


@wrong("rows and columns exchanged before scipy and not after", kind="concept")
def transposed_and_rows(costs):
    return _best(costs.T)[0]


@wrong("the taken entries are overwritten in the input", kind="process")
def spoilt_input(costs):
    q, t = _best(costs)
    costs[q] = float("inf")
    return q[t.argsort()]


@wrong("the identity: query t for target t", kind="concept")
def identity(costs):
    return torch.arange(costs.shape[1], device=costs.device)


@left_open("int32", kind="interface")
def as_int32(costs):
    q, t = _best(costs)
    return q[t.argsort()].to(torch.int32)
