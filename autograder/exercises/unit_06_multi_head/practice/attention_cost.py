"""Right answers to `attention_cost`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("nanoGPT's transformer_sizing notebook")
def nanogpt(N, D, H, bytes_per_number):
    block_size, n_embd, n_head = N.long(), D, H
    head_size = n_embd // n_head
    out = {}
    out["attention/kqv"] = 2 * block_size * (n_embd * 3 * n_embd)
    out["attention/scores"] = 2 * block_size * block_size * n_embd
    out["attention/reduce"] = 2 * n_head * (block_size * block_size * head_size)
    out["attention/proj"] = 2 * block_size * (n_embd * n_embd)
    flops = sum(out.values())
    return flops, n_head * block_size**2 * bytes_per_number


@practice("Megatron's closed formula")
def megatron(N, D, H, bytes_per_number):
    s, h, a = N.to(torch.int64), D, H
    return 8 * s * h**2 + 4 * s**2 * h, a * s**2 * bytes_per_number


@practice("the Chinchilla paper's appendix")
def chinchilla(N, D, H, bytes_per_number):
    seq_len, d_model, num_heads = N.to(torch.long), D, H
    key_size = d_model // num_heads
    qkv = 2 * 3 * seq_len * d_model * (key_size * num_heads)
    logits = 2 * seq_len * seq_len * (key_size * num_heads)
    reduction = 2 * seq_len * seq_len * (key_size * num_heads)
    linear = 2 * seq_len * (key_size * num_heads) * d_model
    memory = bytes_per_number * num_heads * torch.square(seq_len)
    return qkv + logits + reduction + linear, memory


@practice("plain Python numbers")
def loops(N, D, H, bytes_per_number):
    def product(n, k, m):
        return 2 * n * k * m

    flops, memory = [], []
    for n in N.tolist():
        total = 3 * product(n, D, D)
        for _ in range(H):
            total += product(n, D // H, n) + product(n, n, D // H)
        total += product(n, D, D)
        flops.append(total)
        memory.append(H * n * n * bytes_per_number)
    return (
        torch.tensor(flops, dtype=torch.int64, device=N.device),
        torch.tensor(memory, dtype=torch.int64, device=N.device),
    )


@practice("counting shapes, as torch's flop counter does")
def shapes(N, D, H, bytes_per_number):
    def mm_flop(a_shape, b_shape):
        m, k = a_shape
        k2, n = b_shape
        return m * n * 2 * k

    N = N.type(torch.int64)
    d = D // H
    flops = mm_flop((N, D), (D, 3 * D))
    flops += H * mm_flop((N, d), (d, N))
    flops += H * mm_flop((N, N), (N, d))
    flops += mm_flop((N, D), (D, D))
    return flops, torch.mul(N, N) * H * bytes_per_number
