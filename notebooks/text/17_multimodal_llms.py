# %% [markdown]
# # 17 · Multimodal language models

# %% tags=["fold"]
import functools
import random
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from utils.data import questions, scenes
from utils.data.translation import PAD, START, STOP
from utils.device import device
from utils.figures import multimodal as drawing
from utils.figures.explorers import Choice, Slider, explore
from utils.figures.plots import show
from utils.measures import stored_runs
from utils.models.grid_cnn import GridCNN, trained_cnn
from utils.models.multimodal import Reader, cells_with_places, padded, trained_reader
from utils.models.training import train
from utils.models.vision_language import Attention, MultimodalBlock

DEVICE = device()

# %% tags=["fold"]
SEEDS, KINDS = (0, 1, 2), tuple(questions.ANSWERS)
some, new = scenes.scenes(4000, seed=1), scenes.scenes(600, seed=2)
photos, new_photos = scenes.images(some), scenes.images(new)
names = scenes.vocabulary()
asked, tests = questions.EvenQuestions(some), questions.EvenQuestions(new)
examined = {kind: tests.test(kind, each=400) for kind in KINDS}


def tokens_of(some):
    """The questions' tokens [B, n], padded, and the place of each one's last word."""
    rows = [question.tokens() for question in some]
    return padded(rows).to(DEVICE), torch.tensor([len(row) - 1 for row in rows], device=DEVICE)


def targets(some):
    return torch.tensor([question.target() for question in some], device=DEVICE)


@torch.no_grad()
def share_right(answers):
    """For each kind of question the share that is answered right; `answers` gives logits for questions about new scenes."""
    return {
        kind: (answers(some).argmax(dim=-1) == targets(some)).float().mean().item() for kind, some in examined.items()
    }


def reads(reader, captions=True):
    """The reader's logits for an answer, with the caption as text in front of the question, or without it."""

    def answers(some):
        rows = [
            [START, *(names.encode(new[question.scene].caption) if captions else []), *question.tokens()]
            for question in some
        ]
        last = torch.tensor([len(row) - 1 for row in rows], device=DEVICE)
        return reader(reader.words(padded(rows).to(DEVICE)))[torch.arange(len(rows), device=DEVICE), last]

    return answers


# %% tags=["fold"]
def readers():
    """Three readers, trained on text alone; the first one's weights are stored."""
    begun, texts = time.perf_counter(), scenes.scenes(12000, seed=77)
    found = {}
    for seed in SEEDS:
        found[seed] = trained_reader(texts, seed=seed, steps=2000).to(DEVICE).requires_grad_(False)
    stored_runs.keep_weights("17_multimodal_llms.reader", found[0])
    runs = [
        {"seed": seed, "caption": share_right(reads(one)), "no caption": share_right(reads(one, captions=False))}
        for seed, one in found.items()
    ]
    seconds = time.perf_counter() - begun
    stored_runs.keep("17_multimodal_llms.readers", {"runs": runs}, seed="0 to 2", seconds=seconds)
    return found


# %%
cnn = trained_cnn(some, photos)
seen, new_seen = cells_with_places(cnn, photos), cells_with_places(cnn, new_photos)  # [4000, 36, 72], [600, 36, 72]
torch.set_num_threads(1)  # for the small matrices from here on, sharing the work costs more than doing it


# %%
class Projector(nn.Module):
    """LLaVA: each cell of the picture becomes a vector among the words."""

    def __init__(self, D_P, D):
        super().__init__()
        self.layer = nn.Linear(D_P, D)

    def forward(self, picture, question):
        return self.layer(picture)  # [B, 36, D]


def logits(reader, bridge, picture, some):
    """Logits of the answers: the picture takes the place that a caption had, between [START] and [STOP]."""
    question, last = tokens_of(some)
    vectors = bridge(picture, question)  # [B, P, D]
    start, stop = (reader.words(torch.full((len(some), 1), token, device=DEVICE)) for token in (START, STOP))
    X = torch.cat([start, vectors, stop, reader.words(question)], dim=1)  # [B, 1 + P + 1 + n, D]
    rows = torch.arange(len(some), device=DEVICE)
    return reader(X, getattr(bridge, "before", ()))[rows, 2 + vectors.shape[1] + last]


# %%
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
    """Frozen: an eye that is trained through the frozen language model; its mean becomes P vectors."""

    def __init__(self, D, P=2):
        super().__init__()
        self.eye, self.layer, self.P = GridCNN(64), nn.Linear(64, P * D), P

    def forward(self, photos, question):
        return self.layer(self.eye(photos).mean(dim=(2, 3))).unflatten(1, (self.P, -1))


# %%
class QFormer(nn.Module):
    """Learned queries read a picture by cross-attention; with `asks`, they meet the question before."""

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
        X, allowed, cells = self.queries.expand(len(picture), -1, -1), None, self.cells(picture)
        Q = X.shape[1]
        if self.asks:  # the question's tokens join the queries
            X = torch.cat([X, self.words(question) + self.positions[: question.shape[1]]], dim=1)
            allowed = torch.cat([question.new_ones(len(X), Q), question], dim=1)[:, None, :] != PAD
            allowed = allowed.expand(-1, X.shape[1], -1)
        for block in self.blocks:
            Z = block.norm_own(X)
            X = X + block.own(Z, Z, allowed)
            queries = X[:, :Q] + block.cross(block.norm_cross(X[:, :Q]), cells)  # the queries alone see the picture
            X = torch.cat([queries, X[:, Q:]], dim=1)
            X = X + block.mlp(block.norm_mlp(X))
        return self.output(self.norm(X[:, :Q]))  # [B, Q, D]


# %%
class GatedBlock(nn.Module):
    """Flamingo: cross-attention and an MLP, each behind a gate that is 0 at first."""

    def __init__(self, D, H):
        super().__init__()
        self.norm, self.cross = nn.LayerNorm(D), Attention(D, H)
        self.norm_mlp, self.mlp = nn.LayerNorm(D), nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gates = nn.Parameter(torch.zeros(2))

    def forward(self, X, picture):
        first, second = self.gates.tanh()
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
        X, block = self.latents.expand(len(picture), -1, -1), self.resampler
        read = torch.cat([self.cells(picture), X], dim=1)  # the latents attend to the cells and to each other
        X = X + block.own(block.norm_own(X), block.norm_own(read))
        X = X + block.mlp(block.norm_mlp(X))
        latents = self.output(self.norm(X))  # [B, R, D]
        self.before = [functools.partial(gated, picture=latents) for gated in self.blocks]
        return latents[:, :0]  # nothing stands among the words


# %%
def bridge_loss(reader, seen):
    def loss(bridge, batch):
        picture = seen[torch.tensor([question.scene for question in batch])].to(DEVICE)
        return F.cross_entropy(logits(reader, bridge, picture, batch), targets(batch))

    return loss


def sees(reader, bridge, seen):
    def answers(some):
        places = torch.tensor([question.scene for question in some])
        found = [logits(reader, bridge, seen[part].to(DEVICE), some[first : first + 200]) for first, part in zip(range(0, len(some), 200), places.split(200))]
        return torch.cat(found)

    return answers


def fit(bridge, reader, seen, steps, rate, seed=0, what="training"):
    chance = random.Random(seed)
    batches = (asked.draw(chance, 32) for _ in range(steps))
    curve = train(bridge, batches, bridge_loss(reader, seen), steps=steps, rate=rate, what=what)
    return curve


D_P, D = 72, 96
WAYS = {  # how a bridge is made, and the learning rate that was best for it on another seed
    "blind": (lambda: Blind(D), 3e-3),
    "mean": (lambda: MeanProjector(D_P, D), 6e-3),
    "Frozen": (lambda: Frozen(D), 2e-3),
    "projector": (lambda: Projector(D_P, D), 6e-3),
    "Q-Former, 1": (lambda: QFormer(1, D_P, D), 2e-3),
    "InstructBLIP, 1": (lambda: QFormer(1, D_P, D, asks=True), 2e-3),
    "Q-Former, 4": (lambda: QFormer(4, D_P, D), 2e-3),
    "InstructBLIP, 4": (lambda: QFormer(4, D_P, D, asks=True), 2e-3),
    "Flamingo, 4": (lambda: Flamingo(4, D_P, D, L=3), 2e-3),
    "Q-Former, 36": (lambda: QFormer(36, D_P, D), 2e-3),
    "InstructBLIP, 36": (lambda: QFormer(36, D_P, D, asks=True), 2e-3),
    "Flamingo, 36": (lambda: Flamingo(36, D_P, D, L=3), 2e-3),
}
