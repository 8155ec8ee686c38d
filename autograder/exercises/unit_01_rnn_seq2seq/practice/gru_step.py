"""Right answers to `gru_step`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("d2l: a line for each gate")
def d2l(x, h, W_x, W_h, b_x, b_h):
    W_xr, W_xz, W_xn = W_x
    W_hr, W_hz, W_hn = W_h
    b_xr, b_xz, b_xn = b_x
    b_hr, b_hz, b_hn = b_h
    R = torch.sigmoid(torch.matmul(x, W_xr) + b_xr + torch.matmul(h, W_hr) + b_hr)
    Z = torch.sigmoid(torch.matmul(x, W_xz) + b_xz + torch.matmul(h, W_hz) + b_hz)
    H_tilde = torch.tanh(torch.matmul(x, W_xn) + b_xn + R * (torch.matmul(h, W_hn) + b_hn))
    return Z * h + (1 - Z) * H_tilde


@practice("torch's old GRUCell in Python: F.linear and chunk")
def torch_cell(x, h, W_x, W_h, b_x, b_h):
    w_ih = W_x.transpose(1, 2).reshape(-1, x.size(-1))
    w_hh = W_h.transpose(1, 2).reshape(-1, h.size(-1))
    gi = F.linear(x, w_ih, b_x.reshape(-1))
    gh = F.linear(h, w_hh, b_h.reshape(-1))
    i_r, i_i, i_n = gi.chunk(3, -1)
    h_r, h_i, h_n = gh.chunk(3, -1)
    resetgate = torch.sigmoid(i_r + h_r)
    inputgate = torch.sigmoid(i_i + h_i)
    newgate = torch.tanh(i_n + resetgate * h_n)
    return (1 - inputgate) * newgate + inputgate * h


@practice("einops: all gates in one einsum, lerp", needs="einops")
def lucidrains(x, h, W_x, W_h, b_x, b_h):
    from einops import einsum

    xr, xz, xn = (einsum(x, W_x, "... i, g i d -> ... g d") + b_x).unbind(dim=-2)
    hr, hz, hn = (einsum(h, W_h, "... i, g i d -> ... g d") + b_h).unbind(dim=-2)
    reset, update = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    hidden = (xn + reset * hn).tanh()
    return torch.lerp(hidden, h, update)


@practice("JAX's flax: small dense layers in a dictionary")
def flax(x, h, W_x, W_h, b_x, b_h):
    dense_i = {name: (lambda v, i=i: v @ W_x[i] + b_x[i]) for i, name in enumerate(("ir", "iz", "in"))}
    dense_h = {name: (lambda v, i=i: v @ W_h[i] + b_h[i]) for i, name in enumerate(("hr", "hz", "hn"))}
    r = torch.sigmoid(dense_i["ir"](x) + dense_h["hr"](h))
    z = torch.sigmoid(dense_i["iz"](x) + dense_h["hz"](h))
    n = torch.tanh(dense_i["in"](x) + r * dense_h["hn"](h))
    return (1.0 - z) * n + z * h


@practice("the stack as a batch axis, in place")
def stacked(x, h, W_x, W_h, b_x, b_h):
    *batch, d_x = x.shape
    d_h = h.shape[-1]
    gx = torch.baddbmm(b_x[:, None], x.reshape(1, -1, d_x).expand(3, -1, -1), W_x)
    gh = torch.baddbmm(b_h[:, None], h.reshape(1, -1, d_h).expand(3, -1, -1), W_h)
    r, z = (gx[:2] + gh[:2]).sigmoid_()
    n = r.mul(gh[2]).add_(gx[2]).tanh_()
    old = h.reshape(-1, d_h)
    return ((1 - z) * n + z * old).view(*batch, d_h)
