"""Exercise 1: one step of a recurrent network."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_01_rnn_seq2seq._shared import RECURRENT

HALF = {"x": 0.5, "h": 0.5, "W_x": 0.5, "W_h": 0.5, "b": 0.5}  # so that tanh bends and does not saturate


@exercise(
    points=2,
    section="A recurrent step",
    source="Elman 1990",
    outputs="h_t",
    formula="h_t = tanh(x W_x + h W_h + b), with x [*B, D_X], h [*B, D_H], W_x [D_X, D_H], W_h [D_H, D_H], b [D_H]",
    cases=[
        Case("one word", expand={"*B": ""}, scale=HALF),
        Case("a batch", expand={"*B": "B"}, scale=HALF),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes={"B_1": 3, "B_2": 2}, scale=HALF),
        Case("a batch of one", expand={"*B": "B"}, sizes={"B": 1}, scale=HALF),
    ],
    forbidden=RECURRENT,
)
def rnn_step(
    x: Float[Tensor, "*B D_X"],
    h: Float[Tensor, "*B D_H"],
    W_x: Float[Tensor, "D_X D_H"],
    W_h: Float[Tensor, "D_H D_H"],
    b: Float[Tensor, "D_H"],
) -> Float[Tensor, "*B D_H"]:
    return nn.functional.linear(torch.cat([x, h], dim=-1), torch.cat([W_x, W_h]).T, b).tanh()


@rnn_step.misconception
def without_tanh(x, h, W_x, W_h, b):
    """The sum is right, but it does not go through tanh. Without tanh, many steps together are one linear map, and the
    numbers of the hidden state can grow without bound."""
    return x @ W_x + h @ W_h + b


@rnn_step.misconception
def sigmoid_for_tanh(x, h, W_x, W_h, b):
    """The sum went through a sigmoid, so every number lies between 0 and 1. The numbers of this hidden state lie
    between −1 and 1: use tanh."""
    return torch.sigmoid(x @ W_x + h @ W_h + b)


@rnn_step.misconception
def relu_for_tanh(x, h, W_x, W_h, b):
    """The negative numbers became 0: the sum went through a ReLU. The numbers of this hidden state lie between −1 and
    1: use tanh."""
    return torch.relu(x @ W_x + h @ W_h + b)


@rnn_step.misconception
def bias_forgotten(x, h, W_x, W_h, b):
    """The bias b is left out. It is added to the two products, before tanh."""
    return torch.tanh(x @ W_x + h @ W_h)


@rnn_step.misconception
def bias_twice(x, h, W_x, W_h, b):
    """The bias is added twice. torch's nn.RNN does have two biases; here there is one, and it is added once."""
    return torch.tanh(x @ W_x + b + h @ W_h + b)


@rnn_step.misconception
def bias_after_tanh(x, h, W_x, W_h, b):
    """The bias is added after tanh. It belongs inside, tanh(x W_x + h W_h + b), so that the numbers of the hidden state
    stay between −1 and 1."""
    return torch.tanh(x @ W_x + h @ W_h) + b


@rnn_step.misconception
def no_memory(x, h, W_x, W_h, b):
    """The old hidden state h has no effect, so nothing of the earlier tokens is kept. The new hidden state depends on
    both x and h: x W_x + h W_h + b."""
    return torch.tanh(x @ W_x + b + 0 * h)


@rnn_step.misconception
def no_input(x, h, W_x, W_h, b):
    """The input x has no effect: only the old hidden state is used. The new hidden state depends on both x and h: x W_x
    + h W_h + b."""
    return torch.tanh(h @ W_h + b + 0 * (x @ W_x))


@rnn_step.misconception
def tanh_on_each_term(x, h, W_x, W_h, b):
    """tanh is applied to each product separately, and then the results are added. Add first, then apply tanh once:
    tanh(x W_x + h W_h + b)."""
    return torch.tanh(x @ W_x) + torch.tanh(h @ W_h + b)


@rnn_step.misconception
def recurrent_matrix_transposed(x, h, W_x, W_h, b):
    """W_h is used transposed. It is square, so torch raises no error. The weights act from the right: h @ W_h. What
    nn.RNN stores is the transpose of the W_h in the formula."""
    return torch.tanh(x @ W_x + h @ W_h.T + b)


@rnn_step.misconception
def elementwise_recurrence(x, h, W_x, W_h, b):
    """The old hidden state is added as it is, without W_h. Every number of the new hidden state may depend on all
    numbers of the old one, through h @ W_h."""
    return torch.tanh(x @ W_x + h + b)


@rnn_step.misconception
def added_to_the_old_state(x, h, W_x, W_h, b):
    """The result is added to the old hidden state. The new hidden state replaces the old one: h_t = tanh(x W_x + h W_h
    + b)."""
    return h + torch.tanh(x @ W_x + h @ W_h + b)


@rnn_step.alternative
def term_by_term(x, h, W_x, W_h, b):
    return torch.tanh(x @ W_x + h @ W_h + b)


@rnn_step.alternative
def with_einsum(x, h, W_x, W_h, b):
    return torch.einsum("...x,xh->...h", x, W_x).add(torch.einsum("...g,gh->...h", h, W_h)).add(b).tanh()


@rnn_step.alternative
def number_by_number(x, h, W_x, W_h, b):
    columns = [(x * W_x[:, j]).sum(-1) + (h * W_h[:, j]).sum(-1) + b[j] for j in range(len(b))]
    return torch.tanh(torch.stack(columns, dim=-1))


@rnn_step.alternative
def tanh_from_sigmoid(x, h, W_x, W_h, b):
    return 2 * torch.sigmoid(2 * (x @ W_x + h @ W_h + b)) - 1
