"""Exercise 6 again: mistakes about which tokens stay."""

import torch

from autograder.exercises.unit_11_language_models.next_token_distribution.declaration import (
    among,
    next_token_distribution,
    nucleus,
    rank,
    shared,
    sum_before,
    top_k,
)


@next_token_distribution.misconception
def p_over_all_tokens(logits, temperature, k, p):
    """The sums that are compared with p are sums of probabilities over the whole vocabulary, so that more tokens are needed to
    reach p. Top-p comes after top-k: make the probabilities of the k kept tokens sum to 1 first, and compare their sums
    with p."""
    scaled = logits / temperature
    return among(scaled, nucleus(scaled.softmax(dim=-1), p) & (rank(scaled) < k))


@next_token_distribution.misconception
def crossing_token_left_out(logits, temperature, k, p):
    """The token whose probability takes the sum past p was left out, so that what stays sums to less than p. It belongs to the
    set: a token goes only if the tokens before it, without itself, already reach p. The most likely token always stays."""
    P = top_k(logits / temperature, k)
    return shared(P * ((sum_before(P) + P < p) | (rank(P) == 0)))


@next_token_distribution.misconception
def crossing_token_left_out_and_rows_empty(logits, temperature, k, p):
    """The token whose probability takes the sum past p was left out. It belongs to the set: a token goes only if the tokens
    before it, without itself, already reach p. Where the most likely token reaches p alone nothing is left here, and the
    row is NaN."""
    P = top_k(logits / temperature, k)
    return shared(P * (sum_before(P) + P < p))


@next_token_distribution.misconception
def crossing_token_left_out_among_the_k(logits, temperature, k, p):
    """The token whose probability takes the sum past p was left out. It belongs to the set: a token goes only if the tokens
    before it, without itself, already reach p. Where the most likely token reaches p alone nothing is left here, and its k
    places are NaN, 0 divided by 0."""
    largest, tokens = (logits / temperature).topk(k, dim=-1)
    P = largest.softmax(dim=-1)
    return torch.zeros_like(logits).scatter(-1, tokens, shared(P * (P.cumsum(dim=-1) <= p)))


@next_token_distribution.misconception
def one_token_too_many(logits, temperature, k, p):
    """One token too many stays: the tokens before it already sum to p or more. The set ends with the token whose probability
    takes the sum to p or past it."""
    P = top_k(logits / temperature, k)
    before = sum_before(P)
    fewer = torch.where(before < p, before, -1.0).amax(dim=-1, keepdim=True)  # before the last that stays
    last = ((before >= p) * P).amax(dim=-1, keepdim=True)
    return shared(P * ((before <= fewer) | ((P == last) & (last > 0))))


@next_token_distribution.misconception
def p_ignored(logits, temperature, k, p):
    """All k tokens stay: p has no effect. Of the k tokens keep the fewest most likely ones whose probabilities sum to at least
    p, and share the probability among these alone."""
    return top_k(logits / temperature, k)


@next_token_distribution.misconception
def k_ignored(logits, temperature, k, p):
    """Top-k has no effect: the tokens were chosen by p alone, from the whole vocabulary. Keep the k largest logits first, take
    the softmax over these, and apply p to the result."""
    scaled = logits / temperature
    return among(scaled, nucleus(scaled.softmax(dim=-1), p))


@next_token_distribution.misconception
def nothing_left_out(logits, temperature, k, p):
    """This is the softmax over the whole vocabulary at this temperature: neither k nor p has an effect. All tokens but the
    chosen ones must get exactly 0."""
    return (logits / temperature).softmax(dim=-1)


@next_token_distribution.misconception
def least_likely_first(logits, temperature, k, p):
    """The probabilities were added up from the least likely of the k tokens upwards until they reached p, so that unlikely
    tokens stay and the most likely one may be lost. Sort in descending order: the most likely tokens come first."""
    P = top_k(logits / temperature, k)
    up_to = (P.unsqueeze(-2) * (P.unsqueeze(-2) < P.unsqueeze(-1))).sum(dim=-1)
    return shared(P * (up_to < p))


@next_token_distribution.misconception
def summed_in_the_order_of_the_vocabulary(logits, temperature, k, p):
    """The probabilities were added up in the order of the vocabulary, so that tokens stay because their numbers are small. Sort
    them first, in descending order, and add up from the most likely token on."""
    P = top_k(logits / temperature, k)
    return shared(P * (P.cumsum(dim=-1) - P < p))


@next_token_distribution.misconception
def sorted_mask_used_unsorted(logits, temperature, k, p):
    """The right number of tokens was found in sorted order, but the mask was applied to tokens in the order of the vocabulary,
    where it may leave nothing: such a row is NaN. An entry of the sorted mask belongs to the token that sort's
    indices name: bring the mask back with them, by scatter or gather."""
    scaled = logits / temperature
    P = top_k(scaled, k)
    largest = P.sort(dim=-1, descending=True).values
    return among(scaled, (largest.cumsum(dim=-1) - largest < p) & (P > 0))


@next_token_distribution.misconception
def p_as_a_least_probability(logits, temperature, k, p):
    """p was compared with the probabilities one by one: a token stays where its own probability is p or more, and the most
    likely one always. Here p is for their sum: add the probabilities up from the most likely token on, and stop where the
    sum reaches p."""
    P = top_k(logits / temperature, k)
    return shared(P * ((P >= p) | (rank(P) == 0)))


@next_token_distribution.misconception
def as_many_as_in_the_first_row(logits, temperature, k, p):
    """In every row as many tokens stay as in the first row. How many tokens reach p depends on a row's own probabilities: few
    where the model is sure, more where it is not."""
    P = top_k(logits / temperature, k)
    count = nucleus(P, p).reshape(-1, P.shape[-1])[0].sum()
    return shared(P * (rank(P) < count))


@next_token_distribution.misconception
def up_to_one_minus_p(logits, temperature, k, p):
    """The most likely tokens stay until their probabilities sum to 1 − p. Those that stay must have at least p together; it is
    what is left out that has at most 1 − p."""
    P = top_k(logits / temperature, k)
    return shared(P * nucleus(P, 1 - p))


@next_token_distribution.misconception
def most_likely_token_alone(logits, temperature, k, p):
    """All probability lies on the most likely token. That is greedy decoding. Here every token that stays keeps its share, so
    that the next one can be drawn from them."""
    return top_k(logits / temperature, 1)


@next_token_distribution.misconception
def along_the_first_axis(logits, temperature, k, p):
    """Tokens were chosen along the first axis of logits, which is the vocabulary's only for a single row [V]. Each row has a
    distribution of its own over the V tokens: sort, sum and softmax run over the last axis, dim=-1."""
    scaled = logits / temperature
    P = among(scaled, rank(scaled, 0) < k, 0)
    return among(scaled, nucleus(P, p, 0), 0)
