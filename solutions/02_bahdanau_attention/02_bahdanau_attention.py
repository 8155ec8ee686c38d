# %% [markdown]
# # Assignment 02: attention in a translator
#
# You build the attention of Bahdanau et al. (2015) for whole batches: three ways to score, weights that leave padding out,
# context vectors, one step of a decoder that looks back, the decoder itself, and a measure of whether it looks at the right
# words. At the end yours is trained on a small corpus, and you see where it looks.
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
# | 9 · a written answer | 2 | ●●○ | 10 |
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A check
# tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like, and add
# cells of your own; please leave the check cells themselves as they are. Grading examines the same properties and some
# more, on other numbers and other sizes: a ✓ is a good sign, not yet the mark. No exercise needs another one's code.
#
# **Shapes.** Decoder states `S` are `[*B, T_y, D_S]`, one for each word that is written; encoder states `H` are `[*B, T_x,
# D_H]`, one for each word that was read. `*B` stands for batch axes: none, one or several. So count axes from the end:
# `S.shape[-1]`, `dim=-1`, and `H.mT`, which swaps the last two. (In a translator row $t$ of `S` is the state that asks at
# step $t$, and comes one at a time; here all are given.) torch's fused attention functions would answer exercises 1 to 6,
# and are not allowed there.

# %% [markdown] tags=["demands"]
# **What is asked of every exercise.** Grading examines each of these; a check shows some of them. Where an exercise's own
# text says something else, that holds.
#
# - Inputs come back as they were given, and the same inputs give the same result in every call.
# - Results have the floating-point type of the inputs, float32 or float64, and are computed in it.
# - Numbers of float64 may be larger than float32 can hold.
# - Inputs of bfloat16 give results of bfloat16. (Not asked of `decode_with_attention` and `alignment_error_rate`.)
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours.
# - Small numbers count beside large ones: nothing is cut off.
# - Numbers may be 0.
# - Any size may be 1. (Not asked of `alignment_error_rate`.)
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Where a shape begins with `*B`, there may be no batch axis, one, or several.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `alignment_error_rate`.)
#   In `AttentionStep` they need to flow only from `logits` and `s_new`. In `decode_with_attention` they need to flow only
#   from `logits`.
# - Gradients are right also where a softmax is nearly 0 or 1.
# - Zeros are exact in `A` of `attention_weights`, `a` of `AttentionStep`: what gets no weight has weight 0.

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
# The score of decoder state $s_t$ and encoder state $h_i$ says how well the two fit. The simplest is their dot product,
# $E_{ti} = s_t \cdot h_i$, if both are equally wide. Compute all of them: a row for each decoder state, a column for each
# encoder state. Do not scale.
#
# <details><summary>Hint: the idea</summary>
#
# Which row of which matrix meets which in $E_{ti}$? All of them together are one matrix product.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[*B, T_y, D_H]` times `[*B, D_H, T_x]` is `[*B, T_y, T_x]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# S times H with its last two axes swapped
# </details>


# %% nbgrader={"grade": false, "grade_id": "dot_product_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dot_product_scores(S: Float[Tensor, "*B T_y D_H"], H: Float[Tensor, "*B T_x D_H"]) -> Float[Tensor, "*B T_y T_x"]:
    """Dot products of all decoder states with all encoder states.

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
# Where the two kinds of states differ in width, or in meaning, a matrix takes one to the other: $E_{ti} = s_t^\top W h_i$
# with $W\,[D_S, D_H]$.
#
# <details><summary>Hint: the idea</summary>
#
# Map the decoder states with $W$ first; then it is exercise 1.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `S @ W` is `[*B, T_y, D_S] @ [D_S, D_H]`, which is `[*B, T_y, D_H]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# S times W times H with its last two axes swapped
# </details>


# %% nbgrader={"grade": false, "grade_id": "bilinear_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bilinear_scores(
    S: Float[Tensor, "*B T_y D_S"], H: Float[Tensor, "*B T_x D_H"], W: Float[Tensor, "D_S D_H"]
) -> Float[Tensor, "*B T_y T_x"]:
    """Scores of all decoder states with all encoder states, by way of a matrix.

    Example:
        S = [[1]], W = [[2, 3]] and H = [[1, 0], [0, 1]] give E = [[2, 3]].
    """
    ### BEGIN SOLUTION
    return S @ W @ H.mT  # W takes each s to D_H numbers; then a dot product with each h
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_bilinear_scores", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(bilinear_scores)

# %% [markdown]
# ## 3 · Additive scores
#
# Bahdanau's score is a small network with one hidden layer of $D_A$ numbers: $E_{ti} = \tanh(s_t W + h_i U) \cdot v$. Each
# of the $T_y \cdot T_x$ pairs has a hidden layer of its own.
#
# <details><summary>Hint: the idea</summary>
#
# `S @ W` and `H @ U` need be computed once each, not once a pair. Only their sum is made for every pair.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `S @ W` is `[*B, T_y, D_A]`; make it `[*B, T_y, 1, D_A]`. `H @ U` is `[*B, T_x, D_A]`; make it `[*B, 1, T_x, D_A]`. Their
# sum is `[*B, T_y, T_x, D_A]`, and a product with `v [D_A]` takes the last axis away.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# hidden = tanh of (S W with a new axis before the last, plus H U with a new axis before the last two) · hidden times v
# </details>


# %% nbgrader={"grade": false, "grade_id": "additive_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def additive_scores(
    S: Float[Tensor, "*B T_y D_S"],
    H: Float[Tensor, "*B T_x D_H"],
    W: Float[Tensor, "D_S D_A"],
    U: Float[Tensor, "D_H D_A"],
    v: Float[Tensor, "D_A"],
) -> Float[Tensor, "*B T_y T_x"]:
    """Scores of all decoder states with all encoder states, by a network with one hidden layer.

    Example:
        With all widths 1, S = [[1]], H = [[-1], [0]], W = U = [[1]] and v = [2] the sums are 0 and 1, so
        E = [[0, 2 tanh(1)]].
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
# Each decoder state shares a weight of 1 among the words of its sentence, by a softmax over its scores. `mask` is `True` at
# words and `False` at padding; padding must get exactly 0, and the words must share everything. Every sentence has at least
# one word. Scores may be any numbers, also all far below zero.
#
# <details><summary>Hint: the idea</summary>
#
# A score of $-\infty$ has weight $\exp(-\infty) = 0$.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `mask` is `[*B, T_x]` and `E` is `[*B, T_y, T_x]`: with an axis of size 1 before its last, the mask lines up with every
# row.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# E with −inf where not mask · softmax over the last axis
# </details>


# %% nbgrader={"grade": false, "grade_id": "attention_weights", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_weights(E: Float[Tensor, "*B T_y T_x"], mask: Bool[Tensor, "*B T_x"]) -> Float[Tensor, "*B T_y T_x"]:
    """Attention weights: for each decoder state a distribution over the words.

    Padding may stand anywhere; each sentence has a word.

    Example:
        E = [[5, 5, 9]] and mask = [True, True, False] give A = [[0.5, 0.5, 0]].
    """
    ### BEGIN SOLUTION
    hidden = E.masked_fill(~mask.unsqueeze(-2), float("-inf"))  # [*B, T_y, T_x]
    return hidden.softmax(dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_attention_weights", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(attention_weights)

# %% [markdown]
# ## 5 · Context vectors
#
# The context of step $t$ is the weighted sum of the encoder states, $c_t = \sum_i A_{ti} h_i$.
#
# <details><summary>Hint: the idea</summary>
#
# Weighted sums of the rows of $H$, one for each row of $A$, are one matrix product.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[*B, T_y, T_x]` times `[*B, T_x, D_H]` is `[*B, T_y, D_H]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# A times H
# </details>


# %% nbgrader={"grade": false, "grade_id": "context_vectors", "locked": false, "schema_version": 3, "solution": true, "task": false}
def context_vectors(A: Float[Tensor, "*B T_y T_x"], H: Float[Tensor, "*B T_x D_H"]) -> Float[Tensor, "*B T_y D_H"]:
    """The context of every decoder step.

    Example:
        A = [[0.5, 0.5]] and H = [[2, 0], [4, 6]] give C = [[3, 3]].
    """
    ### BEGIN SOLUTION
    return A @ H  # each row of A weighs the rows of H
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_context_vectors", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(context_vectors)

# %% [markdown]
# ## 6 · One decoder step
#
# Now the decoder's step, for a batch. Given are the last words `y [B]`, the states before the step `s [B, D_S]`, the
# encoder states `H [B, T_x, D_H]` and the `mask [B, T_x]`:
#
# 1. scores $e_i = v(\tanh(W(s) + U(h_i)))$, by three layers: the state **before** the step asks;
# 2. weights $a$: softmax over the words;
# 3. context $c = \sum_i a_i h_i$;
# 4. new state: `cell([embedding(y); c], s)`, the word's vector first ($[a; b]$ are two vectors joined along their last
#    axis);
# 5. logits: `out([s_new; c])`, the state first.
#
# Six layers, with just these names: `self.embedding` = `nn.Embedding(V, D_E)`; three `nn.Linear` **without bias**: `W` from
# $D_S$ to $D_A$, `U` from $D_H$ to $D_A$, `v` from $D_A$ to 1; `cell` = `nn.GRUCell(D_E + D_H, D_S)`; `out` =
# `nn.Linear(D_S + D_H, V)`. Return logits, new state, weights.
#
# <details><summary>Hint: the idea</summary>
#
# One state asks for each sentence, so $T_y$ is gone: scores are `[B, T_x]`.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `self.W(s)` is `[B, D_A]`; with a new axis, `[B, 1, D_A]`, it lines up with `self.U(H)`, `[B, T_x, D_A]`. `self.v(…)` is
# `[B, T_x, 1]`: take the last axis away. `a[:, None] @ H` is `[B, 1, D_H]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# e = v of tanh(W of s, with an axis, plus U of H), last axis away · a = softmax of e, −inf where not mask · c = a times H ·
# s_new = cell(embedding of y joined with c, s) · logits = out(s_new joined with c)
# </details>


# %% nbgrader={"grade": false, "grade_id": "AttentionStep", "locked": false, "schema_version": 3, "solution": true, "task": false}
class AttentionStep(nn.Module):
    """One step of a decoder that looks at the encoder's states.

    Args:
        V: size of the vocabulary.
        D_E: width of a word's vector.
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
        """Returns logits, the new state, and the weights."""
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
# `step(y, s, H, mask)` does what yours of exercise 6 does: it takes last words, states, encoder states and mask, and gives
# logits `[B, V]`, new states `[B, D_S]` and weights `[B, T_x]`. (In the check it is another one, so this exercise does not
# depend on yours.) Run it over a whole translation `y [B, T_y]` with teacher forcing, and collect the logits and the
# weights of all steps. `s` is the state before the first step, $s_0$; padding in `y` needs no special treatment. What is
# fed in at step $t$ is the right word before: `START`, $y_1$, …, $y_{T_y - 1}$.
#
# <details><summary>Hint: the idea</summary>
#
# It is the loop of lesson 01, with one more thing to collect: where each step looked.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `T_y` times `[B, V]`, stacked along `dim=1`, is `[B, T_y, V]`; the weights likewise.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# previous = START for all · for each place t: logits, s, a = step(previous, s, H, mask); keep logits and a; previous = y at
# t · stack both along the second axis
# </details>


# %% nbgrader={"grade": false, "grade_id": "decode_with_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def decode_with_attention(
    step: Callable,
    y: Int[Tensor, "B T_y"],
    s: Float[Tensor, "B D_S"],
    H: Float[Tensor, "B T_x D_H"],
    mask: Bool[Tensor, "B T_x"],
) -> tuple[Float[Tensor, "B T_y V"], Float[Tensor, "B T_y T_x"]]:
    """The logits for y_1, …, y_{T_y}, given the right words before each, and the weights of every step."""
    ### BEGIN SOLUTION
    previous = torch.full_like(y[:, 0], START)  # [B]
    logits, weights = [], []
    for right in y.unbind(dim=1):
        scores, s, a = step(previous, s, H, mask)  # [B, V], [B, D_S], [B, T_x]
        logits.append(scores)
        weights.append(a)
        previous = right  # the teacher's word, whatever the decoder would have written
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
# Does attention look at the words that are being translated? People who aligned sentences by hand marked two kinds of links
# between a target word and a source word: **sure** ones ($S$), which must be found, and **possible** ones ($P$), which may
# be found; every sure link is possible, too. For links $A$ that a model proposes (Och and Ney, 2003):
#
# $$\text{rate} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}$$
#
# All three come as boolean tables `[B, T_y, T_x]`. The sizes are counted over **all** sentences, and one fraction is
# formed. Return a tensor without axes.
#
# <details><summary>Hint: the idea</summary>
#
# The size of a set of links is a sum over a table; what two sets share is `&`.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Everything is `[B, T_y, T_x]` until `.sum()`, which leaves no axis.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1 minus (how many are links and sure, plus how many are links and possible) over (how many links, plus how many sure)
# </details>


# %% nbgrader={"grade": false, "grade_id": "alignment_error_rate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def alignment_error_rate(
    links: Bool[Tensor, "B T_y T_x"], sure: Bool[Tensor, "B T_y T_x"], possible: Bool[Tensor, "B T_y T_x"]
) -> Float[Tensor, ""]:
    """The error rate of proposed links against sure and possible ones, over a whole corpus; a scalar, float32.

    Example:
        Links that are just the sure ones have rate 0; links none of which is possible have rate 1.
    """
    ### BEGIN SOLUTION
    hits = (links & sure).sum() + (links & possible).sum()
    return 1 - hits / (links.sum() + sure.sum())
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_alignment_error_rate", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(alignment_error_rate)

# %% [markdown]
# Now train your decoder on short sentences in English and French, and look where it looks. (The second cell is not graded,
# nor run when your notebook is. It works as soon as exercises 6 to 8 do.)


# %%
def try_it_out(steps=400, D=64):
    """Trains an encoder and your decoder on a small corpus and shows its weights for the sky."""
    import matplotlib.pyplot as plt

    from utils.models.training import train
    from utils.data.translation import PAD, batches, corpus, lecture, vocabulary

    torch.manual_seed(0)
    english, french = vocabulary("english"), vocabulary("french")
    words = nn.Embedding(len(english), D)
    reader = nn.GRU(D, D // 2, batch_first=True, bidirectional=True)
    step = AttentionStep(len(french), D_E=D, D_H=D, D_S=D, D_A=D)
    model = nn.ModuleList([words, reader, step])

    def run(source, target):
        H, _ = reader(words(source))
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
    rate = alignment_error_rate(links[:, :-1], sure[:, :-1], possible[:, :-1])  # [STOP] is no word
    print(f"alignment error rate of this sentence: {rate:.2f}")


# %% tags=["play"]
try:
    try_it_out()
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_looking_back", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9 · Looking back
#
# Answer in three to six sentences, in the cell below:
#
# 1. Why does quality hardly fall with the length of a sentence once there is attention, while it falls steeply without?
#    What is the price, in the number of scores that are computed?
# 2. Somebody shuffles the encoder's states $h_1, \dots, h_{T_x}$, and the mask with them, before the decoder sees them; its
#    first state stays as it was. What changes in the words that it writes, what in the weights? Then how can it translate
#    sentences whose meaning depends on the order of words?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: why, and the price.** Each step gets a context of its own, a fresh look at all encoder states, so nothing
# need be squeezed into one vector whose size does not grow with the sentence. The price is one score for each pair of
# words, T_x · T_y (½ each).
#
# **1 point: order.** The words do not change: scores, softmax and weighted sum treat the states as a collection; the
# weights move with the states. Order is in the states themselves: the encoder is recurrent, so each h_i knows what stands
# before (and, read in both directions, behind) its word. (½ for "nothing changes", with a reason; ½ for where order comes
# from.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_looking_back", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# With attention every step of the decoder computes a context of its own from all encoder states, so a long sentence is
# not squeezed into one vector of fixed size. The price is a score for every pair of a word that is written and a word
# that was read, T_x · T_y of them. Shuffling the encoder states changes nothing in the words, and the weights move with
# the states: each state keeps its score, the softmax gives it the same weight, and the sum has no order. The order of the
# words is inside the states: the encoder reads word by word, so each state depends on the words before it, and in a
# bidirectional encoder also on those behind it.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.

# %%
progress()
