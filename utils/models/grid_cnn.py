"""A small convolutional network that leaves a grid of vectors, trained beforehand to name single things.

`python -m utils.models.grid_cnn` trains the one of lesson 03 anew and keeps its weights beside this module, where
submissions find them, too: of the course these see `utils` alone.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from utils.data.scenes import COLOURS, SHAPES, SIDES, SIZE, Scene, images, scenes
from utils.device import device
from utils.models.training import train

WINDOW = 24  # pixels of a crop's side
_KINDS = (SHAPES, tuple(COLOURS), tuple(SIDES))
_KEPT = Path(__file__).with_suffix(".pt")
_LOOSE = 3  # pixels by which a crop's middle may be off


class GridCNN(nn.Module):
    """Images [B, 3, H, W] to features [B, D, H/4, W/4]: a cell stands for 4 by 4 pixels, and sees 25 by 25 around the
    first of them."""

    def __init__(self, D: int = 64):
        super().__init__()
        self.layers = nn.Sequential(
            *_layer(3, 24, kernel_size=5, stride=2),
            *_layer(24, 48, kernel_size=3, stride=2),
            *_layer(48, D, kernel_size=3),
            *_layer(D, D, kernel_size=3),
        )

    def forward(self, images: Float[Tensor, "B 3 H W"]) -> Float[Tensor, "B D h w"]:
        return self.layers(images)


def _layer(before: int, after: int, kernel_size: int, stride: int = 1) -> tuple:
    return nn.Conv2d(before, after, kernel_size, stride, kernel_size // 2), nn.BatchNorm2d(after), nn.ReLU()


def crops(
    some: Sequence[Scene], pictures: Tensor, seed: int = 0
) -> tuple[Float[Tensor, "N 3 h w"], Int[Tensor, "N 3"]]:
    """A window around each thing of the scenes, two a scene, and its shape, colour and size as numbers."""
    chance = random.Random(f"crops {seed}")
    windows, labels = [], []
    for scene, picture in zip(some, pictures, strict=True):
        for thing in scene.things:
            left, top = (
                min(max((low + high - WINDOW) // 2 + chance.randint(-_LOOSE, _LOOSE), 0), SIZE - WINDOW)
                for low, high in (thing.box[0::2], thing.box[1::2])
            )
            windows.append(picture[:, top : top + WINDOW, left : left + WINDOW])
            names = (thing.shape, thing.colour, thing.size)
            labels.append([kind.index(name) for kind, name in zip(_KINDS, names, strict=True)])
    return torch.stack(windows), torch.tensor(labels)


def trained_cnn(some: Sequence[Scene], pictures: Tensor, D: int = 64, steps: int = 500, seed: int = 0) -> GridCNN:
    """A GridCNN that has learned to name shape, colour and size of single things; in eval mode, its weights fixed.

    What it learned to name them by, the layer behind the mean over the crop's cells, is thrown away.
    """
    torch.manual_seed(seed)
    cnn, heads = GridCNN(D).to(device()), nn.Linear(D, sum(map(len, _KINDS))).to(device())
    windows, labels = crops(some, pictures, seed)

    def naming_loss(_, chosen):
        named = heads(cnn(windows[chosen].to(device())).mean(dim=(2, 3))).split(list(map(len, _KINDS)), dim=-1)
        right = labels[chosen].to(device())
        return sum(F.cross_entropy(one, right[:, kind]) for kind, one in enumerate(named))

    chosen = _numbers(len(windows), 64, steps, seed)
    train(nn.ModuleList([cnn, heads]), chosen, naming_loss, steps=steps, rate=4e-3, what="training the CNN")
    return cnn.eval().requires_grad_(False)


def pretrained_cnn() -> GridCNN:
    """The GridCNN of lesson 03, which has learned from 4,000 scenes, by its kept weights; in eval mode, and fixed."""
    cnn = GridCNN()
    cnn.load_state_dict(torch.load(_KEPT, weights_only=True, map_location="cpu"))
    return cnn.to(device()).eval().requires_grad_(False)


def _numbers(count: int, size: int, steps: int, seed: int) -> Iterator[Int[Tensor, "size"]]:
    seeded = torch.Generator().manual_seed(seed)
    return (torch.randint(count, (size,), generator=seeded) for _ in range(steps))


@torch.no_grad()
def grids(cnn: GridCNN, pictures: Float[Tensor, "B 3 H W"]) -> Float[Tensor, "B D h w"]:
    """The grids of many pictures, some at a time."""
    return torch.cat([cnn(some.to(device())) for some in pictures.split(200)])


if __name__ == "__main__":
    some = scenes(4000, seed=1)
    torch.save(trained_cnn(some, images(some)).cpu().state_dict(), _KEPT)
