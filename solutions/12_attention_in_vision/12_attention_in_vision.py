# %% [markdown]
# # Assignment 12: attention in vision
#
# Attention came to pictures before pictures came to Transformers. You build SAGAN's block, by which every cell of a
# convolutional network looks at all cells, and then make it cheaper: with windows on a grid, and with nearest
# neighbours among points in space. Attention with a learned query turns a set of any size into a single vector. Two
# exercises are about pictures that are written pixel by pixel: who may attend to whom, and how many bits a picture
# costs. Finally you count how many layers lie between two positions of a sequence. The stretch is attention along rows
# and columns.
#
# **Goals.** You can put self-attention into a convolutional network without changing it at first, cut a grid into
# windows and put it together again, find the nearest neighbours of points without losing digits, let each point attend
# to its neighbours alone, pool a set by attention, write the mask of a model that draws pixel by pixel, measure such a
# model in bits per pixel, and compare recurrent, convolutional and attention layers by the length of their paths.
#
# **What you need.** [Lesson 12](../../notebooks/12_attention_in_vision.ipynb), the attention layer of assignment 04, the
# self-attention of assignment 05 and the masks of assignment 07. Two exercises are an `nn.Module`. The
# [glossary](../../docs/glossary.md) has all terms and symbols.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · self-attention over a picture | 3 | ●●○ | 25 |
# | 2 · attention in windows | 3 | ●●● | 30 |
# | 3 · nearest neighbours | 2 | ●○○ | 10 |
# | 4 · attention among neighbours | 2 | ●●○ | 20 |
# | 5 · pooling a set | 2 | ●●○ | 20 |
# | 6 · a mask in raster order | 1 | ●○○ | 10 |
# | 7 · bits per pixel | 2 | ●●○ | 20 |
# | 8 · the length of a path | 2 | ●●○ | 15 |
# | 9 · along rows and columns | stretch | ●●● | 25 |
# | 10 · a written answer | 3 | ●●○ | 20 |
#
# It takes about 170 minutes in all, plus about 25 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. No exercise needs another exercise's
# code.
#
# **Shapes.** `B` is the batch. A grid has `rows` and `columns`, and cell $(r, c)$ lies in row $r$ and column $c$, both
# counted from 0. In exercise 1 a grid comes as a convolution gives it, with its `C` channels in front of rows and
# columns. In exercises 2 and 9 the features come last, and `D` is their number. `N` is the number of points of a set, `S`
# the number of their coordinates, and `k` the number of neighbours. Exercise 7 has `V` values that a pixel may have, and
# `S` in exercise 8 is the number of distances. `rows*columns` is the name of a single axis.
#
# A name such as `N` in a shape is no variable, unless it is an argument too: read it from a tensor. A mask is of type
# `torch.bool`, and True means **may attend**, or, in exercise 5, that a point is there. There are no heads in this
# assignment. Floating-point results have the type of the numbers that came in (double precision if these are).

# %% [markdown] tags=["demands"]
# **How it is graded.** Grading runs what the checks run, on other numbers and other sizes: whatever can cost points, a
# check shows. Three quarters of an exercise's points are for its idea. The last quarter is for **robustness**, which is
# asked of every exercise: your code also works for other types of numbers, memory layouts and sizes, and for very large
# or small numbers.
#
# <details><summary>What is asked of every exercise, in full</summary>
#
# Where an exercise's own text says something else, the exercise's text holds.
#
# - Inputs are not changed, and the same inputs give the same result in every call.
# - Inputs of float64 give results of float64; on the way, float32 is precise enough.
# - Inputs of bfloat16 give results of bfloat16; a single number, such as a loss, may be of float32.
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours.
# - Small numbers count beside large ones: nothing is cut off.
# - Numbers may be 0.
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight.
# - Gradients are right also where a softmax is nearly 0 or 1.
#
# </details>

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

# %%
import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.progress import progress

# %% [markdown]
# ## 1 · Self-attention over a picture
#
# A convolution sees a few cells around each cell. What lies at the other end of the picture reaches it only through
# many layers. Zhang et al. (2019) therefore put a block into their networks in which every cell looks at all cells at
# once ([lesson 12](../../notebooks/12_attention_in_vision.ipynb), "Self-attention in a convolutional network"). Write
# SAGAN's block.
#
# `X` is `[B, C, rows, columns]`, and so is the result. With $n$ and $m$ for any two cells of the same picture,
#
# $$E_{nm} = q_n \cdot k_m, \qquad A_{nm} = \underset{m}{\mathrm{softmax}}\; E_{nm}, \qquad
# Y_n = X_n + \gamma \; \mathrm{output}\Big(\sum_m A_{nm}\, v_m\Big).$$
#
# | name | layer | |
# |---|---|---|
# | `queries`, `keys`, `values` | `nn.Conv2d(C, C_K, 1)` | give each cell its $q$, $k$ and $v$ |
# | `output` | `nn.Conv2d(C_K, C, 1)` | leads from `C_K` channels back to `C` |
# | `gamma` | `nn.Parameter`, a single number of shape `[]` | starts at 0 |
#
# - The convolutions have a kernel of one cell, so each cell goes through the same linear layer. All four have a bias.
# - The scores are the plain scalar products. They are **not** divided by $\sqrt{C_K}$, unlike those of a Transformer.
# - Each cell attends to all cells of its picture, itself included. The softmax runs over the cells that are looked at.
# - `gamma` multiplies what `output` gives, bias included. A new block hands the picture on as it is, and training
#   decides how much attention is mixed in.
#
# `C_K` may be smaller or larger than `C`, and a picture need not be square. `F.scaled_dot_product_attention` is allowed;
# `nn.MultiheadAttention` is not.
#
# <details><summary>Hint: the idea</summary>
#
# Attention knows no rows and columns. For the block, a picture is a sequence of its cells; which axes have to be joined
# for this, and which one has to move?
# </details>
# <details><summary>Hint: shapes</summary>
#
# With $N$ for rows times columns, `queries` gives `[B, C_K, rows, columns]`, and attention wants `[B, N, C_K]`. The scores
# are `[B, N, N]`. On the way back, the channels have to stand in front again before the cells are laid out in rows and
# columns: a change of shape alone mixes channels and cells up.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Make queries, keys and values of all cells.
# 2. Turn each of the three from a grid into a sequence.
# 3. Let every cell attend to all cells, with scores that nothing divides.
# 4. Turn the sequence into a grid of `C_K` channels again.
# 5. Lead it back to `C` channels, scale it, and add it to the picture.
# </details>


# %% nbgrader={"grade": false, "grade_id": "SelfAttention2d", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SelfAttention2d(nn.Module):
    """SAGAN's block: every cell of a picture attends to all cells, and what it finds is added to
    the picture.

    Args:
        C: number of channels of the picture.
        C_K: number of channels of queries, keys and values.

    Example:
        C = 1, C_K = 1, and all weights and biases 0 but the weights of values and output, which are
        1: all scores are 0, so each cell finds the mean of the picture. With gamma = 0.5, X =
        [[[[1, 3]]]] gives [[[[2, 4]]]].
    """

    def __init__(self, C: int, C_K: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.queries, self.keys, self.values = (nn.Conv2d(C, C_K, kernel_size=1) for _ in range(3))
        self.output = nn.Conv2d(C_K, C, kernel_size=1)
        self.gamma = nn.Parameter(torch.zeros(()))  # a single number; 0, so that a new block changes nothing
        ### END SOLUTION

    def forward(self, X: Float[Tensor, "B C rows columns"]) -> Float[Tensor, "B C rows columns"]:
        """The picture, with what each cell has found in all of it added.

        Args:
            X: a batch of pictures, or of a convolutional network's feature maps.

        Returns:
            X plus gamma times the output of attention.
        """
        ### BEGIN SOLUTION
        made = (layer(X) for layer in (self.queries, self.keys, self.values))
        Q, K, V = (grid.flatten(2).transpose(1, 2) for grid in made)  # [B, rows·columns, C_K], a sequence of cells
        found = F.scaled_dot_product_attention(Q, K, V, scale=1.0)  # SAGAN divides by no root
        found = found.transpose(1, 2).unflatten(2, X.shape[2:])  # [B, C_K, rows, columns], channels in front again
        return X + self.gamma * self.output(found)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_SelfAttention2d", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(SelfAttention2d)

# %% [markdown]
# ## 2 · Attention in windows
#
# With twice as many rows and columns, a grid has four times as many cells, and the attention matrix of all cells sixteen
# times as many entries. If each cell attends only to a window of fixed size, the cost grows like the number of cells
# itself ([lesson 12](../../notebooks/12_attention_in_vision.ipynb), "Windows"). The Swin Transformer (Liu et al., 2021)
# is built on this; you write its attention without heads, biases and the shift of the windows.
#
# `Q`, `K` and `V` are `[B, rows, columns, D]`. The grid is cut into square windows of $M$ by $M$ cells, and each cell
# attends to the cells of its own window, itself included. Two cells $(r, c)$ and $(s, t)$ share a window if
#
# $$\lfloor r/M \rfloor = \lfloor s/M \rfloor \quad\text{and}\quad \lfloor c/M \rfloor = \lfloor t/M \rfloor.$$
#
# - `M` is a window's side, counted in cells. It divides both `rows` and `columns`, which may differ.
# - The first window begins at the top left corner. Windows do not overlap, and nothing is shifted.
# - Scores are divided by $\sqrt{D}$. The softmax runs over the $M \cdot M$ cells of a window.
# - The result `[B, rows, columns, D]` has at $(r, c)$ what the cell $(r, c)$ has found.
#
# A window may be a single cell or the whole grid. A mask over the whole grid gives the right numbers as well and is
# allowed, though it saves nothing. `F.scaled_dot_product_attention` is allowed; `nn.MultiheadAttention` is not.
#
# <details><summary>Hint: the idea</summary>
#
# Windows do not know each other, so they are to attention what the pictures of a batch are. Cut both axes of the grid in
# two: which window, and which place in it. Then put side by side what belongs together.
# </details>
# <details><summary>Hint: shapes</summary>
#
# A grid that is cut, `[B, rows/M, M, columns/M, M, D]`, holds its numbers in their old order. Attention needs
# `[…, M·M, D]`, with the two axes inside of a window next to each other. Which two axes have to change places? The way back
# takes the same steps in the opposite order.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Cut each of the three grids into windows, the cells of a window in a sequence.
# 2. Let the cells of each window attend to each other.
# 3. Give each window its rows and columns back.
# 4. Bring the axes into their old order, and join what was cut.
# </details>


# %% nbgrader={"grade": false, "grade_id": "attention_in_windows", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_in_windows(
    Q: Float[Tensor, "B rows columns D"],
    K: Float[Tensor, "B rows columns D"],
    V: Float[Tensor, "B rows columns D"],
    M: int,
) -> Float[Tensor, "B rows columns D"]:
    """Attention in which each cell of a grid attends to the cells of its own window.

    Args:
        Q: the query of each cell.
        K: the key of each cell.
        V: the value of each cell.
        M: side of a window in cells; it divides rows and columns.

    Returns:
        what each cell has found, at the cell's own place.

    Example:
        With D = 1 and Q = 0, all cells of a window weigh the same. Values with the rows 1, 2, 3, 4
        and 5, 6, 7, 8 and M = 2 give
        the rows 3.5, 3.5, 5.5, 5.5 twice: the means of 1, 2, 5, 6 and of 3, 4, 7, 8.
    """
    ### BEGIN SOLUTION
    B, rows, columns, D = Q.shape

    def cut(grid):
        """[B, rows, columns, D] as windows, [B, rows/M, columns/M, M·M, D]."""
        grid = grid.reshape(B, rows // M, M, columns // M, M, D)  # the order of the numbers is still the old one
        return grid.transpose(2, 3).flatten(3, 4)  # the two axes inside of a window are neighbours now, and become one

    found = F.scaled_dot_product_attention(cut(Q), cut(K), cut(V))  # windows are further axes of the batch
    found = found.unflatten(3, (M, M)).transpose(2, 3)  # [B, rows/M, M, columns/M, M, D]: the same axes, back again
    return found.reshape(B, rows, columns, D)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_attention_in_windows", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(attention_in_windows)

# %% [markdown]
# ## 3 · Nearest neighbours
#
# A laser scanner gives points in space. They form no grid, so there are no windows to cut, but points have neighbours:
# those that lie nearest ([lesson 12](../../notebooks/12_attention_in_vision.ipynb), "Points in space"). PointNet++ (Qi
# et al., 2017) and the Point Transformer (Zhao et al., 2021) begin their layers by looking for them.
#
# `points` is `[B, N, S]`: `B` sets of `N` points with `S` coordinates each. For each point, list the numbers of the `k`
# points of its own set that lie nearest to it by Euclidean distance.
#
# - The list goes by growing distance. The point itself belongs to it and comes first, with distance 0.
# - `k` is from 1 to `N`, and `S` may be any number, also 1.
# - Points of a set are numbered from 0. The result `[B, N, k]` is of type `torch.int64`.
# - No two distances from the same point are equal, so nothing has to be decided by chance.
# - Points may lie **far from the origin**, as coordinates on a map do. There
#   $\lVert x \rVert^2 + \lVert y \rVert^2 - 2\, x \cdot y$ loses the digits that count: two large numbers cancel. (This
#   belongs to robustness.)
#
# <details><summary>Hint: the idea</summary>
#
# Make a table with the distance of each point from each other point, then sort its rows. Is it the distances that you
# need in the end?
# </details>
# <details><summary>Hint: shapes</summary>
#
# The differences of all pairs are `[B, N, N, S]`, and the distances `[B, N, N]`. Both `torch.sort` and `torch.topk` tell
# where the numbers that they return come from.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute the distances of all pairs of points of a set, from their differences.
# 2. For each point, find which `k` of the points are nearest, the nearest first.
# </details>


# %% nbgrader={"grade": false, "grade_id": "nearest_neighbours", "locked": false, "schema_version": 3, "solution": true, "task": false}
def nearest_neighbours(points: Float[Tensor, "B N S"], k: int) -> Int[Tensor, "B N k"]:
    """The numbers of the k nearest points of each point, itself first.

    Args:
        points: sets of points.
        k: number of neighbours, from 1 to N; the point itself is one of them.

    Returns:
        for each point the k nearest points of its set, by growing distance, as torch.int64.

    Example:
        points = [[[0.0], [1.0], [5.0], [4.0]]] and k = 2 give [[[0, 1], [1, 0], [2, 3], [3, 2]]].
    """
    ### BEGIN SOLUTION
    # By default cdist may expand ‖x − y‖² into products, which loses digits far from the origin.
    distances = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")  # [B, N, N]
    return distances.topk(k, dim=-1, largest=False).indices  # sorted: the point itself, at distance 0, comes first
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_nearest_neighbours", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(nearest_neighbours)

# %% [markdown]
# ## 4 · Attention among neighbours
#
# Now each point attends to its neighbours and to no other point ([lesson
# 12](../../notebooks/12_attention_in_vision.ipynb), "Points in space"). The Point Transformer compares vectors by their
# difference; here they are compared by scalar products, as everywhere in this course.
#
# `Q` and `K` are `[B, N, D]`, `V` is `[B, N, D_V]`, and `neighbours` is `[B, N, k]`: point $n$ of set $b$ attends to the
# points $m_1, \dots, m_k$ of the same set, with $m_j = \mathrm{neighbours}_{bnj}$:
#
# $$a = \underset{j}{\mathrm{softmax}}\; \frac{Q_{bn} \cdot K_{b m_j}}{\sqrt{D}}, \qquad Y_{bn} = \sum_j a_j\, V_{b m_j}.$$
#
# - The list of a point may be in any order, and each point is in it at most once.
# - A point attends to itself **only if it is in its own list**. Nothing is added and nothing left out.
# - That $m$ is a neighbour of $n$ does not mean that $n$ is a neighbour of $m$.
# - The values may have another width than the keys. The result is `[B, N, D_V]`.
#
# You may look the neighbours up, or hide all other points by a mask `[B, N, N]`; both are right.
#
# <details><summary>Hint: the idea</summary>
#
# Bring to each point the keys of its own neighbours, and their values. Then each point has a small attention of its own,
# with one query.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The keys of all points' neighbours are `[B, N, k, D]`, their scores `[B, N, k]`. A look-up with two tables of numbers, of
# which one says the set and the other the point, gives this at once if the two tables broadcast to `[B, N, k]`.
# `torch.gather` wants its index as wide as the vectors; `torch.take_along_dim` broadcasts.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Look up the keys of each point's neighbours, in its own set.
# 2. Compare the query of each point with the keys of its neighbours.
# 3. Take the softmax over the neighbours.
# 4. Look up their values, and sum them with these weights.
# </details>


# %% nbgrader={"grade": false, "grade_id": "neighbour_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def neighbour_attention(
    Q: Float[Tensor, "B N D"],
    K: Float[Tensor, "B N D"],
    V: Float[Tensor, "B N D_V"],
    neighbours: Int[Tensor, "B N k"],
) -> Float[Tensor, "B N D_V"]:
    """Attention in which each point attends to the points in its own list.

    Args:
        Q: the query of each point.
        K: the key of each point.
        V: the value of each point.
        neighbours: the numbers of the points that each point attends to.

    Returns:
        the weighted sum of the neighbours' values, for each point.

    Example:
        With Q = 0, all neighbours weigh the same: V = [[[1], [3], [8]]] and neighbours =
        [[[0, 1], [1, 2], [0, 2]]] give [[[2], [5.5], [4.5]]].
    """

    ### BEGIN SOLUTION
    def of_neighbours(X):
        """The vectors of each point's neighbours: [B, N, ·] gives [B, N, k, ·]."""
        places = neighbours.flatten(1).unsqueeze(-1)  # [B, N·k, 1]; the last axis broadcasts over the features
        return torch.take_along_dim(X, places, dim=1).unflatten(1, neighbours.shape[1:])

    E = of_neighbours(K) @ Q.unsqueeze(-1) / math.sqrt(Q.shape[-1])  # [B, N, k, 1], k scores for each point
    return (E.softmax(dim=2) * of_neighbours(V)).sum(dim=2)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_neighbour_attention", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(neighbour_attention)

# %% [markdown]
# ## 5 · Pooling a set
#
# To say what a set of points is, such as a chair or a lamp, a network needs one vector for the whole set, however many
# points there are, and it must not depend on their order. A mean does this, but gives every point the same weight. Lee et
# al. (2019) let a learned vector ask instead ([lesson 12](../../notebooks/12_attention_in_vision.ipynb), "Pooling a
# set").
#
# `X` is `[B, N, D]`. Sets have different sizes, so `mask` `[B, N]` is True where a point is there. With $w$ for the
# `seed`,
#
# $$e_{bn} = \frac{w \cdot W_K(X_{bn})}{\sqrt{D}}, \qquad a_b = \mathrm{softmax}\; e_b \;\text{ over the points that are there},
# \qquad Y_b = \sum_n a_{bn}\, W_V(X_{bn}).$$
#
# | name | layer | |
# |---|---|---|
# | `seed` | `nn.Parameter` of shape `[D]` | the query, the same for all sets |
# | `W_K`, `W_V` | `nn.Linear(D, D, bias=False)` | keys and values of the points |
#
# - Where `mask` is False, the weight is 0, whatever stands there. The weights of the points that are there sum to 1.
# - Numbers may be large, and scores far below 0, so a hidden score of $-100$ hides nothing: use $-\infty$.
# - True may stand anywhere in a row, not only in front, and there is at least one in each row.
# - The seed is the query as it is: no layer projects it.
# - The result `[B, D]` is the weighted sum alone. The Set Transformer's own block goes on with a residual connection and
#   an MLP; leave them out.
#
# How the seed begins is up to you; random numbers will do.
#
# <details><summary>Hint: the idea</summary>
#
# This is attention with a single query for each set. What the query is does not depend on the set.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The scores are `[B, N]`, one number for each point, and so is the mask. A function that wants `[B, N_Q, D]` for its
# queries gets a seed with two more axes.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Make the keys of all points, and score each of them against the seed.
# 2. Hide the places where no point is.
# 3. Take the softmax over the points of each set.
# 4. Sum the values with these weights.
# </details>


# %% nbgrader={"grade": false, "grade_id": "SetPooling", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SetPooling(nn.Module):
    """Pools each set of points to one vector, by attention with a learned query.

    Args:
        D: width of the points' vectors.

    Example:
        D = 2, a seed of zeros, and the identity as the weight of W_V: all points that are there
        weigh the same, so X = [[[1, 2], [9, 9], [3, 4]]] with mask = [[True, False, True]] gives
        [[2, 3]].
    """

    def __init__(self, D: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.seed = nn.Parameter(torch.randn(D))
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)
        ### END SOLUTION

    def forward(self, X: Float[Tensor, "B N D"], mask: Bool[Tensor, "B N"]) -> Float[Tensor, "B D"]:
        """One vector for each set.

        Args:
            X: the vectors of the points.
            mask: True where a point is there, False where the row is only filled up.

        Returns:
            the weighted sum of the values of each set's points.
        """
        ### BEGIN SOLUTION
        query = self.seed.expand(X.shape[0], 1, -1)  # [B, 1, D]: every set is asked the same question, once
        # the mask [B, N] lacks the axis of the queries; True means that a point is attended to
        Y = F.scaled_dot_product_attention(query, self.W_K(X), self.W_V(X), attn_mask=mask.unsqueeze(1))  # [B, 1, D]
        return Y.squeeze(1)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_SetPooling", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(SetPooling)

# %% [markdown]
# ## 6 · A mask in raster order
#
# A model can write a picture as it writes a text: pixel after pixel, row by row and from left to right, which is called
# raster order. Pixel $n$ lies in row $\lfloor n / \mathrm{columns} \rfloor$ and in column $n \bmod \mathrm{columns}$. The
# Image Transformer (Parmar et al., 2018) lets a pixel look only at pixels nearby ([lesson
# 12](../../notebooks/12_attention_in_vision.ipynb), "Pictures written pixel by pixel").
#
# Write the mask `[rows*columns, rows*columns]`. Its row $n$ says to which pixels $m$ the pixel $n$ may attend. That is so
# if all three hold:
#
# 1. $m$ has been written already, or is $n$ itself: $m \leq n$.
# 2. $m$ lies at most `reach` rows above $n$, or in the same row.
# 3. $m$ lies at most `reach` columns to the left or to the right of $n$, or in the same column.
#
# In the rows above, pixels to the right count too, since these rows are finished. Nearness means nearness in the picture:
# the end of a row and the beginning of the next one lie far apart, although their numbers follow each other. `reach` may
# be 0, or larger than the grid. The mask is of type `torch.bool`; True means that $n$ may attend to $m$. There is no tensor
# among the inputs, so make it on the CPU.
#
# <details><summary>Hint: the idea</summary>
#
# Row and column of each pixel follow from its number. Each of the three conditions is then one comparison.
# </details>
# <details><summary>Hint: shapes</summary>
#
# With $N$ for rows times columns, the rows of all pixels are `[N]`. With an axis of size 1 put in at the right place, the
# differences of all pairs are `[N, N]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Number the pixels, and compute the row and the column of each.
# 2. Compare all pairs three times: by number, by row, and by column on both sides.
# 3. Keep the pairs for which all three hold.
# </details>


# %% nbgrader={"grade": false, "grade_id": "raster_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def raster_mask(rows: int, columns: int, reach: int) -> Bool[Tensor, "rows*columns rows*columns"]:
    """Which pixels each pixel may attend to, in a picture that is written in raster order.

    Args:
        rows: number of rows of the picture.
        columns: number of columns of the picture.
        reach: how many rows above, and how many columns to either side, a pixel may look.

    Returns:
        True at [n, m] where pixel n may attend to pixel m.

    Example:
        rows = 2, columns = 3 and reach = 1 give, with 1 for True, the rows 100000, 110000, 011000,
        110100, 111110 and 011011.
    """
    ### BEGIN SOLUTION
    n = torch.arange(rows * columns)
    row, column = n // columns, n % columns
    written = n[:, None] >= n  # [N, N]: who looks along the rows, who is seen along the columns
    above = row[:, None] - row <= reach  # later rows have a negative difference, but are not written yet
    beside = (column[:, None] - column).abs() <= reach
    return written & above & beside
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_raster_mask", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(raster_mask)

# %% [markdown]
# ## 7 · Bits per pixel
#
# How good is a model that writes pictures pixel by pixel? It gives a probability to every picture,
# $P(x) = \prod_n p(x_n \mid x_0, \dots, x_{n-1})$. With a good model, a picture can be stored in about $-\log_2 P(x)$
# bits. Divided by the number of pixels, this is the measure in which such models are compared ([lesson
# 12](../../notebooks/12_attention_in_vision.ipynb), "Pictures written pixel by pixel").
#
# `logits` is `[B, rows, columns, V]` and `pictures` is `[B, rows, columns]`, whole numbers from 0 to $V - 1$. With
# $x_0, \dots, x_{N-1}$ for the pixels of a picture in raster order, $N = \mathrm{rows} \cdot \mathrm{columns}$, and
# $p_n$ for the softmax of the logits that stand **at pixel** $n - 1$,
#
# $$\mathrm{bits} = \frac{1}{N} \Big( \log_2 V + \sum_{n=1}^{N-1} -\log_2 p_n(x_n) \Big).$$
#
# - The logits at a pixel predict the **next** pixel: the one to its right, and at the end of a row the first one of the
#   next row. The logits at the last pixel predict nothing.
# - Nothing predicts the first pixel. All its values count as equally likely, so it costs $\log_2 V$ bits.
# - The mean is taken over all pixels of a picture, the first one included. The result `[B]` has one number for each
#   picture.
# - Logits may be in the hundreds, which makes some probabilities too small to be written down, but their logarithms are
#   not. A picture may have a single pixel.
#
# <details><summary>Hint: the idea</summary>
#
# Without its first and its last pixel this is the loss of a language model, in other units. How many bits are a nat?
# </details>
# <details><summary>Hint: shapes</summary>
#
# In raster order, the logits are `[B, N, V]` and the pixels `[B, N]`. Of each, $N - 1$ are compared; which ones?
# `F.cross_entropy` wants the classes on axis 1, and does not have to average.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Lay out logits and pixels in raster order.
# 2. Compare the pixels but the first with the logits but the last.
# 3. For each picture, sum what the pixels cost, and add what the first one costs.
# 4. Divide by the number of pixels, and change to bits.
# </details>


# %% nbgrader={"grade": false, "grade_id": "bits_per_pixel", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bits_per_pixel(
    logits: Float[Tensor, "B rows columns V"], pictures: Int[Tensor, "B rows columns"]
) -> Float[Tensor, "B"]:
    """How many bits a model spends on each pixel of a picture, on average.

    Args:
        logits: at each pixel, the logits of the next pixel in raster order.
        pictures: the pixels, each a whole number from 0 to V - 1.

    Returns:
        the mean number of bits over all pixels of each picture.

    Example:
        V = 4, logits = [[[[ln 3, 0, 0, 0], [0, 0, 0, 0]]]] and pictures = [[[2, 0]]]: the first
        pixel costs 2 bits; the second has the probability 3/6 and costs 1. The result is [1.5].
    """
    ### BEGIN SOLUTION
    V = logits.shape[-1]
    predictions = logits.flatten(1, 2)[:, :-1]  # [B, N − 1, V]; the last logits predict nothing
    targets = pictures.flatten(1)[:, 1:]  # [B, N − 1]; the first pixel is predicted by nothing
    nats = F.cross_entropy(predictions.transpose(1, 2), targets, reduction="none").sum(dim=1)  # stable for large logits
    nats = nats + math.log(V)  # the first pixel
    return nats / math.log(2) / (targets.shape[1] + 1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_bits_per_pixel", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(bits_per_pixel)

# %% [markdown]
# ## 8 · The length of a path
#
# Two positions of a sequence, or of a row of a picture, have to learn of each other. Vaswani et al. (2017) compare layers
# by how many of them it takes, since each one on the path is a chance to lose the signal ([lesson
# 12](../../notebooks/12_attention_in_vision.ipynb), "Three ways to process a sequence"). Their table gives orders of
# growth; you count exactly.
#
# `distance` is `[S]`, whole numbers of at least 1: how far the two positions lie apart. Return a table `[S, 4]` of type
# `torch.int64` with these columns, in this order:
#
# | column | layer | how many |
# |---|---|---|
# | 0 | recurrent | as many steps as the distance |
# | 1 | convolutions of width $k$ | each layer reaches $(k-1)/2$ further, to either side |
# | 2 | convolutions whose gaps grow | layer $l = 0, 1, \dots$ reaches $\mathrm{growth}^l \cdot (k-1)/2$ further |
# | 3 | self-attention | 1 |
#
# In columns 1 and 2, count the **least** number of layers whose reaches add up to **at least** the distance. Layer 0 of
# column 2 is an ordinary convolution; from layer to layer, its inputs lie `growth` times as far apart, as in WaveNet (van
# den Oord et al., 2016), which is called dilation.
#
# - `k` is odd and at least 3, and `growth` is a whole number of at least 2.
# - Distances go up to $10^{12}$. Count with whole numbers: fractions and logarithms may be off by one where a distance is
#   just reached. (That the largest ones come out right belongs to robustness.)
#
# <details><summary>Hint: the idea</summary>
#
# For column 1, think of a division that is rounded up. For column 2, add layers until the distance is reached; there are
# never many of them.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Each column is `[S]`. You may work on all distances at once, or take them one after the other as Python's own numbers,
# which never overflow.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute how far one ordinary convolution reaches.
# 2. Divide the distances by it, rounded up, with whole numbers.
# 3. Starting from no layer at all, add layers with growing gaps until even the largest distance is reached, and note for each
#    distance after how many layers that was.
# 4. Put the four columns side by side.
# </details>


# %% nbgrader={"grade": false, "grade_id": "path_lengths", "locked": false, "schema_version": 3, "solution": true, "task": false}
def path_lengths(distance: Int[Tensor, "S"], k: int, growth: int) -> Int[Tensor, "S 4"]:
    """How many layers or steps lie between two positions, for four kinds of layers.

    Args:
        distance: how far the two positions lie apart, at least 1.
        k: width of the convolutions, odd and at least 3.
        growth: how much larger the gaps of a convolution are than those of the layer before.

    Returns:
        for each distance: recurrent steps, convolutions, convolutions whose gaps grow, layers of
            self-attention.

    Example:
        distance = [1, 10, 14, 15], k = 5 and growth = 2 give [[1, 1, 1, 1], [10, 5, 3, 1],
        [14, 7, 3, 1], [15, 8, 4, 1]]: the first three layers whose gaps grow reach 2 + 4 + 8 = 14.
    """
    ### BEGIN SOLUTION
    half = (k - 1) // 2  # the reach of an ordinary convolution to one side
    plain = (distance + half - 1) // half  # rounded up without a fraction
    growing = torch.zeros_like(distance)
    reach, step = 0, half  # Python's numbers: what the layers so far reach together, and what the next one adds
    while (beyond := distance > reach).any():
        growing = growing + beyond  # one more layer for the distances that are not reached yet
        reach, step = reach + step, step * growth
    return torch.stack([distance, plain, growing, torch.ones_like(distance)], dim=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_path_lengths", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(path_lengths)

# %% [markdown]
# ## 9 · Stretch: along rows and columns
#
# This exercise earns no points. A window cuts a cell off from all that lies beyond its border. Attention along rows and
# columns keeps a way open to every cell of the grid: what lies in another row and another column is two layers away
# ([lesson 12](../../notebooks/12_attention_in_vision.ipynb), "Going further"). Ho et al. (2019) attend along one axis after
# the other; CCNet (Huang et al., 2019) attends along both at once, in the shape of a cross. Write the second.
#
# `Q`, `K` and `V` are `[B, rows, columns, D]`. The cell $(r, c)$ attends to the cells $(r, t)$ of its row and $(s, c)$ of its
# column. It lies in both, and **counts once**: these are $\mathrm{rows} + \mathrm{columns} - 1$ cells in all. There is
# **one softmax** over all of them, so row and column compete for the weight. Scores are divided by $\sqrt{D}$. The result
# is `[B, rows, columns, D]`.
#
# A grid may have a single row or a single column. Scores can lie far below 0, so a hidden score of $-100$ hides nothing:
# use $-\infty$. A mask over the whole grid is right as well. `F.scaled_dot_product_attention` is allowed;
# `nn.MultiheadAttention` is not.
#
# <details><summary>Hint: the idea</summary>
#
# Along a row, the rows are a batch, and along a column the columns are. The two tables of scores go into one softmax, side
# by side, and are taken apart again afterwards.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The scores along the rows are `[B, rows, columns, columns]`. Those along the columns are `[B, columns, rows, rows]` as long
# as the columns are a batch, and `[B, rows, columns, rows]` beside the others. In the former, a cell meets itself on the
# diagonal of the last two axes.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute the scores of each cell along its row.
# 2. Exchange rows and columns of the grids, and compute the scores along the columns in the same way.
# 3. In one of the two tables, hide each cell's own score.
# 4. Bring both tables into the same order, put them side by side, and take the softmax.
# 5. Take the weights apart, let each part sum its values, and add the two results.
# </details>


# %% nbgrader={"grade": false, "grade_id": "axial_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def axial_attention(
    Q: Float[Tensor, "B rows columns D"], K: Float[Tensor, "B rows columns D"], V: Float[Tensor, "B rows columns D"]
) -> Float[Tensor, "B rows columns D"]:
    """Attention in which each cell attends to its row and its column, in one softmax.

    Args:
        Q: the query of each cell.
        K: the key of each cell.
        V: the value of each cell.

    Returns:
        what each cell has found in its row and its column.

    Example:
        With D = 1 and Q = 0, all cells of the cross weigh the same: values with the rows 1, 2 and
        3, 4 give the rows 2, 7/3 and 8/3, 3.
    """

    ### BEGIN SOLUTION
    def turned(grid):
        return grid.transpose(1, 2)  # columns become rows, and the other way round

    rows, columns = Q.shape[1:3]
    Q = Q / math.sqrt(Q.shape[-1])
    itself = torch.eye(rows, dtype=torch.bool, device=Q.device)
    along_row = Q @ K.mT  # [B, rows, columns, columns]
    along_column = (turned(Q) @ turned(K).mT).masked_fill(itself, -math.inf)  # it is in its row already
    A = torch.cat([along_row, turned(along_column)], dim=-1).softmax(dim=-1)  # [B, rows, columns, columns + rows]
    in_row, in_column = A.split([columns, rows], dim=-1)
    return in_row @ V + turned(turned(in_column) @ turned(V))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_axial_attention", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(axial_attention)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_where_to_attend", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10 · Where to attend, and what to compare
#
# A convolutional network that looks at aerial photographs has feature maps of 64 × 64, 32 × 32 and 16 × 16 cells, in
# this order. Answer in ten to fourteen sentences, in the cell below:
#
# 1. A colleague wants to put the block of exercise 1 behind the map of 64 × 64 cells, "because there is most to see".
#    How many scores does the block compute for one picture on each of the three maps? Say where you would put it and
#    why, with what speaks against your choice. If the network has been trained already, why does it help that `gamma`
#    starts at 0?
# 2. Another colleague attends in windows of 8 × 8 cells on the map of 64 × 64, always the same windows, in twelve
#    layers with nothing between them but an MLP on each cell. How many scores are there in one layer? A road crosses
#    the border between two windows. What can these layers never do about it, however many of them follow? Name two
#    ways to mend this, with what each of them costs.
# 3. Two models write pictures of the same size pixel by pixel. Model F writes pixels of 256 values and is measured at
#    4.4 bits per pixel. Model G writes the same pictures, their pixels rounded to 16 values, and is measured at 1.9.
#    "G is more than twice as good," says the colleague. Why does this not follow? Say what guessing blindly costs in
#    each of the two cases, and how the two models could be compared fairly.
#
# === BEGIN MARK SCHEME ===
#
# **1 point: where.** The maps have 4,096, 1,024 and 256 cells, and the block compares every cell with every cell:
# about 16.8 million scores, 1.05 million and 65,536; each halving of both sides divides them by 16. (½ for the three
# numbers, or for one of them and the factor 16; the number of cells squared must be visible.) A place with a reason
# that names both sides (½, together with gamma): on a coarse map the cost is bearable, and each cell already
# describes a larger piece, so that what is compared means something; what speaks against it is that small things and
# exact places are gone, which a finer map still has. The middle map, with this trade-off, is as good an answer;
# SAGAN's authors found maps of 32 × 32 and 64 × 64 cells better than coarser ones. The finest map is right too if its
# cost is named and a reason is given, such as details that coarser maps have lost. "Because it is cheaper" alone does
# not say what is lost. Gamma: with gamma at 0 the network does at first exactly what it did before, so what was
# learned is kept, and training increases the part of attention only as far as it helps. Without gamma, this half
# earns ¼.
#
# **1 point: windows.** 64 windows of 64 cells have 64 · 64² = 262,144 scores, a 64th of the full matrix. Cells in
# different windows never exchange anything, in any number of layers: attention stays in the window and the MLP in the
# cell, so nothing is carried over the border but what earlier convolutions have already mixed there, and the two halves
# of the road stay unknown to each other. (½ for both; the number may have slips of arithmetic.) Two ways with costs (¼ each): windows that are moved by half a window in
# every other layer (as many scores; a mask, or smaller windows, at the rim; far cells still need many layers);
# attention along rows and columns (127 scores a cell instead of 64; two layers reach all cells); a convolution or
# another local layer between (cheap; reaches a few cells a layer); windows that overlap (more scores for each cell);
# all cells attend in some layers, or on a coarser map (the full cost there, or details lost); a few vectors to which
# all cells attend. A larger window alone moves the border and earns nothing, unless it is the whole map and its cost
# is named.
#
# **1 point: two measures.** The two are measured on different data. Blind guessing costs 8 bits with 256 values and 4
# bits with 16 (½ for both numbers, with the conclusion that a smaller number is to be expected of G whatever it has
# learned). Rounding has thrown away 4 bits of each pixel, which G need not predict and cannot restore. Fair
# comparison (½): the same data for both. Such as: (a) a model of the same kind as G, trained and measured on 256
# values; (b) F measured on rounded pixels, by adding up the probabilities of the 16 values that are rounded to the
# same one (F then still sees what rounding has removed from earlier pixels, which favours it; to notice this is
# welcome); (c) G completed to a model of the original pixels: with a second model of what rounding has removed, or
# with all 16 values equally likely, which makes 1.9 + 4 = 5.9 bits, more than F's 4.4. Then G as it stands is the
# worse code for the original pictures. Saying that F is better *because* it is at 55 % of its 8 bits and G at 48 % of
# its 4, or the other way round, earns nothing for the comparison: shares of different scales say little, as the high
# bits of a pixel are easier to predict than the low ones. The same test pictures and several seeds are welcome
# additions.
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_where_to_attend", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. The block compares every cell with every cell, so it computes $4096^2$, about 16.8 million scores on the finest
#    map, 1.05 million on the middle one and 65,536 on the coarsest: a factor of 16 from map to map. I would put it
#    behind the map of 32 × 32 cells. There the cost is bearable, and a cell already describes a piece of the picture
#    that is worth comparing with others. What speaks against it is that details which only the finest map shows have
#    been averaged away. With `gamma` at 0, a network that has been trained goes on working exactly as before, and
#    training mixes attention in only as far as it lowers the loss.
#
# 2. There are 64 windows with $64^2$ scores each, 262,144 in all, which is a 64th of the full matrix. Since the MLP
#    works on each cell by itself and attention never leaves a window, nothing crosses the border in any of these
#    layers, and they cannot find out that the two halves belong to the same road. Windows that are shifted by half a side in
#    every other layer mend this for the same number of scores, but cells far apart still need many layers to reach
#    each other. Attention along rows and columns reaches every cell in two layers; it takes 127 scores for each cell
#    instead of 64.
#
# 3. The models are measured on different data: guessing blindly costs 8 bits with 256 values, but only 4 bits with
#    16, so a smaller number was to be expected of G. Rounding has removed 4 bits of each pixel, which G never has to
#    predict. I would compare both on the original pixels. If G is completed by the assumption that the 16 values
#    behind each rounded one are equally likely, it needs 1.9 + 4 = 5.9 bits, which is more than F's 4.4. A second
#    model for what rounding has removed would make this fairer to G.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have
# begun.

# %%
progress()
