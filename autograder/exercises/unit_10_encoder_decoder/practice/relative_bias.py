"""Right answers to `relative_bias`, as others write them."""

import math

import torch
import torch.nn.functional as F

from autograder.bank.practice import practice


@practice("transformers")
def hugging_face(weight, N_Q, N_X, furthest):
    def _relative_position_bucket(relative_position, num_buckets, max_distance):
        relative_buckets = 0
        num_buckets //= 2
        relative_buckets += (relative_position > 0).to(torch.long) * num_buckets
        relative_position = torch.abs(relative_position)
        max_exact = num_buckets // 2
        is_small = relative_position < max_exact
        relative_position_if_large = max_exact + (
            torch.log(relative_position.float() / max_exact)
            / math.log(max_distance / max_exact)
            * (num_buckets - max_exact)
        ).to(torch.long)
        relative_position_if_large = torch.min(
            relative_position_if_large, torch.full_like(relative_position_if_large, num_buckets - 1)
        )
        relative_buckets += torch.where(is_small, relative_position, relative_position_if_large)
        return relative_buckets

    context_position = torch.arange(N_Q, dtype=torch.long, device=weight.device)[:, None]
    memory_position = torch.arange(N_X, dtype=torch.long, device=weight.device)[None, :]
    relative_position = memory_position - context_position
    bucket = _relative_position_bucket(relative_position, weight.shape[0], furthest)
    values = F.embedding(bucket, weight)
    return values.permute([2, 0, 1])


@practice("lucidrains")
def lucid(weight, N_Q, N_X, furthest):
    device, num_buckets = weight.device, weight.shape[0]
    q_pos = torch.arange(N_Q, dtype=torch.long, device=device)
    k_pos = torch.arange(N_X, dtype=torch.long, device=device)
    n = -(k_pos[None, :] - q_pos[:, None])
    num_buckets //= 2
    ret = (n < 0).long() * num_buckets
    n = torch.abs(n)
    max_exact = num_buckets // 2
    is_small = n < max_exact
    val_if_large = (
        max_exact
        + (torch.log(n.float() / max_exact) / math.log(furthest / max_exact) * (num_buckets - max_exact)).long()
    )
    val_if_large = torch.min(val_if_large, torch.full_like(val_if_large, num_buckets - 1))
    ret = ret + torch.where(is_small, n, val_if_large)
    return torch.einsum("ijh->hij", weight[ret])


@practice("einops", needs="einops")
def einops(weight, N_Q, N_X, furthest):
    from einops import rearrange

    half = weight.shape[0] // 2
    exact = half // 2
    key, query = torch.arange(N_X, device=weight.device), torch.arange(N_Q, device=weight.device)
    relative = rearrange(key, "x -> 1 x") - rearrange(query, "q -> q 1")
    distance = relative.abs()
    share = torch.log(distance.clamp(min=exact) / exact) / math.log(furthest / exact)
    bucket = torch.where(distance < exact, distance, exact + (share * (half - exact)).floor().long())
    bucket = bucket.clamp(max=half - 1) + half * (relative > 0)
    return rearrange(weight[bucket], "q x h -> h q x")


@practice("T5X")
def t5x(weight, N_Q, N_X, furthest):
    context = torch.arange(N_Q, device=weight.device).reshape(-1, 1)
    memory = torch.arange(N_X, device=weight.device).reshape(1, -1)
    n = -(memory - context)
    num_buckets = len(weight) // 2
    ret = (n < 0).to(torch.int32) * num_buckets
    n = n.abs()
    max_exact = num_buckets // 2
    eps = torch.finfo(torch.float32).eps
    val_if_large = max_exact + (
        torch.log(n.to(torch.float32) / max_exact + eps) / math.log(furthest / max_exact) * (num_buckets - max_exact)
    ).to(torch.int32)
    val_if_large = val_if_large.minimum(torch.tensor(num_buckets - 1, device=weight.device))
    ret = ret + torch.where(n < max_exact, n.to(torch.int32), val_if_large)
    values = F.one_hot(ret.long(), len(weight)).to(weight.dtype) @ weight
    return values.movedim(-1, 0)


@practice("a table of distances")
def table(weight, N_Q, N_X, furthest):
    before, after = weight.tensor_split(2)
    half = len(before)
    exact = half // 2
    buckets = list(range(exact))
    for d in range(exact, max(N_Q, N_X, exact + 1)):
        bucket = exact + math.floor((half - exact) * math.log(d / exact) / math.log(furthest / exact))
        buckets.append(min(bucket, half - 1))
    buckets = torch.tensor(buckets, device=weight.device)
    i, j = torch.arange(N_Q, device=weight.device)[:, None], torch.arange(N_X, device=weight.device)[None, :]
    d = buckets[(j - i).abs()]
    return torch.where((j > i)[:, :, None], after[d], before[d]).permute(2, 0, 1)


@practice("plain loops")
def loops(weight, N_Q, N_X, furthest):
    half = weight.size(0) // 2
    exact = half // 2
    out = []
    for column in weight.unbind(dim=1):
        head = []
        for i in range(N_Q):
            row = []
            for j in range(N_X):
                d = abs(i - j)
                b = d
                if d >= exact:
                    b = min(half - 1, exact + int(math.log(d / exact) / math.log(furthest / exact) * (half - exact)))
                row.append(column[half + b] if j > i else column[b])
            head.append(torch.stack(row))
        out.append(torch.stack(head))
    return torch.stack(out)
