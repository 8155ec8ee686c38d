"""What the exercises of unit 01 share: calls that would answer them, and toy decoders whose sentences end where they should."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from autograder.bank.families.sentences import NEVER, TRIES
from utils.checking import toy_models
from utils.checking.records import Helper
from utils.data.translation import PAD, START, STOP

RECURRENT = ("rnn_tanh", "rnn_relu", "gru", "lstm")


def draw_until(
    fits: Callable[[Helper, np.ndarray], bool], sizes: dict, rng, shape: tuple, stop: float, contrast: float = 1.0
) -> dict:
    """A decoder and states of the shape that fit: {"decoder": Helper, "s": array}. `stop` is added to the logit of [STOP];
    `contrast` multiplies all logits, so that likely and unlikely words lie further apart.

    Raises:
        RuntimeError: none of many draws fits.
    """
    D_H, V = sizes["D_H"], sizes["V"]
    for _ in range(TRIES):
        b = np.zeros(V)
        b[PAD] = b[START] = NEVER
        b[STOP] = stop
        arrays = {
            "E": rng.standard_normal((V, D_H)),
            "W": rng.standard_normal((D_H, D_H)) * 2 * D_H**-0.5,
            "U": rng.standard_normal((D_H, V)) * contrast * D_H**-0.5,
            "b": b,
        }
        decoder = Helper("ToyDecoder", {name: array.astype(np.float32) for name, array in arrays.items()})
        s = rng.standard_normal(shape).astype(np.float32)
        if fits(decoder, s):
            return {"decoder": decoder, "s": s}
    raise RuntimeError(f"no toy decoder of {sizes} fits")


def built(decoder: Helper) -> toy_models.ToyDecoder:
    """The decoder, to be run, without a limit."""
    return toy_models.build(replace(decoder, limit=0), torch.from_numpy)
