# %% [markdown]
# # Assignment 05: self-attention and positions
#
# You build a self-attention layer that takes positions as a second input, and you measure that without them the layer does not
# know the order of its vectors. Then you write three ways to give it the order: a learned positional encoding, the sinusoidal
# positional encoding, and the rotary position embedding (RoPE). If you like, you add a fourth one, linear biases (ALiBi).
#
# **You will be able to**
#
# - write self-attention, and decide which of queries, keys and values depend on the positions;
# - test whether a layer is permutation equivariant, and whether its scores depend on relative positions alone;
# - write learned, sinusoidal and rotary encodings for any positions and any number of batch axes;
# - say what each of the three does with sequences longer than those in training.
#
# **You need** [lesson 05](../../notebooks/05_self_attention.ipynb), and the attention layers of assignment 04. No exercise calls
# the code of another one, so you can do them in any order; the plots after exercise 6 use exercises 1 to 6. The
# [glossary](../../docs/glossary.md) explains each term in one line.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · self-attention that takes positions | 3 | ●○○ | 15 |
# | 2 · is a layer equivariant? | 2 | ●●○ | 10 |
# | 3 · a learned positional encoding | 3 | ●●○ | 15 |
# | 4 · the sinusoidal positional encoding | 3 | ●●○ | 15 |
# | 5 · does a score depend on the offset alone? | 3 | ●●○ | 15 |
# | 6 · the rotary position embedding, in both pairings | 4 | ●●● | 25 |
# | 7 · stretch: linear biases in place of an encoding (ALiBi) | stretch | ●●○ | 15 |
# | 8 · a written answer | 2 | ●●○ | 10 |
#
# **Time** about 145 minutes in all, plus about 15 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` with your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are.
#
# **Shapes.** A sequence consists of `N` vectors of width `D`. `*B` stands for any number of batch axes in front, or none: count
# axes from the end, so `X.shape[-2]` is `N`. `positions` are integers from 0 on, `[N]`; they need not begin at 0. Results have
# the floating-point type of the inputs, unless the text says otherwise, and are on their device: make new tensors with
# `device=`. The numbers of a tensor need not lie side by side in memory.

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
# - Inputs of bfloat16 give results of bfloat16; a single number, such as a loss, may be of float32. (Not asked of
#   `equivariance_gap`, `sinusoidal_encoding` and `rotary_encoding`.)
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
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `equivariance_gap`,
#   `sinusoidal_encoding` and `offset_spread`.) In `SelfAttentionLayer` they need to flow only from `Y`.
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
from collections.abc import Callable

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.progress import progress

# %% [markdown]
# ## 1 · Self-attention that takes positions
#
# In self-attention, queries, keys and values are all made from the same sequence $X$. The lesson adds a positional encoding to
# $X$ before the layer, so the values contain the positions, too. The layer of this exercise takes the encoding $P$ as a second
# input, with one row for each position, and uses it only where vectors are *compared*. Like RoPE, it leaves the values alone:
#
# $$Q = (X + P)\,W_Q, \qquad K = (X + P)\,W_K, \qquad V = X\,W_V$$
#
# Positions then influence how much each token attends to each other one, but not what it receives. (DETR, the subject of lesson
# 14, does this in every layer.) All sequences of a batch share the same $P$. If `P` is `None`, the layer is the plain
# self-attention of the lesson. (1 point without positions, 2 with them.)
#
# Name the layers `W_Q`, `W_K` and `W_V`; all are `nn.Linear` **without bias**. The check sets their weights itself.
# `scaled_dot_product_attention` and `nn.MultiheadAttention` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# Two kinds of vectors enter the projections: those with positions and those without. Decide for each of the three layers which
# kind it is given. The rest is the attention of assignment 04, with the same sequence on both sides.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `P` is `[N, D]` and broadcasts over the batch axes of `X`. `Q` and `K` are `[*B, N, D_Q]`, `V` is `[*B, N, D_V]`, and the
# weights are square, `[*B, N, N]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# In `__init__`, make the three layers. In `forward`:
#
# 1. Prepare the vectors that contain positions, if there are any. (Compare with `None`: `if P:` does not work for a tensor.
#    Do not write into `X`.)
# 2. Project three times, each time from the right kind of vectors.
# 3. Compute scaled scores, weights and outputs.
# </details>


# %% nbgrader={"grade": false, "grade_id": "SelfAttentionLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SelfAttentionLayer(nn.Module):
    """Self-attention in which positions enter the queries and keys, but not the values.

    Args:
        D: width of the vectors, and of their positional encoding.
        D_Q: width of the queries and keys.
        D_V: width of the values and outputs.
    """

    def __init__(self, D: int, D_Q: int, D_V: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.D_Q = D_Q
        self.W_Q = nn.Linear(D, D_Q, bias=False)
        self.W_K = nn.Linear(D, D_Q, bias=False)
        self.W_V = nn.Linear(D, D_V, bias=False)
        ### END SOLUTION

    def forward(
        self, X: Float[Tensor, "*B N D"], P: Float[Tensor, "N D"] | None = None
    ) -> tuple[Float[Tensor, "*B N D_V"], Float[Tensor, "*B N N"]]:
        """The outputs of all vectors of a sequence, and their attention weights.

        Args:
            X: the sequences.
            P: the positional encoding, one row for each position; None for self-attention without
                positions.

        Returns:
            Y [*B, N, D_V]: the output of each vector.
            A [*B, N, N]: the weights; row m holds those of query m and sums to 1.

        Example:
            If all three weights are [[1]], then X = [[0], [0]] and P = [[0], [1]] give A =
            [[0.5, 0.5], [0.269, 0.731]]. Y is [[0], [0]], since the values do not contain P.
        """
        ### BEGIN SOLUTION
        # What is compared contains the positions; what is passed on does not.
        located = X if P is None else X + P  # [*B, N, D]
        E = self.W_Q(located) @ self.W_K(located).mT / math.sqrt(self.D_Q)  # [*B, N, N]
        A = E.softmax(dim=-1)  # row m: the weights of query m
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
# A layer is permutation equivariant if permuting its input permutes its output in the same way and changes nothing else. Write
# the measurement. For a batch of sequences `X` and an order `order` of their $N$ vectors, compare what the layer gives for the
# **permuted input** with its **permuted output**. Row $n$ of a permuted sequence is row `order[n]` of the original one. For each
# sequence of the batch return the gap, the largest absolute difference between corresponding numbers of the two. It is 0 (up to
# rounding) for an equivariant layer.
#
# `layer` is anything that can be called with `X [B, N, D]` and gives one tensor, `[B, N, D_V]`. (Your own layer gives two
# tensors; one would pass `lambda X: layer(X)[0]`.)
#
# <details><summary>Hint: the idea</summary>
#
# Permuting and applying the layer can be done in either order. The gap tells whether the order of these two steps matters.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The vectors of a sequence lie along the second axis, in the input `[B, N, D]` as in the output `[B, N, D_V]`. Indexing with
# `order` permutes an axis. The gap has one number for each sequence, `[B]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute the first result: permute the input, then apply the layer.
# 2. Compute the second result with the same two steps in the other order.
# 3. Compare the two number by number, and keep the worst case of each sequence.
# </details>


# %% nbgrader={"grade": false, "grade_id": "equivariance_gap", "locked": false, "schema_version": 3, "solution": true, "task": false}
def equivariance_gap(layer: Callable, X: Float[Tensor, "B N D"], order: Int[Tensor, "N"]) -> Float[Tensor, "B"]:
    """The equivariance gap of a layer: how much it matters whether one permutes before or after the
    layer.

    Args:
        layer: takes X and gives one tensor [B, N, D_V].
        X: a batch of sequences.
        order: a permutation of 0, …, N - 1.

    Returns:
        gap [B]: for each sequence the largest absolute difference of the two results.

    Example:
        With order = [1, 2, 0], a layer that doubles each vector has the gap 0. A layer that adds n
        to vector n, for n = 0, 1, 2, has the gap 2, the largest |n - order[n]|.
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
# ## 3 · A learned positional encoding
#
# A learned positional encoding is a table with `max_length` rows, one for each position, which training adjusts. Row $n$ of the
# table is added to vector $n$ of the sequence, $n = 0, \dots, N - 1$.
#
# A sequence that is longer than the table is a mistake of the caller, who should get a clear message: raise a `ValueError` whose
# message names both numbers, the number of vectors and the number of positions. A sequence of exactly `max_length` vectors is
# allowed.
#
# Name the table `table`; it is an `nn.Embedding`. (2 points for the positions, 1 for the error.)
#
# <details><summary>Hint: the idea</summary>
#
# Refuse what is too long before the lookup can fail. All sequences of a batch get the same rows.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The rows for the sequence are `[N, D]`; added to `X [*B, N, D]`, they broadcast over the batch axes. With any number of batch
# axes, `N` is `X.shape[-2]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compare the length of the sequence with the number of rows. Which of `<`, `<=`, `>` and `>=` is the right comparison?
# 2. If the sequence is too long, raise the error with both numbers in its message.
# 3. Get the rows for positions 0 to N − 1. If you make their numbers yourself, make them on the device of `X`.
# 4. Add them to `X`.
# </details>


# %% nbgrader={"grade": false, "grade_id": "LearnedPositions", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LearnedPositions(nn.Module):
    """Adds a learned vector to each position of a sequence.

    Args:
        max_length: number of positions in the table.
        D: width of the vectors.
    """

    def __init__(self, max_length: int, D: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.max_length = max_length
        self.table = nn.Embedding(max_length, D)
        ### END SOLUTION

    def forward(self, X: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N D"]:
        """The sequences with their positions.

        Returns:
            [*B, N, D]: X, with row n of the table added to vector n of each sequence.

        Raises:
            ValueError: the sequence is longer than the table; the message names both lengths.

        Example:
            With the table [[1, 0], [0, 1], [5, 5]], X = [[2, 2], [2, 2]] gives [[3, 2], [2, 3]].
            Four vectors raise a ValueError whose message names 4 and 3.
        """
        ### BEGIN SOLUTION
        # The message says what was too long and how long it may be. By itself an embedding says "index out of range in
        # self", and on a GPU the error is reported later, at another line.
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
# ## 4 · The sinusoidal positional encoding
#
# Write the sinusoidal encoding for given positions, which may come in any order and with gaps:
#
# $$p_{n,\,2i} = \sin(\mathit{pos}_n\,\omega_i),\qquad p_{n,\,2i+1} = \cos(\mathit{pos}_n\,\omega_i),\qquad
# \omega_i = \mathit{base}^{-2i/D},\qquad i = 0, \dots, D/2 - 1$$
#
# `D` is even. The result is in single precision.
#
# <details><summary>Hint: the idea</summary>
#
# First compute all angles, position times frequency. Then apply sine and cosine, and arrange the results in turns.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The frequencies are `[D/2]`, the angles `[N, D/2]` (an outer product), and the result is `[N, D]`. Two tensors `[N, D/2]` take
# turns if you stack them along a new last axis and flatten, or if you fill every second column of an empty tensor.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute the frequencies. The first is 1; which exponents do the others have? Mind which numbers are integers.
# 2. Multiply every position by every frequency.
# 3. Put the sines into the even features and the cosines into the odd ones. Both features of a pair have the same angle.
# </details>


# %% nbgrader={"grade": false, "grade_id": "sinusoidal_encoding", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sinusoidal_encoding(positions: Int[Tensor, "N"], D: int, base: float = 10000.0) -> Float[Tensor, "N D"]:
    """The sinusoidal positional encoding: sines and cosines of D/2 frequencies, in turns.

    Args:
        positions: the positions, in any order.
        D: the width of the encoding, an even number.
        base: sets how fast the frequencies fall from pair to pair.

    Returns:
        P [N, D]: row n is the encoding of positions[n].

    Example:
        With D = 4 and base = 100 the frequencies are 1 and 0.1, so positions = [0, 1] give
        [[0, 1, 0, 1], [0.841, 0.540, 0.100, 0.995]].
    """
    ### BEGIN SOLUTION
    # arange(0, D, 2) is 2i. Each frequency belongs to a pair of features, so there are D/2 of them.
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
# ## 5 · Does a score depend on the offset alone?
#
# Suppose that the *same* query stands at all positions, and the same key. Then $E[m, n]$, the score of the query at position $m$
# with the key at position $n$, can vary only because of the positions. If it depends only on the **offset** $n - m$, the relative
# position of the key, then all scores with the same offset are equal. (The offset has a sign: two positions ahead and two
# positions back are different offsets.)
#
# Measure how far a score matrix is from that. The spread of an offset is the largest minus the smallest of its scores. Return the
# largest spread of all offsets from $1 - N$ to $N - 1$.
#
# <details><summary>Hint: the idea</summary>
#
# Scores with the same $n - m$ lie on a diagonal of the matrix. There are $2N - 1$ diagonals, and the worst of them counts.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `E.diagonal(k, dim1=-2, dim2=-1)` is the diagonal with $n - m = k$ of each matrix of a batch, `[*B, N − |k|]`. Its spread is
# `[*B]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Go through the offsets, negative ones included.
# 2. Compute the spread of each offset's diagonal, for all matrices of the batch at once.
# 3. Keep the largest spread of each matrix.
# </details>


# %% nbgrader={"grade": false, "grade_id": "offset_spread", "locked": false, "schema_version": 3, "solution": true, "task": false}
def offset_spread(E: Float[Tensor, "*B N N"]) -> Float[Tensor, "*B"]:
    """The largest difference between two scores of the same offset.

    Args:
        E: scores; E[..., m, n] is that of the query at position m with the key at position n.

    Returns:
        spread [*B]: one number for each matrix, 0 if its scores depend on n - m alone.

    Example:
        E = [[1, 2], [0, 1]] gives 0, since both scores on the main diagonal are 1. E =
        [[1, 2], [0, 4]] gives 3.
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
# ## 6 · The rotary position embedding, in both pairings
#
# The features of each row of `X` form $D/2$ pairs $(x, y)$. Pair $j$ of row $n$ is rotated by the angle
# $\varphi = \mathit{positions}[n] \cdot \mathit{base}^{-2j/D}$:
#
# $$(x, y) \to (x\cos\varphi - y\sin\varphi,\; x\sin\varphi + y\cos\varphi), \qquad j = 0, \dots, D/2 - 1$$
#
# Which features form pair $j$? If `interleaved` is False, features $j$ and $j + D/2$ (as in GPT-NeoX, and in the Llama of the
# library `transformers`: 2 points). If it is True, features $2j$ and $2j + 1$ (as in GPT-J, and in Meta's own code for Llama:
# 2 points). In the result, each rotated feature stands where it was in `X`.
#
# <details><summary>Hint: the idea</summary>
#
# Take the first features of all pairs as one tensor and the second features as another. The rotation is the same for both
# pairings; only taking the pairs apart and putting them back differ.
# </details>
# <details><summary>Hint: shapes</summary>
#
# First and second features are `[*B, N, D/2]` each, and the angles `[N, D/2]`. `X.chunk(2, dim=-1)` gives the two halves, and
# `torch.cat` undoes it. `X[..., 0::2]` and `X[..., 1::2]` are every second feature; stacking along a new last axis and flattening
# the last two axes puts them back.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute the angles as in exercise 4, for `D/2` pairs. Compute them in single precision at least.
# 2. Take the pairs apart, as `interleaved` says.
# 3. Rotate: compute both new features from both old ones.
# 4. Put the pairs back in the way they were taken apart.
# </details>


# %% nbgrader={"grade": false, "grade_id": "rotary_encoding", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rotary_encoding(
    X: Float[Tensor, "*B N D"], positions: Int[Tensor, "N"], base: float, interleaved: bool
) -> Float[Tensor, "*B N D"]:
    """X with each pair of features rotated by an angle proportional to the position of its row.

    Args:
        X: the vectors, such as queries or keys; D is even.
        positions: the position of each row.
        base: sets how fast the frequencies fall from pair to pair.
        interleaved: whether pairs are neighbours, (2j, 2j + 1), or lie half the width apart, (j, j
            + D/2).

    Returns:
        [*B, N, D]: the rotated vectors, with the features in their old order.

    Example:
        At position 1, pair 0 is rotated by 1 radian. So X = [[1, 0, 0, 0]] gives
        [[0.540, 0, 0.841, 0]] if interleaved is False, and [[0.540, 0.841, 0, 0]] if it is True.
    """
    ### BEGIN SOLUTION
    width = X.shape[-1]
    # The angles are computed in double precision, so that they are right for far positions, too; and on the CPU, since
    # Apple's GPUs have no double precision.
    frequencies = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)  # [D/2]
    angles = positions.cpu()[:, None] * frequencies  # [N, D/2]
    cos, sin = (a.to(X.dtype).to(X.device) for a in (angles.cos(), angles.sin()))
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
# Now put your pieces together. Is your layer of exercise 1 equivariant, with and without positions? And how far are the scores of
# a layer with random matrices from depending on the offset alone, for each kind of positional encoding? Before you run the cell,
# predict which of the gaps and spreads will be about 0.


# %%
def compare_positions(N=32, D=64):
    """Prints equivariance gaps of the layer, and draws the scores of one token at all positions for
    each encoding.
    """
    torch.manual_seed(0)
    positions, order = torch.arange(N), torch.randperm(N)
    table, layer = LearnedPositions(N, D), SelfAttentionLayer(D, D, D)
    X, P = torch.randn(1, N, D), sinusoidal_encoding(positions, D)
    outputs = {
        "no positions": lambda X: layer(X)[0],
        "learned, added to X": lambda X: layer(table(X))[0],
        "sinusoidal, added to X": lambda X: layer(X + P)[0],
        "sinusoidal, in queries and keys alone": lambda X: layer(X, P)[0],
    }
    with torch.no_grad():
        for name, output in outputs.items():
            print(f"equivariance gap, {name}: {equivariance_gap(output, X, order).item():.2g}")
        token = torch.randn(D).expand(N, D)
        scores = {}
        for name, told in (("learned", table(token)), ("sinusoidal", token + P)):
            scores[name] = layer.W_Q(told) @ layer.W_K(told).mT / math.sqrt(D)
        Q, K = (rotary_encoding(project(token), positions, 10000.0, False) for project in (layer.W_Q, layer.W_K))
        scores["rotary"] = Q @ K.mT / math.sqrt(D)
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
    for panel, (name, E) in zip(panels, scores.items()):
        panel.imshow(E, cmap="cividis")
        panel.set(
            title=f"{name}, spread {offset_spread(E).item():.2g}",
            xlabel="key at position n",
            ylabel="query at position m",
        )
    plt.show()


# %% tags=["play"]
try:
    compare_positions()
except NotImplementedError:
    print("This works as soon as all exercises above are finished.")

# %% [markdown]
# ## 7 · Stretch: linear biases in place of an encoding (ALiBi)
#
# This exercise earns no points. It shows a fourth way to give a layer the order, *attention with linear biases* or **ALiBi**
# (Press, Smith and Lewis 2022), which language models such as BLOOM and MPT use.
#
# Nothing is added to the tokens, and nothing is rotated. Instead, every score is lowered by an amount that grows with the
# distance of query and key. A layer often consists of $H$ parts side by side, called **heads** (lesson 06 is about them), each
# with queries and keys, and so a table of scores, of its own. Each head $h$ has a **slope** $m_h$, which is fixed and not learned.
# To the score $E_{h,i,j}$ of the query at position $i$ and the key at position $j$ the **bias** $-m_h\,|i - j|$ is added:
#
# $$E'_{h,i,j} = E_{h,i,j} - m_h\,|i - j|, \qquad m_h = 2^{-8h/H}, \qquad h = 1, \dots, H$$
#
# Since the heads are counted from 1 here, head $h$ is the table `E[…, h - 1, :, :]`. For example, two heads have the slopes
# $2^{-4} = 1/16$ and $2^{-8} = 1/256$. For three tokens the biases of the first of these two heads are
#
# | query | key 0 | key 1 | key 2 |
# |---|---|---|---|
# | 0 | 0 | −1/16 | −2/16 |
# | 1 | −1/16 | 0 | −1/16 |
# | 2 | −2/16 | −1/16 | 0 |
#
# The formula holds for any $H$. (The authors' code chooses other slopes if $H$ is not a power of 2.) `E` contains scores that
# have already been divided by $\sqrt{D_Q}$; the biases are not scaled.
#
# **The symmetric form.** In the paper, a query sees only the keys up to its own position (a causal mask, lesson 07), so the
# distance there is $i - j$. The self-attention of this lesson looks in both directions. Therefore we take $|i - j|$: a key
# three positions ahead is treated like one three positions behind.
#
# **What the biases do.** The softmax turns the bias into a factor: at distance $d$, a key's weight is
# multiplied by $e^{-m_h d}$ before the weights are normalised. So every head prefers near keys, and the slope sets the size of
# its neighbourhood. With eight heads, the factor at distance 10 is $e^{-10/2} \approx 0.007$ in the first head and
# $e^{-10/256} \approx 0.96$ in the last. As with RoPE, the bias depends on the relative position alone. The symmetric form
# ignores its sign, too, so no bias tells a key ahead from a key behind.
#
# **Longer sequences.** There is no table that could end, and no angle that could return to where it was: a larger distance
# only means a lower score. A key that is farther away than any in training is lowered even more than the farthest ones were,
# so each query still attends mainly to a neighbourhood of a size that occurred in training. In the paper, a model that was
# trained on texts of 1024 tokens predicts texts of 2048 tokens as well as a sinusoidal model that was trained on 2048.
#
# <details><summary>Hint: the idea</summary>
#
# The biases do not depend on the scores, only on $H$ and $N$. Which part of a bias depends on the head, and which on the positions?
# </details>
# <details><summary>Hint: shapes</summary>
#
# The slopes are `[H]`, the distances `[N, N]`, and the biases `[H, N, N]`, which broadcast over the batch axes of `E`. With
# any number of batch axes, `H` is `E.shape[-3]`. To multiply each slope by the whole table of distances, give the slopes two
# more axes of size 1.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute the slopes of the heads 1 to H, in the type of `E`.
# 2. Compute the distance of every position from every other one, without a sign.
# 3. Multiply each slope by all distances, and subtract the products from the scores. (Do not write into `E`.)
# </details>


# %% nbgrader={"grade": false, "grade_id": "add_linear_biases", "locked": false, "schema_version": 3, "solution": true, "task": false}
def add_linear_biases(E: Float[Tensor, "*B H N N"]) -> Float[Tensor, "*B H N N"]:
    """The scores of all heads with their linear biases (ALiBi), in the symmetric form.

    Args:
        E: scores; E[..., h - 1, i, j] is that of the query at position i with the key at position j
            in head h = 1, …, H.

    Returns:
        [*B, H, N, N]: the scores, each lowered by the slope 2^(−8h/H) of its head times the
        distance |i − j|.

    Example:
        One head has the slope 2^(−8) = 0.0039. So E = [[[1, 1], [1, 1]]] gives
        [[[1, 0.9961], [0.9961, 1]]].
    """
    ### BEGIN SOLUTION
    heads, length = E.shape[-3], E.shape[-1]
    # The slopes are computed as numbers of Python and rounded once, to the type of the scores.
    slopes = E.new_tensor([2 ** (-8 * h / heads) for h in range(1, heads + 1)])  # [H]
    places = torch.arange(length, device=E.device)
    distances = (places[:, None] - places).abs()  # [N, N]
    return E - slopes[:, None, None] * distances  # [*B, H, N, N] - [H, 1, 1] * [N, N]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_add_linear_biases", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(add_linear_biases)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_positions", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8 · What did you see?
#
# Answer in three to six sentences, in the cell below:
#
# 1. "Attention does not know the order of its inputs." Say exactly what happens to the outputs of a self-attention layer without
#    positional encoding when its inputs are permuted, and why.
# 2. A colleague wants to use a model on texts that are twice as long as those in training. What should she expect with a learned
#    positional encoding, with the sinusoidal one, and with RoPE?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: equivariance.** Half a point for the statement: the outputs are permuted in the same way and are otherwise unchanged
# (equivariant, not invariant). Half a point for the reason: each query, key and value is made from one vector alone, each score
# from one query and one key, and neither the softmax nor the weighted sum depends on the order of its terms. ("The output stays
# the same" earns nothing.)
#
# **1 point: longer texts.** Half a point for the first two: beyond its end a learned table has no rows, or rows that were never
# trained, so there is an error, or noise; the sinusoidal encoding can be computed for any position, but the trained matrices have
# not met these encodings, and in the lesson the layer failed at most positions beyond the training length. Half a point for RoPE
# with its limit: scores depend on relative positions alone, so distances that occurred in training work as before at any position;
# distances longer than any in training are new all the same, and may look like known ones.
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_positions", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# If the inputs are permuted, the outputs are permuted in the same way and nothing else changes: the layer is equivariant. Each
# query, key and value is made from one vector, each score from one query and one key, and neither the softmax nor the weighted
# sum depends on the order of its terms. On texts of twice the length, a learned table has no rows for the new positions, or rows
# that were never trained, so the model fails at once. The sinusoidal encoding exists for every position, but the matrices behind
# it were trained on others, and in the lesson the layer failed at most of the new positions. With RoPE the scores depend on the
# distance alone, so most of what was learned keeps working; but distances longer than any in training are new, and fast pairs can
# make a long distance look like a short one.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The next cell shows the points of the checks above, as they were when you last ran them. `progress("all")` counts every
# unit that you have begun.

# %%
progress()
