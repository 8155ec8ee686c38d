"""Answers to path_lengths (assignment 12)."""

import functools
import math

import torch
from answers import right, wrong
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


# ---------------------------------------------------------------- wrong: stacked convolutions


@wrong("floor in place of ceil", kind="concept")
@_each
def floor(d, k, growth):
    return [d, d // ((k - 1) // 2), _good(d, k, growth), 1]


@wrong("floor + 1 in place of ceil", kind="edge")
@_each
def floor_plus_one(d, k, growth):
    return [d, d // ((k - 1) // 2) + 1, _good(d, k, growth), 1]


@wrong("rounded to the nearest", kind="concept")
@_each
def rounded(d, k, growth):
    return [d, round(d / ((k - 1) // 2)), _good(d, k, growth), 1]


@wrong("k - 1 in both kinds of convolutions", kind="concept")
@_each
def k_minus_one(d, k, growth):
    return [d, -(-d // (k - 1)), _grown(d, k - 1, lambda layer: growth**layer), 1]


@wrong("k - 1 for the stacked convolutions alone", kind="concept")
@_each
def k_minus_one_once(d, k, growth):
    return [d, -(-d // (k - 1)), _good(d, k, growth), 1]


@wrong("k in both kinds of convolutions", kind="concept")
@_each
def reach_k(d, k, growth):
    return [d, -(-d // k), _grown(d, k, lambda layer: growth**layer), 1]


@wrong("n / k as in the paper's table, for the stacked ones alone", kind="concept")
@_each
def distance_by_k(d, k, growth):
    return [d, math.ceil(d / k), _good(d, k, growth), 1]


@wrong("(k + 1)/2 to either side: the middle is counted", kind="concept")
@_each
def middle_counted(d, k, growth):
    half = (k + 1) // 2
    return [d, -(-d // half), _grown(d, half, lambda layer: growth**layer), 1]


@wrong("k / 2 without rounding", kind="concept")
@_each
def half_of_k(d, k, growth):
    return [d, math.ceil(d / (k / 2)), _grown(d, k / 2, lambda layer: growth**layer), 1]


@wrong("one layer too many everywhere in the stacked ones", kind="concept")
@_each
def stacked_one_more(d, k, growth):
    return [d, _plain(d, k) + 1, _good(d, k, growth), 1]


@wrong("one convolution is enough whatever the distance", kind="concept")
@_each
def one_convolution(d, k, growth):
    return [d, 1, _good(d, k, growth), 1]


@wrong("k is taken to be 3", kind="concept")
@_each
def width_of_three(d, k, growth):
    return [d, d, _grown(d, 1, lambda layer: growth**layer), 1]


@wrong("distance times half in place of divided", kind="concept")
@_each
def times_half(d, k, growth):
    return [d, d * ((k - 1) // 2), _good(d, k, growth), 1]


@wrong("strictly beyond: > in place of >= in both", kind="edge")
@_each
def strictly_beyond(d, k, growth):
    return [d, _plain(d + 1, k), _good(d + 1, k, growth), 1]


@wrong("the positions in between, distance - 1, have to be crossed in all columns", kind="concept")
@_each
def between_everywhere(d, k, growth):
    return [d - 1, _plain(d - 1, k), _good(d - 1, k, growth), 1]


# ---------------------------------------------------------------- wrong: gaps that grow


@wrong("dilations begin with growth", kind="concept")
@_each
def from_growth(d, k, growth):
    return [d, _plain(d, k), _grown(d, (k - 1) // 2, lambda layer: growth ** (layer + 1)), 1]


@wrong("dilation 1 twice: the power is layer - 1", kind="concept")
@_each
def one_twice(d, k, growth):
    return [d, _plain(d, k), _grown(d, (k - 1) // 2, lambda layer: growth ** max(0, layer - 1)), 1]


@wrong("only the last layer's reach counts", kind="concept")
@_each
def last_reach(d, k, growth):
    half, L = (k - 1) // 2, 1
    while half * growth ** (L - 1) < d:
        L += 1
    return [d, _plain(d, k), L, 1]


@wrong("the last layer's index", kind="concept")
@_each
def index_of_the_last(d, k, growth):
    return [d, _plain(d, k), _good(d, k, growth) - 1, 1]


@wrong("one layer more", kind="concept")
@_each
def dilated_one_more(d, k, growth):
    return [d, _plain(d, k), _good(d, k, growth) + 1, 1]


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


@wrong("dilation growth * layer, at least 1", kind="concept")
@_each
def multiples(d, k, growth):
    return [d, _plain(d, k), _grown(d, (k - 1) // 2, lambda layer: max(1, growth * layer)), 1]


@wrong("dilation 1 + growth * layer", kind="concept")
@_each
def arithmetic(d, k, growth):
    return [d, _plain(d, k), _grown(d, (k - 1) // 2, lambda layer: 1 + growth * layer), 1]


@wrong("dilation layer + 1", kind="concept")
@_each
def growing_by_one(d, k, growth):
    return [d, _plain(d, k), _grown(d, (k - 1) // 2, lambda layer: layer + 1), 1]


@wrong("dilation (layer + 1) ** growth", kind="concept")
@_each
def power_turned_round(d, k, growth):
    return [d, _plain(d, k), _grown(d, (k - 1) // 2, lambda layer: (layer + 1) ** growth), 1]


@wrong("always 2, whatever growth is", kind="concept")
@_each
def always_doubling(d, k, growth):
    return [d, _plain(d, k), _grown(d, (k - 1) // 2, lambda layer: 2**layer), 1]


@wrong("not dilated at all", kind="concept")
@_each
def not_dilated(d, k, growth):
    return [d, _plain(d, k), _plain(d, k), 1]


@wrong("log_k(n) as in table 1", kind="concept")
@_each
def log_k(d, k, growth):
    L = 0
    while k**L < d:
        L += 1
    return [d, _plain(d, k), L, 1]


@wrong("log_growth(n), rounded up", kind="concept")
@_each
def log_growth(d, k, growth):
    L = 0
    while growth**L < d:
        L += 1
    return [d, _plain(d, k), L, 1]


@wrong("log_growth of the number of stacked layers", kind="concept")
@_each
def log_of_the_stacked(d, k, growth):
    return [d, _plain(d, k), math.ceil(math.log(_plain(d, k), growth)), 1]


@wrong("the width k in place of half, in the dilated column only", kind="concept")
@_each
def dilated_width(d, k, growth):
    return [d, _plain(d, k), _grown(d, k, lambda layer: growth**layer), 1]


@wrong("k - 1 in the dilated column only (causal convolutions)", kind="concept")
@_each
def dilated_causal(d, k, growth):
    return [d, _plain(d, k), _grown(d, k - 1, lambda layer: growth**layer), 1]


@wrong("k and growth exchanged", kind="concept")
@_each
def exchanged(d, k, growth):
    half = max(1, (growth - 1) // 2)
    return [d, -(-d // half), _grown(d, half, lambda layer: k**layer), 1]


@wrong("at least two dilated layers", kind="edge")
@_each
def at_least_two(d, k, growth):
    return [d, _plain(d, k), max(2, _good(d, k, growth)), 1]


# ---------------------------------------------------------------- wrong: the other columns, and the table


@wrong("recurrent: distance - 1", kind="concept")
@_each
def recurrent_less(d, k, growth):
    return [d - 1, _plain(d, k), _good(d, k, growth), 1]


@wrong("recurrent: distance + 1", kind="concept")
@_each
def recurrent_more(d, k, growth):
    return [d + 1, _plain(d, k), _good(d, k, growth), 1]


@wrong("recurrent: one layer", kind="concept")
@_each
def recurrent_one(d, k, growth):
    return [1, _plain(d, k), _good(d, k, growth), 1]


@wrong("attention: 0", kind="concept")
@_each
def attention_zero(d, k, growth):
    return [d, _plain(d, k), _good(d, k, growth), 0]


@wrong("attention: the distance", kind="concept")
@_each
def attention_distance(d, k, growth):
    return [d, _plain(d, k), _good(d, k, growth), d]


@wrong("attention: 2, query and value", kind="concept")
@_each
def attention_two(d, k, growth):
    return [d, _plain(d, k), _good(d, k, growth), 2]


@wrong("attention: the square of the distance (its cost)", kind="concept")
@_each
def attention_cost(d, k, growth):
    return [d, _plain(d, k), _good(d, k, growth), d * d if d < 10**6 else d]


@wrong("the order of the paper's table: attention first", kind="concept")
@_each
def paper_order(d, k, growth):
    return [1, d, _plain(d, k), _good(d, k, growth)]


@wrong("the columns of the convolutions exchanged", kind="concept")
@_each
def convolutions_exchanged(d, k, growth):
    return [d, _good(d, k, growth), _plain(d, k), 1]


@wrong("transposed, [4, S]", kind="shape")
def transposed(distance, k, growth):
    return loops(distance, k, growth).T


@wrong("attention left out, [S, 3]", kind="shape")
def three_columns(distance, k, growth):
    return loops(distance, k, growth)[:, :3]


@wrong("numbers with a fraction", kind="interface")
def with_fractions(distance, k, growth):
    return loops(distance, k, growth).double()


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


@wrong("int32 overflows", kind="numerics")
def thirty_two_bits(distance, k, growth):
    return loops(distance, k, growth).to(torch.int32).long()


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


@wrong("layers are multiplied: the reach of L layers is (half + 1) ** L", kind="concept")
def reaches_multiplied(distance, k, growth):
    half = (k - 1) // 2
    grown = [next(L for L in range(1, 99) if (half + 1) ** L > d) for d in distance.tolist()]
    return _table(distance, _up(distance, half), torch.tensor(grown))


@wrong("the orders of the table of complexities, d / k and log_k d", kind="concept")
def orders_of_the_table(distance, k, growth):
    grown = _grown_too(distance, lambda l: k ** (l + 1) - (k**l if l else 0))
    return _table(distance, _up(distance, k), grown)


@wrong("the closed form without growth - 1", kind="concept")
def closed_form_for_two(distance, k, growth):
    half = (k - 1) // 2
    grown = [next(L for L in range(1, 99) if half * (growth**L - 1) >= d) for d in distance.tolist()]
    return _table(distance, _up(distance, half), torch.tensor(grown))


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
