"""Right answers to `interpolate_positions`, as others write them."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("timm's resample_abs_pos_embed")
def timm_like(positions, rows, columns, new_rows, new_columns):
    posemb = positions.unsqueeze(0)
    posemb_prefix, posemb = posemb[:, :1], posemb[:, 1:]
    embed_dim = posemb.shape[-1]
    orig_dtype = posemb.dtype
    posemb = posemb.float()
    posemb = posemb.reshape(1, rows, columns, -1).permute(0, 3, 1, 2)
    posemb = F.interpolate(posemb, size=(new_rows, new_columns), mode="bilinear", antialias=False)
    posemb = posemb.permute(0, 2, 3, 1).reshape(1, -1, embed_dim)
    posemb = posemb.to(orig_dtype)
    return torch.cat([posemb_prefix, posemb], dim=1).squeeze(0)


@practice("DINO")
def dino(positions, rows, columns, new_rows, new_columns):
    if (rows, columns) == (new_rows, new_columns):
        return positions
    dim = positions.shape[-1]
    class_pos_embed = positions[:1]
    patch_pos_embed = positions[1:]
    patch_pos_embed = nn.functional.interpolate(
        patch_pos_embed.reshape(1, rows, columns, dim).permute(0, 3, 1, 2),
        size=(new_rows, new_columns),
        mode="bilinear",
        align_corners=False,
    )
    patch_pos_embed = patch_pos_embed.permute(0, 2, 3, 1).contiguous().view(-1, dim)
    return torch.cat((class_pos_embed, patch_pos_embed), dim=0)


@practice("einops", needs="einops")
def lucidrains(positions, rows, columns, new_rows, new_columns):
    from einops import pack, rearrange

    cls, grid = positions[0], positions[1:]
    grid = rearrange(grid, "(h w) d -> 1 d h w", h=rows, w=columns)
    grid = F.interpolate(grid, (new_rows, new_columns), mode="bilinear")
    grid = rearrange(grid, "1 d h w -> (h w) d")
    return pack([cls, grid], "* d")[0]


@practice("torchvision's interpolate_embeddings")
def torchvision_like(positions, rows, columns, new_rows, new_columns):
    pos_embedding_token = positions[:1, :]
    pos_embedding_img = positions[1:, :].t()
    hidden_dim = pos_embedding_img.shape[0]
    pos_embedding_img = pos_embedding_img.reshape(1, hidden_dim, rows, columns)
    new_pos_embedding_img = nn.functional.interpolate(
        pos_embedding_img, size=[new_rows, new_columns], mode="bilinear", align_corners=False
    )
    new_pos_embedding_img = new_pos_embedding_img.reshape(hidden_dim, new_rows * new_columns)
    return torch.cat([pos_embedding_token, new_pos_embedding_img.t()], dim=0)


@practice("matrices of weights")
def matrices(positions, rows, columns, new_rows, new_columns):
    def weights(old, new):
        W = np.zeros((new, old))
        for i in range(new):
            y = min(max((i + 0.5) * old / new - 0.5, 0), old - 1)
            low = int(np.floor(y))
            W[i, low] += 1 - (y - low)
            W[i, min(low + 1, old - 1)] += y - low
        return torch.from_numpy(W).to(positions)

    grid = positions[1:].reshape(rows, columns, -1)
    grid = torch.einsum("ir,js,rsd->ijd", weights(rows, new_rows), weights(columns, new_columns), grid)
    return torch.cat([positions[:1], grid.flatten(0, 1)])


@practice("four neighbours, by indexing")
def neighbours(positions, rows, columns, new_rows, new_columns):
    def place(old, new):
        y = (torch.arange(new, device=positions.device, dtype=torch.float64) + 0.5) * (old / new) - 0.5
        y = y.clamp(0, old - 1)
        low = y.floor().long()
        high = (low + 1).clamp(max=old - 1)
        return low, high, (y - low).to(positions.dtype)

    grid = positions[1:].reshape(rows, columns, positions.shape[1])
    top, bottom, dy = place(rows, new_rows)
    left, right, dx = place(columns, new_columns)
    dy, dx = dy[:, None, None], dx[None, :, None]
    upper = grid[top][:, left] * (1 - dx) + grid[top][:, right] * dx
    lower = grid[bottom][:, left] * (1 - dx) + grid[bottom][:, right] * dx
    new = upper * (1 - dy) + lower * dy
    return torch.cat([positions[0:1], new.reshape(-1, positions.shape[1])], 0)


@practice("plain loops")
def loops(positions, rows, columns, new_rows, new_columns):
    out = [positions[0]]
    for i in range(new_rows):
        y = min(max((i + 1 / 2) * rows / new_rows - 1 / 2, 0), rows - 1)
        for j in range(new_columns):
            x = min(max((j + 1 / 2) * columns / new_columns - 1 / 2, 0), columns - 1)
            total = torch.zeros_like(positions[0])
            for r in {math.floor(y), math.ceil(y)}:
                for s in {math.floor(x), math.ceil(x)}:
                    weight = (1 - abs(y - r)) * (1 - abs(x - s))
                    total = total + weight * positions[1 + r * columns + s]
            out.append(total)
    return torch.stack(out)
