"""Right answers to `LoRALinear`, as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("loralib")
class LoraLib(nn.Module):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__()
        self.linear = nn.Linear(D_in, D_out)
        self.r = r
        self.lora_alpha = alpha
        self.A = nn.Parameter(self.linear.weight.new_zeros((r, D_in)))
        self.B = nn.Parameter(self.linear.weight.new_zeros((D_out, r)))
        self.scaling = self.lora_alpha / self.r
        self.linear.weight.requires_grad = False
        self.linear.bias.requires_grad = False
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        nn.init.zeros_(self.B)

    def forward(self, X):
        result = self.linear(X)
        result += (X @ self.A.transpose(0, 1) @ self.B.transpose(0, 1)) * self.scaling
        return result


@practice("Hugging Face's PEFT")
class Peft(nn.Module):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__()
        if r <= 0:
            raise ValueError(f"`r` should be a positive integer value but the value passed is {r}")
        self.linear = nn.Linear(D_in, D_out)
        self.linear.requires_grad_(False)
        lora_A = nn.Linear(D_in, r, bias=False)
        lora_B = nn.Linear(r, D_out, bias=False)
        nn.init.kaiming_uniform_(lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(lora_B.weight)
        self.A, self.B = lora_A.weight, lora_B.weight
        self.lora_dropout = nn.Identity()
        self.scaling = alpha / r

    def forward(self, X):
        result = self.linear(X)
        torch_result_dtype = result.dtype
        x = X.to(self.A.dtype)
        result = result + F.linear(F.linear(self.lora_dropout(x), self.A), self.B) * self.scaling
        return result.to(torch_result_dtype)


@practice("LitGPT")
class LitGPT(nn.Module):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__()
        self.linear = nn.Linear(D_in, D_out)
        for param in self.linear.parameters():
            param.requires_grad = False
        self.A = nn.Parameter(torch.empty(r, D_in))
        self.B = nn.Parameter(torch.zeros(D_out, r))
        nn.init.normal_(self.A, mean=0.0, std=1 / math.sqrt(D_in))
        self.scaling = alpha / r

    def forward(self, X):
        pretrained = self.linear(X)
        lora = (X @ self.A.T @ self.B.T) * self.scaling
        return pretrained + lora


@practice("einops", needs="einops")
class Lucidrains(nn.Module):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__()
        self.linear = nn.Linear(D_in, D_out).requires_grad_(False)
        self.A = nn.Parameter(torch.randn(r, D_in) * D_in**-0.5)
        self.B = nn.Parameter(torch.zeros(D_out, r))
        self.scale = alpha / r

    def forward(self, X):
        from einops import einsum

        down = einsum(X, self.A, "... i, r i -> ... r")
        up = einsum(down * self.scale, self.B, "... r, o r -> ... o")
        return self.linear(X) + up


@practice("torchtune, with the frozen weight by hand")
class Torchtune(nn.Module):
    def __init__(self, D_in, D_out, r, alpha):
        super().__init__()
        self.in_dim, self.out_dim, self.rank, self.alpha = D_in, D_out, r, alpha
        self.linear = nn.Linear(in_features=D_in, out_features=D_out, bias=True)
        self.linear.weight.requires_grad_(False)
        self.linear.bias.requires_grad_(False)
        self.A = nn.Parameter(nn.Linear(D_in, r, bias=False).weight.detach().clone())
        self.B = nn.Parameter(torch.zeros(D_out, r))

    def forward(self, X):
        out = F.linear(X, self.linear.weight, self.linear.bias)
        lora_out = F.linear(X, self.A)
        lora_out = (self.alpha / self.rank) * F.linear(lora_out, self.B)
        return out + lora_out
