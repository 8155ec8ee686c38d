"""Networks without training whose layers have names, for functions that change networks; and adapters for their layers."""

from typing import Any

import torch
from torch import Tensor, nn


def shape_or_type(value: object) -> str:
    """What a sentence says that came: a tensor's shape, of anything else its type."""
    return str(list(value.shape)) if isinstance(value, Tensor) else type(value).__name__


class ToyLayer:
    """A layer without training: `layer(X)` mixes the vectors of each sequence.

    Args:
        W: from the vectors' features to those of the outputs, [D, D_V].
        M: how much each place gets from each other one, [N, N].
        limit: is not looked at.

    Calling it with X [B, N, D] gives [B, N, D_V].

    Raises:
        ValueError: X is no batch of sequences of N vectors.
    """

    def __init__(self, W: Tensor, M: Tensor, limit: int = 0):
        self.W, self.M = W, M

    def __call__(self, X: Tensor) -> Tensor:
        if not isinstance(X, Tensor) or X.ndim != 3 or X.shape[1] != len(self.M):
            shape = list(X.shape) if isinstance(X, Tensor) else type(X).__name__
            raise ValueError(
                f"this layer takes a batch of sequences, X [B, {len(self.M)}, {len(self.W)}]; it was given {shape}"
            )
        return self.M @ X @ self.W  # [N, N] @ [B, N, D] @ [D, D_V]


class ToyMaskedModel:
    """Attention layers under a mask, without training: `model(X)` gives an output for each position of a sequence.

    Args:
        P: from the vectors' features to those of the layers, [D, E].
        W: for each layer from vectors to queries, keys and values side by side, [L, E, 3*E].
        mask: True where a position may attend, [N, N].
        U: from the last layer's vectors to the outputs, [E, D_V].
        shares: how much of its input, and of what it attends to, a layer passes on, [2].
        M: how much each position has of each other one before the first layer, [N, N]; None where it has itself alone.
        limit: is not looked at.

    Calling it with X [*B, N, D] gives Y [*B, N, D_V]. A position whose vector is 0 is padding: no position attends to it. A
    position that may attend to nothing is given 0.

    Raises:
        ValueError: X holds no sequences of N vectors.
    """

    def __init__(
        self, P: Tensor, W: Tensor, mask: Tensor, U: Tensor, shares: Tensor, M: Tensor | None = None, limit: int = 0
    ):
        self.P, self.W, self.mask, self.U, self.shares, self.M = P, W, mask, U, shares, M

    def __call__(self, X: Tensor) -> Tensor:
        fits = (len(self.mask), len(self.P))
        if not isinstance(X, Tensor) or tuple(X.shape[-2:]) != fits:
            raise ValueError(f"this model takes X [*B, {fits[0]}, {fits[1]}]; it was given {shape_or_type(X)}")
        hidden = ~self.mask | (X == 0).all(dim=-1)[..., None, :]  # [*B, N, N]
        empty = hidden.all(dim=-1, keepdim=True)  # [*B, N, 1]
        Z = X @ self.P if self.M is None else self.M @ X @ self.P  # [*B, N, E]
        for W in self.W:
            Q, K, V = (Z @ W).chunk(3, dim=-1)
            E = (Q @ K.mT * Q.shape[-1] ** -0.5).masked_fill(hidden, -torch.inf).masked_fill(empty, 0.0)
            Z = self.shares[0] * Z + self.shares[1] * (E.softmax(dim=-1).masked_fill(empty, 0.0) @ V)
        return Z @ self.U


class ToyNetwork(nn.Module):
    """A network without training, of layers that have names: `blocks.0.attention.query` … `blocks.1.mlp.down`, and `head`.

    Args:
        X: what it is asked with when it comes back, [N, D].
        W: weights of the linear layers of each block, [L, 8, D, D]; `LAYERS` has their names in this order.
        b: their biases, [L, 8, D].
        g: the weight of each block's norm, [L, D].
        head: of the last layer, [V, D].
        limit: is not looked at.

    `network(X)` with X [N, D] gives [N, V]; a function that returns the network is judged by this, and by which parameters learn.
    """

    LAYERS = {"attention": ("query", "key", "value", "output", "output_gate"), "mlp": ("gate", "up", "down")}

    def __init__(self, X: Tensor, W: Tensor, b: Tensor, g: Tensor, head: Tensor, limit: int = 0):
        super().__init__()
        self._X = X
        self.blocks = nn.ModuleList(_ToyBlock(*block) for block in zip(W, b, g))
        self.head = _linear(head, torch.zeros_like(head[:, 0]))

    def forward(self, X: Tensor) -> Tensor:
        for block in self.blocks:
            X = block(X)
        return self.head(X)

    def answer(self) -> Tensor:
        """What the network makes of the vectors that it was built with, [N, V]."""
        return self(self._X)


class ToyTower(ToyNetwork):
    """A network like ToyNetwork, built in another way: a sequence of blocks, and parameters that belong to no layer.

    The linear layers of a block are `tower.1.mix.wq`, wk, wv, wo and wo_gate, and `tower.1.steps.1`, 3 and 4; the last layer of
    all has the number behind those of the blocks.
    """

    LAYERS = {"mix": ("wq", "wk", "wv", "wo", "wo_gate")}

    def __init__(self, X: Tensor, W: Tensor, b: Tensor, g: Tensor, head: Tensor, limit: int = 0):
        nn.Module.__init__(self)
        self._X, self.offset = X, nn.Parameter(g[0].clone())
        blocks = [_TowerBlock(*block) for block in zip(W, b, g)]
        self.tower = nn.Sequential(nn.Identity(), *blocks, _linear(head, torch.zeros_like(head[:, 0])))

    def forward(self, X: Tensor) -> Tensor:
        return self.tower(X + self.offset)


class _TowerBlock(nn.Module):
    """Linear layers, some with names and some with numbers, and a factor for each feature of what they give."""

    mix: Any  # a module of the layers that `ToyTower.LAYERS` names

    def __init__(self, W: Tensor, b: Tensor, g: Tensor):
        super().__init__()
        layers = [_linear(*layer) for layer in zip(W, b)]
        self.mix, self.gain = nn.Module(), nn.Parameter(g)
        for name, layer in zip(ToyTower.LAYERS["mix"], layers):
            self.mix.add_module(name, layer)
        self.steps = nn.Sequential(nn.Tanh(), layers[5], nn.Tanh(), layers[6], layers[7])

    def forward(self, X: Tensor) -> Tensor:
        mix = self.mix
        gate = torch.tanh(mix.wq(X)) * torch.tanh(mix.wk(X)) + mix.wv(X)
        return self.gain * self.steps(X + torch.tanh(mix.wo_gate(X)) * mix.wo(gate))


class _RMSNorm(nn.Module):
    """nn.RMSNorm, which torch has from version 2.4 on, and Macs with an Intel processor have not."""

    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, X: Tensor) -> Tensor:
        return X * (X.square().mean(dim=-1, keepdim=True) + torch.finfo(X.dtype).eps).rsqrt() * self.weight


class _ToyBlock(nn.Module):
    """Linear layers with names, in two parts, behind a norm. The name of one, output_gate, holds the names of two others."""

    attention: nn.ModuleDict
    mlp: nn.ModuleDict

    def __init__(self, W: Tensor, b: Tensor, g: Tensor):
        super().__init__()
        self.norm = getattr(nn, "RMSNorm", _RMSNorm)(len(g))
        self.norm.weight = nn.Parameter(g)
        layers = map(_linear, W, b)
        for part, names in ToyNetwork.LAYERS.items():
            self.add_module(part, nn.ModuleDict({name: next(layers) for name in names}))

    def forward(self, X: Tensor) -> Tensor:
        layers, mlp, normed = self.attention, self.mlp, self.norm(X)
        mixed = torch.tanh(layers["query"](normed)) * torch.tanh(layers["key"](normed)) + layers["value"](normed)
        X = X + torch.tanh(layers["output_gate"](normed)) * layers["output"](mixed)
        return X + mlp["down"](torch.tanh(mlp["gate"](X)) * mlp["up"](X))


def _linear(W: Tensor, b: Tensor) -> nn.Linear:
    """A linear layer with these weights; to draw others first, and throw them away, would take most of the time."""
    layer = nn.Linear.__new__(nn.Linear)
    nn.Module.__init__(layer)
    layer.out_features, layer.in_features = W.shape
    layer.weight, layer.bias = nn.Parameter(W), nn.Parameter(b)
    return layer


class ToyAdapter:
    """Makes adapted layers: `adapter(layer)` takes an nn.Linear and gives a layer in its place, with a factor for each output.

    The layer's outputs are multiplied by the factors, which are to be learned, as in (IA)³ (Liu et al., 2022).

    Args:
        gains: the factors that a layer of D outputs begins with are the first D of these, [D].
        limit: is not looked at.

    Raises:
        TypeError: what is to be adapted is no linear layer.
        ValueError: the layer was adapted before; a call too many makes parameters that nobody trains.
    """

    def __init__(self, gains: Tensor, limit: int = 0):
        self.gains = gains
        self._adapted: list[nn.Linear] = []

    def __call__(self, layer: nn.Linear) -> nn.Module:
        return AdaptedLayer(layer, self._gains_of(layer))

    def _gains_of(self, layer: nn.Linear) -> Tensor:
        if not isinstance(layer, nn.Linear):
            raise TypeError(f"adapter(layer) takes an nn.Linear; what came is of type {type(layer).__name__}")
        if any(layer is adapted for adapted in self._adapted):
            raise ValueError("adapter(layer) was given the same layer twice; it is called once for each chosen layer")
        self._adapted.append(layer)
        return self.gains[: layer.out_features].clone()


class ToyShift(ToyAdapter):
    """Makes layers that add numbers to the outputs, in place of factors; what learns in them is called weight."""

    def __call__(self, layer: nn.Linear) -> nn.Module:
        return ShiftedLayer(layer, self._gains_of(layer).detach())


class ShiftedLayer(nn.Module):
    """A linear layer to whose outputs numbers are added that learn."""

    def __init__(self, layer: nn.Linear, shift: Tensor):
        super().__init__()
        self.inner, self.weight = layer, nn.Parameter(shift)

    def forward(self, X: Tensor) -> Tensor:
        return self.inner(X) + self.weight


class AdaptedLayer(nn.Module):
    """A linear layer whose outputs are multiplied by factors that learn."""

    def __init__(self, layer: nn.Linear, gains: Tensor):
        super().__init__()
        self.layer, self.gain = layer, nn.Parameter(gains)

    def forward(self, X: Tensor) -> Tensor:
        return self.gain * self.layer(X)
