"""Right and wrong answers for attention_weights."""

import math

import torch
import torch.nn.functional as F

from answers import change, right, wrong

# ------------------------------------------------------------------------------------------------------------- right


@right("The hints as they stand: -inf where not mask, softmax over the last axis")
def by_the_hints(E, mask):
    return E.masked_fill(~mask.unsqueeze(-2), float("-inf")).softmax(dim=-1)


@right("Adds the logarithm of the mask: 0 at words, -inf at padding")
def adds_log_mask(E, mask):
    return torch.softmax(E + mask.to(E.dtype).log()[..., None, :], dim=-1)


@right("Its own softmax: maximum over the words only, exponentials, division")
def own_softmax(E, mask):
    words = mask[..., None, :]
    scores = torch.where(words, E, -math.inf)
    top = scores.amax(dim=-1, keepdim=True).detach()
    parts = torch.exp(scores - top)
    return parts / parts.sum(dim=-1, keepdim=True)


@right("exp of a log_softmax")
def exp_of_log_softmax(E, mask):
    padding = mask.logical_not().unsqueeze(-2).expand(E.shape)
    return F.log_softmax(torch.masked_fill(E, padding, -torch.inf), -1).exp()


@right("Flattens the batch axes and loops over sentences; the words' scores are picked out and scattered back")
def sentence_by_sentence(E, mask):
    T_y, T_x = E.shape[-2:]
    tables = []
    for scores, words in zip(E.reshape(-1, T_y, T_x), mask.reshape(-1, T_x)):
        places = words.nonzero().squeeze(-1)
        shares = scores[:, places].softmax(-1)
        tables.append(scores.new_zeros(T_y, T_x).index_copy(1, places, shares))
    return torch.stack(tables).reshape(E.shape)


@right("Row by row in Python lists, each row with a softmax of its own")
def row_by_row(E, mask):
    T_x = E.shape[-1]
    wide = mask.unsqueeze(-2).expand_as(E).reshape(-1, T_x)
    rows = []
    for e, m in zip(E.reshape(-1, T_x), wide):
        row = torch.zeros_like(e)
        row[m] = torch.softmax(e[m], 0)
        rows.append(row)
    return torch.stack(rows).view(E.shape)


@right("Batch axes are moved to the back: words first, softmax over axis 0")
def words_to_the_front(E, mask):
    scores = E.movedim(-1, 0)
    words = mask.movedim(-1, 0).unsqueeze(-1)
    return scores.where(words, torch.full_like(scores, -torch.inf)).softmax(0).movedim(0, -1)


@right("Word after word: exponentials of the distance to the row's best word, a running total, one division")
def running_softmax(E, mask):
    top = E.masked_fill(~mask[..., None, :], -torch.inf).max(-1).values.detach()
    parts, total = [], torch.zeros_like(top)
    for i in range(E.shape[-1]):
        word = mask[..., i].unsqueeze(-1)
        part = torch.exp(torch.where(word, E[..., i] - top, -torch.inf))
        parts.append(part)
        total = total + part
    return torch.stack(parts, -1) / total.unsqueeze(-1)


@right("Additive bias built with zeros_like, nn.Softmax as a module, names of its own")
def bias_and_module(E, mask):
    bias = torch.zeros(mask.shape, dtype=E.dtype, device=E.device)
    bias = bias.masked_fill(mask == False, -float("inf"))
    return torch.nn.Softmax(dim=-1)(E + bias.unsqueeze(dim=-2))


@right("Padding is first made 0 and the words' maximum subtracted, then exponentials times the mask")
def exponentials_times_mask(E, mask):
    keep = mask.unsqueeze(-2)
    top = E.masked_fill(~keep, -torch.inf).amax(-1, keepdim=True)
    shifted = (E - top.detach()).masked_fill(~keep, 0)
    parts = shifted.exp() * keep
    return F.normalize(parts, p=1.0, dim=-1, eps=1e-30)


@right("logaddexp-style: subtract the logsumexp of the shifted words, in the end torch.where writes the zeros")
def by_logsumexp(E, mask):
    keep = mask[..., None, :].broadcast_to(E.shape)
    z = torch.where(keep, E, -torch.inf)
    z = z - z.amax(-1, True)
    return torch.where(keep, (z - torch.logsumexp(z, -1, keepdim=True)).exp(), torch.zeros_like(E))


@right("vmap over all batch axes of the plain two-dimensional function")
def by_vmap(E, mask):
    def one(e, m):
        return torch.where(m, e, -torch.inf).softmax(-1)

    for _ in range(mask.dim() - 1):
        one = torch.vmap(one)
    return one(E, mask)


# --------------------------------------------------------------------------------------------------- wrong: helpers


def _masked(E, mask):
    return E.masked_fill(~mask[..., None, :], -torch.inf)


# --------------------------------------------------------------------------------------------------- wrong: concept


@wrong("softmax over the decoder states (axis -2): the columns sum to 1, not the rows", kind="concept")
def softmax_over_decoder_states(E, mask):
    return E.softmax(-2) * mask[..., None, :]


# Right, and not registered: answers below are changes of it.
def _plain(E, mask):
    return _masked(E, mask).softmax(-1)


change(_plain, "mask_inverted",
       "the mask is inverted: words get 0 and padding shares the weight (NaN in a sentence without padding)", "concept",
       ("_masked(E, mask)", "E.masked_fill(mask[..., None, :], -torch.inf)"))


@wrong("the mask is applied after the softmax and the rest is not shared anew, so rows with padding sum to less than 1",
       kind="concept")
def masked_after_softmax(E, mask):
    return E.softmax(-1) * mask[..., None, :]


@wrong("the scores are multiplied by the mask: padding gets the score 0 instead of -inf", kind="concept")
def scores_times_mask(E, mask):
    return (E * mask[..., None, :]).softmax(-1)


change(_plain, "scaled", "the scores are divided by the root of T_x before the softmax", "concept",
       ("_masked(E, mask)", "(_masked(E, mask) / math.sqrt(E.shape[-1]))"))


@wrong("softmax of the negative scores: the worst word gets the largest weight", kind="concept")
def of_negative_scores(E, mask):
    return _masked(-E, mask).softmax(-1)


change(_plain, "no_mask", "the mask is ignored: padding gets weight like words", "concept",
       ("_masked(E, mask)", "E"))


@wrong("the best word gets weight 1 and all others 0 (argmax instead of softmax), without any gradient", kind="concept")
def one_hot_of_the_best(E, mask):
    return F.one_hot(_masked(E, mask).argmax(-1), E.shape[-1]).to(E.dtype)


@wrong("sigmoids, divided by their sum over the words, instead of a softmax", kind="concept")
def normalised_sigmoids(E, mask):
    parts = E.sigmoid() * mask[..., None, :]
    return parts / parts.sum(-1, keepdim=True).clamp(min=torch.finfo(E.dtype).tiny)


change(_plain, "plain_sigmoids", "plain sigmoids at the words, not normalised at all", "concept",
       (".softmax(-1)", ".sigmoid()"))


@wrong("one softmax over decoder states and words together: the whole table of a sentence sums to 1", kind="concept")
def softmax_over_both_axes(E, mask):
    return _masked(E, mask).flatten(-2).softmax(-1).reshape(E.shape)


change(_plain, "mask_on_the_rows", "the mask is laid along the decoder states (a new axis at the end): rows are left "
       "out instead of columns; it raises where T_y and T_x differ (and neither is 1)", "shape",
       ("_masked(E, mask)", "E.masked_fill(~mask[..., :, None], -torch.inf)"))
change(_plain, "mask_shifted", "the mask is used one place too late (rolled to the right)", "concept",
       ("_masked(E, mask)", "_masked(E, mask.roll(1, -1))"))


@wrong("the first place is always taken for a word, whatever the mask says", kind="concept")
def first_place_always_kept(E, mask):
    mask = mask.clone()
    mask[..., 0] = True
    return _masked(E, mask).softmax(-1)


change(_plain, "log_weights", "returns the logarithms of the weights (log_softmax)", "concept",
       ("softmax(-1)", "log_softmax(-1)"))


@wrong("1 is added to the sum of exponentials (as if there were one more word with score 0), so rows sum to less "
       "than 1",
       kind="concept")
def one_more_in_the_sum(E, mask):
    z = F.pad(_masked(E, mask), (1, 0))
    return z.softmax(-1)[..., 1:]


@wrong("what padding got in the softmax is shared equally among the words instead of in proportion", kind="concept")
def shared_equally(E, mask):
    keep = mask[..., None, :]
    A = E.softmax(-1) * keep
    return A + keep * (1 - A.sum(-1, keepdim=True)) / keep.sum(-1, keepdim=True)


change(_plain, "powers_of_two", "powers of 2 instead of e", "concept",
       ("_masked(E, mask)", "(_masked(E, mask) * math.log(2))"))


@wrong("the mask is added to the scores (words get 1 more) instead of leaving padding out", kind="concept")
def mask_added(E, mask):
    return (E + mask[..., None, :]).softmax(-1)


@wrong("padding gets the smallest score of its row instead of -inf, so it keeps some weight", kind="concept")
def padding_gets_the_smallest_score(E, mask):
    return torch.where(mask[..., None, :], E, E.amin(-1, keepdim=True)).softmax(-1)


@wrong("a causal mask is added: decoder state t sees only words up to t (and the first word at any rate)",
       kind="concept")
def causal_too(E, mask):
    T_y, T_x = E.shape[-2:]
    late = torch.arange(T_x, device=E.device) > torch.arange(T_y, device=E.device)[:, None]
    first = mask & (mask.cumsum(-1) == 1)
    return _masked(E, mask).masked_fill(late & ~first[..., None, :], -torch.inf).softmax(-1)


change(_plain, "first_mask_for_all", "the mask of the batch's first sentence is used for all sentences", "concept",
       ("_masked(E, mask)", "_masked(E, mask.reshape(-1, mask.shape[-1])[0])"))


@wrong("the weights are divided by the row's largest one: the best word has 1 and rows sum to more", kind="concept")
def divided_by_the_largest(E, mask):
    z = _masked(E, mask)
    return (z - z.amax(-1, keepdim=True)).exp()


@wrong("the weights are also divided by the number of words, so that rows sum to 1/n", kind="concept")
def divided_by_the_number_of_words(E, mask):
    return _masked(E, mask).softmax(-1) / mask.sum(-1)[..., None, None]


@wrong("exp(e) - 1 in place of exp(e), so a word of score 0 gets no weight and low scores negative ones",
       kind="concept")
def by_expm1(E, mask):
    parts = torch.expm1(E) * mask[..., None, :]
    return parts / parts.sum(-1, keepdim=True)


change(by_expm1, "in_proportion_to_relu", "weights in proportion to relu of the scores, without any exponential (0/0 "
       "where no score is above 0)", "concept",
       ("torch.expm1(E)", "E.relu()"))


@wrong("rows of decoder states whose number is that of a padded place are set to 0, as if the table were a "
       "self-attention's",
       kind="concept")
def rows_left_out_too(E, mask):
    T_y, T_x = E.shape[-2:]
    rows = F.pad(mask, (0, max(0, T_y - T_x)), value=True)[..., :T_y]
    return _masked(E, mask).softmax(-1) * rows[..., :, None]


change(_plain, "one_minus_a_boolean", "1 - mask on a boolean tensor: torch raises at once", "interface",
       ("_masked(E, mask)", "(E - (1 - mask[..., None, :]) * 1e9)"))


@wrong("(not mask) times -inf is added: 0 times -inf is NaN, so all weights are NaN", kind="numerics")
def zero_times_infinity(E, mask):
    return (E + (~mask[..., None, :]).to(E.dtype) * -torch.inf).softmax(-1)


# --------------------------------------------------------------------------------------------- wrong: two mistakes


@wrong("two mistakes: softmax over the decoder states, and the mask is inverted", kind="concept")
def two_axis_and_mask(E, mask):
    return E.softmax(-2) * ~mask[..., None, :]


change(softmax_over_decoder_states, "two_scaled_and_late", "two mistakes: scores are scaled by the root of T_x, and "
       "the mask is applied after the softmax without sharing anew", "concept",
       ("E.softmax(-2)", "(E / E.shape[-1] ** 0.5).softmax(-1)"))


@wrong("two mistakes: exponentials without a maximum (overflow), and the sum runs over padding too", kind="numerics")
def two_exp_and_sum(E, mask):
    parts = E.exp()
    return parts * mask[..., None, :] / parts.sum(-1, keepdim=True)


change(_plain, "two_axis_and_fill", "two mistakes: the mask's new axis is put at a fixed place (one batch axis only), "
       "and padding gets -1e4 instead of -inf", "layout",
       ("_masked(E, mask)", "E.masked_fill(~mask[:, None], -1e4)"))


@wrong("two mistakes: powers of 2 instead of e, and words are taken to stand at the beginning (mask as a count)",
       kind="concept")
def two_base_and_prefix(E, mask):
    prefix = torch.arange(E.shape[-1], device=E.device) < mask.sum(-1, keepdim=True)
    return (_masked(E, prefix) * math.log(2)).softmax(-1)


# -------------------------------------------------------------------------------------------------- wrong: numerics


change(by_expm1, "exp_without_maximum", "exponentials without subtracting a maximum: overflow to inf/inf for large "
       "scores, 0/0 for very low ones", "numerics",
       (".expm1(E) * mask[..., None, :]", ".where(mask[..., None, :], E, -torch.inf).exp()"))


@wrong("one maximum for the whole batch: a sentence with much lower scores underflows to 0/0", kind="numerics")
def one_maximum_for_the_batch(E, mask):
    z = _masked(E, mask)
    parts = (z - z.max().detach()).exp()
    return parts / parts.sum(-1, keepdim=True)


change(one_maximum_for_the_batch, "one_maximum_for_the_sentence", "one maximum for all decoder states of a sentence: a "
       "row with much lower scores than another underflows to 0/0", "numerics",
       ("z.max().detach()", "z.amax((-2, -1), keepdim=True)"))
change(one_maximum_for_the_batch, "maximum_not_below_zero",
       "the maximum is never taken below 0, so rows whose scores are all far below zero underflow to 0/0", "numerics",
       ("z.max().detach()", "z.amax(-1, keepdim=True).clamp(min=0)"))


@wrong("the maximum includes padding: where padding scores far above the words, these underflow to 0/0",
       kind="numerics")
def maximum_includes_padding(E, mask):
    keep = mask[..., None, :]
    parts = torch.where(keep, (E - E.amax(-1, keepdim=True)).exp(), 0.0)
    return parts / parts.sum(-1, keepdim=True)


@wrong("softmax over everything, then mask and division by the rest, with 1e-9 for safety: where padding scores far "
       "above "
       "the words these get too little or 0", kind="numerics")
def shared_anew_with_eps(E, mask):
    A = E.softmax(-1) * mask[..., None, :]
    return A / (A.sum(-1, keepdim=True) + 1e-9)


@wrong("0.001 is added to the sum of exponentials, so rows sum to visibly less than 1", kind="numerics")
def eps_in_the_sum(E, mask):
    z = _masked(E, mask)
    parts = (z - z.amax(-1, keepdim=True)).exp()
    return parts / (parts.sum(-1, keepdim=True) + 1e-3)


change(_plain, "filled_with_minus_1e9", "padding gets the score -1e9 instead of -inf: where all scores are far below "
       "that, padding takes all the weight", "numerics",
       ("_masked(E, mask)", "E.masked_fill(~mask[..., None, :], -1e9)"))
change(_plain, "minus_10000_added", "10000 is subtracted from padding's scores instead of setting them to -inf: "
       "padding that scores that much more than the words keeps its weight", "numerics",
       ("_masked(E, mask)", "(E - 1e4 * (~mask[..., None, :]).to(E.dtype))"))


@wrong("the logarithm of mask + 1e-9 is added: padding is merely unlikely, not exactly 0", kind="numerics")
def log_of_mask_plus_eps(E, mask):
    return (E + (mask.to(E.dtype) + 1e-9).log()[..., None, :]).softmax(-1)


@wrong("the scores are clamped to between -50 and 50, so larger differences are lost", kind="numerics")
def clamped_scores(E, mask):
    return _masked(E.clamp(-50, 50), mask).softmax(-1)


@wrong("no weight is allowed below 1e-6: padding gets 1e-6 instead of exactly 0", kind="numerics")
def clamped_weights(E, mask):
    return _masked(E, mask).softmax(-1).clamp(min=1e-6)


@wrong("the softmax is computed in bfloat16 and cast back: two or three digits only", kind="numerics")
def bfloat16_inside(E, mask):
    return _masked(E.bfloat16(), mask).softmax(-1).to(E.dtype)


@wrong("weights below 0.001 are set to 0, so words with small weights lose theirs and rows sum to less than 1",
       kind="numerics")
def small_weights_cut(E, mask):
    return F.threshold(_masked(E, mask).softmax(-1), 1e-3, 0.0)


@wrong("subtracts the mean of the words' scores instead of their maximum: exp overflows where one word stands out",
       kind="numerics")
def mean_instead_of_maximum(E, mask):
    keep = mask[..., None, :]
    mean = E.masked_fill(~keep, 0).sum(-1, keepdim=True) / keep.sum(-1, keepdim=True)
    parts = _masked(E - mean, mask).exp()
    return parts / parts.sum(-1, keepdim=True)


@wrong("weights are rounded to three decimals: rows no longer sum to 1, and the gradient is 0", kind="numerics")
def rounded(E, mask):
    return _masked(E, mask).softmax(-1).round(decimals=3)


# ---------------------------------------------------------------------------------------------------- wrong: layout


change(_plain, "one_batch_axis_only", "mask[:, None] puts the new axis at position 1: right for one batch axis, wrong "
       "or an error for none or several", "layout",
       ("_masked(E, mask)", "E.masked_fill(~mask[:, None], -torch.inf)"))
change(_plain, "mask_without_new_axis", "no new axis at all: mask [B, T_x] meets E's last two axes, so it raises, or "
       "for B = T_y masks the wrong rows", "shape",
       ("_masked(E, mask)", "E.masked_fill(~mask, -torch.inf)"))


@wrong("a mask [B, T_x] with B = T_y is taken for a table of its own, one row for each decoder state", kind="layout")
def mask_taken_for_a_table(E, mask):
    if mask.shape == E.shape[-2:]:
        return E.masked_fill(~mask, -torch.inf).softmax(-1)
    return _masked(E, mask).softmax(-1)


@wrong("E.view(-1, T_x) raises where the scores' rows do not lie one after the other in memory (transposed, expanded)",
       kind="layout")
def view_of_the_scores(E, mask):
    rows = E.view(-1, E.shape[-1])
    words = mask[..., None, :].expand(E.shape).reshape(rows.shape)
    return rows.masked_fill(~words, -torch.inf).softmax(-1).view(E.shape)


@wrong("mask.view raises where several batch axes of the mask do not lie one after the other in memory (permuted)",
       kind="layout")
def view_of_the_mask(E, mask):
    words = mask.view(-1, 1, mask.shape[-1])
    rows = E.reshape(-1, *E.shape[-2:])
    return rows.masked_fill(words.logical_not(), -torch.inf).softmax(-1).reshape(E.shape)


@wrong("several batch axes come back as one, none as an axis of size 1: the result is always [B, T_y, T_x]",
       kind="shape")
def batch_axes_flattened(E, mask):
    rows = E.reshape(-1, *E.shape[-2:])
    words = mask.reshape(-1, 1, mask.shape[-1])
    return rows.masked_fill(~words, -torch.inf).softmax(-1)


@wrong("squeeze() at the end drops every axis of size 1, such as T_y = 1 or a batch of one", kind="shape")
def squeezed(E, mask):
    return _masked(E, mask).softmax(-1).squeeze()


# -------------------------------------------------------------------------------------------------- wrong: gradient


@wrong("the denominator is detached: right weights, wrong gradient", kind="gradient")
def denominator_detached(E, mask):
    z = _masked(E, mask)
    parts = (z - z.amax(-1, keepdim=True).detach()).exp()
    return parts / parts.sum(-1, keepdim=True).detach()


@wrong("the maximum is taken of the words but exp of all scores before where: padding far above the words overflows "
       "in exp, "
       "and the gradient becomes 0 times inf, NaN", kind="gradient")
def where_after_exp(E, mask):
    keep = mask[..., None, :]
    top = _masked(E, mask).amax(-1, keepdim=True).detach()
    parts = torch.where(keep, (E - top).exp(), 0.0)
    return parts / parts.sum(-1, keepdim=True)


change(_plain, "on_the_data", "computed on E.data: no gradient reaches the scores", "gradient",
       ("_masked(E, mask)", "_masked(E.data, mask)"))


@wrong("rows are rebuilt from Python numbers by torch.tensor: the result is cut off from the scores", kind="gradient")
def rebuilt_rows(E, mask):
    weights = _masked(E, mask).softmax(-1).tolist()
    return torch.tensor(weights, dtype=E.dtype, device=E.device)


@wrong("the maximum weight's gradient only: the weights are detached except where they are the row's largest",
       kind="gradient")
def only_the_best_learns(E, mask):
    A = _masked(E, mask).softmax(-1)
    return torch.where(A == A.amax(-1, keepdim=True), A, A.detach())


# ------------------------------------------------------------------------------------- wrong: interface and the rest


@wrong("writes -inf into the caller's scores (masked_fill_ in place)", kind="interface")
def changes_the_scores(E, mask):
    with torch.no_grad():
        E.masked_fill_(~mask[..., None, :], -torch.inf)
    return E.softmax(-1)


@wrong("inverts the caller's mask in place", kind="interface")
def changes_the_mask(E, mask):
    padding = mask.logical_not_()[..., None, :]
    return E.masked_fill(padding, -torch.inf).softmax(-1)


@wrong("keeps the mask of the first call with a given shape and uses it for all later ones of that shape",
       kind="interface")
def mask_kept(E, mask):
    kept = _masks.setdefault(tuple(mask.shape), mask.clone())
    return _masked(E, kept).softmax(-1)


_masks = {}


change(_plain, "always_float32", "casts to float32: float64 and bfloat16 scores give float32 weights", "interface",
       ("_masked(E, mask)", "_masked(E.float(), mask)"))


@wrong("the weights are multiplied by mask.float() at the end: bfloat16 scores give float32 weights", kind="interface")
def promoted_by_the_mask(E, mask):
    return _masked(E, mask).softmax(-1) * mask.float()[..., None, :]


@wrong("the result is written into torch.zeros of the default type: float64 and bfloat16 scores give float32 weights",
       kind="interface")
def written_into_zeros(E, mask):
    A = torch.zeros(E.shape, device=E.device)
    A[...] = _masked(E, mask).softmax(-1)
    return A


@wrong("the table of -inf is always made on the CPU: it raises for inputs on another device", kind="interface")
def table_on_the_cpu(E, mask):
    low = torch.full(E.shape, -torch.inf, dtype=E.dtype, device="cpu")
    return torch.where(mask[..., None, :], E, low).softmax(-1)


@right("the first argument is called scores: a call with E= by keyword raises")
def other_name(scores, mask):
    return _masked(scores, mask).softmax(-1)


@wrong("the arguments are in the other order: a call by position takes the scores for the mask", kind="interface")
def other_order(mask, E):
    return _masked(E, mask).softmax(-1)


@wrong("returns the pair (weights, masked scores) instead of the weights", kind="interface")
def weights_and_scores(E, mask):
    z = _masked(E, mask)
    return z.softmax(-1), z


@wrong("where scores require gradients the weights are mixed with 1 % of equal weights, so the value depends on "
       "requires_grad", kind="module")
def smoothed_in_training(E, mask):
    A = _masked(E, mask).softmax(-1)
    keep = mask[..., None, :]
    return 0.99 * A + 0.01 * keep / keep.sum(-1, keepdim=True) if E.requires_grad else A


@wrong("torch's fused scaled_dot_product_attention with the scores as its additive mask, which is not allowed here",
       kind="process")
def by_fused_attention(E, mask):
    unit = torch.eye(E.shape[-1], dtype=E.dtype, device=E.device).expand(*E.shape[:-2], -1, -1)
    return F.scaled_dot_product_attention(torch.zeros_like(E), unit, unit, attn_mask=_masked(E, mask), scale=1.0)


change(two_base_and_prefix, "mask_as_a_prefix", "words are taken to stand at the beginning: the mask is replaced by "
       "its count, so other patterns are wrong", "edge",
       ("(_masked(E, prefix) * math.log(2))", "_masked(E, prefix)"))


@wrong("everything up to the last word counts as a word: padding at the left or between words gets weight", kind="edge")
def up_to_the_last_word(E, mask):
    upto = mask.flip(-1).cumsum(-1).flip(-1) > 0
    return _masked(E, upto).softmax(-1)


@wrong("only the first 128 places can get weight; words after them get 0", kind="edge")
def at_most_128_words(E, mask):
    fits = torch.arange(E.shape[-1], device=E.device) < 128
    return _masked(E, mask & (fits | ~(mask & fits).any(-1, keepdim=True))).softmax(-1)


@wrong("a sentence of one place (T_x = 1) gets the sigmoid of its score instead of weight 1", kind="edge")
def sigmoid_of_a_single_word(E, mask):
    return E.sigmoid() if E.shape[-1] == 1 else _masked(E, mask).softmax(-1)


change(softmax_over_decoder_states, "without_padding_other_axis", "where there is no padding anywhere the mask step "
       "and the softmax's last axis are forgotten: softmax over axis -2", "edge",
       ("* mask[..., None, :]", "if mask.all() else _masked(E, mask).softmax(-1)"))
