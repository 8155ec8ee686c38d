"""Answers to kept_captions (assignment 16)."""

import torch
import torch.nn.functional as F
from answers import right, wrong

# ---------------------------------------------------------------- right


@right("The largest probability decides for both: if any caption is kept, that one is")
def largest_decides(logits, threshold):
    probabilities = logits.softmax(-1)[..., 1]
    largest, number = probabilities.max(dim=1)
    return probabilities >= threshold, torch.where(largest >= threshold, number, -1)


@right("The softmax over two as a sigmoid of their difference, the best by the difference itself")
def sigmoid_of_difference(logits, threshold):
    difference = logits[..., 1] - logits[..., 0]
    kept = difference.sigmoid().ge(threshold)
    best = difference.argmax(-1).masked_fill(kept.logical_not().all(-1), -1)
    return kept, best


@right("A column of its own for none, put in front; the winner's number less 1")
def column_for_none(logits, threshold):
    p = torch.softmax(logits, dim=2).select(2, 1)
    kept = p >= threshold
    shown = torch.where(kept, p, torch.full_like(p, -2))
    shown = torch.cat([torch.full_like(p[:, :1], -1), shown], dim=1)
    return kept, shown.argmax(1) - 1


@right("Python loops over pictures and captions")
def python_loops(logits, threshold):
    p = F.softmax(logits.detach(), dim=-1)[:, :, 1]
    N, C = p.shape
    kept = torch.zeros(N, C, dtype=torch.bool, device=logits.device)
    best = torch.full((N,), -1, dtype=torch.int64, device=logits.device)
    for n in range(N):
        for c in range(C):
            kept[n, c] = p[n, c] >= threshold
            if kept[n, c] and (best[n] < 0 or p[n, c] > p[n, best[n]]):
                best[n] = c
    return kept, best


@right("Captions sorted by probability, the first of them looked up in what is kept")
def sorted_captions(logits, threshold):
    with torch.no_grad():
        p = logits.log_softmax(-1).exp().unbind(-1)[1]
        kept = ~(p < threshold)
        order = p.sort(dim=1, descending=True, stable=True).indices[:, :1]
        found = kept.gather(1, order)
        return kept, (order * found + found.long() - 1).squeeze(1)


@right("1 / (1 + exp(difference)), and topk among the kept ones")
def by_topk(logits, threshold):
    p = 1 / (1 + torch.exp(logits[:, :, 0] - logits[:, :, 1]))
    kept = p >= threshold
    value, place = p.masked_fill(~kept, -1.0).topk(1, dim=1)
    return kept, torch.where(value < 0, torch.full_like(place, -1), place)[:, 0]


@right("Numbers of the captions that are kept and as probable as any, the smallest of them; C stands for none")
def smallest_number_of_the_best(logits, threshold):
    p = (logits - logits.amax(-1, keepdim=True)).exp()
    p = p[..., 1] / p.sum(-1)
    kept = p >= threshold
    C = p.shape[1]
    numbers = torch.arange(C, device=p.device).expand_as(p)
    best = numbers.masked_fill(~(kept & (p == p.amax(1, keepdim=True))), C).amin(1)
    return kept, torch.where(best == C, best.new_tensor(-1), best)


# ---------------------------------------------------------------- wrong: concepts


def _fits(logits):
    return logits.detach().softmax(-1)[..., 1]


def _best(p, kept):
    return p.masked_fill(~kept, -1).argmax(1).masked_fill(~kept.any(1), -1)


@wrong("the probability of class 0 (does not fit) is used", kind="concept")
def class_zero(logits, threshold):
    p = logits.softmax(-1)[..., 0]
    kept = p >= threshold
    return kept, _best(p, kept)


@wrong("best is the most probable caption of each picture even where none is kept", kind="concept")
def never_none(logits, threshold):
    p = _fits(logits)
    return p >= threshold, p.argmax(1)


@wrong("best is 0 where none is kept", kind="concept")
def zero_for_none(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept, torch.where(kept, p, 0 * p - 1).argmax(1)


@wrong("best is C where none is kept", kind="concept")
def c_for_none(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept, p.argmax(1).masked_fill(~kept.any(1), p.shape[1])


@wrong("best is -1 as soon as one caption is not kept", kind="concept")
def all_in_place_of_any(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept, p.argmax(1).masked_fill(~kept.all(1), -1)


@wrong("the probability is a sigmoid of the second logit alone; the first is not used", kind="concept")
def second_logit_alone(logits, threshold):
    p = logits[..., 1].sigmoid()
    kept = p >= threshold
    return kept, _best(p, kept)


@wrong("the softmax runs over the captions of a picture, not over the two classes", kind="concept")
def softmax_over_captions(logits, threshold):
    p = logits.softmax(1)[..., 1]
    kept = p >= threshold
    return kept, _best(p, kept)


@wrong("the softmax runs over the pictures", kind="concept")
def softmax_over_pictures(logits, threshold):
    p = logits.softmax(0)[..., 1]
    kept = p >= threshold
    return kept, _best(p, kept)


@wrong("the second logit itself is compared with the threshold, without a softmax", kind="concept")
def bare_logit(logits, threshold):
    kept = logits[..., 1] >= threshold
    return kept, _fits(logits).argmax(1).masked_fill(~kept.any(1), -1)


@wrong("the difference of the logits is compared with the threshold", kind="concept")
def bare_difference(logits, threshold):
    difference = logits[..., 1] - logits[..., 0]
    kept = difference >= threshold
    return kept, difference.argmax(1).masked_fill(~kept.any(1), -1)


@wrong("the logarithm of the probability is compared with the threshold", kind="concept")
def logarithm_compared(logits, threshold):
    p = logits.log_softmax(-1)[..., 1]
    kept = p >= threshold
    return kept, p.argmax(1).masked_fill(~kept.any(1), -1)


@wrong("best is the kept caption with the largest second logit, not with the largest probability", kind="concept")
def best_by_logit(logits, threshold):
    kept = _fits(logits) >= threshold
    best = logits[..., 1].masked_fill(~kept, float("-inf")).argmax(1)
    return kept, best.masked_fill(~kept.any(1), -1)


@wrong("only the best caption of each picture is kept", kind="concept")
def only_the_best_kept(logits, threshold):
    p = _fits(logits)
    best = _best(p, p >= threshold)
    return best[:, None] == torch.arange(p.shape[1], device=p.device), best


@wrong("best is the first kept caption", kind="concept")
def first_kept(logits, threshold):
    kept = _fits(logits) >= threshold
    return kept, kept.int().argmax(1).masked_fill(~kept.any(1), -1)


@wrong("best is the kept caption with the smallest probability", kind="concept")
def least_probable(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept, p.masked_fill(~kept, 2).argmin(1).masked_fill(~kept.any(1), -1)


@wrong("best counts among the kept captions only, not among all C", kind="concept")
def counted_among_the_kept(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    best = [row[k].argmax() if k.any() else torch.tensor(-1, device=p.device) for row, k in zip(p, kept, strict=True)]
    return kept, torch.stack(best)


@wrong("the threshold is not used: kept is where the second logit is the larger one", kind="concept")
def threshold_of_one_half(logits, threshold):
    p = _fits(logits)
    kept = logits[..., 1] >= logits[..., 0]
    return kept, _best(p, kept)


@wrong(
    "kept where the probability of class 0 is at most the threshold, thus class 1 at least 1 - threshold",
    kind="concept",
)
def other_side_of_threshold(logits, threshold):
    p = logits.softmax(-1)
    kept = p[..., 0] <= threshold
    return kept, _best(p[..., 1], kept)


@wrong("kept marks the captions that are thrown away", kind="concept")
def thrown_away(logits, threshold):
    p = _fits(logits)
    return p < threshold, _best(p, p >= threshold)


@wrong("probabilities are compared with the threshold times the picture's largest one", kind="concept")
def relative_threshold(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold * p.amax(1, keepdim=True)
    return kept, _best(p, kept)


@wrong("probabilities are divided by their sum over the picture's captions first", kind="concept")
def shares_of_the_picture(logits, threshold):
    p = _fits(logits)
    p = p / p.sum(1, keepdim=True)
    kept = p >= threshold
    return kept, _best(p, kept)


@wrong("the most probable caption is always kept, so that every picture has one", kind="concept")
def one_for_every_picture(logits, threshold):
    p = _fits(logits)
    best = p.argmax(1)
    return (p >= threshold).scatter(1, best[:, None], True), best


# ---------------------------------------------------------------- wrong: edges


@wrong("a probability equal to the threshold is not kept (> in place of >=)", kind="edge")
def strictly_larger(logits, threshold):
    p = _fits(logits)
    kept = p > threshold
    return kept, _best(p, kept)


@wrong("captions are numbered from 1", kind="edge")
def numbered_from_one(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    best = _best(p, kept)
    return kept, torch.where(best >= 0, best + 1, best)


@wrong("with best = 0 taken for none, caption 0 is never the best", kind="edge")
def caption_zero_is_none(logits, threshold):
    p = _fits(logits)
    best = (p * (p >= threshold)).argmax(1)
    return p >= threshold, torch.where(best > 0, best, -1)


# ---------------------------------------------------------------- wrong: numerics


@wrong("exp of the bare logits: inf / inf is NaN for large ones, and the caption is lost", kind="numerics")
def bare_exponentials(logits, threshold):
    powers = logits.detach().exp()
    p = powers[..., 1] / powers.sum(-1)
    kept = p >= threshold
    return kept, _best(p, kept)


@wrong("probabilities are rounded to one decimal before they are compared", kind="numerics")
def rounded(logits, threshold):
    p = _fits(logits)
    kept = (p * 10).round() / 10 >= threshold
    return kept, _best(p, kept)


@wrong("logits are held between -1 and 1 before the softmax", kind="numerics")
def held_logits(logits, threshold):
    p = _fits(logits.clamp(-1, 1))
    kept = p >= threshold
    return kept, _best(p, kept)


# ---------------------------------------------------------------- wrong: shapes and layouts


@wrong("best runs over the pictures, one number for each caption: [C]", kind="shape")
def best_picture(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept, p.argmax(0).masked_fill(~kept.any(0), -1)


@wrong("best numbers the captions of all pictures through, n C + c", kind="shape")
def numbered_through(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    best = _best(p, kept)
    starts = torch.arange(p.shape[0], device=p.device) * p.shape[1]
    return kept, torch.where(best >= 0, best + starts, best)


@wrong("best is [N, 1]", kind="shape")
def column_of_best(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept, _best(p, kept)[:, None]


@wrong("squeeze() on kept: the axis is lost for a single picture or a single caption", kind="shape")
def squeezed(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept.squeeze(), _best(p, kept)


@wrong("kept says for each picture whether any caption is kept: [N]", kind="shape")
def kept_pictures(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept.any(1), _best(p, kept)


@wrong("view(N C, 2) fails for some memory layouts", kind="layout")
def by_view(logits, threshold):
    N, C, _ = logits.shape
    p = _fits(logits.view(N * C, 2)).view(N, C)
    kept = p >= threshold
    return kept, _best(p, kept)


@wrong("the two logits are taken apart by chunks of the flat tensor, as if it were [2, N, C]", kind="layout")
def classes_in_front(logits, threshold):
    N, C, _ = logits.shape
    p = logits.detach().reshape(2, N, C).softmax(0)[1]
    kept = p >= threshold
    return kept, _best(p, kept)


# ---------------------------------------------------------------- wrong: interface, types


@wrong("best holds the largest probability, not the caption's number", kind="interface")
def probability_of_the_best(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept, p.amax(1).masked_fill(~kept.any(1), -1)


@wrong("best comes back with the logits' floating type", kind="interface")
def floating_numbers(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept, _best(p, kept).to(logits.dtype)


@wrong("kept holds the probabilities of the kept captions and 0 elsewhere, not True and False", kind="interface")
def probabilities_in_kept(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return p * kept, _best(p, kept)


@wrong("best comes first, kept second", kind="interface")
def best_first(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return _best(p, kept), kept


@wrong("best is a list of Python numbers", kind="interface")
def list_of_numbers(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept, _best(p, kept).tolist()


@wrong("the logits are overwritten by their softmax", kind="interface")
def logits_overwritten(logits, threshold):
    with torch.no_grad():
        logits.copy_(logits.softmax(-1))
    p = logits.detach()[..., 1]
    kept = p >= threshold
    return kept, _best(p, kept)


@wrong("second logits of captions that are not kept are set to -inf in the input itself", kind="interface")
def marked_in_the_input(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    logits.detach()[..., 1].masked_fill_(~kept, float("-inf"))
    return kept, _best(p, kept)


@wrong("the numbers of the captions are made on the CPU, which fails with logits on another device", kind="interface")
def numbers_on_the_cpu(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    winners = p == p.amax(1, keepdim=True)
    best = torch.where(winners, torch.arange(p.shape[1]), p.shape[1]).amin(1)
    return kept, best.masked_fill(~kept.any(1), -1)


@wrong("by way of NumPy, which has no bfloat16", kind="interface")
def by_numpy(logits, threshold):
    p = torch.from_numpy(_fits(logits).cpu().numpy().copy()).to(logits.device)
    kept = p >= threshold
    return kept, _best(p, kept)
