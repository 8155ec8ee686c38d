"""Answers to denoising_mask (assignment 14)."""

import torch
from answers import before, change, right, wrong

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


# Right, and not registered: answers below are changes of it.
def _plain(groups, size, N_Q):
    return blocks(groups, size, N_Q)


# ---------------------------------------------------------------- wrong


change(_plain, "hidden", "True means hidden", "concept",
       ("blocks(groups, size, N_Q)", "~blocks(groups, size, N_Q)"))


@wrong("the matching sees the noised", "concept")
def matching_looks(groups, size, N_Q):
    mask = blocks(groups, size, N_Q)
    mask[groups * size :] = True
    return mask


change(matching_looks, "noised_apart", "noised do not see the matching", "concept",
       ("mask[groups * size :] = True", "mask[: groups * size, groups * size :] = False"))
change(_plain, "transposed", "transposed: the matching sees all, the noised only themselves", "concept",
       ("blocks(groups, size, N_Q)", "blocks(groups, size, N_Q).T"))
change(_plain, "one_big_group", "groups see each other", "concept",
       ("blocks(groups, size, N_Q)", "blocks(1, groups * size, N_Q)"))


@wrong("all True", "concept")
def all_true(groups, size, N_Q):
    n = groups * size + N_Q
    return torch.ones(n, n, dtype=torch.bool)


change(all_true, "all_false", "all False", "concept",
       (".ones", ".zeros"))
change(_plain, "diagonal", "the diagonal among the noised", "concept",
       ("blocks(groups, size, N_Q)", "blocks(groups * size, 1, N_Q)"))
change(_plain, "exchanged", "groups and size exchanged", "concept",
       ("blocks(groups, size, N_Q)", "blocks(size, groups, N_Q)"))
change(numbers, "interleaved", "interleaved groups", "concept",
       ("i // size", "i % groups"))
change(numbers, "copies", "modulo size: a target sees its copies in other groups", "concept",
       ("i // size, groups", "i % size, size"), ("group == groups", "group == size"))


@wrong("the matching in front", "concept")
def matching_in_front(groups, size, N_Q):
    n = groups * size
    order = torch.cat([torch.arange(n, n + N_Q), torch.arange(n)])
    return blocks(groups, size, N_Q)[order][:, order]


change(_plain, "columns_in_front", "matching columns in front, rows right", "concept",
       ("blocks(groups, size, N_Q)", "blocks(groups, size, N_Q).roll(N_Q, dims=1)"))


@wrong("causal over groups", "concept")
def causal_groups(groups, size, N_Q):
    i = torch.arange(groups * size)
    mask = blocks(groups, size, N_Q)
    mask[: groups * size, : groups * size] = i[None, :] // size <= i[:, None] // size
    return mask


change(_plain, "causal", "causal everywhere", "concept",
       ("blocks(groups, size, N_Q)", "blocks(groups, size, N_Q).tril()"))


@wrong("causal among the matching", "concept")
def causal_matching(groups, size, N_Q):
    n = groups * size
    mask = blocks(groups, size, N_Q)
    mask[n:, n:] = mask[n:, n:].tril()
    return mask


change(causal_matching, "causal_in_groups", "causal in groups", "concept",
       ("mask[n:, n:] = mask[n:, n:].tril()", "mask[:n, :n] = mask[:n, :n].tril()"))


@wrong("no query sees itself", "concept")
def not_itself(groups, size, N_Q):
    mask = blocks(groups, size, N_Q)
    return mask & ~torch.eye(len(mask), dtype=torch.bool)


change(causal_matching, "matching_diagonal", "the matching sees itself only, each its own", "concept",
       ("mask[n:, n:].tril()", "torch.eye(N_Q).bool()"))
change(matching_looks, "empty_rows", "rows of the matching are empty", "concept",
       ("True", "False"))
change(matching_looks, "matching_inverted", "the matching does not see itself, but all noised", "concept",
       ("= True", "^= True"))


@wrong("only the first group is written", "concept")
def first_group(groups, size, N_Q):
    n = groups * size
    mask = torch.zeros(n + N_Q, n + N_Q, dtype=torch.bool)
    mask[:size, :size] = True
    mask[:, n:] = True
    return mask


change(blocks, "last_group_missing", "the last group is forgotten", "edge",
       ("range(groups)", "range(groups - 1)"),
       ("""
        mask[:n, n:] = True
        mask[n:, n:] = True""", "mask[:, n:] = True"))
change(blocks, "one_too_long", "blocks one too long", "edge",
       ("g * size : (g + 1) * size, g * size : (g + 1) * size",
        "g * size : (g + 1) * size + 1, g * size : (g + 1) * size + 1"),
       ("mask[:n, n:] = True", ""), ("mask[n:, n:]", "mask[:, n:]"))
change(blocks, "one_too_short", "blocks one too short", "edge",
       ("g * size : (g + 1) * size, g * size : (g + 1) * size",
        "g * size : (g + 1) * size - 1, g * size : (g + 1) * size - 1"),
       ("mask[:n, n:] = True", ""), ("mask[n:, n:]", "mask[:, n:]"))


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


change(causal_groups, "band", "a band instead of blocks", "concept",
       ("i[None, :] // size <= i[:, None] // size", "(i[None, :] - i[:, None]).abs() < size"))
change(_plain, "groups_of_queries", "groups * N_Q instead of groups * size", "concept",
       ("blocks(groups, size, N_Q)", "blocks(groups, N_Q, N_Q)"))
change(_plain, "size_for_queries", "N_Q and size exchanged", "concept",
       ("blocks(groups, size, N_Q)", "blocks(groups, N_Q, size)"))
change(_plain, "noised_only", "without the matching", "shape",
       before("return", "n = groups * size"), ("blocks(groups, size, N_Q)", "blocks(groups, size, N_Q)[:n, :n]"))
change(_plain, "added", "groups + size + N_Q places", "shape",
       ("blocks(groups, size, N_Q)", "blocks(1, groups + size, N_Q)"))
change(_plain, "per_group", "one mask for each group", "shape",
       ("blocks(groups, size, N_Q)", "torch.stack([blocks(1, size, N_Q)] * max(groups, 1))"))
change(_plain, "batch_axis", "a batch axis", "shape",
       ("blocks(groups, size, N_Q)", "blocks(groups, size, N_Q)[None]"))
change(_plain, "floats", "numbers 1 and 0", "interface",
       ("blocks(groups, size, N_Q)", "blocks(groups, size, N_Q).float()"))


@wrong("0 and minus infinity", "interface")
def additive(groups, size, N_Q):
    return torch.zeros(blocks(groups, size, N_Q).shape).masked_fill(~blocks(groups, size, N_Q), float("-inf"))


change(_plain, "integers", "integers", "interface",
       ("blocks(groups, size, N_Q)", "blocks(groups, size, N_Q).long()"))
change(_plain, "as_numpy", "numpy", "interface",
       ("blocks(groups, size, N_Q)", "blocks(groups, size, N_Q).numpy()"))
change(_plain, "written_in", "sizes of the example", "concept",
       ("blocks(groups, size, N_Q)", "blocks(2, 3, 4)"))


@wrong("division by zero where there are no groups", "edge")
def no_groups(groups, size, N_Q):
    n = groups * size
    i = torch.arange(n + N_Q)
    width = n // groups
    group = torch.where(i < n, i // width, groups)
    return (group[None, :] == group[:, None]) | (group == groups)[None, :]


change(matching_looks, "matching_only", "the other way round in all: noised see the matching only", "concept",
       ("mask[groups * size :] = True", "mask[: groups * size, : groups * size] = False"))
change(matching_looks, "other_groups", "other groups are seen, the own is not", "concept",
       ("mask[groups * size :] = True", """
        n = groups * size
        mask[:n, :n] = ~mask[:n, :n]"""))


@wrong("a torch.block_diag of all, so nothing crosses", "concept")
def nothing_crosses(groups, size, N_Q):
    return torch.block_diag(*[torch.ones(size, size)] * groups, torch.ones(N_Q, N_Q)).bool()


@wrong("block_diag left as numbers", "interface")
def block_numbers(groups, size, N_Q):
    mask = torch.block_diag(*[torch.ones(size, size)] * groups, torch.ones(N_Q, N_Q))
    mask[:, groups * size :] = 1
    return mask


change(_plain, "nothing", "returns nothing", "process",
       ("return blocks", "blocks"))
