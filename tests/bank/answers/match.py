"""Answers to match (assignment 14)."""

import itertools

import numpy as np
import torch
from answers import before, change, right, wrong
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


# Right, and not registered: answers below are changes of it.
def _plain(costs):
    q, t = _best(costs)
    return q[t.argsort()]


change(_plain, "maximised", "the largest sum", "concept",
       ("_best(costs)", "_best(costs, maximize=True)"))
change(_plain, "of_negatives", "the costs' sign is turned", "concept",
       ("_best(costs)", "_best(-costs)"))


@wrong("in scipy's order, by query", kind="concept")
def by_query(costs):
    return _best(costs)[0]


@wrong("the targets in scipy's order", kind="concept")
def second_of_scipy(costs):
    return _best(costs)[1]


change(_plain, "indexed_by_targets", "queries[targets]", "concept",
       ("t.argsort()", "t"))


@wrong("argsort of the targets", kind="concept")
def places_of_targets(costs):
    return _best(costs)[1].argsort()


@wrong("the targets, sorted by themselves", kind="concept")
def zero_to_the_last(costs):
    return _best(costs)[1].sort().values


change(_plain, "sorted_again", "sorted by query after being sorted by target", "concept",
       ("q[t.argsort()]", "q[t.argsort()].sort().values"))
change(_plain, "twice_sorted", "argsort twice", "concept",
       ("t.argsort()", "t.argsort().argsort()"))
change(_plain, "last_target_first", "descending by target", "concept",
       ("t.argsort()", "t.argsort(descending=True)"))
change(_plain, "square_from_the_top", "only the first N_T queries", "concept",
       ("_best(costs)", "_best(costs[: costs.shape[1]])"))
change(_plain, "square_from_the_bottom", "only the last N_T queries, numbered as if from 0", "concept",
       ("_best(costs)", "_best(costs[-costs.shape[1] :])"))
change(_plain, "for_each_query", "a target for each query, -1 for none", "shape",
       ("return q[t.argsort()]", """
        out = torch.full((len(costs),), -1, dtype=torch.long, device=costs.device)
        out[q] = t
        return out"""))


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


change(_plain, "costs_of_the_pairs", "the costs of the pairs", "concept",
       ("q[t.argsort()]", "costs[q[t.argsort()], torch.arange(costs.shape[1], device=costs.device)]"))
change(_plain, "total", "the sum of the costs", "concept",
       ("return q[t.argsort()]", "return costs[q, t].sum()"))
change(_plain, "from_one", "queries counted from 1", "concept",
       ("q[t.argsort()]", "q[t.argsort()] + 1"))
change(_plain, "as_floats", "as numbers with a fraction", "interface",
       ("q[t.argsort()]", "q[t.argsort()].to(costs.dtype)"))
change(_plain, "as_a_list", "a list", "interface",
       ("q[t.argsort()]", "q[t.argsort()].tolist()"))
change(_plain, "as_an_array", "an array of numpy", "interface",
       ("_best(costs)", "linear_sum_assignment(costs.detach().cpu().numpy())"))
change(_plain, "absolute", "the absolute values of the costs", "concept",
       ("_best(costs)", "_best(costs.abs())"))
change(_plain, "squared", "squared costs", "concept",
       ("_best(costs)", "_best(costs.square())"))
change(_plain, "by_softmax", "a softmax over the queries first, negated", "concept",
       ("_best(costs)", "_best(-(-costs).softmax(0))"))
change(_plain, "by_ranks", "each column is ranked first, and ranks are matched", "concept",
       ("_best(costs)", "_best(costs.argsort(0).argsort(0))"))
change(_plain, "whole_numbers", "whole numbers of the costs", "numerics",
       ("_best(costs)", "_best(costs.long())"))


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


change(_plain, "spoilt_input", "the taken entries are overwritten in the input", "process",
       before("return", 'costs[q] = float("inf")'))


@wrong("the identity: query t for target t", kind="concept")
def identity(costs):
    return torch.arange(costs.shape[1], device=costs.device)


change(_plain, "as_int32", "int32", "interface",
       ("q[t.argsort()]", "q[t.argsort()].to(torch.int32)"), verdict="open")
