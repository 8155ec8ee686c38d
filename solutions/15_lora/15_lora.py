# %% [markdown]
# # Assignment 15: LoRA and its relatives
#
# You write what it takes to fine-tune a large model while training only a few numbers: a linear layer with LoRA, the
# function that freezes a network and puts adapters into it, the switch from one merged adapter to another, and
# attention with a learned prefix. Then you store the frozen weights in four bits, as QLoRA does: the code book of
# NormalFloat, the way from weights to codes, the way back, and the count of the bytes. The stretch compares the
# directions of two adapters.
#
# **Goals.** You can write a low-rank update that changes nothing at first and costs little, freeze a network and
# choose by their names the layers that are adapted, merge adapters into a weight and take them out again, say which
# keys a token sees behind a prefix, compute the code book NF4, pack two codes of four bits into a byte and unpack
# them, count the bytes of quantised weights exactly, and say what an experiment with few trained weights does and
# does not show.
#
# **What you need.** [Lesson 15](../../notebooks/15_lora.ipynb), the heads of assignment 06, the causal mask of
# assignment 07, and some practice with `nn.Module`. The [glossary](../../docs/glossary.md) has all terms and symbols.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · a linear layer with LoRA | 3 | ●●○ | 25 |
# | 2 · adapters in a network | 3 | ●●○ | 20 |
# | 3 · switching adapters | 2 | ●○○ | 15 |
# | 4 · attention with a prefix | 2 | ●●○ | 20 |
# | 5 · the code book of NormalFloat | 2 | ●●○ | 20 |
# | 6 · weights in four bits | 3 | ●●○ | 30 |
# | 7 · back to weights | 2 | ●●○ | 15 |
# | 8 · the bytes of quantised weights | 1 | ●○○ | 10 |
# | 9 · how similar two adapters are | stretch | ●●● | 25 |
# | 10 · a written answer | 2 | ●●○ | 20 |
#
# It takes about 175 minutes in all, plus about 25 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. No exercise needs another exercise's
# code.
#
# **Shapes.** A linear layer goes from `D_in` to `D_out` features, and its weight `W` is `[D_out, D_in]`, as
# `nn.Linear` stores it. `r` is the rank of an adapter with the matrices `A`, `[r, D_in]`, and `B`, `[D_out, r]`; a
# second adapter has the rank `s`. In exercise 4, `B` is the batch and `A` are attention weights; there `H` is the
# number of heads, `N` the number of tokens, `P` the number of vectors in the prefix, `D_H` the width of queries and
# keys, `D_V` that of values. In exercises 6 and 7, `blocks` is the number of blocks of weights, `bytes` the number of
# bytes that hold their codes; `block`, the number of weights in a block, is no axis. `S` in exercise 8 is the number
# of matrices that are counted. `*S` in exercise 1 stands for any number of axes, or none. Positions, codes and blocks
# are counted from 0.
#
# A name such as `N` in a shape is no variable, unless it is an argument too: read it from a tensor. Floating-point
# results have the type of the numbers that came in (double precision if these are).

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
#   `add_adapters`, `normal_float`, `quantize_blocks` and `subspace_overlap`.)
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours. (Not asked of
#   `quantize_blocks`.)
# - Small numbers count beside large ones: nothing is cut off. (Not asked of `quantize_blocks` and `subspace_overlap`.)
# - Numbers may be 0. (Not asked of `quantize_blocks` and `subspace_overlap`.)
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `switch_adapters`,
#   `normal_float`, `quantize_blocks`, `dequantize_blocks` and `subspace_overlap`.) (In `LoRALinear` and `add_adapters`
#   this belongs to the idea.) In `prefix_attention` they need to flow only from `Y`.
# - Gradients are right also where a softmax is nearly 0 or 1.
# - Zeros are exact in `A` of `prefix_attention`, `code` of `normal_float`, `absmax` of `quantize_blocks`: a number that
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
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn

from utils.check import check
from utils.progress import progress

# %% [markdown]
# ## 1 · A linear layer with LoRA
#
# Fine-tuning changes a weight matrix $W$ by an update that has as many numbers as $W$ itself. LoRA leaves $W$ alone
# and learns an update of low rank beside it, the product of two narrow matrices ([lesson
# 15](../../notebooks/15_lora.ipynb), "A frozen layer and a low-rank update"). Write a linear layer with LoRA:
#
# $$Y = X W^\top + \mathrm{bias} + \frac{\alpha}{r} \, (X A^\top) \, B^\top$$
#
# Here $W$ is the frozen weight, the lesson's $W_0$. The constructor is given the sizes, the rank `r` and the number
# `alpha`, which is $\alpha$ and need not be whole. The layer has these parameters and no others:
#
# - **`self.linear`** is an `nn.Linear` from `D_in` to `D_out`, with the weight $W$ and the bias. It stands for a
#   layer that was pre-trained, so it is frozen: `requires_grad` is False for both of its parameters.
# - **`self.A`**, `[r, D_in]`, and **`self.B`**, `[D_out, r]`, are an `nn.Parameter` each. They learn.
#
# The check sets all weights to numbers of its own, of the same type as `X`, before it compares what `forward` gives
# (2 points; these include that the right parameters are frozen). It looks at two more things:
#
# - **How a new layer begins** (1 point). It gives what `self.linear` alone gives, and can learn. So `B` holds zeros,
#   and `A` random numbers. How these are drawn is up to you, as long as they are not all alike: as `nn.Linear` draws
#   its weights, for instance, or from a normal distribution of standard deviation $1/\sqrt{D_{in}}$.
# - **What is made on the way.** $BA$ is as large as $W$. Neither $BA$ nor any other matrix of the shape of $W$ or of
#   $W^\top$ may be computed from the weights in `forward`; otherwise the 2 points for `forward` are lost. Computed in
#   the order of the formula, the update never needs one. (The lesson's `LowRankUpdate` does compute $BA$, since a
#   parametrization has to give a whole weight; see "Merging an adapter" for the two thin products.)
#
# `X` is `[*S, D_in]` with any number of axes in front, or none, and `Y` is `[*S, D_out]`. Gradients flow to `X`, `A`
# and `B`; none reach the weight and the bias of `self.linear`.
#
# For example, let `D_in = 3`, `D_out = 2`, `r = 2`, `alpha = 1`, `X = [1, 1, 1]` and
#
# $$W = \begin{pmatrix} 1 & 0 & 0 \\ 0 & 1 & 1 \end{pmatrix}, \quad \mathrm{bias} = (0,\; 0.5), \quad
# A = \begin{pmatrix} 1 & 2 & 0 \\ 0 & 0 & 1 \end{pmatrix}, \quad B = \begin{pmatrix} 4 & 2 \\ -2 & 0 \end{pmatrix}$$
#
# The frozen layer gives $(1, 2.5)$. $X A^\top$ is $(3, 1)$, times $B^\top$ it is $(14, -6)$, half of that is $(7,
# -3)$, and so `Y = [8, -0.5]`. As long as `B` is 0, `Y` is `[1, 2.5]`.
#
# <details><summary>Hint: the idea</summary>
#
# Two paths lead from X to Y, and their results are added. One is the frozen layer, called as always. The other goes
# through a bottleneck of r numbers for each position. Gradients have to pass through a frozen layer, so what is
# frozen is its parameters, not the computation with them.
# </details>
# <details><summary>Hint: shapes</summary>
#
# X is `[*S, D_in]` and has to become `[*S, r]`, then `[*S, D_out]`. A is `[r, D_in]` and B is `[D_out, r]`, as
# `nn.Linear` stores its weights: which way round do they act from the right? Products are evaluated from left to
# right.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# in `__init__`: a linear layer · switch off the gradients of its parameters · random numbers and zeros, each as a
# parameter · keep what `forward` needs of r and alpha. in `forward`: down to r numbers · up to D_out · times the
# factor · plus the frozen layer's result
# </details>


# %% nbgrader={"grade": false, "grade_id": "LoRALinear", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LoRALinear(nn.Module):
    """A frozen linear layer, and beside it an update of low rank that learns.

    Args:
        D_in: width of the inputs.
        D_out: width of the results.
        r: the rank of the update.
        alpha: the update is multiplied by alpha/r.

    Example:
        r = 2, alpha = 1, weight [[1, 0, 0], [0, 1, 1]] and bias [0, 0.5] of self.linear, A =
        [[1, 2, 0], [0, 0, 1]] and B = [[4, 2], [-2, 0]]: X = [1, 1, 1] gives Y = [8, -0.5]. With
        zeros in B it gives [1, 2.5].
    """

    def __init__(self, D_in: int, D_out: int, r: int, alpha: float):
        super().__init__()
        ### BEGIN SOLUTION
        # The method reaches weight and bias; `self.linear.requires_grad = False` would only give the layer an attribute.
        self.linear = nn.Linear(D_in, D_out).requires_grad_(False)
        self.A = nn.Parameter(torch.randn(r, D_in) / D_in**0.5)  # with zeros here too, both gradients would stay 0
        self.B = nn.Parameter(torch.zeros(D_out, r))  # B A = 0: a new layer changes nothing
        self.scale = alpha / r
        ### END SOLUTION

    def forward(self, X: Float[Tensor, "*S D_in"]) -> Float[Tensor, "*S D_out"]:
        """The frozen layer's result and alpha/r times the update's.

        Args:
            X: the inputs, with any number of axes in front of their features.

        Returns:
            the results [*S, D_out]; no matrix as large as the layer's weight is made on the way.
        """
        ### BEGIN SOLUTION
        low = X @ self.A.T  # [*S, r]
        update = low @ self.B.T  # [*S, D_out]; r (D_in + D_out) multiplications a position, not D_in D_out
        # No `no_grad` around the frozen layer: layers below learn by the gradient of X, which passes through W.
        return self.linear(X) + self.scale * update
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_LoRALinear", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(LoRALinear)

# %% [markdown]
# ## 2 · Adapters in a network
#
# LoRA is put into a network that exists already. The weights of this network are **frozen**: it computes with them as
# before, but training no longer changes them. Some of its linear layers get an **adapter**, and only what the
# adapters bring along learns. Which layers these are is a choice: in most experiments the authors of LoRA adapt the
# query and value layers of each block and leave the MLPs alone. In programs, the layers are chosen by their names
# ([lesson 15](../../notebooks/15_lora.ipynb), "Which layers get an adapter").
#
# Write `add_adapters(network, names, adapter)`. It changes the network that it is given (no copy is made) and returns
# this same network:
#
# - **Freeze.** Every parameter that the network has gets `requires_grad = False`, those of norms and of the last
#   layer too.
# - **Replace.** Every `nn.Linear` whose own name is one of `names` gives its place to `adapter(layer)`, the adapted
#   layer. The adapted layer takes the same inputs as the old one and has the old one inside, so the pre-trained
#   weights are still there. The parameters that it adds learn.
#
# A module's full name says where it is: `blocks.0.attention.query` is `query` in `attention` in the block with the
# number 0. Its **own name** is the last part, `query`. With `names = ["query", "value"]` and two blocks there are
# four layers to replace:
#
# | full name | own name | |
# |---|---|---|
# | `blocks.0.attention.query` | `query` | replaced |
# | `blocks.0.attention.value` | `value` | replaced |
# | `blocks.0.attention.value_gate` | `value_gate` | stays as it is |
# | `blocks.0.mlp.up` | `up` | stays as it is |
# | `blocks.1.attention.query` | `query` | replaced |
# | `blocks.1.attention.value` | `value` | replaced |
# | `head` | `head` | stays as it is; `names = ["head"]` would choose it |
#
# Layers of other kinds stay as they are even if their name is one of `names`: `adapter` takes an `nn.Linear` and
# nothing else. `adapter` is called once for each layer that is replaced, so each has an adapter of its own.
#
# The check brings a small network with a few blocks, and an adapter that multiplies each output of a layer by a
# factor, which learns. Unlike LoRA's adapter it changes the result from the beginning, so that the check can see
# which layers have an adapter. When your function has returned the network, the check gives the network $N$ vectors
# of width $D$, $X$ `[N, D]`, and compares what comes out, $Y$ `[N, V]`, $V$ numbers for each; and it looks at which
# parameters a gradient reaches. Write for any network and any adapter: nothing may depend on the names of the parts
# of this one.
#
# How you walk through the modules is up to you, and so is the order of freezing and replacing, as long as the right
# parameters learn in the end. Useful methods of a module: `parameters()`, `requires_grad_()`, `named_modules()`,
# `named_children()`, `get_submodule(full_name)`; and `setattr(module, name, layer)` puts a layer in the place of the
# one with that own name.
#
# <details><summary>Hint: the idea</summary>
#
# To put something in a layer's place you need the module that holds the layer: a loop that hands you the layer alone
# has lost it. And at which moment are the network's own parameters and those of the adapters easiest to tell apart?
# </details>
# <details><summary>Hint: shapes</summary>
#
# No tensor changes its shape here. Instead you need a path: the full name `blocks.0.attention.query` without its last
# part is `blocks.0.attention`, the module that holds `query`. For `head` nothing is left of it, and the module that
# holds `head` is the network itself, which is also what `network.get_submodule("")` gives.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# freeze, at the moment when only the network's own parameters are there · go through all modules (does your loop mind
# that they change on the way?) · a question of kind and a question of name · the new layer into the module that holds
# the old one
# </details>


# %% nbgrader={"grade": false, "grade_id": "add_adapters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def add_adapters(network: nn.Module, names: list[str], adapter: Callable) -> nn.Module:
    """Freezes a network and puts adapted layers in the place of those that are chosen by their
    names.

    Args:
        network: the pre-trained network, which is changed.
        names: own names, the last parts of full names, of the linear layers that get an adapter.
        adapter: adapter(layer) gives the layer that takes the place of an nn.Linear from [*S, D_in]
            to [*S, D_out]; its inputs and results have the same shapes.

    Returns:
        the network; only parameters that the adapters bring along learn.

    Example:
        network is an nn.Sequential of up = nn.Linear(4, 8), act = nn.ReLU() and down = nn.Linear(8,
        4), names is ["up"], and an adapter brings along a factor for each output. Then network.up
        is what adapter(layer) gave for the old up, 8 numbers learn, and the 76 of the two linear
        layers do not.
    """
    ### BEGIN SOLUTION
    network.requires_grad_(False)  # now, while the adapters, which learn, are not in it yet
    for full_name, layer in list(network.named_modules()):  # a list, since the modules change on the way
        path, _, name = full_name.rpartition(".")  # "blocks.0.attention", "query"; of "head" the path is ""
        if isinstance(layer, nn.Linear) and name in names:  # the whole name: value is no value_gate
            setattr(network.get_submodule(path), name, adapter(layer))  # `layer = adapter(layer)` would change nothing
    return network
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_add_adapters", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(add_adapters)

# %% [markdown]
# ## 3 · Switching adapters
#
# An adapter that has learned need not stay beside its layer. Its update $\frac{\alpha}{r} B A$ has the shape of the
# layer's weight, so it can be **merged** into it, and the layer is then as fast as before it was adapted. What was
# added can be subtracted again: one model in memory can serve many tasks, with a small adapter on disk for each of
# them ([lesson 15](../../notebooks/15_lora.ipynb), "Merging an adapter").
#
# Write this switch for one layer. `W` is its weight, into which the adapter with the matrices `A` and `B` and the
# number `alpha` is merged already. Return the weight that has this adapter taken out and the new one merged in:
#
# $$W_{\mathrm{new}} = W - \frac{\alpha}{r} B A + \frac{\alpha_{\mathrm{new}}}{s} B_{\mathrm{new}} A_{\mathrm{new}}$$
#
# `W` and the result are `[D_out, D_in]`, as the weight of `nn.Linear` is. `A` is `[r, D_in]` and `B` is `[D_out, r]`;
# `A_new` is `[s, D_in]` and `B_new` is `[D_out, s]`. The ranks $r$ and $s$ are no arguments, and they may differ.
# `alpha` and `alpha_new` are numbers, not tensors.
#
# - **One adapter for another** (1 point): all four matrices are given.
# - **An adapter in or out** (1 point): if the layer has no adapter yet, `A` and `B` are `None` and nothing is taken
#   out; if it is to have none afterwards, `A_new` and `B_new` are `None` and nothing is merged in. Without its
#   matrices, `alpha` or `alpha_new` means nothing. Where all four are `None`, the result is equal to `W`.
#
# For example, let the old adapter have rank 1 and the new one rank 2:
#
# $$W = \begin{pmatrix} 3 & 1 & 4 \\ 6 & 5 & 13 \end{pmatrix}, \quad
# \tfrac{2}{1} \begin{pmatrix} 1 \\ 3 \end{pmatrix} \begin{pmatrix} 1 & 0 & 2 \end{pmatrix}
# = \begin{pmatrix} 2 & 0 & 4 \\ 6 & 0 & 12 \end{pmatrix}, \quad
# \tfrac{4}{2} \begin{pmatrix} 1 & 0 \\ 2 & 1 \end{pmatrix} \begin{pmatrix} 1 & 1 & 0 \\ 0 & 0 & 2 \end{pmatrix}
# = \begin{pmatrix} 2 & 2 & 0 \\ 4 & 4 & 4 \end{pmatrix}$$
#
# Without the old adapter the weight is $\begin{pmatrix} 1 & 1 & 0 \\ 0 & 5 & 1 \end{pmatrix}$, and with the new one
# it is $\begin{pmatrix} 3 & 3 & 0 \\ 4 & 9 & 5 \end{pmatrix}$.
#
# `W` itself must not be changed. In which order you subtract and add is up to you, and where nothing is to be done
# you may return `W` or a copy of it. Adapters are merged when they have learned: no gradients are asked for, and
# `torch.no_grad()` is allowed.
#
# <details><summary>Hint: the idea</summary>
#
# Taking out and merging in are the same step except for a sign. Each of them happens, or does not, whatever becomes
# of the other. How many cases do you have to tell apart then: two, or four?
# </details>
# <details><summary>Hint: shapes</summary>
#
# Which product of `[r, D_in]` and `[D_out, r]` has the shape of `W`? The rank is the axis that its two factors share;
# read it from one of them, once you know that it is there. In a square layer a wrong order may fit as well.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# the weight, not written into · two steps that do not depend on each other, each with a question in front of it ·
# which rank belongs to which factor?
# </details>


# %% nbgrader={"grade": false, "grade_id": "switch_adapters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def switch_adapters(
    W: Float[Tensor, "D_out D_in"],
    A: Float[Tensor, "r D_in"] | None,
    B: Float[Tensor, "D_out r"] | None,
    alpha: float,
    A_new: Float[Tensor, "s D_in"] | None,
    B_new: Float[Tensor, "D_out s"] | None,
    alpha_new: float,
) -> Float[Tensor, "D_out D_in"]:
    """A layer's weight with one adapter taken out and another merged in.

    Args:
        W: the layer's weight, with the old adapter in it.
        A: the old adapter's first matrix; None where the layer has no adapter.
        B: its second matrix; None where A is.
        alpha: the old adapter counts alpha/r times.
        A_new: the new adapter's first matrix; None where the layer is to have no adapter.
        B_new: its second matrix; None where A_new is.
        alpha_new: the new adapter counts alpha_new/s times.

    Returns:
        the new weight; W stays as it is.

    Example:
        W = [[3, 1, 4], [6, 5, 13]], A = [[1, 0, 2]], B = [[1], [3]] and alpha = 2; A_new =
        [[1, 1, 0], [0, 0, 2]], B_new = [[1, 0], [2, 1]] and alpha_new = 4: the result is
        [[3, 3, 0], [4, 9, 5]]. With None for A_new and B_new it is [[1, 1, 0], [0, 5, 1]].
    """
    ### BEGIN SOLUTION
    # Each switch rounds: a program that switches often keeps the weight as it was before any adapter.
    if A is not None:
        r = A.shape[0]
        W = W - alpha / r * (B @ A)  # a new tensor: W -= … would write into the caller's
    if A_new is not None:  # no elif: both may be there
        s = A_new.shape[0]  # its own rank, which need not be r
        W = W + alpha_new / s * (B_new @ A_new)
    return W
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_switch_adapters", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(switch_adapters)

# %% [markdown]
# ## 4 · Attention with a prefix
#
# Prefix tuning leaves every weight of a language model as it is. What it learns are a few vectors for each attention
# layer: $P$ keys and $P$ values for each head, the **prefix**, which stand in front of the keys and values of the
# tokens. Every token attends to them as if they came from words that had been read before, so the prefix can steer
# what the frozen model writes ([lesson 15](../../notebooks/15_lora.ipynb), "Prefix tuning").
#
# Write causal self-attention with such a prefix. `Q` and `K` are `[B, H, N, D_H]` and `V` is `[B, H, N, D_V]`:
# queries, keys and values of `N` tokens, projected and split into heads already. The prefix is `P_K`, `[H, P, D_H]`,
# and `P_V`, `[H, P, D_V]`. The prefix has no batch axis, since all sequences of the batch share it, and each head has
# its own. For a sequence $b$ and a head $h$, the keys $k_j$ are the rows of $[P_K; K]$ and the values $v_j$ those of
# $[P_V; V]$, the prefix first, so that there are $P + N$ of each:
#
# $$A_{nj} = \frac{\exp(q_n \cdot k_j / \sqrt{D_H})}{\sum_{i \le P + n} \exp(q_n \cdot k_i / \sqrt{D_H})}
# \;\text{ for } j \le P + n, \quad 0 \text{ otherwise}, \qquad Y_n = \sum_j A_{nj}\, v_j$$
#
# with $n = 0, \dots, N - 1$ and $j = 0, \dots, P + N - 1$. In words: each token attends to the whole prefix, to the
# tokens before it and to itself, and one softmax divides its attention among all of these. The prefix has no queries,
# so it has no outputs either: `Y` is `[B, H, N, D_V]`, and `A` is `[B, H, N, P+N]`, where `P+N` is the name of one
# axis and its first `P` columns belong to the prefix. Return `(Y, A)`.
#
# The weights of the tokens that come later are exactly 0, however low the scores of the others are. The prefix has at
# least one vector, and it may be longer than the sequence. Whether you copy the prefix for each sequence, or let it
# broadcast, is up to you; gradients have to reach `P_K` and `P_V` either way, since they are all that is trained.
#
# `scaled_dot_product_attention` and `nn.MultiheadAttention` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# Imagine that $P$ words had been read before the first token, and that only their keys and values were kept, as in a
# KV cache. At which position does token $n$ stand then? Which keys lie in its future?
# </details>
# <details><summary>Hint: shapes</summary>
#
# The scores are `[B, H, N, P+N]`: fewer rows than columns, so the mask is not square. `P_K` is `[H, P, D_H]`, and
# next to `[B, H, N, D_H]` it lacks one axis; in which place? `torch.cat` does not broadcast, but `expand` and `@` do.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# scores of each token with the prefix and with the tokens, in this order, over the root of the width of a head ·
# which of the columns may row n see? hide the others before the softmax · one softmax over all columns · weights
# times the values, in the same order as the keys
# </details>


# %% nbgrader={"grade": false, "grade_id": "prefix_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def prefix_attention(
    Q: Float[Tensor, "B H N D_H"],
    K: Float[Tensor, "B H N D_H"],
    V: Float[Tensor, "B H N D_V"],
    P_K: Float[Tensor, "H P D_H"],
    P_V: Float[Tensor, "H P D_V"],
) -> tuple[Float[Tensor, "B H N D_V"], Float[Tensor, "B H N P+N"]]:
    """Causal self-attention of N tokens that also attend to a learned prefix.

    Args:
        Q: the queries of the tokens, in each head.
        K: their keys.
        V: their values.
        P_K: the keys of the prefix, for each head; the same for all sequences.
        P_V: its values.

    Returns:
        the outputs Y of the tokens and their weights A, first those of the prefix and then those of
        the tokens.

    Example:
        One sequence, one head, D_H = D_V = 1, two tokens and a prefix of one vector: Q =
        [[1], [1]], K = [[0], [log 3]], V = [[0], [12]], P_K = [[log 2]] and P_V = [[6]]. The
        exponentials of the scores are 2 for the prefix, 1 for token 0 and 3 for token 1. Token 0
        does not see token 1, so A = [[2/3, 1/3, 0], [2/6, 1/6, 3/6]] and Y = [[4], [8]].
    """
    ### BEGIN SOLUTION
    B, _, N, D_H = Q.shape
    P = P_K.shape[1]
    # The prefix gets the missing axis in front, where the batch is. expand copies nothing; cat does.
    keys = torch.cat([P_K.expand(B, -1, -1, -1), K], dim=2)  # [B, H, P+N, D_H]
    values = torch.cat([P_V.expand(B, -1, -1, -1), V], dim=2)  # [B, H, P+N, D_V]
    # P keys stand before token 0, so the triangle begins P columns further right: token n sees the columns up to P + n.
    allowed = torch.ones(N, P + N, dtype=torch.bool, device=Q.device).tril(P)
    E = Q @ keys.mT / math.sqrt(D_H)  # [B, H, N, P+N]
    E = E.masked_fill(~allowed, -torch.inf)  # not −10⁹: the scores of the others may lie below that
    A = E.softmax(dim=-1)  # one softmax: prefix and tokens compete for the same weight
    return A @ values, A
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_prefix_attention", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(prefix_attention)

# %% [markdown]
# ## 5 · The code book of NormalFloat
#
# With four bits one can tell 16 **codes** apart, and a **code book** says which number each code stands for. Evenly
# spaced numbers would waste some of them: the weights of a trained network are distributed roughly like a normal
# distribution, so most lie near 0, and the codes far from 0 would hardly be used. **NormalFloat** puts its numbers
# where the weights are. It takes quantiles of the normal distribution at evenly spaced probabilities ([lesson
# 15](../../notebooks/15_lora.ipynb), "NormalFloat: numbers where the weights are").
#
# Let $\Phi^{-1}(p)$ be the quantile of the standard normal distribution (mean 0, standard deviation 1) for the
# probability $p$: a random number from this distribution lies below $\Phi^{-1}(p)$ with probability $p$. The
# quantiles of 0 and 1 are infinite. So the outermost numbers of the code book belong to a probability a little below
# 1, which is called $o$ (for *offset*):
#
# $$o = \frac12 \left[\left(1 - \frac{1}{2 \cdot 2^{\mathrm{bits}}}\right) +
# \left(1 - \frac{1}{2 \cdot (2^{\mathrm{bits}} - 1)}\right)\right]$$
#
# For 4 bits that is the mean of $1 - 1/32$ and $1 - 1/30$, which are the middles of the last of 16 and of the last of
# 15 equal parts. The code book has $2^{\mathrm{bits}}$ numbers:
#
# - $h = 2^{\mathrm{bits}-1}$ positive ones, the quantiles $\Phi^{-1}(p)$ at $p = o + (\tfrac12 - o) \cdot i / h$ for
#   $i = 0, \dots, h - 1$;
# - $h - 1$ negative ones, $-\Phi^{-1}(p)$ at $p = o + (\tfrac12 - o) \cdot i / (h - 1)$ for $i = 0, \dots, h - 2$;
# - and 0, so that a weight of 0 stays exactly 0.
#
# All of them are divided by the largest, so that they reach from $-1$ to $1$, and stand in ascending order. The
# result is `[2**bits]` and, since no tensor comes in, `torch.float32`. With `bits = 4` it is NF4, the type that QLoRA
# stores weights in; its first and last numbers are
#
# $$-1 \quad -0.6962 \quad -0.5251 \quad \dots \quad 0.5626 \quad 0.7230 \quad 1$$
#
# `bits` is a number from 2 to 8. How you compute quantiles is up to you: `torch.special.ndtri` is $\Phi^{-1}$, the
# method `icdf` of `torch.distributions.Normal` gives the same, and so does $\sqrt2 \cdot \mathrm{erfinv}(2p - 1)$.
# Compute at least in single precision, and take $o$ from its formula: four digits of it are not enough.
#
# Formula (4) of the QLoRA paper describes the idea and not this code book: taken literally, it gives an infinite
# number at one of its ends. For 4 bits, the code book above is the one of the authors' program, bitsandbytes; for
# other numbers of bits we continue it in the same way.
#
# <details><summary>Hint: the idea</summary>
#
# The two sides are made alike, each with its own number of steps: probabilities that go in even steps from $o$
# towards a half. What is the quantile of a half? The last step would reach it, on both sides. Why does it not belong
# to either of them?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `torch.linspace(a, b, n)` gives `n` numbers and includes both ends, so `n` numbers have `n - 1` steps between them.
# The three parts have `h`, `h - 1` and 1 numbers, which makes `2 * h` in all. For 2 bits they are 2, 1 and 1.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# o from bits · for each side: even steps from o to ½, without the ½, through Φ⁻¹ · turn one side round to the
# negative · put both sides and 0 together, in order · scale, so that the largest is 1
# </details>


# %% nbgrader={"grade": false, "grade_id": "normal_float", "locked": false, "schema_version": 3, "solution": true, "task": false}
def normal_float(bits: int) -> Float[Tensor, "2**bits"]:
    """The code book of NormalFloat: quantiles of the normal distribution, with an exact 0.

    Args:
        bits: the number of bits of a code, at least 2.

    Returns:
        the numbers that the codes stand for, ascending from -1 to 1, torch.float32.

    Example:
        With 2 bits o is 0.8542, and the quantiles are 1.0545 and 0.4596 on the positive side and
        -1.0545 on the negative side. So the result is [-1, 0, 0.4358, 1].
    """
    ### BEGIN SOLUTION
    count = 2**bits
    o = ((1 - 1 / (2 * count)) + (1 - 1 / (2 * (count - 1)))) / 2
    # linspace reaches ½, whose quantile is 0. It is left out on both sides, and 0 is put in once.
    positive = torch.special.ndtri(torch.linspace(o, 0.5, count // 2 + 1)[:-1])  # [h]
    negative = -torch.special.ndtri(torch.linspace(o, 0.5, count // 2)[:-1])  # [h - 1], in larger steps
    code = torch.cat([negative, torch.zeros(1), positive]).sort().values  # [2**bits]
    return code / code[-1]  # both sides begin at o, so the smallest becomes -1
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_normal_float", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(normal_float)

# %% [markdown]
# ## 6 · Weights in four bits
#
# QLoRA keeps the frozen weights of a model in four bits each and trains an adapter beside them ([lesson
# 15](../../notebooks/15_lora.ipynb), "Weights of four bits"). A code $c$ is a whole number from 0 to 15, and a code
# book says what it stands for: `code[c]`. A code book has 16 ascending numbers between −1 and 1, one of which is 0.
# NF4 is one such code book, and others have the same form. Weights may be of any size, so each **block** of them is
# divided by its largest magnitude first, its **absmax**, which is kept.
#
# Write `quantize_blocks(W, code, block)`.
#
# 1. `W` is read row by row, as one list of `D_out*D_in` numbers $w_0, w_1, \dots$ Zeros follow, so that there are
#    whole blocks of `block` numbers. If the numbers fill whole blocks already, none are needed. A block may begin in
#    one row and end in the next.
# 2. The scale of block $s$ is $\mathrm{absmax}[s] = \max_n |w_n|$ over its numbers.
# 3. Each number $w_n$ of that block gets the code of the nearest number of the code book: $$c_n = \arg\min_c \left|\,
#    \mathrm{code}[c] - \frac{w_n}{\mathrm{absmax}[s]} \,\right|$$
# 4. Two codes share a byte, the first of them in its high half: $\mathrm{packed}[p] = 16 \cdot c_{2p} + c_{2p+1}$.
#
# A block may hold nothing but zeros. Its absmax is 0, and its numbers get the code that stands for 0. The zeros that
# fill up the last block get this code, too.
#
# `W` is `[D_out, D_in]` and `code` is `[16]`. Return the pair `(packed, absmax)`: `packed` is `[bytes]` of type
# `torch.uint8`, and `absmax` is `[blocks]`, of the type of `W`. `block` is even, and `bytes` is half of
# `blocks*block`.
#
# For example, take $W = \begin{pmatrix} 1 & -2 & 0.5 \\ 0 & 4 & -1 \end{pmatrix}$ with `block = 4`, and the code book
# $-8/8, -7/8, \dots, 7/8$. The blocks are $1, -2, 0.5, 0$ and $4, -1, 0, 0$, where the last two zeros fill up the
# block. `absmax` is $[2, 4]$, and the numbers divided by it are $0.5, -1, 0.25, 0$ and $1, -0.25, 0, 0$. Their codes
# are $12, 0, 10, 8$ and $15, 6, 8, 8$: the largest number of this code book is 0.875, which is nearest to 1. So
# `packed` is $[16 \cdot 12 + 0,\; 16 \cdot 10 + 8,\; 16 \cdot 15 + 6,\; 16 \cdot 8 + 8] = [192, 168, 246, 136]$.
#
# Weights may be as large as their type can hold, and one row may be far larger than the others. (For
# `quantize_blocks` this paragraph replaces what the list at the top says about large numbers and zeros.) No weight,
# once it has been divided by its scale, lies halfway or almost halfway between two numbers of the code book, so you
# need not decide what to do there. No gradients are asked for: these weights are frozen. How you find the nearest
# number is up to you.
#
# <details><summary>Hint: the idea</summary>
#
# Once the weights lie in a table with one block in each row, scales are one reduction along rows, and the division is
# a matter of broadcasting. What happens to a row in which all numbers are 0?
# </details>
# <details><summary>Hint: shapes</summary>
#
# The table of blocks is `[blocks, block]`. Its distances to all numbers of the code book need one more axis,
# `[blocks, block, 16]`. For the bytes only the order counts: one long list of codes, or one row for each pair of
# them, `[bytes, 2]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# how many zeros are missing up to a multiple of block? · fill up, make rows of blocks · a scale for each row · a
# divisor for each row that is never 0 · nearest place in the code book · pairs of codes → bytes · change the type
# last
# </details>


# %% nbgrader={"grade": false, "grade_id": "quantize_blocks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def quantize_blocks(
    W: Float[Tensor, "D_out D_in"], code: Float[Tensor, "16"], block: int
) -> tuple[UInt8[Tensor, "bytes"], Float[Tensor, "blocks"]]:
    """Weights as codes of four bits, with one scale for each block.

    Args:
        W: the weights, which are read row by row.
        code: what the codes 0, …, 15 stand for: ascending numbers from −1 to 1, one of them 0.
        block: how many numbers share a scale; even.

    Returns:
        packed [bytes]: the codes of all blocks, two in a byte of torch.uint8, the first of them in
            the high half.
        absmax [blocks]: the largest magnitude of each block.

    Example:
        W = [[1, -2, 0.5], [0, 4, -1]], code = [-1, -0.875, …, 0.875] (steps of 1/8) and block = 4
        give packed = [192, 168, 246, 136] and absmax = [2, 4].
    """
    ### BEGIN SOLUTION
    w = W.flatten()
    missing = -len(w) % block  # up to the next multiple; 0 where the numbers fill whole blocks
    blocks = F.pad(w, (0, missing)).reshape(-1, block)  # [blocks, block]: neighbours, whatever the rows of W were
    absmax = blocks.abs().amax(dim=1)  # [blocks]
    # A block of zeros is divided by 1 and stays 0: 0/0 would be NaN. What is returned is its absmax, 0.
    divisor = torch.where(absmax > 0, absmax, 1)
    scaled = blocks / divisor[:, None]  # from −1 to 1

    # Plain, but 16 times as large as W; torch.bucketize with the 15 middles between codes needs no such table.
    distances = (scaled[:, :, None] - code).abs()  # [blocks, block, 16]
    codes = distances.argmin(
        dim=2
    )  # [blocks, block], int64; the sums below are at most 16 · 15 + 15 = 255, which a byte holds
    first, second = codes.reshape(-1, 2).unbind(dim=1)  # [bytes] each
    return (16 * first + second).to(torch.uint8), absmax
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_quantize_blocks", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(quantize_blocks)

# %% [markdown]
# ## 7 · Back to weights
#
# A layer cannot multiply by codes. Each time that it is used, its weights are computed from codes and scales, for
# this one product, and then thrown away ([lesson 15](../../notebooks/15_lora.ipynb), "Weights of four bits"). Write
# this way back. What comes back is not exact: each number is now the one that its code stands for.
#
# `packed` holds two codes in each byte, the first one in the high half. Code $c$ stands for $\mathrm{code}[c]$ times
# the scale of its block:
#
# $$c_{2p} = \left\lfloor \mathrm{packed}[p] / 16 \right\rfloor, \qquad c_{2p+1} = \mathrm{packed}[p] \bmod 16, \qquad
# w_n = \mathrm{code}[c_n] \cdot \mathrm{absmax}[\lfloor n / \mathrm{block} \rfloor]$$
#
# The first `D_out*D_in` of these numbers are the weights, row by row: $W[i, j] = w_{i \cdot D_{in} + j}$. What stands
# behind them fills up the last block and is left out, whatever its codes are.
#
# `packed` is `[bytes]` of type `torch.uint8`, `absmax` is `[blocks]` and `code` is `[16]`; `W` is `[D_out, D_in]`, of
# the type of `code` and `absmax`. The number of weights in a block is not an argument. All blocks have equally many,
# the last one with its padding, and each byte holds two, so `block = 2*bytes / blocks`.
#
# For example, take the code book $-8/8, -7/8, \dots, 7/8$, `packed = [192, 168, 246, 136]` and `absmax = [2, 4]`, so
# a block has 4 numbers. The codes are $12, 0, 10, 8, 15, 6, 8, 8$, which stand for $0.5, -1, 0.25, 0$ and $0.875,
# -0.25, 0, 0$. With `D_out = 2` and `D_in = 3` the result is $\begin{pmatrix} 1 & -2 & 0.5 \\ 0 & 3.5 & -1
# \end{pmatrix}$. The 3.5 was a 4 in exercise 6.
#
# torch takes a tensor of `uint8` in square brackets for a mask, not for indices. No gradients are asked for. The
# function does not need your `quantize_blocks`, but you can try how far apart `W` and what comes back are.
#
# <details><summary>Hint: the idea</summary>
#
# Take the steps of exercise 6 from the last to the first: bytes apart into codes, codes to numbers, numbers times
# scales, one list to a matrix. The code book is looked up like a table of embeddings.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Two tensors `[bytes]`, the high halves and the low ones, become one of `[2*bytes]` in which they take turns. With
# one block in each row this is `[blocks, block]`, and a scale belongs to each row.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# bytes as int64 · high halves, low halves · side by side, so that a byte's two codes are neighbours · look up · one
# row a block, times its scale · one list again, the first D_out*D_in of it · rows of W
# </details>


# %% nbgrader={"grade": false, "grade_id": "dequantize_blocks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dequantize_blocks(
    packed: UInt8[Tensor, "bytes"], absmax: Float[Tensor, "blocks"], code: Float[Tensor, "16"], D_out: int, D_in: int
) -> Float[Tensor, "D_out D_in"]:
    """The weights that codes of four bits and the scales of blocks stand for.

    Args:
        packed: two codes in each byte, the first of them in the high half.
        absmax: the scale of each block; a block has 2*bytes / blocks numbers.
        code: what the codes 0, …, 15 stand for.
        D_out: how many rows the weights have.
        D_in: how many columns they have.

    Returns:
        the weights [D_out, D_in], row by row, without what fills up the last block.

    Example:
        packed = [192, 168, 246, 136], absmax = [2, 4], code = [-1, -0.875, …, 0.875] (steps of
        1/8), D_out = 2 and D_in = 3 give [[1, -2, 0.5], [0, 3.5, -1]].
    """
    ### BEGIN SOLUTION
    packed = packed.long()  # to be indices; this is a copy, the bytes stay as they are
    codes = torch.stack([packed // 16, packed % 16], dim=1)  # [bytes, 2]; cat would not let the two take turns
    scaled = code[codes].reshape(len(absmax), -1)  # [blocks, block], from −1 to 1; a row for each scale
    w = (scaled * absmax[:, None]).flatten()  # [blocks·block], the padding included, which is left out now
    return w[: D_out * D_in].reshape(D_out, D_in)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_dequantize_blocks", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(dequantize_blocks)

# %% [markdown]
# ## 8 · The bytes of quantised weights
#
# A weight of 4 bits takes an eighth of one in float32, and a little more: each block of weights was divided by its
# largest magnitude, and this scale has to be stored as well. With a float32 for every 64 weights that is half a bit a
# weight. **Double quantisation** quantises the scales in their turn ([lesson 15](../../notebooks/15_lora.ipynb),
# "Double quantisation: what the scales cost").
#
# Count the bytes that a matrix of $n$ weights takes:
#
# - its $n$ codes of 4 bits, two in a byte. If $n$ is odd, the last code has a byte to itself.
# - its scales, one for each block of `block` weights. The last block may not be full; it has a scale all the same.
#
# Without double quantisation each scale is a float32. With double quantisation, the mean of the scales is subtracted
# from them, and each is stored with 8 bits. The mean, one for the whole matrix, is a float32. Each block of
# `second_block` scales has a scale of its own, which is a float32 as well; again the last block may not be full.
#
# A float32 takes 4 bytes. The code book is the same for all matrices and is not counted, and neither is anything
# else. Nor is padding: the zeros that fill up the last block have codes in the `packed` of exercise 6, but they need
# not be stored.
#
# `n` is a tensor `[S]` of type `torch.int64`, one entry for each of $S$ matrices, and so is the result. Each matrix
# is counted by itself, and exactly. `block` and `second_block` are positive integers, and `double` says whether there
# is double quantisation; without it `second_block` makes no difference. Some of the matrices are so large that
# floating-point numbers cannot hold the count exactly: stay with integers.
#
# An example with QLoRA's blocks, `block = 64` and `second_block = 256`:
#
# | $n$ | bytes of the codes | number of scales | without double quantisation | with double quantisation |
# |---|---|---|---|---|
# | 1000 | 500 | 16 | 500 + 4 · 16 = 564 | 500 + 16 + 4 + 4 = 524 |
# | 4097 | 2049 | 65 | 2049 + 4 · 65 = 2309 | 2049 + 65 + 4 + 4 = 2122 |
# | 4096 · 4096 | 8,388,608 | 262,144 | 9,437,184, 4.5 bits a weight | 8,654,852, 4.127 bits a weight |
#
# <details><summary>Hint: the idea</summary>
#
# Codes share bytes, weights share scales, and scales share scales of their own. Each time you count groups, and a
# last group that is not full counts as one. So one small calculation is needed three times, with other numbers.
# </details>
# <details><summary>Hint: shapes</summary>
#
# All intermediate counts are `[S]` like `n`, so an ordinary formula counts all matrices at once. `//` divides
# integers, gives integers and rounds down; `/` makes float32, which is exact up to $2^{24}$ only.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# groups of k among x: how often does k fit into x, once x is made a little larger? · codes = groups of 2 · scales =
# groups of block · not double: codes and 4 for each scale · double: codes, 1 for each scale, 4 for each group of
# scales, and 4 more
# </details>


# %% nbgrader={"grade": false, "grade_id": "quantized_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def quantized_bytes(n: Int[Tensor, "S"], block: int, second_block: int, double: bool) -> Int[Tensor, "S"]:
    """The bytes that weight matrices take when they are quantised to 4 bits.

    Args:
        n: the number of weights of each matrix.
        block: how many weights share a scale.
        second_block: how many scales share a scale, with double quantisation.
        double: whether the scales are quantised too.

    Returns:
        the number of bytes of each matrix.

    Example:
        n = [1000, 4097], block = 64 and second_block = 256 give [524, 2122] if double is True, and
        [564, 2309] if not.
    """
    ### BEGIN SOLUTION
    codes = (n + 1) // 2  # bytes: + 1 lets // round up
    scales = (n + block - 1) // block
    if not double:
        return codes + 4 * scales
    blocks_of_scales = (scales + second_block - 1) // second_block
    # A byte instead of a float32 for each scale saves nearly three quarters of the scales' bytes, since blocks of scales are few.
    return codes + scales + 4 * blocks_of_scales + 4
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_quantized_bytes", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(quantized_bytes)

# %% [markdown]
# ## 9 · Stretch: how similar are two adapters?
#
# This exercise earns no points. Two adapters of one layer have learned the same task, one with rank 8 and one with
# rank 64. Do they change the layer in the same way? Their matrices cannot be compared number by number: they have
# different shapes, and many pairs of $A$ and $B$ have the same product. What can be compared are the **directions**
# of the input that an adapter reads, and these can be read from $A$, whose rows span a subspace of the $D$ features
# ([lesson 15](../../notebooks/15_lora.ipynb), "How similar are two adapters?").
#
# The singular value decomposition sorts these directions: $A = \sigma_1 z_1 u_1^\top + \sigma_2 z_2 u_2^\top + \dots$
# with $\sigma_1 \ge \sigma_2 \ge \dots$ The vectors $u_1, u_2, \dots$ are called the right singular vectors. They
# have length 1 and are orthogonal to each other, and they are the columns of a matrix $U$. The first is the direction
# of the input that $A$ enlarges most. (The letter $U$ is that of LoRA's authors. It means neither the lesson's $u_i$
# in the decomposition of $\Delta W$, which are directions of the output, nor what torch calls `U`.) Let `A_1` be `[r,
# D]` and `A_2` be `[s, D]`, with right singular vectors $U_1$, `[D, r]`, and $U_2$, `[D, s]`. How much of the $i$
# main directions of one is found in the $j$ main directions of the other? The authors of LoRA measure it by
#
# $$\phi(i, j) = \frac{\lVert U_1^{(i)\top}\, U_2^{(j)} \rVert_F^2}{\min(i, j)}, \qquad i = 1, \dots, r, \quad j = 1, \dots, s,$$
#
# where $U_1^{(i)}$ are the first $i$ columns of $U_1$, $U_2^{(j)}$ are the first $j$ columns of $U_2$, and $\lVert M
# \rVert_F^2$ is the sum of the squares of all entries of $M$. It is 0 where the two subspaces are orthogonal, and 1
# where one of them contains the other. The authors found that an adapter of rank 8 and one of rank 64 largely share a
# single direction, with $\phi > 0.5$, and hardly any other: this may be why an adapter of rank 1 did almost as well.
#
# Return all of these numbers as `phi`, `[r, s]`; what the formula calls $\phi(i, j)$ is `phi[i - 1, j - 1]`. For
# example, let
#
# $$A_1 = \begin{pmatrix} 0 & 1 & 0 \\ 2 & 0 & 0 \end{pmatrix}, \qquad
# A_2 = \begin{pmatrix} 3 & 0 & 3 \\ 0 & 2 & 0 \\ 1 & 0 & -1 \end{pmatrix}.$$
#
# The main direction of $A_1$ is $e_1$, with the singular value 2, and the second is $e_2$, with 1. Those of $A_2$ are
# $(e_1 + e_3)/\sqrt{2}$, $e_2$ and $(e_1 - e_3)/\sqrt{2}$. The squares of their products, and what follows from them,
# are
#
# $$\begin{pmatrix} \tfrac12 & 0 & \tfrac12 \\ 0 & 1 & 0 \end{pmatrix}, \qquad
# \phi = \begin{pmatrix} \tfrac12 & \tfrac12 & 1 \\ \tfrac12 & \tfrac34 & 1 \end{pmatrix}.$$
#
# `torch.linalg.svd` is allowed; its documentation says what it returns, and in which order. The sign of a singular
# vector is arbitrary, and makes no difference here. Decompose $A$ itself: $A A^\top$ and $A^\top A$ have the squares
# of its singular values, so with them you would lose digits of the directions, and large numbers would overflow. `r`
# and `s` may differ and are at most `D`. Within each matrix no two singular values are equal and none is 0, so that
# the directions are determined; nor are some of them thousands of times smaller than others. The inputs are float32
# or float64: torch cannot decompose matrices of bfloat16. No gradients are asked for.
#
# <details><summary>Hint: the idea</summary>
#
# Which of the three factors that `torch.linalg.svd` returns has vectors with $D$ entries? Do they stand in its rows
# or in its columns? With both bases in hand, write down $\phi(1, 1)$, then $\phi(1, 2)$: what has been added?
# </details>
# <details><summary>Hint: shapes</summary>
#
# Of `[r, D]`, `torch.linalg.svd(…, full_matrices=False)` returns factors of `[r, r]`, `[r]` and `[r, D]`. Without
# that argument the last is `[D, D]`, of which the first `r` rows count. Two bases with `i` and `j` vectors have `[i,
# j]` products, and these become a single number.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# the directions of each adapter, sorted · for every pair of i and j, both counted from 1: products of the first i of
# one with the first j of the other, one number that says how large they are all together, the share of what it could
# be at most · (no loop is needed if you see how the number for i and j grows out of its neighbours)
# </details>


# %% nbgrader={"grade": false, "grade_id": "subspace_overlap", "locked": false, "schema_version": 3, "solution": true, "task": false}
def subspace_overlap(A_1: Float[Tensor, "r D"], A_2: Float[Tensor, "s D"]) -> Float[Tensor, "r s"]:
    """How far the main directions of two adapters agree.

    Args:
        A_1: the matrix A of one adapter, of rank r.
        A_2: that of another adapter of the same layer, of rank s.

    Returns:
        phi, where phi[i - 1, j - 1] is the squared Frobenius norm of the products of the first i
        right singular vectors of A_1 with the first j of A_2, divided by min(i, j): between 0 and
        1.

    Example:
        A_1 = [[0, 1, 0], [2, 0, 0]] and A_2 = [[3, 0, 3], [0, 2, 0], [1, 0, -1]] give
        [[0.5, 0.5, 1], [0.5, 0.75, 1]].
    """
    ### BEGIN SOLUTION
    _, _, Vh_1 = torch.linalg.svd(A_1, full_matrices=False)  # [r, D], whose rows are the right singular vectors
    _, _, Vh_2 = torch.linalg.svd(A_2, full_matrices=False)  # [s, D], the largest singular value first
    squares = (Vh_1 @ Vh_2.mT) ** 2  # [r, s]: cosines between directions, squared; their signs do not matter
    # Any basis of orthogonal rows, such as that of QR, would do for phi(r, s); every other entry depends on which direction comes first.
    sums = squares.cumsum(dim=0).cumsum(dim=1)  # all up to row i and column j: the squared norm of that corner
    i = torch.arange(1, len(A_1) + 1, device=A_1.device)[:, None]  # [r, 1]
    j = torch.arange(1, len(A_2) + 1, device=A_1.device)  # [s]
    return sums / torch.minimum(i, j)  # no more than min(i, j) directions can agree
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_subspace_overlap", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(subspace_overlap)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_low_rank", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10 · What LoRA saves, and what it shows
#
# A team wants to adapt Llama-7B, which has 6,738,415,616 weights, to twelve tasks. Its GPU has 24 GB of memory. Count
# 2 bytes for each weight in 16 bits; for each weight that is trained, count 2 more for its gradient and 4 + 4 for
# Adam's two means. Leave activations out. Each task gets a LoRA adapter with 0.5 % as many weights as the model.
# Answer in six to ten sentences, in the cell below:
#
# 1. How many GB (of $10^9$ bytes) does it take to train for one of the tasks with full fine-tuning, and how many with
#    LoRA? Which of the two fits? Which parts of this memory does LoRA make small, and which does it leave as they
#    are? Which part does QLoRA make smaller, and about how many GB does that part take then?
# 2. A colleague finds that these adapters reach the accuracy of full fine-tuning, and concludes: "So the change that
#    full fine-tuning makes has low rank, too, and this is why LoRA works." What does the experiment show, and what
#    does it not show? Name two controls that would test the conclusion, and say what each possible outcome would
#    mean.
#
# === BEGIN MARK SCHEME ===
#
# **1 point: memory.** Full fine-tuning takes 12 bytes for each weight, 80.9 GB, and does not fit. LoRA takes 2 bytes
# for each frozen weight, 13.5 GB, and 12 for each of the 34 million weights of an adapter, 0.4 GB: 13.9 GB, which
# fits. What becomes small are gradients and Adam's means, since only the adapter has them. (What is stored for each
# task becomes small as well; this is not memory in training, and need not be mentioned.) What stays are the frozen
# weights themselves (and the activations, which were not asked for). QLoRA makes just these frozen weights smaller:
# in 4 bits, with their scales 4.127 to 4.5 bits a weight, they take 3.5 to 3.8 GB (a little more if the embeddings
# stay in 16 bits). The adapter stays in 16 bits. (½ for four things: the number of full fine-tuning, that of LoRA,
# what becomes small, and what stays; one of them may be missing or wrong. ½ for QLoRA: the frozen weights in 4 bits,
# and about how many GB they or the whole take. Numbers within a tenth are right, and so is 0.5 byte a weight without
# scales, 3.4 GB. "The model becomes smaller by LoRA" earns nothing for the first half.)
#
# **1 point: what is shown.** It is shown that for this task *some* change of low rank is good enough. It is not shown
# that full fine-tuning makes such a change, or that no other change would do, or that the low rank is the reason: the
# task may be so near to what the model can do that few trained weights of any kind are enough. (Two of these three
# are enough. "The task needs no more than a low rank" is right, since such a change suffices.) Two of these controls,
# or others as good: (a) As many weights are trained, chosen at random (best in the same matrices). Scattered weights
# make a change of high rank. So if they are as good, few weights of any kind are enough, and low rank is not the
# reason; if they are clearly worse, the number of weights alone is not the reason: the form of the update matters,
# or, if the weights came from other matrices, perhaps only the place. (b) The same adapter is trained in an untrained
# network. If it is as good, the task is easy and needs no pre-trained model; if it fails, so few weights cannot learn
# the task by themselves, and most of what it needs was in the model. (c) The singular values of the change that full
# fine-tuning makes; or this change, cut to its first directions, is tested. If few directions hold nearly all of it,
# or are as accurate, then the colleague is right about this change; if not, full fine-tuning takes another way, and
# low rank is sufficient and not necessary. Several seeds belong to each control, since a difference no larger than
# that between seeds means nothing; but they test whether LoRA reaches the accuracy of full fine-tuning, and not the
# conclusion, so by themselves they are not one of the two. (½ for what is shown and what is not; ½ for two controls
# with both outcomes of each. A control without its outcomes earns nothing, and neither does "more data" or "other
# tasks" without what would be compared.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_low_rank", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. Full fine-tuning takes 2 + 2 + 4 + 4 = 12 bytes for each of the 6.74 billion weights: 80.9 GB, far more than the
#    GPU has. With LoRA the frozen weights take 2 bytes each, 13.5 GB, and the 34 million weights of an adapter 12
#    bytes each, 0.4 GB; together these are 13.9 GB, which fits. So LoRA makes gradients and Adam's means small, and
#    what is stored for each of the twelve tasks, but it leaves the weights of the model as they are. These are what
#    QLoRA makes smaller: with 4.127 bits a weight, scales included, they take about 3.5 GB, while the adapter stays
#    in 16 bits.
#
# 2. The experiment shows that some change of low rank is good enough for this task. It does not show that the task
#    needs such a change, or that full fine-tuning makes one. A first control trains as many weights, chosen at random
#    in the same matrices: if they do as well, few weights of any kind are enough and rank explains nothing; if they
#    do clearly worse, the form of the update matters. A second control looks at the singular values of the change
#    that full fine-tuning makes. If a few of them hold nearly all of it, the colleague is right about this change; if
#    not, full fine-tuning changes the model in many directions, and low rank is sufficient without being necessary.
#    Both need several seeds, since a difference no larger than that between seeds means nothing.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have
# begun.
#
# The [milestone](../../milestones/15_my_lora.ipynb) puts what you solved here to work: adapters that teach a translator
# something new, made of your own code. It is optional and earns no points.

# %%
progress()
