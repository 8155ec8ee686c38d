# %% [markdown]
# # Assignment 01: sequence-to-sequence with RNNs
#
# You build a translator piece by piece: a recurrent step, an encoder that reads a padded batch, a decoder that is trained
# with teacher forcing, a loss that leaves padding out, greedy decoding and beam search. At the end you train your
# translator on a small corpus and let it translate. A stretch then opens the recurrent unit that you have taken from torch.
#
# **You will be able to**
#
# - write a recurrent step, and an encoder and a decoder for batches of sentences of different lengths;
# - keep padding out of hidden states, context vectors and the loss;
# - generate a translation token by token, with greedy decoding and with beam search;
# - explain what one context vector of fixed size cannot do, and how decoding differs from training.
#
# **You need** [lesson 01](../../notebooks/01_rnn_seq2seq.ipynb). The exercises do not use each other's code, so you can do
# them in any order. The [glossary](../../docs/glossary.md) explains each term in one line.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · a recurrent step | 2 | ●○○ | 10 |
# | 2 · an encoder for padded batches | 3 | ●●○ | 25 |
# | 3 · a decoder with teacher forcing | 3 | ●●○ | 20 |
# | 4 · cross-entropy without padding | 3 | ●●○ | 15 |
# | 5 · greedy decoding that stops | 3 | ●●○ | 20 |
# | 6 · beam search | 4 | ●●● | 40 |
# | 7 · stretch: a gated recurrent unit | stretch | ●●○ | 15 |
# | 8 · a written answer | 2 | ●●○ | 10 |
#
# **Time** about 195 minutes in all, plus about 15 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` with your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. In all exercises, results keep the
# floating-point type and the device of the inputs, the inputs stay unchanged, and gradients can flow.
#
# **Shapes.** A batch holds `B` sentences, and the longest of them has `T` tokens, its `[STOP]` included. The vocabulary has
# `V` tokens. `D_E` is the width of an embedding and `D_H` the width of a hidden state. A token is given by its number, an
# integer. Three tokens are not words: `[PAD]` (`PAD`, 0) fills up shorter sentences, `[START]` (`START`, 1) is the first
# token that a decoder is fed, and `[STOP]` (`STOP`, 2) ends a sentence. `*B` stands for any number of batch axes, or none.

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
#   `Encoder` and `beam_search`.)
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours. (Not asked of
#   `greedy_decode` and `beam_search`.)
# - Small numbers count beside large ones: nothing is cut off. (Not asked of `greedy_decode` and `beam_search`.)
# - Numbers may be 0. (Not asked of `greedy_decode` and `beam_search`.)
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Where a shape begins with `*B`, there may be no batch axis, one, or several.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `beam_search`.)
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
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.data.translation import PAD, START, STOP
from utils.progress import progress

# %% [markdown]
# ## 1 · A recurrent step
#
# The new hidden state is computed from the input at this step and from the old hidden state:
# $h_t = \tanh(x_t W_x + h_{t-1} W_h + b)$. The weight matrices act from the right. (`nn.RNN` and its relatives are not
# allowed in this exercise; in exercises 2 and 3 they are.)
#
# <details><summary>Hint: the idea</summary>
#
# Both matrix products have the same shape, so they can be added. The tanh is applied once, to the whole sum.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[*B, D_X]` times `[D_X, D_H]` is `[*B, D_H]`, and `[*B, D_H]` times `[D_H, D_H]` is `[*B, D_H]`, too. The bias `[D_H]` is
# broadcast over the batch axes.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Map the input and the old hidden state to `D_H` numbers each, with the matrix that belongs to it.
# 2. Add the two results and the bias.
# 3. Apply the nonlinearity to the sum.
# </details>


# %% nbgrader={"grade": false, "grade_id": "rnn_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_step(
    x: Float[Tensor, "*B D_X"],
    h: Float[Tensor, "*B D_H"],
    W_x: Float[Tensor, "D_X D_H"],
    W_h: Float[Tensor, "D_H D_H"],
    b: Float[Tensor, "D_H"],
) -> Float[Tensor, "*B D_H"]:
    """The hidden state after one more step.

    Args:
        x: the input at this step, such as the embedding of a token.
        h: the hidden state before the step.
        W_x: the weights from the input to the hidden state.
        W_h: the weights from the old hidden state to the new one.
        b: the bias.

    Returns:
        The new hidden state [*B, D_H], with numbers between -1 and 1.

    Example:
        With x = [1], h = [0.5], W_x = [[1]], W_h = [[2]] and b = [-2] the sum inside tanh is 0, so
        the result is [0].
    """
    ### BEGIN SOLUTION
    # Input and old state are each mapped to D_H numbers; tanh keeps the sum between -1 and 1, however many steps follow.
    return torch.tanh(x @ W_x + h @ W_h + b)  # [*B, D_H]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_rnn_step", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(rnn_step)

# %% [markdown]
# ## 2 · An encoder for padded batches
#
# The sentences of a batch differ in length, and the shorter ones are filled up with `[PAD]`. A recurrent network that runs
# over such a batch reads on through the padding. Its last column is then the right context vector for the longest sentence
# only.
#
# Write the encoder as a module with two layers: `embedding`, an `nn.Embedding(V, D_E)`, and `rnn`, an
# `nn.GRU(D_E, D_H, batch_first=True)`. (A GRU is called like an RNN. The check sets all weights itself.) The encoder returns
#
# - `H`, all hidden states: `H[b, t]` is the state after token `t` of sentence `b`, and **0** where position `t` is padding;
# - `h`, the context vectors: for each sentence the state after **its own** last token.
#
# `lengths[b]` is the number of tokens of sentence `b`, its `[STOP]` included. The sentences come in no particular order, and
# the results must keep this order.
#
# <details><summary>Hint: the idea</summary>
#
# A GRU reads from left to right, so the padding behind a sentence cannot change the states before it. You can run the GRU
# over the whole batch, and correct two things afterwards: the states at padded positions, and the choice of the last state.
# (`pack_padded_sequence` offers another way.)
# </details>
# <details><summary>Hint: shapes</summary>
#
# Comparing the positions `[T]` with the lengths `[B, 1]` gives a boolean table `[B, T]`. To take one position from each row,
# index with two vectors of length `B`: `H[rows, positions]` is `[B, D_H]`. Make new tensors on the device of the inputs.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Embed the tokens and run the GRU over the padded batch.
# 2. Mark the positions that hold tokens.
# 3. Set the states at all other positions to 0.
# 4. Find the position of each sentence's last token. Positions are counted from 0.
# 5. Take the state at this position from each row, for all rows at once.
# </details>


# %% nbgrader={"grade": false, "grade_id": "Encoder", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Encoder(nn.Module):
    """Reads a padded batch of sentences and gives their hidden states.

    Args:
        V: number of tokens in the vocabulary.
        D_E: width of an embedding.
        D_H: width of a hidden state.
    """

    def __init__(self, V: int, D_E: int, D_H: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(V, D_E)
        self.rnn = nn.GRU(D_E, D_H, batch_first=True)
        ### END SOLUTION

    def forward(
        self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, "B"]
    ) -> tuple[Float[Tensor, "B T D_H"], Float[Tensor, "B D_H"]]:
        """All hidden states, and the context vector of each sentence.

        Args:
            tokens: a padded batch of sentences.
            lengths: the number of tokens of each sentence, without padding.

        Returns:
            H [B, T, D_H]: the hidden state after each token, and 0 at padded positions.
            h [B, D_H]: for each sentence the hidden state after its own last token.

        Example:
            For tokens = [[5, 2, 0], [7, 8, 2]] and lengths = [2, 3], H[0, 2] is 0, h[0] is H[0, 1]
            and h[1] is H[1, 2].
        """
        ### BEGIN SOLUTION
        H, _ = self.rnn(self.embedding(tokens))  # [B, T, D_H]; the padding is read, too, but only after the tokens
        positions = torch.arange(tokens.shape[1], device=tokens.device)  # [T]
        real = positions < lengths[:, None]  # [B, T], True at tokens
        H = H * real[:, :, None]  # [B, T, D_H]
        rows = torch.arange(len(tokens), device=tokens.device)  # [B]
        return H, H[rows, lengths - 1]  # each row at its own last token
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_Encoder", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(Encoder)

# %% [markdown]
# ## 3 · A decoder with teacher forcing
#
# The decoder writes the translation token by token: $s_t = g_U(y_{t-1}, s_{t-1}, c)$. In training it is fed the correct
# token $y_{t-1}$ at each step, whatever it has predicted itself: this is **teacher forcing**. So one call gives the logits
# for all tokens of a given translation `y`.
#
# The decoder has three layers: `embedding`, an `nn.Embedding(V, D_E)`; `cell`, an `nn.GRUCell(D_E + D_H, D_H)`, called as
# `cell(input, state)`; and `out`, an `nn.Linear(D_H, V)`. The context vector `c` is the first state, $s_0 = c$, **and** a
# part of the input at each step: the embedding of the token comes first, then `c`. At step $t$ (counted from 1) the cell is
# fed $y_{t-1}$, with $y_0$ = `[START]`, and `out` turns the new state $s_t$ into the logits for $y_t$. Padded positions are
# computed like all others; the loss will leave them out.
#
# <details><summary>Hint: the idea</summary>
#
# At each step the decoder predicts the token `y[:, t]` and is fed the token before it. If it were fed the token that it
# predicts, it would only have to copy its input.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The input of each step is an embedding `[B, D_E]` joined with the context vector `[B, D_H]` along the last axis:
# `[B, D_E + D_H]`. The logits of one step are `[B, V]`; those of all `T` steps are stacked into `[B, T, V]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Begin with the state `c`, and with `[START]` as the previous token of every sentence.
# 2. At each position, embed the previous token, join it with the context vector, and compute the new state with the cell.
# 3. Compute the logits from the new state and keep them.
# 4. Decide which token becomes the previous one: here teacher forcing comes in.
# 5. Stack the logits of all steps along the right axis.
# </details>


# %% nbgrader={"grade": false, "grade_id": "Decoder", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Decoder(nn.Module):
    """Predicts each token of a translation from the tokens before it and the context vector.

    Args:
        V: number of tokens in the vocabulary.
        D_E: width of an embedding.
        D_H: width of a state, and of the context vector.
    """

    def __init__(self, V: int, D_E: int, D_H: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(V, D_E)
        self.cell = nn.GRUCell(D_E + D_H, D_H)
        self.out = nn.Linear(D_H, V)
        ### END SOLUTION

    def forward(self, y: Int[Tensor, "B T"], c: Float[Tensor, "B D_H"]) -> Float[Tensor, "B T V"]:
        """The logits for y_1, …, y_T, each after the correct tokens before it.

        Args:
            y: the correct translations, which may be padded.
            c: the context vectors.

        Returns:
            The logits [B, T, V]: those at position t are for the token y[:, t].

        Example:
            The last token of a translation is never fed in: y = [[5, 6, 2]] and y = [[5, 6, 7]]
            give the same logits.
        """
        ### BEGIN SOLUTION
        fed = torch.cat([torch.full_like(y[:, :1], START), y[:, :-1]], dim=1)  # [B, T]: y shifted by one position
        s, states = c, []
        for tokens in fed.unbind(dim=1):
            s = self.cell(torch.cat([self.embedding(tokens), c], dim=-1), s)  # [B, D_H]
            states.append(s)
        return self.out(torch.stack(states, dim=1))  # [B, T, D_H] -> [B, T, V]
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_Decoder", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(Decoder)

# %% [markdown]
# ## 4 · Cross-entropy without padding
#
# The loss is the mean of $-\log p(y_{bt})$ over all **real tokens** of the batch, where $p$ is the softmax of the logits
# over the vocabulary. Padded positions, at which `y` is `PAD`, count neither in the sum nor in the number by which the sum
# is divided; `[STOP]` is a real token. The logits may be large, so use `log_softmax`, not the logarithm of a softmax.
# torch's own cross-entropy and `nll_loss` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# Compute $-\log p$ at every position, padded ones included. Then leave the padding out twice: of the sum, and of the number
# of tokens.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The log-probabilities are `[B, T, V]`. `gather` along the last axis picks one of the `V` numbers at each position; its index
# needs an axis of size 1 at the end, `[B, T, 1]`, and so has its result.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute the log-probabilities of all tokens of the vocabulary at each position.
# 2. Pick the log-probability of the correct token at each position.
# 3. Mark the positions that hold real tokens.
# 4. Reduce the picked numbers at these positions to one number, and mind its sign.
# </details>


# %% nbgrader={"grade": false, "grade_id": "masked_cross_entropy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def masked_cross_entropy(logits: Float[Tensor, "B T V"], y: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    """The mean of -log p over the real tokens of a padded batch.

    Args:
        logits: those at position t are for the token y[:, t].
        y: the correct tokens. Padding may stand anywhere, and at least one token of the batch is
            not padding.

    Returns:
        The loss, a tensor without axes.

    Example:
        If all logits are 0, every token has p = 1/V, so the loss is log V, however much of y is
        padding.
    """
    ### BEGIN SOLUTION
    log_p = logits.log_softmax(dim=-1)  # [B, T, V]
    picked = log_p.gather(-1, y[..., None])[..., 0]  # [B, T], log p of the correct token
    real = y != PAD  # [B, T], True at real tokens
    return -picked[real].mean()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_masked_cross_entropy", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(masked_cross_entropy)

# %% [markdown]
# ## 5 · Greedy decoding that stops
#
# When the model translates, there are no correct tokens to feed in. `decoder(y, s)` takes the last tokens `y [B]` and the
# states `s [B, D_H]` of a batch; it gives the logits of the next tokens, `[B, V]`, and the new states, `[B, D_H]`. Begin
# with `[START]` in every sentence, and at each step take the most likely token.
#
# The sentences of a batch end at different steps. After its `[STOP]` a sentence holds `[PAD]`. As soon as **all** sentences
# have ended, or when `max_length` tokens are written, stop asking the decoder. Return the tokens (`torch.long`) without the
# `[START]`.
#
# <details><summary>Hint: the idea</summary>
#
# Keep a boolean for each sentence: has it ended? It becomes True when the sentence writes `[STOP]`, and stays True. A
# sentence that had ended before a step writes `[PAD]` in this step.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `argmax` over the vocabulary turns logits `[B, V]` into tokens `[B]`. `torch.where` replaces some of them. The tokens of
# `L` steps are stacked along `dim=1` into `[B, L]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Begin with `[START]` in every sentence; no sentence has ended.
# 2. Ask the decoder for the logits and the new states.
# 3. Choose the tokens of this step, with those sentences in mind that have ended before.
# 4. Keep the tokens, and update which sentences have ended.
# 5. Repeat steps 2 to 4 until one of the two conditions for stopping holds.
# 6. Stack the tokens of all steps.
# </details>


# %% nbgrader={"grade": false, "grade_id": "greedy_decode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def greedy_decode(decoder: Callable, s: Float[Tensor, "B D_H"], max_length: int) -> Int[Tensor, "B L"]:
    """The tokens that a decoder writes if it takes the most likely token at each step.

    Args:
        decoder: decoder(y, s) takes tokens [B] and states [B, D_H]; it gives logits [B, V] and new
            states [B, D_H].
        s: the first states.
        max_length: the largest number of tokens to write, [STOP] included.

    Returns:
        The tokens [B, L]. L is the number of tokens of the longest sentence, its [STOP] included,
        and at most max_length.

    Example:
        One sentence of two words and one of a single word are returned as
        [[7, 4, STOP], [5, STOP, PAD]].
    """
    ### BEGIN SOLUTION
    tokens = torch.full_like(s[:, 0], START, dtype=torch.long)  # [B]
    ended = torch.zeros_like(tokens, dtype=torch.bool)  # [B]
    written = []
    while len(written) < max_length and not ended.all():
        logits, s = decoder(tokens, s)  # [B, V], [B, D_H]
        tokens = torch.where(ended, PAD, logits.argmax(dim=-1))
        ended = ended | (tokens == STOP)
        written.append(tokens)
    return torch.stack(written, dim=1)  # [B, L]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_greedy_decode", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(greedy_decode)

# %% [markdown]
# ## 6 · Beam search
#
# The most likely first token need not begin the most likely sentence. Beam search follows `beam_size` hypotheses at a time.
# It translates one sentence. `decoder(y, s)` answers as in exercise 5; you may call it with a batch of hypotheses, or with
# one hypothesis at a time as a batch of one. The `beam_size` may be 1, or larger than `V`.
#
# 1. The beam begins with one hypothesis: no tokens, score 0, state `s`.
# 2. At each step the candidates are: every hypothesis that has ended with `[STOP]`, as it is; and every other hypothesis
#    continued by each of the `V` tokens, with its score increased by the $\log p$ of that token (the log-softmax of the
#    logits).
# 3. The `beam_size` candidates with the highest scores are the new beam (all candidates, if there are fewer), each with its
#    own state. Hypotheses that have ended count towards the `beam_size` like the others.
# 4. Stop when all hypotheses in the beam have ended, or after `max_length` steps. Return the tokens of the best hypothesis,
#    without `[START]` but with its `[STOP]` if it has one, and its score, a tensor without axes.
#
# <details><summary>Hint: the idea</summary>
#
# A hypothesis consists of three things: its tokens, its score and its state. They stay together when the candidates are
# sorted.
# </details>
# <details><summary>Hint: shapes</summary>
#
# One hypothesis is a batch of one: its last token is `[1]`, its state `[1, D_H]`, and its logits are `[1, V]`.
# `s.new_zeros(())` is a score of 0 with the right type and no axes.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Put the first hypothesis into the beam.
# 2. Repeat at most `max_length` times, unless every hypothesis in the beam has ended:
#    1. Take each hypothesis in turn. If it has ended, it is a candidate itself.
#    2. Otherwise ask the decoder with its last token and its state, and make a candidate for each token of the vocabulary,
#       with its tokens, its score and its new state.
#    3. Sort the candidates of all hypotheses together by their scores, and keep the best.
# 3. Return tokens and score of the best hypothesis.
# </details>


# %% nbgrader={"grade": false, "grade_id": "beam_search", "locked": false, "schema_version": 3, "solution": true, "task": false}
def beam_search(
    decoder: Callable, s: Float[Tensor, "D_H"], beam_size: int, max_length: int
) -> tuple[Int[Tensor, "L"], Float[Tensor, ""]]:
    """The best translation that beam search finds, and its score.

    Args:
        decoder: as in exercise 5.
        s: the first state, of one sentence.
        beam_size: the number of hypotheses that are followed at a time.
        max_length: the largest number of steps.

    Returns:
        y [L]: the tokens of the best hypothesis, without [START].
        score: the sum of the log-probabilities of these tokens, a tensor without axes.

    Example:
        With beam_size = 1, y are the tokens that greedy decoding writes. In the lesson's toy
        decoder, with beam_size = 2 and max_length = 2, y is "la casa" and the score is log(0.4 ·
        0.9) ≈ -1.02.
    """
    ### BEGIN SOLUTION
    beam = [([], s.new_zeros(()), s)]  # tokens, score, state
    for _ in range(max_length):
        if all(tokens and tokens[-1] == STOP for tokens, _, _ in beam):
            break
        candidates = []
        for tokens, score, state in beam:
            if tokens and tokens[-1] == STOP:
                candidates.append((tokens, score, state))  # it has ended: it only competes
                continue
            last = torch.tensor([tokens[-1] if tokens else START], device=s.device)  # [1]
            logits, new_state = decoder(last, state[None])  # [1, V], [1, D_H]
            scores = score + logits[0].log_softmax(dim=-1)  # [V]
            # only the beam_size best continuations of a hypothesis can be among the beam_size best of all
            best, chosen = scores.topk(min(beam_size, len(scores)))
            candidates += [([*tokens, token], value, new_state[0]) for value, token in zip(best, chosen.tolist())]
        beam = sorted(candidates, key=lambda hypothesis: hypothesis[1].item(), reverse=True)[:beam_size]
    tokens, score, _ = beam[0]
    return torch.tensor(tokens, device=s.device), score
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_beam_search", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(beam_search)

# %% [markdown]
# ## Your translator at work
#
# Put your pieces together: train them for some seconds on short English sentences with their Spanish translations, and let
# them translate. (The second cell is not graded, and it is not run when your notebook is graded. It works as soon as
# exercises 2 to 6 do; if one of them is unfinished, it says so.)

# %%
def try_it_out(steps=400, D_E=32, D_H=96):
    """Trains your encoder and decoder on a small corpus and shows translations."""
    from utils.models.training import train
    from utils.data.translation import batches, corpus, lecture, vocabulary

    torch.manual_seed(0)
    english, spanish = vocabulary("english"), vocabulary("spanish")
    model = nn.ModuleList([Encoder(len(english), D_E, D_H), Decoder(len(spanish), D_E, D_H)])

    def loss(model, batch):
        _, h = model[0](batch.source, batch.lengths)
        return masked_cross_entropy(model[1](batch.target, h), batch.target)

    pairs = corpus("spanish", 2000, 3, 6)
    curve = train(model, batches(pairs, "spanish", size=64, steps=steps), loss, steps=steps, rate=5e-3)
    print(f"loss at the start {curve[0]:.2f}, at the end {sum(curve[-20:]) / 20:.2f}")

    @torch.no_grad()
    def show(pair):
        source = torch.tensor([english.encode(pair.source)])
        _, c = model[0](source, torch.tensor([source.shape[1]]))

        def decoder(y, s):  # the step inside your Decoder, one token at a time
            context = c.expand(len(y), -1)
            s = model[1].cell(torch.cat([model[1].embedding(y), context], dim=-1), s)
            return model[1].out(s), s

        print(" ".join(pair.source), "→", " ".join(pair.target))
        print("   greedy:", " ".join(spanish.decode(greedy_decode(decoder, c, 12)[0])))
        tokens, score = beam_search(decoder, c[0], beam_size=4, max_length=12)
        print("     beam:", " ".join(spanish.decode(tokens)), f"(probability {score.exp():.2f})")

    for pair in [lecture("bread", "spanish"), lecture("sky", "spanish"), *corpus("spanish", 4, 4, 6, seed=7)]:
        show(pair)


# %% tags=["play"]
try:
    try_it_out()
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown]
# ## 7 · Stretch: a gated recurrent unit
#
# This exercise earns no points. It opens the box that exercises 2 and 3 have taken from torch: after it you can read the
# documentation of `nn.GRU`, and the formulas of Cho et al. (2014), line by line.
#
# In exercise 1 each step maps the whole hidden state through $W_h$ and a tanh, so a number that should be remembered has to
# survive this map again and again. If each step leaves half of it, one millionth is left after 20 steps. The gradient runs back
# through the same steps and shrinks in the same way, so the network can hardly learn that an early token matters. The
# **gated recurrent unit** (GRU) gives each number of the hidden state a way around the map. An **update gate** $z$ with numbers
# between 0 and 1 says how much of the old number is kept: with $z = 0.99$, 82 % of it is left after 20 steps, and along this way
# the gradient, too, is multiplied by $z$ alone. And since $z$ is computed from the token and the state, the network can learn
# *when* to keep a number and when to overwrite it.
#
# What is written in its place is a proposal $n$, much like the new state of exercise 1. A **reset gate** $r$ says how much of the
# old state the proposal sees. Both gates have the shape of the state, `[*B, D_H]`. With the sigmoid $\sigma$ and the product
# number by number $\odot$:
#
# $$r = \sigma(x W_{xr} + b_{xr} + h W_{hr} + b_{hr}), \qquad z = \sigma(x W_{xz} + b_{xz} + h W_{hz} + b_{hz})$$
# $$n = \tanh\big(x W_{xn} + b_{xn} + r \odot (h W_{hn} + b_{hn})\big), \qquad h' = (1 - z) \odot n + z \odot h$$
#
# This is torch's form. In the paper of Cho et al. the reset gate acts before the matrix, $(r \odot h) W_{hn}$; here it acts on
# the result, the bias $b_{hn}$ included. Some papers exchange $z$ and $1 - z$; here $z$ is the share of the old state.
#
# The weights come stacked, each stack in the order **reset, update, proposal**: `W_x` `[3, D_X, D_H]` holds $W_{xr}$, $W_{xz}$ and
# $W_{xn}$, and `W_h` `[3, D_H, D_H]`, `b_x` `[3, D_H]` and `b_h` `[3, D_H]` are built alike. All matrices act from the right. A
# gate may be so near to 0 or 1 that it is rounded to it. `torch.sigmoid` has correct gradients there, too; a formula of your own
# with `exp` may overflow and give NaN. (`nn.GRU`, `nn.GRUCell` and `torch.gru_cell` are not allowed here.)
#
# <details><summary>Hint: the idea</summary>
#
# Each gate is the step of exercise 1 with a sigmoid in the place of the tanh. In the proposal, the part of the input and the part
# of the old state have to stay apart until one of them has met a gate.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `x` `[*B, D_X]` times `W_x[0]` `[D_X, D_H]` is `[*B, D_H]`, and so are both gates, the proposal and the result. A stack can be
# taken apart in one line, `W_xr, W_xz, W_xn = W_x`. (`x @ W_x` with the whole stack would take the 3 for a batch axis.)
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Take the stacks apart.
# 2. Compute the two gates, each from the input and the old state with its own weights.
# 3. Compute the proposal. Which of its two parts does the reset gate multiply?
# 4. Mix the proposal and the old state, number by number. Check which of them stays if the update gate is 1.
# </details>


# %% nbgrader={"grade": false, "grade_id": "gru_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gru_step(
    x: Float[Tensor, "*B D_X"],
    h: Float[Tensor, "*B D_H"],
    W_x: Float[Tensor, "3 D_X D_H"],
    W_h: Float[Tensor, "3 D_H D_H"],
    b_x: Float[Tensor, "3 D_H"],
    b_h: Float[Tensor, "3 D_H"],
) -> Float[Tensor, "*B D_H"]:
    """The hidden state of a gated recurrent unit after one more step.

    Args:
        x: the input at this step.
        h: the hidden state before the step.
        W_x: the weights from the input to reset gate, update gate and proposal, in this order.
        W_h: the weights from the old hidden state, in the same order.
        b_x: the biases beside W_x, in the same order.
        b_h: the biases beside W_h, in the same order.

    Returns:
        The new hidden state [*B, D_H].

    Example:
        With D_X = D_H = 1, all weights and biases 0 but b_h = [[0], [0], [2]], and h = [0.5], both
        gates are 1/2, whatever x is. The proposal is tanh(1/2 · 2) ≈ 0.76, so the result is 1/2 ·
        0.76 + 1/2 · 0.5 ≈ [0.63].
    """
    ### BEGIN SOLUTION
    (W_xr, W_xz, W_xn), (W_hr, W_hz, W_hn) = W_x, W_h
    (b_xr, b_xz, b_xn), (b_hr, b_hz, b_hn) = b_x, b_h
    r = torch.sigmoid(x @ W_xr + b_xr + h @ W_hr + b_hr)  # [*B, D_H]
    z = torch.sigmoid(x @ W_xz + b_xz + h @ W_hz + b_hz)
    n = torch.tanh(x @ W_xn + b_xn + r * (h @ W_hn + b_hn))  # r decides what the proposal sees of the old state
    return (1 - z) * n + z * h  # a weighted mean of new and old: where z is near 1, the old number passes unchanged
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_gru_step", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(gru_step)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_bottleneck", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 8 · One vector for a sentence
#
# Answer in three to six sentences, in the cell below:
#
# 1. All that the decoder knows about the source sentence is the context vector $c$. What does the lesson's experiment show
#    about long sentences, and how does the width of the hidden state matter? Why does a wider hidden state alone not solve
#    the problem?
# 2. In training the decoder is fed the correct tokens. What is different when it translates, and what can go wrong because
#    of this?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: the bottleneck.** Half a point for the observation: quality falls with the length of the sentence, and with a
# wider hidden state it falls later. Half a point for the reason why width does not solve the problem: a vector of fixed
# size has room for a limited amount of information, so a wider state moves the limit but does not remove it, and there is
# always a longer sentence; besides, the number of weights grows with the square of the width, for short sentences as well.
# (An answer that names the long path, over which it is hard to learn, instead of the cost is as good.)
#
# **1 point: exposure bias.** Half a point for the difference: when the decoder translates, it is fed its own tokens, which
# may be wrong. Half a point for the consequence: it has never seen such beginnings in training, so one mistake can lead to
# more, and errors accumulate along the sentence.
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_bottleneck", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The longer the sentence, the lower the quality; and the narrower the hidden state, the earlier the quality falls. One
# context vector of fixed size has to hold the whole sentence, and at some length it runs out of room. A wider hidden state
# only moves this point to longer sentences, while the number of weights grows with the square of the width, also for short
# sentences. When the model translates, the decoder is fed its own tokens instead of the correct ones. After a wrong token it
# continues a beginning that never occurred in training, so one mistake is likely to bring more.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The next cell shows the points of the checks above, as they were when you last ran them. `progress("all")` counts every
# unit that you have begun.

# %%
progress()
