"""Right answers to `sigmoid_loss`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("SigLIP's pseudocode")
def siglip(images, texts, temperature, bias):
    n = images.shape[0]
    zimg = F.normalize(images, dim=-1)
    ztxt = F.normalize(texts, dim=-1)
    logits = zimg @ ztxt.T / temperature + bias
    labels = 2 * torch.eye(n, dtype=logits.dtype, device=logits.device) - torch.ones_like(logits)
    return -F.logsigmoid(labels * logits).sum() / n


@practice("open_clip, texts passed on from neighbour to neighbour")
def open_clip(images, texts, temperature, bias):
    image_features = F.normalize(images, dim=-1)
    text_features = F.normalize(texts, dim=-1)
    batch = image_features.size(0)
    world = 2 if batch % 2 == 0 else 1
    ranks = list(zip(image_features.chunk(world), text_features.chunk(world), strict=True))

    def one_block(image_block, text_block, negative_only):
        logits = image_block @ text_block.T * (1 / temperature) + bias
        labels = -torch.ones_like(logits)
        if not negative_only:
            labels = 2 * torch.eye(len(logits), dtype=logits.dtype, device=logits.device) + labels
        return -F.logsigmoid(labels * logits).sum()

    blocks = []
    for rank, (image_block, _) in enumerate(ranks):
        for step in range(world):
            _, passed_on = ranks[(rank + step) % world]
            blocks.append(one_block(image_block, passed_on, negative_only=step > 0))
    return torch.stack(blocks).sum() / batch


@practice("transformers")
def hugging_face(images, texts, temperature, bias):
    image_embeds = images / images.norm(p=2, dim=-1, keepdim=True)
    text_embeds = texts / texts.norm(p=2, dim=-1, keepdim=True)
    logits_per_text = torch.matmul(text_embeds, image_embeds.t()) / temperature + bias
    eye = torch.eye(logits_per_text.size(0), device=logits_per_text.device, dtype=logits_per_text.dtype)
    loglik = F.logsigmoid((2 * eye - 1) * logits_per_text)
    return -loglik.sum(dim=-1).mean()


@practice("einops", needs="einops")
def einops(images, texts, temperature, bias):
    from einops import einsum, reduce

    scores = einsum(F.normalize(images, dim=-1), F.normalize(texts, dim=-1), "i d, j d -> i j") / temperature + bias
    labels = torch.eye(len(images), dtype=scores.dtype, device=scores.device)
    terms = F.binary_cross_entropy_with_logits(scores, labels, reduction="none")
    return reduce(reduce(terms, "i j -> i", "sum"), "i -> ", "mean")


@practice("plain loops")
def loops(images, texts, temperature, bias):
    N = len(images)
    losses = []
    for i in range(N):
        for j in range(N):
            cosine = images[i] @ texts[j] / (images[i].norm() * texts[j].norm())
            z = 1 if i == j else -1
            losses.append(-F.logsigmoid(z * (cosine / temperature + bias)))
    return torch.stack(losses).sum() / N
