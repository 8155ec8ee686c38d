"""Vectors of pictures and captions for drawn cases: of length 1, and of pairs that are somewhat alike."""

import numpy as np

OF_DIRECTIONS = {  # what is not asked of cosines
    "zero": "a vector of zeros has no direction",
    "spread": "beside the largest entry of a vector small ones do not count",
    "scale": "a loop over all pairs is right, and would take long",
}


def unit(values: np.ndarray) -> np.ndarray:
    """The vectors along the last axis, each divided by its length."""
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def pairs(inputs, sizes, rng):
    """Texts that are partly like their pictures, which are all somewhat alike, so that rows and columns of the scores differ."""
    images = inputs["images"] + rng.standard_normal(sizes["D"])
    texts = 0.6 * images + inputs["texts"]
    return {"images": images.astype(inputs["images"].dtype), "texts": texts.astype(inputs["texts"].dtype)}


def unit_pairs(inputs, sizes, rng):
    """Vectors of length 1, those of a pair somewhat alike: of both encoders, and of what their slow copies made."""
    mixed = {"texts": ("images", 0.6), "momentum_images": ("images", 2.0), "momentum_texts": ("texts", 2.0)}
    made = {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
    for name, (source, share) in mixed.items():
        made[name] = share * made[source] + made[name]
    return {name: unit(values).astype(inputs[name].dtype) for name, values in made.items()}
