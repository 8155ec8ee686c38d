# %% [markdown]
# # 12 · Attention in vision
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/12_attention_in_vision.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - compare recurrence, convolution and self-attention by operations, sequential steps and the length of a path, and
#   count each;
# - put self-attention into a convolutional network as SAGAN does, and say what it adds there and what it does not;
# - limit attention to windows of a grid or to neighbours in space, and count what this saves;
# - attend over a set of points, pool it by attention, and prove that its order does not matter;
# - write a picture pixel by pixel, and measure such a model in bits per pixel.
#
# **You need** from lesson 03 convolutions, feature maps and the scenes, from lesson 05 permutation equivariance, from
# lesson 07 causal masks and the autoregressive factorisation, and from lesson 08 what a layer costs. The terms and
# symbols of the course are listed in the [glossary](../docs/glossary.md).
#
# **Time** about 60 minutes to read; the cells run in about 20 seconds on two CPU cores.

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
import math
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from utils.data import scenes
from utils.data.digits import digits
from utils.data.solids import SOLIDS, solids
from utils.device import device
from utils.figures import attention_in_vision as drawing
from utils.figures import patches
from utils.figures.explorers import Choice, Grid, Slider, explore
from utils.figures.plots import show
from utils.measures import stored_runs, stored_weights
from utils.models.attention_in_vision import (
    Convolutions,
    FlatMLP,
    PixelModel,
    PointNetwork,
    counted,
    other_colours,
    with_answer,
)
from utils.models.grid_cnn import GridCNN, grids, trained_cnn
from utils.models.training import train

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
SEEDS = (0, 1, 2)

# %% [markdown]
# ## How far can a convolution see?
#
# Attention came into this course with sentences. Pictures had their own architecture long before, the convolutional
# network, and for good reasons: what belongs together in a picture mostly lies close together, and a convolution looks
# exactly there. But some questions about a picture cannot be answered from nearby.
#
# Take the scenes of lesson 03 and the small CNN that turns each of them into a grid of 12 by 12 cells. There it had
# to describe the picture. Here we ask a question of every cell in the rectangle around an object: *which colour has
# the **other** object?* A cell of the triangle below must say *green*, and to do so it must know about a circle that
# lies at the far end of the picture.

# %% tags=["fold"]
# @title Draws Figure 1
some = scenes.scenes(60, seed=12)
pictures_shown = scenes.images(some)
asked, apart = other_colours(some)
number = 20
cell = divmod(int(apart[number].argmax()), 12)  # the cell that is farthest from the other object
first, other = some[number].things


def within(reach):
    """Which of the 12 by 12 cells are at most so many rows and columns from the cell that asks."""
    line = torch.arange(12)
    return torch.maximum((line[:, None] - cell[0]).abs(), (line - cell[1]).abs()) <= reach


own = next(thing for thing in some[number].things if thing.colour != list(scenes.COLOURS)[asked[number][cell]])
wanted = list(scenes.COLOURS)[asked[number][cell]]
show(
    drawing.seen_in(
        pictures_shown[number],
        {"1 convolution": within(1), "4 convolutions": within(4), "11 convolutions": within(11)},
        cell,
    ),
    f"Three copies of one scene, a {own.colour} {own.shape} and a {wanted} object, under a grid of 12 by 12 cells. A cell of the "
    f"rectangle around the {own.shape} is framed. Clear is what it sees: after one convolution the 3 by 3 cells around it, after four 9 by 9, as far "
    "as the picture goes, and only after eleven certainly the whole picture.",
)
print(f"the framed cell is asked for the colour of the other object: {wanted}")

# %% [markdown]
# **Figure 1.** What the framed cell, a corner of the triangle's rectangle, can know after one, four and eleven
# convolutions of 3 by 3: the clear part. The rest is out of its sight, whatever the weights are. Each cell of the grid
# was itself made from 25 by 25 pixels, which adds about three cells to each side.
#
# One convolution of width $k$ carries information $(k-1)/2$ cells to each side. Stack $L$ of them, and the receptive
# field of an output is
#
# $$1 + L\,(k-1) \quad\text{cells wide}, \qquad\text{that is, a reach of}\quad L\,\frac{k-1}{2} \quad\text{to each side.}$$
#
# With $k = 3$ the reach grows by a single cell per layer. To be sure that any cell can know of any other one in our
# grid, we need eleven layers; a picture of 224 by 224 pixels would need 223 at full resolution. Attention has no such
# limit, since each query is compared with every key. This lesson asks what that is worth in vision: in a picture, in a
# set of points, and for a picture that is written one pixel at a time.

# %% [markdown]
# ## Three ways to process a sequence
#
# Let us first compare on the simplest ground, a sequence of $N$ vectors of width $D$. Lecture slides list three ways to
# process it, whose paths lesson 08 has drawn.
#
# | | operations | sequential steps | longest path | works on |
# |---|---|---|---|---|
# | recurrent network | $O(N D^2)$ | $O(N)$ | $O(N)$ | ordered sequences |
# | convolution of width $k$ | $O(k N D^2)$ for each layer | $O(1)$ for each layer | $O(N/k)$ layers | grids of any dimension |
# | dilated convolutions | $O(k N D^2)$ for each layer | $O(1)$ for each layer | $O(\log N)$ layers | the same |
# | self-attention | $O(N^2 D)$ | $O(1)$ | $1$ | sets of vectors |
#
# The **path length** is the number of steps that information takes between two positions. A recurrent network carries
# a vector from position to position, one after the other; a convolution carries it $(k-1)/2$ positions per layer. The
# third row is missing on the slides, and we shall need it. A **dilated convolution** leaves gaps between its inputs:
# with a **dilation** (or gap) of $d$ it reads the positions $n-d$, $n$ and $n+d$. If the gaps double from layer to
# layer, $1, 2, 4, \dots$, then the reach after $L$ layers of width 3 is
#
# $$1 + 2 + 4 + \dots + 2^{L-1} = 2^L - 1,$$
#
# so a distance of $s$ takes about $\log_2 s$ layers instead of $s$. In general, gaps of $g^0, g^1, \dots, g^{L-1}$
# and a width of $k$ give a reach of $(g^0 + g^1 + \dots + g^{L-1})\,\frac{k-1}{2}$.
#
# We need not believe this. An output depends on an input if its derivative with respect to it is not 0. The function
# below stacks convolutions whose weights are all 1, so that nothing cancels, until the last output depends on the first
# input.


# %%
def layers_until(distance, gaps):
    """How many convolutions of three, with these gaps, until an output depends on the input `distance` positions before it."""
    x = torch.zeros(1, 1, distance + 1, requires_grad=True)  # [B, D, N]
    y, ones = x, torch.ones(1, 1, 3)
    for layers, gap in enumerate(gaps, start=1):
        y = F.conv1d(y, ones, padding=gap, dilation=gap)
        slope = torch.autograd.grad(y[0, 0, distance], x, retain_graph=True)[0]  # of the last output, to all inputs
        if slope[0, 0, 0] != 0:
            return layers


# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
def operations(function, N, D=64):
    """The operations that torch counts for N vectors of width D, without a batch."""
    with FlopCounterMode(display=False) as counter, torch.no_grad(), torch.backends.cudnn.flags(enabled=False):
        function(torch.zeros(1, N, D))
    return counter.get_total_flops() / 1e6


gru, convolution = nn.GRU(64, 64, batch_first=True), nn.Conv1d(64, 64, 3, padding=1)
projections, back = nn.Linear(64, 3 * 64), nn.Linear(64, 64)


def attention_layer(X):
    Q, K, V = projections(X).chunk(3, dim=-1)
    return back((Q @ K.mT / 8).softmax(dim=-1) @ V)


LAYERS = {"recurrent (GRU)": gru, "convolution of 3": lambda X: convolution(X.mT), "self-attention": attention_layer}
print("millions of operations of one layer, D = 64")
for name, layer in LAYERS.items():
    counts = [operations(layer, N) for N in (64, 256, 1024, 4096)]
    print(f"  {name:17}", *(f"N = {N:>4}: {count:7,.1f}" for N, count in zip((64, 256, 1024, 4096), counts)), sep="   ")
distances = (1, 2, 4, 8, 16, 32, 64)
needed = {
    "recurrent network": list(distances),  # one step from each position to the next
    "convolutions of 3": [layers_until(s, itertools.repeat(1)) for s in distances],
    "gaps 1, 2, 4, …": [layers_until(s, (2**layer for layer in itertools.count())) for s in distances],
    "self-attention": [1] * len(distances),
}
assert needed["convolutions of 3"] == list(distances) and needed["gaps 1, 2, 4, …"] == [1, 2, 3, 4, 5, 6, 7]
print("steps or layers between positions that are", ", ".join(map(str, distances)), "apart")
for name, counts in needed.items():
    print(f"  {name:17}  ", ", ".join(map(str, counts)))

# %% [markdown]
# First, attention is not the cheap choice. At 64 vectors it needs as many operations as the GRU, mostly for its
# projections, which the slides' $N^2 D$ leaves out. From 256 to 4,096 vectors the operations of the GRU and of the
# convolution grow sixteenfold, those of attention far more. Second, the paths of dilated convolutions grow only with
# the logarithm. What only attention offers is that a *single* layer reaches everywhere in one step, and that its
# weights depend on the content: a convolution multiplies the neighbour three cells to the left by the same matrix in
# every picture, while a query decides anew in each picture where to look.
#
# In a picture, the reach is the same along rows and columns. Try how far a cell sees:

# %% tags=["fold"]
# @title Explorer of Figure 2
KINDS = ("convolutions of 3 × 3", "convolutions of 5 × 5", "dilated convolutions, gaps 1, 2, 4, …", "self-attention")


def kernel_of(kind, layer):
    """From which neighbours a layer reads, [k, k]."""
    if kind == "self-attention":
        return torch.ones(23, 23)
    if "dilated" in kind:
        gap = 2**layer
        kernel = torch.zeros(2 * gap + 1, 2 * gap + 1)
        kernel[::gap, ::gap] = 1
        return kernel
    return torch.ones(*[5 if "5" in kind else 3] * 2)


def reached(kind, layers):
    seen = torch.zeros(12, 12, dtype=torch.bool)
    seen[cell] = True
    for layer in range(layers):
        seen = torch.from_numpy(drawing.spread_of(seen, kernel_of(kind, layer)))
    return seen


def reach_figure(kind, layers):
    return drawing.seen_in(
        pictures_shown[number],
        {f"{kind.split(',')[0]},\n{int(layers)} layer{'s' * (layers > 1)}": reached(kind, int(layers))},
        cell,
    )


def reach_words(kind, layers):
    seen = reached(kind, int(layers))
    answer = "the other object is in sight" if seen[_other_cells()].any() else "nothing of the other object is in sight"
    return f"With {kind} and {int(layers)} layers the framed cell depends on {int(seen.sum())} of 144 cells; {answer}."


def _other_cells():
    """The cells of the object that is asked for."""
    thing = next(thing for thing in some[number].things if thing.colour == wanted)
    left, top, right, bottom = (edge // 4 for edge in thing.box)
    found = torch.zeros(12, 12, dtype=torch.bool)
    found[top:bottom, left:right] = True
    return found


explore(
    reach_figure,
    alt=reach_words,
    kind=Choice("layer", KINDS, "dilated convolutions, gaps 1, 2, 4, …"),
    layers=Slider("layers", 1, 11, 3, 1),
)

# %% [markdown]
# **Figure 2.** Which cells can influence the framed one. Choose a kind of layer and their number. With growing gaps the
# reach about doubles from layer to layer, and no cell in between is left out, since the earlier layers fill the gaps of
# the later ones.

# %% [markdown]
# ## Self-attention in a convolutional network
#
# **SAGAN** (Zhang et al., 2019) is a generative adversarial network: one convolutional network draws pictures and a
# second one judges them. The authors had noticed that such networks draw textures well, such as the fur of a dog, but
# have trouble with what must agree over a distance, such as its feet. They put a **self-attention block** between two
# convolutions of each network. The cells of the feature map are its tokens: a grid of $C$ channels is read as
# $N = \text{rows} \cdot \text{columns}$ vectors.

# %% tags=["fold"]
# @title Draws Figure 3
show(
    drawing.sagan_block(),
    "A diagram from left to right. The grid X with C channels and N cells runs along a thick grey line, the residual. It also "
    "goes through three 1 by 1 convolutions, W_Q, W_K and W_V, to queries, keys and values, each N by C_K. Queries and keys "
    "give scores Q K transposed, N by N; a softmax over the keys gives the weights A; weights times values give A V, N by C_K. "
    "A 1 by 1 convolution W_O leads back to C channels, the result is multiplied by gamma and added to the residual, which "
    "gives Y.",
)

# %% [markdown]
# **Figure 3.** SAGAN's block. A 1×1 convolution is a linear layer that is applied to each cell by itself, so that cells
# meet only in the scores, the softmax and the weighted sum. White boxes are learned, $\gamma$ as well.
#
# For the vector $x_n$ of cell $n$, with $q_n = x_n W_Q$, $k_m = x_m W_K$ and $v_m = x_m W_V$, the block computes
#
# $$a_{nm} = \frac{\exp(q_n \cdot k_m)}{\sum_{l} \exp(q_n \cdot k_l)}, \qquad
# y_n = x_n + \gamma \Big(\sum_{m} a_{nm}\, v_m\Big) W_O .$$
#
# It is the self-attention of lesson 05 with three differences. The projections are 1×1 convolutions, with biases that
# the formula leaves out, and so they act on the grid directly. The scores are plain scalar products, **not divided by
# a root**. And the result is added to the input with a learned factor $\gamma$ that **starts at 0**: at first the
# block changes nothing, and the network can rely on its convolutions until attention has something to say. Queries,
# keys and values are narrower than the grid: $C_K = C/8$ in the paper, $C/2$ here.
#
# Here is the block for a single picture. The assignment asks for the general one, for a batch.


# %%
class CellAttention(nn.Module):
    """SAGAN's block, for one grid X [C, rows, columns]."""

    def __init__(self, C, C_K, allowed=None):
        super().__init__()
        self.W_Q, self.W_K, self.W_V = (nn.Conv2d(C, C_K, kernel_size=1) for _ in range(3))
        self.W_O = nn.Conv2d(C_K, C, kernel_size=1)
        self.gamma = nn.Parameter(torch.zeros(1))
        self.allowed = allowed  # [N, N], where some cells are hidden from others; used in a later section

    def weights(self, X):
        Q, K = self.W_Q(X).flatten(1).T, self.W_K(X).flatten(1).T  # [N, C_K] each, N = rows * columns
        E = Q @ K.T  # [N, N], not divided by a root
        if self.allowed is not None:
            E = E.where(self.allowed, -torch.inf)
        return E.softmax(dim=1)  # each cell's weights over all cells

    def forward(self, X):
        V = self.W_V(X).flatten(1).T  # [N, C_K]
        seen = (self.weights(X) @ V).T.reshape(-1, *X.shape[1:])  # [C_K, rows, columns]
        return X + self.gamma * self.W_O(seen)


class EachPicture(nn.Sequential):
    """Parts that take one grid, applied to each grid of a batch [B, C, rows, columns]."""

    def forward(self, batch):
        for part in self:
            batch = torch.vmap(part)(batch)
        return batch


# %%
torch.manual_seed(12)
block, X = CellAttention(C=64, C_K=32).to(DEVICE), torch.randn(64, 12, 12).to(DEVICE)
assert torch.equal(block(X), X)  # γ is 0: nothing has changed yet
with torch.no_grad():
    block.gamma.fill_(1.0)
    Q, K, V = (layer(X).flatten(1).T for layer in (block.W_Q, block.W_K, block.W_V))  # [144, 32] each
    torchs = F.scaled_dot_product_attention(Q[None], K[None], V[None], scale=1.0)[0]  # [144, 32]
    assert_close(block(X), X + block.W_O(torchs.T.reshape(32, 12, 12)))

# %% [markdown]
# torch's own call does the same, provided that one asks for `scale=1.0`. Now let the block answer our question. The
# CNN is trained first, to name single objects, and then frozen; it hands us the grids. Between these grids and the
# answers there is nothing but a middle part, here the block, and after it two 1×1 convolutions that read each cell by
# itself. Beyond the three cells or so that the CNN itself looks around, only the middle part can carry a colour from
# one object to the other. Training takes 500 steps, with `fit_answers` in the folded cell; its results are stored with
# this lesson.


# %% tags=["fold"]
# @title Defines coloured, frozen_cnn, fit_answers, right_by_distance
def coloured(cnn, some):
    """What is learned from scenes: the grids of a frozen CNN; for each cell the other object's colour, and its distance."""
    return grids(cnn, scenes.images(some)), *(one.to(DEVICE) for one in other_colours(some))


def frozen_cnn(some, seed):
    """A CNN that has learned to name single objects."""
    return trained_cnn(some[:1500], scenes.images(some[:1500]), steps=300, seed=seed)


def fit_answers(middle, learned, steps, seed, what):
    """Trains a middle part and its answers on 32 grids a step; `middle` makes it."""
    torch.manual_seed(seed)
    model, chance = with_answer(middle()).to(DEVICE), torch.Generator().manual_seed(seed)
    grid, colour, _ = learned

    def loss(model, chosen):
        return F.cross_entropy(model(grid[chosen]), colour[chosen], ignore_index=-1)

    batches = (torch.randint(len(grid), (32,), generator=chance).to(DEVICE) for _ in range(steps))
    train(model, batches, loss, steps=steps, rate=3e-3, what=what)
    return model


BINS = ((1, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 12))  # cells to the other object, the upper end not included


@torch.no_grad()
def right_by_distance(model, tested):
    """The share of cells that name the other object's colour: of all, and by the distance of its nearest cell."""
    grid, colour, far = tested
    right = torch.cat([model(part).argmax(dim=1) for part in grid.split(100)]) == colour
    shares = [right[(far >= low) & (far < high)].float().mean().item() for low, high in BINS]
    return {"all": right[far > 0].float().mean().item(), "by distance": shares}


# %%
answering = nn.ModuleDict(
    {
        "CNN": GridCNN(),
        "self-attention": with_answer(EachPicture(CellAttention(64, 32))),
        "two convolutions": with_answer(Convolutions(64, [1, 1])),
    }
)
if stored_runs.full():
    some = scenes.scenes(3000, seed=0)
    answering["CNN"] = frozen_cnn(some, seed=0)
    learned = coloured(answering["CNN"], some)
    answering["self-attention"] = fit_answers(lambda: EachPicture(CellAttention(64, 32)), learned, 500, 0, "attention")
    answering["two convolutions"] = fit_answers(lambda: Convolutions(64, [1, 1]), learned, 500, 0, "convolutions")
    stored_weights.keep("12_attention_in_vision.answering", answering)
cnn, attending, convolving = stored_weights.load("12_attention_in_vision.answering", answering).to(DEVICE).values()

new = scenes.scenes(500, seed=1000)
new_pictures, tested = scenes.images(new), coloured(cnn, new)
for name, model in (("self-attention", attending), ("two convolutions", convolving)):
    parameters = sum(weight.numel() for weight in model[0].parameters())
    print(f"{name:17} {parameters:6,} parameters, right: {right_by_distance(model, tested)['all']:.2f}")
print(f"γ is now {attending[0][0].gamma.item():.2f}")

# %% tags=["fold"]
# @title Draws Figure 4
assert right_by_distance(attending, tested)["all"] > 0.8 > 0.6 > right_by_distance(convolving, tested)["all"]
shown = [n for n, scene in enumerate(new) if tested[2][n].max() >= 6][:3]
asking = [int(tested[2][n].argmax()) for n in shown]  # the cell that is farthest from the other object
with torch.no_grad():
    maps = [attending[0][0].weights(tested[0][n])[place].view(12, 12).cpu() for n, place in zip(shown, asking)]
    said = [
        list(scenes.COLOURS)[attending(tested[0][n : n + 1])[0].flatten(1).argmax(dim=0)[place]]
        for n, place in zip(shown, asking)
    ]
on_other = []
for n, place, weights in zip(shown, asking, maps):
    colour = list(scenes.COLOURS)[tested[1][n].flatten()[place]]
    left, top, right, bottom = next(thing for thing in new[n].things if thing.colour == colour).box
    theirs = weights[max(top // 4 - 1, 0) : -(-bottom // 4) + 1, max(left // 4 - 1, 0) : -(-right // 4) + 1]
    on_other.append(theirs.sum().item())
show(
    patches.weights_over(new_pictures[shown], maps, [f"says {colour}" for colour in said], asking),
    "Three scenes under their grid, beside each the attention weights of one framed cell over all cells. The framed cell lies in "
    f"the rectangle around one object. Its weights on and right beside the other object sum to {', '.join(f'{share:.2f}' for share in on_other)}.",
)
print("weight on and right beside the other object:", ", ".join(f"{share:.2f}" for share in on_other))

# %% [markdown]
# **Figure 4.** Three new scenes and, beside each, the attention weights of the framed cell: dark is 0, yellow is the
# largest weight. The line above says how much of the weight lies on the other object or right beside it.
#
# Nobody told the block where the other object is. All it was given is the colour that the cell should have named. The
# sign of $\gamma$ means nothing, since $W_O$ can take the opposite one; what counts is that $\gamma$ has left 0.

# %% [markdown]
# ## Attention, or reach?
#
# Two convolutions fail at this task, but two convolutions cannot see far. It would be unfair to blame convolution for
# that. The stored run therefore compares the block with stacks that *can* see across the whole grid, each with a
# residual around every layer:
#
# - **11 convolutions** of 3×3, the plain stack of Figure 1, 32 channels wide;
# - **4 dilated convolutions** with gaps 1, 2, 4 and 8, whose reach is 15 cells, with all 64 channels;
# - the same four with only 14 channels, **narrow**, so that they have about as many parameters as the block.
#
# Every network is trained for 500 steps, as the two above, with three seeds, each with its own scenes and its own CNN.


# %% tags=["fold"] label="the layers that are compared"
# @title The layers that are compared
# window_mask is explained in the section on windows
def window_mask(M, shift=0, side=12):
    """Which cells share a window of M by M, [N, N]; with a shift, the lines of the cut lie so many cells further up and left."""
    strip = (torch.arange(side) + shift) // M  # of rows, or of columns
    strips = torch.cartesian_prod(strip, strip)  # [N, 2], of each cell
    return (strips[:, None] == strips).all(dim=-1).to(DEVICE)


MIDDLES = {
    "nothing": nn.Identity,
    "2 convolutions": lambda: Convolutions(64, [1, 1]),
    "11 convolutions": lambda: Convolutions(64, [1] * 11, width=32),
    "4 dilated convolutions": lambda: Convolutions(64, [1, 2, 4, 8]),
    "4 dilated ones, narrow": lambda: Convolutions(64, [1, 2, 4, 8], width=14),
    "self-attention": lambda: EachPicture(CellAttention(64, 32)),
    "3 layers, windows": lambda: EachPicture(*(CellAttention(64, 32, window_mask(6)) for _ in range(3))),
    "3 layers, shifted windows": lambda: EachPicture(
        *(CellAttention(64, 32, window_mask(6, 3 * (layer % 2))) for layer in range(3))
    ),
}


def colour_runs():
    begun, runs = time.process_time(), []  # of one thread
    for seed in SEEDS:
        some = scenes.scenes(3000, seed)
        cnn = frozen_cnn(some, seed)
        learned, tested = coloured(cnn, some), coloured(cnn, scenes.scenes(500, seed + 1000))
        for kind, middle in MIDDLES.items():
            model = fit_answers(middle, learned, 500, seed, kind)
            parameters = sum(weight.numel() for weight in model[0].parameters())
            runs.append({"seed": seed, "kind": kind, "parameters": parameters, **right_by_distance(model, tested)})
    seconds = time.process_time() - begun
    return stored_runs.keep("12_attention_in_vision.colours", {"runs": runs}, seed="0 to 2", seconds=seconds)


def spread(values, digits=2):
    """Mean and range over the seeds."""
    values = list(values)
    return f"{sum(values) / len(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
record = colour_runs() if stored_runs.full() else stored_runs.load("12_attention_in_vision.colours")
print(stored_runs.how(record))
found = {kind: [run for run in record["results"]["runs"] if run["kind"] == kind] for kind in MIDDLES}
for run in zip(*found.values()):  # the claims below hold for each seed
    run = dict(zip(found, run))
    for kind in ("self-attention", "4 dilated convolutions", "4 dilated ones, narrow"):
        assert run[kind]["all"] > 0.99 and run[kind]["by distance"][-1] > 0.98
    assert run["2 convolutions"]["all"] < 0.55 and run["11 convolutions"]["by distance"][-1] < 0.9
    assert run["3 layers, windows"]["all"] < 0.65 and run["3 layers, shifted windows"]["all"] > 0.98
plain_kinds = [kind for kind in MIDDLES if "layers" not in kind]
print(f"{'':24} parameters   cells that are right")
for kind in plain_kinds:
    print(f"{kind:24} {found[kind][0]['parameters']:10,}   {spread(run['all'] for run in found[kind])}")

# %% tags=["fold"]
# @title Draws Figure 5
labels = [f"{low}" if high - low == 1 else f"{low}–{min(high - 1, 11)}" for low, high in BINS]
by_kind = {kind: [run["by distance"] for run in runs] for kind, runs in found.items()}
groups = {
    "how far does each see?": {
        kind: by_kind[kind] for kind in ("nothing", "2 convolutions", "11 convolutions", "self-attention")
    },
    "all of these see everywhere": {
        kind: by_kind[kind]
        for kind in ("11 convolutions", "4 dilated convolutions", "4 dilated ones, narrow", "self-attention")
    },
}
show(
    drawing.by_distance(groups, labels, chance=0.25),
    "Two panels, the share of right cells over the distance to the other object in cells, means of three seeds. Left: "
    + "; ".join(
        f"{kind}, from {sum(run[0] for run in by_kind[kind]) / 3:.2f} to {sum(run[-1] for run in by_kind[kind]) / 3:.2f}"
        for kind in groups["how far does each see?"]
    )
    + ". Right, enlarged: "
    + "; ".join(
        f"{kind}, from {sum(run[0] for run in by_kind[kind]) / 3:.2f} to {sum(run[-1] for run in by_kind[kind]) / 3:.2f}"
        for kind in groups["all of these see everywhere"]
    )
    + ".",
)

# %% [markdown]
# **Figure 5.** The share of cells that name the other object's colour, by the distance to its nearest cell. Lines are
# means over three seeds, bands run from the least to the largest. Guessing among the four other colours gives 0.25. The
# right panel is an enlarged view of those that see everywhere.
#
# - **Reach decides.** Without a middle part the cells guess even near the other object, presumably because the CNN
#   was trained to name only the object at hand. Two convolutions help only as far as they reach. Attention does not
#   become worse with distance at all.
# - **A long path costs something.** Eleven plain convolutions can see everything, and answer well from nearby, but at
#   the largest distance they fall to 0.82, although they have over ten times the parameters of the block. A likely
#   reason is that what must pass through eleven layers is learned slowly; whether more steps would close the gap we
#   have not tried.
# - **Attention has no monopoly.** Dilated convolutions, with a path of four layers, do just as well. With about as
#   few parameters as the block they still miss only one far cell in a hundred; all networks miss more at 1–2 cells.
#
# The result is about reach and paths, then: attention is one good way to see far, in a single step, and dilation is a
# second, in four. The experiment has its limits: two objects, five colours, small grids, and a fixed budget of 500
# steps. In larger pictures the number of dilated layers grows with the logarithm of the side, while one attention
# layer is still enough; what grows is its cost.
#
# The published result is less clear than it looks. On ImageNet, SAGAN brought the **Fréchet inception distance**
# (FID, a distance between the features of drawn and of real pictures; lower is better) from 27.62, the best before
# it, to 18.65. Other parts of the training had improved as well. In table 1 of the paper, which varies the block
# alone, the FID falls from 22.96 without a block to 18.28 with attention on the 32 × 32 grid. A residual block with
# as many parameters in the same place raises it to 27.33. That control has a short reach, too; a dilated one was not
# tried.

# %% [markdown]
# ## The quadratic cost
#
# The block compares each cell with each cell: $N^2$ scores for $N = \text{rows} \cdot \text{columns}$. Doubling the
# *side* of a picture makes $N$ four times as large and the number of scores sixteen times. SAGAN does best with grids
# of 32 × 32 and 64 × 64, and for pixels the count gets out of hand:

# %% tags=["nbval-check-output"]
for side, what in ((12, "our grid"), (32, "SAGAN, feat32"), (64, "SAGAN, feat64"), (224, "pixels of a photograph")):
    N = side**2
    print(f"{what:23} {N:6,} cells  {N**2:13,} scores")

# %% [markdown]
# Lecture slides name two cures. The first is to take larger tokens: attention between **patches** instead of pixels. A
# patch of 16 × 16 pixels makes $N$ 256 times smaller, and the scores 65,536 times fewer. This is the Vision
# Transformer, to which lesson 13 is devoted. The price is resolution: within a patch, nothing attends to anything.
#
# The second cure keeps the tokens and **limits attention to a region**. If each token attends to $m$ others, there are
# $N m$ scores, and with a fixed $m$ the cost grows as $N$ does. In a sequence the region was lesson 08's window. Here
# are its relatives for grids, for points in space, and for pixels in raster order.

# %% [markdown]
# ## Windows
#
# The simplest region of a grid is a **window**: the grid is cut into squares of $M$ by $M$ cells, and each cell attends
# to the $M^2$ cells of its own square. There are $N/M^2$ windows with $M^4$ scores each:
#
# $$\frac{N}{M^2} \cdot M^4 = N M^2 \quad\text{instead of}\quad N^2 .$$
#
# **Swin** (Liu et al., 2021) is built on this. For a single grid, window by window, the code is short:


# %%
def one_window_after_another(Q, K, V, M):
    """One grid: Q, K, V [rows, columns, D] give [rows, columns, D]; M divides rows and columns."""
    Y = torch.empty_like(V)
    for top in range(0, Q.shape[0], M):
        for left in range(0, Q.shape[1], M):
            part = (slice(top, top + M), slice(left, left + M))
            q, k, v = Q[part].flatten(0, 1), K[part].flatten(0, 1), V[part].flatten(0, 1)  # [M * M, D] each
            Y[part] = F.scaled_dot_product_attention(q, k, v).unflatten(0, (M, M))
    return Y


Q, K, V = torch.randn(3, 12, 12, 16)
Y = one_window_after_another(Q, K, V, M=6)
moved = V.clone()
moved[0, 0] += 1  # another value in the upper left corner
changed = (one_window_after_another(Q, K, moved, M=6) - Y).abs().amax(dim=-1) > 0  # [12, 12]

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
assert changed[:6, :6].all() and changed.sum() == 36
allowed = torch.zeros(144, 144, dtype=torch.bool)
for n in range(144):
    for m in range(144):
        allowed[n, m] = n // 12 // 6 == m // 12 // 6 and n % 12 // 6 == m % 12 // 6
flat = (one.flatten(0, 1)[None] for one in (Q, K, V))
assert_close(Y.flatten(0, 1), F.scaled_dot_product_attention(*flat, attn_mask=allowed)[0])
print(f"a value in the corner reaches {int(changed.sum())} of 144 cells;", end=" ")
print(f"scores: {144 * 36:,} instead of {144**2:,}")

# %% [markdown]
# The folded cell shows that a mask over the whole grid gives the same numbers, but as in lesson 08 the mask saves
# nothing: the hidden scores are computed as well. Nor does one loop over windows in practice. They become a part of the
# batch, by a reshape and an exchange of axes, in which the *order* of the axes is all that matters; this is the
# assignment's second exercise.
#
# Windows have an obvious flaw: no information ever leaves its window, however many layers there are. Swin therefore has
# **shifted windows**: in every other layer the cut is moved by half a window, so that cells that were separated meet in
# the next one.

# %% tags=["fold"]
# @title Draws Figure 6
place = (2, 4)
row = place[0] * 12 + place[1]


def after(masks):
    """From which cells the one at `place` knows something after layers with these masks [N, N], the first layer first."""
    known = torch.eye(144, device=DEVICE)
    for mask in masks:
        known = (mask.float() @ known).clamp(max=1)
    return known[row].view(12, 12).cpu()


plain, shifted = window_mask(6), window_mask(6, 3)
views = {
    "one layer, windows": after([plain]),
    "three layers, windows": after([plain] * 3),
    "one layer, shifted": after([shifted]),
    "three layers, in turn": after([plain, shifted, plain]),
}
show(
    drawing.cells_seen(
        views, place, {"one layer, windows": [6], "three layers, windows": [6], "one layer, shifted": [3, 9]}
    ),
    "Four grids of 12 by 12 cells with one framed cell in the third row and fifth column; blue is what it knows of. One layer "
    "with windows of 6 by 6: the upper left quarter. Three such layers: the same quarter. One layer with the cut shifted by "
    "three cells: 3 rows by 6 columns in the middle above, where the grid's edge cuts a window. Windows, shifted windows and windows in "
    "turn: all cells.",
)
assert after([plain] * 3).sum() == 36 and after([plain, shifted, plain]).all()

# %% [markdown]
# **Figure 6.** What the framed cell knows of (blue) after one and three layers with windows of 6 × 6, with one layer
# whose cut is shifted by three cells, and after three alternating layers. Windows at the edge of a shifted cut are
# smaller; Swin avoids this by a cyclic move of the grid, which lesson 13 shows.
#
# Do shifted windows carry the other object's colour? The stored run has trained three blocks in a row, with windows of
# 6 × 6, once with the same cut in each layer and once with every other cut shifted.

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
PLAIN, SHIFTED = (int(window_mask(6, shift).sum()) for shift in (0, 3))
SCORES = {"3 layers, windows": 3 * PLAIN, "3 layers, shifted windows": 2 * PLAIN + SHIFTED, "self-attention": 144**2}
print(f"{'windows of 6 × 6':27} cells that are right   scores in all layers")
for kind, count in SCORES.items():
    print(f"{kind:27} {spread(run['all'] for run in found[kind])}   {count:12,}")

# %% [markdown]
# With the same cut in every layer, a cell can answer only if part of the other object lies in its window or so close
# to it that the CNN has seen it. With the shift, information crosses the lines, and nearly all cells are right,
# although no layer compares more than a quarter of all pairs. On a grid this small the three shifted layers save only
# a third of the scores; the factor of one layer is $N/M^2$, and grows with the grid.
#
# A region need not be a square that is cut once and for all; it can be a neighbourhood around each cell. Paint one, and
# see how it spreads over the layers.

# %% tags=["fold"]
# @title Explorer of Figure 7
OFFSETS = ("−2", "−1", "0", "+1", "+2")
CROSS = [[abs(i - 2) * abs(j - 2) == 0 for j in range(5)] for i in range(5)]


def painted_layers(painted):
    """Which cells of a grid of 15 by 15 the middle one knows of after one, two and three layers."""
    kernel, seen, layers = torch.tensor(painted), torch.zeros(15, 15, dtype=torch.bool), {}
    seen[7, 7] = True
    for layer in ("one layer", "two layers", "three layers"):
        seen = torch.from_numpy(drawing.spread_of(seen, kernel))
        layers[layer] = seen
    return layers


def painted_words(painted):
    counts = [int(seen.sum()) for seen in painted_layers(painted).values()]
    own = int(sum(sum(line) for line in painted))
    return (
        f"The middle cell attends to {own} cells in each layer. It knows of {counts[0]} cells after one layer, {counts[1]} after two "
        f"and {counts[2]} after three, of 225. A layer needs at most 225 · {own} = {225 * own:,} scores instead of {225**2:,}."
    )


explore(
    lambda painted: drawing.cells_seen(painted_layers(painted), (7, 7)),
    alt=painted_words,
    painted=Grid("offset of rows (down) and of columns (across) to which a cell may attend", OFFSETS, OFFSETS, CROSS),
)

# %% [markdown]
# **Figure 7.** The neighbourhood that you paint, and what the middle cell of a grid of 15 × 15 knows of after one,
# two and three layers. Paint only the corners, or only cells above and to the left: the reach then grows that way
# alone.

# %% [markdown]
# ## Points in space
#
# A laser scanner or a depth camera gives no grid of pixels but a **point cloud**: a *set* of points in space, in no
# order, mostly on the surfaces of objects. There is nothing for a convolution to slide over. Self-attention never asked
# for a grid: it takes a set of vectors, and here the vectors are made of the coordinates.
#
# Our sets have 48 points on one of eight solids, with some noise, and each is turned about the upright axis by a random
# angle. The task is to name the solid.

# %% tags=["fold"]
# @title Draws Figure 8
chance = torch.Generator().manual_seed(3)
sets, kinds = solids(64, 200, chance)
examples = sets[[int((kinds == kind).nonzero()[0]) for kind in range(8)]]
show(
    drawing.clouds(examples, SOLIDS),
    "Eight clouds of 200 points each, seen from the side and a little from above: sphere, cube, cylinder, cone, torus, two balls "
    "on top of each other, a plate and a helix.",
)

# %% [markdown]
# **Figure 8.** One example of each solid, with 200 points so that one can recognise it; the networks get 48. Nearer
# points are darker.
#
# A set has no order, so the answer must not depend on the order in which its points are listed. Lesson 05 has shown
# that self-attention without positional encodings is permutation **equivariant**: if the rows of $X$ are permuted by
# $\Pi$, the outputs are permuted in the same way. To this we add a last step that forgets the order, such as a maximum
# or a mean over all points. The whole then does not depend on the order at all, which is called **permutation
# invariance**:
#
# $$\max_n f(\Pi X)_n = \max_n\, (\Pi f(X))_n = \max_n f(X)_n .$$
#
# Mind the words. Lecture slides call attention *permutation invariant*; for a fixed query that is true of its keys and
# values, while self-attention as a whole is equivariant.


# %%
class SetClassifier(nn.Module):
    """Coordinates to logits: blocks of lesson 09 without any position, then a maximum over the points."""

    def __init__(self, D=48, classes=8):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(3, D), nn.ReLU(), nn.Linear(D, D))
        options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(D, 4, 4 * D, **options) for _ in range(2))
        self.head = nn.Sequential(nn.LayerNorm(D), nn.Linear(D, classes))

    def forward(self, points):
        X = self.embed(points)  # [B, N, D]
        for block in self.blocks:
            X = block(X)  # [B, N, D]: equivariant
        return self.head(X.amax(dim=1))  # [B, classes]: invariant


# %% tags=["fold"]
# @title Defines trained_on_points, examined
def trained_on_points(network, steps, seed, what):
    """Trains a network on 64 sets of 48 points a step, always new ones."""
    chance = torch.Generator().manual_seed(seed)

    def loss(network, batch):
        return F.cross_entropy(network(batch[0].to(DEVICE)), batch[1].to(DEVICE))

    train(network, (solids(64, 48, chance) for _ in range(steps)), loss, steps=steps, rate=2e-3, what=what)
    return network


@torch.no_grad()
def examined(network, seed, count):
    """The share of new sets that are named, as drawn and shuffled, and the largest change of a probability and of a logit."""
    chance = torch.Generator().manual_seed(1000 + seed)
    points, solid = solids(count, 48, chance)
    before = network(points.to(DEVICE)).cpu()
    after = network(points[:, torch.randperm(48, generator=chance)].to(DEVICE)).cpu()
    right, shuffled = ((logits.argmax(dim=1) == solid).float().mean().item() for logits in (before, after))
    change = (before.softmax(dim=1) - after.softmax(dim=1)).abs().max().item()
    return {"right": right, "shuffled": shuffled, "change": change, "logits": (before - after).abs().max().item()}


# %%
torch.manual_seed(0)
network = trained_on_points(SetClassifier().to(DEVICE), 150, seed=0, what="attention over points")
result = examined(network, seed=0, count=500)
print(f"right: {result['right']:.2f}, with the points shuffled: {result['shuffled']:.2f}")
print("no probability changes by more than 1e-5:", result["change"] < 1e-5)
assert result["change"] < 1e-5 and result["right"] > 0.5

# %% [markdown]
# The small changes that remain are rounding: a sum of floats depends a little on its order.
#
# **PointNet** (Qi et al., 2017a) had achieved invariance without attention: the same MLP for each point alone, then a
# maximum over the points. Apart from a learned alignment of the whole cloud, which our version leaves out, its points
# never look at each other before the maximum. Does attention do better? And what about a plain MLP that reads the
# coordinates as one list of 144 numbers? The stored run tells, with three seeds and about as many parameters in each
# network.

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
NETWORKS = {
    "flat MLP": lambda: FlatMLP(48),
    "each point alone, maximum": lambda: PointNetwork("each alone", "max"),
    "attention, maximum": lambda: PointNetwork("attention", "max"),
    "attention in balls, maximum": lambda: PointNetwork("balls", "max"),
    "each point alone, mean": lambda: PointNetwork("each alone", "mean"),
    "attention, mean": lambda: PointNetwork("attention", "mean"),
    "attention, learned query": lambda: PointNetwork("attention", "attention"),
}


def point_runs():
    begun, runs = time.process_time(), []  # of one thread
    for seed in SEEDS:
        for name, make in NETWORKS.items():
            torch.manual_seed(seed)
            network = trained_on_points(make().to(DEVICE), 300, seed, name)
            result = examined(network, seed, 2000)
            result |= {"change below 1e-5": result.pop("logits") < 1e-5 and result.pop("change") < 1e-5}
            parameters = sum(weight.numel() for weight in network.parameters())
            runs.append({"seed": seed, "network": name, "parameters": parameters, **result})
    seconds = time.process_time() - begun
    return stored_runs.keep("12_attention_in_vision.points", {"runs": runs}, seed="0 to 2", seconds=seconds)


record = point_runs() if stored_runs.full() else stored_runs.load("12_attention_in_vision.points")
print(stored_runs.how(record))
named = {name: [run for run in record["results"]["runs"] if run["network"] == name] for name in NETWORKS}
print(f"{'':28} parameters   sets named right    the same, shuffled")
for name in list(NETWORKS)[:4]:
    runs = named[name]
    print(
        f"{name:28} {runs[0]['parameters']:10,}   {spread(run['right'] for run in runs)}   {spread(run['shuffled'] for run in runs)}"
    )
for name, runs in named.items():
    assert all(run["change below 1e-5"] != (name == "flat MLP") for run in runs), name
    assert all((run["right"] > 0.98) == ("maximum" in name) or name == "attention, mean" for run in runs), name
assert (
    max(run["right"] for run in named["each point alone, mean"])
    < 0.9
    < min(run["right"] for run in named["attention, mean"])
)

# %% [markdown]
# The flat MLP names hardly more than half of the sets, and its outputs change with the order of the points. For the
# other three networks, shuffling changes no output by as much as $10^{-5}$, in any seed. Among them, **attention does
# not win**: a network whose points never look at each other names the solids just as well. Presumably the solids
# differ in where single points lie, such as on the axis or far out, which a maximum is enough to detect.
#
# In the fourth network each point attends only to the points in a **ball** around it, up to a distance of $0.7$, where
# the mean distance from the middle is 1. On average it loses nothing by this. Figure 9 shows such neighbourhoods, and
# those of the other usual kind, the $k$ nearest points.

# %% tags=["fold"]
# @title Draws Figure 9
chance = torch.Generator().manual_seed(5)
spots = torch.rand(70, 2, generator=chance) ** torch.tensor([1.9, 1.0]) * torch.tensor([1.7, 1.0])  # denser at the left
distance = torch.cdist(spots, spots)  # [N, N]
radius, k = 0.2, 6
ball, few = distance <= radius, distance <= distance.sort(dim=1).values[:, k - 1 : k]
askers = [int(((spots - torch.tensor(spot)).norm(dim=1)).argmin()) for spot in ((0.15, 0.75), (1.3, 0.4))]
show(
    drawing.neighbourhoods(spots, {f"a ball of radius {radius}": ball, f"the {k} nearest points": few}, askers, radius),
    f"Seventy points in the plane, denser at the left. Two of them ask. Within a ball of radius {radius} the one in the dense part "
    f"attends to {int(ball[askers[0]].sum())} points, itself included, the one in the thin part to {int(ball[askers[1]].sum())}. Of the "
    f"{k} nearest points each has {k}, close by in the dense part and farther away in the thin part.",
)

# %% [markdown]
# **Figure 9.** Two neighbourhoods of two points (orange). A ball has a fixed radius and any number of points; the
# nearest points have a fixed number and any radius.
#
# For one point, each takes a line; a third attends to the nearest points:

# %%
points = examples[4][:48].to(DEVICE)  # [N, 3], of the torus
n, k = 7, 6
far = (points - points[n]).norm(dim=1)  # [N]: how far each point is from point n
in_ball = (far <= 0.7).nonzero()[:, 0]  # [any number]
nearest = far.topk(k, largest=False).indices  # [k], point n itself among them, since its distance is 0
Q, K, V = torch.randn(3, 48, 16, device=DEVICE)
y = F.scaled_dot_product_attention(Q[n][None], K[nearest], V[nearest])[0]  # [16]: point n attends to six points
assert n in in_ball and nearest[0] == n

# %% [markdown]
# Balls give sets of different sizes, which need a mask; the $k$ nearest points give a table of indices, $[N, k]$, and
# $N k$ scores instead of $N^2$. With $k = 16$ of 1,024 points, this is a sixty-fourth. Both are computed from
# differences of coordinates, so they do not change if the whole cloud is moved. **PointNet++** (Qi et al., 2017b)
# introduced the balls, with a small PointNet in each, and **Point Transformer** (Zhao et al., 2021) attends among
# nearest points, with scores that also depend on the difference of the two positions. On ModelNet40, computer-made
# models of 40 kinds of objects, PointNet reaches 89.2 % (Qi et al., 2017a) and Point Transformer 93.7 % (Zhao et al.,
# 2021). On richer shapes neighbourhoods seem to pay, then, although the two networks differ in much else.

# %% [markdown]
# ## Pooling a set
#
# At the end a set must become one vector. A mean treats all points alike, and a maximum picks a winner in each feature.
# The **Set Transformer** (Lee et al., 2019) lets attention decide: one learned query, the **seed** $s$, attends to all
# points.

# %% tags=["fold"]
# @title Draws Figure 10
show(
    drawing.pooling(),
    "A diagram. Four vectors x_1 to x_4 of a set, in any order, are projected by W_K and W_V to keys and values. A learned query s "
    "gives weights, the softmax of s times each key over root D; lines of different thickness lead from the values to a single "
    "output y of width D, their weighted sum.",
)

# %% [markdown]
# **Figure 10.** Pooling by attention. Whatever the size of the set, there is one query and so one output. It is
# cross-attention (lesson 04) with a learned query, like the class token of lesson 13; in the stored run below it has
# four heads.
#
# $$y = \sum_{n} a_n\, x_n W_V, \qquad a = \operatorname{softmax}_n\!\left(\frac{s \cdot x_n W_K}{\sqrt{D}}\right)$$

# %% tags=["nbval-check-output"]
D = 16
X, s = torch.randn(5, D, generator=chance), torch.randn(D, generator=chance)  # a set of five vectors; the seed
W_K, W_V = (torch.randn(D, D, generator=chance) / math.sqrt(D) for _ in range(2))


def pooled(X):
    """One set X [N, D] gives [D]."""
    keys, values = X @ W_K, X @ W_V  # [N, D] each
    a = torch.softmax(keys @ s / math.sqrt(D), dim=0)  # [N], sums to 1 over the points
    return a @ values


order = torch.tensor([3, 0, 4, 2, 1])
assert_close(pooled(X), pooled(X[order]))
print(
    "the order makes no difference; a copy of a point does:",
    not torch.allclose(pooled(X), pooled(torch.cat([X, X[:1]]))),
)

# %% [markdown]
# A maximum does not notice if a point occurs twice; a mean and a softmax do. If sets of different sizes share a batch,
# they are padded, and the weights at the padding must be exactly 0.
#
# What the pooling is worth depends on what comes before it:

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
print(f"{'':28} sets named right")
for name in (
    "each point alone, mean",
    "each point alone, maximum",
    "attention, mean",
    "attention, maximum",
    "attention, learned query",
):
    print(f"{name:28} {spread(run['right'] for run in named[name])}")

# %% [markdown]
# Here attention does make a difference, but in another place. A mean of points that never look at each other loses much
# of what the maximum had kept. If the points attend to each other first, a mean is nearly enough, presumably because
# what matters about the set is then present in each of its points. The learned query is on average no better than this
# mean, and neither of them reaches the maximum after the same 300 steps. Pooling by attention is a flexible tool, then,
# and no guarantee of a gain.

# %% [markdown]
# ## Pictures written pixel by pixel
#
# So far pictures were read. Lesson 07 wrote sentences one token at a time, and lecture slides note that nothing in this
# asks for words: a picture is a sequence of pixels, a shape is a sequence of triangles. The usual order of pixels is
# **raster order**, row by row from the upper left, each row from left to right: the pixel in row $r$ and column $c$ has
# the number $t = r \cdot \text{columns} + c$. Then
#
# $$P(x) = \prod_{t} P(x_t \mid x_{<t}), \qquad x_{<t} = (x_0, \dots, x_{t-1}),$$
#
# without any assumption: this is the chain rule of lesson 07. Where lecture slides write
# $\prod_{t=0}^{T} P(x_{t+1} \mid x_1, \dots, x_t)$, there is one factor too many; counted from 1, it is
# $\prod_{t=1}^{T} P(x_t \mid x_{<t})$.


# %% tags=["fold"]
# @title Draws Figure 11
def divided(seed):
    """The digits as pixels with values from 0 to 16 [B, 8, 8], in an order by the seed: 1,200 to learn from, 200, and 397."""
    images, which = digits()
    pixels = (images[:, 0] * 6 + 4.9).round().long()
    order = torch.randperm(len(pixels), generator=torch.Generator().manual_seed(seed))
    return pixels[order].split([1200, 200, 397])


digit = divided(0)[2][0]
show(
    drawing.raster(digit, 30),
    "A digit of 8 by 8 pixels, three times. Left, arrows run along each row from left to right. In the middle, pixel 30 in the fourth row "
    "is framed, and only the pixels before it are visible. Right, only the six that lie at most two pixels away "
    "in a straight line: two to the left, three in the row above, and one two rows above.",
)

# %% [markdown]
# **Figure 11.** A real digit (scikit-learn's, 8 × 8 pixels with 17 grey values). Left, raster order. In the middle,
# what pixel 30 is predicted from: all pixels before it. Right, only the six pixels that lie at most two pixels away.
#
# The causal mask of lesson 07 needs no change, because "before" is all that it knows. What does change is the notion
# of *near*: the pixel above is 8 positions away in the sequence. **Image Transformer** (Parmar et al., 2018)
# therefore limits attention to blocks of earlier pixels, in one version two-dimensional ones; for its pictures of 32
# × 32 pixels and three colours, full attention was too expensive. Such a mask is computed from the rows and columns
# of pixels: by differences of $t$, it would reach around the end of a row into the next. The assignment's mask is a
# square.
#
# The model is a decoder as in lesson 11, with 17 values as its vocabulary, one vector for each row and one for each
# column as positional encoding, and a token in front of the first pixel, so that this one is predicted, too. The
# assignment has no such token: nothing predicts its first pixel, whose values all count as equally likely.


# %%
def picture_bits(model, picture):
    """Bits for each pixel [64] of one picture [8, 8]: −log₂ P(x_t given x_<t)."""
    x = picture.flatten()[None]  # [1, 64], in raster order
    logits = model(model.fed(x))  # [1, 64, 17]; what is fed is moved by one: the token in front, x_0, …, x_62
    return F.cross_entropy(logits[0], x[0], reduction="none") / math.log(2)  # nats to bits


@torch.no_grad()
def written(model, begun, generator):
    """Continues pictures, begun [B, n], to the end: one pixel after the other is drawn from its distribution."""
    while begun.shape[1] < 64:
        fed = F.pad(begun, (1, 0), value=17)  # [B, n + 1]: the token in front, then what there is
        p = model(fed)[:, -1].softmax(dim=-1).cpu()  # [B, 17]: the distribution of the next pixel
        begun = torch.cat([begun, torch.multinomial(p, 1, generator=generator).to(begun.device)], dim=1)
    return begun.unflatten(1, (8, 8))


# %% [markdown]
# How good is such a model? Lesson 11's measure applies: the mean number of **bits per pixel** that it needs to write
# down new pictures,
#
# $$\text{bits per pixel} = -\frac{1}{N} \sum_{t} \log_2 P(x_t \mid x_{<t}).$$
#
# A model that gives all 17 values the same probability needs $\log_2 17 \approx 4.09$ bits. An honest comparison
# includes simple counting: we count each value overall, *at each place*, and given the pixels to the left and above.
# The counts are smoothed a little, so that nothing has probability 0. Both decoders were trained on 1,200 digits and
# tested on 397 others, with three seeds that divide the digits differently. One attends to all earlier pixels, the
# other only to those at most two pixels away, as on the right of Figure 11.


# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
def fit_pixels(learned, steps, seed, reach=None):
    """Trains a model of pixels on 48 digits a step."""
    torch.manual_seed(seed)
    model, chance = PixelModel(reach=reach).to(DEVICE), torch.Generator().manual_seed(seed)
    rows = learned.flatten(1).to(DEVICE)  # [B, 64], in raster order

    def loss(model, chosen):
        pixels = rows[chosen]
        return F.cross_entropy(model(model.fed(pixels)).mT, pixels)

    batches = (torch.randint(len(rows), (48,), generator=chance).to(DEVICE) for _ in range(steps))
    train(model, batches, loss, steps=steps, rate=3e-3, what="a model of pixels")
    return model


def pixel_runs():
    begun, runs = time.process_time(), []  # of one thread
    for seed in SEEDS:
        learned, _, tested = divided(seed)
        new = tested.flatten(1).to(DEVICE)
        run = {"seed": seed, "bits": counted(learned, tested)}
        for name, reach in (("attention to all earlier pixels", None), ("attention to earlier pixels nearby", 2.0)):
            model = fit_pixels(learned, 500, seed, reach)
            run["bits"][name] = model.bits(new).mean().item()
            if seed == 0 and reach is None:
                stored_weights.keep("12_attention_in_vision.pixels", model)
        runs.append(run)
    seconds = time.process_time() - begun
    return stored_runs.keep("12_attention_in_vision.pixels", {"runs": runs}, seed="0 to 2", seconds=seconds)


record = pixel_runs() if stored_runs.full() else stored_runs.load("12_attention_in_vision.pixels")
print(stored_runs.how(record))
bits = {name: [run["bits"][name] for run in record["results"]["runs"]] for name in record["results"]["runs"][0]["bits"]}
bits = dict(sorted(bits.items(), key=lambda one: -sum(one[1])))
for name, values in bits.items():
    print(f"{name:36} {spread(values)}")
for run in record["results"]["runs"]:  # the claims below hold for each seed
    everything, nearby = (
        run["bits"][f"attention to {which}"] for which in ("all earlier pixels", "earlier pixels nearby")
    )
    assert (
        nearby
        < everything
        < min(run["bits"][name] for name in ("the same at each place", "given left and above")) - 0.38
    )

# %% tags=["fold"]
# @title Draws Figure 12
show(
    drawing.bit_bars(bits),
    "Bars, bits per pixel on new digits, means of three seeds: "
    + "; ".join(f"{name}, {sum(values) / 3:.2f}" for name, values in bits.items())
    + ".",
)

# %% [markdown]
# **Figure 12.** Bits per pixel on new digits: counting (grey) and decoders (blue), means over three seeds; the dots are
# the seeds.
#
# Counting by place knows where there is ink in most digits, but not which digit this is. Counting by neighbours knows
# how strokes go on, but not where. The decoders know both, and need about 0.4 bits less than the better of the two.
# Over the 64 pixels of a digit this makes some 27 bits: on average the decoder gives a real digit about a hundred
# million times the probability that counting neighbours does.
#
# The decoder that attends only to nearby pixels is not worse but, in each of the three seeds, even slightly *better*.
# Two layers carry it four rows up, half a digit, and the pixel just before is always fed, even from the end of a row.
# Both had the same 500 steps, though: with longer training or on larger pictures, a decoder may make better use of
# all pixels.

# %% tags=["fold"]
# @title Draws Figure 13
model = stored_weights.load("12_attention_in_vision.pixels", PixelModel()).to(DEVICE)
learned, _, tested = divided(0)
tested = tested.to(DEVICE)
live = model.bits(tested.flatten(1)).mean().item()
one = picture_bits(model, tested[0])
assert_close(one.detach(), model.bits(tested[:1].flatten(1))[0])
assert live < 2.2
chance = torch.Generator().manual_seed(12)
empty = torch.zeros(14, 0, dtype=torch.long, device=DEVICE)
by_place = (
    F.one_hot(learned, 17).float().mean(dim=0).flatten(0, 1)
)  # [64, 17]: how frequent each value is at each place
dull = torch.multinomial(by_place, 14, replacement=True, generator=chance).T.unflatten(1, (8, 8))
show(
    drawing.digits_shown(
        {"real": tested[:14].cpu(), "drawn by place": dull, "written": written(model, empty, chance).cpu()}
    ),
    "Three rows of fourteen pictures of 8 by 8 pixels. Real handwritten digits; pictures whose pixels were drawn independently by their "
    "frequency at each place, blotches without strokes; and pictures that the decoder wrote pixel by pixel, with strokes, some "
    "of which look like digits.",
)

# %% [markdown]
# **Figure 13.** Real digits, pictures whose pixels are drawn independently, each by its frequencies at its place, and
# pictures that the stored decoder (seed 0) has written. None was picked; strokes go on, but few become digits.
#
# One can also give the model the upper rows of a digit and let it write the rest, as GPT continues a text. **iGPT**
# (Chen et al., 2020) became known for this with photographs.


# %% tags=["fold"]
# @title Explorer of Figure 14
def continued(place, rows):
    """A digit, its first rows, and eight ways in which the model goes on."""
    place, rows = int(place), int(rows)
    original = tested[place]
    begun = original.flatten()[: 8 * rows].expand(8, -1)
    return torch.cat([original[None], written(model, begun, torch.Generator().manual_seed(place))]).cpu()


def continued_words(place, rows):
    return (
        f"Digit {int(place)} of the test set, and eight pictures that begin with its first {int(rows)} rows of pixels; what is below the "
        "line was written by the model."
    )


explore(
    lambda place, rows: drawing.digits_shown({"real, then written": continued(place, rows)}, begun=int(rows)),
    alt=continued_words,
    place=Slider("number of the digit", 0, 50, 4, 1),
    rows=Slider("rows that are given", 1, 7, 4, 1),
)

# %% [markdown]
# **Figure 14.** A digit that the model has not seen in training (left), and eight continuations of the rows above the
# line.
#
# The same measure compares published models. On CIFAR-10, small photographs with 256 values in each of three colours,
# a uniform guess costs 8 bits per value. PixelCNN, a convolutional network, needs 3.14 (van den Oord, Kalchbrenner
# and Kavukcuoglu, 2016), and Image Transformer, with local attention, 2.90 (Parmar et al., 2018). Their weakness is
# the writing: each of thousands of values has to wait for the one before it.
#
# **Triangles, too.** A mesh is a set of triangles. To write it as a sequence, one needs an order and a vocabulary:
# PolyGen (Nash et al., 2020) rounds coordinates to a grid, so that each is one of 256 values, sorts the corners from
# the lowest to the highest, and lets one Transformer write the corners and a second one the faces, by pointing back to
# corners. MeshGPT (Siddiqui et al., 2024) first learns a vocabulary for triangles, in which each is a handful of
# tokens, and writes these with a decoder like lesson 11's. The order is a choice of the modeller here, as raster order
# is one for pixels; the chain rule holds for any.

# %% [markdown]
# ## Back to the other object
#
# A cell of the triangle had to know the colour of a circle at the far end of the picture. One attention block carries
# it there in a single step, and it decides by content where to look. But we have also seen that this is not the only
# way: dilated convolutions reach as far in four steps, and a small PointNet names solids without any point looking at
# another. What attention offers is one mechanism for grids, for sets and for sequences, in which only the *mask*
# changes: none for a picture, windows for a large one, neighbours for a cloud, the past for a picture that is being
# written.

# %% [markdown]
# ## Going further
#
# <details><summary>Going further: rows and columns</summary>
#
# **Axial attention** (Ho et al., 2019) lets each cell attend to its own row in one layer and to its own column in the
# next; **criss-cross attention** (Huang et al., 2019) does both in one softmax. With $N = R \cdot C$ cells there are
# $N (R + C - 1)$ scores. After two such layers every cell knows of every other one: along the row first, then along the
# column. The assignment's stretch asks for the version with one softmax, in which each cell must be counted once.
#
# </details>
#
# <details><summary>Going further: what a cell does not know</summary>
#
# SAGAN's block has no positional encoding. It need not know where a cell lies in order to find a cell of another
# colour, and the zero padding of the convolutions before it leaves traces of the position in the grid. Where the
# question is *left of* or *above*, positions matter: Swin adds a learned number to each score, which depends only on
# the offset between the two cells, and Point Transformer feeds differences of coordinates into scores and values.
#
# </details>

# %% [markdown]
# ## Summary
#
# | idea | formula | scores |
# |---|---|---|
# | reach of $L$ convolutions of width $k$ | $L (k-1)/2$; with gaps $1, 2, 4, \dots$ and $k = 3$: $2^L - 1$ | none |
# | SAGAN's block | $X + \gamma \cdot \operatorname{softmax}(QK^\top)\, V W_O$, no root, $\gamma = 0$ at first | $N^2$ |
# | windows of $M$ by $M$ | attention within each; shifted in every other layer | $N M^2$ |
# | nearest points | each attends to its $k$ nearest | $N k$ |
# | pooling | $\operatorname{softmax}(s \cdot K / \sqrt D)\, V$ with a learned $s$ | $N$ |
# | pixels | $P(x) = \prod_t P(x_t \mid x_{<t})$ in raster order, causal mask | $N (N+1)/2$ |
# | bits per pixel | $-\frac1N \sum_t \log_2 P(x_t \mid x_{<t})$ | |
#
# The picture to remember is Figure 5: reach decides, and attention is not the only way to it.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> How many 3×3 convolutions does it take until a cell of a 56 × 56 grid can depend on any other, plain and with gaps 1, 2, 4, …?</summary>
#
# The greatest distance is 55. Plain ones reach one cell a layer, so it takes 55. With doubling gaps $2^L - 1 \ge 55$
# first holds for $L = 6$.
#
# </details>
#
# <details><summary><b>2.</b> Why does SAGAN start with γ = 0 and not with W_O = 0?</summary>
#
# Either leaves the network unchanged at first. With $\gamma = 0$, only $\gamma$ has a gradient within the block in
# the first step: a single number decides when attention enters.
#
# </details>
#
# <details><summary><b>3.</b> A grid of 56 × 56 cells is cut into windows of 7 × 7. By which factor does the number of scores fall?</summary>
#
# By $N / M^2 = 3136 / 49 = 64$.
#
# </details>
#
# <details><summary><b>4.</b> Someone adds a learned positional encoding to the points of a cloud. What goes wrong?</summary>
#
# The vector would belong to the place in the *list*, which means nothing. The result then depends on the order, and
# whatever the network learns from the order is of no use for the next cloud.
#
# </details>
#
# <details><summary><b>5.</b> A model predicts digits with $0.1$ bits per pixel, better than any other. What do you check first?</summary>
#
# Check whether a pixel sees itself, because the input was not moved or the mask lets it in.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **A root where there is none.** SAGAN's scores are not divided; `scaled_dot_product_attention` divides unless it
#   is told `scale=1.0`. With trained weights from the other convention the result is wrong without an error.
# - **Flattening in the wrong order.** A grid $[C, \text{rows}, \text{columns}]$ becomes $[N, C]$ by `flatten(1).T`; a
#   `reshape` to $[N, C]$ has the right shape and mixes channels with cells. The same holds for windows.
# - **Distances by $|x|^2 + |y|^2 - 2\,x \cdot y$** lose all digits far from the origin. Subtract first.
# - **Neighbours by differences of $t$.** In raster order the end of one row and the beginning of the next are
#   neighbours in the list and far apart in the picture.
# - **Nats for bits.** `cross_entropy` gives nats; divide by $\ln 2$.

# %% [markdown]
# ## Where to go next
#
# - **Do**: [assignment 12](../assignments/12_attention_in_vision/12_attention_in_vision.ipynb).
# - **Read on**: [lesson 13](13_vision_transformer.ipynb) takes the first cure, patches, and builds the Vision
#   Transformer.
# - **Look up**: the [glossary](../docs/glossary.md).
#
# ## References
#
# - H. Zhang, I. Goodfellow, D. Metaxas, A. Odena (2019). Self-attention generative adversarial networks. ICML.
#   arXiv:1805.08318. *Table 1: the control with residual blocks.*
# - A. Vaswani et al. (2017). Attention is all you need. NeurIPS. arXiv:1706.03762. *Table 1: operations, sequential
#   steps, path lengths.*
# - F. Yu, V. Koltun (2016). Multi-scale context aggregation by dilated convolutions. ICLR. arXiv:1511.07122.
# - A. van den Oord et al. (2016). WaveNet: a generative model for raw audio. arXiv:1609.03499. *Gaps that double.*
# - Z. Liu et al. (2021). Swin Transformer: hierarchical vision Transformer using shifted windows. ICCV.
#   arXiv:2103.14030.
# - C. R. Qi, H. Su, K. Mo, L. J. Guibas (2017a). PointNet: deep learning on point sets for 3D classification and
#   segmentation. CVPR. arXiv:1612.00593.
# - C. R. Qi, L. Yi, H. Su, L. J. Guibas (2017b). PointNet++: deep hierarchical feature learning on point sets in a
#   metric space. NeurIPS. arXiv:1706.02413.
# - H. Zhao, L. Jiang, J. Jia, P. Torr, V. Koltun (2021). Point Transformer. ICCV. arXiv:2012.09164.
# - J. Lee, Y. Lee, J. Kim, A. Kosiorek, S. Choi, Y. W. Teh (2019). Set Transformer. ICML. arXiv:1810.00825.
# - A. van den Oord, N. Kalchbrenner, K. Kavukcuoglu (2016). Pixel recurrent neural networks. ICML. arXiv:1601.06759.
# - N. Parmar et al. (2018). Image Transformer. ICML. arXiv:1802.05751.
# - M. Chen et al. (2020). Generative pretraining from pixels. ICML. *iGPT.*
# - C. Nash, Y. Ganin, S. M. A. Eslami, P. Battaglia (2020). PolyGen: an autoregressive generative model of 3D meshes.
#   ICML. arXiv:2002.10880.
# - Y. Siddiqui et al. (2024). MeshGPT: generating triangle meshes with decoder-only Transformers. CVPR.
#   arXiv:2311.15475.
# - J. Ho, N. Kalchbrenner, D. Weissenborn, T. Salimans (2019). Axial attention in multidimensional Transformers.
#   arXiv:1912.12180.
# - Z. Huang et al. (2019). CCNet: criss-cross attention for semantic segmentation. ICCV. arXiv:1811.11721.
# - E. Alpaydin, C. Kaynak (1998). Optical recognition of handwritten digits. UCI Machine Learning Repository. *The
#   digits, CC BY 4.0.*
