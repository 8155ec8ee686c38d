"""Right answers to `smoothed_cross_entropy`, as others write them."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.bank.practice import practice


@practice("transformers")
def hugging_face(logits, targets, smoothing):
    log_probs = -nn.functional.log_softmax(logits, dim=-1)
    labels = targets.unsqueeze(-1)

    padding_mask = labels.eq(0)
    labels = torch.clamp(labels, min=0)
    nll_loss = log_probs.gather(dim=-1, index=labels)
    smoothed_loss = log_probs.sum(dim=-1, keepdim=True)

    nll_loss.masked_fill_(padding_mask, 0.0)
    smoothed_loss.masked_fill_(padding_mask, 0.0)

    # Take the mean over the label dimensions, then divide by the number of active elements (i.e. not-padded):
    num_active_elements = padding_mask.numel() - padding_mask.long().sum()
    nll_loss = nll_loss.sum() / num_active_elements
    smoothed_loss = smoothed_loss.sum() / (num_active_elements * log_probs.shape[-1])
    return (1 - smoothing) * nll_loss + smoothing * smoothed_loss


@practice("the Annotated Transformer")
def annotated(logits, targets, smoothing):
    size = logits.size(-1)
    x = logits.log_softmax(dim=-1).contiguous().view(-1, size)
    target = targets.contiguous().view(-1)
    true_dist = x.data.clone()
    true_dist.fill_(smoothing / size)
    true_dist.scatter_(1, target.data.unsqueeze(1), 1.0 - smoothing + smoothing / size)
    mask = torch.nonzero(target.data == 0)
    if mask.dim() > 0:
        true_dist.index_fill_(0, mask.squeeze(-1), 0.0)
    criterion = nn.KLDivLoss(reduction="sum")
    entropy = torch.special.entr(true_dist).sum()
    return (criterion(x, true_dist.clone().detach()) + entropy) / (target != 0).sum()


@practice("fairseq")
def fairseq(logits, targets, smoothing):
    lprobs = torch.log_softmax(logits, dim=-1)
    lprobs = lprobs.view(-1, lprobs.size(-1))
    target = targets.reshape(-1)
    if target.dim() == lprobs.dim() - 1:
        target = target.unsqueeze(-1)
    nll_loss = -lprobs.gather(dim=-1, index=target)
    smooth_loss = -lprobs.sum(dim=-1, keepdim=True)
    pad_mask = target.eq(0)
    nll_loss = nll_loss.masked_fill(pad_mask, 0.0).sum()
    smooth_loss = smooth_loss.masked_fill(pad_mask, 0.0).sum()
    eps_i = smoothing / lprobs.size(-1)
    loss = (1.0 - smoothing) * nll_loss + eps_i * smooth_loss
    return loss / target.ne(0).sum()


@practice("timm")
def timm(logits, targets, smoothing):
    confidence = 1.0 - smoothing
    x, target = logits[targets != 0], targets[targets != 0]
    logprobs = F.log_softmax(x, dim=-1)
    nll_loss = -logprobs.gather(dim=-1, index=target.unsqueeze(1))
    nll_loss = nll_loss.squeeze(1)
    smooth_loss = -logprobs.mean(dim=-1)
    loss = confidence * nll_loss + smoothing * smooth_loss
    return loss.mean()


@practice("d2l")
def dive(logits, targets, smoothing):
    num_classes = logits.shape[-1]
    Y_hat = F.log_softmax(logits, dim=-1)
    Y = F.one_hot(targets, num_classes).type(Y_hat.dtype)
    Y = Y * (1 - smoothing) + torch.ones_like(Y) * smoothing / num_classes
    l = -(Y * Y_hat).sum(dim=-1)
    mask = (targets.reshape(-1) != 0).type(torch.float32)
    return ((l.reshape(-1) * mask).sum() / mask.sum()).type(logits.dtype)


@practice("plain loops")
def loops(logits, targets, smoothing):
    B, T, V = logits.shape
    total, count = 0.0, 0
    for b in range(B):
        for t in range(T):
            true = int(targets[b, t])
            if true == 0:
                continue
            log_p = logits[b, t].log_softmax(dim=0)
            for v in range(V):
                q = smoothing / V + (1 - smoothing if v == true else 0)
                total = total - q * log_p[v].float()
            count += 1
    return (total / count).to(logits.dtype)
