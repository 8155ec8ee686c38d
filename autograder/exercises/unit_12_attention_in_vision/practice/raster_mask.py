"""Right answers to `raster_mask`, as others write them."""

import numpy as np
import torch

from autograder.bank.practice import practice


@practice("flex_attention")
def flex(rows, columns, reach):
    def get_x_y(idx):
        return idx // columns, idx % columns

    def causal(q_idx, kv_idx):
        return q_idx >= kv_idx

    def natten(q_idx, kv_idx):
        q_x, q_y = get_x_y(q_idx)
        kv_x, kv_y = get_x_y(kv_idx)
        return ((q_x - kv_x).abs() <= reach) & ((q_y - kv_y).abs() <= reach)

    idx = torch.arange(rows * columns)
    return causal(idx[:, None], idx[None, :]) & natten(idx[:, None], idx[None, :])


@practice("nanoGPT")
def nano(rows, columns, reach):
    block_size = rows * columns
    mask = torch.tril(torch.ones(block_size, block_size))
    pos = torch.arange(block_size)
    row, col = torch.div(pos, columns, rounding_mode="floor"), torch.remainder(pos, columns)
    mask = mask.masked_fill((row.view(-1, 1) - row.view(1, -1)) > reach, 0)
    mask = mask.masked_fill((col.view(-1, 1) - col.view(1, -1)).abs() > reach, 0)
    return mask == 1


@practice("Annotated Transformer")
def annotated(rows, columns, reach):
    "Mask out subsequent and distant positions."
    attn_shape = (rows * columns, rows * columns)
    subsequent_mask = np.triu(np.ones(attn_shape), k=1).astype("uint8")
    i, j = np.divmod(np.arange(rows * columns), columns)
    distance = np.maximum(np.abs(i[:, None] - i), np.abs(j[:, None] - j))
    return torch.from_numpy((subsequent_mask == 0) & (distance <= reach))


@practice("Swin")
def swin(rows, columns, reach):
    coords = torch.stack(torch.meshgrid([torch.arange(rows), torch.arange(columns)], indexing="ij"))
    coords_flatten = torch.flatten(coords, 1)
    relative_coords = coords_flatten[:, :, None] - coords_flatten[:, None, :]
    before = (relative_coords[0] > 0) | ((relative_coords[0] == 0) & (relative_coords[1] >= 0))
    return before & (relative_coords.abs().amax(0) <= reach)


@practice("plain loops")
def loops(rows, columns, reach):
    mask = torch.zeros(rows * columns, rows * columns, dtype=torch.bool)
    for r in range(rows):
        for c in range(columns):
            for above in range(reach + 1):
                for j in range(c - reach, c + reach + 1):
                    i = r - above
                    if i < 0 or j < 0 or j >= columns or (above == 0 and j > c):
                        continue
                    mask[r * columns + c, i * columns + j] = True
    return mask
