"""Right answers to `denoising_mask`, as others write them."""

import numpy as np
import torch

from autograder.bank.practice import practice


@practice("IDEA-Research/DN-DETR")
def dn_detr(groups, size, N_Q):
    single_pad, scalar = size, groups
    pad_size = int(single_pad * scalar)
    tgt_size = pad_size + N_Q
    attn_mask = torch.ones(tgt_size, tgt_size) < 0
    # match query cannot see the reconstruct
    attn_mask[pad_size:, :pad_size] = True
    # reconstruct cannot see each other
    for i in range(scalar):
        if i == 0:
            attn_mask[single_pad * i : single_pad * (i + 1), single_pad * (i + 1) : pad_size] = True
        if i == scalar - 1:
            attn_mask[single_pad * i : single_pad * (i + 1), : single_pad * i] = True
        else:
            attn_mask[single_pad * i : single_pad * (i + 1), single_pad * (i + 1) : pad_size] = True
            attn_mask[single_pad * i : single_pad * (i + 1), : single_pad * i] = True
    return attn_mask.logical_not()


@practice("detrex")
def detrex(groups, size, N_Q):
    noised_query_nums = groups * size
    tgt_size = noised_query_nums + N_Q
    attn_mask = torch.zeros(tgt_size, tgt_size, dtype=torch.bool)
    attn_mask[noised_query_nums:, :noised_query_nums] = True
    for i in range(groups):
        start_col, end_col = size * i, size * (i + 1)
        attn_mask[start_col:end_col, :start_col] = True
        attn_mask[start_col:end_col, end_col:noised_query_nums] = True
    return attn_mask == 0


@practice("lucidrains")
def lucid(groups, size, N_Q):
    n = groups * size
    seq = torch.arange(n + N_Q)
    ids = torch.where(seq < n, torch.div(seq, max(size, 1), rounding_mode="floor"), -1)
    same = ids[:, None] == ids[None, :]
    return same | (ids == -1)[None, :]


@practice("numpy")
def by_numpy(groups, size, N_Q):
    noised = np.kron(np.eye(groups, dtype=bool), np.ones((size, size), dtype=bool))
    top = np.concatenate([noised, np.ones((groups * size, N_Q), dtype=bool)], axis=1)
    bottom = np.concatenate([np.zeros((N_Q, groups * size), dtype=bool), np.ones((N_Q, N_Q), dtype=bool)], axis=1)
    return torch.from_numpy(np.concatenate([top, bottom]))


@practice("plain loops")
def loops(groups, size, N_Q):
    noised = groups * size
    rows = []
    for i in range(noised + N_Q):
        row = []
        for j in range(noised + N_Q):
            if j >= noised:
                row.append(True)
            else:
                row.append(i < noised and i // size == j // size)
        rows.append(row)
    return torch.tensor(rows, dtype=torch.bool)
