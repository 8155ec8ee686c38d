# %% [markdown]
# # 07 · Masking and autoregressive factorisation
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/07_masking.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - build causal masks and padding masks, and combine them, for one head or many, whether True means *may attend* or
#   *must not attend* (PyTorch uses both);
# - apply a mask at the right step, and say what goes wrong at any other;
# - write the probability of a sequence as a product of factors, and compute all factors in one forward pass;
# - compute from gradients which outputs depend on which inputs, and so find a leak of future tokens before it makes the
#   training loss misleading.
#
# **You need** lesson 05 (self-attention, positions), the heads of lesson 06, and cross-attention from lesson 04. From
# lesson 01: $P(y_t \mid y_{<t})$, teacher forcing, and padding in the loss.
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


def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


# %% [markdown]
# ## Why a language model needs a mask
#
# A **language model** reads the beginning of a sentence and predicts how it goes on. Its unit is the **token**: in
# this lesson each word and each full stop is one token, and so are the special tokens *[START]*, *[STOP]* and
# *[PAD]*. Like the decoder of lesson 01, it is trained with **teacher forcing** (Williams and Zipser, 1989): it
# receives the whole correct sentence, and at each **position**, that is, at each index in the sequence, it predicts
# the token that follows.

# %% tags=["fold"]
# @title Draws Figure 1
tokens = ["[START]", "attention", "is", "very", "cool"]
figure = seq2seq.teacher_forcing([*tokens[1:], "[STOP]"], positions=True)
(axes,) = figure.axes
leak = {"arrowstyle": "-|>", "color": plots.VERMILLION, "linewidth": 2, "connectionstyle": "arc3,rad=0.25"}
axes.annotate("", (1.45 * 2 + 0.3, 1.22), (1.45 * 3 + 0.35, 0.3), arrowprops=leak)  # from very to the prediction of very
show(
    figure,
    "Two rows of the same tokens, shifted by one position. Fed in at positions m = 0 to 4: START, attention, is, very, cool. To "
    "predict: attention, is, very, cool, STOP. A thick orange-red arrow leads from the input very, at position 3, back to the prediction at "
    "position 2, which is very.",
)

# %% [markdown]
# **Figure 1.** The input of a language model and its targets. The target at one position is the input at the next
# (dotted arrows). The thick orange-red arrow shows what must not happen: a prediction that reads its own target from
# the input.
#
# The decoder of lesson 01 was an RNN. It read the sentence from left to right, so its hidden state at *is* depended on
# *[START] attention is* and on no later token. Now we replace the RNN by self-attention, which receives all five tokens
# at once and lets each of them **attend** to all five: every output is a weighted mean of all the values. What will
# such a model learn?
#
# At *is* the model has to predict *very*. But *very* is also the input at the next position: the model need only
# attend to it and copy. The loss can fall to almost zero while the model learns nothing about language, and when it
# later has to write a sentence of its own, there is no next token to copy.
#
# Each token may therefore attend to itself and to the tokens before it, but to none after it. This lesson shows how to
# impose this rule on an attention layer, what the rule makes possible, and how to find a **leak**: any path by which
# later tokens still influence an earlier position.
#
# Positions are counted from 0, as always: $x_0$ is *[START]*, and at position $m$ the model reads $x_m$ and has to
# predict $x_{m+1}$.
#
# ## The causal mask
#
# We begin with a single query, that of *is* at position $m = 2$, with random vectors and matrices. The loops are those
# of lesson 05, except that they end at position $m$.

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
# These loops have a different length for each $m$. To handle all queries at once, we compute the full matrix of $N^2$
# scores and then remove those that must not count. Which scores these are is recorded in a **mask**, a matrix of
# booleans; in this course **True means: may attend**. The **causal mask** is True where $n \le m$. Where the mask is
# False, the score is replaced by $-\infty$, whose exponential is 0, so that the attention weight becomes 0 as well
# (Vaswani et al., 2017, section 3.2.3):
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
assert_close(F.scaled_dot_product_attention(Q, K, V, attn_mask=mask), Y)  # torch's own call, given the mask
assert_close(F.scaled_dot_product_attention(Q, K, V, is_causal=True), Y)  # the same, with the causal mask built in

# %% tags=["fold"]
# @title Draws Figure 2
assert_close(Y[m], y_loop)
assert_close(A[m, : m + 1], a_loop)


def panel(M, title, axes, rows=tokens, columns=tokens, **options):
    """A matrix M [len(rows), len(columns)] with slanted column names; a mask is shown by 1 and 0."""
    options = {"numbers": ".0f", **options} if M.dtype == torch.bool else options
    plots.heat_map(M.float(), rows, columns, title=title, axes=axes, **options)
    axes.set_xticks(range(len(columns)), columns, rotation=40, ha="right", rotation_mode="anchor")


PAIRS = {"row_label": "query m", "column_label": "key n"}
KEYS = {"column_label": "key n"}
E = Q @ K.T / math.sqrt(D_Q)  # [N, N]
figure, (left, middle, right) = plots.canvas(12.5, 3.6, 3)
panel(mask, "mask M: 1 = may attend", left, **PAIRS)
panel(E.masked_fill(~mask, -torch.inf), "masked scores", middle, limits=None, **KEYS)
panel(A, "attention weights A", right, **KEYS)
show(
    figure,
    "Left, the causal mask of five tokens: 1 on and below the diagonal, 0 above. Middle, the scores with minus infinity above "
    "the diagonal. Right, the attention weights: zero above the diagonal; the first row has its whole weight on START.",
)


# %% [markdown]
# **Figure 2.** The causal mask, the scores after masking, and the attention weights. Each query spreads its whole
# weight over its own position and the positions before it; every position after it gets exactly 0.
#
# *[START]* can attend only to itself, with a weight of 1, while *cool*, the last token, attends to all positions. Each
# row still sums to 1, because the softmax normalises over the positions that are left. The diagonal is True because the
# token at position $m$ is already known there; the unknown token is the next one, $x_{m+1}$.
#
# **Queries that start later.** When a trained model writes, tokens arrive one at a time. The queries then come only
# from the new tokens and are few, while the keys come from all tokens so far and are many (lesson 08). Here $m$ only
# counts the rows of the mask: if the first new token is at position `offset`, row $m$ belongs to position `offset` $+\,
# m$, and this query attends to the keys with $n \le$ `offset` $+\, m$. The mask therefore consists of the last rows of
# the square mask.
#
# The next cell contains both masks. Later in the lesson, the argument `ahead` of `causal` lets us build a wrong mask on
# purpose.


# %% tags=["nbval-check-output"]
def causal(N, ahead=0):
    """A mask [N, N], True where position m may attend to n: n ≤ m, or up to `ahead` positions further."""
    return torch.ones(N, N, dtype=torch.bool, device=DEVICE).tril(diagonal=ahead)


offset = 3  # two new tokens, at positions 3 and 4, and five keys
later = torch.tensor([[n <= offset + m for n in range(5)] for m in range(2)], device=DEVICE)  # [N_Q, N_X]
assert torch.equal(later, causal(5)[offset:])  # the last two rows of the square mask
for m_new, row in enumerate(later.int().tolist()):
    print(f"query {m_new}, at position {offset + m_new}: {row}")

# %% [markdown]
# ## Autoregressive factorisation
#
# How probable is a sentence? The causal mask lets us compute this in a single forward pass. A **sentence** is $x_1,
# \dots, x_T$, and its last token $x_T$ is *[STOP]*; $x_0$ is *[START]*, which is given. The **chain rule of
# probability** splits the probability of the sentence into factors, whatever the distribution is:
#
# $$P(x_1, \dots, x_T) = \prod_{t=1}^{T} P(x_t \mid x_{<t}),\qquad x_{<t} = x_0, x_1, \dots, x_{t-1}$$
#
# Each factor comes from a distribution over the vocabulary, and such a distribution is what a language model computes.
# A model that predicts each token from the tokens before it is called **autoregressive**. The factor of *[STOP]*
# belongs to the product: without it, we would have the probability that a sentence *begins* in this way, and the
# probabilities of all sentences would not sum to 1.
#
# In floating point, a product of many small factors underflows to 0, so we add logarithms instead: $\log P = \sum_t
# \log P(x_t \mid x_{<t})$. The training loss is the mean of these logarithms with a minus sign. With natural
# logarithms, its unit is the **nat**.
#
# At position $t - 1$ the model has read $x_{<t}$ and predicts $x_t$. With a causal mask **one forward pass** gives all
# $T$ factors, since the output at each position depends only on the tokens up to that position. That is why such models
# train fast: every position of every sentence is a training example, and all of them are computed in parallel. An RNN
# learns from every position too, but it has to compute the positions one after another.
#
# Our model adds a learned positional encoding to the embeddings of its tokens. Two layers of self-attention follow,
# with four heads each (lesson 06), and a linear layer computes the logits. The input of each layer is *added* to its
# result; lesson 09 explains what this **residual connection** is good for. The mask enters in `LanguageModel`, below.
# Its methods `embed` (tokens to vectors) and `run` (vectors through the layers, under a mask) are in a folded cell, as
# is the training: `trained` returns a model and its losses, and `model` has the correct mask. We train on English
# sentences of 3 to 12 tokens from the course's translation data; not every sentence ends with a full stop, but a full
# stop counts as a token.

# %% tags=["fold"]
# @title Defines Layer, Network
HEADS, LONGEST = 4, 12  # LONGEST: words of a sentence
english = vocabulary("english")
V_WORDS = len(english)


class Layer(nn.Module):
    """Self-attention of several heads under a mask, with a residual connection."""

    def __init__(self, width):
        super().__init__()
        self.W_QKV, self.W_O = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, X, mask):
        """X [B, N, D] under a mask [B, 1, N, N] or [N, N] gives [B, N, D]."""
        Q, K, V = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.W_QKV(X).chunk(3, dim=-1))
        Y = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)  # [B, H, N, D_H]
        return X + self.W_O(Y.transpose(1, 2).flatten(2))


class Network(nn.Module):
    """What a language model is made of; with `ahead` other than 0 its mask is to leak."""

    def __init__(self, ahead=0, width=64, depth=2):
        super().__init__()
        self.ahead = ahead
        self.tokens, self.positions = nn.Embedding(V_WORDS, width), nn.Embedding(LONGEST + 2, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.out = nn.Linear(width, V_WORDS)

    def embed(self, x):
        """Tokens x [B, N] give their embeddings with positional encoding, [B, N, D]."""
        return self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))

    def run(self, X, mask):
        """X [B, N, D] through all layers under the mask gives logits [B, N, V]."""
        for layer in self.layers:
            X = layer(X, mask)
        return self.out(X)


# %%
class LanguageModel(Network):
    """Tokens [B, N] give logits [B, N, V] of the token that follows each; with `ahead` other than 0 it leaks."""

    def forward(self, x):
        mask = causal(x.shape[1], self.ahead) & (x != PAD)[:, None]  # [B, N, N]; for [PAD], see the next section
        return self.run(self.embed(x), mask.unsqueeze(-3))  # the heads share the mask: [B, 1, N, N]


def token_loss(model, x):
    """The mean of −log P over the tokens that are to be predicted; x [B, N]."""
    return F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten(), ignore_index=PAD)


# %% tags=["fold"]
# @title Defines padded, trained
def padded(sentences):
    """Sentences as numbers [B, N]: [START], words, [STOP], [PAD]s."""
    rows = [torch.tensor([START, *english.encode(sentence)]) for sentence in sentences]
    return pad_sequence(rows, batch_first=True, padding_value=PAD).to(DEVICE)


SEED = 0
texts = [pair.source for pair in corpus("french", 12000, 3, LONGEST, seed=1)]
known = set(texts)
fresh = padded([pair.source for pair in corpus("french", 600, 3, LONGEST, seed=2) if pair.source not in known][:400])
sentences = padded(texts)  # [12000, N]


def trained(ahead, steps, seed=SEED):
    """A model and the loss at each of its training steps."""
    torch.manual_seed(seed)
    model = LanguageModel(ahead).to(DEVICE)
    drawn = torch.Generator().manual_seed(seed)
    rows = (sentences[torch.randint(len(sentences), (64,), generator=drawn).to(DEVICE)] for _ in range(steps))
    curve = train(model, rows, token_loss, steps=steps, rate=8e-3, what=f"training, {ahead} ahead")
    return model, curve


STEPS = 600
model, curve = trained(0, STEPS)

# %% [markdown]
# We compute all factors of one sentence in two ways: first token by token, where the model receives only the beginning
# of the sentence each time; then all in one forward pass.

# %%
sky = padded([["we", "see", "the", "sky"]])  # [1, 6]: [START] we see the sky [STOP]
T = sky.shape[1] - 1

with torch.no_grad():
    log_loop = torch.zeros(T, device=DEVICE)  # [T]
    for t in range(1, T + 1):
        logits = model(sky[:, :t])[0, -1]  # [V], at the last position; the model is given x_0 … x_{t−1} only
        log_loop[t - 1] = logits.log_softmax(dim=-1)[sky[0, t]]

    log_P = model(sky[:, :-1]).log_softmax(dim=-1)  # [1, T, V]: all positions in one forward pass
    log_factors = log_P.gather(-1, sky[:, 1:, None])[0, :, 0]  # [T]: at each position the token that did follow
    by_torch = -F.cross_entropy(model(sky[:, :-1])[0], sky[0, 1:], reduction="none")  # [T]: torch's own call

# %% tags=["fold"]
# @title Draws Figure 3
assert_close(log_factors, log_loop, rtol=1e-4, atol=1e-4)
assert_close(log_factors, by_torch, rtol=1e-4, atol=1e-4)
told = ["we", "see", "the", "sky", "[STOP]"]
factors = log_factors.exp()  # [T]
figure, (axes,) = plots.canvas(7.5, 3.6)
after = ["[START]", "[START] we", "[START]\nwe see", "[START]\nwe see the", "[START] we\nsee the sky"]
labels = [f"{word}\n\nafter\n{prefix}" for word, prefix in zip(told, after, strict=True)]
plots.bars(factors, labels, title="$P(x_t | x_{<t})$", axes=axes)
show(
    figure,
    "The five factors of START we see the sky STOP: "
    f"{', '.join(f'{word} {value:.2f}' for word, value in zip(told, factors.tolist()))}.",
)
print(f"log P of the sentence, token by token: {log_loop.sum():.2f}, in one forward pass: {log_factors.sum():.2f}")


# %% [markdown]
# **Figure 3.** The probability that the model gives to each token of the sentence, given all the tokens before it. The
# probability of the sentence is the product of these factors.
#
# A small factor need not be a mistake, since many words can begin a sentence and many things can be seen.
#
# **Generating** a sentence works differently from training. To predict $x_t$ the model needs $x_{t-1}$, which is known
# only after it has been chosen. So we run the model, draw the next token from the distribution at the last position,
# append it, and run the model again. Training is parallel, generation is sequential; lesson 08 shows how to speed it
# up. Our model writes:


# %%
@torch.no_grad()
def written(model, rows, seed, at_least=0):
    """`rows` sentences drawn token by token from the model's own distributions, [rows, N]."""
    chance = torch.Generator().manual_seed(seed)
    x = torch.full((rows, 1), START, device=DEVICE)  # [rows, 1]
    ended = torch.zeros(rows, dtype=torch.bool, device=DEVICE)
    for t in range(1, LONGEST + 2):
        logits = model(x)[:, -1]  # [rows, V]
        logits[:, [PAD, START]] = -torch.inf  # never written
        if t <= at_least:
            logits[:, STOP] = -torch.inf
        chosen = torch.multinomial(logits.softmax(dim=-1).cpu(), 1, generator=chance)[:, 0].to(DEVICE)  # [rows]
        x = torch.cat([x, chosen.masked_fill(ended, PAD)[:, None]], dim=1)  # [rows, t + 1]
        ended = ended | (chosen == STOP)
    return x


for row in written(model, 5, seed=1):
    print(" ".join(english.decode(row)))


# %% [markdown]
# **Not only sentences.** Nothing in the chain rule asks for words. An image can be written as a sequence of pixels, row
# by row, and a triangle mesh, the usual form of a shape in computer graphics, as a sequence of triangles. Two choices
# have to be made. The first is an order: the chain rule holds for any, as long as the model keeps to it, though some
# orders are easier to learn than others. The second, for a softmax over tokens like ours, is a finite vocabulary, such
# as the grey values of pixels; MeshGPT (Siddiqui et al., 2024) learns a vocabulary for its triangles. The mask, the
# loss and the way of generating stay as they are. Lesson 12 writes digits in this way, pixel by pixel.

# %% [markdown]
# ## Padding masks
#
# A batch is a rectangular tensor, but sentences differ in length. Shorter sentences are filled up with the token
# *[PAD]*. The loss leaves this **padding** out (lesson 01), and attention must leave it out too: no query may attend to
# a *[PAD]*. The **padding mask** expresses this rule. It depends on the length of the sentence but not on the query, so
# one row for each sentence is enough: the mask has the shape $[B, 1, N]$, and broadcasting repeats its row for all
# queries. In our language model it was `(x != PAD)[:, None]`; here it is built from the lengths. Our batch has two
# sentences, *[START] attention is very cool* and *[START] we sleep*, of lengths 5 and 3.


# %%
def no_padding(lengths, N):
    """A mask [B, 1, N], True at the first lengths[b] positions of sentence b."""
    return (torch.arange(N, device=DEVICE) < lengths[:, None])[:, None]  # [B, N], and an axis for the queries


lengths = torch.tensor([5, 3], device=DEVICE)  # [B]
padding = no_padding(lengths, N)  # [B, 1, N]
both = causal(N) & padding  # [N, N] and [B, 1, N] give [B, N, N]

# %% tags=["fold"]
# @title Draws Figure 4
second = ["[START]", "we", "sleep", "[PAD]", "[PAD]"]
prefix = causal(N) | (torch.arange(N, device=DEVICE) < 3)  # N_P = 3
figure, panels = plots.canvas(14, 3.3, 4)
panel(causal(N), "causal mask", panels[0], second, second, **PAIRS)
panel(padding.expand(2, N, N)[1], "padding mask", panels[1], second, second, **KEYS)
panel(both[1], "both: causal & padding", panels[2], second, second, **KEYS)
panel(prefix, "prefix mask, $N_P = 3$", panels[3], **KEYS)
show(
    figure,
    "Three masks for the sentence START we sleep PAD PAD. Causal mask: 1 on and below the diagonal. Padding mask: 1 in the first "
    "three columns, 0 in the last two, for all rows. Both: 1 where both are 1. Right, a prefix mask for the longer sentence: 1 on "
    "and below the diagonal, and in all rows of the first three columns.",
)

# %% [markdown]
# **Figure 4.** The causal mask, the padding mask and their combination for the shorter sentence. The causal mask
# removes the keys after each query; the padding mask removes the columns of the *[PAD]* tokens, whatever the query.
# Right, for the longer sentence, a prefix mask, which the end of this section explains.
#
# Both conditions must hold. Since True means *may attend*, we combine the two masks with `&`; if True meant *must not
# attend*, it would be `|`.
#
# The padding mask removes *columns*, not *rows*: the *[PAD]* tokens still have queries and outputs. These outputs are
# meaningless, but nothing reads them, since no query of the next layer attends to these positions and the loss leaves
# them out.
#
# Our sentences are padded at the end. With the causal mask in place, does the padding mask change the output of any
# real token? Think before you look at the numbers, which compare the outputs of *[START] we sleep* in the padded batch
# with those of the sentence alone.

# %%
X_batch = normal(2, N, D)  # [B, N, D]; whatever stands at [PAD], it is a vector like any other
Q_b, K_b, V_b = X_batch @ W_Q, X_batch @ W_K, X_batch @ W_V  # [B, N, D_Q], [B, N, D_Q], [B, N, D_V]


def change(mask, mask_alone):
    """How much the outputs of the second sentence's three tokens differ between the batch and the sentence alone."""
    Y_batch, _ = attend(Q_b, K_b, V_b, mask)  # [B, N, D_V]; the mask broadcasts to [B, N, N]
    Y_alone, _ = attend(Q_b[1, :3], K_b[1, :3], V_b[1, :3], mask_alone)  # [3, D_V]
    return (Y_batch[1, :3] - Y_alone).abs().max().item()


# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
everything = torch.ones(3, 3, dtype=torch.bool, device=DEVICE)
changes = {
    "causal and padding mask": change(both, causal(3)),
    "causal mask alone": change(causal(N), causal(3)),
    "padding mask alone": change(padding, everything),
    "no mask": change(torch.ones_like(both), everything),
}
assert max(list(changes.values())[:3]) < 1e-5 < 0.1 < changes["no mask"]
print("largest change of an output by the padding")
for name, value in changes.items():
    print(f"{name:>24}: {value:.2f}")


# %% [markdown]
# With the causal mask, adding the padding mask changes nothing for a real token: the padding comes last, and the causal
# mask already hides whatever comes later. The padding mask is needed in two other cases. The first is **bidirectional**
# attention, which encoders use: it has no causal mask, and every token attends to the tokens on both sides of it.
# Without a mask, the padding then changes the outputs of real tokens, as the last line shows. The second is **left
# padding**. When several prompts are continued in one batch, the padding is put at their beginning, so that their last
# tokens line up. This brings two new difficulties: it shifts the positions of the real tokens (see the pitfalls), and
# it produces rows with nothing to attend to, the subject of a section below.
#
# **Cross-attention.** When the words of a translation attend to the source sentence (lesson 04), the keys are those of
# the source, and so the padding mask is made from the lengths of the *source*: `no_padding(source_lengths, N_X)`, of
# shape $[B, 1, N_X]$. A causal mask has no place here, because the whole source is known from the start.
#
# **Prefix masks.** Between causal and bidirectional attention lies the mask of a model whose first $N_P$ tokens are
# given, for instance a question to be answered. These tokens, the **prefix**, attend to each other in both
# directions, and all later tokens attend causally: the mask is True where $n \le m$ or $n < N_P$, in code `causal(N)
# | (torch.arange(N, device=DEVICE) < N_P)` (Figure 4, right; Raffel et al., 2020, section 3.2.1). The loss must then
# leave out the tokens of the prefix, because the positions that would predict them can see them.
#
# ## Masking before the softmax
#
# Why do we replace *scores* by $-\infty$ when all we want is for some attention *weights* to be 0? Could we not set
# those weights to 0 directly, or set their scores to 0? The next cell defines four ways to mask one row of scores $e$,
# with `allowed` as the row of the mask. We try each of them on the row of *is* and print three numbers: the sum of the
# row, the weight of the future positions, and the derivative of the weight of *[START]* with respect to the *score* of
# a future position, which should be 0.


# %%
def before(e, allowed):
    return e.masked_fill(~allowed, -torch.inf).softmax(dim=-1)


def after(e, allowed):
    return e.softmax(dim=-1) * allowed


def after_and_rescaled(e, allowed):
    a = e.softmax(dim=-1) * allowed
    return a / a.sum(dim=-1, keepdim=True)


def scores_to_zero(e, allowed):
    return (e * allowed).softmax(dim=-1)


# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
print(f"{'':>18}  sum of the row  weight on the future  derivative by a future score")
for way in (before, after, after_and_rescaled, scores_to_zero):
    e = E[2].detach().cpu().requires_grad_()  # [N]
    a = way(e, mask[2].cpu())  # [N]
    (slope,) = torch.autograd.grad(a[0], e)  # [N]: how the weight of [START] follows each score
    print(f"{way.__name__:>18} {a.sum():>15.2f} {a[3:].sum():>20.2f} {slope[3:].abs().max():>29.3f}")

e = E[2].cpu().clone()  # [N]
e[3] += 200  # the token "very", to which "is" must not attend
print("\nweights, after the score of a masked token has grown by 200")
for way in (before, after_and_rescaled):
    print(f"{way.__name__:>18}:", *(f"{weight:.2f}" for weight in way(e, mask[2].cpu())))

# %% [markdown]
# - **before** is correct. The row sums to 1, and the future has neither weight nor influence.
# - **after** is wrong. The future positions get no weight, but the row no longer sums to 1 (lesson 02). Worse, the
#   softmax has already divided by the sum of the exponentials of *all* scores. A masked token with a high score takes
#   weight away from the others: the future leaks through the denominator.
# - **after_and_rescaled** is correct in exact arithmetic. The wrong denominator, call it $Z$, divides each weight and
#   also the sum by which we rescale, so it cancels: $\frac{\exp(e_n) / Z}{\sum_k \exp(e_k) / Z} =
#   \frac{\exp(e_n)}{\sum_k \exp(e_k)}$, where $k$ runs over the allowed positions.
# - **scores_to_zero** is wrong. A score of 0 does not give a weight of 0, since $\exp(0) = 1$: the masked tokens still
#   get weight, and their *values* enter the output.
#
# In floating point, rescaling is not as good as $-\infty$. In the last two lines the masked token *very* has a score
# about 200 above the others. The softmax gives the allowed tokens weights of about $e^{-200}$, which single precision
# rounds to 0, and rescaling computes $0/0$, which is NaN ("not a number"). So we fill in **$-\infty$ before the
# softmax.**
#
# You will often see a large negative number such as $-10^9$ instead of $-\infty$. As long as a row has an allowed
# position whose score is far above this number, the weights are the same. But half precision (float16) cannot hold it,
# so that `masked_fill` raises an error, and a row that has *no* allowed position comes out differently.
#
# ## Rows with nothing to attend to
#
# Two sentences are to be continued together, and the shorter one gets left padding: *[PAD] [PAD] [START] we sleep*. To
# which positions may the first *[PAD]* attend? The causal mask allows it only its own position, and the padding mask
# forbids every *[PAD]*. Such a row of the mask is called a **fully masked row**.

# %%
real = torch.tensor([False, False, True, True, True], device=DEVICE)  # [N]
empty = causal(N) & real  # [N, N]
_, A_empty = attend(Q, K, V, empty)

# %% tags=["fold"]
# @title Draws Figure 5
first = ["[PAD]", "[PAD]", "[START]", "we", "sleep"]
figure, (left, right) = plots.canvas(9, 3.6, 2)
panel(empty, "causal & padding mask", left, first, first, **PAIRS)
panel(A_empty, "attention weights", right, first, first, **KEYS)
show(
    figure,
    "Left, both masks for PAD PAD START we sleep: the first two rows and columns are zero. Right, the attention weights: the "
    "first two rows are NaN, not a number; the other three sum to one over the tokens up to the query.",
)


# %% [markdown]
# **Figure 5.** The combined mask for a sentence with left padding, and the resulting attention weights. A row of the
# mask without a single True becomes a row of NaN; the other rows are not affected.
#
# A softmax divides a weight of 1 among the allowed positions. In a fully masked row no position is allowed: every
# exponential is 0, and $0/0$ is NaN. What should such a row contain instead? Since a mean of nothing does not exist, we
# agree on a convention: the weights, the output and the gradient are all 0. A second `masked_fill`, after the softmax,
# achieves this and changes nothing in the other rows.
#
# Does the NaN matter at all, if nothing reads the output of a *[PAD]*? It does, because it can reach the gradient. We
# take a loss that reads only the three real tokens, and count the NaN in its gradients for three ways of masking:
# $-\infty$ *filled in* before the softmax; the same with a second fill after it (`masked_softmax`, below); and
# $-\infty$ *added* to the scores, with the second fill. The lines under the table show what three other ways make of
# the row of the first *[PAD]*.


# %%
def masked_softmax(E, mask):
    """Scores E [..., N_Q, N_X] give weights; where mask is False exactly 0, also in rows without any True."""
    return E.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0.0)


# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
def trial(name, weights):
    """Prints the NaN in the gradients of a loss that reads only the three real tokens; the loss itself is finite."""
    matrices = [W.detach().clone().requires_grad_() for W in (W_Q, W_K, W_V)]
    Q, K, V = (X @ W for W in matrices)
    loss = (weights(Q @ K.T / math.sqrt(D_Q)) @ V)[real].square().mean()
    assert loss.isfinite()
    counts = [f"{found.isnan().sum():>2} of {found.numel()}" for found in torch.autograd.grad(loss, matrices)]
    print(f"{name:<26}", *(f"{count:>12}" for count in counts))


bias = torch.zeros_like(E).masked_fill(~empty, -torch.inf)  # [N, N]: 0 where a query may attend, else −∞
print(f"{'NaN in the gradient of':<26}", *(f"{name:>12}" for name in ("W_Q", "W_K", "W_V")))
trial("filled before", lambda E: E.masked_fill(~empty, -torch.inf).softmax(dim=-1))
trial("filled before and after", lambda E: masked_softmax(E, empty))
trial("added before, filled after", lambda E: (E + bias).softmax(dim=-1).masked_fill(~empty, 0.0))
assert masked_softmax(E, empty).sum(dim=-1).allclose(real.float())  # rows sum to 0 or 1

library = nn.MultiheadAttention(D_Q, num_heads=1, batch_first=True).to(DEVICE)
with torch.no_grad():
    by_function = F.scaled_dot_product_attention(Q, K, V, attn_mask=empty)  # [N, D_V]
    by_module, _ = library(Q[None], K[None], K[None], attn_mask=~empty)  # [1, N, D_Q]; why ~, the next section tells
    by_number = (E.masked_fill(~empty, -1e9)).softmax(dim=-1)  # [N, N]
print("\nF.scaled_dot_product_attention, output:", by_function[0].abs().tolist())
print("nn.MultiheadAttention, output:         ", by_module[0, 0].tolist())
print("-1e9 in place of -inf, weights:        ", *(f"{weight:.2f}" for weight in by_number[0].tolist()))

# %% [markdown]
# *Filled before*: the loss is finite, but all of the gradient of $W_V$ is NaN. The backward pass multiplies the weights
# of the *[PAD]* rows, which are NaN, by a gradient of 0, and $\text{NaN} \cdot 0$ is NaN. After one step of training
# all of $W_V$ is NaN, and so is the next loss. *Filled before and after*: these weights are 0, and no NaN is left.
# *Added before, filled after*: the gradients of $W_Q$ and $W_K$ are NaN. With all three ways, the softmax of a fully
# masked row sends NaN back to its *scores*. Where `masked_fill` has overwritten a score, the NaN stops, so the first
# two lines of the table show none for $W_Q$ and $W_K$. Where $-\infty$ was added to the score, the NaN passes on to
# them.
#
# PyTorch's function, its module and the large negative number give three different answers. The function gives 0, and
# the module gives NaN. The number $-10^9$ gives no NaN, but its result is wrong: all scores of the row are equal, so
# the *[PAD]*, which may attend to nothing, attends *evenly to all positions*, even to later ones, without a warning.
#
# Fully masked rows are not rare: they arise from left padding, and from empty sentences that fill up a batch.
#
# <details><summary>Going further: where these NaN entries come from, and why −∞ is filled in and not added</summary>
#
# In the backward pass, the gradient of each value is a sum over the queries: attention weight times the gradient of
# that query's output. As the loss becomes NaN only one step later, one looks for the mistake in the wrong place.
#
# PyTorch's module gives NaN when it also returns the attention weights, as it does by default. With
# `need_weights=False` it calls the function instead, which gives 0, and the output is then the bias of the module's
# last linear layer, which is 0 before training. In eval mode and without gradients, however, a module with
# `batch_first=True` and an even number of heads takes a fast path for self-attention, which gives NaN. We measured all
# of this with torch 2.13 on a CPU; before version 2.5 the function gave NaN as well.
#
# </details>
#
# ## Masks and heads
#
# With $H$ heads (lesson 06) the scores have the shape $[B, H, N, N]$. All heads of a sentence share its mask, so the
# mask $[B, N, N]$ needs an axis of size 1 for the heads: `mask.unsqueeze(-3)` has the shape $[B, 1, N, N]$. What
# happens if we forget this axis? Broadcasting aligns shapes at the right, so the $B$ of the mask meets the $H$ of the
# scores.

# %%
real_3 = no_padding(torch.tensor([5, 2, 4], device=DEVICE), N)  # [B, 1, N], B = 3
mask_3 = real_3.expand(3, N, N)  # [B, N, N]: an encoder's mask, without a causal one
heads = normal(3, 3, N, D_Q)  # [B, H, N, D_H], H = 3
right = F.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask_3.unsqueeze(-3))  # mask [B, 1, N, N]
wrong = F.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask_3)  # [B, N, N] is read as [1, H, N, N]

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
try:
    F.scaled_dot_product_attention(*[heads[:, :2]] * 3, attn_mask=mask_3)
except RuntimeError:
    print("B = 3, H = 2: an error, since 3 and 2 do not fit")
print("B = 3, H = 3: no error; largest difference of a real token's output from the right one:")
apart = (wrong - right).abs().amax(dim=-1) * real_3  # [B, H, N], 0 at the padding
assert ((apart.amax(dim=-1) > 0.1) == ~torch.eye(3, dtype=torch.bool, device=DEVICE)).all()
for b, row in enumerate(apart.amax(dim=-1).tolist()):
    print(f"  sentence {b}:", *(f"head {h}: {value:.2f}" for h, value in enumerate(row)), sep="  ")

# %% [markdown]
# With two heads we get an error. With three we get none: head 0 of *every* sentence uses the mask of sentence 0, head 1
# that of sentence 1, and so on. The outputs of the real tokens are right only on the diagonal of the table, where head
# and sentence have the same number. So always test with $B \ne H$, both greater than 1; the mistake then raises an
# error.
#
# **Two polarities.** PyTorch offers attention as a function and as a module, and a boolean mask means opposite things
# in the two. This is called the **polarity** of the mask:
#
# | | True means | shape of the mask |
# |---|---|---|
# | `F.scaled_dot_product_attention(attn_mask=)` | may attend | broadcasts to $[B, H, N_Q, N_X]$ |
# | `nn.MultiheadAttention(attn_mask=)` | must **not** attend | $[N_Q, N_X]$ or $[B \cdot H, N_Q, N_X]$ |
# | `nn.MultiheadAttention(key_padding_mask=)` | is padding, must **not** be attended to | $[B, N_X]$ |
#
# What happens if you mix up the two polarities? A folded cell of the previous section built `library =
# nn.MultiheadAttention(D_Q, num_heads=1, batch_first=True)`. It takes vectors of $D_Q = 4$ features, so `rows` keeps
# the first four of each input. We give it the causal mask once with `~`, together with the padding mask, and once
# without `~`. For each query of the first sentence, which has no padding, we print the sum of its weights on later
# positions.

# %% tags=["nbval-check-output"]
rows = X_batch[..., :D_Q]  # [B, N, D_Q]
_, right_way = library(rows, rows, rows, attn_mask=~causal(N), key_padding_mask=~padding[:, 0])  # weights [B, N, N]
_, wrong_way = library(rows, rows, rows, attn_mask=causal(N))
assert_close(right_way, library(rows, rows, rows, attn_mask=(~both))[1])  # H = 1: [B·H, N, N] is [B, N, N]

print("weight of each query on its future")
for name, way in (("with ~", right_way), ("without", wrong_way)):
    print(f"{name:>9}:", *(f"{value:.2f}" for value in (way[0] * ~causal(N)).sum(dim=-1).tolist()))

# %% [markdown]
# The module does not complain about the wrong polarity, but each query attends to exactly the tokens to which it must
# not attend. Every query that has a future puts its whole weight on it; the last query has none, so its row is fully
# masked and becomes NaN.
#
# A mask of *floats* means the same in both: it is added to the scores, so that 0 leaves a score as it is and $-\infty$
# removes it. For this reason `mask.float()`, which is 1 where a query may attend and 0 where it may not, removes
# nothing.
#
# **`is_causal`.** With this flag we need not build the mask. But it puts query 0 at position 0, so that the triangle
# begins at the top left, whatever the numbers of queries and keys. We try it with one new token and five keys:

# %% tags=["nbval-check-output"]
newest = Q[4:]  # [1, D_Q], the query of "cool", the last token
I = torch.eye(N, device=DEVICE)  # with these values the output is the weights
by_flag = F.scaled_dot_product_attention(newest, K, I, is_causal=True)  # [1, N]
by_mask = F.scaled_dot_product_attention(newest, K, I, attn_mask=causal(N)[4:])  # [1, N]
assert_close(by_mask[0], A[4])
print("weights with is_causal=True:       ", *(f"{weight:.2f}" for weight in by_flag[0].tolist()))
print("weights with a mask with offset 4: ", *(f"{weight:.2f}" for weight in by_mask[0].tolist()))

# %% [markdown]
# With the flag the newest token attends to the first token alone, without an error. When queries and keys differ in
# number, build the mask with its offset. In `nn.MultiheadAttention` the flag is only a hint, and the module needs the
# mask all the same.

# %% [markdown]
# ## A leak makes the loss misleading
#
# Now we make a mistake on purpose. We train a second language model whose mask is off by one: with `ahead=1` each
# position attends to one position too many. Sentences, number of steps and seed are the same. Its training loss will
# look splendid. Before you read on: will its loss on **new** sentences reveal the leak? And what will it write?

# %%
leaking, curve_leaking = trained(1, STEPS)

# %% tags=["fold"]
# @title Draws Figure 6
smooth = {
    name: [sum(losses[i : i + 20]) / 20 for i in range(0, STEPS, 20)]
    for name, losses in (("causal", curve), ("off by one", curve_leaking))
}
assert smooth["off by one"][-1] < 0.05 < 1 < smooth["causal"][-1]
SHADES = {"causal": plots.BLUE, "off by one": plots.VERMILLION}  # in every figure
uniform = math.log(V_WORDS)  # the loss of a model that gives every token the same probability

figure, (axes,) = plots.canvas(7, 3.4)
plain = dict.fromkeys(smooth, "-")
plots.curves(
    range(20, STEPS + 1, 20),
    smooth,
    styles=plain,
    colours=SHADES,
    x_label="training step",
    y_label="mean −log P per token",
    axes=axes,
)
plots.level(axes, uniform, "uniform distribution: log V")
axes.set_ylim(-0.1, uniform + 0.6)
show(
    figure,
    "Training loss over the steps. "
    + " ".join(f"{name}: from {line[0]:.2f} to {line[-1]:.2f}." for name, line in smooth.items()),
)


# %% [markdown]
# **Figure 6.** Training loss, in nats and averaged over 20 steps, with the causal mask and with the mask that is off by
# one. The loss of the second model falls to almost zero, because nearly every target is among its inputs and can be
# copied. The dotted line is the loss of a model that gives each of the $V$ tokens in the vocabulary the same
# probability.
#
# To see what this loss is worth, we evaluate the model **token by token**: we give it the beginning $x_{<t}$ and
# *nothing else*, as in generation, and ask for $x_t$. With a correct mask this makes no difference, because the later
# tokens are masked in any case.


# %%
@torch.no_grad()
def token_by_token(model, x):
    """The mean of −log P over the tokens of x [B, N], each predicted from the tokens before it alone."""
    total = 0.0
    for t in range(1, x.shape[1]):
        there = x[:, t] != PAD  # [B]
        logits = model(x[there, :t])[:, -1]  # [b, V]
        total += F.cross_entropy(logits, x[there, t], reduction="sum").item()
    return total / (x[:, 1:] != PAD).sum().item()


# %% tags=["fold"]
# @title Draws Figure 7
with torch.no_grad():
    in_parallel = {"causal": token_loss(model, fresh).item(), "off by one": token_loss(leaking, fresh).item()}
alone = {"causal": token_by_token(model, fresh), "off by one": token_by_token(leaking, fresh)}
assert abs(alone["causal"] - in_parallel["causal"]) < 1e-3 and 1 < alone["causal"] < 2.5
assert in_parallel["off by one"] < 0.05 and alone["off by one"] > uniform
assert alone["off by one"] - in_parallel["off by one"] > 5

figure, panels = plots.canvas(9.5, 3.3, 2, sharey=True)
colours = list(SHADES.values())
for axes, values, title in zip(panels, (in_parallel, alone), ("one forward pass", "token by token"), strict=True):
    plots.bars(list(values.values()), list(values), title=f"new sentences, {title}", colour=colours, axes=axes)
    plots.level(axes, uniform, "uniform: log V", at=0.02)
panels[0].set(ylabel="mean −log P per token", ylim=(0, 1.15 * max(alone.values())))
show(
    figure,
    f"Loss on new sentences. One forward pass: causal {in_parallel['causal']:.2f}, off by one {in_parallel['off by one']:.2f}. "
    f"Token by token: causal {alone['causal']:.2f}, off by one {alone['off by one']:.2f}, far above the uniform {uniform:.2f}.",
)

# %% [markdown]
# **Figure 7.** Loss on new sentences, in one forward pass as in training, and token by token as in generation. The
# dotted line is again the uniform distribution.
#
# The usual check compares the training loss with the loss on new sentences, and it does **not** reveal the leak. The
# model reads the new sentences with the same mask, copying works on them just as well, and the two losses are equally
# low. Only the size of the loss is suspicious, since no honest model can predict these sentences almost perfectly. For
# generation, the loss that counts is the one measured token by token. The leaking model has learned to be certain, and
# now it is certain of wrong tokens.
#
# What does it write? The grammar that generates our sentences (lesson 01) is simple, and a simple measure of the
# model's text is enough. We let the model write 300 sentences of at least three tokens and take all pairs of
# neighbouring tokens in them, with *[START]* but without *[STOP]*. A pair is *known* if it occurs somewhere in the
# 12,000 training sentences, and we measure the share of known pairs.

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
for row in written(leaking, 5, seed=1):
    print(" ".join(english.decode(row)) or "(nothing: it stops at once)")


def pairs_of(rows):
    """All pairs of neighbouring words, with [START] and without [STOP] and [PAD]."""
    return [(a, b) for row in rows.tolist() for a, b in zip(row, row[1:]) if b not in (PAD, STOP)]


seen_pairs = set(pairs_of(sentences))


def share(model):
    """Of the pairs in 300 written sentences of at least three words, the share that occurs in training."""
    found = pairs_of(written(model, 300, seed=2, at_least=3))
    return sum(pair in seen_pairs for pair in found) / len(found)


shares = {"causal": share(model), "off by one": share(leaking)}
assert shares["causal"] > 0.9 and shares["off by one"] < 0.4
print("\nshare of known pairs:", ", ".join(f"{name} {value:.2f}" for name, value in shares.items()))

# %% [markdown]
# The leaking model cannot write: it has learned to copy, and during generation there is no next token to copy. Probably
# it copies the newest token that it can find, the one just written.
#
# **Is this a matter of one seed?** In a stored run we trained both models with each of five seeds, and for twice as
# many steps; `COURSE_FULL=1` repeats it.

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
if stored_runs.full():
    begun = time.perf_counter()
    lies = []  # for each seed and each mask: loss of one forward pass, loss token by token, share of known pairs
    for seed in range(5):
        pair = [trained(ahead, 2 * STEPS, seed)[0] for ahead in (0, 1)]
        with torch.no_grad():
            lies.append([[token_loss(one, fresh).item(), token_by_token(one, fresh), share(one)] for one in pair])
    results = {"lies": lies, "steps": 2 * STEPS}
    stored_runs.keep("07_masking", results, seed="0 to 4", seconds=time.perf_counter() - begun)
record = stored_runs.load("07_masking")
print(stored_runs.how(record))

heading = ("one pass", "token by token", "known pairs")
print(f"{'':>19}", *(f"{name:>16}" for name in heading))
for seed, pair in enumerate(record["results"]["lies"]):
    for name, (in_one_pass, really, known_pairs) in zip(SHADES, pair, strict=True):
        print(f"seed {seed}, {name:>10}: {in_one_pass:>16.4f} {really:>16.2f} {known_pairs:>16.2f}")
gaps = [really - in_one_pass for _, (in_one_pass, really, _) in record["results"]["lies"]]  # of the leaking models
assert min(gaps) > 5
print(f"difference of the two losses of a leaking model: at least {min(gaps):.1f} nats per token")


# %% [markdown]
# The result is the same with all five seeds. Each leaking model looks almost perfect in one forward pass; token by
# token, its loss is far above $\log V \approx 4.7$, that of the uniform distribution. Training for twice as long has
# not helped.
#
# **Leaks in published code.** Experts make such mistakes too. In 2022 a user of GPT-2 in the library `transformers`
# reported a "perfect training and evaluation loss, but terrible test-time performance". Masking filled in the finite
# number $-10^4$, but in training some scores had fallen below it, which left the masked tokens with the higher scores
# and gave them the weight. In 2026 four other decoders of this library were found to attend to all tokens, and the
# report says of one of them that "the loss fell to almost zero within a few hundred steps on random tokens". A test
# finds such faults: change the later tokens and demand that the earlier outputs stay as they are, before training and
# again after it.

# %% [markdown]
# ## What an output depends on
#
# Could such a leak be found without training? A mask says to which positions a query may *attend*. What ultimately
# matters is on which inputs an output *depends*. In a network of several layers the mask does not show this at a
# glance, and other operations may mix positions too, but we can compute it from derivatives.
#
# A layer turns $X\,[N_{in}, D]$ into $Y\,[N_{out}, D_{out}]$. The matrix of the derivatives of all numbers in $Y$ with
# respect to all numbers in $X$ is called the **Jacobian**. It has one block for each pair of an output position $m$ and
# an input position $n$, and if any number in the block is not 0, output $m$ depends on input $n$.
#
# One backward pass computes the derivatives of *one* number with respect to all inputs. To make do with **one backward
# pass for each output position**, we take a weighted sum of the features of $y_m$, with random weights $r\,[D_{out}]$,
# compute the gradient of this sum, and add up the absolute values of its entries over the $D$ features of each input:
#
# $$J_{mn} = \sum_{d=1}^{D} \left| \frac{\partial\, (r \cdot y_m)}{\partial X_{nd}} \right|$$
#
# Then $J\,[N_{out}, N_{in}]$ is 0 where output $m$ does not depend on input $n$. Elsewhere the size of $J_{mn}$ depends
# on $r$ as well, and we therefore ask only whether it is 0. The absolute values and the random weights keep derivatives
# from cancelling each other. A folded cell checks that they do: it compares $J$ with the whole Jacobian, for which
# PyTorch needs one backward pass for each number in $Y$, and with the result of a plain sum of the features, $r = 1$.


# %%
def dependence(layer, X):
    """J [N_out, N_in] of a layer that turns X [N_in, D] into Y [N_out, D_out]."""
    X = X.clone().requires_grad_()
    Y = layer(X)  # [N_out, D_out]
    r = normal(Y.shape[1])  # [D_out]
    J = torch.zeros(len(Y), len(X), device=DEVICE)
    for m in range(len(Y)):  # one backward pass for each output position
        (gradient,) = torch.autograd.grad(r @ Y[m], X, retain_graph=True)  # [N_in, D]
        J[m] = gradient.abs().sum(dim=-1)  # over the features of each input
    return J


def layer_with(mask, W_Q, W_K, W_V):
    """Self-attention under this mask, as a function of X [N, D] alone."""
    return lambda X: F.scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V, attn_mask=mask)


# %% tags=["fold", "nbval-check-output"] label="prints the table below"
# @title Prints the table below
layer = layer_with(mask, W_Q, W_K, W_V)


def through_softmax(X):
    """The same layer, with a softmax over the features of each output."""
    return layer(X).softmax(dim=-1)


print("pairs (m, n) with a derivative other than 0")
print(f"{'':>24}  whole Jacobian  random r  r = 1")
for name, tried in (("attention, causal mask", layer), ("the same, then a softmax", through_softmax)):
    blocks = torch.autograd.functional.jacobian(tried, X)  # [N, D_V, N, D]
    whole = blocks.abs().sum(dim=(1, 3)) > 1e-6  # [N, N]
    plain = blocks.sum(dim=1).abs().sum(dim=2) > 1e-6  # [N, N]: the features of each output summed first
    mixed = dependence(tried, X) > 1e-6
    assert torch.equal(whole, mixed) and torch.equal(whole, mask)
    print(f"{name:>24}  {whole.sum():>14} {mixed.sum():>9} {plain.sum():>6}")

# %% [markdown]
# The random weights find all pairs of the Jacobian, here the pairs of query and key that the causal mask allows. Where
# a softmax over the features of each output follows, the plain sum misses all of them, because these features then sum
# to 1 whatever the input.
#
# <details><summary>Going further: how derivatives cancel</summary>
#
# Derivatives with respect to different input features can have different signs and add up to 0. The same can happen
# when we add up the derivatives of different output features. A softmax is a clear case: its outputs sum to 1 whatever
# the input, so the derivative of their plain sum is always 0. Random weights would make the derivatives cancel only by
# a rare coincidence. Because of rounding, a derivative that should be 0 may come out as a tiny number, so the table
# counts only derivatives above a small bound.
#
# </details>
#
# **Compare with the mask.** We look at three masks: the causal mask; the mask that is off by one; and a window, in
# which each token attends to itself and to the token before it. The upper row of panels shows $J$ for one layer, the
# lower row for two such layers on top of each other. Cover the lower row with your hand: what do you expect there?

# %%
masks = {
    "causal": causal(N),
    "off by one": causal(N, 1),
    "window of two": causal(N) & ~causal(N, -2),
}
one, two = ([normal(D, D) / 2 for _ in range(3)] for _ in range(2))  # W_Q, W_K, W_V of the first and the second layer


def stacked(mask):
    """Two layers under the same mask."""
    return lambda X: layer_with(mask, *two)(layer_with(mask, *one)(X))


# %% tags=["fold", "nbval-check-output"]
# @title Draws Figure 8
J_one = {name: dependence(layer_with(allowed, *one), X) for name, allowed in masks.items()}  # [N, N] each
J_two = {name: dependence(stacked(allowed), X) for name, allowed in masks.items()}
for J in (*J_one.values(), *J_two.values()):
    assert ((J == 0) | (J > 1e-6)).all()  # exactly 0, or clearly not
OUTPUTS, INPUTS = {"row_label": "output m"}, {"column_label": "input n"}
for depth, found, alt in (
    (
        "one layer",
        J_one,
        "One layer. Causal: above the diagonal nothing. Off by one: ones on the first line above the diagonal too. "
        "Window of two: only on the diagonal and the line below it.",
    ),
    (
        "two layers",
        J_two,
        "Two layers. Causal: still nothing above the diagonal. Off by one: ones on the first two lines above the "
        "diagonal. Window of two: on the diagonal and the two lines below it.",
    ),
):
    figure, panels = plots.canvas(13.5, 3.5, 3)
    for number, (axes, (name, J)) in enumerate(zip(panels, found.items(), strict=True)):
        options = INPUTS if number else OUTPUTS | INPUTS
        panel(J > 1e-6, f"{name}: {depth}", axes, least=1, **options)
    show(figure, alt)


def reach(J):
    """How many positions after its own, and how many before, an output depends on at most."""
    outputs, inputs = (J > 1e-6).nonzero(as_tuple=True)
    return (inputs - outputs).max().item(), (outputs - inputs).max().item()


for name in masks:
    (ahead, back), (ahead_2, back_2) = reach(J_one[name]), reach(J_two[name])
    print(f"{name:>13}: one layer {ahead} ahead, {back} back; two layers {ahead_2} ahead, {back_2} back")


# %% [markdown]
# **Figure 8.** On which inputs each output depends, after one layer (upper row) and after two (lower row): 1 where
# $J_{mn}$ is not 0. In the dark cells $J$ is exactly 0.
#
# - **The causal mask** stays causal, however many layers we stack, because each output combines only outputs of the
#   layer below at the same or earlier positions, and these depend on nothing later.
# - **The mask that is off by one** gets worse with depth: each further layer reaches one position further ahead.
# - **The window** grows wider with depth. The inputs on which an output depends are its **receptive field**, as in
#   lesson 03; with enough layers it contains all earlier positions. Attention in a window (lesson 08) relies on this
#   growth.
#
# **Try it.** Set a mask yourself: each button stands for a query (row) and a key (column), and 1 means *may attend*.
# The explorer starts with the causal mask and one wrong entry, at the top right: *[START]* may attend to *cool*. Which
# outputs depend on *cool* now, after one layer and after two?


# %% tags=["fold"]
# @title Explorer of Figure 9
def painted_figure(painted):
    allowed = torch.tensor(painted, device=DEVICE)  # [N, N]
    A = masked_softmax((X @ one[0]) @ (X @ one[1]).T / math.sqrt(D), allowed)  # [N, N]
    figure, panels = plots.canvas(13, 3.9, 4, sharey=True)
    panel(allowed, "mask", panels[0], row_label="query or output m", column_label="key n")
    panel(A, "weights, first layer", panels[1], **KEYS)
    panel(dependence(layer_with(allowed, *one), X) > 1e-6, "depends on, one layer", panels[2], **INPUTS)
    panel(dependence(stacked(allowed), X) > 1e-6, "depends on, two layers", panels[3], **INPUTS)
    return figure


def in_words(J):
    """Which outputs depend on a token that stands after them."""
    leaks = (J > 1e-6).triu(diagonal=1)  # [N, N]
    told = []
    for token, row in zip(tokens, leaks, strict=True):
        later = [tokens[n] for n in row.nonzero()[:, 0]]
        told += [f"{token} on {', '.join(later)}"] if later else []
    return "; ".join(told) or "none"


def counted(J):
    """On how many tokens each output depends."""
    return ", ".join(f"{token} {count}" for token, count in zip(tokens, (J > 1e-6).sum(dim=1).tolist(), strict=True))


def painted_words(painted):
    allowed = torch.tensor(painted, device=DEVICE)  # [N, N]
    once, twice = dependence(layer_with(allowed, *one), X), dependence(stacked(allowed), X)
    nothing = [token for token, row in zip(tokens, allowed, strict=True) if not row.any()]
    return (
        f"The mask allows {allowed.sum()} of {N * N} pairs of query and key. Number of tokens on which each output depends: after "
        f"one layer {counted(once)}; after two {counted(twice)}. Which outputs depend on a later token? "
        f"After one layer: {in_words(once)}. After two layers: {in_words(twice)}."
        + (f" Nothing to attend to, so weights and output are 0: {', '.join(nothing)}." if nothing else "")
    )


one_wrong = causal(N)
one_wrong[0, -1] = True  # [START] may attend to the last token
explore(
    painted_figure,
    alt=painted_words,
    painted=Grid("query m (rows) → key n (columns)", tokens, tokens, one_wrong.tolist()),
)

# %% [markdown]
# **Figure 9.** The mask that you set, the attention weights of the first layer, and the inputs on which each output
# depends after one layer and after two. Any 1 above the diagonal in the two panels on the right is a leak. Output $m$
# can depend on input $m$ even where position $m$ may not attend to itself, because its query is made from $x_m$.

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
single = causal(N)
single[0, 4] = True  # [START] may attend to "cool"
print("outputs that depend on a later token")
print("one layer: ", in_words(dependence(layer_with(single, *one), X)))
print("two layers:", in_words(dependence(stacked(single), X)))


# %% [markdown]
# A single wrong entry in the mask is enough to make every output depend on the last token after two layers: in the
# first layer *[START]* attends to the last token, and in the second all tokens attend to *[START]*. The output of
# *[START]* itself depends on all tokens, because in the second layer it attends to *cool*, which has attended to all of
# them in the first. Every position but the last thus depends on a later token, even where its own row of the mask is
# correct.
#
# **Evidence and proof.** A derivative that is not 0 proves that output $m$ depends on input $n$. A derivative that *is*
# 0 at one input proves nothing: a ReLU may happen to be off, or the weights of a saturated softmax may have been
# rounded to 0 and 1. So we try several random inputs, and count a pair as dependent if any of them shows a derivative
# other than 0. The layer `rarely` leaks on purpose: it adds to each output what a ReLU lets through of the next input,
# and it does so only where a feature of that input exceeds 2.5, which is rare. This makes four leaks, one for each
# position but the last. (`roll` gives the last position the first input, which is not in its future.)


# %%
def depends(layer, inputs):
    """[N_out, N_in], True where at one of the inputs [tries, N_in, D] output m depends on input n."""
    return torch.stack([dependence(layer, X) for X in inputs]).amax(dim=0) > 1e-6


def honest(X):
    return layer_with(causal(len(X)), *one)(X)  # [N, D]


def rarely(X):
    """Adds something of the next input, but through a ReLU that is nearly always off."""
    return honest(X) + (X.roll(-1, dims=0) - 2.5).relu()  # [N, D]


# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
many = normal(200, N, D)  # [tries, N, D]
assert torch.equal(depends(honest, many), causal(N))
for tries in (1, 10, 200):
    leaks = depends(rarely, many[:tries]) & ~causal(N)  # [N, N]: dependences that the mask does not allow
    print(f"{tries:>3} random {'input: ' if tries == 1 else 'inputs:'} {leaks.sum()} of {N - 1} leaks found")


# %% [markdown]
# A leak is a dependence that the causal mask does not allow, `depends(layer, inputs) & ~causal(N)`. The four leaks of
# `rarely` are open at only a few inputs, and a small number of tries can miss them all. If we try many inputs and no
# derivative shows a leak at any of them, we have good evidence against leaks of this kind, but no proof.
#
# ## Finding leaks before training
#
# A large model trains for weeks, and a leak that is found late has wasted this time. But a wrong mask leaks even before
# the first step, and derivatives can already show it at that point; the leak of GPT-2, which arose in training, is an
# exception. A token is an index and cannot change by a small amount, but its **embedding**, the vector that represents
# it, can. We therefore ask on which embeddings the logits of untrained models depend.


# %%
def logits_of(model):
    """The model as a function of embeddings X [N, D]; gives logits [N, V]."""
    return lambda X: model.run(X[None], causal(len(X), model.ahead))[0]


# %% tags=["fold", "nbval-check-output"]
# @title Draws Figure 10
found = {}
for name, ahead in (("causal", 0), ("off by one", 1)):
    torch.manual_seed(SEED)
    untrained = LanguageModel(ahead).to(DEVICE)
    found[name] = dependence(logits_of(untrained), untrained.embed(sky[:, :-1])[0].detach())  # [N, N]
    assert ((found[name] == 0) | (found[name] > 1e-6 * found[name].max())).all()  # exactly 0, or clearly not
    print(f"{name}: logits depend on positions up to {reach(found[name])[0]} ahead")

sky_names = ["[START]", "we", "see", "the", "sky"]


def circled(J, shift, title, axes, **options):
    """Where J is not 0; in each row m the token that it has to predict is circled, the input m + shift."""
    panel(J > 0, title, axes, sky_names, sky_names, least=1, **INPUTS, **options)
    for m in range(len(J) - shift):
        for colour, width in (("black", 4.5), ("white", 2.5)):  # white on black, to be seen on any ground
            ring = {"markersize": 29, "markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": width}
            axes.plot(m + shift, m, "o", **ring)


figure, panels = plots.canvas(13.5, 3.7, 3)
circled(found["causal"], 1, "causal mask", panels[0], row_label="logits at m")
circled(found["off by one"], 1, "mask off by one", panels[1])
circled(found["causal"], 0, "causal mask, targets not shifted", panels[2])
show(
    figure,
    "Which inputs the logits of untrained models depend on; circled in each row is the token that it has to predict. Causal mask: "
    "the circles are on dark cells, which are exactly zero. Mask off by one: on ones. Causal mask with targets that are not shifted: they are "
    "on the diagonal, again on ones.",
)


# %% [markdown]
# **Figure 10.** Which inputs the logits of untrained models depend on: 1 where $J_{mn}$ is not 0; in the dark cells it
# is exactly 0. The target of each position is circled, and a 1 in a circle means that the model can read its own
# target.
#
# The target *[STOP]* is not among the inputs, so the last row has no circle in the first two panels. **No 1 may be in a
# circle, or to the right of one.** In the middle panel the mask breaks this rule. The rule finds more than wrong masks:
# in the right panel the mask is correct, but the targets are not shifted, so that position $m$ has to predict $x_m$,
# the very token that is fed in there (question 2 of lesson 01). The model is as causal as before, and still it can copy
# every target.
#
# Other tests need no derivatives: change the tokens after position $m$, or cut them off, and see whether output $m$
# changes. Cutting also finds leaks that no derivative shows, as in "Going further" below.
#
# Back to *attention is very cool*. At *is* the model with a causal mask depends on *[START] attention is* and on
# nothing else, as the RNN did. It has to predict *very* from these three tokens, in training as in generation. But in
# training all five predictions of the sentence are computed at once.
#
# ## Going further
#
# This section is optional. Can tests find leaks that come from other operations than attention? The table below shows
# in which of five layers each of three tests finds a leak.
#
# <details><summary>Going further: leaks that are not in the mask</summary>
#
# Every operation that mixes positions can leak, and attention is not the only such operation. We test five layers, all
# with the correct causal mask: `honest` from above, and four that add an operation.
#
# - **centred_features** first subtracts the mean of each token over its own features.
# - **centred** first subtracts the mean over the sequence, so that the numbers lie around 0.
# - **busiest** replaces only the three vectors with the largest norm by their attention outputs; the others stay.
# - **from_the_end** counts positions from the end and adds a sine of this number.
#
# Which of them are free of leaks? Three tests answer yes or no; the folded cell below has their code:
#
# - **gradient**: draw several random sequences. In any of them, does output $m$ have a derivative other than 0 with
#   respect to a vector after position $m$?
# - **change**: replace the inputs after $m$ by others. Does output $m$ change?
# - **cut**: remove the inputs after $m$. Does output $m$ change?
#
# </details>


# %% tags=["fold"]
# @title Defines same, by_gradient, by_change, by_cut
def same(one, other):
    return bool((one - other).abs().max() < 1e-5)


def by_gradient(layer, inputs):  # inputs [tries, N, D]
    return bool((depends(layer, inputs) & ~causal(inputs.shape[1])).any())


def by_change(layer, inputs):
    X, Z = inputs[:2]  # [N, D] each
    mixed = [torch.cat([X[: m + 1], Z[m + 1 :]]) for m in range(len(X))]  # after m, another future
    return any(not same(layer(M)[: m + 1], layer(X)[: m + 1]) for m, M in enumerate(mixed))


def by_cut(layer, inputs):
    X = inputs[0]  # [N, D]
    return any(not same(layer(X[: m + 1]), layer(X)[: m + 1]) for m in range(len(X)))


# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
def centred(X):
    """First subtracts the mean over the sequence, so that the numbers lie around 0."""
    return honest(X - X.mean(dim=0))


def centred_features(X):
    """First subtracts the mean of each token over its own features."""
    return honest(X - X.mean(dim=1, keepdim=True))


def busiest(X, count=3):
    """Only the three vectors with the largest norm are replaced by their attention outputs; the others stay."""
    norms = X.norm(dim=1)  # [N]
    chosen = norms >= norms.topk(min(count, len(X))).values[-1]  # [N] booleans
    return torch.where(chosen[:, None], honest(X), X)


def from_the_end(X):
    """Counts positions from the end and adds a sine of this number."""
    positions = torch.arange(len(X) - 1, -1, -1, device=X.device)  # [N]: N − 1, …, 1, 0
    return honest(X + positions[:, None].sin())


longer = normal(10, 8, D)  # [tries, N, D]
TESTS = {"gradient": by_gradient, "change": by_change, "cut": by_cut}
print(f"{'finds a leak':>16}", *(f"{name:>9}" for name in TESTS))
for suspect in (honest, centred_features, centred, busiest, from_the_end):
    print(f"{suspect.__name__:>16}", *(f"{'leak' if test(suspect, longer) else '-':>9}" for test in TESTS.values()))

# %% [markdown]
# <details><summary>Going further: which tests find which leaks</summary>
#
# - **centred** leaks: the mean over the *sequence* contains all tokens. A mean over the *features* of one token does
#   not mix positions, so **centred_features** does not leak. LayerNorm (lesson 09) is of this kind; a batch
#   normalisation over the positions is not.
# - **busiest** leaks, but no gradient shows it, however many inputs we try. *Which* vectors are chosen depends on the
#   whole sequence, but the choice changes in jumps, and between two jumps its derivative is 0. Large models that save
#   time by letting only some tokens into a layer have to deal with this problem (Raposo et al., 2024).
# - **from_the_end** leaks the length of the sequence. Neither gradient nor change shows it, because both leave the
#   length as it is. How many tokens are still to come tells the model a lot about the next one.
#
# The gradient shows *where* a leak is. Cutting off the future finds all three leaks and raises no false alarm, because
# in generation the future is missing in just this way. It does not notice targets that are not shifted, though. The
# loss of one forward pass equals the loss token by token under two conditions: the outputs for the beginning of a
# sequence are the same whether or not the rest follows, *and the target at each position is the next token*. Comparing
# the two losses, with `token_by_token`, tests both.
#
# </details>

# %% [markdown]
# ## Summary
#
# | | |
# |---|---|
# | masked attention | $\tilde E_{mn} = E_{mn}$ where $M_{mn}$ is True, $-\infty$ elsewhere; $A = \operatorname{softmax}(\tilde E)$, $Y = AV$; rows with nothing to attend to: 0 |
# | causal mask | $[N_Q, N_X]$, True where $n \le$ `offset` $+\, m$: a lower triangle |
# | padding mask | $[B, 1, N_X]$, True where $n <$ `lengths[b]`: it removes columns; in cross-attention, lengths of the source |
# | prefix mask | $[N, N]$, True where $n \le m$ or $n < N_P$ |
# | causal and padding, for $H$ heads | `(causal & padding).unsqueeze(-3)`, $[B, 1, N_Q, N_X]$ |
# | probability of a sequence | $\log P(x_1, \dots, x_T) = \sum_{t=1}^{T} \log P(x_t \mid x_{<t})$, all $T$ terms from one forward pass |
# | leak | $J_{mn} = \sum_d \lvert \partial (r \cdot y_m) / \partial X_{nd} \rvert > 0$ for an $n$ after $m$; or outputs that change when the future is cut off |
#
# ```python
# Y = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)  # True = may attend
# Y, A = nn.MultiheadAttention(D, H, batch_first=True)(X, X, X, attn_mask=~mask)  # [N, N]; True = must not attend
# ```
#
# **The picture:** a lower triangle of attention weights. Row $m$ is a query and spreads a weight of 1 over the columns
# $n \le m$; the columns of *[PAD]* are empty. The target of row $m$ is just to the right of the diagonal, where the
# weight must be 0.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> Somebody masks the diagonal too, to be on the safe side. Does that prevent a leak? What
# does it cost?</summary>
#
# It prevents no leak, since $x_m$ is known at position $m$ and is not the target there. It costs the newest token: the
# model predicts $x_{m+1}$ without attending to $x_m$, which in our model still reaches the output through the query and
# through the residual connection. And *[START]* has nothing to attend to.
#
# </details>
#
# <details><summary><b>2.</b> Under the causal mask, the padding mask changed no real token's output in our batch. Then
# why not leave it out?</summary>
#
# In that batch the padding came last and the mask was causal. With left padding, or in an encoder, tokens would attend
# to *[PAD]* tokens, and the output for a sentence would depend on the lengths of the *other* sentences in its batch.
#
# </details>
#
# <details><summary><b>3.</b> Can the leaking model be rescued after training, by giving it the right mask?</summary>
#
# We expect that it cannot, unless it is trained again. Under the right mask it must predict from the past alone, but it
# has learned to copy the next token instead. Our evaluation token by token comes close to measuring this: the last
# position, which makes the prediction, had no next token to attend to, although the positions before it still had
# theirs.
#
# </details>
#
# <details><summary><b>4.</b> You test a model at one random input, and the derivatives of output 2 with respect to
# input 4 are all 0. Does the model have no leak there?</summary>
#
# One input cannot tell you, because at another a ReLU may be on or a softmax less saturated. Try several inputs, and
# cut the sequence off as well: some leaks, such as a choice that changes in jumps, have a derivative of 0 at almost
# every input.
#
# </details>
#
# <details><summary><b>5.</b> A sentence of three words is fed in together with a sentence of sixty words, each with its
# *[START]*. In the mask of the shorter sentence (causal and padding), how many rows have something to attend to, with
# padding at the end, and with left padding?</summary>
#
# With padding at the end, all 61 rows: each *[PAD]* comes after the words and may attend to them. With left padding,
# four rows: those of *[START]* and of the three words. The other 57 rows have nothing to attend to.
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
# - **Which polarity?** True means *may attend* in this course and in `scaled_dot_product_attention`, and *must not
#   attend* in `nn.MultiheadAttention`. Write the meaning beside each mask.
# - **Mask before the softmax.** Fill in $-\infty$, not 0, and not after the softmax. Use $-10^9$ only if each row has
#   an allowed position.
# - **The mask needs an axis for the heads.** If $B = H$, a missing axis raises no error.
# - **`is_causal` begins at the top left.** With fewer queries than keys, build the mask with its offset.
# - **Left padding shifts the positions.** Count positions from the first real token; otherwise, with positional
#   encodings added to the embeddings, the output for a sentence changes with its batch.
# - **A loss that is too good** is a sign of a leak. Evaluate the model token by token before you believe the loss.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *$P(X) = \prod_{t=0}^{T} P(x_{t+1} \mid x_1, \dots, x_t)$.* This has one factor too many for a sequence of $T$
#   tokens. It should be $\prod_{t=1}^{T} P(x_t \mid x_{<t})$.
# - *"Override similarities with −inf."* We do the same. The slide's softmax has "dim=1". That is the axis of the keys
#   if the scores have two axes; with a batch or a head axis it is another one. `dim=-1` is right in all cases.
# - *"Don't let vectors look ahead"*, *"each token can only see the ones before it".* Each token may also attend to
#   itself.
#
# </details>

# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/07_masking/07_masking.ipynb).
# - **Read on**: [lesson 08](08_efficient_attention.ipynb) makes attention affordable for long texts.
# - **Look up**: the [glossary](../docs/glossary.md).
#
# ## References
#
# - A. Vaswani et al. (2017). Attention is all you need. NeurIPS. arXiv:1706.03762. *Section 3.2.3: masking in the
#   decoder by $-\infty$.*
# - R. J. Williams, D. Zipser (1989). A learning algorithm for continually running fully recurrent neural networks.
#   Neural Computation 1(2). *Teacher forcing.*
# - C. Raffel et al. (2020). Exploring the limits of transfer learning with a unified text-to-text Transformer. JMLR
#   21(140). arXiv:1910.10683. *Section 3.2.1: three masks.*
# - Y. Siddiqui et al. (2024). MeshGPT: generating triangle meshes with decoder-only Transformers. CVPR.
#   arXiv:2311.15475.
# - D. Raposo et al. (2024). Mixture-of-Depths: dynamically allocating compute in Transformer-based language models.
#   arXiv:2404.02258. *A layer for some tokens only, and what that means for generation.*
# - Issues of huggingface/transformers: [17121](https://github.com/huggingface/transformers/issues/17121) (2022),
#   [3181](https://github.com/huggingface/transformers/issues/3181) (2020) and
#   [48745](https://github.com/huggingface/transformers/issues/48745) (2026). *The leaks in published code, and the
#   early warning.*
# - PyTorch: `torch.nn.functional.scaled_dot_product_attention`, `torch.nn.MultiheadAttention`. *The two polarities.*
