# %% [markdown]
# # Assignment 11: language models
#
# You write the parts of a small GPT and of its tools: byte pair encoding, which learns its tokens from a text, cuts
# texts into them and puts texts together again; the model, with the table of embeddings as its head; its loss and its
# perplexity on texts of different lengths; the distribution from which the next token is drawn, under temperature,
# top-k and top-p; prompts with examples; and the count of its parameters and operations. In the stretch exercise you
# find induction heads by their attention weights.
#
# **Goals.** You can learn and apply the merges of byte pair encoding by hand, build a GPT so that no position sees a
# later one, compute a perplexity over exactly the tokens that are predicted, say which tokens top-k and top-p keep,
# put a batch of prompts with different numbers of examples into one tensor, count GPT-2 to the last parameter, and
# compare language models that have different tokens.
#
# **What you need.** [Lesson 11](../../notebooks/11_language_models.ipynb), the masks and the factorisation of assignment 07
# and the pre-norm block of assignment 09. The [glossary](../../docs/glossary.md) has all terms and symbols.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · learning merges | 2 | ●●○ | 20 |
# | 2 · a text in tokens | 2 | ●●○ | 20 |
# | 3 · back to letters | 1 | ●○○ | 10 |
# | 4 · a GPT | 3 | ●●○ | 25 |
# | 5 · loss and perplexity | 3 | ●●○ | 20 |
# | 6 · the next token's distribution | 3 | ●●○ | 25 |
# | 7 · few-shot prompts | 2 | ●●○ | 20 |
# | 8 · counting a GPT | 2 | ●●○ | 15 |
# | 9 · induction heads | stretch | ●●● | 25 |
# | 10 · a written answer | 2 | ●●○ | 20 |
#
# It takes about 175 minutes in all, plus about 25 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. No exercise needs another exercise's
# code.
#
# **Shapes.** `B` is the batch; `N` is the number of tokens of a text, and in `GPT` and `count_gpt` the longest text that a
# model can read; `n` is the length of a text that has been cut into tokens, or that is shorter than the longest. `V` is the
# size of the vocabulary; in exercises 1 to 3 it is the size *before* the first merge, and `M` is the number of merges. `D`
# is the width of the model, `D_F` the hidden width of an MLP, `H` the number of heads, `L` the number of blocks, `K` the
# number of examples, `S` the number of models that are counted. `*B` stands for any number of batch axes, or none. Tokens
# are whole numbers, `torch.int64`, from 0 on, and so are positions and merges.
#
# A name such as `N` in a shape is no variable, unless it is an argument too: read it from a tensor. Floating-point results
# have the type of the numbers that came in (double precision if these are).

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
# - Inputs of bfloat16 give results of bfloat16; a single number, such as a loss, may be of float32. (Not asked of `GPT`.)
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours.
# - Small numbers count beside large ones: nothing is cut off. (Not asked of `next_token_distribution`.)
# - Numbers may be 0. (Not asked of `next_token_distribution`.)
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Where a shape begins with `*B`, there may be no batch axis, one, or several.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `induction_scores`.) In
#   `perplexity` they need to flow only from `loss`.
# - Gradients are right also where a softmax is nearly 0 or 1.
# - Zeros are exact in `probabilities` of `next_token_distribution`: a number that should be 0 there is 0, not merely
#   small.
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
from collections import Counter

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.progress import progress

# %% [markdown]
# ## 1 · Learning the merges of byte pair encoding
#
# A language model reads tokens, and its vocabulary has to be fixed before it reads anything. With whole words as tokens,
# every new word is unknown; with single letters, texts become very long. **Byte pair encoding** lies between the two: it
# starts with letters or bytes, and joins what often stands side by side ([lesson
# 11](../../notebooks/11_language_models.ipynb), "Byte pair encoding"). Frequent words become a single token, rare ones are
# put together from pieces.
#
# You write the part that learns. The text is given as `tokens` `[N]`, each a number from $0$ to $V - 1$. $M$ times, for $m
# = 0, \dots, M - 1$, the text is changed by a **merge**:
#
# 1. Count the pairs of neighbours. There is a pair $(\mathrm{tokens}[i], \mathrm{tokens}[i+1])$ at every place $i$, also
#    where pairs overlap: three equal tokens in a row, `a a a`, are two pairs `(a, a)`. The order counts: `(a, b)` and `(b,
#    a)` are different pairs.
# 2. Take the most frequent pair, and write it to row $m$ of the result: the left token first, then the right one. Of
#    equally frequent pairs, take the one with the smaller left number, and if these are equal, too, the one with the
#    smaller right number. (The lesson's code decides otherwise between them.) A pair that occurs only once is taken as
#    well, if none is more frequent.
# 3. Replace the pair by the new token $V + m$ wherever it stands, going from left to right. Within a merge, a token takes
#    part in one replacement only: `a a a` becomes the new token followed by `a`.
#
# The next merge counts the pairs of the text that came out of this one. Its new tokens are tokens like any other, so that
# merges of merges make longer and longer pieces. The result `merges` is `[M, 2]`, `torch.int64`.
#
# An example with $V = 2$ and $M = 3$:
#
# | $m$ | text | counts | row $m$ |
# |---|---|---|---|
# | 0 | `0 0 0 1 0 0 1` | (0, 0): 3, (0, 1): 2, (1, 0): 1 | (0, 0), which becomes 2 |
# | 1 | `2 0 1 2 1` | (2, 0), (0, 1), (1, 2) and (2, 1): 1 each | (0, 1), which becomes 3 |
# | 2 | `2 3 2 1` | (2, 3), (3, 2) and (2, 1): 1 each | (2, 1), which becomes 4 |
#
# Not every number below $V$ needs to occur in the text; the new tokens begin at $V$ all the same. The text is always long
# enough for $M$ merges; you need not check it. In most real tokenisers no pair reaches across the border between two words. Here
# the text is one sequence, and a space is a token like any other.
#
# How you store the text on the way is up to you. A Python list is a good choice, since the text becomes shorter; some texts
# have hundreds of tokens, and $M$ may be in the hundreds as well.
#
# <details><summary>Hint: the idea</summary>
#
# Each merge has three steps, and each of them is a few lines of plain Python: count, choose, replace. Nothing is kept
# from one merge to the next but the text and the rows that have been found. For the choice, Python compares tuples
# from left to right, number by number; which of two tuples that begin alike is the smaller?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `tokens.tolist()` is a list of N numbers, and `zip(text, text[1:])` gives its N − 1 pairs. After a merge the list is
# shorter by one for each place that was replaced. At the end there are M pairs in a list, which `torch.tensor` makes `[M,
# 2]`; it belongs on the device of `tokens`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# repeat M times: how often does each pair of neighbours occur? · which is the best, by its count and then by its numbers? ·
# note it · walk through the text with a position i: does the best pair stand here? one new token, and past both; otherwise
# the old token, and past it
# </details>


# %% nbgrader={"grade": false, "grade_id": "byte_pair_merges", "locked": false, "schema_version": 3, "solution": true, "task": false}
def byte_pair_merges(tokens: Int[Tensor, "N"], V: int, M: int) -> Int[Tensor, "M 2"]:
    """The merges that byte pair encoding learns from a text.

    Args:
        tokens: the text, as numbers from 0 to V − 1; long enough for M merges.
        V: how many tokens the vocabulary has before the first merge.
        M: how many merges to learn, at least 1.

    Returns:
        the pair (left, right) of each merge, in the order in which they were learned; merge m makes
        token V + m.

    Example:
        tokens = [0, 0, 0, 1, 0, 0, 1], V = 2 and M = 3 give [[0, 0], [0, 1], [2, 1]]. After the
        first merge the text is [2, 0, 1, 2, 1], after the second [2, 3, 2, 1].
    """
    ### BEGIN SOLUTION
    text = tokens.tolist()
    merges = []
    for m in range(M):
        counts = Counter(zip(text, text[1:]))
        # Tuples are compared from left to right: the largest count first, then the smaller left and right numbers.
        best = min(counts, key=lambda pair: (-counts[pair], *pair))
        merges.append(best)
        merged, i = [], 0
        while i < len(text):
            if (*text[i : i + 2],) == best:  # the last token is a slice of length 1, which equals no pair
                merged.append(V + m)
                i += 2  # past both, so that replaced places do not overlap
            else:
                merged.append(text[i])
                i += 1
        text = merged  # the next merge counts anew: pairs with V + m have come in, others have gone
    return torch.tensor(merges, device=tokens.device)  # [M, 2]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_byte_pair_merges", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(byte_pair_merges)

# %% [markdown]
# ## 2 · A text in tokens
#
# Merges are learned once, from a large text. From then on every other text is cut by them: the same merges in the same
# order, whatever is frequent in the new text ([lesson 11](../../notebooks/11_language_models.ipynb), "Byte pair encoding").
#
# The text comes as `tokens`, `[N]`, numbers from 0 to `V - 1`, which we call letters. `merges` is `[M, 2]`: row $m$
# holds the left and the right part of merge $m$, and the token that it makes is $V + m$. Parts may be letters or
# tokens of earlier merges, so they are below $V + m$, and no two rows are equal. Apply merge 0 to the whole text,
# then merge 1 to the resulting text, and so on up to merge $M - 1$:
#
# $$\ldots,\; \mathrm{merges}[m, 0],\; \mathrm{merges}[m, 1],\; \ldots \quad\longrightarrow\quad \ldots,\; V + m,\; \ldots$$
#
# Each merge goes through the text from left to right and replaces its pair everywhere. Places that are replaced do not
# overlap: with the merge (a, a) the text a a a becomes the new token and then a.
#
# The result is `[n]`, of type `torch.int64`. Its length `n` is not known beforehand: it is at most `N`, and equal to `N`
# where no merge occurs in the text. A merge that does not occur changes nothing, and the next one has its turn.
#
# An example with `V = 3`: the letters are 0, 1 and 2, and `merges = [[1, 2], [0, 1], [0, 3]]`. Merge 0 turns the text
# 0 1 2 0 1 1 2 into 0 3 0 1 3, merge 1 turns this into 0 3 4 3, and merge 2 gives 5 4 3. The first 0 1 is never merged,
# although there is a merge for it: merge 0 has used its 1 already.
#
# How you go through the text is up to you: a Python list is a good place to work, and `tokens.tolist()` makes one. It need
# not be fast.
#
# <details><summary>Hint: the idea</summary>
#
# Write the replacement of one pair in a list first, and try it on runs such as 0 0 0 0 0. What remains is to do this for
# one merge after another, each on the list that the one before has left.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The list begins with `N` numbers and gets shorter by one at each place that is replaced. A position has a right neighbour
# only if it is not the last one; the last token belongs to the result all the same.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# for each merge with its number · an empty list · at each position: does the pair begin here? append the new number
# and advance by two; otherwise append the old number and advance by one · the new list is the text of the next merge
# · at the end a tensor, on the device of the tokens
# </details>


# %% nbgrader={"grade": false, "grade_id": "bpe_encode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bpe_encode(tokens: Int[Tensor, "N"], merges: Int[Tensor, "M 2"], V: int) -> Int[Tensor, "n"]:
    """A text of letters in the tokens of byte pair encoding.

    Args:
        tokens: the text, in letters: numbers from 0 to V − 1.
        merges: the left and the right part of each merge, in the order in which they were learned.
        V: how many letters there are; merge m makes the token V + m.

    Returns:
        the text after all merges, n ≤ N tokens, of type torch.int64.

    Example:
        tokens = [0, 1, 2, 0, 1, 1, 2], merges = [[1, 2], [0, 1], [0, 3]] and V = 3 give [5, 4, 3].
    """
    ### BEGIN SOLUTION
    text = tokens.tolist()
    for m, pair in enumerate(merges.tolist()):
        merged, i = [], 0
        while i < len(text):
            if text[i : i + 2] == pair:  # at the last position the slice is too short to be a pair
                merged.append(V + m)
                i += 2  # both parts are used up, so the next pair cannot overlap
            else:
                merged.append(text[i])
                i += 1
        text = merged  # the next merge may need the tokens that this one has made
    return torch.tensor(text, device=tokens.device)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_bpe_encode", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(bpe_encode)

# %% [markdown]
# ## 3 · Back to letters
#
# A language model writes tokens, and people read letters. The way back needs no search: each token stands for one sequence
# of letters, wherever it occurs ([lesson 11](../../notebooks/11_language_models.ipynb), "Byte pair encoding").
#
# Of the numbers in `tokens`, `[n]`, those below `V` are letters and stay. A token $t \ge V$ was made by merge $t -
# V$, and is replaced by its two parts, the left one first:
#
# $$t \;\longrightarrow\; \mathrm{merges}[t - V, 0],\; \mathrm{merges}[t - V, 1]$$
#
# The parts are letters or tokens of earlier merges, which are replaced in the same way, until only letters are left. The
# parts stand where their token stood. `merges` is `[M, 2]`, and the result is `[N]` with `N ≥ n`, of type `torch.int64`.
#
# An example with `V = 3` and `merges = [[1, 2], [0, 1], [0, 3]]`: the tokens are 3 for 1 2, 4 for 0 1, and 5 for 0 3, that
# is for 0 1 2. So 5 4 3 becomes 0 1 2 0 1 1 2.
#
# Tokens need not come from `bpe_encode`: a model may write 1 2 where encoding would have given 3. All numbers are below `V
# + M`; you need not check it. Loops, recursion and tensors are all fine.
#
# <details><summary>Hint: the idea</summary>
#
# Either ask what one token stands for, which is what its left part stands for followed by what its right part stands for.
# Or undo the merges one after another: which of them has to be undone first?
# </details>
# <details><summary>Hint: shapes</summary>
#
# Row $t - V$ of `merges` holds two numbers, and each of them may be a letter or a token again. One token may stand for
# two letters and the next for twenty, so the length of the result is found only on the way.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# a function of one token · a letter: a list of itself · else both parts, each through the same function, the lists joined ·
# all tokens one after another · a tensor on the device of the tokens
# </details>


# %% nbgrader={"grade": false, "grade_id": "bpe_decode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bpe_decode(tokens: Int[Tensor, "n"], merges: Int[Tensor, "M 2"], V: int) -> Int[Tensor, "N"]:
    """The letters that the tokens of byte pair encoding stand for.

    Args:
        tokens: numbers from 0 to V + M − 1; those below V are letters.
        merges: the left and the right part of each merge, in the order in which they were learned.
        V: how many letters there are; merge m makes the token V + m.

    Returns:
        the text in letters, N ≥ n numbers from 0 to V − 1, of type torch.int64.

    Example:
        tokens = [5, 4, 3], merges = [[1, 2], [0, 1], [0, 3]] and V = 3 give [0, 1, 2, 0, 1, 1, 2].
    """
    ### BEGIN SOLUTION
    pairs = merges.tolist()

    def letters(token):
        if token < V:
            return [token]
        left, right = pairs[token - V]  # merge 0 makes the token V
        return letters(left) + letters(right)

    text = [letter for token in tokens.tolist() for letter in letters(token)]
    return torch.tensor(text, device=tokens.device)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_bpe_decode", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(bpe_decode)

# %% [markdown]
# ## 4 · A GPT
#
# A GPT is an embedding of tokens and positions, a stack of pre-norm blocks under a causal mask, a last norm, and a head
# that makes a logit for each token of the vocabulary. The blocks are those of assignment 09, the mask is that of
# assignment 07. What is new is how the parts are joined, and that the head has no weights of its own: it reads the table of the token
# embeddings once more ([lesson 11](../../notebooks/11_language_models.ipynb), "GPT").
#
# Write the model from the tokens to the logits. `tokens` `[B, n]` holds numbers from 0 to $V - 1$. A text may be shorter
# than the context: $1 \le n \le N$. With $E$ `[V, D]` the table of the token embeddings, $P$ `[N, D]` that of the
# positions, $i = 0, \dots, n - 1$ the positions and $l = 1, \dots, L$ the blocks:
#
# $$X_0[b, i] = E[\mathrm{tokens}[b, i]] + P[i], \qquad X_l = \mathrm{block}_l(X_{l-1}), \qquad
# \mathrm{logits} = \mathrm{norm}(X_L)\, E^\top$$
#
# In every block position $i$ attends to the positions $0, \dots, i$ and to no later one. So the logits at position $i$
# depend on the tokens up to $i$ alone, and say what the model expects at position $i + 1$. The result is `[B, n, V]`:
# logits at every position, the last one included, without a softmax.
#
# | name | layer | |
# |---|---|---|
# | `tokens` | `nn.Embedding(V, D)` | $E$, which is also the head: the head is *tied* |
# | `positions` | `nn.Embedding(N, D)` | $P$, learned positions |
# | `blocks` | `nn.ModuleList` of `L` blocks (see below) | each block has weights of its own |
# | `norm` | `nn.LayerNorm(D)` | pre-norm blocks do not normalise the residual stream itself, so a norm comes after the last block |
#
# Each block is torch's own layer, built as follows, with four settings that are not its defaults. In `forward` you
# pass it the mask as `src_mask`.
#
# ```python
# nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
# ```
#
# torch's layers read a Boolean mask the other way round than this course does: there True means *forbidden*. For $n = 3$
# the first row of the mask is `[False, True, True]`.
#
# How the mask is made is up to you, and whether in each call or once in `__init__`, as a buffer. There are no other
# parameters, and no bias in the head. The embeddings are added as they are, without a factor. How the weights are
# initialised is up to you, too: torch's own way will do, although the lesson starts with smaller embeddings.
#
# <details><summary>Hint: the idea</summary>
#
# Everything but attention acts on each position by itself. Attention alone carries information from one position to
# another, and the mask says which way; since information may flow in any block, every block needs the mask. Attention
# does not see the order of the tokens: without $P$ the first block could not tell in which order the earlier tokens
# stand. The logit of a token is a dot product: how much the vector at a position is like the token's own embedding.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `tokens` is `[B, n]`, its embeddings are `[B, n, D]`. The first $n$ rows of $P$ are `[n, D]`, and are added to every text
# of the batch. The mask is `[n, n]`, with a row for each query: it belongs to $n$, not to $N$. Blocks and norm keep `[B, n,
# D]`. `[B, n, D]` times `[D, V]` is `[B, n, V]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# the embedding of each token, plus that of its place · a mask that forbids whatever is above the diagonal · for each block:
# X = what the block makes of X under the mask · normalise · dot products with all rows of E
# </details>


# %% nbgrader={"grade": false, "grade_id": "GPT", "locked": false, "schema_version": 3, "solution": true, "task": false}
class GPT(nn.Module):
    """A GPT from tokens to the logits of the next tokens.

    Args:
        V: number of tokens in the vocabulary.
        N: the longest text, in tokens: the context.
        D: width of the residual stream.
        H: number of heads.
        D_F: hidden width of the MLPs.
        L: number of blocks.

    Example:
        V = 3, N = 4, D = 2; all weights and biases of the blocks are 0, so that each block gives
        back what it gets; norm has the weight 1 and the bias 0. tokens.weight is
        [[1, 0], [0, 1], [2, 1]], positions.weight is [[1, 0], [0, 3], [5, 5], [0, 1]]. tokens =
        [[2, 0]] becomes X_0 = [[[3, 1], [1, 3]]], and norm makes of it [[[1, −1], [−1, 1]]] (up to
        ε). logits = [[[1, −1, 1], [−1, 1, −1]]], one row for each of the two positions.
    """

    def __init__(self, V: int, N: int, D: int, H: int, D_F: int, L: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.tokens = nn.Embedding(V, D)
        self.positions = nn.Embedding(N, D)
        # A new layer in each turn: [layer] * L would be one layer with one set of weights.
        options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(D, H, D_F, **options) for _ in range(L))
        self.norm = nn.LayerNorm(D)
        ### END SOLUTION

    def forward(self, tokens: Int[Tensor, "B n"]) -> Float[Tensor, "B n V"]:
        """The logits of the token that follows, at each position.

        Args:
            tokens: texts of the same length, n ≤ N.

        Returns:
            a logit for each token of the vocabulary, at each position.
        """
        ### BEGIN SOLUTION
        n = tokens.shape[1]
        X = self.tokens(tokens) + self.positions(torch.arange(n, device=tokens.device))  # [B, n, D]
        later = torch.ones(n, n, dtype=torch.bool, device=tokens.device).triu(diagonal=1)  # [n, n], True is forbidden
        for block in self.blocks:
            X = block(X, src_mask=later)  # [B, n, D]
        # The tied head: a word that is likely has an embedding that points where norm(X) points.
        return self.norm(X) @ self.tokens.weight.T  # [B, n, V]
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_GPT", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(GPT)

# %% [markdown]
# ## 5 · Loss and perplexity
#
# A language model reads a text from left to right and says at each position which token comes next. How good is it? The
# usual measure is its **perplexity** on texts that it has not seen ([lesson 11](../../notebooks/11_language_models.ipynb),
# "Perplexity"). A model with perplexity 20 is as unsure, on average, as one that has to choose among 20 equally likely
# tokens.
#
# `logits` is `[B, N, V]`, what the model gives for `B` texts; `tokens` is `[B, N]`, the texts themselves; `lengths`
# is `[B]`. Text $b$ is the first `lengths[b]` tokens of line $b$, and what stands behind them is padding. The logits
# at position $n$ are computed from the tokens $0, \dots, n$, so they **predict token $n + 1$**. The first token of a
# text is predicted by nothing, so text $b$ has $\mathrm{lengths}_b - 1$ predicted tokens. With $M = \sum_b
# (\mathrm{lengths}_b - 1)$ of them in the whole batch (here $M$ is not a number of merges),
#
# $$\mathrm{loss} = \frac{1}{M} \sum_{b} \sum_{n=1}^{\mathrm{lengths}_b - 1}
# - \log \mathrm{softmax}(\mathrm{logits}[b,\, n - 1])_{\mathrm{tokens}[b,\, n]},
# \qquad \mathrm{perplexity} = e^{\mathrm{loss}}$$
#
# Return the pair of both, in this order, each a tensor of shape `[]`. The logarithm is the natural one. Every predicted
# token of the batch counts the same, whether its text is long or short.
#
# An example with $V = 2$: text 0 has three tokens, and the model gives its second and third the probabilities 0.75 and 0.5.
# Text 1 has two tokens, and its second has the probability 0.9. So $M = 3$, and the loss is $-(\ln 0.75 + \ln 0.5 + \ln
# 0.9) / 3 = 0.3621$; the perplexity is $e^{0.3621} = 1.436$.
#
# `lengths` holds numbers from 1 to `N`, in no particular order. A text of a single token has no predicted token and
# adds nothing; at least one text of a batch has two tokens or more. In the padding any token of the vocabulary may
# stand, and token 0 is a token like the others. All logits are finite, but some tokens may be very unlikely.
# Gradients are asked of the loss alone; the perplexity is a tensor, but may be detached. `F.cross_entropy` is
# allowed.
#
# <details><summary>Hint: the idea</summary>
#
# Three questions, one after the other. Which logits belong to which token? Which of these pairs lie inside a text?
# And by how many is the sum divided?
# </details>
# <details><summary>Hint: shapes</summary>
#
# In a line of `N` tokens there are `N - 1` pairs of logits and the token that they predict. `-log p` of each pair is `[B, N
# - 1]`, and so is the mask of those that count. `F.cross_entropy` wants the vocabulary in the second place, `[B, V, N -
# 1]`, or all positions in one axis.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# pair the logits with the tokens, one position apart · −log p of each pair, from the logits in one step · True where the
# predicted token belongs to its text · one mean over the whole batch · its exponential
# </details>


# %% nbgrader={"grade": false, "grade_id": "perplexity", "locked": false, "schema_version": 3, "solution": true, "task": false}
def perplexity(
    logits: Float[Tensor, "B N V"], tokens: Int[Tensor, "B N"], lengths: Int[Tensor, "B"]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The loss of a language model over a batch of texts, and its perplexity.

    Args:
        logits: what the model gives at each position; those at position n predict token n + 1.
        tokens: the texts, with any tokens as padding behind them.
        lengths: how many tokens of each line are its text, from 1 to N.

    Returns:
        (loss, perplexity): the mean of −log p over all predicted tokens of the batch, and exp of
        this mean.

    Example:
        tokens = [[1, 0, 0], [0, 1, 0]] and lengths = [3, 2]; logits = [[[ln 3, 0], [0, 0], [5, 0]],
        [[0, ln 9], [7, 0], [0, 7]]]. The predicted tokens have the probabilities 0.75, 0.5 and 0.9:
        the loss is 0.3621, the perplexity 1.4363.
    """
    ### BEGIN SOLUTION
    # Position n predicts token n + 1: the last position predicts nothing, and the first token is predicted by nothing.
    # cross_entropy takes the logits themselves, so that no probability underflows, and wants V in the second place.
    nll = F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none")  # [B, N − 1], −log p
    n = torch.arange(1, tokens.shape[1], device=tokens.device)  # [N − 1], the positions of the predicted tokens
    predicted = n < lengths.unsqueeze(1)  # [B, N − 1]; a text of a single token has no True
    # Choosing by the mask joins all texts to one row, so this is a mean over tokens, not a mean of the texts' means.
    loss = nll[predicted].mean()
    return loss, loss.exp()  # exp after the mean: the mean of 1/p would be ruled by the least likely token
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_perplexity", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(perplexity)

# %% [markdown]
# ## 6 · The distribution of the next token
#
# A language model gives logits, and a text is written by drawing one token after the other. Drawn from the softmax over the
# whole vocabulary, a text soon goes astray: each of the many unlikely tokens has next to no probability, but together they
# have enough for one of them to be drawn now and then, and the text has to go on from there. Taking the most likely token
# each time tends to end in repetitions. Between the two lie three controls, which are used together ([lesson
# 11](../../notebooks/11_language_models.ipynb), "Temperature, top-k and top-p"). Here they are applied in this order:
#
# 1. **Temperature.** All logits are divided by `temperature`.
# 2. **Top-k.** Only the `k` tokens with the largest logits are kept. Call this set $S$; the softmax over it gives
#    $$P_v = \frac{\exp(\mathrm{logits}_v / \mathrm{temperature})}{\sum_{j \in S} \exp(\mathrm{logits}_j / \mathrm{temperature})}
#    \qquad v \in S$$
# 3. **Top-p**, or nucleus. Of these, the smallest set $S_p$ of the most likely tokens is kept whose probabilities $P$ sum
#    to at least `p`. The token that takes the sum past `p` belongs to the set, so the set is never empty.
# 4. What is left is made to sum to 1 again:
#    $$\mathrm{probabilities}_v = \frac{P_v}{\sum_{j \in S_p} P_j} \quad \text{if } v \in S_p, \qquad \text{else exactly } 0$$
#
# `logits` is `[*B, V]` and so is the result: each row has a distribution of its own, and entry $v$ belongs to token $v$.
#
# An example with $V = 4$, `temperature = 2`, `k = 3` and `p = 0.75`. The logits $2 \ln 5,\; 0,\; 2 \ln 3,\; 2 \ln 2$
# are halved, and their exponentials are 5, 1, 3 and 2. Token 1 is not among the three largest. The others have $P =
# 0.5$, $0.3$ and $0.2$. The most likely token alone has 0.5, less than `p`; with the next one the sum is 0.8, so
# these two are enough. They share the probability in the ratio 5 to 3, and the result is 0.625, 0, 0.375 and 0.
#
# `temperature` is above 0, `k` is from 1 to `V`, and `p` lies strictly between 0 and 1. With `k = V` top-k leaves nothing
# out. No two logits of a row are equal, and no sum of probabilities comes so close to `p` that rounding would decide. You
# need check none of this. How you sort and select is up to you; `topk`, `sort`, `cumsum` and `softmax` are all allowed.
#
# <details><summary>Hint: the idea</summary>
#
# Look at the k tokens in descending order of probability. How much do the tokens that stand before a given one have
# together? From this number alone you can tell whether that token stays. What is this number for the first token, and
# does the first token stay?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `topk` and `sort` give values and indices, each `[*B, k]` or `[*B, V]`. Position $i$ of these is the token with the rank
# $i$; the indices say which token of the vocabulary it is. The result is `[*B, V]` in the order of the vocabulary, and
# `scatter` along the last axis writes numbers to the places that the indices name.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# divide by the temperature · the k largest of each row, in descending order, and where they stood · probabilities among
# these · for each the sum of those before it, without itself · 0 for those where that sum has reached p · sum to 1 again ·
# back to where they stood, 0 everywhere else
# </details>


# %% nbgrader={"grade": false, "grade_id": "next_token_distribution", "locked": false, "schema_version": 3, "solution": true, "task": false}
def next_token_distribution(
    logits: Float[Tensor, "*B V"], temperature: float, k: int, p: float
) -> Float[Tensor, "*B V"]:
    """What the next token is drawn from, after temperature, top-k and top-p, in this order.

    Args:
        logits: a language model's logits for the next token, one row for each prompt or position.
        temperature: what the logits are divided by, above 0.
        k: how many tokens top-k keeps, from 1 to V.
        p: the least sum of the probabilities of the tokens that top-p keeps, between 0 and 1.

    Returns:
        the probability of each token of the vocabulary; rows sum to 1, and tokens that were not
        kept have exactly 0.

    Example:
        logits = [3.2189, 0, 2.1972, 1.3863], temperature = 2, k = 3 and p = 0.75: among the three
        tokens with the largest logits the probabilities are 0.5 (token 0), 0.3 (token 2) and 0.2
        (token 3). The first two sum to 0.8, and the result is [0.625, 0, 0.375, 0].
    """
    ### BEGIN SOLUTION
    largest, tokens = (logits / temperature).topk(k, dim=-1)  # [*B, k], in descending order, and whose they are
    P = largest.softmax(dim=-1)  # [*B, k]; sums to 1 over the k, so that p is a share of these
    # What stands before a token, without the token itself: so the one that crosses p stays, and the first one always.
    before = P.cumsum(dim=-1) - P  # [*B, k]
    kept = torch.where(before < p, P, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)  # [*B, k]
    return torch.zeros_like(logits).scatter(-1, tokens, kept)  # [*B, V]; each back in its token's place
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_next_token_distribution", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(next_token_distribution)

# %% [markdown]
# ## 7 · Few-shot prompts
#
# A language model can be told a task by examples. Its prompt holds a few questions with their answers, then one more
# question, the **query**, and the model goes on with what comes next: an answer, if it has understood (lesson 11,
# "Zero-shot, one-shot, few-shot"). No weight is changed. A prompt without an example is called zero-shot; with one
# example it is one-shot, and with more few-shot.
#
# You make a batch of such prompts. Here each question and each answer is a single token. Line $b$ has $K$ examples at hand,
# `x[b, k]` with the answer `y[b, k]`, and uses the **first** $e$ = `examples[b]` of them, $0 \leq e \leq K$. Its prompt has
# $2e + 1$ tokens,
#
# $$x_0,\; y_0,\; x_1,\; y_1,\; \ldots,\; x_{e-1},\; y_{e-1},\; \mathrm{query}$$
#
# The prompts of a batch have different lengths, and a tensor needs lines of one length. All lines get $2K + 1$
# positions, and a prompt that is shorter is **padded on the left**, with the token `pad`. The answer is read off the
# logits at the last position of a line, so the query has to stand there, not padding.
#
# Return three tensors, each `[B, 2*K+1]`:
#
# - **tokens**, `torch.int64`: the padding, and then the prompt.
# - **mask**, `torch.bool`: `True` at the tokens of the prompt, `False` at the padding.
# - **predicts**, `torch.bool`: `True` at each position that has to predict an answer: at the questions of the
#   examples that the prompt uses, and at the query, whose answer is not in the prompt. A loss, or a count of right
#   answers, uses the logits at exactly these positions. At answers and at padding it is `False`.
#
# With $K = 2$, `x = [[5, 6]]`, `y = [[7, 8]]`, `query = [9]`, `examples = [1]` and `pad = 0`:
#
# | position | 0 | 1 | 2 | 3 | 4 |
# |---|---|---|---|---|---|
# | tokens | 0 | 0 | 5 | 7 | 9 |
# | mask | False | False | True | True | True |
# | predicts | False | False | True | False | True |
#
# Any number may be `pad`, also one that is a token: GPT-2, for instance, has no token for padding, and its end-of-text
# token is often taken. So a question, an answer or the query may have the number of `pad` and is still part of its prompt.
# Tokens may occur several times. What `x` and `y` hold beyond the first $e$ examples must not matter. How you arrange the
# tokens, in loops or all at once, is up to you.
#
# <details><summary>Hint: the idea</summary>
#
# Say for one line at which position its prompt begins. Does that depend on which tokens it holds? Once you know this
# position, mask follows from it by a comparison. Where do the questions stand, counted from there, and counted from
# position 0?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `x` and `y` are `[B, K]`. Side by side, along a new last axis, they are `[B, K, 2]`, and joined `[B, 2*K]`: `x_0, y_0,
# x_1, y_1, …`. The beginning of each prompt is one number for each line; as a column, `[B, 1]`, it can be compared with all
# positions, `[2*K+1]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# tokens full of pad, two masks full of False · for each line: where does the prompt begin? · from there on every second
# place is a question, the places between are answers, as many as there are examples · the query to the end · mask and
# predicts from the same beginning
# </details>


# %% nbgrader={"grade": false, "grade_id": "few_shot_prompts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def few_shot_prompts(
    x: Int[Tensor, "B K"], y: Int[Tensor, "B K"], query: Int[Tensor, "B"], examples: Int[Tensor, "B"], pad: int
) -> tuple[Int[Tensor, "B 2*K+1"], Bool[Tensor, "B 2*K+1"], Bool[Tensor, "B 2*K+1"]]:
    """Prompts of examples and a query, padded on the left to the same length.

    Args:
        x: the questions of the examples, a token each.
        y: their answers, a token each.
        query: the question that each prompt ends with.
        examples: how many examples each prompt uses, from 0 to K; these are its first ones.
        pad: the token that stands for padding; tokens of the prompt may have the same number.

    Returns:
        tokens, the padding and then the prompt of each line; mask, True at the tokens of the
        prompt; predicts, True where the
        next token is an answer: at the questions of a prompt and at its query.

    Example:
        x = [[5, 6]], y = [[7, 8]], query = [9], examples = [1] and pad = 0 give tokens =
        [[0, 0, 5, 7, 9]], mask = [[False, False, True, True, True]] and predicts =
        [[False, False, True, False, True]].
    """
    ### BEGIN SOLUTION
    B, K = x.shape
    tokens = torch.full((B, 2 * K + 1), pad, device=x.device)
    tokens[:, -1] = query
    start = 2 * (K - examples)  # [B], where each prompt begins: an example is two tokens
    for b in range(B):
        tokens[b, start[b] : -1 : 2] = x[b, : examples[b]]
        tokens[b, start[b] + 1 :: 2] = y[b, : examples[b]]
    # Both masks follow from where a prompt begins. To compare tokens with pad would lose tokens of the same number.
    n = torch.arange(2 * K + 1, device=x.device)
    mask = n >= start[:, None]  # [B, 2*K+1]
    # start is even, so questions stand at even positions in every line, and so does the query: the next token is an answer.
    predicts = mask & (n % 2 == 0)
    return tokens, mask, predicts
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_few_shot_prompts", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(few_shot_prompts)

# %% [markdown]
# ## 8 · Counting a GPT
#
# GPT-2 comes in four sizes, from 124 million parameters to 1.6 billion. How many parameters are there exactly, and
# how many operations does it take to read a text once ([lesson 11](../../notebooks/11_language_models.ipynb),
# "Counting a GPT")? In assignment 09 you counted a block. Now you count the whole model, where the vocabulary has a
# say too: its table adds parameters, and its logits add operations.
#
# The model has
#
# - a table of tokens, a row of $D$ numbers for each of $V$ tokens, and a table of learned positions, a row for each of $N$
#   positions;
# - $L$ blocks, each with an attention of four projections `[D, D]` (queries, keys, values, output), an MLP `[D, D_F]` and
#   `[D_F, D]`, and two LayerNorms;
# - a LayerNorm after the last block;
# - a head from $D$ to the $V$ logits, without a bias. Where it is **tied**, it is the table of tokens itself, transposed;
#   where it is not, it is a second matrix.
#
# The linear layers in the blocks have biases, and a LayerNorm has a weight and a bias for each feature.
#
# `parameters` are all the numbers that are learned. A matrix that is used twice is learned once.
#
# `operations` are those of one forward pass over a text of $N$ tokens, which all get their logits. Only products of
# matrices count: a product `[n, k] @ [k, m]` has $2nkm$ operations, a multiplication and an addition for each of the
# $nkm$ pairs of numbers that meet. Besides the products in the layers, the scores $Q K^\top$ and the weighted sums
# (attention weights times values) are such products, $2 N N D$ each in every block, over all heads together. The
# causal mask saves nothing: it hides part of what has been computed. Look-ups in a table, biases, norms, softmax and
# GELU do not count.
#
# `V`, `N`, `D`, `L` and `D_F` are tensors of integers `[S]`, one entry for each of $S$ models; `tied` is True or False, the
# same for all of them. Return the pair `(parameters, operations)`, each `[S]`, `torch.int64`, exact. Some of the models are
# so wide, or their texts so long, that floating-point numbers cannot hold the counts exactly: stay with integers. All
# results fit into 64 bits with a sign.
#
# For example, `V = 5`, `N = 2`, `D = 2`, `L = 1` and `D_F = 3` give 67 parameters with a tied head: 10 for the
# tokens, 4 for the positions, 49 for the block, 4 for the last LayerNorm. With an untied head there are 10 more. The
# operations are 184 in both cases: 144 in the block, 40 for the head.
#
# <details><summary>Hint: the idea</summary>
#
# Follow a text through the model and write two numbers beside each step: what is stored there, and what is computed there.
# Some steps store and compute nothing (a look-up computes nothing, the scores store nothing). Which of the two does tying
# change?
# </details>
# <details><summary>Hint: shapes</summary>
#
# A layer from `n` to `m` features has `n*m` weights and `m` biases. It is applied to `X` `[N, D]`, so its product is `[N,
# n] @ [n, m]`. The logits are `[N, D] @ [D, V]`. All arguments but `tied` are `[S]`, so an ordinary formula counts all
# models at once; `tied` is Python's True or False, for which there is `if`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# parameters = two tables + L times (attention with biases + MLP with biases + two norms) + last norm + head, if it is a
# matrix of its own · operations = L times (projections + scores + weighted sums + MLP) + logits
# </details>


# %% nbgrader={"grade": false, "grade_id": "count_gpt", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_gpt(
    V: Int[Tensor, "S"],
    N: Int[Tensor, "S"],
    D: Int[Tensor, "S"],
    L: Int[Tensor, "S"],
    D_F: Int[Tensor, "S"],
    tied: bool,
) -> tuple[Int[Tensor, "S"], Int[Tensor, "S"]]:
    """How many parameters GPTs have, and how many operations their forward pass takes.

    Args:
        V: sizes of the vocabularies.
        N: numbers of positions, and of tokens in the text.
        D: widths of the models.
        L: numbers of blocks.
        D_F: hidden widths of the MLPs.
        tied: whether the heads share the tables of tokens.

    Returns:
        the number of parameters of each model, and the number of operations of a forward pass over
        N tokens.

    Example:
        V = [5], N = [2], D = [2], L = [1], D_F = [3] give [67] and [184] if tied, else [77] and
        [184]. GPT-2 small, tied, has 124,439,808 parameters and takes 291,648,307,200 operations: V
        = 50257, N = 1024, D = 768, L = 12, D_F = 3072.
    """
    ### BEGIN SOLUTION
    attention = 4 * (D * D + D)
    mlp = (D * D_F + D_F) + (D_F * D + D)
    block = attention + mlp + 2 * (2 * D)
    parameters = V * D + N * D + L * block + 2 * D
    if not tied:
        parameters = parameters + V * D  # a second matrix
    layers = 2 * N * (4 * D * D + 2 * D * D_F)  # each matrix meets each of the N tokens
    pairs = 2 * (2 * N * N * D)  # scores and weighted sums: work without parameters
    operations = L * (layers + pairs) + 2 * N * D * V  # the logits are computed, tied or not
    return parameters, operations
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_count_gpt", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(count_gpt)

# %% [markdown]
# ## 9 · Stretch: induction heads
#
# This exercise earns no points. A language model that has read "Thinking Machines … Thinking" expects "Machines".
# Heads of a particular kind do this: an **induction head** looks for the last place at which the present token stood,
# and attends to the token after it, since what followed a token once may follow it again ([lesson
# 11](../../notebooks/11_language_models.ipynb), "Induction heads"). How do you find such heads among the hundreds of
# a model? You measure, for each head, how much weight it puts on that one position.
#
# `A` is `[B, H, N, N]`, the attention weights of $H$ heads on $B$ lines of $N$ tokens: `A[b, h, n, m]` is the weight that
# position `n` (the query) puts on position `m`. The weights are causal, so they are 0 for `m > n`. `tokens` is `[B, N]`,
# the numbers of the tokens, 0 or larger; they may be very large.
#
# Let position $n$ of line $b$ hold a token that occurred before in the same line, and let $j < n$ be the **last**
# position before $n$ that holds the same token. An induction head attends to $j + 1$. The score of head $h$ is the
# mean
#
# $$\mathrm{scores}_h = \frac{1}{|R|} \sum_{(b, n) \in R} A_{b, h, n, j + 1},
# \qquad R = \{(b, n) : \text{the token of } n \text{ occurred before in line } b\}$$
#
# over all such positions of all lines together: a line with many repetitions counts more than a line with few. Positions
# whose token did not occur before do not count at all. Where a token occurred directly before, $j + 1 = n$; such positions
# count like the others. If no token of any line occurred before, all scores are 0. Return `scores`, `[H]`.
#
# For example, in the line 7 3 7 7 (counted from 0), position 2 has $j = 0$ and looks at 1; position 3 has $j = 2$ and looks
# at 3. A head with $A_{2, 1} = 0.7$ and $A_{3, 3} = 0.3$ has the score $(0.7 + 0.3)/2 = 0.5$.
#
# `scores` is a measurement: no gradient is asked for. Loops are fine; lines may have hundreds of tokens.
#
# <details><summary>Hint: the idea</summary>
#
# First leave `A` alone: where each token stood last is a question about `tokens`, and its answer is one number for each
# position of each line, with a special one for "nowhere before". Which number can that be, since 0 is a position? Then read
# one weight for each position that counts.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Comparing each token with each gives `[B, N, N]`; of this only the part below the diagonal is about earlier positions. The
# last places are `[B, N]`. If `b` and `n` are the lines and positions that count, `[R]` each, then `A[b, :, n, m]` with
# `m` `[R]` is `[R, H]`: axes that are indexed by tensors, with another axis between them, come to the front.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# for each line, nothing seen yet · position by position: if its token was seen, take all heads' weights on the place after
# the last time · note down where it was seen now · mean of what was taken, if anything was
# </details>


# %% nbgrader={"grade": false, "grade_id": "induction_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def induction_scores(A: Float[Tensor, "B H N N"], tokens: Int[Tensor, "B N"]) -> Float[Tensor, "H"]:
    """How much each head attends to the token after the last earlier occurrence of the present
    token.

    Args:
        A: causal attention weights; rows are queries.
        tokens: the numbers of the tokens of each line.

    Returns:
        for each head the mean weight A[b, h, n, j + 1] over all positions n whose token occurred
        earlier in its line, where j is the last position before n with the same token; 0 if there
        are no such n.

    Example:
        tokens = [[7, 3, 7, 7]], and one head with the rows [1, 0, 0, 0], [0.5, 0.5, 0, 0],
        [0.2, 0.7, 0.1, 0] and [0.1, 0.2, 0.4, 0.3], give [0.5], the mean of 0.7 (n = 2, j = 0) and
        0.3 (n = 3, j = 2).
    """
    ### BEGIN SOLUTION
    place = torch.arange(tokens.shape[1], device=tokens.device)
    same = tokens[:, :, None] == tokens[:, None, :]  # [B, N, N]
    # The largest j is the last occurrence. tril(-1) keeps j < n, and −1 stands for "nowhere before", since 0 is a position.
    last = torch.where(same.tril(-1), place, -1).amax(dim=-1)  # [B, N]
    b, n = torch.nonzero(last >= 0, as_tuple=True)  # the K positions that count, of all lines together
    weights = A[b, :, n, last[b, n] + 1]  # [K, H]
    return weights.sum(dim=0) / max(len(b), 1)  # where K = 0, the sum is 0
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_induction_scores", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(induction_scores)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_two_tokenisers", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10 · Which language model is better?
#
# Two GPTs, A and B, were trained on the same text, but each has its own tokens. On the same new text, A has a
# perplexity of 20 per token, and its tokens hold 4.0 characters on average; B has a perplexity of 9 per token, and
# its tokens hold 2.6 characters on average. Answer in eight to twelve sentences, in the cell below:
#
# 1. Why do the two perplexities not say which model is better? Compare the models by a number that does, and say
#    which is better. Show the formula that you use. (Use $\log_2 20 \approx 4.32$ and $\log_2 9 \approx 3.17$.)
# 2. A task is new to the better model, and there are ten examples of it. One can put the examples into the prompt, or
#    fine-tune on them. What changes in the model in each case, what can go wrong with fine-tuning on so few examples, and
#    why could a model of a single layer not use the examples in its prompt as an induction head does?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: bits per character.** Perplexity is counted for each token, and a token of A holds more text: to predict it is a
# harder question, asked less often. What can be compared is the probability of the same text as a whole, for instance as
# bits for each character: $\log_2(\text{perplexity}) / \text{characters per token}$. A needs $4.32 / 4.0 = 1.08$ bits per
# character, B $3.17 / 2.6 = 1.22$. So A is better, although its perplexity is higher. (½ for the reason; ½ for the formula
# with both numbers and the right winner. A perplexity for each character, $20^{1/4.0} = 2.11$ and $9^{1/2.6} = 2.33$, is as
# good, and so are nats. "The vocabularies differ" alone, without what this does to the question that is asked at each
# token, earns nothing.)
#
# **1 point: examples in the prompt, or fine-tuning.** With examples in the prompt no weight changes; what changes is what
# later positions attend to, and it is gone with the prompt. Fine-tuning changes the weights by gradient steps, for good:
# with ten examples the model can learn them by heart without learning the task, and it forgets part of what it could do
# before. An induction head attends to the position *behind* an earlier occurrence of the present token. Its query asks for
# "the token before you was mine", and a key can hold this only if a layer below has written into each position which token
# stands before it: that takes two layers. (½ for what changes with one risk of fine-tuning; ½ for the two steps of the
# induction head. "One layer has too few parameters" earns nothing; nor does "a single layer cannot look back".)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_two_tokenisers", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. A perplexity is counted for each token, and the two models have different tokens. A token of A holds 4.0
#    characters, so A answers a harder question at each token, but fewer of them for the same text. What can be
#    compared is the probability of the same text: at perplexity $P$ a token costs $\log_2 P$ bits on average, so a
#    character costs $\log_2 P$ divided by the characters per token. That is 4.32 / 4.0 = 1.08 bits for A and 3.17 /
#    2.6 = 1.22 bits for B. A is better, although its perplexity is more than twice that of B.
#
# 2. Examples in the prompt change no weight: later positions attend to them, and with the next prompt they are gone.
#    Fine-tuning changes the weights. From ten examples a model may learn these ten by heart and not the task, and the same
#    steps change weights that other tasks need, so it forgets some of what it could do. An induction head finds the
#    position that follows the last occurrence of the present token. What it looks for is a position whose *preceding* token
#    is the same as its own. That a position carries its predecessor's token is the work of a head in an earlier layer.
#    In a single layer a key is made of its own position and the token there, and of nothing else, so there is nothing
#    to match.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.
#
# The [milestone](../../milestones/11_my_gpt.ipynb) puts what you solved here to work: a GPT that writes, made of your
# own code. It is optional and earns no points.

# %%
progress()
