"""Right answers to `SwiGLU`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("Llama")
class Llama(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.W_1 = nn.Linear(D, D_F, bias=False)
        self.W_2 = nn.Linear(D, D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D, bias=False)

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X)) * self.W_2(X))


@practice("Hugging Face")
class HuggingFace(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.hidden_size = D
        self.intermediate_size = D_F
        self.W_1 = nn.Linear(self.hidden_size, self.intermediate_size, bias=False)
        self.W_2 = nn.Linear(self.hidden_size, self.intermediate_size, bias=False)
        self.W_3 = nn.Linear(self.intermediate_size, self.hidden_size, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, X):
        down_proj = self.W_3(self.act_fn(self.W_1(X)) * self.W_2(X))
        return down_proj


@practice("xFormers, one packed product")
class XFormers(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.W_1 = nn.Linear(D, D_F, bias=False)
        self.W_2 = nn.Linear(D, D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D, bias=False)

    def forward(self, X):
        w1w2 = torch.cat([self.W_1.weight, self.W_2.weight], dim=0)
        x1, x2 = F.linear(X, w1w2).chunk(2, dim=-1)
        return self.W_3(F.silu(x1) * x2)


@practice("F.glu")
class Glu(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.W_1, self.W_2 = (nn.Linear(D, D_F, bias=False) for _ in range(2))
        self.W_3 = nn.Linear(D_F, D, bias=False)

    def forward(self, X):
        gate = self.W_1(X)
        return self.W_3(F.glu(torch.cat([gate * self.W_2(X), gate], dim=-1), dim=-1))


@practice("JAX-minded")
class Einsum(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.W_1 = nn.Linear(D, D_F, bias=False)
        self.W_2 = nn.Linear(D, D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D, bias=False)
        for w in (self.W_1, self.W_2, self.W_3):
            nn.init.normal_(w.weight, std=w.in_features**-0.5)

    def forward(self, X):
        gate = torch.einsum("...d,fd->...f", X, self.W_1.weight)
        up = torch.einsum("...d,fd->...f", X, self.W_2.weight)
        hidden = gate * torch.sigmoid(gate) * up
        return torch.einsum("...f,df->...d", hidden, self.W_3.weight)


@practice("numpy-minded")
class Matrices(nn.Module):
    def __init__(self, D, D_F):
        super().__init__()
        self.W_1 = nn.Linear(D, D_F, bias=False)
        self.W_2 = nn.Linear(D, D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D, bias=False)

    def forward(self, X):
        a = X @ self.W_1.weight.T
        b = X @ self.W_2.weight.T
        return (torch.mul(a, a.sigmoid()) * b) @ self.W_3.weight.T
