"""Right answers to `switch_adapters`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("loralib")
def loralib(W, A, B, alpha, A_new, B_new, alpha_new):
    W = W.clone()
    with torch.no_grad():
        if A is not None:
            W -= (B @ A) * (alpha / A.shape[0])
        if A_new is not None:
            W += (B_new @ A_new) * (alpha_new / A_new.shape[0])
    return W


@practice("Hugging Face's PEFT")
def peft(W, A, B, alpha, A_new, B_new, alpha_new):
    def get_delta_weight(lora_A, lora_B, lora_alpha):
        if lora_A is None:
            return torch.zeros_like(W)
        scaling = lora_alpha / lora_A.size(0)
        return (lora_B @ lora_A) * scaling

    return W - get_delta_weight(A, B, alpha) + get_delta_weight(A_new, B_new, alpha_new)


@practice("addmm")
@torch.no_grad()
def addmm(W, A, B, alpha, A_new, B_new, alpha_new):
    if B is not None:
        W = torch.addmm(W, B, A, alpha=-alpha / B.shape[1])
    if B_new is not None:
        W = torch.addmm(W, B_new, A_new, alpha=alpha_new / B_new.shape[1])
    return W


@practice("one product of both adapters side by side")
def concatenated(W, A, B, alpha, A_new, B_new, alpha_new):
    downs, ups = [], []
    for sign, down, up, a in ((-1, A, B, alpha), (1, A_new, B_new, alpha_new)):
        if down is not None and up is not None:
            downs.append(down)
            ups.append(sign * a / len(down) * up)
    if not downs:
        return W
    return W + torch.cat(ups, dim=1) @ torch.cat(downs, dim=0)


@practice("outer products, one rank at a time")
def outer(W, A, B, alpha, A_new, B_new, alpha_new):
    W_new = W.detach().clone()
    if A is not None:
        for i in range(A.shape[0]):
            W_new -= alpha / A.shape[0] * torch.outer(B[:, i], A[i])
    if A_new is not None:
        for i in range(A_new.shape[0]):
            W_new += alpha_new / A_new.shape[0] * torch.outer(B_new[:, i], A_new[i])
    return W_new


@practice("einsum")
def einsum(W, A, B, alpha, A_new, B_new, alpha_new):
    def update(a, b, scale):
        return scale / a.shape[0] * torch.einsum("ri,or->oi", a, b)

    old = 0 if A is None else update(A, B, alpha)
    new = 0 if A_new is None else update(A_new, B_new, alpha_new)
    return W - old + new
