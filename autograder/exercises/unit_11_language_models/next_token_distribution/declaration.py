"""Exercise 6: what the next token is drawn from, after temperature, top-k and top-p."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_11_language_models.next_token_distribution.drawing import (
    close_at_the_top,
    drawn_clear,
    enlarged,
    far_apart,
    many,
    one_is_zero,
)

EQUAL = "which of equal logits stay is not asked"
NEARLY = "among logits that nearly agree, and where a sum nearly is p, rounding would decide which tokens stay"


def _case(text, temperature, k, p, V, axes="B", **more):
    values = {"temperature": temperature, "k": k, "p": p}
    return Case(text, values=values, sizes={"V": V, **more.pop("sizes", {})}, expand={"*B": axes}, **more)


@exercise(
    points=3,
    section="Temperature, top-k and top-p",
    source="Fan et al. 2018 (top-k); Holtzman et al. 2020, sections 3.1 to 3.3 (top-p, or nucleus, and temperature)",
    outputs="probabilities",
    formula="S = the k tokens with a row's largest logits; P_v = exp(logits_v / temperature) / Σ exp(logits_j / temperature) over"
    " the j in S, for v in S; S_p = the fewest most likely tokens of S whose P sum to at least p; probabilities_v = P_v / Σ P_j"
    " over the j in S_p, if v is one of them, else exactly 0; logits [*B, V] gives probabilities [*B, V]",
    cases=[
        _case("a few prompts", 1.5, 5, 0.7, 9),
        _case("every position of a batch", 0.7, 6, 0.85, 10, "B N"),
        _case("one prompt", 2.0, 6, 0.6, 11, ""),
        _case("top-k switched off by k = V", 1.25, 8, 0.65, 8),
        _case("a p that only all k tokens together reach", 2.5, 4, 0.97, 9),
        _case("a small p", 2.5, 9, 0.2, 12, sizes={"B": 6}),
        _case("temperature 1", 1.0, 5, 0.75, 9),
        _case("one logit far above the others", 0.8, 4, 0.9, 8, edit=far_apart, edge=True),
        _case("k = 1", 1.5, 1, 0.6, 7, edge=True),
        _case("a single token in the vocabulary", 0.7, 1, 0.5, 1, edge=True),
        _case("a low temperature", 0.01, 6, 0.93, 9, edge=True, edit=close_at_the_top),
        _case("a high temperature", 20.0, 7, 0.64, 12, edge=True),
        _case("a large vocabulary", 1.6, 20, 0.8, 300, edge=True),
        _case("hundreds of tokens that stay", 1.5, 280, 0.97, 300, edge=True, edit=many),
        _case("large logits at a high temperature", 100.0, 6, 0.9, 9, edge=True, extreme=True, edit=enlarged),
        _case("a logit of 0 among those that stay", 1.5, 5, 0.9, 9, edge=True, edit=one_is_zero),
    ],
    draws=drawn_clear,
    waived={"zero": EQUAL, "spread": NEARLY},
    zeros="probabilities",
    equivalent={"before > p, 0.0)": "no sum is p itself, where rounding would decide"},
)  # fmt: skip
def next_token_distribution(
    logits: Float[Tensor, "*B V"], temperature: float, k: int, p: float
) -> Float[Tensor, "*B V"]:
    scaled = logits / temperature  # [*B, V]
    above = scaled.unsqueeze(-2) > scaled.unsqueeze(-1)  # [*B, V, V]; at v, j: whether j is more likely than v
    P = scaled.masked_fill(above.sum(dim=-1) >= k, -torch.inf).softmax(dim=-1)  # [*B, V]
    before = torch.where(above, P.unsqueeze(-2), 0.0).sum(dim=-1)  # [*B, V]; what all more likely tokens have together
    kept = P.masked_fill(before >= p, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


def rank(values, dim=-1):
    """0 for the largest, 1 for the next, and so on, along an axis."""
    return values.argsort(dim=dim, descending=True).argsort(dim=dim)


def among(values, chosen, dim=-1):
    """The softmax over what is chosen, along an axis."""
    return values.masked_fill(~chosen, -torch.inf).softmax(dim=dim)


def sum_before(P, dim=-1):
    """For each token the sum of the probabilities of all that are more likely, along an axis."""
    largest, order = P.sort(dim=dim, descending=True)
    return torch.empty_like(P).scatter(dim, order, largest.cumsum(dim=dim) - largest)


def top_k(scaled, k, dim=-1):
    """The probabilities among the k largest."""
    return among(scaled, rank(scaled, dim) < k, dim)


def nucleus(P, p, dim=-1):
    """True for the most likely tokens that reach p together."""
    return (sum_before(P, dim) < p) & (P > 0)


def shared(P):
    """Probabilities made to sum to 1."""
    return P / P.sum(dim=-1, keepdim=True)


@next_token_distribution.alternative
def as_a_student(logits, temperature, k, p):
    logits = logits / temperature
    threshold = torch.topk(logits, k).values[..., -1:]
    logits = logits.masked_fill(logits < threshold, float("-inf"))
    sorted_logits, order = torch.sort(logits, descending=True, dim=-1)
    cumulative = torch.cumsum(F.softmax(sorted_logits, dim=-1), dim=-1)
    remove = cumulative >= p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    remove = remove.scatter(-1, order, remove)
    return F.softmax(logits.masked_fill(remove, float("-inf")), dim=-1)


@next_token_distribution.alternative
def scattered_back(logits, temperature, k, p):
    values, places = (logits / temperature).topk(k, dim=-1)
    P = values.softmax(dim=-1)
    P = P * (P.cumsum(dim=-1) - P < p)
    return torch.zeros_like(logits).scatter(-1, places, P / P.sum(dim=-1, keepdim=True))


@next_token_distribution.alternative
def from_the_least_likely(logits, temperature, k, p):
    """As in Hugging Face's transformers: sorted ascending, tokens go while they sum to no more than 1 − p."""
    scores = logits / temperature
    scores = scores.masked_fill(scores < scores.topk(k)[0][..., -1, None], -torch.inf)
    ascending, order = scores.sort(descending=False)
    remove = ascending.softmax(dim=-1).cumsum(dim=-1) <= 1 - p
    remove[..., -1:] = False
    return scores.masked_fill(remove.scatter(-1, order, remove), -torch.inf).softmax(dim=-1)


@next_token_distribution.alternative
def token_by_token(logits, temperature, k, p):
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]):
        order = sorted(range(len(row)), key=lambda v: row[v].item(), reverse=True)[:k]
        P = torch.softmax(row[order] / temperature, dim=0)
        count, total = 0, 0.0
        while total < p and count < len(order):
            total += P[count].item()
            count += 1
        probabilities = torch.zeros_like(row)
        probabilities[order[:count]] = P[:count] / P[:count].sum()
        rows.append(probabilities)
    return torch.stack(rows).reshape(logits.shape)


@next_token_distribution.alternative
def counted_with_one_hot_rows(logits, temperature, k, p):
    P, order = torch.softmax(logits / temperature, dim=-1).sort(dim=-1, descending=True)
    P = P[..., :k] / P[..., :k].sum(dim=-1, keepdim=True)
    count = 1 + (P.cumsum(dim=-1) < p).sum(dim=-1, keepdim=True)
    P = P.where(torch.arange(k, device=P.device) < count, torch.zeros_like(P))
    P = P / P.sum(dim=-1, keepdim=True)
    return torch.einsum("...k,...kv->...v", P, F.one_hot(order[..., :k], logits.shape[-1]).to(P.dtype))
