"""Exercise 4: how far a text fits a picture that several queries have read."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise

TEMPERATURE = 0.07


def _alike(inputs, sizes, rng):
    """Texts that are somewhat like one query of a picture, so that the largest cosine stands out and is often negative too."""
    texts = inputs["texts"].copy()
    for place in range(0, len(texts), 2):
        texts[place] += 2 * inputs["queries"][rng.integers(sizes["B"]), rng.integers(sizes["Q"])]
    return {"texts": texts}


def _opposite(inputs, rng):
    """All queries look away from the texts: every cosine is negative."""
    inputs["queries"][:] = -abs(inputs["queries"])
    inputs["texts"][:] = abs(inputs["texts"])


def _case(text, temperature=TEMPERATURE, edit=None, edge=False, **sizes):
    sizes = {"B": 3, "Q": 4, "C": 5, "D": 6, **sizes}
    return Case(text, values={"temperature": temperature}, sizes=sizes, edit=edit, edge=edge)


@exercise(
    points=2,
    section="Three losses, three masks",
    source="Li et al. 2023 (BLIP-2), section 3.1: image-text contrastive learning",
    outputs="S",
    formula="S[b, c] = max over q of cos(queries[b, q], texts[c]) / temperature, S [B, C]",
    cases=[
        _case("pictures and texts"),
        _case("a temperature of 1", temperature=1.0),
        _case("cosines that are all negative", edit=_opposite),
        _case("more pictures than texts", B=7, C=2),
        _case("one query", edge=True, Q=1),
    ],
    equivalent={"F.cosine_similarity(texts, queries.unsqueeze(2), dim=-1)": "a cosine has no first and second"},
    draws=_alike,
    waived={
        "zero": "a vector of zeros has no direction",
        "spread": "beside the largest entry of a vector small ones do not count",
    },
)
def query_scores(
    queries: Float[Tensor, "B Q D"], texts: Float[Tensor, "C D"], temperature: float
) -> Float[Tensor, "B C"]:
    cosines = F.cosine_similarity(queries.unsqueeze(2), texts, dim=-1)  # [B, Q, C]
    return cosines.amax(dim=1) / temperature


def _cosines(queries, texts):
    return F.normalize(queries, dim=-1) @ F.normalize(texts, dim=-1).mT  # [B, Q, C]


@query_scores.misconception
def mean_over_queries(queries, texts, temperature):
    """The scores are averaged over the queries. Each query has read something of its own, and the text need fit only one of them:
    the largest counts. A mean is taken by the matching loss, of its logits."""
    return _cosines(queries, texts).mean(dim=1) / temperature


@query_scores.misconception
def cosine_of_the_mean(queries, texts, temperature):
    """The queries are averaged, and the text is compared with their mean. It is compared with each of them; then the largest
    cosine counts."""
    return F.normalize(queries.mean(dim=1), dim=-1) @ F.normalize(texts, dim=-1).mT / temperature


@query_scores.misconception
def first_query(queries, texts, temperature):
    """The first query alone is compared with the texts. All queries are; the largest cosine counts."""
    return _cosines(queries, texts)[:, 0] / temperature


@query_scores.misconception
def largest_over_the_texts(queries, texts, temperature):
    """The largest is taken over the texts. Each text has a score of its own; the largest is taken over the queries."""
    return (_cosines(queries, texts) / temperature).amax(dim=2)


@query_scores.misconception(universal=True)
def products_without_lengths(queries, texts, temperature):
    """The scalar products are not divided by the lengths of the vectors, so a long query wins whatever it says. A score is a
    cosine over the temperature."""
    return (queries @ texts.mT).amax(dim=1) / temperature


@query_scores.misconception
def only_texts_normalised(queries, texts, temperature):
    """The texts are divided by their lengths, and the queries are not. Both are: query outputs differ in length."""
    return (queries @ F.normalize(texts, dim=-1).mT).amax(dim=1) / temperature


@query_scores.misconception
def normalised_along_the_queries(queries, texts, temperature):
    """The queries are normalised along the axis of the queries. Each query's vector is divided by its own length, along the last
    axis."""
    return (F.normalize(queries, dim=1) @ F.normalize(texts, dim=-1).mT).amax(dim=1) / temperature


@query_scores.misconception
def largest_in_size(queries, texts, temperature):
    """The cosine that is largest in absolute value is taken, so that an opposite direction counts as a fit. A text fits where the
    cosine is large and positive."""
    return _cosines(queries, texts).abs().amax(dim=1) / temperature


@query_scores.misconception
def softly_largest(queries, texts, temperature):
    """A smooth maximum (log of the sum of exponentials) stands for the maximum, so every score is larger than it should be. The
    score is the largest cosine itself, over the temperature."""
    return (_cosines(queries, texts) / temperature).logsumexp(dim=1)


@query_scores.alternative
def all_at_once(queries, texts, temperature):
    return (_cosines(queries, texts) / temperature).max(dim=1).values


@query_scores.alternative
def with_einsum(queries, texts, temperature):
    cosines = torch.einsum("bqd,cd->bqc", F.normalize(queries, dim=-1), F.normalize(texts, dim=-1))
    return torch.amax(cosines / temperature, dim=1)


@query_scores.alternative
def picture_by_picture(queries, texts, temperature):
    texts = texts / texts.norm(dim=-1, keepdim=True)
    found = [(one / one.norm(dim=-1, keepdim=True) @ texts.T).max(dim=0)[0] for one in queries]
    return torch.stack(found) / temperature
