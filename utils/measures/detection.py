"""How good is a detector: average precision over many pictures, counting, and suppression of what is found twice."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from utils.models.set_prediction import overlaps


def detections(
    logits: Float[Tensor, "B Q C+1"],
) -> tuple[Float[Tensor, "B Q"], Int[Tensor, "B Q"], Bool[Tensor, "B Q"]]:
    """For each query its score, the likeliest class of an object and its probability; and whether it claims an object at all."""
    P = logits.softmax(dim=-1)
    score, kind = P[..., :-1].max(dim=-1)
    return score, kind, logits.argmax(dim=-1) < logits.shape[-1] - 1


def mean_precision(
    said: tuple[Tensor, Tensor],
    answers: tuple[Tensor, Tensor, Tensor],
    least: float = 0.5,
    kept: Bool[Tensor, "B Q"] | None = None,
) -> float:
    """Average precision at an IoU of at least `least`, over all pictures together, then the mean over the classes.

    Each detection takes the object of its class in its picture that it overlaps most among those not yet taken, as in COCO.
    Precision is made never to rise with recall, and its area is summed at each new recall.

    Args:
        kept: the detections that count, all where it is None.
    """
    (logits, found), (labels, boxes, real) = said, answers
    score, kind, _ = detections(logits)
    shares = overlaps(found[:, :, None], boxes[:, None])[0].tolist()  # [B][Q][T]
    counts = torch.ones_like(kind, dtype=torch.bool) if kept is None else kept
    of_classes = []
    for c in range(logits.shape[-1] - 1):
        pictures, queries = ((kind == c) & counts).nonzero(as_tuple=True)
        falling = score[pictures, queries].argsort(descending=True, stable=True).tolist()
        pictures, queries = pictures.tolist(), queries.tolist()
        open_ones = {(b, t) for b, t in ((labels == c) & real).nonzero().tolist()}
        among = {b: [t for t in range(labels.shape[1]) if (b, t) in open_ones] for b, _ in open_ones}
        objects, hits = len(open_ones), []
        for place in falling:
            b, q = pictures[place], queries[place]
            left = [(shares[b][q][t], t) for t in among.get(b, ()) if (b, t) in open_ones]
            share, t = max(left, default=(0.0, -1))
            hits.append(share >= least)
            if share >= least:
                open_ones.remove((b, t))
        of_classes.append(area_under(hits, objects))
    return float(np.mean(of_classes))


def area_under(hits: Sequence[bool], objects: int) -> float:
    """The area under precision over recall; `hits` are the detections from the surest to the least sure one."""
    if not hits or not objects:
        return 0.0
    right = np.cumsum(hits)
    exact = right / np.arange(1, len(hits) + 1)
    ceiling = np.maximum.accumulate(exact[::-1])[::-1]  # the best precision from here on
    return float(ceiling[np.asarray(hits, dtype=bool)].sum() / objects)  # each hit adds a step of 1 / objects


def suppressed(said: tuple[Tensor, Tensor], most: float = 0.5) -> Bool[Tensor, "B Q"]:
    """Non-maximum suppression: True where no surer detection of the same class, itself kept, overlaps by more than `most`."""
    logits, found = said
    score, kind, _ = detections(logits)
    shares = overlaps(found[:, :, None], found[:, None])[0]  # [B, Q, Q]
    clash = (shares > most) & (kind[:, :, None] == kind[:, None])
    kept = torch.ones_like(kind, dtype=torch.bool)
    order = score.argsort(dim=1, descending=True)
    rows = torch.arange(len(kept))
    for place in range(1, order.shape[1]):
        one, surer = order[:, place], order[:, :place]  # [B], [B, place]
        hidden = clash[rows[:, None], one[:, None], surer] & kept.gather(1, surer)
        kept[rows, one] = ~hidden.any(dim=1)
    return kept


def counting(claimed: Int[Tensor, "B"], real: Bool[Tensor, "B T"]) -> dict[str, float]:
    """The shares of pictures of which the number of claimed objects is right, too large and too small."""
    more = claimed - real.sum(dim=1)
    return {
        name: found.float().mean().item()
        for name, found in (("right", more == 0), ("many", more > 0), ("few", more < 0))
    }
