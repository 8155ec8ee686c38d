"""Lesson 12's networks see what they are said to see, and its counting models give probabilities."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from utils.data import scenes
from utils.data.solids import SOLIDS, solids
from utils.figures.attention_in_vision import spread_of
from utils.models.attention_in_vision import (
    NOWHERE,
    Convolutions,
    FlatMLP,
    PixelModel,
    PointNetwork,
    counted,
    other_colours,
)


def test_a_cell_is_asked_for_the_colour_of_the_object_that_it_does_not_lie_on():
    some = scenes.scenes(30, seed=4)
    colours, far = other_colours(some)
    for scene, asked, apart in zip(some, colours, far, strict=True):
        for own, other in (scene.things, scene.things[::-1]):
            left, top, right, bottom = own.box
            cell = (top + bottom) // 8, (left + right) // 8  # the middle, in cells of four pixels
            assert asked[cell] == list(scenes.COLOURS).index(other.colour) and apart[cell] >= 1
        assert ((asked == NOWHERE) == (apart == NOWHERE)).all()


@pytest.mark.parametrize(("gaps", "reach"), [([1, 1], 2), ([1, 2], 3), ([4], 4), ([1, 2, 4], 7)])
def test_convolutions_reach_as_far_as_their_gaps_add_up_to(gaps, reach):
    torch.manual_seed(0)
    stack = Convolutions(3, gaps, width=5).eval()
    X = torch.randn(1, 3, 12, 12, requires_grad=True)
    stack(X)[0, :, 6, 6].sum().backward()
    rows, columns = X.grad.abs().sum(dim=(0, 1)).nonzero().T
    assert max((rows - 6).abs().max(), (columns - 6).abs().max()) <= reach


def test_what_a_figure_shows_as_seen_grows_by_what_a_layer_reads():
    seen = torch.zeros(9, 9, dtype=torch.bool)
    seen[4, 4] = True
    twice = spread_of(spread_of(seen, torch.ones(3, 3)), torch.ones(3, 3))
    assert twice.sum() == 25 and twice[2:7, 2:7].all()
    above_and_left = torch.tensor([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    read = sorted(zip(*spread_of(seen, above_and_left).nonzero()))
    assert read == [(3, 4), (4, 3)], "what lies above and to the left, not what lies below and to the right"


@pytest.mark.parametrize("pool", ["max", "mean", "attention"])
@pytest.mark.parametrize("kind", ["attention", "balls", "each alone"])
def test_networks_for_sets_do_not_notice_the_order_of_points(kind, pool):
    torch.manual_seed(0)
    network = PointNetwork(kind, pool).eval()
    points, _ = solids(4, 20, torch.Generator().manual_seed(0))
    assert_close(network(points[:, torch.randperm(20)]), network(points), atol=1e-5, rtol=1e-4)


def test_a_flat_mlp_does():
    torch.manual_seed(0)
    points, which = solids(4, 20, torch.Generator().manual_seed(0))
    assert not torch.allclose(FlatMLP(20)(points.flip(1)), FlatMLP(20)(points), atol=1e-3)
    assert which.max() < len(SOLIDS) and points.shape == (4, 20, 3)


@pytest.mark.parametrize("reach", [None, 2.0])
def test_a_pixel_is_predicted_from_earlier_ones_alone(reach):
    torch.manual_seed(0)
    model = PixelModel(reach=reach).eval()
    pixels = torch.randint(17, (2, 64))
    other = pixels.clone()
    other[:, 30:] = (other[:, 30:] + 5) % 17
    before, after = (model(model.fed(one)) for one in (pixels, other))
    assert_close(after[:, :31], before[:, :31])
    assert not torch.allclose(after[:, 31], before[:, 31])
    assert_close(model(model.fed(pixels)[:, :12]), before[:, :12], atol=1e-5, rtol=1e-4)


def test_bits_are_those_of_the_probabilities():
    torch.manual_seed(0)
    model, pixels = PixelModel().eval(), torch.randint(17, (2, 64))
    p = model(model.fed(pixels)).softmax(dim=-1).gather(-1, pixels[..., None])[..., 0]
    assert_close(model.bits(pixels), -p.log2())


def test_counting_finds_what_there_is_to_count():
    torch.manual_seed(0)
    places = torch.randint(17, (8, 8))
    learned = places.expand(400, -1, -1).clone()
    found = counted(learned, learned[:20])
    assert found["one value in 17"] == pytest.approx(math.log2(17))
    frequencies = F.one_hot(places.flatten(), 17).float().mean(dim=0)
    entropy = -sum(p * math.log2(p) for p in frequencies.tolist() if p)
    assert found["how frequent a value is"] == pytest.approx(entropy, abs=0.01)
    assert found["the same at each place"] < 0.1 and found["given left and above"] < 1.0
