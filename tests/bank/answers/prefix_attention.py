"""Test answers for prefix_attention (assignment 15): right ones in unusual styles, wrong ones with what is wrong about them."""

import math

import torch
import torch.nn.functional as F

from answers import before, change, right, wrong


def _joined(X, P_X):
    """The prefix, copied for each sequence, in front of the keys or values of the tokens."""
    return torch.cat([P_X.expand(X.shape[0], -1, -1, -1), X], dim=2)


def _scores(Q, K, P_K):
    return Q @ _joined(K, P_K).mT / math.sqrt(Q.shape[-1])


def _hidden(scores, diagonal=1):
    """True where token n may not see column j; `diagonal` counts from the token's own column."""
    N, columns = scores.shape[-2:]
    ones = torch.ones(N, columns, dtype=torch.bool, device=scores.device)
    return ones.triu(columns - N + diagonal)


def _weights(Q, K, P_K, diagonal=1):
    scores = _scores(Q, K, P_K)
    return scores.masked_fill(_hidden(scores, diagonal), -math.inf).softmax(-1)


# -------------------------------------------------------------------------------------------------------------- right


@right("prefix expanded and joined, everything behind the shifted diagonal hidden")
def joined(Q, K, V, P_K, P_V):
    B, H, N, D_H = Q.shape
    P = P_K.shape[1]
    keys = torch.cat([P_K.unsqueeze(0).expand(B, H, P, D_H), K], dim=-2)
    values = torch.cat([P_V.unsqueeze(0).expand(B, H, P, P_V.shape[-1]), V], dim=-2)
    scores = (Q / math.sqrt(D_H)) @ keys.transpose(-2, -1)
    future = torch.triu(torch.ones(N, P + N, device=Q.device), diagonal=P + 1).bool()
    A = scores.masked_fill(future, float("-inf")).softmax(-1)
    return A @ values, A


@right("the prefix is never copied: it broadcasts, and only scores are joined")
def broadcast(Q, K, V, P_K, P_V):
    N, P = Q.shape[2], P_K.shape[1]
    own = (Q @ K.mT).masked_fill(~torch.ones(N, N, dtype=torch.bool, device=Q.device).tril(), -math.inf)
    A = F.softmax(torch.cat([Q @ P_K.mT, own], dim=-1) * Q.shape[-1] ** -0.5, dim=-1)
    return A[..., :P] @ P_V + A[..., P:] @ V, A


@right("einsum, and a mask by comparing positions")
def by_einsum(Q, K, V, P_K, P_V):
    P, N = P_K.shape[1], K.shape[2]
    Q = Q / Q.shape[-1] ** 0.5
    scores = torch.cat([torch.einsum("bhnd,hpd->bhnp", Q, P_K), torch.einsum("bhnd,bhmd->bhnm", Q, K)], dim=3)
    n, j = torch.arange(N, device=Q.device), torch.arange(P + N, device=Q.device)
    A = torch.where(j <= P + n[:, None], scores, -math.inf).softmax(3)
    of_prefix, of_tokens = A.split([P, N], dim=3)
    return torch.einsum("bhnp,hpv->bhnv", of_prefix, P_V) + torch.einsum("bhnm,bhmv->bhnv", of_tokens, V), A


@right("token by token with growing keys, the rest of each row padded with zeros")
def token_by_token(Q, K, V, P_K, P_V):
    P, N = P_K.shape[1], Q.shape[2]
    keys, values, outputs, rows = _joined(K, P_K), _joined(V, P_V), [], []
    for n in range(N):
        seen = P + n + 1
        row = (Q[:, :, n : n + 1] @ keys[:, :, :seen].mT / math.sqrt(Q.shape[-1])).softmax(-1)
        outputs.append(row @ values[:, :, :seen])
        rows.append(F.pad(row, (0, P + N - seen)))
    return torch.cat(outputs, dim=2), torch.cat(rows, dim=2)


@right("sequence by sequence and head by head, with matrices")
def head_by_head(Q, K, V, P_K, P_V):
    outputs, weights = [], []
    for q, k, v in zip(Q, K, V):
        for h in range(len(q)):
            scores = q[h] @ torch.cat([P_K[h], k[h]]).T / math.sqrt(q.shape[-1])
            weights.append(torch.softmax(scores.masked_fill(_hidden(scores), -math.inf), dim=1))
            outputs.append(weights[-1] @ torch.cat([P_V[h], v[h]]))
    B, H = Q.shape[:2]
    return torch.stack(outputs).unflatten(0, (B, H)), torch.stack(weights).unflatten(0, (B, H))


@right("the exponential of log_softmax, with an added mask of 0 and minus infinity")
def log_softmax(Q, K, V, P_K, P_V):
    scores = _scores(Q, K, P_K)
    mask = torch.full_like(scores[0, 0], -math.inf).triu(P_K.shape[1] + 1)
    A = F.log_softmax(scores + mask, dim=-1).exp()
    return A @ _joined(V, P_V), A


@right("softmax by hand, the largest visible score of each row subtracted")
def by_hand(Q, K, V, P_K, P_V):
    scores = _scores(Q, K, P_K)
    scores = torch.where(_hidden(scores), -math.inf, scores)
    powers = torch.exp(scores - scores.amax(-1, keepdim=True).detach())
    A = powers / powers.sum(-1, keepdim=True)
    return A.matmul(_joined(V, P_V)), A


@right("the last N rows of the square causal mask of P+N positions")
def last_rows(Q, K, V, P_K, P_V):
    keys, values = _joined(K, P_K), _joined(V, P_V)
    length, N = keys.shape[2], Q.shape[2]
    visible = torch.ones(length, length, dtype=torch.bool, device=Q.device).tril()[-N:]
    A = (Q @ keys.mT).div(Q.shape[-1] ** 0.5).masked_fill(visible.logical_not(), -torch.inf).softmax(dim=-1)
    return A @ values, A


@right("sequences and heads as one axis of batched products, the prefix repeated")
def batched_products(Q, K, V, P_K, P_V):
    B, H, N, D_H = Q.shape
    keys = torch.cat([P_K.repeat(B, 1, 1), K.reshape(B * H, N, D_H)], dim=1)
    values = torch.cat([P_V.repeat(B, 1, 1), V.reshape(B * H, N, -1)], dim=1)
    scores = torch.bmm(Q.reshape(B * H, N, D_H) * D_H**-0.5, keys.mT)
    A = scores.masked_fill(_hidden(scores), -math.inf).softmax(-1)
    return torch.bmm(A, values).view(B, H, N, -1), A.view(B, H, N, -1)


@right("vmap over the heads and over the sequences, a function of matrices inside")
def by_vmap(Q, K, V, P_K, P_V):
    def one_head(q, k, v, p_k, p_v):
        scores = q @ torch.cat([p_k, k]).T / q.shape[-1] ** 0.5
        A = torch.where(_hidden(scores), -math.inf, scores).softmax(-1)
        return A @ torch.cat([p_v, v]), A

    all_heads = torch.vmap(one_head)
    return torch.vmap(all_heads, in_dims=(0, 0, 0, None, None))(Q, K, V, P_K, P_V)


@right("A comes back detached: gradients are only asked for from Y")
def detached_weights(Q, K, V, P_K, P_V):
    A = _weights(Q, K, P_K)
    return A @ _joined(V, P_V), A.detach()


@right("calls itself without the last token, then adds that token's row")
def recursive(Q, K, V, P_K, P_V):
    N = Q.shape[2]
    if N > 24:  # recursion only for short sequences
        A = _weights(Q, K, P_K)
        return A @ _joined(V, P_V), A
    row = (Q[:, :, -1:] @ _joined(K, P_K).mT / math.sqrt(Q.shape[-1])).softmax(-1)
    y = row @ _joined(V, P_V)
    if N == 1:
        return y, row
    Y, A = recursive(Q[:, :, :-1], K[:, :, :-1], V[:, :, :-1], P_K, P_V)
    return torch.cat([Y, y], dim=2), torch.cat([F.pad(A, (0, 1)), row], dim=2)


@right("axes permuted: keys in front of queries, a softmax over the axis of the keys, results as permuted views")
def keys_in_front(Q, K, V, P_K, P_V):
    keys, values = _joined(K, P_K), _joined(V, P_V)
    scores = keys @ Q.mT * (1 / math.sqrt(Q.shape[-1]))
    columns, N = scores.shape[-2:]
    later = torch.ones(columns, N, dtype=torch.bool, device=Q.device).tril(N - columns - 1)
    A = scores.masked_fill(later, -math.inf).softmax(-2)
    return (values.mT @ A).mT, A.mT


@right("prefix and tokens by their own softmax, joined by the share that each of them has of the whole sum")
def two_parts(Q, K, V, P_K, P_V):
    scale, P = Q.shape[-1] ** -0.5, P_K.shape[1]
    first = Q * scale @ P_K.mT
    second = (Q * scale @ K.mT).masked_fill(~torch.ones_like(Q[0, 0] @ K[0, 0].mT, dtype=torch.bool).tril(), -math.inf)
    top = torch.maximum(first.amax(-1, keepdim=True), second.amax(-1, keepdim=True)).detach()
    parts = (first - top).exp(), (second - top).exp()
    total = sum(part.sum(-1, keepdim=True) for part in parts)
    A = torch.cat(parts, dim=-1) / total
    return A.narrow(-1, 0, P) @ P_V + A.narrow(-1, P, K.shape[2]) @ V, A


# Right, and not registered: answers below are changes of it.
def _plain(Q, K, V, P_K, P_V):
    scores = _scores(Q, K, P_K)
    A = scores.masked_fill(_hidden(scores), -math.inf).softmax(-1)
    return A @ _joined(V, P_V), A


# ---------------------------------------------------------------------------------------------------------- left open


change(_plain, "lowest_number",
       "hidden scores become the most negative number of the type, not minus infinity", "numerics",
       ("-math.inf", "torch.finfo(scores.dtype).min"), verdict="open")


# Right, and not registered: answers below are changes of it.
def _by_weights(Q, K, V, P_K, P_V):
    A = _weights(Q, K, P_K)
    return A @ _joined(V, P_V), A


change(_by_weights, "in_a_list", "Y and A come back in a list", "interface",
       ("return A @ _joined(V, P_V), A", "return [A @ _joined(V, P_V), A]"), verdict="open")


# ----------------------------------------------------------------------------------------------------- wrong: concept


change(_by_weights, "not_causal", "nothing is hidden: every token attends to later ones", "concept",
       ("_weights(Q, K, P_K)", "_scores(Q, K, P_K).softmax(-1)"))
change(_plain, "not_shifted", "the mask is not shifted by P: token n sees the first n + 1 columns only, part of the "
       "prefix at first", "concept",
       ("_hidden(scores)", "torch.ones_like(scores, dtype=torch.bool).triu(1)"))
change(_by_weights, "without_itself", "off by one: a token does not attend to itself", "concept",
       ("K, P_K", "K, P_K, diagonal=0"))
change(_by_weights, "one_ahead", "off by one: a token attends to the next one too", "concept",
       ("K, P_K", "K, P_K, diagonal=2"))


@wrong("the prefix is causal too: token n sees prefix vectors 0 to n only", kind="concept")
def causal_prefix(Q, K, V, P_K, P_V):
    scores, P = _scores(Q, K, P_K), P_K.shape[1]
    hidden = _hidden(scores) | torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1)
    hidden[:, P:] = _hidden(scores)[:, P:]
    A = scores.masked_fill(hidden, -math.inf).softmax(-1)
    return A @ _joined(V, P_V), A


change(_plain, "sliding_window", "a sliding window: token n sees the P vectors before it and itself, and so less of "
       "the prefix the later it comes", "concept",
       before("A =", "hidden = _hidden(scores) | torch.ones_like(scores[0, 0], dtype=torch.bool).tril(-1)"),
       ("_hidden(scores)", "hidden"))
change(detached_weights, "prefix_behind",
       "the prefix stands behind the tokens: Y is right, but the columns of A are in another order", "concept",
       ("A.detach()", "A.roll(-P_K.shape[1], dims=-1)"))
change(_by_weights, "values_behind", "the prefix stands in front of the keys, but behind the values", "concept",
       ("_joined(V, P_V)", "torch.cat([V, P_V.expand(V.shape[0], -1, -1, -1)], dim=2)"))


@wrong("two softmaxes, one over the prefix and one over the tokens: each row sums to 2", kind="concept")
def two_softmaxes(Q, K, V, P_K, P_V):
    scores, P = _scores(Q, K, P_K), P_K.shape[1]
    scores = scores.masked_fill(_hidden(scores), -math.inf)
    A = torch.cat([scores[..., :P].softmax(-1), scores[..., P:].softmax(-1)], dim=-1)
    return A @ _joined(V, P_V), A


change(_by_weights, "not_scaled", "scores are not divided by sqrt(D_H)", "concept",
       ("Q, K, P_K", "Q * math.sqrt(Q.shape[-1]), K, P_K"))
change(_plain, "scaled_by_values", "the width in the scale is that of the values, D_V", "concept",
       ("_scores(Q, K, P_K)", "Q @ _joined(K, P_K).mT / math.sqrt(V.shape[-1])"))


@wrong("only scores of tokens are divided by sqrt(D_H), those of the prefix are not", kind="concept")
def prefix_not_scaled(Q, K, V, P_K, P_V):
    own = Q @ K.mT / math.sqrt(Q.shape[-1])
    own = own.masked_fill(_hidden(own), -math.inf)
    A = torch.cat([Q @ P_K.mT, own], dim=-1).softmax(-1)
    return A @ _joined(V, P_V), A


change(_plain, "masked_afterwards", "the mask comes after the softmax, and rows are not normalised again", "concept",
       (".masked_fill(_hidden(scores), -math.inf).softmax(-1)", ".softmax(-1).masked_fill(_hidden(scores), 0)"))
change(_plain, "hidden_to_zero",
       "hidden scores are set to 0 before the softmax, so later tokens keep weight", "concept",
       ("-math.inf", "0"))
change(_plain, "softmax_over_queries", "the softmax runs over the queries, not over the keys", "concept",
       ("-math.inf", "-1e30"), ("softmax(-1)", "softmax(-2).masked_fill(_hidden(scores), 0)"))
change(_by_weights, "one_prefix_for_all_heads", "the prefix of head 0 is used for all heads", "concept",
       before("A =", "P_K, P_V = P_K[:1].expand_as(P_K), P_V[:1].expand_as(P_V)"))
change(_by_weights, "without_prefix_values", "the prefix takes weight, but its values are left out of Y", "concept",
       ("A @ _joined(V, P_V)", "A[..., P_K.shape[1] :] @ V"))
change(_plain, "not_shifted_not_scaled",
       "two mistakes: the mask is not shifted by P, and the scores are not divided by sqrt(D_H)", "concept",
       ("_scores(Q, K, P_K)", "Q @ _joined(K, P_K).mT"),
       ("_hidden(scores)", "torch.ones_like(scores, dtype=torch.bool).triu(1)"))


# ------------------------------------------------------------------------------------------------------- wrong: shape


change(_plain, "rows_for_the_prefix",
       "queries are computed for the prefix too: Y has P+N rows and A is square", "shape",
       ("scores = _scores(Q, K, P_K)", """
        Q, K = _joined(Q, P_K), _joined(K, P_K)
        scores = Q @ K.mT / math.sqrt(Q.shape[-1])"""))
change(detached_weights, "without_prefix_columns", "A comes back without the columns of the prefix", "shape",
       ("A.detach()", "A[..., P_K.shape[1] :]"))


@wrong(
    "unsqueeze in the wrong place: the prefix's heads lie on the batch axis, which fails or, with B = H, mixes them up",
    kind="shape",
)
def heads_on_the_batch_axis(Q, K, V, P_K, P_V):
    A_P, P = Q @ P_K.unsqueeze(1).mT / math.sqrt(Q.shape[-1]), P_K.shape[1]
    own = Q @ K.mT / math.sqrt(Q.shape[-1])
    A = torch.cat([A_P, own.masked_fill(_hidden(own), -math.inf)], dim=-1).softmax(-1)
    return A[..., :P] @ P_V.unsqueeze(1) + A[..., P:] @ V, A


@wrong(
    "repeat_interleave and a reshape in the place of repeat: with several sequences and heads, heads get others' prefixes",
    kind="shape",
)
def repeated_in_the_wrong_order(Q, K, V, P_K, P_V):
    B, H = Q.shape[:2]
    keys = torch.cat([P_K.repeat_interleave(B, dim=0).reshape(B, H, -1, P_K.shape[-1]), K], dim=2)
    values = torch.cat([P_V.repeat_interleave(B, dim=0).reshape(B, H, -1, P_V.shape[-1]), V], dim=2)
    scores = Q @ keys.mT / math.sqrt(Q.shape[-1])
    A = scores.masked_fill(_hidden(scores), -math.inf).softmax(-1)
    return A @ values, A


change(detached_weights, "squeezed", "axes of size 1 are squeezed away from both results", "shape",
       ("A @ _joined(V, P_V), A.detach()", "(A @ _joined(V, P_V)).squeeze(), A.squeeze()"))
change(_by_weights, "heads_joined", "the heads are joined in Y: [B, N, H*D_V]", "shape",
       ("A @ _joined(V, P_V)", "(A @ _joined(V, P_V)).transpose(1, 2).flatten(2)"))
change(_plain, "reshaped_keys", "K is reshaped, not transposed, for the product with Q", "shape",
       ("scores = _scores(Q, K, P_K)", """
        keys = _joined(K, P_K)
        B, H, columns, D_H = keys.shape
        scores = Q @ keys.reshape(B, H, D_H, columns) / math.sqrt(D_H)"""))


@wrong("view fails for queries that are no contiguous block, as they are after splitting into heads", kind="layout")
def by_view(Q, K, V, P_K, P_V):
    B, H, N, D_H = Q.shape
    scores = Q.view(B * H, N, D_H) @ _joined(K, P_K).view(B * H, -1, D_H).mT / math.sqrt(D_H)
    A = scores.masked_fill(_hidden(scores), -math.inf).softmax(-1).view(B, H, N, -1)
    return A @ _joined(V, P_V), A


change(_by_weights, "by_strides", "as_strided reads V as one contiguous block, whatever its layout is", "layout",
       before("return", """
        B, H, N, D_V = V.shape
        V = torch.as_strided(V, V.shape, (H * N * D_V, N * D_V, D_V, 1))"""))


# -------------------------------------------------------------------------------------------------------- wrong: edge


@wrong(
    "the mask for the prefix has N columns, not P: works only where the prefix is as long as the sequence", kind="edge"
)
def prefix_as_long_as_the_sequence(Q, K, V, P_K, P_V):
    N = Q.shape[2]
    visible = torch.ones(N, N, dtype=torch.bool, device=Q.device)
    A = _scores(Q, K, P_K).masked_fill(~torch.cat([visible, visible.tril()], dim=1), -math.inf).softmax(-1)
    return A @ _joined(V, P_V), A


@wrong("a prefix longer than the sequence is cut: its vectors from N on get no weight", kind="edge")
def long_prefix_cut(Q, K, V, P_K, P_V):
    scores, P, N = _scores(Q, K, P_K), P_K.shape[1], Q.shape[2]
    scores = scores.masked_fill(_hidden(scores), -math.inf)
    if P > N:
        scores = torch.cat([scores[..., :N], torch.full_like(scores[..., N:P], -math.inf), scores[..., P:]], dim=-1)
    A = scores.softmax(-1)
    return A @ _joined(V, P_V), A


change(_by_weights, "single_token",
       "a single token is returned as it is: with N = 1 it attends to itself alone", "edge",
       before("return", """
        if Q.shape[2] == 1:
            A = torch.zeros_like(A).index_fill(-1, torch.tensor([A.shape[-1] - 1], device=A.device), 1)"""))
change(_plain, "zero_scores_hidden",
       "tril() on the scores and -inf where they are 0 then: scores that are 0 themselves are hidden", "edge",
       ("_scores(Q, K, P_K)", "_scores(Q, K, P_K).tril(P_K.shape[1])"), ("_hidden(scores)", "scores == 0"))


@wrong("the mask is made for at most 64 columns: longer ones fail", kind="edge")
def mask_of_64(Q, K, V, P_K, P_V):
    P, N = P_K.shape[1], Q.shape[2]
    hidden = torch.ones(64, 64, dtype=torch.bool, device=Q.device).triu(P + 1)[:N, : P + N]
    A = _scores(Q, K, P_K).masked_fill(hidden, -math.inf).softmax(-1)
    return A @ _joined(V, P_V), A


# ---------------------------------------------------------------------------------------------------- wrong: numerics


change(_plain, "minus_a_billion",
       "hidden scores are -10^9: where the visible ones are lower still, later tokens get the weight", "numerics",
       ("-math.inf", "-1e9"))
change(_plain, "twenty_below",
       "hidden scores are the lowest score minus 20: later tokens keep a small weight", "numerics",
       ("scores.masked_fill", "torch.where"), ("-math.inf", "scores.min().detach() - 20, scores"))
change(_by_weights, "normalised_again",
       "softmax over all columns, mask, normalised again: 0/0 where a later token's score is far above", "numerics",
       ("A = _weights(Q, K, P_K)", """
        scores = _scores(Q, K, P_K)
        A = scores.softmax(-1).masked_fill(_hidden(scores), 0)
        A = A / A.sum(-1, keepdim=True)"""))


@wrong("exponentials without the largest score subtracted overflow", kind="numerics")
def plain_exponentials(Q, K, V, P_K, P_V):
    scores = _scores(Q, K, P_K)
    powers = scores.masked_fill(_hidden(scores), -math.inf).exp()
    A = powers / powers.sum(-1, keepdim=True)
    return A @ _joined(V, P_V), A


@wrong("the largest score of all rows is subtracted: rows far below it get 0/0", kind="numerics")
def one_maximum_for_all(Q, K, V, P_K, P_V):
    scores = _scores(Q, K, P_K)
    scores = scores.masked_fill(_hidden(scores), -math.inf)
    powers = (scores - scores.max().detach()).exp()
    A = powers / powers.sum(-1, keepdim=True)
    return A @ _joined(V, P_V), A


@wrong(
    "exp(score - logsumexp): for large scores the logarithm of the sum is lost beside them, and rows sum to more than 1",
    kind="numerics",
)
def by_logsumexp(Q, K, V, P_K, P_V):
    scores = _scores(Q, K, P_K)
    scores = scores.masked_fill(_hidden(scores), -math.inf)
    A = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return A @ _joined(V, P_V), A


change(_plain, "limited", "scores are limited to ±30 before the softmax", "numerics",
       ("_scores(Q, K, P_K)", "_scores(Q, K, P_K).clamp(-30, 30)"))
change(_by_weights, "small_weights_cut_off", "weights below 10^-4 are cut off to 0", "numerics",
       ("_weights(Q, K, P_K)", "F.threshold(_weights(Q, K, P_K), 1e-4, 0.0)"))
change(_by_weights, "never_zero", "10^-9 is added to all weights, so that none is exactly 0", "numerics",
       ("_weights(Q, K, P_K)", "_weights(Q, K, P_K) + 1e-9"))


@right("computed in float32 and converted back: float64 loses digits, and scores beyond float32 give NaN")
def through_float32(Q, K, V, P_K, P_V):
    A = _weights(Q.float(), K.float(), P_K.float())
    return (A @ _joined(V.float(), P_V.float())).to(Q.dtype), A.to(Q.dtype)


# ---------------------------------------------------------------------------------------------------- wrong: gradient


change(_by_weights, "keys_detached", "P_K is copied without its gradients: it never learns", "gradient",
       ("K, P_K", "K, P_K.detach().clone()"))
change(_by_weights, "weights_detached",
       "Y is computed with the detached weights: queries, keys and P_K get no gradients", "gradient",
       ("return A", "return A.detach()"))


@wrong("P_V gets gradients from the first sequence alone; for the others it is a detached copy", kind="gradient")
def gradient_of_the_first_sequence(Q, K, V, P_K, P_V):
    A = _weights(Q, K, P_K)
    copies = torch.stack([P_V] + [P_V.detach()] * (len(Q) - 1))
    return A @ torch.cat([copies, V], dim=2), A


@wrong(
    "where() after exp(): the exponential of a hidden high score is infinite, the results are right, gradients are NaN",
    kind="gradient",
)
def where_after_exp(Q, K, V, P_K, P_V):
    scores = _scores(Q, K, P_K)
    hidden = _hidden(scores)
    top = scores.masked_fill(hidden, -math.inf).amax(-1, keepdim=True).detach()
    powers = torch.where(hidden, 0.0, (scores - top).exp())
    A = powers / powers.sum(-1, keepdim=True)
    return A @ _joined(V, P_V), A


# ------------------------------------------------------------------------------------------- wrong: process, interface


change(_plain, "queries_in_place", "Q is divided by sqrt(D_H) in place", "process",
       ("scores = _scores(Q, K, P_K)", """
        with torch.no_grad():
            Q /= math.sqrt(Q.shape[-1])
        scores = Q @ _joined(K, P_K).mT"""))


_masks = {}


change(_plain, "masks_kept", "masks are kept for each number of columns P+N: a later call with another P of the same "
       "sum gets the wrong one", "process",
       before("A =", """
        length = scores.shape[-1]
        if length not in _masks:
            _masks[length] = torch.ones(length, length, dtype=torch.bool, device=Q.device).triu(P_K.shape[1] + 1)"""),
       ("_hidden(scores)", "_masks[length].to(Q.device)[: Q.shape[2]]"))


@wrong("scaled_dot_product_attention is not allowed", kind="process")
def built_in(Q, K, V, P_K, P_V):
    A = _weights(Q, K, P_K)
    visible = ~_hidden(A)
    return F.scaled_dot_product_attention(Q, _joined(K, P_K), _joined(V, P_V), attn_mask=visible), A


change(_by_weights, "dropout", "a tenth of the weights is dropped at random", "process",
       ("_weights(Q, K, P_K)", "F.dropout(_weights(Q, K, P_K), 0.1)"))


@wrong("the mask is on the CPU, which fails for inputs on another device", kind="interface")
def mask_on_the_cpu(Q, K, V, P_K, P_V):
    P, N = P_K.shape[1], Q.shape[2]
    scores = _scores(Q, K, P_K) + torch.full((N, P + N), -math.inf).triu(P + 1).to(Q.dtype)
    A = scores.softmax(-1)
    return A @ _joined(V, P_V), A


@wrong(
    "the mask is added in float32: bfloat16 inputs give an A of float32",
    kind="interface",
)
def mask_in_float32(Q, K, V, P_K, P_V):
    P, N = P_K.shape[1], Q.shape[2]
    A = (_scores(Q, K, P_K) + torch.full((N, P + N), -math.inf, device=Q.device).triu(P + 1)).softmax(-1)
    return A.to(V.dtype) @ _joined(V, P_V), A


change(_by_weights, "weights_first", "A and Y come back in the wrong order", "interface",
       ("return A @ _joined(V, P_V), A", "return A, A @ _joined(V, P_V)"))


@wrong("Y comes back alone, without A", kind="interface")
def outputs_alone(Q, K, V, P_K, P_V):
    return _weights(Q, K, P_K) @ _joined(V, P_V)


change(_by_weights, "prefix_first", "the prefix stands first among the arguments", "interface",
       ("Q, K, V, P_K, P_V", "P_K, P_V, Q, K, V"))
