"""What the exercises of unit 07 share: rows of a mask that see nothing."""

import numpy as np


def empty_rows(mask: np.ndarray, rng) -> np.ndarray:
    """The mask with one row in three without any True, at least one with and one without."""
    flat = mask.reshape(-1, mask.shape[-1])
    flat[rng.permutation(len(flat))[: max(1, len(flat) // 3)]] = False
    return flat.reshape(mask.shape)
