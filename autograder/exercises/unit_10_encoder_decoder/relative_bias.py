"""Exercise 8, a stretch: T5's relative biases, one number for each head and each bucket of distances."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _case(text, buckets, furthest, edge=False, **sizes):
    """Numbers such that no distance lies on the border of two buckets, where rounding would decide."""
    return Case(text, values={"furthest": furthest}, sizes={"buckets": buckets, **sizes}, edge=edge)


@exercise(
    points=0,
    section="Going further",
    source="Raffel et al. 2020 (T5), section 2.1; its function _relative_position_bucket, bidirectional",
    outputs="bias",
    formula="bias[h, m, n] = weight[bucket(n − m), h], [H, N_Q, N_X]; with half = buckets/2, exact = half/2 and d = |n − m|: d"
    " itself if d < exact, else exact + ⌊ln(d/exact)/ln(furthest/exact) · (half − exact)⌋, at most half − 1; + half if n > m",
    cases=[
        _case("a few queries and keys", 8, 10),
        _case("T5's numbers", 32, 128, N_Q=13, N_X=16),
        _case("keys further away than furthest", 12, 9, N_Q=5, N_X=24),
        _case("more queries than keys", 16, 30, N_Q=40, N_X=9),
        _case("self-attention", 24, 22, N_Q=26, N_X="N_Q"),
        _case("four buckets", 4, 5, edge=True, N_Q=6, N_X=9),
        _case("furthest just past the exact distances", 16, 5, edge=True, N_Q=9, N_X=12),
    ],
    equivalent={
        "d ** exact > low * high for low, high in borders))": "no distance lies on a border",
        "[min(exact, d) + passed])": "the smaller of two has no first and second",
    },
)
def relative_bias(weight: Float[Tensor, "buckets H"], N_Q: int, N_X: int, furthest: int) -> Float[Tensor, "H N_Q N_X"]:
    rows = []
    before, after = weight.chunk(2)
    exact = len(before) // 2
    borders = [(exact ** (exact - k), furthest**k) for k in range(1, exact)]  # as d^exact passes them, in whole numbers
    for m in range(N_Q):
        for n in range(N_X):
            d = abs(n - m)
            passed = sum(d**exact >= low * high for low, high in borders)
            rows.append((after if n > m else before)[min(d, exact) + passed])
    return torch.stack(rows).unflatten(0, (N_Q, N_X)).permute(2, 0, 1)


def _steps(weight, N_Q, N_X):
    """n − m, positive for keys that stand after the query, [N_Q, N_X]."""
    places = torch.arange(max(N_Q, N_X), device=weight.device)
    return places[:N_X] - places[:N_Q, None]


def _grown(d, exact, last, furthest, rounded=torch.floor, span=None, start=None, most=None):
    """The bucket of a distance: itself below `exact`, then by the logarithm, up to `last` or to `most`."""
    share = torch.log(d.clamp(min=1) / exact) / (math.log(furthest / exact) if span is None else span)
    grown = rounded(share * (last + 1 - exact)).long() + (exact if start is None else start)
    return torch.where(d < exact, d, grown.clamp(max=most or last))


def _biased(weight, steps, own=None, directed=None, **mistaken):
    """The biases; what is wrong may be the bucket of a distance, given (d, exact, half), or what direction makes of it."""
    furthest, half = mistaken.pop("furthest"), len(weight) // 2
    bucket = (
        own(steps.abs(), half // 2, half) if own else _grown(steps.abs(), half // 2, half - 1, furthest, **mistaken)
    )
    chosen = directed(bucket, half) if directed else bucket + half * (steps > 0)
    return weight[chosen].permute(2, 0, 1)


# the directions


@relative_bias.misconception
def halves_swapped(weight, N_Q, N_X, furthest):
    """The halves have changed places: keys before the query read the upper half of the buckets. The relative position is key −
    query, n − m, and it is the keys after the query, n > m, that read the upper half."""
    steps = _steps(weight, N_Q, N_X)
    return _biased(weight, steps, furthest=furthest, directed=lambda bucket, half: bucket + half * (steps < 0))


@relative_bias.misconception
def own_position_in_the_upper_half(weight, N_Q, N_X, furthest):
    """The query's own position reads the first bucket of the upper half. It reads bucket 0: the upper half is for n > m alone,
    and its first bucket stays unused."""
    steps = _steps(weight, N_Q, N_X)
    return _biased(weight, steps, furthest=furthest, directed=lambda bucket, half: bucket + half * (steps >= 0))


@relative_bias.misconception
def upper_half_from_one(weight, N_Q, N_X, furthest):
    """For keys after the query the buckets count from the distance 1, so that each reads what belongs to one step less. Both
    halves count alike: n − m = 1 is the second bucket of the upper half."""
    steps = _steps(weight, N_Q, N_X)
    nearer = torch.where(steps > 0, steps - 1, steps)
    return _biased(weight, nearer, furthest=furthest, directed=lambda bucket, half: bucket + half * (steps > 0))


@relative_bias.misconception
def later_keys_share_a_bucket(weight, N_Q, N_X, furthest):
    """All keys after the query share bucket 0, and those before it have all buckets to themselves. That is T5's decoder, which
    sees no later token. An encoder sees both sides and gives each half of the buckets."""
    d = (-_steps(weight, N_Q, N_X)).clamp(min=0)
    return weight[_grown(d, len(weight) // 2, len(weight) - 1, furthest)].permute(2, 0, 1)


@relative_bias.misconception
def no_direction(weight, N_Q, N_X, furthest):
    """A key before the query and one as far after it read the same bucket. Half of the buckets belong to each direction: add
    half of their number where n > m."""
    return _biased(weight, _steps(weight, N_Q, N_X), furthest=furthest, directed=lambda bucket, half: bucket)


@relative_bias.misconception
def all_buckets_for_both_directions(weight, N_Q, N_X, furthest):
    """The distance |n − m| is spread over all buckets, and direction does not count. Half of the buckets are for keys after the
    query, half for the others."""
    d = _steps(weight, N_Q, N_X).abs()
    return weight[_grown(d, len(weight) // 2, len(weight) - 1, furthest)].permute(2, 0, 1)


@relative_bias.misconception
def queries_at_the_end(weight, N_Q, N_X, furthest):
    """The queries are taken for the last N_Q of the N_X positions. Both are counted from 0: query m and key n are n − m
    apart."""
    return _biased(weight, _steps(weight, N_Q, N_X) + N_Q - N_X, furthest=furthest)


# the distances


@relative_bias.misconception
def clipped_distances(weight, N_Q, N_X, furthest):
    """Every distance has a bucket of its own until they run out. That is the clipping of Shaw et al. 2018. In T5 only the first
    half of a direction's buckets are exact; the others grow wider by the logarithm, up to furthest."""
    return _biased(
        weight, _steps(weight, N_Q, N_X), furthest=furthest, own=lambda d, exact, half: d.clamp(max=half - 1)
    )


@relative_bias.misconception
def evenly_wide(weight, N_Q, N_X, furthest):
    """Past the exact distances all buckets are equally wide. They grow by the logarithm, so that near tokens are told apart
    finely and far ones coarsely."""

    def own(d, exact, half):
        return torch.where(d < exact, d, exact + (d - exact) * (half - exact) // (furthest - exact)).clamp(max=half - 1)

    return _biased(weight, _steps(weight, N_Q, N_X), furthest=furthest, own=own)


@relative_bias.misconception
def rounded_up(weight, N_Q, N_X, furthest):
    """The logarithm's share is rounded up. It is rounded down, so that a bucket begins where the share reaches a whole
    number."""
    return _biased(weight, _steps(weight, N_Q, N_X), furthest=furthest, rounded=torch.ceil)


@relative_bias.misconception
def rounded_to_the_nearest(weight, N_Q, N_X, furthest):
    """The logarithm's share is rounded to the nearest whole number, so that buckets begin too early. It is rounded down."""
    return _biased(weight, _steps(weight, N_Q, N_X), furthest=furthest, rounded=torch.round)


@relative_bias.misconception
def logarithm_of_furthest_alone(weight, N_Q, N_X, furthest):
    """The logarithm is divided by ln(furthest). It begins with the distance `exact`, not with 1: divide by ln(furthest/exact),
    so that the share is 1 at the distance furthest."""
    return _biased(weight, _steps(weight, N_Q, N_X), furthest=furthest, span=math.log(furthest))


@relative_bias.misconception
def logarithm_from_one(weight, N_Q, N_X, furthest):
    """The logarithm begins with the distance 1, ln(d)/ln(furthest). It has to be 0 at the first distance that is not exact:
    ln(d/exact)/ln(furthest/exact)."""

    def own(d, exact, half):
        far = exact + (d.clamp(min=1).log() / math.log(furthest) * (half - exact)).long()
        return torch.where(d < exact, d, far.clamp(max=half - 1))

    return _biased(weight, _steps(weight, N_Q, N_X), furthest=furthest, own=own)


@relative_bias.misconception
def logarithm_begins_at_bucket_zero(weight, N_Q, N_X, furthest):
    """What the logarithm gives is not moved behind the exact buckets, so that far keys read the buckets of the nearest ones.
    Add the number of exact buckets to it."""
    return _biased(weight, _steps(weight, N_Q, N_X), furthest=furthest, start=0)


@relative_bias.misconception
def without_a_bound(weight, N_Q, N_X, furthest):
    """Distances from furthest on get buckets that are not their direction's, or that are not there at all. They share its last
    bucket: take at most half − 1, before half is added for the keys after the query."""
    return _biased(weight, _steps(weight, N_Q, N_X), furthest=furthest, most=10**9)


@relative_bias.misconception
def spilling_over(weight, N_Q, N_X, furthest):
    """Keys beyond furthest before the query read buckets of the other direction: the bucket is bounded by the last of all. It
    is bounded by half − 1, before half is added for the keys after the query."""
    steps, last = _steps(weight, N_Q, N_X), len(weight) - 1

    def directed(bucket, half):
        return (bucket + half * (steps > 0)).clamp(max=last)

    return _biased(weight, steps, furthest=furthest, directed=directed, most=last)


@relative_bias.alternative
def as_in_transformers(weight, N_Q, N_X, furthest):
    steps = _steps(weight, N_Q, N_X)
    half = len(weight) // 2
    exact = half // 2
    d = steps.abs()
    far = exact + (torch.log(d.float() / exact) / math.log(furthest / exact) * (half - exact)).long()
    bucket = (steps > 0) * half + torch.where(d < exact, d, far.clamp(max=half - 1))
    return F.embedding(bucket, weight).permute(2, 0, 1)


@relative_bias.alternative
def by_borders(weight, N_Q, N_X, furthest):
    half = weight.shape[0] // 2
    exact = half // 2
    ratio = (furthest / exact) ** (1 / (half - exact))
    borders = [*range(1, exact + 1), *(exact * ratio**k for k in range(1, half - exact))]
    steps = _steps(weight, N_Q, N_X)
    bucket = torch.bucketize(
        steps.abs().double(), torch.tensor(borders, dtype=torch.double, device=weight.device), right=True
    )
    return torch.movedim(weight[bucket + (steps > 0) * half], -1, 0)


@relative_bias.alternative
def offset_by_offset(weight, N_Q, N_X, furthest):
    """One bias for each of the offsets there are, and each query takes its stretch of them."""
    half = weight.size(0) // 2
    exact = half // 2
    order = []
    for step in range(1 - N_Q, N_X):
        bucket = abs(step)
        if bucket >= exact:
            bucket = exact + int(math.log2(bucket / exact) / math.log2(furthest / exact) * (half - exact))
        order.append(min(bucket, half - 1) + (half if step > 0 else 0))
    line = weight[order].T
    return torch.stack([line[:, N_Q - 1 - m : N_Q - 1 - m + N_X] for m in range(N_Q)], dim=1)
