"""Answers to exercise tiled_attention of assignment 06."""
import functools
import math

import torch
import torch.nn.functional as F
from answers import before, change, left_open, right, wrong


def _step(m, l, O, E, V):
    m_new = torch.maximum(m, E.amax(dim=-1))
    f, P = torch.exp(m - m_new), torch.exp(E - m_new[..., None])
    return m_new, f * l + P.sum(dim=-1), f[..., None] * O + P @ V


def _nothing_seen(Q, V):
    m = Q.new_full(Q.shape[:-1], -math.inf)
    return m, torch.zeros_like(m), Q.new_zeros(*Q.shape[:-1], V.shape[-1])


def _blocks(K, V, block):
    return zip(K.split(block, dim=1), V.split(block, dim=1))


def _scores(Q, K):
    return Q @ K.mT / math.sqrt(Q.shape[-1])


def _tiled(Q, K, V, block, step=_step, scores=_scores, start=_nothing_seen, blocks=_blocks):
    m, l, O = start(Q, V)
    for keys, values in blocks(K, V, block):
        m, l, O = step(m, l, O, scores(Q, keys), values)
    return O / l[..., None]


# ----------------------------------------------------------------------------------------------------------- right


@right("As the hints say")
def by_the_hints(Q, K, V, block):
    m, l, O = Q.new_full(Q.shape[:2], -torch.inf), Q.new_zeros(Q.shape[:2]), Q.new_zeros(*Q.shape[:2], V.shape[-1])
    for K_t, V_t in zip(K.split(block, dim=1), V.split(block, dim=1)):
        E = Q @ K_t.transpose(1, 2) / Q.shape[-1] ** 0.5
        m_new = torch.maximum(m, E.amax(dim=-1))
        f = (m - m_new).exp()
        P = (E - m_new[..., None]).exp()
        l, O, m = f * l + P.sum(-1), f[..., None] * O + P @ V_t, m_new
    return O / l[..., None]


@right("A loop over first indices, einsum, the scale on the queries")
def index_loop(Q, K, V, block):
    q = Q * Q.shape[-1] ** -0.5
    N_X = K.size(1)
    top = torch.full_like(Q[..., :1], -torch.inf)
    bottom = torch.zeros_like(top)
    mixed = torch.zeros(Q.size(0), Q.size(1), V.size(2), dtype=Q.dtype, device=Q.device)
    for first in range(0, N_X, block):
        k, v = K[:, first : first + block], V[:, first : first + block]
        e = torch.einsum("bqd,bkd->bqk", q, k)
        higher = torch.max(top, e.max(dim=2, keepdim=True).values)
        shrink, p = torch.exp(top - higher), torch.exp(e - higher)
        bottom = bottom * shrink + p.sum(dim=2, keepdim=True)
        mixed = mixed * shrink + torch.einsum("bqk,bkv->bqv", p, v)
        top = higher
    return mixed / bottom


@right("The maximum is detached: as a constant it has no part in the gradient")
def detached_maximum(Q, K, V, block):
    def step(m, l, O, E, V):
        m_new = torch.maximum(m, E.detach().amax(dim=-1))
        f, P = torch.exp(m - m_new), torch.exp(E - m_new.unsqueeze(-1))
        return m_new, f * l + P.sum(dim=-1), f.unsqueeze(-1) * O + P @ V

    return _tiled(Q, K, V, block, step)


@right("The running output is kept divided, as a weighted mean of old and new")
def kept_divided(Q, K, V, block):
    m, l, O = _nothing_seen(Q, V)
    for keys, values in _blocks(K, V, block):
        E = _scores(Q, keys)
        m_new = torch.maximum(m, E.amax(-1))
        old, P = torch.exp(m - m_new) * l, torch.exp(E - m_new[..., None])
        l = old + P.sum(-1)
        O = (old / l)[..., None] * O + (P / l[..., None]) @ values
        m = m_new
    return O


@right("A column of ones beside the values, so that l is the last column of O")
def column_of_ones(Q, K, V, block):
    m, both = torch.full(Q.shape[:2], -math.inf, dtype=Q.dtype, device=Q.device), 0
    start = 0
    while start < K.shape[1]:
        length = min(block, K.shape[1] - start)
        E = _scores(Q, K.narrow(1, start, length))
        m_new = torch.maximum(m, E.amax(dim=-1))
        more = F.pad(V.narrow(1, start, length), (0, 1), value=1.0)
        both = torch.exp(m - m_new)[..., None] * both + torch.exp(E - m_new[..., None]) @ more
        m, start = m_new, start + length
    return both[..., :-1] / both[..., -1:]


@right("Starts from the first block instead of from -inf and zeros")
def starts_from_the_first_block(Q, K, V, block):
    pairs = _blocks(K, V, block)
    keys, values = next(pairs)
    E = _scores(Q, keys)
    m = E.amax(dim=-1)
    P = torch.exp(E - m[..., None])
    state = m, P.sum(dim=-1), P @ values
    for keys, values in pairs:
        state = _step(*state, _scores(Q, keys), values)
    return state[2] / state[1][..., None]


@right("The lowest finite number in place of -inf, and baddbmm")
def lowest_number(Q, K, V, block):
    m = Q.new_full(Q.shape[:2] + (1,), torch.finfo(Q.dtype).min)
    l, O = torch.zeros_like(m), Q.new_zeros(Q.shape[0], Q.shape[1], V.shape[2])
    for keys, values in _blocks(K, V, block):
        E = torch.bmm(Q, keys.transpose(1, 2)) / math.sqrt(Q.shape[2])
        m_new = torch.cat((m, E), dim=-1).amax(dim=-1, keepdim=True)
        P = (E - m_new).exp()
        f = (m - m_new).exp()
        l = l * f + P.sum(dim=-1, keepdim=True)
        O = torch.baddbmm(O * f, P, values)
        m = m_new
    return O / l


@right("Powers of 2: log2(e) is taken into the scale of the queries")
def powers_of_two(Q, K, V, block):
    q = Q * (math.log2(math.e) / math.sqrt(Q.shape[-1]))

    def step(m, l, O, E, V):
        m_new = torch.maximum(m, E.amax(dim=-1))
        f, P = torch.exp2(m - m_new), torch.exp2(E - m_new[..., None])
        return m_new, torch.addcmul(P.sum(dim=-1), f, l), torch.addcmul(P @ V, f[..., None], O)

    return _tiled(q, K, V, block, step, scores=lambda q, k: q @ k.mT)


@right("The blocks are read from the last to the first")
def last_block_first(Q, K, V, block):
    state = _nothing_seen(Q, V)
    for first in reversed(range(0, K.shape[-2], block)):
        keys, values = (Z[:, first : first + block] for Z in (K, V))
        state = _step(*state, _scores(Q, keys), values)
    return state[-1] / state[1].unsqueeze(-1)


@right("functools.reduce over the blocks")
def by_reduce(Q, K, V, block):
    def more(state, pair):
        keys, values = pair
        return _step(*state, _scores(Q, keys), values)

    m, l, O = functools.reduce(more, _blocks(K, V, block), _nothing_seen(Q, V))
    return O.div(l[:, :, None])


@right("Each sequence of the batch for itself")
def sequence_by_sequence(Q, K, V, block):
    return torch.stack([_tiled(q, k, v, block, blocks=lambda k, v, block: zip(k.split(block), v.split(block)))
                        for q, k, v in zip(Q, K, V)])


@right("Everything transposed, queries last, in at least single precision")
def transposed(Q, K, V, block):
    wide = torch.promote_types(Q.dtype, torch.float32)
    q = Q.to(wide).mT / math.sqrt(Q.shape[-1])
    m, l, O = -math.inf, 0.0, 0.0
    for keys, values in _blocks(K, V, block):
        E = keys.to(wide) @ q
        high = E.amax(dim=1, keepdim=True)
        m_new = high.clamp(min=m) if isinstance(m, float) else torch.maximum(m, high)
        P, f = (E - m_new).exp(), (m - m_new).exp()
        l, O, m = l * f + P.sum(dim=1, keepdim=True), O * f + values.to(wide).mT @ P, m_new
    return (O / l).mT.to(Q.dtype)


class _Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, Q, K, V, block):
        m, l, O = _nothing_seen(Q, V)
        for keys, values in _blocks(K, V, block):
            m, l, O = _step(m, l, O, _scores(Q, keys), values)
        Y = O / l[..., None]
        ctx.save_for_backward(Q, K, V, Y, m + l.log())
        ctx.block = block
        return Y

    @staticmethod
    def backward(ctx, G):
        Q, K, V, Y, L = ctx.saved_tensors
        scale = 1 / math.sqrt(Q.shape[-1])
        inner = (G * Y).sum(-1, keepdim=True)
        dQ, dK, dV = torch.zeros_like(Q), [], []
        for keys, values in _blocks(K, V, ctx.block):
            P = torch.exp(_scores(Q, keys) - L[..., None])
            dV.append(P.mT @ G)
            dE = P * (G @ values.mT - inner) * scale
            dQ = dQ + dE @ keys
            dK.append(dE.mT @ Q)
        return dQ, torch.cat(dK, dim=1), torch.cat(dV, dim=1), None


@right("A torch.autograd.Function whose backward computes the weights of each block anew")
def own_backward(Q, K, V, block):
    return _Flash.apply(Q, K, V, block)


# Right, and not registered: answers below are changes of it.
def _plain(Q, K, V, block):
    return _tiled(Q, K, V, block)


# --------------------------------------------------------------------------------------------------- wrong: concept


change(_plain, "no_scale", "scores are not scaled", "concept",
       ("_tiled(Q, K, V, block)", "_tiled(Q, K, V, block, scores=lambda Q, K: Q @ K.mT)"))
change(_plain, "by_the_width", "scores are divided by D_Q instead of its root", "concept",
       ("_tiled(Q, K, V, block)", "_tiled(Q, K, V, block, scores=lambda Q, K: Q @ K.mT / Q.shape[-1])"))


@wrong("scores are divided by the root of D_V, the width of the values, instead of D_Q", kind="concept")
def root_of_value_width(Q, K, V, block):
    return _tiled(Q, K, V, block, scores=lambda Q, K: Q @ K.mT / math.sqrt(V.shape[-1]))


change(_plain, "root_of_block", "scores are divided by the root of block instead of D_Q", "concept",
       ("_tiled(Q, K, V, block)", "_tiled(Q, K, V, block, scores=lambda Q, K: Q @ K.mT / math.sqrt(block))"))


@wrong("the old O is not multiplied by f when the maximum grows", kind="concept")
def old_O_unscaled(Q, K, V, block):
    def step(m, l, O, E, V):
        m_new = torch.maximum(m, E.amax(dim=-1))
        P = torch.exp(E - m_new[..., None])
        return m_new, torch.exp(m - m_new) * l + P.sum(dim=-1), O + P @ V

    return _tiled(Q, K, V, block, step)


@wrong("the old l is not multiplied by f when the maximum grows", kind="concept")
def old_l_unscaled(Q, K, V, block):
    def step(m, l, O, E, V):
        m_new, _, O = _step(m, l, O, E, V)
        return m_new, l + torch.exp(E - m_new[..., None]).sum(dim=-1), O

    return _tiled(Q, K, V, block, step)


change(old_O_unscaled, "nothing_scaled", "neither the old l nor the old O is multiplied by f: blocks with different "
       "maxima are added as they are", "concept",
       ("torch.exp(m - m_new) * l", "l"))


@wrong("the factor f is turned over, exp(m_new - m): the old sums grow instead of shrinking (starting from the first "
       "block)", kind="concept")
def factor_turned_over(Q, K, V, block):
    m = None
    for keys, values in _blocks(K, V, block):
        E = _scores(Q, keys)
        m_new = E.amax(-1) if m is None else torch.maximum(m, E.amax(-1))
        P = torch.exp(E - m_new[..., None])
        f = torch.exp(m_new - m) if m is not None else 0
        l = P.sum(-1) + (f * l if m is not None else 0)
        O = P @ values + (f[..., None] * O if m is not None else 0)
        m = m_new
    return O / l[..., None]


@wrong("the new block's exponentials are taken with the block's own maximum, even where the old one is larger",
       kind="concept")
def own_maximum_of_the_block(Q, K, V, block):
    def step(m, l, O, E, V):
        here = E.amax(dim=-1)
        m_new = torch.maximum(m, here)
        f, P = torch.exp(m - m_new), torch.exp(E - here[..., None])
        return m_new, f * l + P.sum(dim=-1), f[..., None] * O + P @ V

    return _tiled(Q, K, V, block, step)


@wrong("O is divided by l after each block and carried on as if it were undivided", kind="concept")
def divided_in_each_block(Q, K, V, block):
    m, l, O = _nothing_seen(Q, V)
    for keys, values in _blocks(K, V, block):
        m, l, O = _step(m, l, O, _scores(Q, keys), values)
        O = O / l[..., None]
    return O


@wrong("a softmax in each block, and the plain mean of the blocks' results", kind="concept")
def mean_of_blocks(Q, K, V, block):
    results = [_scores(Q, keys).softmax(-1) @ values for keys, values in _blocks(K, V, block)]
    return sum(results) / len(results)


@wrong("a softmax in each block, and the sum of the blocks' results", kind="concept")
def sum_of_blocks(Q, K, V, block):
    return sum(_scores(Q, keys).softmax(-1) @ values for keys, values in _blocks(K, V, block))


@wrong("a softmax in each block, and the mean of the blocks' results weighted by their lengths", kind="concept")
def mean_by_lengths(Q, K, V, block):
    return sum(_scores(Q, k).softmax(-1) @ v * k.shape[1] for k, v in _blocks(K, V, block)) / K.shape[1]


@wrong("the blocks' own results are merged by halves: each new one counts as much as all before it", kind="concept")
def merged_by_halves(Q, K, V, block):
    Y = None
    for keys, values in _blocks(K, V, block):
        here = _scores(Q, keys).softmax(-1) @ values
        Y = here if Y is None else (Y + here) / 2
    return Y


@wrong("O is returned undivided", kind="concept")
def undivided(Q, K, V, block):
    m, l, O = _nothing_seen(Q, V)
    for keys, values in _blocks(K, V, block):
        m, l, O = _step(m, l, O, _scores(Q, keys), values)
    return O


@wrong("O is divided by the number of data vectors N_X instead of l", kind="concept")
def divided_by_the_number(Q, K, V, block):
    return undivided(Q, K, V, block) / K.shape[1]


@wrong("a shorter last block is left out", kind="edge")
def short_block_left_out(Q, K, V, block):
    m, l, O = _nothing_seen(Q, V)
    for i in range(K.shape[1] // block):
        part = slice(i * block, (i + 1) * block)
        m, l, O = _step(m, l, O, _scores(Q, K[:, part]), V[:, part])
    return O / l[..., None]


@wrong("the loop ends one too early (range to N_X - 1): a last block of a single data vector is left out", kind="edge")
def last_single_left_out(Q, K, V, block):
    m, l, O = _nothing_seen(Q, V)
    for i in range(0, max(1, K.shape[1] - 1), block):
        m, l, O = _step(m, l, O, _scores(Q, K[:, i : i + block]), V[:, i : i + block])
    return O / l[..., None]


@wrong("a shorter last block is filled up with zeros, which take part in the softmax with score 0", kind="edge")
def filled_with_zeros(Q, K, V, block):
    def blocks(K, V, block):
        for keys, values in _blocks(K, V, block):
            missing = block - keys.shape[1]
            yield F.pad(keys, (0, 0, 0, missing)), F.pad(values, (0, 0, 0, missing))

    return _tiled(Q, K, V, block, blocks=blocks)


@wrong("a shorter last block is filled up with vectors in front of it, which are counted twice", kind="edge")
def last_block_moved_forward(Q, K, V, block):
    def blocks(K, V, block):
        for i in range(0, K.shape[1], block):
            i = max(0, min(i, K.shape[1] - block))
            yield K[:, i : i + block], V[:, i : i + block]

    return _tiled(Q, K, V, block, blocks=blocks)


@wrong("a shorter last block is filled up with its last data vector, repeated and counted again", kind="edge")
def last_vector_repeated(Q, K, V, block):
    def blocks(K, V, block):
        for i in range(0, K.shape[1], block):
            index = torch.arange(i, i + block, device=K.device).clamp(max=K.shape[1] - 1)
            yield K[:, index], V[:, index]

    return _tiled(Q, K, V, block, blocks=blocks)


@wrong("each block has one data vector too many (the end is included), which is counted again in the next",
       kind="concept")
def end_included(Q, K, V, block):
    def blocks(K, V, block):
        for i in range(0, K.shape[1], block):
            yield K[:, i : i + block + 1], V[:, i : i + block + 1]

    return _tiled(Q, K, V, block, blocks=blocks)


@wrong("the first block is counted twice: the start is made from it, and the loop begins with it again", kind="concept")
def first_block_twice(Q, K, V, block):
    def start(Q, V):
        return _step(*_nothing_seen(Q, V), _scores(Q, K[:, :block]), V[:, :block])

    return _tiled(Q, K, V, block, start=start)


@wrong("m, l and O start from the first block, and the loop goes on from 2*block: the second block is left out",
       kind="concept")
def second_block_left_out(Q, K, V, block):
    m, l, O = _step(*_nothing_seen(Q, V), _scores(Q, K[:, :block]), V[:, :block])
    for i in range(2 * block, K.shape[1], block):
        m, l, O = _step(m, l, O, _scores(Q, K[:, i : i + block]), V[:, i : i + block])
    return O / l[..., None]


change(detached_maximum, "base_two", "exponentials are taken to base 2 without a factor log2(e)", "concept",
       ("E.detach().amax(dim=-1)", "E.amax(dim=-1)"),
       ("torch.exp(m - m_new), torch.exp(E - m_new.unsqueeze(-1))",
        "torch.exp2(m - m_new), torch.exp2(E - m_new[..., None])"),
       ("f.unsqueeze(-1)", "f[..., None]"))


@wrong("l gets the block's number of data vectors added, not the sum of its exponentials", kind="concept")
def l_counts(Q, K, V, block):
    def step(m, l, O, E, V):
        m_new, _, O = _step(m, l, O, E, V)
        return m_new, torch.exp(m - m_new) * l + E.shape[-1], O

    return _tiled(Q, K, V, block, step)


change(l_counts, "l_over_queries", "the exponentials are summed over the queries (axis -2) for l: wrong for N_Q = "
       "block, an error otherwise", "shape",
       ("E.shape[-1]", "torch.exp(E - m_new[..., None]).sum(dim=-2)"))


@wrong("f scales the columns of O (the value features) instead of its rows: wrong for N_Q = D_V, an error otherwise",
       kind="shape")
def f_on_columns(Q, K, V, block):
    def step(m, l, O, E, V):
        m_new, l_new, _ = _step(m, l, O, E, V)
        P = torch.exp(E - m_new[..., None])
        return m_new, l_new, torch.exp(m - m_new)[..., None, :] * O + P @ V

    return _tiled(Q, K, V, block, step)


@wrong("blocks of values are taken from the end while those of keys are taken from the front", kind="concept")
def values_from_the_end(Q, K, V, block):
    return _tiled(Q, K, V.flip(1), block)


@wrong("each block's keys meet the values of the first block", kind="concept")
def first_values_always(Q, K, V, block):
    return _tiled(Q, K, V, block, blocks=lambda K, V, block: ((k, V[:, : k.shape[1]]) for k in K.split(block, dim=1)))


@wrong("keys are turned by reshape to [B, D_Q, block] instead of transposed", kind="shape")
def keys_reshaped(Q, K, V, block):
    return _tiled(Q, K, V, block, scores=lambda Q, K: Q @ K.reshape(K.shape[0], K.shape[2], -1) / Q.shape[-1] ** 0.5)


@wrong("query n sees only data vectors 0 to n (a causal mask)", kind="concept")
def causal(Q, K, V, block):
    state, n = _nothing_seen(Q, V), torch.arange(Q.shape[1], device=Q.device)[:, None]
    for i in range(0, K.shape[1], block):
        E = _scores(Q, K[:, i : i + block])
        x = torch.arange(i, i + E.shape[-1], device=Q.device)
        state = _step(*state, E.masked_fill(x > n, -math.inf), V[:, i : i + block])
    return state[2] / state[1][..., None]


@wrong("a block that brings no new maximum for any query is passed over", kind="concept")
def only_new_maxima(Q, K, V, block):
    m, l, O = _nothing_seen(Q, V)
    for keys, values in _blocks(K, V, block):
        E = _scores(Q, keys)
        if (E.amax(dim=-1) > m).any():
            m, l, O = _step(m, l, O, E, values)
    return O / l[..., None]


# ------------------------------------------------------------------------------------------------ wrong: two at once


change(undivided, "unscaled_and_undivided", "scores are not scaled, and O is returned undivided", "concept",
       ("_scores(Q, keys)", "Q @ keys.mT"))


@wrong("a shorter last block is left out (0/0 if it is the only one), and the old O is not multiplied by f",
       kind="concept")
def left_out_and_unscaled(Q, K, V, block):
    whole = K.shape[1] // block * block
    m, l, O = _nothing_seen(Q, V)
    for i in range(0, whole, block):
        E = _scores(Q, K[:, i : i + block])
        m_new, l, _ = _step(m, l, O, E, V[:, i : i + block])
        O = O + torch.exp(E - m_new[..., None]) @ V[:, i : i + block]
        m = m_new
    return O / l[..., None]


@wrong("scores are divided by D_Q instead of its root, and the first block is counted twice", kind="concept")
def width_and_twice(Q, K, V, block):
    def scores(Q, K):
        return Q @ K.mT / Q.shape[-1]

    def start(Q, V):
        return _step(*_nothing_seen(Q, V), scores(Q, K[:, :block]), V[:, :block])

    return _tiled(Q, K, V, block, scores=scores, start=start)


@wrong("block is taken for the number of blocks, and no maximum is subtracted", kind="numerics")
def number_of_blocks_no_maximum(Q, K, V, block):
    l, O = 0, 0
    for keys, values in zip(K.chunk(block, dim=1), V.chunk(block, dim=1)):
        P = _scores(Q, keys).exp()
        l, O = l + P.sum(-1, keepdim=True), O + P @ values
    return O / l


@wrong("the plain mean of the blocks' results, each with scores that are not scaled", kind="concept")
def mean_of_unscaled_blocks(Q, K, V, block):
    results = [(Q @ keys.mT).softmax(-1) @ values for keys, values in _blocks(K, V, block)]
    return torch.stack(results).mean(dim=0)


# -------------------------------------------------------------------------------------------------- wrong: numerics


change(number_of_blocks_no_maximum, "no_maximum",
       "no maximum is subtracted: scores of hundreds overflow, rows of scores far below zero become 0/0", "numerics",
       ("zip(K.chunk(block, dim=1), V.chunk(block, dim=1))", "_blocks(K, V, block)"))


@wrong("m starts from 0: where all scores of a query lie hundreds below zero, the result is 0/0", kind="numerics")
def starts_from_zero(Q, K, V, block):
    return _tiled(Q, K, V, block, start=lambda Q, V: (0 * _nothing_seen(Q, V)[1], *_nothing_seen(Q, V)[1:]))


@wrong("m starts from -100: where all scores of a query lie hundreds below that, the result is 0/0", kind="numerics")
def starts_from_minus_hundred(Q, K, V, block):
    return _tiled(Q, K, V, block, start=lambda Q, V: (_nothing_seen(Q, V)[1] - 100, *_nothing_seen(Q, V)[1:]))


change(detached_maximum, "one_maximum", "one maximum for all queries of the whole batch is subtracted: queries whose "
       "scores are hundreds lower get 0/0", "numerics",
       ("E.detach().amax(dim=-1)", "E.max()"), ("m_new.unsqueeze(-1)", "m_new[..., None]"),
       ("f.unsqueeze(-1)", "f[..., None]"))
change(detached_maximum, "maximum_of_the_sequence", "one maximum for all queries of a sequence is subtracted: queries "
       "whose scores are hundreds lower get 0/0", "numerics",
       ("E.detach().amax(dim=-1)", "E.amax(dim=(-2, -1))[..., None]"), ("m_new.unsqueeze(-1)", "m_new[..., None]"),
       ("f.unsqueeze(-1)", "f[..., None]"))
change(detached_maximum, "maximum_of_the_latest_block", "m becomes the maximum of the latest block, not of all so far: "
       "where that is hundreds lower, f overflows", "numerics",
       ("torch.maximum(m, E.detach().amax(dim=-1))", "E.amax(dim=-1)"), ("m_new.unsqueeze(-1)", "m_new[..., None]"),
       ("f.unsqueeze(-1)", "f[..., None]"))


@wrong("the first block's maximum is kept for all: scores hundreds above it in later blocks overflow", kind="numerics")
def maximum_of_the_first_block(Q, K, V, block):
    m = _scores(Q, K[:, :block]).amax(dim=-1, keepdim=True)
    l, O = 0, 0
    for keys, values in _blocks(K, V, block):
        P = torch.exp(_scores(Q, keys) - m)
        l, O = l + P.sum(-1, keepdim=True), O + P @ values
    return O / l


@wrong("instead of the maximum the bound |q| max|k| / root of D_Q is subtracted: where all scores are hundreds "
       "lower, 0/0", kind="numerics")
def bound_for_maximum(Q, K, V, block):
    bound = Q.norm(dim=-1, keepdim=True) * K.norm(dim=-1).amax(dim=-1)[:, None, None] / math.sqrt(Q.shape[-1])
    l, O = 0, 0
    for keys, values in _blocks(K, V, block):
        P = torch.exp(_scores(Q, keys) - bound.detach())
        l, O = l + P.sum(-1, keepdim=True), O + P @ values
    return O / l


change(undivided, "epsilon", "1e-5 is added to l in the division: the weights do not sum to 1", "numerics",
       ("return O", "return O / (l[..., None] + 1e-5)"))


@wrong("the exponent of f is clamped to -5 or more: where the maximum grows by more, the old sums stay too large",
       kind="numerics")
def factor_clamped(Q, K, V, block):
    def step(m, l, O, E, V):
        m_new = torch.maximum(m, E.amax(dim=-1))
        f, P = torch.exp((m - m_new).clamp(min=-5)), torch.exp(E - m_new[..., None])
        return m_new, f * l + P.sum(dim=-1), f[..., None] * O + P @ V

    return _tiled(Q, K, V, block, step)


@wrong("scores are clamped to -30 .. 30: larger ones give wrong weights", kind="numerics")
def scores_clamped(Q, K, V, block):
    return _tiled(Q, K, V, block, scores=lambda Q, K: _scores(Q, K).clamp(-30, 30))


change(only_new_maxima, "low_blocks_left_out", "a block whose scores lie 5 or more below the maximum so far, for all "
       "queries, is passed over as if it were nothing", "numerics",
       ("(E.amax(dim=-1) > m).any()", "not (E.amax(dim=-1) < m - 5).all()"))


@wrong("the scores are made in half precision: coarse, and infinite above 65504", kind="numerics")
def half_inside(Q, K, V, block):
    return _tiled(Q, K, V, block, scores=lambda Q, K: _scores(Q.half(), K.half()).to(Q.dtype))


@left_open("everything is computed in single precision and cast back: double precision is lost", kind="numerics")
def single_inside(Q, K, V, block):
    return _tiled(Q.float(), K.float(), V.float(), block).to(Q.dtype)


@left_open("the root of D_Q is a single-precision tensor: where it is irrational, double results are wrong by 1e-8 of "
       "the score", kind="numerics")
def single_root(Q, K, V, block):
    return _tiled(Q, K, V, block, scores=lambda Q, K: Q @ K.mT / torch.tensor(float(Q.shape[-1])).sqrt())


@wrong("blocks are merged by log(exp(L) + exp(L_block)): scores of hundreds overflow or become log 0", kind="numerics")
def log_of_sums(Q, K, V, block):
    L, Y = None, None
    for keys, values in _blocks(K, V, block):
        E = _scores(Q, keys)
        here, y = E.logsumexp(-1, keepdim=True), E.softmax(-1) @ values
        if L is None:
            L, Y = here, y
            continue
        new = torch.log(torch.exp(L) + torch.exp(here))
        L, Y = new, Y * torch.exp(L - new) + y * torch.exp(here - new)
    return Y


# --------------------------------------------------------------------------------------------------- wrong: process


@wrong("the whole table of scores is made first and then cut into blocks", kind="process")
def whole_table_cut(Q, K, V, block):
    E = _scores(Q, K)
    m, l, O = _nothing_seen(Q, V)
    for scores, values in zip(E.split(block, dim=-1), V.split(block, dim=1)):
        m, l, O = _step(m, l, O, scores, values)
    return O / l[..., None]


change(_plain, "ordinary", "ordinary attention: the whole table at once, block is ignored", "process",
       ("return _tiled(Q, K, V, block)", "return _scores(Q, K).softmax(dim=-1) @ V"))


@wrong("the scores of all blocks are kept in a list and joined to the whole table", kind="process")
def joined_table(Q, K, V, block):
    E = torch.cat([_scores(Q, keys) for keys in K.split(block, dim=1)], dim=-1)
    return E.softmax(dim=-1) @ V


@wrong("maximum, sum and output of every block are kept and merged at the end", kind="process")
def merged_at_the_end(Q, K, V, block):
    kept = [_step(*_nothing_seen(Q, V), _scores(Q, keys), values) for keys, values in _blocks(K, V, block)]
    m = functools.reduce(torch.maximum, (part[0] for part in kept))
    l = sum(torch.exp(part[0] - m) * part[1] for part in kept)
    return sum(torch.exp(part[0] - m)[..., None] * part[2] for part in kept) / l[..., None]


@wrong("the scores of every block are kept in a list: first their maximum is found, then they are read again",
       kind="process")
def scores_kept(Q, K, V, block):
    E = [_scores(Q, keys) for keys in K.split(block, dim=1)]
    m = functools.reduce(torch.maximum, (e.amax(-1, keepdim=True) for e in E))
    l = sum((e - m).exp().sum(-1, keepdim=True) for e in E)
    return sum((e - m).exp() @ values for e, values in zip(E, V.split(block, dim=1))) / l


@wrong("scores by a product [B, N_Q, block, D_Q] that is summed: with wide vectors it is larger than the whole table",
       kind="process")
def broadcast_product(Q, K, V, block):
    return _tiled(Q, K, V, block,
                  scores=lambda Q, K: (Q[:, :, None] * K[:, None]).sum(-1) / math.sqrt(Q.shape[-1]))


@wrong("blocks of queries instead of data vectors: each row of scores is there whole", kind="process")
def blocks_of_queries(Q, K, V, block):
    return torch.cat([_scores(q, K).softmax(-1) @ V for q in Q.split(block, dim=1)], dim=1)


change(_plain, "always_sixty_four", "block is ignored: always 64 data vectors at a time", "process",
       ("_tiled(Q, K, V, block)", "_tiled(Q, K, V, 64)"))


@wrong("at least 16 data vectors are taken at a time, also where block is smaller", kind="process")
def at_least_sixteen(Q, K, V, block):
    return _tiled(Q, K, V, max(block, 16))


@wrong("block is taken for the number of blocks: K.chunk(block)", kind="process")
def number_of_blocks(Q, K, V, block):
    return _tiled(Q, K, V, block, blocks=lambda K, V, block: zip(K.chunk(block, dim=1), V.chunk(block, dim=1)))


change(_plain, "whole_table_for_gradients", "where gradients are asked for the whole table is made at once", "process",
       before("return", """
        if any(Z.requires_grad for Z in (Q, K, V)):
            return _scores(Q, K).softmax(dim=-1) @ V"""))
change(own_backward, "whole_table_for_short_ones", "up to 512 data vectors the whole table is made at once", "process",
       ("_Flash.apply", "_scores(Q, K).softmax(dim=-1) @ V if K.shape[1] <= 512 else _tiled"))


@wrong("a table of N_Q times N_X zeros is made, only to cut a bias for each block from it", kind="process")
def table_of_zeros(Q, K, V, block):
    bias, state = Q.new_zeros(Q.shape[1], K.shape[1]), _nothing_seen(Q, V)
    for i in range(0, K.shape[1], block):
        E = _scores(Q, K[:, i : i + block]) + bias[:, i : i + block]
        state = _step(*state, E, V[:, i : i + block])
    return state[2] / state[1][..., None]


@wrong("scaled_dot_product_attention, which is not allowed", kind="process")
def ready_made(Q, K, V, block):
    return F.scaled_dot_product_attention(Q, K, V)


@wrong("the loop calls scaled_dot_product_attention, which is not allowed, on each block, and merges by the logsumexp",
       kind="process")
def ready_made_in_each_block(Q, K, V, block):
    L, Y = None, None
    for keys, values in _blocks(K, V, block):
        here = _scores(Q, keys).logsumexp(-1, keepdim=True)
        y = torch.nn.functional.scaled_dot_product_attention(Q, keys, values)
        Y = y if L is None else Y * torch.sigmoid(L - here) + y * torch.sigmoid(here - L)
        L = here if L is None else torch.logaddexp(L, here)
    return Y


@wrong("a function calls itself for each block: more than about 1000 blocks end in a RecursionError", kind="process")
def by_recursion(Q, K, V, block):
    def rest(m, l, O, i):
        if i >= K.shape[1]:
            return O / l[..., None]
        return rest(*_step(m, l, O, _scores(Q, K[:, i : i + block]), V[:, i : i + block]), i + block)

    return rest(*_nothing_seen(Q, V), 0)


change(_plain, "at_most_a_hundred_blocks", "at most 100 blocks are read, whatever follows is left out", "process",
       ("_tiled(Q, K, V, block)", "_tiled(Q, K[:, : 100 * block], V[:, : 100 * block], block)"))
change(_plain, "must_divide", "raises where block does not divide N_X", "edge",
       before("return", """
        if K.shape[1] % block:
            raise ValueError("block does not divide the number of data vectors")"""))


@wrong("the scores of each block are written to a buffer of width block: behind a shorter last one the old scores "
       "stay, and are counted in l again", kind="edge")
def old_scores_in_the_buffer(Q, K, V, block):
    E, (m, l, O) = Q.new_full((*Q.shape[:2], min(block, K.shape[1])), -math.inf), _nothing_seen(Q, V)
    for keys, values in _blocks(K, V, block):
        t = keys.shape[1]
        E = torch.cat((_scores(Q, keys), E[..., t:]), dim=-1)
        m_new, _, O = _step(m, l, O, E[..., :t], values)
        l = torch.exp(m - m_new) * l + torch.exp(E - m_new[..., None]).sum(dim=-1)
        m = m_new
    return O / l[..., None]


# --------------------------------------------------------------------------------------------------- wrong: gradient


@wrong("what was seen before is detached in each block: keys and values of all blocks but the last get no gradient",
       kind="gradient")
def past_detached(Q, K, V, block):
    return _tiled(Q, K, V, block, step=lambda m, l, O, E, V: _step(m.detach(), l.detach(), O.detach(), E, V))


change(factor_clamped, "factor_detached",
       "the factor f is detached while the maximum in P is not: the gradient of queries and keys is wrong", "gradient",
       (".exp((m - m_new).clamp(min=-5))", ".exp(m - m_new).detach()"))
change(undivided, "denominator_detached",
       "l is detached in the division: the gradient of queries and keys is wrong", "gradient",
       ("return O", "return O / l[..., None].detach()"))


@wrong("everything runs under no_grad: no gradients flow", kind="gradient")
@torch.no_grad()
def without_gradient(Q, K, V, block):
    return _tiled(Q, K, V, block)


change(_plain, "keys_detached", "keys are detached: no gradient flows to K", "gradient",
       ("_tiled(Q, K, V, block)", "_tiled(Q, K.detach(), V, block)"))


@wrong("m and l come from a first reading under no_grad and P is divided by that l as by a constant: the gradient of "
       "queries and keys is wrong, and all blocks are read twice", kind="gradient")
def constants_from_a_first_reading(Q, K, V, block):
    with torch.no_grad():
        m, l, O = _nothing_seen(Q, V)
        for keys, values in _blocks(K, V, block):
            m, l, O = _step(m, l, O, _scores(Q, keys), values)
    return sum(torch.exp(_scores(Q, k) - m[..., None]) / l[..., None] @ v for k, v in _blocks(K, V, block))


@wrong("the sums are updated by functions with out=, which raise a RuntimeError as soon as gradients are kept",
       kind="gradient")
def out_arguments(Q, K, V, block):
    m, l, O = _nothing_seen(Q, V)
    for keys, values in _blocks(K, V, block):
        m_new, more_l, more_O = _step(m, l, O, _scores(Q, keys), values)
        torch.maximum(m, m_new, out=m)
        l, O = more_l, more_O
    return O / l[..., None]


class _BackwardBlockByBlock(torch.autograd.Function):
    @staticmethod
    def forward(ctx, Q, K, V, block):
        ctx.save_for_backward(Q, K, V)
        ctx.block = block
        return _tiled(Q, K, V, block)

    @staticmethod
    def backward(ctx, G):
        Q, K, V = ctx.saved_tensors
        L, dQ, dK, dV = None, torch.zeros_like(Q), [], []
        for keys in K.split(ctx.block, dim=1):
            here = _scores(Q, keys).logsumexp(-1, keepdim=True)
            L = here if L is None else torch.logaddexp(L, here)
        for keys, values in _blocks(K, V, ctx.block):
            P = torch.exp(_scores(Q, keys) - L)
            dE = P * (G @ values.mT - (P * (G @ values.mT)).sum(-1, keepdim=True)) / math.sqrt(Q.shape[-1])
            dQ = dQ + dE @ keys
            dK.append(dE.mT @ Q)
            dV.append(P.mT @ G)
        return dQ, torch.cat(dK, dim=1), torch.cat(dV, dim=1), None


change(own_backward, "backward_in_each_block", "its own backward takes the mean that the softmax's gradient subtracts "
       "over each block alone: gradients of Q and K are wrong with several blocks", "gradient",
       ("_Flash", "_BackwardBlockByBlock"))


# ------------------------------------------------------------------------------------------ wrong: layout, interface


@wrong("keys and values are cut by view after joining batch and vectors: raises for tensors whose numbers do not lie "
       "side by side", kind="layout")
def cut_by_view(Q, K, V, block):
    B, N_X, _ = K.shape
    return _tiled(Q, K.view(B * N_X, -1).view(B, N_X, -1), V.view(B * N_X, -1).view(B, N_X, -1), block)


change(_plain, "squeezed", "the result is squeezed: axes of size 1 disappear", "layout",
       ("_tiled(Q, K, V, block)", "_tiled(Q, K, V, block).squeeze()"))


@wrong("with values of one feature (D_V = 1) the last axis of the result is lost", kind="edge")
def one_feature_squeezed(Q, K, V, block):
    return _tiled(Q, K, V, block).squeeze(-1)


@wrong("keys and values of the first sequence are used for the whole batch", kind="layout")
def first_sequence_for_all(Q, K, V, block):
    return _tiled(Q, K[:1], V[:1], block)


@wrong("O is made by zeros_like(Q): it has width D_Q, and raises where D_V differs", kind="shape")
def output_as_wide_as_Q(Q, K, V, block):
    return _tiled(Q, K, V, block, start=lambda Q, V: (*_nothing_seen(Q, V)[:2], torch.zeros_like(Q)))


@wrong("m and l are made with as many numbers as there are data vectors: raises where N_X is neither N_Q nor 1 (and "
       "N_Q not 1)", kind="shape")
def sums_for_data_vectors(Q, K, V, block):
    def start(Q, V):
        m = K.new_full(K.shape[:2], -math.inf)
        return m, torch.zeros_like(m), Q.new_zeros(*Q.shape[:2], V.shape[-1])

    return _tiled(Q, K, V, block, start=start)


@wrong("m, l and O are made by torch.full and torch.zeros without a type: a bfloat16 input gives a float32 result",
       kind="interface")
def sums_without_type(Q, K, V, block):
    def start(Q, V):
        return torch.full(Q.shape[:2], -math.inf), torch.zeros(Q.shape[:2]), torch.zeros(*Q.shape[:2], V.shape[-1])

    def step(m, l, O, E, V):
        m_new = torch.maximum(m, E.amax(dim=-1))
        f, P = torch.exp(m - m_new), torch.exp(E - m_new[..., None])
        return m_new, f * l + P.sum(dim=-1), f[..., None] * O + P @ V.to(P.dtype)

    return _tiled(Q, K, V, block, start=start, step=step)


change(_plain, "always_single", "the result is cast to single precision whatever the inputs are", "interface",
       ("_tiled(Q, K, V, block)", "_tiled(Q, K, V, block).float()"))


@wrong("the queries are divided by the root of D_Q in place: the input Q is changed", kind="interface")
def queries_in_place(Q, K, V, block):
    Q.data /= math.sqrt(Q.shape[-1])
    return _tiled(Q, K, V, block, scores=lambda Q, K: Q @ K.mT)


@wrong("each block of values is set to zero once it has been read: the input V is changed", kind="interface")
def values_erased(Q, K, V, block):
    result = _tiled(Q, K, V, block)
    V.data.zero_()
    return result


_buffers = {}


@wrong("the result is written to a buffer that is kept for each shape: the next call overwrites the result of this "
       "one, and no gradient flows", kind="interface")
def kept_buffer(Q, K, V, block):
    result = _tiled(Q, K, V, block).detach()
    key = (result.shape, result.dtype, result.device)
    return _buffers.setdefault(key, torch.empty_like(result)).copy_(result)


_results = {}


@wrong("the first result for given shapes is kept and returned for all later inputs of these shapes", kind="interface")
def kept_result(Q, K, V, block):
    key = (Q.shape, K.shape, V.shape, Q.dtype)
    if key not in _results:
        _results[key] = _tiled(Q, K, V, block)
    return _results[key]


@right("the arguments are called query, key, value, block_size: calls by keyword fail")
def other_names(query, key, value, block_size):
    return _tiled(query, key, value, block_size)


@wrong("block must be given by keyword: a call by position fails", kind="interface")
def block_by_keyword(Q, K, V, *, block):
    return _tiled(Q, K, V, block)


change(undivided, "returns_logsumexp_too",
       "returns a pair, Y and the logsumexp of the scores, instead of Y alone", "interface",
       ("return O", "return O / l[..., None], m + l.log()"))
