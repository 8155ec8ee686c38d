"""Answers to kept_captions (assignment 16)."""

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

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


# Right, and not registered: answers below are changes of it.
def _plain(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    return kept, _best(p, kept)


change(_plain, "class_zero", "the probability of class 0 (does not fit) is used", "concept",
       ("_fits(logits)", "logits.softmax(-1)[..., 0]"))


@wrong("best is the most probable caption of each picture even where none is kept", kind="concept")
def never_none(logits, threshold):
    p = _fits(logits)
    return p >= threshold, p.argmax(1)


change(_plain, "zero_for_none", "best is 0 where none is kept", "concept",
       ("_best(p, kept)", "torch.where(kept, p, 0 * p - 1).argmax(1)"))
change(_plain, "c_for_none", "best is C where none is kept", "concept",
       ("_best(p, kept)", "p.argmax(1).masked_fill(~kept.any(1), p.shape[1])"))
change(_plain, "all_in_place_of_any", "best is -1 as soon as one caption is not kept", "concept",
       ("_best(p, kept)", "p.argmax(1).masked_fill(~kept.all(1), -1)"))
change(_plain, "second_logit_alone",
       "the probability is a sigmoid of the second logit alone; the first is not used", "concept",
       ("_fits(logits)", "logits[..., 1].sigmoid()"))
change(_plain, "softmax_over_captions",
       "the softmax runs over the captions of a picture, not over the two classes", "concept",
       ("_fits(logits)", "logits.softmax(1)[..., 1]"))
change(_plain, "softmax_over_pictures", "the softmax runs over the pictures", "concept",
       ("_fits(logits)", "logits.softmax(0)[..., 1]"))


@wrong("the second logit itself is compared with the threshold, without a softmax", kind="concept")
def bare_logit(logits, threshold):
    kept = logits[..., 1] >= threshold
    return kept, _fits(logits).argmax(1).masked_fill(~kept.any(1), -1)


@wrong("the difference of the logits is compared with the threshold", kind="concept")
def bare_difference(logits, threshold):
    difference = logits[..., 1] - logits[..., 0]
    kept = difference >= threshold
    return kept, difference.argmax(1).masked_fill(~kept.any(1), -1)


change(_plain, "logarithm_compared", "the logarithm of the probability is compared with the threshold", "concept",
       ("_fits(logits)", "logits.log_softmax(-1)[..., 1]"),
       ("_best(p, kept)", "p.argmax(1).masked_fill(~kept.any(1), -1)"))


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


change(_plain, "least_probable", "best is the kept caption with the smallest probability", "concept",
       ("_best(p, kept)", "p.masked_fill(~kept, 2).argmin(1).masked_fill(~kept.any(1), -1)"))
change(_plain, "counted_among_the_kept", "best counts among the kept captions only, not among all C", "concept",
       before("return",
              "best = [row[k].argmax() if k.any() else torch.tensor(-1, device=p.device) for row, k in zip(p, kept, strict=True)]"),
       ("_best(p, kept)", "torch.stack(best)"))
change(_plain, "threshold_of_one_half",
       "the threshold is not used: kept is where the second logit is the larger one", "concept",
       ("p >= threshold", "logits[..., 1] >= logits[..., 0]"))
change(_plain, "other_side_of_threshold",
       "kept where the probability of class 0 is at most the threshold, thus class 1 at least 1 - threshold", "concept",
       ("_fits(logits)", "logits.softmax(-1)"), ("p >= threshold", "p[..., 0] <= threshold"),
       ("p, kept", "p[..., 1], kept"))
change(never_none, "thrown_away", "kept marks the captions that are thrown away", "concept",
       ("p >= threshold, p.argmax(1)", "p < threshold, _best(p, p >= threshold)"))
change(_plain, "relative_threshold",
       "probabilities are compared with the threshold times the picture's largest one", "concept",
       ("p >= threshold", "p >= threshold * p.amax(1, keepdim=True)"))
change(_plain, "shares_of_the_picture",
       "probabilities are divided by their sum over the picture's captions first", "concept",
       before("kept =", "p = p / p.sum(1, keepdim=True)"))


@wrong("the most probable caption is always kept, so that every picture has one", kind="concept")
def one_for_every_picture(logits, threshold):
    p = _fits(logits)
    best = p.argmax(1)
    return (p >= threshold).scatter(1, best[:, None], True), best


# ---------------------------------------------------------------- wrong: edges


change(_plain, "strictly_larger", "a probability equal to the threshold is not kept (> in place of >=)", "edge",
       ("p >= threshold", "p > threshold"))
change(_plain, "numbered_from_one", "captions are numbered from 1", "edge",
       ("return kept, _best(p, kept)", """
        best = _best(p, kept)
        return kept, torch.where(best >= 0, best + 1, best)"""))


@wrong("with best = 0 taken for none, caption 0 is never the best", kind="edge")
def caption_zero_is_none(logits, threshold):
    p = _fits(logits)
    best = (p * (p >= threshold)).argmax(1)
    return p >= threshold, torch.where(best > 0, best, -1)


# ---------------------------------------------------------------- wrong: numerics


change(_plain, "bare_exponentials",
       "exp of the bare logits: inf / inf is NaN for large ones, and the caption is lost", "numerics",
       ("p = _fits(logits)", """
        powers = logits.detach().exp()
        p = powers[..., 1] / powers.sum(-1)"""))
change(_plain, "rounded", "probabilities are rounded to one decimal before they are compared", "numerics",
       ("kept = p", "kept = (p * 10).round() / 10"))
change(_plain, "held_logits", "logits are held between -1 and 1 before the softmax", "numerics",
       ("_fits(logits)", "_fits(logits.clamp(-1, 1))"))


# ---------------------------------------------------------------- wrong: shapes and layouts


change(_plain, "best_picture", "best runs over the pictures, one number for each caption: [C]", "shape",
       ("_best(p, kept)", "p.argmax(0).masked_fill(~kept.any(0), -1)"))
change(_plain, "numbered_through", "best numbers the captions of all pictures through, n C + c", "shape",
       ("return kept, _best(p, kept)", """
        best = _best(p, kept)
        starts = torch.arange(p.shape[0], device=p.device) * p.shape[1]
        return kept, torch.where(best >= 0, best + starts, best)"""))
change(_plain, "column_of_best", "best is [N, 1]", "shape",
       ("_best(p, kept)", "_best(p, kept)[:, None]"))
change(_plain, "squeezed", "squeeze() on kept: the axis is lost for a single picture or a single caption", "shape",
       ("return kept", "return kept.squeeze()"))
change(_plain, "kept_pictures", "kept says for each picture whether any caption is kept: [N]", "shape",
       ("return kept", "return kept.any(1)"))
change(_plain, "by_view", "view(N C, 2) fails for some memory layouts", "layout",
       ("p = _fits(logits)", """
        N, C, _ = logits.shape
        p = _fits(logits.view(N * C, 2)).view(N, C)"""))
change(_plain, "classes_in_front",
       "the two logits are taken apart by chunks of the flat tensor, as if it were [2, N, C]", "layout",
       ("p = _fits(logits)", """
        N, C, _ = logits.shape
        p = logits.detach().reshape(2, N, C).softmax(0)[1]"""))


# ---------------------------------------------------------------- wrong: interface, types


change(_plain, "probability_of_the_best", "best holds the largest probability, not the caption's number", "interface",
       ("_best(p, kept)", "p.amax(1).masked_fill(~kept.any(1), -1)"))
change(_plain, "floating_numbers", "best comes back with the logits' floating type", "interface",
       ("_best(p, kept)", "_best(p, kept).to(logits.dtype)"))
change(_plain, "probabilities_in_kept",
       "kept holds the probabilities of the kept captions and 0 elsewhere, not True and False", "interface",
       ("kept, _best(p, kept)", "p * kept, _best(p, kept)"))
change(_plain, "best_first", "best comes first, kept second", "interface",
       ("return kept, _best(p, kept)", "return _best(p, kept), kept"))
change(_plain, "list_of_numbers", "best is a list of Python numbers", "interface",
       ("_best(p, kept)", "_best(p, kept).tolist()"))
change(_plain, "logits_overwritten", "the logits are overwritten by their softmax", "interface",
       ("p = _fits(logits)", """
        with torch.no_grad():
            logits.copy_(logits.softmax(-1))
        p = logits.detach()[..., 1]"""))
change(_plain, "marked_in_the_input",
       "second logits of captions that are not kept are set to -inf in the input itself", "interface",
       before("return", 'logits.detach()[..., 1].masked_fill_(~kept, float("-inf"))'))


@wrong("the numbers of the captions are made on the CPU, which fails with logits on another device", kind="interface")
def numbers_on_the_cpu(logits, threshold):
    p = _fits(logits)
    kept = p >= threshold
    winners = p == p.amax(1, keepdim=True)
    best = torch.where(winners, torch.arange(p.shape[1]), p.shape[1]).amin(1)
    return kept, best.masked_fill(~kept.any(1), -1)


change(_plain, "by_numpy", "by way of NumPy, which has no bfloat16", "interface",
       ("_fits(logits)", "torch.from_numpy(_fits(logits).cpu().numpy().copy()).to(logits.device)"))
