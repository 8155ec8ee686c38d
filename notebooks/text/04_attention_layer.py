# %% [markdown]
# # 04 · The attention layer
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/04_attention_layer.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - take attention out of a translation RNN and write it as a layer of its own, from loops for one query to a matrix
#   product for many;
# - explain why the scores are divided by $\sqrt{D_Q}$, and measure what happens without the division;
# - separate what a query is *compared with* (keys) from what it *receives* (values), and let one sequence attend to
#   another.
#
# **You need** PyTorch basics (tensors, matrix products, `nn.Linear`, `backward`), and what mean and variance are.
# Lesson 02 shows where the idea came from, but you do not need it here.
#
# **Time** about 70 minutes to read; the cells run in about 20 seconds on two CPU cores.

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

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from utils.device import device
from utils.figures import diagrams, plots
from utils.figures.explorers import Slider, Switch, explore, progress
from utils.figures.plots import show

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
generator = torch.Generator().manual_seed(4)


def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


def tell(name, values):
    """Prints a vector on one line, rounded."""
    print(f"{name:>10}", *(f"{value:6.2f}" for value in values.tolist()))


# %% [markdown]
# ## Which words matter now?
#
# A network translates *"we see the sky"* into *"vediamo il cielo"*. It reads and writes **tokens**, the units into
# which a text is cut; in this lesson each token is a word. Its **encoder** reads the English tokens and computes a
# vector for each of them, the **hidden state** at that token, which we call an *encoder state*. Its **decoder**
# writes the translation token by token, and has a hidden state of its own, the *decoder state*, which changes with
# each token that it writes. In the translators of lessons 01 and 02 both parts were recurrent networks (RNNs), which
# process a sentence one token after the other.
#
# Suppose that the decoder is about to write *vediamo* ("we see": in Italian the verb carries its subject). **Which
# encoder states matter for this token?** Before *il* the decoder faces the same question again, and the answer is
# different. **Attention** is the part of the network that answers it at each step.
#
# Whatever the task, three kinds of vectors take part:
#
# | in general | in the translator | symbol |
# |---|---|---|
# | a **query** vector, which says what is wanted | a decoder state | $q$ |
# | **data** vectors, with which the query is compared | the encoder states | $X_1, X_2, \dots$ |
# | an **output** vector, the answer to the query | the **context vector**: what the decoder learns about the sentence | $y$ |
#
# Each query **attends** to all data vectors: it is compared with every one of them, and those that fit it best
# contribute most to its output vector. Nothing in this description mentions an RNN, a language or an order. It
# describes a general operator, which this lesson builds step by step.
#
# To make every number easy to follow, we invent hidden states with only two features; in a real model they are learned
# and have hundreds. The data vectors are the rows of a matrix $X\,[N_X, D_X]$, and the queries are the rows of a matrix
# $Q\,[N_Q, D_Q]$. The brackets give the shape: $N$ is the number of vectors, and $D$ is their **width**, the number of
# their features. Comments in the code give shapes in the same way, the helper `tell` prints a vector on one line, and
# `normal` draws a random tensor with mean 0 and variance 1. Cells that import, prepare data, measure, draw or check are
# folded; unfold them if you like.

# %%
words = ["we", "see", "the", "sky"]
X = torch.tensor([[1.6, 0.4], [0.8, 1.8], [0.3, -1.6], [-1.9, -0.5]], device=DEVICE)  # [N_X, D_X] = [4, 2]
asked = ["vediamo", "il", "cielo"]
Q = torch.tensor([[1.2, 1.6], [-0.1, -2.0], [-2.1, -0.5]], device=DEVICE)  # [N_Q, D_Q] = [3, 2]

N_X, D_X = X.shape
N_Q, D_Q = Q.shape
q = Q[0]  # [D_Q], the state that is about to write "vediamo"

# %% [markdown]
# ## How similar are a query and a data vector?
#
# To compare the query with a data vector, we need a function that takes the two vectors and returns one number, large
# if they fit together. This number is the **similarity score**, or **score** for short: $e_i = f_{att}(q, X_i)$.
#
# Bahdanau et al. (2015) used a small trained network with one hidden layer as $f_{att}$; this is **additive
# attention**. Here is a far simpler candidate without a single parameter, the **dot product**:
#
# $$e_i = q \cdot X_i = \sum_{d} q_d\, X_{id} = |q|\,|X_i|\cos\angle(q, X_i)$$
#
# The dot product is positive if the angle between the two vectors is smaller than a right angle, zero if they are
# perpendicular, and negative if the angle is larger. In the next figure, look at the arrows first: which words will
# score high for *vediamo*?

# %% tags=["fold"]
# @title Draws Figure 1
figure, (left, right) = plots.canvas(9.5, 4.0, 2)
colours = [plots.DATA] * N_X + [plots.QUERY]
plots.plane(torch.cat([X, q[None]]), [*words, "q: vediamo"], colours=colours, reach=2.9, axes=left)
plots.bars(X @ q, words, title="scores $e_i = q · X_i$", value_label="score", colour=plots.SCORES, axes=right)
show(
    figure,
    "Left: the query “vediamo” points between the data vectors “we” and “see”, away from “the” and “sky”. "
    "Right: the scores of “we” and “see” are positive, “see” is highest; those of “the” and “sky” are negative.",
)

# %% [markdown]
# **Figure 1.** The query and the four data vectors as arrows (left), and the query's score with each data vector
# (right). The data vectors that point in much the same direction as the query have positive scores; the others have
# negative ones.
#
# The product of the matrix $X$ and the vector $q$ gives all scores of a query at once, in a single line of code. Two
# properties are worth noting. The sum runs over the features, so for now queries and data vectors must have the same
# width, $D_Q = D_X$. And the dot product is not the cosine, because it also depends on the lengths of the vectors. If
# the query becomes three times as long, every score is multiplied by three (second row below); if only the data
# vector $X_2$, *see*, becomes three times as long, only its own score changes (third row).

# %% tags=["nbval-check-output"]
e = X @ q  # [N_X, D_X] @ [D_X] -> [N_X]

X_long = X.clone()  # [N_X, D_X]
X_long[1] *= 3  # see, three times as long
tell("scores", e)
tell("with 3 q", X @ (3 * q))
tell("with 3 X₂", X_long @ q)

# %% [markdown]
# ## From scores to attention weights
#
# For *vediamo* the scores favour *see*, and after it *we*. We want the output to be a weighted average of the data
# vectors, so we must turn the scores into weights that are not negative, sum to 1, and grow with the score.
#
# Dividing each score by the sum of all scores is not enough. The results sum to 1 (first row below), but some are
# larger than 1 and others negative; and if the scores summed to zero, we could not divide at all. The exponential
# function makes every score positive and keeps their order, and then we can safely divide by the sum. The two steps
# together are the **softmax**, and its results are the **attention weights**:
#
# $$a_i = \frac{\exp(e_i)}{\sum_j \exp(e_j)}$$
#
# PyTorch has the softmax as a method, `e.softmax(dim=-1)`. The function `assert_close` raises an error unless its two
# arguments agree up to rounding.

# %% tags=["nbval-check-output"]
powers = torch.exp(e)  # [N_X], all positive
a = powers / powers.sum()  # [N_X]

assert_close(e.softmax(dim=-1), a)
tell("e / sum", e / e.sum())
tell("weights", a)
tell("their sum", a.sum()[None])

# %% tags=["fold"]
# @title Draws Figure 2
figure, panels = plots.canvas(10, 3.0, 3)
plots.bars(e, words, title="scores $e$", colour=plots.SCORES, axes=panels[0])
plots.bars(powers, words, title="$\\exp(e)$: all positive", colour=plots.SCORES, numbers=".3g", axes=panels[1])
plots.bars(a, words, title="weights $a$: sum to 1", colour=plots.WEIGHTS, limits=(0, 1.1), axes=panels[2])
show(
    figure,
    "Three bar strips over we, see, the, sky. The scores have both signs; their exponentials are positive; "
    "divided by the sum they are weights: “see” has most, “we” the rest, “the” and “sky” almost nothing.",
)

# %% [markdown]
# **Figure 2.** The two steps of the softmax: the exponential makes all scores positive, and the division by the sum
# turns the results into weights. From the lowest bar to the highest, the order is the same in all three panels. The
# weights of *the* and *sky* are not zero, only too small for two decimals.
#
# **The exponential can overflow.** The softmax depends only on the differences between the scores: adding the same
# number $c$ to all of them multiplies numerator and denominator by $\exp(c)$, which cancels. The scores $e + 1000$ must
# therefore give the same weights as $e$. Our code disagrees, because in `float32` the exponential of anything above
# about $88.7$ is `inf`, and `inf / inf` is `nan` ("not a number").
#
# The same cancellation gives the remedy, which PyTorch's softmax uses too: subtract the largest score first. Then the
# largest exponent is 0, so nothing can overflow, and the sum is at least $\exp(0) = 1$, so we never divide by zero.

# %% tags=["nbval-check-output"]
far = e + 1000  # [N_X], the same differences
naive = torch.exp(far) / torch.exp(far).sum()  # [N_X]

shifted = far - far.max()  # [N_X], the largest is 0
stable = torch.exp(shifted) / torch.exp(shifted).sum()  # [N_X]

tell("naive", naive)
tell("shifted", stable)
tell("torch", far.softmax(dim=-1))

# %% [markdown]
# ## One query attends to all data vectors
#
# With the weights we can form the output, the weighted sum of the data vectors:
#
# $$y = \sum_i a_i X_i$$
#
# The whole operator consists of three steps: scores, softmax, weighted sum. Here they are, written out in loops:

# %%
e_loop = torch.zeros(N_X, device=DEVICE)  # [N_X], the scores
for i in range(N_X):
    for d in range(D_X):
        e_loop[i] += q[d] * X[i, d]

total = 0.0
for i in range(N_X):
    total += torch.exp(e_loop[i])

y_loop = torch.zeros(D_X, device=DEVICE)  # [D_X]
for i in range(N_X):
    y_loop += torch.exp(e_loop[i]) / total * X[i]  # the weight of a data vector times the vector

# %% [markdown]
# Matrix products replace the loops, and PyTorch has a single call for all three steps. This call expects a matrix of
# queries, so `q` goes in as a matrix with one row, $[1, D_Q]$. It takes `X` twice, because the data vectors take part
# twice: first they are *compared* with the query, and then they are *summed*. Finally, it multiplies the scores by the
# argument `scale`: `scale=1.0` leaves them as they are, and the default, $1/\sqrt{D_Q}$, is the subject of the next
# section.

# %% tags=["nbval-check-output"]
y = (X @ q).softmax(dim=-1) @ X  # [N_X] @ [N_X, D_X] -> [D_X]

y_torch = F.scaled_dot_product_attention(q[None], X, X, scale=1.0)[0]  # [D_X]
assert_close(y_torch, y)
assert_close(y_loop, y)
tell("y", y)

# %% tags=["fold"]
# @title Draws Figure 3
assert_close(e_loop, e)
assert torch.allclose(stable, a, atol=1e-4)  # near 1000, neighbours in float32 are 2**-14 apart: e + 1000 is rounded
assert torch.allclose(stable, far.softmax(dim=-1))
X_unit = F.normalize(X, dim=-1)  # [N_X, D_X], data vectors of equal length: dot product and Gaussian kernel agree
kernel = torch.exp(-(q - X_unit).square().sum(dim=-1) / 2)  # [N_X]
assert_close(kernel / kernel.sum(), (X_unit @ q).softmax(dim=-1))
show(
    diagrams.attention_layer(e[None], a[None], asking=asked[:1], data=words),
    "One query q, vediamo, meets the data vectors of we, see, the, sky and gives four scores; a softmax over the row turns "
    "them into four weights; the data vectors, summed with these weights, give one output y.",
)

# %% [markdown]
# **Figure 3.** Attention for one query, with the numbers of *vediamo*. However many data vectors there are, each gets
# one score and one weight, and the query gets one output.
#
# **Averages weighted by similarity are older than attention.** In 1964 Nadaraya and Watson, independently of each
# other, estimated a curve at a new point $q$ as an average of the values measured at known points $X_i$. They computed
# the weights with a *kernel*, a function that is large where $X_i$ is near $q$, and divided its values by their sum.
# The Gaussian kernel factors into a product:
#
# $$\exp\!\left(-\tfrac12 |q - X_i|^2\right) =
# \exp(q \cdot X_i)\ \exp\!\left(-\tfrac12 |q|^2\right)\ \exp\!\left(-\tfrac12 |X_i|^2\right)$$
#
# The factor of $|q|$ is the same for every data vector and cancels in the division. If all data vectors are equally
# long, the factor of $|X_i|$ cancels as well, and the softmax of the dot products remains. For equally long data
# vectors the attention weights are thus those of the Gaussian kernel. If their lengths differ, the last factor does not
# cancel. Attention leaves it out: it weights with $\exp(q \cdot X_i)$ alone (Tsai et al., 2019), and so favours long
# data vectors in the direction of $q$, even far from $q$. One difference remains: in 1964 the values *measured at* the
# $X_i$ were averaged, here the $X_i$ themselves. In neural networks, Graves et al. (2014) read a memory with a softmax
# over cosines, and Luong et al. (2015) used the dot product in a translator.
#
# Three properties follow from the formulas of attention. The output below shows the first and the third.
#
# **The output lies among the data vectors.** The weights are positive and sum to 1, so $y$ is a weighted average. It
# never leaves the convex hull of the data vectors (the smallest convex region that contains them), and each of its
# components lies between the smallest and the largest corresponding component of the data vectors. Attention selects
# and averages; it cannot add anything that the data vectors do not contain.
#
# **The number of data vectors is free.** Nothing in the formulas was tied to $N_X = 4$: a fifth word adds a score and a
# weight, but the output stays as wide as before.
#
# **The order of the data vectors does not matter.** If we shuffle them, their weights are shuffled in the same way, and
# the weighted sum stays the same: for a fixed query the output is **invariant** to permutations of the data vectors.
# We often read that "attention is permutation invariant", without being told what is permuted. In lesson 05, where the
# data vectors provide the queries too, shuffling them shuffles the outputs.

# %% tags=["nbval-check-output"]
order = torch.tensor([2, 0, 3, 1], device=DEVICE)  # [N_X], the words in another order
a_shuffled = (X[order] @ q).softmax(dim=-1)  # [N_X]
y_shuffled = a_shuffled @ X[order]  # [D_X]

tell("smallest", X.min(dim=0).values)  # [D_X], of each feature
tell("y", y)
tell("largest", X.max(dim=0).values)
tell("a", a)
tell("a shuffled", a_shuffled)
tell("y shuffled", y_shuffled)

# %% [markdown]
# **The grid of an image is a collection of vectors too.** A convolutional network (CNN) turns an image into a **feature
# map**, which has a feature vector at each position of an $H\times W$ grid. Because the order of the data vectors does
# not matter, we can put all positions into one long list. This gives $N_X = H \cdot W$ data vectors and *one* softmax
# over all of them, and afterwards we put the weights back into the shape of the grid.
#
# Below, the three features of a position are the red, green and blue of its colour. The query asks for yellow: its
# entries are positive for red and green, and negative for blue. The features are the last axis of this grid, so
# `reshape` keeps each vector whole. In the output of a CNN they come before the grid, and `reshape` would mix them up,
# as lesson 03 shows.

# %% tags=["fold"]
# @title Computes X_five, H, W, grid, …
assert (X.min(dim=0).values <= y).all() and (y <= X.max(dim=0).values).all()
X_five = torch.cat([X, torch.tensor([[0.9, -0.2]], device=DEVICE)])  # [N_X, D_X] = [5, 2], one word more
assert ((X_five @ q).softmax(dim=-1) @ X_five).shape == y.shape
assert (a_shuffled - a[order]).abs().max() < 1e-5 and (y_shuffled - y).abs().max() < 1e-5

H, W = 6, 9
grid = torch.zeros(H, W, 3)  # [H, W, D_X]
grid[:4] = torch.tensor([0.3, 0.6, 0.9])  # sky
grid[4:] = torch.tensor([0.2, 0.6, 0.2])  # meadow
grid[1:3, 6:8] = torch.tensor([1.0, 0.85, 0.1])  # sun
grid = (grid + 0.03 * torch.randn(H, W, 3, generator=generator)).clamp(0, 1).to(DEVICE)
yellow = 5 * torch.tensor([1.0, 0.5, -1.0], device=DEVICE)  # [D_Q], for red and green, against blue

# %%
X_grid = grid.reshape(H * W, 3)  # [H·W, D_X]
a_row = (X_grid @ yellow).softmax(dim=-1)  # [H·W], sums to 1 over all positions
y_grid = a_row @ X_grid  # [D_X], a yellow
a_grid = a_row.reshape(H, W)  # [H, W], each weight back at its position

# %% tags=["fold"]
# @title Draws Figure 4
assert_close(F.scaled_dot_product_attention(yellow[None], X_grid, X_grid, scale=1.0)[0], y_grid)

figure, (left, right) = plots.canvas(9.5, 3.3, 2)
left.imshow(grid.cpu())
left.set_title("data: $H × W$ colour vectors")
left.axis("off")
rows, columns = [str(row) for row in range(H)], [str(column) for column in range(W)]
plots.heat_map(a_grid, rows, columns, title="weights for “yellow”", limits=(0, 0.35), least=0.05, axes=right)
right.set_aspect("equal")
show(
    figure,
    "Left: a small picture, blue sky above a green meadow, with a yellow sun of two by two positions. "
    "Right: the attention weights over the same grid, large on the four positions of the sun, where they are printed, and "
    "about zero elsewhere.",
)

# %% [markdown]
# **Figure 4.** A small picture as a grid of colour vectors (left), and the weights of the query for yellow, put back
# into the same grid (right). The query attends almost only to the sun, although the softmax knew nothing of the grid.
# The score is a dot product and not a distance between colours: red and green raise it and blue lowers it, so an orange
# position with little blue can get more weight than a yellower one with more blue.

# %% [markdown]
# ## Why divide by √D?
#
# The Transformer (Vaswani et al., 2017) does not use $q \cdot X_i$ as it is. It uses the **scaled dot product** $q
# \cdot X_i / \sqrt{D_Q}$; attention with these scores is called **scaled dot-product attention**. What the division
# changes can be seen in a well-known example from Alammar's *The Illustrated Transformer* (2018), with the two tokens
# *Thinking Machines*. There each token has a query and a second vector of 64 features with which queries are compared.
# The query of *Thinking* has the score 112 with the vector of *Thinking* itself and 96 with that of *Machines*. The
# division by $\sqrt{64} = 8$ turns them into 14 and 12, and the published weights are 0.88 and 0.12. We compute the
# weights with and without the division:

# %% tags=["nbval-check-output"]
thinking = torch.tensor([112.0, 96.0])  # [N_X], the scores of Thinking and Machines
tell("÷ √64", thinking / math.sqrt(64))
tell("weights", (thinking / math.sqrt(64)).softmax(dim=-1))
print(f"undivided  weight of the second token: {thinking.softmax(dim=-1)[1]:.1e}")

# %% [markdown]
# With the division, our numbers agree with the published ones. Without it, the second token has practically no
# influence on the output. But why do we divide by the *square root* of the width?
#
# **The reason is the variance of a sum.** Let the features of $q$ and $X_i$ be independent, with mean 0 and variance 1.
# Each product $q_d X_{id}$ then has mean 0 and variance $1 \cdot 1 = 1$. The score is a sum of $D$ such products, and
# the variances of independent terms add up:
#
# $$\operatorname{Var}(q \cdot X_i) = \sum_{d=1}^{D} \operatorname{Var}(q_d X_{id}) = D
# \qquad\Longrightarrow\qquad \text{standard deviation } \sqrt{D}$$
#
# A typical score therefore grows like $\sqrt D$, and after division by $\sqrt D$ its standard deviation is 1 at every
# width. The argument needs both mean 0 and independence. If the features have mean 1 instead of 0, the score has mean
# $D$. If the two vectors are not independent, the same can happen: the score of a vector with itself has mean $D$, even
# if its features have mean 0. We check the formula at eleven widths, from 1 to 1024, with random queries and 16 random
# data vectors for each:

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
widths = [2**power for power in range(11)]  # 1 … 1024
samples, N_data = 2000, 16
raw = {}
for D in widths:
    many_q = normal(samples, D, 1)  # [samples, D, 1], one query in each sample, as a column
    many_X = normal(samples, N_data, D)  # [samples, N_data, D]
    raw[D] = (many_X @ many_q).squeeze(-1)  # [samples, N_data], the scores q·X_i

spread = [raw[D].std().item() for D in widths]
ratios = [deviation / math.sqrt(D) for deviation, D in zip(spread, widths)]
print(f"std(q·X) / √D lies between {min(ratios):.2f} and {max(ratios):.2f}")
assert all(abs(ratio - 1) < 0.05 for ratio in ratios)  # at every width

# %% [markdown]
# **Why are large scores a problem?** We can see why from the derivatives of the softmax, which say how strongly each
# weight $a_i$ reacts to a small change of each score $e_j$:
#
# $$\frac{\partial a_i}{\partial e_j} = a_i(\delta_{ij} - a_j), \qquad
# \delta_{ij} = 1 \text{ if } i = j \text{, else } 0$$
#
# If one weight is almost 1 and the others are almost 0, each of these derivatives contains a factor close to 0. The
# softmax is **saturated**: it makes a clear choice, but almost no **gradient** (the derivatives of the loss, which
# training follows) passes back through it, and training can hardly correct a wrong choice.


# %% tags=["fold"]
# @title Draws Figure 5
def jacobian(e):
    return torch.autograd.functional.jacobian(lambda scores: scores.softmax(dim=-1), e)  # [N_X, N_X]


gentle, loud = e / 2, 4 * e  # [N_X] both: the same order of words, small and large scores
a_gentle = gentle.softmax(dim=-1)  # [N_X]
assert_close(jacobian(gentle), torch.diag(a_gentle) - torch.outer(a_gentle, a_gentle))  # autograd agrees

figure, panels = plots.canvas(10, 3.6, 2)
for panel, given, name in zip(panels, (gentle, loud), ("small scores, e ÷ 2", "large scores, 4 e"), strict=True):
    changes = [f"$e$({word})" for word in words]
    of = [f"$a$({word})" for word in words]
    plots.heat_map(jacobian(given), of, changes, title=name, limits=(-0.25, 0.25), axes=panel)
show(
    figure,
    "Two heat maps of the derivative of each weight by each score. With small scores the entries for we and see are "
    "clearly positive on the diagonal and negative off it; with large scores all sixteen entries are about zero.",
)

# %% [markdown]
# **Figure 5.** The derivatives of the four weights (rows) with respect to the four scores (columns). The scores of
# *vediamo* are halved on the left and multiplied by four on the right. With the large scores the derivatives almost
# vanish, and the weights hardly react to a change of the scores.
#
# **How saturated is the softmax at width $D$?** For the random queries and data vectors from above we measure two
# quantities, with the scores undivided, divided by $\sqrt D$, and divided by $D$:
#
# - the **entropy** $-\sum_i a_i \ln a_i$ of the weights, which is $\ln N_X$ if all weights are equal, and 0 if one data
#   vector has all the weight (with this logarithm, the unit is called *nat*);
# - $\sum_i \partial a_i / \partial e_i = \sum_i a_i (1 - a_i)$, which measures how strongly the weights still react to
#   their own scores. We call it the **remaining gradient**, because it shows how much of the gradient the softmax
#   leaves.
#
# We report medians over the queries, because the few queries whose softmax is not saturated would dominate a mean.

# %% tags=["fold"]
# @title Draws Figure 6
divisors = {"undivided": lambda D: 1.0, "÷ √D": lambda D: math.sqrt(D), "÷ D": lambda D: float(D)}
entropy = {name: [] for name in divisors}  # one number for each of the widths
gradient = {name: [] for name in divisors}  # the same
for name, divisor in divisors.items():
    for D in widths:
        shared = (raw[D] / divisor(D)).softmax(dim=-1)  # [samples, N_data]
        spent = torch.special.entr(shared)  # [samples, N_data], -a ln a, and 0 at a = 0
        entropy[name].append(spent.sum(dim=-1).median().item())  # [samples] -> a number
        gradient[name].append((shared * (1 - shared)).sum(dim=-1).median().item())  # [samples] -> a number

assert entropy["undivided"][-1] < 0.1 and gradient["undivided"][-1] < 0.1  # saturated
assert all(max(of["÷ √D"]) - min(of["÷ √D"]) < 0.35 for of in (entropy, gradient))  # about the same at every width
assert entropy["÷ D"][-1] > math.log(N_data) - 0.05 and gradient["÷ D"][-1] > 0.85  # nearly equal weights

shade = {"undivided": plots.PURPLE, "÷ √D": plots.BLUE, "÷ D": plots.GREEN}
marks = {"undivided": "s-", "÷ √D": "o-", "÷ D": "^-"}
look = {"x_label": "width D", "log": "x", "colours": shade, "styles": marks}
figure, panels = plots.canvas(12, 3.9, 3)
spreads = {name: [std / divisor(D) for std, D in zip(spread, widths)] for name, divisor in divisors.items()}
plots.curves(
    widths, spreads, title="scores: spread", y_label="standard deviation", axes=panels[0], **look | {"log": "xy"}
)
panels[0].plot(
    widths, [math.sqrt(D) for D in widths], ":", color=plots.BLACK, linewidth=2, zorder=4, label="formula: √D"
)
plots.legend_of(panels[0])
plots.curves(widths, entropy, title="weights: entropy", y_label="median entropy (nats)", axes=panels[1], **look)
plots.curves(widths, gradient, title="remaining gradient", y_label="median Σ a(1 − a)", axes=panels[2], **look)
plots.level(panels[1], math.log(N_data), f"all weights equal: ln {N_data}")
panels[1].set_ylim(top=3.1)
show(
    figure,
    "Three panels over the width D from 1 to 1024. The standard deviation of the undivided scores follows the square root of D; "
    "divided by the root it is 1 at every width, divided by D it falls. Undivided, entropy and gradient fall to zero with D; "
    "divided by the root they stay about level; divided by D the entropy rises to that of equal weights, and the gradient "
    "rises slightly.",
)

# %% [markdown]
# **Figure 6.** The standard deviation of the scores (left), the median entropy of the weights (middle) and the median
# remaining gradient (right), at widths from 1 to 1024.
#
# As the width grows, undivided scores saturate the softmax. Division by $D$ keeps the remaining gradient of the softmax
# high, but makes all weights nearly equal: for random queries like these, the output is nearly the plain average of the
# data vectors. Only division by $\sqrt D$ keeps the sharpness of the weights about constant.
#
# The queries and data vectors were random here, with variance 1; in a new network the variance depends on how its
# weights are drawn. The section "Going further" near the end of this lesson tests whether the divisor matters for
# *learning*.

# %% [markdown]
# ## Explorer: one query in the plane
#
# The figure shows five data vectors and one query in the plane. Move the query and watch the scores, the weights and
# the output. Some experiments to try:
#
# 1. Move the query once around the origin, from corner to corner. Which data vectors get the weight, and where does the
#    output $y$ go?
# 2. Move the query to the origin. What are the weights, and why?
# 3. Try to give $X_5$, in the middle, the largest weight.
# 4. The **temperature** $T$ divides the scores once more: $\operatorname{softmax}(e / T)$. Find out when nearly all the
#    weight goes to one data vector, when the weights are nearly equal, and which $T$ has the same effect as the switch
#    that divides the scores by $\sqrt{D_Q} = \sqrt 2$.

# %% tags=["fold"]
# @title Explorer of Figure 7
points = torch.tensor([[2.2, 0.8], [0.4, 2.3], [-2.1, 1.0], [-0.6, -2.2], [0.7, -0.3]])  # [N_X, 2]
point_names = [f"$X_{i + 1}$" for i in range(len(points))]


def attend_in_the_plane(x, y, temperature, scaled):
    query = torch.tensor([x, y])  # [2]
    scores = points @ query / (math.sqrt(2) if scaled else 1) / temperature  # [N_X]
    weights = scores.softmax(dim=-1)  # [N_X]
    return query, scores, weights, weights @ points  # the last is the output, [2]


def draw(**moved):
    query, scores, weights, output = attend_in_the_plane(**moved)
    return plots.attention_in_the_plane(query, points, point_names, scores, weights, output)


def describe(**moved):
    query, _, weights, output = attend_in_the_plane(**moved)
    shares = ", ".join(f"X{i + 1} {weight:.2f}" for i, weight in enumerate(weights.tolist()))
    return f"Query ({query[0]:.1f}, {query[1]:.1f}): weights {shares}; output ({output[0]:.2f}, {output[1]:.2f})."


explore(
    draw,
    alt=describe,
    x=Slider("query, first feature", -3, 3, start=-1.8),
    y=Slider("query, second feature", -3, 3, start=-1.2),
    temperature=Slider("temperature", 0.2, 5, start=1.0),
    scaled=Switch("divide by √D", start=True),
)

# %% [markdown]
# **Figure 7.** One query, five data vectors and the output in the plane (left), with the scores (middle) and the
# weights (right). The larger the circle of a data vector, the larger its weight.
#
# <details><summary>What you should have seen</summary>
#
# 1. The weight moves to the data vectors that lie in the direction of the query. However long the query is, $y$ stays
#    among the data vectors.
# 2. All scores are 0, so all weights are equal and $y$ is the plain average.
# 3. It cannot be done; only with the query at the origin does $X_5$ have as much weight as the others. In every
#    direction at least one of the others lies further out. The dot product favours data vectors that lie far out in the
#    direction of the query, not those that are near to the query, as the Gaussian kernel would.
# 4. With a small $T$ nearly all the weight goes to one data vector; with a large $T$ the weights become more equal.
#    $T = \sqrt 2 \approx 1.4$ without the switch has the same effect as $T = 1$ with it.
#
# </details>

# %% [markdown]
# ## Many queries at once
#
# The decoder has a query for each token that it writes. In an RNN the queries arise one after the other, because each
# decoder state depends on the step before it. But if all queries are given, as here, we can put them as rows into a
# matrix $Q\,[N_Q, D_Q]$ and write the scores as a matrix too, with one row for each query:
#
# $$E = \frac{Q X^\top}{\sqrt{D_Q}}\ [N_Q, N_X], \qquad A = \operatorname{softmax}(E)\ \text{along each row}, \qquad
# Y = A X\ [N_Q, D_X]$$
#
# From here on the scores are divided, as in a Transformer. Our queries and data vectors have two features, so each
# score is divided by $\sqrt 2$, and the weights of *vediamo* are a little less sharp than above.
#
# The three lines below give the same outputs as a loop over the queries, and as PyTorch's call. Note the default of
# this call: without the argument `scale`, it divides the scores by the square root of the queries' width.

# %% tags=["nbval-check-output"]
E = Q @ X.T / math.sqrt(D_Q)  # [N_Q, D_Q] @ [D_Q, N_X] -> [N_Q, N_X]
A = E.softmax(dim=-1)  # [N_Q, N_X], each row sums to 1
Y = A @ X  # [N_Q, N_X] @ [N_X, D_X] -> [N_Q, D_X]

for i in range(N_Q):
    a_i = (X @ Q[i] / math.sqrt(D_Q)).softmax(dim=-1)  # [N_X]
    assert_close(Y[i], a_i @ X)  # [D_X]
assert_close(F.scaled_dot_product_attention(Q, X, X), Y)
tell("undivided", a)  # [N_X], vediamo as above
tell("÷ √2", A[0])  # [N_X], vediamo now

# %% tags=["fold"]
# @title Draws Figure 8
show(
    diagrams.looks([f"query: “{one}”" for one in asked], words, A),
    "Three panels. The query “vediamo” draws its output mostly from “see” and “we”; “il” mostly from “the”, and a little "
    "from “sky”; “cielo” almost entirely from “sky”.",
)

# %% [markdown]
# **Figure 8.** Each query and the words to which it attends; the box on top is the query's output, and the thicker
# the line, the larger the weight. The same four data vectors give three different outputs, because each query has its
# own weights.

# %% tags=["fold"]
# @title Draws Figure 9
show(
    diagrams.attention_layer(E, A, asking=asked, data=words),
    "Three queries, vediamo, il, cielo, as rows meet four data vectors, we, see, the, sky, as columns in the matrix of scores "
    "E, which are divided by the root of D_Q. A softmax over each row gives the matrix of weights A. Each row of A mixes the "
    "four data vectors into one of the three outputs.",
)

# %% [markdown]
# **Figure 9.** The attention layer for several queries. Each row belongs to one query: its scores, its weights and its
# output. Nothing passes from one row to another.
#
# **In which direction does the softmax run?** Each *query* needs its own distribution over the data vectors, so each
# *row* of $A$ must sum to 1. For a single matrix that direction is `dim=1`, but with a batch axis in front, axis 1 is
# the axis of the queries. The last axis, `dim=-1`, is right in both cases.
#
# The wrong direction, `dim=-2`, raises no error, and its result looks plausible. The sums of the rows give it away:

# %% tags=["nbval-check-output"]
wrong = E.softmax(dim=-2)  # [N_Q, N_X], each column sums to 1
tell("right", A.sum(dim=-1))  # [N_Q]
tell("wrong", wrong.sum(dim=-1))  # [N_Q]

# %% tags=["fold"]
# @title Draws Figure 10
assert_close(F.scaled_dot_product_attention(Q[:1], X, X), Y[:1])  # a query alone has the same output

figure, panels = plots.canvas(11, 3.3, 2)
plots.heat_map(A, asked, words, title="dim=−1: each row sums to 1", row_label="queries", axes=panels[0])
plots.heat_map(wrong, asked, words, title="wrong, dim=−2: each column sums to 1", row_label="queries", axes=panels[1])
show(
    figure,
    "Two heat maps, queries vediamo, il, cielo against we, see, the, sky. Left, softmax over each row: vediamo "
    "attends to see and we. Right, softmax over each column: rows no longer sum to 1.",
)

# %% [markdown]
# **Figure 10.** The same scores after a softmax over each row (left panel: correct) and over each column (right panel:
# wrong). Both matrices look like weights, but in the right panel the weights of a query do not sum to 1.
#
# A softmax over each column makes the queries compete for the data vectors. A softmax over each row keeps the queries
# independent: removing a query leaves the outputs of the others unchanged.
#
# **Batches.** Networks process many examples at once: $B$ sentences, each with its own queries and data vectors. The
# batch is one more axis, and it comes first. A matrix product of two stacks of matrices multiplies them pair by pair,
# so the three steps stay the same. The code only has to count axes from the end: `X.mT` swaps the last two axes (`X.T`
# would reverse the order of all of them, a use that torch has deprecated), `Q.shape[-1]` is the width of the queries,
# and `dim=-1` is the axis of the data vectors.
#
# If each example has a single query, the queries form a matrix $[B, D_Q]$. Then `q[..., None]` makes each query a
# matrix with one column, and `squeeze(-1)` removes this axis from the result (last two lines, without the division).

# %%
Q_batch, X_batch = normal(6, 3, 8), normal(6, 4, 8)  # [B, N_Q, D_Q], [B, N_X, D_X]
A_batch = (Q_batch @ X_batch.mT / math.sqrt(Q_batch.shape[-1])).softmax(dim=-1)  # [B, N_Q, N_X]
Y_batch = A_batch @ X_batch  # [B, N_Q, D_X]
assert_close(F.scaled_dot_product_attention(Q_batch, X_batch, X_batch), Y_batch)

q_batch = Q_batch[:, 0]  # [B, D_Q], the first query of each example
e_batch = (X_batch @ q_batch[..., None]).squeeze(-1)  # [B, N_X, D_X] @ [B, D_Q, 1] -> [B, N_X, 1] -> [B, N_X]

# %% [markdown]
# ## Keys and values
#
# So far each data vector plays two roles: the query is compared with it, and it is what the query gets back. Should the
# same vector do both?
#
# Think of a dictionary in Python: you look up a **key**, and you get the **value** stored under it. In the same way
# each data vector can have a key, with which queries are compared, and a value, which goes into the output.
#
# As an example, take a dictionary of paints. Each data vector is $(\cos h, \sin h, \text{price})$, where the angle $h$
# on the colour circle is the hue of the paint. We ask for the hues red, orange, green and blue, and we want the prices.
# A query is $20\,(\cos h, \sin h)$; its length makes the weights sharp. These are the paints:

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
for b in range(6):  # what the batches above have computed is what each example has by itself
    A_b = (Q_batch[b] @ X_batch[b].T / math.sqrt(8)).softmax(dim=-1)  # [N_Q, N_X]
    assert_close(Y_batch[b], A_b @ X_batch[b])  # [N_Q, D_X]
    assert_close(e_batch[b], X_batch[b] @ q_batch[b])  # [N_X]

paints = ["red", "yellow", "green", "blue", "violet"]
hues = torch.tensor([0.0, 60.0, 120.0, 240.0, 300.0], device=DEVICE).deg2rad()  # [N_X]
prices = torch.tensor([7.0, 2.0, 5.0, 9.0, 4.0], device=DEVICE)  # [N_X]
X_paint = torch.stack([hues.cos(), hues.sin(), prices], dim=-1)  # [N_X, D_X] = [5, 3]

wanted = ["red", "orange", "green", "blue"]
angles = torch.tensor([0.0, 30.0, 120.0, 240.0], device=DEVICE).deg2rad()  # [N_Q]
Q_paint = 20 * torch.stack([angles.cos(), angles.sin()], dim=-1)  # [N_Q, D_Q] = [4, 2], long: the weights become sharp

for paint, hue, price in zip(paints, hues.rad2deg().tolist(), prices.tolist()):
    print(f"{paint:>7}: hue {hue:3.0f}°, price {price:.0f}")

# %% [markdown]
# Our layer cannot do this yet. A query has two features and a data vector has three, so their dot product does not even
# exist. And the output, a weighted sum of whole data vectors, would mix hues and prices, while we want prices only. A
# matrix $W_K$ solves the first problem: it extracts from each data vector the part that is compared, its key. A second
# matrix $W_V$ solves the second: it extracts the part that is passed on, its value.
#
# $$K = X W_K\ [N_X, D_Q], \qquad V = X W_V\ [N_X, D_V], \qquad
# A = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{D_Q}}\right), \qquad Y = A V\ [N_Q, D_V]$$
#
# The keys are as wide as the queries, because the two are compared by the dot product. The values may have any width.
# In a network both matrices are learned, and they mix features; here we can write down two that merely select some.

# %%
W_K = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], device=DEVICE)  # [D_X, D_Q] = [3, 2], keeps the hue
W_V = torch.tensor([[0.0], [0.0], [1.0]], device=DEVICE)  # [D_X, D_V] = [3, 1], keeps the price

K_paint = X_paint @ W_K  # [N_X, D_X] @ [D_X, D_Q] -> [N_X, D_Q]
V_paint = X_paint @ W_V  # [N_X, D_X] @ [D_X, D_V] -> [N_X, D_V]

E_paint = Q_paint @ K_paint.T / math.sqrt(2)  # [N_Q, N_X], queries against keys
A_paint = E_paint.softmax(dim=-1)  # [N_Q, N_X]
Y_paint = A_paint @ V_paint  # [N_Q, N_X] @ [N_X, D_V] -> [N_Q, D_V], a mixture of values

# %% tags=["fold"]
# @title Draws Figure 11
assert_close(F.scaled_dot_product_attention(Q_paint, K_paint, V_paint), Y_paint)

figure, (left, right) = plots.canvas(10.5, 3.4, 2, gridspec_kw={"width_ratios": [2.6, 1]})
plots.heat_map(A_paint, wanted, paints, title="weights A", row_label="queries", column_label="keys", axes=left)
options = {"title": "outputs Y = A V: prices", "limits": (0, 10.5), "numbers": ".1f"}
colours = ("#C62828", plots.ORANGE, plots.GREEN, plots.BLUE)
plots.bars(Y_paint[:, 0], wanted, colour=colours, axes=right, **options)
show(
    figure,
    "Left: weights of the queries red, orange, green, blue over five paints: a weight of one for red, green and blue, "
    "and half on red, half on yellow for orange. Right: the prices that come out, as bars in the colours that were asked for.",
)

# %% [markdown]
# **Figure 11.** The weights, computed from queries and keys (left), and the outputs, which are weighted sums of the
# values (right). A query whose hue is among the keys gives nearly all its weight to the paint of this hue.
#
# Orange is not among the paints. Its hue lies halfway between red and yellow, so each of the two gets half of the
# weight, and the output is the mean of their prices. Attention is a dictionary that also answers queries between its
# keys: it interpolates the values. All keys have length 1 here, so these are the weights of a Gaussian kernel around
# the *direction* of the query, as in 1964; the longer the query, the narrower the kernel.
#
# **What happens if the keys also serve as the values?** Then the output is a weighted average of the *keys*: we ask for
# a hue and get, at best, the same hue back, as the output below shows.

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
back = F.scaled_dot_product_attention(Q_paint, K_paint, K_paint)  # [N_Q, D_Q], keys in place of values
assert torch.allclose(back, Q_paint / 20, atol=0.15)
received = torch.atan2(back[:, 1], back[:, 0]).rad2deg().round() % 360  # [N_Q], as hues
for name, hue, answer in zip(wanted, angles.rad2deg().tolist(), received.tolist()):
    print(f"{name:>7}: asked for hue {hue:3.0f}°, received hue {int(answer):3d}°")

# %% [markdown]
# With separate values again, this is the whole layer, with the scores and the weights of the paints:

# %% tags=["fold"]
# @title Draws Figure 12
show(
    diagrams.attention_layer(E_paint, A_paint, keys_and_values=True, asking=wanted, data=paints),
    "The attention layer with keys and values, with the scores and weights of the paints. The five data vectors X, red, yellow, "
    "green, blue, violet, become keys through W_K and values through W_V. The four queries, red, orange, green, blue, meet the "
    "keys in the scores, which are divided by the root of D_Q; the weights mix the values into the outputs.",
)

# %% [markdown]
# **Figure 12.** The attention layer with keys and values. The keys decide where the weight goes, and the values decide
# what the outputs are made of.
#
# **Our matrices act from the right, and `nn.Linear` stores the transpose.** In our formulas each vector is a row, and
# $Y = XW$ with $W\,[D_{in}, D_{out}]$. An `nn.Linear` stores $W^\top\,[D_{out}, D_{in}]$ as its `weight` and computes
# `x @ weight.T + bias`. Without the bias this is $XW$ again; but if you copy a matrix from one form to the other, you
# must transpose it.

# %%
layer = nn.Linear(in_features=3, out_features=2, bias=False, device=DEVICE)  # D_X -> D_Q
print("weight", [*layer.weight.shape])  # [D_Q, D_X], not [D_X, D_Q]

with torch.no_grad():
    layer.weight.copy_(W_K.T)
assert_close(layer(X_paint), X_paint @ W_K)

# %% [markdown]
# ## Cross-attention: two sequences
#
# So far the decoder state itself has served as the query. If encoder and decoder states differ in width, $W_K$ can make
# keys that are as wide as the decoder state. But a drawback remains: $D_Q$ is not ours to choose. It is the width of
# the decoder state, often far more than the comparison needs, and the keys must be as wide.
#
# The solution is to compute the queries with a matrix, too: one sequence $S\,[N_Q, D_S]$ provides the queries, and
# another sequence $X\,[N_X, D_X]$ provides the keys and values. Queries, keys and values are each a **projection** of
# their sequence, which here simply means its product with a learned matrix. $W_Q$ and $W_K$ project the two sequences
# into a common space of width $D_Q$, in which queries and keys can be compared:
#
# $$Q = S W_Q\ [N_Q, D_Q], \qquad K = X W_K\ [N_X, D_Q], \qquad V = X W_V\ [N_X, D_V]$$
#
# This is **cross-attention**. In the translator, $S$ holds the decoder states of *"vediamo il cielo"* and $X$ the
# encoder states of *"we see the sky"*.
#
# Here is the layer with learnable matrices, which are not trained yet; once we have $Q$, $K$ and $V$, everything is as
# before. By default each `nn.Linear` also adds a learnable bias, which our formulas leave out. All widths and lengths
# differ, which is a good habit: a transpose in the wrong place then raises an error at once.

# %% tags=["nbval-check-output"]
S, X_cross = normal(3, 7), normal(5, 6)  # [N_Q, D_S], [N_X, D_X]

torch.manual_seed(0)
layers = {"Q": nn.Linear(7, 4), "K": nn.Linear(6, 4), "V": nn.Linear(6, 2)}  # D_S -> D_Q, D_X -> D_Q, D_X -> D_V
project = nn.ModuleDict(layers).to(DEVICE)
Q_cross, K_cross, V_cross = project["Q"](S), project["K"](X_cross), project["V"](X_cross)

E_cross = Q_cross @ K_cross.T / math.sqrt(4)  # [N_Q, N_X], D_Q = 4
A_cross = E_cross.softmax(dim=-1)  # [N_Q, N_X]
Y_cross = A_cross @ V_cross  # [N_Q, D_V]

print("Q", [*Q_cross.shape], " K", [*K_cross.shape], " V", [*V_cross.shape])  # [N_Q, D_Q], [N_X, D_Q], [N_X, D_V]
print("S", [*S.shape], " X", [*X_cross.shape], " A", [*A_cross.shape], " Y", [*Y_cross.shape])

# %% tags=["fold"]
# @title Draws Figure 13
assert_close(F.scaled_dot_product_attention(Q_cross, K_cross, V_cross), Y_cross)

show(
    diagrams.attention_layer(E_cross, A_cross, cross=True),
    "Cross-attention, with the scores and weights just computed. The sequence S becomes queries through W_Q; the data X "
    "become keys through W_K and values through W_V; scores divided by the root of D_Q, softmax over each row, weights "
    "and outputs as before.",
)

# %% [markdown]
# **Figure 13.** Cross-attention. The rows, from the queries to the outputs, belong to the sequence $S$; the columns,
# with keys and values, belong to the sequence $X$. The vectors are random and the layer is not trained, so the numbers
# have no meaning here.
#
# Through this layer the decoder of a Transformer attends to the states of its encoder (lesson 10), the tokens of a
# caption attend to the positions of an image (lesson 16), and a language model attends to image features (lesson 17).
# If $S$ and $X$ are the same sequence, the layer is called **self-attention**; it is the subject of lesson 05.
#
# Look at the shapes. $Y$ has a row for each row of $S$, the sequence that provides the queries, and it has the width
# of the *values*. The number of data vectors does not appear in the shape of $Y$: the output has the same shape
# whether a query attends to five tokens or to five thousand. Nor does the number of parameters depend on the length
# of either sequence. We try the same layer on ten times as many data vectors:

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
parameters = sum(parameter.numel() for parameter in project.parameters())
assert parameters == (7 + 1) * 4 + (6 + 1) * 4 + (6 + 1) * 2  # + 1 for the biases

longer = normal(50, 6)  # [N_X, D_X], ten times as many data vectors, the same layer
Y_longer = F.scaled_dot_product_attention(Q_cross, project["K"](longer), project["V"](longer))  # [N_Q, D_V]
for data, output in ((X_cross, Y_cross), (longer, Y_longer)):
    print(f"{parameters} parameters  X {[*data.shape]}  Y {[*output.shape]}")

# %% [markdown]
# ## Going further: does the division matter for learning?
#
# You may skip this section and go on with the summary; later lessons do not need it.
#
# Vaswani et al. (2017, section 3.2.1) *suspect* that vanishing gradients are the reason why undivided dot products do
# worse than additive attention at large width. We test this in a small experiment. Sixteen fixed random data vectors
# serve as keys, and each has a fixed random value vector. The 128 queries are free parameters: each starts at random
# and must learn to fetch the value of a given data vector; the loss is the squared error of its output. A query has
# **found** its data vector when it gives this vector more than half of its weight. Each run takes 150 steps, and at
# each width all runs start from the same random draw. For each divisor and width we report the best of several learning
# rates, once with plain gradient descent and once with Adam, which divides each parameter's step by the recent size of
# its gradient.

# %% tags=["fold"]
# @title Defines trained_weights, found, share_found, best_shares
targets = torch.arange(128, device=DEVICE) % 16  # [128], which data vector each query is to fetch


def trained_weights(D, divisor, optimiser, rate, start=1.0, steps=150):
    """Trains 128 free queries of width D; returns their weights [128, 16] at the first and at the last step."""
    seeded = torch.Generator().manual_seed(D)
    X = torch.randn(16, D, generator=seeded).to(DEVICE)  # [16, D], the data vectors
    V = torch.randn(16, 8, generator=seeded).to(DEVICE)  # [16, 8], their values
    Q = (start * torch.randn(128, D, generator=seeded)).to(DEVICE).requires_grad_()  # [128, D]
    training = optimiser([Q], lr=rate)
    for step in range(steps):
        A = (Q @ X.T / divisor).softmax(dim=-1)  # [128, 16]
        first = A.detach() if step == 0 else first  # [128, 16]
        loss = (A @ V - V[targets]).square().mean(dim=-1).sum()  # a sum: no query disturbs another
        training.zero_grad()
        loss.backward()
        training.step()
    return first, A.detach()


def found(A):
    """Which queries have found their data vector, from weights A [128, 16]."""
    return A.gather(1, targets[:, None]).squeeze(-1) > 0.5  # [128]


def share_found(*setting, **more):
    """The share of queries that find their data vector when they are trained in this setting."""
    _, last = trained_weights(*setting, **more)  # [128, 16]
    return found(last).float().mean().item()


trained_widths = [8, 32, 128, 512]
rates = {torch.optim.SGD: [0.1, 1.0, 10.0, 100.0, 1000.0], torch.optim.Adam: [0.01, 0.1, 1.0]}  # SGD: gradient descent


def best_shares(optimiser, what):
    """For each divisor, the best share over the learning rates at each of the widths."""
    best = {name: [] for name in divisors}
    for D, name in progress([(D, name) for D in trained_widths for name in divisors], what):
        shares = [share_found(D, divisors[name](D), optimiser, rate) for rate in rates[optimiser]]
        best[name].append(max(shares))
    return best


by_descent = best_shares(torch.optim.SGD, "gradient descent")
by_adam = best_shares(torch.optim.Adam, "Adam")

# %% tags=["fold"] label="asserts the claims, with room to spare"
# @title Asserts the claims, with room to spare
# Another processor may round a query or two to the other side, so the claims are asserted with room to spare.
for name, best in (("gradient descent", by_descent), ("Adam", by_adam)):
    widest = {kind: best[kind][-1] for kind in divisors}  # shares at D = 512
    print(f"{name:>16}:", *(f"{kind} {share:.2f}  " for kind, share in widest.items()))
    assert widest["undivided"] < 0.4 and widest["÷ √D"] > 0.8 and widest["÷ D"] > 0.8
    assert best["undivided"][-1] < best["undivided"][0] / 2 and best["undivided"][2] < 0.4  # D = 512, 8 and 128
    assert min(best["÷ √D"]) > 0.5 and min(best["÷ D"]) > 0.5

figure, panels = plots.canvas(10, 3.8, 2, sharey=True)
for panel, best, name in zip(panels, (by_descent, by_adam), ("gradient descent", "Adam"), strict=True):
    plots.curves(trained_widths, best, title=f"{name}, best learning rate", axes=panel, **look)
    plots.level(panel, 1 / 16, "chance", at=0.02)
panels[0].set(ylabel="fraction that found their vector", ylim=(0, 1.05))
show(
    figure,
    "The fraction of queries that found their data vector over the width D, at the best learning rate, for gradient "
    "descent and for Adam. Undivided it falls by more than half from the smallest width to the largest; divided by the "
    "root of D, or by D, it lies above one half at every width and near the top at the largest.",
)

# %% [markdown]
# **Figure 14.** The fraction of queries that learn to find their data vector, at the best learning rate, with gradient
# descent (left) and with Adam (right). Without the division, most queries fail at large width; with either division,
# most succeed at every width. The dotted line, 1/16, is the fraction to expect if each query gave more than half of its
# weight to a data vector chosen by chance; with nearly equal weights the fraction is 0. The lines above the figure give
# the fractions at width 512.
#
# Adam enlarges the steps of queries whose gradient is small, yet at large width most queries of the undivided layer
# fail with Adam as well. The two lines printed below describe the unsuccessful queries of the undivided layer after
# gradient descent at width 512, once for a small and once for a very large learning rate. The first number is the
# fraction that has *moved*, that is, attends to another data vector than at the start. With small steps it is less than
# half: most of these queries are still where they began. With large steps it is more than half, but they have moved to
# another wrong data vector. In both cases the median of their largest weight is practically 1, so their softmax is
# saturated.

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
slow_and_fast = {rate: trained_weights(512, 1.0, torch.optim.SGD, rate) for rate in (0.1, 1000.0)}
for rate, (before, after) in slow_and_fast.items():  # [128, 16] both
    lost = ~found(after)  # [128]
    moved = (before.argmax(dim=-1) != after.argmax(dim=-1))[lost].float().mean().item()
    largest = after[lost].amax(dim=-1).median().item()  # [lost] -> a number
    print(f"rate {rate:6g}: {moved:.2f} attend to another vector than at first; median top weight {largest:.2f}")
    assert (moved < 0.5 if rate < 1 else moved > 0.5) and largest > 0.99

# %% [markdown]
# **Published results.** Vaswani et al. refer to Britz et al. (2017), who trained translators with attention of several
# widths. The table gives their BLEU, a score that says how close a translation comes to human ones, on newstest2013,
# English to German, with the spread that they report.
#
# | attention width | dot product, undivided | additive |
# |---:|:---:|:---:|
# | 128 | 22.03 ± 0.08 | 22.23 ± 0.11 |
# | 256 | 22.33 ± 0.28 | 22.33 ± 0.04 |
# | 512 | 21.78 ± 0.05 | 22.47 ± 0.27 |
# | 1024 | 18.22 ± 0.03 | 22.10 ± 0.18 |
#
# In both experiments undivided dot products do clearly worse at large width.
#
# <details><summary>Going further: how the two experiments differ</summary>
#
# - Theirs is a whole RNN translator, measured in BLEU. Ours is one layer, measured by what each query finds.
# - They compare undivided dot products with additive attention. We compare undivided with divided dot products.
# - In their translator all positions share the matrices that make queries and keys, and the data vectors are learned
#   too. In our experiment each query learns by itself, and keys and values are fixed.
# - Their translator becomes much worse at width 1024 only. In our undivided layer most queries fail at width 32
#   already.
# - The Transformer divides, and it also splits its vectors into heads of width 64 (lesson 06), where the division
#   matters less than at width 1024.
#
# </details>
#
# Our experiment adds two findings that the usual account leaves out.
#
# **Division by $D$ works too**, in Figure 14 even a little better than division by $\sqrt D$, but with a learning rate
# of its own. If the weights are nearly equal at the start, there is still a gradient, and a larger step makes up for
# the small scores. If the softmax is strongly saturated at the start, as in the wide undivided layer, most queries have
# almost no gradient, and with none of our learning rates does more than a small part of them find their data vector.
# Yang et al. (2022) divide by $D$ for a different reason: training makes queries and keys dependent, and the scores of
# dependent vectors can grow like $D$ instead of $\sqrt D$, as the score of a vector with itself does.
#
# **The division changes the start and the step, not what the layer can express.** Without the division, the query $q' =
# q/\sqrt D$ has the same scores as $q$ has with it, so let the undivided layer start from $q/\sqrt D$ (a *small
# start*). Let $g$ be the gradient for $q$, and $\eta$ its learning rate. By the chain rule the gradient for $q'$ is $g'
# = \sqrt D\,g$. For equal scores $q'$ must move by $\eta g/\sqrt D = (\eta/D)\,g'$: the learning rate must be $D$ times
# smaller (a *small step*), and gradient descent then gives the same scores without the division. The line below shows
# it at width 512: both divided layers use one and the same learning rate, and the undivided layer uses this rate
# divided by $D$. The common rate is not the best for $\sqrt D$, whose fraction is therefore lower than in Figure 14.

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
width, rate = 512, 1.0
by_root = share_found(width, math.sqrt(width), torch.optim.SGD, rate)
by_width = share_found(width, width, torch.optim.SGD, rate)
small_start = share_found(width, 1.0, torch.optim.SGD, rate / width, start=1 / math.sqrt(width))
print(
    f"at one learning rate: ÷ √D {by_root:.2f}, ÷ D {by_width:.2f}; undivided, small start and step {small_start:.2f}"
)
assert by_width < 0.1 < 0.5 < by_root  # too flat is slow
assert abs(by_root - small_start) < 0.05  # the same start and step in another form

# %% [markdown]
# The undivided layer now does as well as the layer that divides by $\sqrt D$. Division by $D$ fails at this learning
# rate. The softmax lets the gradient pass (Figure 6), but on its way to the query the gradient is multiplied by $1/D$
# instead of $1/\sqrt D$, and a step of the query then changes the scores by $1/D$ instead of $1/\sqrt D$ once more.
#
# In a translator, a single matrix $W_Q$ makes all the queries of a layer, and when an unsaturated query updates $W_Q$,
# it does so for every query, even for queries that get almost no gradient of their own. With a shared matrix an
# undivided layer can learn, at least at width 64 and with its best learning rate:
#
# <details><summary>Going further: the experiment with a shared matrix</summary>
#
# The width is 64. Each step draws 64 new examples of 16 data vectors. In each example the first data vector is the one
# to be found; its place gives nothing away, because the order of the data vectors does not matter to the layer. The
# query is made from this vector by a fixed rotation followed by $W_Q$, so $W_Q$ must learn to undo the rotation.
#
# </details>


# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
def share_found_with_one_matrix(D, divisor, rate, steps=300, examples=64):
    """Trains one W_Q for all queries; returns the share found at the first step, and over the last 30 steps."""
    seeded = torch.Generator().manual_seed(D)
    rotation = torch.linalg.qr(torch.randn(D, D, generator=seeded)).Q.to(DEVICE)  # [D, D]
    W_Q = torch.randn(D, D, generator=seeded).to(DEVICE) / math.sqrt(D)  # [D, D], keeps the queries' variance at 1
    W_Q.requires_grad_()
    shares = []
    for _ in range(steps):
        X = torch.randn(examples, 16, D, generator=seeded).to(DEVICE)  # [examples, 16, D]
        V = torch.randn(examples, 16, 8, generator=seeded).to(DEVICE)  # [examples, 16, 8]
        Q = X[:, :1] @ rotation @ W_Q  # [examples, 1, D], one query in each example
        A = (Q @ X.mT / divisor).softmax(dim=-1)  # [examples, 1, 16]; .mT swaps the last two axes
        loss = (A @ V - V[:, :1]).square().mean()
        (step,) = torch.autograd.grad(loss, W_Q)  # [D, D]
        with torch.no_grad():
            W_Q -= rate * step
        shares.append((A[:, 0, 0] > 0.5).float().mean().item())
    return shares[0], sum(shares[-30:]) / 30


best_rates = {"undivided": 1.0, "÷ √D": 10.0}  # out of 0.1, 1 and 10
together = {name: share_found_with_one_matrix(64, divisors[name](64), rate) for name, rate in best_rates.items()}
for name, (at_first, at_last) in together.items():
    assert at_first < 0.3 and at_last > 0.8  # before training about chance
    print(f"one W_Q for all, {name:>9}: after training {at_last:.2f} of the queries find their data vector")

# %% [markdown]
# We conclude that without the division, a wide layer whose queries and keys have features of variance 1 *starts*
# saturated, and that, in our experiment, most of its queries do not find their data vector if each has its own
# parameters. Where many examples share $W_Q$, a layer of width 64 recovered in our experiment, but the published table
# suggests that it does not always do so. The division costs nothing and removes the risk at the start.

# %% [markdown]
# ## Summary
#
# | what | formula | shape |
# |---|---|---|
# | queries, from one sequence $S$ | $Q = S W_Q$ | $[N_Q, D_Q]$ |
# | keys and values, from another sequence $X$ | $K = X W_K$, $V = X W_V$ | $[N_X, D_Q]$, $[N_X, D_V]$ |
# | scores | $E = QK^\top/\sqrt{D_Q}$ | $[N_Q, N_X]$ |
# | weights, each row sums to 1 | $A = \operatorname{softmax}(E)$, `dim=-1` | $[N_Q, N_X]$ |
# | outputs, weighted sums of the values | $Y = AV$ | $[N_Q, D_V]$ |
# | why the root | $\operatorname{Var}(q \cdot k) = D_Q$ for independent features of mean 0 and variance 1 | |
# | order | permuting the data vectors leaves $Y$ unchanged; permuting the queries permutes the rows of $Y$ | |
#
# ```python
# Y = F.scaled_dot_product_attention(Q, K, V)  # divides by √D_Q; each may have a batch axis in front
# ```
#
# The picture to remember is Figure 13: a matrix with a row for each query and a column for each data vector. The keys
# decide where the weight of a row goes, and the values decide what its output is made of.
#
# We can now answer the opening question: which encoder states matter for *vediamo*, and which for *il*? The attention
# weights say how much of each state goes into the output, and each query has its own (Figure 8): *vediamo* attends
# mostly to *see*, then to *we*; *il* attends mostly to *the*; *cielo* attends mostly to *sky*. Here we chose the
# vectors so that the weights come out in this way. In a trained translator nobody chooses them: training finds the
# matrices $W_Q$, $W_K$ and $W_V$.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> All data vectors are doubled, with no projections. What happens to the weights and to the
# output?</summary>
#
# All scores double, so the weights get sharper: doubling the scores has the same effect as halving the temperature. The
# output is a weighted sum of the doubled vectors with the sharper weights, so in general it is not just twice the old
# one.
#
# </details>
#
# <details><summary><b>2.</b> The same vector <i>c</i> is added to every key. What happens to the weights?</summary>
#
# The weights stay the same. Every score of the query $q$ grows by the same number $q \cdot c/\sqrt{D_Q}$, and the
# softmax ignores a shift that is common to all scores. A bias in the layer that makes the keys therefore has no effect
# on the output; a bias in the layer that makes the queries does have one.
#
# </details>
#
# <details><summary><b>3.</b> There is a single query, and the softmax runs over the queries by mistake. What are the
# weights?</summary>
#
# They are all 1, because each exponential is divided by itself. The output is then the plain sum of the values,
# whatever the query is. Printing a row sum of $A$ reveals the mistake.
#
# </details>
#
# <details><summary><b>4.</b> D<sub>S</sub> = 300, D<sub>X</sub> = 512, D<sub>Q</sub> = 64, D<sub>V</sub> = 128. By what
# are the scores divided? How wide is the output?</summary>
#
# The scores are divided by $\sqrt{64} = 8$, because the dot product sums over the width that queries and keys share.
# The output is as wide as the values, 128.
#
# </details>
#
# <details><summary><b>5.</b> The derivation of $\sqrt D$ assumed that query and key are independent. How large is the score
# of a random vector with itself?</summary>
#
# The sum $x \cdot x = \sum_d x_d^2$ has mean $D$, not 0. After the division the score is still about $\sqrt D$, so a
# wide vector that is its own query among random data vectors attends mostly to itself. Two different learned
# projections, $W_Q \neq W_K$, allow it to attend to other vectors.
#
# </details>
#
# <details><summary><b>6.</b> Can a component of the output be larger than the same component of every value?</summary>
#
# No: the weights are positive and sum to 1, so the output is an average of the values. Only the layers that follow,
# such as another matrix or a small network, can compute something new from it.
#
# </details>
#
# <details><summary><b>7.</b> One data vector occurs twice in the list. Does it count twice?</summary>
#
# Yes: both copies have the same score and the same weight, and together they get more weight than a single copy would.
# Attention treats the data vectors as a collection with repetitions, not as a set.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **The axis of the softmax.** The softmax runs over the data vectors, the last axis of $E\,[N_Q, N_X]$: `dim=-1`. The
#   wrong direction raises no error. Check that `A.sum(dim=-1)` contains only ones.
# - **The width under the root.** Divide by the root of the width over which the dot product sums: $D_Q$, the width of
#   queries and keys after any projection. It is not $D_X$, $D_S$ or $D_V$.
# - **Dividing twice.** `F.scaled_dot_product_attention` already divides by $\sqrt{D_Q}$. If you have already divided
#   the queries yourself, set `scale=1.0`.
# - **Reading too much into the weights.** A weight says by what factor a vector was multiplied in the sum. It does not
#   say how much this vector changed the result of the network, or why. Other weights can also give the same output.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *Softmax over "each column", `dim=1`.* These slides draw the matrix transposed. Each row of $A\,[N_Q, N_X]$ sums to
#   1. For this single matrix `dim=1` is right; with more axes in front only `dim=-1` is.
# - *$q \cdot X_i \sqrt{D_X}$.* The fraction bar is missing. The formula is $q \cdot X_i / \sqrt{D_Q}$.
# - *$\sqrt{D_X}$ under the bar.* This is right as long as nothing is projected, because then $D_X = D_Q$. In general
#   the divisor is $\sqrt{D_Q}$.
# - *Constant vectors as the reason for the root.* Their dot product grows like $D$. The reason is the variance of a sum
#   of independent terms.
# - *$V = X W_V$ of shape $[D_X, D_V]$.* The shape is $[N_X, D_V]$.
# - *$Y = A V$ of shape $[N_Q, D_X]$.* The shape is $[N_Q, D_V]$.
# - *"Separate key and query".* $W_K$ and $W_V$ separate key and value.
#
# </details>

# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/04_attention_layer/04_attention_layer.ipynb).
# - **Read on**: [lesson 05](05_self_attention.ipynb), where queries, keys and values come from one sequence.
# - **Look up**: the [glossary](../docs/glossary.md).

# %% [markdown]
# ## References
#
# - E. A. Nadaraya (1964). On estimating regression. Theory of Probability and Its Applications 9 (1), 141–142. G. S.
#   Watson (1964). Smooth regression analysis. Sankhyā, Series A, 26 (4), 359–372. *Averages weighted by a kernel.*
# - A. Graves, G. Wayne, I. Danihelka (2014). Neural Turing machines. arXiv:1410.5401. *Reading a memory by content.*
# - D. Bahdanau, K. Cho, Y. Bengio (2015). Neural machine translation by jointly learning to align and translate. ICLR.
#   arXiv:1409.0473. *Additive attention.*
# - M.-T. Luong, H. Pham, C. D. Manning (2015). Effective approaches to attention-based neural machine translation.
#   EMNLP. arXiv:1508.04025. *Compares several scores, the dot product among them.*
# - A. Vaswani et al. (2017). Attention is all you need. NeurIPS. arXiv:1706.03762. *Section 3.2.1: the scaled dot
#   product; its footnote 4 has the variance argument.*
# - D. Britz, A. Goldie, M.-T. Luong, Q. V. Le (2017). Massive exploration of neural machine translation architectures.
#   EMNLP. arXiv:1703.03906. *The published table.*
# - J. Alammar (2018). The illustrated Transformer. https://jalammar.github.io/illustrated-transformer/. *The scores 112
#   and 96.*
# - Y.-H. H. Tsai et al. (2019). Transformer dissection: a unified understanding of Transformer's attention via the lens
#   of kernel. EMNLP. arXiv:1908.11775. *Attention as kernel smoothing.*
# - G. Yang et al. (2022). Tensor programs V: tuning large neural networks via zero-shot hyperparameter transfer.
#   arXiv:2203.03466. *Why one may divide by $D$ instead.*
