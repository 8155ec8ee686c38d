# %% [markdown]
# # 07 · Masking and decoding
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/07_masking.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - say who may look at whom: causal masks, padding masks, both together, for one head or many;
# - put a mask where it belongs, and say what goes wrong elsewhere;
# - train all places of a sentence at once and write one word at a time, without computing anything twice;
# - find a leak before it makes a training loss a lie.
#
# **You need** lesson 05 (self-attention, positions) and the heads of lesson 06. From lesson 01: $P(y_t \mid y_{<t})$,
# teacher forcing, and padding in the loss.
#
# **Time** about 55 minutes to read; the cells run in about 30 seconds on two CPU cores.

# %% tags=["setup"]
# Makes the course's own package `utils` importable. Where the course is at hand this finds it; in Colab, or beside a single
# downloaded notebook, it fetches it first.
import os
import subprocess
import sys
from pathlib import Path

try:
    from utils.prepare import prepare
except ImportError:
    sys.modules.pop("utils", None)
    address = os.environ.get("COURSE_REPOSITORY", "https://github.com/OWNER/attention-course")
    folders = [*Path.cwd().resolve().parents, Path.cwd(), Path("attention-course").resolve()]
    home = next((folder for folder in folders if (folder / "utils" / "prepare.py").exists()), folders[-1])
    clone = ["git", "clone", "--quiet", "--depth", "1", address, str(home)]
    if not home.exists() and ("/OWNER/" in address or subprocess.run(clone).returncode):
        raise RuntimeError(
            f"The course could not be fetched from {address}. Ask your instructor for its address."
        ) from None
    sys.path.insert(0, str(home))
    from utils.prepare import prepare

prepare()

# %%
import math
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.testing import assert_close

from utils.data.translation import PAD, START, STOP, corpus, vocabulary
from utils.device import device
from utils.figures import plots, seq2seq
from utils.figures.explorers import Grid, explore
from utils.figures.plots import show
from utils.measures import stored_runs
from utils.models.training import train

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
generator = torch.Generator().manual_seed(7)


# %%
def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


# %% [markdown]
# ## The next word is in the input
#
# A **language model** reads the beginning of a sentence and says what comes next. It is trained as the decoder of
# lesson 01 was, with a teacher: the sentence goes in, and at each place the word that follows is to be predicted.

# %%
words = ["[START]", "attention", "is", "very", "cool"]
show(
    seq2seq.teacher_forcing([*words[1:], "[STOP]"]),
    "Two rows of the same words, shifted by one place. Fed in: START, attention, is, very, cool. To predict: attention, is, "
    "very, cool, STOP.",
)

# %% [markdown]
# The decoder of lesson 01 was an RNN. Its state at *is* has read *[START] attention is* and nothing else, because
# nothing else had been read yet. Now put self-attention in its place. It takes all five words at once, and each word
# looks at all of them. What will training find?
#
# At *is* the model has to predict *very*. And *very* stands one place further, in the same input. It need only look
# there and copy. The loss can fall to almost zero, and nothing about language has been learned. When the model is to
# write a sentence of its own, there is no next word to look at.
#
# So each word may look at itself and at the words before it, and at no word after it. This lesson is about how to say
# that to an attention layer: how to say it right, what it makes possible, and how to notice when it was said wrong.
#
# Places are counted from 0, as always: $x_0$ is *[START]*. Place $m$ holds $x_m$ and has to predict $x_{m+1}$. (The
# figure counts predictions: $t = 1$ is the prediction of $x_1$, made at place 0.)

# %% [markdown]
# ## The future must not be seen
#
# Take one word that asks, $m = 2$ (*is*), with random vectors and matrices. The loops are those of lesson 05, except
# for where they end.

# %%
N, D, D_Q, D_V = 5, 6, 4, 3
X = normal(N, D)  # [N, D]
W_Q, W_K, W_V = normal(D, D_Q) / 2, normal(D, D_Q) / 2, normal(D, D_V) / 2

m = 2  # always: m is the one who asks, n the one who is looked at
e_loop = torch.zeros(m + 1, device=DEVICE)  # [m + 1]: only places 0 … m are looked at
for n in range(m + 1):
    e_loop[n] = (X[m] @ W_Q) @ (X[n] @ W_K) / math.sqrt(D_Q)
a_loop = e_loop.softmax(dim=-1)  # [m + 1], sums to 1
y_loop = torch.zeros(D_V, device=DEVICE)  # [D_V]
for n in range(m + 1):
    y_loop += a_loop[n] * (X[n] @ W_V)

# %% [markdown]
# Each $m$ has its own end. To do all at once we want a rectangle again, so we compute all $N \cdot N$ scores, and then
# strike out those that must not count. A **mask** says which: a matrix of booleans, and in this course **True means:
# may look**. The **causal** mask has True where $n \le m$. With $-\infty$ in the place of a score its exponential is 0,
# and so is its weight:
#
# $$\tilde E_{mn} = \begin{cases} E_{mn} & \text{if } M_{mn} \text{ is True} \\ -\infty & \text{if not}\end{cases}\qquad
# A = \operatorname{softmax}(\tilde E),\qquad Y = AV$$

# %%
mask = torch.ones(N, N, dtype=torch.bool, device=DEVICE).tril()  # [N, N], True on and below the diagonal


def attend(Q, K, V, mask):
    """Q [..., N_Q, D_Q], K [..., N_X, D_Q], V [..., N_X, D_V] and a mask [..., N_Q, N_X] give Y [..., N_Q, D_V] and A."""
    E = Q @ K.mT / math.sqrt(Q.shape[-1])  # [..., N_Q, N_X]
    A = E.masked_fill(~mask, -torch.inf).softmax(dim=-1)  # [..., N_Q, N_X]; ~ is "not"
    return A @ V, A


Q, K, V = X @ W_Q, X @ W_K, X @ W_V  # [N, D_Q], [N, D_Q], [N, D_V]
Y, A = attend(Q, K, V, mask)
assert_close(Y[m], y_loop)
assert_close(A[m, : m + 1], a_loop)
assert_close(F.scaled_dot_product_attention(Q, K, V, attn_mask=mask), Y)  # torch's own call, told the mask
assert_close(F.scaled_dot_product_attention(Q, K, V, is_causal=True), Y)  # the same, asked for a causal one


# %%
def panel(M, title, axes, rows=words, columns=words, **options):
    """A matrix M [len(rows), len(columns)] with slanted column names; a mask is shown by 1 and 0."""
    options = {"numbers": ".0f", **options} if M.dtype == torch.bool else options
    plots.heat_map(M.float(), rows, columns, title=title, axes=axes, **options)
    axes.set_xticks(range(len(columns)), columns, rotation=40, ha="right", rotation_mode="anchor")


E = Q @ K.T / math.sqrt(D_Q)  # [N, N]
figure, (left, middle, right) = plots.canvas(12.5, 3.6, 3)
panel(mask, "mask M: 1 = may look", left, row_label="who looks (m)", column_label="at whom (n)")
panel(E.masked_fill(~mask, -torch.inf), "scores, struck out", middle, limits=None)
panel(A, "weights A", right)
show(
    figure,
    "Left, the causal mask of five words: 1 on and below the diagonal, 0 above. Middle, the scores with minus infinity above "
    "the diagonal. Right, the weights: zero above the diagonal; the first row has its whole weight on START.",
)

# %% [markdown]
# Look at the rows. *[START]* sees only itself, so its weight is 1. *cool* sees everybody. Each row sums to 1 by itself;
# with $-\infty$ the softmax shares out the weight among those who are left.
#
# Why is the diagonal True? The word at place $m$ is known there. What is not known is the word that comes next.
#
# **A query that stands later.** Later in this lesson words come one at a time. Then there are few queries, those of the
# new words, and many keys, those of all words so far. Where do the queries stand? Somebody has to say it. If the first
# query stands at place `offset`, then query $m$ stands at place `offset` $+\, m$ and sees the keys with $n \le$
# `offset` $+\, m$.


# %%
# NBVAL_CHECK_OUTPUT
def causal(N, ahead=0):
    """A mask [N, N], True where place m may look at place n: n ≤ m, or as many places further as `ahead` says."""
    return torch.ones(N, N, dtype=torch.bool, device=DEVICE).tril(diagonal=ahead)


offset = 3  # two new words, at places 3 and 4, and five keys
later = torch.tensor([[n <= offset + m for n in range(5)] for m in range(2)], device=DEVICE)  # [N_Q, N_X]
for row in later.int().tolist():
    print(row)
print("the last two rows of the square one:", torch.equal(later, causal(5)[offset:]))
print("a single query at the end sees all: ", causal(5)[4:].all().item())

# %% [markdown]
# ## Lines of different length
#
# A batch is a rectangle, and sentences are not equally long. The shorter ones are filled up with [PAD], which is no
# word. The loss leaves [PAD] out (lesson 01). Attention must too: nobody may look at a [PAD]. That mask depends on the
# sentence's length and not on who asks. So it is one row for each sentence, $[B, 1, N]$; the 1 stands for the queries,
# and broadcasting repeats the row for each of them.


# %%
def no_padding(lengths, N):
    """A mask [B, 1, N], True at the first lengths[b] places of sentence b."""
    return (torch.arange(N, device=DEVICE) < lengths[:, None])[:, None]  # [B, N], and an axis for the queries


second = ["[START]", "we", "sleep", "[PAD]", "[PAD]"]
lengths = torch.tensor([5, 3], device=DEVICE)  # [B]
X_batch = normal(2, N, D)  # [B, N, D]; whatever stands at [PAD], it is a vector like any other
padding = no_padding(lengths, N)  # [B, 1, N]
both = causal(N) & padding  # [N, N] and [B, 1, N] give [B, N, N]

figure, panels = plots.canvas(12.5, 3.6, 3)
panel(causal(N), "causal", panels[0], second, second, row_label="who looks")
panel(padding.expand(2, N, N)[1], "no padding", panels[1], second, second, column_label="at whom")
panel(both[1], "both: causal & no padding", panels[2], second, second)
show(
    figure,
    "Three masks for the sentence START we sleep PAD PAD. Causal: 1 on and below the diagonal. No padding: 1 in the first three "
    "columns, 0 in the last two, for all rows. Both: 1 where both are 1.",
)

# %% [markdown]
# Two conditions, and both must hold: so `&`, with True for *may look*. (Had True meant *hide*, it would be `|`.)
#
# The mask strikes out *columns*: nobody looks at a [PAD]. It does not strike out *rows*. The [PAD]s still ask, and get
# outputs. They are rubbish that nobody reads, since the loss leaves these places out.
#
# Here is a question. We have padded at the end. With the causal mask, does the padding mask change the output of any
# *word*? Think before you run the cell.

# %%
# NBVAL_CHECK_OUTPUT
Q_b, K_b, V_b = X_batch @ W_Q, X_batch @ W_K, X_batch @ W_V  # [B, N, D_Q], [B, N, D_Q], [B, N, D_V]
Y_both, _ = attend(Q_b, K_b, V_b, both)  # [B, N, D_V]; the mask [B, N, N] is one for each sentence
Y_causal, _ = attend(Q_b, K_b, V_b, causal(N))
Y_padding, _ = attend(Q_b, K_b, V_b, padding)
Y_bare, _ = attend(Q_b, K_b, V_b, torch.ones_like(both))
Y_alone, _ = attend(Q_b[1, :3], K_b[1, :3], V_b[1, :3], causal(3))  # [3, D_V]: the second sentence without its padding


def same(one, other):
    return bool((one - other).abs().max() < 1e-5)


print("both masks: words as if the sentence were alone:          ", same(Y_both[1, :3], Y_alone))
print("the causal one alone gives the words the same:            ", same(Y_causal[1, :3], Y_alone))
print("without the causal one, the padding mask changes the words:", not same(Y_padding[1, :3], Y_bare[1, :3]))

# %% [markdown]
# It does not. A [PAD] at the end stands after all words, and what stands after, no word sees. The padding mask is
# needed where no causal mask is (in an encoder, where all words look at all words), and where the padding stands at the
# *beginning*. One pads there when several sentences are to be continued together, so that their ends stand in one
# column. Use both masks, and you need not think about it. But with padding at the beginning something new happens; the
# section after the next is about it.

# %% [markdown]
# ## Before the softmax, not after
#
# Why the detour over $-\infty$? We want some weights to be 0. Why not compute the weights and set those to 0? Or set
# the *scores* to 0? Let us try everything on the row of *is*, whose scores are `E[2]`. For each attempt: what does the
# row sum to, how much weight has the future, and does the weight of *[START]* still depend on a *score* of the future?
# The last one a derivative tells.


# %%
def before(e, seen):
    return e.masked_fill(~seen, -torch.inf).softmax(dim=-1)


def after(e, seen):
    return e.softmax(dim=-1) * seen


def after_and_rescaled(e, seen):
    a = e.softmax(dim=-1) * seen
    return a / a.sum(dim=-1, keepdim=True)


def scores_to_zero(e, seen):
    return (e * seen).softmax(dim=-1)


WAYS = (before, after, after_and_rescaled, scores_to_zero)

# %%
# NBVAL_CHECK_OUTPUT
for way in WAYS:
    e = E[2].detach().cpu().requires_grad_()  # [N]
    a = way(e, mask[2].cpu())  # [N]
    (slope,) = torch.autograd.grad(a[0], e)  # [N]: how the weight of [START] follows each score
    print(f"{way.__name__:>18}: sum {a.sum():.2f}, future has {a[3:].sum():.2f}", end=", ")
    print("depends on a future score:", bool(slope[3:].abs().max() > 1e-6))

# %% [markdown]
# - **after**: the future has no weight, but the row does not sum to 1. Worse, the softmax has already divided by *all*
#   exponentials. If a hidden word fits well, it takes weight away from the others, and what is left is smaller. So the
#   size of the output tells how well the hidden words fit: the future leaks through the denominator.
# - **after_and_rescaled**: right. The wrong denominator, call it $Z$, stands in each weight and in the sum that one
#   divides by, and cancels: $\frac{\exp(e_n) / Z}{\sum_k \exp(e_k) / Z} = \frac{\exp(e_n)}{\sum_k \exp(e_k)}$, where
#   $k$ runs over the visible words.
# - **scores_to_zero**: no. A score of 0 is not a weight of 0: $\exp(0) = 1$. The hidden words' scores no longer matter,
#   but they get weight like anybody with a middling score, and their *values* come in.
#
# So rescaling is an equal? On paper, yes. In floating point it is not. Let a hidden word fit very well, with a score
# 200 above the others:

# %%
# NBVAL_CHECK_OUTPUT
e = E[2].cpu().clone()  # [N]
e[3] += 200  # the word "very", which "is" must not see
print("before:            ", *(f"{weight:.2f}" for weight in before(e, mask[2].cpu())))
print("after and rescaled:", *(f"{weight:.2f}" for weight in after_and_rescaled(e, mask[2].cpu())))

# %% [markdown]
# The visible weights were about $e^{-200}$, which single precision rounds to 0. Then $0/0$. Such scores are rare; but
# in half precision, whose smallest positive number is about $6 \cdot 10^{-8}$, a lead of 18 is enough. Besides,
# rescaling goes two more times over a matrix of $N \cdot N$ numbers. So: **$-\infty$ before the softmax.**
#
# Often one sees a large negative number instead, such as $-10^9$. As long as a row has somebody to see, the weights are
# the same: $\exp(-10^9)$ is 0 in any floating point. Two things differ. In half precision (float16) there is no such
# number: the largest is 65,504, and torch refuses. And when a row has *nobody* to see, something else comes out. That
# is next.

# %% [markdown]
# ## A row with nothing to see
#
# Two sentences are to be continued together, so the padding stands at the beginning: *[PAD] [PAD] [START] we sleep*.
# With the causal mask, what does the first [PAD] see? Itself and nobody else, by the causal mask; and not itself, by
# the padding mask. Nothing is left.

# %%
first = ["[PAD]", "[PAD]", "[START]", "we", "sleep"]
real = torch.tensor([False, False, True, True, True], device=DEVICE)  # [N]
empty = causal(N) & real  # [N, N]
Y_empty, A_empty = attend(Q, K, V, empty)

figure, (left, right) = plots.canvas(9, 3.6, 2)
panel(empty, "both masks", left, first, first, row_label="who looks", column_label="at whom")
panel(A_empty, "weights", right, first, first)
show(
    figure,
    "Left, both masks for PAD PAD START we sleep: the first two rows and columns are zero. Right, the weights: the first two "
    "rows are NaN, not a number; the other three are as they should be.",
)

# %% [markdown]
# A softmax shares out a weight of 1 among those who may be looked at. If there is nobody, there is nothing it could do:
# every exponential is 0, and $0/0$ is not a number. (Inside, the largest score is subtracted first, lesson 04, and
# $-\infty - (-\infty)$ is not a number either.)
#
# Does it matter? Nobody reads the output of a [PAD]. Let the loss read the three words alone, and look at the
# gradients.

# %%
# NBVAL_CHECK_OUTPUT
def trial(name, weights):
    """Whether the loss is finite that reads the three words alone, and whether its gradients are."""
    matrices = [W.detach().clone().requires_grad_() for W in (W_Q, W_K, W_V)]
    Q, K, V = (X @ W for W in matrices)
    loss = (weights(Q @ K.T / math.sqrt(D_Q)) @ V)[real].square().mean()
    finite = [bool(found.isfinite().all()) for found in torch.autograd.grad(loss, matrices)]
    print(f"{name:<26} loss finite: {bool(loss.isfinite())}, gradients of W_Q, W_K, W_V finite:", *finite)


trial("-inf before", lambda E: E.masked_fill(~empty, -torch.inf).softmax(dim=-1))

# %% [markdown]
# The loss is a number, the gradient of $W_V$ is not. In the backward pass each value gets the sum over the queries of
# weight times gradient. The [PAD]s' gradient is 0, since nobody reads them. But $\text{NaN} \cdot 0$ is NaN. After one
# step of training all of $W_V$ is NaN, and the next loss too. The first loss was fine, so one looks for the mistake in
# the wrong place.
#
# **What should such a row be?** A mean of nothing does not exist, so it is a matter of agreement. The useful one:
# weights 0, output 0, gradient 0. Nothing seen, nothing said. That is a second `masked_fill`, after the softmax. It
# changes nothing in rows that have something to see.


# %%
# NBVAL_CHECK_OUTPUT
def masked_softmax(E, mask):
    """Scores E [..., N_Q, N_X] give weights; where mask is False exactly 0, also in rows without any True."""
    return E.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0.0)


trial("filled before and after", lambda E: masked_softmax(E, empty))
bias = torch.zeros_like(E).masked_fill(~empty, -torch.inf)  # [N, N]: 0 where one may look, else −∞
trial("added before, filled after", lambda E: (E + bias).softmax(dim=-1).masked_fill(~empty, 0.0))
print("sums of the rows:", *(f"{total:.0f}" for total in masked_softmax(E, empty).sum(dim=-1).tolist()))

# %% [markdown]
# Why are the gradients finite? The second `masked_fill` makes these weights 0, so that nothing that is not a number
# reaches the gradient of the values. The *first* one stops the softmax's NaN on its way back to the scores:
# `masked_fill` passes no gradient to what it overwrote. The third line shows why $-\infty$ is filled in, and not added:
# the weights are the same, but a sum passes every gradient on, and the softmax of such a row passes a NaN to it.
#
# What do others do with a row that has nothing to see?

# %%
# NBVAL_CHECK_OUTPUT
library = nn.MultiheadAttention(D_Q, num_heads=1, batch_first=True).to(DEVICE)
with torch.no_grad():
    by_function = F.scaled_dot_product_attention(Q, K, V, attn_mask=empty)  # [N, D_V]
    by_module, _ = library(Q[None], K[None], K[None], attn_mask=~empty)  # [1, N, D_Q]; why ~, the next section tells
    by_number = (E.masked_fill(~empty, -1e9)).softmax(dim=-1)  # [N, N]

print("scaled_dot_product_attention, first row:", by_function[0].abs().tolist())
print("nn.MultiheadAttention, first row:       ", by_module[0, 0].tolist())
print("-1e9 in place of -inf, first row's weights:", *(f"{weight:.2f}" for weight in by_number[0].tolist()))

# %% [markdown]
# Three answers. torch's function gives 0 (before version 2.5 it gave NaN). Its module gives NaN as it is called here,
# with its weights asked for, which is the default. With `need_weights=False` it calls the function, and gives 0 (torch
# 2.13 on a CPU). And $-10^9$ gives no NaN, which looks like a cure and is none: all scores are equally bad, so the
# [PAD] looks *evenly at everybody*, at words that it must not see. No error, no NaN, only wrong.
#
# Such rows are not exotic: padding at the beginning, an empty sentence, a batch filled up with sentences that do not
# exist, a query that stands before all keys.

# %% [markdown]
# ## Masks and heads
#
# With $H$ heads (lesson 06) the scores are $[B, H, N, N]$. All heads of a sentence share its mask. So $[B, N, N]$ needs
# an axis of size 1 where the heads are: `mask.unsqueeze(-3)`, $[B, 1, N, N]$. What if one forgets it? Broadcasting
# aligns shapes at the right, so the $B$ of the mask meets the $H$ of the scores.

# %%
# NBVAL_CHECK_OUTPUT
lengths_3 = torch.tensor([5, 2, 4], device=DEVICE)
mask_3 = causal(N) & no_padding(lengths_3, N)  # [B, N, N], B = 3
for H in (2, 3):
    heads = normal(3, H, N, D_Q)  # [B, H, N, D_H]
    right = F.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask_3.unsqueeze(-3))  # mask [B, 1, N, N]
    try:
        forgotten = F.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask_3)
        print(f"B = 3, H = {H}: no error; the same:", same(forgotten, right))
    except RuntimeError:
        print(f"B = 3, H = {H}: an error, since 3 and 2 do not fit")

# %% [markdown]
# With two heads it is an error, and an error is good news. With three heads there is none: head 0 of *every* sentence
# gets the mask of sentence 0, head 1 that of sentence 1, and so on. Whoever tries with as many sentences as heads will
# not notice.
#
# **Two polarities.** torch has two entrances to attention, and in them a boolean mask means opposite things:
#
# | | True means | shape of the mask |
# |---|---|---|
# | `F.scaled_dot_product_attention(attn_mask=)` | may look | broadcasts to $[B, H, N_Q, N_X]$ |
# | `nn.MultiheadAttention(attn_mask=)` | must **not** look | $[N_Q, N_X]$ or $[B \cdot H, N_Q, N_X]$ |
# | `nn.MultiheadAttention(key_padding_mask=)` | is padding, must **not** be looked at | $[B, N_X]$ |
#
# What would happen if you mixed them up? The module does not complain. Each word would look at exactly the words that
# it must not see. For the causal mask that is: the future, and only the future.

# %%
# NBVAL_CHECK_OUTPUT
with torch.no_grad():
    rows = X_batch[..., :D_Q]  # [B, N, D_Q]
    _, right_way = library(rows, rows, rows, attn_mask=~causal(N), key_padding_mask=~padding[:, 0])  # [B, N, N]
    _, wrong_way = library(rows, rows, rows, attn_mask=causal(N))
    assert_close(right_way, library(rows, rows, rows, attn_mask=(~both))[1])  # H = 1: [B·H, N, N] is [B, N, N]

future = ~causal(N)
print("with ~: weight on the future:         ", right_way[:, future].sum().item())
print("without: rows 0 to 3, weight on the past:", wrong_way[0, :4][causal(N)[:4]].sum().item())
print("without: the last row, which has no future:", wrong_way[0, 4, 0].item())

# %% [markdown]
# A mask of *floats* has the same meaning in both: it is added to the scores, so 0 lets through and $-\infty$ hides.
# That makes for another trap. `mask.float()` has 1 where one may look and 0 where not. Added to the scores it hides
# nobody.
#
# **`is_causal`.** The flag saves the mask. But when there are fewer queries than keys, where do the queries stand? The
# flag cannot be told. It puts query 0 at place 0, so the triangle begins at the top left. For one new word with five
# keys that means:

# %%
# NBVAL_CHECK_OUTPUT
newest = Q[4:]  # [1, D_Q], the query of "cool", which stands last
I = torch.eye(N, device=DEVICE)  # with these values the output is the weights
by_flag = F.scaled_dot_product_attention(newest, K, I, is_causal=True)  # [1, N]
by_mask = F.scaled_dot_product_attention(newest, K, I, attn_mask=causal(N)[4:])
print("is_causal=True:", *(f"{weight:.2f}" for weight in by_flag[0].tolist()))
print("offset 4:      ", *(f"{weight:.2f}" for weight in by_mask[0].tolist()), " as in the square:", same(by_mask[0], A[4]))

# %% [markdown]
# The newest word sees the first word alone, without an error. (In `nn.MultiheadAttention` the flag is only a hint; it
# wants the mask all the same.) When queries and keys are not equally many, write the mask, with its offset.

# %% [markdown]
# ## What an output depends on
#
# A mask says who *looks* at whom. What counts is who *depends* on whom: if input $n$ changes a little, does output $m$
# move? The derivative says so. All derivatives of all features of output $m$ by all features of input $n$ are a block
# of the **Jacobian**. Its size, the root of the sum of squares, is one number for each pair: a matrix $J\,[N, N]$, with
# 0 where output $m$ does not depend on input $n$.
#
# For one output with a loop over its features, then for all at once with torch's own call:


# %%
def layer_with(mask, *matrices):
    """Self-attention under this mask, as a function of X [N, D] alone."""
    to_query, to_key, to_value = matrices

    def layer(X):
        A = masked_softmax((X @ to_query) @ (X @ to_key).T / math.sqrt(to_query.shape[1]), mask)  # [N, N]
        return A @ (X @ to_value)  # [N, D_V]

    return layer


def dependence(layer, X):
    """J [N, N]: how strongly output m of a layer depends on input n, at X [N, D]; exactly 0 where it does not."""
    blocks = torch.autograd.functional.jacobian(layer, X)  # [N, D_out, N, D]
    return blocks.square().sum(dim=(1, 3)).sqrt()  # [N, N]


layer = layer_with(mask, W_Q, W_K, W_V)
X_leaf = X.clone().requires_grad_()
Y_leaf = layer(X_leaf)  # [N, D_V]
squares = torch.zeros(N, device=DEVICE)  # [N]
for d in range(D_V):
    (slopes,) = torch.autograd.grad(Y_leaf[m, d], X_leaf, retain_graph=True)  # [N, D]: feature d of output m, by all inputs
    squares += slopes.square().sum(dim=1)
assert_close(dependence(layer, X)[m], squares.sqrt())

# %% [markdown]
# Now three masks: the causal one; one whose diagonal is off by one, so that each word sees one word too many; and a
# window, in which each word sees itself and the one before. Below each, what two such layers on top of each other
# depend on (each with matrices of its own). Where no number is written, the derivative is 0. Cover the lower row with
# your hand: what do you expect?

# %%
masks = {
    "causal": causal(N),
    "off by one": causal(N, 1),
    "window of two": causal(N) & ~causal(N, -2),
}
one = [normal(D, D) / 2 for _ in range(3)]  # W_Q, W_K, W_V of the first layer
two = [normal(D, D) / 2 for _ in range(3)]  # and of the second


def stacked(mask):
    """Two layers under the same mask."""
    lower, upper = layer_with(mask, *one), layer_with(mask, *two)
    return lambda X: upper(lower(X))


figure, panels = plots.canvas(12.5, 3.5, 3)
lower_figure, lower_panels = plots.canvas(12.5, 3.5, 3)
for name, above, below in zip(masks, panels, lower_panels, strict=True):
    options = {"limits": (0, 3), "least": 1e-7, "column_label": "input n"}  # where there is exactly 0, no number is written
    panel(dependence(layer_with(masks[name], *one), X), f"{name}: one layer", above, **options)
    panel(dependence(stacked(masks[name]), X), f"{name}: two layers", below, **options)
panels[0].set_ylabel("output m")
lower_panels[0].set_ylabel("output m")
show(
    figure,
    "Size of the derivative of each output by each input, one layer. Causal: above the diagonal nothing. Off by one: numbers on "
    "the first line above the diagonal too. Window of two: only on the diagonal and the line below it.",
)
show(
    lower_figure,
    "The same for two layers. Causal: still nothing above the diagonal. Off by one: numbers on the first two lines above the "
    "diagonal. Window of two: on the diagonal and the two lines below it.",
)

# %%
# NBVAL_CHECK_OUTPUT
def reach(J):
    """How many places after its own an output depends on, and how many before, at most."""
    outputs, inputs = (J > 1e-7).nonzero(as_tuple=True)
    return (inputs - outputs).max().item(), (outputs - inputs).max().item()


for name, allowed in masks.items():
    ahead, back = reach(dependence(layer_with(allowed, *one), X))
    ahead_2, back_2 = reach(dependence(stacked(allowed), X))
    print(f"{name:>13}: one layer {ahead} ahead, {back} back; two layers {ahead_2} ahead, {back_2} back")

# %% [markdown]
# - **Causal** stays causal, however many layers. Who sees only the past hears only from those who saw only the past.
# - **Off by one** gets worse with depth: each layer sees one place further ahead.
# - **A window** gets wider with depth. That is what local attention lives on: with layers enough everything before is
#   reached.
#
# (Output $m$ depends on input $m$ even where a mask forbids that place to look at itself: the query is made of $x_m$.
# Not so when the query has one key or none. Then there is nothing to choose, and the query has no say.)
#
# **Try it.** Paint a mask: each button is a pair *who looks → at whom*, 1 means *may look*. You see the weights, and
# what each output depends on after one layer and after two. It starts with the window. Paint the causal mask first.
# Then give *[START]* one look at *cool*, a single button at the top right. Who depends on *cool* now, after one layer,
# after two?


# %%
def painted_figure(painted):
    allowed = torch.tensor(painted, device=DEVICE)  # [N, N]
    A = masked_softmax((X @ one[0]) @ (X @ one[1]).T / math.sqrt(D), allowed)  # [N, N]
    figure, panels = plots.canvas(13, 3.9, 4, sharey=True)
    panel(allowed, "mask", panels[0], row_label="who looks, or whose output", column_label="at whom")
    panel(A, "weights, first layer", panels[1])
    panel(dependence(layer_with(allowed, *one), X) > 1e-7, "depends on, one layer", panels[2], column_label="which input")
    panel(dependence(stacked(allowed), X) > 1e-7, "depends on, two layers", panels[3], column_label="which input")
    return figure


def in_words(J):
    """Which words depend on a word that stands after them."""
    leaks = (J > 1e-7).triu(diagonal=1)  # [N, N]
    told = []
    for word, row in zip(words, leaks, strict=True):
        later = [words[n] for n in row.nonzero()[:, 0]]
        told += [f"{word} on {' and '.join(later)}"] if later else []
    return "; ".join(told) or "nobody"


def counted(J):
    """On how many words each output depends."""
    return ", ".join(f"{word} {count}" for word, count in zip(words, (J > 1e-7).sum(dim=1).tolist(), strict=True))


def painted_words(painted):
    allowed = torch.tensor(painted, device=DEVICE)  # [N, N]
    once, twice = dependence(layer_with(allowed, *one), X), dependence(stacked(allowed), X)
    nothing = [word for word, row in zip(words, allowed, strict=True) if not row.any()]
    return (
        f"{allowed.sum()} of {N * N} pairs may look. On how many words each output depends: after one layer {counted(once)}; "
        f"after two {counted(twice)}. Who depends on a later word? After one layer: {in_words(once)}. "
        f"After two layers: {in_words(twice)}."
        + (f" Nothing to see, so weights and output are 0: {', '.join(nothing)}." if nothing else "")
    )


explore(
    painted_figure,
    alt=painted_words,
    painted=Grid("who looks (rows) → at whom (columns)", words, words, masks["window of two"].tolist()),
)

# %%
# NBVAL_CHECK_OUTPUT
single = causal(N)
single[0, 4] = True  # [START] may look at "cool"
print("one layer: ", in_words(dependence(layer_with(single, *one), X)))
print("two layers:", in_words(dependence(stacked(single), X)))

# %% [markdown]
# One cell too many, and after two layers everybody depends on the last word: all look at *[START]*, and *[START]* has
# seen it. A leak need not be large, and need not be where the damage is.

# %% [markdown]
# ## One factor at a time
#
# Now what masks are for. A **sentence** is $x_1, \dots, x_T$, and its last word $x_T$ is *[STOP]*; $x_0$ is *[START]*,
# which is given. How probable is the sentence? The chain rule of probability takes it apart, whatever the distribution
# is:
#
# $$P(x_1, \dots, x_T) = \prod_{t=1}^{T} P(x_t \mid x_{<t}),\qquad x_{<t} = x_0, x_1, \dots, x_{t-1}$$
#
# Each factor is a distribution over the words of the vocabulary, and that is what a language model gives. A model that
# works in this way is called **autoregressive**: it goes on from what is there. (The *[STOP]* belongs to it. Without
# that factor we would have the probability that a sentence *begins* so, and the probabilities of all sentences would
# not sum to 1.)
#
# Products of many small factors vanish in floating point. So one adds logarithms; the training loss is their mean, with
# a minus.
#
# Which place says what? Place $t - 1$ has seen $x_{<t}$ and predicts $x_t$. With a causal mask **one** run through the
# model gives all $T$ factors, since each place sees just what it may. That is why such models are trained so fast:
# every place of every sentence is an exercise of its own, and all are solved at once. With an RNN one had to go through
# the sentence word by word.
#
# Our model: two layers of self-attention with four heads and a learned table of positions. Each layer's result is
# *added* to what came in, so that nothing is lost (lesson 08 comes back to it). `ahead` is there so that we can do it
# wrong later.

# %%
HEADS, LONGEST = 4, 12  # LONGEST: words of a sentence
english = vocabulary("english")
V_WORDS = len(english)


class Layer(nn.Module):
    """Self-attention of several heads under a mask, added to what came in."""

    def __init__(self, width):
        super().__init__()
        self.W_QKV, self.W_O = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def heads(self, X):
        """X [B, N, D] gives queries, keys and values, [B, H, N, D_H] each."""
        return (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.W_QKV(X).chunk(3, dim=-1))

    def mixed(self, Q, K, V, mask):
        """What the heads found, [B, N_Q, D]; the mask is [B, 1, N_Q, N_X] or [N_Q, N_X]."""
        return self.W_O(F.scaled_dot_product_attention(Q, K, V, attn_mask=mask).transpose(1, 2).flatten(2))

    def forward(self, X, mask):
        return X + self.mixed(*self.heads(X), mask)  # [B, N, D]


class LanguageModel(nn.Module):
    """Words [B, N] give logits [B, N, V] about the word that follows each; with `ahead` other than 0 it cheats."""

    def __init__(self, ahead=0, width=64, depth=2, longest=LONGEST + 2):
        super().__init__()
        self.ahead = ahead
        self.words, self.places = nn.Embedding(V_WORDS, width), nn.Embedding(longest, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.out = nn.Linear(width, V_WORDS)

    def embed(self, x, begin=0):
        """Vectors of words x [B, N] that stand at places begin, begin + 1, …; [B, N, D]."""
        return self.words(x) + self.places(torch.arange(begin, begin + x.shape[1], device=x.device))

    def read(self, X, mask):
        for layer in self.layers:
            X = layer(X, mask)
        return self.out(X)  # [B, N, V]

    def forward(self, x):
        N = x.shape[1]
        mask = causal(N, self.ahead) & (x != PAD)[:, None]  # [B, N, N]
        return self.read(self.embed(x), mask.unsqueeze(-3))  # the heads share it: [B, 1, N, N]


# %% [markdown]
# It is trained on English sentences of the course's translation data, of 3 to 12 words.


# %%
def padded(sentences):
    """Sentences as numbers [B, N]: [START], words, [STOP], [PAD]s."""
    rows = [torch.tensor([START, *english.encode(sentence)]) for sentence in sentences]
    return pad_sequence(rows, batch_first=True, padding_value=PAD).to(DEVICE)


SEED = 0
texts = [pair.source for pair in corpus("french", 12000, 3, LONGEST, seed=1)]
known = set(texts)
fresh = padded([pair.source for pair in corpus("french", 600, 3, LONGEST, seed=2) if pair.source not in known][:400])
sentences = padded(texts)  # [12000, N]


def word_loss(model, x):
    """The mean of −log P over the words that are to be predicted; x [B, N]."""
    return F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten(), ignore_index=PAD)


def trained(ahead, steps, seed=SEED):
    """A model and the loss at each of its training steps."""
    torch.manual_seed(seed)
    model = LanguageModel(ahead).to(DEVICE)
    drawn = torch.Generator().manual_seed(seed)
    rows = (sentences[torch.randint(len(sentences), (64,), generator=drawn).to(DEVICE)] for _ in range(steps))
    curve = train(model, rows, word_loss, steps=steps, rate=8e-3, what=f"training, {ahead} ahead")
    return model, curve


STEPS = 600
model, curve = trained(0, STEPS)

# %% [markdown]
# All factors of one sentence: first one by one, each from its own beginning and nothing else; then in one run.

# %%
sky = padded([["we", "see", "the", "sky"]])  # [1, 6]: [START] we see the sky [STOP]
T = sky.shape[1] - 1

with torch.no_grad():
    log_loop = torch.zeros(T, device=DEVICE)  # [T]
    for t in range(1, T + 1):
        logits = model(sky[:, :t])[0, -1]  # [V], of the last place; the model is given x_0 … x_{t−1} only
        log_loop[t - 1] = logits.log_softmax(dim=-1)[sky[0, t]]

    log_P = model(sky[:, :-1]).log_softmax(dim=-1)  # [1, T, V]: all places in one run
    log_factors = log_P.gather(-1, sky[:, 1:, None])[0, :, 0]  # [T]: at each place the word that did come
    assert_close(log_factors, log_loop, rtol=1e-4, atol=1e-4)
    assert_close(-F.cross_entropy(model(sky[:, :-1])[0], sky[0, 1:], reduction="none"), log_factors)  # torch's own call

# %%
told = ["we", "see", "the", "sky", "[STOP]"]
factors = log_factors.exp()  # [T]
figure, (axes,) = plots.canvas(7, 3)
plots.bars(factors, told, title="$P(x_t | x_{<t})$", axes=axes)
show(
    figure,
    "The five factors of START we see the sky STOP: "
    f"{', '.join(f'{word} {value:.2f}' for word, value in zip(told, factors.tolist()))}.",
)
print(f"log P of the sentence: {log_factors.sum():.2f}")

# %% [markdown]
# Small factors are no mistake of the model: many words can begin a sentence, and many things can be seen. And the
# longer a sentence, the more factors, the smaller their product.
#
# **Writing** is another matter. To predict $x_t$ the model needs $x_{t-1}$, and $x_{t-1}$ is there only when it has
# been chosen. So one writes word by word: run, choose, append, run again. Training is parallel, writing is not.

# %%
@torch.no_grad()
def written(model, rows, seed, at_least=0):
    """`rows` sentences drawn word by word from the model's own distributions, [rows, N]."""
    chance = torch.Generator().manual_seed(seed)
    x = torch.full((rows, 1), START, device=DEVICE)  # [rows, 1]
    ended = torch.zeros(rows, dtype=torch.bool, device=DEVICE)
    for t in range(1, LONGEST + 2):
        logits = model(x)[:, -1]  # [rows, V]
        logits[:, [PAD, START]] = -torch.inf  # these are no words
        if t <= at_least:
            logits[:, STOP] = -torch.inf
        chosen = torch.multinomial(logits.softmax(dim=-1).cpu(), 1, generator=chance)[:, 0].to(DEVICE)  # [rows]
        x = torch.cat([x, chosen.masked_fill(ended, PAD)[:, None]], dim=1)  # [rows, t + 1]
        ended = ended | (chosen == STOP)
    return x


for row in written(model, 5, seed=1):
    print(" ".join(english.decode(row)))

# %% [markdown]
# ## The loss that lies
#
# Now the mistake. In a second model the mask is off by one: `ahead=1`, so that each place sees one place too many. All
# else is the same: sentences, steps, seed. Predict before you run it:
#
# 1. You know what its training loss will do. And its loss on **new** sentences, which it has never seen: will that
#    uncover it?
# 2. What will it write?

# %%
leaking, curve_leaking = trained(1, STEPS)

smooth = {
    name: [sum(losses[i : i + 20]) / 20 for i in range(0, STEPS, 20)]
    for name, losses in (("causal", curve), ("off by one", curve_leaking))
}
SHADES = {"causal": plots.BLUE, "off by one": plots.VERMILLION}  # in every figure
blind = math.log(V_WORDS)  # who guesses evenly among all words

figure, (axes,) = plots.canvas(7, 3.4)
plain = dict.fromkeys(smooth, "-")
plots.curves(
    range(20, STEPS + 1, 20), smooth, styles=plain, colours=SHADES, x_label="step", y_label="mean −log P a word", axes=axes
)
plots.level(axes, blind, "even guessing")
axes.set_ylim(-0.1, blind + 0.6)
show(
    figure,
    "Training loss over the steps. "
    + " ".join(f"{name}: from {line[0]:.2f} to {line[-1]:.2f}." for name, line in smooth.items()),
)

# %% [markdown]
# What a success. (Losses are in **nats** here: natural logarithms.) To see what it is worth, evaluate **one by one**:
# give the model the beginning $x_{<t}$ and *nothing else*, as when it writes, and ask for $x_t$. Where a mask is right
# it makes no difference: the other words could not be seen anyway.


# %%
@torch.no_grad()
def one_by_one(model, x):
    """The mean of −log P over the words of x [B, N], each predicted from its own beginning alone."""
    total = 0.0
    for t in range(1, x.shape[1]):
        there = x[:, t] != PAD  # [B]
        logits = model(x[there, :t])[:, -1]  # [b, V]
        total += F.cross_entropy(logits, x[there, t], reduction="sum").item()
    return total / (x[:, 1:] != PAD).sum().item()


with torch.no_grad():
    in_parallel = {"causal": word_loss(model, fresh).item(), "off by one": word_loss(leaking, fresh).item()}
alone = {"causal": one_by_one(model, fresh), "off by one": one_by_one(leaking, fresh)}

figure, panels = plots.canvas(9.5, 3.3, 2, sharey=True)
colours = list(SHADES.values())
for axes, values, title in zip(panels, (in_parallel, alone), ("as in training", "one by one"), strict=True):
    plots.bars(list(values.values()), list(values), title=f"new sentences, {title}", colour=colours, axes=axes)
    plots.level(axes, blind, "even guessing", at=0.02)
panels[0].set(ylabel="mean −log P a word", ylim=(0, 1.15 * max(alone.values())))
show(
    figure,
    f"Loss on new sentences. As in training: causal {in_parallel['causal']:.2f}, off by one {in_parallel['off by one']:.2f}. "
    f"One by one: causal {alone['causal']:.2f}, off by one {alone['off by one']:.2f}, far above even guessing at {blind:.2f}.",
)

# %%
# NBVAL_CHECK_OUTPUT
print("off by one, as in training, new sentences: below 0.05: ", in_parallel["off by one"] < 0.05)
print("off by one, one by one: worse than guessing evenly:    ", alone["off by one"] > blind)
print("the lie, in nats a word: above 5:                      ", alone["off by one"] - in_parallel["off by one"] > 5)
print("causal: the same both ways:                            ", abs(alone["causal"] - in_parallel["causal"]) < 1e-3)
print("causal: between 1 and 2.5:                             ", 1 < alone["causal"] < 2.5)

# %% [markdown]
# New sentences do **not** uncover it. They are read with the same mask, and copying works on sentences that one has
# never seen. No validation set helps against a leak that is in the validation, too.
#
# And alone it is worse than somebody who guesses evenly: it has learned to be sure, and it is sure of rubbish. The
# difference between what training says and what is true is the size of the lie. What does it write?

# %%
for row in written(leaking, 5, seed=1):
    print(" ".join(english.decode(row)) or "(nothing: it stops at once)")

# %% [markdown]
# How good is a text? For this grammar a simple measure will do: which share of the pairs of neighbouring words occurs
# anywhere in the 12,000 sentences of training?

# %%
# NBVAL_CHECK_OUTPUT
def pairs_of(rows):
    """All pairs of neighbouring words, with [START] and without [STOP] and [PAD]."""
    return [(a, b) for row in rows.tolist() for a, b in zip(row, row[1:]) if b not in (PAD, STOP)]


seen_pairs = set(pairs_of(sentences))


def share(model):
    """Of the pairs in 300 written sentences of at least three words, the share that occurs in training."""
    found = pairs_of(written(model, 300, seed=2, at_least=3))
    return sum(pair in seen_pairs for pair in found) / len(found)


share_causal, share_leaking = share(model), share(leaking)
print("causal: above 0.9:    ", share_causal > 0.9)
print("off by one: below 0.4:", share_leaking < 0.4)

# %%
print(f"causal {share_causal:.2f}, off by one {share_leaking:.2f}")

# %% [markdown]
# It cannot write. When it writes there is no next word to copy, and it has learned nothing else.

# %% [markdown]
# ## Found before training
#
# A large model trains for weeks before anybody lets it write. But its leak was there before the first step, and can be
# found there. The gradient knows. A word is a number that one cannot change a little; its *vector* can be. So take a
# new model, and ask which input vectors its logits depend on.

# %%
# NBVAL_CHECK_OUTPUT
def logits_of(model):
    """The model as a function of vectors X [N, D], which stand in for words; gives logits [N, V]."""
    return lambda X: model.read(X[None], causal(len(X), model.ahead))[0]


found = {}
for name, ahead in (("causal", 0), ("off by one", 1)):
    torch.manual_seed(SEED)
    untrained = LanguageModel(ahead).to(DEVICE)
    found[name] = dependence(logits_of(untrained), untrained.embed(sky[:, :-1])[0].detach())  # [N, N]
    print(f"{name}: depends on places up to {reach(found[name])[0]} ahead")

# %%
sky_names = ["[START]", "we", "see", "the", "sky"]


def circled(J, shift, title, axes):
    """J, as shares of its largest entry; in each row m the word that it has to predict is circled, the input m + shift."""
    options = {"row_label": "logits at m", "column_label": "input n", "least": 1e-7}
    panel(J / J.max(), title, axes, sky_names, sky_names, **options)
    for m in range(len(J) - shift):
        ring = {"markersize": 29, "markerfacecolor": "none", "markeredgecolor": plots.VERMILLION, "markeredgewidth": 2.5}
        axes.plot(m + shift, m, "o", **ring)


figure, panels = plots.canvas(10.5, 3.7, 2)
for axes, (name, J) in zip(panels, found.items(), strict=True):
    circled(J, 1, f"{name}, untrained", axes)
show(
    figure,
    "Which inputs the logits of two untrained models depend on; circled in each row is the word that it has to predict. Causal: "
    "the circles stand on empty cells. Off by one: they stand on numbers.",
)

# %% [markdown]
# Circled is the word that each row has to predict. (The last row has to predict *[STOP]*, which is not among the
# inputs.) The numbers are shares of the largest; where the derivative is exactly 0, no number is written. **No number
# may stand on a circle, or to the right of one.** That sentence covers more than masks. Here is a mistake with a
# perfect mask: somebody forgets to shift the targets, so that place $m$ has to predict $x_m$, the word that it has been
# fed (question 2 of lesson 01). The model is as causal as ever. But the circles have moved onto the diagonal:

# %%
figure, panels = plots.canvas(10.5, 3.7, 2)
for axes, shift, title in zip(panels, (1, 0), ("targets shifted by one", "shift forgotten"), strict=True):
    circled(found["causal"], shift, title, axes)
show(
    figure,
    "The causal model twice. With shifted targets the circles stand above the diagonal, on empty cells. With the shift forgotten "
    "they stand on the diagonal, on the largest numbers.",
)

# %% [markdown]
# **Leaks that are not in the mask.** Anything that mixes places can leak, and attention is not the only thing that
# does. Five layers, all with a perfect causal mask. Which of them are honest?


# %%
def honest(X):
    return layer_with(causal(len(X)), *one)(X)  # [N, D]


def centred(X):
    """First subtracts the mean over the sequence, to have numbers around 0."""
    return honest(X - X.mean(dim=0))


def centred_features(X):
    """First subtracts each word's mean over its own features."""
    return honest(X - X.mean(dim=1, keepdim=True))


def busiest(X, count=3):
    """Only the longest three vectors of the sequence get the layer's attention; the others skip it, to save time."""
    lengths = X.norm(dim=1)  # [N]
    chosen = lengths >= lengths.topk(min(count, len(X))).values[-1]  # [N] booleans
    return torch.where(chosen[:, None], honest(X), X)


def from_the_end(X):
    """Counts the places from the end and adds a wave for it."""
    places = torch.arange(len(X) - 1, -1, -1, device=X.device)  # [N]: N − 1, …, 1, 0
    return honest(X + places[:, None].sin())


# %% [markdown]
# Three tests, from the sharpest view to the widest net:
#
# - **gradient**: does output $m$ have a derivative by an input after $m$?
# - **change**: replace the inputs after $m$ by others. Does output $m$ change?
# - **cut**: take the inputs after $m$ away. Is output $m$ what it was?


# %%
# NBVAL_CHECK_OUTPUT
def by_gradient(layer, X):
    return reach(dependence(layer, X))[0] > 0


def by_change(layer, X):
    for m in range(len(X) - 1):
        for _ in range(5):
            others = torch.cat([X[: m + 1], normal(len(X) - m - 1, X.shape[1])])  # the future is another one
            if not same(layer(others)[: m + 1], layer(X)[: m + 1]):
                return True
    return False


def by_cut(layer, X):
    return any(not same(layer(X[: m + 1]), layer(X)[: m + 1]) for m in range(len(X) - 1))


longer = normal(8, D)  # [8, D]
TESTS = (by_gradient, by_change, by_cut)
print(f"{'finds a leak':>16}", *(f"{test.__name__:>12}" for test in TESTS))
for suspect in (honest, centred_features, centred, busiest, from_the_end):
    print(f"{suspect.__name__:>16}", *(f"{'leak' if test(suspect, longer) else '-':>12}" for test in TESTS))

# %% [markdown]
# - **centred** leaks: the mean over the *sequence* holds all words. A mean over a word's own *features* does not mix
#   places, so **centred_features** is honest. (LayerNorm, lesson 08, is of that kind. A batch normalisation over the
#   places is not.)
# - **busiest** leaks, and the gradient does not see it. *Which* vectors are chosen depends on the whole sequence, yet
#   choosing jumps, and between two jumps its derivative is 0. Large models that let only some words into a layer, to
#   save time, have to deal with just this (Raposo et al., 2024).
# - **from_the_end** leaks the length, and neither gradient nor change sees it, because in both the sequence stays as
#   long as it was. Who knows how many words are to come, knows a lot.
#
# The gradient says *where* a leak is. Cutting finds all three leaks and accuses neither of the honest layers, and for a
# simple reason: it is what happens in writing. If the model gives the same for a beginning as for the whole, *and the
# target at each place is the next word*, then the loss in training is the loss one by one. (Cutting does not find a
# forgotten shift: that is in the targets. `one_by_one` finds both.)

# %% [markdown]
# ## What has been computed once
#
# Writing word by word, as `written` does it, runs the model over all words so far, again and again. How much of that is
# new? With a causal mask, place $n$ sees only places up to $n$. A new word comes after all of them. So nothing at the
# old places changes, in no layer: not their vectors, not their keys, not their values. They were computed in the step
# before, and would come out the same.
#
# What does the new word need of the old ones? It asks, so it needs its own query; of the others it needs keys and
# values, in each layer. The old queries nobody needs any more. So keep keys and values: the **key-value cache**. A step
# then runs the model over the new word alone.


# %%
@torch.no_grad()
def extend(model, x_new, cache):
    """Logits [B, n, V] for new words x_new [B, n] that follow those in the cache, which grows by their keys and values."""
    old = cache[0][0].shape[2] if cache else 0  # how many words are in it
    new = x_new.shape[1]
    X = model.embed(x_new, begin=old)  # [B, n, D]: their places go on from there
    for number, layer in enumerate(model.layers):
        Q, K, V = layer.heads(X)  # [B, H, n, D_H] each, of the new words only
        if cache.get(number):
            K, V = torch.cat([cache[number][0], K], dim=2), torch.cat([cache[number][1], V], dim=2)  # [B, H, old + n, D_H]
        cache[number] = (K, V)
        X = X + layer.mixed(Q, K, V, causal(old + new)[old:])  # [B, n, D]
    return model.out(X)


# %% [markdown]
# The mask is the one with the offset: the new queries stand later. For a single new word it is all True, as it may look
# at everybody. For a beginning that is put in at once (the *prompt*) it is the triangle.
#
# Three times the same sentences: everything again at each step; word by word with the cache; and a prompt of three
# words in one piece, then word by word.

# %%
# NBVAL_CHECK_OUTPUT
x = fresh[:16, :8]  # [b, 8] in the end: the sentences of at least six words, so without padding
x = x[(x != PAD).all(dim=1)]
fed = {"again": 0, "cache": 0, "prompt": 0}  # places that were run through the model, for each sentence
with torch.no_grad():
    again = []
    for t in range(1, 9):
        again.append(model(x[:, :t])[:, -1])  # [B, V]
        fed["again"] += t
    again = torch.stack(again, dim=1)  # [B, 8, V]

cache, cached = {}, []
for t in range(8):
    cached.append(extend(model, x[:, t : t + 1], cache))  # [B, 1, V]
    fed["cache"] += 1
cached = torch.cat(cached, dim=1)  # [B, 8, V]

cache = {}
prompted = []
for piece in x.split([3, 1, 1, 1, 1, 1], dim=1):  # [B, 3], then [B, 1] each
    prompted.append(extend(model, piece, cache))
    fed["prompt"] += piece.shape[1]

assert_close(cached, again, rtol=1e-4, atol=1e-4)
assert_close(torch.cat(prompted, dim=1), again, rtol=1e-4, atol=1e-4)
print("equal outputs; places run through the model for 8 words:", fed)

# %%
steps = [str(t) for t in range(1, 9)]
figure, (left, right) = plots.canvas(9.5, 3.7, 2)
places = [str(n) for n in range(8)]
options = {"row_label": "step", "column_label": "place"}
for axes, M, title in (
    (left, causal(8), "everything again: computed at each step"),
    (right, torch.eye(8, dtype=torch.bool), "with the cache"),
):
    plots.heat_map(M.float(), steps, places, title=title, numbers=".0f", axes=axes, **options)
show(
    figure,
    "Which places are computed at each of eight steps. Everything again: at step t places 0 to t minus 1, a triangle. With the "
    "cache: one place a step, the diagonal.",
)

# %% [markdown]
# $N(N+1)/2$ places against $N$. What is it in operations? With the counts of lesson 06, a layer takes $8 n D^2 +
# 4\,n\,N_X D$ operations for $n$ queries among $N_X$ keys: four projections, scores and mixing.


# %%
# NBVAL_CHECK_OUTPUT
def operations(N, D, with_cache):
    """Of one layer, to write N words."""
    at_once = [1] * N if with_cache else range(1, N + 1)  # places that are computed in step t
    return sum(8 * n * D**2 + 4 * n * t * D for n, t in zip(at_once, range(1, N + 1)))


for N_written in (64, 256, 1024):
    again, once = (operations(N_written, 256, with_cache) for with_cache in (False, True))
    print(f"{N_written:>5} words, D = 256: {again:.2e} operations again, {once:.2e} with the cache", end=": ")
    print(f"{again / once:.0f} times fewer")


# %% [markdown]
# Operations are not time. Who computes less need not be faster by as much. So measure. (Times differ from machine to
# machine and from run to run, so these are stored: under `COURSE_FULL=1` the cell after the next measures anew.)

# %%
@torch.no_grad()
def greedy(model, N, with_cache):
    """N words, each time the likeliest; [1, N + 1] with [START]."""
    x, cache = torch.full((1, 1), START, device=DEVICE), {}
    for _ in range(N):
        logits = extend(model, x[:, -1:], cache) if with_cache else model(x)  # [1, 1 or n, V]
        chosen = logits[:, -1:, STOP + 1 :].argmax(dim=-1) + STOP + 1  # [1, 1], a word and nothing else
        x = torch.cat([x, chosen], dim=1)
    return x.cpu()


assert torch.equal(greedy(model, LONGEST, True), greedy(model, LONGEST, False))


# on a CPU the processor's time, which other work on the machine does not lengthen; elsewhere the clock's
clock = time.process_time if DEVICE.type == "cpu" else time.perf_counter


def seconds(model, N, with_cache):
    """The shortest time that `greedy` took, in seconds, of three at least; what is quick is measured more often."""
    taken = []
    while len(taken) < 3 or sum(taken) < 4:
        begun = clock()
        greedy(model, N, with_cache)
        taken.append(clock() - begun)
    return min(taken)


# %%
if stored_runs.full():
    begun = time.perf_counter()
    lengths = [16, 32, 64, 128, 256, 512, 1024]
    torch.manual_seed(SEED)
    large = LanguageModel(width=256, depth=4, longest=1025).to(DEVICE)
    greedy(large, 16, True)  # the first run of all is slow
    taken = {way: [seconds(large, N, way == "cache") for N in lengths] for way in ("again", "cache")}
    lies = []
    for seed in range(5):
        pair = [trained(ahead, 2 * STEPS, seed)[0] for ahead in (0, 1)]
        with torch.no_grad():
            lies.append([[word_loss(one, fresh).item(), one_by_one(one, fresh), share(one)] for one in pair])
    results = {"lengths": lengths, "seconds": taken, "lies": lies, "steps": 2 * STEPS}
    stored_runs.keep("07_masking", results, seed=SEED, seconds=time.perf_counter() - begun)
record = stored_runs.load("07_masking")
long = record["results"]
print(stored_runs.how(record))

names = {"again": "everything again", "cache": "with the cache"}
figure, (left, right) = plots.canvas(10.5, 3.5, 2)
lines = {names[way]: values for way, values in long["seconds"].items()}
plots.curves(long["lengths"], lines, log="xy", x_label="words written", y_label="processor seconds", axes=left)
gain = [slow / quick for slow, quick in zip(*long["seconds"].values())]
names = {"log": "x", "x_label": "words written", "y_label": "times faster"}
plots.curves(long["lengths"], {"gain": gain}, legend=False, axes=right, **names)
show(
    figure,
    f"Measured, four layers of width 256: processor seconds to write 16 to 1024 words again and with the cache, and the ratio: "
    f"{', '.join(f'{length} words {ratio:.1f}' for length, ratio in zip(long['lengths'], gain))}.",
)

# %%
# NBVAL_CHECK_OUTPUT
slow, quick = long["seconds"]["again"][-1], long["seconds"]["cache"][-1]
print(f"{long['lengths'][-1]} words: {slow:.1f} s, with the cache {quick:.1f} s, {gain[-1]:.0f} times faster")
print("from 256 words on, the longer the text, the larger the gain:", gain[-1] > gain[-2] > gain[-3])

# %% [markdown]
# For long texts the gain grows with the length, as it must. It stays far below the ratio of the operations. A processor
# that is fed a single row spends its time on fetching weights and on starting small products. So one writes many texts
# at once, in one batch, where one can: each weight is then fetched once for all of them.
#
# **The price is memory.** For each word, in each layer, a key and a value for each head: $2 \cdot L \cdot H \cdot D_H$
# numbers a word.


# %%
# NBVAL_CHECK_OUTPUT
def cache_bytes(layers, heads, head_width, words, sentences=1, bytes_each=2):
    return 2 * layers * heads * head_width * bytes_each * words * sentences


with_twelve = {}
for t in range(12):
    extend(model, fresh[:1, t : t + 1], with_twelve)
held = sum(part.numel() * part.element_size() for pair in with_twelve.values() for part in pair)
print("our model, 12 words:   ", held, "bytes, as the formula says:", held == cache_bytes(2, HEADS, 16, 12, bytes_each=4))
print(f"GPT-3, 2048 words:      {cache_bytes(96, 96, 128, 2048) / 1e9:.1f} GB for each text that it writes")
print(f"a 540B model, 512 texts: {cache_bytes(118, 48, 128, 2048, 512) / 1e12:.2f} TB")

# %% [markdown]
# The last line is a published figure. Pope et al. (2022) write of a model of 500 billion parameters with multi-head
# attention: "for batch size 512 and context length 2048, the KV cache totals 3TB, which is 3 times the size of the
# model's parameters". (Put in is a multi-head variant of PaLM 540B: 118 layers, 48 heads of 128 numbers, two bytes
# each. For GPT-3 it is 96 layers and 96 heads of 128.) Hence heads that share keys and values: one pair for all heads
# (Shazeer, 2019) or one for each group of heads (Ainslie et al., 2023) makes the cache smaller by as many times.
# %% [markdown]
# ## Was the lie luck?
#
# The stored run has also trained both models of "The loss that lies" five times, twice as long, from five seeds. All
# losses are those on new sentences:

# %%
# NBVAL_CHECK_OUTPUT
for seed, pair in enumerate(long["lies"]):
    for name, (as_trained, really, known_pairs) in zip(SHADES, pair, strict=True):
        print(f"seed {seed}, {name:>10}: as in training {as_trained:7.4f}, one by one {really:5.2f}", end=", ")
        print(f"written pairs known {known_pairs:.2f}")
lies = [really - as_trained for _, (as_trained, really, _) in long["lies"]]  # of the leaking models
print("each leaking model lies by more than 5 nats a word:", min(lies) > 5)

# %% [markdown]
# It was not. Read as in training, each leaking model looks perfect; read one by one, it is far worse than somebody who
# guesses evenly. Twice as much training has not helped it.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> Somebody hides the diagonal too, to be on the safe side. Does that prevent a leak? What does
# it cost?</summary>
#
# It prevents none, since $x_m$ is known at place $m$ and is not what is to be predicted. It costs the last word: the
# prediction of $x_{m+1}$ is made without looking at $x_m$. (In our model the input is added to each layer's result, so
# $x_m$ comes in that way.) And *[START]* has nothing to see.
#
# </details>
#
# <details><summary><b>2.</b> In our batch the padding mask changed no word's output. Then why not leave it out?</summary>
#
# There the padding stood at the end and the mask was causal. With padding at the beginning, or in an encoder, words
# would look at [PAD]s, and a sentence's output would depend on how long the *others* in its batch are.
#
# </details>
#
# <details><summary><b>3.</b> Can the leaking model be rescued after training, by giving it the right mask?</summary>
#
# No. With the right mask each place sees what it sees in writing. That is what "one by one" has measured, but for one
# thing: there, the places in the middle still saw one place ahead. Its weights know how to copy the next word, and
# nothing about language.
#
# </details>
#
# <details><summary><b>4.</b> Could the leaking model write with a key-value cache, and get the same as without?</summary>
#
# No. At each step the word that was the last so far gets a next word to look at. Its output changes, and so do its keys
# and values in the layer above. The cache holds the old ones. It is right only if nothing at the old places changes,
# and that is what a causal mask says.
#
# </details>
#
# <details><summary><b>5.</b> A sentence of three words is fed in together with one of sixty, each with its *[START]*.
# How many rows of its mask (causal and padding) have anything to see, with padding at the end, and with padding at the
# beginning?</summary>
#
# With padding at the end: all. Each [PAD] comes after words, and sees them. With padding at the beginning: four,
# *[START]* and the three words. The others have nothing to see.
#
# </details>
#
# <details><summary><b>6.</b> One factor of a sentence's probability is 0.0. What is log P, and what has the model said?</summary>
#
# $-\infty$: it has said that this sentence cannot be. A softmax of finite logits never says so, in exact arithmetic. It
# can in floating point, if one takes the logarithm of the softmax. `log_softmax` does not go by way of the 0.
#
# </details>
#
# <details><summary><b>7.</b> In training all factors are computed at once. Why can that not be done in writing?</summary>
#
# In training the words are given, all of them. In writing $x_t$ is chosen from a distribution that depends on
# $x_{t-1}$, which has to be chosen first.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **Which way round?** In this course, and in `scaled_dot_product_attention`, True means *may look*. In
#   `nn.MultiheadAttention` True means *must not*. Write it beside each mask.
# - **Before the softmax.** Fill in $-\infty$. Not 0, not after, and $-10^9$ only if each row has something to see.
# - **Rows with nothing to see** give NaN, in the gradient even if the loss does not read them. Fill with 0 after the
#   softmax.
# - **An axis for the heads.** $[B, N, N]$ becomes $[B, 1, N, N]$. Test with $B \ne H$, and with $B = H$.
# - **`mask.float()` hides nobody.** A mask of floats is added: 0 or $-\infty$.
# - **`is_causal` begins at the top left.** With a cache, write the mask with its offset.
# - **Padding at the beginning moves the places.** Count them from the first word, or a sentence changes with its batch.
# - **A cache belongs to one text.** Empty it before the next. If the beginning is cut off to make room, the places of
#   the others change, and with a learned table or waves all their keys and values.
# - **A loss that is too good** is a leak until proven otherwise. Evaluate one by one.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *$P(X) = \prod_{t=0}^{T} P(x_{t+1} \mid x_1, \dots, x_t)$.* One factor too many for a sequence of $T$: it should be
#   $\prod_{t=1}^{T} P(x_t \mid x_{<t})$.
# - *"Override similarities with −inf."* As here; the slide's softmax "dim=1" is over the keys only as long as there is
#   neither a batch nor heads. Then `dim=-1`.
# - *"Don't let vectors look ahead"*, *"each token can only see the ones before it".* And itself.
#
# </details>

# %% [markdown]
# ## References
#
# - A. Vaswani et al. (2017). Attention is all you need. NeurIPS. arXiv:1706.03762. *Section 3.2.3: masking in the
#   decoder by $-\infty$.*
# - R. J. Williams, D. Zipser (1989). A learning algorithm for continually running fully recurrent neural networks.
#   Neural Computation 1(2). *Teacher forcing.*
# - N. Shazeer (2019). Fast Transformer decoding: one write-head is all you need. arXiv:1911.02150.
# - R. Pope et al. (2022). Efficiently scaling Transformer inference. arXiv:2211.05102. *Section 2: the published size
#   of a cache.*
# - J. Ainslie, J. Lee-Thorp, M. de Jong, Y. Zemlyanskiy, F. Lebrón, S. Sanghai (2023). GQA: training generalized
#   multi-query Transformer models from multi-head checkpoints. EMNLP. arXiv:2305.13245.
# - D. Raposo et al. (2024). Mixture-of-Depths: dynamically allocating compute in Transformer-based language models.
#   arXiv:2404.02258. *A layer for some words only, and what that means for writing.*
# - PyTorch: `torch.nn.functional.scaled_dot_product_attention`, `torch.nn.MultiheadAttention`. *The two polarities, in
#   their own words.*
