"""Answers to smoothed_cross_entropy (assignment 10)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("The target distribution as a tensor, filled with s/V and added to at the true word")
def filled_and_added(logits, targets, smoothing):
    V = logits.shape[-1]
    q = torch.zeros_like(logits) + smoothing / V
    q = q.scatter_add(-1, targets[..., None], torch.full_like(q[..., :1], 1 - smoothing))
    loss = -(q * F.log_softmax(logits, -1)).sum(-1)
    return loss[targets != 0].mean()


@right("Two losses, of the true word and of a uniform distribution, mixed at the end")
def two_losses(logits, targets, smoothing):
    keep = targets != 0
    log_p = logits[keep].log_softmax(1)
    own = -log_p[torch.arange(len(log_p), device=log_p.device), targets[keep]].mean()
    uniform = -log_p.mean()
    return own + smoothing * (uniform - own)


@right("log-softmax by hand with the maximum taken off, then a mask in the numerator and in the denominator")
def by_hand(logits, targets, smoothing):
    z = logits - logits.max(dim=-1, keepdim=True).values
    log_p = z - z.exp().sum(-1, keepdim=True).log()
    mask = (targets != 0).to(log_p.dtype)
    own = log_p.gather(2, targets.unsqueeze(2)).squeeze(2)
    each = (1 - smoothing) * own + smoothing * log_p.sum(-1) / logits.size(-1)
    return -(each * mask).sum() / mask.sum()


@right("nll_loss with the vocabulary as the second axis, twice the weights")
def nll_of_three_axes(logits, targets, smoothing):
    log_p = logits.log_softmax(-1).transpose(1, 2)
    nll = F.nll_loss(log_p, targets, ignore_index=0, reduction="sum")
    n = torch.count_nonzero(targets)
    rest = log_p.mean(1).masked_fill(targets == 0, 0.0).sum()
    return (1 - smoothing) * nll / n - smoothing * rest / n


@right("kl_div of log probabilities plus the entropy of the targets, written out")
def kl_plus_entropy(logits, targets, smoothing):
    V, keep = logits.shape[-1], targets > 0
    q = torch.full((int(keep.sum()), V), smoothing / V, dtype=logits.dtype, device=logits.device)
    q[torch.arange(len(q)), targets[keep]] += 1 - smoothing
    kl = F.kl_div(F.log_softmax(logits[keep], -1), q, reduction="none").sum(1)
    return (kl - torch.xlogy(q, q).sum(1)).mean()


@right("A loop over positions")
def loop(logits, targets, smoothing):
    losses = []
    for b in range(targets.shape[0]):
        for t in range(targets.shape[1]):
            if targets[b, t].item() == 0:
                continue
            row = torch.log_softmax(logits[b, t], 0)
            losses.append(-(1 - smoothing) * row[targets[b, t]] - smoothing * row.mean())
    return sum(losses) / len(losses)


@right("einsum of targets and log-probabilities, padded rows of the targets set to 0")
def einsum_of_both(logits, targets, smoothing):
    V = logits.shape[-1]
    q = torch.eye(V, dtype=logits.dtype, device=logits.device)[targets] * (1 - smoothing) + smoothing / V
    q = q * (targets != 0).unsqueeze(-1)
    return -torch.einsum("btv,btv->", q, logits.log_softmax(-1)) / (targets != 0).sum()


@right("In double precision inside, back in the logits' type")
def double_inside(logits, targets, smoothing):
    log_p = logits.double().log_softmax(-1).flatten(0, 1)
    y = targets.flatten()
    rows = torch.nonzero(y).squeeze(1)
    own = log_p[rows, y[rows]]
    loss = -((1 - smoothing) * own + smoothing * log_p[rows].mean(1)).sum() / rows.numel()
    return loss.to(logits.dtype)


@right("cross_entropy of soft targets is not allowed, so logsumexp minus the expected logit")
def expected_logit(logits, targets, smoothing):
    keep = targets != 0
    z = logits[keep]
    own = torch.take_along_dim(z, targets[keep][:, None], 1)[:, 0]
    lse = z.logsumexp(1)
    return ((1 - smoothing) * (lse - own) + smoothing * (lse[:, None] - z).mean(1)).mean()


# ---------------------------------------------------------------- wrong: the targets


def _log_p(logits, targets):
    log_p = logits.log_softmax(-1)
    return log_p, log_p.gather(-1, targets[..., None])[..., 0]


def _mean(each, targets):
    real = targets != 0
    return torch.where(real, each, 0.0).sum() / real.sum()


@wrong("s is spread over the V - 1 other words, so the true word has 1 - s", kind="concept")
def over_the_others(logits, targets, smoothing):
    V = logits.shape[-1]
    hot = F.one_hot(targets, V).bool()
    q = torch.where(hot, 1 - smoothing, smoothing / (V - 1))
    return _mean(-(q * logits.log_softmax(-1)).sum(-1), targets)


@wrong("every other word gets s / V, but the true word only 1 - s: the targets add up to less than 1", kind="concept")
def true_word_without_its_share(logits, targets, smoothing):
    V = logits.shape[-1]
    q = torch.full_like(logits, smoothing / V).scatter(-1, targets[..., None], 1 - smoothing)
    return _mean(-(q * logits.log_softmax(-1)).sum(-1), targets)


@wrong("as in the Annotated Transformer: s / (V - 2) on the others, nothing on padding", kind="concept")
def annotated_convention(logits, targets, smoothing):
    V = logits.shape[-1]
    q = torch.full_like(logits, smoothing / (V - 2)).scatter(-1, targets[..., None], 1 - smoothing)
    q[..., 0] = 0
    return _mean(-(q * logits.log_softmax(-1)).sum(-1), targets)


@wrong("s / V on the words, nothing on padding's column", kind="concept")
def no_share_for_padding(logits, targets, smoothing):
    V = logits.shape[-1]
    q = F.one_hot(targets, V) * (1 - smoothing) + smoothing / V
    q[..., 0] = 0
    return _mean(-(q.to(logits.dtype) * logits.log_softmax(-1)).sum(-1), targets)


@wrong("one-hot plus s/V, without taking s from the true word", kind="concept")
def added_on_top(logits, targets, smoothing):
    V = logits.shape[-1]
    q = F.one_hot(targets, V) + smoothing / V
    return _mean(-(q.to(logits.dtype) * logits.log_softmax(-1)).sum(-1), targets)


# Right, and not registered: answers below are changes of it.
def _plain(logits, targets, smoothing):
    log_p, own = _log_p(logits, targets)
    return _mean(-(1 - smoothing) * own - smoothing * log_p.mean(-1), targets)


change(_plain, "weights_swapped", "smoothing is the weight of the true word", "concept",
       ("-(1 - smoothing) * own - smoothing * log_p.mean(-1)", "-smoothing * own - (1 - smoothing) * log_p.mean(-1)"))
change(_plain, "each_gets_s", "the uniform part sums the log-probabilities: every word gets s", "concept",
       (".mean(-1)", ".sum(-1)"))


@wrong("only the true word's part is kept: (1 - s) times the cross-entropy", kind="concept")
def uniform_part_forgotten(logits, targets, smoothing):
    return _mean(-(1 - smoothing) * _log_p(logits, targets)[1], targets)


@wrong("only the uniform part", kind="concept")
def true_part_forgotten(logits, targets, smoothing):
    return _mean(-smoothing * _log_p(logits, targets)[0].mean(-1), targets)


@wrong("the plain cross-entropy, smoothing ignored", kind="concept")
def smoothing_ignored(logits, targets, smoothing):
    return _mean(-_log_p(logits, targets)[1], targets)


change(_plain, "always_a_tenth", "smoothing is always 0.1", "interface",
       ("-(1 - smoothing) * own - smoothing * log_p.mean(-1)", "-0.9 * own - 0.1 * log_p.mean(-1)"))
change(_plain, "twice_the_smoothing", "two tenths where one is asked for: s is doubled", "concept",
       ("1 - smoothing", "1 - 2 * smoothing"), ("smoothing * log_p.mean(-1)", "2 * smoothing * log_p.mean(-1)"))


@wrong("the uniform part is weighted with s/2 (half for the word before, half after: a misread kernel)", kind="concept")
def smoothed_to_the_neighbours(logits, targets, smoothing):
    log_p = logits.log_softmax(-1)
    q = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    q = (1 - smoothing) * q + smoothing / 2 * (q.roll(1, -1) + q.roll(-1, -1))
    return _mean(-(q * log_p).sum(-1), targets)


@wrong("the predictions are smoothed, not the targets", kind="concept")
def smoothed_predictions(logits, targets, smoothing):
    p = (1 - smoothing) * logits.softmax(-1) + smoothing / logits.shape[-1]
    return _mean(-p.gather(-1, targets[..., None])[..., 0].log(), targets)


@wrong("smoothing is a temperature: the logits are multiplied by 1 - s", kind="concept")
def as_a_temperature(logits, targets, smoothing):
    return _mean(-_log_p(logits * (1 - smoothing), targets)[1], targets)


change(_plain, "confidence_penalty",
       "the entropy of the predictions as a bonus (confidence penalty) in place of the uniform part", "concept",
       before("return", "entropy = -(log_p.exp() * log_p).sum(-1)"), ("log_p.mean(-1)", "entropy"))


@wrong("the two factors in the wrong direction: sum of p log q", kind="concept")
def reverse_cross_entropy(logits, targets, smoothing):
    V = logits.shape[-1]
    q = F.one_hot(targets, V) * (1 - smoothing) + smoothing / V + 1e-9
    return _mean(-(logits.softmax(-1) * q.log()).sum(-1), targets)


@wrong("KL divergence: the entropy of the targets is missing", kind="concept")
def divergence(logits, targets, smoothing):
    V, keep = logits.shape[-1], targets != 0
    q = F.one_hot(targets[keep], V).to(logits.dtype) * (1 - smoothing) + smoothing / V
    return F.kl_div(logits[keep].log_softmax(-1), q, reduction="batchmean")


change(divergence, "divergence_divided_by_all",
       "kl_div with its default reduction, the mean over all numbers: divided by V, too", "concept",
       ('q, reduction="batchmean"', "q"))
change(divergence, "divergence_of_probabilities", "kl_div is given probabilities, not log-probabilities", "concept",
       (".log_softmax(-1)", ".softmax(-1)"))
change(_plain, "next_word", "the one-hot targets are of the word after: targets shifted", "concept",
       ("_log_p(logits, targets)", "_log_p(logits, targets.roll(-1, 1))"))


# ---------------------------------------------------------------- wrong: padding and the mean


def _each(logits, targets, smoothing):
    log_p, own = _log_p(logits, targets)
    return -(1 - smoothing) * own - smoothing * log_p.mean(-1)


@wrong("padding is not left out at all", kind="concept")
def padding_kept(logits, targets, smoothing):
    return _each(logits, targets, smoothing).mean()


@wrong("padding is set to 0 and then the mean over all positions is taken", kind="concept")
def mean_with_zeros(logits, targets, smoothing):
    return _each(logits, targets, smoothing).masked_fill(targets == 0, 0).mean()


@wrong("the sum over all positions, divided by the number of words", kind="concept")
def padding_in_the_sum(logits, targets, smoothing):
    return _each(logits, targets, smoothing).sum() / (targets != 0).sum()


@wrong("the sum", kind="concept")
def only_the_sum(logits, targets, smoothing):
    return _each(logits, targets, smoothing)[targets != 0].sum()


@wrong("the sum over the words divided by the batch size", kind="concept")
def by_the_batch(logits, targets, smoothing):
    return _each(logits, targets, smoothing)[targets != 0].sum() / len(targets)


@wrong("sentence means first, then their mean", kind="concept")
def sentences_first(logits, targets, smoothing):
    real = targets != 0
    each = torch.where(real, _each(logits, targets, smoothing), 0.0)
    return (each.sum(1) / real.sum(1).clamp(min=1)).mean()


@wrong("ignore_index for the true word, but padding in the uniform part", kind="concept")
def uniform_over_padding(logits, targets, smoothing):
    log_p = logits.log_softmax(-1)
    nll = F.nll_loss(log_p.flatten(0, 1), targets.flatten(), ignore_index=0)
    return (1 - smoothing) * nll - smoothing * log_p.mean()


@wrong("the mask is inverted", kind="concept")
def only_padding(logits, targets, smoothing):
    padded = targets == 0
    return torch.where(padded, _each(logits, targets, smoothing), 0.0).sum() / padded.sum().clamp(min=1)


@wrong("STOP and START are left out with the padding (targets > 2)", kind="concept")
def words_without_stop(logits, targets, smoothing):
    real = targets > 2
    return torch.where(real, _each(logits, targets, smoothing), 0.0).sum() / real.sum().clamp(min=1)


@wrong("padding's index is taken to be 1, as in fairseq", kind="concept")
def padding_is_one(logits, targets, smoothing):
    real = targets != 1
    return torch.where(real, _each(logits, targets, smoothing), 0.0).sum() / real.sum()


@wrong("padding is ignored with -100, torch's default, and no target is -100", kind="concept")
def default_ignore_index(logits, targets, smoothing):
    log_p = logits.log_softmax(-1)
    real = targets != -100
    nll = F.nll_loss(log_p.flatten(0, 1), targets.flatten())
    return (1 - smoothing) * nll - smoothing * log_p[real].mean()


@wrong("the logits of padding are set to 0 before the loss, and counted", kind="concept")
def logits_zeroed(logits, targets, smoothing):
    return _each(logits * (targets != 0)[..., None], targets, smoothing).mean()


@wrong("the last position of each sentence is cut off, as a language model's shift would", kind="concept")
def last_position_cut(logits, targets, smoothing):
    each = _each(logits[:, :-1], targets[:, :-1], smoothing)
    real = targets[:, :-1] != 0
    return torch.where(real, each, 0.0).sum() / real.sum().clamp(min=1)


# ---------------------------------------------------------------- wrong: the softmax


change(_plain, "over_positions", "the softmax runs over the positions", "concept",
       ("log_p, own = _log_p(logits, targets)", """
        log_p = logits.log_softmax(1)
        own = log_p.gather(-1, targets[..., None])[..., 0]"""))
change(_plain, "raw_logits", "no softmax: the logits are taken for log-probabilities", "concept",
       ("log_p, own = _log_p(logits, targets)", "own = logits.gather(-1, targets[..., None])[..., 0]"),
       ("log_p.mean(-1)", "logits.mean(-1)"))
change(_plain, "uniform_of_logits", "the uniform part uses the logits in place of log-probabilities", "concept",
       ("log_p, own = _log_p(logits, targets)", "own = _log_p(logits, targets)[1]"),
       ("log_p.mean(-1)", "logits.mean(-1)"))


@wrong("probabilities without a logarithm", kind="concept")
def no_logarithm(logits, targets, smoothing):
    p = logits.softmax(-1)
    own = p.gather(-1, targets[..., None])[..., 0]
    return _mean(-(1 - smoothing) * own - smoothing * p.mean(-1), targets)


@wrong("the logarithm of the mean probability (which is 1/V) in the uniform part", kind="concept")
def log_of_the_mean(logits, targets, smoothing):
    p = logits.softmax(-1)
    own = _log_p(logits, targets)[1]
    return _mean(-(1 - smoothing) * own - smoothing * p.mean(-1).log(), targets)


@wrong("logarithm to base 2", kind="concept")
def in_bits(logits, targets, smoothing):
    return _mean(_each(logits, targets, smoothing), targets) / math.log(2)


@wrong("the minus is missing", kind="concept")
def sign(logits, targets, smoothing):
    return -_mean(_each(logits, targets, smoothing), targets)


@wrong("the exponential: a perplexity", kind="concept")
def exponential(logits, targets, smoothing):
    return _mean(_each(logits, targets, smoothing), targets).exp()


change(_plain, "log_of_softmax", "log of a softmax: infinite for large logits", "numerics",
       ("log_p, own = _log_p(logits, targets)", """
        log_p = torch.log(logits.softmax(-1))
        own = log_p.gather(-1, targets[..., None])[..., 0]"""))
change(_plain, "log_with_eps", "log of a softmax plus 1e-8: large surprises are cut off", "numerics",
       ("log_p, own = _log_p(logits, targets)", """
        log_p = torch.log(logits.softmax(-1) + 1e-8)
        own = log_p.gather(-1, targets[..., None])[..., 0]"""))


@wrong("exp without the maximum taken off: overflows", kind="numerics")
def plain_exp(logits, targets, smoothing):
    log_p = logits - logits.exp().sum(-1, keepdim=True).log()
    own = log_p.gather(-1, targets[..., None])[..., 0]
    return _mean(-(1 - smoothing) * own - smoothing * log_p.mean(-1), targets)


# ---------------------------------------------------------------- wrong: form


@wrong("one loss for each position [B, T]", kind="shape")
def not_reduced(logits, targets, smoothing):
    return torch.where(targets != 0, _each(logits, targets, smoothing), 0.0)


@wrong("F.cross_entropy with label_smoothing, which is forbidden", kind="interface")
def forbidden(logits, targets, smoothing):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0, label_smoothing=smoothing)


@wrong("a Python number, so no gradient flows", kind="gradient")
def a_number(logits, targets, smoothing):
    return _mean(_each(logits, targets, smoothing), targets).item()


@wrong("reshaped to [V, B*T] without a transposition", kind="shape")
def wrong_reshape(logits, targets, smoothing):
    B, T, V = logits.shape
    log_p = logits.reshape(B, V, T).log_softmax(1)
    own = log_p.gather(1, targets[:, None])[:, 0]
    return _mean(-(1 - smoothing) * own - smoothing * log_p.mean(1), targets)


@wrong("the given logits are overwritten", kind="interface")
def in_place(logits, targets, smoothing):
    with torch.no_grad():
        logits[targets == 0] = 0
    return _mean(_each(logits, targets, smoothing), targets)


change(_plain, "uniform_detached", "the log-probabilities of the uniform part are detached", "gradient",
       ("log_p.mean(-1)", "log_p.mean(-1).detach()"))
