# %% [markdown]
# # 05 · Self-attention and positions
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/05_self_attention.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - write self-attention: queries, keys and values computed from the same sequence;
# - show that self-attention is permutation equivariant, that is, blind to the order of its tokens, and measure the
#   consequences;
# - give it the order in three ways (learned positional encoding, sinusoidal positional encoding, rotary position
#   embedding) and say what each can and cannot do.
#
# **You need** lesson 04: queries, keys, values, and why scores are divided by $\sqrt{D_Q}$; sine and cosine with their
# addition theorems; rotations of the plane, and how a complex number describes one.
#
# **Time** about 65 minutes to read; the cells run in about 10 seconds on two CPU cores.

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
import re
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from utils.device import device
from utils.figures import attention, diagrams, plots
from utils.figures.explorers import Order, Slider, Switch, explore
from utils.figures.plots import show
from utils.measures import stored_runs, stored_weights
from utils.models.training import train

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
torch.manual_seed(6)  # for the embedding table below
generator = torch.Generator().manual_seed(5)


def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


def from_zero(figure):
    """A diagram whose boxes are numbered from 1, numbered from 0 instead, as positions are."""
    for text in figure.axes[0].texts:
        text.set_text(re.sub(r"_\{?(\d+)\}?", lambda found: f"_{{{int(found[1]) - 1}}}", text.get_text()))
    return figure


# %% [markdown]
# ## Self-attention: every token attends to every token
#
# *"The animal didn't cross the street because it was too tired."* Here *it* is the animal. Had the sentence ended in
# *wide*, *it* would be the street: what a word means depends on the other words of its sentence. Lesson 06 returns to
# both sentences, with a model that is trained to tell them apart.
#
# A model reads a sentence as a sequence of **tokens**, the units into which the text has been cut; in this lesson each
# word is one token. The number of a token in the sequence, counted from 0, is its **position**.
#
# In lesson 04 the queries came from one sequence, and the keys and values from a second one. What if all of them come
# from the same sequence? Then each token attends to all tokens of its own sentence, itself among them, and receives a
# mixture of their values, so that the vector for *it* comes to contain something of *animal*. This is
# **self-attention**.

# %% tags=["fold"]
# @title Draws Figure 1
sentence = "The animal didn't cross the street because it was too tired".split()
show(
    from_zero(attention.all_to_all(sentence, sentence.index("it"))),
    "The eleven tokens of the sentence about the animal as a row of boxes, and eleven outputs, y_0 to y_10, above them. A line "
    "runs from every token to every output; the eleven lines that end at the output of the token it are drawn in blue.",
)

# %% [markdown]
# **Figure 1.** Self-attention connects each output with every token of the sequence. Along the blue lines the output at
# *it* receives values from all tokens, in one step and at any distance; the attention weights decide how much passes
# along each line.
#
# Self-attention needs no new operation, only one input instead of two: queries, keys and values are all computed from
# $X\,[N, D]$.
#
# $$Q = X W_Q\ [N, D_Q],\qquad K = X W_K\ [N, D_Q],\qquad V = X W_V\ [N, D_V]$$
#
# $$A = \operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{D_Q}}\right)\ [N, N],\qquad Y = AV\ [N, D_V]$$
#
# The widths $D_Q$ and $D_V$ may differ, though most models make them equal. The **receptive field** of an output, the
# set of inputs that it depends on, is the whole sequence after just one layer, whereas a convolution of width 3 needs
# many layers to connect the two ends of a long sentence.
#
# Why three matrices? With $Q = K = X$ every token would attend mostly to itself, since $x \cdot x$ is usually the
# largest of its scores (question 5 of lesson 04). With $W_Q$ and $W_K$, what a token asks for can differ from what it
# offers to the queries of others, and with $W_V$, what it passes on can differ from both.
#
# **A sentence of five tokens**, *the dog bites the man*, with vectors and matrices drawn at random, serves as our
# example. One word occurs twice, at positions 0 and 3; its two occurrences, $\textit{the}_1$ and $\textit{the}_2$, have
# the same vector.

# %%
words = ["the₁", "dog", "bites", "the₂", "man"]
X = normal(5, 6)  # [N, D]
X[3] = X[0]  # the same word, the same vector
N, D = X.shape
D_Q, D_V = 4, 3
W_Q, W_K, W_V = normal(D, D_Q) / 2, normal(D, D_Q) / 2, normal(D, D_V) / 2

# %% [markdown]
# As in lesson 04, we compute the output in three ways: with loops for a single query, with matrices for all queries,
# and with PyTorch's own function. Wherever two positions meet, $m$ is the position of the query and $n$ that of the
# key.

# %%
m = 2  # the query of "bites"
e_loop = torch.zeros(N, device=DEVICE)  # [N]
for n in range(N):
    e_loop[n] = (X[m] @ W_Q) @ (X[n] @ W_K) / math.sqrt(D_Q)  # the query of m meets the key of n
a_loop = e_loop.softmax(dim=-1)  # [N]
y_loop = torch.zeros(D_V, device=DEVICE)  # [D_V]
for n in range(N):
    y_loop += a_loop[n] * (X[n] @ W_V)  # add the value of n, weighted


# %%
def self_attention(X):
    """X [N, D] gives Y [N, D_V] and A [N, N], with the matrices above."""
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V  # [N, D_Q], [N, D_Q], [N, D_V]
    A = (Q @ K.T / math.sqrt(D_Q)).softmax(dim=-1)  # [N, N]
    return A @ V, A


Y, A = self_attention(X)
assert_close(Y[m], y_loop)
assert_close(F.scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V), Y)

# %% tags=["fold"]
# @title Draws Figure 2
E = (X @ W_Q) @ (X @ W_K).T / math.sqrt(D_Q)  # [N, N]
show(
    from_zero(diagrams.attention_layer(E, A, own=True, asking=words, data=words)),
    "Self-attention with the numbers just computed. The vectors of the five words, X_0 to X_4, are drawn twice: at the left, where they "
    "become queries through W_Q, and at the top, where they become keys through W_K and values through W_V. Scores and "
    "weights are five by five; their rows 0 and 3 are equal.",
)

# %% [markdown]
# **Figure 2.** Self-attention on the five tokens. The same $X$ enters twice, as the source of the queries and as the
# source of the keys and values. Compare rows 0 and 3, which belong to the two occurrences of *the*.
#
# $N$ rows go in and $N$ rows come out; between them, scores and weights are $[N, N]$, with one number for each pair
# of tokens: row $m$ holds the weights with which token $m$ attends, and column $n$ belongs to the token $n$ that is
# attended to. In row 0, for example, the key of *bites* has the largest score, so *bites* gets more than half of the
# weight. The scores are not symmetric. The query of *man* with the key of *dog* (row 4, column 1) has about twice the
# score of the query of *dog* with the key of *man* (row 1, column 4).
#
# Rows 0 and 3 are the same. Is that what we want? The first *the* belongs to the dog, the second to the man.

# %% [markdown]
# ## Permutation equivariance: shuffle the words
#
# *Dog bites man* is no news; *man bites dog* is. Does self-attention see the difference? We put the words into a new
# order $\sigma$ and follow the computation line by line. The table below gives the largest change of each quantity,
# measured in two ways. *Row by row*: row $n$ against the old row $n$. *Reordered*: each word against itself and, for
# scores and weights, each pair of words against itself.

# %%
order = torch.tensor([3, 4, 2, 0, 1], device=DEVICE)  # the man bites the dog
X_new = X[order]  # [N, D], row n is what row order[n] was
Y_new, A_new = self_attention(X_new)  # [N, D_V], [N, N]
assert_close(Y_new, Y[order])  # the old outputs, in the new order


# %% tags=["fold", "nbval-check-output"]
# @title Defines difference · The largest difference of two tensors, in words where it is nothing but rounding
def difference(one, other):
    """The largest difference of two tensors, in words where it is nothing but rounding."""
    largest = (one - other).abs().max().item()
    return "below 1e-5" if largest < 1e-5 else f"{largest:.2f}"


E, E_new = ((rows @ W_Q) @ (rows @ W_K).T / math.sqrt(D_Q) for rows in (X, X_new))  # [N, N] both
print("largest difference   row by row     reordered")
for name, W in (("queries", W_Q), ("keys", W_K), ("values", W_V)):
    print(f"{name:<18}   {difference(X_new @ W, X @ W):<12}   {difference(X_new @ W, (X @ W)[order])}")
print(f"{'scores E':<18}   {difference(E_new, E):<12}   {difference(E_new, E[order][:, order])}")
print(f"{'weights A':<18}   {difference(A_new, A):<12}   {difference(A_new, A[order][:, order])}")
print(f"{'outputs Y':<18}   {difference(Y_new, Y):<12}   {difference(Y_new, Y[order])}")

# %% [markdown]
# In the last column nothing but rounding is left: at each step the rows are the same as before, only in the new order.
# The softmax runs over a row whose entries have merely been reordered, and the sum over the values does not depend on
# the order of its terms. With a permutation matrix $\Pi$, $X$ becomes $\Pi X$, $E$ becomes $\Pi E\,\Pi^\top$, $A$
# becomes $\Pi A\,\Pi^\top$, and $Y$ becomes $\Pi A\,\Pi^\top\,\Pi V = \Pi Y$. Call the layer $F$, and write $\sigma X$
# for $\Pi X$. Then for each order
#
# $$F(\sigma X) = \sigma F(X).$$
#
# Self-attention is **permutation equivariant**: if the rows of the input are reordered, the rows of the output are
# reordered in the same way, and nothing else changes. *Invariant* would mean that the output does not change at all.
# Lesson 04 found invariance, for a fixed query when the *data vectors* are reordered; here the queries are reordered
# along with the data vectors, so each output moves with its query.
#
# The output for *dog* is therefore the same, up to rounding, whether the dog bites or is bitten. The layer uses *which*
# tokens are in the sentence, but not *where* they are. It works on a set of vectors, in which some may occur twice, and
# not on a sequence. For data that are sets, such as the points of a scan (lesson 12), this is just what one wants (Lee
# et al., 2019). For sentences it is not.
#
# **Try it.** The picture begins with *the man bites the dog*; compare its weights with those of Figure 2. Drag the
# words into a different order. Then turn on the switch *positional encoding*, a term that is explained below the
# figure: each position gets a random vector of its own, which is added to the vector of the word there. Drag again. The
# line below the picture compares each word's output with the one that it has in the order of Figure 2 and gives the
# largest difference. You can also remove a word; the outputs of the others then change, because they attend to one
# token fewer.


# %% tags=["fold"]
# @title Explorer of Figure 3
places = torch.randn(5, D, generator=torch.Generator().manual_seed(0)).to(DEVICE)  # [N, D], a vector for each position


def attended(order, encoded):
    rows = torch.tensor([words.index(word) for word in order], device=DEVICE)
    chosen = X[rows]  # [N, D]
    if encoded:
        chosen = chosen + places[: len(order)]
    return self_attention(chosen)


def reorder(order, encoded):
    Y, A = attended(order, encoded)
    figure, (left, middle, right) = plots.canvas(13.5, 3.6, 3, gridspec_kw={"width_ratios": [1.6, 1, 1]})
    options = {"row_label": "query", "column_label": "key", "limits": (0, 0.6)}  # the colours of Figure 2
    plots.heat_map(A, order, order, title="attention weights A", axes=left, **options)
    features = [f"$Y_{{:,{d}}}$" for d in range(D_V)]
    as_before = sorted(order, key=words.index)  # the words in the order of Figure 2
    Y_as_before = Y[[list(order).index(word) for word in as_before]]  # [N, D_V]
    plots.heat_map(Y, order, features, title="outputs Y", limits=(-2, 2), axes=middle)
    title = "outputs Y, in the order of Figure 2"
    plots.heat_map(Y_as_before, as_before, features, title=title, limits=(-2, 2), axes=right)
    return figure


def say_reorder(order, encoded):
    first = dict(zip(words, attended(words, encoded)[0]))
    now = dict(zip(order, attended(order, encoded)[0]))
    gap = max((now[word] - first[word]).abs().max().item() for word in order)
    without = ", with a word taken away" if len(order) < len(words) else ""
    moved = "is what it was" if gap < 1e-5 else f"differs by up to {gap:.2f} from what it was in the order of Figure 2"
    kind = "with positional encoding" if encoded else "without positional encoding"
    return f"{' '.join(order)}, {kind}{without}: the output of each word {moved}."


explore(
    reorder,
    alt=say_reorder,
    order=Order("drag the words (the small x takes one away)", [words[n] for n in order.tolist()]),
    encoded=Switch("add the positional encoding", False),
)

# %% [markdown]
# **Figure 3.** Attention weights and outputs of the sentence in the chosen order. Right, the same outputs in the order
# of Figure 2. Without positional encoding, each word keeps its output wherever it is moved, and its weights are only
# reordered, so the rows at the right never change unless you remove a word. With the encoding, the outputs depend on
# the positions.
#
# The layer must therefore be **given** the order: its input or its scores have to contain something that tells it the
# position of each token. We call this a **positional encoding**.

# %% [markdown]
# ## What a positional encoding should be
#
# The first idea is to give position $n$ a vector $p_n$ of its own and to add it to the vector of the token there:
# $\tilde x_n = x_n + p_n$. Concatenating the two is possible, too, but makes the vectors wider. What should the vectors
# $p_n$ be like? Think about it before you read on.
#
# - Each position has **its own** vector, different from all others and the same in every sentence.
# - The entries are **bounded**, so that the vector of position 5,000 does not drown the vector of the token.
# - A step from $n$ to $n + 1$ means **the same** everywhere: at the beginning of a sentence and at its end, in a short
#   sentence and in a long one.
# - There is no **largest** position: sentences longer than those in training have encodings, too.
#
# Which vectors have these properties? The number $n$ itself will not do, since it is not bounded. The fraction $n/N$ is
# bounded, but its step from each position to the next shrinks as the sentence grows. The binary digits of $n$ come
# closer, since each position has its own digits and all of them are 0 or 1:

# %% tags=["fold"]
# @title Draws Figure 4
counted = torch.tensor([[n >> digit & 1 for digit in range(4)] for n in range(16)])  # [16, 4], the lowest digit first
figure, ((upper,), (lower,)) = plots.rows_of(8, 5.2, 1, 1)
digits, numbers = ["ones", "twos", "fours", "eights"], [str(n) for n in range(16)]
plots.heat_map(counted.T, digits, numbers, title="positions in binary digits", numbers=".0f", axes=upper)


def wave(positions, digit):
    """A sine as fast as a binary digit: below zero where the digit is 0, above zero where it is 1."""
    return -torch.sin(2 * math.pi * (positions + 0.5) / 2 ** (digit + 1))


between, whole = torch.linspace(-0.5, 15.5, 641), torch.arange(16)
for digit in range(4):
    lower.axhline(digit, color="#DDDDDD", linewidth=1, zorder=0)
    for where, style in ((between, "-"), (whole, "o")):
        height = digit - 0.36 * wave(where, digit)  # the axis points downwards, as in the panel above
        lower.plot(plots.array(where), plots.array(height), style, color=plots.BLUE, markersize=5)
    assert torch.equal(wave(whole, digit) > 0, counted[:, digit] == 1)
lower.set(title="smooth waves in the same rhythms", xlabel="position n", xlim=(-0.5, 15.5), ylim=(3.55, -0.55))
lower.set_xticks(range(16), numbers)
lower.set_yticks(range(4), digits)
lower.tick_params(length=0)
lower.spines[:].set_visible(False)
show(
    figure,
    "Above, the binary digits of 0 to 15. The digit of the ones changes at each step, that of the twos at every second one, "
    "that of the fours at every fourth, that of the eights once. Below, four waves under one another, each half as fast as the "
    "one above it, with dots at the positions 0 to 15: below the middle of the wave where the digit is 0, above it where it is 1.",
)

# %% [markdown]
# **Figure 4.** The positions 0 to 15 in binary digits, one column for each position. Each digit changes in a regular
# rhythm, half as fast as the digit in the row above it. Below, smooth waves in the same rhythms; the dots are their
# values at the positions.
#
# The digits jump, however. From 7 to 8 all four change, from 8 to 9 only one, so that neighbouring positions are
# sometimes close together and sometimes far apart. If we keep the idea of regular rhythms, from fast to slow, and
# replace the jumps by smooth waves, as in the lower panel, we come to the sinusoidal encoding. Before we come to it, we
# look at a simpler way, which leaves the choice of the vectors to training.

# %% [markdown]
# ## Learned positional encoding: a table
#
# A **learned positional encoding** is an embedding table with one row for each position, just as the token embedding
# has one row for each token of the vocabulary. The vector $p_n$ is row $n$, and training finds its numbers.

# %%
LONGEST = 8
table = nn.Embedding(LONGEST, D, device=DEVICE)  # LONGEST · D parameters
positions = torch.arange(N, device=DEVICE)  # [N]: 0, 1, 2, …
X_encoded = X + table(positions)  # [N, D]

# %% tags=["fold"]
# @title Prints the lines below
print("largest difference between the outputs of the₁ and the₂")
for name, rows in (("without positions:", X), ("with positions:   ", X_encoded)):
    outputs = self_attention(rows)[0]  # [N, D_V]
    print(name, difference(outputs[0], outputs[3]))

# %% [markdown]
# The two occurrences of *the* no longer have the same output. The table costs $N_\text{max} \cdot D$ parameters for
# $N_\text{max}$ positions. Gehring et al. (2017) used such a table in a convolutional translator; the language model
# BERT has one of 512 rows, GPT-2 one of 1,024. Training can give the vectors every property on our list but the last,
# for a table has an end. What happens beyond it? We ask a table with eight rows for the vectors of nine positions:

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
try:
    F.embedding(torch.arange(LONGEST + 1), table.weight.cpu())  # what nn.Embedding does
except IndexError as error:
    print("IndexError:", error)

# %% [markdown]
# This message comes from deep inside the model, and it says neither that the sentence was too long nor how long it may
# be. On a GPU it is worse: the error is reported later, at a different line, and CUDA cannot be used again until the
# process is restarted. In the assignment you will write a check with a better message.

# %% [markdown]
# ## Sinusoidal positional encoding
#
# We now build the smooth counter. In the **sinusoidal positional encoding** (Vaswani et al., 2017) each feature is a
# wave over the positions. The first pair of features has the frequency $\omega_0 = 1$ (one radian per step, so a full
# turn takes $2\pi \approx 6.3$ steps), and each further pair has a lower frequency. Each pair consists of a sine and a
# cosine of the same frequency:
#
# $$p_{n,\,2i} = \sin(n\,\omega_i),\qquad p_{n,\,2i+1} = \cos(n\,\omega_i),\qquad \omega_i = 10000^{-2i/D},\qquad
# i = 0, \dots, D/2 - 1$$
#
# Why both? A sine alone takes the same value twice in each turn. Sine and cosine together are a point on a circle, like
# the tip of a clock's hand. The sine is its horizontal coordinate and the cosine its vertical one, so pair $i$ is a
# clock whose hand starts at the top, at $(0, 1)$, and moves clockwise by the angle $\omega_i$ at each step. With 50
# features there are 25 clocks, and the slowest of them needs tens of thousands of steps for one turn. The number 10000
# is called the **base**.
#
# PyTorch has no function for this encoding. We compute it with loops and with tensors, for $D = 50$, and compare the
# two. The lines printed below are columns of `P`: one line for each of the first four features, at positions 0 to 3.

# %%
P_loop = torch.zeros(4, 50)  # [N, D], positions 0 to 3
for n in range(4):
    for i in range(25):
        P_loop[n, 2 * i] = math.sin(n * 10000 ** (-2 * i / 50))
        P_loop[n, 2 * i + 1] = math.cos(n * 10000 ** (-2 * i / 50))

# %%
def sinusoidal(positions, D, base=10000.0):
    """Positions [N] give their encodings [N, D]."""
    frequencies = base ** (-torch.arange(0, D, 2, device=positions.device) / D)  # [D/2]
    angles = positions[:, None] * frequencies  # [N, D/2]
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # [N, D], sines and cosines alternate


P = sinusoidal(torch.arange(4), 50)  # [N, D]

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
assert_close(P, P_loop)
published = [[0, 0.841, 0.909, 0.141], [1, 0.540, -0.416, -0.990], [0, 0.638, 0.983, 0.875], [1, 0.770, 0.186, -0.484]]
assert_close(P[:, :4].T, torch.tensor(published), rtol=0, atol=5e-4)
for d in range(4):
    print(f"feature {d}:", *(f"{value:7.3f}" for value in P[:, d].tolist()))

# %% tags=["fold"]
# @title Draws Figure 5
positions = torch.arange(64)
figure, (left, right) = plots.canvas(11, 4, 2, gridspec_kw={"width_ratios": [1.9, 1]})
title = "sinusoidal encoding, D = 50"
plots.field(sinusoidal(positions, 50), x_label="feature", y_label="position n", title=title, axes=left)
for place, i in enumerate((0, 2, 4, 6)):
    x, y = 2.9 * (place % 2), -3.6 * (place // 2)  # the middle of the clock
    turn = torch.linspace(0, 2 * math.pi, 100)
    right.plot(plots.array(x + turn.sin()), plots.array(y + turn.cos()), color=plots.GREY)
    for n, (sine, cosine) in enumerate(sinusoidal(positions[:4], 50)[:, 2 * i : 2 * i + 2].tolist()):
        right.plot([x, x + sine], [y, y + cosine], color=plots.BLUE, linewidth=2.5, alpha=1 - 0.22 * n)
        if i < 6:  # the hands of the slowest are too close together
            right.text(x + 1.18 * sine, y + 1.18 * cosine, f"{n}", ha="center", va="center")
    right.text(x, y - 1.6, f"clock i = {i}", ha="center", va="center")
right.set(aspect="equal", title="hands at positions 0, 1, 2 and 3", xlim=(-1.5, 4.4), ylim=(-5.5, 1.5))
right.axis("off")
show(
    figure,
    "Left, sixty-four positions by fifty features: on the left of the field, stripes that change from row to row; further to the "
    "right the waves get longer, until the last features hardly change over all the rows. Right, four clock faces with four hands "
    "each, for positions 0 to 3. On clock 0 they are a radian apart and spread over half of the face; on clocks 2, 4 and 6 "
    "they are closer and closer together.",
)

# %% [markdown]
# **Figure 5.** Left, the sinusoidal encoding of 64 positions, with one row for each position. The first features change
# at every step; the last ones change so slowly that over 64 positions their sines stay near 0 and their cosines near 1.
# Right, four of the 25 clocks, with their hands at the first four positions, the paler, the later.
#
# It is the binary counter again, turned on its side and made smooth. Each frequency now has two columns, a sine and a
# cosine; follow a single column downwards to see its wave. The stripes at the right alternate between the two, which
# hardly change there. The rhythm is different, too: the fastest clock needs $2\pi$ steps for a turn, and each clock is
# $10000^{-2/50} \approx 0.69$ times as fast as the one before it, not half as fast. Does the encoding have the
# properties on our list?

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
P = sinusoidal(torch.arange(2000), 50)  # [2000, 50]
distance = torch.cdist(P, P) + 10 * torch.eye(2000)  # [2000, 2000], the diagonal out of the way
print(f"largest entry of p_n:                     {P.abs().max():.2f}")
print(f"length of p_n, shortest and longest:      {P.norm(dim=1).min():.2f} and {P.norm(dim=1).max():.2f}")
print(f"distance of the neighbours p_0 and p_1:   {(P[1] - P[0]).norm():.2f}")
print(f"smallest distance of any two of 2000:     {distance.min():.2f}")

# %% [markdown]
# The entries are bounded by 1, all vectors have the same length $\sqrt{D/2} = 5$, and among the first 2,000 positions
# no two encodings are closer to each other than those of neighbours. The formula has no largest $n$. The remaining
# property, that a step means the same everywhere, deserves a closer look.
#
# **A step is a rotation.** Whatever $n$ is, a step of $k$ positions turns clock $i$ by the angle $k\,\omega_i$. By the
# addition theorems of sine and cosine, with $p_n$ as a row,
#
# $$p_{n+k} = p_n R_k,\qquad R_k = \operatorname{diag}\big(R(k\,\omega_0), \dots, R(k\,\omega_{D/2-1})\big)\ [D, D],\qquad
# R(\varphi) = \begin{pmatrix}\cos\varphi & -\sin\varphi\\ \sin\varphi & \cos\varphi\end{pmatrix}$$
#
# The matrix $R_k$ has a 2-by-2 rotation for each pair on its diagonal; it depends on the step $k$ alone, not on $n$.
# For the dot product of two encodings it follows that
#
# $$p_m \cdot p_n = \sum_i \big(\sin m\omega_i \sin n\omega_i + \cos m\omega_i \cos n\omega_i\big)
# = \sum_i \cos\big((n - m)\,\omega_i\big),$$
#
# which depends on the distance $n - m$ alone. A step thus means the same everywhere: the same rotation, and the same
# dot product. Two pairs of positions at distance 4 show it, and the folded cell checks $p_{n+3} = p_n R_3$ for almost a
# thousand positions.

# %% tags=["fold"]
# @title Prints the lines below
k = 3
frequencies = 10000 ** (-torch.arange(0, 50, 2) / 50)  # [25]
R = torch.zeros(50, 50)  # [D, D], a 2 by 2 block for each clock
for i, angle in enumerate(k * frequencies):
    R[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[angle.cos(), -angle.sin()], [angle.sin(), angle.cos()]])
# in single precision an angle of several hundred is itself rounded, hence the tolerance
assert_close(P[: 1000 - k] @ R, P[k:1000], rtol=0, atol=1e-3)
assert_close((P @ P.T)[5, 9], torch.cos(4 * frequencies).sum())
assert_close((P @ P.T)[25, 29], torch.cos(4 * frequencies).sum())
print(f"p_5 · p_9:          {(P @ P.T)[5, 9]:.2f}")
print(f"p_25 · p_29:        {(P @ P.T)[25, 29]:.2f}")
print(f"sum of the cosines: {torch.cos(4 * frequencies).sum():.2f}")

# %% [markdown]
# **Try it.** Choose the number of features, the base, and the position that is compared with all others.


# %% tags=["fold"]
# @title Explorer of Figure 6
def draw_encoding(D, base, position):
    D, position = 2 * int(D // 2), int(position)
    P = sinusoidal(torch.arange(100), D, base=10.0**base)
    figure, (left, right) = plots.canvas(11, 3.9, 2)
    plots.field(P, x_label="feature", y_label="position n", row=position, title="encoding", axes=left)
    near = {f"$p_{{{position}}} · p_n$": P @ P[position]}
    plots.curves(torch.arange(100), near, styles=dict.fromkeys(near, "-"), x_label="position n", axes=right)
    right.set_ylim(min(0, 1.1 * (P @ P[position]).min()), 0.55 * D)
    return figure


def say_encoding(D, base, position):
    D, position = 2 * int(D // 2), int(position)
    P = sinusoidal(torch.arange(100), D, base=10.0**base)
    far = (P @ P[position])[(torch.arange(100) - position).abs() > 10].max() / (D / 2)
    slowest = 2 * math.pi * 10.0 ** (base * (D - 2) / D)
    return (
        f"{D} features, base {10**base:.0f}: the slowest wave is {slowest:.0f} positions long. The dot product of position "
        f"{position} with itself is {D / 2:.0f}; with positions more than ten away it reaches up to {far:.0%} of that."
    )


explore(
    draw_encoding,
    alt=say_encoding,
    D=Slider("features D", 4, 64, 50, 2),
    base=Slider("base, as a power of 10", 1, 5, 4, 0.5),
    position=Slider("chosen position", 0, 99, 30, 1),
)

# %% [markdown]
# **Figure 6.** Left, the encodings of 100 positions, with the chosen position marked. Right, the dot product of the
# chosen position's encoding with the encoding of every position. It is largest at the chosen position itself, and it
# takes the same values at equal distances to the left and to the right.
#
# Move the base. With a small base all clocks are fast, and only near neighbours have a large dot product, whereas with
# a large base most clocks hardly move over 100 positions, and the dot product falls less. Then take only 4 features.
# With two clocks the dot product returns almost to its full height further on, so positions that are far apart have
# similar encodings.

# %% [markdown]
# ## Relative positions: only the distance counts
#
# *Two words before* means the same at the beginning of a sentence and at its end. We would therefore like a score to
# depend on the positions $m$ of the query and $n$ of the key only through their distance $n - m$, the **relative
# position** (Shaw et al., 2018). *Two words before* is the relative position $-2$.
#
# The dot products $p_m \cdot p_n$ of sinusoidal encodings have this property, but they are not what the layer computes.
# With $x + p$ as its input, a score is the sum of four terms, up to the factor $1/\sqrt{D_Q}$:
#
# $$(x_m + p_m)\,M\,(x_n + p_n)^\top = \underbrace{x_m M x_n^\top}_{\text{token, token}} +
# \underbrace{x_m M p_n^\top}_{\text{token, position}} + \underbrace{p_m M x_n^\top}_{\text{position, token}} +
# \underbrace{p_m M p_n^\top}_{\text{position, position}}$$
#
# with $M = W_Q W_K^\top$. Each of the two middle terms depends on a single position, never on the distance. Only for
# special matrices $M$ does the last term depend on nothing but the distance, and nothing forces training to find such a
# matrix.
#
# How far are the scores of such a layer from depending on the distance alone? We put the *same* token at all positions
# and take random matrices $W_Q$ and $W_K$. If only the distance counted, all scores at the same distance, which form a
# diagonal of $E\,[N, N]$, would be equal. Their **spread**, the largest minus the smallest, measures how far they are
# from that:


# %%
def spread_at(E, distance):
    """Largest minus smallest score of pairs at this distance n − m."""
    found = E.diagonal(distance)
    return found.max() - found.min()


W = {name: normal(64, 64) / 8 for name in ("Q", "K")}  # [D, D_Q]
word = normal(64)  # [D]
P = sinusoidal(torch.arange(16), 64).to(DEVICE)  # [16, D]
encoded = word + P  # [16, D], the same token 16 times
E_sinusoidal = (encoded @ W["Q"]) @ (encoded @ W["K"]).T / 8  # [16, 16]

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
print("spread of the scores at distance 2")
print("dot products of the encodings alone:      ", f"{spread_at(P @ P.T, 2):.2f}")
print("token plus encoding, random W_Q and W_K:  ", f"{spread_at(E_sinusoidal, 2):.2f}")

# %% [markdown]
# The dot products of the encodings alone have no spread, but the scores of the layer have one, although the token is
# the same everywhere.
#
# **A bias for each distance.** Instead of the input, we can change the scores. Shaw et al. add a learned vector
# $a_{n-m}$ to the key, so that the score becomes $q_m \cdot (k_n + a_{n-m})/\sqrt{D_Q}$; in each direction, all
# distances beyond a largest one share a vector. To each value they add a learned vector for its distance as well, so
# that an output also contains how far away its parts come from. T5 (Raffel et al., 2020) adds just a learned number to
# the score $e_{mn}$ that the two tokens have without positions:
#
# $$e'_{mn} = e_{mn} + b_{n-m}$$
#
# Positions now enter only through the distance, whatever $W_Q$ and $W_K$ are. Each attention head (lesson 06) learns 32
# such numbers: each small distance has a number of its own, larger distances share a number in groups, and in each
# direction all distances beyond 128 share a single number, so no sequence is too long. In T5, however, content and
# distance are merely added: the bias favours a key three positions back by the same amount, whatever the two tokens
# are.

# %% [markdown]
# ## Rotary position embedding (RoPE)
#
# Can content and distance act together, with the same guarantee and nothing to learn? The **rotary position
# embedding**, **RoPE** for short (Su et al., 2021), makes this possible. Like the biases, it enters where the scores
# are computed, after the matrices $W_Q$ and $W_K$, and adds nothing to the input. It *rotates* the query at position
# $m$ by an angle $m\,\omega$ and the key at position $n$ by $n\,\omega$. The dot product of two arrows depends on their
# lengths and on the angle between them. When both are rotated, that angle changes by $(n - m)\,\omega$, which depends
# on the distance alone.
#
# The next figure shows this in the plane, with $\omega = 0.5$, for two pairs of positions with the same distance, and
# for a third pair with a different one.


# %%
def rotated(x, angle):
    """An arrow x [2], rotated by an angle."""
    c, s = math.cos(angle), math.sin(angle)
    return torch.stack([c * x[0] - s * x[1], s * x[0] + c * x[1]])  # [2]


# %% tags=["fold", "nbval-check-output"]
# @title Draws Figure 7
q, key = torch.tensor([1.0, -0.3]), torch.tensor([0.5, 0.9])  # [2] each
figure, panels = plots.canvas(11.5, 3.3, 3)
for panel, (m, n_key) in zip(panels, ((1, 0), (4, 3), (1, 3)), strict=True):
    arrows = torch.stack([rotated(q, 0.5 * m), rotated(key, 0.5 * n_key)])
    names, colours = ["query", "key"], [plots.QUERY, plots.KEYS]
    plots.plane(arrows, names, colours=colours, reach=1.7, title=f"query at m = {m}, key at n = {n_key}", axes=panel)
    for x, n, radius, colour in ((q, m, 0.72, colours[0]), (key, n_key, 0.86, colours[1])):
        panel.annotate("", x.tolist(), (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour, "alpha": 0.35})
        begin = math.atan2(x[1], x[0])
        turn = torch.linspace(begin, begin + 0.5 * n, 50)
        panel.plot(plots.array(radius * turn.cos()), plots.array(radius * turn.sin()), ":", color=colour)
    between = math.degrees(math.acos(F.cosine_similarity(arrows[0], arrows[1], dim=0)))
    plots.angle(panel, arrows[0], arrows[1], 0.35, f"{between:.0f}°")
    panel.text(-1.6, -0.5, f"dot product {arrows[0] @ arrows[1]:.2f}", va="center")
    panel.set_ylim(-0.75, 1.45)
    print(f"query at {m}, key at {n_key}: score {arrows[0] @ arrows[1]:.4f}")
show(
    figure,
    "Three times the same query and key, each turned from where it was, at positions 1 and 0, 4 and 3, 1 and 3. In the first two "
    "panels the angle between them and their dot product are the same; in the third the angle is larger by three steps.",
)

# %% [markdown]
# **Figure 7.** The same query and key at three pairs of positions, twice at relative position $-1$ and then at $2$. The
# pale arrows are the two vectors before the rotation; the dotted arcs are the angles $m\omega$ and $n\omega$ by which
# they turn (the key at position 0, in the left panel, does not turn). From the first panel to the second both arrows
# turn, but the angle between them stays the same, and so does their dot product. At a different distance both change:
# each further step turns the two by $\omega$, about 29°, against each other.
#
# A query has more than two features, so it is cut into $D_Q/2$ pairs, and each pair is rotated at its own speed, with
# the frequencies of the sinusoidal encoding. A query $q$ at position $m$ becomes $q'$:
#
# $$\begin{pmatrix} q'_{2j}\\ q'_{2j+1}\end{pmatrix} =
# \begin{pmatrix}\cos m\omega_j & -\sin m\omega_j\\ \sin m\omega_j & \cos m\omega_j\end{pmatrix}
# \begin{pmatrix} q_{2j}\\ q_{2j+1}\end{pmatrix},\qquad
# \omega_j = 10000^{-2j/D_Q},\qquad j = 0, \dots, D_Q/2 - 1$$
#
# From here to the end of the derivation, $k$ is the key, no longer a number of steps, and $q$ and $k$ are columns with
# the matrix on their left, as in the paper on RoPE. The blocks $R(\varphi)$ are the same as before. Acting on a column,
# they turn it counterclockwise, as in Figure 7; the clocks, which are rows, turned the other way. Only differences of
# angles matter below. All pairs of the query together are one product with a matrix $R_m$ of size $[D_Q, D_Q]$, and a
# key at position $n$ is multiplied by $R_n$ in the same way:
#
# $$q' = R_m\,q,\qquad k' = R_n\,k,\qquad R_n = \operatorname{diag}\big(R(n\,\omega_0), \dots, R(n\,\omega_{D_Q/2-1})\big)$$
#
# What happens to the score? The transpose of a rotation is the rotation back, $R_m^\top = R_{-m}$, and the angles of
# successive rotations add, $R_{-m} R_n = R_{n-m}$. Therefore
#
# $$\langle R_m\,q,\ R_n\,k\rangle = q^\top R_m^\top R_n\,k = \langle q,\ R_{n-m}\,k\rangle = \langle R_{m-n}\,q,\ k\rangle.$$
#
# This is the relative-position identity of RoPE. The score depends on the two contents, $q$ and $k$, and on the
# relative position $n - m$, and on nothing else. It is the same score whether we rotate both vectors, or rotate only
# the key by the relative position $n - m$, or rotate only the query by $m - n$, in the opposite direction. This holds
# for all matrices $W_Q$ and $W_K$; nothing has to be learned.
#
# In code nobody builds the matrix $R_n$, which is almost all zeros. The first version rotates one vector, with a loop
# over its pairs:


# %%
def rotated_loop(x, n, base=10000.0):
    """A vector x [D], rotated for position n; its pairs are features (2j, 2j + 1)."""
    D = len(x)
    return torch.cat([rotated(x[2 * j : 2 * j + 2], n * base ** (-2 * j / D)) for j in range(D // 2)])


# %% [markdown]
# We use it to check the identity on the query and the key of the token from the previous section. The first two pairs
# of positions have the same relative position, $-5$; the third pair has the relative position $5$:

# %% tags=["nbval-check-output"]
q, k = (word @ W["Q"]).cpu(), (word @ W["K"]).cpu()  # [D_Q] each
for m, n in ((9, 4), (105, 100), (2, 7)):
    both = rotated_loop(q, m) @ rotated_loop(k, n)
    key_only, query_only = q @ rotated_loop(k, n - m), rotated_loop(q, m - n) @ k
    print(f"m = {m:3}, n = {n:3}: both {both:6.2f}, the key only {key_only:6.2f}, the query only {query_only:6.2f}")

# %% [markdown]
# For all positions and pairs at once, RoPE is one multiplication of complex numbers. A pair $(x, y)$ is the complex
# number $x + iy$, and rotating it by $\varphi$ means multiplying it by $\cos\varphi + i\sin\varphi$, which
# `torch.polar` makes:


# %%
def rotary(X, positions, base=10000.0):
    """X [..., N, D], row n rotated for the position positions[n]; pairs (2j, 2j + 1)."""
    D = X.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, D, 2, device=X.device) / D)  # [N, D/2]
    pairs = torch.view_as_complex(X.unflatten(-1, (D // 2, 2)).contiguous())  # [..., N, D/2]
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)  # [..., N, D]


# %% [markdown]
# We repeat the experiment with the same token at all 16 positions, and with the same random matrices:

# %%
Q_16, K_16 = (word @ W["Q"]).expand(16, 64), (word @ W["K"]).expand(16, 64)  # [N, D_Q]
positions = torch.arange(16, device=DEVICE)  # [N]
Q_rotated, K_rotated = rotary(Q_16, positions), rotary(K_16, positions)  # [N, D_Q]
E_rotary = Q_rotated @ K_rotated.T / 8  # [N, N]

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
assert_close(Q_rotated[7].cpu(), rotated_loop(Q_16[7].cpu(), 7))
spreads = torch.stack([spread_at(E_rotary, d) for d in range(-15, 16)])  # [31]
print("largest spread of the scores at any distance:    ", difference(spreads, 0 * spreads))
print("largest change of a query's length:              ", difference(Q_rotated.norm(dim=-1), Q_16.norm(dim=-1)))
print("change of the query at position 0:               ", difference(Q_rotated[0], Q_16[0]))
E_shifted = rotary(Q_16, positions + 100) @ rotary(K_16, positions + 100).T / 8  # [16, 16]
print("change of the scores when positions start at 100:", difference(E_shifted, E_rotary))

# %% tags=["fold"]
# @title Draws Figure 8
figure, panels = plots.canvas(10.5, 4.2, 2)
names = ("sinusoidal encoding, added", "RoPE")
both = plots.array(torch.stack([E_sinusoidal, E_rotary]))
options = {"limits": (both.min(), both.max()), "bar": False, "x_label": "key at position n"}
for panel, E, name in zip(panels, both, names, strict=True):
    plots.field(E, title=name, y_label="query at position m", axes=panel, **options)
figure.colorbar(panels[0].images[0], ax=panels, label="score of query m with key n")
show(
    figure,
    "Scores of the same token with itself at sixteen positions, with the same random matrices. Left, with the sinusoidal "
    "encoding added: an irregular pattern. Right, with RoPE: stripes along the diagonals, each of one colour.",
)

# %% [markdown]
# **Figure 8.** Scores of one token with itself at 16 positions, with the same matrices and on the same colour scale.
# With the sinusoidal encoding added, scores of equal distance differ; with RoPE each diagonal has one value, whatever
# the matrices are.
#
# The printed lines also show that RoPE leaves the length of every query unchanged, and that at position 0 it changes
# nothing at all. If all positions are moved by 100, the scores stay the same, since every distance stays the same.
#
# The values are *not* rotated: a value says what a token passes on, not where the token is. RoPE is applied in every
# layer. A learned or sinusoidal encoding is added only once, to the input of the first layer; in a deep model the
# **residual connections**, which add the input of a layer to its output, carry the encoding to the layers above.
#
# **Two pairings.** RoFormer (the model of Su et al.), GPT-J and Meta's own code for Llama pair neighbours, features
# $(2j, 2j+1)$, as we did. GPT-NeoX and the `transformers` library's version of Llama pair features $(j, j + D_Q/2)$.
# Neither pairing is better. The two differ only in the order of the features: put all even features first, then all odd
# ones, and the first pairing becomes the second. But loading weights into code that uses the other pairing silently
# produces nonsense.

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
halves_first = torch.cat([torch.arange(0, 64, 2), torch.arange(1, 64, 2)]).to(DEVICE)  # [evens, odds]
angles = positions[:, None] * 10000 ** (-torch.arange(0, 64, 2, device=DEVICE) / 64)  # [16, 32]
x, y = Q_16[:, halves_first].chunk(2, dim=-1)  # [16, 32] each: features j and j + D/2
by_halves = torch.cat([x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()], dim=-1)
print("difference of the two pairings, features reordered:", difference(by_halves, Q_rotated[:, halves_first]))

# %% [markdown]
# ## Two tasks that need order
#
# What difference does this make to a model that is trained? Here are two tasks for a small model, a single
# self-attention layer followed by a linear layer. It reads a sequence of letters, one token each, and has to write a
# sequence of the same length:
#
# - **copy**: at each position the letter from three positions before (the first three positions have no target);
# - **reverse**: the sequence backwards, so that the target at position $n$ is the letter of position $N - 1 - n$.
#
# Predict before you look at the result: with no positional encoding, with a learned one, with a sinusoidal one and with
# RoPE, which of the tasks can the model learn?


# %%
LETTERS, WIDTH, TRAINED, TESTED, STEPS = 32, 64, 24, 64, 450


class Layer(nn.Module):
    """Letters, positions of one kind, self-attention, and a linear layer that gives logits."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.letters = nn.Embedding(LETTERS, WIDTH)
        self.table = nn.Embedding(TESTED, WIDTH)
        self.W_Q, self.W_K, self.W_V = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, LETTERS)

    def forward(self, letters):
        """Letters [B, N] give logits [B, N, LETTERS] and weights [B, N, N]."""
        positions = torch.arange(letters.shape[1], device=letters.device)  # [N]
        X = self.letters(letters)  # [B, N, D]
        if self.kind == "learned":
            X = X + self.table(positions)
        elif self.kind == "sinusoidal":
            X = X + sinusoidal(positions, WIDTH)
        Q, K, V = self.W_Q(X), self.W_K(X), self.W_V(X)  # [B, N, D] each
        if self.kind == "rotary":
            Q, K = rotary(Q, positions), rotary(K, positions)
        A = (Q @ K.mT / math.sqrt(WIDTH)).softmax(dim=-1)  # [B, N, N]
        return self.out(A @ V), A


TASKS = {
    "copy": lambda letters: F.pad(letters, (3, 0), value=-1)[:, :-3],  # −1: the first three have no target
    "reverse": lambda letters: letters.flip(1),
}


# %% tags=["fold"]
# @title Defines solved · A layer that was trained on rows of TRAINED letters
def solved(kind, task, seed=0):
    """A layer that was trained on rows of TRAINED letters."""

    def task_loss(layer, letters):
        logits, _ = layer(letters)
        return F.cross_entropy(logits.flatten(0, 1), TASKS[task](letters).flatten(), ignore_index=-1)

    torch.manual_seed(seed)
    layer = Layer(kind).to(DEVICE)
    drawn = torch.Generator().manual_seed(seed)
    rows = (torch.randint(LETTERS, (64, TRAINED), generator=drawn).to(DEVICE) for _ in range(STEPS))
    train(layer, rows, task_loss, steps=STEPS, rate=9e-3, what=f"{task}, {kind}")
    return layer


PAIRS = [(task, kind) for task in TASKS for kind in ("none", "learned", "sinusoidal", "rotary")]
stored_layers = nn.ModuleDict({f"{task}, {kind}": Layer(kind) for task, kind in PAIRS})
if stored_runs.full():
    stored_layers.update({f"{task}, {kind}": solved(kind, task) for task, kind in PAIRS})
    stored_weights.keep("05_self_attention.layers", stored_layers)
stored_weights.load("05_self_attention.layers", stored_layers).to(DEVICE)
layers = dict(zip(PAIRS, stored_layers.values()))


# %% [markdown]
# The models are trained on sequences of 24 random letters, for 450 steps each, and tested on new ones; their weights
# are stored with this lesson. Without positional encoding the model still knows *which* letters are in the sequence.
# Roughly the best it can do is to guess the most frequent of them everywhere. Among 24 random letters this letter
# occurs about three times, so the guess is right for about one position in eight (the dotted line in the figure), more
# often than a blind guess among the 32 letters.


# %% tags=["fold"]
# @title Draws Figure 9
@torch.no_grad()
def right(layer, task, length, rows=512):
    """For each position, the share of new rows in which the letter is right; [length], NaN where nothing is asked for."""
    drawn = torch.Generator().manual_seed(100)  # no layer has learned from these
    letters = torch.randint(LETTERS, (rows, length), generator=drawn).to(DEVICE)
    asked = TASKS[task](letters)  # [rows, length]
    found = (layer(letters)[0].argmax(dim=-1) == asked).float().mean(dim=0)  # [length]
    return found.masked_fill(asked[0] < 0, torch.nan).cpu()


drawn = torch.randint(LETTERS, (512, TRAINED), generator=torch.Generator().manual_seed(100))
blind = (
    F.one_hot(drawn, LETTERS).sum(dim=1).amax(dim=1).div(TRAINED).mean().item()
)  # the share of the most frequent letter
shares = {pair: right(layer, pair[0], TRAINED).nanmean().item() for pair, layer in layers.items()}
assert max(shares[task, "none"] for task in TASKS) < blind + 0.05
assert min(shares["copy", kind] for kind in ("learned", "sinusoidal", "rotary")) > 0.9
assert min(shares["reverse", kind] for kind in ("learned", "sinusoidal")) > 0.9 > 0.3 > shares["reverse", "rotary"]
by_position = right(layers["reverse", "rotary"], "reverse", TRAINED)  # [24]
assert by_position[[0, -1]].min() > 0.9 > 0.3 > by_position[1:-1].mean()
assert by_position[1:-1].max() < 0.4  # high at the two ends only

figure, (*panels, last) = plots.canvas(13.5, 4, 3)
for panel, task in zip(panels, TASKS, strict=True):
    kinds = [kind for where, kind in shares if where == task]
    values = [shares[task, kind] for kind in kinds]
    plots.bars(values, kinds, title=task, value_label="share of letters right", limits=(0, 1.15), axes=panel)
    panel.set_xlabel("positional encoding")
last.bar(range(TRAINED), plots.array(by_position), color=plots.BLUE, width=0.7)
last.set(title="reverse with RoPE, by position", xlabel="position n", ylabel="share of letters right", ylim=(0, 1.15))
last.set_xticks((0, 5, 10, 15, 20, 23))
for panel in (*panels, last):
    panel.set_yticks((0, 0.25, 0.5, 0.75, 1))
    guess = panel.axhline(blind, color=plots.BLACK, linestyle=":", linewidth=1.5)
name = "guess of a model that knows which letters occur, but not their order"
figure.legend([guess], [name], loc="outside lower center", frameon=False)
show(
    figure,
    "Three bar charts of the share of letters that are right. Copy: without positions the bar ends about at the line, the guess of "
    "a model that knows the letters; with each of the three kinds it reaches one. Reverse: without positions at the line again, with RoPE a little above "
    "it, with the learned and the sinusoidal encoding one. Right, the share of RoPE at each position of reverse: "
    f"{by_position[[0, -1]].mean():.2f} at the first and the last, {by_position[1:-1].mean():.2f} in the mean of the 22 positions between.",
)

# %% [markdown]
# **Figure 9.** Share of letters that each model gets right, on sequences of the training length. Every kind of
# positional encoding solves *copy*; on *reverse* RoPE is only a little better than the guess. Right, the share of RoPE
# on *reverse* at each position: it is high at the two ends only.
#
# Did you expect RoPE to fail at *reverse*? Apart from the two letters, a rotary score depends only on the distance from
# query to key, not on where either of them is. *Three positions before* is a distance, but *the opposite position* is
# not: it is 23 steps ahead of position 0, and 23 steps behind position 23. The guarantee that only the distance counts
# is also a limitation. And how does a layer with RoPE look three positions back? Suppose that queries and keys have a
# part that is the same for all letters, such as their biases, and that for these parts $q = R_{-3}\,k$. Then $\langle
# q, R_{n-m}\,k\rangle$ is largest at $n - m = -3$: there the query and the rotated key point in the same direction in
# every pair of features.
#
# Why, then, is the bar of RoPE above the dotted line at all? The right panel shows where its right letters are: at the
# two ends. There the opposite position is also the farthest, at distance 23 from position 0, at distance $-23$ from
# position 23. A model that knows only distances can still find *the farthest key*: if its scores grow with the distance
# in both directions, the farthest key that exists gets most of the weight. In the middle this rule does not help: from
# position 10 the farthest key is at position 23, but the letter wanted is at 13. Relative positions thus reveal where
# the sequence begins and ends, and a deep model can use this to learn more about the positions themselves. At the 22
# positions between the ends, our trained layer does hardly better than guessing.
#
# **The published comparison.** Vaswani et al. compared a learned table with their sinusoidal encoding in translation
# from English to German (their table 3, row E). The BLEU scores are 25.7 and 25.8, nearly the same, and in our
# miniature, a far easier task for a far smaller model, the two are equally good, too. In both comparisons, however,
# the test sequences are about as long as those of training. Vaswani et al. chose the sinusoidal encoding because it
# "may allow the model to extrapolate to sequence lengths longer than the ones encountered during training". If the
# longest sentence of training had 24 tokens, what happens with longer ones?

# %% [markdown]
# ## Length extrapolation: past the training length
#
# All models were trained on sequences of 24 letters. Now we let them copy sequences of 64. The learned table has rows
# for all 64 positions, but those from 24 on have never been trained. Predict again: with which of the three encodings
# will the model still copy? A single training run may be luck, so we look at three stored runs for each kind of
# encoding, each from new random weights and on new sequences.

# %% tags=["fold"]
# @title Draws Figure 10
SEEDS = (0, 1, 2)
KINDS = ("learned", "sinusoidal", "rotary")


@torch.no_grad()
def looked_into(copiers):
    """Where position 30 attends in the weakest rotary run, and for each run the most that a pair can add to a score."""
    rows = torch.randint(LETTERS, (256, TESTED), generator=torch.Generator().manual_seed(101)).to(DEVICE)
    worst = min(copiers, key=lambda layer: right(layer, "copy", TESTED)[TRAINED:].mean())
    strength = []
    for layer in copiers:
        Q, K = (project(layer.letters.weight).unflatten(-1, (-1, 2)).norm(dim=-1) for project in (layer.W_Q, layer.W_K))
        strength.append((Q.mean(dim=0) * K.mean(dim=0) / 8)[:8].tolist())  # [8], the fastest pairs first
    return {"weights_30": worst(rows)[1].mean(dim=0)[30].tolist(), "strength": strength}


if stored_runs.full():
    began = time.perf_counter()
    copiers = {kind: [solved(kind, "copy", seed) for seed in SEEDS] for kind in KINDS}
    results = {kind: [right(layer, "copy", TESTED)[3:].tolist() for layer in copiers[kind]] for kind in KINDS}
    more = [solved("rotary", "copy", seed) for seed in range(3, 9)]
    results["nine"] = [right(layer, "copy", TESTED)[TRAINED:].mean().item() for layer in copiers["rotary"] + more]
    results["trained"] = [right(layer, "copy", TRAINED).nanmean().item() for layer in copiers["rotary"]]
    results |= looked_into(copiers["rotary"])
    seconds = time.perf_counter() - began
    stored_runs.keep("05_self_attention", results, seed="0 to 8", seconds=seconds)
record = stored_runs.load("05_self_attention")
copying = {kind: torch.tensor(record["results"][kind]) for kind in KINDS}  # each [3, 61], the positions from 3 on
beyond = {kind: copying[kind][:, TRAINED - 3 :].mean(dim=1).tolist() for kind in KINDS}  # the means over 24 to 63

figure, panels = plots.canvas(11, 3.2, 3, sharey=True)
for panel, kind in zip(panels, KINDS, strict=True):
    lines = {f"run {seed + 1}": copying[kind][seed] for seed in SEEDS}
    styles = dict(zip(lines, ("-", "--", ":")))
    plots.curves(
        range(3, TESTED), lines, styles=styles, title=kind, x_label="position n", legend=kind == "learned", axes=panel
    )
    panel.axvline(TRAINED - 0.5, color=plots.GREY, linewidth=1)
    panel.set_ylim(-0.03, 1.08)
panels[0].set_ylabel("letters right")
means = "; ".join(f"{kind} {', '.join(f'{share:.2f}' for share in beyond[kind])}" for kind in KINDS)
show(
    figure,
    "Three panels with the share of right letters at each position of sequences of 64, three training runs in each. Beyond the "
    "line at 24 the learned curves are almost at zero and the sinusoidal ones low at most positions; two rotary curves "
    f"stay near one, the other lies clearly below, even before the line. The means over the positions from 24 on, run by run: {means}.",
)
print(stored_runs.how(record))
print("letters right at positions 24 to 63, mean of each run")
for kind in KINDS:
    print(f"{kind:>10}:", *(f"{share:.2f}" for share in beyond[kind]))
assert beyond["rotary"][1] == min(beyond["rotary"])  # run 2, as is said below
assert max(beyond["learned"]) < 0.1 and max(beyond["sinusoidal"]) < 0.5 and sorted(beyond["rotary"])[1] > 0.9

# %% [markdown]
# **Figure 10.** Copying sequences of 64 letters after training on 24 (grey line), three training runs of each kind.
#
# - **Learned**: the accuracy falls to $1/32 \approx 0.03$, that of a blind guess among the 32 letters. The rows of the
#   table from 24 on were never used in training, so their gradient was always zero; they still hold the random numbers
#   with which they were initialised.
# - **Sinusoidal**: the formula gives a vector for every position, and its entries stay bounded; yet the *layer* fails
#   at most positions. Its matrices do the right computation for the encodings that occurred in training, but nothing in
#   training made them do the same at position 40 as at position 10; here and there, at the peaks of the curves, they
#   still come close to it. In a longer sequence even a position that did occur can fail: in run 2 position 3 is almost
#   always wrong. A probable reason is that its query now meets far keys that training never showed it.
# - **Rotary**: the score of a query at position 50 with a key at position 47 is computed like that of a query at
#   position 5 with a key at position 2, so a trained layer can continue, provided that it also gives low scores to
#   distances that it never met. In a sequence of 64 letters even position 5 has keys up to 58 steps ahead; in training
#   no key was more than 23 steps away.
#
# Does this always work with RoPE? Nine stored training runs, the first three of them those of Figure 10, show how often
# it does:

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
print("RoPE, letters right after position 23:", *(f"{share:.2f}" for share in record["results"]["nine"]))

# %% [markdown]
# In eight of the nine runs, more than nine letters in ten are right beyond the training length; run 2 of Figure 10 gets
# only half of them right, and makes mistakes before position 24, too, although in sequences of 24 it copies practically
# every letter. "Going further" below finds out why.
#
# **Larger models.** So far we have only copied, and with a single layer. Press et al. (2022) trained language models on
# texts of one length and tested them on longer ones. With the sinusoidal encoding the models became worse as soon as
# the texts were a few dozen tokens longer than in training. With RoPE they became worse later, and with T5's bias later
# still. To use a rotary model far beyond its training length, one trains it a little more on long texts, either with a
# larger base, so that all its pairs but the first turn more slowly (Rozière et al., 2023), or with all positions
# divided by the same number (Chen et al., 2023).
#
# **A penalty for distance.** The method of Press et al., **ALiBi** (attention with linear biases), adds nothing to the
# input and has no parameters to learn. It lowers each score by an amount that grows with the distance of the key. In
# the paper a query sees only the keys up to its own position; we write the symmetric form, for both directions:
#
# $$e'_{mn} = e_{mn} - s_h\,|n - m|,\qquad s_h = 2^{-8h/H},\qquad h = 1, \dots, H$$
#
# Here $h$ counts the $H$ attention heads of a layer (lesson 06), each of which has its own fixed slope $s_h$. At
# distances beyond the training length the penalty simply goes on growing. Their model with 1.3 billion parameters,
# trained on texts of 1,024 tokens, predicted texts of 2,048 tokens as well as a sinusoidal model that had been trained
# on that length. The stretch exercise of the assignment asks for ALiBi.
#
# **Back to the animal.** Self-attention lets *it* receive something of *animal*, in one layer and at any distance, and
# a positional encoding lets the layer use the order of the words. Which tokens *it* attends to has to be learned.
# Lesson 06 trains layers on such sentences, and shows why a single row of weights is not enough for *it*.

# %% [markdown]
# ## Going further: why a training run with RoPE can fail on long sequences
#
# You may skip this section; later lessons do not need it. We look into a run that was chosen because it is the least
# accurate of our three rotary runs beyond the training length.

# %% tags=["fold"]
# @title Draws Figure 11
worst = min(SEEDS, key=lambda seed: beyond["rotary"][seed])
weights_30 = torch.tensor(record["results"]["weights_30"])  # [64], the weights of position 30
strength = {f"run {seed + 1}": record["results"]["strength"][seed] for seed in SEEDS}  # each [8]

figure, (left, right_) = plots.canvas(11, 3, 2, gridspec_kw={"width_ratios": [1.7, 1]})
left.bar(range(-30, 34), plots.array(weights_30), color=plots.BLUE)
left.set(title=f"run {worst + 1}: where position 30 attends", ylabel="mean weight", xticks=range(-28, 34, 5))
left.set_xlabel("distance n − m of the key")
plots.curves(
    range(8), strength, title="which frequencies the scores use", x_label="pair j, the fastest first", axes=right_
)
right_.set_ylabel("most it can add")
peaks = sorted((key - 30, weight) for weight, key in zip(*(part.tolist() for part in weights_30.topk(3))))
peaks = ", ".join(f"{distance} ({weight:.2f})" for distance, weight in peaks)
show(
    figure,
    f"Left, the mean weights of position 30 over the distance; the three largest, with their distances: {peaks}. "
    "Right, how much each of the eight fastest pairs can add to a score, for the three training runs: "
    + "; ".join(f"{name} {', '.join(f'{value:.1f}' for value in values)}" for name, values in strength.items())
    + ".",
)
print(f"run {worst + 1}, letters right in sequences of 24: {record['results']['trained'][worst]:.2f}")
print(f"run {worst + 1}, letters right after position 23: {beyond['rotary'][worst]:.2f}")
assert record["results"]["trained"][worst] > 0.99
print("position 30 attends most to the distances", peaks)

# %% [markdown]
# **Figure 11.** Left, the mean attention weights of position 30 over the distance of the key, in the rotary run with
# the lowest accuracy on long sequences. Right, how much each of the eight fastest pairs can contribute to a score, in
# all three runs.
#
# <details><summary>Going further: distances that look alike</summary>
#
# Position 30 should attend to distance $-3$ alone. The printed line names the three distances to which it attends most.
# Large weights at $-28$ and $22$ are the fault that we are looking for: both distances differ from $-3$ by 25.
#
# The right panel shows where such weights come from. The height of a curve at $j$ is the mean length of pair $j$ in the
# queries of all letters, times its mean length in the keys of all letters, divided by $\sqrt{D_Q}$. It is the most that
# pair $j$ can contribute to a score, for a typical pair of letters. Of the 32 pairs the eight fastest are drawn. The
# curve of run 2 is high only at $j = 0$ and $j = 1$: of the pairs drawn, this run relies almost entirely on the two
# fastest, while the other two also use slower ones. But 25 steps are nearly $4 \cdot 2\pi$, four full turns of the
# first pair, and nearly three turns of the second. At distances $-28$ and $22$ these two pairs are therefore almost
# where they are at distance $-3$, and the scores are almost as large. Slower pairs would tell these distances apart.
#
# Training could not correct this, because its sequences were too short: a key 28 positions back did not exist, and a
# key 22 positions ahead existed only for positions without a target. Rotary scores do not depend on the position
# itself, but a distance that never occurred in training can look like one that did.
#
# The explanation makes a prediction, which you can compare with the curve of run 2 in Figure 10. The accuracy
# should drop at position 28, the first one with a key at distance $-28$, and rise at position 42, the first one without
# a key at distance $22$. Two smaller steps belong to distances that differ from $-3$ by twice 25: a rise at position
# 17, the first one without a key at distance $47$, and a drop at position 53, the first one with a key at distance
# $-53$.
#
# </details>

# %% [markdown]
# ## Summary
#
# | what | formula | shape |
# |---|---|---|
# | queries, keys, values, all from $X$ | $Q = XW_Q$, $K = XW_K$, $V = XW_V$ | $[N, D_Q]$, $[N, D_Q]$, $[N, D_V]$ |
# | self-attention | $A = \operatorname{softmax}(QK^\top/\sqrt{D_Q})$, $Y = AV$ | $[N, N]$, $[N, D_V]$ |
# | permutation equivariance | $F(\sigma X) = \sigma F(X)$ for each order $\sigma$ | |
# | sinusoidal encoding | $p_{n,2i} = \sin n\omega_i$, $p_{n,2i+1} = \cos n\omega_i$, $\omega_i = 10000^{-2i/D}$ | $[N, D]$, added to $X$ |
# | RoPE | $\langle R_m q, R_n k\rangle = \langle q, R_{n-m} k\rangle = \langle R_{m-n} q, k\rangle$ | those of $Q$ and $K$ |
# | biases of T5, of ALiBi | $e_{mn} + b_{n-m}$, $e_{mn} - s_h\,\lvert n - m\rvert$ | $[N, N]$ in each head, added to the scores |
#
# | | learned table | sinusoidal | rotary (RoPE) |
# |---|---|---|---|
# | what is done | added to $X$, once | added to $X$, once | rotates $Q$ and $K$, in each layer |
# | parameters | $N_\text{max} \cdot D$ | none | none |
# | the position itself (*reverse*) | known | known | our single layer found only the two ends |
# | the distance (*copy*) | must be learned for each pair of positions | can be learned | built in |
# | beyond the training length | no row, or an untrained one | computable, but not met in training | computable; only longer distances are new |
#
# ```python
# Y = F.scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V)  # [N, D_V], blind to the order of the rows
# X = X + nn.Embedding(longest, D)(torch.arange(N))  # a learned positional encoding; the other two you write yourself
# ```
#
# The picture to remember is Figure 1: a line from every token to every output. None of these lines depends on where a
# token is, so the layer must be given the positions.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> What is the output of self-attention for a sequence of a single vector?</summary>
#
# The output is the vector's own value, $x W_V$, since the softmax over one score is 1, whatever the score is.
#
# </details>
#
# <details><summary><b>2.</b> A sentence has the same word at all N positions, and no positional encoding. What are the
# attention weights?</summary>
#
# All weights are $1/N$, since all scores are the same. The output at each position is the value of that word, whatever
# $N$ is. In such a sentence the layer cannot even tell how often the word occurs. Beside other words it could, since
# the weights of its occurrences add up.
#
# </details>
#
# <details><summary><b>3.</b> The same vector is added to every position's encoding. Do learned positional encodings
# still work?</summary>
#
# Yes. Training can subtract that vector from each row of the token embedding, and every sum $x + p$ is what it was
# before. What counts are the differences between the encodings.
#
# </details>
#
# <details><summary><b>4.</b> Suppose that the encoding keeps only the sine of each pair. Name two positions that the
# first clock can hardly tell apart any more.</summary>
#
# Strictly speaking, no two whole numbers $n$ have the same $\sin n$, but the values at 0 and 22 hardly differ:
# $\sin 22 \approx -0.009$, as 22 is nearly $7\pi$. The cosine tells them apart: it is 1 at 0 and almost $-1$ at 22.
#
# </details>
#
# <details><summary><b>5.</b> RoPE rotates queries and keys. What would change if it rotated only the queries?</summary>
#
# The score would be $\langle R_m\,q, k\rangle$. It would depend on $m$, the position of the query, and not on the
# position of the key. If the keys of a query were reordered, each key would keep the weight that it had before.
#
# </details>
#
# <details><summary><b>6.</b> Why does RoPE not rotate the values as well?</summary>
#
# Values are mixed, not compared. Only in a dot product do two rotations combine into their difference. A mixture of
# rotated values would depend on the absolute positions of the keys, and the layer does not rotate it back.
#
# </details>
#
# <details><summary><b>7.</b> In Figure 3, with the words in the order of Figure 2 and with positional encoding: are the outputs of the₁
# and the₂ still the same?</summary>
#
# No. Their vectors are $x + p_0$ and $x + p_3$, so their queries differ, and with them the weights and the outputs.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **Equivariant is not invariant.** The outputs are reordered along with the inputs.
# - **Positions start at 0.** So does $i$: with $i$ from 1 the highest frequency is missing.
# - **$2i/D$, not $i/D$.** $i$ counts pairs. Both features of a pair have the same frequency.
# - **The pairing.** Sines and cosines may alternate, or all sines may come first; RoPE may pair neighbours or halves.
#   All of these are in use, and weights work only with the pairing they were trained with.
# - **RoPE rotates queries and keys**, after their matrices and before the scores; it rotates neither $X$ nor the
#   values.
# - **Rounding.** Compute angles in single precision at least. Half precision cannot tell all whole numbers above 2,048
#   apart, and bfloat16 not all of those above 256.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *"Attention is permutation invariant."* This holds for keys and values, with a fixed query. Self-attention is
#   equivariant.
# - *$\omega_k = 10000^{-2k/d}$ with $k$ from 1.* This drops the frequency 1; with $k$ from 1 the exponent must be
#   $-2(k-1)/d$.
# - *Rows named $i = 0$, $i = 1$, … in a table of the encoding.* There $i$ counts features; in the formula it counts
#   pairs.
# - *Positions concatenated.* This is possible, and drawn so on some slides; the Transformer adds.
#
# </details>

# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/05_self_attention/05_self_attention.ipynb).
# - **Read on**: [lesson 06](06_multi_head.ipynb) gives each token several ways to attend at once.
# - **Look up**: the [glossary](../docs/glossary.md).

# %% [markdown]
# ## References
#
# - A. Vaswani et al. (2017). Attention is all you need. NeurIPS. arXiv:1706.03762. *Section 3.5: the sinusoidal
#   encoding; table 3, row E: the published figure.*
# - J. Gehring, M. Auli, D. Grangier, D. Yarats, Y. N. Dauphin (2017). Convolutional sequence to sequence learning.
#   ICML. arXiv:1705.03122. *A learned table of positions.*
# - P. Shaw, J. Uszkoreit, A. Vaswani (2018). Self-attention with relative position representations. NAACL.
#   arXiv:1803.02155. *Relative instead of absolute positions.*
# - C. Raffel et al. (2020). Exploring the limits of transfer learning with a unified text-to-text Transformer. Journal
#   of Machine Learning Research 21. arXiv:1910.10683. *Section 2.1: T5's bias for each distance.*
# - J. Su, Y. Lu, S. Pan, A. Murtadha, B. Wen, Y. Liu (2021). RoFormer: enhanced Transformer with rotary position
#   embedding. arXiv:2104.09864.
# - O. Press, N. A. Smith, M. Lewis (2022). Train short, test long: attention with linear biases enables input length
#   extrapolation. ICLR. arXiv:2108.12409. *Section 2: how other encodings extrapolate; section 3: ALiBi.*
# - S. Chen, S. Wong, L. Chen, Y. Tian (2023). Extending context window of large language models via positional
#   interpolation. arXiv:2306.15595. *Positions divided by a number.*
# - B. Rozière et al. (2023). Code Llama: open foundation models for code. arXiv:2308.12950. *A larger base for long
#   texts.*
# - J. Lee, Y. Lee, J. Kim, A. R. Kosiorek, S. Choi, Y. W. Teh (2019). Set Transformer. ICML. arXiv:1810.00825. *Data
#   that are sets, for which equivariance is wanted.*
