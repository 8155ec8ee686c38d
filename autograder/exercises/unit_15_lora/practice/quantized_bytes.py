"""Right answers to `quantized_bytes`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("ceiling by negation")
def negation(n, block, second_block, double):
    codes = -(-n // 2)
    scales = -(-n // block)
    if not double:
        return codes + 4 * scales
    return codes + scales + 4 * -(-scales // second_block) + 4


@practice("Triton's cdiv")
def triton(n, block, second_block, double):
    def cdiv(a, b):
        return (a + b - 1) // b

    num_blocks = cdiv(n, block)
    if double:
        return cdiv(n, 2) + num_blocks + 4 * cdiv(num_blocks, second_block) + 4
    return cdiv(n, 2) + 4 * num_blocks


@practice("plain Python integers")
def plain(n, block, second_block, double):
    out = []
    for numel in n.tolist():
        blocks, rest = divmod(numel, block)
        blocks += rest > 0
        total = numel // 2 + numel % 2
        if double:
            total += blocks + 4 + 4 * (blocks // second_block + bool(blocks % second_block))
        else:
            total += 4 * blocks
        out.append(total)
    return torch.tensor(out, dtype=torch.int64, device=n.device)


@practice("bitsandbytes, with remainders")
def remainders(n, block, second_block, double):
    blocks = n // block
    blocks += (n % block > 0).long()
    absmax_bytes = 4 * blocks
    if double:
        blocks2 = blocks // second_block
        blocks2 += (blocks % second_block > 0).long()
        absmax_bytes = blocks + 4 * blocks2 + 4
    return (n + 1) // 2 + absmax_bytes


@practice("torch.div")
def div(n, block, second_block, double):
    def groups(x, k):
        return torch.div(x + (k - 1), k, rounding_mode="floor")

    scales = groups(n, block)
    stored = groups(scales, second_block).add(1).mul(4).add(scales) if double else scales.mul(4)
    return groups(n, 2) + stored
