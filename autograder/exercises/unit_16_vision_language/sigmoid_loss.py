"""The stretch: SigLIP's loss, in which every pair is a question of its own."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_16_vision_language._shared import OF_DIRECTIONS, pairs


def _case(text, temperature, bias, **more):
    return Case(text, values={"temperature": temperature, "bias": bias}, **more)


@exercise(
    points=0,
    section="Going further",
    source="Zhai et al. 2023 (SigLIP), equation 1 and algorithm 1",
    outputs="loss",
    formula="loss = −1/N · Σ_i Σ_j log σ(z_ij (cos(image_i, text_j) / τ + b)) with z_ii = 1 and z_ij = −1 for j ≠ i, for images"
    " [N, D] and texts [N, D]",
    cases=[
        _case("a few pairs", 0.5, -1.0),
        _case("a low temperature", 0.1, -3.0),
        _case("no bias", 0.4, 0.0),
        _case("one pair", 0.5, -1.0, edge=True, sizes={"N": 1}),
        _case("scores far above 0", 0.01, 0.0, edge=True, extreme=True),
        _case("SigLIP's first temperature and bias", 0.1, -10.0, edge=True, extreme=True),
        _case("a bias beyond what exp can hold", 0.1, -200.0, edge=True, extreme=True),
    ],
    draws=pairs,
    waived=OF_DIRECTIONS,
    equivalent={"eye(len(S), device=S.device) - 1": "it holds −1 and 1, which every type has"},
)
def sigmoid_loss(
    images: Float[Tensor, "N D"], texts: Float[Tensor, "N D"], temperature: float, bias: float
) -> Float[Tensor, ""]:
    S = F.normalize(images) @ F.normalize(texts).mT / temperature + bias
    z = 2 * torch.eye(len(S), dtype=S.dtype, device=S.device) - 1
    return -F.logsigmoid(z * S).sum() / len(S)


def _scores(images, texts, temperature, bias):
    return torch.cosine_similarity(images[:, None], texts[None], dim=-1) / temperature + bias


def _own(S):
    return torch.eye(len(S), dtype=torch.bool, device=S.device)


def _loss(S):
    return F.softplus(torch.where(_own(S), -S, S))


@sigmoid_loss.misconception
def mean_over_all_pairs(images, texts, temperature, bias):
    """The loss is N times too small: is it the mean over all N·N pairs? Their sum is divided by N, the number of pictures."""
    return _loss(_scores(images, texts, temperature, bias)).mean()


@sigmoid_loss.misconception
def summed(images, texts, temperature, bias):
    """The loss is N times too large: the sum over all pairs is divided by N, the number of pictures."""
    return _loss(_scores(images, texts, temperature, bias)).sum()


@sigmoid_loss.misconception
def right_pairs_alone(images, texts, temperature, bias):
    """Only the right pairs are asked about. Pairs that do not belong together count too, as log σ of the opposite score: without
    them it would be best to call everything a pair."""
    S = _scores(images, texts, temperature, bias)
    return F.softplus(-S.diagonal()).mean()


@sigmoid_loss.misconception
def bias_subtracted(images, texts, temperature, bias):
    """The bias is subtracted. It is added to the scores: a negative one says that most pairs do not belong together."""
    return _loss(_scores(images, texts, temperature, -bias)).sum() / len(images)


@sigmoid_loss.misconception
def bias_divided_too(images, texts, temperature, bias):
    """The bias is divided by the temperature too. It is added after the division."""
    return _loss(_scores(images, texts, temperature, bias / temperature)).sum() / len(images)


@sigmoid_loss.misconception
def bias_outside_the_sign(images, texts, temperature, bias):
    """The bias is added after the sign z, with the same sign for all pairs. The sign z turns the whole score, bias included."""
    S = _scores(images, texts, temperature, 0.0)
    return F.softplus(-(torch.where(_own(S), S, -S) + bias)).sum() / len(S)


@sigmoid_loss.misconception
def not_normalised(images, texts, temperature, bias):
    """The scores are dot products of the vectors as they are. A cosine looks at directions alone: divide each vector by its
    length first."""
    return _loss(images @ texts.mT / temperature + bias).sum() / len(images)


@sigmoid_loss.misconception
def wrong_pairs_alone(images, texts, temperature, bias):
    """Only the wrong pairs are asked about. The right ones count too, with z = 1: without them it would be best to call nothing a
    pair."""
    S = _scores(images, texts, temperature, bias)
    return F.softplus(S.masked_fill(_own(S), -torch.inf)).sum() / len(S)


@sigmoid_loss.misconception(universal=True)
def zeros_for_wrong_pairs(images, texts, temperature, bias):
    """Wrong pairs have z = 0, so each of them counts log 2 whatever its score is, and teaches nothing. Their z is −1."""
    S = _scores(images, texts, temperature, bias)
    return F.softplus(-S * _own(S)).sum() / len(S)


@sigmoid_loss.misconception
def signs_exchanged(images, texts, temperature, bias):
    """The signs are exchanged: right pairs are pushed apart, wrong ones together. z is 1 for a right pair and −1 for a wrong
    one."""
    return _loss(-_scores(images, texts, temperature, bias)).sum() / len(images)


@sigmoid_loss.misconception
def all_called_right(images, texts, temperature, bias):
    """Every pair is treated as a right one: z is 1 everywhere. For j ≠ i it is −1."""
    return F.softplus(-_scores(images, texts, temperature, bias)).sum() / len(images)


@sigmoid_loss.misconception
def multiplied_by_the_temperature(images, texts, temperature, bias):
    """The cosines are multiplied by the temperature. They are divided by it."""
    return _loss(_scores(images, texts, 1 / temperature, bias)).sum() / len(images)


@sigmoid_loss.misconception
def probabilities_for_their_logarithms(images, texts, temperature, bias):
    """Probabilities are summed, and not their logarithms: −log σ grows without bound where an answer is confidently wrong, 1 − σ
    does not."""
    S = _scores(images, texts, temperature, bias)
    return torch.where(_own(S), -S, S).sigmoid().sum() / len(S)


@sigmoid_loss.misconception
def one_side_normalised(images, texts, temperature, bias):
    """Only one of the two sets of vectors is divided by its lengths. A cosine needs both."""
    S = images @ F.normalize(texts, dim=-1).mT / temperature + bias
    return _loss(S).sum() / len(S)


@sigmoid_loss.misconception
def lengths_over_the_batch(images, texts, temperature, bias):
    """The vectors are divided by lengths along the batch, feature by feature. Each picture and each text has a length of its
    own, along the last axis: dim=-1."""
    S = F.normalize(images, dim=0) @ F.normalize(texts, dim=0).mT / temperature + bias
    return _loss(S).sum() / len(S)


@sigmoid_loss.misconception
def softmax_for_sigmoid(images, texts, temperature, bias):
    """This is the contrastive loss with its softmax, in which pairs compete with each other. Here each pair is a question of its
    own, answered by a sigmoid."""
    S = _scores(images, texts, temperature, bias)
    return -(S.log_softmax(dim=1).diagonal() + S.log_softmax(dim=0).diagonal()).mean() / 2


@sigmoid_loss.alternative
def by_binary_cross_entropy(images, texts, temperature, bias):
    S = _scores(images, texts, temperature, bias)
    return F.binary_cross_entropy_with_logits(S, _own(S).to(S.dtype), reduction="sum") / len(S)


@sigmoid_loss.alternative
def by_softplus(images, texts, temperature, bias):
    return _loss(_scores(images, texts, temperature, bias)).sum(dim=1).mean()


@sigmoid_loss.alternative
def picture_by_picture(images, texts, temperature, bias):
    loss = 0
    for i, image in enumerate(images):
        scores = torch.stack([torch.cosine_similarity(image, text, dim=0) for text in texts]) / temperature + bias
        signs = torch.tensor(
            [1.0 if i == j else -1.0 for j in range(len(texts))], dtype=scores.dtype, device=scores.device
        )
        loss = loss - F.logsigmoid(signs * scores).sum()
    return loss / len(images)
