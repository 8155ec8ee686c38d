"""What the exercises of unit 02 share: padding masks and batch axes of several kinds."""

import numpy as np

from autograder.bank.declaration import Case
from autograder.bank.families.attention import SMALL


def score_cases(**more) -> list[Case]:
    """Cases of scores between states: a sentence, batches, single states."""
    return [
        Case("one sentence", expand={"*B": ""}, **more),
        Case("a batch of sentences", expand={"*B": "B"}, **more),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL, **more),
        Case("a batch of one", expand={"*B": "B"}, sizes={"B": 1}, **more),
        Case("a single decoder state", expand={"*B": "B"}, sizes={"T_y": 1}, **more),
    ]


def padding_mask(shape: tuple, rng) -> np.ndarray:
    """True at tokens, False at the padding behind them, along the last axis; of several rows one has no padding."""
    rows, T = int(np.prod(shape[:-1])), shape[-1]
    lengths = rng.integers(2, T, size=rows) if T > 2 else np.full(rows, T)
    if rows > 1:
        lengths[rng.integers(1, rows)] = T
    return (np.arange(T) < lengths[:, None]).reshape(shape)
