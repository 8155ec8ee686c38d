"""How close numbers must be: by type and device, for judging and for the words about it."""

import numpy as np

from utils.records import Observation

_RELATIVE = {"torch.float64": 1e-8, "torch.float32": 1e-5, "torch.bfloat16": 2e-2, "torch.float16": 2e-3}
_ELSEWHERE = 1e-4  # accelerators add in another order


def tolerance(*observations: Observation) -> float:
    """The relative tolerance that the coarsest output's type and device ask for."""
    found = [_RELATIVE.get(output.dtype, 1e-5) for seen in observations for output in seen.outputs] or [1e-5]
    return max(*found, _ELSEWHERE if any(seen.device != "cpu" for seen in observations) else 0.0)


def close(got: np.ndarray, expected: np.ndarray, relative: float) -> np.ndarray:
    """Elementwise closeness, relative to the larger of 1 and the expected size; equal infinities and NaNs agree."""
    return np.isclose(got, expected, rtol=relative, atol=relative, equal_nan=True)
