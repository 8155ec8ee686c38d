# %% [markdown]
# # 03 · Captions that look at the picture
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/03_image_captioning.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - turn the feature map of a convolutional network into a collection of vectors, and the attention weights over it into
#   a map over the image;
# - build a captioner that attends to the image again before each token, with the attention of lesson 02;
# - measure whether the captioner attends to what it names, and say how soft and hard attention differ.
#
# **You need** lesson 02: scores, weights, context; and what a convolution does.
#
# **Time** about 60 minutes to read; the cells run in about a minute on two CPU cores.

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


# %% tags=["fold"]
def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


# %% [markdown]
# ## A picture in one vector
#
# A **captioner** receives an image and writes a caption, a short description in words. Lesson 01 had a design for such
# a task: an encoder turns the input into one context vector, and a decoder writes tokens from this vector. For an image
# the encoder is not an RNN but a **convolutional neural network** (CNN), whose layers apply the same small learned
# filters at every position of the image. Early captioners were built in this way (Vinyals et al., 2015; their decoder
# saw the vector only once, before the first token). After lessons 01 and 02, which difficulty do you expect?
#
# Our images are *scenes*. Each scene shows two objects that differ in shape and in colour. An object is large or small.
# Either a vertical or a horizontal line would fit between the two objects, but never both, so that they stand either
# side by side or one above the other. If one object is large and the other small, the caption names the large one
# first. If both have the same size, it first names the one on the left, or the upper one. So each image has exactly one
# right caption. Each word of a caption is one token.

# %% tags=["fold"]
FULL = stored_runs.full()
SCENES, STEPS = (12000, 4000) if FULL else (4000, 800)
SEED = 1
some, fresh = scenes.scenes(SCENES, seed=SEED), scenes.scenes(300, seed=SEED + 1)
photos, new_photos = scenes.images(some), scenes.images(fresh)  # [SCENES, 3, 48, 48], [300, 3, 48, 48]
captions, new_captions = scenes.words(some).to(DEVICE), scenes.words(fresh).to(DEVICE)  # [SCENES, 12], [300, 12]
names = scenes.vocabulary()


def in_lines(words):
    """A caption in three lines, with the relation on a line of its own."""
    return "\n".join([" ".join(words[:4]), " ".join(words[4:-4]), " ".join(words[-4:])])


show(
    captioning.gallery(photos[:4], [in_lines(scene.caption) for scene in some[:4]]),
    "Four pictures of two coloured shapes each on a light ground, with their captions, such as "
    + " ".join(some[0].caption)
    + ".",
)

# %% [markdown]
# **Figure 1.** Four of the scenes on which the captioners will be trained, with their captions. A caption describes one
# object, says where it is in relation to the other object, and describes the other object.
#
# A caption has nine or ten tokens, and each token needs different information from the image: *red* needs the colour of
# one object, *triangle* the shape of the other, and *left of* the positions of both. A single context vector for the
# whole image must hold all of this at once. It must also hold it in the right combination: it is not enough to know
# that something is red and that something is a triangle. With attention, the decoder can fetch for each token the
# information that this token needs.

# %% [markdown]
# ## A feature map is a grid of vectors
#
# What should the decoder attend to? In lesson 02 there was one encoder state for each input token. A CNN provides
# something similar: the output of its convolutional layers is a **feature map**, a grid of *cells* with a vector of $D$
# numbers, the **features**, in each cell. Our CNN turns an image of $48 \times 48$ pixels into a feature map of
# $12 \times 12$ cells, so that each cell stands for $4 \times 4$ pixels.
#
# Before any captioner is trained, the CNN learns to classify single objects by shape, colour and size. For this, a
# small window around each object is cut out of its scene. (A part of the other object may be visible in the window.)
# Afterwards we discard the output layer that did the classification, and keep the feature map. Xu et al. (2015), whose
# captioner this lesson follows, took a network that had been trained to classify photographs.

# %%
cnn = trained_cnn(some, photos)

# %% tags=["nbval-check-output"]
G = grids(cnn, photos[:1])  # [1, D, H, W]
print("image", [*photos[:1].shape], "→ grid", [*G.shape])

# %% [markdown]
# ### What does a cell see?
#
# A cell stands for $4 \times 4$ pixels, but its vector is computed from more of them. Each layer computes a cell from a
# small window of cells of the layer below, and each of those was computed from a window of its own. The part of the
# image that can influence a cell is called its **receptive field**. We can count how wide it is. We start with 1 pixel,
# and each layer adds its kernel width minus 1, times the product of the strides of all layers below it (for the first
# layer this product is 1). Our four layers have kernels of width 5, 3, 3 and 3, and the first two have stride 2. This
# gives $1 + 4 \cdot 1 + 2 \cdot 2 + 2 \cdot 4 + 2 \cdot 4 = 25$ pixels.
#
# We can also measure it: the derivatives of the cell's 64 numbers with respect to a pixel are 0 if the pixel lies
# outside the receptive field. Let us do so on a real photograph. The network has never seen one, but which pixels a
# cell can see depends on the layers alone.

# %%
photo = torch.from_numpy(captioning.photograph())  # [3, 480, 480], a real photograph
small = F.interpolate(photo[None], size=48, mode="area").to(DEVICE)  # [1, 3, 48, 48]
row, column = 4, 5  # one of the 12 x 12 cells
slopes = torch.autograd.functional.jacobian(lambda image: cnn(image)[0, :, row, column], small)  # [64, 1, 3, 48, 48]
reach = slopes.abs().sum(dim=(0, 1, 2))  # [48, 48], 0 where the cell does not depend on a pixel

# %% tags=["fold", "nbval-check-output"]
tall, wide = (int((reach.sum(dim=axis) > 0).sum()) for axis in (1, 0))
assert (tall, wide) == (25, 25)
print(f"the cell stands for 4 x 4 pixels and sees {tall} x {wide} of them: {tall * wide / 48**2:.2f} of the image")
show(
    captioning.receptive_field(photo, small[0], reach, (row, column), 12),
    "A portrait of a woman in uniform, three times. Left, under a grid of 12 by 12 cells, with one cell framed on her glasses. In "
    "the middle in coarse pixels, clear in a square of about half its width around the cell, with most of her face and hat, and "
    "dark elsewhere. Right a map of the derivatives, which are large close to the cell and small at the border of the square.",
)

# %% [markdown]
# **Figure 2.** What one cell sees. Left: the photograph, cut into the cells over which attention runs; the framed cell
# lies on the glasses. Middle: the pixels that the network is given; the vector of this cell depends on all pixels in
# the clear square, which holds most of the face. Right: how strongly it depends on each of them, as a share of the
# largest value. It depends strongly on many pixels around the cell, and weakly on those at the border of the square.
# (Grace Hopper, who wrote one of the first compilers. Photograph: James S. Davis, US Navy, 1984; public domain. It
# comes with matplotlib.)
#
# So weight on this cell is not weight on the glasses alone. This will matter when we ask what a captioner attends to.
# In deeper networks receptive fields are wider still. Take VGG-19, a network of 19 layers for photographs of
# $224 \times 224$ pixels. Counted in the same way, pooling layers included, the receptive field of a cell of its last
# convolutional layer is $252 \times 252$ pixels, larger than the whole photograph. (There, too, the pixels near the
# middle of the receptive field count most: Luo et al., 2016.)
#
# ### From the grid to a collection of vectors
#
# Attention does not need a grid. It needs a collection of vectors $X\,[L, D]$, one for each of the $L = H \cdot W$
# cells. We build it twice: with explicit loops, and by operations on the axes alone.

# %%
_, D, H, W = G.shape
X_loop = torch.zeros(1, H * W, D, device=DEVICE)  # [1, L, D]
for h in range(H):
    for w in range(W):
        X_loop[:, h * W + w] = G[:, :, h, w]

X = G.flatten(2).mT  # [1, D, H, W] -> [1, D, L] -> [1, L, D]

# %% tags=["fold"]
assert_close(X, X_loop)
assert_close(X.mT.unflatten(2, (H, W)), G)  # and back

# %% [markdown]
# `flatten(2)` joins the last two axes, the rows and the columns of the grid, and `.mT` swaps the last two axes of its
# result. The folded cell checks that both versions agree, and that we can go back from $X$ to the grid.
#
# **A trap.** The result has the shape $[1, L, D]$. `G.reshape(1, L, D)` has this shape, too. Does it hold the same
# numbers in the same order? To see where each number goes, we take a grid of the same shape in which feature $d$ of
# cell $i$ is simply the number $144\,d + i$. The vector of the first cell must be 0, 144, 288, and so on.

# %% tags=["nbval-check-output"]
numbered = torch.arange(D * H * W).reshape(1, D, H, W)  # [1, D, H, W], feature d of cell i is the number 144 d + i
for name, vectors in (("flatten(2).mT", numbered.flatten(2).mT), ("reshape", numbered.reshape(1, H * W, D))):
    print(f"{name:<13} shape {[*vectors.shape]}, first vector: {vectors[0, 0, :5].tolist()} …")

# %% [markdown]
# The shapes agree, but the vectors do not. `reshape` never changes the order of the numbers. It reads them as one list
# and cuts this list into new pieces. In the list, the 144 numbers of the first feature come first, then those of the
# second feature, and so on. A "vector" that `reshape` makes therefore holds one feature of 64 consecutive cells, or the
# end of one feature and the beginning of the next. There is no error message, and training may even seem to work.
# `flatten(2)` is safe, because it joins only axes that are neighbours and belong together; the axis of the features
# must be moved by `.mT` or `permute`.

# %% [markdown]
# ## Attention over the feature map
#
# You know the rest from lesson 02. A decoder state $s$ and the vector $x_i$ of each cell give a score, a softmax over
# all $L$ cells turns the scores into attention weights, and the context vector is the weighted sum of the cells (Xu et
# al., 2015: *Show, attend and tell*):
#
# $$e_i = s \cdot x_i, \qquad a_i = \frac{\exp(e_i)}{\sum_{j=1}^{L} \exp(e_j)}, \qquad c = \sum_{i=1}^{L} a_i\, x_i .$$
#
# (Lesson 04 will call $s$ the *query* and the cells the *data vectors*.) One thing is new: each weight belongs to a
# position in the image, so that we can draw the weights as an **attention map** over the image.
#
# Here is one step with the dot product as the score: with loops, as matrix products, and by PyTorch's own function.

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
c_torch = F.scaled_dot_product_attention(s[:, None], X, X, scale=1.0)[:, 0]  # [1, 1, D], [1, L, D] twice -> [1, D]

# %% tags=["fold"]
assert_close(e.unflatten(1, (H, W))[0], e_loop)
assert_close(c[0], c_loop, rtol=1e-4, atol=1e-5)
assert_close(c_torch, c, rtol=1e-4, atol=1e-5)

# %% [markdown]
# (The loop subtracts the largest score before it takes the exponential. This changes no weight and keeps the numbers
# small. The folded cell checks that all three versions agree.)
#
# The next cell draws three attention maps that are made up by hand.

# %% tags=["fold"]
made_up = torch.full((3, H, W), 1e-3)  # three maps by hand: upper left, the middle, everywhere alike
made_up[0, 1:4, 1:4] = made_up[1, 4:8, 4:8] = made_up[2] = 1.0
made_up /= made_up.sum(dim=(1, 2), keepdim=True)
show(
    captioning.word_maps(photos[0], ["upper left", "middle", "equal weights"], made_up, columns=3),
    "The same picture three times, clear where a made-up attention map has its weight, darker elsewhere: upper left, middle, "
    "and clear everywhere where all weights are equal.",
)

# %% [markdown]
# **Figure 3.** Three made-up attention maps over the same image. The image is clear where the weight is large and
# darker where it is small; equal weights leave the whole image clear.
#
# All attention maps of this lesson are drawn in this way. Each has a scale of its own, which stands below it and runs
# from 0 to the largest weight of the map. (There is one weight for each cell; between the centres of the cells the
# pictures are smoothed.) If all 144 weights are equal, each of them is $1/144 \approx 0.007$, and the decoder attends
# to no cell in particular.

# %% [markdown]
# ## One token at a time
#
# The captioner needs three more parts:
#
# 1. **A first state.** The decoder starts from the mean of all cells:
#    $s_0 = \tanh(\mathrm{linear}(\frac{1}{L} \sum_i x_i))$.
# 2. **A gate.** After *left* comes *of*, and for this token the decoder does not need the image. A **gate**
#    $\beta_t = \sigma(\mathrm{gate}(s_{t-1}))$, a number between 0 and 1, decides how much of the context vector the
#    step receives: $z_t = \beta_t c_t$. Here $\mathrm{gate}$ is a linear layer with one output, and $\sigma$ is the
#    sigmoid.
# 3. **The positions of the cells.** The features of a cell say what is there, but not where the cell is. To write *left
#    of*, the decoder has to know where the objects are. The weighted sum does not tell it: if we shuffle the cells, the
#    context vector stays the same (see the last section of lesson 02). So we add to each cell a vector that is computed
#    from its row and column, a **positional encoding**. Lesson 05 is about such encodings. In the captioner, $x_i$ is
#    always cell $i$ with this vector added.
#
# The rest of the step is that of lesson 02, with $z_t$ in place of $c_t$. The scores are additive,
# $e_{t,i} = v \cdot \tanh(s_{t-1} W + x_i U)$. (Here $W$ is a learned matrix, as in lesson 02, not the width of the
# grid.) The next state is $s_t = g_U([y_{t-1}; z_t], s_{t-1})$, where $g_U$ is a GRU and $y_{t-1}$ stands for the
# embedding of the previous token. The logits are computed from $[s_t; z_t]$.

# %% tags=["fold"]
left, top, right, bottom = (side / 4 for side in some[0].things[0].box)  # of the described object, in cells
rows, columns = torch.meshgrid(torch.arange(H) + 0.5, torch.arange(W) + 0.5, indexing="ij")
away = (rows - (top + bottom) / 2).square() + (columns - (left + right) / 2).square()  # from its middle, squared
show(
    captioning.captioner(photos[0], torch.exp(-away / 4), *some[0].caption[2:4]),
    "A diagram of one step. Above, from left to right: an image, the grid of 144 cells that the CNN makes of it, the grid of "
    "attention weights, which are large on the described object, and the context vector c, the weighted sum of the cells. "
    "Below: the decoder state before the step enters the scores, the gate beta, and a GRU. The gate multiplies c, which gives z. "
    "The GRU reads z, the previous token and the old state, and makes the new state. From the new state and z comes the next token.",
)

# %% [markdown]
# **Figure 4.** One step of the captioner, with made-up weights (blue). The old state $s_{t-1}$ enters three parts of
# the step: the scores of the cells, the gate and the GRU. The output token is computed from the new state and from what
# the gate lets through.
#
# For comparison we also build a captioner without attention. It gets one vector, which a linear layer and a ReLU make
# from all cells, in place of $c_t$ at every step. Everything else is the same in both.
#
# The folded cell contains the loop over the tokens of a caption: `forward` runs it with teacher forcing, `write` with
# greedy decoding. The cell after it defines the parts of the captioner and a single step.


# %% tags=["fold"]
class Writer(nn.Module):
    """Runs the steps of a captioner over whole captions."""

    def forward(self, G, Y):
        """Logits [B, T, V] with teacher forcing, and weights [B, T, L] if it attends."""
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
        """The likeliest words [B, T], one after the other, with [PAD] behind [STOP]; and the weights [B, T, L] if it attends."""
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


# %%
class Captioner(Writer):
    """Writes tokens from a grid. It attends to the cells before each token; or, for comparison, gets one vector."""

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
        """What all steps share: the cells X, their part x_i U of the scores (or the one vector), and the state s_0."""
        axis = torch.linspace(-1, 1, G.shape[-1], device=G.device)
        places = torch.cartesian_prod(axis, axis)  # [L, 2]: row and column of each cell
        X = G.flatten(2).mT + self.place(places)  # [B, L, D]
        known = self.U(X) if self.looks else torch.relu(self.one(X.flatten(1)))  # [B, L, D_A] or [B, D]
        return X, known, torch.tanh(self.begin(X.mean(dim=1)))  # [B, D_S]

    def step(self, y, s, X, known):
        """One token: y [B] and s [B, D_S] give the logits [B, V], the new s and the weights [B, L]."""
        a, c = None, known
        if self.looks:
            e = self.v(torch.tanh(self.W(s)[:, None] + known))[..., 0]  # [B, 1, D_A] + [B, L, D_A] -> [B, L]
            a = e.softmax(dim=-1)
            c = (a[:, None] @ X)[:, 0]  # [B, D]
        z = torch.sigmoid(self.gate(s)) * c  # [B, 1] * [B, D]
        s = self.cell(torch.cat([self.embedding(y), z], dim=-1), s)  # [B, D_E + D] and [B, D_S] -> [B, D_S]
        return self.out(torch.cat([s, z], dim=-1)), s, a  # [B, D_S + D] -> [B, V]


# %% [markdown]
# ## Training the captioner
#
# The weights of the CNN stay fixed, so its feature maps are computed only once. Both captioners are trained on the same
# scenes for the same number of steps. The loss is the cross-entropy of the right tokens, as in lesson 02; the folded
# cell computes it. (It can also add a penalty, which the section on doubly stochastic attention explains.)

# %% tags=["fold"]
grid, new_grid = grids(cnn, photos), grids(cnn, new_photos)  # [SCENES, 64, 12, 12], [300, 64, 12, 12]


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

# %%
remembering, loss_one = trained(looks=False)
looking, loss_attention = trained(looks=True)

# %% tags=["fold"]
SHADES = plots.SHADES  # as in lesson 02
ends = range(25, STEPS + 1, 25)
curves = {
    name: [sum(losses[end - 25 : end]) / 25 for end in ends]
    for name, losses in (("one vector", loss_one), ("attention", loss_attention))
}
figure, (axes,) = plots.canvas(7, 3.4)
lines = {"styles": dict.fromkeys(curves, "-"), "colours": SHADES}
plots.curves(ends, curves, x_label="step", y_label="mean −log P per token", axes=axes, **lines)
show(
    figure,
    "Training loss over the steps. After the first steps it falls faster with attention, and ends lower.",
)

# %% [markdown]
# **Figure 5.** The training loss of both captioners. With attention the loss falls faster after the first steps, and it
# ends lower.
#
# We test both captioners on 300 new scenes, with greedy decoding. A caption counts as *exact* if every token is right.


# %%
def exact(model):
    """The share of new scenes whose caption is right in every word."""
    return (model.write(new_grid)[0] == new_captions).all(dim=1).float().mean().item()


# %% [markdown]
# Before we count, let us look at some captions that are not exact.


# %% tags=["fold"]
def in_words(numbers):
    """The words of captions [B, T]."""
    return [[names.words[one] for one in row if one not in (PAD, STOP)] for row in numbers.tolist()]


told = {"one vector": remembering.write(new_grid)[0], "attention": looking.write(new_grid)[0]}
wrong = {name: (said != new_captions).any(dim=1) for name, said in told.items()}  # [300] each
picked = [only.nonzero()[:2, 0].tolist() for only in (wrong["one vector"] & ~wrong["attention"], wrong["attention"])]
picked = [*picked[0], *picked[1]]
show(
    captioning.compared(
        new_photos[picked],
        [
            {"right": fresh[number].caption, **{name: in_words(said[[number]])[0] for name, said in told.items()}}
            for number in picked
        ],
    ),
    "Four new scenes, each beside three captions: the right one, that of the captioner with one vector and that of the captioner "
    "with attention. Wrong tokens are framed. "
    + " ".join(
        f"Scene {place}: right {' '.join(fresh[number].caption)}; "
        + "; ".join(f"{name} {' '.join(in_words(said[[number]])[0])}" for name, said in told.items())
        + "."
        for place, number in enumerate(picked, 1)
    ),
)

# %% [markdown]
# **Figure 6.** Captions that are not exact, with the wrong tokens framed. In the first two scenes only the captioner
# with one vector makes a mistake; in the last two the captioner with attention makes one. Every caption here has the
# form of a right caption, and most of its tokens are right.
#
# Now we count the exact captions, and how many captions name a wrong size, colour, shape or relation.

# %% tags=["fold"]
shares = {"one vector": exact(remembering), "attention": exact(looking)}
print(", ".join(f"{name}: {share:.2f} of the captions are exact" for name, share in shares.items()))


def mistaken(said):
    """The share of captions in which a size, a colour, a shape or the relation is wrong."""
    found = {"size": [], "colour": [], "shape": [], "relation": []}
    for ours, scene in zip(in_words(said), fresh, strict=True):
        right = scene.caption
        for place, kind in enumerate(("size", "colour", "shape"), 1):
            found[kind].append(ours[place : place + 1] != [right[place]] or ours[place - 4 :][:1] != [right[place - 4]])
        found["relation"].append(ours[4:-4] != list(right[4:-4]))
    return {kind: sum(bad) / len(bad) for kind, bad in found.items()}


mistakes = {name: mistaken(said) for name, said in told.items()}
swapped = []  # for each wrong colour of the captioner with one vector: is it the colour of the other object?
for ours, scene in zip(in_words(told["one vector"]), fresh, strict=True):
    for place, other in ((2, -2), (-2, 2)):
        if len(ours) >= 8 and ours[place] != scene.caption[place]:
            swapped.append(ours[place] == scene.caption[other])
print(
    f"wrong colours of one vector: {sum(swapped) / max(1, len(swapped)):.2f} of them are the colour of the other object"
)
figure, (left, axes) = plots.canvas(10, 3.2, 2, gridspec_kw={"width_ratios": [1, 2]})
plots.bars(
    [*shares.values()], [*shares], value_label="exact captions", limits=(0, 1.08), colour=[*SHADES.values()], axes=left
)
for number, (name, found) in enumerate(mistakes.items()):
    places = [place + 0.38 * (number - 0.5) for place in range(len(found))]
    drawn = axes.bar(places, [*found.values()], width=0.36, color=SHADES[name], label=name)
    axes.bar_label(drawn, labels=[f"{share:.2f}" for share in found.values()], padding=2)
axes.set_xticks(range(len(found)), [*found])
axes.set(ylabel="share of captions", title="captions with a wrong …")
plots.legend_of(axes)
axes.margins(y=0.15)
show(
    figure,
    f"Left, the share of exact captions on new scenes: {shares['one vector']:.2f} with one vector, {shares['attention']:.2f} with "
    "attention. Right, the share of captions with a wrong size, colour, shape or relation: "
    + "; ".join(f"{name} {', '.join(f'{kind} {share:.2f}' for kind, share in found.items())}" for name, found in mistakes.items())
    + ".",
)

# %% [markdown]
# **Figure 7.** Left: the share of exact captions on new scenes; with attention the captioner describes more of them
# without any mistake. Right: the share of captions with a wrong size, colour, shape or relation. (A caption may have
# several mistakes.)

# %% tags=["fold", "nbval-check-output"]
if not FULL:  # the long run makes fewer mistakes, as is said below
    assert shares["attention"] > 0.75 and shares["one vector"] < shares["attention"] - 0.05
    print("exact captions: more than 0.75 with attention, at least 0.05 fewer with one vector")
    assert mistakes["one vector"]["colour"] > 0.1 > mistakes["attention"]["colour"]
    print("captions with a wrong colour: more than 0.1 with one vector, less with attention")
    assert sum(swapped) > 0.8 * len(swapped)
    print("wrong colours of one vector: more than 0.8 of them are the colour of the other object")

# %% [markdown]
# The captioner with one vector names a wrong colour more often than the captioner with attention, and nearly all of
# its wrong colours are those of the other object. It knows which colours are in the image, but not always which object
# has which colour. This is the difficulty that we expected: one vector must hold the properties in the right
# combination. How often each kind of mistake occurs differs from run to run and from machine to machine; compare the
# bars of the relation, for which the decoder has to compare the positions of both objects.
#
# Attention helps here, but not for the same reason as in lesson 02. There, one vector lost part of a long sentence.
# Here, most of what the caption needs, three properties of each object and the relation, does fit into one vector of 64
# numbers. We see this in the stored run further down, with three times the scenes and five times the steps. There the
# difference is much smaller: 0.92 of the captions are exact with one vector, and 0.98 with attention. (Both captioners
# also have the first state $s_0$, which is computed from the mean of the cells.) But with one vector, the captioner
# needs more scenes and more steps to learn how to pack this information into the vector and how to unpack it again.
#
# Two remarks on the comparison. First, the captioner with attention is better although it has far fewer parameters: the
# layer that makes the one vector has about 590,000 of them, and the scores of attention have only about 4,000. Second,
# although the test images are new, most of their captions are not: only 1,920 captions are possible, and most of them
# occur in the training data.
#
# **Published results.** Xu et al. (2015, table 1) tested their captioners on photographs with captions written by
# people (the data set COCO). The log-bilinear model in their table has no attention. BLEU-4 is BLEU with runs of one to
# four tokens, as in lesson 01; METEOR is a measure that also accepts synonyms.
#
# | captioner | BLEU-4 | METEOR |
# |---|---|---|
# | log-bilinear, without attention | 24.3 | 20.03 |
# | soft attention, as in this lesson | 24.3 | 23.90 |
# | hard attention (below) | 25.0 | 23.04 |
#
# In BLEU-4, soft attention gains nothing over the model without attention; in METEOR it gains almost 4 points. So there
# the gain depends on what is measured. (The two models also differ in other parts, so the table is not a controlled
# comparison like ours.)
#
# The captioner of Xu et al. differs from ours in size and in some parts: it adds no positional encoding; its feature
# map is $14 \times 14 \times 512$ and comes from VGG, a network trained on about a million photographs; its decoder is
# an LSTM instead of a GRU; and its logits are computed from the previous token, the state and the context vector
# together.

# %% [markdown]
# ## Does the captioner attend to what it names?
#
# The captioner was trained on captions alone. It was never told where an object is. (The positions of the objects were
# used only to cut out the windows on which the CNN had been trained. The CNN itself was never asked where in a whole
# image an object is.) The next figure shows the attention map for each token, with teacher forcing: the
# decoder is fed the right tokens. A white **box**, the rectangle around an object, marks the object that the token
# describes. It is drawn for us; the captioner does not know it.

# %% tags=["fold"]
written, own_weights = looking.write(new_grid)  # [300, T], [300, T, L]
gates = []  # a [300, 1] for each step
noting = looking.gate.register_forward_hook(lambda layer, given, made: gates.append(torch.sigmoid(made).cpu()))
with torch.no_grad():
    weights = looking(new_grid, new_captions)[1]  # [300, T, L], with teacher forcing
noting.remove()
weight_maps, own_maps = (A.unflatten(-1, (H, W)).cpu() for A in (weights, own_weights))  # [300, T, H, W] each


# %% tags=["fold"]
def words_of(number):
    """The words that were written for a new scene."""
    return in_words(written[[number]])[0]


def boxes_of(scene):
    """For each word of the caption the box of the thing it is about, or None."""
    return [None if place is None else scene.things[place].box for place in scene.mentions]


right = (written == new_captions).all(dim=1).tolist()
shown = right.index(True, 3)  # an exact caption whose share of the weight, measured below, is close to the mean
told = words_of(shown)
show(
    captioning.word_maps(new_photos[shown], told, weight_maps[shown, : len(told)], boxes_of(fresh[shown])),
    "The picture once for each token of its caption, clear where the captioner attended for that token. For colour and shape the "
    "clear spot is on the object or just beside it; for of it is in an empty corner.",
)

# %% [markdown]
# **Figure 8.** Attention maps of one caption, token by token. For the colour and the shape of an object, most of the
# weight is on the object or just beside it. For the size, part of the weight is on or beside the other object. For
# *of*, most of the weight is on empty ground.
#
# How much of the weight is on the object in other captions? We measure it for every token that names a size, a colour
# or a shape. Let $b$ be the box of the object that token $t$ describes. We add up the weights of all cells that this
# box touches, even if a cell extends beyond the box (by three pixels at most):
#
# $$\text{share of the weight on the object} = \sum_{i \text{ touches } b} a_{t,i} .$$
#
# For comparison we compute the same share for the box of the *other* object, and the share that the described object
# would get if all cells had the same weight.


# %% tags=["fold"]
def touched(box):
    """[H, W]: 1 at cells that a box touches, 0 elsewhere."""
    left, top, right, bottom = (side / 4 for side in box)  # in cells
    rows, columns = torch.arange(H), torch.arange(W)
    return ((rows + 1 > top) & (rows < bottom)).float()[:, None] * ((columns + 1 > left) & (columns < right)).float()


KINDS = {"size": [*scenes.SIDES], "colour": [*scenes.COLOURS], "shape": [*scenes.SHAPES]}
DESCRIBING = sum(KINDS.values(), [])


def pointing(weight_maps, words=DESCRIBING, described=fresh):
    """Mean share of the weight on the named object, on the other one, and on the named one if all weights were equal."""
    named, other, alike = [], [], []
    for scene, looks in zip(described, weight_maps, strict=True):
        for place, about in enumerate(scene.mentions):
            if about is not None and scene.caption[place] in words:
                inside = touched(scene.things[about].box)
                named.append((looks[place] * inside).sum().item())
                other.append((looks[place] * touched(scene.things[1 - about].box)).sum().item())
                alike.append(inside.mean().item())
    return [sum(one) / len(one) for one in (named, other, alike)]


points = pointing(weight_maps)
figure, (axes,) = plots.canvas(7.5, 3)
labels = ["on the described\nobject", "on the\nother object", "on the described object,\nif all weights were equal"]
for label, point in zip(labels, points, strict=True):
    print(f"{label}: {point:.2f}".replace("\n", " "))
example = pointing(weight_maps[[shown]], described=[fresh[shown]])[0]
print(f"on the described object, in the caption of the figure above alone: {example:.2f}")
shades = [plots.WEIGHTS, plots.WEIGHTS, plots.GREY]
plots.bars(points, labels, value_label="share of the weight", limits=(0, 1), colour=shades, axes=axes)
show(
    figure,
    "Most of the weight lies on the described object, little on the other; with equal weights the described one would get little, "
    "too.",
)

# %% [markdown]
# **Figure 9.** Where the weight lies for tokens that name a size, a colour or a shape, averaged over 300 new captions.
# Most of it is on the object that the token describes, far more than equal weights would give (grey). In the run
# printed here, Figure 8 shows a typical caption: its own share, in the last line of the output, is close to this mean.

# %% tags=["fold", "nbval-check-output"]
assert points[0] >= 0.6 and points[1] < 0.15 and points[0] > 4 * points[2]
print("share of the weight: at least 0.6 on the described object, less than 0.15 on the other one")
print(f"equal weights would put {points[2]:.2f} on the described object")

# %% [markdown]
# Does the decoder attend to the described object equally well for all kinds of tokens? And what does the gate do? The
# next figure shows the share of the weight and the mean of the gate for each kind of token, over the same 300 captions.

# %% tags=["fold"]
by_kind = {kind: pointing(weight_maps, words)[0] for kind, words in {"a": ["a"], **KINDS}.items()}
sorts = {"a": ["a"], **KINDS, "where": ["above", "below", "left", "right"], "of": ["of"]}
opened = {sort: [] for sort in sorts}
for number, scene in enumerate(fresh):
    for place, word in enumerate(scene.caption):
        opened[next(sort for sort, words in sorts.items() if word in words)].append(gates[place][number].item())
figure, panels = plots.canvas(10.5, 3, 2)
plots.bars([*by_kind.values()], [*by_kind], value_label="weight on the object", limits=(0, 1.12), axes=panels[0])
panels[0].axhline(points[2], color=plots.BLACK, linestyle=":", linewidth=1.8)
panels[0].text(3.5, points[2] + 0.02, "equal weights", va="bottom")
panels[0].set_xlim(-0.6, 4.7)
means = [sum(found) / len(found) for found in opened.values()]
plots.bars(means, [*opened], value_label="mean gate β", limits=(0, 1.12), colour=plots.GREY, axes=panels[1])
show(
    figure,
    "Left, the share of the weight on the described object for a, size, colour and shape: it is largest for colour and shape, and "
    "everywhere larger than it would be with equal weights. "
    "Right, the mean gate for each kind of token: nearly open for size, colour and shape, lowest for of.",
)

# %% [markdown]
# **Figure 10.** Left, the share of the weight on the described object; right, the mean of the gate $\beta_t$, for each
# kind of token. The dotted line shows the share if all weights were equal. In the left panel, compare the bar for *a*
# with the bar for shapes; in the right panel, compare *of* with the other tokens (*where* stands for *above*, *below*,
# *left* and *right*).
#
# In the run printed here, the share is largest for colour and shape, and smaller for the size and for *a*. That it is
# small for *a* is no surprise: every description begins with *a*, so the decoder needs no image to write this token.
# The gate is almost fully open for colour and shape. It is most closed for *of*, which needs no image either. But the
# gate does not simply follow this need: it is more open for *a*, which needs no image, than for *where*, which does. A
# possible reason is that whatever passes the gate also enters the state $s_t$, so the decoder can use a step to prepare
# for the tokens that follow. It may know something about the positions before it has to name the relation.
#
# So the captioner attends to what it names. But we must be careful about what this means. The vector of a cell depends
# on all pixels in the receptive field of the cell, as we saw on the photograph: $25 \times 25$ pixels, about a quarter
# of the image. Weight on a cell *beside* an object can therefore fetch information about the object, and weight *on* an
# object can fetch information about the other one. As in lesson 02, the attention weights tell us from which vectors
# the decoder takes its information, not which part of the input this information is about.
#
# **Try it.** Choose a new scene, and a token of the caption that the captioner writes for this scene.


# %% tags=["fold"]
def look_at(scene, place):
    number = int(scene) - 1
    told = words_of(number)
    word = min(int(place), len(told)) - 1
    boxes = [fresh[number].things[about].box for about in (0, 1)]
    return captioning.word_maps(
        new_photos[number],
        ["the image", f"“{told[word]}”"],
        [None, own_maps[number, word]],
        [None, boxes[0] if word < 4 else boxes[1] if word >= len(told) - 4 else None],
        columns=2,
        title=" ".join(f"[{one}]" if n == word else one for n, one in enumerate(told)),
    )


def say_look(scene, place):
    number = int(scene) - 1
    told = words_of(number)
    word = min(int(place), len(told)) - 1
    row, column = divmod(own_maps[number, word].argmax().item(), W)
    verdict = "right" if right[number] else f"should be “{' '.join(fresh[number].caption)}”"
    return f"“{told[word]}” attends most to row {row + 1}, column {column + 1} of {H} by {W} cells. “{' '.join(told)}” ({verdict})."


explore(look_at, alt=say_look, scene=Slider("new scene", 1, 40, 10, 1), place=Slider("token", 1, 10, 3, 1))


# %% [markdown]
# **Figure 11.** A new scene, and the attention map of one token of the caption that the captioner has written itself.
# The caption stands above with the token in brackets; the white box marks the object that the right caption describes
# at this token.

# %% [markdown]
# ## Doubly stochastic attention
#
# For each token, the weights over all cells sum to 1. So every row of the matrix of weights $A\,[T, L]$ sums to 1. Xu
# et al. also wanted every *column* to sum to about 1: over a whole caption, the decoder should attend to each cell
# about once, so that it leaves nothing out. To encourage this they add a penalty to the loss of each caption,
#
# $$\lambda \sum_{i=1}^{L} \Big(1 - \sum_{t=1}^{T} a_{t,i}\Big)^2 ,$$
#
# with a strength $\lambda$ that we choose. A square matrix without negative entries whose rows and columns all sum to 1
# is called doubly stochastic. Therefore the paper calls this *doubly stochastic attention*. Padding does not count as a
# token: $t$ runs only over the real tokens of the caption.


# %%
def penalty(A, real):
    """The penalty without its strength: weights A [B, T, L]; real [B, T] is True where a token is not padding."""
    received = (A * real[..., None]).sum(dim=1)  # [B, T, L] * [B, T, 1] -> [B, L], what each cell gets
    return (1 - received).square().sum(dim=-1).mean()  # [B, L] -> [B] -> a number


# %% [markdown]
# Which attention does the penalty prefer? We compare three matrices of weights for four tokens and four cells:

# %% tags=["nbval-check-output"]
real = torch.ones(1, 4, dtype=torch.bool)
staring, sweeping, even = torch.zeros(1, 4, 4), torch.eye(4)[None], torch.full((1, 4, 4), 0.25)
staring[..., 0] = 1.0
for name, looks in (
    ("always the same cell", staring),
    ("each cell once", sweeping),
    ("equal weights at every token", even),
):
    print(f"{name:>20}: penalty {penalty(looks, real):.0f}")

# %% [markdown]
# The penalty is large if the decoder always attends to the same cell. But it does not distinguish attending to each
# cell once from attending to all cells equally at every token.
#
# Can the penalty be 0 for our captioner? Each token distributes a weight of 1. So a caption of $T$ tokens, ten or
# eleven with `[STOP]`, distributes a weight of $T$, while 144 cells would need a weight of 144. Let
# $k_i = \sum_t a_{t,i}$ be the total weight that cell $i$ receives. Since the $k_i$ sum to $T$,
#
# $$\sum_{i=1}^{L} (1 - k_i)^2 = L - 2T + \sum_{i=1}^{L} k_i^2 ,$$
#
# and the right side is smallest if all $k_i$ are equal to $T/L$. So the penalty is never 0 when $T < L$, and it favours
# weight that is spread evenly.
#
# What does this do to the attention maps and to the captions? Our images are mostly empty, and a decoder that writes
# about two objects has no reason to spread its attention over the whole of the empty ground. In the stored long run the
# same captioner was also trained with the penalty, at two strengths.

# %% tags=["fold"]
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
told = ", ".join(f"with {name} {long['exact'][name]:.2f}" for name in ("one vector", "attention"))
print(f"{long['scenes']:,} scenes, {long['steps']:,} steps: exact {told}")
print(f"share of the weight on the described object: {long['pointing'][0]:.2f}")


# %% tags=["fold"]
def interval(share, count, z=1.96):
    """Where a share measured on `count` scenes may really lie, in 95 of 100 such measurements (Wilson, 1927)."""
    middle, scale = share + z**2 / (2 * count), 1 + z**2 / count
    reach = z * (share * (1 - share) / count + z**2 / (4 * count**2)) ** 0.5
    return (middle - reach) / scale, (middle + reach) / scale


strengths = [*long["penalty"]]
figure, (left, axes) = plots.canvas(9.5, 3.3, 2)
pointed, right_ones = (
    [long["penalty"][strength][measure] for strength in strengths] for measure in ("pointing", "exact")
)
labels = [f"λ = {float(one):g}" for one in strengths]
plots.bars(pointed, labels, value_label="weight on the described object", limits=(0, 1), axes=left)
lower, upper = zip(*(interval(share, len(fresh)) for share in right_ones))
reaches = [
    [share - low for share, low in zip(right_ones, lower)],
    [high - share for share, high in zip(right_ones, upper)],
]
axes.errorbar(
    range(len(labels)), right_ones, yerr=reaches, fmt="o", markersize=8, linewidth=2, capsize=6, color=plots.BLUE
)
for place, share in enumerate(right_ones):
    axes.annotate(f"{share:.3f}", (place, share), xytext=(10, 0), textcoords="offset points", va="center")
axes.set_xticks(range(len(labels)), labels)
axes.set(xlim=(-0.5, len(labels) - 0.3), ylim=(0.9, 1.0), ylabel="exact captions", title="this axis begins at 0.9")
axes.grid(True, axis="y")
show(
    figure,
    "For three strengths of the penalty, from the stored run. Left, bars: the stronger it is, the smaller the share of the weight "
    "on the described object. Right, points on an axis from 0.9 to 1: the shares of exact captions lie between 0.97 and 0.99, and "
    "their intervals overlap almost completely.",
)

# %% [markdown]
# **Figure 12.** The stored run with three strengths $\lambda$ of the penalty, of which 0 means no penalty. Left: the
# stronger the penalty, the smaller the share of the weight on the described object. Right: the share of exact captions
# hardly changes. Each vertical line is a 95% confidence interval: where the share may really lie, given that it was
# measured on only 300 scenes. The lines overlap almost completely.
#
# On these images the penalty does what its formula says: it spreads the attention over the image, away from the
# objects. The captions become neither better nor worse: the shares of exact captions differ by less than a hundredth,
# which may be chance, since there is only one run for each strength. Xu et al. report that the penalty improved their
# captions of photographs. Whether such a term helps depends on the data.

# %% [markdown]
# ## Soft and hard attention
#
# So far, a context vector was a weighted sum of *all* cells. This is called **soft attention**. **Hard attention**
# draws *one* cell at random, with the attention weights as probabilities, and takes the vector of this cell as the
# context vector. It does not need the weighted sum, although it still needs all the scores. How can hard attention be
# trained?
#
# The difficulty is that no gradient passes through the draw: if a score changes a little, the drawn cell usually stays
# the same. But we can compute how the *mean* loss over many draws changes with the scores. Suppose that the loss
# depends on the context vector alone, for example $\ell(c) = |c - g|^2$ with a fixed goal $g$. Then the mean loss of
# hard attention is $\sum_i a_i\, \ell(x_i)$. Since $\nabla a_i = a_i\, \nabla \log a_i$, the gradient of this mean
# is
#
# $$\nabla \sum_i a_i\, \ell(x_i) = \sum_i \ell(x_i)\, \nabla a_i = \sum_i a_i \cdot \ell(x_i)\, \nabla \log a_i .$$
#
# The right side is the mean of $\ell(x_i)\, \nabla \log a_i$ if each $i$ is drawn with probability $a_i$. So we can
# estimate the gradient from draws (*REINFORCE*, Williams, 1992). With respect to the scores, $\nabla \log a_i$ is the
# one-hot vector of $i$ minus the vector of all weights. We now check this on six made-up cells, and see how noisy the
# estimate is.

# %%
cells, goal = normal(6, 4), normal(4)  # [L, D], [D]
scores = normal(6).requires_grad_()  # [L]
losses = (cells - goal).square().sum(dim=-1)  # [L]: the loss if cell i is drawn
(true_slope,) = torch.autograd.grad((scores.softmax(dim=-1) * losses).sum(), scores)  # [L]

probabilities = scores.detach().softmax(dim=-1)
drawn = torch.multinomial(probabilities.cpu(), 20000, replacement=True, generator=generator).to(DEVICE)  # [20000]
slopes = losses[drawn, None] * (
    F.one_hot(drawn, 6) - probabilities
)  # [20000, L]: ℓ(x_i) ∇ log a_i, a row for each draw

# %% tags=["fold", "nbval-check-output"]
error = (slopes.mean(dim=0) - true_slope).norm() / true_slope.norm()
single = (slopes - true_slope).norm(dim=-1).mean() / true_slope.norm()
print(f"mean loss of hard attention {(probabilities * losses).sum():.2f}, loss of soft attention", end=" ")
print(f"{(probabilities @ cells - goal).square().sum():.2f}")
print(f"mean of 20000 draws: off by {error:.2f} of the gradient's length")
print(f"one single draw: off by {single:.1f} of the gradient's length on average")
assert error < 0.1 and single > 1

# %% [markdown]
# The mean of many draws is close to the true gradient, but a single draw is mostly noise: on average its error is 3.7
# times as long as the gradient itself. The noise can be reduced if we subtract from $\ell(x_i)$ a number that does not
# depend on the draw, a **baseline**, such as the mean of the losses so far. The mean of the estimate does not change,
# since $\nabla \log a_i$ has mean 0. Xu et al. trained with such a baseline. In the table above, hard attention has a
# slightly higher BLEU-4 than soft attention on COCO, and a slightly lower METEOR. Soft attention has an exact gradient,
# and it is what most models use.
#
# Soft and hard attention are also different models, as the first line of the output shows. The loss of hard attention
# is the weighted mean of the losses of the cells. The loss of soft attention is the loss of their weighted mean, the
# context vector. For a convex loss such as this one, the loss of the mean vector is never larger than the mean of the
# losses.

# %% [markdown]
# ## Summary
#
# | what | formula | shape |
# |---|---|---|
# | cells of the feature map | `G.flatten(2).mT`, never `reshape` | $[B, D, H, W] \to [B, L, D]$, $L = H \cdot W$ |
# | first state | $s_0 = \tanh(\mathrm{linear}(\frac{1}{L} \sum_i x_i))$ | $[B, D_S]$ |
# | scores and weights | $e_{t,i} = v \cdot \tanh(s_{t-1} W + x_i U)$, $a_t = \operatorname{softmax}(e_t)$ over all cells | $[B, L]$ |
# | context vector and gate | $c_t = \sum_i a_{t,i}\, x_i$, $\beta_t = \sigma(\mathrm{gate}(s_{t-1}))$, $z_t = \beta_t c_t$ | $[B, D]$, $[B, 1]$, $[B, D]$ |
# | decoder step | $s_t = g_U([y_{t-1}; z_t], s_{t-1})$, logits from $[s_t; z_t]$ | $[B, D_S]$, $[B, V]$ |
# | penalty (doubly stochastic) | $\lambda \sum_i (1 - \sum_t a_{t,i})^2$ | a number |
# | soft, hard | weighted sum of all cells; one cell drawn with probability $a_{t,i}$ | $[B, D]$ |
#
# ```python
# X = G.flatten(2).mT  # [B, D, H, W] -> [B, L, D]
# # with the dot product as the score, so that s has D numbers: [B, 1, D], [B, L, D] twice -> [B, D]
# c = F.scaled_dot_product_attention(s[:, None], X, X, scale=1.0)[:, 0]
# maps = A.unflatten(-1, (H, W))  # [B, T, L] -> [B, T, H, W], one attention map for each token
# ```
#
# The lesson began with a question: which difficulty do you expect if one vector stands for the whole image? In our
# experiment it was to keep each property together with its object. With attention, the decoder fetches for each token
# what this token needs.
#
# The picture to remember is the row of attention maps over one image, one for each token (Figure 8): the bright spot
# moves to the object that the token describes. But a cell sees more of the image than the spot shows.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> The feature map is 14 by 14 with 512 features, and a caption has 11 tokens,
# <code>[STOP]</code> included. What are the shapes of $X$, of all attention weights together, and of all context
# vectors together?</summary>
#
# $X\,[196, 512]$, $A\,[11, 196]$, and the context vectors $[11, 512]$.
#
# </details>
#
# <details><summary><b>2.</b> The softmax over the feature map is taken with <code>dim=-1</code> on scores $[B, H, W]$.
# What is wrong, and would you notice it from the shapes?</summary>
#
# Each row of the grid would get a softmax of its own, so that the weights of one token sum to $H$ instead of 1. All
# shapes are right, so you would not notice. Flatten the scores to $[B, L]$ first.
#
# </details>
#
# <details><summary><b>3.</b> All images are mirrored left to right, and the captions are kept. Which words no longer
# fit?</summary>
#
# If the objects stand side by side and differ in size, *left of* and *right of* are wrong. If they stand side by side
# and have the same size, the two descriptions have to change places, since the caption names the left object first. If
# one object is above the other, all words still fit.
#
# </details>
#
# <details><summary><b>4.</b> Why is the mean of the cells a poor single vector for these images, however good the CNN
# is?</summary>
#
# The mean does not tell where the cells are. If each cell saw one object at most, the mean would be the same for a red
# circle left of a blue square and for a red circle right of it. Only a cell that sees both objects, or the border of
# the image, can tell the difference, and the mean dilutes its information. The mean also mixes the properties of the
# two objects.
#
# </details>
#
# <details><summary><b>5.</b> If there were no gate, what could the decoder do at a token for which it needs no
# image?</summary>
#
# The weights sum to 1, so the decoder always receives *some* mixture of the cells. It could attend to empty ground,
# whose vectors say little.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **`reshape` is not `permute`.** `G.reshape(B, H*W, D)` has the right shape, but mixes up cells and features.
# - **One softmax over all cells.** A softmax for each row of the grid is wrong.
# - **Rows before columns.** Cell $(h, w)$ has the number $h \cdot W + w$, counted from 0. The corners of a box are
#   given in pixels as $(x, y)$ = (column, row), but tensors are indexed as [row, column].
# - **Attention maps are not explanations.** A cell depends on its whole receptive field, and the decoder may predict a
#   token from the tokens before it, without the image.
# - **A CNN left in training mode.** Batch normalisation then makes the features of one image depend on the other images
#   of the batch. Call `.eval()`.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - Some slides draw a grid of 3 by 3 and write scores $e_{t,i,j}$ with two indices, row and column. This is the same;
#   here one index $i$ numbers all cells, as in the code.
# - Some slides call the features of the image $z$ or $h_{i,j}$; here they are $x_i$, and $z_t$ is the context vector
#   times the gate. Where these slides compute the first state from $z$, Xu et al. compute it from the mean of the
#   features, as we do here.
#
# </details>

# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/03_image_captioning/03_image_captioning.ipynb).
# - **Read on**: [lesson 04](04_attention_layer.ipynb) takes attention out of the decoder and makes a layer of it.
# - **Look up**: the [glossary](../docs/glossary.md).

# %% [markdown]
# ## References
#
# - K. Xu, J. Ba, R. Kiros, K. Cho, A. Courville, R. Salakhutdinov, R. Zemel, Y. Bengio (2015). Show, attend and tell:
#   neural image caption generation with visual attention. ICML. arXiv:1502.03044. *This lesson: soft and hard
#   attention, gate, penalty.*
# - O. Vinyals, A. Toshev, S. Bengio, D. Erhan (2015). Show and tell: a neural image caption generator. CVPR.
#   arXiv:1411.4555. *One vector.*
# - W. Luo, Y. Li, R. Urtasun, R. Zemel (2016). Understanding the effective receptive field in deep convolutional neural
#   networks. NeurIPS. arXiv:1701.04128. *Which pixels of a receptive field count most.*
# - R. J. Williams (1992). Simple statistical gradient-following algorithms for connectionist reinforcement learning.
#   Machine Learning 8. *REINFORCE.*
