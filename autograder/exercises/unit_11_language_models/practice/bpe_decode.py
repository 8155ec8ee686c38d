"""Right answers to `bpe_decode`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("minbpe")
def minbpe(tokens, merges, V):
    vocab = {idx: [idx] for idx in range(V)}
    for m, (p0, p1) in enumerate(merges.tolist()):
        vocab[V + m] = vocab[p0] + vocab[p1]
    ids = []
    for idx in tokens.tolist():
        ids.extend(vocab[idx])
    return torch.tensor(ids, dtype=torch.long, device=tokens.device)


@practice("recursion")
def recursion(tokens, merges, V):
    pairs = merges.tolist()

    def expand(t):
        if t < V:
            return [t]
        left, right = pairs[t - V]
        return expand(left) + expand(right)

    return torch.tensor([letter for t in tokens.tolist() for letter in expand(t)], device=tokens.device)


@practice("a stack")
def stack(tokens, merges, V):
    todo = tokens.flip(0).tolist()
    out = []
    while todo:
        t = todo.pop()
        if t >= V:
            left, right = merges[t - V].tolist()
            todo.append(right)
            todo.append(left)
        else:
            out.append(t)
    return torch.as_tensor(out, dtype=torch.int64, device=tokens.device)


@practice("undoing the merges")
def undo(tokens, merges, V):
    ids = list(tokens.cpu().numpy())
    for m in reversed(range(len(merges))):
        new = []
        for t in ids:
            if t == V + m:
                new += [merges[m, 0].item(), merges[m, 1].item()]
            else:
                new.append(t)
        ids = new
    return torch.tensor([int(t) for t in ids], device=tokens.device)


@practice("torch, all tokens at once")
def torch_minded(tokens, merges, V):
    ids = tokens
    while (ids >= V).any():
        merged = ids >= V
        parts = torch.stack([ids, torch.full_like(ids, -1)], dim=1)
        parts[merged] = merges[ids[merged] - V]
        ids = parts.flatten()
        ids = ids[ids >= 0]
    return ids.clone()
