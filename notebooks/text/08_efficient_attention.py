# %% [markdown]
# # 08 · Efficient attention
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/08_efficient_attention.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - generate text with a KV cache, and compute the size of the cache for multi-head, grouped-query and multi-query
#   attention;
# - compute exact attention in tiles, with an online softmax, without ever storing the matrix of attention weights;
# - compute linear attention, windowed attention and attention through latents, and say what each of them gives up;
# - compare layers by operations, memory, sequential steps and path length.
#
# **You need** from lesson 04 the reason why the softmax subtracts the largest score, from lesson 06 the heads and the
# counts of operations, and from lesson 07 the causal mask and the language model. The terms and symbols of the course
# are listed in the [glossary](../docs/glossary.md).
#
# **Time** about 70 minutes to read; the cells run in about 45 seconds on two CPU cores.

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
from torch.utils.flop_counter import FlopCounterMode

from utils.data.translation import PAD, START, corpus, vocabulary
from utils.device import device
from utils.figures import efficient, plots
from utils.figures.explorers import Slider, explore
from utils.figures.plots import show
from utils.measures import stored_runs
from utils.measures.memory import peak_memory
from utils.models.training import train

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
generator = torch.Generator().manual_seed(8)


def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


def causal(N, offset=0):
    """A mask [N, offset + N], True where query m, at position offset + m, may attend to position n: n ≤ offset + m."""
    return torch.ones(N, offset + N, dtype=torch.bool, device=DEVICE).tril(diagonal=offset)


# %% [markdown]
# ## A text of 100,000 tokens
#
# A language model is given a novel of 100,000 tokens and has to continue it. Suppose the model has 80 layers of
# attention, each with 64 heads of width 128. These are the sizes of Llama 3 with 70 billion parameters. In that model
# several heads share keys and values, as we shall see; until then we give every head its own, as in lesson 06. That
# lesson counted what a layer needs: $8ND^2 + 4N^2D$ operations (FLOPs), and $H N^2$ numbers for the attention weights.
# We store each number in two bytes. For the speed we take the published maximum of an A100 GPU at this precision, $312
# \cdot 10^{12}$ operations a second. A causal model uses only the pairs with $n \le m$, about half of all pairs; we
# therefore make a second count for these alone.

# %% tags=["nbval-check-output"]
L, H, D_H, N = 80, 64, 128, 100_000  # layers, heads, width of a head, tokens
D = H * D_H  # 8192
print(f"attention weights of one layer: {2 * H * N**2 / 1e12:.2f} TB")
for which, pairs in (("all pairs", N**2), ("only pairs n ≤ m", N * (N + 1) / 2)):
    once = L * (8 * N * D**2 + 4 * pairs * D)  # operations of attention to read the text once
    print(f"reading the text once, {which}: {once:.1e} operations, {once / 312e12:.0f} s on one A100 at its best")

# %% [markdown]
# These numbers cause two problems, even though they count attention alone.
#
# 1. **Writing.** The model writes one token at a time (lesson 07). If it reads the whole text again for every new
#    token, each token of the continuation takes about a minute at the very best.
# 2. **Reading.** The attention matrices, the tables of all attention weights, do not fit on any GPU; even those of a
#    single layer are too large.
#
# The first problem is solved by keeping what has been computed: the KV cache. The cache is itself large, and letting
# heads share keys and values shrinks it. The second problem is solved by attention in tiles, which never holds more
# than a small piece of the table. Then we look at layers that no longer compute softmax attention over all pairs: they
# are cheaper still, and we shall see what they give up.

# %% [markdown]
# ## Decoding with a KV cache
#
# Generating a text is also called **decoding**: run the model, choose the next token, append it, and run the model
# again over all tokens so far. How much of this work is new? With a causal mask, the output at position $n$ depends
# only on the positions up to $n$, and a new token comes after all of them. At the old positions, therefore, nothing
# changes in any layer: neither the **hidden states** (the vectors that pass from layer to layer) nor the keys nor the
# values.
#
# In each layer, the new token needs only the keys and values of the old ones: its own query is compared with the old
# keys and with its own key, and the old queries are never used again. We therefore keep the keys and the values and
# append those of the new token. This store is called the **key-value cache**, or **KV cache**. With it, each step
# runs the model over the new token alone.
#
# We take a small language model like that of lesson 07, with two layers of causal self-attention, four heads in each,
# and a residual connection around each layer. The folded cell defines it and trains it for a few seconds on short
# English sentences. It needs no padding mask, since the padding comes at the end of each sentence, where the causal
# mask hides it.

# %% tags=["fold"]
# @title Defines Layer, LanguageModel, next_token_loss
english = vocabulary("english")


class Layer(nn.Module):
    """Causal self-attention of H query heads with G key-value heads, and a residual connection."""

    def __init__(self, width, H, G):
        super().__init__()
        self.H, self.G = H, G
        self.W_Q, self.W_KV = nn.Linear(width, width), nn.Linear(width, 2 * G * (width // H))
        self.W_O = nn.Linear(width, width)

    def project(self, X):
        """X [B, N, D] gives Q [B, H, N, D_H], K [B, G, N, D_H] and V [B, G, N, D_H]."""
        parts = zip((self.W_Q(X), *self.W_KV(X).chunk(2, dim=-1)), (self.H, self.G, self.G))
        return [part.unflatten(-1, (heads, -1)).transpose(1, 2) for part, heads in parts]

    def attend(self, Q, K, V, mask):
        """The outputs of all heads, merged and projected, [B, N_Q, D]; mask [N_Q, N_X]."""
        Y = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, enable_gqa=self.G < self.H)  # [B, H, N_Q, D_H]
        return self.W_O(Y.transpose(1, 2).flatten(2))

    def forward(self, X, mask):
        return X + self.attend(*self.project(X), mask)  # [B, N, D]


class LanguageModel(nn.Module):
    """Tokens [B, N] give logits [B, N, V] of the token that follows each."""

    def __init__(self, width=64, depth=2, H=4, G=4, longest=32):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(len(english), width), nn.Embedding(longest, width)
        self.layers = nn.ModuleList(Layer(width, H, G) for _ in range(depth))
        self.out = nn.Linear(width, len(english))

    def embed(self, x, begin=0):
        """Embeddings [B, N, D] of tokens x [B, N] at positions begin, begin + 1, …."""
        return self.tokens(x) + self.positions(torch.arange(begin, begin + x.shape[1], device=x.device))

    def forward(self, x):
        X, mask = self.embed(x), causal(x.shape[1])
        for layer in self.layers:
            X = layer(X, mask)
        return self.out(X)


def next_token_loss(model, x):
    """The mean of −log P over the tokens that are to be predicted; x [B, N]."""
    return F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten(), ignore_index=PAD)


rows = [torch.tensor([START, *english.encode(pair.source)]) for pair in corpus("french", 8000, 3, 12, seed=1)]
sentences = pad_sequence(rows, batch_first=True, padding_value=PAD).to(DEVICE)  # [8000, N]
torch.manual_seed(0)
model, drawn = LanguageModel().to(DEVICE), torch.Generator().manual_seed(0)
batches = (sentences[torch.randint(len(sentences), (64,), generator=drawn).to(DEVICE)] for _ in range(300))
curve = train(model, batches, next_token_loss, steps=300, rate=8e-3, what="language model")

# %% [markdown]
# The function `extend` runs such a model over new tokens only. The `cache` is a dictionary, empty at first, that holds
# for each layer the pair $(K, V)$ of all tokens so far, so `cache[0][0]` are the keys of the first layer. In each layer
# `extend` projects the new tokens, appends their keys and values to the cache, and lets the new queries attend to all
# keys. The mask, `causal(new, offset=old)`, has one row for each *new* query: query $m$ is at position `old` $+\, m$
# and may attend to the keys up to there (lesson 07). A single new token may attend to everything, so it needs no mask
# at all. The layer's `project` gives $Q$, $K$ and $V$, split into heads, and its `attend` does the attention and the
# output projection:


# %%
@torch.no_grad()
def extend(model, x_new, cache):
    """Logits [B, n, V] of new tokens x_new [B, n] after those in the cache; their keys and values are added to it."""
    old = cache[0][0].shape[2] if cache else 0  # number of tokens in the cache
    new = x_new.shape[1]
    X = model.embed(x_new, begin=old)  # [B, n, D]: positions old, old + 1, …
    mask = causal(new, offset=old) if new > 1 else None  # [n, old + n]; a single new token may attend to everything
    for number, layer in enumerate(model.layers):
        Q, K, V = layer.project(X)  # [B, H, n, D_H] each, of the new tokens only
        if number in cache:
            K = torch.cat([cache[number][0], K], dim=2)  # [B, H, old + n, D_H]
            V = torch.cat([cache[number][1], V], dim=2)  # [B, H, old + n, D_H]
        cache[number] = (K, V)
        X = X + layer.attend(Q, K, V, mask)  # [B, n, D]
    return model.out(X)


@torch.no_grad()
def greedy(model, prompt, steps, with_cache):
    """Extends a prompt [1, n] by the most probable token, `steps` times; gives [1, n + steps]."""
    x, x_new, cache = prompt, prompt, {}
    for _ in range(steps):
        logits = extend(model, x_new, cache) if with_cache else model(x)  # [1, new or all, V]
        x_new = logits[:, -1:].argmax(dim=-1)  # [1, 1]
        x = torch.cat([x, x_new], dim=1)
    return x


# %% [markdown]
# For the **prompt**, the beginning that is given to the model, `extend` is called once with all its tokens, and the
# mask is the whole triangle. This first pass is often called **prefill**. After it, `greedy` feeds one token at a time.

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
for words in (["we"], ["the", "women"], ["they", "see"]):
    prompt = torch.tensor([[START, *english.encode(words)[:-1]]], device=DEVICE)
    again, cached = (greedy(model, prompt, 10, with_cache) for with_cache in (False, True))
    assert torch.equal(again, cached)
    print(f"{' '.join(words):>10} →", " ".join(english.decode(cached[0])[len(words) :]))

x = sentences[:16, :8]  # eight tokens of each
cache = {}
pieces = x.split([3, 1, 1, 1, 1, 1], dim=1)  # a prompt of 3
one_by_one = torch.cat([extend(model, piece, cache) for piece in pieces], dim=1)
with torch.no_grad():
    assert_close(one_by_one, model(x), rtol=1e-4, atol=1e-4)

# %% [markdown]
# The lines show how the model continues three prompts; what follows the end of a sentence is not printed. As the folded
# cell checks, the cache changes neither the tokens nor, up to rounding, the logits. How much work has it saved?

# %% tags=["fold"]
# @title Draws Figure 1
show(
    efficient.steps_of_generation(8),
    "What happens to eight positions at each of eight steps. Without a cache: at step t position t minus 1 is computed for the "
    "first time and all positions before it are computed again. With the KV cache: only the newest one is computed, a diagonal, "
    "and those before it are kept.",
)

# %% [markdown]
# **Figure 1.** The positions at each step of generation. Without a cache every step computes all earlier positions
# again; with the cache each step computes only the newest position.
#
# To write $N$ tokens, the model computes $N(N+1)/2$ positions without the cache and only $N$ with it. What does this
# mean in operations, if all pairs are computed? By the counts of lesson 06, a layer takes $8 n D^2 + 4\,n\,N_X D$
# operations for $n$ queries and $N_X$ keys: the first term counts the four projections, the second the scores and the
# weighted sums.


# %% tags=["nbval-check-output"]
def operations(N, D, with_cache):
    """Operations of one layer to generate N tokens."""
    at_once = [1] * N if with_cache else range(1, N + 1)  # positions that are computed in step t
    return sum(8 * n * D**2 + 4 * n * t * D for n, t in zip(at_once, range(1, N + 1)))


for written in (64, 256, 1024):
    again, once = (operations(written, 256, with_cache) for with_cache in (False, True))
    print(f"{written:>5} tokens, D = 256: {again:.2e} operations without, {once:.2e} with the cache,", end=" ")
    print(f"{again / once:.0f} times fewer")

# %% [markdown]
# Fewer operations do not make a program faster by the same factor. We have therefore measured the time of greedy
# decoding with a larger model of four layers; the times are stored, and `COURSE_FULL=1` in the environment measures
# them anew.

# %% tags=["fold"] label="measures the time of each way"
# @title Measures the time of each way
# on a CPU the processor's time, which other work on the machine does not lengthen; elsewhere the clock's
clock = time.process_time if DEVICE.type == "cpu" else time.perf_counter


def seconds(compute):
    """The shortest time that `compute()` takes, of at least three; what is quick is measured more often."""
    taken = []
    while len(taken) < 3 or sum(taken) < 4:
        begun = clock()
        compute()
        if DEVICE.type == "cuda":
            torch.cuda.synchronize()
        taken.append(clock() - begun)
    return min(taken)


BEGUN = time.perf_counter()
if stored_runs.full():
    lengths = [16, 32, 64, 128, 256, 512, 1024]
    torch.manual_seed(0)
    large = LanguageModel(width=256, depth=4, longest=1025).to(DEVICE)
    start = torch.full((1, 1), START, device=DEVICE)
    greedy(large, start, 16, True)  # the first run of all is slow
    taken = {}
    for way in ("again", "cache"):
        taken[way] = [seconds(lambda: greedy(large, start, N, way == "cache")) for N in lengths]
    decoding = {"lengths": lengths, "seconds": taken}  # kept at the end of the lesson, with what else is measured
else:
    decoding = stored_runs.load("08_efficient_attention")["results"]
    print(stored_runs.how(stored_runs.load("08_efficient_attention")))

names = {"again": "without a cache", "cache": "with the KV cache"}
figure, (left, right) = plots.canvas(10.5, 3.5, 2)
lines = {names[way]: values for way, values in decoding["seconds"].items()}
plots.curves(decoding["lengths"], lines, log="xy", x_label="tokens written", y_label="processor seconds", axes=left)
gain = [slow / quick for slow, quick in zip(*(decoding["seconds"][way] for way in names))]
counted = [operations(N, 256, False) / operations(N, 256, True) for N in decoding["lengths"]]
options = {"log": "xy", "x_label": "tokens written", "y_label": "without a cache / with the KV cache"}
lines, styles = {"operations, by count": counted, "measured time": gain}, {"operations, by count": "o--"}
colours = {"operations, by count": plots.GREY, "measured time": plots.BLACK}
plots.curves(decoding["lengths"], lines, styles=styles, colours=colours, axes=right, **options)
slow, quick = (decoding["seconds"][way][-1] for way in names)
written = decoding["lengths"][-1]
fewer = counted[-1]
print(f"{written} tokens: {slow:.1f} s without, {quick:.1f} s with the cache:", end=" ")
print(f"{gain[-1]:.0f} times faster, with {fewer:.0f} times fewer operations")
assert gain[-1] > gain[-2] > gain[-3] and fewer > 5 * gain[-1]
show(
    figure,
    "Measured, four layers of width 256: processor seconds to write 16 to 1024 tokens, without and with the KV cache, and the ratio: "
    f"{', '.join(f'{length} tokens {ratio:.1f}' for length, ratio in zip(decoding['lengths'], gain))}.",
)

# %% [markdown]
# **Figure 2.** Measured time in which the model of four layers generates texts of different lengths with and without
# the KV cache (left), and the ratio of the two times beside that of the counted operations (right). The stored times
# are processor times.
#
# For long texts the gain grows with the length, as the counts of operations predict, but it remains far smaller than
# they promise. With the cache, much of the time for a token does not depend on the length of the text, probably because
# every matrix product, however small, has to be started and the model's weights have to be read from memory. The cache
# reduces neither, and our simple `extend` even copies the whole cache at each step, because `torch.cat` makes a new
# tensor. With a large model, reading the weights often takes most of the time. Where possible, many texts are therefore
# generated in one batch, so that each weight is read once for all of them.
#
# **The price of the cache is memory.** For each token, each layer and each head we store a key and a value. With $L$
# layers and $H$ heads of width $D_H$ this makes $2 \cdot L \cdot H \cdot D_H$ numbers for each token. For the model of
# our novel these are $2 \cdot 80 \cdot 64 \cdot 128 \approx 1.3$ million numbers, or 2.6 MB a token. The folded cell
# below computes this and other caches; GPT-3, for instance, has 96 layers of 96 heads of width 128.


# %%
def cache_bytes(layers, heads, head_width, tokens, texts=1, bytes_each=2):
    return 2 * layers * heads * head_width * tokens * texts * bytes_each


# %% tags=["fold", "nbval-check-output"]
# @title Defines held · The bytes of all tensors in a cache
def held(cache):
    """The bytes of all tensors in a cache."""
    return sum(part.numel() * part.element_size() for pair in cache.values() for part in pair)


by_formula = cache_bytes(2, 4, 16, 8, 16, bytes_each=4)
print(f"our model, 16 texts of 8 tokens: {held(cache):,} bytes in the cache, {by_formula:,} by the formula")
print(f"GPT-3, one text of 2,048 tokens: {cache_bytes(96, 96, 128, 2048) / 1e9:.1f} GB")
print(f"PaLM 540B with multi-head attention, 512 texts of 2,048 tokens: {cache_bytes(118, 48, 128, 2048, 512) / 1e12:.2f} TB")
print(f"the novel of 100,000 tokens: {cache_bytes(80, 64, 128, 100_000) / 1e9:.0f} GB")

# %% [markdown]
# The cache of the novel takes more memory than all the weights of a model with 70 billion parameters, which are 140 GB
# at two bytes each. And at each step the whole cache has to be read.
#
# <details><summary>Going further: a published cache</summary>
#
# The third line reproduces a number published by Pope et al. (2022). They write of a model with more than 500 billion
# parameters and multi-head attention: "for batch size 512 and context length 2048, the KV cache totals 3TB, which is 3
# times the size of the model's parameters". Our line takes a multi-head variant of PaLM 540B, with 118 layers and 48
# heads of width 128.
#
# </details>

# %% [markdown]
# ## Grouped-query attention
#
# How can the cache become smaller? It holds keys and values but no queries, so the number of *query* heads does not
# matter for its size. In **multi-query attention** (Shazeer, 2019) all query heads share a single head of keys and
# values. In **grouped-query attention (GQA)** (Ainslie et al., 2023) there are $G$ heads of keys and values, and each
# of them serves a group of $H/G$ query heads:

# %% tags=["fold"]
# @title Draws Figure 3
show(
    efficient.grouped_heads(),
    "Three schemes with eight query heads each. Multi-head, G = 8: each query head has its own keys and values. Grouped-query, "
    "G = 2: query heads 0 to 3 share the first keys and values, 4 to 7 the second. Multi-query, G = 1: all eight share one.",
)

# %% [markdown]
# **Figure 3.** Eight query heads (below) and the $G$ heads of keys and values that they use (above). Multi-head
# attention is the case $G = H$, multi-query attention the case $G = 1$.
#
# Query head $h$ uses group $\lfloor h / (H/G) \rfloor$; in code this is `h // (H // G)`:
#
# $$A_h = \operatorname{softmax}\!\left(\frac{Q_h K_g^\top}{\sqrt{D_H}}\right) [N_Q, N_X],\qquad Y_h = A_h V_g\ \ [N_Q, D_H],\qquad
# g = \left\lfloor \frac{h}{H/G} \right\rfloor$$
#
# Every query head still has attention weights of its own, because its queries are its own. Only keys and values are
# shared.

# %%
B, H, G, N, D_H = 2, 8, 2, 6, 4
Q = normal(B, H, N, D_H)  # [B, H, N, D_H]
K, V = normal(B, G, N, D_H), normal(B, G, N, D_H)  # [B, G, N, D_H]: this is what the cache holds

Y_loop = torch.zeros_like(Q)  # [B, H, N, D_H]
for h in range(H):
    g = h // (H // G)  # heads 0 to 3 use group 0, heads 4 to 7 group 1
    A_h = (Q[:, h] @ K[:, g].mT / math.sqrt(D_H)).softmax(dim=-1)  # [B, N, N]
    Y_loop[:, h] = A_h @ V[:, g]  # [B, N, D_H]

K_all, V_all = (part.repeat_interleave(H // G, dim=1) for part in (K, V))  # [B, H, N, D_H], each group H/G times
Y = (Q @ K_all.mT / math.sqrt(D_H)).softmax(dim=-1) @ V_all  # [B, H, N, D_H]
assert_close(Y, Y_loop)
assert_close(F.scaled_dot_product_attention(Q, K, V, enable_gqa=True), Y)  # torch's own call

# %% [markdown]
# `repeat_interleave` repeats each group as often as it has query heads, in a row: 0 0 0 0 1 1 1 1. With `repeat` we
# would get 0 1 0 1 0 1 0 1, the right shape with the wrong groups. The cache keeps $G$ heads, so each token takes
# $2 \cdot L \cdot G \cdot D_H$ numbers.

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
sizes = {}
for G in (8, 4, 2, 1):
    grouped, cache = LanguageModel(width=256, depth=4, H=8, G=G, longest=64).to(DEVICE), {}
    extend(grouped, sentences[:8, :8].reshape(1, 64), cache)  # any 64 tokens
    sizes[G] = held(cache) / 1024
    assert held(cache) == cache_bytes(4, G, 32, 64, bytes_each=4)
print("KiB of the cache of 64 tokens:", ", ".join(f"{size:.0f} for G = {G}" for G, size in sizes.items()))

# %% [markdown]
# What does sharing cost in quality? Ainslie et al. (2023, table 1) converted a trained model, T5-XXL with 64 heads, and
# trained it for another 5 % of the original number of steps. With eight groups hardly any quality is lost:
#
# | published, T5-XXL | seconds for one sample | mean score of seven tasks |
# |---|---|---|
# | multi-head, $G = 64$ | 1.51 | 47.2 |
# | grouped-query, $G = 8$ | 0.28 | 47.1 |
# | multi-query, $G = 1$ | 0.24 | 46.6 |
#
# Llama 3 with 70 billion parameters uses $G = 8$ with its 64 query heads: the cache of our novel shrinks from 262 GB to
# 33 GB.

# %% [markdown]
# ## The online softmax
#
# Now to the second problem, the attention matrix. Only the output $Y = AV$ is needed in the end, and $Y$ is small. Can
# it be computed without holding all of $A$ at any time?
#
# Take one query. Its output is a weighted average of the values, in which $v_n$, with score $s_n$, has a weight
# proportional to $e^{s_n}$:
#
# $$y = \frac{\sum_n e^{s_n}\, v_n}{\sum_n e^{s_n}}$$
#
# The numerator and the denominator are sums, and a sum can be computed in pieces. Read some vectors, add their terms to
# both sums, forget these vectors, and read the next ones. At the end, divide one sum by the other.
#
# There is one difficulty: overflow. In single precision, $e^{s}$ overflows for $s \ge 89$, so the softmax subtracts the
# largest score from all scores (lesson 04). In this section and the next, $m$ is this largest score, no longer a
# position. We know the largest of *all* scores, however, only after reading all of them.
#
# The way out is to subtract the largest score **so far**. When a larger score turns up, each term of the old sums
# contains $e^{s_n - m_\text{old}}$ and should contain $e^{s_n - m_\text{new}}$. This is easy to correct:
#
# $$e^{s_n - m_\text{new}} = e^{s_n - m_\text{old}} \cdot e^{m_\text{old} - m_\text{new}}$$
#
# The factor is the same for all terms: it is enough to multiply the two sums by it. This is the **online softmax**,
# which Milakov and Gimelshein (2018) introduced for $m$ and the denominator. For attention we keep three quantities for
# each query: the largest score so far $m$, the sum of the exponentials $\ell$, and the sum of the weighted values $o$.
# A new piece, with scores $s$ and values $V$, changes them to $m'$, $\ell'$ and $o'$:
#
# $$m' = \max(m, \max s),\qquad f = e^{m - m'},\qquad p = e^{s - m'},\qquad \ell' = f\,\ell + \textstyle\sum p,\qquad o' = f\,o + p\,V$$
#
# The computation begins with $m = -\infty$, $\ell = 0$ and $o = 0$. For the first piece, $f = e^{-\infty} = 0$. At the
# end, $y = o / \ell$.
#
# The next cell does this for one query and twelve vectors, in pieces of four:

# %% tags=["nbval-check-output"]
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
# The result is no approximation: up to rounding, it is the softmax average itself.

# %% [markdown]
# ## FlashAttention: attention in tiles
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
        m_new = torch.maximum(m, E.amax(dim=1, keepdim=True))  # [N_Q, 1]
        f, P = (m - m_new).exp(), (E - m_new).exp()  # [N_Q, 1], [N_Q, block]
        l, O, m = f * l + P.sum(dim=1, keepdim=True), f * O + P @ V_part, m_new
    return O / l


def torchs_own(Q, K, V):
    Q, K, V = (part[None, None] for part in (Q, K, V))  # [1, 1, N, D]: tiles only for [B, H, N, D_H]
    return F.scaled_dot_product_attention(Q, K, V)[0, 0]


# %% tags=["fold"]
# @title Computes Q, K, V, exact
Q, K, V = normal(300, 64), normal(300, 64), normal(300, 64)
# the judge is double precision, on the CPU: Apple's GPUs have none
exact = plain(*(M.cpu().double() for M in (Q, K, V))).float().to(DEVICE)
assert_close(tiles(Q, K, V), exact, rtol=0, atol=1e-6)
assert_close(tiles(Q, K, V, block=7), exact, rtol=0, atol=1e-6)
assert_close(torchs_own(Q, K, V), exact, rtol=0, atol=1e-6)

# %% [markdown]
# The folded checks compare three results with the exact one: tiles of 128 keys, tiles of 7 keys, where the last block
# is shorter, and PyTorch's own attention, which works in tiles by itself if it is called as in `torchs_own`. All agree
# with it to within $10^{-6}$. Attention without a stored table is older than FlashAttention (Rabe and Staats, 2021).
#
# **Try it.** There are eight queries and twelve keys. Choose the size of a block and go through the tiles. On the left
# is the table that is never stored: only the coloured tile exists at this moment. On the right are the weights of the
# first query, computed from the keys it has read so far (dark bars: the keys of this tile; light bars: keys read
# before), beside the final weights. If you choose a tile beyond the last one, the last one is shown.

# %% tags=["fold"]
# @title Explorer of Figure 4
Q_8, K_12 = normal(8, 4), normal(12, 4) * torch.linspace(0.6, 1.8, 12, device=DEVICE)[:, None]
E_table = Q_8 @ K_12.T / 2  # [8, 12]
# query 0: its largest score so far rises in the middle, and again at the end
rises = (E_table[:, 4:8].amax(dim=-1) > E_table[:, :4].amax(dim=-1)).float()
E_table = E_table[(E_table[:, 8:].amax(dim=-1) + 10 * rises).argsort(descending=True)]


def read_so_far(block, step):
    """Where the tile begins and ends, and m and l of the first query when it has been read."""
    block = int(block)
    begin = min(int(step), math.ceil(12 / block) - 1) * block
    end = min(12, begin + block)
    m = E_table[0, :end].max()
    return begin, end, m, (E_table[0, :end] - m).exp().sum()


def draw_tiles(block, step):
    begin, end, m, l = read_so_far(block, step)
    shown = torch.full_like(E_table, torch.nan)
    shown[:, begin:end] = E_table[:, begin:end]
    bound = E_table.abs().max().item()
    figure, (left, right) = plots.canvas(11, 3.6, 2, gridspec_kw={"width_ratios": [1, 1.1]})
    left.axvspan(-0.5, 11.5, facecolor="white", edgecolor="#CCCCCC", hatch="//", zorder=0)  # what does not exist
    plots.field(shown, limits=(-bound, bound), x_label="key", y_label="query", title="scores that exist now", axes=left)
    keys = [f"{n}" for n in range(12)]
    now = torch.where(torch.arange(12, device=DEVICE) < end, (E_table[0] - m).exp() / l, 0.0)
    left.set_xticks(range(12), keys)
    left.set_yticks(range(8))
    colours = [plots.WEIGHTS if begin <= n < end else plots.SKY for n in range(12)]
    if begin:
        before = E_table[0, :begin].max()
        old = (E_table[0, :begin] - before).softmax(dim=0)
        right.bar(range(begin), plots.array(old), width=0.8, fill=False, edgecolor=plots.GREY, linestyle="--", zorder=4)
        sums = f"ℓ → ℓ′: {(E_table[0, :begin] - before).exp().sum():.2f} → {l:.2f}, f = {(before - m).exp():.2f}"
    else:
        sums = f"ℓ′ = {l:.2f}"
    title = f"weights of query 0 after key {end - 1}\nm′ = {m:.2f}, {sums}"
    plots.bars(now[:end], keys[:end], colour=colours[:end], limits=(0, 1.12), numbers=".2f", title=title, axes=right)
    for label in right.texts:
        label.set(bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3}, zorder=5)
    right.set_xticks(range(12), keys)
    final = plots.array(E_table[0].softmax(dim=0))
    right.plot(range(12), final, "_", color=plots.BLACK, markersize=16, markeredgewidth=2, label="final weights")
    for colour, name in ((plots.WEIGHTS, "keys of this tile"), (plots.SKY, "keys read before")):
        right.bar(0, 0, color=colour, label=name)
    right.bar(0, 0, fill=False, edgecolor=plots.GREY, linestyle="--", label="their weights before this tile")
    plots.legend_of(right)
    right.set(xlabel="key", ylabel="weight")
    return figure


def say_tiles(block, step):
    begin, end, m, l = read_so_far(block, step)
    if begin:
        factor = (E_table[0, :begin].max() - m).exp()
        old = (
            f"the old sums were multiplied by {factor:.2f}"
            if factor < 1
            else "no larger score came, so the old sums stayed"
        )
    else:
        old = "there were no sums before"
    here = f"Tile of {8 * (end - begin)} scores out of {8 * 12}. After key {end - 1} the largest score of query 0 is {m:.2f} and its sum {l:.2f}"
    return f"{here}; {old}."


explore(
    draw_tiles,
    alt=say_tiles,
    block=Slider("keys in a block", 1, 12, 4, 1),
    step=Slider("tile", 0, 11, 1, 1),
)

# %% [markdown]
# **Figure 4.** Attention in tiles. Left, the scores that are in memory at this step; right, the weights of the first
# query computed from the keys read so far, with $m'$, $\ell$, $\ell'$ and $f$ above them. Dashed outlines show the
# weights before this tile, black marks the final ones.
#
# The bars are drawn for us only: the computation keeps nothing of the earlier tiles but $m$, $\ell$ and $o$. At first
# the weights are too large, since they sum to 1 over the keys that have been read. Each tile shrinks them towards the
# final weights by the factor $f\,\ell/\ell'$: $f$ corrects the numerators, and $\ell/\ell'$ replaces the old sum by the
# new one.
#
# Attention in tiles, with an online softmax, is the idea of **FlashAttention** (Dao et al., 2022). It saves time as
# well as memory, and the reason lies in the hardware. A GPU works with several memories: a small one on its chip, a
# larger one beside the chip, and that of the host. The larger a memory is, the slower it is. This is called a **memory
# hierarchy**:

# %% tags=["fold"]
# @title Draws Figure 5
show(
    efficient.memory_hierarchy(),
    "A pyramid of three memories. Top: SRAM on the GPU's chip, 20 MB at 19 TB per second. Middle: HBM, the GPU's memory, 40 GB at "
    "1.5 TB per second. Bottom: DRAM of the host's CPU, over 1 TB at 12.8 GB per second. Beside HBM, the table of scores, N by N, is "
    "hatched: never stored. Q is a tall bar at its left, K and V are wide bars above it, Y is a tall bar at its right, each cut into "
    "four blocks. One block of each is marked, and so is the tile where the block of Q meets that of K. Arrows lead from the marked "
    "blocks of Q, K and V up to SRAM, where the tile stands alone, with m, l and O of these queries; an arrow leads back to Y only.",
)

# %% [markdown]
# **Figure 5.** The memory hierarchy of an A100 GPU, with the size and the **bandwidth** of each memory (the bytes that
# it can read or write in a second) as published by Dao et al. (2022). SRAM lies beside the arithmetic units, in 108
# pieces of 192 KB; HBM stands for high-bandwidth memory. Right, the way of one tile: not all queries, as in Figure 4,
# but one block of them against one block of keys, for instance $128 \times 128$ scores. Two loops, over the blocks of
# keys and those of queries, visit all tiles. What goes back to HBM is the output (with $m$ and $\ell$), never a score.
#
# Attention with a table computes the scores $E$, writes them to HBM, reads them again for the softmax, writes the
# weights $A$, and reads them again for the weighted sums. How long does this take, compared with the arithmetic? We
# count for one head of width 64 in half precision, with the numbers of the figure and $312 \cdot 10^{12}$ operations a
# second:

# %% tags=["nbval-check-output"]
N, D_H = 16_384, 64
computing = 4 * N**2 * D_H / 312e12  # scores and weighted sums, in seconds
moving = 4 * N**2 * 2 / 1.5e12  # E and A are written once and read once, two bytes a number
print(f"computing {1000 * computing:.2f} ms, moving the tables {1000 * moving:.2f} ms:", end=" ")
print(f"{moving / computing:.1f} times as long")

# %% [markdown]
# With a table, the arithmetic units would wait most of the time. FlashAttention therefore cuts queries *and* keys into
# blocks, so that a tile of scores is small enough for the SRAM. A tile is computed there, used there, and overwritten
# by the next one; it never travels to HBM.
#
# A causal model needs a mask, which sets the forbidden scores to $-\infty$; our `tiles` takes none. FlashAttention has
# blocks of queries, too, so in a long text nearly half of its tiles need not be computed, because their keys all come
# after their queries. One case needs care: if the first tile that a query meets is forbidden altogether, as with
# padding on the left, then $m' = -\infty$ and $e^{m - m'}$ is NaN, as in lesson 07 for a fully masked row.
#
# In training, the backward pass computes the tiles again instead of storing them. This costs additional operations and
# still saves time. Dao et al. (2022, figure 2) measured attention of GPT-2 medium, forward and backward, on an A100:
#
# | published | operations | HBM, read and written | time |
# |---|---|---|---|
# | with the table | $66.6 \cdot 10^9$ | 40.3 GB | 41.7 ms |
# | FlashAttention | $75.2 \cdot 10^9$ | 4.4 GB | 7.3 ms |
#
# Does the memory grow as expected? We measure the peak of the memory that PyTorch allocates, up to $N = 16{,}384$.
# Predict: by which factor does each curve grow from one point to the next, where $N$ is four times as large?

# %% tags=["fold"]
# @title Draws Figure 6
MEASURED, OWN = (256, 1024, 4096, 16384), "PyTorch's own"


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


# the same in all figures
COLOURS = {"table of weights": plots.BLUE, "tiles of 128 keys": plots.GREEN, OWN: plots.BLACK}
COLOURS |= {"softmax": plots.BLUE, "linear": plots.ORANGE, "window": plots.PURPLE, "latents": plots.SKY}
memory = {
    "table of weights": peaks(plain),
    "tiles of 128 keys": peaks(tiles),
    OWN: peaks(torchs_own),
}
grown = {name: curve[-1] / curve[-2] for name, curve in memory.items()}
print("growth of the peak from N = 4,096 to N = 16,384:")
for name, factor in grown.items():
    print(f"  {name:20} {factor:.1f} times")
if DEVICE.type == "cpu":  # a GPU's kernels take other working space
    assert 15 < grown["table of weights"] < 17 and 3 < grown["tiles of 128 keys"] < 5
    assert memory[OWN][-1] < memory["tiles of 128 keys"][-1]
show(
    plots.curves(
        MEASURED,
        memory,
        title="measured, one head of 64",
        x_label="number of vectors N",
        y_label="peak memory, MiB",
        log="xy",
        colours=COLOURS,
    ),
    "Peak memory at N = 256, 1,024, 4,096 and 16,384. The table grows sixteenfold at each step and reaches "
    f"{memory['table of weights'][-1]:,.0f} MiB; tiles of 128 keys grow fourfold and reach {memory['tiles of 128 keys'][-1]:.0f} MiB; PyTorch's own "
    f"stays below, at {memory[OWN][-1]:.0f} MiB.",
)

# %% [markdown]
# **Figure 6.** Peak memory of one head against the length $N$, on logarithmic axes. The table of weights grows as
# $O(N^2)$ and the tiles as $O(N)$. PyTorch's own attention never stores the table either; its working space grows at
# first and has a fixed size from $N = 1{,}024$ on, where its curve therefore rises by less than the factor 4 at each
# step.
#
# At $N = 256$ our `tiles` saves nothing, because one tile and its working arrays are as large as the table.
#
# Is the memory of self-attention $O(N)$ or $O(N^2)$? Both answers can be found in print, and both are right: it depends
# on whether the weights are stored, and also on the mask.
#
# **A mask brings a table back.** A boolean mask has $N \times N$ entries itself, and PyTorch turns it into
# floating-point numbers before it adds it to the scores. `is_causal=True` asks for the same weights without such a
# table:

# %%
N = 4096
Q, K, V = (part[None, None] for part in inputs(N))  # [1, 1, N, D_H] each: one text, one head
ways = {
    "no mask": lambda: F.scaled_dot_product_attention(Q, K, V),
    "is_causal=True": lambda: F.scaled_dot_product_attention(Q, K, V, is_causal=True),
    "attn_mask=causal(N)": lambda: F.scaled_dot_product_attention(Q, K, V, attn_mask=causal(N)),
}
for name, compute in ways.items():
    print(f"{name:20} peak {peak_memory(compute) / 2**20:5.1f} MiB")
assert_close(ways["is_causal=True"](), ways["attn_mask=causal(N)"](), rtol=1e-4, atol=1e-5)

# %% [markdown]
# With a mask matrix, memory grows as $O(N^2)$ again, although the attention itself still works in tiles. Our language
# model can afford it, because its sentences are short. For a long text, set the flag in training and prefill, and use
# neither flag nor mask for a single new token. For several new tokens after a filled cache, as in `extend`, `is_causal`
# is wrong: build the matrix, or use `causal_lower_right` from `torch.nn.attention.bias`, which on a CPU builds the
# matrix itself.

# %% [markdown]
# ## Linear attention
#
# Tiles save memory, but they do not save operations: each query is still compared with each key. Can *that* be avoided?
#
# The softmax is the obstacle. Without it, attention would be $(Q K^\top) V$, and since a product of three matrices can
# be computed in either order, we could just as well compute $Q\,(K^\top V)$. Compare the sizes: $Q K^\top$ is $[N, N]$,
# but $K^\top V$ is $[D_Q, D_V]$, however long the sequence is.

# %% tags=["fold"]
# @title Draws Figure 7
show(
    efficient.orders_of_products(),
    "Two lines of rectangles, drawn to size. First Q, N by D_Q, times K transposed, D_Q by N, gives a large square, N by N, which "
    "is multiplied by V, N by D_V, to give Y: 2 N squared times D_Q plus D_V operations. Second, K transposed times V gives a small "
    "square, D_Q by D_V, by which Q is multiplied to give the same Y: 4 N D_Q D_V operations.",
)

# %% [markdown]
# **Figure 7.** The same product in two orders, without the softmax. The upper order computes the large square, and its
# cost grows with $N^2$; the lower order computes the small square, and its cost grows with $N$.
#
# **Linear attention** (Katharopoulos et al., 2020) keeps two properties of the softmax: the weights are positive, and
# each row sums to 1. It gives up the exponential of the score. A function $\varphi$ makes all features of queries and
# keys positive, and the similarity of a query and a key is just the dot product of their features. Such a function is
# called a feature map, but it shares only its name with the feature maps of lesson 03. From here to the summary, $m$ is
# again the position of the query:
#
# $$a_{mn} = \frac{\varphi(q_m) \cdot \varphi(k_n)}{\sum_j \varphi(q_m) \cdot \varphi(k_j)},\qquad \varphi(x) = \operatorname{elu}(x) + 1
# = \begin{cases} x + 1 & x > 0\\ e^x & x \le 0\end{cases}$$
#
# Vectors are rows here, so $\varphi(k_n)^\top v_n$ is a column times a row: a matrix $[D_Q, D_V]$. In both the
# numerator and the denominator, $\varphi(q_m)$ can be taken out of the sum:
#
# $$y_m = \frac{\varphi(q_m)\,\big(\sum_n \varphi(k_n)^\top v_n\big)}{\varphi(q_m) \cdot \sum_n \varphi(k_n)}$$
#
# Both sums are the same for all queries, so they are computed only once. For one head, the cost is $O(N D_Q D_V)$
# operations instead of $O(N^2 (D_Q + D_V))$.


# %%
def linear(Q, K, V):
    """Linear attention of one head and one sequence; Q [N_Q, D_Q], K [N_X, D_Q], V [N_X, D_V] give [N_Q, D_V]."""
    Q, K = F.elu(Q) + 1, F.elu(K) + 1
    state, total = K.T @ V, K.sum(dim=0)  # [D_Q, D_V], [D_Q]
    return Q @ state / (Q @ total)[:, None]


# %% tags=["fold"]
# @title Computes Q, K, V, A_linear
Q, K, V = normal(300, 64), normal(300, 64), normal(300, 32)
A_linear = (F.elu(Q) + 1) @ (F.elu(K) + 1).T  # [N, N], only to compare
assert_close(linear(Q, K, V), A_linear / A_linear.sum(dim=-1, keepdim=True) @ V)

# %% [markdown]
# The folded cell checks the result against the formula with all weights written out. What does linear attention give
# up? It has to fit the information of all keys and values into *one* matrix of $D_Q \times D_V$ numbers and one vector
# of $D_Q$, whose sizes do not grow with the length of the sequence. This is the bottleneck of lesson 01 again.
#
# **A Transformer that is an RNN.** In a causal model, query $m$ may use the sums up to position $m$ only. They can be
# carried along from token to token:
#
# $$S_m = S_{m-1} + \varphi(k_m)^\top v_m,\qquad z_m = z_{m-1} + \varphi(k_m),\qquad y_m = \frac{\varphi(q_m)\, S_m}{\varphi(q_m) \cdot z_m}$$
#
# This is a recurrent network whose hidden state is the matrix $S_m$, $[D_Q, D_V]$, with the vector $z_m$, $[D_Q]$. It
# explains the paper's title, "Transformers are RNNs". In decoding, the state replaces the KV cache, and each new token
# costs the same, however long the text is. In training, all positions can still be computed together, unlike in a plain
# RNN, an LSTM or a GRU, because $S_{m-1}$ passes through no nonlinear function: all states are running sums of known
# terms (in practice computed chunk by chunk, so that not all $N$ states are stored).

# %% [markdown]
# ## Windowed attention
#
# A second way to save operations keeps the softmax but compares fewer pairs of vectors. In **windowed** or **local
# attention** (Beltagy et al., 2020), each vector attends only to vectors at most $w$ positions away on either side. We
# count $w$ for each side, whereas the paper counts both sides together:
#
# $$a_{mn} = 0 \quad\text{where}\quad |m - n| > w$$
#
# A mask (lesson 07) describes this exactly:


# %%
def masked_window(Q, K, V, w=64):
    """Attention to at most w positions on either side; Q, K, V [N, D] give [N, D]. Still compares all pairs."""
    m, n = torch.arange(len(Q), device=Q.device)[:, None], torch.arange(len(K), device=Q.device)  # [N, 1] and [N]
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=(m - n).abs() <= w)

# %% tags=["fold"]
# @title Draws Figure 8
show(
    efficient.chunks(),
    "Two tables of queries by keys. Left, all pairs are computed, and a mask hides all but a band around the diagonal. Right, each "
    "chunk of three queries meets nine keys, its own chunk and the two beside it; few of its scores are hidden, and all others "
    "are never computed. The first and the last chunk meet three zero vectors each.",
)

# %% [markdown]
# **Figure 8.** The scores of twelve queries and keys in a window with $w = 3$. A mask alone (left) hides scores that
# have been computed. When the sequence is cut into chunks (right, framed), most of the hidden scores are never
# computed.
#
# A mask alone saves nothing, since the scores that it hides are computed as well. To save operations, cut the sequence
# into chunks of $w$ vectors. A chunk of queries then needs only its own chunk of keys and the two chunks beside it
# (Figure 8). With $w = 64$, queries 128 to 191 need only keys 64 to 255. This makes $3w$ scores for each query instead
# of $N$, of which at most $2w + 1$ lie in its window; a small mask hides the others. The cost is $O(N w D)$.


# %%
def window(Q, K, V, w=64):
    """The same for N a multiple of w: a chunk of queries meets its own chunk of keys and the two beside it."""
    N = Q.shape[-2]
    chunks = Q.unflatten(-2, (-1, w))  # [..., N/w, w, D]
    K_pad, V_pad = (F.pad(one, (0, 0, w, w)) for one in (K, V))  # [..., N + 2 w, D]: w zero vectors at either end
    # unfold cuts out 3 w rows, moves on by w, and puts the rows on a new last axis: [..., N/w, D, 3 w]; .mT swaps the last two
    K_near, V_near = (one.unfold(-2, 3 * w, w).mT for one in (K_pad, V_pad))  # N/w pieces: [..., N/w, 3 w, D]
    start = torch.arange(0, N, w, device=Q.device)[:, None]  # [N/w, 1]
    query = (start + torch.arange(w, device=Q.device))[..., None]  # [N/w, w, 1]
    key = (start + torch.arange(-w, 2 * w, device=Q.device))[:, None]  # [N/w, 1, 3 w]
    near = (key >= 0) & (key < N) & ((key - query).abs() <= w)  # [N/w, w, 3 w]
    E = chunks @ K_near.mT / math.sqrt(Q.shape[-1])
    return (E.masked_fill(~near, -torch.inf).softmax(dim=-1) @ V_near).flatten(-3, -2)


Q, K, V = inputs(256)
assert_close(window(Q, K, V), masked_window(Q, K, V))

# %% [markdown]
# What does a window give up? Within a single layer, no vector can attend to one that is far away. With each further
# layer the **receptive field** of an output grows by $w$ positions on either side (lesson 07), so information from far
# away arrives only step by step. Beltagy et al. therefore let a few chosen tokens attend to all others and be attended
# to by all.
#
# In vision, two cures for the quadratic cost are common: attention limited to regions of an image or of space ([lesson
# 12](12_attention_in_vision.ipynb)), and *patches* instead of pixels ([lesson 13](13_vision_transformer.ipynb)).
#
# ## Perceiver latents
#
# The third way puts a few vectors between the data and the outputs. In **Perceiver** (Jaegle et al., 2021), $M$ learned
# vectors, called **latents**, read the $N$ data vectors by cross-attention: the latents give the queries, the data the
# keys and values, and $M$ is much smaller than $N$. The depth of the network lies *among the latents*: a stack of $L$
# self-attention blocks works on these $M$ vectors, and between the blocks the latents may read the data again. Where an
# output is wanted for each position, Perceiver IO adds a last cross-attention, in which $N$ queries read the latents.
# Each output has its own query, which says what is wanted there and may be made from the position alone or, as in our
# code below, from the data vector at this position. With one reading of the data, the number of scores is
#
# $$\underbrace{M N}_{\text{latents read the data}} +\; \underbrace{L\, M^2}_{\text{blocks among the latents}} +\;
# \underbrace{N M}_{\text{queries read the latents}} \qquad\text{instead of}\qquad L\, N^2,$$
#
# with $O(D)$ operations for each. One more block costs the same for a long input as for a short one; this is how
# Perceiver attends to the 50,000 single pixels of an image.

# %% tags=["fold"]
# @title Draws Figure 9
show(
    efficient.latents(),
    "Three rows of boxes. Below, twelve data vectors, the keys and values of the first step. Lines lead from all of them to each "
    "of three latents in the middle row, 3 times 12 weights. Lines lead from the three latents to each of twelve outputs in the "
    "upper row, 12 times 3 weights. Between neighbouring latents run arrows in both directions: L blocks of self-attention, with "
    "L times M squared weights. No line leads from a data vector to an output.",
)

# %% [markdown]
# **Figure 9.** Attention through latents, from below: $N = 12$ data vectors, $M = 3$ latents, $N$ outputs. In the first
# step the latents are the queries; in the last step the summaries that they have gathered are the keys and the values.
# Between the two, in the middle row, Perceiver has its blocks of self-attention, in which every latent attends to all
# latents. The two steps have $2NM$ weights instead of $N^2$, here 72 instead of 144.


# %%
def through_latents(Q, K, V, latents, depth=2):
    """Latents [M, D] read the data, attend to each other, and are read by the queries; Q, K, V [N, D] give [N, D]."""
    Z = plain(latents, K, V)  # [M, D]: cross-attention, M·N scores
    for _ in range(depth):
        Z = Z + plain(Z, Z, Z)  # [M, D]: self-attention among the latents, M·M scores
    return plain(Q, Z, Z)  # [N, D]: cross-attention, N·M scores


# %% [markdown]
# This is the bare skeleton, without projections, normalisation and MLP (lesson 09). What do latents give up? Everything
# must pass through $M$ vectors, and these are computed before any query is known.
#
# We have seen three cheap kinds of attention. Here are their weights beside those of the softmax:

# %% tags=["fold"]
# @title Draws Figure 10
keep_window = (torch.arange(40)[:, None] - torch.arange(40)).abs() <= 5  # [N, N]
figure, panels = plots.canvas(10.5, 3.2, 4)
Q_40, K_40, L_6 = normal(40, 8) * 2, normal(40, 8) * 2, normal(6, 8) * 2
E_40 = (Q_40 @ K_40.T / math.sqrt(8)).cpu()
positive = ((F.elu(Q_40) + 1) @ (F.elu(K_40) + 1).T).cpu()
A_6 = (L_6 @ K_40.T / math.sqrt(8)).softmax(dim=-1)  # [6, N]: what the latents gather from the keys are the next keys
tables = {
    "softmax": E_40.softmax(dim=-1),
    "linear": positive / positive.sum(dim=-1, keepdim=True),
    "window, 5 to each side": E_40.masked_fill(~keep_window, -torch.inf).softmax(dim=-1),
    "6 latents": ((Q_40 @ (A_6 @ K_40).T / math.sqrt(8)).softmax(dim=-1) @ A_6).cpu(),
}
for panel, (name, table) in zip(panels, tables.items(), strict=True):
    panel.imshow(plots.array(table), cmap=plots.MAP, vmin=0, vmax=0.5)
    title = f"{name}\nlargest weight {table.max():.2f}"
    panel.set(title=title, xlabel="key", xticks=(0, 10, 20, 30), yticks=(0, 10, 20, 30))
panels[0].set_ylabel("query")
show(
    figure,
    "Attention weights of forty queries over forty keys, four kinds. Softmax: single bright points. Linear: a dark field, nearly even. "
    "Window: single bright points, all close to the diagonal. Six latents: a few bright columns, the same ones in many rows.",
)

# %% [markdown]
# **Figure 10.** The attention weights of four kinds of attention, for forty queries and forty keys. Softmax can pick
# out single keys. Linear attention spreads its weights, a window sees only nearby keys, and with six latents many
# queries share the same pattern. Queries, keys and latents are drawn at random, with a standard deviation of 2, which
# makes the softmax sharp. The latents have no blocks; their panel shows the product of their two tables, $[N, M]$ and
# $[M, N]$, which the layer itself never computes. The lightest colour marks 0.5 and more.
#
# The weights of linear attention are far more even. To attend to *one* key and to no other, a query needs one
# similarity that is many times larger than all others. The exponential of the softmax can produce such a ratio easily;
# for a dot product of positive vectors this is much harder.
#
# Tay et al. (2022) survey the many other kinds that have been proposed.

# %% [markdown]
# ## Looking up one key among many
#
# A small task shows what the cheaper kinds of attention lose. The data are $N$ pairs of a name and a number, for
# instance *ann* 7, *bob* 3, *eve* 9; the query *bob* asks for 3. A pair is the sum of two learned embeddings, for its
# name and for its number; a query is the embedding of a name alone. A linear layer reads the number off the output. All
# vectors have width 32, and guessing among the 32 numbers gives 0.03. Two kinds need a word more:
#
# - For the **window**, each query also needs a place: the pairs form a row, and the queries are spread evenly along it,
#   whatever names they ask for. A query sees only the pairs at most 8 positions from its place. With 64 pairs, the pair
#   that it needs is among them in only about a quarter of the cases.
# - We use 8 **latents**, without blocks among them.
#
# One model of each kind and seed is trained on batches of 4, 8, 16, 32 or 64 pairs for 500 steps, and in other runs for
# 5,000; the runs are stored.
#
# Predict: which kinds get worse as the number of pairs grows, and which of these does longer training help?

# %% tags=["fold"]
# @title Draws Figure 11
NAMES, NUMBERS, LATENTS, REACH, SIZES = 128, 32, 8, 8, (4, 8, 16, 32, 64)


class LookUp(nn.Module):
    """Answers queries from pairs, with attention of one kind."""

    def __init__(self, kind, D=32):
        super().__init__()
        self.kind = kind
        self.names, self.numbers = nn.Embedding(NAMES, D), nn.Embedding(NUMBERS, D)
        self.W_Q, self.W_K, self.W_V = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, D)
        self.out = nn.Linear(D, NUMBERS)
        self.latents = nn.Parameter(torch.randn(LATENTS, D))
        self.gather_K, self.gather_V = nn.Linear(D, D), nn.Linear(D, D)

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


def looked_up(kind, steps, seed):
    """The share of right answers at each number of pairs, after training."""
    torch.manual_seed(seed)
    model, drawn = LookUp(kind).to(DEVICE), torch.Generator().manual_seed(seed)
    batches = (pairs(SIZES[torch.randint(5, (1,), generator=drawn)], 32, drawn) for _ in range(steps))
    train(model, batches, look_up_loss, steps=steps, rate=1e-2, what=f"look-up, {kind}, seed {seed}")
    found = []
    for N in SIZES:
        *given, wanted = pairs(N, 128, torch.Generator().manual_seed(seed + 1000))
        with torch.no_grad():
            found.append((model(*given).argmax(dim=-1) == wanted).float().mean().item())
    return found


KINDS, STEPS = ("softmax", "linear", "window", "latents"), ("500", "5000")
if stored_runs.full():
    begun = time.process_time()
    kept = {steps: {kind: [looked_up(kind, int(steps), seed) for seed in range(3)] for kind in KINDS} for steps in STEPS}
    spent = time.process_time() - begun
    stored_runs.keep("08_efficient_attention.look_up", kept, seed="0 to 2", seconds=spent)
record = stored_runs.load("08_efficient_attention.look_up")
print(stored_runs.how(record))
figure, panels = plots.canvas(11, 3.8, 2, sharey=True)
means = {}
for panel, steps in zip(panels, STEPS, strict=True):
    shares = {kind: torch.tensor(record["results"][steps][kind]) for kind in KINDS}  # each [seeds, sizes]
    means[steps] = {kind: share.mean(dim=0) for kind, share in shares.items()}
    bands = {kind: (share.amin(dim=0).tolist(), share.amax(dim=0).tolist()) for kind, share in shares.items()}
    options = {"x_label": "number of pairs", "log": "x", "styles": {"window": "s--"}, "bands": bands}
    plots.curves(SIZES, means[steps], colours=COLOURS, title=f"{int(steps):,} steps", axes=panel, **options)
panels[0].set(ylim=(0, 1.05), ylabel="right answers")
print("right answers at 64 pairs, mean of three seeds")
for steps in STEPS:
    print(f"{int(steps):>7,} steps:", ", ".join(f"{kind} {mean[-1]:.2f}" for kind, mean in means[steps].items()))
runs = {(steps, kind): torch.tensor(record["results"][steps][kind]) for steps in STEPS for kind in KINDS}  # [3, sizes]
assert min(runs[steps, "softmax"].min() for steps in STEPS) > 0.99
assert (runs["5000", "window"] - runs["500", "window"]).abs().max() < 0.03
assert (runs["5000", "linear"] - runs["500", "linear"])[:, -1].min() > 0.15
assert (runs["5000", "latents"] - runs["500", "latents"])[:, -1].min() > 0.05
assert runs["5000", "linear"][:, -1].max() < 0.75 and runs["5000", "latents"][:, -1].max() < 0.4
show(
    figure,
    "Right answers against the number of pairs, from 4 to 64, after 500 steps of training on the left and after 5,000 on the right. "
    "Softmax stays at one in both. The curve of the window is almost the same in both: one up to 8 pairs, 0.78 at 16, and "
    "falling further. Linear attention and latents fall in both, later and less on the right.",
)

# %% [markdown]
# **Figure 11.** Share of right answers in the look-up task against the number of pairs, after 500 and after 5,000 steps
# of training: mean of three seeds, with the range shaded. Only softmax attention over all pairs stays right as the
# number grows.
#
# Does a curve fall because the model needs more *training*, or because its kind of attention *cannot* do better?
# Compare the two panels:
#
# - **Softmax** needs no more than the 500 steps. Each query singles out one key among 64 as reliably as among 4.
# - **Window**: ten times as many steps change nothing, because no training reaches a pair outside the window. Where the
#   relevant vectors *are* near, as they often are in text and images, a window is enough.
# - **Linear**: more training helps: at 64 pairs, the share of right answers rises from 0.51 to 0.71. A matrix of 32 by
#   32 numbers has to hold all pairs, and we suppose that the model is still learning to keep them apart; the runs do
#   not show where the limit lies.
# - **Latents** improve as well, and at 64 pairs they reach about the same share as the window. A probable reason is
#   that each latent decides which pairs to gather before it is known which name will be asked for; a mixture of several
#   pairs may do for a summary, but hardly for a look-up.

# %% [markdown]
# ## What each layer costs
#
# How do all these layers compare with recurrent networks and convolutions, the two older ways of processing a sequence?
# Besides operations and memory, we ask two more questions, following Vaswani et al. (2017, table 1). How many steps
# must be computed **one after the other**, because each needs the result of the step before it? And how long is the
# **path** that information takes from one position to another, counted in steps? The longer the path, the harder it is
# to learn how distant positions depend on each other.

# %% tags=["fold"]
# @title Draws Figure 12
show(
    efficient.paths(),
    "Three schemes over five vectors, each with the path from the first input to the last output marked. Recurrent network: the path "
    "runs through all five states; operations O(N D²), sequential steps O(N), longest path O(N). Convolutions of three: four layers, the "
    "path climbs one position a layer; operations O(k N D²), sequential steps O(1), longest path O(N/k). Self-attention: one straight "
    "line; operations O(N² D), sequential steps O(1), longest path O(1).",
)

# %% [markdown]
# **Figure 12.** A recurrent network, a stack of convolutions and self-attention, with operations and sequential steps
# of one layer and the longest path between two positions (after Vaswani et al., 2017; their table gives the path
# $O(\log_k N)$ for convolutions, which holds for dilated ones). The marked path leads from the first input to the last
# output: through all states of the recurrent network, through $2(N-1)/(k-1)$ convolutions on top of each other (here
# four), and through a single layer of attention.
#
# We now *measure* the costs. Each layer has width 64 and reads $N$ vectors. The attention layers are counted from
# $Q$, $K$ and $V$ on; their projections would add the same $O(N)$ cost to each of them. How much more does each layer
# need when there are **four times** as many vectors? A factor of 4 means $O(N)$, a factor of 16 means $O(N^2)$. This
# run counts the operations and measures the memory, for 1,024 and 4,096 vectors; the times, in one thread, come from
# the stored run.


# %% tags=["fold"]
# @title Draws Figure 13
def count(function, *inputs):
    """The operations that torch counts while `function` runs on the inputs; cuDNN's it does not see."""
    with FlopCounterMode(display=False) as counter, torch.no_grad(), torch.backends.cudnn.flags(enabled=False):
        function(*inputs)
    return counter.get_total_flops()


latents = normal(64, 64)  # [M, D]; learned in earnest, drawn at random here, where only the cost counts
gru, convolution = nn.GRU(64, 64, batch_first=True).to(DEVICE), nn.Conv1d(64, 64, 3, padding=1).to(DEVICE)
LAYERS = {
    "recurrent (GRU)": lambda Q, K, V: gru(V[None])[0][0],
    "convolution of 3": lambda Q, K, V: convolution(V.T[None])[0].T,
    "attention, table": plain,
    "attention, tiles": tiles,
    "attention, PyTorch's own": torchs_own,
    "linear attention": linear,
    "window, 64 to each side": window,
    "64 latents": lambda Q, K, V: through_latents(Q, K, V, latents),
}

if stored_runs.full():
    times = {}
    for name, function in LAYERS.items():
        with torch.no_grad():
            times[name] = [seconds(lambda: function(*given)) for given in (inputs(4096), inputs(16384))]
    spent = time.perf_counter() - BEGUN
    stored_runs.keep("08_efficient_attention", {**decoding, "layers": times}, seed=0, seconds=spent)
record = stored_runs.load("08_efficient_attention")
times = record["results"]["layers"]
counts, peak = {}, {}
for name, function in LAYERS.items():
    # torch does not count its own on a CPU; the products are the same
    counted = tiles if function is torchs_own else function
    counts[name] = [count(counted, *inputs(N)) for N in (1024, 4096)]
    peak[name] = peaks(function, (1024, 4096))
growth = {name: [after / before for before, after in (counts[name], peak[name])] for name in LAYERS}
print(stored_runs.how(record))
exact_ones = ("attention, table", "attention, tiles", "attention, PyTorch's own")
assert all(round(growth[name][0]) == (16 if name in exact_ones else 4) for name in growth)
if DEVICE.type == "cpu":
    others = [growth[name][1] for name in growth if name != "attention, table"]
    assert 15 < growth["attention, table"][1] < 17 and max(others) < 5
cheap = {name: times[name][1] for name in growth if name not in exact_ones}
assert max(cheap, key=cheap.get) == "recurrent (GRU)"
assert all(times[name][1] > max(cheap.values()) for name in exact_ones)

kinds = [plots.GREY, plots.GREY, *COLOURS.values()]
kinds.pop(5)  # softmax, which has the table's colour
figure, panels = plots.canvas(11, 4, 3, sharey=True)
for place, title in enumerate(("operations", "peak memory")):
    panels[place].barh(list(growth), [factors[place] for factors in growth.values()], color=kinds, height=0.6)
    panels[place].set(title=f"{title}, N × 4", xscale="log", xlim=(1, 26), xticks=(2, 4, 8, 16))
    panels[place].set_xlabel("grows by the factor")
    panels[place].set_xticklabels(("2", "4", "8", "16"))
    for factor in (4, 16):  # on a white line, so that it is seen on black bars, too
        panels[place].axvline(factor, color="white", linewidth=1.2)
        panels[place].axvline(factor, color=plots.BLACK, linestyle=":", linewidth=1.2)
panels[2].grid(True, axis="y", linestyle=":")
for line, (name, colour) in enumerate(zip(growth, kinds, strict=True)):
    panels[2].plot(times[name][1], line, "o", color=colour, markersize=9)
    panels[2].text(times[name][1] * 1.5, line, f"{times[name][1]:.3g}", va="center")
panels[2].set(title="time for N = 16,384 (stored)", xscale="log", xlim=(0.004, 20), xlabel="seconds, one thread")
for panel in panels:
    panel.minorticks_off()
    panel.spines[["top", "right"]].set_visible(False)
panels[0].invert_yaxis()
show(
    figure,
    "For each layer, the factor by which operations and peak memory grow from N = 1,024 to N = 4,096, and stored seconds for N = 16,384. "
    + "; ".join(f"{name}: {ops:.0f}, {mem:.0f}, {times[name][1]:.3g} s" for name, (ops, mem) in growth.items())
    + ".",
)

# %% [markdown]
# **Figure 13.** Growth of operations and memory when $N$ is four times as large (the dotted lines mark $O(N)$ and
# $O(N^2)$), and the stored time for 16,384 vectors, on a logarithmic scale. The two grey layers have no attention, the
# next three compute exact attention, and the last three are cheaper kinds.
#
# Exact attention compares all pairs: its operations grow as $O(N^2)$, with and without a table. Only attention with a
# table needs $O(N^2)$ memory. Linear attention, windows and latents need operations and memory in proportion to $N$,
# but they compute something else. As in exact attention (Figure 12), the number of their sequential steps does not grow
# with $N$; the longest path is one layer in linear attention, $L + 2$ steps with latents, and about $N/w$ layers with
# windows.
#
# The recurrent network is also $O(N)$. Yet its $N$ steps are computed one after the other, and even in one thread it is
# the slowest of the $O(N)$ layers, although the window needs just as many operations for each vector ($4 \cdot 3w \cdot
# D$ against $12 D^2$ in the GRU, and here $w = D$). Probably the matrix products of the network's single steps are too
# small to be efficient. On a GPU, a single step would leave most of the thousands of cores idle, whereas the rows of
# attention's matrix products can all be computed at once. The convolution is among the cheapest layers, but each of its
# outputs depends on three inputs only.
#
# <details><summary>Going further: how PyTorch's own attention was counted</summary>
#
# PyTorch does not count the operations of its own attention on a CPU. The figure shows the count of the tiles, which
# multiply the same pairs. The memory of PyTorch's attention grows by a factor below 4 here, because of its fixed
# working space.
#
# </details>

# %% [markdown]
# ## The novel again
#
# What does it take now to read 100,000 tokens and to write one more? We count attention alone, with the sizes from the
# beginning and the speed of one A100, although the largest cache would need several. Without the cache we skip the
# forbidden pairs.

# %% tags=["nbval-check-output"]
L, H, D_H, N = 80, 64, 128, 100_000
D = H * D_H
tile = H * 128 * 128 * 2  # bytes of one tile of 128 queries and 128 keys in each head
again = L * (8 * N * D**2 + 2 * N * (N + 1) * D)  # to read everything again; only pairs n ≤ m
one_more = L * (8 * D**2 + 4 * N * D)  # operations for one new token, with the KV cache
print(f"scores held at a time, in one layer: {tile / 1e6:.1f} MB in tiles, {2 * H * N**2 / 1e12:.2f} TB as a table")
print(f"operations for one more token: {one_more:.1e} with the KV cache, {again:.1e} without,", end=" ")
print(f"{again / one_more:,.0f} times as many")
for G in (64, 8, 1):
    size = cache_bytes(L, G, D_H, N)
    milliseconds = 1000 * size / 1.5e12
    print(f"KV cache, G = {G:2}: {size / 1e9:6.1f} GB; reading it once at 1.5 TB/s takes {milliseconds:5.1f} ms")
print(f"computing one more token at 312e12 operations a second takes {1000 * one_more / 312e12:.1f} ms")

# %% [markdown]
# With the cache, a new token needs tens of thousands of times fewer operations; they take about a millisecond, less
# than it takes to *read* the cache. This is why grouped-query attention pays off: it hardly changes the operations, but
# with $G = 8$ only an eighth of the bytes of the cache has to be read. The weights have to be read as well, 140 GB in
# about 93 ms; but for a batch of texts they are read only once, whereas each text has a cache of its own. Reading the
# novel once still costs $O(N^2)$ operations. Avoiding this cost means giving up exact attention.

# %% [markdown]
# ## Summary
#
# | | formula | operations | memory beyond inputs and output |
# |---|---|---|---|
# | attention with a table | $\operatorname{softmax}(QK^\top/\sqrt{D_H})\,V$ | $O(N^2 D)$ | $O(HN^2)$ |
# | tiles (FlashAttention) | the same, with $m' = \max(m, \max s)$, $f = e^{m - m'}$, $\ell' = f\ell + \sum p$, $o' = fo + pV$ | $O(N^2 D)$ | $O(HN)$ and one tile a head |
# | linear attention, one head | $\varphi(Q)(\varphi(K)^\top V)/\big(\varphi(Q)\sum_n\varphi(k_n)^\top\big)$ | $O(N D_Q D_V)$ | $O(N D_Q + D_Q D_V)$ |
# | window of $w$ | softmax over the keys at most $w$ positions away | $O(N w D)$ | $O(H N w)$ |
# | $M$ latents, $L$ blocks | data to latents, $L$ times among latents, latents to outputs | $O((NM + LM^2) D)$ | $O(H N M)$ |
# | one step of decoding with a KV cache | new query $[H, 1, D_H]$, all keys and values $[G, N, D_H]$ | $O(D^2 + N D)$ a layer | $2 L G D_H$ numbers a token |
#
# ```python
# F.scaled_dot_product_attention(Q, K, V)  # [B, H, N, D_H] each: in tiles, exact
# F.scaled_dot_product_attention(Q, K, V, is_causal=True)  # causal without a mask of [N, N]
# F.scaled_dot_product_attention(Q, K, V, enable_gqa=True)  # K, V [B, G, N, D_H]: head h uses group h // (H // G)
# ```
#
# Remember the memory hierarchy: what does not leave the small, fast memory costs little time.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> The mask of a model with several layers is off by one (lesson 07). Does the model compute
# the same with a KV cache as without?</summary>
#
# No. At each step, the token that was the last so far can now attend to the token that has just been appended. Its
# output changes, and so do its keys and values in the layer above, but the cache holds the old ones. The cache is
# correct only if nothing changes at the old positions, and a causal mask guarantees just this.
#
# </details>
#
# <details><summary><b>2.</b> Why does the cache hold keys and values, but not queries?</summary>
#
# The query of a position is used once, when the output of this position is computed. Keys and values are used by all
# later positions.
#
# </details>
#
# <details><summary><b>3.</b> H = 32 and G = 4. Which group does query head 13 use? By which factor is the cache smaller than
# with multi-head attention?</summary>
#
# $H/G = 8$ heads share a group, and $\lfloor 13/8 \rfloor = 1$: group 1. The cache is eight times smaller.
#
# </details>
#
# <details><summary><b>4.</b> In the online softmax no larger score turns up. What is f?</summary>
#
# $f = e^{m - m} = 1$: the old sums stay as they are.
#
# </details>
#
# <details><summary><b>5.</b> May the blocks be read in any order?</summary>
#
# Yes. The final $m$ is the largest of all scores, and the sums do not depend on the order of their terms (up to
# rounding).
#
# </details>
#
# <details><summary><b>6.</b> FlashAttention needs more operations than attention with a table, and less time. Why?</summary>
#
# The time with a table goes mainly into writing it to the GPU's memory and reading it back. FlashAttention keeps each
# tile in the small memory beside the arithmetic units. In training it computes the tiles a second time, which is
# quicker than reading them.
#
# </details>
#
# <details><summary><b>7.</b> Causal linear attention has read the novel of 100,000 tokens. How many numbers does a
# head of width 128 keep for the next token, and how many would a KV cache hold?</summary>
#
# The state is $S$ with $128 \cdot 128$ numbers and $z$ with 128, together 16,512, however long the text is. The cache
# holds a key and a value for each token, $2 \cdot 100{,}000 \cdot 128$ numbers, which is more than a thousand times as
# many. But the state does not keep the tokens apart.
#
# </details>
#
# <details><summary><b>8.</b> A stack of 12 layers uses windows of w = 64 on either side. How far can information travel?</summary>
#
# At most $12 \cdot 64 = 768$ positions to each side.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **A KV cache belongs to one text.** Empty it before the next text. If you cut off the beginning to make room, the
#   cache no longer agrees with a fresh run over the rest: the kept keys and values have their old positions, and
#   above the first layer they still depend on the tokens that were cut off.
# - **New tokens come after the old ones.** Their positional encodings begin at the number of tokens in the cache, and
#   so do the rows of their mask. `is_causal=True` begins at the top left instead (lesson 07).
# - **`repeat_interleave`, not `repeat`**, brings $G$ groups to $H$ heads. Store the groups, not the repeated heads.
# - **In tiles, rescale both sums**, $\ell$ and $O$, and divide only at the end.
# - **PyTorch's own attention saves memory only in some cases.** On a CPU it works in tiles when its inputs have four
#   axes, $[B, H, N, D_H]$, and the values are as wide as the keys. Otherwise it gives the same result but stores the
#   table (measured with torch 2.13). In no case does it return the weights.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *"If N=100K, H=64 then HxNxN attention weights take 1.192 TB".* The weights take 1,192 GiB, and the slide divided
#   this number by 1,000. The lesson counts $10^{12}$ bytes as a terabyte and gets 1.28 TB.
# - *"Expensive: $O(N^2)$ compute" and "highly parallel, it's just 4 matmuls".* Both are right. We have measured the
#   first; the second holds because no row of a matrix product depends on another.
#
# </details>

# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/08_efficient_attention/08_efficient_attention.ipynb).
# - **Read on**: [lesson 09](09_transformer_block.ipynb) builds the Transformer block, with attention as one of its
#   two parts.
# - **Look up**: the [glossary](../docs/glossary.md).

# %% [markdown]
# ## References
#
# - A. Vaswani et al. (2017). Attention is all you need. NeurIPS. arXiv:1706.03762. *Table 1: operations, sequential
#   operations and path lengths.*
# - N. Shazeer (2019). Fast Transformer decoding: one write-head is all you need. arXiv:1911.02150.
# - R. Pope et al. (2022). Efficiently scaling Transformer inference. arXiv:2211.05102. *Section 2: the published size
#   of a cache.*
# - J. Ainslie, J. Lee-Thorp, M. de Jong, Y. Zemlyanskiy, F. Lebrón, S. Sanghai (2023). GQA: training generalized
#   multi-query Transformer models from multi-head checkpoints. EMNLP. arXiv:2305.13245. *Table 1: the published figures.*
# - A. Grattafiori et al. (2024). The Llama 3 herd of models. arXiv:2407.21783. *Table 3: layers, heads and key-value
#   heads.*
# - M. Milakov, N. Gimelshein (2018). Online normalizer calculation for softmax. arXiv:1805.02867.
# - T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré (2022). FlashAttention: fast and memory-efficient exact attention with
#   IO-awareness. NeurIPS. arXiv:2205.14135. *Figure 1: the memory hierarchy; figure 2: the published measurement.*
# - M. N. Rabe, C. Staats (2021). Self-attention does not need O(n²) memory. arXiv:2112.05682.
# - NVIDIA (2020). A100 Tensor Core GPU: data sheet. *312 TFLOP/s in half precision.*
# - A. Katharopoulos, A. Vyas, N. Pappas, F. Fleuret (2020). Transformers are RNNs: fast autoregressive Transformers
#   with linear attention. ICML. arXiv:2006.16236.
# - I. Beltagy, M. E. Peters, A. Cohan (2020). Longformer: the long-document Transformer. arXiv:2004.05150. *Windows,
#   and a few vectors that see everything.*
# - Y. Tay, M. Dehghani, D. Bahri, D. Metzler (2022). Efficient Transformers: a survey. ACM Computing Surveys 55(6).
#   arXiv:2009.06732.
# - A. Jaegle, F. Gimeno, A. Brock, A. Zisserman, O. Vinyals, J. Carreira (2021). Perceiver: general perception with
#   iterative attention. ICML. arXiv:2103.03206.
# - A. Jaegle et al. (2021). Perceiver IO: a general architecture for structured inputs and outputs. arXiv:2107.14795.
