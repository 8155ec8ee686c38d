"""Right answers to `bpe_encode`, as others write them."""

import heapq
import re

import torch

from autograder.bank.practice import practice


@practice("minbpe")
def minbpe(tokens, merges, V):
    def merge(ids, pair, idx):
        newids = []
        i = 0
        while i < len(ids):
            if ids[i] == pair[0] and i < len(ids) - 1 and ids[i + 1] == pair[1]:
                newids.append(idx)
                i += 2
            else:
                newids.append(ids[i])
                i += 1
        return newids

    ids = tokens.tolist()
    for m, (p0, p1) in enumerate(merges.tolist()):
        ids = merge(ids, (p0, p1), V + m)
    return torch.tensor(ids, dtype=torch.long, device=tokens.device)


@practice("GPT-2's encoder, by rank")
def gpt2(tokens, merges, V):
    bpe_ranks = {tuple(pair): m for m, pair in enumerate(merges.tolist())}
    word = tuple(tokens.tolist())
    while len(word) >= 2:
        pairs = set(zip(word[:-1], word[1:]))
        bigram = min(pairs, key=lambda pair: bpe_ranks.get(pair, float("inf")))
        if bigram not in bpe_ranks:
            break
        first, second = bigram
        new_word = []
        i = 0
        while i < len(word):
            try:
                j = word.index(first, i)
            except ValueError:
                new_word.extend(word[i:])
                break
            new_word.extend(word[i:j])
            i = j
            if word[i] == first and i < len(word) - 1 and word[i + 1] == second:
                new_word.append(V + bpe_ranks[bigram])
                i += 2
            else:
                new_word.append(word[i])
                i += 1
        word = tuple(new_word)
    return torch.tensor(word, device=tokens.device)


@practice("tiktoken's educational encoder")
def tiktoken(tokens, merges, V):
    ranks = {(left, right): rank for rank, (left, right) in enumerate(merges.tolist())}
    parts = tokens.tolist()
    while True:
        min_idx, min_rank = None, None
        for i, pair in enumerate(zip(parts[:-1], parts[1:])):
            rank = ranks.get(pair)
            if rank is not None and (min_rank is None or rank < min_rank):
                min_idx, min_rank = i, rank
        if min_rank is None:
            break
        parts = parts[:min_idx] + [V + min_rank] + parts[min_idx + 2 :]
    return torch.tensor(parts, dtype=torch.int64, device=tokens.device)


@practice("SentencePiece's queue of pairs")
def sentencepiece(tokens, merges, V):
    rank = {tuple(pair): m for m, pair in enumerate(merges.tolist())}
    sym = tokens.tolist()
    n = len(sym)
    prev, nxt = list(range(-1, n - 1)), list(range(1, n + 1))
    agenda = []

    def push(i, j):
        if i >= 0 and j < n and (sym[i], sym[j]) in rank:
            heapq.heappush(agenda, (rank[sym[i], sym[j]], i, j, sym[i], sym[j]))

    for i in range(n - 1):
        push(i, i + 1)
    while agenda:
        m, i, j, left, right = heapq.heappop(agenda)
        if sym[i] != left or sym[j] != right or nxt[i] != j:
            continue
        sym[i], sym[j] = V + m, None
        nxt[i] = nxt[j]
        if nxt[i] < n:
            prev[nxt[i]] = i
        push(prev[i], i)
        push(i, nxt[i])
    return torch.tensor([s for s in sym if s is not None], device=tokens.device)


@practice("Sennrich's regular expressions")
def sennrich(tokens, merges, V):
    text = " ".join(str(t) for t in tokens.tolist())
    for m, (left, right) in enumerate(merges.tolist()):
        p = re.compile(rf"(?<!\S){left} {right}(?!\S)")
        text = p.sub(str(V + m), text)
    return torch.tensor([int(t) for t in text.split()], device=tokens.device)


@practice("torch, run by run")
def torch_minded(tokens, merges, V):
    ids = tokens.clone()
    for m in range(merges.shape[0]):
        hits = ((ids[:-1] == merges[m, 0]) & (ids[1:] == merges[m, 1])).nonzero().flatten().tolist()
        drop, last = [], -2
        for i in hits:
            if i > last + 1:
                ids[i] = V + m
                drop.append(i + 1)
                last = i
        keep = torch.ones(ids.shape[0], dtype=torch.bool, device=ids.device)
        keep[drop] = False
        ids = ids[keep]
    return ids
