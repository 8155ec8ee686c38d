"""Exercise 8: DeiT's loss, half from the labels and half from a teacher's decisions."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.logits import apart

WIDE = {"class_logits": 2.0, "distillation_logits": 2.0}
HUNDREDS = {"class_logits": 60.0, "distillation_logits": 60.0}
LARGE = 100  # classes, among which a mistake may count for little


def _drawn(inputs, sizes, rng):
    """Labels, and a teacher that is right for some images, its largest logit clear; anew where a mistake would hardly show."""
    B, V = sizes["B"], sizes["V"]
    names = ("class_logits", "distillation_logits")
    plain = {name: inputs[name] for name in names}
    spread = {name: max(1.0, plain[name].std()) for name in names}
    while True:
        teacher = apart(rng.standard_normal((B, V)), rng)
        labels = rng.integers(V, size=B)
        labels[B // 2 + 1 :] = teacher.argmax(axis=-1)[B // 2 + 1 :]
        found = {**plain, "teacher_logits": teacher, "labels": labels}
        given = [torch.from_numpy(found[name]) for name in (*names, "teacher_logits", "labels")]
        right = float(distillation_loss.reference(*given))
        off = [abs(float(one.object(*given)) - right) for one in distillation_loss.misconceptions]
        if V > LARGE or all(one < 1e-5 or not one < 0.01 * (1 + abs(right)) for one in off):
            return found
        plain = {name: (rng.standard_normal((B, V)) * spread[name]).astype("float32") for name in names}


def _agreeing(inputs, rng):
    """The teacher decides as the labels say."""
    inputs["labels"] = inputs["teacher_logits"].argmax(axis=-1)


def _close(inputs, rng):
    """The teacher's logits differ by less than single precision resolves."""
    order = inputs["teacher_logits"].argsort(axis=-1).argsort(axis=-1)
    inputs["teacher_logits"] = 1 + 1e-9 * order.astype(np.float64)


def _high(inputs, rng):
    """All logits of an image are large, and lie close together."""
    for name in ("class_logits", "distillation_logits"):
        inputs[name][0] += 120


@exercise(
    points=2,
    section="DeiT: learning from a convolutional network",
    source="Touvron et al. 2021, equation 3 (hard-label distillation)",
    outputs="loss",
    formula="loss = ½ CE(class_logits, labels) + ½ CE(distillation_logits, y_t) with y_t = argmax of teacher_logits over the V"
    " classes, [B]; CE(logits, y) = mean over the B images of −log softmax(logits)_y; logits [B, V], labels [B], a scalar",
    cases=[
        Case("a batch of images", scale=WIDE),
        Case("a larger batch", sizes={"B": 9}, scale=WIDE),
        Case("one image", sizes={"B": 1}, scale=WIDE),
        Case("two classes", sizes={"V": 2}, scale=WIDE),
        Case("as many images as classes", sizes={"B": "V"}, scale=WIDE),
        Case("a teacher that is always right", scale=WIDE, edit=_agreeing),
        Case("logits in the hundreds", sizes={"B": 6, "V": 9}, scale=HUNDREDS, extreme=True),
        Case("an image whose logits are all large", scale=WIDE, edit=_high, edge=True),
        Case("a teacher whose logits are close", scale=WIDE, edit=_close, precision="float64", edge=True),
        Case("many classes", sizes={"V": 1000, "B": 5}, edge=True),
    ],
    draws=_drawn,
    waived={"zero": "which of equal logits of the teacher is the largest is not asked"},
)
def distillation_loss(
    class_logits: Float[Tensor, "B V"],
    distillation_logits: Float[Tensor, "B V"],
    teacher_logits: Float[Tensor, "B V"],
    labels: Int[Tensor, "B"],
) -> Float[Tensor, ""]:
    decided = teacher_logits.argmax(dim=1)
    given = torch.cat([class_logits, distillation_logits])
    chosen = given.gather(1, torch.cat([labels, decided])[:, None])[:, 0]
    return (given.logsumexp(dim=1) - chosen).mean()


def _losses(class_logits, distillation_logits, teacher_logits, labels, first=None, second=None):
    """Half of each term; a term is given where it is not the right one."""
    first = F.cross_entropy(class_logits, labels) if first is None else first
    second = F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=-1)) if second is None else second
    return (first + second) / 2


@distillation_loss.misconception
def terms_added(class_logits, distillation_logits, teacher_logits, labels):
    """The loss is twice what it should be: are the two terms added without the factor ½? Each counts half."""
    return 2 * _losses(class_logits, distillation_logits, teacher_logits, labels)


@distillation_loss.misconception
def half_of_the_first_term_alone(class_logits, distillation_logits, teacher_logits, labels):
    """Only one half of the first term counts, and the distillation token would learn nothing. The other half is the
    cross-entropy of distillation_logits with the teacher's decisions."""
    return F.cross_entropy(class_logits, labels) / 2


@distillation_loss.misconception
def first_term_alone(class_logits, distillation_logits, teacher_logits, labels):
    """The loss is the first term alone, in full: neither distillation_logits nor the teacher count. Each of the two terms
    counts half."""
    return F.cross_entropy(class_logits, labels)


@distillation_loss.misconception
def second_term_alone(class_logits, distillation_logits, teacher_logits, labels):
    """The loss is the second term alone: neither class_logits nor labels count. Each of the two terms counts half."""
    return F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=-1))


@distillation_loss.misconception
def first_term_in_full(class_logits, distillation_logits, teacher_logits, labels):
    """The first term counts in full, and half of the second is added to it. The factor ½ stands in front of both."""
    first = F.cross_entropy(class_logits, labels)
    return first + F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=-1)) / 2


@distillation_loss.misconception
def second_term_in_full(class_logits, distillation_logits, teacher_logits, labels):
    """The second term counts in full, and half of the first is added to it. The factor ½ stands in front of both."""
    first = F.cross_entropy(class_logits, labels)
    return first / 2 + F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=-1))


@distillation_loss.misconception
def logits_averaged(class_logits, distillation_logits, teacher_logits, labels):
    """The two heads' logits were averaged before the losses were taken. Each head has a loss of its own: the halves are halves
    of losses. What the heads say is put together only when the trained model predicts."""
    mean = (class_logits + distillation_logits) / 2
    return _losses(mean, mean, teacher_logits, labels)


@distillation_loss.misconception
def softmax_before_the_loss(class_logits, distillation_logits, teacher_logits, labels):
    """The softmax is applied twice: the logits were turned into probabilities, and these were treated as logits again.
    F.cross_entropy takes the logits as they are."""
    return _losses(class_logits.softmax(dim=-1), distillation_logits.softmax(dim=-1), teacher_logits, labels)


@distillation_loss.misconception
def logarithm_of_a_softmax(class_logits, distillation_logits, teacher_logits, labels):
    """The formula is right, but not for large logits: a small probability is rounded to 0, and its logarithm is −∞, or exp
    overflows. log_softmax and F.cross_entropy compute the logarithm of the softmax in one step and stay finite."""
    first, second = (
        -logits.softmax(dim=-1).gather(-1, y[:, None]).log().mean()
        for logits, y in ((class_logits, labels), (distillation_logits, teacher_logits.argmax(dim=-1)))
    )
    return (first + second) / 2


@distillation_loss.misconception
def soft_labels(class_logits, distillation_logits, teacher_logits, labels):
    """The teacher's probabilities are the target of the second term: that is soft distillation. In hard distillation the
    teacher decides, and its decision is a label like any other: the argmax of teacher_logits."""
    second = F.cross_entropy(distillation_logits, teacher_logits.softmax(dim=-1))
    return _losses(class_logits, distillation_logits, teacher_logits, labels, second=second)


@distillation_loss.misconception
def divergence_from_the_teacher(class_logits, distillation_logits, teacher_logits, labels):
    """The second term is the Kullback–Leibler divergence from the teacher's probabilities: that is soft distillation. In hard
    distillation the teacher decides: the second term is a cross-entropy with the argmax of teacher_logits as labels."""
    second = F.kl_div(distillation_logits.log_softmax(-1), teacher_logits.softmax(-1), reduction="batchmean")
    return _losses(class_logits, distillation_logits, teacher_logits, labels, second=second)


@distillation_loss.misconception
def divergence_over_all_numbers(class_logits, distillation_logits, teacher_logits, labels):
    """The second term is a Kullback–Leibler divergence from the teacher's probabilities, divided by B·V. Hard distillation has
    no divergence: the second term is a cross-entropy with the argmax of teacher_logits as labels."""
    terms = F.kl_div(distillation_logits.log_softmax(-1), teacher_logits.softmax(-1), reduction="none")
    return _losses(class_logits, distillation_logits, teacher_logits, labels, second=terms.mean())


@distillation_loss.misconception
def logits_as_a_target(class_logits, distillation_logits, teacher_logits, labels):
    """The second term is −Σ z · log p, where z are the teacher's logits themselves: F.cross_entropy computes it without a word
    if its target has fractions. It takes the number of a class as target: the argmax of teacher_logits."""
    second = F.cross_entropy(distillation_logits, teacher_logits)
    return _losses(class_logits, distillation_logits, teacher_logits, labels, second=second)


@distillation_loss.misconception
def squared_distance_to_the_teacher(class_logits, distillation_logits, teacher_logits, labels):
    """The second term is the mean squared distance from the teacher's logits. In hard distillation it is a cross-entropy, as
    the first term is, with the argmax of teacher_logits as labels."""
    second = F.mse_loss(distillation_logits, teacher_logits)
    return _losses(class_logits, distillation_logits, teacher_logits, labels, second=second)


@distillation_loss.misconception
def targets_exchanged(class_logits, distillation_logits, teacher_logits, labels):
    """The targets have changed places, or the two heads have. class_logits learn from labels, distillation_logits from the
    teacher's decisions."""
    return _losses(distillation_logits, class_logits, teacher_logits, labels)


@distillation_loss.misconception
def labels_for_both(class_logits, distillation_logits, teacher_logits, labels):
    """Both terms have labels as their target, and the teacher makes no difference. The target of distillation_logits is the
    class that the teacher decides on, the argmax of teacher_logits."""
    second = F.cross_entropy(distillation_logits, labels)
    return _losses(class_logits, distillation_logits, teacher_logits, labels, second=second)


@distillation_loss.misconception
def teacher_for_both(class_logits, distillation_logits, teacher_logits, labels):
    """Both terms have the teacher's decisions as their target, and labels make no difference. class_logits learn from
    labels."""
    first = F.cross_entropy(class_logits, teacher_logits.argmax(dim=-1))
    return _losses(class_logits, distillation_logits, teacher_logits, labels, first=first)


@distillation_loss.misconception
def own_decisions(class_logits, distillation_logits, teacher_logits, labels):
    """The target of the second term is the argmax of distillation_logits: the student learns what it says already. It is the
    teacher's decision, the argmax of teacher_logits."""
    second = F.cross_entropy(distillation_logits, distillation_logits.argmax(dim=-1))
    return _losses(class_logits, distillation_logits, teacher_logits, labels, second=second)


@distillation_loss.misconception
def only_where_the_teacher_is_right(class_logits, distillation_logits, teacher_logits, labels):
    """The second term leaves out the images on which the teacher and labels disagree. The distillation token learns what the
    teacher decides, right or wrong: all B images count."""
    agree = teacher_logits.argmax(dim=-1) == labels
    second = F.cross_entropy(distillation_logits[agree], labels[agree])
    return _losses(class_logits, distillation_logits, teacher_logits, labels, second=second)


@distillation_loss.misconception
def zero_where_the_teacher_errs(class_logits, distillation_logits, teacher_logits, labels):
    """In the second term, the images on which the teacher and labels disagree count 0. The distillation token learns what the
    teacher decides, right or wrong: all B images count."""
    each = F.cross_entropy(distillation_logits, labels, reduction="none")
    second = torch.where(teacher_logits.argmax(dim=-1) == labels, each, 0 * each).mean()
    return _losses(class_logits, distillation_logits, teacher_logits, labels, second=second)


@distillation_loss.alternative
def with_cross_entropy(class_logits, distillation_logits, teacher_logits, labels):
    """As a student would write it."""
    teacher_labels = teacher_logits.argmax(dim=-1)
    return 0.5 * F.cross_entropy(class_logits, labels) + 0.5 * F.cross_entropy(distillation_logits, teacher_labels)


@distillation_loss.alternative
def with_log_softmax(class_logits, distillation_logits, teacher_logits, labels):
    rows = torch.arange(len(labels), device=labels.device)
    decided = teacher_logits.detach().max(dim=1).indices
    likely = class_logits.log_softmax(1)[rows, labels] + distillation_logits.log_softmax(1)[rows, decided]
    return -likely.mean() / 2


@distillation_loss.alternative
def with_one_hot_targets(class_logits, distillation_logits, teacher_logits, labels):
    def loss(logits, y):
        return F.cross_entropy(logits, F.one_hot(y, logits.shape[-1]).to(logits.dtype))

    return torch.stack(
        [loss(class_logits, labels), loss(distillation_logits, teacher_logits.topk(1).indices[:, 0])]
    ).mean()


@distillation_loss.alternative
def image_by_image(class_logits, distillation_logits, teacher_logits, labels):
    total = 0
    for a, b, teacher, y in zip(class_logits, distillation_logits, teacher_logits, labels.tolist()):
        t = int(teacher.softmax(dim=0).argmax())
        total = total + (a.logsumexp(0) - a[y]) + (b.logsumexp(0) - b[t])
    return total / (2 * len(labels))
