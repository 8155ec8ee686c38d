"""Exercise 4: attention block by block, without the table of all weights."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED

# A bounded table is larger than all that a block needs: E [B, N_Q, block], also with the features beside it, V padded, O
# beside l and m. In one case it is smaller than a block of queries against all data vectors; in another so few data vectors
# are asked for one by one that any block that is not as large as `block` says holds all of them.
TABLE, WHOLE, KEPT = ("N_Q", "N_X"), ("B", "N_Q", "N_X"), ("B", "N_Q", "N_X")
LONG = {"B": 2, "N_Q": 40, "D_Q": 3, "D_V": 4}
MANY = {"B": 2, "N_Q": 15, "N_X": 72, "D_Q": 3, "D_V": 4}
KEEPING = {"B": 1, "N_Q": 20, "N_X": 28, "D_Q": 3, "D_V": 2}  # narrow values: m, l and O are far smaller than the table
FEW = {"B": 6, "N_Q": 30, "N_X": 5, "D_Q": 3, "D_V": 2}


def _drifting(inputs, rng):
    """Scores that grow from block to block, so that the maximum keeps changing."""
    N = inputs["K"].shape[-2]
    inputs["Q"][..., 0] = 1.5
    inputs["K"][..., 0] += torch.linspace(-3, 3, N).numpy()


def _sinking(inputs, rng):
    """Scores that fall from block to block: later ones count for little, but they count."""
    N = inputs["K"].shape[-2]
    inputs["Q"][..., 0] = inputs["Q"].shape[-1] ** 0.5
    inputs["K"][..., 0] = torch.linspace(0, -8, N).numpy()


def _falling(inputs, rng):
    """Scores that fall so far that exponentials with the latest maximum overflow."""
    inputs["Q"][..., 0] = 300.0
    inputs["K"][..., 0] = torch.linspace(5, -5, inputs["K"].shape[-2]).numpy()


def _climbing(inputs, rng):
    """Later scores so far above those before that exponentials with an old maximum overflow, in double precision too."""
    N = inputs["K"].shape[-2]
    inputs["Q"][..., 0] = 300.0
    inputs["K"][..., 0] = torch.where(torch.arange(N) < N // 2, 0.0, 5.0).numpy()


def _apart(inputs, rng):
    """Scores of one query that lie far below those of another: what overflows for one vanishes for the other."""
    inputs["K"][..., 0] = 20.0
    inputs["Q"][..., 0] = torch.linspace(-30, 30, inputs["Q"].shape[-2]).numpy()


def _case(text, block, **more):
    return Case(text, values={"block": block}, **more)


@exercise(
    points=4,
    section="FlashAttention: attention in tiles",
    source="Dao et al. 2022, FlashAttention, algorithm 1",
    outputs="Y",
    formula="Y = softmax(Q Kᵀ/√D_Q) V [B, N_Q, D_V], block by block over the N_X data vectors: m, l, O as in the step before,"
    " Y = O/l at the end; no tensor as large as the table of N_Q × N_X scores",
    cases=[
        _case("blocks that fit", 8, sizes=MANY, bounds={"largest": TABLE}),
        _case("a last block that is shorter", 7, sizes={**LONG, "N_X": 68}, bounds={"largest": TABLE}, edit=_drifting),
        _case("many queries", 8, sizes={**LONG, "N_X": 72}, bounds={"largest": TABLE}, edge=True),
        _case("blocks of one vector", 1, sizes=FEW, bounds={"largest": WHOLE}),
        _case(
            "many blocks, of which nothing is kept",
            1,
            sizes=KEEPING,
            bounds={"largest": TABLE, "kept": KEPT},
        ),
        _case("wide vectors", 8, sizes={**LONG, "N_X": 72, "D_Q": 20}, bounds={"largest": TABLE}, edge=True),
        _case("more than a hundred blocks", 1, sizes={"N_X": 120, "N_Q": 3, "B": 1}, edge=True),
        _case("a few vectors", 3, sizes={"N_X": 8}, edge=True),
        _case("a few vectors, scores that grow", 3, edit=_drifting),
        _case("scores that fall", 2, sizes={"N_X": 9}, edit=_sinking, edge=True),
        _case("scores that fall far", 2, sizes={"N_X": 8}, edit=_falling, extreme=True),
        _case("one block for all", 50),
        _case(
            "a batch of one, and scores that climb",
            2,
            sizes={"B": 1, "N_X": 8, "N_Q": 12, "D_Q": 3},
            scale={"K": 2.0, "V": 4.0},
            edit=_climbing,
            extreme=True,
        ),
        _case("queries far apart", 2, scale={"K": 2.0, "V": 4.0}, edit=_apart, extreme=True),
    ],
    forbidden=FUSED,
)
def tiled_attention(
    Q: Float[Tensor, "B N_Q D_Q"], K: Float[Tensor, "B N_X D_Q"], V: Float[Tensor, "B N_X D_V"], block: int
) -> Float[Tensor, "B N_Q D_V"]:
    return F.scaled_dot_product_attention(Q, K, V)


def _blocks(K, V, block, step=None):
    return [(K[:, b : b + block], V[:, b : b + block]) for b in range(0, K.shape[-2], step or block)]


def _scores(Q, k):
    return Q @ k.mT * Q.shape[-1] ** -0.5


def _tiled(Q, blocks, D_V=None, scale=None, start=-torch.inf, factor=lambda f: (f, f), each=lambda O, l: O):
    """O and l; `factor` gives what l and O are multiplied by, `each` what becomes of O at the end of a step."""
    m, l = Q.new_full((*Q.shape[:-1], 1), start), Q.new_zeros((*Q.shape[:-1], 1))
    O = Q.new_zeros(*Q.shape[:-1], D_V or blocks[0][1].shape[-1])
    for k, v in blocks:
        E = Q @ k.mT * (Q.shape[-1] ** -0.5 if scale is None else scale)
        m_new = torch.maximum(m, E.amax(dim=-1, keepdim=True))
        (f_l, f_O), P = factor(torch.exp(m - m_new)), torch.exp(E - m_new)
        l, m = f_l * l + P.sum(dim=-1, keepdim=True), m_new
        O = each(f_O * O + P @ v, l)
    return O, l


def _divided(O, l):
    return O / l


@tiled_attention.misconception
def not_rescaled(Q, K, V, block):
    """The sums of earlier blocks were not rescaled when a larger score came. Multiply l and O by exp(m − m_new)."""
    return _divided(*_tiled(Q, _blocks(K, V, block), factor=lambda f: (torch.ones_like(f), torch.ones_like(f))))


@tiled_attention.misconception
def sum_not_rescaled(Q, K, V, block):
    """O was rescaled when a larger score came, l was not. Both are sums of exponentials with the old maximum: multiply both by
    exp(m − m_new)."""
    return _divided(*_tiled(Q, _blocks(K, V, block), factor=lambda f: (torch.ones_like(f), f)))


@tiled_attention.misconception
def output_not_rescaled(Q, K, V, block):
    """l was rescaled when a larger score came, O was not. Both are sums of exponentials with the old maximum: multiply both by
    exp(m − m_new)."""
    return _divided(*_tiled(Q, _blocks(K, V, block), factor=lambda f: (f, torch.ones_like(f))))


@tiled_attention.misconception
def rescaled_upwards(Q, K, V, block):
    """The sums were multiplied by exp(m_new − m). The new maximum is larger, so what was summed with the old one counts less:
    exp(m − m_new). Before the first block m is −inf: the wrong way round gives inf, and inf·0 is NaN."""
    return _divided(*_tiled(Q, _blocks(K, V, block), factor=lambda f: (1 / f, 1 / f)))


@tiled_attention.misconception
def softmax_in_each_block(Q, K, V, block):
    """Each block went through a softmax of its own, and the results were averaged. Then each block counts alike, however
    small its scores are. The blocks share one softmax: keep exponentials and their sum, divide at the end."""
    return torch.stack([_scores(Q, k).softmax(dim=-1) @ v for k, v in _blocks(K, V, block)]).mean(dim=0)


@tiled_attention.misconception
def softmax_in_each_block_summed(Q, K, V, block):
    """Each block went through a softmax of its own, and the results were summed, so that all weights together are as many
    as there are blocks. The blocks share one softmax: keep exponentials and their sum, divide at the end."""
    return torch.stack([_scores(Q, k).softmax(dim=-1) @ v for k, v in _blocks(K, V, block)]).sum(dim=0)


@tiled_attention.misconception
def divided_in_each_step(Q, K, V, block):
    """O was divided by l at the end of each step, and the next block was added to the quotient. O stays an undivided sum
    until the last block: divide once, at the end."""
    return _tiled(Q, _blocks(K, V, block), each=_divided)[0]


@tiled_attention.misconception
def divided_in_each_step_and_at_the_end(Q, K, V, block):
    """O was divided by l at the end of each step, and once more after the last. O stays an undivided sum until the last block:
    divide once, at the end."""
    return _divided(*_tiled(Q, _blocks(K, V, block), each=_divided))


@tiled_attention.misconception
def divided_by_the_last_block(Q, K, V, block):
    """O was divided by the sum of the last block alone. l has to be carried through all blocks, as O is."""
    O, _ = _tiled(Q, _blocks(K, V, block))
    _, l = _tiled(Q, _blocks(K, V, block), factor=lambda f: (torch.zeros_like(f), f))
    return O / l


@tiled_attention.misconception
def not_scaled(Q, K, V, block):
    """The scores are not divided by √D_Q. Scaled dot-product attention divides them."""
    return _divided(*_tiled(Q, _blocks(K, V, block), scale=1.0))


@tiled_attention.misconception
def scaled_by_the_values(Q, K, V, block):
    """The scores are divided by √D_V. The scale belongs to what the dot product runs over, queries and keys: √D_Q."""
    return _divided(*_tiled(Q, _blocks(K, V, block), scale=V.shape[-1] ** -0.5))


@tiled_attention.misconception
def scaled_by_the_block(Q, K, V, block):
    """The scores are divided by the root of the block's size. The scale belongs to the width of the vectors, √D_Q."""
    return _divided(*_tiled(Q, _blocks(K, V, block), scale=block**-0.5))


@tiled_attention.misconception
def maximum_from_zero(Q, K, V, block):
    """The running maximum begins at 0. Where all scores are far below, all exponentials become 0, and 0/0 is NaN. Begin at
    −inf."""
    return _divided(*_tiled(Q, _blocks(K, V, block), start=0.0))


@tiled_attention.misconception
def without_a_maximum(Q, K, V, block):
    """exp is taken of the scores as they are: large ones overflow. Subtract the running maximum."""
    l, O = 0.0, 0.0
    for k, v in _blocks(K, V, block):
        P = torch.exp(_scores(Q, k))
        l, O = l + P.sum(dim=-1, keepdim=True), O + P @ v
    return O / l


@tiled_attention.misconception
def maximum_of_the_first_block(Q, K, V, block):
    """The maximum of the first block was kept for all blocks, or none was subtracted. A later score that is much larger
    overflows, in double precision too: keep a running maximum, and rescale the sums when it grows."""
    m, l, O = _scores(Q, K[:, :block]).amax(dim=-1, keepdim=True), 0.0, 0.0
    for k, v in _blocks(K, V, block):
        P = torch.exp(_scores(Q, k) - m)
        l, O = l + P.sum(dim=-1, keepdim=True), O + P @ v
    return O / l


@tiled_attention.misconception
def each_block_its_own_maximum(Q, K, V, block):
    """Each block's exponentials use that block's own maximum, and were added up as they are, so that they do not fit
    together. All of them need the running maximum m_new, and earlier sums are multiplied by exp(m − m_new)."""
    l, O = 0.0, 0.0
    for k, v in _blocks(K, V, block):
        E = _scores(Q, k)
        P = torch.exp(E - E.amax(dim=-1, keepdim=True))
        l, O = l + P.sum(dim=-1, keepdim=True), O + P @ v
    return O / l


@tiled_attention.misconception
def one_maximum_for_all(Q, K, V, block):
    """One maximum runs along for all queries. Where a query's own scores lie far below it, its exponentials all become 0, and 0/0
    is NaN. Each query, each row of E, has its own: amax(dim=-1)."""
    m, l, O = Q.new_tensor(-torch.inf), 0.0, 0.0
    for k, v in _blocks(K, V, block):
        E = _scores(Q, k)
        m_new = torch.maximum(m, E.amax())
        f, P = torch.exp(m - m_new), torch.exp(E - m_new)
        l, O, m = f * l + P.sum(dim=-1, keepdim=True), f * O + P @ v, m_new
    return O / l


@tiled_attention.alternative
def by_the_recurrence(Q, K, V, block):
    return _divided(*_tiled(Q, _blocks(K, V, block)))


@tiled_attention.alternative
def merged_by_log_sums(Q, K, V, block):
    Y, log = 0.0, torch.full_like(Q[..., :1], -torch.inf)
    for k, v in zip(K.split(block, dim=1), V.split(block, dim=1)):
        E = torch.bmm(Q, k.transpose(1, 2)) / math.sqrt(Q.shape[-1])
        part, here = E.softmax(dim=-1) @ v, E.logsumexp(dim=-1, keepdim=True)
        both = torch.logaddexp(log, here)
        Y, log = Y * (log - both).exp() + part * (here - both).exp(), both
    return Y


@tiled_attention.alternative
def maxima_in_a_first_pass(Q, K, V, block):
    m, scale = Q.new_full(Q.shape[:-1], -torch.inf), 1 / math.sqrt(Q.shape[-1])
    for k in K.split(block, dim=1):
        m = torch.maximum(m, (Q @ k.mT * scale).amax(dim=-1))
    top, total = 0.0, 0.0
    for k, v in zip(K.split(block, dim=1), V.split(block, dim=1)):
        P = (Q @ k.mT * scale - m[..., None]).exp()
        top, total = top + P @ v, total + P.sum(dim=-1, keepdim=True)
    return top / total


@tiled_attention.alternative
def divided_all_along(Q, K, V, block):
    m, l, Y = Q.new_full(Q.shape[:-1], -torch.inf), Q.new_zeros(Q.shape[:-1]), torch.zeros_like(Q[..., :1]) * V[:, :1]
    for k, v in zip(K.split(block, dim=1), V.split(block, dim=1)):
        E = torch.einsum("bqd,bxd->bqx", Q / math.sqrt(Q.shape[-1]), k)
        m_new = torch.maximum(m, E.max(dim=-1).values)
        old, P = l * (m - m_new).exp(), (E - m_new[..., None]).exp()
        l, m = old + P.sum(dim=-1), m_new
        Y = ((old / l)[..., None] * Y) + torch.einsum("bqx,bxv->bqv", P / l[..., None], v)
    return Y


@tiled_attention.alternative
def sums_beside_the_output(Q, K, V, block):
    beside, m = torch.cat([V, torch.ones_like(V[..., :1])], dim=-1), torch.full_like(Q[..., :1], -torch.inf)
    both = torch.zeros_like(Q[..., :1]) * beside[:, :1]
    for begin in range(0, K.shape[1], block):
        E = _scores(Q, K[:, begin : begin + block])
        top = torch.maximum(m, E.amax(dim=-1, keepdim=True))
        both, m = (m - top).exp() * both + (E - top).exp() @ beside[:, begin : begin + block], top
    return both[..., :-1] / both[..., -1:]


@tiled_attention.alternative
def queries_in_blocks_too(Q, K, V, block):
    return torch.cat([_divided(*_tiled(q, _blocks(K, V, block))) for q in Q.split(max(block, 20), dim=1)], dim=1)
