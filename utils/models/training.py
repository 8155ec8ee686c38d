"""The training loop of the lessons: Adam, a learning rate that rises and falls, clipped gradients, and the curve."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from utils.figures.explorers import progress


def train(
    model: nn.Module,
    batches: Iterable,
    loss: Callable[..., Tensor],
    *,
    steps: int,
    rate: float = 3e-3,
    clip: float = 1.0,
    what: str = "training",
) -> list[float]:
    """Trains `model` on `steps` batches and returns the loss at each.

    The learning rate rises to `rate` over the first twentieth of the steps and then falls in a straight line to zero, so
    that a short run ends calmly. The gradient's norm is cut at `clip`. A progress bar says `what`.

    Args:
        loss: takes the model and a batch, gives a scalar.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    warm = max(1, steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (steps - step) / (steps - warm))
    )
    curve = []
    model.train()
    for batch, _ in zip(batches, progress(range(steps), what)):
        optimizer.zero_grad(set_to_none=True)
        value = loss(model, batch)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        schedule.step()
        curve.append(value.item())
    model.eval()
    return curve
