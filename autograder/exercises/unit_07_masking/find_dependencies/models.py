"""Small attention models whose outputs depend on known inputs, each of them drawn for the shape of X."""

import numpy as np

from utils.checking.records import Helper

WIDTH, OUTPUTS = 6, 4  # features inside of a model, and of an output
CALM = 0.2  # of queries and keys, so that no softmax saturates where numbers are of a wide spread
FAINT = 1e-14  # far below rounding, and its square can still be written in single precision


def causal(N, rng):
    return np.tri(N, dtype=bool)


def off_by_one(N, rng):
    return np.tri(N, k=1, dtype=bool)


def window(N, rng):
    """Each position attends to itself and to the one before."""
    return causal(N, rng) & ~np.tri(N, k=-2, dtype=bool)


def strictly_past(N, rng):
    """No position attends to itself, and so the first one to nothing."""
    return np.tri(N, k=-1, dtype=bool)


def scattered(N, rng):
    """Any pairs; in each row at least one is missing."""
    mask = rng.random((N, N)) < 0.5
    mask[np.arange(N), (np.arange(N) + 1) % N] = N < 2
    return mask


def taking(mask, layers=1, change=None, size=0.5, **shares):
    """An edit that puts a model in place: `layers` attention layers under a mask.

    Args:
        mask: gives, for N and a random generator, who may attend to whom.
        change: changes the model's arrays in place, given them and the random generator.
        size: of queries and keys.
        shares: of what a layer passes on: its `own` input, and what it has `attended` to; 1 each.
    """

    def edit(inputs, rng):
        *_, N, D = inputs["X"].shape
        shapes = {"P": (D, WIDTH), "W": (layers, WIDTH, 3 * WIDTH), "U": (WIDTH, OUTPUTS)}
        arrays = {
            name: (rng.standard_normal(shape) * shape[-2] ** -0.5).astype("float32") for name, shape in shapes.items()
        }
        arrays["W"][..., : 2 * WIDTH] *= np.float32(size)
        arrays["shares"] = np.array([shares.get("own", 1), shares.get("attended", 1)], dtype="float32")
        arrays["mask"] = mask(N, rng)
        if change:
            change(arrays, rng)
        inputs["model"] = Helper("ToyMaskedModel", arrays)

    return edit


def with_padding(mask):
    """The same, for sequences of different length: behind the end of each its vectors are 0."""
    place = taking(mask)

    def edit(inputs, rng):
        place(inputs, rng)
        sequences = inputs["X"].reshape(-1, *inputs["X"].shape[-2:])
        for sequence, length in zip(sequences, 2 + rng.permutation(len(sequences))):
            sequence[length:] = 0

    return edit


def opposite_outputs(arrays, rng):
    """Each second feature of an output is the one before with the opposite sign, so that their sum is always 0.

    Products with powers of 2 are not rounded, so that what cancels leaves nothing.
    """
    arrays["U"] = np.sign(arrays["U"]) * rng.choice([0.25, 0.5, 1.0], arrays["U"].shape).astype("float32")
    arrays["U"][:, 1::2] = -arrays["U"][:, ::2]


def opposite_inputs(arrays, rng):
    """The features of an input count by their differences in pairs, so that its derivatives have the sum 0."""
    arrays["P"][1::2] = -arrays["P"][::2]


def idle_at_the_edge(arrays, rng):
    """The first and the last feature of an input do not count; between the first and the last of an output all are 0."""
    arrays["P"][[0, -1]] = 0
    arrays["U"][:, 1:-1] = 0


def constant_at_the_edge(arrays, rng):
    """The first and the last feature of an output are 0; between the first and the last of an input none counts."""
    arrays["P"][1:-1] = 0
    arrays["U"][:, [0, -1]] = 0


def single_output(arrays, rng):
    arrays["U"] = arrays["U"][:, :1]


def mixed_before(arrays, rng):
    """Before the layers each position is given a share of the one behind it."""
    N = len(arrays["mask"])
    arrays["M"] = (np.eye(N) + np.eye(N, k=1) * rng.uniform(0.5, 1, (N, N))).astype("float32")
