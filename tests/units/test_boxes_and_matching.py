"""The references of unit 14's boxes, costs and matching against public code: transformers, scipy, and plain loops."""

from itertools import permutations

import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch.testing import assert_close
from transformers.loss import loss_for_object_detection as theirs

from autograder.bank.catalogue import find_exercise

N, M, C = 6, 4, 5


def reference(name):
    return find_exercise(name).reference


def centred(number, seed=0):
    """Boxes (cx, cy, w, h) of positive area."""
    drawn = torch.rand(number, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.cat([drawn[:, :2], 0.05 + drawn[:, 2:] * 0.5], dim=1)


def test_corners_are_those_of_transformers():
    boxes = centred(N).unflatten(0, (2, 3))
    assert_close(reference("to_corners")(boxes), theirs.center_to_corners_format(boxes))


@pytest.mark.parametrize("seed", range(5))
def test_generalised_iou_is_that_of_transformers(seed):
    A, B = (reference("to_corners")(centred(number, seed + number)) for number in (N, M))
    B[0] = A[0] + 0.02  # which overlap
    ours = reference("generalised_iou")(A, B)
    assert_close(ours, theirs.generalized_box_iou(A, B))
    assert ours.min() < 0 < ours.max()


def test_generalised_iou_counts_cells_of_a_grid():
    """Boxes of whole cells: what they share, cover and enclose is counted cell by cell."""
    boxes = torch.tensor([[0, 0, 2, 2], [1, 1, 4, 3], [3, 0, 4, 1], [0, 3, 5, 4], [2, 0, 4, 2]])

    def cells(box):
        x_0, y_0, x_1, y_1 = box
        return {(x, y) for x in range(x_0, x_1) for y in range(y_0, y_1)}

    def counted(a, b):
        around = [*map(min, a[:2], b[:2]), *map(max, a[2:], b[2:])]
        shared, union, enclosing = len(cells(a) & cells(b)), len(cells(a) | cells(b)), len(cells(around))
        return shared / union - (enclosing - union) / enclosing

    wanted = torch.tensor([[counted(a, b) for b in boxes.tolist()] for a in boxes.tolist()])
    assert_close(reference("generalised_iou")(boxes.float(), boxes.float()), wanted)


def test_generalised_iou_lies_between_minus_one_and_one():
    A = torch.tensor([[0, 0, 0.001, 0.001], [0, 0, 1, 1]])
    B = torch.tensor([[0.999, 0.999, 1, 1], [0, 0, 1, 1]])
    ours = reference("generalised_iou")(A, B)
    assert_close(ours[1, 1], torch.tensor(1.0))
    assert_close(ours[0, 0], torch.tensor(-1.0), atol=1e-5, rtol=0)


@pytest.mark.parametrize("seed", range(3))
def test_costs_and_matching_are_those_of_transformers(seed, monkeypatch):
    """Their matcher, whose costs are caught on the way to scipy."""
    logits = torch.randn(N, C + 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    boxes, targets, labels = centred(N, seed + 10), centred(M, seed + 20), torch.tensor([0, 4, 2, 2])
    caught = []

    def solved(costs):
        caught.append(torch.as_tensor(costs))
        return linear_sum_assignment(costs)

    monkeypatch.setattr(theirs, "linear_sum_assignment", solved)
    matcher = theirs.HungarianMatcher(class_cost=1, bbox_cost=5, giou_cost=2)
    outputs = {"logits": logits[None], "pred_boxes": boxes[None]}
    [(queries, places)] = matcher(outputs, [{"class_labels": labels, "boxes": targets}])
    ours = reference("matching_costs")(logits, boxes, labels, targets)
    assert_close(ours, caught[0])
    assert reference("match")(ours)[places].tolist() == queries.tolist()


@pytest.mark.parametrize(("N_Q", "N_T"), [(6, 4), (5, 5), (4, 1), (1, 1)])
def test_no_other_matching_costs_less(N_Q, N_T):
    costs = torch.randn(N_Q, N_T, generator=torch.Generator().manual_seed(N_Q), dtype=torch.float64)
    each = torch.arange(N_T)
    least = min(permutations(range(N_Q), N_T), key=lambda queries: costs[torch.tensor(queries), each].sum().item())
    assert tuple(reference("match")(costs).tolist()) == least
