"""Right answers to `dequantize_blocks`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("bitsandbytes")
def bitsandbytes(packed, absmax, code, D_out, D_in):
    n = D_out * D_in
    A = packed.reshape(-1)
    out = torch.empty(2 * A.numel(), dtype=torch.int32, device=A.device)
    out[::2] = A >> 4
    out[1::2] = A & 0xF
    out = code[out]
    blocksize = out.numel() // absmax.numel()
    out = out.view(-1, blocksize) * absmax.view(-1, 1)
    return out.reshape(-1)[:n].reshape(D_out, D_in)


@practice("torchao's NF4")
def torchao(packed, absmax, code, D_out, D_in):
    first_elements = (packed >> 4).to(torch.long)
    second_elements = (packed & 0b1111).to(torch.long)
    table = code.unsqueeze(1)
    first = F.embedding(first_elements, table).squeeze(-1)
    second = F.embedding(second_elements, table).squeeze(-1)
    flat = torch.stack([first, second], dim=-1).reshape(absmax.numel(), -1)
    return (flat * absmax[:, None]).flatten()[: D_out * D_in].reshape(D_out, D_in)


@practice("repeat_interleave")
def interleave(packed, absmax, code, D_out, D_in):
    codes = torch.stack([packed // 16, packed % 16], dim=1).flatten().long()
    block = 2 * len(packed) // len(absmax)
    w = code.index_select(0, codes) * absmax.repeat_interleave(block)
    return w[: D_out * D_in].view(D_out, D_in)


@practice("plain loops")
def loops(packed, absmax, code, D_out, D_in):
    block = 2 * packed.shape[0] // absmax.shape[0]
    codes = []
    for byte in packed.tolist():
        codes.extend(divmod(byte, 16))
    W = torch.empty(D_out, D_in, dtype=code.dtype, device=code.device)
    for i in range(D_out):
        for j in range(D_in):
            n = i * D_in + j
            W[i, j] = code[codes[n]] * absmax[n // block]
    return W


@practice("einops", needs="einops")
def lucidrains(packed, absmax, code, D_out, D_in):
    from einops import rearrange

    bytes_ = packed.long()
    codes = rearrange([bytes_ >> 4, bytes_ & 15], "two p -> (p two)")
    w = rearrange(code[codes], "(s n) -> s n", s=len(absmax))
    w = rearrange(w * rearrange(absmax, "s -> s 1"), "s n -> (s n)")
    return rearrange(w[: D_out * D_in], "(o i) -> o i", o=D_out)


@practice("places computed from n")
def places(packed, absmax, code, D_out, D_in):
    n = torch.arange(D_out * D_in, device=packed.device).view(D_out, D_in)
    byte = packed.to(torch.int64)[n // 2]
    c = torch.where(n % 2 == 0, byte // 16, byte % 16)
    return torch.take(code, c) * absmax[n * len(absmax) // (2 * len(packed))]
