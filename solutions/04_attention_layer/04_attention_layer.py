# %% [markdown]
# # Assignment 04: the attention layer
#
# You build attention from its smallest piece, the scores of one query, up to a cross-attention layer. Each exercise uses what
# the one before has taught. In the last one you measure why scores are divided by $\sqrt{D_Q}$. A stretch goes one step further,
# to the gradients of attention.
#
# **You will be able to**
#
# - write scaled dot-product attention for any number of batch axes, without loops;
# - write a softmax that does not overflow, and put it on the right axis;
# - write attention layers with keys and values, for data of one sequence and for queries from another;
# - measure how the scale keeps the softmax from saturating, and explain where the square root comes from.
#
# **You need** [lesson 04](../../notebooks/04_attention_layer.ipynb). No exercise calls the code of another one, so you can do
# them in any order. The [glossary](../../docs/glossary.md) explains each term in one line.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · scores of a query | 2 | ●○○ | 10 |
# | 2 · a softmax that does not overflow | 3 | ●●○ | 15 |
# | 3 · attention pooling, also over a grid | 3 | ●●○ | 15 |
# | 4 · many queries, scaled and batched | 3 | ●●○ | 15 |
# | 5 · a layer with keys and values | 3 | ●●○ | 20 |
# | 6 · cross-attention | 2 | ●●○ | 10 |
# | 7 · the gradient through a softmax | 2 | ●●● | 20 |
# | 8 · stretch: the way back through attention | stretch | ●●○ | 20 |
# | 9 · a written answer | 2 | ●●○ | 10 |
#
# **Time** about 160 minutes in all, plus about 20 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` with your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are.
#
# **Shapes.** A star in a shape stands for any number of axes. `*B` are batch axes: none, one or several. `*N_X` is one axis
# (a list) or two (a grid), and `*S` is any shape. Write code that need not know how many axes there are, by counting from the
# end: `X.shape[-1]` is the width, `dim=-1` is the last axis, and `X.mT` swaps the last two. `A @ B` multiplies the last two
# axes of both and leaves the batch axes alone. A *vector* needs an axis of size 1 before it can take part in such a product:
# `q[..., None]` is `[*B, D_Q, 1]`.

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
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours. (Not asked of
#   `stable_softmax`.)
# - Small numbers count beside large ones: nothing is cut off.
# - Numbers may be 0.
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features. (Not asked of `gradient_through_softmax`.)
# - Where a shape begins with `*B`, there may be no batch axis, one, or several.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of
#   `gradient_through_softmax` and `attention_backward`.) In `attention_pooling` they need to flow only from `y`. In
#   `scaled_dot_product_attention`, `AttentionLayer` and `CrossAttentionLayer` they need to flow only from `Y`.
# - Gradients are right also where a softmax is nearly 0 or 1. (Not asked of `stable_softmax`.)
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
from jaxtyping import Float
from torch import Tensor, nn

from utils.check import check
from utils.progress import progress

# %% [markdown]
# ## 1 · Scores of a query
#
# A query $q$ is compared with every data vector $X_i$ by a dot product, $e_i = q \cdot X_i$. In a batch, each query has its own
# data: `q[b]` is compared with the vectors in `X[b]` and with no others. The scores are not scaled yet.
#
# <details><summary>Hint: the idea</summary>
#
# A dot product multiplies two vectors feature by feature and sums the products. Here one vector, the query, is compared with
# `N_X` vectors at once.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `q` is `[*B, D_Q]` and `X` is `[*B, N_X, D_Q]`. With one more axis of size 1, the query lines up with each of the `N_X` rows,
# or can be multiplied by `X` as a matrix. The result has one number for each row, `[*B, N_X]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Give the query a new axis of size 1. Which position it needs depends on the product that you choose.
# 2. Compute the products.
# 3. Check the shape: the axis of the features must be gone, and no axis of size 1 may be left over.
# </details>


# %% nbgrader={"grade": false, "grade_id": "attention_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_scores(q: Float[Tensor, "*B D_Q"], X: Float[Tensor, "*B N_X D_Q"]) -> Float[Tensor, "*B N_X"]:
    """The dot products of a query with each of its data vectors, not scaled.

    Args:
        q: one query for each batch element.
        X: the data vectors of each batch element, one a row.

    Returns:
        e [*B, N_X]: the score of each data vector.

    Example:
        q = [1, 2] and X = [[1, 0], [0, 1], [3, -1]] give e = [1, 2, 1].
    """
    ### BEGIN SOLUTION
    # The new axis lines q up with every row of X; the sum runs over the features, so one number is left for each row.
    return (q.unsqueeze(-2) * X).sum(dim=-1)  # [*B, 1, D_Q] * [*B, N_X, D_Q] -> [*B, N_X]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_attention_scores", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(attention_scores)

# %% [markdown]
# ## 2 · A softmax that does not overflow
#
# The softmax turns scores into weights that are positive and sum to 1: $a_i = \exp(e_i) / \sum_j \exp(e_j)$. In single
# precision, however, $\exp$ overflows from a score of about 88.7 on. Adding the same number to all scores does not change the
# weights, so choose this number well. Write the softmax with `exp` and sums; torch's own softmax and logsumexp are not allowed
# here.
#
# The axis along which the weights sum to 1 is `dim`. Some scores may be $-\infty$, though never all of them along `dim` (lesson
# 07 hides data vectors in this way); their weight is 0. (2 points for the definition, 1 for large scores.)
#
# <details><summary>Hint: the idea</summary>
#
# If no exponent is above 0, no exponential is above 1. If, besides, one exponent is exactly 0, the sum cannot be 0. The section
# "From scores to attention weights" shows how to achieve both.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The number that is added belongs to one slice along `dim`, and so does the sum. With `keepdim=True` both keep an axis of size
# 1 there, and broadcast against `e`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. For each slice along `dim`, find the number to be subtracted from its scores.
# 2. Shift the scores, then apply the exponential.
# 3. Normalise each slice by itself.
# </details>


# %% nbgrader={"grade": false, "grade_id": "stable_softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stable_softmax(e: Float[Tensor, "*S"], dim: int = -1) -> Float[Tensor, "*S"]:
    """The softmax along `dim`, which neither overflows nor divides 0 by 0.

    Args:
        e: scores of any shape; they may be large, and some may be -inf.
        dim: the axis along which the weights sum to 1.

    Returns:
        a [*S]: the weights, in the shape of e.

    Example:
        e = [0, log 3] gives [0.25, 0.75], and e = [1000, 1000, -inf] gives [0.5, 0.5, 0].
    """
    ### BEGIN SOLUTION
    # exp(e - m) / sum exp(e - m) equals exp(e) / sum exp(e) for every m. With the largest score as m, no exponent is above
    # 0. Each slice along dim has its own m, since the scores of one row may lie far below those of another.
    powers = (e - e.amax(dim=dim, keepdim=True)).exp()
    return powers / powers.sum(dim=dim, keepdim=True)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_stable_softmax", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(stable_softmax)

# %% [markdown]
# ## 3 · Attention pooling, also over a grid
#
# One query attends to all data vectors and receives one output: their mean, weighted by how well each data vector fits the
# query, $y = \sum_i a_i X_i$ with $a = \mathrm{softmax}(e)$. The data may be a list `[N_X, D_Q]` or a grid of image features
# `[H, W, D_Q]`: for attention both are collections of vectors. On a grid there is *one* distribution over all $H \cdot W$
# positions. The scores are not scaled yet. (2 points for a list, 1 for a grid.)
#
# From here on torch's softmax is allowed (`scaled_dot_product_attention` and `nn.MultiheadAttention` are not).
#
# <details><summary>Hint: the idea</summary>
#
# The order of the data vectors does not matter. So the grid can become a list for the computation, and only the weights must
# return to the shape of the grid.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `X.reshape(-1, D_Q)` is `[N_X, D_Q]` for a list and `[H·W, D_Q]` for a grid. `X.shape[:-1]` is the shape of the weights.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Arrange the data vectors as a list, whatever their arrangement was.
# 2. Compute one score for each of them, and one distribution over all of them.
# 3. Compute the weighted sum, which is one vector.
# 4. Return it together with the weights, which need the arrangement of the data again.
# </details>


# %% nbgrader={"grade": false, "grade_id": "attention_pooling", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_pooling(
    q: Float[Tensor, "D_Q"], X: Float[Tensor, "*N_X D_Q"]
) -> tuple[Float[Tensor, "D_Q"], Float[Tensor, "*N_X"]]:
    """The output of one query over all data vectors, and its attention weights.

    Args:
        q: the query.
        X: the data vectors, as a list [N_X, D_Q] or as a grid [H, W, D_Q].

    Returns:
        y [D_Q]: the weighted sum of the data vectors.
        a [*N_X]: the weights, in the arrangement of the data: [N_X] or [H, W].

    Example:
        With q = [0, 0] all scores are 0, so X = [[2, 0], [0, 4]] gives y = [1, 2] and a =
        [0.5, 0.5].
    """
    ### BEGIN SOLUTION
    # A grid is a collection of H·W vectors. Flattening keeps each vector whole, because the features are the last axis.
    flat = X.reshape(-1, X.shape[-1])  # [N, D_Q] with N = N_X or H·W
    a = (flat @ q).softmax(dim=-1)  # [N]: one distribution over all positions
    return a @ flat, a.reshape(X.shape[:-1])
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_attention_pooling", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(attention_pooling)

# %% [markdown]
# ## 4 · Many queries, scaled and batched
#
# Now there are $N_Q$ queries at once, and two matrix products answer all of them:
# $E = Q X^\top / \sqrt{D_Q}$, $A = \mathrm{softmax}(E)$ along each row, $Y = A X$. Return the outputs **and** the weights, in
# this order. (2 points for one sequence, 1 for a batch.)
#
# <details><summary>Hint: the idea</summary>
#
# Row $i$ of $E$ holds the scores of query $i$. Each row becomes a distribution over the data vectors, and each output is the
# weighted sum that belongs to its row.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[*B, N_Q, D_Q] @ [*B, D_Q, N_X]` is `[*B, N_Q, N_X]`. `X.mT` swaps the last two axes and leaves the batch axes alone.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute the scores of all pairs of a query and a data vector, and scale them by the width of the dot product.
# 2. Turn the scores of each query into weights. Which axis belongs to the data vectors?
# 3. Mix the data vectors with these weights, for all queries at once.
# </details>


# %% nbgrader={"grade": false, "grade_id": "scaled_dot_product_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scaled_dot_product_attention(
    Q: Float[Tensor, "*B N_Q D_Q"], X: Float[Tensor, "*B N_X D_Q"]
) -> tuple[Float[Tensor, "*B N_Q D_Q"], Float[Tensor, "*B N_Q N_X"]]:
    """The outputs of N_Q queries over N_X data vectors, and their attention weights.

    Returns:
        Y [*B, N_Q, D_Q]: the output of each query.
        A [*B, N_Q, N_X]: the weights; each row belongs to one query and sums to 1.

    Example:
        For Q = [[2, 0, 0, 0]] and X = [[log 3, 0, 0, 1], [0, 0, 0, 5]] the scores are [[log 3, 0]],
        since D_Q = 4. So A = [[0.75, 0.25]] and Y = [[0.824, 0, 0, 2]].
    """
    ### BEGIN SOLUTION
    # The scale comes from the width of the vectors in the dot product, D_Q; the softmax runs over the data vectors, the
    # last axis.
    E = Q @ X.mT / math.sqrt(Q.shape[-1])  # [*B, N_Q, N_X]
    A = E.softmax(dim=-1)  # each query: a distribution over the data vectors
    return A @ X, A
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_scaled_dot_product_attention", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(scaled_dot_product_attention)

# %% [markdown]
# ## 5 · A layer with keys and values
#
# In exercise 4 the same vector $X_j$ decides *how much* a query attends to it and *what* the query receives. An attention layer
# learns the two separately: keys $K = X W_K$ are compared with the queries, and values $V = X W_V$ are mixed into the outputs.
# The queries are given and already $D_Q$ wide. (Your function from exercise 4 takes no $V$, so write its steps again here.)
#
# Name the two layers `W_K` and `W_V`; both are `nn.Linear` **without bias**. The check sets their weights itself, so your
# mark does not depend on how they are initialised. `nn.Linear(in, out)` stores its weight as `[out, in]`; if you call the
# layer, you need not care.
#
# <details><summary>Hint: the idea</summary>
#
# The steps are those of exercise 4. In the scores the keys take the role of the data vectors, in the weighted sum the values
# do.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `K` is `[*B, N_X, D_Q]`, so that it fits the queries; `V` is `[*B, N_X, D_V]`, and so `Y` is `[*B, N_Q, D_V]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# In `__init__`, make a layer for the keys and one for the values; both start from vectors of width `D_X`. In `forward`:
#
# 1. Project the data twice.
# 2. Compute scaled scores, then weights. Which width belongs under the root?
# 3. Mix what the queries are to receive.
# </details>


# %% nbgrader={"grade": false, "grade_id": "AttentionLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class AttentionLayer(nn.Module):
    """Attention of given queries over data vectors, with learned keys and values.

    Args:
        D_X: width of the data vectors.
        D_Q: width of the queries and keys.
        D_V: width of the values and outputs.
    """

    def __init__(self, D_X: int, D_Q: int, D_V: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)
        ### END SOLUTION

    def forward(
        self, Q: Float[Tensor, "*B N_Q D_Q"], X: Float[Tensor, "*B N_X D_X"]
    ) -> tuple[Float[Tensor, "*B N_Q D_V"], Float[Tensor, "*B N_Q N_X"]]:
        """The outputs of the queries, and their attention weights.

        Returns:
            Y [*B, N_Q, D_V]: the output of each query, a mixture of values.
            A [*B, N_Q, N_X]: the weights; each row sums to 1.

        Example:
            If W_K.weight = [[1]] and W_V.weight = [[10]], then Q = [[0]] and X = [[1], [3]] give A
            = [[0.5, 0.5]] and Y = [[20]], the mean of the values 10 and 30.
        """
        ### BEGIN SOLUTION
        # The keys decide where the weight goes, the values what the outputs are made of. The scale comes from the width
        # of the keys, whatever the width of X was.
        K = self.W_K(X)  # [*B, N_X, D_Q]
        V = self.W_V(X)  # [*B, N_X, D_V]
        A = (Q @ K.mT / math.sqrt(K.shape[-1])).softmax(dim=-1)  # [*B, N_Q, N_X]
        return A @ V, A
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_AttentionLayer", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(AttentionLayer)

# %% [markdown]
# ## 6 · Cross-attention
#
# Here the queries are not given. They are made from a sequence $S$ of their own, $Q = S W_Q + b_Q$; keys and values are made
# from another sequence $X$ in the same way. In a translator, for example, $S$ holds the states of the decoder and $X$ those of
# the encoder. The two sequences may differ in length *and* in width.
#
# Make three layers in this class itself, `W_Q`, `W_K` and `W_V`; all are `nn.Linear` **with bias**, as `nn.Linear` has it by
# default.
#
# <details><summary>Hint: the idea</summary>
#
# The sequence that asks provides the queries; the sequence that is attended to provides the keys and values. The rest is
# exercise 5.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `W_Q` maps vectors of width `D_S` to width `D_Q`, `W_K` maps `D_X` to `D_Q`, and `W_V` maps `D_X` to `D_V`. Only after the
# projections do queries and keys have the same width.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# In `__init__`, make the three layers. In `forward`:
#
# 1. Make queries, keys and values, each from its own sequence.
# 2. Compute the weights from the two that have a width in common.
# 3. Mix the third, and return outputs and weights.
# </details>


# %% nbgrader={"grade": false, "grade_id": "CrossAttentionLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class CrossAttentionLayer(nn.Module):
    """Attention whose queries come from one sequence and whose keys and values come from another.

    Args:
        D_S: width of the vectors that the queries are made from.
        D_X: width of the data vectors, which are attended to.
        D_Q: width of the queries and keys.
        D_V: width of the values and outputs.
    """

    def __init__(self, D_S: int, D_X: int, D_Q: int, D_V: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.W_Q = nn.Linear(D_S, D_Q)
        self.W_K = nn.Linear(D_X, D_Q)
        self.W_V = nn.Linear(D_X, D_V)
        ### END SOLUTION

    def forward(
        self, S: Float[Tensor, "*B N_Q D_S"], X: Float[Tensor, "*B N_X D_X"]
    ) -> tuple[Float[Tensor, "*B N_Q D_V"], Float[Tensor, "*B N_Q N_X"]]:
        """The outputs for the sequence S, and the weights with which it attends to X.

        Args:
            S: the sequence that asks.
            X: the sequence that is attended to.

        Returns:
            Y [*B, N_Q, D_V]: one output for each vector of S.
            A [*B, N_Q, N_X]: the weights; each row sums to 1.

        Example:
            With D_V = 3, S of shape [2, 5, 7] and X of shape [2, 9, 6] give Y of shape [2, 5, 3]
            and A of shape [2, 5, 9]. If the weight and the bias of W_Q are 0, all scores are 0 and
            every entry of A is 1/9.
        """
        ### BEGIN SOLUTION
        # After the projections, queries and keys share the width D_Q, which is the width of the dot product and its scale.
        Q, K, V = self.W_Q(S), self.W_K(X), self.W_V(X)  # [*B, N_Q, D_Q], [*B, N_X, D_Q], [*B, N_X, D_V]
        A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)  # [*B, N_Q, N_X]
        return A @ V, A
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_CrossAttentionLayer", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(CrossAttentionLayer)

# %% [markdown]
# ## 7 · The gradient through a softmax
#
# Why is the divisor $\sqrt{D_Q}$? In this exercise you write the measurement. For one query let $e$ be the scores that go into
# the softmax, which are divided by $\sqrt{D_Q}$ if `scaled` is True and plain dot products if not, and let
# $a = \mathrm{softmax}(e)$. How strongly do the weights react to a change of the scores? All the derivatives
# $J_{ij} = \partial a_i / \partial e_j$ form the Jacobian, and one number measures its size, the Frobenius norm
# $g = \sqrt{\sum_{ij} J_{ij}^2}$. Return one $g$ for each query. (The lesson's "remaining gradient" was the sum of the diagonal; here
# every entry counts.)
#
# The derivative has a closed form, $J_{ij} = a_i (\delta_{ij} - a_j)$ with $\delta_{ij} = 1$ if $i = j$ and 0 otherwise. You may
# use it, or autograd.
#
# <details><summary>Hint: the idea</summary>
#
# $J$ has two terms: a matrix that is zero off the diagonal, and an outer product of $a$ with itself. (Do not differentiate the
# *sum* of the weights: it is always 1, so its derivative is 0.)
# </details>
# <details><summary>Hint: shapes</summary>
#
# `A` is `[N_Q, N_X]`, and each query has its own Jacobian: all of them together are `[N_Q, N_X, N_X]`. `torch.diag_embed` and
# broadcasting with new axes (`A[:, :, None]`) give tensors of this shape. The result is `[N_Q]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute the scores of all queries, and scale them only if that is asked for.
# 2. Compute the weights.
# 3. Build the two terms of the Jacobian for each query, and combine them.
# 4. Reduce each Jacobian to its Frobenius norm.
# </details>


# %% nbgrader={"grade": false, "grade_id": "gradient_through_softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gradient_through_softmax(
    Q: Float[Tensor, "N_Q D_Q"], X: Float[Tensor, "N_X D_Q"], scaled: bool
) -> Float[Tensor, "N_Q"]:
    """The size of the softmax's Jacobian at the scores of each query.

    Args:
        Q: the queries.
        X: the data vectors, which all queries share.
        scaled: whether the scores are divided by the square root of D_Q.

    Returns:
        g [N_Q]: for each query the Frobenius norm of its Jacobian.

    Example:
        For Q = [[0]] and X = [[1], [2]] both scores are 0: a = [1/2, 1/2], every entry of J is 1/4
        or -1/4, and g = [1/2].
    """
    ### BEGIN SOLUTION
    E = Q @ X.mT  # [N_Q, N_X]
    if scaled:
        E = E / math.sqrt(Q.shape[-1])
    A = E.softmax(dim=-1)
    # If score j rises, every other weight falls in proportion to its size: off the diagonal, J holds -a_i a_j.
    J = torch.diag_embed(A) - A[:, :, None] * A[:, None, :]  # [N_Q, N_X, N_X]
    return J.square().sum(dim=(-2, -1)).sqrt()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_gradient_through_softmax", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(gradient_through_softmax)

# %% [markdown]
# Now run the experiment. The queries and data vectors consist of independent numbers with variance 1, at widths from 1 to 1024.
# The plot shows the median of $g$ over the queries.


# %%
def plot_gradients(widths=(1, 4, 16, 64, 256, 1024), queries=200, data_vectors=16):
    """Plots the median gradient through the softmax over the width D, with and without the scale."""
    generator = torch.Generator().manual_seed(0)
    medians = {True: [], False: []}
    for width in widths:
        Q = torch.randn(queries, width, generator=generator)
        X = torch.randn(data_vectors, width, generator=generator)
        for scaled in medians:
            medians[scaled].append(gradient_through_softmax(Q, X, scaled).median().item())
    figure, axes = plt.subplots(figsize=(6, 3.5))
    axes.loglog(widths, medians[True], "o-", color="#0072B2", label="divided by √D")
    axes.loglog(widths, medians[False], "s--", color="#D55E00", label="not divided")
    axes.set(xlabel="width D of queries and data vectors", ylabel="median gradient g through the softmax")
    axes.legend()
    plt.show()


# %% tags=["play"]
try:
    plot_gradients()
except NotImplementedError:
    print("This works as soon as exercise 7 is finished.")

# %% [markdown]
# ## 8 · Stretch: the way back through attention
#
# This exercise earns no points. You compute the gradients of attention without autograd, as libraries of fast attention such as
# FlashAttention (Dao et al., 2022) do in code of their own.
#
# Training needs the gradients of a loss $\ell$ with respect to $Q$, $K$ and $V$. For a matrix $M$ let $dM$ be the gradient
# $\partial \ell / \partial M$: it has the shape of $M$, and its entry $(i, j)$ is $\partial \ell / \partial M_{ij}$. You are given
# $dY$, which comes from the later layers. Backpropagation goes through $E = QK^\top/\sqrt{D_Q}$, $A = \mathrm{softmax}(E)$,
# $Y = AV$ in the opposite order. Two rules are enough:
#
# - **A product.** If $C = M N$, then $dM = dC\, N^\top$ and $dN = M^\top dC$. (The shapes tell which factor is transposed. In a
#   batch, $\top$ swaps the last two axes.)
# - **A softmax.** Let $e$ and $a$ be one row of $E$ and of $A$, and $de$ and $da$ the same row of $dE$ and of $dA$. With the
#   Jacobian $J_{ij} = a_i (\delta_{ij} - a_j)$ of exercise 7, the chain rule gives
#   $de_j = \sum_i da_i\, J_{ij} = a_j \bigl(da_j - \sum_i a_i\, da_i\bigr)$. So no Jacobian has to be built.
#
# Together, with $\odot$ for the product entry by entry:
#
# $$dV = A^\top dY, \qquad dA = dY\, V^\top, \qquad dE = A \odot \bigl(dA - \mathrm{rowsum}(dA \odot A)\bigr), \qquad
# dQ = \frac{dE\, K}{\sqrt{D_Q}}, \qquad dK = \frac{dE^\top Q}{\sqrt{D_Q}}$$
#
# Here $\mathrm{rowsum}$ is the sum along each row. Since the weights of a row sum to 1, $\mathrm{rowsum}(dA \odot A)$ is a weighted
# mean of the row of $dA$: a score has a positive gradient where $dA$ lies above this mean and a negative one where it lies below,
# and each row of $dE$ sums to 0.
#
# Do not use autograd: the check refuses `requires_grad`, `backward` and `torch.autograd.grad`. $A$ is not given. Compute it from
# $Q$ and $K$ once more, as FlashAttention does on the way back instead of storing it.
#
# <details><summary>Hint: the idea</summary>
#
# Go forward once, as far as the weights. Then write the five formulas, from the one that needs $dY$ alone to those that need
# $dE$.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `A`, `dA` and `dE` are all `[*B, N_Q, N_X]`. The sum along the rows has to stay an axis of size 1, `[*B, N_Q, 1]`. The results
# have the shapes of `Q`, `K` and `V`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute the weights, as in exercise 4.
# 2. From $dY$, compute what reaches the values, and what reaches the weights.
# 3. Take the latter back through the softmax.
# 4. Take the result back through the scaled product, to the queries and to the keys.
# </details>


# %% nbgrader={"grade": false, "grade_id": "attention_backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_backward(
    Q: Float[Tensor, "*B N_Q D_Q"],
    K: Float[Tensor, "*B N_X D_Q"],
    V: Float[Tensor, "*B N_X D_V"],
    dY: Float[Tensor, "*B N_Q D_V"],
) -> tuple[Float[Tensor, "*B N_Q D_Q"], Float[Tensor, "*B N_X D_Q"], Float[Tensor, "*B N_X D_V"]]:
    """The gradients of a loss with respect to queries, keys and values of scaled dot-product
    attention.

    Args:
        Q: the queries.
        K: the keys.
        V: the values.
        dY: the gradient of the loss with respect to the outputs Y.

    Returns:
        dQ [*B, N_Q, D_Q], dK [*B, N_X, D_Q], dV [*B, N_X, D_V]: the gradients with respect to Q, K
            and V.

    Example:
        For Q = [[0]], K = [[1], [2]], V = [[1], [3]] and dY = [[2]] the weights are A =
        [[1/2, 1/2]]. So dA = [[2, 6]], whose weighted sum is 4, and dE = [[-1, 1]]. This gives dQ =
        [[1]], dK = [[0], [0]] and dV = [[1], [1]].
    """
    ### BEGIN SOLUTION
    root = math.sqrt(Q.shape[-1])
    A = (Q @ K.mT / root).softmax(dim=-1)  # [*B, N_Q, N_X]
    dV = A.mT @ dY  # [*B, N_X, N_Q] @ [*B, N_Q, D_V] -> [*B, N_X, D_V]
    dA = dY @ V.mT  # [*B, N_Q, D_V] @ [*B, D_V, N_X] -> [*B, N_Q, N_X]
    # The weights of a row sum to 1 whatever the scores are, so what all weights would gain together is taken off.
    dE = A * (dA - (dA * A).sum(dim=-1, keepdim=True))
    return dE @ K / root, dE.mT @ Q / root, dV
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_attention_backward", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(attention_backward)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_scaling", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9 · What did you measure?
#
# Answer in three to six sentences, in the cell below:
#
# 1. What happens to the gradient as $D$ grows, with and without the scale, and what does that mean for learning?
# 2. Why is the divisor $\sqrt{D}$? Say where the square root comes from, and what would happen to the weights if the scores were
#    divided by $D$ instead.
#
# === BEGIN MARK SCHEME ===
#
# **1 point: what was measured.** Half a point for the curves: without the scale the gradient falls towards 0 as D grows; with
# the scale it stays about the same at every D. Half a point for the meaning: wide vectors have large scores, which saturate the
# softmax; nearly all weight then lies on one data vector, a change of the scores changes hardly anything, and queries and keys
# get almost no gradient to learn from. (The small rise at the left end of the scaled curve is real, but need not be mentioned.)
#
# **1 point: why the square root.** Half a point for the variance: q·x is a sum of D independent terms of variance 1; variances
# add up, so the variance of the score is D and its standard deviation √D, and dividing by √D makes the standard deviation 1 at
# every width. Half a point for the division by D: it would leave a standard deviation of 1/√D, so the scores would be nearly
# equal, the weights nearly uniform, and every output nearly the plain average of the data vectors.
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_scaling", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# Without the scale the gradient falls towards zero as D grows; with the scale it stays about where it was at D = 1. The scores
# of wide vectors are so large that the softmax puts nearly all weight on one data vector. From there a small change of the
# scores changes almost nothing, so queries and keys can hardly learn. The dot product is a sum of D independent terms with
# variance 1, so its variance is D and its standard deviation √D; dividing by √D makes the standard deviation 1 at every width.
# Dividing by D would go too far: the standard deviation would be 1/√D, all scores would be nearly equal, and all weights would
# be nearly 1/N_X, whatever the query is.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The next cell shows the points of the checks above, as they were when you last ran them. `progress("all")` counts every
# unit that you have begun.

# %%
progress()
