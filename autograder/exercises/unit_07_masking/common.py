"""What the exercises of unit 07 share: masks to draw."""

import numpy as np


def random_mask(shape: tuple, rng) -> np.ndarray:
    """True and False at random; the last axis is never False all through, and seldom True all through."""
    mask = rng.random(shape) < 0.6
    flat = mask.reshape(-1, shape[-1])
    for row in flat:
        row[rng.integers(shape[-1])] = True
        if row.all():
            row[rng.integers(shape[-1])] = shape[-1] == 1
    return flat.reshape(shape)


def empty_rows(mask: np.ndarray, rng) -> np.ndarray:
    """The mask with one row in three without any True, at least one with and one without."""
    flat = mask.reshape(-1, mask.shape[-1])
    flat[rng.permutation(len(flat))[: max(1, len(flat) // 3)]] = False
    return flat.reshape(mask.shape)
