"""Answers to learning_rate (assignment 10)."""

import math

import numpy as np
import torch
from answers import right, wrong

# ---------------------------------------------------------------- right


@right("Equation 3 as it stands")
def equation_3(step, D, warmup):
    return torch.minimum(step ** (-0.5), step * warmup ** (-1.5)) * D ** (-0.5)


@right("A list comprehension of Python's min")
def python_min(step, D, warmup):
    return torch.tensor([D**-0.5 * min(s**-0.5, s * warmup**-1.5) for s in step.tolist()], device=step.device)


@right("torch.where, in double precision")
def by_where(step, D, warmup):
    t = step.double()
    return torch.where(t < warmup, t / warmup**1.5, 1 / t.sqrt()) / math.sqrt(D)


@right("The smaller of two stacked rows")
def stacked(step, D, warmup):
    t = step.float()
    rows = torch.stack([t.pow(-0.5), t * warmup**-1.5])
    return rows.amin(0) * D**-0.5


@right("Logarithms: the smaller exponent wins")
def by_logarithms(step, D, warmup):
    log = step.double().log()
    exponent = torch.minimum(-0.5 * log, log - 1.5 * math.log(warmup)) - 0.5 * math.log(D)
    return exponent.exp().float()


@right("The peak times a share, through numpy")
def by_numpy(step, D, warmup):
    t = step.cpu().numpy() / warmup
    return torch.tensor(np.minimum(t, 1 / np.sqrt(t)) / np.sqrt(warmup * D), device=step.device)


@right("A result filled in place by two masks")
def by_masks(step, D, warmup):
    rate = torch.empty(step.shape, device=step.device)
    early = step < warmup
    rate[early] = step[early] * warmup**-1.5
    rate[~early] = step[~early] ** -0.5
    return rate / D**0.5


@right("rsqrt of the later of step and warmup, times the share of the warm-up")
def clamped(step, D, warmup):
    return D**-0.5 * step.clamp(min=warmup).rsqrt() * (step / warmup).clamp(max=1.0)


@right("The falling curve, cut off by the line with clamp")
def cut_off(step, D, warmup):
    return D**-0.5 * (step**-0.5).clamp(max=step * warmup**-1.5)


# ---------------------------------------------------------------- wrong: the shape of the curve


@wrong("max in place of min", kind="concept")
def max_for_min(step, D, warmup):
    return D**-0.5 * torch.maximum(step**-0.5, step * warmup**-1.5)


@wrong("the sum of both", kind="concept")
def sum_of_both(step, D, warmup):
    return D**-0.5 * (step**-0.5 + step * warmup**-1.5)


@wrong("the product of both", kind="concept")
def product_of_both(step, D, warmup):
    return D**-0.5 * step**-0.5 * step * warmup**-1.5


@wrong("only the decay", kind="concept")
def only_decay(step, D, warmup):
    return (D * step.float()) ** -0.5


@wrong("only the warm-up", kind="concept")
def only_warmup(step, D, warmup):
    return D**-0.5 * step * warmup**-1.5


@wrong("constant at its peak after the warm-up", kind="concept")
def constant_afterwards(step, D, warmup):
    return torch.minimum(D**-0.5 * step * warmup**-1.5, torch.tensor((D * warmup) ** -0.5))


@wrong("constant before the end of the warm-up, too: the peak and then the decay", kind="concept")
def constant_before(step, D, warmup):
    return D**-0.5 * step.clamp(min=warmup) ** -0.5


@wrong("0 during the warm-up", kind="concept")
def zero_before(step, D, warmup):
    return torch.where(step < warmup, 0.0, (D * step.float()) ** -0.5)


@wrong("0 after the warm-up", kind="concept")
def zero_after(step, D, warmup):
    return torch.where(step <= warmup, D**-0.5 * step * warmup**-1.5, 0.0)


@wrong("the two phases are exchanged: decay first, then the line", kind="concept")
def phases_exchanged(step, D, warmup):
    return D**-0.5 * torch.where(step > warmup, step * warmup**-1.5, step**-0.5)


@wrong("a linear decay to 0 at twice the warm-up", kind="concept")
def triangle(step, D, warmup):
    peak = (D * warmup) ** -0.5
    return (peak * torch.minimum(step / warmup, 2 - step / warmup)).clamp(min=0)


@wrong("a linear decay to 0 at the last step given", kind="concept")
def linear_to_the_end(step, D, warmup):
    peak, last = (D * warmup) ** -0.5, step.max()
    decay = (last - step) / (last - warmup).clamp(min=1)
    return peak * torch.where(step < warmup, step / warmup, decay)


@wrong("a cosine decay after the warm-up", kind="concept")
def cosine(step, D, warmup):
    peak, last = (D * warmup) ** -0.5, max(int(step.max()), warmup + 1)
    share = ((step - warmup) / (last - warmup)).clamp(min=0)
    return peak * torch.where(step < warmup, step / warmup, 0.5 * (1 + torch.cos(math.pi * share)))


@wrong("an exponential decay after the warm-up", kind="concept")
def exponential(step, D, warmup):
    peak = (D * warmup) ** -0.5
    return peak * torch.where(step < warmup, step / warmup, torch.exp(1 - step / warmup))


@wrong("decays like 1 / step", kind="concept")
def one_over_step(step, D, warmup):
    peak = (D * warmup) ** -0.5
    return peak * torch.where(step < warmup, step / warmup, warmup / step)


@wrong("1 / step in the formula itself, so that the two do not meet at warmup", kind="concept")
def step_to_minus_one(step, D, warmup):
    return D**-0.5 * torch.minimum(1 / step, step * warmup**-1.5)


@wrong("the square root in place of the inverse square root", kind="concept")
def root_of_step(step, D, warmup):
    return D**-0.5 * torch.minimum(step**0.5, step * warmup**-1.5)


@wrong("the decay starts anew behind the warm-up", kind="concept")
def decay_starts_anew(step, D, warmup):
    behind = (step - warmup + 1).clamp(min=1)
    return torch.where(step <= warmup, D**-0.5 * step * warmup**-1.5, (D * warmup) ** -0.5 * behind**-0.5)


@wrong("the step during the warm-up counts from warmup down", kind="concept")
def counts_down(step, D, warmup):
    return D**-0.5 * torch.minimum(step**-0.5, (warmup - step).clamp(min=0) * warmup**-1.5)


# ---------------------------------------------------------------- wrong: exponents and factors


@wrong("warmup^(-1/2)", kind="concept")
def half_for_three_halves(step, D, warmup):
    return D**-0.5 * torch.minimum(step**-0.5, step * warmup**-0.5)


@wrong("step / warmup", kind="concept")
def divided_by_warmup(step, D, warmup):
    return D**-0.5 * torch.minimum(step**-0.5, step / warmup)


@wrong("warmup^(+3/2)", kind="concept")
def sign_of_the_exponent(step, D, warmup):
    return D**-0.5 * torch.minimum(step**-0.5, step * warmup**1.5)


@wrong("warmup^(-2)", kind="concept")
def warmup_squared(step, D, warmup):
    return D**-0.5 * torch.minimum(step**-0.5, step * warmup**-2.0)


@wrong("(step * warmup)^(-3/2)", kind="concept")
def power_of_both(step, D, warmup):
    return D**-0.5 * torch.minimum(step**-0.5, (step * warmup) ** -1.5)


@wrong("without D", kind="concept")
def no_width(step, D, warmup):
    return torch.minimum(step**-0.5, step * warmup**-1.5)


@wrong("times D^(+1/2)", kind="concept")
def times_root_of_d(step, D, warmup):
    return D**0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


@wrong("divided by D", kind="concept")
def divided_by_d(step, D, warmup):
    return torch.minimum(step**-0.5, step * warmup**-1.5) / D


@wrong("D^(-1/2) on the first of the two only (brackets)", kind="concept")
def width_in_the_first(step, D, warmup):
    return torch.minimum(D**-0.5 * step**-0.5, step * warmup**-1.5)


@wrong("D^(-1/2) on the second of the two only", kind="concept")
def width_in_the_second(step, D, warmup):
    return torch.minimum(step**-0.5, D**-0.5 * step * warmup**-1.5)


@wrong("D and warmup exchanged", kind="concept")
def exchanged(step, D, warmup):
    return warmup**-0.5 * torch.minimum(step**-0.5, step * D**-1.5)


@wrong("D is always 512", kind="interface")
def always_512(step, D, warmup):
    return 512**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


@wrong("warmup is always 4000", kind="interface")
def always_4000(step, D, warmup):
    return D**-0.5 * torch.minimum(step**-0.5, step * 4000**-1.5)


@wrong("scaled so that the peak is 1", kind="concept")
def peak_of_one(step, D, warmup):
    return torch.minimum((step / warmup) ** -0.5, step / warmup)


@wrong("doubled, as some code bases do (factor 2)", kind="concept")
def factor_two(step, D, warmup):
    return 2 * D**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


@wrong("floor division in step / warmup", kind="concept")
def whole_shares(step, D, warmup):
    share = step // warmup
    return (D * warmup) ** -0.5 * torch.where(step < warmup, share, (step / warmup) ** -0.5)


@wrong("a base rate of 0.001 in place of D^(-1/2)", kind="concept")
def base_rate(step, D, warmup):
    return 1e-3 * torch.minimum(step**-0.5, step * warmup**-1.5)


# ---------------------------------------------------------------- wrong: counting and form


@wrong("steps count from 0: step + 1 is used", kind="edge")
def one_more(step, D, warmup):
    t = step + 1
    return D**-0.5 * torch.minimum(t**-0.5, t * warmup**-1.5)


@wrong("steps count from 0: step - 1 is used, guarded at 0", kind="edge")
def one_less(step, D, warmup):
    t = (step - 1).clamp(min=0).float()
    return D**-0.5 * torch.minimum(t.clamp(min=1e-9) ** -0.5, t * warmup**-1.5)


@wrong("the minimum over all steps: one number", kind="shape")
def one_number(step, D, warmup):
    return D**-0.5 * torch.min(step**-0.5).minimum(torch.min(step * warmup**-1.5))


@wrong("the steps are taken to be 1, 2, ..., S", kind="interface")
def counted_up(step, D, warmup):
    t = torch.arange(1, len(step) + 1, device=step.device)
    return D**-0.5 * torch.minimum(t**-0.5, t * warmup**-1.5)


@wrong("Python's min on tensors", kind="interface")
def min_of_tensors(step, D, warmup):
    return D**-0.5 * min(step**-0.5, step * warmup**-1.5)


@wrong("the rates come sorted by step", kind="interface")
def sorted_steps(step, D, warmup):
    t = step.sort().values
    return D**-0.5 * torch.minimum(t**-0.5, t * warmup**-1.5)


@wrong("a list of floats", kind="interface")
def a_list(step, D, warmup):
    return [D**-0.5 * min(s**-0.5, s * warmup**-1.5) for s in step.tolist()]


@wrong("only the rate of the last step", kind="shape")
def the_last_only(step, D, warmup):
    s = int(step[-1])
    return torch.tensor(D**-0.5 * min(s**-0.5, s * warmup**-1.5))


@wrong("converted to whole numbers: all zeros", kind="interface")
def whole_numbers(step, D, warmup):
    return (D**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)).long()
