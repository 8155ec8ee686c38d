"""Exercise 7: the loss that keeps a router from sending all tokens to the same experts."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_09_transformer_block._shared import drawn_apart, far_apart


def _in_turns(inputs, rng):
    """Each token likes the experts as the one before does, moved on by one: in E tokens all get the same."""
    first = inputs["logits"][0]
    inputs["logits"][:] = np.stack([np.roll(first, t) for t in range(len(inputs["logits"]))])


def _collapsed(inputs, rng):
    """Expert 1 has the largest logit of each token."""
    inputs["logits"][:, 1] += 3 + np.ptp(inputs["logits"], axis=1)


def _case(text, k, E, **more):
    return Case(text, values={"k": k}, **{"sizes": {"E": E}, **more})


@exercise(
    points=2,
    section="The load-balancing loss",
    source="Fedus et al. 2022 (Switch Transformers), section 2.2, equations 4 to 6 without the factor α",
    outputs="loss",
    formula="loss = E · Σ_e f_e P_e with f_e the share of the T·k choices that fell on expert e, and P_e the mean over the T"
    " tokens of softmax(logits)_te over all E experts; logits [T, E] gives one number",
    cases=[
        _case("two experts for each token", 2, 6),
        _case("one expert for each token", 1, 5),
        _case("three experts for each token", 3, 8),
        _case("uniform routing", 2, 4, sizes={"T": 12, "E": 4}, edit=_in_turns),
        _case("all tokens choose the same expert", 1, 7, edit=_collapsed),
        _case("all experts for each token", 5, 5, edge=True),
        _case("one logit far above the others", 3, 8, edge=True, edit=far_apart),
        _case("hundreds of tokens for one expert", 1, 3, edge=True, sizes={"T": 300, "E": 3}, edit=_collapsed),
        _case("one expert in all", 1, 1, edge=True),
    ],
    draws=drawn_apart,
    waived={"zero": "which of equal logits count among the largest is not asked"},
)
def balance_loss(logits: Float[Tensor, "T E"], k: int) -> Float[Tensor, ""]:
    rank = logits.argsort(descending=True).argsort()  # 0 for a token's largest logit
    f = (rank < k).to(logits.dtype).mean(dim=0) / k
    P = logits.softmax(dim=1).mean(dim=0)
    return logits.shape[1] * (f * P).sum()


def _choices(logits, k, dim=-1, largest=True):
    """[T, E], 1 for what is chosen along an axis, else 0."""
    places = logits.topk(k, dim=dim, largest=largest).indices
    return torch.zeros_like(logits).scatter(dim, places, 1.0)


def _f(logits, k, **others):
    return _choices(logits, k, **others).mean(dim=0) / k


def _P(logits):
    return logits.softmax(dim=-1).mean(dim=0)


def _kept(logits, k):
    """The probabilities of the chosen experts, 0 for all others."""
    return logits.softmax(dim=-1) * _choices(logits, k)


def _loss(f, P):
    return len(P) * (f * P).sum()


@balance_loss.misconception
def choices_over_tokens(logits, k):
    """The loss is k times too large: do the f_e sum to k? There are T·k choices, and f_e is a share of all of them, so that
    the f_e sum to 1 and uniform routing gives 1."""
    return k * _loss(_f(logits, k), _P(logits))


@balance_loss.misconception
def counts_for_shares(logits, k):
    """The loss is T·k times too large: do the f_e count choices? f_e is a share: how many choices fell on expert e, divided by
    how many there are, T·k."""
    return k * len(logits) * _loss(_f(logits, k), _P(logits))


@balance_loss.misconception
def without_the_number_of_experts(logits, k):
    """The loss is E times too small: was the factor E left out, or the mean over the experts taken for the sum? With E times
    the sum, uniform routing gives 1, however many experts there are."""
    return (_f(logits, k) * _P(logits)).sum()


@balance_loss.misconception
def first_choices_alone(logits, k):
    """Only each token's first choice is counted in f, the expert with its largest logit. All k choices of a token count: f_e
    is a share of T·k choices."""
    return _loss(_f(logits, 1), _P(logits))


@balance_loss.misconception
def smallest_counted(logits, k):
    """The k smallest logits of each token are counted as its choices. A token chooses the experts with its k largest
    logits."""
    return _loss(_f(logits, k, largest=False), _P(logits))


@balance_loss.misconception
def shares_squared(logits, k):
    """The number is E · Σ f_e²: the shares of choices stand in the place of the probabilities too. Counts have no gradient, so
    the router could not learn from this. One factor is P_e, the mean probability of expert e."""
    f = _f(logits, k)
    return _loss(f, f)


@balance_loss.misconception
def probabilities_squared(logits, k):
    """The number is E · Σ P_e²: the mean probabilities stand in the place of the shares of choices too. One factor is f_e,
    which counts how many of the T·k choices fell on expert e."""
    return _loss(_P(logits), _P(logits))


@balance_loss.misconception
def chosen_probabilities_for_shares(logits, k):
    """In the place of f_e stands a mean of the chosen experts' probabilities, from the softmax over all experts. f_e counts:
    each choice of expert e adds 1, however probable it was, and the sum is divided by T·k."""
    return _loss(_kept(logits, k).mean(dim=0) / k, _P(logits))


@balance_loss.misconception
def chosen_probabilities_summing_to_less(logits, k):
    """In the place of f_e stands a mean over the tokens of the chosen experts' probabilities, from the softmax over all
    experts. f_e counts: each choice of expert e adds 1, however probable it was, and the sum is divided by T·k."""
    return _loss(_kept(logits, k).mean(dim=0), _P(logits))


@balance_loss.misconception(universal=True)
def gates_for_shares(logits, k):
    """In the place of f_e stands the mean of the gates, the softmax over the k chosen logits. f_e counts: each choice of
    expert e adds 1, whatever its gate, and the sum is divided by T·k."""
    kept = _kept(logits, k)
    return _loss((kept / kept.sum(dim=-1, keepdim=True)).mean(dim=0), _P(logits))


@balance_loss.misconception
def gates_for_probabilities(logits, k):
    """In the place of P_e stands the mean of the gates, the softmax over the k chosen logits. P_e is the mean of a softmax
    over all E logits, so that the experts that were not chosen get a gradient too."""
    kept = _kept(logits, k)
    return _loss(_f(logits, k), (kept / kept.sum(dim=-1, keepdim=True)).mean(dim=0))


@balance_loss.misconception
def chosen_probabilities_alone(logits, k):
    """In the place of P_e stands the mean of the chosen probabilities alone, with 0 for a token that did not choose expert e.
    P_e is the mean over all T tokens of the softmax over all E logits, whether they chose expert e or not."""
    return _loss(_f(logits, k), _kept(logits, k).mean(dim=0))


@balance_loss.misconception
def softmax_of_mean_logits(logits, k):
    """P is the softmax of the mean logits. P_e is the mean of the tokens' probabilities: first the softmax of each token, then
    the mean over the tokens. The two differ, since exp is not linear."""
    return _loss(_f(logits, k), logits.mean(dim=0).softmax(dim=-1))


@balance_loss.misconception(universal=True)
def along_the_tokens(logits, k):
    """The number is E/T, whatever the logits are: this comes of a softmax, or of a top-k, along the tokens, after which each
    expert has the same share. Both run over the experts, dim=-1: a token chooses among experts."""
    return _loss(_f(logits, k), logits.softmax(dim=0).mean(dim=0))


@balance_loss.misconception
def smaller_by_a_hundred(logits, k):
    """The loss is 100 times too small: the factor α = 0.01 of the paper seems to be in it. Here the loss comes without α, and
    uniform routing gives 1."""
    return 0.01 * _loss(_f(logits, k), _P(logits))


@balance_loss.misconception
def a_number_for_each_expert(logits, k):
    """The products E · f_e · P_e came back, one for each expert. The loss is their sum, a single number."""
    return logits.shape[-1] * _f(logits, k) * _P(logits)


@balance_loss.misconception
def a_number_for_each_token(logits, k):
    """Each token has a loss of its own, made with its own probabilities. P_e is their mean over all tokens, and the loss is a
    single number."""
    return logits.shape[-1] * logits.softmax(dim=-1) @ _f(logits, k)


@balance_loss.alternative
def by_one_hot_rows(logits, k):
    T, E = logits.shape
    counts = F.one_hot(logits.topk(k, dim=-1).indices, E).sum(dim=(0, 1))  # [T, k, E] -> [E]
    return E * (counts / (T * k) * F.softmax(logits, dim=-1).mean(0)).sum().to(logits.dtype)


@balance_loss.alternative
def by_bincount(logits, k):
    chosen = torch.topk(logits, k).indices.flatten()
    f = torch.bincount(chosen, minlength=logits.shape[1]).to(logits.dtype) / chosen.numel()
    return logits.shape[1] * f @ torch.softmax(logits, dim=1).mean(dim=0)


@balance_loss.alternative
def by_threshold(logits, k):
    chosen = logits >= logits.topk(k, dim=-1).values[:, -1:]
    return (logits.softmax(dim=-1).mean(dim=0) * chosen.sum(dim=0)).sum() * logits.shape[1] / chosen.sum()


@balance_loss.alternative
def expert_by_expert(logits, k):
    (T, E), P = logits.shape, torch.exp(logits - logits.logsumexp(dim=-1, keepdim=True))
    experts = logits.sort(dim=-1, descending=True).indices[:, :k]
    loss = 0
    for e in range(E):
        loss = loss + (experts == e).sum().item() / (T * k) * P[:, e].sum() / T
    return E * loss
