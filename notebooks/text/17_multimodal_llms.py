# %% [markdown]
# # 17 · Multimodal language models
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/17_multimodal_llms.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - let a language model that was trained on text alone answer questions about pictures, without changing its weights;
# - tell apart five ways to join an image encoder to a language model, the *bridges* of Frozen, LLaVA, BLIP-2,
#   InstructBLIP and Flamingo, by what they train and where the picture enters;
# - write the three masks of BLIP-2's Q-Former, and Flamingo's gated block, which changes nothing at first;
# - compare bridges fairly, at equal numbers of vectors, and say what such a comparison can and cannot tell;
# - find the main mechanisms of this course in a multimodal language model of today.
#
# **You need** the scenes and the CNN of lesson 03, cross-attention from lesson 04, masks from lesson 07, latents from
# lesson 08, the language model of lesson 11, freezing and prefix tuning from lesson 15, and BLIP's three losses from
# lesson 16. The terms and symbols of the course are listed in the [glossary](../docs/glossary.md).
#
# **Time** about 60 minutes to read; the cells run in about 25 seconds on two CPU cores.

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
import functools
import random
import time

import torch
import torch.nn.functional as F
from torch import nn

from utils.data import questions, scenes
from utils.data.translation import PAD, START, STOP
from utils.device import device
from utils.figures import multimodal as drawing
from utils.figures.explorers import Choice, explore
from utils.figures.plots import show
from utils.measures import stored_runs, stored_weights
from utils.models.grid_cnn import GridCNN, pretrained_cnn
from utils.models.multimodal import TextReader, cells_with_places, padded, trained_reader
from utils.models.training import train
from utils.models.vision_language import Attention, MultimodalBlock

DEVICE = device()

# %% [markdown]
# ## A reader that has never seen a picture
#
# Lesson 11 trained a language model on text, and lesson 16 trained encoders of pictures. Useful models of either kind
# cost months of computing, so hardly anybody who wants a model that talks about pictures trains one from nothing.
# Instead, people take a language model that has been trained on text and an **image encoder** that has been trained on
# pictures, and join the two. In the purest form of the idea both stay as they are, and only what lies between them, the
# **bridge**, is learned. Elsewhere you will also find the word **connector** for the bridge, and **visual tokens** for
# the vectors that it makes of a picture. How small can a bridge be? This is the question of the lesson.
#
# We need a language model that has never seen a picture. Ours was trained on texts about 12,000 scenes like those of
# lesson 03. Each text consists of a caption and six questions with their answers, drawn from the eight that can be
# asked about a scene. A text about the scene of Figure 1 may read `[START] a large green square above a small yellow
# circle [STOP] what colour is the circle yellow where is the square above …`: the caption ends with [STOP], and each
# answer follows directly on its question. In the loss an answer has the weight $1$ and any other word $0.03$, which
# makes our reader a small specialist in such questions. There are four kinds of them, as Figure 1 shows.

# %% tags=["fold"]
# @title Defines tokens_of, targets, share_right, reads, …
SEEDS, KINDS = (0, 1, 2), tuple(questions.ANSWERS)
some, new = scenes.scenes(4000, seed=1), scenes.scenes(600, seed=2)
photos, new_photos = scenes.images(some), scenes.images(new)
names = scenes.vocabulary()
asked, tests = questions.EvenQuestions(some), questions.EvenQuestions(new)
examined = {kind: tests.test(kind, each=400) for kind in KINDS}


def tokens_of(batch):
    """The questions' tokens [B, n], padded, and the place of each one's last word."""
    rows = [question.tokens() for question in batch]
    return padded(rows).to(DEVICE), torch.tensor([len(row) - 1 for row in rows], device=DEVICE)


def targets(batch):
    return torch.tensor([question.target() for question in batch], device=DEVICE)


@torch.no_grad()
def share_right(answers):
    """For each kind of question the share that is answered right; `answers` gives logits for questions about new scenes."""
    return {
        kind: (answers(batch).argmax(dim=-1) == targets(batch)).float().mean().item() for kind, batch in examined.items()
    }


def reads(reader, captions=True):
    """The reader's logits for an answer, with the caption as text in front of the question, or without it."""

    def answers(batch):
        rows = [
            [START, *(names.encode(new[question.scene].caption) if captions else []), *question.tokens()]
            for question in batch
        ]
        last = torch.tensor([len(row) - 1 for row in rows], device=DEVICE)
        return reader(reader.words(padded(rows).to(DEVICE)))[torch.arange(len(rows), device=DEVICE), last]

    return answers


def spread(values, digits=2):
    """Mean and range over the seeds."""
    values = list(values)
    return f"{sum(values) / len(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"

# %% tags=["fold", "nbval-check-output"]
# @title Draws Figure 1
scene = new[1]
show(drawing.scene_with_questions(new_photos[1], questions.questions(scene)), "A picture of a {} and a {}, and beside it eight questions with their answers: ".format(*(f"{thing.size} {thing.colour} {thing.shape}" for thing in scene.things)) + "; ".join(" ".join(question.words) + ", " + question.answer for question in questions.questions(scene)) + ".")
print("caption:", " ".join(scene.caption))

# %% [markdown]
# **Figure 1.** One scene and all questions about it: the colour, the shape, the size and the place of each object. A
# question ends with the word that it asks about, and the next token is the answer. Note that each question joins two
# properties: *which shape is above* can only be answered by somebody who knows where the shapes are, and *what colour
# is the square* by somebody who knows which colour belongs to which shape.
#
# The answers of each kind are drawn equally often. Guessing is therefore right in one of five questions about a
# colour, in one of four about a shape or a place, and in one of two about a size. Is our language model really a
# *reader*? We ask it the questions after the caption, and then without it:

# %% tags=["fold"]
# @title Defines readers · Three readers, trained on text alone; the first one's weights are stored
def readers():
    """Three readers, trained on text alone; the first one's weights are stored."""
    begun, texts = time.perf_counter(), scenes.scenes(12000, seed=77)
    found = {}
    for seed in SEEDS:
        found[seed] = trained_reader(texts, seed=seed, steps=2000).to(DEVICE).requires_grad_(False)
    stored_weights.keep("17_multimodal_llms.reader", found[0])
    runs = [
        {"seed": seed, "caption": share_right(reads(one)), "no caption": share_right(reads(one, captions=False))}
        for seed, one in found.items()
    ]
    seconds = time.perf_counter() - begun
    stored_runs.keep("17_multimodal_llms.readers", {"runs": runs}, seed="0 to 2", seconds=seconds)
    return found

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
trained = readers() if stored_runs.full() else {}  # only for the long run of the bridges
record = stored_runs.load("17_multimodal_llms.readers")
print(stored_runs.how(record))
print(f"{'':12}", *(f"{kind:>17}" for kind in KINDS))
for what in ("caption", "no caption"):
    print(f"{what:12}", *(f"{spread(run[what][kind] for run in record['results']['runs']):>17}" for kind in KINDS))
for run in record["results"]["runs"]:  # the claims below hold for each seed
    assert min(run["caption"].values()) > 0.98
    assert all(run["no caption"][kind] < questions.CHANCE[kind] + 0.06 for kind in KINDS)
reader = stored_weights.load("17_multimodal_llms.reader", TextReader()).to(DEVICE).requires_grad_(False)
print(f"the reader has {sum(weight.numel() for weight in reader.parameters()):,} weights; from here on none of them changes")

# %% [markdown]
# With the caption in front of the question, the three readers, which differ in their seeds, make no mistake; without
# it, they do no better than guessing. Some shares are even far below chance. Since every answer of a kind is asked for
# equally often, any fixed answer of the right kind would reach chance, so there the reader must often have answered
# with a word of another kind. The readers have learned to look up an answer in a text, and text is all that they have
# ever been given. From here on their weights are **frozen**. The cells that run live use the first of the three.

# %% [markdown]
# ## A picture as a prefix
#
# How could such a model see? Remember that the model reads tokens only in its very first step, which replaces each of
# them by a vector; no later layer ever meets a token. Nothing in the model requires that these vectors come from the
# table of words. If we put vectors of our own between [START] and [STOP], where the caption stood, the model will
# attend to them as it attends to words. The question is only which vectors mean something to it.
#
# **Frozen** (Tsimpoukelli et al., 2021) finds them by gradient descent. An image encoder turns the picture into two
# vectors, which are put in front of the text as a **prefix**. The loss is the language model's own, the cross-entropy
# of the text: in the paper the text is the picture's caption, in our miniature the answer to a question. The gradient
# runs *through* the frozen language model into the encoder, since a loss can be differentiated with respect to a
# model's input even if the model's weights are never updated. Only what the model is to say counts in the loss. The
# positions of the picture and of the question are left out of it, as padding has been since lesson 01; libraries give
# them the label −100, which the loss ignores. In our code this is easier still, since the answer is a single token
# and we read the logits at one position.
#
# Five well-known models train a bridge through a frozen language model; four of them make a prefix. Here they are side
# by side.

# %% tags=["fold"]
# @title Draws Figure 2
show(
    drawing.five_bridges(),
    "Five diagrams side by side. In each a picture goes through an image encoder and a bridge to vectors, and a question's "
    "tokens and these vectors go to a frozen language model, which answers. Frozen: the image encoder is trained, a linear "
    "layer makes 2 vectors. In the others the image encoder is frozen. LLaVA: a projector makes 256 vectors. BLIP-2: a "
    "Q-Former makes 32. InstructBLIP: the same, and the question goes into the Q-Former as well. Flamingo: a resampler makes "
    "64 vectors, which enter gated blocks instead of joining the tokens; the blocks are trained and alternate with the "
    "frozen layers of the language model.",
)

# %% [markdown]
# **Figure 2.** Five bridges. Orange parts are trained and grey-blue parts stay frozen. The vectors of the picture are
# sky blue; the picture itself, the question and its tokens are grey, with round corners. LLaVA is shown in its first
# stage; in its second, the language model is trained as well. A linear layer behind the Q-Former, which brings its
# vectors to the language model's width, is not drawn. The numbers of vectors are those of the papers, for one picture,
# which in LLaVA's case has 224 × 224 pixels.
#
# The simplest bridge is that of **LLaVA** (Liu et al., 2023), a **projector**: a single linear layer turns each vector
# of the image encoder into a vector for the language model. We build it first. Our image encoder is the CNN of lesson
# 03, trained to name single objects and then frozen. Its feature map is averaged to $6 \times 6$ cells, as in lesson
# 16, which makes 36 cells with 64 numbers each. To these we append 8 numbers that say where the cell lies: sines and
# cosines of its row and column, as in the sinusoidal positional encoding of lesson 05.
#
# A few symbols help to read the code. The image encoder's vectors have the width $D_P = 72$, and the reader, which has
# 3 layers, the width $D = 96$. We write $P$ for the number of vectors that a bridge hands on and $n$ for the number of
# the question's tokens. Later, $Q$ and $R$ count queries and latents.

# %%
cnn = pretrained_cnn()
seen, new_seen = cells_with_places(cnn, photos), cells_with_places(cnn, new_photos)  # [4000, 36, 72], [600, 36, 72]


# %%
class Projector(nn.Module):
    """LLaVA: each cell of the picture becomes a vector among the words."""

    def __init__(self, D_P, D):
        super().__init__()
        self.layer = nn.Linear(D_P, D)

    def forward(self, picture, question):
        return self.layer(picture)  # [B, 36, D]


def logits(reader, bridge, picture, batch):
    """Logits of the answers: the picture takes the place that a caption had, between [START] and [STOP]."""
    question, last = tokens_of(batch)
    vectors = bridge(picture, question)  # [B, P, D]
    start, stop = (reader.words(torch.full((len(batch), 1), token, device=DEVICE)) for token in (START, STOP))
    X = torch.cat([start, vectors, stop, reader.words(question)], dim=1)  # [B, 1 + P + 1 + n, D]
    rows = torch.arange(len(batch), device=DEVICE)
    # only Flamingo has a list `before`; it is explained below
    return reader(X, getattr(bridge, "before", ()))[rows, 2 + vectors.shape[1] + last]  # at the question's last word


# %% [markdown]
# The projector has $72 \cdot 96 + 96$ weights, two per cent of the language model's. We train it for a short time,
# while you watch, on questions about 4,000 pictures. The test asks about new pictures.

# %% tags=["fold"]
# @title Defines bridge_loss, sees, fit
torch.set_num_threads(1)  # for the small matrices from here on, sharing the work costs more than doing it


def bridge_loss(reader, seen):
    def loss(bridge, batch):
        picture = seen[torch.tensor([question.scene for question in batch])].to(DEVICE)
        return F.cross_entropy(logits(reader, bridge, picture, batch), targets(batch))

    return loss


def sees(reader, bridge, seen):
    def answers(batch):
        places = torch.tensor([question.scene for question in batch])
        found = [logits(reader, bridge, seen[part].to(DEVICE), batch[first : first + 200]) for first, part in zip(range(0, len(batch), 200), places.split(200))]
        return torch.cat(found)

    return answers


def fit(bridge, reader, seen, steps, rate, seed=0, what="training", watched=None):
    """Trains a bridge on 32 questions a step; `watched` is called 25 times on the way."""
    chance, loss, count = random.Random(seed), bridge_loss(reader, seen), 0

    def watching(bridge, batch):
        nonlocal count
        if watched and count % (steps // 25) == 0:
            watched()
        count += 1
        return loss(bridge, batch)

    batches = (asked.draw(chance, 32) for _ in range(steps))
    return train(bridge, batches, watching, steps=steps, rate=rate, what=what)

# %%
torch.manual_seed(0)
projector = Projector(D_P=72, D=reader.D).to(DEVICE)
fit(projector, reader, seen, steps=200, rate=6e-3, what="a linear layer learns what the reader can read")
found = share_right(sees(reader, projector, new_seen))
print(f"{sum(weight.numel() for weight in projector.parameters()):,} weights;", end=" ")
print("right answers:", ", ".join(f"{kind} {share:.2f}" for kind, share in found.items()))
assert found["colour"] > 0.4

# %% [markdown]
# After this short training, a language model that has only ever read can already name many of the colours in a
# picture. What has the layer learned? It has not learned to see, which the CNN does, nor to answer, which the reader
# could do before. One may call it a *translation* from the vectors of the image encoder to vectors that the reader
# understands, which would explain why so few weights are enough.
#
# Do the translated vectors look like words? We take the two cells at the centres of the objects of Figure 1 and print,
# for the vector that the projector makes of each, the nearest words with their cosines. For comparison, we count how
# many of 1,000 random vectors come as close to a word.

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
scene_number = 1
vectors = F.normalize(projector(new_seen[scene_number : scene_number + 1], None)[0], dim=-1)
table, cosines = F.normalize(reader.words.weight, dim=-1), {}
for thing in new[scene_number].things:
    left, top, right, bottom = thing.box
    cell = int((top + bottom) / 2 / scenes.SIZE * 6) * 6 + int((left + right) / 2 / scenes.SIZE * 6)
    nearest = (table @ vectors[cell]).topk(5)
    words = ", ".join(f"{names.words[k]} {value:.2f}" for value, k in zip(nearest.values, nearest.indices))
    print(f"{thing.size} {thing.colour} {thing.shape}: {words}")
    assert nearest.values[0] < 0.7
    cosines[thing.shape] = nearest.values[0].item()
random_ones = F.normalize(torch.randn(1000, reader.D, device=DEVICE), dim=-1)
by_chance = (random_ones @ table.T).amax(dim=1)  # the cosine of the nearest word, for each of the random vectors
as_close = {shape: (by_chance >= cosine).float().mean().item() for shape, cosine in cosines.items()}
print("1,000 random vectors:", ", ".join(f"{share:.0%} come as close as the {shape}'s cell" for shape, share in as_close.items()))
closer = [shape for shape, share in as_close.items() if share < 0.05]
whose = " and the ".join(closer)
print(f"closer to a word than nearly all random vectors: the {whose}" if closer else "neither cell is closer to a word than random vectors are")

# %% [markdown]
# Neither vector is a copy of a word's, since even the nearest words have cosines far below 1. The last lines say
# whether it is at least closer to some word than random vectors are. It need not be: the reader can make use of a
# vector without taking it for a word. During its training the reader met only the few dozen vectors of its table, and
# yet it can make use of others. Vectors in front of a text that belong to no word and are found by gradient descent are
# called a **soft prompt**. A soft prompt is the same for every text, like the keys and values that prefix tuning
# (lesson 15) learns in each block; the vectors of a bridge, in contrast, are computed anew for each picture.

# %% [markdown]
# ## BLIP-2: queries that read a picture
#
# A projector hands on one vector for each cell. An image encoder of today gives hundreds of them, and each costs the
# language model as much as a word. Could we do with fewer? The mean over all cells is a single vector, but much of the
# information about which colour goes with which shape is lost in it, as we shall measure. **BLIP-2** (Li et al., 2023)
# places a small Transformer in between, the **Q-Former**. Its input is a fixed number of learned **queries**, 32 in the
# paper. In each layer the queries attend to each other, and in every second layer they attend to the picture by
# cross-attention; what they hold at the end becomes the prefix. It is the idea of the latents of lesson 08, a few
# vectors that read many.

# %% tags=["fold"]
# @title Draws Figure 3
show(
    drawing.q_former_layer(),
    "A diagram of one layer, from left to right. There are two residual streams, the queries above and, where there is one, "
    "a text below. Both go through a norm and into one self-attention with a mask, whose results are added to both streams. "
    "The queries alone go through a norm into a cross-attention, which also receives the cells of the picture; its result is "
    "added to the queries. Then a norm and an MLP for each vector alone, added to both streams. The queries that enter are "
    "orange, since they are learned; those that leave are sky blue, like the cells of the picture.",
)

# %% [markdown]
# **Figure 3.** One layer of a Q-Former, as we build it. The queries that enter the first layer are learned, hence
# orange. Queries and text share the self-attention, but the queries alone see the picture; + is a sum on the residual
# stream. Without a text the lower stream is empty. What the mask forbids is the subject of the next section.

# %%
class QFormer(nn.Module):
    """Learned queries read a picture by cross-attention. The blocks are lesson 16's; `asks` is InstructBLIP's addition, see below."""

    def __init__(self, Q, D_P, D, asks=False, width=64, H=4, L=2):
        super().__init__()
        self.queries = nn.Parameter(0.2 * torch.randn(Q, width))
        self.cells, self.output, self.norm = nn.Linear(D_P, width), nn.Linear(width, D), nn.LayerNorm(width)
        self.blocks = nn.ModuleList(MultimodalBlock(width, H, looks=True) for _ in range(L))
        if asks:
            self.words, self.positions = nn.Embedding(len(names), width), nn.Parameter(0.1 * torch.randn(8, width))
            nn.init.normal_(self.words.weight, std=0.2)
        self.asks = asks

    def forward(self, picture, question):
        X, allowed = self.queries.expand(len(picture), -1, -1), None  # [B, Q, width]
        Q, cells = X.shape[1], self.cells(picture)  # [B, 36, width]
        if self.asks:  # the question's tokens join the queries
            X = torch.cat([X, self.words(question) + self.positions[: question.shape[1]]], dim=1)  # [B, Q + n, width]
            allowed = torch.cat([question.new_ones(len(X), Q), question], dim=1)[:, None, :] != PAD
            allowed = allowed.expand(-1, X.shape[1], -1)  # [B, Q + n, Q + n]
        for block in self.blocks:
            Z = block.norm_own(X)
            X = X + block.own(Z, Z, allowed)
            queries = X[:, :Q] + block.cross(block.norm_cross(X[:, :Q]), cells)  # the queries alone see the picture
            X = torch.cat([queries, X[:, Q:]], dim=1)
            X = X + block.mlp(block.norm_mlp(X))
        return self.output(self.norm(X[:, :Q]))  # [B, Q, D]


# %% [markdown]
# Look at the loop: self-attention runs over all of `X`, but only its first $Q$ rows enter the cross-attention. Our
# miniature has two pre-norm layers, both with cross-attention, and one MLP for all vectors. BLIP-2's Q-Former has
# twelve layers, which are post-norm and, except for the cross-attention, begin with the weights of BERT; each of them
# has one MLP for the queries and another for the text.

# %% [markdown]
# ## Three losses, three masks
#
# Before the Q-Former meets a language model, BLIP-2 trains it with the three losses of lesson 16, so that its queries
# learn to read what texts are about. For this the Q-Former can take a text beside its queries, in the same
# self-attention. The three losses share all of its weights; what goes on inside differs only in the mask, that is, in
# who may attend to whom. The paper calls them image-text **matching** (ITM), image-grounded text **generation** (ITG,
# *writing* in lesson 16) and image-text **contrastive** learning (ITC).

# %%
def query_mask(Q, N, loss):
    """Who attends to whom: Q queries first, then N tokens of a text [Q + N, Q + N]."""
    allowed = torch.ones(Q + N, Q + N, dtype=torch.bool)
    if loss != "matching":
        allowed[:Q, Q:] = False  # queries do not see the text
    if loss == "writing":
        allowed[Q:, Q:] = allowed[Q:, Q:].tril()  # the text is causal
    if loss == "contrast":
        allowed[Q:, :Q] = False  # the text does not see the queries
    return allowed


masks = {loss: query_mask(3, 4, loss) for loss in ("matching", "writing", "contrast")}
assert [mask.sum().item() for mask in masks.values()] == [49, 31, 25]

# %% tags=["fold"]
# @title Draws Figure 4
show(
    drawing.three_masks(masks, Q=3),
    "Three masks of 7 by 7 for 3 queries and 4 tokens. Matching: all 49 entries are allowed. Writing: queries attend to "
    "queries, tokens to queries and to tokens up to themselves, 31 entries. Contrast: queries attend to queries and "
    "tokens to tokens, 25 entries.",
)

# %% [markdown]
# **Figure 4.** The self-attention masks of BLIP-2's first stage. The colour tells what is attended to: queries blue,
# text grey. White cells are forbidden.
#
# - **Matching** asks whether a text fits a picture. Queries and text may see everything. A small head turns each
#   query's output into two logits, *fits* and *does not fit*, and these are averaged over the queries.
# - **Writing** is a language-model loss. The text may see the queries but not its own future. It has no cross-attention
#   of its own, so *all* that it knows of the picture comes through the queries. The queries, in turn, may not see the
#   text, or they would hand back to it the very words that it is to predict.
# - **Contrast** compares the queries' outputs with a single vector of the text, which, as in BLIP, is that of its first
#   token. Neither side may see the other, or the comparison would be too easy. With the outputs $z_q$ of the queries,
#   the vector $t$ of the text and the temperature $\tau$ of lesson 16, the score is $\max_q \cos(z_q, t) / \tau$. Only
#   the *largest* cosine counts, so a text has to fit what a single query has found.
#
# In the second stage, a linear layer turns the outputs of the queries into a prefix for a frozen language model, and
# only the Q-Former and this layer are trained. Our miniature omits the first stage.
#
# **InstructBLIP** (Dai et al., 2023) trains BLIP-2's Q-Former further on many data sets that are phrased as
# instructions, which is **instruction tuning** for pictures, and changes the architecture in a single respect: the
# tokens of the instruction, for us the question, join the queries in the self-attention. The queries then know what
# they are asked before they look; in our code this is the branch `if self.asks`. The instruction still goes to the
# language model as well, and only the outputs of the queries are handed on. This should help most where the vectors are
# few: a single query that does not know the question must hold whatever may be asked about a scene, whereas one that
# knows it may leave out the rest. We shall measure this below.

# %% [markdown]
# ## Flamingo: looking from within
#
# All bridges so far put the picture among the words. **Flamingo** (Alayrac et al., 2022) leaves the words alone and
# lets the layers of the language model look. New **gated blocks** are put between its frozen layers, before each of
# them in the smallest Flamingo and before every seventh in the largest, and in these the words attend to the picture by
# cross-attention. What they attend to is again a small number of latents, made by a **resampler**. Its attention
# differs from a Q-Former's in one detail: the latents attend to the picture's vectors *and* to themselves in a single
# softmax. It does not begin with BERT's weights, and it is not trained with texts before it meets the language model.
# Ours has one layer, where our Q-Former has two.
#
# A new layer with random weights in the middle of a trained model would disturb everything that follows it. Flamingo
# therefore multiplies the output of each new layer by $\tanh \alpha$, with a learned number $\alpha$ that is 0 at
# first:
#
# $$X \leftarrow X + \tanh(\alpha)\, \mathrm{CrossAttention}(\mathrm{Norm}(X), \text{picture}), \qquad
# X \leftarrow X + \tanh(\beta)\, \mathrm{MLP}(\mathrm{Norm}(X)).$$
#
# The MLP has a gate $\beta$ of its own.

# %% tags=["fold"]
# @title Draws Figure 5
show(
    drawing.gated_block(),
    "A diagram. The residual stream X runs from left to right. A cross-attention, which also receives the vectors of the "
    "picture, and an MLP branch off, each behind a norm; the output of each is multiplied by the tanh of a gate and added "
    "to the stream. A frozen layer of the language model follows.",
)

# %% [markdown]
# **Figure 5.** A gated block in front of a frozen layer. While $\alpha = \beta = 0$, the stream passes unchanged.
#
# Our code uses $\tanh(10\,\alpha)$ and $\tanh(10\,\beta)$. Adam's steps have about the size of the learning rate,
# whatever the gradient, and the factor lets the gates open faster in our short training. The reader takes an optional
# list `before` with a function for each of its layers, which is applied to the vectors in front of that layer.
# Flamingo's `forward` fills this list with its gated blocks, each of which already holds the picture's latents, and
# returns an empty tensor $[B, 0, D]$, because it adds nothing to the text.

# %%
class GatedBlock(nn.Module):
    """Flamingo: cross-attention and an MLP, each behind a gate that is 0 at first."""

    def __init__(self, D, H):
        super().__init__()
        self.norm, self.cross = nn.LayerNorm(D), Attention(D, H)
        self.norm_mlp, self.mlp = nn.LayerNorm(D), nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gates = nn.Parameter(torch.zeros(2))

    def forward(self, X, picture):
        first, second = (10 * self.gates).tanh()  # tanh(10 α): see above
        X = X + first * self.cross(self.norm(X), picture)
        return X + second * self.mlp(self.norm_mlp(X))


class Flamingo(nn.Module):
    """A resampler, and a gated block before each layer of the language model."""

    def __init__(self, R, D_P, D, L, width=64, H=4):
        super().__init__()
        self.latents, self.cells = nn.Parameter(0.2 * torch.randn(R, width)), nn.Linear(D_P, width)
        self.resampler, self.norm = MultimodalBlock(width, H), nn.LayerNorm(width)
        self.output = nn.Linear(width, D)
        self.blocks = nn.ModuleList(GatedBlock(D, D // 16) for _ in range(L))

    def forward(self, picture, question):
        X, block = self.latents.expand(len(picture), -1, -1), self.resampler  # [B, R, width]
        read = torch.cat([self.cells(picture), X], dim=1)  # [B, 36 + R, width]: the latents attend to cells and latents
        X = X + block.own(block.norm_own(X), block.norm_own(read))
        X = X + block.mlp(block.norm_mlp(X))
        latents = self.output(self.norm(X))  # [B, R, D]
        self.before = [functools.partial(gated, picture=latents) for gated in self.blocks]
        return latents[:, :0]  # no vectors are added to the text


# %% tags=["nbval-check-output"]
torch.manual_seed(0)
flamingo = Flamingo(4, D_P=72, D=reader.D, L=3).to(DEVICE)
some_vectors = reader.words(tokens_of(examined["colour"][:5])[0])  # [5, n, D]
flamingo(new_seen[:5], None)
assert torch.equal(reader(some_vectors, flamingo.before), reader(some_vectors))
print("with three new blocks, all gates closed, the reader gives exactly what it gave before")

# %% [markdown]
# Part of Flamingo's training data consists of web pages: **interleaved pictures and text**. Which of the pictures
# should a word look at? Flamingo's rule: **each word attends to the last picture before it**, and to no other. A word
# before any picture attends to nothing at all; what it gets from the cross-attention is exactly 0.

# %% tags=["nbval-check-output"]
tokens = ["hello", "<image>", "a", "cat", "<image>", "<image>", "two", "dogs"]
is_picture = torch.tensor([token == "<image>" for token in tokens])
number = is_picture.cumsum(dim=0)  # [N]: the number of the last picture at or before each position, 0 for none
allowed = number[:, None] == torch.arange(1, 4)  # [N, 3]: which of the three pictures each position attends to
assert allowed.sum(dim=1).tolist() == [0, 1, 1, 1, 1, 1, 1, 1]
print(number.tolist())

# %% tags=["fold"]
# @title Draws Figure 6
show(
    drawing.last_picture(tokens, is_picture.tolist()),
    "Eight tokens: hello, image 1, a, cat, image 2, image 3, two, dogs. Hello attends to nothing; image 1, a and cat to the "
    "vectors of picture 1; image 2 to picture 2; image 3, two and dogs to picture 3.",
)

# %% [markdown]
# **Figure 6.** Which picture each token looks at: an arrow points to what a token attends to. A running sum of the
# picture tokens is all that the mask needs. Each question of our miniature has one picture in front of it, so that we
# can do without the mask.
#
# That a word sees one picture at a time does not mean that the model forgets the others: what a word has seen travels
# on through the self-attention of the language model. This makes **few-shot prompts** of pictures possible, in the
# sense of lesson 11: two or three examples, each a picture with a question and an answer, and then a new picture with
# a question. Frozen can do this, too, with several prefixes in one text.

# %% [markdown]
# ## How little must be learned?
#
# Which bridge is best? The papers cannot tell, since they differ in the image encoder, the language model and the data.
# In our miniature these are the same for all, except that Frozen trains its own image encoder. Each bridge is trained
# on the same questions for the same number of steps, with three seeds, each with a reader of its own. The results
# therefore show what a bridge learns within a fixed budget of training, not what it can reach in the end. A fair
# comparison must also hold the *number of vectors* equal: if a bridge with 36 vectors did better than one with 4, its
# architecture need not be the reason. Q-Former and InstructBLIP are therefore tried with 1, 4 and 36 vectors, and
# Flamingo with 4 and 36. The number of weights is not equal, as the table shows: Flamingo's bridge has more of them
# than the reader itself. Nor is the depth: the Q-Former has two layers, the resampler one.
#
# - **blind** gives the reader two learned vectors, the same for every picture: what can be learned without seeing?
# - **mean** turns the mean over all cells into two vectors.
# - **Frozen** trains an image encoder of its own from nothing, as the paper does, and turns its mean into two vectors.
# - **projector**, **Q-Former**, **InstructBLIP** and **Flamingo** are as above.
#
# <details><summary>Going further: how the learning rates were chosen</summary>
#
# For Frozen, the Q-Former and Flamingo the learning rate was chosen among a few on a fourth seed. InstructBLIP uses the
# Q-Former's rate; blind, mean and projector use rates from earlier trials.
#
# </details>

# %% tags=["fold"]
# @title Defines Blind, MeanProjector, Frozen
class Blind(nn.Module):
    """The same learned vectors for every picture."""

    def __init__(self, D, P=2):
        super().__init__()
        self.vectors = nn.Parameter(0.1 * torch.randn(P, D))

    def forward(self, picture, question):
        return self.vectors.expand(len(picture), -1, -1)


class MeanProjector(nn.Module):
    """The mean over the picture becomes P vectors."""

    def __init__(self, D_P, D, P=2):
        super().__init__()
        self.layer, self.P = nn.Linear(D_P, P * D), P

    def forward(self, picture, question):
        return self.layer(picture.mean(dim=1)).unflatten(1, (self.P, -1))


class Frozen(nn.Module):
    """Frozen: an image encoder that is trained through the frozen language model; its mean becomes P vectors."""

    def __init__(self, D, P=2):
        super().__init__()
        self.eye, self.layer, self.P = GridCNN(64), nn.Linear(64, P * D), P

    def forward(self, photos, question):
        return self.layer(self.eye(photos).mean(dim=(2, 3))).unflatten(1, (self.P, -1))


# %% tags=["fold"]
# @title Defines one_bridge, bridge_runs
STEPS = 2000
D_P, D = 72, reader.D
WAYS = {  # how a bridge is made, and its learning rate
    "blind": (lambda: Blind(D), 3e-3),
    "mean": (lambda: MeanProjector(D_P, D), 6e-3),
    "Frozen": (lambda: Frozen(D), 1e-3),
    "Q-Former, 1": (lambda: QFormer(1, D_P, D), 1e-3),
    "InstructBLIP, 1": (lambda: QFormer(1, D_P, D, asks=True), 1e-3),
    "Q-Former, 4": (lambda: QFormer(4, D_P, D), 1e-3),
    "InstructBLIP, 4": (lambda: QFormer(4, D_P, D, asks=True), 1e-3),
    "Flamingo, 4": (lambda: Flamingo(4, D_P, D, L=3), 1e-3),
    "projector, 36": (lambda: Projector(D_P, D), 6e-3),
    "Q-Former, 36": (lambda: QFormer(36, D_P, D), 1e-3),
    "InstructBLIP, 36": (lambda: QFormer(36, D_P, D, asks=True), 1e-3),
    "Flamingo, 36": (lambda: Flamingo(36, D_P, D, L=3), 1e-3),
    "Flamingo, 4, longer": (lambda: Flamingo(4, D_P, D, L=3), 1e-3),
}


def one_bridge(way, seed, reader):
    """Trains one bridge: its weights, what it answers right by kind, and Flamingo's gates as they open."""
    make, rate = WAYS[way]
    torch.manual_seed(seed)
    bridge, gates = make().to(DEVICE), []
    train_with, test_with = (photos, new_photos) if way == "Frozen" else (seen, new_seen)
    watched = (lambda: gates.append([(10 * block.gates).tanh().tolist() for block in bridge.blocks])) if "longer" in way else None
    steps = 3 * STEPS if "longer" in way else STEPS
    fit(bridge, reader, train_with, steps, rate, seed, what=f"{way}, seed {seed}", watched=watched)
    weights = sum(weight.numel() for weight in bridge.parameters())
    return {"weights": weights, "gates": gates, **share_right(sees(reader, bridge, test_with))}


def bridge_runs():
    begun = time.perf_counter()
    runs = [
        {"way": way, "seed": seed, **one_bridge(way, seed, reader)} for seed, reader in trained.items() for way in WAYS
    ]
    seconds = time.perf_counter() - begun
    return stored_runs.keep("17_multimodal_llms.bridges", {"runs": runs}, seed="0 to 2", seconds=seconds)


# %% tags=["fold", "nbval-check-output"]
# @title Draws Figure 7
record = bridge_runs() if stored_runs.full() else stored_runs.load("17_multimodal_llms.bridges")
print(stored_runs.how(record))
by_way = {way: [run for run in record["results"]["runs"] if run["way"] == way] for way in WAYS}
by_name = {way if "," in way else f"{way}, 2": runs for way, runs in by_way.items()}  # all with their numbers of vectors
print(f"{'bridge, vectors':18} {'weights':>8}", *(f"{kind:>17}" for kind in KINDS))
for name, runs in by_name.items():
    print(f"{name:18} {runs[0]['weights']:8,}", *(f"{spread(run[kind] for run in runs):>17}" for kind in KINDS))
show(
    drawing.shares_by_kind(
        {name: {kind: [run[kind] for run in runs] for kind in KINDS} for name, runs in by_name.items()},
        questions.CHANCE,
        after=("Frozen, 2", "InstructBLIP, 1", "Flamingo, 4", "Flamingo, 36"),
    ),
    "Points for three seeds: the share of right answers by kind of question for each bridge. Means: "
    + "; ".join(
        f"{name}: " + ", ".join(f"{kind} {sum(run[kind] for run in runs) / 3:.2f}" for kind in KINDS)
        for name, runs in by_name.items()
    )
    + ".",
)
for seed in SEEDS:  # the claims below hold for each seed
    at = {way: runs[seed] for way, runs in by_way.items()}
    assert all(at["blind"][kind] < questions.CHANCE[kind] + 0.06 for kind in KINDS)
    assert at["projector, 36"]["colour"] > 0.7 and at["Q-Former, 36"]["colour"] > 0.95
    assert at["mean"]["colour"] < 0.75 and at["mean"]["where"] < 0.4 < 0.55 < at["Frozen"]["where"]
    assert at["InstructBLIP, 1"]["colour"] > 0.97 > 0.85 > at["Q-Former, 1"]["colour"]
    assert all(abs(at["Q-Former, 4"][kind] - at["Q-Former, 36"][kind]) < 0.15 for kind in KINDS)
    assert at["Flamingo, 4"]["colour"] > 0.95 and at["Flamingo, 4"]["where"] < 0.6 < at["Q-Former, 4"]["where"]
    assert at["Flamingo, 4, longer"]["where"] > 0.9
    exceptions = ("blind", "Frozen", "Q-Former, 1")
    assert all((at[way]["where"] < at[way]["colour"]) == (way not in exceptions) for way in WAYS if way != "blind")
    gap = {way: at[way]["colour"] - at[way]["where"] for way in WAYS}
    assert max(gap, key=gap.get).startswith("Flamingo") and at["Frozen"]["colour"] < at["mean"]["colour"] - 0.05
    assert at["Flamingo, 36"]["shape"] < at["Flamingo, 4"]["shape"]
    assert at["InstructBLIP, 1"]["where"] > at["projector, 36"]["where"] + 0.1


# %% [markdown]
# **Figure 7.** Our stored run. Each point is one bridge of one seed, tested with 400 questions of each kind about new
# pictures; the number behind a name counts its vectors. Dotted lines show what guessing gives; thin lines separate the
# groups with two, one, four and 36 vectors and the longer run. The three points of a bridge are drawn at different
# heights only to keep them apart.
#
# What does the experiment show? All results are after 2,000 steps, except where we name the longer run.
#
# - **A language model of text alone can be made to see by very few weights.** A linear layer of 7,008 weights, two per
#   cent of the reader's, gets about nine in ten questions about colours, shapes and sizes right, and three in four
#   about places. The blind bridge does no better than guessing, so right answers beyond that come from the picture. The
#   runs differ, however: in one of the three the projector answers only 0.76 of the colour questions right, where a
#   Q-Former with as many vectors answers 0.96. Each seed has its own reader, initial weights and order of questions,
#   and we have not separated their effects.
# - **A mean loses which properties belong together.** Somebody who knows which two colours and shapes there are, but
#   not how they belong together, is right in half of the cases. With the mean the reader reaches 0.63 for colours and
#   only 0.50 for shapes. Sizes do better, perhaps because both objects often have the same size, and then nothing has
#   to be matched. For places it is near chance, which can be understood: the mean of the eight place numbers over all
#   cells is the same for every picture. Frozen's own image encoder is much better at places, 0.70 against 0.30,
#   although it hands on a mean, too. Presumably it learns, through the reader, to write places into its features. At
#   colours it is worse than the mean of the trained encoder, perhaps because it has to learn to see from nothing.
# - **If the queries know the question, one of them is enough.** With a single query, the question raises colours from
#   0.56 to 1.00, and it helps with places, too. With four queries the gain is small, and with 36 there is hardly any
#   left. There is a catch: a bridge that knows both the picture and the question could find the *answer* by itself, and
#   its one vector would then hold no more than that. Our experiment cannot tell.
# - **More than four vectors hardly help the Q-Former.** From one query to four it gains a great deal, from four to 36
#   very little. For pictures of two objects, four vectors are nearly enough; a page of small print would probably need
#   more. Flamingo answers even fewer questions about shapes right with 36 latents than with four, 0.62 of them against
#   0.88. We do not know why.
# - **Most bridges are weakest at places.** After 2,000 steps, every bridge that sees answers fewer questions about
#   places right than about colours, except Frozen and the single query that does not know the question. The gap is
#   widest in Flamingo. It is nearly perfect at colours and sizes, but it answers only about half of the questions about
#   places right, and *which shape is above*, a question that needs the place, suffers as well. This is no limit of what
#   Flamingo can learn: with four latents and three times as many steps, it answers 0.98 of the questions about places
#   right. The other bridges might also gain from longer training; we have not tried.
#
# After 2,000 steps the bridges differ a good deal, above all at places. For Flamingo with four latents this was a
# matter of speed; for the others we do not know. The experiment does not rank the published models. Its pictures
# contain two objects, its image encoder was trained to name exactly such objects, and its language model is tiny. The
# reader, too, was trained to answer exactly these kinds of questions. Above all, our bridges are trained on questions
# of the kinds that they are tested with. Frozen, BLIP-2 and Flamingo are trained on captions or web pages instead, and
# are then asked questions that they have not been trained for.
#
# When do Flamingo's gates open? Their values were stored on the way.

# %% tags=["fold"]
# @title Draws Figure 8
gates = torch.tensor([run["gates"] for run in by_way["Flamingo, 4, longer"]]).abs()  # [seeds, times, blocks, 2]
show(
    drawing.gates(gates, 3 * STEPS, marked=STEPS),
    "Curves of the gates of Flamingo with 4 latents over the longer training, sizes averaged over three seeds. At step 5,760: "
    + ", ".join(f"block {k + 1} {a:.2f} and {b:.2f}" for k, (a, b) in enumerate(gates[:, -1].mean(dim=0).tolist()))
    + f" for cross-attention and MLP. Dotted lines mark step {STEPS:,}.",
)
assert gates[:, 0].max() < 0.01 and (gates[:, -1].flatten(1).argmax(dim=1) == 5).all()  # block 3, MLP
assert gates[:, 2, 1:].min() > 0.08 and gates[:, :, 0].max() < 0.12  # step 480, blocks 2 and 3; block 1 at all times
third = gates[:, :, 2, 1].mean(dim=0)
assert 1.7 < third[-1] / third[len(third) // 3] < 2

# %% [markdown]
# **Figure 8.** How the gates open in the longer training: the sizes of $\tanh(10\,\alpha)$ and $\tanh(10\,\beta)$, as a
# mean over three seeds (thick) and for each of them (thin). The gates were stored every 240 steps, the last time at
# step 5,760 of 6,000. The dotted lines mark step 2,000, where the other runs end.
#
# All gates begin at 0, where the model is the frozen reader. Those of the second and the third block begin to open
# within the first tenth of the training, while the first block stays almost shut. The MLP gate of the third block then
# grows again: on average it nearly doubles from step 1,920, the last one stored before the dotted line, to the end, and
# there it is the widest open in each of the three runs. A gate is only a factor, however. How much a block changes the
# stream also depends on the size of what it multiplies, which we have not measured.

# %% [markdown]
# ## Watch the queries look
#
# How does a query that knows the question use it? For one picture and one question, Figure 9 shows where four such
# queries attend in their first layer. They were trained for 2,000 steps, at twice the learning rate of Figure 7, and
# are stored with this lesson. The cell prints their share of right answers; the reader with the caption and the
# projector of 200 steps are shown for comparison. The figure begins with the scene of Figure 1 and its circle. In the
# explorer you can choose other scenes and questions: ask about one object and then about the other, and watch whether
# the dark cells move. For the colour questions about 200 new scenes, the cell also prints how much of the attention
# falls on the object that is asked about and on the other one, in the first layer and in the last; an even spread would
# give each object the share of the cells that it touches.

# %% tags=["fold"]
# @title Explorer of Figure 9
torch.manual_seed(0)
instructed = QFormer(4, D_P=72, D=reader.D, asks=True).to(DEVICE)
if stored_runs.full():
    fit(instructed, reader, seen, steps=2000, rate=2e-3, what="four queries that know the question")
    stored_weights.keep("17_multimodal_llms.instructed", instructed)
stored_weights.load("17_multimodal_llms.instructed", instructed).to(DEVICE)


@torch.no_grad()
def where_queries_look(bridge, picture, question, layer=0):
    """The weights of each query over the cells in a layer, the first or the last, averaged over the heads [B, Q, 36]."""
    met, cross = [], bridge.blocks[layer].cross
    hook = cross.register_forward_pre_hook(lambda _, given: met.append(given))
    bridge(picture, question)
    hook.remove()
    return cross.weights(*met[0]).mean(dim=1)


def cells_of(thing):
    """Which cells of the picture an object touches [6, 6]."""
    left, top, right, bottom = thing.box  # right and bottom are not included
    touched = torch.zeros(6, 6, dtype=torch.bool)
    touched[top * 6 // scenes.SIZE : (bottom - 1) * 6 // scenes.SIZE + 1, left * 6 // scenes.SIZE : (right - 1) * 6 // scenes.SIZE + 1] = True
    return touched


def shares_on(weights, place, about):
    """Shares of the attention [6, 6] on the object that is asked about, on the other one, and on neither."""
    own, other = cells_of(new[place].things[about]), cells_of(new[place].things[1 - about])
    return [weights[part].sum().item() for part in (own, other, ~(own | other))]


def attention_maps(bridge, place, question, layer=0):
    """Where each query attends in a scene [Q, 6, 6]."""
    return where_queries_look(bridge, new_seen[[place]], tokens_of([question])[0], layer)[0].unflatten(1, (6, 6)).cpu()


def mean_shares(bridge, places, layer):
    """For the colour questions about some scenes: each query's shares of attention [Q, 3]."""
    found = []
    for place in places:
        for about, question in enumerate(questions.questions(new[place], place)[::4]):  # what colour is …
            maps = attention_maps(bridge, place, question, layer)
            found.append([shares_on(weights, place, about) for weights in maps])
    return torch.tensor(found).mean(dim=0)


def said(some):
    """The answers of the bridges, and of the reader with the caption, to one question."""
    ways = {"caption": reads(reader), "projector": sees(reader, projector, new_seen), "queries": sees(reader, instructed, new_seen)}
    with torch.no_grad():
        return {name: names.words[answers(some).argmax().item()] for name, answers in ways.items()}


def chosen(number, kind):
    """A scene's place, which of its objects is asked about, and the question of a kind about it."""
    place, about = int(number) - 1, int(kind.endswith("second object"))
    return place, about, questions.questions(new[place], place)[4 * about + KINDS.index(kind.split(",")[0])]


def looked_at(number, kind):
    place, _, question = chosen(number, kind)
    maps = attention_maps(instructed, place, question)
    return drawing.looks_at(new_photos[place], maps, said([question]), question.answer, " ".join(question.words) + "?")


def described(number, kind):
    place, about, question = chosen(number, kind)
    shares = shares_on(attention_maps(instructed, place, question).mean(dim=0), place, about)
    return (
        f"Scene {number}, four maps of where the queries attend in the first layer, and answers to the question {' '.join(question.words)}. "
        "On average the queries give {:.0%} of their attention to the object that is asked about, {:.0%} to the other one "
        "and {:.0%} to the background. ".format(*shares)
        + f"The answers: {', '.join(f'{way} {answer}' for way, answer in said([question]).items())}. Right is {question.answer}."
    )


right = share_right(sees(reader, instructed, new_seen))
print("right answers of the four queries:", ", ".join(f"{kind} {share:.2f}" for kind, share in right.items()))
even = torch.tensor([cells_of(thing).sum() / 36 for scene in new[:200] for thing in scene.things]).mean()
print(f"an object covers {even:.2f} of the cells; share of the attention, mean of the queries and each query:")
looks = {name: mean_shares(instructed, range(200), layer) for name, layer in (("first", 0), ("last", -1))}
for name, shares in looks.items():
    for what, column in (("the object that is asked about", 0), ("the other object", 1)):
        each = "  ".join(f"{share:.2f}" for share in shares[:, column])
        print(f"  {name + ' layer, on ' + what:45} {shares[:, column].mean():.2f}    {each}")
last = looks["last"].mean(dim=0).tolist()
assert looks["first"][:, 0].min() > 0.5 and looks["first"][:, 1].max() < 0.05
assert last[0] < even and last[0] - last[1] < 0.05 and min(right.values()) > 0.9
explore(
    looked_at,
    alt=described,
    number=Choice("scene", [str(k) for k in range(1, 21)], "2"),
    kind=Choice("question", [f"{kind}, {which} object" for which in ("first", "second") for kind in KINDS], "colour, second object"),
)

# %% [markdown]
# **Figure 9.** A picture, the attention of four queries in the first layer of the Q-Former, and the answers: ✓ is right
# and ✗ wrong. Darker blue is more weight, on one scale for all four maps, and the outlines show where the objects lie.
# The queries know the question. *Caption* is the reader with the caption instead of a picture.
#
# Nobody has told the queries where the objects are, and yet, on average over the scenes, each gives more than half of
# its attention to the object in question, and hardly any to the other one. So the question decides where they look: ask
# about the square as well, and the dark cells move.
#
# In the last layer nothing of this can be seen. There the object that is asked about gets, on average, less attention
# than an even spread would give it, and hardly more than the other one. Presumably the queries have read the colour by
# then; we have not tested this. A map of the last layer alone, as it is often drawn, would have hidden that the queries
# look at the object at all.

# %% [markdown]
# ## What the papers report
#
# The published models differ too much for a ranking of their bridges, but their results are worth reading. **VQAv2**
# (Goyal et al., 2017) is a test with questions that people wrote about photographs. A score is the percentage of
# answers that agree with those of people. The table gives it for models that were trained on pictures with captions or
# other text, but never on VQAv2. In the names, ViT-g is an image encoder; OPT and FlanT5 are language models, and
# FlanT5 was trained on instructions.

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
print(f"{'':28} trained    in all    share   VQAv2, no example")
for name, learned, total, score in (  # Li et al. 2023, table 2; Frozen's test is the validation set, the others' test-dev
    ("Frozen", 40e6, 7.1e9, 29.6),
    ("Flamingo, 3B", 1.4e9, 3.2e9, 49.2),
    ("Flamingo, 80B", 10.2e9, 80e9, 56.3),
    ("BLIP-2, ViT-g, OPT 6.7B", 108e6, 7.8e9, 52.6),
    ("BLIP-2, ViT-g, FlanT5-XL", 107e6, 4.1e9, 63.0),
    ("BLIP-2, ViT-g, FlanT5-XXL", 108e6, 12.1e9, 65.0),
):
    print(f"{name:26} {learned / 1e6:7,.0f} M  {total / 1e9:5.1f} B   {learned / total:6.1%}   {score:10.1f}")
print("\nVQAv2, by examples in the prompt")
print(f"{'':27}", *(f"{count:>6}" for count in (0, 1, 4, 32)))
for name, scores in (  # VQAv2; Tsimpoukelli et al. 2021, table 1; Alayrac et al. 2022, table 1
    ("Frozen", ("29.5", "35.7", "38.2", "–")),
    ("Frozen, without the picture", ("26.2", "33.5", "33.3", "–")),
    ("Frozen, LM trained as well", ("24.0", "28.2", "29.2", "–")),
    ("Flamingo, 80B", ("56.3", "–", "63.1", "67.6")),
):
    print(f"{name:27}", *(f"{score:>6}" for score in scores))

# %% [markdown]
# Two results stand out.
#
# First, **a small bridge can be enough**. With FlanT5, BLIP-2 answers more questions right than the largest Flamingo,
# though its second stage trains only about a hundredth as many weights. The bridge alone does not explain this, since
# FlanT5 had been trained to follow instructions. With OPT, which had not, BLIP-2 reaches 52.6, less than the largest
# Flamingo. BLIP-2's training also contained pictures from COCO, the collection that VQAv2 draws on.
#
# Second, **training the language model as well made Frozen worse**, from 29.5 to 24.0. A likely reason is the
# catastrophic forgetting of lesson 11: there were far fewer captions than there had been text, none of them answers a
# question, and what the language model had known before was partly lost. But this is no law. LLaVA trains its language
# model in a second stage and answers better afterwards. Its data are then instructions with answers, so we cannot tell
# whether the data or the trained language model deserve the credit.
#
# The row to remember is the one without the picture, the **blind baseline**. A model that is trained and tested with
# black pictures gets 26.2 % of the questions right, because many can be guessed: asked for the colour of a banana, one
# says yellow. Seeing adds little more than three points to that. A score of a multimodal model says little as long as
# you do not know what the same model scores blind.
#
# Our clearest result is the query that knows the question, and InstructBLIP's paper has a direct test of it (Dai et
# al., 2023). Its authors trained the model once more on the same data, but kept the instruction from the Q-Former. They
# report that the scores fall on all data sets, and more so where a question asks about places in a picture or moments
# in a video, as in ScienceQA and iVQA. So knowing the question matters there as well, although these models have 32
# queries, whereas our miniature gains most with a single one.
#
# <details><summary>Going further: what examples in the prompt teach, and two notes on the tables</summary>
#
# The last columns of the second table show few-shot prompts at work: with examples in the prompt both models answer
# more questions right. For Frozen, the first example helps the blind model even a little more than the one that sees,
# so it probably teaches mainly the form of an answer; with four examples, seeing adds about five points. Our miniature
# has no counterpart to this. In a first attempt with made-up names for objects, our small language model did not learn
# from the examples in its prompt, and we did not look for the reason.
#
# Frozen's figure, 29.6 in BLIP-2's paper and 29.5 in its own, was measured on the validation set of VQAv2, the other
# figures of the first table on its test-dev set. *No example* is slightly generous to Flamingo, whose prompt then still
# holds two questions with answers, without their pictures.
#
# </details>

# %% [markdown]
# ## Going further
#
# <details><summary>Going further: why the first stage?</summary>
#
# BLIP-2 trains the Q-Former in two stages. Without the first one, the authors report, the answers are much worse, and
# with the language model OPT they even become worse in the course of training. In the first stage the queries learn to
# hold what texts are about, with the three losses above. When they meet the language model, what remains to be learned
# is a change of vocabulary. InstructBLIP, too, starts from a trained BLIP-2. Our miniature works with a single stage,
# presumably because its pictures are so simple; we have not tried a first one.
#
# </details>
#
# <details><summary>Going further: prompts with examples</summary>
#
# A few-shot prompt for Flamingo is a sequence such as
#
# `<image> question: what is this? answer: a dax. <image> question: what is this? answer: a blicket. <image> question:
# what is this? answer:`
#
# Each `<image>` is a token like others, and the mask of the cross-attention sees to it that the words of each example
# attend to its own picture. For models whose pictures are a prefix (Frozen, LLaVA), the vectors of each picture take
# the place of its `<image>` token. Some decoders of today relax the causal mask. In Gemma 3, the vectors of one picture
# attend to each other in both directions, while the text remains causal; in PaliGemma the question joins the picture,
# and only the answer is causal. The assignment's stretch asks for the first of these masks.
#
# </details>

# %% [markdown]
# ## Looking back over the course
#
# We began with a reader that had never seen a picture, and with the question how small a bridge can be. For pictures
# like that of the green square and the yellow circle, a linear layer of 7,008 weights was enough for most of the
# questions. A single query that knew the question did better still on average; it hands on one vector instead of 36,
# but its Q-Former has about twenty times as many weights. This is the last lesson, and we can now take a multimodal
# language model of today apart. Each of its parts has been the subject of a lesson.

# %% tags=["fold"]
# @title Draws Figure 10
show(
    drawing.the_whole_course(),
    "A diagram of a multimodal language model. A picture is cut into patches (lesson 13), goes through a Transformer encoder "
    "(06, 09, 13, trained as in 16), then through a bridge: a projector, queries or a resampler (17). A question is cut into "
    "tokens by byte pairs (11). The vectors of both enter a stack of L blocks; a resampler's go into gated blocks instead. "
    "Along the residual stream (09) two branches leave and are added again: RMSNorm (09) and self-attention (04, 05) with "
    "causal mask (07), rotary positions (05), grouped heads (06, 08), KV cache and exact tiles (08); then RMSNorm and SwiGLU "
    "or experts (09). The weights are adapted by LoRA (15). The next token is sampled (11) or searched for (01). Before "
    "Transformers: one vector for a sentence (01), attention to a sentence (02) and to a picture (03). Numbers are lessons.",
)

# %% [markdown]
# **Figure 10.** A multimodal language model, and the lessons that built its parts. Sky blue is what is made of the
# picture; the picture itself and the text are grey, and the bridge is orange. In the block, attention is dark blue, the
# MLP pink, and norms are white; the thick grey line is the residual stream.
#
# Lesson 01 began with a translator that had to press every sentence into one vector. Many of the questions that this
# translator raised have been answered since.
#
# | a question about lesson 01's translator | the answer | lesson |
# |---|---|---|
# | Should the decoder have to remember the whole sentence, if it could look at it again? | No: attention weighs all states of the encoder anew at each step. | 02 |
# | What if $T = 1000$, and one vector has to hold it all? | Every state stays available to attention. Self-attention pays for this with $T^2$ products; exact tiles save their memory, and a KV cache saves computing keys and values again. | 02, 05, 08 |
# | Training feeds the right previous word: can all positions be trained at once? | Yes, with a causal mask, in one pass and in parallel. | 07 |
# | How does a signal survive many steps? | On a residual stream to which each layer adds. | 09 |
# | Does the most likely word at each step give the most likely sentence? | Not always; beam search looks further, and where variety counts, one samples. | 01, 11 |
# | Could the input be something other than a sentence? | A picture is a sequence of patches, and a bridge that is small beside the language model makes it readable. | 03, 13, 17 |
#
# What has changed is less than it seems. The decoder of lesson 02 asked, for each word that it wrote, which of the
# encoder's vectors mattered, and took their weighted mean. The queries of this lesson do the same with a picture.

# %% [markdown]
# ## Summary
#
# | part | formula | shape |
# |---|---|---|
# | picture as a prefix | [START], vectors of the picture, [STOP], words; labels at the answer only | $[1 + P + 1 + n, D]$ |
# | projector | $X W + b$ for each cell | $[36, D_P] \to [36, D]$ |
# | Q-Former | self-attention of [queries; text], cross-attention of the queries | $[Q, D]$ |
# | three masks | matching: everything is allowed; writing: queries see only queries, the text sees the queries and its own past; contrast: each side sees only itself | $[Q + N, Q + N]$ |
# | score with $Q$ queries | $\max_q \cos(z_q, t) / \tau$ | a number |
# | resampler | latents attend to [features; latents] in one softmax | $[R, D]$ |
# | gated block | $X + \tanh(\alpha)\, \mathrm{CrossAttention}(\mathrm{Norm}(X), \text{picture})$, then $X + \tanh(\beta)\, \mathrm{MLP}(\mathrm{Norm}(X))$; gates 0 at first | $[N, D]$ |
#
# The picture to remember is Figure 2: five bridges, and what each of them trains.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> The language model is frozen. How can the gradient reach the bridge?</summary>
#
# Frozen weights are not updated, but the loss still depends on the model's *input*, and the gradient with respect to it
# is computed by the same backward pass. That pass must still run through the whole language model and needs memory for
# what the forward pass has stored. Only the gradients with respect to the frozen weights need not be computed, which
# saves almost half of its work.
#
# </details>
#
# <details><summary><b>2.</b> In the writing loss, why may the queries not attend to the text?</summary>
#
# The text attends to the queries. If these could see the whole text, each word could read the next one from them, and
# the loss would be small without a look at the picture.
#
# </details>
#
# <details><summary><b>3.</b> A Q-Former and a projector give the same share of right answers. Name two reasons for
# preferring the Q-Former.</summary>
#
# The number of its vectors does not grow with the resolution of the picture, so the language model reads fewer of them;
# and it can be trained beforehand, without the language model.
#
# </details>
#
# <details><summary><b>4.</b> Why does Flamingo set a gate to 0 at the beginning, and not the output layer?</summary>
#
# Either would leave the model unchanged at first, as LoRA's $B = 0$ does. With an output layer of zeros, only that
# layer has a gradient in the first step; with a gate of 0, only the gate has one. In both cases the rest begins to
# learn in the second step. The advantage of a gate is that it is a single number, and one can watch it open.
#
# </details>
#
# <details><summary><b>5.</b> A model gets 60 % of the questions about pictures right. What do you ask first?</summary>
#
# First ask what share the same model answers right without the picture. Then ask whether the questions or the pictures
# occurred in the training of any of its parts, the image encoder included (lesson 16).
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **Labels at the picture.** The positions of a picture hold no words, so their labels are $-100$; otherwise the loss
#   asks the model to predict words where there are none.
# - **A fully masked row.** A word before any picture has nothing to attend to, and a softmax over nothing is NaN. Its
#   result is set to 0.
# - **Eval mode does not freeze weights, and freezing does not switch on eval mode.** `requires_grad_(False)` freezes
#   weights; dropout and batch statistics need `eval()`.
# - **Unequal numbers of vectors.** Whoever compares one bridge with 4 vectors and another with 36 cannot tell whether
#   the architecture or the number of vectors makes the difference.
# - **No blind baseline.** Without one, you do not know what the pictures contribute.

# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/17_multimodal_llms/17_multimodal_llms.ipynb), and the
#   [milestone](../milestones/17_my_multimodal_model.ipynb), where your solutions run together.
# - **Read on**: this was the last lesson; the references below lead further.
# - **Look up**: the [glossary](../docs/glossary.md).

# %% [markdown]
# ## References
#
# - M. Tsimpoukelli, J. Menick, S. Cabi, S. Eslami, O. Vinyals, F. Hill (2021). Multimodal few-shot learning with frozen
#   language models. NeurIPS. arXiv:2106.13884. *Frozen; table 1.*
# - J.-B. Alayrac et al. (2022). Flamingo: a visual language model for few-shot learning. NeurIPS. arXiv:2204.14198.
# - J. Li, D. Li, S. Savarese, S. Hoi (2023). BLIP-2: bootstrapping language-image pre-training with frozen image encoders
#   and large language models. ICML. arXiv:2301.12597. *Figure 2: the three masks; table 2.*
# - W. Dai et al. (2023). InstructBLIP: towards general-purpose vision-language models with instruction tuning. NeurIPS.
#   arXiv:2305.06500.
# - H. Liu, C. Li, Q. Wu, Y. J. Lee (2023). Visual instruction tuning. NeurIPS. arXiv:2304.08485. *LLaVA.*
# - Y. Goyal, T. Khot, D. Summers-Stay, D. Batra, D. Parikh (2017). Making the V in VQA matter. CVPR. arXiv:1612.00837.
#   *VQAv2.*
# - A. Jaegle et al. (2021). Perceiver: general perception with iterative attention. ICML. arXiv:2103.03206. *Latents
#   that read many vectors.*
