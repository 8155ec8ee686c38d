# %% [markdown]
# # Assignment 03: captions that look at the picture
#
# You build what Show, Attend and Tell (Xu et al., 2015) is made of: the grid of a CNN as a collection of vectors and back,
# a look at it, the first state, one step with its gate, and the penalty that asks for every place once. Then you put them
# together, train a captioner, and it is judged by what it says of scenes that nobody has seen.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · a grid as vectors | 2 | ●○○ | 10 |
# | 2 · weights as maps | 1 | ●○○ | 5 |
# | 3 · looking at a grid | 3 | ●●○ | 20 |
# | 4 · the first state | 2 | ●○○ | 10 |
# | 5 · one word of a caption | 3 | ●●● | 30 |
# | 6 · every place once: the penalty | 3 | ●●○ | 15 |
# | 7 · a captioner, trained | 4 | ●●● | 40 |
# | 8 · where it looks, a written answer | 2 | ●●○ | 10 |
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A check
# tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like, and add
# cells of your own; please leave the check cells themselves as they are. Grading examines the same properties and some
# more, on other numbers and other sizes: a ✓ is a good sign, not yet the mark. Exercises 1 to 6 need no other exercise's
# code; exercise 7 uses 1, 4 and 5.
#
# **Shapes.** Grids `G` are `[B, D, H, W]`, as torch's convolutions give them: a vector of `D` numbers in each of `H` rows
# and `W` columns. As a collection of vectors they are `X`, `[B, L, D]` with `L = H*W` cells.

# %% [markdown] tags=["demands"]
# **What is asked of every exercise.** Grading examines each of these; a check shows some of them. Where an exercise's own
# text says something else, that holds.
#
# - Inputs come back as they were given, and the same inputs give the same result in every call.
# - Results have the floating-point type of the inputs, float32 or float64, and are computed in it.
# - Numbers of float64 may be larger than float32 can hold. (Not asked of `grid_attention`.)
# - Inputs of bfloat16 give results of bfloat16.
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours.
# - Small numbers count beside large ones: nothing is cut off.
# - Numbers may be 0.
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Where a shape begins with `*B`, there may be no batch axis, one, or several.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or by name.
# - Gradients flow from the result to every floating-point input and every weight.
# - Gradients are right also where a softmax is nearly 0 or 1.

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

installed = prepare()

# %%
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.device import device
from utils.data.scenes import LONGEST, images, scenes, vocabulary, words
from utils.models.training import train
from utils.data.translation import PAD, START, STOP
from utils.models.grid_cnn import grids, trained_cnn
from utils.progress import progress

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()

# %% [markdown]
# ## 1 · A grid as vectors
#
# A CNN leaves a grid `G` of feature vectors. Attention wants a collection: one vector for each cell, row by row, so that
# cell $(h, w)$ becomes number $h \cdot W + w$.
#
# <details><summary>Hint: the idea</summary>
#
# First bring the channels to the end, then join rows and columns into one axis. `reshape` alone never moves a number.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[B, D, H, W]` → `[B, D, H*W]` → `[B, H*W, D]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# flatten the last two axes, then swap the last two
# </details>


# %% nbgrader={"grade": false, "grade_id": "grid_to_vectors", "locked": false, "schema_version": 3, "solution": true, "task": false}
def grid_to_vectors(G: Float[Tensor, "B D H W"]) -> Float[Tensor, "B H*W D"]:
    """The cells of each grid, row by row.

    Example:
        a grid with D = 1 and rows [[1, 2], [3, 4]] gives [[1], [2], [3], [4]].
    """
    ### BEGIN SOLUTION
    return G.flatten(2).mT  # [B, D, H, W] -> [B, D, H*W] -> [B, H*W, D]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_grid_to_vectors", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(grid_to_vectors)

# %% [markdown]
# ## 2 · Weights as maps
#
# A look gives a weight for each cell, in the order of exercise 1. To draw it one needs the map back: `height` rows, and as
# many columns as then are left.
#
# <details><summary>Hint: the idea</summary>
#
# The cells are in row order already, so that a change of shape is enough. `unflatten` divides one axis in two.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[*B, H*W]` → `[*B, H, W]`; any number of axes may stand in front.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# divide the last axis into (height, the rest)
# </details>


# %% nbgrader={"grade": false, "grade_id": "weights_to_maps", "locked": false, "schema_version": 3, "solution": true, "task": false}
def weights_to_maps(A: Float[Tensor, "*B H*W"], height: int) -> Float[Tensor, "*B H W"]:
    """Weights over the cells of a grid with `height` rows, as maps.

    Example:
        [0.1, 0.2, 0.3, 0.4] with height 2 gives [[0.1, 0.2], [0.3, 0.4]].
    """
    ### BEGIN SOLUTION
    return A.unflatten(-1, (height, -1))  # [*B, H*W] -> [*B, H, W]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_weights_to_maps", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(weights_to_maps)

# %% [markdown]
# ## 3 · Looking at a grid
#
# A decoder state $s$ looks at the grid with additive scores: $E_{hw} = \tanh(s W + g_{hw} U) \cdot v$, with $g_{hw}$ a
# cell's vector. The weights are
# **one** softmax over all cells of an image, and the context is the sum of the cells' vectors, mixed by their weights. Give
# back both, the weights as a map.
#
# <details><summary>Hint: the idea</summary>
#
# Flatten, look as in lesson 02, and unflatten the weights. Or stay in the grid, and take care that the softmax runs over both
# axes together.
# </details>
# <details><summary>Hint: shapes</summary>
#
# With `X` `[B, H*W, D]`: `(s @ W)[:, None]` is `[B, 1, D_A]`, `X @ U` is `[B, H*W, D_A]`; scores and weights are `[B,
# H*W]`, the context `[B, D]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# X: the cells as vectors; scores from tanh of (s W with a new axis + X U), times v; softmax over the last axis; context:
# weights times X; weights back as maps
# </details>


# %% nbgrader={"grade": false, "grade_id": "grid_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def grid_attention(
    s: Float[Tensor, "B D_S"],
    G: Float[Tensor, "B D H W"],
    W: Float[Tensor, "D_S D_A"],
    U: Float[Tensor, "D D_A"],
    v: Float[Tensor, "D_A"],
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B H W"]]:
    """The context that state s finds in the grid, and the weights by which it was mixed.

    Example:
        with v = 0 all cells have the same weight, and the context is their mean.
    """
    ### BEGIN SOLUTION
    X = G.flatten(2).mT  # [B, H*W, D]
    e = torch.tanh((s @ W)[:, None] + X @ U) @ v  # [B, 1, D_A] + [B, H*W, D_A] -> [B, H*W]
    a = e.softmax(dim=-1)  # over all cells together
    c = (a[:, None] @ X)[:, 0]  # [B, 1, H*W] @ [B, H*W, D] -> [B, D]
    return c, a.unflatten(-1, G.shape[2:])
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_grid_attention", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(grid_attention)

# %% [markdown]
# ## 4 · The first state
#
# Before the first word the decoder should know, roughly, what the picture shows. Its first state is made from the mean of
# all cells: $s_0 = \tanh(\mathrm{linear}(\bar g))$ with $\bar g = \frac{1}{HW}\sum_{h,w} G_{hw}$. The layer's name is
# `linear`.
#
# <details><summary>Hint: the idea</summary>
#
# Mean over rows and columns, then the layer, then tanh.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[B, D, H, W]` → `[B, D]` → `[B, D_S]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# tanh(linear(mean of G over its last two axes))
# </details>


# %% nbgrader={"grade": false, "grade_id": "InitialState", "locked": false, "schema_version": 3, "solution": true, "task": false}
class InitialState(nn.Module):
    """The first state [B, D_S] of a captioner, for grids [B, D, H, W]."""

    def __init__(self, D: int, D_S: int):
        super().__init__()
        self.linear = nn.Linear(D, D_S)

    def forward(self, G: Float[Tensor, "B D H W"]) -> Float[Tensor, "B D_S"]:
        ### BEGIN SOLUTION
        return torch.tanh(self.linear(G.mean(dim=(2, 3))))  # [B, D, H, W] -> [B, D] -> [B, D_S]
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_InitialState", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(InitialState)

# %% [markdown]
# ## 5 · One word of a caption
#
# One step of the decoder. The state before the step, $s$, looks at the cells: $e_i = v(\tanh(W s + U x_i))$, weights by a
# softmax, $c = \sum_i a_i x_i$. A **gate** decides how much of that the step gets: $\beta = \sigma(\mathrm{gate}(s))$, one
# number for each caption, $z = \beta c$. (Words such as *of* need no picture.) Then the cell takes its step with
# `[embedding(y); z]`, and the logits are `out([s_new; z])`.
#
# Seven layers, with just these names: `embedding`, an `nn.Embedding` of $V$ words with $D_E$ numbers each; three `nn.Linear`
# **without bias**, `W` from $D_S$ to $D_A$, `U` from $D$ to $D_A$, `v` from $D_A$ to 1; `gate`, `nn.Linear` from $D_S$ to 1;
# `cell`, an `nn.GRUCell` that takes $D_E + D$ numbers and keeps $D_S$; `out`, `nn.Linear` from $D_S + D$ to $V$.
#
# <details><summary>Hint: the idea</summary>
#
# As in lesson 02, with the gate between the look and the cell. Both cell and output layer get $z$.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `W(s)` is `[B, D_A]` and needs a new axis before it meets `U(X)`, `[B, L, D_A]`. `gate(s)` is `[B, 1]`, and multiplies
# `[B, D]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# a: softmax over the cells of v(tanh(W(s) with a new axis + U(X))); c: a times X; z: sigmoid(gate(s)) times c; s_new: cell
# of the word's embedding and z, and s; logits: out of s_new and z
# </details>


# %% nbgrader={"grade": false, "grade_id": "CaptionStep", "locked": false, "schema_version": 3, "solution": true, "task": false}
class CaptionStep(nn.Module):
    """One step of a captioner: words y [B], states s [B, D_S] and cells X [B, L, D] give logits [B, V], new states [B, D_S] and
    weights [B, L]."""

    def __init__(self, V: int, D_E: int, D: int, D_S: int, D_A: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.gate = nn.Linear(D_S, 1)
        self.cell = nn.GRUCell(D_E + D, D_S)
        self.out = nn.Linear(D_S + D, V)
        ### END SOLUTION

    def forward(
        self, y: Int[Tensor, "B"], s: Float[Tensor, "B D_S"], X: Float[Tensor, "B L D"]
    ) -> tuple[Float[Tensor, "B V"], Float[Tensor, "B D_S"], Float[Tensor, "B L"]]:
        ### BEGIN SOLUTION
        e = self.v(torch.tanh(self.W(s)[:, None] + self.U(X)))[..., 0]  # [B, L]
        a = e.softmax(dim=-1)  # [B, L]
        c = (a[:, None] @ X)[:, 0]  # [B, 1, L] @ [B, L, D] -> [B, D]
        z = torch.sigmoid(self.gate(s)) * c  # [B, 1] * [B, D] -> [B, D]
        s_new = self.cell(torch.cat([self.embedding(y), z], dim=-1), s)  # [B, D_S]
        return self.out(torch.cat([s_new, z], dim=-1)), s_new, a
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_CaptionStep", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(CaptionStep)

# %% [markdown]
# ## 6 · Every place once: the penalty
#
# For each word the weights sum to 1 over the cells. Xu et al. (2015) also ask that over a whole caption each *cell* is
# looked at about once: they add $\sum_i (1 - \sum_t a_{ti})^2$ to the loss, for each caption, averaged over the batch.
# Words that are padding do not look: `real` is True at words.
#
# <details><summary>Hint: the idea</summary>
#
# Which sum is inside, which outside? Inside over the words, outside over the cells.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `A` `[B, T, L]` with padding set to 0 → sum over T → `[B, L]` → sum over L → `[B]` → mean → a scalar.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# looked: sum over t of A times real (with a new axis); mean over the batch of the sum over cells of (1 − looked)²
# </details>


# %% nbgrader={"grade": false, "grade_id": "doubly_stochastic_penalty", "locked": false, "schema_version": 3, "solution": true, "task": false}
def doubly_stochastic_penalty(A: Float[Tensor, "B T L"], real: Bool[Tensor, "B T"]) -> Float[Tensor, ""]:
    """How far each cell is from being looked at once in a caption, squared, summed over cells, averaged over captions.

    Example:
        one caption of two words that look at cells 0 and 1 of three, with all their weight: the penalty is 1.
    """
    ### BEGIN SOLUTION
    looked = (A * real[..., None]).sum(dim=1)  # [B, L]
    return (1 - looked).square().sum(dim=-1).mean()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_doubly_stochastic_penalty", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(doubly_stochastic_penalty)

# %% [markdown]
# ## 7 · A captioner, trained
#
# Now put it together. Here are scenes, captions, and a CNN that is trained to name single things (about fifteen seconds).
# Its grids of 12 by 12 cells are averaged to 6 by 6, to be quick.

# %%
some = scenes(5000, seed=1)
captions = words(some).to(DEVICE)  # [5000, 12]
photos = images(some)  # [5000, 3, 48, 48]
cnn = trained_cnn(some, photos)


def small_grids(pictures: Float[Tensor, "B 3 48 48"]) -> Float[Tensor, "B 64 6 6"]:
    return F.avg_pool2d(grids(cnn, pictures), 2)


known = small_grids(photos)
print(" ".join(some[0].caption), *captions[0].tolist())

# %% [markdown]
# **First the model.** Its layers are made, and a cell is told where it stands (`located`). Write two methods:
#
# - `forward(G, Y)`, for training: feed `[START]`, then the right words; give the logits `[B, T, V]` for all words.
# - `write(G)`, for use: feed `[START]`, then the likeliest word each time, `LONGEST` times; give the words `[B, LONGEST]`:
#   whatever comes after a `[STOP]` is `[PAD]`.
#
# <details><summary>Hint: the idea</summary>
#
# In both: locate, make vectors, begin, then a loop over words that calls `step`. In `write`, note for each caption whether
# it has ended.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# forward: X from located G; s from begin; for each fed word: logits, s, a from step; stack the logits along axis 1. write:
# the same with y = START for all; y is the argmax; where ended, y is PAD; ended becomes True where y is STOP; stack.
# </details>


# %% nbgrader={"grade": false, "grade_id": "Captioner", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Captioner(nn.Module):
    """Captions for grids [B, D, H, W]."""

    def __init__(self, D: int = 64, D_S: int = 64, D_E: int = 32, D_A: int = 32):
        super().__init__()
        self.place = nn.Linear(2, D)
        self.begin = InitialState(D, D_S)
        self.step = CaptionStep(len(vocabulary()), D_E, D, D_S, D_A)

    def located(self, G: Float[Tensor, "B D H W"]) -> Float[Tensor, "B D H W"]:
        """The grid with something added to each cell that tells its row and column."""
        rows, columns = (torch.linspace(-2, 2, n, device=G.device) for n in G.shape[2:])
        places = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), dim=-1)  # [H, W, 2]
        return G + self.place(places).permute(2, 0, 1)  # [B, D, H, W] + [D, H, W]

    def forward(self, G: Float[Tensor, "B D H W"], Y: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits for the words Y, each after the right beginning."""
        ### BEGIN SOLUTION
        G = self.located(G)
        X, s = grid_to_vectors(G), self.begin(G)  # [B, L, D], [B, D_S]
        found = []
        for fed in F.pad(Y, (1, 0), value=START)[:, :-1].unbind(dim=1):  # [START], y_1, …, each [B]
            logits, s, _ = self.step(fed, s, X)
            found.append(logits)
        return torch.stack(found, dim=1)
        ### END SOLUTION

    @torch.no_grad()
    def write(self, G: Float[Tensor, "B D H W"]) -> Int[Tensor, "B T"]:
        """The likeliest words, one after the other: [B, LONGEST], with [PAD] behind [STOP]."""
        ### BEGIN SOLUTION
        G = self.located(G)
        X, s = grid_to_vectors(G), self.begin(G)
        y = torch.full((len(G),), START, device=G.device)  # [B]
        ended = torch.zeros_like(y, dtype=torch.bool)  # [B]
        written = []
        for _ in range(LONGEST):
            logits, s, _ = self.step(y, s, X)
            y = logits.argmax(dim=-1).masked_fill(ended, PAD)
            ended |= y == STOP
            written.append(y)
        return torch.stack(written, dim=1)
        ### END SOLUTION


# %% [markdown]
# **Then training** (about half a minute). The loop is ready; you may change steps, rate, widths and whatever else helps. If the
# loss falls to almost nothing at once, and the captions are wrong nevertheless: is a word fed where it is to be predicted?

# %%
torch.manual_seed(0)
seeded = torch.Generator().manual_seed(0)
STEPS = 900


def caption_loss(model, chosen):
    G, Y = known[chosen.to(DEVICE)], captions[chosen.to(DEVICE)]  # [B, D, H, W], [B, T]
    return F.cross_entropy(model(G, Y).flatten(0, 1), Y.flatten(), ignore_index=PAD)


try:
    captioner = Captioner().to(DEVICE)
    chosen = (torch.randint(len(known), (64,), generator=seeded) for _ in range(STEPS))
    curve = train(captioner, chosen, caption_loss, steps=STEPS, rate=8e-3)
    print(f"loss at the start {curve[0]:.2f}, at the end {sum(curve[-50:]) / 50:.2f}")
except NotImplementedError:
    print("not yet: the captioner, or what it is made of, is unfinished")

# %% [markdown]
# **And its use.** `caption_scenes` gets pictures and gives captions, with your trained captioner. It is judged on pictures
# that it has never seen: 2 points if half of the captions are right word by word, 4 points if three in four are.
#
# <details><summary>Hint: the idea</summary>
#
# Pictures → `small_grids` → `captioner.write`. Is the captioner in eval mode? (`train` leaves it so.)
# </details>


# %% nbgrader={"grade": false, "grade_id": "caption_scenes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def caption_scenes(images: Tensor) -> Int[Tensor, "B T"]:
    """Captions [B, 12] of pictures [B, 3, 48, 48]: numbers of words, [STOP] behind the last, then [PAD]."""
    ### BEGIN SOLUTION
    return captioner.write(small_grids(images)).to(images.device)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_caption_scenes", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(caption_scenes)

# %% [markdown]
# See what it says:

# %% tags=["play"]
try:
    for scene, said in zip(scenes(6, seed=5), caption_scenes(images(scenes(6, seed=5)))):
        told = " ".join(vocabulary().words[number] for number in said.tolist() if number not in (PAD, STOP))
        print("right" if told == " ".join(scene.caption) else "WRONG", "·", told)
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_where_it_looks", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8 · Where it looks
#
# Answer in three to six sentences, in the cell below:
#
# 1. Soft attention mixes all cells; hard attention draws one cell by chance, with the weights as probabilities. Why can
#    the soft one be trained by gradient descent alone, and why not the hard one?
# 2. A doctor is shown a caption for an X-ray together with the map of the weights for its most important word, which lies
#    on the lung. What does the map tell, and what does it not tell?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: soft and hard.** The soft context is a smooth function of the scores, so a gradient goes through weights and
# sum. Drawing is not smooth: the drawn cell does not change when a score changes a little, so there is no gradient
# through the draw, and an estimate such as REINFORCE is needed, which is noisy. (½ for each side.)
#
# **1 point: what a map tells.** It tells which cells' vectors were mixed into the context of that word, in which shares.
# It does not tell that these cells are the reason for the word: each cell has seen its surroundings (the receptive
# field), the word may come from the state or from habit of language alone, and other weights might lead to the same word.
# (½ for each side.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_where_it_looks", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The soft context is a sum whose weights change smoothly with the scores, so the loss has a gradient with respect to
# them. A draw does not change at all when a score changes a little, until it suddenly does; gradients cannot pass, and
# one has to estimate them from many draws, which is noisy. The map says which cells' vectors went into the context and in
# which shares. It does not say why the word was chosen: a cell has also seen what lies around it, and the word may come
# from the decoder's state or from what usually follows in such reports.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.

# %%
progress()
