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
# **Time** about 65 minutes to read; the cells run in about 40 seconds on two CPU cores.

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
import math
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from utils.device import device
from utils.figures import attention, diagrams, plots
from utils.figures.attention import Matrix
from utils.figures.explorers import Order, Slider, Switch, explore
from utils.figures.plots import show
from utils.measures import stored_runs
from utils.models.training import train

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
torch.manual_seed(6)  # for the embedding table below
generator = torch.Generator().manual_seed(5)


# %% tags=["fold"]
def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


# %% [markdown]
# ## Self-attention: every token attends to every token
#
# *"The animal didn't cross the street because it was too tired."* What does *it* refer to? To the animal. But if the
# last word were *wide*, it would be the street. What *it* means depends on the other words of the same sentence.
# (Lesson 06 returns to both sentences, with a model that is trained to tell them apart.)
#
# A model reads a sentence as a sequence of **tokens**, the units into which the text has been cut; in this lesson each
# word is one token. The number of a token in the sequence, counted from the beginning, is its **position**.
#
# In lesson 04 the queries came from one sequence, and the keys and values from another. What if all of them come from
# the same sequence? Then each token attends to all tokens of its own sentence, itself among them, and receives a
# mixture of their values: the vector for *it* comes to contain something of *animal*. This is **self-attention**.

# %% tags=["fold"]
sentence = "The animal didn't cross the street because it was too tired".split()
show(
    attention.all_to_all(sentence, sentence.index("it")),
    "The eleven tokens of the sentence about the animal as a row of boxes, and eleven outputs in a row above them. A line "
    "runs from every token to every output; the eleven lines that end at the output of the token it are drawn in blue.",
)

# %% [markdown]
# **Figure 1.** Self-attention connects each output with every token of the sequence. Along the blue lines the output at
# *it* receives values from all tokens, in one step and at any distance; the attention weights decide how much passes
# along each line.
#
# Self-attention needs no new operation, only one input in place of two. Queries, keys and values are all computed from
# $X\,[N, D]$:
#
# $$Q = X W_Q\ [N, D_Q],\qquad K = X W_K\ [N, D_Q],\qquad V = X W_V\ [N, D_V]$$
#
# $$A = \operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{D_Q}}\right)\ [N, N],\qquad Y = AV\ [N, D_V]$$
#
# The **receptive field** of an output, the set of inputs that it depends on, is therefore the whole sequence, after a
# single layer. A convolution of width 3 needs many layers to connect the two ends of a long sentence.
#
# Why three matrices? With $Q = K = X$ every token would attend mostly to itself, since $x \cdot x$ is usually the
# largest of its scores (question 5 of lesson 04). With $W_Q$ and $W_K$, what a token asks for can differ from what it
# offers to the queries of others. With $W_V$, what it passes on can differ from both.
#
# **Two tokens, step by step.** Lesson 04 borrowed two scores from a well-known example, the two tokens *Thinking
# Machines* (Alammar, 2018). Here is the whole computation. The rows of $X$ are the embeddings of the two tokens, with
# $D = 4$ features. As in the example, queries and keys have $D_Q = 64$ features; we let the values have $D_V = 3$. The
# example gives the two scores of *Thinking*, 112 and 96, but not the vectors behind them. So our embeddings are made
# up, and the entries of $W_Q$ and $W_K$ are drawn from $-1$, $0$ and $1$, with a seed that gives exactly these two
# scores.
#
# The first step multiplies the embeddings by the three matrices:

# %% tags=["fold"]
tokens = ["Thinking", "Machines"]
X = torch.tensor([[3.0, 1.0, 0.0, 2.0], [1.0, 2.0, 3.0, 0.0]])  # [N, D] = [2, 4]
drawn = torch.Generator().manual_seed(2941671)  # gives the scores of the example
W_Q = torch.randint(-1, 2, (4, 64), generator=drawn).float()  # [D, D_Q]
W_K = torch.randint(-1, 2, (4, 64), generator=drawn).float()  # [D, D_Q]
W_V = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, -1.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # [D, D_V] = [4, 3]

# %%
Q, K, V = X @ W_Q, X @ W_K, X @ W_V  # [N, D_Q], [N, D_Q], [N, D_V]

# %% tags=["fold"]
left = Matrix("$X$", X, "$[N, D] = [2, 4]$", plots.DATA, tokens)
lines = []
for name, matrix, product, colour, width in (
    ("Q", W_Q, Q, plots.QUERY, "D_Q"),
    ("K", W_K, K, plots.KEYS, "D_Q"),
    ("V", W_V, V, plots.VALUES, "D_V"),
):
    factor = Matrix(f"$W_{name}$", matrix, f"$[D, {width}] = {[*matrix.shape]}$", colour)
    result = Matrix(f"${name}$", product, f"$[N, {width}] = {[*product.shape]}$", colour)
    lines.append([left, "×", factor, "=", result])
show(
    attention.equations(lines),
    "Three products of matrices. X has two rows, Thinking and Machines, and four columns. Times W_Q, four by 64, it gives "
    "the queries Q, two by 64; times W_K, four by 64, the keys K, two by 64; times W_V, four by three, the values V, two "
    "by three, with the rows 3, 1, 4 and -2, 5, -1.",
)

# %% [markdown]
# **Figure 2.** From embeddings to queries, keys and values. The larger a number, the darker its cell; the matrices with
# 64 columns are drawn without numbers. The first row of each product belongs to *Thinking*, the second one to
# *Machines*.
#
# The second step compares each query with each key, divides by $\sqrt{64} = 8$, takes the softmax of each row, and
# mixes the values:

# %%
products = Q @ K.T  # [N, D_Q] @ [D_Q, N] -> [N, N], the scores before the division
E = products / math.sqrt(64)  # [N, N]
A = E.softmax(dim=-1)  # [N, N], each row sums to 1
Y = A @ V  # [N, N] @ [N, D_V] -> [N, D_V]

# %% tags=["fold"]
assert products.tolist() == [[112, 96], [106, 113]] and E[0].tolist() == [14, 12]
assert [round(weight, 2) for weight in A[0].tolist()] == [0.88, 0.12] and round(Y[0, 0].item(), 2) == 2.40
show(
    attention.equations(
        [
            [
                Matrix("$Q$", Q, "$[N, D_Q] = [2, 64]$", plots.QUERY, tokens),
                "×",
                Matrix("$K^\\top$", K.T, "$[D_Q, N] = [64, 2]$", plots.KEYS),
                "=",
                Matrix("$QK^\\top$", products, "$[N, N] = [2, 2]$", plots.SCORES, tokens, columns=tokens),
            ],
            [
                Matrix("$E = QK^\\top/\\sqrt{64}$", E, "$[N, N]$", plots.SCORES, tokens, ".5g", tokens),
                "softmax →",
                Matrix("$A$", A, "$[N, N]$", plots.WEIGHTS, numbers=".2f", columns=tokens),
                "×",
                Matrix("$V$", V, "$[N, D_V]$", plots.VALUES),
                "=",
                Matrix("$Y$", Y, "$[N, D_V] = [2, 3]$", plots.OUTPUT, tokens, ".2f"),
            ],
        ]
    ),
    "Two lines of matrices. Q, two by 64, times K transposed, 64 by two, gives the products 112 and 96 in the first row, 106 "
    "and 113 in the second. Divided by 8 they are 14 and 12, 13.25 and 14.125; the softmax of each row gives the weights "
    "0.88 and 0.12, 0.29 and 0.71; times V, two by three, they give the outputs Y, two by three.",
)

# %% [markdown]
# **Figure 3.** From queries, keys and values to outputs. The first row of scores and weights is the published one: 112
# and 96, divided by 8, are 14 and 12, and their softmax is 0.88 and 0.12. (In scores and weights, a row belongs to the
# query of a token and a column to the key of a token. In each matrix the smallest number has a white cell.)
#
# You can check the first output by hand. Its first entry is $0.88 \cdot 3 + 0.12 \cdot (-2) = 2.40$: the output of
# *Thinking* is mostly its own value, with a little of the value of *Machines*. All shapes follow one rule: $N$ rows in,
# $N$ rows out. Only scores and weights are $[N, N]$, with one number for each pair of tokens.
#
# **A sentence of five tokens**, with vectors and matrices drawn at random, serves as the example from here on. One word
# occurs twice: $\textit{the}_1$ and $\textit{the}_2$ have the same vector.

# %%
words = ["the₁", "dog", "bites", "the₂", "man"]
X = normal(5, 6)  # [N, D]
X[3] = X[0]  # the same word, the same vector
N, D = X.shape
D_Q, D_V = 4, 3
W_Q, W_K, W_V = normal(D, D_Q) / 2, normal(D, D_Q) / 2, normal(D, D_V) / 2

# %% [markdown]
# As in lesson 04, we compute the output in three ways: with loops for a single query, with matrices for all queries,
# and with PyTorch's own function. In all formulas and code of this lesson, $m$ is the position of the query and $n$ the
# position of the key.

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
show(
    diagrams.attention_layer((X @ W_Q) @ (X @ W_K).T / math.sqrt(D_Q), A, own=True),
    "Self-attention with the numbers just computed. The five vectors X stand at the left and at the top: at the left they "
    "become queries through W_Q, at the top keys through W_K and values through W_V. Scores and weights are five by five.",
)

# %% [markdown]
# **Figure 4.** Self-attention on the five tokens. The same $X$ enters twice, as the source of the queries and as the
# source of the keys and values. Compare rows 1 and 4, which belong to the two occurrences of *the*.
#
# The matrix of attention weights is square: row $m$ holds the weights with which token $m$ attends, and column $n$
# belongs to the token $n$ that is attended to. (Code counts rows from 0; the figures so far, and the text about them,
# count from 1. As soon as we come to positional encodings, the figures, too, count positions from 0.) The scores are
# not symmetric: the score of the query of *man* with the key of *dog* (row 5, column 2) is about twice as large as the
# score of the query of *dog* with the key of *man* (row 2, column 5).
#
# Rows 1 and 4, those of $\textit{the}_1$ and $\textit{the}_2$, are the same. Is that what we want? One of the two
# belongs to the dog, the other to the man.

# %% [markdown]
# ## Permutation equivariance: shuffle the words
#
# *Dog bites man* is no news; *man bites dog* is. Does self-attention see the difference? We put the words into another
# order $\sigma$ and follow the computation line by line. The table below gives the largest difference between each
# quantity of the new sentence and the same quantity of the first sentence. In the column "as it stands", the rows of
# the first sentence keep their order; in the column "reordered", they have been put into the new order as well. (Scores
# and weights belong to pairs of tokens, so their columns are reordered too.)

# %%
order = torch.tensor([3, 4, 2, 0, 1], device=DEVICE)  # the man bites the dog
X_new = X[order]  # [N, D], row n is what row order[n] was
Y_new, A_new = self_attention(X_new)  # [N, D_V], [N, N]


# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
def difference(one, other):
    """The largest difference of two tensors, in words where it is nothing but rounding."""
    largest = (one - other).abs().max().item()
    return "below 1e-5" if largest < 1e-5 else f"{largest:.2f}"


E, E_new = ((rows @ W_Q) @ (rows @ W_K).T / math.sqrt(D_Q) for rows in (X, X_new))  # [N, N] both
print("largest difference   as it stands   reordered")
for name, W in (("queries", W_Q), ("keys", W_K), ("values", W_V)):
    print(f"{name:<18}   {difference(X_new @ W, X @ W):<12}   {difference(X_new @ W, (X @ W)[order])}")
print(f"{'scores E':<18}   {difference(E_new, E):<12}   {difference(E_new, E[order][:, order])}")
print(f"{'weights A':<18}   {difference(A_new, A):<12}   {difference(A_new, A[order][:, order])}")
print(f"{'outputs Y':<18}   {difference(Y_new, Y):<12}   {difference(Y_new, Y[order])}")

# %% [markdown]
# In the last column nothing but rounding is left: at each step the rows are the same as before, only in the new order.
# The softmax runs over a row whose entries have merely been reordered, and the sum over the values does not depend on
# the order of its terms. Call the layer $F$, and let $\sigma X$ be $X$ with its rows in the order $\sigma$. Then for
# each order
#
# $$F(\sigma X) = \sigma F(X).$$
#
# Self-attention is **permutation equivariant**: if the rows of the input are reordered, the rows of the output are
# reordered in the same way, and nothing else changes. (*Invariant* would mean that the output does not change at all.
# Lesson 04 found this for a single query when the *data vectors* are reordered. Here the queries are reordered too.)
#
# For our sentence this means: the output for *dog* is the same, up to rounding, whether the dog bites or is bitten. The
# layer uses *which* tokens are in the sentence, but not *where* they stand. Self-attention works on a set of vectors
# (in which some may occur twice), not on a sequence.
#
# **Try it.** Drag the words into another order. Then switch on the positional encoding, which the next sections
# explain, and drag again. The line below the picture says by how much any word's output differs from its output in the
# first order. (Removing a word is not the same as moving it: the other tokens then attend to one token fewer, and their
# outputs do change.)


# %% tags=["fold"]
def sinusoidal(positions, D, base=10000.0):
    """Positions as vectors [N, D]; the section "Sinusoidal positional encoding" explains them."""
    angles = positions[:, None] / base ** (torch.arange(0, D, 2, device=positions.device) / D)  # [N, D/2]
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # [N, D]


def attended(order, encoded):
    rows = torch.tensor([words.index(word) for word in order], device=DEVICE)
    chosen = X[rows]  # [N, D]
    if encoded:
        chosen = chosen + sinusoidal(torch.arange(len(order), device=DEVICE), D)
    return self_attention(chosen)


def reorder(order, encoded):
    Y, A = attended(order, encoded)
    figure, (left, right) = plots.canvas(10.5, 3.6, 2, gridspec_kw={"width_ratios": [1.5, 1]})
    plots.heat_map(A, order, order, title="attention weights A", row_label="query", column_label="key", axes=left)
    features = [f"$Y_{{:,{d + 1}}}$" for d in range(D_V)]
    plots.heat_map(Y, order, features, title="outputs Y", limits=(-2, 2), axes=right)
    return figure


def say_reorder(order, encoded):
    first = dict(zip(words, attended(words, encoded)[0]))
    now = dict(zip(order, attended(order, encoded)[0]))
    gap = max((now[word] - first[word]).abs().max().item() for word in order)
    without = ", with a word taken away" if len(order) < len(words) else ""
    moved = "is what it was" if gap < 1e-5 else f"differs by up to {gap:.2f} from what it was in the first order"
    kind = "with positional encoding" if encoded else "without positional encoding"
    return f"{' '.join(order)}, {kind}{without}: the output of each word {moved}."


explore(
    reorder,
    alt=say_reorder,
    order=Order("drag the words (the small x takes one away)", words),
    encoded=Switch("add the positional encoding", False),
)

# %% [markdown]
# **Figure 5.** Attention weights and outputs of the sentence in the chosen order. Without positional encoding, each
# word keeps its output wherever it stands, and its weights are only reordered; with the encoding, the outputs depend on
# the positions.
#
# So the layer must be **given** the order. Something has to enter its input, or its scores, that says where each token
# stands: a **positional encoding**.

# %% [markdown]
# ## What a positional encoding should be
#
# The first idea is to give position $n$ a vector $p_n$ of its own and to add it to the vector of the token there:
# $\tilde x_n = x_n + p_n$. (One can also concatenate the two. Addition is then a special case, since the matrix that is
# applied to $[x, p]$ can add the two parts; but the vectors get wider. Adding is the usual choice.) What should the
# vectors $p_n$ be like? Think about it before you read on.
#
# - Each position has **its own** vector, different from all others, and always the same one.
# - The entries are **bounded**, so that the vector of position 5,000 does not drown the vector of the token.
# - A step from $n$ to $n + 1$ means **the same** everywhere: at the beginning of a sentence and at its end, in a short
#   sentence and in a long one.
# - There is no **largest** position: sentences longer than those in training have encodings, too.
#
# Which vectors have these properties? The number $n$ itself will not do, since it is not bounded. The fraction $n/N$ is
# bounded, but a step from one position to the next then becomes smaller as the sentence becomes longer. What about the
# binary digits of $n$? Each position has its own digits, and all of them are 0 or 1:

# %% tags=["fold"]
counted = torch.tensor([[n >> digit & 1 for digit in range(4)] for n in range(16)])  # [16, 4], the lowest digit first
figure, (axes,) = plots.canvas(8, 2.9)
digits, numbers = ["ones", "twos", "fours", "eights"], [str(n) for n in range(16)]
title = "positions in binary digits"
plots.heat_map(counted.T, digits, numbers, title=title, numbers=".0f", column_label="position n", axes=axes)
show(
    figure,
    "The binary digits of 0 to 15. The digit of the ones changes at each step, that of the twos at every second one, that "
    "of the fours at every fourth, that of the eights once.",
)

# %% [markdown]
# **Figure 6.** The positions 0 to 15 in binary digits, one column for each position. Each digit changes in a regular
# rhythm, half as fast as the digit in the row above it.
#
# The digits jump, however. From 7 to 8 all four change, from 8 to 9 only one, so that neighbouring positions are
# sometimes close together and sometimes far apart. If we keep the rhythm but replace the jumps by smooth waves, we
# obtain the sinusoidal encoding below. Before that, we look at a simpler way, which leaves the choice of the vectors
# to training.

# %% [markdown]
# ## Learned positional encoding: a table
#
# Let training find the vectors. A **learned positional encoding** is an embedding table with one row for each position,
# just as the token embedding has one row for each token of the vocabulary. Then $p_n$ is row $n$.

# %%
LONGEST = 8
table = nn.Embedding(LONGEST, D, device=DEVICE)  # LONGEST · D parameters
positions = torch.arange(N, device=DEVICE)  # [N]: 0, 1, 2, …
X_encoded = X + table(positions)  # [N, D]

# %% tags=["fold"]
print("largest difference between the outputs of the₁ and the₂")
for name, rows in (("without positions:", X), ("with positions:   ", X_encoded)):
    outputs = self_attention(rows)[0]  # [N, D_V]
    print(name, difference(outputs[0], outputs[3]))

# %% [markdown]
# The two occurrences of *the* no longer have the same output. The table costs $N \cdot D$ parameters for $N$ positions.
# The language model BERT has a table of 512 rows, GPT-2 one of 1,024 (Gehring et al., 2017, had used one before).
# Training can give the vectors every property on our list but the last: a table has an end. What happens beyond it? We
# ask a table with eight rows for the vectors of nine positions:

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
try:
    F.embedding(torch.arange(LONGEST + 1), table.weight.cpu())  # what nn.Embedding does
except IndexError as error:
    print("IndexError:", error)

# %% [markdown]
# This message comes from deep inside the model, and it says neither that the sentence was too long nor how long it may
# be. On a GPU it is worse: the error is reported later, at another line, and CUDA cannot be used again until the
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
# the tip of a clock's hand: pair $i$ is a clock whose hand moves by the angle $\omega_i$ at each step. With 50 features
# there are 25 clocks, and the slowest of them needs tens of thousands of steps for one turn. The number 10000 is called
# the **base**.
#
# PyTorch has no function for this encoding, so we compute it with loops and with tensors, and compare both with a table
# that many lecture slides show, for $D = 50$. The lines printed below are the first four features of the encoding, each
# at the positions 0 to 3.

# %%
P_loop = torch.zeros(4, 50)  # [N, D], positions 0 to 3
for n in range(4):
    for i in range(25):
        P_loop[n, 2 * i] = math.sin(n * 10000 ** (-2 * i / 50))
        P_loop[n, 2 * i + 1] = math.cos(n * 10000 ** (-2 * i / 50))

# %%
frequencies = 10000 ** (-torch.arange(0, 50, 2) / 50)  # [D/2]
angles = torch.arange(4)[:, None] * frequencies  # [N, D/2]
P = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # [N, D], sines and cosines in turns

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
assert_close(P, P_loop)
assert_close(
    P, sinusoidal(torch.arange(4), 50)
)  # the function of the first explorer computes the same for any D and base
published = [[0, 0.841, 0.909, 0.141], [1, 0.540, -0.416, -0.990], [0, 0.638, 0.983, 0.875], [1, 0.770, 0.186, -0.484]]
assert_close(P[:, :4].T, torch.tensor(published), rtol=0, atol=5e-4)
for d in range(4):
    print(f"feature {d}:", *(f"{value:7.3f}" for value in P[:, d].tolist()))

# %% tags=["fold"]
positions = torch.arange(64)
figure, (axes,) = plots.canvas(9, 4)
plots.field(
    sinusoidal(positions, 50), x_label="feature", y_label="position n", title="sinusoidal encoding, D = 50", axes=axes
)
show(
    figure,
    "Sixty-four positions by fifty features. On the left, stripes that change from row to row; further to the right the "
    "waves get longer, until the features on the right hardly change over all the rows.",
)

# %% [markdown]
# **Figure 7.** The sinusoidal encoding of 64 positions, with one row for each position. The features on the left change
# at every step; those on the right change so slowly that over 64 positions their sines stay near 0 and their cosines
# near 1.
#
# It is the picture of the binary counter, turned on its side and made smooth. (Each clock is not half as fast as the
# one before, but $10000^{-2/50} \approx 0.69$ times as fast.) Does the encoding have the properties on our list?

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
P = sinusoidal(torch.arange(2000), 50)  # [2000, 50]
distance = torch.cdist(P, P) + 10 * torch.eye(2000)  # [2000, 2000], the diagonal out of the way
print(f"largest entry of p_n:                     {P.abs().max():.2f}")
print(f"length of p_n, shortest and longest:      {P.norm(dim=1).min():.2f} and {P.norm(dim=1).max():.2f}")
print(f"distance of the neighbours p_0 and p_1:   {(P[1] - P[0]).norm():.2f}")
print(f"smallest distance of any two of 2000:     {distance.min():.2f}")

# %% [markdown]
# The entries are bounded by 1, all vectors have the same length $\sqrt{D/2} = 5$, and of 2,000 positions no two are
# closer together than neighbours are. The formula has no largest $n$. The remaining property, that a step means the
# same everywhere, deserves a closer look.
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
# dot product. Two pairs of positions at distance 4 show it. (The folded cell also checks $p_{n+3} = p_n R_3$ for almost
# a thousand positions.)

# %% tags=["fold"]
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
def draw_encoding(D, base, position):
    D, position = 2 * int(D // 2), int(position)
    P = sinusoidal(torch.arange(100), D, base=10.0**base)
    figure, (left, right) = plots.canvas(11, 3.9, 2)
    plots.field(P, x_label="feature", y_label="position n", row=position, title="encoding", axes=left)
    near = {f"$p_{{{position}}} · p_n$": P @ P[position]}
    plots.curves(torch.arange(100), near, styles=dict.fromkeys(near, "-"), x_label="position n", axes=right)
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
    position=Slider("position n", 0, 99, 30, 1),
)

# %% [markdown]
# **Figure 8.** Left, the encodings of 100 positions, with the chosen position marked. Right, the dot product of the
# chosen position's encoding with the encoding of every position. It is largest at the chosen position itself, and it
# takes the same values at equal distances to the left and to the right.
#
# Move the base. With a small base all clocks are fast, and only near neighbours have a large dot product. With a large
# base most clocks hardly move over 100 positions, and the dot product falls less. Then take only 4 features. With two
# clocks the dot product returns almost to its full height further on: positions that are far apart have similar
# encodings.

# %% [markdown]
# ## Relative positions: only the distance counts
#
# *Two words before* means the same at the beginning of a sentence and at its end. So one would like a score to depend
# on the positions $m$ of the query and $n$ of the key only through their distance $n - m$, the **relative position**
# (Shaw et al., 2018). *Two words before* is the relative position $-2$.
#
# For sinusoidal encodings, $p_m \cdot p_n$ has this property. But the layer does not compute $p_m \cdot p_n$. With
# $x + p$ as its input, a score is the sum of four terms, up to the factor $1/\sqrt{D_Q}$:
#
# $$(x_m + p_m)\,M\,(x_n + p_n)^\top = \underbrace{x_m M x_n^\top}_{\text{token, token}} +
# \underbrace{x_m M p_n^\top}_{\text{token, position}} + \underbrace{p_m M x_n^\top}_{\text{position, token}} +
# \underbrace{p_m M p_n^\top}_{\text{position, position}}$$
#
# with $M = W_Q W_K^\top$. Each of the two middle terms depends on a single position, never on the distance. The last
# term depends on the distance alone only for special matrices $M$, and nothing forces training to find one of these.
#
# How far are the scores of such a layer from depending on the distance alone? We put the *same* token at all positions
# and take random matrices $W_Q$ and $W_K$. If only the distance counted, all scores at the same distance would be
# equal; these scores form a diagonal of $E\,[N, N]$. Their **spread**, the largest minus the smallest, would then be 0;
# the larger it is, the less the scores depend on the distance alone.


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

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
print("spread of the scores at distance 2")
print("dot products of the encodings alone:      ", f"{spread_at(P @ P.T, 2):.2f}")
print("token plus encoding, random W_Q and W_K:  ", f"{spread_at(E_sinusoidal, 2):.2f}")

# %% [markdown]
# The dot products of the encodings alone have the spread 0.00, but the scores of the layer have the spread 1.15,
# although the token is the same everywhere.

# %% [markdown]
# ## Rotary position embedding (RoPE)
#
# Can we *guarantee* that only the distance counts? Then the position must enter where the scores are computed, after
# the matrices $W_Q$ and $W_K$. The **rotary position embedding**, **RoPE** for short (Su et al., 2021), does this. It
# adds nothing to the input. Instead it *rotates* the query at position $m$ by an angle $m\,\omega$ and the key at
# position $n$ by $n\,\omega$. The dot product of two arrows depends on their lengths and on the angle between them.
# When both are rotated, that angle changes by $(n - m)\,\omega$, which depends on the distance alone.
#
# The next figure shows this in the plane, with $\omega = 0.5$, for a query at the positions 1, 3 and 5 and a key that
# always stands one position before it.


# %%
def rotated(x, angle):
    """An arrow x [2], rotated by an angle."""
    c, s = math.cos(angle), math.sin(angle)
    return torch.stack([c * x[0] - s * x[1], s * x[0] + c * x[1]])  # [2]


# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
q, key = torch.tensor([1.0, -0.3]), torch.tensor([0.5, 0.9])  # [2] each
figure, panels = plots.canvas(11.5, 4.2, 3)
for panel, m in zip(panels, (1, 3, 5), strict=True):
    arrows = torch.stack([rotated(q, 0.5 * m), rotated(key, 0.5 * (m - 1))])
    names, colours = ["query", "key"], [plots.QUERY, plots.KEYS]
    plots.plane(arrows, names, colours=colours, reach=1.8, title=f"query at m = {m}, key at n = {m - 1}", axes=panel)
    between = math.degrees(math.acos(F.cosine_similarity(arrows[0], arrows[1], dim=0)))
    plots.angle(panel, arrows[0], arrows[1], 0.35, f"{between:.0f}°")
    panel.text(0.12, -1.3, f"dot product {arrows[0] @ arrows[1]:.2f}", va="center")
    print(f"query at {m}, key at {m - 1}: score {arrows[0] @ arrows[1]:.4f}")
show(
    figure,
    "Three times the same query and key, each time turned further, at positions 1 and 0, 3 and 2, 5 and 4. The angle "
    f"between the two, {between:.0f} degrees, and their dot product, {arrows[0] @ arrows[1]:.2f}, stay the same.",
)

# %% [markdown]
# **Figure 9.** The same query and key at three pairs of positions, always at relative position $-1$. Both arrows turn,
# but the angle between them stays the same, and so does their dot product.
#
# A query has more than two features. So it is cut into $D_Q/2$ pairs, and each pair is rotated at its own speed, with
# the frequencies of the sinusoidal encoding. A query $q$ at position $m$ becomes $q'$:
#
# $$\begin{pmatrix} q'_{2j}\\ q'_{2j+1}\end{pmatrix} =
# \begin{pmatrix}\cos m\omega_j & -\sin m\omega_j\\ \sin m\omega_j & \cos m\omega_j\end{pmatrix}
# \begin{pmatrix} q_{2j}\\ q_{2j+1}\end{pmatrix},\qquad
# \omega_j = 10000^{-2j/D_Q},\qquad j = 0, \dots, D_Q/2 - 1$$
#
# With $q$ as a column, all pairs together are one product with the matrix of rotations that we have met above, now of
# size $[D_Q, D_Q]$. A key at position $n$ is rotated in the same way by $R_n$:
#
# $$q' = R_m\,q,\qquad k' = R_n\,k,\qquad R_n = \operatorname{diag}\big(R(n\,\omega_0), \dots, R(n\,\omega_{D_Q/2-1})\big)$$
#
# What becomes of the score? The transpose of a rotation is the rotation back, $R_m^\top = R_{-m}$, and the angles of
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
# With it we check the identity for the query and the key of the token from the previous section. The first two pairs of
# positions have the same relative position, $-5$; the third pair has the relative position $5$:

# %%
# NBVAL_CHECK_OUTPUT
q, k = (word @ W["Q"]).cpu(), (word @ W["K"]).cpu()  # [D_Q] each
for m, n in ((9, 4), (105, 100), (2, 7)):
    both = rotated_loop(q, m) @ rotated_loop(k, n)
    key_only, query_only = q @ rotated_loop(k, n - m), rotated_loop(q, m - n) @ k
    print(f"m = {m:3}, n = {n:3}: both {both:6.2f}, the key only {key_only:6.2f}, the query only {query_only:6.2f}")

# %% [markdown]
# For all positions and pairs at once, RoPE is one multiplication of complex numbers. A pair $(x, y)$ is the complex
# number $x + iy$, and to rotate it by $\varphi$ is to multiply it by $\cos\varphi + i\sin\varphi$, which `torch.polar`
# makes:


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

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
assert_close(Q_rotated[7].cpu(), rotated_loop(Q_16[7].cpu(), 7))
spreads = torch.stack([spread_at(E_rotary, d) for d in range(-15, 16)])  # [31]
print("largest spread of the scores at any distance:    ", difference(spreads, 0 * spreads))
print("largest change of a query's length:              ", difference(Q_rotated.norm(dim=-1), Q_16.norm(dim=-1)))
print("change of the query at position 0:               ", difference(Q_rotated[0], Q_16[0]))
E_shifted = rotary(Q_16, positions + 100) @ rotary(K_16, positions + 100).T / 8  # [16, 16]
print("change of the scores when positions start at 100:", difference(E_shifted, E_rotary))

# %% tags=["fold"]
figure, panels = plots.canvas(10.5, 4.2, 2)
names = ("sinusoidal encoding, added", "RoPE")
both = plots.array(torch.stack([E_sinusoidal, E_rotary]))
options = {"limits": (both.min(), both.max()), "bar": False, "x_label": "key at position n"}
for panel, E, name in zip(panels, both, names, strict=True):
    plots.field(E, title=name, y_label="query at position m", axes=panel, **options)
figure.colorbar(panels[0].images[0], ax=panels, label="score of query m with key n")
show(
    figure,
    "Scores of the same token with itself at sixteen positions, with the same random matrices. Left, sinusoidal encoding added: an "
    "irregular pattern. Right, rotary: stripes along the diagonals, each of one colour.",
)

# %% [markdown]
# **Figure 10.** Scores of one token with itself at 16 positions, with the same matrices and on the same colour scale.
# With the sinusoidal encoding added, scores of equal distance differ; with RoPE each diagonal has one value, whatever
# the matrices are.
#
# The printed lines say more. RoPE changes no query's length, and at position 0 it changes nothing at all. If all
# positions are moved by 100, the scores stay the same, since every distance stays the same.
#
# The values are *not* rotated: a value says what a token passes on, not where the token stands. RoPE is applied in
# every layer. A learned or sinusoidal encoding is added only once, to the input of the first layer; in a deep model the
# **residual connections**, which add the input of a layer to its output, carry the encoding to the layers above.
#
# **Two pairings.** RoFormer (the model of Su et al.), GPT-J and Meta's own code for Llama pair neighbours, features
# $(2j, 2j+1)$, as we did. GPT-NeoX and the Llama of the library `transformers` pair features $(j, j + D_Q/2)$.
# Neither pairing is better; the two are the same up to the order of the features: put all even features first, then
# all odd ones, and the first pairing becomes the second. But weights that were trained with one pairing give nonsense
# with the other, and no error message warns of it. (When Meta's weights are converted for `transformers`, the
# features of queries and keys are reordered in just this way, for each of the attention heads that lesson 06
# introduces. The features correspond to the columns of our $W_Q$ and $W_K$, and to the rows of the weight of an
# `nn.Linear`.)

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
halves_first = torch.cat([torch.arange(0, 64, 2), torch.arange(1, 64, 2)]).to(DEVICE)  # [evens, odds]
angles = positions[:, None] * 10000 ** (-torch.arange(0, 64, 2, device=DEVICE) / 64)  # [16, 32]
x, y = Q_16[:, halves_first].chunk(2, dim=-1)  # [16, 32] each: features j and j + D/2
by_halves = torch.cat([x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()], dim=-1)
print("difference of the two pairings, features reordered:", difference(by_halves, Q_rotated[:, halves_first]))

# %% [markdown]
# ## Two tasks that need order
#
# Does all this matter in practice? Here are two tasks for a small model: a single self-attention layer, followed by a
# linear layer. It reads a sequence of letters, one token each, and has to write a sequence of the same length:
#
# - **copy**: at each position the letter that stands three positions before it (nothing is asked for at the first three
#   positions);
# - **reverse**: the sequence backwards, so at position $n$ the letter of position $N - 1 - n$.
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
    "copy": lambda letters: F.pad(letters, (3, 0), value=-1)[:, :-3],  # −1: nothing is asked for at the first three
    "reverse": lambda letters: letters.flip(1),
}


# %% tags=["fold"]
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


layers = {(task, kind): solved(kind, task) for task in TASKS for kind in ("none", "learned", "sinusoidal", "rotary")}


# %% [markdown]
# The models are trained on sequences of 24 random letters and tested on new ones. Without positional encoding the model
# still knows *which* letters are in the sequence. It can guess the most frequent one at every position and can do
# hardly any better; the dotted line in the figure is the accuracy of that guess.


# %% tags=["fold"]
@torch.no_grad()
def right(layer, task, length, rows=512):
    """For each position, the share of new rows in which the letter is right; [length], NaN where nothing is asked for."""
    drawn = torch.Generator().manual_seed(1)
    letters = torch.randint(LETTERS, (rows, length), generator=drawn).to(DEVICE)
    asked = TASKS[task](letters)  # [rows, length]
    found = (layer(letters)[0].argmax(dim=-1) == asked).float().mean(dim=0)  # [length]
    return found.masked_fill(asked[0] < 0, torch.nan).cpu()


drawn = torch.randint(LETTERS, (512, TRAINED), generator=torch.Generator().manual_seed(1))
blind = (
    F.one_hot(drawn, LETTERS).sum(dim=1).amax(dim=1).div(TRAINED).mean().item()
)  # the share of the most frequent letter
shares = {pair: right(layer, pair[0], TRAINED).nanmean().item() for pair, layer in layers.items()}

figure, panels = plots.canvas(10, 4, 2)
for panel, task in zip(panels, TASKS, strict=True):
    kinds = [kind for where, kind in shares if where == task]
    values = [shares[task, kind] for kind in kinds]
    plots.bars(values, kinds, title=task, value_label="share of letters right", limits=(0, 1.15), axes=panel)
    panel.set(xlabel="positional encoding", yticks=(0, 0.25, 0.5, 0.75, 1))
    guess = panel.axhline(blind, color=plots.BLACK, linestyle=":", linewidth=1.5)
name = "guess of a model that knows which letters occur, but not their order"
figure.legend([guess], [name], loc="outside lower center", frameon=False)
show(
    figure,
    "Share of letters that are right. Copy: without positions it is at the line of a blind guess, with each of the three kinds "
    "it is one. Reverse: without positions at the line again, with rotary a little above it, with learned and sinusoidal one.",
)

# %% [markdown]
# **Figure 11.** Share of letters that each model gets right, on sequences of the training length. Every kind of
# positional encoding solves *copy*; on *reverse* RoPE is only a little better than the guess.
#
# The same shares, rounded to one decimal place:

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
print("letters right  guess", *(f"{kind:>11}" for kind in kinds))
for task in TASKS:
    print(f"{task:>13}  {blind:5.1f}", *(f"{shares[task, kind]:11.1f}" for kind in kinds))

# %% [markdown]
# Did you expect RoPE to fail at *reverse*? A rotary score depends on the distance to a key, not on its position. *Three
# positions before* is a distance. *The opposite position* is not: for position 0 it is 23 steps ahead, for position 23
# it is 23 steps back. The guarantee that only the distance counts is also a limitation.
#
# Why, then, is the bar of RoPE above the dotted line at all? Look at the positions separately:

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
by_position = right(layers["reverse", "rotary"], "reverse", TRAINED)  # [24]
print("reverse with rotary, letters right")
print(f"first and last position:              {by_position[[0, -1]].mean():.1f}")
print(f"the 22 positions between, mean:       {by_position[1:-1].mean():.1f}")

# %% [markdown]
# At the two ends the model is right. For the first and for the last position, the opposite position is the one farthest
# away. A model that knows only distances can find *the farthest key*: it can give the largest distances the highest
# scores, and the softmax runs only over the keys that exist. Relative positions thus reveal where the sequence begins
# and ends. A deep model can use this to learn more about the positions themselves. (The causal mask of lesson 07, which
# hides all later tokens, reveals the beginning too.) At the 22 positions between the ends, the model can only guess.
#
# **The published comparison.** Vaswani et al. compared a learned table with their sinusoidal encoding in translation
# from English to German (their table 3, row E). The BLEU scores are 25.7 and 25.8, nearly the same. In our miniature, a
# far easier task for a far smaller model, the two are equally good, too. But both comparisons are at lengths that
# occurred in training. Vaswani et al. chose the sinusoidal encoding because it "may allow the model to extrapolate to
# sequence lengths longer than the ones encountered during training". If the longest sentence of training had 24 tokens,
# what happens with longer ones?

# %% [markdown]
# ## Length extrapolation: past the training length
#
# All models were trained on sequences of 24 letters. Now we let them copy sequences of 64. The learned table has rows
# for all 64 positions, but those from 24 on have never been trained. Predict again: with which of the three encodings
# will the model still copy? A single training may be luck, so each kind of encoding is trained three times, each time
# from new random weights and on new sequences.

# %% tags=["fold"]
SEEDS = (0, 1, 2)
KINDS = ("learned", "sinusoidal", "rotary")
copying = {
    (kind, seed): solved(kind, "copy", seed) if seed else layers["copy", kind] for kind in KINDS for seed in SEEDS
}
curves = {pair: right(layer, "copy", TESTED)[3:] for pair, layer in copying.items()}
# the means over positions 24 to 63
beyond = {kind: [curves[kind, seed][TRAINED - 3 :].mean().item() for seed in SEEDS] for kind in KINDS}

figure, panels = plots.canvas(11, 3.2, 3, sharey=True)
for panel, kind in zip(panels, KINDS, strict=True):
    lines = {f"training {seed + 1}": curves[kind, seed] for seed in SEEDS}
    styles = dict(zip(lines, ("-", "--", ":")))
    plots.curves(
        range(3, TESTED), lines, styles=styles, title=kind, x_label="position n", legend=kind == "learned", axes=panel
    )
    panel.axvline(TRAINED - 0.5, color=plots.GREY, linewidth=1)
    panel.set_ylim(-0.03, 1.08)
panels[0].set_ylabel("letters right")
show(
    figure,
    "Share of right letters at each position of sequences of 64, for three trainings of each kind. Learned: one up to "
    "position 23, almost nothing after it. Sinusoidal: one from position 4 to position 23, some lower at position 3, then "
    "almost nothing, and up again at a few positions. Rotary: trainings that stay near one all the way; in the run shown "
    "here one that gets many wrong from the beginning.",
)
print("letters right at positions 24 to 63, mean of each training")
for kind in KINDS:
    print(f"{kind:>10}:", *(f"{share:.2f}" for share in beyond[kind]))
assert max(beyond["learned"]) < 0.1 and max(beyond["sinusoidal"]) < 0.5 and max(beyond["rotary"]) > 0.9

# %% [markdown]
# **Figure 12.** Copying sequences of 64 letters after training on 24 (grey line), three trainings of each kind. Beyond
# the training length the learned encoding fails at all positions and the sinusoidal one at most of them; RoPE can
# continue to the end. The printed lines give the mean over positions 24 to 63 for each training.
#
# - **Learned**: the accuracy drops at once to 0.03, which is pure chance with 32 letters. The rows of the table from 24
#   on were never used in training, so their gradient was always zero; they still hold the random numbers with which
#   they were initialised.
# - **Sinusoidal**: the formula gives a vector for every position, and its entries stay bounded; yet the *layer* fails.
#   Its matrices do the right thing for the encodings that occurred in training, and nothing ties their behaviour at
#   position 40 to that at position 10. The layer is right again at a few positions, and wrong next to them. The
#   additional keys can even spoil a position that occurred in training. Look at position 3 in the figure: where a curve
#   starts low, the query of this position now attends to keys far out, which it never met in training.
# - **Rotary**: the score of a query at position 50 with a key at position 47 is computed like that of a query at
#   position 5 with a key at position 2. So a trained layer can continue as if nothing had happened.
#
# It can, but it need not. In the run shown here, one rotary training gets many letters wrong at *every* position of a
# long sequence, even at position 10, so the position itself is not the cause. (On another machine it may be another
# training, or none: floating-point sums are rounded differently there, and in the course of a training such small
# differences grow.) A stored run of nine rotary trainings shows how often this happens:

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
if stored_runs.full():
    began = time.perf_counter()
    nine = [right(solved("rotary", "copy", seed), "copy", TESTED)[TRAINED:].mean().item() for seed in range(9)]
    stored_runs.keep("05_self_attention", {"rotary": nine}, seed=0, seconds=time.perf_counter() - began)
run = stored_runs.load("05_self_attention")
print("rotary, letters right after position 23:", *(f"{share:.2f}" for share in run["results"]["rotary"]))
print(stored_runs.how(run))

# %% [markdown]
# Eight of the nine stored trainings extrapolate well. Why a training can fail is examined near the end of this lesson,
# under "Going further".
#
# **Larger models.** All this was copying, with one layer. On real text RoPE extrapolates less well. Press et al. (2022)
# trained language models on texts of one length and tested them on longer ones. With the sinusoidal encoding the models
# became worse as soon as the texts were a few dozen tokens longer than in training. With RoPE, too, they became worse,
# but only later. To use a rotary model far beyond its training length, one trains it a little more on long texts, with
# a larger base, so that its pairs turn more slowly.
#
# **Back to the animal.** Self-attention lets *it* receive something of *animal*, in one layer and at any distance, and
# a positional encoding lets the layer use the order of the words. To *which* tokens *it* should attend is for training
# to find. Lesson 06 trains layers on such sentences, and shows why a single row of weights is not enough for *it*.

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
#
# | | learned table | sinusoidal | rotary (RoPE) |
# |---|---|---|---|
# | what is done | added to $X$, once | added to $X$, once | rotates $Q$ and $K$, in each layer |
# | parameters | $N \cdot D$ | none | none |
# | the position itself (*reverse*) | known | known | only the two ends can be recognised |
# | the distance (*copy*) | must be learned for each pair of positions | can be learned | built in |
# | beyond the training length | no row, or an untrained one | computable, but not met in training | computable; only longer distances are new |
#
# ```python
# Y = F.scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V)  # [N, D_V], blind to the order of the rows
# X = X + nn.Embedding(longest, D)(torch.arange(N))  # a learned positional encoding; the other two you write yourself
# ```
#
# The picture to remember is the first one of this lesson: a line from every token to every output. Nothing in it says
# which token stands where, so the positions must be given.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> What is the output of self-attention for a sequence of a single vector?</summary>
#
# Its own value, $x W_V$: the softmax over one score is 1, whatever the score is.
#
# </details>
#
# <details><summary><b>2.</b> A sentence has the same word at all N positions, and no positional encoding. What are the
# attention weights?</summary>
#
# All weights are $1/N$, since all scores are the same. The output at each position is the value of that word, whatever
# $N$ is. Without positional encoding, the layer cannot even tell how often the word occurs.
#
# </details>
#
# <details><summary><b>3.</b> The same vector is added to every position's encoding. Do learned positional encodings still
# work?</summary>
#
# Yes. Training can subtract that vector from each row of the token embedding, and every sum $x + p$ is what it was
# before. What counts are the differences between the encodings.
#
# </details>
#
# <details><summary><b>4.</b> Suppose that the encoding keeps only the sine of each pair. Name two positions that the first clock
# can hardly tell apart any more.</summary>
#
# Strictly speaking $\sin n$ differs for all whole numbers $n$, but 0 and 22 hardly differ: $\sin 22 \approx -0.009$, as
# 22 is nearly $7\pi$. The cosine tells them apart: it is 1 at 0 and almost $-1$ at 22.
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
# <details><summary><b>7.</b> In Figure 5, with the first order and with positional encoding: are the outputs of the₁
# and the₂ still the same?</summary>
#
# No. Their vectors are $x + p_0$ and $x + p_3$. So their queries differ, and with them the weights and the outputs.
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
# ## Going further: why one rotary training fails on long sequences
#
# You may skip this section; later lessons do not need it.
#
# In the run shown here, one of the three rotary trainings gets many letters wrong on sequences of 64. Its attention
# weights tell why. The next figure shows them.

# %% tags=["fold"]
worst = min(SEEDS, key=lambda seed: beyond["rotary"][seed])
strength = {}  # for each training the most that a clock can add to a score, for mean lengths of the pairs of all letters
with torch.no_grad():
    rows = torch.randint(LETTERS, (256, TESTED), generator=torch.Generator().manual_seed(2)).to(DEVICE)
    weights_30 = copying["rotary", worst](rows)[1].mean(dim=0)[30]  # [64], the weights of position 30
    for seed in SEEDS:
        layer = copying["rotary", seed]
        Q, K = (project(layer.letters.weight).unflatten(-1, (-1, 2)).norm(dim=-1) for project in (layer.W_Q, layer.W_K))
        strength[f"training {seed + 1}"] = (Q.mean(dim=0) * K.mean(dim=0) / 8)[:8]  # [8], the fastest clocks first

figure, (left, right_) = plots.canvas(11, 3, 2, gridspec_kw={"width_ratios": [1.7, 1]})
plots.curves(range(-30, 34), {"weight": weights_30}, x_label="distance n − m of the key", legend=False, axes=left)
left.set(title=f"training {worst + 1}: where position 30 attends", ylabel="mean weight", xticks=range(-28, 34, 5))
plots.curves(
    range(8), strength, title="which frequencies the scores use", x_label="pair j, the fastest first", axes=right_
)
right_.set_ylabel("most it can add")
peaks = sorted((key - 30, f"{weight:.2f}") for weight, key in zip(*(part.tolist() for part in weights_30.topk(3))))
show(
    figure,
    f"Left, the mean weights of position 30 over the distance; the three largest, with their distances: {peaks}. "
    "Right, how much each of the eight fastest pairs can add to a score, for the three trainings.",
)

# %% [markdown]
# **Figure 13.** Left, the attention weights of position 30 over the distance of the key, in the rotary training with
# the lowest accuracy on long sequences. Right, how much each of the eight fastest pairs can contribute to a score, in
# all three trainings.
#
# If all three trainings extrapolate well on your machine, the left panel shows a single peak at distance $-3$, and
# there is nothing to explain. In the run shown here, position 30 attends to distance $-3$, as it should, but also to
# two distances that differ from it by 25, namely $-28$ and $22$.
#
# The right panel shows why. The height of a curve at $j$ is the mean length of pair $j$ in the queries of all letters,
# times its mean length in the keys of all letters, divided by $\sqrt{D_Q}$. It is the most that pair $j$ can contribute
# to a score, for a typical letter. The failing training relies almost only on the two fastest pairs; the others use
# slower pairs, too. But 25 steps are nearly $4 \cdot 2\pi$, four full turns of the first pair, and nearly three turns
# of the second. At the distances $-28$ and $22$ these two pairs therefore stand almost as they do at distance $-3$, and
# the scores are almost as large.
#
# Training could not correct this, because its sequences were too short: a key 28 positions back did not exist, and one
# 22 positions ahead existed only where no letter was asked for. Rotary scores do not depend on the position itself, but
# a distance that never occurred in training can look like one that did.
#
# The curve of this training in Figure 12 confirms the explanation. Its accuracy drops at position 28, the first one
# with a key at distance $-28$, and rises at position 42, the first one without a key at distance $22$. Two more steps
# belong to distances that differ from $-3$ by twice 25: the accuracy rises at position 17, the first one without a key
# at distance $47$, and drops at position 53, the first one with a key at distance $-53$.

# %% [markdown]
# ## References
#
# - A. Vaswani et al. (2017). Attention is all you need. NeurIPS. arXiv:1706.03762. *Section 3.5: the sinusoidal
#   encoding; table 3, row E: the published figure.*
# - J. Alammar (2018). The illustrated Transformer. https://jalammar.github.io/illustrated-transformer/. *Thinking
#   Machines, with the scores 112 and 96.*
# - J. Gehring, M. Auli, D. Grangier, D. Yarats, Y. N. Dauphin (2017). Convolutional sequence to sequence learning.
#   ICML. arXiv:1705.03122. *A learned table of positions.*
# - P. Shaw, J. Uszkoreit, A. Vaswani (2018). Self-attention with relative position representations. NAACL.
#   arXiv:1803.02155. *Relative in place of absolute positions.*
# - J. Su, Y. Lu, S. Pan, A. Murtadha, B. Wen, Y. Liu (2021). RoFormer: enhanced Transformer with rotary position
#   embedding. arXiv:2104.09864.
# - O. Press, N. A. Smith, M. Lewis (2022). Train short, test long: attention with linear biases enables input length
#   extrapolation. ICLR. arXiv:2108.12409.
# - J. Lee, Y. Lee, J. Kim, A. R. Kosiorek, S. Choi, Y. W. Teh (2019). Set Transformer. ICML. arXiv:1810.00825. *Data
#   that are sets, for which equivariance is wanted.*
