# %% [markdown]
# # Assignment 09: the Transformer block
#
# You write the parts of a Transformer block by hand: two norms and a gated MLP. You put a block together, with its norms where
# the first Transformers had them and where most models have them now, and count its parameters and operations. Then you put a
# mixture of experts in the place of its MLP: gates that choose a few experts for each token, and a loss that keeps the experts
# equally busy.
#
# **Goals.** You can write layer normalisation, RMSNorm and SwiGLU from their formulas, wire a block in both ways and say what
# the wiring does to gradients, count a block exactly, and route tokens to experts so that only the chosen ones are computed.
#
# **What you need.** [Lesson 09](../../notebooks/09_transformer_block.ipynb), the heads of assignment 06 and the masks of
# assignment 07. The [glossary](../../docs/glossary.md) has all terms and symbols.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · layer normalisation | 2 | ●○○ | 15 |
# | 2 · RMSNorm | 2 | ●○○ | 10 |
# | 3 · a gated MLP: SwiGLU | 2 | ●●○ | 15 |
# | 4 · a Transformer block | 4 | ●●● | 30 |
# | 5 · counting a block | 2 | ●●○ | 15 |
# | 6 · the gates of a mixture of experts | 3 | ●●○ | 15 |
# | 7 · the load-balancing loss | 2 | ●●○ | 15 |
# | 8 · a mixture of experts | stretch | ●●● | 20 |
# | 9 · a written answer | 3 | ●●○ | 20 |
#
# It takes about 135 minutes in all, plus about 20 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. No exercise needs another exercise's
# code.
#
# **Masks.** A mask is boolean, and `True` means: **may attend**. Its rows are the queries, its columns the keys. This is the
# polarity of `scaled_dot_product_attention`; `nn.MultiheadAttention` has the opposite one.
#
# **Shapes.** Each position of a sequence holds the vector of one token, with its features in the last axis. `*S` stands for
# any number of axes in front of it, or none: one position by itself, a sequence, a batch of sequences. So count from the end.
# `D` is the width of the vectors, `D_F` the hidden width of an MLP, `H` the number of heads; `T` is the number of tokens,
# whichever sequences they come from, and `E` the number of experts. A name such as `N` in a shape is no variable: read it
# from a tensor, `X.shape[-2]`. Results have the type of the numbers that came in (double precision if these are).

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
# - Numbers may be 0. (Not asked of `top_k_gates` and `balance_loss`.)
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight.
# - Gradients are right also where a softmax is nearly 0 or 1.
# - Zeros are exact in `gates` of `top_k_gates`: a number that should be 0 there is 0, not merely small.
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
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.progress import progress

# %% [markdown]
# ## 1 · Layer normalisation
#
# Each block adds to the residual stream, so the numbers in it grow with depth, and the layers that read it would have to cope
# with every scale. A norm in front of them gives each position the same mean and the same scale, whatever was added before
# ([lesson 09](../../notebooks/09_transformer_block.ipynb), "Layer normalisation"). You write it by hand once; from then on
# `nn.LayerNorm` does it.
#
# At each position, a vector $x$ of $D$ features becomes
#
# $$y = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot \mathrm{weight} + \mathrm{bias}, \qquad
# \mu = \frac{1}{D} \sum_{d=1}^{D} x_d, \qquad \sigma^2 = \frac{1}{D} \sum_{d=1}^{D} (x_d - \mu)^2$$
#
# The variance $\sigma^2$ is divided by $D$, not by $D - 1$, and $\varepsilon$ (`eps`) stands inside the root. $\odot$ is the
# elementwise product, number by number. `weight` and `bias` are `[D]`, the same at all positions. No position may depend on
# another one.
#
# Where all features of a position are equal, and so also where $D = 1$, $x - \mu$ is 0, and the result is `bias` (up to
# rounding). The
# features of a position may lie far from 0 compared with their spread, say around 5000 with a standard deviation of 1: the
# result has to be right there too.
#
# torch's own layer normalisation is not allowed here (`F.layer_norm`, `nn.LayerNorm`), nor are its batch, group and instance
# normalisation.
#
# <details><summary>Hint: the idea</summary>
#
# The mean is needed before the variance. Along which axis do both run, and does the answer change when there is one more axis
# in front?
# </details>
# <details><summary>Hint: shapes</summary>
#
# For `X` `[*S, D]` mean and variance are `[*S, 1]`: `keepdim=True` keeps the last axis, so that each position meets its own
# mean and variance. `weight` and `bias`, `[D]`, line up with the last axis by themselves.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# mean over the features · centred = X minus the mean · variance = mean of the squares of centred · divide centred by the root
# of variance plus eps · times weight, plus bias
# </details>


# %% nbgrader={"grade": false, "grade_id": "layer_norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def layer_norm(
    X: Float[Tensor, "*S D"], weight: Float[Tensor, "D"], bias: Float[Tensor, "D"], eps: float
) -> Float[Tensor, "*S D"]:
    """Each position with mean 0 and variance 1 over its features, then scaled and shifted.

    Args:
        X: the features of any number of positions.
        weight: a factor for each feature.
        bias: what is added to each feature.
        eps: what is added to the variance, inside the root.

    Returns:
        the normalised features.

    Example:
        X = [[1, 3]], weight = [2, 1], bias = [0, 5], eps = 3: the mean is 2, the variance is 1, and
        √(1 + 3) = 2. So the normalised features are [−0.5, 0.5], and the result is [[−1, 5.5]].
    """
    ### BEGIN SOLUTION
    # The mean is subtracted before squaring: far from 0, mean(X²) − mean² would be a small difference of huge numbers.
    centred = X - X.mean(dim=-1, keepdim=True)  # the mean is [*S, 1]
    variance = (centred**2).mean(dim=-1, keepdim=True)  # [*S, 1], over D; torch.var would need correction=0
    # With eps inside the root, the slope of the root is finite even where the variance is 0.
    return centred / torch.sqrt(variance + eps) * weight + bias
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_layer_norm", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(layer_norm)

# %% [markdown]
# ## 2 · RMSNorm
#
# Many language models, Llama among them, leave out half of layer normalisation: the mean is not subtracted, and there is no
# bias. What remains is one division by a scale, which is cheaper and, in the experiments of its authors, about as good
# ([lesson 09](../../notebooks/09_transformer_block.ipynb), "RMSNorm: without the mean").
#
# At each position, a vector $x$ of $D$ features is divided by its root mean square:
#
# $$y = \frac{x}{\sqrt{m + \varepsilon}} \odot \mathrm{weight}, \qquad m = \frac{1}{D} \sum_{d=1}^{D} x_d^2$$
#
# Here, as in torch and in Llama, $\varepsilon$ (`eps`) stands inside the root; the code of the paper's authors adds it to the
# root. A position of zeros stays zeros, and its gradient is finite. Whether you compute in the type of `X` or, as Llama's
# code does, in float32 and convert the result back to the type of `X`, is up to you.
#
# `F.rms_norm` and `nn.RMSNorm` are not allowed here, nor are `F.layer_norm` and `nn.LayerNorm`.
#
# <details><summary>Hint: the idea</summary>
#
# Root, mean, square: the name has the three steps in reverse order.
# </details>
# <details><summary>Hint: shapes</summary>
#
# For `X` `[*S, D]` the mean of the squares is `[*S, 1]`, one number for each position; `weight`, `[D]`, lines up with the last
# axis by itself.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# squares of X · their mean over the features · add eps, take the root · X over the root · times weight
# </details>


# %% nbgrader={"grade": false, "grade_id": "rms_norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rms_norm(X: Float[Tensor, "*S D"], weight: Float[Tensor, "D"], eps: float) -> Float[Tensor, "*S D"]:
    """Each position divided by the root mean square of its features, then scaled.

    Args:
        X: the features of any number of positions.
        weight: a factor for each feature.
        eps: what is added to the mean of the squares, inside the root.

    Returns:
        the normalised features.

    Example:
        X = [[1, 7]], weight = [7, 2], eps = 24: the mean of the squares is (1 + 49)/2 = 25, and
        √(25 + 24) = 7. So the result is [[1, 2]].
    """
    ### BEGIN SOLUTION
    # The mean of the squares, not their sum: features that all have size 1 stay as they are, however many there are.
    mean_square = (X**2).mean(dim=-1, keepdim=True)  # [*S, 1]
    return X * torch.rsqrt(mean_square + eps) * weight  # rsqrt is 1 over the root
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_rms_norm", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(rms_norm)

# %% [markdown]
# ## 3 · A gated MLP: SwiGLU
#
# In the MLP of the first Transformers one projection makes the hidden layer, and an activation function acts on each number in
# it. A gated MLP has two projections, of which one decides, number by number, how much of the other passes through. SwiGLU is
# the gated MLP of Llama and of many models after it ([lesson 09](../../notebooks/09_transformer_block.ipynb), "Gated MLPs:
# SwiGLU").
#
# At each position of `X` `[*S, D]`:
#
# $$Y = \big(\mathrm{SiLU}(X W_1) \odot X W_2\big)\, W_3, \qquad \mathrm{SiLU}(x) = x \cdot \sigma(x) = \frac{x}{1 + e^{-x}}$$
#
# $\sigma$ is the logistic sigmoid here, and $\odot$ the elementwise product. $X W_1$ and $X W_2$ are `[*S, D_F]`, where `D_F`
# is the hidden width, and $Y$ is `[*S, D]`. Make three layers without bias: `W_1` and `W_2`, each
# `nn.Linear(D, D_F, bias=False)`, and `W_3`, `nn.Linear(D_F, D, bias=False)`. These are three matrices where the ordinary MLP
# has two, so with $D_F = 8D/3$ they have as many parameters as the two of an ordinary MLP of hidden width $4D$.
#
# Everything in torch is allowed, `F.silu` and `F.glu` included. If you write SiLU by hand, use `torch.sigmoid`: with the
# fraction above the results are right, but where $e^{-x}$ overflows the gradient is NaN. Where `X` is 0, `Y` is 0.
#
# <details><summary>Hint: the idea</summary>
#
# Only one of the two factors passes through the activation function. Which one does the formula name?
# </details>
# <details><summary>Hint: shapes</summary>
#
# Both factors are `[*S, D_F]`, and so is their elementwise product. `nn.Linear` acts on the last axis, however many there are
# in front.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# gate = SiLU of the first projection of X · hidden = gate times the second projection of X, elementwise · project hidden back
# to D
# </details>


# %% nbgrader={"grade": false, "grade_id": "SwiGLU", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SwiGLU(nn.Module):
    """A gated MLP.

    Args:
        D: width of the vectors that come in and go out.
        D_F: hidden width.

    Example:
        D = D_F = 1 and the weights 1, 3 and 0.5: X = [[2]] gives the gate 2 · σ(2) = 1.762 and the
        other factor 6, so that Y = [[5.285]], which is 1.762 · 6 · 0.5.
    """

    def __init__(self, D: int, D_F: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.W_1 = nn.Linear(D, D_F, bias=False)
        self.W_2 = nn.Linear(D, D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D, bias=False)
        ### END SOLUTION

    def forward(self, X: Float[Tensor, "*S D"]) -> Float[Tensor, "*S D"]:
        """The MLP at each position."""
        ### BEGIN SOLUTION
        gate = F.silu(self.W_1(X))  # [*S, D_F]; F.silu has right gradients however negative its input
        return self.W_3(gate * self.W_2(X))  # [*S, D_F] back to [*S, D]
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_SwiGLU", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(SwiGLU)

# %% [markdown]
# ## 4 · A Transformer block
#
# Attention moves information between tokens, and an MLP then works on each token by itself. Neither replaces its input: each
# **adds** its result to the residual stream. What is left to decide is where the two norms stand, and this decides how well a
# deep stack trains without warm-up ([lesson 09](../../notebooks/09_transformer_block.ipynb), "Post-norm and pre-norm"). Write
# the block in both wirings, so that one argument chooses between them.
#
# With `norm_first=False`, **post-norm** as in Vaswani et al. (2017), a norm stands after each sum (2 points):
#
# $$X_1 = \mathrm{norm}_1\big(X + \mathrm{attention}(X)\big), \qquad
# X_\mathrm{new} = \mathrm{norm}_2\big(X_1 + \mathrm{MLP}(X_1)\big)$$
#
# With `norm_first=True`, **pre-norm** as in GPT-2, a norm stands before each sublayer, and none on the residual stream itself
# (2 points):
#
# $$X_1 = X + \mathrm{attention}\big(\mathrm{norm}_1(X)\big), \qquad
# X_\mathrm{new} = X_1 + \mathrm{MLP}\big(\mathrm{norm}_2(X_1)\big)$$
#
# The **attention** is that of assignment 06, with a mask: `W_QKV` gives queries, keys and values side by side, in this order;
# head $h$ owns the columns from $h \cdot D/H$ to $(h+1) \cdot D/H$ of each third, its upper end not included; the scores are
# divided by $\sqrt{D/H}$; the joined heads go through `W_O`. The **MLP** is `W_in`, then GELU, then `W_out`. The GELU is the
# exact one, torch's default, not its approximation by tanh.
#
# | name | layer | |
# |---|---|---|
# | `norm_1`, `norm_2` | `nn.LayerNorm(D)` | the norms of the attention and of the MLP |
# | `W_QKV` | `nn.Linear(D, 3*D)` | queries, keys and values |
# | `W_O` | `nn.Linear(D, D)` | output projection |
# | `W_in` | `nn.Linear(D, D_F)` | to the hidden width |
# | `W_out` | `nn.Linear(D_F, D)` | and back |
#
# The mask is `[B, N, N]`, the same for all heads of a sequence, or `None`: then every token may attend to every token. Each row
# of a mask allows at least one key, and `H` divides `D`. There is no dropout.
#
# `F.scaled_dot_product_attention` is allowed here; `nn.MultiheadAttention` and `nn.TransformerEncoderLayer` are not.
#
# <details><summary>Hint: the idea</summary>
#
# Both wirings use the same two sublayers. Write these first, as methods of your own, each a function of what it reads and
# nothing else. Two lines are then left for each wiring. To which X is a sublayer's result added: to the one that it read?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `W_QKV(X)` is `[B, N, 3*D]`, each third of it `[B, N, D]`. Attention wants `[B, H, N, D/H]`: the last axis is cut first, then
# two axes change places, and after the attention it all goes back. Scores are `[B, H, N, N]`. Which axis does the mask,
# `[B, N, N]`, lack?
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# attention of X: thirds of W_QKV · heads · softmax over the allowed keys · weighted sums · join the heads · W_O
#
# MLP of X: W_in · GELU · W_out
#
# if norm_first: add to the stream the attention of what norm_1 makes of it, then the MLP of what norm_2 makes of it · else:
# after each sum, its norm
# </details>


# %% nbgrader={"grade": false, "grade_id": "TransformerBlock", "locked": false, "schema_version": 3, "solution": true, "task": false}
class TransformerBlock(nn.Module):
    """A Transformer block: self-attention and an MLP, each with a residual connection and a norm.

    Args:
        D: width of the vectors.
        H: number of heads, each D/H wide.
        D_F: hidden width of the MLP.
        norm_first: pre-norm if True, post-norm if False.

    Example:
        If the weights and biases of W_O and W_out are all 0, both sublayers add nothing. Then a
        pre-norm block returns X as it is, [[[1, 3]]] for X = [[[1, 3]]]. A new post-norm block
        normalises it twice, which gives [[[−1, 1]]] (up to ε).
    """

    def __init__(self, D: int, H: int, D_F: int, norm_first: bool):
        super().__init__()
        ### BEGIN SOLUTION
        self.H, self.norm_first = H, norm_first
        self.norm_1, self.norm_2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)
        ### END SOLUTION

    def forward(self, X: Float[Tensor, "B N D"], mask: Bool[Tensor, "B N N"] | None = None) -> Float[Tensor, "B N D"]:
        """The residual stream after this block.

        Args:
            X: the residual stream before it.
            mask: True where a query (row) may attend to a key (column); None if all may attend to
                all.

        Returns:
            X_new.
        """
        ### BEGIN SOLUTION
        if self.norm_first:
            X = X + self.attention(self.norm_1(X), mask)  # what is read is normalised, what is added to never is
            return X + self.mlp(self.norm_2(X))
        X = self.norm_1(X + self.attention(X, mask))
        return self.norm_2(X + self.mlp(X))

    def attention(self, X, mask):
        heads = self.W_QKV(X).unflatten(-1, (3, self.H, -1))  # [B, N, 3, H, D/H]
        Q, K, V = heads.permute(2, 0, 3, 1, 4)  # [B, H, N, D/H] each
        if mask is not None:
            mask = mask.unsqueeze(1)  # [B, 1, N, N], the same for all heads
        Y = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
        return self.W_O(Y.transpose(1, 2).flatten(2))

    def mlp(self, X):
        return self.W_out(F.gelu(self.W_in(X)))
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_TransformerBlock", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(TransformerBlock)

# %% [markdown]
# ## 5 · Counting a block
#
# How large is a Transformer, and what does it cost to run it? Most of both is in its blocks: in the smallest GPT-2, 12 blocks
# of 7,087,872 parameters each make 85 of 124 million; the rest are embeddings and a last norm. Two formulas tell size and
# cost for any width ([lesson 09](../../notebooks/09_transformer_block.ipynb), "Counting a block").
#
# Count for `S` blocks at once, each with a width `D`, a hidden width `D_F` and a number of tokens `N` of its own: all three are
# `[S]`. There are two kinds of blocks:
#
# | | `gated=False` | `gated=True` |
# |---|---|---|
# | attention | `W_QKV` `[D, 3*D]`, `W_O` `[D, D]` | the same |
# | MLP | `W_in` `[D, D_F]`, `W_out` `[D_F, D]` | SwiGLU: `W_1` and `W_2` `[D, D_F]`, `W_3` `[D_F, D]` |
# | biases | in all four layers | none anywhere |
# | norms | two LayerNorms, each with weight and bias | two RMSNorms, each with a weight |
#
# Return two tensors of integers, `[S]`:
#
# 1. `parameters`: how many numbers such a block learns;
# 2. `operations`: the floating-point operations of its matrix products for one sequence of `N` tokens. A product of `[n, k]`
#    and `[k, m]` counts $2\,n\,k\,m$, a multiplication and an addition for each term. The products are those with the
#    matrices of the table, the scores of all heads, and the weighted sums of all heads. Softmax, norms, activation functions,
#    biases and the elementwise product of SwiGLU are left out.
#
# Both counts have to be exact, however long the sequences are. Nothing is taken off for a mask. (Kaplan et al. 2020, table 1,
# have $2\,N^2 D$ operations where we count $4\,N^2 D$ for scores and weighted sums together.)
#
# <details><summary>Hint: the idea</summary>
#
# Write the parameters as a sum over the layers of the table, a line for each. Each matrix of the table is used in one product
# of the operations, but two products have no parameters at all. Why does the number of heads appear nowhere?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `D`, `D_F` and `N` are tensors `[S]` of integers; their products and sums are again `[S]`, each block by itself. `gated` is
# one truth value for all. All heads together multiply `[N, D/H]` by `[D/H, N]` H times, and `[N, N]` by `[N, D/H]` H times.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# parameters = rows times columns of each matrix, plus its biases where there are any, plus the norms · operations = twice N
# times rows times columns of each matrix, plus both products of attention · no / and no .float(): integers stay exact
# </details>


# %% nbgrader={"grade": false, "grade_id": "count_block", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_block(
    D: Int[Tensor, "S"], D_F: Int[Tensor, "S"], N: Int[Tensor, "S"], gated: bool
) -> tuple[Int[Tensor, "S"], Int[Tensor, "S"]]:
    """Parameters of Transformer blocks, and operations of their matrix products.

    Args:
        D: widths of the vectors.
        D_F: hidden widths of the MLPs.
        N: numbers of tokens.
        gated: SwiGLU, RMSNorm and no biases if True; an MLP of two layers, LayerNorm and biases if
            False.

    Returns:
        parameters and operations of each block.

    Example:
        D = [2], D_F = [3] and N = [1] give 49 parameters (18 + 6 + 9 + 8 + 8) and 64 operations (24
        + 8 + 12 + 12 + 4 + 4); with gated=True 38 parameters (12 + 4 + 18 + 4) and 76 operations
        (24 + 8 + 36 + 4 + 4).
    """
    ### BEGIN SOLUTION
    attention = D * 3 * D + D * D  # W_QKV and W_O
    if gated:
        mlp = 3 * D * D_F  # W_1, W_2 and W_3
        biases, norms = 0, 2 * D
    else:
        mlp = 2 * D * D_F  # W_in and W_out
        biases, norms = 3 * D + D + D_F + D, 2 * (2 * D)
    # Each matrix multiplies all N tokens. Scores and weighted sums have no matrix of their own: for all heads together they
    # take as many operations as [N, D] @ [D, N] and [N, N] @ [N, D].
    operations = 2 * N * (attention + mlp) + 2 * N * N * D + 2 * N * N * D
    return attention + mlp + biases + norms, operations
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_count_block", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(count_block)

# %% [markdown]
# ## 6 · The gates of a mixture of experts
#
# In a mixture of experts the block has $E$ MLPs, its experts, in the place of one, and each token is sent to $k$ of them
# ([lesson 09](../../notebooks/09_transformer_block.ipynb), "Mixture of experts"). So the block has many parameters, of which a
# token uses few. A router, a linear layer that gives each token $E$ logits, decides which experts a token is sent to, and how
# much each of them counts. Here you turn these logits into gates.
#
# For each token, choose the $k$ experts with the largest logits. Their gates are the softmax over these $k$ logits alone; the
# gates of all other experts are exactly 0:
#
# $$g_e = \frac{e^{z_e}}{\sum_{j \in \mathcal{K}} e^{z_j}} \quad \mathrm{for}\ e \in \mathcal{K}, \qquad\qquad
# g_e = 0 \quad \mathrm{for}\ e \notin \mathcal{K}$$
#
# where $z$ are the token's logits and $\mathcal{K}$ are its $k$ chosen experts. `logits` is `[*S, E]`, and so are the gates:
# entry `e` belongs to expert `e`. The gates of a token sum to 1. With $k = E$ this is the ordinary softmax; with $k = 1$ the
# chosen expert has the gate 1 whatever its logit, so that no gradient reaches the router through it. For a larger $k$
# gradients flow to the chosen logits, and those of all other logits are 0. `k` is at least 1 and at most `E`. No two logits
# of a token are equal: which of two equal logits counts as the larger is not asked.
#
# <details><summary>Hint: the idea</summary>
#
# What is to get nothing from a softmax has the logit −∞; you know this from the masks of assignment 07. Or the other way round:
# first take the softmax of k numbers, then bring the results to their places.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `logits.topk(k, dim=-1)` gives two results of shape `[*S, k]`: the largest logits of each token, and the indices of their
# experts. `gates.scatter(-1, experts, values)` returns a copy of `gates`, `[*S, E]`, in which, along the last axis, the
# numbers of `values`, `[*S, k]`, stand at the indices `experts`, `[*S, k]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# values, experts = the k largest logits of each token, and where they are · softmax of values over the last axis · a tensor of
# zeros like logits · put the results at experts
# </details>


# %% nbgrader={"grade": false, "grade_id": "top_k_gates", "locked": false, "schema_version": 3, "solution": true, "task": false}
def top_k_gates(logits: Float[Tensor, "*S E"], k: int) -> Float[Tensor, "*S E"]:
    """The gates of a mixture of experts, of which k are not 0 for each token.

    Args:
        logits: what the router gives for each token and expert.
        k: how many experts a token is sent to.

    Returns:
        the gates: for each token a softmax over its k largest logits, and 0 for all other experts.

    Example:
        logits = [−1, 0, −2, ln 3] and k = 2 give the gates [0, 0.25, 0, 0.75].
    """
    ### BEGIN SOLUTION
    values, experts = logits.topk(k, dim=-1)  # [*S, k] each
    gates = values.softmax(dim=-1)  # over the chosen logits alone, so that they sum to 1
    # Each gate in its expert's place, and exact zeros elsewhere. Indices carry no gradient, but the values do.
    return torch.zeros_like(logits).scatter(-1, experts, gates)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_top_k_gates", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(top_k_gates)

# %% [markdown]
# ## 7 · The load-balancing loss
#
# Nothing in the gates keeps a router from sending all tokens to the same few experts: these learn, get better, and are chosen
# even more often, while the others never learn ([lesson 09](../../notebooks/09_transformer_block.ipynb), "The load-balancing
# loss"). So one adds to the model's loss a small multiple of a number that grows when the load is unequal:
#
# $$\mathcal{L} = E \sum_{e=1}^{E} f_e\, P_e$$
#
# - $f_e$ is the **share of the choices** that fell on expert $e$. Each of the $T$ tokens chooses the $k$ experts with its
#   largest logits, so there are $T \cdot k$ choices, and the $f_e$ sum to 1.
# - $P_e$ is the **mean probability** of expert $e$: the mean over the tokens of the softmax over all $E$ logits.
#
# `logits` is `[T, E]`; return a single number, a tensor of shape `[]`. Uniform routing, where all $f_e$ and all $P_e$ are
# $1/E$, gives 1; if, with $k = 1$, all tokens choose one expert with a probability near 1, the loss is near $E$. The factor α
# of Fedus et al. (2022), by which the loss is multiplied before it is added to the model's, is left out here. Counts have no
# gradient: it flows through $P$ alone. As in exercise 6, no two logits of a token are equal.
#
# <details><summary>Hint: the idea</summary>
#
# Two vectors of E numbers, each of which sums to 1: one is counted, the other is averaged.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `logits.topk(k, dim=-1).indices` is `[T, k]`. `F.one_hot(…, E)` makes integers `[T, k, E]` of it; summed over their first
# two axes they are the counts, `[E]`. Divide these by the number of choices. The softmax is `[T, E]`, its mean over the
# tokens `[E]`. The result has the type of the logits.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# chosen = indices of the k largest logits of each token · f = how often each expert occurs in chosen, over T k · P = softmax of
# logits over the experts, averaged over the tokens · E times the sum of f P
# </details>


# %% nbgrader={"grade": false, "grade_id": "balance_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def balance_loss(logits: Float[Tensor, "T E"], k: int) -> Float[Tensor, ""]:
    """The load-balancing loss of Switch Transformers, for k choices a token.

    Args:
        logits: what the router gives for each token and expert.
        k: how many experts a token is sent to.

    Returns:
        E times the sum over the experts of (share of the choices) times (mean probability).

    Example:
        Two experts and k = 1: logits = [[ln 3, 0], [ln 3, 0]] give f = [1, 0], P = [0.75, 0.25] and
        the loss 1.5. With logits = [[ln 3, 0], [0, ln 3]] both f and P are [0.5, 0.5], and the loss
        is 1.
    """
    ### BEGIN SOLUTION
    T, E = logits.shape
    chosen = logits.topk(k, dim=-1).indices  # [T, k]
    f = F.one_hot(chosen, E).sum(dim=(0, 1)).to(logits.dtype) / (T * k)  # [E], counted: it has no gradient
    # Over all experts: the gradient lowers what is chosen often, and raises what the gates alone would never raise.
    P = logits.softmax(dim=-1).mean(dim=0)  # [E]
    return E * (f * P).sum()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_balance_loss", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(balance_loss)

# %% [markdown]
# ## 8 · Stretch: a mixture of experts
#
# This exercise earns no points. The gates tell what a mixture of experts may leave out: an expert whose gate is 0 adds
# nothing to the token's result, and need not be computed for it ([lesson 09](../../notebooks/09_transformer_block.ipynb),
# "Mixture of experts"). Only then does a token cost no more than the experts that it is sent to, however many others there
# are.
#
# Expert $e$ is an MLP without biases, with the matrices $W^\mathrm{in}_e$ `[D, D_F]` and $W^\mathrm{out}_e$ `[D_F, D]`.
#
# $$y_t = \sum_{e:\, g_{te} \neq 0} g_{te} \cdot \mathrm{GELU}\big(x_t W^\mathrm{in}_e\big)\, W^\mathrm{out}_e$$
#
# The gates are 0 or positive, and are used as they come: they need not sum to 1, and a token may have chosen any number of
# experts. A token that chose none gets zeros. An expert that no token chose adds nothing, and must not make your code fail. The
# GELU is torch's default, `F.gelu`.
#
# **Each expert is computed only for the tokens that chose it.** All tensors that your code makes together have fewer than
# $T \cdot E \cdot D_F$ numbers where there are many experts, each token chose only a few of them, and `D_F` is several times
# larger than `D`: this is the size of the
# hidden layers of all experts for all tokens. (The check takes T = 20, E = 32, D = 3 and D_F = 24, with about two experts for
# each token.) It follows that a gate of 0 gets the gradient 0, since nothing was computed that could tell whether the expert
# would have been of use.
#
# <details><summary>Hint: the idea</summary>
#
# Loop over the experts. Each collects the rows of its tokens, computes them as one matrix, and adds the results to these rows.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `gates[:, e].nonzero().squeeze(-1)` gives the indices `[n]` of the tokens that chose expert e; n may be 0. `X[tokens]` is
# `[n, D]`. The gates of these tokens should multiply rows: `[n, 1]`. `Y.index_add(0, tokens, rows)` returns `Y`, `[T, D]`, with
# each of `rows`, `[n, D]`, added to the row of its token.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# Y = zeros like X · for each expert e: tokens = those whose gate for e is not 0 · h = GELU of X at tokens times W_in of e ·
# rows = h times W_out of e, each row times its gate · add rows to Y at tokens
# </details>


# %% nbgrader={"grade": false, "grade_id": "mixture_of_experts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mixture_of_experts(
    X: Float[Tensor, "T D"],
    gates: Float[Tensor, "T E"],
    W_in: Float[Tensor, "E D D_F"],
    W_out: Float[Tensor, "E D_F D"],
) -> Float[Tensor, "T D"]:
    """What the chosen experts make of each token, weighted by the gates.

    Args:
        X: the tokens' vectors.
        gates: how much each expert counts for each token; 0 for an expert that was not chosen.
        W_in: the first matrix of each expert.
        W_out: the second matrix of each expert.

    Returns:
        for each token the sum of its experts' outputs, each multiplied by its gate.

    Example:
        X = [[1]], gates = [[0, 0.5]], W_in = [[[7]], [[1]]], W_out = [[[1]], [[2]]]: expert 0 is
        not computed, and expert 1 gives 0.5 · GELU(1) · 2, so that Y = [[0.8413]].
    """
    ### BEGIN SOLUTION
    Y = torch.zeros_like(X)
    for e in range(len(W_in)):
        tokens = gates[:, e].nonzero().squeeze(-1)  # [n], those that chose expert e; with n = 0 all below is empty
        hidden = F.gelu(X[tokens] @ W_in[e])  # [n, D_F]
        Y = Y.index_add(0, tokens, gates[tokens, e, None] * (hidden @ W_out[e]))  # a token may be added to by several
    return Y
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_mixture_of_experts", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(mixture_of_experts)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_warm_up", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9 · Why does post-norm need warm-up?
#
# The first Transformers were post-norm, and were trained with warm-up: the learning rate begins near 0 and grows over the
# first few thousand steps. Without it, a deep post-norm stack may learn nothing at a rate that does no harm later. A pre-norm
# stack can do without ([Xiong et al. 2020](https://arxiv.org/abs/2002.04745)). What in the wiring makes the difference?
# Answer in six to twelve sentences, in the cell below:
#
# 1. Follow the gradient from the loss back to the first of $L$ blocks. Which norms does it have to pass in a post-norm stack,
#    and which in a pre-norm stack? Say where in the formulas of exercise 4 you see it.
# 2. What does a norm on the residual stream do to the numbers that pass it, and to the gradient on its way back? How large does
#    this make the gradients of the last blocks at the start of training, in a shallow stack and in a deep one? Compare the two
#    wirings.
# 3. What does warm-up change, and what does it leave as it is? Why does pre-norm not need it?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: where the gradient has to pass.** In post-norm each norm is applied to the sum, so it stands on the residual
# stream: every path from the loss to the first block leads through all norms after it, two in each block, 2L in all (one
# more or less does not matter). In pre-norm the norms stand inside the branches, and the stream is a plain sum, X plus all
# that the sublayers have added: along it the gradient reaches every block unchanged, and passes one norm only, the last one
# of the model. (½ for each wiring. The last norm need not be named. "Pre-norm has residual connections" earns nothing: both
# have.)
#
# **1 point: what the norm does to it.** A norm divides the sum by its standard deviation, and the gradient on its way back is
# divided by the same number. In post-norm this happens at every sum: X comes out of a norm with variance 1, a sublayer adds
# some variance v, and what came along the stream is divided by √(1 + v) each time. So the scale is always 1 again, the last
# blocks count as much in a deep stack as in a shallow one, and their gradients are large however deep the stack is. In
# pre-norm the stream itself grows, about as √L, and only the last norm divides by this scale: in a deep stack gradients near
# the output are smaller, about as 1/√L (Xiong et al. 2020). (½ for the division on the way back, at every norm on the stream;
# ½ for gradients near the output that stay large with depth in post-norm and get smaller in pre-norm. "They vanish" or "they
# explode" alone, without a place and a reason, earns nothing. That they get smaller towards the input of a post-norm stack is
# true along the stream alone; through the branches as much may be added. It is not asked, and costs nothing.)
#
# **1 point: what warm-up changes.** Only the size of the first steps: neither the wiring nor the gradients at the
# start. Full first steps make training unstable, or leave the model where it learns no more; small ones bring it to
# where larger ones do no harm. Two accounts of this are published, and either one earns the marks. Xiong et al. (2020):
# the gradients near the output are large, so that full steps along them go too far; in pre-norm they are moderate from
# the first step. Liu et al. (2020): in post-norm the latest branches make up much of the output, so that a small change
# of the weights changes the output a lot; in pre-norm each block has a small share. The second account also fits Adam,
# whose first steps do not depend on the size of the gradient. Xiong et al. reach comparable results without warm-up, in
# less time. (½ for small steps at the start, and what they prevent; ½ for why pre-norm can do without, by either
# account. Whoever objects that Adam divides by the size of the gradient is right, and loses nothing. That Adam's
# averages are unreliable in the first steps is true, but holds for both wirings: it earns nothing as a reason for their
# difference. That a smaller rate from first to last helps as well may be added. "Pre-norm is better" earns nothing: the
# paper claims comparable results.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_warm_up", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. In post-norm, norm_1(X + attention(X)), the norm encloses the sum, so it stands on the residual stream itself. Whatever
#    path the gradient takes back to the first block, it passes all norms on the way, two in each block, 2L in all. In
#    pre-norm, X + attention(norm_1(X)), the norm stands inside the branch, and X is added as it is. So the gradient reaches
#    every block along the sums, unchanged, and passes only the one norm after the last block.
#
# 2. A norm divides the sum by its standard deviation σ, and on the way back it divides the gradient by σ too. In post-norm X
#    has variance 1 and a sublayer adds some variance v, so every norm divides what comes along the stream by √(1 + v), and
#    the scale is 1 again. The last blocks therefore count as much in a deep stack as in a shallow one, and their gradients
#    are large however deep it is. In pre-norm the stream grows, about as √L, and the one norm at the end divides all
#    gradients by this scale: near the output they get smaller with depth, about as 1/√L (Xiong et al. 2020).
#
# 3. Warm-up changes neither the wiring nor the gradients at the start, but only how far the first steps go. Xiong et
#    al. blame the large gradients near the output, along which a full step goes too far. With Adam the length of a step
#    hardly depends on the gradient's size; but the last blocks count in full in a post-norm stack, so a full step of
#    all blocks changes its output a lot (Liu et al. 2020), and training gets unstable or stuck. With small steps the
#    model first gets to where larger ones do no harm. In a pre-norm stack the gradients are moderate and each block has
#    a small share in the sum, so it can take full steps at once; Xiong et al. find comparable results without warm-up.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.
#
# The [milestone](../../milestones/09_my_block.ipynb) puts what you solved in 05, 07 and 09 to work: a Transformer block
# that sorts, made of your own code. It is optional and earns no points.

# %%
progress()
