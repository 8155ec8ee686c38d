# %% [markdown]
# # Assignment 17: multimodal language models
#
# You write the bridges over which a picture reaches a language model that was trained on text alone. The first one
# puts the picture in front of the words and says what is to be learned. Three exercises build BLIP-2's Q-Former: the
# masks of its three losses, one of its layers, and the scores of its contrastive loss. Two more are Flamingo's: the
# resampler that makes a few vectors of a picture, and the block through which the language model looks at them from
# within. Then you count what has to be learned. The stretch is the mask of a text with several pictures in it.
#
# **Goals.** You can build the input and the labels with which a bridge is trained through a frozen language model,
# say who may attend to what in each of the Q-Former's losses, write a layer in which only the queries see the
# picture, compare a text with a picture that is known by several vectors, compress a picture into a few latents, add
# cross-attention to a frozen model without changing it at first, count the parameters of a bridge exactly, and tell
# what a model has seen from what it could have guessed.
#
# **What you need.** [Lesson 17](../../notebooks/17_multimodal_llms.ipynb), the heads of assignment 06, the masks of
# assignments 07 and 16, and the norms and residuals of assignment 09. Three exercises are an `nn.Module`. The
# [glossary](../../docs/glossary.md) has all terms and symbols.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · a picture as a prefix | 3 | ●●○ | 15 |
# | 2 · three losses, three masks | 3 | ●●○ | 20 |
# | 3 · a layer of the Q-Former | 3 | ●●● | 30 |
# | 4 · the best of several queries | 2 | ●○○ | 10 |
# | 5 · a resampler | 2 | ●●○ | 25 |
# | 6 · a gated block | 3 | ●●● | 30 |
# | 7 · counting a Q-Former | 2 | ●●○ | 15 |
# | 8 · pictures among text | stretch | ●●● | 25 |
# | 9 · a written answer | 2 | ●●○ | 20 |
#
# It takes about 165 minutes in all, plus about 25 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. No exercise needs another exercise's
# code.
#
# **Shapes.** `B` is the batch, and `D` the width of the vectors. `M` is the number of vectors that an encoder makes
# of a picture, and `D_P` their width where it is not `D`. `N` is the number of positions of a text, padding
# included. `Q` is the number of learned queries, `H` the number of heads, each of them `D/H` wide, and `F` the hidden
# width of an MLP. Exercise 4 has `C` texts. In exercises 5 and 6, `R` is the number of vectors into which a picture
# is compressed, and `P` the number of pictures that belong to a text. `S` in exercise 7 is the number of models that
# are counted. `M+N` and `Q+N` are names of single axes. Positions and vectors are counted from 0.
#
# A name such as `M` in a shape is no variable, unless it is an argument too: read it from a tensor. A mask is of type
# `torch.bool`, and True means **may attend**. All of torch may be used in this assignment,
# `F.scaled_dot_product_attention` included. Floating-point results have the type of the numbers that came in (double
# precision if these are).

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
#   `picture_prefix`.)
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours.
# - Small numbers count beside large ones: nothing is cut off. (Not asked of `query_scores`.)
# - Numbers may be 0. (Not asked of `query_scores`.)
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
# ## 1 · A picture as a prefix
#
# A language model reads vectors. Mostly they are taken from the table of its embeddings, but nothing keeps us from
# making them of a picture. So the simplest bridge puts the picture's vectors in front of the words, and is trained
# through the frozen language model to make vectors that it understands ([lesson
# 17](../../notebooks/17_multimodal_llms.ipynb), "A picture as a prefix"). For this, the loss needs to know at which
# positions there is something to learn. Only the answer counts: the question is given, and nobody has to predict a
# picture.
#
# Return the pair `(inputs, labels)` for a batch of texts, each with a picture. `picture` is `[B, M, D]`. `words` is
# `[B, N, D]`, the vectors of the text, and `tokens` is `[B, N]`, the same text as whole numbers. In text $b$ the
# first `prompts[b]` tokens are the prompt, such as a question. The answer follows and ends before position
# `lengths[b]`; what stands behind it is padding. Both `prompts` and `lengths` are `[B]`, with
# $0 \leq \mathrm{prompts}_b < \mathrm{lengths}_b \leq N$.
#
# - `inputs`, `[B, M+N, D]`, holds the vectors of the picture and then those of the text, padding included.
# - `labels`, `[B, M+N]`, are whole numbers. With $n$ for a position of the text, which is position $M + n$ of the
#   whole sequence,
#
# $$\mathrm{labels}_{b,\, M + n} = \begin{cases}
# \mathrm{tokens}_{bn} & \text{if } \mathrm{prompts}_b \leq n < \mathrm{lengths}_b \\
# -100 & \text{otherwise,} \end{cases} \qquad
# \mathrm{labels}_{bm} = -100 \;\text{ for } m < M.$$
#
# $-100$ is the number that `F.cross_entropy` leaves out by default. A label is the token that stands **at its own
# position**. That a position predicts the *next* token is taken care of later, by the loss, which compares the logits
# of all positions but the last with the labels of all positions but the first, as in transformers.
#
# - A prompt may be empty: with `prompts[b] = 0` the whole text is learned, as it is for captions. Its first token is
#   then predicted at the picture's last vector.
# - Where padding begins is told by `lengths` alone. A token of number 0 may stand inside an answer and is learned
#   like any other.
# - Labels are the tokens' own numbers; any type of whole numbers will do.
# - No mask is asked for, and no loss.
#
# For example, with $M = 2$ and $N = 5$:
#
# | text | `tokens[b]` | `prompts[b]` | `lengths[b]` | `labels[b]` |
# |---|---|---|---|---|
# | 0 | 5, 6, 7, 8, 0 | 2 | 4 | −100, −100, −100, −100, 7, 8, −100 |
# | 1 | 9, 0, 4, 0, 0 | 0 | 4 | −100, −100, 9, 0, 4, 0, −100 |
#
# In either text two positions belong to the picture, and the last one is padding. Text 0 has a prompt of two tokens.
# The zeros at positions 1 and 3 of text 1 are tokens, and the one at position 4 is not.
#
# <details><summary>Hint: the idea</summary>
#
# Each position belongs to one of four kinds: picture, prompt, answer and padding. Only one of the four has a label.
# Which two comparisons find it among the positions of a text?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `torch.arange(N)` is `[N]`, and `prompts[:, None]` is `[B, 1]`: a comparison of the two is `[B, N]`. The labels of
# the picture are `[B, M]`, and they are whole numbers, too.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# numbers of the text's positions, on the right device · which of them belong to the answer, for each text · tokens
# there, −100 elsewhere, in a new tensor · M labels for the picture, in front · the vectors in the same order
# </details>


# %% nbgrader={"grade": false, "grade_id": "picture_prefix", "locked": false, "schema_version": 3, "solution": true, "task": false}
def picture_prefix(
    picture: Float[Tensor, "B M D"],
    words: Float[Tensor, "B N D"],
    tokens: Int[Tensor, "B N"],
    prompts: Int[Tensor, "B"],
    lengths: Int[Tensor, "B"],
) -> tuple[Float[Tensor, "B M+N D"], Int[Tensor, "B M+N"]]:
    """The input of a language model that is shown a picture, and the labels of its loss.

    Args:
        picture: the vectors of each picture.
        words: the vectors of each text.
        tokens: the tokens of each text.
        prompts: how many tokens of each text are its prompt; they come first.
        lengths: how many positions of each text hold tokens, those of the prompt included; padding
            follows.

    Returns:
        inputs: the vectors of the picture, then those of the text.
        labels: at each position of the answer its token; -100 at the picture, at the prompt and at
            padding.

    Example:
        picture = [[[1], [2]]], words = [[[10], [20], [30], [40], [50]]], tokens =
        [[5, 6, 7, 8, 0]], prompts = [2] and lengths = [4] give inputs =
        [[[1], [2], [10], [20], [30], [40], [50]]] and labels =
        [[-100, -100, -100, -100, 7, 8, -100]].
    """
    ### BEGIN SOLUTION
    n = torch.arange(tokens.shape[1], device=tokens.device)  # positions within the text, so M plays no part yet
    answer = (n >= prompts[:, None]) & (n < lengths[:, None])  # [B, N]; what the tokens are is not looked at
    labels = tokens.masked_fill(~answer, -100)  # a new tensor: the caller's tokens stay as they are
    labels = F.pad(labels, (picture.shape[1], 0), value=-100)  # [B, M+N]; the picture takes the first M places
    return torch.cat([picture, words], dim=1), labels
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_picture_prefix", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(picture_prefix)

# %% [markdown]
# ## 2 · Three losses, three masks
#
# The Q-Former reads a picture with a fixed number of learned queries. Before it meets a language model it is trained
# with three losses at once, which BLIP had, too: matching, writing and a contrastive loss. Queries and text go
# through the same self-attention, as one sequence, and nothing but a mask tells the losses apart ([lesson
# 17](../../notebooks/17_multimodal_llms.ipynb), "Three losses, three masks"). Write the three masks.
#
# Rows attend to columns, and in both of them the $Q$ queries come first and the $N$ positions of the text behind
# them. `lengths` is `[B]`, with numbers from 1 to $N$: from position `lengths[b]` on, text $b$ is padding. `loss` is
# one of three words. Return `allowed`, `[B, Q+N, Q+N]`:
#
# | `loss` | queries attend to | the text attends to | why |
# |---|---|---|---|
# | `"matching"` | queries and text | queries and text | does the text fit? Everybody may look at everything |
# | `"writing"` | queries | all queries, and the text up to itself | the text is predicted token by token |
# | `"contrast"` | queries | text | the two are compared, so each has to be made without the other |
#
# Where nothing else is said, everybody attends in both directions, and each position may attend to itself. In all
# three masks nobody attends to padding, not even padding itself: its columns are False. Rows of padding follow the
# same rules as the other rows of the text; what is computed there is never used. A query is never padding. Each loss
# earns one point.
#
# For example, `lengths = [2]`, `Q = 2` and `N = 3` give these rows, with 1 for True and a gap between the columns of
# the queries and those of the text:
#
# | row | `"matching"` | `"writing"` | `"contrast"` |
# |---|---|---|---|
# | query 0 | 11 110 | 11 000 | 11 000 |
# | query 1 | 11 110 | 11 000 | 11 000 |
# | text 0 | 11 110 | 11 100 | 00 110 |
# | text 1 | 11 110 | 11 110 | 00 110 |
# | text 2, padding | 11 110 | 11 110 | 00 110 |
#
# With `lengths = [4]`, `Q = 3` and `N = 4`, so without padding, the masks have 49, 31 and 25 entries that are True.
#
# <details><summary>Hint: the idea</summary>
#
# Cut the square into four parts: queries to queries, queries to text, text to queries, text to text. Three of them
# are all True or all False in every loss. Which one is not, and in which loss? Padding is a question of its own,
# which is asked of columns and has the same answer in all three.
# </details>
# <details><summary>Hint: shapes</summary>
#
# A rule of the loss is a table `[Q+N, Q+N]`, the same for all texts. Which columns hold queries or tokens is
# `[B, Q+N]` and lacks the axis of the rows. Text position $n$ is row and column $Q + n$.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# numbers of rows and of columns, on the right device · the rule of the loss, as a table · columns that are no
# padding, for each text · both at once
# </details>


# %% nbgrader={"grade": false, "grade_id": "query_masks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def query_masks(lengths: Int[Tensor, "B"], Q: int, N: int, loss: str) -> Bool[Tensor, "B Q+N Q+N"]:
    """The mask of the Q-Former's self-attention, for one of its three losses.

    Args:
        lengths: how many positions of each text hold tokens, from 1 to N; they come first.
        Q: the number of queries.
        N: the number of positions of the text.
        loss: "matching", "writing" or "contrast".

    Returns:
        True where a row may attend to a column; queries come first, in both.

    Example:
        lengths = [1], Q = 1, N = 2 and loss = "writing" give [[[True, False, False],
        [True, True, False], [True, True, False]]]. With "matching" all three rows are
        [True, True, False]; with "contrast" they are [True, False, False] for the query and
        [False, True, False] twice.
    """
    ### BEGIN SOLUTION
    column = torch.arange(Q + N, device=lengths.device)
    row = column[:, None]
    if loss == "matching":
        rule = torch.ones(Q + N, Q + N, dtype=torch.bool, device=lengths.device)
    elif loss == "writing":
        # No text column has a smaller number than a query's row, so causality alone keeps the text from the queries.
        rule = (column < Q) | (column <= row)
    else:
        rule = (row < Q) == (column < Q)  # both are queries, or both are text
    no_padding = column < Q + lengths[:, None, None]  # [B, 1, Q+N]: the same columns for all rows
    return rule & no_padding
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_query_masks", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(query_masks)

# %% [markdown]
# ## 3 · A layer of the Q-Former
#
# The Q-Former is BERT with one addition: in every second layer its queries look at the picture ([lesson
# 17](../../notebooks/17_multimodal_llms.ipynb), "BLIP-2: queries that read a picture"). Queries and text share the
# self-attention, where the mask decides who sees whom. Then their ways part. Only the queries see the picture, so
# whatever the text learns of it comes through them, and each of the two has an MLP of its own.
#
# The constructor is given; write `forward`. `queries` is `[B, Q, D]`, `text` is `[B, N, D]`, and `allowed` is
# `[B, Q+N, Q+N]`, a mask as in exercise 2: it may be any mask with at least one True in each row. `picture` is
# `[B, M, D_P]`, or `None` in a layer that does not look at it. With $X = [\mathrm{queries};\, \mathrm{text}]$,
# `[B, Q+N, D]`:
#
# $$X \leftarrow \mathrm{norm\_own}\bigl(X + \mathrm{own\_output}(\mathrm{attention}(X, X, \mathrm{allowed}))\bigr)$$
#
# and, after $X$ has been divided into queries and text again,
#
# $$\begin{aligned}
# \mathrm{queries} &\leftarrow \mathrm{norm\_cross}\bigl(\mathrm{queries} +
# \mathrm{cross\_output}(\mathrm{attention}(\mathrm{queries}, \mathrm{picture}))\bigr)
# && \text{if there is a picture} \\
# \mathrm{queries} &\leftarrow \mathrm{norm\_queries}\bigl(\mathrm{queries} + \mathrm{mlp\_queries}(\mathrm{queries})
# \bigr) \\
# \mathrm{text} &\leftarrow \mathrm{norm\_text}\bigl(\mathrm{text} + \mathrm{mlp\_text}(\mathrm{text})\bigr)
# \end{aligned}$$
#
# The first attention makes its queries, keys and values with `own_queries`, `own_keys` and `own_values`, all of them
# from $X$. The second one takes its queries from the vectors of the learned queries with `cross_queries`, and keys
# and values of the picture with `cross_keys` and `cross_values`; there is no mask in it. Both have $H$ heads, and
# head $h$ takes the features from $h \cdot D/H$ on, $D/H$ of them. In each head the weights are a softmax of $q \cdot
# k \,/ \sqrt{D/H}$, and the results of the heads are put side by side again.
#
# This is BERT's **post-norm**: each sum is normalised, $\mathrm{norm}(x + f(x))$. There is no dropout. Return the new
# queries and the new text. Where `picture` is None, the line with `norm_cross` is left out altogether. With a picture
# the exercise earns 2 points, without one it earns 1.
#
# In the constructor `F` is the hidden width of the MLPs. In `forward` it is `torch.nn.functional`, as everywhere.
#
# For example, let `B = Q = N = H = 1` and `D = 2`. The norms have the weight 1 and the bias 0, and all other weights
# and biases are 0, except that `own_values`, `own_output` and `cross_output` give back what they get, and that
# `cross_values` turns a picture's single number $x$ into $(x, 0)$. All scores are then 0, and attention is a plain
# mean over what is allowed. Take the query $(1, 9)$, the text $(4, 2)$, and a mask in which the query sees itself
# alone and the text sees both. The picture has the two vectors $(2)$ and $(6)$.
#
# | | query | text |
# |---|---|---|
# | what it attends to, on average | $(1, 9)$ | $(2.5, 5.5)$ |
# | added to it, then normalised | $(2, 18) \to (-1, 1)$ | $(6.5, 7.5) \to (-1, 1)$ |
# | the picture's mean value $(4, 0)$, added and normalised | $(3, 1) \to (1, -1)$ | |
# | the MLPs give 0; normalised once more | $(1, -1)$ | $(-1, 1)$ |
#
# Without the picture the query remains $(-1, 1)$. (The norms add their $\varepsilon$ to the variance, so these
# numbers are exact up to about 0.00002.)
#
# <details><summary>Hint: the idea</summary>
#
# The two attentions differ in four linear layers, in what keys and values are made of, and in the mask. What they do
# with heads is the same: write it once. Everything else in the layer is a sum and a norm.
# </details>
# <details><summary>Hint: shapes</summary>
#
# A projection `[B, N, D]` becomes `[B, N, H, D/H]` and then `[B, H, N, D/H]`; afterwards the same way back. The mask
# is `[B, Q+N, Q+N]` and the scores are `[B, H, Q+N, Q+N]`: where does the axis of the heads belong? In the second
# attention there are `Q` rows and `M` columns.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. one sequence of queries and text · attention among them, under the mask · output layer, residual, norm. 2. apart
# again, at position Q · if there is a picture: attention of the queries to it · output layer, residual, norm. 3. each
# of the two through its own MLP · residual, norm
# </details>


# %% nbgrader={"grade": false, "grade_id": "QFormerLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class QFormerLayer(nn.Module):
    """A layer of the Q-Former: queries and text attend to each other, and the queries alone to a
    picture.

    Args:
        D: width of queries and text.
        H: number of heads, a divisor of D.
        D_P: width of the picture's vectors.
        F: hidden width of the MLPs.

    Example:
        QFormerLayer(D=768, H=12, D_P=1408, F=3072) takes queries [2, 32, 768], text [2, 10, 768], a
        picture [2, 257, 1408] and a mask [2, 42, 42], and gives queries [2, 32, 768] and text
        [2, 10, 768].
    """

    def __init__(self, D: int, H: int, D_P: int, F: int):
        super().__init__()
        self.H = H
        self.own_queries, self.own_keys, self.own_values, self.own_output = (nn.Linear(D, D) for _ in range(4))
        self.norm_own = nn.LayerNorm(D)
        self.cross_queries, self.cross_output = nn.Linear(D, D), nn.Linear(D, D)
        self.cross_keys, self.cross_values = nn.Linear(D_P, D), nn.Linear(D_P, D)
        self.norm_cross = nn.LayerNorm(D)
        self.mlp_queries = nn.Sequential(nn.Linear(D, F), nn.GELU(), nn.Linear(F, D))
        self.norm_queries = nn.LayerNorm(D)
        self.mlp_text = nn.Sequential(nn.Linear(D, F), nn.GELU(), nn.Linear(F, D))
        self.norm_text = nn.LayerNorm(D)

    def forward(
        self,
        queries: Float[Tensor, "B Q D"],
        text: Float[Tensor, "B N D"],
        picture: Float[Tensor, "B M D_P"] | None,
        allowed: Bool[Tensor, "B Q+N Q+N"],
    ) -> tuple[Float[Tensor, "B Q D"], Float[Tensor, "B N D"]]:
        """The queries and the text after this layer.

        Args:
            queries: the vectors of the queries.
            text: the vectors of the text.
            picture: the vectors of the picture; None in a layer without cross-attention.
            allowed: True where a row of [queries; text] may attend to a column; each row has a
                True.

        Returns:
            queries: the new vectors of the queries.
            text: the new vectors of the text.
        """

        ### BEGIN SOLUTION
        def attention(asking, keys, values, mask=None):
            """Each argument is [B, ·, D] and projected already; so is the result, with the heads
            side by side.
            """
            per_head = [each.unflatten(-1, (self.H, -1)).transpose(1, 2) for each in (asking, keys, values)]
            return F.scaled_dot_product_attention(*per_head, attn_mask=mask).transpose(1, 2).flatten(start_dim=2)

        X = torch.cat([queries, text], dim=1)  # [B, Q+N, D]
        seen = attention(self.own_queries(X), self.own_keys(X), self.own_values(X), allowed[:, None])  # for all heads
        X = self.norm_own(X + self.own_output(seen))
        queries, text = X.tensor_split([queries.shape[1]], dim=1)  # the text is what lies behind the queries
        if picture is not None:
            keys, values = self.cross_keys(picture), self.cross_values(picture)  # [B, M, D], from a width of D_P
            seen = attention(self.cross_queries(queries), keys, values)
            queries = self.norm_cross(queries + self.cross_output(seen))
        # One sequence for the self-attention, two for what follows: the MLPs have different weights.
        queries = self.norm_queries(queries + self.mlp_queries(queries))
        text = self.norm_text(text + self.mlp_text(text))
        return queries, text
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_QFormerLayer", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(QFormerLayer)

# %% [markdown]
# ## 4 · The best of several queries
#
# CLIP has one vector for a picture, and the Q-Former has one for each query. Different queries may have read
# different parts, the dog or the ball or the grass, and a caption need not name all of it. So the contrastive loss of
# BLIP-2 compares a text with every query, and the one that fits best decides ([lesson
# 17](../../notebooks/17_multimodal_llms.ipynb), "Three losses, three masks"):
#
# $$S_{bc} = \frac{1}{\tau} \, \max_q \,
# \frac{\mathrm{query}_{bq} \cdot \mathrm{text}_c}{\lVert \mathrm{query}_{bq} \rVert \, \lVert \mathrm{text}_c \rVert}$$
#
# `queries` is `[B, Q, D]`, what the queries have made of $B$ pictures. `texts` is `[C, D]`, one vector for each of
# $C$ texts; in training $C = B$, but not here. `temperature` is $\tau$, a number above 0. Return `S`, `[B, C]`.
# Vectors have any length except 0. The largest cosine counts, not the largest in absolute value: where a text points
# away from all queries, its score is negative. Only the scores are asked for, without a softmax and without a loss.
#
# For example, with the temperature 0.5 and
#
# $$\mathrm{queries}_0 = \begin{pmatrix} 2 & 0 \\ 0 & 1 \end{pmatrix}, \quad
# \mathrm{queries}_1 = \begin{pmatrix} -3 & 0 \\ 0 & -2 \end{pmatrix}, \quad
# \mathrm{texts} = \begin{pmatrix} 3 & 4 \\ -1 & 0 \end{pmatrix}:$$
#
# | | cosines with text 0 | cosines with text 1 | scores |
# |---|---|---|---|
# | picture 0 | 0.6, 0.8 | −1, 0 | 1.6, 0 |
# | picture 1 | −0.6, −0.8 | 1, 0 | −1.2, 2 |
#
# <details><summary>Hint: the idea</summary>
#
# First compare everything with everything, then choose. Which of the two steps needs vectors of length 1?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `queries` is `[B, Q, D]` and `texts` is `[C, D]`. All cosines together are `[B, Q, C]`, and the result is `[B, C]`:
# which axis has disappeared?
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# directions of all vectors · all products at once · the largest for each picture and text · over the temperature
# </details>


# %% nbgrader={"grade": false, "grade_id": "query_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def query_scores(
    queries: Float[Tensor, "B Q D"], texts: Float[Tensor, "C D"], temperature: float
) -> Float[Tensor, "B C"]:
    """How well each text fits each picture, by BLIP-2's contrastive loss.

    Args:
        queries: the vectors that the queries have made of each picture, of any length but 0.
        texts: a vector for each text, of any length but 0.
        temperature: the cosines are divided by it.

    Returns:
        for each picture and text the largest cosine of the text with a query, over the temperature.

    Example:
        queries = [[[2, 0], [0, 1]]], texts = [[3, 4], [-1, 0]] and temperature = 0.5: the cosines
        are 0.6 and 0.8 with the first text, -1 and 0 with the second, and the scores are
        [[1.6, 0]].
    """
    ### BEGIN SOLUTION
    pictures = F.normalize(queries, dim=-1)  # each query by its own length, or a long one would always win
    cosines = pictures @ F.normalize(texts, dim=-1).T  # [B, Q, C]: the texts broadcast over the pictures
    # The gradient goes to the best query of each pair alone, so queries can become experts in different things.
    best, _ = cosines.max(dim=1)
    return best / temperature
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_query_scores", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(query_scores)

# %% [markdown]
# ## 5 · A resampler
#
# A picture has hundreds of vectors, and a video has thousands. Flamingo shows its language model 64, however many
# there were: a resampler has a fixed number of learned **latents**, which read the features by attention ([lesson
# 17](../../notebooks/17_multimodal_llms.ipynb), "Flamingo: looking from within"). It is the Perceiver of lesson 08
# with one difference. The latents attend to the features *and* to themselves, in the same softmax, so that each of
# them knows what the others hold.
#
# Write one layer, constructor and `forward`. The latents, `[R, D]`, are the same for every picture. For the features
# of one picture, `[M, D]`,
#
# $$Y = \mathrm{norm\_latents}(\mathrm{latents}), \qquad
# Z = [\,\mathrm{norm\_features}(\mathrm{features});\, Y\,], \qquad
# X = \mathrm{latents} + \mathrm{output}(\mathrm{attention}(Y, Z))$$
#
# and the result is $X + \mathrm{mlp}(\mathrm{norm\_mlp}(X))$. Queries are made of $Y$, and keys and values of $Z$, by
# `to_queries`, `to_keys` and `to_values`. Each of $H$ heads takes $D/H$ numbers of them, one head behind the other,
# and divides its $q \cdot k$ by $\sqrt{D/H}$. **One** softmax runs over all $M + R$ keys. Here the norms stand in
# front of the sublayers (pre-norm), and the latents enter the sum as they are, without a norm. There is no mask and
# no dropout.
#
# `features` is `[B, M, D]`, and the result is `[B, R, D]`. There may be more latents than features. The layer has
# these parameters and no others:
#
# | name | layer |
# |---|---|
# | `latents` | `nn.Parameter`, `[R, D]` |
# | `norm_features`, `norm_latents`, `norm_mlp` | `nn.LayerNorm(D)` each |
# | `to_queries`, `to_keys`, `to_values`, `output` | `nn.Linear(D, D, bias=False)` each |
# | `mlp` | `nn.Sequential` of `nn.Linear(D, 4 * D)`, `nn.GELU()` and `nn.Linear(4 * D, D)` |
#
# The check sets them to numbers of its own. How the latents begin is up to you, as long as they are not all alike;
# normal random numbers are usual.
#
# For example, let `D = 2` and `H = R = 1`. The norms have the weight 1 and the bias 0, `to_values` and `output` give
# back what they get, and all other layers are 0, so that attention is a plain mean. The latent is $(1, 3)$, and the
# picture has the three features $(5, 1)$, $(8, 2)$ and $(6, 4)$. Normalised, the features are $(1, -1)$ each and the
# latent is $(-1, 1)$. The mean of these four is $(0.5, -0.5)$, and the result is $(1.5, 2.5)$, exact up to about
# 0.00001.
#
# <details><summary>Hint: the idea</summary>
#
# Nothing is new in the attention itself. What matters is what goes into it: which of the two sequences asks, which
# ones are read, and which version of each, normalised or not, is used in the sum.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The latents have no batch axis, and `torch.cat` does not broadcast: `t.expand(B, -1, -1)` shows a tensor `[R, D]` as
# `[B, R, D]`. Scores are `[B, H, R, M + R]`, with fewer rows than columns.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# in `__init__`: the parameters of the table · keep what `forward` needs of the arguments. in `forward`: latents,
# normalised, once for each picture · features, normalised, and the latents behind them · attention, head by head or
# all at once · output layer, onto the latents as they were · MLP with its norm and residual
# </details>


# %% nbgrader={"grade": false, "grade_id": "Resampler", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Resampler(nn.Module):
    """A layer of Flamingo's resampler: a few latents read the features of a picture.

    Args:
        D: width of features and latents.
        H: number of heads, a divisor of D.
        R: number of latents.

    Example:
        Resampler(D=64, H=4, R=8) gives [2, 8, 64] for features [2, 100, 64], and for features
        [2, 3, 64] as well.
    """

    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.H = H
        self.latents = nn.Parameter(torch.randn(R, D))  # with equal latents, all R results would be the same for ever
        self.norm_features, self.norm_latents, self.norm_mlp = (nn.LayerNorm(D) for _ in range(3))
        self.to_queries, self.to_keys, self.to_values, self.output = (nn.Linear(D, D, bias=False) for _ in range(4))
        layers = [nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D)]
        self.mlp = nn.Sequential(*layers)
        ### END SOLUTION

    def forward(self, features: Float[Tensor, "B M D"]) -> Float[Tensor, "B R D"]:
        """R vectors for each picture.

        Args:
            features: the vectors of each picture, any number of them.

        Returns:
            what the latents have become.
        """
        ### BEGIN SOLUTION
        asking = self.norm_latents(self.latents).expand(len(features), -1, -1)  # [B, R, D]; expand copies nothing
        Z = torch.cat([self.norm_features(features), asking], dim=1)  # [B, M+R, D]: side by side in one softmax
        projected = self.to_queries(asking), self.to_keys(Z), self.to_values(Z)
        per_head = [each.unflatten(-1, (self.H, -1)).transpose(1, 2) for each in projected]  # [B, H, ·, D/H]
        heads = F.scaled_dot_product_attention(*per_head)  # [B, H, R, D/H]; it divides by the root of D/H itself
        X = self.latents + self.output(heads.transpose(1, 2).flatten(start_dim=2))  # onto the latents, not their norm
        change = self.mlp(self.norm_mlp(X))
        return X + change
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_Resampler", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(Resampler)

# %% [markdown]
# ## 6 · A gated block
#
# A prefix changes what the language model reads. Flamingo changes the model itself, although its weights stay frozen:
# between its layers come new blocks, in which the text looks at pictures by cross-attention. Such a block would upset
# a trained model, if it were not closed at first by two **gates**, which learning opens ([lesson
# 17](../../notebooks/17_multimodal_llms.ipynb), "Flamingo: looking from within"). A text may have several pictures,
# and each word looks at one of them alone, the last that was shown.
#
# Write the block, constructor and `forward`. `X` is `[B, N, D]`, the vectors of the text. `pictures` is
# `[B, P, R, D]`: $P$ pictures belong to each text, with $R$ vectors each. `is_picture` is `[B, N]` of type
# `torch.bool`. It is True where the text has a token `<image>`, which says that a picture is shown here: the first
# True of row $b$ stands for `pictures[b, 0]`, the second for `pictures[b, 1]`, and so on. No row has more than $P$ of
# them. Where it has fewer, or none at all, the pictures that are left over are not looked at.
#
# Position $n$ attends to the $R$ vectors of the last picture whose token stands **at or before** $n$, so the token of
# a picture sees its own picture already, and of two pictures side by side the words behind them see the second. Let
# $\mathrm{seen}_n$ be what attention gives there, with the heads put side by side. A position before any picture sees
# nothing: $\mathrm{seen}_n$ is exactly 0 there. It must not become NaN, and neither must the gradients. Then
#
# $$X \leftarrow X + \tanh(\mathrm{gate\_attention}) \cdot \mathrm{output}(\mathrm{seen}), \qquad
# X \leftarrow X + \tanh(\mathrm{gate\_mlp}) \cdot \mathrm{mlp}(\mathrm{norm\_mlp}(X))$$
#
# The MLP acts at every position, also before the first picture, and on the $X$ that the first step has made. Queries
# are made of $\mathrm{norm\_text}(X)$ by `to_queries`. Keys and values are made of the pictures as they come, by
# `to_keys` and `to_values`; there is no norm for them. Each of $H$ heads takes $D/H$ features, one head behind the
# other, and divides its $q \cdot k$ by $\sqrt{D/H}$. There is no dropout. The block has these parameters and no
# others:
#
# | name | layer |
# |---|---|
# | `norm_text`, `norm_mlp` | `nn.LayerNorm(D)` each |
# | `to_queries`, `to_keys`, `to_values`, `output` | `nn.Linear(D, D, bias=False)` each |
# | `gate_attention`, `gate_mlp` | `nn.Parameter` each, a single number of shape `[]`, 0 at first |
# | `mlp` | `nn.Sequential` of `nn.Linear(D, 4 * D)`, `nn.GELU()` and `nn.Linear(4 * D, D)` |
#
# The check sets them to numbers of its own, and looks at a new block as well: $\tanh(0) = 0$, so it gives back the
# `X` that it gets, and of its parameters only the gates have a gradient other than 0. As soon as they have moved, the
# others learn, too.
#
# For example, let `D = 2`, `H = 1`, `P = R = 2` and `N = 4`. `to_values` and `output` give back what they get,
# `to_queries` and `to_keys` are 0, $\tanh(\mathrm{gate\_attention}) = 0.5$ (the gate is about 0.5493), and `gate_mlp`
# is 0. Picture 0 has the vectors $(8, 0)$ and $(12, 0)$, picture 1 has $(0, 4)$ and $(0, 8)$, and all four positions
# hold $(1, 2)$:
#
# | position | 0 | 1 | 2 | 3 |
# |---|---|---|---|---|
# | `is_picture` | False | True | False | True |
# | seen | $(0, 0)$ | $(10, 0)$ | $(10, 0)$ | $(0, 6)$ |
# | result | $(1, 2)$ | $(6, 2)$ | $(6, 2)$ | $(1, 5)$ |
#
# <details><summary>Hint: the idea</summary>
#
# Walk along a text and count the picture tokens. What does the count say about the picture that a position looks at,
# and what does a count of 0 mean? From there on you may hide all other pictures from the attention, or fetch the one
# picture for each position. Lesson 07 has met rows in which everything is hidden.
# </details>
# <details><summary>Hint: shapes</summary>
#
# As one sequence, the vectors of all pictures are `[B, P*R, D]`, those of picture 0 first, and a mask over them is
# `[B, N, P*R]`, without an axis for the heads. Fetched for each position, they are `[B, N, R, D]`. Either way `seen`
# is `[B, N, D]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# in `__init__`: the parameters of the table · keep what `forward` needs. in `forward`: how many pictures have been
# shown so far, for each position · which vectors it may attend to · attention of the normalised text to the pictures,
# with what lies before any picture set right · output layer and MLP, each behind its gate and added
# </details>


# %% nbgrader={"grade": false, "grade_id": "GatedBlock", "locked": false, "schema_version": 3, "solution": true, "task": false}
class GatedBlock(nn.Module):
    """Flamingo's gated block: each word attends to the last picture before it, and an MLP follows.

    Args:
        D: width of text and pictures.
        H: number of heads, a divisor of D.

    Example:
        D = 2, H = 1, to_values and output the identity, to_queries and to_keys 0, gate_attention =
        0.5493 and gate_mlp = 0: X = [[[1, 2], [1, 2], [1, 2], [1, 2]]], pictures =
        [[[[8, 0], [12, 0]], [[0, 4], [0, 8]]]] and is_picture = [[False, True, False, True]] give
        [[[1, 2], [6, 2], [6, 2], [1, 5]]], up to rounding. With both gates 0 they give X.
    """

    def __init__(self, D: int, H: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.H = H
        self.norm_text, self.norm_mlp = (nn.LayerNorm(D) for _ in range(2))
        self.to_queries, self.to_keys, self.to_values, self.output = (nn.Linear(D, D, bias=False) for _ in range(4))
        # A gate of 0 closes the block; it learns all the same, since the slope of tanh is 1 there.
        self.gate_attention, self.gate_mlp = (nn.Parameter(torch.zeros(())) for _ in range(2))
        layers = [nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D)]
        self.mlp = nn.Sequential(*layers)
        ### END SOLUTION

    def forward(
        self, X: Float[Tensor, "B N D"], pictures: Float[Tensor, "B P R D"], is_picture: Bool[Tensor, "B N"]
    ) -> Float[Tensor, "B N D"]:
        """The text after it has looked at its pictures.

        Args:
            X: the vectors of the text.
            pictures: the pictures of each text, in the order in which they are shown.
            is_picture: True at the positions at which a picture is shown, at most P in each row.

        Returns:
            the new vectors of the text; X itself as long as both gates are 0.
        """
        ### BEGIN SOLUTION
        P, R = pictures.shape[1:3]
        shown = is_picture.cumsum(dim=1)  # [B, N]: how many pictures so far; picture k − 1 is the last of k
        owner = torch.arange(1, P + 1, device=X.device).repeat_interleave(R)  # [P·R]: the count at which each is last
        allowed = (owner == shown[..., None])[:, None]  # [B, 1, N, P·R], the same in all heads; none for a count of 0

        read = pictures.flatten(1, 2)  # [B, P·R, D]
        projected = self.to_queries(self.norm_text(X)), self.to_keys(read), self.to_values(read)
        Q, K, V = (each.unflatten(-1, (self.H, -1)).transpose(1, 2) for each in projected)  # [B, H, ·, D/H]
        E = (Q @ K.mT / math.sqrt(Q.shape[-1])).masked_fill(~allowed, -torch.inf)  # [B, H, N, P·R]
        # Where everything is hidden, the softmax gives NaN. Filling what is hidden with 0 removes it, and leaves the
        # other rows as they are; masked_fill passes no gradient on to what it fills, so none becomes NaN either.
        A = E.softmax(dim=-1).masked_fill(~allowed, 0.0)
        seen = (A @ V).transpose(1, 2).flatten(start_dim=2)  # [B, N, D]

        X = X + torch.tanh(self.gate_attention) * self.output(seen)
        change = self.mlp(self.norm_mlp(X))  # it reads what has just been seen
        return X + torch.tanh(self.gate_mlp) * change
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_GatedBlock", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(GatedBlock)

# %% [markdown]
# ## 7 · Counting a Q-Former
#
# BLIP-2 joins a picture encoder and a language model of billions of weights by a Q-Former of about a hundred million,
# and little else is trained ([lesson 17](../../notebooks/17_multimodal_llms.ipynb), "What the papers report"). Count
# it exactly, to the last bias. Most of it is the same whatever encoder the picture comes from; only the layers that
# read the picture depend on the width of its vectors.
#
# The Q-Former is counted without its text side, as it is used in front of a language model. It has
#
# - a LayerNorm at the entrance, of width $D$;
# - $L$ layers, each with a self-attention (queries, keys, values and output, all $D \to D$) and a LayerNorm behind
#   it, and an MLP $D \to F \to D$ and a LayerNorm behind it;
# - in layers $0, \mathrm{every}, 2 \cdot \mathrm{every}, \dots$, as far as there are layers, a cross-attention
#   besides (queries and output $D \to D$, keys and values $D_P \to D$), with a LayerNorm behind it.
#
# All linear layers have a bias, and a LayerNorm has a weight and a bias for each of $D$ features. The learned queries
# themselves are not counted, and neither is a layer that leads on to a language model. How many heads there are makes
# no difference.
#
# `D_P` is a tensor `[S]` of whole numbers, the widths of $S$ picture encoders. The other arguments are positive
# integers, the same for all of them. Return the number of parameters for each encoder, `[S]` of type `torch.int64`,
# exactly. Some models are so wide that float32 cannot hold the count: stay with integers. `every` may be larger than
# $L$; then layer 0 alone has a cross-attention. (In the body of this function `F` is the argument, and not
# `torch.nn.functional`.)
#
# For example, `L = 3`, `D = 2`, `F = 4`, `every = 2` and `D_P = [3]`. Layers 0 and 2 look at the picture:
#
# | part | parameters of one | how often | in all |
# |---|---|---|---|
# | LayerNorm at the entrance | 2 · 2 = 4 | 1 | 4 |
# | self-attention and its norm | 4 · (2 · 2 + 2) + 4 = 28 | 3 | 84 |
# | MLP and its norm | (2 · 4 + 4) + (4 · 2 + 2) + 4 = 26 | 3 | 78 |
# | cross-attention and its norm | 2 · (2 · 2 + 2) + 2 · (3 · 2 + 2) + 4 = 32 | 2 | 64 |
#
# Together these are 230. BLIP-2 has `L = 12`, `D = 768`, `F = 3072` and `every = 2`. With its two picture encoders,
# `D_P = [1408, 1024]`, the result is `[105137664, 101598720]`.
#
# <details><summary>Hint: the idea</summary>
#
# Write down the layers of one part, each with its weight and its bias, and the norm behind them. Then ask how often
# the part occurs. One of the parts does not occur in every layer: where is the first, and what if the last of them is
# the last layer?
# </details>
# <details><summary>Hint: shapes</summary>
#
# A linear layer from $n$ to $m$ features has $n \cdot m$ weights and $m$ biases. With `D_P` of shape `[S]` an
# ordinary formula counts all encoders at once. `//` divides integers, gives integers and rounds down; `/` makes
# floating-point numbers.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# a linear layer, counted from its two widths · self-attention, MLP and cross-attention, each with its norm · the
# number of layers that have a cross-attention · each part as often as it occurs, and the norm at the entrance
# </details>


# %% nbgrader={"grade": false, "grade_id": "qformer_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def qformer_parameters(L: int, D: int, F: int, D_P: Int[Tensor, "S"], every: int) -> Int[Tensor, "S"]:
    """How many parameters a Q-Former has without its text side, for several picture encoders.

    Args:
        L: the number of layers.
        D: the width of the queries.
        F: the hidden width of the MLPs.
        D_P: the widths of the picture encoders' vectors.
        every: layers 0, every, 2·every, … have a cross-attention.

    Returns:
        the number of parameters for each encoder, the learned queries not counted.

    Example:
        L = 3, D = 2, F = 4, D_P = [3] and every = 2 give [230]: 4 for the norm at the entrance, 3 ·
        28 for the self-attention, 3 · 26 for the MLPs and 2 · 32 for the cross-attention. L = 12, D
        = 768, F = 3072, D_P = [1408, 1024] and every = 2 give [105137664, 101598720].
    """

    ### BEGIN SOLUTION
    def linear(n, m):
        return n * m + m

    norm = 2 * D
    own_attention = 4 * linear(D, D) + norm
    mlp = linear(D, F) + linear(F, D) + norm
    cross_attention = 2 * linear(D, D) + 2 * linear(D_P, D) + norm  # [S], and int64 as D_P is
    looking = (L + every - 1) // every  # rounded up, since the first layer looks, whatever follows
    return norm + L * (own_attention + mlp) + looking * cross_attention
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_qformer_parameters", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(qformer_parameters)

# %% [markdown]
# ## 8 · Stretch: pictures among text
#
# This exercise earns no points. Flamingo's rule, that a word looks at the last picture alone, was made for
# cross-attention ([lesson 17](../../notebooks/17_multimodal_llms.ipynb), "Flamingo: looking from within"). Where the
# vectors of pictures stand among those of the words, a mask of the self-attention can say the same. It can also spare
# pictures the causal order: words follow each other, but the parts of a picture do not, and a causal mask would hide
# most of a picture from its own first vectors.
#
# `pictures` is `[B, N]` and says what stands at each position: 0 for a token of text, and $k > 0$ for a vector of the
# $k$-th picture. The vectors of a picture stand together, and $k$ counts up from 1. `lengths` is `[B]`, with numbers
# from 1 to $N$. Return `allowed`, `[B, N, N]`: may row $n$ attend to column $m$?
#
# 1. Every position may attend to itself and to earlier positions, $m \leq n$.
# 2. The vectors of one picture may attend to each other in both directions.
# 3. If `last_only` is True, a row of **text** may attend, among pictures, only to the last one before it. Text before
#    it stays open. Rows of pictures are not affected: they see all earlier pictures and all earlier text.
# 4. Nobody attends to positions from `lengths[b]` on.
#
# A row of text before the first picture sees no picture. Pictures may stand side by side, without text between them;
# the text behind them then sees the second, with `last_only`. Padding may begin within a picture. Rows from
# `lengths[b]` on follow rules 1 to 4 like all others, and `pictures` says what stands there, too. (With `last_only`
# such a row may end up without any True. That does no harm, since it is never used.)
#
# For example, with 1 for True, two sequences of six positions:
#
# | `pictures[b]` | `lengths[b]` | `last_only` | rows 0 to 5 |
# |---|---|---|---|
# | 1, 1, 0, 2, 2, 0 | 6 | False | 110000 · 110000 · 111000 · 111110 · 111110 · 111111 |
# | 1, 1, 0, 2, 2, 0 | 6 | True | 110000 · 110000 · 111000 · 111110 · 111110 · 001111 |
# | 0, 1, 2, 2, 2, 0 | 4 | False | 100000 · 110000 · 111100 · 111100 · 111100 · 111100 |
# | 0, 1, 2, 2, 2, 0 | 4 | True | 100000 · 110000 · 111100 · 111100 · 111100 · 101100 |
#
# In the first sequence, `last_only` changes only the last row, which loses picture 1 and keeps the text between the
# pictures. In the second one the padding begins within picture 2, whose first vector sees the second, but not the
# third.
#
# <details><summary>Hint: the idea</summary>
#
# Rules 1 and 2 open entries, and rules 3 and 4 close some of them again. Rule 3 needs the number of the last picture
# before each position. Since the numbers count up, how can it be found without a loop?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `pictures` is needed twice, as what stands in the row, `[B, N, 1]`, and as what stands in the column, `[B, 1, N]`.
# Which position comes first is `[N, N]`, and what is padding belongs to columns. Beware of 0: two tokens of text are
# not of the same picture.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. earlier, or itself. 2. or of the same picture. 3. if asked for: but not from text to a picture that is not the
# last so far. 4. and never to padding
# </details>


# %% nbgrader={"grade": false, "grade_id": "interleaved_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def interleaved_mask(pictures: Int[Tensor, "B N"], lengths: Int[Tensor, "B"], last_only: bool) -> Bool[Tensor, "B N N"]:
    """The self-attention mask of a decoder that reads text with pictures in it.

    Args:
        pictures: 0 where a token of text stands, k > 0 where a vector of the k-th picture stands.
        lengths: how many positions of each sequence are in use, from 1 to N; padding follows.
        last_only: whether text attends, among pictures, only to the last one before it.

    Returns:
        True where a position (row) may attend to a position (column).

    Example:
        pictures = [[1, 1, 0, 2, 2, 0]], lengths = [6] and last_only = False give, with 1 for True,
        the rows 110000, 110000, 111000, 111110, 111110 and 111111. With last_only = True the last
        row is 001111.
    """
    ### BEGIN SOLUTION
    row, column = pictures.unsqueeze(2), pictures.unsqueeze(1)  # [B, N, 1], [B, 1, N]
    m = torch.arange(pictures.shape[1], device=pictures.device)
    same_picture = (row == column) & (row > 0)  # text has the number 0 everywhere, and is no picture
    allowed = (m <= m[:, None]) | same_picture  # [B, N, N]
    if last_only:
        last, _ = row.cummax(dim=1)  # the largest number so far is the last picture's; 0 before any
        allowed &= (row > 0) | (column == 0) | (column == last)  # rows of pictures; text; the last picture
    return allowed & (m < lengths[:, None, None])
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_interleaved_mask", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(interleaved_mask)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_seen_or_known", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9 · What was seen, and what was known
#
# Frozen (Tsimpoukelli et al., 2021) was trained on pictures with captions, and was then asked questions about other
# pictures. It trains a picture encoder of about 40 million weights; its language model has 7 billion. The table shows
# how many per cent of the questions were answered rightly, without an example and with four examples in the prompt
# (VQAv2, table 1 of the paper):
#
# | | language model | pictures | no example | four examples |
# |---|---|---|---|---|
# | frozen | pre-trained, and frozen | shown | 29.5 | 38.2 |
# | fine-tuned | pre-trained, and trained along with the encoder | shown | 24.0 | 29.2 |
# | from scratch | random at first, and trained along | shown | 0.0 | 0.0 |
# | blind | pre-trained, and frozen | all black | 26.2 | 33.3 |
#
# The encoder is trained in all four. Answer in ten to fourteen sentences, in the cell below:
#
# 1. Why can the frozen language model with a small trained bridge answer better than the one of which every weight
#    was trained? Say what each of the two had to learn from captions, what it was asked afterwards, and what the row
#    "from scratch" tells about where the ability to answer comes from. Then propose an experiment that could prove
#    you wrong, and say which result would.
# 2. A colleague reads the first row as: "The model sees what is in 29.5 % of the pictures." What does the blind row
#    say about this? How much of the score comes from the picture, with no example and with four, and where does the
#    rest come from? The colleague then compares 24.0 with 26.2 and concludes that the fine-tuned model makes no use
#    of pictures. Why does this not follow, and which row would have to be added to decide it?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: why frozen.** The language model could answer questions, knew about the world and could follow examples
# in a prompt before it met a picture. The bridge has to learn one thing from captions: to make vectors of a picture
# that this model can read. What the model can do with what it reads stays as it was. Fine-tuning trains the language
# model on captions as well. These are few beside the texts of pre-training, all of one kind, and none of them answers
# a question, so it becomes a writer of captions and forgets part of what it could do (catastrophic forgetting); the
# questions afterwards ask for just that. That it gains less from four examples, 5.2 points where the frozen one gains
# 8.7, points in the same direction; so does the blind model, which beats it with an untouched language model and no
# picture at all. The row from scratch has seen the same pictures and captions and answers nothing: the ability comes
# from the text that the language model was trained on, and not from captions. (½ for the division of work, with what
# captions teach and what they do not; it must be said that something which was there is lost or protected. "Fewer
# weights overfit less" alone earns nothing here: it does not say what is lost, nor why the row from scratch is at 0.
# As an addition it is welcome.) An experiment with the result that would disprove the claim (½). Such as: (a) both
# language models are tested on questions in text alone, before and after; if fine-tuning has cost them nothing there,
# forgetting is not the reason. (b) Fine-tuning with a lower rate, fewer steps, or low-rank updates, chosen on
# held-out data; if one of these is as good as the frozen model, it was the way of training and not fine-tuning
# itself. (c) Text, or questions with answers, is mixed into the training data; if the fine-tuned model still stays
# behind, captions alone were not to blame. Several seeds count as an addition: the table shows one run of each. An
# experiment without the result that would count against the answer earns nothing, nor does "train a larger model".
#
# **1 point: what the blind row says.** A model that was never shown anything answers 26.2 % rightly: from the
# question alone, since many questions have a likely answer (*yes*, *white*, *two*), and the language model knows what
# is common. (Its prefix is the same for all pictures and works like a learned prompt, which may help as well; this
# need not be mentioned.) So the picture adds 3.3 points, about a ninth of the score, and with four examples
# 4.9 points, about an eighth. (½ for both: the difference as what the picture adds, at least once with its number,
# and guessing from the question as the source of the rest. The colleague's sentence is false in two ways, and one of
# them is enough: 29.5 % are questions, not pictures, and most of them would be right without a look. That 3.3 is a
# net gain, since a picture may also turn right answers into wrong ones, may be added. "Nearly everything comes from
# the language model, so pictures are useless" earns nothing for the source: a gain of 3.3 points is not none.) The
# blind row shares the frozen language model with the first row, and differs from the fine-tuned one in two respects,
# the pictures and the weights of the language model. A fine-tuned model may use its pictures and have lost even more.
# What is missing is a fine-tuned model that sees black pictures only: the distance from it to 24.0 is what the
# picture adds there. If it answers, say, 18 %, the fine-tuned model uses pictures, perhaps more than the frozen one
# does; if it answers 24 %, the colleague is right. (½ for the two differences and the missing row. Testing the
# fine-tuned model with pictures that have been exchanged among the questions is as good: the same weights, and only
# what is shown differs. "It is worse than blind, so it is worse than nothing" earns nothing.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_seen_or_known", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. Before it met a picture, the language model could answer questions and knew what is common in the world. The
#    small bridge only has to learn from captions how a picture is turned into vectors that this model can read, and
#    all that the model can do stays as it was. The fine-tuned model learns from captions in all of its weights. No
#    caption answers a question, so it becomes better at captions and forgets some of what the test asks for. The row
#    from scratch confirms where that ability comes from: it has seen the same captions, and without the text of
#    pre-training it answers nothing. To test this, I would ask both language models questions in text alone, with
#    several seeds. If the fine-tuned one answers these as well as before, I am wrong: it has forgotten nothing, and
#    the reason must lie elsewhere, for instance in the way it was trained.
#
# 2. The blind model never sees anything and still answers 26.2 % of the questions, because many have a likely answer
#    that can be guessed from their words. So the picture adds 3.3 points to the first row, and 4.9 points with four
#    examples; the rest comes from what the language model knows of questions and likely answers. Comparing 24.0 with
#    26.2, the colleague changes two things at once, the pictures and the weights of the language model. The
#    fine-tuned model may well use its pictures and yet have lost more than they give. What is missing is a fine-tuned
#    model with black pictures. If it answers 18 %, pictures are worth six points to the fine-tuned model; if it
#    answers 24 %, my colleague is right.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have
# begun.
#
# The [milestone](../../milestones/17_my_multimodal_model.ipynb) puts what you solved here to work: a model that answers
# questions about pictures, made of your own code. It is optional and earns no points.

# %%
progress()
