# %% [markdown]
# # Assignment 07: masking
#
# You decide who may see whom: you write the two masks that almost every model has, a softmax that respects any mask,
# and multi-head attention with one. Then you compute what such a model is trained for, the probability of a sequence,
# and let one write without reading anything twice.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · a causal mask with an offset | 2 | ●○○ | 10 |
# | 2 · a padding mask | 2 | ●○○ | 10 |
# | 3 · a masked softmax, rows without any key included | 4 | ●●○ | 20 |
# | 4 · masked multi-head attention | 4 | ●●○ | 20 |
# | 5 · the log-probability of a sequence | 3 | ●●○ | 15 |
# | 6 · generation with a cache | 3 | ●●● | 25 |
# | 7 · a written answer | 2 | ●●○ | 10 |
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. Grading examines the same properties
# and some more, on other numbers and other sizes: a ✓ is a good sign, not yet the mark.
#
# **Masks.** A mask is boolean, and `True` means: **may be seen**. So it is in `scaled_dot_product_attention`;
# `nn.MultiheadAttention` says the opposite. The last axis of a mask runs over the keys, the one before it over the
# queries. An axis of size 1 stands for all of its kind.
#
# **Shapes.** `*B` stands for any number of axes in front, or none: count from the end. Results have the type of the
# numbers that came in (double precision if these are). A *token* is what the lesson calls a word.

# %% [markdown] tags=["demands"]
# **What is asked of every exercise.** Grading examines each of these; a check shows some of them. Where an exercise's own
# text says something else, that holds.
#
# - Inputs come back as they were given, and the same inputs give the same result in every call.
# - Results have the floating-point type of the inputs, float32 or float64, and are computed in it.
# - Numbers of float64 may be larger than float32 can hold.
# - Inputs of bfloat16 give results of bfloat16. (Not asked of `generate_with_cache`.)
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours.
# - Small numbers count beside large ones: nothing is cut off.
# - Numbers may be 0.
# - Any size may be 1. (Not asked of `causal_mask`.)
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `generate_with_cache`.)
#   In `MaskedMultiHeadAttention` they need to flow only from `Y`.
# - Gradients are right also where a softmax is nearly 0 or 1.
# - Zeros are exact in `A` of `masked_softmax`, `A` of `MaskedMultiHeadAttention`: what gets no weight has weight 0.

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
import time
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.checking.toy_models import ToyCachedDecoder
from utils.progress import progress

# %% [markdown]
# ## 1 · A causal mask with an offset
#
# Query $m$ stands at position $\mathit{offset} + m$ of a sequence, key $n$ at position $n$. A query may see the key at
# its own position and all before it: `mask[m, n]` is `True` where $n \le \mathit{offset} + m$.
#
# With offset 0 and as many queries as keys it is the usual triangle. The offset is needed when a model reads on: the
# keys of what it has read are there, and only a few new tokens ask.
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
    """True where a query may look: at keys that do not come after it.

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
# Lines of different length share a tensor: line $b$ has `lengths[b]` words, at places 0 to `lengths[b]` − 1, and
# padding behind them up to place $N - 1$. Nobody should look at padding: `mask[b, 0, n]` is `True` at words, `False` at
# padding. A line may have length 0: then it is all `False`.
#
# The axis of size 1 stands for the queries, who all may see the same keys. So the mask fits scores `[B, N_Q, N]` of any
# number of queries, and `causal_mask(N, N, 0) & padding_mask(lengths, N)` is `[B, N, N]`: both at once. `N` may be more
# than the longest line has.
#
# <details><summary>Hint: the idea</summary>
#
# A place holds a word if its number is smaller than the line's length.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Places `[N]` against lengths `[B, 1, 1]` gives `[B, 1, N]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# places = 0, …, N − 1, on the device of lengths · places < lengths, with two new axes behind the lengths
# </details>


# %% nbgrader={"grade": false, "grade_id": "padding_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def padding_mask(lengths: Int[Tensor, "B"], N: int) -> Bool[Tensor, "B 1 N"]:
    """True at the words of each line, False at its padding.

    Example:
        padding_mask(torch.tensor([2, 3]), 3) is [[[True, True, False]], [[True, True, True]]].
    """
    ### BEGIN SOLUTION
    places = torch.arange(N, device=lengths.device)
    return places < lengths[:, None, None]  # [N] against [B, 1, 1]: [B, 1, N]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_padding_mask", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(padding_mask)

# %% [markdown]
# ## 3 · A masked softmax
#
# Each query shares its weight among the keys that it may see:
#
# $$A_{mn} = \frac{e^{E_{mn}}}{\sum_{j \text{ allowed}} e^{E_{mj}}}\ \text{ at allowed keys},\qquad A_{mn} = 0\ \text{ at all others.}$$
#
# The mask has any shape that broadcasts to that of the scores. Two promises make the function safe to build on:
#
# - **Forbidden scores do not matter** (2 points, with the rest of the definition). Whatever finite number stands there,
#   1e30 if need be: nothing else changes, and allowed scores may be large without an overflow.
# - **Rows without any allowed key are zeros** (2 points): no NaN, and no NaN in the gradient either, which is 0 there.
#   A plain softmax of $-\infty$ alone is 0/0.
#
# `scaled_dot_product_attention` and `nn.MultiheadAttention` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# A score of $-\infty$ has weight 0, so put it at all forbidden places before the softmax. A row of $-\infty$ alone
# needs something else to work on: any finite numbers. What comes out for it is set to 0 afterwards. (The lesson filled
# in 0 after the softmax alone. Both are right.)
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
        mask: True where a query may look; broadcasts to the shape of E.

    Example:
        E = [[1, 1, 9], [5, 5, 5]] with mask [[True, True, False], [False, False, False]] gives [[½, ½, 0], [0, 0, 0]].
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
# The mask is `[B, N, N]`, or something that broadcasts to it: `[N, N]`, one for all sequences, or `[B, 1, N]`, one for
# all queries. **All heads of a sequence share its mask.** (3 points.) A query that may see nothing has weights 0, and
# its output is the bias of `W_O`. (1 point.)
#
# Name the layers `W_QKV` and `W_O`; both are `nn.Linear` with bias. `scaled_dot_product_attention` and
# `nn.MultiheadAttention` are not allowed here. Your own functions are.
#
# <details><summary>Hint: the idea</summary>
#
# Only the softmax is new, and you have written it. The mask lacks the axis of the heads.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Scores are `[B, H, N, N]`. A mask `[B, N, N]`, `[N, N]` or `[B, 1, N]` gets its axis for the heads at the third place
# from the end: `mask.unsqueeze(-3)`. What would happen at place 1, counted from the front, to a mask `[N, N]`?
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
# A causal model gives all factors in one pass: the logits at place $t$ have seen the tokens up to $t$, and are about
# token $t + 1$.
#
# `tokens[:, 0]` is the start, which is given and has no factor. `lengths` counts the tokens of each line, the start
# among them; what stands behind them is padding, whatever it is, and does not count. For each line give $\log P$, with
# the natural logarithm, of all its tokens after the start. The last logits of a line are not used. A line of length 1
# is a start and no more: it has no factor, and its $\log P$ is 0.
#
# <details><summary>Hint: the idea</summary>
#
# Logarithms turn the product into a sum. Token $t$ is looked up in the logits one place before it.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `logits[:, :-1]` and `tokens[:, 1:]` belong together: N − 1 places. `gather` along the last axis picks one number for
# each place: its index needs an axis of size 1 at the end.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# log_p = log_softmax of all logits but the last, over the vocabulary · picked = entries of tokens 1 to N − 1 · set
# those of the padding to 0 · sum over each line
# </details>


# %% nbgrader={"grade": false, "grade_id": "sequence_log_probability", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sequence_log_probability(
    logits: Float[Tensor, "B N V"], tokens: Int[Tensor, "B N"], lengths: Int[Tensor, "B"]
) -> Float[Tensor, "B"]:
    """log P of each line's tokens, given its start.

    Args:
        logits: at place t about token t + 1.
        tokens: the lines, from their start on.
        lengths: how many tokens belong to each line, the start among them.

    Example:
        With four tokens to choose from and all logits 0, a line of length 3 has log P = 2 · log(1/4).
    """
    ### BEGIN SOLUTION
    log_p = logits[:, :-1].log_softmax(dim=-1)  # [B, N − 1, V], place t about token t + 1
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
# ## 6 · Generation with a cache
#
# In a causal model nothing that was computed for a token changes when others come after it. So keep the keys and values
# of all that was read, and feed each token once: first the whole prompt, then each new token by itself.
#
# `decoder` is a small model of $L$ layers. It keeps nothing itself:
#
# ```python
# logits, k, v = decoder(tokens, positions, mask, K, V)
# ```
#
# | goes in | shape | |
# |---|---|---|
# | `tokens` | `[B, n]` | the tokens to be read now |
# | `positions` | `[n]` | where they stand in the sequence |
# | `mask` | `[n, m + n]` | who of them may see what: the `m` tokens read before and those read now |
# | `K`, `V` | `[B, L, m, D]` | keys and values of the `m` tokens read before, oldest first; `None` while there are none |
#
# | comes out | shape | |
# |---|---|---|
# | `logits` | `[B, n, V]` | at each of them about the next one; `V` in a shape is the size of the vocabulary |
# | `k`, `v` | `[B, L, n, D]` | keys and values of the tokens read now, alone |
#
# Write `steps` tokens after the prompt, at least one, the likeliest each time. Return the tokens written and the logits
# that each was chosen from. (1 point for the right tokens and logits; 2 for feeding each token only once. The last
# token written need not be fed. In all, each line may be fed N + `steps` tokens, one more than is needed.)
#
# <details><summary>Hint: the idea</summary>
#
# One loop for both: what is new is first the prompt, then the one token that was chosen. How many tokens are in the
# cache tells the position and the mask's offset.
# </details>
# <details><summary>Hint: shapes</summary>
#
# With `m` tokens in the cache and `n` new ones: positions m, …, m + n − 1; mask `causal_mask(n, m + n, m)`; keys are
# joined along `dim=2`. The next token is chosen from `logits[:, -1]`, `[B, V]`, and fed as `[B, 1]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# new = prompt, K = V = None, m = 0 · repeat steps times: call the decoder · append k to K and v to V · m grows by n ·
# last = logits at the last place · new = argmax of last, as a column · remember both
# </details>


# %% nbgrader={"grade": false, "grade_id": "generate_with_cache", "locked": false, "schema_version": 3, "solution": true, "task": false}
def generate_with_cache(
    decoder: Callable, prompt: Int[Tensor, "B N"], steps: int
) -> tuple[Int[Tensor, "B steps"], Float[Tensor, "B steps V"]]:
    """The likeliest token, `steps` times, with the keys and values of all that was read kept.

    Returns:
        the tokens written, and the logits that each was chosen from.

    Example:
        For a prompt of 5 tokens and 3 steps the decoder is called with 5 tokens at positions 0 to 4, with one at
        position 5, and with one at position 6.
    """
    ### BEGIN SOLUTION
    new, m, K, V = prompt, 0, None, None  # what is to be read, and how much has been
    tokens, chosen_from = [], []
    for _ in range(steps):
        n = new.shape[1]
        positions = torch.arange(m, m + n, device=prompt.device)
        mask = causal_mask(n, m + n, m).to(prompt.device)  # a single new token sees everything, a prompt only its past
        logits, k, v = decoder(new, positions, mask, K, V)
        K = k if K is None else torch.cat([K, k], dim=2)  # [B, L, m + n, D]
        V = v if V is None else torch.cat([V, v], dim=2)
        m += n
        chosen_from.append(logits[:, -1])  # [B, V], about the token after the newest
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
# What is the cache worth? Below, a decoder of six layers writes with your function, and once more the plain way, which
# reads everything again for each token. Before you run it: by what factor will they differ for 50 tokens, and for 200?
# Are the logits the same?


# %%
def drawn_decoder(V=40, D=64, L=6, longest=500):
    """A decoder with weights drawn at random."""
    torch.manual_seed(0)
    E, P, W, U = torch.randn(V, D), torch.randn(longest, D), torch.randn(L, D, 3 * D) * D**-0.5, torch.randn(D, V)
    return ToyCachedDecoder(E, P, W, U, limit=10**7)  # it refuses after so many tokens


def generate_anew(decoder, prompt, steps):
    """The same without a cache: everything is read again for each token."""
    tokens, said = prompt, []
    for _ in range(steps):
        N = tokens.shape[1]
        logits, _, _ = decoder(tokens, torch.arange(N), causal_mask(N, N, 0), None, None)
        said.append(logits[:, -1])
        tokens = torch.cat([tokens, logits[:, -1:].argmax(dim=-1)], dim=1)
    return tokens[:, prompt.shape[1] :], torch.stack(said, dim=1)


def compare_generation():
    """Prints seconds and tokens fed, with and without a cache, and the largest difference of a logit."""
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

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_leak", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7 · A loss that is too good
#
# A friend trains a language model of her own. After a few hundred steps the training loss is almost 0, and so is the
# loss on held-out text. What the model writes, token after token, is nonsense. Answer in four to six sentences, in the
# cell below:
#
# 1. What is the likely cause? Name one mistake in the code that would do just this.
# 2. Which measurement on the model, without training it again, would prove it?
# 3. Why could neither loss tell?
#
# === BEGIN MARK SCHEME ===
#
# **½ point: the cause.** The model sees the token that it is to predict: the future leaks. A mistake that does it: no
# causal mask; a mask of the wrong polarity (True for forbidden, given to a function that takes True for allowed, or the
# other way round; where an empty row gives no NaN); a triangle that is off by one towards the future; targets that are
# not shifted (the input itself is to be predicted); a mask that is applied in some layers or heads only.
#
# **1 point: the measurement.** Take the gradient of the logits at place t with respect to the inputs' vectors at places
# behind t: it must be exactly 0, and with a leak it is not. Or change a later token, and compare the logits at earlier
# places: they must not change at all. Or give the model beginnings alone: evaluated one by one, or with the text cut
# off behind a place, the loss is far above that of training, or the logits at that place change. (For targets that are
# not shifted neither shows anything, as the mask is right: there one looks at which token the target at place t is, or
# evaluates one by one, which shows it too. An answer that names this cause and this check has the full point.) ½ if it
# is said what is compared, ½ if it is said what should come out. "Look at the attention maps" earns ½: they show one
# way only.
#
# **½ point: why no loss could tell.** Both losses are computed with the true next tokens in the input, all places at
# once, so the leak is there in both; copying is a real solution of the task as it was set. When it writes, the next
# token does not exist yet, and there is nothing to copy. Held-out text protects against learning by heart, not against
# being told the answer.
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_leak", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The model probably sees the token that it should predict, for instance because its causal mask is off by one, so that
# each place sees the next token. To prove it, take the gradient of the logits at some place t with respect to the
# vectors that went in at places behind t: it must be exactly 0, and will not be. (Or change one later token: no logit
# before it may change.) The loss is computed on whole texts, in which the next token stands in the input one place
# further on; copying it brings the loss to 0, and it does so on held-out text too, since the answer stands there as
# well. When the model writes, the next token is not there yet; it has learned to copy and has nothing to copy from.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.

# %%
progress()
