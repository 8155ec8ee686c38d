"""Logits for which it is clear which tokens stay: rounding decides nothing, in bfloat16 either."""

import numpy as np

LEAST, MORE = 0.16, 0.32  # the least distance of two logits of a row, and what comes on top of it on average
NEGATIVE = 0.4  # the share of rows whose logits are all below 0, so that a 0 in their place would be the largest
CLEAR = 0.045  # how far from p every sum of probabilities stays; bfloat16 moves one by about 0.01
MANY, CLEAR_OF_MANY = 8, 0.005  # where more than so many tokens stay their sums lie closer together
SCALED, CLEAR_SCALED = (30.0, 100.0, 300.0), 0.01  # the same where a condition makes the logits so many times larger


def far_from(p: float, logits: np.ndarray, temperature: float, k: int) -> np.ndarray:
    """For each row, how far from p the nearest sum of fewer than k probabilities lies (all k sum to 1)."""
    largest = -np.sort(-logits.astype(np.float64), axis=-1)[..., :k] / temperature
    powers = np.exp(largest - largest[..., :1])
    sums = np.cumsum(powers, axis=-1)[..., :-1] / powers.sum(axis=-1, keepdims=True)
    return np.abs(sums - p).min(axis=-1, initial=np.inf)


def _rows(count: int, V: int, rng) -> np.ndarray:
    values = np.cumsum(LEAST + rng.exponential(MORE, (count, V)), axis=-1)
    middle, top = values.mean(axis=-1, keepdims=True), values[:, -1:] + LEAST
    values -= np.where(rng.random((count, 1)) < NEGATIVE, top, middle)
    return rng.permuted(values, axis=-1)


def drawn_clear(inputs: dict, sizes: dict, rng) -> dict:
    """Rows of logits, each of them drawn anew until all sums of its probabilities stay away from p."""
    shape, (temperature, k, p) = inputs["logits"].shape, (inputs[name] for name in ("temperature", "k", "p"))
    rows = _rows(int(np.prod(shape[:-1])), shape[-1], rng)
    apart = CLEAR if k <= MANY else CLEAR_OF_MANY
    while True:
        close = far_from(p, rows, temperature, k) < apart
        for factor in SCALED:
            close |= far_from(p, rows * factor, temperature, k) < CLEAR_SCALED
        if not close.any():
            return {"logits": rows.reshape(shape).astype(np.float32)}
        rows[close] = _rows(int(close.sum()), shape[-1], rng)


def far_apart(inputs: dict, rng) -> None:
    """The largest logit of each row lies so far above the others that their probabilities are all 0 after rounding."""
    logits = inputs["logits"]
    np.put_along_axis(logits, logits.argmax(axis=-1, keepdims=True), 2000.0, axis=-1)


def one_is_zero(inputs: dict, rng) -> None:
    """The second largest logit of each row becomes exactly 0, and all others move along with it."""
    logits = inputs["logits"]
    logits -= np.sort(logits, axis=-1)[..., -2:-1]


def close_at_the_top(inputs: dict, rng) -> None:
    """The largest logits of each row lie so close together that a low temperature, too, leaves three tokens to choose from."""
    logits = inputs["logits"]
    order = np.argsort(-logits, axis=-1)
    steps = inputs["temperature"] * np.array([0.0, -0.5, -1.5, -5.0])  # probabilities of .54, .33, .12 and .004
    largest = logits.max(axis=-1, keepdims=True)
    np.put_along_axis(logits, order[..., :4], (largest + steps).astype(np.float32), axis=-1)
    np.put_along_axis(
        logits, order[..., 4:], np.minimum(np.take_along_axis(logits, order[..., 4:], -1), largest - 0.6), -1
    )


def enlarged(inputs: dict, rng) -> None:
    """Logits a hundred times as large, so that without the temperature all but one would have no probability at all."""
    inputs["logits"] *= 100.0


def many(inputs: dict, rng) -> None:
    """Logits side by side, so that a few hundred tokens stay; p lies in the middle between two sums of probabilities."""
    logits, temperature, k = inputs["logits"], inputs["temperature"], inputs["k"]
    logits[:] = rng.permuted(np.broadcast_to(np.linspace(-3.0, 2.0, logits.shape[-1]), logits.shape), axis=-1)
    powers = np.exp(-np.sort(-logits[0].astype(np.float64))[:k] / temperature)
    sums = np.cumsum(powers) / powers.sum()
    last = int(np.searchsorted(sums, inputs["p"]))
    inputs["p"] = float(sums[last - 1 : last + 1].mean())
