"""Exercise 6 again: the right idea of which tokens stay, with other numbers: temperature, renormalising, places."""

from autograder.exercises.unit_11_language_models.next_token_distribution.declaration import (
    among,
    next_token_distribution,
    nucleus,
    shared,
    top_k,
)


@next_token_distribution.misconception
def temperature_ignored(logits, temperature, k, p):
    """The temperature has no effect: this is the result at temperature 1. Divide the logits by it before everything else; to
    divide probabilities by it changes nothing once they are made to sum to 1."""
    P = top_k(logits, k)
    return shared(P * nucleus(P, p))


@next_token_distribution.misconception
def multiplied_by_the_temperature(logits, temperature, k, p):
    """The logits were multiplied by the temperature. Divide by it: a temperature above 1 makes the distribution flatter, one
    below 1 makes it sharper."""
    P = top_k(logits * temperature, k)
    return shared(P * nucleus(P, p))


@next_token_distribution.misconception
def temperature_after_the_choice(logits, temperature, k, p):
    """The tokens were chosen at temperature 1, and the temperature was applied to those that stay. It comes first: a higher
    temperature flattens the distribution, so that more tokens are needed to reach p."""
    return among(logits / temperature, nucleus(top_k(logits, k), p))


@next_token_distribution.misconception
def temperature_for_the_choice_alone(logits, temperature, k, p):
    """The tokens were chosen at the right temperature, but the probabilities that they have in the end are those of temperature
    1. The last softmax must use the divided logits too."""
    return among(logits, nucleus(top_k(logits / temperature, k), p))


@next_token_distribution.misconception
def not_made_to_sum_to_one(logits, temperature, k, p):
    """The tokens that stay have the probabilities that they had among the k, and what was left out by p is missing: a row sums
    to less than 1. Divide each row by its sum."""
    P = top_k(logits / temperature, k)
    return P * nucleus(P, p)


@next_token_distribution.misconception
def softmax_of_probabilities(logits, temperature, k, p):
    """The right tokens stay, but the last softmax was taken of their probabilities rather than of logits, which makes them
    nearly equal. Divide the probabilities that stay by their sum, or take the softmax of logits / temperature over what
    stays."""
    P = top_k(logits / temperature, k)
    return among(P, nucleus(P, p))


@next_token_distribution.misconception
def zeros_in_the_softmax(logits, temperature, k, p):
    """The right tokens were found, but the logits of the others were set to 0 before the last softmax. exp(0) is 1, so these
    still get probability. In a softmax the logit of a token that must get nothing is −∞."""
    scaled = logits / temperature
    return (scaled * nucleus(top_k(scaled, k), p)).softmax(dim=-1)


@next_token_distribution.misconception
def in_sorted_order(logits, temperature, k, p):
    """The probabilities stand in the order of their size. Entry v belongs to token v of the vocabulary: put each probability in
    its token's place, which the indices of sort or topk tell."""
    scaled = (logits / temperature).sort(dim=-1, descending=True).values
    P = top_k(scaled, k)
    return shared(P * nucleus(P, p))


@next_token_distribution.misconception
def only_k_probabilities(logits, temperature, k, p):
    """Only k probabilities came back for each row, [*B, k], the largest first. From these nobody can tell which tokens they
    belong to. Put each in its token's place in a row of V numbers, with 0 in all other places."""
    P = (logits / temperature).topk(k, dim=-1).values.softmax(dim=-1)
    return shared(P * nucleus(P, p))


@next_token_distribution.misconception
def sorted_back_by_the_wrong_indices(logits, temperature, k, p):
    """The probabilities were right in sorted order, but the way back to the vocabulary took sort's indices as they are, by
    gather or as an index. Entry i of the sorted row belongs to token order[i]: use scatter, or order.argsort() for the way
    back."""
    scaled = logits / temperature
    P, order = top_k(scaled, k).sort(dim=-1, descending=True)
    return shared(P * nucleus(P, p)).gather(-1, scaled.argsort(dim=-1, descending=True))
