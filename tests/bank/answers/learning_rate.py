"""Answers to learning_rate (assignment 10)."""

import math

import numpy as np
import torch
from answers import before, change, right, wrong

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


# Right, and not registered: answers below are changes of it.
def _plain(step, D, warmup):
    return D**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


# ---------------------------------------------------------------- wrong: the shape of the curve


change(_plain, "max_for_min", "max in place of min", "concept",
       (".minimum", ".maximum"))
change(cut_off, "sum_of_both", "the sum of both", "concept",
       ("(step**-0.5).clamp(max=step * warmup**-1.5)", "(step**-0.5 + step * warmup**-1.5)"))


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


change(exponential, "one_over_step", "decays like 1 / step", "concept",
       ("torch.exp(1 - step / warmup)", "warmup / step"))
change(_plain, "step_to_minus_one", "1 / step in the formula itself, so that the two do not meet at warmup", "concept",
       ("step**-0.5", "1 / step"))
change(_plain, "root_of_step", "the square root in place of the inverse square root", "concept",
       ("step**-0.5", "step**0.5"))


@wrong("the decay starts anew behind the warm-up", kind="concept")
def decay_starts_anew(step, D, warmup):
    behind = (step - warmup + 1).clamp(min=1)
    return torch.where(step <= warmup, D**-0.5 * step * warmup**-1.5, (D * warmup) ** -0.5 * behind**-0.5)


change(_plain, "counts_down", "the step during the warm-up counts from warmup down", "concept",
       ("step * warmup", "(warmup - step).clamp(min=0) * warmup"))


# ---------------------------------------------------------------- wrong: exponents and factors


change(_plain, "half_for_three_halves", "warmup^(-1/2)", "concept",
       ("1.5", "0.5"))
change(_plain, "divided_by_warmup", "step / warmup", "concept",
       ("step * warmup**-1.5", "step / warmup"))
change(_plain, "sign_of_the_exponent", "warmup^(+3/2)", "concept",
       ("**-1.5", "**1.5"))
change(_plain, "warmup_squared", "warmup^(-2)", "concept",
       ("1.5", "2.0"))


@wrong("(step * warmup)^(-3/2)", kind="concept")
def power_of_both(step, D, warmup):
    return D**-0.5 * torch.minimum(step**-0.5, (step * warmup) ** -1.5)


change(_plain, "no_width", "without D", "concept",
       ("D**-0.5 * torch.minimum", "torch.minimum"))
change(_plain, "times_root_of_d", "times D^(+1/2)", "concept",
       ("D**-0.5", "D**0.5"))


@wrong("divided by D", kind="concept")
def divided_by_d(step, D, warmup):
    return torch.minimum(step**-0.5, step * warmup**-1.5) / D


@wrong("D^(-1/2) on the first of the two only (brackets)", kind="concept")
def width_in_the_first(step, D, warmup):
    return torch.minimum(D**-0.5 * step**-0.5, step * warmup**-1.5)


change(_plain, "width_in_the_second", "D^(-1/2) on the second of the two only", "concept",
       ("D**-0.5 * torch.minimum", "torch.minimum"), ("step * warmup**-1.5", "D**-0.5 * step * warmup**-1.5"))
change(_plain, "exchanged", "D and warmup exchanged", "concept",
       ("return D", "return warmup"), ("step * warmup", "step * D"))
change(_plain, "always_512", "D is always 512", "interface",
       ("return D", "return 512"))
change(_plain, "always_4000", "warmup is always 4000", "interface",
       ("step * warmup", "step * 4000"))


@wrong("scaled so that the peak is 1", kind="concept")
def peak_of_one(step, D, warmup):
    return torch.minimum((step / warmup) ** -0.5, step / warmup)


change(_plain, "factor_two", "doubled, as some code bases do (factor 2)", "concept",
       ("D**-0.5 * torch.minimum", "2 * D**-0.5 * torch.minimum"))


@wrong("floor division in step / warmup", kind="concept")
def whole_shares(step, D, warmup):
    share = step // warmup
    return (D * warmup) ** -0.5 * torch.where(step < warmup, share, (step / warmup) ** -0.5)


change(_plain, "base_rate", "a base rate of 0.001 in place of D^(-1/2)", "concept",
       ("D**-0.5", "1e-3"))


# ---------------------------------------------------------------- wrong: counting and form


change(_plain, "one_more", "steps count from 0: step + 1 is used", "edge",
       before("return", "t = step + 1"), ("step**-0.5, step * warmup**-1.5", "t**-0.5, t * warmup**-1.5"))
change(_plain, "one_less", "steps count from 0: step - 1 is used, guarded at 0", "edge",
       before("return", "t = (step - 1).clamp(min=0).float()"),
       ("step**-0.5, step * warmup**-1.5", "t.clamp(min=1e-9) ** -0.5, t * warmup**-1.5"))


@wrong("the minimum over all steps: one number", kind="shape")
def one_number(step, D, warmup):
    return D**-0.5 * torch.min(step**-0.5).minimum(torch.min(step * warmup**-1.5))


change(_plain, "counted_up", "the steps are taken to be 1, 2, ..., S", "interface",
       before("return", "t = torch.arange(1, len(step) + 1, device=step.device)"),
       ("step**-0.5, step * warmup**-1.5", "t**-0.5, t * warmup**-1.5"))
change(_plain, "min_of_tensors", "Python's min on tensors", "interface",
       ("torch.minimum", "min"))
change(_plain, "sorted_steps", "the rates come sorted by step", "interface",
       before("return", "t = step.sort().values"), ("step**-0.5, step * warmup**-1.5", "t**-0.5, t * warmup**-1.5"))


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
