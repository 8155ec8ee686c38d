"""Answers to balance_loss (assignment 09)."""
import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("one_hot, counted and divided")
def by_one_hot(logits, k):
    T, E = logits.shape
    counts = F.one_hot(logits.topk(k, dim=-1).indices, E).sum(dim=(0, 1))
    f = counts.to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


@right("bincount with minlength, and a dot product")
def by_bincount(logits, k):
    E = logits.size(1)
    counts = torch.bincount(torch.topk(logits, k).indices.reshape(-1), minlength=E)
    f = counts.to(logits.dtype) / counts.sum()
    return torch.dot(f.to(logits.dtype), torch.softmax(logits, dim=1).mean(dim=0)) * E


@right("No counts: each choice looks up the mean probability of its expert, and the mean over the choices is taken")
def looked_up(logits, k):
    experts = logits.topk(k, dim=-1).indices
    return logits.shape[-1] * logits.softmax(-1).mean(0)[experts].mean()


@right("A mask of the chosen, its mean over the tokens")
def mean_of_a_mask(logits, k):
    chosen = torch.zeros_like(logits).scatter(-1, logits.argsort(-1, descending=True)[:, :k], 1)
    return (chosen.mean(0) * F.softmax(logits, -1).mean(0)).sum() * (logits.shape[-1] / k)


@right("Everything from the k-th largest logit on, found by kthvalue")
def from_the_kth_on(logits, k):
    T, E = logits.shape
    cut = logits.kthvalue(E - k + 1, dim=1, keepdim=True).values
    counts = (logits >= cut).sum(dim=0)
    return torch.sum(logits.softmax(1).mean(0) * counts.to(logits).div(T * k).mul(E), dim=0)


@right("A loop over the experts")
def expert_by_expert(logits, k):
    T, E = logits.shape
    experts, P = logits.topk(k, dim=-1).indices, logits.log_softmax(dim=-1).exp()
    shares = [(experts == e).sum().item() / (T * k) for e in range(E)]
    return torch.stack([share * P[:, e].mean() for e, share in enumerate(shares)]).sum() * E


@right("The softmax by hand, the largest logit of each token subtracted")
def softmax_by_hand(logits, k):
    T, E = logits.shape
    powers = torch.exp(logits - logits.amax(dim=-1, keepdim=True))
    P = powers / powers.sum(dim=-1, keepdim=True)
    ranks = logits.detach().argsort(dim=-1, descending=True).argsort(dim=-1)
    f = (ranks < k).sum(dim=0).to(logits.dtype) / (k * T)
    return (E * f) @ P.mean(dim=0)


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, k):
        T, E = logits.shape
        P = logits.softmax(dim=-1)
        f = torch.zeros(E, dtype=torch.int64, device=logits.device)
        experts = logits.topk(k, dim=-1).indices.flatten()
        f = f.scatter_add(0, experts, torch.ones_like(experts)).to(logits.dtype) / (T * k)
        ctx.save_for_backward(P, f)
        return E * (P.mean(0) * f).sum()

    @staticmethod
    def backward(ctx, slope):
        P, f = ctx.saved_tensors
        T, E = P.shape
        return slope * E / T * P * (f - (P * f).sum(-1, keepdim=True)), None


@right("A function of autograd, its gradient written down")
def own_gradient(logits, k):
    return _Loss.apply(logits, k)


@right("Each token's probabilities weighted by the shares, then the mean over the tokens")
def weighted_first(logits, k):
    T, E = logits.shape
    experts = logits.topk(k, dim=-1).indices.flatten()
    counts = torch.zeros(E, dtype=torch.int64, device=logits.device).index_add(0, experts, torch.ones_like(experts))
    return torch.mv(logits.softmax(-1), counts.to(logits.dtype) / (T * k)).mean() * E


@right("A mask that holds 1/k at the choices, and einsum")
def by_einsum(logits, k):
    T, E = logits.shape
    chosen = torch.zeros(T, E, dtype=logits.dtype, device=logits.device)
    chosen.scatter_(1, logits.topk(k, dim=1).indices, 1 / k)
    return torch.einsum("e,e->", chosen.mean(0), logits.softmax(1).mean(0)) * E


@right("Looks up the mean probabilities for all first choices, all second choices and so on")
def choice_by_choice(logits, k):
    T, E = logits.shape
    P = logits.softmax(-1).mean(0)
    experts = logits.topk(k, dim=-1).indices
    return torch.stack([P.index_select(0, experts[:, j]).mean() for j in range(k)]).mean() * E


@right("Sorted choices, and the shares from where each expert begins and ends among them")
def by_searchsorted(logits, k):
    T, E = logits.shape
    experts = logits.topk(k, dim=-1).indices.flatten().sort().values
    bounds = torch.searchsorted(experts, torch.arange(E + 1, device=logits.device))
    f = bounds.diff().to(logits.dtype).div(T * k)
    return f.mul(logits.transpose(0, 1).softmax(0).mean(1)).sum().mul(E)


# Right, and not registered: answers below are changes of it.
def _plain(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


# ---------------------------------------------------------------- wrong: concepts


change(_plain, "no_factor", "the factor E is missing", "concept",
       ("return E *", "return"))
change(_plain, "sums_to_k", "f is divided by T and not by T k, so that it sums to k", "concept",
       ("(T * k)", "T"))
change(_plain, "sum_of_probabilities", "P is the sum over the tokens and not the mean", "concept",
       (".mean(0)", ".sum(0)"))
change(_plain, "softmax_over_tokens", "the softmax runs over the tokens and not over the experts", "concept",
       (".softmax(-1).mean(0)", ".softmax(0).mean(0)"))


@wrong("P is the mean of the gates, a softmax over the k chosen logits alone, not over all E", kind="concept")
def mean_of_the_gates(logits, k):
    T, E = logits.shape
    values, experts = logits.topk(k, dim=-1)
    f = F.one_hot(experts, E).sum((0, 1)).to(logits.dtype) / (T * k)
    P = torch.zeros_like(logits).scatter(-1, experts, values.softmax(-1)).mean(0)
    return E * (f * P).sum()


@wrong("f counts the first choice (argmax) of each token only: k is not used", kind="concept")
def first_choice_only(logits, k):
    E = logits.shape[-1]
    f = F.one_hot(logits.argmax(-1), E).to(logits.dtype).mean(0)
    return E * (f * logits.softmax(-1).mean(0)).sum()


change(_plain, "shares_squared", "f is multiplied by itself in place of P, and 0 times P keeps the graph", "concept",
       ("E * (f * logits.softmax(-1).mean(0)).sum()", "E * (f * f).sum() + 0 * logits.softmax(-1).mean()"))


@wrong("P is multiplied by itself: the choices are not counted at all", kind="concept")
def probabilities_squared(logits, k):
    P = logits.softmax(-1).mean(0)
    return logits.shape[-1] * (P * P).sum()


change(_plain, "smallest", "the choices of the k smallest logits are counted", "concept",
       ("dim=-1", "dim=-1, largest=False"))


@wrong("experts choose tokens: each expert's k largest logits are counted, not each token's, so that all f are 1/E",
       kind="concept")
def experts_choose(logits, k):
    T, E = logits.shape
    tokens = logits.topk(min(k, T), dim=0).indices
    chosen = torch.zeros_like(logits).scatter(0, tokens, 1.0)
    f = chosen.sum(0) / chosen.sum()
    return E * (f * logits.softmax(-1).mean(0)).sum()


change(_plain, "logarithm_of_p", "the logarithm of P is taken in place of P", "concept",
       ("return E", "return -E"), (".mean(0)", ".mean(0).log()"))


@wrong("choices and probabilities are multiplied token by token and averaged then, not averaged first", kind="concept")
def product_before_the_mean(logits, k):
    T, E = logits.shape
    chosen = F.one_hot(logits.topk(k, dim=-1).indices, E).sum(1).to(logits.dtype) / k
    return E * (chosen * logits.softmax(-1)).mean(0).sum()


@wrong("for k < E, k + 1 choices of each token are counted (and divided by their number)", kind="concept")
def one_choice_more(logits, k):
    T, E = logits.shape
    counts = F.one_hot(logits.topk(min(k + 1, E), dim=-1).indices, E).sum((0, 1)).to(logits.dtype)
    return E * (counts / counts.sum() * logits.softmax(-1).mean(0)).sum()


change(_plain, "times_the_tokens",
       "the sum is multiplied by the number of tokens T in place of the number of experts E", "concept",
       ("return E", "return T"))
change(by_one_hot, "times_the_used_experts",
       "the factor is the number of experts that were chosen at all, not E", "concept",
       ("dim=(0, 1)", "(0, 1)"), ("return E", "return (counts > 0).sum().to(logits.dtype)"))
change(_plain, "with_alpha", "the loss is multiplied by α = 0.01, which is left out here", "concept",
       ("return E", "return 0.01 * E"))
change(_plain, "minus_one", "1 is subtracted, so that uniform routing gives 0 and not 1", "concept",
       (".sum()", ".sum() - 1"))


@wrong("f is the mean of the gates of the chosen experts (detached) and not the share of the choices", kind="concept")
def gates_for_shares(logits, k):
    values, experts = logits.topk(k, dim=-1)
    f = torch.zeros_like(logits).scatter(-1, experts, values.softmax(-1)).mean(0).detach()
    return logits.shape[-1] * (f * logits.softmax(-1).mean(0)).sum()


change(_plain, "softmax_of_the_mean", "P is the softmax of the mean logits and not the mean of the softmax", "concept",
       ("logits.softmax(-1).mean(0)", "(logits / T).sum(0).softmax(-1)"))
change(_plain, "sigmoids", "P is the mean of sigmoids, divided by their sum, not of a softmax", "concept",
       before("return", "P = logits.sigmoid() / logits.sigmoid().sum(-1, keepdim=True)"),
       ("logits.softmax(-1).mean(0)", "P.mean(0)"))
change(_plain, "largest_product", "the largest product f_e P_e is taken and not their sum", "concept",
       (".sum()", ".max()"))


@wrong("an expert counts as chosen where its probability is above 1/E, not where it is among the k largest",
       kind="concept")
def above_average(logits, k):
    E = logits.shape[-1]
    P = logits.softmax(-1)
    counts = (P > 1 / E).sum(0).to(logits.dtype)
    return E * (counts / counts.sum().clamp(min=1) * P.mean(0)).sum()


change(_plain, "divided_by_k_twice",
       "the factor is E/k and not E, though f is already divided by T k: k divides twice", "concept",
       ("return E", "return E / k"))
change(_plain, "with_z_loss", "the router's z-loss, 0.001 times the mean squared logsumexp, is added", "concept",
       before("return", "z_loss = logits.logsumexp(-1).square().mean()"), (".sum()", ".sum() + 1e-3 * z_loss"))
change(_plain, "smoothed",
       "1 is added to every count (smoothing), so that experts never chosen have a share above 0", "concept",
       ("f =", "counts ="), ("/ (T * k)", "+ 1"), ("f * logits", "counts / counts.sum() * logits"))
change(_plain, "sorted_shares",
       "the shares are sorted, so that they meet the probabilities of other experts", "concept",
       ("return E * (f * logits.softmax(-1).mean(0)).sum()",
        "return E * (f.sort(descending=True).values * logits.softmax(-1).mean(0)).sum()"))


# ---------------------------------------------------------------- wrong: two mistakes at once


change(_plain, "two_no_factor_and_sum_k",
       "two mistakes: the factor E is missing, and f is divided by T and not by T k", "concept",
       ("(T * k)", "T"), ("return E *", "return"))
change(first_choice_only, "two_first_and_sum",
       "two mistakes: only first choices are counted (argmax), and P is the sum and not the mean", "concept",
       (".softmax(-1).mean(0)", ".softmax(-1).sum(0)"))
change(_plain, "two_tokens_and_smallest",
       "two mistakes: the softmax runs over the tokens, and the smallest logits are counted", "concept",
       ("dim=-1", "dim=-1, largest=False"), (".softmax(-1).mean(0)", ".softmax(0).mean(0)"))
change(_plain, "two_tokens_and_sigmoids",
       "two mistakes: multiplied by T in place of E, and P is a mean of sigmoids, not of a softmax", "concept",
       ("E * (f * logits.softmax(-1).mean(0)).sum()", "T * (f * logits.sigmoid().mean(0)).sum()"))


# ---------------------------------------------------------------- wrong: counts


change(_plain, "counts_too_short",
       "bincount without minlength: fails (or broadcasts) where the last experts were never chosen", "edge",
       ("F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1))",
        "torch.bincount(logits.topk(k, dim=-1).indices.flatten())"))
change(_plain, "counts_of_the_present",
       "unique leaves out experts that nobody chose: the counts behind such an expert move to other experts", "edge",
       before("f =", "counts = logits.topk(k, dim=-1).indices.unique(return_counts=True)[1]"),
       ("F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1))", "F.pad(counts, (0, E - len(counts)))"))
change(_plain, "counts_in_bytes", "the counts are uint8 and wrap around at 256 choices of an expert", "numerics",
       ("f =", "counts ="), (".to(logits.dtype) / (T * k)", ".to(torch.uint8)"),
       ("f * logits", "counts.to(logits.dtype) / (T * k) * logits"))


@wrong("choices are counted one by one in the logits' type: in bfloat16 the counts stop at 256", kind="numerics")
def counts_in_bfloat16(logits, k):
    T, E = logits.shape
    counts = torch.zeros_like(logits[0])
    for chosen in F.one_hot(logits.topk(k, dim=-1).indices, E).sum(1).to(logits.dtype):
        counts = counts + chosen
    return E * (counts / (T * k) * logits.softmax(-1).mean(0)).sum()


@wrong("whole-number division of the counts: f is 0 unless every choice fell on one expert", kind="numerics")
def whole_shares(logits, k):
    T, E = logits.shape
    counts = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1))
    return E * ((counts // (T * k)).to(logits.dtype) * logits.softmax(-1).mean(0)).sum()


@right("f is float32 whatever the logits are: bfloat16 gives a float32 loss, and float64 loses digits of f")
def shares_in_float32(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).float() / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


change(_plain, "capacity", "each count is at most T // 2 (a capacity): choices beyond it are not counted", "concept",
       ("f =", "counts ="), (".to(logits.dtype) / (T * k)", ".clamp(max=max(T // 2, 1))"),
       ("f * logits", "counts.to(logits.dtype) / (T * k) * logits"))


@wrong("only the first 64 tokens enter f: longer batches are counted in part", kind="edge")
def first_tokens(logits, k):
    E = logits.shape[-1]
    chosen = F.one_hot(logits[:64].topk(k, dim=-1).indices, E).to(logits.dtype)
    return E * (chosen.mean((0, 1)) * logits.softmax(-1).mean(0)).sum()


# ---------------------------------------------------------------- wrong: numbers


change(_plain, "exponentials",
       "exponentials without the largest logit subtracted overflow for large logits", "numerics",
       before("return", "P = logits.exp() / logits.exp().sum(-1, keepdim=True)"),
       ("logits.softmax(-1).mean(0)", "P.mean(0)"))
change(_plain, "one_maximum_for_all",
       "the largest logit of all tokens is subtracted, not that of each: a token far below it gets 0/0", "numerics",
       before("return", "powers = (logits - logits.max()).exp()"),
       ("logits.softmax(-1).mean(0)", "(powers / powers.sum(-1, keepdim=True)).mean(0)"))
change(_plain, "mean_subtracted", "each token's mean logit is subtracted, not its largest: exponentials overflow where "
       "logits lie far apart", "numerics",
       before("return", "powers = (logits - logits.mean(-1, keepdim=True)).exp()"),
       ("logits.softmax(-1).mean(0)", "(powers / powers.sum(-1, keepdim=True)).mean(0)"))
change(_plain, "epsilon_in_the_sum",
       "10^-3 is added to the sum of the exponentials, so that the probabilities sum to less than 1", "numerics",
       before("return", "powers = (logits - logits.amax(-1, keepdim=True)).exp()"),
       ("logits.softmax(-1).mean(0)", "(powers / (powers.sum(-1, keepdim=True) + 1e-3)).mean(0)"))
change(_plain, "limited",
       "logits are limited to ±20 before the softmax, so that larger ones get equal probabilities", "numerics",
       (".softmax(-1).mean(0)", ".clamp(-20, 20).softmax(-1).mean(0)"))
change(_plain, "small_probabilities_cut_off",
       "probabilities below 0.001 are cut off to 0 before their mean", "numerics",
       ("logits.softmax(-1).mean(0)", "F.threshold(logits.softmax(-1), 1e-3, 0.0).mean(0)"))


@right("computed in float32 and converted back: float64 loses digits, and logits beyond float32 give NaN")
def there_and_back_to_float32(logits, k):
    z = logits.float()
    T, E = z.shape
    f = F.one_hot(z.topk(k, dim=-1).indices, E).sum((0, 1)).float() / (T * k)
    return (E * (f * z.softmax(-1).mean(0)).sum()).to(logits.dtype)


change(_plain, "chosen_by_probability", "the choices are those of the largest probabilities: logits closer than the "
       "softmax resolves tie there", "numerics",
       before("f =", "P = logits.softmax(-1)"), ("logits.topk", "P.topk"), ("logits.softmax(-1).mean(0)", "P.mean(0)"))
change(_plain, "sum_token_by_token", "the probabilities are added token by token in the logits' type: in bfloat16 "
       "their sum stops growing", "numerics",
       before("return", """
        P = torch.zeros_like(logits[0])
        for row in logits.softmax(-1):
            P = P + row"""),
       ("logits.softmax(-1).mean(0)", "(P / T)"))


# ---------------------------------------------------------------- wrong: shapes and layouts


@wrong("view(-1) on logits fails for a transposed or expanded layout", kind="layout")
def by_view(logits, k):
    T, E = logits.shape
    flat = logits.view(-1)
    starts = torch.arange(T, device=logits.device).unsqueeze(1) * E
    experts = flat[starts + torch.arange(E, device=logits.device)].topk(k, dim=-1).indices
    f = F.one_hot(experts, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


change(_plain, "squeezed",
       "squeeze() on the probabilities: with T = 1 the mean runs over the experts, not over the tokens", "shape",
       (".mean(0)", ".squeeze().mean(0)"))
change(_plain, "one_entry", "the loss has the shape [1] and not []", "shape",
       (".sum()", ".sum(-1, keepdim=True)"))
change(_plain, "not_summed", "the products f_e P_e come back as [E], without their sum", "shape",
       ("(f * logits.softmax(-1).mean(0)).sum()", "f * logits.softmax(-1).mean(0)"))
change(_plain, "nothing_to_balance", "with E = 1 the loss is 0 (nothing to balance), and it has to be 1", "edge",
       before("f =", """
        if E == 1:
            return 0 * logits.sum()"""))
change(_plain, "one_token_is_balanced",
       "with T = 1 the loss is 1 for any logits, as if one token could not be unbalanced", "edge",
       before("f =", """
        if T == 1:
            return logits.softmax(-1).sum()"""))


# ---------------------------------------------------------------- wrong: gradients


change(_plain, "detached", "P is detached: no gradient reaches the logits", "gradient",
       (".mean(0)", ".mean(0).detach()"))
change(_plain, "rebuilt", "the loss is rebuilt from its item(), so that gradients end there", "gradient",
       ("return E * (f * logits.softmax(-1).mean(0)).sum()", """
        loss = E * (f * logits.softmax(-1).mean(0)).sum()
        return torch.tensor(loss.item(), dtype=logits.dtype, device=logits.device)"""))


@wrong("straight-through: the loss is right, but a gradient flows through f too, as if f were the mean of the gates",
       kind="gradient")
def straight_through(logits, k):
    T, E = logits.shape
    values, experts = logits.topk(k, dim=-1)
    gates = torch.zeros_like(logits).scatter(-1, experts, values.softmax(-1)).mean(0)
    f = F.one_hot(experts, E).sum((0, 1)).to(logits.dtype) / (T * k) + (gates - gates.detach())
    return E * (f * logits.softmax(-1).mean(0)).sum()


change(_plain, "sum_detached",
       "the sum of the exponentials is detached: the loss is right, its gradient lacks the part of the sum", "gradient",
       before("return", "powers = (logits - logits.amax(-1, keepdim=True).detach()).exp()"),
       ("logits.softmax(-1).mean(0)", "(powers / powers.sum(-1, keepdim=True).detach()).mean(0)"))


@wrong("logits that were not chosen by their token are detached: the loss is right, their gradient is missing",
       kind="gradient")
def gradient_of_the_chosen_only(logits, k):
    T, E = logits.shape
    experts = logits.topk(k, dim=-1).indices
    chosen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, experts, True)
    f = chosen.sum(0).to(logits.dtype) / (T * k)
    return E * (f * torch.where(chosen, logits, logits.detach()).softmax(-1).mean(0)).sum()


@wrong("1 / (sum of e^(z_j − z_e)) overflows on the way: the loss is right, but its gradient is NaN", kind="gradient")
def reciprocal_of_a_sum(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    P = 1 / torch.stack([(logits - logits[:, e : e + 1]).exp().sum(-1) for e in range(E)], dim=-1)
    return E * (f * P.mean(0)).sum()


change(_plain, "gradient_of_the_logarithm",
       "the loss is right, but its gradient is that of its logarithm, 1/loss times the right one", "gradient",
       ("return E * (f * logits.softmax(-1).mean(0)).sum()", """
        loss = E * (f * logits.softmax(-1).mean(0)).sum()
        return loss.detach() + (loss.log() - loss.log().detach())"""))


# ---------------------------------------------------------------- wrong: interface, types, state


change(_plain, "a_number", "a Python number comes back, not a tensor", "interface",
       ("return E * (f * logits.softmax(-1).mean(0)).sum()",
        "return (E * (f * logits.softmax(-1).mean(0)).sum()).item()"))
change(_plain, "with_both_vectors", "loss, f and P come back as a tuple, not the loss alone", "interface",
       ("return E * (f * logits.softmax(-1).mean(0)).sum()", """
        P = logits.softmax(-1).mean(0)
        return E * (f * P).sum(), f, P"""))


@wrong("the counts are compared with an arange on the CPU, which fails with logits on another device", kind="interface")
def experts_on_the_cpu(logits, k):
    T, E = logits.shape
    experts = logits.topk(k, dim=-1).indices
    f = (experts.reshape(-1, 1) == torch.arange(E)).sum(0).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


@wrong("the shares are added to a zeros tensor of float32, which fails for float64 and bfloat16", kind="interface")
def zeros_without_type(logits, k):
    T, E = logits.shape
    experts = logits.topk(k, dim=-1).indices.flatten()
    shares = torch.full(experts.shape, 1 / (T * k), dtype=logits.dtype, device=logits.device)
    f = torch.zeros(E, device=logits.device).index_add(0, experts, shares)
    return E * (f * logits.softmax(-1).mean(0)).sum()


change(_plain, "shifted_in_place", "each token's largest logit is subtracted from the input in place", "interface",
       before("f =", """
        with torch.no_grad():
            logits.sub_(logits.amax(-1, keepdim=True))"""))


@wrong("choices are found by rounds of argmax that overwrite the input with −∞ (P is computed before)",
       kind="interface")
def input_used_up(logits, k):
    T, E = logits.shape
    P, counts = logits.softmax(-1).mean(0), torch.zeros(E, dtype=torch.int64, device=logits.device)
    z = logits.detach()
    for _ in range(k):
        best = z.argmax(-1, keepdim=True)
        counts += torch.bincount(best.flatten(), minlength=E)
        z.scatter_(-1, best, -math.inf)
    return E * (counts.to(logits.dtype) / (T * k) * P).sum()


_average = {}


change(_plain, "running_average", "f is a running average over the calls (kept for each E), so that later calls depend "
       "on earlier ones", "interface",
       before("return", """
        if E in _average:
            f = 0.9 * _average[E].to(f) + 0.1 * f
        _average[E] = f"""))


@right("the second argument is called top_k, so that k by name fails")
def other_name(logits, top_k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(top_k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * top_k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


change(_plain, "other_order",
       "the arguments stand in the order (k, logits), so that a call by position fails", "interface",
       ("logits, k", "k, logits"))
