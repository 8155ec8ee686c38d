"""Right answers to `momentum_contrastive_loss`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("salesforce's ALBEF")
def albef(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    with torch.no_grad():
        image_feat_all = torch.cat([momentum_images.t(), image_queue.t()], dim=1)
        text_feat_all = torch.cat([momentum_texts.t(), text_queue.t()], dim=1)
        sim_i2t_m = momentum_images @ text_feat_all / temperature
        sim_t2i_m = momentum_texts @ image_feat_all / temperature
        hard = torch.zeros_like(sim_i2t_m)
        hard.fill_diagonal_(1)
        i2t_targets = alpha * F.softmax(sim_i2t_m, dim=1) + (1 - alpha) * hard
        t2i_targets = alpha * F.softmax(sim_t2i_m, dim=1) + (1 - alpha) * hard
    loss_i2t = -torch.sum(F.log_softmax(images @ text_feat_all / temperature, dim=1) * i2t_targets, dim=1).mean()
    loss_t2i = -torch.sum(F.log_softmax(texts @ image_feat_all / temperature, dim=1) * t2i_targets, dim=1).mean()
    return (loss_i2t + loss_t2i) / 2


@practice("salesforce's BLIP, the identity by comparing indices as for retrieval")
def blip(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    idx = torch.arange(images.shape[0], device=images.device).view(-1, 1)
    idx_all = torch.cat([idx.t(), torch.full((1, len(text_queue)), -100, device=idx.device)], dim=1)
    pos = torch.eq(idx, idx_all).to(images.dtype)
    hard = pos / pos.sum(1, keepdim=True)
    losses = []
    for feat, feat_m, other_m, queue in (
        (images, momentum_images, momentum_texts, text_queue),
        (texts, momentum_texts, momentum_images, image_queue),
    ):
        keys = torch.cat([other_m.detach(), queue.clone().detach()], dim=0)
        with torch.no_grad():
            soft = F.softmax(feat_m @ keys.t() / temperature, dim=1)
        targets = alpha * soft + (1 - alpha) * hard
        losses.append(-(F.log_softmax(feat @ keys.t() / temperature, dim=1) * targets).sum(1).mean())
    return (losses[0] + losses[1]) / 2


@practice("MoCo: the positives apart from the negatives")
def moco(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, q_m, k, queue):
        k, queue, q_m = k.detach(), queue.detach(), q_m.detach()
        l_pos = torch.einsum("nc,nc->n", q, k) / temperature
        logits = torch.cat([torch.einsum("nc,mc->nm", q, k), torch.einsum("nc,kc->nk", q, queue)], dim=1)
        logits = logits / temperature
        slow = torch.cat([torch.einsum("nc,mc->nm", q_m, k), torch.einsum("nc,kc->nk", q_m, queue)], dim=1)
        soft = torch.einsum("nk,nk->n", (slow / temperature).softmax(dim=1), logits)
        return (logits.logsumexp(dim=1) - alpha * soft - (1 - alpha) * l_pos).mean()

    loss_i = side(images, momentum_images, momentum_texts, text_queue)
    loss_t = side(texts, momentum_texts, momentum_images, image_queue)
    return 0.5 * (loss_i + loss_t)


@practice("einops", needs="einops")
def lucidrains(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    from einops import einsum, pack, rearrange, reduce

    with torch.no_grad():
        text_keys, _ = pack([momentum_texts, text_queue], "* d")
        image_keys, _ = pack([momentum_images, image_queue], "* d")
        keys = torch.stack((text_keys, image_keys))
        teacher = einsum(torch.stack((momentum_images, momentum_texts)), keys, "s n d, s k d -> s n k")
        labels = F.one_hot(torch.arange(len(images), device=images.device), keys.shape[1])
        targets = torch.lerp(rearrange(labels, "n k -> 1 n k").to(keys), (teacher / temperature).softmax(-1), alpha)
    student = einsum(torch.stack((images, texts)), keys, "s n d, s k d -> s n k") / temperature
    return reduce(-reduce(targets * student.log_softmax(dim=-1), "s n k -> s n", "sum"), "s n -> ", "mean")


@practice("plain loops")
def loops(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    N = images.shape[0]
    loss = 0.0
    for fast, slow, own, queue in [
        (images, momentum_images.detach(), momentum_texts.detach(), text_queue.detach()),
        (texts, momentum_texts.detach(), momentum_images.detach(), image_queue.detach()),
    ]:
        candidates = list(own) + list(queue)
        for i in range(N):
            target = torch.stack([torch.dot(slow[i], c) / temperature for c in candidates]).softmax(dim=0)
            logs = torch.stack([torch.dot(fast[i], c) / temperature for c in candidates]).log_softmax(dim=0)
            for j in range(len(candidates)):
                hard = 1.0 if j == i else 0.0
                loss = loss - (alpha * target[j] + (1 - alpha) * hard) * logs[j]
    return loss / (2 * N)
