# %% [markdown]
# # 15 · LoRA and its relatives
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/15_lora.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - say what it costs to fine-tune all weights of a large model, and why a small part may be enough;
# - write LoRA as $W_0 + \frac{\alpha}{r} BA$, start it so that it changes nothing, and merge it into the model;
# - choose matrices and a rank under a budget, and test by controls what a result owes to the method;
# - tell BitFit, adapter layers, prefix tuning and LoRA apart by what they train;
# - derive NF4 from the normal distribution, quantise weights in blocks, and count the bytes of QLoRA.
#
# **You need** from lesson 06 the projections of a head, from lesson 09 the Transformer block, and from lesson 11
# language models, fine-tuning and the count of GPT-3's parameters. (Lessons 12 to [14](14_set_prediction.ipynb) are not needed.) The terms and
# symbols of the course are listed in the [glossary](../docs/glossary.md).
#
# **Time** about 75 minutes to read; the cells run in about 45 seconds on two CPU cores.

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
import copy
import functools
import math
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrize
from torch.testing import assert_close

from utils.data import word_order
from utils.device import device
from utils.figures import adapters, plots
from utils.figures.explorers import Choice, Slider, explore
from utils.figures.plots import show
from utils.measures import stored_runs, stored_weights
from utils.models.translator import MATRICES, Translator, exact, fit, loss, write

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()

# %% [markdown]
# ## One model, many tasks
#
# GPT-3 has a little less than 175 billion parameters (lesson 11). In 16-bit numbers, of 2 bytes each, they take 349
# GB. Suppose that you want to fine-tune it for twelve tasks. Each fine-tuned model is a complete new set of weights,
# so you have to store 349 GB twelve times. Training needs even more memory: for each weight there are also its
# gradient and two numbers that the optimiser Adam keeps, the running means of the gradient and of its square.
#
# This seems wasteful. The twelve models know the same language and the same facts; each of them does something a
# little different with them. Could one keep a single model, and store for each task only the *difference*? How few
# numbers would do?
#
# We study this in miniature. **Task A** is to translate from English to French. A small decoder learns it from 6,000
# sentences of the course's grammar. **Task B** has other sentences of the same grammar, and in it the French words
# are to stay in the order of the English ones. The words need not be learned again. Only their order changes, and for
# this task there are just 200 sentences.


# %% tags=["fold"]
def tasks(seed):
    """Task A: 6,000 sentences to learn from, 1,000 to test with. Task B: 200 and 1,000, of those that differ."""
    pairs = word_order.sentences(12000, seed)
    differing = word_order.differing(pairs[6000:])
    both = [pair for pair in pairs[-1000:] if word_order.in_english_order(pair) == pair.target]
    return {
        "A": word_order.tokens(pairs[:6000]),
        "A, new": word_order.tokens(pairs[-1000:]),
        "A, same order": word_order.tokens(both),  # of these, those that are the same in task B
        "B": word_order.tokens(differing[:200], english_order=True),
        "B, new": word_order.tokens(differing[-1000:], english_order=True),
    }


for pair in word_order.differing(word_order.sentences(40, seed=0))[:3]:
    print("English:", " ".join(pair.source))
    print("task A: ", " ".join(pair.target))
    print("task B: ", " ".join(word_order.in_english_order(pair)))

# %% [markdown]
# English puts an adjective before the noun, and an object pronoun after the verb; in French, most adjectives come
# after the noun, and the pronoun comes before the verb. The model is a decoder as in lesson 11, with three blocks of
# width 64. It reads a row of tokens, first the English sentence and then the French one. It learns to predict the
# French tokens, and translates by continuing the row. It has learned task A beforehand, in 600 steps of training, and
# its weights are stored with this lesson: as with GPT-3, we take the model as somebody has pre-trained it. We count its
# **exact** translations: those that are right to the last word, in new sentences.


# %% tags=["fold"]
@functools.cache
def start(seed):
    """The sentences of a seed, the base, which has learned task A from them, and the same model untrained."""
    data = tasks(seed)
    torch.manual_seed(seed)
    model = Translator(D=64, H=4, D_F=256, L=3).to(DEVICE)
    untrained = copy.deepcopy(model)
    if seed == 0 and not stored_runs.full():
        stored_weights.load("15_lora.base", model)
    else:
        fit(model, data["A"], steps=600, rate=3e-3, seed=seed, what="pre-training on task A")
    return data, model, untrained


data, base, untrained = start(seed=0)
if stored_runs.full():
    stored_weights.keep("15_lora.base", base, half=False)
size = sum(weight.numel() for weight in base.parameters())
scores = {task: exact(base, data[f"{task}, new"]) for task in "AB"}
print(f"{size:,} parameters; exact translations: task A {scores['A']:.3f}, task B {scores['B']:.3f}")

# %% [markdown]
# The model, which we call the *base* from now on, gets nearly all translations of task A right, and none of task B.
# In all test sentences of task B the order makes a difference, so a model that does task A cannot get any of them
# right.

# %% [markdown]
# ## Full fine-tuning: what has changed?
#
# First we fine-tune as in lesson 11, with all weights (we count the biases among them). For comparison we train a
# second model *from scratch*: it learns from the same 200 sentences, but has not learned task A before. Each of the
# two has the learning rate that was best for it on another seed (these trials are not shown). Which of them will do
# better, and by how much?


# %%
def everything(model):
    """Full fine-tuning: all weights are trained."""
    return sum(weight.numel() for weight in model.parameters())


def adapted(base, attach, rate, data, seed):
    """A copy of `base` that `attach` has prepared, trained on the 200 sentences of task B; and how many weights were trained."""
    model = copy.deepcopy(base)
    torch.manual_seed(seed)
    count = attach(model)
    fit(model.to(DEVICE), data["B"], steps=250, rate=rate, seed=seed, what=f"{count:,} weights learn task B")
    return model, count


full, _ = adapted(base, everything, 1e-3, data, seed=0)
scratch, _ = adapted(untrained, everything, 2e-2, data, seed=0)
print(f"task B, exact: fine-tuned {exact(full, data['B, new']):.3f}, from scratch {exact(scratch, data['B, new']):.3f}")
print(f"the 200 sentences of training, exact: from scratch {exact(scratch, data['B']):.3f}")
before, after = (exact(model, data["A, same order"]) for model in (base, full))
print(
    f"task A, {len(data['A, same order'])} sentences with the same order in both tasks: {before:.3f}, afterwards {after:.3f}"
)

# %% [markdown]
# The fine-tuned model translates more than three quarters of the new sentences exactly, the one that was trained from
# scratch little more than a quarter, although it translates all 200 training sentences exactly. A large part of what
# task B needs must have been in the base already.
#
# Task A has suffered, however. We count only the sentences whose French order is the same in both tasks, since for
# the others the right answer is now a different one. Of these, 0.99 were exact before and 0.70 are exact now: this is
# what lesson 11 called catastrophic forgetting.
#
# What did fine-tuning change? Take one weight matrix, $W_0$ before and $W$ after. The change $\Delta W = W - W_0$ has
# as many numbers as the matrix, but it may have a simple form. The **singular value decomposition** writes every
# matrix as a sum
#
# $$\Delta W = \sigma_1 u_1 v_1^\top + \sigma_2 u_2 v_2^\top + \dots, \qquad \sigma_1 \ge \sigma_2 \ge \dots \ge 0,$$
#
# in which the vectors $u_i$ have length 1 and are orthogonal to one another, as are the $v_i$ among themselves. The
# numbers $\sigma_i$ are the *singular values*. Each term is a matrix of rank 1: it measures how much of $v_i$ an
# input contains, and writes $\sigma_i$ times as much of $u_i$ into the output. We call such a term a *direction* of
# the change; it needs only $D_{in}+D_{out}$ numbers. The squares $\sigma_i^2$ add up to the sum of the squares of all
# entries of $\Delta W$, the *squared change*. If the first few directions held nearly all of it, the change could be
# written down in few numbers. Do they?


# %% tags=["fold"]
def shares(change):
    """The share of the squared change that lies in its first 1, 2, …, 64 directions."""
    squares = torch.linalg.svdvals(change.detach().cpu()).square()  # [64], descending
    return squares.cumsum(dim=0) / squares.sum()


torch.manual_seed(0)
lines = {
    name: shares(getattr(full.blocks[1], name).weight - getattr(base.blocks[1], name).weight)
    for name in ("query", "value")
}
lines["random numbers"] = shares(torch.randn(64, 64))
figure = plots.curves(
    range(1, 65),
    lines,
    x_label="number of first directions",
    y_label="share of the squared change",
    styles=dict.fromkeys(lines, "-"),
    colours={"random numbers": plots.GREY},
)
told = {name: ", ".join(f"{share[r - 1]:.2f}" for r in (1, 4, 16)) for name, share in lines.items()}
show(
    figure,
    "The share of the squared change in the first directions, as curves that rise from the left to 1; those of the two trained "
    f"matrices rise much faster. With 1, 4 and 16 of 64 directions: {'; '.join(f'{name} {line}' for name, line in told.items())}.",
)
for name, line in told.items():
    print(f"{name:14} share in the first 1, 4 and 16 of 64 directions: {line}")

# %% [markdown]
# **Figure 1.** The share of the squared change that the first directions hold together, for the query matrix (blue)
# and the value matrix (orange) of the second block; and the same for a matrix of random numbers (grey).
#
# In these two matrices, the first four of 64 directions hold about half of the squared change and the first sixteen
# about nine tenths, clearly more than in a matrix of random numbers.

# %% [markdown]
# But a share of the squared change does not tell us how well the model translates. Suppose that each of the six
# matrices of a block (query, key, value and output, and the MLP's up and down) keeps only the first $r$ directions of
# its change, while everything else is as fine-tuning has left it. How many sentences come out right?

# %% tags=["fold"]
@torch.no_grad()
def shortened(r):
    """The fine-tuned model, with only the first r directions of the change of each matrix in the blocks."""
    model = copy.deepcopy(full)
    for block, old in zip(model.blocks, base.blocks):
        for name in MATRICES:
            W, W_0 = getattr(block, name).weight, getattr(old, name).weight
            U, sigma, Vh = torch.linalg.svd(W - W_0, full_matrices=False)
            W.copy_(W_0 + (U[:, :r] * sigma[:r]) @ Vh[:r])
    return model


kept = {r: exact(shortened(r), data["B, new"]) for r in (1, 4, 16, 64)}
for r, right in kept.items():
    print(f"first {r:2} of 64 directions: task B, exact {right:.3f}")

# %% [markdown]
# Sixteen directions of each change are as good as all 64, and even four translate 0.61 of the sentences exactly. For
# this task, the rest of the change is not needed. But this is one run of one small model on an easy task. When a
# model with 7 billion weights learned programming and mathematics, nine tenths of the squared change of full
# fine-tuning needed 10 to 100 times as many directions as LoRA usually has (Biderman et al., 2024).
#
# If a change of low rank can be enough, there is no need to learn a change of full rank and to shorten it afterwards.
# One can *force* the change of each matrix to have a low rank, from the start. This is the idea of LoRA.
#
# <details><summary>Going further: where the hypothesis came from</summary>
#
# The authors of LoRA were led to their hypothesis by a related result. Aghajanyan et al. (2021) let the weights of a
# pre-trained RoBERTa move only within a random subspace, and on one task 200 dimensions were enough for nine tenths
# of the accuracy of full fine-tuning. This says nothing about the rank of a matrix, but it suggests that a change
# which few numbers describe may be enough.
#
# </details>

# %% [markdown]
# ## A frozen layer and a low-rank update
#
# **LoRA** (low-rank adaptation; Hu et al., 2022) leaves the pre-trained matrix $W_0$ as it is: it is **frozen**,
# which means that training does not change it. Beside it stands a **low-rank update**, the product of two narrow
# matrices, and only these are trained:
#
# $$W = W_0 + \frac{\alpha}{r} B A, \qquad W_0\,[D_{out}, D_{in}],\quad B\,[D_{out}, r],\quad A\,[r, D_{in}].$$
#
# As in `nn.Linear`, $W_0$ is stored with the outputs as rows, and the layer computes $XW^\top$. The number $r$ is
# called the **rank** of the update, and is chosen much smaller than the sides of $W_0$. (As a matrix, $BA$ has at
# most rank $r$.) Instead of $D_{out} \cdot D_{in}$ numbers, $r\,(D_{out}+D_{in})$ are trained. The query matrix of a
# block of GPT-3 has $12288^2$, about 151 million numbers; an update of rank 4 has 98,304.

# %% tags=["fold"]
show(
    adapters.low_rank_update(),
    "Left, a large square matrix W_0 plus alpha over r times a tall narrow matrix B times a wide flat matrix A, with their shapes. "
    "Right, two paths from X to Y: above through the frozen layer W_0, below through A, r numbers, B and the factor alpha over r; "
    "their results are added.",
)

# %% [markdown]
# **Figure 2.** LoRA. Left, the weight $W$ as a sum; blue is trained, grey is frozen. Right, the same layer as two
# paths from its input $X$ to its output $Y$: the lower one squeezes each vector through $r$ numbers.
#
# How should $A$ and $B$ begin? Training is to start from the pre-trained model, so $BA$ must be 0 at first. Would it
# do to set both matrices to 0? By the chain rule, the gradients of the loss $L$ are
#
# $$\frac{\partial L}{\partial B} = \frac{\alpha}{r}\, \frac{\partial L}{\partial W} A^\top, \qquad
# \frac{\partial L}{\partial A} = \frac{\alpha}{r}\, B^\top \frac{\partial L}{\partial W}.$$
#
# Each gradient contains the other matrix. If both matrices are 0, both gradients are 0, and nothing will ever be
# learned. So $B$ begins with zeros, and $A$ with random numbers, drawn like the weight of a new linear layer:

# %%
# NBVAL_CHECK_OUTPUT
torch.manual_seed(0)
D_out, D_in, r, alpha = 6, 4, 2, 8
W_0, target = torch.randn(D_out, D_in), torch.randn(D_out, D_in)
for beginning, A in {
    "A random, B zero": (2 * torch.rand(r, D_in) - 1) / math.sqrt(D_in),  # [r, D_in]
    "both zero": torch.zeros(r, D_in),
}.items():
    A.requires_grad_()
    B = torch.zeros(D_out, r, requires_grad=True)  # [D_out, r]
    W = W_0 + alpha / r * B @ A  # [D_out, D_in]
    assert torch.equal(W, W_0)  # at first nothing is changed
    ((W - target) ** 2).sum().backward()
    print(f"{beginning}: length of the gradient for B {B.grad.norm():.1f}, for A {A.grad.norm():.1f}")

# %% [markdown]
# In the first step only $B$ learns. Once $B$ is no longer 0, $A$ learns, too.
#
# The factor $\alpha/r$ has a practical reason. $BA$ is a sum of $r$ terms, each a column of $B$ times a row of $A$,
# so the update grows with $r$. The division by $r$ counteracts this and is meant to spare us tuning the learning rate
# anew for each rank, while $\alpha$ sets how large the update is as a whole. The authors chose one $\alpha$ and did
# not tune it. We do the same: whenever LoRA learns task B, $\alpha = 8$ and the learning rate is $2 \cdot 10^{-2}$,
# for every rank.

# %% [markdown]
# ## Which layers get an adapter
#
# A Transformer has many matrices. In most of their experiments, LoRA's authors gave an update to the query and the
# value matrices of every block and froze everything else: the other two projections of attention (key and output),
# the MLPs, the normalisations, the embeddings and the output head. A trainable part that is put into a frozen model
# is called an **adapter**. For LoRA the word is used both for the update of one layer and for all updates of a model
# together.
#
# In torch, `parametrize` is a simple way to add the updates. It keeps the stored weight as
# `layer.parametrizations.weight.original`, and computes `layer.weight` from it whenever the weight is used; the
# update itself is `layer.parametrizations.weight[0]`. The layers are chosen by their names:


# %%
class LowRankUpdate(nn.Module):
    """The weight W_0 [D_out, D_in] gives W_0 + alpha/r B A."""

    def __init__(self, W_0, r, alpha):
        super().__init__()
        D_out, D_in = W_0.shape
        self.A = nn.Parameter((2 * torch.rand(r, D_in) - 1) / math.sqrt(D_in))
        self.B = nn.Parameter(torch.zeros(D_out, r))
        self.r, self.alpha = r, alpha

    def forward(self, W_0):
        return W_0 + self.alpha / self.r * self.B @ self.A  # [D_out, D_in]


ATTENTION = ("query", "key", "value", "output")


def lora(names, r, alpha=8):
    """Updates of rank r for the matrices with these names, in each block; all else is frozen."""

    def attach(model):
        model.requires_grad_(False)
        for block in model.blocks:
            for name in names:
                layer = getattr(block, name)
                parametrize.register_parametrization(layer, "weight", LowRankUpdate(layer.weight, r, alpha).to(DEVICE))
        return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)

    return attach


# %% [markdown]
# Mind the order: everything is frozen first, and the updates are put in afterwards, since otherwise they would be
# frozen, too. Does the new model really begin as the old one, and how many weights are trained?

# %%
new = copy.deepcopy(base)
count = lora(("query", "value"), r=4)(new)
with torch.no_grad():
    rows = data["B"][:8].to(DEVICE)
    assert torch.equal(new(rows), base(rows))  # not yet trained: bit for bit the base
assert count == 3 * 2 * 4 * (64 + 64)  # blocks, matrices, rank, both sides
print(f"{count:,} of {size:,} weights are trained, {count / size:.2%}")

# %% [markdown]
# Now the adapter learns task B. How far does it get with one sixtieth of the weights?

# %%
LORA_RATE = 2e-2
small, _ = adapted(base, lora(("query", "value"), r=4), LORA_RATE, data, seed=0)
print(f"task B, exact: LoRA {exact(small, data['B, new']):.3f}, full fine-tuning {exact(full, data['B, new']):.3f}")

# %% tags=["fold"]
untouched = base.state_dict()
for name, weight in small.state_dict().items():
    original = name.replace(".parametrizations.weight.original", ".weight")
    if original in untouched:
        assert torch.equal(weight, untouched[original])  # every weight of the base is as it was

# %% [markdown]
# LoRA reaches 0.72, not far below full fine-tuning. And the base has not changed: each of its weights is, bit for
# bit, as it was. So task A is not lost. When the adapter is taken away, the model translates into ordinary French
# again, and twelve tasks need one base and twelve small adapters.

# %% [markdown]
# ## Merging an adapter
#
# There are two ways to compute with an update, one during training and one after it.
#
# **While it is trained**, the update stays beside the layer, as on the right of Figure 2: $XW_0^\top +
# \frac{\alpha}{r} (XA^\top)B^\top$, with two thin products. The large matrix $BA$ need not be computed, although our
# `LowRankUpdate` does so for simplicity. **Once it is trained**, it can be **merged**: $W = W_0+\frac{\alpha}{r}BA$
# is computed once and stored instead of $W_0$. Then the model has exactly the form of the base, and is as fast. The
# next cell checks that the thin products, the adapted layer and the merged model agree.

# %%
rows = data["B, new"].to(DEVICE)
with torch.no_grad():
    before = small(rows)
# beside the layer: two thin products; up to rounding they give what the adapted layer gives
layer, X = small.blocks[0].query, torch.randn(5, 64, device=DEVICE)  # [5, D_in]
update = layer.parametrizations.weight[0]
old = F.linear(X, layer.parametrizations.weight.original, layer.bias)  # [5, D_out]
assert_close(old + update.alpha / update.r * (X @ update.A.T) @ update.B.T, layer(X), rtol=1e-4, atol=1e-5)
# merged: the sum takes the place of W_0
for block in small.blocks:
    for name in ("query", "value"):
        layer = getattr(block, name)
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)  # W is kept, and not W_0
assert small.state_dict().keys() == base.state_dict().keys()  # the model has its old form
with torch.no_grad():
    assert torch.equal(small(rows), before)  # and gives the same results, bit for bit

# %% [markdown]
# What was added can be subtracted again. A program can therefore hold a single model in memory and switch it from one
# task to another: it subtracts the old update and adds the new one. Merging has one price, though: all sentences of a
# batch must then belong to the same task, whereas with adapters beside the layers each sentence can have its own.
#
# <details><summary>Going further: adding and subtracting many times</summary>
#
# In the cell, the results were equal bit for bit because `parametrize` had computed the same sum. When updates are
# added and subtracted many times, each sum is rounded, so a careful program goes back to a stored $W_0$ now and then.
#
# </details>

# %% [markdown]
# ## BitFit and adapter layers
#
# LoRA was not the first method that trains few weights. Such methods are together called **parameter-efficient
# fine-tuning** (PEFT). They differ in *where* the trained numbers are.
#
# **BitFit** (Ben Zaken et al., 2022) trains the biases that the model has already, and nothing else. So it adds one
# learned vector to the output of each layer, the same for every token, and leaves the matrices as they are.
#
# **Adapter layers** (Houlsby et al., 2019) are small MLPs. Two of them are inserted into each block, one after
# attention and one after the MLP, each before the result is added to the residual stream. An adapter layer goes down
# from $D$ to a few numbers $m$ and up again, and adds what comes out to what went in. The second matrix begins with
# zeros (in the paper, with numbers near 0), so that at first nothing is changed.
#
# ```python
# X + up(F.relu(down(X)))  # down: nn.Linear(D, m), up: nn.Linear(m, D)
# ```
#
# Unlike LoRA's updates, an adapter layer cannot be merged: because of the ReLU between its two matrices, what it
# computes is not linear, and no single matrix can take its place. It stays in the model, and makes it a little
# slower.

# %% tags=["fold"]
show(
    adapters.places(),
    "A Transformer block from left to right along its residual stream. The query, key and value layers, attention, the output layer, "
    "and the MLP's layers up and down are grey, frozen. LoRA's products BA stand at query and value; small squares at all layers and "
    "normalisations are the biases that BitFit trains; keys and values P_K and P_V of prefix tuning enter attention; adapter layers "
    "stand behind the output layer and behind the MLP.",
)

# %% [markdown]
# **Figure 3.** Where four methods have their trained weights, in a pre-norm block (lesson 09); the thick line is the
# residual stream. Grey boxes have no weights (attention and GELU) or are frozen; in BitFit their biases are trained.
# The next section explains prefix tuning.

# %% [markdown]
# ## Prefix tuning
#
# **Prefix tuning** (Li and Liang, 2021) takes a different route. Instructions in a prompt change what a model does
# without changing any weight (lesson 11). A prompt acts on later tokens only through its keys and values. Could one,
# then, *learn* such keys and values directly, without any words to which they belong? Each head of each block gets
# $P$ additional keys $P_K\,[P, D_H]$ and values $P_V\,[P, D_H]$, in front of those of the sequence, and every token
# may attend to them:
#
# $$Y = \operatorname{softmax}\!\left(\frac{Q\,[P_K; K]^\top}{\sqrt{D_H}}\right) [P_V; V].$$
#
# Here $[P_K; K]$ is a matrix with the rows of $P_K$ and below them those of $K$, and the causal mask is left out. The
# softmax is taken over both groups of keys together. Let $\lambda$ be the sum of the attention weights that a token
# gives to the prefix in this head. Then the head's output for the token is a mixture,
#
# $$y = (1 - \lambda)\, y_{\text{sequence}} + \lambda\, y_{\text{prefix}},$$
#
# of what it would get without the prefix and of what attention to the prefix alone would give. Within one block, the
# prefix cannot change how a token divides its attention *among the words*: the attention weights of the sequence keep
# their ratios. The next cell checks the mixture for one query, five words and a prefix of two vectors.
#
# <details><summary>Going further: one form for prefixes, adapter layers and LoRA</summary>
#
# He et al. (2022) write prefix tuning, adapter layers and LoRA in one common form, in which each of them adds
# something to a hidden vector. And why "within one block"? The next block gets other inputs, so there the ratios may
# differ.
#
# </details>

# %%
# NBVAL_CHECK_OUTPUT
torch.manual_seed(0)
q, K, V = torch.randn(1, 8), torch.randn(5, 8), torch.randn(5, 8)  # one query; keys and values of five words
P_K, P_V = torch.randn(2, 8), torch.randn(2, 8)  # a prefix of two
y = F.scaled_dot_product_attention(q, torch.cat([P_K, K]), torch.cat([P_V, V]))  # [1, 8]
weights = (q @ torch.cat([P_K, K]).T / math.sqrt(8)).softmax(dim=-1)  # [1, 7]
lam = weights[:, :2].sum()
alone, prefixed = F.scaled_dot_product_attention(q, K, V), F.scaled_dot_product_attention(q, P_K, P_V)
assert_close(y, (1 - lam) * alone + lam * prefixed)
print(f"attention weights of the prefix {lam:.3f}, of the five words {weights[:, 2:].sum():.3f}")


# %% tags=["fold"]
def biases(model):
    """BitFit: the biases alone are trained."""
    for name, weight in model.named_parameters():
        weight.requires_grad_(name.endswith("bias"))
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


class Prefix(nn.Module):
    """Causal attention, mixed with attention to P learned keys and values."""

    def __init__(self, P, H, D_H):
        super().__init__()
        self.P_K, self.P_V = (nn.Parameter(torch.randn(H, P, D_H)) for _ in range(2))

    def forward(self, Q, K, V):
        N, D_H = Q.shape[-2:]
        past = torch.ones(N, N, dtype=torch.bool, device=Q.device).tril()
        E = (Q @ K.mT / math.sqrt(D_H)).masked_fill(~past, -torch.inf)  # [B, H, N, N]
        E_P = Q @ self.P_K.mT / math.sqrt(D_H)  # [B, H, N, P]
        share = torch.sigmoid(E_P.logsumexp(dim=-1, keepdim=True) - E.logsumexp(dim=-1, keepdim=True))  # [B, H, N, 1]
        return (1 - share) * (E.softmax(dim=-1) @ V) + share * (E_P.softmax(dim=-1) @ self.P_V)  # [B, H, N, D_H]


def prefix(P):
    """Prefix tuning: P keys and values for each head of each block."""

    def attach(model):
        model.requires_grad_(False)
        for block in model.blocks:
            block.attention = Prefix(P, block.H, 64 // block.H)
        return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)

    return attach


class Bottleneck(nn.Module):
    """An adapter layer: down to m numbers, ReLU, up again, and added; at first it changes nothing."""

    def __init__(self, D, m):
        super().__init__()
        self.down, self.up = nn.Linear(D, m), nn.Linear(m, D)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, X):
        return X + self.up(F.relu(self.down(X)))


def bottlenecks(m):
    """Adapter layers: a bottleneck after attention and after the MLP of each block, before the residual sum."""

    def attach(model):
        model.requires_grad_(False)
        for block in model.blocks:
            block.output, block.down = (nn.Sequential(layer, Bottleneck(64, m)) for layer in (block.output, block.down))
        return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)

    return attach


def random_weights(count, names=MATRICES):
    """A control: `count` single weights, drawn at random from these matrices of all blocks; the gradient of the others is cut."""

    def attach(model):
        model.requires_grad_(False)
        weights = [getattr(block, name).weight.requires_grad_(True) for block in model.blocks for name in names]
        chosen = torch.zeros(sum(weight.numel() for weight in weights), device=DEVICE)
        chosen[torch.randperm(len(chosen))[:count]] = 1
        parts = chosen.split([weight.numel() for weight in weights])
        for weight, mask in zip(weights, (part.view_as(weight) for part, weight in zip(parts, weights))):
            weight.register_hook(lambda gradient, mask=mask: gradient * mask)
        return count

    return attach


# %% [markdown]
# ## What does LoRA itself contribute?
#
# LoRA trained 3,072 weights and came close to full fine-tuning. How much of this is due to LoRA itself? Before you
# credit the method, ask what else could explain the result:
#
# - Perhaps *any* 3,072 weights would do. Control: train as many single weights, drawn at random from all matrices of
#   the blocks, and leave the others as they are.
# - Perhaps the place is what matters. Control: draw them from the same query and value matrices.
# - Perhaps task B is easy. Controls: full training from scratch, and LoRA in a model that has not learned task A.
#
# Here is the second control, live:

# %%
control, _ = adapted(base, random_weights(3072, ("query", "value")), 3e-2, data, seed=0)
print(f"task B, exact: 3,072 random weights of the same matrices {exact(control, data['B, new']):.3f}")

# %% [markdown]
# The random weights reach 0.38, about half of what LoRA reached. But one run on one set of 200 sentences says little.
# The stored run has all methods and four seeds, each with its own sentences and its own base. The last two columns
# are exact translations, mean and range over the seeds; those of task A are counted only for sentences whose French
# order is the same in both tasks. *All six* means all matrices of a block, with rank 8.
#
# <details><summary>Going further: the settings of the stored run</summary>
#
# We tuned the learning rate of each method on another seed, which is not shown, and nothing else. All lines with LoRA
# share one rate, so that the rate of LoRA on the untrained base was not tuned for it. Query and value have updates of
# rank 4, the prefix has 8 keys and values for each head, and the adapter layers have $m = 4$.
#
# </details>

# %% tags=["fold"]
# each way with the learning rate that was best on another seed, whose results are not shown; one rate for LoRA
WAYS = {
    "full fine-tuning": (everything, 1e-3),
    "from scratch": (everything, 2e-2),
    "LoRA, all six": (lora(MATRICES, r=8), LORA_RATE),
    "LoRA, query and value": (lora(("query", "value"), r=4), LORA_RATE),
    "LoRA on an untrained base": (lora(("query", "value"), r=4), LORA_RATE),
    "random weights": (random_weights(3072), 3e-2),
    "random weights of query, value": (random_weights(3072, ("query", "value")), 3e-2),
    "BitFit": (biases, 1e-1),
    "prefix": (prefix(8), 6e-1),
    "adapter layers": (bottlenecks(4), 3e-2),
}


def by_way(data, base, untrained, seed):
    """Weights trained, and exact translations of tasks B and A afterwards, for the base and for each way to adapt it."""
    found = {"base": [0, exact(base, data["B, new"]), exact(base, data["A, same order"])]}
    for name, (attach, rate) in WAYS.items():
        begin = untrained if name in ("from scratch", "LoRA on an untrained base") else base
        model, count = adapted(begin, attach, rate, data, seed)
        found[name] = [count, exact(model, data["B, new"]), exact(model, data["A, same order"])]
    return found


SEEDS = 4


def over_seeds(name, part):
    """Runs `part` for each seed, with its own sentences and its own base, and stores what it gives."""
    begun = time.perf_counter()
    found = [part(*start(seed), seed) for seed in range(SEEDS)]
    return stored_runs.keep(name, {"runs": found}, seed=f"0 to {SEEDS - 1}", seconds=time.perf_counter() - begun)


def spread(values, digits=3):
    """Mean and range over the seeds."""
    values = list(values)
    return f"{sum(values) / len(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


# %% tags=["fold"]
record = over_seeds("15_lora.ways", by_way) if stored_runs.full() else stored_runs.load("15_lora.ways")
print(stored_runs.how(record))
ways = record["results"]["runs"]
print(f"{'':31} weights    share  task B, exact           task A, same order")
for name in ("base", *WAYS):
    count = ways[0][name][0]
    on_b, on_a = (spread(run[name][place] for run in ways) for place in (1, 2))
    print(f"{name:31} {count:7,} {count / size:8.2%}  {on_b}  {on_a}")
for run in ways:  # the claims below hold for each seed
    full_b, thin_b, wide_b = (run[name][1] for name in ("full fine-tuning", "LoRA, query and value", "LoRA, all six"))
    assert thin_b < full_b < wide_b and thin_b > 1.4 * run["random weights of query, value"][1]
print("seed by seed, task B and task A (same order):")
for name in ("full fine-tuning", "LoRA, query and value", "LoRA, all six"):
    print(f"{name:22}", "   ".join(f"{run[name][1]:.3f} and {run[name][2]:.3f}" for run in ways))

# %% tags=["fold"]
PAPER_4 = {  # Hu et al. 2022, table 4: GPT-3; million weights trained, accuracy on WikiSQL and on MultiNLI (matched) in per cent
    "full fine-tuning": (175255.8, 73.8, 89.5),
    "BitFit": (14.2, 71.3, 91.0),
    "prefix of embeddings": (3.2, 63.1, 88.6),
    "prefix in each layer": (20.2, 70.1, 89.5),
    "adapter layers, small": (7.1, 71.9, 89.8),
    "adapter layers, large": (40.1, 73.2, 91.5),
    "LoRA, small": (4.7, 73.4, 91.7),
    "LoRA, large": (37.7, 74.0, 91.6),
}
figure, (left, right) = plots.canvas(12, 3.8, 2)
for place, name in enumerate(WAYS):
    values = [run[name][1] for run in ways]
    left.plot(
        values, [-place] * len(values), "o", color=plots.BLUE if "LoRA" in name else plots.GREY, markersize=6, alpha=0.7
    )
left.set_yticks([-place for place in range(len(WAYS))], [f"{name} ({ways[0][name][0]:,})" for name in WAYS])
left.set(xlabel="task B, exact", title="ours: one point for each seed", xlim=(-0.03, 1))
for place, (name, (_, accuracy, _)) in enumerate(PAPER_4.items()):
    right.plot(accuracy, -place, "o", color=plots.BLUE if "LoRA" in name else plots.GREY, markersize=6)
right.set_yticks(
    [-place for place in range(len(PAPER_4))], [f"{name} ({count:,} M)" for name, (count, _, _) in PAPER_4.items()]
)
right.set(xlabel="WikiSQL, %", title="published: GPT-3")
for panel in (left, right):
    panel.grid(True)
show(
    figure,
    "Left, exact translations of task B, mean over the seeds: "
    + "; ".join(f"{name} {sum(run[name][1] for run in ways) / len(ways):.2f}" for name in WAYS)
    + ". Right, published accuracies of GPT-3 on WikiSQL in per cent: "
    + "; ".join(f"{name} {accuracy}" for name, (_, accuracy, _) in PAPER_4.items())
    + ".",
)

# %% [markdown]
# **Figure 4.** Left, our stored run: exact translations of task B, a point for each of four seeds; in parentheses the
# number of trained weights. Right, the published results with GPT-3 (Hu et al., 2022, table 4): accuracy on WikiSQL,
# where questions are translated to database queries, within ±0.5; in parentheses the trained weights in millions. A
# *prefix of embeddings* consists of learned input vectors only; a *prefix in each layer* is the nearest relative of
# the prefix tuning above. LoRA is drawn in blue. The right axis begins near 63 %.
#
# What do the table and the figure show?
#
# - **LoRA needs a pre-trained base.** Without it, LoRA gets no sentence right (at a learning rate that was not tuned
#   for this case), and full training from scratch translates only 0.30 of them exactly.
# - **It matters which 3,072 weights are trained.** Random weights from all six matrices reach 0.21. Random weights
#   from the same matrices reach 0.33, half of LoRA's 0.66. The place therefore accounts for a part of LoRA's lead,
#   and the form of the update for the larger part. A likely reason, which we have not tested, is that a single weight
#   joins one input with one output, whereas a row of $A$ and a column of $B$ join all inputs with all outputs.
# - **LoRA with 1.6 % of the weights comes close to full fine-tuning, but does not reach it.** On average it
#   translates 0.66 of the sentences exactly, against 0.73, and it is behind in each of the seeds. With updates of
#   rank 8 for all six matrices it is ahead in each of them, with 0.77 on average. Since each learning rate was tuned
#   on one seed only, this does not show that LoRA is better than full fine-tuning, only that it need not be behind.
# - **Here LoRA forgets about as much as full fine-tuning, on average.** Of the sentences whose French order is the
#   same in both tasks, the base translates 0.99 exactly, and after either of the two 0.56 of them are left. With
#   large models and other tasks, LoRA was found to learn less and to forget less (Biderman et al., 2024). In any case
#   LoRA's adapter can be taken off.
# - **The relatives fall far behind here; in the published results they do not.** BitFit, the prefix and the adapter
#   layers stay below 0.2 on average. With GPT-3 on WikiSQL a prefix in each layer and the other two reach at least
#   70.1 %, against 73.4 % for LoRA; only the prefix of embeddings is far behind there, too. So our table does not say
#   that they are bad methods.
#
# In the published results, LoRA with 4.7 million weights, which is 0.003 % of GPT-3, is level with full fine-tuning
# on WikiSQL within the margin given. On MultiNLI, where it is asked whether one sentence follows from another, it is
# even ahead, with 91.7 against 89.5. Our miniature cannot show that so small a share is enough: 0.003 % of its
# weights would be five or six numbers.
#
# <details><summary>Going further: seed by seed</summary>
#
# LoRA on query and value is behind full fine-tuning by 0.006 to 0.121, and LoRA on all six matrices is ahead by 0.007
# to 0.097. The smallest of these differences, six and seven sentences of 1,000, are too small to mean anything. The
# equal forgetting is one of the means, too: in one of the four seeds LoRA on query and value forgets more (0.563
# against 0.700), in another full fine-tuning does (0.596 against 0.472), and in two they are nearly equal.
#
# </details>
#
# <details><summary>Going further: why the relatives may be so far behind here</summary>
#
# Our model is tiny, and the task is special: the order of the words is decided by *where* a token attends. There are
# likely reasons, which we have not tested. A bias adds the same vector to the query of every token; adapter layers
# act on attention only in later blocks; and a prefix cannot change, within a block, how a token divides its attention
# among the words.
#
# Our 200 sentences are also few. Prefixes did badly with few examples in the LoRA paper, too: with 100 examples of
# MultiNLI, GPT-3 reaches 60.2 with full fine-tuning and 63.8 with LoRA, but 48.3 with a prefix in each layer and 37.6
# with a prefix of embeddings (in the appendix). LoRA's 91.7 on all of MultiNLI, by the way, were reached with updates
# of rank 2 for the value matrices alone, as the appendix says.
#
# Our settings may be to blame as well. We left out what the authors of prefix tuning found necessary for stable
# training, an MLP that computes the prefix. Our prefix begins with random numbers, so that, unlike the others, it
# changes the model even before training; the authors begin with the keys and values of real words when there are few
# examples. And the rates were tuned for task B alone: on task A the relatives forget more than LoRA does (0.376,
# 0.091 and 0.220 are left).
#
# </details>

# %% [markdown]
# ## Which matrices, and which rank?
#
# A block of our model has six matrices: query, key, value and output $[64, 64]$, up $[256, 64]$ and down $[64, 256]$.
# Suppose that you may train 3,072 numbers. Is it better to spend them on one matrix with a high rank, or on several
# with a low rank? Guess before you look at the table.

# %% tags=["fold"]
BUDGET = {  # 3,072 weights in each; table 5 of the paper
    "query": (("query",), 8),
    "key": (("key",), 8),
    "value": (("value",), 8),
    "output": (("output",), 8),
    "query, key": (("query", "key"), 4),
    "query, value": (("query", "value"), 4),
    "all four": (ATTENTION, 2),
    "all six": (MATRICES, 1),  # 3,456
}
GROUPS = {"query": ("query",), "query, value": ("query", "value"), "all four": ATTENTION, "all six": MATRICES}
RANKS = [1, 2, 4, 8, 32]


def by_place_and_rank(data, base, untrained, seed):
    """Exact translations of task B after LoRA: with one budget at several places, and by rank."""
    places, ranks, done = {}, {group: [] for group in GROUPS}, {}

    def of(names, r):
        if (names, r) not in done:
            done[names, r] = exact(adapted(base, lora(names, r), LORA_RATE, data, seed)[0], data["B, new"])
        return done[names, r]

    for name, (names, r) in BUDGET.items():
        places[name] = of(names, r)
    for group, names in GROUPS.items():
        ranks[group] = [of(names, r) for r in RANKS]
    return {"places": places, "ranks": ranks}


record = over_seeds("15_lora.places", by_place_and_rank) if stored_runs.full() else stored_runs.load("15_lora.places")
print(stored_runs.how(record))
placed = record["results"]["runs"]
PAPER_5 = {  # Hu et al. 2022, table 5: 18.9 million weights each (rank 8, 4 or 2); WikiSQL within 0.5, MultiNLI within 0.1
    "query": (70.4, 91.0),
    "key": (70.0, 90.8),
    "value": (73.0, 91.0),
    "output": (73.2, 91.3),
    "query, key": (71.4, 91.3),
    "query, value": (73.7, 91.3),
    "all four": (73.7, 91.7),
}
print(f"{'matrices':13} rank  ours: task B, exact      GPT-3: WikiSQL  MultiNLI")
for name, (_, r) in BUDGET.items():
    ours = spread(run["places"][name] for run in placed)
    print(f"{name:13} {r:4}  {ours:24}", *(f"{value:12.1f}" for value in PAPER_5.get(name, ())))
for places in (run["places"] for run in placed):  # in each seed
    assert places["all four"] > places["query, value"] > max(places["query"], places["query, key"])
    assert places["query"] > 1.5 * max(places["value"], places["output"])

# %% [markdown]
# The third column is our stored run, mean and range over four seeds; the last two are the published accuracies in per
# cent (table 5 of the paper, with the same ranks and 18.9 million weights in each line). *All four* are query, key,
# value and output; *all six* have up and down as well.
#
# On average, all four matrices with rank 2 are at the top in both experiments (on WikiSQL level with query and
# value). But the number of matrices is not all that matters: with GPT-3 on WikiSQL, query and key together are behind
# value alone. The experiments also disagree about the best single matrices. For GPT-3 on WikiSQL these are value and
# output, for us query and key, by far (with one learning rate and one $\alpha$ for all lines). A likely reason, which
# we have not tested, is that task B changes where a token has to look for the next word, and not what it copies from
# there, whereas a database query consists largely of other tokens than the question. *Where* an adapter belongs is
# therefore a question about the task, too.
#
# Is it best to adapt all six? With this budget it is not, on average. At equal *rank*, which means more than twice as
# many weights, all six are ahead of all four in the mean, above all at low ranks (Figure 5). The authors of QLoRA,
# whom we shall meet below, needed updates in all linear layers to match full fine-tuning.
#
# <details><summary>Going further: what else differs between the lines</summary>
#
# Rank 1 for all six takes 3,456 weights, a few more than the budget. With $\alpha = 8$ the factor $\alpha/r$ is 1, 2,
# 4 and 8 for ranks 8, 4, 2 and 1, and the learning rate is the same for all, so the lines differ in this, too. The
# order holds not only on average: in each of our seeds, all four are ahead of query and value with rank 4, and these
# are ahead of query alone with rank 8 and of query and key. The factor $\alpha/r$ may also be part of the reason why
# high ranks help so little in Figure 5, since it falls as $r$ grows. Kalajdzievski (2023) divides by $\sqrt r$
# instead.
#
# </details>
#
# How high must the rank be?

# %% tags=["fold"]
PAPER_6 = {  # Hu et al. 2022, table 6: WikiSQL, accuracy of GPT-3 in per cent, for r = 1, 2, 4, 8, 64
    "query": [68.8, 69.6, 70.5, 70.4, 70.0],
    "query, value": [73.4, 73.3, 73.7, 73.8, 73.5],
    "all four": [74.1, 73.7, 74.0, 74.0, 73.9],
}
SHADES = {"query": plots.VERMILLION, "query, value": plots.BLUE, "all four": plots.GREEN, "all six": plots.PURPLE}
means = {
    group: [sum(run["ranks"][group][k] for run in placed) / len(placed) for k in range(len(RANKS))] for group in GROUPS
}
figure, (left, right) = plots.canvas(11, 3.8, 2)
plots.curves(RANKS, means, colours=SHADES, log="x", x_label="rank r", y_label="task B, exact", title="ours", axes=left)
for shift, group in enumerate(GROUPS):  # the range over the seeds; beside each other, so that each can be seen
    for k, r in enumerate(RANKS):
        found = [run["ranks"][group][k] for run in placed]
        left.plot([r * 1.04 ** (shift - 1.5)] * 2, [min(found), max(found)], color=SHADES[group], linewidth=1.5)
plots.level(left, sum(run["full fine-tuning"][1] for run in ways) / len(ways), "")
plots.curves(
    [1, 2, 4, 8, 64],
    PAPER_6,
    colours=SHADES,
    log="x",
    x_label="rank r",
    y_label="WikiSQL, %",
    title="published: GPT-3",
    axes=right,
)
plots.level(right, 73.8, "")
print(f"{'rank':13}", "".join(f"{r:>21}" for r in RANKS))
for group in GROUPS:
    print(f"{group:13}", "".join(f"{spread((run['ranks'][group][k] for run in placed), 2):>21}" for k in range(len(RANKS))))
show(
    figure,
    f"Left, exact translations for ranks {RANKS}: "
    + "; ".join(f"{group} {', '.join(f'{value:.2f}' for value in values)}" for group, values in means.items())
    + ". Right, the published accuracies of GPT-3 on WikiSQL for ranks 1, 2, 4, 8 and 64: "
    + "; ".join(f"{group} {', '.join(map(str, values))}" for group, values in PAPER_6.items())
    + ".",
)

# %% [markdown]
# **Figure 5.** Left, exact translations of task B against the rank: means over four seeds; beside each point, a
# vertical bar from the lowest to the highest value. Right, the published accuracies with GPT-3 (table 6 of the
# paper); the vertical axis spans only a few per cent. The dotted lines are full fine-tuning; the axes of the rank are
# logarithmic.
#
# With our settings, a higher rank hardly helps beyond some point: from rank 8 to 32, with 4 times as many weights,
# the means rise by only about 0.02.
#
# The surprise of the paper was that *rank 1* is almost enough for GPT-3: with updates of query and value it reaches
# 73.4 with rank 1, and 73.8 with the best rank. This is not so here, where query and value reach 0.24 with rank 1 and
# 0.66 with rank 4. The authors themselves do not expect a small rank to be enough for every task, and the two models
# differ in width (64 and 12,288).
#
# What does each part of an adapter contribute? For Figure 6 we train an adapter of rank 8 for all six matrices of our
# base. You can keep only the first directions of each update, merge only the updates of some matrices, or scale the
# updates, and see what becomes of the translations.

# %% tags=["fold"]
wide, _ = adapted(base, lora(MATRICES, r=8), LORA_RATE, data, seed=0)
SOME = data["B, new"][:300]


def cut_update(block, name, r, alpha):
    """The first r directions of what `wide` has learned for a matrix, scaled by alpha / 8."""
    pair = wide.blocks[block]
    update = getattr(pair, name).parametrizations.weight[0]
    U, sigma, Vh = torch.linalg.svd((update.B @ update.A).detach(), full_matrices=False)
    return alpha / 8 * (U[:, :r] * sigma[:r]) @ Vh[:r]  # [D_out, D_in]


def merged_with(r, alpha, names):
    """The base with the first r directions of these matrices' updates merged in."""
    model = copy.deepcopy(base)
    with torch.no_grad():
        for place, block in enumerate(model.blocks):
            for name in names:
                getattr(block, name).weight.add_(cut_update(place, name, r, alpha))
    return model


def measured(rank, alpha, matrices):
    r, names = int(rank), GROUPS[matrices]
    model = merged_with(r, alpha, names)
    count = sum(r * sum(getattr(block, name).weight.shape) for block in base.blocks for name in names)
    return r, names, model, count, exact(model, SOME)


def draw_merged(rank, alpha, matrices):
    r, names, model, count, right = measured(rank, alpha, matrices)
    figure, panels = plots.canvas(12, 3.2, 4)
    W_0, W = (getattr(each.blocks[1], names[0]).weight.detach() for each in (base, model))
    for panel, values, title in zip(panels, (W_0, W - W_0, W), ("$W_0$", "update", "merged")):
        plots.field(
            values,
            title=f"{title}, {names[0]}, block 2",
            x_label="input",
            y_label="output",
            limits=(-0.5, 0.5),
            bar=False,
            axes=panel,
        )
    plots.bars(
        [100 * count / size, 100 * right], ["weights, %", "task B, %"], limits=(0, 100), numbers=".1f", axes=panels[3]
    )
    return figure


def say_merged(rank, alpha, matrices):
    r, names, _, count, right = measured(rank, alpha, matrices)
    return (
        f"Rank {r}, alpha {alpha:g}, matrices: {', '.join(names)}. {count:,} weights, {count / size:.2%} of the model; "
        f"{right:.0%} of 300 sentences of task B are exact."
    )


explore(
    draw_merged,
    alt=say_merged,
    rank=Slider("rank r", 1, 8, 8, 1),
    alpha=Slider("alpha", 0, 16, 8, 1),
    matrices=Choice("matrices", list(GROUPS), "all six"),
)

# %% [markdown]
# **Figure 6.** The pre-trained weight $W_0$, the update that is merged, and their sum, in the second block, for the
# first of the chosen matrices; blue entries are negative, yellow ones positive, grey ones near 0. On the right, the
# size of the merged updates ($A$ and $B$) as a percentage of the model, and the percentage of 300 new sentences of
# task B that are translated exactly. Rank $r$ keeps the first $r$ directions of the singular value decomposition of
# each trained update. $\alpha$ was 8 in training; other values scale the update after training.

# %% tags=["fold"]
for what, settings in (
    ("rank 1 to 8, alpha 8, all six", [(rank, 8, "all six") for rank in range(1, 9)]),
    ("alpha 0, 4, 8, 12, 16, rank 8, all six", [(8, alpha, "all six") for alpha in (0, 4, 8, 12, 16)]),
    ("rank 8, alpha 8, for " + "; ".join(GROUPS), [(8, 8, name) for name in GROUPS]),
):
    print(f"{what}: {', '.join(f'{measured(*one)[-1]:.2f}' for one in settings)}")

# %% [markdown]
# Each line above names the settings and then gives, in the same order, the share of the same 300 sentences that is
# translated exactly. The first directions alone are not enough: with one of the eight, 0.09 of the sentences are
# right, while six are as good as all. The scale has to be that of the training: with half or twice its $\alpha$, most
# of the translations are lost. And the updates depend on one another: merged without the others, those of query and
# value give nothing right, although an adapter that was *trained* for query and value alone reached 0.72.

# %% [markdown]
# ## How similar are two adapters?
#
# Train two adapters for the same task from different random numbers. Do they find the same directions? Their matrices
# cannot be compared number by number, since many pairs $A$, $B$ have the same product. But the rows of $A$ span the
# space of the *input directions* that an update reads. The singular value decomposition, this time of $A$ itself,
# gives orthogonal directions $v_1, v_2, \dots$ of this space, sorted by their singular values. The authors of LoRA
# measure how much of the first $i$ directions of one update lies in the space of the first $j$ directions of another:
#
# $$\phi(i, j) = \frac{\lVert U_1^{(i)\top}\, U_2^{(j)} \rVert_F^2}{\min(i, j)}$$
#
# $U_1^{(i)}\,[D_{in}, i]$ has the first $i$ directions $v$ of one update as its columns (the letter $U$ is the
# paper's), $U_2^{(j)}\,[D_{in}, j]$ the first $j$ of the other, and $\lVert M \rVert_F^2$ is the sum of the squares
# of all entries of a matrix $M$. For a single direction and a plane ($i = 1$, $j = 2$) this is the squared length of
# the shadow that the direction casts on the plane:

# %% tags=["fold"]
show(
    adapters.shadows(),
    "Three planes with an arrow of length 1 each. It lies in the plane: shadow 1.00, phi 1.0. It rises at 45 degrees: shadow 0.71, "
    "phi 0.5. It stands upright: shadow 0.00, phi 0.0.",
)

# %% [markdown]
# **Figure 7.** What $\phi(1, 2)$ measures. An arrow of length 1 (orange) and its shadow (dark blue) on the plane that
# two directions span (light blue). The shadow is drawn a little below the arrow; at 90° its length is 0, and nothing
# is drawn.
#
# In general, $\phi$ is the mean squared length of the shadows that the directions of the smaller space cast on the
# larger one: 1 if the smaller space lies in the larger one, and 0 if the two are orthogonal. What is it for two
# random matrices? In 64 dimensions, the shadow that a random direction casts on a space of $j$ directions has a
# squared length of $j/64$ on average. So chance gives $\phi(1, 1) = 1/64$ and $\phi(8, 8) = 8/64$.


# %%
def directions(A, count):
    """The `count` main directions of the input that A [r, D_in] reads, as columns [D_in, count]."""
    Vh = torch.linalg.svd(A, full_matrices=False).Vh  # [r, D_in]: one direction a row, the main one first
    return Vh[:count].T


def overlap(A, other, i, j):
    """phi(i, j): how much of the first i directions of A lies in the first j of the other; from 0 to 1."""
    return (directions(A, i).T @ directions(other, j)).square().sum().item() / min(i, j)


# %% tags=["fold"]
def updates(model, name):
    """The learned A of all blocks."""
    return [getattr(block, name).parametrizations.weight[0].A.detach() for block in model.blocks]


FIRST = [1, 2, 4, 8]


def overlaps(data, base, untrained, seed):
    """phi(i, j), mean over blocks, by matrix: rank 8 and another seed, rank 8 and rank 32; and by chance."""
    attach = {r: lora(("query", "value"), r) for r in (8, 32)}
    runs = {
        "first": adapted(base, attach[8], LORA_RATE, data, seed + 100)[0],
        "another seed": adapted(base, attach[8], LORA_RATE, data, seed + 200)[0],
        "rank 32": adapted(base, attach[32], LORA_RATE, data, seed + 300)[0],
    }
    found = {}
    for name in ("query", "value"):
        for other in ("another seed", "rank 32"):
            pairs = list(zip(updates(runs["first"], name), updates(runs[other], name)))
            found[f"{name}, {other}"] = [
                [sum(overlap(A, more, i, j) for A, more in pairs) / len(pairs) for j in FIRST] for i in FIRST
            ]
    torch.manual_seed(seed)
    chance = [(torch.randn(8, 64), torch.randn(8, 64)) for _ in range(20)]
    by_chance = [[sum(overlap(A, more, i, j) for A, more in chance) / 20 for j in FIRST] for i in FIRST]
    found["two random matrices"] = by_chance
    return found


record = over_seeds("15_lora.overlaps", overlaps) if stored_runs.full() else stored_runs.load("15_lora.overlaps")
print(stored_runs.how(record))
found = record["results"]["runs"]
KINDS = [f"{name}, {other}" for name in ("query", "value") for other in ("another seed", "rank 32")]
KINDS.append("two random matrices")
figure, panels = plots.canvas(14, 3.2, len(KINDS))
for kind, panel in zip(KINDS, panels):
    mean = torch.tensor([run[kind] for run in found]).mean(dim=0)  # [4, 4]
    plots.heat_map(mean, FIRST, FIRST, title=kind, row_label="i", column_label="j", axes=panel)
means = {kind: torch.tensor([run[kind] for run in found]).mean(dim=0) for kind in KINDS}
for kind in KINDS:
    told = [spread((run[kind][k][k] for run in found), 2) for k in (0, 3)]
    print(f"{kind:22} phi(1, 1) {told[0]}  phi(8, 8) {told[1]}")
show(
    figure,
    "Overlaps phi(i, j) for i and j of 1, 2, 4 and 8, a small table for each pair of adapters. phi(1, 1) and phi(8, 8): "
    + "; ".join(f"{kind} {mean[0, 0]:.2f} and {mean[3, 3]:.2f}" for kind, mean in means.items())
    + ".",
)

# %% [markdown]
# **Figure 8.** The overlaps $\phi(i, j)$ of the matrices $A$ of two updates; mean over the three blocks and four
# seeds. The first $i$ directions of an update of rank 8 (rows) are compared with the first $j$ of another (columns):
# one of rank 8 from other random numbers ("another seed") or one of rank 32. On the right, two random matrices. The
# lighter a cell, the larger the overlap.
#
# On average, two updates share more than chance would give, and the query updates share more than the value updates:
# $\phi(1, 1)$ is 0.33 for two query updates of rank 8 and 0.13 for two value updates. But no overlap between two
# updates of rank 8 comes near 1, as $\phi(i, 8)$ would if one space contained the other: the largest mean is 0.64.
#
# The paper compares rank 8 with rank 64 in GPT-3 and finds a clearer pattern: the first direction is shared, with a
# $\phi$ above 0.5, and hardly any other is. The authors see in this an explanation of why rank 1 does so well. In our
# runs the pattern is weaker. Between query updates of rank 8 and rank 32, both the first direction (0.47) and all
# eight together (0.39) are shared well above chance.
#
# <details><summary>Going further: what these overlaps leave open</summary>
#
# The means hide how much single seeds differ: $\phi(1, 1)$ of two query updates lies between 0.15 and 0.55, that of
# two value updates between 0.01 and 0.30. For rank 32 the figure looks at the first 8 of its 32 directions only, so
# it cannot say whether all 32 together contain the smaller space. And $\phi$ compares main directions, which depend
# on how a product is split: if two pairs have the same product $BA$ of rank $r$, the rows of their matrices $A$ span
# the same space, but the main directions found in this space, and their order, may differ. For two runs with rank 64
# the authors find what we find with rank 8: the query updates share more directions than the value updates.
#
# </details>

# %% [markdown]
# ## NormalFloat: numbers where the weights are
#
# LoRA saves nearly all of the memory for gradients and Adam's means, since only the trained weights need them. What
# remains is the frozen model itself, with 2 bytes for each weight in 16 bits. A weight that is trained needs many
# digits, since it moves in very small steps. A frozen weight does not move. Could it be stored less precisely?
#
# To store a number with fewer bits is called **quantisation**. With 4 bits one can tell 16 values apart, so we need a
# **code book**: a table of 16 values. Each weight is replaced by the nearest of them, and only the place of this
# value in the table is stored, a number from 0 to 15: the **code** of the weight. Which 16 values should the table
# hold? The obvious choice is a ruler with equal steps, such as the whole numbers from −7 to 7 (**int4**; these are 15
# values, so that one of the 16 codes is not used). How would you do better, if you knew that most weights are small?
#
# Equal steps waste codes: where there are few weights, a code is hardly ever used. The idea of **NormalFloat**
# (Dettmers et al., 2023) is that every code should be used *equally often*. According to the authors, trained weights
# are roughly normally distributed. So cut the area under the normal curve into parts of about equal size, and take
# one value from each part. Let $\Phi^{-1}(p)$, the *quantile* of $p$, be the number below which a share $p$ of a
# normal distribution lies. Then:
#
# 1. One of the 16 values has to be 0, since weights that are 0 must stay 0. Of the other fifteen, eight are positive
#    and seven negative.
# 2. For the positive values, take nine equally spaced probabilities from a largest one, $o$, down to $\tfrac12$. The
#    last gives $\Phi^{-1}(\tfrac12) = 0$; the other eight give the positive values $\Phi^{-1}(p)$. For the negative
#    values, take eight equally spaced probabilities from $o$ down to $\tfrac12$; the first seven give
#    $-\Phi^{-1}(p)$.
# 3. The largest probability $o$ cannot be 1, since $\Phi^{-1}(1)$ is infinite. The constant in the authors' program,
#    0.9677083, is the mean of $1-\tfrac{1}{32}$ and $1-\tfrac{1}{30}$, which are the middles of the last part if the
#    area is cut into 16 or into 15 equal parts.
# 4. All values are divided by the largest one, so that they reach from −1 to 1.


# %%
# NBVAL_CHECK_OUTPUT
def sixteen_quantiles(o, dtype):
    """Eight quantiles of the normal distribution above 0, seven below, and 0, divided by the largest."""
    above = torch.linspace(o, 0.5, 9, dtype=dtype)[:-1]  # [8] probabilities; the last of nine would be the 0
    below = torch.linspace(o, 0.5, 8, dtype=dtype)[:-1]  # [7]
    above, below = (torch.special.ndtri(p.double()).float() for p in (above, below))  # the quantiles, from outside to 0
    book = torch.cat([-below, torch.zeros(1), above.flip(0)])  # [16], ascending
    return book / book[-1]


o = ((1 - 1 / 32) + (1 - 1 / 30)) / 2  # 0.96770833...
print(", ".join(f"{value:.4f}" for value in sixteen_quantiles(o, torch.float64).tolist()))

# %% [markdown]
# This is **NF4**. The values agree up to rounding with the table of the library bitsandbytes, and in every bit when
# they are computed with the library's precision:

# %% tags=["fold"]
BITSANDBYTES = torch.tensor(  # what the library has (get_4bit_type)
    [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
     -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
     0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
)  # fmt: skip
assert_close(sixteen_quantiles(o, torch.float64), BITSANDBYTES, rtol=0, atol=3e-7)
# the library writes o with seven digits, and computes the probabilities in single precision: then all bits are equal
NF4 = sixteen_quantiles(0.9677083, torch.float32)
assert torch.equal(NF4, BITSANDBYTES)
for what, book in (("as derived", sixteen_quantiles(o, torch.float64)), ("o of seven digits, single precision", NF4)):
    print(f"largest difference from the library's table, {what}: {(book - BITSANDBYTES).abs().max():.1g}")
CODE_BOOKS = {
    "NF4": NF4,
    "int4": torch.arange(-7, 8) / 7,
    "FP4": torch.tensor([-6, -4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6]) / 6,  # E2M1: sign, 2 + 1 bits
    # eight quantiles in the same way
    "NF3": torch.tensor([-1.0, -0.535023, -0.246931, 0.0, 0.183337, 0.381994, 0.622986, 1.0]),
    "int3": torch.arange(-3, 4) / 3,
    "int2": torch.arange(-1, 2) / 1,
}

# %% tags=["fold"]
matrices = [getattr(block, name).weight.detach() for block in base.blocks for name in MATRICES]
scaled = torch.cat(
    [(W.cpu().reshape(-1, 64) / W.cpu().reshape(-1, 64).abs().amax(dim=1, keepdim=True)).flatten() for W in matrices]
)
show(
    adapters.code_books({name: CODE_BOOKS[name] for name in ("NF4", "int4", "FP4")}, scaled),
    "Above, a histogram of the base's weights from -1 to 1, highest in the middle. Below, three lines with the numbers of the code books: "
    "those of NF4 are close together near 0 and wide apart outside, those of int4 are evenly spaced, those of FP4 are dense near 0 and very wide outside.",
)

# %% [markdown]
# **Figure 9.** Above, how the weights of our base are distributed, after each has been divided by the largest
# magnitude among 64 neighbours (the next section says why). One of each 64 thus becomes 1 or −1, hence the two bars
# at the ends. Below, three code books. **FP4** is a floating-point number of four bits (one for the sign, two for the
# exponent, one for the digits, called E2M1): its values are 0, 0.5, 1, 1.5, 2, 3, 4 and 6, with both signs, divided
# by 6.
#
# What a code book is worth has to be measured, and we do this in the next section.
#
# <details><summary>Going further: is NF4 optimal?</summary>
#
# The paper calls NF4 "information-theoretically optimal" for normally distributed weights. What is meant is that all
# codes are used equally often. It does not follow that the error is the smallest possible, and the code book for that
# would be a different one.
#
# </details>

# %% [markdown]
# ## Weights of four bits
#
# The code book reaches from −1 to 1, so the weights have to be scaled before their codes are looked up: a matrix is
# divided by its largest magnitude, called **absmax**, and this scale is stored with it. But a single very large
# weight (an *outlier*) would make the scale large, and all other weights, divided by it, would share the few codes
# near 0. So the matrix is cut into **blocks** of 64 weights (not to be confused with the blocks of the Transformer),
# and each block has its own scale. An outlier spoils one block only.
#
# It remains to find the nearest value of the code book. The borders lie halfway between neighbouring values, and
# `torch.bucketize` tells between which borders each weight lies:


# %%
def rounded(W, book, block=64):
    """W with each number replaced by its block's largest magnitude times the nearest value of the code book."""
    middles = (book[1:] + book[:-1]) / 2  # [15]: where one value of the code book ends and the next begins
    shaped = W.reshape(-1, block)  # [blocks, block]
    scale = shaped.abs().amax(dim=1, keepdim=True)  # [blocks, 1]
    code = torch.bucketize(shaped / scale, middles)  # [blocks, block], 0 to 15: these are the four bits
    return (book[code] * scale).view_as(W)


# %% tags=["fold"]
def quantised(model, book, block=64):
    """A copy of the model whose matrices in the blocks are rounded, and the relative error of these weights."""
    model, error, total = copy.deepcopy(model), 0.0, 0.0
    for layer in (getattr(part, name) for part in model.blocks for name in MATRICES):
        W = layer.weight.detach()
        W_q = rounded(W.cpu(), book, block or W.numel()).to(W.device)
        error, total = error + (W_q - W).square().sum().item(), total + W.square().sum().item()
        with torch.no_grad():
            layer.weight.copy_(W_q)
    return model, math.sqrt(error / total)


# %% [markdown]
# Which code book is the best? It depends on the weights. We measure the *relative error*, the root of the sum of all
# squared rounding errors divided by the root of the sum of all squared weights, for three kinds of random matrices.
# Those with *heavy tails* have more very large numbers than normal ones:

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
torch.manual_seed(15)
SAMPLES = {
    "normal": torch.randn(1024, 1024),
    "uniform": 2 * torch.rand(1024, 1024) - 1,
    "heavy tails": torch.distributions.StudentT(5.0).sample((1024, 1024)),
}
for kind, W in SAMPLES.items():
    errors = {name: ((rounded(W, CODE_BOOKS[name]) - W).norm() / W.norm()).item() for name in ("NF4", "int4", "FP4")}
    print(f"{kind:12}", "  ".join(f"{name} {error:.3f}" for name, error in errors.items()))

# %% tags=["fold"]
standard = torch.cat([((W - W.mean()) / W.std()).flatten() for W in matrices]).pow(4).mean()
print(f"kurtosis of the base's weights: {standard:.2f} (uniform 1.8, normal 3)")

# %% [markdown]
# On normally distributed numbers NF4 is the best, and on uniform ones int4: where all numbers are equally likely,
# equal steps make the mean squared error smallest. With heavy tails, where outliers are common, NF4 is ahead of FP4,
# and int4 falls far behind. No code book is the best for all. The weights of our base lie between uniform and normal,
# to judge by their *kurtosis*, the mean fourth power of the standardised weights. Choose a code book for them, and
# the size of the blocks:

# %% tags=["fold"]
BLOCKS = {"16": 16, "64": 64, "256": 256, "whole matrix": None}


def scaled_weights(block):
    """All weights of the blocks' matrices, each divided by its block's scale."""
    parts = []
    for layer in (getattr(part, name) for part in base.blocks for name in MATRICES):
        shaped = layer.weight.detach().cpu().reshape(-1, block or layer.weight.numel())
        parts.append((shaped / shaped.abs().amax(dim=1, keepdim=True)).flatten())
    return torch.cat(parts)


def used(code, block):
    scaled = scaled_weights(block)
    number = torch.bucketize(scaled, (code[1:] + code[:-1]) / 2)
    return scaled, torch.bincount(number, minlength=len(code)) / len(scaled)


def draw_code(book, block):
    code = CODE_BOOKS[book]
    scaled, share = used(code, BLOCKS[block])
    figure, (left, right) = plots.canvas(11, 3.4, 2)
    left.hist(plots.array(scaled), bins=81, range=(-1, 1), color=plots.SKY)
    for value in code.tolist():
        left.axvline(value, color=plots.VERMILLION, linewidth=1)
    left.set(title="weights, divided by their block's scale", xlabel="value", ylabel="weights")
    right.bar(range(len(code)), plots.array(100 * share), color=plots.BLUE)
    right.set(title="how often each code is used", xlabel="code", ylabel="%", xlim=(-0.6, len(code) - 0.4))
    return figure


def say_code(book, block):
    code = CODE_BOOKS[book]
    _, share = used(code, BLOCKS[block])
    _, error = quantised(base, code, BLOCKS[block])
    bits = -(share[share > 0] * share[share > 0].log2()).sum()
    return (
        f"{book}, {len(code)} numbers, block {block}: relative error {error:.4f}; the code used most stands for "
        f"{share.max():.1%} of the weights; entropy {bits:.2f} bits."
    )


explore(
    draw_code,
    alt=say_code,
    book=Choice("code book", list(CODE_BOOKS), "NF4"),
    block=Choice("block", list(BLOCKS), "64"),
)

# %% [markdown]
# **Figure 10.** Left, the weights of the base's matrices, each divided by the scale of its block, and the values of
# the code book (vertical lines). Right, how often each code is used, from the lowest value to the highest. NF3 is
# made like NF4, with eight values; int3 and int2 have equal steps, with seven values and with only three (−1, 0 and
# 1).

# %% tags=["fold"]
normal = SAMPLES["normal"].reshape(-1, 64)
for what, scaled in (
    ("divided by the scale of the derivation", normal / torch.special.ndtri(torch.tensor(o))),
    ("divided by the largest of each block of 64", normal / normal.abs().amax(dim=1, keepdim=True)),
):
    use = torch.bucketize(scaled, (NF4[1:] + NF4[:-1]) / 2).flatten().bincount() / normal.numel()
    print(f"normal numbers {what}: codes of NF4 used for {use.min():.1%} to {use.max():.1%} of them")
share = used(NF4, BLOCKS["64"])[1]
print(f"our weights, entropy of the codes of NF4: {-(share * share.log2()).sum():.2f} bits")

# %% [markdown]
# Not even NF4 uses all its codes equally often: those at the ends are rare. This is not only due to our weights.
# Normally distributed numbers would not use all codes equally often either, because they are divided by the largest
# of their block, which usually lies farther out than the derivation assumes (Yoshida, 2023).
#
# <details><summary>Going further: how often each code is used</summary>
#
# The derivation takes normally distributed numbers and divides them by $\Phi^{-1}(o)$, about 1.85. Then each code is
# used for 5.6 % to 7.1 % of the numbers, nearly equally often. But the largest of a block is usually farther out than
# 1.85, and when the numbers are divided by it, a code is used for 1.7 % to 9.2 % of them. So a code book whose codes
# are used equally often would have to depend on the size of the blocks. The *entropy* of the codes, which says how
# many bits of information a code carries, is 3.94 for our weights with NF4, where 16 values allow at most 4.
#
# </details>
#
# And what does the rounding do to the translations? We round the six matrices of each Transformer block; embeddings,
# normalisations and the output head stay as they are.

# %% tags=["fold"]
quality = {}
for name, book in {"float32": None, **CODE_BOOKS}.items():
    rough, error = quantised(base, book) if book is not None else (base, 0.0)
    with torch.no_grad():
        quality[name] = [error, loss(rough, data["A, new"].to(DEVICE)).item(), exact(rough, data["A, new"])]
    print(f"{name:7} relative error {error:.4f}, loss on task A {quality[name][1]:.4f}, exact {quality[name][2]:.3f}")

# %% [markdown]
# Four bits cost next to nothing in exact translations. Only the loss shows the cost: it grows from NF4 over int4 to
# FP4, in the same order as the relative errors. With three bits it rises further, and with two bits only 0.13 of the
# translations are exact.
#
# The stored run repeats this for four seeds, with blocks of 64 and with one scale for each matrix (*whole matrices*);
# *float32* is not rounded. Its second table has the exact translations and two further experiments. All numbers are
# means over the seeds, with the range in parentheses.
#
# - **Repair.** The rounded weights stay frozen, and LoRA with rank 4 for all six matrices is trained on task A for
#   100 further steps. Can it make up for the rounding? For comparison, the base that was not rounded gets the same
#   training.
# - **QLoRA.** LoRA with rank 8 for all six matrices learns task B over rounded weights. This is the method of
#   Dettmers et al. (2023): the frozen base in 4 bits, an adapter in 16 bits for all matrices. For each multiplication
#   the values are looked up in the code book. Gradients pass through the frozen layers to the adapters below them,
#   but the codes never change. (We only imitate this: our rounded weights are stored in 32 bits.)
#
# <details><summary>Going further: can such an adapter be merged?</summary>
#
# It cannot be merged into the 4-bit base without loss, since the sum would have to be rounded again. It can be merged
# into a base whose rounded weights are written in 16 bits, but then the memory is no longer saved.
#
# </details>


# %% tags=["fold"]
def repaired(model, data, seed):
    """The quantised model with LoRA on all six matrices, trained for 100 more steps on task A."""
    model = copy.deepcopy(model)
    torch.manual_seed(seed)
    lora(MATRICES, r=4)(model)
    fit(model, data["A"], steps=100, rate=1e-2, seed=seed, what="repair on task A")
    return model


def quantisation(data, base, untrained, seed):
    """By code book: relative error, then loss and exact translations of task A before and after repair, and of B with LoRA."""
    found = {}
    for name in (None, *CODE_BOOKS):
        for block in (64, None):
            model, error = (base, 0.0) if name is None else quantised(base, CODE_BOOKS[name], block)
            with torch.no_grad():
                row = [error, loss(model, data["A, new"].to(DEVICE)).item(), exact(model, data["A, new"])]
            if block:
                again = repaired(model, data, seed)
                with torch.no_grad():
                    row += [loss(again, data["A, new"].to(DEVICE)).item(), exact(again, data["A, new"])]
                row.append(exact(adapted(model, lora(MATRICES, r=8), LORA_RATE, data, seed)[0], data["B, new"]))
            found[f"{name or 'float32'}, {'blocks of 64' if block else 'whole matrices'}"] = row
    return found


record = over_seeds("15_lora.quantised", quantisation) if stored_runs.full() else stored_runs.load("15_lora.quantised")
print(stored_runs.how(record))
rounded_runs = record["results"]["runs"]


def over_runs(book, place, blocks=True, digits=3):
    """One measure of a code book over the seeds: mean and range."""
    name = f"{book}, {'blocks of 64' if blocks else 'whole matrices'}"
    return spread((run[name][place] for run in rounded_runs), digits)


BOOKS = ("float32", *CODE_BOOKS)
print(f"{'':9}relative error                loss on task A")
print(f"{'':9}blocks of 64  whole matrices  blocks of 64              whole matrices")
for book in BOOKS:
    errors = [over_runs(book, 0, blocks, 4)[:6] for blocks in (True, False)]
    losses = [over_runs(book, 1, blocks, 4) for blocks in (True, False)]
    print(f"{book:8} {errors[0]:13} {errors[1]:15} {losses[0]:25} {losses[1]}")
print(f"\n{'':9}blocks of 64")
print(f"{'':9}exact on task A           repaired: loss            repaired: exact           exact on task B, with LoRA")
for book in BOOKS:
    told = [over_runs(book, 2), over_runs(book, 3, digits=4), over_runs(book, 4), over_runs(book, 5)]
    print(f"{book:8} {told[0]:25} {told[1]:25} {told[2]:25} {told[3]}")
for run in rounded_runs:  # in each seed, by error and by loss
    assert all(run["NF4, blocks of 64"][k] < run["int4, blocks of 64"][k] < run["FP4, blocks of 64"][k] for k in (0, 1))

# %% [markdown]
# - **Blocks make the error smaller**, in proportion most for the code books with equal steps: without blocks, the
#   error of int4 is 0.14 instead of 0.09.
# - **With blocks of 64, NF4 is best, then int4, then FP4**, by error and by loss, in every seed. In exact
#   translations the three cannot be told from one another, nor from 32 bits. For large language models the published
#   order is NF4, FP4, int4.
# - **LoRA works over rounded weights.** On task B it reaches 0.78 over NF4, and 0.77 over the base that was not
#   rounded. Only with two bits is the result clearly worse. The QLoRA paper reports the same for a T5 with 11 billion
#   weights: there, too, LoRA over NF4 is level with LoRA over 16 bits.
# - **Repair helps where there is something to repair**: with two bits exact translations rise from 0.10 to 0.95, and
#   with int3 the loss falls clearly. At four bits there is little to bring back.
#
# <details><summary>Going further: the published numbers</summary>
#
# In table 2 of the QLoRA paper, the perplexities of language models are 27.4 for NF4 (with double quantisation, see
# below), 31.1 for FP4 (E2M1) and 34.3 for int4. In its table 3, T5 with 11 billion weights has a ROUGE-L, which
# measures the agreement with a reference text, of 60.9 with LoRA over NF4 with double quantisation, 60.7 with LoRA
# over 16 bits, and 62.0 for full fine-tuning. Weights with heavier tails than ours could explain why FP4 and int4
# change places for language models: compare the random matrices above.
#
# </details>

# %% [markdown]
# ## Double quantisation: what the scales cost
#
# A weight takes the 4 bits of its code and its share of the bits of its block's scale. With a 32-bit scale for 64
# weights this share is half a bit a weight. Half a bit for each of 65 billion weights is 4 GB. Larger blocks would
# make the scales cheaper, and the error larger.
#
# The scales are numbers like any others, so they can be quantised, too. This is **double quantisation**: the mean of
# all scales is subtracted, and what is left is stored in 8 bits, in blocks of 256 scales, each with one 32-bit scale
# of its own.

# %%
# NBVAL_CHECK_OUTPUT
simple = 4 + 32 / 64  # a code, and its share of the block's scale
double = 4 + 8 / 64 + 32 / (64 * 256)  # the scale in 8 bits, and its share of the scale of 256 scales
print(f"bits a weight: {simple} with simple quantisation, {double:.3f} with double quantisation")
print(f"of these for the scales: {simple - 4} and {double - 4:.3f}")

# %% tags=["fold"]
block_scales = torch.cat(
    [W.cpu().reshape(-1, 64).abs().amax(dim=1) for W in matrices]
)  # [2304]: all scales of our base
mean = block_scales.mean()
groups = (block_scales - mean).split(256)  # nine groups of 256 scales
restored = torch.cat([(group / group.abs().max() * 127).round() / 127 * group.abs().max() for group in groups]) + mean
print(f"relative error of the scales in 8 bits: {(restored - block_scales).norm() / block_scales.norm():.4f}")
with torch.no_grad():
    doubly, first = copy.deepcopy(base), 0
    for layer in (getattr(block, name) for block in doubly.blocks for name in MATRICES):
        count = layer.weight.numel() // 64
        old, now = (each[first : first + count].to(DEVICE) for each in (block_scales, restored))
        rough = rounded(layer.weight.cpu(), NF4).to(DEVICE).reshape(-1, 64)
        layer.weight.copy_((rough * (now / old)[:, None]).view_as(layer.weight))
        first += count
    worse = loss(doubly, data["A, new"].to(DEVICE)).item()
print(f"loss on task A: NF4 {quality['NF4'][1]:.4f}, with double quantisation {worse:.4f}")

# %% [markdown]
# The scales now take 0.127 bits a weight instead of 0.5, and the loss does not change in the digits shown. (Our 8
# bits are a ruler with equal steps; QLoRA uses floating-point numbers of 8 bits.)

# %% [markdown]
# ## How many bytes?
#
# Now we can count what training takes. For each weight that is *trained* there are the weight, its gradient and
# Adam's two means. With 16 bits for the first two and 32 bits for each mean, these take 2, 2, 4 and 4 bytes, 12 in
# all. Programs that compute in 16 bits often keep a copy of the weight in 32 bits as well (*mixed precision*), which
# makes 16. A *frozen* weight takes 2 bytes, or about half a byte in 4 bits. Activations come on top; they depend on
# the size of the batch and the lengths of the sequences, and LoRA does not make them much smaller.


# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
def llama(L, D, D_F, V=32000):
    """The weights of a Llama: in the matrices of its blocks, and all of them."""
    matrices = L * (4 * D**2 + 3 * D * D_F)
    return matrices, matrices + L * 2 * D + D + 2 * V * D


def adapter_weights(shapes, L, r):
    """The weights of LoRA on matrices of these shapes in each of L blocks."""
    return L * sum(r * (rows + columns) for rows, columns in shapes)


MIXED = (
    2 + 2 + 4 + 4 + 4
)  # bytes: a weight and its gradient in 16 bits, a copy of the weight in 32, Adam's two means in 32
PLAIN = 2 + 2 + 4 + 4  # the same without the copy
D, L = 12288, 96
gpt3 = 174_604_259_328  # lesson 11
added = adapter_weights([(D, D)] * 2, L, r=4)
print(f"GPT-3, full: {gpt3 * MIXED / 1e12:.2f} TB with 16 bytes a weight, {gpt3 * PLAIN / 1e12:.2f} TB with 12")
print(f"GPT-3, LoRA on query and value, r = 4: {added:,} weights; {(gpt3 * 2 + added * MIXED) / 1e9:.0f} GB")
print(f"   a file for a task: {added * 2 / 1e6:.0f} MB against {gpt3 * 2 / 1e9:.0f} GB")
for name, (L, D, D_F) in {"Llama-7B": (32, 4096, 11008), "Llama-65B": (80, 8192, 22016)}.items():
    quantised_weights, weights = llama(L, D, D_F)
    added = adapter_weights([(D, D)] * 4 + [(D_F, D)] * 2 + [(D, D_F)], L, r=64)
    base_4 = quantised_weights * double / 8 + (weights - quantised_weights) * 2
    print(f"{name}, {weights:,} weights; LoRA on all matrices, r = 64: {added:,}")
    print(
        f"   GB: full {weights * PLAIN / 1e9:.0f} (12 bytes a weight), LoRA {(weights * 2 + added * PLAIN) / 1e9:.0f}, "
        f"QLoRA {(base_4 + added * PLAIN) / 1e9:.1f}, of these the base {base_4 / 1e9:.1f}"
    )

# %% [markdown]
# For GPT-3, LoRA reduces 2 TB or more to 350 GB, nearly all of which the frozen weights take.
#
# Among the Llama models for which the QLoRA paper gives its numbers of memory, the one with 65 billion weights would
# need 783 GB for full fine-tuning. LoRA of rank 64 on all matrices of the blocks reduces this to 140 GB, and QLoRA,
# where embeddings and head stay in 16 bits, to 44 GB. The paper says more than 780 GB and less than 48 GB, so that a
# single GPU with 48 GB is enough.
#
# <details><summary>Going further: where our count and the papers' differ</summary>
#
# The LoRA paper gives 1.2 TB and 350 GB for GPT-3, and does not say how the first number was counted. Our 44 GB leave
# out the activations, and something else, too: for the 4-bit base of the model with 7 billion weights the QLoRA paper
# gives 5.0 GB, where we count 3.9.
#
# </details>
#
# Besides NF4 and double quantisation, QLoRA has a third part, which is a safeguard. With a long sentence in the
# batch, the activations may need more memory than is left, and training would stop with an error. A **paged
# optimiser** keeps Adam's means in memory that the GPU's driver moves to the memory of the CPU, page by page, when
# there is no room, and back when they are needed.

# %% [markdown]
# ## Twelve tasks again
#
# We return to the beginning, to GPT-3 and twelve tasks. Twelve models take 12 · 349 GB, more than 4 TB. One model
# with twelve adapters of rank 4 for queries and values takes 349 GB for the model and 12 · 38 MB, less than half a
# gigabyte, for all adapters. The model of this lesson shows the same in miniature. Here are four new sentences,
# translated by the base alone (task A) and by the base with the adapter merged into it (task B); ✓ means exact for
# that task.

# %% tags=["fold"]
for pair in word_order.differing(word_order.sentences(12000, seed=0)[6000:])[-1000:][:4]:
    English = word_order.tokens([pair])[:, : word_order.S]  # [1, S]
    print("English:        ", " ".join(pair.source))
    for name, model, right in (
        ("without adapter", base, pair.target),
        ("with adapter", small, word_order.in_english_order(pair)),
    ):
        said = word_order.words(write(model, English, 12)[0, word_order.S :])
        print(f"{name + ':':16}", " ".join(said), "✓" if tuple(said) == right else "✗")

# %% [markdown]
# The adapter decides in which order the French words come. It is not perfect: in the first sentence the translation
# has lost its verb. But one frozen model does both tasks, and the second one costs 3,072 numbers.

# %% [markdown]
# ## Summary
#
# | part | formula | shape |
# |---|---|---|
# | low-rank update | $W = W_0 + \frac{\alpha}{r}BA$; $W_0$ is frozen, $B$ begins with 0, $A$ with random numbers | $[D_{out}, D_{in}]$ |
# | beside the layer | $Y = XW_0^\top + \frac{\alpha}{r}(XA^\top)B^\top$ | $[N, D_{out}]$ |
# | trained weights | $r\,(D_{out} + D_{in})$ for each adapted matrix | a number |
# | prefix tuning | $\operatorname{softmax}(Q[P_K; K]^\top/\sqrt{D_H})\,[P_V; V]$ | $[N, D_H]$ |
# | overlap | $\phi(i,j) = \lVert U_1^{(i)\top}U_2^{(j)}\rVert_F^2 / \min(i,j)$ | a number from 0 to 1 |
# | NF4 | eight positive and seven negative quantiles of the normal distribution, and 0, divided by the largest | $[16]$ |
# | quantised block | $\text{absmax} \cdot \text{book}[\text{code}]$, 64 weights with one absmax | $[64]$ |
# | bits a weight | $4 + 32/64 = 4.5$; with double quantisation $4 + 8/64 + 32/(64 \cdot 256) = 4.127$ | a number |
#
# ```python
# parametrize.register_parametrization(layer, "weight", update)  # W is computed from W_0 at each use
# parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)  # merged
# ```
#
# The picture to remember is Figure 2: a frozen matrix, and beside it a detour through $r$ numbers.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> A layer goes from 4,096 to 11,008 features. How many weights does LoRA train for it with rank 16, and what share of the layer's matrix is this?</summary>
#
# $16 \cdot (4096 + 11008) = 241{,}664$; the matrix has 45,088,768 numbers, so the share is about 1 in 187.
#
# </details>
#
# <details><summary><b>2.</b> What happens if A begins with zeros and B with random numbers?</summary>
#
# The model can learn this way, too: the product is 0 at first, the gradient for $A$ contains $B$ and is not 0, so $A$
# learns in the first step and $B$ from the second on. What must be avoided is that both begin with zeros.
#
# </details>
#
# <details><summary><b>3.</b> A frozen layer has no gradient for its weights. Why must gradients still flow through it?</summary>
#
# Below it there may be adapters that learn. The gradient of the loss reaches them through all layers above, by the
# gradients with respect to the layers' *inputs*. Only the gradients with respect to the frozen weights need not be
# computed.
#
# </details>
#
# <details><summary><b>4.</b> Two updates of rank 4 for the same matrix are both merged. What rank can their sum have?</summary>
#
# At most 8: it is the product of $[B_1, B_2]$ with eight columns and of $A_1$ above $A_2$ with eight rows.
#
# </details>
#
# <details><summary><b>5.</b> Why can a prefix not make a token attend more to one word and less to another, within a block?</summary>
#
# The prefix adds terms to the denominator of the softmax. This makes the weights of all words smaller by the same
# factor, so their ratios stay.
#
# </details>
#
# <details><summary><b>6.</b> A block of 64 weights is 0.01 everywhere except for one weight of 1. What does NF4 make of the other 63, and what would it make of them in a block without the large weight?</summary>
#
# The scale is 1, and 0.01 is nearer to 0 than to 0.0796, the next value of NF4. So all 63 become 0. In a block
# without the large weight the scale would be 0.01, and they would be exact.
#
# </details>
#
# <details><summary><b>7.</b> A colleague reports that LoRA with 1 % of the weights is as good as full fine-tuning, and says that the change which the task needs has a low rank. Is this shown?</summary>
#
# No. It is shown that *some* change of low rank is good enough. Full fine-tuning may have changed the model in
# another way, and other small sets of weights might have done as well: the controls are missing.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **Freeze first, then add the adapters.** In the other order the adapters are frozen, too, and nothing learns.
#   Count the trained weights before you train.
# - **The factor $\alpha/r$ must be part of the merged sum, too.** Merging twice adds the update twice.
# - **An optimiser that was made before the adapter was added does not train it.** Make the optimiser afterwards, from
#   the parameters that learn.
# - **LoRA often needs a higher learning rate than full fine-tuning.** In our runs it is twenty times as high.
# - **Freezing does not switch to evaluation mode.** Dropout and batch normalisation behave as `train()` or `eval()`
#   has set them, whether weights are frozen or not.
# - **`copy.deepcopy` of a layer with a parametrization shares its class with the original**: when the parametrization
#   is removed from the copy, the original loses its `weight`. Merge in place, or load the weights into a new model.
# - **A quantised weight is not trained.** A tiny change of a weight does not change its code, so the gradient through
#   the rounding is 0 nearly everywhere. What learns is the adapter.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *"Adapting both W_q and W_v gives the biggest performance boost"*: on WikiSQL they are level with all four
#   matrices (73.7), and on MultiNLI all four are ahead (91.7 against 91.3).
# - In the slides' copy of the paper's table 5 the rank is *"8"* in both lines: in the paper it is 8 for one matrix, 4
#   for two and 2 for four. The budget, *"18M"* there and in the paper, is 18.9 million weights by the formula.
# - *"LoRA matches or exceeds the finetuning baseline on all three datasets"*: with 4.7 million weights it has 73.4 on
#   WikiSQL against 73.8 (table 4 of the paper), which is lower, though within the margin of 0.5.
# - *"175,255.8M"* weights for full fine-tuning, as in the paper: the formula of lesson 11 gives 174,604 million.
# - $W_0 + BA$, without a factor: the paper multiplies $BA$ by $\alpha/r$.
# - *"information theoretically optimal for normally distributed weights"*, of NF4: see the remarks below Figures 9
#   and 10.
#
# </details>

# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/15_lora/15_lora.ipynb).
# - **Read on**: [lesson 16](16_vision_language.ipynb) brings pictures and texts together.
# - **Look up**: the [glossary](../docs/glossary.md).

# %% [markdown]
# ## References
#
# - E. Hu, Y. Shen, P. Wallis, Z. Allen-Zhu, Y. Li, S. Wang, L. Wang, W. Chen (2022). LoRA: low-rank adaptation of large language models. ICLR. arXiv:2106.09685. *Tables 4, 5 and 6; overlap of subspaces: section 7.2.*
# - D. Kalajdzievski (2023). A rank stabilization scaling factor for fine-tuning with LoRA. arXiv:2312.03732.
# - D. Biderman et al. (2024). LoRA learns less and forgets less. TMLR. arXiv:2405.09673.
# - A. Aghajanyan, S. Gupta, L. Zettlemoyer (2021). Intrinsic dimensionality explains the effectiveness of language model fine-tuning. ACL. arXiv:2012.13255.
# - N. Houlsby et al. (2019). Parameter-efficient transfer learning for NLP. ICML. arXiv:1902.00751. *Adapter layers.*
# - X. L. Li, P. Liang (2021). Prefix-tuning: optimizing continuous prompts for generation. ACL. arXiv:2101.00190.
# - E. Ben Zaken, S. Ravfogel, Y. Goldberg (2022). BitFit: simple parameter-efficient fine-tuning for Transformer-based masked language-models. ACL. arXiv:2106.10199.
# - J. He, C. Zhou, X. Ma, T. Berg-Kirkpatrick, G. Neubig (2022). Towards a unified view of parameter-efficient transfer learning. ICLR. arXiv:2110.04366.
# - T. Dettmers, A. Pagnoni, A. Holtzman, L. Zettlemoyer (2023). QLoRA: efficient finetuning of quantized LLMs. NeurIPS. arXiv:2305.14314. *Table 2: code books; table 3: T5.*
# - D. Yoshida (2023). NF4 isn't information theoretically optimal (and that's good). arXiv:2306.06965.
# - T. Brown et al. (2020). Language models are few-shot learners. NeurIPS. arXiv:2005.14165. *GPT-3.*
