"""What a vision transformer is compared with, trained on and looked at with; the transformer itself is the lesson's own."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from utils.data.scenes import images, scenes
from utils.device import device
from utils.models.grid_cnn import crops

_MIDDLE = 0.8  # the windows' mean brightness
_GAIN = 3.0  # brings their values to a standard deviation near 1


def single_things(
    count: int, seed: int = 0, noise: float = 0.1
) -> tuple[Float[Tensor, "count 3 24 24"], Int[Tensor, "count"]]:
    """Windows around single things of scenes, in random order, and the number of each one's shape in `scenes.SHAPES`.

    The thing's middle is off the window's by up to three pixels, and a part of the other thing may be seen. Each value gets
    independent noise of standard deviation `noise` (brightness runs from 0 to 1); then all are brought close to mean 0 and
    standard deviation 1. Fewer windows of the same seed are not the first of more.
    """
    some = scenes((count + 1) // 2, seed)
    windows, labels = crops(some, images(some), seed)  # [2 * scenes, 3, 24, 24], [2 * scenes, 3]
    seeded = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(windows), generator=seeded)[:count]
    grain = noise * torch.randn(count, *windows.shape[1:], generator=seeded)
    return (windows[order] + grain - _MIDDLE) * _GAIN, labels[order, 0]


class SmallCNN(nn.Module):
    """Images [B, C, H, W] to logits [B, classes]: three layers of 3 by 3 convolutions, the mean over the grid, and a head.

    After each of the first two layers the largest of 2 by 2 cells is kept, so the grid has a quarter of the image's side.
    """

    def __init__(self, C: int = 3, classes: int = 4, widths: Sequence[int] = (16, 32, 64)):
        super().__init__()
        layers, before = [], C
        for number, width in enumerate(widths):
            layers += [nn.Conv2d(before, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if number < 2 else []
            before = width
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(before, classes)

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B classes"]:
        return self.head(self.layers(images).mean(dim=(2, 3)))


def augmented(
    pictures: Float[Tensor, "B C H W"], seeded: torch.Generator, reach: int = 3, mirror: bool = True
) -> Float[Tensor, "B C H W"]:
    """Each picture moved by up to `reach` pixels in each direction, its edge repeated; with `mirror` every second one mirrored.

    Both keep a shape's name; a digit would not keep its own in the mirror.
    """
    B, _, H, W = pictures.shape
    mirrored = mirror & (torch.rand(B, 1, 1, 1, generator=seeded) < 0.5)
    down, right = torch.randint(2 * reach + 1, (2, B), generator=seeded)
    rows, columns = down[:, None] + torch.arange(H), right[:, None] + torch.arange(W)  # [B, H], [B, W]
    either = torch.where(mirrored.to(pictures.device), pictures.flip(3), pictures)
    wider = F.pad(either, (reach,) * 4, mode="replicate").permute(0, 2, 3, 1)  # [B, H + 2 reach, W + 2 reach, C]
    return wider[torch.arange(B)[:, None, None], rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def shuffle_order(side: int, P: int, seed: int = 0) -> Int[Tensor, "side*side"]:
    """A fixed order of the pixels of a square image that a vision transformer with patches of side P does not notice.

    The patches change their places, and in every patch the pixels change theirs, all patches alike. The image that is shown is
    `images.flatten(2)[..., order].unflatten(2, (side, side))`.
    """
    seeded, across = torch.Generator().manual_seed(seed), side // P
    patches = torch.randperm(across**2, generator=seeded).tolist()
    pixels = torch.randperm(P**2, generator=seeded).tolist()
    order = torch.empty(side, side, dtype=torch.long)
    for to, patch in enumerate(patches):
        for place, pixel in enumerate(pixels):
            row, column = patch // across * P + pixel // P, patch % across * P + pixel % P  # where the value comes from
            order[to // across * P + place // P, to % across * P + place % P] = row * side + column
    return order.flatten()


@torch.no_grad()
def accuracy(model: nn.Module, pictures: Float[Tensor, "N C H W"], labels: Int[Tensor, "N"]) -> float:
    """The share of the pictures whose largest logit stands at the right class."""
    named = torch.cat([model(some.to(device())).argmax(dim=-1).cpu() for some in pictures.split(500)])
    return (named == labels).float().mean().item()


# Looking into a transformer ------------------------------------------------------------------------------------------


@torch.no_grad()
def attention_weights(
    blocks: Sequence[nn.TransformerEncoderLayer], run: Callable[[], object]
) -> Float[Tensor, "depth B H N N"]:
    """The attention weights of every pre-norm block while `run()` sends something through all of them once.

    torch's block does not hand them out; so a hook takes what goes into each block and asks its attention layer again.
    """
    found = []

    def ask(block, arguments):
        X = block.norm1(arguments[0])  # [B, N, D], what a pre-norm block attends with
        found.append(block.self_attn(X, X, X, need_weights=True, average_attn_weights=False)[1])  # [B, H, N, N]

    hooks = [block.register_forward_pre_hook(ask) for block in blocks]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(found)


def rollout(A: Float[Tensor, "depth B H N N"]) -> Float[Tensor, "B N N"]:
    """Attention rollout (Abnar and Zuidema, 2020): how much of each input token reaches each output token, rows sum to 1.

    Heads are averaged; the residual connection is counted as attention of a token to itself, with half of the weight; the blocks'
    tables are multiplied. Norms, values and MLPs are left out of account.
    """
    whole = torch.eye(A.shape[-1], device=A.device)
    mixed = whole.expand(A.shape[1], -1, -1)
    for weights in A.mean(dim=2):  # [B, N, N], from the first block to the last
        mixed = (weights + whole) / 2 @ mixed
    return mixed


def attention_distance(
    A: Float[Tensor, "depth B H N N"], columns: int, P: int, special: int = 1
) -> Float[Tensor, "depth H"]:
    """How many pixels away a patch attends: the mean distance between middles, weighted by attention (Dosovitskiy et al., 2021).

    Args:
        columns: of the grid of patches, which are counted row by row; P: a patch's side in pixels.
        special: tokens in front of the patches; they are left out, and the weights of the rest made to sum to 1.
    """
    among = A[..., special:, special:]  # [depth, B, H, N, N], patches alone
    among = among / among.sum(dim=-1, keepdim=True)
    apart = patch_distances(among.shape[-1] // columns, columns).to(A.device) * P
    return (among * apart).sum(dim=-1).mean(dim=(1, 3))


def patch_distances(rows: int, columns: int) -> Float[Tensor, "N N"]:
    """The distances between the patches of a grid, a patch's side being 1; N = rows * columns, counted row by row."""
    number = torch.arange(rows * columns)
    places = torch.stack([number // columns, number % columns], dim=1).float()  # [N, 2]
    return torch.cdist(places, places)
