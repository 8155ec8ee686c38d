"""Whatever a notebook's cells have set for all of torch, numpy and Python, a check is the same, and leaves it as it was."""

import warnings

import numpy as np
import pytest
import torch

SET = {
    "warnings are errors": "import warnings; warnings.simplefilter('error')",
    "numpy raises": "import numpy as np; np.seterr(all='raise')",
    "float64 by default": "import torch; torch.set_default_dtype(torch.float64)",
    "another device by default": "import torch; torch.set_default_device('meta')",
    "short products": "import torch; torch.set_float32_matmul_precision('medium')",
    "autocast": "import torch; torch.autocast('cpu', dtype=torch.bfloat16).__enter__()",
    "no gradients": "import torch; torch.set_grad_enabled(False)",
}
ANSWER = """
import torch, warnings
from torch import nn
from utils.check import check
class AttentionLayer(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K, self.W_V = nn.Linear(D_X, D_Q, bias=False), nn.Linear(D_X, D_V, bias=False)
    def forward(self, Q, X):
        warnings.warn("of a library")
        K, V = self.W_K(X), self.W_V(X)
        A = (Q @ K.mT / K.shape[-1] ** 0.5).softmax(-1)
        return A @ V, A
"""
STATE = """
print(torch.get_default_dtype(), torch.get_float32_matmul_precision(), torch.is_grad_enabled(), torch.get_default_device(),
      torch.is_autocast_enabled("cpu"), __import__("numpy").geterr(), warnings.filters[:1])
"""


@pytest.mark.parametrize("setting", SET)
def test_a_check_passes_and_leaves_what_was_set(setting, tmp_path):
    import subprocess
    import sys

    from conftest import ROOT

    code = f"{ANSWER}\n{SET[setting]}\n{STATE}\ncheck(AttentionLayer)\n{STATE}"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}
    )
    before, *said, after = ran.stdout.splitlines()
    assert ran.returncode == 0 and said[0].startswith("✓ AttentionLayer"), ran.stdout + ran.stderr
    assert before == after and ran.stderr == ""


def test_nothing_is_set_within_and_all_is_as_it_was_afterwards():
    from utils.checking.observing.surroundings import undisturbed

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = warnings.filters[:]
        with undisturbed():
            warnings.warn("seen by nobody", stacklevel=1)
            assert torch.get_default_dtype() == torch.float32 and np.float64(1) / np.float64(0) == np.inf
        assert warnings.filters == before


def test_a_compiled_answer_is_checked_as_it_stands():
    from utils.checking.observing.observe import observe
    from utils.checking.records import DrawnCase

    calls = []

    def double(x):
        calls.append(torch.compiler.is_compiling())
        return 2 * x

    case = DrawnCase("one", "result", {"x": np.ones(3, np.float32)})
    seen = observe(torch.compile(double), case)
    assert seen.failure is None and (seen.outputs[0].values == 2).all() and calls and not any(calls)
