# %% [markdown]
# # 01 · Sequence to sequence with RNNs
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/01_rnn_seq2seq.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - turn a sentence into one vector with a recurrent network, and turn that vector into a sentence in another language;
# - train such a translator with teacher forcing, leave padding out of its loss, and decode with it, greedily or with a
#   beam;
# - show by measurement that it fails on long sentences, and explain why: one vector of fixed size bounds what can get
#   through, and long before that bound is reached, it is hard to learn to pack a sentence into it.
#
# **You need** PyTorch basics (tensors, matrix products, modules, `backward`) and the softmax. No knowledge of attention
# is needed: this lesson builds the model whose weakness attention was invented to repair.
#
# **Time** about 75 minutes to read; the cells run in less than a minute on two CPU cores.

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
import itertools
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from utils.data.translation import PAD, START, STOP, batch, batches, corpus, lecture, vocabulary
from utils.device import device
from utils.figures import plots, seq2seq
from utils.figures.explorers import Slider, explore
from utils.figures.plots import show
from utils.measures import stored_runs
from utils.measures.translation_quality import bleu, token_accuracy
from utils.models.training import train

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()

# %% [markdown]
# ## Two sentences of different lengths
#
# Translate *"we see the sky"* into Italian, and *"we are eating bread"* into Spanish:

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
for name, language in (("sky", "italian"), ("bread", "spanish")):
    pair = lecture(name, language)
    print(
        f"{' '.join(pair.source)!r} ({len(pair.source)} words) → {' '.join(pair.target)!r} ({len(pair.target)} words)"
    )

# %% [markdown]
# Could a network simply translate word by word, with one output for each input? No: here four words become three,
# because Italian and Spanish verbs express *we* by their ending, and in other sentences the order of the words changes
# as well: *a red house* is *una casa rossa*. In general the input is a sequence $x_1, \dots, x_{T_x}$, the output is a
# sequence $y_1, \dots, y_{T_y}$, and the two lengths need not be equal; where only one sequence is meant, we write $T$
# for its length. We want a model that maps
#
# $$\text{a sequence of any length} \;\longrightarrow\; \text{another sequence, whose length is not known beforehand.}$$
#
# The best-known early neural translators of this kind (Kalchbrenner and Blunsom, 2013, one of their two models;
# Sutskever et al., 2014; Cho et al., 2014) divide the work between two networks. An **encoder** reads the input and
# turns it into one vector. From that vector, a **decoder** writes the output, one word after the other, and it also
# decides when the output is complete.
#
# First, words must become numbers. The course has a small grammar that generates sentences in English, French, Italian
# and Spanish, which gives us as many sentence pairs as we like without any download. The units that a model reads and
# writes are called **tokens**. Here each word is one token, and so is a full stop or an elided form such as *l'*; when
# we count the words of a sentence, we count these too. The **vocabulary** of a language is the list of all its tokens,
# and each token is represented by its index in this list. Three tokens are not words: `[PAD]` fills empty positions,
# `[START]` opens a translation that is about to be written, and `[STOP]` ends every sentence. From here on the lengths
# $T_x$ and $T_y$ count the `[STOP]`, but a number of *words* does not: *we see the sky* has 4 words and $T_x = 5$.

# %% tags=["nbval-check-output"]
english, italian = vocabulary("english"), vocabulary("italian")
pair = lecture("sky", "italian")

print(len(english), "English and", len(italian), "Italian tokens; the first three are", *italian.words[:3])
print(pair.source, "→", english.encode(pair.source))  # T_x = 5: from here on lengths count the [STOP]
print(pair.target, "→", italian.encode(pair.target))  # T_y = 4, likewise
print("and back:", italian.decode(italian.encode(pair.target)))

# %% [markdown]
# ## A recurrent step
#
# How can one network read sentences of any length? A **recurrent neural network** (RNN) reads one token at a time and
# keeps a **hidden state** $h$, a vector of $D_H$ numbers that summarises what the network has read so far. Each token
# updates the hidden state:
#
# $$h_t = f_W(x_t, h_{t-1}), \qquad \text{in the simplest case} \qquad h_t = \tanh(x_t W_x + h_{t-1} W_h + b)$$
#
# Here $W$ stands for all weights of the network. Because the network applies the same function with the same weights at
# every step, it can read a sentence of any length. In this formula $x_t$ is a vector, the **embedding** of the token at
# position $t$. It comes from a learned table (`nn.Embedding`), which has one row of $D_E$ numbers for each token of the
# vocabulary.

# %%
D_E, D_H = 5, 7  # small enough to print
torch.manual_seed(1)
table = nn.Embedding(len(english), D_E, device=DEVICE)
numbers = torch.tensor(english.encode(pair.source), device=DEVICE)  # [T]: we see the sky [STOP]
X = table(numbers).detach()  # [T, D_E], one row of the table for each token

# %% tags=["fold"]
# @title Computes rnn, W_x, W_h, b
assert torch.equal(X[1], table.weight[english.numbers["see"]])  # a lookup, nothing else

rnn = nn.RNN(D_E, D_H, batch_first=True, device=DEVICE)
W_x, W_h = rnn.weight_ih_l0.detach().T, rnn.weight_hh_l0.detach().T  # [D_E, D_H], [D_H, D_H]; in torch, transposed
b = (rnn.bias_ih_l0 + rnn.bias_hh_l0).detach()  # [D_H]; torch has two biases, which only ever add up

# %% [markdown]
# To read a whole sentence, the network repeats the step, each time from the hidden state that the previous step has
# produced. In code, the formula becomes the one line of a loop. The weights $W_x$ `[D_E, D_H]`, $W_h$ `[D_H, D_H]` and
# $b$ `[D_H]` are taken from torch's own `nn.RNN` (in the folded cell above), which runs the same loop in one call:

# %% tags=["nbval-check-output"]
h = torch.zeros(D_H, device=DEVICE)  # [D_H], nothing has been read yet
states = []
for x in X:  # x [D_E]
    h = torch.tanh(x @ W_x + h @ W_h + b)  # [D_E] @ [D_E, D_H] + [D_H] @ [D_H, D_H] + [D_H] -> [D_H]
    states.append(h)
H = torch.stack(states)  # [T, D_H]
print("the last hidden state:", [round(value, 2) for value in H[-1].tolist()])

all_states, last_state = rnn(X[None])  # [1, T, D_E] -> [1, T, D_H], and [layers, 1, D_H]

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
assert_close(all_states[0], H, atol=1e-5, rtol=0)
assert_close(last_state[0, 0], H[-1], atol=1e-5, rtol=0)
print("our loop and nn.RNN agree: the differences are below 1e-5")

# %% [markdown]
# ## Gates: a hidden state that can keep
#
# **Does the hidden state remember the first word?** To find out, we change this word from *we* to *they* and measure
# how far each hidden state moves. The network is not trained yet.

# %% tags=["nbval-check-output"]
other = torch.tensor(english.encode(["they", *pair.source[1:]]), device=DEVICE)  # [T]
moved = (rnn(table(other)[None])[0][0] - H).norm(dim=-1)  # [T]
print("the hidden states differ by", [round(value, 3) for value in moved.tolist()])

# %% [markdown]
# The trace of the first token fades from step to step, because each step multiplies the old hidden state by $W_h$,
# whose weights are small here, and squeezes the result through a tanh.
#
# Training suffers from the same fading. On its way forward, a small change of a token is multiplied at each step by
# $W_h$ and by the slopes of the tanh, which are at most 1. By the chain rule, the gradient is multiplied by the same
# factors on its way back, with $W_h$ transposed. A token that hardly affects the last hidden state therefore also
# receives a small gradient. The step that read this token then contributes almost nothing to the gradient of the shared
# weights, and training hardly learns to keep the token. This is the **vanishing gradient**. With large weights the
# gradient can instead grow without bound, which is called the *exploding gradient*. That is why training loops use
# *gradient clipping*: they scale a gradient down if its norm is too large.

# %% tags=["nbval-check-output"]
words = X.clone().requires_grad_()  # [T, D_E]
rnn(words[None])[1].sum().backward()  # from the last hidden state back to every token
reach = words.grad.norm(dim=-1)  # [T]
print("gradient from the last hidden state to each token", [round(value, 3) for value in reach.tolist()])

# %% [markdown]
# At the first token, *we*, the gradient has a norm of 0.02; at the last, `[STOP]`, it is more than 25 times as
# large. Only four steps lie between the two.
#
# How could a hidden state keep a number over many steps? It can if a **gate** decides, for each number, how much of the
# old value to *keep* and how much of a new one to *write*. A gate is a small layer with a sigmoid $\sigma$, so its
# outputs lie between 0 and 1. The **gated recurrent unit** (**GRU**; Cho et al., 2014) has two gates. The older
# **LSTM** (Hochreiter and Schmidhuber, 1997) is built on the same idea, although its gate for keeping was added only
# later, by Gers et al. (2000). Here is the variant of the GRU that torch computes, where $\odot$ is the elementwise
# product of two vectors. Read it from the end: the new state $h_t$ mixes the old state with a proposal $n_t$, and the
# gate $z_t$ says in what proportion; the gate $r_t$ says how much of the old state the proposal sees:
#
# $$z_t = \sigma(x_t W_{xz} + h_{t-1} W_{hz} + b_z), \qquad r_t = \sigma(x_t W_{xr} + h_{t-1} W_{hr} + b_r)$$
# $$n_t = \tanh\big(x_t W_{xn} + b_{xn} + r_t \odot (h_{t-1} W_{hn} + b_{hn})\big), \qquad
# h_t = z_t \odot h_{t-1} + (1 - z_t) \odot n_t$$

# %% tags=["fold"]
# @title Draws Figure 1
assert moved[0] > 5 * moved[-1] > 0
assert reach[-1] > 3 * reach[0]

show(
    seq2seq.gated_step(),
    "One step of a GRU. A thick straight line leads from the old hidden state at the upper left to the new one at the upper "
    "right; on it the state is multiplied by the gate z, which is marked keep, and then something is added. What is added is "
    "the proposal n times one minus z, marked write. Below, the gates z and r and the proposal n are all computed from the "
    "input x and the old hidden state; an arrow leads to n from r, which is marked: what n sees of the old hidden state.",
)

# %% [markdown]
# **Figure 1.** One step of a GRU. Along the thick straight path at the top, only two operations change the old hidden
# state: it is multiplied by the gate $z_t$, and then $(1 - z_t) \odot n_t$ is added. The gates and the proposal $n_t$
# read the input $x_t$ and the old hidden state.
#
# Where $z_t$ is close to 1, the old number passes almost unchanged to the next step, and on the way back so does the
# gradient. An untrained GRU forgets as well, but a GRU *can learn* which numbers to keep.
#
# In PyTorch, `nn.GRU` is used just like `nn.RNN` and returns tensors of the same shapes; from here on we use GRUs. A
# translator of plain RNNs or LSTMs would be built in the same way and would have the same bottleneck.
#
# ## Encoder and decoder: one context vector for a sentence
#
# To translate, the decoder needs the content of the whole sentence. The simplest way to hand it over is one vector of
# fixed size.
#
# **Encoder.** The encoder reads the sentence, and its last hidden state depends on every token. This state becomes the
# **context vector** $c = h_T$, and the decoder receives nothing else about the input. The size of the context vector
# does not depend on the length of the sentence:

# %% tags=["nbval-check-output"]
torch.manual_seed(1)
reader = nn.GRU(D_E, D_H, batch_first=True, device=DEVICE)
for words in (["we", "see", "the", "sky"], lecture("agreement", "italian").source):
    read = table(torch.tensor(english.encode(words), device=DEVICE))[None]  # [1, T, D_E]
    _, last = reader(read)  # [1, 1, D_H]
    print(f"{len(words):>2} words → c of {last.numel()} numbers")

# %% [markdown]
# **Decoder.** The decoder is a second recurrent network, with a hidden state $s$ and weights of its own. It writes one
# token at each step:
#
# $$s_t = g_U(y_{t-1}, s_{t-1}, c), \qquad P(y_t \mid y_{<t}, x) = \operatorname{softmax}(s_t W_{out} + b_{out})$$
#
# Here $x$ is the whole source sentence, $y_{<t}$ are all tokens before $y_t$, and $U$ stands for the decoder's weights.
# The decoder's first state is the context vector, $s_0 = c$. At each step it receives $c$ and the token that it has
# just written; at the first step, when nothing has been written yet, $y_0 =$ `[START]` takes that token's place.
# Because $c$ comes in again at every step, the decoder need not carry the whole sentence in its own state while it
# writes.
#
# To choose a token, the output layer gives each of the $V$ tokens of the target vocabulary a number. These numbers are
# called **logits**, and the softmax turns them into probabilities. The translation is complete when the decoder writes
# `[STOP]`: this is how it decides on the length of its output.

# %%
torch.manual_seed(1)
written_table = nn.Embedding(len(italian), D_E, device=DEVICE)
writer = nn.GRUCell(D_E + D_H, D_H, device=DEVICE)  # a single step of an nn.GRU
out = nn.Linear(D_H, len(italian), device=DEVICE)

c = reader(table(numbers)[None])[1][0, 0]  # [D_H], the context vector of "we see the sky [STOP]"
s = c  # [D_H], s_0
y = torch.tensor(START, device=DEVICE)
given = torch.cat([written_table(y), c])  # [D_E + D_H], the last token and the context vector
s = writer(given[None], s[None])[0]  # [D_H], s_1
P = out(s).softmax(dim=-1)  # [V], a probability for each token

# %% tags=["fold"]
# @title Draws Figure 2
assert P.shape == (len(italian),) and abs(P.sum().item() - 1) < 1e-5

seeded = torch.Generator().manual_seed(3)
made_up = [torch.tanh(torch.randn(T, 12, generator=seeded)) for T in (5, 4)]  # [5, 12] and [4, 12]
show(
    seq2seq.encoder_decoder([*pair.source, "[STOP]"], ["[START]", *pair.target], [*pair.target, "[STOP]"], *made_up),
    "The encoder reads we, see, the, sky, STOP from left to right; each token makes a new state from the one before. The "
    "last state is the context c. The decoder starts from c, which also goes to each of its steps; it is fed START and "
    "writes vediamo, is fed vediamo and writes il, then cielo, then STOP.",
)

# %% [markdown]
# **Figure 2.** The encoder and the decoder for *we see the sky*, unrolled in time, with made-up hidden states. Each
# strip is one hidden state, with a cell for each number, from dark blue (−1) to yellow (1). The wider strip in the
# middle is the context vector: a copy of the encoder's last state, which becomes the decoder's first state and, along
# the orange line, enters each of the decoder's steps. Each token that the decoder writes (top) is fed to its next step
# (bottom, along a dotted line).
#
# Since $s_0 = c = h_T$, the hidden states of both networks have the same size $D_H$. One can also compute $s_0$ from
# the encoder's states with a small layer, as lesson 02 does.
#
# ### What if T = 1000?
#
# Everything that the decoder knows about the input has passed through $c$. For *we see the sky* this seems enough:
# there are five tokens, and a whole vector to hold them. Now suppose that the input is a long text of $T = 1000$
# tokens. The encoder computes 1000 hidden states on its way, but the decoder receives only the last one, which still
# has $D_H$ numbers. Every name, every date and every *not* of the text must be stored in them, and the trace of the
# first token must survive 999 further steps. Here is how much room that leaves for each token if $D_H$ is 128:

# %% tags=["fold"]
# @title Draws Figure 3
show(
    seq2seq.bottleneck((5, 31, 1000), 128),
    "Three panels with a small square for each token below and for each number of the context vector above. Five tokens are "
    "far fewer than the 128 numbers; 1000 tokens fill a large block below the same 128 numbers.",
)

# %% [markdown]
# **Figure 3.** The context vector (orange, one square for each number) and the tokens that it has to hold (grey, one
# square for each token): for a short sentence, for one of 30 words and `[STOP]`, the longest in the stored experiment
# below, and for a long text.
#
# Could a clever encoder pack any 1000 tokens into 128 numbers? A count of bits shows that it could not. To name one
# of our 112 English tokens, if all are equally likely, takes $\log_2 112 \approx 6.8$ bits, so 1000 of them take
# about 6,800. But 128 numbers of 32 bits each have only 4,096 bits.
#
# The context vector is thus the **bottleneck** of the model. We use this word whether the limit is the room in $c$ or
# the difficulty of learning to use that room, and an experiment below asks which of the two it is. A larger $D_H$
# widens the bottleneck, but at a price, since the number of weights in a GRU grows with $D_H^2$. And whatever $D_H$ we
# choose, $c$ keeps its size while sentences grow.
#
# At what length does the bottleneck begin to hurt? The count of bits does not tell us. A sentence of 31 tokens takes
# only about 210 bits, but a network must also *learn* to pack the tokens in such a way that the decoder can unpack
# them. How well it does so has to be measured on a trained translator, and the next four sections build one.

# %% [markdown]
# ## Teacher forcing
#
# How do we train this model? An untrained decoder writes nonsense, and if we fed that nonsense back to it, there
# would be no correct next token to train on. During training we therefore always feed it the **correct** previous
# token $y_{t-1}$, no matter what it has predicted itself. This method is called **teacher forcing**. It gives each
# step a clear question to answer: given the correct **prefix**, that is, all tokens before this one, which token
# comes next?

# %% tags=["fold"]
# @title Draws Figure 4
show(
    seq2seq.teacher_forcing([*pair.target, "[STOP]"], guesses=["vediamo", "la", "cielo", "[STOP]"]),
    "Three rows of tokens. Fed in, below: START, vediamo, il, cielo. To predict, above: vediamo, il, cielo, STOP; dotted arrows "
    "lead from each of the first three to the next place in the bottom row. Predicted, in the middle: vediamo, la, cielo, STOP; "
    "la has a thick red frame.",
)

# %% [markdown]
# **Figure 4.** Teacher forcing uses the same tokens twice: as the tokens that the decoder should predict (top row) and
# as its input (bottom row), shifted by one position, so that the decoder never sees a token before it has had to
# predict that token. In the middle is what it might predict itself. At $t = 2$ its likeliest token is wrong. The
# correct *il* then has at most half of the probability, so the loss there is at least $\log 2$; the other steps add
# theirs, too. As the dotted arrows show, the next step is fed the *correct* token.
#
# A common mistake is to forget this shift; question 2 at the end asks what happens then.
#
# The loss is the **cross-entropy**, that is, the mean of $-\log P(y_t \mid y_{<t}, x)$ over the tokens of the target
# sentence, with the natural logarithm. Its values have a useful point of reference: a model that gives each of the $V$
# tokens the same probability $1/V$ has the loss $\log V$.

# %% tags=["nbval-check-output"]
y_right = torch.tensor(italian.encode(pair.target), device=DEVICE)  # [T_y]: vediamo il cielo [STOP]
y_fed = torch.cat([torch.tensor([START], device=DEVICE), y_right[:-1]])  # [T_y]: [START] vediamo il cielo

s, loss = c, 0.0
for fed, right in zip(y_fed, y_right):
    s = writer(torch.cat([written_table(fed), c])[None], s[None])[0]  # [D_H]
    loss = loss - out(s).log_softmax(dim=-1)[right] / len(y_right)
print(f"loss of the untrained decoder: {loss:.1f}, log V: {torch.tensor(float(len(italian))).log():.1f}")

# %% [markdown]
# ## Many sentences at once: padding
#
# Training on one sentence at a time is slow, so we train on batches. A batch is a rectangular tensor, but its sentences
# have different lengths, and we fill the shorter ones up with `[PAD]` tokens, the **padding**. What does a network do
# with a `[PAD]`?

# %% tags=["fold"]
# @title Draws Figure 5
lines = ["we see the sky", "they often read the small book", "she drinks water"]
show(
    seq2seq.padded_batch([[*line.split(), "[STOP]"] for line in lines]),
    "Three sentences as rows of a table, the shorter ones filled up with PAD at the end. The STOP of each sentence is framed: "
    "there is the state that has read just this sentence; only in the second row is it also the end of the row.",
)

# %% [markdown]
# **Figure 5.** A batch of three sentences with padding. The frames mark the last token of each sentence, and the hidden
# state at this position is the context vector that we want. Only for the longest sentence is it also the last position
# of the row.
#
# Padding causes trouble in two places, the encoder and the loss.
#
# **In the encoder.** A recurrent network does not stop at the end of a sentence but reads on through the padding. The
# state in the last column of the batch is then the state after the sentence *and some padding*, while the context
# vector that we want is the state at the end of the sentence itself, at the framed position:

# %% tags=["nbval-check-output"]
sky = torch.tensor(english.encode("we see the sky".split()), device=DEVICE)  # [T] = [5]
longer = F.pad(sky, (0, 2), value=PAD)  # [7], as in the batch above
H_padded, h_last = reader(table(longer)[None])  # [1, 7, D_H], [1, 1, D_H]
c_right = reader(table(sky)[None])[1][0, 0]  # [D_H], without any padding

print(f"distance from c, last position of the row: {(h_last[0, 0] - c_right).norm():.2f}")
print(f"distance from c, end of the sentence:      {(H_padded[0, len(sky) - 1] - c_right).norm():.2f}")

# %% [markdown]
# For a whole batch, we index with two vectors: the row numbers, and each row's last position. This gives one context
# vector for each sentence. The lengths also give a boolean **mask**, which is True at tokens and False at padding. The
# encoder does not need it here, but the loss below does.

# %% tags=["nbval-check-output"]
lengths = torch.tensor([5, 7, 4], device=DEVICE)  # [B], of the three sentences above with their [STOP]
H_batch = torch.randn(3, 7, D_H, device=DEVICE)  # [B, T, D_H], in place of an encoder's states
ends = H_batch[torch.arange(3, device=DEVICE), lengths - 1]  # [B, D_H]: row 0 at position 4, row 1 at 6, row 2 at 3
words_at = torch.arange(7, device=DEVICE) < lengths[:, None]  # [B, T], True at tokens
print(words_at.int().tolist())

# %% [markdown]
# **In the loss.** At a padded position there is no correct token to predict. If these positions counted, the model
# would be trained to write `[PAD]`, and because this is easy, a batch with much padding would have a low loss. The mean
# therefore runs over the real tokens alone, which is what torch's `cross_entropy` computes when `ignore_index` names
# the token to leave out:

# %%
torch.manual_seed(2)
logits = torch.randn(3, 4, len(italian), device=DEVICE)  # [B, T_y, V]
y_batch = torch.tensor([[9, 4, 7, STOP], [5, STOP, PAD, PAD], [8, 3, STOP, PAD]], device=DEVICE)  # [B, T_y]

real = y_batch != PAD  # [B, T_y], True at tokens
log_P = logits.log_softmax(dim=-1)  # [B, T_y, V]
loss_masked = -log_P[real].gather(-1, y_batch[real][:, None]).mean()  # [9, V] and [9, 1] -> [9, 1], the real tokens
loss_torch = F.cross_entropy(logits.flatten(0, 1), y_batch.flatten(), ignore_index=PAD)

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
assert torch.equal(ends[2], H_batch[2, 3])

total, words = 0.0, 0  # the same loss by hand
for row, right in zip(logits, y_batch):
    for place, word in zip(row, right):
        if word != PAD:
            total, words = total - place.log_softmax(dim=-1)[word], words + 1

assert words == 9
assert_close(loss_masked, total / words)
assert_close(loss_torch, loss_masked)
print(f"a loop over the {words} real tokens, the masked mean and torch's loss agree up to 1e-4")

# %% [markdown]
# ## Training a translator
#
# Here is the whole translator. Teacher forcing makes every input of the decoder known beforehand, so that one `nn.GRU`
# computes all its steps in a single call. We draw each batch from English sentences of equal length, a shortcut that
# spares the encoder the indexing shown above: the last column is every sentence's `[STOP]`. Their translations still
# differ in length, so the loss must leave out the padding of the targets.


# %%
class Translator(nn.Module):
    """Encoder and decoder with one context vector of D_H numbers between them (English to Italian)."""

    def __init__(self, D_H, D_E=48):
        super().__init__()
        self.read = nn.Embedding(len(english), D_E)
        self.encoder = nn.GRU(D_E, D_H, batch_first=True)
        self.wrote = nn.Embedding(len(italian), D_E)
        self.decoder = nn.GRU(D_E + D_H, D_H, batch_first=True)
        self.out = nn.Linear(D_H, len(italian))

    def encode(self, x):
        """All hidden states [B, T, D_H] for tokens x [B, T]; the context vector is the last one."""
        return self.encoder(self.read(x))[0]

    def decode(self, y, s, c):
        """States [B, T_y, D_H] for tokens y [B, T_y] that are fed in, from state s [B, D_H] and context c [B, D_H]."""
        given = torch.cat([self.wrote(y), c[:, None].expand(-1, y.shape[1], -1)], dim=-1)  # [B, T_y, D_E + D_H]
        return self.decoder(given, s[None])[0]


def translation_loss(model, batch):
    """Cross-entropy of the correct tokens, with teacher forcing, padding left out."""
    batch = batch.to(DEVICE)
    c = model.encode(batch.source)[:, -1]  # [B, D_H]
    fed = F.pad(batch.target, (1, 0), value=START)[:, :-1]  # [B, T_y]: [START] in front, the last position cut off
    logits = model.out(model.decode(fed, c, c))  # [B, T_y, V]
    return F.cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=PAD)


# %% [markdown]
# On this page we train one translator, with hidden states of **width** $D_H = 128$. The function `train` comes from the
# course's package. It is an ordinary training loop with Adam, a learning rate that rises and then falls to zero, and
# gradient clipping. Around it, `learn` also notes which sentences were drawn; we shall need them later.


# %%
def learn(model, pairs, steps, rate, seed, what):
    """Trains the model on drawn batches; returns the loss at each step, and the English sentences that were drawn."""
    drawn = set()

    def stream():
        for some in batches(pairs, "italian", size=64, steps=steps, seed=seed):
            drawn.update(pair.source for pair in some.pairs)
            yield some

    return train(model.to(DEVICE), stream(), translation_loss, steps=steps, rate=rate, what=what), drawn


SEED, STEPS = 1, 800
pairs = corpus("italian", 24000, 3, 22, seed=SEED)  # sentences of 3 to 22 words
torch.manual_seed(SEED)
model = Translator(D_H=128)
losses, drawn = learn(model, pairs, STEPS, 8e-3, SEED, "training")


# %% tags=["fold"]
# @title Draws Figure 6
def smoothed(curve, over):
    """The mean of each `over` steps."""
    return [sum(curve[start : start + over]) / over for start in range(0, len(curve) - over + 1, over)]


# one context vector has one colour in the whole course: the wider, the darker; 128 as in the figures of lesson 02
TONES = {64: "#E88A45", 128: plots.SHADES["one vector"], 256: "#6E3000"}
MARKS = {64: "^-", 128: "o-", 256: "D-"}
TONES, MARKS = ({f"width {width}": look for width, look in looks.items()} for looks in (TONES, MARKS))
NO_SOURCE, GUESS = "no source", "log V"
FLOOR = f"{NO_SOURCE} (floor)"  # of the accuracy; among losses it is the highest curve
TONES |= {NO_SOURCE: plots.BLACK, FLOOR: plots.BLACK, GUESS: plots.GREY}
MARKS |= {FLOOR: "s--", GUESS: ":"}

OVER = 20
log_V = torch.tensor(float(len(italian))).log().item()
ends = range(OVER, STEPS + 1, OVER)
curves = {"width 128": smoothed(losses, OVER), GUESS: [log_V] * (STEPS // OVER)}
figure, (axes,) = plots.canvas(7, 3.4)
plots.curves(
    ends,
    curves,
    x_label="step",
    y_label="loss: mean −log P per token",
    axes=axes,
    styles={"width 128": "-", GUESS: ":"},
    colours=TONES,
)
axes.set_ylim(0, 5.6)
assert curves["width 128"][-1] < 1.2, "the loss should end far below log V"
show(
    figure,
    "Training loss over the steps. It falls from near log V, which is a dotted line at 5.3, steeply at first and then more and "
    f"more slowly, and ends at {curves['width 128'][-1]:.1f}.",
)

# %% [markdown]
# **Figure 6.** The training loss of the translator on this page; each point is the mean over 20 steps. Before training,
# the loss is about $\log V \approx 5.3$, the dotted line, as for any model that gives all tokens about the same
# probability.
#
# Not all of the drop from this value is due to translation. Even a decoder without any source could learn from the
# Italian sentences alone which tokens are frequent and in what order they follow one another; we shall train such a
# decoder for comparison.
#
# **Has the encoder learned to keep the first token?** We repeat the two measurements from the section on gates, now on
# this encoder, a GRU of width 128, before and after training. Each becomes a ratio. First, when *we* is changed to
# *they*: how far the last hidden state moves, divided by how far the first one moves. Second, the gradient at the first
# token, divided by the gradient at the last. If the first token is forgotten, both ratios are close to 0.

# %%
torch.manual_seed(SEED)
stages = {"untrained": Translator(D_H=128).to(DEVICE), "trained": model}
kept, reached = {}, {}
both = torch.stack([numbers, other])  # [2, T]: we see the sky, they see the sky
for stage, one in stages.items():
    H_we, H_they = one.encode(both).detach()  # [T, D_H] each
    moved = (H_they - H_we).norm(dim=-1)  # [T]
    words = one.read(numbers).detach().requires_grad_()  # [T, D_E]
    one.encoder(words[None])[1].sum().backward()
    reach = words.grad.norm(dim=-1)  # [T]
    kept[stage], reached[stage] = moved[-1] / moved[0], reach[0] / reach[-1]
    print(f"{stage + ':':<11} change that is left {kept[stage]:.2f}, gradient first to last {reached[stage]:.2f}")
assert kept["trained"] > 2 * kept["untrained"]
assert reached["trained"] > 2 * reached["untrained"]

# %% [markdown]
# Both ratios are now several times as large: the encoder has learned to keep the first of five tokens, as the straight
# path of Figure 1 allows. The ratio of the gradients may even exceed 1: the last hidden state (more exactly, the sum of
# its numbers) then depends more strongly on *we*, four steps back, than on the `[STOP]` just read. Whether it can keep
# a long sentence is the question of the section after next.

# %% [markdown]
# ## Greedy decoding
#
# When the model translates a new sentence, nobody knows the correct tokens, so the decoder is fed the tokens that it
# has written itself. The simplest choice is to take the most likely token at each step, which is called **greedy
# decoding**. It ends with `[STOP]`, or after a number of tokens that no translation should exceed.
#
# Decoding differs from training in one respect: the prefix now comes from the decoder itself. A single wrong token
# yields a prefix that does not belong to the sentence, which never happens in training, and further errors may follow.
# This problem is known as **exposure bias**, and a measurement further below sets an upper bound on its cost.


# %%
@torch.no_grad()
def translate(model, words, limit=90):
    """Translates English words greedily; gives the words, and the states of encoder and decoder."""
    x = torch.tensor([english.encode(words)], device=DEVICE)  # [1, T]
    H = model.encode(x)  # [1, T, D_H]
    c = s = H[:, -1]  # [1, D_H]
    y = torch.tensor([[START]], device=DEVICE)
    written, S = [], []
    for _ in range(limit):
        s = model.decode(y, s, c)[:, -1]  # [1, D_H]
        y = model.out(s).argmax(dim=-1)[:, None]  # [1, 1], the most likely token
        S.append(s[0])
        if y.item() == STOP:
            break
        written.append(italian.words[y.item()])
    return written, H[0], torch.stack(S)


print("we see the sky →", " ".join(translate(model, pair.source)[0]))

# %% [markdown]
# The correct translation is *vediamo il cielo*. A wrong translation need not look wrong, because a decoder can learn to
# write good Italian from the target sentences alone and then answer with a flawless sentence that has nothing to do
# with the English one.
#
# **Step through it.** The explorer below shows our translator at work on *we see the sky* and on sentences that are not
# among its training sentences. The first slider chooses the number of words in the sentence, and the second how many
# steps are done: at first each step reads a token, later each step writes one. Try a long sentence, and look for the
# first mistake; the line below the figure gives the correct translation.

# %% tags=["fold"]
# @title Explorer of Figure 7
known = {one.source for one in pairs}
fresh = [one for one in corpus("italian", 450, 3, 22, seed=SEED + 100) if one.source not in known]  # for judging
examples = {}
for example in [lecture("sky", "italian"), *fresh]:
    examples.setdefault(len(example.source), example)


def step_through(words, steps):
    example = examples[min(examples, key=lambda length: abs(length - words))]
    written, H, S = translate(model, example.source)
    shown = [*written, "[STOP]"][: len(S)]
    source = [*example.source, "[STOP]"]
    pairs_of_words = zip(shown, [*example.target, "[STOP]"])  # the written and the right ones
    mistake = next((t for t, (word, right) in enumerate(pairs_of_words) if word != right), None)
    fed, options = ["[START]", *shown[:-1]], {"steps": int(steps), "mistake": mistake}
    return seq2seq.encoder_decoder(source, fed, shown, H[:, :24], S[:, :24], **options)


def describe(words, steps):
    example = examples[min(examples, key=lambda length: abs(length - words))]
    written = translate(model, example.source)[0]
    right = "right" if written == list(example.target) else f"should be “{' '.join(example.target)}”"
    done = min(int(steps), len(example.source) + 1 + len(written) + 1)
    return f"After {done} steps on “{' '.join(example.source)}”. In the end it writes “{' '.join(written)}” ({right})."


every_step = sum(len(states) for states in translate(model, examples[13].source)[1:])  # of both parts
explore(
    step_through,
    alt=describe,
    words=Slider("words in the sentence", 4, 16, 13, 1),
    steps=Slider("steps done", 1, 34, min(every_step, 34), 1),
)

# %% [markdown]
# **Figure 7.** Our translator after some of its steps. Each strip shows the first 24 numbers of a hidden state,
# from dark blue (−1) to yellow (1). Above the decoder's states are the tokens that it has written, with the first
# mistake, if there is one, in red; steps still to come are grey.
#
# ## The bottleneck: how much gets through one vector?
#
# We now return to the question of the long input. The $D_H$ numbers of $c$ may be enough for a short sentence, but
# are they enough for one of twenty words, and does a wider hidden state help?
#
# We let the translator translate sentences that it has never seen, and group the results by the length of the
# sentence. Two measures tell how good the translations are. **Token accuracy** is the fraction of the correct
# translation's positions at which ours has the same token. It is a strict measure, since one missing token shifts
# all that follow. **BLEU** (Papineni et al., 2002) looks at all runs of one, two, three and four successive tokens of
# the translation and measures what fraction of them also occurs in the correct translation, wherever that may be. It
# deducts points if the translation is too short, and its scale goes from 0 to 100. Neither measure counts the `[STOP]`.
#
# To see the difference, we leave out the first of five words. All other words are then at a wrong position, and the
# token accuracy is 0. But every run of them still occurs in the correct sentence, and BLEU takes off points only for
# the missing word:

# %% tags=["nbval-check-output"]
five = "trova una piccola casa rossa".split()
print(f"accuracy {token_accuracy(five[1:], five):.2f}, BLEU {bleu([five[1:]], [five]):.0f}")

# %% [markdown]
# <details><summary>Going further: how BLEU is computed</summary>
#
# A run of $n$ tokens is called an *n-gram*. For $n = 1, 2, 3, 4$, BLEU takes the precision $p_n$: the fraction of the
# translation's n-grams that also occur in the correct sentence, each counted at most as often as it occurs there. BLEU
# is the geometric mean of the four precisions, times a penalty for translations that are too short:
#
# $$\text{BLEU} = 100 \cdot \min\big(1, e^{1 - r/c}\big) \cdot (p_1\, p_2\, p_3\, p_4)^{1/4}$$
#
# In this formula $c$ is, as in the paper, the number of tokens in all translations, and $r$ is the number of tokens
# in all correct sentences. In the example above all four precisions are 1, and the penalty alone lowers the score, to
# $100 \cdot e^{1 - 5/4}$.
#
# If not a single 4-gram of a whole group is correct, then $p_4 = 0$ and BLEU is 0. For the shortest sentences, which
# have few 4-grams, this happens to a weak translator.
#
# </details>


# %% tags=["fold"]
# @title Checks the claims and prints the lines below
EDGES = [3, 7, 11, 15, 19, 23, 27, 31]  # groups of sentences by their number of words
groups = [(low, high - 1) for low, high in itertools.pairwise(EDGES)]


def grouped(pairs, groups):
    return [[one for one in pairs if low <= len(one.source) <= high] for low, high in groups]


def by_length(model, pairs, groups):
    """Token accuracy and BLEU of greedy translations, for sentences of low to high words for each of the groups."""
    found = {"accuracy": [], "bleu": []}
    for asked in grouped(pairs, groups):
        ours = [translate(model, one.source)[0] for one in asked]
        right = [list(one.target) for one in asked]
        found["accuracy"].append(sum(map(token_accuracy, ours, right)) / len(asked))
        found["bleu"].append(bleu(ours, right))
    return found


live = by_length(model, fresh, groups[:-2])  # up to 22 words, as in training
print("words         " + "".join(f"{f'{low}–{high}':>7}" for low, high in groups[:-2]))
print("token accuracy" + "".join(f"{value:7.2f}" for value in live["accuracy"]))
print("BLEU          " + "".join(f"{value:7.0f}" for value in live["bleu"]))
assert live["accuracy"][-1] < 0.75 * live["accuracy"][0], "long sentences should be clearly worse than short ones"

# %% [markdown]
# For our translator, the quality is lower on long sentences than on short ones, but this is a single network, trained
# for half a minute. Would a wider vector help, or longer training, or just other random numbers? Our conclusions below
# rest on a longer run, whose results are stored beside this lesson. In this run, translators of three widths are
# trained on sentences of 3 to 30 words, among which long sentences are no rarer than short ones. Each width is trained
# with three seeds, from which the weights, the training sentences and the new sentences are drawn.
#
# The run also trains a *decoder without a source*, of width 128, as a control. It sees the same Italian sentences but
# nothing of the English ones, because its context vector is always zero. The quality that it achieves is the **floor**,
# and only what a translator achieves beyond this floor has come through $c$. The control is defined below, and a folded
# cell contains the stored run. Its training is repeated only if `COURSE_FULL=1` is set in the environment; otherwise
# the stored results are loaded.


# %%
class NoSource(Translator):
    """The floor: the same decoder, but its context vector is zero, whatever the English sentence says."""

    def encode(self, x):
        return torch.zeros(*x.shape, self.out.in_features, device=x.device)  # [B, T, D_H]


# %% tags=["fold"]
# @title Prints the lines below
@torch.no_grad()
def with_teacher(model, pairs, groups):
    """Token accuracy of each group where every token is predicted after the correct prefix; [STOP] is not counted."""
    found = []
    for asked in grouped(pairs, groups):
        shares = []
        for one in asked:
            alone = batch([one], "italian").to(DEVICE)
            c = model.encode(alone.source)[:, -1]  # [1, D_H]
            fed = F.pad(alone.target, (1, 0), value=START)[:, :-1]  # [1, T_y]
            predicted = model.out(model.decode(fed, c, c)).argmax(dim=-1)  # [1, T_y]
            shares.append((predicted == alone.target)[0, :-1].float().mean().item())
        found.append(sum(shares) / len(shares))
    return found


SEEDS, POINTS = (1, 2, 3), 40
if stored_runs.full():
    started, steps = time.perf_counter(), 1200
    kinds = {  # name: class, width, steps
        "64": (Translator, 64, steps),
        "128": (Translator, 128, steps),
        "256": (Translator, 256, steps),
        "floor": (NoSource, 128, steps),
        "128 short": (Translator, 128, steps // 4),
        "128 long": (Translator, 128, steps * 4),
    }
    runs = {name: [] for name in kinds}
    translators = []  # of width 128, with sentences that are new to them
    for seed in SEEDS:
        many = corpus("italian", 60000, 3, 30, seed=seed)
        known = {one.source for one in many}
        new = [one for one in corpus("italian", 500, 3, 30, seed=seed + 100) if one.source not in known]
        for name, (kind, width, count) in kinds.items():
            if name == "128 long" and seed != SEEDS[0]:
                continue
            torch.manual_seed(seed)
            one = kind(width)
            curve, seen = learn(one, many, count, 5e-3, seed, f"{name}, seed {seed}")
            old = [pair for group in grouped(many, groups) for pair in [p for p in group if p.source in seen][:40]]
            runs[name].append(
                {
                    "loss": smoothed(curve, count // POINTS),
                    **by_length(one, new, groups),
                    "taught": with_teacher(one, new, groups),
                    "known": by_length(one, old, groups)["accuracy"],
                }
            )
            if name == "128":
                translators.append((one, new))
    results = {"steps": steps, "groups": groups, "runs": runs, "new": len(new)}
    stored_runs.keep("01_rnn_seq2seq", results, seed="1, 2, 3", seconds=time.perf_counter() - started)
record = stored_runs.load("01_rnn_seq2seq")
print(stored_runs.how(record))


# %% tags=["fold", "nbval-check-output"]
# @title Draws Figure 8
def over_seeds(found):
    """For values of each seed [seeds, …]: mean, least and largest over the seeds, [3, …]."""
    found = torch.tensor(found)
    return torch.stack([found.mean(dim=0), found.min(dim=0).values, found.max(dim=0).values])


RUNS = record["results"]["runs"]
STORED = {f"width {width}": RUNS[str(width)] for width in (64, 128, 256)} | {FLOOR: RUNS["floor"]}
named = [f"{low}–{high}" for low, high in groups]


def stored(measure):
    """A measure of all models: for each of them mean, least and largest over the seeds, [3, …]."""
    return {name: over_seeds([one[measure] for one in runs]) for name, runs in STORED.items()}


def by_words(lines, axes, **looks):
    """Draws measures [3, groups] over the number of words: the means as lines, the range over the seeds as a band."""
    middles = [(low + high) / 2 for low, high in groups]
    means, ranges = ({name: found[rows] for name, found in lines.items()} for rows in (0, slice(1, 3)))
    plots.curves(middles, means, x_label="words", bands=ranges, axes=axes, **looks)
    axes.set_xticks(middles, named)
    for line in axes.get_lines():
        line.set(markersize=6, clip_on=False, zorder=3)


figure, (axes,) = plots.canvas(7, 3.6)
LONG_STEPS = record["results"]["steps"]
at = [LONG_STEPS // POINTS * (point + 1) for point in range(POINTS)]
falling = {name.replace(FLOOR, NO_SOURCE): found for name, found in stored("loss").items()}
means = {name: found[0] for name, found in falling.items()} | {GUESS: [log_V] * POINTS}
plots.curves(
    at,
    means,
    x_label="step",
    y_label="loss: mean −log P per token",
    bands={name: found[1:] for name, found in falling.items()},
    styles=dict.fromkeys(means, "-") | {NO_SOURCE: "--", GUESS: ":"},
    colours=TONES,
    axes=axes,
)
axes.set_ylim(0, 5.6)
plots.legend_of(axes, loc="center right", bbox_to_anchor=(1, 0.66))
print("loss at the end, mean and range over three seeds")
for name, (mean, least, most) in falling.items():
    print(f"{name:<18} {mean[-1]:.2f} ({least[-1]:.2f} to {most[-1]:.2f})")
show(
    figure,
    "Training loss over the steps, for three widths, for a decoder without a source and, as a dotted line, log V. All begin "
    "near log V. The decoder without a source soon stays at about 2; the translators fall below it, the wider the lower.",
)

# %% [markdown]
# **Figure 8.** Training losses of the stored run: each point is a mean over 30 steps, lines are means over three seeds,
# and the band around a line, where it can be seen, is their range.
#
# Knowing Italian is enough to bring the loss most of the way down from $\log V$, as the decoder without a source shows.
# All three translators end with a lower loss than this decoder in every run, and the wider the translator, the lower
# its loss. Each of them has therefore learned to use $c$, but for which sentences is $c$ enough?

# %% tags=["fold", "nbval-check-output"]
# @title Draws Figure 9
figure, panels = plots.canvas(11, 4.1, 2)
for panel, measure, label, top in zip(panels, ("accuracy", "bleu"), ("token accuracy", "BLEU"), (1.03, 103)):
    by_words(stored(measure), panel, y_label=label, colours=TONES, styles=MARKS)
    panel.set_ylim(0, top)
panels[0].axhline(0.5, color=plots.GREY, linestyle=":", linewidth=1.5, zorder=1)
print(f"{'token accuracy, by words':<26}" + "".join(f"{name:>7}" for name in named))
for name, found in stored("accuracy").items():
    print(f"{name:<26}" + "".join(f"{value:7.2f}" for value in found[0]))


def drop(accuracy, middles):
    """The number of words at which the accuracy falls through one half, on a straight line between two groups."""
    for (x, y), (x_next, y_next) in itertools.pairwise(zip(middles, accuracy.tolist())):
        if y >= 0.5 > y_next:
            return x + (x_next - x) * (y - 0.5) / (y - y_next)


halves = [drop(stored("accuracy")[f"width {width}"][0], [sum(one) / 2 for one in groups]) for width in (64, 128, 256)]
falls = ", ".join(f"{half:.0f} words (width {width})" for width, half in zip((64, 128, 256), halves))
print(f"the accuracy falls to one half at {falls}")
show(
    figure,
    "Token accuracy and BLEU over the number of words. The curves of the three translators fall. Width 256 lies highest and "
    "width 64 lowest; the two wider ones begin close to the top, and all are below 0.4 in accuracy at 27 to 30 words. Without a source both are near 0.",
)

# %% [markdown]
# **Figure 9.** Token accuracy and BLEU of greedy translations of new sentences in the stored run, by the number of
# words: means and ranges over three seeds. The dotted line on the left marks one half. The decoder without a source
# always writes the same sentence: this is the floor for greedy decoding. The table above has the left panel's means.
#
# The curves of all translators fall as the sentences get longer. The two larger widths are enough for short sentences,
# which come out almost without a mistake. Increasing the width, which enlarges both GRUs along with $c$, does not
# prevent the drop but moves it to longer sentences. The differences between the seeds are small compared with this
# shift, except for the smallest width on the shortest sentences.
#
# Is the bottleneck to blame? To examine other causes, we make two more measurements. Figure 10 shows them for the
# widest translator; the table above it gives teacher forcing for all three widths.
#
# - **On training sentences.** The model decodes greedily, but it translates sentences that were drawn in its
#   training, so it need not generalise to new ones.
# - **With teacher forcing.** The decoder is fed the correct prefix at every step, so no mistake can lead to the next.
#   Some tokens can be guessed from the prefix alone, and the decoder without a source shows how many. Its accuracy
#   under teacher forcing is therefore a second floor, higher than the floor of Figure 9.

# %% tags=["fold", "nbval-check-output"]
# @title Draws Figure 10
TAUGHT = "teacher forcing, new sentences"
causes = {
    "greedy, new sentences": stored("accuracy")["width 256"],
    "greedy, training sentences": stored("known")["width 256"],
    TAUGHT: stored("taught")["width 256"],
    "teacher forcing, " + FLOOR: stored("taught")[FLOOR],
}
tone = TONES["width 256"]
looks = {
    "colours": dict(zip(causes, (tone, tone, tone, plots.BLACK))),
    "styles": dict(zip(causes, ("D-", "^--", "o-.", "s--"))),
}
figure, (axes,) = plots.canvas(10, 3.8)
by_words(causes, axes, y_label="token accuracy", legend=False, **looks)
plots.legend_of(axes, handlelength=3, loc="lower left", bbox_to_anchor=(1, 0.5), fontsize=10)
axes.set_ylim(0, 1.03)

taught = stored("taught")
print(f"{'width 256, by words':<28}" + "".join(f"{name:>7}" for name in named))
for name, found in list(causes.items())[:2]:
    print(f"{name:<28}" + "".join(f"{value:7.2f}" for value in found[0]))
print()
print(f"{'teacher forcing, by words':<28}" + "".join(f"{name:>7}" for name in named))
for name, found in taught.items():
    print(f"{'accuracy, ' + name:<28}" + "".join(f"{value:7.2f}" for value in found[0]))
for name in list(taught)[:-1]:
    share = (taught[name][0] - taught[FLOOR][0]) / (1 - taught[FLOOR][0])
    print(f"{'above the floor, ' + name:<28}" + "".join(f"{value:7.0%}" for value in share))
show(
    figure,
    "Token accuracy of width 256 over the number of words. Greedy decoding falls from near 1 to about one third on new "
    "sentences and to a little more on training sentences. With teacher forcing it falls to about three quarters. The floor, "
    "teacher forcing without a source, is level at a little more than a quarter.",
)

# %% [markdown]
# **Figure 10.** Token accuracy in the stored run by the number of words, means and ranges over three seeds: three
# measurements of the translator of width 256, and the floor for teacher forcing. The solid brown curve is repeated from
# Figure 9.
#
# Three conclusions follow.
#
# - **Correct prefixes help.** With teacher forcing the widest translator predicts more than twice as many tokens of the
#   longest sentences correctly as with greedy decoding. This gain is an upper bound on the cost of exposure bias, since
#   it has two other sources: a correct prefix rules out the shifts by which one missing token makes all later ones
#   count as wrong, and it gives tokens away: even the decoder without a source predicts more than a quarter of all
#   tokens correctly.
# - **Generalisation is not the main problem.** On sentences that were drawn in training the translator does better
#   than on new ones, but its accuracy drops as well: it has not learned the long ones in the first place.
# - **The longer the sentence, the smaller the share of it that comes through $c$.** Neither correct prefixes nor
#   familiar sentences stop the drop. Long sentences are no harder to guess than short ones: the floor hardly changes
#   with the length. What falls is the distance above it. The rows *above the floor* of the table give it as a share,
#   $(a - f) / (1 - f)$ for an accuracy $a$ and the floor $f$: 0% at the floor, 100% for a perfect score. On the
#   shortest sentences, the two wider translators go nearly all the way; on the longest, the narrowest covers less than
#   a third of the distance and the widest about two thirds. A long sentence still gets more tokens through than a short
#   one, but a smaller share of its tokens.
#
# ### Is the vector full, or is it hard to pack?
#
# Would more training help? The translators of the stored run were trained for 1,200 steps. We train others of width 128
# for 300 steps and for 4,800, and compare.

# %% tags=["fold", "nbval-check-output"]
# @title Draws Figure 11
longer = {
    f"{LONG_STEPS * factor // 4:,} steps": over_seeds([one["accuracy"] for one in RUNS[name]])
    for name, factor in (("128 short", 1), ("128", 4), ("128 long", 16))
}
beside = {f"width 128, {name}": found for name, found in longer.items()}
beside |= {f"width 256, {LONG_STEPS:,} steps": stored("accuracy")["width 256"]}
looks = {
    "colours": dict(zip(beside, (*[TONES["width 128"]] * 3, TONES["width 256"]))),
    "styles": dict(zip(beside, ("v:", "o-", "P--", "D-"))),
}
figure, (axes,) = plots.canvas(10, 3.8)
by_words(beside, axes, y_label="token accuracy", legend=False, **looks)
plots.legend_of(axes, handlelength=3, loc="lower left", bbox_to_anchor=(1, 0.5), fontsize=10)
axes.set_ylim(0, 1.03)
print(f"{'width 128, by words':<26}" + "".join(f"{name:>7}" for name in named))
for name, found in longer.items():
    print(f"{name:<26}" + "".join(f"{value:7.2f}" for value in found[0]))
show(
    figure,
    "Token accuracy of width 128 over the number of words. After 300 steps it falls from one half to almost nothing, after "
    "1,200 steps from near 1 to a quarter, and after 4,800 steps it stays near 1 up to 14 words and falls to one half. A "
    "brown curve with diamonds, width 256 after 1,200 steps, lies between the last two.",
)

# %% [markdown]
# **Figure 11.** Token accuracy of translators of width 128 on new sentences: means and ranges over three seeds, but a
# single seed (dashed) for 4,800 steps. Both curves for 1,200 steps are repeated from Figure 9.
#
# Longer training moves the drop as well, and quite far: after 4,800 steps (one seed) a vector of 128 numbers carries
# more than one of 256 numbers does after 1,200. But the drop has not disappeared. It has only moved to longer
# sentences.
#
# Is the context vector simply full? The count of bits gives no sign of it: a sentence of 30 words with its `[STOP]`
# takes about 210 bits, a twentieth of the 4,096 bits in 128 numbers. A network can hardly use all 32 bits of each
# number, but two bits of each would already be enough. Longer training points the same way, because it makes a vector
# of the same size carry more. Figure 9, where a wider vector helped, does not contradict this: at equal training a
# wider model gets further, but width 128 with four times the steps overtakes width 256. In principle, capacity sets a
# bound that no training can pass, as we saw for a thousand tokens. In our experiment, however, a different limit binds
# first, at least after 1,200 steps: it is *hard to learn* to pack a long sentence into one vector in such a way that
# the decoder can unpack it, token by token. The experiment does not say why this is hard, but a plausible guess is the
# long path of the gradient, which has to travel from $c$ back to the first words through every step of the encoder.
#
# Published results show the same pattern. Bahdanau et al. (2015, figure 2) trained such an encoder and decoder, with
# hidden states of 1,000 numbers, on real English and French. The BLEU of this model falls steeply as sentences get
# longer, whereas the BLEU of their new model, which uses attention and was trained on sentences of up to 50 words,
# hardly falls. When both models are trained on sentences of up to that length, the BLEU over all test sentences is 17.8
# without attention and 26.8 with it (table 1 of the paper).
#
# Their experiment differs from ours: they had a vocabulary of 30,000 words, decoded with beam search, and tested on
# sentences longer than those in training as well, while our language is tiny and regular.
#
# <details><summary>Going further: a fixed vector that did well</summary>
#
# Sutskever et al. (2014) report that a deep LSTM, with the source sentence reversed, "did not have difficulty on long
# sentences". Its four layers, each with two vectors of 1,000 numbers, make a wide bottleneck. Reversing the source
# brings the first words of both languages close together, so that the gradient has only a few steps to travel between
# them. The vector has no more room than before; what becomes easier, the authors suggest, is learning.
#
# </details>

# %% [markdown]
# ## Beam search
#
# One suspect is left: all translations so far were decoded greedily. Does the most likely token at each step lead to
# the most likely *sentence*? And would a better search translate long sentences? Look at a toy decoder that writes only
# two words, with the probabilities below. *Il* and *la* mean "the" and *un* means "a"; the nouns are *cielo* (sky),
# *cane* (dog), *libro* (book), *casa* (house), *lettera* (letter) and *amico* (friend).

# %%
# the tokens written so far -> the probabilities of the next
toy = {
    (): {"il": 0.5, "la": 0.4, "un": 0.1},
    ("il",): {"cielo": 0.4, "cane": 0.3, "libro": 0.3},
    ("la",): {"casa": 0.9, "lettera": 0.1},
    ("un",): {"amico": 0.6, "libro": 0.4},
}

# %% [markdown]
# Greedy decoding takes *il* and then *cielo*, a sentence of probability $0.5 \cdot 0.4 = 0.20$. But *la casa* has the
# probability $0.4 \cdot 0.9 = 0.36$: the most likely first token does not lead to the most likely sentence. We cannot
# try all sentences either, because with $V$ tokens and $T_y$ steps there are $V^{T_y}$ of them.
#
# **Beam search** is a compromise between the two. It follows the $k$ most likely prefixes at once; they are called
# **hypotheses**, and together they form the *beam*. At each step, beam search continues every hypothesis with every
# token of the vocabulary, and keeps the $k$ most likely of all these continuations. The probability of a sentence is a
# product of many factors and soon becomes tiny, so we add logarithms instead of multiplying probabilities.

# %% tags=["nbval-check-output"]
k = 2
beam = [((), 0.0)]  # (tokens, log of their probability)
kept = []
for step in range(2):
    candidates = []
    for words, score in beam:
        for word, share in toy[words].items():
            candidates.append(((*words, word), score + torch.tensor(share).log().item()))
    candidates.sort(key=lambda candidate: candidate[1], reverse=True)
    beam = candidates[:k]
    kept.append([words for words, _ in beam])
    for words, score in beam:
        print(f"step {step + 1}: {' '.join(words):<10} log P = {score:.2f}, P = {torch.tensor(score).exp():.2f}")

# %% tags=["fold"]
# @title Draws Figure 12
show(
    seq2seq.search_tree(toy, kept, beam[0][0]),
    "A tree of all two-word sentences of the toy decoder with their probabilities. A beam of two keeps il and la, then la casa "
    "and il cielo, and finds la casa with 0.36, where greedy decoding ends at il cielo with 0.20.",
)

# %% [markdown]
# **Figure 12.** Beam search with $k = 2$ in the tree of all sentences of the toy decoder. The number on a branch is the
# probability of the next word; the number at the right is the probability of the whole sentence. Coloured boxes are
# hypotheses that the beam keeps. The thick path leads to the most likely sentence; greedy decoding takes the dashed
# path and misses it.
#
# With $k = 1$, beam search is greedy decoding; with a large enough $k$, it tries every sentence. With a value in
# between, it often finds a more likely sentence than greedy decoding does, but nothing guarantees that it finds the
# most likely sentence of all. In a real decoder each hypothesis has a *hidden state* of its own, which must move
# together with its tokens when the beam is sorted. A hypothesis that has written `[STOP]` is not continued any more,
# but it stays in the beam and competes with the others until better ones push it out. Your assignment builds all of
# this.
#
# Plain sums are unfair to long hypotheses, because every further token adds a negative number to $\log P$. The
# usual remedy is a *length penalty*: the sum is divided by a power of $L$, the number of tokens in the hypothesis
# with its `[STOP]`, and the beam compares
#
# $$\frac{1}{L^{\alpha}} \log P(y_1, \dots, y_L \mid x), \qquad 0 \le \alpha \le 1.$$
#
# With $\alpha = 0$ nothing changes, with $\alpha = 1$ the mean per token decides, and a value in between is tuned on
# held-out sentences (Wu et al., 2016, whose divisor is slightly different). Lesson 10 returns to the length penalty.
#
# How much does beam search change for our translator? The folded search below has a beam of four. It reads every prefix
# anew at each step, which is slower than moving the hidden states along but gives the same probabilities. It shows the
# first new sentence of 6 to 10 words on which the beam and greedy decoding differ. Look for the correct translation
# among the four: the most likely sentence need not be the right one.


# %% tags=["fold"]
# @title Prints the lines below
@torch.no_grad()
def search(model, words, k, alpha=0.0, limit=60):
    """The k hypotheses of a beam, the best first: for each its words, log P and number of tokens."""
    c = model.encode(torch.tensor([english.encode(words)], device=DEVICE))[:, -1]  # [1, D_H]
    y = torch.tensor([[START]], device=DEVICE)  # [k, 1 + t], the prefixes; only one at first
    log_P = torch.zeros(1, device=DEVICE)  # [k]
    for _ in range(limit):
        ended = (y[:, -1] == STOP) | (y[:, -1] == PAD)  # [k]
        if ended.all():
            break
        every = c.expand(len(y), -1)  # [k, D_H]
        step = model.out(model.decode(y, every, every)[:, -1]).log_softmax(dim=-1)  # [k, V]; reads each prefix anew
        step[ended] = -torch.inf  # what has ended goes on with [PAD] alone, which costs nothing
        step[ended, PAD] = 0.0
        total = log_P[:, None] + step  # [k, V]
        L = (y != PAD).sum(dim=1, keepdim=True) - ended[:, None].int()  # [k, 1], tokens of each continuation
        best = (total / L**alpha).flatten().topk(k).indices  # [k]
        log_P = total.flatten()[best]
        y = torch.cat([y[best // len(italian)], (best % len(italian))[:, None]], dim=1)
    counts = (y[:, 1:] != PAD).sum(dim=1).tolist()
    return [(italian.decode(row), score, L) for row, score, L in zip(y[:, 1:].tolist(), log_P.tolist(), counts)]


WAYS = {"greedy": (1, 0.0), "beam, α = 0": (4, 0.0), "beam, α = 0.75": (4, 0.75)}  # k and α


def by_search(model, pairs):
    """For each way of decoding: mean log P, mean number of tokens, share of exact translations, and BLEU."""
    found = {}
    right = [list(one.target) for one in pairs]
    for name, (k, alpha) in WAYS.items():
        ours = [search(model, one.source, k, alpha)[0] for one in pairs]
        words = [hypothesis for hypothesis, _, _ in ours]
        found[name] = {
            "log P": sum(score for _, score, _ in ours) / len(ours),
            "tokens": sum(L for _, _, L in ours) / len(ours),
            "exact": sum(map(list.__eq__, words, right)) / len(ours),
            "BLEU": bleu(words, right),
        }
    return found


def differing(pairs):
    """The first sentence on which a beam of four and greedy decoding differ."""
    for one in pairs:
        first = search(model, one.source, 1)[0][0]
        if search(model, one.source, 4)[0][0] != first:
            return one, first
    raise ValueError("greedy decoding and the beam agree on all of them")


asked, first = differing([one for one in fresh if 6 <= len(one.source) <= 10])
print(f"source:  {' '.join(asked.source)}\ncorrect: {' '.join(asked.target)}\ngreedy:  {' '.join(first)}\n")
print(f"{'log P':>6} {'L':>3} {'log P / L^0.75':>15}   the beam of four, with α = 0")
for words, score, L in search(model, asked.source, 4):
    print(f"{score:6.2f} {L:>3} {score / L**0.75:15.2f}   {' '.join(words)}"[:100])

# %% [markdown]
# Here are the translators of width 128 from the stored run, again with a beam of four; *log P* and *tokens* are means
# over the sentences, and *exact* is the fraction of sentences without a single mistake:

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
if stored_runs.full():
    results["beams"] = [by_search(one, new[:200]) for one, new in translators]
    stored_runs.keep("01_rnn_seq2seq", results, seed="1, 2, 3", seconds=time.perf_counter() - started)
record = stored_runs.load("01_rnn_seq2seq")

print("width 128, 200 new sentences for each of three seeds: mean (range)")
print(f"{'':<16}{'log P':>24}{'tokens':>10}{'exact':>20}{'BLEU':>20}")
searched = {name: [one[name] for one in record["results"]["beams"]] for name in WAYS}
for name, found in searched.items():
    row = f"{name:<16}"
    for measure, spec, width in (
        ("log P", ".2f", 24),
        ("tokens", ".1f", 10),
        ("exact", ".2f", 20),
        ("BLEU", ".1f", 20),
    ):
        mean, least, most = over_seeds([one[measure] for one in found]).tolist()
        span = "" if measure == "tokens" else f" ({least:{spec}} to {most:{spec}})"
        row += f"{f'{mean:{spec}}{span}':>{width}}"
    print(row)

# %% [markdown]
# The beam does what it promises: in each of the three runs, it finds sentences that the model considers more probable
# on average. These sentences are shorter, but the length penalty makes up for most of the difference. On average, BLEU
# rises by about one point without the penalty and by about two with it, while the fraction of exact translations
# remains about the same. The search is not to blame for the drop: in Figure 9, a wider vector changes much more.
#
# Beam search can save a translation that a greedy choice would have spoiled. What it cannot do is widen the bottleneck,
# because it asks the same decoder, which reads the same single vector $c$. Lesson 02 removes the bottleneck, and there
# we shall see how much of the drop disappears.

# %% [markdown]
# ## Summary
#
# | what | formula | shape |
# |---|---|---|
# | embedding | $x_t$: one row of a learned table | $[D_E]$ |
# | a recurrent step | $h_t = f_W(x_t, h_{t-1})$; in a GRU $h_t = z_t \odot h_{t-1} + (1 - z_t) \odot n_t$ | $[D_H]$ |
# | context vector | $c = h_{T_x}$, the state at each sentence's own last token | $[D_H]$, whatever $T_x$ is |
# | decoder step | $s_t = g_U(y_{t-1}, s_{t-1}, c)$ with $s_0 = c$ | $[D_H]$ |
# | next token | $P(y_t \mid y_{<t}, x) = \operatorname{softmax}(s_t W_{out} + b_{out})$ | $[V]$ |
# | loss | mean of $-\log P(y_t \mid y_{<t}, x)$ over the real tokens, with teacher forcing | a number |
# | greedy decoding | the likeliest token at each step, up to `[STOP]` | |
# | beam search | at each step the $k$ hypotheses of the largest $\frac{1}{L^{\alpha}} \log P$ | |
#
# ```python
# H, h_last = nn.GRU(D_E, D_H, batch_first=True)(X)  # [B, T, D_E] -> [B, T, D_H] and [1, B, D_H]
# loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)  # logits [B, T_y, V], targets [B, T_y]
# ```
#
# The picture to remember is Figure 2: the encoder reads, one context vector goes across, the decoder writes. For
# *we see the sky* this is enough. A long sentence has to be packed into a vector of the same size and unpacked from
# it again. A wider model, or one trained for longer, learns to do this for longer sentences, but it never gets rid
# of the bottleneck. Lesson 02 removes it: why should the decoder have to remember the whole sentence, if it could
# look at the sentence again?

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> Three sentences with 4, 7 and 5 words get their [STOP] and are padded to the longest. In
# which column is the context vector of the second sentence, and in which that of the first?</summary>
#
# With `[STOP]` they have 5, 8 and 6 tokens, so the batch has 8 columns. The context vector of the second sentence is in
# the last column, index 7; that of the first is at index 4.
#
# </details>
#
# <details><summary><b>2.</b> You forget to shift the target, and feed $y_t$ where $y_t$ is to be predicted. What do you
# see in training, and what when the model translates?</summary>
#
# The loss soon falls to almost zero, because the decoder copies its input. When the model translates, the decoder
# is fed `[START]`, which it has never seen as an input. Unless the first token that it writes is `[STOP]`, it is
# fed that token and writes it again at every step, up to the limit. It has had no reason to learn to use $c$.
#
# </details>
#
# <details><summary><b>3.</b> Does a beam of 2 always find a sentence at least as likely as greedy decoding
# does?</summary>
#
# It usually does, but not with certainty. The greedy prefix can be pushed out of the beam by two others that look
# better for a while and end worse.
#
# </details>
#
# <details><summary><b>4.</b> The hidden state is made twice as wide. How many more weights does the encoder's GRU
# have, roughly, and does the sentence length that the model can manage double?</summary>
#
# The gates $z$ and $r$ and the proposal $n$ each have a matrix from state to state, and together these matrices hold
# $3 D_H^2$ weights. When $D_H$ doubles, this number becomes four times as large, while the number of weights from the
# input only doubles. If $D_H$ goes from 128 to 256 with $D_E = 48$, the total therefore grows by a factor of about
# $3.45$. The sentence length, however, need not double: in Figure 9, each doubling of the width raises the length at
# which the accuracy drops below one half by five or six words, which is less than a factor of two.
#
# </details>
#
# ## Pitfalls
#
# - **The last column is not the last token.** In a padded batch take each sentence's own last state, or pack the batch
#   (`nn.utils.rnn.pack_padded_sequence`).
# - **`batch_first`.** Without it `nn.RNN` and `nn.GRU` take the first axis as time. The shapes may fit all the same,
#   and the network then reads across the batch.
# - **Padding in the loss.** Use `ignore_index=PAD`, or apply the mask both to the sum and to the count.
# - **Softmax twice.** `F.cross_entropy` takes logits and applies the softmax itself.
# - **`[STOP]` is a token too.** If you leave it out of the training data, the decoder never learns to end.
# - **Two biases.** `nn.RNN` adds two biases where the formula has one; only their sum matters. In a GRU it does matter
#   which is which in $n_t$, where one of them is multiplied by $r_t$.


# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/01_rnn_seq2seq/01_rnn_seq2seq.ipynb).
# - **Read on**: [lesson 02](02_bahdanau_attention.ipynb) lets the decoder attend to all hidden states of the encoder.
# - **Look up**: the [glossary](../docs/glossary.md).
#
# ## References
#
# - I. Sutskever, O. Vinyals, Q. V. Le (2014). Sequence to sequence learning with neural networks. NeurIPS.
#   arXiv:1409.3215. *Encoder and decoder as deep LSTMs; the reversed source. The context vector is only the decoder's
#   first state. Lectures often cite this paper for a decoder that receives the context vector at every step, but that
#   decoder is that of Cho et al. (2014).*
# - K. Cho et al. (2014). Learning phrase representations using RNN encoder-decoder for statistical machine translation.
#   EMNLP. arXiv:1406.1078. *The same idea with the unit that is now called GRU; the context goes to every step, as
#   here. It scored phrases for a statistical translator.*
# - N. Kalchbrenner, P. Blunsom (2013). Recurrent continuous translation models. EMNLP. *A convolutional encoder and a
#   recurrent decoder.*
# - K. Cho, B. van Merriënboer, D. Bahdanau, Y. Bengio (2014). On the properties of neural machine translation:
#   encoder-decoder approaches. SSST-8. arXiv:1409.1259. *Quality falls with sentence length, measured.*
# - D. Bahdanau, K. Cho, Y. Bengio (2015). Neural machine translation by jointly learning to align and translate. ICLR.
#   arXiv:1409.0473. *Names the bottleneck, and removes it.*
# - F. Gers, J. Schmidhuber, F. Cummins (2000). Learning to forget: continual prediction with LSTM. Neural Computation
#   12(10). *The gate for keeping, or forget gate.*
# - S. Hochreiter, J. Schmidhuber (1997). Long short-term memory. Neural Computation 9(8). *Gates that protect what a
#   state holds.*
# - R. J. Williams, D. Zipser (1989). A learning algorithm for continually running fully recurrent neural networks.
#   Neural Computation 1(2). *Teacher forcing.*
# - Y. Wu et al. (2016). Google's neural machine translation system: bridging the gap between human and machine
#   translation. arXiv:1609.08144. *Beam search with a length penalty.*
# - K. Papineni, S. Roukos, T. Ward, W.-J. Zhu (2002). BLEU: a method for automatic evaluation of machine translation.
#   ACL.
