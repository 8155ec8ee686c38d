"""Right answers to `packed_mask`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("a plain first answer")
def plain(documents):
    N = documents.shape[1]
    same = documents[:, :, None] == documents[:, None, :]
    causal = torch.ones(N, N, dtype=torch.bool, device=documents.device).tril()
    token = documents != 0
    allowed = same & causal & token[:, :, None]
    positions = (allowed.sum(dim=-1) - 1).clamp(min=0)
    return allowed[:, None], positions


@practice("FlexAttention's mask_mod")
def flex(documents):
    B, S = documents.shape

    def mask_mod(b, q_idx, kv_idx):
        causal_mask = q_idx >= kv_idx
        document_mask = documents[b, q_idx] == documents[b, kv_idx]
        return causal_mask & document_mask & (documents[b, q_idx] > 0)

    device = documents.device
    b = torch.arange(B, device=device)[:, None, None]
    idx = torch.arange(S, device=device)
    mask = mask_mod(b, idx[None, :, None], idx[None, None, :]).unsqueeze(1)
    is_start = torch.ones_like(documents, dtype=torch.bool)
    is_start[:, 1:] = documents[:, 1:] != documents[:, :-1]
    starts = torch.where(is_start, idx, 0).cummax(dim=-1).values
    position_ids = (idx - starts).masked_fill(documents == 0, 0)
    return mask, position_ids


@practice("FlashAttention's cu_seqlens, in loops")
def cu_seqlens(documents):
    B, N = documents.shape
    mask = torch.zeros(B, 1, N, N, dtype=torch.bool, device=documents.device)
    positions = torch.zeros(B, N, dtype=torch.long, device=documents.device)
    for b in range(B):
        row = documents[b]
        row = row[row > 0]
        _, seqlens = torch.unique_consecutive(row, return_counts=True)
        cu = F.pad(seqlens.cumsum(0), (1, 0)).tolist()
        for start, end in zip(cu[:-1], cu[1:]):
            n = end - start
            mask[b, 0, start:end, start:end] = torch.tril(torch.ones(n, n, dtype=torch.bool, device=row.device))
            positions[b, start:end] = torch.arange(n, device=row.device)
    return mask, positions


@practice("einops", needs="einops")
def lucidrains(documents):
    from einops import rearrange

    n, device = documents.shape[-1], documents.device
    q_ids, k_ids = rearrange(documents, "b i -> b 1 i 1"), rearrange(documents, "b j -> b 1 1 j")
    seq = torch.arange(n, device=device)
    causal = rearrange(seq, "i -> i 1") >= rearrange(seq, "j -> 1 j")
    mask = (q_ids == k_ids) & (q_ids != 0) & (k_ids != 0) & causal
    before = mask & (rearrange(seq, "i -> i 1") != seq)
    positions = before.long().sum(dim=(1, 3))
    return mask, positions


@practice("plain loops")
def loops(documents):
    masks, positions = [], []
    for row in documents.tolist():
        masks.append([[row[m] == row[n] != 0 and n <= m for n in range(len(row))] for m in range(len(row))])
        positions.append([row[:n].count(d) if d else 0 for n, d in enumerate(row)])
    mask = torch.tensor(masks, dtype=torch.bool, device=documents.device)
    return mask.unsqueeze(1), torch.tensor(positions, dtype=torch.int64, device=documents.device)


@practice("counting with one-hot vectors")
def counted(documents):
    hot = F.one_hot(documents.long())[..., 1:]
    together = torch.einsum("bmd,bnd->bmn", hot.float(), hot.float()) > 0
    mask = together.tril().unsqueeze(1)
    positions = ((hot.cumsum(dim=1) - 1) * hot).sum(dim=-1)
    return mask, positions
