# %% [markdown]
# # Assignment 02: attention in a translator
#
# You build the attention of Bahdanau et al. (2015) for whole batches: three score functions, attention weights that leave
# padding out, context vectors, one decoder step that attends to the encoder states, the whole decoder, and a measure of how
# well the weights align two sentences. At the end you train your decoder on a small corpus and see where it attends. A stretch
# lets a decoder attend within a window.
#
# **You will be able to**
#
# - compute dot-product, bilinear and additive scores of all decoder states with all encoder states at once;
# - turn scores into attention weights that leave padding out, and weights into context vectors;
# - write a decoder that attends to the encoder states at every step, and run it with teacher forcing;
# - measure with the alignment error rate whether a decoder attends to the tokens that it translates.
#
# **You need** [lesson 02](../../notebooks/02_bahdanau_attention.ipynb) and, for exercise 7, the loop of teacher forcing from
# [lesson 01](../../notebooks/01_rnn_seq2seq.ipynb). The exercises do not use each other's code. The
# [glossary](../../docs/glossary.md) explains each term in one line.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · dot-product scores | 2 | ●○○ | 10 |
# | 2 · bilinear scores | 2 | ●○○ | 10 |
# | 3 · additive scores | 3 | ●●○ | 20 |
# | 4 · weights that leave padding out | 3 | ●●○ | 15 |
# | 5 · context vectors | 1 | ●○○ | 5 |
# | 6 · one decoder step | 3 | ●●● | 30 |
# | 7 · the whole decoder | 2 | ●●○ | 15 |
# | 8 · alignment error rate | 2 | ●●○ | 15 |
# | 9 · stretch: local attention | stretch | ●●○ | 15 |
# | 10 · a written answer | 2 | ●●○ | 10 |
#
# **Time** about 180 minutes in all, plus about 15 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` with your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are.
#
# **Shapes.** Decoder states `S` are `[*B, T_y, D_S]`, one state for each token that is written. Encoder states `H` are
# `[*B, T_x, D_H]`, one state for each token that was read. `*B` stands for any number of batch axes, or none, so count axes
# from the end: `S.shape[-1]`, `dim=-1`, and `H.mT`, which swaps the last two axes. (Row $t$ of `S` is the state that attends
# at step $t$. A translator computes these states one after the other; in exercises 1 to 5 all of them are given.) torch's
# fused attention functions would answer exercises 1 to 6, and are not allowed there.

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
#   `decode_with_attention` and `alignment_error_rate`.)
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours. (Not asked of
#   `local_attention_weights`.)
# - Small numbers count beside large ones: nothing is cut off. (Not asked of `local_attention_weights`.)
# - Numbers may be 0.
# - Any size may be 1. (Not asked of `alignment_error_rate`.)
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Where a shape begins with `*B`, there may be no batch axis, one, or several.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `alignment_error_rate`.)
#   In `AttentionStep` they need to flow only from `logits` and `s_new`. In `decode_with_attention` they need to flow only
#   from `logits`.
# - Gradients are right also where a softmax is nearly 0 or 1. (Not asked of `local_attention_weights`.)
# - Zeros are exact in `A` of `attention_weights`, `a` of `AttentionStep`, `A` of `local_attention_weights`: a number that
#   should be 0 there is 0, not merely small.
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
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.data.translation import START
from utils.progress import progress

# %% [markdown]
# ## 1 · Dot-product scores
#
# The score of decoder state $s_t$ and encoder state $h_i$ says how well the two fit. The simplest score is their dot
# product, $E_{ti} = s_t \cdot h_i$, which needs states of equal width. Compute all scores at once: a row for each decoder
# state, a column for each encoder state. Do not scale them.
#
# <details><summary>Hint: the idea</summary>
#
# Which row of `S` and which row of `H` give $E_{ti}$? One matrix product computes all these dot products.
# </details>
# <details><summary>Hint: shapes</summary>
#
# A product of `[*B, T_y, D_H]` and `[*B, D_H, T_x]` is `[*B, T_y, T_x]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Find the axis over which the sum of a dot product runs, in `S` and in `H`.
# 2. Arrange the axes of one of them so that a matrix product sums over it.
# 3. Multiply, in the order that gives a row for each decoder state.
# </details>


# %% nbgrader={"grade": false, "grade_id": "dot_product_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dot_product_scores(S: Float[Tensor, "*B T_y D_H"], H: Float[Tensor, "*B T_x D_H"]) -> Float[Tensor, "*B T_y T_x"]:
    """The dot products of all decoder states with all encoder states.

    Returns:
        The scores E [*B, T_y, T_x]: E[..., t, i] is the dot product of S[..., t, :] and
            H[..., i, :].

    Example:
        S = [[1, 2]] and H = [[1, 0], [0, 1], [3, -1]] give E = [[1, 2, 1]].
    """
    ### BEGIN SOLUTION
    return S @ H.mT  # [*B, T_y, D_H] @ [*B, D_H, T_x] -> [*B, T_y, T_x]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_dot_product_scores", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(dot_product_scores)

# %% [markdown]
# ## 2 · Bilinear scores
#
# Where the two kinds of states differ in width, or use their components for different things, a matrix translates between
# them: $E_{ti} = s_t W \cdot h_i$ with $W\,[D_S, D_H]$.
#
# <details><summary>Hint: the idea</summary>
#
# After $W$ has mapped the decoder states, what is left is exercise 1.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[*B, T_y, D_S]` times `[D_S, D_H]` is `[*B, T_y, D_H]`: the same $W$ serves all batch axes.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Map every decoder state to the width of the encoder states.
# 2. Compute the dot products of all mapped states with all encoder states, as in exercise 1.
# </details>


# %% nbgrader={"grade": false, "grade_id": "bilinear_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bilinear_scores(
    S: Float[Tensor, "*B T_y D_S"], H: Float[Tensor, "*B T_x D_H"], W: Float[Tensor, "D_S D_H"]
) -> Float[Tensor, "*B T_y T_x"]:
    """The bilinear scores of all decoder states with all encoder states.

    Returns:
        The scores E [*B, T_y, T_x], a row for each decoder state.

    Example:
        S = [[1]], W = [[2, 3]] and H = [[1, 0], [0, 1]] give E = [[2, 3]].
    """
    ### BEGIN SOLUTION
    return S @ W @ H.mT  # W maps each s to D_H numbers; then its dot product with each h
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_bilinear_scores", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(bilinear_scores)

# %% [markdown]
# ## 3 · Additive scores
#
# Bahdanau's score is a small network with one hidden layer of $D_A$ units: $E_{ti} = \tanh(s_t W + h_i U) \cdot v$. Each of
# the $T_y \cdot T_x$ pairs of states has its own values of these units.
#
# <details><summary>Hint: the idea</summary>
#
# The products with $W$ and with $U$ are computed once for each state, not once for each pair. Only their sum is made for
# every pair.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The mapped decoder states are `[*B, T_y, D_A]`; with a new axis they are `[*B, T_y, 1, D_A]`. The mapped encoder states are
# `[*B, T_x, D_A]`; with a new axis they are `[*B, 1, T_x, D_A]`. Their sum is `[*B, T_y, T_x, D_A]`, and a product with
# `v [D_A]` sums over the last axis.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Map the decoder states and the encoder states to `D_A` numbers each.
# 2. Give both an axis of size 1, so that adding them pairs every decoder state with every encoder state.
# 3. Add, and apply the nonlinearity to the sum.
# 4. Reduce the `D_A` numbers of each pair to one score.
# </details>


# %% nbgrader={"grade": false, "grade_id": "additive_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def additive_scores(
    S: Float[Tensor, "*B T_y D_S"],
    H: Float[Tensor, "*B T_x D_H"],
    W: Float[Tensor, "D_S D_A"],
    U: Float[Tensor, "D_H D_A"],
    v: Float[Tensor, "D_A"],
) -> Float[Tensor, "*B T_y T_x"]:
    """The additive scores of all decoder states with all encoder states.

    Args:
        S: decoder states.
        H: encoder states.
        W: the weights from a decoder state to the hidden layer.
        U: the weights from an encoder state to the hidden layer.
        v: the weights from the hidden layer to the score.

    Returns:
        The scores E [*B, T_y, T_x], a row for each decoder state.

    Example:
        With S = [[1]], H = [[-1], [0]], W = U = [[1]] and v = [2] the sums inside tanh are 0 and 1,
        so E = [[0, 2 tanh(1)]] ≈ [[0, 1.52]].
    """
    ### BEGIN SOLUTION
    # The two new axes let every decoder state meet every encoder state.
    hidden = torch.tanh((S @ W).unsqueeze(-2) + (H @ U).unsqueeze(-3))  # [*B, T_y, T_x, D_A]
    return hidden @ v  # [*B, T_y, T_x]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_additive_scores", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(additive_scores)

# %% [markdown]
# ## 4 · Weights that leave padding out
#
# For each decoder state, a softmax over its scores distributes a weight of 1 over the tokens of its sentence. `mask` is
# `True` at tokens and `False` at padding. The weight of padding must be exactly 0, and the weights of the tokens must sum
# to 1. Every sentence has at least one token. Scores may be any finite numbers; all of them may lie far below zero.
#
# <details><summary>Hint: the idea</summary>
#
# A score of $-\infty$ gives the weight $\exp(-\infty) = 0$.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `mask` is `[*B, T_x]` and `E` is `[*B, T_y, T_x]`. With an axis of size 1 before its last axis, the mask is broadcast over
# the decoder states.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Bring the mask to a shape that is broadcast against `E`.
# 2. Replace the scores of the padding. Check which value of the mask marks padding.
# 3. Apply the softmax over the encoder states.
# </details>


# %% nbgrader={"grade": false, "grade_id": "attention_weights", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_weights(E: Float[Tensor, "*B T_y T_x"], mask: Bool[Tensor, "*B T_x"]) -> Float[Tensor, "*B T_y T_x"]:
    """The attention weights: for each decoder state a distribution over the tokens of its sentence.

    Args:
        E: scores, a row for each decoder state.
        mask: True at tokens, False at padding. Padding may stand anywhere; each sentence has at
            least one token.

    Returns:
        The weights A [*B, T_y, T_x]. Each row sums to 1 and is 0 at padding.

    Example:
        E = [[5, 5, 9]] and mask = [True, True, False] give A = [[0.5, 0.5, 0]].
    """
    ### BEGIN SOLUTION
    hidden = E.masked_fill(~mask.unsqueeze(-2), float("-inf"))  # [*B, T_y, T_x], the mask broadcast over T_y
    return hidden.softmax(dim=-1)  # exp(-inf) = 0, in the numerator and in the sum below it
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_attention_weights", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(attention_weights)

# %% [markdown]
# ## 5 · Context vectors
#
# The context vector of step $t$ is the weighted sum of the encoder states, $c_t = \sum_i A_{ti} h_i$.
#
# <details><summary>Hint: the idea</summary>
#
# Each row of $A$ gives one weighted sum of the rows of $H$. One matrix product computes all of them.
# </details>
# <details><summary>Hint: shapes</summary>
#
# A product of `[*B, T_y, T_x]` and `[*B, T_x, D_H]` is `[*B, T_y, D_H]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Find the axis over which the sum runs, in `A` and in `H`.
# 2. Does a matrix product sum over this axis without any change to the axes?
# </details>


# %% nbgrader={"grade": false, "grade_id": "context_vectors", "locked": false, "schema_version": 3, "solution": true, "task": false}
def context_vectors(A: Float[Tensor, "*B T_y T_x"], H: Float[Tensor, "*B T_x D_H"]) -> Float[Tensor, "*B T_y D_H"]:
    """The context vectors of all decoder steps.

    Args:
        A: attention weights, a row for each decoder step.
        H: encoder states.

    Returns:
        The context vectors C [*B, T_y, D_H]: row t is the sum of the encoder states, weighted by
            row t of A.

    Example:
        A = [[0.5, 0.5]] and H = [[2, 0], [4, 6]] give C = [[3, 3]].
    """
    ### BEGIN SOLUTION
    return A @ H  # [*B, T_y, T_x] @ [*B, T_x, D_H]: each row of A weights the rows of H
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_context_vectors", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(context_vectors)

# %% [markdown]
# ## 6 · One decoder step
#
# Now write one step of the decoder, for a batch. Given are the last tokens `y [B]`, the states before the step
# `s [B, D_S]`, the encoder states `H [B, T_x, D_H]` and the `mask [B, T_x]`:
#
# 1. the scores $e_i = v(\tanh(W(s) + U(h_i)))$, computed by three layers; the state **before** the step attends;
# 2. the attention weights $a$, a softmax over the tokens of the sentence;
# 3. the context vector $c = \sum_i a_i h_i$;
# 4. the new state, `cell([embedding(y); c], s)`; the embedding comes first ($[a; b]$ means that two vectors are joined along
#    their last axis);
# 5. the logits, `out([s_new; c])`; the state comes first.
#
# The module has six layers with these names: `embedding` = `nn.Embedding(V, D_E)`; three `nn.Linear` **without bias**, `W`
# from $D_S$ to $D_A$, `U` from $D_H$ to $D_A$ and `v` from $D_A$ to 1; `cell` = `nn.GRUCell(D_E + D_H, D_S)`; `out` =
# `nn.Linear(D_S + D_H, V)`. Return the logits, the new states and the weights.
#
# <details><summary>Hint: the idea</summary>
#
# One state attends in each sentence, so there is no axis $T_y$: the scores are `[B, T_x]`. Otherwise the first three steps
# are exercises 3 to 5.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The mapped states `W(s)` are `[B, D_A]`. They need a new axis, `[B, 1, D_A]`, before they can be added to `U(H)`,
# `[B, T_x, D_A]`. The layer `v` gives `[B, T_x, 1]`, so its last axis must go. Weights with a new axis, `[B, 1, T_x]`, times
# `[B, T_x, D_H]` are `[B, 1, D_H]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Make the layers in `__init__`, with the names and sizes of the text.
# 2. Compute a score for each encoder state from the state before the step, `[B, T_x]`.
# 3. Hide the padding, and apply the softmax.
# 4. Compute the context vector, `[B, D_H]`.
# 5. Let the cell compute the new state from its input and the state before the step.
# 6. Compute the logits from the new state and the context vector.
# </details>


# %% nbgrader={"grade": false, "grade_id": "AttentionStep", "locked": false, "schema_version": 3, "solution": true, "task": false}
class AttentionStep(nn.Module):
    """One step of a decoder that attends to the encoder states.

    Args:
        V: number of tokens in the vocabulary.
        D_E: width of an embedding.
        D_H: width of an encoder state.
        D_S: width of a decoder state.
        D_A: width of the hidden layer of the scores.
    """

    def __init__(self, V: int, D_E: int, D_H: int, D_S: int, D_A: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D_H, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = nn.Linear(D_S + D_H, V)
        ### END SOLUTION

    def forward(
        self, y: Int[Tensor, "B"], s: Float[Tensor, "B D_S"], H: Float[Tensor, "B T_x D_H"], mask: Bool[Tensor, "B T_x"]
    ) -> tuple[Float[Tensor, "B V"], Float[Tensor, "B D_S"], Float[Tensor, "B T_x"]]:
        """The logits of the next tokens, the new states, and the attention weights.

        Args:
            y: the tokens that are fed in.
            s: the decoder states before the step.
            H: the encoder states.
            mask: True at the tokens of the source sentences, False at padding.

        Returns:
            logits [B, V]: for the next token of each sentence.
            s_new [B, D_S]: the decoder states after the step.
            a [B, T_x]: the attention weights; each row sums to 1 and is 0 at padding.

        Example:
            With mask = [[True, False]] only one encoder state is left to attend to, so a =
            [[1, 0]].
        """
        ### BEGIN SOLUTION
        e = self.v(torch.tanh(self.W(s)[:, None, :] + self.U(H))).squeeze(-1)  # [B, T_x]
        a = e.masked_fill(~mask, float("-inf")).softmax(dim=-1)  # [B, T_x]
        c = (a[:, None, :] @ H).squeeze(1)  # [B, 1, T_x] @ [B, T_x, D_H] -> [B, D_H]
        s_new = self.cell(torch.cat([self.embedding(y), c], dim=-1), s)  # [B, D_S]
        return self.out(torch.cat([s_new, c], dim=-1)), s_new, a
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_AttentionStep", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(AttentionStep)

# %% [markdown]
# ## 7 · The whole decoder
#
# `step(y, s, H, mask)` does the work of exercise 6: it takes the last tokens, the states, the encoder states and the mask,
# and gives logits `[B, V]`, new states `[B, D_S]` and attention weights `[B, T_x]`. (The check passes another step, so this
# exercise does not depend on yours.) Run it over a whole translation `y [B, T_y]` with teacher forcing, and collect the
# logits and the weights of all steps. `s` is the state before the first step, $s_0$. Padding in `y` needs no special
# treatment. Each step is fed the correct token before the one that it predicts: `[START]`, $y_1$, …, $y_{T_y - 1}$.
#
# <details><summary>Hint: the idea</summary>
#
# This is the loop of teacher forcing from lesson 01. There is one more thing to collect: the attention weights of each step.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The logits of `T_y` steps, `[B, V]` each, are stacked along `dim=1` into `[B, T_y, V]`, and the weights in the same way.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Begin with `[START]` as the previous token of every sentence, and with the state `s`.
# 2. For each position of `y`, take a step, and keep its logits and its weights.
# 3. Carry on the state that the step returns, and choose the next previous token.
# 4. Stack the logits and the weights.
# </details>


# %% nbgrader={"grade": false, "grade_id": "decode_with_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def decode_with_attention(
    step: Callable,
    y: Int[Tensor, "B T_y"],
    s: Float[Tensor, "B D_S"],
    H: Float[Tensor, "B T_x D_H"],
    mask: Bool[Tensor, "B T_x"],
) -> tuple[Float[Tensor, "B T_y V"], Float[Tensor, "B T_y T_x"]]:
    """The logits for y_1, …, y_{T_y}, each after the correct tokens before it, and the weights of
    every step.

    Args:
        step: step(y, s, H, mask) gives logits [B, V], new states [B, D_S] and weights [B, T_x].
        y: the correct translations.
        s: the decoder states before the first step.
        H: the encoder states.
        mask: True at the tokens of the source sentences, False at padding.

    Returns:
        logits [B, T_y, V]: those at position t are for the token y[:, t].
        A [B, T_y, T_x]: row t holds the attention weights of step t.

    Example:
        For y = [[5, 6, 2]] the step is called three times, with the tokens [START], then [5], then
        [6].
    """
    ### BEGIN SOLUTION
    previous = torch.full_like(y[:, 0], START)  # [B]
    logits, weights = [], []
    for right in y.unbind(dim=1):
        scores, s, a = step(previous, s, H, mask)  # [B, V], [B, D_S], [B, T_x]
        logits.append(scores)
        weights.append(a)
        previous = right  # the correct token, whatever the decoder has predicted
    return torch.stack(logits, dim=1), torch.stack(weights, dim=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_decode_with_attention", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(decode_with_attention)

# %% [markdown]
# ## 8 · Alignment error rate
#
# Does the decoder attend to the tokens that it translates? In a corpus that people have aligned by hand, there are two kinds
# of links between a target token and a source token: **sure** links ($S$), which a model must find, and **possible** links
# ($P$), which it may find. Every sure link is also a possible one. For the links $A$ that a model proposes, the alignment
# error rate is (Och and Ney, 2003)
#
# $$\text{rate} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}$$
#
# All three sets come as boolean tables `[B, T_y, T_x]`. Count their sizes over **all** sentences, and form one fraction.
# Return a tensor without axes.
#
# <details><summary>Hint: the idea</summary>
#
# A table is True at the links of its set. The size of a set is a sum over its table, and `&` gives the links that two sets
# share.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Everything is `[B, T_y, T_x]` until `.sum()`, which leaves no axis.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Form the two tables of shared links.
# 2. Count the links of four tables: which ones does the formula name?
# 3. Form the fraction, and subtract it from 1.
# </details>


# %% nbgrader={"grade": false, "grade_id": "alignment_error_rate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def alignment_error_rate(
    links: Bool[Tensor, "B T_y T_x"], sure: Bool[Tensor, "B T_y T_x"], possible: Bool[Tensor, "B T_y T_x"]
) -> Float[Tensor, ""]:
    """The alignment error rate of proposed links, over a whole corpus.

    Args:
        links: True at the links that a model proposes.
        sure: True at the links that it must find.
        possible: True at the links that it may find, the sure ones included.

    Returns:
        The rate, a tensor of type float32 without axes.

    Example:
        links = [[[True, False], [False, True]]], sure = [[[True, False], [False, False]]] and
        possible = [[[True, False], [True, False]]] give 1 - (1 + 1) / (2 + 1) = 1/3.
    """
    ### BEGIN SOLUTION
    # A sure link that is found counts in both terms, a link that is only possible in the second one.
    hits = (links & sure).sum() + (links & possible).sum()
    return 1 - hits / (links.sum() + sure.sum())
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_alignment_error_rate", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(alignment_error_rate)

# %% [markdown]
# ## Your attention at work
#
# Train your decoder on short English sentences with their French translations, and see where it attends. (The second cell is
# not graded, and it is not run when your notebook is graded. It works as soon as exercises 6 to 8 do; if one of them is
# unfinished, it says so.)

# %%
def try_it_out(steps=400, D=64):
    """Trains an encoder and your decoder on a small corpus and shows the attention weights of one
    sentence.
    """
    import matplotlib.pyplot as plt

    from utils.models.training import train
    from utils.data.translation import PAD, batches, corpus, lecture, vocabulary

    torch.manual_seed(0)
    english, french = vocabulary("english"), vocabulary("french")
    embedding = nn.Embedding(len(english), D)
    reader = nn.GRU(D, D // 2, batch_first=True, bidirectional=True)
    step = AttentionStep(len(french), D_E=D, D_H=D, D_S=D, D_A=D)
    model = nn.ModuleList([embedding, reader, step])

    def run(source, target):
        H, _ = reader(embedding(source))
        mask = source != PAD
        return decode_with_attention(step, target, H.new_zeros(len(source), D), H, mask)

    def loss(model, batch):
        logits, _ = run(batch.source, batch.target)
        return nn.functional.cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=PAD)

    pairs = corpus("french", 2000, 3, 8)
    curve = train(model, batches(pairs, "french", size=64, steps=steps), loss, steps=steps, rate=5e-3)
    print(f"loss at the start {curve[0]:.2f}, at the end {sum(curve[-20:]) / 20:.2f}")

    pair = lecture("sky", "french")
    source, target = torch.tensor([english.encode(pair.source)]), torch.tensor([french.encode(pair.target)])
    with torch.no_grad():
        _, A = run(source, target)
    figure, axes = plt.subplots(figsize=(4, 3.4))
    axes.imshow(A[0], cmap="cividis", vmin=0, vmax=1)
    axes.set_xticks(range(A.shape[2]), [*pair.source, "[STOP]"])
    axes.set_yticks(range(A.shape[1]), [*pair.target, "[STOP]"])
    plt.show()
    links = torch.zeros_like(A, dtype=torch.bool).scatter(2, A.argmax(dim=-1, keepdim=True), True)
    sure, possible = torch.zeros_like(links), torch.zeros_like(links)
    for gold, table in ((pair.sure, sure), (pair.possible, possible)):
        for j, i in gold:
            table[0, j, i] = True
    rate = alignment_error_rate(links[:, :-1], sure[:, :-1], possible[:, :-1])  # without [STOP]
    print(f"alignment error rate of this sentence: {rate:.2f}")


# %% tags=["play"]
try:
    try_it_out()
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown]
# ## 9 · Stretch: local attention
#
# This exercise earns no points. It is the local attention of Luong, Pham and Manning (2015, section 3.2). Today, some models for
# long texts attend within windows as well.
#
# To write one token, a decoder seldom needs the whole sentence. In **predictive local attention** the decoder first predicts, at
# each step $t$, a centre $p_t$: the position in the source sentence that it is about to translate. It then attends to a **window**
# around it, the positions $s$ with $p_t - D \le s \le p_t + D$. Positions are counted $0, \dots, T_x - 1$. The centre is a real
# number, such as 3.4, and is not rounded. Within the window, a Gaussian factor prefers positions near the centre:
#
# $$A_{ts} = \frac{\exp(E_{ts})}{\sum_j \exp(E_{tj})} \cdot \exp\left(-\frac{(s - p_t)^2}{2\sigma^2}\right), \qquad
# \sigma = \frac{D}{2},$$
#
# where $j$ runs over the positions in the window, so that the first factor is a softmax over the window. Outside the window
# $A_{ts} = 0$.
#
# Note two things:
#
# - **What is normalised.** The softmax runs over the positions of the window alone, and only over those that the sentence has: a
#   window may reach beyond an end of the sentence. The weights that the softmax gives sum to 1 over these positions.
# - **What is not.** The Gaussian factor is 1 at $s = p_t$ and smaller elsewhere. After the multiplication by it nothing is
#   normalised again, as in the paper. So a row of $A$ sums to at most 1.
#
# The gradient reaches $p_t$ only through the Gaussian factor. Whether a position lies in the window changes in a jump, so no
# gradient passes through this choice. Without the factor the model could not learn where to look.
#
# Every step has a centre of its own, `p` `[*B, T_y]`, with $0 \le p_t \le T_x - 1$. $D$ is a whole number, at least 1. (As in the
# paper, it says how far the window reaches to either side; it is not the width of a vector.) So there is always a position in the
# window. There is no padding here. Scores may be any finite numbers, and the highest scores of a row may lie outside its window.
# Weights outside the window are exactly 0.
#
# <details><summary>Hint: the idea</summary>
#
# Outside the window a position is to be treated as padding is in exercise 4. Only, each row of scores now has a window of its own.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The positions are `[T_x]`, made on the device of the inputs. With an axis of size 1 at its end, `p` is `[*B, T_y, 1]`, so the
# difference of the two is `[*B, T_y, T_x]`: how far each position lies from each centre.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute how far each position lies from each centre.
# 2. Find out which positions lie in the window, its edges included.
# 3. Compute the softmax in such a way that all other positions get no weight.
# 4. Multiply by the Gaussian factor.
# </details>


# %% nbgrader={"grade": false, "grade_id": "local_attention_weights", "locked": false, "schema_version": 3, "solution": true, "task": false}
def local_attention_weights(
    E: Float[Tensor, "*B T_y T_x"], p: Float[Tensor, "*B T_y"], D: int
) -> Float[Tensor, "*B T_y T_x"]:
    """The weights of local attention: a softmax over a window around each centre, times a Gaussian
    factor.

    Args:
        E: scores, a row for each decoder state.
        p: the centre of each row's window, a real number from 0 to T_x - 1.
        D: how far the window reaches to either side, at least 1; the standard deviation of the
            Gaussian factor is D/2.

    Returns:
        The weights A [*B, T_y, T_x], 0 outside the windows. Rows are not normalised again, so they
        sum to at most 1.

    Example:
        E = [[0, 0, 7, 7]], p = [0] and D = 1: the window holds positions 0 and 1, with 1/2 each
        from the softmax. The Gaussian factors are 1 and exp(-1 / (2 · 0.25)) = exp(-2) ≈ 0.135, so
        A ≈ [[0.5, 0.068, 0, 0]].
    """
    ### BEGIN SOLUTION
    s = torch.arange(E.shape[-1], device=E.device)  # [T_x]
    p = p.unsqueeze(-1)  # [*B, T_y, 1], so that every centre meets every position
    inside = (s >= p - D) & (s <= p + D)  # [*B, T_y, T_x]; what lies beyond the sentence is not in s at all
    shares = E.masked_fill(~inside, float("-inf")).softmax(dim=-1)  # hidden before the softmax, as padding is
    sigma = D / 2
    return shares * torch.exp(-((s - p) ** 2) / (2 * sigma**2))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_local_attention_weights", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(local_attention_weights)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_looking_back", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10 · What attention changes
#
# Answer in three to six sentences, in the cell below:
#
# 1. Without attention, the quality of translations falls steeply with the length of the sentence; with attention it hardly
#    falls. Why? What does attention cost, in the number of scores that are computed?
# 2. Suppose that the encoder states $h_1, \dots, h_{T_x}$ are shuffled, and the mask with them, before the decoder attends to
#    them. The decoder's first state stays as it was. What changes in the tokens that the decoder writes, and what changes in
#    the weights? How can the decoder nevertheless translate sentences whose meaning depends on the order of the words?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: the reason and the price.** Half a point for the reason: each step gets its own context vector, computed from
# all encoder states, so a long sentence need not be squeezed into one vector of fixed size. Half a point for the price: one
# score for each pair of an output and an input position, T_x · T_y scores in all.
#
# **1 point: order.** Half a point for the tokens and the weights, with a reason: the tokens do not change, since scores,
# softmax and weighted sum treat the states as a collection, and the weights move along with their states. Half a point for
# the source of order: it is in the states themselves, because the encoder is recurrent, so that each h_i depends on the
# tokens before it (and, in a bidirectional encoder, on the tokens after it).
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_looking_back", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# With attention, every step of the decoder computes its own context vector from all encoder states, so a long sentence is
# not squeezed into one vector of fixed size. The price is a score for every pair of a token that is written and a token that
# was read, T_x · T_y of them. Shuffling the encoder states does not change the tokens, and the weights move along with the
# states: each state keeps its score, the softmax gives it the same weight, and a sum does not depend on the order of its
# terms. The order of the words is inside the states: the encoder reads token by token, so each state depends on the tokens
# before it, and in a bidirectional encoder also on the tokens after it.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The next cell shows the points of the checks above, as they were when you last ran them. `progress("all")` counts every
# unit that you have begun.

# %%
progress()
