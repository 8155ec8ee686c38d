"""Right answers to `bits_per_pixel`, as others write them."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from autograder.bank.practice import practice


@practice("nanoGPT")
def nano(logits, pictures):
    b, h, w, vocab_size = logits.size()
    t = h * w
    idx = pictures.reshape(b, t)
    logits = logits.reshape(b, t, vocab_size)[:, :-1, :].contiguous()
    targets = idx[:, 1:].contiguous()
    loss = F.cross_entropy(logits.view(-1, vocab_size), targets.view(-1), reduction="none").view(b, t - 1)
    return (loss.sum(dim=1) + math.log(vocab_size)) / (t * math.log(2))


@practice("transformers")
def hugging_face(logits, pictures):
    batch_size, vocab_size = logits.shape[0], logits.shape[-1]
    labels = pictures.reshape(batch_size, -1)
    shift_logits = logits.reshape(batch_size, -1, vocab_size)[..., :-1, :].contiguous()
    shift_labels = labels[..., 1:].contiguous()
    loss_fct = nn.CrossEntropyLoss(reduction="none")
    losses = loss_fct(shift_logits.transpose(1, 2), shift_labels)
    first = losses.new_full((batch_size, 1), math.log(vocab_size))
    return torch.cat([first, losses], dim=1).mean(dim=1) / math.log(2)


@practice("fairseq")
def fair(logits, pictures):
    bsz, vocab = logits.size(0), logits.size(-1)
    target = pictures.reshape(bsz, -1)
    lprobs = F.log_softmax(logits.reshape(bsz, -1, vocab), dim=-1)[:, :-1]
    nll_loss = -lprobs.gather(dim=-1, index=target[:, 1:].unsqueeze(-1)).squeeze(-1)
    ntokens = target.size(1)
    return (nll_loss.sum(-1) / math.log(2) + math.log(vocab, 2)) / ntokens


@practice("pixel-cnn")
def pixel_cnn(x_out, samples):
    """Logits of all pixels at once, the first of which nothing has predicted."""
    B, H, W, n_values = x_out.shape
    up = torch.zeros_like(x_out[:, :1, :1]).reshape(B, 1, n_values)
    shifted = torch.cat([up, x_out.reshape(B, H * W, n_values)], dim=1)[:, : H * W]
    log_prob = torch.distributions.Categorical(logits=shifted).log_prob(samples.reshape(B, H * W))
    return -log_prob.mean(dim=1) / np.log(2.0)


@practice("d2l")
def dive(logits, pictures):
    batch_size, num_rows, num_cols, num_values = logits.shape
    num_pixels = num_rows * num_cols
    Y_hat = logits.reshape((batch_size, num_pixels, num_values))
    Y = pictures.reshape((batch_size, num_pixels))
    metric = torch.zeros_like(Y_hat[:, 0, 0]) + math.log2(num_values)
    for t in range(num_pixels - 1):
        metric = metric + F.cross_entropy(Y_hat[:, t], Y[:, t + 1], reduction="none") * math.log2(math.e)
    return metric / num_pixels


@practice("plain loops")
def loops(logits, pictures):
    totals = []
    for picture_logits, picture in zip(logits, pictures):
        before, total = None, 0 * picture_logits.flatten()[0]
        for row_logits, row in zip(picture_logits, picture):
            for here, value in zip(row_logits, row):
                if before is None:
                    total = total + math.log2(len(here))
                else:
                    total = total - torch.log_softmax(before, 0)[value] / math.log(2)
                before = here
        totals.append(total / picture.numel())
    return torch.stack(totals)
