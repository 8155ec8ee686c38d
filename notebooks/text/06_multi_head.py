# %% [markdown]
# # 06 · Multi-head attention
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/06_multi_head.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - let one layer attend in several ways at once, with several heads, and compute all heads together in four matrix
#   products;
# - say what each head attends to, and measure what it contributes to the output;
# - load PyTorch's packed weights into separate layers, and convert weights that are stored in a different order;
# - count the operations and the bytes of a layer from its shapes, and say which of them grow with the square of the
#   length.
#
# **You need** lesson 05: self-attention on $X\,[N, D]$ with $W_Q$, $W_K$, $W_V$, and why it needs positional encodings.
# The terms and symbols of the course are listed in the [glossary](../docs/glossary.md).
#
# **Time** about 65 minutes to read; the cells run in about 15 seconds on two CPU cores.

# %% tags=["setup"]
# Makes the course's own package `utils` importable. Where the course is at hand this finds it; in Colab, or beside a single
# downloaded notebook, it fetches it first.
import os
import shutil
import subprocess
import sys
from pathlib import Path


def course_folder():
    """The folder above or beside the notebook that holds `utils`; the course is fetched to it where there is none."""
    told = (globals().get("__vsc_ipynb_file__"), os.environ.get("JPY_SESSION_NAME"))  # a kernel may run elsewhere
    here = [Path(file).resolve().parent for file in told if file and os.path.isfile(file)] + [Path.cwd()]
    near = [one for folder in here for one in (folder, *sorted(folder.glob("attention-course*")), *folder.parents)]
    found = [one for one in near if os.path.isfile(one / "utils" / "prepare.py")]
    return found[0] if found else fetch(here[0] / "attention-course")


def fetch(folder):
    address = os.environ.get("COURSE_REPOSITORY", "https://github.com/OWNER/attention-course")
    cloning = ["git", "clone", "--quiet", "--depth", "1", address, str(folder)]
    reason = ""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        pass  # what an earlier try has left
    elif "/OWNER/" in address:
        reason = "Ask your instructor for its address."
    elif not shutil.which("git"):
        reason = "There is no git here: install it, or download the course and unpack it beside this notebook."
    else:
        asking_nobody = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
        git = subprocess.run(cloning, env=asking_nobody, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        said = f"git says: {' '.join(git.stderr.split())}"
        reason = f"Is there a network, and is the address right? {said}" if git.returncode else ""
    if not reason and not (folder / "utils" / "prepare.py").exists():
        reason = f"What is in {folder} is not the whole course: delete or rename it, and run this cell again."
    if reason:
        raise RuntimeError(f"The course could not be fetched from {address}. {reason}") from None
    return folder


try:
    from utils.prepare import prepare
except ImportError:  # the course is not on Python's path yet, or another package of this name is
    for name in [name for name in sys.modules if name.partition(".")[0] == "utils"]:
        del sys.modules[name]
    sys.path.insert(0, str(course_folder()))
    from utils.prepare import prepare

installed = prepare()

# %% tags=["fold"]
# @title Imports and settings
import math
import random
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from utils.data import pronoun_tales
from utils.device import device
from utils.figures import plots, schematics
from utils.figures.explorers import Choice, Slider, explore
from utils.figures.plots import show
from utils.measures import stored_runs, stored_weights
from utils.models.training import train

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
generator = torch.Generator().manual_seed(6)


def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


# %% [markdown]
# ## One row of weights is one average
#
# Here is a sentence from a fairy tale:
#
# > *The frog did not marry the king, because it was a witch.*
#
# To understand the token *it*, a model has to answer two questions. **Who** is *it*? The frog. **What** was the frog
# really? A witch. For the first answer *it* has to attend to *frog*, and for the second to *witch*.
#
# A self-attention layer as in lesson 05 gives *it* one row of attention weights, and these weights sum to 1. Suppose
# that the layer puts one half on *frog* and one half on *witch*. Its output is then the average of their values:
#
# $$y = \tfrac12\, v_\text{frog} + \tfrac12\, v_\text{witch}$$
#
# This average contains both values but no record of which came from which token. Now exchange these two nouns: *"The
# witch did not marry the king, because she was a frog."* Both answers are exchanged as well, yet the average is the
# same vector as before, and nothing in it tells which noun answers which question. Here the pronoun still gives a hint,
# since *it* has become *she*. If the frog had been a wolf instead of a witch, even this hint would be missing, because
# *frog* and *wolf* both take the pronoun *it*.
#
# As long as both weights are one half, positional encodings do not help either. They are added to the embeddings, and
# $W_V$ is linear. If we count positions from 0 and treat the comma as a token, the values of *frog* at position 1 and
# *witch* at position 12 have the same sum as the values of *witch* at position 1 and *frog* at position 12. We check
# this with random vectors:

# %% tags=["nbval-check-output"]
frog, witch, p_1, p_12, W_V = normal(6), normal(6), normal(6), normal(6), normal(6, 4)  # [D] each, and [D, D_V]
one = torch.stack([(frog + p_1) @ W_V, (witch + p_12) @ W_V])  # [2, D_V]: the two values in one sentence
other = torch.stack([(witch + p_1) @ W_V, (frog + p_12) @ W_V])  # [2, D_V]: and in the other sentence
print(f"distance between the two averages:                  {(one.mean(dim=0) - other.mean(dim=0)).norm():.2f}")
print(f"distance between the values, put side by side: {(one.flatten() - other.flatten()).norm():8.2f}")

# %% [markdown]
# The two averages are equal, whereas the values side by side differ. Unequal weights would separate the averages, too,
# and we shall see how far a single head gets with them. The direct solution is to compute **two** rows of attention
# weights, one for each question, and to keep the two results side by side. Each of these attention computations, with
# attention weights of its own, is called a **head**.
#
# ## Several heads
#
# A layer with $H$ heads, called **multi-head attention**, consists of $H$ small attention layers that read the same
# $X\,[N, D]$. Because each head has its own matrices, different heads can attend to different positions. The results of
# all heads are concatenated, and a last matrix mixes them:

# %% tags=["fold"]
# @title Draws Figure 1
show(
    schematics.multi_head(),
    "A scheme of multi-head attention, from left to right. X of shape N by D goes to three heads. Each head has its own Q, K "
    "and V, its own N by N attention matrix A, and its own output Y, which is D_H wide. The three outputs are "
    "concatenated to N by H times D_H, and W_O turns them into the output Y of shape N by D.",
)

# %% [markdown]
# **Figure 1.** Multi-head attention with three heads. Every head projects the same $X$ with matrices of its own and
# attends with weights of its own; queries and keys make the weights, and the values meet them in the weighted sum. The
# outputs of the heads are concatenated, and the output projection $W_O$ mixes them. The patterns in the three attention
# matrices are only examples.
#
# In formulas, head $h$ has the matrices $W_Q^h$, $W_K^h$ and $W_V^h$ of shape $[D, D_H]$ and computes
#
# $$Q_h = X W_Q^h,\quad K_h = X W_K^h,\quad V_h = X W_V^h\ \ [N, D_H]$$
#
# $$A_h = \operatorname{softmax}\!\left(\frac{Q_h K_h^\top}{\sqrt{D_H}}\right) [N, N],\qquad Y_h = A_h V_h\ [N, D_H]$$
#
# How wide should a head be? The usual choice is $D_H = D/H$, so that a layer of width $D$ has either many narrow heads
# or few wide ones. Side by side, the results of the heads are then $H \cdot D_H = D$ wide, as wide as the input. The
# last matrix, $W_O\,[H D_H, D]$, is called the **output projection**:
#
# $$Y = [\,Y_1, Y_2, \dots, Y_H\,]\; W_O\ \ [N, D]$$
#
# The scores are divided by $\sqrt{D_H}$, not by $\sqrt{D}$, because each dot product sums $D_H$ terms. Written as a
# loop over the heads, the whole layer is this:

# %%
N, H, D_H = 5, 3, 4
D = H * D_H  # 12
X = normal(N, D)
W_Q, W_K, W_V, W_O = (normal(D, D) / math.sqrt(D) for _ in range(4))  # [D, D] each
# in W_Q, W_K and W_V, head h owns the columns h·D_H to (h+1)·D_H

found, weights = [], []
for h in range(H):
    own = slice(h * D_H, (h + 1) * D_H)
    Q_h, K_h, V_h = X @ W_Q[:, own], X @ W_K[:, own], X @ W_V[:, own]  # [N, D_H] each
    A_h = (Q_h @ K_h.T / math.sqrt(D_H)).softmax(dim=-1)  # [N, N]
    weights.append(A_h)
    found.append(A_h @ V_h)  # [N, D_H]
Y_loop = torch.cat(found, dim=-1) @ W_O  # [N, H * D_H] @ [H * D_H, D] = [N, D]

# %% tags=["fold"]
# @title Draws Figure 2
names = [f"$x_{{{n}}}$" for n in range(N)]
framed = 1  # the query that the caption follows
most = [A_h[framed].argmax().item() for A_h in weights]
largest = [plots.array(A_h[framed]).max() for A_h in weights]
said = (f"in head {h + 1} to {n} ({weight:.2f})" for h, (n, weight) in enumerate(zip(most, largest)))
print(f"vector {framed} attends most {', '.join(said)}")
figure, panels = plots.canvas(10.5, 3.3, H)
for h, panel in enumerate(panels):
    plots.heat_map(weights[h], names, names, title=f"head {h + 1}", axes=panel)
    panel.axhspan(framed - 0.5, framed + 0.5, fill=False, edgecolor=plots.QUERY, linewidth=2)
panels[0].set_ylabel("query")
panels[1].set_xlabel("key")
show(
    figure,
    "Three five-by-five attention matrices, one for each head, queries as rows and keys as columns. The same five "
    f"vectors attend to each other in three different ways. The row of the query x_{framed} is framed in each; its largest weight is "
    + ", ".join(f"{weight:.2f} on x_{n} in head {h + 1}" for h, (n, weight) in enumerate(zip(most, largest)))
    + ".",
)

# %% [markdown]
# **Figure 2.** The attention matrices of three heads over the same five vectors. They differ, because each head has its
# own projections. Follow the query $x_1$, whose rows are framed: the line above says to which vector it gives most of
# its weight in each head.
#
# Each row of each matrix sums to 1, so the heads do not compete with each other: the weight that one head gives to a
# token is not taken from any other head.
#
# Why do we need the output projection $W_O$? Without it, the first $D_H$ features of the output would hold what head 1
# found and nothing else. With $W_O$, every feature of the output can use all heads. Note that code counts heads from 0,
# as Python does, while most of our figures count them from 1.
#
# ## Split, batch, merge
#
# The loop computes $H$ small products one after the other, but hardware is faster with one large product. We therefore
# treat the heads as lesson 04 treated the examples of a batch: as one more axis in front. $Q$, $K$ and $V$ are computed
# whole, $[N, H D_H]$, and then **split** into $[H, N, D_H]$. All heads attend in one batched product, and their results
# are **merged** back into $[N, H D_H]$.
#
# How do we get from $[N, H D_H]$ to $[H, N, D_H]$? Decide before you read on: is it a reshape?
#
# A reshape never changes the order of the numbers. It reads all of them row by row as one long line and cuts this line
# into new rows. Watch what happens to the numbers 0 to 11, which represent two vectors with three heads of two features
# each.

# %% tags=["nbval-check-output"]
small = torch.arange(12).view(2, 6)  # [N, H * D_H]: row 0 is vector 0
print("X\n", small.numpy())
print("reshape(3, 2, 2), head 0:\n", small.reshape(3, 2, 2)[0].numpy())
print("split the width, then exchange N and H, head 0:\n", small.view(2, 3, 2).transpose(0, 1)[0].numpy())

# %% [markdown]
# Head 0 owns the first two features of *each* vector: 0 and 1 of the first vector, 6 and 7 of the second. The plain
# reshape gives head 0 the features 0 to 3 of the first vector instead. The shape is right and no error is raised, but
# everything computed from it is wrong. A correct split takes two steps:
#
# 1. cut the **last** axis: $[N, H D_H] \to [N, H, D_H]$. For this step a reshape is right, since it cuts each row on
#    its own;
# 2. **exchange** two axes: $[N, H, D_H] \to [H, N, D_H]$.
#
# Merging does the reverse: exchange the two axes, then join the last two. A batch of sequences adds one more axis in
# front of all these shapes, and this axis stays where it is:

# %% tags=["fold"]
# @title Draws Figure 3
show(
    schematics.split_and_merge(),
    "Tables of numbers for a batch of two sequences, each of two vectors with three heads of two features. Sequence 0 holds 0 to "
    "5 and 6 to 11. A view cuts each vector into three parts, drawn one above the other; transpose(1, 2) brings the parts of one head together: head 0 has "
    "0, 1 and 6, 7, head 1 has 2, 3 and 8, 9, head 2 has 4, 5 and 10, 11. Arrows lead back by transpose(1, 2) and reshape. At "
    "the right, a reshape alone gives head 0 the numbers 0, 1 and 2, 3, head 1 has 4, 5 and 6, 7, head 2 has 8, 9 and 10, 11. "
    "Sequence 1, with 12 to 23, goes the same ways.",
)

# %% [markdown]
# **Figure 3.** Split (from left to right) and merge (back again) for a batch of two sequences; each head has its own
# shade. Sequence 0 is the example above, and heads are counted from 0 as in the code. With a reshape alone, on the
# right, each head receives numbers that belong to two different heads.


# %%
def split(X):
    """One sequence [N, H * D_H] gives [H, N, D_H]."""
    return X.view(N, H, D_H).transpose(0, 1)


def merge(heads):
    """[H, N, D_H] gives [N, H * D_H]."""
    return heads.transpose(0, 1).reshape(N, H * D_H)


Q, K, V = split(X @ W_Q), split(X @ W_K), split(X @ W_V)  # [H, N, D_H] each
A = (Q @ K.mT / math.sqrt(D_H)).softmax(dim=-1)  # [H, N, N]
Y = merge(A @ V) @ W_O  # [H, N, D_H] to [N, H * D_H] to [N, D]

Y_at_once = merge(F.scaled_dot_product_attention(Q, K, V)) @ W_O  # PyTorch's function on all heads

# %% tags=["fold"]
# @title Assertions
assert torch.equal(merge(split(X)), X)
assert_close(Y, Y_loop)
assert_close(Y_at_once, Y_loop)
assert_close(A, torch.stack(weights))

# %% [markdown]
# The line with the softmax comes from lesson 05, with two small changes: `K.mT` exchanges only the last two axes, and
# the scores are divided by the square root of the head's width. `@` multiplies matrices on the last two axes, once for
# every index of the axes before them. A batch of sentences adds one more axis in front, $[B, H, N, D_H]$, and the line
# stays as it is; only `split` and `merge` need the axes 1 and 2, as in Figure 3. PyTorch's
# `F.scaled_dot_product_attention` also treats all axes before the last two as batch axes, so one call serves all heads.
# The folded cell checks that `merge` undoes `split` and that both results equal that of the loop.
#
# ## One projection for all
#
# The layer still computes three products with $X$, one for each of $W_Q$, $W_K$ and $W_V$. Put the three matrices side
# by side, $W_{QKV} = [\,W_Q, W_K, W_V\,]$, with shape $[D, 3 H D_H]$. One product then gives all queries, keys and
# values, and `chunk` cuts them apart. This is called a **fused projection**.

# %%
W_QKV = torch.cat([W_Q, W_K, W_V], dim=1)  # [D, 3 * H * D_H]
Q, K, V = (split(third) for third in (X @ W_QKV).chunk(3, dim=-1))  # [H, N, D_H] each
Y_fused = merge((Q @ K.mT / math.sqrt(D_H)).softmax(dim=-1) @ V) @ W_O
assert_close(Y_fused, Y_loop)

# %% [markdown]
# PyTorch's own layer, `nn.MultiheadAttention`, holds the same two matrices, one for the fused projection and one for
# the output projection; by default, each comes with a bias. Two of its properties are easily overlooked. First, it
# stores the transposes of our matrices, as every `nn.Linear` does. Second, it **averages the attention weights over
# the heads** before it returns them, unless you pass `average_attn_weights=False`.

# %%
layer = nn.MultiheadAttention(D, H, bias=False, batch_first=True, device=DEVICE)
with torch.no_grad():
    layer.in_proj_weight.copy_(W_QKV.T)  # [3 * D, D]
    layer.out_proj.weight.copy_(W_O.T)  # [D, D]
    Y_torch, A_torch = layer(X[None], X[None], X[None], average_attn_weights=False)  # a batch of one
assert_close(Y_torch[0], Y_loop)
assert_close(A_torch[0], torch.stack(weights))

# %% [markdown]
# In **cross-attention**, the queries come from one sequence, and the keys and values from a second one. The first third
# of the columns of $W_{QKV}$ then projects the first sequence, and the other two thirds project the second. This works
# if the vectors of both sequences have width $D$; otherwise, the layer needs separate matrices.
#
# ## What heads attend to
#
# A layer with eight heads has exactly as many parameters as a layer with one head, since $D_H = D/H$. What, then, do we
# gain from several heads? We return to the frog. A generator produces thousands of fairy tales, all built like our
# opening sentence:

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
for seed in range(4):
    told = pronoun_tales.tale(random.Random(seed))
    print(f"{' '.join(told.words)}.   who: {told.who}, what: {told.what}")

# %% [markdown]
# The two nouns of the main clause have different pronouns (*it*, *she*, *he*), so the pronoun tells which of the two is
# meant. The noun in the *because* clause is always a third one and reveals what that character really was; we call it
# the **true identity**. Either clause may come first. At the position of the pronoun, a model has to give two answers
# from one output vector: **who** is meant, and **what** that character really was.
#
# The model is one attention layer with almost nothing around it. Its input is the sum of token embeddings and learned
# positional encodings. Two linear layers, in the code `self.answers`, read the output at the pronoun, one for each
# question. Each of them turns this output into a vector of 48 features, as wide as an embedding. A folded cell takes
# its dot product with the embedding of every noun; these are the logits, and the noun with the largest logit is the
# answer. Comparing with the embeddings, instead of learning a separate row of weights for each noun, makes a noun be
# read in the same way wherever it stands. Training lowers the sum of the losses of both questions. All models have the
# same width and the same number of parameters. They differ only in the number of heads: one head that is 48 wide, two
# of 24, four of 12, or eight of 6.
#
# Predict before you look: how many heads does the model need, and can there be too many?

# %%
WIDTH, STEPS, TALES = 48, 400, 20_000


class Reader(nn.Module):
    """One attention layer over token embeddings and positional encodings, and linear layers that read its output."""

    def __init__(self, H, vocabulary, length, answers):  # answers: their widths, here (48, 48)
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Embedding(length, WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, H, batch_first=True)
        self.answers = nn.ModuleList(nn.Linear(WIDTH, size) for size in answers)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.4)

    def forward(self, tokens):
        """Tokens [B, N] give the answers at every position, [B, N, size] each, and the weights A [B, H, N, N]."""
        X = self.tokens(tokens) + self.positions.weight  # [B, N, D]
        Y, A = self.attention(X, X, X, average_attn_weights=False)  # [B, N, D], [B, H, N, N]
        return [answer(Y) for answer in self.answers], A


# %% tags=["fold"]
# @title Defines told, who_and_what, answers_loss, new_reader, …
def told(count, seed):
    rng = random.Random(seed)
    return [part.to(DEVICE) for part in pronoun_tales.batch([pronoun_tales.tale(rng) for _ in range(count)])]


def who_and_what(reader, tokens, positions):
    """Logits of who and what at one position of each tale, [B, nouns] each, and A [B, H, N, N]."""
    (who, what), A = reader(tokens)  # [B, N, D] each
    nouns = reader.tokens.weight[: len(pronoun_tales.NOUNS)].T  # [D, nouns]
    row = torch.arange(len(tokens), device=DEVICE)
    return (who @ nouns)[row, positions], (what @ nouns)[row, positions], A


def answers_loss(reader, batch):
    tokens, positions, answers = batch
    who, what, _ = who_and_what(reader, tokens, positions[:, 0])  # at the pronoun
    return F.cross_entropy(who, answers[:, 0]) + F.cross_entropy(what, answers[:, 1])


TRAINING, TEST = told(TALES, seed=1), told(1024, seed=2)


def new_reader(H, seed=0):
    torch.manual_seed(seed)
    return Reader(H, len(pronoun_tales.WORDS), pronoun_tales.LENGTH, answers=(WIDTH, WIDTH)).to(DEVICE)


def reader_with(H, seed=0, steps=STEPS):
    reader = new_reader(H, seed)
    drawn = torch.Generator().manual_seed(seed)
    rows = (torch.randint(TALES, (64,), generator=drawn).to(DEVICE) for _ in range(steps))
    batches = ([part[row] for part in TRAINING] for row in rows)
    train(reader, batches, answers_loss, steps=steps, rate=5e-3, what=f"{H} heads")
    return reader


@torch.no_grad()
def judged(reader):
    """For new tales, whether who and what are right, [B, 2], and the attention weights of the pronoun, [B, H, N]."""
    tokens, positions, answers = TEST
    *logits, A = who_and_what(reader, tokens, positions[:, 0])
    given = torch.stack([one.argmax(dim=-1) for one in logits], dim=1)  # [B, 2]
    return given == answers, A[torch.arange(len(tokens), device=DEVICE), :, positions[:, 0]]


def both_right(reader):
    """The share of new tales in which who and what are both right."""
    return judged(reader)[0].all(dim=1).float().mean().item()


# %%
live = reader_with(H=2)
print(f"two heads, both answers right in {both_right(live):.2f} of the newly drawn tales")

# %% [markdown]
# A single training run proves little. For the comparison we therefore load twelve models that were trained by the same
# function beforehand, three for each number of heads: each of the three begins with different random weights and draws
# its own batches of tales.

# %% tags=["fold"]
# @title Draws Figure 4
HEADS, SEEDS = (1, 2, 4, 8), (0, 1, 2)
stored = nn.ModuleDict({f"{H} {seed}": new_reader(H) for H in HEADS for seed in SEEDS})
if stored_runs.full():
    for name, reader in stored.items():
        reader.load_state_dict(reader_with(*map(int, name.split())).state_dict())
    stored_weights.keep("06_multi_head.readers", stored)
stored_weights.load("06_multi_head.readers", stored)
readers = {(H, seed): stored[f"{H} {seed}"] for H in HEADS for seed in SEEDS}
shares = {pair: both_right(reader) for pair, reader in readers.items()}
assert both_right(live) > 0.95
assert max(shares[1, seed] for seed in SEEDS) < 0.9 and min(shares[H, seed] for H in HEADS[1:] for seed in SEEDS) > 0.95
by_question = {pair: judged(reader)[0].float().mean(dim=0).tolist() for pair, reader in readers.items()}  # who, what
panels_of = {
    "both right": shares,
    "who right": {pair: who for pair, (who, _) in by_question.items()},
    "what right": {pair: what for pair, (_, what) in by_question.items()},
}
figure, panels = plots.canvas(11.5, 3.6, 3, sharey=True)
for axes, (title, share) in zip(panels, panels_of.items(), strict=True):
    for seed, marker, fill in zip(SEEDS, ("o", "s", "^"), ("none", plots.BLACK, "#BBBBBB"), strict=True):
        beside = [place + 0.2 * (seed - 1) for place in range(len(HEADS))]  # so that no marker hides another
        style = {"markersize": 9, "markeredgecolor": plots.BLACK, "markerfacecolor": fill}
        axes.plot(beside, [share[H, seed] for H in HEADS], marker, label=f"run {seed + 1}", **style)
    axes.set(title=title, xlabel="number of heads", ylim=(-0.03, 1.08), xlim=(-0.5, len(HEADS) - 0.5))
    axes.set_xticks(range(len(HEADS)), HEADS)
    axes.grid(True, axis="y")
panels[0].set_ylabel("share of the tales")
plots.legend_of(panels[0], loc="lower right")
show(
    figure,
    "The shares of tales in which both answers, who, and what are right, three training runs for each number of heads. Both: "
    + "; ".join(f"heads {H}: " + ", ".join(f"{shares[H, seed]:.2f}" for seed in SEEDS) for H in HEADS)
    + ".",
)

# %% [markdown]
# **Figure 4.** Share of newly drawn tales in which both answers are right, and in which *who* and *what* are right, for
# one, two, four and eight heads, in three training runs each. One head falls behind in every run, above all on *who*;
# with two or more, nearly all answers are right.
#
# For two questions, two heads are enough, and having more heads than questions does no harm here, even though each of
# eight heads is only 6 wide. What does a single head do? It does not simply answer one question and ignore the other.
# In the printed lines, *same pronoun* means that the noun that is meant and the true identity share a pronoun, as
# *frog* and *wolf* do:

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
of_noun = [list(pronoun_tales.KINDS).index(kind) for kind, nouns in pronoun_tales.KINDS.items() for _ in nouns]
kinds = torch.tensor(of_noun, device=DEVICE)  # [24], the number of each noun's pronoun
for seed in SEEDS:
    right, A_pronoun = judged(readers[1, seed])  # [B, 2], [B, 1, N]
    share_who, share_what = right.float().mean(dim=0)
    largest = A_pronoun.amax(dim=-1).mean()  # of the weights in one tale, on average
    assert share_what > 0.85 and share_who < 0.9 and largest < 0.5
    rights = f"who right {share_who:.2f}, what right {share_what:.2f}"
    print(f"one head, run {seed + 1}: {rights}, mean largest weight {largest:.2f}")
    same = kinds[TEST[2][:, 0]] == kinds[TEST[2][:, 1]]  # [1024], whether the two answers have the same pronoun
    who_same, who_other = right[same, 0].float().mean(), right[~same, 0].float().mean()
    print(f"                 who right {who_same:.2f} with the same pronoun, {who_other:.2f} with different pronouns")
    assert who_same < 0.5 and who_other > who_same + 0.3

# %% [markdown]
# The single head spreads its weights over several tokens: on average, its largest weight in a tale is below one half.
# From the resulting average, the model recovers *what* more reliably than *who*. It gets *who* wrong in most tales
# where the noun that is meant and the true identity have the same pronoun. There it does worse than a toss of a coin
# between the two nouns, presumably because the true identity has the larger share in the average and is given as the
# answer to *who* as well. Where their pronouns differ, the pronoun itself tells the two apart, and *who* is far more
# often right; the second line of each run compares the two cases.
#
# Would longer training help? In a stored run, three models with one head took fifteen times as many steps. Again we
# measure the share of tales in which both answers are right:

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
if stored_runs.full():
    began = time.perf_counter()
    patient = [both_right(reader_with(1, seed, steps=15 * STEPS)) for seed in SEEDS]
    stored_runs.keep("06_multi_head.patient", {"both right": patient}, seed="0 to 2", seconds=time.perf_counter() - began)
run = stored_runs.load("06_multi_head.patient")
assert max(run["results"]["both right"]) < min(shares[2, seed] for seed in SEEDS)
print("one head, 15 times as many steps, both right:", *(f"{share:.2f}" for share in run["results"]["both right"]))
print(stored_runs.how(run))

# %% [markdown]
# Longer training helps, but even then a single head gets fewer tales right than two heads do after the short training
# of Figure 4.
#
# <details><summary>Going further: how can one head answer both questions at all?</summary>
#
# Suppose first that the ratio of the two weights is always the same and that the true identity has the larger weight.
# The true identity then dominates the average. The layer that answers *who* is linear and treats a noun in the same way
# in either role. It cannot prefer the noun with the smaller share: if a larger share lowered a noun's score, the nouns
# that do not occur in the tale, with share zero, would come first. Where both nouns have the same pronoun, nothing else
# tells them apart, so *who* cannot be right for all pairs of nouns; with the ratio the other way round, *what* fails
# instead. A fixed ratio is therefore not enough: the weights have to depend on the nouns.
#
# Suppose instead that each noun attracts a weight of its own at every position: *frog* a large one, *wolf* a small one.
# The average also contains the positional encodings, each with the weight of the noun at its position. If the encoding
# of position 1 has a large share in the average, the noun at position 1 must be *frog*. In this way a single average
# can record which noun was where. That the models of the stored run have found such weights is a guess; we have not
# measured it.
#
# </details>
#
# **What did the original paper find?** Vaswani et al. (2017, table 3, base and rows A) varied the number of heads in
# their translation model and held its width and its number of operations fixed, as we do: the more heads, the narrower
# each head. They translated from English to German and measured BLEU, a score for translations, on their development
# set:

# %% tags=["fold"]
# @title Draws Figure 5
published = {1: 24.9, 4: 25.5, 8: 25.8, 16: 25.8, 32: 25.4}  # Vaswani et al. (2017), table 3, rows A and base
options = {"log": "x", "x_label": "number of heads", "y_label": "BLEU", "title": "published, English to German"}
figure = plots.curves(list(published), {"BLEU": list(published.values())}, legend=False, **options)
(axes,) = figure.axes
axes.set_xticks(list(published), [f"{H}" for H in published])
for heads, bleu in published.items():
    side = -14 if heads == 32 else 7
    axes.annotate(f"{bleu}", (heads, bleu), xytext=(0, side), textcoords="offset points", ha="center")
axes.set_ylim(24.6, 26.1)
show(
    figure,
    f"BLEU against the number of heads: {'; '.join(f'{bleu} for {H}' for H, bleu in published.items())}.",
)

# %% [markdown]
# **Figure 5.** The published translation quality (BLEU, higher is better) for different numbers of heads at the same
# width of the model. The axis does not begin at 0.
#
# Among these models, too, a single head is the worst, although it is less than a point below the best. The size of this
# gap cannot be compared with ours, because BLEU and a share of right answers are different measures, and because their
# model has many layers, of which one may find what another misses (lesson 10).
#
# In their model, 32 heads are too many. A likely reason is that the heads share the width of the model, 512. Each of
# the 32 heads is only 16 wide, and scores computed from 16 features can distinguish fewer keys. Rows B of the same
# table, where only queries and keys are made narrower, point the same way. In our model with eight heads, 6 features
# per head are enough, probably because its vocabulary is so small.
#
# **Which head attends to what?** Take the three trained models with two heads, and look at the attention weights of
# the pronoun in each head:

# %% tags=["fold"]
# @title Draws Figure 6
examples, example_positions, _ = (part[:40] for part in told(40, seed=3))
with torch.no_grad():
    A_two = torch.cat([readers[2, seed](examples)[1] for seed in SEEDS], dim=1)  # [40, 3 · 2, N, N]
example = next(n for n in range(40) if "it" in [pronoun_tales.WORDS[token] for token in examples[n]])
sentence = [pronoun_tales.WORDS[token] for token in examples[example]]
asks = example_positions[example, 0].item()
most = [sentence[place] for place in A_two[example, :, asks].argmax(dim=-1)]
assert most[:2] == ["fairy", "mouse"] and all({*most[k : k + 2]} == {"fairy", "mouse"} for k in (0, 2, 4))
show(
    plots.heat_map(
        A_two[example, :, asks],
        [f"run {seed + 1}, head {h + 1}" for seed in SEEDS for h in range(2)],
        sentence,
        numbers=".1f",
        least=0.05,
        title=f"attention weights of the query “{sentence[asks]}”",
        column_label="key: the token that the query attends to",
        axes=plots.canvas(11.5, 4)[1][0],
    ),
    f"Two rows for each of three models, weights over the tokens “{' '.join(sentence)}”: "
    + ", ".join(
        f"run {h // 2 + 1}, head {h % 2 + 1} attends most to “{sentence[weights_h.argmax()]}” ({weights_h.max():.1f})"
        for h, weights_h in enumerate(A_two[example, :, asks])
    )
    + ".",
)

# %% [markdown]
# **Figure 6.** The attention weights of the pronoun in both heads of three models, for one tale. In each model one head
# attends most to the noun that is meant (*mouse*), and the other to the true identity (*fairy*). Which head does which
# is not the same in all runs.
#
# A single tale proves little, so we now take all test tales. How much of each head's weight is on the noun that is
# meant (*who*), and how much on the true identity (*what*)? For each pronoun we also print which head has more weight
# on *who*. If it is the same head for all three pronouns, we call the roles *fixed*; otherwise they change *by
# pronoun*. Finally, we say that the two heads **divide the questions** in a tale if one head has more than half of its
# weight on *who*, and the *other* head has more than half of its weight on *what*. While *roles* compares means over
# many tales, the last column, *divided*, judges each tale by itself and gives the share in which this happens.

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
tokens, positions, answers = TEST
row = torch.arange(len(tokens), device=DEVICE)
elsewhere = torch.arange(pronoun_tales.LENGTH, device=DEVICE) != positions[:, 1:]  # not at the true identity
meant = ((tokens == answers[:, :1]) & elsewhere).float()  # [1024, N], 1 at the noun that is meant
pronouns = [pronoun_tales.WORDS[token] for token in tokens[row, positions[:, 0]]]
divided, fixed = [], []
print("       mean weight of heads 1 and 2")
print(f"       {'on who':<13}{'on what':<13}{'more on who':<38}{'roles':<13}divided")
for seed in SEEDS:
    _, A_pronoun = judged(readers[2, seed])  # [1024, 2, N]
    on_who = (A_pronoun * meant[:, None]).sum(dim=-1)  # [1024, 2]
    on_what = A_pronoun[row, :, positions[:, 1]]  # [1024, 2]
    least = torch.minimum(on_who, on_what.flip(1))  # [1024, 2]: one head on who, the other on what
    divided.append((least.amax(dim=1) > 0.5).float().mean().item())
    takes = {}
    for pronoun in pronoun_tales.KINDS:
        its = torch.tensor([one == pronoun for one in pronouns], device=DEVICE)
        takes[pronoun] = on_who[its].mean(dim=0).argmax().item() + 1
    fixed.append(len(set(takes.values())) == 1)
    means = "   ".join("  ".join(f"{mean:.2f}" for mean in on.mean(dim=0)) for on in (on_who, on_what))
    more = ", ".join(f"{pronoun}: head {h}" for pronoun, h in takes.items())
    print(f"run {seed + 1}  {means}   {more:<38}{'fixed' if fixed[-1] else 'by pronoun':<13}{divided[-1]:.2f}")
assert min(divided) > 0.8
assert fixed == [True, False, True]  # only in run 2 do the roles change with the pronoun

# %% [markdown]
# Nobody told a head what to attend to. Training lowers a single number, the sum of the losses of both questions, and
# yet in each run the two heads divide the questions in more than four fifths of the tales. *How* they divide them can
# differ between runs, as run 2 shows. Where the roles are fixed, one head has taken *who* and the other *what*. Where
# the roles change, the head that attends to *who* for one pronoun attends to *what* for a different one. Averaged over
# all tales, such a head has weight on both nouns, but within a single tale it usually keeps to one.
#
# ## What each head contributes
#
# Attention weights show where a head looks, but not what the layer does with what it finds there. To see this, cut the
# output projection $W_O\,[H D_H, D]$ into $H$ blocks of $D_H$ rows: block $W_O^h\,[D_H, D]$ is the part that multiplies
# $Y_h$. A row times a matrix is a weighted sum of the rows of the matrix, and this sum can be taken block by block:
#
# $$Y = [\,A_1 V_1, \dots, A_H V_H\,]\; W_O \;=\; \sum_{h=1}^{H} A_h V_h\, W_O^h\ \ [N, D]$$
#
# To concatenate and then to project is the same as to project each head on its own and then to add. Each term of the
# sum is the **contribution of a head** to the output. A bias of the output projection belongs to no head; it is added
# once. We compute the contributions for the small layer from above:

# %%
W_O_blocks = W_O.view(H, D_H, D)  # [H, D_H, D]: block h is the rows h·D_H to (h+1)·D_H
contributions = A @ V @ W_O_blocks  # [H, N, N] @ [H, N, D_H] @ [H, D_H, D] = [H, N, D]
assert_close(contributions.sum(dim=0), Y)
Y_without_head_0 = contributions[1:].sum(dim=0)  # [N, D]: a head is left out by not adding it

# %% [markdown]
# Since the output is the sum of the contributions, we can measure each of them, and even leave one out, as the last
# line does. We now do this with the trained two-head models, at the position of the pronoun. What share of the answers
# is still right when the contribution of one head is left out? And how large is each contribution, measured by its mean
# norm over the tales?


# %% tags=["fold"]
# @title Draws Figure 7
def contributions_of(layer, X):
    """The contribution of each head of torch's layer, [B, H, N, D]; together with the output's bias they are its output."""
    H, D_H = layer.num_heads, layer.head_dim
    packed = F.linear(X, layer.in_proj_weight, layer.in_proj_bias)  # [B, N, 3 * D]
    Q, K, V = (part.unflatten(-1, (H, D_H)).transpose(1, 2) for part in packed.chunk(3, dim=-1))
    A = (Q @ K.mT / math.sqrt(D_H)).softmax(dim=-1)  # [B, H, N, N]
    return A @ V @ layer.out_proj.weight.T.view(H, D_H, -1)  # out_proj.weight is W_O transposed


left_out = {"both heads": [0, 1], "without\nhead 1": [1], "without\nhead 2": [0]}  # the heads that remain
still_right, norms = {}, {}  # of each run: the shares of who and what, [3, 2], and the mean norm of each head, [2]
with torch.no_grad():
    for seed in SEEDS:
        reader = readers[2, seed]
        X_tales = reader.tokens(tokens) + reader.positions.weight  # [1024, N, D]
        parts, bias = contributions_of(reader.attention, X_tales), reader.attention.out_proj.bias
        assert_close(parts.sum(dim=1) + bias, reader.attention(X_tales, X_tales, X_tales)[0])
        at_pronoun = parts[row, :, positions[:, 0]]  # [1024, 2, D]
        nouns = reader.tokens.weight[: len(pronoun_tales.NOUNS)].T  # [D, nouns]
        still_right[seed] = []
        for kept in left_out.values():
            Y_kept = at_pronoun[:, kept].sum(dim=1) + bias  # [1024, D]
            given = torch.stack([(answer(Y_kept) @ nouns).argmax(dim=-1) for answer in reader.answers], dim=1)
            right = (given == answers).float().mean(dim=0)
            still_right[seed].append(right.tolist())
            if len(kept) == 1:  # with fixed roles one answer is lost and the other kept, otherwise both suffer
                assert right.min() < 0.1 < 0.9 < right.max() if fixed[seed] else 0.2 < right.min() < right.max() < 0.8
        norms[seed] = at_pronoun.norm(dim=-1).mean(dim=0)  # [2]

keys = {}  # of the legend
figure, panels = plots.canvas(12.5, 3.9, 3, sharey=True)
for seed, panel in zip(SEEDS, panels, strict=True):
    for place, (name, colour) in enumerate((("who", "#882255"), ("what", "#DDCC77"))):
        heights = plots.array([pair[place] for pair in still_right[seed]])
        beside = [group + 0.38 * (place - 0.5) for group in range(len(left_out))]
        keys[name] = panel.bar(beside, heights, width=0.36, color=colour)
        panel.bar_label(keys[name], labels=[plots.written(height) for height in heights], padding=2)
    guess = 1 / len(pronoun_tales.NOUNS)
    keys["guess"] = panel.axhline(guess, color=plots.BLACK, linestyle=":", linewidth=1.5)
    panel.set(title=f"run {seed + 1}", ylim=(0, 1.15), yticks=(0, 0.25, 0.5, 0.75, 1))
    panel.set_xticks(range(len(left_out)), left_out)
    panel.tick_params(axis="x", length=0)
panels[0].set_ylabel("share of answers right")
figure.legend(keys.values(), keys, loc="outside lower center", ncols=3, frameon=False)
show(
    figure,
    "A panel for each of three runs; in each, three groups of two bars, the shares of who and of what that are right. "
    + "; ".join(
        f"run {seed + 1}: "
        + ", ".join(f"{' '.join(name.split())} {who:.2f} and {what:.2f}" for name, (who, what) in zip(left_out, pairs))
        for seed, pairs in still_right.items()
    )
    + f". A dotted line at {guess:.2f} marks a guess.",
)
for seed in SEEDS:
    of_heads = ", ".join(f"head {h + 1} {norm:.1f}" for h, norm in enumerate(norms[seed]))
    print(f"run {seed + 1}, mean norm of the contributions: {of_heads}")

# %% [markdown]
# **Figure 7.** The share of right answers at the pronoun, with both heads and when the contribution of one head is left
# out. In runs 1 and 3 one answer falls to a guess and the other survives; in run 2 both suffer, whichever head is left
# out. The guess is one among 24 nouns, right with probability $1/24 \approx 0.04$.
#
# Compare the figure with the roles that we found above. Where the roles are fixed, each answer depends on one head;
# where they change with the pronoun, each answer depends on both. The printed norms show none of this. They tell us how
# much a head adds to the output, but not what the model needs it for; to learn that, leave the head out and measure.
#
# This brings us back to the frog. One row of weights gives one average, from which *who* and *what* are hard to tell
# apart; two heads have two rows, and in most tales each of them serves one question. A word of caution: that a head
# attends to *frog* is something we can measure. That it does so *because it looks for the character that is meant* is
# an interpretation, and an interpretation needs a test, such as leaving the head out.
#
# ## Weights packed in three
#
# Sooner or later you will load weights that others have trained. PyTorch's layer packs them: `in_proj_weight` $[3D, D]$
# holds the weights of the queries in its first $D$ rows, those of the keys in the next $D$ rows, and those of the
# values in the last $D$ rows. `in_proj_bias` $[3D]$ has the same order. Both are stored as `nn.Linear` stores them, one
# row for each output feature, and three separate layers of type `nn.Linear` therefore take the three parts as they are,
# without a transpose:

# %%
torch.manual_seed(6)
# in the role of a layer that others have trained
trained = nn.MultiheadAttention(D, H, batch_first=True, device=DEVICE)
with torch.no_grad():
    trained.in_proj_bias.copy_(normal(3 * D))  # a fresh layer's biases are 0, which would hide a mistake

to_query, to_key, to_value = (nn.Linear(D, D, device=DEVICE) for _ in range(3))
for linear, weight, bias in zip(
    (to_query, to_key, to_value), trained.in_proj_weight.chunk(3), trained.in_proj_bias.chunk(3)
):  # weight [D, D], bias [D]
    linear.load_state_dict({"weight": weight, "bias": bias})


# %%
def attend(Q, K, V):
    """Queries, keys and values of all heads, [N, H * D_H] each, give the output of `trained`, [N, D]."""
    A = (split(Q) @ split(K).mT / math.sqrt(D_H)).softmax(dim=-1)  # [H, N, N]
    return trained.out_proj(merge(A @ split(V)))


with torch.no_grad():
    Y_trained = trained(X[None], X[None], X[None])[0][0]  # [N, D]
    assert_close(attend(to_query(X), to_key(X), to_value(X)), Y_trained)

# %% [markdown]
# Not all models pack their weights in this order. GPT-NeoX and BLOOM, for example, interleave their published weights
# head by head: first the query, key and value weights of head 1, $D_H$ rows each, then those of head 2, and so on.

# %% tags=["fold"]
# @title Draws Figure 8
show(
    schematics.fused_layouts(),
    "The rows of a fused weight for three heads in two orders, as strips of nine boxes. PyTorch's order: the query weights of "
    "heads 1, 2, 3, then the key weights of heads 1, 2, 3, then the value weights. Interleaved: query, key, value of head 1, "
    "then of head 2, then of head 3.",
)

# %% [markdown]
# **Figure 8.** Two layouts of the same fused weight; each box holds the named matrix, transposed. Both have the shape
# $[3D, D]$, so the shape alone does not tell which one a file contains.
#
# To read the interleaved layout, split its rows into $[H, 3, D_H]$, exchange the first two axes, and join all three
# axes again. If you forget this, PyTorch raises no error, but the output is wrong:

# %% tags=["nbval-check-output"]
rows = trained.in_proj_weight.detach()  # [3 * D, D]
interleaved = rows.view(3, H, D_H, D).transpose(0, 1).reshape(3 * D, D)  # as such a model would store it
in_order = interleaved.view(H, 3, D_H, D).transpose(0, 1).reshape(3 * D, D)  # and back

with torch.no_grad():
    for name, weight in (("exchanged", in_order), ("as they come", interleaved)):
        loaded = (F.linear(X, weight) + trained.in_proj_bias).chunk(3, dim=-1)  # [N, D] each
        print(f"interleaved rows, {name}: the output is off by {(attend(*loaded) - Y_trained).abs().max():.1f}")

# %% [markdown]
# A file in the interleaved layout has its bias in that order, too, and it needs the same exchange; above, only the
# weights were interleaved. After loading weights, always compare one output with that of the original model.
#
# ## Four matrix products
#
# What does a multi-head attention layer cost? Except for the softmax, the scaling of the scores and the biases, its
# work consists of matrix products. With the fused projection there are four of them:
#
# | step | shapes | result |
# |---|---|---|
# | 1 · projection | $[N, D]\;[D, 3D]$ | $[N, 3D]$, split into three of $[H, N, D_H]$ |
# | 2 · scores | $[H, N, D_H]\;[H, D_H, N]$ | $[H, N, N]$ |
# | 3 · weighted sums | $[H, N, N]\;[H, N, D_H]$ | $[H, N, D_H]$, merged into $[N, D]$ |
# | 4 · output | $[N, D]\;[D, D]$ | $[N, D]$ |
#
# An entry of a product $[n, k]\,[k, m]$ is a sum of $k$ terms: it takes $k$ multiplications and about as many
# additions. The result has $n \cdot m$ entries, so the product takes $2\,n\,k\,m$ **floating-point operations
# (FLOPs)**. With $H D_H = D$, the four products together take
#
# $$\underbrace{2 N D \cdot 3D}_{1} + \underbrace{2 H N^2 D_H}_{2} +
# \underbrace{2 H N^2 D_H}_{3} + \underbrace{2 N D^2}_{4} \;=\; 8 N D^2 + 4 N^2 D$$
#
# The number of heads $H$ does not appear in the result: eight heads of width 64 cost as many operations as one head of
# width 512. The softmax is not counted here. It takes a few operations for each of the $H N^2$ scores, far fewer than
# the products as long as $D_H$ is not tiny. PyTorch can count the operations of the products for us:


# %% tags=["fold"]
# @title Defines count · The operations that torch counts while `function` runs on the inputs
def count(function, *inputs):
    """The operations that torch counts while `function` runs on the inputs."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        function(*inputs)
    return counter.get_total_flops()


# %% tags=["nbval-check-output"]
for N_, D_, H_ in ((128, 64, 1), (128, 64, 8), (256, 64, 8), (512, 64, 8)):
    layer = nn.MultiheadAttention(D_, H_, batch_first=True, device=DEVICE)
    counted = count(lambda X: layer(X, X, X), normal(1, N_, D_))
    assert counted == 8 * N_ * D_**2 + 4 * N_**2 * D_
    print(f"N = {N_}, D = {D_}, heads: {H_}: {counted:>12,} operations")

# %% [markdown]
# From 256 to 512 vectors, the operations more than triple, because the formula has two terms: $8ND^2$ doubles when $N$
# doubles, and $4N^2D$ grows fourfold. We write $O(N)$ for a cost that grows in proportion to $N$, and $O(N^2)$ for one
# that grows in proportion to its square; constant factors are left out.
#
# The two terms are equal at $N = 2D$. For shorter sequences, most operations are in the projections; for longer ones,
# most are in the scores and the weighted sums. With $D = 12{,}288$ and 2,048 tokens, GPT-3 is still well within the
# range of the shorter sequences.

# %% tags=["fold"]
# @title Draws Figure 9
lengths = [2**k for k in range(7, 17)]
figure = plots.curves(
    lengths,
    {
        "projections and output, 8ND²": [8 * n * 512**2 / 1e9 for n in lengths],
        "scores and weighted sums, 4N²D": [4 * n * n * 512 / 1e9 for n in lengths],
    },
    title="operations of one layer, D = 512",
    x_label="number of vectors N",
    y_label="billions of operations",
    log="xy",
    legend=False,
)
(axes,) = figure.axes
axes.axvline(1024, color=plots.GREY, linestyle=":", linewidth=1.5)
ground = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # no grid line crosses the writing
axes.text(930, 3200, "N = 2D = 1,024", ha="right", va="center", bbox=ground)
axes.set_xticks(axes.get_xticks(), [f"{n:,.0f}" for n in axes.get_xticks()])
axes.yaxis.set_major_formatter("{x:,g}")
plots.legend_of(axes, loc="lower right")
show(
    figure,
    "Two straight lines on logarithmic axes. Projections and output grow with N. Scores and weighted sums grow with N "
    "squared; they start lower, cross at N = 1,024, which is twice D, and are far above at the right.",
)

# %% [markdown]
# **Figure 9.** Operations of one layer of width 512 against the length $N$, on logarithmic axes. The projections
# dominate short sequences, the scores and the weighted sums dominate long ones, and the two lines cross at $N = 2D$.
#
# **How much memory does the layer need?** $X$, $Q$, $K$, $V$ and $Y$ hold $N \cdot D$ numbers each, which is $O(N)$.
# The attention weights $A$ are $H \cdot N \cdot N$ numbers, which is $O(N^2)$. Here $H$ does *not* cancel, because each
# head has an attention matrix of its own. As an example, take a long sequence of $N = 100{,}000$ vectors and $H = 64$
# heads, and store each number in two bytes.

# %% tags=["nbval-check-output"]
bytes_of_A = 64 * 100_000**2 * 2
TB, TiB, GiB = bytes_of_A / 10**12, bytes_of_A / 2**40, bytes_of_A / 2**30
print(f"{bytes_of_A:,} bytes = {TB:.2f} TB = {TiB:.3f} TiB = {GiB:.2f} GiB")

# %% [markdown]
# A terabyte (TB) is $10^{12}$ bytes, a tebibyte (TiB) $2^{40}$ bytes, and a gibibyte (GiB) $2^{30}$ bytes. In whatever
# unit, the attention matrices of one layer for one sequence are too large for any of today's GPUs. Beside them $X$ is
# small: with $D = 4096$ it takes 0.8 GB, and so do $Q$, $K$, $V$ and $Y$ each.
#
# Does the layer have to store these matrices? Only if we want to *look* at $A$. What is passed on is $A_h V_h$ of each
# head, which is small, and lesson 08 computes it exactly without ever storing $A_h$.

# %% [markdown]
# ## Going further: the animal sentence, read in two ways
#
# You may skip this section; later lessons do not need it. It takes up a well-known example of what heads attend to, and
# shows how a head can abstain. The example is a sentence with two different last words:
#
# > *The animal didn't cross the street because it was too **tired**.*
# >
# > *The animal didn't cross the street because it was too **wide**.*
#
# In the first sentence *it* is the animal, in the second *it* is the street, and only the last token differs. English
# can leave the question open, since the pronoun is *it* for both nouns. A translation into French cannot: the animal is
# *il* (*l'animal* is masculine), and the street is *elle* (*la rue* is feminine). The two sentences became known
# through the blog post that presented the Transformer (Uszkoreit, 2017). In the model shown there, trained to translate
# from English into French, one of the eight heads of a layer attended from *it* to *animal* in the first sentence, and
# to *street* in the second.
#
# Our `Reader` learns the same task in miniature, now with a single answer: at the token *it*, the model has to choose
# *il* or *elle*. There are 2,048 sentences of this form, with eight animals, eight places, eight adjectives that fit an
# animal, eight that fit a place, and either order of the two clauses. We had to decide which adjectives fit an animal
# and which fit a place, since a bridge can be old or weak, too. Three quarters of the sentences are used for training.
# The others, among them the two sentences above, are kept for the test. Again we load models that were trained
# beforehand, three with one head and three with two.

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
ANIMALS = dict.fromkeys(("animal", "dog", "cat", "horse"), "il")
ANIMALS |= dict.fromkeys(("cow", "goat", "hen", "tortoise"), "elle")
PLACES = dict.fromkeys(("street", "river", "square", "valley"), "elle")
PLACES |= dict.fromkeys(("bridge", "field", "desert", "canal"), "il")
FITS_ANIMALS = ("tired", "hungry", "old", "ill", "lazy", "thirsty", "nervous", "weak")
FITS_PLACES = ("wide", "long", "deep", "steep", "flooded", "crowded", "icy", "muddy")
FRENCH = ("il", "elle")
VOCABULARY = (*ANIMALS, *PLACES, *FITS_ANIMALS, *FITS_PLACES, *"the didn't cross because it was too ,".split())


def written(animal, place, adjective, because_first=False):
    """The tokens of a sentence, 12 with the comma."""
    main, reason = ["the", animal, "didn't", "cross", "the", place], ["because", "it", "was", "too", adjective]
    return [*reason, ",", *main] if because_first else [*main, ",", *reason]


def encoded(choices):
    """Sentences as numbers: tokens [B, 12], the position of “it” [B], and the answer [B], 0 for il and 1 for elle."""
    rows = [written(*choice) for choice in choices]
    pronouns = [ANIMALS[a] if adjective in FITS_ANIMALS else PLACES[p] for a, p, adjective, _ in choices]
    tokens = [[VOCABULARY.index(token) for token in row] for row in rows]
    parts = (tokens, [row.index("it") for row in rows], [FRENCH.index(pronoun) for pronoun in pronouns])
    return [torch.tensor(part, device=DEVICE) for part in parts]


ADJECTIVES = (*FITS_ANIMALS, *FITS_PLACES)
choices = [(a, p, z, first) for a in ANIMALS for p in PLACES for z in ADJECTIVES for first in (False, True)]
random.Random(0).shuffle(choices)
# the two of the text come first, and so are kept for the test
choices.sort(key=lambda choice: choice[:2] != ("animal", "street") or choice[2] not in ("tired", "wide"))
UNSEEN, SEEN = encoded(choices[:512]), encoded(choices[512:])


def il_or_elle(reader, batch):
    tokens, it, answers = batch
    return F.cross_entropy(reader(tokens)[0][0][torch.arange(len(it), device=DEVICE), it], answers)


def new_translator(H, seed=0):
    torch.manual_seed(seed)
    return Reader(H, len(VOCABULARY), 12, answers=(2,)).to(DEVICE)


def translator_with(H, seed):
    reader, drawn = new_translator(H, seed), torch.Generator().manual_seed(seed)
    rows = (torch.randint(len(SEEN[0]), (64,), generator=drawn).to(DEVICE) for _ in range(STEPS))
    batches = ([part[row] for part in SEEN] for row in rows)
    train(reader, batches, il_or_elle, steps=STEPS, rate=5e-3, what=f"it, {H} heads")
    return reader


@torch.no_grad()
def right_in_unseen(reader):
    """The share of sentences kept for the test in which the reader chooses the right pronoun."""
    said = reader(UNSEEN[0])[0][0][torch.arange(len(UNSEEN[1]), device=DEVICE), UNSEEN[1]].argmax(dim=-1)
    return (said == UNSEEN[2]).float().mean().item()


stored_translators = nn.ModuleDict({f"{H} {seed}": new_translator(H) for H in (1, 2) for seed in SEEDS})
if stored_runs.full():
    for name, translator in stored_translators.items():
        translator.load_state_dict(translator_with(*map(int, name.split())).state_dict())
    stored_weights.keep("06_multi_head.translators", stored_translators)
stored_weights.load("06_multi_head.translators", stored_translators)
translators = {(H, seed): stored_translators[f"{H} {seed}"] for H in (1, 2) for seed in SEEDS}
found = {pair: right_in_unseen(translator) for pair, translator in translators.items()}
for heads in (1, 2):
    print(f"{heads} head{'s' * (heads > 1)}: right in unseen sentences", *(f"{found[heads, seed]:.2f}" for seed in SEEDS))
assert max(found[1, seed] for seed in SEEDS) < 0.8 and min(found[2, seed] for seed in SEEDS) > 0.98

# %% [markdown]
# Why does one head fail where two succeed? The token *it* and its position are the same in both sentences, and so is
# its query. The score of *animal* is therefore the same in both sentences, and so is the score of *street*. In one row
# of weights, the **ratio** of these two weights is then fixed, and the average leans towards the same noun in both
# readings. The value of the last token is part of the average as well, but it carries no information about the genders
# of the two nouns and can only shift all sentences with this adjective towards *il* or towards *elle*. So one head
# cannot get all sentences right. Compare it with a model that always follows the animal, or always the place. In half
# of all sentences both nouns have the same gender in French, so either noun gives the right answer; in the other half,
# such a model is right half of the time. Together this makes three quarters of all sentences, and our trained models
# with one head do no better. (Three quarters is not the limit, since the adjective's shift could still save some
# sentences.)
#
# To see what the second head changes, we look at the attention weights of *it* in both heads and at the **vote** of
# each head. Subtract the logit of *il* from the logit of *elle*. The vote of a head is the part of this difference that
# comes from the head's contribution: a positive vote favours *elle*, a negative vote favours *il*. The votes of the
# heads and of the biases add up to the difference, and its sign decides.


# %%
@torch.no_grad()
def votes(reader, tokens, it):
    """For one sentence [N]: the attention weights of “it” [H, N], the votes of the heads [H], and that of the biases."""
    X = (reader.tokens(tokens) + reader.positions.weight)[None]  # [1, N, D]
    found, A = reader(tokens[None])
    w_il, w_elle = reader.answers[0].weight  # [D] each
    by_head = contributions_of(reader.attention, X)[0, :, it] @ (w_elle - w_il)  # [H, D] @ [D] = [H]
    logit_il, logit_elle = found[0][0, it]
    return A[0, :, it], by_head, logit_elle - logit_il - by_head.sum()


# %% tags=["fold"]
# @title Draws Figure 10
def reading(animal, place, adjective, training):
    """The tokens of a sentence, and what `votes` says of it in one training with two heads."""
    (tokens,), (it,), _ = encoded([(animal, place, adjective, False)])
    return written(animal, place, adjective), *votes(translators[2, int(training) - 1], tokens, it)


def draw_reading(animal, place, adjective, training=1):
    words, A_it, by_head, biases = reading(animal, place, adjective, training)
    figure, (left, right) = plots.canvas(13, 3, 2, gridspec_kw={"width_ratios": [2.6, 1]})
    labels = {"row_label": "head", "column_label": "key: the token that “it” attends to"}
    title = f"attention weights of the query “it” in “… was too {adjective}”"
    plots.heat_map(A_it, ["1", "2"], words, numbers=".2f", least=0.005, title=title, axes=left, **labels)
    total = by_head.sum() + biases
    bars = [*by_head.tolist(), biases.item(), total.item()]
    colours = [plots.WEIGHTS, plots.WEIGHTS, plots.GREY, plots.OUTPUT]
    title = f"votes: “{FRENCH[int(total > 0)]}”"
    plots.bars(
        bars,
        ["head 1", "head 2", "biases", "sum"],
        colour=colours,
        numbers=".1f",
        limits=(-32, 32),
        title=title,
        axes=right,
    )
    right.set(xlabel="part of the difference", ylabel="logit of elle − logit of il", yticks=(-20, 0, 20))
    for height, word in ((28, "elle"), (-28, "il")):
        right.text(3.45, height, word, ha="right", va="center", fontstyle="italic")
    return figure


def say_reading(animal, place, adjective, training=1):
    words, A_it, by_head, biases = reading(animal, place, adjective, training)
    heads = "; ".join(
        f"head {h + 1} attends most to “{words[weights.argmax()]}” ({weights.max():.2f}) and votes {vote:.1f}"
        for h, (weights, vote) in enumerate(zip(A_it, by_head))
    )
    total = by_head.sum() + biases
    return f"“{' '.join(words)}”. Query “it”: {heads}. With {biases:.1f} from the biases the sum is {total:.1f}: {FRENCH[int(total > 0)]}."


looks, voted = [], []  # for each sentence, the tokens to which the heads attend most, and their votes
for adjective in ("tired", "wide"):
    show(draw_reading("animal", "street", adjective), say_reading("animal", "street", adjective))
    words, A_it, by_head, biases = reading("animal", "street", adjective, 1)
    looks.append([words[place] for place in A_it.argmax(dim=-1)])
    voted.append(by_head)
    assert (by_head.sum() + biases > 0) == (adjective == "wide")
switching = 1 - A_it[:, words.index("animal")].argmax().item()  # the head that does not stay with the animal
for h, (first, second) in enumerate(zip(*looks)):
    print(f"head {h + 1} attends most to “{first}” in the first sentence, and to “{second}” in the second")
assert sorted(zip(*looks)) == [("animal", "animal"), ("tired", "street")]
assert voted[0][switching].abs() < voted[1][switching].abs() / 2  # at "tired" it abstains

# %% [markdown]
# **Figure 10.** The attention weights of *it* in both heads, and the votes of the heads, for the two readings of the
# sentence. One head attends to *animal* in both readings. The other head attends to *tired* in the first reading,
# with a small vote, and to *street* in the second, where its vote turns the sum to *elle*. The lines above this caption
# name the head that stays with *animal* in this run. Because the numbers are rounded, their total may differ from the
# sum by 0.1.
#
# From the weights of the first sentence alone, one would say that one head looks up *animal* and the other looks up
# *tired*. The votes tell us more. Consider the head that changes its target. What matters in the first sentence is not
# what it finds at *tired*, but that it does **not** attend to *street*. How can its weights change, although its query
# is the same in both sentences? The keys compete in the softmax, and the key of the last token differs. We compare the
# score of the last token with that of *street*:

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
for adjective in ("tired", "wide"):
    words, A_it, *_ = reading("animal", "street", adjective, 1)
    lead = (A_it[switching, words.index(adjective)] / A_it[switching, words.index("street")]).log().item()
    print(f"head {switching + 1}: score of “{adjective}” minus score of “street”: {lead:+.1f}")
    assert (lead > 2) == (adjective == "tired")

# %% [markdown]
# *Tired* has a higher score than *street* and draws the weight away from it; *wide* has a lower score and leaves the
# weight on *street*. A head cannot switch off, since its weights always sum to 1. But it can attend to a token whose
# value adds almost nothing to the difference of the two logits. Its vote is then close to zero: the head **abstains**.
#
# **Try it.** Choose the nouns, the adjective and the training run. Do the heads of the other runs divide the work in
# the same way? Many of these sentences make little sense, but the model does not know this. It has learned which
# adjectives fit animals and which fit places, and each noun's gender.

# %% tags=["fold"]
# @title Explorer of Figure 11
explore(
    draw_reading,
    alt=say_reading,
    animal=Choice("animal", tuple(ANIMALS), "cow"),
    place=Choice("place", tuple(PLACES), "bridge"),
    adjective=Choice("too", (*FITS_ANIMALS, *FITS_PLACES), "icy"),
    training=Slider("run", 1, 3, 1, 1),
)

# %% [markdown]
# **Figure 11.** Attention weights and votes for a sentence of your choice. Because the numbers are rounded, their total
# may differ from the sum by 0.1. Only the sign of the sum decides between *il* and *elle*; a single head may vote the
# other way.

# %% [markdown]
# ## Summary
#
# | what | formula | shape |
# |---|---|---|
# | project, then split | $[Q, K, V] = X\, W_{QKV}$ | $[B, N, 3D] \to$ three of $[B, H, N, D_H]$ |
# | attend | $A_h = \operatorname{softmax}(Q_h K_h^\top / \sqrt{D_H})$ | $[B, H, N, N]$ |
# | weighted sums, then merge | $Y_h = A_h V_h$ | $[B, H, N, D_H] \to [B, N, D]$ |
# | output projection | $Y = [Y_1, \dots, Y_H]\, W_O = \sum_h A_h V_h\, W_O^h$ | $[B, N, D]$ |
# | operations of the matrix products, for each sequence | $8ND^2 + 4N^2D$, whatever $H$ is | |
# | attention weights, for each sequence | $H \cdot N^2$ numbers, if they are stored | |
#
# ```python
# layer = nn.MultiheadAttention(D, H, batch_first=True)  # in_proj_weight [3 * D, D], out_proj.weight [D, D]
# Y, A = layer(X, X, X, average_attn_weights=False)  # [B, N, D], [B, H, N, N]
# Y_heads = F.scaled_dot_product_attention(Q, K, V)  # [B, H, N, D_H] each, without the projections
# ```
#
# The picture to remember is Figure 1: project, attend in each head, concatenate, mix.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> A layer has D = 512 and 8 heads. Somebody changes it to 16 heads, with the same D. What
# changes: parameters, operations, memory for the attention weights?</summary>
#
# The parameters and the operations of the four products stay the same. Each head is half as wide, and there are twice
# as many heads. The attention weights are $[16, N, N]$ instead of $[8, N, N]$: they take twice the memory.
#
# </details>
#
# <details><summary><b>2.</b> What does one head lack, however wide it is?</summary>
#
# It lacks a second row of attention weights. A single head computes one average for each query, and all answers have to
# be read from this average.
#
# </details>
#
# <details><summary><b>3.</b> X is [B, N, H·D_H]. Why does <code>X.reshape(B, H, N, D_H)</code> give the right
# shape and the wrong numbers?</summary>
#
# The reshape cuts the numbers in the order in which they are stored. In that order, all features of one vector come
# before those of the next vector. Head 0 therefore gets features of the first vectors
# only, instead of a part of each vector.
#
# </details>
#
# <details><summary><b>4.</b> The weights of the heads are averaged to [N, N] and drawn. What may this picture
# hide?</summary>
#
# It may hide that the heads disagree. If one head puts all its weight on *frog* and the other puts all its weight on
# *witch*, their average looks as if the layer could not decide.
#
# </details>
#
# <details><summary><b>5.</b> N is doubled. By which factor do the operations of multi-head attention grow?</summary>
#
# By a factor between 2 and 4: nearly 2 as long as $N$ is far below $2D$, and nearly 4 when $N$ is far above $2D$.
#
# </details>
#
# <details><summary><b>6.</b> A head's attention weights are uniform at some position. Does it contribute nothing
# there?</summary>
#
# It contributes the mean of its values, projected by $W_O^h$. This can be large. A head contributes little where $A_h
# V_h W_O^h$ is small, for example when its weight is on a token whose projected value is near zero.
#
# </details>
#
# <details><summary><b>7.</b> A file holds a fused weight of shape [3D, D]. How can you find out the order of its rows?</summary>
#
# The shape does not tell you. Read the code of the model that wrote the file, load the rows in the order that it uses,
# and compare an output with that of the original.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **Reshape is not transpose.** To split, cut the last axis and then exchange two axes. To merge, exchange them and
#   then join.
# - **$\sqrt{D_H}$, not $\sqrt{D}$.** Each head's dot product sums $D_H$ terms.
# - **`nn.MultiheadAttention` averages the weights** over the heads unless `average_attn_weights=False`, and it needs
#   `batch_first=True` for inputs of shape $[B, N, D]$.
# - **The layout of fused weights differs.** In our layer and in PyTorch's, all queries come first, then all keys, then
#   all values. Some models interleave them head by head. Weights loaded into the wrong layout give nonsense without an
#   error.
# - **Weights of `nn.Linear` are transposed.** Rows of `in_proj_weight` are columns of $W_{QKV}$, and the block $W_O^h$
#   consists of *columns* of `out_proj.weight`.
# - **Attention weights are not contributions.** What a head adds to the output also depends on its values and on $W_O$.
# - **GB and GiB.** $10^9$ and $2^{30}$ bytes differ by 7 %, TB and TiB by 10 %.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *Y = AX on the slide of several heads.* Y = AV; each head mixes its own values.
# - *$[H \times N \times D_H]\,[H \times N \times D_H]$ for the scores.* The second factor is transposed, $[H \times D_H
#   \times N]$.
# - *$[H \times N \times N]\,[H \times D \times D_H]$ for the mixing.* The values are $[H \times N \times D_H]$.
# - *A single attention layer would attend to only one part of the sequence.* It can attend to several, but returns one
#   average of them.
# - *$D_q = 512$ in the original.* 512 is the width $D$; each of the 8 heads is 64 wide.
# - *6 heads with D = 512 in the original.* It has 8 heads.
# - *softmax(E, dim=1) with heads.* That runs over the queries, or over the heads if there is a batch. The softmax has
#   to run over the keys, dim = −1.
# - *E divided by $\sqrt{D_Q}$, with heads.* This is right only if $D_Q$ means the width of a head: the scores of each
#   head are divided by $\sqrt{D_H}$.
# - *1.192 TB.* With two bytes a number, the attention weights take 1.28 TB, or 1,192 GiB.
#
# </details>

# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/06_multi_head/06_multi_head.ipynb).
# - **Read on**: [lesson 07](07_masking.ipynb) hides keys from queries: padding, and the future.
# - **Look up**: the [glossary](../docs/glossary.md).

# %% [markdown]
# ## References
#
# - A. Vaswani et al. (2017). Attention is all you need. NeurIPS. arXiv:1706.03762. *Section 3.2.2: heads; table 3, rows
#   A: the published figures; rows B: narrower keys.*
# - J. Uszkoreit (2017). Transformer: a novel neural network architecture for language understanding. Google Research
#   Blog, 31 August 2017. *The animal that didn't cross the street, in both readings.*
# - S. Black et al. (2022). GPT-NeoX-20B: an open-source autoregressive language model. arXiv:2204.06745.
# - BigScience Workshop (2022). BLOOM: a 176B-parameter open-access multilingual language model. arXiv:2211.05100.
# - PyTorch: `torch.nn.MultiheadAttention`. *`in_proj_weight`, `in_proj_bias` and `average_attn_weights`.*
