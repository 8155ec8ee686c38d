"""Right answers to `distillation_loss`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("DeiT's losses.py")
def deit(class_logits, distillation_logits, teacher_logits, labels):
    outputs, outputs_kd = class_logits, distillation_logits
    alpha = 0.5
    base_loss = F.cross_entropy(outputs, labels)
    with torch.no_grad():
        teacher_outputs = teacher_logits
    distillation_loss = F.cross_entropy(outputs_kd, teacher_outputs.argmax(dim=1))
    return base_loss * (1 - alpha) + distillation_loss * alpha


@practice("lucidrains")
def lucidrains(class_logits, distillation_logits, teacher_logits, labels):
    alpha = 0.5
    teacher_labels = teacher_logits.detach().argmax(dim=-1)
    loss = F.cross_entropy(class_logits, labels)
    distill_loss = F.cross_entropy(distillation_logits, teacher_labels)
    return loss * alpha + distill_loss * (1 - alpha)


@practice("log-softmax and one-hot labels")
def one_hot(class_logits, distillation_logits, teacher_logits, labels):
    def ce(z, y):
        target = F.one_hot(y, z.shape[-1]).to(z.dtype)
        return -(target * F.log_softmax(z, dim=-1)).sum(dim=-1).mean()

    hard = teacher_logits.max(dim=-1).indices
    return 0.5 * ce(class_logits, labels) + 0.5 * ce(distillation_logits, hard)


@practice("Hugging Face, in float32")
def hugging_face(class_logits, distillation_logits, teacher_logits, labels):
    loss_fct = nn.CrossEntropyLoss()
    num_labels = class_logits.size(-1)
    loss = loss_fct(class_logits.float().view(-1, num_labels), labels.reshape(-1))
    _, teacher_labels = torch.max(teacher_logits, dim=-1)
    loss = loss + loss_fct(distillation_logits.float().view(-1, num_labels), teacher_labels.view(-1))
    return (loss / 2).to(class_logits.dtype)


@practice("fairseq")
def fairseq(class_logits, distillation_logits, teacher_logits, labels):
    def nll_loss(logits, target):
        lprobs = F.log_softmax(logits, dim=-1, dtype=torch.float32)
        return -lprobs.gather(dim=-1, index=target.unsqueeze(-1)).mean()

    with torch.no_grad():
        decisions = teacher_logits.topk(1, dim=-1).indices.squeeze(-1)
    loss = 0.5 * (nll_loss(class_logits, labels) + nll_loss(distillation_logits, decisions))
    return loss.type_as(class_logits)


@practice("plain loops")
def loops(class_logits, distillation_logits, teacher_logits, labels):
    total = 0.0
    for z, zd, zt, y in zip(class_logits, distillation_logits, teacher_logits, labels):
        total = total - z.log_softmax(0)[y] - zd.log_softmax(0)[zt.argmax()]
    return total / (2 * len(labels))
