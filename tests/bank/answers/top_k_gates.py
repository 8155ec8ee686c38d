"""Answers to top_k_gates (assignment 09)."""
import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("topk, softmax, scatter")
def topk_and_scatter(logits, k):
    values, experts = torch.topk(logits, k)
    return logits.new_zeros(logits.shape).scatter(-1, experts, values.softmax(-1))


@right("A mask of the chosen, and minus infinity elsewhere")
def minus_infinity(logits, k):
    chosen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, logits.topk(k, dim=-1).indices, True)
    return logits.masked_fill(~chosen, -math.inf).softmax(dim=-1)


@right("Everything below the k-th largest logit is masked; sort finds it")
def below_the_kth(logits, k):
    lowest = logits.sort(dim=-1, descending=True).values[..., k - 1 : k]
    return torch.where(logits < lowest, -torch.inf, logits).softmax(-1)


@right("Ranks by two argsorts, and the smallest finite number as mask")
def ranks(logits, k):
    rank = logits.argsort(dim=-1, descending=True).argsort(dim=-1)
    return F.softmax(logits.masked_fill(rank >= k, torch.finfo(logits.dtype).min), dim=-1)


@right("kthvalue counts from below")
def by_kthvalue(logits, k):
    E = logits.size(-1)
    cut = logits.kthvalue(E - k + 1, dim=-1, keepdim=True).values
    masked = torch.where(logits >= cut, logits, torch.full_like(logits, -math.inf))
    return torch.exp(masked - masked.logsumexp(-1, keepdim=True))


@right("k rounds of argmax, each of which takes its winner out of the race")
def rounds_of_argmax(logits, k):
    race, chosen = logits.detach().clone(), torch.zeros_like(logits, dtype=torch.bool)
    for _ in range(k):
        winner = F.one_hot(race.argmax(-1), logits.shape[-1]).bool()
        chosen = chosen | winner
        race = race.masked_fill(winner, -math.inf)
    return logits.masked_fill(chosen.logical_not(), -math.inf).softmax(-1)


@right("The softmax by hand, its largest logit subtracted, times a mask of the chosen")
def exponentials_and_mask(logits, k):
    values, experts = logits.topk(k, dim=-1)
    chosen = torch.zeros_like(logits).scatter_(-1, experts, 1.0)
    powers = (logits - values[..., :1].detach()).exp() * chosen
    return powers / powers.sum(dim=-1, keepdim=True)


@right("Loops over the tokens, with all axes in front made one")
def token_by_token(logits, k):
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]).unbind(0):
        experts = row.argsort(descending=True)[:k]
        rows.append(row.new_zeros(row.shape).index_copy(0, experts, row[experts].softmax(0)))
    return torch.stack(rows).reshape(logits.shape)


@right("Sorted, softmax of the first k, zeros behind, and sorted back")
def there_and_back(logits, k):
    values, order = logits.sort(dim=-1, descending=True)
    gates = F.pad(values[..., :k].softmax(-1), (0, logits.shape[-1] - k))
    return gates.gather(-1, order.argsort(-1))


@right("The softmax over all experts, divided by the sum of the chosen; the choice is made by the logits")
def renormalised(logits, k):
    experts = logits.topk(k, dim=-1).indices
    P = logits.softmax(-1).gather(-1, experts)
    return torch.zeros_like(logits).scatter(-1, experts, P / P.sum(-1, keepdim=True))


class _Gates(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, k):
        values, experts = logits.topk(k, dim=-1)
        gates = torch.zeros_like(logits).scatter_(-1, experts, values.softmax(-1))
        ctx.save_for_backward(gates)
        return gates

    @staticmethod
    def backward(ctx, slope):
        (gates,) = ctx.saved_tensors
        return gates * (slope - (gates * slope).sum(-1, keepdim=True)), None


@right("A function of autograd, with the gradient of the softmax written down")
def own_gradient(logits, k):
    return _Gates.apply(logits, k)


@right("index_put into rows")
def into_rows(logits, k):
    rows = logits.flatten(0, -2) if logits.dim() > 1 else logits.unsqueeze(0)
    values, experts = rows.topk(k, dim=1)
    tokens = torch.arange(rows.shape[0], device=rows.device).unsqueeze(1).expand_as(experts)
    return torch.zeros_like(rows).index_put((tokens, experts), torch.softmax(values, dim=1)).reshape(logits.shape)


# ---------------------------------------------------------------- wrong: concepts


@wrong("the softmax runs over all E logits and is not divided by the sum of the chosen gates", kind="concept")
def not_renormalised(logits, k):
    P = logits.softmax(-1)
    experts = logits.topk(k, dim=-1).indices
    return torch.zeros_like(P).scatter(-1, experts, P.gather(-1, experts))


# Right, and not registered: answers below are changes of it.
def _plain(logits, k):
    values, experts = logits.topk(k, dim=-1)
    return torch.zeros_like(logits).scatter(-1, experts, values.softmax(-1))


change(_plain, "smallest", "the k experts with the smallest logits are chosen", "concept",
       ("dim=-1", "dim=-1, largest=False"))
change(_plain, "zero_logits", "the logits of the other experts become 0, not −∞, before the softmax, so that they get "
       "gates above 0", "concept",
       (".scatter(-1, experts, values.softmax(-1))", ".scatter(-1, experts, values).softmax(-1)"))


@wrong("the mask is inverted: the k largest logits become −∞, and the others get the gates", kind="concept")
def inverted_mask(logits, k):
    experts = logits.topk(k, dim=-1).indices
    return logits.scatter(-1, experts, -math.inf).softmax(-1)


@wrong("for k < E, k + 1 experts are chosen: the threshold is the logit of rank k counted from 0", kind="concept")
def one_too_many(logits, k):
    ordered = logits.sort(dim=-1, descending=True).values
    cut = ordered[..., min(k, logits.shape[-1] - 1)].unsqueeze(-1)
    return logits.masked_fill(logits < cut, -math.inf).softmax(-1)


@wrong("only logits strictly above the k-th largest are kept: k − 1 experts are chosen, and for k = 1 all is NaN",
       kind="concept")
def strictly_above(logits, k):
    cut = logits.topk(k, dim=-1).values[..., -1:]
    return logits.masked_fill(logits <= cut, -math.inf).softmax(-1)


change(_plain, "sigmoids",
       "the gates are sigmoids of the chosen logits, divided by their sum, not a softmax", "concept",
       before("return", "values = values.sigmoid()"), ("values.softmax(-1)", "values / values.sum(-1, keepdim=True)"))


@wrong("experts choose tokens: topk and softmax run along the axis before the last (with one axis, along the last)",
       kind="concept")
def experts_choose(logits, k):
    dim = -2 if logits.dim() > 1 else -1
    values, tokens = logits.topk(min(k, logits.shape[dim]), dim=dim)
    return torch.zeros_like(logits).scatter(dim, tokens, values.softmax(dim))


@wrong("the gates stay in the order of their size, at the first k experts, not at the experts that were chosen",
       kind="concept")
def stay_sorted(logits, k):
    values = logits.topk(k, dim=-1).values
    return F.pad(values.softmax(-1), (0, logits.shape[-1] - k))


change(_plain, "reversed_gates",
       "the gates are reversed before they go to their experts: the largest logit gets the smallest gate", "concept",
       ("values.softmax(-1)", "values.softmax(-1).flip(-1)"))


@wrong("the experts with the largest absolute logits are chosen", kind="concept")
def by_absolute_value(logits, k):
    experts = logits.abs().topk(k, dim=-1).indices
    return torch.zeros_like(logits).scatter(-1, experts, logits.gather(-1, experts).softmax(-1))


change(_plain, "with_temperature", "the chosen logits are divided by the root of k before the softmax", "concept",
       ("values.softmax(-1)", "(values / math.sqrt(k)).softmax(-1)"))
change(_plain, "equal_gates", "each chosen expert gets the gate 1/k, whatever its logit", "concept",
       ("values.softmax(-1)", "(values * 0).softmax(-1)"))
change(_plain, "no_exponential", "the chosen logits are divided by their sum: the exponential is missing", "concept",
       ("values.softmax(-1)", "values / values.sum(-1, keepdim=True)"))
change(renormalised, "softmax_twice", "a softmax of probabilities: the softmax over all logits comes first, and "
       "another over the k largest of it", "concept",
       ("P / P.sum(-1, keepdim=True)", "P.softmax(-1)"))
change(_plain, "sum_to_k", "the gates are multiplied by k, so that those of a token sum to k", "concept",
       ("values.softmax(-1)", "k * values.softmax(-1)"))
change(_plain, "always_two", "two experts are always chosen (one if E = 1): k is not used", "concept",
       ("k, dim", "min(2, logits.shape[-1]), dim"))


@wrong("with k = 1 the gate is the probability of the softmax over all logits, as in Switch, and not 1", kind="edge")
def switch_for_one(logits, k):
    values, experts = logits.topk(k, dim=-1)
    if k == 1:
        values = logits.softmax(-1).gather(-1, experts)
    else:
        values = values.softmax(-1)
    return torch.zeros_like(logits).scatter(-1, experts, values)


@wrong("the choice is made once, by the mean logits of all tokens, and not for each token", kind="concept")
def chosen_together(logits, k):
    experts = logits.reshape(-1, logits.shape[-1]).mean(0).topk(k).indices
    mask = torch.zeros(logits.shape[-1], dtype=torch.bool, device=logits.device)
    mask[experts] = True
    return logits.masked_fill(~mask, -math.inf).softmax(-1)


change(there_and_back, "permuted_twice",
       "sorted back with the permutation itself instead of its inverse: gates stand at wrong experts", "concept",
       ("order.argsort(-1)", "order"))
change(_plain, "powers_of_two", "powers of 2 in place of powers of e in the softmax", "concept",
       before("return", "powers = torch.exp2(values - values[..., :1])"),
       ("values.softmax(-1)", "powers / powers.sum(-1, keepdim=True)"))
change(renormalised, "relu_first",
       "negative logits become 0 before the choice, so that negative logits that are chosen count as 0", "concept",
       ("P = logits.softmax(-1)", "values = logits.relu()"), ("P / P.sum(-1, keepdim=True)", "values.softmax(-1)"))
change(_plain, "logarithms", "the gates are the logarithms of the softmax over the chosen logits", "concept",
       ("softmax(-1)", "log_softmax(-1)"))


@wrong("the gates come back as [*S, k], in the order of their size, not as [*S, E]", kind="shape")
def only_k_gates(logits, k):
    return logits.topk(k, dim=-1).values.softmax(-1)


# ---------------------------------------------------------------- wrong: two mistakes at once


@wrong("two mistakes: chosen by absolute value, and the softmax over all logits is not renormalised", kind="concept")
def two_absolute_and_not_renormalised(logits, k):
    experts = logits.abs().topk(k, dim=-1).indices
    P = logits.softmax(-1)
    return torch.zeros_like(P).scatter(-1, experts, P.gather(-1, experts))


@wrong("two mistakes: the smallest logits are chosen, and their gates are equal (1/k)", kind="concept")
def two_smallest_and_equal(logits, k):
    values, experts = logits.topk(k, dim=-1, largest=False)
    return torch.zeros_like(logits).scatter(-1, experts, torch.full_like(values, 1 / k)) + 0 * logits


change(_plain, "two_short_and_scaled",
       "two mistakes: k − 1 experts are chosen for k > 1, and logits are divided by the root of E", "concept",
       ("k, dim", "max(k - 1, 1), dim"), ("values.softmax(-1)", "(values / math.sqrt(logits.shape[-1])).softmax(-1)"))


@wrong("two mistakes: the other logits become 0 before the softmax, and the exponentials overflow", kind="numerics")
def two_zero_logits_and_overflow(logits, k):
    values, experts = logits.topk(k, dim=-1)
    powers = torch.zeros_like(logits).scatter(-1, experts, values).exp()
    return powers / powers.sum(-1, keepdim=True)


# ---------------------------------------------------------------- wrong: numbers


@wrong("the mask is −10^9 in place of −∞: logits far below −10^9 lose their gates to experts not chosen",
       kind="numerics")
def minus_a_billion(logits, k):
    mask = torch.ones_like(logits, dtype=torch.bool).scatter(-1, logits.topk(k, dim=-1).indices, False)
    return logits.masked_fill(mask, -1e9).softmax(-1)


@wrong("20 is subtracted from the other logits in place of ∞: their gates are small, but not exactly 0",
       kind="numerics")
def twenty_less(logits, k):
    mask = torch.ones_like(logits).scatter(-1, logits.topk(k, dim=-1).indices, 0.0)
    return (logits - 20 * mask).softmax(-1)


@wrong("the mask is float32's smallest number: chosen float64 logits may lie below it, and bfloat16 fails to hold it",
       kind="numerics")
def smallest_float32(logits, k):
    chosen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, logits.topk(k, dim=-1).indices, True)
    least = torch.full_like(logits, torch.finfo(torch.float32).min)
    return torch.where(chosen, logits, least).softmax(-1)


@wrong("10^-6 is added to all gates before the division by their sum: gates of experts not chosen are not 0",
       kind="numerics")
def epsilon_everywhere(logits, k):
    values, experts = logits.topk(k, dim=-1)
    gates = torch.zeros_like(logits).scatter(-1, experts, values.softmax(-1)) + 1e-6
    return gates / gates.sum(-1, keepdim=True)


change(_plain, "epsilon_in_the_sum",
       "10^-3 is added to the sum of the exponentials, so that the gates of a token sum to less than 1", "numerics",
       before("return", "powers = (values - values[..., :1]).exp()"),
       ("values.softmax(-1)", "powers / (powers.sum(-1, keepdim=True) + 1e-3)"))
change(_plain, "small_gates_cut_off", "chosen gates below 0.001 are cut off to 0", "numerics",
       before("return", "gates = values.softmax(-1)"),
       ("values.softmax(-1)", "torch.where(gates < 1e-3, 0 * gates, gates)"))
change(_plain, "small_gates_raised",
       "chosen gates are raised to at least 0.001, so that they are no softmax and sum to more than 1", "numerics",
       ("values.softmax(-1)", "values.softmax(-1).clamp(min=1e-3)"))
change(_plain, "exponentials",
       "exponentials without the largest logit subtracted overflow for large logits (and underflow to 0/0)", "numerics",
       before("return", "powers = values.exp()"), ("values.softmax(-1)", "powers / powers.sum(-1, keepdim=True)"))
change(_plain, "one_maximum_for_all",
       "the largest logit of all tokens is subtracted, not that of each: a token far below it gets 0/0", "numerics",
       before("return", "powers = (values - values.max()).exp()"),
       ("values.softmax(-1)", "powers / powers.sum(-1, keepdim=True)"))
change(_plain, "smallest_subtracted", "the smallest chosen logit is subtracted, not the largest: exponentials overflow "
       "where logits lie far apart", "numerics",
       before("return", "powers = (values - values[..., -1:]).exp()"),
       ("values.softmax(-1)", "powers / powers.sum(-1, keepdim=True)"))
change(_plain, "limited",
       "logits are limited to ±50 before the softmax, so that two larger ones get equal gates", "numerics",
       (".softmax(-1)", ".clamp(-50, 50).softmax(-1)"))
change(_plain, "chosen_by_probability", "chosen by the probabilities: logits that differ by less than the softmax "
       "resolves tie, so a smaller may win; the declaration counts it among the right ways", "numerics",
       (".topk(k, dim=-1)", ".softmax(-1).topk(k, dim=-1)"),
       ("values.softmax(-1)", "values / values.sum(-1, keepdim=True)"), verdict="open")


@right("experts are chosen by their logits in float32: float64 logits that differ by less tie (or are ∞ there)")
def chosen_in_float32(logits, k):
    experts = logits.float().topk(k, dim=-1).indices
    return torch.zeros_like(logits).scatter(-1, experts, logits.gather(-1, experts).softmax(-1))


@right("computed in float32 and converted back, so that float64 loses digits, and numbers beyond float32 give NaN")
def there_and_back_to_float32(logits, k):
    values, experts = logits.float().topk(k, dim=-1)
    gates = torch.zeros(logits.shape, device=logits.device).scatter(-1, experts, values.softmax(-1))
    return gates.to(logits.dtype)


change(rounds_of_argmax, "winners_set_to_zero", "between rounds of argmax the winner's logit becomes 0, not −∞: it "
       "wins again where the rest is negative", "edge",
       ("chosen = chosen | winner", "chosen |= winner"), ("winner, -math.inf", "winner, 0.0"),
       ("chosen.logical_not()", "~chosen"))


# ---------------------------------------------------------------- wrong: shapes and layouts


@wrong("an expert counts as chosen where its logit equals one that ANY token has chosen, not its own token",
       kind="edge")
def chosen_by_anyone(logits, k):
    chosen = torch.isin(logits, logits.topk(k, dim=-1).values)
    return logits.masked_fill(~chosen, -math.inf).softmax(-1)


@wrong("view(-1, E) fails for several axes in front in a layout such as a transposed one", kind="layout")
def by_view(logits, k):
    rows = logits.view(-1, logits.shape[-1])
    values, experts = rows.topk(k, dim=-1)
    gates = torch.zeros_like(rows).scatter(-1, experts, values.softmax(-1))
    return gates.reshape(logits.shape)


@wrong("the gates' new memory is laid out with the strides of logits, for which it is too short with a step: fails",
       kind="layout")
def strides_of_the_input(logits, k):
    values, experts = logits.topk(k, dim=-1)
    memory = torch.zeros(logits.numel(), dtype=logits.dtype, device=logits.device)
    return memory.as_strided(logits.shape, logits.stride()).scatter(-1, experts, values.softmax(-1))


change(_plain, "axis_one",
       "the experts are on axis 1 by number: fails for one axis and is wrong or fails for three and more", "shape",
       ("dim=-1", "dim=1"), ("-1, experts, values.softmax(-1)", "1, experts, values.softmax(1)"))


@wrong("exactly two axes are expected, T, E = logits.shape, so that one or three axes fail", kind="shape")
def two_axes_only(logits, k):
    T, E = logits.shape
    values, experts = logits.topk(k, dim=-1)
    gates = torch.zeros(T, E, dtype=logits.dtype, device=logits.device)
    return gates.scatter(1, experts, values.softmax(1))


change(_plain, "squeezed", "squeeze() without an axis: axes of size 1 are missing in the gates", "shape",
       (".scatter(-1, experts, values.softmax(-1))", ".scatter(-1, experts, values.softmax(-1)).squeeze()"))
change(_plain, "flattened", "all axes in front are made one and not restored: the gates are [T, E] for any *S", "shape",
       before("values, experts =", "rows = logits.reshape(-1, logits.shape[-1])"), ("logits.topk", "rows.topk"),
       (".zeros_like(logits)", ".zeros_like(rows)"))
change(strictly_above, "next_one_as_threshold", "the threshold is the largest logit that is not chosen, of rank k + 1: "
       "with k = E it does not exist and fails", "edge",
       ("k, dim", "k + 1, dim"))
change(_plain, "sigmoid_for_one_expert", "with E = 1 the gate is the sigmoid of the logit and not 1", "edge",
       before("values, experts =", """
        if logits.shape[-1] == 1:
            return logits.sigmoid()"""))


# ---------------------------------------------------------------- wrong: gradients


change(_plain, "detached", "the chosen logits are detached: no gradient reaches the logits", "gradient",
       (".topk(k, dim=-1)", ".detach().topk(k, dim=-1)"))


@wrong("the gates are rebuilt from a list by torch.tensor, so that gradients end there", kind="gradient")
def rebuilt(logits, k):
    values, experts = logits.topk(k, dim=-1)
    gates = torch.zeros_like(logits).scatter(-1, experts, values.softmax(-1))
    return torch.tensor(gates.tolist(), dtype=logits.dtype, device=logits.device)


@wrong("straight-through: the gates are right, but gradients of the softmax over all logits are added to theirs",
       kind="gradient")
def straight_through(logits, k):
    values, experts = logits.topk(k, dim=-1)
    gates = torch.zeros_like(logits).scatter(-1, experts, values.softmax(-1))
    P = logits.softmax(-1)
    return gates + (P - P.detach())


change(_plain, "sum_detached", "the sum of the exponentials is detached: the gates are right, their gradients lack the "
       "part of the sum", "gradient",
       before("return", "powers = (values - values[..., :1].detach()).exp()"),
       ("values.softmax(-1)", "powers / powers.sum(-1, keepdim=True).detach()"))
change(_plain, "reciprocal_of_a_sum",
       "1 / (sum of e^(z_j − z_e)) overflows on the way: the gates are right, but their gradients are NaN", "gradient",
       before("return", "sums = (values.unsqueeze(-2) - values.unsqueeze(-1)).exp().sum(-1)"),
       ("values.softmax(-1)", "1 / sums"))


# ---------------------------------------------------------------- wrong: interface, types, state


change(_plain, "zeros_without_type",
       "torch.zeros without dtype: with float64 or bfloat16 logits scatter fails on two different types", "interface",
       (".zeros_like(logits)", ".zeros(logits.shape, device=logits.device)"))
change(_plain, "zeros_on_the_cpu", "the zeros are made on the CPU, wherever the logits are", "interface",
       (".zeros_like(logits)", ".zeros(logits.shape, dtype=logits.dtype)"))


@wrong("the softmax is asked for dtype float32, and the gates are float32 for float64 and bfloat16 logits",
       kind="interface")
def always_float32(logits, k):
    values, experts = logits.topk(k, dim=-1)
    gates = F.softmax(values, dim=-1, dtype=torch.float32)
    return torch.zeros_like(logits, dtype=torch.float32).scatter(-1, experts, gates)


change(_plain, "integers_for_one", "with k = 1 the gates are integers (one_hot), not of the logits' type", "interface",
       before("values, experts =", """
        if k == 1:
            return F.one_hot(logits.argmax(-1), logits.shape[-1])"""))


@wrong("the input is masked in place: the caller's logits become −∞ for the experts not chosen", kind="interface")
def masked_in_place(logits, k):
    others = logits.argsort(dim=-1, descending=True)[..., k:]
    with torch.no_grad():
        logits.scatter_(-1, others, -math.inf)
    return logits.softmax(-1)


change(_plain, "shifted_in_place", "the largest logit is subtracted from the input in place", "interface",
       before("values, experts =", "logits.data -= logits.data.amax(-1, keepdim=True)"))


_choices = {}


@wrong("the choice is kept by shape and k: later logits of that shape get the experts of the first", kind="interface")
def choice_remembered(logits, k):
    key = tuple(logits.shape), k
    if key not in _choices:
        _choices[key] = logits.topk(k, dim=-1).indices
    experts = _choices[key].to(logits.device)
    return torch.zeros_like(logits).scatter(-1, experts, logits.gather(-1, experts).softmax(-1))


_load = {}


@wrong("experts chosen in earlier calls are handicapped in the choice (a bias kept between calls)", kind="interface")
def load_remembered(logits, k):
    E = logits.shape[-1]
    bias = _load.setdefault(E, torch.zeros(E, dtype=torch.float64)).to(logits)
    experts = (logits - bias).topk(k, dim=-1).indices
    _load[E] += torch.bincount(experts.flatten().cpu(), minlength=E) * 1.0
    return torch.zeros_like(logits).scatter(-1, experts, logits.gather(-1, experts).softmax(-1))


@right("the first argument is called scores, so that logits by name fails")
def other_name(scores, k):
    values, experts = scores.topk(k, dim=-1)
    return torch.zeros_like(scores).scatter(-1, experts, values.softmax(-1))


change(_plain, "k_by_name_only", "k can be given by name only", "interface",
       ("logits, k", "logits, *, k"))
change(_plain, "with_the_experts", "the gates come back together with the chosen experts, as a tuple", "interface",
       ("return torch.zeros_like(logits).scatter(-1, experts, values.softmax(-1))",
        "return torch.zeros_like(logits).scatter(-1, experts, values.softmax(-1)), experts"))
