"""Right answers to `rnn_step`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("d2l")
def d2l(x, h, W_x, W_h, b):
    return torch.tanh(torch.matmul(x, W_x) + torch.matmul(h, W_h) + b)


@practice("Karpathy's min-char-rnn")
def char_rnn(x, h, W_x, W_h, b):
    # one matrix for the joined vector: [x; h] @ [W_x; W_h]
    xh = torch.cat([x, h], dim=-1)
    Wxh = torch.cat([W_x, W_h], dim=0)
    return torch.tanh(xh @ Wxh + b)


@practice("torch.nn.functional: the weights as nn.RNNCell keeps them")
def functional(x, h, W_x, W_h, b):
    return F.linear(x, W_x.t()).add(F.linear(h, W_h.t(), b)).tanh()


@practice("einops", needs="einops")
def lucidrains(x, h, W_x, W_h, b):
    from einops import einsum

    x = einsum(x, W_x, "... i, i d -> ... d")
    h = einsum(h, W_h, "... i, i d -> ... d")
    return (x + h + b).tanh()


@practice("torch.addmm on flattened batch axes, in place")
def addmm(x, h, W_x, W_h, b):
    *batch, d_in = x.shape
    d_hid = h.size(-1)
    pre = torch.addmm(b, x.reshape(-1, d_in), W_x)
    pre.addmm_(h.reshape(-1, d_hid), W_h)
    return pre.tanh_().view(*batch, d_hid)


@practice("plain loops over the units")
def loops(x, h, W_x, W_h, b):
    units = []
    for j in range(len(b)):
        total = (x * W_x[:, j]).sum(-1) + (h * W_h[:, j]).sum(-1) + b[j]
        units.append(torch.tanh(total))
    return torch.stack(units, dim=-1)
