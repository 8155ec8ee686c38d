# %% [markdown]
# # Assignment 10: encoder and decoder
#
# You build the Transformer of "Attention is all you need" from its decoder block to its logits, with the two masks
# that it needs. Then come the aids with which it is trained, label smoothing and the warm-up, and what it takes to
# write with it: decoding that computes nothing twice, and a fair comparison of translations of different lengths. In
# between you count the parameters of all three families with one function. The stretch is the relative bias of T5.
#
# **Goals.** You can write a decoder block with masked self-attention and cross-attention, wire torch's blocks into a
# whole model and get their masks right, smooth the labels of a loss, compute a warm-up, count any Transformer exactly,
# decode a batch with cached keys and values, and rank hypotheses of different lengths.
#
# **What you need.** [Lesson 10](../../notebooks/10_encoder_decoder.ipynb), the heads of assignment 06, the masks of
# assignment 07, the KV cache of assignment 08 and the block of assignment 09. Two exercises are an `nn.Module`. The
# [glossary](../../docs/glossary.md) has all terms and symbols.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · a decoder block | 4 | ●●● | 30 |
# | 2 · the whole model | 3 | ●●● | 30 |
# | 3 · label smoothing | 2 | ●●○ | 15 |
# | 4 · a warm-up | 1 | ●○○ | 5 |
# | 5 · counting the families | 2 | ●●○ | 20 |
# | 6 · greedy decoding with caches | 3 | ●●○ | 20 |
# | 7 · hypotheses of different lengths | 2 | ●●○ | 15 |
# | 8 · distance instead of position | stretch | ●●● | 25 |
# | 9 · a written answer | 3 | ●●○ | 20 |
#
# It takes about 155 minutes in all, plus about 25 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. No exercise needs another exercise's
# code.
#
# **Shapes.** `B` is the batch, `N` the number of positions of the source and `T` that of the target, padding
# included; `D` is the width of the vectors, `H` the number of heads, each of them `D/H` wide, `D_F` the hidden width
# of an MLP, and `V` the number of tokens in the vocabulary. A name such as `N` in a shape is no variable, unless it
# is an argument too: read it from a tensor. Three token numbers are fixed: `PAD` is 0, `START` is 1, `STOP` is 2.
#
# **Masks.** A mask of this course is of type `torch.bool`, and True means **may attend**; the mask of a source is
# True at its tokens and False at its padding. This is the polarity of `scaled_dot_product_attention`; torch's own
# Transformer layers have the opposite one, as exercise 2 will remind you.

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
#   `Transformer` and `learning_rate`.)
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours. (Not asked of
#   `decode_greedily`.)
# - Small numbers count beside large ones: nothing is cut off. (Not asked of `decode_greedily`.)
# - Numbers may be 0. (Not asked of `decode_greedily`.)
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `learning_rate`.)
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
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.data.translation import PAD, START, STOP
from utils.progress import progress

# %% [markdown]
# ## 1 · A decoder block
#
# The block of assignment 09 has two sublayers. A decoder's block has a third one between them: the cross-attention, in
# which the target asks and the source answers ([lesson 10](../../notebooks/10_encoder_decoder.ipynb), "The decoder
# block"). You write all three by hand, in the pre-norm wiring:
#
# $$X_1 = X + \mathrm{self}\big(\mathrm{norm}_1(X)\big), \qquad
# X_2 = X_1 + \mathrm{cross}\big(\mathrm{norm}_2(X_1),\, \mathrm{memory}\big), \qquad
# X_3 = X_2 + \mathrm{MLP}\big(\mathrm{norm}_3(X_2)\big)$$
#
# - The **self-attention** is causal: position $t$ attends to the positions up to $t$, itself included. `W_QKV` gives
#   queries, keys and values side by side, in this order, and `W_O` is its output projection.
# - In the **cross-attention**, the queries come from the target through `W_Q`, and keys and values from the memory
#   through `W_KV`, side by side in this order; `W_C` is its output projection. Only the tokens of the source are
#   attended to, those where `mask` is True. The memory is used as it is, without a norm: the encoder has ended with
#   one.
# - In both, head $h$ owns the columns from $h \cdot D/H$ to $(h+1) \cdot D/H$ of each part, its upper end not included,
#   and the scores are divided by $\sqrt{D/H}$.
# - The **MLP** is `W_in`, then ReLU as in the paper, then `W_out`.
#
# | name | layer | |
# |---|---|---|
# | `norm_1`, `norm_2`, `norm_3` | `nn.LayerNorm(D)` | in front of the three sublayers |
# | `W_QKV`, `W_O` | `nn.Linear(D, 3*D)`, `nn.Linear(D, D)` | self-attention |
# | `W_Q`, `W_KV`, `W_C` | `nn.Linear(D, D)`, `nn.Linear(D, 2*D)`, `nn.Linear(D, D)` | cross-attention |
# | `W_in`, `W_out` | `nn.Linear(D, D_F)`, `nn.Linear(D_F, D)` | the MLP |
#
# Each source has at least one token, which may be anywhere: padding between tokens is hidden like padding behind them.
# Scores may be large, so hide them with $-\infty$ or the smallest number of their type, not with $-10^4$. `H` divides
# `D`, and there is no dropout. `F.scaled_dot_product_attention` is allowed; `nn.MultiheadAttention`,
# `nn.TransformerDecoderLayer` and `nn.Transformer` are not.
#
# <details><summary>Hint: the idea</summary>
#
# Both attentions do the same with their queries, keys, values and mask. Write this once, as a method of your own, and
# the three sublayers are three lines.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Queries are `[B, H, T, D/H]` in both attentions; keys and values are `[B, H, T, D/H]` in the first and
# `[B, H, N, D/H]` in the second. The causal mask is `[T, T]`, the same for all sequences and heads. The mask of the
# source is `[B, N]`: which two axes does it lack?
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. attend: heads of queries, keys and values; scores over the root of D/H; softmax over what is allowed; weighted
#    sums; join the heads
# 2. add to X the projection of attending from norm_1 of X to itself, causally
# 3. add to that the projection of attending from its norm_2 to the memory's tokens
# 4. add to that the MLP of its norm_3
# </details>


# %% nbgrader={"grade": false, "grade_id": "DecoderBlock", "locked": false, "schema_version": 3, "solution": true, "task": false}
class DecoderBlock(nn.Module):
    """A pre-norm decoder block: causal self-attention, cross-attention, MLP.

    Args:
        D: width of target and memory.
        H: number of heads, a divisor of D.
        D_F: hidden width of the MLP.

    Example:
        D = 2, H = 1, all weights and biases 0 but those of W_C, the identity, and the bias of W_KV,
        [0, 0, 3, 5]: the values of all source vectors are [3, 5], whatever they are, so X =
        [[[1, 2]]] gives [[[4, 7]]].
    """

    def __init__(self, D: int, H: int, D_F: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.heads = H
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(D) for _ in range(3))
        self.W_QKV, self.W_O = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.W_Q, self.W_KV, self.W_C = nn.Linear(D, D), nn.Linear(D, 2 * D), nn.Linear(D, D)
        self.W_in, self.W_out = nn.Linear(D, D_F), nn.Linear(D_F, D)
        ### END SOLUTION

    def forward(
        self, X: Float[Tensor, "B T D"], memory: Float[Tensor, "B N D"], mask: Bool[Tensor, "B N"]
    ) -> Float[Tensor, "B T D"]:
        """The target after it has looked at itself and at the source.

        Args:
            X: the vectors of the target.
            memory: the vectors of the source, from the encoder.
            mask: True at the tokens of the source, False at its padding.

        Returns:
            the new vectors of the target.
        """
        ### BEGIN SOLUTION
        T = X.shape[1]
        causal = torch.ones(T, T, dtype=torch.bool, device=X.device).tril()  # row t allows columns 0 to t
        Q, K, V = self.W_QKV(self.norm_1(X)).chunk(3, dim=-1)
        X = X + self.W_O(self._attend(Q, K, V, causal))
        # The target asks, the source answers; the mask lacks the axes of heads and queries.
        K, V = self.W_KV(memory).chunk(2, dim=-1)
        X = X + self.W_C(self._attend(self.W_Q(self.norm_2(X)), K, V, mask[:, None, None, :]))
        return X + self.W_out(self.W_in(self.norm_3(X)).relu())

    def _attend(self, Q, K, V, allowed):
        """Q [B, T, D] attends to K and V [B, ·, D] with H heads; returns [B, T, D]."""
        Q, K, V = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in (Q, K, V))  # [B, H, ·, D/H]
        return F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed).transpose(1, 2).flatten(2)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_DecoderBlock", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(DecoderBlock)

# %% [markdown]
# ## 2 · The whole model
#
# Now torch's own blocks are allowed, and what is left to do is what goes wrong most often: embeddings, positions and
# masks ([lesson 10](../../notebooks/10_encoder_decoder.ipynb), "The whole model"). The model of this exercise has one
# vocabulary for both languages, and **one table** for everything: it embeds the source and the target, and its
# transpose makes the logits (Vaswani et al., section 3.4).
#
# 1. The embeddings of the tokens are multiplied by $\sqrt{D}$. Then the sinusoidal encodings of the positions are
#    added, in both halves, from position 0 on: $\sin(n\,\omega_i)$ in dimension $2i$ and $\cos(n\,\omega_i)$ in
#    dimension $2i + 1$, with $\omega_i = 10000^{-2i/D}$. `D` is even.
# 2. The blocks of `encoder`, one after another, then `encoder_norm`, make the memory.
# 3. The blocks of `decoder`, each of which also gets the memory, then `decoder_norm`.
# 4. The logits of a position are the scalar products of its vector with the embeddings of all tokens, as they are in
#    the table; there is no bias.
#
# | name | layer |
# |---|---|
# | `embedding` | `nn.Embedding(V, D)` |
# | `encoder` | `nn.ModuleList` of `L` layers `nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, batch_first=True, norm_first=True)` |
# | `decoder` | `nn.ModuleList` of `L` layers `nn.TransformerDecoderLayer` with the same arguments |
# | `encoder_norm`, `decoder_norm` | `nn.LayerNorm(D)` |
#
# The layers are exactly these, with torch's own ReLU in their MLPs. The result is logits, without a softmax.
#
# **Who may attend.** Padding of the source, where a token is `PAD`, is attended to by nobody, in the encoder and in
# the decoder. The decoder's self-attention is causal. Padding of the target needs no mask, since it comes after the
# tokens, which do not look ahead; hiding it too changes nothing that counts. Each source begins with a token. `target`
# is what the decoder is fed, already shifted, with `START` in front.
#
# Mind the polarity: in the masks that torch's layers take, `src_key_padding_mask`, `tgt_mask` and
# `memory_key_padding_mask`, a boolean True means **hidden**.
#
# <details><summary>Hint: the idea</summary>
#
# There are three attentions, and each needs one mask. Which sequences do its keys come from, and what is there to hide?
# </details>
# <details><summary>Hint: shapes</summary>
#
# A padding mask is `[B, N]`, the causal one `[T, T]`. The encodings are `[N, D]` for the source and `[T, D]` for the
# target. The table is `[V, D]`, so the logits are `[B, T, D]` times its transpose.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. embed: look up, times the root of D, plus the encodings
# 2. memory: embed the source; through each encoder block, its padding hidden; the norm
# 3. embed the target; through each decoder block with the memory, later positions and the source's padding hidden; the
#    norm
# 4. times the transposed table
# </details>


# %% nbgrader={"grade": false, "grade_id": "Transformer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Transformer(nn.Module):
    """Encoder and decoder with one table of embeddings.

    Args:
        V: number of tokens in the vocabulary.
        D: width, an even number.
        H: number of heads, a divisor of D.
        D_F: hidden width of the MLPs.
        L: number of blocks of the encoder, and of the decoder.

    Example:
        With L = 0, D = 2 and the table [[0, 0], [1, 0], [0, 1]]: a target [[1]] is embedded as √2 ·
        [1, 0] + [0, 1]. The norm of the decoder (gain 1, bias 0) makes [1, −1] of it, up to
        rounding, and the logits are [[[0, 1, −1]]]. The source has no influence without blocks.
    """

    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(V, D)
        usual = {"dropout": 0.0, "batch_first": True, "norm_first": True}
        self.encoder = nn.ModuleList([nn.TransformerEncoderLayer(D, H, D_F, **usual) for _ in range(L)])
        self.decoder = nn.ModuleList([nn.TransformerDecoderLayer(D, H, D_F, **usual) for _ in range(L)])
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(D), nn.LayerNorm(D)
        ### END SOLUTION

    def forward(self, source: Int[Tensor, "B N"], target: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """The logits of the token that comes after each position of the target.

        Args:
            source: the tokens to translate, PAD behind them.
            target: what the decoder is fed.

        Returns:
            the logits.
        """
        ### BEGIN SOLUTION
        padding = source == PAD  # [B, N], True where torch is to hide
        X = self._embed(source)
        for block in self.encoder:
            X = block(X, src_key_padding_mask=padding)
        memory = self.encoder_norm(X)

        T = target.shape[1]
        later = torch.ones(T, T, dtype=torch.bool, device=target.device).triu(diagonal=1)  # True is hidden here
        Y = self._embed(target)
        for block in self.decoder:
            Y = block(Y, memory, tgt_mask=later, memory_key_padding_mask=padding)
        return self.decoder_norm(Y) @ self.embedding.weight.T  # the same table, without √D

    def _embed(self, tokens):
        """Embeddings times √D plus encodings of the positions, in the type of the table."""
        table = self.embedding.weight
        D = table.shape[1]
        n = torch.arange(tokens.shape[1], device=table.device)[:, None]  # [N, 1]
        angles = n * 10000 ** (-torch.arange(0, D, 2, device=table.device) / D)  # [N, D/2]
        encodings = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # sin, cos, sin, cos, …
        return self.embedding(tokens) * math.sqrt(D) + encodings.to(table.dtype)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_Transformer", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(Transformer)

# %% [markdown]
# ## 3 · Label smoothing
#
# Cross entropy asks for probability 1 on the right token and is never content. With label smoothing, the target of
# each position keeps $1 - s$ on the right token and spreads $s$ evenly over all $V$ tokens, the right one included
# ([lesson 10](../../notebooks/10_encoder_decoder.ipynb), "Label smoothing"). You write the loss for a whole batch of
# translations:
#
# $$q_v = (1 - s)\,[v = y] + \frac{s}{V}, \qquad \mathrm{loss} = -\frac{1}{n} \sum_{\text{positions}} \sum_{v=1}^{V} q_v \log p_v$$
#
# The outer sum runs over the positions whose target is a token, which is all of those that are not `PAD`, and $n$ is
# their number in the whole batch. Each batch has at least one token; padding may be anywhere, and its logits, however
# large, must not matter. `PAD` itself is one of the $V$ tokens over which the share $s$ is spread, like any other.
#
# With `smoothing` 0 this is the ordinary cross entropy. `F.cross_entropy` and `nn.CrossEntropyLoss` are not allowed;
# `F.nll_loss` and `F.kl_div` are.
#
# <details><summary>Hint: the idea</summary>
#
# The inner sum falls into two parts: the log-probability of the right token, and the mean of all log-probabilities.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Log-probabilities are `[B, T, V]`; both parts are `[B, T]`. Which positions count is `[B, T]`, too.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# log-softmax over the tokens · gather that of the target · mean over the tokens · mix the two with 1 − s and s · mean
# over the positions that are no padding, negated
# </details>


# %% nbgrader={"grade": false, "grade_id": "smoothed_cross_entropy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def smoothed_cross_entropy(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "B T"], smoothing: float
) -> Float[Tensor, ""]:
    """Cross entropy with smoothed labels, over all targets that are no padding.

    Args:
        logits: for each position, a number for each token of the vocabulary.
        targets: the right tokens; PAD where there is none.
        smoothing: the share s that is spread over all tokens.

    Returns:
        the loss, a single number.

    Example:
        V = 3, logits [[[0, ln 2, 0], [5, 5, 5]]], targets [[1, 0]] and smoothing 0.3: the first
        position alone counts. Its probabilities are ¼, ½ and ¼, its targets 0.1, 0.8 and 0.1, so
        the loss is 0.8 ln 2 + 0.2 ln 4 = 1.2 ln 2 = 0.8318.
    """
    ### BEGIN SOLUTION
    log_p = logits.log_softmax(dim=-1)  # [B, T, V]
    right = log_p.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1)  # [B, T]
    losses = -(1 - smoothing) * right - smoothing * log_p.mean(dim=-1)  # [B, T]
    return losses[targets != PAD].mean()  # selecting leaves out what is at padding, whatever it is
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_smoothed_cross_entropy", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(smoothed_cross_entropy)

# %% [markdown]
# ## 4 · A warm-up
#
# The schedule of the first Transformer ([lesson 10](../../notebooks/10_encoder_decoder.ipynb), "A warm-up for the
# learning rate"), equation 3 of the paper:
#
# $$\mathrm{rate} = D^{-1/2} \cdot \min\!\big(\mathrm{step}^{-1/2},\; \mathrm{step} \cdot \mathrm{warmup}^{-3/2}\big)$$
#
# `step` `[S]` holds the numbers of several steps, in any order, and the result the rate of each of them. Steps are
# counted from 1, and `warmup` is at least 1.
#
# <details><summary>Hint: the idea</summary>
#
# Which of the two terms is the smaller one at the first step, and which one after a million?
# </details>


# %% nbgrader={"grade": false, "grade_id": "learning_rate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def learning_rate(step: Int[Tensor, "S"], D: int, warmup: int) -> Float[Tensor, "S"]:
    """The learning rate of some steps, with a linear warm-up and a fall with the root of the step.

    Args:
        step: numbers of steps, from 1.
        D: width of the model.
        warmup: the number of steps in which the rate grows.

    Returns:
        the learning rate of each step, as float32 or float64.

    Example:
        D = 4 and warmup = 16: steps [1, 16, 64] have the rates [0.0078125, 0.125, 0.0625].
    """
    ### BEGIN SOLUTION
    falling, rising = step**-0.5, step * warmup**-1.5  # equal at step = warmup, where the rate is largest
    return D**-0.5 * torch.minimum(falling, rising)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_learning_rate", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(learning_rate)

# %% [markdown]
# ## 5 · Counting the families
#
# One function for BERT, GPT, T5 and Llama ([lesson 10](../../notebooks/10_encoder_decoder.ipynb), "Counting the
# families"). It counts all trained numbers of a model but those of its positions, which may be learned, sinusoidal or
# rotary. `V` `[S]` holds several sizes of the vocabulary, and the result, int64 `[S]`, the count for each of them; all
# else is the same:
#
# - **Attention**: $W_Q$ leads from `D` to `heads` heads of width `D_H`, $W_K$ and $W_V$ each from `D` to `groups` heads
#   of width `D_H`, and $W_O$ from all query heads back to `D`. (With `groups` = `heads` this is ordinary multi-head
#   attention. `heads` times `D_H` need not be `D`.)
# - **MLP**: two matrices, from `D` to `D_F` and back; if it is `gated`, there is a second one from `D` to `D_F`.
# - **Blocks**: there are `encoder` blocks in the encoder and `decoder` blocks in the decoder; one of the two may be 0.
#   A block has an attention and an MLP. If the model has an encoder *and* a decoder, each decoder block has a second
#   attention, the cross-attention, of the same sizes.
# - **Norms**: one in front of each sublayer, and one more after the last block of the encoder and of the decoder, as
#   far as there is one. With biases, a norm is a LayerNorm with a gain and a bias of `D` numbers each; without, it has
#   a gain only.
# - **Biases**: if `biases` is True, each of the linear layers above has one number for each of its outputs.
# - **Tables**: the embedding of all tokens. If the head is not `tied`, it has a matrix of its own of the same size,
#   without bias.
#
# Counts may be larger than double precision can hold exactly: count with whole numbers.
#
# <details><summary>Hint: the idea</summary>
#
# Count one attention with its norm, and one MLP with its norm. How many of each does the model have?
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# attention · MLP · encoder blocks times both · decoder blocks times both, and once more the attention if there is an
# encoder · the last norms · the tables
# </details>


# %% nbgrader={"grade": false, "grade_id": "count_transformer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_transformer(
    encoder: int,
    decoder: int,
    V: Int[Tensor, "S"],
    D: int,
    D_F: int,
    heads: int,
    groups: int,
    D_H: int,
    gated: bool,
    biases: bool,
    tied: bool,
) -> Int[Tensor, "S"]:
    """The number of parameters of a Transformer of any family, without positions, for each
    vocabulary.

    Args:
        encoder: number of blocks of the encoder, 0 if there is none.
        decoder: number of blocks of the decoder, 0 if there is none.
        V: sizes of the vocabulary, int64.
        D: width of the stream.
        D_F: hidden width of the MLPs.
        heads: number of query heads.
        groups: number of heads of keys and values, a divisor of heads.
        D_H: width of a head.
        gated: whether the MLPs are gated.
        biases: whether linear layers and norms have biases.
        tied: whether the head uses the table of embeddings.

    Returns:
        the numbers of parameters, int64.

    Example:
        Llama 3 8B is (0, 32, [128256], 4096, 14336, 32, 8, 128, True, False, False) and has
        [8030261248]; GPT-2 small without its positions is (0, 12, [50257], 768, 3072, 12, 12, 64,
        False, True, True) and has [123653376].
    """
    ### BEGIN SOLUTION
    norm = 2 * D if biases else D

    def linear(ins, outs):
        return ins * outs + (outs if biases else 0)

    inner = heads * D_H
    attention = linear(D, inner) + 2 * linear(D, groups * D_H) + linear(inner, D) + norm  # with the norm in front of it
    mlp = (2 if gated else 1) * linear(D, D_F) + linear(D_F, D) + norm
    blocks = encoder * (attention + mlp) + decoder * (attention + mlp)
    if encoder and decoder:
        blocks += decoder * attention  # the cross-attentions
    last = norm * ((encoder > 0) + (decoder > 0))
    return blocks + last + V * D * (1 if tied else 2)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_count_transformer", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(count_transformer)

# %% [markdown]
# ## 6 · Greedy decoding with caches
#
# A translation is written token by token, and most of what a pass would compute has been computed before
# ([lesson 10](../../notebooks/10_encoder_decoder.ipynb), "Decoding without computing twice"). Here you are given a
# decoder that can do without, and you write the loop around it:
#
# - `decoder.read(memory)` gives a pair `K, V`, the keys and values of the source, each `[B, N, D]`. They do not
#   change from step to step, so they are read **once**; a second time, the decoder refuses.
# - `decoder.step(y, K, V, mask, cache)` takes the last tokens `y` `[B]` and gives a pair: the logits `[B, V]` of the
#   tokens that come next, and the new cache. `cache` is `None` at the first step and afterwards **what the step
#   before has returned**: the keys and values of all tokens so far. You append nothing to it, and only hand it on;
#   the same goes for `mask`.
#
# The decoder has these two methods and is not called itself.
#
# Begin with `START` in each row, take the token with the largest logit each time, and feed it to the next step. A row
# ends with its first `STOP`, which belongs to the result; after it comes `PAD`. Stop as soon as all rows have ended,
# or when `max_length` tokens have been written. A row that does not end in time has `max_length` tokens and no
# `STOP`.
#
# The result is always `[B, max_length]`, filled up with `PAD`. The decoder counts what it is asked: more steps than are
# needed until the last row has ended are refused.
#
# <details><summary>Hint: the idea</summary>
#
# What goes from one step to the next are the tokens, the cache, and which rows have ended. What is computed once?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `y` and the flags of the rows that have ended are `[B]`. The tokens of all steps, stacked along a new last axis, are
# `[B, steps]`; how many columns are missing?
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. read the memory; START in each row, no row has ended
# 2. at most max_length times: a step; the likeliest tokens, PAD where a row has ended; write them; note the rows that
#    end now; leave if all have ended
# 3. fill up with PAD
# </details>


# %% nbgrader={"grade": false, "grade_id": "decode_greedily", "locked": false, "schema_version": 3, "solution": true, "task": false}
def decode_greedily(
    decoder: Callable, memory: Float[Tensor, "B N D"], mask: Bool[Tensor, "B N"], max_length: int
) -> Int[Tensor, "B max_length"]:
    """Translations, each token the likeliest, with keys and values that are computed once.

    Args:
        decoder: has `read` and `step`, as described above.
        memory: the vectors of the source.
        mask: True at the tokens of the source.
        max_length: the largest number of tokens of a translation, at least 1.

    Returns:
        the tokens of each row up to its STOP, then PAD.

    Example:
        If the likeliest tokens of the first row are 7, 2 and those of the second 5, 6, 2,
        max_length = 4 gives [[7, 2, 0, 0], [5, 6, 2, 0]] after three steps.
    """
    ### BEGIN SOLUTION
    K, V = decoder.read(memory)  # once for all steps
    tokens = torch.full((len(memory), max_length), PAD, device=memory.device)
    y = torch.full((len(memory),), START, device=memory.device)
    ended, cache = torch.zeros_like(y, dtype=torch.bool), None
    for t in range(max_length):
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = logits.argmax(dim=-1).masked_fill(ended, PAD)  # [B]
        tokens[:, t] = y
        ended |= y == STOP
        if ended.all():
            break
    return tokens
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_decode_greedily", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(decode_greedily)

# %% [markdown]
# ## 7 · Hypotheses of different lengths
#
# Beam search ends with a few finished hypotheses and has to choose one. Each token lowers $\log P$, so the sum alone
# prefers short ones ([lesson 10](../../notebooks/10_encoder_decoder.ipynb), "Beam search and the length of a
# translation"). The Transformer's authors divide it by the length penalty of Wu et al. (2016, equation 14):
#
# $$\mathrm{score} = \frac{\log P}{\big((5 + L)/6\big)^{\alpha}}$$
#
# Compute the scores of `K` hypotheses. `tokens` `[K, T]` holds one in each row, and `log_probabilities` `[K, T]` the
# log-probability that the model gave to each of them. A hypothesis goes up to its first `STOP`, **which counts**: in
# $\log P$, the sum of its log-probabilities, and in its length $L$. After it comes padding, `PAD`, whose
# log-probabilities mean nothing and may be anything, even $-\infty$. A row without `STOP` has been cut off, and all its
# `T` tokens count.
#
# <details><summary>Hint: the idea</summary>
#
# A position counts if there is no STOP in front of it. Counting the STOPs from the left tells.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# where STOP is · how many there are before each position, itself not included · what counts has none · sum of the
# log-probabilities that count · their number · score
# </details>


# %% nbgrader={"grade": false, "grade_id": "penalised_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def penalised_scores(
    log_probabilities: Float[Tensor, "K T"], tokens: Int[Tensor, "K T"], alpha: float
) -> Float[Tensor, "K"]:
    """The score of each hypothesis: its log-probability over the length penalty.

    Args:
        log_probabilities: of each token, given those before.
        tokens: the hypotheses; the first STOP of a row is its last token.
        alpha: the power of the penalty; 0 compares the log-probabilities themselves.

    Returns:
        the scores.

    Example:
        tokens [[5, 2, 0], [5, 6, 7]], log_probabilities [[−1, −3, −8], [−1, −2, −6]] and alpha = 1:
        the first row has L = 2 and log P = −4, so its score is −4 / (7/6) = −3.4286; the second has
        no STOP, so L = 3 and the score is −9 / (8/6) = −6.75.
    """
    ### BEGIN SOLUTION
    stops = (tokens == STOP).cumsum(dim=-1)
    counts = stops - (tokens == STOP).long() == 0  # [K, T]: no STOP in front
    log_p = log_probabilities.masked_fill(~counts, 0.0).sum(dim=-1)  # filled, not multiplied: 0 times −inf would be NaN
    L = counts.sum(dim=-1)
    return log_p / ((5 + L) / 6).to(log_p.dtype) ** alpha
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_penalised_scores", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(penalised_scores)

# %% [markdown]
# ## 8 · Stretch: distance instead of position
#
# T5 adds no encodings to its embeddings. Each head adds to its scores a learned number that depends on how far the key
# lies from the query ([lesson 10](../../notebooks/10_encoder_decoder.ipynb), "Going further"). Near distances have
# numbers of their own; far ones share **buckets**, which grow wider and wider (Raffel et al., 2020, section 2.1).
#
# Write the bias of an encoder, for queries $0, \dots, N_Q - 1$ and keys $0, \dots, N_X - 1$, from a table `weight`
# `[buckets, H]`. With $n$ for half of the buckets and $d = \text{key} - \text{query}$:
#
# - Keys that are not behind the query in the text, $d \leq 0$, use buckets 0 to $n - 1$; those that come later,
#   $d > 0$, use buckets $n$ to $2n - 1$. The rest goes by $\lvert d \rvert$ alone.
# - With $m = n/2$: distances $\lvert d \rvert < m$ have bucket $\lvert d \rvert$ of their half.
# - From $m$ on, the bucket within its half is
#   $m + \big\lfloor \dfrac{\ln(\lvert d \rvert / m)}{\ln(\mathrm{furthest} / m)}\,(n - m) \big\rfloor$, and at most
#   $n - 1$.
#
# The number of buckets is divisible by 4, and `furthest` is larger than $m$. Where the logarithm hits a whole number
# exactly, rounding may decide; no check asks for such a distance.
#
# <details><summary>Hint: the idea</summary>
#
# Make a table of all distances, then a table of buckets, and look the numbers up.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Distances and buckets are `[N_Q, N_X]`. Looking up gives `[N_Q, N_X, H]`; the heads belong in front.
# </details>


# %% nbgrader={"grade": false, "grade_id": "relative_bias", "locked": false, "schema_version": 3, "solution": true, "task": false}
def relative_bias(weight: Float[Tensor, "buckets H"], N_Q: int, N_X: int, furthest: int) -> Float[Tensor, "H N_Q N_X"]:
    """T5's relative position bias of an encoder.

    Args:
        weight: a number for each bucket and head.
        N_Q: number of queries.
        N_X: number of keys.
        furthest: the distance for which the buckets are laid out; the last bucket begins before it
            and has no end.

    Returns:
        what is added to the scores.

    Example:
        With 8 buckets and furthest = 8, a half has 4 buckets, and m = 2: distances 0 and 1 have
        buckets 0 and 1, distances 2 and 3 bucket 2, and distances from 4 on bucket 3; for later
        keys 4 is added. So query 1 has buckets 1, 0, 5, 6 for keys 0 to 3.
    """
    ### BEGIN SOLUTION
    half = weight.shape[0] // 2
    exact = half // 2
    positions = [torch.arange(N, device=weight.device) for N in (N_Q, N_X)]
    d = positions[1][None, :] - positions[0][:, None]  # [N_Q, N_X], key minus query
    far = d.abs()
    # Distances below `exact` are clamped, since their logarithm is not needed and that of 0 is infinite.
    grown = torch.log(far.clamp(min=exact) / exact) / math.log(furthest / exact) * (half - exact)
    bucket = torch.where(far < exact, far, (exact + grown.long()).clamp(max=half - 1)) + half * (d > 0)
    return weight[bucket].movedim(-1, 0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_relative_bias", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(relative_bias)

# %% [markdown]
# ## 9 · Which family?
#
# A hospital wants to do three things with a Transformer of about 200 million parameters each: (a) find, among 50,000
# reports, those that describe the same illness as a given one; (b) turn the recorded speech of its doctors into text,
# 30 seconds of sound at a time; (c) answer questions about a report in free text, where many different questions are
# asked about the same report. Answer in ten to fourteen sentences, in the cell below:
#
# 1. For each of the three, say which family you would choose (encoder, decoder, or both), and why, by what each
#    position has to see and what has to come out. For one of them, say what speaks for another family.
# 2. For (c), compare an encoder-decoder with a decoder that reads the report as the beginning of its text. What can be
#    kept from one question to the next in each of the two, and where in the text must the question stand so that it can
#    be kept?
# 3. A colleague trains the model of (b), which writes with 10,000 tokens, with label smoothing 0.1. Its loss on new
#    data stops at 1.9, while a model that was trained without smoothing reaches 0.6. "Smoothing has made it worse,"
#    says the colleague. Why does this not follow, and what would you compare instead?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: families.** (a) An encoder: a vector for each report, which has seen all words on both sides, to be
# compared with others; nothing is written. (b) Both: sound is read as a whole, in both directions, and text of another
# length is written word by word, with cross-attention from text to sound, as in Whisper. (c) A decoder, or both: free
# text has to be written. (1 for three choices with a reason from what is seen and what comes out, and one real argument
# for another family, such as: a decoder's last vector works for (a), too, and large ones are good at it; sound can be
# put as a prefix into a decoder for (b); ½ if a reason is missing or only names of models are given.)
#
# **1 point: what can be kept.** Encoder-decoder: the memory of the report, and so the keys and values of all
# cross-attentions, are computed once, provided that the question goes to the decoder; if the question is read by the
# encoder together with the report, each new question changes the memory, since the encoder looks in both directions.
# Decoder: the KV cache of the report can be kept for all questions, if the question comes *behind* the report: causal
# self-attention keeps what stands before from changing. In front of the report the question would change everything
# behind it. (½ for each of the two, with the place of the question.)
#
# **1 point: two losses.** The least value of the smoothed loss is not 0 but the entropy of the smoothed targets,
# which depends on $s$ and $V$: of the 1.9 about 1.25 is this floor, $-\sum_v q_v \log q_v$. Beyond it, the loss also
# counts the probabilities of wrong tokens. The two numbers are different quantities. To be compared: the same measure
# for both on the same new data, such as the ordinary cross entropy (or perplexity) without smoothing, and better,
# since smoothing is known to cost perplexity, what one is after: the word error rate of the transcriptions. (½ for
# the reason, ½ for the measure; the value of the floor is not asked for. "Train longer" earns nothing.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_which_family", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. For (a) I would take an encoder: nothing has to be written, and each report needs one vector that has seen its
#    words with both sides of their surroundings. For (b) I would take both halves. The sound is known from the start
#    and can be read in both directions, while the text has another length and is written word by word, each word
#    looking at the sound through cross-attention. For (c) an answer in free text has to be written, so I would take a
#    decoder, which reads the report as the beginning of its text. For (b) a decoder could do as well: the vectors of
#    the sound would be put in front of the text, and only one stack would have to be trained and run.
#
# 2. In an encoder-decoder the memory of the report is computed once, and with it the keys and values of every
#    cross-attention; they can be kept for all questions, as long as the question is given to the decoder. If the
#    encoder reads it together with the report, the memory changes with every question. In a decoder the KV cache of the
#    report can be kept if the question stands behind it, because causal attention does not let the report see what
#    follows. In front of the report the question would change all keys and values after it.
#
# 3. The smoothed loss cannot fall to 0: its least value is the entropy of the smoothed targets,
#    $-\sum_v q_v \log q_v$. With 10,000 tokens and $s = 0.1$, of the 1.9 about 1.25 is this floor, which is there for
#    any model. The two numbers measure different quantities. I would compute the ordinary cross entropy of both models
#    on the same new data, and above all the word error rate of what they write, since this is what the hospital cares
#    about.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have
# begun.

# %%
progress()
