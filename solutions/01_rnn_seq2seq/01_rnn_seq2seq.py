# %% [markdown]
# # Assignment 01: sequence-to-sequence with RNNs
#
# You build a translator piece by piece: a recurrent step, an encoder that reads a padded batch, a decoder that is trained
# with the right words at hand, the loss that leaves padding out, and two ways to let it write. At the end you train yours
# on a small corpus and let it translate.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · a recurrent step | 2 | ●○○ | 10 |
# | 2 · an encoder for padded batches | 3 | ●●○ | 25 |
# | 3 · a decoder with teacher forcing | 3 | ●●○ | 20 |
# | 4 · cross-entropy without padding | 3 | ●●○ | 15 |
# | 5 · greedy decoding that stops | 3 | ●●○ | 20 |
# | 6 · beam search | 4 | ●●● | 40 |
# | 7 · a written answer | 2 | ●●○ | 10 |
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A check
# tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like, and add
# cells of your own; please leave the check cells themselves as they are. Grading examines the same properties and some
# more, on other numbers and other sizes: a ✓ is a good sign, not yet the mark. No exercise needs another one's code. In all
# of them results keep the inputs' number type and device, what you are given stays unchanged, and gradients can flow.
#
# **Shapes.** `B` sentences in a batch, `T` places in the longest of them, `V` words in the vocabulary; `D_E` is the width of
# a word's vector, `D_H` that of a state. Words are whole numbers; three of them are no words: `PAD` (0) fills up short
# sentences, `START` (1) is what a decoder is fed first, `STOP` (2) ends a sentence. `*B` stands for any number of batch
# axes, or none.

# %% [markdown] tags=["demands"]
# **What is asked of every exercise.** Grading examines each of these; a check shows some of them. Where an exercise's own
# text says something else, that holds.
#
# - Inputs come back as they were given, and the same inputs give the same result in every call.
# - Results have the floating-point type of the inputs, float32 or float64, and are computed in it.
# - Numbers of float64 may be larger than float32 can hold.
# - Inputs of bfloat16 give results of bfloat16. (Not asked of `Encoder` and `beam_search`.)
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
# - Arguments may be given by position or by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `beam_search`.)
# - Gradients are right also where a softmax is nearly 0 or 1.

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
from jaxtyping import Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.data.translation import PAD, START, STOP
from utils.progress import progress

# %% [markdown]
# ## 1 · A recurrent step
#
# The new state is made of the word that is read and of the state before:
# $h_t = \tanh(x W_x + h W_h + b)$. The weight matrices act from the right. (`nn.RNN` and its relatives are not allowed in
# this exercise; in the others they are.)
#
# <details><summary>Hint: the idea</summary>
#
# Two matrix products have the same shape, so they can be added. Then comes the bias, then one tanh over all of it.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `x @ W_x` is `[*B, D_X] @ [D_X, D_H]`, which is `[*B, D_H]`; `h @ W_h` is `[*B, D_H]` too. `b` is added to every row by
# itself.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# tanh of: x times W_x, plus h times W_h, plus b
# </details>


# %% nbgrader={"grade": false, "grade_id": "rnn_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_step(
    x: Float[Tensor, "*B D_X"],
    h: Float[Tensor, "*B D_H"],
    W_x: Float[Tensor, "D_X D_H"],
    W_h: Float[Tensor, "D_H D_H"],
    b: Float[Tensor, "D_H"],
) -> Float[Tensor, "*B D_H"]:
    """The state after one more word.

    Example:
        With D_X = D_H = 1, x = [1], h = [0.5], W_x = [[1]], W_h = [[2]] and b = [-2] the sum is 0, so h_t = [0].
    """
    ### BEGIN SOLUTION
    # Word and state are each mapped to D_H numbers; tanh keeps the sum between -1 and 1, however many steps follow.
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
# Sentences of one batch differ in length; the shorter ones are filled up with `PAD`. A recurrent network that is run over
# such a batch reads on through the padding, and its last column is the right answer for the longest sentence alone.
#
# Write the encoder as a module with two layers: `embedding`, an `nn.Embedding(V, D_E)`, and `rnn`, an
# `nn.GRU(D_E, D_H, batch_first=True)`. (A GRU is used like an RNN; the check sets all weights itself.) It returns
#
# - `H`, all states: `H[b, t]` is the state after word `t` of sentence `b`, and **0** where `t` is padding;
# - `h`, for each sentence the state after **its own** last word.
#
# `lengths[b]` is the number of words of sentence `b`, its `STOP` included. The sentences come in no particular order, and
# so they should come back.
#
# <details><summary>Hint: the idea</summary>
#
# A GRU reads from left to right, so what it makes of the padding cannot change the states before it. Run it over
# everything; then set the padding to 0 and pick out one state for each sentence. Or look up `pack_padded_sequence`.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `torch.arange(T, device=lengths.device) < lengths[:, None]` is `[B, T]` and True at words. To pick place `lengths[b] - 1` from row `b`, index with
# two vectors of length `B`: `H[rows, places]` is `[B, D_H]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# H = all states of the GRU over the embedded words · real = place smaller than length · H times real · h = H at (b, length
# of b − 1), for all b at once
# </details>


# %% nbgrader={"grade": false, "grade_id": "Encoder", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Encoder(nn.Module):
    """Reads sentences and gives their states.

    Args:
        V: size of the vocabulary.
        D_E: width of a word's vector.
        D_H: width of a state.
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
        """Returns all states H and each sentence's last state h."""
        ### BEGIN SOLUTION
        H, _ = self.rnn(self.embedding(tokens))  # [B, T, D_H]; the padding is read too, but behind the words
        places = torch.arange(tokens.shape[1], device=tokens.device)  # [T]
        real = places < lengths[:, None]  # [B, T]
        H = H * real[:, :, None]  # [B, T, D_H]
        rows = torch.arange(len(tokens), device=tokens.device)  # [B]
        return H, H[rows, lengths - 1]  # each row at its own last word
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_Encoder", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(Encoder)

# %% [markdown]
# ## 3 · A decoder with teacher forcing
#
# The decoder writes the translation word by word: $s_t = g_U([y_{t-1}; c], s_{t-1})$. In training it is fed the right word
# $y_{t-1}$ at each step, whatever it would have written itself: **teacher forcing**. So all its predictions for a given
# translation `y` can be computed at once.
#
# Three layers: `embedding`, an `nn.Embedding(V, D_E)`; `cell`, an `nn.GRUCell(D_E + D_H, D_H)`, called as
# `cell(input, state)`; `out`, an `nn.Linear(D_H, V)`. The context `c` is the first state, $s_0 = c$, **and** a part of the
# input at each step: the word's vector first, then `c`. At step $t$ (counted from 1) the cell is fed $y_{t-1}$, with
# $y_0$ = `START`, and `out` turns the new state into the logits for $y_t$. Padded
# places are computed like all others; the loss will leave them out.
#
# <details><summary>Hint: the idea</summary>
#
# What is predicted at a step is `y[:, t]`; what is fed in is the word before. Feed in what is predicted, and the decoder
# reads the answer.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Each step's input is `torch.cat([…, c], dim=-1)`, `[B, D_E + D_H]`; its logits are `[B, V]`. `T` of them are stacked into
# `[B, T, V]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# state = c, previous = START for all · for each place t: state = cell(word of previous joined with c, state); keep
# out(state); previous = y at t · stack along the second axis
# </details>


# %% nbgrader={"grade": false, "grade_id": "Decoder", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Decoder(nn.Module):
    """Predicts each word of a translation from the words before it and a context.

    Args:
        V: size of the vocabulary.
        D_E: width of a word's vector.
        D_H: width of a state, and of the context.
    """

    def __init__(self, V: int, D_E: int, D_H: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(V, D_E)
        self.cell = nn.GRUCell(D_E + D_H, D_H)
        self.out = nn.Linear(D_H, V)
        ### END SOLUTION

    def forward(self, y: Int[Tensor, "B T"], c: Float[Tensor, "B D_H"]) -> Float[Tensor, "B T V"]:
        """Returns the logits for y_1, …, y_T, given the right words before each."""
        ### BEGIN SOLUTION
        fed = torch.cat([torch.full_like(y[:, :1], START), y[:, :-1]], dim=1)  # [B, T]: y shifted by one place
        s, states = c, []
        for words in fed.unbind(dim=1):
            s = self.cell(torch.cat([self.embedding(words), c], dim=-1), s)  # [B, D_H]
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
# The loss is the mean of $-\log p(y_{bt})$ over all **words** of the batch, where $p$ is the softmax of the logits over the
# vocabulary. Padded places, where `y` is `PAD`, count neither in the sum nor in the number by which it is divided; `STOP` is
# a word like any other. The logits may be large, so take `log_softmax` rather than the logarithm of a softmax. torch's own
# cross-entropy and `nll_loss` are not allowed here.
#
# <details><summary>Hint: the idea</summary>
#
# Compute $-\log p$ at every place, padding too. Then set those of the padding to 0, add up, and divide by the number of
# words.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `log_p` is `[B, T, V]`. `log_p.gather(-1, y[..., None])` picks one number at each place: `[B, T, 1]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# log_p = log-softmax over the last axis · picked = log_p at y · real = y is not PAD · minus the sum of picked where real,
# divided by how many are real
# </details>


# %% nbgrader={"grade": false, "grade_id": "masked_cross_entropy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def masked_cross_entropy(logits: Float[Tensor, "B T V"], y: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    """The mean of -log p over the words of a padded batch. Padding may stand anywhere; the batch has a word.

    Example:
        With all logits 0 every word has p = 1/V, so the loss is log V, however much is padded.
    """
    ### BEGIN SOLUTION
    log_p = logits.log_softmax(dim=-1)  # [B, T, V]
    picked = log_p.gather(-1, y[..., None])[..., 0]  # [B, T], log p of the right word
    real = y != PAD  # [B, T]
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
# Now there is no teacher. `decoder(y, s)` takes the last words `y [B]` and the states `s [B, D_H]` of a batch and gives the
# next words' logits `[B, V]` and the new states. Begin with `START` for every sentence and always take the likeliest word.
#
# The sentences of a batch end at different steps. From the step after its `STOP` a sentence holds `PAD`. As soon as **all**
# have ended, or `max_length` words are written, ask no more and return the words (`torch.long`), without the `START`.
#
# <details><summary>Hint: the idea</summary>
#
# Keep a boolean for each sentence: has it ended? It is True once `STOP` was written, and stays so. Where it was True
# before a step, the new word is `PAD`.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `logits.argmax(dim=-1)` is `[B]`. `torch.where(ended, PAD, words)` replaces some of them. Stack the steps along `dim=1`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# words = START for all, ended = False for all · repeat at most max_length times: ask the decoder; words = likeliest, PAD
# where ended; keep them; ended also where words are STOP; leave if all ended
# </details>


# %% nbgrader={"grade": false, "grade_id": "greedy_decode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def greedy_decode(decoder: Callable, s: Float[Tensor, "B D_H"], max_length: int) -> Int[Tensor, "B L"]:
    """Lets a decoder write, always the likeliest word.

    Example:
        Two sentences, one of two words and one of a single word, come back as [[7, 4, STOP], [5, STOP, PAD]].
    """
    ### BEGIN SOLUTION
    words = torch.full_like(s[:, 0], START, dtype=torch.long)  # [B]
    ended = torch.zeros_like(words, dtype=torch.bool)  # [B]
    written = []
    while len(written) < max_length and not ended.all():
        logits, s = decoder(words, s)  # [B, V], [B, D_H]
        words = torch.where(ended, PAD, logits.argmax(dim=-1))
        ended = ended | (words == STOP)
        written.append(words)
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
# The likeliest first word need not begin the likeliest sentence. Beam search follows `beam_size` hypotheses at a time. It
# translates one sentence; `decoder(y, s)` is called with a batch of hypotheses, or with one at a time as a batch of one, and
# answers as in exercise 5. The `beam_size` may be 1, or larger than `V`.
#
# 1. The beam begins with one hypothesis: no words, score 0, state `s`.
# 2. At each step the candidates are: every hypothesis that has ended with `STOP`, as it is; and every other one continued
#    by each of the `V` words, its score increased by that word's $\log p$ (the log-softmax of the logits).
# 3. The `beam_size` candidates with the highest scores are the new beam (all of them, if there are fewer), each with its own
#    state. Hypotheses that have ended take up places in the beam like others.
# 4. Stop when all hypotheses in the beam have ended, or when `max_length` steps were made. Return the words of the best
#    hypothesis, without `START` but with its `STOP` if it has one, and its score, a tensor without axes.
#
# <details><summary>Hint: the idea</summary>
#
# A hypothesis is three things: its words, its score and its state. Sort anew at each step, and let the state go where its
# words go.
# </details>
# <details><summary>Hint: shapes</summary>
#
# For one hypothesis: `decoder(torch.tensor([word], device=s.device), state[None])` gives logits `[1, V]` and a state
# `[1, D_H]`. `s.new_zeros(())` is a score of 0 with the right type and no axes.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# beam = [([], 0, s)] · repeat max_length times: leave if all ended; candidates = []; for each hypothesis: if ended, add it;
# else ask the decoder, and for each word add (words and this one, score + log p, new state); sort by score, highest first;
# keep beam_size · return the first
# </details>


# %% nbgrader={"grade": false, "grade_id": "beam_search", "locked": false, "schema_version": 3, "solution": true, "task": false}
def beam_search(
    decoder: Callable, s: Float[Tensor, "D_H"], beam_size: int, max_length: int
) -> tuple[Int[Tensor, "L"], Float[Tensor, ""]]:
    """The best translation that a beam of hypotheses finds, and the sum of its words' log-probabilities.

    Example:
        With beam_size = 1 it writes what greedy decoding writes.
    """
    ### BEGIN SOLUTION
    beam = [([], s.new_zeros(()), s)]  # words, score, state
    for _ in range(max_length):
        if all(words and words[-1] == STOP for words, _, _ in beam):
            break
        candidates = []
        for words, score, state in beam:
            if words and words[-1] == STOP:
                candidates.append((words, score, state))  # finished: it only competes
                continue
            last = torch.tensor([words[-1] if words else START], device=s.device)  # [1]
            logits, new_state = decoder(last, state[None])  # [1, V], [1, D_H]
            scores = score + logits[0].log_softmax(dim=-1)  # [V]
            # no other word than the beam_size best of one hypothesis can be among the beam_size best of all
            best, chosen = scores.topk(min(beam_size, len(scores)))
            candidates += [([*words, word], value, new_state[0]) for value, word in zip(best, chosen.tolist())]
        beam = sorted(candidates, key=lambda hypothesis: hypothesis[1].item(), reverse=True)[:beam_size]
    words, score, _ = beam[0]
    return torch.tensor(words, device=s.device), score
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_beam_search", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(beam_search)

# %% [markdown]
# Now put your pieces together: train them for some seconds on short sentences in English and Spanish, and let them
# translate. (The second cell is not graded, nor run when your notebook is. It works as soon as exercises 2 to 6 do; if one of them is unfinished, it says so.)


# %%
def try_it_out(steps=400, D_E=32, D_H=96):
    """Trains encoder and decoder on a small corpus and shows what they write."""
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

        def decoder(y, s):  # the step inside your Decoder, one word at a time
            context = c.expand(len(y), -1)
            s = model[1].cell(torch.cat([model[1].embedding(y), context], dim=-1), s)
            return model[1].out(s), s

        print(" ".join(pair.source), "→", " ".join(pair.target))
        print("   greedy:", " ".join(spanish.decode(greedy_decode(decoder, c, 12)[0])))
        words, score = beam_search(decoder, c[0], beam_size=4, max_length=12)
        print("     beam:", " ".join(spanish.decode(words)), f"(probability {score.exp():.2f})")

    for pair in [lecture("bread", "spanish"), lecture("sky", "spanish"), *corpus("spanish", 4, 4, 6, seed=7)]:
        show(pair)


# %% tags=["play"]
try:
    try_it_out()
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_bottleneck", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 7 · One vector for a sentence
#
# Answer in three to six sentences, in the cell below:
#
# 1. Everything the decoder knows of the source sentence is the vector $c$. What does the lesson's experiment show about long
#    sentences, and how does the width of the state matter? Why would a wider state alone not be a good way out?
# 2. In training the decoder is fed the right words. What is different when it translates, and what can go wrong because of
#    that?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: the bottleneck.** Quality falls with the length of the sentence, and falls later for wider states: a vector of
# a fixed size has room for a limited number of words. A wider state moves the limit but does not remove it: there is always a
# longer sentence; the number of weights grows with the square of the width, and short sentences pay for it too. (½ for the
# observation, ½ for why width is no way out. Naming that the way through many steps is also hard to learn is as good.)
#
# **1 point: exposure to its own words.** When it translates it is fed its own words, which may be wrong. It has never seen
# such beginnings in training, so one mistake can lead to more: errors add up along the sentence. (½ for naming the
# difference, ½ for the consequence.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_bottleneck", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The longer the sentence, the lower the quality, and the narrower the state, the earlier it falls: one vector of fixed size
# has to hold every word of the sentence, so it runs out of room. A wider state only moves that point to somewhat longer
# sentences, while its weights grow with the square of the width, for short sentences as well. When the model translates, it
# is fed its own words instead of the right ones. After a wrong word it is in a situation that never occurred in training, so
# one mistake is likely to bring more.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.

# %%
progress()
