"""Exercise 6: the gates of a mixture of experts, of which all but k are 0."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_09_transformer_block._shared import drawn_apart, far_apart


def _negative(inputs, rng):
    """All logits below 0, so that a 0 in the place of −∞ would be the largest."""
    inputs["logits"] -= 1 + inputs["logits"].max()


def _case(text, k, E, axes="T", **more):
    return Case(text, values={"k": k}, sizes={"E": E}, expand={"*S": axes}, **more)


@exercise(
    points=3,
    section="Mixture of experts",
    source="Shazeer et al. 2017, section 2.1, without the noise; Jiang et al. 2024 (Mixtral), section 2.1",
    outputs="gates",
    formula="gates_e = exp(logits_e) / Σ exp(logits_j) over the k experts j with the token's largest logits, if e is one of them,"
    " else exactly 0; logits [*S, E] gives gates [*S, E]",
    cases=[
        _case("a few tokens", 2, 6),
        _case("a batch of sequences", 3, 8, "B N"),
        _case("one token", 2, 7, ""),
        _case("negative logits", 2, 5, edit=_negative),
        _case("as many as there are experts", 6, 6),
        _case("one expert for each token", 1, 7, edge=True),
        _case("one expert in all", 1, 1, edge=True),
        _case("many experts", 4, 20, edge=True),
        _case("one logit far above the others", 3, 8, edge=True, edit=far_apart),
    ],
    draws=drawn_apart,
    waived={"zero": "which of equal logits count among the largest is not asked"},
    zeros="gates",
)
def top_k_gates(logits: Float[Tensor, "*S E"], k: int) -> Float[Tensor, "*S E"]:
    rank = logits.argsort(descending=True).argsort()  # 0 for a token's largest logit
    return logits.masked_fill(rank >= k, -torch.inf).softmax(dim=-1)


def _chosen(logits, k, dim=-1, largest=True):
    """True for the k largest, or smallest, along an axis."""
    places = logits.topk(k, dim=dim, largest=largest).indices
    return torch.zeros_like(logits, dtype=torch.bool).scatter(dim, places, True)


def _among(logits, chosen, dim=-1):
    """The softmax over what is chosen, along an axis."""
    return logits.masked_fill(~chosen, -torch.inf).softmax(dim=dim)


@top_k_gates.misconception
def cut_after_the_softmax(logits, k):
    """The chosen gates are those of a softmax over all E experts: the other experts' shares were set to 0 and are now missing,
    so that a token's gates sum to less than 1. The softmax should run over the k chosen logits alone; dividing the k gates by
    their sum gives the same."""
    return logits.softmax(dim=-1) * _chosen(logits, k)


@top_k_gates.misconception
def all_experts(logits, k):
    """This is the softmax over all E experts. Only the k experts with a token's largest logits get a gate; all others get
    exactly 0, so that they need not be computed."""
    return logits.softmax(dim=-1)


@top_k_gates.misconception
def zeros_in_the_softmax(logits, k):
    """The experts that were not chosen went into the softmax with the logit 0. Since exp(0) is 1, they still get gates above
    0, and sometimes the largest. In a softmax the logit of an expert that must get nothing is −∞."""
    return (logits * _chosen(logits, k)).softmax(dim=-1)


@top_k_gates.misconception
def softmax_of_probabilities(logits, k):
    """The gates are the softmax of the chosen experts' probabilities, so two softmaxes follow one another. Probabilities
    differ by less than 1, which makes the gates nearly equal. Apply a single softmax, to the k chosen logits."""
    return _among(logits.softmax(dim=-1), _chosen(logits, k))


@top_k_gates.misconception
def logits_over_their_sum(logits, k):
    """The chosen logits were divided by their sum. Logits may be negative, and their sum may be near 0, so this gives negative
    or very large gates. A softmax divides exponentials by their sum."""
    kept = logits * _chosen(logits, k)
    return kept / kept.sum(dim=-1, keepdim=True)


@top_k_gates.misconception
def sigmoids_over_their_sum(logits, k):
    """The gates are the sigmoids of the chosen logits, divided by their sum. Some models do this, but here the gates are a
    softmax over the k chosen logits: exponentials, divided by their sum."""
    kept = logits.sigmoid() * _chosen(logits, k)
    return kept / kept.sum(dim=-1, keepdim=True)


@top_k_gates.misconception
def same_gate_for_all_chosen(logits, k):
    """All k chosen experts of a token have the same gate, 1/k. The gates should say how much each of them counts: they are the
    softmax over the k chosen logits."""
    return _chosen(logits, k).to(logits.dtype) / k


@top_k_gates.misconception
def choices_alone(logits, k):
    """Each chosen expert has the gate 1. That says which experts are chosen, not how much each of them counts: the gates of a
    token are the softmax over its k chosen logits, and sum to 1."""
    return _chosen(logits, k).to(logits.dtype)


@top_k_gates.misconception
def smallest_chosen(logits, k):
    """The gates went to the k experts with the smallest logits of each token. The chosen experts are those with the k
    largest."""
    return _among(logits, _chosen(logits, k, largest=False))


@top_k_gates.misconception
def experts_choose_tokens(logits, k):
    """Each expert has chosen k tokens, and its gates sum to 1 over these. Here it is the tokens that choose: for each token,
    top-k and softmax run over the E experts, the last axis."""
    return _among(logits, _chosen(logits, k, dim=-2), dim=-2)


@top_k_gates.misconception
def along_the_first_axis(logits, k):
    """Top-k and softmax run along the first axis of logits, so that tokens compete for an expert. Only for a single token [E]
    is that the axis of the experts: it is always the last one, dim=-1."""
    return _among(logits, _chosen(logits, k, dim=0), dim=0)


@top_k_gates.misconception
def tokens_chosen_for_each_expert(logits, k):
    """Each expert has kept the k tokens with its largest logits, so that a token may get more than k experts, or none, whose
    gates are then NaN. Here it is the tokens that choose: top-k runs over the E experts, the last axis."""
    return _among(logits, _chosen(logits, k, dim=-2))


@top_k_gates.misconception
def one_threshold_for_all_tokens(logits, k):
    """All tokens share one threshold, the smallest logit that any token has among its k largest. So some tokens get more than
    k experts. Each token has a threshold of its own, its k-th largest logit."""
    return _among(logits, logits >= logits.topk(k, dim=-1).values.min())


@top_k_gates.misconception
def gates_without_places(logits, k):
    """Only the k gates of each token came back, [*S, k], the largest first. From these nobody can tell which experts they
    belong to. Put each gate in its expert's place in a row of E numbers, with 0 in all other places."""
    return logits.topk(k, dim=-1).values.softmax(dim=-1)


@top_k_gates.misconception
def gates_in_the_first_places(logits, k):
    """The k gates of each token stand in the first k places, the largest first. Entry e belongs to expert e: put each gate in
    the place of the expert whose logit it was made from, which the indices of topk tell."""
    return F.pad(logits.topk(k, dim=-1).values.softmax(dim=-1), (0, logits.shape[-1] - k))


@top_k_gates.alternative
def scattered(logits, k):
    values, experts = logits.topk(k, dim=-1)
    return torch.zeros_like(logits).scatter(-1, experts, values.softmax(dim=-1))


@top_k_gates.alternative
def by_threshold(logits, k):
    smallest = torch.topk(logits, k).values[..., -1:]  # that is chosen, for each token
    return F.softmax(torch.where(logits >= smallest, logits, -torch.inf), dim=-1)


@top_k_gates.alternative
def divided_by_the_sum_of_the_chosen(logits, k):
    P = torch.softmax(logits, -1)
    kept = P * (P.argsort(-1).argsort(-1) >= logits.shape[-1] - k)
    return kept / kept.sum(-1, keepdim=True)


@top_k_gates.alternative
def by_one_hot_rows(logits, k):
    values, experts = torch.sort(logits, dim=-1, descending=True)
    gates = torch.softmax(values[..., :k], dim=-1)
    return torch.einsum("...k,...ke->...e", gates, F.one_hot(experts[..., :k], logits.shape[-1]).to(gates.dtype))


@top_k_gates.alternative
def token_by_token(logits, k):
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]):
        largest = sorted(range(len(row)), key=lambda e: -row[e].item())[:k]
        powers = torch.exp(row[largest] - row[largest].max())
        gates = torch.zeros_like(row)
        gates[largest] = powers / powers.sum()
        rows.append(gates)
    return torch.stack(rows).reshape(logits.shape)
