"""Exercise 7: how many bits a model of pixels in raster order spends on a picture."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

WIDE = {"logits": 2.0}
LARGE = 1500  # logits, among which a mistake may count for little


def _drawn(inputs, sizes, rng):
    """Pictures of independent pixels; others are drawn wherever a mistake would hardly show."""
    B, rows, columns, V = inputs["logits"].shape
    spread = max(1.0, inputs["logits"].std())
    for _ in range(8):
        pictures = rng.integers(0, V, size=(B, rows, columns))
        if inputs["logits"].size > LARGE or _shows(inputs["logits"], pictures):
            break
        inputs["logits"] = (rng.standard_normal((B, rows, columns, V)) * spread).astype(np.float32)
    return {"pictures": pictures}


def _shows(logits, pictures) -> bool:
    """Whether each mistake gives what is right, or something else by enough for some picture."""
    given = torch.from_numpy(logits), torch.from_numpy(pictures)
    right = bits_per_pixel.reference(*given)
    off = [(mistake.object(*given) - right).abs() / (1 + right) for mistake in bits_per_pixel.misconceptions]
    return all(one.max() < 1e-6 or not one.max() < 0.003 for one in off)


@exercise(
    points=2,
    section="Pictures written pixel by pixel",
    source="van den Oord et al. 2016 (Pixel Recurrent Neural Networks), section 5; Parmar et al. 2018 (Image Transformer)",
    outputs="bits",
    formula="with x_0, …, x_(N−1) the pixels of a picture in raster order and N = rows·columns: bits = (log₂ V + Σ_(n≥1) −log₂"
    " p(x_n)) / N, where p = softmax of the logits at pixel n − 1; logits [B, rows, columns, V], pictures [B, rows, columns];"
    " bits [B]",
    cases=[
        Case("a few pictures", sizes={"rows": 3, "columns": 4}, scale=WIDE),
        Case("pictures that are higher than wide", sizes={"rows": 5, "columns": 2}, scale=WIDE),
        Case("pictures in black and white", sizes={"V": 2}, scale=WIDE),
        Case("as many rows as columns", sizes={"rows": 3, "columns": "rows", "V": 5}, scale=WIDE),
        Case("logits in the hundreds", sizes={"rows": 3, "columns": 4}, scale={"logits": 150.0}, edge=True),
        Case("pixels of 256 values", sizes={"B": 2, "rows": 3, "columns": 4, "V": 256}, scale=WIDE, edge=True),
        Case("a single pixel", sizes={"rows": 1, "columns": 1}, edge=True),
    ],
    draws=_drawn,
    equivalent={
        "flatten(1, 2)[:, :].log_softmax(dim=-1).gather(-1, pixels[:, 1:, None])": "gather leaves the last logits over"
    },
)
def bits_per_pixel(
    logits: Float[Tensor, "B rows columns V"], pictures: Int[Tensor, "B rows columns"]
) -> Float[Tensor, "B"]:
    pixels, V = pictures.flatten(1), logits.shape[-1]
    log_p = logits.flatten(1, 2)[:, :-1].log_softmax(dim=-1).gather(-1, pixels[:, 1:, None])
    return (math.log(V) - log_p.sum(dim=(1, 2))) / math.log(2) / pixels.shape[1]


def _rest(logits, pictures):
    """Bits of each pixel but the first [B, N − 1], those of the first, and how many pixels there are."""
    log_p = logits.flatten(1, 2)[:, :-1].log_softmax(dim=-1).gather(-1, pictures.flatten(1)[:, 1:, None])
    return -log_p.squeeze(-1) / math.log(2), math.log2(logits.shape[-1]), pictures.flatten(1).shape[1]


def _at_once(logits, pictures):
    """−log₂ p of the pixels [B, …, rows, columns] at which the logits stand."""
    return -logits.log_softmax(dim=-1).gather(-1, pictures.unsqueeze(-1)).squeeze(-1) / math.log(2)


@bits_per_pixel.misconception
def in_nats(logits, pictures):
    """The result is in nats: the logarithm is the natural one. Bits are counted with the logarithm to base 2, so divide by ln 2,
    for the first pixel too."""
    rest, first, N = _rest(logits, pictures)
    return (first + rest.sum(1)) * math.log(2) / N


@bits_per_pixel.misconception
def not_shifted(logits, pictures):
    """Each pixel is compared with the logits that stand at the pixel itself. These have seen it already and predict the next one:
    the logits at pixel n − 1 predict pixel n, and nothing predicts the first."""
    return _at_once(logits, pictures).mean(dim=(1, 2))


@bits_per_pixel.misconception
def not_shifted_but_the_first(logits, pictures):
    """The first pixel counts as uniform, but the others are compared with the logits that stand at their own place. These predict
    the pixel after it: compare pixel n with the logits at pixel n − 1."""
    rest = _at_once(logits, pictures).flatten(1)[:, 1:]
    return (math.log2(logits.shape[-1]) + rest.sum(1)) / pictures[0].numel()


@bits_per_pixel.misconception
def shifted_the_other_way(logits, pictures):
    """The shift goes the other way: each pixel is compared with the logits of the pixel that comes after it. A model that writes
    pixel n knows those before it, so pixel n is predicted by the logits at pixel n − 1."""
    rest = _at_once(logits.flatten(1, 2)[:, 1:], pictures.flatten(1)[:, :-1])
    return (math.log2(logits.shape[-1]) + rest.sum(1)) / pictures[0].numel()


@bits_per_pixel.misconception
def rows_by_themselves(logits, pictures):
    """Every row begins anew: its first pixel counts as uniform. In raster order the last logits of a row predict the first pixel
    of the next row, and only the very first pixel of a picture is predicted by nothing."""
    bits = _at_once(logits[:, :, :-1], pictures[:, :, 1:])
    return (bits.sum(dim=(1, 2)) + pictures.shape[1] * math.log2(logits.shape[-1])) / pictures[0].numel()


@bits_per_pixel.misconception
def columns_for_rows(logits, pictures):
    """The pixels are taken column by column: logits are compared with the pixel below. In raster order the next pixel is the one
    to the right, and at the end of a row the first of the next row."""
    return bits_per_pixel.reference(logits.transpose(1, 2), pictures.transpose(1, 2))


@bits_per_pixel.misconception
def round_to_the_first(logits, pictures):
    """The first pixel is compared with the logits of the last one, as if the picture went round. The first pixel is predicted by
    nothing and counts log₂ V bits; the last logits predict nothing."""
    return _at_once(logits.flatten(1, 2).roll(1, dims=1), pictures.flatten(1)).mean(1)


@bits_per_pixel.misconception
def first_pixel_for_free(logits, pictures):
    """The first pixel costs nothing here. Nothing predicts it, so it counts as uniform: log₂ V bits are part of the sum that is
    divided by the number of all pixels."""
    rest, _, N = _rest(logits, pictures)
    return rest.sum(1) / N


@bits_per_pixel.misconception
def first_pixel_left_out(logits, pictures):
    """This is the mean over the pixels that are predicted; the first one is left out of it. Whoever wants to restore the picture
    needs it as well: it counts log₂ V bits, and the mean is over all rows·columns pixels."""
    return _rest(logits, pictures)[0].mean(1)


@bits_per_pixel.misconception
def first_pixel_in_nats(logits, pictures):
    """The first pixel counts ln V, which are nats, while the others are in bits. It counts log₂ V."""
    rest, first, N = _rest(logits, pictures)
    return (rest.sum(1) + first * math.log(2)) / N


@bits_per_pixel.misconception
def probabilities_averaged(logits, pictures):
    """The probabilities of the pixels are averaged, and the logarithm is taken of their mean. The probability of a picture is a
    product, so the logarithms are added: take the logarithm of each pixel's probability, then the mean."""
    rest, first, N = _rest(logits, pictures)
    return -(((-rest * math.log(2)).exp().sum(1) + 2**-first) / N).log2()


@bits_per_pixel.misconception
def entropy(logits, pictures):
    """This is the mean entropy of the predicted distributions: the pixels of the pictures have no say in it. A pixel costs −log₂
    of the probability that it was given."""
    log_p = logits.flatten(1, 2)[:, :-1].log_softmax(-1)
    return (math.log(logits.shape[-1]) - (log_p.exp() * log_p).sum(dim=(1, 2))) / math.log(2) / pictures[0].numel()


@bits_per_pixel.misconception
def logarithm_of_a_softmax(logits, pictures):
    """The formula is right, but not for large logits: a small probability is rounded to 0, or exp overflows, and what comes of it
    is not finite. log_softmax computes the logarithm of the softmax in one step and stays finite."""
    p = logits.flatten(1, 2)[:, :-1].softmax(-1).gather(-1, pictures.flatten(1)[:, 1:, None])
    return (math.log2(logits.shape[-1]) - p.log2().sum(dim=(1, 2))) / pictures[0].numel()


@bits_per_pixel.misconception
def first_pixels_of_rows_missing(logits, pictures):
    """The bits of the pixels that begin a row, the very first apart, are missing. They are not free: the last logits of a row
    predict the first pixel of the next row."""
    bits = _at_once(logits[:, :, :-1], pictures[:, :, 1:])
    return (bits.sum(dim=(1, 2)) + math.log2(logits.shape[-1])) / pictures[0].numel()


@bits_per_pixel.alternative
def uniform_logits_in_front(logits, pictures):
    """Equal logits in front of the others make the first pixel uniform."""
    shifted = F.pad(logits.flatten(1, 2)[:, :-1], (0, 0, 1, 0))
    return F.cross_entropy(shifted.mT, pictures.flatten(1), reduction="none").mean(1) / math.log(2)


@bits_per_pixel.alternative
def one_hot_pixels(logits, pictures):
    B, N, V = len(pictures), pictures[0].numel(), logits.shape[-1]
    z = logits.reshape(B, N, V)
    log_p = z - z.logsumexp(dim=-1, keepdim=True)
    hot = F.one_hot(pictures.reshape(B, N), V).to(logits.dtype)
    return (math.log2(V) - torch.einsum("bnv,bnv->b", log_p[:, : N - 1], hot[:, 1:]) / math.log(2)) / N


@bits_per_pixel.alternative
def pixel_by_pixel(logits, pictures):
    B, rows, columns, V = logits.shape
    bits = torch.full_like(logits[:, 0, 0, 0], math.log2(V)) + 0 * logits[:, -1, -1, 0]
    for n in range(1, rows * columns):
        before = logits[:, (n - 1) // columns, (n - 1) % columns]
        pixel = pictures[:, n // columns, n % columns]
        bits = bits + before.logsumexp(-1) / math.log(2) - before[torch.arange(B), pixel] / math.log(2)
    return bits / (rows * columns)
