# %% [markdown]
# # 06 · Many heads, and what attention costs
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/06_multi_head.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - let one layer look at several things at once, with heads, and compute all heads together in four matrix products;
# - count the operations and the bytes of a layer from its shapes, and say which of them grow with the square of the length;
# - compute exact attention without ever storing the table of weights (the idea of FlashAttention), and say what linear
#   attention, windows and latents give up for being cheaper.
#
# **You need** lesson 05: self-attention on $X\,[N, D]$ with $W_Q$, $W_K$, $W_V$, and that positions must be told. From lesson 04:
# why the softmax subtracts the largest score.
#
# **Time** about 55 minutes to read; the cells run in about MINUTES seconds on two CPU cores.

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
import random
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from utils import pictures, pronouns
from utils.device import device
from utils.memory import peak_memory
from utils.pictures import show
from utils.stored import full, how, keep, stored
from utils.training import train
from utils.widgets import Choice, Slider, explore

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
generator = torch.Generator().manual_seed(6)


# %%
def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


# %% [markdown]
# ## One row of weights is one average
#
# *"The animal didn't cross the street because it was too tired."* When you come to *it*, you want to know more than one thing.
# **Who** is it? The animal. **What** is said of it? That it was tired. To answer the first question *it* has to look at
# *animal*, to answer the second at *tired*.
#
# A layer of lesson 05 gives *it* one row of weights, and the weights sum to 1. It can put one half on *animal* and one half on
# *tired*. Then its output is the average of their two values:
#
# $$y = \tfrac12\, v_\text{animal} + \tfrac12\, v_\text{tired}$$
#
# Both are in there. But an average does not say which part came from where. Here *animal* cannot be mistaken for
# *tired*. In a fairy tale it is worse:
#
# > *The frog did not marry the king, because it was a witch.*
#
# Who is *it*? The frog. What was it really? A witch. One half *frog* and one half *witch* is the same vector as one half *witch* and
# one half *frog*, which would be the answer to *"The witch did not marry the king, because it was a frog"*:

# %%
# NBVAL_CHECK_OUTPUT
frog, witch = normal(4), normal(4)  # [D_V] each, the values of two words
print("the two sentences give the same average:", torch.equal(frog / 2 + witch / 2, witch / 2 + frog / 2))
side_by_side = torch.cat([frog, witch]), torch.cat([witch, frog])  # [2 * D_V] each
print("put side by side they differ:           ", not torch.equal(*side_by_side))

# %% [markdown]
# The second line is the way out. Look **twice**, with two rows of weights, and put what was found side by side. Each look is called
# a **head**.

# %% [markdown]
# ## Several heads
#
# A layer with $H$ heads is $H$ small attention layers that read the same $X\,[N, D]$. Head $h$ has matrices of its own, and so looks for
# something of its own:
#
# $$Q_h = X W_Q^h,\quad K_h = X W_K^h,\quad V_h = X W_V^h\ \ [N, D_H],\qquad
# A_h = \operatorname{softmax}\!\left(\frac{Q_h K_h^\top}{\sqrt{D_H}}\right) [N, N],\qquad Y_h = A_h V_h\ [N, D_H]$$
#
# How wide should a head be? The usual choice is $D_H = D/H$: many narrow heads, or few wide ones. Side by side they are
# $H \cdot D_H = D$ wide again, the width that came in. A last matrix $W_O\,[H D_H, D]$ mixes what the heads have found:
#
# $$Y = [\,Y_1, Y_2, \dots, Y_H\,]\; W_O\ \ [N, D]$$
#
# The root is that of $D_H$, not of $D$: each dot product sums $D_H$ terms.
#
# As a loop over the heads, one head after the other:

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

# %%
names = [f"$x_{{{n + 1}}}$" for n in range(N)]
figure, panels = pictures.canvas(10.5, 3.3, H)
for h, panel in enumerate(panels):
    pictures.heat_map(weights[h], names, names, title=f"head {h + 1}", numbers=".1f", axes=panel)
panels[0].set_ylabel("who looks")
show(
    figure,
    "Three five-by-five tables of weights, one for each head. The same five vectors look at each other in three different ways.",
)

# %% [markdown]
# Three tables of weights where there was one. Each row of each table sums to 1: the heads do not share, and do not compete.
#
# Do the heads need $W_O$? Without it, the first $D_H$ features of the output would belong to head 1 for ever. $W_O$ lets every
# feature of the output use all heads.

# %% [markdown]
# ## Split, batch, merge
#
# The loop does $H$ small products one after the other. A machine prefers one large one. So treat the heads as lesson 04 treated the
# sentences of a batch: as one more axis in front. $Q$, $K$ and $V$ are computed whole, $[N, H D_H]$, then **split** into
# $[H, N, D_H]$; all heads attend in one batched product; then they are **merged** back into $[N, H D_H]$.
#
# How does one get from $[N, H D_H]$ to $[H, N, D_H]$? Think about it before you read on: is it a reshape?
#
# A reshape never moves a number. It reads all numbers row by row and cuts that one long line into new rows. Watch the numbers
# 0 to 11: two vectors, three heads of two features.

# %%
# NBVAL_CHECK_OUTPUT
small = torch.arange(12).view(2, 6)  # [N, H * D_H]: row 0 is vector 0
print("X\n", small.numpy())
print("reshape(3, 2, 2), head 0:\n", small.reshape(3, 2, 2)[0].numpy())
print("split the width, then exchange N and H, head 0:\n", small.view(2, 3, 2).transpose(0, 1)[0].numpy())

# %% [markdown]
# Head 0 owns the first two features of *each* vector: 0 and 1 of the first, 6 and 7 of the second. The plain reshape hands it features
# 0 to 3 of the first vector instead. The shape is the same, there is no error, and everything that follows is wrong. So it takes two steps:
#
# 1. cut the **last** axis: $[N, H D_H] \to [N, H, D_H]$. Here a reshape does the right thing, since each row is cut on its own;
# 2. **exchange** two axes: $[N, H, D_H] \to [H, N, D_H]$.
#
# Merging is the way back, in reverse: exchange, then join.


# %%
def split(X):
    """[..., N, H * D_H] gives [..., H, N, D_H]."""
    return X.unflatten(-1, (H, -1)).transpose(-3, -2)


def merge(heads):
    """[..., H, N, D_H] gives [..., N, H * D_H]."""
    return heads.transpose(-3, -2).flatten(-2)


assert torch.equal(merge(split(X)), X)

Q, K, V = split(X @ W_Q), split(X @ W_K), split(X @ W_V)  # [H, N, D_H] each
A = (Q @ K.mT / math.sqrt(D_H)).softmax(dim=-1)  # [H, N, N]
Y = merge(A @ V) @ W_O  # [H, N, D_H] to [N, H * D_H] to [N, D]
assert_close(Y, Y_loop)
assert_close(A, torch.stack(weights))

# %% [markdown]
# The line with the softmax is the one of lesson 05, letter for letter. `@` multiplies the last two axes and repeats that for each
# place of the axes in front; a batch of sentences is then $[B, H, N, D_H]$.

# %% [markdown]
# ## One projection for all
#
# There are still three products with $X$, one for each of $W_Q$, $W_K$, $W_V$. Put the three matrices side by side,
# $W_{QKV} = [\,W_Q, W_K, W_V\,]$ of shape $[D, 3 H D_H]$. One product gives all queries, keys and values; `chunk` cuts them apart.
# This is called a **fused** projection.

# %%
W_QKV = torch.cat([W_Q, W_K, W_V], dim=1)  # [D, 3 * H * D_H]
Q, K, V = (split(third) for third in (X @ W_QKV).chunk(3, dim=-1))  # [H, N, D_H] each
Y_fused = merge((Q @ K.mT / math.sqrt(D_H)).softmax(dim=-1) @ V) @ W_O
assert_close(Y_fused, Y_loop)

# %% [markdown]
# torch's own layer, `nn.MultiheadAttention`, holds just these two matrices, the fused one and the last one, and a bias for each. Two
# habits of it are easily overlooked. Its matrices are transposed, as in every `nn.Linear`. And it **averages the weights over the
# heads** before it hands them out, unless you say otherwise.

# %%
layer = nn.MultiheadAttention(D, H, bias=False, batch_first=True, device=DEVICE)
with torch.no_grad():
    layer.in_proj_weight.copy_(W_QKV.T)  # [3 * D, D]
    layer.out_proj.weight.copy_(W_O.T)  # [D, D]
    Y_torch, A_torch = layer(X[None], X[None], X[None], average_attn_weights=False)  # a batch of one
assert_close(Y_torch[0], Y_loop)
assert_close(A_torch[0], torch.stack(weights))


# %% [markdown]
# In **cross-attention** queries come from one sequence and keys and values from another. Then one takes the first third of $W_{QKV}$ for
# the one and the other two thirds for the other. Nothing else changes.
#
# From here on we use this module. It is the layer of your assignment, for self-attention only:


# %%
class MultiHead(nn.Module):
    """X [B, N, D] gives Y [B, N, D] and the weights of each head, [B, H, N, N]."""

    def __init__(self, D, H):
        super().__init__()
        self.H = H
        self.W_QKV, self.W_O = nn.Linear(D, 3 * D), nn.Linear(D, D)

    def forward(self, X):
        Q, K, V = (third.unflatten(-1, (self.H, -1)).transpose(1, 2) for third in self.W_QKV(X).chunk(3, dim=-1))
        A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)  # [B, H, N, N]
        return self.W_O((A @ V).transpose(1, 2).flatten(2)), A


# %% [markdown]
# ## What heads look at
#
# Back to the frog. Here are fairy tales by the thousand, all built like this one:

# %%
# NBVAL_CHECK_OUTPUT
for seed in range(4):
    told = pronouns.tale(random.Random(seed))
    print(f"{' '.join(told.words)}.   who: {told.who}, what: {told.what}")

# %% [markdown]
# The two nouns of the main clause have different pronouns (*it*, *she*, *he*), so the pronoun tells which of them is meant. What
# that one really was may be any other noun, and either clause may come first. At the place of the pronoun a model has to give two
# answers from one output vector: **who** and **what**.
#
# The model is one attention layer with almost nothing around it. Words and learned places come in. Two linear layers read the output
# at the pronoun, one for each question; what they give is compared with the vectors of the nouns by dot products, and the nearest noun is
# the answer. All models have the same width and the same number of parameters. They differ in the number of heads alone: one head
# that is 32 wide, two of 16, four of 8, eight of 4.
#
# Predict: how many heads are needed? Can there be too many?


# %%
WIDTH, STEPS, TALES = 32, 400, 20_000


class Reader(nn.Module):
    """Reads tales with attention layers, and answers from what the last of them found."""

    def __init__(self, H, layers=1):
        super().__init__()
        self.words, self.places = nn.Embedding(len(pronouns.WORDS), WIDTH), nn.Embedding(pronouns.LENGTH, WIDTH)
        self.layers = nn.ModuleList(MultiHead(WIDTH, H) for _ in range(layers))
        self.who, self.what = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        for table in (self.words, self.places):
            nn.init.normal_(table.weight, std=0.4)

    def forward(self, words):
        """Words [B, N] give logits for who and what at each place, [B, N, nouns] each, and each layer's weights [B, H, N, N]."""
        X, weights = self.words(words) + self.places.weight, []  # [B, N, D]
        for layer in self.layers:
            Y, A = layer(X)
            X = X + Y  # a second layer, where there is one, sees the words and what was found
            weights.append(A)
        nouns = self.words.weight[: len(pronouns.NOUNS)].T  # [D, nouns]
        return self.who(Y) @ nouns, self.what(Y) @ nouns, weights


def told(count, seed):
    rng = random.Random(seed)
    return [part.to(DEVICE) for part in pronouns.batch([pronouns.tale(rng) for _ in range(count)])]


def answers_loss(reader, batch):
    words, places, answers = batch
    row = torch.arange(len(words), device=DEVICE)
    who, what, weights = reader(words)
    asked = places[:, 0]  # the pronoun's place
    loss = F.cross_entropy(who[row, asked], answers[:, 0]) + F.cross_entropy(what[row, asked], answers[:, 1])
    if len(weights) > 1:  # two layers: the last word is asked, too, whom it is about
        loss = loss + F.cross_entropy(who[row, places[:, 1]], answers[:, 0])
    return loss


TRAINING, TEST = told(TALES, seed=1), told(1024, seed=2)


def reader_with(H, seed=0, layers=1):
    torch.manual_seed(seed)
    reader, drawn = Reader(H, layers).to(DEVICE), torch.Generator().manual_seed(seed)
    rows = (torch.randint(TALES, (64,), generator=drawn).to(DEVICE) for _ in range(STEPS))
    batches = ([part[row] for part in TRAINING] for row in rows)
    train(reader, batches, answers_loss, steps=STEPS, rate=5e-3, what=f"{H} heads")
    return reader


HEADS, SEEDS = (1, 2, 4, 8), (0, 1, 2)
readers = {(H, seed): reader_with(H, seed) for H in HEADS for seed in SEEDS}


# %%
@torch.no_grad()
def both_right(reader):
    """The share of new tales in which who and what are both right."""
    words, places, answers = TEST
    row = torch.arange(len(words), device=DEVICE)
    who, what, _ = reader(words)
    given = torch.stack([logits[row, places[:, 0]].argmax(dim=-1) for logits in (who, what)], dim=1)  # [B, 2]
    return (given == answers).all(dim=1).float().mean().item()


shares = {pair: both_right(reader) for pair, reader in readers.items()}
figure, (axes,) = pictures.canvas(7, 3.2)
labels = [f"{H} head{'s' * (H > 1)}" for H in HEADS]
lines = {f"training {seed + 1}": [shares[H, seed] for H in HEADS] for seed in SEEDS}
styles = dict(zip(lines, ("o", "s", "^")))
pictures.curves(range(len(HEADS)), lines, styles=styles, y_label="both answers right", axes=axes)
axes.set_xticks(range(len(HEADS)), labels)
axes.set_ylim(-0.03, 1.08)
show(
    figure,
    "The share of tales in which both answers are right, three trainings for each number of heads: "
    + "; ".join(f"{label} " + ", ".join(f"{shares[H, seed]:.2f}" for seed in SEEDS) for label, H in zip(labels, HEADS))
    + ".",
)

# %%
# NBVAL_CHECK_OUTPUT
print("one head: no training above 0.8:                   ", max(shares[1, seed] for seed in SEEDS) < 0.8)
print("two heads and more: all trainings above 0.95:      ", min(shares[H, seed] for H in HEADS[1:] for seed in SEEDS) > 0.95)

# %% [markdown]
# One head does not do it. It puts most of its weight on one of the two words and answers that question; for the other it guesses from
# what little weight is left. Two heads do it every time: there are two questions. More heads than questions do no harm here, although
# each of eight is only 4 wide.
#
# (Could a cleverer reader than a linear layer get both answers out of *one* mixture, say if the one who is meant always had weight
# 0.7 and the disguise 0.3? In principle, yes. The one head does get some of them right. But then one number, the weight, has to be just right
# in every sentence. Two heads have nothing to balance.)
#
# **And in print?** Vaswani et al. (2017, table 3, rows A) changed the number of heads of their translation model and left
# everything else alone, as we did. English to German, BLEU on their development set:

# %%
published = {1: 24.9, 4: 25.5, 8: 25.8, 16: 25.8, 32: 25.4}  # Vaswani et al. (2017), table 3, rows A and base
show(
    pictures.bars(
        list(published.values()),
        [f"{H}" for H in published],
        value_label="BLEU",
        limits=(24, 26.2),
        numbers=".1f",
        title="published: number of heads",
    ),
    f"BLEU for each number of heads: {published}. The axis begins at 24.",
)

# %% [markdown]
# (The axis begins at 24, so that one can see the differences.) There, too, one head is the worst, by nearly a point. The gap is
# smaller than ours: their model has many layers, with a path around each and an MLP behind each, so that one head gets further
# chances. And there, 32 heads are too many. As the width is shared out, each head is only 16 wide, and the scores of a narrow head
# can compare little. Our few words do not need more.
#
# **Who looks where?** Take a training with two heads and look at the row of the pronoun in each of them.

# %%
examples, example_places, example_answers = (part[:40] for part in told(40, seed=3))
with torch.no_grad():
    _, _, (A_two,) = readers[2, 0](examples)  # [40, 2, N, N]
example = next(n for n in range(40) if "it" in [pronouns.WORDS[word] for word in examples[n]])
sentence = [pronouns.WORDS[word] for word in examples[example]]
asks = example_places[example, 0].item()
show(
    pictures.heat_map(
        A_two[example, :, asks],
        ["head 1", "head 2"],
        sentence,
        numbers=".1f",
        least=0.05,
        title=f"where “{sentence[asks]}” looks",
        axes=pictures.canvas(10.5, 2)[1][0],
    ),
    f"Two rows of weights over the words “{' '.join(sentence)}”: one head looks at the noun that the pronoun stands for, the other at what "
    "that one really was.",
)

# %% [markdown]
# That was one sentence. On average over all test sentences, how much of each head's weight is on the one who is meant, and how much on what
# it really was?

# %%
# NBVAL_CHECK_OUTPUT
words, places, answers = TEST
row = torch.arange(len(words), device=DEVICE)
with torch.no_grad():
    A_pronoun = readers[2, 0](words)[2][0][row, :, places[:, 0]]  # [1024, 2, N]
meant = (words == answers[:, :1]).float()  # [1024, N], 1 at the noun that is meant
on_who = (A_pronoun * meant[:, None]).sum(dim=-1).mean(dim=0)  # [2]
on_what = A_pronoun[row, :, places[:, 1]].mean(dim=0)  # [2]
print("one head has more than 0.8 of its weight on who, one on what:", bool(on_who.max() > 0.8 < on_what.max()))
print("they are two different heads:                               ", bool(on_who.argmax() != on_what.argmax()))

# %% [markdown]
# Nobody told a head what to look at. There is one number to make smaller, the loss, and two questions in it.
#
# **Try it.** With two layers there is more to see. This reader has two layers of two heads, and a second place is asked: the **last noun of
# its clause**, the disguise, has to say whom it is about. It does not know: it has to find the pronoun first, and then the
# noun that goes with it. Choose a layer, a head and a word. (Only the pronoun and the disguise were ever asked anything. What other
# words look at serves these two, or nothing.)

# %%
deep = reader_with(2, layers=2)
LOOKERS = ("the pronoun", "the disguise", "the first noun", "the second noun")


def looked(layer, word, tale):
    """The words of a tale, the place of the word that looks, and its weights in that layer, [heads, N]."""
    n = int(tale)
    with torch.no_grad():
        weights = deep(examples[n : n + 1])[2][int(layer) - 1]  # [1, heads, N, N]
    words = [pronouns.WORDS[index] for index in examples[n]]
    first = 1 if words[0] == "the" else 7  # where the noun of the main clause stands
    place = dict(zip(LOOKERS, (*example_places[n].tolist(), first, first + 5)))[word]
    return words, place, weights[0, :, place]


def draw_heads(layer, head, word, tale):
    words, place, rows = looked(layer, word, tale)
    figure, (axes,) = pictures.canvas(10.5, 3.1)
    colours = [pictures.QUERY if n == place else pictures.WEIGHTS for n in range(len(words))]
    title = f"layer {layer:.0f}, head {head:.0f}: where “{words[place]}” looks"
    return pictures.bars(rows[int(head) - 1], words, colour=colours, limits=(0, 1.15), title=title, axes=axes)


def say_heads(layer, head, word, tale):
    words, place, rows = looked(layer, word, tale)
    weight, most = rows[int(head) - 1].max(dim=0)
    where = f"layer {layer:.0f}, head {head:.0f}: “{words[place]}” looks most at “{words[most]}”, with weight {weight:.2f}."
    return f"“{' '.join(words)}”, {where}"


explore(
    draw_heads,
    alt=say_heads,
    layer=Slider("layer", 1, 2, 1, 1),
    head=Slider("head", 1, 2, 1, 1),
    word=Choice("who looks", LOOKERS, LOOKERS[0]),
    tale=Slider("another tale", 0, 39, 0, 1),
)
