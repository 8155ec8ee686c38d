"""What the exercises of unit 01 share: calls that would answer them, and drawn sentences."""

import numpy as np

from utils.data.translation import PAD, STOP

RECURRENT = ("rnn_tanh", "rnn_relu", "gru", "lstm")
SMALLEST_WORD = STOP + 1


def sentences(B: int, T: int, V: int, rng, shortest: int = 1) -> tuple[np.ndarray, np.ndarray]:
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
