"""The training loop and what is trained with it: it learns, ends calmly, and gives the same numbers from the same seed."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from utils.data import scenes
from utils.data.translation import PAD, STOP
from utils.models.grid_cnn import WINDOW, GridCNN, crops, grids, pretrained_cnn, trained_cnn
from utils.models.training import train


def fitted(steps=60):
    """A line fitted to noisy points; the losses and the weights."""
    torch.manual_seed(3)
    model, seeded = nn.Linear(4, 1), torch.Generator().manual_seed(3)
    batches = (torch.randn(16, 4, generator=seeded) for _ in range(steps))
    losses = train(model, batches, lambda m, x: (m(x) - x.sum(-1, keepdim=True)).square().mean(), steps=steps, rate=0.1)
    return losses, model


def test_training_learns_and_gives_the_same_numbers_each_time():
    losses, model = fitted()
    assert len(losses) == 60 and losses[-1] < 0.01 * losses[0] and not model.training
    assert fitted()[0] == losses


@pytest.fixture(scope="module")
def some():
    made = scenes.scenes(200, seed=4)
    return made, scenes.images(made)


def test_a_crop_shows_the_thing_that_its_labels_name(some):
    windows, labels = crops(*some)
    assert windows.shape == (400, 3, WINDOW, WINDOW) and labels.shape == (400, 3)
    for window, (_, colour, _) in zip(windows, labels.tolist(), strict=True):
        shade = torch.tensor([*scenes.COLOURS.values()][colour])[:, None, None]
        covered = ((window - shade).abs() < 0.1).all(dim=0)
        assert covered.sum() > 20 and covered[6:18, 6:18].any(), "the thing is about in the middle"


def test_the_cnn_learns_to_tell_shapes_and_the_same_each_time(some):
    made, pictures = some
    cnn = trained_cnn(made, pictures, D=8, steps=3)
    assert not cnn.training and not any(weight.requires_grad for weight in cnn.parameters())
    again = trained_cnn(made, pictures, D=8, steps=3)
    assert torch.equal(grids(cnn, pictures[:2]), grids(again, pictures[:2]))


def test_the_kept_cnn_tells_shape_colour_and_size_apart():
    """A linear layer on the mean of its cells, fitted to one half of new crops, names what is in the other half."""
    made = scenes.scenes(600, seed=91)
    windows, labels = crops(made, scenes.images(made))
    cnn = pretrained_cnn()
    assert not cnn.training and not any(weight.requires_grad for weight in cnn.parameters())
    features = F.pad(grids(cnn, windows).mean(dim=(2, 3)).cpu(), (0, 1), value=1.0)  # [N, D + 1]
    for kind in range(3):
        wanted = F.one_hot(labels[:, kind]).float()
        fitted = torch.linalg.lstsq(features[:600], wanted[:600]).solution
        right = (features[600:] @ fitted).argmax(dim=1) == labels[600:, kind]
        assert right.float().mean() > 0.9


def test_a_cell_of_the_grid_sees_the_pixels_that_its_docstring_says():
    cnn = GridCNN(8).eval()
    pictures = torch.zeros(1, 3, 48, 48, requires_grad=True)
    assert cnn(pictures).shape == (1, 8, 12, 12)
    nn.init.constant_(cnn.layers[0].weight, 0.1)  # all weights positive, so that nothing is lost in a ReLU
    for layer in cnn.layers[::3]:
        nn.init.constant_(layer.weight, 0.1)
    (slope,) = torch.autograd.grad(cnn(pictures)[0, :, 6, 6].sum(), pictures)
    rows = slope[0].abs().sum(dim=(0, 2)).nonzero()
    assert len(rows) == 25 and rows.min() <= 24 <= rows.max()


def test_captions_as_numbers_end_and_are_filled_up(some):
    made, _ = some
    rows = scenes.words(made)
    assert rows.shape == (200, scenes.LONGEST)
    for scene, row in zip(made, rows.tolist(), strict=True):
        end = row.index(STOP)
        assert scenes.vocabulary().decode(row[:end]) == list(scene.caption)
        assert set(row[end + 1 :]) == {PAD}
