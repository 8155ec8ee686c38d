"""Exercise 7, a stretch: one step of a gated recurrent unit."""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_01_rnn_seq2seq._shared import RECURRENT

SMALL = {"W_x": 0.4, "W_h": 0.4, "b_x": 0.7, "b_h": 0.7}  # so that gates are neither open nor shut


@exercise(
    points=0,
    section="Gates: a hidden state that can keep",
    source="Cho et al. 2014, equations 5 to 8; torch.nn.GRU's form, in which the reset gate acts after the matrix",
    outputs="h_t",
    formula="r = σ(x W_xr + b_xr + h W_hr + b_hr), z = σ(x W_xz + b_xz + h W_hz + b_hz),"
    " n = tanh(x W_xn + b_xn + r ⊙ (h W_hn + b_hn)), h_t = (1 − z) ⊙ n + z ⊙ h, with W_x [3, D_X, D_H], W_h [3, D_H, D_H],"
    " b_x and b_h [3, D_H] in the order r, z, n; all of r, z, n, h_t [*B, D_H]",
    cases=[
        Case("one token", expand={"*B": ""}, scale=SMALL),
        Case("a batch", expand={"*B": "B"}, scale=SMALL),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes={"B_1": 5, "B_2": 2}, scale=SMALL),
        Case("a batch of one", expand={"*B": "B"}, sizes={"B": 1}, scale=SMALL),
    ],
    forbidden=RECURRENT,
)
def gru_step(
    x: Float[Tensor, "*B D_X"],
    h: Float[Tensor, "*B D_H"],
    W_x: Float[Tensor, "3 D_X D_H"],
    W_h: Float[Tensor, "3 D_H D_H"],
    b_x: Float[Tensor, "3 D_H"],
    b_h: Float[Tensor, "3 D_H"],
) -> Float[Tensor, "*B D_H"]:
    x, old = x.reshape(-1, x.shape[-1]), h.reshape(-1, h.shape[-1])  # torch's cell takes one batch axis
    weights = (W_x.mT.flatten(0, 1), W_h.mT.flatten(0, 1))  # [3*D_H, …], as torch stores them
    return torch.gru_cell(x, old, *weights, b_x.flatten(), b_h.flatten()).reshape(h.shape)


def _parts(x, h, W_x, W_h, b_x, b_h):
    """What the input and the old state give for each of r, z and n, before any nonlinearity."""
    return [x @ W + b for W, b in zip(W_x, b_x)], [h @ W + b for W, b in zip(W_h, b_h)]


def _mixed(h, r, z, from_x, from_h):
    return (1 - z) * torch.tanh(from_x + r * from_h) + z * h


@gru_step.misconception
def kept_and_written_exchanged(*given):
    """The update gate works the wrong way round: z ⊙ n + (1 − z) ⊙ h. Some papers define it so, but here z says how much of
    the old hidden state is kept: (1 − z) ⊙ n + z ⊙ h."""
    (xr, xz, xn), (hr, hz, hn) = _parts(*given)
    return _mixed(given[1], (xr + hr).sigmoid(), (-xz - hz).sigmoid(), xn, hn)


@gru_step.misconception
def gates_exchanged(*given):
    """The two gates have changed places: the one that is computed from the weights of z stands before h W_hn, and the one from
    the weights of r mixes n with h. The stacks are in the order r, z, n."""
    (xr, xz, xn), (hr, hz, hn) = _parts(*given)
    return _mixed(given[1], (xz + hz).sigmoid(), (xr + hr).sigmoid(), xn, hn)


@gru_step.misconception
def reset_before_the_matrix(x, h, W_x, W_h, b_x, b_h):
    """The reset gate multiplies the old hidden state before the matrix, (r ⊙ h) W_hn. That is the form of the published paper;
    this exercise asks for torch's, r ⊙ (h W_hn + b_hn), in which r acts on the result, b_hn included."""
    (xr, xz, xn), (hr, hz, _) = _parts(x, h, W_x, W_h, b_x, b_h)
    r = (xr + hr).sigmoid()
    return _mixed(h, 1, (xz + hz).sigmoid(), xn, (r * h) @ W_h[2] + b_h[2])


@gru_step.misconception
def reset_without_the_bias(x, h, W_x, W_h, b_x, b_h):
    """The reset gate multiplies h W_hn alone, and b_hn is added as it is. In torch's form the bias stands inside: r ⊙ (h W_hn +
    b_hn). This is why a GRU needs two biases for n."""
    (xr, xz, xn), (hr, hz, hn) = _parts(x, h, W_x, W_h, b_x, b_h)
    return _mixed(h, (xr + hr).sigmoid(), (xz + hz).sigmoid(), xn + b_h[2], hn - b_h[2])


@gru_step.misconception
def input_reset_too(*given):
    """The reset gate multiplies the whole sum inside tanh, the part of the input included. It says how much of the old hidden
    state the proposal sees, so it acts on h W_hn + b_hn alone."""
    (xr, xz, xn), (hr, hz, hn) = _parts(*given)
    r = (xr + hr).sigmoid()
    return _mixed(given[1], r, (xz + hz).sigmoid(), r * xn, hn)


@gru_step.misconception
def never_reset(*given):
    """The reset gate has no effect: the proposal n sees all of the old hidden state. It sees r ⊙ (h W_hn + b_hn)."""
    (_, xz, xn), (_, hz, hn) = _parts(*given)
    return _mixed(given[1], 1, (xz + hz).sigmoid(), xn, hn)


@gru_step.misconception
def added_to_the_kept(*given):
    """The proposal is added in full, n + z ⊙ h, so the numbers can grow beyond 1 from step to step. What is kept and what is
    written share one whole: (1 − z) ⊙ n + z ⊙ h."""
    (xr, xz, xn), (hr, hz, hn) = _parts(*given)
    z = (xz + hz).sigmoid()
    return torch.tanh(xn + (xr + hr).sigmoid() * hn) + z * given[1]


@gru_step.misconception
def nothing_kept(*given):
    """The part that is kept, z ⊙ h, is missing. It is what gates are for: a number whose z is near 1 survives many steps."""
    (xr, xz, xn), (hr, hz, hn) = _parts(*given)
    return _mixed(given[1], (xr + hr).sigmoid(), (xz + hz).sigmoid(), xn, hn) - (xz + hz).sigmoid() * given[1]


@gru_step.misconception
def proposal_alone(*given):
    """This is the proposal n itself: the update gate has no effect, and no number of the old hidden state is kept. A number whose
    z is near 1 should pass almost unchanged: (1 − z) ⊙ n + z ⊙ h."""
    (xr, _, xn), (hr, _, hn) = _parts(*given)
    return _mixed(given[1], (xr + hr).sigmoid(), 0, xn, hn)


@gru_step.misconception
def tanh_around_all(*given):
    """The tanh is applied to the whole, the part that is kept included. Then even a number with z = 1 shrinks at each step. It is
    applied to the proposal alone: n = tanh(…), then (1 − z) ⊙ n + z ⊙ h."""
    (xr, xz, xn), (hr, hz, hn) = _parts(*given)
    z = (xz + hz).sigmoid()
    return torch.tanh((1 - z) * (xn + (xr + hr).sigmoid() * hn) + z * given[1])


@gru_step.misconception
def gates_from_the_input_alone(*given):
    """The gates are computed from the input alone. What should be kept depends on what is there: both gates see the old hidden
    state too, h W_hr + b_hr and h W_hz + b_hz."""
    (xr, xz, xn), (_, _, hn) = _parts(*given)
    return _mixed(given[1], xr.sigmoid(), xz.sigmoid(), xn, hn)


@gru_step.misconception
def gates_from_the_state_alone(*given):
    """The gates are computed from the old hidden state alone. The new token must have a say in what is kept: both gates see the
    input too, x W_xr + b_xr and x W_xz + b_xz."""
    (_, _, xn), (hr, hz, hn) = _parts(*given)
    return _mixed(given[1], hr.sigmoid(), hz.sigmoid(), xn, hn)


@gru_step.misconception
def recurrent_matrices_transposed(x, h, W_x, W_h, b_x, b_h):
    """The matrices in W_h are used transposed. They are square, so torch raises no error. Weights act from the right: h @ W_hr,
    and so on."""
    (xr, xz, xn), (hr, hz, hn) = _parts(x, h, W_x, W_h.mT, b_x, b_h)
    return _mixed(h, (xr + hr).sigmoid(), (xz + hz).sigmoid(), xn, hn)


@gru_step.alternative
def gate_by_gate(x, h, W_x, W_h, b_x, b_h):
    r = torch.sigmoid(x @ W_x[0] + b_x[0] + h @ W_h[0] + b_h[0])
    z = torch.sigmoid(x @ W_x[1] + b_x[1] + h @ W_h[1] + b_h[1])
    n = torch.tanh(x @ W_x[2] + b_x[2] + r * (h @ W_h[2] + b_h[2]))
    return (1 - z) * n + z * h


@gru_step.alternative
def with_einsum(x, h, W_x, W_h, b_x, b_h):
    xr, xz, xn = (torch.einsum("...x,gxh->...gh", x, W_x) + b_x).unbind(-2)
    hr, hz, hn = (torch.einsum("...x,gxh->...gh", h, W_h) + b_h).unbind(-2)
    return torch.lerp((xn + (xr + hr).sigmoid() * hn).tanh(), h, (xz + hz).sigmoid())


@gru_step.alternative
def two_wide_products(x, h, W_x, W_h, b_x, b_h):
    from_x = x @ torch.cat(tuple(W_x), dim=-1) + b_x.reshape(-1)
    from_h = h @ torch.cat(tuple(W_h), dim=-1) + b_h.reshape(-1)
    D_H = h.shape[-1]
    r, z = torch.sigmoid(from_x[..., : 2 * D_H] + from_h[..., : 2 * D_H]).chunk(2, dim=-1)
    n = torch.tanh(from_x[..., 2 * D_H :] + r * from_h[..., 2 * D_H :])
    return n + z * (h - n)


@gru_step.alternative
def joined_inputs_for_the_gates(x, h, W_x, W_h, b_x, b_h):
    both, weights = torch.cat([x, h], dim=-1), torch.cat([W_x, W_h], dim=1)  # [3, D_X + D_H, D_H]
    r, z = (torch.sigmoid(both @ weights[gate] + (b_x + b_h)[gate]) for gate in (0, 1))
    n = torch.tanh(x @ W_x[2] + b_x[2] + r * torch.nn.functional.linear(h, W_h[2].T, b_h[2]))
    return torch.where(z > 0.5, h + (1 - z) * (n - h), n + z * (h - n))
