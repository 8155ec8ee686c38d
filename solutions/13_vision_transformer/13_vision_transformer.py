# %% [markdown]
# # Assignment 13: the Vision Transformer
#
# You write the parts of a Vision Transformer. Images become tokens, by cutting them into patches or by a convolution, and
# patches become images again. Class token and positions are added, and for images of another size the positions are
# interpolated. An encoder with a head makes logits of the tokens. You count the parameters of such a model, and write the
# loss with which it learns from a convolutional network. The stretch is the mask of Swin's shifted windows.
#
# **Goals.** You can cut images into patches and put them together again without mixing up pixels, embed patches in two ways
# that give the same tokens, carry learned positions over to another image size, read the class of an image from its class
# token or from the mean of its patches, count a Vision Transformer exactly, and say what a convolution knows about images
# that a Vision Transformer has to learn.
#
# **What you need.** [Lesson 13](../../notebooks/13_vision_transformer.ipynb), the learned positions of assignment 05 and the
# pre-norm block of assignment 09. The [glossary](../../docs/glossary.md) has all terms and symbols.
#
# | exercise | points | difficulty | minutes |
# |---|---|---|---|
# | 1 · images as patches | 2 | ●●○ | 15 |
# | 2 · back to images | 2 | ●●○ | 15 |
# | 3 · embedding the patches | 2 | ●●○ | 20 |
# | 4 · class token and positions | 1 | ●○○ | 10 |
# | 5 · positions for another image size | 2 | ●●○ | 20 |
# | 6 · encoder, pooling and head | 4 | ●●○ | 25 |
# | 7 · counting a Vision Transformer | 2 | ●●○ | 15 |
# | 8 · the loss of hard distillation | 2 | ●●○ | 15 |
# | 9 · the mask of shifted windows | stretch | ●●● | 25 |
# | 10 · a written answer | 3 | ●●○ | 20 |
#
# It takes about 155 minutes in all, plus about 25 for the stretch.
#
# **How to work.** Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. A
# check tells you what is right or wrong, and which section of the lesson to read again. Run it as often as you like,
# and add cells of your own; please leave the check cells themselves as they are. No exercise needs another exercise's
# code.
#
# **Shapes.** `B` is the batch, `C` the number of channels, `P` the side of a patch in pixels. An image is a grid of patches,
# `rows` of them above each other and `columns` side by side, so it is `rows*P` pixels high and `columns*P` wide, and need not
# be a square. The lesson calls its height `H` and its width `W`; here `H` is the number of heads, in exercise 6. `N` is the
# number of patches, which are counted row by row from the top left. A sequence with its class token has `N+1` tokens, and
# `N+1` is the name of one axis. `D` is the width of the tokens, `D_F` the hidden width of an MLP. Rows, columns, channels and
# patches are counted from 0.
#
# A name such as `columns` in a shape is no variable, unless it is an argument too: read it from a tensor. Results have the
# type of the numbers that came in (double precision if these are).

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
# - Numbers may be 0. (Not asked of `distillation_loss`.)
# - Any size may be 1.
# - Sizes may coincide.
# - There may be hundreds of positions, words or features.
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
from utils.progress import progress

# %% [markdown]
# ## 1 · Images as patches
#
# A Transformer reads a sequence of vectors, and an image is a grid of pixels. The Vision Transformer cuts the image into
# square patches and takes each of them as a token ([lesson 13](../../notebooks/13_vision_transformer.ipynb), "Patches as
# tokens"). Every pixel of the image stands in exactly one patch, and no number changes on the way.
#
# Patch $r \cdot \mathrm{columns} + s$ lies in row $r$ and column $s$ of the grid of patches. As a vector it has
# $C \cdot P \cdot P$ numbers: first all of channel 0, row by row, then all of channel 1, and so on. For channel $c$, and row
# $i$ and column $j$ inside the patch:
#
# $$\mathrm{patches}[b,\; r \cdot \mathrm{columns} + s,\; (c \cdot P + i) \cdot P + j]
# = \mathrm{images}[b,\; c,\; r \cdot P + i,\; s \cdot P + j]$$
#
# `images` is `[B, C, rows*P, columns*P]` and `patches` is `[B, rows*columns, C*P*P]`. Height and width are multiples of `P`;
# you need not check it. With `P = 1` each pixel is a patch of its own, and an image that is `P` high and `P` wide is a single
# patch.
#
# `F.unfold` (`nn.Unfold`; inside torch it is called `im2col`) and `F.pixel_unshuffle` are not allowed here. The method
# `Tensor.unfold` is, and so are `reshape` and all that moves axes.
#
# <details><summary>Hint: the idea</summary>
#
# The height of an image counts two things at a time: which row of patches, and which row of pixels inside a patch. The same
# goes for its width. Once each of these has an axis of its own, what remains is a matter of their order.
# </details>
# <details><summary>Hint: shapes</summary>
#
# With height and width taken apart there are six axes, one each for $b$, $c$, $r$, $i$, $s$ and $j$. In the result $r$ and
# $s$ share an axis, and $c$, $i$ and $j$ share another. `reshape` joins axes that stand side by side, and takes the last of
# them as the one that runs fastest.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# rows, columns from the image's size · split the height, split the width · bring the axes into the order of the formula's
# left side · join them into three
# </details>


# %% nbgrader={"grade": false, "grade_id": "patchify", "locked": false, "schema_version": 3, "solution": true, "task": false}
def patchify(images: Float[Tensor, "B C rows*P columns*P"], P: int) -> Float[Tensor, "B rows*columns C*P*P"]:
    """Images cut into square patches, each of them a vector.

    Args:
        images: the images; height and width are multiples of P.
        P: the side of a patch, in pixels.

    Returns:
        the patches of each image, row by row from the top left; in each the order is channel, row,
        column.

    Example:
        One image with one channel and the rows of pixels [0, 1, 2, 3] and [4, 5, 6, 7], P = 2:
        there are two patches side by side, and the result is [[[0, 1, 4, 5], [2, 3, 6, 7]]].
    """
    ### BEGIN SOLUTION
    B, C, height, width = images.shape
    rows, columns = height // P, width // P
    # The row of the grid runs slower than the row inside a patch, so it comes first; this moves no number.
    grid = images.reshape(B, C, rows, P, columns, P)
    grid = grid.permute(0, 2, 4, 1, 3, 5)  # [B, rows, columns, C, P, P]; to join before this would mix patches
    return grid.reshape(B, rows * columns, C * P * P)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_patchify", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(patchify)

# %% [markdown]
# ## 2 · Back to images
#
# What a model computes for patches is often looked at as an image. A masked autoencoder, for instance, predicts the pixels of
# patches that were hidden from it. So the way back is needed too ([lesson 13](../../notebooks/13_vision_transformer.ipynb),
# "Patches as tokens").
#
# Write the inverse of `patchify`: each number goes back to the place that it came from,
#
# $$\mathrm{images}[b,\; c,\; r \cdot P + i,\; s \cdot P + j]
# = \mathrm{patches}[b,\; r \cdot \mathrm{columns} + s,\; (c \cdot P + i) \cdot P + j]$$
#
# `patches` is `[B, rows*columns, C*P*P]` and `images` is `[B, C, rows*P, columns*P]`. The patches alone do not say how they
# were arranged: 12 of them may be a grid of 3 by 4, of 2 by 6, or a single row. So `rows`, the number of rows of the grid, is
# an argument. The number of columns and the number of channels follow from the shape of `patches`. With `rows = 1` all
# patches stand side by side.
#
# `F.fold` (`nn.Fold`; inside torch it is called `col2im`) and `F.pixel_shuffle` are not allowed here. The function does not
# need your `patchify`, but you can try whether the two undo each other.
#
# <details><summary>Hint: the idea</summary>
#
# Go through `patchify` backwards. Which axes were joined last there? They have to come apart first here, each into parts
# whose sizes you know.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The six axes of exercise 1 are needed again. In the image $r$ and $i$ share an axis, the height, and so do $s$ and $j$, the
# width. Of the two that share an axis, the one that moves on by `P` pixels stands first.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# columns and C from the shape · split the axis of patches, split the numbers of a patch · bring the axes into the order of
# the formula's left side · join them into four
# </details>


# %% nbgrader={"grade": false, "grade_id": "unpatchify", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unpatchify(
    patches: Float[Tensor, "B rows*columns C*P*P"], rows: int, P: int
) -> Float[Tensor, "B C rows*P columns*P"]:
    """Images put together from their patches.

    Args:
        patches: the patches of each image, row by row from the top left; in each the order is
            channel, row, column.
        rows: how many rows the grid of patches has.
        P: the side of a patch, in pixels.

    Returns:
        the images.

    Example:
        patches = [[[0, 1, 4, 5], [2, 3, 6, 7]]] and P = 2, so there is one channel. With rows = 1
        the rows of pixels are [0, 1, 2, 3] and [4, 5, 6, 7]; with rows = 2 they are [0, 1], [4, 5],
        [2, 3] and [6, 7].
    """
    ### BEGIN SOLUTION
    B, N, width = patches.shape
    columns, C = N // rows, width // (P * P)
    # The steps of patchify in reverse order: split, move the axes, join.
    grid = patches.reshape(B, rows, columns, C, P, P)
    grid = grid.permute(0, 3, 1, 4, 2, 5)  # [B, C, rows, P, columns, P]: side by side, and so easily joined
    return grid.reshape(B, C, rows * P, columns * P)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_unpatchify", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(unpatchify)

# %% [markdown]
# ## 3 · Embedding the patches
#
# A patch becomes a token by one linear layer, the same for all patches. Most programs write it as a convolution whose kernel
# is as large as a patch and moves on by a whole patch each time ([lesson 13](../../notebooks/13_vision_transformer.ipynb), "A
# strided convolution does the same"). Sometimes, though, the patches are cut already, for instance because some of them are
# to be masked. Then the same weight acts on them as a matrix ("Patches as tokens").
#
# Make one layer, `projection = nn.Conv2d(C, D, kernel_size=P, stride=P)`. Its weight is `[D, C, P, P]`, one kernel for each
# of the `D` features, and its bias is `[D]`. Let $p$ be patch $n$ of image $b$ as a vector, in the order channel, row,
# column, and $W$ the weight as a matrix `[D, C*P*P]`, each kernel flattened to a row. Then token $n$ is
#
# $$X[b, n] = W p + \mathrm{bias}$$
#
# `forward` is given one of two things, and `None` for the other:
#
# - **images**, `[B, C, rows*P, columns*P]` (1 point): the convolution computes all tokens at once. Its result is
#   `[B, D, rows, columns]`; make it a sequence of tokens, row by row from the top left.
# - **patches**, `[B, rows*columns, C*P*P]`, as `patchify` cuts them (1 point): compute the tokens as a product of matrices,
#   with the weight and the bias of `projection` and no other parameters.
#
# Either way `X` is `[B, rows*columns, D]`, and the patches of an image give the same tokens as the image itself. With `P = 1`
# the layer is a linear layer at each pixel. You need not cut any images here.
#
# <details><summary>Hint: the idea</summary>
#
# A convolution with this stride meets each pixel once. What it computes for one patch and one feature is the sum of products
# of two blocks of numbers of one shape. Does it matter in which order the numbers of the two blocks are listed?
# </details>
# <details><summary>Hint: shapes</summary>
#
# From images: `[B, D, rows, columns]` has its features in the second place, and tokens have them in the last. From patches:
# the product runs over the last axis of `patches`, `C*P*P`. The weight has four axes; which of them belong to a kernel?
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# if there are images: apply the layer, join the axes of the grid, features to the end · otherwise: the weight as a matrix
# with a row for each kernel, patches times that matrix, turned so that it fits, and the rest of the layer
# </details>


# %% nbgrader={"grade": false, "grade_id": "PatchEmbedding", "locked": false, "schema_version": 3, "solution": true, "task": false}
class PatchEmbedding(nn.Module):
    """A vector for each patch.

    Args:
        C: number of channels of an image.
        P: the side of a patch, in pixels.
        D: width of the vectors.

    Example:
        C = D = 1, P = 2, the kernel [[1, 0], [0, 10]] and the bias 0.5: the image with the rows of
        pixels [0, 1, 2, 3] and [4, 5, 6, 7] gives X = [[[50.5], [72.5]]], since 0 + 10 · 5 + 0.5 =
        50.5 and 2 + 10 · 7 + 0.5 = 72.5. So do its patches, [[[0, 1, 4, 5], [2, 3, 6, 7]]].
    """

    def __init__(self, C: int, P: int, D: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)
        ### END SOLUTION

    def forward(
        self,
        images: Float[Tensor, "B C rows*P columns*P"] | None,
        patches: Float[Tensor, "B rows*columns C*P*P"] | None = None,
    ) -> Float[Tensor, "B rows*columns D"]:
        """The tokens of images, or of patches that were cut before.

        Args:
            images: the images; None where patches are given.
            patches: the patches of each image, as `patchify` gives them; None where images are
                given.

        Returns:
            a token for each patch, row by row from the top left.
        """
        ### BEGIN SOLUTION
        if images is not None:
            grid = self.projection(images)  # [B, D, rows, columns]
            return grid.flatten(2).transpose(1, 2)  # the features go to the end; a reshape alone would mix tokens
        # In memory a kernel lies as [C, P, P], which is the order of a patch's numbers: flatten moves none of them.
        weight = self.projection.weight.flatten(1)  # [D, C*P*P]
        return patches @ weight.T + self.projection.bias  # F.linear does this in one call
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_PatchEmbedding", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(PatchEmbedding)

# %% [markdown]
# ## 4 · Class token and positions
#
# The encoder gives a vector for each token, and the head needs one for the whole image. So a Vision Transformer puts one more
# token in front of the patches, the **class token**: a learned vector that belongs to no patch, and in which the encoder can
# gather what the patches tell about the image. Attention by itself takes no notice of the order of its tokens, so a learned
# position is added to each of them ([lesson 13](../../notebooks/13_vision_transformer.ipynb), "The class token and the
# positions").
#
# For the $N$ patch vectors $x_1, \dots, x_N$ of an image, the class token $x_{\mathrm{class}}$ and the positions
# $p_0, \dots, p_N$, return the sequence
#
# $$X = \left[\, x_{\mathrm{class}} + p_0,\; x_1 + p_1,\; \dots,\; x_N + p_N \,\right]$$
#
# `patches` is `[B, N, D]`, `class_token` is `[D]` and `positions` is `[N+1, D]`; the result is `[B, N+1, D]`. Token $n$,
# `X[:, n]`, has the position `positions[n]`. Patch $x_n$ of the formula is token $n$, and in the tensor it is
# `patches[:, n - 1]`. The class token and the positions are the same for all images of the batch. With a single patch,
# $N = 1$, a sequence has two tokens.
#
# <details><summary>Hint: the idea</summary>
#
# Two steps: first make the sequences longer by one token, then add. In the second step nothing needs to be known about which
# of the tokens is the class token.
# </details>
# <details><summary>Hint: shapes</summary>
#
# `torch.cat` wants tensors that differ in the size of one axis alone: `[B, 1, D]` and `[B, N, D]`. `t.expand(B, 1, D)` shows
# a vector `t` of shape `[D]` in that shape without copying it. `[B, N+1, D] + [N+1, D]` broadcasts over the batch.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# first = the class token once for each image, as a sequence of one token · tokens = first and patches, one behind the other
# along the axis of the tokens · add the positions
# </details>


# %% nbgrader={"grade": false, "grade_id": "add_class_token_and_positions", "locked": false, "schema_version": 3, "solution": true, "task": false}
def add_class_token_and_positions(
    patches: Float[Tensor, "B N D"], class_token: Float[Tensor, "D"], positions: Float[Tensor, "N+1 D"]
) -> Float[Tensor, "B N+1 D"]:
    """The sequences that the encoder gets: the class token, then the patches, each with its
    position added.

    Args:
        patches: a vector for each patch of each image.
        class_token: the vector that stands in front of each sequence.
        positions: what is added to each token, first to the class token.

    Returns:
        the sequences, one token longer than the patches.

    Example:
        patches = [[[1, 2]]], class_token = [5, 6], positions = [[10, 20], [30, 40]] give
        [[[15, 26], [31, 42]]].
    """
    ### BEGIN SOLUTION
    B, N, D = patches.shape
    # expand shows the one learned vector to every image; its gradient is the sum over the batch.
    tokens = torch.cat([class_token.expand(B, 1, D), patches], dim=1)  # [B, N+1, D], the class token is token 0
    return tokens + positions  # the same positions for every image
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_add_class_token_and_positions", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(add_class_token_and_positions)

# %% [markdown]
# ## 5 · Positions for another image size
#
# A Vision Transformer that was trained on images of 224 × 224 pixels can be fine-tuned on images of 384 × 384. The patches
# stay as large as they were, so there are more of them. Patch embedding and encoder take no harm: their weights fit any
# number of tokens. But there is one learned position for each place of the old grid, and the new grid has other places. So
# the positions are **interpolated**: the new grid covers the same image as the old one, and each of its places takes its
# position from the old places around it ([lesson 13](../../notebooks/13_vision_transformer.ipynb), "Another image size").
#
# `positions` is `[N+1, D]` with $N = \mathrm{rows} \cdot \mathrm{columns}$: first the class token's position, then those of a
# grid of `rows` by `columns` patches, row by row. Return the positions `[M+1, D]` for a grid of `new_rows` by `new_columns`
# patches, where $M = \mathrm{new\_rows} \cdot \mathrm{new\_columns}$:
#
# - The class token belongs to no place in the image: its position comes first again, unchanged.
# - The others are a grid with $D$ channels, like an image, and are interpolated **bilinearly**.
#
# Bilinearly means: row $i$ of the new grid has its centre at
#
# $$y = \left(i + \tfrac{1}{2}\right) \frac{\mathrm{rows}}{\mathrm{new\_rows}} - \tfrac{1}{2}$$
#
# in rows of the old one, where a $y$ below 0 counts as 0, and one beyond the last row as the last row. The same goes for
# columns. Each new position is the weighted mean of the four old ones around its centre: of the two nearest rows, one at the
# distance $d$ has the weight $1 - d$; columns are weighed in the same way, and the two weights are multiplied.
#
# This is what `F.interpolate` computes with `mode="bilinear"`, `align_corners=False` and `antialias=False`, and you may use
# it. (Libraries differ here: the code of the ViT's authors aligns the corners of the two grids, and transformers takes
# `mode="bicubic"`.)
#
# The new grid may be larger or smaller than the old one, in each direction for itself, and neither needs to be square. Where
# both grids are the same, the positions come back as they were. From a grid of a single patch, each new place gets a copy of
# its position.
#
# <details><summary>Hint: the idea</summary>
#
# The class token's row goes one way and all others go another; they meet again at the end. The others have to look like an
# image to `F.interpolate`: which axis are its channels, and where does it want them?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `F.interpolate` takes `[batch, channels, height, width]`; here the batch is 1 and the channels are the D features. The grid
# is first `[rows, columns, D]`: of these axes the features run fastest, and the columns faster than the rows. `permute`
# changes the order of axes; `reshape` alone never does. Afterwards there is the same way back, to
# `[new_rows, new_columns, D]` and `[M, D]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# split positions behind the first row · the rest as rows by columns by D, then with D in front, and a batch axis ·
# interpolate to the new size · D to the end again, both axes of the grid as one · the first row in front
# </details>


# %% nbgrader={"grade": false, "grade_id": "interpolate_positions", "locked": false, "schema_version": 3, "solution": true, "task": false}
def interpolate_positions(
    positions: Float[Tensor, "N+1 D"], rows: int, columns: int, new_rows: int, new_columns: int
) -> Float[Tensor, "M+1 D"]:
    """Learned positions for a grid of another size.

    Args:
        positions: the class token's position, then those of the old grid, row by row.
        rows: how many rows of patches the old grid has.
        columns: how many patches there are in one of its rows.
        new_rows: how many rows of patches the new grid has.
        new_columns: how many patches there are in one of its rows.

    Returns:
        the class token's position, then those of the new grid, row by row.

    Example:
        positions = [[9], [0], [4]], a grid of 1 by 2, gives for a grid of 1 by 4 the positions
        [[9], [0], [1], [3], [4]].
    """
    ### BEGIN SOLUTION
    D = positions.shape[1]
    class_position, grid = positions[:1], positions[1:]  # [1, D], [N, D]; the first is no neighbour of any patch
    image = grid.reshape(rows, columns, D).permute(2, 0, 1).unsqueeze(0)  # [1, D, rows, columns]
    image = F.interpolate(image, size=(new_rows, new_columns), mode="bilinear", align_corners=False)
    grid = image.squeeze(0).permute(1, 2, 0).reshape(new_rows * new_columns, D)  # [M, D], row by row
    return torch.cat([class_position, grid])
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_interpolate_positions", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(interpolate_positions)

# %% [markdown]
# ## 6 · Encoder, pooling and head
#
# After the patches have become tokens, a Vision Transformer is an encoder like any other: pre-norm blocks, as in assignment
# 09, and a norm after the last one. What is left to decide is how a sequence of vectors becomes one vector for the image,
# from which a linear layer makes the logits of the classes ([lesson 13](../../notebooks/13_vision_transformer.ipynb),
# "Encoder, pooling and head"). There are two usual answers: the class token, which has gathered what it needs from the
# patches, or the mean of the patches.
#
# Write the model from the tokens to the logits, with either pooling. `X` `[B, N+1, D]` holds the class token at position 0
# and the $N$ patches behind it, with their positions added already. With $X_0 = X$ and $l = 1, \dots, \mathrm{depth}$:
#
# $$X_l = \mathrm{block}_l(X_{l-1}), \qquad Y = \mathrm{norm}(X_{\mathrm{depth}})$$
#
# Let $y_0, \dots, y_N$ be the rows of $Y$, those of one image. With `mean_pooling=False` (2 points) the logits come from the
# class token, with `mean_pooling=True` (2 points) from the mean of the patches, in which the class token does not count:
#
# $$\mathrm{logits} = \mathrm{head}(y_0) \qquad \mathrm{or} \qquad
# \mathrm{logits} = \mathrm{head}\Big(\frac{1}{N} \sum_{n=1}^{N} y_n\Big)$$
#
# The logits are `[B, classes]`, without a softmax. There is no mask: every token attends to every token. The class token runs
# through all blocks in both forms. With $N = 1$ the mean is that of a single patch.
#
# | name | layer | |
# |---|---|---|
# | `blocks` | `nn.ModuleList` of `depth` blocks (see below) | the encoder; each block has weights of its own |
# | `norm` | `nn.LayerNorm(D)` | pre-norm blocks leave the residual stream as it is, so a norm comes after the last one |
# | `head` | `nn.Linear(D, classes)` | the logits |
#
# Each block is torch's own layer, with four settings that are not its defaults:
#
# ```python
# nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
# ```
#
# <details><summary>Hint: the idea</summary>
#
# The two forms differ in one line: in what is taken from $Y$. It matters that the norm acts on each token before anything is
# averaged: the norm of a mean is not the mean of the norms.
# </details>
# <details><summary>Hint: shapes</summary>
#
# A block maps `[B, N+1, D]` to `[B, N+1, D]`, and so does the norm. Pooling leaves `[B, D]`, whichever way, and the head
# makes `[B, classes]` of it. Of the axis of the tokens one needs either its first entry or all but its first.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# for each block: X = what the block makes of X · normalise · pooled = row 0, or the mean of the other rows · head of pooled
# </details>


# %% nbgrader={"grade": false, "grade_id": "VisionTransformer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class VisionTransformer(nn.Module):
    """A Vision Transformer from its tokens to the logits of the classes.

    Args:
        D: width of the tokens.
        H: number of heads.
        D_F: hidden width of the MLPs.
        depth: number of blocks.
        classes: number of classes.
        mean_pooling: whether the head reads the mean of the patches; if not, it reads the class
            token.

    Example:
        D = 2, classes = 1; all weights and biases of the blocks are 0, so that each block gives
        back what it gets; norm has the weight 1 and the bias 0, head the weight [[1, 2]] and the
        bias [0.5]. X = [[[1, 3], [4, 2], [6, 0], [1, 9]]] becomes Y =
        [[[−1, 1], [1, −1], [1, −1], [−1, 1]]] (up to ε). The class token gives the logit 1.5. The
        mean of the three patches is [1/3, −1/3], which gives 0.1667.
    """

    def __init__(self, D: int, H: int, D_F: int, depth: int, classes: int, mean_pooling: bool):
        super().__init__()
        ### BEGIN SOLUTION
        self.mean_pooling = mean_pooling
        # A new layer in each turn: [layer] * depth would be one layer with one set of weights.
        options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(D, H, D_F, **options) for _ in range(depth))
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, classes)
        ### END SOLUTION

    def forward(self, X: Float[Tensor, "B N+1 D"]) -> Float[Tensor, "B classes"]:
        """The logits of each image.

        Args:
            X: the class token and the patches of each image, with their positions added.

        Returns:
            a logit for each class.
        """
        ### BEGIN SOLUTION
        for block in self.blocks:
            X = block(X)  # [B, N+1, D]
        # In the example the mean of the patches before the norm is [11/3, 11/3], which the norm would make 0.
        Y = self.norm(X)  # each token by its own mean and variance, so before the tokens are averaged
        pooled = Y[:, 1:].mean(dim=1) if self.mean_pooling else Y[:, 0]  # [B, D]
        return self.head(pooled)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_VisionTransformer", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(VisionTransformer)

# %% [markdown]
# ## 7 · Counting a Vision Transformer
#
# A ViT-B/16, whose patches are 16 by 16 pixels, is said to have 86 million parameters. The blocks hold nearly all of them, as
# in every Transformer; the rest belongs to the way into the encoder and out of it, and there the size of the patches and of
# the image come in ([lesson 13](../../notebooks/13_vision_transformer.ipynb), "Counting a ViT"). Count them exactly, to the
# last bias.
#
# The model has
#
# - a patch embedding, the convolution `nn.Conv2d(C, D, kernel_size=P, stride=P)` with its bias;
# - a class token, one vector;
# - a table of learned positions, a row for each of the $N$ patches and one for the class token, where
#   $N = (\mathrm{size}/P)^2$ for square images of `size` by `size` pixels;
# - $L$ blocks, each with an attention of four projections `[D, D]` (queries, keys, values, output), an MLP `[D, D_F]` and
#   `[D_F, D]`, and two LayerNorms;
# - a LayerNorm after the last block;
# - a head from $D$ to the classes.
#
# All linear layers have a bias, and a LayerNorm has a weight and a bias for each feature. How many heads there are makes no
# difference.
#
# Each argument is a tensor of integers `[S]`, one entry for each of $S$ models, and so is the result: `torch.int64`, exact.
# `size` is a multiple of `P`; you need not check it. An image that is a single patch, `size = P`, has $N = 1$. Some of the
# models are so wide that floating-point numbers cannot hold the count exactly: stay with integers.
#
# <details><summary>Hint: the idea</summary>
#
# Go through the model from the image to the logits and write down each layer's weight and bias with their shapes. Two things
# are no layers, and are easily forgotten.
# </details>
# <details><summary>Hint: shapes</summary>
#
# A layer from `n` to `m` features has `n*m` weights and `m` biases; for the patch embedding `n` is how many numbers a patch
# holds. All arguments are `[S]`, so an ordinary formula counts all models at once. `//` divides integers and gives integers;
# `/` does not.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# N = patches on a side, squared · way in = embedding with bias + class token + table · block = attention with biases + MLP
# with biases + two norms · way out = norm + head with bias · way in + L times block + way out
# </details>


# %% nbgrader={"grade": false, "grade_id": "count_vit", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_vit(
    size: Int[Tensor, "S"],
    P: Int[Tensor, "S"],
    C: Int[Tensor, "S"],
    D: Int[Tensor, "S"],
    L: Int[Tensor, "S"],
    D_F: Int[Tensor, "S"],
    classes: Int[Tensor, "S"],
) -> Int[Tensor, "S"]:
    """How many parameters Vision Transformers have.

    Args:
        size: height and width of the images, in pixels.
        P: height and width of a patch.
        C: numbers of channels.
        D: widths of the tokens.
        L: numbers of blocks.
        D_F: hidden widths of the MLPs.
        classes: numbers of classes.

    Returns:
        the number of parameters of each model.

    Example:
        size = [4], P = [2], C = [1], D = [2], L = [1], D_F = [3] and classes = [2] give [81]: 10
        for the patch embedding, 2 for the class token, 10 for the positions, 49 for the block, 4
        for the last norm and 6 for the head. ViT-B/16 has
        86,567,656: size 224, P = 16, C = 3, D = 768, L = 12, D_F = 3072 and 1000 classes.
    """
    ### BEGIN SOLUTION
    N = (size // P) ** 2  # // keeps integers, which are exact
    embedding = C * P**2 * D + D
    tokens = D + (N + 1) * D  # the class token, and the positions of all tokens
    attention = 4 * (D * D + D)
    mlp = (D * D_F + D_F) + (D_F * D + D)
    # The blocks know nothing of the image: a larger one costs more operations, but hardly any parameters.
    block = attention + mlp + 2 * (2 * D)
    head = D * classes + classes
    return embedding + tokens + L * block + 2 * D + head
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_count_vit", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(count_vit)

# %% [markdown]
# ## 8 · The loss of hard distillation
#
# A Vision Transformer has to learn from data what a convolution has built in. Trained on ImageNet alone, the first ones
# were behind convolutional networks. DeiT gains most by augmentation and a careful way of training, and some more by a
# teacher: a trained convolutional network looks at the same images, augmented in the same way, and the Transformer
# learns from what it says. For this a second token joins the class token, the distillation token, with a
# head of its own ([lesson 13](../../notebooks/13_vision_transformer.ipynb), "DeiT: learning from a convolutional network").
#
# In hard distillation the teacher's decision counts as a label. Half of the loss comes from the true labels $y$, half from
# the teacher's decisions $y_t$:
#
# $$\mathcal{L} = \tfrac{1}{2}\, \mathrm{CE}(z_{\mathrm{class}}, y) + \tfrac{1}{2}\, \mathrm{CE}(z_{\mathrm{distillation}}, y_t),
# \qquad y_t = \operatorname{argmax}_v z_{\mathrm{teacher}, v}$$
#
# $z_{\mathrm{class}}$, $z_{\mathrm{distillation}}$ and $z_{\mathrm{teacher}}$ are `class_logits`, `distillation_logits` and
# `teacher_logits`, each `[B, V]` for $V$ classes, and `labels` is `[B]`. CE is the cross-entropy,
# $-\log \mathrm{softmax}(z)_y$, averaged over the $B$ images. Return a single number, a tensor of shape `[]`.
#
# The teacher does not learn: no gradient flows to `teacher_logits`. Each of the two heads learns from its own term alone. The
# teacher's decision counts whether it is right or wrong; where it is always right, both terms have the same labels. No two
# logits of the teacher are equal for an image. `F.cross_entropy` is allowed.
#
# <details><summary>Hint: the idea</summary>
#
# There are two heads and two sources of labels. Which head learns from which? And in what form does `F.cross_entropy` want
# its labels?
# </details>
# <details><summary>Hint: shapes</summary>
#
# `F.cross_entropy(logits, y)` takes logits `[B, V]` and labels `[B]`, integers from 0 to V − 1, and gives a mean, `[]`. The
# teacher's decisions are `[B]`. A target `[B, V]` with fractions would be taken for probabilities.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# decisions = for each image, which class has the teacher's largest logit · the cross-entropy of each of the two heads with
# its own labels · half of each
# </details>


# %% nbgrader={"grade": false, "grade_id": "distillation_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def distillation_loss(
    class_logits: Float[Tensor, "B V"],
    distillation_logits: Float[Tensor, "B V"],
    teacher_logits: Float[Tensor, "B V"],
    labels: Int[Tensor, "B"],
) -> Float[Tensor, ""]:
    """The loss of DeiT with hard distillation.

    Args:
        class_logits: what the head of the class token gives.
        distillation_logits: what the head of the distillation token gives.
        teacher_logits: what the teacher gives for the same images.
        labels: the true classes.

    Returns:
        half the cross-entropy with the labels, plus half that with the teacher's decisions.

    Example:
        One image with two classes: class_logits = [[ln 3, 0]] and labels = [0] give −ln 0.75 =
            0.2877. distillation_logits =
        [[0, 0]] and teacher_logits = [[1, 2]] give −ln 0.5 = 0.6931. The loss is 0.4904.
    """
    ### BEGIN SOLUTION
    decisions = teacher_logits.argmax(dim=-1)  # [B]; argmax has no gradient, so none reaches the teacher
    return (F.cross_entropy(class_logits, labels) + F.cross_entropy(distillation_logits, decisions)) / 2
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_distillation_loss", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(distillation_loss)

# %% [markdown]
# ## 9 · Stretch: the mask of shifted windows
#
# This exercise earns no points. Swin lets each patch attend only to the patches of its own window of $M$ by $M$ patches. So
# that information crosses the borders between windows, every second layer cuts the grid at other places, `shift` rows further
# down and `shift` columns further to the right ([lesson 13](../../notebooks/13_vision_transformer.ipynb), "Swin: attention in
# windows"). Windows at the border would then be smaller than the others. Instead, the whole grid is moved up and to the left
# by `shift`, and what leaves it there comes in again at the opposite side, as `torch.roll` does:
#
# ```python
# moved = grid.roll((-shift, -shift), dims=(0, 1))  # [rows, columns, …]
# ```
#
# Then all windows are whole. But some of them hold patches from opposite edges of the image side by side, and these must not
# attend to each other. You write the mask that keeps them apart.
#
# In the moved grid, row $i$ was **wrapped around** if it came in at the bottom, $i \geq \mathrm{rows} - \mathrm{shift}$, and
# column $j$ if it came in at the right, $j \geq \mathrm{columns} - \mathrm{shift}$. Two positions of a window may attend to
# each other if they agree in both: their rows were both wrapped around or both not, and so were their columns.
#
# The moved grid is cut into $W = (\mathrm{rows}/M) \cdot (\mathrm{columns}/M)$ windows, counted row by row, and the
# $M \cdot M$ positions of a window are counted row by row as well. Return the mask `[W, M*M, M*M]`, `torch.bool`: as in all
# assignments `True` means **may attend**, so `mask[w, m, n]` is `True` where position `m` of window `w` may attend to
# position `n`.
#
# `rows` and `columns` are multiples of $M$, and $0 \leq \mathrm{shift} < M$. With `shift = 0` nothing was moved, and all is
# `True`. The grid may be a single window high or wide: the rule is the same there. There is no tensor among the arguments;
# make the mask on the CPU.
#
# <details><summary>Hint: the idea</summary>
#
# What two positions need to have in common can be said by one number for each position of the grid: how many different
# numbers are needed? Once each window has the numbers of its own positions, you have met this mask before: in assignment 07
# several documents stood in one row.
# </details>
# <details><summary>Hint: shapes</summary>
#
# The numbers are a table `[rows, columns]`. Cutting it into windows is `patchify` with one channel: separate both axes,
# `[rows/M, M, columns/M, M]`, bring the windows' two axes to the front, and join: `[W, M*M]`. To compare all pairs of a
# window, one side is `[W, M*M, 1]` and the other `[W, 1, M*M]`.
# </details>
# <details><summary>Hint: pseudocode</summary>
#
# region = zeros of rows by columns · mark the rows that were wrapped around · mark the columns in a way that cannot be
# confused with it · cut region into windows · compare the numbers of each window with each other
# </details>


# %% nbgrader={"grade": false, "grade_id": "shifted_window_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shifted_window_mask(rows: int, columns: int, M: int, shift: int) -> Bool[Tensor, "W M*M M*M"]:
    """Which positions of each window may attend to each other after the grid has been moved up and
    to the left by `shift`.

    Args:
        rows: how many rows of patches the grid has, a multiple of M.
        columns: how many patches there are in a row, a multiple of M.
        M: how many rows and columns a window has.
        shift: by how many rows, and by how many columns, the grid has been moved; at least 0 and
            less than M.

    Returns:
        a mask for each window, True where a position (row of the mask) may attend to another
        (column of the mask).

    Example:
        rows = 4, columns = 4, M = 2 and shift = 1 give four masks of 4 by 4. In mask[0] all is
        True. In mask[3], the window at the lower right, every position comes from another corner of
        the image: only the diagonal is True. Of mask[1] the first row is
        [True, False, True, False], of mask[2] it is [True, True, False, False].
    """
    ### BEGIN SOLUTION
    region = torch.zeros(rows, columns, dtype=torch.int64)
    region[rows - shift :] += 1  # came in at the bottom
    region[:, columns - shift :] += 2  # came in at the right: 0, 1, 2 and 3 are the four regions
    windows = region.reshape(rows // M, M, columns // M, M).transpose(1, 2).reshape(-1, M * M)  # [W, M*M]
    # One comparison answers both questions. Only windows of the last row and column hold more than one region.
    return windows[:, :, None] == windows[:, None, :]  # [W, M*M, M*M]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_shifted_window_mask", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
from autograder.nbgrader_plugin.test_cell import check
### END HIDDEN TESTS
check(shifted_window_mask)

# %% [markdown] nbgrader={"grade": false, "grade_id": "question_inductive_bias", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## 10 · Why does a convolutional network need fewer images?
#
# In lesson 13 a small convolutional network (CNN) and a small ViT learn from the same images which of four shapes is to be
# seen, without augmentation. With 100 images the CNN is right on 88% of new images and the ViT on 39%; with 1,600 the CNN is
# right on 99.7% and the ViT on 88%; with 12,800 the gap is small. What makes the difference? Answer in six to twelve
# sentences, in the cell below:
#
# 1. What does a convolution assume about images before it has seen one? Name two assumptions, and say by what in a
#    convolutional layer each of them is built in. What does a ViT have to learn from images in their place?
# 2. Now the pixels of every image are shuffled, of those to train with and of those to test with. One fixed permutation moves
#    the patches to other places of the image. Another one moves the pixels inside a patch; it is the same for all patches.
#    Both are the same for all images. Both networks are trained anew. What becomes of the accuracy of the CNN and of that of
#    the ViT, and why? For the ViT, say which of its weights can take up each of the two permutations.
# 3. Images are scarce, and the ViT is to catch up with the CNN. What of that which a convolution has built in can
#    augmentation replace, and how does it bring this into the ViT? And a convolutional teacher, as in exercise 8?
#
# === BEGIN MARK SCHEME ===
#
# **1 point: what is built in.** Two assumptions. Neighbouring pixels belong together (locality): a filter covers a few
# pixels side by side, and within a layer no weight connects pixels farther apart. The same things may be found
# everywhere (translation):
# one filter is used at all places, so what is learned in one place is known in all. A ViT has to learn from images which
# patches are neighbours, since each may attend to every other from the first block on and its positions are a table of
# vectors that says nothing about distances; which pixels of a patch are neighbours, since its embedding takes them as a plain
# vector; and what a thing looks like at each place that it can have. (½ for both assumptions with what builds them in, the
# small filter and the shared weights; ½ for at least one of the things that the ViT has to learn. "Inductive bias" as a word
# alone earns nothing, nor does "a CNN has fewer parameters": which numbers are left out, and which are shared, is what
# matters. "Attention is global" without what has to be learned earns nothing. That a ViT's embedding and MLPs are the same
# for all patches is true and may be added: it helps for moves by whole patches, as far as the positions do not undo it.)
#
# **1 point: shuffled pixels.** The accuracy of the CNN falls. What lies under a filter now comes from different places of the
# image, there are no edges and corners of things to find, and pixels that belong together lie too far apart for one filter:
# its assumptions have become wrong. (Measured: 40% with 100 images and 76% with 1,600, as low as the ViT or lower.) That of
# the ViT stays the same: the permutation inside patches is one of the rows of its embedding's matrix (of the columns of W, as
# exercise 3 has it), and that of the patches is one of the rows of its table of positions. With these rows moved along, the
# ViT gives exactly the logits that it gave before, since attention takes its tokens as a set, and norms and MLPs look at each
# token by itself. Such weights are as easy to learn as the others, since the rows of either table start as random numbers of
# one distribution. (½ for the CNN, with the reason. ½ for a ViT that stays the same, with both weights named; "attention sees
# everything" as the reason earns nothing. That the accuracy may differ by chance, from one random start to another, costs
# nothing. A network that was trained on whole images and is tested on shuffled ones is another experiment; an answer that
# takes it for this one earns nothing for what it says of the ViT.)
#
# **1 point: augmentation and teacher.** Augmentation shows each image moved, with the same label: so the ViT learns by
# examples that a thing stays what it is when it moves, which the convolution has from its shared filter. It stands for
# more images; which changes leave the label as it is, has to be known beforehand. (Mirrored images help as well, but a
# convolution has no mirror symmetry built in.) Locality is not replaced by it. A convolutional teacher labels the same
# images, as they are augmented, by its decisions. In these is what it has learned with both assumptions, so that some
# of it can reach the ViT through labels. The blocks of the ViT stay as they are in either case; a distillation token
# and its head may join. (½ for augmentation: moved images, the same label, and the assumption that this replaces. ½ for
# the teacher: its decisions are labels, and carry what its convolutions know. "More data" or "regularisation" alone
# earns nothing, nor does a teacher that "is better"; naming mirrored images alone earns nothing for augmentation. That
# a teacher which always agrees with the labels adds nothing new is true, and may be added; so may that with 12,800
# images the gap in accuracy is small without either, although the ViT still makes more than ten times as many mistakes.)
#
# === END MARK SCHEME ===

# %% [markdown] nbgrader={"grade": true, "grade_id": "written_inductive_bias", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# 1. A convolution assumes that neighbouring pixels belong together: its filter covers a few pixels side by side, and no
#    weight connects those that lie farther apart. It also assumes that the same things may be found everywhere: one filter is
#    used at all places, so what it has learned in one place it knows in all. A ViT has much less of both: its patches
#    are local and share one embedding, but that is all. Each patch may attend to every other from the first block on,
#    the positions are vectors that say nothing about distances
#    at the start, and the embedding takes a patch as a plain vector. So it has to learn from images which patches and which
#    pixels are neighbours, and what a thing looks like in each place.
#
# 2. The accuracy of the CNN falls, in the lesson to 40% and 76%. What lies under its filter is no longer a piece of the
#    thing, so there are no edges and corners to find, and both assumptions lead astray. That of the ViT stays the same, apart
#    from chance. The permutation inside patches is one of the rows of the embedding's matrix, the columns of W in exercise 3,
#    and the permutation of the patches is one of the rows of the table of positions. With these moved along, the ViT computes
#    the same logits as before, because attention, norms and MLPs take no notice of the order of tokens; and as all rows of
#    such a table begin as random numbers of one kind, it learns them as easily.
#
# 3. Augmentation shows each image moved by some pixels, with the same label. So the ViT learns by examples what the
#    shared filter has built in: that a thing stays what it is wherever it lies. (Locality is not taught in this way.) A
#    convolutional teacher looks at the same augmented images, and its decisions are labels for the distillation token.
#    They carry what the teacher has found out with its small, shared filters, so that some of its assumptions can reach
#    the ViT through labels, while the blocks of the ViT stay as they are.
# ### END SOLUTION

# %% [markdown]
# ## What is done, and what is left
#
# The points of the checks above, as they were when you last ran them. `progress("all")` counts every unit you have begun.
#
# The [milestone](../../milestones/13_my_vit.ipynb) puts what you solved here to work: a Vision Transformer that reads
# digits, made of your own code. It is optional and earns no points.

# %%
progress()
