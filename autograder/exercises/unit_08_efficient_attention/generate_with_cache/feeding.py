"""Exercise 1 again: mistakes in the positions and the mask that the decoder is given."""

import torch

from autograder.exercises.unit_08_efficient_attention.generate_with_cache.cached import (
    at,
    causal,
    decode,
    places,
    read_on,
)
from autograder.exercises.unit_08_efficient_attention.generate_with_cache.declaration import generate_with_cache


@generate_with_cache.misconception
def positions_from_zero(decoder, prompt, steps):
    """Each new token is given position 0. Positions go on after the prompt: with m tokens in the cache the next one has
    position m."""
    return decode(decoder, prompt, steps, lambda d, tokens, K, V: read_on(d, tokens, K, V, positions=places(tokens)))


@generate_with_cache.misconception
def positions_one_too_far(decoder, prompt, steps):
    """The new tokens' positions are one too large, so that there is a gap behind the prompt. With m tokens in the cache, at
    positions 0 to m − 1, the next one has position m."""
    return decode(decoder, prompt, steps, at(lambda m: m + 1))


@generate_with_cache.misconception
def positions_one_too_near(decoder, prompt, steps):
    """The new tokens' positions are one too small: the first new token is given the position of the prompt's last one. With
    m tokens in the cache, at positions 0 to m − 1, the next one has position m."""
    return decode(decoder, prompt, steps, at(lambda m: m - 1))


@generate_with_cache.misconception
def positions_of_the_first_new_token(decoder, prompt, steps):
    """All new tokens are given the same position, N. The position grows with each token: it is the number of tokens in the
    cache."""
    return decode(decoder, prompt, steps, at(lambda m: prompt.shape[1]))


@generate_with_cache.misconception
def positions_without_the_prompt(decoder, prompt, steps):
    """The positions of the new tokens begin at 0 and count from there: the prompt is not counted. With m tokens in the cache
    the next one has position m."""
    return decode(decoder, prompt, steps, at(lambda m: m - prompt.shape[1]))


@generate_with_cache.misconception
def future_seen_in_the_prompt(decoder, prompt, steps):
    """Nothing is masked while the prompt is read: its tokens attend to later ones, and their keys and values in the upper layers
    are not those that they had in training. The prompt needs the causal mask; a single new token may attend to all."""

    def read(decoder, tokens, K, V):
        return read_on(decoder, tokens, K, V, mask=torch.ones_like(causal(tokens, 0 if K is None else K.shape[2])))

    return decode(decoder, prompt, steps, read)


@generate_with_cache.misconception
def mask_without_offset(decoder, prompt, steps):
    """The new token attends to the first key alone: its mask was made without the offset. With m tokens in the cache it stands
    at position m and may attend to all of them: the triangle's diagonal moves by m, tril(m)."""

    def read(decoder, tokens, K, V):
        m = 0 if K is None else K.shape[2]
        return read_on(decoder, tokens, K, V, mask=causal(tokens, m, offset=0))

    return decode(decoder, prompt, steps, read)


@generate_with_cache.misconception
def itself_hidden(decoder, prompt, steps):
    """A new token attends to the cached ones, but not to itself: the last entry of its mask is False. It stands at position m
    and may attend to the keys 0 to m, all m + 1 of them."""

    def read(decoder, tokens, K, V):
        m = 0 if K is None else K.shape[2]
        return read_on(decoder, tokens, K, V, mask=causal(tokens, m, offset=m - 1) if m else causal(tokens))

    return decode(decoder, prompt, steps, read)


@generate_with_cache.misconception
def mask_turned_round(decoder, prompt, steps):
    """The mask is the wrong way round: True where a token may not attend. Here True means: may attend."""

    def read(decoder, tokens, K, V):
        return read_on(decoder, tokens, K, V, mask=~causal(tokens, 0 if K is None else K.shape[2]))

    return decode(decoder, prompt, steps, read)


@generate_with_cache.misconception
def mask_of_the_new_tokens_alone(decoder, prompt, steps):
    """The mask has no columns for the tokens in the cache. The keys are those of the m cached tokens and of the n new ones,
    so the mask is [n, m + n]."""

    def read(decoder, tokens, K, V):
        return read_on(decoder, tokens, K, V, mask=causal(tokens))

    return decode(decoder, prompt, steps, read)


@generate_with_cache.misconception
def mask_of_the_cached_tokens_alone(decoder, prompt, steps):
    """The mask has columns for the tokens in the cache, and none for the new token itself. The keys are those of the m
    cached tokens and of the n new ones, so the mask is [n, m + n]."""

    def read(decoder, tokens, K, V):
        mask = causal(tokens) if K is None else torch.ones_like(causal(tokens, K.shape[2]))[:, :-1]
        return read_on(decoder, tokens, K, V, mask=mask)

    return decode(decoder, prompt, steps, read)


@generate_with_cache.misconception
def positions_counted_in_steps(decoder, prompt, steps):
    """The new tokens are given the positions 1, 2, …, as if the prompt were one token. With m tokens in the cache the next
    one has position m."""
    return decode(decoder, prompt, steps, at(lambda m: m - prompt.shape[1] + 1))
