# %% [markdown]
# # Assignment 16: vision and language
#
# You write what brings pictures and texts together. Five exercises belong to training: the contrastive loss of CLIP,
# BLIP's version of it with soft targets and a queue, the probabilities with which hard negatives are drawn, the batch
# of right and wrong pairs for the matching head, and the masks by which one text network works in three modes. Two
# more use what such a model has learned, for a classifier that is made of prompts and for a filter that cleans
# captions. The stretch is the loss of SigLIP, in which pairs do not compete.
#
# **Goals.** You can compute a contrastive loss in both directions from vectors of any length, mix soft targets from
# slow copies of the encoders and take a queue as further negatives without training either of them, draw hard
# negatives that are never right captions, put together the pairs that a matching head is trained on, say who may
# attend to what in each mode of BLIP's text network, classify pictures by prompts, decide which captions are kept,
# and judge from what a model is trained against what it will confuse.
#
# **What you need.** [Lesson 16](../../notebooks/16_vision_language.ipynb), the masks of assignment 07 and the
# cross-entropy of assignment 11. No exercise asks for an `nn.Module`. The [glossary](../../docs/glossary.md) has all
# terms and symbols.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · the symmetric contrastive loss | 3 | ●●○ | 20 |
# | 2 · soft targets and a queue | 3 | ●●● | 30 |
# | 3 · hard negatives | 3 | ●●○ | 20 |
# | 4 · a batch of right and wrong pairs | 2 | ●○○ | 10 |
# | 5 · one network, three modes | 3 | ●●○ | 20 |
# | 6 · a classifier made of prompts | 2 | ●○○ | 10 |
# | 7 · a filter for captions | 2 | ●●○ | 15 |
# | 8 · every pair a question of its own | stretch | ●●○ | 15 |
# | 9 · a written answer | 2 | ●●○ | 20 |
#
# It takes about 145 minutes in all, plus about 15 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. No exercise needs another exercise's
# code.
#
# **Shapes.** A batch has `N` pairs: picture $i$ and text $i$ belong together. In a table of scores the rows are
# pictures and the columns are texts. `D` is the width of the vectors, and `K` is the number of vectors in a queue.
# `M` is the number of cells that a picture encoder leaves of a picture, and `L` is the number of tokens in a text,
# padding included. Exercise 5 has `B` texts with `N` positions each. Exercise 6 has `C` classes with `P` prompts
# each; exercise 7 has `C` candidates for the caption of each picture. Everything is counted from 0. Pictures are
# called `images` in the code, and the captions that belong to them `texts`.
#
# A name such as `N` in a shape is no variable, unless it is an argument too: read it from a tensor. The argument
# `temperature` is $\tau$, a number above 0. Floating-point results have the type of the numbers that came in (double
# precision if these are).

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
#   `matching_batch`.)
# - Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.
# - Results, and tensors that are made on the way, are on the inputs' device.
# - Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours. (Not asked of
#   `momentum_contrastive_loss` and `kept_captions`.)
# - Small numbers count beside large ones: nothing is cut off. (Not asked of `contrastive_loss`,
#   `momentum_contrastive_loss`, `zero_shot_probabilities`, `kept_captions` and `sigmoid_loss`.)
# - Numbers may be 0. (Not asked of `contrastive_loss`, `momentum_contrastive_loss`, `zero_shot_probabilities`,
#   `kept_captions` and `sigmoid_loss`.)
# - Any size may be 1. (Not asked of `matching_batch`.)
# - Sizes may coincide.
# - There may be hundreds of positions, words or features. (Not asked of `contrastive_loss`, `momentum_contrastive_loss`,
#   `zero_shot_probabilities` and `sigmoid_loss`.)
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight.
# - Gradients are right also where a softmax is nearly 0 or 1.
# - Zeros are exact in `P` of `negative_probabilities`: a number that should be 0 there is 0, not merely small.
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
from torch import Tensor

from utils.check import check
from utils.progress import progress

# %% [markdown]
# ## 1 · The symmetric contrastive loss
#
# CLIP learns from pairs alone, and nobody has to say which texts are wrong. In a batch of $N$ pairs each picture asks
# which of the $N$ texts is its own, and each text asks which of the $N$ pictures is its own ([lesson
# 16](../../notebooks/16_vision_language.ipynb), "CLIP: one space for pictures and captions"). Each of these questions
# is a classification whose classes are the members of the batch. The score of a pair is the cosine of its two vectors
# over the temperature, and the loss is the mean of the two cross-entropies:
#
# $$S_{ij} = \frac{1}{\tau} \cdot
# \frac{\mathrm{image}_i \cdot \mathrm{text}_j}{\lVert \mathrm{image}_i \rVert \, \lVert \mathrm{text}_j \rVert},
# \qquad \mathrm{loss} = -\frac{1}{2N} \sum_i \left( \log \frac{\exp(S_{ii})}{\sum_j \exp(S_{ij})} +
# \log \frac{\exp(S_{ii})}{\sum_j \exp(S_{ji})} \right)$$
#
# All sums run over the whole batch, and both denominators include the pair itself.
#
# `images` and `texts` are `[N, D]`, and row $i$ of one belongs to row $i$ of the other. The loss is a single number,
# of shape `[]`. The vectors come as the encoders have made them, with any length except 0; the lesson's `contrastive`
# was given vectors of length 1, and $1/\tau$ instead of $\tau$. The temperature may be as low as 0.005. Scores then
# reach 200, and the exponential of such a number is too large for float32. A batch may also consist of one pair,
# which has no negatives: its loss is 0.
#
# For example, let
#
# $$\mathrm{images} = \begin{pmatrix} 3 & 0 \\ 0 & 2 \end{pmatrix}, \quad
# \mathrm{texts} = \begin{pmatrix} 1 & 0 \\ 4 & 3 \end{pmatrix}, \quad \tau = 0.2, \quad
# \text{so the cosines are} \begin{pmatrix} 1 & 0.8 \\ 0 & 0.6 \end{pmatrix} \text{ and }
# S = \begin{pmatrix} 5 & 4 \\ 0 & 3 \end{pmatrix}.$$
#
# Picture 0 pays $\ln(1 + e^{-1}) = 0.3133$, and picture 1 pays $\ln(1 + e^{-3}) = 0.0486$. Text 0 pays
# $\ln(1 + e^{-5}) = 0.0067$. Text 1 is nearer to the wrong picture and pays $\ln(1 + e) = 1.3133$. The means are
# 0.1809 for the pictures and 0.6600 for the texts, so the loss is 0.4205.
#
# <details><summary>Hint: the idea</summary>
#
# One table of scores serves both questions. The question of a picture compares the numbers in its row: what does the
# question of a text compare? You know the cross-entropy of a classifier. What is the class of row $i$ here, although
# nobody has given you labels?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `images` and `texts` are `[N, D]`, and `S` is `[N, N]` with pictures as rows. Each of the two questions has `N`
# softmaxes over `N` numbers, and gives `N` logarithms in the end, one for each picture or text.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# directions of all vectors · all scores at once · log-probabilities along the texts, log-probabilities along the
# pictures (logarithm and softmax in a single step) · which entry counts in each row, and in each column? · one mean
# </details>


# %% nbgrader={"grade": false, "grade_id": "contrastive_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def contrastive_loss(
    images: Float[Tensor, "N D"], texts: Float[Tensor, "N D"], temperature: float
) -> Float[Tensor, ""]:
    """The symmetric contrastive loss of CLIP.

    Args:
        images: the vectors of the pictures, of any length but 0.
        texts: the vectors of the texts; text i belongs to picture i.
        temperature: the cosines are divided by it.

    Returns:
        the mean of two cross-entropies: each picture chooses among the texts, and each text among
            the pictures.

    Example:
        images = [[3, 0], [0, 2]], texts = [[1, 0], [4, 3]] and temperature = 0.2 give the scores
        [[5, 4], [0, 3]]. The pictures' cross-entropy is 0.1809, the texts' is 0.6600, and the loss
        is 0.4205.
    """
    ### BEGIN SOLUTION
    images, texts = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)  # products are now cosines
    S = images @ texts.mT / temperature  # [N, N]; rows are pictures
    own = torch.arange(len(S), device=S.device)  # the right answer of row i, and of column i, is i
    # cross_entropy takes logits and subtracts the largest before exp, so that scores of 200 do no harm.
    return (F.cross_entropy(S, own) + F.cross_entropy(S.mT, own)) / 2
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_contrastive_loss", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(contrastive_loss)

# %% [markdown]
# ## 2 · Soft targets and a queue
#
# The contrastive loss has two weaknesses. It needs many negatives, and it calls every other text of the batch wrong,
# even one that would fit the picture just as well. BLIP answers both with slow copies of the two encoders, the
# momentum encoders ([lesson 16](../../notebooks/16_vision_language.ipynb), "Targets from a slow copy, and a queue").
# What they made of earlier batches is kept in a **queue**, so each picture chooses among $N + K$ texts. And they give
# **soft targets**: if the slow copy finds that another text fits, too, the loss no longer insists that it is wrong.
#
# Write this loss. Here are the questions of the pictures. The candidates $c_0, \dots, c_{N+K-1}$ are the texts of
# this batch and then those of the queue, *all* of them vectors of the slow copy: the rows of
# $[\mathrm{momentum\_texts};\, \mathrm{text\_queue}]$. With $\mathrm{slow}_i$ for row $i$ of `momentum_images`,
#
# $$S_{ij} = \frac{\mathrm{image}_i \cdot c_j}{\tau}, \qquad
# \mathrm{target}_{ij} = \alpha \cdot \mathrm{softmax}_j\!\left( \frac{\mathrm{slow}_i \cdot c_j}{\tau} \right)
# + (1 - \alpha) \cdot [\,j = i\,],$$
#
# $$\mathrm{loss}_{\mathrm{images}} = -\frac{1}{N} \sum_i \sum_j
# \mathrm{target}_{ij} \, \log \mathrm{softmax}_j (S_{ij}).$$
#
# Here $[\,j = i\,]$ is 1 for the text that belongs to picture $i$, and 0 for all others. The questions of the texts
# have the same form with the roles exchanged: $\mathrm{text}_i$ chooses among the rows of
# $[\mathrm{momentum\_images};\, \mathrm{image\_queue}]$, and $\mathrm{slow}_i$ is row $i$ of `momentum_texts`. The
# result is the mean of both losses, a single number.
#
# `images`, `texts`, `momentum_images` and `momentum_texts` are `[N, D]`; `image_queue` and `text_queue` are `[K, D]`.
# `alpha` is a number from 0 to 1. With 0 the targets are one-hot, with 1 they are the slow copy's alone.
#
# - The vectors have been divided by their lengths already. Use them as they come and do not divide them again.
# - The loss is a cross-entropy, as the formula says. A Kullback-Leibler divergence has the same gradients and another
#   value.
# - Gradients flow to `images` and `texts`, and to nothing else. The slow copies are not trained by the loss, so
#   neither the targets nor the candidates pass a gradient on. This replaces what the list at the top says about
#   gradients.
#
# For example, let $N = K = 1$, $D = 2$, $\tau = 0.2$ and $\alpha = 0.4$, with these vectors:
#
# | `images` | `texts` | `momentum_images` | `momentum_texts` | `image_queue` | `text_queue` |
# |---|---|---|---|---|---|
# | (0.6, 0.8) | (0.8, 0.6) | (1, 0) | (0.6, 0.8) | (0, 1) | (0.8, −0.6) |
#
# The picture's scores with the two texts are $1 / 0.2 = 5$ and $0$, so it is almost sure of its own text, and the
# logarithms of its softmax are $-0.0067$ and $-5.0067$. The slow copy's scores are $3$ and $4$, with a softmax of
# $(0.2689,\; 0.7311)$: it prefers the text of the queue. The target is
# $0.4 \cdot (0.2689,\; 0.7311) + (0.6,\; 0) = (0.7076,\; 0.2924)$, and the picture's loss is
# $0.7076 \cdot 0.0067 + 0.2924 \cdot 5.0067 \approx 1.469$. The text's scores with the two pictures are $4$ and $3$,
# the slow copy's are $3$ and $4$, so its target is the same and its loss is
# $0.7076 \cdot 0.3133 + 0.2924 \cdot 1.3133 \approx 0.606$. Computed with all digits, the result is 1.0373.
#
# <details><summary>Hint: the idea</summary>
#
# Both halves are the same computation with other arguments. In each of them somebody who learns and a slow copy look
# at the same candidates. Which of the two makes the prediction, and which one makes the target? At which point does
# the computation have to be kept out of the gradient?
# </details>
# <details><summary>Hint: shapes</summary>
#
# The candidates are `[N + K, D]`, and scores and targets are `[N, N + K]`: there are fewer rows than columns. The
# batch comes first among the candidates, so the own text of picture $i$ has the number $i$. `F.cross_entropy` takes
# probabilities as targets, too, if they have the shape of the logits.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# for each of the two sides: candidates, the batch before the queue · untrained: probabilities of the slow copy, the
# share α of them, the rest of each row to the pair itself · scores of the vectors that learn with the same candidates
# · cross-entropy of the one with the other · at last the mean of the two sides
# </details>


# %% nbgrader={"grade": false, "grade_id": "momentum_contrastive_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def momentum_contrastive_loss(
    images: Float[Tensor, "N D"],
    texts: Float[Tensor, "N D"],
    momentum_images: Float[Tensor, "N D"],
    momentum_texts: Float[Tensor, "N D"],
    image_queue: Float[Tensor, "K D"],
    text_queue: Float[Tensor, "K D"],
    temperature: float,
    alpha: float,
) -> Float[Tensor, ""]:
    """BLIP's contrastive loss, with a queue of negatives and soft targets from slow copies of the
    encoders.

    Args:
        images: the vectors of the pictures, from the encoder that is trained; of length 1, like all
            vectors here.
        texts: the vectors of their texts, from the encoder that is trained.
        momentum_images: the vectors of the same pictures, from the slow copy.
        momentum_texts: the vectors of the same texts, from the slow copy.
        image_queue: vectors of earlier pictures, from the slow copy.
        text_queue: vectors of earlier texts, from the slow copy.
        temperature: all scores are divided by it.
        alpha: the share of the slow copy's probabilities in the targets.

    Returns:
        the mean of two cross-entropies with soft targets; gradients reach images and texts alone.

    Example:
        images = [[0.6, 0.8]], texts = [[0.8, 0.6]], momentum_images = [[1, 0]], momentum_texts =
        [[0.6, 0.8]], image_queue = [[0, 1]], text_queue = [[0.8, -0.6]], temperature = 0.2 and
        alpha = 0.4: both targets are [[0.7076, 0.2924]], the two losses are 1.4688 and 0.6057, and
        the result is 1.0373.
    """

    ### BEGIN SOLUTION
    def half(own, slow, candidates):
        candidates = candidates.detach()  # [N + K, D]
        with torch.no_grad():  # a teacher is not taught by its pupil
            target = alpha * (slow @ candidates.mT / temperature).softmax(dim=1)  # [N, N + K]
            target.diagonal().add_(1 - alpha)  # the batch comes first, so the diagonal holds the pairs
        return F.cross_entropy(own @ candidates.mT / temperature, target)

    of_images = half(images, momentum_images, torch.cat([momentum_texts, text_queue]))
    of_texts = half(texts, momentum_texts, torch.cat([momentum_images, image_queue]))
    return (of_images + of_texts) / 2
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_momentum_contrastive_loss", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(momentum_contrastive_loss)

# %% [markdown]
# ## 3 · Hard negatives
#
# A matching head learns to say whether a picture and a text fit, so it needs pairs that do not fit. A text chosen at
# random is mostly too easy: it names things that are nowhere to be seen. Therefore a wrong text is *drawn*, and the
# more similar it is to the picture, the more often it is drawn ([lesson
# 16](../../notebooks/16_vision_language.ipynb), "Matching, with hard negatives"). It must never be a right one, or
# the head would be told that a text fits and that it does not. And a right text may belong to another picture of the
# batch, for instance because the same words were written about both.
#
# Return the probabilities with which texts are drawn. `S` is `[N, N]` and holds the scores of all pictures, the rows,
# with all texts, the columns; they have been divided by the temperature already. `right` is `[N, N]` and of type
# `torch.bool`: `right[i, j]` is True where text $j$ is right for picture $i$. The diagonal is always True, and other
# entries may be, too. The result `P` is `[N, N]`:
#
# $$P_{ij} = \frac{\exp(S_{ij})}{\sum_{k:\; \text{not right}_{ik}} \exp(S_{ik})}
# \;\text{ where right}_{ij} \text{ is False}, \qquad P_{ij} = 0 \;\text{ where right}_{ij} \text{ is True}$$
#
# Each row then sums to 1, with one exception: if all texts are right for a picture, it has no negative, and its row
# is 0 all through. These zeros, and those of the right texts, are exact, whatever the scores of the others are.
# Scores may be very large or very low. Nothing is drawn in this exercise, and the gradients of `P` flow to `S`;
# whether they are used is up to the caller.
#
# For example,
#
# $$S = \begin{pmatrix} 5 & \ln 3 & 0 \\ 1 & 4 & 7 \\ 2 & 2 & 8 \end{pmatrix}, \quad
# \mathrm{right} = \begin{pmatrix} \text{True} & \text{False} & \text{False} \\
# \text{False} & \text{True} & \text{True} \\ \text{True} & \text{True} & \text{True} \end{pmatrix}
# \quad \text{give} \quad P = \begin{pmatrix} 0 & 0.75 & 0.25 \\ 1 & 0 & 0 \\ 0 & 0 & 0 \end{pmatrix}.$$
#
# In row 0 the exponentials 3 and 1 are left, and they share the probability. In row 1 only text 0 is wrong, so it is
# drawn for certain, although its score is the lowest. Picture 2 has no negative.
#
# <details><summary>Hint: the idea</summary>
#
# In lesson 07 some keys had to be hidden from a softmax. What has to be hidden here, and before or after the softmax?
# And what did lesson 07 do about a row in which every key was hidden?
# </details>
# <details><summary>Hint: shapes</summary>
#
# Everything is `[N, N]`. For each picture, so for each row, one text is drawn: along which axis do the probabilities
# have to sum to 1?
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# scores that cannot win where `right` says so, however low the others are · a softmax for each picture · what does it
# give for a row in which nothing is left? · what does `right` say about every entry of such a row?
# </details>


# %% nbgrader={"grade": false, "grade_id": "negative_probabilities", "locked": false, "schema_version": 3, "solution": true, "task": false}
def negative_probabilities(S: Float[Tensor, "N N"], right: Bool[Tensor, "N N"]) -> Float[Tensor, "N N"]:
    """With which probability each text is drawn as a hard negative of each picture.

    Args:
        S: the scores of pictures (rows) with texts (columns).
        right: True where a text is right for a picture, and so no negative; always on the diagonal.

    Returns:
        P, whose rows are distributions over the wrong texts; 0 for right ones, and in rows without
        any wrong text.

    Example:
        S = [[5, ln 3, 0], [1, 4, 7], [2, 2, 8]] and right = [[True, False, False],
        [False, True, True], [True, True, True]] give [[0, 0.75, 0.25], [1, 0, 0], [0, 0, 0]].
    """
    ### BEGIN SOLUTION
    P = S.masked_fill(right, -torch.inf).softmax(dim=1)  # not −10⁹: a wrong text may have a lower score than that
    # A row in which every text is right came out of the softmax as NaN, and every entry of it is filled here. This also
    # keeps NaN out of the gradient of S, since masked_fill passes none on to what it fills.
    return P.masked_fill(right, 0.0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_negative_probabilities", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(negative_probabilities)

# %% [markdown]
# ## 4 · A batch of right and wrong pairs
#
# The matching head of BLIP sees three pairs for each pair of the batch: the pair itself, its text with a wrong
# picture, and its picture with a wrong text ([lesson 16](../../notebooks/16_vision_language.ipynb), "Matching, with
# hard negatives"). The lesson's small model left out the wrong pictures. Each wrong pair keeps one half of a right
# one, and that it is wrong can be seen only by comparing its two halves. Which pictures and texts are the wrong ones
# has been drawn before.
#
# Put these pairs together into one batch of $3N$. `images` is `[N, M, D]`, the vectors that the picture encoder has
# made of the cells of each picture, and `texts` is `[N, L]`, the tokens of the texts as whole numbers.
# `image_negatives` is `[N]`: picture `image_negatives[i]` was drawn as the wrong one for text $i$. `text_negatives`
# is `[N]`: text `text_negatives[i]` was drawn as the wrong one for picture $i$. Return `(V, T, labels)`, where `V` is
# `[3N, M, D]`, `T` is `[3N, L]`, and `labels` is `[3N]` of type `torch.int64`:
#
# | rows | picture | text | label |
# |---|---|---|---|
# | $i$ | $i$ | $i$ | 1, they fit |
# | $N + i$ | `image_negatives[i]` | $i$ | 0 |
# | $2N + i$ | $i$ | `text_negatives[i]` | 0 |
#
# for $i = 0, \dots, N - 1$. One picture may be the negative of several texts, and one text that of several pictures.
# There are at least two pairs. Gradients flow from `V` to `images`: the picture encoder learns from the matching
# head, too.
#
# For example, take three pictures with one cell of one number, `images = [[[1]], [[2]], [[3]]]`, texts of one token,
# `texts = [[7], [8], [9]]`, `image_negatives = [2, 0, 1]` and `text_negatives = [1, 2, 0]`. The nine pairs are, one
# below the other,
#
# | | right | | | wrong picture | | | wrong text | | |
# |---|---|---|---|---|---|---|---|---|---|
# | `V` | 1 | 2 | 3 | 3 | 1 | 2 | 1 | 2 | 3 |
# | `T` | 7 | 8 | 9 | 7 | 8 | 9 | 8 | 9 | 7 |
# | `labels` | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 |
#
# <details><summary>Hint: the idea</summary>
#
# Write down for each of the three kinds of pairs which pictures it takes and which texts it takes. Only one of the
# two is ever exchanged.
# </details>
# <details><summary>Hint: shapes</summary>
#
# A tensor `[N]` of whole numbers in square brackets picks rows: of `[N, M, D]` it gives `[N, M, D]` again, in another
# order and perhaps with repetitions. Three of these, one after the other along the first axis, are `[3N, M, D]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# pictures of the three kinds, one kind after the other · texts of the three kinds, in the same order · labels: how
# many ones, and how many zeros? on which device?
# </details>


# %% nbgrader={"grade": false, "grade_id": "matching_batch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def matching_batch(
    images: Float[Tensor, "N M D"],
    texts: Int[Tensor, "N L"],
    image_negatives: Int[Tensor, "N"],
    text_negatives: Int[Tensor, "N"],
) -> tuple[Float[Tensor, "3*N M D"], Int[Tensor, "3*N L"], Int[Tensor, "3*N"]]:
    """The right and wrong pairs on which a matching head is trained.

    Args:
        images: the cells of each picture.
        texts: the tokens of its text.
        image_negatives: for each text the number of a picture that does not fit.
        text_negatives: for each picture the number of a text that does not fit.

    Returns:
        V: the pictures of 3N pairs: those of the right pairs, the wrong ones, and those of the
            right pairs again.
        T: their texts: those of the right pairs twice, and the wrong ones.
        labels: 1 for the N right pairs, 0 for the others.

    Example:
        images = [[[1]], [[2]], [[3]]], texts = [[7], [8], [9]], image_negatives = [2, 0, 1] and
        text_negatives = [1, 2, 0] give V with the numbers 1, 2, 3, 3, 1, 2, 1, 2, 3, T with 7, 8,
        9, 7, 8, 9, 8, 9, 7, and the labels [1, 1, 1, 0, 0, 0, 0, 0, 0].
    """
    ### BEGIN SOLUTION
    V = torch.cat([images, images[image_negatives], images])  # [3N, M, D]
    T = torch.cat([texts, texts, texts[text_negatives]])  # [3N, L]; each block exchanges one half of the pairs at most
    labels = torch.zeros(len(T), dtype=torch.int64, device=images.device)  # int64, as cross_entropy wants its classes
    labels[: len(images)] = 1
    return V, T, labels
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_matching_batch", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(matching_batch)

# %% [markdown]
# ## 5 · One network, three modes
#
# BLIP has three jobs for its text side: to encode a text by itself for the contrastive loss, to encode a text that
# looks at a picture for matching, and to write a caption. One network does all three, with the same weights in nearly
# all of its layers ([lesson 16](../../notebooks/16_vision_language.ipynb), "One network, three modes"). What tells
# the modes apart is who may attend to what, and this can be said by two masks. Write them.
#
# There are $B$ texts with $N$ positions each. The first `lengths[b]` positions of text $b$ hold its tokens, among
# them the one that names the mode; the others are padding. `lengths` is `[B]`, with numbers from 1 to $N$. A picture
# has $M$ cells and no padding. `mode` is `"contrast"`, `"match"` or `"write"`. Return the pair `(own, cross)` of type
# `torch.bool`; as in all assignments True means **may attend**:
#
# - `own`, `[B, N, N]`, is the mask of the self-attention. `own[b, n, k]` is True where position $k$ of text $b$ holds
#   a token. In the mode `"write"` it is True only if, besides, $k \leq n$: a network that predicts the next token
#   must not see it.
# - `cross`, `[B, N, M]`, is the mask of the cross-attention. It is True everywhere in the modes `"match"` and
#   `"write"`, and False everywhere in `"contrast"`, since a text's vector has to be compared with many pictures and
#   must not depend on one of them. Its rows are then fully masked, and a softmax over them would be undefined; a
#   network that is given this mask skips the cross-attention, as the lesson's does.
#
# Rows of positions that hold padding follow the same rules as all others: what is computed there is never used. Each
# mode earns one point, for both of its masks.
#
# For example, `lengths = [2]`, `N = 3` and `M = 2` give these masks, with 1 for True:
#
# | `mode` | `own[0]` | `cross[0]` |
# |---|---|---|
# | `"contrast"` | 1 1 0 · 1 1 0 · 1 1 0 | 0 0 · 0 0 · 0 0 |
# | `"match"` | 1 1 0 · 1 1 0 · 1 1 0 | 1 1 · 1 1 · 1 1 |
# | `"write"` | 1 0 0 · 1 1 0 · 1 1 0 | 1 1 · 1 1 · 1 1 |
#
# <details><summary>Hint: the idea</summary>
#
# Two questions are asked about each pair of positions, and only one of them depends on the text. The other depends on
# the mode alone. The cross-attention has a question of its own, which is the same for every position and cell.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Which positions hold tokens is a table `[B, N]`. In `own` it says something about the columns and nothing about the
# rows, so it lacks an axis: in which place? Which of two positions comes first is a table `[N, N]`, without a batch.
# Results are `[B, N, N]` and `[B, N, M]` also where nothing is restricted.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# the numbers of the positions, on the right device · which of them hold tokens, for each text · the same for every
# row · for writing: and not later than the row · for the picture: all or nothing, as the mode says
# </details>


# %% nbgrader={"grade": false, "grade_id": "text_masks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def text_masks(
    lengths: Int[Tensor, "B"], N: int, M: int, mode: str
) -> tuple[Bool[Tensor, "B N N"], Bool[Tensor, "B N M"]]:
    """The masks by which one text network works in three modes.

    Args:
        lengths: how many positions of each text hold tokens, from 1 to N; they come first.
        N: the number of positions.
        M: the number of cells of a picture.
        mode: "contrast", "match" or "write".

    Returns:
        own: True where a position (row) may attend to a position of the text (column).
        cross: True where a position (row) may attend to a cell of the picture (column).

    Example:
        lengths = [2], N = 3, M = 2 and mode = "write" give own = [[[True, False, False],
        [True, True, False], [True, True, False]]], and a cross that is True everywhere. In the
        modes "contrast" and "match" each row of own is [True, True, False]; cross is False
        everywhere in "contrast".
    """
    ### BEGIN SOLUTION
    place = torch.arange(N, device=lengths.device)
    tokens = place < lengths[:, None]  # [B, N]
    own = tokens[:, None, :].expand(-1, N, N)  # [B, N, N]: what is hidden is a column, the same for all rows
    if mode == "write":
        own = own & (place <= place[:, None])  # a new tensor: expanded views must not be written into
    # With lengths of 1 or more the first column is open, so that no row is empty and no softmax becomes NaN.
    cross = torch.full((len(lengths), N, M), mode != "contrast", device=lengths.device)
    return own, cross
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_text_masks", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(text_masks)

# %% [markdown]
# ## 6 · A classifier made of prompts
#
# A model that knows which text fits a picture is a classifier for any classes that words can name, and nothing has to
# be trained for it ([lesson 16](../../notebooks/16_vision_language.ipynb), "Naming without training: zero-shot").
# Each class is described by several prompts, such as *a photo of a dog* and *a drawing of a dog*, so that its vector
# does not depend on the words of one. Their directions are averaged, and a softmax over the classes compares the
# cosines:
#
# $$\mathrm{class}_c = \frac{1}{P} \sum_p \frac{\mathrm{prompt}_{cp}}{\lVert \mathrm{prompt}_{cp} \rVert}, \qquad
# \mathrm{result}_{nc} = \mathrm{softmax}_c \left( \frac{1}{\tau} \cdot
# \frac{\mathrm{image}_n \cdot \mathrm{class}_c}{\lVert \mathrm{image}_n \rVert \, \lVert \mathrm{class}_c \rVert}
# \right)$$
#
# The mean of vectors of length 1 is shorter than 1 unless they agree, and the cosine divides it by its length again.
#
# `images` is `[N, D]` and `prompts` is `[C, P, D]`: `P` prompts for each of `C` classes. All vectors are as the
# encoders have made them, with any length except 0, and no class has prompts that cancel each other. There may be one
# prompt for each class, or a single class. The result, called `P` in the messages of the check, is `[N, C]`, a
# distribution over the classes for each picture. As in exercise 1, the temperature may be very low.
#
# For example, the prompts of class 0 are $(2, 0)$ and $(7, 24)$, and those of class 1 are $(0, 3)$ and $(0, 1)$.
# Divided by their lengths, the first two are $(1, 0)$ and $(0.28, 0.96)$. Their mean is $(0.64, 0.48)$, of length
# 0.8, so class 0 has the direction $(0.8, 0.6)$, and class 1 has $(0, 1)$. The pictures $(5, 0)$ and $(0, 2)$ have
# the cosines $(0.8, 0)$ and $(0.6, 1)$ with them. With $\tau = 0.4$ these become $(2, 0)$ and $(1.5, 2.5)$, and the
# result is $\begin{pmatrix} 0.8808 & 0.1192 \\ 0.2689 & 0.7311 \end{pmatrix}$.
#
# <details><summary>Hint: the idea</summary>
#
# Once each class has a vector, this is the table of scores of exercise 1, with classes in place of texts. Three kinds
# of vectors have a length that must not count. Which ones, and when?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `prompts` is `[C, P, D]` and becomes `[C, D]`; which axis goes, and along which one is a length computed? The scores
# are `[N, C]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# directions of the prompts · one vector for each class · cosines of all pictures with all classes · over the
# temperature · each picture: a distribution
# </details>


# %% nbgrader={"grade": false, "grade_id": "zero_shot_probabilities", "locked": false, "schema_version": 3, "solution": true, "task": false}
def zero_shot_probabilities(
    images: Float[Tensor, "N D"], prompts: Float[Tensor, "C P D"], temperature: float
) -> Float[Tensor, "N C"]:
    """The probability of each class for each picture, by prompts that describe the classes.

    Args:
        images: the vectors of the pictures, of any length but 0.
        prompts: the vectors of the prompts of each class, of any length but 0.
        temperature: the cosines are divided by it.

    Returns:
        a distribution over the classes for each picture.

    Example:
        images = [[5, 0], [0, 2]], prompts = [[[2, 0], [7, 24]], [[0, 3], [0, 1]]] and temperature =
        0.4: the classes have the directions (0.8, 0.6) and (0, 1), and the result is
        [[0.8808, 0.1192], [0.2689, 0.7311]].
    """
    ### BEGIN SOLUTION
    classes = F.normalize(prompts, dim=-1).mean(dim=1)  # [C, D]; without normalize a long prompt would count more
    classes = F.normalize(classes, dim=-1)  # again: a class whose prompts disagree would have lower scores otherwise
    S = F.normalize(images, dim=-1) @ classes.mT / temperature  # [N, C]
    return S.softmax(dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_zero_shot_probabilities", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(zero_shot_probabilities)

# %% [markdown]
# ## 7 · A filter for captions
#
# A text from the web is often no description of its picture. BLIP's CapFilt lets a captioner write further captions,
# and then a filter, a network with a matching head, decides which of all these captions may be trained on ([lesson
# 16](../../notebooks/16_vision_language.ipynb), "CapFilt: a captioner and a filter"). Write the filter's decision.
#
# `logits` is `[N, C, 2]`. For each of $N$ pictures and each of its $C$ candidates, such as the web's text and
# captions that were written, it holds the two logits of the matching head: class 0 says that the text does not fit,
# and class 1 says that it fits. Each candidate is judged by itself:
#
# $$p_{nc} = \frac{\exp(\mathrm{logits}_{nc1})}{\exp(\mathrm{logits}_{nc0}) + \exp(\mathrm{logits}_{nc1})}, \qquad
# \mathrm{kept}_{nc} = (p_{nc} \geq \mathrm{threshold})$$
#
# Return the pair `(kept, best)`. `kept` is `[N, C]` of type `torch.bool`. `best` is `[N]` of type `torch.int64`: for
# each picture, the number $c$ of the kept candidate with the largest $p_{nc}$, or $-1$ where none is kept.
#
# `threshold` is a number between 0 and 1. A probability that is equal to it is enough: with a threshold of ½, a
# candidate with two equal logits is kept. No other probability is so near to the threshold that rounding could
# decide, and no two candidates of a picture are equally probable. Both logits of a candidate may be large, such as
# 200, while their difference is not. No gradients are asked for.
#
# For example, take two pictures with three candidates each and the threshold 0.5:
#
# | picture | logits of its candidates | probabilities | kept | best |
# |---|---|---|---|---|
# | 0 | $(0, \ln 3)$, $(0, \ln 9)$, $(\ln 3, 0)$ | 0.75, 0.9, 0.25 | True, True, False | 1 |
# | 1 | $(\ln 9, 0)$, $(\ln 4, 0)$, $(\ln 2, 0)$ | 0.1, 0.2, 0.3333 | False, False, False | −1 |
#
# <details><summary>Hint: the idea</summary>
#
# A classifier with two classes has judged every candidate, and candidates do not compete until the very last
# question. For a picture without a kept candidate, what does `argmax` say, and is it what you want?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `[N, C, 2]` has two axes along which one could normalise: candidates and classes. The probabilities that count are
# `[N, C]`, and whether anything is kept is one bool for each picture, `[N]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# the probability that it fits, for each candidate · which of them pass · the most probable candidate of each picture
# · pictures that have none left get another answer
# </details>


# %% nbgrader={"grade": false, "grade_id": "kept_captions", "locked": false, "schema_version": 3, "solution": true, "task": false}
def kept_captions(logits: Float[Tensor, "N C 2"], threshold: float) -> tuple[Bool[Tensor, "N C"], Int[Tensor, "N"]]:
    """Which captions a filter keeps, and which of them fits best.

    Args:
        logits: for each candidate of each picture the logits of the classes 0, it does not fit, and
            1, it fits.
        threshold: the least probability of class 1 with which a caption is kept.

    Returns:
        kept: True where a candidate is kept.
        best: the number of the most probable candidate that is kept; -1 where none is.

    Example:
        logits = [[[0, ln 3], [0, ln 9], [ln 3, 0]], [[ln 9, 0], [ln 4, 0], [ln 2, 0]]] and
        threshold = 0.5: the probabilities are [[0.75, 0.9, 0.25], [0.1, 0.2, 0.3333]], so kept =
        [[True, True, False], [False, False, False]] and best = [1, -1].
    """
    ### BEGIN SOLUTION
    p = logits.softmax(dim=-1)[:, :, 1]  # [N, C]; over the two classes, so that candidates do not compete
    kept = p >= threshold
    # The most probable candidate passes if any does, so there is no need to hide the others from argmax.
    best = p.argmax(dim=1).masked_fill(~kept.any(dim=1), -1)  # not 0, which would name the first candidate
    return kept, best
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_kept_captions", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(kept_captions)

# %% [markdown]
# ## 8 · Stretch: every pair is a question of its own
#
# This exercise earns no points. In the contrastive loss of exercise 1 all texts of a batch compete for each picture.
# In SigLIP they do not: each of the $N^2$ pairs is asked whether it belongs together, and answered by a sigmoid
# ([lesson 16](../../notebooks/16_vision_language.ipynb), "Going further"). With $z_{ij} = 1$ for $i = j$ and
# $z_{ij} = -1$ for all other pairs, the loss is
#
# $$\mathrm{loss} = -\frac{1}{N} \sum_i \sum_j \log \sigma \bigl( z_{ij} \, S_{ij} \bigr), \qquad
# S_{ij} = \frac{1}{\tau} \cdot
# \frac{\mathrm{image}_i \cdot \mathrm{text}_j}{\lVert \mathrm{image}_i \rVert \, \lVert \mathrm{text}_j \rVert} + b.$$
#
# The sum over all $N^2$ pairs is divided by $N$, the number of pictures. Nearly all pairs are wrong, so the bias $b$
# begins far below 0, in SigLIP at $-10$: at first the model says no to everything and is nearly always right.
#
# `images` and `texts` are `[N, D]`, of any length except 0, and row $i$ of one belongs to row $i$ of the other.
# `bias` is the number $b$. The loss is a single number. Scores may lie so far from 0 that $\sigma$ is 0 or 1 in
# float32; the loss and its gradients are right there, too.
#
# For example, with the vectors and the temperature of exercise 1, `images = [[3, 0], [0, 2]]`,
# `texts = [[1, 0], [4, 3]]` and $\tau = 0.2$, and with $b = -3$,
#
# $$S = \begin{pmatrix} 5 & 4 \\ 0 & 3 \end{pmatrix} - 3 = \begin{pmatrix} 2 & 1 \\ -3 & 0 \end{pmatrix}, \qquad
# z_{ij} S_{ij} = \begin{pmatrix} 2 & -1 \\ 3 & 0 \end{pmatrix}.$$
#
# The four answers cost 0.1269, 1.3133, 0.0486 and 0.6931, and half of their sum is 1.0910.
#
# <details><summary>Hint: the idea</summary>
#
# There are $N^2$ questions whose answer is yes or no, so this is a binary cross-entropy with logits. Which of its
# labels are yes? And by what does it divide the sum, if you do not tell it?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `S` and `z` are `[N, N]`. A table with one value on its diagonal and another one elsewhere is made of `torch.eye`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# cosines over the temperature, plus the bias · the sign that each pair should have · logarithm and sigmoid in a
# single step · the sum over all pairs, for each picture
# </details>


# %% nbgrader={"grade": false, "grade_id": "sigmoid_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sigmoid_loss(
    images: Float[Tensor, "N D"], texts: Float[Tensor, "N D"], temperature: float, bias: float
) -> Float[Tensor, ""]:
    """The loss of SigLIP: each pair of a picture and a text is asked whether it belongs together.

    Args:
        images: the vectors of the pictures, of any length but 0.
        texts: the vectors of the texts; text i belongs to picture i.
        temperature: the cosines are divided by it.
        bias: a number that is added to all scores.

    Returns:
        the sum of the N·N binary cross-entropies, divided by N.

    Example:
        images = [[3, 0], [0, 2]], texts = [[1, 0], [4, 3]], temperature = 0.2 and bias = -3 give
        the scores [[2, 1], [-3, 0]], the costs [[0.1269, 1.3133], [0.0486, 0.6931]], and the loss
        1.0910.
    """
    ### BEGIN SOLUTION
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).mT / temperature + bias  # [N, N]
    z = 2 * torch.eye(len(S), dtype=S.dtype, device=S.device) - 1  # 1 on the diagonal, −1 elsewhere
    # sigmoid and then log would give log 0 far below 0; logsigmoid gives the score itself there.
    return -F.logsigmoid(z * S).sum() / len(S)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_sigmoid_loss", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(sigmoid_loss)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_trained_against", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9 · The red bag with the blue strap
#
# A company has trained CLIP on the pictures of its shop and their captions. Customers type a few words, and the
# pictures with the nearest vectors are shown. Products are found well, and yet *red bag with blue strap* and *blue
# bag with red strap* are confused: either text finds both kinds of bags. Answer in eight to twelve sentences, in the
# cell below:
#
# 1. The negatives of a picture were the captions of other pictures in the batch. What is the contrastive loss trained
#    against, then, and why does it give little reason to learn which part is red? Propose two different remedies. Say
#    of each what it changes in training, and what it costs at search time, when one text is compared with a million
#    pictures: what can be computed once, in advance, and what has to be computed anew?
# 2. A colleague adds a matching head and says: "Our matching head uses cross-attention, so it must know which is
#    red." What does an experiment have to show before you believe this? Say what is measured, on which pairs, and
#    which control is needed, and what each possible outcome would mean.
#
# === BEGIN MARK SCHEME ===
#
# **1 point: what it is trained against, and two remedies.** The model is trained against captions of other pictures,
# drawn at random. Nearly all of these name another product or another colour, so they can be ruled out by their words
# alone; a caption with the same words bound the other way round hardly ever turns up in the same batch, and the loss
# has little to gain from telling the two apart. (½. "CLIP is a bag of words" or "two vectors cannot hold this" earns
# nothing: the first only restates what is observed, and the second is false, since the lesson's two vectors learn it
# from exchanged captions. That more training or larger batches help slowly, because such captions do turn up now and
# then, is true and may be added.) Two of these remedies, or others as good, each with its change and its cost: (a)
# Captions with exchanged words are put among the negatives. It takes more texts in each batch and a way to exchange
# words so that the result is wrong. The search stays as fast as it was: the vectors of a million pictures are
# computed once, and a new text costs one run of the text encoder and one matrix product. (b) A matching head is
# trained with such exchanged captions among its wrong pairs. It needs one run of the network for each pair, so a
# million runs for each text, even if the cells of the pictures are kept. It can only re-rank a few candidates that
# the cosine has found. (c) A captioning loss; a pair is scored by the likelihood of the text, given the picture. It
# needs no negatives, since every other word counts as wrong at each position. The cost is that of (b), one run for
# each pair. (½ for four things: two remedies, and the cost of each at search time; one of the four may be missing or
# wrong. Two remedies that differ only in how exchanged captions are made count as one. "A larger model" or "more
# data" without the hard captions in it earns nothing. That a head which has seen exchanged words alone is poor at
# everything else is true and may be added.)
#
# **1 point: an experiment with a control.** Measured is how often the right caption is preferred to the one with
# exchanged words, on pictures and captions that were not trained on, where chance is one half. Several seeds are
# needed, since a difference no larger than that between seeds means nothing. (½ for what is measured, with held-out
# exchanged pairs, and for several seeds. "Test accuracy" or recall among random captions earns nothing here, since it
# can be high without binding.) The control is the same model with the same negatives, data and steps, but without
# cross-attention: a head on the two vectors. If both heads succeed, the negatives explain it and cross-attention was
# not needed. If only the one with cross-attention does, the colleague is right for this model and this amount of
# training. If neither does, the head does not know which is red, whatever it is made of; the negatives may have been
# too few, or what the picture encoder passes on may not say which colour is where. (½ for the control, and what at
# least two outcomes mean. A control that keeps cross-attention and changes the negatives, from captions of other
# pictures to exchanged ones, is as good if its outcomes are read rightly: if the head succeeds with one kind and not
# with the other, then what it was trained against decides, and cross-attention is not enough by itself. An answer
# that changes both at once, say CLIP against a matching head with exchanged captions, earns nothing for the control:
# it cannot tell the two causes apart. That a head without any picture should be tested, since an exchanged caption
# may sound unlikely by itself, is a good addition and not required.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_trained_against", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. The model is trained against the captions of other pictures in the batch. Nearly all of them name another product
#   or another colour, so their words alone rule them out, and the same words bound the other way round hardly ever
#   turn up beside each other; there is little to gain from learning which part is red. One remedy puts captions with
#   exchanged colours among the negatives. Training then needs more texts in each batch, but the search stays as it
#   was: the vectors of the million pictures are computed once, and each new text costs one run of the text encoder
#   and one matrix product. Another remedy is a captioning loss, where a pair is scored by the likelihood of the text.
#   It needs no negatives, because the caption begins with the bag's colour, so the model has to say *red* or *blue*
#   there, and the other one counts as wrong. But each pair costs a run of the network, a million for each text, so it
#   can only re-rank a few dozen pictures that the vectors have found.
#
# 2. Cross-attention makes it possible to look at the strap, but whether the head does so depends on what it was
#    trained against. I would measure how often it prefers the right caption to the one with exchanged colours, on
#    held-out pictures and over several seeds, where guessing gives one half. The control is a head without
#    cross-attention, on the two vectors, which is trained with the same negatives, data and number of steps. If both
#    are good, the negatives are the reason, and cross-attention was not needed; if only the head with cross-attention
#    is, my colleague is right for our model; if neither is, the head does not know which is red, and either the
#    negatives or what the picture encoder passes on is to blame.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have
# begun.

# %%
progress()
