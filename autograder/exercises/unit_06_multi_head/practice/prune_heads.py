"""Right answers to `prune_heads`, as others write them."""

import torch

from autograder.bank.practice import practice


def _prune_matrix(weight, index, dim):
    return weight.index_select(dim, index).clone()


@practice("Hugging Face transformers: prune_linear_layer")
def hf(W_Q, W_K, W_V, W_O, keep):
    n_heads = keep.shape[0]
    head_size = W_Q.shape[1] // n_heads
    mask = torch.ones(n_heads, head_size, device=keep.device)
    heads = {head for head in range(n_heads) if not keep[head]}
    for head in heads:
        mask[head] = 0
    mask = mask.view(-1).contiguous().eq(1)
    index = torch.arange(len(mask), device=W_Q.device)[mask].long()
    return (
        _prune_matrix(W_Q, index, 1),
        _prune_matrix(W_K, index, 1),
        _prune_matrix(W_V, index, 1),
        _prune_matrix(W_O, index, 0),
    )


@practice("a mask for each feature")
def features(W_Q, W_K, W_V, W_O, keep):
    mask = keep.repeat_interleave(W_O.shape[0] // keep.numel())
    return W_Q[:, mask], W_K[:, mask], W_V[:, mask], W_O[mask]


@practice("einops", needs="einops")
def lucidrains(W_Q, W_K, W_V, W_O, keep):
    from einops import rearrange

    h = keep.shape[0]
    kept = []
    for w in (W_Q, W_K, W_V):
        w = rearrange(w, "c (h d) -> c h d", h=h)[:, keep]
        kept.append(rearrange(w, "c h d -> c (h d)"))
    w_out = rearrange(W_O, "(h d) c -> h d c", h=h)[keep]
    return *kept, rearrange(w_out, "h d c -> (h d) c")


@practice("plain loops")
def loops(W_Q, W_K, W_V, W_O, keep):
    D_H = W_Q.shape[1] // len(keep)
    pieces = [[], [], [], []]
    for h, kept in enumerate(keep.tolist()):
        if kept:
            own = slice(h * D_H, (h + 1) * D_H)
            for piece, matrix in zip(pieces, (W_Q[:, own], W_K[:, own], W_V[:, own], W_O[own])):
                piece.append(matrix)
    Q, K, V, O = pieces
    return torch.cat(Q, dim=1), torch.cat(K, dim=1), torch.cat(V, dim=1), torch.cat(O, dim=0)


@practice("torch-pruning: indices of the heads that stay")
def indices(W_Q, W_K, W_V, W_O, keep):
    num_heads = keep.size(0)
    head_dim = W_O.size(0) // num_heads
    head_idxs = torch.nonzero(keep).flatten()
    idxs = (head_idxs[:, None] * head_dim + torch.arange(head_dim, device=keep.device)).flatten()
    new_q, new_k, new_v = (torch.index_select(w, 1, idxs) for w in (W_Q, W_K, W_V))
    return new_q, new_k, new_v, torch.index_select(W_O, 0, idxs)


@practice("minGPT: views")
def mingpt(W_Q, W_K, W_V, W_O, keep):
    C, width = W_Q.size()
    n_head = keep.size(0)
    hs = width // n_head
    q, k, v = [w.view(C, n_head, hs)[:, keep, :].reshape(C, -1) for w in (W_Q, W_K, W_V)]
    proj = W_O.view(n_head, hs, C)[keep].reshape(-1, C)
    return q, k, v, proj
