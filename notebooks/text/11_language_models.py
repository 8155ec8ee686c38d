# %% [markdown]
# # 11 · Language models
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/11_language_models.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - cut a text into tokens by byte pair encoding, and say what a larger vocabulary buys and costs;
# - build a GPT from torch's parts, train it, and let it write with temperature, top-k and top-p;
# - compare language models by perplexity and bits per character;
# - tell zero-, one- and few-shot prompts from fine-tuning, and show which heads let a model learn from a prompt;
# - count the parameters of GPT-2 and GPT-3, and say how BERT is trained differently.
#
# **You need** from lesson 05 learned positional encodings, from lesson 07 the causal mask and the chain rule of
# probability, and from lesson 09 the Transformer block, but not lesson 10. The terms and symbols of the course are
# listed in the [glossary](../docs/glossary.md).
#
# **Time** about 70 minutes to read; the cells run in about 40 seconds on two CPU cores.

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
import copy
import math
import platform
import re
import textwrap
import time
from collections import Counter
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from utils.data import mappings, texts
from utils.device import device
from utils.figures import language_models as drawings
from utils.figures import plots
from utils.figures.explorers import Choice, Slider, explore
from utils.figures.plots import show
from utils.measures import stored_runs, stored_weights
from utils.models.kneser_ney import KneserNey
from utils.models.training import train

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
BEGUN = time.perf_counter()

# %% [markdown]
# ## A task that nobody trained
#
# How does this text go on?
#
# ```text
# Translate English to French:
# sea otter => loutre de mer
# peppermint => menthe poivrée
# plush girafe => girafe peluche
# cheese =>
# ```
#
# The text is an example from the paper on GPT-3 (Brown et al., 2020), and GPT-3 continues many such texts correctly.
# Yet it is a language model, trained for a single task: to predict the next token (lesson 07) of texts, most of them
# from the web. No weight changes while it reads the three examples in this prompt. How does it know what it is
# supposed to do?
#
# Here is a task of the same kind that fits into this notebook. What comes next?
#
# ```text
# c5 a2 c5 h1 a…
# ```
#
# You probably said 2: you worked out the rule from the examples. At the end of this lesson a small language model
# will be asked the same question, and we shall see which of its heads find the answer. On the way there we build such
# a model from the beginning: its tokens, layers and training, ways to let it write, and a measure of how good it is.
#
# ## What is a token?
#
# In most experiments so far a token was a word, and the vocabulary was small. For a model that is to read *all* texts
# this does not work. We look at two texts: sentences of this course's grammar (lesson 01), on which a small model can
# be trained in seconds, and the source code of Python's standard library, which is real and much harder. How many
# words of new text never occurred in training?

# %% tags=["fold"]
# @title Prints the lines below
WORD = re.compile(r" ?\w+| ?[^\w\s]+|\s+(?!\S)|\s+")  # a space belongs to the word after it

train_text, test_text = texts.grammar(6000, seed=0)
library_text, library_test = texts.standard_library()
print("of the grammar:", train_text.splitlines()[0])
for name, text, new in (
    ("the grammar", train_text, test_text),
    ("the standard library", library_text, library_test),
):
    known, met = set(WORD.findall(text)), WORD.findall(new)
    unknown = sum(word not in known for word in met) / len(met)
    print(f"{name:21} {len(text):9,} characters, {len(known):6,} different words; unknown in new text: {unknown:.1%}")

# %% [markdown]
# Punctuation marks count as words here, and the same word with and without a space before it counts as two different
# words. Even so, the grammar gets by with 120. The source code has tens of thousands, and still several per cent of the
# words of a new file are unknown, often a name that somebody invented. To a model whose tokens are words, all unknown
# words would be the same token, and it could not know that `read_line` and `read_lines` have something in common.
#
# With single characters as tokens hardly anything is unknown, but texts become several times longer, and the number
# of attention weights grows with the square of their length. We want something in between: long tokens for what is
# frequent, short ones for what is rare.
#
# ## Byte pair encoding
#
# **Byte pair encoding (BPE)** was invented to compress files (Gage, 1994), and Sennrich et al. (2016) used it to make
# tokens for translation. It starts from characters and repeats one step, called a **merge**: find the most frequent
# pair of neighbouring tokens, and make it a new token. After $M$ merges the vocabulary has $M$ tokens more than there
# were characters. Before the merges the text is cut into words, with each space attached to the word after it, and no
# pair may cross the border between two words.

# %% tags=["nbval-check-output"]
print(WORD.findall("the sky is blue.\n"))  # WORD is a regular expression


def joined(pieces, pair):
    """The pieces of a word after one merge."""
    done = []
    for piece in pieces:
        if done and (done[-1], piece) == pair:
            done[-1] += piece
        else:
            done.append(piece)
    return done


def learn_merges(text, count):
    words = Counter(WORD.findall(text))  # each word once, with how often it occurs
    pieces = {word: list(word) for word in words}  # characters at first
    merges = []
    for _ in range(count):
        pairs = Counter()
        for word, times in words.items():
            for pair in zip(pieces[word], pieces[word][1:]):
                pairs[pair] += times
        if not pairs:  # every word is one token
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))  # the second entry decides between equals
        merges.append(best)
        pieces = {word: joined(pieces[word], best) for word in words}
    return merges


merges = learn_merges(train_text, 300)
print(f"{len(merges)} merges; the first ten make", ["".join(pair) for pair in merges[:10]])


# %% [markdown]
# The first merges join frequent pairs of characters, such as `h` and `e`, or a space and `t`. Soon a merge joins what
# earlier merges have made: ` t` and `he` become ` the`. After 253 merges each word is a single token, and nothing is
# left to join.
#
# To cut a *new* text, the merges are applied in the order in which they were learned. Within each word we join the
# pair that was learned first, and repeat this until no learned pair is left:


# %%
def cut(text, merges):
    """A text as tokens. In each word, the pair that was learned first is joined, again and again, until there is none."""
    rank = {pair: place for place, pair in enumerate(merges)}

    @cache
    def pieces(word):
        found = list(word)
        while len(found) > 1:
            pair = min(zip(found, found[1:]), key=lambda pair: rank.get(pair, math.inf))
            if pair not in rank:
                break
            found = joined(found, pair)
        return found

    return [piece for word in WORD.findall(text) for piece in pieces(word)]


# %% tags=["fold"] label="draws Figure 1: a sentence in tokens"
# @title Draws Figure 1: a sentence in tokens
SENTENCE = "the European agreements were signed"
shown = {f"{count} merges": cut(SENTENCE, merges[:count]) for count in (0, 20, 100, 200)}
show(
    drawings.pieces(shown),
    f"The text “{SENTENCE}” in tokens: "
    + "; ".join(f"{name}: {' | '.join(line)}" for name, line in shown.items())
    + ".",
)
assert all("".join(line) == SENTENCE for line in shown.values())  # decoding is joining
for count in (0, 20, 100, 200):
    print(
        f"{count:3} merges: {len(test_text) / len(cut(test_text, merges[:count])):.2f} characters per token of new text"
    )
print("a word that never occurred:", "|".join(cut(" greenhouse", merges[:200])))
words = set(WORD.findall(train_text))
print(f"200 merges: {sum(len(cut(word, merges[:200])) == 1 for word in words)} of {len(words)} words are one token")

# %% [markdown]
# **Figure 1.** The same text, cut with 0, 20, 100 and 200 merges. Blue boxes are tokens made by merges, grey boxes
# single characters; light and dark only alternate, and ␣ marks a space.
#
# A word that never occurred is no problem now: " greenhouse" is put together from known pieces. A *character* that
# never occurred would still be unknown. GPT-2 therefore starts from the 256 possible values of a byte, so that every
# text can be cut. Its vocabulary has $256 + 50{,}000 + 1 = 50{,}257$ tokens: the bytes, the merges, and a token that
# marks the end of a text.
#
# A larger vocabulary buys shorter sequences: with 200 merges a token holds 4.06 characters on average. It costs
# parameters, since every token needs an embedding of its own, and the rarer a token is, the fewer examples there are
# from which its embedding can be learned.
#
# ## GPT
#
# A language model gives a probability to every text, by the chain rule of lesson 07:
#
# $$P(x_1, \dots, x_N) = \prod_{n=1}^{N} P(x_n \mid x_{<n})$$
#
# Each factor is one entry of a distribution over the $V$ tokens of the vocabulary. Which parts of a Transformer are
# needed to compute it? There is no second sequence to attend to, so cross-attention falls away, and what is left is a
# stack of blocks with causal self-attention: a **decoder-only** Transformer. OpenAI trained one, with learned
# positions, on a large amount of text before any task was known (Radford et al., 2018). Such training is called
# **pre-training**, and the model became known as **GPT**, *generative pre-trained Transformer*. We build its
# successor GPT-2 (Radford et al., 2019), which has pre-norm blocks and a last normalisation. Blocks are often called
# layers.

# %% tags=["fold"] label="draws Figure 2: a GPT"
# @title Draws Figure 2: a GPT
show(
    drawings.gpt(),
    "Tokens are looked up in the table of embeddings E, V rows of D numbers; the first n rows of the table of positions P are added; "
    "the sum goes through L causal blocks and a norm; multiplied by the transpose of E it gives n rows of V logits.",
)


# %% [markdown]
# **Figure 2.** A GPT. The table of embeddings $E$ serves twice: at the beginning a row of it is looked up for each
# token, and at the end every row is compared with the output. $P$ is the table of positions, $X_0$ the input of the
# first block, and $X_L$ the output of the last. From here on, $n$ in a shape is the number of tokens that the model
# reads, and $N$ the largest number that it can read, since $P$ has only $N$ rows. When brackets follow it, $P$ still
# denotes a probability.
#
# One detail is new if you have skipped lesson 10. To get a logit for each token of the vocabulary, the model ends with
# a matrix of shape $[D, V]$. GPT-2 uses the transposed table of embeddings: $\text{logits} = \text{norm}(X_L)\,E^\top$.
# The layer that gives the logits is also called a **head**, though it has nothing to do with the heads of attention,
# and a head that shares its matrix with the embeddings is **tied** (Press and Wolf, 2017; Inan et al., 2017). Each
# logit is then the dot product of the output with a token's embedding: the model predicts a token by producing a vector
# that resembles the embedding of that token. In the smallest GPT-2 the tied head saves $VD = 38.6$ million parameters.
#
# In torch we build the blocks from `nn.TransformerEncoderLayer`, because torch's decoder layer always has
# cross-attention; the causal mask turns them into decoder blocks.


# %%
class GPT(nn.Module):
    """Tokens [B, n] give logits [B, n, V]: at each position for the token that follows; n is at most N."""

    def __init__(self, V, N, D, H, L):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(V, D), nn.Embedding(N, D)
        options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(D, H, 4 * D, **options) for _ in range(L))
        self.norm = nn.LayerNorm(D)
        nn.init.normal_(self.tokens.weight, std=D**-0.5)
        nn.init.normal_(self.positions.weight, std=0.02)

    def encode(self, tokens):
        n = tokens.shape[1]
        X = self.tokens(tokens) + self.positions(torch.arange(n, device=tokens.device))  # [B, n, D]
        later = torch.ones(n, n, dtype=torch.bool, device=tokens.device).triu(1)  # torch's layer: True is forbidden
        for block in self.blocks:
            X = block(X, src_mask=later, is_causal=True)
        return self.norm(X)  # [B, n, D]

    def forward(self, tokens):
        return self.encode(tokens) @ self.tokens.weight.T  # [B, n, V]; the head is the table of embeddings


# %% [markdown]
# <details><summary>Going further: how large should the first embeddings be?</summary>
#
# They are drawn with a standard deviation of $1/\sqrt D$. A normalised output vector has a length of about $\sqrt D$,
# so its products with the embeddings, the first logits, have a standard deviation of about 1, and the first loss is
# not far above $\ln V$, that of equal probabilities: logits that differ by chance, with a standard deviation of 1,
# raise it by about $0.5$. With the standard deviation of 1 that `nn.Embedding` would draw, the first logits would be
# $\sqrt D = 8$ times as large at our width of 64.
#
# </details>
#
# Training is that of lesson 07. The model reads pieces of $N$ tokens, called **windows**, and predicts at each position
# the token that follows, which the causal mask hides from it. Nobody has to label anything, since the text itself
# provides the targets. That is why a model can be trained on any text that can be found; GPT-3 was trained on 300
# billion tokens. Our model uses 200 merges, which give a vocabulary of 237 tokens. It has two blocks of width 64 with
# four heads, reads windows of $N = 32$ tokens, and is trained for 600 steps.


# %% tags=["fold"] label="the grammar's text as tokens, and what is needed to score models on it"
# @title The grammar's text as tokens, and what is needed to score models on it
class Corpus:
    """Text to train with and text to test with as tokens, and the positions of the test that are scored.

    A model with windows of N tokens is tested on windows that begin N / 2 tokens apart, on the second half of each. So each
    scored token has at least N / 2 tokens before it. The n-grams see all that stands before it.
    """

    def __init__(self, text, new, merges, N, longest=10**9):
        self.N, self.merges = N, merges
        letters = sorted(set(text) | set(new))
        self.tokens = list(dict.fromkeys([*letters, *("".join(pair) for pair in merges)]))
        self.number = {token: number for number, token in enumerate(self.tokens)}
        self.V = len(self.tokens)
        self.training, self.test = self.encode(text), self.encode(new)[:longest]
        self.windows = self.test.unfold(0, N + 1, N // 2)  # [windows, N + 1]
        self.scored = torch.arange(len(self.test)).unfold(0, N + 1, N // 2)[:, 1 + N // 2 :].flatten()
        self.characters = sum(len(self.tokens[number]) for number in self.test[self.scored].tolist())

    def encode(self, text):
        return torch.tensor([self.number[token] for token in cut(text, self.merges)])

    def bits(self, perplexity):
        """Bits per character for a perplexity per token."""
        return math.log2(perplexity) * len(self.scored) / self.characters

    def n_gram(self, n, text=None):
        """The perplexity of an n-gram model of the training text, or of other tokens."""
        p = KneserNey(self.training if text is None else text, n, self.V).probabilities(self.test)[self.scored]
        return math.exp(-np.log(p).mean())

    @torch.no_grad()
    def gpt(self, model):
        """The perplexity of a GPT."""
        parts = self.windows.to(DEVICE).split(64)
        losses = [F.cross_entropy(model(part[:, :-1]).mT, part[:, 1:], reduction="none") for part in parts]
        return torch.cat(losses)[:, self.N // 2 :].mean().exp().item()


corpus = Corpus(train_text, test_text, merges[:200], N=32)
print(f"{corpus.V} tokens in the vocabulary, {len(corpus.training):,} tokens to train with")


# %%
def windows_of(text, N, B, seed):
    """Batches [B, N + 1] of windows at random places of a text."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        begin = torch.randint(len(text) - N, (B, 1), generator=generator)
        yield text[begin + torch.arange(N + 1)].to(DEVICE)


def next_token_loss(model, batch):  # batch [B, N + 1]
    logits = model(batch[:, :-1])  # [B, N, V]: the last token is not read
    return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())  # the first one is not predicted


# %% tags=["fold"] label="trains the GPT"
# @title Trains the GPT
def fitted(corpus, text=None, steps=600, seed=0, curve=None):
    """A GPT of two layers that has learned the training text of a corpus, or other tokens."""
    torch.manual_seed(seed)
    model = GPT(corpus.V, corpus.N, D=64, H=4, L=2).to(DEVICE)
    batches = windows_of(corpus.training if text is None else text, corpus.N, 32, seed)
    losses = train(model, batches, next_token_loss, steps=steps, rate=6e-3, what=f"GPT, {steps} steps")
    if curve is not None:
        curve.extend(losses)
    return model


curve = []
gpt = fitted(corpus, curve=curve)
print(f"{sum(weight.numel() for weight in gpt.parameters()):,} parameters")
print(
    f"loss at the first step {curve[0]:.2f} (ln V = {math.log(corpus.V):.2f}), over the last 50 steps {np.mean(curve[-50:]):.2f}"
)


# %% [markdown]
# The loss began a little above $\ln V$, that of equal probabilities, and has fallen far below it. Is the model any good
# now? We can find out in two ways: let it write, and measure.
#
# ## Temperature, top-k and top-p
#
# To write a text, we ask the model for the distribution of the next token, draw a token from it, append the token,
# and ask again (lesson 07):


# %%
@torch.no_grad()
def write(model, corpus, count, seed=0, longest=60, **options):
    """`count` lines, drawn until each has ended; a token sees at most the N tokens before it."""
    generator, end = torch.Generator().manual_seed(seed), corpus.number["\n"]
    X, ended = torch.full((count, 1), end), torch.zeros(count, dtype=torch.bool)  # a line begins where another ends
    for _ in range(longest):
        q = choose(model(X[:, -corpus.N :].to(DEVICE))[:, -1].cpu(), **options)  # [count, V], for the next token
        following = torch.multinomial(q, 1, generator=generator).masked_fill(ended[:, None], end)  # [count, 1]
        X, ended = torch.cat([X, following], dim=1), ended | (following[:, 0] == end)
        if ended.all():
            break
    return ["".join(corpus.tokens[number] for number in row[1:]).split("\n")[0] for row in X.tolist()]


# %% [markdown]
# Much depends on the distribution $q$ that the function `choose` makes of the logits. *Greedy decoding* (lesson 01)
# takes the likeliest token each time, and always writes the same text. Drawing from the softmax itself gives
# different texts, but also mistakes: tokens that cannot follow have very little probability each, but there are many
# of them, and a single one is enough to spoil a sentence. Three controls are commonly used to find a middle way:
#
# - **Temperature** $T$: all logits are divided by $T$ before the softmax, as the scores were in lesson 04. With
#   $T < 1$ the likely tokens become still likelier, and as $T$ approaches 0, drawing becomes greedy decoding. With
#   $T > 1$ the distribution becomes flatter.
# - **Top-k** (Fan et al., 2018): only the $k$ likeliest tokens are kept, and their probabilities are divided by their
#   sum.
# - **Top-p**, or nucleus sampling (Holtzman et al., 2020): the likeliest tokens are kept until their probabilities
#   sum to at least $p$, and again divided by their sum. Top-p keeps many tokens where the model is uncertain, and few
#   where it is sure.
#
# In code, a token passes top-p if the likelier tokens together have less than $p$; the one that crosses $p$ is kept,
# too:


# %%
def choose(logits, T=1.0, k=None, p=None):
    """Distributions [B, V] to draw from: temperature, then top-k, then top-p."""
    q, order = (logits / T).softmax(dim=-1).sort(dim=-1, descending=True)  # [B, V], the likeliest first
    if k:
        q[:, k:] = 0
        q = q / q.sum(dim=-1, keepdim=True)
    if p:
        before = q.cumsum(dim=-1) - q  # what the likelier tokens have together
        q = q * (before < p)
    q = q / q.sum(dim=-1, keepdim=True)
    return torch.zeros_like(q).scatter(-1, order, q)  # back to the order of the vocabulary


# %% tags=["fold"] label="lines that the GPT writes; the grammar says which of them are sentences"
# @title Lines that the GPT writes; the grammar says which of them are sentences
def print_lines(how, lines):
    for line in lines:
        mark = "✓" if texts.is_sentence(line) else "✗"
        print(textwrap.fill(f"{how:8} {mark} {line}", 100, subsequent_indent=" " * 11))


print_lines("greedy", write(gpt, corpus, 1, k=1))
print_lines("drawn", write(gpt, corpus, 4, seed=1))
print_lines("T = 1.5", write(gpt, corpus, 3, seed=1, T=1.5))

# %% [markdown]
# A ✓ marks what the grammar can say, a ✗ what it cannot, even if it is good English. What do the three controls do to a
# single distribution?

# %% tags=["fold"] label="draws Figure 3: the next token under the three controls"
# @title Draws Figure 3: the next token under the three controls
BEGINNINGS = ["the European", "we see the", "the", "we", "in the"]


@torch.no_grad()
def logits_after(beginning):
    return gpt(corpus.encode("\n" + beginning)[None].to(DEVICE))[:, -1].cpu()  # [1, V]


def controlled(beginning, T, k, p):
    logits = logits_after(beginning)
    most = logits[0].topk(20).indices
    return most.tolist(), logits.softmax(dim=-1)[0, most], choose(logits, T=T, k=int(k), p=p)[0]


def draw_controls(beginning, T, k, p):
    most, before, after = controlled(beginning, T, k, p)
    return drawings.next_token([corpus.tokens[number] for number in most], before, after[most], title=f"{beginning} …")


def say_controls(beginning, T, k, p):
    most, before, after = controlled(beginning, T, k, p)
    return (
        f"After “{beginning}”: the likeliest token is “{corpus.tokens[most[0]].strip()}”, {before[0]:.2f} before and {after[most[0]]:.2f} "
        f"after temperature {T:g}, top-k {int(k)} and top-p {p:g}; {int((after > 0).sum())} of {corpus.V} tokens are kept."
    )


explore(
    draw_controls,
    alt=say_controls,
    beginning=Choice("beginning", BEGINNINGS, "the European"),
    T=Slider("temperature", 0.1, 2.0, 1.0, 0.1),
    k=Slider("top-k", 1, corpus.V, 8, 1),
    p=Slider("top-p", 0.1, 1.0, 0.9, 0.05),
)
kept = {beginning: int((controlled(beginning, 1.0, corpus.V, 0.9)[2] > 0).sum()) for beginning in BEGINNINGS}
print("tokens kept by p = 0.9:", ", ".join(f"{beginning}: {count}" for beginning, count in kept.items()))


# %% [markdown]
# **Figure 3.** The distribution of the next token after a beginning of a sentence. The outlined bars show the model's
# own distribution, the filled bars what temperature, top-k and top-p, in this order, make of it. Only the 20 likeliest
# tokens are shown, with a 0 above those that are cut off. At first $T = 1$, $k = 8$ and $p = 0.9$: top-k leaves eight
# tokens and divides their probabilities by their sum, and top-p, which acts on the new probabilities, may drop some of
# these. To see top-p alone, move top-k to the right end; the printed line says how many tokens it keeps after each
# beginning.
#
# How much do the controls help? Three stored GPTs wrote 300 sentences with each setting. The table shows what share of
# them is possible in the grammar, what share is left when repeated sentences are counted only once, and, as a finer
# measure of variety, how many different groups of three successive words occur. Only the last line, from 200 sentences,
# is from this run.


# %% tags=["fold"] label="what 300 sentences are worth, drawn with each setting by three GPTs: stored runs"
# @title What 300 sentences are worth, drawn with each setting by three GPTs: stored runs
def learn_merges_fast(text, count):
    """As above, but after each merge only the words that hold its pair are counted anew."""
    words = Counter(WORD.findall(text))
    pieces = {word: list(word) for word in words}
    pairs, where, merges = Counter(), {}, []

    def count_in(word, times):
        for pair in zip(pieces[word], pieces[word][1:]):
            pairs[pair] += times
            where.setdefault(pair, {})[word] = None  # a set that keeps its order

    for word, times in words.items():
        count_in(word, times)
    for _ in range(count):
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for word in where.pop(best):
            count_in(word, -words[word])
            pieces[word] = joined(pieces[word], best)
            count_in(word, words[word])
    return merges


assert learn_merges_fast(train_text, 200) == merges[:200]


def judged(lines):
    """The share that the grammar can say, the share of different lines, and how many groups of three words occur."""
    words = [line.rstrip(".").split() for line in lines]
    return {
        "possible": sum(map(texts.is_sentence, lines)) / len(lines),
        "different": len(set(lines)) / len(lines),
        "triples": len({three for line in words for three in zip(line, line[1:], line[2:])}),
    }


SETTINGS = {
    "T = 0.3": {"T": 0.3},
    "T = 0.7": {"T": 0.7},
    "T = 1": {},
    "T = 1.5": {"T": 1.5},
    "k = 5": {"k": 5},
    "p = 0.9": {"p": 0.9},
    "T = 1.5, p = 0.9": {"T": 1.5, "p": 0.9},
}


def on_the_grammar(seed):
    """The grammar's text of this seed, and a GPT that has learned it for 600 and one for 2,400 steps."""
    text, new = texts.grammar(6000, seed)
    corpus = Corpus(text, new, learn_merges_fast(text, 200), N=32)
    return corpus, {steps: fitted(corpus, steps=steps, seed=seed) for steps in (600, 2400)}


def samples_of(corpus, models, seed):
    """What a GPT's sentences are worth with each setting, and the grammar's own."""
    samples = {name: write(models[600], corpus, 300, seed, **options) for name, options in SETTINGS.items()}
    samples["the grammar's own"] = texts.sentences(6300, seed + 50)[6000:]
    return {name: judged(lines) for name, lines in samples.items()}


def spread(values, digits=2):
    """Mean and range over the seeds."""
    values = list(values)
    return f"{sum(values) / len(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


if stored_runs.full():  # other parts of these runs are computed where they are shown, and kept with the last of them
    grammars = [on_the_grammar(seed) for seed in range(3)]
    runs = [{"samples": samples_of(*grammar, seed)} for seed, grammar in enumerate(grammars)]
else:
    record = stored_runs.load("11_language_models.against_n_grams")
    print(stored_runs.how(record))
    runs, library = record["results"]["grammar"], record["results"]["library"]

print(f"{'':17} {'possible':20} {'different':20} groups of three words")
for name in ("the grammar's own", *SETTINGS):
    found = [run["samples"][name] for run in runs]
    possible, different, triples = ([one[key] for one in found] for key in ("possible", "different", "triples"))
    print(f"{name:17} {spread(possible):20} {spread(different):20} {sum(triples) / 3:14,.0f}")
print(
    "now, T = 1:",
    f"{judged(write(gpt, corpus, 200, seed=2))['possible']:.2f} possible; T = 1.5: {judged(write(gpt, corpus, 200, seed=2, T=1.5))['possible']:.2f}",
)

# %% [markdown]
# A low temperature trades variety for correctness: at 0.3 nearly all sentences are possible, but they contain only 724
# groups of three words where the grammar's own have 2,309. At 1 the variety is almost that of the grammar, but nearly
# one sentence in five is wrong. Top-p with 0.9 keeps most of the variety, and only 2 % of its sentences are wrong;
# top-k with 5 gives less variety and more mistakes. Most errors at temperature 1.5 come from the many unlikely tokens,
# the tail of the distribution: when top-p cuts it off, the share of possible sentences rises from 0.33 to 0.82.
#
# ## Perplexity
#
# The loss on new text says how good a model is. It is usually reported as the **perplexity**, the exponential of the
# mean loss per token. Here $N$ is the number of tokens scored, not the length of a window:
#
# $$\text{perplexity} = \exp\Big(-\frac1N \sum_{n=1}^{N} \ln P(x_n \mid x_{<n})\Big)$$
#
# A model that gives each of $V$ tokens the probability $1/V$ has the perplexity $V$. A perplexity of 6 therefore
# means that the model is, on average, as uncertain as if it had to choose among 6 equally likely tokens.
#
# The perplexities of two models with different tokens cannot be compared: longer tokens are harder to guess, but the
# same text has fewer of them. What can be compared is the probability of the same text as a whole. Its negative
# logarithm to base 2, divided by the number of characters, gives the **bits per character** (BPC); the model makes it
# possible to compress the text to about this size.
#
# $$\text{bits per character} = \frac{-\sum_n \log_2 P(x_n \mid x_{<n})}{\text{number of characters}}
# = \frac{\log_2 \text{perplexity}}{\text{characters per token}}$$
#
# ```python
# # .mT: cross_entropy wants [B, V, N]
# losses = F.cross_entropy(logits.mT, targets, reduction="none")  # [B, N]: −ln P of each target
# perplexity = losses.mean().exp()
# bits_per_character = losses.sum() / math.log(2) / number_of_characters
# ```
#
# ## The rival: counting
#
# A perplexity by itself says little; we need a model to compare with. The classical language model counts. For each
# sequence of $n$ tokens, called an **n-gram**, it notes how often the sequence occurs, and it predicts the next token
# $w$ by what followed the last $n - 1$ tokens $u$ in the training text:
#
# $$P(w \mid u) = \frac{\text{count}(u, w)}{\text{count}(u)}$$
#
# With larger $n$ the model knows more of the context. But most long n-grams of a new text never occurred in training,
# and a single probability of 0 makes the perplexity infinite. A **discount** is therefore taken off each count, and the
# probability that this frees goes to the prediction from a shorter context. The best known way of doing so is
# **Kneser–Ney smoothing** (Kneser and Ney, 1995), whose variants were for decades the best models that rest on
# counting. We fit it for $n = 1$ to 5, and score it and the GPT on exactly the same tokens.
#
# <details><summary>Going further: Kneser–Ney smoothing as a formula</summary>
#
# Let $d$ be the discount, between 0 and 1, and $u'$ the context $u$ without its first token. The prediction from $u'$
# is mixed in with the weight $\lambda(u)$, the share that the discounts have freed (Chen and Goodman, 1999):
#
# $$P_n(w \mid u) = \frac{\max(\text{count}(u, w) - d,\, 0)}{\text{count}(u)} + \lambda(u)\, P_{n-1}(w \mid u'), \qquad
# \lambda(u) = \frac{d \cdot (\text{number of different tokens after } u)}{\text{count}(u)}$$
#
# Where $u$ never occurred, $P_{n-1}$ is taken alone, and the 1-gram model is mixed with equal probabilities. In all
# shorter models the formula is the same, but $\text{count}(u, w)$ has another meaning: not *how often* this sequence
# of tokens occurred, but *after how many different tokens*. In every model $\text{count}(u)$ is the sum of
# $\text{count}(u, w)$ over all $w$, and the discount is estimated from the numbers of n-grams that are counted once
# and twice. The example of the textbooks is "Francisco": it is frequent, but nearly always after "San", so that after
# any other word it is a bad guess. Chen and Goodman's own variant, with three discounts for each $n$, is a little
# better than this one.
#
# For each token, an n-gram model uses the $n - 1$ tokens before it, at most 4; the GPT uses the 17 to 32 tokens that
# come before it in its window.
#
# </details>

# %% tags=["fold"] label="draws Figure 4: n-grams and GPT on the same text"
# @title Draws Figure 4: n-grams and GPT on the same text
perplexities = {f"{n}-gram": corpus.n_gram(n) for n in range(1, 6)} | {"GPT": corpus.gpt(gpt)}
bits = {name: corpus.bits(perplexity) for name, perplexity in perplexities.items()}
figure, (axes,) = plots.canvas(7.5, 3.2)
plots.bars(
    list(bits.values()),
    list(bits),
    colour=[plots.VERMILLION] * 5 + [plots.BLUE],
    value_label="bits per character",
    axes=axes,
)
show(
    figure,
    "Bits per character on new sentences: " + ", ".join(f"{name} {value:.2f}" for name, value in bits.items()) + ".",
)
for name, perplexity in perplexities.items():
    print(f"{name:7} perplexity {perplexity:5.2f}, {bits[name]:.3f} bits per character")


def runs_of(tokens, n):
    return [tuple(run) for run in tokens.unfold(0, n, 1).tolist()]


for n in (3, 4, 5):
    known, met = set(runs_of(corpus.training, n)), runs_of(corpus.test, n)
    print(f"{n}-grams of the new sentences that occur in training: {sum(run in known for run in met) / len(met):.1%}")
assert perplexities["GPT"] < min(perplexities[f"{n}-gram"] for n in range(1, 6)) - 0.5

# %% [markdown]
# **Figure 4.** Bits per character on new sentences; lower is better.
#
# The best n-gram model is that of 3-grams. More context does not help, presumably because almost half of the 5-grams in
# the new sentences never occurred in training. The GPT has read the same sentences and is ahead of all five. A 3-gram
# model knows only the last two tokens, whereas the GPT can use what came long before, such as whether the subject was
# singular. Moreover, what it learns about a noun may help with other nouns that have similar embeddings.
#
# Is the result the same with less text, with more text, and with real text? Stored runs repeat the comparison with
# 100 to 20,000 sentences, and on the source code of the standard library, with 1,000 merges and a GPT with four
# layers. This GPT reads the source code twice, and as it reads we compare it with a 5-gram model of what it has read so
# far.

# %% tags=["fold"] label="draws Figure 5: more and less text, and source code; stored runs"
# @title Draws Figure 5: more and less text, and source code; stored runs
COUNTS = (100, 300, 1000, 5400, 20000)  # sentences


def sizes(seed):
    """Perplexities on 600 sentences against the number of sentences to train with; GPT after 150 and after 600 steps."""
    lines = texts.sentences(20600, seed)
    new, lines = "\n".join(lines[:600]) + "\n", lines[600:]
    corpus = Corpus("\n".join(lines) + "\n", new, learn_merges_fast("\n".join(lines), 200), N=32)
    found = {"3-gram": [], "GPT, 150 steps": [], "GPT, 600 steps": []}
    for count in COUNTS:
        text = corpus.encode("\n".join(lines[:count]) + "\n")
        found["3-gram"].append(corpus.n_gram(3, text))
        for steps in (150, 600):
            found[f"GPT, {steps} steps"].append(corpus.gpt(fitted(corpus, text, steps, seed)))
    return found


def compared_by_perplexity(corpus, models):
    """Perplexities and bits per character of the n-gram models and the GPTs of a corpus."""
    perplexities = {f"{n}-gram": corpus.n_gram(n) for n in range(1, 6)}
    perplexities |= {f"GPT, {steps} steps": corpus.gpt(model) for steps, model in models.items()}
    return {
        "perplexities": perplexities,
        "bits": {name: corpus.bits(perplexity) for name, perplexity in perplexities.items()},
    }


B, MARKS = 16, (25, 50, 100, 200, 400, 800)  # batches read


def read_twice(corpus, seed):
    """A GPT reads a text twice, in pieces in random order; its perplexities on the way, and those of 5-grams of what was read."""
    torch.manual_seed(seed)
    model, generator = GPT(corpus.V, corpus.N, D=128, H=4, L=4).to(DEVICE), torch.Generator().manual_seed(seed)
    W = corpus.training.unfold(0, corpus.N + 1, corpus.N)  # [pieces, N + 1]
    once = len(W) // B  # batches
    W = torch.cat([W[torch.randperm(len(W), generator=generator)[: once * B]] for _ in range(2)])
    found = {"tokens": [], "GPT": [], "5-gram": []}

    def note(step):
        found["tokens"].append(step * B * corpus.N)
        read = W[: min(step, once) * B, :-1].flatten()
        found["5-gram"].append(corpus.n_gram(5, read) if step <= once else found["5-gram"][-1])
        model.eval()
        found["GPT"].append(corpus.gpt(model))
        model.train()

    def batches():
        for step in range(2 * once):
            if step in (*MARKS, once, once * 3 // 2):
                note(step)
            yield W[step * B : (step + 1) * B].to(DEVICE)

    train(model, batches(), next_token_loss, steps=2 * once, rate=3e-3, what="GPT reads source code")
    note(2 * once)
    return found, model.eval()


@torch.no_grad()
def continued(model, corpus, prompt, count, seed=0, **options):
    """The prompt and `count` further tokens."""
    generator, X = torch.Generator().manual_seed(seed), corpus.encode(prompt)[None]
    for _ in range(count):
        q = choose(model(X[:, -corpus.N :].to(DEVICE))[:, -1].cpu(), **options)
        X = torch.cat([X, torch.multinomial(q, 1, generator=generator)], dim=1)
    return "".join(corpus.tokens[number] for number in X[0].tolist())


def on_the_library(seeds):
    """On the source of the standard library: perplexities on the way through two readings, and a sample."""
    corpus = Corpus(library_text, library_test, learn_merges_fast(library_text, 1000), N=128, longest=1500 * 64 + 1)
    runs = [read_twice(corpus, seed) for seed in seeds]
    perplexities = [corpus.n_gram(n) for n in range(1, 7)]
    return {
        "python": platform.python_version(),
        "size": {"characters": len(library_text), "tokens": len(corpus.training), "vocabulary": corpus.V},
        "parameters": sum(weight.numel() for weight in runs[0][1].parameters()),
        "n-grams": perplexities,
        "tokens": runs[0][0]["tokens"],
        "5-gram": [found["5-gram"] for found, _ in runs],
        "GPT": [found["GPT"] for found, _ in runs],
        "bits": {"6-gram": corpus.bits(perplexities[5]), "GPT": [corpus.bits(found["GPT"][-1]) for found, _ in runs]},
        "sample": continued(runs[0][1], corpus, "\ndef ", 150, T=0.8),
    }


if stored_runs.full():
    for seed, (run, grammar) in enumerate(zip(runs, grammars)):
        run.update(compared_by_perplexity(*grammar), sizes=sizes(seed))
    library = on_the_library(range(3))
    seconds = time.perf_counter() - BEGUN

for name in ("3-gram", "5-gram", "GPT, 600 steps"):
    of_runs = [run["perplexities"][name] for run in runs]
    bits = spread((run["bits"][name] for run in runs), 3)
    print(f"grammar, {name:15} perplexity {spread(of_runs)}, bits per character {bits}")
assert max(run["perplexities"]["GPT, 600 steps"] for run in runs) < min(run["perplexities"]["3-gram"] for run in runs)

lines = {
    name: [sum(values) / len(runs) for values in zip(*(run["sizes"][name] for run in runs))]
    for name in runs[0]["sizes"]
}
bands = {
    name: tuple([choice(values) for values in zip(*(run["sizes"][name] for run in runs))] for choice in (min, max))
    for name in lines
}
shades = {"3-gram": plots.VERMILLION, "GPT, 150 steps": plots.SKY, "GPT, 600 steps": plots.BLUE}
figure, (left, right) = plots.canvas(11, 3.8, 2)
plots.curves(COUNTS, lines, x_label="sentences", y_label="perplexity", colours=shades, bands=bands, log="xy", axes=left)
left.set(title="the grammar")
both = {name: [sum(values) / len(values) for values in zip(*library[name])] for name in ("5-gram", "GPT")}
limits = {name: tuple([choice(values) for values in zip(*library[name])] for choice in (min, max)) for name in both}
shades = {"5-gram": plots.VERMILLION, "GPT": plots.BLUE}
plots.curves(library["tokens"], both, x_label="tokens read", colours=shades, bands=limits, log="xy", axes=right)
right.set(title="the standard library")
right.axvline(library["size"]["tokens"], color=plots.GREY, linestyle=":")
for axes, places in ((left, COUNTS), (right, (100_000, 1_000_000))):
    axes.set_xticks(places, [f"{place:,}" for place in places])
    axes.minorticks_off()
show(
    figure,
    "Perplexity against the amount of text. Left, the grammar: a 3-gram model and GPT after 150 and 600 steps, from 100 to 20,000 "
    f"sentences. Right, source code, read twice: a 5-gram model ends at {both['5-gram'][-1]:.1f}, GPT at {both['GPT'][-1]:.1f}.",
)
for name, values in lines.items():
    print(f"{name:15}", "  ".join(f"{count:,}: {value:.2f}" for count, value in zip(COUNTS, values)))
print(f"{'code, thousands of tokens':26}", "".join(f"{count / 1000:7,.0f}" for count in library["tokens"]))
for name, values in both.items():
    print(f"{'source code, ' + name:26}", "".join(f"{value:7.1f}" for value in values))
print(f"source code, all of it: 6-gram {library['n-grams'][5]:.1f}")
print(f"bits per character: 6-gram {library['bits']['6-gram']:.2f}, GPT {spread(library['bits']['GPT'])}")

# %% [markdown]
# **Figure 5.** Stored runs: perplexity against the amount of text, both on logarithmic axes; mean and range of three
# seeds. Left, sentences of the grammar; the GPT is trained for 150 or for 600 steps. Right, source code, where the
# text is read twice; the dotted line marks the end of the first reading.
#
# - **With very little text, counting wins here.** On 100 sentences the 3-gram model reaches a perplexity of 15, the GPT
#   only 53 after 150 steps. With 600 steps it gets even worse: by then it has seen each sentence hundreds of times, and
#   has presumably learned them all by heart.
# - **With more text, the GPT is ahead, if it is trained for the right time.** This time grows with the text: with 1,000
#   sentences 600 steps are too many, with 20,000 sentences 150 are too few. On 20,000 sentences it reaches 5.1 after
#   600 steps, and the 3-gram model 6.0.
# - **On source code**, the 5-gram model is ahead throughout the first reading: a table of counts takes in everything at
#   first sight, whereas a network learns in small steps. In the second reading, which adds nothing to the counts, the
#   GPT overtakes them and ends at 19; the best n-gram model that we fitted, a 6-gram model, reaches 22.
#
# <details><summary>Going further: a larger comparison, and details of these runs</summary>
#
# With more text and a larger network the gap grows. On a benchmark of almost a billion words, a Kneser–Ney 5-gram
# model has a perplexity of $67.6$ per word (Chelba et al., 2013), and a Transformer with 800 million parameters one
# of $21.8$ (Dai et al., 2019).
#
# With 300 sentences and 150 steps the GPT is slightly ahead on average, though not for every seed. The runs of the left
# panel use other sentences and other tokens than Figure 4, so their numbers for 5,400 sentences differ a little from
# its numbers. Part of the GPT's gain in the second reading is likely to come from the learning rate, which falls to
# zero at its end; in a run of a single reading it would have fallen to zero at the end of the first. The GPT of the
# source code is 128 wide and has windows of 128 tokens.
#
# </details>
#
# What does the model of the source code write when it continues `def`, at a temperature of 0.8?

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
print(library["sample"])

# %% [markdown]
# The form is mostly right: functions, indentation, a docstring. The content makes no sense, though, and not every line
# is valid Python.
#
# ## Zero-shot, one-shot, few-shot
#
# Now back to tasks that are stated in a prompt. A **zero-shot** prompt describes the task in words, a **one-shot**
# prompt also gives one example, and a **few-shot** prompt several. Learning from the examples in a prompt, while no
# weight changes, is called **in-context learning**.
#
# We need a world in which this can be measured. A document of this world is a list of 16 pairs, and each pair is two
# tokens: a letter and its digit. The letter of each pair is drawn at random from a to h, whatever came before, so that
# some letters occur several times and others not at all. A secret table, the same for the whole document, gives each
# letter a digit from 1 to 8; two letters may share a digit. Half of all documents begin with the name of one of 16
# tables, `T1` to `T16`, which occur again and again. The other half begin with `?` and have a table of their own, drawn
# at random and never used again:

# %% tags=["nbval-check-output"]
seeded = torch.Generator().manual_seed(0)
named = mappings.tables(16, generator=seeded)  # [16, 8]: the tables T1 to T16
for document in mappings.mixture(named, 4, generator=seeded):
    print(mappings.text(document))


# %% [markdown]
# The name plays the part of a description in words: a model that knows the table `T3` can answer after `T3 c` without
# any example. After `?` it has to read examples first. **Our model** is a GPT with two layers of two attention heads
# each, trained to predict the next token of such documents, like any language model. Unlike our first GPT, it has an
# output head of its own. Nobody tells it that there are tables. To save time, we load its weights after 800 steps. Five
# others, trained for 1,600 steps and known only by their stored results, are called **the stored models**.


# %% tags=["fold"] label="loads a GPT that was trained on the documents"
# @title Loads a GPT that was trained on the documents
class UntiedGPT(GPT):
    """A GPT with a head of its own, whose embeddings begin larger."""

    def __init__(self, V, N, D, H, L):
        super().__init__(V, N, D, H, L)
        self.head = nn.Linear(D, V)
        nn.init.normal_(self.tokens.weight, std=1.0)

    def forward(self, tokens):
        return self.head(self.encode(tokens))  # [B, n, V]


def seen(documents):
    """For each pair of documents [B, 1 + 2 * pairs]: whether its letter stood in an earlier pair. [B, pairs]"""
    x = documents[:, 1::2]
    return (x[:, :, None] == x[:, None, :]).tril(-1).any(dim=-1)


def learned(layers, steps, seed, D=64, kind=UntiedGPT, tables=None):
    """A model, the tables of its named tasks, and the share of right values on seen letters of "?" documents at each step."""
    torch.manual_seed(seed)
    drawing = torch.Generator().manual_seed(seed)
    tables = mappings.tables(16, generator=drawing) if tables is None else tables
    model, hits = kind(len(mappings.TOKENS), 32, D, 2, layers).to(DEVICE), []

    def loss(model, batch):
        logits = model(batch[:, :-1])  # [B, 32, V]
        asked = seen(batch) & (batch[:, :1] == mappings.NO_NAME)
        hits.append((logits[:, 1::2].argmax(dim=-1) == batch[:, 2::2])[asked].float().mean().item())
        return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())

    documents = mappings.batches(tables, 32, generator=drawing, device=DEVICE)
    train(model, documents, loss, steps=steps, rate=3e-3, what=f"{layers} layer{'s'[: layers > 1]}, {steps} steps")
    return model, tables, hits


two_layers = UntiedGPT(len(mappings.TOKENS), 32, 64, 2, 2).to(DEVICE)
if stored_runs.full():
    begun = time.perf_counter()
    two_layers, _, hits = learned(layers=2, steps=800, seed=0, tables=named)
    stored_weights.keep("11_language_models.two_layers", two_layers)
    of_it = {"hits": hits, "tables": named.tolist()}
    stored_runs.keep("11_language_models.two_layers", of_it, seed=0, seconds=time.perf_counter() - begun)
stored_weights.load("11_language_models.two_layers", two_layers).to(DEVICE)
of_it = stored_runs.load("11_language_models.two_layers")["results"]
hits, named = of_it["hits"], torch.tensor(of_it["tables"])  # the tables that the model knows by their names
print(f"{sum(weight.numel() for weight in two_layers.parameters()):,} parameters")


# %% [markdown]
# Then we test it on *new* tables. A prompt holds 0 to 15 examples and then a letter:


# %%
@torch.no_grad()
def right_answers(model, names, f, shots, drawing):
    """Prompts with `shots` examples: which answers are right [B], and which letters stood among the examples [B]."""
    asked = mappings.documents(names, f, pairs=shots + 1, generator=drawing).to(DEVICE)
    return model(asked[:, :-1])[:, -1].argmax(dim=-1) == asked[:, -1], seen(asked)[:, -1]


# %% [markdown]
# How well can a model do at best? We call the letter **seen** if it is among the $k$ examples, and unseen otherwise.
# The digit of a seen letter is known. A letter is unseen with probability $(7/8)^k$, and then all eight digits are
# equally likely, so that a guess is right with probability $1/8$. The best possible accuracy is therefore 1 less the
# probability that the letter is unseen *and* the guess wrong:
#
# $$1 - \left(\tfrac78\right)^k \left(1 - \tfrac18\right)$$

# %% tags=["fold"] label="draws Figure 6: accuracy against the number of examples; the curves of five seeds are stored"
# @title Draws Figure 6: accuracy against the number of examples; the curves of five seeds are stored
SHOTS = [0, 1, 2, 4, 8, 15]


def by_examples(model, tables, count=2000, seed=100):
    """Accuracies for each number of examples: of new tables, also by seen and unseen letter; of named ones, with and without name."""
    drawing = torch.Generator().manual_seed(seed)
    fresh, which = mappings.tables(count, generator=drawing), torch.randint(16, (count,), generator=drawing)
    nameless = torch.full((count,), mappings.NO_NAME)
    rows = {key: [] for key in ("new", "best", "seen", "unseen", "named", "named, no name")}
    for shots in SHOTS:
        hit, known = right_answers(model, nameless, fresh, shots, drawing)
        rows["new"].append(hit.float().mean().item())
        rows["best"].append(
            1 - 7 / 8 * (7 / 8) ** shots
        )  # a seen letter is certain, of an unseen one each digit is as likely
        rows["seen"].append(hit[known].float().mean().item() if known.any() else None)
        rows["unseen"].append(hit[~known].float().mean().item())
        hit, _ = right_answers(model, mappings.FIRST_NAME + which, tables[which], shots, drawing)
        rows["named"].append(hit.float().mean().item())
        hit, _ = right_answers(model, nameless, tables[which], shots, drawing)
        rows["named, no name"].append(hit.float().mean().item())
    return rows


def table(rows):
    for key, values in rows.items():
        print(f"{key:38}", "  ".join(f"{value:.3f}" if value is not None else "  –  " for value in values))


def smooth(hits, width=25):
    """Means over `width` steps; a step without seen keys does not count."""
    values = torch.tensor(hits)[: len(hits) // width * width].view(-1, width)
    return values.nanmean(dim=1).tolist()


def nameless_documents(count, seed):
    drawing = torch.Generator().manual_seed(seed)
    names = torch.full((count,), mappings.NO_NAME)
    return mappings.documents(names, mappings.tables(count, generator=drawing), pairs=16, generator=drawing).to(DEVICE)


STEPS, SEEDS = 1600, 5


def long_run(seed):
    """A model with two layers, its tables, and how well models of this seed learn from a prompt."""
    two, tables, hits = learned(2, STEPS, seed)
    one, its_tables, its_hits = learned(1, STEPS, seed)
    found = {"two layers": {**by_examples(two, tables), "curve": smooth(hits)}}
    found["one layer"] = {**by_examples(one, its_tables), "curve": smooth(its_hits)}
    if seed < 3:
        for name, options in {
            "one layer, wider": {"layers": 1, "D": 92},
            "two layers, tied head": {"layers": 2, "kind": GPT},
        }.items():
            other, its_tables, its_hits = learned(steps=STEPS, seed=seed, **options)
            found[name] = {**by_examples(other, its_tables), "curve": smooth(its_hits)}
    return two, tables, found


if stored_runs.full():  # their heads and their fine-tuning follow where they are shown
    begun = time.perf_counter()
    long_runs = [long_run(seed) for seed in range(SEEDS)]
    long = [found for _, _, found in long_runs]
else:
    record = stored_runs.load("11_language_models.in_context")
    print(stored_runs.how(record))
    long = record["results"]["runs"]


def over_seeds(name, key, place=None):
    """The values of a measure for all seeds that have it."""
    return [run[name][key] if place is None else run[name][key][place] for run in long if name in run]


accuracies = by_examples(two_layers, named)
stored_accuracies, ends = {}, {}
for key in ("new", "named", "named, no name"):
    values = [over_seeds("two layers", key, place) for place in range(len(SHOTS))]
    stored_accuracies[key] = [sum(some) / len(some) for some in values]
    ends[key] = tuple([choice(some) for some in values] for choice in (min, max))
@torch.no_grad()
def by_place(model, count=6000, seed=500):
    """Accuracy on prompts with 15 examples of which one alone has the letter that is asked for, by its place, 1 to 15."""
    asked = nameless_documents(count, seed)  # [count, 33]
    hit = model(asked[:, :-1])[:, -1].argmax(dim=-1) == asked[:, -1]
    same = asked[:, 1::2][:, :-1] == asked[:, -2:-1]  # [count, 15]
    single = same.sum(dim=1) == 1
    return [hit[single & same[:, place]].float().mean().item() for place in range(15)]


figure, (axes, right) = plots.canvas(11.5, 3.8, 2, width_ratios=(1.5, 1))
curves = {
    "new table, best possible": accuracies["best"],
    "new table, our model": accuracies["new"],
    "new table, stored": stored_accuracies["new"],
    "named table, stored": stored_accuracies["named"],
}
shades = dict(zip(curves, (plots.GREY, plots.SKY, plots.BLUE, plots.GREEN)))
bands = {"new table, stored": ends["new"], "named table, stored": ends["named"]}
plots.curves(
    SHOTS, curves, x_label="examples in the prompt", y_label="accuracy", colours=shades, bands=bands, axes=axes
)
axes.set_xticks(SHOTS)
axes.set_ylim(0, 1.05)
places = by_place(two_layers)
right.bar(range(1, 16), places, color=plots.SKY)
right.set(title="our model, 15 examples", xlabel="place of the only helpful example", ylabel="accuracy", ylim=(0, 1.05))
right.set_xticks(range(1, 16, 2))
show(
    figure,
    "Left, accuracy against the number of examples: "
    + "; ".join(f"{name} {', '.join(f'{value:.2f}' for value in values)}" for name, values in curves.items())
    + ". Right, accuracy of our model by the place of the only helpful example, 1 to 15: "
    + ", ".join(f"{value:.2f}" for value in places)
    + ".",
)
print(f"{'examples':38}", "  ".join(f"{shots:5}" for shots in SHOTS))
table({f"our model: {key.replace('best', 'best possible')}": values for key, values in accuracies.items()})
table({f"stored, five seeds: {key}": values for key, values in stored_accuracies.items()})


def step_of(curve, level=0.9):
    """The step of training at which the accuracy on seen letters, over 25 steps, first exceeds the level."""
    return 25 * (1 + next(place for place, value in enumerate(curve) if value > level))


for name in ("two layers", "two layers, tied head"):
    steps = [step_of(curve) for curve in over_seeds(name, "curve")]
    print(f"stored: {name}: 0.9 of seen letters right after {min(steps)} to {max(steps)} steps;")
    print(f"    in the end, with 8 examples, {spread(over_seeds(name, 'seen', 4))}")
assert accuracies["seen"][3] > 0.9 and accuracies["named"][0] > 0.95

# %% [markdown]
# **Figure 6.** Left, accuracy on tables against the number of examples in the prompt. The grey curve is the best
# possible accuracy on new tables; each measured value comes from 2,000 random prompts per model, so by chance it may
# lie a little above. The stored curves are means and ranges of five seeds, trained for twice as many steps as our
# model. Right, the accuracy of our model with 15 examples of which only one has the letter asked for, by the place of
# this example; each bar comes from about 115 prompts.
#
# - **New tables**: with up to eight examples, the stored models are right about as often as one can be. They have
#   learned to learn from a prompt. With 15 examples they reach 0.80 of a possible 0.88, because they overlook some
#   examples of a long prompt. (Ours reaches 0.84 after half the training; we do not know why.) The right panel shows
#   that our model overlooks only the last examples of a prompt.
# - **Named tables** need no example at all: these 16 tables are in the weights.
# - **Named tables after a `?`**, printed as "named, no name", are about as hard as new ones: without the name a model
#   does not recall them.
#
# Few-shot learning can thus arise from next-token prediction alone. Here it was enough that the training text
# contains many documents, each of which follows a rule of its own. Whether it arises in GPT-3 for the same reason, we
# cannot say.
#
# <details><summary>Going further: the head of this model, and the last pairs of a prompt</summary>
#
# Why do the models overlook examples? In a document of 16 pairs, only the last pair can ask for the fifteenth.
# Late pairs are therefore rarely asked for in training, and this may be the reason.
#
# One detail saves time: this GPT has a head of its own, and its embeddings start with a standard deviation of 1. With
# the tied head and the smaller embeddings of our first model the ability comes as well, 0.99 on seen letters after
# eight examples in the stored runs, but it takes three to four times as many steps.
#
# </details>
#
# ## Induction heads
#
# How does the model do it? The weights are the same for all tables, so the answer has to come out of the prompt: the
# model has to find the letter's earlier occurrence, and copy what followed it. Attention is such a lookup (lesson
# 04), but there is a difficulty: the token to be copied is the *digit*, and nothing in the digit's own embedding says
# which letter comes before it.
#
# Two layers can solve this together (Elhage et al., 2021; Olsson et al., 2022):
#
# 1. In the first layer, a head attends from each position to the position before it, and so writes into each digit's
#    vector which letter comes before it. This is a **previous-token head**.
# 2. In the second layer, a head at the last letter asks which position comes after an earlier occurrence of this
#    letter. Its query matches the keys of digits whose predecessor is this letter, so it attends there and copies the
#    digit. This is an **induction head**.

# %% tags=["fold"] label="draws Figure 7: two layers find the answer"
# @title Draws Figure 7: two layers find the answer
show(
    drawings.induction(),
    "Below, the tokens c 5 a 2 h 1 a. In layer 1 each position attends to the one before it, so that 2 carries the note: after a. In layer 2 "
    "the last a attends to this 2, and copies it: the answer is 2.",
)


# %% [markdown]
# **Figure 7.** How two layers continue `c5 a2 h1 a`. The first layer notes at each position which token comes before
# it. The second layer looks for the position that comes after an `a`, and copies its token.
#
# Is this what our model does? Remove the examples, add them one by one, and watch what the last token attends to.


# %% tags=["fold"] label="draws Figure 8: what the last token of a prompt attends to"
# @title Draws Figure 8: what the last token of a prompt attends to
@torch.no_grad()
def attention(model, tokens):
    """The attention weights [L, B, H, n, n] of a model on documents [B, n]."""
    n, found = tokens.shape[1], []
    X = model.tokens(tokens) + model.positions(torch.arange(n, device=tokens.device))
    later = torch.ones(n, n, dtype=torch.bool, device=tokens.device).triu(1)
    for block in model.blocks:
        Z = block.norm1(X)
        found.append(block.self_attn(Z, Z, Z, attn_mask=later, average_attn_weights=False)[1])  # [B, H, n, n]
        X = block(X, src_mask=later, is_causal=True)
    return torch.stack(found)


PROMPT = "? c5 a2 f7 c5 b1 a2 g3 h4 d6 e8 b1"  # examples of a new table
ASKS = "a"


def prompted(examples, layer, head):
    """The prompt's tokens, the weights of its last token in a head, and the probabilities of the eight digits."""
    line = " ".join([*PROMPT.split()[: int(examples) + 1], ASKS])
    tokens = mappings.ids(line)[None].to(DEVICE)
    A = attention(two_layers, tokens)[int(layer) - 1, 0, int(head) - 1, -1].cpu()
    with torch.no_grad():
        p = two_layers(tokens)[0, -1].softmax(dim=-1).cpu()
    return [mappings.TOKENS[token] for token in tokens[0].tolist()], A, p[mappings.FIRST_VALUE : mappings.FIRST_NAME]


def draw_prompt(examples, layer, head):
    words, weights, p = prompted(examples, layer, head)
    return drawings.prompt(words, weights, mappings.VALUES, p, title=f"layer {int(layer)}, head {int(head)}")


def say_prompt(examples, layer, head):
    words, weights, p = prompted(examples, layer, head)
    places = [n for n, weight in enumerate(weights) if weight >= min(0.1, weights.max())]
    seen_most = " and ".join(f"{weights[n]:.2f} to the token {words[n]} at position {n}" for n in places)
    return (
        f"The prompt {mappings.text(mappings.ids(' '.join([*PROMPT.split()[: int(examples) + 1], ASKS])))}: in layer {int(layer)}, head {int(head)}, "
        f"the last token gives a weight of {seen_most}; the likeliest digit is {mappings.VALUES[p.argmax()]} with {p.max():.2f}."
    )


explore(
    draw_prompt,
    alt=say_prompt,
    examples=Slider("examples", 0, 10, 7, 1),
    layer=Slider("layer", 1, 2, 2, 1),
    head=Slider("head", 1, 2, 2, 1),
)
words, weights, _ = prompted(7, 2, 2)
on_twos = [weight.item() for word, weight in zip(words, weights) if word == "2"]
assert len(on_twos) == 2 and min(on_twos) > 0.2 and sum(on_twos) > 0.9


# %% [markdown]
# **Figure 8.** A prompt with a new table. The colour of each token is the weight with which the last token attends to
# it; on the right, the probabilities of the eight digits. At first, with seven examples, the head divides its weight
# between the two digits that followed an `a`. With fewer than two examples the prompt does not yet contain `a2`, and
# nothing can be known about `a`.
#
# A single prompt may mislead, so we measure all heads over many documents, in two ways: by where they attend, and by
# what is lost without them. Three mean weights tell the kinds of heads apart: the weight that a digit gives to the
# letter before it, and the weights that a letter gives to its own earlier occurrences and to the digits after them. In
# an induction head the last of the three is large. In code, for one document:


# %%
def of_digits(A):
    """What each digit gives to the letter before it, from the weights A [..., n, n] on a document."""
    return [A[..., i, i - 1] for i in range(2, A.shape[-1], 2)]  # digits stand at 2, 4, …, letters at 1, 3, …


def of_repeated_letters(A, line, step):
    """What each repeated letter gives to its earlier occurrences (step 0), or to the digits after them (step 1)."""
    given = []
    for i in range(1, len(line), 2):  # each letter of the document
        earlier = [j for j in range(1, i, 2) if line[j] == line[i]]  # where the same letter stood before
        if earlier:
            given.append(sum(A[..., i, j + step] for j in earlier))  # the weight of all these places together
    return given


# %% [markdown]
# To remove a head, we set the columns of the output projection that read its output to 0:


# %%
def without(model, layer, head):
    """A copy of the model in which one head adds nothing."""
    changed = copy.deepcopy(model)
    attend = changed.blocks[layer].self_attn
    width = attend.head_dim
    with torch.no_grad():
        attend.out_proj.weight[:, head * width : (head + 1) * width] = 0
    return changed


# %% tags=["fold"] label="heads of this model"
# @title Heads of this model
def head_measures(A, tokens):
    """Three mean weights [L, H] of each head, from A [L, B, H, 32, 32] on documents [B, 32] that end with a letter."""
    given = {"digit → its letter": [], "letter → same letter": [], "letter → digit after it": []}
    for weights, line in zip(A.cpu().unbind(1), tokens.tolist()):  # [L, H, 32, 32] and 32 tokens
        given["digit → its letter"] += of_digits(weights)
        given["letter → same letter"] += of_repeated_letters(weights, line, step=0)
        given["letter → digit after it"] += of_repeated_letters(weights, line, step=1)
    return {name: torch.stack(weights).mean(dim=0) for name, weights in given.items()}


@torch.no_grad()
def on_seen(model, documents):
    """Accuracy on seen letters, over all places of documents."""
    return (
        (model(documents[:, :-1])[:, 1::2].argmax(dim=-1) == documents[:, 2::2])[seen(documents)].float().mean().item()
    )


@torch.no_grad()
def on_repeats(model, count=500, seed=300):
    """15 different letters and digits in any order, then once more: accuracy in the second half, weight on the token after [L, H]."""
    drawing = torch.Generator().manual_seed(seed)
    order = torch.rand(count, 16, generator=drawing).argsort(dim=1)[:, :15].to(DEVICE)
    tokens = torch.cat([torch.full((count, 1), mappings.NO_NAME, device=DEVICE), order, order], dim=1)  # [count, 31]
    hit = (model(tokens[:, :-1]).argmax(dim=-1) == tokens[:, 1:])[:, 16:].float().mean().item()
    asking = torch.arange(16, 30, device=DEVICE)
    return hit, attention(model, tokens[:, :-1])[..., asking, asking - 14].mean(dim=(1, 3))


def exchanged(documents):
    """The same documents with digits in the places of letters and letters in the places of digits."""
    table = torch.arange(len(mappings.TOKENS), device=documents.device)
    table[:16] = (table[:16] + 8) % 16
    return table[documents]


def looked_into(model, seed):
    """What the heads of a two-layer model do, and what is left without each."""
    documents = nameless_documents(500, seed=1000 + seed)
    hit, follow = on_repeats(model)
    return {
        "weights": {
            name: value.tolist()
            for name, value in head_measures(attention(model, documents[:, :-1]), documents[:, :-1]).items()
        },
        "all heads": on_seen(model, documents),
        "without": [[on_seen(without(model, layer, head), documents) for head in range(2)] for layer in range(2)],
        "random, twice": hit,
        "token after": follow.tolist(),
        "exchanged": on_seen(model, exchanged(documents)),
    }


if stored_runs.full():
    for seed, (model, _, found) in enumerate(long_runs):
        found["heads"] = looked_into(model, seed)

probes = nameless_documents(500, seed=200)
A = attention(two_layers, probes[:, :-1])
measures = head_measures(A, probes[:, :-1])
later = torch.ones(32, 32, dtype=torch.bool, device=DEVICE).triu(1)
equal = head_measures((~later / torch.arange(1, 33, device=DEVICE)[:, None]).expand_as(A), probes[:, :-1])
print("this model")
print(f"{'head':15}", "  ".join(measures), " right without")
for layer in range(2):
    for head in range(2):
        row = "  ".join(f"{value[layer, head]:{len(name)}.2f}" for name, value in measures.items())
        print(
            f"layer {layer + 1}, head {head + 1:<1}", row, f"{on_seen(without(two_layers, layer, head), probes):14.2f}"
        )
for layer in range(2):
    both = without(without(two_layers, layer, 0), layer, 1)
    print(f"without both heads of layer {layer + 1}: {on_seen(both, probes):.2f}")
row = "  ".join(f"{value[0, 0]:{len(name)}.2f}" for name, value in equal.items())
print(f"{'equal weights':15}", row)
print(f"with all heads: {on_seen(two_layers, probes):.2f} right")
assert measures["letter → digit after it"][1].max() > 0.7

# %% [markdown]
# In the table, a large weight in the first column marks a previous-token head, and in the third an induction head; in
# the second it would mean that a letter only finds its own earlier occurrences. The last column is the accuracy on seen
# letters without the head. "Equal weights" shows what a head would give that attends equally to all positions that it
# may see. In our model, head 2 of layer 1 is the main previous-token head: without it the accuracy falls to 0.50. Head
# 1 seems to share its work, since without both heads only 0.20 is left. The induction head is head 2 of layer 2,
# without which the accuracy falls to 0.18. Figure 9 shows these two heads on a longer prompt, with eleven examples:

# %% tags=["fold"] label="draws Figure 9: both heads on one prompt"
# @title Draws Figure 9: both heads on one prompt
whole = mappings.ids(f"{PROMPT} {ASKS}").to(DEVICE)  # [24]
previous, induction = attention(two_layers, whole[None])[:, 0, 1].cpu()  # [24, 24] each: head 2 of layer 1 and of layer 2
places, letters = torch.arange(len(whole)), whole.cpu()
after_same = torch.zeros(len(whole), len(whole), dtype=torch.bool)  # row: a letter; column: a digit after the same letter
after_same[1::2, 2::2] = (letters[1::2, None] == letters[1:-1:2]).tril(-1)
asking = after_same.any(dim=-1)
assert previous[places[2::2], places[1:-1:2]].mean() > 0.5
assert (induction * after_same).sum(dim=-1)[asking].min() > 0.5
names = [mappings.TOKENS[token] for token in letters.tolist()]
figure, panels = plots.canvas(12.5, 5.4, 2)
for panel, M, layer in zip(panels, (previous, induction), (1, 2), strict=True):
    title = f"{('previous-token', 'induction')[layer - 1]} head (layer {layer}, head 2)"
    plots.heat_map(M, names, names, title=title, row_label="from", column_label="to", numbers="", axes=panel)
    panel.tick_params(labelsize=10)
rows, columns = after_same.nonzero(as_tuple=True)
panels[1].plot(columns, rows, "o", markersize=13, markerfacecolor="none", markeredgecolor=plots.VERMILLION, markeredgewidth=1.6)
show(
    figure,
    "Attention matrices of two heads on the 24 tokens of the prompt. Left, in layer 1, light cells lie one place left of the "
    "diagonal in the rows of the digits. Right, in layer 2, circles mark the digits after earlier occurrences of a letter, and "
    "most of the weight of these letters lies in the circles.",
)

# %% [markdown]
# **Figure 9.** The attention weights of both heads, from each token (row) to the tokens up to it (column). Left, the
# previous-token head: a digit attends most to the letter just before it, whereas a letter attends most to the `?`.
# Right, the induction head: a letter that has occurred before attends mostly to the digits that followed it then, which
# are circled; a new letter, which has nothing to copy, attends to the `?`.
#
# Do the five stored models have such heads, too?

# %% tags=["fold"] label="draws Figure 10: heads of the five stored models"
# @title Draws Figure 10: heads of the five stored models
NAMING = ("digit → its letter", "letter → digit after it")  # the weights that name a head of layer 1 and of layer 2
heads = [run["heads"] for run in long]
every = sum(run["all heads"] for run in heads) / len(heads)
figure, panels = plots.canvas(11, 4.2, 2, sharey=True)
kinds = {
    "previous-token": "digit → the letter before it",
    "induction": "letter → digits after its earlier occurrences",
}
said = []
for layer, (panel, (kind, to)) in enumerate(zip(panels, kinds.items(), strict=True)):
    for seed, run in enumerate(heads):
        weights, left = run["weights"][NAMING[layer]][layer], run["without"][layer]
        colour = plots.CYCLE[seed]
        panel.plot(weights, left, color=colour, linewidth=1, alpha=0.4)
        style = {"markersize": 9, "markeredgecolor": "white", "zorder": 3, "clip_on": False}
        panel.plot(weights, left, "osD^v"[seed], color=colour, label=f"seed {seed}", **style)
        pair = " and ".join(f"{accuracy:.2f} at {weight:.2f}" for weight, accuracy in zip(weights, left))
        said.append(f"layer {layer + 1}, seed {seed}: {pair}")
        # a head that alone attends as named is needed, all others are not, or only half
        alone = sum(weight > 0.5 for weight in weights) == 1
        assert all(a < 0.4 if alone and weight > 0.5 else a > 0.45 for weight, a in zip(weights, left))
    plots.level(panel, every, "with all heads", at=0.3)
    panel.set(title=f"layer {layer + 1}: {kind} heads on the right", xlabel=f"weight: {to}")
    panel.set(xlim=(-0.03, 1.03), ylim=(0, 1.1))
    panel.grid(True)
panels[0].set_ylabel("accuracy without the head")
plots.legend_of(panels[0], loc="lower left")
show(figure, "Accuracy without each head, at the weight that names its kind: " + "; ".join(said) + ".")
counts = [tuple(sum(one > 0.5 for one in run["weights"][NAMING[n]][n]) for n in range(2)) for run in heads]
assert sorted(counts) == [(1, 2)] * 4 + [(2, 1)]  # previous-token heads and induction heads of each model
needed = [min(run["without"][0]) for run, (previous_token, _) in zip(heads, counts) if previous_token == 1]
assert 0.195 < min(needed) and max(needed) < 0.355  # the accuracy without the single previous-token head

# %% [markdown]
# **Figure 10.** Each dot is a head of a stored model; colours are seeds, and a line joins the two heads of a layer.
# Right and low: the head attends as named and is needed. Right and high: the other head of the layer does the same
# work, at least in part. In the right panel, seed 0's upper dot lies behind that of seed 1.
#
# All five models have both kinds of heads, but none has just one of each. Four have two induction heads and a single
# previous-token head, whose removal leaves an accuracy of 0.20 to 0.35. The fifth, seed 4, is the reverse: either of
# its two previous-token heads can be removed without much loss.
#
# If this mechanism needs two layers, a model with a single layer should fail. Does it?

# %% tags=["fold"] label="draws Figure 11: one layer and two"
# @title Draws Figure 11: one layer and two
one_layer = UntiedGPT(len(mappings.TOKENS), 32, 64, 2, 1).to(DEVICE)
if stored_runs.full():
    one_layer, _, _ = learned(layers=1, steps=800, seed=0, tables=named)
    stored_weights.keep("11_language_models.one_layer", one_layer)
stored_weights.load("11_language_models.one_layer", one_layer).to(DEVICE)
steps = [25 * place + 12 for place in range(800 // 25)]
figure, (panel,) = plots.canvas(8, 3.8)
panel.plot(steps, smooth(hits), color=plots.BLACK, linewidth=3, alpha=0.75)
shades = {"two layers": plots.BLUE, "one layer": plots.VERMILLION}
steps = [25 * place + 12 for place in range(STEPS // 25)]
for run in long:
    for kind, colour in shades.items():
        panel.plot(steps, run[kind]["curve"], color=colour, linewidth=1.2)
panel.set(xlabel="step of training", ylabel="accuracy on seen letters", xlim=(-40, STEPS + 40), ylim=(0, 1.04))
for height, kind in ((0.86, "two layers: five seeds"), (0.42, "one layer: five seeds")):
    panel.text(STEPS, height, kind, color=shades[kind.split(":")[0]], ha="right", fontweight="bold")
panel.text(420, 0.68, "our model", color=plots.BLACK, fontweight="bold")
panel.grid(True)
show(
    figure,
    "Accuracy on seen letters against steps of training, for our model, with two layers, and for five stored seeds of each kind: with two layers "
    "a plateau near 0.3, then a steep rise, above 0.9 by step 425 for all seeds; with one layer never above 0.4.",
)
print(f"{'seen letters; examples:':38}", "  ".join(f"{shots:5}" for shots in SHOTS))
for name in ("two layers", "one layer", "one layer, wider"):
    values = [over_seeds(name, "seen", place) for place in range(1, 6)]
    table({f"stored: {name}, mean": [None, *(sum(some) / len(some) for some in values)]})
last = {name: over_seeds(name, "seen", 4) for name in ("two layers", "one layer", "one layer, wider")}
print("with 8 examples, range over the seeds:")
for name, some in last.items():
    print(f"    {name}: {min(some):.2f} to {max(some):.2f}")
wider = [run["one layer, wider"]["curve"][-1] for run in long if "one layer, wider" in run]
size = sum(weight.numel() for weight in UntiedGPT(len(mappings.TOKENS), 32, 92, 2, 1).parameters())
print(
    f"stored: one layer, wider, {size:,} parameters; at the end of training {', '.join(f'{one:.2f}' for one in wider)}"
)
twice = [run["heads"]["random, twice"] for run in long]
print(
    f"stored: tokens in random order, repeated once: {min(twice):.2f} to {max(twice):.2f} right (chance {1 / 16:.2f})"
)


# %% [markdown]
# **Figure 11.** Accuracy on letters that occurred earlier in the document, against steps of training: our model with
# two layers, in its stored training (black), and five seeds of each kind, with two layers (blue) and with one (orange),
# trained twice as long.
#
# The curves are means over all places of a document, and the stored models with one layer stay below 0.4. As the
# printed lines show, they are always right after one example, and less often the more examples there are: they seem to
# pick one of the digits in the prompt, whatever the letter. With two layers, the ability appears rather suddenly. The
# accuracy stays near 0.3 until step 175 to 250, and by step 325 to 425 it is above 0.9. Olsson et al. (2022) saw the
# same in language models, small and large: early in training there is a short phase in which induction heads form and
# the ability to use the context rises steeply.
#
# <details><summary>Going further: depth or size, and tokens in any order</summary>
#
# Is it the second layer that helps, or only its parameters? A single layer that is wider, and has more parameters
# than the two, reaches an accuracy of 0.30 to 0.46 after eight examples; the models with two layers reach 1.00. This
# does not prove that one layer could never do it, since one of the three wider models had left the plateau when
# training ended.
#
# These induction heads have learned our documents, not a general law. With 15 letters and digits in random order,
# repeated once, the models predict the second half with an accuracy of at most 0.17, where chance would be 0.06. The
# heads of large language models, which have seen all kinds of repetition, work on random tokens, too (Olsson et al.,
# 2022).
#
# </details>
#
# ## Fine-tuning
#
# The usual way to teach a model a new task is **fine-tuning**: we go on training its weights on examples of the task.
# Given the same examples, is it better to put them into the prompt or to fine-tune on them? For each new table, a copy
# of the model is trained for 60 steps on the table's examples, such as `T17 c5`, with a name that never occurred
# before. Then the copy is asked `T17 a` to `T17 h`, without examples. Its rival is the unchanged model, which reads the
# same examples after `?`, and then the letter.


# %% tags=["fold"] label="draws Figure 12: examples in the prompt, or fine-tuning on them; stored runs"
# @title Draws Figure 12: examples in the prompt, or fine-tuning on them; stored runs
def by_copies(model):
    """A function of weights [T, ...] and tokens [T, B, n] that gives logits [T, B, n, V]: copy t of the model reads tokens[t]."""

    def run(weights, tokens):
        with sdpa_kernel(SDPBackend.MATH):  # of torch's ways to compute attention the one that vmap knows
            return vmap(lambda some, its: functional_call(model, some, (its,)))(weights, tokens)

    return run


def fine_tuned(model, x, f, rate=3e-4, steps=60, rehearsed=None):
    """A copy of the weights for each task, trained on its examples; yields (step, weights) at `steps` and, if given, on the way.

    Args:
        x: the keys of the examples [T, k]; f: the tables [T, 8]; rehearsed: gives old documents [T, B, n] for a step.
    """
    names = torch.full_like(x, mappings.UNUSED_NAME)
    examples = torch.stack([names, x, f.gather(1, x)], dim=-1).to(DEVICE)  # [T, k, 3]: "T17 c 5"
    weights = {
        name: w.detach().expand(len(x), *w.shape).clone().requires_grad_() for name, w in model.named_parameters()
    }
    optimizer = torch.optim.Adam(weights.values(), lr=rate)
    answers = by_copies(model)
    for _ in range(steps):
        logits = answers(weights, examples[..., :-1])[:, :, -1]  # [T, k, V]
        loss = F.cross_entropy(logits.flatten(0, 1), examples[..., -1].flatten()) * len(
            x
        )  # a sum over tasks, which share nothing
        if rehearsed:
            old = rehearsed()
            loss = loss + F.cross_entropy(answers(weights, old[..., :-1]).flatten(0, 2), old[..., 1:].flatten()) * len(
                x
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name: w.detach() for name, w in weights.items()}


@torch.no_grad()
def of_copies(model, weights, prompts, targets):
    """The accuracy of each copy: prompts [T, M, n], targets [T, M] give [T]."""
    answers = by_copies(model)
    return (answers(weights, prompts.to(DEVICE))[:, :, -1].argmax(dim=-1) == targets.to(DEVICE)).float().mean(dim=1)


def compared(model, tables, ks, tasks=20, rate=3e-4, steps=60, seed=400, rehearsing=False):
    """For each number of examples k: accuracy on all 8 keys in context and fine-tuned; what the copies still know."""
    drawing = torch.Generator().manual_seed(seed)
    model.train()  # without dropout the same numbers; torch's fast path for inference knows no vmap
    keys = torch.arange(8).expand(tasks, 8)
    every = torch.stack(
        [(mappings.FIRST_NAME + torch.arange(16)).repeat_interleave(8), torch.arange(8).repeat(16)], dim=1
    )
    old_targets = tables.flatten().expand(tasks, -1)  # [T, 128]: all keys of all named tasks
    asked = nameless_documents(100, seed + 1)
    rows = {name: [] for name in ("in context", "fine-tuned", "named, zero-shot", "new, 15 examples in context")}
    for k in ks:
        f, x = mappings.tables(tasks, generator=drawing), torch.randint(8, (tasks, k), generator=drawing)
        examples = torch.stack([x, f.gather(1, x)], dim=-1).flatten(1)  # [T, 2k]
        prompts = torch.cat(
            [torch.full((tasks, 8, 1), mappings.NO_NAME), examples[:, None].expand(-1, 8, -1), keys[..., None]], dim=-1
        )
        same = {name: w.detach().expand(tasks, *w.shape) for name, w in model.named_parameters()}
        rows["in context"].append(of_copies(model, same, prompts, f).mean().item())

        def old():
            made = mappings.mixture(tables, tasks * 4, generator=drawing)
            return made.view(tasks, 4, -1).to(DEVICE)

        weights = fine_tuned(model, x, f, rate, steps, old if rehearsing else None)
        queries = torch.stack([torch.full_like(keys, mappings.UNUSED_NAME), keys], dim=-1)
        rows["fine-tuned"].append(of_copies(model, weights, queries, f).mean().item())
        rows["named, zero-shot"].append(
            of_copies(model, weights, every.expand(tasks, -1, -1), old_targets).mean().item()
        )
        rows["new, 15 examples in context"].append(
            of_copies(model, weights, asked[:, :-1].expand(tasks, -1, -1), asked[:, -1].expand(tasks, -1)).mean().item()
        )
    model.eval()
    return rows


if stored_runs.full():
    for model, tables, found in long_runs:
        found["fine-tuning"] = compared(model, tables, [1, 2, 4, 8, 15])
        found["fine-tuning, rate 1e-3"] = compared(model, tables, [15], rate=1e-3)
        found["fine-tuning, rehearsing"] = compared(model, tables, [15], rehearsing=True)
        found["fine-tuning, rate 1e-3, rehearsing"] = compared(model, tables, [15], rate=1e-3, rehearsing=True)
    spent = time.perf_counter() - begun
    stored_runs.keep("11_language_models.in_context", {"runs": long}, seed=0, seconds=spent)

FEW = [1, 2, 4, 8, 15]
kinds = {"in context": "in context", "fine-tuned": "fine-tuned"}
lines, bands = {}, {}
for name in kinds:
    values = [over_seeds("fine-tuning", name, place) for place in range(len(FEW))]
    lines[name] = [sum(some) / len(some) for some in values]
    bands[name] = tuple([choice(some) for some in values] for choice in (min, max))
figure, (left, right) = plots.canvas(11, 3.6, 2, width_ratios=(1.2, 1))
shades = {"in context": plots.BLUE, "fine-tuned": plots.ORANGE}
plots.curves(
    FEW,
    lines,
    x_label="examples of a new table",
    y_label="accuracy on its eight letters",
    colours=shades,
    bands=bands,
    axes=left,
)
shown = {**lines, "best possible": [1 - 7 / 8 * (7 / 8) ** k for k in FEW]}
left.plot(FEW, shown["best possible"], color=plots.GREY, zorder=1, label="best possible")
plots.legend_of(left)
left.set_xticks(FEW)
left.set(ylim=(0, 1.05), title="learning rate 3e-4")
kept = {
    "before": over_seeds("two layers", "named", 0),
    "learning\nrate 3e-4": over_seeds("fine-tuning", "named, zero-shot", 4),
    "learning\nrate 1e-3": over_seeds("fine-tuning, rate 1e-3", "named, zero-shot", 0),
    "rate 1e-3,\nrehearsing": over_seeds("fine-tuning, rate 1e-3, rehearsing", "named, zero-shot", 0),
}
means = [sum(some) / len(some) for some in kept.values()]
plots.bars(
    means,
    list(kept),
    colour=plots.GREEN,
    title="16 named tables, zero-shot",
    value_label="accuracy",
    limits=(0, 1.15),
    axes=right,
)
for place, some in enumerate(kept.values()):
    right.plot([place + 0.22] * len(some), some, "o", color=plots.BLACK, markersize=3)
show(
    figure,
    "Left, accuracy on new tables against the number of examples: "
    + "; ".join(f"{name} {', '.join(f'{value:.2f}' for value in values)}" for name, values in shown.items())
    + ". Right, accuracy on named tables after fine-tuning on 15 examples: "
    + ", ".join(f"{name.replace(chr(10), ' ')} {value:.2f}" for name, value in zip(kept, means))
    + ".",
)
print(f"{'examples':38}", "  ".join(f"{few:5}" for few in FEW))
table({f"stored: {name}": values for name, values in lines.items()})
print("named tables, zero-shot:")
for name, some in kept.items():
    print(f"    {name.replace(chr(10), ' ')}: {spread(some)}")
print(
    "new tables, fine-tuned on 15 examples at rate 1e-3:", spread(over_seeds("fine-tuning, rate 1e-3", "fine-tuned", 0))
)
print("new tables, 15 examples in context, after fine-tuning:")
for name, kind in (
    ("rate 3e-4", "fine-tuning"),
    ("rate 1e-3", "fine-tuning, rate 1e-3"),
    ("rehearsing", "fine-tuning, rate 1e-3, rehearsing"),
):
    print(f"    {name}: {spread(over_seeds(kind, 'new, 15 examples in context', -1))}")
print(f"{'examples, for our model':38}", "  ".join(f"{few:5}" for few in (4, 15)))
table({f"here: {name}": values for name, values in compared(two_layers, named, [4, 15]).items()})

# %% [markdown]
# **Figure 12.** Left, accuracy on all eight letters of new tables, with the examples in the prompt or after fine-tuning
# on them at a learning rate of $3 \cdot 10^{-4}$; stored runs, mean and range of five seeds. Right, accuracy on the 16
# named tables, without examples, before fine-tuning on 15 examples of a new table and after it; bars are means, dots
# are seeds.
#
# With one example the prompt is slightly ahead; with two to eight the two ways are about equally good. With 15,
# fine-tuning is ahead (0.89 against 0.82), since in context the models overlook some pairs of a long prompt, as Figure
# 6 has shown. Where a curve lies above the best possible accuracy, as at 2 and at 15 examples, this is due to chance in
# the draw of tables and examples, which all seeds share.
#
# But fine-tuning has side effects. The named tables, which the models knew perfectly, are recalled with an accuracy of
# 0.93 after fine-tuning on 15 examples (0.81 for our own model, which was trained for half as long). At a learning rate
# of $10^{-3}$ it falls to 0.60, although new tables are learned no better. This is called **catastrophic forgetting**:
# the same weights serve all tasks, and a gradient step for one task takes no account of the others. A remedy is
# **rehearsal**: if each step at the higher rate also trains on a few old documents, the named tables are still recalled
# with an accuracy of 0.96.
#
# With examples in the prompt nothing is forgotten, since nothing is changed. But nothing is kept either, and each
# prompt has to bring its examples again.
#
# <details><summary>Going further: what else fine-tuning does to these models</summary>
#
# The copies' ability to learn from a prompt suffers less. With 15 examples of another new table in the prompt their
# accuracy is 0.81, about that of the models before fine-tuning; at the higher rate it is 0.74. The learning rate was
# chosen on other tables, which are not shown.
#
# </details>
#
# ## GPT-3's own curve
#
# How do the three kinds of prompts compare in a large language model? We show two tasks of the paper on GPT-3. LAMBADA
# (Paperno et al., 2016) asks for the last word of a passage, which can only be told from the whole passage; TriviaQA
# (Joshi et al., 2017) asks quiz questions, which GPT-3 has to answer from memory.

# %% tags=["fold"] label="draws Figure 13: GPT-3 by size"
# @title Draws Figure 13: GPT-3 by size
BILLIONS = [0.125, 0.35, 0.76, 1.3, 2.7, 6.7, 13, 175]  # parameters of GPT-3's eight sizes
LAMBADA = {  # Brown et al. 2020, table H.1
    "zero-shot": [42.7, 54.3, 60.4, 63.6, 67.1, 70.3, 72.5, 76.2],
    "one-shot": [22.0, 47.1, 52.6, 58.3, 61.1, 65.4, 69.0, 72.5],
    "few-shot": [22.0, 40.4, 63.2, 57.0, 78.1, 79.1, 81.3, 86.4],
}
TRIVIA = {
    "zero-shot": [4.15, 7.61, 14.0, 19.7, 31.3, 38.7, 41.8, 64.3],
    "one-shot": [4.19, 12.9, 20.5, 26.5, 35.9, 44.4, 51.3, 68.0],
    "few-shot": [6.96, 16.3, 26.5, 32.1, 42.3, 51.6, 57.5, 71.2],
}
figure, panels = plots.canvas(11, 3.8, 2)
for axes, lines, title, best, who in zip(
    panels,
    (LAMBADA, TRIVIA),
    ("LAMBADA", "TriviaQA"),
    (68.0, 60.5),
    ("earlier best: 68.0", "T5-11B+SSM, fine-tuned: 60.5"),
):
    plots.curves(BILLIONS, lines, title=title, x_label="billions of parameters", y_label="accuracy, %", axes=axes)
    axes.set_xscale("log")
    axes.set_xticks(BILLIONS[::2] + [175], [f"{size:g}" for size in BILLIONS[::2] + [175]])
    axes.minorticks_off()
    plots.level(axes, best, who, at=0.98 if title == "LAMBADA" else 0.02, above=title != "LAMBADA")
show(
    figure,
    "Accuracy of GPT-3 in eight sizes from 0.125 to 175 billion parameters. "
    + " ".join(
        f"{title}: " + "; ".join(f"{name} from {values[0]:g} to {values[-1]:g}" for name, values in lines.items()) + "."
        for title, lines in (("LAMBADA", LAMBADA), ("TriviaQA", TRIVIA))
    ),
)


# %% [markdown]
# **Figure 13.** GPT-3's accuracy by size, with zero, one or a few examples in the prompt (15 for LAMBADA, 64 for
# TriviaQA). From Brown et al. (2020), tables H.1 and 3.3. The dotted lines mark earlier results: for LAMBADA the best
# result, and for TriviaQA the result of T5-11B+SSM, which was fine-tuned and also answers from memory.
#
# On TriviaQA more examples are better at every size, and the largest model exceeds a fine-tuned one even without an
# example. On LAMBADA one example is *worse* than none, at all sizes, and few-shot is consistently best only from 2.7
# billion parameters. In the prompts with examples, unlike the zero-shot ones, each passage was written as a text with a
# gap, and the authors suppose that one example is not enough to show what is asked. In our small world the accuracy
# rises with the number of examples from the first one on, presumably because our documents consist of nothing but
# examples.
#
# ## Counting a GPT
#
# How large are these models? Lesson 09 counted one block: $12D^2 + 13D$ parameters, if $D_F = 4D$. A GPT has $L$ blocks
# and, in addition, a table of $V$ embeddings, a table of $N$ positions and the last normalisation with $2D$ parameters.
# Its tied head adds none:
#
# $$VD + ND + L\,(12D^2 + 13D) + 2D$$


# %% tags=["nbval-check-output"]
def parameters_of(D, L, N, V=50257):
    return V * D + N * D + L * (12 * D**2 + 13 * D) + 2 * D


for name, D, L, N in (
    ("GPT-2 small", 768, 12, 1024),
    ("GPT-2 medium", 1024, 24, 1024),
    ("GPT-2 large", 1280, 36, 1024),
    ("GPT-2 XL", 1600, 48, 1024),
    ("GPT-3", 12288, 96, 2048),
):
    count = parameters_of(D, L, N)
    print(f"{name:12} {count:15,} parameters, {50257 * D / count:.1%} of them in the table of embeddings")
assert sum(weight.numel() for weight in gpt.parameters()) == parameters_of(64, 2, corpus.N, V=corpus.V)


# %% [markdown]
# For GPT-2 these are the counts of the published weights, to the last digit; the paper's own numbers, such as 117
# million for the smallest, had been miscounted. For GPT-3, whose weights are not public, the paper says 175 billion.
# The number of heads (25 in GPT-2 XL, 96 in GPT-3) does not enter the count.
#
# What does size buy? **Scaling laws** give an answer. Kaplan et al. (2020) found that the loss of a language model
# falls as a power of its number of parameters (without embeddings), $\text{loss} \propto \text{parameters}^{-0.076}$,
# as long as neither text nor training time is short: doubling the size lowers the loss by 5 %. With ten times as many
# operations, they concluded, one should train a model more than five times as large, on less than twice the text.
# Hoffmann et al. (2022) objected that in short runs the learning rate had not yet fallen when the loss was measured,
# which made them look worse than runs planned for that amount of text. They matched the fall of the rate to the length
# of each run, and found a different balance: parameters and tokens should grow in equal proportion. Their *Chinchilla*
# took as many operations to train as the older Gopher (280 billion parameters), has a quarter of its parameters, and is
# better. It read about 20 tokens for each parameter; GPT-3 had read fewer than two.
#
# <details><summary>Going further: what does training cost?</summary>
#
# Training takes about 6 operations for each parameter and each token: two in the forward pass, which lesson 09 counts,
# and about four in the backward pass. For GPT-3 and its 300 billion tokens this is
# $6 \cdot 1.75 \cdot 10^{11} \cdot 3 \cdot 10^{11} \approx 3.15 \cdot 10^{23}$; the paper's own table says
# $3.14 \cdot 10^{23}$. At $10^{15}$ operations a second, about what an NVIDIA H100 reaches at best (dense, 16 bits), it
# would take ten years on a single one.
#
# </details>
#
# ## What BERT does differently
#
# Predicting the next token is only one way of learning from plain text. BERT (Devlin et al., 2019) is pre-trained by
# **masked language modelling**. It has no causal mask, so every position attends to both sides:

# %% tags=["fold"] label="draws Figure 14: what GPT and BERT predict"
# @title Draws Figure 14: what GPT and BERT predict
show(
    drawings.next_or_hidden(),
    "The sentence: the student reads a book, twice. Left, GPT: arrows lead from the, student and reads to the output at reads, which "
    "predicts the next token, a; a and book are not seen. Right, BERT: reads is replaced by [MASK], arrows lead from all five tokens to "
    "the output at this position, which predicts reads.",
)

# %% [markdown]
# **Figure 14.** GPT predicts the next token from those before it; BERT predicts a hidden token from both sides.
#
# In each text 15 % of the tokens are chosen, and the model has to say which tokens they were. Of the chosen tokens,
# 80 % are replaced by `[MASK]`. But since no `[MASK]` will occur when the model is used, 10 % are replaced by a random
# token, and the rest stay as they are. The paper's BERT has post-norm blocks and a second task, to tell whether one
# sentence follows another.


# %%
class BERT(GPT):
    """The same blocks without a mask: each position sees both sides. The last number of the vocabulary is [MASK]."""

    def forward(self, tokens):
        X = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            X = block(X)
        return self.norm(X) @ self.tokens.weight.T


def hidden(tokens, V, generator):
    """Tokens [B, N] as the model sees them, and which of them it is to tell: 15 % of all."""
    chosen = torch.rand(tokens.shape, generator=generator) < 0.15
    how = torch.rand(tokens.shape, generator=generator)
    other = torch.randint(V, tokens.shape, generator=generator)
    seen = torch.where(chosen & (how < 0.8), V, tokens)  # 80 % [MASK]
    return torch.where(chosen & (how >= 0.9), other, seen), chosen  # 10 % another token, 10 % the token itself


# %% [markdown]
# To compare the two, we hide single tokens of new sentences. GPT predicts each of them from what comes before it in the
# window, BERT from everything else in the window. Both are of the same size and have been trained on the same text for
# as many steps (stored, three seeds). The perplexity is that of the hidden tokens.


# %% tags=["fold", "nbval-check-output"] label="GPT and BERT on the same hidden tokens: stored runs"
# @title GPT and BERT on the same hidden tokens: stored runs
def fitted_bert(corpus, steps, seed):
    """A BERT of the size of the GPT, trained on the same text in as many steps."""
    torch.manual_seed(seed)
    model, generator = BERT(corpus.V + 1, corpus.N, D=64, H=4, L=2).to(DEVICE), torch.Generator().manual_seed(seed)

    def loss(model, batch):
        tokens = batch[:, :-1]
        seen, chosen = hidden(tokens.cpu(), corpus.V, generator)
        chosen = chosen.to(DEVICE)
        return F.cross_entropy(model(seen.to(DEVICE))[chosen], tokens[chosen])

    train(model, windows_of(corpus.training, corpus.N, 32, seed), loss, steps=steps, rate=6e-3, what="BERT")
    return model


@torch.no_grad()
def told(model, bert, corpus, seed):
    """Perplexities of GPT and BERT on the same tokens: 15 % of the second half of each window, hidden one at a time.

    GPT sees what stands before the token in its window, N / 2 tokens or more; BERT sees all others of the window.
    """
    N, W = corpus.N, corpus.windows[:, :-1]
    chosen = torch.rand(W.shape, generator=torch.Generator().manual_seed(seed)) < 0.15
    rows, columns = (chosen & (torch.arange(N) >= N // 2)).nonzero(as_tuple=True)
    W, each = W[rows], torch.arange(len(rows))  # a window for each hidden token
    truth = W[each, columns]
    masked = W.clone()
    masked[each, columns] = corpus.V
    left = torch.cat([model(part.to(DEVICE)).cpu() for part in W.split(256)])[each, columns - 1]
    both = torch.cat([bert(part.to(DEVICE)).cpu() for part in masked.split(256)])[each, columns]
    return [F.cross_entropy(logits, truth).exp().item() for logits in (left, both)]


if stored_runs.full():
    begun = time.perf_counter()
    for seed, (run, (its_corpus, models)) in enumerate(zip(runs, grammars)):
        run["masked"] = {
            steps: told(models[steps], fitted_bert(its_corpus, steps, seed), its_corpus, seed) for steps in models
        }
    seconds += time.perf_counter() - begun
    results = {"grammar": runs, "library": library}
    stored_runs.keep("11_language_models.against_n_grams", results, seed=0, seconds=seconds)

for steps in sorted(runs[0]["masked"], key=int):
    of_gpt, of_bert = zip(*(run["masked"][steps] for run in runs))
    print(f"{int(steps):5,} steps, perplexity: GPT, left side, {spread(of_gpt)}; BERT, both sides, {spread(of_bert)}")

# %% [markdown]
# After 600 steps the three BERTs lie far apart, two of them behind GPT; after 2,400 all are far ahead (2.30 against
# 5.23), and GPT has become slightly worse, as in Figure 5 after too many steps on little text. BERT starts slowly,
# presumably because it learns from only 15 % of the tokens in each step and therefore needs more steps. After enough of
# them its easier task pays off: the words *after* a gap reveal much about the missing word.
#
# BERT is used where a whole text is given and has to be understood, for instance to classify it or to find an answer in
# it. But it gives no probability to a text and cannot simply write one. A GPT learns from every token rather than from
# about one in seven, and it can continue any text. And as we have seen, a task can be stated as a text to be continued.
#
# ## What comes next?
#
# This lesson began with a rule that had to be worked out from its examples. What do our model with two layers and a
# model with a single layer, trained for as many steps, say? In the second prompt no example has the letter `a`.

# %% tags=["fold"] label="the first question, asked of both models"
# @title The first question, asked of both models
for line in ("? c5 a2 c5 h1 a", "? c5 b2 c5 h1 a"):
    tokens = mappings.ids(line)[None].to(DEVICE)
    for name, model in (("two layers", two_layers), ("one layer", one_layer)):
        with torch.no_grad():
            p = model(tokens)[0, -1].softmax(dim=-1).cpu()
        most = p.topk(3)
        said = ", ".join(
            f"{mappings.TOKENS[token]} {value:.2f}" for value, token in zip(most.values.tolist(), most.indices.tolist())
        )
        print(f"{line}   {name}: {said}")

# %% [markdown]
# The first prompt contains its answer. With two layers a model can find it: an induction head attends to the digit
# that followed `a`, and copies it. With one layer it can do little more than prefer digits that it has read. In the
# second prompt nothing can be known about `a`, and the best answer is a probability of $1/8$ for each digit.
#
# GPT-3's answer to `cheese =>` cannot be copied, since "fromage" is nowhere in the prompt. The first line and the
# examples only show *which task* is meant; the French word has to come from the weights. Our model has both abilities,
# too: a named table is recalled from the weights, and a new one is read from the prompt.
#
# <details><summary>Going further: from a language model to an assistant</summary>
#
# A pre-trained language model continues texts; asked a question, it may well continue with a second question. The
# assistants that people talk to are trained further: first fine-tuned on instructions with answers that people wrote
# (**instruction tuning**), then with the help of people's rankings of several answers (*reinforcement learning from
# human feedback*; Ouyang et al., 2022). This further training leaves the architecture as it is.
#
# </details>

# %% [markdown]
# ## Summary
#
# | part | formula | shape |
# |---|---|---|
# | language model | $P(x) = \prod_n P(x_n \mid x_{<n})$ | a number |
# | GPT | $X_0 = E[\text{tokens}] + P$, $L$ causal pre-norm blocks, last normalisation | $[B, n, D]$ |
# | tied head | $\text{logits} = \text{norm}(X_L)\,E^\top$ | $[B, n, V]$ |
# | perplexity | $\exp(-\,\text{mean of}\,\ln P(x_n \mid x_{<n}))$ over the predicted tokens | a number |
# | bits per character | $\log_2(\text{perplexity}) / \text{characters per token}$ | a number |
# | temperature, top-k, top-p | softmax of $\text{logits}/T$; the $k$ likeliest; the likeliest up to the sum $p$ | $[B, V]$ |
# | parameters | $VD + ND + L(12D^2 + 13D) + 2D$ | a number |
#
# The picture to remember is Figure 7: the first layer notes what comes before each token, the second looks it up.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> The text is <code>abababc</code>, and each character is a token. Which are the first two
# merges, and what does the text become?</summary>
#
# `ab` occurs three times, `ba` twice and `bc` once. With `X` for `ab` the text becomes `XXXc`. Now `XX` occurs twice
# (the pairs overlap) and `Xc` once, so `XX` is merged next, from left to right, which gives `YXc`.
#
# </details>
#
# <details><summary><b>2.</b> A model gives the right token the probabilities 1/2, 1/8 and 1/4 at three positions. What
# is its perplexity, and how many bits does it need?</summary>
#
# $1 + 3 + 2 = 6$ bits, 2 for a token on average, and the perplexity is $2^2 = 4$.
#
# </details>
#
# <details><summary><b>3.</b> The probabilities of the next token are 0.5, 0.2, 0.2 and 0.1. What does top-p keep for
# $p = 0.8$, and with which probabilities?</summary>
#
# The first two sum to 0.7, the first three to 0.9. Three are kept, with $0.5/0.9 = 0.56$ and twice $0.2/0.9 = 0.22$.
#
# </details>
#
# <details><summary><b>4.</b> Can temperature change which token is the likeliest? Can top-p?</summary>
#
# Neither can. Division by a positive number keeps the order, and top-p always keeps the likeliest token.
#
# </details>
#
# <details><summary><b>5.</b> A model of one layer has as many parameters as one of two. Why can it still not have an
# induction head?</summary>
#
# The key of a position would have to say which token comes before it. In the first layer keys are made from the token
# and its position alone, before any information has moved between positions. It may find a different way to the answer,
# but not this one.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **Logits and targets are one position apart**: the logits at position $n$ belong to token $n + 1$. Compare them
#   with token $n$, and you train a model to copy its input.
# - **A mean of perplexities is not a perplexity**: average the losses over all tokens first.
# - **Merges have an order.** Any other order may cut the text differently from training.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - A table of model sizes gives the number of GPT-2's heads as *"?"* or *"-"*: the largest GPT-2 has 25.
# - *"Sentence prediction"* for LAMBADA: the task is to predict the last *word* of a passage.
#
# </details>

# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/11_language_models/11_language_models.ipynb), and the
#   [milestone](../milestones/11_my_gpt.ipynb), where your solutions run together.
# - **Read on**: [Attention in vision](12_attention_in_vision.ipynb) (lesson 12) leaves text for grids, points and
#   pixels, and the [Vision Transformer](13_vision_transformer.ipynb) (lesson 13) takes the blocks to images.
#   [LoRA and its relatives](15_lora.ipynb) (lesson 15) fine-tune a model by training only a small number of weights.
# - **Look up**: the [glossary](../docs/glossary.md).

# %% [markdown]
# ## References
#
# - A. Radford, K. Narasimhan, T. Salimans, I. Sutskever (2018). Improving language understanding by generative pre-training. OpenAI.
# - A. Radford, J. Wu, R. Child, D. Luan, D. Amodei, I. Sutskever (2019). Language models are unsupervised multitask learners. OpenAI. *GPT-2.*
# - T. Brown et al. (2020). Language models are few-shot learners. NeurIPS. arXiv:2005.14165. *GPT-3; figure 2.1: the prompt of the beginning; table H.1: the published curve.*
# - J. Devlin, M.-W. Chang, K. Lee, K. Toutanova (2019). BERT: pre-training of deep bidirectional Transformers for language understanding. NAACL. arXiv:1810.04805.
# - C. Chelba et al. (2013). One billion word benchmark for measuring progress in statistical language modeling. arXiv:1312.3005.
# - Z. Dai, Z. Yang, Y. Yang, J. Carbonell, Q. V. Le, R. Salakhutdinov (2019). Transformer-XL: attentive language models beyond a
#   fixed-length context. ACL. arXiv:1901.02860.
# - J. Kaplan et al. (2020). Scaling laws for neural language models. arXiv:2001.08361.
# - J. Hoffmann et al. (2022). Training compute-optimal large language models. NeurIPS. arXiv:2203.15556. *Chinchilla.*
# - P. Gage (1994). A new algorithm for data compression. The C Users Journal 12(2).
# - R. Sennrich, B. Haddow, A. Birch (2016). Neural machine translation of rare words with subword units. ACL. arXiv:1508.07909.
# - O. Press, L. Wolf (2017). Using the output embedding to improve language models. EACL. arXiv:1608.05859.
# - H. Inan, K. Khosravi, R. Socher (2017). Tying word vectors and word classifiers: a loss framework for language modeling. ICLR. arXiv:1611.01462.
# - R. Kneser, H. Ney (1995). Improved backing-off for m-gram language modeling. ICASSP.
# - S. F. Chen, J. Goodman (1999). An empirical study of smoothing techniques for language modeling. Computer Speech & Language 13(4).
# - A. Fan, M. Lewis, Y. Dauphin (2018). Hierarchical neural story generation. ACL. arXiv:1805.04833. *Top-k.*
# - A. Holtzman, J. Buys, L. Du, M. Forbes, Y. Choi (2020). The curious case of neural text degeneration. ICLR. arXiv:1904.09751. *Top-p.*
# - N. Elhage et al. (2021). A mathematical framework for Transformer circuits. Transformer Circuits Thread.
# - C. Olsson et al. (2022). In-context learning and induction heads. Transformer Circuits Thread. arXiv:2209.11895.
# - L. Ouyang et al. (2022). Training language models to follow instructions with human feedback. NeurIPS. arXiv:2203.02155.
# - D. Paperno et al. (2016). The LAMBADA dataset: word prediction requiring a broad discourse context. ACL. arXiv:1606.06031.
# - M. Joshi, E. Choi, D. Weld, L. Zettlemoyer (2017). TriviaQA: a large scale distantly supervised challenge dataset for reading comprehension. ACL. arXiv:1705.03551.
