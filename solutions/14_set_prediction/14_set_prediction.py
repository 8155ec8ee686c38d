# %% [markdown]
# # Assignment 14: set prediction
#
# You build what turns a Transformer decoder into a detector. First come boxes and the measure of their overlap, then
# the comparison of two sets: what it costs to give an object to a query, the matching with the least sum of costs, and
# the loss of the pairs. The decoder with its learned queries follows, and the measure by which detectors are compared
# comes last. The stretch is the mask of DN-DETR, which makes DETR learn faster.
#
# **Goals.** You can convert boxes from one format to the other, compute generalised IoU for all pairs of two sets of
# boxes without being fooled by boxes that lie apart, match a set of answers with a set of objects, write DETR's loss for
# a padded batch, wire a decoder of object queries, compute average precision exactly, and judge what such a number says
# about a detector.
#
# **What you need.** [Lesson 14](../../notebooks/14_set_prediction.ipynb), the padding masks of assignment 07, the
# pre-norm blocks of assignment 09 and the cross-attention of assignment 10. One exercise is an `nn.Module`. The
# [glossary](../../docs/glossary.md) has all terms and symbols.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · boxes by their corners | 1 | ●○○ | 5 |
# | 2 · generalised IoU | 3 | ●●○ | 25 |
# | 3 · the costs of a matching | 2 | ●●○ | 15 |
# | 4 · the best matching | 1 | ●○○ | 10 |
# | 5 · the loss of a set | 3 | ●●● | 30 |
# | 6 · a decoder of queries | 3 | ●●● | 30 |
# | 7 · average precision | 2 | ●●● | 25 |
# | 8 · queries that know too much | stretch | ●●○ | 15 |
# | 9 · a written answer | 5 | ●●○ | 30 |
#
# It takes about 170 minutes in all, plus about 15 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. No exercise needs another exercise's
# code.
#
# **Shapes.** `B` is the batch, the number of pictures. Each picture has `N_Q` queries and `N_T` places for **targets**,
# the objects that are to be found, each with a class and a box. `C` is the number of classes. *No object* follows them
# at index `C`, so that logits have `C+1` numbers. `D` is the width of the vectors, `H` the number of heads, and in
# exercise 6 `N` the number of cells of the picture's memory. In exercises 1, 2 and 7, `N` and `M` count boxes. A name
# such as `N_Q` in a shape is no variable, unless it is an argument too: read it from a tensor.
#
# **Boxes** have four numbers on the last axis. In the **corner format** they are $(x_0, y_0, x_1, y_1)$, the upper left
# and the lower right corner; in the **centre format** they are $(c_x, c_y, w, h)$. Both count in shares of the
# picture's sides, and $y$ grows downwards. All boxes have a positive area, unless padding is spoken of. Each exercise
# says which format it is given.
#
# **Given.** `overlaps(A, B)` from `utils` is what the lesson uses: for boxes in *centre* format, whose shapes broadcast
# against each other, it returns the pair (IoU, GIoU). It is meant for exercises 3, 5 and 7, so that you can go on
# before exercise 2 is finished. You may as well call your own functions there. Exercise 2 itself is to be written
# without it.

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
# - Small numbers count beside large ones: nothing is cut off. (Not asked of `generalised_iou` and `average_precision`.)
# - Numbers may be 0. (Not asked of `generalised_iou`, `matching_costs`, `match`, `set_loss` and `average_precision`.)
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
# - Where a shape begins with `*B`, there may be no batch axis, one, or several.
# - Training mode and eval mode give the same result.
# - Arguments may be given by position or, under the names of the stub, by name.
# - Gradients flow from the result to every floating-point input and every weight. (Not asked of `matching_costs` and
#   `average_precision`.)
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
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from utils.check import check
from utils.data import crowds, scenes
from utils.figures import set_prediction as drawing
from utils.figures.plots import show
from utils.models.set_prediction import overlaps
from utils.progress import progress

# %% [markdown]
# ## 1 · Boxes by their corners
#
# DETR predicts boxes in the centre format, and overlaps are measured in the corner format ([lesson
# 14](../../notebooks/14_set_prediction.ipynb), "Boxes and how much they overlap"). Convert the first to the second:
#
# $$x_0 = c_x - \tfrac{w}{2}, \qquad y_0 = c_y - \tfrac{h}{2}, \qquad x_1 = c_x + \tfrac{w}{2}, \qquad y_1 = c_y + \tfrac{h}{2}.$$
#
# `boxes` is `[*B, N, 4]`, where `*B` stands for any number of axes in front, none included. The result has the same
# shape. A detector's box may reach over the picture's edges, and its corners may then be below 0 or above 1: they stay
# as they are. The same formula holds for boxes in pixels.
#
# | centre format | corner format |
# |---|---|
# | 0.5, 0.4, 0.2, 0.6 | 0.4, 0.1, 0.6, 0.7 |
# | 0.1, 0.5, 0.4, 0.2 | −0.1, 0.4, 0.3, 0.6 |
#
# <details><summary>Hint: the idea</summary>
#
# Draw a box, mark its centre, and ask how far it is from there to each of the four sides.
# </details>


# %% nbgrader={"grade": false, "grade_id": "to_corners", "locked": false, "schema_version": 3, "solution": true, "task": false}
def to_corners(boxes: Float[Tensor, "*B N 4"]) -> Float[Tensor, "*B N 4"]:
    """Boxes in corner format.

    Args:
        boxes: in centre format, (c_x, c_y, w, h).

    Returns:
        the same boxes as (x_0, y_0, x_1, y_1).

    Example:
        boxes = [[0.5, 0.4, 0.2, 0.6]] gives [[0.4, 0.1, 0.6, 0.7]].
    """
    ### BEGIN SOLUTION
    c_x, c_y, w, h = boxes.unbind(dim=-1)  # whatever axes are in front
    return torch.stack([c_x - w / 2, c_y - h / 2, c_x + w / 2, c_y + h / 2], dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_to_corners", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(to_corners)

# %% [markdown]
# ## 2 · Generalised IoU
#
# The lesson computed the overlap of two boxes with plain numbers ([lesson
# 14](../../notebooks/14_set_prediction.ipynb), "Boxes and how much they overlap"). A matching needs it for every box of
# one set with every box of another, at once. With $C_{nm}$ for the smallest box that encloses both $A_n$ and $B_m$:
#
# $$\operatorname{GIoU}_{nm} = \frac{|A_n \cap B_m|}{|A_n \cup B_m|} - \frac{|C_{nm}| - |A_n \cup B_m|}{|C_{nm}|}, \qquad
# |A_n \cup B_m| = |A_n| + |B_m| - |A_n \cap B_m| .$$
#
# `A` is `[N, 4]` and `B` is `[M, 4]`, both in **corner format**. The result is `[N, M]`, a row for each box of `A`. Two
# of the points are for boxes that overlap, and one is for boxes that lie apart.
#
# - The boxes of a pair may lie apart in one direction or in both, touch at an edge or a corner, lie within each other,
#   or be the same.
# - Boxes may be small, with sides of a thousandth of the picture's. Their areas are far smaller still, so nothing may be
#   added to a denominator. No denominator is 0, since every box has an area.
# - Do not use `overlaps` in this exercise.
#
# For example, let `A` hold the box (0, 0, 0.4, 0.4) alone:
#
# | box of `B` | shared | union | enclosing | GIoU |
# |---|---|---|---|---|
# | 0.2, 0.2, 0.6, 0.6 | 0.04 | 0.28 | 0.36 | 1/7 − 2/9 = −0.0794 |
# | 0.6, 0.6, 1, 1 | 0 | 0.32 | 1 | −0.68 |
# | 0, 0, 0.4, 0.2 | 0.08 | 0.16 | 0.16 | 0.5 |
#
# <details><summary>Hint: the idea</summary>
#
# Two of the boxes in the formula are made of corners of the others: the one that is shared and the one that encloses.
# Which of the two may fail to exist, and how do its sides show it?
# </details>
# <details><summary>Hint: shapes</summary>
#
# Boxes are `[N, 4]` and `[M, 4]`, and all areas of pairs are `[N, M]`. Where does each of the two need a new axis, so
# that they broadcast? The areas of the single boxes are `[N]` and `[M]`, and meet in the union.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. The corners of what is shared, for all pairs, and from them its sides and its area.
# 2. The areas of the single boxes, and the union.
# 3. The corners of the enclosing box, and its area.
# 4. The formula.
# </details>


# %% nbgrader={"grade": false, "grade_id": "generalised_iou", "locked": false, "schema_version": 3, "solution": true, "task": false}
def generalised_iou(A: Float[Tensor, "N 4"], B: Float[Tensor, "M 4"]) -> Float[Tensor, "N M"]:
    """The generalised IoU of each box of one set with each box of another.

    Args:
        A: boxes in corner format.
        B: boxes in corner format.

    Returns:
        a row for each box of A and a column for each box of B; between -1 and 1.

    Example:
        A = [[0, 0, 0.4, 0.4]] and B = [[0.2, 0.2, 0.6, 0.6], [0.6, 0.6, 1, 1], [0, 0, 0.4, 0.2]]
        give [[-0.0794, -0.68, 0.5]].
    """

    ### BEGIN SOLUTION
    def area(low, high):
        """Of boxes between two corners; 0 where the second does not lie behind the first in both
        directions.
        """
        width, height = (high - low).clamp(min=0).unbind(dim=-1)  # each side alone: two negative ones make a plus
        return width * height

    (a_low, a_high), (b_low, b_high) = A[:, None].split(2, dim=-1), B.split(2, dim=-1)  # [N, 1, 2] and [M, 2]
    shared = area(torch.maximum(a_low, b_low), torch.minimum(a_high, b_high))  # [N, M]
    enclosing = area(torch.minimum(a_low, b_low), torch.maximum(a_high, b_high))
    union = area(a_low, a_high) + area(b_low, b_high) - shared
    return shared / union + union / enclosing - 1  # the empty share of the enclosing box is 1 − union / enclosing
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_generalised_iou", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(generalised_iou)

# %% [markdown]
# ## 3 · The costs of a matching
#
# How badly would query $q$ have answered, if target $t$ were its task? The lesson computed one column of this table
# ([lesson 14](../../notebooks/14_set_prediction.ipynb), "Matching a set with a set"). Compute all of it, for one
# picture:
#
# $$E_{q,t} = 5\,\lVert \hat b_q - b_t \rVert_1 - 2\,\operatorname{GIoU}(\hat b_q, b_t) - p_q(c_t) .$$
#
# `logits` is `[N_Q, C+1]` and `boxes` is `[N_Q, 4]`, the answers of the queries. `labels` is `[N_T]`, the classes
# $c_t$ of the targets, from 0 to $C - 1$, and `targets` is `[N_T, 4]`, their boxes $b_t$. All boxes are in
# **centre format**. Return `costs`, `[N_Q, N_T]`.
#
# - The norm $\lVert \cdot \rVert_1$ is the sum of the four absolute differences, and it is taken between the boxes as
#   they are given, in centre format. Only GIoU is a matter of corners.
# - The probabilities $p_q$ are a softmax over all $C + 1$ classes, *no object* included, which is the last one. What
#   counts is the probability of the target's class itself, not its logarithm.
# - There may be a single class, and several targets may be of the same class.
# - A matching lets no gradient through, so none is asked for.
#
# For example, with one class, one target of class 0 with the box (0.5, 0.5, 0.4, 0.4), and two queries:
#
# | query | logits | box | $\lVert \cdot \rVert_1$ | GIoU | $p_q(0)$ | cost |
# |---|---|---|---|---|---|---|
# | 0 | 0, ln 3 | 0.5, 0.5, 0.4, 0.4 | 0 | 1 | 0.25 | −2.25 |
# | 1 | ln 3, 0 | 0.5, 0.5, 0.2, 0.4 | 0.2 | 0.5 | 0.75 | −0.75 |
#
# Query 0 is cheaper. It thinks that there is probably nothing, but its box is right.
#
# <details><summary>Hint: the idea</summary>
#
# Three tables of the same shape are added, each with its weight. Two of them compare boxes of all queries with boxes of
# all targets; the third is read off the probabilities.
# </details>
# <details><summary>Hint: shapes</summary>
#
# Probabilities are `[N_Q, C+1]`, and `labels`, `[N_T]`, chooses among their columns. Differences of all pairs of boxes
# are `[N_Q, N_T, 4]`. `overlaps` broadcasts: which axis does one of its arguments need?
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. For each query, the probability of each target's class.
# 2. For each pair, the distance of the boxes.
# 3. For each pair, their overlap; mind the format that your function expects.
# 4. Weights and signs: what is good for a pair makes it cheaper.
# </details>


# %% nbgrader={"grade": false, "grade_id": "matching_costs", "locked": false, "schema_version": 3, "solution": true, "task": false}
def matching_costs(
    logits: Float[Tensor, "N_Q C+1"],
    boxes: Float[Tensor, "N_Q 4"],
    labels: Int[Tensor, "N_T"],
    targets: Float[Tensor, "N_T 4"],
) -> Float[Tensor, "N_Q N_T"]:
    """What it costs to give each target to each query of a picture.

    Args:
        logits: of the queries' classes; the last class is no object.
        boxes: of the queries, in centre format.
        labels: the targets' classes, from 0 to C - 1.
        targets: the targets' boxes, in centre format.

    Returns:
        a row for each query and a column for each target.

    Example:
        logits = [[0, ln 3], [ln 3, 0]], boxes = [[0.5, 0.5, 0.4, 0.4], [0.5, 0.5, 0.2, 0.4]],
        labels = [0] and targets = [[0.5, 0.5, 0.4, 0.4]] give [[-2.25], [-0.75]].
    """
    ### BEGIN SOLUTION
    likely = logits.softmax(dim=-1).index_select(1, labels)  # [N_Q, N_T], the column of each target's class
    one, other = boxes[:, None], targets[None]  # every query meets every target
    apart = torch.linalg.vector_norm(one - other, ord=1, dim=-1)  # [N_Q, N_T], summed over the four numbers
    _, giou = overlaps(one, other)  # takes centres and sides, as they are
    return 5 * apart - 2 * giou - likely
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_matching_costs", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(matching_costs)

# %% [markdown]
# ## 4 · The best matching
#
# Now the targets are given away ([lesson 14](../../notebooks/14_set_prediction.ipynb), "Matching a set with a set").
# `costs` is `[N_Q, N_T]`, with $N_Q \geq N_T$. Return `matched`, `[N_T]`, whole numbers: `matched[t]` is the query that
# target $t$ is given to. No query is given two targets, and the sum of the costs of all pairs,
#
# $$\sum_{t} \mathrm{costs}_{\mathrm{matched}_t,\, t},$$
#
# is the least that there is. You may use `linear_sum_assignment`, which is imported above: it takes the table as a
# numpy array, or what can be made one, and gives two arrays, the rows and the columns of the pairs. With DETR's 100
# queries, trying all ways is out of the question. In all checks the best matching is unique.
#
# For example:
#
# | | target 0 | target 1 |
# |---|---|---|
# | query 0 | 5 | 4 |
# | query 1 | 1 | **2** |
# | query 2 | **2** | 6 |
#
# The result is `[2, 1]`, with a sum of 4. Whoever takes the cheapest pair first, query 1 and target 0, ends with 5.
# SciPy's function gives the rows 1, 2 and the columns 1, 0.
#
# <details><summary>Hint: the idea</summary>
#
# SciPy finds the pairs. What is left for you is their order: by what are its pairs sorted, and by what should yours be?
# </details>
# <details><summary>Hint: shapes</summary>
#
# Both of SciPy's results are `[N_T]`, since every target is given away and most queries get none. They are arrays of
# numpy; the result is a tensor on the device of `costs`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. The table, in a form that SciPy accepts.
# 2. The pairs with the least sum.
# 3. Their queries in the order of their targets.
# 4. Back to a tensor.
# </details>


# %% nbgrader={"grade": false, "grade_id": "match", "locked": false, "schema_version": 3, "solution": true, "task": false}
def match(costs: Float[Tensor, "N_Q N_T"]) -> Int[Tensor, "N_T"]:
    """The query of each target, such that the sum of costs is the least.

    Args:
        costs: of giving each target to each query; there are at least as many queries as targets.

    Returns:
        for each target, in their order, the number of its query; no number twice.

    Example:
        costs = [[5, 4], [1, 2], [2, 6]] gives [2, 1].
    """
    ### BEGIN SOLUTION
    # SciPy's pairs are sorted by row. With targets as rows, the columns are what is asked for, in the order asked for.
    _, queries = linear_sum_assignment(costs.detach().cpu().double().T)
    return torch.as_tensor(queries, device=costs.device)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_match", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(match)

# %% [markdown]
# ## 5 · The loss of a set
#
# The targets have been given away, and the queries know what they should have answered ([lesson
# 14](../../notebooks/14_set_prediction.ipynb), "The loss of a set"). Write DETR's loss for a batch in which pictures
# have different numbers of targets.
#
# `logits` is `[B, N_Q, C+1]` and `boxes` is `[B, N_Q, 4]`, the queries' answers. `labels` is `[B, N_T]`, with classes
# from 0 to $C - 1$, and `targets` is `[B, N_T, 4]`. All boxes are in **centre format**. `exists` is `[B, N_T]`, True
# where there is a target and False where there is padding. `matched` is `[B, N_T]`: target $t$ of picture $b$ has been
# given to query `matched[b, t]`, and no query of a picture has two targets.
#
# Let $c_{bq}$ be the class that query $q$ of picture $b$ should name: the label of its target, or *no object*, index
# $C$, if it has none. The weight $w_c$ is 0.1 for *no object* and 1 for all other classes. With $n$ for the number of
# targets that exist in the whole batch, the loss is
#
# $$\frac{\sum_{b,q} w_{c_{bq}} \bigl(-\log p_{bq}(c_{bq})\bigr)}{\sum_{b,q} w_{c_{bq}}} \;+\;
# \frac{1}{\max(1, n)} \sum_{\text{targets that exist}} \Bigl[\, 5\, \lVert \hat b - b \rVert_1 + 2\,\bigl(1 -
# \operatorname{GIoU}(\hat b, b)\bigr) \Bigr],$$
#
# where $\hat b$ is the box of the query to which a target has been given, and $b$ the target's own.
#
# - The first part runs over all $B \cdot N_Q$ queries, and has **one** denominator for the whole batch. This weighted
#   mean is what `F.cross_entropy` computes if it is given `weight`. The probabilities $p$ are a softmax over all
#   $C + 1$ classes.
# - The second part is summed over all pictures and divided once. The distance is the *sum* of the four absolute
#   differences, in centre format.
# - Where `exists` is False, `labels`, `targets` and `matched` hold legal numbers that mean nothing. In particular,
#   `matched` may name a query there that has a target of its own, and this query's task stays what it is.
# - Padding may be anywhere: in front, behind, or between targets. There may be more places than queries, pictures
#   without any target, and batches without any.
#
# For example, one picture with one class, two queries, one target of class 0 at (0.5, 0.5, 0.4, 0.4), and one place of
# padding. Let `matched` be `[[1, 0]]` and `exists` be `[[True, False]]`. Both queries have the logits (ln 3, 0), so
# their probabilities are ¾ for class 0 and ¼ for *no object*. The box of query 1 is (0.5, 0.5, 0.2, 0.4).
#
# | | weight | $-\log p$ |
# |---|---|---|
# | query 0 should say *no object* | 0.1 | ln 4 = 1.3863 |
# | query 1 should say class 0 | 1 | ln 4/3 = 0.2877 |
#
# The first part is $(0.1386 + 0.2877)/1.1 = 0.3876$. The second is $5 \cdot 0.2 + 2 \cdot (1 - 0.5) = 2$, whatever the
# box of query 0. So the loss is 2.3876.
#
# <details><summary>Hint: the idea</summary>
#
# `matched` leads from targets to queries. The boxes can be picked in this direction. The classes need the other one:
# what should each query say, also those that no target leads to?
# </details>
# <details><summary>Hint: shapes</summary>
#
# The classes that the queries should name are `[B, N_Q]`. Indexing `[B, N_T]` with `exists` gives `[n]`, one entry for
# each pair. A pair is found in `boxes` by two numbers, those of its picture and of its query. `F.cross_entropy` wants
# the classes on axis 1, or all queries of all pictures in one row.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. The pairs: picture, query and target of each.
# 2. The class that each query should name, beginning with a table in which all have nothing to report.
# 3. Weights of the classes, and the weighted mean of the cross-entropies.
# 4. For the pairs, distances and overlaps, summed.
# 5. The sum of both parts, with a denominator that is never 0.
# </details>


# %% nbgrader={"grade": false, "grade_id": "set_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def set_loss(
    logits: Float[Tensor, "B N_Q C+1"],
    boxes: Float[Tensor, "B N_Q 4"],
    labels: Int[Tensor, "B N_T"],
    targets: Float[Tensor, "B N_T 4"],
    exists: Bool[Tensor, "B N_T"],
    matched: Int[Tensor, "B N_T"],
) -> Float[Tensor, ""]:
    """DETR's loss of a batch, for a given matching.

    Args:
        logits: of the queries' classes; the last class is no object.
        boxes: of the queries, in centre format.
        labels: the targets' classes, from 0 to C - 1.
        targets: the targets' boxes, in centre format.
        exists: True where there is a target, False where there is padding.
        matched: the query of each target; without meaning at padding.

    Returns:
        the loss, a single number.

    Example:
        logits = [[[ln 3, 0], [ln 3, 0]]], boxes = [[[0.1, 0.1, 0.1, 0.1], [0.5, 0.5, 0.2, 0.4]]],
        labels = [[0, 0]], targets = [[[0.5, 0.5, 0.4, 0.4], [0.5, 0.5, 1, 1]]], exists =
        [[True, False]] and matched = [[1, 0]] give 0.3876 + 2 = 2.3876.
    """
    ### BEGIN SOLUTION
    nothing = logits.shape[-1] - 1
    picture = torch.arange(len(exists), device=exists.device)[:, None].expand_as(exists)[exists]  # [n], as all below
    query, label, there = matched[exists], labels[exists], targets[exists]

    tasks = torch.full(logits.shape[:2], nothing, device=logits.device)  # [B, N_Q]; most queries keep this
    tasks[picture, query] = label.to(tasks.dtype)
    weight = torch.ones_like(logits[0, 0])
    weight[nothing] = 0.1
    class_loss = F.cross_entropy(logits.mT, tasks, weight=weight)  # classes on axis 1; divides by the sum of the weights

    ours = boxes[picture, query]  # [n, 4]
    _, giou = overlaps(ours, there)  # each box with its own target
    box_loss = 5 * F.l1_loss(ours, there, reduction="sum") + 2 * (1 - giou).sum()
    return class_loss + box_loss / max(1, len(there))  # without any target the sums are 0, and so is this part
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_set_loss", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(set_loss)

# %% [markdown]
# ### A matching, drawn
#
# The next cells put exercises 3 to 5 together. They take a picture of three objects and make up the answers of six
# queries: three queries have half found an object, the others guess. Change `seed` and see who is given what. Nothing
# is graded here.


# %%
def draw_a_matching(seed=0):
    """A picture with made-up answers of six queries, the table of costs, and the matching."""
    torch.manual_seed(seed)
    scene = next(one for one in crowds.crowds(100, seed) if len(one.things) == 3)
    labels, targets, exists = crowds.answers([scene])  # [1, 3], [1, 3, 4], [1, 3]
    boxes = torch.rand(6, 4) * 0.3 + torch.tensor([0.35, 0.35, 0.2, 0.2])
    finders = torch.randperm(6)[:3]
    boxes[finders] = targets[0] + 0.06 * torch.randn(3, 4)
    logits = torch.randn(6, 5)
    logits[finders, labels[0]] += 2
    boxes = boxes.clamp(0.05, 0.95)
    costs = matching_costs(logits, boxes, labels[0], targets[0])
    matched = match(costs)
    loss = set_loss(logits[None], boxes[None], labels, targets, exists, matched[None])
    kinds, objects = [*scenes.SHAPES, "no object"], [f"{'ABC'[t]} {scenes.SHAPES[k]}" for t, k in enumerate(labels[0])]
    names = [f"{kinds[row.argmax()]} {row.max():.0%}" for row in logits.softmax(dim=-1)]
    figure = drawing.matching(scenes.images([scene])[0], boxes, names, costs, matched.tolist(), targets[0], objects)
    given = ", ".join(f"{name} to query {q}" for name, q in zip(objects, matched.tolist()))
    show(figure, f"A picture with three objects and the boxes of six queries; beside it the costs. Given: {given}.")
    print(f"sum of costs {costs[matched, range(3)].sum():.2f}, loss {loss:.2f}")


# %% tags=["play"]
try:
    draw_a_matching(seed=0)
except NotImplementedError:
    print("This works as soon as exercises 3 to 5 are finished.")

# %% [markdown]
# ## 6 · A decoder of queries
#
# A decoder becomes a detector when learned vectors, the **object queries**, join its queries in attention, and its
# causal mask is left out ([lesson 14](../../notebooks/14_set_prediction.ipynb), "Queries that look for things"). The
# constructor is given; write `forward`. `memory` is `[B, N, D]`, the cells of the pictures, and `position` is `[N, D]`,
# the encodings of the cells' places, the same for all pictures.
#
# The stream $Y$, `[B, N_Q, D]`, begins with zeros. Layer $n$ has three sublayers, in the pre-norm wiring. With
# attention written as (what asks, keys, values), and with $S$ for the object queries `queries`, `[N_Q, D]`:
#
# $$\begin{aligned}
# Z &= \mathrm{norm\_own}_n(Y), & Y &\leftarrow Y + \mathrm{own}_n(Z + S,\; Z + S,\; Z) \\
# Z &= \mathrm{norm\_cross}_n(Y), & Y &\leftarrow Y + \mathrm{cross}_n(Z + S,\; \mathrm{memory} + \mathrm{position},\;
# \mathrm{memory}) \\
# Z &= \mathrm{norm\_mlp}_n(Y), & Y &\leftarrow Y + \mathrm{mlp}_n(Z)
# \end{aligned}$$
#
# After **each** layer the same two heads read the stream through the same norm, while the stream itself runs on as it
# is:
#
# $$\mathrm{logits}_n = \mathrm{to\_classes}(\mathrm{norm}(Y)), \qquad
# \mathrm{boxes}_n = \mathrm{sigmoid}\bigl(\mathrm{to\_boxes}(\mathrm{norm}(Y))\bigr).$$
#
# Return the pair `(logits, boxes)`, `[num_layers, B, N_Q, C+1]` and `[num_layers, B, N_Q, 4]`. The auxiliary losses
# need the answers of all layers.
#
# - The object queries and the positions say who asks and where a cell lies. They are added wherever the formulas have
#   them, in every layer, and never to values.
# - There is no mask at all: the queries see each other, and they see every cell.
# - The memory is used as it is, without a norm, and there is no dropout.
# - `nn.MultiheadAttention` returns a pair, of which the first is the result; its output projection is included.
#
# For example, let `D = 2`, `H = N_Q = C = num_layers = 1`. The norms have the weight 1 and the bias 0, and all other
# weights and biases are 0, except that the value and output projections of `cross` and the layer `to_classes` give back
# what they get. All scores are 0, so the query takes the mean of the cells. With the cells $(1, 3)$ and $(3, 5)$:
#
# | after | stream |
# |---|---|
# | the self-attention of zeros | $(0, 0)$ |
# | the cross-attention | $(2, 4)$ |
# | the MLP | $(2, 4)$ |
#
# The heads read $\mathrm{norm}(Y) = (-1, 1)$, up to rounding. So the logits are $(-1, 1)$, and the box is
# $(0.5, 0.5, 0.5, 0.5)$, the sigmoid of zeros. The object query and the positions may be anything here, since they
# enter scores alone.
#
# <details><summary>Hint: the idea</summary>
#
# It is a decoder block without its mask, in a loop over the layers, with two kinds of labels that are attached to what
# is compared and not to what is handed on. The heads look on from the side.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `queries` is `[N_Q, D]` and `position` is `[N, D]`: both broadcast over the batch when they are added. The stream has
# its batch axis from the start. Answers of the layers go along a new first axis.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. A stream of zeros for each picture and query, in the type of the weights.
# 2. For each layer: the queries among themselves, then the picture, then the MLP; each reads through a norm of its own
#    and adds to the stream.
# 3. Still within the loop: what the heads say now.
# 4. The answers of all layers, one on top of another.
# </details>


# %% nbgrader={"grade": false, "grade_id": "QueryDecoder", "locked": false, "schema_version": 3, "solution": true, "task": false}
class QueryDecoder(nn.Module):
    """DETR's decoder with the norms in front: learned queries look at each other and at a picture.

    Args:
        D: width of the stream and of the memory.
        H: number of heads, a divisor of D.
        N_Q: number of object queries.
        C: number of classes, no object not counted.
        num_layers: number of layers.

    Example:
        QueryDecoder(D=256, H=8, N_Q=100, C=91, num_layers=6) takes a memory [2, 850, 256] and
        positions [850, 256], and gives logits [6, 2, 100, 92] and boxes [6, 2, 100, 4].
    """

    def __init__(self, D: int, H: int, N_Q: int, C: int, num_layers: int):
        super().__init__()
        layers = range(num_layers)
        self.queries = nn.Parameter(torch.randn(N_Q, D))
        self.norm_own = nn.ModuleList(nn.LayerNorm(D) for _ in layers)
        self.own = nn.ModuleList(nn.MultiheadAttention(D, H, batch_first=True) for _ in layers)
        self.norm_cross = nn.ModuleList(nn.LayerNorm(D) for _ in layers)
        self.cross = nn.ModuleList(nn.MultiheadAttention(D, H, batch_first=True) for _ in layers)
        self.norm_mlp = nn.ModuleList(nn.LayerNorm(D) for _ in layers)
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(D, 4 * D), nn.ReLU(), nn.Linear(4 * D, D)) for _ in layers
        )
        self.norm, self.to_classes, self.to_boxes = nn.LayerNorm(D), nn.Linear(D, C + 1), nn.Linear(D, 4)

    def forward(
        self, memory: Float[Tensor, "B N D"], position: Float[Tensor, "N D"]
    ) -> tuple[Float[Tensor, "num_layers B N_Q C+1"], Float[Tensor, "num_layers B N_Q 4"]]:
        """What the queries answer after each layer.

        Args:
            memory: the cells of each picture.
            position: the encodings of the cells' places.

        Returns:
            logits: of the classes, after each layer.
            boxes: in centre format, between 0 and 1, after each layer.
        """
        ### BEGIN SOLUTION
        slots, keys = self.queries, memory + position  # both are the same in all layers
        Y = torch.zeros_like(slots).repeat(len(memory), 1, 1)  # [B, N_Q, D]; nothing has been found yet
        logits, boxes = [], []
        for n in range(len(self.mlp)):
            Z = self.norm_own[n](Y)
            Y = Y + self.own[n](Z + slots, Z + slots, Z, need_weights=False)[0]  # what is handed on is Z alone
            asking = self.norm_cross[n](Y) + slots
            Y = Y + self.cross[n](asking, keys, memory, need_weights=False)[0]
            Y = Y + self.mlp[n](self.norm_mlp[n](Y))
            read = self.norm(Y)  # for the heads; Y goes on without this norm
            logits.append(self.to_classes(read))
            boxes.append(self.to_boxes(read).sigmoid())
        return torch.stack(logits), torch.stack(boxes)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_QueryDecoder", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(QueryDecoder)

# %% [markdown]
# ## 7 · Average precision
#
# The lesson went through five detections whose hits were known ([lesson
# 14](../../notebooks/14_set_prediction.ipynb), "How good is a detector?"). You find the hits, too. All detections and
# targets are of one class and in one picture. `scores` is `[N]` and `boxes` is `[N, 4]`, the detections in any order;
# `targets` is `[M, 4]`, with at least one target. The boxes are in **corner format**. `threshold` is a number between
# 0 and 1. The result is a single number.
#
# 1. Go through the detections from the highest score to the lowest. Each detection takes, **among the targets that are
#    left**, the one with which its IoU is largest, if this IoU is at least `threshold`. Then the detection is a hit,
#    and the target is no longer left. Otherwise the detection is a false positive and takes nothing. This is COCO's
#    rule; Pascal VOC looks for the best of *all* targets first, and calls the detection false if that one is taken.
# 2. After the first $n$ detections, in this order, the precision $P_n$ is the share of hits among them, and the recall
#    $R_n$ is the number of hits among them, divided by $M$. Targets that are never found count in $M$.
# 3. With $R_0 = 0$,
#
# $$\mathrm{AP} = \sum_{n=1}^{N} (R_n - R_{n-1}) \cdot \max_{m \geq n} P_m .$$
#
# The sum is exact: it has a term at each new recall, and not at 11 or 101 fixed ones. Scores differ from each other,
# and no IoU lies close to the threshold. A detector may have no hit at all. No gradient is asked for.
#
# For example, with a threshold of 0.5 and these IoUs with three targets:
#
# | score | target 0 | target 1 | target 2 | takes | precision | best from here |
# |---|---|---|---|---|---|---|
# | 0.9 | 0.8 | 0.6 | 0 | target 0 | 1 | 1 |
# | 0.8 | 0.3 | 0.4 | 0.45 | nothing | 1/2 | 3/4 |
# | 0.7 | 0.7 | 0.6 | 0 | target 1 | 2/3 | 3/4 |
# | 0.4 | 0 | 0 | 0.9 | target 2 | 3/4 | 3/4 |
# | 0.2 | 0.9 | 0 | 0 | nothing | 3/5 | 3/5 |
#
# The recall grows by 1/3 at the first, third and fourth detection, so $\mathrm{AP} = (1 + 3/4 + 3/4)/3 = 0.8333$.
#
# <details><summary>Hint: the idea</summary>
#
# There are two problems that hardly touch each other. The first turns boxes into a list of hits and misses, and needs a
# loop, since each choice depends on those before it. The second turns this list into a number and needs none.
# </details>
# <details><summary>Hint: shapes</summary>
#
# All IoUs are `[N, M]`. `overlaps` expects boxes in centre format. Which targets are left is `[M]`, and the hits in the
# order of the scores are `[N]`. `torch.cummax` looks back along an axis: how can it look ahead?
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. The IoU of all pairs, and the order of the detections.
# 2. In this order: the best of what is left, whether it is good enough, and what follows for the others.
# 3. Precision after each detection, and the best from there on.
# 4. What the steps of the recall are worth.
# </details>


# %% nbgrader={"grade": false, "grade_id": "average_precision", "locked": false, "schema_version": 3, "solution": true, "task": false}
def average_precision(
    scores: Float[Tensor, "N"], boxes: Float[Tensor, "N 4"], targets: Float[Tensor, "M 4"], threshold: float
) -> Float[Tensor, ""]:
    """The area under precision over recall, for the detections of one class in one picture.

    Args:
        scores: of the detections, in any order.
        boxes: of the detections, in corner format.
        targets: the boxes that should be found, in corner format.
        threshold: the least IoU of a hit.

    Returns:
        the average precision, between 0 and 1.

    Example:
        scores = [0.3, 0.9, 0.6], boxes = [[0.6, 0.6, 1, 1], [0, 0, 0.4, 0.4], [0, 0, 0.4, 0.3]],
        targets = [[0, 0, 0.4, 0.4], [0.6, 0.6, 1, 1]] and threshold = 0.5: the surest detection is
        a hit, the next one finds its target taken, the last one is a hit. This gives (1 + 2/3) / 2
        = 0.8333.
    """

    ### BEGIN SOLUTION
    def centred(corners):
        low, high = corners.chunk(2, dim=-1)
        return torch.cat([(low + high) / 2, high - low], dim=-1)

    iou, _ = overlaps(centred(boxes)[:, None], centred(targets))  # [N, M]
    left = torch.ones_like(targets[:, 0], dtype=torch.bool)
    hits = []
    for row in iou[scores.argsort(descending=True)]:
        best, target = row.where(left, -1).max(dim=0)  # what is taken cannot be the best
        hits.append(best >= threshold)
        left[target] &= ~hits[-1]
    hits = torch.stack(hits)  # [N], in the order of the scores

    precision = hits.cumsum(dim=0) / torch.arange(1, len(hits) + 1, device=hits.device)
    best_from_here = precision.flip(0).cummax(dim=0).values.flip(0)  # seen from behind, what follows comes first
    return (best_from_here[hits].sum() / len(targets)).to(scores.dtype)  # the recall grows by 1 / M at each hit
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_average_precision", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(average_precision)

# %% [markdown]
# ## 8 · Stretch: queries that know too much
#
# This exercise earns no points. DETR learns slowly, since its queries have to find out what their tasks are while these
# are given out anew in each step. DN-DETR (Li et al., 2022) adds queries whose task is known: targets with a little
# noise, which should be restored ([lesson 14](../../notebooks/14_set_prediction.ipynb), "Going further"). There are
# `groups` groups of them, and each group holds every target once, `size` in all, with noise of its own. A noised query
# nearly is the answer, so it has to be decided who may look at it in the decoder's self-attention.
#
# Return `allowed`, `[N, N]` with $N = \mathrm{groups} \cdot \mathrm{size} + N_Q$, True where a row may attend to a
# column. In rows and columns alike, the noised queries come first, group after group, `size` in each; the last `N_Q`
# are the queries of the matching.
#
# 1. All queries of one group may attend to each other, in both directions and to themselves. A set has no order.
# 2. No group may attend to another one, which holds the same targets with other noise.
# 3. Noised queries may attend to the queries of the matching.
# 4. The queries of the matching may attend to each other, and to **no** noised query. They could otherwise copy the
#    answers without looking at the picture, and when the model is used there are no noised queries to copy from.
#
# `size` and `N_Q` are at least 1. `groups` may be 0, as when the model is used: then all queries see each other. The
# function is given numbers alone, and its result is on the CPU.
#
# For example, `groups = 2`, `size = 2` and `N_Q = 3` give these rows, with 1 for True and gaps between the groups:
#
# | row | may attend to |
# |---|---|
# | 0, 1 (group 0) | 11 00 111 |
# | 2, 3 (group 1) | 00 11 111 |
# | 4, 5, 6 (the matching) | 00 00 111 |
#
# <details><summary>Hint: the idea</summary>
#
# Give each query a number that says to which group it belongs. Which number would be good for the queries of the
# matching, and how do rules 1 to 4 read then?
# </details>
# <details><summary>Hint: shapes</summary>
#
# Group numbers are `[N]`. They are needed once for rows, `[N, 1]`, and once for columns, `[N]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# 1. A number for each place.
# 2. Rules that ask about both, row and column.
# 3. The rule that asks about the column alone.
# </details>


# %% nbgrader={"grade": false, "grade_id": "denoising_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def denoising_mask(groups: int, size: int, N_Q: int) -> Bool[Tensor, "N N"]:
    """DN-DETR's mask of the decoder's self-attention.

    Args:
        groups: number of groups of noised queries, 0 if there are none.
        size: number of queries in each group.
        N_Q: number of queries that take part in the matching; they come last.

    Returns:
        True where a query (row) may attend to a query (column).

    Example:
        groups = 2, size = 1 and N_Q = 1 give [[True, False, True], [False, True, True],
        [False, False, True]].
    """
    ### BEGIN SOLUTION
    place = torch.arange(groups * size + N_Q)
    group = (place // size).clamp(max=groups)  # the queries of the matching are one more group, the last
    return (group[:, None] == group) | (group == groups)  # one's own group, and the last one for everybody
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_denoising_mask", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(denoising_mask)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_detector", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 9 · A detector for a team
#
# A team that counts and measures what cameras see has replaced its old detector by DETR. Answer in fourteen to eighteen
# sentences, in the cell below:
#
# 1. The team still deletes detections by non-maximum suppression, "to be on the safe side". Which part of the *loss*
#    makes two queries refrain from claiming the same object, and which part of the *decoder* makes it possible for
#    them? Describe a picture in which suppression does harm. Then propose an experiment that tells whether the team
#    still needs suppression, with what is measured, and say which result would speak for keeping it.
# 2. The model has 25 queries. A picture holds 5 objects on average, and 30 at most. What happens to a picture of 30
#    objects, in training and in use? A colleague proposes 1,000 queries, "so that we never have to think about it
#    again". What does this cost in the decoder and in the matching, and how does it change the balance in exercise 5's
#    cross-entropy? Compute the share of *no object* in the sum of the weights for a picture of 5 objects, with 25 and
#    with 1,000 queries, and draw a conclusion.
# 3. The table shows two detectors on COCO with the same backbone (Carion et al., 2020, table 1). The columns *small*
#    and *large* are AP for small and for large objects:
#
#    | | AP | AP50 | AP75 | small | large |
#    |---|---|---|---|---|---|
#    | Faster R-CNN, FPN, plus | 42.0 | 62.1 | 45.5 | 26.6 | 53.4 |
#    | DETR | 42.0 | 62.4 | 44.2 | 20.5 | 61.1 |
#
#    "The AP is equal, so either will do", says the colleague. Which of the two would you try first for birds far away,
#    and which for a robot that grips large parcels and needs tight boxes? Give a reason from the table for each, and
#    for the parcels name a number that is missing in it. For the birds, the team wants to report how many there are.
#    Why does even an AP on pictures of birds not tell how well a detector counts, and what would you measure instead?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: why suppression is not needed.** Loss: each object is given to one query, and every other query has *no
# object* as its task, however well its box fits; so a second claim is punished by the cross-entropy. (½ for one query
# for each object *and* the task of the others. "The Hungarian algorithm finds the best pairs" alone earns nothing: it
# does not say what happens to the second query.) Decoder: in the self-attention the queries see each other and can
# settle which of them speaks; without it each query would have to decide alone, from the picture. (½. That learned
# queries differ from each other is true and may be added; it explains different answers and not that one query keeps
# silent because of another. Cross-attention earns nothing here.)
#
# **1 point: harm and experiment.** Harm: two real objects of a class whose boxes overlap strongly, such as people in a
# crowd, a foal before its mother, books in a pile; suppression deletes a right detection. (½; overlap of *different*
# objects must be said.) Experiment: the same trained model with and without suppression, its last layer, on held-out
# pictures and with the same choice of a threshold for the scores; measured are AP and, since AP hardly notices doubles
# with low scores, the share of pictures with an object claimed twice, or counted wrongly; best also for pictures with
# overlapping objects alone. If suppression clearly raises these, for several seeds, it should be kept. (½ for the
# comparison with a measure and the result that would decide for keeping it. Comparing DETR with the old detector earns
# nothing: too much differs.)
#
# **1 point: the number of queries.** A picture of 30: at most 25 detections come out, so at least 5 objects are never
# found, a recall of at most 25/30 = 0.83; in training a matching can give away only 25 targets, and the others have no
# query that learns them. (½ for both. "The program stops" counts for training: exercise 4 asks for N_Q ≥ N_T.) With
# 1,000 queries the scores of the self-attention grow with the square, here 1,600 times as many; those of the
# cross-attention and the MLPs 40 times; the Hungarian algorithm has a larger table, and also takes longer. The sum of
# the weights: with 25 queries 5 · 1 + 20 · 0.1 = 7, of which *no object* has 2/7 = 29 %; with 1,000 it is 5 + 99.5 =
# 104.5, and *no object* has 95 %. So silence rules the loss again, and the weight would have to be lowered (to about
# 0.002 for the same share), or better, the number of queries is chosen somewhat above the largest number of objects,
# such as 40 or 50. (½ for one cost with how it grows, both shares, and a conclusion; ¼ if one of them is missing.)
#
# **1 point: two tasks.** Birds: Faster R-CNN first, since its AP for small objects is 6.1 points higher (the coarse
# grid of DETR keeps little of them; need not be said). (½) Parcels: DETR first, with 7.7 points more for large objects,
# an AP that includes the thresholds up to 0.95. But AP75 is slightly *lower* for DETR; that column mixes objects of all
# sizes and is pulled down by the small ones, if it is they. What is missing is AP75 (or 0.9) for large objects alone.
# (½ for the choice with its number and the missing number. "DETR, because of AP50" earns nothing: it is about loose
# boxes, and the difference is 0.3. Faster R-CNN because of AP75 earns ½ if the answer says that this column is not
# about large objects alone, and asks for the missing number.) Other wishes, such as pictures of their own rather than
# COCO, are welcome and count as additions.
#
# **1 point: counting.** AP looks at the order of the scores only; any number of false detections may be added with
# scores below all hits without changing it, and doubles with low scores cost little. A count needs a decision, a
# threshold for the score, and AP does not know it. (½ for the order of scores, or false detections at the end of the
# list, as the reason. "AP is a mean" earns nothing.) To be measured: choose the threshold on held-out pictures of
# birds, and then, on other pictures, the share of pictures with the right number, or the mean error of the number,
# better with its sign, so that too many and too few can be told apart; precision and recall at this threshold are as
# good. (½; the threshold must be chosen on other pictures than those that are reported.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_detector", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. The matching gives each object to one query only, and all other queries have *no object* as their task, even those
#    whose boxes fit well. A second claim of the same object is therefore punished by the cross-entropy. In the
#    self-attention the queries see each other, so that they can settle which of them speaks; without it, each would
#    have to decide from the picture alone. Suppression does harm where two real objects of a class overlap strongly,
#    such as two people in a crowd: it deletes one of two right detections. I would take the trained model with and
#    without suppression on held-out pictures, and compare AP and the share of pictures in which an object is claimed
#    twice, with the same threshold for the scores and for several seeds. If both become clearly better by suppression,
#    it should be kept.
#
# 2. With 25 queries at least 5 of 30 objects are never found, so the recall is at most 0.83. In training only 25 of the
#    targets can be given away, and nobody learns from the others. With 1,000 queries the self-attention has 1,600 times
#    as many scores, since they grow with the square, and the Hungarian algorithm gets a table 40 times as large. For
#    5 objects, *no object* has 20 · 0.1 = 2 of a sum of 7 with 25 queries, which is 29 %, and 99.5 of 104.5 with 1,000,
#    which is 95 %. The loss would again be about silence, and the weight would have to be lowered. I would rather take
#    40 queries, somewhat more than a picture can need.
#
# 3. For the birds I would try Faster R-CNN first, since it has 26.6 for small objects where DETR has 20.5. For the
#    parcels I would try DETR, with 61.1 against 53.4 for large objects. Its AP75 is a little lower, but this column
#    mixes all sizes; what is missing is AP75 for large objects alone. AP looks at the order of the scores only: false
#    detections with scores below all hits do not change it, while each of them makes a count wrong. To count, one needs
#    a threshold for the score. I would choose it on held-out pictures of birds, and report on other pictures how often
#    the number is right, and by how much it is too large or too small.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have
# begun.

# %%
progress()
