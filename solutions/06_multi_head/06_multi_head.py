# %% [markdown]
# # Assignment 06: multi-head attention, and what it costs
#
# You split a sequence into heads and merge it again, build the layer that all Transformers use, count what it costs, and then
# get rid of its largest tensor: first exactly, in tiles, then by another kind of attention.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · split into heads | 1 | ●○○ | 5 |
# | 2 · merge the heads | 1 | ●○○ | 5 |
# | 3 · multi-head attention | 4 | ●●○ | 25 |
# | 4 · operations and bytes | 2 | ●●○ | 15 |
# | 5 · a softmax that reads in pieces | 3 | ●●● | 20 |
# | 6 · attention in tiles | 4 | ●●● | 20 |
# | 7 · linear attention | 3 | ●●○ | 15 |
# | 8 · a written answer | 2 | ●●○ | 10 |
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A check
# tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like, and add
# cells of your own; please leave the check cells themselves as they are. Grading examines the same properties and some
# more, on other numbers and other sizes: a ✓ is a good sign, not yet the mark.
#
# **Shapes.** `H` heads of width `D_H` make a vector of width `H*D_H`. `N_Q` queries meet `N_X` data vectors. `*B` stands for any
# number of batch axes in front, or none: count from the end. A name such as `N_Q` in a shape is no variable: read it from
# a tensor, `Q.shape[-2]`. Results have the type of the numbers that came in (double precision if these are).

# %% [markdown] tags=["demands"]
# **What is asked of every exercise.** Grading examines each of these; a check shows some of them. Where an exercise's own
# text says something else, that holds.
#
# - Inputs come back as they were given, and the same inputs give the same result in every call.
# - Results have the floating-point type of the inputs, float32 or float64, and are computed in it.
# - Numbers of float64 may be larger than float32 can hold. (Not asked of `online_softmax_step`.)
# - Inputs of bfloat16 give results of bfloat16.
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours. (Not asked of
#   `linear_attention`.)
# - Small numbers count beside large ones: nothing is cut off.
# - Numbers may be 0.
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Where a shape begins with `*B`, there may be no batch axis, one, or several.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `online_softmax_step`.)
#   In `MultiHeadAttention` they need to flow only from `Y`.
# - Gradients are right also where a softmax is nearly 0 or 1. (Not asked of `linear_attention`.)

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
import math
import time

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.progress import progress

# %% [markdown]
# ## 1 · Split into heads
#
# Each vector of width `H*D_H` is cut into `H` pieces: head $h$ gets the features from $h \cdot D_H$ on. In the result the heads
# stand beside the batch, in front of the vectors, so that a product treats each head for itself.
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
        One vector [1, 2, 3, 4, 5, 6], X of shape [1, 1, 6], and H = 2 give head 0 the vector [1, 2, 3], head 1 [4, 5, 6].
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
# The way back: side by side, head 0 first.
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
# Without a `context` this is self-attention (3 points). With one, `X` asks and the context answers: queries from `X`, keys and values
# from `context` (1 point).
#
# Name the layers `W_QKV` and `W_O`; both are `nn.Linear` **with** bias. The check sets their weights itself.
# `scaled_dot_product_attention` and `nn.MultiheadAttention` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# Exercises 1 and 2 do the splitting and merging. Between them is the attention that you know: its products do not care how many batch axes
# stand in front.
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
        MultiHeadAttention(H=8, D_H=64) takes X of shape [2, 5, 512], and gives Y of shape [2, 5, 512] and A of shape [2, 8, 5, 5].
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
# ## 4 · Operations and bytes
#
# What does self-attention of `N` vectors of width `D` with `H` heads of width `D/H` cost? Count two things for each of `S` lengths:
#
# 1. the floating-point operations of its matrix products: the projections to queries, keys and values, the scores of all heads, the mixing
#    of the values in all heads, the output projection. A product `[n, k] @ [k, m]` counts $2\,n\,k\,m$, a multiplication and an
#    addition for each term. Softmax, scale and biases are left out;
# 2. the bytes that the weights `A` of all heads take together.
#
# Both are whole numbers (`torch.int64`), right to the last one however long the sequence is. `H` divides `D`.
#
# <details><summary>Hint: the idea</summary>
#
# Four lines, one for each product. What becomes of `H` in the second and third?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[N, D] @ [D, 3D]` · `H` times `[N, D/H] @ [D/H, N]` · `H` times `[N, N] @ [N, D/H]` · `[N, D] @ [D, D]`. `N` is a tensor of `S` lengths;
# products with it are too.
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
    mixing = 2 * N * N * D
    output = 2 * N * D * D
    return projections + scores + mixing + output, H * N * N * bytes_per_number
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_attention_cost", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(attention_cost)

# %% [markdown]
# ## 5 · A softmax that reads in pieces
#
# The scores of a query come block after block, and no block is kept. What has been seen so far is kept in three things: the largest
# score `m`, the sum `l` of all $e^{e - m}$, and the sum `O` of all $e^{e - m}\,v$, undivided. Now a block comes, scores `E` and its values `V`:
#
# $$m' = \max(m, \textstyle\max_t E_t), \quad f = e^{m - m'}, \quad P = e^{E - m'}, \qquad
# l' = f\,l + \textstyle\sum_t P_t, \quad O' = f\,O + P V$$
#
# Return `m_new`, `l_new` and `O_new`. Before the first block nothing has been seen: `m` is −inf, `l` and `O` are 0. Your step has to cope with
# that, and with scores hundreds above or below zero.
#
# <details><summary>Hint: the idea</summary>
#
# Exponentials with an old maximum become those with the new one by a factor: $e^{e - m} \cdot e^{m - m'} = e^{e - m'}$.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `m`, `l` and `f` are `[*B, N_Q]`, one number for each query; beside a row of `E` or `O` they need an axis more: `f[..., None]`. `amax(dim=-1)`
# is the largest of each row.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# m_new = the larger of m and the row's maximum · f = exp(m − m_new) · P = exp(E − m_new as a column) · l_new = f l + row sums of P · O_new = f
# (as a column) O + P V
# </details>


# %% nbgrader={"grade": false, "grade_id": "online_softmax_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def online_softmax_step(
    m: Float[Tensor, "*B N_Q"],
    l: Float[Tensor, "*B N_Q"],
    O: Float[Tensor, "*B N_Q D_V"],
    E: Float[Tensor, "*B N_Q T"],
    V: Float[Tensor, "*B T D_V"],
) -> tuple[Float[Tensor, "*B N_Q"], Float[Tensor, "*B N_Q"], Float[Tensor, "*B N_Q D_V"]]:
    """Largest score, sum of exponentials and undivided output after one more block of T data vectors.

    Example:
        One query with m = 0, l = 1, O = [1]; the block E = [[ln 2]], V = [[3]] gives m_new = ln 2, l_new = 1.5, O_new = [3.5].
    """
    ### BEGIN SOLUTION
    m_new = torch.maximum(m, E.amax(dim=-1))  # [*B, N_Q]
    # f is at most 1: nothing overflows. Before the first block it is exp(−inf) = 0, and so wipes out the empty sums.
    f = torch.exp(m - m_new)
    P = torch.exp(E - m_new[..., None])  # [*B, N_Q, T]
    return m_new, f * l + P.sum(dim=-1), f[..., None] * O + P @ V
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_online_softmax_step", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(online_softmax_step)

# %% [markdown]
# ## 6 · Attention in tiles
#
# $Y = \mathrm{softmax}(Q K^\top / \sqrt{D_Q})\,V$, looking at `block` data vectors at a time; the last block may be shorter.
# The result is that of ordinary attention. At no time may there be a tensor with as many numbers as $N_Q \cdot N_X$, whatever the batch:
# the check looks at the size of every tensor that your code makes. Nor may something of every block be kept: what was seen so far is
# `m`, `l` and `O` alone. (Blocks of queries are not what is asked for: a row of scores is not needed whole either.)
#
# `scaled_dot_product_attention` and `nn.MultiheadAttention` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# Exercise 5 in a loop, and one division behind it.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `m` and `l` are `[B, N_Q]`, `O` is `[B, N_Q, D_V]`; the scores of a block are `[B, N_Q, block]`. `K.split(block, dim=1)` gives the blocks, the
# last one shorter if need be. `Q.new_full(…)` and `Q.new_zeros(…)` make tensors of the type and on the device of `Q`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# m = −inf, l = 0, O = 0 · for each block of keys and values: E = Q times the keys transposed, over the root of D_Q · m, l, O = one
# step · Y = O over l
# </details>


# %% nbgrader={"grade": false, "grade_id": "tiled_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def tiled_attention(
    Q: Float[Tensor, "B N_Q D_Q"], K: Float[Tensor, "B N_X D_Q"], V: Float[Tensor, "B N_X D_V"], block: int
) -> Float[Tensor, "B N_Q D_V"]:
    """Attention that reads `block` data vectors at a time.

    Example:
        N_X = 10 data vectors and block = 4 make blocks of 4, 4 and 2.
    """
    ### BEGIN SOLUTION
    m, l = Q.new_full(Q.shape[:-1], -torch.inf), Q.new_zeros(Q.shape[:-1])  # [B, N_Q]
    O = Q.new_zeros(*Q.shape[:-1], V.shape[-1])  # [B, N_Q, D_V]
    for keys, values in zip(K.split(block, dim=1), V.split(block, dim=1)):
        E = Q @ keys.mT / math.sqrt(Q.shape[-1])  # [B, N_Q, block]
        m, l, O = online_softmax_step(m, l, O, E, values)
    return O / l[..., None]  # the sums are undivided until now
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_tiled_attention", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(tiled_attention)

# %% [markdown]
# ## 7 · Linear attention
#
# Another way out, which changes the answer: no softmax, but a similarity that is a product of features,
# $\varphi(q) \cdot \varphi(k)$ with $\varphi(x) = \mathrm{elu}(x) + 1$:
#
# $$y_q = \frac{\sum_x \big(\varphi(q) \cdot \varphi(k_x)\big)\, v_x}{\sum_x \varphi(q) \cdot \varphi(k_x)}
# = \frac{\varphi(q)^\top \sum_x \varphi(k_x)\, v_x^\top}{\varphi(q)^\top \sum_x \varphi(k_x)}$$
#
# Use the right-hand side for all queries at once: no tensor may be as large as $N_Q \times N_X$. There is no scale.
#
# <details><summary>Hint: the idea</summary>
#
# $(\varphi(Q)\,\varphi(K)^\top)\,V = \varphi(Q)\,(\varphi(K)^\top V)$: the second way the inner product is small.
# </details>
# <details><summary>Hint: shapes</summary>
#
# $\varphi(K)^\top V$ is `[*B, D_Q, D_V]`; the sum of $\varphi(K)$ over the data vectors is `[*B, D_Q]`. The denominator is one number for each query:
# as a column, `[*B, N_Q, 1]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# q, k = elu(Q) + 1, elu(K) + 1 · top = q (kᵀ V) · bottom = q times the sum of k over the data vectors, as a column · top over bottom
# </details>


# %% nbgrader={"grade": false, "grade_id": "linear_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def linear_attention(
    Q: Float[Tensor, "*B N_Q D_Q"], K: Float[Tensor, "*B N_X D_Q"], V: Float[Tensor, "*B N_X D_V"]
) -> Float[Tensor, "*B N_Q D_V"]:
    """Attention whose similarity is a product of features, in time proportional to N_Q + N_X.

    Example:
        If all keys are equal, each output is the mean of the values.
    """
    ### BEGIN SOLUTION
    q, k = F.elu(Q) + 1, F.elu(K) + 1  # all positive, so that the weights are shares
    # All that a query needs to know of the data vectors: a matrix and a vector, however many there are.
    state = k.mT @ V  # [*B, D_Q, D_V]
    total = k.sum(dim=-2)[..., None]  # [*B, D_Q, 1]
    return (q @ state) / (q @ total)  # [*B, N_Q, D_V] / [*B, N_Q, 1]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_linear_attention", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(linear_attention)

# %% [markdown]
# Now let your three ways run against each other, on longer and longer sequences: the whole table, your tiles, your linear attention. Before you
# run it: which of the three give the same numbers? Which lines will be steep, and does the tiled one take more time than the plain
# one, less, or the same?


# %%
def seconds(attend, repeats=3) -> float:
    """The shortest time of a few calls."""
    attend()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        attend()
        times.append(time.perf_counter() - started)
    return min(times)


def compare_attentions(lengths=(128, 256, 512, 1024, 2048, 4096), D=32, block=128):
    """Times three attentions of N vectors with themselves, and draws what they have to hold."""
    torch.manual_seed(0)
    ways = {
        "the whole table": lambda Q, K, V: (Q @ K.mT / math.sqrt(D)).softmax(dim=-1) @ V,
        f"tiles of {block}": lambda Q, K, V: tiled_attention(Q, K, V, block),
        "linear": linear_attention,
    }
    took = {name: [] for name in ways}
    for N in lengths:
        Q, K, V = torch.randn(3, 1, N, D)
        for name, attend in ways.items():
            took[name].append(1000 * seconds(lambda: attend(Q, K, V)))
    whole, tiled, linear = (attend(Q, K, V) for attend in ways.values())
    print(f"largest difference to the whole table, N = {N}: tiles {(tiled - whole).abs().max():.1g}, ", end="")
    print(f"linear {(linear - whole).abs().max():.1g}")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for (name, times), marker in zip(took.items(), "osv"):
        left.plot(lengths, times, marker=marker, label=name)
    table = attention_cost(torch.tensor(lengths), D, 1, 4)[1]
    held = {"the whole table": table, f"tiles of {block}": [N * (block + D + 2) * 4 for N in lengths]}
    held["linear"] = [D * (D + 1) * 4] * len(lengths)
    for (name, size), marker in zip(held.items(), "osv"):
        right.plot(lengths, size, marker=marker, label=name)
    left.set(xlabel="N", ylabel="milliseconds", title="measured here")
    right.set(xlabel="N", ylabel="bytes of scores and sums", title="counted: what must be held")
    for panel in (left, right):
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
    left.legend()
    plt.show()


# %% tags=["play"]
try:
    compare_attentions()
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_cost", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8 · What is saved, and what is not?
#
# Answer in four to eight sentences, in the cell below:
#
# 1. Eight heads of width 64 or one head of width 512: why do they cost the same number of operations? What do the eight cost that the one does
#    not, and what can they do that it cannot?
# 2. A colleague says: "FlashAttention is an approximation that makes attention linear." Put this right. What does reading in tiles save,
#    what does it not save, and why is it faster nevertheless?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: heads.** Scores and mixing take 2·N·N·D_H operations a head, so H heads take 2·N·N·H·D_H = 2·N·N·D, as one head of width D; the
# projections are D × D in either case. The eight need eight tables of N × N weights instead of one (memory, and softmaxes). In return each
# query has eight distributions over the data vectors: it can look at several places for different reasons at once, where one head mixes
# all in a single weighted mean. (Each head compares in 64 dimensions only; worth mentioning, not needed.)
# (½ for the operations with the reason, ½ for tables against distributions. "More heads, more computation" earns nothing.)
#
# **1 point: tiles.** It is exact: the same softmax, only added up in another order, equal up to rounding. The number of operations still grows as
# N² (there are even a few more, for the rescaling). What is saved is the table: memory beside inputs and outputs grows as N, not N². It is
# faster because the table need not be written to and read back from the large, slow memory; that traffic, not the arithmetic, takes most
# of plain attention's time. Linear in N is linear attention, which computes something else.
# (½ for exact and still N² operations, ½ for memory and its traffic as the reason.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_cost", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# A head's scores cost 2·N·N·64 operations, and so does its mixing; eight times that is 2·N·N·512, just what one head of width 512 takes,
# and the projections are 512 × 512 in either case. What the eight cost is memory: eight tables of N × N weights in the place of one. What they gain is
# eight distributions for each query, so that it can look at its verb in one head and at the word before it in another; one head has to put all this
# into a single weighted mean, though it compares in more dimensions. FlashAttention computes the very same softmax, only in another order,
# and differs from the plain way by rounding alone. It does not save operations: they grow as N² as before, with some more for rescaling. It saves the table,
# so that the memory beside inputs and outputs grows as N, and with the table all the traffic of writing it to the large, slow memory and reading it back,
# which is what plain attention spends its time on. Linear in N is linear attention, but that is another function.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.

# %%
progress()
