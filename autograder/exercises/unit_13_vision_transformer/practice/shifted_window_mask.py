"""Right answers to `shifted_window_mask`, as others write them."""

import torch

from autograder.bank.practice import practice


def window_partition(x, window_size):
    B, H, W, C = x.shape
    x = x.view(B, H // window_size, window_size, W // window_size, window_size, C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size, window_size, C)


@practice("Swin")
def swin(rows, columns, M, shift):
    H, W = rows, columns
    window_size, shift_size = M, shift
    if shift_size == 0:
        n = (H // M) * (W // M)
        return torch.ones(n, M * M, M * M, dtype=torch.bool)
    img_mask = torch.zeros((1, H, W, 1))
    h_slices = (slice(0, -window_size), slice(-window_size, -shift_size), slice(-shift_size, None))
    w_slices = (slice(0, -window_size), slice(-window_size, -shift_size), slice(-shift_size, None))
    cnt = 0
    for h in h_slices:
        for w in w_slices:
            img_mask[:, h, w, :] = cnt
            cnt += 1
    mask_windows = window_partition(img_mask, window_size)
    mask_windows = mask_windows.view(-1, window_size * window_size)
    attn_mask = mask_windows.unsqueeze(1) - mask_windows.unsqueeze(2)
    return attn_mask == 0


@practice("torchvision")
def torchvision_like(rows, columns, M, shift):
    region = torch.zeros((rows, columns), dtype=torch.long)
    slices = ((0, -M), (-M, -shift), (-shift, None)) if shift else ((0, None),)
    count = 0
    for h in slices:
        for w in slices:
            region[h[0] : h[1], w[0] : w[1]] = count
            count += 1
    num_windows = (rows // M) * (columns // M)
    region = region.view(rows // M, M, columns // M, M)
    region = region.permute(0, 2, 1, 3).reshape(num_windows, M * M)
    return region.unsqueeze(1).eq(region.unsqueeze(2))


@practice("einops", needs="einops")
def lucidrains(rows, columns, M, shift):
    from einops import rearrange

    def create_mask(upper_lower, left_right):
        mask = torch.ones(M, M, M, M, dtype=torch.bool)
        if upper_lower and shift > 0:
            mask[-shift:, :, :-shift, :] = False
            mask[:-shift, :, -shift:, :] = False
        if left_right and shift > 0:
            mask[:, -shift:, :, :-shift] = False
            mask[:, :-shift, :, -shift:] = False
        return rearrange(mask, "h1 w1 h2 w2 -> (h1 w1) (h2 w2)")

    nh, nw = rows // M, columns // M
    return torch.stack([create_mask(h == nh - 1, w == nw - 1) for h in range(nh) for w in range(nw)])


@practice("rolled coordinates")
def rolled(rows, columns, M, shift):
    i = torch.arange(rows).roll(-shift)
    j = torch.arange(columns).roll(-shift)
    wrapped = torch.stack(torch.meshgrid(i < shift, j < shift, indexing="ij"), dim=-1)
    windows = wrapped.unfold(0, M, M).unfold(1, M, M)
    windows = windows.permute(0, 1, 3, 4, 2).reshape(-1, M * M, 2)
    return (windows[:, :, None] == windows[:, None, :]).all(-1)


@practice("plain loops")
def loops(rows, columns, M, shift):
    masks = []
    for top in range(0, rows, M):
        for left in range(0, columns, M):
            cells = [(i, j) for i in range(top, top + M) for j in range(left, left + M)]
            sides = [(i >= rows - shift, j >= columns - shift) for i, j in cells]
            masks.append([[a == b for b in sides] for a in sides])
    return torch.tensor(masks)


@practice("an outer product of both axes")
def outer(rows, columns, M, shift):
    def same(length):
        wrapped = (torch.arange(length) >= length - shift).view(-1, M)
        return wrapped[:, :, None] == wrapped[:, None, :]

    mask = torch.einsum("rik,sjl->rsijkl", same(rows).int(), same(columns).int()).bool()
    return mask.reshape(-1, M * M, M * M)
