"""Test answers for perplexity (assignment 11): right ones in unusual styles, wrong ones with what is wrong about them."""

import math

import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, unpad_sequence

from answers import before, change, left_open, right, wrong


def _nll(logits, tokens):
    """−log p of each predicted token, [B, N − 1]."""
    return F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none")


def _inside(tokens, lengths):
    """True where a predicted token belongs to its text, [B, N − 1]."""
    return torch.arange(1, tokens.shape[1], device=tokens.device) < lengths[:, None]


def _both(loss):
    return loss, loss.exp()


# -------------------------------------------------------------------------------------------------------------- right


@right("padding becomes ignore_index, one cross_entropy over all positions")
def ignored_padding(logits, tokens, lengths):
    B, N, V = logits.shape
    targets = tokens[:, 1:].masked_fill(torch.arange(1, N, device=tokens.device) >= lengths.unsqueeze(1), -100)
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, V), targets.reshape(-1))
    return loss, torch.exp(loss)


@right("the texts are cut out in a loop and joined to one long list of pairs")
def cut_out(logits, tokens, lengths):
    ends = lengths.tolist()
    z = torch.cat([line[: end - 1] for line, end in zip(logits, ends)])
    t = torch.cat([line[1:end] for line, end in zip(tokens, ends)])
    loss = F.cross_entropy(z, t)
    return loss, loss.detach().exp()


@right("gather from log_softmax, a Boolean mask selects the pairs")
def gathered(logits, tokens, lengths):
    log_p = logits[:, :-1].log_softmax(dim=-1).gather(-1, tokens[:, 1:, None])[..., 0]
    places = torch.arange(tokens.shape[1] - 1, device=tokens.device)
    loss = -log_p[places + 1 < lengths[:, None]].mean()
    return loss, loss.exp()


@right("logsumexp minus the token's own logit, the sum by where, divided by the sum of lengths − 1")
def by_logsumexp(logits, tokens, lengths):
    z = logits[:, :-1]
    costs = z.logsumexp(-1) - torch.take_along_dim(z, tokens[:, 1:].unsqueeze(-1), dim=-1).squeeze(-1)
    inside = _inside(tokens, lengths)
    loss = torch.where(inside, costs, 0).sum() / (lengths - 1).sum()
    return loss, loss.exp()


@right("nonzero gives the pairs' addresses, which index logits and tokens one position apart")
def by_addresses(logits, tokens, lengths):
    n = torch.arange(tokens.shape[1], device=tokens.device)
    b, n = ((n >= 1) & (n < lengths[:, None])).nonzero(as_tuple=True)
    log_p = logits[b, n - 1].log_softmax(-1)
    loss = log_p[torch.arange(len(b), device=b.device), tokens[b, n]].neg().mean()
    return loss, torch.exp(loss)


@right("packed sequences of the lines with at least two tokens")
def packed(logits, tokens, lengths):
    real = lengths > 1
    sizes = (lengths[real] - 1).cpu()
    z = pack_padded_sequence(logits[real, :-1], sizes, batch_first=True, enforce_sorted=False)
    t = pack_padded_sequence(tokens[real, 1:], sizes, batch_first=True, enforce_sorted=False)
    return _both(F.cross_entropy(z.data, t.data))


@right("calls itself for both halves of the batch: a sum and a count come back from each")
def halves(logits, tokens, lengths):
    def total(z, t, ends):
        if len(ends) > 1:
            middle = len(ends) // 2
            first = total(z[:middle], t[:middle], ends[:middle])
            second = total(z[middle:], t[middle:], ends[middle:])
            return first[0] + second[0], first[1] + second[1]
        end = ends[0]
        return F.cross_entropy(z[0, : end - 1], t[0, 1:end], reduction="sum"), end - 1

    amount, count = total(logits, tokens, lengths.tolist())
    loss = amount / count
    return loss, loss.exp()


@right("running sums along each line, read where its text ends")
def running_sums(logits, tokens, lengths):
    sums = F.pad(_nll(logits, tokens).cumsum(1), (1, 0))
    per_text = sums.gather(1, (lengths - 1).unsqueeze(1))
    return _both(per_text.sum() / (lengths.sum() - len(lengths)))


@right("torch.distributions.Categorical, and the perplexity as a power of e")
def categorical(logits, tokens, lengths):
    model = torch.distributions.Categorical(logits=logits[:, :-1], validate_args=False)
    loss = -model.log_prob(tokens[:, 1:])[_inside(tokens, lengths)].mean()
    return loss, math.e**loss


@right("unpad_sequence, then a weighted mean of the means of the texts that predict something")
def weighted_means(logits, tokens, lengths):
    z, t = (unpad_sequence(values, lengths, batch_first=True) for values in (logits, tokens))
    M = int(lengths.sum()) - len(lengths)
    loss = sum(F.cross_entropy(a[:-1], b[1:]) * ((len(b) - 1) / M) for a, b in zip(z, t) if len(b) > 1)
    return loss, loss.exp()


@right("all N positions with the tokens rolled by one, the last position of each text left out")
def rolled(logits, tokens, lengths):
    targets = tokens.roll(-1, dims=1)
    keep = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens) < (lengths - 1).unsqueeze(-1)
    loss = F.nll_loss(F.log_softmax(logits[keep], dim=-1), targets[keep])
    return loss, torch.special.expm1(loss) + 1


@right("positions in the outer loop: the lines whose text goes on there")
def position_by_position(logits, tokens, lengths):
    costs = []
    for n in range(1, int(lengths.max())):
        alive = lengths > n
        costs.append(F.cross_entropy(logits[alive, n - 1], tokens[alive, n], reduction="none"))
    return _both(torch.cat(costs).mean())


@right("vocabulary first: log_softmax along axis 0 of a permuted layout, tokens picked with a Boolean one-hot mask")
def vocabulary_first(logits, tokens, lengths):
    log_p = F.log_softmax(logits.permute(2, 0, 1)[..., :-1], dim=0)
    own = torch.arange(logits.shape[-1], device=logits.device)[:, None, None] == tokens[:, 1:]
    loss = log_p[own & _inside(tokens, lengths)].mean().neg()
    return loss, loss.exp()


# ----------------------------------------------------------------------------------------------------- wrong: concept


@wrong("no shift: the logits at position n are compared with token n instead of n + 1", kind="concept")
def no_shift(logits, tokens, lengths):
    inside = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
    return _both(F.cross_entropy(logits[inside], tokens[inside]))


@wrong("shift in the other direction: the logits at position n predict token n − 1", kind="concept")
def shift_backwards(logits, tokens, lengths):
    costs = F.cross_entropy(logits[:, 1:].mT, tokens[:, :-1], reduction="none")
    return _both(costs[_inside(tokens, lengths)].mean())


@wrong("the mean of the texts' means: a token of a short text counts more than one of a long text", kind="concept")
def mean_of_means(logits, tokens, lengths):
    inside = _inside(tokens, lengths)
    sums = torch.where(inside, _nll(logits, tokens), 0).sum(1)
    real = lengths > 1
    return _both((sums[real] / (lengths[real] - 1)).mean())


@wrong("the texts' means are weighted with lengths, not with lengths − 1", kind="concept")
def weighted_with_lengths(logits, tokens, lengths):
    sums = torch.where(_inside(tokens, lengths), _nll(logits, tokens), 0).sum(1)
    means = sums / (lengths - 1).clamp(min=1)
    return _both((means * lengths).sum() / lengths.sum())


@wrong("the mask belongs to the positions that predict: one token of padding of each text is counted", kind="concept")
def one_of_the_padding(logits, tokens, lengths):
    mask = torch.arange(tokens.shape[1] - 1, device=tokens.device) < lengths[:, None]
    return _both(_nll(logits, tokens)[mask].mean())


@wrong("the last token of each text is left out, as if it were an end mark", kind="concept")
def last_token_left_out(logits, tokens, lengths):
    mask = torch.arange(1, tokens.shape[1], device=tokens.device) < lengths[:, None] - 1
    loss = torch.where(mask, _nll(logits, tokens), 0).sum() / mask.sum().clamp(min=1)
    return _both(loss)


# Right, and not registered: answers below are changes of it.
def _plain(logits, tokens, lengths):
    return _both(_nll(logits, tokens)[_inside(tokens, lengths)].mean())


change(_plain, "padding_counts", "lengths is never used: padding counts like text", "concept",
       ("_nll(logits, tokens)[_inside(tokens, lengths)].mean()", "_nll(logits, tokens).mean()"))


@wrong("token 0 is taken for the padding, and lengths is never used", kind="concept")
def zero_is_padding(logits, tokens, lengths):
    return _both(F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], ignore_index=0))


@wrong("beside the padding, predicted tokens that are 0 are left out as well", kind="edge")
def zero_left_out_too(logits, tokens, lengths):
    targets = tokens[:, 1:].masked_fill(~_inside(tokens, lengths), 0)
    return _both(F.cross_entropy(logits[:, :-1].mT, targets, ignore_index=0))


@wrong("the masked sum is divided by all pairs, B (N − 1), and not by M", kind="concept")
def divided_by_all(logits, tokens, lengths):
    return _both(torch.where(_inside(tokens, lengths), _nll(logits, tokens), 0).mean())


@wrong("the sum is divided by the number of tokens, the sum of lengths, and not by M", kind="concept")
def divided_by_tokens(logits, tokens, lengths):
    return _both(_nll(logits, tokens)[_inside(tokens, lengths)].sum() / lengths.sum())


@wrong("M is the sum of lengths minus 1, once for the batch, not once for each text", kind="concept")
def one_first_token(logits, tokens, lengths):
    return _both(_nll(logits, tokens)[_inside(tokens, lengths)].sum() / (lengths.sum() - 1))


@wrong("the loss is the sum over the predicted tokens, not divided; the perplexity is right", kind="concept")
def sum_not_mean(logits, tokens, lengths):
    costs = _nll(logits, tokens)[_inside(tokens, lengths)]
    return costs.sum(), costs.mean().exp()


@wrong("the loss is in bits (logarithm to base 2); the perplexity, 2 to its power, is right", kind="concept")
def in_bits(logits, tokens, lengths):
    loss = _nll(logits, tokens)[_inside(tokens, lengths)].mean() / math.log(2)
    return loss, torch.exp2(loss)


@wrong("the perplexity is 2 to the power of a loss in nats", kind="concept")
def power_of_two(logits, tokens, lengths):
    loss = _nll(logits, tokens)[_inside(tokens, lengths)].mean()
    return loss, 2**loss


@wrong("the perplexity is exp(−loss), the geometric mean of the probabilities, at most 1", kind="concept")
def inverse_perplexity(logits, tokens, lengths):
    loss = _nll(logits, tokens)[_inside(tokens, lengths)].mean()
    return loss, torch.exp(-loss)


change(sum_not_mean, "mean_of_exponentials",
       "the perplexity is the mean of 1/p, the exponentials averaged, not the exponential of the average", "concept",
       ("costs.sum(), costs.mean().exp()", "costs.mean(), costs.exp().mean()"))


@wrong("the sign is missing: the loss is the mean of log p, and the perplexity its exponential", kind="concept")
def sign_missing(logits, tokens, lengths):
    return _both(-_nll(logits, tokens)[_inside(tokens, lengths)].mean())


change(_plain, "softmax_twice", "cross_entropy is given probabilities: the softmax is taken twice", "concept",
       ("_nll(logits, tokens)", "_nll(logits.softmax(-1), tokens)"))


@wrong("the softmax runs over the positions and not over the vocabulary", kind="shape")
def softmax_over_positions(logits, tokens, lengths):
    log_p = logits.log_softmax(1)[:, :-1].gather(-1, tokens[:, 1:, None]).squeeze(-1)
    return _both(-log_p[_inside(tokens, lengths)].mean())


# ------------------------------------------------------------------------------------------------------- wrong: shape


@wrong(
    "the lines are joined before the shift: the last position of one line predicts the first token of the next",
    kind="shape",
)
def joined_first(logits, tokens, lengths):
    z, t = logits.flatten(0, 1)[:-1], tokens.flatten()[1:]
    inside = (torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]).flatten()[1:]
    return _both(F.cross_entropy(z[inside], t[inside]))


@wrong("reshape(B, V, N − 1) instead of a transposition mixes logits of different positions", kind="shape")
def reshaped_not_transposed(logits, tokens, lengths):
    B, N, V = logits.shape
    costs = F.cross_entropy(logits[:, :-1].reshape(B, V, N - 1), tokens[:, 1:], reduction="none")
    return _both(costs[_inside(tokens, lengths)].mean())


@wrong("cross_entropy gets [B, N − 1, V] and takes axis 1 for the vocabulary: fails unless V = N − 1", kind="shape")
def vocabulary_in_the_last_place(logits, tokens, lengths):
    costs = F.cross_entropy(logits[:, :-1], tokens[:, 1:], reduction="none")
    return _both(costs[_inside(tokens, lengths)].mean())


change(sum_not_mean, "one_entry", "both come back in the shape [1] and not []", "shape",
       ("return costs.sum(), costs.mean().exp()", "return _both(costs.mean(0, keepdim=True))"))


@wrong(
    "squeeze() on logits and tokens: a batch of one text, or a vocabulary of one token, loses its axis", kind="shape"
)
def squeezed(logits, tokens, lengths):
    z, t = logits[:, :-1].squeeze(), tokens[:, 1:].squeeze()
    costs = -z.log_softmax(-1).gather(-1, t.unsqueeze(-1)).squeeze(-1)
    return _both(costs[_inside(tokens, lengths)].mean())


@wrong("every line is cut at the length of the first text", kind="edge")
def length_of_the_first(logits, tokens, lengths):
    end = int(lengths[0])
    costs = _nll(logits[:, : max(end, 2)], tokens[:, : max(end, 2)])
    return _both(costs.mean())


# -------------------------------------------------------------------------------------------------------- wrong: edge


@wrong("packed sequences expect lengths in descending order: other orders raise an exception", kind="edge")
def descending_only(logits, tokens, lengths):
    real = lengths > 1
    sizes = (lengths[real] - 1).cpu()
    z = pack_padded_sequence(logits[real, :-1], sizes, batch_first=True)
    t = pack_padded_sequence(tokens[real, 1:], sizes, batch_first=True)
    return _both(F.cross_entropy(z.data, t.data))


@wrong("a text of a single token gives 0/0: the means of the texts are weighted, and 0 times NaN is NaN", kind="edge")
def nan_of_a_single_token(logits, tokens, lengths):
    ends = lengths.tolist()
    means = torch.stack([F.cross_entropy(z[: e - 1], t[1:e]) for z, t, e in zip(logits, tokens, ends)])
    return _both((means * (lengths - 1)).sum() / (lengths - 1).sum())


change(sum_not_mean, "single_token_counts", "a text of a single token adds 1 to M", "edge",
       ("return costs.sum(), costs.mean().exp()", "return _both(costs.sum() / (lengths - 1).clamp(min=1).sum())"))


@wrong("a text of a single token predicts the padding behind it: lengths below 2 become 2", kind="edge")
def at_least_two(logits, tokens, lengths):
    return _both(_nll(logits, tokens)[_inside(tokens, lengths.clamp(min=2))].mean())


@wrong(
    "the end of a text is looked up as lengths modulo N, so that a text that fills its line is left out", kind="edge"
)
def full_lines_left_out(logits, tokens, lengths):
    costs = torch.where(_inside(tokens, lengths % tokens.shape[1]), _nll(logits, tokens), 0)
    return _both(costs.sum() / (lengths - 1).sum())


change(_plain, "first_positions", "only the first 64 positions of a line are looked at", "edge",
       before("return", "logits, tokens = logits[:, :64], tokens[:, :64]"))


@wrong("perplexity is limited to the size of the vocabulary, as if no model could be worse than guessing", kind="edge")
def limited_to_the_vocabulary(logits, tokens, lengths):
    loss = _nll(logits, tokens)[_inside(tokens, lengths)].mean()
    return loss, loss.exp().clamp(max=logits.shape[-1])


# ---------------------------------------------------------------------------------------------------- wrong: numerics


change(_plain, "in_two_steps", "the logarithm of the softmax in two steps: an unlikely token has probability 0 and an "
       "infinite loss", "numerics",
       before("return", "p = logits[:, :-1].softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)"),
       ("_nll(logits, tokens)", "-p"), (".mean()", ".log().mean()"))


@wrong("10^-9 is added to the probabilities: an unlikely token never costs more than 20.7", kind="numerics")
def epsilon(logits, tokens, lengths):
    p = logits[:, :-1].softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    return _both(-(p[_inside(tokens, lengths)] + 1e-9).log().mean())


@wrong("the sum of exponentials without the largest logit subtracted overflows for large logits", kind="numerics")
def exponentials(logits, tokens, lengths):
    z = logits[:, :-1]
    costs = z.exp().sum(-1).log() - z.gather(-1, tokens[:, 1:, None]).squeeze(-1)
    return _both(costs[_inside(tokens, lengths)].mean())


change(exponentials, "one_maximum_for_all",
       "one largest logit for the whole batch is subtracted: rows far below it get log 0", "numerics",
       ("logits[:, :-1]", "logits[:, :-1] - logits.max()"))
change(sum_not_mean, "by_product", "the perplexity is a root of the product of the probabilities, which underflows "
       "after some dozen tokens", "numerics",
       ("costs.sum(), costs.mean().exp()", "costs.mean(), (-costs).exp().prod() ** (-1 / len(costs))"))


@right("computed in float32 and converted back: float64 loses digits")
def there_and_back_to_float32(logits, tokens, lengths):
    loss = _nll(logits.float(), tokens)[_inside(tokens, lengths)].mean().to(logits.dtype)
    return loss, loss.exp()


@wrong("token by token in the logits' type: in bfloat16 the sum stops growing", kind="numerics")
def sum_token_by_token(logits, tokens, lengths):
    total = torch.zeros((), dtype=logits.dtype, device=logits.device)
    costs = _nll(logits, tokens)[_inside(tokens, lengths)]
    for cost in costs:
        total = total + cost
    return _both(total / len(costs))


@wrong("the lengths are kept as int8, which wraps around at 128", kind="numerics")
def small_integers(logits, tokens, lengths):
    lengths = lengths.to(torch.int8)
    places = torch.arange(1, tokens.shape[1], device=tokens.device)
    return _both(_nll(logits, tokens)[places < lengths[:, None]].mean())


@left_open(
    "padding is left out by a product with the mask: an infinite −log p in the padding (numbers near the "
    "largest of the type) gives NaN",
    kind="numerics",
)
def product_with_the_mask(logits, tokens, lengths):
    inside = _inside(tokens, lengths)
    return _both((_nll(logits, tokens) * inside).sum() / inside.sum())


# ------------------------------------------------------------------------------------------- wrong: layout, gradients


@wrong("view on tokens and logits fails where they are no contiguous block", kind="layout")
def by_view(logits, tokens, lengths):
    B, N, V = logits.shape
    z, t = logits.view(B * N, V), tokens.view(B * N)
    starts = torch.arange(B, device=t.device)[:, None] * N + torch.arange(N - 1, device=t.device)
    starts = starts[_inside(tokens, lengths)]
    return _both(F.cross_entropy(z[starts], t[starts + 1]))


change(_plain, "detached", "the loss is detached: no gradient reaches the logits", "gradient",
       ("_nll(logits, tokens)", "_nll(logits.detach(), tokens)"))
change(exponentials, "normaliser_detached", "the logsumexp is computed without gradients: the loss is right, its "
       "gradient lacks the part of the softmax", "gradient",
       ("z.exp().sum(-1).log()", "z.detach().logsumexp(-1)"))


@wrong("the loss is put together from texts' item(), so that gradients end there", kind="gradient")
def rebuilt(logits, tokens, lengths):
    costs = _nll(logits, tokens)[_inside(tokens, lengths)]
    loss = torch.tensor(sum(costs.double().tolist()) / len(costs), dtype=logits.dtype, device=logits.device)
    return _both(loss)


# ------------------------------------------------------------------------------------------- wrong: interface, state


change(power_of_two, "other_way_round", "the results stand in the other order: (perplexity, loss)", "interface",
       ("loss, 2**loss", "loss.exp(), loss"))


@wrong("the loss alone comes back", kind="interface")
def loss_alone(logits, tokens, lengths):
    return _nll(logits, tokens)[_inside(tokens, lengths)].mean()


change(there_and_back_to_float32, "numbers", "both are Python numbers", "interface",
       ("logits.float()", "logits"), (".to(logits.dtype)", ".item()"), ("loss.exp()", "math.exp(loss)"))
change(power_of_two, "printed", "both are printed, and nothing comes back", "interface",
       ("return loss, 2**loss", "print(loss, loss.exp())"))


@wrong("tokens of the padding are overwritten with -100 in the input", kind="interface")
def padding_overwritten(logits, tokens, lengths):
    places = torch.arange(tokens.shape[1], device=tokens.device)
    tokens[places >= lengths[:, None]] = -100
    return _both(F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:]))


change(one_of_the_padding, "lengths_reduced", "1 is subtracted from lengths in place", "interface",
       before("mask =", "lengths -= 1"))


@wrong("the mask's positions are made on the CPU, which fails with lengths on another device", kind="interface")
def positions_on_the_cpu(logits, tokens, lengths):
    mask = torch.arange(1, tokens.shape[1]) < lengths[:, None]
    return _both(_nll(logits, tokens)[mask].mean())


change(_plain, "always_float32", "the results are float32 whatever the logits are", "interface",
       (".mean()", ".mean().float()"))


_seen = [0.0, 0]


@wrong("sum and count go on over the calls, so that later results depend on earlier ones", kind="interface")
def over_all_calls(logits, tokens, lengths):
    costs = _nll(logits, tokens)[_inside(tokens, lengths)]
    loss = (costs.sum() + _seen[0]) / (len(costs) + _seen[1])
    _seen[0] += float(costs.detach().sum())
    _seen[1] += len(costs)
    return _both(loss)


@wrong("the arguments stand in the order (tokens, logits, lengths), so that a call by position fails", kind="interface")
def other_order(tokens, logits, lengths):
    return _both(_nll(logits, tokens)[_inside(tokens, lengths)].mean())


change(power_of_two, "stacked", "both stand in one tensor [2], which can be unpacked but is no tuple", "interface",
       ("return loss, 2**loss", "return torch.stack([loss, loss.exp()])"), verdict="open")
