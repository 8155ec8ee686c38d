"""What trains a detector that answers with a set: overlaps of many boxes, matching by trying all ways, and the loss."""

import itertools
from collections.abc import Callable, Sequence
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

L1, OVERLAP = 5.0, 2.0  # DETR's weights of the two box terms; the class has 1
Answers = tuple[Int[Tensor, "B T"], Float[Tensor, "B T 4"], Bool[Tensor, "B T"]]  # labels, boxes, where an object is
Said = tuple[Float[Tensor, "B Q C+1"], Float[Tensor, "B Q 4"]]  # logits, boxes


def overlaps(
    ours: Float[Tensor, "*S 4"], theirs: Float[Tensor, "*S 4"]
) -> tuple[Float[Tensor, "*S"], Float[Tensor, "*S"]]:
    """IoU and generalised IoU of boxes (middle across, middle down, width, height), broadcast against each other."""
    ours, theirs = torch.broadcast_tensors(ours, theirs)
    (low, high), (their_low, their_high) = _sides(ours), _sides(theirs)  # [*S, 2] each
    shared = _area((torch.minimum(high, their_high) - torch.maximum(low, their_low)).relu())
    both = _area(ours[..., 2:]) + _area(theirs[..., 2:]) - shared
    frame = _area(torch.maximum(high, their_high) - torch.minimum(low, their_low))
    share = shared / _or_one(both)
    return share, share - 1 + both / _or_one(frame)


def _sides(boxes: Tensor) -> tuple[Tensor, Tensor]:
    middle, half = boxes[..., :2], boxes[..., 2:] / 2
    return middle - half, middle + half


def _area(extent: Tensor) -> Tensor:
    return extent[..., 0] * extent[..., 1]


def _or_one(area: Tensor) -> Tensor:
    """The area to divide by; 1 for padding, whose boxes have none. A least area would be too large for small boxes."""
    return area.where(area > 0, 1)


def costs_of_all(said: Said, answers: Answers) -> Float[Tensor, "B Q T"]:
    """DETR's costs of giving each object to each query, for a batch; 0 where there is no object."""
    (logits, found), (labels, boxes, real) = said, answers
    P = logits.softmax(dim=-1)  # [B, Q, C + 1]
    named = P.gather(2, labels[:, None].expand(-1, P.shape[1], -1))  # [B, Q, T]
    far = (found[:, :, None] - boxes[:, None]).abs().sum(dim=-1)
    _, close = overlaps(found[:, :, None], boxes[:, None])
    return (L1 * far - OVERLAP * close - named).masked_fill(~real[:, None], 0.0)


@torch.no_grad()
def matched(said: Said, answers: Answers) -> Int[Tensor, "B T"]:
    """For each object the query that it is given to, at the least sum of costs: all ways are tried, for all pictures at once."""
    costs = costs_of_all(said, answers)
    ways = _ways(*costs.shape[1:]).to(costs.device)  # [ways, T]
    sums = sum(costs[:, ways[:, t], t] for t in range(ways.shape[1]))  # [B, ways]
    return ways[sums.argmin(dim=1)]


@cache
def _ways(Q: int, T: int) -> Int[Tensor, "ways T"]:
    """All ways to give T objects to different ones of Q queries; 120 for 3 objects and 6 queries."""
    return torch.tensor(list(itertools.permutations(range(Q), T)))


def in_the_order_given(said: Said, answers: Answers) -> Int[Tensor, "B T"]:
    """The control: the first object to the first query, the second to the second, whatever they have said."""
    labels = answers[0]
    return torch.arange(labels.shape[1], device=labels.device).expand_as(labels)


def loss_of_layers(
    layers: Sequence[Said],
    answers: Answers,
    pair: Callable[[Said, Answers], Tensor] = matched,
    empty: float = 0.1,
) -> Float[Tensor, ""]:
    """DETR's loss, summed over the layers of a decoder; each layer is paired with the objects anew.

    Args:
        pair: gives for each object its query, such as `matched`.
        empty: the weight of the class of no object.
    """
    labels, boxes, real = answers
    picture, number = real.nonzero(as_tuple=True)  # of each object
    total = 0.0
    for logits, found in layers:
        query = pair((logits, found), answers)[picture, number]  # of each object
        C = logits.shape[-1] - 1
        wanted = torch.full(logits.shape[:2], C, device=logits.device)  # nothing, as long as no object says otherwise
        wanted[picture, query] = labels[picture, number]
        weight = torch.ones(C + 1, device=logits.device)
        weight[C] = empty
        of_names = F.cross_entropy(logits.mT, wanted, weight=weight)
        ours, right = found[picture, query], boxes[picture, number]
        placing = L1 * (ours - right).abs().sum() + OVERLAP * (1 - overlaps(ours, right)[1]).sum()
        total = total + of_names + placing / max(1, len(picture))
    return total
