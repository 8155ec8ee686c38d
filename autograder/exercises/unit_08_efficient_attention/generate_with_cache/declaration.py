"""Exercise 1: decoding token by token, with keys and values kept."""

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_08_efficient_attention.generate_with_cache.cached import (
    after_the_prompt,
    along,
    append,
    at,
    causal,
    counting,
    decode,
    decode_anew,
    drawn,
    places,
    read_on,
    uncounted,
)

TOKENS, ONCE = "the tokens", "each token fed once"


def _counted(inputs, rng):
    """One pass more than is needed, for the last token, is let through: whoever makes it has kept what is to be kept."""
    B, N = inputs["prompt"].shape
    inputs["decoder"] = replace(inputs["decoder"], limit=B * (N + inputs["steps"]))


def _loud(inputs, rng):
    """Logits in the hundreds; which is the largest stays as it was."""
    given = inputs["decoder"].arguments
    inputs["decoder"] = replace(inputs["decoder"], arguments={**given, "U": given["U"] * 300})


def _case(text, part=TOKENS, V=11, D=6, L=2, edit=None, edge=False, **sizes):
    edit = _counted if part == ONCE else edit
    return Case(text, part=part, edit=edit, edge=edge, sizes={"V": V, "D": D, "L": L, **sizes})


@exercise(
    points={TOKENS: 1, ONCE: 2},
    section="Decoding with a KV cache",
    source="Shazeer 2019, incremental multi-head attention; Pope et al. 2022",
    outputs="y logits",
    formula="y [B, steps]: y_i = argmax(logits_i), logits_i [B, V] what the decoder says at the newest token; first it reads the"
    " prompt, then each new token, at its own position, with K and V [B, L, m, D] of all m tokens before",
    cases=[
        _case("a few tokens", B=4, N=7, steps=3),
        _case("three layers", B=2, N=6, steps=4, L=3, D=5, edge=True),
        _case("one prompt", B=1, N=5, steps=3),
        _case("prompts of one token", B=4, N=1, steps=3),
        _case("a single step", B=3, N=5, steps=1),
        _case("logits in the hundreds", B=4, N=5, steps=3, edit=_loud),
        _case("dozens of tokens", B=1, N=19, steps=24, V=5, edge=True),
        _case("counted", ONCE, B=3, N=7, steps=4),
    ],
    draws=drawn,
    differentiable=False,
)
def generate_with_cache(
    decoder: Callable, prompt: Int[Tensor, "B N"], steps: int
) -> tuple[Int[Tensor, "B steps"], Float[Tensor, "B steps V"]]:
    return decode_anew(uncounted(decoder), prompt, steps)  # the plain way, which reads everything again


@generate_with_cache.misconception
def nothing_kept(decoder, prompt, steps):
    """The tokens are right, but tokens that were read before are read again. Their keys and values do not change, so each token
    needs to be read only once. Keep K and V of all tokens that were read: feed the prompt in the first call, and then the
    newest token alone."""
    return decode_anew(decoder, prompt, steps)


@generate_with_cache.misconception
def kept_and_read_again(decoder, prompt, steps):
    """The whole sequence is fed again although its keys and values are kept, so that they stand in the cache several times.
    Once the prompt has been read, feed the newest token alone."""

    def read(decoder, tokens, K, V):
        m = 0 if K is None else K.shape[2]
        return read_on(decoder, tokens, K, V, positions=places(tokens), mask=causal(tokens, m))

    return decode(decoder, prompt, steps, read, following=lambda y: y)


@generate_with_cache.misconception
def kept_and_read_again_further_on(decoder, prompt, steps):
    """The whole sequence is fed again although its keys and values are kept, at positions behind those that it had, so that
    it stands in the cache several times. Once the prompt has been read, feed the newest token alone."""
    return decode(decoder, prompt, steps, following=lambda y: y)


@generate_with_cache.misconception
def newest_token_alone(decoder, prompt, steps):
    """After the prompt the decoder gets neither what was kept nor the tokens themselves: the newest token attends
    to itself alone. Give the decoder K and V."""

    def read(decoder, tokens, K, V):
        m = 0 if K is None else K.shape[2]
        return decoder(tokens, places(tokens, m), causal(tokens), None, None)

    return decode(decoder, prompt, steps, read)


@generate_with_cache.misconception
def newest_token_alone_at_the_start(decoder, prompt, steps):
    """Each new token is read as if it were the first of a sequence: it attends to itself alone and has position 0. Give the
    decoder K and V of all tokens that were read, and the token's own position."""
    return decode(decoder, prompt, steps, lambda decoder, tokens, K, V: read_on(decoder, tokens))


@generate_with_cache.misconception
def cache_replaced(decoder, prompt, steps):
    """K and V are replaced by those of the newest tokens, so that everything before is forgotten. The decoder gives the keys
    and values of the new tokens alone: append them, torch.cat([K, k], dim=2)."""
    return decode(decoder, prompt, steps, counting(), join=lambda old, new: new)


@generate_with_cache.misconception
def cache_replaced_and_positions_counted_by_it(decoder, prompt, steps):
    """K and V are replaced by those of the newest tokens, so that everything before is forgotten; positions that are read
    from the length of the cache are wrong as well. The decoder gives the keys and values of the new tokens alone: append
    them, torch.cat([K, k], dim=2)."""
    return decode(decoder, prompt, steps, join=lambda old, new: new)


@generate_with_cache.misconception
def prompt_alone_kept(decoder, prompt, steps):
    """Only the prompt's keys and values are kept. Those of the new tokens are not appended, so that a new token attends to
    the prompt and to itself, but not to the other new tokens. Append them after each call: torch.cat([K, k], dim=2)."""
    return decode(decoder, prompt, steps, counting(), join=lambda old, new: new if old is None else old)


@generate_with_cache.misconception
def prompt_alone_kept_and_counted(decoder, prompt, steps):
    """Only the prompt's keys and values are kept. Those of the new tokens are not appended, so that a new token attends to
    the prompt and to itself, but not to the other new tokens, and all of them have the same position. Append them after each
    call: torch.cat([K, k], dim=2)."""
    return decode(decoder, prompt, steps, join=lambda old, new: new if old is None else old)


@generate_with_cache.misconception
def appended_in_front(decoder, prompt, steps):
    """The new keys and values were put in front of the old ones. The decoder takes them in the order of their positions, the
    newest last: torch.cat([K, k], dim=2)."""
    return decode(decoder, prompt, steps, join=lambda a, b: b if a is None else torch.cat([b, a], dim=2))


@generate_with_cache.misconception
def joined_along_the_layers(decoder, prompt, steps):
    """The new keys were joined along the axis of the layers. The axis of the tokens is the third of [B, L, m, D]:
    torch.cat([K, k], dim=2)."""
    return decode(decoder, prompt, steps, join=along(1))


@generate_with_cache.misconception
def joined_along_the_batch(decoder, prompt, steps):
    """The new keys were joined along the batch: torch.cat without dim takes the first axis. The axis of the tokens is the
    third of [B, L, m, D]: torch.cat([K, k], dim=2)."""
    return decode(decoder, prompt, steps, join=along(0))


@generate_with_cache.misconception
def joined_along_the_features(decoder, prompt, steps):
    """The new keys were joined along the features. The axis of the tokens is the third of [B, L, m, D]: torch.cat([K, k],
    dim=2), or dim=-2."""
    return decode(decoder, prompt, steps, join=along(-1))


@generate_with_cache.misconception
def last_token_of_the_prompt_twice_at_its_place(decoder, prompt, steps):
    """The prompt's last token is read twice: with the prompt, and once more by itself. Its logits are there after the first
    call already: choose the first new token from them."""
    return after_the_prompt(decoder, prompt, steps, at(lambda m: m - 1))


@generate_with_cache.misconception
def first_place_chosen_from(decoder, prompt, steps):
    """The first new token is chosen from the logits at the prompt's first position, which are about the token that follows
    the first one. Choose it from those at the last position: logits[:, -1]."""
    return decode(decoder, prompt, steps, first=0)


@generate_with_cache.misconception
def first_prediction_dropped(decoder, prompt, steps):
    """The first new token is missing in the result: the token that was chosen right after the prompt was fed to the decoder,
    but it is not returned."""
    y, logits = decode(decoder, prompt, steps + 1)
    return y[:, 1:], logits[:, 1:]


@generate_with_cache.misconception
def same_token_fed_again(decoder, prompt, steps):
    """The same token is fed at each step: the prompt's last one, or the first new one. Feed the token that was chosen
    last."""
    N = prompt.shape[1]
    return decode(decoder, prompt, steps, following=lambda y: y[:, N : N + 1])


@generate_with_cache.misconception
def prompt_included(decoder, prompt, steps):
    """The result begins with the prompt. Only the new tokens are asked for, [B, steps]."""
    y, logits = decode(decoder, prompt, steps)
    return torch.cat([prompt, y], dim=1), logits


@generate_with_cache.misconception
def probabilities(decoder, prompt, steps):
    """The tokens are right, but the second result holds probabilities. It should hold the logits, as the decoder gives
    them."""
    y, logits = decode(decoder, prompt, steps)
    return y, logits.softmax(dim=-1)


@generate_with_cache.misconception
def log_probabilities(decoder, prompt, steps):
    """The tokens are right, but the second result holds log-probabilities. It should hold the logits, as the decoder gives
    them."""
    y, logits = decode(decoder, prompt, steps)
    return y, logits.log_softmax(dim=-1)


@generate_with_cache.misconception
def all_predictions_fed(decoder, prompt, steps):
    """The predictions at all positions of the prompt are fed, not the one new token alone. The next token is chosen from the
    logits at the last position: logits[:, -1:]."""
    new, K, V, y, logits = prompt, None, None, [], []
    for _ in range(steps):
        out, k, v = read_on(decoder, new, K, V)
        K, V = append(K, k), append(V, v)
        new = out.argmax(dim=-1)
        y.append(new[:, -1:])
        logits.append(out[:, -1])
    return torch.cat(y, dim=1), torch.stack(logits, dim=1)


@generate_with_cache.misconception
def keys_and_values_exchanged(decoder, prompt, steps):
    """Keys and values have changed places. The decoder takes K before V, and gives logits, k, v in this order."""
    return decode(
        decoder, prompt, steps, lambda d, tokens, K, V: (lambda out, k, v: (out, v, k))(*read_on(d, tokens, K, V))
    )


@generate_with_cache.misconception
def logits_of_the_next_token(decoder, prompt, steps):
    """The tokens are right, but the logits are one step late: they are those that come out when the token is fed. Return the
    logits that each token was chosen from."""
    y, logits = decode(decoder, prompt, steps + 1)
    return y[:, :-1], logits[:, 1:]


@generate_with_cache.alternative
def prompt_first(decoder, prompt, steps):
    B, N = prompt.shape
    out, K, V = decoder(prompt, torch.arange(N, device=prompt.device), causal(prompt), None, None)
    logits, y = [out[:, -1]], [out[:, -1].argmax(dim=-1)]
    for m in range(N, N + steps - 1):
        everything = torch.ones(1, m + 1, dtype=torch.bool, device=prompt.device)
        out, k, v = decoder(y[-1][:, None], torch.tensor([m], device=prompt.device), everything, K, V)
        K, V = torch.cat((K, k), dim=-2), torch.cat((V, v), dim=-2)
        logits.append(out[:, 0])
        y.append(out[:, 0].argmax(dim=-1))
    return torch.stack(y, dim=1), torch.stack(logits, dim=1)


@generate_with_cache.alternative
def one_pass_more(decoder, prompt, steps):
    out, K, V = read_on(decoder, prompt)
    y, logits = prompt[:, :0], []
    for _ in range(steps):
        logits.append(out[:, -1:])
        y = torch.cat([y, out[:, -1:].argmax(dim=-1)], dim=1)
        out, k, v = read_on(decoder, y[:, -1:], K, V)  # the last time for nothing
        K, V = append(K, k), append(V, v)
    return y, torch.cat(logits, dim=1)


@generate_with_cache.alternative
def prompt_in_pieces(decoder, prompt, steps):
    K = V = out = None
    for piece in prompt.split(4, dim=1):
        out, k, v = read_on(decoder, piece, K, V)
        K, V = append(K, k), append(V, v)
    tokens, logits = [], []
    while True:
        logits.append(out[:, -1])
        tokens.append(out[:, -1:].argmax(dim=-1))
        if len(tokens) == steps:
            return torch.cat(tokens, dim=1), torch.stack(logits, dim=1)
        out, k, v = read_on(decoder, tokens[-1], K, V)
        K, V = append(K, k), append(V, v)


@generate_with_cache.alternative
def into_room_made_before(decoder, prompt, steps):
    B, N = prompt.shape
    out, k, v = read_on(decoder, prompt)
    room = k.new_zeros(2, *k.shape[:2], N + steps, k.shape[-1])
    room[0, :, :, :N], room[1, :, :, :N] = k, v
    y, logits = prompt.new_zeros(B, steps), out.new_zeros(B, steps, out.shape[-1])
    for i in range(steps):
        logits[:, i] = out[:, -1]
        y[:, i] = out[:, -1].argmax(dim=-1)
        if i + 1 < steps:
            m = N + i
            out, k, v = read_on(decoder, y[:, i : i + 1], room[0, :, :, :m], room[1, :, :, :m])
            room[0, :, :, m : m + 1], room[1, :, :, m : m + 1] = k, v
    return y, logits


@generate_with_cache.alternative
def prompt_by_prompt(decoder, prompt, steps):
    pairs = [decode(decoder, row[None], steps) for row in prompt]
    return torch.cat([y for y, _ in pairs]), torch.cat([logits for _, logits in pairs])
