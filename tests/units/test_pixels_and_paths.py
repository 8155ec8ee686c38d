"""References of unit 12 on pixels and paths against torch: its cross-entropy, its convolutions, and what a gradient reaches."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from autograder.bank.catalogue import find_exercise


def reference(name):
    return find_exercise(name).reference


def test_bits_are_those_of_torchs_cross_entropy():
    torch.manual_seed(0)
    B, rows, columns, V = 3, 4, 5, 6
    logits, pictures = 3 * torch.randn(B, rows, columns, V), torch.randint(V, (B, rows, columns))
    nats = [math.log(V)] * B
    for b in range(B):
        for n in range(1, rows * columns):
            before = logits[b].reshape(-1, V)[n - 1]
            nats[b] += F.cross_entropy(before, pictures[b].reshape(-1)[n]).item()
    wanted = torch.tensor(nats) / (rows * columns * math.log(2))
    assert_close(reference("bits_per_pixel")(logits, pictures), wanted)


def test_bits_of_all_pictures_are_those_of_a_code():
    """2 to the power of minus a picture's bits is its probability, and those of all pictures add up to 1."""
    torch.manual_seed(0)
    rows, columns, V = 2, 2, 3
    pictures = torch.cartesian_prod(*[torch.arange(V)] * (rows * columns)).reshape(-1, rows, columns)
    logits = torch.randn(rows, columns, V).expand(len(pictures), -1, -1, -1)
    bits = reference("bits_per_pixel")(logits, pictures) * rows * columns
    assert_close((-bits).exp2().sum(), torch.tensor(1.0))


@pytest.mark.parametrize(("rows", "columns", "reach"), [(4, 6, 1), (6, 4, 2), (5, 5, 0), (1, 7, 3), (3, 3, 9)])
def test_a_raster_mask_is_what_a_masked_convolution_sees(rows, columns, reach):
    """The pixels that a pixel's output depends on, in a convolution whose weights are 0 at later pixels."""
    width = 2 * reach + 1
    kernel = torch.ones(width * width).where(torch.arange(width * width) <= width * width // 2, torch.tensor(0.0))
    kernel = kernel.reshape(1, 1, width, width)

    def seen(picture):
        return F.conv2d(picture.reshape(1, 1, rows, columns), kernel, padding=reach).flatten()

    depends = torch.autograd.functional.jacobian(seen, torch.randn(rows * columns)) != 0
    assert torch.equal(reference("raster_mask")(rows, columns, reach), depends)


def layers_until_reached(distance, k, gap):
    """How many of torch's convolutions it takes until a position depends on one `distance` before it."""
    signal = torch.zeros(1, 1, 2 * distance + 1)
    signal[0, 0, 0], layers = 1.0, 0
    while signal[0, 0, distance] == 0:
        layer = nn.Conv1d(1, 1, k, padding=gap(layers) * (k - 1) // 2, dilation=gap(layers), bias=False)
        nn.init.ones_(layer.weight)
        signal, layers = (layer(signal).detach() > 0).float(), layers + 1
    return layers


@pytest.mark.parametrize(("k", "growth"), [(3, 2), (5, 3), (9, 2)])
def test_path_lengths_are_those_of_torchs_convolutions(k, growth):
    distances = [1, 2, 3, 7, 8, 20, 31]
    wanted = [
        [far, layers_until_reached(far, k, lambda _: 1), layers_until_reached(far, k, lambda layer: growth**layer), 1]
        for far in distances
    ]
    assert reference("path_lengths")(torch.tensor(distances), k, growth).tolist() == wanted
