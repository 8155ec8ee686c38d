# %% [markdown]
# # 03 · Captions that look at the picture
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/03_image_captioning.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - turn the grid of a convolutional network into a collection of vectors, and a look at it into a map over the picture;
# - build a captioner that looks at the picture again before each word, with the attention of lesson 02;
# - measure whether it points at what it names, and say what soft and hard attention are.
#
# **You need** lesson 02: scores, weights, context; and what a convolution does.
#
# **Time** about 40 minutes to read; the cells run in about a minute and a half on two CPU cores.

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
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from utils.data import scenes
from utils.data.translation import PAD, START, STOP
from utils.device import device
from utils.figures import captioning, plots
from utils.figures.explorers import Slider, explore
from utils.figures.plots import show
from utils.measures import stored_runs
from utils.models.grid_cnn import grids, trained_cnn
from utils.models.training import train

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
generator = torch.Generator().manual_seed(3)


# %%
def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


# %% [markdown]
# ## A picture in one vector
#
# An image goes in, a sentence comes out. Lesson 01 knows how: an encoder makes one vector of the input, a decoder writes
# words from it. For an image the encoder is a convolutional network (CNN) in the place of the RNN. So early captioners were
# built (Vinyals et al., 2015; theirs saw the vector once, before the first word). What will trouble them, after what you
# saw in lessons 01 and 02?
#
# Our pictures are *scenes*: two things that differ in shape and colour, each large or small, clear of each other in just
# one direction. A caption names the large thing first; of two of one size the left or upper one.

# %%
FULL = stored_runs.full()
SCENES, STEPS = (12000, 4000) if FULL else (4000, 800)
SEED = 1
some, fresh = scenes.scenes(SCENES, seed=SEED), scenes.scenes(300, seed=SEED + 1)
photos, new_photos = scenes.images(some), scenes.images(fresh)  # [SCENES, 3, 48, 48], [300, 3, 48, 48]
captions, new_captions = scenes.words(some).to(DEVICE), scenes.words(fresh).to(DEVICE)  # [SCENES, 12], [300, 12]
names = scenes.vocabulary()


def in_lines(words):
    """A caption in lines, the relation on one of its own."""
    return "\n".join([" ".join(words[:4]), " ".join(words[4:-4]), " ".join(words[-4:])])


show(
    captioning.gallery(photos[:4], [in_lines(scene.caption) for scene in some[:4]]),
    "Four pictures of two coloured shapes each on a light ground, with their captions, such as "
    + " ".join(some[0].caption)
    + ".",
)

# %% [markdown]
# Nine or ten words, and each needs something else from the picture: *red* the colour of one thing, *triangle* the shape of
# the other, *left of* where both stand. One vector for the whole picture must hold all that at once, bound together
# correctly: it is not enough to know that there is something red and something round. Attention lets each word fetch its
# own.

# %% [markdown]
# ## A grid of vectors
#
# What should the decoder look at? In lesson 02 there was a state for each word. A CNN has something like it. Until the last
# moment it keeps a *grid*: a vector of $D$ numbers, its *features*, for each place of the picture. Ours keeps $12 \times
# 12$ places for $48 \times 48$ pixels. Before anything else it learns to name single things, cut out of scenes, by shape,
# colour and size (Xu et al. took a network that had been trained on photographs). What it had learned to name them *by* is
# thrown away, the grid is kept.

# %%
cnn = trained_cnn(some, photos)

# %%
# NBVAL_CHECK_OUTPUT
G = grids(cnn, photos[:1])  # [1, D, H, W]
print("image", [*photos[:1].shape], "→ grid", [*G.shape])

# %% [markdown]
# Attention does not care about the grid; it wants a collection of vectors, $[L, D]$ with $L = H \cdot W$ cells. With
# explicit loops, and by shapes alone:

# %%
_, D, H, W = G.shape
X_loop = torch.zeros(1, H * W, D, device=DEVICE)  # [1, L, D]
for h in range(H):
    for w in range(W):
        X_loop[:, h * W + w] = G[:, :, h, w]

X = G.flatten(2).mT  # [1, D, H, W] -> [1, D, L] -> [1, L, D]
assert_close(X, X_loop)
assert_close(X.mT.unflatten(2, (H, W)), G)  # and back

# %% [markdown]
# (`.mT` swaps the last two axes.) **A trap.** The result must be $[1, L, D]$, and `G.reshape(1, L, D)` has that shape. Is
# it right?

# %%
# NBVAL_CHECK_OUTPUT
wrong = G.reshape(1, H * W, D)
print("same shape:", wrong.shape == X.shape, "| same numbers:", torch.equal(wrong, X))

# %% [markdown]
# No. `reshape` never moves a number, it only reads the same list in other portions, and in that list the channels come
# first. A "vector" of `wrong` holds one feature of 64 neighbouring cells, or the end of one and the beginning of the next.
# There is no error, and training may even run. Move the axes first (`.mT`, `permute`), then join them.

# %% [markdown]
# ## Looking at the grid
#
# The rest you know. A decoder state $s$ scores every cell, a softmax makes weights of the scores, the context is the
# weighted sum (Xu et al., 2015: *Show, attend and tell*). Lesson 04 will call $s$ the *query* and the cells the *data
# vectors*. The one new thing: the weights have places in the picture, so they can be drawn as a **map**.
#
# With loops, as matrix products, and by torch's own function, here with the dot product as the score:

# %%
s = normal(1, D)  # [B, D] with B = 1, a made-up state
e_loop = torch.zeros(H, W, device=DEVICE)  # [H, W]
for h in range(H):
    for w in range(W):
        e_loop[h, w] = (s[0] * G[0, :, h, w]).sum()
total = sum(torch.exp(e_loop[h, w] - e_loop.max()) for h in range(H) for w in range(W))
c_loop = torch.zeros(D, device=DEVICE)  # [D]
for h in range(H):
    for w in range(W):
        c_loop += torch.exp(e_loop[h, w] - e_loop.max()) / total * G[0, :, h, w]

e = (X @ s[:, :, None])[..., 0]  # [1, L, D] @ [1, D, 1] -> [1, L]
a = e.softmax(dim=-1)  # [1, L], one sum of 1 for all cells together
c = (a[:, None] @ X)[:, 0]  # [1, 1, L] @ [1, L, D] -> [1, D]

assert_close(e.unflatten(1, (H, W))[0], e_loop)
assert_close(c[0], c_loop, rtol=1e-4, atol=1e-5)
assert_close(F.scaled_dot_product_attention(s[:, None], X, X, scale=1.0)[:, 0], c, rtol=1e-4, atol=1e-5)

# %%
made_up = torch.full((3, H, W), 1e-3)  # three maps by hand: upper left, the middle, everywhere alike
made_up[0, 1:4, 1:4] = made_up[1, 4:8, 4:8] = made_up[2] = 1.0
made_up /= made_up.sum(dim=(1, 2), keepdim=True)
show(
    captioning.word_maps(photos[0], ["a look at the upper left", "at the middle", "everywhere alike"], made_up, columns=3),
    "The same picture three times, clear where a made-up look has its weight and dark elsewhere: in the upper left, in the middle, "
    "and clear everywhere where all weights are equal.",
)

# %% [markdown]
# So are maps drawn here: clear where the weight is, dark elsewhere, each map scaled to its own largest weight. With 144
# cells, a weight of $1/144 \approx 0.007$ in each means looking nowhere in particular.

# %% [markdown]
# ## A word at a time
#
# Three more parts, and the captioner is complete:
#
# 1. **Where to begin.** The first state is made from the mean of all cells: $s_0 = \tanh(\mathrm{linear}(\bar g))$ with
#    $\bar g = \frac{1}{L}\sum_i x_i$. A first impression.
# 2. **How much picture?** After *left* comes *of*; that needs no picture. A gate $\beta_t =
#    \sigma(\mathrm{gate}(s_{t-1}))$, one number from 0 to 1, lets the step have $z_t = \beta_t c_t$.
# 3. **Where is a cell?** Its features say what is there, not where. But *left of* asks for places, and the weighted sum
#    does not know them: shuffle the cells, and the context is the same (the last section of lesson 02). So to each cell
#    something is added that is made from its row and column. Lesson 05 is about this.
#
# Then the step is that of lesson 02, $s_t = g_U([y_{t-1}; z_t], s_{t-1})$, and the logits come from $[s_t; z_t]$. The
# scores are additive.


# %%
class Captioner(nn.Module):
    """Words from a grid. It looks before each word; or, for comparison, gets one vector, made from all cells by a layer."""

    def __init__(self, looks, D=64, D_S=64, D_A=32, D_E=32, side=12):
        super().__init__()
        self.looks = looks
        self.place = nn.Linear(2, D)
        nn.init.normal_(self.place.weight)
        self.begin = nn.Linear(D, D_S)
        if looks:
            self.W = nn.Linear(D_S, D_A, bias=False)
            self.U = nn.Linear(D, D_A, bias=False)
            self.v = nn.Linear(D_A, 1, bias=False)
        else:
            self.one = nn.Linear(D * side * side, D)
        self.gate = nn.Linear(D_S, 1)
        self.embedding = nn.Embedding(len(names), D_E)
        self.cell = nn.GRUCell(D_E + D, D_S)
        self.out = nn.Linear(D_S + D, len(names))

    def read(self, G):
        """What all steps share: cells X [B, L, D], their part of the scores [B, L, D_A] or the one vector [B, D]; and s_0 [B, D_S]."""
        axis = torch.linspace(-1, 1, G.shape[-1], device=G.device)
        places = torch.cartesian_prod(axis, axis)  # [L, 2]: row and column of each cell
        X = G.flatten(2).mT + self.place(places)  # [B, L, D]
        known = self.U(X) if self.looks else torch.relu(self.one(X.flatten(1)))
        return X, known, torch.tanh(self.begin(X.mean(dim=1)))

    def step(self, y, s, X, known):
        """One word: y [B], s [B, D_S] give logits [B, V], the new s and weights [B, L]."""
        a, c = None, known
        if self.looks:
            e = self.v(torch.tanh(self.W(s)[:, None] + known))[..., 0]  # [B, 1, D_A] + [B, L, D_A] -> [B, L]
            a = e.softmax(dim=-1)
            c = (a[:, None] @ X)[:, 0]  # [B, D]
        z = torch.sigmoid(self.gate(s)) * c  # [B, 1] * [B, D]
        s = self.cell(torch.cat([self.embedding(y), z], dim=-1), s)
        return self.out(torch.cat([s, z], dim=-1)), s, a

    def forward(self, G, Y):
        """Logits [B, T, V] with teacher forcing, and weights [B, T, L] if it looks."""
        X, known, s = self.read(G)
        fed = F.pad(Y, (1, 0), value=START)[:, :-1]  # [START], y_1, …
        if self.training:  # word dropout as in lesson 02, with a smaller share
            fed = fed.masked_fill(torch.rand(fed.shape).to(fed.device) < 0.15, PAD)
        found, looks = [], []
        for y in fed.unbind(dim=1):
            logits, s, a = self.step(y, s, X, known)
            found.append(logits)
            looks.append(a)
        return torch.stack(found, dim=1), torch.stack(looks, dim=1) if self.looks else None

    @torch.no_grad()
    def write(self, G):
        """The likeliest words [B, T], one after the other, with [PAD] behind [STOP]; and the weights [B, T, L] if it looks."""
        X, known, s = self.read(G)
        y = torch.full((len(G),), START, device=G.device)
        ended = torch.zeros_like(y, dtype=torch.bool)
        written, looks = [], []
        for _ in range(scenes.LONGEST):
            logits, s, a = self.step(y, s, X, known)
            y = logits.argmax(dim=-1).masked_fill(ended, PAD)
            ended |= y == STOP
            written.append(y)
            looks.append(a)
        return torch.stack(written, dim=1), torch.stack(looks, dim=1) if self.looks else None


# %% [markdown]
# ## Training it
#
# The CNN stays as it is, so its grids are computed once. Both captioners learn from the same scenes, the same number of
# steps.

# %%
grid, new_grid = grids(cnn, photos), grids(cnn, new_photos)  # [SCENES, 64, 12, 12], [300, 64, 12, 12]


def penalty(A, real):
    """Each cell should be looked at about once in a caption: see "Every place once"."""
    return (1 - (A * real[..., None]).sum(dim=1)).square().sum(dim=-1).mean()


def trained(looks, strength=0.0):
    """A captioner and its training loss; `strength` is that of the penalty."""

    def caption_loss(model, chosen):
        Y = captions[chosen.to(DEVICE)][:, :-1]  # the last place is padding in all of them
        logits, A = model(grid[chosen.to(DEVICE)], Y)
        loss = F.cross_entropy(logits.flatten(0, 1), Y.flatten(), ignore_index=PAD)
        return loss + strength * penalty(A, Y != PAD) if strength else loss

    torch.manual_seed(SEED)
    model = Captioner(looks).to(DEVICE)
    seeded = torch.Generator().manual_seed(SEED)
    chosen = (torch.randint(SCENES, (64,), generator=seeded) for _ in range(STEPS))
    what = "training, attention" if looks else "training, one vector"
    return model, train(model, chosen, caption_loss, steps=STEPS, rate=8e-3, what=what)


started = time.perf_counter()
remembering, loss_one = trained(looks=False)
looking, loss_attention = trained(looks=True)

# %%
ends = range(25, STEPS + 1, 25)
curves = {
    name: [sum(losses[end - 25 : end]) / 25 for end in ends]
    for name, losses in (("one vector", loss_one), ("attention", loss_attention))
}
figure, (axes,) = plots.canvas(7, 3.4)
plots.curves(ends, curves, styles=dict.fromkeys(curves, "-"), x_label="step", y_label="mean −log P a word", axes=axes)
show(
    figure,
    "Training loss over the steps. After the first steps it falls faster with attention, and ends lower.",
)


# %% [markdown]
# Judged are captions of 300 new scenes. *Exact* means: right in every word.


# %%
def exact(model):
    """The share of new scenes whose caption is right in every word."""
    return (model.write(new_grid)[0] == new_captions).all(dim=1).float().mean().item()


shares = {"one vector": exact(remembering), "attention": exact(looking)}
figure, (axes,) = plots.canvas(4.4, 3)
plots.bars([*shares.values()], [*shares], value_label="exact captions", limits=(0, 1), axes=axes)
show(figure, "Share of exact captions on new scenes: well above one half with one vector, clearly more with attention.")

# %%
# NBVAL_CHECK_OUTPUT
print("attention: more than three in four captions exact:     ", shares["attention"] > 0.75)
print("one vector: fewer, by 0.05 at least:                   ", shares["one vector"] < shares["attention"] - 0.05)

# %% [markdown]
# The difference is there, but it is another one than on long sentences in lesson 02. The long run further down has three
# times the scenes and four times the steps, and there both are near 1: two things with three properties each do fit into a
# vector of 64 numbers. To pack them and to unpack them again is what takes longer to learn. (The layer that makes the one
# vector has 590,000 parameters, the scores of attention 4,000. And the pictures are new, but captions are few: 1,920 are
# possible, and most were seen in training.)
#
# **And in print?** On photographs (COCO), with captions by people, Xu et al. give BLEU-4 as 24.3 with soft attention, and as
# 24.3 also for the best captioner without attention that they compare with. By METEOR, which allows for other words of the
# same meaning, it is 23.9 against 20.0. So there, too, the gain depends on what is asked. Their captioner differs from ours
# in size, not in kind: a grid of $14 \times 14 \times 512$ from VGG, a network trained on a million photographs; an LSTM in the
# place of the GRU; logits from the previous word, state and context together.

# %% [markdown]
# ## Does it point at what it names?
#
# The captioner got captions alone, and no boxes. (Its CNN was trained before, on windows around single things, which were
# cut by their boxes; where a thing is in a whole picture it was never asked.) Here is what it looked at, word by word,
# while it was fed the right words. The orange box, which it has never seen, is the thing that the word is about.

# %%
written, own_weights = looking.write(new_grid)  # [300, T], [300, T, L]
gates = []  # a [300, 1] for each step
noting = looking.gate.register_forward_hook(lambda layer, given, made: gates.append(torch.sigmoid(made).cpu()))
with torch.no_grad():
    weights = looking(new_grid, new_captions)[1]  # [300, T, L], while it is fed the right words
noting.remove()
weight_maps, own_maps = (A.unflatten(-1, (H, W)).cpu() for A in (weights, own_weights))  # [300, T, H, W] each


def words_of(number):
    """The words that were written for a new scene."""
    return [names.words[one] for one in written[number].tolist() if one not in (PAD, STOP)]


def boxes_of(scene):
    """For each word of the caption the box of the thing it is about, or None."""
    return [None if place is None else scene.things[place].box for place in scene.mentions]


right = (written == new_captions).all(dim=1).tolist()
shown = right.index(True)
told = words_of(shown)
show(
    captioning.word_maps(new_photos[shown], told, weight_maps[shown, : len(told)], boxes_of(fresh[shown])),
    "The picture once for each word of its caption, clear where the captioner looked for that word. For colour and shape the "
    "clear spot is on the thing or just beside it; for the first words of a description it is spread, over the other thing too.",
)

# %% [markdown]
# How often is that so? For each of the words size, colour and shape: the share of the weight on cells that the thing's box
# touches. For comparison: the share if all cells had the same weight, and the share that lies on the *other* thing.


# %%
def touched(box):
    """[H, W]: 1 at cells that a box touches, 0 elsewhere."""
    left, top, right, bottom = (side / 4 for side in box)  # in cells
    rows, columns = torch.arange(H), torch.arange(W)
    return ((rows + 1 > top) & (rows < bottom)).float()[:, None] * ((columns + 1 > left) & (columns < right)).float()


KINDS = {"size": [*scenes.SIDES], "colour": [*scenes.COLOURS], "shape": [*scenes.SHAPES]}
DESCRIBING = sum(KINDS.values(), [])


def pointing(weight_maps, words=DESCRIBING):
    """Mean share of the weight on the named thing, on the other one, and on the named thing if all cells were alike."""
    named, other, alike = [], [], []
    for scene, looks in zip(fresh, weight_maps, strict=True):
        for place, about in enumerate(scene.mentions):
            if about is not None and scene.caption[place] in words:
                inside = touched(scene.things[about].box)
                named.append((looks[place] * inside).sum().item())
                other.append((looks[place] * touched(scene.things[1 - about].box)).sum().item())
                alike.append(inside.mean().item())
    return [sum(one) / len(one) for one in (named, other, alike)]


points = pointing(weight_maps)
figure, (axes,) = plots.canvas(6, 3)
labels = ["on the thing\nthat is named", "on the\nother thing", "on the named thing,\nif all cells were alike"]
plots.bars(points, labels, value_label="share of the weight", limits=(0, 1), axes=axes)
show(figure, "Most of the weight lies on the thing that is named, hardly any on the other; by chance it would be little.")

# %%
# NBVAL_CHECK_OUTPUT
print("share of the weight on what is named at least 0.7:    ", points[0] >= 0.7)
print("on the other thing less than 0.15:                    ", points[1] < 0.15)
print("five times what equal weights would give:             ", points[0] > 5 * points[2])

# %% [markdown]
# Not all words point alike. And what does the gate do? Its mean for each kind of word, over the same 300 captions:

# %%
by_kind = {kind: pointing(weight_maps, words)[0] for kind, words in {"a": ["a"], **KINDS}.items()}
sorts = {"a": ["a"], **KINDS, "where": ["above", "below", "left", "right"], "of": ["of"]}
opened = {sort: [] for sort in sorts}
for number, scene in enumerate(fresh):
    for place, word in enumerate(scene.caption):
        opened[next(sort for sort, words in sorts.items() if word in words)].append(gates[place][number].item())
figure, panels = plots.canvas(10.5, 3, 2)
plots.bars([*by_kind.values()], [*by_kind], value_label="weight on what is named", limits=(0, 1), axes=panels[0])
means = [sum(found) / len(found) for found in opened.values()]
plots.bars(means, [*opened], value_label="mean gate β", limits=(0, 1), axes=panels[1])
show(
    figure,
    "Left, the share of the weight on the named thing for a, size, colour and shape: colour and shape point best. Right, the mean "
    "gate for each kind of word.",
)

# %% [markdown]
# It points. But mind what that says: a cell has seen 25 by 25 pixels around it, a quarter of the picture. Weight *beside* a
# thing can fetch the thing, and weight *on* a thing may fetch the other. And look at *a* and at the size: which of the two
# comes first has to be found out by comparing. As in lesson 02, a weight says where something was found.
#
# **Look over its shoulder.** Choose a new scene and a word.


# %%
def look_at(scene, place):
    number = int(scene) - 1
    told = words_of(number)
    word = min(int(place), len(told)) - 1
    boxes = [fresh[number].things[about].box for about in (0, 1)]
    figure = captioning.word_maps(
        new_photos[number],
        ["the picture", f"“{told[word]}”"],
        torch.stack([torch.ones(H, W), own_maps[number, word]]),
        [None, boxes[0] if word < 4 else boxes[1] if word >= len(told) - 4 else None],
        columns=2,
    )
    figure.suptitle(" ".join(f"[{one}]" if n == word else one for n, one in enumerate(told)), fontsize=10)
    return figure


def say_look(scene, place):
    number = int(scene) - 1
    told = words_of(number)
    word = min(int(place), len(told)) - 1
    row, column = divmod(own_maps[number, word].argmax().item(), W)
    verdict = "right" if right[number] else f"should be “{' '.join(fresh[number].caption)}”"
    return f"“{told[word]}” looks most at row {row + 1}, column {column + 1} of {H} by {W} cells. “{' '.join(told)}” ({verdict})."


explore(look_at, alt=say_look, scene=Slider("new scene", 1, 40, 4, 1), place=Slider("word", 1, 10, 3, 1))

# %% [markdown]
# ## Every place once
#
# For each word the weights sum to 1 over the cells: every row of $A\,[T, L]$ does. Xu et al. also wanted the *columns* to
# sum to about 1, each place looked at about once in a caption, so that nothing is left out. They add a penalty to the loss,
# for each caption
#
# $$\lambda \sum_{i=1}^{L} \Big(1 - \sum_{t=1}^{T} a_{ti}\Big)^2 .$$
#
# A square matrix whose rows and columns all sum to 1 is called doubly stochastic; the paper calls this *doubly stochastic
# attention*. Padding does not count as a word. For four cells and four words:

# %%
# NBVAL_CHECK_OUTPUT
real = torch.ones(1, 4, dtype=torch.bool)
staring, sweeping, even = torch.zeros(1, 4, 4), torch.eye(4)[None], torch.full((1, 4, 4), 0.25)
staring[..., 0] = 1.0
for name, looks in (("always the same cell", staring), ("each cell once", sweeping), ("always all alike", even)):
    print(f"{name:>20}: penalty {penalty(looks, real):.0f}")

# %% [markdown]
# So the penalty is against staring. But it is as content with looking at everything all the time as with a sweep. And can
# it be 0 at all? Each word shares out a weight of 1, so $T$ words share out $T$, ten or eleven with `[STOP]`; and 144 cells
# want 144. Write $k_i$ for what cell $i$ gets: $\sum_i (1 - k_i)^2 = L - 2T + \sum_i k_i^2$, smallest where all $k_i$ are
# $T/L$. What does that do to pointing and to captions? Our pictures are mostly empty, and a look that serves the words has
# no reason to go there. The long run trained the same captioner with it:

# %%
if FULL:
    spread = {}
    for strength in (0.0, 0.003, 0.03):
        model = looking if strength == 0 else trained(looks=True, strength=strength)[0]
        with torch.no_grad():
            on_named = pointing(model(new_grid, new_captions)[1].unflatten(-1, (H, W)).cpu())[0]
        spread[str(strength)] = {"exact": exact(model), "pointing": on_named}
    results = {"penalty": spread, "exact": shares, "pointing": points, "steps": STEPS, "scenes": SCENES}
    stored_runs.keep("03_image_captioning", results, seed=SEED, seconds=time.perf_counter() - started)
record = stored_runs.load("03_image_captioning")
long = record["results"]
print(stored_runs.how(record))
print(f"{long['scenes']} scenes, {long['steps']} steps: exact with one vector {long['exact']['one vector']:.2f}", end=", ")
print(f"with attention {long['exact']['attention']:.2f}; share of the weight on what is named {long['pointing'][0]:.2f}")

# %%
strengths = [*long["penalty"]]
figure, panels = plots.canvas(8, 3, 2)
for axes, measure, label in zip(panels, ("pointing", "exact"), ("weight on what is named", "exact captions"), strict=True):
    values = [long["penalty"][strength][measure] for strength in strengths]
    plots.bars(values, [f"λ = {one}" for one in strengths], value_label=label, limits=(0, 1), axes=axes)
show(
    figure,
    "For three strengths of the penalty, from the stored run: the stronger it is, the smaller the share of the weight on what is "
    "named; the share of exact captions stays high.",
)

# %% [markdown]
# On these pictures the penalty does what its formula says: it spreads the looks, and that is the opposite of pointing.
# Captions neither gain nor lose. (One seed; differences of a hundredth are chance.) Xu et al. report that on photographs it
# made captions better. Whether a term helps is a question for the data.

# %% [markdown]
# ## Soft and hard
#
# So far a context is a **mixture** of all cells: *soft* attention. **Hard** attention draws *one* cell by chance, with the
# weights as probabilities, and gives its vector. That saves the sum, though not the scores. How is it trained?
#
# The trouble: a drawn cell does not change when a score changes a little. No gradient passes through a draw. What can be
# computed is how the *mean* loss over many draws changes. For a made-up loss of the context, $\ell(c) = |c - g|^2$, with a
# handful of cells, the mean is $\sum_i a_i \ell(x_i)$, and its gradient can be estimated from draws $i \sim a$ as the mean
# of $\ell(x_i)\, \nabla \log a_i$ (*REINFORCE*, Williams, 1992). Is that right, and how noisy is it?

# %%
# NBVAL_CHECK_OUTPUT
cells, goal = normal(6, 4), normal(4)  # [L, D], [D]
scores = normal(6).requires_grad_()  # [L]
losses = (cells - goal).square().sum(dim=-1)  # [L]: the loss if cell i is drawn
(true_slope,) = torch.autograd.grad((scores.softmax(dim=-1) * losses).sum(), scores)  # [L]

probabilities = scores.detach().softmax(dim=-1)
drawn = torch.multinomial(probabilities.cpu(), 20000, replacement=True, generator=generator).to(DEVICE)  # [20000]
slopes = losses[drawn, None] * (F.one_hot(drawn, 6) - probabilities)  # [20000, L]: ℓ(x_i) ∇ log a_i, a row for each draw
error = (slopes.mean(dim=0) - true_slope).norm() / true_slope.norm()
single = (slopes - true_slope).norm(dim=-1).mean() / true_slope.norm()
print(f"mean loss of hard attention {(probabilities * losses).sum():.2f}, loss of soft attention", end=" ")
print(f"{(probabilities @ cells - goal).square().sum():.2f}")
print("mean of 20000 draws off by less than a tenth:              ", bool(error < 0.1))
print("a single draw is off by more than the gradient's length:   ", bool(single > 1))

# %% [markdown]
# Right on average, but a single draw is mostly noise. It can be made quieter: subtract from $\ell(x_i)$ a number that does
# not depend on the draw, such as the mean of the losses so far (a *baseline*). The mean of the estimate stays, since
# $\nabla \log a_i$ has mean 0. Xu et al. did so; their hard captions scored a little higher than the soft ones. Soft
# attention has an exact gradient, and is what most use.
#
# The two are different models, too: hard attention has the mean of the losses, soft attention the loss of the mean vector,
# which for a loss like this one is never larger.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> The grid is 14 by 14 with 512 features, and a caption has 11 words, `[STOP]` included. What are the shapes of $X$, of all weights
# together, and of all contexts together?</summary>
#
# $X\,[196, 512]$, $A\,[11, 196]$, and contexts $[11, 512]$.
#
# </details>
#
# <details><summary><b>2.</b> The softmax over the grid is taken with `dim=-1` on scores $[B, H, W]$. What is wrong, and would one see it in
# the shapes?</summary>
#
# Each row of the grid would share out a 1 of its own: the weights of a look sum to $H$. All shapes are right. Flatten
# first.
#
# </details>
#
# <details><summary><b>3.</b> The pictures are mirrored left to right, and the captions kept. Which words no longer fit?</summary>
#
# Beside each other and of different sizes: *left of* and *right of*. Beside each other and of one size: the two
# descriptions have changed places. One above the other: all still fit.
#
# </details>
#
# <details><summary><b>4.</b> Why is the mean of the cells a poor "one vector" for these pictures, whatever the CNN knows?</summary>
#
# A mean has no places: it is the same for a red circle left of a blue square and for one right of it, unless the features
# themselves say where they are; and it mixes the properties of both things.
#
# </details>
#
# <details><summary><b>5.</b> Without the gate, what could the decoder do at a word for which it needs no picture?</summary>
#
# It has to mix *something*, since the weights sum to 1. It could look at empty ground, whose vector says little.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **`reshape` is not `permute`.** `G.reshape(B, H*W, D)` has the right shape and mixes up cells and features.
# - **One softmax, all cells.** Not one for each row.
# - **Rows before columns.** Cell $(h, w)$ is number $h \cdot W + w$; and pixels are $(x, y)$ = (column, row) in boxes, but
#   [row, column] in tensors.
# - **Maps are not explanations.** A cell has seen its surroundings; a word may come from habit of language.
# - **A CNN in training mode.** Batch normalisation then depends on the other pictures of the batch. `.eval()`.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - Some draw a grid of 3 by 3 and scores $e_{t,i,j}$ with two indices. It is the same; here the cells are numbered through,
#   as the code needs them.
# - The first state: slides say $s_0 = f(z)$ with $z$ the features; Xu et al. use their mean, as here.
#
# </details>

# %% [markdown]
# ## References
#
# - K. Xu, J. Ba, R. Kiros, K. Cho, A. Courville, R. Salakhutdinov, R. Zemel, Y. Bengio (2015). Show, attend and tell:
#   neural image caption generation with visual attention. ICML. arXiv:1502.03044. *This lesson: soft and hard attention,
#   gate, penalty.*
# - O. Vinyals, A. Toshev, S. Bengio, D. Erhan (2015). Show and tell: a neural image caption generator. CVPR.
#   arXiv:1411.4555. *One vector.*
# - R. J. Williams (1992). Simple statistical gradient-following algorithms for connectionist reinforcement learning.
#   Machine Learning 8. *REINFORCE.*
