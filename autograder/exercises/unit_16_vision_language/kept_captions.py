"""Exercise 7: the filter that keeps captions which fit their pictures, and the best of each."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _apart(inputs, sizes, rng):
    """Logits whose probabilities are not near the threshold, and of which no two captions of a picture are alike."""
    N, C = sizes["N"], sizes["C"]
    limit = np.log(inputs["threshold"] / (1 - inputs["threshold"]))
    ranks = np.stack([rng.permutation(C) for _ in range(N)]) - rng.integers(0, C + 1, size=(N, 1)) + 0.5
    wrong = rng.normal(size=(N, C))
    right = wrong + limit + 0.4 * ranks + rng.uniform(-0.1, 0.1, size=(N, C))
    return {"logits": np.stack([wrong, right], axis=-1).astype(inputs["logits"].dtype)}


def _none_fits(inputs, rng):
    """Of the first picture no caption fits, of the second all do."""
    inputs["logits"][0, :, 1] -= 5
    inputs["logits"][1, :, 1] += 5


def _large(inputs, rng):
    """Logits whose exp overflows; their differences are as before."""
    inputs["logits"] += 200


def _at_the_threshold(inputs, rng):
    """The two classes of one caption have the same logit: its probability is 1/2."""
    inputs["logits"][2, 1, :] = 0.25


def _case(text, threshold, **more):
    return Case(text, values={"threshold": threshold}, **{"sizes": {"N": 7, "C": 5}, **more})


@exercise(
    points=2,
    section="CapFilt: a captioner and a filter",
    source="Li et al. 2022 (BLIP), section 3.3",
    outputs="kept best",
    formula="p_nc = softmax(logits_nc) at class 1, fits; kept_nc = (p_nc ≥ threshold); best_n = the kept c with the largest p_nc,"
    " −1 where none is kept; logits [N, C, 2]",
    cases=[
        _case("captions from the web and from a captioner", 0.5),
        _case("a strict filter", 0.9),
        _case("a lenient filter", 0.2),
        _case("pictures of which no caption fits, or all", 0.6, edit=_none_fits),
        _case("a caption just at the threshold", 0.5, edge=True, edit=_at_the_threshold),
        _case("large logits of both classes", 0.5, edge=True, extreme=True, edit=_large),
        _case("one caption for each picture", 0.5, edge=True, sizes={"N": 6, "C": 1}),
    ],
    draws=_apart,
    differentiable=False,
    waived={
        "large": "beyond a threshold probabilities cannot be told apart",
        "zero": "which of equal captions is best is not asked",
        "spread": "beyond a threshold probabilities cannot be told apart",
    },
)
def kept_captions(logits: Float[Tensor, "N C 2"], threshold: float) -> tuple[Bool[Tensor, "N C"], Int[Tensor, "N"]]:
    p = (logits[:, :, 1] - logits[:, :, 0]).sigmoid()
    kept = p >= threshold
    return kept, torch.where(kept.any(dim=1), p.argmax(dim=1), -1)


def _fits(logits, place=1):
    return logits.softmax(dim=-1)[..., place]


def _best(p, kept):
    return torch.where(kept.any(dim=1), p.masked_fill(~kept, -1.0).argmax(dim=1), -1)


@kept_captions.misconception
def other_class(logits, threshold):
    """The probability of class 0 is compared, that caption and picture do not belong together. Class 1 says that they do."""
    p = _fits(logits, 0)
    return p >= threshold, _best(p, p >= threshold)


@kept_captions.misconception
def logit_for_probability(logits, threshold):
    """The logit of class 1 is held against the threshold. A threshold for probabilities asks for the softmax over both classes
    first."""
    kept = logits[..., 1] >= threshold
    return kept, _best(logits[..., 1] - logits[..., 1].min(), kept)


@kept_captions.misconception
def sigmoid_of_one_logit(logits, threshold):
    """The probability is the sigmoid of the logit of class 1 alone. Two logits have a softmax: the sigmoid of their
    difference."""
    p = logits[..., 1].sigmoid()
    return p >= threshold, _best(p, p >= threshold)


@kept_captions.misconception
def softmax_over_captions(logits, threshold):
    """The softmax runs over the captions of a picture, so they compete, and at most a few pass. Each caption is judged by itself:
    the softmax runs over the two classes, dim=-1."""
    p = logits.softmax(dim=1)[..., 1]
    return p >= threshold, _best(p, p >= threshold)


@kept_captions.misconception
def best_whether_kept_or_not(logits, threshold):
    """best names a caption also where none is kept. Without a caption that fits it is −1."""
    p = _fits(logits)
    return p >= threshold, p.argmax(dim=1)


@kept_captions.misconception
def first_kept(logits, threshold):
    """best is the first caption that is kept. It is the one that fits best, with the largest probability."""
    kept = _fits(logits) >= threshold
    return kept, _best(kept.to(logits.dtype), kept)


@kept_captions.misconception
def those_dropped(logits, threshold):
    """kept is True where a caption fails. Kept are those whose probability reaches the threshold."""
    p = _fits(logits)
    return p < threshold, _best(p, p >= threshold)


@kept_captions.misconception
def none_is_zero(logits, threshold):
    """Where no caption is kept best is 0, which names the first. −1 names none."""
    p = _fits(logits)
    kept = p >= threshold
    return kept, _best(p, kept).clamp(min=0)


@kept_captions.alternative
def by_softmax(logits, threshold):
    p = _fits(logits)
    return p >= threshold, _best(p, p >= threshold)


@kept_captions.alternative
def by_logits(logits, threshold):
    margin = logits[..., 1] - logits[..., 0]
    kept = margin.sigmoid() >= threshold
    value, place = margin.masked_fill(~kept, -torch.inf).max(dim=1)
    return kept, place.masked_fill(value == -torch.inf, -1)


@kept_captions.alternative
def picture_by_picture(logits, threshold):
    kept, best = [], []
    for own in logits:
        p = [float(one.softmax(dim=0)[1]) for one in own]
        fits = [value >= threshold for value in p]
        kept.append(fits)
        best.append(max((c for c, fit in enumerate(fits) if fit), key=lambda c: p[c], default=-1))
    return torch.tensor(kept, device=logits.device), torch.tensor(best, device=logits.device)
