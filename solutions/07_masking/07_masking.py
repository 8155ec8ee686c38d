# %% [markdown]
# # Assignment 07: masking and autoregressive factorisation
#
# You decide which query may attend to which key. You write the two masks that almost every model has, a softmax that
# respects any mask, and multi-head attention with a mask. Then you compute what a causal model is trained for, the
# probability of a sequence, and build a tool that finds leaks: it tells on which inputs each output of a model depends.
#
# **You will be able to**
#
# - write causal masks and padding masks, and a masked softmax that has no NaN, forwards or backwards;
# - mask all heads of a batch, whichever way the mask broadcasts;
# - compute the log-probability of a sequence from the logits of one forward pass;
# - find out from gradients on which inputs an output depends, and recognise a leak.
#
# **You need** [lesson 07](../../notebooks/07_masking.ipynb), and for exercise 4 the heads of assignment 06. The
# [glossary](../../docs/glossary.md) explains each term in one line.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · a causal mask with an offset | 2 | ●○○ | 10 |
# | 2 · a padding mask | 2 | ●○○ | 10 |
# | 3 · a masked softmax, rows without any key included | 4 | ●●○ | 20 |
# | 4 · masked multi-head attention | 4 | ●●○ | 20 |
# | 5 · the log-probability of a sequence | 3 | ●●○ | 15 |
# | 6 · the leak finder | 3 | ●●● | 20 |
# | 7 · several documents in one row | stretch | ●●○ | 15 |
# | 8 · a written answer | 2 | ●●○ | 10 |
#
# **Time** about 105 minutes in all, plus about 15 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` with your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. Exercise 4 may use your function of
# exercise 3; the others need no other exercise's code.
#
# **Masks.** A mask is boolean, and `True` means: **may attend**. This is the polarity of
# `scaled_dot_product_attention`; `nn.MultiheadAttention` has the opposite one. The last axis of a mask runs over the
# keys, the one before it over the queries. An axis of size 1 stands for all of its kind.
#
# **Shapes.** `*B` stands for any number of batch axes in front, or none: count from the end. Results have the type of
# the numbers that came in (double precision if these are).

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
#   `find_dependencies`.)
# - Small numbers count beside large ones: nothing is cut off.
# - Numbers may be 0.
# - Any size may be 1. (Not asked of `causal_mask`.)
# - Sizes may coincide.
# - There may be hundreds of positions, words or features. (Not asked of `find_dependencies`.)
# - Where a shape begins with `*B`, there may be no batch axis, one, or several. (Not asked of `masked_softmax`.)
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight. In `MaskedMultiHeadAttention` they need
#   to flow only from `Y`.
# - Gradients are right also where a softmax is nearly 0 or 1.
# - Zeros are exact in `A` of `masked_softmax`, `A` of `MaskedMultiHeadAttention`: a number that should be 0 there is 0,
#   not merely small.
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

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.figures import plots
from utils.progress import progress

# %% [markdown]
# ## 1 · A causal mask with an offset
#
# Query $m$ stands at position $\mathit{offset} + m$ of a sequence, key $n$ at position $n$. A query may attend to the key
# at its own position and to all keys before it: `mask[m, n]` is `True` where $n \le \mathit{offset} + m$.
#
# With offset 0 and as many queries as keys, this is the usual triangle. The offset is needed when a model goes on
# reading: the keys of the tokens that it has read are there already, and only the few new tokens have queries.
#
# The queries lie among the keys, `offset + N_Q ≤ N_X`.
#
# <details><summary>Hint: the idea</summary>
#
# Compare the position of each query with the position of each key.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The queries' positions as a column, `[N_Q, 1]`, the keys' as a row, `[N_X]`: comparing them gives `[N_Q, N_X]`.
# `torch.tril` with a `diagonal` does it too.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# queries = offset, …, offset + N_Q − 1 as a column · keys = 0, …, N_X − 1 as a row · keys ≤ queries
# </details>


# %% nbgrader={"grade": false, "grade_id": "causal_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def causal_mask(N_Q: int, N_X: int, offset: int) -> Bool[Tensor, "N_Q N_X"]:
    """True where a query may attend: at keys that do not come after it.

    Args:
        N_Q: number of queries; the first stands at position offset.
        N_X: number of keys, at positions 0 to N_X − 1.
        offset: number of keys before the first query.

    Example:
        causal_mask(2, 4, 1) is [[True, True, False, False], [True, True, True, False]].
    """
    ### BEGIN SOLUTION
    # Both kinds of positions in the same count; a comparison is a boolean mask already.
    queries = torch.arange(offset, offset + N_Q)  # [N_Q]
    return torch.arange(N_X) <= queries[:, None]  # [N_X] against [N_Q, 1]: [N_Q, N_X]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_causal_mask", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(causal_mask)

# %% [markdown]
# ## 2 · A padding mask
#
# Sequences of different length share a tensor: sequence $b$ has `lengths[b]` tokens, at positions 0 to `lengths[b]` − 1,
# and padding behind them, up to position $N - 1$. No query should attend to padding: `mask[b, 0, n]` is `True` at tokens
# and `False` at padding. A sequence may have length 0; then its row is `False` throughout.
#
# The axis of size 1 stands for the queries, which may all attend to the same keys. So the mask fits scores
# `[B, N_Q, N]` of any number of queries, and `causal_mask(N, N, 0) & padding_mask(lengths, N)` is `[B, N, N]`: both
# masks at once. `N` may be larger than the longest sequence.
#
# <details><summary>Hint: the idea</summary>
#
# A position holds a token if its number is smaller than the length of the sequence.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Positions `[N]` compared with lengths `[B, 1, 1]` give `[B, 1, N]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# positions = 0, …, N − 1, on the device of lengths · positions < lengths, with two new axes behind the lengths
# </details>


# %% nbgrader={"grade": false, "grade_id": "padding_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def padding_mask(lengths: Int[Tensor, "B"], N: int) -> Bool[Tensor, "B 1 N"]:
    """True at the tokens of each sequence, False at its padding.

    Example:
        padding_mask(torch.tensor([2, 3]), 3) is [[[True, True, False]], [[True, True, True]]].
    """
    ### BEGIN SOLUTION
    positions = torch.arange(N, device=lengths.device)
    return positions < lengths[:, None, None]  # [N] against [B, 1, 1]: [B, 1, N]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_padding_mask", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(padding_mask)

# %% [markdown]
# ## 3 · A masked softmax
#
# Each query shares its weight among the keys to which it may attend:
#
# $$A_{mn} = \frac{e^{E_{mn}}}{\sum_{j \text{ allowed}} e^{E_{mj}}}\ \text{ at allowed keys},\qquad A_{mn} = 0\ \text{ at all others.}$$
#
# The mask has any shape that broadcasts to that of the scores. Two promises make the function safe to build on:
#
# - **Forbidden scores do not matter** (2 points, with the rest of the definition). Whatever finite number stands there,
#   even 1e30, nothing else changes; and allowed scores may be large without an overflow.
# - **Rows without any allowed key are zeros** (2 points). There is no NaN in them, nor in the gradient, which is 0
#   there. (A plain softmax of a row of $-\infty$ alone is 0/0.)
#
# `scaled_dot_product_attention` and `nn.MultiheadAttention` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# A score of $-\infty$ has weight 0, so put $-\infty$ at all forbidden positions before the softmax. In a row of $-\infty$
# alone the softmax needs finite numbers to work on, whichever they are. What comes out for this row is set to 0
# afterwards. (The lesson filled in 0 only after the softmax. Both are right.)
# </details>
# <details><summary>Hint: shapes</summary>
#
# `mask.any(dim=-1, keepdim=True)` says of each row whether it allows a key. `masked_fill` and `torch.where` broadcast
# the mask; indexing with `E[mask]` does not.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# E = E with −∞ where not mask · nothing = rows without any True · E = E with 0 where nothing · A = softmax over the
# last axis · A with 0 where nothing
# </details>


# %% nbgrader={"grade": false, "grade_id": "masked_softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def masked_softmax(E: Float[Tensor, "*B N_Q N_X"], mask: Bool[Tensor, "*M"]) -> Float[Tensor, "*B N_Q N_X"]:
    """The softmax over the allowed keys of each row; zeros in a row that allows none.

    Args:
        E: scores.
        mask: True where a query may attend; broadcasts to the shape of E.

    Example:
        E = [[1, 1, 9], [5, 5, 5]] with mask [[True, True, False], [False, False, False]] gives
        [[½, ½, 0], [0, 0, 0]].
    """
    ### BEGIN SOLUTION
    # A score that is replaced, not lowered, cannot matter, however large it was. Rows of −inf alone are made finite before the
    # softmax, so that no NaN comes up, forwards or backwards; hiding a NaN afterwards may leave one in the gradient.
    nothing = ~mask.any(dim=-1, keepdim=True)  # [*M, 1]: rows that allow no key
    E = E.masked_fill(~mask, -math.inf).masked_fill(nothing, 0.0)
    return E.softmax(dim=-1).masked_fill(nothing, 0.0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_masked_softmax", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(masked_softmax)

# %% [markdown]
# ## 4 · Masked multi-head attention
#
# The layer of assignment 06 as self-attention, with a mask: `W_QKV` gives queries, keys and values side by side, in
# this order; they are split into $H$ heads of $D_H$ features; for each head $A =
# \operatorname{softmax}(QK^\top/\sqrt{D_H})$ over the allowed keys and $AV$; side by side, the heads go through `W_O`.
#
# The mask is `[B, N, N]`, or has two or three axes that broadcast to it: `[N, N]`, one for all sequences, or `[B, 1, N]`, one for
# all queries. **All heads of a sequence share its mask.** (3 points.) A query that may attend to nothing has weights 0,
# and its output is the bias of `W_O`. (1 point.)
#
# Name the layers `W_QKV` and `W_O`; both are `nn.Linear` with bias. `scaled_dot_product_attention` and
# `nn.MultiheadAttention` are not allowed here. Your own functions are.
#
# <details><summary>Hint: the idea</summary>
#
# Only the softmax is new, and you have written it already. The mask lacks the axis of the heads.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Scores are `[B, H, N, N]`. In a mask `[B, N, N]`, `[N, N]` or `[B, 1, N]` the new axis for the heads is the third from
# the end: `mask.unsqueeze(-3)`. What would `mask.unsqueeze(1)`, counted from the front, do to a mask `[N, N]`?
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# Q, K, V = three thirds of W_QKV(X), each split into heads [B, H, N, D_H] · E = Q times K transposed over √D_H · A =
# your masked softmax · A V · merge the heads · W_O
# </details>


# %% nbgrader={"grade": false, "grade_id": "MaskedMultiHeadAttention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MaskedMultiHeadAttention(nn.Module):
    """Multi-head self-attention with a mask that all heads share.

    Args:
        H: number of heads.
        D_H: width of a head; the vectors are H·D_H wide.
    """

    def __init__(self, H: int, D_H: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.H, self.D_H = H, D_H
        self.W_QKV = nn.Linear(H * D_H, 3 * H * D_H)
        self.W_O = nn.Linear(H * D_H, H * D_H)
        ### END SOLUTION

    def forward(
        self, X: Float[Tensor, "B N H*D_H"], mask: Bool[Tensor, "*M"]
    ) -> tuple[Float[Tensor, "B N H*D_H"], Float[Tensor, "B H N N"]]:
        """Returns outputs Y and the weights A of each head. The mask broadcasts to [B, N, N]."""
        ### BEGIN SOLUTION
        heads = self.W_QKV(X).unflatten(-1, (3, self.H, self.D_H))  # [B, N, 3, H, D_H]
        Q, K, V = heads.permute(2, 0, 3, 1, 4)  # [B, H, N, D_H] each
        E = Q @ K.mT / math.sqrt(self.D_H)  # [B, H, N, N]
        # The axis of the heads, counted from the end: right for [N, N], [B, 1, N] and [B, N, N].
        A = masked_softmax(E, mask.unsqueeze(-3))
        return self.W_O((A @ V).transpose(1, 2).flatten(2)), A
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_MaskedMultiHeadAttention", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(MaskedMultiHeadAttention)

# %% [markdown]
# ## 5 · The log-probability of a sequence
#
# $$P(x_1, \dots, x_T \mid x_0) = \prod_{t=1}^{T} P(x_t \mid x_{<t})$$
#
# A causal model gives all factors in one forward pass: the logits at position $t$ depend on the tokens up to $t$, and
# are about token $t + 1$.
#
# `tokens[:, 0]` is the start, which is given and has no factor. `lengths` counts the tokens of each sequence, the start
# among them; what stands behind them is padding, whatever it is, and does not count. For each sequence give $\log P$,
# with the natural logarithm, of all its tokens after the start. The last logits of a sequence are not used. A sequence
# of length 1 is a start and no more: it has no factor, and its $\log P$ is 0.
#
# <details><summary>Hint: the idea</summary>
#
# Logarithms turn the product into a sum. Token $t$ is looked up in the logits one position before it.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `logits[:, :-1]` and `tokens[:, 1:]` belong together: N − 1 positions. `gather` along the last axis picks one number
# for each position: its index needs an axis of size 1 at the end.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# log_p = log_softmax of all logits but the last, over the vocabulary · picked = entries of tokens 1 to N − 1 · set
# those of the padding to 0 · sum over each sequence
# </details>


# %% nbgrader={"grade": false, "grade_id": "sequence_log_probability", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sequence_log_probability(
    logits: Float[Tensor, "B N V"], tokens: Int[Tensor, "B N"], lengths: Int[Tensor, "B"]
) -> Float[Tensor, "B"]:
    """log P of each sequence's tokens, given its start.

    Args:
        logits: at position t about token t + 1.
        tokens: the sequences, from their start on.
        lengths: how many tokens belong to each sequence, the start among them.

    Example:
        With four tokens to choose from and all logits 0, a sequence of length 3 has log P = 2 ·
        log(1/4).
    """
    ### BEGIN SOLUTION
    log_p = logits[:, :-1].log_softmax(dim=-1)  # [B, N − 1, V], position t about token t + 1
    factors = log_p.gather(-1, tokens[:, 1:, None]).squeeze(-1)  # [B, N − 1]
    # Of lengths[b] tokens all but the start have a factor. masked_fill, not a product with 0: −inf · 0 would be NaN.
    counts = torch.arange(1, tokens.shape[1], device=tokens.device) < lengths[:, None]  # [B, N − 1]
    return factors.masked_fill(~counts, 0.0).sum(dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_sequence_log_probability", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(sequence_log_probability)

# %% [markdown]
# ## 6 · The leak finder
#
# On which inputs does each output of a model depend? `model` is any callable that turns `X` `[*B, N, D]` into `Y`
# `[*B, N, D_V]`, one output for each position. Inside there may be attention under a mask, several layers, or anything
# else that mixes positions. The sequences of a batch do not depend on each other. For each of them return
#
# $$\text{depends}_{mn} = \text{True} \quad\text{where}\quad \frac{\partial\, Y_{mj}}{\partial X_{ni}} \ne 0\ \text{ for
# some features } j \text{ and } i, \qquad \text{and False elsewhere.}$$
#
# Rows are outputs, columns are inputs. If a model should be causal, each `True` above the diagonal is a leak.
#
# - **Compare with exactly 0.** What a mask hides has the weight 0, and its derivatives are exactly 0. A small bound, as in
#   the lesson, would overlook a weak dependence: a derivative of 1e-14 counts here.
# - **Nothing may cancel.** A sum of the features of an output may be constant although each feature depends on the
#   input, and derivatives with respect to the features of an input may have the sum 0. You may take each feature $j$
#   by itself. You may also take a sum with weights drawn at random, with one backward pass for each output position.
# - **Take derivatives at `X` itself.** A changed input is another input. For instance, a vector of zeros is padding in
#   the models of the check, and any other vector is not.
# - **`X` belongs to the caller.** It comes back as it was given: its numbers, its `requires_grad` and its `.grad`.
#
# <details><summary>Hint: the idea</summary>
#
# Work on a copy of `X` that asks for gradients, and call the model once. Then ask for one output position after the
# other: what is the gradient of this output with respect to the copy? `torch.autograd.grad` returns it;
# `backward` *adds* it to `.grad`.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `Y[..., m, :]` is `[*B, D_V]`, and weights `r` are `[D_V]`. A gradient starts from a single number, so sum over the
# batch as well: no sequence depends on another. The gradient is `[*B, N, D]`; over its features it becomes a row
# `[*B, N]`. The rows of all outputs are stacked along `dim=-2`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# Y = model of a copy of X that asks for gradients · r = random, as wide as an output · for each m: gradient of the sum
# of Y[..., m, :] times r, with the graph retained · row = any feature of the gradient is not 0 · stack the rows
# </details>


# %% nbgrader={"grade": false, "grade_id": "find_dependencies", "locked": false, "schema_version": 3, "solution": true, "task": false}
def find_dependencies(model: Callable, X: Float[Tensor, "*B N D"]) -> Bool[Tensor, "*B N N"]:
    """True where an output depends on an input: a derivative at X is not exactly 0.

    Args:
        model: turns X [*B, N, D] into Y [*B, N, D_V].
        X: the input at which derivatives are taken.

    Returns:
        for each sequence a matrix with a row for each output position and a column for each input
        position.

    Example:
        The model lambda X: X.cumsum(dim=-2) adds up all vectors to each position. For X of shape
            [3, 2] the result is
        [[True, False, False], [True, True, False], [True, True, True]].
    """
    ### BEGIN SOLUTION
    X = X.detach().clone().requires_grad_()  # a copy of our own, so that the caller's X stays as it was
    Y = model(X)  # [*B, N, D_V]
    # In a plain sum the features' derivatives may cancel; with weights drawn at random they do not. So one backward pass
    # for each output position serves all of its features.
    r = torch.randn(Y.shape[-1], dtype=Y.dtype, device=Y.device)
    rows = []
    for m in range(Y.shape[-2]):
        # The sum over the batch mixes nothing up: the gradient of each sequence comes from its own outputs alone. And
        # autograd.grad returns what it finds, where backward would add it to .grad, of the model's weights too.
        (gradient,) = torch.autograd.grad((Y[..., m, :] @ r).sum(), X, retain_graph=True)  # [*B, N, D]
        rows.append((gradient != 0).any(dim=-1))  # [*B, N]
    return torch.stack(rows, dim=-2)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_find_dependencies", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(find_dependencies)

# %% [markdown]
# Now run your leak finder on models made of your own masked attention: two layers under a causal mask, two layers under
# a mask that is off by one, and the causal layers once more, for targets that are not shifted. The circle in each row
# marks the token that the model has to predict there. Before you run the cell: in which panels will circles stand on a
# 1? And how far to the right will the 1s reach in the middle panel?


# %%
def two_layers(mask, H=2, D_H=4):
    """Two layers of masked attention with weights drawn at random, as a function of X [B, N, H*D_H]
    alone.
    """
    torch.manual_seed(0)
    lower, upper = MaskedMultiHeadAttention(H, D_H), MaskedMultiHeadAttention(H, D_H)
    return lambda X: upper(lower(X, mask)[0], mask)[0]


def draw_dependencies(N=6):
    """Draws what three models depend on; a circle marks the input that each output has to predict."""
    causal, ahead = causal_mask(N, N, 0), causal_mask(N, N + 1, 1)[:, :N]
    tried = {"causal mask": (causal, 1), "mask off by one": (ahead, 1), "causal mask, targets not shifted": (causal, 0)}
    X, names = torch.randn(1, N, 8, generator=torch.Generator().manual_seed(0)), [str(n) for n in range(N)]
    ring = {"markersize": 24, "markerfacecolor": "none", "markeredgecolor": plots.VERMILLION, "markeredgewidth": 2.5}
    figure, panels = plots.canvas(12.5, 3.6, 3)
    told = []
    for axes, (title, (mask, shift)) in zip(panels, tried.items(), strict=True):
        depends = find_dependencies(two_layers(mask), X)[0]  # [N, N]
        plots.heat_map(
            depends, names, names, title=title, row_label="output m", column_label="input n", numbers=".0f", axes=axes
        )
        for m in range(N - shift):
            axes.plot(m + shift, m, "o", **ring)
        told.append(f"{title}: {depends.diagonal(shift).sum()} of {N - shift} circles stand on a 1")
    plots.show(figure, f"Which inputs the outputs of three models depend on, 1 or 0. {'; '.join(told)}.")


# %% tags=["play"]
try:
    draw_dependencies()
except NotImplementedError:
    print("This works as soon as exercises 1, 3, 4 and 6 are finished.")

# %% [markdown]
# ## 7 · Stretch: several documents in one row
#
# This exercise earns no points. Several documents in one row are good for training on texts of very different lengths:
# T5 and GPT-3 had such rows (GPT-3 without hiding the documents from each other), and FlashAttention has functions of
# its own for them.
#
# A batch with one document in each row is mostly padding when most documents are short. **Packing** puts several
# documents one after another into a row. They share the row only to save space: no document may notice the others. This
# needs two things. The mask must hide the other documents as well as the future, and positions must start again at 0 in
# each document, since positional encodings are made from them.
#
# `documents[b, n]` is the number of the document that the token at position $n$ of row $b$ belongs to. The documents of a
# row are numbered 1, 2, … in the order in which they stand, and 0 means padding, which stands at the end. Return
#
# $$\text{mask}_{b0mn} = \text{True where } \text{documents}_{bm} = \text{documents}_{bn} \ne 0 \text{ and } n \le m,$$
#
# $$\text{positions}_{bn} = \text{number of tokens of the same document before } n, \text{ and } 0 \text{ at padding.}$$
#
# For instance, a row `1 1 2 2 0` has the positions `0 1 0 1 0`, and its mask is
#
# | query ↓ · key → | 1 | 1 | 2 | 2 | 0 |
# |---|---|---|---|---|---|
# | 1 | True | False | False | False | False |
# | 1 | True | True | False | False | False |
# | 2 | False | False | True | False | False |
# | 2 | False | False | True | True | False |
# | 0 | False | False | False | False | False |
#
# - **The mask is `[B, 1, N, N]`.** The axis of size 1 stands for the heads, so that the mask fits scores `[B, H, N, N]` as
#   it is. (The layer of exercise 4 adds the axis of the heads itself, so it takes `mask[:, 0]`.)
# - **Padding belongs to no document.** Its rows and its columns are `False` throughout, and its position is 0. (Rows
#   without any key are what exercise 3 made harmless.) A row of the batch may be padding alone.
# - **Positions are whole numbers**, `torch.int64`, as `documents` are.
#
# <details><summary>Hint: the idea</summary>
#
# Compare the document of each query with the document of each key. Two paddings are equal too: look out for them. Once
# you have the mask, the positions can be read from it: how many keys may a token attend to?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `documents[:, :, None]` is `[B, N, 1]`, a column for each row of the batch, and `documents[:, None, :]` is `[B, 1, N]`.
# Comparing them gives `[B, N, N]`. The triangle is `[N, N]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# same = where documents as a column equal documents as a row · allowed = same, in the lower triangle, and no padding ·
# positions = row sums of allowed, less 1, but 0 at padding · mask = allowed with an axis for the heads
# </details>


# %% nbgrader={"grade": false, "grade_id": "packed_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def packed_mask(documents: Int[Tensor, "B N"]) -> tuple[Bool[Tensor, "B 1 N N"], Int[Tensor, "B N"]]:
    """The causal mask and the positions of rows that hold several documents each.

    Args:
        documents: the number of each token's document, 1, 2, … in each row, and 0 at the padding
            behind them.

    Returns:
        the mask, True where a query may attend, and the position of each token in its own document;
        0 at padding.

    Example:
        packed_mask(torch.tensor([[1, 2, 2, 0]])) has positions [[0, 0, 1, 0]], and a mask that is
        True at (query, key) = (0, 0), (1, 1), (2, 1) and (2, 2) alone.
    """
    ### BEGIN SOLUTION
    N = documents.shape[1]
    same = documents[:, :, None] == documents[:, None, :]  # [B, N, 1] against [B, 1, N]: [B, N, N]
    causal = torch.ones(N, N, dtype=torch.bool, device=documents.device).tril()
    # 0 equals 0, so padding would attend to padding; hiding its columns empties its rows as well.
    allowed = same & causal & (documents != 0)[:, None, :]
    # A token may attend to all tokens of its document up to itself, so their number is its position plus 1. A padding may
    # attend to nothing: −1 becomes 0.
    positions = (allowed.sum(dim=-1) - 1).clamp(min=0)
    return allowed[:, None], positions
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_packed_mask", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(packed_mask)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_leak", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8 · A loss that is too good
#
# A friend trains a language model of her own. After a few hundred steps the training loss is almost 0, and so is the
# loss on held-out text. But when the model generates text, token by token, the text is nonsense. Answer in four to six
# sentences, in the cell below:
#
# 1. What is the likely cause? Name one mistake in the code that would have just these effects.
# 2. Which measurement on the model, without training it again, would prove it? If you use `find_dependencies`, say on
#    what, since a token is an integer and has no derivative, and what you would look for in its result.
# 3. Why could neither loss reveal the mistake?
#
# === BEGIN MARK SCHEME ===
#
# **½ point: the cause.** The prediction depends on the very token that is to be predicted: the future leaks. A mistake that
# does it: no causal mask; a mask of the wrong polarity (True for forbidden, given to a function that takes True for allowed,
# or the other way round; where an empty row gives no NaN); a triangle that is off by one towards the future; targets that are
# not shifted (the input itself is to be predicted); a mask that is applied in some layers or heads only.
#
# **1 point: the measurement.** Take the gradient of the logits at position t with respect to the embeddings at positions after
# t, for instance by `find_dependencies` of the model as a function of embeddings: it must be exactly 0 (False above the
# diagonal), and with a leak it is not. Or change a later token, and compare the logits at earlier positions: they must not
# change at all. Or give the model beginnings alone: evaluated token by token, or with the text cut off after a position, the
# loss is far above that of training, or the logits at that position change. (For targets that are not shifted neither
# gradient nor change shows anything above the diagonal, as the mask is right: there one looks at which token the target at
# position t is, and whether the matrix is True at it, or evaluates token by token, which shows it too. An answer that names
# this cause and this check has the full point.) ½ if it is said what is compared (embeddings and logits; the integer tokens have
# no derivative), ½ if it is said what should come out. "Look at the attention maps" earns ½: they show one way only.
#
# **½ point: why no loss could reveal it.** Both losses are computed with the true next tokens in the input, all positions at
# once, so the leak is there in both; copying is a real solution of the task as it was set. When the model generates, the next
# token does not exist yet, and there is nothing to copy. Held-out text protects against learning by heart, not against
# being told the answer.
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_leak", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The model's prediction probably depends on the token that it should predict, for instance because the causal mask is off by
# one, so that each position attends to the next token. To prove it, I would write the model as a function of the embeddings,
# from the first layer to the logits, and run `find_dependencies` on the embeddings of some text: every entry above the diagonal
# must be False, and will not be. (Or change one later token: no logit before it may change.) The loss is computed on whole
# texts, in which the next token stands in the input one position further on; copying it brings the loss to 0, and it does so on
# held-out text too, since the answer stands there as well. When the model generates, the next token is not there yet; the model
# has learned to copy and has nothing to copy from.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.

# %%
progress()
