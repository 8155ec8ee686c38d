"""Exercise 4: which query is given which target."""

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from autograder.bank.declaration import Case, exercise

CLEAR = 0.3  # how much more any other matching costs, at least
SEVERAL = range(3, 20)  # numbers of targets of which every mistake shows


def _drawn(inputs, sizes, rng):
    """Costs whose best matching is unique by a clear margin, and differs from what every mistake gives."""
    while True:
        costs = _made(sizes["N_Q"], sizes["N_T"], rng)
        if sizes["N_T"] not in SEVERAL or sizes["N_Q"] == sizes["N_T"]:
            return {"costs": costs}
        ways = [match.reference, *(one.object for one in match.misconceptions)]
        found = [str(way(torch.from_numpy(costs)).tolist()) for way in ways]
        if len(set(found)) == len(found):
            return {"costs": costs}


def _made(N_Q, N_T, rng) -> np.ndarray:
    """A price of each target, a discount of each query that is given one, and what any other pair costs more."""
    chosen = rng.permutation(N_Q)[:N_T]
    discounts, more = np.zeros((N_Q, 1)), rng.uniform(CLEAR, 3, (N_Q, N_T))
    discounts[chosen], more[chosen, range(N_T)] = rng.uniform(0, 3, (N_T, 1)), 0
    return (rng.standard_normal(N_T) - discounts + more).astype(np.float32)


def _same_nearest(inputs, rng):
    """One query is the cheapest for every target; where possible, so that a softmax of the costs hides what the others cost."""
    plain = inputs["costs"]
    right = match.reference(torch.from_numpy(plain))
    for query in right:
        inputs["costs"] = plain - np.float32(8) * (np.arange(len(plain)) == int(query))[:, None]
        if (match.reference(-torch.from_numpy(-inputs["costs"]).softmax(dim=0)) != right).any():
            break


def _case(text, N_Q, N_T, edit=None, edge=False):
    return Case(text, sizes={"N_Q": N_Q, "N_T": N_T}, edit=edit, edge=edge)


@exercise(
    points=1,
    section="Matching a set with a set",
    source="Carion et al. 2020 (DETR), section 3.1; Kuhn 1955; Crouse 2016, which scipy.optimize.linear_sum_assignment follows",
    outputs="matched",
    formula="matched[t] is the query of target t: no query twice, and Σ costs[matched[t], t] is the least there is; costs"
    " [N_Q, N_T] with N_Q ≥ N_T gives matched [N_T]",
    cases=[
        _case("more queries than targets", 7, 5),
        _case("a query that is the cheapest for all targets", 9, 6, _same_nearest),
        Case("as many queries as targets", sizes={"N_Q": "N_T", "N_T": 4}),
        _case("as many queries as DETR has", 100, 17),
        _case("one target", 6, 1, edge=True),
        _case("a single query and a single target", 1, 1, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
    waived={"zero": "two queries that cost the same throughout could change places"},
)
def match(costs: Float[Tensor, "N_Q N_T"]) -> Int[Tensor, "N_T"]:
    queries, targets = linear_sum_assignment(costs.tolist())
    return torch.tensor(queries[targets.argsort()], device=costs.device)


def _assigned(costs, **options):
    """The queries in their order, and the target of each."""
    return (torch.from_numpy(one).to(costs.device) for one in linear_sum_assignment(costs.tolist(), **options))


def _by_target(queries, targets):
    return queries[targets.argsort()]


def _one_by_one(costs, places):
    """Pairs are taken one after the other; `places(costs)` says which, of costs that are infinite where something is taken."""
    costs, matched = costs.clone(), costs.new_zeros(costs.shape[1], dtype=torch.int64)
    for turn in range(costs.shape[1]):
        query, target = places(costs, turn)
        matched[target] = query
        costs[query], costs[:, target] = math.inf, math.inf
    return matched


@match.misconception
def cheapest_query_of_each(costs):
    """Each target takes the query that is the cheapest for it, so some queries are taken several times. A query is given to one
    target at most: two boxes cannot be found by one query."""
    return costs.argmin(dim=0)


@match.misconception
def targets_one_after_the_other(costs):
    """The targets choose one after the other, each the cheapest query that is left. What the first ones take may cost the later
    ones much more than was saved; it is the sum over all targets that should be least."""
    return _one_by_one(costs, lambda left, t: (left[:, t].argmin(), t))


@match.misconception
def cheapest_pair_first(costs):
    """The cheapest of all pairs is fixed first, then the cheapest of what is left, and so on. A cheap pair may take away the
    only good query of another target; it is the sum over all targets that should be least."""
    return _one_by_one(costs, lambda left, _: divmod(int(left.argmin()), left.shape[1]))


@match.misconception
def queries_one_after_the_other(costs):
    """The queries choose one after the other, each the cheapest target that is left, so the first N_T queries take all. Every
    query may be left without a target; it is the sum over all targets that should be least."""
    return _one_by_one(costs, lambda left, query: (query, left[query].argmin()))


@match.misconception
def largest_sum(costs):
    """The sum of costs is the largest there is, not the least: a matching is best where it costs little."""
    return _by_target(*_assigned(costs, maximize=True))


@match.misconception
def in_the_order_of_queries(costs):
    """The right queries were found, but they are in ascending order, as `linear_sum_assignment` gives them. Its second result
    says to which target each belongs: bring them into the order of the targets."""
    return next(_assigned(costs))


@match.misconception
def targets_for_queries(costs):
    """These are the targets of the chosen queries, in the order of the queries. Asked for is the other direction: for each
    target, in order, its query."""
    return [*_assigned(costs)][1]


@match.misconception
def sorted_the_wrong_way(costs):
    """The right queries are in the wrong order, that of queries[targets]. To put them into the order of the targets goes the
    other way round: matched[targets] = queries, or queries[targets.argsort()]."""
    queries, targets = _assigned(costs)
    return queries[targets]


@match.misconception
def first_queries_alone(costs):
    """Only the first N_T queries are given targets. All N_Q take part; most of them end without a target."""
    return _by_target(*_assigned(costs[: costs.shape[1]]))


@match.misconception
def cheapest_target_of_each(costs):
    """Each query takes the target that is the cheapest for it. Asked for is one number for each target, the query that it is
    given, and no query twice."""
    return costs.argmin(dim=1)


@match.misconception
def one_number_for_each_query(costs):
    """The result has a number for each query: its target, or −1. Asked for is the other direction, a number for each target:
    its query. Every target has one."""
    queries, targets = _assigned(costs)
    return torch.full_like(costs[:, 0], -1, dtype=torch.int64).index_put((queries,), targets)


@match.misconception
def table_of_pairs(costs):
    """The result is a table with a 1 for each pair. Asked for are the queries' numbers: for each target, in which row its 1
    stands."""
    return torch.zeros_like(costs, dtype=torch.int64).index_put(
        tuple(_assigned(costs)), torch.ones_like(costs[0]).long()
    )


@match.misconception
def dearest_query_of_each(costs):
    """Each target takes the query that costs most for it, and several may take the same one. The sum of costs should be the
    least, and no query is taken twice."""
    return costs.argmax(dim=0)


@match.misconception(universal=True)
def first_free_query(costs):
    """A target whose cheapest query is taken gets the first one that is free, whatever that costs. It is the sum over all
    targets that should be least."""
    dear, taken = costs.argmin(dim=0), costs.new_tensor(math.inf)
    return _one_by_one(
        costs, lambda left, t: ((left[:, t] < taken).long().argmax() if left[dear[t], t] == taken else dear[t], t)
    )


@match.misconception
def places_among_the_pairs(costs):
    """These are places in the list of pairs, not queries: `targets.argsort()` says at which place each target stands. Look up
    there which query it has, queries[targets.argsort()]."""
    return [*_assigned(costs)][1].argsort()


@match.misconception
def pairs_of_numbers(costs):
    """The result holds both numbers of each pair. Asked for are the queries alone; to which target each belongs, its place
    says."""
    return torch.stack([*_assigned(costs)], dim=1)


@match.alternative
def of_the_transpose(costs):
    return torch.as_tensor(linear_sum_assignment(costs.detach().cpu().numpy().T)[1], device=costs.device)


@match.alternative
def written_to_its_place(costs):
    matched = torch.empty(costs.shape[1], dtype=torch.int64)
    for query, target in zip(*linear_sum_assignment(costs.cpu())):
        matched[target] = int(query)
    return matched.to(costs.device)


@match.alternative
def by_improving(costs):
    """Targets come one after the other; each starts the shortest chain of exchanges that ends at a free query."""
    device, costs = costs.device, np.array(costs.tolist())
    N_Q, N_T = costs.shape
    prices, waiting, holder = np.zeros(N_Q), np.zeros(N_T), np.full(N_Q, -1)
    for new in range(N_T):
        far, before, done, target, query = np.full(N_Q, np.inf), np.full(N_Q, -1), np.zeros(N_Q, bool), new, -1
        least = 0.0
        while target >= 0:
            through = least + costs[:, target] - waiting[target] - prices
            nearer = ~done & (through < far)
            far[nearer], before[nearer] = through[nearer], query
            query = int(np.where(done, np.inf, far).argmin())
            least, target = far[query], holder[query]
            done[query] = True
        waiting[new] += least
        for other in np.flatnonzero(done):
            if holder[other] >= 0:
                waiting[holder[other]] += least - far[other]
            prices[other] -= least - far[other]
        while query >= 0:
            holder[query] = holder[before[query]] if before[query] >= 0 else new
            query = before[query]
    return torch.tensor([int(np.flatnonzero(holder == t)[0]) for t in range(N_T)], device=device)
