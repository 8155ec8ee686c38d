"""Answers to path_lengths (assignment 12)."""

import functools
import math

import torch
from answers import change, right, wrong
import numpy as np


def _each(count):
    """The four numbers of `count`, for each distance."""

    @functools.wraps(count)
    def counted(distance, k, growth):
        return torch.tensor([count(d, k, growth) for d in distance.tolist()], device=distance.device)

    return counted


def _plain(d, k):
    half = (k - 1) // 2
    return (d + half - 1) // half


def _grown(d, half, gap):
    """Layers whose reaches, half times gap(layer), add up to d."""
    layer = 0
    while d > 0:
        d -= half * gap(layer)
        layer += 1
    return layer


def _good(d, k, growth):
    return _grown(d, (k - 1) // 2, lambda layer: growth**layer)


# ---------------------------------------------------------------- right


@right("A loop for each kind of layer, adding reach until it suffices (ceil by whole numbers for the plain ones)")
def loops(distance, k, growth):
    rows = []
    for d in distance.tolist():
        reach, dilated, gap = 0, 0, 1
        while reach < d:
            reach += gap * (k - 1) // 2
            gap *= growth
            dilated += 1
        rows.append([d, math.ceil(2 * d / (k - 1)), dilated, 1])
    return torch.tensor(rows, dtype=torch.int64, device=distance.device)


@right("Window widths: the receptive field of L layers has to hold 2 d + 1 positions")
@_each
def by_receptive_fields(d, k, growth):
    field, dilated = 1, 0
    while field < 2 * d + 1:
        field += (k - 1) * growth**dilated
        dilated += 1
    return [d, -(-2 * d // (k - 1)), dilated, 1]


@right("The closed form with whole numbers: growth**L >= 1 + d (growth - 1) / half")
@_each
def closed_form(d, k, growth):
    half = k // 2
    L = 0
    while half * (growth**L - 1) < d * (growth - 1):
        L += 1
    return d, (d - 1) // half + 1, L, 1


@right("A tensor all through, a mask of those not yet reached")
def masked(distance, k, growth):
    half = (k - 1) // 2
    left, layers, gap = distance.clone(), torch.zeros_like(distance), 1
    while (left > 0).any():
        layers = layers + (left > 0)
        left = left - half * gap
        gap = gap * growth
    plain = torch.div(distance + half - 1, half, rounding_mode="floor")
    return torch.stack([distance, plain, layers, torch.ones_like(distance)], dim=1)


@right("cumsum of the reaches and searchsorted")
def cumulated(distance, k, growth):
    half = (k - 1) // 2
    powers = [half]
    while sum(powers) < int(distance.max()):
        powers.append(powers[-1] * growth)
    reaches = torch.tensor(powers, device=distance.device).cumsum(0)
    layers = torch.searchsorted(reaches, distance.clone()) + 1
    return torch.stack([distance, -(-distance // half), layers, torch.ones_like(distance)], 1)


@right("A recursion: what is left after the first layer is reached by the next ones")
@_each
def recursion(d, k, growth):
    def dilated(left, reach):
        return 0 if left <= 0 else 1 + dilated(left - reach, reach * growth)

    half = (k - 1) // 2
    return [d, d // half + bool(d % half), dilated(d, half), 1]


@right("Bisection over the number of layers")
@_each
def bisection(d, k, growth):
    half = (k - 1) // 2
    low, high = 0, 64
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if half * (growth**middle - 1) // (growth - 1) >= d else (middle, high)
    return [d, math.ceil(d / half), high, 1]


@right("The logarithm in double precision, mended by whole numbers")
@_each
def mended_logarithm(d, k, growth):
    half = (k - 1) // 2
    L = max(1, round(math.log(d * (growth - 1) / half + 1, growth)) - 1)
    while half * (growth**L - 1) < d * (growth - 1):
        L += 1
    return [d, -((-d) // half), L, 1]


@right("The table is filled column by column")
def by_columns(distance, k, growth):
    half = (k - 1) // 2
    table = torch.zeros(len(distance), 4, dtype=torch.int64, device=distance.device)
    table[:, 0], table[:, 3] = distance, 1
    table[:, 1] = (distance + (half - 1)) // half
    reach = 0
    for layer in range(64):
        table[:, 2] += reach < distance
        reach += half * growth**layer
        if reach > 2 * 10**12:
            break
    return table


# Right, and not registered: answers below are changes of it.
@_each
def _row(d, k, growth):
    return [d, _plain(d, k), _good(d, k, growth), 1]


# ---------------------------------------------------------------- wrong: stacked convolutions


change(_row, "floor", "floor in place of ceil", "concept",
       ("_plain(d, k)", "d // ((k - 1) // 2)"))
change(_row, "floor_plus_one", "floor + 1 in place of ceil", "edge",
       ("_plain(d, k)", "d // ((k - 1) // 2) + 1"))
change(_row, "rounded", "rounded to the nearest", "concept",
       ("_plain(d, k)", "round(d / ((k - 1) // 2))"))
change(_row, "k_minus_one", "k - 1 in both kinds of convolutions", "concept",
       ("_plain(d, k), _good(d, k, growth)", "-(-d // (k - 1)), _grown(d, k - 1, lambda layer: growth**layer)"))
change(_row, "k_minus_one_once", "k - 1 for the stacked convolutions alone", "concept",
       ("_plain(d, k)", "-(-d // (k - 1))"))
change(_row, "reach_k", "k in both kinds of convolutions", "concept",
       ("_plain(d, k), _good(d, k, growth)", "-(-d // k), _grown(d, k, lambda layer: growth**layer)"))
change(_row, "distance_by_k", "n / k as in the paper's table, for the stacked ones alone", "concept",
       ("_plain(d, k)", "math.ceil(d / k)"))


@wrong("(k + 1)/2 to either side: the middle is counted", kind="concept")
@_each
def middle_counted(d, k, growth):
    half = (k + 1) // 2
    return [d, -(-d // half), _grown(d, half, lambda layer: growth**layer), 1]


@wrong("k / 2 without rounding", kind="concept")
@_each
def half_of_k(d, k, growth):
    return [d, math.ceil(d / (k / 2)), _grown(d, k / 2, lambda layer: growth**layer), 1]


change(_row, "stacked_one_more", "one layer too many everywhere in the stacked ones", "concept",
       ("_plain(d, k)", "_plain(d, k) + 1"))
change(_row, "one_convolution", "one convolution is enough whatever the distance", "concept",
       ("_plain(d, k)", "1"))
change(_row, "width_of_three", "k is taken to be 3", "concept",
       ("_plain(d, k), _good(d, k, growth)", "d, _grown(d, 1, lambda layer: growth**layer)"))
change(_row, "times_half", "distance times half in place of divided", "concept",
       ("_plain(d, k)", "d * ((k - 1) // 2)"))
change(_row, "strictly_beyond", "strictly beyond: > in place of >= in both", "edge",
       ("_plain(d, k), _good(d, k, growth)", "_plain(d + 1, k), _good(d + 1, k, growth)"))
change(_row, "between_everywhere",
       "the positions in between, distance - 1, have to be crossed in all columns", "concept",
       ("d, _plain(d, k), _good(d, k, growth)", "d - 1, _plain(d - 1, k), _good(d - 1, k, growth)"))


# ---------------------------------------------------------------- wrong: gaps that grow


change(_row, "from_growth", "dilations begin with growth", "concept",
       ("_good(d, k, growth)", "_grown(d, (k - 1) // 2, lambda layer: growth ** (layer + 1))"))
change(_row, "one_twice", "dilation 1 twice: the power is layer - 1", "concept",
       ("_good(d, k, growth)", "_grown(d, (k - 1) // 2, lambda layer: growth ** max(0, layer - 1))"))


@wrong("only the last layer's reach counts", kind="concept")
@_each
def last_reach(d, k, growth):
    half, L = (k - 1) // 2, 1
    while half * growth ** (L - 1) < d:
        L += 1
    return [d, _plain(d, k), L, 1]


change(_row, "index_of_the_last", "the last layer's index", "concept",
       ("_good(d, k, growth)", "_good(d, k, growth) - 1"))
change(_row, "dilated_one_more", "one layer more", "concept",
       ("_good(d, k, growth)", "_good(d, k, growth) + 1"))


@wrong("stops when the next layer would reach too far: floor", kind="concept")
@_each
def dilated_floor(d, k, growth):
    half, L = (k - 1) // 2, 0
    while half * (growth ** (L + 1) - 1) // (growth - 1) <= d:
        L += 1
    return [d, _plain(d, k), L, 1]


@wrong("constant dilation growth", kind="concept")
@_each
def constant_dilation(d, k, growth):
    half = (k - 1) // 2  # added up layer by layer, this would take until tomorrow for the largest distances
    return [d, _plain(d, k), -(-d // (half * growth)), 1]


change(_row, "multiples", "dilation growth * layer, at least 1", "concept",
       ("_good(d, k, growth)", "_grown(d, (k - 1) // 2, lambda layer: max(1, growth * layer))"))
change(_row, "arithmetic", "dilation 1 + growth * layer", "concept",
       ("_good(d, k, growth)", "_grown(d, (k - 1) // 2, lambda layer: 1 + growth * layer)"))
change(_row, "growing_by_one", "dilation layer + 1", "concept",
       ("_good(d, k, growth)", "_grown(d, (k - 1) // 2, lambda layer: layer + 1)"))
change(_row, "power_turned_round", "dilation (layer + 1) ** growth", "concept",
       ("_good(d, k, growth)", "_grown(d, (k - 1) // 2, lambda layer: (layer + 1) ** growth)"))
change(_row, "always_doubling", "always 2, whatever growth is", "concept",
       ("_good(d, k, growth)", "_grown(d, (k - 1) // 2, lambda layer: 2**layer)"))
change(_row, "not_dilated", "not dilated at all", "concept",
       ("_good(d, k, growth)", "_plain(d, k)"))


@wrong("log_k(n) as in table 1", kind="concept")
@_each
def log_k(d, k, growth):
    L = 0
    while k**L < d:
        L += 1
    return [d, _plain(d, k), L, 1]


change(log_k, "log_growth", "log_growth(n), rounded up", "concept",
       ("k**L < d", "growth**L < d"))
change(_row, "log_of_the_stacked", "log_growth of the number of stacked layers", "concept",
       ("_good(d, k, growth)", "math.ceil(math.log(_plain(d, k), growth))"))
change(_row, "dilated_width", "the width k in place of half, in the dilated column only", "concept",
       ("_good(d, k, growth)", "_grown(d, k, lambda layer: growth**layer)"))
change(_row, "dilated_causal", "k - 1 in the dilated column only (causal convolutions)", "concept",
       ("_good(d, k, growth)", "_grown(d, k - 1, lambda layer: growth**layer)"))


@wrong("k and growth exchanged", kind="concept")
@_each
def exchanged(d, k, growth):
    half = max(1, (growth - 1) // 2)
    return [d, -(-d // half), _grown(d, half, lambda layer: k**layer), 1]


change(_row, "at_least_two", "at least two dilated layers", "edge",
       ("_good(d, k, growth)", "max(2, _good(d, k, growth))"))


# ---------------------------------------------------------------- wrong: the other columns, and the table


change(_row, "recurrent_less", "recurrent: distance - 1", "concept",
       ("d, _plain(d, k)", "d - 1, _plain(d, k)"))
change(_row, "recurrent_more", "recurrent: distance + 1", "concept",
       ("d, _plain(d, k)", "d + 1, _plain(d, k)"))
change(_row, "recurrent_one", "recurrent: one layer", "concept",
       ("d, _plain(d, k)", "1, _plain(d, k)"))
change(_row, "attention_zero", "attention: 0", "concept",
       ("_good(d, k, growth), 1", "_good(d, k, growth), 0"))
change(_row, "attention_distance", "attention: the distance", "concept",
       ("_good(d, k, growth), 1", "_good(d, k, growth), d"))
change(_row, "attention_two", "attention: 2, query and value", "concept",
       ("_good(d, k, growth), 1", "_good(d, k, growth), 2"))
change(_row, "attention_cost", "attention: the square of the distance (its cost)", "concept",
       ("_good(d, k, growth), 1", "_good(d, k, growth), d * d if d < 10**6 else d"))
change(_row, "paper_order", "the order of the paper's table: attention first", "concept",
       ("d, _plain(d, k)", "1, d, _plain(d, k)"), ("_good(d, k, growth), 1", "_good(d, k, growth)"))
change(_row, "convolutions_exchanged", "the columns of the convolutions exchanged", "concept",
       ("_plain(d, k), _good(d, k, growth)", "_good(d, k, growth), _plain(d, k)"))


# Right, and not registered: answers below are changes of it.
def _in_one_call(distance, k, growth):
    return loops(distance, k, growth)


change(_in_one_call, "transposed", "transposed, [4, S]", "shape",
       ("loops(distance, k, growth)", "loops(distance, k, growth).T"))
change(_in_one_call, "three_columns", "attention left out, [S, 3]", "shape",
       ("loops(distance, k, growth)", "loops(distance, k, growth)[:, :3]"))
change(_in_one_call, "with_fractions", "numbers with a fraction", "interface",
       ("loops(distance, k, growth)", "loops(distance, k, growth).double()"))


@wrong("float32 on the way: wrong for far distances", kind="numerics")
def single_precision(distance, k, growth):
    table = loops(distance, k, growth)
    table[:, 1] = (distance.float() / ((k - 1) / 2)).ceil().long()
    return table


@wrong("the logarithm in float32", kind="numerics")
def logarithm_single(distance, k, growth):
    table = loops(distance, k, growth)
    ratio = distance.float() * (growth - 1) / ((k - 1) // 2) + 1
    table[:, 2] = (torch.log(ratio) / math.log(growth)).ceil().long()
    return table


change(_in_one_call, "thirty_two_bits", "int32 overflows", "numerics",
       ("loops(distance, k, growth)", "loops(distance, k, growth).to(torch.int32).long()"))


# ---------------------------------------------------------------- of a second author, who knew the text alone


@right("Python's whole numbers, distance by distance")
def distance_by_distance(distance, k, growth):
    half = (k - 1) // 2
    table = []
    for d in distance.tolist():
        layers, reached = 0, 0
        while reached < d:
            reached += growth**layers * half
            layers += 1
        table.append([d, (d + half - 1) // half, layers, 1])
    return torch.tensor(table, dtype=torch.int64, device=distance.device).reshape(-1, 4)


@right("All distances at once; layers are added as long as one of them is out of reach")
def all_at_once(distance, k, growth):
    half = k // 2
    distance = distance.long()
    layers, reached, step = torch.zeros_like(distance), 0, half
    while (distance > reached).any():
        layers = layers + (distance > reached)
        reached, step = reached + step, step * growth
    return torch.stack([distance, -(-distance // half), layers, torch.ones_like(distance)], dim=-1)


@right("searchsorted in a table of how far the first layers reach together")
def searchsorted_in_a_table(distance, k, growth):
    half = (k - 1) // 2
    reaches, step = [half], half
    while reaches[-1] < max(distance.tolist(), default=0):
        step *= growth
        reaches.append(reaches[-1] + step)
    table = torch.tensor(reaches, device=distance.device)
    grown = torch.searchsorted(table, distance) + 1
    plain = torch.div(distance + half - 1, half, rounding_mode="floor")
    return torch.stack((distance, plain, grown, torch.ones_like(distance)), 1)


@right("The sum of the geometric series in closed form, in whole numbers")
def closed_form_too(distance, k, growth):
    half = (k - 1) // 2

    def grown(d):
        L = 1
        while half * (growth**L - 1) // (growth - 1) < d:
            L += 1
        return L

    rows = [(d, -(-d // half), grown(d), 1) for d in map(int, distance)]
    return torch.tensor(rows, dtype=torch.long, device=distance.device).view(len(distance), 4)


@right("What is left of the distance gets smaller with each layer")
def what_is_left(distance, k, growth):
    half = (k - 1) // 2
    result = torch.ones(*distance.shape, 4, dtype=torch.int64, device=distance.device)
    result[:, 0] = distance
    result[:, 1] = (distance - 1) // half + 1
    left, step, count = distance.clone(), half, torch.zeros_like(distance)
    while bool((left > 0).any()):
        count += (left > 0).long()
        left = left - step
        step *= growth
    result[:, 2] = count
    return result


@right("Recursion: the first layer covers half, the others are growth times as coarse")
def by_recursion(distance, k, growth):
    half = (k - 1) // 2

    def layers(d, step):
        return 0 if d <= 0 else 1 + layers(d - step, step * growth)

    columns = [distance.long(), torch.empty_like(distance), torch.empty_like(distance), torch.ones_like(distance)]
    for s, d in enumerate(distance.tolist()):
        columns[1][s] = d // half + (d % half > 0)
        columns[2][s] = layers(d, half)
    return torch.stack(columns, dim=1)


@right("numpy with 64 bits")
def by_numpy(distance, k, growth):
    d = distance.cpu().numpy().astype(np.int64)
    half = (k - 1) // 2
    reaches = [0]
    while reaches[-1] < d.max(initial=0):
        reaches.append(reaches[-1] + growth ** (len(reaches) - 1) * half)
    grown = (np.array(reaches)[None, :] < d[:, None]).sum(1)
    table = np.stack([d, (d + half - 1) // half, grown, np.ones_like(d)], 1)
    return torch.from_numpy(table).to(distance.device)


@right("The plain convolutions by divmod, the others by comparing with all sums")
def divmod_and_compare(distance, k, growth):
    half = (k - 1) // 2
    result = []
    for d in distance:
        d = d.item()
        whole, rest = divmod(d, half)
        sums = (sum(half * growth**l for l in range(L)) for L in range(1, d + 1))
        grown = next(L for L, reach in enumerate(sums, start=1) if reach >= d)
        result.append([d, whole + bool(rest), grown, 1])
    return torch.tensor(result, dtype=torch.int64, device=distance.device).reshape(-1, 4)


def _up(d, step):
    return (d + step - 1) // step


def _grown_too(d, reaches):
    """The least number of layers for each distance; reaches(l) is what layer l adds."""
    counts = []
    for x in d.tolist():
        layers, reached = 0, 0
        while reached < x:
            reached += reaches(layers)
            layers += 1
        counts.append(layers)
    return torch.tensor(counts, dtype=torch.int64)


def _table(d, plain, grown, recurrent=None, attention=None):
    recurrent = d if recurrent is None else recurrent
    attention = torch.ones_like(d) if attention is None else attention
    return torch.stack([recurrent, plain, grown, attention], 1).long()


@wrong("rounded to the nearest number of layers", kind="concept")
def rounded_to_the_nearest(distance, k, growth):
    half = (k - 1) // 2
    return _table(distance, (2 * distance + half) // (2 * half), _grown_too(distance, lambda l: growth**l * half))


@wrong("the reach of L layers is taken for growth ** L * half", kind="concept")
def power_in_place_of_the_sum(distance, k, growth):
    half = (k - 1) // 2
    grown = [next(L for L in range(1, 99) if growth**L * half >= d) for d in distance.tolist()]
    return _table(distance, _up(distance, half), torch.tensor(grown))


change(power_in_place_of_the_sum, "reaches_multiplied",
       "layers are multiplied: the reach of L layers is (half + 1) ** L", "concept",
       ("growth**L * half >= d", "(half + 1) ** L > d"))


@wrong("the orders of the table of complexities, d / k and log_k d", kind="concept")
def orders_of_the_table(distance, k, growth):
    grown = _grown_too(distance, lambda l: k ** (l + 1) - (k**l if l else 0))
    return _table(distance, _up(distance, k), grown)


change(power_in_place_of_the_sum, "closed_form_for_two", "the closed form without growth - 1", "concept",
       ("growth**L * half", "half * (growth**L - 1)"))


@wrong("two mistakes: rounded down, and attention takes no step", kind="concept")
def rounded_down_and_none(distance, k, growth):
    half = (k - 1) // 2
    grown = _grown_too(distance, lambda l: growth**l * half)
    return _table(distance, distance // half, grown, attention=torch.zeros_like(distance))


@wrong("all distances get the layers of the largest", kind="concept")
def layers_of_the_largest(distance, k, growth):
    half = (k - 1) // 2
    layers, reached = 0, 0
    while reached < distance.max():
        reached += growth**layers * half
        layers += 1
    return _table(distance, _up(distance, half), torch.full_like(distance, layers))


@wrong("a division of single precision, rounded up: off for large distances", kind="numerics")
def single_precision_division(distance, k, growth):
    half = (k - 1) // 2
    plain = torch.ceil(distance / half).long()
    return _table(distance, plain, _grown_too(distance, lambda l: growth**l * half))


@wrong("the whole table is built in single precision", kind="numerics")
def table_in_single_precision(distance, k, growth):
    half = (k - 1) // 2
    table = torch.ones(len(distance), 4)
    table[:, 0] = distance
    table[:, 1] = _up(distance, half)
    table[:, 2] = _grown_too(distance, lambda l: growth**l * half)
    return table.long()


@wrong("distances in 32 bits: 10**12 does not fit", kind="numerics")
def in_32_bits(distance, k, growth):
    half = (k - 1) // 2
    d = distance.int()
    return _table(d, _up(d, half), _grown_too(d, lambda l: growth**l * half))


@wrong("at most ten layers are tried", kind="edge")
def at_most_ten_layers(distance, k, growth):
    half = (k - 1) // 2
    sums = torch.tensor([growth**l * half for l in range(10)]).cumsum(0)
    grown = (sums < distance[:, None]).sum(1) + 1
    return _table(distance, _up(distance, half), grown.clamp(max=10))


@wrong("the four columns are laid out by a reshape of the four rows", kind="concept")
def rows_reshaped(distance, k, growth):
    half = (k - 1) // 2
    return _table(distance, _up(distance, half), _grown_too(distance, lambda l: growth**l * half)).T.reshape(-1, 4)


@wrong("distance is counted down in place", kind="interface")
def counted_down_in_place(distance, k, growth):
    half = (k - 1) // 2
    kept, grown, step = distance.clone(), torch.zeros_like(distance), half
    while (distance > 0).any():
        grown += distance > 0
        distance -= step
        step *= growth
    return _table(kept, _up(kept, half), grown)


@wrong("only one distance: int(distance) fails for more", kind="edge")
def one_distance_only(distance, k, growth):
    half, d = (k - 1) // 2, int(distance)
    return _table(distance, _up(distance, half), _grown_too(torch.tensor([d]), lambda l: growth**l * half))
