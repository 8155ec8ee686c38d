"""Mistakes about the prefix: where it stands, what it shares with the tokens, and which head it belongs to."""

import math

import torch
import torch.nn.functional as F

from autograder.exercises.unit_15_lora.prefix_attention.declaration import (
    _attend,
    _in_front,
    _lower,
    _mask,
    _scores,
    _weights,
    prefix_attention,
)


def _apart(Q, K, V, P_K, P_V):
    """Attention to the prefix and causal attention to the tokens, each with a softmax of its own."""
    A_P = _scores(Q, P_K).softmax(dim=-1)  # [B, H, N, P]
    A_X = _weights(_scores(Q, K), _lower(Q, Q.shape[2], Q.shape[2], 0))  # [B, H, N, N]
    return A_P @ P_V + A_X @ V, torch.cat([A_P, A_X], dim=-1)


@prefix_attention.misconception
def prefix_hidden(Q, K, V, P_K, P_V):
    """The prefix has its columns in A, but no token attends to it: its weights are all 0. The prefix is no padding, and lies in
    no token's future: every token attends to all of it."""
    N, P = Q.shape[2], P_K.shape[1]
    return _attend(Q, K, V, P_K, P_V, F.pad(_lower(Q, N, N, 0), (P, 0)))


@prefix_attention.misconception
def prefix_left_out(Q, K, V, P_K, P_V):
    """This is causal attention to the tokens alone, with N weights for each token: the prefix does not take part. Its P keys
    and values stand before those of the tokens, so that A is [B, H, N, P+N]."""
    A = _weights(_scores(Q, K), _lower(Q, Q.shape[2], Q.shape[2], 0))
    return A @ V, A


@prefix_attention.misconception
def prefix_behind(Q, K, V, P_K, P_V):
    """Y is right, but in A the prefix has the last P columns. It stands in front: the first P columns belong to the prefix and
    the next N to the tokens."""
    Y, A = _attend(Q, K, V, P_K, P_V)
    return Y, A.roll(-P_K.shape[1], dims=-1)


@prefix_attention.misconception
def prefix_behind_its_mask(Q, K, V, P_K, P_V):
    """Keys and values of the prefix stand behind those of the tokens, but the mask is made for a prefix in front: tokens see some
    of their future, and not all of the prefix. Put the prefix first."""
    keys, values = (torch.cat([X, p.expand(len(X), -1, -1, -1)], dim=2) for p, X in ((P_K, K), (P_V, V)))
    A = _weights(_scores(Q, keys), _mask(Q, P_K))
    return A @ values, A


@prefix_attention.misconception
def a_softmax_for_each(Q, K, V, P_K, P_V):
    """Prefix and tokens each have a softmax of their own, and what they give is added: the weights of a token sum to 2. One
    softmax runs over all the keys, so that prefix and tokens share a weight of 1."""
    return _apart(Q, K, V, P_K, P_V)


@prefix_attention.misconception
def a_half_for_each(Q, K, V, P_K, P_V):
    """The prefix always gets half of the weight and the tokens the other half, since each has a softmax of its own. How much the
    prefix gets depends on the scores: one softmax runs over all the keys."""
    return tuple(one / 2 for one in _apart(Q, K, V, P_K, P_V))


@prefix_attention.misconception
def prefix_not_scaled(Q, K, V, P_K, P_V):
    """The scores of the tokens are divided by √D_H, those of the prefix are not. They meet in one softmax, so both need the
    same scale."""

    def scores(Q, keys):
        E, P = Q @ keys.mT, P_K.shape[1]
        return torch.cat([E[..., :P], E[..., P:] / math.sqrt(Q.shape[-1])], dim=-1)

    return _attend(Q, K, V, P_K, P_V, scores=scores)


@prefix_attention.misconception
def prefix_asks_too(Q, K, V, P_K, P_V):
    """There are P + N rows, as if the prefix had queries: it was treated as P more tokens. It has keys and values only, so that
    there is a row for each of the N tokens."""
    return _attend(_in_front(P_K, Q), K, V, P_K, P_V, _lower(Q, *[P_K.shape[1] + Q.shape[2]] * 2, 0))


@prefix_attention.misconception
def heads_of_the_prefix_mixed(Q, K, V, P_K, P_V):
    """Heads get the prefix of other heads: each head's prefix was repeated B times in a row and the result cut into sequences
    (repeat_interleave and a reshape). Each sequence has all H prefixes in their order: P_K.expand(B, H, P, D_H)."""
    return _attend(Q, K, V, *(p.repeat_interleave(len(Q), dim=0).reshape(len(Q), *p.shape) for p in (P_K, P_V)))


@prefix_attention.misconception
def first_head_for_all(Q, K, V, P_K, P_V):
    """All heads get the prefix of head 0, as if the first axis of P_K and P_V were the batch. It is the axis of the heads: each
    head has keys and values of its own, and the axis for the batch comes in front, P_K[None]."""
    return _attend(Q, K, V, P_K[:1].expand_as(P_K), P_V[:1].expand_as(P_V))


@prefix_attention.misconception
def hidden_scores_are_zero(Q, K, V, P_K, P_V):
    """The scores of the tokens that are hidden became 0, and exp(0) is 1, so they get weight all the same. What is to have none
    gets the score −inf before the softmax."""
    return _attend(Q, K, V, P_K, P_V, weights=lambda E, allowed: (E * allowed).softmax(dim=-1))


@prefix_attention.misconception
def hidden_after_the_softmax(Q, K, V, P_K, P_V):
    """The weights of later tokens were set to 0 after the softmax, so that those of the others do not sum to 1. Hide the scores
    before the softmax, with −inf."""
    return _attend(Q, K, V, P_K, P_V, weights=lambda E, allowed: E.softmax(dim=-1) * allowed)


@prefix_attention.misconception
def heads_repeated_one_by_one(Q, K, V, P_K, P_V):
    """Each head's prefix was repeated B times before the next head's, as repeat_interleave does, and cut into sequences
    afterwards: heads got the prefix of another. Repeat the whole [H, P, …] for each sequence, as expand and repeat do."""
    P_K, P_V = (one.repeat_interleave(len(Q), dim=0).view(len(Q), *one.shape) for one in (P_K, P_V))
    A = _weights(_scores(Q, torch.cat([P_K, K], dim=2)), _mask(Q, P_K[0]))
    return A @ torch.cat([P_V, V], dim=2), A
