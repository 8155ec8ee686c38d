"""Right answers to `kept_captions`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("salesforce/BLIP's filter")
def blip(logits, threshold):
    itm_score = F.softmax(logits, dim=2)[:, :, 1]
    kept = itm_score >= threshold
    best = torch.argmax(itm_score.masked_fill(~kept, -1.0), dim=1)
    best[~kept.any(dim=1)] = -1
    return kept, best


@practice("transformers")
@torch.no_grad()
def hugging_face(logits, threshold):
    probs = logits.softmax(dim=-1)
    scores = probs[..., 1]
    top_scores, top_ids = scores.topk(k=1, dim=-1)
    best = torch.where(top_scores >= threshold, top_ids, torch.full_like(top_ids, -1))
    return scores >= threshold, best.squeeze(-1)


@practice("LAVIS, a sigmoid of the margin")
def lavis(logits, threshold):
    negative, positive = logits.unbind(dim=-1)
    prob = torch.sigmoid(positive - negative)
    keep = prob.ge(threshold)
    values, indices = prob.max(dim=-1)
    return keep, indices.where(values.ge(threshold), -torch.ones_like(indices))


@practice("einops", needs="einops")
def einops(logits, threshold):
    from einops import rearrange, reduce

    fits = rearrange(logits.softmax(-1), "n c two -> two n c")[1]
    kept = fits >= threshold
    some = reduce(kept.int(), "n c -> n", "max").bool()
    return kept, fits.argmax(1).masked_fill(~some, -1)


@practice("plain loops")
def loops(logits, threshold):
    probabilities = torch.softmax(logits, dim=-1)
    kept, best = [], []
    for picture in probabilities:
        row, number, largest = [], -1, None
        for c, pair in enumerate(picture):
            fits = bool(pair[1] >= threshold)
            row.append(fits)
            if fits and (largest is None or pair[1] > largest):
                number, largest = c, pair[1]
        kept.append(row)
        best.append(number)
    return torch.tensor(kept, device=logits.device), torch.tensor(best, device=logits.device)
