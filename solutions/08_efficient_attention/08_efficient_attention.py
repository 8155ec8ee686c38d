# %% [markdown]
# # Assignment 08: efficient attention
#
# You make attention cheaper in four ways. A KV cache keeps what decoding would otherwise compute again at each step, and
# grouped-query attention makes that cache smaller. An online softmax reads the data vectors in tiles, so that the table of all
# scores is never stored. Linear attention gives up the softmax, and with it the cost that grows as $N^2$.
#
# **Goals.** You can decode with a cache, share keys and values among heads, compute a softmax block by block, and say of each
# method what it saves, what it does not save, and whether it changes the result.
#
# **What you need.** [Lesson 08](../../notebooks/08_efficient_attention.ipynb), the heads of assignment 06 and the causal mask
# of assignment 07. The [glossary](../../docs/glossary.md) has all terms and symbols.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · decoding with a KV cache | 3 | ●●○ | 25 |
# | 2 · grouped-query attention | 4 | ●●○ | 20 |
# | 3 · one step of the online softmax | 3 | ●●○ | 20 |
# | 4 · attention in tiles | 4 | ●●● | 20 |
# | 5 · linear attention | 3 | ●●○ | 15 |
# | 6 · windowed attention | stretch | ●●● | 20 |
# | 7 · a written answer | 3 | ●●○ | 20 |
#
# It takes about 120 minutes in all, plus about 20 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. Exercise 4 may use the function of
# exercise 3; no exercise needs another one's code.
#
# **Masks.** A mask is boolean, and `True` means: **may attend**. Its rows are the queries, its columns the keys. This is the
# polarity of `scaled_dot_product_attention`; `nn.MultiheadAttention` has the opposite one.
#
# **Shapes.** `N_Q` queries attend to `N_X` data vectors, each of which has a key and a value. `G*R` is one axis, that of all
# heads: `G` groups of `R` heads each. `*B` stands for any number of batch axes in front, or none: count from the end. A name
# such as `N_Q` in a shape is no variable: read it from a tensor, `Q.shape[-2]`. Results have the type of the numbers that came
# in (double precision if these are).

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
#   `generate_with_cache`.)
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours. (Not asked of
#   `linear_attention`.)
# - Small numbers count beside large ones: nothing is cut off.
# - Numbers may be 0. (Not asked of `online_softmax_step`.)
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Where a shape begins with `*B`, there may be no batch axis, one, or several.
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `generate_with_cache` and
#   `online_softmax_step`.)
# - Gradients are right also where a softmax is nearly 0 or 1. (Not asked of `linear_attention`.)
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
import time
from collections.abc import Callable

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from utils.check import check
from utils.checking.toy_models import ToyCachedDecoder
from utils.progress import progress

# %% [markdown]
# ## 1 · Decoding with a KV cache
#
# In a causal model, nothing that was computed for a token changes when other tokens come after it. So keep the keys and values
# of all tokens that were read, and feed each token to the model only once: first the whole prompt, then each new token by
# itself.
#
# `decoder` is a small causal model of $L$ layers. It keeps nothing itself:
#
# ```python
# logits, k, v = decoder(tokens, positions, mask, K, V)
# ```
#
# | goes in | shape | |
# |---|---|---|
# | `tokens` | `[B, n]` | the new tokens, which are to be read now |
# | `positions` | `[n]` | their positions in the sequence, counted from 0 |
# | `mask` | `[n, m + n]` | True where a new token may attend; the columns are the `m` tokens read before, then the `n` new ones |
# | `K`, `V` | `[B, L, m, D]` | keys and values of the `m` tokens read before, oldest first; `None` while there are none |
#
# | comes out | shape | |
# |---|---|---|
# | `logits` | `[B, n, V]` | at each new token, for the token that follows it; `V` in a shape is the size of the vocabulary |
# | `k`, `v` | `[B, L, n, D]` | keys and values of the new tokens alone |
#
# Generate `steps` tokens after the prompt (`steps` is at least 1) by greedy decoding: take the most likely token each time.
# Return these tokens, and the logits that each was chosen from (1 point).
#
# **Each token is fed once** (2 points). In all, each row of the batch may be fed `N + steps` tokens. That is one more than is
# needed, since the last token that was generated need not be fed.
#
# <details><summary>Hint: the idea</summary>
#
# One loop does for both: the new tokens are first the prompt, then the one token that was chosen. The number of tokens in the
# cache gives the position of the next one, and the offset of the mask.
# </details>
# <details><summary>Hint: shapes</summary>
#
# With `m` tokens in the cache and `n` new ones, the positions are m, …, m + n − 1. New token `i` may attend to the keys from 0
# to m + i: this is the triangle `torch.ones(n, m + n, dtype=torch.bool).tril(m)`, on the prompt's device. Keys are joined along
# `dim=2`. The next token is chosen from `logits[:, -1]`, `[B, V]`, and fed as `[B, 1]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# new = prompt, K = V = None, m = 0 · repeat steps times: call the decoder · append k to K and v to V · m grows by n ·
# last = logits at the last position · new = argmax of last, as a column · remember both
# </details>


# %% nbgrader={"grade": false, "grade_id": "generate_with_cache", "locked": false, "schema_version": 3, "solution": true, "task": false}
def generate_with_cache(
    decoder: Callable, prompt: Int[Tensor, "B N"], steps: int
) -> tuple[Int[Tensor, "B steps"], Float[Tensor, "B steps V"]]:
    """Greedy decoding with a KV cache.

    Args:
        decoder: takes (tokens, positions, mask, K, V) and gives (logits, k, v), as the tables above
            say.
        prompt: the tokens that are given.
        steps: how many tokens to generate.

    Returns:
        the tokens generated, and the logits that each was chosen from.

    Example:
        For a prompt of 5 tokens and 3 steps the decoder is called with 5 tokens at positions 0 to
        4, with one token at position 5, and with one token at position 6.
    """
    ### BEGIN SOLUTION
    new, m, K, V = prompt, 0, None, None  # the tokens to be read, and how many were read before
    tokens, chosen_from = [], []
    for _ in range(steps):
        n = new.shape[1]
        positions = torch.arange(m, m + n, device=prompt.device)
        # The first row ends at key m: a prompt attends to its past alone, and a single new token to all that there is.
        mask = torch.ones(n, m + n, dtype=torch.bool, device=prompt.device).tril(m)
        logits, k, v = decoder(new, positions, mask, K, V)
        K = k if K is None else torch.cat([K, k], dim=2)  # [B, L, m + n, D]
        V = v if V is None else torch.cat([V, v], dim=2)
        m += n
        chosen_from.append(logits[:, -1])  # [B, V], for the token after the newest
        new = logits[:, -1].argmax(dim=-1, keepdim=True)  # [B, 1]
        tokens.append(new)
    return torch.cat(tokens, dim=1), torch.stack(chosen_from, dim=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_generate_with_cache", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(generate_with_cache)

# %% [markdown]
# What does the cache save? Below, a decoder of six layers generates with your function, and once more without a cache, reading
# everything again for each token. Before you run it: by what factor will the times differ for 50 tokens, and by what factor for
# 200? Will the logits be the same?


# %%
def drawn_decoder(V=40, D=64, L=6, longest=500):
    """A decoder with weights drawn at random."""
    torch.manual_seed(0)
    E, P, W, U = torch.randn(V, D), torch.randn(longest, D), torch.randn(L, D, 3 * D) * D**-0.5, torch.randn(D, V)
    return ToyCachedDecoder(E, P, W, U, limit=10**7)  # it refuses after so many tokens


def generate_anew(decoder, prompt, steps):
    """The same without a cache: everything is read again for each token."""
    tokens, all_logits = prompt, []
    for _ in range(steps):
        N = tokens.shape[1]
        causal = torch.ones(N, N, dtype=torch.bool).tril()
        logits, _, _ = decoder(tokens, torch.arange(N), causal, None, None)
        all_logits.append(logits[:, -1])
        tokens = torch.cat([tokens, logits[:, -1:].argmax(dim=-1)], dim=1)
    return tokens[:, prompt.shape[1] :], torch.stack(all_logits, dim=1)


def compare_generation():
    """Prints seconds and tokens fed, with and without a cache, and the largest difference of a
    logit.
    """
    prompt = torch.arange(8)[None].expand(4, -1)
    for steps in (50, 100, 200):
        results = []
        for generate in (generate_with_cache, generate_anew):
            decoder = drawn_decoder()
            started = time.perf_counter()
            _, logits = generate(decoder, prompt, steps)
            results.append((time.perf_counter() - started, decoder.asked, logits))
        (kept, fed, one), (anew, fed_anew, other) = results
        print(
            f"{steps:3} tokens: {kept:.2f} s with a cache ({fed} tokens fed), {anew:.2f} s without ({fed_anew} fed);"
            f" logits differ by {(one - other).abs().max():.1g} at most"
        )


# %% tags=["play"]
try:
    compare_generation()
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown]
# ## 2 · Grouped-query attention
#
# In multi-head attention each head has keys and values of its own, and all of them are kept in the cache. In grouped-query
# attention the query heads form $G$ groups of $R$ neighbours, $H = G \cdot R$ heads in all, and the heads of a group share one
# set of keys and values. Head $h$ belongs to group $g = \lfloor h / R \rfloor$:
#
# $$A_h = \mathrm{softmax}\!\left(\frac{Q_h K_g^\top}{\sqrt{D_H}}\right), \qquad Y_h = A_h V_g$$
#
# With $G = H$ this is multi-head attention; with $G = 1$ it is called multi-query attention. Return the outputs `Y` and the
# weights `A` of each head, the heads in the order in which they came (3 points). There is no mask.
#
# **Keys and values are not copied** (1 point). One can repeat keys and values until each head has its own. The
# numbers are right then, but in decoding the whole cache is copied $R$ times for one new token, and the memory traffic that the
# groups should save is back. So for a single query, `N_Q` = 1, no tensor that your code makes may have as many numbers as the
# keys repeated for each head, $B \cdot G \cdot R \cdot N_X \cdot D_H$. `repeat_interleave` copies, and so does `@` where it has
# to broadcast a batch axis; a view, such as `K[:, g]`, does not.
#
# `scaled_dot_product_attention` and `nn.MultiheadAttention` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# To the keys of a group it makes no difference which head a query belongs to: all queries of its $R$ heads can meet them in one
# product.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `Q.unflatten(1, (G, -1))` is `[B, G, R, N_Q, D_H]`. With `R` and `N_Q` joined, `[B, G, R*N_Q, D_H]`, it has the same batch
# axes as `K`. On the way back, cut the axes in the order in which they were joined.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# cut the heads of Q into G and R, join R and N_Q · E = Q times the keys transposed, over the root of D_H · A = softmax over the
# data vectors · Y = A times the values · in Y and in A: cut R and N_Q apart, join G and R
# </details>


# %% nbgrader={"grade": false, "grade_id": "grouped_query_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def grouped_query_attention(
    Q: Float[Tensor, "B G*R N_Q D_H"], K: Float[Tensor, "B G N_X D_H"], V: Float[Tensor, "B G N_X D_H"]
) -> tuple[Float[Tensor, "B G*R N_Q D_H"], Float[Tensor, "B G*R N_Q N_X"]]:
    """Attention of G*R heads, of which R neighbours each share the keys and values of one group.

    Args:
        Q: the queries of each head; head h belongs to group h // R.
        K: the keys of each group.
        V: the values of each group.

    Returns:
        the outputs Y and the weights A of each head.

    Example:
        4 heads and 2 groups: heads 0 and 1 attend to group 0, heads 2 and 3 to group 1. If all
            queries are 0, each of two
        data vectors has weight ½. With the values [[1], [3]] in group 0 and [[5], [9]] in group 1
        the outputs of the four heads are 2, 2, 7 and 7.
    """
    ### BEGIN SOLUTION
    N_Q, D_H = Q.shape[-2:]
    # To the keys of a group its R heads are just R * N_Q queries. So the product has K's own batch axes, and nothing is copied.
    q = Q.unflatten(1, (K.shape[1], -1)).flatten(2, 3)  # [B, G*R, N_Q, D_H] -> [B, G, R*N_Q, D_H]
    A = (q @ K.mT / math.sqrt(D_H)).softmax(dim=-1)  # [B, G, R*N_Q, N_X]
    Y = A @ V  # [B, G, R*N_Q, D_H]
    Y, A = (one.unflatten(2, (-1, N_Q)).flatten(1, 2) for one in (Y, A))  # [B, G*R, N_Q, …]
    return Y, A
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_grouped_query_attention", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(grouped_query_attention)

# %% [markdown]
# What do the groups save? Below, one new token with 32 query heads attends to a cache of 8,192 tokens, for 32, 8 and 1 groups:
# with your function, and once more with keys and values repeated for each head. Before you run it: which of the two depends on
# the number of groups?


# %%
def seconds(attend, repeats=5) -> float:
    """The shortest time of a few calls."""
    attend()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        attend()
        times.append(time.perf_counter() - started)
    return min(times)


def attend_with_copies(Q, K, V):
    """The same with keys and values repeated for each head."""
    R = Q.shape[1] // K.shape[1]
    A = (Q @ K.repeat_interleave(R, dim=1).mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return A @ V.repeat_interleave(R, dim=1), A


def compare_groups(H=32, N_X=8192, D_H=64):
    """Prints the size of a layer's cache and the time of one decoding step, for several numbers of
    groups.
    """
    torch.manual_seed(0)
    Q = torch.randn(1, H, 1, D_H)
    for G in (H, H // 4, 1):
        K, V = torch.randn(2, 1, G, N_X, D_H)
        own, copied = (
            1000 * seconds(lambda: attend(Q, K, V)) for attend in (grouped_query_attention, attend_with_copies)
        )
        print(f"{G:2} groups: {(K.nbytes + V.nbytes) / 1e6:6.1f} MB in the cache, ", end="")
        print(f"{own:5.1f} ms a step with your function, {copied:5.1f} ms with copies")


# %% tags=["play"]
try:
    compare_groups()
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown]
# ## 3 · One step of the online softmax
#
# The scores of a query arrive block after block, and no block is kept. Three things stand for all blocks so far: the largest
# score `m`, the sum `l` of all $e^{e - m}$, and the sum `O` of all $e^{e - m}\,v$, not yet divided by `l`. Then one more block
# arrives, with scores `E` and values `V`:
#
# $$m' = \max(m, \textstyle\max_t E_t), \quad f = e^{m - m'}, \quad P = e^{E - m'}, \qquad
# l' = f\,l + \textstyle\sum_t P_t, \quad O' = f\,O + P V$$
#
# Return `m_new`, `l_new` and `O_new`. Before the first block there are no scores: `m` is −∞, `l` and `O` are 0. Your step has
# to work for the first block too, and for scores that are hundreds above or below zero.
#
# <details><summary>Hint: the idea</summary>
#
# A factor turns exponentials with an old maximum into those with the new one: $e^{e - m} \cdot e^{m - m'} = e^{e - m'}$.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `m`, `l` and `f` are `[*B, N_Q]`, one number for each query. Beside a row of `E` or `O` they need one more axis: `f[...,
# None]`. `amax(dim=-1)` is the largest number of each row.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# m_new = the larger of m and the row's maximum · f = exp(m − m_new) · P = exp(E − m_new as a column) · l_new = f l + row sums
# of P · O_new = f (as a column) O + P V
# </details>


# %% nbgrader={"grade": false, "grade_id": "online_softmax_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def online_softmax_step(
    m: Float[Tensor, "*B N_Q"],
    l: Float[Tensor, "*B N_Q"],
    O: Float[Tensor, "*B N_Q D_V"],
    E: Float[Tensor, "*B N_Q T"],
    V: Float[Tensor, "*B T D_V"],
) -> tuple[Float[Tensor, "*B N_Q"], Float[Tensor, "*B N_Q"], Float[Tensor, "*B N_Q D_V"]]:
    """One more block of T data vectors.

    Args:
        m: for each query the largest score so far; −∞ before the first block.
        l: the sum of exp(score − m) so far.
        O: the sum of exp(score − m) times the value so far, undivided.
        E: the scores of the block.
        V: the values of the block.

    Returns:
        m_new, l_new and O_new, the same with the block included.

    Example:
        One query with m = 0, l = 1, O = [1]; the block E = [[ln 2]], V = [[3]] gives m_new = ln 2,
        l_new = 1.5, O_new = [3.5].
    """
    ### BEGIN SOLUTION
    m_new = torch.maximum(m, E.amax(dim=-1))  # [*B, N_Q]
    # f is at most 1, so nothing overflows. Before the first block it is exp(−inf) = 0, and the empty sums stay 0.
    f = torch.exp(m - m_new)
    P = torch.exp(E - m_new[..., None])  # [*B, N_Q, T]
    return m_new, f * l + P.sum(dim=-1), f[..., None] * O + P @ V
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_online_softmax_step", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(online_softmax_step)

# %% [markdown]
# ## 4 · Attention in tiles
#
# Compute $Y = \mathrm{softmax}(Q K^\top / \sqrt{D_Q})\,V$ with `block` data vectors at a time; the last block may be shorter.
# The result is that of ordinary attention. At no time may there be a tensor with as many numbers as $N_Q \cdot N_X$, whatever
# the size of the batch: the check looks at the size of every tensor that your code makes. Nor may a result be kept for every
# block: only `m`, `l` and `O` are carried from block to block. (Blocks of queries alone are not enough: a row of scores must
# not be made whole either.)
#
# `scaled_dot_product_attention` and `nn.MultiheadAttention` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# Exercise 3 in a loop, and one division at the end.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `m` and `l` are `[B, N_Q]`, `O` is `[B, N_Q, D_V]`; the scores of a block are `[B, N_Q, block]`. `K.split(block, dim=1)` gives
# the blocks, the last one shorter if need be. `Q.new_full(…)` and `Q.new_zeros(…)` make tensors of the type and on the device
# of `Q`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# m = −inf, l = 0, O = 0 · for each block of keys and values: E = Q times the keys transposed, over the root of D_Q · m, l, O = one
# step · Y = O over l
# </details>


# %% nbgrader={"grade": false, "grade_id": "tiled_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def tiled_attention(
    Q: Float[Tensor, "B N_Q D_Q"], K: Float[Tensor, "B N_X D_Q"], V: Float[Tensor, "B N_X D_V"], block: int
) -> Float[Tensor, "B N_Q D_V"]:
    """Attention that reads `block` data vectors at a time.

    Args:
        Q: queries.
        K: keys.
        V: values.
        block: how many data vectors a block has; the last one may have fewer.

    Returns:
        the outputs Y.

    Example:
        A query of zeros gives each of three data vectors the weight ⅓. With the values
        [[1], [2], [6]] and block = 2 there are blocks of two and of one data vector, and the output
        is [3].
    """
    ### BEGIN SOLUTION
    m, l = Q.new_full(Q.shape[:-1], -torch.inf), Q.new_zeros(Q.shape[:-1])  # [B, N_Q]
    O = Q.new_zeros(*Q.shape[:-1], V.shape[-1])  # [B, N_Q, D_V]
    for keys, values in zip(K.split(block, dim=1), V.split(block, dim=1)):
        E = Q @ keys.mT / math.sqrt(Q.shape[-1])  # [B, N_Q, block]
        m, l, O = online_softmax_step(m, l, O, E, values)
    return O / l[..., None]  # the sums are undivided until now
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_tiled_attention", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(tiled_attention)

# %% [markdown]
# ## 5 · Linear attention
#
# Linear attention changes the result. It has no softmax; the similarity of a query and a key is a dot product of features,
# $\varphi(q) \cdot \varphi(k)$ with $\varphi(x) = \mathrm{elu}(x) + 1$:
#
# $$y_q = \frac{\sum_x \big(\varphi(q) \cdot \varphi(k_x)\big)\, v_x}{\sum_x \varphi(q) \cdot \varphi(k_x)}
# = \frac{\varphi(q)^\top \sum_x \varphi(k_x)\, v_x^\top}{\varphi(q)^\top \sum_x \varphi(k_x)}$$
#
# Use the right-hand side for all queries at once: no query meets a single key. For long sequences all tensors that your code
# makes together have fewer numbers than a table of $N_Q \cdot N_X$, so a table in pieces is not enough. The similarities are
# not scaled.
#
# <details><summary>Hint: the idea</summary>
#
# $(\varphi(Q)\,\varphi(K)^\top)\,V = \varphi(Q)\,(\varphi(K)^\top V)$: the inner product on the right is small.
# </details>
# <details><summary>Hint: shapes</summary>
#
# $\varphi(K)^\top V$ is `[*B, D_Q, D_V]`; the sum of $\varphi(K)$ over the data vectors is `[*B, D_Q]`. The denominator is one
# number for each query: as a column, `[*B, N_Q, 1]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# q, k = elu(Q) + 1, elu(K) + 1 · top = q (kᵀ V) · bottom = q times the sum of k over the data vectors, as a column · top over
# bottom
# </details>


# %% nbgrader={"grade": false, "grade_id": "linear_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def linear_attention(
    Q: Float[Tensor, "*B N_Q D_Q"], K: Float[Tensor, "*B N_X D_Q"], V: Float[Tensor, "*B N_X D_V"]
) -> Float[Tensor, "*B N_Q D_V"]:
    """Attention whose similarity is a product of features, in time proportional to N_Q + N_X.

    Returns:
        the outputs Y.

    Example:
        Q = [[0]], K = [[0], [1]], V = [[3], [6]]: φ(0) = 1 and φ(1) = 2, so the weights are ⅓ and
        ⅔, and Y = [[5]].
    """
    ### BEGIN SOLUTION
    q, k = F.elu(Q) + 1, F.elu(K) + 1  # all positive, so that the weights are shares
    # All that a query needs to know of the data vectors: a matrix and a vector, however many there are.
    state = k.mT @ V  # [*B, D_Q, D_V]
    total = k.sum(dim=-2)[..., None]  # [*B, D_Q, 1]
    return (q @ state) / (q @ total)  # [*B, N_Q, D_V] / [*B, N_Q, 1]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_linear_attention", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(linear_attention)

# %% [markdown]
# Now compare three ways on longer and longer sequences: attention with the whole table of scores, your tiles, and your linear
# attention. Before you run it: which of the three give the same numbers? Which lines will be steep? Will the tiles take more
# time than the whole table, less, or the same?


# %%
def compare_attentions(lengths=(128, 256, 512, 1024, 2048, 4096), D=32, block=128):
    """Times three attentions of N vectors with themselves, and draws what they have to hold."""
    torch.manual_seed(0)
    ways = {
        "the whole table": lambda Q, K, V: (Q @ K.mT / math.sqrt(D)).softmax(dim=-1) @ V,
        f"tiles of {block}": lambda Q, K, V: tiled_attention(Q, K, V, block),
        "linear": linear_attention,
    }
    took = {name: [] for name in ways}
    for N in lengths:
        Q, K, V = torch.randn(3, 1, N, D)
        for name, attend in ways.items():
            took[name].append(1000 * seconds(lambda: attend(Q, K, V), repeats=3))
    whole, tiled, linear = (attend(Q, K, V) for attend in ways.values())
    print(f"largest difference to the whole table, N = {N}: tiles {(tiled - whole).abs().max():.1g}, ", end="")
    print(f"linear {(linear - whole).abs().max():.1g}")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for (name, times), marker in zip(took.items(), "osv"):
        left.plot(lengths, times, marker=marker, label=name)
    numbers = {  # that must be held at a time, of 4 bytes each
        "the whole table": [N * N for N in lengths],
        f"tiles of {block}": [N * (block + D + 2) for N in lengths],
        "linear": [D * (D + 1) for N in lengths],
    }
    for (name, held), marker in zip(numbers.items(), "osv"):
        right.plot(lengths, [4 * count for count in held], marker=marker, label=name)
    left.set(xlabel="N", ylabel="milliseconds", title="measured here")
    right.set(xlabel="N", ylabel="bytes of scores and sums", title="counted: what must be held")
    for panel in (left, right):
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
    left.legend()
    plt.show()


# %% tags=["play"]
try:
    compare_attentions()
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown]
# ## 6 · Stretch: windowed attention
#
# This exercise earns no points. A window is good for long texts: Longformer attends in this way, but for a few tokens that
# attend to all, and in other models some of the layers do, with a window that looks to the past alone.
#
# In windowed attention, each vector attends only to those at most `window` positions away, on both sides:
#
# $$y_m = \sum_{n=m-w}^{m+w} a_{mn}\, v_n, \qquad a_{mn} = \frac{e^{q_m \cdot k_n / \sqrt{D_Q}}}
# {\sum_{j=m-w}^{m+w} e^{q_m \cdot k_j / \sqrt{D_Q}}},$$
#
# where $w$ is `window`, and both sums leave out positions outside the sequence. So the first vector attends to itself and to
# the $w$ vectors that follow it, or all if there are fewer. (With $w = 1$ and 5 vectors, the queries 0 to 4 have 2, 3, 3, 3 and
# 2 scores.) Queries, keys and values belong to the same `N` vectors. `window` may be 0, and it may be larger than `N`.
#
# **There is no table of $N \times N$,** neither at once nor in pieces: for one sequence of $N = 400$ vectors of 4 features and a
# window of 2, all tensors that your code makes together have fewer than $N^2$ numbers. A mask alone does not achieve this, since
# the scores that it hides are computed as well. Compute only the $2w + 1$ scores that each query needs, or not many more. For
# instance,
#
# - keep each key in $2w + 1$ copies, one for each query that it meets, by an index `[N, 2w+1]` of positions; or
# - add $w$ vectors of zeros at both ends and look at the result through `unfold(1, 2 * window + 1, 1)`, which gives each query
#   its own stretch of keys, `[B, N, D, 2w+1]`, without a copy (a product `@` with it may make one); or
# - loop over the distances, or over the queries.
#
# Take care at both ends: whatever stands for a position outside, a zero for instance, must get no weight.
#
# `scaled_dot_product_attention` and `nn.MultiheadAttention` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# Let the scores be `[B, N, 2w+1]`: for each query one for each distance from −w to w. The softmax runs over the distances.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Positions as a column, `[N, 1]`, plus distances as a row, `[2w+1]`, give the position of each key, `[N, 2w+1]`. With those
# outside moved to the ends, `K[:, near]` is `[B, N, 2w+1, D_Q]`. Queries `[B, N, D_Q, 1]` make products with it,
# `[B, N, 2w+1, 1]`; remove just this last axis, `squeeze(-1)`. Weights meet `V[:, near]` as rows, `[B, N, 1, 2w+1]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# near = 0, …, N − 1 as a column, plus −w, …, w · inside = near is at least 0 and less than N · clamp near · E = K[:, near] times
# the queries as columns, over the root of D_Q · −∞ where not inside · A = softmax over the distances · Y = A times V[:, near]
# </details>


# %% nbgrader={"grade": false, "grade_id": "windowed_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def windowed_attention(
    Q: Float[Tensor, "B N D_Q"], K: Float[Tensor, "B N D_Q"], V: Float[Tensor, "B N D_V"], window: int
) -> Float[Tensor, "B N D_V"]:
    """Attention of each vector to those at most `window` positions away.

    Args:
        Q: queries.
        K: keys.
        V: values.
        window: how many positions a query may look to either side.

    Returns:
        the outputs Y.

    Example:
        If all queries are 0, each output is the mean of the values in the window. With the values
        [[[1], [3], [8]]] and window = 1 the outputs are [[[2], [4], [5.5]]].
    """
    ### BEGIN SOLUTION
    N, positions = Q.shape[1], torch.arange(Q.shape[1], device=Q.device)
    near = positions[:, None] + torch.arange(-window, window + 1, device=Q.device)  # [N, 2w+1]
    outside = (near < 0) | (near >= N)
    near = near.clamp(0, N - 1)  # any vector will do in the place of one outside: it gets no weight
    E = (K[:, near] @ Q[..., None]).squeeze(-1) / math.sqrt(Q.shape[-1])  # [B, N, 2w+1, D_Q] @ [B, N, D_Q, 1]
    A = E.masked_fill(outside, -torch.inf).softmax(dim=-1)  # each query is inside its own window: no row is empty
    return (A[:, :, None] @ V[:, near]).squeeze(2)  # [B, N, 1, 2w+1] @ [B, N, 2w+1, D_V]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_windowed_attention", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(windowed_attention)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_efficiency", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7 · What is saved, and what is not?
#
# Answer in six to twelve sentences, in the cell below. Write down how you come to your numbers.
#
# 1. A colleague says: "FlashAttention is an approximation that makes attention linear." Put this right. What do the tiles save,
#    what do they not save, and why is the computation faster nevertheless?
# 2. A language model has 32 layers with 32 query heads of width 128 each, and a number takes 2 bytes. How many bytes does its
#    KV cache take for one text of 8,192 tokens if each head has keys and values of its own, and how many with 8 groups? The
#    weights take 16 GB on a device of 80 GB: how many such texts fit on it at a time in either case?
# 3. What do the groups gain in each step of decoding, beyond room in memory? Which part of the work do they not reduce, and what
#    may they cost?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: tiles.** It is exact: the same softmax, only added up in another order, equal up to rounding. The number of
# operations still grows as N² (there are even a few more, for the rescaling). What is saved is the table: memory beside inputs
# and outputs grows as N, not N². It is faster because the table need not be written to and read back from the large, slow
# memory; that traffic, not the arithmetic, takes most of plain attention's time. Linear in N is linear attention, which
# computes something else. (½ for exact and still N² operations, ½ for memory and its traffic as the reason.)
#
# **1 point: the size of the cache.** A token has a key and a value in each layer and for each key-value head: 2 · 32 · 32 · 128
# · 2 bytes = 524,288 bytes (512 KiB); 8,192 tokens take 4,294,967,296 bytes = 4.3 GB (4 GiB). With 8 groups it is a quarter,
# 1,073,741,824 bytes = 1.1 GB (1 GiB). Beside the weights there are 64 GB: room for 14 texts (64/4.29), or for 59 (64/1.07).
# Rounded numbers (15, 58 to 60) count as right, and so do 16 and 64 from an answer that takes GB and GiB for the same. (½ for
# both sizes of the cache, with the way to them; ½ for both numbers of texts, also where they follow from wrong sizes. So a
# factor 2 that was forgotten for keys and values costs the first ½ and no more.)
#
# **1 point: decoding.** A step computes little, but has to read the whole cache (and the weights) from memory; this takes most
# of its time. With 8 groups it reads a quarter of the cache, and more texts share one reading of the weights: more tokens a
# second. Not reduced are the operations of scores and mixing: there are still 32 heads with queries, weights and outputs of
# their own, and each attends to all tokens. The cost: the 4 heads of a group share keys and values, so that they can look for
# different things, but only among the same keys; the model has fewer parameters in W_K and W_V, and may lose some quality. It
# must be trained, or trained on, with its groups. (½ for less memory traffic a step, and thus faster steps; ½ for one thing
# that is not reduced and the loss of keys and values of their own. "Less computation" as the reason earns nothing: only the
# projections to keys and values get smaller.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_efficiency", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. FlashAttention computes the very same softmax, only in another order, and differs from plain attention by rounding alone.
#    It does not save operations: they grow as N² as before, with some more for rescaling. It saves the table of scores, so that
#    the memory beside inputs and outputs grows as N, and with the table all the traffic of writing it to the large, slow memory
#    and reading it back, which is what plain attention spends its time on. Linear in N is linear attention, but that is another
#    function.
#
# 2. Each token has a key and a value in each layer for each key-value head: 2 · 32 layers · 32 heads · 128 numbers · 2 bytes =
#    524,288 bytes. For 8,192 tokens this makes 4,294,967,296 bytes, about 4.3 GB. With 8 groups instead of 32 heads it is a
#    quarter, about 1.07 GB. The weights leave 80 − 16 = 64 GB: 64 / 4.29 gives 14 texts at a time, 64 / 1.07 gives 59.
#
# 3. A decoding step computes little for its one token, but has to read the weights and the whole cache from memory, and this
#    takes most of its time. With 8 groups it reads a quarter of the cache, so each step is faster, and more texts can share one
#    reading of the weights. The operations for scores and mixing are not reduced: there are still 32 heads, and each compares
#    its query with all tokens. What it may cost is quality: the four heads of a group have to share keys and values, where each
#    could have learned its own.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.

# %%
progress()
