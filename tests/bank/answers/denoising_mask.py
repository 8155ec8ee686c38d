"""Answers to denoising_mask (assignment 14)."""

import torch
from answers import right, wrong

# ---------------------------------------------------------------- right


@right("zeros, then blocks of True")
def blocks(groups, size, N_Q):
    n = groups * size
    mask = torch.zeros(n + N_Q, n + N_Q, dtype=torch.bool)
    for g in range(groups):
        mask[g * size : (g + 1) * size, g * size : (g + 1) * size] = True
    mask[:n, n:] = True
    mask[n:, n:] = True
    return mask


@right("ones, then what is hidden")
def from_ones(groups, size, N_Q):
    n = groups * size
    mask = torch.ones((n + N_Q, n + N_Q)).bool()
    mask[n:, :n] = False
    for g in range(groups):
        a, b = g * size, g * size + size
        mask[a:b, :a] = False
        mask[a:b, b:n] = False
    return mask


@right("group numbers, floor-divided")
def numbers(groups, size, N_Q):
    i = torch.arange(groups * size + N_Q)
    group = torch.where(i < groups * size, i // size, groups)
    return (group[None, :] == group[:, None]) | (group == groups)[None, :]


@right("Kronecker product")
def kron(groups, size, N_Q):
    own = torch.kron(torch.eye(groups), torch.ones(size, size))
    mask = torch.zeros(groups * size + N_Q, groups * size + N_Q)
    mask[: groups * size, : groups * size] = own
    mask[:, groups * size :] = 1
    return mask > 0.5


@right("block_diag")
def block_diag(groups, size, N_Q):
    parts = [torch.ones(size, size, dtype=torch.bool)] * groups
    parts.append(torch.ones(N_Q, N_Q, dtype=torch.bool))
    mask = torch.block_diag(*parts).to(torch.bool)
    mask[:, -N_Q:] = True
    return mask


@right("a list of lists")
def comprehension(groups, size, N_Q):
    n = groups * size
    total = range(n + N_Q)
    return torch.tensor([[j >= n or (i < n and i // size == j // size) for j in total] for i in total])


@right("One-hot group membership, multiplied")
def membership(groups, size, N_Q):
    G = torch.eye(groups + 1).repeat_interleave(torch.tensor([size] * groups + [N_Q]), dim=0)
    see = torch.eye(groups + 1)
    see[:, -1] = 1
    return (G @ see @ G.T).bool()


@right("row by row")
def row_by_row(groups, size, N_Q):
    rows = []
    for g in range(groups):
        row = torch.cat([torch.zeros(g * size), torch.ones(size), torch.zeros((groups - 1 - g) * size), torch.ones(N_Q)])
        rows += [row] * size
    rows += [torch.cat([torch.zeros(groups * size), torch.ones(N_Q)])] * N_Q
    return torch.stack(rows) == 1


# ---------------------------------------------------------------- wrong


@wrong("True means hidden", "concept")
def hidden(groups, size, N_Q):
    return ~blocks(groups, size, N_Q)


@wrong("the matching sees the noised", "concept")
def matching_looks(groups, size, N_Q):
    mask = blocks(groups, size, N_Q)
    mask[groups * size :] = True
    return mask


@wrong("noised do not see the matching", "concept")
def noised_apart(groups, size, N_Q):
    mask = blocks(groups, size, N_Q)
    mask[: groups * size, groups * size :] = False
    return mask


@wrong("transposed: the matching sees all, the noised only themselves", "concept")
def transposed(groups, size, N_Q):
    return blocks(groups, size, N_Q).T


@wrong("groups see each other", "concept")
def one_big_group(groups, size, N_Q):
    return blocks(1, groups * size, N_Q)


@wrong("all True", "concept")
def all_true(groups, size, N_Q):
    n = groups * size + N_Q
    return torch.ones(n, n, dtype=torch.bool)


@wrong("all False", "concept")
def all_false(groups, size, N_Q):
    n = groups * size + N_Q
    return torch.zeros(n, n, dtype=torch.bool)


@wrong("the diagonal among the noised", "concept")
def diagonal(groups, size, N_Q):
    return blocks(groups * size, 1, N_Q)


@wrong("groups and size exchanged", "concept")
def exchanged(groups, size, N_Q):
    return blocks(size, groups, N_Q)


@wrong("interleaved groups", "concept")
def interleaved(groups, size, N_Q):
    i = torch.arange(groups * size + N_Q)
    group = torch.where(i < groups * size, i % groups, groups)
    return (group[None, :] == group[:, None]) | (group == groups)[None, :]


@wrong("modulo size: a target sees its copies in other groups", "concept")
def copies(groups, size, N_Q):
    i = torch.arange(groups * size + N_Q)
    group = torch.where(i < groups * size, i % size, size)
    return (group[None, :] == group[:, None]) | (group == size)[None, :]


@wrong("the matching in front", "concept")
def matching_in_front(groups, size, N_Q):
    n = groups * size
    order = torch.cat([torch.arange(n, n + N_Q), torch.arange(n)])
    return blocks(groups, size, N_Q)[order][:, order]


@wrong("matching columns in front, rows right", "concept")
def columns_in_front(groups, size, N_Q):
    return blocks(groups, size, N_Q).roll(N_Q, dims=1)


@wrong("causal over groups", "concept")
def causal_groups(groups, size, N_Q):
    i = torch.arange(groups * size)
    mask = blocks(groups, size, N_Q)
    mask[: groups * size, : groups * size] = i[None, :] // size <= i[:, None] // size
    return mask


@wrong("causal everywhere", "concept")
def causal(groups, size, N_Q):
    return blocks(groups, size, N_Q).tril()


@wrong("causal among the matching", "concept")
def causal_matching(groups, size, N_Q):
    n = groups * size
    mask = blocks(groups, size, N_Q)
    mask[n:, n:] = mask[n:, n:].tril()
    return mask


@wrong("causal in groups", "concept")
def causal_in_groups(groups, size, N_Q):
    n = groups * size
    mask = blocks(groups, size, N_Q)
    mask[:n, :n] = mask[:n, :n].tril()
    return mask


@wrong("no query sees itself", "concept")
def not_itself(groups, size, N_Q):
    mask = blocks(groups, size, N_Q)
    return mask & ~torch.eye(len(mask), dtype=torch.bool)


@wrong("the matching sees itself only, each its own", "concept")
def matching_diagonal(groups, size, N_Q):
    n = groups * size
    mask = blocks(groups, size, N_Q)
    mask[n:, n:] = torch.eye(N_Q).bool()
    return mask


@wrong("rows of the matching are empty", "concept")
def empty_rows(groups, size, N_Q):
    mask = blocks(groups, size, N_Q)
    mask[groups * size :] = False
    return mask


@wrong("the matching does not see itself, but all noised", "concept")
def matching_inverted(groups, size, N_Q):
    mask = blocks(groups, size, N_Q)
    mask[groups * size :] ^= True
    return mask


@wrong("only the first group is written", "concept")
def first_group(groups, size, N_Q):
    n = groups * size
    mask = torch.zeros(n + N_Q, n + N_Q, dtype=torch.bool)
    mask[:size, :size] = True
    mask[:, n:] = True
    return mask


@wrong("the last group is forgotten", "edge")
def last_group_missing(groups, size, N_Q):
    n = groups * size
    mask = torch.zeros(n + N_Q, n + N_Q, dtype=torch.bool)
    for g in range(groups - 1):
        mask[g * size : (g + 1) * size, g * size : (g + 1) * size] = True
    mask[:, n:] = True
    return mask


@wrong("blocks one too long", "edge")
def one_too_long(groups, size, N_Q):
    n = groups * size
    mask = torch.zeros(n + N_Q, n + N_Q, dtype=torch.bool)
    for g in range(groups):
        mask[g * size : (g + 1) * size + 1, g * size : (g + 1) * size + 1] = True
    mask[:, n:] = True
    return mask


@wrong("blocks one too short", "edge")
def one_too_short(groups, size, N_Q):
    n = groups * size
    mask = torch.zeros(n + N_Q, n + N_Q, dtype=torch.bool)
    for g in range(groups):
        mask[g * size : (g + 1) * size - 1, g * size : (g + 1) * size - 1] = True
    mask[:, n:] = True
    return mask


@wrong("the matching hidden from the last group", "edge")
def off_by_a_group(groups, size, N_Q):
    mask = blocks(groups, size, N_Q)
    mask[(groups - 1) * size : groups * size, groups * size :] = False
    return mask


@wrong("neighbouring groups see each other", "concept")
def neighbours(groups, size, N_Q):
    i = torch.arange(groups * size)
    mask = blocks(groups, size, N_Q)
    mask[: groups * size, : groups * size] = (i[None, :] // size - i[:, None] // size).abs() <= 1
    return mask


@wrong("a band instead of blocks", "concept")
def band(groups, size, N_Q):
    i = torch.arange(groups * size)
    mask = blocks(groups, size, N_Q)
    mask[: groups * size, : groups * size] = (i[None, :] - i[:, None]).abs() < size
    return mask


@wrong("groups * N_Q instead of groups * size", "concept")
def groups_of_queries(groups, size, N_Q):
    return blocks(groups, N_Q, N_Q)


@wrong("N_Q and size exchanged", "concept")
def size_for_queries(groups, size, N_Q):
    return blocks(groups, N_Q, size)


@wrong("without the matching", "shape")
def noised_only(groups, size, N_Q):
    n = groups * size
    return blocks(groups, size, N_Q)[:n, :n]


@wrong("groups + size + N_Q places", "shape")
def added(groups, size, N_Q):
    return blocks(1, groups + size, N_Q)


@wrong("one mask for each group", "shape")
def per_group(groups, size, N_Q):
    return torch.stack([blocks(1, size, N_Q)] * max(groups, 1))


@wrong("a batch axis", "shape")
def batch_axis(groups, size, N_Q):
    return blocks(groups, size, N_Q)[None]


@wrong("numbers 1 and 0", "interface")
def floats(groups, size, N_Q):
    return blocks(groups, size, N_Q).float()


@wrong("0 and minus infinity", "interface")
def additive(groups, size, N_Q):
    return torch.zeros(blocks(groups, size, N_Q).shape).masked_fill(~blocks(groups, size, N_Q), float("-inf"))


@wrong("integers", "interface")
def integers(groups, size, N_Q):
    return blocks(groups, size, N_Q).long()


@wrong("numpy", "interface")
def as_numpy(groups, size, N_Q):
    return blocks(groups, size, N_Q).numpy()


@wrong("sizes of the example", "concept")
def written_in(groups, size, N_Q):
    return blocks(2, 3, 4)


@wrong("division by zero where there are no groups", "edge")
def no_groups(groups, size, N_Q):
    n = groups * size
    i = torch.arange(n + N_Q)
    width = n // groups
    group = torch.where(i < n, i // width, groups)
    return (group[None, :] == group[:, None]) | (group == groups)[None, :]


@wrong("the other way round in all: noised see the matching only", "concept")
def matching_only(groups, size, N_Q):
    mask = blocks(groups, size, N_Q)
    mask[: groups * size, : groups * size] = False
    return mask


@wrong("other groups are seen, the own is not", "concept")
def other_groups(groups, size, N_Q):
    mask = blocks(groups, size, N_Q)
    n = groups * size
    mask[:n, :n] = ~mask[:n, :n]
    return mask


@wrong("a torch.block_diag of all, so nothing crosses", "concept")
def nothing_crosses(groups, size, N_Q):
    return torch.block_diag(*[torch.ones(size, size)] * groups, torch.ones(N_Q, N_Q)).bool()


@wrong("block_diag left as numbers", "interface")
def block_numbers(groups, size, N_Q):
    mask = torch.block_diag(*[torch.ones(size, size)] * groups, torch.ones(N_Q, N_Q))
    mask[:, groups * size :] = 1
    return mask


@wrong("returns nothing", "process")
def nothing(groups, size, N_Q):
    blocks(groups, size, N_Q)
