"""Right answers to `unpatchify`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("MAE")
def mae(patches, rows, P):
    x, p, h = patches, P, rows
    w = x.shape[1] // h
    c = x.shape[2] // p**2
    x = x.reshape(shape=(x.shape[0], h, w, c, p, p))
    x = torch.einsum("nhwcpq->nchpwq", x)
    return x.reshape(shape=(x.shape[0], c, h * p, w * p))


@practice("einops", needs="einops")
def lucidrains(patches, rows, P):
    from einops import rearrange

    return rearrange(patches, "b (h w) (c p1 p2) -> b c (h p1) (w p2)", h=rows, p1=P, p2=P)


@practice("permute, contiguous and view")
def views(patches, rows, P):
    B, N, dim = patches.size()
    columns, C = N // rows, dim // (P * P)
    x = patches.contiguous().view(B, rows, columns, C, P, P)
    return x.permute(0, 3, 1, 4, 2, 5).contiguous().view(B, C, rows * P, columns * P)


@practice("plain loops, written into zeros")
def loops(patches, rows, P):
    B, N, size = patches.shape
    columns, C = N // rows, size // (P * P)
    images = torch.zeros(B, C, rows * P, columns * P, dtype=patches.dtype, device=patches.device)
    for n in range(N):
        r, s = divmod(n, columns)
        images[:, :, r * P : (r + 1) * P, s * P : (s + 1) * P] = patches[:, n].reshape(B, C, P, P)
    return images


@practice("rows of patches, side by side")
def cat(patches, rows, P):
    grid = [[p.unflatten(1, (-1, P, P)) for p in row.unbind(1)] for row in patches.chunk(rows, dim=1)]
    return torch.cat([torch.cat(row, dim=-1) for row in grid], dim=-2)


@practice("transposes, one pair of axes at a time")
def transposes(patches, rows, P):
    x = patches.unflatten(-1, (-1, P, P)).unflatten(1, (rows, -1))
    x = x.movedim(3, 1)
    x = x.transpose(3, 4)
    return x.flatten(4, 5).flatten(2, 3)
