"""Toy decoders whose keys and values can be kept, drawn so that their choices are clear; and loops around them."""

import torch

from utils.checking import toy_models
from utils.checking.records import Helper

TRIES, MARGIN = 1000, 0.05  # between the two likeliest tokens, so that rounding cannot change a choice


def drawn(inputs, sizes, rng):
    """A decoder and prompts such that each choice is clear and the tokens are not always the same.

    Raises:
        RuntimeError: none of many draws fits.
    """
    B, N, steps, V, L, D = (sizes[name] for name in ("B", "N", "steps", "V", "L", "D"))
    shapes = {"E": (V, D), "P": ((N + steps) * steps + 1, D), "W": (L, D, 3 * D), "U": (D, V)}
    for _ in range(TRIES):
        arrays = {name: rng.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
        arrays["W"] *= 1.5 * D**-0.5
        decoder, prompt = Helper("ToyCachedDecoder", arrays), rng.integers(0, V, size=(B, N)).astype("int64")
        y, logits = decode(toy_models.build(decoder, torch.from_numpy), torch.from_numpy(prompt), steps)
        first, second = logits.topk(2, dim=-1).values.unbind(dim=-1)
        if (first - second).min() > MARGIN and all(len(set(row)) > min(2, steps - 1) for row in y.tolist()):
            return {"decoder": decoder, "prompt": prompt}
    raise RuntimeError(f"no toy decoder of {sizes} fits")


def places(tokens, first=0):
    """The positions of tokens that follow each other."""
    return torch.arange(first, first + tokens.shape[1], device=tokens.device)


def causal(tokens, m=0, offset=None):
    """[n, m + n]: which tokens n new ones may attend to behind m older ones."""
    n = tokens.shape[1]
    return torch.ones(n, m + n, device=tokens.device).tril(m if offset is None else offset).bool()


def read_on(decoder, tokens, K=None, V=None, positions=None, mask=None):
    """What the decoder says of new tokens behind those that K and V are of."""
    m = 0 if K is None else K.shape[2]
    positions = places(tokens, m) if positions is None else positions
    return decoder(tokens, positions, causal(tokens, m) if mask is None else mask, K, V)


def along(dim):
    """Joins the old and the new keys or values along an axis."""
    return lambda old, new: new if old is None else torch.cat([old, new], dim=dim)


append = along(2)  # that of the tokens


def decode(decoder, prompt, steps, read=read_on, join=append, first=-1, following=None):
    """Greedy decoding with a cache; what differs in a mistake is an argument.

    Args:
        read: calls the decoder, given (decoder, tokens, K, V).
        join: makes one cache of the old and the new keys or values.
        first: the position in the prompt whose logits the first new token is chosen from.
        following: what is fed next, given the tokens up to now; the newest where it is None.
    """
    new, K, V, y, logits = prompt, None, None, prompt, []
    for step in range(steps):
        out, k, v = read(decoder, new, K, V)
        K, V = join(K, k), join(V, v)
        logits.append(out[:, first if step == 0 else -1])
        y = torch.cat([y, logits[-1].argmax(dim=-1, keepdim=True)], dim=1)
        new = y[:, -1:] if following is None else following(y)
    return y[:, prompt.shape[1] :], torch.stack(logits, dim=1)


def uncounted(decoder):
    """A toy decoder as a function that nobody counts: what it makes of all tokens at once. Other decoders are as they are."""
    if not isinstance(decoder, toy_models.ToyCachedDecoder):
        return decoder

    def read(tokens, positions, mask, K, V):
        X = decoder.E[tokens] + decoder.P[positions]  # [B, n, D]
        far = toy_models.FALL * (positions[:, None] - torch.arange(mask.shape[1], device=X.device))
        for W in decoder.W:
            q, k, v = (X @ W).chunk(3, dim=-1)
            E = (q @ k.mT * X.shape[-1] ** -0.5 - far).masked_fill(~mask, torch.finfo(X.dtype).min)
            X = torch.tanh(X + E.softmax(dim=-1) @ v)
        return X @ decoder.U, K, V

    return read


def decode_anew(decoder, prompt, steps):
    """Greedy decoding that reads everything again for each token: nothing is kept, so nothing can be out of date."""
    y, logits = prompt, []
    for _ in range(steps):
        logits.append(read_on(decoder, y)[0][:, -1])
        y = torch.cat([y, logits[-1].argmax(dim=-1, keepdim=True)], dim=1)
    return y[:, prompt.shape[1] :], torch.stack(logits, dim=1)


def at(position):
    """Reads new tokens at another position than that behind the m tokens of the cache."""

    def read(decoder, tokens, K, V):
        return read_on(decoder, tokens, K, V, positions=places(tokens, 0 if K is None else position(K.shape[2])))

    return read


def after_the_prompt(decoder, prompt, steps, read=read_on):
    """Reads the prompt, and then goes on with its last token."""
    cache = list(read_on(decoder, prompt)[1:])

    def behind(decoder, tokens, K, V):
        out, k, v = read(decoder, tokens, *cache)
        cache[:] = append(cache[0], k), append(cache[1], v)
        return out, k, v

    return decode(decoder, prompt[:, -1:], steps, behind)


def counting():
    """Reads each token at its right position, whatever is in the cache."""
    counted = [0]

    def read(decoder, tokens, K, V):
        counted.append(counted[-1] + tokens.shape[1])
        return read_on(decoder, tokens, K, V, positions=places(tokens, counted[-2]))

    return read
