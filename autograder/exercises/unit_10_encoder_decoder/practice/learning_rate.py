"""Right answers to `learning_rate`, as others write them."""

import math

import numpy as np
import torch
from torch import nn

from autograder.bank.practice import practice


@practice("the Annotated Transformer")
def annotated(step, D, warmup):
    def rate(step, model_size, factor, warmup):
        if step == 0:
            step = 1
        return factor * (model_size ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5)))

    return torch.tensor([rate(one.item(), D, 1.0, warmup) for one in step], device=step.device)


@practice("tensor2tensor")
def tensor_to_tensor(step, D, warmup):
    global_step = step.to(torch.float32)
    linear_warmup = torch.clamp(global_step / warmup, max=1.0)
    rsqrt_decay = torch.rsqrt(torch.clamp(global_step, min=warmup))
    rsqrt_hidden_size = D**-0.5
    return linear_warmup * rsqrt_decay * rsqrt_hidden_size


@practice("fairseq")
def fairseq(step, D, warmup):
    warmup_end_lr = (D * warmup) ** -0.5
    warmup_init_lr = 0.0
    lr_step = (warmup_end_lr - warmup_init_lr) / warmup
    decay_factor = warmup_end_lr * warmup**0.5

    def step_update(num_updates):
        if num_updates < warmup:
            return warmup_init_lr + num_updates * lr_step
        return decay_factor * num_updates**-0.5

    return step.new_tensor([step_update(n) for n in step.tolist()], dtype=torch.float32)


@practice("a scheduler of torch, asked")
def with_a_scheduler(step, D, warmup):
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=D**-0.5)
    lr_lambda = lambda t: min((t + 1) ** -0.5, (t + 1) * warmup**-1.5)  # noqa: E731
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, lr_lambda)
    seen = []
    for _ in range(int(step.max())):
        seen.append(scheduler.get_last_lr()[0])
        optimiser.step()
        scheduler.step()
    return torch.tensor(seen, device=step.device)[step - 1]


@practice("transformers")
def hugging_face(step, D, warmup):
    def _get_inverse_sqrt_schedule_lr_lambda(current_step, *, num_warmup_steps, timescale):
        if current_step < num_warmup_steps:
            return float(current_step) / float(max(1, num_warmup_steps))
        shift = timescale - num_warmup_steps
        return 1.0 / math.sqrt((current_step + shift) / timescale)

    lr = 1.0 / math.sqrt(D * warmup)
    factors = [
        _get_inverse_sqrt_schedule_lr_lambda(current_step, num_warmup_steps=warmup, timescale=warmup)
        for current_step in step.tolist()
    ]
    return lr * torch.tensor(factors, device=step.device)


@practice("numpy")
def by_numpy(step, D, warmup):
    t = step.cpu().numpy().astype(np.float64)
    rate = np.minimum(t**-0.5, t * warmup**-1.5) / np.sqrt(D)
    return torch.from_numpy(rate).to(step.device, torch.float32)
