"""Answers for distillation_loss."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import before, change, right, wrong


# ---------------------------------------------------------------------------------------------------------------- right


@right("Two calls of F.cross_entropy, the second on argmax, halves multiplied in")
def two_calls(class_logits, distillation_logits, teacher_logits, labels):
    decisions = teacher_logits.argmax(dim=-1)
    return 0.5 * F.cross_entropy(class_logits, labels) + 0.5 * F.cross_entropy(distillation_logits, decisions)


@right("Both heads stacked behind each other as one batch of 2B images: its mean is half and half")
def one_batch_of_both(class_logits, distillation_logits, teacher_logits, labels):
    _, y_t = torch.max(teacher_logits.detach(), 1)
    return F.cross_entropy(torch.cat((class_logits, distillation_logits)), torch.cat((labels, y_t)))


@right("log_softmax and gather, all images at once")
def gathered(class_logits, distillation_logits, teacher_logits, labels):
    def nll(z, y):
        return z.log_softmax(-1).gather(-1, y.unsqueeze(-1)).squeeze(-1).neg().mean()

    return (nll(class_logits, labels) + nll(distillation_logits, teacher_logits.topk(1, dim=-1).indices[:, 0])) / 2


@right("logsumexp minus the logit of the label, of rows centred first, picked with an index for each axis")
def logsumexp_minus_logit(class_logits, distillation_logits, teacher_logits, labels):
    B = len(labels)
    images = torch.arange(B, device=labels.device)
    decided = teacher_logits.sort(dim=1, descending=True).indices[:, 0]
    z_c = class_logits - class_logits.amax(1, keepdim=True).detach()
    z_d = distillation_logits - distillation_logits.amax(1, keepdim=True).detach()
    first = torch.logsumexp(z_c, 1) - z_c[images, labels]
    second = torch.logsumexp(z_d, 1) - z_d[images, decided]
    return ((first + second) / 2).mean()


@right("A Python loop over the images, terms collected in a list and stacked")
def one_image_at_a_time(class_logits, distillation_logits, teacher_logits, labels):
    terms = []
    for z_c, z_d, z_t, y in zip(class_logits, distillation_logits, teacher_logits, labels):
        terms.append(-torch.log_softmax(z_c, 0)[y])
        terms.append(-torch.log_softmax(z_d, 0)[z_t.argmax()])
    return torch.stack(terms).mean()


@right("The decision as a Boolean mask, teacher equal to its row's maximum; masked_select of the log-probabilities")
def mask_of_the_maximum(class_logits, distillation_logits, teacher_logits, labels):
    with torch.no_grad():
        chosen = teacher_logits == teacher_logits.amax(dim=1, keepdim=True)
        true = torch.arange(class_logits.shape[1], device=labels.device) == labels[:, None]
    of_labels = F.log_softmax(class_logits, dim=1)[true]
    of_teacher = F.log_softmax(distillation_logits, dim=1).masked_select(chosen)
    return -(of_labels.mean() + of_teacher.mean()) * 0.5


@right("Both heads as an extra axis behind the classes, [B, V, 2], as cross_entropy allows it")
def extra_axis(class_logits, distillation_logits, teacher_logits, labels):
    z = torch.stack([class_logits, distillation_logits], dim=2)
    y = torch.stack([labels, torch.argmax(teacher_logits, dim=1)], dim=1)
    return nn.CrossEntropyLoss()(z, y)


@right("The row's maximum subtracted by hand, exponentials summed, logarithm taken")
def by_hand(class_logits, distillation_logits, teacher_logits, labels):
    loss = 0
    for z, y in ((class_logits, labels), (distillation_logits, teacher_logits.max(dim=1).indices)):
        centred = z - z.detach().max(dim=1, keepdim=True).values
        log_p = centred.take_along_dim(y[:, None], 1)[:, 0] - centred.exp().sum(1).log()
        loss = loss - log_p.mean() / 2
    return loss


@right("reduction='sum' and one division by 2B at the end")
def sums_over_two_B(class_logits, distillation_logits, teacher_logits, labels):
    total = F.cross_entropy(class_logits, labels, reduction="sum")
    total = total + F.cross_entropy(distillation_logits, teacher_logits.argmax(1), reduction="sum")
    return total / (2 * class_logits.shape[0])


@right("log_prob of torch.distributions.Categorical")
def categorical(class_logits, distillation_logits, teacher_logits, labels):
    heads = [torch.distributions.Categorical(logits=z.log_softmax(-1)) for z in (class_logits, distillation_logits)]
    truth, taught = heads[0].log_prob(labels), heads[1].log_prob(teacher_logits.argmax(-1))
    return torch.lerp(-truth, -taught, 0.5).mean()


@right("Differences to the label's logit first, then a logsumexp of the differences")
def sum_of_differences(class_logits, distillation_logits, teacher_logits, labels):
    y = torch.stack((labels, teacher_logits.argmax(1)))[..., None]
    z = torch.stack((class_logits, distillation_logits))
    return (z - z.gather(2, y)).logsumexp(dim=2).mean()


@right("The argmax kept up by comparisons in a loop over the classes; minus the diagonal of the picked log-softmax")
def class_after_class(class_logits, distillation_logits, teacher_logits, labels):
    teacher = teacher_logits.detach()
    best, where = teacher[:, 0], torch.zeros_like(labels)
    for v in range(1, teacher.size(1)):
        larger = teacher[:, v] > best
        best, where = torch.where(larger, teacher[:, v], best), torch.where(larger, v, where)
    c = torch.log_softmax(class_logits, dim=1).index_select(1, labels).diagonal()
    d = torch.log_softmax(distillation_logits, dim=1).index_select(1, where).diagonal()
    return -c.mean() / 2 - d.mean() / 2


@right("nn.NLLLoss on log-probabilities, a nested function with a default weight")
def nll_loss_module(class_logits, distillation_logits, teacher_logits, labels):
    criterion = nn.NLLLoss(reduction="mean")
    hard = teacher_logits.clone().detach().argmax(dim=1).long()

    def term(logits, target, weight=0.5):
        return weight * criterion(nn.LogSoftmax(dim=1)(logits), target)

    return sum([term(distillation_logits, hard), term(class_logits, labels)])


# -------------------------------------------------------------------------------------------------------------- concept


@wrong("the two kinds of labels are swapped: the class head gets the teacher's decisions, the distillation head the "
       "true labels", kind="concept")
def labels_swapped(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.argmax(dim=1)
    return 0.5 * F.cross_entropy(class_logits, y_t) + 0.5 * F.cross_entropy(distillation_logits, labels)


change(two_calls, "soft_targets", "the distillation head learns from the teacher's probabilities (soft distillation) "
       "instead of its decisions", "concept",
       ("decisions = teacher_logits.argmax(dim=-1)", "soft = teacher_logits.detach().softmax(dim=-1)"),
       (", decisions", ", soft"))


@wrong("the second term is a Kullback-Leibler divergence at temperature 3 instead of the cross-entropy with the "
       "teacher's decisions", kind="concept")
def kl_with_temperature(class_logits, distillation_logits, teacher_logits, labels):
    T = 3.0
    log_p = F.log_softmax(distillation_logits / T, dim=-1)
    q = F.softmax(teacher_logits.detach() / T, dim=-1)
    kl = F.kl_div(log_p, q, reduction="batchmean") * T * T
    return 0.5 * F.cross_entropy(class_logits, labels) + 0.5 * kl


@wrong("the two cross-entropies are added without the factor one half", kind="concept")
def no_halves(class_logits, distillation_logits, teacher_logits, labels):
    return F.cross_entropy(class_logits, labels) + F.cross_entropy(distillation_logits, teacher_logits.argmax(1))


@wrong("only the teacher's term is halved, the term of the true labels counts in full", kind="concept")
def only_one_halved(class_logits, distillation_logits, teacher_logits, labels):
    return F.cross_entropy(class_logits, labels) + F.cross_entropy(distillation_logits, teacher_logits.argmax(1)) / 2


@wrong("the weights of the two terms are 0.9 and 0.1 instead of one half each", kind="concept")
def alpha_of_a_tenth(class_logits, distillation_logits, teacher_logits, labels):
    alpha = 0.1
    base = F.cross_entropy(class_logits, labels)
    return (1 - alpha) * base + alpha * F.cross_entropy(distillation_logits, teacher_logits.argmax(1))


@wrong("the cross-entropies are summed over the images instead of averaged", kind="concept")
def summed_over_images(class_logits, distillation_logits, teacher_logits, labels):
    first = F.cross_entropy(class_logits, labels, reduction="sum")
    second = F.cross_entropy(distillation_logits, teacher_logits.argmax(1), reduction="sum")
    return (first + second) / 2


@wrong("the mean runs over images and classes, so that the loss is too small by the factor V", kind="concept")
def mean_over_classes_too(class_logits, distillation_logits, teacher_logits, labels):
    V = class_logits.shape[1]
    classes = torch.arange(V, device=labels.device)
    zero = class_logits.new_zeros(())
    first = torch.where(classes == labels[:, None], -class_logits.log_softmax(1), zero)
    decided = teacher_logits.argmax(1, keepdim=True)
    second = torch.where(classes == decided, -distillation_logits.log_softmax(1), zero)
    return 0.5 * first.mean() + 0.5 * second.mean()


# Right, and not registered: answers below are changes of it.
def _plain(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.argmax(dim=1)
    return (F.cross_entropy(class_logits, labels) + F.cross_entropy(distillation_logits, y_t)) / 2


change(_plain, "smallest_logit", "the teacher's decision is taken to be the class with its smallest logit", "concept",
       (".argmax(dim=1)", ".argmin(dim=1)"))
change(_plain, "own_decisions",
       "the distillation head is compared with its own decisions; the teacher's logits are not used", "concept",
       ("teacher_logits.argmax(dim=1)", "distillation_logits.detach().argmax(dim=1)"))


@wrong("images on which the teacher is wrong are left out of its term (and the mean is taken over the others)",
       kind="concept")
def only_where_teacher_is_right(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.argmax(dim=1)
    y_t = torch.where(y_t == labels, y_t, -100)
    second = F.cross_entropy(distillation_logits, y_t, reduction="sum") / (y_t >= 0).sum().clamp(min=1)
    return (F.cross_entropy(class_logits, labels) + second) / 2


change(_plain, "teacher_corrected", "where the teacher is wrong its decision is replaced by the true label, so that "
       "both terms have the true labels", "concept",
       before("return", "y_t = torch.where(y_t != labels, labels, y_t)"))
change(_plain, "class_head_twice",
       "the teacher's term is computed from the class head as well; the distillation head is not used", "concept",
       ("distillation_logits, y_t", "class_logits, y_t"))


@wrong("both terms are computed from the mean of the two heads' logits instead of each from its own head",
       kind="concept")
def heads_averaged(class_logits, distillation_logits, teacher_logits, labels):
    z = (class_logits + distillation_logits) / 2
    return (F.cross_entropy(z, labels) + F.cross_entropy(z, teacher_logits.argmax(dim=1))) / 2


change(_plain, "teacher_subtracted", "the teacher's term is subtracted instead of added", "concept",
       ("+ F.cross_entropy", "- F.cross_entropy"))
change(_plain, "in_bits", "the logarithms are taken to base 2", "concept",
       ("/ 2", "/ (2 * math.log(2))"))
change(_plain, "largest_magnitude",
       "the teacher's decision is the logit of the largest absolute value instead of the largest logit", "concept",
       (".argmax(dim=1)", ".abs().argmax(dim=1)"))


@wrong("each image's teacher term is weighted by how sure the teacher is of its decision", kind="concept")
def weighted_by_confidence(class_logits, distillation_logits, teacher_logits, labels):
    sure, y_t = teacher_logits.detach().softmax(dim=1).max(dim=1)
    second = (sure * F.cross_entropy(distillation_logits, y_t, reduction="none")).mean()
    return (F.cross_entropy(class_logits, labels) + second) / 2


@wrong("softmax is applied to the logits before F.cross_entropy, which applies it again", kind="concept")
def softmax_twice(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.argmax(dim=1)
    first = F.cross_entropy(class_logits.softmax(dim=1), labels)
    return (first + F.cross_entropy(distillation_logits.softmax(dim=1), y_t)) / 2


change(_plain, "one_decision_for_all",
       "one decision is taken for the whole batch, from the teacher's mean logits, and used for every image", "concept",
       (".argmax(dim=1)", ".mean(dim=0).argmax().expand(labels.shape[0])"))


@wrong("the true labels are smoothed by 0.1", kind="concept")
def smoothed(class_logits, distillation_logits, teacher_logits, labels):
    first = F.cross_entropy(class_logits, labels, label_smoothing=0.1)
    return (first + F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=1))) / 2


@wrong("class 0 is treated as padding: images with the label 0 are left out of the term of the true labels",
       kind="concept")
def class_zero_ignored(class_logits, distillation_logits, teacher_logits, labels):
    counted = labels != 0
    each = F.cross_entropy(class_logits, labels, ignore_index=0, reduction="none")
    first = each.sum() / counted.sum().clamp(min=1)
    return (first + F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=1))) / 2


@wrong("the labels are taken to be counted from 1: each true class is looked up one place too low", kind="concept")
def counted_from_one(class_logits, distillation_logits, teacher_logits, labels):
    images = torch.arange(labels.shape[0], device=labels.device)
    first = -class_logits.log_softmax(dim=1)[images, labels - 1].mean()
    return (first + F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=1))) / 2


# --------------------------------------------------------------------------------------------------------- two mistakes


@wrong("two mistakes: true labels and teacher's decisions are swapped between the heads, and the halves are missing",
       kind="concept")
def swapped_and_not_halved(class_logits, distillation_logits, teacher_logits, labels):
    return F.cross_entropy(class_logits, teacher_logits.argmax(1)) + F.cross_entropy(distillation_logits, labels)


@wrong("two mistakes: the teacher's probabilities are the target instead of its decisions, and gradients flow into the "
       "teacher through them", kind="gradient")
def soft_and_teacher_learns(class_logits, distillation_logits, teacher_logits, labels):
    soft = torch.softmax(teacher_logits, dim=1)
    second = -(soft * F.log_softmax(distillation_logits, dim=1)).sum(dim=1).mean()
    return 0.5 * F.cross_entropy(class_logits, labels) + 0.5 * second


@wrong("two mistakes: the term of the true labels is missing, and the teacher's term is not halved", kind="concept")
def teacher_term_alone(class_logits, distillation_logits, teacher_logits, labels):
    return F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=1))


@wrong("two mistakes: the teacher's smallest logit counts as its decision, and the terms are summed over the images",
       kind="concept")
def argmin_and_summed(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.argmin(dim=1)
    first = F.cross_entropy(class_logits, labels, reduction="sum")
    return 0.5 * first + 0.5 * F.cross_entropy(distillation_logits, y_t, reduction="sum")


@wrong("two mistakes: the logarithm of a softmax that may underflow is taken, and the result is a Python float without "
       "gradients", kind="numerics")
def underflow_and_float(class_logits, distillation_logits, teacher_logits, labels):
    images = torch.arange(labels.shape[0], device=labels.device)
    p = class_logits.softmax(dim=1)[images, labels]
    q = distillation_logits.softmax(dim=1)[images, teacher_logits.argmax(dim=1)]
    return (-(p.log().mean() + q.log().mean()) / 2).item()


# ---------------------------------------------------------------------------------------------------------------- shape


change(_plain, "argmax_over_images",
       "the teacher's argmax runs over the images (axis 0) instead of the classes", "shape",
       ("dim=1", "dim=0"))


@wrong("every image's log-probabilities are picked at the labels of all images, [B, B], and averaged over all pairs",
       kind="shape")
def all_pairs(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.argmax(dim=1)
    first = -class_logits.log_softmax(dim=1)[:, labels].mean()
    return (first - distillation_logits.log_softmax(dim=1)[:, y_t].mean()) / 2


@wrong("the result is a tensor of shape [1] instead of []", kind="shape")
def one_axis_left(class_logits, distillation_logits, teacher_logits, labels):
    first = F.cross_entropy(class_logits, labels, reduction="none")
    second = F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=1), reduction="none")
    return ((first + second) / 2).mean(dim=0, keepdim=True)


# ------------------------------------------------------------------------------------------------------------- numerics


@wrong("the logarithm is taken of a softmax: a probability that underflows to 0 makes the loss infinite",
       kind="numerics")
def log_of_softmax(class_logits, distillation_logits, teacher_logits, labels):
    first = F.nll_loss(torch.log(torch.softmax(class_logits, dim=1)), labels)
    second = F.nll_loss(torch.log(torch.softmax(distillation_logits, dim=1)), teacher_logits.argmax(dim=1))
    return (first + second) / 2


@wrong("1e-9 is added to the probabilities before the logarithm, so that no term exceeds about 20.7", kind="numerics")
def log_with_epsilon(class_logits, distillation_logits, teacher_logits, labels):
    first = F.nll_loss(torch.log(class_logits.softmax(dim=1) + 1e-9), labels)
    second = F.nll_loss(torch.log(distillation_logits.softmax(dim=1) + 1e-9), teacher_logits.argmax(dim=1))
    return (first + second) / 2


@wrong("the exponentials are summed without subtracting the maximum, so that large logits overflow", kind="numerics")
def exp_overflows(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.argmax(dim=1, keepdim=True)
    first = class_logits.exp().sum(1).log() - class_logits.gather(1, labels[:, None])[:, 0]
    second = distillation_logits.exp().sum(1).log() - distillation_logits.gather(1, y_t)[:, 0]
    return (first.mean() + second.mean()) / 2


@wrong("the maximum of the whole batch is subtracted instead of each row's own, so that a row far below it underflows",
       kind="numerics")
def maximum_of_the_batch(class_logits, distillation_logits, teacher_logits, labels):
    def ce(z, y):
        z = z - z.detach().max()
        return (z.exp().sum(dim=1).log() - z.gather(1, y[:, None])[:, 0]).mean()

    return (ce(class_logits, labels) + ce(distillation_logits, teacher_logits.argmax(dim=1))) / 2


@wrong("the heads' logits are clamped to ±50", kind="numerics")
def logits_clamped(class_logits, distillation_logits, teacher_logits, labels):
    first = F.cross_entropy(class_logits.clamp(-50, 50), labels)
    return (first + F.cross_entropy(distillation_logits.clamp(-50, 50), teacher_logits.argmax(dim=1))) / 2


change(_plain, "decision_after_softmax", "the teacher's argmax is taken after a softmax, in which logits that are very "
       "close become equal; the declaration counts it among the right ways", "numerics",
       (".argmax(dim=1)", ".softmax(dim=1).argmax(dim=1)"), verdict="open")
change(_plain, "decision_after_sigmoid",
       "the teacher's argmax is taken after a sigmoid, which is 1 for all large logits", "numerics",
       (".argmax(dim=1)", ".sigmoid().argmax(dim=1)"))


@right("the teacher's logits are cast to float32 before the argmax, where different numbers of float64 become equal")
def teacher_in_float32(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.float().argmax(dim=1)
    return (F.cross_entropy(class_logits, labels) + F.cross_entropy(distillation_logits, y_t)) / 2


@right("the loss is computed in float32 and cast back, so that float64 loses its digits and its range")
def computed_in_float32(class_logits, distillation_logits, teacher_logits, labels):
    first = F.cross_entropy(class_logits.to(torch.float32), labels)
    second = F.cross_entropy(distillation_logits.to(torch.float32), teacher_logits.argmax(dim=1))
    return ((first + second) / 2).to(class_logits.dtype)


@wrong("where a row's largest logit exceeds 80 the logsumexp is replaced by that logit", kind="numerics")
def maximum_for_logsumexp(class_logits, distillation_logits, teacher_logits, labels):
    def ce(z, y):
        largest = z.amax(dim=1)
        total = torch.where(largest > 80, largest, z.logsumexp(dim=1))
        return (total - z.gather(1, y[:, None])[:, 0]).mean()

    return (ce(class_logits, labels) + ce(distillation_logits, teacher_logits.argmax(dim=1))) / 2


@wrong("an image's cross-entropy is cut off at 100", kind="numerics")
def terms_cut_off(class_logits, distillation_logits, teacher_logits, labels):
    first = F.cross_entropy(class_logits, labels, reduction="none").clamp(max=100)
    second = F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=1), reduction="none").clamp(max=100)
    return ((first + second) / 2).mean()


@wrong("the images' terms are stored in a buffer of the default type float32, whatever the type of the logits is",
       kind="numerics")
def buffer_of_float32(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.argmax(dim=1)
    terms = torch.zeros(labels.shape[0], device=labels.device)
    terms = terms.index_add(0, torch.arange(labels.shape[0], device=labels.device),
                            F.cross_entropy(class_logits, labels, reduction="none").to(terms.dtype))
    terms = terms + F.cross_entropy(distillation_logits, y_t, reduction="none").to(terms.dtype)
    return terms.mean() / 2


@wrong("the result is of float64, whatever the type of the logits is", kind="numerics")
def always_double(class_logits, distillation_logits, teacher_logits, labels):
    first = F.cross_entropy(class_logits.double(), labels)
    return (first + F.cross_entropy(distillation_logits.double(), teacher_logits.argmax(dim=1))) / 2


change(_plain, "decisions_in_a_byte",
       "the teacher's decisions are kept as uint8, so that a class beyond 255 becomes another one", "numerics",
       (".argmax(dim=1)", ".argmax(dim=1).to(torch.uint8).to(torch.int64)"))


# --------------------------------------------------------------------------------------------------------------- layout


@wrong("view(-1) on the heads' logits: it raises for transposed ones", kind="layout")
def viewed_flat(class_logits, distillation_logits, teacher_logits, labels):
    B, V = class_logits.shape
    starts = torch.arange(B, device=labels.device) * V
    first = class_logits.logsumexp(1) - class_logits.view(-1)[starts + labels]
    second = distillation_logits.logsumexp(1) - distillation_logits.view(-1)[starts + teacher_logits.argmax(1)]
    return (first.mean() + second.mean()) / 2


change(teacher_in_float32, "strides_assumed", "the teacher's logits are read with the strides of a contiguous tensor: "
       "those of a view are mixed up or out of bounds", "layout",
       before("y_t =", "B, V = teacher_logits.shape"), (".float()", ".as_strided((B, V), (V, 1))"))


@wrong("squeeze() without an axis on the heads' logits: with a single class the axis of classes disappears, and it "
       "raises", kind="layout")
def squeezed(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.argmax(dim=1)
    first = F.cross_entropy(class_logits.squeeze(), labels.squeeze())
    return (first + F.cross_entropy(distillation_logits.squeeze(), y_t.squeeze())) / 2


# ------------------------------------------------------------------------------------------------------------- gradient


change(_plain, "distillation_head_detached",
       "the distillation head's logits are detached, so that this head gets no gradient", "gradient",
       (", y_t", ".detach(), y_t"))


@wrong("the loss is built anew with torch.tensor from Python numbers, so that no gradient flows at all",
       kind="gradient")
def built_anew(class_logits, distillation_logits, teacher_logits, labels):
    first = F.cross_entropy(class_logits, labels).item()
    second = F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=1)).item()
    return torch.tensor((first + second) / 2, dtype=class_logits.dtype, device=class_logits.device)


@wrong("a straight-through one-hot lets a gradient flow to the teacher's logits", kind="gradient")
def straight_through(class_logits, distillation_logits, teacher_logits, labels):
    soft = teacher_logits.softmax(dim=1)
    decided = torch.zeros_like(soft).scatter(1, teacher_logits.argmax(dim=1, keepdim=True), 1.0)
    target = decided + (soft - soft.detach())
    second = -(target * distillation_logits.log_softmax(dim=1)).sum(dim=1).mean()
    return (F.cross_entropy(class_logits, labels) + second) / 2


@wrong("the gradient of the teacher's term also reaches the class head, through a difference that is 0 in value",
       kind="gradient")
def class_head_learns_twice(class_logits, distillation_logits, teacher_logits, labels):
    shared = distillation_logits + (class_logits - class_logits.detach())
    return (F.cross_entropy(class_logits, labels) + F.cross_entropy(shared, teacher_logits.argmax(dim=1))) / 2


@wrong("the logsumexp of the class logits is detached, so that only the true class gets a gradient there",
       kind="gradient")
def denominator_detached(class_logits, distillation_logits, teacher_logits, labels):
    total = class_logits.detach().logsumexp(dim=1)
    first = (total - class_logits.gather(1, labels[:, None])[:, 0]).mean()
    return (first + F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=1))) / 2


# ------------------------------------------------------------------------------------------------------------ interface


@wrong("the row's maximum is subtracted from class_logits in place, so that this input is changed", kind="interface")
def centred_in_place(class_logits, distillation_logits, teacher_logits, labels):
    with torch.no_grad():
        class_logits -= class_logits.amax(dim=1, keepdim=True)
    first = (class_logits.exp().sum(dim=1).log() - class_logits.gather(1, labels[:, None])[:, 0]).mean()
    return (first + F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=1))) / 2


@wrong("teacher_logits is overwritten by the one-hot decisions", kind="interface")
def teacher_overwritten(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.argmax(dim=1)
    with torch.no_grad():
        teacher_logits.zero_()
        teacher_logits[torch.arange(len(y_t), device=y_t.device), y_t] = 1
    return (F.cross_entropy(class_logits, labels) + F.cross_entropy(distillation_logits, teacher_logits.argmax(1))) / 2


change(_plain, "teacher_switched_off", "requires_grad_(False) is called on the caller's teacher_logits, which changes "
       "that input (and raises where it is no leaf)", "interface",
       before("y_t =", "teacher_logits.requires_grad_(False)"))


_decisions = {}


change(_plain, "decisions_kept", "the teacher's decisions are kept from the first call and used again for every later "
       "batch of the same shape", "interface",
       ("teacher_logits.argmax(dim=1)",
        "_decisions.setdefault(tuple(teacher_logits.shape), teacher_logits.argmax(dim=1))"))


_calls = [0]


@wrong("the weight of the teacher's term depends on how often the function was called: one half the first three times, "
       "less and less afterwards", kind="interface")
def teacher_fades(class_logits, distillation_logits, teacher_logits, labels):
    _calls[0] += 1
    weight = 0.5 * min(1.0, 3 / _calls[0])
    y_t = teacher_logits.argmax(dim=1)
    return (1 - weight) * F.cross_entropy(class_logits, labels) + weight * F.cross_entropy(distillation_logits, y_t)


@wrong("the result is a tuple of the loss and its two terms instead of one tensor", kind="interface")
def with_both_terms(class_logits, distillation_logits, teacher_logits, labels):
    first = F.cross_entropy(class_logits, labels)
    second = F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=1))
    return (first + second) / 2, first, second


change(_plain, "labels_by_name_only", "labels can be given by name only, not by position", "interface",
       ("teacher_logits, labels", "teacher_logits, *, labels"))
change(_plain, "other_order", "the arguments labels and teacher_logits stand in the opposite order", "interface",
       ("teacher_logits, labels", "labels, teacher_logits"))


@right("the last argument is called targets instead of labels")
def other_name(class_logits, distillation_logits, teacher_logits, targets):
    y_t = teacher_logits.argmax(dim=1)
    return (F.cross_entropy(class_logits, targets) + F.cross_entropy(distillation_logits, y_t)) / 2


@wrong("a table of one-hot rows is made on the default device instead of the inputs' device", kind="interface")
def table_on_the_default_device(class_logits, distillation_logits, teacher_logits, labels):
    table = torch.eye(class_logits.shape[1]) > 0
    first = -class_logits.log_softmax(dim=1)[table[labels]].mean()
    second = -distillation_logits.log_softmax(dim=1)[table[teacher_logits.argmax(dim=1)]].mean()
    return (first + second) / 2


# ----------------------------------------------------------------------------------------------------------------- edge


@right("for a single class a constant 0 is returned, from which no backward pass is possible")
def constant_for_one_class(class_logits, distillation_logits, teacher_logits, labels):
    if class_logits.shape[1] == 1:
        return class_logits.new_zeros(())
    y_t = teacher_logits.argmax(dim=1)
    return (F.cross_entropy(class_logits, labels) + F.cross_entropy(distillation_logits, y_t)) / 2


@wrong("for a single image the mean is left out, and the result has the shape [1]", kind="edge")
def no_mean_for_one_image(class_logits, distillation_logits, teacher_logits, labels):
    reduction = "none" if class_logits.shape[0] == 1 else "mean"
    first = F.cross_entropy(class_logits, labels, reduction=reduction)
    return (first + F.cross_entropy(distillation_logits, teacher_logits.argmax(dim=1), reduction=reduction)) / 2


change(_plain, "axis_guessed", "the axis of the teacher's classes is guessed by its size: with as many images as "
       "classes the argmax runs over the images", "edge",
       before("y_t =", "axis = 0 if teacher_logits.shape[0] == labels.shape[0] == teacher_logits.shape[1] else 1"),
       ("dim=1", "dim=axis"))


@wrong("one_hot guesses the number of classes from the largest label: it raises where the last class does not occur",
       kind="edge")
def classes_guessed(class_logits, distillation_logits, teacher_logits, labels):
    first = -class_logits.log_softmax(dim=1)[F.one_hot(labels).bool()].mean()
    second = -distillation_logits.log_softmax(dim=1)[F.one_hot(teacher_logits.argmax(dim=1)).bool()].mean()
    return (first + second) / 2


@wrong("where the teacher is right for every image its term is left out and the other one counts in full", kind="edge")
def left_out_where_always_right(class_logits, distillation_logits, teacher_logits, labels):
    y_t = teacher_logits.argmax(dim=1)
    first = F.cross_entropy(class_logits, labels)
    second = F.cross_entropy(distillation_logits, y_t)
    return torch.where((y_t == labels).all(), first + 0 * second, (first + second) / 2)
