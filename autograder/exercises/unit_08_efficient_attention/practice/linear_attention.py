"""Right answers to `linear_attention`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("the authors' fast-transformers, without its eps")
def katharopoulos(Q, K, V):
    def elu_feature_map(x):
        return F.elu(x) + 1

    Q, K = elu_feature_map(Q), elu_feature_map(K)
    KV = torch.einsum("...sd,...sm->...md", K, V)
    Z = 1 / torch.einsum("...ld,...d->...l", Q, K.sum(dim=-2))
    return torch.einsum("...ld,...md,...l->...lm", Q, KV, Z).contiguous()


@practice("the hint, in matrices")
def plain(Q, K, V):
    q, k = F.elu(Q) + 1, F.elu(K) + 1
    top = q @ (k.mT @ V)
    bottom = q @ k.sum(dim=-2, keepdim=True).mT
    return top / bottom


@practice("lucidrains: the Performer's linear_attention")
def lucidrains(Q, K, V):
    q, k, v = nn.functional.elu(Q) + 1, nn.functional.elu(K) + 1, V
    k_cumsum = k.sum(dim=-2)
    D_inv = 1.0 / torch.einsum("...nd,...d->...n", q, k_cumsum.type_as(q))
    context = torch.einsum("...nd,...ne->...de", k, v)
    out = torch.einsum("...de,...nd,...n->...ne", context, q, D_inv)
    return out


@practice("one product with a column of ones beside the values")
def ones(Q, K, V):
    def phi(x):
        return torch.where(x > 0, x + 1, x.clamp(max=0).exp())

    values = torch.cat([V, torch.ones_like(V[..., :1])], dim=-1)
    both = phi(Q) @ (phi(K).transpose(-2, -1) @ values)
    return both[..., :-1] / both[..., -1:]


@practice("Transformers are RNNs: a state that reads the keys in blocks")
def rnn(Q, K, V):
    S, z = 0.0, 0.0
    for k, v in zip(K.split(64, dim=-2), V.split(64, dim=-2)):
        k = F.elu(k).add(1)
        S = S + torch.matmul(k.transpose(-1, -2), v)
        z = z + k.sum(dim=-2)
    q = F.elu(Q).add(1)
    return torch.matmul(q, S) / torch.matmul(q, z.unsqueeze(-1))


def _phi(x):
    return F.relu(x) + torch.exp(x.clamp(max=0))


@practice("numpy-minded torch, with exp and relu")
def numpy(Q, K, V):
    phi_q, phi_k = _phi(Q), _phi(K)
    state = torch.matmul(torch.swapaxes(phi_k, -1, -2), V)
    normalizer = (phi_q * phi_k.sum(-2, keepdim=True)).sum(-1, keepdim=True)
    return torch.matmul(phi_q, state) / normalizer
