"""Answers to balance_loss (assignment 09)."""
import math

import torch
import torch.nn.functional as F
from answers import right, wrong

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


# ---------------------------------------------------------------- wrong: concepts


@wrong("the factor E is missing", kind="concept")
def no_factor(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return (f * logits.softmax(-1).mean(0)).sum()


@wrong("f is divided by T and not by T k, so that it sums to k", kind="concept")
def sums_to_k(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / T
    return E * (f * logits.softmax(-1).mean(0)).sum()


@wrong("P is the sum over the tokens and not the mean", kind="concept")
def sum_of_probabilities(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).sum(0)).sum()


@wrong("the softmax runs over the tokens and not over the experts", kind="concept")
def softmax_over_tokens(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(0).mean(0)).sum()


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


@wrong("f is multiplied by itself in place of P, and 0 times P keeps the graph", kind="concept")
def shares_squared(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * f).sum() + 0 * logits.softmax(-1).mean()


@wrong("P is multiplied by itself: the choices are not counted at all", kind="concept")
def probabilities_squared(logits, k):
    P = logits.softmax(-1).mean(0)
    return logits.shape[-1] * (P * P).sum()


@wrong("the choices of the k smallest logits are counted", kind="concept")
def smallest(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1, largest=False).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


@wrong("experts choose tokens: each expert's k largest logits are counted, not each token's, so that all f are 1/E",
       kind="concept")
def experts_choose(logits, k):
    T, E = logits.shape
    tokens = logits.topk(min(k, T), dim=0).indices
    chosen = torch.zeros_like(logits).scatter(0, tokens, 1.0)
    f = chosen.sum(0) / chosen.sum()
    return E * (f * logits.softmax(-1).mean(0)).sum()


@wrong("the logarithm of P is taken in place of P", kind="concept")
def logarithm_of_p(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return -E * (f * logits.softmax(-1).mean(0).log()).sum()


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


@wrong("the sum is multiplied by the number of tokens T in place of the number of experts E", kind="concept")
def times_the_tokens(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return T * (f * logits.softmax(-1).mean(0)).sum()


@wrong("the factor is the number of experts that were chosen at all, not E", kind="concept")
def times_the_used_experts(logits, k):
    T, E = logits.shape
    counts = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1))
    f = counts.to(logits.dtype) / (T * k)
    return (counts > 0).sum().to(logits.dtype) * (f * logits.softmax(-1).mean(0)).sum()


@wrong("the loss is multiplied by α = 0.01, which is left out here", kind="concept")
def with_alpha(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return 0.01 * E * (f * logits.softmax(-1).mean(0)).sum()


@wrong("1 is subtracted, so that uniform routing gives 0 and not 1", kind="concept")
def minus_one(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum() - 1


@wrong("f is the mean of the gates of the chosen experts (detached) and not the share of the choices", kind="concept")
def gates_for_shares(logits, k):
    values, experts = logits.topk(k, dim=-1)
    f = torch.zeros_like(logits).scatter(-1, experts, values.softmax(-1)).mean(0).detach()
    return logits.shape[-1] * (f * logits.softmax(-1).mean(0)).sum()


@wrong("P is the softmax of the mean logits and not the mean of the softmax", kind="concept")
def softmax_of_the_mean(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * (logits / T).sum(0).softmax(-1)).sum()


@wrong("P is the mean of sigmoids, divided by their sum, not of a softmax", kind="concept")
def sigmoids(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    P = logits.sigmoid() / logits.sigmoid().sum(-1, keepdim=True)
    return E * (f * P.mean(0)).sum()


@wrong("the largest product f_e P_e is taken and not their sum", kind="concept")
def largest_product(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).max()


@wrong("an expert counts as chosen where its probability is above 1/E, not where it is among the k largest",
       kind="concept")
def above_average(logits, k):
    E = logits.shape[-1]
    P = logits.softmax(-1)
    counts = (P > 1 / E).sum(0).to(logits.dtype)
    return E * (counts / counts.sum().clamp(min=1) * P.mean(0)).sum()


@wrong("the factor is E/k and not E, though f is already divided by T k: k divides twice", kind="concept")
def divided_by_k_twice(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E / k * (f * logits.softmax(-1).mean(0)).sum()


@wrong("the router's z-loss, 0.001 times the mean squared logsumexp, is added", kind="concept")
def with_z_loss(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    z_loss = logits.logsumexp(-1).square().mean()
    return E * (f * logits.softmax(-1).mean(0)).sum() + 1e-3 * z_loss


@wrong("1 is added to every count (smoothing), so that experts never chosen have a share above 0", kind="concept")
def smoothed(logits, k):
    T, E = logits.shape
    counts = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) + 1
    return E * (counts / counts.sum() * logits.softmax(-1).mean(0)).sum()


@wrong("the shares are sorted, so that they meet the probabilities of other experts", kind="concept")
def sorted_shares(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f.sort(descending=True).values * logits.softmax(-1).mean(0)).sum()


# ---------------------------------------------------------------- wrong: two mistakes at once


@wrong("two mistakes: the factor E is missing, and f is divided by T and not by T k", kind="concept")
def two_no_factor_and_sum_k(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / T
    return (f * logits.softmax(-1).mean(0)).sum()


@wrong("two mistakes: only first choices are counted (argmax), and P is the sum and not the mean", kind="concept")
def two_first_and_sum(logits, k):
    E = logits.shape[-1]
    f = F.one_hot(logits.argmax(-1), E).to(logits.dtype).mean(0)
    return E * (f * logits.softmax(-1).sum(0)).sum()


@wrong("two mistakes: the softmax runs over the tokens, and the smallest logits are counted", kind="concept")
def two_tokens_and_smallest(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1, largest=False).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(0).mean(0)).sum()


@wrong("two mistakes: multiplied by T in place of E, and P is a mean of sigmoids, not of a softmax", kind="concept")
def two_tokens_and_sigmoids(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return T * (f * logits.sigmoid().mean(0)).sum()


# ---------------------------------------------------------------- wrong: counts


@wrong("bincount without minlength: fails (or broadcasts) where the last experts were never chosen", kind="edge")
def counts_too_short(logits, k):
    T, E = logits.shape
    f = torch.bincount(logits.topk(k, dim=-1).indices.flatten()).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


@wrong("unique leaves out experts that nobody chose: the counts behind such an expert move to other experts",
       kind="edge")
def counts_of_the_present(logits, k):
    T, E = logits.shape
    counts = logits.topk(k, dim=-1).indices.unique(return_counts=True)[1]
    f = F.pad(counts, (0, E - len(counts))).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


@wrong("the counts are uint8 and wrap around at 256 choices of an expert", kind="numerics")
def counts_in_bytes(logits, k):
    T, E = logits.shape
    counts = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(torch.uint8)
    return E * (counts.to(logits.dtype) / (T * k) * logits.softmax(-1).mean(0)).sum()


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


@wrong("each count is at most T // 2 (a capacity): choices beyond it are not counted", kind="concept")
def capacity(logits, k):
    T, E = logits.shape
    counts = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).clamp(max=max(T // 2, 1))
    return E * (counts.to(logits.dtype) / (T * k) * logits.softmax(-1).mean(0)).sum()


@wrong("only the first 64 tokens enter f: longer batches are counted in part", kind="edge")
def first_tokens(logits, k):
    E = logits.shape[-1]
    chosen = F.one_hot(logits[:64].topk(k, dim=-1).indices, E).to(logits.dtype)
    return E * (chosen.mean((0, 1)) * logits.softmax(-1).mean(0)).sum()


# ---------------------------------------------------------------- wrong: numbers


@wrong("exponentials without the largest logit subtracted overflow for large logits", kind="numerics")
def exponentials(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    P = logits.exp() / logits.exp().sum(-1, keepdim=True)
    return E * (f * P.mean(0)).sum()


@wrong("the largest logit of all tokens is subtracted, not that of each: a token far below it gets 0/0",
       kind="numerics")
def one_maximum_for_all(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    powers = (logits - logits.max()).exp()
    return E * (f * (powers / powers.sum(-1, keepdim=True)).mean(0)).sum()


@wrong("each token's mean logit is subtracted, not its largest: exponentials overflow where logits lie far apart",
       kind="numerics")
def mean_subtracted(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    powers = (logits - logits.mean(-1, keepdim=True)).exp()
    return E * (f * (powers / powers.sum(-1, keepdim=True)).mean(0)).sum()


@wrong("10^-3 is added to the sum of the exponentials, so that the probabilities sum to less than 1", kind="numerics")
def epsilon_in_the_sum(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    powers = (logits - logits.amax(-1, keepdim=True)).exp()
    return E * (f * (powers / (powers.sum(-1, keepdim=True) + 1e-3)).mean(0)).sum()


@wrong("logits are limited to ±20 before the softmax, so that larger ones get equal probabilities", kind="numerics")
def limited(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.clamp(-20, 20).softmax(-1).mean(0)).sum()


@wrong("probabilities below 0.001 are cut off to 0 before their mean", kind="numerics")
def small_probabilities_cut_off(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * F.threshold(logits.softmax(-1), 1e-3, 0.0).mean(0)).sum()


@right("computed in float32 and converted back: float64 loses digits, and logits beyond float32 give NaN")
def there_and_back_to_float32(logits, k):
    z = logits.float()
    T, E = z.shape
    f = F.one_hot(z.topk(k, dim=-1).indices, E).sum((0, 1)).float() / (T * k)
    return (E * (f * z.softmax(-1).mean(0)).sum()).to(logits.dtype)


@wrong("the choices are those of the largest probabilities: logits closer than the softmax resolves tie there",
       kind="numerics")
def chosen_by_probability(logits, k):
    T, E = logits.shape
    P = logits.softmax(-1)
    f = F.one_hot(P.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * P.mean(0)).sum()


@wrong("the probabilities are added token by token in the logits' type: in bfloat16 their sum stops growing",
       kind="numerics")
def sum_token_by_token(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    P = torch.zeros_like(logits[0])
    for row in logits.softmax(-1):
        P = P + row
    return E * (f * (P / T)).sum()


# ---------------------------------------------------------------- wrong: shapes and layouts


@wrong("view(-1) on logits fails for a transposed or expanded layout", kind="layout")
def by_view(logits, k):
    T, E = logits.shape
    flat = logits.view(-1)
    starts = torch.arange(T, device=logits.device).unsqueeze(1) * E
    experts = flat[starts + torch.arange(E, device=logits.device)].topk(k, dim=-1).indices
    f = F.one_hot(experts, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


@wrong("squeeze() on the probabilities: with T = 1 the mean runs over the experts, not over the tokens", kind="shape")
def squeezed(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).squeeze().mean(0)).sum()


@wrong("the loss has the shape [1] and not []", kind="shape")
def one_entry(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum(-1, keepdim=True)


@wrong("the products f_e P_e come back as [E], without their sum", kind="shape")
def not_summed(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * f * logits.softmax(-1).mean(0)


@wrong("with E = 1 the loss is 0 (nothing to balance), and it has to be 1", kind="edge")
def nothing_to_balance(logits, k):
    T, E = logits.shape
    if E == 1:
        return 0 * logits.sum()
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


@wrong("with T = 1 the loss is 1 for any logits, as if one token could not be unbalanced", kind="edge")
def one_token_is_balanced(logits, k):
    T, E = logits.shape
    if T == 1:
        return logits.softmax(-1).sum()
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


# ---------------------------------------------------------------- wrong: gradients


@wrong("P is detached: no gradient reaches the logits", kind="gradient")
def detached(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0).detach()).sum()


@wrong("the loss is rebuilt from its item(), so that gradients end there", kind="gradient")
def rebuilt(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    loss = E * (f * logits.softmax(-1).mean(0)).sum()
    return torch.tensor(loss.item(), dtype=logits.dtype, device=logits.device)


@wrong("straight-through: the loss is right, but a gradient flows through f too, as if f were the mean of the gates",
       kind="gradient")
def straight_through(logits, k):
    T, E = logits.shape
    values, experts = logits.topk(k, dim=-1)
    gates = torch.zeros_like(logits).scatter(-1, experts, values.softmax(-1)).mean(0)
    f = F.one_hot(experts, E).sum((0, 1)).to(logits.dtype) / (T * k) + (gates - gates.detach())
    return E * (f * logits.softmax(-1).mean(0)).sum()


@wrong("the sum of the exponentials is detached: the loss is right, its gradient lacks the part of the sum",
       kind="gradient")
def sum_detached(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    powers = (logits - logits.amax(-1, keepdim=True).detach()).exp()
    return E * (f * (powers / powers.sum(-1, keepdim=True).detach()).mean(0)).sum()


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


@wrong("the loss is right, but its gradient is that of its logarithm, 1/loss times the right one",
       kind="gradient")
def gradient_of_the_logarithm(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    loss = E * (f * logits.softmax(-1).mean(0)).sum()
    return loss.detach() + (loss.log() - loss.log().detach())


# ---------------------------------------------------------------- wrong: interface, types, state


@wrong("a Python number comes back, not a tensor", kind="interface")
def a_number(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return (E * (f * logits.softmax(-1).mean(0)).sum()).item()


@wrong("loss, f and P come back as a tuple, not the loss alone", kind="interface")
def with_both_vectors(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    P = logits.softmax(-1).mean(0)
    return E * (f * P).sum(), f, P


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


@wrong("each token's largest logit is subtracted from the input in place", kind="interface")
def shifted_in_place(logits, k):
    T, E = logits.shape
    with torch.no_grad():
        logits.sub_(logits.amax(-1, keepdim=True))
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


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


@wrong("f is a running average over the calls (kept for each E), so that later calls depend on earlier ones",
       kind="interface")
def running_average(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    if E in _average:
        f = 0.9 * _average[E].to(f) + 0.1 * f
    _average[E] = f
    return E * (f * logits.softmax(-1).mean(0)).sum()


@right("the second argument is called top_k, so that k by name fails")
def other_name(logits, top_k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(top_k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * top_k)
    return E * (f * logits.softmax(-1).mean(0)).sum()


@wrong("the arguments stand in the order (k, logits), so that a call by position fails", kind="interface")
def other_order(k, logits):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)).to(logits.dtype) / (T * k)
    return E * (f * logits.softmax(-1).mean(0)).sum()
