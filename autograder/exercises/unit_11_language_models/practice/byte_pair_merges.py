"""Right answers to `byte_pair_merges`, as others write them."""

import re
from collections import Counter, defaultdict

import numpy as np
import torch

from autograder.bank.practice import practice


def get_stats(ids):
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(ids, pair, idx):
    newids = []
    i = 0
    while i < len(ids):
        if i < len(ids) - 1 and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            newids.append(idx)
            i += 2
        else:
            newids.append(ids[i])
            i += 1
    return newids


@practice("minbpe")
def minbpe(tokens, V, M):
    ids = tokens.tolist()
    merges = {}
    for i in range(M):
        stats = get_stats(ids)
        top = max(stats.values())
        pair = min(p for p in stats if stats[p] == top)
        idx = V + i
        ids = merge(ids, pair, idx)
        merges[pair] = idx
    return torch.tensor(list(merges), device=tokens.device)


@practice("Sennrich's subword-nmt")
def sennrich(tokens, V, M):
    def get_pair_statistics(symbols):
        pairs = defaultdict(int)
        for i in range(len(symbols) - 1):
            pairs[symbols[i], symbols[i + 1]] += 1
        return pairs

    text = " ".join(map(str, tokens.tolist()))
    codes = []
    for i in range(M):
        pairs = get_pair_statistics([int(s) for s in text.split()])
        best = max(pairs, key=lambda x: (pairs[x], -x[0], -x[1]))
        codes.append(best)
        bigram = re.escape(f"{best[0]} {best[1]}")
        text = re.sub(r"(?<!\S)" + bigram + r"(?!\S)", str(V + i), text)
    return torch.tensor(codes, dtype=torch.long, device=tokens.device)


@practice("Counter and sorted")
def counter(tokens, V, M):
    text = tokens.tolist()
    rows = []
    for m in range(M):
        counts = Counter(zip(text[:-1], text[1:]))
        (left, right), _ = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[0]
        rows.append([left, right])
        new = []
        while text:
            if text[:2] == [left, right]:
                new.append(V + m)
                text = text[2:]
            else:
                new.append(text[0])
                text = text[1:]
        text = new
    return torch.tensor(rows, device=tokens.device)


@practice("d2l, one pass with a pending symbol")
def d2l(tokens, V, M):
    text = [int(t) for t in tokens]
    merges = torch.zeros(M, 2, dtype=torch.int64, device=tokens.device)
    for m in range(M):
        pairs = Counter(zip(text, text[1:]))
        best = min(pairs.items(), key=lambda kv: (-kv[1], kv[0]))[0]
        merges[m, 0], merges[m, 1] = best
        out, last_is_new = [], False
        for t in text:
            if out and not last_is_new and (out[-1], t) == best:
                out[-1] = V + m
                last_is_new = True
            else:
                out.append(t)
                last_is_new = False
        text = out
    return merges


@practice("torch.unique")
def unique(tokens, V, M):
    ids, rows = tokens.clone(), []
    for m in range(M):
        pairs = torch.stack([ids[:-1], ids[1:]], dim=1)
        kinds, counts = torch.unique(pairs, dim=0, return_counts=True)
        best = kinds[counts == counts.max()][0]
        rows.append(best)
        hit = (pairs == best).all(dim=1).tolist()
        keep = torch.ones(len(ids), dtype=torch.bool, device=ids.device)
        i = 0
        while i < len(hit):
            if hit[i]:
                ids[i] = V + m
                keep[i + 1] = False
                i += 1
            i += 1
        ids = ids[keep]
    return torch.stack(rows)


@practice("numpy-minded")
def numpy_minded(tokens, V, M):
    text = tokens.cpu().numpy().astype(np.int64)
    merges = np.empty((M, 2), dtype=np.int64)
    for m in range(M):
        base = V + M
        keys, counts = np.unique(text[:-1] * base + text[1:], return_counts=True)
        a, b = divmod(int(keys[np.argmax(counts)]), base)
        merges[m] = a, b
        out, i = [], 0
        while i < len(text):
            if i + 1 < len(text) and text[i] == a and text[i + 1] == b:
                out.append(V + m)
                i += 2
            else:
                out.append(text[i])
                i += 1
        text = np.array(out)
    return torch.from_numpy(merges).to(tokens.device)
