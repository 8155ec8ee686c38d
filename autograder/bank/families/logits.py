"""Draws logits of which no two are so close that rounding could decide which of them is larger."""

import numpy as np

# the share of tokens whose logits are all below 0, so that in their place neither 0 nor a −10⁹ stands for −∞
NEGATIVE = 0.4
LEAST, MORE = 0.2, 0.35  # the least distance of two logits of a token, and the mean of the random distance added to it


def apart(noise: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Logits in the order of size that `noise` has along its last axis, all of them well apart."""
    order = noise.argsort(axis=-1).argsort(axis=-1)
    values = np.cumsum(LEAST + rng.exponential(MORE, noise.shape), axis=-1)
    middle, top = values.mean(axis=-1, keepdims=True), values[..., -1:] + LEAST
    values -= np.where(rng.random(top.shape) < NEGATIVE, top, middle)
    return np.take_along_axis(values, order, axis=-1).astype(np.float32)
