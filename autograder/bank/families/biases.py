"""Layers without the biases that were asked for."""

from torch import nn


def leave_out_biases(module: nn.Module) -> None:
    """Puts a layer without bias in the place of each of a module's."""
    for name, layer in list(module.named_children()):
        setattr(module, name, nn.Linear(layer.in_features, layer.out_features, bias=False))
