# %% [markdown]
# # 06 · Many heads, and what attention costs
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/06_multi_head.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - let one layer attend to several things at once, with several heads, and compute all heads together in four matrix
#   products;
# - count the operations and the bytes of a layer from its shapes, and say which of them grow with the square of the
#   length;
# - compute exact attention without ever storing the table of attention weights (the idea of FlashAttention), and say
#   what linear attention, windows and latents give up for being cheaper.
#
# **You need** lesson 05: self-attention on $X\,[N, D]$ with $W_Q$, $W_K$, $W_V$, and why it needs positional encodings.
# From lesson 04: why the softmax subtracts the largest score.
#
# **Time** about 40 minutes to read; the cells run in about 55 seconds on two CPU cores.

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
import random
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from utils.data import pronoun_tales
from utils.device import device
from utils.figures import plots
from utils.figures.explorers import Choice, Slider, explore
from utils.figures.plots import show
from utils.measures import stored_runs
from utils.measures.memory import peak_memory
from utils.models.training import train

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
generator = torch.Generator().manual_seed(6)


# %% tags=["fold"]
def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


# %% [markdown]
# ## One row of weights is one average
#
# *"The animal didn't cross the street because it was too tired."* To understand the token *it*, a model needs to know
# two things. **Who** is *it*? The animal. **What** is said of it? That it was tired. To answer the first question, *it*
# has to attend to *animal*; to answer the second, it has to attend to *tired*.
#
# A self-attention layer as in lesson 05 gives *it* one row of attention weights, and these weights sum to 1. The layer
# can put one half on *animal* and one half on *tired*. Its output is then the average of their two values:
#
# $$y = \tfrac12\, v_\text{animal} + \tfrac12\, v_\text{tired}$$
#
# Both values are in this average. But the average does not say which part came from which token. In this sentence
# nobody would mistake *animal* for *tired*. In a fairy tale, the two can be mistaken for each other:
#
# > *The frog did not marry the king, because it was a witch.*
#
# Who is *it*? The frog. What was it really? A witch. The average of *frog* and *witch* is the same vector as the
# average of *witch* and *frog*. That second average would answer the same two questions about *"The witch did not marry
# the king, because she was a frog"*.
#
# Do positional encodings help? No. They are added to the embeddings, and $W_V$ is linear. The values of *frog* at
# position 1 and *witch* at position 12 have the same sum as the values of *witch* at position 1 and *frog* at position
# 12.

# %%
# NBVAL_CHECK_OUTPUT
frog, witch, place_1, place_12, W = normal(6), normal(6), normal(6), normal(6), normal(6, 4)  # W is W_V [D, D_V]
this = (frog + place_1) @ W, (witch + place_12) @ W  # the values of the two words in one sentence, [D_V] each
that = (witch + place_1) @ W, (frog + place_12) @ W  # and in the other
print("averaged, the two sentences are the same:", torch.allclose(sum(this) / 2, sum(that) / 2, atol=1e-6))
print("side by side they differ:                ", not torch.allclose(torch.cat(this), torch.cat(that), atol=1e-6))

# %% [markdown]
# The second printed line shows the solution: compute **two** rows of attention weights, and put the two results side by
# side. Each such attention with weights of its own is called a **head**.

# %% [markdown]
# ## Several heads
#
# A layer with $H$ heads, called **multi-head attention**, consists of $H$ small attention layers that read the same
# $X\,[N, D]$. Head $h$ has its own matrices, and can therefore attend to different positions than the other heads:
#
# $$Q_h = X W_Q^h,\quad K_h = X W_K^h,\quad V_h = X W_V^h\ \ [N, D_H]$$
#
# $$A_h = \operatorname{softmax}\!\left(\frac{Q_h K_h^\top}{\sqrt{D_H}}\right) [N, N],\qquad Y_h = A_h V_h\ [N, D_H]$$
#
# How wide should a head be? The usual choice is $D_H = D/H$, so that a layer of width $D$ has either many narrow heads
# or few wide ones. Side by side, the results of the heads are $H \cdot D_H = D$ wide again, as wide as the input. A
# last matrix $W_O\,[H D_H, D]$, the **output projection**, mixes what the heads have found:
#
# $$Y = [\,Y_1, Y_2, \dots, Y_H\,]\; W_O\ \ [N, D]$$
#
# The scores are divided by $\sqrt{D_H}$, not by $\sqrt{D}$, because each dot product sums $D_H$ terms.
#
# Here is the layer as a loop over the heads:

# %%
N, H, D_H = 5, 3, 4
D = H * D_H  # 12
X = normal(N, D)
W_Q, W_K, W_V, W_O = (normal(D, D) / math.sqrt(D) for _ in range(4))  # head h owns the columns h·D_H to (h+1)·D_H

found, weights = [], []
for h in range(H):
    own = slice(h * D_H, (h + 1) * D_H)
    Q_h, K_h, V_h = X @ W_Q[:, own], X @ W_K[:, own], X @ W_V[:, own]  # [N, D_H] each
    A_h = (Q_h @ K_h.T / math.sqrt(D_H)).softmax(dim=-1)  # [N, N]
    weights.append(A_h)
    found.append(A_h @ V_h)  # [N, D_H]
Y_loop = torch.cat(found, dim=-1) @ W_O  # [N, H * D_H] @ [H * D_H, D] = [N, D]

# %% tags=["fold"]
names = [f"$x_{{{n + 1}}}$" for n in range(N)]
figure, panels = plots.canvas(10.5, 3.3, H)
for h, panel in enumerate(panels):
    plots.heat_map(weights[h], names, names, title=f"head {h + 1}", axes=panel)
panels[0].set_ylabel("who looks")
panels[1].set_xlabel("at whom")
show(
    figure,
    "Three five-by-five tables of weights, one for each head. The same five vectors look at each other in three different ways.",
)

# %% [markdown]
# **Figure 1.** The attention weights of three heads over the same five vectors. Each head has a table of its own, and the
# three tables differ, because each head has its own matrices.
#
# Each row of each table sums to 1. The heads do not share one row of weights, so they do not compete with each other.
#
# Do the heads need the output projection $W_O$? Without it, the first $D_H$ features of the output would hold what head
# 1 found and nothing else. With $W_O$, every feature of the output can use all heads. (The code counts heads from 0,
# the figures count them from 1.)

# %% [markdown]
# ## Split, batch, merge
#
# The loop computes $H$ small products one after the other. Hardware is faster at one large product. We therefore treat
# the heads as lesson 04 treated the sentences of a batch: as one more axis in front. $Q$, $K$ and $V$ are computed
# whole, $[N, H D_H]$, and then **split** into $[H, N, D_H]$. All heads attend in one batched product, and their results
# are **merged** back into $[N, H D_H]$.
#
# How do we get from $[N, H D_H]$ to $[H, N, D_H]$? Think about it before you read on: is it a reshape?
#
# A reshape never changes the order of the numbers. It reads all numbers row by row as one long line, and cuts that line
# into new rows. Watch what happens to the numbers 0 to 11, which stand for two vectors with three heads of two features
# each.

# %%
# NBVAL_CHECK_OUTPUT
small = torch.arange(12).view(2, 6)  # [N, H * D_H]: row 0 is vector 0
print("X\n", small.numpy())
print("reshape(3, 2, 2), head 0:\n", small.reshape(3, 2, 2)[0].numpy())
print("split the width, then exchange N and H, head 0:\n", small.view(2, 3, 2).transpose(0, 1)[0].numpy())

# %% [markdown]
# Head 0 owns the first two features of *each* vector: 0 and 1 of the first vector, 6 and 7 of the second. The plain
# reshape gives head 0 the features 0 to 3 of the first vector instead. The shape is the same and there is no error, but
# everything computed from it is wrong. A correct split takes two steps:
#
# 1. cut the **last** axis: $[N, H D_H] \to [N, H, D_H]$. For this step a reshape is right, since it cuts each row on
#    its own;
# 2. **exchange** two axes: $[N, H, D_H] \to [H, N, D_H]$.
#
# Merging does the reverse: exchange the two axes, then join the last two.


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

# %% tags=["fold"]
assert torch.equal(merge(split(X)), X)
assert_close(Y, Y_loop)
assert_close(A, torch.stack(weights))

# %% [markdown]
# The line with the softmax is the line of lesson 05 with two small changes: `K.mT` exchanges only the last two axes,
# and the scores are divided by the root of the width of a head. `@` multiplies matrices on the last two axes, once for
# every index of the axes before them. A batch of sentences adds another axis in front, $[B, H, N, D_H]$, and the line
# with the softmax stays as it is. (The folded cell checks that `merge` undoes `split` and that the result equals that
# of the loop.)

# %% [markdown]
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
# PyTorch's own layer, `nn.MultiheadAttention`, holds the same two matrices, the fused projection and the output
# projection, with a bias for each. Two of its properties are easily overlooked. First, its matrices are transposed, as
# in every `nn.Linear`. Second, it **averages the attention weights over the heads** before it returns them, unless you
# pass `average_attn_weights=False`.

# %%
layer = nn.MultiheadAttention(D, H, bias=False, batch_first=True, device=DEVICE)
with torch.no_grad():
    layer.in_proj_weight.copy_(W_QKV.T)  # [3 * D, D]
    layer.out_proj.weight.copy_(W_O.T)  # [D, D]
    Y_torch, A_torch = layer(X[None], X[None], X[None], average_attn_weights=False)  # a batch of one
assert_close(Y_torch[0], Y_loop)
assert_close(A_torch[0], torch.stack(weights))


# %% [markdown]
# In **cross-attention**, the queries come from one sequence, and the keys and values come from another. The first third
# of $W_{QKV}$ then projects the first sequence, and the other two thirds project the second. This works if both
# sequences have width $D$; otherwise, the layer needs separate matrices.
#
# From here on we use PyTorch's layer.

# %% [markdown]
# ## What heads look at
#
# Now we return to the frog. A generator produces thousands of fairy tales, all built like the one above:

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
for seed in range(4):
    told = pronoun_tales.tale(random.Random(seed))
    print(f"{' '.join(told.words)}.   who: {told.who}, what: {told.what}")

# %% [markdown]
# The two nouns of the main clause have different pronouns (*it*, *she*, *he*), so the pronoun tells which of the two
# nouns is meant. The noun of the *because* clause says what that character really was. It can be any third noun, and we
# call it the **disguise**. Either clause may come first. At the position of the pronoun, a model has to give two answers from one output vector: **who** is meant, and **what** that character really was.
#
# The model is one attention layer with almost nothing around it. Its input is the sum of word embeddings and learned
# positional encodings. Two linear layers read the output at the pronoun, one for each question. The result of each is
# compared with the embeddings of all nouns by dot products, and the noun with the largest dot product is the answer.
# All models have the same width and the same number of parameters. They differ only in the number of heads: one head
# that is 48 wide, two of 24, four of 12, or eight of 6.
#
# The class can also stack several layers. It then adds what a layer found to what the layer read, `X = X + Y`. Such an
# addition around a layer is called a **residual connection**: the next layer receives both the input of this layer and
# its output. We need it only at the end of this section, for a reader with two layers.
#
# Predict: how many heads does the model need? Can there be too many?


# %%
WIDTH, STEPS, TALES = 48, 400, 20_000


class Reader(nn.Module):
    """Reads tales with attention layers, and answers from what the last of them found."""

    def __init__(self, H, layers=1):
        super().__init__()
        self.words, self.places = nn.Embedding(len(pronoun_tales.WORDS), WIDTH), nn.Embedding(pronoun_tales.LENGTH, WIDTH)
        self.layers = nn.ModuleList(nn.MultiheadAttention(WIDTH, H, batch_first=True) for _ in range(layers))
        self.who, self.what = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        for table in (self.words, self.places):
            nn.init.normal_(table.weight, std=0.4)

    def forward(self, words):
        """Words [B, N] give logits for who and what at each place, [B, N, nouns] each, and each layer's weights [B, H, N, N]."""
        X, weights = self.words(words) + self.places.weight, []  # [B, N, D]
        for layer in self.layers:
            Y, A = layer(X, X, X, average_attn_weights=False)  # [B, N, D], [B, H, N, N]
            X = X + Y  # residual connection: a second layer sees the words and what was found
            weights.append(A)
        nouns = self.words.weight[: len(pronoun_tales.NOUNS)].T  # [D, nouns]
        return self.who(Y) @ nouns, self.what(Y) @ nouns, weights


# %% tags=["fold"]
def told(count, seed):
    rng = random.Random(seed)
    return [part.to(DEVICE) for part in pronoun_tales.batch([pronoun_tales.tale(rng) for _ in range(count)])]


def answers_loss(reader, batch):
    words, places, answers = batch
    row = torch.arange(len(words), device=DEVICE)
    who, what, weights = reader(words)
    asked = places[:, 0]  # the pronoun's place
    loss = F.cross_entropy(who[row, asked], answers[:, 0]) + F.cross_entropy(what[row, asked], answers[:, 1])
    if len(weights) > 1:  # two layers: the disguise is asked, too, whom it is about
        loss = loss + F.cross_entropy(who[row, places[:, 1]], answers[:, 0])
    return loss


TRAINING, TEST = told(TALES, seed=1), told(1024, seed=2)


def reader_with(H, seed=0, layers=1, steps=STEPS):
    torch.manual_seed(seed)
    reader, drawn = Reader(H, layers).to(DEVICE), torch.Generator().manual_seed(seed)
    rows = (torch.randint(TALES, (64,), generator=drawn).to(DEVICE) for _ in range(steps))
    batches = ([part[row] for part in TRAINING] for row in rows)
    train(reader, batches, answers_loss, steps=steps, rate=5e-3, what=f"{H} heads")
    return reader


HEADS, SEEDS = (1, 2, 4, 8), (0, 1, 2)
readers = {(H, seed): reader_with(H, seed) for H in HEADS for seed in SEEDS}


# %% tags=["fold"]
@torch.no_grad()
def judged(reader):
    """For new tales, whether who and what are right, [B, 2], and the first layer's weights at the pronoun, [B, H, N]."""
    words, places, answers = TEST
    row = torch.arange(len(words), device=DEVICE)
    who, what, weights = reader(words)
    given = torch.stack([logits[row, places[:, 0]].argmax(dim=-1) for logits in (who, what)], dim=1)  # [B, 2]
    return given == answers, weights[0][row, :, places[:, 0]]


def both_right(reader):
    """The share of new tales in which who and what are both right."""
    return judged(reader)[0].all(dim=1).float().mean().item()


shares = {pair: both_right(reader) for pair, reader in readers.items()}
figure, (axes,) = plots.canvas(7, 3.2)
labels = [f"{H} head{'s' * (H > 1)}" for H in HEADS]
lines = {f"training {seed + 1}": [shares[H, seed] for H in HEADS] for seed in SEEDS}
styles = dict(zip(lines, ("o", "s", "^")))
plots.curves(range(len(HEADS)), lines, styles=styles, y_label="both answers right", axes=axes)
axes.set_xticks(range(len(HEADS)), labels)
axes.set_ylim(-0.03, 1.08)
show(
    figure,
    "The share of tales in which both answers are right, three trainings for each number of heads: "
    + "; ".join(f"{label} " + ", ".join(f"{shares[H, seed]:.2f}" for seed in SEEDS) for label, H in zip(labels, HEADS))
    + ".",
)

# %% [markdown]
# **Figure 2.** Share of newly drawn tales in which both answers are right, for one, two, four and eight heads, with three trainings
# each. One head stays well behind; from two heads on, nearly every tale is answered.

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
print("one head: no training above 0.9:                   ", max(shares[1, seed] for seed in SEEDS) < 0.9)
print("two heads and more: all trainings above 0.95:      ", min(shares[H, seed] for H in HEADS[1:] for seed in SEEDS) > 0.95)

# %% [markdown]
# With two heads, every training succeeds: there are two questions. More heads than questions do no harm here, although
# each of eight heads is only 6 wide. What does a single head do? It does not simply answer one question and ignore the
# other. Look at its answers and its weights:

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
words, places, answers = TEST
for seed in SEEDS:
    right, looks = judged(readers[1, seed])  # [B, 2], [B, 1, N]
    share_who, share_what = right.float().mean(dim=0)
    print(f"training {seed + 1}: what right above 0.85: {bool(share_what > 0.85)}", end=", ")
    largest = looks.amax(dim=-1).mean()  # of the weights in one tale, on average
    print(f"who right below 0.9: {bool(share_who < 0.9)}, largest weight in a tale below 0.5: {bool(largest < 0.5)}")

# %% [markdown]
# The single head spreads its weights over several tokens. From the resulting average, the model can nearly always read
# *what*, and far less often *who*. It fails at *who* where the noun that is meant and the disguise have the same pronoun
# (*frog* and *wolf*); where their pronouns differ, the pronoun itself tells the two apart.
#
# Is the task *impossible* for one head, then? No, but it is hard. A fixed ratio of the two weights is not enough. If the
# disguise always weighs more, then of two nouns with the same pronoun the disguise comes out on top for both questions.
# The weight has to depend on the noun: if each noun that is meant gets a weight of its own, the size of that weight tells
# which noun it is. Training finds this slowly. Two heads do not need it. In a stored run, we trained the model with one
# head fifteen times as long:

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
if stored_runs.full():
    began = time.perf_counter()
    patient = [both_right(reader_with(1, seed, steps=15 * STEPS)) for seed in SEEDS]
    stored_runs.keep("06_multi_head.patient", {"both right": patient}, seed=0, seconds=time.perf_counter() - began)
run = stored_runs.load("06_multi_head.patient")
print("one head, 15 times as many steps:", *(f"{share:.2f}" for share in run["results"]["both right"]))
print(stored_runs.how(run))

# %% [markdown]
# **What did the original paper find?** Vaswani et al. (2017, table 3, rows A) changed the number of heads of their
# translation model and left everything else alone, as we did. They translated English to German and measured BLEU, a
# score for translations, on their development set:

# %% tags=["fold"]
published = {1: 24.9, 4: 25.5, 8: 25.8, 16: 25.8, 32: 25.4}  # Vaswani et al. (2017), table 3, rows A and base
show(
    plots.bars(
        list(published.values()),
        [f"{H}" for H in published],
        value_label="BLEU",
        limits=(24, 26.2),
        numbers=".1f",
        title="published: number of heads",
    ),
    f"BLEU: {'; '.join(f'{bleu} for {H}' for H, bleu in published.items())}. The axis begins at 24.",
)

# %% [markdown]
# **Figure 3.** The published translation quality (BLEU, higher is better) for different numbers of heads at the same width
# of the model. One head is worst, and too many heads are worse than eight or sixteen.
#
# (The axis begins at 24, so that the differences can be seen.) In their table, too, one head is the worst, nearly a
# point below the best, and eight and sixteen heads are the best. The size of the gap cannot be compared with ours, since BLEU and a
# share of right answers are different measures. Their model also has many layers, so that one layer may find what
# another misses (lesson 08).
#
# In their model, 32 heads are too many. The heads share the width of the model, so each of the 32 is only 16 wide, and
# a dot product of 16 features can distinguish fewer things. Our small vocabulary needs no more than 6 features a head.
#
# **Which head attends to what?** Take a training with two heads and look at the pronoun's row of attention weights in
# each of them.

# %% tags=["fold"]
examples, example_places, example_answers = (part[:40] for part in told(40, seed=3))
with torch.no_grad():
    _, _, (A_two,) = readers[2, 0](examples)  # [40, 2, N, N]
example = next(n for n in range(40) if "it" in [pronoun_tales.WORDS[word] for word in examples[n]])
sentence = [pronoun_tales.WORDS[word] for word in examples[example]]
asks = example_places[example, 0].item()
show(
    plots.heat_map(
        A_two[example, :, asks],
        ["head 1", "head 2"],
        sentence,
        numbers=".1f",
        least=0.05,
        title=f"where “{sentence[asks]}” looks",
        axes=plots.canvas(10.5, 2)[1][0],
    ),
    f"Two rows of weights over the words “{' '.join(sentence)}”: one head looks at the noun that the pronoun stands for, the other at what "
    "that one really was.",
)

# %% [markdown]
# **Figure 4.** The attention weights of the pronoun in both heads of one reader, for one tale. Each head attends mostly to
# one of the two nouns that the answers need.
#
# That was one sentence of one training. Now we take all test sentences and all three trainings. How much of each head's
# weight is on the noun that is meant (*who*), and how much on the disguise (*what*)? And in what share of the tales
# does one head have more than half of its weight on *who* while the *other* head has more than half of its weight on
# *what*? (The output calls this "one look for each question".)

# %% tags=["fold"]
row = torch.arange(len(words), device=DEVICE)
meant = ((words == answers[:, :1]) & (torch.arange(pronoun_tales.LENGTH, device=DEVICE) != places[:, 1:])).float()  # [1024, N], 1 at that noun
shared_out = []
for seed in SEEDS:
    _, A_pronoun = judged(readers[2, seed])  # [1024, 2, N]
    on_who = (A_pronoun * meant[:, None]).sum(dim=-1)  # [1024, 2]
    on_what = A_pronoun[row, :, places[:, 1]]  # [1024, 2]
    one_each = torch.maximum(torch.minimum(on_who[:, 0], on_what[:, 1]), torch.minimum(on_who[:, 1], on_what[:, 0])) > 0.5  # [1024]
    shared_out.append(one_each.float().mean().item())
    for h in range(2):
        print(f"training {seed + 1}, head {h + 1}: {on_who[:, h].mean():.2f} on who, {on_what[:, h].mean():.2f} on what")
    said = [pronoun_tales.WORDS[words[n, places[n, 0]]] for n in range(len(words))]
    for pronoun in pronoun_tales.KINDS:
        its = torch.tensor([word == pronoun for word in said], device=DEVICE)
        print(f"            “{pronoun}” looks at who with head {on_who[its].mean(dim=0).argmax() + 1}")
    print(f"            one look for each question in {shared_out[-1]:.2f} of the tales")

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
print("in all trainings more than 0.8 of the tales have one look for each question:", min(shared_out) > 0.8)

# %% [markdown]
# Nobody told a head what to attend to. Training lowers one number, the loss, and the loss contains both questions. In
# some trainings one head has most of its weight on *who* and the other on *what*: each head has taken one question.
# In others each head has some weight on both. There the heads change roles with the pronoun: the head that attends to
# *who* for one pronoun attends to *what* for another. Within a single tale, the two heads still divide the two
# questions between them most of the time.
#
#
# **Try it.** Two layers can do what one layer cannot. This reader has two layers of two heads each, and it is also asked at a
# second position: at the disguise, it has to say whom the disguise is about. The disguise itself does not carry this
# information. The model has to find the pronoun first, and then the noun that goes with it. Choose a layer, a head and
# a token. (The training asks questions only at the pronoun and at the disguise. Other tokens are free to attend to
# anything; their weights matter only as far as they help these two.)
#
# <details><summary>What you should have seen</summary>
#
# In layer 1, the disguise attends mostly to the pronoun in one of the heads. In layer 2, it attends in both heads to the
# noun that is meant, and again to the pronoun, whose hidden state now also contains what layer 1 found
# there. This is why the reader needs two layers: the second layer attends with what the first layer has found, and the
# residual connection keeps the original tokens beside it.
#
# </details>

# %% tags=["fold"]
deep = reader_with(2, layers=2)
with torch.no_grad():
    who, _, weights = deep(words)
at_disguise = who[row, places[:, 1]].argmax(dim=-1) == answers[:, 0]  # [1024]
print(f"pronoun: both right {both_right(deep):.2f}; disguise: knows whom it is about {at_disguise.float().mean():.2f}")
for number, A in enumerate(weights, start=1):  # A [1024, 2, N, N]
    looks = A[row, :, places[:, 1]]  # [1024, 2, N], those of the disguise
    on_pronoun, on_meant = looks[row, :, places[:, 0]].mean(dim=0), (looks * meant[:, None]).sum(dim=-1).mean(dim=0)  # [2] each
    for h in range(2):
        print(f"layer {number}, head {h + 1}: the disguise has {on_pronoun[h]:.2f} on the pronoun, {on_meant[h]:.2f} on who is meant")

# %% tags=["fold"]
LOOKERS = ("the pronoun", "the disguise", "the first noun", "the second noun")


def looked(layer, word, tale):
    """The words of a tale, the place of the word that looks, and its weights in that layer, [heads, N]."""
    n = int(tale)
    with torch.no_grad():
        weights = deep(examples[n : n + 1])[2][int(layer) - 1]  # [1, heads, N, N]
    words = [pronoun_tales.WORDS[index] for index in examples[n]]
    first = 1 if words[0] == "the" else 7  # where the noun of the main clause stands
    place = dict(zip(LOOKERS, (*example_places[n].tolist(), first, first + 5)))[word]
    return words, place, weights[0, :, place]


def draw_heads(layer, head, word, tale):
    words, place, rows = looked(layer, word, tale)
    figure, (axes,) = plots.canvas(10.5, 3.1)
    colours = [plots.QUERY if n == place else plots.WEIGHTS for n in range(len(words))]
    title = f"layer {layer:.0f}, head {head:.0f}: where “{words[place]}” looks"
    return plots.bars(rows[int(head) - 1], words, colour=colours, limits=(0, 1.15), title=title, axes=axes)


def say_heads(layer, head, word, tale):
    words, place, rows = looked(layer, word, tale)
    weight, most = rows[int(head) - 1].max(dim=0)
    where = f"layer {layer:.0f}, head {head:.0f}: “{words[place]}” looks most at “{words[most]}”, with weight {weight:.2f}."
    return f"“{' '.join(words)}”, {where}"


explore(
    draw_heads,
    alt=say_heads,
    layer=Slider("layer", 1, 2, 2, 1),
    head=Slider("head", 1, 2, 1, 1),
    word=Choice("who looks", LOOKERS, LOOKERS[1]),
    tale=Slider("another tale", 0, 39, 0, 1),
)

# %% [markdown]
# **Figure 5.** The attention weights of one token in one head of the two-layer reader. The title names the token that
# attends; its own bar, if there is one to see, has another colour. Change the layer to see how the second layer builds on what the first has found.

# %% [markdown]
# ## Four matrix products
#
# What does a multi-head attention layer cost? Except for the softmax, everything in it is a product of matrices, and
# there are four of them:
#
# | step | shapes | result |
# |---|---|---|
# | 1 · projection | $[N, D]\;[D, 3D]$ | $[N, 3D]$, split into three of $[H, N, D_H]$ |
# | 2 · scores | $[H, N, D_H]\;[H, D_H, N]$ | $[H, N, N]$ |
# | 3 · mixing | $[H, N, N]\;[H, N, D_H]$ | $[H, N, D_H]$, merged into $[N, D]$ |
# | 4 · output | $[N, D]\;[D, D]$ | $[N, D]$ |
#
# An entry of a product $[n, k]\,[k, m]$ is a sum of $k$ terms: it takes $k$ multiplications and about as many
# additions. The result has $n \cdot m$ entries, so the product takes $2\,n\,k\,m$ **floating-point operations
# (FLOPs)**. With $H D_H = D$, the four products together take
#
# $$\underbrace{2 N D \cdot 3D}_{1} + \underbrace{2 H N^2 D_H}_{2} + \underbrace{2 H N^2 D_H}_{3} + \underbrace{2 N D^2}_{4}
# \;=\; 8 N D^2 + 4 N^2 D$$
#
# The number of heads $H$ does not appear in the result. Eight heads of width 64 cost as many operations as one head of
# width 512. PyTorch can count the operations for us:


# %% tags=["fold"]
def count(function, *inputs):
    """The operations that torch counts while `function` runs on the inputs."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        function(*inputs)
    return counter.get_total_flops()


# %%
def formula(N, D):
    return 8 * N * D**2 + 4 * N**2 * D


# %%
# NBVAL_CHECK_OUTPUT
for N_, D_, H_ in ((128, 64, 1), (128, 64, 8), (256, 64, 8), (512, 64, 8)):
    layer = nn.MultiheadAttention(D_, H_, batch_first=True, device=DEVICE)
    counted = count(lambda X: layer(X, X, X), normal(1, N_, D_))
    assert counted == formula(N_, D_)
    print(f"N = {N_}, D = {D_}, heads: {H_}: {counted:>12,} operations")

# %% [markdown]
# From 256 to 512 vectors, the operations more than triple. The formula has two terms: $8ND^2$ doubles when $N$ doubles,
# and $4N^2D$ grows fourfold. The two terms are equal at $N = 2D$. For shorter sequences, most operations are in the
# projections; for longer ones, most are in the scores and the mixing.
#
# We write $O(N)$ for a cost that grows in proportion to $N$, and $O(N^2)$ for one that grows in proportion to its square;
# constant factors are left out. (GPT-3 has $D = 12{,}288$ and reads 2,048 tokens. There the "quadratic" term is by far the smaller one.)

# %% tags=["fold"]
lengths = [2**k for k in range(7, 17)]
show(
    plots.curves(
        lengths,
        {
            "projections and output, 8ND²": [8 * n * 512**2 / 1e9 for n in lengths],
            "scores and mixing, 4N²D": [4 * n * n * 512 / 1e9 for n in lengths],
        },
        title="operations of one layer, D = 512",
        x_label="number of vectors N",
        y_label="billions of operations",
        log="xy",
    ),
    "Two straight lines on logarithmic axes. Projections grow with N. Scores and mixing grow with N squared; they start lower, cross at "
    "N = 1,024, which is twice D, and are far above at the right.",
)

# %% [markdown]
# **Figure 6.** Operations of one layer of width 512 against the length $N$, on logarithmic axes. The projections dominate
# short sequences, the scores and the mixing dominate long ones, and the two lines cross at $N = 2D$.
#
# **How much memory does the layer need?** The attention weights $A$ are $H \cdot N \cdot N$ numbers. Here $H$ does
# *not* cancel, because each head has its own table. Lecture slides give this example: $N = 100{,}000$ vectors, $H = 64$
# heads, two bytes a number.

# %%
# NBVAL_CHECK_OUTPUT
bytes_of_A = 64 * 100_000**2 * 2
print(f"{bytes_of_A:,} bytes = {bytes_of_A / 10**12:.2f} TB = {bytes_of_A / 2**40:.3f} TiB = {bytes_of_A / 2**30:.2f} GiB")

# %% [markdown]
# A terabyte (TB) is $10^{12}$ bytes, a tebibyte (TiB) $2^{40}$ bytes, and a gibibyte (GiB) $2^{30}$ bytes. The slides
# say 1.192 TB, which is neither TB nor TiB: it is the number of gibibytes divided by 1000. In any unit, this table for
# a single layer and a single sequence is too large for any GPU. The vectors themselves are small beside it: with
# $D = 4096$, they take less than one gigabyte.
#
# Does the layer have to store the table? If we want to *look* at $A$, it does. To compute the output, it does not: only
# $Y = AV$ is passed on, and $Y$ is small.

# %% [markdown]
# ## A softmax that reads in pieces
#
# Take one query. Its output is a weighted average of the values, in which the value of vector $n$ counts in proportion
# to $e^{s_n}$. Here $s_n$ is the score of vector $n$:
#
# $$y = \frac{\sum_n e^{s_n}\, v_n}{\sum_n e^{s_n}}$$
#
# The numerator and the denominator are sums, and a sum can be computed in pieces. Read some vectors, add their terms to
# both sums, forget these vectors, and read the next ones. At the end, divide one sum by the other. At no time does the
# computation hold a whole row of scores.
#
# There is one difficulty: overflow. In single precision, $e^{s}$ is too large from $s = 89$ on, so the softmax
# subtracts the largest score $m$ from all scores (lesson 04). But the largest of *all* scores is known only after all
# of them have been read. Can the sums still be computed in pieces?
#
# They can. Subtract the largest score **so far**. When a larger score turns up, the sums computed up to then used the
# wrong $m$, but they are easy to correct. Each of their terms contains $e^{s_n - m_\text{old}}$ and should contain
# $e^{s_n - m_\text{new}}$:
#
# $$e^{s_n - m_\text{new}} = e^{s_n - m_\text{old}} \cdot e^{m_\text{old} - m_\text{new}}$$
#
# The factor is the same for all terms, so it is enough to multiply the two sums by it. This is the **online softmax**
# (Milakov and Gimelshein, 2018, for $m$ and the denominator). For attention we keep three things for each query: the
# largest score so far $m$, the sum of the exponentials $\ell$, and the sum of the weighted values $o$. For each new piece of scores $s$ and values $V$, it
# computes
#
# $$m' = \max(m, \max s),\qquad f = e^{m - m'},\qquad p = e^{s - m'},\qquad \ell' = f\,\ell + \textstyle\sum p,\qquad o' = f\,o + p\,V$$
#
# The computation begins with $m = -\infty$, $\ell = 0$ and $o = 0$. For the first piece the factor is then
# $f = e^{-\infty} = 0$. At the end, $y = o / \ell$.
#
# The next cell does this for one query and twelve vectors, in pieces of four:

# %%
# NBVAL_CHECK_OUTPUT
s = torch.tensor([1.0, 0.2, -0.5, 0.8, 2.0, 1.5, 0.1, -1.0, 0.5, 3.0, 0.0, 1.2], device=DEVICE)  # [N_X], the scores
values = normal(12, 3)  # [N_X, D_V]
m, l, o = torch.tensor(-torch.inf, device=DEVICE), torch.tensor(0.0, device=DEVICE), torch.zeros(3, device=DEVICE)
for begin in range(0, 12, 4):
    piece = slice(begin, begin + 4)
    m_new = torch.maximum(m, s[piece].max())
    f, p = (m - m_new).exp(), (s[piece] - m_new).exp()  # one number, and [4]
    l, o, m = f * l + p.sum(), f * o + p @ values[piece], m_new
    print(f"read {begin + 4:2} of 12: largest so far {m:.1f}, old sums times {f:.3f}, sum of exponentials {l:.3f}")
assert_close(o / l, s.softmax(dim=0) @ values)

# %% [markdown]
# The result is not an approximation. It is the softmax average itself, with the terms summed in another order.

# %% [markdown]
# ## In tiles
#
# Now we treat all queries at once. A piece of `block` keys gives a **tile** of scores: all queries against these keys,
# $[N, \mathit{block}]$. Each query keeps its own $m$ and $\ell$, which are therefore $[N, 1]$, and its own row of $O$,
# which is $[N, D_V]$.


# %%
def plain(Q, K, V):
    """Attention with the table of weights; Q [..., N_Q, D_Q], K [..., N_X, D_Q], V [..., N_X, D_V] give [..., N_Q, D_V]."""
    return (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1) @ V


def tiles(Q, K, V, block=128):
    """The same without the table, for one head of one sequence: at most [N_Q, block] scores at a time."""
    m = torch.full((len(Q), 1), -torch.inf, device=Q.device)  # [N_Q, 1]
    l, O = torch.zeros_like(m), torch.zeros(len(Q), V.shape[1], device=Q.device)  # [N_Q, 1], [N_Q, D_V]
    for K_part, V_part in zip(K.split(block), V.split(block)):
        E = Q @ K_part.T / math.sqrt(Q.shape[1])  # [N_Q, block]
        m_new = torch.maximum(m, E.amax(dim=1, keepdim=True))
        f, P = (m - m_new).exp(), (E - m_new).exp()
        l, O, m = f * l + P.sum(dim=1, keepdim=True), f * O + P @ V_part, m_new
    return O / l


def torchs_own(Q, K, V):
    return F.scaled_dot_product_attention(Q[None, None], K[None, None], V[None, None])[0, 0]  # tiles only for [B, H, N, D_H]


# %% tags=["fold"]
Q, K, V = normal(300, 64), normal(300, 64), normal(300, 64)
exact = plain(Q.double(), K.double(), V.double()).float()  # in double precision, as the judge
assert_close(tiles(Q, K, V), exact, rtol=0, atol=1e-6)
assert_close(tiles(Q, K, V, block=7), exact, rtol=0, atol=1e-6)
assert_close(torchs_own(Q, K, V), exact, rtol=0, atol=1e-6)

# %% [markdown]
# The folded checks compare three results with the exact one: tiles of 128 keys, tiles of 7 keys, and PyTorch's own
# attention. All agree with it to within $10^{-6}$, so the size of the block does not matter, and the last block may be
# shorter than the others. Called as in `torchs_own`, PyTorch's attention works in tiles by itself; we shall measure it
# below. (Attention without a stored table is older than FlashAttention: Rabe and Staats, 2021.)
#
# **Try it.** There are eight queries and twelve keys. Choose the size of a block and go through the tiles. On the left
# is the table that is never stored: only the coloured tile exists at this moment. On the right are the weights of the
# first query, computed from the keys it has read so far (dark bars: the keys of this tile; light bars: keys read
# before), beside the final weights. (If you choose a tile beyond the last one, the last one is shown.)

# %% tags=["fold"]
Q_8, K_12 = normal(8, 4), normal(12, 4) * torch.linspace(0.6, 1.8, 12, device=DEVICE)[:, None]
E_table = Q_8 @ K_12.T / 2  # [8, 12]
rises = (E_table[:, 4:8].amax(dim=-1) > E_table[:, :4].amax(dim=-1)).float()  # whose largest score so far rises in the middle
E_table = E_table[(E_table[:, 8:].amax(dim=-1) + 10 * rises).argsort(descending=True)]  # query 1: there, and again at the end


def read_so_far(block, step):
    """Where the tile begins and ends, and m and l of the first query when it has been read."""
    block = int(block)
    begin = min(int(step) - 1, math.ceil(12 / block) - 1) * block
    end = min(12, begin + block)
    m = E_table[0, :end].max()
    return begin, end, m, (E_table[0, :end] - m).exp().sum()


def draw_tiles(block, step):
    begin, end, m, l = read_so_far(block, step)
    shown = torch.full_like(E_table, torch.nan)
    shown[:, begin:end] = E_table[:, begin:end]
    bound = E_table.abs().max().item()
    figure, (left, right) = plots.canvas(11, 3.6, 2, gridspec_kw={"width_ratios": [1, 1.1]})
    left.set_facecolor("#EEEEEE")
    plots.field(shown, limits=(-bound, bound), x_label="key", y_label="query", title="scores that exist now", axes=left)
    keys = [f"{n + 1}" for n in range(12)]
    now = torch.where(torch.arange(12, device=DEVICE) < end, (E_table[0] - m).exp() / l, 0.0)
    left.set_xticks(range(12), keys)
    left.set_yticks(range(8), range(1, 9))
    colours = [plots.WEIGHTS if begin <= n < end else plots.SKY for n in range(12)]
    title = f"weights of query 1 after key {end}"
    plots.bars(now[:end], keys[:end], colour=colours[:end], limits=(0, 1.12), numbers=".1f", title=title, axes=right)
    right.set_xticks(range(12), keys)
    final = plots.array(E_table[0].softmax(dim=0))
    right.plot(range(12), final, "_", color=plots.BLACK, markersize=16, markeredgewidth=2, label="at the end")
    right.legend(frameon=False)
    right.set_xlabel("key")
    return figure


def say_tiles(block, step):
    begin, end, m, l = read_so_far(block, step)
    if begin:
        factor = (E_table[0, :begin].max() - m).exp()
        old = f"the old sums were multiplied by {factor:.2f}" if factor < 1 else "no larger score came, so the old sums stayed"
    else:
        old = "there were no sums before"
    here = f"Tile of {8 * (end - begin)} scores out of {8 * 12}. After key {end} the largest score of query 1 is {m:.2f} and its sum {l:.2f}"
    return f"{here}; {old}."


explore(
    draw_tiles,
    alt=say_tiles,
    block=Slider("keys in a block", 1, 12, 4, 1),
    step=Slider("tile", 1, 12, 2, 1),
)

# %% [markdown]
# **Figure 7.** Attention in tiles. Left, the scores that are in memory at this step; right, the weights of the first query
# computed from the keys read so far, with black marks for the final weights.
#
# At first the weights are too large, because they are shares of only those keys that have been read. With each tile,
# they shrink towards the final weights.
#
# This is the idea of **FlashAttention** (Dao et al., 2022). FlashAttention saves time as well as memory. A GPU computes
# faster than it can read and write its memory: writing a table of scores to its large, slow memory and reading it
# back takes longer than computing the scores. FlashAttention cuts queries *and* keys into tiles that are small enough for
# the small, fast memory beside the arithmetic units. It needs as many operations as before, or slightly more, and still
# takes less time. In training, the backward pass computes the tiles again instead of storing them.
#
# Does the memory grow as expected? We measure the peak of the memory that PyTorch allocates, up to $N = 16{,}384$.
# Predict: by which factor does each curve grow from one point to the next, where $N$ is four times as large?

# %% tags=["fold"]
MEASURED, OWN = (256, 1024, 4096, 16384), "torch's own"


def inputs(N, D=64):
    """Queries, keys and values of one head, [N, D] each."""
    drawn = torch.Generator().manual_seed(N)
    return [torch.randn(N, D, generator=drawn).to(DEVICE) for _ in range(3)]


@torch.no_grad()
def peaks(function, lengths=MEASURED):
    """The peak of memory at each length, in MiB, beyond the inputs."""
    function(*inputs(128))  # what is done once only is done
    found = []
    for N in lengths:
        Q, K, V = inputs(N)
        found.append(peak_memory(lambda: function(Q, K, V)) / 2**20)
    return found


memory = {
    "table of weights": peaks(plain),
    "tiles of 128 keys": peaks(tiles),
    OWN: peaks(torchs_own),
}
show(
    plots.curves(
        MEASURED, memory, title="measured, one head of 64", x_label="number of vectors N", y_label="peak memory, MiB", log="xy"
    ),
    "Peak memory at N = 256, 1,024, 4,096 and 16,384. The table grows sixteenfold at each step and reaches "
    f"{memory['table of weights'][-1]:,.0f} MiB; tiles of 128 keys grow fourfold and reach {memory['tiles of 128 keys'][-1]:.0f} MiB; torch's own "
    f"stays below, at {memory[OWN][-1]:.0f} MiB.",
)

# %% [markdown]
# **Figure 8.** Peak memory of one head against the length $N$, on logarithmic axes. The table of weights grows with the
# square of $N$; the tiles and torch's own attention, which never store the table, end far below it.

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
grown = {name: curve[-1] / curve[-2] for name, curve in memory.items()}
print("N from 4,096 to 16,384:")
print("  the table grows 15 to 17 times:", 15 < grown["table of weights"] < 17)
print("  tiles grow 3 to 5 times:       ", 3 < grown["tiles of 128 keys"] < 5)
print("  torch's own below the tiles:   ", memory[OWN][-1] < memory["tiles of 128 keys"][-1])

# %% [markdown]
# The table of weights grows as $O(N^2)$ and the tiles grow as $O(N)$, as expected. At $N = 256$, tiles save nothing: a
# tile of scores is half of the table, and its exponentials and sums are stored beside it. PyTorch's own attention needs
# some working space, which grows in steps up to $N = 1{,}024$ and then stays the same. At small $N$ it is most of its
# memory, so the curve is not a straight line at first.
#
# Some slides say that the memory of self-attention is $O(N)$, others that it is $O(N^2)$. Both are right: the answer
# depends on whether the weights are stored.

# %% [markdown]
# ## Without the softmax
#
# Tiles save memory, but they do not save operations: each query is still compared with each key. Can *that* be avoided?
#
# The softmax is the obstacle. Without it, attention would be $(Q K^\top) V$, and a product of three matrices can be
# computed in either order, so also as $Q\,(K^\top V)$. Compare the sizes: $Q K^\top$ is $[N, N]$, but $K^\top V$ is
# $[D_Q, D_V]$, however long the sequence is.
#
# **Linear attention** (Katharopoulos et al., 2020) keeps two properties of the softmax: the weights are positive, and
# each row sums to 1. It gives up the exponential. A function $\varphi$, called a **feature map**, makes all features of
# queries and keys positive, and the similarity score is then just their dot product. (From here on, $m$ is no
# longer the largest score but the index of the query, as in lesson 05.)
#
#
# $$a_{mn} = \frac{\varphi(q_m) \cdot \varphi(k_n)}{\sum_j \varphi(q_m) \cdot \varphi(k_j)},\qquad \varphi(x) = \operatorname{elu}(x) + 1
# = \begin{cases} x + 1 & x > 0\\ e^x & x \le 0\end{cases}$$
#
# In both the numerator and the denominator, $\varphi(q_m)$ can be taken out of the sum:
#
# $$y_m = \frac{\varphi(q_m)\,\big(\sum_n \varphi(k_n)^\top v_n\big)}{\varphi(q_m) \cdot \sum_n \varphi(k_n)}$$
#
# Both sums are the same for all queries, so they are computed only once. The cost is $O(N D_Q D_V)$ operations instead
# of $O(N^2 D)$. (If $N$ is smaller than $D$, this saves nothing.)


# %%
def linear(Q, K, V):
    """Linear attention of one head and one sequence; Q [N_Q, D_Q], K [N_X, D_Q], V [N_X, D_V] give [N_Q, D_V]."""
    Q, K = F.elu(Q) + 1, F.elu(K) + 1
    state, total = K.T @ V, K.sum(dim=0)  # [D_Q, D_V], [D_Q]
    return Q @ state / (Q @ total)[:, None]


# %% tags=["fold"]
Q, K, V = normal(300, 64), normal(300, 64), normal(300, 32)
A_linear = (F.elu(Q) + 1) @ (F.elu(K) + 1).T  # [N, N], only to compare
assert_close(linear(Q, K, V), A_linear / A_linear.sum(dim=-1, keepdim=True) @ V)

# %% [markdown]
# Two other ways to lower the cost keep the softmax and compare fewer pairs of vectors:
#
# - **Windows** (**local attention**; Beltagy et al., 2020): each vector attends only to vectors at most $w$ positions away
#   on either side. The cost is $O(N w)$.
# - **Latents** (Perceiver; Jaegle et al., 2021): $M$ learned vectors, with $M$ much smaller than $N$, attend to the
#   data and summarise them. Later queries attend only to these $M$ vectors. The cost is $O(N M)$.
#
# (In this lesson, queries read the answer from the latents, as in Perceiver IO, Jaegle et al., 2021: in the look-up below
# these are the names asked for, elsewhere all $N$ positions.)
#
# What does each of the three give up? In linear attention, the information of all keys and values goes into *one*
# matrix of $D_Q \times D_V$ numbers. In a window, far vectors cannot be attended to. With latents, everything must pass
# through $M$ vectors, which are computed before any query is known. (Do you remember the bottleneck of lesson 01?)

# %% tags=["fold"]
keep_window = (torch.arange(40)[:, None] - torch.arange(40)).abs() <= 5  # [N, N]
figure, panels = plots.canvas(10.5, 3, 4)
Q_40, K_40, L_6 = normal(40, 8) * 2, normal(40, 8) * 2, normal(6, 8) * 2
E_40 = (Q_40 @ K_40.T / math.sqrt(8)).cpu()
positive = ((F.elu(Q_40) + 1) @ (F.elu(K_40) + 1).T).cpu()
tables = {
    "softmax": E_40.softmax(dim=-1),
    "linear": positive / positive.sum(dim=-1, keepdim=True),
    "window, 5 to each side": E_40.masked_fill(~keep_window, -torch.inf).softmax(dim=-1),
    "6 latents": ((Q_40 @ L_6.T / math.sqrt(8)).softmax(dim=-1) @ (L_6 @ K_40.T / math.sqrt(8)).softmax(dim=-1)).cpu(),
}
for panel, (name, table) in zip(panels, tables.items(), strict=True):
    panel.imshow(plots.array(table), cmap=plots.MAP, vmin=0, vmax=0.5)
    panel.set(title=name, xlabel="key", xticks=(9, 19, 29, 39), yticks=(9, 19, 29, 39))
    panel.set(xticklabels=(10, 20, 30, 40), yticklabels=(10, 20, 30, 40))
panels[0].set_ylabel("query")
show(
    figure,
    "Who looks at whom, forty by forty. Softmax: single bright points. Linear: a dark field, nearly even. Window: single bright points, "
    "all close to the diagonal. Six latents: a few bright columns, the same ones in many rows.",
)

# %% [markdown]
# **Figure 9.** The attention weights of four kinds of attention, for forty queries and forty keys. Softmax can pick out
# single keys. Linear attention spreads its weights, a window sees only nearby keys, and with six latents many queries
# share the same pattern.
#
# (Queries, keys and latents are drawn at random here. The lightest colour stands for 0.5 and more.) The weights of
# linear attention are nearly even. To attend to *one* key and to no other, a query needs one similarity that is many
# times larger than all others. The exponential of the softmax can produce such a ratio easily. A dot product of
# positive vectors can hardly do so.
#
# **A look-up** shows what this costs. The data are $N$ pairs of a name and a number. A query is one of the names, and
# the answer is its number, as when we look up a word in a dictionary. The window needs a position for each query, so
# the queries stand at even distances along the pairs. Each kind of attention is trained in the same way, on 4 to 64
# pairs.
#
# Predict: which kinds get worse as the number of pairs grows, and from which number on?


# %% tags=["fold"]
NAMES, NUMBERS, LATENTS, REACH, SIZES = 128, 32, 8, 8, (4, 8, 16, 32, 64)


class LookUp(nn.Module):
    """Answers queries from pairs, with attention of one kind."""

    def __init__(self, kind, D=32):
        super().__init__()
        self.kind = kind
        self.names, self.numbers = nn.Embedding(NAMES, D), nn.Embedding(NUMBERS, D)
        self.W_Q, self.W_K, self.W_V, self.out = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, NUMBERS)
        self.latents, self.gather_K, self.gather_V = nn.Parameter(torch.randn(LATENTS, D)), nn.Linear(D, D), nn.Linear(D, D)

    def forward(self, names, numbers, asked):
        """Pairs [B, N] and [B, N], and names that are asked for [B, N_Q], give logits [B, N_Q, NUMBERS]."""
        X = self.names(names) + self.numbers(numbers)  # [B, N, D]
        if self.kind == "latents":
            X = plain(self.latents, self.gather_K(X), self.gather_V(X))  # [B, LATENTS, D]
        Q, K, V = self.W_Q(self.names(asked)), self.W_K(X), self.W_V(X)
        if self.kind == "linear":
            return self.out(torch.vmap(linear)(Q, K, V))  # for each row of the batch
        allowed = None
        if self.kind == "window":  # the queries stand at even distances along the pairs
            N_Q, N_X = Q.shape[1], K.shape[1]
            places = torch.arange(N_Q, device=X.device)[:, None] * N_X // N_Q  # [N_Q, 1]
            allowed = (torch.arange(N_X, device=X.device) - places).abs() <= REACH  # [N_Q, N_X]
        return self.out(F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed))


def pairs(N, rows, drawn):
    names = torch.rand(rows, NAMES, generator=drawn).argsort(dim=-1)[:, :N]  # [rows, N], all different in a row
    numbers, chosen = (torch.randint(high, (rows, count), generator=drawn) for high, count in ((NUMBERS, N), (N, 32)))
    return [part.to(DEVICE) for part in (names, numbers, names.gather(1, chosen), numbers.gather(1, chosen))]


def look_up_loss(model, batch):
    *given, wanted = batch
    return F.cross_entropy(model(*given).flatten(0, 1), wanted.flatten())


def looked_up(kind):
    """The share of right answers at each number of pairs, after training."""
    torch.manual_seed(0)
    model, drawn = LookUp(kind).to(DEVICE), torch.Generator().manual_seed(0)
    batches = (pairs(SIZES[torch.randint(5, (1,), generator=drawn)], 32, drawn) for _ in range(500))
    train(model, batches, look_up_loss, steps=500, rate=1e-2, what=f"look-up, {kind}")
    found = []
    for N in SIZES:
        *given, wanted = pairs(N, 128, torch.Generator().manual_seed(1))
        with torch.no_grad():
            found.append((model(*given).argmax(dim=-1) == wanted).float().mean().item())
    return found


right = {kind: looked_up(kind) for kind in ("softmax", "linear", "window", "latents")}
axes = plots.canvas(7, 3.6)[1][0]
plots.curves(SIZES, right, x_label="number of pairs", y_label="right answers", log="x", axes=axes)
axes.set_ylim(0, 1.05)
show(
    axes.figure,
    "Right answers against the number of pairs, from 4 to 64. Softmax stays at one. At 64 pairs linear attention is at "
    f"{right['linear'][-1]:.2f}, a window of {REACH} places to each side at {right['window'][-1]:.2f}, {LATENTS} latents at "
    f"{right['latents'][-1]:.2f}.",
)

# %% [markdown]
# **Figure 10.** Share of right answers in the look-up task against the number of pairs. Only softmax attention over all
# pairs stays right as the number grows; the three cheaper kinds lose more and more answers.

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
print("softmax above 0.99 at all sizes:          ", min(right["softmax"]) > 0.99)
print("the others above 0.8 at 4 pairs:          ", min(right[kind][0] for kind in ("linear", "window", "latents")) > 0.8)
print("at 64 pairs linear below 0.9:             ", right["linear"][-1] < 0.9)
print("at 64 pairs window and latents below 0.5: ", max(right["window"][-1], right["latents"][-1]) < 0.5)

# %% [markdown]
# - **Linear**: a matrix of 32 by 32 numbers stores a few pairs well. The more pairs there are, the more it mixes them
#   up.
# - **Window**: the answer is right when the pair happens to be near the query. Where the relevant vectors *are* near,
#   as they often are in text and images, a window is enough.
# - **Latents**: at eight pairs about a quarter of the answers are wrong, although there are eight latents. Each latent has
#   learned which names to gather. When two names belong to the same latent, their numbers are mixed. That would be acceptable for a summary,
#   but not for a look-up.
#
# Full attention costs $O(N^2)$ operations, and in this task we see what it gives in return: each query can single out
# any one key, however many there are.

# %% [markdown]
# ## The bill
#
# We now compare all these layers in a table that is common on slides, but with *measured* numbers: a recurrent network,
# a convolution, attention, and the cheaper kinds of attention. Each layer has width 64 and reads $N$ vectors. (The
# attention rows are counted from $Q$, $K$ and $V$ on. The projections would add the same cost to each of them, and this
# cost grows with $N$.) How much more does each layer need when there are **four times** as many vectors?
#
# This run counts the operations and measures the memory, for 1,024 and 4,096 vectors: a factor of 4 means $O(N)$, a
# factor of 16 means $O(N^2)$. Times differ from one run to the next, so they come from a stored run, for 4,096 and
# 16,384 vectors in one thread. (With `COURSE_FULL=1` in the environment, the lesson measures them on your machine.)


# %% tags=["fold"]
def window(Q, K, V, reach=64):
    """Each vector looks at those at most `reach` places away: a chunk of queries meets its own chunk of keys and the two beside it."""
    N = Q.shape[-2]  # a multiple of reach
    chunks = Q.unflatten(-2, (-1, reach))  # [..., N/reach, reach, D]
    K_near, V_near = (F.pad(one, (0, 0, reach, reach)).unfold(-2, 3 * reach, reach).mT for one in (K, V))  # [..., N/reach, 3 reach, D]
    start = torch.arange(0, N, reach, device=Q.device)[:, None]  # [N/reach, 1]
    query = (start + torch.arange(reach, device=Q.device))[..., None]  # [N/reach, reach, 1]
    key = (start + torch.arange(-reach, 2 * reach, device=Q.device))[:, None]  # [N/reach, 1, 3 reach]
    near = (key >= 0) & (key < N) & ((key - query).abs() <= reach)  # [N/reach, reach, 3 reach]
    E = chunks @ K_near.mT / math.sqrt(Q.shape[-1])
    return (E.masked_fill(~near, -torch.inf).softmax(dim=-1) @ V_near).flatten(-3, -2)


latents = normal(64, 64)  # [M, D]; learned in earnest, drawn at random here, where only the cost counts
gru, convolution = nn.GRU(64, 64, batch_first=True).to(DEVICE), nn.Conv1d(64, 64, 3, padding=1).to(DEVICE)

Q, K, V = inputs(256)
far = (torch.arange(256)[:, None] - torch.arange(256)).abs() > 64
E = (Q @ K.mT / 8).masked_fill(far.to(DEVICE), -torch.inf)
assert_close(window(Q, K, V), E.softmax(dim=-1) @ V)

WAYS = {
    "recurrent (GRU)": lambda Q, K, V: gru(V[None])[0][0],
    "convolution of 3": lambda Q, K, V: convolution(V.T[None])[0].T,
    "attention, table": plain,
    "attention, tiles": tiles,
    "attention, torch's own": torchs_own,
    "linear attention": linear,
    "window, 64 to each side": window,
    "64 latents": lambda Q, K, V: plain(Q, latents, plain(latents, K, V)),
}


def seconds(function, N):
    """The shortest of at least five runs; what is quick is measured more often."""
    Q, K, V = inputs(N)
    taken = []
    while len(taken) < 5 or sum(taken) < 3:
        start = time.perf_counter()
        with torch.no_grad():
            function(Q, K, V)
        if DEVICE.type == "cuda":
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    return min(taken)


if stored_runs.full():
    began = time.perf_counter()
    times = {name: [seconds(function, N) for N in (4096, 16384)] for name, function in WAYS.items()}
    stored_runs.keep("06_multi_head", times, seed=6, seconds=time.perf_counter() - began)

# %% tags=["fold"]
run = stored_runs.load("06_multi_head")
counts, bill = {}, {}
for name, function in WAYS.items():
    counted = tiles if function is torchs_own else function  # torch does not count its own on a CPU; the products are the same
    counts[name] = [count(counted, *inputs(N)) for N in (1024, 4096)]
    bill[name] = peaks(function, (1024, 4096))
print(f"{'':26}{'operations':>12}{'grow':>7}{'MiB':>10}{'grow':>7}{'seconds':>12}{'grow':>7}")
print(f"{'':26}{'N = 4,096':>12}{'':7}{'N = 4,096':>10}{'':7}{'N = 16,384':>12}")
for name, (before, after) in bill.items():
    fewer, more = counts[name]
    earlier, later = run["results"][name]
    print(f"{name:26}{more:12.1e}{more / fewer:6.1f}×{after:10.1f}{after / before:6.1f}×{later:12.4f}{later / earlier:6.1f}×")
print(stored_runs.how(run))

# %% tags=["fold"]
# NBVAL_CHECK_OUTPUT
memory_growth = {name: after / before for name, (before, after) in bill.items()}
count_growth = {name: after / before for name, (before, after) in counts.items()}
square = ("attention, table", "attention, tiles", "attention, torch's own")
print("operations: 16 times with all pairs:     ", all(count_growth[name] == 16 for name in square[:2]))
print("operations: 4 times without:             ", all(round(value, 1) == 4 for name, value in count_growth.items() if name not in square))
print("memory: the table 15 to 17 times:        ", 15 < memory_growth.pop(square[0]) < 17)
print("memory: all others below 5 times:        ", max(memory_growth.values()) < 5)

# %% [markdown]
# The table shows:
#
# - **Attention with the table** is the only one with $N^2$ in its memory. Its time grows by more than 20 times, and so
#   does the time of our tiles, although the operations grow only 16 times: time also goes into moving the numbers.
# - **Tiles** and **PyTorch's own attention** need memory in proportion to $N$ and still $N^2$ operations, because all
#   pairs are compared. (PyTorch does not count the operations of its own attention on a CPU; that row shows the count
#   of the tiles, which multiply the same pairs. Its memory grows by less than 4 here because of its fixed working
#   space.)
# - **Linear attention, windows and latents** need memory and operations in proportion to $N$, but they compute
#   something else than softmax attention.
# - **The recurrent network** also needs memory and operations in proportion to $N$. But its $N$ steps are computed one
#   after the other, which shows even in one thread: among the layers whose operations grow in proportion to $N$, it takes the longest.
#   Of the thousands of cores of a GPU, most would be idle. In attention, no vector waits for the output of another.
# - **The convolution** is among the cheapest, but each output depends on only three inputs: this is its **receptive
#   field**. About $N/2$ such layers are needed before one output depends on both the first and the last of $N$ vectors;
#   attention needs one layer.
#
# The slides say of attention: "expensive: $O(N^2)$ compute". The measured numbers confirm this. They also say: "highly
# parallel, it's just 4 matmuls". Our numbers cannot show this, since we ran in one thread. It follows from the products
# themselves, in which no row waits for another.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> A layer has D = 512 and 8 heads. Somebody makes it 16 heads, with the same D. What changes: parameters,
# operations, memory for the weights?</summary>
#
# The parameters and the operations of the four products stay the same. Each head is half as wide, and there are twice
# as many heads. The weights are $[16, N, N]$ instead of $[8, N, N]$: they take twice the memory.
#
# </details>
#
# <details><summary><b>2.</b> What does one head lack, however wide it is?</summary>
#
# A second row of weights. A single head finds one average, and all answers have to be read from this average.
#
# </details>
#
# <details><summary><b>3.</b> X is [B, N, H·D_H]. Why does <code>X.reshape(B, H, N, D_H)</code> give the right shape and the wrong numbers?</summary>
#
# The reshape cuts the numbers in the order in which they are stored. In that order, all features of one vector come
# before those of the next vector, so head 0 gets the first vectors whole instead of a part of each vector.
#
# </details>
#
# <details><summary><b>4.</b> The weights of the heads are averaged to $[N, N]$ and drawn. What may this picture hide?</summary>
#
# That the heads disagree. If one head puts all its weight on *frog* and the other puts all its weight on *witch*, their
# average looks like a layer that cannot decide.
#
# </details>
#
# <details><summary><b>5.</b> In the online softmax no larger score turns up. What is f?</summary>
#
# $f = e^{m - m} = 1$: the old sums stay as they are.
#
# </details>
#
# <details><summary><b>6.</b> May the blocks be read in any order?</summary>
#
# Yes. The final $m$ is the largest of all scores, and the sums do not depend on the order of their terms (up to
# rounding).
#
# </details>
#
# <details><summary><b>7.</b> Linear attention: a new vector arrives at the end of a sequence that has been read. What has to be computed for its output?</summary>
#
# Add $\varphi(k)^\top v$ to one sum and $\varphi(k)$ to the other, and divide again. The old vectors are not needed any
# more. This is a recurrent network, with these two sums as its hidden state.
#
# </details>
#
# <details><summary><b>8.</b> N is doubled. By which factor do the operations of multi-head attention grow?</summary>
#
# By a factor between 2 and 4: nearly 2 as long as $N$ is far below $2D$, and nearly 4 when $N$ is far above $2D$.
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
# - **PyTorch's own attention saves memory only in some cases.** On a CPU it works in tiles when its inputs have four axes,
#   $[B, H, N, D_H]$, and the values are as wide as the keys. Otherwise the result is the same, but it stores the table
#   (torch 2.13, measured). It returns no weights.
# - **In tiles, rescale both sums**, $\ell$ and $O$, and divide only at the end.
# - **GB and GiB.** $10^9$ and $2^{30}$ bytes differ by 7 %, TB and TiB by 10 %.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *Y = AX on the slide of several heads.* Y = AV; each head mixes its own values.
# - *$[H \times N \times D_H]\,[H \times N \times D_H]$ for the scores.* The second factor is transposed, $[H \times D_H
#   \times N]$.
# - *$[H \times N \times N]\,[H \times D \times D_H]$ for the mixing.* The values are $[H \times N \times D_H]$.
# - *$D_q = 512$ in the original.* 512 is the width $D$; each of the 8 heads is 64 wide.
# - *softmax(E, dim=1) with heads.* That runs over the queries, or over the heads if there is a batch. It is dim = −1.
# - *E divided by $\sqrt{D}$.* Per head it is $\sqrt{D_H}$.
# - *1.192 TB.* 1.28 TB, or 1,192 GiB.
# - *"O(N) memory" and "O(N²) memory" for self-attention.* Without and with the weights stored.
#
# </details>

# %% [markdown]
# ## References
#
# - A. Vaswani et al. (2017). Attention is all you need. NeurIPS. arXiv:1706.03762. *Section 3.2.2: heads; table 3, rows
#   A: the published figures.*
# - M. Milakov, N. Gimelshein (2018). Online normalizer calculation for softmax. arXiv:1805.02867.
# - T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré (2022). FlashAttention: fast and memory-efficient exact attention with
#   IO-awareness. NeurIPS. arXiv:2205.14135.
# - M. N. Rabe, C. Staats (2021). Self-attention does not need O(n²) memory. arXiv:2112.05682.
# - A. Katharopoulos, A. Vyas, N. Pappas, F. Fleuret (2020). Transformers are RNNs: fast autoregressive Transformers
#   with linear attention. ICML. arXiv:2006.16236.
# - A. Jaegle, F. Gimeno, A. Brock, A. Zisserman, O. Vinyals, J. Carreira (2021). Perceiver: general perception with
#   iterative attention. ICML. arXiv:2103.03206.
# - A. Jaegle et al. (2021). Perceiver IO: a general architecture for structured inputs and outputs. arXiv:2107.14795.
# - I. Beltagy, M. E. Peters, A. Cohan (2020). Longformer: the long-document Transformer. arXiv:2004.05150. *Windows,
#   and a few vectors that see everything.*
