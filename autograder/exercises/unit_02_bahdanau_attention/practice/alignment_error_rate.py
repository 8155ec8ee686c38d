"""Right answers to `alignment_error_rate`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("torch: & and sum")
def torch_sums(links, sure, possible):
    a_s = (links & sure).sum()
    a_p = (links & possible).sum()
    return 1 - (a_s + a_p) / (links.sum() + sure.sum())


@practice("NLTK: Python sets of links")
def nltk(links, sure, possible):
    A, S, P = (set(map(tuple, table.nonzero().tolist())) for table in (links, sure, possible))
    error_rate = 1 - (len(A & S) + len(A & P)) / float(len(A) + len(S))
    return torch.tensor(error_rate, dtype=torch.float32, device=links.device)


@practice("numpy-minded: count_nonzero, logical_and")
def counts(links, sure, possible):
    hits = torch.count_nonzero(torch.logical_and(links, sure)) + torch.count_nonzero(torch.logical_and(links, possible))
    total = torch.count_nonzero(links) + torch.count_nonzero(sure)
    return 1.0 - torch.true_divide(hits, total)


@practice("metrics with floats: products instead of &")
def floats(links, sure, possible):
    A, S, P = links.float(), sure.float(), possible.float()
    return 1.0 - ((A * S).sum() + (A * P).sum()) / (A.sum() + S.sum())


@practice("einops and a running count over the sentences", needs="einops")
def lucidrains(links, sure, possible):
    from einops import rearrange

    num, den = 0, 0
    for a, s, p in zip(links, sure, possible):
        a, s, p = (rearrange(t, "i j -> (i j)") for t in (a, s, p))
        num = num + (a & s).sum() + (a & p).sum()
        den = den + a.sum() + s.sum()
    return (1 - num / den).float()


@practice("numpy-minded: boolean indices")
def indexed(links, sure, possible):
    found = sure[links].sum() + possible[links].sum()
    proposed = len(links.nonzero())
    return 1.0 - found / (proposed + sure.sum())
