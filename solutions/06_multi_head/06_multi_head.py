# %% [markdown]
# # Assignment 06: multi-head attention
#
# You split a sequence into heads and merge it again, build the layer that all Transformers use, take its output apart
# into what each head contributes, count what the layer costs, and read the weights of PyTorch's own layer head by head.
#
# **You need** [lesson 06](../../notebooks/06_multi_head.ipynb). Terms and symbols are in the
# [glossary](../../docs/glossary.md). **Time**: about 105 minutes in all, plus about 15 for the stretch.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · split into heads | 1 | ●○○ | 5 |
# | 2 · merge the heads | 1 | ●○○ | 5 |
# | 3 · multi-head attention | 4 | ●●○ | 25 |
# | 4 · what each head contributes | 4 | ●●○ | 20 |
# | 5 · operations and bytes | 3 | ●●○ | 15 |
# | 6 · weights packed in three | 5 | ●●● | 25 |
# | 7 · stretch: prune heads | stretch | ●●○ | 15 |
# | 8 · a written answer | 2 | ●●○ | 10 |
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are.
#
# **Shapes.** `H` heads of width `D_H` make a vector of width `H*D_H`; the heads are counted from 0. `N_Q` queries attend to
# `N_X` data vectors. A name such as `N_Q` in a shape is no variable: read it from a tensor, `Q.shape[-2]`. Results have the
# type of the numbers that came in (double precision if these are).

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
# - Gradients flow from the result to every floating-point input and every weight. In `MultiHeadAttention` they need to
#   flow only from `Y`.
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

import matplotlib.pyplot as plt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.progress import progress

# %% [markdown]
# ## 1 · Split into heads
#
# Each vector of width `H*D_H` is cut into `H` pieces: head $h$ gets the `D_H` features from $h \cdot D_H$ on. In the result
# the axis of the heads stands beside that of the batch, in front of the vectors, so that one product computes all heads, each
# by itself.
#
# <details><summary>Hint: the idea</summary>
#
# Two steps: cut the last axis in two, then exchange two axes. A reshape alone moves no numbers.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[B, N, H*D_H]` → `[B, N, H, D_H]` → `[B, H, N, D_H]`. `X.unflatten(-1, (H, …))` cuts an axis; so does `reshape`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# cut the last axis into H times D_H · exchange axes 1 and 2
# </details>


# %% nbgrader={"grade": false, "grade_id": "split_heads", "locked": false, "schema_version": 3, "solution": true, "task": false}
def split_heads(X: Float[Tensor, "B N H*D_H"], H: int) -> Float[Tensor, "B H N D_H"]:
    """The vectors of each head.

    Example:
        One vector [1, 2, 3, 4, 5, 6], X of shape [1, 1, 6], and H = 2 give head 0 the vector
        [1, 2, 3], head 1 [4, 5, 6].
    """
    ### BEGIN SOLUTION
    # Cutting the last axis is free: the D_H features of a head are neighbours. Then the heads move in front of the vectors;
    # a reshape to [B, H, N, D_H] at once would have the right shape and the wrong numbers.
    return X.unflatten(-1, (H, -1)).transpose(1, 2)  # [B, N, H, D_H] -> [B, H, N, D_H]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_split_heads", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(split_heads)

# %% [markdown]
# ## 2 · Merge the heads
#
# The way back: for each position the heads' vectors are put side by side, head 0 first.
#
# <details><summary>Hint: the idea</summary>
#
# The same two steps, in the other order.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[B, H, N, D_H]` → `[B, N, H, D_H]` → `[B, N, H*D_H]`. After an exchange of axes the numbers no longer lie side by side in memory;
# `flatten` and `reshape` copy them where they must, `view` refuses.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# exchange axes 1 and 2 · join the last two axes
# </details>


# %% nbgrader={"grade": false, "grade_id": "merge_heads", "locked": false, "schema_version": 3, "solution": true, "task": false}
def merge_heads(heads: Float[Tensor, "B H N D_H"]) -> Float[Tensor, "B N H*D_H"]:
    """The heads' vectors side by side.

    Example:
        merge_heads(split_heads(X, H)) is X.
    """
    ### BEGIN SOLUTION
    return heads.transpose(1, 2).flatten(2)  # [B, H, N, D_H] -> [B, N, H, D_H] -> [B, N, H*D_H]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_merge_heads", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(merge_heads)

# %% [markdown]
# ## 3 · Multi-head attention
#
# One linear layer `W_QKV` makes queries, keys and values for all heads: its output of width `3*H*D_H` is first all queries, then
# all keys, then all values, each of them head after head. In each head
#
# $$A = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{D_H}}\right), \qquad A V$$
#
# The heads' results, side by side, go through `W_O`. Return the outputs `Y` and the weights `A` of **each** head.
#
# Without a `context` this is self-attention (3 points). With a `context` it is cross-attention: the queries come from `X`, the
# keys and values from `context` (1 point).
#
# Name the layers `W_QKV` and `W_O`; both are `nn.Linear` **with** bias. The check sets their weights itself.
# `scaled_dot_product_attention` and `nn.MultiheadAttention` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# Exercises 1 and 2 do the splitting and merging. Between them is the attention that you know: its products do not care how many
# batch axes stand in front.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `W_QKV(X)` is `[B, N_Q, 3*H*D_H]`; `.chunk(3, dim=-1)` gives three of `[B, N_Q, H*D_H]`. Split, they are `[B, H, N_Q, D_H]` and
# `[B, H, N_X, D_H]`; the scores are `[B, H, N_Q, N_X]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# source = X if context is None, else context · Q = first third of W_QKV(X) · K, V = second and last third of W_QKV(source) · split all
# three · A = softmax of Q Kᵀ over the root of D_H · Y = W_O of the merged A V
# </details>


# %% nbgrader={"grade": false, "grade_id": "MultiHeadAttention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MultiHeadAttention(nn.Module):
    """Multi-head attention with one projection for queries, keys and values.

    Args:
        H: number of heads.
        D_H: width of a head; vectors are H*D_H wide.

    Example:
        MultiHeadAttention(H=8, D_H=64) takes X of shape [2, 5, 512], and gives Y of shape
        [2, 5, 512] and A of shape [2, 8, 5, 5].
    """

    def __init__(self, H: int, D_H: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.H, self.D_H = H, D_H
        self.W_QKV = nn.Linear(H * D_H, 3 * H * D_H)
        self.W_O = nn.Linear(H * D_H, H * D_H)
        ### END SOLUTION

    def forward(
        self, X: Float[Tensor, "B N_Q H*D_H"], context: Float[Tensor, "B N_X H*D_H"] | None = None
    ) -> tuple[Float[Tensor, "B N_Q H*D_H"], Float[Tensor, "B H N_Q N_X"]]:
        """Returns outputs Y and the weights A of each head."""
        ### BEGIN SOLUTION
        Q, K, V = self.W_QKV(X).chunk(3, dim=-1)  # [B, N_Q, H*D_H] each
        if context is not None:
            _, K, V = self.W_QKV(context).chunk(3, dim=-1)  # [B, N_X, H*D_H]
        Q, K, V = (split_heads(one, self.H) for one in (Q, K, V))  # [B, H, N, D_H]
        # A head's dot products run over its own D_H features, so their spread is √D_H whatever the width of X.
        A = (Q @ K.mT / math.sqrt(self.D_H)).softmax(dim=-1)  # [B, H, N_Q, N_X]
        return self.W_O(merge_heads(A @ V)), A
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_MultiHeadAttention", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(MultiHeadAttention)

# %% [markdown]
# ## 4 · What each head contributes
#
# The output projection gets what the heads have found side by side, as one vector of width `H*D_H`. In its product with $W_O$ the
# features of head $h$ meet only the $D_H$ rows of $W_O$ from $h \cdot D_H$ on. Call these rows $W_O^h\,[D_H, D_Y]$. So, without a
# bias, the output is a sum over the heads:
#
# $$Y = [\,A_0 V_0, \dots, A_{H-1} V_{H-1}\,]\; W_O = \sum_{h} C_h, \qquad C_h = A_h\, V_h\, W_O^h\ \ [N_Q, D_Y]$$
#
# $C_h$ is the **contribution of head** $h$: the vectors that it adds to the output at each query. Return the contributions of all
# heads. (1 point for a layer with one head, 3 for several.)
#
# Here `W_O` is a matrix that acts from the right. An `nn.Linear` stores the transpose: of a layer `W_O` one would pass
# `W_O.weight.T`.
#
# <details><summary>Hint: the idea</summary>
#
# The heads need not be merged. Which rows of `W_O` does each of them need?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `A V` is `[B, H, N_Q, D_H]`. Cut into heads, `W_O` is `[H, D_H, D_Y]`. A product `@` lines up the axes in front of the last two,
# from the right: `[B, H]` and `[H]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# found = A V · rows = W_O with its first axis cut in two, heads first · found times rows
# </details>


# %% nbgrader={"grade": false, "grade_id": "head_contributions", "locked": false, "schema_version": 3, "solution": true, "task": false}
def head_contributions(
    A: Float[Tensor, "B H N_Q N_X"], V: Float[Tensor, "B H N_X D_H"], W_O: Float[Tensor, "H*D_H D_Y"]
) -> Float[Tensor, "B H N_Q D_Y"]:
    """What each head adds to the output of multi-head attention, at each query.

    Args:
        A: attention weights of each head.
        V: values of each head.
        W_O: matrix of the output projection, which acts from the right.

    Example:
        Two heads of width 1, one query and one data vector, so all weights are 1: with values 2
        (head 0) and 3 (head 1) and W_O = [[1, 0], [1, 10]], head 0 contributes [2, 0] and head 1
        contributes [3, 30]. The output is their sum, [5, 30].
    """
    ### BEGIN SOLUTION
    # The rows of a head are neighbours, so cutting the first axis is enough. The axis of the heads then meets that of A V, and
    # the product is taken head by head; to merge and project would add up what we want to see one by one.
    rows = W_O.unflatten(0, (V.shape[1], -1))  # [H, D_H, D_Y]
    return A @ V @ rows  # [B, H, N_Q, D_H] @ [H, D_H, D_Y] = [B, H, N_Q, D_Y]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_head_contributions", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(head_contributions)

# %% [markdown]
# ## 5 · Operations and bytes
#
# What does self-attention of `N` vectors of width `D` with `H` heads of width `D/H` cost? Count two things for each of `S` lengths:
#
# 1. the floating-point operations of its matrix products: the projections to queries, keys and values, the scores of all heads,
#    the weighted sums of the values in all heads, the output projection. A product `[n, k] @ [k, m]` counts $2\,n\,k\,m$, a
#    multiplication and an addition for each term. Softmax, scale and biases are left out;
# 2. the bytes that the attention weights `A` of all heads take together.
#
# Both are whole numbers (`torch.int64`), right to the last one however long the sequence is. `H` divides `D`.
#
# <details><summary>Hint: the idea</summary>
#
# Four lines, one for each product. What becomes of `H` in the second and third?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[N, D] @ [D, 3D]` · `H` times `[N, D/H] @ [D/H, N]` · `H` times `[N, N] @ [N, D/H]` · `[N, D] @ [D, D]`. `N` is a tensor of
# `S` lengths; products with it are too.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# flops = sum of 2·n·k·m over the four products, those of a head H times · memory = H tables of N times N numbers, times bytes a number
# · no / and no .float(): whole numbers stay exact
# </details>


# %% nbgrader={"grade": false, "grade_id": "attention_cost", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_cost(
    N: Int[Tensor, "S"], D: int, H: int, bytes_per_number: int
) -> tuple[Int[Tensor, "S"], Int[Tensor, "S"]]:
    """Operations of multi-head self-attention, and bytes of all its weights A, for each length N.

    Example:
        N = [1], D = 2, H = 1 and 4 bytes a number give 40 operations (24 + 4 + 4 + 8) and 4 bytes.
    """
    ### BEGIN SOLUTION
    # All heads together have the width D, so H falls out of the operations. It stays in the memory: each head has its table.
    projections = 2 * N * D * 3 * D
    scores = 2 * N * N * D
    weighted_sums = 2 * N * N * D
    output = 2 * N * D * D
    return projections + scores + weighted_sums + output, H * N * N * bytes_per_number
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_attention_cost", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(attention_cost)

# %% [markdown]
# ## 6 · Weights packed in three
#
# Somebody has trained an `nn.MultiheadAttention`, and you want to know what its heads do. The layer holds four tensors:
#
# | name | shape | |
# |---|---|---|
# | `in_proj_weight` | `[3*H*D_H, H*D_H]` | the weight of an `nn.Linear` that makes queries, keys and values in one product |
# | `in_proj_bias` | `[3*H*D_H]` | its bias |
# | `out_proj.weight` | `[H*D_H, H*D_H]` | the weight of the `nn.Linear` that mixes the heads |
# | `out_proj.bias` | `[H*D_H]` | its bias, which belongs to no head; you need not do anything with it |
#
# torch packs in the order of exercise 3: queries, keys, values, and within each of them head after head. Unpack the weights into
# matrices that act **from the right**, one for each head. For $X\,[N, H \cdot D_H]$ and head $h$
#
# $$Q_h = X\, W_Q^h + b_Q^h, \qquad K_h = X\, W_K^h + b_K^h, \qquad V_h = X\, W_V^h + b_V^h\ \ [N, D_H]$$
#
# and $C_h = A_h V_h W_O^h\ [N, H \cdot D_H]$ is the contribution of head $h$, as in exercise 4. Return seven tensors, the heads along
# the first axis of each: `W_Q`, `W_K` and `W_V` `[H, H*D_H, D_H]`, `W_O` `[H, D_H, H*D_H]`, and `b_Q`, `b_K` and `b_V` `[H, D_H]`.
# (2 points for a layer with one head, 3 for several.)
#
# <details><summary>Hint: the idea</summary>
#
# Each row of an `nn.Linear`'s weight makes one feature of what comes out, each column takes one feature of what goes in. What are the
# heads of `in_proj_weight`, rows or columns? And those of `out_proj.weight`, where the heads go in?
# </details>
# <details><summary>Hint: shapes</summary>
#
# The first axis of `in_proj_weight` can be cut in three, `[3, H, D_H, H*D_H]`, and that of `in_proj_bias` in the same way. Which two
# axes are still to be exchanged? Of `out_proj_weight` the axis of the heads is cut, and becomes the first two axes of the result.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# W = in_proj_weight with its first axis cut into thirds, heads, features · exchange the last two axes of W · b = in_proj_bias, cut
# likewise · W_O = the transpose of out_proj_weight, its first axis cut into heads, features · return the three of W, W_O, the three of b
# </details>


# %% nbgrader={"grade": false, "grade_id": "unpack_weights", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unpack_weights(
    in_proj_weight: Float[Tensor, "3*H*D_H H*D_H"],
    in_proj_bias: Float[Tensor, "3*H*D_H"],
    out_proj_weight: Float[Tensor, "H*D_H H*D_H"],
    H: int,
) -> tuple[
    Float[Tensor, "H H*D_H D_H"],
    Float[Tensor, "H H*D_H D_H"],
    Float[Tensor, "H H*D_H D_H"],
    Float[Tensor, "H D_H H*D_H"],
    Float[Tensor, "H D_H"],
    Float[Tensor, "H D_H"],
    Float[Tensor, "H D_H"],
]:
    """The weights of an nn.MultiheadAttention as matrices for each head, which act from the right.

    Returns:
        W_Q, W_K, W_V, W_O, b_Q, b_K, b_V.

    Example:
        Two heads of width 1. The rows of in_proj_weight, [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10],
        [11, 12]], make the query of head 0, the query of head 1, then two keys and two values:
        W_Q[0] is [[1], [2]] and W_K[1] is [[7], [8]]. With in_proj_bias = [1, 2, 3, 4, 5, 6], b_K
        is [[3], [4]]. With out_proj_weight = [[1, 2], [3, 4]], W_O[0] is [[1, 3]].
    """
    ### BEGIN SOLUTION
    # The outputs of a linear layer are the rows of its weight, so thirds, heads and features all lie along the first axis,
    # outermost first. Each block [D_H, H*D_H] is then transposed, since nn.Linear computes X @ weight.T.
    W_Q, W_K, W_V = in_proj_weight.unflatten(0, (3, H, -1)).mT  # [3, H, D_H, H*D_H] -> [3, H, H*D_H, D_H]
    b_Q, b_K, b_V = in_proj_bias.unflatten(0, (3, H, -1))  # [3, H, D_H]
    # The heads go into the output projection: they are columns of its weight, rows of the transpose.
    W_O = out_proj_weight.T.unflatten(0, (H, -1))  # [H, D_H, H*D_H]
    return W_Q, W_K, W_V, W_O, b_Q, b_K, b_V
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_unpack_weights", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(unpack_weights)

# %% [markdown]
# Now take one of torch's layers apart with your own functions. The weights below are drawn at random, and the columns of
# `out_proj.weight` that belong to one of the three heads are made ten times smaller. Before you run it: where will this head stand
# out, in its attention weights, in the average over the heads that torch returns by default, or in its contribution?


# %%
def take_apart(H=3, D_H=4, N=6, quiet=1):
    """Draws the attention weights of each head of a drawn layer, and what each head contributes to
    its output.
    """
    torch.manual_seed(0)
    X, layer = torch.randn(1, N, H * D_H), nn.MultiheadAttention(H * D_H, H, batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.mul_(2)  # sharper weights than those of a fresh layer
        layer.out_proj.weight[:, quiet * D_H : (quiet + 1) * D_H] /= 10
        Y, averaged = layer(X, X, X)  # [1, N, H*D_H], [1, N, N]
        packed = layer.in_proj_weight, layer.in_proj_bias, layer.out_proj.weight
        W_Q, W_K, W_V, W_O, b_Q, b_K, b_V = unpack_weights(*packed, H)
        X_H = X[:, None]  # [1, 1, N, H*D_H]: the same for each head
        Q, K, V = (X_H @ W + b[:, None] for W, b in ((W_Q, b_Q), (W_K, b_K), (W_V, b_V)))  # [1, H, N, D_H] each
        A = (Q @ K.mT / math.sqrt(D_H)).softmax(dim=-1)  # [1, H, N, N]
        C = head_contributions(A, V, W_O.flatten(0, 1))  # [1, H, N, H*D_H]
    total = C.sum(dim=1)
    print(f"largest difference between the sum of the contributions and torch's output: {(total + layer.out_proj.bias - Y).abs().max():.0e}")
    figure, panels = plt.subplots(2, H + 1, figsize=(11, 5), layout="constrained")
    names = [f"head {h}" for h in range(H)]
    for panel, M, name in zip(panels[0], [*A[0], averaged[0]], [*names, "averaged over the heads"]):
        weights = panel.imshow(M, cmap="cividis", vmin=0, vmax=1)
        panel.set(title=name, xlabel="data vector")
    largest = total.abs().max()
    for panel, M, name in zip(panels[1], [*C[0], total[0]], [*names, "sum over the heads"]):
        contributions = panel.imshow(M, cmap="PuOr", vmin=-largest, vmax=largest, aspect="auto")
        panel.set(title=name, xlabel="feature of the output", xticks=range(0, H * D_H, D_H))
    panels[0, 0].set_ylabel("query")
    panels[1, 0].set_ylabel("query")
    figure.colorbar(weights, ax=panels[0], label="attention weights")
    figure.colorbar(contributions, ax=panels[1], label="contributions")
    plt.show()


# %% tags=["play"]
try:
    take_apart()
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown]
# ## 7 · Stretch: prune heads
#
# This exercise earns no points. It is about heads that contribute little, such as the one above whose columns were made smaller.
# Michel, Levy and Neubig (2019: "Are sixteen heads really better than one?") removed heads from trained models. They found
# that most heads can be removed without a significant loss if only one is removed at a time, and that in some layers one
# head is enough.
#
# To **prune** a head is to remove its weights from a trained layer. Exercise 4 has shown that the output is a sum over the
# heads. If the output $A_h V_h$ of a head is set to zero, its contribution is missing from the sum; but its queries, keys and
# values are still computed, and its weights are still stored. A layer that never had this head gives the same output, with
# smaller matrices:
#
# $$Y = \sum_{h \text{ kept}} A_h V_h W_O^h\ \ [N_Q, D], \qquad W_O^h\,[D_H, D] \text{ as in exercise 4}$$
#
# The layer has no biases here, and all its matrices act from the right: `W_Q`, `W_K` and `W_V` `[D, H*D_H]` make the queries,
# keys and values of all heads, head after head, and `W_O` `[H*D_H, D]` is the output projection. (`D` need not be `H*D_H`.)
# `keep` `[H]` is True for each head that is kept, and at least one head is kept. Let the number $K$ say how many are kept; in
# shapes, `K` is this number and not the keys. Return four new matrices, `W_Q`, `W_K` and `W_V` `[D, K*D_H]` and `W_O`
# `[K*D_H, D]`, with the heads that are kept in their old order. Multi-head attention with these $K$ heads must give what the
# full layer gives when the outputs of the other heads are set to zero.
#
# The heads that are kept stay as they are. They are still `D_H` wide, so their scores are divided by the same $\sqrt{D_H}$ as
# before. The input and the output are still `D` wide, so the smaller layer fits where the full one was.
#
# <details><summary>Hint: the idea</summary>
#
# A head owns some of the numbers of each matrix, and shares none of them with another head. Are they rows or columns in `W_Q`,
# `W_K` and `W_V`? Are they rows or columns in `W_O`?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `keep` has one entry for each head, but each head has `D_H` features. One can give the heads an axis of their own,
# `[D, H, D_H]`, as in exercise 1, and index this axis with `keep`: a mask `[H]` as an index keeps the K entries where it is True. Or
# one can make a longer mask, `[H*D_H]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# For each of the four matrices: find the axis of width H*D_H · cut it into heads times features · take the heads with `keep`
# True · join the two axes again
# </details>


# %% nbgrader={"grade": false, "grade_id": "prune_heads", "locked": false, "schema_version": 3, "solution": true, "task": false}
def prune_heads(
    W_Q: Float[Tensor, "D H*D_H"],
    W_K: Float[Tensor, "D H*D_H"],
    W_V: Float[Tensor, "D H*D_H"],
    W_O: Float[Tensor, "H*D_H D"],
    keep: Bool[Tensor, "H"],
) -> tuple[
    Float[Tensor, "D K*D_H"], Float[Tensor, "D K*D_H"], Float[Tensor, "D K*D_H"], Float[Tensor, "K*D_H D"]
]:
    """The weights of multi-head attention without the heads that are not kept.

    Args:
        W_Q, W_K, W_V: matrices that make queries, keys and values; they act from the right.
        W_O: matrix of the output projection, which acts from the right.
        keep: True for each head that is kept; at least one is.

    Returns:
        W_Q, W_K, W_V, W_O of the K heads that are kept and of no others, in their old order.

    Example:
        Two heads of width 1, and vectors of width 3. With keep = [False, True], W_Q =
        [[1, 2], [3, 4], [5, 6]] becomes [[2], [4], [6]], and W_O = [[1, 2, 3], [4, 5, 6]] becomes
        [[4, 5, 6]].
    """
    ### BEGIN SOLUTION
    H = len(keep)
    # What a head computes, its queries, keys and values, are columns. What it adds goes through rows of W_O. In both, the D_H
    # features of a head are neighbours, so the axis is cut into heads times features, H first.
    columns = (W.unflatten(1, (H, -1))[:, keep].flatten(1) for W in (W_Q, W_K, W_V))  # [D, K*D_H] each
    rows = W_O.unflatten(0, (H, -1))[keep].flatten(0, 1)  # [H, D_H, D] -> [K, D_H, D] -> [K*D_H, D]
    return *columns, rows
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_prune_heads", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(prune_heads)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_heads", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8 · Eight heads or one?
#
# A layer of width 512 may have eight heads of width 64 or one head of width 512. Answer in four to eight sentences, in the cell below:
#
# 1. Why do both cost the same number of operations? What do the eight heads cost that the one does not?
# 2. What can the eight do that the one cannot?
# 3. A colleague draws the attention weights of the eight heads averaged to one table, and reads from it to which positions each query
#    attends, and how much these count for the output. What does the average over the heads hide? Give an example.
#
# === BEGIN MARK SCHEME ===
#
# **½ point: operations.** The scores of a head take 2·N·N·D_H operations, and so do its weighted sums; H heads take 2·N·N·H·D_H =
# 2·N·N·D, as one head of width D does. The projections are D × D in either case. (The reason is needed. "More heads, more
# computation" earns nothing.)
#
# **½ point: memory.** The eight need eight tables of N × N attention weights instead of one (and as many softmaxes).
#
# **½ point: several distributions.** Each query has eight distributions over the data vectors: it can attend to several positions for
# different reasons at once and keep what it finds there apart, where one head mixes all in a single weighted mean. (Each head compares
# in 64 dimensions only; worth mentioning, not needed.)
#
# **½ point: the average.** It hides which head attends to what: two heads, each with all its weight on one of two positions, give the
# same average as two heads with half their weight on both. Or: it hides that heads contribute differently, since each has its own values
# and its own rows of W_O; a head with striking weights may add next to nothing, and the output is not the averaged weights times
# anything. (One of the two, with an example, is enough.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_heads", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The scores of one head cost 2·N·N·64 operations, and so do its weighted sums; eight times that is 2·N·N·512, just what one head of width
# 512 takes, and the projections are 512 × 512 in either case. What the eight heads cost is memory: eight tables of N × N attention weights
# instead of one. What they gain is eight distributions for each query. A pronoun can attend to its noun in one head and to its verb in
# another, and the two results stand side by side; a single head has to put both into one weighted mean, though it compares in more
# dimensions. The average hides which head attends to what: if one head has all its weight on the noun and the other on the verb, their
# average is the same as if each had half its weight on both. It also hides how much each head counts, since each has values of its own and its own
# rows of $W_O$: a head whose rows are near zero adds almost nothing, however sharp its weights are.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.

# %%
progress()
