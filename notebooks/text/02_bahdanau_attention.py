# %% [markdown]
# # 02 · Attention in a translator
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/02_bahdanau_attention.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - let a decoder attend to all states of the encoder before it writes a token, and compute what this takes: alignment
#   scores, attention weights, context vector;
# - compare three score functions, and keep padding out of the weights;
# - measure how much attention helps on long sentences, and whether the decoder attends to the tokens that it
#   translates.
#
# **You need** lesson 01: encoder, decoder, teacher forcing, and why one context vector is not enough.
#
# **Time** about 55 minutes to read; the cells run in about 15 seconds on two CPU cores.

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
import textwrap
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from utils.data.translation import PAD, START, STOP, batches, corpus, lecture, vocabulary
from utils.device import device
from utils.figures import diagrams, plots, translators
from utils.figures.explorers import Slider, explore
from utils.figures.plots import show
from utils.measures import stored_runs, stored_weights
from utils.measures.translation_quality import bleu, token_accuracy
from utils.models.training import train

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
generator = torch.Generator().manual_seed(2)


def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


# %% [markdown]
# ## From one context vector to attention
#
# Lesson 01 built a translator from two recurrent networks. The **encoder** reads the source sentence and writes a
# **hidden state** after each token; the **decoder** writes the translation one token at a time. A **token** is the
# unit that a model reads and writes: in this lesson a word, an elided form such as *l'*, or a punctuation mark. All
# that the decoder got from the encoder was the **context vector** $c$, a single vector for the whole sentence. Packing
# a long sentence into this vector, and unpacking it again, proved too hard to learn.
#
# How do people translate a sentence like the following one?

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
agreement = lecture("agreement", "french")
print(" ".join(agreement.source))
print(" ".join(agreement.target))

# %% [markdown]
# Nobody reads this sentence once, closes the book and writes the French version from memory. A human translator writes
# a few words, **looks at the source again**, at the words that matter for what comes next, and goes on. To write *zone*
# the translator looks at *area*, then at *economic* for *économique* and at *European* for *européenne*: French has the
# three words of *European economic area* in reverse order.
#
# The encoder has already written one state for each input token, $h_1, \dots, h_{T_x}$. Lesson 01 threw away all of
# them but the last. Bahdanau et al. (2015) keep them all, and before each output token the decoder decides anew how
# much it takes from each of them. This mechanism is called **attention**: the decoder **attends** to the encoder
# states.
#
# Throughout this lesson $i = 1, \dots, T_x$ counts the positions of the input and $t = 1, \dots, T_y$ the positions of
# the output.

# %% [markdown]
# ## A context vector for every output token
#
# The decoder is about to write token $t$, and its state so far is $s_{t-1}$. Which encoder states matter now? To attend
# to the encoder states, the decoder takes three steps, which give it a context vector $c_t$ for this token alone.
#
# 1. **Alignment scores**, one number for each encoder state, say how well $h_i$ fits what the decoder needs:
#    $e_{t,i} = f_{att}(s_{t-1}, h_i)$. For now the score function $f_{att}$ is the **dot product** $s_{t-1} \cdot h_i$,
#    the sum of the products of corresponding components; the next section introduces two others.
# 2. **Attention weights** are the softmax of the scores, so they are positive and sum to 1: $a_{t,i} = \exp(e_{t,i}) /
#    \sum_{k=1}^{T_x} \exp(e_{t,k})$.
# 3. The **context vector** is the sum of the encoder states, each multiplied by its weight:
#    $c_t = \sum_{i=1}^{T_x} a_{t,i}\, h_i$.
#
# The decoder's step then uses $c_t$ where it used $c$ before: $s_t = g_U(y_{t-1}, s_{t-1}, c_t)$. As in lesson 01, the
# index $U$ stands for the decoder's weights. For the next token the three steps are repeated with the new state $s_t$.

# %% tags=["fold"]
# @title Draws Figure 1
show(
    translators.attending_step(["the", "European", "economic", "area"], "la", "zone"),
    "A diagram of one step. The decoder state s before the step and the encoder states h of the European economic area enter "
    "the scores e. A softmax over the encoder states makes weights a of them. The sum of the states, each times its weight, is "
    "the context vector c. A GRU reads c, "
    "the embedding of the previous token, la, and the old state, and makes the new state. From the new state and c come the "
    "logits, and from these the next token, zone.",
)

# %% [markdown]
# **Figure 1.** One step of the decoder, here with four encoder states. A dashed frame stands for all parts inside it:
# $s_{t-1}$ enters each score, the softmax computes each weight from all scores, and all weights and all states enter
# the sum. The old state $s_{t-1}$ has two uses: it asks for the context vector $c_t$, and it enters the recurrent
# network $g_U$, which computes the new state $s_t$ from the old state, $c_t$ and the previous token. The **logits**,
# the numbers that a softmax turns into probabilities of the output tokens, are computed from $s_t$ and, in the
# translator of this lesson, from $c_t$ as well. At the next step $s_t$ plays the part of $s_{t-1}$, while the encoder
# states remain the same.
#
# We now compute one such context vector in three ways, from made-up states. The first way uses explicit loops:

# %%
T_x, D_H = 5, 6  # five input tokens; states of six numbers
H = normal(T_x, D_H)  # [T_x, D_H], encoder states
s = normal(D_H)  # [D_H], the decoder's state

e_loop = torch.zeros(T_x, device=DEVICE)  # [T_x]
for i in range(T_x):
    for d in range(D_H):
        e_loop[i] += s[d] * H[i, d]
total = sum(torch.exp(e) for e in e_loop)
a_loop = torch.stack([torch.exp(e) / total for e in e_loop])  # [T_x]
c_loop = torch.zeros(D_H, device=DEVICE)  # [D_H]
for i in range(T_x):
    c_loop += a_loop[i] * H[i]

# %% [markdown]
# The second way uses matrix products, with one line for each of the three steps. The third way calls torch's own
# function. This function calls the vector with which all others are compared, here $s$, the **query**, and it expects
# queries as the rows of a matrix. We pass $H$ twice, because the function uses the first $H$ for the scores and the
# second for the weighted sum. The function multiplies the scores by `scale`, which is 1 here; lesson 04 explains why
# other values are used, too.

# %%
e = H @ s  # [T_x, D_H] @ [D_H] -> [T_x]
a = e.softmax(dim=-1)  # [T_x]
c = a @ H  # [T_x] @ [T_x, D_H] -> [D_H]

c_torch = F.scaled_dot_product_attention(s[None], H, H, scale=1.0)[0]  # queries [1, D_H] -> [1, D_H] -> [D_H]

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
assert_close(e, e_loop)
assert_close(a, a_loop)
assert_close(c, c_loop)
assert_close(c_torch, c)
print("weights", [round(one, 2) for one in a.tolist()])

# %% [markdown]
# All three computations agree; the line above shows the attention weights of this step. With another state the decoder
# weights the same encoder states differently. The figure shows how it might do so while it translates *we see the sky*
# into the Italian *vediamo il cielo*. The scores are made up:

# %% tags=["fold"]
# @title Draws Figure 2
asking = [f"to write “{word}”" for word in "vediamo il cielo".split()]
states = [f"$h_{i + 1}$\n{word}" for i, word in enumerate(["we", "see", "the", "sky", "[STOP]"])]
weights = torch.tensor([[3, 4, 0, 1, 0], [0, 0, 4, 3, 0], [0, 1, 1, 5, 0.0]]).softmax(dim=-1)  # [3, T_x]
show(
    diagrams.looks(asking, states, weights, output="c", setters=["$s_0$", "$s_1$", "$s_2$"]),
    "Three panels, for vediamo, il and cielo. In each, lines run from the encoder states of we, see, the, sky, STOP to the context "
    "vector, as thick as the weights, and an arrow leads to the lines from the decoder state, marked: sets the weights. "
    "Thickest: for vediamo see, then we; for il the, then sky; for cielo sky.",
)

# %% [markdown]
# **Figure 2.** Three steps of a decoder with made-up scores; the numbers below the encoder states are the weights. The
# encoder states stay the same; the decoder state changes from step to step, and with it the weights, so each output
# token gets a different context vector. *Vediamo* means "we see", and *il* must be masculine because *cielo* is: these
# two context vectors mix mainly two states each.
#
# Because the scores, the softmax and the weighted sum can all be differentiated, nobody has to tell the network which
# positions it should attend to. The loss compares the predicted tokens with the right ones, and its **gradient**, which
# says how the loss changes with each parameter, teaches the network which states help. Training needs **no labels for
# the weights**.
#
# The next cell uses an arbitrary function of the context vector as the loss. The decoder's state enters this loss only
# through the attention weights, and still the state receives a gradient:

# %%
asks = s.clone().requires_grad_()  # [D_H]
((H @ asks).softmax(dim=-1) @ H).square().sum().backward()

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
assert asks.grad.norm() > 0
print(f"length of the gradient at the decoder's state: {asks.grad.norm():.1f}")

# %% [markdown]
# ## Three ways to score
#
# A score function takes two vectors, a decoder state $s$ of width $D_S$ and an encoder state $h$ of width $D_H$, and
# gives one number. Three functions are in common use:
#
# | name | formula | learned parameters | widths of $s$ and $h$ |
# |---|---|---|---|
# | dot product | $e = s \cdot h$ | none | must be equal |
# | bilinear | $e = s W \cdot h$ | $W\,[D_S, D_H]$ | any |
# | **additive** | $e = v \cdot \tanh(s W + h U)$ | $W\,[D_S, D_A]$, $U\,[D_H, D_A]$, $v\,[D_A]$ | any |
#
# The **additive score** is Bahdanau's, and attention that uses it is called **additive attention**. It is a small
# network with one hidden layer of $D_A$ units; its $U$ is a matrix, not the decoder's weights in $g_U$. Luong et al.
# (2015) compared scores of all three kinds.
#
# The next cells compute the scores of all pairs of $T_y$ decoder states and $T_x$ encoder states, first with loops and
# then without. In the code, the rows of `S` are decoder states, those of `H` the encoder states, and `W_bilinear` is
# the $W$ of the bilinear score; each row of the result holds the scores of one decoder state. A real decoder computes
# the rows one after the other, because its next state needs the current context vector.

# %% tags=["fold"]
# @title Computes T_y, D_S, D_A, S, …
T_y, D_S, D_A = 3, 4, 7
S = normal(T_y, D_S)  # [T_y, D_S], decoder states of another width
W_bilinear = normal(D_S, D_H)  # [D_S, D_H]
W, U, v = normal(D_S, D_A), normal(D_H, D_A), normal(D_A)
bilinear_loop, additive_loop = torch.zeros(T_y, T_x, device=DEVICE), torch.zeros(T_y, T_x, device=DEVICE)  # [T_y, T_x]

# %%
for t in range(T_y):
    for i in range(T_x):
        bilinear_loop[t, i] = S[t] @ W_bilinear @ H[i]
        additive_loop[t, i] = torch.tanh(S[t] @ W + H[i] @ U) @ v

# %% [markdown]
# Without loops, the **bilinear scores** are a product of three matrices. For the additive scores the new axes in
# `[:, None, :]` and `[None, :, :]` pair every decoder state with every encoder state:

# %%
E_bilinear = S @ W_bilinear @ H.T  # [T_y, D_S] @ [D_S, D_H] @ [D_H, T_x] -> [T_y, T_x]
hidden = torch.tanh((S @ W)[:, None, :] + (H @ U)[None, :, :])  # [T_y, 1, D_A] + [1, T_x, D_A] -> [T_y, T_x, D_A]
E_additive = hidden @ v  # [T_y, T_x, D_A] @ [D_A] -> [T_y, T_x]

# %% tags=["fold"]
# @title Assertions
assert_close(E_bilinear, bilinear_loop)
assert_close(E_additive, additive_loop)

# %% [markdown]
# Torch has layers for this, too: `nn.Bilinear` computes the bilinear score, and two `nn.Linear` layers without bias,
# together with the vector $v$, the additive score. The folded cell asserts that they compute the same.

# %% tags=["fold"]
# @title Computes own, maps, pairs_S, pairs_H
own = nn.Bilinear(D_S, D_H, 1, bias=False, device=DEVICE)
maps = nn.ModuleDict({"W": nn.Linear(D_S, D_A, bias=False), "U": nn.Linear(D_H, D_A, bias=False)}).to(DEVICE)
with torch.no_grad():
    own.weight.copy_(W_bilinear[None])
    maps["W"].weight.copy_(W.T)
    maps["U"].weight.copy_(U.T)
pairs_S, pairs_H = S[:, None].expand(-1, T_x, -1), H[None].expand(T_y, -1, -1)  # [T_y, T_x, D_S], [T_y, T_x, D_H]
assert_close(own(pairs_S.contiguous(), pairs_H.contiguous())[..., 0], E_bilinear)
assert_close(torch.tanh(maps["W"](S)[:, None] + maps["U"](H)) @ v, E_additive)

# %% [markdown]
# One part of the additive score can be computed in advance: $h_i U$ does not depend on the decoder, so a translator
# computes it once for each sentence and not again at every step.
#
# **What does attention cost?** There is a score for every pair of an output and an input position, $T_y \cdot T_x$
# scores in all. A sentence twice as long, with a translation twice as long, takes four times as many. For a single
# sentence that is not many, but a text of a thousand tokens with a translation of the same length takes a million
# scores.

# %% [markdown]
# ## Padding gets no weight
#
# In a batch, short sentences are filled up with the token `[PAD]` to the length of the longest; this filling is called
# **padding**. The encoder writes states at the padded positions, too. They stand for nothing in the sentence, so their
# weights must be 0, and the weights of the real tokens must sum to 1. Is it enough to set the weights of the padding to
# 0 after the softmax?

# %%
mask = torch.tensor([True, True, True, False, False], device=DEVICE)  # [T_x]: three tokens, two positions of padding
late = e.softmax(dim=-1) * mask  # [T_x]
early = e.masked_fill(~mask, -torch.inf).softmax(dim=-1)  # [T_x]

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
print(f"zeroed after the softmax: sum {late.sum():.2f}; hidden before it: sum {early.sum():.2f}")
assert_close(early[:3], e[:3].softmax(dim=-1))  # as if the padding were not there
assert (early[3:] == 0).all()

# %% [markdown]
# It is not enough: the weights that are left no longer sum to 1. The padding has to be hidden **before** the
# softmax. A score of $-\infty$ becomes $\exp(-\infty) = 0$, both in the numerator and in the sum below it, and the
# remaining weights are the same as without padding.
#
# In the mask, `True` means *this position may be attended to*, here and in the whole course. The batches below hold
# source sentences of equal length, as in lesson 01, and need no mask, but your assignment needs one.

# %% [markdown]
# ## Training a translator with attention
#
# We now train a translator with attention and, for comparison, the translator of lesson 01. Apart from attention, the
# new translator differs from the old one in three ways:
#
# - The encoder reads **in both directions**; it is a **bidirectional GRU**. Each $h_i$ is the concatenation of two
#   states: one comes from reading the sentence from the left up to token $i$, the other from reading it from the right.
#   So $h_i$ can hold information on the tokens on both sides of token $i$.
# - A linear layer followed by a tanh makes the decoder's first state from the encoder's final states in the two
#   directions.
# - The logits are computed not from $s_t$ alone but from $[s_t; c_t]$, the concatenation of $s_t$ and $c_t$.
#
# The decoder has to take its steps in a loop, because the attention weights of each step depend on the state that the
# previous step has produced.
#
# If the new translator is better, is this due to attention, or to one of these three changes? To find out, we also
# train two **controls**, translators that have the three changes but whose *attention* weights do not depend on the
# decoder. The first gives every encoder state the same weight, so that its context vector is the plain mean $c =
# \frac{1}{T_x} \sum_i h_i$. The second learns from the encoder states which of them are important, and then uses the
# same weights at every step: $e_i = h_i \cdot u$ with a learned vector $u$. The figures call the first control *plain
# mean* and the second *fixed weights*. Question 2 at the end shows that the additive score without its tanh would give
# this second control.
#
# All models are trained with **teacher forcing**: the decoder is fed the right tokens of the translation, not its own.
# It can then guess many tokens without looking at the source: after *parce*, for example, comes *que* or *qu'*. To make
# the decoder depend on the source, we hide about three in ten of the tokens that it is fed in training, chosen at
# random. This is called *word dropout*. A hidden token is replaced by `[PAD]`; this has nothing to do with the padding
# of the source, and no mask is involved. In the folded cell, `fed_words` first shifts the translation as in lesson 01,
# putting `[START]` in front and cutting off the last token, and then applies word dropout, in training only: when we
# test a model or draw its weights, no token is hidden.


# %% tags=["fold"]
# @title Defines fed_words
english, french = vocabulary("english"), vocabulary("french")


def fed_words(y, training):
    """What the decoder is fed, [B, T_y]: [START], y_1, …; in training some tokens are hidden at random."""
    fed = F.pad(y, (1, 0), value=START)[:, :-1]
    hidden = torch.rand(fed.shape).to(fed.device) < 0.3
    return fed.masked_fill(hidden, PAD) if training else fed


# %% [markdown]
# The method `step` is one step of the decoder: score, softmax, context vector, new state. Apart from attention and the
# changes listed above, the model is that of lesson 01. The names `W`, `U` and `v` are those of the additive score; `HU`
# $[B, T_x, D_A]$ is the part that is computed once for each sentence. In the line of the scores, the new axis makes the
# decoder's part $[B, 1, D_A]$, so that it is added to all rows of `HU`, and `v` turns each row into a single number.


# %%
class AttentionTranslator(nn.Module):
    """English to French; the decoder attends to all encoder states before each token, with additive scores."""

    def __init__(self, D_H, D_A=64, D_E=48):
        super().__init__()
        self.read = nn.Embedding(len(english), D_E)
        self.encoder = nn.GRU(D_E, D_H // 2, batch_first=True, bidirectional=True)
        self.begin = nn.Linear(D_H, D_H)
        self.wrote = nn.Embedding(len(french), D_E)
        self.W = nn.Linear(D_H, D_A, bias=False)
        self.U = nn.Linear(D_H, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.cell = nn.GRUCell(D_E + D_H, D_H)
        self.out = nn.Linear(2 * D_H, len(french))

    def encode(self, x):
        """Encoder states [B, T_x, D_H] for tokens x [B, T_x], and the decoder's first state [B, D_H]."""
        H, last = self.encoder(self.read(x))  # [B, T_x, D_H], [2, B, D_H/2]: the final state of each direction
        return H, torch.tanh(self.begin(torch.cat([last[0], last[1]], dim=-1)))

    def step(self, y, s, H, HU):
        """From the previous tokens y [B] and states s [B, D_H]: [s_t; c_t] [B, 2·D_H], s_t [B, D_H], weights [B, T_x]."""
        e = self.v(torch.tanh(self.W(s)[:, None] + HU))[..., 0]  # [B, T_x]; all sentences of a batch are equally long
        a = e.softmax(dim=-1)  # [B, T_x]
        c = (a[:, None] @ H)[:, 0]  # [B, 1, T_x] @ [B, T_x, D_H] -> [B, D_H]
        s = self.cell(torch.cat([self.wrote(y), c], dim=-1), s)  # [B, D_H]
        return torch.cat([s, c], dim=-1), s, a

    def forward(self, x, y):
        """Logits [B, T_y, V] with teacher forcing, and weights [B, T_y, T_x]."""
        H, s = self.encode(x)
        HU, found, looks = self.U(H), [], []
        for fed in fed_words(y, self.training).unbind(dim=1):  # each [B]
            features, s, a = self.step(fed, s, H, HU)
            found.append(features)
            looks.append(a)
        return self.out(torch.stack(found, dim=1)), torch.stack(looks, dim=1)


# %% [markdown]
# The next cell, folded, defines the translator of lesson 01, the two controls and the loss. The context vector of a
# control is the same at every step, so its decoder can run in a single call of `nn.GRU`, which is faster and gives the
# same result. The cell after it tries the training out, with 40 steps only. There are two sizes: a *small model*
# (`seeing` in the code), quick to train, into which we look (Figures 4 and 6), and *large models* from a stored run,
# which we compare (Figures 3 and 5).


# %% tags=["fold"]
# @title Defines OneVectorTranslator, PlainMeanTranslator, FixedWeightsTranslator, translation_loss
class OneVectorTranslator(nn.Module):
    """The translator of lesson 01, with one context vector, for comparison."""

    def __init__(self, D_H, D_E=48):
        super().__init__()
        self.read = nn.Embedding(len(english), D_E)
        self.encoder = nn.GRU(D_E, D_H, batch_first=True)
        self.wrote = nn.Embedding(len(french), D_E)
        self.decoder = nn.GRU(D_E + D_H, D_H, batch_first=True)
        self.out = nn.Linear(D_H, len(french))

    def encode(self, x):
        """The context vectors [B, D_H] for tokens x [B, T_x], and the decoder's first states [B, D_H]."""
        c = self.encoder(self.read(x))[0][:, -1]  # [B, D_H]
        return c, c

    def decode(self, fed, s, c):
        """What the logits are computed from, [B, T_y, …], for tokens fed [B, T_y]; and the last states [B, D_H]."""
        given = torch.cat([self.wrote(fed), c[:, None].expand(-1, fed.shape[1], -1)], dim=-1)  # [B, T_y, D_E + D_H]
        S, last = self.decoder(given, s[None])
        return S, last[0]

    def forward(self, x, y):
        """Logits [B, T_y, V] with teacher forcing; there are no weights."""
        c, s = self.encode(x)
        return self.out(self.decode(fed_words(y, self.training), s, c)[0]), None


class PlainMeanTranslator(OneVectorTranslator):
    """The first control: an AttentionTranslator whose weights are all 1/T_x, so that its context vector is a plain mean."""

    def __init__(self, D_H, D_E=48):
        super().__init__(D_H, D_E)
        self.encoder = nn.GRU(D_E, D_H // 2, batch_first=True, bidirectional=True)
        self.begin = nn.Linear(D_H, D_H)
        self.out = nn.Linear(2 * D_H, len(french))

    def encode(self, x):
        H, last = self.encoder(self.read(x))  # [B, T_x, D_H], [2, B, D_H/2]
        return H.mean(dim=1), torch.tanh(self.begin(torch.cat([last[0], last[1]], dim=-1)))

    def decode(self, fed, s, c):
        S, s = super().decode(fed, s, c)
        return torch.cat([S, c[:, None].expand(-1, fed.shape[1], -1)], dim=-1), s  # [s_t; c]


class FixedWeightsTranslator(PlainMeanTranslator):
    """The second control: its weights are learned, and the same at every step, since they do not depend on the decoder."""

    def __init__(self, D_H, D_E=48):
        super().__init__(D_H, D_E)
        self.score = nn.Linear(D_H, 1, bias=False)

    def encode(self, x):
        H, last = self.encoder(self.read(x))  # [B, T_x, D_H], [2, B, D_H/2]
        a = self.score(H)[..., 0].softmax(dim=-1)  # [B, T_x]
        return (a[:, None] @ H)[:, 0], torch.tanh(self.begin(torch.cat([last[0], last[1]], dim=-1)))


def translation_loss(model, batch):
    """Mean of −log P over the tokens of the batch, without its padding."""
    batch = batch.to(DEVICE)
    logits, _ = model(batch.source, batch.target)
    return F.cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=PAD)


# %% tags=["fold"] label="defines learned, and trains the first 40 steps"
# @title Defines learned, and trains the first 40 steps
def learned(kind, seed, longest, width, steps, sentences, rate, name="attention"):
    """A trained translator, its losses, and some 400 sentences that it has not seen."""
    pairs = corpus("french", sentences, 3, longest, seed=seed)
    known = {pair.source for pair in pairs}
    fresh = [pair for pair in corpus("french", 400, 3, longest, seed=seed + 1000) if pair.source not in known]
    torch.manual_seed(seed)
    model = kind(width).to(DEVICE)
    stream = batches(pairs, "french", size=64, steps=steps, seed=seed)
    losses = train(model, stream, translation_loss, steps=steps, rate=rate, what=f"training, {name}")
    return model, losses, fresh


SHORT = {"longest": 24, "width": 96, "steps": 840, "sentences": 16000, "rate": 6e-3}
_, losses, fresh = learned(AttentionTranslator, seed=0, **{**SHORT, "steps": 40})
print(f"loss per token: {losses[0]:.1f} in the first step, {losses[-1]:.1f} in the fortieth")

# %% [markdown]
# Even 40 steps lower the loss. The full training of 840 steps takes most of a minute, so the trained translator is
# stored with this lesson. How low is its loss on sentences that it has not seen?

# %% tags=["fold"] label="loads the trained translator, and measures its loss on new sentences"
# @title Loads the trained translator, and measures its loss on new sentences
if stored_runs.full():
    stored_weights.keep("02_bahdanau_attention.translator", learned(AttentionTranslator, seed=0, **SHORT)[0])
seeing = stored_weights.load("02_bahdanau_attention.translator", AttentionTranslator(SHORT["width"])).to(DEVICE)
with torch.no_grad():
    new = [translation_loss(seeing, one).item() for one in batches(fresh, "french", size=64, steps=40, seed=0)]
print(f"loss per token on new sentences: {sum(new) / len(new):.2f}")

# %% [markdown]
# ## Long sentences again
#
# So low a loss means that the right next token gets nearly all the probability, as long as the decoder is fed the right
# tokens before it. To compare all four kinds, we use a stored run of an experiment like that of lesson 01, now in
# French and with word dropout. Each kind was trained three times, from different random weights and on different
# sentences of up to 40 words. Each model translates sentences that it has not seen in training, and uses **greedy
# decoding**: at each step the decoder writes the token with the largest probability. The measures are again **token
# accuracy**, the share of positions with the correct token, and **BLEU**, which goes from 0 to 100 and compares
# sequences of up to four consecutive tokens, wherever they occur in the sentence.


# %% tags=["fold"] label="greedy decoding, and the stored run of Figure 3"
# @title Greedy decoding, and the stored run of Figure 3
@torch.no_grad()
def translate(model, words, limit=90):
    """Translates English tokens greedily; gives French ones, and the weights [T_y, T_x] if the model has any."""
    x = torch.tensor([english.encode(words)], device=DEVICE)  # [1, T_x]
    y = torch.full((1, 1), START, device=DEVICE)  # [1, 1]
    written, looks = [], []
    attends = isinstance(model, AttentionTranslator)
    H, s = model.encode(x)  # [1, T_x, D_H], or the context vector [1, D_H]; [1, D_H]
    HU = model.U(H) if attends else None
    for _ in range(limit):
        if attends:
            features, s, a = model.step(y[:, 0], s, H, HU)
            looks.append(a[0])
        else:
            features, s = model.decode(y, s, H)
        y = model.out(features).reshape(1, -1).argmax(dim=-1)[:, None]  # [1, 1]
        if y.item() == STOP:
            break
        written.append(french.words[y.item()])
    return written, torch.stack(looks) if looks else None


def by_length(model, fresh):
    """Token accuracy and BLEU for new sentences of low to high words, for each of the groups, and the BLEU of all together."""
    found = {"accuracy": [], "bleu": []}
    written, wanted = [], []
    for low, high in GROUPS:
        asked = [pair for pair in fresh if low <= len(pair.source) <= high]
        ours, right = [translate(model, pair.source)[0] for pair in asked], [list(pair.target) for pair in asked]
        found["accuracy"].append(sum(map(token_accuracy, ours, right)) / len(asked))
        found["bleu"].append(bleu(ours, right))
        written, wanted = written + ours, wanted + right
    return {**found, "overall": bleu(written, wanted)}


def compared(seed):
    """For each kind of translator the losses, in means of 40 steps, the quality, and two translations; and the last model."""
    found = {}
    for name, kind in KINDS.items():
        model, losses, fresh = learned(kind, seed, name=name, **LONG)
        asked = max((pair for pair in fresh if len(pair.source) <= 24), key=lambda pair: len(pair.source))
        writes = [" ".join(translate(model, pair.source)[0]) for pair in (agreement, asked)]
        curve = [sum(losses[i : i + 40]) / 40 for i in range(0, LONG["steps"], 40)]
        found[name] = {**by_length(model, fresh), "loss": curve, "writes": writes}
    return found | {"asked": [" ".join(asked.source), " ".join(asked.target)]}, model, fresh


LONG = {"longest": 40, "width": 128, "steps": 2000, "sentences": 40000, "rate": 4e-3}
GROUPS = [(3, 10), (11, 20), (21, 30), (31, 40)]
KINDS = {
    "one vector": OneVectorTranslator,
    "plain mean": PlainMeanTranslator,
    "fixed weights": FixedWeightsTranslator,
    "attention": AttentionTranslator,
}
SEEDS = (0, 1, 2)
if stored_runs.full():
    began = time.perf_counter()
    each = [compared(seed) for seed in SEEDS]
    seconds = time.perf_counter() - began
    stored_runs.keep(
        "02_bahdanau_attention.quality", {"seeds": [one[0] for one in each]}, seed="0, 1, 2", seconds=seconds
    )
record = stored_runs.load("02_bahdanau_attention.quality")
runs = record["results"]["seeds"]
print(stored_runs.how(record))


# %% tags=["fold"]
# @title Draws Figure 3
SHADES = {
    "one vector": plots.SHADES["one vector"],
    "plain mean": plots.GREEN,
    "fixed weights": plots.GREY,
    "attention": plots.SHADES["attention"],
}


def over_seeds(what):
    """For each kind the mean over the seeds of a measure, and its least and largest value, [points] each."""
    values = {name: torch.tensor([run[name][what] for run in runs]) for name in KINDS}
    return {n: v.mean(dim=0) for n, v in values.items()}, {n: (v.amin(dim=0), v.amax(dim=0)) for n, v in values.items()}


middles = [(low + high) / 2 for low, high in GROUPS]
figure, panels = plots.canvas(12, 3.8, 3)
for panel, what, label in zip(
    panels, ("loss", "accuracy", "bleu"), ("mean −log P per token", "token accuracy", "BLEU")
):
    means, ranges = over_seeds(what)
    x, name = (
        (range(40, LONG["steps"] + 1, 40), "step") if what == "loss" else (middles, "words in the English sentence")
    )
    styles = dict.fromkeys(means, "-" if what == "loss" else "o-")
    styles["fixed weights"] = "--" if what == "loss" else "o--"  # so that the curve beneath it can be seen
    plots.curves(
        x,
        means,
        bands=ranges,
        styles=styles,
        colours=SHADES,
        x_label=name,
        y_label=label,
        legend=what == "loss",
        axes=panel,
    )
for panel, top in ((panels[1], 1.03), (panels[2], 103)):
    panel.set_xticks(middles, [f"{low}–{high}" for low, high in GROUPS])
    panel.set_ylim(0, top)
show(
    figure,
    "Three panels with a curve for each of four translators. Left, training loss over the steps: with attention it falls to about "
    "zero, the three others stay well above. Middle and right, token accuracy and BLEU over the length of the sentence: with "
    "attention both stay at the top, with the three others they fall steeply.",
)

# %% [markdown]
# **Figure 3.** Results of the stored run. Each curve is the mean of three training runs of one model, and its band
# reaches from the worst to the best of the three; *plain mean* and *fixed weights* are the two controls, whose curves
# nearly coincide. The left panel shows the training loss, the middle and right panels the quality of the translations
# by the length of the English sentence.
#
# The middle panel as a table, with the range over the three runs:

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
accuracy, accuracy_range = over_seeds("accuracy")
others = [run[name]["accuracy"][1:] for run in runs for name in KINDS if name != "attention"]
assert min(min(run["attention"]["accuracy"]) for run in runs) > 0.95 and max(map(max, others)) < 0.75
print(f"{'':<14}" + "".join(f"{name:>21}" for name in KINDS))
for number, (low, high) in enumerate(GROUPS):
    row = [(accuracy[n][number], *(edge[number] for edge in accuracy_range[n])) for n in KINDS]
    print(
        f"{low:>2} to {high:>2} words"
        + "".join(f"{f'{mean:.2f} ({least:.2f}–{most:.2f})':>21}" for mean, least, most in row)
    )

# %% [markdown]
# With attention, a sentence of forty words is hardly more difficult than one of ten. Each step of the decoder can take
# what it needs from the encoder states; the whole sentence no longer has to pass through a single vector.
#
# The controls settle where the gain comes from. Just like the model with attention, both controls read in both
# directions, have the layer for the first state and compute their logits from $[s_t; c_t]$, and the second can even
# learn which tokens are important. Yet on sentences of more than ten words neither control comes near the model with
# attention: their token accuracy is about the same as that of the model with one vector, and their BLEU is higher by
# three to six points, where attention gains more than 30. What makes the difference is that the weights *change from
# step to step*. A weighted mean that is the same at every step is again a single vector for the whole sentence, and
# therefore a bottleneck, too. Admittedly, the losses of the models without attention are still falling slowly at the
# end, but in lesson 01 longer training only moved the drop to longer sentences.
#
# **The published result.** Bahdanau et al. (2015) trained two kinds of translators from English to French, on real
# text: RNNencdec, with one context vector, and RNNsearch, with attention. They trained each kind twice: on sentences of
# up to 30 words, and on sentences of up to 50 words. Here is the BLEU of their four models on all test sentences, from
# table 1 of the paper.
#
# | trained on sentences of | one context vector | attention |
# |---|---|---|
# | up to 30 words | 13.93 | 21.50 |
# | up to 50 words | 17.82 | 26.75 |
#
# The model with attention that was trained on the shorter sentences beats the model with one vector that was trained on
# the longer ones. The paper's figure 2 shows BLEU by the length of the sentence, like ours: without attention BLEU
# "dramatically drops" as sentences get longer, while RNNsearch-50, the model with attention trained on sentences of up
# to 50 words, shows "no performance deterioration even with sentences of length 50 or more".
#
# <details><summary>How their experiment differs from ours</summary>
#
# They had a vocabulary of 30,000 words, recurrent layers of 1,000 units and **beam search**, which follows several
# unfinished translations at once. They made the decoder's first state only from the state that the right-to-left half
# of the encoder reaches at the first word, and their output layer also saw the previous word. Our sentences come from a
# small grammar that leaves no doubt about the right translation.
#
# </details>

# %% [markdown]
# ## Attention weights as an alignment
#
# Does the decoder attend to the tokens that it is translating? We feed the small model that we loaded above the right
# translation of the agreement sentence, and draw the attention weights as an **alignment matrix**: a row for each
# French token, a column for each English one. Where the two languages have the same word order, we expect a diagonal;
# for *zone économique européenne* we expect a block in which the order is reversed.


# %%
@torch.no_grad()
def weights_of(model, pair):
    """The attention weights [T_y, T_x] when the right translation is fed."""
    x = torch.tensor([english.encode(pair.source)], device=DEVICE)  # [1, T_x]
    y = torch.tensor([french.encode(pair.target)], device=DEVICE)  # [1, T_y]
    return model(x, y)[1][0]


A = weights_of(seeing, agreement)


# %% tags=["fold"]
# @title Draws Figure 4
def draw_weights(A, axes, title="", rows=slice(None), columns=slice(None)):
    """The weights A [T_y, T_x] of the agreement sentence, or a part of them, with gold links and largest weights marked."""
    read, words = [*agreement.source, "[STOP]"], [*agreement.target, "[STOP]"]
    plots.field(A[rows, columns], limits=(0, 1), title=title, x_label="English token (read)", bar=False, axes=axes)
    (first, last, _), (left, right, _) = rows.indices(len(words)), columns.indices(len(read))
    axes.set_xticks(range(right - left), read[columns], rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(last - first), words[rows])
    for t, i in agreement.possible:  # white on black, to be seen on any ground
        if first <= t < last:
            assert left <= i < right  # no link is cut off
            size = 12 if (t, i) in agreement.sure else 7
            for colour, width in (("black", 4.2), ("white", 1.8)):
                marker = {"markersize": size, "markerfacecolor": "none", "markeredgecolor": colour}
                axes.plot(i - left, t - first, "o", markeredgewidth=width, **marker)
    most = A[rows].argmax(dim=-1)
    assert (left <= most).all() and (most < right).all()
    axes.plot((most - left).tolist(), range(last - first), "o", color=plots.VERMILLION, markersize=5, markeredgecolor="white")


figure, (axes,) = plots.canvas(7.6, 6.2)
draw_weights(A, axes)
axes.set_ylabel("French token (written)")
figure.colorbar(axes.images[0], ax=axes, label="attention weight")
show(
    figure,
    "Attention weights of the agreement sentence, French tokens in rows, English tokens in columns; sure gold links have large circles, possible ones small circles. "
    f"The largest weight lies on a circle in {sum((t, A[t].argmax().item()) in agreement.sure for t in range(len(A) - 1))} of "
    f"the {len(A) - 1} rows with a word or the full stop.",
)

# %% [markdown]
# **Figure 4.** Attention weights of the small model for the agreement sentence. An orange dot marks the largest weight
# of each row. Large circles mark pairs of tokens that translate each other (below: *sure links*), small ones a word
# with the noun or subject that it agrees with (*possible links*). The row of `[STOP]`, which ends every sentence, has
# none. The lines below name, for each of the other rows, the English token with the largest weight.

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
source = [*agreement.source, "[STOP]"]  # what the columns stand for
attends = " ".join(f"{word}→{source[row.argmax()]}" for word, row in zip(agreement.target, A))
print(textwrap.fill(attends, 100))
missed = [word for t, word in enumerate(agreement.target) if (t, A[t].argmax().item()) not in agreement.sure]
assert missed == ["la", "zone", "européenne", "signé"]

# %% [markdown]
# In ten of the fourteen rows the decoder attends most to the token that it translates. It misses *zone* and
# *européenne*, inside the block where it has to go backwards, and also *la* and *signé*, where it looks one token too
# far left. What we see in one sentence need not hold for others, which is why we now measure over many sentences how
# well the weights match the translation.
#
# A **link** is a pair of tokens that belong together, one in each language. **Gold links** are the reference with which
# we compare the model's links. Here the grammar that wrote the sentence provides this reference, which lets us count
# how often the attention weights agree with it. Each word of the translation has a row, and the model links the word to
# the input position with the largest weight in that row.
#
# Some gold links are **sure**: these join tokens that translate each other, and the model must find them. Others are
# only **possible**, and they are of two kinds. Some lead from a word to the noun or subject that it agrees with: from
# *la* to *area*, for example, since the feminine *zone* calls for *la* and not *le*. Others lead to a helping verb that
# French leaves out: from *mange* to *is* in *is eating*. A model may find such a link or leave it out without making an
# error. But a row gives only one link: if that is a possible one, the row's sure link is missed. Och and Ney (2003)
# describe the two kinds; in their data people decided which links are of which kind, whereas in ours a rule does.
#
# The **alignment error rate** (AER) compares the model's links with the gold ones. Let $A$ be the set of the model's
# links, $S$ the set of the sure links and $P$ the set of all gold links, sure or only possible. The letters are Och and
# Ney's; here they do not mean weights and states. For the agreement sentence our model gives $|A| = 14$ links, and
# there are $|S| = 14$ sure ones. Ten of its links are allowed, $|A \cap P| = 10$, and ten sure links are found, $|A
# \cap S| = 10$. The rate adds both counts, compares them with the most that they could be, $14 + 14$, and says how much
# is missing:
#
# $$\text{alignment error rate} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}$$
#
# Here it is $1 - 20 / 28 \approx 0.29$; this sentence is harder than most. The rate is 0 if the model has found all
# sure links and has no link outside $P$; it is 1 if none of its links is in $P$. With one link per row a model cannot
# quite reach 0, because *du* and *des* have two sure links where they translate *of the*. For comparison we also
# compute the rate of a rule that simply follows the diagonal: whatever the tokens are, it links each French token to
# the English token at the same fraction of the sentence. A stored run measures five small models, of which ours is the
# one with seed 0, and the three large models with attention from Figure 3.


# %%
def error_rate(links, pairs):
    """Alignment error rate of links against the sure and possible ones of the pairs, over all of them."""
    # pair.possible is P: it contains the sure links, too
    hits = sum(len(mine & pair.sure) + len(mine & pair.possible) for mine, pair in zip(links, pairs, strict=True))
    return 1 - hits / sum(len(mine) + len(pair.sure) for mine, pair in zip(links, pairs, strict=True))


# %% tags=["fold"]
# @title Checks the claims and prints the lines below
def aligned(model, pairs):
    """The alignment error rate on pairs, that of the diagonal, and the weights of the agreement sentence."""
    links, diagonal = [], []
    for pair in pairs:
        A = weights_of(model, pair)  # [T_y, T_x]
        T_x, T_y = len(pair.source), len(pair.target)
        links.append({(t, A[t].argmax().item()) for t in range(T_y)})
        diagonal.append({(t, round(t * (T_x - 1) / max(1, T_y - 1))) for t in range(T_y)})
    found = {"rate": error_rate(links, pairs), "diagonal": error_rate(diagonal, pairs)}
    return {**found, "weights": weights_of(model, agreement).tolist()}


if stored_runs.full():
    began = time.perf_counter()
    small = [aligned(*learned(AttentionTranslator, seed, **SHORT)[::2]) for seed in range(5)]
    results = {"small": small, "large": [aligned(model, pairs) for _, model, pairs in each]}
    seconds = time.perf_counter() - began
    stored_runs.keep("02_bahdanau_attention.alignment", results, seed="0 to 4 and 0 to 2", seconds=seconds)
record = stored_runs.load("02_bahdanau_attention.alignment")
here = aligned(seeing, fresh)
print(f"alignment error rate on new sentences, this model: {here['rate']:.2f}, the diagonal: {here['diagonal']:.2f}")
print(stored_runs.how(record))
assert here["rate"] < 0.2 and here["rate"] < 0.6 * here["diagonal"]
rows = torch.tensor(here["weights"])[: len(agreement.target)]
links = {(t, row.argmax().item()) for t, row in enumerate(rows)}
right, allowed = len(links & agreement.sure), len(links & agreement.possible)
rate = error_rate([links], [agreement])
assert (right, allowed, len(links), len(agreement.sure)) == (10, 10, 14, 14)
print(f"agreement sentence: {len(links)} links, {right} of {len(agreement.sure)} sure ones found, rate {rate:.2f}")
for name, found in record["results"].items():
    assert max(one["rate"] for one in found) < 0.4 * found[0]["diagonal"]
    rates = " ".join(f"{one['rate']:.2f}" for one in found)
    diagonal = sum(one["diagonal"] for one in found) / len(found)
    print(f"  {name} models, seed by seed: {rates}; the diagonal, on average: {diagonal:.2f}")

# %% tags=["fold"]
# @title Draws Figure 5
block = slice(agreement.target.index("la"), agreement.target.index("été") + 1)
read = slice(source.index("agreement"), source.index("signed") + 1)
large = [torch.tensor(one["weights"]) for one in record["results"]["large"]]
assert all(A[block, read].sum(dim=-1).min() > 0.97 for A in large)  # the other columns have almost no weight
figure, panels = plots.canvas(12, 3.9, 3, sharey=True)
for number, (A, axes) in enumerate(zip(large, panels, strict=True), 1):
    draw_weights(A, axes, title=f"run {number}", rows=block, columns=read)
panels[0].set_ylabel("French token (written)")
figure.colorbar(panels[-1].images[0], ax=panels, label="attention weight")
show(
    figure,
    "Attention weights of the three large models for the French tokens la zone économique européenne a été; sure links "
    "have large circles, possible ones small circles. "
    + " ".join(
        f"Run {number}: "
        + ", ".join(f"{agreement.target[t]} to {source[A[t].argmax()]}" for t in range(*block.indices(99)))
        + "."
        for number, A in enumerate(large, 1)
    ),
)

# %% [markdown]
# **Figure 5.** Part of the weights of the agreement sentence in the three large models of the stored run. Large circles
# mark the sure links, small ones the links that are only possible, and an orange dot the largest weight of each row.
#
# Nobody told the models which tokens belong together. Aligning them is a way to lower the loss, and all eight models
# have found it: their error rates are far below those of the diagonal. (The small and the large models were tested on
# different sentences; compare each size with its own diagonal.) The block, however, does not come out as expected. When
# they write *économique*, all eight models attend most to *economic*, but when they write *zone*, none of them attends
# most to *area*. Two of the large models (runs 2 and 3) go through the block from left to right, not backwards:
# *European* for *zone*, *economic* for *économique*, *area* for *européenne*. Of these three links only the second is
# sure; the last is possible. And yet, in the stored run, the three large models all translate the sentence without a
# mistake.
#
# How can a model attend to other tokens and still translate well? Our guess is that each encoder state also holds
# information on the neighbouring tokens: the state at *European* can know what comes next. The loss asks only for the
# right tokens; it does not ask from which state the decoder takes the information. Koehn and Knowles (2017) saw weights
# that were off by one position in a full-size translator from German to English. **Good translations do not guarantee a
# good alignment**, however sharp the weights look. Whether weights explain what a model does has been debated: Jain and
# Wallace (2019) found very different weights that led to almost the same predictions, and concluded that attention is
# no explanation; Wiegreffe and Pinter (2019) answered that this depends on what one asks of an explanation, and gave
# tests for it.

# %% [markdown]
# ## Follow the decoder step by step
#
# Here you can watch the trained decoder at work. The first slider chooses a sentence by its length; the model has not
# seen this sentence in training. The second slider chooses the token that the decoder is about to write.

# %% tags=["fold"]
# @title Explorer of Figure 6
examples = {}
for example in fresh:
    examples.setdefault(len(example.source), example)


def chosen(words):
    return examples[min(examples, key=lambda length: abs(length - words))]


def look_over(words, place):
    example = chosen(words)
    written, weights = translate(seeing, example.source)
    row = min(int(place), len(weights)) - 1
    return diagrams.reading([*example.source, "[STOP]"], [*written, "[STOP]"][: len(weights)], weights, row)


def say_where(words, place):
    example = chosen(words)
    written, weights = translate(seeing, example.source)
    row = min(int(place), len(weights)) - 1
    source, word = [*example.source, "[STOP]"], [*written, "[STOP]"][row]
    most = weights[row].argmax().item()
    right = "right" if written == list(example.target) else f"should be “{' '.join(example.target)}”"
    seen = f"“{word}” attends most to “{source[most]}”, weight {weights[row, most]:.2f}."
    return f"{seen} The whole translation: “{' '.join(written)}” ({right})."


explore(
    look_over,
    alt=say_where,
    words=Slider("words in the sentence", 4, 20, 10, 1),
    place=Slider("token that is written", 1, 24, 3, 1),
)

# %% [markdown]
# **Figure 6.** One step of the small model's decoder: the English sentence below, the translation above, with the token
# that is being written in orange and those still to come in grey. The thicker a line, the more weight the decoder gives
# to that English token.

# %% [markdown]
# ## Back to the agreement sentence
#
# A human translator looks at the source again before each part of the translation. What do our models write when they
# are left to themselves, so that at each step the decoder reads the token that it has just written? Here are the
# translations by the four models trained with the first seed of the stored run, first of the agreement sentence, then
# of a new sentence nearly twice as long.


# %% tags=["fold"]
# @title Prints the lines below
def side_by_side(number, English, right):
    """Prints an English sentence, its right translation, and what each model of the first seed writes."""
    lines = {"English": English, "right": right} | {name: runs[0][name]["writes"][number] for name in KINDS}
    for name, words in lines.items():
        print(textwrap.fill(words, 100, initial_indent=f"{name:>14}: ", subsequent_indent=" " * 16))


side_by_side(0, " ".join(agreement.source), " ".join(agreement.target))
print()
side_by_side(1, *runs[0]["asked"])

# %% [markdown]
# The agreement sentence is short enough to give the four models little trouble: only the model with one vector makes a
# mistake, writing *économique* once too often. In the longer sentence the three models without attention begin
# correctly with *le miroir est*, but soon lose the thread: some phrases come through, but out of place, repeated or
# with wrong words. Only the decoder that looks at the source again before each token gets the whole sentence right.

# %% [markdown]
# ## Attention ignores the order of the encoder states
#
# Does it matter to the scores, the softmax and the sum that $h_1, h_2, \dots$ form a sequence? We shuffle the encoder
# states and let the trained decoder take one step with the original states and one with the shuffled ones.

# %%
with torch.no_grad():
    x = torch.tensor([english.encode(agreement.source)], device=DEVICE)  # [1, T_x]
    H_all, s_first = seeing.encode(x)  # [1, T_x, D_H], [1, D_H]
    order = torch.randperm(H_all.shape[1], generator=generator).to(DEVICE)  # [T_x]
    previous = torch.tensor([START], device=DEVICE)
    plain = seeing.step(previous, s_first, H_all, seeing.U(H_all))
    shuffled = seeing.step(previous, s_first, H_all[:, order], seeing.U(H_all[:, order]))

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
assert torch.allclose(shuffled[2], plain[2][:, order], atol=1e-5)
assert torch.allclose(seeing.out(shuffled[0]), seeing.out(plain[0]), atol=1e-4)
print("the weights are shuffled like the states, up to an error of 1e-5")
print("the logits are the same, up to an error of 1e-4")

# %% [markdown]
# The weights move along with their states; the context vector, the logits and everything after them stay the same.
# **A step of the decoder makes no use of the order of the $h_i$**: for attention they are just a collection of vectors.
# What a step knows about the order must be contained in the states themselves: the encoder, reading token by token, has
# put into each $h_i$ something about the tokens around it, and the decoder's state remembers earlier steps.
#
# This is why the same mechanism can attend to an image (lesson 03), and why a Transformer, which has no recurrent
# encoder, needs a **positional encoding**, which tells it the position of each token (lesson 05). Later lessons use
# more general names: the decoder's state is a *query*, the encoder states are the *data vectors*, and the context
# vector is the *output*.

# %% [markdown]
# ## Summary
#
# | what | formula | shape |
# |---|---|---|
# | alignment scores | $e_{t,i} = f_{att}(s_{t-1}, h_i)$ | $[B, T_x]$ at each step |
# | additive, bilinear, dot | $v \cdot \tanh(s W + h U)$, $\; s W \cdot h$, $\; s \cdot h$ | a number for each pair |
# | attention weights | $a_t = \operatorname{softmax}(e_t)$ over $i$; padding gets $e_{t,i} = -\infty$ before it | $[B, T_x]$, sum 1 |
# | context vector | $c_t = \sum_i a_{t,i}\, h_i$ | $[B, D_H]$, a new vector at each step |
# | decoder step | $s_t = g_U(y_{t-1}, s_{t-1}, c_t)$ | $[B, D_S]$ |
# | cost | one score for every pair of an output and an input position | $T_y \cdot T_x$ scores |
# | alignment error rate | $1 - (\lvert A \cap S\rvert + \lvert A \cap P\rvert) / (\lvert A\rvert + \lvert S\rvert)$ | 0 is best |
#
# ```python
# c = F.scaled_dot_product_attention(s[:, None], H, H, scale=1.0)[:, 0]  # [B, 1, D_H], [B, T_x, D_H] twice -> [B, D_H]
# e = v(torch.tanh(W(s)[:, None] + U(H)))[..., 0]  # additive: nn.Linear W, U and v without bias -> [B, T_x]
# ```
#
# The picture to remember is Figure 2: the encoder states stay, the weights change from step to step, and each output
# token gets a context vector of its own.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> The softmax runs over $i$, the encoder states. What would go wrong if it ran over
# $t$?</summary>
#
# Each encoder state would divide its weight among the steps of the decoder. The weights of one step could have any sum,
# and the first steps could not be computed before the last scores are known.
#
# </details>
#
# <details><summary><b>2.</b> Leave the tanh out of the additive score. Why does every step then attend to the same
# tokens?</summary>
#
# $e_{t,i} = s_{t-1} W \cdot v + h_i U \cdot v$ is then the sum of a part that depends on the decoder and a part that
# depends on the token. The first part is the same for all $i$, and adding the same number to all scores does not change
# their softmax.
#
# </details>
#
# <details><summary><b>3.</b> A sentence has 30 tokens and its translation 28, <code>[STOP]</code> included in both. How
# many scores are computed? How many for a sentence and a translation twice as long?</summary>
#
# $30 \cdot 28 = 840$, and four times as many.
#
# </details>
#
# <details><summary><b>4.</b> The dot product needs states of equal width. What else does it take for granted?</summary>
#
# It assumes that decoder and encoder use their components for the same things: a large first component must mean the
# same in both. Trained together, the two can learn that, but their states serve other purposes, too. The bilinear score
# can translate between the two with its matrix $W$.
#
# </details>
#
# <details><summary><b>5.</b> At some step all the weight lies on one token. Has the model become sure of its
# translation?</summary>
#
# No. The model is sure where to attend, not what to write. The probabilities of the output tokens are computed later,
# from $s_t$ and $c_t$.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **Which decoder state is scored?** In Bahdanau's decoder it is the state before the step, $s_{t-1}$; in Luong's it
#   is the current state $s_t$. If your code confuses the two states, it raises no error but computes a different model.
# - **Padding.** Hide padding before the softmax, with scores of $-\infty$. Weights that are set to zero after the
#   softmax leave the others with a sum below 1.
# - **A score of 0 is not low.** Setting the scores of the padding to 0 does not hide it: $e^0 = 1$.
# - **Padding in a bidirectional encoder.** The half of the encoder that reads from the right reads the padding before
#   it reads the sentence. A mask for the attention weights does not prevent that;
#   `nn.utils.rnn.pack_padded_sequence` does.
# - **Broadcasting.** `W(s)` has shape $[B, D_A]$ and `U(H)` has shape $[B, T_x, D_A]$. Without the new axis the two can
#   still be added when $B = T_x$, and then sentences and positions are mixed up.
# - **Weights are not reasons.** They say how much of each state went into the context vector. The states have read
#   their neighbours, so a weight on one token may fetch information about another.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *"$f_{att}$ is a linear layer."* It is a network with one hidden layer. With a linear layer the weights would not
#   depend on the decoder at all (question 2).
# - *"Permutation invariant."* This is true of the order of the encoder states, but not of the order of the tokens that
#   the decoder writes.
# - One deck gives the French sentence both with *l'Espace économique européen* and with *la zone économique
#   européenne*. Both are used in French.
#
# </details>

# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/02_bahdanau_attention/02_bahdanau_attention.ipynb).
# - **Read on**: [lesson 03](03_image_captioning.ipynb) attends to the cells of an image instead of the tokens of a
#   sentence.
# - **Look up**: the [glossary](../docs/glossary.md).

# %% [markdown]
# ## References
#
# - D. Bahdanau, K. Cho, Y. Bengio (2015). Neural machine translation by jointly learning to align and translate. ICLR.
#   arXiv:1409.0473. *This lesson.*
# - M.-T. Luong, H. Pham, C. D. Manning (2015). Effective approaches to attention-based neural machine translation.
#   EMNLP. arXiv:1508.04025. *Dot, bilinear and additive scores of the current state; local attention, to a window of
#   positions.*
# - F. J. Och, H. Ney (2003). A systematic comparison of various statistical alignment models. Computational Linguistics
#   29(1). *Sure and possible links, alignment error rate.*
# - P. Koehn, R. Knowles (2017). Six challenges for neural machine translation. Workshop on Neural Machine Translation.
#   arXiv:1706.03872. *One of the six challenges: attention weights are not always an alignment.*
# - S. Jain, B. C. Wallace (2019). Attention is not explanation. NAACL. arXiv:1902.10186. *And the answer:* S.
#   Wiegreffe, Y. Pinter (2019). Attention is not not explanation. EMNLP. arXiv:1908.04626.
