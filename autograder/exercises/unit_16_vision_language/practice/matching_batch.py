"""Right answers to `matching_batch`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("salesforce's BLIP: negatives gathered in loops, positives before negatives")
def blip(images, texts, image_negatives, text_negatives):
    bs = images.size(0)
    image_embeds_neg, text_ids_neg = [], []
    for b in range(bs):
        image_embeds_neg.append(images[image_negatives[b].item()])
    for b in range(bs):
        text_ids_neg.append(texts[text_negatives[b].item()])
    image_embeds_neg = torch.stack(image_embeds_neg, dim=0)
    text_ids_neg = torch.stack(text_ids_neg, dim=0)
    text_ids_all = torch.cat([texts, texts, text_ids_neg], dim=0)
    image_embeds_all = torch.cat([images, image_embeds_neg, images], dim=0)
    itm_labels = torch.cat([torch.ones(bs, dtype=torch.long), torch.zeros(2 * bs, dtype=torch.long)], dim=0)
    return image_embeds_all, text_ids_all, itm_labels.to(images.device)


@practice("LAVIS: indexing by tensors")
def lavis(images, texts, image_negatives, text_negatives):
    bs = len(images)
    V = torch.cat((images, images.index_select(0, image_negatives), images))
    T = torch.cat((texts, texts, texts.index_select(0, text_negatives)))
    labels = torch.zeros(3 * bs, dtype=torch.long, device=images.device)
    labels[:bs] = 1
    return V, T, labels


@practice("einops", needs="einops")
def lucidrains(images, texts, image_negatives, text_negatives):
    from einops import rearrange, repeat

    V = rearrange([images, images[image_negatives], images], "kind n m d -> (kind n) m d")
    T = rearrange([texts, texts, texts[text_negatives]], "kind n l -> (kind n) l")
    labels = repeat(torch.tensor([1, 0, 0], device=images.device), "kind -> (kind n)", n=len(images))
    return V, T, labels


@practice("expanded indices and gather")
def gather(images, texts, image_negatives, text_negatives):
    N, M, D = images.shape
    at_images = image_negatives.long().view(N, 1, 1).expand(N, M, D)
    at_texts = text_negatives.long().view(N, 1).expand(N, texts.shape[1])
    V = torch.cat([images, torch.gather(images, 0, at_images), images], dim=0)
    T = torch.cat([texts, texts, torch.gather(texts, 0, at_texts)], dim=0)
    return V, T, (torch.arange(3 * N, device=images.device) < N).long()
