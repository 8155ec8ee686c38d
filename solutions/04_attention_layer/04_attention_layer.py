# %% [markdown]
# # Assignment 04: the attention layer
#
# You build attention from its smallest piece, the score of one query against one data vector, up to a cross-attention
# layer, and then measure why scores are divided by $\sqrt{D}$. Each step uses what the step before has taught.
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
# | 8 · a written answer | 2 | ●●○ | 10 |
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A check
# tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like, and add
# cells of your own; please leave the check cells themselves as they are. Grading examines the same properties and some
# more, on other numbers and other sizes: a ✓ is a good sign, not yet the mark.
#
# **Shapes.** A star in a shape stands for any number of axes. `*B` are batch axes: none, one or several. `*N_X` is one axis
# (a list) or two (a grid), `*S` is any shape. Write code that need not know how many there are, by counting from the end:
# `X.shape[-1]` is the width, `dim=-1` the last axis, `X.mT` swaps the last two. `A @ B` multiplies the last two axes of both
# and leaves the batch alone; a *vector* needs an axis of size 1 before it can take part: `q[..., None]` is `[*B, D_Q, 1]`.

# %% [markdown] tags=["demands"]
# **What is asked of every exercise.** Grading examines each of these; a check shows some of them. Where an exercise's own
# text says something else, that holds.
#
# - Inputs come back as they were given, and the same inputs give the same result in every call.
# - Results have the floating-point type of the inputs, float32 or float64, and are computed in it.
# - Numbers of float64 may be larger than float32 can hold.
# - Inputs of bfloat16 give results of bfloat16.
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
# - Arguments may be given by position or by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of
#   `gradient_through_softmax`.) In `attention_pooling` they need to flow only from `y`. In
#   `scaled_dot_product_attention`, `AttentionLayer` and `CrossAttentionLayer` they need to flow only from `Y`.
# - Gradients are right also where a softmax is nearly 0 or 1. (Not asked of `stable_softmax`.)

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

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from torch import Tensor, nn

from utils.check import check
from utils.progress import progress

# %% [markdown]
# ## 1 · Scores of a query
#
# A query $q$ is compared with every data vector $X_i$ by a dot product, $e_i = q \cdot X_i$. In a batch each query has data of
# its own: `q[b]` is compared with the vectors in `X[b]` and with no others.
#
# <details><summary>Hint: the idea</summary>
#
# A dot product is a sum of products. Multiply feature by feature, then sum over the features and over nothing else.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `q` is `[*B, D_Q]` and `X` is `[*B, N_X, D_Q]`. Give `q` one more axis of size 1, so that it lines up with each of the
# `N_X` rows.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# `q` with a new axis before the last · times `X` · summed over the last axis
# </details>


# %% nbgrader={"grade": false, "grade_id": "attention_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_scores(q: Float[Tensor, "*B D_Q"], X: Float[Tensor, "*B N_X D_Q"]) -> Float[Tensor, "*B N_X"]:
    """Dot products of a query with each of its data vectors, not scaled.

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
# Softmax turns scores into weights that are never negative and sum to 1:
# $a_i = \exp(e_i) / \sum_j \exp(e_j)$. In single precision $\exp$ overflows from a score of about 88.7 on. Adding one number to all
# scores leaves the weights as they are, so choose that number well. Write softmax from `exp` and sums; torch's own softmax
# and logsumexp are not allowed here.
#
# `dim` says which axis sums to 1. Some scores may be $-\infty$, though never all along `dim` (lesson 07 hides data vectors this
# way); their weight is 0.
#
# <details><summary>Hint: the idea</summary>
#
# After subtracting the largest score, no exponent is above 0, so no exponential is above 1; and one of them is exactly 1,
# so the sum cannot be 0.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Largest score and sum both belong to the axis `dim`. With `keepdim=True` they keep an axis of size 1 there and broadcast
# against `e`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# shifted = e − (largest along dim) · powers = exp(shifted) · powers / (sum of powers along dim)
# </details>


# %% nbgrader={"grade": false, "grade_id": "stable_softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stable_softmax(e: Float[Tensor, "*S"], dim: int = -1) -> Float[Tensor, "*S"]:
    """Softmax along `dim` that neither overflows nor divides 0 by 0, for a tensor of any shape.

    Example:
        e = [1000, 1000] gives [0.5, 0.5].
    """
    ### BEGIN SOLUTION
    # exp(e - m) / sum exp(e - m) equals exp(e) / sum exp(e) for every m; the largest score as m keeps exponents at or
    # below 0. Each slice along dim has its own m: one row may lie far below another.
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
# One query looks at all data vectors and gets one output: their mean, weighted by how well each fits the query,
# $y = \sum_i a_i X_i$ with $a = \mathrm{softmax}(e)$. The data may be a list `[N_X, D_Q]` or a grid of image features
# `[H, W, D_Q]`: attention sees a collection of vectors in both. On a grid the *whole* grid shares one distribution. The scores are
# not scaled yet.
#
# From here on torch's softmax is allowed (`scaled_dot_product_attention` and `nn.MultiheadAttention` are not).
#
# <details><summary>Hint: the idea</summary>
#
# Forget the grid, do attention over a list of vectors, and bring the weights back into the grid's shape at the end.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `X.reshape(-1, D_Q)` is `[N_X, D_Q]` for a list and `[H·W, D_Q]` for a grid. `X.shape[:-1]` is the shape of the weights.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# flat = X as a list · e = flat @ q · a = softmax of e · y = a @ flat · return y, and a in the shape of X without its last axis
# </details>


# %% nbgrader={"grade": false, "grade_id": "attention_pooling", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_pooling(
    q: Float[Tensor, "D_Q"], X: Float[Tensor, "*N_X D_Q"]
) -> tuple[Float[Tensor, "D_Q"], Float[Tensor, "*N_X"]]:
    """The output y of one query over all data vectors, and the weights a in the data's own arrangement.

    Example:
        q = [0, 0] scores every vector alike: y is the mean of all vectors, and every weight is 1 over their number.
    """
    ### BEGIN SOLUTION
    # A grid is a collection of H·W vectors. Flattening keeps each vector whole, because the features are the last axis.
    flat = X.reshape(-1, X.shape[-1])  # [N, D_Q] with N = N_X or H·W
    a = (flat @ q).softmax(dim=-1)  # [N]: one distribution over all places
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
# Now $N_Q$ queries at once, as two matrix products:
# $E = Q X^\top / \sqrt{D_Q}$, $A = \mathrm{softmax}(E)$ along each row, $Y = A X$. Return the outputs **and** the weights, in
# this order.
#
# <details><summary>Hint: the idea</summary>
#
# Row $i$ of $E$ holds the scores of query $i$. Each row becomes a distribution over the data vectors.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[*B, N_Q, D_Q] @ [*B, D_Q, N_X]` is `[*B, N_Q, N_X]`. `X.mT` swaps the last two axes and leaves the batch alone.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# E = Q times X transposed, over the root of the width · A = softmax of E over the last axis · Y = A times X
# </details>


# %% nbgrader={"grade": false, "grade_id": "scaled_dot_product_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scaled_dot_product_attention(
    Q: Float[Tensor, "*B N_Q D_Q"], X: Float[Tensor, "*B N_X D_Q"]
) -> tuple[Float[Tensor, "*B N_Q D_Q"], Float[Tensor, "*B N_Q N_X"]]:
    """Outputs Y and weights A of N_Q queries over N_X data vectors.

    Example:
        Q of shape [2, 5, 8] and X of shape [2, 7, 8] give Y of shape [2, 5, 8] and A of shape [2, 5, 7].
    """
    ### BEGIN SOLUTION
    # The scale is the width of what enters the dot product, D_Q; the softmax runs over the data vectors, the last axis.
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
# In exercise 4 the same vector $X_j$ decides *whether* it is looked at and *what* is seen. A layer learns the two apart:
# keys $K = X W_K$ are compared with the queries, values $V = X W_V$ are mixed into the output. Queries come ready, $D_Q$ wide.
# (Your function from exercise 4 has no place for $V$: write its lines again here.)
#
# Name the two layers `W_K` and `W_V`; both are `nn.Linear` **without bias**. The check sets their weights itself, so your
# mark does not depend on how they are initialised. `nn.Linear(in, out)` stores its weight as `[out, in]`; calling the layer
# takes care of that.
#
# <details><summary>Hint: the idea</summary>
#
# It is exercise 4 with K in the place of X inside the scores, and V in the place of X in the output.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `K` is `[*B, N_X, D_Q]`, so that it fits the queries; `V` is `[*B, N_X, D_V]`, and so `Y` is `[*B, N_Q, D_V]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# __init__: two linear layers, D_X → D_Q and D_X → D_V · forward: K, V from X · E from Q and K · A · Y = A times V
# </details>


# %% nbgrader={"grade": false, "grade_id": "AttentionLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class AttentionLayer(nn.Module):
    """Attention of given queries over data vectors, with a key matrix and a value matrix.

    Args:
        D_X: width of the data vectors.
        D_Q: width of queries and keys.
        D_V: width of values and outputs.
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
        """Returns outputs Y and weights A."""
        ### BEGIN SOLUTION
        # Keys decide where to look, values what is seen. The scale is the key width, whatever the width of X was.
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
# Here the queries are not ready: they are made from a sequence $S$ of their own, $Q = S W_Q + b_Q$ — say, the states of a
# decoder that looks at an encoder's states $X$. The two sequences may differ in length *and* width.
#
# Make three layers in this class itself, `W_Q`, `W_K` and `W_V`; all are `nn.Linear` **with bias**, as `nn.Linear` has it by
# default.
#
# <details><summary>Hint: the idea</summary>
#
# S asks, X answers: queries from S, keys and values from X. The rest is exercise 5.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `W_Q` maps D_S to D_Q, `W_K` maps D_X to D_Q, `W_V` maps D_X to D_V. Only then do queries and keys have a width in common.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# Q from S · K, V from X · A = softmax of Q times K transposed, over the root of D_Q · Y = A times V
# </details>


# %% nbgrader={"grade": false, "grade_id": "CrossAttentionLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class CrossAttentionLayer(nn.Module):
    """Attention whose queries come from one sequence and whose keys and values come from another.

    Args:
        D_S: width of the sequence that asks.
        D_X: width of the data that is looked at.
        D_Q: width of queries and keys.
        D_V: width of values and outputs.
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
        """Returns outputs Y and weights A."""
        ### BEGIN SOLUTION
        # After the projections, queries and keys share the width D_Q; that is the width of the dot product and its scale.
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
# Why $\sqrt{D}$? Measure it. For one query let $e$ be the scores that go into the softmax — divided by $\sqrt{D_Q}$ if `scaled`
# is True, plain dot products if not — and $a = \mathrm{softmax}(e)$. How strongly do the weights react to the scores? All the
# derivatives $J_{ij} = \partial a_i / \partial e_j$ form the Jacobian, and one number sums up its size, the Frobenius norm
# $g = \sqrt{\sum_{ij} J_{ij}^2}$. Return one $g$ for each query. (The lesson's "gradient left" was the sum of the diagonal; here
# every entry counts.)
#
# The derivative has a closed form, $J_{ij} = a_i (\delta_{ij} - a_j)$ with $\delta_{ij} = 1$ if $i = j$ and 0 otherwise. Autograd
# is welcome too.
#
# <details><summary>Hint: the idea</summary>
#
# As a matrix, J = diag(a) − a aᵀ. (Differentiating the *sum* of the weights gives 0: it is always 1.)
# </details>
# <details><summary>Hint: shapes</summary>
#
# `A` is `[N_Q, N_X]`; `torch.diag_embed(A)` is `[N_Q, N_X, N_X]`, and so is `A[:, :, None] * A[:, None, :]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# E = Q times X transposed, over the root of D_Q if scaled · A = softmax · J = diag − outer product · root of the summed squares
# </details>


# %% nbgrader={"grade": false, "grade_id": "gradient_through_softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gradient_through_softmax(
    Q: Float[Tensor, "N_Q D_Q"], X: Float[Tensor, "N_X D_Q"], scaled: bool
) -> Float[Tensor, "N_Q"]:
    """The Frobenius norm of the softmax's Jacobian at each query's scores.

    Example:
        Two data vectors with equal scores: a = [1/2, 1/2], every entry of J is ±1/4, and g = 1/2.
    """
    ### BEGIN SOLUTION
    E = Q @ X.mT  # [N_Q, N_X]
    if scaled:
        E = E / math.sqrt(Q.shape[-1])
    A = E.softmax(dim=-1)
    # Raising score j takes weight from all others in proportion to what they have: off the diagonal, -a_i a_j.
    J = torch.diag_embed(A) - A[:, :, None] * A[:, None, :]  # [N_Q, N_X, N_X]
    return J.square().sum(dim=(-2, -1)).sqrt()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_gradient_through_softmax", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(gradient_through_softmax)

# %% [markdown]
# Now run the experiment: queries and data vectors of independent numbers with variance 1, wider and wider.


# %%
def plot_gradients(widths=(1, 4, 16, 64, 256, 1024), queries=200, data_vectors=16):
    """Plots the median gradient through the softmax against the width D, with and without the scale."""
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


plot_gradients()

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_scaling", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8 · What did you measure?
#
# Answer in three to six sentences, in the cell below:
#
# 1. What happens to the gradient as $D$ grows, with and without the scale, and what does that mean for learning?
# 2. Why $\sqrt{D}$? Say where the root comes from, and what would happen to the weights if scores were divided by $D$ instead.
#
# === BEGIN MARK SCHEME ===
#
# **1 point: what was measured.** Without the scale the gradient falls towards 0 as D grows, because the softmax saturates:
# nearly all weight lies on one data vector, and a change of the scores changes hardly anything, so queries and keys get
# almost no signal to learn from. With the scale it stays about the same at every D. (The small rise at the left end is
# real; naming it costs nothing.)
# (½ for the curve alone, without a word on saturation or learning.)
#
# **1 point: why the root.** q·x is a sum of D independent terms of variance 1; variances add up, so the variance is D and the
# standard deviation √D. Dividing by √D brings the spread back to 1, whatever D is. Dividing by D would leave a spread of 1/√D:
# scores nearly equal, weights nearly uniform, and attention could hardly choose.
# (½ for the variance, ½ for what dividing by D does.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_scaling", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# Without the scale the gradient shrinks towards zero as D grows; with it, it stays about where it was at D = 1. The scores
# of wide vectors spread so far that the softmax puts nearly all weight on one of them, and from there a small change of the
# scores changes nothing: queries and keys can hardly learn. The dot product is a sum of D independent terms with variance
# 1, so its variance is D and its spread √D; dividing by √D makes the spread 1 at every width. Dividing by D would go too
# far: the spread would be 1/√D, all scores nearly equal and all weights nearly 1/N_X, whatever the query asks.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.

# %%
progress()
