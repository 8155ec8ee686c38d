"""Right answers to `query_scores`, as others write them."""

import torch
import torch.nn.functional as F
from torch import einsum

from autograder.bank.practice import practice


@practice("salesforce/LAVIS")
def lavis(queries, texts, temperature):
    image_feats = F.normalize(queries, dim=-1)
    text_feat = F.normalize(texts, dim=-1)
    sim_q2t = torch.matmul(image_feats.unsqueeze(1), text_feat.unsqueeze(-1)).squeeze(-1)
    sim_i2t, _ = sim_q2t.max(-1)
    return sim_i2t / temperature


@practice("transformers")
def hugging_face(queries, texts, temperature):
    image_embeds = queries / queries.norm(p=2, dim=-1, keepdim=True)
    text_embeds = texts / texts.norm(p=2, dim=-1, keepdim=True)
    logits_per_text = torch.matmul(text_embeds[:, None, None, :], image_embeds.permute(0, 2, 1)).squeeze(2)
    logits_per_text, _ = logits_per_text.max(dim=-1)
    logits_per_image = logits_per_text.t()
    return logits_per_image / temperature


def l2norm(t):
    return F.normalize(t, dim=-1)


@practice("lucidrains")
def lucid(queries, texts, temperature):
    image_latents, text_latents = map(l2norm, (queries, texts))
    sim = einsum("b q d, c d -> b c q", image_latents, text_latents)
    return sim.amax(dim=-1) * (temperature**-1)


@practice("einops", needs="einops")
def einops(queries, texts, temperature):
    from einops import rearrange, reduce

    q = rearrange(F.normalize(queries, dim=-1), "b q d -> b q 1 d")
    t = rearrange(F.normalize(texts, dim=-1), "c d -> 1 1 c d")
    cosines = reduce(q * t, "b q c d -> b q c", "sum")
    return reduce(cosines, "b q c -> b c", "max") / temperature


@practice("ColBERT")
def colbert(queries, texts, temperature):
    D_emb = torch.nn.functional.normalize(queries, p=2, dim=2)
    Q_emb = torch.nn.functional.normalize(texts, p=2, dim=1)
    scores = D_emb @ Q_emb.unsqueeze(0).permute(0, 2, 1)
    return scores.max(1).values / temperature


@practice("plain loops")
def loops(queries, texts, temperature):
    out = []
    for picture in queries:
        row = []
        for text in texts:
            cosines = [F.cosine_similarity(query, text, dim=0) for query in picture]
            row.append(torch.stack(cosines).max() / temperature)
        out.append(torch.stack(row))
    return torch.stack(out)
