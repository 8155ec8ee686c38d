# %% [markdown]
# # 07 · Masking and decoding
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/07_masking.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - build causal masks and padding masks, and combine them, for one head or many;
# - apply a mask at the right step, and say what goes wrong at any other;
# - train on all positions of a sentence at once, and generate one token at a time with a KV cache, without computing
#   anything twice;
# - find a leak of future tokens before it makes the training loss misleading.
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

installed = prepare()

# %% tags=["fold"]
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


# %% tags=["fold"]
def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


# %% [markdown]
# ## The next word is in the input
#
# A **language model** reads the beginning of a sentence and predicts how the sentence goes on. Its unit is the
# **token**: in this lesson each word is one token, and so are the special tokens *[START]*, *[STOP]* and *[PAD]*. A
# language model is trained with **teacher forcing**, like the decoder of lesson 01: the whole correct sentence is fed
# in, and at each **position** (each index in the sequence) the model predicts the token that follows.

# %% tags=["fold"]
words = ["[START]", "attention", "is", "very", "cool"]
show(
    seq2seq.teacher_forcing([*words[1:], "[STOP]"]),
    "Two rows of the same words, shifted by one position. Fed in: START, attention, is, very, cool. To predict: attention, is, "
    "very, cool, STOP.",
)

# %% [markdown]
# **Figure 1.** The input of a language model and its targets. Each target is the token that follows the
# input token at the same position, so the target at one position is the input at the next.
#
# The decoder of lesson 01 was an RNN. Of the target sentence, its hidden state at *is* had read only *[START] attention is*. Now we
# put self-attention in place of the RNN. Self-attention receives all five tokens at once, and each token **attends** to
# all of them: its output is a weighted mean of all their values. What will training find?
#
# At *is* the model has to predict *very*. But *very* stands one position further on in the same input, so the model
# only needs to attend to that position and copy. The loss can fall to almost zero although the model has learned
# nothing about language. When the model later has to write a sentence of its own, there is no next token to copy.
#
# So each token may attend to itself and to the tokens before it, but to no token after it. This lesson shows how to
# tell an attention layer this, what the rule makes possible, and how to notice that it has been broken.
#
# Positions are counted from 0, as always: $x_0$ is *[START]*. The model reads $x_m$ at position $m$ and has to predict
# $x_{m+1}$ there. (The figure counts predictions: $t = 1$ is the prediction of $x_1$, made at position 0.)

# %% [markdown]
# ## The future must not be seen
#
# We take a single query, the one at position $m = 2$ (*is*), with random vectors and matrices. The loops are those of
# lesson 05, except that they end at position $m$.

# %%
N, D, D_Q, D_V = 5, 6, 4, 3
X = normal(N, D)  # [N, D]
W_Q, W_K, W_V = normal(D, D_Q) / 2, normal(D, D_Q) / 2, normal(D, D_V) / 2

m = 2  # as always: m is the position of the query, n that of the key
e_loop = torch.zeros(m + 1, device=DEVICE)  # [m + 1]: scores of positions 0 … m only
for n in range(m + 1):
    e_loop[n] = (X[m] @ W_Q) @ (X[n] @ W_K) / math.sqrt(D_Q)
a_loop = e_loop.softmax(dim=-1)  # [m + 1], sums to 1
y_loop = torch.zeros(D_V, device=DEVICE)  # [D_V]
for n in range(m + 1):
    y_loop += a_loop[n] * (X[n] @ W_V)

# %% [markdown]
# In this form the loop has a different length for each $m$. To compute all queries at once we want a rectangle again.
# So we compute all $N \cdot N$ similarity scores and then remove those that must not count. A **mask** says which they
# are: it is a matrix of booleans, and in this course **True means: may attend**. The **causal mask** is True where
# $n \le m$. Where the mask is False we replace the score by $-\infty$. The exponential of such a score is 0, and so is
# its attention weight:
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


# %% tags=["fold"]
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
# **Figure 2.** The causal mask, the similarity scores after masking, and the attention weights. Each query spreads its
# whole weight over its own position and the positions before it; every position after it gets exactly 0.
#
# Look at the rows. *[START]* attends only to itself, so its attention weight is 1. *cool*, the last token, attends to
# all positions. Each row still sums to 1: the softmax divides the weight among the scores that are left.
#
# Why is the diagonal True? The token at position $m$ is already known there. The unknown token is the next one,
# $x_{m+1}$.
#
# **Queries that start later.** Later in this lesson tokens arrive one at a time. Then there are few queries, those of
# the new tokens, and many keys, those of all tokens so far. The shapes alone do not say at which positions the queries
# stand, so we have to say it. Here $m = 0, 1, \dots$ counts only the new queries. If the first of them stands at
# position `offset`, then query $m$ stands at position `offset` $+\, m$ and attends to the keys with $n \le$ `offset`
# $+\, m$.


# %%
def causal(N, ahead=0):
    """A mask [N, N], True where position m may attend to n: n ≤ m, or up to `ahead` positions further."""
    return torch.ones(N, N, dtype=torch.bool, device=DEVICE).tril(diagonal=ahead)


offset = 3  # two new tokens, at positions 3 and 4, and five keys
later = torch.tensor([[n <= offset + m for n in range(5)] for m in range(2)], device=DEVICE)  # [N_Q, N_X]

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
for row in later.int().tolist():
    print(row)
print("the last two rows of the square one:", torch.equal(later, causal(5)[offset:]))
print("a single query at the end sees all: ", causal(5)[4:].all().item())

# %% [markdown]
# ## Lines of different length
#
# A batch is a rectangle, but sentences differ in length. So the shorter ones are filled up with the token *[PAD]*,
# which carries no content; this is called **padding**. The loss leaves *[PAD]* out (lesson 01). Attention must leave it
# out too: no query may attend to a *[PAD]*. The **padding mask** expresses this. It depends on the length of the
# sentence but not on the query. So it consists of one row for each sentence, $[B, 1, N]$, and broadcasting repeats this
# row for all queries.


# %%
def no_padding(lengths, N):
    """A mask [B, 1, N], True at the first lengths[b] positions of sentence b."""
    return (torch.arange(N, device=DEVICE) < lengths[:, None])[:, None]  # [B, N], and an axis for the queries


second = ["[START]", "we", "sleep", "[PAD]", "[PAD]"]
lengths = torch.tensor([5, 3], device=DEVICE)  # [B]
X_batch = normal(2, N, D)  # [B, N, D]; whatever stands at [PAD], it is a vector like any other
padding = no_padding(lengths, N)  # [B, 1, N]
both = causal(N) & padding  # [N, N] and [B, 1, N] give [B, N, N]

# %% tags=["fold"]
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
# **Figure 3.** The causal mask, the padding mask and their combination for the shorter sentence. The causal mask removes
# the keys after each query; the padding mask removes the columns of the [PAD] tokens, whatever the query.
#
# Both conditions must hold, so we combine the two masks with `&`, since True means *may attend*. (If True meant *hide*,
# we would combine them with `|`.)
#
# The padding mask removes *columns*: no query attends to a *[PAD]*. It does not remove *rows*: the *[PAD]* tokens still
# have queries and outputs. These outputs are meaningless, but nothing reads them, since the loss leaves these positions
# out.
#
# Here is a question. We have padded at the end. With the causal mask in place, does the padding mask change the output
# of any *word*? Think before you run the cell.

# %%
Q_b, K_b, V_b = X_batch @ W_Q, X_batch @ W_K, X_batch @ W_V  # [B, N, D_Q], [B, N, D_Q], [B, N, D_V]
Y_both, _ = attend(Q_b, K_b, V_b, both)  # [B, N, D_V]; the mask [B, N, N] is one for each sentence
Y_causal, _ = attend(Q_b, K_b, V_b, causal(N))
Y_padding, _ = attend(Q_b, K_b, V_b, padding)
Y_bare, _ = attend(Q_b, K_b, V_b, torch.ones_like(both))
Y_alone, _ = attend(Q_b[1, :3], K_b[1, :3], V_b[1, :3], causal(3))  # [3, D_V]: the second sentence without its padding


# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
def same(one, other):
    return bool((one - other).abs().max() < 1e-5)


print("both masks: words as if the sentence were alone:          ", same(Y_both[1, :3], Y_alone))
print("the causal one alone gives the words the same:            ", same(Y_causal[1, :3], Y_alone))
print("without the causal one, the padding mask changes the words:", not same(Y_padding[1, :3], Y_bare[1, :3]))

# %% [markdown]
# The padding mask changes no word's output here. Each *[PAD]* stands after all words, and the causal mask already hides
# everything that stands after a word. We need the padding mask in two cases: without a causal mask (in an encoder,
# where every token attends to every token), and with padding at the *beginning*. One pads at the beginning when several
# sentences are to be continued together, so that their ends stand in one column. So an encoder uses the padding mask
# alone; a causal model that always uses both masks is right wherever the padding stands. But padding at the beginning
# brings a new difficulty, which is the subject of the section after the next.

# %% [markdown]
# ## Before the softmax, not after
#
# Why do we replace scores by $-\infty$, if all we want is that some attention weights are 0? Could we compute the
# weights and then set those to 0? Or could we set the *scores* to 0? We try each of these ways on the row of *is*,
# whose scores are `E[2]`, and ask three questions. What does the row sum to? How much weight do the future positions
# get? And does the weight of *[START]* still depend on the *score* of a future position? A derivative answers the third
# question: if there is no such influence, the derivative of this weight with respect to that score is 0; if the
# derivative is not 0, there is one.


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

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
for way in WAYS:
    e = E[2].detach().cpu().requires_grad_()  # [N]
    a = way(e, mask[2].cpu())  # [N]
    (slope,) = torch.autograd.grad(a[0], e)  # [N]: how the weight of [START] follows each score
    print(f"{way.__name__:>18}: sum {a.sum():.2f}, future has {a[3:].sum():.2f}", end=", ")
    print("depends on a future score:", bool(slope[3:].abs().max() > 1e-6))

# %% [markdown]
# - **after**: the future positions get no weight, but the row does not sum to 1. Worse, the softmax has already divided
#   by the exponentials of *all* scores. A hidden token with a high score takes weight away from the others, and the
#   weights that are left become smaller. So the size of the output depends on the scores of the hidden tokens: the
#   future leaks through the denominator.
# - **after_and_rescaled**: this is correct. The wrong denominator, call it $Z$, divides each weight and also the sum by
#   which we rescale, so it cancels: $\frac{\exp(e_n) / Z}{\sum_k \exp(e_k) / Z} = \frac{\exp(e_n)}{\sum_k \exp(e_k)}$,
#   where $k$ runs over the visible positions.
# - **scores_to_zero**: this is wrong. A score of 0 does not give a weight of 0, since $\exp(0) = 1$. The scores of the
#   hidden tokens no longer matter, but these tokens get the weight of a score of 0, and their *values* enter the
#   output.
#
# Is rescaling as good as $-\infty$, then? In exact arithmetic it is; in floating point it is not. Suppose that a hidden
# token has a very high score, about 200 above the others:

# %%
# NBVAL_CHECK_OUTPUT
e = E[2].cpu().clone()  # [N]
e[3] += 200  # the word "very", which "is" must not see
print("before:            ", *(f"{weight:.2f}" for weight in before(e, mask[2].cpu())))
print("after and rescaled:", *(f"{weight:.2f}" for weight in after_and_rescaled(e, mask[2].cpu())))

# %% [markdown]
# The softmax gave the visible tokens weights of about $e^{-200}$, which single precision rounds to 0. Rescaling then
# computes $0/0$. Such scores are rare. But in half precision, whose smallest positive number is about
# $6 \cdot 10^{-8}$, a lead of 18 is enough. Besides, rescaling goes two more times over a matrix of $N \cdot N$
# numbers. So we fill in **$-\infty$ before the softmax.**
#
# You will often see a large negative number such as $-10^9$ in place of $-\infty$. As long as a row has at least one
# visible position, the weights are the same: $\exp(-10^9)$ is 0 in each of torch's formats. Two things differ. First,
# half precision (float16) has no such number: its largest is 65,504, and `masked_fill` raises an error. Second, the result
# differs for a row that has *no* visible position. The next section is about such rows.

# %% [markdown]
# ## A row with nothing to see
#
# Two sentences are to be continued together, so the padding stands at the beginning: *[PAD] [PAD] [START] we sleep*.
# What may the first *[PAD]* attend to? The causal mask allows it only itself, and the padding mask forbids every
# *[PAD]*. So nothing is left for it to attend to.

# %%
first = ["[PAD]", "[PAD]", "[START]", "we", "sleep"]
real = torch.tensor([False, False, True, True, True], device=DEVICE)  # [N]
empty = causal(N) & real  # [N, N]
Y_empty, A_empty = attend(Q, K, V, empty)

# %% tags=["fold"]
figure, (left, right) = plots.canvas(9, 3.6, 2)
panel(empty, "both masks", left, first, first, row_label="who looks", column_label="at whom")
panel(A_empty, "weights", right, first, first)
show(
    figure,
    "Left, both masks for PAD PAD START we sleep: the first two rows and columns are zero. Right, the weights: the first two "
    "rows are NaN, not a number; the other three are as they should be.",
)

# %% [markdown]
# **Figure 4.** Both masks for a sentence that is padded at the beginning, and the attention weights that follow. A row of
# the mask without a single True becomes a row of NaN; the other rows are not affected.
#
# A softmax divides a weight of 1 among the visible positions. Here there is none: every exponential is 0, and $0/0$ is
# NaN ("not a number"). (The softmax first subtracts the largest score, lesson 04, and $-\infty - (-\infty)$ is NaN as
# well.)
#
# Does this matter, although nothing reads the output of a *[PAD]*? Let the loss read the three real tokens alone, and
# look at the gradients.


# %% tags=["fold"]
def trial(name, weights):
    """Prints whether a loss that reads only the three real tokens is finite, and whether its gradients are."""
    matrices = [W.detach().clone().requires_grad_() for W in (W_Q, W_K, W_V)]
    Q, K, V = (X @ W for W in matrices)
    loss = (weights(Q @ K.T / math.sqrt(D_Q)) @ V)[real].square().mean()
    finite = [bool(found.isfinite().all()) for found in torch.autograd.grad(loss, matrices)]
    print(f"{name:<26} loss finite: {bool(loss.isfinite())}, gradients of W_Q, W_K, W_V finite:", *finite)


# %%
# NBVAL_CHECK_OUTPUT
trial("-inf before", lambda E: E.masked_fill(~empty, -torch.inf).softmax(dim=-1))

# %% [markdown]
# The loss is finite, but the gradient of $W_V$ is not. In the backward pass, the gradient of each value is a sum over
# the queries: attention weight times the gradient of that query's output. For the *[PAD]* queries this gradient is 0,
# since nothing reads their outputs. But their weights are NaN, and $\text{NaN} \cdot 0$ is NaN. After one step of
# training all of $W_V$ is NaN, and so is the next loss. Since the first loss was fine, one looks for the mistake in the
# wrong part of the code.
#
# **What should such a row contain?** A mean of nothing does not exist, so we have to agree on a convention. A useful
# one is: weights 0, output 0, gradient 0. A second `masked_fill`, after the softmax, achieves this. It changes nothing
# in rows that have a visible position.


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
# Why are the gradients finite now? The second `masked_fill` makes these weights 0, so that no NaN reaches the gradient
# of the values. The *first* one stops the NaN that the softmax sends back to the scores: `masked_fill` passes no
# gradient to the entries that it has overwritten. The third trial shows why we fill in $-\infty$ and do not add it.
# Both give the same weights, but an addition passes every gradient on, including the NaN from the softmax of such a
# row.
#
# How do torch's own calls, and the large negative number, treat a row with nothing to attend to?

# %%
library = nn.MultiheadAttention(D_Q, num_heads=1, batch_first=True).to(DEVICE)
with torch.no_grad():
    by_function = F.scaled_dot_product_attention(Q, K, V, attn_mask=empty)  # [N, D_V]
    by_module, _ = library(Q[None], K[None], K[None], attn_mask=~empty)  # [1, N, D_Q]; why ~, the next section tells
    by_number = (E.masked_fill(~empty, -1e9)).softmax(dim=-1)  # [N, N]

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
print("scaled_dot_product_attention, first row:", by_function[0].abs().tolist())
print("nn.MultiheadAttention, first row:       ", by_module[0, 0].tolist())
print("-1e9 in place of -inf, first row's weights:", *(f"{weight:.2f}" for weight in by_number[0].tolist()))

# %% [markdown]
# We see three different answers. torch's function gives 0 (before version 2.5 it gave NaN). Its module gives NaN when
# it is called as here, with its attention weights returned, which is the default. With `need_weights=False` the module
# calls the function and gives 0 (torch 2.13 on a CPU). The number $-10^9$ gives no NaN, but its result is wrong: all
# scores of the row are equal, so the *[PAD]* attends *evenly to all positions*, among them tokens that it must not see.
# There is no error and no NaN to warn us.
#
# Such rows are not rare. They arise from padding at the beginning, from an empty sentence, from a batch that is filled
# up with empty sentences, and from a query that stands before all keys.

# %% [markdown]
# ## Masks and heads
#
# With $H$ heads (lesson 06) the scores have the shape $[B, H, N, N]$. All heads of a sentence share its mask. So the
# mask $[B, N, N]$ needs an axis of size 1 for the heads: `mask.unsqueeze(-3)` has the shape $[B, 1, N, N]$. What
# happens if we forget this axis? Broadcasting aligns shapes at the right, so the $B$ of the mask meets the $H$ of the
# scores.

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
# With two heads we get an error, which tells us about the mistake. With three heads we get none: head 0 of *every*
# sentence uses the mask of sentence 0, head 1 that of sentence 1, and so on. A test with as many sentences as heads
# does not raise an error.
#
# **Two polarities.** torch offers attention as a function and as a module, and a boolean mask means opposite things in
# the two:
#
# | | True means | shape of the mask |
# |---|---|---|
# | `F.scaled_dot_product_attention(attn_mask=)` | may attend | broadcasts to $[B, H, N_Q, N_X]$ |
# | `nn.MultiheadAttention(attn_mask=)` | must **not** attend | $[N_Q, N_X]$ or $[B \cdot H, N_Q, N_X]$ |
# | `nn.MultiheadAttention(key_padding_mask=)` | is padding, must **not** be attended to | $[B, N_X]$ |
#
# What happens if you mix them up? The module does not complain. Each query then attends to exactly the tokens that it
# must not see. With the causal mask these are the future tokens, and only those.

# %%
with torch.no_grad():
    rows = X_batch[..., :D_Q]  # [B, N, D_Q]
    _, right_way = library(rows, rows, rows, attn_mask=~causal(N), key_padding_mask=~padding[:, 0])  # [B, N, N]
    _, wrong_way = library(rows, rows, rows, attn_mask=causal(N))
    assert_close(right_way, library(rows, rows, rows, attn_mask=(~both))[1])  # H = 1: [B·H, N, N] is [B, N, N]

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
future = ~causal(N)
print("with ~: weight on the future:         ", right_way[:, future].sum().item())
print("without: rows 0 to 3, weight on the past:", wrong_way[0, :4][causal(N)[:4]].sum().item())
print("without: the last row, which has no future:", wrong_way[0, 4, 0].item())

# %% [markdown]
# A mask of *floats* means the same in both: it is added to the scores, so 0 leaves a score as it is and $-\infty$ hides
# it. This leads to another mistake. `mask.float()` is 1 where a query may attend and 0 where it may not. Added to the
# scores, it hides nothing.
#
# **`is_causal`.** This flag saves us the mask. But if there are fewer queries than keys, the flag cannot know at which
# positions the queries stand. It puts query 0 at position 0, so that the triangle begins at the top left. For one new
# token and five keys the result is:

# %%
# NBVAL_CHECK_OUTPUT
newest = Q[4:]  # [1, D_Q], the query of "cool", which stands last
I = torch.eye(N, device=DEVICE)  # with these values the output is the weights
by_flag = F.scaled_dot_product_attention(newest, K, I, is_causal=True)  # [1, N]
by_mask = F.scaled_dot_product_attention(newest, K, I, attn_mask=causal(N)[4:])
print("is_causal=True:", *(f"{weight:.2f}" for weight in by_flag[0].tolist()))
print("offset 4:      ", *(f"{weight:.2f}" for weight in by_mask[0].tolist()), " as in the square:", same(by_mask[0], A[4]))

# %% [markdown]
# With the flag the newest token attends to the first token alone, and no error is raised. (In `nn.MultiheadAttention`
# the flag is only a hint; the module needs the mask all the same.) When queries and keys differ in number, write the
# mask with its offset.

# %% [markdown]
# ## What an output depends on
#
# A mask says which positions a query may *attend* to. What counts in the end is which inputs an output *depends* on: if
# input $n$ changes a little, does output $m$ change? Derivatives answer this question. The derivatives of all features
# of output $m$ with respect to all features of input $n$ form one block of the **Jacobian**, the matrix of all first derivatives.
# The size of this block, the root of its sum of squares, is one number for each pair of positions. These numbers form a
# matrix $J\,[N, N]$, which is 0 where output $m$ does not depend on input $n$.
#
# We compute $J$ for all outputs at once with torch's own call, and compare one row with a loop over the features of a
# single output:


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
# Now we compare three masks: the causal mask; a mask whose diagonal is off by one, so that each token attends to one
# token too many; and a window, in which each token attends to itself and to the token before it. The upper row of
# panels shows $J$ for one layer. The lower row shows $J$ for two such layers on top of each other, each with matrices
# of its own. Where no number is written, the derivative is 0. Cover the lower row with your hand: what do you expect
# there?

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


# %% tags=["fold"]
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

# %% [markdown]
# **Figure 5.** How strongly each output depends on each input, after one layer (first row of panels) and after two
# (second row). The causal mask stays causal, the mask that is off by one leaks further with each layer, and the window
# grows wider with each layer.


# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
def reach(J):
    """How many positions after its own, and how many before, an output depends on at most."""
    outputs, inputs = (J > 1e-7).nonzero(as_tuple=True)
    return (inputs - outputs).max().item(), (outputs - inputs).max().item()


for name, allowed in masks.items():
    ahead, back = reach(dependence(layer_with(allowed, *one), X))
    ahead_2, back_2 = reach(dependence(stacked(allowed), X))
    print(f"{name:>13}: one layer {ahead} ahead, {back} back; two layers {ahead_2} ahead, {back_2} back")

# %% [markdown]
# - **The causal mask** stays causal, however many layers we stack. Each output combines only outputs of the layer below
#   at the same or earlier positions, and these depend on nothing later.
# - **The mask that is off by one** gets worse with depth: each layer sees one position further ahead.
# - **The window** grows wider with depth. The inputs that an output depends on are its **receptive field**. Local
#   attention relies on its growth: with enough layers the receptive field contains all earlier positions.
#
# (Output $m$ depends on input $m$ even where the mask forbids position $m$ to attend to itself, because the query is
# made from $x_m$. The exception is a query with one key or none: then the attention weights are fixed, and the query
# has no influence.)
#
# **Try it.** Set a mask yourself: each button is a pair *who looks → at whom*, and 1 means *may attend*. The explorer
# shows the attention weights, and what each output depends on after one layer and after two. It starts with the window.
# Set the causal mask first. Then let *[START]* attend to *cool*, with the single button at the top right. Which outputs
# depend on *cool* now, after one layer and after two?


# %% tags=["fold"]
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

# %% [markdown]
# **Figure 6.** The mask that you set, the attention weights of the first layer, and the outputs that depend on each input
# after one layer and after two. Any 1 above the diagonal in the two panels on the right is a leak.

# %%
# NBVAL_CHECK_OUTPUT
single = causal(N)
single[0, 4] = True  # [START] may look at "cool"
print("one layer: ", in_words(dependence(layer_with(single, *one), X)))
print("two layers:", in_words(dependence(stacked(single), X)))

# %% [markdown]
# With one cell too many, every output depends on the last token after two layers: all tokens attend to *[START]*, and
# *[START]* has attended to the last token. So a small leak is enough, and its effect can appear far from the cell that
# causes it.

# %% [markdown]
# ## One factor at a time
#
# We can now use the causal mask for its main purpose. A **sentence** is $x_1, \dots, x_T$, and its last token $x_T$ is
# *[STOP]*; $x_0$ is *[START]*, which is given. How probable is the sentence? The **chain rule of probability** splits this
# probability into factors, whatever the distribution is:
#
# $$P(x_1, \dots, x_T) = \prod_{t=1}^{T} P(x_t \mid x_{<t}),\qquad x_{<t} = x_0, x_1, \dots, x_{t-1}$$
#
# Each factor comes from a distribution over the vocabulary, and such a distribution is what a language model computes.
# A model that predicts each token from the tokens before it is called **autoregressive**. (*[STOP]* belongs to the
# sentence. Without its factor we would have the probability that a sentence *begins* in this way, and the probabilities
# of all sentences would not sum to 1.)
#
# Products of many small factors underflow to 0 in floating point. So we add logarithms instead; the training loss is
# the mean of these logarithms with a minus sign.
#
# Position $t - 1$ has read $x_{<t}$ and predicts $x_t$. With a causal mask **one** run through the model gives all $T$
# factors, since each position depends only on the tokens that it may see. That is why such models train fast: every
# position of every sentence is a training example, and all of them are computed in parallel. An RNN learns from every
# position too, but it has to compute them one after another.
#
# Our model has two layers of self-attention with four heads, and a learned table of position embeddings. The input of
# each layer is *added* to its result. This addition is called a **residual connection**; lesson 08 explains what it is
# good for. The argument `ahead` lets us build a wrong mask later.

# %%
HEADS, LONGEST = 4, 12  # LONGEST: words of a sentence
english = vocabulary("english")
V_WORDS = len(english)


class Layer(nn.Module):
    """Self-attention of several heads under a mask, with a residual connection."""

    def __init__(self, width):
        super().__init__()
        self.W_QKV, self.W_O = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def heads(self, X):
        """X [B, N, D] gives queries, keys and values, [B, H, N, D_H] each."""
        return (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.W_QKV(X).chunk(3, dim=-1))

    def mixed(self, Q, K, V, mask):
        """The outputs of all heads, mixed: [B, N_Q, D]; the mask is [B, 1, N_Q, N_X] or [N_Q, N_X]."""
        return self.W_O(F.scaled_dot_product_attention(Q, K, V, attn_mask=mask).transpose(1, 2).flatten(2))

    def forward(self, X, mask):
        return X + self.mixed(*self.heads(X), mask)  # [B, N, D]


class LanguageModel(nn.Module):
    """Tokens [B, N] give logits [B, N, V] of the token that follows each; with `ahead` other than 0 it leaks."""

    def __init__(self, ahead=0, width=64, depth=2, longest=LONGEST + 2):
        super().__init__()
        self.ahead = ahead
        self.words, self.places = nn.Embedding(V_WORDS, width), nn.Embedding(longest, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.out = nn.Linear(width, V_WORDS)

    def embed(self, x, begin=0):
        """Embeddings [B, N, D] of tokens x [B, N] at positions begin, begin + 1, …."""
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
# We train the model on English sentences of 3 to 12 words from the course's translation data.


# %% tags=["fold"]
def padded(sentences):
    """Sentences as numbers [B, N]: [START], words, [STOP], [PAD]s."""
    rows = [torch.tensor([START, *english.encode(sentence)]) for sentence in sentences]
    return pad_sequence(rows, batch_first=True, padding_value=PAD).to(DEVICE)


SEED = 0
texts = [pair.source for pair in corpus("french", 12000, 3, LONGEST, seed=1)]
known = set(texts)
fresh = padded([pair.source for pair in corpus("french", 600, 3, LONGEST, seed=2) if pair.source not in known][:400])
sentences = padded(texts)  # [12000, N]


# %%
def word_loss(model, x):
    """The mean of −log P over the tokens that are to be predicted; x [B, N]."""
    return F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten(), ignore_index=PAD)


# %% tags=["fold"]
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
# We compute all factors of one sentence in two ways: first one by one, where the model receives only the beginning of
# the sentence each time; then all in one run.

# %%
sky = padded([["we", "see", "the", "sky"]])  # [1, 6]: [START] we see the sky [STOP]
T = sky.shape[1] - 1

with torch.no_grad():
    log_loop = torch.zeros(T, device=DEVICE)  # [T]
    for t in range(1, T + 1):
        logits = model(sky[:, :t])[0, -1]  # [V], at the last position; the model is given x_0 … x_{t−1} only
        log_loop[t - 1] = logits.log_softmax(dim=-1)[sky[0, t]]

    log_P = model(sky[:, :-1]).log_softmax(dim=-1)  # [1, T, V]: all positions in one run
    log_factors = log_P.gather(-1, sky[:, 1:, None])[0, :, 0]  # [T]: at each position the token that did follow
    assert_close(log_factors, log_loop, rtol=1e-4, atol=1e-4)
    assert_close(-F.cross_entropy(model(sky[:, :-1])[0], sky[0, 1:], reduction="none"), log_factors)  # torch's own call

# %% tags=["fold"]
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
# **Figure 7.** The probability that the model gives to each token of the sentence, given all the tokens before it. The
# probability of the sentence is the product of these factors.
#
# Small factors do not mean that the model is wrong: many words can begin a sentence, and many things can be seen. And a
# longer sentence has more factors, so its probability tends to be smaller.
#
# **Generating** a sentence works differently from training. To predict $x_t$ the model needs $x_{t-1}$, and $x_{t-1}$
# is known only after it has been chosen. So we generate token by token: run the model, choose the next token, append
# it, and run the model again. Training is parallel, generation is sequential.


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


# %% tags=["fold"]
for row in written(model, 5, seed=1):
    print(" ".join(english.decode(row)))

# %% [markdown]
# ## The loss that lies
#
# Now we make the mistake on purpose. In a second model the mask is off by one: with `ahead=1` each position sees one
# position too many. Everything else is the same: sentences, number of steps, seed. Answer before you run the cell:
#
# 1. You know what the training loss of this model will do. What about its loss on **new** sentences, which it has never
#    seen: will that loss reveal the leak?
# 2. What will this model write?

# %%
leaking, curve_leaking = trained(1, STEPS)

# %% tags=["fold"]
smooth = {
    name: [sum(losses[i : i + 20]) / 20 for i in range(0, STEPS, 20)]
    for name, losses in (("causal", curve), ("off by one", curve_leaking))
}
SHADES = {"causal": plots.BLUE, "off by one": plots.VERMILLION}  # in every figure
blind = math.log(V_WORDS)  # who guesses evenly among all words

figure, (axes,) = plots.canvas(7, 3.4)
plain = dict.fromkeys(smooth, "-")
plots.curves(
    range(20, STEPS + 1, 20), smooth, styles=plain, colours=SHADES, x_label="step", y_label="mean −log P a token", axes=axes
)
plots.level(axes, blind, "even guessing")
axes.set_ylim(-0.1, blind + 0.6)
show(
    figure,
    "Training loss over the steps. "
    + " ".join(f"{name}: from {line[0]:.2f} to {line[-1]:.2f}." for name, line in smooth.items()),
)

# %% [markdown]
# **Figure 8.** Training loss of the model with the causal mask and of the model whose mask is off by one. The loss of the
# second model falls to almost zero, because the model copies each target from its own input.
#
# The loss of the leaking model looks like a success. (Losses are in **nats** here, the unit that goes with natural
# logarithms.) To see what this loss is worth, we evaluate the model **one by one**: we give it the beginning $x_{<t}$
# and *nothing else*, as in generation, and ask for $x_t$. With a correct mask this makes no difference, because the
# later tokens are hidden in any case.


# %%
@torch.no_grad()
def one_by_one(model, x):
    """The mean of −log P over the tokens of x [B, N], each predicted from the tokens before it alone."""
    total = 0.0
    for t in range(1, x.shape[1]):
        there = x[:, t] != PAD  # [B]
        logits = model(x[there, :t])[:, -1]  # [b, V]
        total += F.cross_entropy(logits, x[there, t], reduction="sum").item()
    return total / (x[:, 1:] != PAD).sum().item()


# %% tags=["fold"]
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

# %% [markdown]
# **Figure 9.** Loss on new sentences, measured as in training and measured one by one. With the causal mask the two
# losses agree; with the mask that is off by one, the loss as in training is close to zero and the loss one by one is
# worse than even guessing.

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
print("off by one, as in training, new sentences: below 0.05: ", in_parallel["off by one"] < 0.05)
print("off by one, one by one: worse than guessing evenly:    ", alone["off by one"] > blind)
print("the lie, in nats a word: above 5:                      ", alone["off by one"] - in_parallel["off by one"] > 5)
print("causal: the same both ways:                            ", abs(alone["causal"] - in_parallel["causal"]) < 1e-3)
print("causal: between 1 and 2.5:                             ", 1 < alone["causal"] < 2.5)

# %% [markdown]
# New sentences do **not** reveal the leak. The model reads them with the same mask, and copying works on sentences that
# it has never seen. A validation set cannot reveal a leak that is present in validation too.
#
# Evaluated one by one, the leaking model is worse than even guessing: it has learned to be certain, and now it is
# certain of wrong tokens. The difference between its two losses says how far the training loss is from the truth. What
# does this model write?

# %% tags=["fold"]
for row in written(leaking, 5, seed=1):
    print(" ".join(english.decode(row)) or "(nothing: it stops at once)")

# %% [markdown]
# How good is such a text? For this grammar a simple measure is enough: the share of its pairs of neighbouring words
# that occur anywhere in the 12,000 training sentences.


# %% tags=["fold"]
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

# %% tags=["fold"]
print(f"causal {share_causal:.2f}, off by one {share_leaking:.2f}")

# %% [markdown]
# The leaking model cannot write. During generation there is no next token to copy, and copying is all that the model
# has learned.

# %% [markdown]
# ## Found before training
#
# A large model trains for weeks, and a leak found late wastes all of them. But the leak exists before the first step, and we can
# find it then, with derivatives. A token is an index and cannot change by a small amount, but its **embedding**, the
# vector that represents it, can. So we take an untrained model and ask on which embeddings its logits depend.


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

# %% tags=["fold"]
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
# **Figure 10.** How strongly the logits of two untrained models depend on each input, with the target of each position
# circled. With the causal mask the circled cells are empty; with the mask that is off by one they hold numbers, so the
# model sees its own targets.
#
# Each circle marks the token that its row has to predict. (The last row has to predict *[STOP]*, which is not among the
# inputs.) The numbers are shares of the largest entry; where the derivative is exactly 0, no number is written. **No
# number may stand on a circle, or to the right of one.** This rule finds more than wrong masks. Here is a mistake with
# a correct mask: the targets are not shifted, so that position $m$ has to predict $x_m$, the token that is fed in there
# (question 2 of lesson 01). The model is as causal as before, but the circles move onto the diagonal:

# %% tags=["fold"]
figure, panels = plots.canvas(10.5, 3.7, 2)
for axes, shift, title in zip(panels, (1, 0), ("targets shifted by one", "shift forgotten"), strict=True):
    circled(found["causal"], shift, title, axes)
show(
    figure,
    "The causal model twice. With shifted targets the circles stand above the diagonal, on empty cells. With the shift forgotten "
    "they stand on the diagonal, on the largest numbers.",
)

# %% [markdown]
# **Figure 11.** The same causal model with two choices of targets. If the targets are not shifted, each target is an input
# that the model may see, although the mask is correct.
#
# **Leaks that are not in the mask.** Every operation that mixes positions can leak, and attention is not the only such
# operation. Here are five layers, all with a correct causal mask. Which of them are free of leaks?


# %%
def honest(X):
    return layer_with(causal(len(X)), *one)(X)  # [N, D]


def centred(X):
    """First subtracts the mean over the sequence, so that the numbers lie around 0."""
    return honest(X - X.mean(dim=0))


def centred_features(X):
    """First subtracts the mean of each token over its own features."""
    return honest(X - X.mean(dim=1, keepdim=True))


def busiest(X, count=3):
    """Only the three vectors with the largest norm pass through attention; the others skip it, to save time."""
    lengths = X.norm(dim=1)  # [N]
    chosen = lengths >= lengths.topk(min(count, len(X))).values[-1]  # [N] booleans
    return torch.where(chosen[:, None], honest(X), X)


def from_the_end(X):
    """Counts positions from the end and adds a sine of this number."""
    places = torch.arange(len(X) - 1, -1, -1, device=X.device)  # [N]: N − 1, …, 1, 0
    return honest(X + places[:, None].sin())


# %% [markdown]
# We use three tests. The first says most precisely where a leak is; the last finds the most kinds of leak:
#
# - **gradient**: is the derivative of output $m$ by an input after $m$ different from 0?
# - **change**: replace the inputs after $m$ by others. Does output $m$ change?
# - **cut**: remove the inputs after $m$. Does output $m$ change?


# %%
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


# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
longer = normal(8, D)  # [8, D]
TESTS = (by_gradient, by_change, by_cut)
print(f"{'finds a leak':>16}", *(f"{test.__name__:>12}" for test in TESTS))
for suspect in (honest, centred_features, centred, busiest, from_the_end):
    print(f"{suspect.__name__:>16}", *(f"{'leak' if test(suspect, longer) else '-':>12}" for test in TESTS))

# %% [markdown]
# - **centred** leaks: the mean over the *sequence* contains all tokens. A mean over the *features* of one token does
#   not mix positions, so **centred_features** does not leak. (LayerNorm, lesson 08, is of this kind. A batch
#   normalisation over the positions is not.)
# - **busiest** leaks, but the gradient does not show it. *Which* vectors are chosen depends on the whole sequence, but
#   the choice changes in jumps, and between two jumps its derivative is 0. Large models that save time by letting only
#   some tokens into a layer have to deal with this problem (Raposo et al., 2024).
# - **from_the_end** leaks the length of the sequence. Neither gradient nor change shows it, because both leave the
#   length as it is. How many tokens are still to come tells the model a lot about the next one.
#
# The gradient shows *where* a leak is. Cutting finds all three leaks and raises no false alarm, because it does what
# generation does. If the model gives the same outputs for the beginning of a sequence as for the whole, *and the target
# at each position is the next token*, then the loss in training equals the loss one by one. (Cutting does not reveal a
# forgotten shift, since that mistake is in the targets. Comparing the training loss with `one_by_one` reveals both
# kinds of mistake.)

# %% [markdown]
# ## What has been computed once
#
# The function `written` generates token by token, and at each step it runs the model over all tokens so far. How much
# of this work is new? With a causal mask, position $n$ depends only on positions up to $n$, and a new token comes after
# all of them. So at the old positions nothing changes in any layer: neither the **hidden states** (the vectors that
# pass from layer to layer) nor the keys nor the values. They were computed in an earlier step, and computing them again
# gives the same numbers.
#
# What does the new token need from the old ones? In each layer only their keys and values: its own query is compared
# with the old keys and with its own key. The old queries are never used again. So we keep the keys and the values and
# append those of the new token. This store is called the **key-value cache**, or **KV cache**. With it, each step runs the model over the new
# token alone.


# %%
@torch.no_grad()
def extend(model, x_new, cache):
    """Logits [B, n, V] of new tokens x_new [B, n] after those in the cache; their keys and values are added to it."""
    old = cache[0][0].shape[2] if cache else 0  # number of tokens in the cache
    new = x_new.shape[1]
    X = model.embed(x_new, begin=old)  # [B, n, D]: positions old, old + 1, …
    for number, layer in enumerate(model.layers):
        Q, K, V = layer.heads(X)  # [B, H, n, D_H] each, of the new tokens only
        if cache.get(number):
            K, V = torch.cat([cache[number][0], K], dim=2), torch.cat([cache[number][1], V], dim=2)  # [B, H, old + n, D_H]
        cache[number] = (K, V)
        X = X + layer.mixed(Q, K, V, causal(old + new)[old:])  # [B, n, D]
    return model.out(X)


# %% [markdown]
# The mask is the causal mask with its offset, since the new queries stand after the old tokens. For a single new token
# the mask is all True, because this token may attend to everything before it. For the **prompt**, a beginning that is
# fed in at once, the mask is the triangle.
#
# We run the same sentences in three ways: computing everything again at each step; token by token with the KV cache;
# and with a prompt of three tokens in one piece, then token by token.

# %% tags=["fold"]
x = fresh[:16, :8]  # [b, 8] in the end: the sentences of at least six words, so without padding
x = x[(x != PAD).all(dim=1)]
fed = {"again": 0, "cache": 0, "prompt": 0}  # places that were run through the model, for each sentence
with torch.no_grad():
    again = []
    for t in range(1, 9):
        again.append(model(x[:, :t])[:, -1])  # [B, V]
        fed["again"] += t
    again = torch.stack(again, dim=1)  # [B, 8, V]

# %%
cache, cached = {}, []
for t in range(8):
    cached.append(extend(model, x[:, t : t + 1], cache))  # [B, 1, V]
    fed["cache"] += 1
cached = torch.cat(cached, dim=1)  # [B, 8, V]

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
cache = {}
prompted = []
for piece in x.split([3, 1, 1, 1, 1, 1], dim=1):  # [B, 3], then [B, 1] each
    prompted.append(extend(model, piece, cache))
    fed["prompt"] += piece.shape[1]

assert_close(cached, again, rtol=1e-4, atol=1e-4)
assert_close(torch.cat(prompted, dim=1), again, rtol=1e-4, atol=1e-4)
print("equal outputs; positions run through the model for 8 tokens:", fed)

# %% tags=["fold"]
steps = [str(t) for t in range(1, 9)]
figure, (left, right) = plots.canvas(9.5, 3.7, 2)
places = [str(n) for n in range(8)]
options = {"row_label": "step", "column_label": "position"}
for axes, M, title in (
    (left, causal(8), "everything again: computed at each step"),
    (right, torch.eye(8, dtype=torch.bool), "with the cache"),
):
    plots.heat_map(M.float(), steps, places, title=title, numbers=".0f", axes=axes, **options)
show(
    figure,
    "Which positions are computed at each of eight steps. Everything again: at step t positions 0 to t minus 1, a triangle. "
    "With the cache: one position a step, the diagonal.",
)

# %% [markdown]
# **Figure 12.** The positions that are computed at each step of generation. Without a cache every step computes all
# positions again; with the cache each step computes only the newest position.
#
# Without the cache the model computes $N(N+1)/2$ positions, with it only $N$. What does this mean in operations? By the
# counts of lesson 06, a layer takes $8 n D^2 + 4\,n\,N_X D$ operations for $n$ queries and $N_X$ keys: the first term
# counts the four projections, the second the scores and the weighted sums.


# %%
def operations(N, D, with_cache):
    """Operations of one layer to generate N tokens."""
    at_once = [1] * N if with_cache else range(1, N + 1)  # positions that are computed in step t
    return sum(8 * n * D**2 + 4 * n * t * D for n, t in zip(at_once, range(1, N + 1)))


# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
for N_written in (64, 256, 1024):
    again, once = (operations(N_written, 256, with_cache) for with_cache in (False, True))
    print(f"{N_written:>5} words, D = 256: {again:.2e} operations again, {once:.2e} with the cache", end=": ")
    print(f"{again / once:.0f} times fewer")

# %% [markdown]
# Fewer operations do not make a program faster by the same factor, so we measure the time of **greedy decoding**, which
# always chooses the most probable word. (Times differ from machine to machine and from run to run, so we show
# stored ones; run the notebook with `COURSE_FULL=1` to measure them anew.)


# %%
@torch.no_grad()
def greedy(model, N, with_cache):
    """N words, each the most probable one; [1, N + 1] with [START]."""
    x, cache = torch.full((1, 1), START, device=DEVICE), {}
    for _ in range(N):
        logits = extend(model, x[:, -1:], cache) if with_cache else model(x)  # [1, 1 or n, V]
        chosen = logits[:, -1:, STOP + 1 :].argmax(dim=-1) + STOP + 1  # [1, 1], a word and nothing else
        x = torch.cat([x, chosen], dim=1)
    return x.cpu()


# %% tags=["fold"]
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


# %% tags=["fold"]
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
    f"Measured, four layers of width 256: processor seconds to write 16 to 1024 words, computing everything again and with the cache, and the ratio: "
    f"{', '.join(f'{length} words {ratio:.1f}' for length, ratio in zip(long['lengths'], gain))}.",
)

# %% [markdown]
# **Figure 13.** Measured time to generate texts of different lengths with and without the cache (left), and the ratio of
# the two times (right). For long texts the gain grows with the length.

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
slow, quick = long["seconds"]["again"][-1], long["seconds"]["cache"][-1]
print(f"{long['lengths'][-1]} words: {slow:.1f} s, with the cache {quick:.1f} s, {gain[-1]:.0f} times faster")
print("from 256 words on, the longer the text, the larger the gain:", gain[-1] > gain[-2] > gain[-3])

# %% [markdown]
# For long texts the gain in time grows with the length, as the counts predict. But it stays far below the ratio of the
# operations, which leave out much that takes time. For short texts most of it goes into starting small products and
# reading the weights from memory; neither gets less with the cache. For long texts our simple `extend` also copies the
# whole cache and builds a whole square mask at each step. Large models are limited by reading their weights. So one
# generates many texts at once, in one batch, where possible: each weight is then read once for all of them.
#
# **The price is memory.** For each token, each layer and each head we store a key and a value. With $L$ layers and $H$
# heads of width $D_H$ this makes $2 \cdot L \cdot H \cdot D_H$ numbers for each token.


# %%
def cache_bytes(layers, heads, head_width, words, sentences=1, bytes_each=2):
    return 2 * layers * heads * head_width * bytes_each * words * sentences


# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
with_twelve = {}
for t in range(12):
    extend(model, fresh[:1, t : t + 1], with_twelve)
held = sum(part.numel() * part.element_size() for pair in with_twelve.values() for part in pair)
print("our model, 12 words:   ", held, "bytes, as the formula says:", held == cache_bytes(2, HEADS, 16, 12, bytes_each=4))
print(f"GPT-3, 2048 words:      {cache_bytes(96, 96, 128, 2048) / 1e9:.1f} GB for each text that it writes")
print(f"a 540B model, 512 texts: {cache_bytes(118, 48, 128, 2048, 512) / 1e12:.2f} TB")

# %% [markdown]
# The last line reproduces a published figure. Pope et al. (2022) write of a model of more than 500 billion parameters
# with multi-head attention: "for batch size 512 and context length 2048, the KV cache totals 3TB, which is 3 times the size
# of the model's parameters". (Our numbers are those of a multi-head variant of PaLM 540B: 118 layers, 48 heads of 128
# numbers, two bytes each. GPT-3 has 96 layers and 96 heads of 128.) For this reason large models let heads share keys
# and values. One pair for all heads (Shazeer, 2019), or one for each group of heads (Ainslie et al., 2023), divides the
# size of the cache by the number of heads that share a pair.
# %% [markdown]
# ## Was the lie luck?
#
# Was this result a matter of one seed? In the stored run both models of "The loss that lies" were trained once with each
# of five seeds, for twice as many steps. All losses below are losses on new sentences:

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
for seed, pair in enumerate(long["lies"]):
    for name, (as_trained, really, known_pairs) in zip(SHADES, pair, strict=True):
        print(f"seed {seed}, {name:>10}: as in training {as_trained:7.4f}, one by one {really:5.2f}", end=", ")
        print(f"written pairs known {known_pairs:.2f}")
lies = [really - as_trained for _, (as_trained, really, _) in long["lies"]]  # of the leaking models
print("each leaking model lies by more than 5 nats a word:", min(lies) > 5)

# %% [markdown]
# The result does not depend on the seed. As in training, each leaking model looks almost perfect; one by one, each is
# far worse than even guessing. Training for twice as long has not helped.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> Somebody hides the diagonal too, to be on the safe side. Does that prevent a leak? What
# does it cost?</summary>
#
# It prevents no leak, since $x_m$ is known at position $m$ and is not the target there. It costs the newest token: the
# model predicts $x_{m+1}$ without attending to $x_m$. (In our model $x_m$ still reaches the output through the residual
# connection.) And *[START]* has nothing to attend to.
#
# </details>
#
# <details><summary><b>2.</b> In our batch the padding mask changed no word's output. Then why not leave it
# out?</summary>
#
# In that batch the padding stood at the end and the mask was causal. With padding at the beginning, or in an encoder,
# words would attend to *[PAD]* tokens, and the output for a sentence would depend on the lengths of the *other*
# sentences in its batch.
#
# </details>
#
# <details><summary><b>3.</b> Can the leaking model be rescued after training, by giving it the right mask?</summary>
#
# No. With the right mask each position sees what it sees in generation, and the evaluation one by one has measured how
# badly the model does then. (There is one difference: in that evaluation the positions before the last still saw one
# position ahead.) The weights of the model copy the next token and contain nothing about language.
#
# </details>
#
# <details><summary><b>4.</b> Could the leaking model write with a key-value cache, and get the same as
# without?</summary>
#
# No. At each step the token that was the last so far gets a next token to attend to. Its output changes, and so do its
# keys and values in the layer above, but the cache holds the old ones. The cache is correct only if nothing changes at
# the old positions, and a causal mask guarantees just this.
#
# </details>
#
# <details><summary><b>5.</b> A sentence of three words is fed in together with one of sixty, each with its *[START]*.
# How many rows of its mask (causal and padding) have anything to see, with padding at the end, and with padding at the
# beginning?</summary>
#
# With padding at the end, all rows: each *[PAD]* comes after the words and may attend to them. With padding at the
# beginning, four rows: those of *[START]* and of the three words. The other rows have nothing to attend to.
#
# </details>
#
# <details><summary><b>6.</b> One factor of a sentence's probability is 0.0. What is log P, and what has the model
# said?</summary>
#
# The logarithm is $-\infty$: the model has said that this sentence is impossible. In exact arithmetic a softmax of
# finite logits is never 0. In floating point it can be rounded to 0, and then its logarithm is $-\infty$. `log_softmax`
# avoids this, because it does not compute the softmax first.
#
# </details>
#
# <details><summary><b>7.</b> In training all factors are computed at once. Why can that not be done in
# generation?</summary>
#
# In training all tokens are given. In generation, $x_t$ is chosen from a distribution that depends on $x_{t-1}$, and
# $x_{t-1}$ has to be chosen first.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **Which way round?** In this course, and in `scaled_dot_product_attention`, True means *may attend*. In
#   `nn.MultiheadAttention` True means *must not attend*. Write the meaning beside each mask.
# - **Mask before the softmax.** Fill in $-\infty$, not 0, and not after the softmax. Use $-10^9$ only if each row has a
#   visible position.
# - **Rows with nothing to attend to** give NaN, and the NaN reaches the gradient even if the loss does not read these
#   rows. Fill them with 0 after the softmax.
# - **The mask needs an axis for the heads.** $[B, N, N]$ becomes $[B, 1, N, N]$. Test with $B \ne H$ and with $B = H$.
# - **`mask.float()` hides nothing.** A mask of floats is added to the scores, so it has to contain 0 and $-\infty$.
# - **`is_causal` begins at the top left.** With a KV cache, write the mask with its offset.
# - **Padding at the beginning shifts the positions.** Count positions from the first real token; otherwise, with
#   positions added to the embeddings, the output for a sentence changes with its batch.
# - **A KV cache belongs to one text.** Empty it before the next text. If you cut off the beginning to make room, the
#   cache no longer agrees with a fresh run over the rest: above the first layer keys and values still depend on the
#   tokens cut off, and with learned or sinusoidal encodings counted anew they change in the first layer too.
# - **A loss that is too good** is a leak until proven otherwise. Evaluate the model one by one.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *$P(X) = \prod_{t=0}^{T} P(x_{t+1} \mid x_1, \dots, x_t)$.* This has one factor too many for a sequence of $T$
#   tokens. It should be $\prod_{t=1}^{T} P(x_t \mid x_{<t})$.
# - *"Override similarities with −inf."* We do the same. The slide's softmax with "dim=1" runs over the keys only as
#   long as there is neither a batch nor a head axis. With these axes, write `dim=-1`.
# - *"Don't let vectors look ahead"*, *"each token can only see the ones before it".* Each token may also attend to
#   itself.
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
#   arXiv:2404.02258. *A layer for some tokens only, and what that means for
#   generation.*
# - PyTorch: `torch.nn.functional.scaled_dot_product_attention`, `torch.nn.MultiheadAttention`. *The two polarities, in
#   their own words.*
