"""Exercise 8: alignment error rate."""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """Links for which every plausible mistake gives another rate; of unlucky numbers a mistake's rate could be right."""
    while True:
        links, sure, possible = _links(inputs["sure"].shape, rng)
        given = [torch.from_numpy(one) for one in (links, sure, possible)]
        right = alignment_error_rate.reference(*given)
        if (
            all(abs(mistake.object(*given) - right) > 0.01 for mistake in alignment_error_rate.misconceptions)
            or sizes["B"] == 1
        ):
            return {"links": links, "sure": sure, "possible": possible}


def _links(shape: tuple, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gold links, of which some are only possible, and links that hit some of both kinds and miss others."""
    ease = np.linspace(0.2, 0.95, shape[0])[:, None, None]  # sentences of different difficulty
    sure = rng.random(shape) < 0.45 * ease
    possible = sure | (rng.random(shape) < 0.25)
    links = np.where(sure, rng.random(shape) < ease**2, rng.random(shape) < np.where(possible, 0.4, 0.12))
    sure[:, 0, 0] = possible[:, 0, 0] = links[:, 0, 0] = True
    possible[:, 1, 1] = links[:, 1, 1] = links[:, 0, 1] = True
    sure[:, 1, 1] = sure[:, 0, 1] = possible[:, 0, 1] = False
    return links, sure, possible


def _perfect(inputs, rng):
    inputs["links"][:] = inputs["sure"]


@exercise(
    points=2,
    section="Attention weights as an alignment",
    source="Och and Ney 2003",
    outputs="rate",
    formula="rate = 1 − (|A∩S| + |A∩P|) / (|A| + |S|), each counted over all sentences; A = links, S = sure, P = possible, all"
    " [B, T_y, T_x]; a scalar",
    cases=[
        Case("some sentences", sizes={"B": 4}),
        Case("one sentence", sizes={"B": 1, "T_y": 6, "T_x": 8}),
        Case("many sentences", sizes={"B": 9}),
        Case("long sentences", sizes={"T_y": 11, "T_x": 12}),
        Case("every sure link and no other", sizes={"B": 5}, edit=_perfect),
    ],
    draws=_drawn,
    differentiable=False,
    waived={"ones": "in a sentence of one token no link can be wrong in more than one way"},
)
def alignment_error_rate(
    links: Bool[Tensor, "B T_y T_x"], sure: Bool[Tensor, "B T_y T_x"], possible: Bool[Tensor, "B T_y T_x"]
) -> Float[Tensor, ""]:
    hits = (links & sure).sum() + (links & possible).sum()
    return 1 - hits / (links.sum() + sure.sum())


def _counts(links, sure, possible):
    return (float(one.sum()) for one in (links & sure, links & possible, links, sure, possible))


@alignment_error_rate.misconception
def agreement_for_error(links, sure, possible):
    """This is the share of links that agree, not the error: 1 − … is missing. The rate of a perfect alignment is 0."""
    return (links & sure).sum().add((links & possible).sum()) / (links.sum() + sure.sum())


@alignment_error_rate.misconception
def mean_over_sentences(links, sure, possible):
    """This is the mean of the sentences' rates. Count over all sentences first: one fraction for the whole corpus."""
    hits = (links & sure).sum((1, 2)) + (links & possible).sum((1, 2))
    return (1 - hits / (links.sum((1, 2)) + sure.sum((1, 2)))).mean()


@alignment_error_rate.misconception
def sure_links_alone(links, sure, possible):
    """Possible links have no effect: |A∩S| is counted twice. A proposed link that is possible is not an error: |A∩S| +
    |A∩P|."""
    return 1 - 2 * (links & sure).sum() / (links.sum() + sure.sum())


@alignment_error_rate.misconception
def possible_links_alone(links, sure, possible):
    """|A∩P| is counted twice in the numerator. Its first term is |A∩S|: links that are only possible must not make up
    for sure links that were missed."""
    return 1 - 2 * (links & possible).sum() / (links.sum() + sure.sum())


@alignment_error_rate.misconception
def divided_by_possible(links, sure, possible):
    """The denominator is |A| + |P|. A model need not find the links that are only possible, so the denominator is |A| +
    |S|."""
    both = (links & sure).sum() + (links & possible).sum()
    return 1 - both / (links.sum() + possible.sum())


@alignment_error_rate.misconception
def precision_only(links, sure, possible):
    """This is one minus the precision, |A∩P|/|A|. Missing a sure link would cost nothing."""
    return 1 - (links & possible).sum() / links.sum()


@alignment_error_rate.misconception
def recall_only(links, sure, possible):
    """This is one minus the recall, |A∩S|/|S|. Wrong links would cost nothing."""
    return 1 - (links & sure).sum() / sure.sum()


@alignment_error_rate.misconception
def union_below(links, sure, possible):
    """The denominator is the size of the union of A and S. It should be the sum of their sizes, |A| + |S|, in which
    links of both sets count twice."""
    return 1 - ((links & sure).sum() + (links & possible).sum()) / (links | sure).sum()


@alignment_error_rate.misconception
def places_that_disagree(links, sure, possible):
    """This is the share of all pairs of positions at which links and sure links differ. Most pairs are in neither set,
    which says nothing; count links."""
    return (links != sure).float().mean()


@alignment_error_rate.misconception
def halved(links, sure, possible):
    """The fraction is divided by two, as if each of its terms were a share by itself. The rate is 1 − (|A∩S| + |A∩P|) /
    (|A| + |S|)."""
    return 1 - 0.5 * ((links & sure).sum() + (links & possible).sum()) / (links.sum() + sure.sum())


@alignment_error_rate.alternative
def product_for_and(links, sure, possible):
    A, S, P = links.float(), sure.float(), possible.float()
    return 1 - ((A * S).sum() + (A * P).sum()) / (A.sum() + S.sum())


@alignment_error_rate.alternative
def counted_in_loops(links, sure, possible):
    above, below = 0, 0
    for a, s, p in zip(links.flatten().tolist(), sure.flatten().tolist(), possible.flatten().tolist()):
        above += (a and s) + (a and p)
        below += a + s
    return torch.tensor(1 - above / below, device=links.device)


@alignment_error_rate.alternative
def by_indexing(links, sure, possible):
    found = torch.stack([sure[links].sum(), possible[links].sum()]).sum()
    return 1 - found / (torch.count_nonzero(links) + torch.count_nonzero(sure))
