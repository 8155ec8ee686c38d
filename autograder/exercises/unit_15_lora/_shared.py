"""What the exercises on quantised blocks share: code books, and weights that are nearly halfway between no two codes."""

import numpy as np

NF4 = np.float32(
    "-1 -0.6961928009986877 -0.5250730514526367 -0.39491748809814453 -0.28444138169288635 -0.18477343022823334"
    " -0.09105003625154495 0 0.07958029955625534 0.16093020141124725 0.24611230194568634 0.33791524171829224"
    " 0.44070982933044434 0.5626170039176941 0.7229568362236023 1".split()
)
INTEGERS = np.arange(-8, 8, dtype=np.float32) / 8  # as signed integers of four bits stand for them
DOUBTFUL = 0.4  # of the way from one code to the next; whatever lies between this and 0.6 is moved


def drawn_code(rng):
    """16 ascending numbers from −1 to 1 at uneven distances, one of them 0."""
    negative = int(rng.choice([4, 5, 6, 9, 10]))  # NF4 has 7, signed integers 8
    below, above = (np.cumsum(rng.uniform(0.6, 1.4, count)) for count in (negative, 15 - negative))
    return np.concatenate([-below[::-1] / below[-1], [0], above / above[-1]]).astype(np.float32)


def apart(W, code, block):
    """The weights, of which those about halfway between two codes have become what the nearest code stands for.

    So no way of rounding takes one number for another.
    """
    blocks = np.pad(W.ravel().astype(np.float64), (0, -W.size % block)).reshape(-1, block)
    absmax = np.abs(blocks).max(axis=1, keepdims=True)
    scaled = blocks / np.where(absmax > 0, absmax, 1)
    distances = np.abs(scaled[..., None] - code)
    first, second = np.sort(distances, axis=-1)[..., :2].transpose(2, 0, 1)
    doubtful = (first > DOUBTFUL * (first + second)) & (np.abs(scaled) < 1)
    moved = np.where(doubtful, code[distances.argmin(axis=-1)] * absmax, blocks)
    return moved.ravel()[: W.size].reshape(W.shape).astype(np.float32)
