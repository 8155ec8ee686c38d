"""Exercise 8 again: mistakes in what the two terms have as their targets."""

import torch
import torch.nn.functional as F

from autograder.exercises.unit_13_vision_transformer.distillation.declaration import _losses, distillation_loss


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
