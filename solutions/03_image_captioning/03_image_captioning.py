# %% [markdown]
# # Assignment 03: image captioning with attention
#
# You build the parts of Show, Attend and Tell (Xu et al., 2015): the feature map of a CNN as a collection of vectors and
# back, attention over it, the first state, one step with its gate, and the doubly stochastic penalty. Then you put a
# captioner together, check its methods, and train it. It is judged by the captions that it writes for new scenes.
#
# **You will be able to**
#
# - turn a feature map into vectors for attention, and attention weights into maps over the image, without mixing up cells;
# - write attention over a grid, and the gated step of a caption decoder;
# - compute the doubly stochastic penalty for a padded batch of captions;
# - assemble a captioner, check it method by method, train it with teacher forcing, and let it write with greedy decoding.
#
# **You need** [lesson 03](../../notebooks/03_image_captioning.ipynb), and from
# [lesson 01](../../notebooks/01_rnn_seq2seq.ipynb) teacher forcing and greedy decoding. Exercises 1 to 6 and 8 do not use
# each other's code; exercise 7 uses exercises 1, 4 and 5. The [glossary](../../docs/glossary.md) explains each term in one
# line.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · a grid as vectors | 2 | ●○○ | 10 |
# | 2 · weights as maps | 1 | ●○○ | 5 |
# | 3 · attention over a grid | 3 | ●●○ | 20 |
# | 4 · the first state | 2 | ●○○ | 10 |
# | 5 · one token of a caption | 3 | ●●● | 30 |
# | 6 · the doubly stochastic penalty | 3 | ●●○ | 15 |
# | 7 · a captioner, trained | 4 | ●●● | 40 |
# | 8 · stretch: a gate that compares | stretch | ●●○ | 15 |
# | 9 · a written answer | 2 | ●●○ | 10 |
#
# **Time** about 195 minutes in all, plus about 15 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` with your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are.
#
# **Shapes.** A grid `G` is `[B, D, H, W]`, as torch's convolutions give it: in each of its `H` rows and `W` columns there is
# a cell with a vector of `D` features. As a collection of vectors it is `X`, `[B, L, D]` with `L = H*W` cells.

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
# - Numbers may be 0.
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Where a shape begins with `*B`, there may be no batch axis, one, or several.
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
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from utils.check import check
from utils.device import device
from utils.data.scenes import LONGEST, images, scenes, vocabulary, words
from utils.models.training import train
from utils.data.translation import PAD, START, STOP
from utils.models.grid_cnn import grids, pretrained_cnn
from utils.progress import progress

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()

# %% [markdown]
# ## 1 · A grid as vectors
#
# A CNN leaves a grid `G` of feature vectors. Attention needs a collection of vectors: one for each cell, row by row, so that
# cell $(h, w)$ becomes vector number $h \cdot W + w$.
#
# <details><summary>Hint: the idea</summary>
#
# The axis of the features has to move to the end, and rows and columns have to be joined into one axis. `reshape` alone
# never changes the order of the numbers.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[B, D, H, W]` → `[B, D, H*W]` → `[B, H*W, D]`, or `[B, D, H, W]` → `[B, H, W, D]` → `[B, H*W, D]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Choose one of the two ways above. Each has one step that joins two neighbouring axes and one that moves axes.
# 2. Find torch's functions for the two steps.
# 3. Test the result: `X[0, W]` should hold the features of cell $(1, 0)$.
# </details>


# %% nbgrader={"grade": false, "grade_id": "grid_to_vectors", "locked": false, "schema_version": 3, "solution": true, "task": false}
def grid_to_vectors(G: Float[Tensor, "B D H W"]) -> Float[Tensor, "B H*W D"]:
    """The cells of each grid as vectors, row by row.

    Returns:
        The vectors X [B, H*W, D]: X[b, h*W + w] is G[b, :, h, w].

    Example:
        A grid with one feature and the rows [[1, 2], [3, 4]], G = [[[[1, 2], [3, 4]]]], gives X =
        [[[1], [2], [3], [4]]].
    """
    ### BEGIN SOLUTION
    return G.flatten(2).mT  # [B, D, H, W] -> [B, D, H*W] -> [B, H*W, D]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_grid_to_vectors", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(grid_to_vectors)

# %% [markdown]
# ## 2 · Weights as maps
#
# Attention gives a weight for each cell, in the order of exercise 1. To draw the weights over the image we need a map again,
# with `height` rows. The number of columns follows from the number of weights.
#
# <details><summary>Hint: the idea</summary>
#
# The weights are in row order already, so only the shape has to change. `unflatten` divides one axis into two.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[*B, H*W]` → `[*B, H, W]`; any number of axes may stand in front.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Work out the number of columns, or let torch do it.
# 2. Divide the last axis into rows and columns. Which of the two comes first?
# </details>


# %% nbgrader={"grade": false, "grade_id": "weights_to_maps", "locked": false, "schema_version": 3, "solution": true, "task": false}
def weights_to_maps(A: Float[Tensor, "*B H*W"], height: int) -> Float[Tensor, "*B H W"]:
    """The attention weights over the cells of a grid, as maps.

    Args:
        A: a weight for each cell, row by row.
        height: the number of rows of the grid, H.

    Returns:
        The maps [*B, H, W]: the weight of cell (h, w) stands in row h and column w.

    Example:
        A = [0.1, 0.2, 0.3, 0.4] and height = 2 give [[0.1, 0.2], [0.3, 0.4]].
    """
    ### BEGIN SOLUTION
    return A.unflatten(-1, (height, -1))  # [*B, H*W] -> [*B, H, W]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_weights_to_maps", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(weights_to_maps)

# %% [markdown]
# ## 3 · Attention over a grid
#
# A decoder state $s$ attends to the cells of a grid with additive scores: $E_{hw} = \tanh(s W + g_{hw} U) \cdot v$, where
# $g_{hw}$ is the vector of cell $(h, w)$. The attention weights are **one** softmax over all cells of an image, and the
# context vector is the sum of the cells' vectors, multiplied by their weights. Return both, with the weights as a map.
#
# <details><summary>Hint: the idea</summary>
#
# Flatten the grid, attend as in lesson 02, and turn the weights into a map. Or keep the grid, and make sure that the softmax
# runs over both axes together.
# </details>
# <details><summary>Hint: shapes</summary>
#
# With the cells as `[B, H*W, D]`: the mapped states `[B, 1, D_A]` and the mapped cells `[B, H*W, D_A]` can be added. Scores and
# weights are `[B, H*W]`, and the context vectors are `[B, D]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Turn the grid into vectors.
# 2. Map states and cells to `D_A` numbers each, add them for every pair of a state and a cell, and apply the tanh.
# 3. Reduce the `D_A` numbers to one score for each cell.
# 4. Apply one softmax over all cells of an image.
# 5. Compute the context vectors from the weights and the vectors of step 1.
# 6. Turn the weights into maps.
# </details>


# %% nbgrader={"grade": false, "grade_id": "grid_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def grid_attention(
    s: Float[Tensor, "B D_S"],
    G: Float[Tensor, "B D H W"],
    W: Float[Tensor, "D_S D_A"],
    U: Float[Tensor, "D D_A"],
    v: Float[Tensor, "D_A"],
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B H W"]]:
    """The context vectors of decoder states that attend to a grid, and the attention weights.

    Args:
        s: decoder states, one for each image.
        G: the feature maps.
        W: the weights from a state to the hidden layer of the score.
        U: the weights from a cell to this hidden layer.
        v: the weights from the hidden layer to the score.

    Returns:
        c [B, D]: the context vectors.
        A [B, H, W]: the attention weights as maps; each map sums to 1.

    Example:
        With v = 0 all scores are 0, so every weight is 1/(H*W), and the context vector is the mean
        of the cells.
    """
    ### BEGIN SOLUTION
    X = G.flatten(2).mT  # [B, H*W, D]
    e = torch.tanh((s @ W)[:, None] + X @ U) @ v  # [B, 1, D_A] + [B, H*W, D_A] -> [B, H*W]
    a = e.softmax(dim=-1)  # over all cells together
    c = (a[:, None] @ X)[:, 0]  # [B, 1, H*W] @ [B, H*W, D] -> [B, D]
    return c, a.unflatten(-1, G.shape[2:])
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_grid_attention", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(grid_attention)

# %% [markdown]
# ## 4 · The first state
#
# The decoder starts from a rough summary of the image, the mean of all cells: $s_0 = \tanh(\mathrm{linear}(\bar g))$ with
# $\bar g = \frac{1}{HW}\sum_{h,w} g_{hw}$. The layer is called `linear`, and it is given.
#
# <details><summary>Hint: the idea</summary>
#
# Three operations follow each other: the mean over the grid, the layer, the tanh.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[B, D, H, W]` → `[B, D]` → `[B, D_S]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Average over rows and columns. Which axes of `G` are these?
# 2. Map the mean to the width of a state.
# 3. Bound the numbers to the range between −1 and 1.
# </details>


# %% nbgrader={"grade": false, "grade_id": "InitialState", "locked": false, "schema_version": 3, "solution": true, "task": false}
class InitialState(nn.Module):
    """Computes the first state of a caption decoder from a feature map.

    Args:
        D: number of features of a cell.
        D_S: width of a decoder state.
    """

    def __init__(self, D: int, D_S: int):
        super().__init__()
        self.linear = nn.Linear(D, D_S)

    def forward(self, G: Float[Tensor, "B D H W"]) -> Float[Tensor, "B D_S"]:
        """The first states.

        Args:
            G: the feature maps.

        Returns:
            The states s_0 [B, D_S], with numbers between -1 and 1.

        Example:
            With D = D_S = 1, the weight 1 and the bias 0, the grid [[0, 1], [1, 2]] has the mean 1,
            so s_0 is tanh(1) ≈ 0.76.
        """
        ### BEGIN SOLUTION
        return torch.tanh(self.linear(G.mean(dim=(2, 3))))  # [B, D, H, W] -> [B, D] -> [B, D_S]
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_InitialState", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(InitialState)

# %% [markdown]
# ## 5 · One token of a caption
#
# Write one step of the decoder. The state before the step, $s$, attends to the cells: the scores are $e_i = v(\tanh(W(s) +
# U(x_i)))$, a softmax gives the weights, and the context vector is $c = \sum_i a_i x_i$. A **gate** decides how much of the
# context vector the step receives: $\beta = \sigma(\mathrm{gate}(s))$ is one number for each caption, and $z = \beta c$. (For
# a token such as *of* the decoder needs no image.) Then the cell takes its step with the input `[embedding(y); z]`, and the
# logits are `out([s_new; z])`.
#
# The module has seven layers with these names: `embedding`, an `nn.Embedding` of $V$ tokens with $D_E$ numbers each; three
# `nn.Linear` **without bias**, `W` from $D_S$ to $D_A$, `U` from $D$ to $D_A$ and `v` from $D_A$ to 1; `gate`, an `nn.Linear`
# from $D_S$ to 1; `cell`, an `nn.GRUCell` with inputs of width $D_E + D$ and states of width $D_S$; `out`, an `nn.Linear` from
# $D_S + D$ to $V$.
#
# <details><summary>Hint: the idea</summary>
#
# The step is that of lesson 02, without a mask, and with the gate between context vector and cell. Both the cell and the
# output layer receive $z$.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The mapped states `[B, D_A]` need a new axis before they can be added to the mapped cells `[B, L, D_A]`. The layer `v` gives
# `[B, L, 1]`. The gate is `[B, 1]` and multiplies the context vectors `[B, D]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Make the layers in `__init__`, with the names and sizes of the text.
# 2. Compute a score for each cell from the state before the step, `[B, L]`, and the weights from the scores.
# 3. Compute the context vector, and let the gate act on it.
# 4. Let the cell compute the new state from its input and the state before the step.
# 5. Compute the logits from the new state and the gated context vector.
# </details>


# %% nbgrader={"grade": false, "grade_id": "CaptionStep", "locked": false, "schema_version": 3, "solution": true, "task": false}
class CaptionStep(nn.Module):
    """One step of a caption decoder that attends to the cells of a grid, with a gate on the context
    vector.

    Args:
        V: number of tokens in the vocabulary.
        D_E: width of an embedding.
        D: number of features of a cell.
        D_S: width of a decoder state.
        D_A: width of the hidden layer of the scores.
    """

    def __init__(self, V: int, D_E: int, D: int, D_S: int, D_A: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.gate = nn.Linear(D_S, 1)
        self.cell = nn.GRUCell(D_E + D, D_S)
        self.out = nn.Linear(D_S + D, V)
        ### END SOLUTION

    def forward(
        self, y: Int[Tensor, "B"], s: Float[Tensor, "B D_S"], X: Float[Tensor, "B L D"]
    ) -> tuple[Float[Tensor, "B V"], Float[Tensor, "B D_S"], Float[Tensor, "B L"]]:
        """The logits of the next tokens, the new states, and the attention weights.

        Args:
            y: the tokens that are fed in.
            s: the states before the step.
            X: the cells of each grid as vectors.

        Returns:
            logits [B, V]: for the next token of each caption.
            s_new [B, D_S]: the states after the step.
            a [B, L]: the attention weights; each row sums to 1.

        Example:
            A grid with a single cell, L = 1, leaves the softmax no choice: a = [[1]] in a batch of
            one.
        """
        ### BEGIN SOLUTION
        e = self.v(torch.tanh(self.W(s)[:, None] + self.U(X)))[..., 0]  # [B, L]
        a = e.softmax(dim=-1)  # [B, L]
        c = (a[:, None] @ X)[:, 0]  # [B, 1, L] @ [B, L, D] -> [B, D]
        z = torch.sigmoid(self.gate(s)) * c  # [B, 1] * [B, D] -> [B, D]
        s_new = self.cell(torch.cat([self.embedding(y), z], dim=-1), s)  # [B, D_S]
        return self.out(torch.cat([s_new, z], dim=-1)), s_new, a
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_CaptionStep", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(CaptionStep)

# %% [markdown]
# ## 6 · The doubly stochastic penalty
#
# For each token the attention weights sum to 1 over the cells. Xu et al. (2015) also want the decoder to attend to each
# *cell* about once over a whole caption. They add $\sum_i (1 - \sum_t a_{ti})^2$ to the loss of each caption; average it over
# the batch. Padding does not count: `real` is True at tokens and False at padding.
#
# <details><summary>Hint: the idea</summary>
#
# There are two sums. The inner one runs over the tokens of a caption, the outer one over the cells.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[B, T, L]` → sum over `T` → `[B, L]` → sum over `L` → `[B]` → mean → a tensor without axes. `real` is `[B, T]` and needs a
# new axis.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Set the weights of the padding to 0.
# 2. Compute the total weight that each cell receives over its caption.
# 3. Compute the squared distance of each total from 1, and reduce it to one number for each caption.
# 4. Average over the captions.
# </details>


# %% nbgrader={"grade": false, "grade_id": "doubly_stochastic_penalty", "locked": false, "schema_version": 3, "solution": true, "task": false}
def doubly_stochastic_penalty(A: Float[Tensor, "B T L"], real: Bool[Tensor, "B T"]) -> Float[Tensor, ""]:
    """The penalty for cells that do not receive a total weight of 1 over a caption.

    Args:
        A: attention weights, for each token of each caption.
        real: True at tokens, False at padding.

    Returns:
        The penalty, a tensor without axes: a sum over the cells, and a mean over the captions.

    Example:
        Two tokens attend to the first and to the second of three cells, A =
        [[[1, 0, 0], [0, 1, 0]]]; nothing is padding. The third cell receives no weight, so the
        penalty is 1.
    """
    ### BEGIN SOLUTION
    received = (A * real[..., None]).sum(dim=1)  # [B, T, L] * [B, T, 1] -> [B, L], the total weight of each cell
    return (1 - received).square().sum(dim=-1).mean()  # [B, L] -> [B] -> a tensor without axes
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_doubly_stochastic_penalty", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(doubly_stochastic_penalty)

# %% [markdown]
# ## 7 · A captioner, trained
#
# Now put the pieces together. The next cell makes scenes with captions, and loads the CNN of lesson 03, which was trained
# there to classify single objects. Its feature maps of $12 \times 12$ cells are averaged to $6 \times 6$ cells, so that training
# the captioner is quick.

# %%
some = scenes(5000, seed=1)
captions = words(some).to(DEVICE)  # [5000, 12]
photos = images(some)  # [5000, 3, 48, 48]
cnn = pretrained_cnn()


def small_grids(pictures: Float[Tensor, "B 3 48 48"]) -> Float[Tensor, "B 64 6 6"]:
    """The feature maps of images, averaged to 6 by 6 cells."""
    return F.avg_pool2d(grids(cnn, pictures), 2)


known = small_grids(photos)
print(" ".join(some[0].caption), *captions[0].tolist())

# %% [markdown]
# **First the model.** The layers of the captioner are given, and so is `located`, which adds a positional encoding to each
# cell. Write the two methods `forward` and `write`. Both begin in the same way: the located grid gives the vectors to which
# every step attends, and it gives the first state.
#
# - `forward(G, Y)` is for training, with teacher forcing. The first step is fed `[START]`, each later step the correct token
#   before the one that it predicts. The method gives the logits `[B, T, V]` for all tokens of `Y`.
# - `write(G)` is for use, with greedy decoding. The first step is fed `[START]`, each later step the most likely token of the
#   step before, for `LONGEST` tokens. The method gives the tokens `[B, LONGEST]`; after a `[STOP]` they are all `[PAD]`.
#
# <details><summary>Hint: the idea</summary>
#
# Both methods prepare the vectors and the first state, and then call `self.step` in a loop. They differ in what they feed and
# in what they keep. In `write`, remember for each caption whether it has ended.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The located grid is `[B, D, H, W]`, the vectors are `[B, L, D]`, and the first state is `[B, D_S]`. Each step is fed tokens
# `[B]` and gives logits `[B, V]`. The logits of `T` steps, or the tokens of `LONGEST` steps, are stacked along `dim=1`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# Both methods:
#
# 1. Add the positional encoding to the grid.
# 2. Compute the vectors and the first state from it; exercises 1 and 4 have the parts.
#
# Then `forward`:
#
# 3. Take a step for each token of `Y`. Decide what it is fed: exercise 3 of assignment 01 and exercise 7 of assignment
#    02 ask the same question.
# 4. Keep the logits of each step, carry on the state, and stack the logits.
#
# Then `write`:
#
# 3. Take a step, and choose the most likely tokens, but `[PAD]` for captions that have ended before.
# 4. Keep the tokens, update which captions have ended, carry on the state, and repeat. Stack the tokens.
# </details>


# %% nbgrader={"grade": false, "grade_id": "Captioner", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Captioner(nn.Module):
    """Writes captions for feature maps.

    Args:
        D: number of features of a cell.
        D_S: width of a decoder state.
        D_E: width of an embedding.
        D_A: width of the hidden layer of the scores.
    """

    def __init__(self, D: int = 64, D_S: int = 64, D_E: int = 32, D_A: int = 32):
        super().__init__()
        self.place = nn.Linear(2, D)
        self.begin = InitialState(D, D_S)
        self.step = CaptionStep(len(vocabulary()), D_E, D, D_S, D_A)

    def located(self, G: Float[Tensor, "B D H W"]) -> Float[Tensor, "B D H W"]:
        """The grid with a positional encoding: to each cell a vector is added that depends on its
        row and column.
        """
        rows, columns = (torch.linspace(-2, 2, n, device=G.device) for n in G.shape[2:])
        positions = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), dim=-1)  # [H, W, 2]
        return G + self.place(positions).permute(2, 0, 1)  # [B, D, H, W] + [D, H, W]

    def forward(self, G: Float[Tensor, "B D H W"], Y: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """The logits for the tokens of Y, each after the correct tokens before it.

        Args:
            G: the feature maps.
            Y: the correct captions.

        Returns:
            The logits [B, T, V]: those at position t are for the token Y[:, t].

        Example:
            The last token of a caption is never fed in: Y = [[5, 6, 2]] and Y = [[5, 6, 7]] give
            the same logits.
        """
        ### BEGIN SOLUTION
        G = self.located(G)
        X, s = grid_to_vectors(G), self.begin(G)  # [B, L, D], [B, D_S]
        found = []
        for fed in F.pad(Y, (1, 0), value=START)[:, :-1].unbind(dim=1):  # [START], y_1, …, each [B]
            logits, s, _ = self.step(fed, s, X)
            found.append(logits)
        return torch.stack(found, dim=1)
        ### END SOLUTION

    @torch.no_grad()
    def write(self, G: Float[Tensor, "B D H W"]) -> Int[Tensor, "B T"]:
        """The captions that the decoder writes if it takes the most likely token at each step.

        Args:
            G: the feature maps.

        Returns:
            The tokens [B, LONGEST]: each caption, its [STOP], and [PAD] at all later positions.

        Example:
            If the most likely tokens are 7, 4, [STOP], 9, 3, …, the caption is
            [7, 4, STOP, PAD, …, PAD].
        """
        ### BEGIN SOLUTION
        G = self.located(G)
        X, s = grid_to_vectors(G), self.begin(G)
        y = torch.full((len(G),), START, device=G.device)  # [B]
        ended = torch.zeros_like(y, dtype=torch.bool)  # [B]
        written = []
        for _ in range(LONGEST):
            logits, s, _ = self.step(y, s, X)
            y = logits.argmax(dim=-1).masked_fill(ended, PAD)
            ended |= y == STOP
            written.append(y)
        return torch.stack(written, dim=1)
        ### END SOLUTION


# %% [markdown]
# **Then check each method before you train.** Training takes half a minute, and it raises no error if a method feeds the wrong
# tokens. The second and the third of the next cells, one for each method, find such mistakes at once; they are not graded. In
# place of your `CaptionStep` they use a `ScriptedStep`. It notes what it is given, and its most likely tokens follow a script,
# so that we know what should come out.


# %%
class ScriptedStep(nn.Module):
    """Stands in for a `CaptionStep`: its most likely tokens follow a script, and it notes what it
    is given.
    """

    def __init__(self, script):
        super().__init__()
        self.script = script  # [B, T]
        self.fed, self.states, self.vectors = [], [], []

    def forward(self, y, s, X):
        best = self.script[:, len(self.fed) % self.script.shape[1]]  # [B]
        self.fed.append(y.tolist())
        self.states.append(s)
        self.vectors.append(X)
        logits = F.one_hot(best, len(vocabulary())).to(s)  # [B, V]
        return logits, s + 1, X.mean(dim=-1).softmax(dim=-1)  # each step adds 1 to the states


def scripted(script):
    """A captioner with a scripted step, and a feature map for each row of the script."""
    model = Captioner().to(DEVICE)
    model.step = ScriptedStep(script)
    return model, torch.rand(len(script), 64, 6, 6).to(DEVICE)


def same(what, came, wanted):
    assert came == wanted, f"{what} should be {wanted}; here it is {came}"


def check_vectors_and_states(model, G):
    """What each step should be given besides the tokens, in both methods."""
    located = model.located(G)  # [B, D, H, W]
    s_0 = model.begin(located)  # [B, D_S]
    for n, (X, s) in enumerate(zip(model.step.vectors, model.step.states)):
        same("the shape [B, L, D] of the vectors that a step is given", list(X.shape), [len(G), 36, 64])
        assert torch.allclose(X[:, 7], located[:, :, 1, 1], atol=1e-5), (
            "vector 7 should be cell (1, 1) of the located grid: call `located` first, then make vectors as in exercise 1"
        )
        whose = "the first state, made from the located grid" if n == 0 else "the state that the last step has returned"
        right = s.shape == s_0.shape and torch.allclose(s, s_0 + n, atol=1e-5)
        assert right, f"step {n} (counted from 0) should be given {whose}"


def report(name, check_method):
    """Runs one of the two checks, and prints what it has found."""
    try:
        check_method()
        print(f"✓ {name}: each step is given the right tokens, vectors and states, and the result is right")
    except NotImplementedError:
        print(f"not yet: {name} is unfinished, or an exercise that it uses (1, 4 or 5)")
    except AssertionError as problem:
        print(f"✗ {name}: {problem}")


# %%
def check_forward():
    script = torch.tensor([[7, 8, 9, 10], [11, 3, 4, 5]], device=DEVICE)  # [B, T]
    Y = torch.tensor([[5, 6, STOP, PAD], [7, 8, 9, STOP]], device=DEVICE)  # [B, T]
    model, G = scripted(script)
    logits = model(G, Y)
    for b, caption in enumerate(Y.tolist()):
        came = [tokens[b] for tokens in model.step.fed]
        same(f"what the steps are fed for the caption {caption}", came, [START, *caption[:-1]])
    check_vectors_and_states(model, G)
    same("the shape [B, T, V] of the logits", list(logits.shape), [*Y.shape, len(vocabulary())])
    assert logits.argmax(dim=-1).equal(script), "logits[:, t] should be the logits that step t has returned"


report("forward", check_forward)


# %%
def check_write():
    script = torch.arange(3, 3 + LONGEST, device=DEVICE).repeat(2, 1)  # [B, LONGEST]
    script[0, 2] = script[1, 9] = STOP  # the first caption has 2 words, the second has 9
    model, G = scripted(script)
    written = model.write(G)
    came = [tokens[1] for tokens in model.step.fed[:10]]
    same("what the first ten steps are fed for caption 1", came, [START, *script[1, :9].tolist()])
    check_vectors_and_states(model, G)
    same("the shape [B, LONGEST] of the captions", list(written.shape), list(script.shape))
    for b, length in enumerate((2, 9)):
        wanted = [*script[b, :length].tolist(), STOP] + [PAD] * (LONGEST - length - 1)
        same(f"caption {b}, in which [STOP] is 2 and [PAD] is 0,", written[b].tolist(), wanted)


report("write", check_write)

# %% [markdown]
# **Then train the captioner** (about half a minute). The loop is ready. You may change the number of steps, the learning rate,
# the widths and whatever else helps. If the loss falls to almost zero within a few steps and the captions are wrong
# nevertheless, check what `forward` feeds: is it the token that should be predicted?

# %%
torch.manual_seed(0)
seeded = torch.Generator().manual_seed(0)
STEPS = 900


def caption_loss(model, chosen):
    G, Y = known[chosen.to(DEVICE)], captions[chosen.to(DEVICE)]  # [B, D, H, W], [B, T]
    return F.cross_entropy(model(G, Y).flatten(0, 1), Y.flatten(), ignore_index=PAD)


try:
    captioner = Captioner().to(DEVICE)
    chosen = (torch.randint(len(known), (64,), generator=seeded) for _ in range(STEPS))
    curve = train(captioner, chosen, caption_loss, steps=STEPS, rate=8e-3)
    print(f"loss at the start {curve[0]:.2f}, at the end {sum(curve[-50:]) / 50:.2f}")
except NotImplementedError:
    print("not yet: the captioner is unfinished, or an exercise that it uses")

# %% [markdown]
# **Finally let it write.** `caption_scenes` takes images and gives their captions, written by your trained captioner. It is
# judged on images that the captioner has never seen. A caption counts as right if every token is right: you earn 2 points if
# half of the captions are right, and 4 points if three in four are.
#
# <details><summary>Hint: the idea</summary>
#
# The captioner takes feature maps, not images. They must come from the same function as those on which it was trained.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[B, 3, 48, 48]` → `[B, 64, 6, 6]` → `[B, 12]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Compute the feature maps of the images.
# 2. Let the captioner write. (It has to be in eval mode; `train` leaves it so.)
# 3. Return the tokens on the device of the images.
# </details>


# %% nbgrader={"grade": false, "grade_id": "caption_scenes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def caption_scenes(images: Tensor) -> Int[Tensor, "B T"]:
    """The captions of images, written by the trained captioner.

    Args:
        images: images of scenes, [B, 3, 48, 48], with values from 0 to 1.

    Returns:
        The tokens [B, 12]: each caption, its [STOP], and [PAD] at all later positions.

    Example:
        For `photos[:1]` the result should be `captions[:1]`, which the first cell of this exercise
        prints.
    """
    ### BEGIN SOLUTION
    return captioner.write(small_grids(images)).to(images.device)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_caption_scenes", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(caption_scenes)

# %% [markdown]
# The next cell shows captions of six new scenes.

# %% tags=["play"]
try:
    for scene, said in zip(scenes(6, seed=5), caption_scenes(images(scenes(6, seed=5)))):
        told = " ".join(vocabulary().words[number] for number in said.tolist() if number not in (PAD, STOP))
        print("right" if told == " ".join(scene.caption) else "WRONG", "·", told)
except NotImplementedError:
    print("not yet: an exercise above is unfinished")

# %% [markdown]
# ## 8 · Stretch: a gate that compares
#
# This exercise earns no points. It leads to the paper *Knowing When to Look* (Lu et al., 2017). The decoder of this paper compares
# the image with what it remembers, and decides by this how much of the image it needs.
#
# A gate lets the decoder write a token such as *of* without the image. The gate of exercise 5 depends on the state $s$ alone,
# so it opens or closes without regard to what the cells have to offer. Lu et al. give the decoder one more vector to which it
# can attend, beside those of the cells: the **visual sentinel** $r$ holds what the decoder remembers. (They compute it from the
# memory of the decoder's LSTM; here $r$ is given, and is as wide as a cell's vector.) The sentinel is scored like a cell, but with
# a matrix $U_r$ of its own, and **one** softmax distributes a weight of 1 over all $L + 1$ scores:
#
# $$e_i = \tanh(s W + x_i U) \cdot v, \qquad e_r = \tanh(s W + r\, U_r) \cdot v, \qquad
# (a_1, \dots, a_L, a_r) = \mathrm{softmax}(e_1, \dots, e_L, e_r)$$
#
# $$c = \sum_{i=1}^{L} a_i x_i + a_r\, r, \qquad \beta = \sum_{i=1}^{L} a_i$$
#
# So $\beta = 1 - a_r$ is again a gate, one number between 0 and 1 for each image: the share of the weight that the cells get. If
# some cell scores far above the sentinel, $\beta$ is near 1. If the sentinel scores far above all cells, $\beta$ is near 0. (In
# the paper $\beta$ is the share of the sentinel.) Return $c$ and $\beta$.
#
# <details><summary>Hint: the idea</summary>
#
# To the softmax and to the weighted sum the sentinel is one more vector. Only the score treats it differently.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The cells give `[B, L, D_A]` inside the tanh. The sentinel, `[B, D]`, gives `[B, D_A]`, and needs a new axis to stand beside
# them: `[B, L + 1, D_A]` in all. Scores and weights are `[B, L + 1]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. Map states, cells and sentinels to `D_A` numbers each.
# 2. Compute the scores of cells and sentinel, and join them.
# 3. Apply one softmax.
# 4. Compute the weighted sum of cells and sentinel, in the order of the scores.
# 5. Which of the weights belong to the image?
# </details>


# %% nbgrader={"grade": false, "grade_id": "gated_context", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gated_context(
    s: Float[Tensor, "B D_S"],
    X: Float[Tensor, "B L D"],
    r: Float[Tensor, "B D"],
    W: Float[Tensor, "D_S D_A"],
    U: Float[Tensor, "D D_A"],
    U_r: Float[Tensor, "D D_A"],
    v: Float[Tensor, "D_A"],
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B"]]:
    """The context vectors of decoder states that attend to cells and to a sentinel, and the gates.

    Args:
        s: decoder states, one for each image.
        X: the cells of each grid as vectors.
        r: the sentinels, one for each image.
        W: the weights from a state to the hidden layer of the score.
        U: the weights from a cell to this hidden layer.
        U_r: the weights from a sentinel to this hidden layer.
        v: the weights from the hidden layer to the score.

    Returns:
        c [B, D]: the context vectors, mixed from the cells and the sentinel.
        beta [B]: the sum of the cells' weights, without the sentinel's.

    Example:
        With v = 0 all scores are 0. For X = [[[1], [2]]] and r = [[6]] the three weights are 1/3
        each, so c = [[3]] and beta = [2/3].
    """
    ### BEGIN SOLUTION
    projected = torch.cat([X @ U, (r @ U_r)[:, None]], dim=1)  # [B, L + 1, D_A], the sentinel last
    e = torch.tanh((s @ W)[:, None] + projected) @ v  # [B, L + 1]
    a = e.softmax(dim=-1)  # cells and sentinel compete
    c = (a[:, None] @ torch.cat([X, r[:, None]], dim=1))[:, 0]  # [B, 1, L + 1] @ [B, L + 1, D] -> [B, D]
    return c, a[:, :-1].sum(dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_gated_context", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(gated_context)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_where_it_looks", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9 · What attention weights tell
#
# Answer in three to six sentences, in the cell below:
#
# 1. Soft attention mixes all cells by their weights; hard attention draws one cell at random, with the weights as
#    probabilities. Why can a model with soft attention be trained by gradient descent alone, and a model with hard attention
#    not?
# 2. A doctor is shown a caption for an X-ray image, and the attention map of its most important token, which lies on the lung.
#    What does the map tell the doctor, and what does it not tell?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: soft and hard.** Half a point for soft attention: the context vector is a smooth function of the scores, so a
# gradient passes through the sum and the weights. Half a point for hard attention: the drawn cell does not change when a score
# changes a little, so no gradient passes through the draw, and it has to be estimated, for example with REINFORCE, which is
# noisy.
#
# **1 point: what a map tells.** Half a point for what it tells: from which cells the context vector of this token was mixed,
# and with which weights. Half a point for what it does not tell: that these cells are the reason for the token. Each cell
# depends on its whole receptive field, the token may come from the decoder's state or from the tokens before it, and other
# weights might lead to the same token (one of these is enough).
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_where_it_looks", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# In soft attention the context vector is a sum whose weights change smoothly with the scores, so the loss has a gradient with
# respect to the scores. A drawn cell does not change at all when a score changes a little, until it suddenly does. No gradient
# passes through the draw, and one has to estimate it from many draws, which is noisy. The map tells from which cells the
# context vector was mixed, and with which weights. It does not tell why the token was chosen: the vector of a cell also depends
# on the image around the cell, and the token may come from the decoder's state or from what usually follows in such reports.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The next cell shows the points of the checks above, as they were when you last ran them. `progress("all")` counts every
# unit that you have begun.
#
# The [milestone](../../milestones/03_my_translator.ipynb) puts what you solved in 01 to 03 to work: a translator and a
# captioner, made of your own code. It is optional and earns no points.

# %%
progress()
