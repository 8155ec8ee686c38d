"""Right answers to `contrastive_loss`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("OpenAI's CLIP")
def clip(images, texts, temperature):
    image_features = images / images.norm(dim=1, keepdim=True)
    text_features = texts / texts.norm(dim=1, keepdim=True)
    logit_scale = 1 / temperature
    logits_per_image = logit_scale * image_features @ text_features.t()
    logits_per_text = logits_per_image.t()
    labels = torch.arange(logits_per_image.shape[0], device=images.device)
    loss_i = F.cross_entropy(logits_per_image, labels)
    loss_t = F.cross_entropy(logits_per_text, labels)
    return (loss_i + loss_t) / 2


@practice("open_clip")
def open_clip(images, texts, temperature):
    image_features = F.normalize(images, dim=-1)
    text_features = F.normalize(texts, dim=-1)
    scale = 1.0 / temperature
    per_image = scale * image_features @ text_features.T
    per_text = scale * text_features @ image_features.T
    labels = torch.arange(per_image.shape[0], device=image_features.device, dtype=torch.long)
    return sum(F.cross_entropy(logits, labels) for logits in (per_image, per_text)) / 2


@practice("Hugging Face's CLIP")
def transformers(images, texts, temperature):
    def contrastive(logits):
        return F.cross_entropy(logits, torch.arange(len(logits), device=logits.device))

    image_embeds = images / images.pow(2).sum(dim=-1, keepdim=True).pow(0.5)
    text_embeds = texts / texts.pow(2).sum(dim=-1, keepdim=True).pow(0.5)
    similarity = torch.matmul(text_embeds, image_embeds.t()) / temperature
    return (contrastive(similarity) + contrastive(similarity.t())) / 2.0


@practice("einops", needs="einops")
def lucidrains(images, texts, temperature):
    from einops import einsum, reduce

    text_latents, image_latents = (F.normalize(t, p=2, dim=-1) for t in (texts, images))
    sim = einsum(text_latents, image_latents, "t d, i d -> t i") / temperature
    own = einsum(text_latents, image_latents, "n d, n d -> n") / temperature
    losses = torch.stack((sim.logsumexp(dim=1) - own, sim.logsumexp(dim=0) - own))
    return reduce(losses, "side n -> ", "mean")


@practice("plain loops")
def loops(images, texts, temperature):
    N = images.shape[0]
    loss = 0.0
    for n in range(N):
        row, column = [], []
        for m in range(N):
            row.append(F.cosine_similarity(images[n], texts[m], dim=0) / temperature)
            column.append(F.cosine_similarity(images[m], texts[n], dim=0) / temperature)
        loss = loss - torch.log_softmax(torch.stack(row), dim=0)[n] / 2
        loss = loss - torch.log_softmax(torch.stack(column), dim=0)[n] / 2
    return loss / N
