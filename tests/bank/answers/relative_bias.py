"""Answers to relative_bias (assignment 10)."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("As transformers has it, a lookup by F.embedding")
def as_transformers(weight, N_Q, N_X, furthest):
    num_buckets = weight.shape[0]
    context = torch.arange(N_Q, device=weight.device)[:, None]
    memory = torch.arange(N_X, device=weight.device)[None, :]
    relative = memory - context
    buckets = 0
    num_buckets //= 2
    buckets += (relative > 0).to(torch.long) * num_buckets
    relative = torch.abs(relative)
    max_exact = num_buckets // 2
    is_small = relative < max_exact
    large = max_exact + (
        torch.log(relative.float() / max_exact) / math.log(furthest / max_exact) * (num_buckets - max_exact)
    ).to(torch.long)
    large = torch.min(large, torch.full_like(large, num_buckets - 1))
    buckets += torch.where(is_small, relative, large)
    return F.embedding(buckets, weight).permute(2, 0, 1)


@right("Plain loops over queries and keys, filling an empty result head by head")
def plain_loops(weight, N_Q, N_X, furthest):
    buckets, H = weight.shape
    half = buckets // 2
    exact = half // 2
    rows = []
    for q in range(N_Q):
        row = []
        for x in range(N_X):
            relative = x - q
            distance = abs(relative)
            if distance < exact:
                bucket = distance
            elif distance >= furthest:
                bucket = half - 1
            else:
                bucket = exact + int((half - exact) * math.log(distance / exact) / math.log(furthest / exact))
            row.append(weight[bucket + half] if relative > 0 else weight[bucket])
        rows.append(torch.stack(row))
    return torch.stack(rows).permute(2, 0, 1)


@right("A one-hot table of buckets and an einsum")
def one_hot(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    exact = half // 2
    d = torch.arange(N_X, device=weight.device) - torch.arange(N_Q, device=weight.device).unsqueeze(1)
    a = d.abs()
    log = exact + torch.floor(torch.log2(a.clamp(min=1) / exact) / math.log2(furthest / exact) * (half - exact)).long()
    bucket = torch.where(a < exact, a, torch.minimum(log, torch.tensor(half - 1, device=log.device)))
    bucket = bucket + half * (d > 0).long()
    chosen = F.one_hot(bucket, len(weight)).to(weight.dtype)
    return torch.einsum("qxb,bh->hqx", chosen, weight)


@right("Buckets by numpy, and a gather along the buckets")
def by_numpy(weight, N_Q, N_X, furthest):
    half = weight.size(0) // 2
    exact = half // 2
    d = np.arange(N_X)[None] - np.arange(N_Q)[:, None]
    a = np.abs(d)
    far = exact + np.floor(np.log(np.maximum(a, exact) / exact) / np.log(furthest / exact) * (half - exact)).astype(int)
    bucket = np.where(a < exact, a, np.minimum(far, half - 1)) + np.where(d > 0, half, 0)
    index = torch.from_numpy(bucket.reshape(-1)).to(weight.device)
    return weight.index_select(0, index).t().reshape(-1, N_Q, N_X)


@right("A table of buckets for every distance, by counting how many borders each has passed")
def counted_borders(weight, N_Q, N_X, furthest):
    half = weight.shape[0] // 2
    exact = half // 2
    longest = max(N_Q, N_X)
    table = []
    for distance in range(longest):
        bucket = min(distance, exact)
        for k in range(1, half - exact):
            bucket += distance >= exact * (furthest / exact) ** (k / (half - exact))
        table.append(bucket)
    table = torch.tensor(table, device=weight.device)
    positions = torch.arange(longest, device=weight.device)
    offset = positions[None, :N_X] - positions[:N_Q, None]
    return weight[table[offset.abs()] + half * (offset > 0)].movedim(2, 0)


@right("The two directions looked up in two halves of the weights, chosen by torch.where")
def two_halves(weight, N_Q, N_X, furthest):
    past, future = weight.chunk(2, dim=0)
    half = past.shape[0]
    exact = half // 2
    q, x = torch.meshgrid(
        torch.arange(N_Q, device=weight.device), torch.arange(N_X, device=weight.device), indexing="ij"
    )
    distance = torch.maximum(q - x, x - q)
    ratio = torch.log(distance.clamp(min=exact).double()) - math.log(exact)
    large = exact + (ratio / (math.log(furthest) - math.log(exact)) * (half - exact)).int()
    bucket = torch.where(distance < exact, distance, large).clamp(0, half - 1).long()
    return torch.where((x > q).unsqueeze(-1), future[bucket], past[bucket]).permute(2, 0, 1).contiguous()


@right("One line of biases for all offsets, unfolded into a Toeplitz matrix")
def unfolded(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    exact = half // 2
    offsets = torch.arange(-(N_Q - 1), N_X, device=weight.device)
    d = offsets.abs().to(torch.float64)
    grown = exact + torch.floor((half - exact) * torch.log10(d.clamp(min=1) / exact) / math.log10(furthest / exact))
    bucket = torch.where(d < exact, d, grown.clamp(max=half - 1)).long()
    line = weight[torch.where(offsets > 0, bucket + half, bucket)].T  # [H, N_Q + N_X - 1]
    return line.unfold(1, N_X, 1).flip(1)


@right("Sorted borders and searchsorted, keys before and after the query each with a table of their own")
def searched(weight, N_Q, N_X, furthest):
    half = weight.shape[0] // 2
    exact = half // 2
    step = math.log(furthest / exact) / (half - exact)
    borders = torch.tensor([math.log(i) if i < exact else math.log(exact) + (i - exact) * step for i in range(1, half)])
    longest = max(N_Q, N_X)
    bucket = torch.zeros(longest, dtype=torch.long)
    if longest > 1:
        bucket[1:] = torch.searchsorted(borders - 1e-6, torch.arange(1, longest).log(), right=True)
    before, after = weight[bucket.to(weight.device)], weight[half + bucket.to(weight.device)]
    rows = []
    for q in range(N_Q):
        earlier = before[: q + 1].flip(0)[:N_X]
        rows.append(torch.cat([earlier, after[1 : N_X - q]]) if N_X > q + 1 else earlier)
    return torch.stack(rows, dim=1).permute(2, 1, 0)


# ---------------------------------------------------------------- wrong


def _relative(weight, N_Q, N_X):
    return torch.arange(N_X, device=weight.device)[None, :] - torch.arange(N_Q, device=weight.device)[:, None]


def _bucket(distance, half, exact, furthest):
    """The bucket within a half, right."""
    far = exact + (torch.log(distance.clamp(min=1).float() / exact) / math.log(furthest / exact) * (half - exact)).long()
    return torch.where(distance < exact, distance, far.clamp(max=half - 1))


# Right, and not registered: answers below are changes of it.
def _plain(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    relative = _relative(weight, N_Q, N_X)
    bucket = _bucket(relative.abs(), half, half // 2, furthest) + half * (relative > 0)
    return weight[bucket].permute(2, 0, 1)


change(_plain, "query_minus_key", "query minus key in place of key minus query", "concept",
       ("_relative(weight, N_Q, N_X)", "-_relative(weight, N_Q, N_X)"))
change(_plain, "zero_in_the_upper_half", "the query's own position counts to the upper half (>= in place of >)", "edge",
       ("relative > 0", "relative >= 0"))


@wrong("the decoder's buckets: later keys all have distance 0, all buckets for earlier ones", kind="concept")
def causal_buckets(weight, N_Q, N_X, furthest):
    buckets = len(weight)
    distance = -torch.min(_relative(weight, N_Q, N_X), torch.zeros((), dtype=torch.long, device=weight.device))
    return weight[_bucket(distance, buckets, buckets // 2, furthest)].permute(2, 0, 1)


@wrong("the absolute distance over all buckets, no direction", kind="concept")
def absolute_distance(weight, N_Q, N_X, furthest):
    buckets = len(weight)
    distance = _relative(weight, N_Q, N_X).abs()
    return weight[_bucket(distance, buckets, buckets // 2, furthest)].permute(2, 0, 1)


@wrong("half of the buckets, no direction: half is never added", kind="concept")
def half_never_added(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    return weight[_bucket(_relative(weight, N_Q, N_X).abs(), half, half // 2, furthest)].permute(2, 0, 1)


# Right, and not registered: answers below are changes of it.
def _in_one_step(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    relative = _relative(weight, N_Q, N_X)
    return weight[_bucket(relative.abs(), half, half // 2, furthest) + half * (relative > 0)].permute(2, 0, 1)


change(_in_one_step, "clipped", "a bucket for each distance, clipped, no logarithm", "concept",
       ("_bucket(relative.abs(), half, half // 2, furthest)", "relative.abs().clamp(max=half - 1)"))


@wrong("signed clipping into one table, as Shaw et al. have it", kind="concept")
def signed_clipping(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    relative = _relative(weight, N_Q, N_X).clamp(-half, half - 1) + half
    return weight[relative].permute(2, 0, 1)


@wrong("half of all buckets is exact: the halving for the two directions is forgotten in max_exact", kind="concept")
def exact_too_many(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    exact = half // 2 + 1
    relative = _relative(weight, N_Q, N_X)
    far = exact + (torch.log(relative.abs().clamp(min=1).float() / exact) / math.log(furthest / exact) * (half - exact)).long()
    bucket = torch.where(relative.abs() < exact, relative.abs(), far.clamp(max=half - 1))
    return weight[bucket + half * (relative > 0)].permute(2, 0, 1)


# Right, and not registered: answers below are changes of it.
def _written_out(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    exact = half // 2
    relative = _relative(weight, N_Q, N_X)
    d = relative.abs()
    far = exact + (torch.log(d.clamp(min=1) / exact) / math.log(furthest / exact) * (half - exact)).long()
    bucket = torch.where(d < exact, d, far.clamp(max=half - 1))
    return weight[bucket + half * (relative > 0)].permute(2, 0, 1)


change(_written_out, "linear_buckets", "evenly wide buckets in place of the logarithm", "concept",
       ("torch.log(d.clamp(min=1) / exact) / math.log(furthest / exact)", "(d - exact) / (furthest - exact)"))
change(_written_out, "rounded", "the logarithm is rounded, not cut off", "concept",
       (".long()", ".round().long()"))
change(_written_out, "ceiled", "rounded up", "concept",
       (".long()", ".ceil().long()"))
change(_written_out, "log_of_furthest", "divided by log(furthest), not by log(furthest / exact)", "concept",
       ("furthest / exact", "furthest"))
change(_written_out, "log_of_the_distance", "log(d) without dividing the distance by exact", "concept",
       ("d.clamp(min=1) / exact", "d.clamp(min=1)"), ("furthest / exact", "furthest"))
change(_written_out, "exact_not_added", "the logarithm spreads over the whole half, from bucket 0", "concept",
       ("far = exact +", "far ="))


@wrong("log(1 + d) for all distances, nothing exact", kind="concept")
def all_logarithmic(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    relative = _relative(weight, N_Q, N_X)
    bucket = (torch.log1p(relative.abs().double()) / math.log1p(furthest) * half).long().clamp(max=half - 1)
    return weight[bucket + half * (relative > 0)].permute(2, 0, 1)


change(_written_out, "no_clamp",
       "distances beyond furthest wrap into wrong buckets: no clamp before the half is added", "edge",
       ("far.clamp(max=half - 1)", "far"))
change(_written_out, "clamped_too_late", "clamped after the half was added, to the last of all buckets", "edge",
       (".where(d < exact, d, far.clamp(max=half - 1))", ".where(d < exact, d, far) + half * (relative > 0)"),
       ("bucket + half * (relative > 0)", "bucket.clamp(max=2 * half - 1)"))
change(_in_one_step, "distances_clamped",
       "distances are cut at furthest before the logarithm, and land one bucket too far: no clamp", "edge",
       before("relative =", "exact = half // 2"), before("return", "d = relative.abs().clamp(max=exact)"),
       ("relative.abs(), half, half // 2", "d, half, exact"))


# Right, and not registered: answers below are changes of it.
def _bias_expanded(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    relative = _relative(weight, N_Q, N_X)
    bias = weight[_bucket(relative.abs(), half, half // 2, furthest) + half * (relative > 0)]
    return bias.expand(N_Q, -1, -1).permute(2, 0, 1)


change(_bias_expanded, "nothing_far_away", "keys beyond furthest get no bias", "concept",
       ("bias.expand(N_Q, -1, -1)", "(bias * (relative.abs() <= furthest).unsqueeze(-1))"))
change(_in_one_step, "always_128", "furthest is 128 whatever is given", "concept",
       ("half // 2, furthest", "half // 2, 128"))


@wrong("32 buckets whatever the weights have, others clamped", kind="concept")
def always_32(weight, N_Q, N_X, furthest):
    relative = _relative(weight, N_Q, N_X)
    bucket = _bucket(relative.abs(), 16, 8, furthest) + 16 * (relative > 0)
    return weight[bucket.clamp(max=len(weight) - 1)].permute(2, 0, 1)


change(_bias_expanded, "heads_last", "the heads stay last: [N_Q, N_X, H]", "shape",
       ("bias = weight", "return weight"), ("return bias.expand(N_Q, -1, -1).permute(2, 0, 1)", ""))
change(_in_one_step, "transposed", "queries and keys exchanged in the result: [H, N_X, N_Q]", "shape",
       ("2, 0, 1", "2, 1, 0"))
change(_in_one_step, "viewed", "view in place of permute: the numbers stand in the wrong places", "shape",
       (".permute(2, 0, 1)", ".reshape(-1, N_Q, N_X)"))
change(_in_one_step, "queries_at_the_end", "the queries are taken to be the last N_Q positions of the keys", "concept",
       ("_relative(weight, N_Q, N_X)", "_relative(weight, N_Q, N_X) - (N_X - N_Q)"))
change(_in_one_step, "a_square", "only N_Q is used: a square of N_Q by N_Q", "shape",
       ("_relative(weight, N_Q, N_X)", "_relative(weight, N_Q, N_Q)"))
change(_in_one_step, "one_step_nearer",
       "later keys are counted from distance 1 on, since 0 is not among them", "concept",
       before("return", "d = relative.abs() - (relative > 0).long()"), ("relative.abs()", "d"))


@wrong("the gradient does not arrive at the weights: a new tensor is made of them", kind="gradient")
def without_gradient(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    relative = _relative(weight, N_Q, N_X)
    table = torch.tensor(weight.tolist(), dtype=weight.dtype, device=weight.device)
    return table[_bucket(relative.abs(), half, half // 2, furthest) + half * (relative > 0)].permute(2, 0, 1)


@wrong("added to causal minus infinities: later keys are hidden", kind="concept")
def later_keys_hidden(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    relative = _relative(weight, N_Q, N_X)
    bias = weight[_bucket(relative.abs(), half, half // 2, furthest)].permute(2, 0, 1)
    return bias.masked_fill(relative > 0, -math.inf)


change(_plain, "buckets_returned", "the buckets themselves are returned, for each head", "concept",
       ("return weight[bucket].permute(2, 0, 1)",
        "return bucket.to(weight.dtype).expand(weight.shape[1], -1, -1) + 0 * weight.sum(0)[:, None, None]"))


@wrong("the lower half is for later keys and counts backwards (buckets from far to near)", kind="concept")
def backwards(weight, N_Q, N_X, furthest):
    half = len(weight) // 2
    relative = _relative(weight, N_Q, N_X)
    bucket = _bucket(relative.abs(), half, half // 2, furthest)
    bucket = torch.where(relative > 0, half + bucket, half - 1 - bucket)
    return weight[bucket].permute(2, 0, 1)


change(_written_out, "two_logarithms", "two kinds of logarithm: log2 above, the natural one below", "concept",
       ("torch.log", "torch.log2"))
change(_written_out, "whole_division", "the distance is divided by exact as a whole number", "numerics",
       ("d.clamp(min=1) / exact", "(d // exact).clamp(min=1)"), ("furthest / exact", "furthest // exact"))
change(_written_out, "log_of_the_rest", "the logarithm of what is left over: log(d - exact + 1)", "concept",
       ("far = exact + (torch.log(d.clamp(min=1) / exact) / math.log(furthest / exact) * (half - exact)).long()", """
        share = torch.log((d - exact + 1).clamp(min=1).double()) / math.log(furthest - exact + 1)
        far = exact + (share * (half - exact)).long()"""))
change(_in_one_step, "negated", "the bias is subtracted, as ALiBi's is: it comes back negated", "concept",
       ("return weight", "return -weight"))
change(_plain, "first_head_for_all", "all heads get the biases of the first", "concept",
       ("weight[bucket].permute(2, 0, 1)", "weight[:, 0][bucket].expand(weight.shape[1], -1, -1)"))


@wrong("the weights are reshaped to [H, buckets], not transposed", kind="shape")
def weights_reshaped(weight, N_Q, N_X, furthest):
    buckets, H = weight.shape
    relative = _relative(weight, N_Q, N_X)
    bucket = _bucket(relative.abs(), buckets // 2, buckets // 4, furthest) + buckets // 2 * (relative > 0)
    return weight.reshape(H, buckets)[:, bucket]


change(_bias_expanded, "times_distance",
       "the bucket's weight is taken for a slope and multiplied by the distance", "concept",
       ("bias.expand(N_Q, -1, -1)", "(bias * relative.abs()[:, :, None])"))
change(_bias_expanded, "softmax_at_the_end", "a softmax over the keys at the end", "concept",
       (".expand(N_Q, -1, -1).permute(2, 0, 1)", ".permute(2, 0, 1).softmax(-1)"))
change(_bias_expanded, "queries_at_position_zero", "every query is taken to stand at position 0", "concept",
       ("_relative(weight, N_Q, N_X)", "_relative(weight, 1, N_X)"))
change(_in_one_step, "queries_from_one", "positions are counted from 1 for the queries, from 0 for the keys", "edge",
       ("_relative(weight, N_Q, N_X)", "_relative(weight, N_Q, N_X) - 1"))
change(_plain, "always_single", "the result is always of single precision", "numerics",
       ("weight[bucket]", "F.embedding(bucket, weight.float())"))
