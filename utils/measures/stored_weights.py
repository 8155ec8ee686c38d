"""Weights of a network that takes too long to train where a lesson is read: kept beside the stored runs."""

from pathlib import Path

import torch
from torch import nn

from utils.measures import stored_runs


def keep(name: str, module: nn.Module, half: bool = True) -> None:
    """Writes a module's weights under a name such as "17_multimodal_llms.reader"; the cell that trains it is in that lesson.

    Args:
        half: whether half precision will do; otherwise the weights come back as they are.
    """
    _file(name).parent.mkdir(exist_ok=True)
    torch.save({key: value.half() if half else value.cpu() for key, value in module.state_dict().items()}, _file(name))


def load(name: str, module: nn.Module) -> nn.Module:
    """The module with the weights that `keep` wrote under that name, in eval mode.

    Raises:
        FileNotFoundError: nothing is stored under it.
    """
    weights = torch.load(_file(name), weights_only=True, map_location="cpu")
    module.load_state_dict({key: value.float() for key, value in weights.items()})
    return module.eval()


def _file(name: str) -> Path:
    return stored_runs._FOLDER / f"{name}.pt"
