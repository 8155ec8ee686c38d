"""Exercise 3: one step of the online softmax."""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """A state as it is after some blocks: the sum is positive."""
    return {"l": (0.5 + rng.random(inputs["l"].shape)).astype("float32")}


def _first(inputs, rng):
    """Nothing has been seen yet."""
    inputs["m"][:], inputs["l"][:], inputs["O"][:] = -float("inf"), 0, 0


def _first_low(inputs, rng):
    """The same with scores so low that a finite number instead of −inf shows."""
    _first(inputs, rng)
    inputs["E"] -= 500


def _rising(inputs, rng):
    inputs["E"] += 4


def _falling(inputs, rng):
    inputs["E"] -= 4


def _large(inputs, rng):
    inputs["E"] += 540
    inputs["m"] += 500


@exercise(
    points=3,
    section="The online softmax",
    source="Milakov and Gimelshein 2018, algorithm 3",
    outputs="m_new l_new O_new",
    formula="m_new = max(m, row maximum of E), f = exp(m − m_new), P = exp(E − m_new), l_new = f·l + row sum of P, O_new = f·O +"
    " P V; m, l [*B, N_Q], O [*B, N_Q, D_V], E [*B, N_Q, T], V [*B, T, D_V]",
    cases=[
        Case("a batch", expand={"*B": "B"}),
        Case("one sequence", expand={"*B": ""}),
        Case("the largest score rises", expand={"*B": "B"}, edit=_rising),
        Case("the largest score stays", expand={"*B": "B"}, edit=_falling),
        Case("the first block", expand={"*B": "B"}, edit=_first),
        Case("the first block, scores far below zero", expand={"*B": ""}, edit=_first_low, extreme=True),
        Case("scores in the hundreds", expand={"*B": ""}, edit=_large, extreme=True),
        Case("heads and a batch", expand={"*B": "B H"}, sizes={"B": 2, "H": 3}),
        Case("a block of one vector", expand={"*B": "B"}, sizes={"T": 1}),
    ],
    draws=_drawn,
    differentiable=False,
    waived={"zero": "a sum of 0 says that nothing has been seen yet, and then m is −∞ and O is 0"},
)
def online_softmax_step(
    m: Float[Tensor, "*B N_Q"],
    l: Float[Tensor, "*B N_Q"],
    O: Float[Tensor, "*B N_Q D_V"],
    E: Float[Tensor, "*B N_Q T"],
    V: Float[Tensor, "*B T D_V"],
) -> tuple[Float[Tensor, "*B N_Q"], Float[Tensor, "*B N_Q"], Float[Tensor, "*B N_Q D_V"]]:
    m_new = torch.cat([m[..., None], E], dim=-1).amax(dim=-1)
    old, block = torch.exp(m - m_new), torch.exp(E - m_new[..., None])
    return m_new, old * l + block.sum(dim=-1), torch.einsum("...q,...qv->...qv", old, O) + torch.matmul(block, V)


def _step(m, l, O, E, V, highest=None, factor=None):
    """One step; `highest` gives the new maximum, `factor` what the old sums are multiplied by, (for l, for O)."""
    m_new = torch.maximum(m, E.amax(dim=-1)) if highest is None else highest
    f = torch.exp(m - m_new)
    f_l, f_O = (f, f) if factor is None else factor(f)
    P = torch.exp(E - m_new[..., None])
    return m_new, f_l * l + P.sum(dim=-1), f_O[..., None] * O + P @ V


@online_softmax_step.misconception
def nothing_rescaled(m, l, O, E, V):
    """The old sums were not rescaled. They were made with the old maximum; multiply both by exp(m − m_new) before the block's
    part is added."""
    return _step(m, l, O, E, V, factor=lambda f: (torch.ones_like(f), torch.ones_like(f)))


@online_softmax_step.misconception
def sum_not_rescaled(m, l, O, E, V):
    """O was rescaled, l was not. Both are sums of exponentials with the old maximum: multiply both by exp(m − m_new)."""
    return _step(m, l, O, E, V, factor=lambda f: (torch.ones_like(f), f))


@online_softmax_step.misconception
def output_not_rescaled(m, l, O, E, V):
    """l was rescaled, O was not. Both are sums of exponentials with the old maximum: multiply both by exp(m − m_new)."""
    return _step(m, l, O, E, V, factor=lambda f: (f, torch.ones_like(f)))


@online_softmax_step.misconception
def rescaled_upwards(m, l, O, E, V):
    """The old sums were multiplied by exp(m_new − m). The new maximum is not smaller than the old one, so what was summed
    with the old one counts no more than before: the factor is exp(m − m_new), at most 1."""
    return _step(m, l, O, E, V, factor=lambda f: (1 / f, 1 / f))


@online_softmax_step.misconception
def output_rescaled_upwards(m, l, O, E, V):
    """l was rescaled correctly, but O was multiplied by exp(m_new − m). The new maximum is not smaller than the old one, so
    what was summed with the old one counts no more than before: multiply both by exp(m − m_new)."""
    return _step(m, l, O, E, V, factor=lambda f: (f, 1 / f))


@online_softmax_step.misconception
def maximum_of_the_block(m, l, O, E, V):
    """m_new is the maximum of this block alone. It is the maximum of all scores so far, m included."""
    return _step(m, l, O, E, V, highest=E.amax(dim=-1))


@online_softmax_step.misconception
def block_with_its_own_maximum(m, l, O, E, V):
    """The block's exponentials use the maximum of the block, the old sums were brought to the new maximum: the two do not
    fit together. Use m_new for both."""
    m_new = torch.maximum(m, E.amax(dim=-1))
    f, P = torch.exp(m - m_new), torch.exp(E - E.amax(dim=-1, keepdim=True))
    return m_new, f * l + P.sum(dim=-1), f[..., None] * O + P @ V


@online_softmax_step.misconception
def block_with_the_old_maximum(m, l, O, E, V):
    """The block's exponentials use the old maximum, exp(E − m), and are rescaled with the old sums. On paper that is right; but
    before the first block m is −inf, and large scores overflow. Use m_new from the start: exp(E − m_new)."""
    m_new = torch.maximum(m, E.amax(dim=-1))
    f, P = torch.exp(m - m_new), torch.exp(E - m[..., None])
    return m_new, f * (l + P.sum(dim=-1)), f[..., None] * (O + P @ V)


@online_softmax_step.misconception
def block_left_with_the_old_maximum(m, l, O, E, V):
    """The block's exponentials use the old maximum, exp(E − m), and the old sums were brought to the new one: the two do not
    fit together. Use m_new for both."""
    m_new = torch.maximum(m, E.amax(dim=-1))
    f, P = torch.exp(m - m_new), torch.exp(E - m[..., None])
    return m_new, f * l + P.sum(dim=-1), f[..., None] * O + P @ V


@online_softmax_step.misconception
def block_rescaled_too(m, l, O, E, V):
    """The block's part was multiplied by f as well. It is made with m_new already: only the old sums are multiplied by f."""
    m_new, l_new, O_new = _step(m, l, O, E, V, factor=lambda f: (torch.ones_like(f), torch.ones_like(f)))
    f = torch.exp(m - m_new)
    return m_new, f * l_new, f[..., None] * O_new


@online_softmax_step.misconception
def block_rescaled_instead(m, l, O, E, V):
    """The block's part was multiplied by f, the old sums were not. It is the other way round: the block's part is made with m_new
    already, the old sums with the old maximum."""
    m_new = torch.maximum(m, E.amax(dim=-1))
    f, P = torch.exp(m - m_new), torch.exp(E - m_new[..., None])
    return m_new, l + f * P.sum(dim=-1), O + f[..., None] * (P @ V)


@online_softmax_step.misconception
def infinity_replaced(m, l, O, E, V):
    """For the factor, m = −inf was replaced by a finite number. Scores may lie far below it: exp(number − m_new) overflows,
    and inf·0 is NaN. Leave −inf as it is: exp(−inf) is 0."""
    m_new = torch.maximum(m, E.amax(dim=-1))
    return _step(m, l, O, E, V, factor=lambda f: (torch.exp(torch.nan_to_num(m, neginf=0.0) - m_new),) * 2)


@online_softmax_step.misconception
def exponentials_divided(m, l, O, E, V):
    """An exponential was divided by another, as exp(m) / exp(m_new) or exp(E) / exp(m_new). Both overflow when scores are
    large, and inf/inf is NaN; both are 0 when they are far below zero, and so is 0/0. Subtract first: exp(m − m_new), exp(E −
    m_new)."""
    m_new = torch.maximum(m, E.amax(dim=-1))
    return _step(m, l, O, E, V, factor=lambda f: (torch.exp(m) / torch.exp(m_new),) * 2)


@online_softmax_step.misconception
def block_normalised(m, l, O, E, V):
    """The block went through a softmax of its own, which loses how much the block weighs against the other blocks. Keep the
    exponentials as they are, exp(E − m_new)."""
    m_new = torch.maximum(m, E.amax(dim=-1))
    f, P = torch.exp(m - m_new), E.softmax(dim=-1)
    return m_new, f * l + P.sum(dim=-1), f[..., None] * O + P @ V


@online_softmax_step.misconception
def divided_throughout(m, l, O, E, V):
    """O is taken to be divided by l, and O_new is divided by l_new. One can do it so, but here O stays the undivided sum,
    O_new = f·O + P V, and is divided once, at the very end."""
    m_new, l_new, O_new = _step(m, l, l[..., None] * O, E, V)
    return m_new, l_new, O_new / l_new[..., None]


@online_softmax_step.misconception
def block_normalised_in_the_output(m, l, O, E, V):
    """l is right, but what is added to O went through a softmax of the block alone. Add the exponentials as they are, P V; the
    division by l comes at the very end."""
    m_new, l_new, _ = _step(m, l, O, E, V)
    return m_new, l_new, torch.exp(m - m_new)[..., None] * O + E.softmax(dim=-1) @ V


@online_softmax_step.misconception
def output_taken_for_normalised(m, l, O, E, V):
    """O was multiplied by l, as if it had been divided before. It is the undivided sum: O_new = f·O + P V."""
    m_new, l_new, O_new = _step(m, l, l[..., None] * O, E, V)
    return m_new, l_new, O_new


@online_softmax_step.misconception
def without_a_maximum(m, l, O, E, V):
    """No maximum is subtracted from the block's scores: exp(E) overflows for large ones, and does not fit the old sums."""
    m_new = torch.maximum(m, E.amax(dim=-1))
    f, P = torch.exp(m - m_new), torch.exp(E)
    return m_new, f * l + P.sum(dim=-1), f[..., None] * O + P @ V


@online_softmax_step.misconception
def scores_mixed(m, l, O, E, V):
    """l is right, but the values that were added to O are weighted by the scores themselves, E V. Their weights are the
    exponentials: P V."""
    m_new, l_new, _ = _step(m, l, O, E, V)
    return m_new, l_new, torch.exp(m - m_new)[..., None] * O + E @ V


@online_softmax_step.misconception
def one_maximum_for_all(m, l, O, E, V):
    """One maximum was taken for all queries. Each query, each row of E, has its own: amax(dim=-1)."""
    return _step(m, l, O, E, V, highest=torch.maximum(m, E.amax()))


@online_softmax_step.misconception
def block_alone(m, l, O, E, V):
    """Only the block's own sums were returned; the sums of the blocks before are lost. Add the old sums, rescaled."""
    return _step(m, l, O, E, V, factor=lambda f: (torch.zeros_like(f), torch.zeros_like(f)))


@online_softmax_step.alternative
def with_log_sums(m, l, O, E, V):
    m_new = torch.maximum(m, E.max(dim=-1).values)
    l_new = torch.exp(torch.logaddexp(m + l.log(), E.logsumexp(dim=-1)) - m_new)
    return m_new, l_new, O * (m - m_new).exp().unsqueeze(-1) + (E - m_new.unsqueeze(-1)).exp() @ V


@online_softmax_step.alternative
def column_by_column(m, l, O, E, V):
    for t in range(E.shape[-1]):
        e = E[..., t]
        m_new = torch.maximum(m, e)
        f, p = (m - m_new).exp(), (e - m_new).exp()
        l, O = f * l + p, f[..., None] * O + p[..., None] * V[..., t : t + 1, :]
        m = m_new
    return m, l, O


@online_softmax_step.alternative
def kept_as_columns(m, l, O, E, V):
    top = torch.maximum(m.unsqueeze(-1), E.amax(dim=-1, keepdim=True))  # [*B, N_Q, 1]
    shrink, P = torch.exp(m.unsqueeze(-1) - top), torch.exp(E - top)
    return top[..., 0], (shrink * l.unsqueeze(-1) + P.sum(-1, keepdim=True))[..., 0], shrink * O + torch.matmul(P, V)
