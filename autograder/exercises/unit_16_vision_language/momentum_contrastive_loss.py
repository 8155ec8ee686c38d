"""Exercise 2: BLIP's contrastive loss, with soft targets of slow copies of the encoders and a queue of earlier vectors."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_16_vision_language._shared import OF_DIRECTIONS, unit_pairs


def _case(text, temperature, alpha, **more):
    return Case(text, values={"temperature": temperature, "alpha": alpha}, **more)


@exercise(
    points=3,
    section="Targets from a slow copy, and a queue",
    source="Li et al. 2022 (BLIP), section 3.2, after Li et al. 2021 (ALBEF), equations 1 and 5",
    outputs="loss",
    formula="candidates of pictures: the N + K texts of the slow copy, [momentum_texts; text_queue]; scores image_i · text_j / τ;"
    " target_i = α · softmax_j(momentum_image_i · text_j / τ) + (1 − α) · one-hot at j = i; the loss of the pictures is mean_i"
    " −Σ_j target_ij log softmax_j(score_ij), that of the texts likewise; loss is the mean of both",
    cases=[
        _case("a batch and a queue", 0.4, 0.4, sizes={"N": 4, "K": 7, "D": 6}),
        _case("a low temperature", 0.1, 0.3, sizes={"N": 5, "K": 8, "D": 7}),
        _case("no soft targets yet", 0.5, 0.0, sizes={"N": 3, "K": 6, "D": 8}),
        _case("soft targets alone", 0.15, 1.0, sizes={"N": 5, "K": 3, "D": 7}),
        _case("one pair in the batch", 0.3, 0.4, edge=True, sizes={"N": 1, "K": 6}),
        _case("one pair in the queue", 0.3, 0.4, edge=True, sizes={"N": 4, "K": 1}),
    ],
    draws=unit_pairs,
    waived={**OF_DIRECTIONS, **dict.fromkeys(("zero", "large", "spread"), "all vectors are of length 1")},
    equivalent={"len(candidates), device=own.device)": "it holds 0 and 1, which every type has"},
)
def momentum_contrastive_loss(
    images: Float[Tensor, "N D"],
    texts: Float[Tensor, "N D"],
    momentum_images: Float[Tensor, "N D"],
    momentum_texts: Float[Tensor, "N D"],
    image_queue: Float[Tensor, "K D"],
    text_queue: Float[Tensor, "K D"],
    temperature: float,
    alpha: float,
) -> Float[Tensor, ""]:
    losses = []
    for own, slow, candidates in (
        (images, momentum_images, torch.cat([momentum_texts, text_queue])),
        (texts, momentum_texts, torch.cat([momentum_images, image_queue])),
    ):
        slow, candidates = slow.detach(), candidates.detach()
        first = torch.eye(len(own), len(candidates), dtype=own.dtype, device=own.device)
        target = alpha * (slow @ candidates.mT / temperature).softmax(dim=1) + (1 - alpha) * first
        losses.append(-(target * (own @ candidates.mT / temperature).log_softmax(dim=1)).sum(dim=1).mean())
    return sum(losses) / 2


def _half(own, slow, candidates, temperature, alpha, soft=None):
    """The loss of one side; `soft` makes the soft target out of the slow copy's scores in another way."""
    slow, candidates = slow.detach(), candidates.detach()
    S = slow @ candidates.mT / temperature
    soft = S.softmax(dim=1) if soft is None else soft(S)
    hard = F.one_hot(torch.arange(len(own), device=own.device), len(candidates)).to(own.dtype)
    target = alpha * soft + (1 - alpha) * hard
    return -(target * (own @ candidates.mT / temperature).log_softmax(dim=1)).sum(dim=1).mean()


def _both(images, texts, slow_images, slow_texts, image_queue, text_queue, temperature, alpha, **others):
    """The mean of both halves, whose candidates are what is given."""
    own = _half(images, slow_images, torch.cat([slow_texts, text_queue]), temperature, alpha, **others)
    return (own + _half(texts, slow_texts, torch.cat([slow_images, image_queue]), temperature, alpha, **others)) / 2


@momentum_contrastive_loss.misconception
def shares_exchanged(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    """α and 1 − α have changed places. α is the share of the soft target, 1 − α that of the pair itself."""
    given = images, texts, momentum_images, momentum_texts, image_queue, text_queue
    return _both(*given, temperature, 1 - alpha)


@momentum_contrastive_loss.misconception
def targets_by_the_learning_encoder(
    images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha
):
    """The soft targets are made of images and texts, the vectors that learn: then a network is its own teacher. They come from
    the slow copies, momentum_images and momentum_texts."""
    of_images = _half(images, images, torch.cat([momentum_texts, text_queue]), temperature, alpha)
    return (of_images + _half(texts, texts, torch.cat([momentum_images, image_queue]), temperature, alpha)) / 2


@momentum_contrastive_loss.misconception
def candidates_by_the_learning_encoder(
    images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha
):
    """The candidates of this batch are images and texts themselves. What is compared with is what the slow copies made of them,
    as in the queue: [momentum_texts; text_queue] for pictures, [momentum_images; image_queue] for texts."""
    of_images = _half(images, momentum_images, torch.cat([texts, text_queue]), temperature, alpha)
    return (of_images + _half(texts, momentum_texts, torch.cat([images, image_queue]), temperature, alpha)) / 2


@momentum_contrastive_loss.misconception
def without_the_queue(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    """The queue is left out: each picture is compared with the N texts of its batch alone. Its candidates are N + K."""
    of_images = _half(images, momentum_images, momentum_texts, temperature, alpha)
    return (of_images + _half(texts, momentum_texts, momentum_images, temperature, alpha)) / 2


@momentum_contrastive_loss.misconception
def queue_first(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    """The queue stands before the batch among the candidates, and the one-hot target is counted from the first of them: it says
    that picture i belongs to an old text. The N texts of the batch come first, [momentum_texts; text_queue]."""
    of_images = _half(images, momentum_images, torch.cat([text_queue, momentum_texts]), temperature, alpha)
    of_texts = _half(texts, momentum_texts, torch.cat([image_queue, momentum_images]), temperature, alpha)
    return (of_images + of_texts) / 2 if len(image_queue) else of_images


@momentum_contrastive_loss.misconception
def targets_without_the_temperature(
    images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha
):
    """The soft targets are made without the temperature. The scores of the slow copies are divided by it, like all others."""
    given = images, texts, momentum_images, momentum_texts, image_queue, text_queue
    return _both(*given, temperature, alpha, soft=lambda S: (S * temperature).softmax(dim=1))


@momentum_contrastive_loss.misconception
def scores_without_the_temperature(
    images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha
):
    """The scores of the vectors that learn are not divided by the temperature. Theirs are, like those of the slow copies."""
    given = images * temperature, texts * temperature, momentum_images, momentum_texts, image_queue, text_queue
    return _both(*given, temperature, alpha)


@momentum_contrastive_loss.misconception
def pair_counted_in_full(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    """The pair itself counts 1, and the soft target α besides: together they are more than a distribution. The pair's share is
    1 − α."""
    given = images, texts, momentum_images, momentum_texts, image_queue, text_queue
    return _both(*given, temperature, alpha) + alpha * _both(*given, temperature, 0.0)


@momentum_contrastive_loss.misconception
def candidates_of_the_same_kind(
    images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha
):
    """Pictures are compared with pictures, and texts with texts. A picture chooses among texts, and a text among pictures."""
    of_images = _half(images, momentum_images, torch.cat([momentum_images, image_queue]), temperature, alpha)
    return (of_images + _half(texts, momentum_texts, torch.cat([momentum_texts, text_queue]), temperature, alpha)) / 2


@momentum_contrastive_loss.misconception
def pictures_alone(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    """Only the pictures ask for their texts. The texts ask for their pictures too, with targets of momentum_texts, and the loss
    is the mean of both."""
    return _half(images, momentum_images, torch.cat([momentum_texts, text_queue]), temperature, alpha)


@momentum_contrastive_loss.misconception
def divergence_for_cross_entropy(
    images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha
):
    """The number is the Kullback-Leibler divergence, Σ target · (log target − log softmax). Asked for is the cross-entropy, which
    leaves the first logarithm out. Their gradients are equal, their numbers are not."""
    given = images, texts, momentum_images, momentum_texts, image_queue, text_queue
    entropies = []
    for slow, candidates in ((2, torch.cat([given[3], given[5]])), (3, torch.cat([given[2], given[4]]))):
        soft = (given[slow] @ candidates.mT / temperature).softmax(dim=1)
        target = alpha * soft + (1 - alpha) * torch.eye(*soft.shape, dtype=soft.dtype, device=soft.device)
        entropies.append(torch.special.entr(target.detach()).sum(dim=1).mean())
    return _both(*given, temperature, alpha) - sum(entropies) / 2


@momentum_contrastive_loss.misconception
def slow_copies_learn(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    """A gradient flows into the slow copies. They are not trained: they follow the encoders as a moving average, so their scores
    and vectors are taken as they are, with detach() or under torch.no_grad()."""
    losses = []
    for own, slow, candidates in (
        (images, momentum_images, torch.cat([momentum_texts, text_queue])),
        (texts, momentum_texts, torch.cat([momentum_images, image_queue])),
    ):
        first = torch.eye(len(own), len(candidates), dtype=own.dtype, device=own.device)
        target = alpha * (slow @ candidates.mT / temperature).softmax(dim=1) + (1 - alpha) * first
        losses.append(F.cross_entropy(own @ candidates.mT / temperature, target))
    return sum(losses) / 2


@momentum_contrastive_loss.alternative
def by_cross_entropy(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    with torch.no_grad():
        all_texts = torch.cat([momentum_texts, text_queue])
        all_images = torch.cat([momentum_images, image_queue])
        soft = [
            (one @ others.T / temperature).softmax(-1)
            for one, others in ((momentum_images, all_texts), (momentum_texts, all_images))
        ]
        hard = torch.zeros_like(soft[0])
        hard.fill_diagonal_(1)
        targets = [alpha * one + (1 - alpha) * hard for one in soft]
    of_images = F.cross_entropy(images @ all_texts.T / temperature, targets[0])
    return 0.5 * (of_images + F.cross_entropy(texts @ all_images.T / temperature, targets[1]))


@momentum_contrastive_loss.alternative
def in_two_terms(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    """The hard and the soft target each have a loss of their own."""
    total = 0
    for own, slow, candidates in (
        (images, momentum_images, torch.cat([momentum_texts, text_queue]).detach()),
        (texts, momentum_texts, torch.cat([momentum_images, image_queue]).detach()),
    ):
        logits = torch.einsum("nd,md->nm", own, candidates) / temperature
        teacher = torch.einsum("nd,md->nm", slow.detach(), candidates) / temperature
        hard = logits.logsumexp(dim=1) - logits.diagonal()
        soft = -(teacher.softmax(dim=1) * logits.log_softmax(dim=1)).sum(dim=1)
        total = total + (alpha * soft + (1 - alpha) * hard).mean() / 2
    return total


@momentum_contrastive_loss.alternative
def batch_and_queue_apart(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    total = 0
    for own, slow, near, far in (
        (images, momentum_images, momentum_texts, text_queue),
        (texts, momentum_texts, momentum_images, image_queue),
    ):
        slow, near, far = slow.detach(), near.detach(), far.detach()
        S = torch.hstack([own @ near.mT, own @ far.mT]) / temperature
        target = alpha * torch.hstack([slow @ near.mT, slow @ far.mT]).div(temperature).softmax(dim=1)
        index = torch.arange(len(own), device=own.device)
        log = S - S.logsumexp(dim=1, keepdim=True)
        total = total - (target * log).sum() / len(own) - (1 - alpha) * log[index, index].mean()
    return total / 2
