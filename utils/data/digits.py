"""scikit-learn's handwritten digits: 1,797 real images of 8 by 8 pixels, without a download."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

_MIDDLE = 4.9  # mean brightness, from 0 to 16
_GAIN = 1 / 6.0  # brings values to a standard deviation near 1


def digits() -> tuple[Float[Tensor, "1797 1 8 8"], Int[Tensor, "1797"]]:
    """The images, standardised, in the order of the set, and which digit each shows.

    Source: E. Alpaydin and C. Kaynak (1998), Optical recognition of handwritten digits, UCI Machine Learning Repository
    (CC BY 4.0); the copy in scikit-learn is its test set.
    """
    from sklearn.datasets import load_digits

    found = load_digits()
    images = torch.from_numpy(found.images).float().unsqueeze(1)  # [1797, 1, 8, 8]
    return (images - _MIDDLE) * _GAIN, torch.from_numpy(found.target)
