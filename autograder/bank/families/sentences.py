"""Draws sentences that end with [STOP], and holds the constants with which toy decoders that write such sentences are drawn."""

import numpy as np
from torch import Tensor

from utils.data.translation import PAD, STOP

SMALLEST_WORD = STOP + 1
TRIES = 3000  # decoders that are drawn before the search gives up
NEVER = -30.0  # the logit of a token that is never written


def sentences(B: int, T: int, V: int, rng: np.random.Generator, shortest: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Padded tokens [B, T] that end with STOP, and their lengths [B]: one is T long, and it is not the first."""
    lengths = np.full(B, T)
    if B > 1 and T > shortest:
        lengths = rng.integers(shortest, T, size=B)  # all shorter than T
        lengths[rng.integers(1, B)] = T  # but one, and not the first
    words = rng.integers(SMALLEST_WORD, V, size=(B, T))
    for row, length in zip(words, lengths):
        row[length - 1] = STOP
        row[length:] = PAD
    return words, lengths


def written(words: Tensor) -> Tensor:
    """The number of tokens in each row up to and with its [STOP]; all of them where there is none."""
    ended = (words == STOP).cumsum(-1) > 0
    return words.shape[-1] - ended.sum(-1) + ended.any(-1)
