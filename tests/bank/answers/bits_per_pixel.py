"""Answers to bits_per_pixel (assignment 12)."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

LN2 = math.log(2)


def _flat(logits, pictures):
    """[B, N, V] and [B, N]"""
    return logits.reshape(len(logits), -1, logits.shape[-1]), pictures.reshape(len(pictures), -1)


def _costs(z, x):
    """Nats of each pixel of x under the logits that stand at the same place of z."""
    return -torch.log_softmax(z, dim=-1).gather(-1, x.unsqueeze(-1)).squeeze(-1)


# ---------------------------------------------------------------- right


@right("Flattened, sliced, cross_entropy without a reduction, the first pixel added at the end")
def flattened_and_sliced(logits, pictures):
    z, x = _flat(logits, pictures)
    nats = F.cross_entropy(z[:, :-1].transpose(1, 2), x[:, 1:], reduction="none").sum(dim=1)
    return (nats / LN2 + math.log2(logits.shape[-1])) / x.shape[1]


@right("Zeros in front of the logits: their softmax is uniform, so no pixel is special")
def zeros_in_front(logits, pictures):
    z, x = _flat(logits, pictures)
    z = torch.cat([torch.zeros_like(z[:, :1]), z[:, :-1]], dim=1)
    return _costs(z, x).mean(dim=1) / LN2


@right("roll, and the first place overwritten by zeros")
def rolled_and_overwritten(logits, pictures):
    z, x = _flat(logits, pictures)
    z = z.roll(1, dims=1)
    place = torch.arange(z.shape[1], device=z.device)[:, None]
    return _costs(z.masked_fill(place == 0, 0.0), x).mean(1).mul(1 / LN2)


@right("Plain loops over pictures and pixels")
def loops_over_pixels(logits, pictures):
    z, x = _flat(logits, pictures)
    result = []
    for scores, values in zip(z, x):
        bits = scores.sum() * 0 + math.log2(scores.shape[-1])
        for n in range(1, len(values)):
            bits = bits + (scores[n - 1].logsumexp(0) - scores[n - 1][values[n]]) / LN2
        result.append(bits / len(values))
    return torch.stack(result)


@right("Base 2 all through: logits divided by ln 2, powers of two, their largest taken off first")
def powers_of_two(logits, pictures):
    z, x = _flat(logits, pictures)
    z = z[:, :-1] / LN2
    z = z - z.amax(-1, keepdim=True).detach()
    total = torch.log2(torch.exp2(z).sum(-1)) - torch.take_along_dim(z, x[:, 1:, None], dim=-1)[..., 0]
    return (total.sum(-1) + math.log2(logits.shape[-1])) / x.shape[1]


@right("One-hot pixels and an einsum")
def one_hot_einsum(logits, pictures):
    z, x = _flat(logits, pictures)
    V = z.shape[-1]
    hot = F.one_hot(x, V).to(z.dtype)
    nats = -torch.einsum("bnv,bnv->b", z.log_softmax(-1)[:, :-1], hot[:, 1:])
    return (nats + math.log(V)) / (LN2 * x.shape[1])


@right("torch.distributions.Categorical with the shifted pictures")
def by_categorical(logits, pictures):
    z, x = _flat(logits, pictures)
    nats = -torch.distributions.Categorical(logits=z, validate_args=False).log_prob(x.roll(-1, 1))
    keep = torch.arange(x.shape[1], device=x.device) < x.shape[1] - 1
    return (torch.where(keep, nats, torch.zeros_like(nats)).sum(1) + math.log(z.shape[-1])) / LN2 / x.shape[1]


@right("In two pieces: within the rows, and from the end of each row to the next")
def rows_and_their_seams(logits, pictures):
    B, rows, columns, V = logits.shape
    within = _costs(logits[:, :, :-1], pictures[:, :, 1:]).flatten(1).sum(1)
    seams = _costs(logits[:, :-1, -1], pictures[:, 1:, 0]).sum(1)
    return (within + seams + math.log(V)) / (rows * columns * LN2)


@right("One long batch: cross_entropy of all pairs at once, then back to pictures")
def one_long_batch(logits, pictures):
    z, x = _flat(logits, pictures)
    B, N, V = z.shape
    nats = F.cross_entropy(z[:, : N - 1].reshape(-1, V), x[:, 1:].reshape(-1), reduction="none")
    return (
        torch.log2(torch.tensor(float(V), device=z.device, dtype=z.dtype)) / N + nats.reshape(B, N - 1).sum(1) / N / LN2
    )


# Right, and not registered: answers below are changes of it.
def _plain(logits, pictures):
    z, x = _flat(logits, pictures)
    return (_costs(z[:, :-1], x[:, 1:]).sum(1) + math.log(z.shape[-1])) / LN2 / x.shape[1]


# ---------------------------------------------------------------- wrong: what is counted


change(_plain, "nats", "nats in place of bits", "concept",
       ("LN2 / x.shape[1]", "x.shape[1]"))


# Right, and not registered: answers below are changes of it.
def _first_apart(logits, pictures):
    z, x = _flat(logits, pictures)
    return (_costs(z[:, :-1], x[:, 1:]).sum(1) / LN2 + math.log2(z.shape[-1])) / x.shape[1]


change(_first_apart, "first_in_nats",
       "only the predicted pixels are converted to bits, the first one counts ln V", "concept",
       ("math.log2", "np.log"))
change(_first_apart, "others_in_nats", "the first pixel counts log2 V bits but the others are in nats", "concept",
       (".sum(1) / LN2", ".sum(1)"))
change(_plain, "times_ln2", "multiplied by ln 2 in place of divided", "concept",
       ("/ LN2", "* LN2"))
change(_plain, "decimal_digits", "logarithm to base 10", "concept",
       ("LN2", "math.log(10)"))


@wrong("no shift: logits are compared with the pixel of their own place", kind="concept")
def without_shift(logits, pictures):
    return F.cross_entropy(logits.movedim(-1, 1), pictures, reduction="none").mean((1, 2)) / LN2


@wrong("no shift, and the first pixel counts as uniform all the same", kind="concept")
def uniform_without_shift(logits, pictures):
    z, x = _flat(logits, pictures)
    costs = _costs(z, x)
    costs = torch.cat([torch.full_like(costs[:, :1], math.log(z.shape[-1])), costs[:, 1:]], dim=1)
    return costs.mean(1) / LN2


change(_plain, "uniform_on_top", "no shift, and the uniform pixel is added to all N", "concept",
       ("z[:, :-1], x[:, 1:]", "z, x"))
change(_plain, "last_dropped", "no shift, and the last pixel is left out", "concept",
       ("x[:, 1:]", "x[:, :-1]"))
change(_plain, "backwards", "the shift goes the wrong way: logits predict the pixel before", "concept",
       ("z[:, :-1], x[:, 1:]", "z[:, 1:], x[:, :-1]"))
change(_plain, "shifted_by_two", "shifted by two", "concept",
       ("z[:, :-1], x[:, 1:]", "z[:, :-2], x[:, 2:]"), ("math.log(z.shape[-1])", "2 * math.log(z.shape[-1])"))


@wrong("the logits of the last pixel predict the first (roll)", kind="concept")
def rolled(logits, pictures):
    z, x = _flat(logits, pictures)
    return _costs(torch.roll(z, 1, dims=1), x).mean(1) / LN2


@wrong("pictures rolled to the left: the last logits predict the first pixel", kind="concept")
def pictures_rolled(logits, pictures):
    z, x = _flat(logits, pictures)
    return F.cross_entropy(z.mT, x.roll(-1, 1), reduction="none").mean(1) / LN2


@wrong("each row by itself: first pixels of rows are uniform", kind="concept")
def each_row_uniform(logits, pictures):
    bits = _costs(logits[:, :, :-1], pictures[:, :, 1:]) / LN2
    bits = F.pad(bits, (1, 0), value=math.log2(logits.shape[-1]))
    return bits.mean(dim=(1, 2))


@wrong("each row by itself: first pixels of rows are left out, and the mean is over the others", kind="concept")
def each_row_without_its_first(logits, pictures):
    bits = _costs(logits[:, :, :-1], pictures[:, :, 1:]) / LN2
    return bits.flatten(1).sum(1) / max(1, bits[0].numel())


@wrong("each row by itself, only the very first pixel counts as uniform", kind="concept")
def seams_forgotten(logits, pictures):
    bits = _costs(logits[:, :, :-1], pictures[:, :, 1:]).flatten(1).sum(1) / LN2
    return (bits + math.log2(logits.shape[-1])) / pictures[0].numel()


@wrong("rolled within each row", kind="concept")
def rolled_within_rows(logits, pictures):
    return _costs(logits.roll(1, dims=2), pictures).mean((1, 2)) / LN2


@wrong("the logits predict the pixel below", kind="concept")
def pixel_below(logits, pictures):
    below = _costs(logits[:, :-1], pictures[:, 1:]).sum((1, 2)) / LN2
    return (below + pictures.shape[2] * math.log2(logits.shape[-1])) / pictures[0].numel()


@wrong("column by column", kind="concept")
def by_columns(logits, pictures):
    return flattened_and_sliced(logits.permute(0, 2, 1, 3), pictures.permute(0, 2, 1))


@wrong("the pictures alone are flattened column by column", kind="layout")
def pictures_by_columns(logits, pictures):
    return flattened_and_sliced(logits, pictures.transpose(1, 2))


@wrong("view of the logits as [B, V, N] instead of a transpose", kind="layout")
def viewed_as_channels(logits, pictures):
    B, rows, columns, V = logits.shape
    z, x = logits.reshape(B, V, rows * columns), pictures.reshape(B, -1)
    return (F.cross_entropy(z[..., :-1], x[:, 1:], reduction="none").sum(1) + math.log(V)) / LN2 / x.shape[1]


change(_plain, "first_is_free", "the first pixel costs nothing", "concept",
       ("(_costs(z[:, :-1], x[:, 1:]).sum(1) + math.log(z.shape[-1]))", "_costs(z[:, :-1], x[:, 1:]).sum(1)"))


@wrong("the mean over the N - 1 predicted pixels", kind="concept")
def mean_of_the_predicted(logits, pictures):
    z, x = _flat(logits, pictures)
    return _costs(z[:, :-1], x[:, 1:]).sum(1) / LN2 / max(1, x.shape[1] - 1)


change(_plain, "all_by_one_less", "the sum of all N divided by N - 1", "concept",
       ("x.shape[1]", "max(1, x.shape[1] - 1)"))


@wrong("log2 V is added to the mean of the others", kind="concept")
def added_to_the_mean(logits, pictures):
    z, x = _flat(logits, pictures)
    return _costs(z[:, :-1], x[:, 1:]).sum(1) / LN2 / max(1, x.shape[1] - 1) + math.log2(z.shape[-1])


change(_first_apart, "eight_bits", "the first pixel counts 8 bits whatever V is", "concept",
       ("math.log2(z.shape[-1])", "8"))
change(_first_apart, "v_bits", "the first pixel counts V bits", "concept",
       ("math.log2(z.shape[-1])", "z.shape[-1]"))
change(_first_apart, "probability_of_the_first",
       "the first pixel's probability 1/V is added in place of its logarithm", "concept",
       ("math.log2(z.shape[-1])", "1 / z.shape[-1]"))
change(_first_apart, "first_subtracted", "the sign of the first pixel's bits is wrong", "concept",
       ("+ math.log2", "- math.log2"))
change(_plain, "values_from_the_pictures", "the number of values is taken from the pictures", "edge",
       before("return", "V = int(pictures.max()) + 1 if len(pictures) < 2 else len(torch.unique(pictures[0]))"),
       ("z.shape[-1]", "V"))


# ---------------------------------------------------------------- wrong: how it is put together


@wrong("the sum over the pixels in place of their mean", kind="concept")
def bits_of_the_picture(logits, pictures):
    return flattened_and_sliced(logits, pictures) * pictures[0].numel()


@wrong("divided by rows alone", kind="concept")
def by_rows_alone(logits, pictures):
    return flattened_and_sliced(logits, pictures) * pictures.shape[2]


@wrong("divided by three colours as well", kind="concept")
def three_channels(logits, pictures):
    return flattened_and_sliced(logits, pictures) / 3


@wrong("one number for the batch", kind="shape")
def mean_of_the_batch(logits, pictures):
    return flattened_and_sliced(logits, pictures).mean()


@wrong("the batch's mean, repeated for every picture", kind="concept")
def mean_repeated(logits, pictures):
    z, x = _flat(logits, pictures)
    B, N, V = z.shape
    loss = (
        F.cross_entropy(z[:, :-1].reshape(-1, V), x[:, 1:].reshape(-1), reduction="sum") / B if N > 1 else z.sum() * 0
    )
    return ((loss + math.log(V)) / LN2 / N).expand(B)


@wrong("bits of each pixel, not averaged", kind="shape")
def map_of_bits(logits, pictures):
    z, x = _flat(logits, pictures)
    bits = torch.cat([torch.full_like(z[:, :1, 0], math.log(z.shape[-1])), _costs(z[:, :-1], x[:, 1:])], 1) / LN2
    return bits.reshape(pictures.shape)


@wrong("keepdim: [B, 1]", kind="shape")
def kept_an_axis(logits, pictures):
    return flattened_and_sliced(logits, pictures).unsqueeze(-1)


@wrong("the sign is missing", kind="concept")
def negative_bits(logits, pictures):
    return -flattened_and_sliced(logits, pictures)


@wrong("the mean probability, then its logarithm", kind="concept")
def logarithm_of_the_mean(logits, pictures):
    z, x = _flat(logits, pictures)
    p = torch.exp(-_costs(z[:, :-1], x[:, 1:]))
    p = torch.cat([torch.full_like(z[:, :1, 0], 1 / z.shape[-1]), p], dim=1)
    return -torch.log2(p.mean(1))


@wrong("minus the mean probability, the logarithm is forgotten", kind="concept")
def mean_probability(logits, pictures):
    z, x = _flat(logits, pictures)
    p = torch.exp(-_costs(z[:, :-1], x[:, 1:]))
    return -(p.sum(1) + 1 / z.shape[-1]) / x.shape[1]


@wrong("two to the power of the bits: a perplexity", kind="concept")
def perplexity(logits, pictures):
    return 2 ** flattened_and_sliced(logits, pictures)


change(_plain, "entropy_of_the_predictions", "entropy of the predictions, pixels are not looked at", "concept",
       before("return", "H = torch.distributions.Categorical(logits=z[:, :-1], validate_args=False).entropy().sum(1)"),
       ("_costs(z[:, :-1], x[:, 1:]).sum(1)", "H"))
change(_plain, "likeliest_value", "the cost of the likeliest value, not of the one that is there", "concept",
       ("_costs(z[:, :-1], x[:, 1:]).sum(1)", "-z[:, :-1].log_softmax(-1).amax(-1).sum(1)"))
change(_plain, "no_softmax", "no softmax: logits are taken for log-probabilities", "concept",
       before("return", "chosen = z[:, :-1].gather(-1, x[:, 1:, None]).squeeze(-1)"),
       ("_costs(z[:, :-1], x[:, 1:]).sum(1)", "-chosen.sum(1)"))


@wrong("softmax before cross_entropy: twice", kind="concept")
def softmax_twice(logits, pictures):
    return flattened_and_sliced(logits.softmax(-1), pictures)


change(_plain, "softmax_over_pixels", "the softmax runs over the pixels", "concept",
       before("return", "chosen = z.log_softmax(1)[:, :-1].gather(-1, x[:, 1:, None]).squeeze(-1)"),
       ("_costs(z[:, :-1], x[:, 1:]).sum(1)", "-chosen.sum(1)"))


@wrong("the softmax runs over the columns", kind="concept")
def softmax_over_columns(logits, pictures):
    z, x = _flat(logits.log_softmax(2), pictures)
    chosen = z[:, :-1].gather(-1, x[:, 1:, None]).squeeze(-1)
    return (-chosen.sum(1) + math.log(z.shape[-1])) / LN2 / x.shape[1]


# ---------------------------------------------------------------- wrong: numbers, gradients, manners


@wrong("the logarithm of a softmax: infinite for large logits", kind="numerics")
def log_of_softmax(logits, pictures):
    z, x = _flat(logits, pictures)
    p = z.softmax(-1)[:, :-1].gather(-1, x[:, 1:, None]).squeeze(-1)
    return -(torch.log2(p).sum(1) - math.log2(z.shape[-1])) / x.shape[1]


change(log_of_softmax, "epsilon_in_the_logarithm", "the logarithm of a softmax with an epsilon: cut off", "numerics",
       (".log2(p).sum(1)", ".log2(p + 1e-9).sum(1)"))


@wrong("the probabilities are multiplied first: they underflow", kind="numerics")
def product_first(logits, pictures):
    z, x = _flat(logits, pictures)
    p = z.softmax(-1)[:, :-1].gather(-1, x[:, 1:, None]).squeeze(-1).prod(dim=1) / z.shape[-1]
    return -torch.log2(p) / x.shape[1]


@wrong("through numpy: no gradient", kind="gradient")
def by_numpy(logits, pictures):
    return flattened_and_sliced(logits.detach(), pictures)


@wrong("view in place of reshape: fails on views", kind="layout")
def viewed(logits, pictures):
    B, rows, columns, V = logits.shape
    return flattened_and_sliced(logits.view(B, rows * columns, 1, V), pictures.view(B, rows * columns, 1))


@wrong("the logits of the last pixel are overwritten in place", kind="interface")
def overwritten(logits, pictures):
    with torch.no_grad():
        logits[:, -1, -1] = 0
    z, x = _flat(logits, pictures)
    return _costs(z.roll(1, 1), x).mean(1) / LN2


# ---------------------------------------------------------------- of a second author, who knew the text alone


@right("log_softmax of all logits but the last, gather of all pixels but the first, log2 V on top")
def log_softmax_and_gather(logits, pictures):
    B, rows, columns, V = logits.shape
    logs = logits.reshape(B, rows * columns, V)[:, :-1].log_softmax(-1)
    picked = logs.gather(-1, pictures.reshape(B, -1)[:, 1:, None]).squeeze(-1)
    return (math.log2(V) - picked.sum(-1) / math.log(2)) / (rows * columns)


@right("cross_entropy without reduction, the first pixel as one more column")
def cross_entropy_and_cat(logits, pictures):
    B, V = logits.shape[0], logits.shape[-1]
    predicted, wanted = logits.flatten(1, 2)[:, :-1], pictures.flatten(1)[:, 1:]
    nats = F.cross_entropy(predicted.transpose(1, 2), wanted, reduction="none")
    first = nats.new_full((B, 1), math.log(V))
    return torch.cat([first, nats], 1).mean(1) / math.log(2)


@right("Logits of zeros are put in front: a uniform prediction of the first pixel")
def zeros_in_front_too(logits, pictures):
    shifted = F.pad(logits.flatten(1, 2)[:, :-1], (0, 0, 1, 0))
    nats = shifted.logsumexp(-1) - shifted.gather(-1, pictures.flatten(1).unsqueeze(-1))[..., 0]
    return nats.mean(-1) / math.log(2)


@right("Rolled by one pixel, and what came around is multiplied by zero")
def rolled_and_zeroed(logits, pictures):
    B, rows, columns, V = logits.shape
    flat = logits.reshape(B, -1, V).roll(1, dims=1)
    keep = torch.ones(rows * columns, 1, dtype=logits.dtype, device=logits.device)
    keep[0] = 0
    logs = F.log_softmax(flat * keep, dim=-1) * math.log2(math.e)
    return -(logs * F.one_hot(pictures.flatten(1), V)).sum((1, 2)) / (rows * columns)


@right("Plain loops, pixel after pixel in raster order")
def pixel_after_pixel(logits, pictures):
    B, rows, columns, V = logits.shape
    results = []
    for one, picture in zip(logits, pictures):
        bits, before = math.log2(V) + 0 * one[0, 0, 0], None
        for r in range(rows):
            for c in range(columns):
                if before is not None:
                    bits = bits - before.log_softmax(0)[picture[r, c]] / math.log(2)
                before = one[r, c]
        results.append(bits / (rows * columns))
    return torch.stack(results)


@right("torch.distributions.Categorical knows the log of the probabilities")
def by_categorical_too(logits, pictures):
    N = pictures[0].numel()
    before = torch.distributions.Categorical(logits=logits.flatten(1, 2)[:, : N - 1], validate_args=False)
    nats = -before.log_prob(pictures.flatten(1)[:, 1:]).sum(1)
    return (nats / math.log(2) + math.log2(logits.shape[-1])) / N


@right("One long list for the whole batch, nll_loss, and back to pictures")
def one_long_list(logits, pictures):
    B, rows, columns, V = logits.shape
    N = rows * columns
    logs = logits.reshape(B, N, V)[:, : N - 1].reshape(-1, V).log_softmax(1) / math.log(2)
    bits = F.nll_loss(logs, pictures.reshape(B, N)[:, 1:].reshape(-1), reduction="none").view(B, N - 1)
    return bits.sum(1) / N + math.log2(V) / N


@right("Advanced indexing, base-2 logs of a stable softmax by hand")
def base_two_by_hand(logits, pictures):
    B, rows, columns, V = logits.shape
    N = rows * columns
    scaled = logits.reshape(B, N, V) / math.log(2)
    largest = scaled.amax(-1, keepdim=True)
    total = torch.log2(torch.exp2(scaled - largest).sum(-1)) + largest[..., 0]
    b, t = torch.arange(B, device=logits.device)[:, None], torch.arange(N - 1, device=logits.device)
    bits = total[:, :-1] - scaled[b, t, pictures.reshape(B, N)[:, 1:]]
    return (bits.sum(1) + math.log2(V)) / N


@right("The wanted pixels are shifted to the left, the last one is ignored by cross_entropy")
def last_one_ignored(logits, pictures):
    B, rows, columns, V = logits.shape
    wanted = F.pad(pictures.flatten(1)[:, 1:], (0, 1), value=-100)
    nats = F.cross_entropy(logits.reshape(-1, V), wanted.flatten(), reduction="none", ignore_index=-100)
    return (nats.view(B, -1).sum(1) + math.log(V)) / (math.log(2) * rows * columns)


def _flat_too(logits, pictures):
    return logits.flatten(1, 2), pictures.flatten(1)


def _bits(logits, pictures):
    """Bits of pictures [B, N'] under logits [B, N', V]."""
    return -logits.log_softmax(-1).gather(-1, pictures.unsqueeze(-1)).squeeze(-1) / math.log(2)


def _first(logits):
    return math.log2(logits.shape[-1])


@wrong("bits for the predicted pixels, nats for the first: log V", kind="concept")
def first_in_nats_too(logits, pictures):
    z, x = _flat_too(logits, pictures)
    return (_bits(z[:, :-1], x[:, 1:]).sum(1) + math.log(logits.shape[-1])) / x.shape[1]


@wrong("the last logits of a row predict the first pixel of the same row (rolled along columns)", kind="concept")
def rolled_along_the_columns(logits, pictures):
    bits = _bits(logits.roll(1, 2), pictures).flatten(1)
    return (bits[:, 1:].sum(1) + _first(logits)) / bits.shape[1]


@wrong("the first pixel is free", kind="concept")
def first_pixel_free(logits, pictures):
    z, x = _flat_too(logits, pictures)
    return _bits(z[:, :-1], x[:, 1:]).sum(1) / x.shape[1]


@wrong("the first pixel weighs as much as all others: mean of two means", kind="concept")
def mean_of_two_means(logits, pictures):
    z, x = _flat_too(logits, pictures)
    return (_bits(z[:, :-1], x[:, 1:]).mean(1) + _first(logits)) / 2


change(first_pixel_free, "added_to_the_mean_too", "log2 V is added to the mean of the others", "concept",
       (".shape[1]", ".shape[1] + _first(logits)"))
change(first_in_nats_too, "one_bit_for_the_first", "the first pixel costs one bit", "concept",
       ("math.log(logits.shape[-1])", "1"))
change(first_in_nats_too, "log_of_the_pixels", "the first pixel costs log2 of the number of pixels", "concept",
       (".log(logits.shape[-1])", ".log2(x.shape[1])"))


@wrong("the first pixel is charged to the frequency of its value in the batch", kind="concept")
def first_by_its_frequency(logits, pictures):
    z, x = _flat_too(logits, pictures)
    frequency = (x[:, :1] == x[:, 0]).to(z.dtype).mean(1)
    return (_bits(z[:, :-1], x[:, 1:]).sum(1) - frequency.log2()) / x.shape[1]


@wrong("the pictures of a batch follow each other: the last logits of one predict the first pixel of the next", kind="concept")
def batch_as_one_sequence(logits, pictures):
    z, x = logits.flatten(0, 2)[None], pictures.flatten()[None]
    bits = F.pad(_bits(z[:, :-1], x[:, 1:]), (1, 0), value=_first(logits))
    return bits.view(len(logits), -1).mean(1)


@wrong("a softmax of base 2", kind="concept")
def softmax_of_base_two(logits, pictures):
    z, x = _flat_too(logits * math.log(2), pictures)
    return (_bits(z[:, :-1], x[:, 1:]).sum(1) + _first(logits)) / x.shape[1]


change(first_pixel_free, "sign_of_the_predicted", "only the predicted part has its sign wrong", "concept",
       ("_bits(z[:, :-1], x[:, 1:]).sum(1)", "(_first(logits) - _bits(z[:, :-1], x[:, 1:]).sum(1))"))


@wrong("divided by the number of columns, not of pixels", kind="concept")
def divided_by_columns(logits, pictures):
    z, x = _flat_too(logits, pictures)
    return (_bits(z[:, :-1], x[:, 1:]).sum(1) + _first(logits)) / pictures.shape[2]


change(divided_by_columns, "divided_by_v", "divided by V as well, like bits per dimension of V values", "concept",
       ("pictures.shape[2]", "(x.shape[1] * max(logits.shape[-1], 2))"))
change(first_pixel_free, "nats_and_first_free", "two mistakes: nats, and the first pixel free", "concept",
       ("_bits(z[:, :-1], x[:, 1:]).sum(1)", 'F.cross_entropy(z[:, :-1].mT, x[:, 1:], reduction="none").sum(1)'))


@wrong("two mistakes: no shift, and nats", kind="concept")
def no_shift_in_nats(logits, pictures):
    z, x = _flat_too(logits, pictures)
    return F.cross_entropy(z.mT, x, reduction="none").mean(1)


@wrong("two mistakes: the sum, and nats", kind="concept")
def sum_of_nats(logits, pictures):
    z, x = _flat_too(logits, pictures)
    nats = F.cross_entropy(z[:, :-1].mT, x[:, 1:], reduction="none").sum(1)
    return nats + math.log(logits.shape[-1])


@wrong("the mean of cross_entropy over the predicted pixels: NaN for a picture of one pixel", kind="edge")
def nan_for_one_pixel(logits, pictures):
    z, x = _flat_too(logits, pictures)
    N = x.shape[1]
    return (_bits(z[:, :-1], x[:, 1:]).mean(1) * (N - 1) + _first(logits)) / N


@wrong("256 values whatever V is: fails on any other", kind="edge")
def always_256_values(logits, pictures):
    z, x = logits.reshape(len(logits), -1, 256), pictures.flatten(1)
    return (_bits(z[:, :-1], x[:, 1:]).sum(1) + 8) / x.shape[1]


@wrong("squeezed: with one picture or one pixel an axis is lost", kind="edge")
def squeezed(logits, pictures):
    z, x = _flat_too(logits, pictures)
    bits = -z.log_softmax(-1).gather(-1, x.roll(-1, 1)[..., None]).squeeze() / math.log(2)
    return (bits[..., :-1].sum(-1) + _first(logits)) / x.shape[1]


@wrong("the mean of each row, [B, rows]", kind="shape")
def mean_of_each_row(logits, pictures):
    z, x = _flat_too(logits, pictures)
    return F.pad(_bits(z[:, :-1], x[:, 1:]), (1, 0), value=_first(logits)).view(pictures.shape).mean(-1)
