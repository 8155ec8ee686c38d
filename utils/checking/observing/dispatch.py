"""The kind of torch mode by which the checks observe and change operations."""

from torch.utils._python_dispatch import TorchDispatchMode


class DispatchMode(TorchDispatchMode):
    """A mode whose first operation does not import torch's compiler, which would take a second of a process's first check."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
