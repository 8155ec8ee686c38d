"""Right and wrong answers for masked_cross_entropy."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import before, change, right, wrong

PAD, START, STOP = 0, 1, 2


# ------------------------------------------------------------------------------------------------------------- right


@right("The hints as they stand: log_softmax, gather, where, sum, divide")
def by_the_hints(logits, y):
    log_p = torch.log_softmax(logits, dim=-1)
    picked = log_p.gather(-1, y.long()[..., None])[..., 0]
    real = y != PAD
    return -torch.where(real, picked, 0.0).sum() / real.sum()


@right("Picks the places of words out with a boolean index first, so padding never enters the softmax")
def words_first(logits, y):
    real = y != PAD
    rows, words = logits[real], y[real].long()
    return -rows.log_softmax(dim=1).gather(1, words.unsqueeze(1)).mean()


@right("A one-hot table and a sum over the vocabulary")
def by_one_hot(logits, y):
    surprise = -nn.LogSoftmax(dim=2)(logits)
    at_y = torch.arange(logits.shape[2], device=logits.device) == y.unsqueeze(2)
    at_y = at_y & (y != PAD).unsqueeze(2)
    return surprise.masked_fill(~at_y, 0).sum() / (y != PAD).sum()


@right("Loops over sentences and places, collects in a Python list, stacks, takes the mean")
def by_loops(logits, y):
    losses = []
    for sentence, words in zip(logits, y):
        for row, word in zip(sentence, words.tolist()):
            if word != PAD:
                losses.append(-F.log_softmax(row, dim=0)[word])
    return torch.stack(losses).mean()


@right("Its own log-softmax: subtract each place's maximum, then log of the sum of exponentials")
def own_log_softmax(logits, y):
    b, t = torch.nonzero(y, as_tuple=True)
    z = logits[b, t]
    z = z - z.amax(dim=-1, keepdim=True).detach()
    log_p = z[torch.arange(len(b), device=z.device), y[b, t].long()] - z.exp().sum(dim=-1).log()
    return -log_p.sum() / len(b)


@right("Differences to the chosen logit: -log p is the logsumexp of all logits minus the one at y")
def logsumexp_of_differences(logits, y):
    places = y.reshape(-1).nonzero().squeeze(1)
    z = logits.flatten(0, 1).index_select(0, places)
    words = y.reshape(-1).index_select(0, places).long()
    own = torch.take_along_dim(z, words[:, None], dim=1)
    return (z - own).logsumexp(dim=1).mean()


@right("Weights 1/n at words and 0 at padding, one einsum")
def by_einsum(logits, y):
    real = (y != PAD).to(logits.dtype)
    picked = torch.take_along_dim(logits.log_softmax(-1), y.long().unsqueeze(-1), -1).squeeze(-1)
    return torch.einsum("bt,bt->", picked, -real) / torch.count_nonzero(y)


@right("Vocabulary as the second axis, masked_select, mean")
def vocabulary_second(logits, y):
    log_p = logits.movedim(-1, 1).log_softmax(dim=1)
    picked = log_p.gather(1, y.long().unsqueeze(1)).squeeze(1)
    return picked.masked_select(y.ne(PAD)).mean().neg()


@right("One sentence after the other, sums and counts added at the end")
def sentence_by_sentence(logits, y):
    totals, count = [], 0
    for b in range(y.size(0)):
        keep = [t for t in range(y.size(1)) if int(y[b, t]) != PAD]
        count += len(keep)
        chosen = logits[b].log_softmax(-1)[keep, y[b, keep].long()]
        totals.append(chosen.sum())
    return -(sum(totals[1:], start=totals[0])) / count


@right("Pads' index is replaced by 0 beforehand and nanmean leaves the padded places out")
def by_nanmean(logits, y):
    padded = y == PAD
    picked = logits.log_softmax(-1).gather(2, y.masked_fill(padded, 0).long().unsqueeze(2)).squeeze(2)
    return torch.nanmean(picked.masked_fill(padded, float("nan"))).neg()


@right("Trace-like: for each word of the vocabulary the places where it stands")
def by_vocabulary(logits, y):
    log_p = logits - logits.amax(-1, keepdim=True)
    log_p = log_p - log_p.logsumexp(-1, keepdim=True)
    parts = [log_p[..., word][y == word] for word in set(y.flatten().tolist()) - {PAD}]
    return -torch.cat(parts).mean()


@right("Computes in float64 inside and gives the result back in the logits' type")
def in_double_and_back(logits, y):
    log_p = logits.log_softmax(dim=-1, dtype=torch.float64)
    real = y > 0
    picked = log_p[real].gather(-1, y[real].long()[:, None])
    return (picked.sum() / -real.sum()).to(logits.dtype)


# ------------------------------------------------------------------------------------------------- wrong: helpers


def _picked(logits, y):
    return logits.log_softmax(-1).gather(-1, y[..., None])[..., 0]


def _masked_mean(picked, y):
    real = y != PAD
    return -torch.where(real, picked, 0.0).sum() / real.sum()


# --------------------------------------------------------------------------------------------------- wrong: concept


@wrong("padded places are set to 0 but still counted in the divisor (mean over all B*T places)", kind="concept")
def divides_by_all_places(logits, y):
    return -torch.where(y != PAD, _picked(logits, y), 0.0).mean()


@wrong("padding counts in the sum: only the divisor leaves it out", kind="concept")
def sums_padding(logits, y):
    return -_picked(logits, y).sum() / (y != PAD).sum()


# Right, and not registered: answers below are changes of it.
def _by_masked_mean(logits, y):
    return _masked_mean(_picked(logits, y), y)


change(_by_masked_mean, "no_mask", "padding is not left out at all: a plain mean over all places", "concept",
       ("return _masked_mean(_picked(logits, y), y)", "return -_picked(logits, y).mean()"))


# Right, and not registered: answers below are changes of it.
def _plain(logits, y):
    real = y != PAD
    return -torch.where(real, _picked(logits, y), 0.0).sum() / real.sum().clamp(min=1)


change(_plain, "stop_left_out", "leaves out STOP too (every word of number <= 2, so START as well)", "concept",
       ("y != PAD", "y > STOP"))


@wrong("takes each sentence's mean first and then the mean of the sentences, so short sentences weigh more",
       kind="concept")
def mean_of_means(logits, y):
    real = y != PAD
    each = torch.where(real, _picked(logits, y), 0.0).sum(1) / real.sum(1).clamp(min=1)
    return -each.mean()


@wrong("the sum over the words is not divided by their number", kind="concept")
def sum_only(logits, y):
    return -torch.where(y != PAD, _picked(logits, y), 0.0).sum()


@wrong("the sum is divided by the number of sentences instead of the number of words", kind="concept")
def divides_by_sentences(logits, y):
    return -torch.where(y != PAD, _picked(logits, y), 0.0).sum() / len(y)


change(_by_masked_mean, "no_minus", "the minus is missing: the mean of log p", "concept",
       ("_masked_mean(_picked(logits, y), y)", "-_masked_mean(_picked(logits, y), y)"))
change(_by_masked_mean, "one_minus_p", "mean of 1 - p instead of -log p: the logarithm is missing", "concept",
       before("return", "p = logits.softmax(-1).gather(-1, y[..., None])[..., 0]"), ("_picked(logits, y)", "p - 1"))
change(_by_masked_mean, "in_bits", "logarithm to base 2 (bits) instead of the natural one", "concept",
       ("_masked_mean(_picked(logits, y), y)", "_masked_mean(_picked(logits, y), y) / math.log(2)"))
change(_by_masked_mean, "softmax_over_time", "softmax over the places (axis 1) instead of the vocabulary", "concept",
       before("return", "picked = logits.log_softmax(1).gather(-1, y[..., None])[..., 0]"),
       ("_picked(logits, y)", "picked"))


@wrong("one softmax over places and vocabulary of a sentence together", kind="concept")
def softmax_over_sentence(logits, y):
    log_p = logits.flatten(1).log_softmax(1).reshape(logits.shape)
    return _masked_mean(log_p.gather(-1, y[..., None])[..., 0], y)


@wrong("the logits of place t are held against the word of place t + 1", kind="concept")
def shifted_to_the_next(logits, y):
    after = y[:, 1:]
    return -torch.where(after != PAD, _picked(logits[:, :-1], after), 0.0).sum() / (after != PAD).sum().clamp(min=1)


@wrong("the mask is that of the place before: the first padded place of each sentence is counted", kind="concept")
def mask_one_late(logits, y):
    real = torch.cat([torch.ones_like(y[:, :1], dtype=torch.bool), y[:, :-1] != PAD], dim=1)
    return -torch.where(real, _picked(logits, y), 0.0).sum() / real.sum()


change(_plain, "mask_one_early",
       "the mask is that of the place after: each sentence's last word (its STOP) is left out", "concept",
       ("y != PAD", "torch.cat([y[:, 1:] != PAD, torch.zeros_like(y[:, :1], dtype=torch.bool)], dim=1)"))
change(_plain, "mask_inverted", "the mask is inverted: only padded places count", "concept",
       ("real = y != PAD", "padded = y == PAD"), ("real, _picked(logits, y)", "padded, _picked(logits, y)"),
       ("real.sum", "padded.sum"))


@wrong("PAD is taken out of the vocabulary (its logit set to -inf) before the softmax, so p is not the softmax over "
       "all V",
       kind="concept")
def pad_out_of_vocabulary(logits, y):
    is_pad = torch.arange(logits.shape[-1], device=y.device) == PAD
    log_p = logits.masked_fill(is_pad, float("-inf")).log_softmax(-1)
    return _masked_mean(log_p.gather(-1, y[..., None])[..., 0], y)


@wrong("the entropy of the prediction, -sum p log p, instead of -log p at y; y is used for the mask only",
       kind="concept")
def entropy(logits, y):
    log_p = logits.log_softmax(-1)
    return _masked_mean((log_p.exp() * log_p).sum(-1), y)


change(_by_masked_mean, "perplexity", "returns the perplexity, exp of the loss", "concept",
       ("_masked_mean(_picked(logits, y), y)", "_masked_mean(_picked(logits, y), y).exp()"))


@wrong("a softmax is applied before the log_softmax, so the softmax is taken twice", kind="concept")
def softmax_twice(logits, y):
    return _masked_mean(_picked(logits.softmax(-1), y), y)


change(_by_masked_mean, "of_the_likeliest", "takes log p of the likeliest word instead of the word y", "concept",
       ("_picked(logits, y)", "logits.log_softmax(-1).amax(-1)"))


@wrong("the vocabulary is counted without PAD: picks the log-probability of word y - 1", kind="concept")
def index_one_too_small(logits, y):
    return _masked_mean(_picked(logits, (y - 1).clamp(min=0)), y)


@wrong("the mask multiplies the logits instead of -log p, so each padded place adds log V to the sum", kind="concept")
def mask_on_the_logits(logits, y):
    real = y != PAD
    return -_picked(logits * real[..., None], y).sum() / real.sum()


@wrong("label smoothing of 0.1: a tenth of the weight goes to the whole vocabulary", kind="concept")
def label_smoothing(logits, y):
    log_p = logits.log_softmax(-1)
    picked = 0.9 * log_p.gather(-1, y[..., None])[..., 0] + 0.1 * log_p.mean(-1)
    return _masked_mean(picked, y)


@wrong("one-against-all cross-entropy with sigmoids instead of a softmax over the vocabulary", kind="concept")
def by_sigmoids(logits, y):
    at_y = F.one_hot(y, logits.shape[-1]).bool()
    picked = torch.where(at_y, F.logsigmoid(logits), F.logsigmoid(-logits)).sum(-1)
    return _masked_mean(picked, y)


change(_plain, "mask_from_predictions",
       "the mask is made of the predicted words (argmax is not PAD), not of y", "concept",
       ("y != PAD", "logits.argmax(-1) != PAD"))


@wrong("every place's prediction is held against every word of the batch: log_p[..., y] instead of one word a place",
       kind="shape")
def all_against_all(logits, y):
    log_p = logits.log_softmax(-1)[..., y]
    real = y != PAD
    return -(log_p * real).sum() / (real.sum() * y.numel())


@wrong("logits are flattened place by place (transposed) but y sentence by sentence, so they do not belong together",
       kind="shape")
def flattened_in_two_orders(logits, y):
    log_p = logits.transpose(0, 1).flatten(0, 1).log_softmax(-1)
    words = y.flatten()
    return _masked_mean(log_p.gather(-1, words[:, None])[:, 0], words)


@wrong("reshape(B, V, T) where a transposition is meant: the logits get mixed up", kind="shape")
def reshaped_not_transposed(logits, y):
    B, T, V = logits.shape
    log_p = logits.reshape(B, V, T).log_softmax(1)
    return _masked_mean(log_p.gather(1, y[:, None])[:, 0], y)


# --------------------------------------------------------------------------------------------- wrong: two mistakes


change(mean_of_means, "two_means_and_no_stop",
       "two mistakes: the mean of sentence means instead of the mean over words, and STOP is left out", "concept",
       ("y != PAD", "(y != PAD) & (y != STOP)"))


@wrong("two mistakes: softmax over the places instead of the vocabulary, and division by all places", kind="concept")
def two_axis_and_divisor(logits, y):
    picked = logits.log_softmax(1).gather(-1, y[..., None])[..., 0]
    return -torch.where(y != PAD, picked, 0.0).mean()


@wrong("two mistakes: the logarithm of a softmax (-inf for large logits), and the minus is missing", kind="concept")
def two_log_and_sign(logits, y):
    picked = logits.softmax(-1).log().gather(-1, y[..., None])[..., 0]
    return -_masked_mean(picked, y)


change(_plain, "two_bits_and_longest",
       "two mistakes: base-2 logarithm, and divided by the longest sentence's number of words", "concept",
       ("real.sum().clamp(min=1)", "math.log(2) / real.sum(1).max()"))
change(_by_masked_mean, "two_no_mask_and_float", "two mistakes: padding counts in the sum and in the number, and it is "
       "computed in float32 whatever the logits are", "concept",
       ("return _masked_mean(_picked(logits, y), y)", "return -_picked(logits.float(), y).mean()"))


# -------------------------------------------------------------------------------------------------- wrong: numerics


@wrong("logarithm of a softmax: -log p is inf once p underflows to 0 with large logits", kind="numerics")
def log_of_softmax(logits, y):
    p = torch.softmax(logits, dim=-1).gather(-1, y[..., None])[..., 0]
    return _masked_mean(p.log(), y)


@wrong("log(softmax + 1e-9): no -log p gets above 20.7, and gradients vanish there", kind="numerics")
def log_of_softmax_plus_eps(logits, y):
    p = torch.softmax(logits, dim=-1).gather(-1, y[..., None])[..., 0]
    return _masked_mean((p + 1e-9).log(), y)


@wrong("log-softmax by hand without subtracting the maximum: exp overflows for large logits", kind="numerics")
def exp_without_maximum(logits, y):
    log_p = logits - logits.exp().sum(-1, keepdim=True).log()
    return _masked_mean(log_p.gather(-1, y[..., None])[..., 0], y)


@wrong("one maximum for the whole batch is subtracted: a place with much smaller logits underflows to log 0",
       kind="numerics")
def one_maximum_for_the_batch(logits, y):
    z = logits - logits.max().detach()
    log_p = z - z.exp().sum(-1, keepdim=True).log()
    return _masked_mean(log_p.gather(-1, y[..., None])[..., 0], y)


change(one_maximum_for_the_batch, "mean_instead_of_maximum", "subtracts the mean of the logits instead of their "
       "maximum: exp overflows where one logit stands out", "numerics",
       (".max().detach()", ".mean(-1, keepdim=True)"))


@wrong("each -log p is cut at 100, so a word with log p of -300 counts as 100 and gets no gradient", kind="numerics")
def cut_at_hundred(logits, y):
    return _masked_mean(_picked(logits, y).clamp(min=-100), y)


@wrong("multiplies the probabilities of all words before one logarithm: the product underflows in long batches",
       kind="numerics")
def log_of_a_product(logits, y):
    real = y != PAD
    p = _picked(logits, y).exp()
    return -torch.where(real, p, 1.0).prod().log() / real.sum()


@wrong("p of the word is computed as 1 minus the sum of the others' probabilities: it cancels to 0 for small p",
       kind="numerics")
def one_minus_the_others(logits, y):
    p = logits.softmax(-1)
    others = p.masked_fill(F.one_hot(y, logits.shape[-1]).bool(), 0).sum(-1)
    return _masked_mean((1 - others).log(), y)


change(_plain, "eps_in_the_divisor",
       "0.001 is added to the number of words, so the loss of few words is visibly too small", "numerics",
       ("real.sum().clamp(min=1)", "(real.sum() + 1e-3)"))


@wrong("the log-softmax is computed in float16: three digits, and logits above 65504 become inf", kind="numerics")
def half_inside(logits, y):
    return _masked_mean(_picked(logits.half(), y).to(logits.dtype), y)


change(_plain, "counts_in_a_byte", "the number of words is summed in uint8: it wraps around at 256 words", "numerics",
       (".sum().clamp(min=1)", ".sum(dtype=torch.uint8)"))


@wrong("the words are counted one by one in the logits' type: in bfloat16 the count sticks at 256", kind="numerics")
def counts_in_bfloat16(logits, y):
    one, count = logits.new_ones(()), logits.new_zeros(())
    for word in y.flatten().tolist():
        if word != PAD:
            count = count + one
    return -torch.where(y != PAD, _picked(logits, y), 0.0).sum() / count


@wrong("the one-hot table compares word numbers in the logits' type: in bfloat16 numbers above 256 collide",
       kind="numerics")
def words_as_floats(logits, y):
    V = logits.shape[-1]
    words = torch.arange(V, device=y.device).to(logits.dtype)
    at_y = words == y[..., None].to(logits.dtype)
    picked = torch.where(at_y, logits.log_softmax(-1), 0.0).sum(-1)
    return _masked_mean(picked, y)


change(_by_masked_mean, "words_in_int16",
       "word numbers go through int16: those from 32768 on become negative", "numerics",
       ("_picked(logits, y)", "_picked(logits, y.to(torch.int16).long())"))


@wrong("padding is not left out but given weight 0.01, in the sum and in the number", kind="numerics")
def padding_counts_a_little(logits, y):
    weight = torch.where(y != PAD, 1.0, 1e-2).to(logits.dtype)
    return -(weight * _picked(logits, y)).sum() / weight.sum()


# ---------------------------------------------------------------------------------------------------- wrong: layout


@wrong("logits.view(-1, V) raises if the logits are not contiguous", kind="layout")
def view_of_logits(logits, y):
    log_p = logits.view(-1, logits.shape[-1]).log_softmax(-1)
    words = y.reshape(-1)
    return _masked_mean(log_p.gather(-1, words[:, None])[:, 0], words)


@wrong("y.view(-1) raises if y is not contiguous", kind="layout")
def view_of_y(logits, y):
    words = y.view(-1)
    log_p = logits.reshape(len(words), -1).log_softmax(-1)
    return _masked_mean(log_p.gather(-1, words[:, None])[:, 0], words)


change(_plain, "squeeze_without_axis", "squeeze() without an axis: with T = 1 and several sentences the mask [B, 1] "
       "meets [B] and gives a [B, B] table", "layout",
       before("return", "picked = logits.log_softmax(-1).gather(-1, y[..., None]).squeeze()"),
       ("_picked(logits, y)", "picked"), (".sum().clamp(min=1)", ".sum()"))
change(_by_masked_mean, "guesses_the_layout", "where T = V the logits are taken for [B, V, T] and transposed", "layout",
       before("return", """
        if logits.shape[1] == logits.shape[2]:
            logits = logits.transpose(1, 2)"""))


# -------------------------------------------------------------------------------------------------- wrong: gradient


@wrong("the normaliser (logsumexp) is detached: right value, but the gradient lacks the softmax term", kind="gradient")
def normaliser_detached(logits, y):
    log_p = logits - logits.amax(-1, keepdim=True)
    log_p = log_p - log_p.logsumexp(-1, keepdim=True).detach()
    return _masked_mean(log_p.gather(-1, y[..., None])[..., 0], y)


@wrong("computed under no_grad: no gradient reaches the logits", kind="gradient")
def under_no_grad(logits, y):
    with torch.no_grad():
        return _masked_mean(_picked(logits, y), y)


@wrong("the result is rebuilt from a Python number with torch.tensor: it is cut off from the logits", kind="gradient")
def rebuilt_tensor(logits, y):
    losses = [-p for p, word in zip(_picked(logits, y).flatten().tolist(), y.flatten().tolist()) if word != PAD]
    return torch.tensor(sum(losses) / len(losses), dtype=logits.dtype, device=logits.device)


# ------------------------------------------------------------------------------------- wrong: interface and the rest


@wrong("subtracts the maximum from the logits in place: the caller's logits are changed", kind="interface")
def changes_the_logits(logits, y):
    with torch.no_grad():
        logits -= logits.amax(-1, keepdim=True)
    return _masked_mean(_picked(logits, y), y)


@wrong("writes -100 into y at the padding: the caller's y is changed", kind="interface")
def changes_y(logits, y):
    real = y != PAD
    y[~real] = -100
    picked = logits.log_softmax(-1).gather(-1, y.clamp(min=0)[..., None])[..., 0]
    return -torch.where(real, picked, 0.0).sum() / real.sum()


change(_by_masked_mean, "always_float32",
       "casts to float32: float64 and bfloat16 logits give a float32 loss", "interface",
       ("_picked(logits, y)", "_picked(logits.float(), y)"))
change(_plain, "count_in_double",
       "the count is a float64 tensor without axes, so float32 and bfloat16 logits give a float64 loss", "interface",
       (".sum().clamp(min=1)", ".double().sum()"))


@wrong("adds up in place in torch.zeros(()) of the default type: float64 logits give a float32 loss", kind="interface")
def total_in_default_type(logits, y):
    total = torch.zeros((), device=logits.device)
    for t in range(y.shape[1]):
        total += torch.where(y[:, t] != PAD, _picked(logits, y)[:, t], 0.0).sum()
    return -total / (y != PAD).sum()


@wrong("the zeros for the padding are always made on the CPU: it raises for inputs on another device", kind="interface")
def zeros_on_the_cpu(logits, y):
    real = y != PAD
    zeros = torch.zeros(*y.shape, dtype=logits.dtype)
    return -torch.where(real, _picked(logits, y), zeros).sum() / real.sum()


change(_by_masked_mean, "python_number", "returns a Python number instead of a tensor", "interface",
       ("_masked_mean(_picked(logits, y), y)", "_masked_mean(_picked(logits, y), y).item()"))


@wrong("the result has shape [1] instead of no axes", kind="interface")
def one_axis_left(logits, y):
    words = y.reshape(1, -1)
    real = words != PAD
    picked = _picked(logits, y).reshape(1, -1)
    return -torch.where(real, picked, 0.0).sum(1) / real.sum(1)


change(_by_masked_mean, "loss_and_count",
       "returns the pair (loss, number of words) instead of the loss alone", "interface",
       ("_masked_mean(_picked(logits, y), y)", "_masked_mean(_picked(logits, y), y), (y != PAD).sum()"))


@right("the second argument is called targets: a call with y= by keyword raises")
def other_name(logits, targets):
    return _masked_mean(_picked(logits, targets), targets)


@wrong("keeps sum and count from call to call and returns the mean over all calls so far", kind="interface")
def mean_over_all_calls(logits, y):
    real = y != PAD
    total = -torch.where(real, _picked(logits, y), 0.0).sum()
    before = _seen.get(logits.dtype, (0.0, 0))
    loss = (total + before[0]) / (real.sum() + before[1])
    _seen[logits.dtype] = (before[0] + total.item(), before[1] + int(real.sum()))
    return loss


_seen = {}


@wrong("smooths the labels by 0.1 whenever the logits require gradients, so the value depends on requires_grad",
       kind="module")
def smooths_in_training(logits, y):
    log_p = logits.log_softmax(-1)
    picked = log_p.gather(-1, y[..., None])[..., 0]
    if logits.requires_grad:
        picked = 0.9 * picked + 0.1 * log_p.mean(-1)
    return _masked_mean(picked, y)


@wrong("F.cross_entropy with ignore_index, which the text does not allow here", kind="process")
def torchs_cross_entropy(logits, y):
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=PAD)


@wrong("nn.NLLLoss on the log_softmax, which is torch's nll_loss and not allowed here", kind="process")
def torchs_nll_module(logits, y):
    return nn.NLLLoss(ignore_index=PAD)(logits.flatten(0, 1).log_softmax(-1), y.flatten())


change(_plain, "mask_as_a_prefix", "counts the words of a sentence and takes that many places from the left, so "
       "padding at the left or in the middle is counted and words after it are lost", "edge",
       ("y != PAD", "torch.arange(y.shape[1], device=y.device) < (y != PAD).sum(1, keepdim=True)"),
       (".sum().clamp(min=1)", ".sum()"))


@wrong("a sentence ends at its first STOP: of a sentence without STOP (argmax of nothing is 0) only the first word "
       "counts",
       kind="edge")
def ends_at_stop(logits, y):
    lengths = (y == STOP).int().argmax(1, keepdim=True) + 1
    real = torch.arange(y.shape[1], device=y.device) < lengths
    return -torch.where(real, _picked(logits, y), 0.0).sum() / real.sum()


@wrong("a batch of one sentence is taken to have no padding: with B = 1 padded places count", kind="edge")
def single_sentence_unmasked(logits, y):
    real = (y != PAD) if len(y) > 1 else torch.ones_like(y, dtype=torch.bool)
    return -torch.where(real, _picked(logits, y), 0.0).sum() / real.sum()


change(_by_masked_mean, "one_hot_too_narrow", "the one-hot table is as wide as the largest word of the batch: it "
       "raises if the vocabulary's last word is not in y", "edge",
       before("return", "picked = (F.one_hot(y) * logits.log_softmax(-1)).sum(-1)"), ("_picked(logits, y)", "picked"))
change(_by_masked_mean, "at_most_128_places", "only the first 128 places of the sentences are read", "edge",
       before("return", "logits, y = logits[:, :128], y[:, :128]"))
