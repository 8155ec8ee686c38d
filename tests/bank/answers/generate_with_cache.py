"""Test answers for generate_with_cache: right ones in unusual styles, and wrong ones."""
import itertools

import torch
from torch import nn

from answers import after, before, change, left_open, right, wrong


def _causal(n, m, device):
    """[n, m + n]: n new tokens after m old ones."""
    return torch.arange(m + n, device=device) <= torch.arange(m, m + n, device=device)[:, None]


def _joined(old, new, dim=2):
    return new if old is None else torch.cat([old, new], dim=dim)


# -------------------- right answers
@right("One loop for prompt and new tokens, the mask by tril with a diagonal")
def one_loop(decoder, prompt, steps):
    new, K, V, m, written, said = prompt, None, None, 0, [], []
    for _ in range(steps):
        n = new.shape[1]
        mask = torch.ones(n, m + n, dtype=torch.bool, device=prompt.device).tril(diagonal=m)
        logits, k, v = decoder(new, torch.arange(m, m + n, device=prompt.device), mask, K, V)
        K = k if K is None else torch.cat((K, k), 2)
        V = v if V is None else torch.cat((V, v), 2)
        m += n
        said.append(logits[:, -1])
        new = said[-1].argmax(-1, keepdim=True)
        written.append(new)
    return torch.cat(written, 1), torch.stack(said, 1)


@right("The prompt by itself first, then a loop over single tokens whose mask is a row of ones")
def prompt_first(decoder, prompt, steps):
    N, device = prompt.size(1), prompt.device
    triangle = torch.ones((N, N), dtype=torch.bool, device=device).triu(1).logical_not()
    logits, K, V = decoder(prompt, torch.arange(N, device=device), triangle, None, None)
    said = logits[:, -1:]
    for place in range(N, N + steps - 1):
        here = torch.tensor([place], device=device)
        everything = torch.ones((1, place + 1), dtype=torch.bool, device=device)
        logits, k, v = decoder(said[:, -1:].argmax(dim=2), here, everything, K, V)
        K, V, said = torch.cat([K, k], dim=-2), torch.cat([V, v], dim=-2), torch.cat([said, logits], dim=1)
    return said.argmax(dim=2), said


@right("Recursion: one step, then the rest of them")
def recursive(decoder, prompt, steps):
    def rest(new, K, V, left):
        m = 0 if K is None else K.shape[2]
        places = m + torch.arange(new.shape[1], device=new.device)
        mask = places[:, None] >= torch.arange(m + new.shape[1], device=new.device)[None]
        logits, k, v = decoder(new, places, mask, K, V)
        last = logits[:, -1]
        word = last.max(dim=-1).indices
        if left == 1:
            return [word], [last]
        words, lasts = rest(word.unsqueeze(1), _joined(K, k), _joined(V, v), left - 1)
        return [word, *words], [last, *lasts]

    words, lasts = rest(prompt, None, None, steps)
    return torch.stack(words, dim=1), torch.stack(lasts, dim=1)


@right("Lists of keys and values, joined anew before each call")
def lists_of_pieces(decoder, prompt, steps):
    ks, vs, tokens, outs = [], [], [prompt], []
    while len(outs) < steps:
        m = sum(k.size(2) for k in ks)
        n = tokens[-1].size(1)
        logits, k, v = decoder(
            tokens[-1],
            torch.arange(n, device=prompt.device).add(m),
            _causal(n, m, prompt.device),
            torch.cat(ks, dim=2) if ks else None,
            torch.cat(vs, dim=2) if vs else None,
        )
        ks.append(k)
        vs.append(v)
        outs.append(logits.select(1, n - 1))
        tokens.append(outs[-1].argmax(dim=1).unsqueeze(1))
    return torch.cat(tokens[1:], dim=1), torch.stack(outs, dim=1)


def _writer(decoder, prompt):
    """Yields the logits of the next token for ever."""
    new, K, V = prompt, None, None
    while True:
        m, n = (0 if K is None else K.size(-2)), new.size(-1)
        mask = torch.cat(
            [
                torch.ones(n, m, dtype=torch.bool, device=new.device),
                torch.ones(n, n, dtype=torch.bool, device=new.device).tril(),
            ],
            dim=1,
        )
        logits, k, v = decoder(new, torch.arange(m, m + n, device=new.device), mask, K, V)
        K, V = _joined(K, k, -2), _joined(V, v, -2)
        last = logits[:, -1:]
        yield last
        new = last.argmax(dim=-1)


@right("A generator of logits without an end, of which islice takes as many as are asked for")
def by_a_generator(decoder, prompt, steps):
    said = torch.cat(list(itertools.islice(_writer(decoder, prompt), steps)), dim=1)
    return torch.argmax(said, dim=-1), said


class _Cache:
    def __init__(self, decoder, device):
        self.decoder, self.device, self.K, self.V, self.read = decoder, device, None, None, 0

    def __call__(self, tokens):
        places = torch.arange(self.read + tokens.shape[1], device=self.device)
        mask = places[None, :] <= places[self.read :, None]
        logits, k, v = self.decoder(tokens, places[self.read :], mask, self.K, self.V)
        self.K, self.V = (k, v) if not self.read else (torch.cat([self.K, k], 2), torch.cat([self.V, v], 2))
        self.read += tokens.shape[1]
        return logits[:, -1, :]


@right("An object that keeps the cache and is asked with tokens alone")
def with_an_object(decoder, prompt, steps):
    ask = _Cache(decoder, prompt.device)
    said = [ask(prompt)]
    for _ in range(1, steps):
        said.append(ask(said[-1].argmax(dim=-1)[:, None]))
    said = torch.stack(said).transpose(0, 1)
    return said.argmax(dim=-1), said


@right("Feeds the last written token too, which the text allows: N + steps tokens")
def last_one_fed_too(decoder, prompt, steps):
    def read(new, K, V):
        m, n = (0 if K is None else K.shape[2]), new.shape[1]
        logits, k, v = decoder(new, torch.arange(m, m + n, device=new.device), _causal(n, m, new.device), K, V)
        return logits[:, -1], _joined(K, k), _joined(V, v)

    tokens, said = [], []
    last, K, V = read(prompt, None, None)
    for _ in range(steps):
        said.append(last)
        tokens.append(last.argmax(dim=-1))
        last, K, V = read(tokens[-1][:, None], K, V)
    return torch.stack(tokens, dim=1), torch.stack(said, dim=1)


@right("One growing tensor of tokens, of which what lies behind the cache is fed")
def growing_tokens(decoder, prompt, steps):
    device, (B, N) = prompt.device, prompt.shape
    tokens, said, kv = prompt, [], (None, None)
    square = torch.ones(N + steps, N + steps, dtype=torch.bool, device=device).tril_()
    places = torch.arange(N + steps, device=device)
    m = 0
    while tokens.shape[1] < N + steps:
        t = tokens.shape[1]
        logits, *new = decoder(tokens[:, m:], places[m:t], square[m:t, :t], *kv)
        kv = tuple(torch.cat([a, b], dim=2) if m else b for a, b in zip(kv, new))
        said.append(logits[:, t - m - 1])
        tokens = torch.cat([tokens, said[-1].argmax(dim=-1).to(tokens.dtype)[:, None]], dim=1)
        m = t
    return tokens[:, N:].long(), torch.stack(said, dim=1)


@right("Keys and values as one stacked tensor, unbound for each call; positions by cumsum of ones")
def stacked_cache(decoder, prompt, steps):
    cache, new, words, lasts = None, prompt, (), ()
    for _ in range(steps):
        n = new.shape[1]
        m = 0 if cache is None else cache.shape[3]
        places = torch.ones(n, dtype=torch.long, device=prompt.device).cumsum(0) + (m - 1)
        mask = torch.arange(m + n, device=prompt.device).unsqueeze(0).le(places.unsqueeze(1))
        logits, *kv = decoder(new, places, mask, *((None, None) if cache is None else cache.unbind(0)))
        kv = torch.stack(kv)
        cache = kv if cache is None else torch.cat([cache, kv], dim=3)
        lasts += (logits[:, n - 1 :],)
        new = torch.argmax(lasts[-1], dim=-1)
        words += (new,)
    return torch.hstack(words), torch.hstack(lasts)


@right("A mask from broadcasting differences; argmax by a stable sort; a dictionary holds what is known")
def dictionary(decoder, prompt, steps):
    state = {"K": None, "V": None, "read": 0, "new": prompt}
    history = {"tokens": [], "logits": []}
    for _ in range(steps):
        end = state["read"] + state["new"].shape[1]
        rows = torch.arange(state["read"], end, device=prompt.device)
        allowed = (rows.view(-1, 1) - torch.arange(end, device=prompt.device).view(1, -1)) >= 0
        logits, k, v = decoder(state["new"], rows, allowed, state["K"], state["V"])
        best = logits[:, -1].sort(dim=-1, descending=True, stable=True).indices[:, :1]
        history["tokens"].append(best)
        history["logits"].append(logits[:, -1:])
        state = {"K": _joined(state["K"], k), "V": _joined(state["V"], v), "read": end, "new": best}
    return tuple(torch.cat(history[name], dim=1) for name in ("tokens", "logits"))


# -------------------- wrong: what is fed, process
@wrong("no cache: everything is read again for each token, with K and V always None", kind="process")
def no_cache(decoder, prompt, steps):
    tokens, said = prompt, []
    for _ in range(steps):
        N = tokens.shape[1]
        logits, _, _ = decoder(tokens, torch.arange(N, device=tokens.device), _causal(N, 0, tokens.device), None, None)
        said.append(logits[:, -1])
        tokens = torch.cat([tokens, said[-1].argmax(dim=-1, keepdim=True)], dim=1)
    return tokens[:, prompt.shape[1] :], torch.stack(said, dim=1)


@wrong("only the prompt is cached: all tokens written so far are fed again behind it at each step", kind="process")
def written_ones_again(decoder, prompt, steps):
    N, device = prompt.shape[1], prompt.device
    logits, K, V = decoder(prompt, torch.arange(N, device=device), _causal(N, 0, device), None, None)
    said, tokens = [logits[:, -1]], logits[:, -1:].argmax(dim=-1)
    for _ in range(steps - 1):
        n = tokens.shape[1]
        logits, _, _ = decoder(tokens, torch.arange(N, N + n, device=device), _causal(n, N, device), K, V)
        said.append(logits[:, -1])
        tokens = torch.cat([tokens, logits[:, -1:].argmax(dim=-1)], dim=1)
    return tokens, torch.stack(said, dim=1)


@wrong(
    "the whole sequence is fed at each step with the cache in front of it, so tokens are read and kept "
    "several times",
    kind="process",
)
def everything_behind_the_cache(decoder, prompt, steps):
    tokens, K, V, said, m = prompt, None, None, [], 0
    for _ in range(steps):
        n = tokens.shape[1]
        mask = _causal(n, m, tokens.device)
        logits, k, v = decoder(tokens, torch.arange(n, device=tokens.device), mask, K, V)
        K, V, m = _joined(K, k), _joined(V, v), m + n
        said.append(logits[:, -1])
        tokens = torch.cat([tokens, said[-1].argmax(dim=-1, keepdim=True)], dim=1)
    return tokens[:, prompt.shape[1] :], torch.stack(said, dim=1)


@wrong("the prompt's last token is fed twice: with the prompt, and alone behind it", kind="process")
def last_of_the_prompt_twice(decoder, prompt, steps):
    N, device = prompt.shape[1], prompt.device
    _, K, V = decoder(prompt, torch.arange(N, device=device), _causal(N, 0, device), None, None)
    new, words, said = prompt[:, -1:], [], []
    for m in range(N, N + steps):
        logits, k, v = decoder(new, torch.tensor([m], device=device), _causal(1, m, device), K, V)
        K, V = _joined(K, k), _joined(V, v)
        said.append(logits[:, -1])
        new = logits[:, -1:].argmax(dim=-1)
        words.append(new)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


@wrong("each token is fed twice: one call for the logits, a second one for its keys and values", kind="process")
def two_calls_for_each(decoder, prompt, steps):
    new, K, V, m, words, said = prompt, None, None, 0, [], []
    for _ in range(steps):
        n = new.shape[1]
        given = new, torch.arange(m, m + n, device=new.device), _causal(n, m, new.device), K, V
        last = decoder(*given)[0][:, -1]
        _, k, v = decoder(*given)
        K, V, m = _joined(K, k), _joined(V, v), m + n
        new = last.argmax(dim=-1, keepdim=True)
        words.append(new)
        said.append(last)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


@wrong("a trial call with the whole prompt finds out the sizes, so the prompt is fed twice", kind="process")
def a_trial_call(decoder, prompt, steps):
    device, N = prompt.device, prompt.shape[1]
    logits, k, _ = decoder(prompt, torch.arange(N, device=device), _causal(N, 0, device), None, None)
    said = []
    words = torch.zeros(len(prompt), steps, dtype=torch.long, device=device)
    new, K, V, m = prompt, None, None, 0
    for i in range(steps):
        n = new.shape[1]
        logits, k, v = decoder(new, torch.arange(m, m + n, device=device), _causal(n, m, device), K, V)
        K, V, m = _joined(K, k), _joined(V, v), m + n
        said.append(logits[:, -1])
        new = logits[:, -1:].argmax(dim=-1)
        words[:, i] = new[:, 0]
    return words, torch.stack(said, dim=1)


@wrong("the cache holds the last 16 places only: older keys and values are dropped", kind="process")
def sixteen_places(decoder, prompt, steps):
    new, K, V, m, words, said = prompt, None, None, 0, [], []
    for _ in range(steps):
        n = new.shape[1]
        kept = 0 if K is None else K.shape[2]
        places = torch.arange(m, m + n, device=new.device)
        logits, k, v = decoder(new, places, _causal(n, kept, new.device), K, V)
        K, V, m = _joined(K, k)[:, :, -16:], _joined(V, v)[:, :, -16:], m + n
        said.append(logits[:, -1])
        new = logits[:, -1:].argmax(dim=-1)
        words.append(new)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


# Right, and not registered: answers below are changes of it.
def _plain(decoder, prompt, steps):
    new, K, V, m, words, said = prompt, None, None, 0, [], []
    for _ in range(steps):
        n = new.shape[1]
        logits, k, v = decoder(new, torch.arange(m, m + n, device=new.device), _causal(n, m, new.device), K, V)
        K, V, m = _joined(K, k), _joined(V, v), m + n
        said.append(logits[:, -1])
        new = logits[:, -1:].argmax(dim=-1)
        words.append(new)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_plain, "shortened_prompt", "only the last 12 tokens of a longer prompt are read", "process",
       ("said = prompt", "said = prompt[:, -12:]"))


# -------------------- wrong: positions, masks, cache
change(_plain, "positions_from_zero",
       "positions begin again at 0 in each call: every new token is said to stand at position 0", "concept",
       ("m, m + n", "n"))


@wrong("new tokens stand one position too far: the first one behind the prompt at N + 1, and so on", kind="concept")
def one_too_far(decoder, prompt, steps):
    N, device = prompt.shape[1], prompt.device
    logits, K, V = decoder(prompt, torch.arange(N, device=device), _causal(N, 0, device), None, None)
    said = [logits[:, -1]]
    words = [said[0].argmax(dim=-1, keepdim=True)]
    for m in range(N, N + steps - 1):
        logits, k, v = decoder(words[-1], torch.tensor([m + 1], device=device), _causal(1, m, device), K, V)
        K, V = _joined(K, k), _joined(V, v)
        said.append(logits[:, -1])
        words.append(logits[:, -1].argmax(dim=-1, keepdim=True))
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_plain, "positions_from_one", "positions are counted from 1, in the prompt too", "concept",
       ("m, m + n", "m + 1, m + n + 1"))


@wrong("all new tokens stand at the same position N, the one right behind the prompt", kind="concept")
def position_stands_still(decoder, prompt, steps):
    N, device = prompt.shape[1], prompt.device
    logits, K, V = decoder(prompt, torch.arange(N, device=device), _causal(N, 0, device), None, None)
    said = [logits[:, -1]]
    words = [said[0].argmax(dim=-1, keepdim=True)]
    for i in range(1, steps):
        m = K.shape[2]
        logits, k, v = decoder(words[-1], torch.tensor([N], device=device), _causal(1, m, device), K, V)
        K, V = _joined(K, k), _joined(V, v)
        said.append(logits[:, -1])
        words.append(logits[:, -1].argmax(dim=-1, keepdim=True))
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_plain, "counts_the_calls", "the position of new tokens is the number of calls so far, not of tokens: the first "
       "one behind the prompt is at 1", "concept",
       ("for _", "for calls"), after("n = new.shape[1]", "places = torch.arange(calls, calls + n, device=new.device)"),
       ("torch.arange(m, m + n, device=new.device)", "places"))
change(_plain, "layers_for_tokens", "the number of tokens read is taken from the wrong axis of the cache (the "
       "layers'), for positions and masks", "shape",
       ("new, K, V, m, words, said = prompt, None, None, 0, [], []",
        "new, K, V, words, said = prompt, None, None, [], []"),
       ("n = new.shape[1]", "n, m = new.shape[1], 0 if K is None else K.shape[1]"),
       ("K, V, m = _joined(K, k), _joined(V, v), m + n", "K, V = _joined(K, k), _joined(V, v)"))
change(_plain, "positions_end_at_31", "positions are held at 31 at most: later tokens all share position 31", "edge",
       after("n = new.shape[1]", "places = torch.arange(m, m + n, device=new.device).clamp(max=31)"),
       ("torch.arange(m, m + n, device=new.device)", "places"))
change(_plain, "positions_in_eight_bits",
       "positions are counted in 8 bits (uint8) before they become long: position 256 becomes 0 again", "numerics",
       after("n = new.shape[1]", "places = torch.arange(m, m + n, device=new.device).to(torch.uint8).long()"),
       ("torch.arange(m, m + n, device=new.device)", "places"))
change(_plain, "float_positions",
       "positions are given as float numbers, which no table can be indexed with", "interface",
       after("n = new.shape[1]", "places = torch.arange(m, m + n, device=new.device, dtype=torch.float32)"),
       ("torch.arange(m, m + n, device=new.device)", "places"))
change(_plain, "positions_for_each_line", "positions are given for each line, [B, n], instead of [n]", "shape",
       ("n = new.shape[1]", "B, n = new.shape"),
       before("logits, k, v =", "places = torch.arange(m, m + n, device=new.device).expand(B, n)"),
       ("torch.arange(m, m + n, device=new.device)", "places"))
change(_plain, "mask_without_offset",
       "the mask has offset 0 in each call: a new token sees the first key only", "concept",
       after("n = new.shape[1]", "mask = torch.ones(n, m + n, dtype=torch.bool, device=new.device).tril()"),
       ("_causal(n, m, new.device)", "mask"))
change(_plain, "mask_allows_everything", "the mask allows everything: the prompt's tokens see later ones", "concept",
       after("n = new.shape[1]", "mask = torch.ones(n, m + n, dtype=torch.bool, device=new.device)"),
       ("_causal(n, m, new.device)", "mask"))
change(_plain, "not_itself", "no token may see itself: the mask allows only keys before it", "concept",
       after("n = new.shape[1]", "mask = torch.ones(n, m + n, dtype=torch.bool, device=new.device).tril(m - 1)"),
       ("_causal(n, m, new.device)", "mask"))
change(_plain, "inverted_mask", "the mask is inverted, True where a token may not look", "concept",
       after("n = new.shape[1]", "mask = torch.ones(n, m + n, dtype=torch.bool, device=new.device).triu(m + 1)"),
       ("_causal(n, m, new.device)", "mask"))
change(_plain, "mask_of_the_new_ones", "the mask is [n, n], without the columns of the cached tokens", "shape",
       after("n = new.shape[1]", "mask = _causal(n, 0, new.device)"), ("_causal(n, m, new.device)", "mask"))
change(_plain, "float_mask", "the mask is a float tensor of ones and zeros instead of a boolean one", "interface",
       after("n = new.shape[1]", "mask = _causal(n, m, new.device).float()"), ("_causal(n, m, new.device)", "mask"))


@wrong("new tokens see the prompt and themselves but no token written before them", kind="concept")
def blind_to_the_written(decoder, prompt, steps):
    N = prompt.shape[1]
    new, K, V, m, words, said = prompt, None, None, 0, [], []
    for _ in range(steps):
        n = new.shape[1]
        mask = _causal(n, m, new.device)
        mask = mask & ((torch.arange(m + n, device=new.device) < N) | (torch.arange(m + n, device=new.device) == m))
        logits, k, v = decoder(new, torch.arange(m, m + n, device=new.device), mask, K, V)
        K, V, m = _joined(K, k), _joined(V, v), m + n
        said.append(logits[:, -1])
        new = logits[:, -1:].argmax(dim=-1)
        words.append(new)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_plain, "newest_first",
       "new keys and values are put before the old ones: the cache is not oldest first", "concept",
       ("K, V, m = _joined(K, k), _joined(V, v), m + n", """
        K = k if K is None else torch.cat([k, K], dim=2)
        V = v if V is None else torch.cat([v, V], dim=2)
        m += n"""))
change(_plain, "keys_for_values", "keys and values change places when they come back from the decoder", "concept",
       ("k, v", "v, k"))


@wrong(
    "the cache is replaced by the latest call's keys and values: everything before the last call is forgotten",
    kind="concept",
)
def latest_only(decoder, prompt, steps):
    new, K, V, m, words, said = prompt, None, None, 0, [], []
    for _ in range(steps):
        n, kept = new.shape[1], 0 if K is None else K.shape[2]
        logits, K, V = decoder(new, torch.arange(m, m + n, device=new.device), _causal(n, kept, new.device), K, V)
        m += n
        said.append(logits[:, -1])
        new = logits[:, -1:].argmax(dim=-1)
        words.append(new)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_plain, "prompt_only_in_the_cache",
       "the cache stays as it is after the prompt: keys and values of written tokens are never appended", "concept",
       ("n = new.shape[1]", "n, kept = new.shape[1], 0 if K is None else K.shape[2]"), ("n, m", "n, kept"),
       ("K, V, m = _joined(K, k), _joined(V, v), m + n", """
        if K is None:
            K, V = k, v
        m += n"""))
change(_plain, "joined_along_the_layers",
       "keys and values are joined along the axis of the layers (dim=1) instead of the tokens'", "shape",
       ("_joined(K, k), _joined(V, v)", "_joined(K, k, 1), _joined(V, v, 1)"))
change(_plain, "last_layer_for_all", "in the cache all layers get the keys and values of the last layer", "concept",
       ("_joined(K, k), _joined(V, v)",
        "_joined(K, k[:, -1:].expand(k.shape)), _joined(V, v[:, -1:].expand(v.shape))"))


@wrong("the first call gets empty tensors instead of None for K and V", kind="interface")
def empty_instead_of_none(decoder, prompt, steps):
    nothing = torch.zeros(len(prompt), 0, device=prompt.device)
    new, K, V, m, words, said = prompt, nothing, nothing, 0, [], []
    for _ in range(steps):
        n = new.shape[1]
        logits, k, v = decoder(new, torch.arange(m, m + n, device=new.device), _causal(n, m, new.device), K, V)
        K, V, m = (torch.cat([K, k], 2), torch.cat([V, v], 2), m + n) if m else (k, v, n)
        said.append(logits[:, -1])
        new = logits[:, -1:].argmax(dim=-1)
        words.append(new)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_plain, "coarse_cache", "keys and values are kept in bfloat16 between the calls and lose precision", "numerics",
       ("_joined(K, k), _joined(V, v)", "_joined(K, k.bfloat16().to(k.dtype)), _joined(V, v.bfloat16().to(v.dtype))"))


@wrong("a prompt of a single token is not put into the cache: the next call gets None", kind="edge")
def single_token_forgotten(decoder, prompt, steps):
    new, K, V, m, words, said = prompt, None, None, 0, [], []
    for i in range(steps):
        n, kept = new.shape[1], 0 if K is None else K.shape[2]
        logits, k, v = decoder(new, torch.arange(m, m + n, device=new.device), _causal(n, kept, new.device), K, V)
        if i > 0 or n > 1:
            K, V = _joined(K, k), _joined(V, v)
        m += n
        said.append(logits[:, -1])
        new = logits[:, -1:].argmax(dim=-1)
        words.append(new)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


# -------------------- wrong: choosing, results
def _run(decoder, prompt, steps, choose, last=lambda logits: logits[:, -1]):
    """The right loop with another choice; returns the lists of chosen columns and of logits."""
    new, K, V, m, words, said = prompt, None, None, 0, [], []
    for _ in range(steps):
        n = new.shape[1]
        logits, k, v = decoder(new, torch.arange(m, m + n, device=new.device), _causal(n, m, new.device), K, V)
        K, V, m = _joined(K, k), _joined(V, v), m + n
        said.append(last(logits))
        new = choose(said[-1])
        words.append(new)
    return words, said


def _best(logits):
    return logits.argmax(dim=-1, keepdim=True)


# Right, and not registered: answers below are changes of it.
def _by_run(decoder, prompt, steps):
    words, said = _run(decoder, prompt, steps, _best)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_by_run, "first_place", "the logits of the first place read are used instead of the last one's", "concept",
       ("_best", "_best, lambda logits: logits[:, 0]"))
change(_by_run, "average_place", "the logits of all places read are averaged before the choice", "concept",
       ("_best", "_best, lambda logits: logits.mean(dim=1)"))
change(_by_run, "least_likely", "the least likely token is chosen (argmin)", "concept",
       ("_best", "lambda last: last.argmin(dim=-1, keepdim=True)"))
change(_by_run, "first_line_for_all", "all lines get the token that is likeliest in the first line", "concept",
       ("_best", "lambda last: last[:1].argmax(dim=-1, keepdim=True).expand(len(last), 1)"))


def _drawn(last):
    maker = torch.Generator().manual_seed(0)
    return torch.multinomial(last.detach().softmax(dim=-1).float().cpu(), 1, generator=maker).to(last.device)


change(_by_run, "drawn",
       "the tokens are drawn at random from the softmax, though with a fixed seed, instead of the likeliest", "concept",
       ("_best", "_drawn"))
change(_by_run, "never_token_zero",
       "token 0 is taken for padding and never chosen, even where it is the likeliest", "concept",
       ("_best", "lambda last: last[:, 1:].argmax(dim=-1, keepdim=True) + 1"))


@wrong("a token is not allowed to follow itself: the second likeliest is taken instead", kind="concept")
def no_repetition(decoder, prompt, steps):
    before = [prompt[:, -1:]]

    def choose(last):
        before.append(last.scatter(1, before[-1].long(), -float("inf")).argmax(dim=-1, keepdim=True))
        return before[-1]

    words, said = _run(decoder, prompt, steps, choose)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_by_run, "by_exponentials", "the choice is made from exp(logits) without subtracting a maximum: logits above 88 "
       "(709 in double) become inf and tie", "numerics",
       ("_best", "lambda last: last.exp().argmax(dim=-1, keepdim=True)"))
change(_by_run, "by_sigmoids",
       "the choice is made from sigmoids of the logits, which are all 1 for large ones, and tie", "numerics",
       ("_best", "lambda last: last.sigmoid().argmax(dim=-1, keepdim=True)"))
change(_by_run, "by_half_precision", "the choice is made from logits rounded to float16: near ties are decided "
       "wrongly, and above 65504 all are inf", "numerics",
       ("_best", "lambda last: last.half().argmax(dim=-1, keepdim=True)"))


@wrong("writing stops early as soon as token 2 is chosen in all lines", kind="concept")
def stops_at_two(decoder, prompt, steps):
    words, said = _run(decoder, prompt, steps, _best)
    words, said = torch.cat(words, dim=1), torch.stack(said, dim=1)
    both = (words == 2).all(dim=0).nonzero()
    end = both[0, 0] + 1 if len(both) else steps
    return words[:, :end], said[:, :end]


@wrong("lines that wrote token 2 hold token 0 from then on, though the text knows no stop", kind="concept")
def padded_behind_two(decoder, prompt, steps):
    words, said = _run(decoder, prompt, steps, _best)
    words = torch.cat(words, dim=1)
    ended = (words == 2).long().cumsum(dim=1) - (words == 2).long() > 0
    return words.masked_fill(ended, 0), torch.stack(said, dim=1)


change(_by_run, "one_too_few", "one token too few is written: steps - 1", "edge",
       ("torch.cat(words, dim=1), torch.stack(said, dim=1)",
        "torch.cat(words[:-1], dim=1) if steps > 1 else prompt[:, :0], torch.stack(said, dim=1)[:, :-1]"))
change(_by_run, "one_too_many", "one token too many is written and returned: steps + 1", "edge",
       ("steps, _best", "steps + 1, _best"))
change(_by_run, "twenty_at_most", "at most 20 tokens are written, however many steps are asked for", "edge",
       ("steps, _best", "min(steps, 20), _best"))
change(_by_run, "with_the_prompt", "the prompt is returned in front of the tokens written", "interface",
       ("words, dim", "[prompt, *words], dim"))
change(_by_run, "those_fed",
       "the tokens that were fed are returned: the prompt's last one first, the last one written missing", "concept",
       ("words, dim", "[prompt[:, -1:], *words[:-1]], dim"))
change(_by_run, "logits_after_it",
       "each token comes with the logits after it instead of those it was chosen from", "concept",
       ("steps, _best", "steps + 1, _best"), ("words, dim", "words[:steps], dim"), ("said, dim", "said[1:], dim"))
change(_by_run, "log_probabilities", "log-probabilities (log_softmax) are returned instead of the logits", "concept",
       ("torch.stack(said, dim=1)", "torch.stack(said, dim=1).log_softmax(dim=-1)"))
change(_by_run, "chosen_logits_only", "the logits of the chosen tokens alone are returned, [B, steps]", "shape",
       ("torch.stack(said, dim=1)", "torch.stack(said, dim=1).amax(dim=-1)"))
change(_by_run, "steps_in_front", "the logits are stacked along the first axis: [steps, B, V]", "shape",
       ("said, dim=1", "said, dim=0"))
change(_by_run, "tokens_as_columns", "the tokens have one axis too many: [B, steps, 1]", "shape",
       ("torch.cat", "torch.stack"))
change(_by_run, "logits_first", "logits and tokens are returned in the wrong order, the logits first", "interface",
       ("torch.cat(words, dim=1), torch.stack(said, dim=1)", "torch.stack(said, dim=1), torch.cat(words, dim=1)"))
change(_by_run, "tokens_alone", "the tokens alone are returned, without the logits", "interface",
       ("words, said", "words, _"), ("torch.cat(words, dim=1), torch.stack(said, dim=1)", "torch.cat(words, dim=1)"))


@wrong("the tokens are returned as float numbers, in the type of the logits", kind="interface")
def float_tokens(decoder, prompt, steps):
    words, said = _run(decoder, prompt, steps, _best)
    said = torch.stack(said, dim=1)
    return torch.cat(words, dim=1).to(said.dtype), said


change(_by_run, "lists_of_tokens",
       "the tokens are returned as nested lists of Python numbers instead of a tensor", "interface",
       ("torch.cat(words, dim=1)", "torch.cat(words, dim=1).tolist()"))
change(_by_run, "squeezed",
       "both results are squeezed: with one line or one step their axes of size 1 disappear", "layout",
       (", torch.stack(said, dim=1)", ".squeeze(), torch.stack(said, dim=1).squeeze()"))


@wrong("the chosen token is taken out by item(), which works for a single line only", kind="layout")
def one_line_only(decoder, prompt, steps):
    def choose(last):
        return torch.tensor([[last.argmax(dim=-1).item()]], device=last.device)

    words, said = _run(decoder, prompt, steps, choose)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_by_run, "viewed_prompt",
       "the prompt is laid out anew by view, which raises for a transposed or sliced prompt", "layout",
       before("words, said =", "B, N = prompt.shape"),
       ("prompt, steps, _best", "prompt.view(-1).view(B, N), steps, _best"))


@wrong("the logits are collected in a float32 tensor, whatever type the decoder answers in", kind="interface")
def single_precision_logits(decoder, prompt, steps):
    words, said = _run(decoder, prompt, steps, _best)
    kept = torch.zeros(len(prompt), steps, said[0].shape[-1], device=prompt.device)
    for i, last in enumerate(said):
        kept[:, i] = last
    return torch.cat(words, dim=1), kept


change(_plain, "on_the_cpu",
       "positions and masks are made on the CPU: a prompt and a decoder on another device raise", "interface",
       ("torch.arange(m, m + n, device=new.device), _causal(n, m, new.device)",
        "torch.arange(m, m + n), torch.ones(n, m + n, dtype=torch.bool).tril(m)"),
       ("logits[:, -1:].argmax(dim=-1)", "_best(said[-1])"))


@left_open(
    "everything runs under no_grad: no gradient goes from the returned logits to the decoder's weights",
    kind="gradient",
)
@torch.no_grad()
def without_gradients(decoder, prompt, steps):
    words, said = _run(decoder, prompt, steps, _best)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


@left_open(
    "keys and values are detached when cached: the gradient of later logits lacks the part through earlier "
    "tokens",
    kind="gradient",
)
def detached_cache(decoder, prompt, steps):
    def cut(tokens, positions, mask, K, V):
        logits, k, v = decoder(tokens, positions, mask, K, V)
        return logits, k.detach(), v.detach()

    words, said = _run(cut, prompt, steps, _best)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_by_run, "early_logits_detached", "the logits of all steps but the last are detached", "gradient",
       ("said, dim", "[*(last.detach() for last in said[:-1]), said[-1]], dim"), verdict="open")
change(_plain, "prompt_overwritten",
       "the new tokens are written into the prompt's last column: the prompt that came in is changed", "interface",
       ("""
        new = logits[:, -1:].argmax(dim=-1)
        words.append(new)""", """
        new = prompt[:, -1:]
        new.copy_(_best(said[-1]))
        words.append(new.clone())"""))


_read_before = {}


@wrong(
    "the prompt's cache is kept from call to call under the prompt alone: another decoder with the same "
    "prompt gets the first one's keys, values and logits",
    kind="interface",
)
def kept_between_calls(decoder, prompt, steps):
    N, device = prompt.shape[1], prompt.device
    key = str(prompt.tolist())
    if key not in _read_before:
        given = prompt, torch.arange(N, device=device), _causal(N, 0, device), None, None
        _read_before[key] = decoder(*given)
    logits, K, V = _read_before[key]
    said = [logits[:, -1]]
    words = [_best(said[0])]
    for m in range(N, N + steps - 1):
        logits, k, v = decoder(words[-1], torch.tensor([m], device=device), _causal(1, m, device), K, V)
        K, V = _joined(K, k), _joined(V, v)
        said.append(logits[:, -1])
        words.append(_best(said[-1]))
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_by_run, "calls_eval",
       "the decoder is called .eval(), which not every callable has: a plain function raises", "interface",
       before("words, said =", "decoder.eval()"))


@right("the first argument is called model, so a call with decoder= raises")
def other_names(model, prompt, steps):
    words, said = _run(model, prompt, steps, _best)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


# -------------------- wrong: two mistakes, and some others
@wrong("positions begin again at 0 in each call, and the mask has offset 0", kind="concept")
def no_offset_at_all(decoder, prompt, steps):
    def ask(tokens, positions, mask, K, V):
        return decoder(tokens, positions - positions[0], torch.ones_like(mask).tril(), K, V)

    words, said = _run(ask, prompt, steps, _best)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


@wrong(
    "the prompt's tokens see later ones, and the prompt is returned in front of the tokens written",
    kind="concept",
)
def everything_seen_and_prompt_returned(decoder, prompt, steps):
    def ask(tokens, positions, mask, K, V):
        return decoder(tokens, positions, torch.ones_like(mask), K, V)

    words, said = _run(ask, prompt, steps, _best)
    return torch.cat([prompt, *words], dim=1), torch.stack(said, dim=1)


@wrong("keys and values change places in the cache, and probabilities are returned instead of logits", kind="concept")
def exchanged_and_probabilities(decoder, prompt, steps):
    def ask(tokens, positions, mask, K, V):
        logits, k, v = decoder(tokens, positions, mask, K, V)
        return logits, v, k

    words, said = _run(ask, prompt, steps, _best)
    return torch.cat(words, dim=1), torch.stack(said, dim=1).softmax(dim=-1)


@wrong("everything is read again for each token without a cache, and positions are counted from 1", kind="process")
def no_cache_from_one(decoder, prompt, steps):
    tokens, said = prompt, []
    for _ in range(steps):
        N = tokens.shape[1]
        places = torch.arange(1, N + 1, device=tokens.device)
        said.append(decoder(tokens, places, _causal(N, 0, tokens.device), None, None)[0][:, -1])
        tokens = torch.cat([tokens, _best(said[-1])], dim=1)
    return tokens[:, prompt.shape[1] :], torch.stack(said, dim=1)


change(latest_only, "forgetful_and_least_likely",
       "the cache is replaced by the latest keys and values, and the least likely token is chosen", "concept",
       ("new = logits[:, -1:].argmax(dim=-1)", "new = said[-1].argmin(dim=-1, keepdim=True)"))
change(_by_run, "with_a_temperature", "the temperature 0.7 is applied: the logits come back divided by it", "concept",
       ("_best", "_best, lambda logits: logits[:, -1] / 0.7"))
change(_by_run, "prompt_reversed", "the prompt is read from right to left", "concept",
       ("prompt, steps, _best", "prompt.flip(1), steps, _best"))


@wrong(
    "for a single step nothing is asked of the last place: the logits of the prompt's first token are used",
    kind="edge",
)
def single_step_from_the_first(decoder, prompt, steps):
    if steps == 1:
        words, said = _run(decoder, prompt, steps, _best, lambda logits: logits[:, 0])
    else:
        words, said = _run(decoder, prompt, steps, _best)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


change(_by_run, "log_probabilities_and_prompt",
       "log-probabilities are returned instead of logits, and the prompt in front of the tokens written", "concept",
       ("words, dim", "[prompt, *words], dim"), ("stack(said, dim=1)", "stack(said, dim=1).log_softmax(dim=-1)"))


@wrong("no token may see itself, and positions are counted from 1", kind="concept")
def not_itself_from_one(decoder, prompt, steps):
    def ask(tokens, positions, mask, K, V):
        return decoder(tokens, positions + 1, mask.tril(mask.shape[1] - mask.shape[0] - 1), K, V)

    words, said = _run(ask, prompt, steps, _best)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)


@wrong("keys and values are kept in bfloat16 between the calls, and detached", kind="numerics")
def coarse_detached_cache(decoder, prompt, steps):
    def ask(tokens, positions, mask, K, V):
        logits, k, v = decoder(tokens, positions, mask, K, V)
        return logits, k.detach().bfloat16().to(k.dtype), v.detach().bfloat16().to(v.dtype)

    words, said = _run(ask, prompt, steps, _best)
    return torch.cat(words, dim=1), torch.stack(said, dim=1)
