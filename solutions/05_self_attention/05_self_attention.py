# %% [markdown]
# # Assignment 05: self-attention and positions
#
# You build a self-attention layer, measure that it does not know the order of its vectors, and then write the three usual
# ways to tell it: a learned table, waves, rotations.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · a self-attention layer | 3 | ●○○ | 10 |
# | 2 · is a layer equivariant? | 2 | ●●○ | 10 |
# | 3 · a learned table | 3 | ●●○ | 15 |
# | 4 · waves | 3 | ●●○ | 15 |
# | 5 · rotary positions, in both pairings | 4 | ●●● | 25 |
# | 6 · does a score depend on the offset alone? | 3 | ●●○ | 15 |
# | 7 · a written answer | 2 | ●●○ | 10 |
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A check
# tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like, and add
# cells of your own; please leave the check cells themselves as they are. Grading examines the same properties and some
# more, on other numbers and other sizes: a ✓ is a good sign, not yet the mark.
#
# **Shapes.** `N` vectors of width `D` make a sequence. `*B` stands for any number of batch axes in front, or none: count
# from the end, so `X.shape[-2]` is `N`. `positions` are whole numbers, 0 or more, `[N]`; they need not begin at 0. Results
# have the type of the numbers that came in (double precision if these are), unless the text says otherwise, and stand on
# their device: make new tensors with `device=`. A tensor's numbers need not lie side by side in memory.

# %% [markdown] tags=["demands"]
# **What is asked of every exercise.** Grading examines each of these; a check shows some of them. Where an exercise's own
# text says something else, that holds.
#
# - Inputs come back as they were given, and the same inputs give the same result in every call.
# - Results have the floating-point type of the inputs, float32 or float64, and are computed in it.
# - Numbers of float64 may be larger than float32 can hold.
# - Inputs of bfloat16 give results of bfloat16. (Not asked of `equivariance_gap`, `sinusoidal_encoding` and
#   `rotary_encoding`.)
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
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `equivariance_gap`,
#   `sinusoidal_encoding` and `offset_spread`.) In `SelfAttentionLayer` they need to flow only from `Y`.
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
import math
from collections.abc import Callable

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.progress import progress

# %% [markdown]
# ## 1 · A self-attention layer
#
# Queries, keys and values all come from one sequence: $Q = X W_Q$, $K = X W_K$, $V = X W_V$. Every vector looks at all
# $N$, itself among them.
#
# Name the layers `W_Q`, `W_K` and `W_V`; all are `nn.Linear` **without bias**. The check sets their weights itself.
# `scaled_dot_product_attention` and `nn.MultiheadAttention` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# It is the cross-attention of assignment 04 with the same sequence on both sides.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `Q` and `K` are `[*B, N, D_Q]`, `V` is `[*B, N, D_V]`; the weights are square, `[*B, N, N]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# `__init__`: three layers · `forward`: Q, K, V from X · scores = Q times K transposed, over the root of D_Q · softmax over the last axis · times V
# </details>


# %% nbgrader={"grade": false, "grade_id": "SelfAttentionLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SelfAttentionLayer(nn.Module):
    """Self-attention: each of N vectors asks all N.

    Args:
        D: width of the vectors.
        D_Q: width of queries and keys.
        D_V: width of values and outputs.
    """

    def __init__(self, D: int, D_Q: int, D_V: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.D_Q = D_Q
        self.W_Q = nn.Linear(D, D_Q, bias=False)
        self.W_K = nn.Linear(D, D_Q, bias=False)
        self.W_V = nn.Linear(D, D_V, bias=False)
        ### END SOLUTION

    def forward(self, X: Float[Tensor, "*B N D"]) -> tuple[Float[Tensor, "*B N D_V"], Float[Tensor, "*B N N"]]:
        """Returns outputs Y and weights A."""
        ### BEGIN SOLUTION
        # One sequence in three roles: it asks, it offers, it answers. The scale is the width of the dot product.
        E = self.W_Q(X) @ self.W_K(X).mT / math.sqrt(self.D_Q)  # [*B, N, N]
        A = E.softmax(dim=-1)  # row n: where vector n looks
        return A @ self.W_V(X), A
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_SelfAttentionLayer", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(SelfAttentionLayer)

# %% [markdown]
# ## 2 · Is a layer equivariant?
#
# A layer is permutation equivariant if permuting its input permutes its output in the same way, and does nothing else. Write the
# measurement: for a batch of sequences `X` and an order `order` of its $N$ vectors, compare what the layer gives for the
# **permuted input** with its **permuted output**. Row $n$ of a permuted sequence is what row `order[n]` was. For each
# sequence of the batch give, of all pairs of corresponding numbers, the largest absolute difference: 0 (up to rounding) for an
# equivariant layer.
#
# `layer` is anything that can be called with `X [B, N, D]` and gives one tensor, `[B, N, D_V]`. (For your own layer, which gives two things, that
# would be `lambda X: layer(X)[0]`.)
#
# <details><summary>Hint: the idea</summary>
#
# Two ways to the same place: permute, then apply the layer; or apply the layer, then permute.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `X[:, order]` permutes the second axis, the vectors of each sequence. The differences are `[B, N, D_V]`; take the largest over the last
# two axes.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# difference = layer(X permuted) − (layer(X)) permuted · absolute values · largest over the last two axes
# </details>


# %% nbgrader={"grade": false, "grade_id": "equivariance_gap", "locked": false, "schema_version": 3, "solution": true, "task": false}
def equivariance_gap(layer: Callable, X: Float[Tensor, "B N D"], order: Int[Tensor, "N"]) -> Float[Tensor, "B"]:
    """For each sequence, by how much permuting before the layer and permuting after it differ at most.

    Example:
        For a layer that doubles each vector the gap is 0. For one that adds n to vector n it is the largest |n − order[n]|.
    """
    ### BEGIN SOLUTION
    before = layer(X[:, order])  # [B, N, D_V]
    after = layer(X)[:, order]  # [B, N, D_V]
    return (before - after).abs().amax(dim=(-2, -1))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_equivariance_gap", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(equivariance_gap)

# %% [markdown]
# ## 3 · A learned table
#
# `max_length` positions, each with a vector of its own that is learned. Row $n$ of the table is added to vector $n$ of the sequence,
# $n = 0, \dots, N - 1$.
#
# A sequence that is longer than the table is a mistake of the caller, and deserves a clear word: raise a `ValueError` whose
# message names both numbers, how many vectors came and how many positions there are. A sequence of just `max_length` vectors is
# fine.
#
# Name the table `table`; it is an `nn.Embedding`. (2 points for the positions, 1 for the error.)
#
# <details><summary>Hint: the idea</summary>
#
# Compare first. Then it is a lookup and a sum: the same rows for each sequence of the batch.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The table's rows for the sequence are `[N, D]`; added to `X [*B, N, D]` they are broadcast over the batch.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# if N is larger than the number of rows: raise ValueError(f"…{N}…{rows}…") · return X + rows 0 to N − 1 of the table
# </details>


# %% nbgrader={"grade": false, "grade_id": "LearnedPositions", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LearnedPositions(nn.Module):
    """Adds a learned vector for each position.

    Args:
        max_length: number of positions.
        D: width of the vectors.
    """

    def __init__(self, max_length: int, D: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.max_length = max_length
        self.table = nn.Embedding(max_length, D)
        ### END SOLUTION

    def forward(self, X: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N D"]:
        """Returns X with positions.

        Raises:
            ValueError: the sequence is longer than the table; the message names both lengths.
        """
        ### BEGIN SOLUTION
        # The caller learns what was too long and how long it may be. What an embedding says by itself is "index out of
        # range in self", and on a GPU the error comes later and somewhere else.
        length = X.shape[-2]
        if length > self.max_length:
            raise ValueError(f"a sequence of {length} vectors does not fit: there are {self.max_length} learned positions")
        return X + self.table(torch.arange(length, device=X.device))  # [*B, N, D] + [N, D]
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_LearnedPositions", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(LearnedPositions)

# %% [markdown]
# ## 4 · Waves
#
# The sinusoidal encoding, for positions that are given, in any order and with gaps:
#
# $$p_{n,\,2i} = \sin(\mathit{pos}_n\,\omega_i),\qquad p_{n,\,2i+1} = \cos(\mathit{pos}_n\,\omega_i),\qquad
# \omega_i = \mathit{base}^{-2i/D},\qquad i = 0, \dots, D/2 - 1$$
#
# `D` is even. The result is single precision.
#
# <details><summary>Hint: the idea</summary>
#
# First all the angles, position times frequency; then sine and cosine; then bring them into turns.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Frequencies are `[D/2]`, angles `[N, D/2]` (an outer product), the result `[N, D]`. `torch.stack([a, b], dim=-1)` of two `[N,
# D/2]` is `[N, D/2, 2]`; flattened, they take turns.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# i2 = 0, 2, 4, … below D · frequencies = base to the power −i2/D · angles = positions as a column times frequencies · even columns = sin · odd
# columns = cos
# </details>


# %% nbgrader={"grade": false, "grade_id": "sinusoidal_encoding", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sinusoidal_encoding(positions: Int[Tensor, "N"], D: int, base: float = 10000.0) -> Float[Tensor, "N D"]:
    """Sine and cosine of each position at D/2 frequencies, in turns.

    Example:
        Position 0 gives 0, 1, 0, 1, …: all sines are 0 and all cosines 1.
    """
    ### BEGIN SOLUTION
    # arange(0, D, 2) is 2i. Each frequency serves a pair of features, so there are D/2 of them.
    frequencies = torch.pow(base, -torch.arange(0, D, 2, device=positions.device) / D)  # [D/2]
    angles = torch.outer(positions.float(), frequencies)  # [N, D/2]
    encoding = torch.empty(len(positions), D, device=positions.device)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()
    return encoding
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_sinusoidal_encoding", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(sinusoidal_encoding)

# %% [markdown]
# ## 5 · Rotary positions, in both pairings
#
# Each row of `X` is cut into $D/2$ pairs $(x, y)$, and pair $j$ of row $n$ is turned by the angle $\varphi =
# \mathit{positions}[n] \cdot \mathit{base}^{-2j/D}$:
#
# $$(x, y) \to (x\cos\varphi - y\sin\varphi,\; x\sin\varphi + y\cos\varphi), \qquad j = 0, \dots, D/2 - 1$$
#
# Which features make pair $j$? If `interleaved` is False, features $j$ and $j + D/2$ (as in GPT-NeoX, and in
# the Llama of the library `transformers`: 2 points); if it is True, features $2j$ and $2j + 1$ (as in GPT-J, and in Meta's own code for
# Llama: 2 points). In the result each turned feature stands where it was taken from.
#
# <details><summary>Hint: the idea</summary>
#
# Take the first features of all pairs as one tensor, the second ones as another. Turning is the same for both pairings; only
# taking apart and putting together differ.
# </details>
# <details><summary>Hint: shapes</summary>
#
# First and second features are `[*B, N, D/2]` each, the angles `[N, D/2]`. Halves: `X.chunk(2, dim=-1)` and `torch.cat`. Neighbours:
# `X[..., 0::2]`, `X[..., 1::2]`, and back with `torch.stack(…, dim=-1).flatten(-2)`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# angles = positions as a column times frequencies · x, y = first and second features · new x = x cos − y sin · new y = x sin + y cos ·
# put together as they were taken apart
# </details>


# %% nbgrader={"grade": false, "grade_id": "rotary_encoding", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rotary_encoding(
    X: Float[Tensor, "*B N D"], positions: Int[Tensor, "N"], base: float, interleaved: bool
) -> Float[Tensor, "*B N D"]:
    """X with each pair of features turned, by an angle proportional to the row's position.

    Example:
        X = [[1, 0]] at position 1, D = 2: the pair is turned by 1 radian, to [[0.540, 0.841]].
    """
    ### BEGIN SOLUTION
    width = X.shape[-1]
    # In double precision, so that an angle is right for far positions too; then in the type of X.
    frequencies = base ** (-torch.arange(0, width, 2, device=X.device, dtype=torch.float64) / width)  # [D/2]
    angles = positions[:, None] * frequencies  # [N, D/2]
    cos, sin = angles.cos().to(X.dtype), angles.sin().to(X.dtype)
    if interleaved:
        x, y = X.unflatten(-1, (-1, 2)).unbind(dim=-1)  # [*B, N, D/2] each, features 2j and 2j + 1
    else:
        x, y = X.chunk(2, dim=-1)  # features j and j + D/2
    pair = [x * cos - y * sin, x * sin + y * cos]
    return torch.stack(pair, dim=-1).flatten(-2) if interleaved else torch.cat(pair, dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_rotary_encoding", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(rotary_encoding)

# %% [markdown]
# ## 6 · Does a score depend on the offset alone?
#
# Let the *same* query stand at all places, and the same key. Then $E[m, n]$, the score of the query at place $m$ with the key at place $n$,
# can differ through the positions only. If it depends on the *offset* $n - m$ alone (the distance with its sign: two ahead and two back are different), all numbers with the same
# $n - m$ are equal.
# Measure how far a matrix is from that: for each offset from $1 - N$ to $N - 1$ the largest score minus the smallest; of these, the
# largest.
#
# <details><summary>Hint: the idea</summary>
#
# Numbers with the same $n - m$ lie on a diagonal of the matrix. There are $2N - 1$ of them.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `E.diagonal(k, dim1=-2, dim2=-1)` is the diagonal with $n - m = k$ of each matrix of a batch, `[*B, N − |k|]`. A spread for each diagonal is `[*B]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# for k from 1 − N to N − 1: diagonal k · its largest minus its smallest · the largest of all these
# </details>


# %% nbgrader={"grade": false, "grade_id": "offset_spread", "locked": false, "schema_version": 3, "solution": true, "task": false}
def offset_spread(E: Float[Tensor, "*B N N"]) -> Float[Tensor, "*B"]:
    """The largest difference between two scores of the same offset, for each matrix.

    Example:
        [[1, 2], [0, 1]] gives 0: both numbers of its main diagonal are 1. [[1, 2], [0, 4]] gives 3.
    """
    ### BEGIN SOLUTION
    length = E.shape[-1]
    spread = torch.zeros_like(E[..., 0, 0])  # [*B]
    for k in range(1 - length, length):
        same_offset = E.diagonal(k, dim1=-2, dim2=-1)  # [*B, N − |k|]
        spread = spread.maximum(same_offset.amax(dim=-1) - same_offset.amin(dim=-1))
    return spread
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_offset_spread", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(offset_spread)

# %% [markdown]
# Now put your pieces together. How far from *the offset alone* are the scores of a layer with drawn matrices, for each kind of position?
# And is your layer of exercise 1 equivariant, with and without positions? Before you run it: which of the gaps and spreads will
# be about 0?


# %%
def compare_positions(N=32, D=64):
    """Prints equivariance gaps of the layer, and draws the scores of one word at all places with each kind of position."""
    torch.manual_seed(0)
    positions, order = torch.arange(N), torch.randperm(N)
    table, layer = LearnedPositions(N, D), SelfAttentionLayer(D, D, D)
    X, P = torch.randn(1, N, D), sinusoidal_encoding(positions, D)
    with torch.no_grad():
        for name, tell in (("no positions", lambda X: X), ("learned", table), ("waves", lambda X: X + P)):
            gap = equivariance_gap(lambda X: layer(tell(X))[0], X, order)
            print(f"equivariance gap, {name}: {gap.item():.2g}")
        word = torch.randn(D).expand(N, D)
        scores = {}
        for name, told in (("learned", table(word)), ("waves", word + P)):
            scores[name] = layer.W_Q(told) @ layer.W_K(told).mT / math.sqrt(D)
        Q, K = (rotary_encoding(project(word), positions, 10000.0, False) for project in (layer.W_Q, layer.W_K))
        scores["rotary"] = Q @ K.mT / math.sqrt(D)
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
    for panel, (name, E) in zip(panels, scores.items()):
        panel.imshow(E, cmap="cividis")
        panel.set(title=f"{name}, spread {offset_spread(E).item():.2g}", xlabel="key at place n", ylabel="query at place m")
    plt.show()


# %% tags=["play"]
try:
    compare_positions()
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_positions", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7 · What did you see?
#
# Answer in three to six sentences, in the cell below:
#
# 1. "Attention does not know the order of its inputs." Say exactly what happens to the outputs of a self-attention layer when its
#    inputs are permuted, and why.
# 2. A colleague wants to use a model on texts that are twice as long as those it was trained on. What should she expect with learned positions,
#    with waves, with rotary positions?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: equivariance.** The outputs are permuted in the same way, and are otherwise unchanged (equivariant; not
# invariant). Reason: queries, keys and values are made from each vector alone, the scores of each pair from these two, and the softmax and
# the weighted sum do not depend on the order of the terms.
# (½ for the statement, ½ for the reason. "The output stays the same" earns nothing.)
#
# **1 point: longer texts.** Learned: no vectors behind the table's end, or untrained ones: an error, or noise. Waves: can be
# computed for any position, but the trained matrices have not met them: in the lesson it broke at once. Rotary: scores depend
# on the distance alone, so places further out are nothing new, and distances that were met work as before; distances that are longer than any in training are
# new all the same, and may look like known ones.
# (½ for learned and waves, ½ for rotary with its limit.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_positions", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# If the inputs are permuted, the outputs are permuted in the same way and nothing else changes: the layer is equivariant.
# Each query, key and value is made from one vector, each score from one pair, and neither the softmax nor the weighted sum
# cares in which order its terms come. On texts of twice the length a learned table has no rows, or rows that were never
# trained, so it fails at once. Waves exist for every position, but the matrices behind them were trained on others, and in the lesson
# that failed just as soon. Rotary scores depend on the distance alone, so most of what was learned goes on working; but distances
# longer than any in training are new, and a fast clock may show the same time there as at a short distance.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.

# %%
progress()
