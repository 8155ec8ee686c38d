"""What the exercises of unit 14 share: boxes to draw, by their centres and sides."""

import numpy as np

SMALLEST, LARGEST = 0.08, 0.5  # sides of a box, of a picture whose sides are 1


def centred(rng, shape) -> np.ndarray:
    """Boxes (cx, cy, w, h) of positive area that lie within the picture."""
    sides = rng.uniform(SMALLEST, LARGEST, (*shape, 2))
    centres = rng.uniform(sides / 2, 1 - sides / 2)
    return np.concatenate([centres, sides], axis=-1).astype(np.float32)
