"""What the exercises of unit 09 share: cases of normalisations and their wrong axes; a router's logits as they are drawn."""

import numpy as np

from autograder.bank.declaration import Case, Exercise
from autograder.bank.families.logits import apart

RIGHT = "{Name} treats each position by itself, over its D features: dim=-1."
TOGETHER = (
    f"{{Means}} taken over the last two axes, positions and features together. {RIGHT} Otherwise a token would change when"
    " another one is added to the sequence."
)
AXES = {  # name: the axes, and the sentence
    "over_everything": (
        lambda X: tuple(range(X.ndim)),
        f"{{Means}} taken over all numbers of X. {RIGHT} What comes out for one position must not depend on the others.",
    ),
    "over_each_sequence": (lambda X: (-2, -1), TOGETHER),
    "over_each_sequence_if_there_is_one": (lambda X: tuple(range(-min(2, X.ndim), 0)), TOGETHER),
    "over_axes_one_and_two": (
        lambda X: (1, 2),
        "dim=(1, 2) takes in positions and features together where there is one batch axis, and does not exist in X [N, D]."
        f" {RIGHT}",
    ),
    "over_the_positions": (
        lambda X: -2,
        f"{{Means}} taken over the last axis but one, the positions, for each feature by itself. {RIGHT}",
    ),
    "over_the_first_axis": (
        lambda X: 0,
        "{Means} taken over the first axis: the batch in X [B, N, D], the positions in X [N, D]. Batch normalisation looks across"
        f" examples. {RIGHT}",
    ),
    "over_the_first_two_axes": (
        lambda X: (0, 1),
        "{Means} taken over the first two axes, in X [B, N, D] for each feature over the whole batch. Batch normalisation looks"
        f" across examples. {RIGHT}",
    ),
    "over_axis_one": (
        lambda X: 1,
        "dim=1 is the axis of the features only in X [N, D]. With a batch axis in front it is another one. The features are"
        " always the last axis: dim=-1.",
    ),
}


def declare_wrong_axes(exercise: Exercise, normalise, name: str, means: str) -> None:
    """Registers the mistakes of AXES.

    Args:
        normalise: takes the exercise's arguments and `dim`.
        name: of the normalisation, as a sentence begins with it.
        means: the beginning of a sentence, "Mean and variance were".
    """
    for mistake, (axes, sentence) in AXES.items():

        def made(X, *others, axes=axes):
            return normalise(X, *others, dim=axes(X))

        made.__name__, made.__doc__ = mistake, sentence.format(Name=name, Means=means)
        exercise.misconception(made)


def case(text: str, axes: str, eps: float, **more) -> Case:
    """A case of a normalisation with these axes in front of the features."""
    return Case(text, expand={"*S": axes}, values={"eps": eps}, **more)


def one_large(inputs: dict, rng) -> None:
    """At each position one feature is far larger than the others: normalised, it reaches nearly the root of D."""
    X = inputs["X"]
    X[..., rng.integers(X.shape[-1])] *= 1000


def all_large(inputs: dict, rng) -> None:
    """All features so large that their squares are finite, and the squares of these are not."""
    inputs["X"] *= 1e12


def small_spread(inputs: dict, rng) -> None:
    """At one position all numbers are small."""
    inputs["X"][0, 1] *= 1e-4


def off_zero(inputs: dict, rng) -> None:
    """A mean that differs from 0: of a few numbers it might be 0 by chance."""
    inputs["X"] += 1


def far_apart(inputs: dict, rng) -> None:
    """The largest logit of each token lies so far above the others that their probabilities are all 0 after rounding."""
    logits = inputs["logits"]
    np.put_along_axis(logits, logits.argmax(axis=-1, keepdims=True), 2000.0, axis=-1)


def drawn_apart(inputs: dict, sizes: dict, rng) -> dict:
    """The `draws` of an exercise whose input is called logits. Experts differ in how much they are liked."""
    noise = inputs["logits"]
    return {"logits": apart(noise + rng.standard_normal(noise.shape[-1]), rng)}
