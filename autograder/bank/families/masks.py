"""Masks to draw, for exercises on attention that hides something."""

import numpy as np


def random_mask(shape: tuple, rng: np.random.Generator) -> np.ndarray:
    """True and False at random; the last axis is never False all through, and seldom True all through."""
    mask = rng.random(shape) < 0.6
    flat = mask.reshape(-1, shape[-1])
    for row in flat:
        row[rng.integers(shape[-1])] = True
        if row.all():
            row[rng.integers(shape[-1])] = shape[-1] == 1
    return flat.reshape(shape)
