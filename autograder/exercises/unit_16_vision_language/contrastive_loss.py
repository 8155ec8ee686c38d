"""Exercise 1: the symmetric contrastive loss of CLIP."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_16_vision_language._shared import OF_DIRECTIONS, pairs


def _alike(inputs, rng):
    """Every picture is the first, and so is every text: nothing tells the pairs apart."""
    for name in ("images", "texts"):
        inputs[name][:] = inputs[name][:1]


def _exchanged(inputs, rng):
    """The first text says the opposite of its picture, and the second what the first should."""
    inputs["texts"][0], inputs["texts"][1] = -inputs["images"][0], inputs["images"][0]


def _case(text, temperature, **more):
    return Case(text, values={"temperature": temperature}, **more)


@exercise(
    points=3,
    section="CLIP: one space for pictures and captions",
    source="Radford et al. 2021 (CLIP), figure 3",
    outputs="loss",
    formula="S_ij = cos(image_i, text_j) / τ; loss = ½ · mean_i (−log softmax over j of S_i at j = i) + ½ · mean_j (−log softmax"
    " over i of S_ij at i = j), for images [N, D] and texts [N, D]",
    cases=[
        _case("a few pairs", 0.5, sizes={"N": 5, "D": 7}),
        _case("a low temperature", 0.1),
        _case("another temperature", 0.3),
        _case("a temperature above 1", 2.0, edge=True),
        _case("pairs of one word and one picture", 0.7, edge=True, sizes={"N": 1}),
        _case("pairs that are all the same", 0.4, edge=True, edit=_alike),
        _case("a text that is another picture's, at a low temperature", 0.01, edge=True, extreme=True, edit=_exchanged),
        _case("a temperature below 1/100", 0.005, edge=True, extreme=True),
        _case("CLIP's first temperature", 0.07, edge=True, extreme=True),
    ],
    draws=pairs,
    waived=OF_DIRECTIONS,
)
def contrastive_loss(
    images: Float[Tensor, "N D"], texts: Float[Tensor, "N D"], temperature: float
) -> Float[Tensor, ""]:
    S = F.normalize(images) @ F.normalize(texts).mT / temperature
    return -(S.log_softmax(dim=1).diagonal() + S.log_softmax(dim=0).diagonal()).mean() / 2


def _scores(images, texts, temperature):
    return torch.cosine_similarity(images[:, None], texts[None], dim=-1) / temperature


def _asked(S):
    """The cross-entropy where each row is to find its own column."""
    return F.cross_entropy(S, torch.arange(len(S), device=S.device))


@contrastive_loss.misconception
def pictures_ask_alone(images, texts, temperature):
    """Only the pictures ask which text is theirs: the softmax runs over the texts. The loss has a second half, in which each
    text asks for its picture, with the softmax over the pictures; it is the mean of the two."""
    return _asked(_scores(images, texts, temperature))


@contrastive_loss.misconception
def texts_ask_alone(images, texts, temperature):
    """Only the texts ask which picture is theirs: the softmax runs over the pictures. The loss has a second half, in which each
    picture asks for its text, with the softmax over the texts; it is the mean of the two."""
    return _asked(_scores(images, texts, temperature).mT)


@contrastive_loss.misconception
def halves_added(images, texts, temperature):
    """The loss is twice as large as it should be: are its two halves added? It is their mean."""
    S = _scores(images, texts, temperature)
    return _asked(S) + _asked(S.mT)


@contrastive_loss.misconception
def not_normalised(images, texts, temperature):
    """The scores are dot products of the vectors as they are, so long vectors win. A cosine looks at directions alone: divide
    each vector by its length first."""
    S = images @ texts.mT / temperature
    return (_asked(S) + _asked(S.mT)) / 2


@contrastive_loss.misconception
def one_side_normalised(images, texts, temperature):
    """Only one of the two sets of vectors is divided by its lengths. A cosine needs both."""
    S = F.normalize(images, dim=-1) @ texts.mT / temperature
    return (_asked(S) + _asked(S.mT)) / 2


@contrastive_loss.misconception
def lengths_over_the_batch(images, texts, temperature):
    """The vectors are divided by lengths along the batch, feature by feature. Each picture and each text has a length of its
    own, along the last axis: dim=-1."""
    S = F.normalize(images, dim=0) @ F.normalize(texts, dim=0).mT / temperature
    return (_asked(S) + _asked(S.mT)) / 2


@contrastive_loss.misconception
def multiplied_by_the_temperature(images, texts, temperature):
    """The cosines are multiplied by the temperature. They are divided by it: a low temperature makes the softmax sharp."""
    S = _scores(images, texts, 1 / temperature)
    return (_asked(S) + _asked(S.mT)) / 2


@contrastive_loss.misconception
def temperature_left_out(images, texts, temperature):
    """The temperature is left out: the scores are the cosines as they are. They are divided by τ, since between −1 and 1 a
    softmax could never be sure."""
    S = _scores(images, texts, 1.0)
    return (_asked(S) + _asked(S.mT)) / 2


@contrastive_loss.misconception
def lengths_squared(images, texts, temperature):
    """The vectors are divided by their squared lengths. The length is the root of the sum of squares."""
    images, texts = (one / one.square().sum(dim=-1, keepdim=True) for one in (images, texts))
    S = images @ texts.mT / temperature
    return (_asked(S) + _asked(S.mT)) / 2


@contrastive_loss.misconception
def softmax_over_all_pairs(images, texts, temperature):
    """One softmax runs over all N·N pairs at once. Each picture chooses among the N texts, and each text among the N pictures:
    one softmax for each row, one for each column."""
    S = _scores(images, texts, temperature)
    return -S.flatten().log_softmax(dim=0).view_as(S).diagonal().mean()


@contrastive_loss.misconception
def every_pair_called_right(images, texts, temperature):
    """The mean runs over all N·N pairs, so that every text is called right for every picture. Right is the diagonal: text i for
    picture i."""
    S = _scores(images, texts, temperature)
    return -(S.log_softmax(dim=1) + S.log_softmax(dim=0)).mean() / 2


@contrastive_loss.misconception
def pair_left_out_below(images, texts, temperature):
    """The denominator leaves out the pair itself. A softmax has its own score below the line too, so that probabilities sum to 1
    and the loss is never negative."""
    S = _scores(images, texts, temperature)
    if len(S) == 1:
        return S.sum() * 0
    others = S.masked_fill(torch.eye(len(S), dtype=torch.bool, device=S.device), -torch.inf)
    return (others.logsumexp(dim=1) + others.logsumexp(dim=0) - 2 * S.diagonal()).mean() / 2


@contrastive_loss.misconception
def probability_for_its_logarithm(images, texts, temperature):
    """The number is one minus the mean probability of the right partner. The loss is the mean of −log of these probabilities,
    which grows without bound where the right partner is thought unlikely."""
    S = _scores(images, texts, temperature)
    return 1 - (S.softmax(dim=1).diagonal() + S.softmax(dim=0).diagonal()).mean() / 2


@contrastive_loss.alternative
def by_cross_entropy(images, texts, temperature):
    S = _scores(images, texts, temperature)
    return (_asked(S) + _asked(S.mT)) / 2


@contrastive_loss.alternative
def by_logsumexp(images, texts, temperature):
    images, texts = (one / one.norm(dim=-1, keepdim=True) for one in (images, texts))
    S = torch.einsum("id,jd->ij", images, texts) / temperature
    return (S.logsumexp(dim=1) + S.logsumexp(dim=0) - 2 * S.diagonal()).mean() / 2


@contrastive_loss.alternative
def pair_by_pair(images, texts, temperature):
    loss = 0
    for i in range(len(images)):
        of_image = torch.stack([torch.cosine_similarity(images[i], text, dim=0) for text in texts]) / temperature
        of_text = torch.stack([torch.cosine_similarity(image, texts[i], dim=0) for image in images]) / temperature
        loss = loss - of_image.log_softmax(dim=0)[i] - of_text.log_softmax(dim=0)[i]
    return loss / (2 * len(images))
