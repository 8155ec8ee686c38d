# %% [markdown]
# # 04 · The attention layer
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/04_attention_layer.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - take the attention out of a translation RNN and write it as a layer of its own, from one query with loops to a
#   matrix product;
# - say why the scores are divided by $\sqrt{D_Q}$, and show by measurement what happens without it;
# - separate *where to look* (keys) from *what to fetch* (values), and let one sequence look at another.
#
# **You need** PyTorch basics (tensors, matrix products, `nn.Linear`, `backward`), and what mean and variance are. Lesson
# 02 shows where the idea came from, but nothing of it is assumed.
#
# **Time** about 50 minutes to read; the cells run in about 20 seconds on two CPU cores.

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


# %%
def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


def tell(name, values):
    """Prints a vector on one line, rounded."""
    print(f"{name:>10}", *(f"{value:6.2f}" for value in values.tolist()))


# %% [markdown]
# A network translates *"we see the sky"* into *"vediamo il cielo"*. It has two parts. The **encoder** reads the English
# words and writes one vector for each, called its **state** at that word. The **decoder** writes the translation word by
# word and has a state of its own, which changes with each word. In the first translators of this kind both parts were
# recurrent networks (RNNs), which go through a sentence one word after the other.
#
# Now the decoder is about to write *vediamo* ("we see": in Italian the verb carries its subject). Its state asks:
# **which encoder states matter now?** Before *il* it asks again, and the answer is another one.
#
# Three things are always there, whatever the task:
#
# | in general | in the translator | symbol |
# |---|---|---|
# | a **query** vector, which asks | a decoder state | $q$ |
# | **data** vectors, which are looked at | the encoder states | $X_1, X_2, \dots$ |
# | an **output** vector, the answer | the context vector: what the decoder learns about the sentence | $y$ |
#
# Each query attends to all data vectors and gives one output vector. Nothing in that sentence needs an RNN, a language
# or an order. There is a general operator hiding here, and this lesson finds it.
#
# To follow each number by hand we use states of only two features, made up for the purpose. In a trained model they are
# learned and have hundreds.

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
# The query must be compared with each data vector: two vectors in, one number out, large where they fit. That number is
# the **score** (or similarity) $e_i = f_{att}(q, X_i)$.
#
# Which function $f_{att}$? Bahdanau et al. (2015) trained a small network with one hidden layer for it. Here is a far
# simpler candidate without a single parameter, the **dot product**:
#
# $$e_i = q \cdot X_i = \sum_{d} q_d\, X_{id} = |q|\,|X_i|\cos\angle(q, X_i)$$
#
# It is positive where the two point the same way, zero where they are perpendicular, negative where they point apart.
# Look at the arrows first: which words will score high for *vediamo*?

# %%
figure, (left, right) = plots.canvas(9.5, 4.0, 2)
colours = [plots.DATA] * N_X + [plots.QUERY]
plots.plane(torch.cat([X, q[None]]), [*words, "q: vediamo"], colours=colours, reach=2.9, axes=left)
plots.bars(X @ q, words, title="scores $e_i = q · X_i$", value_label="score", colour=plots.SCORES, axes=right)
show(
    figure,
    "Left: the query vediamo points between the data vectors we and see, away from the and sky. "
    "Right: the scores of we and see are positive, see is highest; those of the and sky are negative.",
)

# %% [markdown]
# Now the same with explicit loops: over the data vectors, and inside over the features.

# %%
e_loop = torch.zeros(N_X, device=DEVICE)  # [N_X]
for i in range(N_X):
    for d in range(D_Q):
        e_loop[i] += q[d] * X[i, d]

# %% [markdown]
# All the scores of one query are a matrix times a vector. One line replaces both loops, and `torch.mv` is torch's own
# name for it. (`# NBVAL_CHECK_OUTPUT` at the top of a cell is a mark for the course's own tests; ignore it.)

# %%
# NBVAL_CHECK_OUTPUT
e = X @ q  # [N_X, D_Q] @ [D_Q] -> [N_X]

assert_close(e, e_loop)
assert_close(torch.mv(X, q), e)
tell("scores", e)

# %% [markdown]
# Two things to keep in mind. The sum runs over the features, so for now query and data must be equally wide,
# $D_Q = D_X$. And the dot product is not the cosine: it keeps the lengths. Of two data vectors in the same direction the
# longer one's score lies further from zero.

# %%
assert_close(X @ (3 * q), 3 * e)  # every score is three times what it was, the negative ones too
assert_close((3 * X[1]) @ q, 3 * e[1])  # a longer data vector: its own score alone

# %% [markdown]
# ## From scores to weights
#
# The scores say *see, then we*. But we want to mix the data vectors, and for a mixture we need shares: none negative,
# all together 1, and a higher score should mean a larger share. Is it enough to divide by the sum?

# %%
# NBVAL_CHECK_OUTPUT
tell("e / sum", e / e.sum())  # [N_X]

# %% [markdown]
# These numbers sum to 1, but they are no shares: some lie above 1, others below 0. And if the scores summed to zero, there
# would be no numbers at all. The exponential makes every score positive and keeps their order; then one divides by the
# sum. That is the **softmax**, and its results are the **attention weights**:
#
# $$a_i = \frac{\exp(e_i)}{\sum_j \exp(e_j)}$$

# %%
total = 0.0
for i in range(N_X):
    total += torch.exp(e[i])

a_loop = torch.zeros(N_X, device=DEVICE)  # [N_X]
for i in range(N_X):
    a_loop[i] = torch.exp(e[i]) / total

# %%
# NBVAL_CHECK_OUTPUT
powers = torch.exp(e)  # [N_X]
a = powers / powers.sum()  # [N_X]

assert_close(a, a_loop)
assert_close(F.softmax(e, dim=-1), a)
tell("weights", a)
print("sum to 1:", bool((a.sum() - 1).abs() < 1e-6))

# %%
figure, panels = plots.canvas(10, 3.0, 3)
plots.bars(e, words, title="scores $e$", colour=plots.SCORES, axes=panels[0])
plots.bars(powers, words, title="$\\exp(e)$: all positive", colour=plots.SCORES, numbers=".3g", axes=panels[1])
plots.bars(a, words, title="weights $a$: sum to 1", colour=plots.WEIGHTS, limits=(0, 1.1), axes=panels[2])
show(
    figure,
    "Three bar strips over we, see, the, sky. The scores have both signs; their exponentials are positive; "
    "divided by the sum they are weights: see has most, we the rest, the and sky almost nothing.",
)

# %% [markdown]
# **What can go wrong?** Only differences between scores matter: adding the same number $c$ to all of them multiplies
# numerator and denominator by $\exp(c)$, which cancels. So $e$ and $e + 1000$ must have the same weights. Have they?

# %%
# NBVAL_CHECK_OUTPUT
far = e + 1000  # [N_X]
naive = torch.exp(far) / torch.exp(far).sum()  # [N_X]
tell("naive", naive)

# %% [markdown]
# In `float32` the exponential of a number just below 89 is already the largest there is; beyond it comes `inf`, and
# `inf / inf` is `nan`. The cancellation that made the question easy also gives the cure: subtract the largest score
# first. Then the largest exponent is 0, so nothing can overflow, and the sum is at least $\exp(0) = 1$, so nothing is
# divided by zero.

# %%
# NBVAL_CHECK_OUTPUT
shifted = far - far.max()  # [N_X], the largest is 0
stable = torch.exp(shifted) / torch.exp(shifted).sum()  # [N_X]

tell("shifted", stable)
print("as before:", torch.allclose(stable, a, atol=1e-4), "| as torch:", torch.allclose(stable, far.softmax(dim=-1)))

# %% [markdown]
# (`as before` is true to about four digits only: near 1000, neighbouring `float32` numbers are 0.00006 apart, so adding
# 1000 has already rounded the scores.)

# %% [markdown]
# ## One query looks at all data vectors
#
# The shares are there; now mix. The output is the weighted sum of the data vectors:
#
# $$y = \sum_i a_i X_i$$

# %%
y_loop = torch.zeros(D_X, device=DEVICE)  # [D_X]
for i in range(N_X):
    y_loop += a[i] * X[i]

# %%
# NBVAL_CHECK_OUTPUT
y = a @ X  # [N_X] @ [N_X, D_X] -> [D_X]
assert_close(y, y_loop)

# torch's own call wants a matrix of queries, so q goes in as [1, D_Q]; its argument `scale` comes in the next section
y_torch = F.scaled_dot_product_attention(q[None], X, X, scale=1.0)[0]  # [D_X]
assert_close(y_torch, y)
tell("y", y)

# %% [markdown]
# Score, softmax, sum: that is the whole operator. The data vectors appear twice, once to be *matched* with the query
# and once to be *mixed*.

# %%
show(
    diagrams.attention_layer(e[None], a[None]),
    "One query q meets the data vectors X1 to X4 and gives four scores; a softmax over the row turns them into four "
    "weights; the data vectors, summed with these weights, give one output y.",
)

# %% [markdown]
# Three properties follow at once, and each is worth checking rather than believing.
#
# **The output lies among the data vectors.** The weights are positive and sum to 1, so $y$ is an average: it can never
# leave the region between the data vectors (their convex hull), and each of its components lies between the smallest
# and the largest of theirs. Attention picks and blends; it does not invent.

# %%
assert (X.min(dim=0).values <= y).all() and (y <= X.max(dim=0).values).all()

# %% [markdown]
# **The number of data vectors is free.** Nothing was fixed to $N_X = 4$; a fifth word needs no new parameter, and the
# output is as wide as before.

# %%
X_five = torch.cat([X, torch.tensor([[0.9, -0.2]], device=DEVICE)])  # [N_X, D_X] = [5, 2], one word more
assert ((X_five @ q).softmax(dim=-1) @ X_five).shape == y.shape  # [D_X]

# %% [markdown]
# **The order of the data vectors does not matter.** Shuffle them and the weights are shuffled along, while the sum
# stays what it was: for a fixed query the output is *invariant* to permutations of the data vectors. (One often reads
# that attention is invariant, without saying in what. When the data ask questions themselves, in lesson 05, shuffling
# them shuffles the outputs.)

# %%
# NBVAL_CHECK_OUTPUT
order = torch.tensor([2, 0, 3, 1], device=DEVICE)  # [N_X], the words in another order
a_shuffled = (X[order] @ q).softmax(dim=-1)  # [N_X]
y_shuffled = a_shuffled @ X[order]  # [D_X]

print("weights move along:", bool((a_shuffled - a[order]).abs().max() < 1e-5))
print("output unchanged:  ", bool((y_shuffled - y).abs().max() < 1e-5))

# %% [markdown]
# **An image's $H\times W$ grid is a collection of vectors too.** A convolutional network (CNN) leaves one feature
# vector for each place of an image. As order does
# not matter, lay the places in one long row: $N_X = H \cdot W$ data vectors, *one* distribution over all of them, and
# afterwards put the weights back where the places were. Below, the features are plain colours (red, green, blue), and
# the query asks for yellow.

# %%
H, W = 6, 9
grid = torch.zeros(H, W, 3)  # [H, W, D_X]
grid[:4] = torch.tensor([0.3, 0.6, 0.9])  # sky
grid[4:] = torch.tensor([0.2, 0.6, 0.2])  # meadow
grid[1:3, 6:8] = torch.tensor([1.0, 0.85, 0.1])  # sun
grid = (grid + 0.03 * torch.randn(H, W, 3, generator=generator)).clamp(0, 1).to(DEVICE)
yellow = 5 * torch.tensor([1.0, 0.5, -1.0], device=DEVICE)  # [D_Q], for red and green, against blue

places = grid.reshape(H * W, 3)  # [H·W, D_X]
a_places = (places @ yellow).softmax(dim=-1)  # [H·W], sums to 1 over all places
y_places = a_places @ places  # [D_X], a yellow
a_grid = a_places.reshape(H, W)  # [H, W], each weight where its place was

assert_close(F.scaled_dot_product_attention(yellow[None], places, places, scale=1.0)[0], y_places)

# %%
figure, (left, right) = plots.canvas(9.5, 3.3, 2)
left.imshow(grid.cpu())
left.set_title("data: $H × W$ colour vectors")
left.axis("off")
rows, columns = [str(row) for row in range(H)], [str(column) for column in range(W)]
plots.heat_map(a_grid, rows, columns, title="weights for “yellow”", limits=(0, 0.35), least=0.05, axes=right)
right.set_aspect("equal")
show(
    figure,
    "Left: a small picture, blue sky above a green meadow, with a yellow sun of two by two places. "
    "Right: the attention weights over the same grid, large on the four places of the sun, where they are printed, and "
    "about zero elsewhere.",
)

# %% [markdown]
# ## Why divide by √D?
#
# Transformers do not use $q \cdot X_i$ as it is. They use the **scaled dot product** $q \cdot X_i / \sqrt{D_Q}$. Here is a
# well-known example, from Alammar's *The Illustrated Transformer* (2018), with the two words *Thinking Machines*. Its
# vectors are 64 wide; a query scores 112 with one data vector (*Thinking*) and 96 with another (*Machines*). Divided,
# the scores are printed there as 14 and 12, and the weights as 0.88 and 0.12. Ours, with and without the division:

# %%
# NBVAL_CHECK_OUTPUT
thinking = torch.tensor([112.0, 96.0])  # [N_X], the scores of Thinking and Machines
tell("÷ √64", thinking / math.sqrt(64))
tell("weights", (thinking / math.sqrt(64)).softmax(dim=-1))
print(f"undivided  {thinking.softmax(dim=-1)[1]:.1e} is what the second word gets")

# %% [markdown]
# The divided numbers agree with the published ones. Undivided, the second word might as well not be there. But why the
# *square root* of the width, and not some other number?
#
# **The reason is the variance of a sum.** Let the features of $q$ and $X_i$ be independent with mean 0 and variance 1.
# Each product $q_d X_{id}$ then has mean 0 and variance $1 \cdot 1 = 1$. The score is a sum of $D$ of them, and the
# variances of independent terms add up:
#
# $$\operatorname{Var}(q \cdot X_i) = \sum_{d=1}^{D} \operatorname{Var}(q_d X_{id}) = D
# \qquad\Longrightarrow\qquad \text{standard deviation } \sqrt{D}$$
#
# So a typical score grows like $\sqrt D$, and dividing by $\sqrt D$ gives it size 1 at every width. (Two constant vectors
# would not show this: their product grows like $D$.) Measured:

# %%
widths = [2**power for power in range(11)]  # 1 … 1024
samples, N_data = 2000, 16
raw = {}
for D in widths:
    many_q = normal(samples, D, 1)  # [samples, D, 1], one query in each sample, as a column
    many_X = normal(samples, N_data, D)  # [samples, N_data, D]
    raw[D] = (many_X @ many_q).squeeze(-1)  # [samples, N_data], the scores q·X_i

# %%
# NBVAL_CHECK_OUTPUT
spread = [raw[D].std().item() for D in widths]
ratios = [deviation / math.sqrt(D) for deviation, D in zip(spread, widths)]
print(f"std(q·X) / √D lies between {min(ratios):.2f} and {max(ratios):.2f}")
assert all(abs(ratio - 1) < 0.05 for ratio in ratios)  # at every width


# %% [markdown]
# What does a large score do? Look at the derivative of the softmax. If $e_j$ moves by a small step, weight $a_i$ moves by
# this derivative times that step:
#
# $$\frac{\partial a_i}{\partial e_j} = a_i(\delta_{ij} - a_j), \qquad
# \delta_{ij} = 1 \text{ if } i = j \text{, else } 0$$
#
# Suppose one weight is almost 1 and the others almost 0. Then every entry is a product with a factor of about 0. The
# softmax is **saturated**: it answers, but it cannot be corrected, because almost no gradient comes back through it.


# %%
def jacobian(e):
    return torch.autograd.functional.jacobian(lambda scores: scores.softmax(dim=-1), e)  # [N_X, N_X]


gentle, loud = e / 2, 4 * e  # [N_X] both: the same order of words, small and large scores
a_gentle = gentle.softmax(dim=-1)  # [N_X]
assert_close(jacobian(gentle), torch.diag(a_gentle) - torch.outer(a_gentle, a_gentle))  # autograd agrees

# %%
figure, panels = plots.canvas(10, 3.6, 2)
for panel, given, name in zip(panels, (gentle, loud), ("small scores", "large scores"), strict=True):
    changes = [f"$e$({word})" for word in words]
    of = [f"$a$({word})" for word in words]
    plots.heat_map(jacobian(given), of, changes, title=name, limits=(-0.25, 0.25), axes=panel)
show(
    figure,
    "Two heat maps of the derivative of each weight by each score. With small scores the entries for we and see are "
    "clearly positive on the diagonal and negative off it; with large scores all sixteen entries are about zero.",
)

# %% [markdown]
# How saturated is the softmax at width $D$? For random queries and data we measure two things, with the scores undivided,
# divided by $\sqrt D$, and divided by $D$:
#
# - the **entropy** $-\sum_i a_i \ln a_i$ of the weights: $\ln N_X$ if they are all equal, 0 if one has everything;
# - the **gradient left**, $\sum_i \partial a_i / \partial e_i = \sum_i a_i (1 - a_i)$: how far the weights still follow
#   their own scores.
#
# We take the median over the queries, because a mean would be carried by the few that happen to be unsaturated.

# %%
divisors = {"undivided": lambda D: 1.0, "÷ √D": lambda D: math.sqrt(D), "÷ D": lambda D: float(D)}
entropy = {name: [] for name in divisors}  # one number for each of the widths
gradient = {name: [] for name in divisors}  # the same
for name, divisor in divisors.items():
    for D in widths:
        shared = (raw[D] / divisor(D)).softmax(dim=-1)  # [samples, N_data]
        spent = torch.special.entr(shared)  # [samples, N_data], -a ln a, and 0 at a = 0
        entropy[name].append(spent.sum(dim=-1).median().item())  # [samples] -> a number
        gradient[name].append((shared * (1 - shared)).sum(dim=-1).median().item())  # [samples] -> a number

# %%
shade = {"undivided": plots.VERMILLION, "÷ √D": plots.BLUE, "÷ D": plots.GREEN}
marks = {"undivided": "s-", "÷ √D": "o-", "÷ D": "^-"}
look = {"x_label": "width D", "log": "x", "colours": shade, "styles": marks}
figure, panels = plots.canvas(12, 3.9, 3)
roots = {"measured": spread, "√D": [math.sqrt(D) for D in widths]}
plots.curves(widths, roots, title="spread of $q · X_i$", x_label="width D", y_label="standard deviation", log="xy",
                styles={"measured": "o", "√D": "--"}, axes=panels[0])  # fmt: skip
plots.curves(widths, entropy, title="weights: entropy", y_label="median entropy (nats)", axes=panels[1], **look)
plots.curves(widths, gradient, title="gradient left", y_label="median Σ a(1 − a)", axes=panels[2], **look)
plots.level(panels[1], math.log(N_data), "all weights equal: $\\ln N_X$")
panels[1].set_ylim(top=3.1)
show(
    figure,
    "Three panels over the width D from 1 to 1024. The standard deviation of the scores follows the square root of D. "
    "Undivided, entropy and gradient fall to zero with D; divided by the root they stay about level; divided by D the "
    "entropy rises to that of equal weights, and the gradient rises slightly.",
)

# %%
# NBVAL_CHECK_OUTPUT
print("at D = 1024 (equal weights: entropy", f"{math.log(N_data):.2f})")
for name in divisors:
    print(f"{name:>10}: entropy {entropy[name][-1]:.2f}, gradient left {gradient[name][-1]:.2f}")

# %% [markdown]
# At large width the three divisors behave differently. Undivided scores saturate. Divided by $D$, the softmax's gradient
# is fine (the query's own gradient carries one more factor $1/D$, so it needs a larger learning rate). But at the start
# of training all weights are nearly equal: whatever the query asks, it gets nearly the plain average. Only $\sqrt D$
# keeps the sharpness of the weights about constant. Which of this hurts learning is measured next.

# %% [markdown]
# ### Does it matter for learning?
#
# Vaswani et al. (2017, section 3.2.1) give the argument above in a footnote. They *suspect* that the vanishing gradient is
# why undivided dot products do worse than additive attention (the small network of Bahdanau et al.) at large width. Let
# us measure a miniature. There are 16 fixed data vectors with a random value each. Each of 128 queries is a free
# parameter, starts at random and must learn to fetch one given value; the loss is the squared error of what it fetches.
# A query has **found** its data vector when it gives it more than half of its weight.
#
# To be fair, each divisor gets its best learning rate out of a list, once with plain gradient descent and once with Adam,
# an optimiser that divides each parameter's step by the recent size of its gradient.

# %%
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


# %%
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

# %%
by_adam = best_shares(torch.optim.Adam, "Adam")

# %%
figure, panels = plots.canvas(10, 3.8, 2, sharey=True)
for panel, best, name in zip(panels, (by_descent, by_adam), ("gradient descent", "Adam"), strict=True):
    plots.curves(trained_widths, best, title=f"{name}, best learning rate", axes=panel, **look)
    plots.level(panel, 1 / 16, "chance", at=0.02)
panels[0].set(ylabel="share of queries that found it", ylim=(0, 1.05))
show(
    figure,
    "The share of queries that found their data vector over the width D, at the best learning rate, for gradient "
    "descent and for Adam. Undivided it falls with the width towards chance; divided by the root of D, or by D, it "
    "rises to nearly all.",
)

# %%
# Another processor may round a query or two to the other side, so the claim is asserted with room to spare.
for name, best in (("gradient descent", by_descent), ("Adam", by_adam)):
    widest = {kind: best[kind][-1] for kind in divisors}  # shares at D = 512
    print(f"{name:>16}:", *(f"{kind} {share:.2f}  " for kind, share in widest.items()))
    assert widest["undivided"] < 0.4 and widest["÷ √D"] > 0.8 and widest["÷ D"] > 0.8

# %% [markdown]
# At large width most undivided queries never find their data vector, at any rate. Small steps leave most of them where
# chance put them; large steps throw most of them onto another wrong vector, just as saturated. Adam enlarges the steps of
# queries with a small gradient, and does not save them here. A closer look at the queries that did not find their vector,
# with gradient descent at $D = 512$:

# %%
slow_and_fast = {rate: trained_weights(512, 1.0, torch.optim.SGD, rate) for rate in (0.1, 1000.0)}
for rate, (before, after) in slow_and_fast.items():  # [128, 16] both
    lost = ~found(after)  # [128]
    moved = (before.argmax(dim=-1) != after.argmax(dim=-1))[lost].float().mean().item()
    largest = after[lost].amax(dim=-1).median().item()  # [lost] -> a number
    print(f"rate {rate:6g}: {moved:.2f} of them look at another vector than at the start; median top weight {largest:.2f}")
    assert (moved < 0.5 if rate < 1 else moved > 0.5) and largest > 0.99

# %% [markdown]
# **The published figure.** Vaswani et al. refer to Britz et al. (2017), who trained translators with attention of several
# widths. BLEU says how near a translation comes to human ones; more is better.
#
# | attention width | dot product, undivided | additive |
# |---:|:---:|:---:|
# | 128 | 22.03 ± 0.08 | 22.23 ± 0.11 |
# | 256 | 22.33 ± 0.28 | 22.33 ± 0.04 |
# | 512 | 21.78 ± 0.05 | 22.47 ± 0.27 |
# | 1024 | 18.22 ± 0.03 | 22.10 ± 0.18 |
#
# (Britz et al., BLEU on newstest2013, English to German, with the spread that they report.) Both experiments say the
# same: undivided dot products fail at large width. This is what differs:
#
# - Theirs is a whole RNN translator, measured in BLEU. Ours is one layer, measured by what each query finds.
# - They compare with additive attention. We compare with a division.
# - There all positions share the matrices that make queries and keys, and what the layer looks at is learned too. Here
#   each query learns by itself, and keys and values are fixed.
# - Theirs collapses at 1024 only. Ours gets worse from the smallest width on.
# - The Transformer divides, and it splits its vectors into heads 64 wide (lesson 06), where less is at stake than at 1024.
#
# Our miniature adds two findings that the usual story leaves out:
#
# - **÷ D learns too**, with its own learning rate even a little better than ÷ √D. A start that is too flat still has a
#   gradient, and a larger step makes up for the small scores. A saturated start has next to none, and no step helps.
#   Too flat is slow, too sharp is stuck. (Training also makes queries and keys less and less independent; Yang et al.,
#   2022, divide by $D$ for that reason.)
# - **The division changes the start and the step, not what the layer can express.** Set $q' = q/\sqrt D$. Undivided, $q'$
#   has the same scores as $q$ has divided. The gradient for $q'$ is $\sqrt D$ larger and $q'$ itself $\sqrt D$ smaller, so
#   the learning rate must be $D$ times smaller. Then gradient descent does the same thing without the division:

# %%
width, rate = 512, 1.0
by_root = share_found(width, math.sqrt(width), torch.optim.SGD, rate)
by_width = share_found(width, width, torch.optim.SGD, rate)
small_start = share_found(width, 1.0, torch.optim.SGD, rate / width, start=1 / math.sqrt(width))
print(f"at one learning rate: ÷ √D {by_root:.2f}, ÷ D {by_width:.2f}; undivided, small start and step {small_start:.2f}")
assert by_width < 0.1 < 0.5 < by_root  # too flat is slow
assert abs(by_root - small_start) < 0.05  # the same start and step in another form

# %% [markdown]
# ### Optional: many queries share one matrix
#
# In a translator all queries of a layer come out of one shared matrix $W_Q$. An update caused by one unsaturated query
# then changes the saturated ones too. Does an undivided layer with a shared matrix learn? You may skip this experiment;
# its result is printed below.
#
# Each step draws 64 new examples of 16 data vectors. The first data vector of each example is the one to find. (The layer
# cannot use that it is the first: the order does not matter.) The query is made from it by a fixed rotation, which $W_Q$
# must learn to undo.


# %%
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


# %%
# NBVAL_CHECK_OUTPUT
best_rates = {"undivided": 1.0, "÷ √D": 10.0}  # out of 0.1, 1 and 10
together = {name: share_found_with_one_matrix(64, divisors[name](64), rate) for name, rate in best_rates.items()}
for name, (at_first, at_last) in together.items():
    assert at_first < 0.3  # before training about chance
    print(f"one W_Q for all, {name:>9}: after training {at_last:.1f} of the queries find their data vector")

# %% [markdown]
# It does. So the honest summary is: without the division a layer *starts* saturated. Queries that are trained one by one
# stay stuck; where many examples share $W_Q$, training may recover (the published table shows that it need not). The
# division costs nothing and removes the risk at the start.

# %% [markdown]
# ## An explorer
#
# Five data vectors and one query in the plane. Move the query and watch scores, weights and output together. Some
# things to try:
#
# 1. Turn the query around a circle: who gets the weight, and where does $y$ go? Does it ever leave the data vectors'
#    region?
# 2. Move the query to the origin. What are the weights, and why?
# 3. Can $X_5$, in the middle, ever get the largest weight?
# 4. The **temperature** $T$ divides the scores once more: $\operatorname{softmax}(e / T)$. Which $T$ gives nearly a
#    choice of one, which nearly an average? Which $T$ does the same as the switch?

# %%
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
# <details><summary>What you should have seen</summary>
#
# 1. The weight moves to whatever lies in the direction of the query. However long the query, $y$ stays among the data
#    vectors.
# 2. All scores are 0, so all weights are equal and $y$ is the plain average.
# 3. No. $X_5$ lies between the others, and in every direction one of them reaches further. The dot product rewards
#    being far out, not being near to the query.
# 4. A small $T$ chooses, a large $T$ averages. $T = \sqrt 2$ without the switch is the same as $T = 1$ with it.
#
# </details>

# %% [markdown]
# ## Many queries at once
#
# The decoder asks once for each word it writes. Must we loop? Put the queries as rows into $Q\,[N_Q, D_Q]$ and write
# the scores as a matrix too, one row for each query:
#
# $$E = \frac{Q X^\top}{\sqrt{D_Q}}\ [N_Q, N_X], \qquad A = \operatorname{softmax}(E)\ \text{along each row}, \qquad
# Y = A X\ [N_Q, D_X]$$
#
# From here on the scores are divided, as in a Transformer. Queries and data are two wide, so each score is divided by
# $\sqrt 2$, and the weights of *vediamo* are a little less sharp than above. First with a loop over the queries:

# %%
Y_loop = torch.zeros(N_Q, D_X, device=DEVICE)  # [N_Q, D_X]
for i in range(N_Q):
    e_i = X @ Q[i] / math.sqrt(D_Q)  # [N_X]
    a_i = e_i.softmax(dim=-1)  # [N_X]
    Y_loop[i] = a_i @ X  # [D_X]

# %% [markdown]
# Then all at once, then torch's own call. Note its default: unless told otherwise,
# `F.scaled_dot_product_attention` divides by the square root of the last dimension of the queries.

# %%
# NBVAL_CHECK_OUTPUT
E = Q @ X.T / math.sqrt(D_Q)  # [N_Q, D_Q] @ [D_Q, N_X] -> [N_Q, N_X]
A = E.softmax(dim=-1)  # [N_Q, N_X], each row sums to 1
Y = A @ X  # [N_Q, N_X] @ [N_X, D_X] -> [N_Q, D_X]

assert_close(Y, Y_loop)
assert_close(F.scaled_dot_product_attention(Q, X, X), Y)
tell("undivided", a)  # [N_X], vediamo as above
tell("÷ √2", A[0])  # [N_X], vediamo now

# %%
show(
    diagrams.looks(asked, words, A),
    "Three panels. The query vediamo draws its output mostly from see and we; il mostly from the, and a little from "
    "sky; cielo almost entirely from sky.",
)

# %%
show(
    diagrams.attention_layer(E, A),
    "Three queries as rows meet four data vectors as columns in the matrix of scores E, which are divided by the root of "
    "D_Q. A softmax over each row gives the matrix of weights A. Each row of A mixes the four data vectors into one of "
    "the three outputs.",
)

# %% [markdown]
# **Which way does the softmax run?** Each *query* needs its own distribution over the data vectors, so each *row* of
# $A$ sums to 1. `dim=1` is right for one matrix, wrong with a batch axis in front. Say `dim=-1`.
#
# The wrong direction, `dim=-2`, raises no error and looks plausible:

# %%
figure, panels = plots.canvas(11, 3.3, 2)
plots.heat_map(A, asked, words, title="dim=−1: each row sums to 1", row_label="queries", axes=panels[0])
wrong = E.softmax(dim=-2)  # [N_Q, N_X], each column sums to 1
plots.heat_map(
    wrong, asked, words, title="wrong, dim=−2: each column sums to 1", row_label="queries", axes=panels[1]
)
show(
    figure,
    "Two heat maps, queries vediamo, il, cielo against we, see, the, sky. Left, softmax over each row: vediamo looks "
    "at see and we. Right, softmax over each column: rows no longer sum to 1.",
)

# %%
# NBVAL_CHECK_OUTPUT
tell("right", A.sum(dim=-1))
tell("wrong", wrong.sum(dim=-1))

# %% [markdown]
# With the wrong direction the queries compete for the data. With the right one they do not even know of each other:
# Remove some queries, and the others get exactly the same outputs. That is why they can all be computed in parallel.

# %%
assert_close(F.scaled_dot_product_attention(Q[:1], X, X), Y[:1])

# %% [markdown]
# **With a batch in front.** Networks work on many examples at once: $B$ sentences, each with its own queries and data
# vectors. The batch is one more axis, the first. A matrix product of two stacks multiplies matrix by matrix, so the three
# lines stay as they are, if they name axes from the end: `X.mT` swaps the last two axes (`X.T` would turn around all of
# them), `Q.shape[-1]` is the width, `dim=-1` the data vectors.

# %%
Q_batch, X_batch = normal(6, 3, 8), normal(6, 4, 8)  # [B, N_Q, D_Q], [B, N_X, D_X]
A_batch = (Q_batch @ X_batch.mT / math.sqrt(Q_batch.shape[-1])).softmax(dim=-1)  # [B, N_Q, N_X]
Y_batch = A_batch @ X_batch  # [B, N_Q, D_X]

for b in range(6):
    A_b = (Q_batch[b] @ X_batch[b].T / math.sqrt(8)).softmax(dim=-1)  # [N_Q, N_X]
    assert_close(Y_batch[b], A_b @ X_batch[b])  # [N_Q, D_X]
assert_close(F.scaled_dot_product_attention(Q_batch, X_batch, X_batch), Y_batch)

# %% [markdown]
# And if each example has a single query, $q\,[B, D_Q]$? A matrix product wants matrices. `q[..., None]` adds an axis at the
# end and makes each query a column; `squeeze(-1)` takes the axis away again.

# %%
q_batch = Q_batch[:, 0]  # [B, D_Q], the first query of each example
e_batch = (X_batch @ q_batch[..., None]).squeeze(-1)  # [B, N_X, D_X] @ [B, D_Q, 1] -> [B, N_X, 1] -> [B, N_X]

for b in range(6):
    assert_close(e_batch[b], X_batch[b] @ q_batch[b])  # [N_X]

# %% [markdown]
# ## Keys and values
#
# So far one vector serves two purposes: it is matched with the query, and it is what the query gets. Should it be the
# same vector for both?
#
# Think of a dictionary, the Python kind: you look up by **key** and you get a **value**. Here is one of paints. Each
# data vector holds a hue, as a direction on the colour circle, and a price. We ask for a hue and want the price.

# %%
paints = ["red", "yellow", "green", "blue", "violet"]
hues = torch.tensor([0.0, 60.0, 120.0, 240.0, 300.0], device=DEVICE).deg2rad()  # [N_X]
prices = torch.tensor([7.0, 2.0, 5.0, 9.0, 4.0], device=DEVICE)  # [N_X]
X_paint = torch.stack([hues.cos(), hues.sin(), prices], dim=-1)  # [N_X, D_X] = [5, 3]

wanted = ["red", "orange", "green", "blue"]
angles = torch.tensor([0.0, 30.0, 120.0, 240.0], device=DEVICE).deg2rad()  # [N_Q]
Q_paint = 20 * torch.stack([angles.cos(), angles.sin()], dim=-1)  # [N_Q, D_Q] = [4, 2], long: we ask firmly

# %% [markdown]
# The query has two features and the data vectors have three: their dot product does not even exist. And the query has
# nothing to say about prices. Now let two matrices each take from $X$ what they need:
#
# $$K = X W_K\ [N_X, D_Q], \qquad V = X W_V\ [N_X, D_V], \qquad
# A = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{D_Q}}\right), \qquad Y = A V\ [N_Q, D_V]$$
#
# The keys are as wide as the queries, because the two meet in the dot product. The values may have any width. In a
# network both matrices are learned; here we can write them down.

# %%
W_K = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], device=DEVICE)  # [D_X, D_Q] = [3, 2], keeps the hue
W_V = torch.tensor([[0.0], [0.0], [1.0]], device=DEVICE)  # [D_X, D_V] = [3, 1], keeps the price

K_paint = X_paint @ W_K  # [N_X, D_X] @ [D_X, D_Q] -> [N_X, D_Q]
V_paint = X_paint @ W_V  # [N_X, D_X] @ [D_X, D_V] -> [N_X, D_V]

# %% [markdown]
# Once more three times: loops for one query, all queries at once, torch's own call.

# %%
e_paint = torch.zeros(5, device=DEVICE)  # [N_X]
for i in range(5):
    e_paint[i] = Q_paint[0] @ K_paint[i] / math.sqrt(2)  # the query meets a key, both D_Q = 2 wide
a_paint = e_paint.softmax(dim=-1)  # [N_X]
y_paint = torch.zeros(1, device=DEVICE)  # [D_V]
for i in range(5):
    y_paint += a_paint[i] * V_paint[i]  # the weight takes a value along

# %%
# NBVAL_CHECK_OUTPUT
E_paint = Q_paint @ K_paint.T / math.sqrt(2)  # [N_Q, N_X]
A_paint = E_paint.softmax(dim=-1)  # [N_Q, N_X]
Y_paint = A_paint @ V_paint  # [N_Q, N_X] @ [N_X, D_V] -> [N_Q, D_V]

assert_close(Y_paint[0], y_paint)
assert_close(F.scaled_dot_product_attention(Q_paint, K_paint, V_paint), Y_paint)
for name, price in zip(wanted, Y_paint[:, 0].tolist()):
    print(f"{name:>7} costs {price:.2f}")

# %% [markdown]
# Orange is not in the table. It lies halfway between red and yellow, so it gets half of each: attention is a dictionary
# that also answers for what lies between its keys.
#
# **And if keys and values were the same?** Then the answer lies among the *keys*. We would ask for a hue and get, at
# best, the same hue back:

# %%
# NBVAL_CHECK_OUTPUT
back = F.scaled_dot_product_attention(Q_paint, K_paint, K_paint)  # [N_Q, D_Q], keys in place of values
print("we get back the hue that we asked with:", torch.allclose(back, Q_paint / 20, atol=0.15))

# %%
figure, (left, right) = plots.canvas(10.5, 3.4, 2, gridspec_kw={"width_ratios": [2.6, 1]})
plots.heat_map(A_paint, wanted, paints, title="weights A", row_label="queries", column_label="keys", axes=left)
plots.heat_map(Y_paint, wanted, ["price"], title="outputs Y = A V", limits=None, numbers=".1f", axes=right)
show(
    figure,
    "Left: weights of the queries red, orange, green, blue over five paints: a weight of one for red, green and blue, "
    "and half on red, half on yellow for orange. Right: the prices that come out.",
)

# %% [markdown]
# The whole layer in one picture, with the numbers of the paints:

# %%
show(
    diagrams.attention_layer(E_paint, A_paint, keys_and_values=True),
    "The attention layer with keys and values, with the scores and weights of the paints. The five data vectors X become "
    "keys through W_K and values through W_V. The four queries meet the keys in the scores, which are divided by the root "
    "of D_Q; the weights mix the values into the outputs.",
)

# %% [markdown]
# **Weights act from the right, and `nn.Linear` stores the transpose.** In the formulas rows are vectors and a matrix
# acts from the right: $Y = XW$ with $W\,[D_{in}, D_{out}]$. An `nn.Linear` computes $x W^\top + b$ with its weight
# stored as $[D_{out}, D_{in}]$. The result is the same, but whoever copies a matrix from one to the other must
# transpose it.

# %%
layer = nn.Linear(in_features=3, out_features=2, bias=False, device=DEVICE)  # D_X -> D_Q
assert layer.weight.shape == (2, 3)  # [D_Q, D_X], not [D_X, D_Q]

with torch.no_grad():
    layer.weight.copy_(W_K.T)
assert_close(layer(X_paint), X_paint @ W_K)

# %% [markdown]
# ## Cross-attention: two sequences
#
# In the translator the queries, too, come from somewhere: from decoder states, which may be wider or narrower than the
# encoder states and mean different things. How can the two meet in one dot product?
#
# Let the queries be projected as well. One sequence $S\,[N_Q, D_S]$ **asks**, another $X\,[N_X, D_X]$ **answers**, and
# the projections take both into a common space of width $D_Q$:
#
# $$Q = S W_Q\ [N_Q, D_Q], \qquad K = X W_K\ [N_X, D_Q], \qquad V = X W_V\ [N_X, D_V]$$

# %% [markdown]
# Here with learnable matrices, not yet trained. All widths and lengths differ, which is a good habit: a transpose in the
# wrong place then fails at once.

# %%
S, X_cross = normal(3, 7), normal(5, 6)  # [N_Q, D_S], [N_X, D_X]

torch.manual_seed(0)
layers = {"Q": nn.Linear(7, 4), "K": nn.Linear(6, 4), "V": nn.Linear(6, 2)}  # D_S -> D_Q, D_X -> D_Q, D_X -> D_V
project = nn.ModuleDict(layers).to(DEVICE)
Q_cross, K_cross, V_cross = project["Q"](S), project["K"](X_cross), project["V"](X_cross)
print("Q", [*Q_cross.shape], " K", [*K_cross.shape], " V", [*V_cross.shape])  # [N_Q, D_Q], [N_X, D_Q], [N_X, D_V]

# %% [markdown]
# One last time: loops, matrices, torch.

# %%
Y_cross_loop = torch.zeros(3, 2, device=DEVICE)  # [N_Q, D_V]
for i in range(3):
    e_cross = torch.stack([Q_cross[i] @ K_cross[j] for j in range(5)]) / math.sqrt(4)  # [N_X], D_Q = 4
    a_cross = e_cross.softmax(dim=-1)  # [N_X]
    for j in range(5):
        Y_cross_loop[i] = Y_cross_loop[i] + a_cross[j] * V_cross[j]  # [D_V]

# %%
# NBVAL_CHECK_OUTPUT
E_cross = Q_cross @ K_cross.T / math.sqrt(4)  # [N_Q, N_X]
A_cross = E_cross.softmax(dim=-1)  # [N_Q, N_X]
Y_cross = A_cross @ V_cross  # [N_Q, D_V]

assert_close(Y_cross, Y_cross_loop)
assert_close(F.scaled_dot_product_attention(Q_cross, K_cross, V_cross), Y_cross)
print("S", [*S.shape], " X", [*X_cross.shape], " A", [*A_cross.shape], " Y", [*Y_cross.shape])

# %%
show(
    diagrams.attention_layer(E_cross, A_cross, cross=True),
    "Cross-attention, with the scores and weights just computed. The sequence S becomes queries through W_Q; the data X "
    "become keys through W_K and values through W_V; scores divided by the root of D_Q, softmax over each row, weights "
    "and outputs as before.",
)

# %% [markdown]
# Look at the shapes. $Y$ has one row for each row of the sequence that *asks*, and the width of the *values*. The
# number of data vectors is gone: the answer has the same shape whether one looks at five words or at five thousand. The
# number of parameters does not depend on either length:

# %%
# NBVAL_CHECK_OUTPUT
parameters = sum(parameter.numel() for parameter in project.parameters())
assert parameters == (7 + 1) * 4 + (6 + 1) * 4 + (6 + 1) * 2  # + 1 for the biases

longer = normal(50, 6)  # [N_X, D_X], ten times as many data vectors, the same layer
print([*F.scaled_dot_product_attention(Q_cross, project["K"](longer), project["V"](longer)).shape])

# %% [markdown]
# This is the layer through which a Transformer's decoder reads its encoder (lesson 09), a caption reads an image
# (lesson 13) and a language model reads what a camera saw (lesson 16). If $S$ and $X$ are the same sequence, it is
# called self-attention: lesson 05.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> All data vectors are doubled, with no projections. What happens to the weights and to the
# output?</summary>
#
# All scores double, so the weights get sharper: doubling the scores is halving the temperature. The output is the
# sharper mixture of the doubled vectors, so in general it is not just twice the old one.
#
# </details>
#
# <details><summary><b>2.</b> The same vector <i>c</i> is added to every key. What happens to the weights?</summary>
#
# Nothing. Every score of query $q$ grows by the same $q \cdot c/\sqrt{D_Q}$, and the softmax does not see a common
# shift. So a bias in the keys' layer has no effect on the output; a bias in the queries' layer
# does have one.
#
# </details>
#
# <details><summary><b>3.</b> There is a single query, and the softmax runs over the queries by mistake. What are the
# weights?</summary>
#
# All 1: each is divided by itself. The output is then the plain sum of the values, whatever the query says. Printing
# one row sum of $A$ shows it.
#
# </details>
#
# <details><summary><b>4.</b> D<sub>S</sub> = 300, D<sub>X</sub> = 512, D<sub>Q</sub> = 64, D<sub>V</sub> = 128. By what
# are the scores divided? How wide is the output?</summary>
#
# By $\sqrt{64} = 8$: the dot product is a sum over the width that queries and keys share. The output is as wide as the
# values, 128.
#
# </details>
#
# <details><summary><b>5.</b> The derivation assumed that query and key are independent. What is the score of a random
# vector with itself?</summary>
#
# $x \cdot x = \sum_d x_d^2$ has mean $D$, not 0. After the division it is still about $\sqrt D$. So if a wide vector is
# its own query among random data vectors, it looks mostly at itself; learned projections $W_Q \neq W_K$ are what lets it
# look elsewhere.
#
# </details>
#
# <details><summary><b>6.</b> Can a component of the output be larger than the same component of every value?</summary>
#
# No. The weights are positive and sum to 1, so the output is an average of the values. What comes after the layer
# (another matrix, an MLP) must make anything new.
#
# </details>
#
# <details><summary><b>7.</b> One data vector stands in the list twice. Does it count twice?</summary>
#
# Yes. Both copies have the same score, so both get the same weight, and together more than one copy alone would.
# Attention sees a collection with repetitions, not a set.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **`dim`.** Softmax runs over the data vectors, the last axis of $E\,[N_Q, N_X]$: `dim=-1`. The wrong direction
#   raises no error. Check that `A.sum(dim=-1)` is all ones.
# - **Which width under the root?** The one the dot product sums over: $D_Q$, the width of queries and keys, after any
#   projection. Not $D_X$, not $D_S$, not $D_V$.
# - **Scaled twice.** `F.scaled_dot_product_attention` divides already. Pass it undivided queries, or `scale=1.0`.
# - **"Attention is permutation invariant"** needs its end: in the data vectors, for a fixed query. Shuffle the queries,
#   and the outputs are shuffled with them.
# - **Transposes.** `nn.Linear(D_X, D_Q).weight` is $[D_Q, D_X]$. Call the layer, or transpose its weight.
# - **`exp` by hand.** Use `softmax`, or subtract the maximum.
# - **Reading too much into weights.** They say what was mixed, not why; two mixtures of different vectors can be the
#   same output.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *Softmax over "each column", `dim=1`.* They draw the matrix transposed. Each row of $A\,[N_Q, N_X]$ sums to 1: `dim=-1`.
# - *$q \cdot X_i \sqrt{D_X}$.* The fraction bar is lost: $q \cdot X_i / \sqrt{D_Q}$.
# - *$\sqrt{D_X}$ under the bar.* Right as long as nothing is projected, because then $D_X = D_Q$. In general: $\sqrt{D_Q}$.
# - *Constant vectors as the reason for the root.* Their product grows like $D$. The reason is the variance of a sum of
#   independent terms.
# - *$V = X W_V$ of shape $[D_X, D_V]$.* It is $[N_X, D_V]$.
# - *$Y = A V$ of shape $[N_Q, D_X]$.* It is $[N_Q, D_V]$.
# - *"Separate key and query".* $W_K$ and $W_V$ separate key and value.
#
# </details>

# %% [markdown]
# ## References
#
# - D. Bahdanau, K. Cho, Y. Bengio (2015). Neural machine translation by jointly learning to align and translate. ICLR.
#   arXiv:1409.0473. *The query looks at the encoder states for the first time; the score is a small network.*
# - M.-T. Luong, H. Pham, C. D. Manning (2015). Effective approaches to attention-based neural machine translation.
#   EMNLP. arXiv:1508.04025. *Compares several scores, the dot product among them.*
# - A. Graves, G. Wayne, I. Danihelka (2014). Neural Turing machines. arXiv:1410.5401. *Reading a memory by content,
#   with a softmax over similarities and a sharpness that the network sets.*
# - K. Xu et al. (2015). Show, attend and tell: neural image caption generation with visual attention. ICML.
#   arXiv:1502.03044. *Attention over the grid of a CNN.*
# - A. Vaswani et al. (2017). Attention is all you need. NeurIPS. arXiv:1706.03762. *Section 3.2.1: the scaled dot
#   product; its footnote 4 has the variance argument.*
# - D. Britz, A. Goldie, M.-T. Luong, Q. V. Le (2017). Massive exploration of neural machine translation architectures.
#   EMNLP. arXiv:1703.03906. *The published figure: dot-product and additive attention at several widths.*
# - J. Alammar (2018). The illustrated Transformer. https://jalammar.github.io/illustrated-transformer/. *The example of
#   the scores 112 and 96.*
# - G. Yang et al. (2022). Tensor programs V: tuning large neural networks via zero-shot hyperparameter transfer.
#   arXiv:2203.03466. *Why one may divide by $D$ instead.*
