# %% [markdown]
# # 13 · The Vision Transformer
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/OWNER/attention-course/blob/main/notebooks/13_vision_transformer.ipynb) <!-- badge -->
#
# **You will be able to**
#
# - turn an image into tokens, by cutting it into patches or by a strided convolution, and say why both are the same;
# - build a Vision Transformer with learned positions and a class token or mean pooling, and count its parameters;
# - say what a convolution knows before it has seen any image, and measure what this is worth for few and for many
#   images;
# - look into a trained model: its positions, how far its heads attend, and which patches reach its class token;
# - say what hybrids are, and explain how DeiT, Swin and ConvNeXt answer the Vision Transformer.
#
# **You need** from lesson 03 convolutions and feature maps, from lesson 05 learned positional encodings, from lesson 06
# multi-head attention, and from lesson 09 the Transformer block. Lessons 10 to 12 are not needed, though [lesson
# 12](12_attention_in_vision.ipynb) explains the cost that patches reduce. The terms and symbols of the course are
# listed in the [glossary](../docs/glossary.md).
#
# **Time** about 65 minutes to read; the cells run in about 25 seconds on two CPU cores.

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

# %% tags=["fold"]
# @title Imports and settings
import math
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from utils.data import scenes
from utils.data.digits import digits
from utils.device import device
from utils.figures import captioning, plots
from utils.figures import patches as drawings
from utils.figures.explorers import Choice, Slider, explore
from utils.figures.plots import show
from utils.measures import stored_runs, stored_weights
from utils.models.training import train
from utils.models.vision_transformers import (
    SmallCNN,
    accuracy,
    attention_distance,
    attention_weights,
    augmented,
    patch_distances,
    rollout,
    shuffle_order,
    single_things,
)

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()
BEGUN = time.perf_counter()
generator = torch.Generator().manual_seed(13)


def normal(*shape):
    """Independent numbers with mean 0 and variance 1, the same on every device."""
    return torch.randn(*shape, generator=generator).to(DEVICE)


# %% [markdown]
# ## What are the tokens of a picture?
#
# A Transformer reads a sequence of tokens. In a sentence these are words, or pieces of words. What are they in a
# picture? The pictures of this lesson are windows of 24 by 24 pixels from the scenes of lesson 03, and the model has to
# say which object it sees: a circle, a square, a triangle or a cross.

# %% tags=["fold"]
# @title Draws Figure 1
pictures, labels = single_things(800, seed=0)  # [800, 3, 24, 24], standardised; [800]
new_pictures, new_labels = single_things(1000, seed=1000)  # to test with
names = [scenes.SHAPES[label] for label in labels[:8].tolist()]


def visible(images):
    """Standardised pictures with values from 0 to 1, as they are drawn."""
    return (images / 3 + 0.8).clamp(0, 1)


show(
    captioning.gallery(visible(pictures[:8]), names),
    f"Eight windows of 24 by 24 pixels with some noise: {', '.join(names)}.",
)

# %% [markdown]
# **Figure 1.** Eight pictures and their labels. The objects differ in colour, size and place; there is noise, and
# sometimes a part of a second object.
#
# The obvious answer is that each pixel is a token. A photograph of 224 by 224 pixels, the usual size in such
# experiments, then has 50,176 tokens, and each head of each layer compares all pairs:

# %% tags=["nbval-check-output"]
for side, what in ((1, "each pixel a token"), (16, "patches of 16 by 16")):
    N = (224 // side) ** 2
    print(f"{what:20} {N:6,} tokens, {N**2:13,} attention weights in each head")

# %% [markdown]
# Two and a half billion attention weights for each head of each layer are too many: even if they need not be stored
# (lesson 08), all of them have to be computed. The **Vision Transformer (ViT)** (Dosovitskiy et al., 2021) therefore
# takes something larger than a pixel as a token: a square piece of the picture, called a **patch**. With patches of 16
# by 16 pixels the photograph becomes a sequence of 196 tokens. The size of the patches gave the paper its title, "An
# image is worth 16x16 words". What follows is the Transformer of lesson 09, almost unchanged.
#
# ## Patches as tokens
#
# An image $[C, H, W]$ has $C$ channels (3 for red, green and blue), $H$ rows and $W$ columns; the letter $H$, which
# counted heads from lesson 06 on, is the height here. We cut the image into squares of $P$ by $P$ pixels. This gives
# $N = (H/P) \cdot (W/P)$ patches, counted row by row from the top left. Each patch holds $C \cdot P \cdot P$ numbers,
# which we write in one row as `flatten` reads them: first all of channel 0, row by row, then those of channel 1, and so
# on. For our pictures and $P = 6$:

# %%
C, H, W, P = 3, 24, 24, 6
picture = pictures[0].to(DEVICE)  # [C, H, W]
cut = []
for row in range(0, H, P):
    for column in range(0, W, P):
        cut.append(picture[:, row : row + P, column : column + P].flatten())  # [C * P * P]
patches = torch.stack(cut)  # [N, C * P * P] = [16, 108]

# %% tags=["fold"]
# @title Draws Figure 2
assert patches.shape == (16, 108)
show(
    drawings.cut_up(visible(pictures[0]), P),
    "Above, a picture with the lines along which it is cut into 4 by 4 patches. Below, the sixteen patches in a row, numbered "
    "from 0 to 15, as they are counted: row by row from the top left.",
)

# %% [markdown]
# **Figure 2.** A picture is cut into 16 patches of 6 by 6 pixels, and the patches are put in a sequence, row by row.
#
# It remains to bring each patch to the width $D$ of the model. One matrix $W_E\,[CP^2, D]$ and a bias do this, the same
# for all patches. This **patch embedding** does for a patch what the table of embeddings does for a word:
#
# $$X = \text{patches} \cdot W_E + b_E \qquad [N, CP^2]\,[CP^2, D] = [N, D]$$

# %%
D = 48
W_E, b_E = normal(C * P * P, D) / math.sqrt(C * P * P), normal(D)
X = patches @ W_E + b_E  # [N, D]

# %% [markdown]
# The cut takes no notice of what is in the picture: the circle of Figure 2 is spread over twelve patches. And *within*
# a patch, the matrix does not know which pixels are neighbours; it treats the 108 numbers as a plain vector.
#
# ## A strided convolution does the same
#
# Cutting and multiplying can be done in one step. Do you know a layer that places the same small window on every part
# of an image and multiplies what it sees by the same weights?
#
# It is a convolution (lesson 03) with a filter of $P$ by $P$ pixels. Usually a filter moves by one pixel at a time. If
# it moves by $P$ pixels (a **stride** of $P$), it lands exactly once on each patch, and $D$ filters give $D$ numbers
# there. The weights of the convolution, $[D, C, P, P]$, are the matrix $W_E$ in a different shape: filter $d$ is column
# $d$ of the matrix.

# %%
convolution = nn.Conv2d(C, D, kernel_size=P, stride=P).to(DEVICE)
with torch.no_grad():
    convolution.weight.copy_(W_E.T.reshape(D, C, P, P))  # row d of the transpose, in the order channel, row, column
    convolution.bias.copy_(b_E)
grid = convolution(picture)  # [D, H / P, W / P]
assert_close(grid.flatten(1).T, X, rtol=1e-4, atol=1e-5)  # [D, N] and [N, D]

# %% [markdown]
# Both ways give the same numbers, as long as the orders agree: a patch is flattened in the same order as the
# convolution's weight, and the grid is flattened row by row. Most programs embed patches by a convolution. A ViT is
# thus not free of convolutions: its first layer is a convolution, even if its filters never overlap from one place to
# the next.
#
# ## The class token and the positions
#
# To the model, the tokens are still a set. As in lesson 05, we add a **learned positional encoding**: one vector for
# each of the $N$ places. Each place has a number rather than a row and a column, so nothing tells the model that patch
# 5 lies below patch 1. After training we shall see whether it finds out.
#
# Where do we read the answer? A Transformer gives $N$ output vectors, and we need a single one for the whole picture.
# The ViT borrows an idea from BERT, a Transformer that reads text, and puts one more token in front of the patches, the
# **class token**. It belongs to no patch; its vector is learned, and the same for all pictures. In each block the class
# token attends to the patches and collects what is needed, and at the end the classifier reads its vector only. The
# class token gets a position vector, too, which makes $N + 1$ of them:

# %%
class_token, positions = normal(1, D) * 0.02, normal(17, D) * 0.02  # random here; parameters in the model below
tokens = torch.cat([class_token, X], dim=0) + positions  # [N + 1, D]

# %% [markdown]
# ## Encoder, pooling and head
#
# From here on it is the pre-norm Transformer of lesson 09: blocks, a last normalisation, and a linear layer that gives
# one logit for each class. This layer is called the **classification head**, or simply the head; it has nothing to do
# with the heads of attention. There is no mask: a picture has no past and no future, so every patch may attend to every
# other.

# %% tags=["fold"]
# @title Draws Figure 3
show(
    drawings.vit(visible(pictures[0]), P),
    "A scheme, from below: patches of Figure 2's picture, 0 to N minus 1; W_E turns them into tokens; a class token "
    "stands in front of them; a position vector is added to each of the N plus 1 tokens; they pass through L Transformer "
    "blocks without a mask. Of the N plus 1 outputs only that of the class token is read, by a normalisation and the "
    "head, which gives the K logits.",
)

# %% [markdown]
# **Figure 3.** The Vision Transformer, from the patches of Figure 2 (below) to the logits of $K$ classes (above). What
# is new is below the blocks: the patch embedding, the class token and the positions. Position 0 belongs to the class
# token, so patch $i$ gets $p_{i+1}$.


# %%
class ViT(nn.Module):
    """Images [B, C, S, S] give logits [B, classes]."""

    def __init__(self, P=6, D=48, heads=4, D_F=192, depth=2, classes=4, S=24, C=3):
        super().__init__()
        self.embed = nn.Conv2d(C, D, kernel_size=P, stride=P)
        self.class_token = nn.Parameter(0.02 * torch.randn(1, D))
        self.positions = nn.Parameter(0.02 * torch.randn((S // P) ** 2 + 1, D))
        options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(D, heads, D_F, **options) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, classes)

    def encode(self, images):
        X = self.embed(images).flatten(2).mT  # [B, N, D]
        X = torch.cat([self.class_token.expand(len(X), 1, -1), X], dim=1) + self.positions  # [B, N + 1, D]
        for block in self.blocks:
            X = block(X)
        return self.norm(X)

    def forward(self, images):
        return self.head(self.encode(images)[:, 0])  # the class token's vector


# %% [markdown]
# Instead of reading the class token, one can take the mean over the outputs of all patches (**mean pooling**), as many
# convolutional networks do at their end:
#
# ```python
# self.head(self.encode(images)[:, 1:].mean(dim=1))
# ```
#
# The class token is then no longer needed. The authors of the ViT found that both ways are equally good if the learning
# rate is tuned for each of them.
#
# ## Counting a ViT
#
# Only the first parts of a ViT are new to count: the patch embedding has $CP^2D + D$ parameters, the class token $D$,
# and the positions $(N+1)D$. Each of the $L$ blocks has $4D^2 + 4D$ in attention, $2DD_F + D_F + D$ in the MLP and $4D$
# in two normalisations (lesson 09). The last normalisation has $2D$, and the head $DK + K$ for $K$ classes. The paper
# has three sizes, for pictures of 224 by 224 pixels and 1,000 classes:


# %% tags=["nbval-check-output"]
def parameters_of(S, P, D, L, D_F, C=3, K=1000):
    N = (S // P) ** 2
    block = 4 * D**2 + 4 * D + 2 * D * D_F + D_F + D + 4 * D
    return (C * P**2 * D + D) + D + (N + 1) * D + L * block + 2 * D + (D * K + K)


for name, side, width, depth in (("ViT-B/16", 16, 768, 12), ("ViT-L/16", 16, 1024, 24), ("ViT-H/14", 14, 1280, 32)):
    print(f"{name}: {(224 // side) ** 2} patches, {parameters_of(224, side, width, depth, 4 * width):,} parameters")
ours = sum(weight.numel() for weight in ViT().parameters())
assert ours == parameters_of(24, 6, 48, 2, 192, K=4)
print(f"our ViT: 16 patches, {ours:,} parameters")

# %% [markdown]
# The number after the slash is the patch size, and the counts agree with those of today's libraries to the last digit.
# As in a large language model, almost all parameters are in the blocks.
#
# <details><summary>Going further: the numbers in the paper</summary>
#
# The paper gives 86, 307 and 632 million. The first fits a ViT-B/16 without its head, the second a ViT-L with patches
# of 32 by 32 pixels.
#
# </details>
#
# ## What a convolution knows beforehand
#
# Convolutional networks were made for images. A convolution with a filter of 3 by 3 pixels has two assumptions built
# in:
#
# - **Locality**: pixels that belong together lie close together. An output sees only nine neighbouring pixels.
# - **Translation equivariance**: the same filter works everywhere. If the picture moves by a pixel, the output moves by
#   a pixel, too. The mean over the grid at the end of a network does not depend on where in the grid the numbers are,
#   which makes the answer *invariant*: it stays the same when the object moves. Equivariance and invariance hold only
#   roughly: at the borders, and where a network makes its grid coarser.
#
# Such assumptions, built into a model before it has seen any data, are called the model's **inductive bias**. A ViT has
# less of it. Patches are local, and the embedding and the blocks have the same weights for all patches; but every token
# may attend to every other from the first block on, and the model has to learn which patches are neighbours.
#
# How can we show that a network *uses* its assumptions? We make them false. We choose one random order of the pixels
# and apply it to every picture, in training and in the test: the patches change their places, and within each patch the
# pixels change theirs, in the same way in all patches. No information is lost, but nobody recognises the objects. We
# keep the pixels of a patch together on purpose: an order that scattered them over all patches would also take away the
# little that a ViT has built in, namely that a patch is local.

# %%
ORDER = shuffle_order(24, P, seed=13).to(DEVICE)  # one order of the 576 pixels, for all pictures


def shuffled(images):
    """The same pixels in another order, the same for all images [B, C, 24, 24]."""
    return images.flatten(2)[..., ORDER.to(images.device)].unflatten(2, (24, 24))


# %% tags=["fold"]
# @title Draws Figure 4
few = [0, 3, 4]
kinds = [names[place] for place in few]
figure, panels = plots.canvas(11.5, 2.2, 6)
pairs = [image for place in few for image in (pictures[[place]], shuffled(pictures[[place]]))]
for panel, image, name in zip(panels, pairs, [name for kind in kinds for name in (kind, "shuffled")], strict=True):
    drawings.outline(panel, visible(image)[0], P)
    panel.set_title(name)
show(
    figure,
    f"Three pictures, {', '.join(kinds)}, each beside the same picture with its pixels in another order: nothing can be recognised.",
)

# %% [markdown]
# **Figure 4.** Three pictures, each beside the same picture with its pixels shuffled, all in the same way. The patches
# change places, and so do the pixels within each of them.
#
# What does this do to a ViT? Think about the patch embedding and the positions before you read on.
#
# Shuffling makes no difference at all to what a ViT can learn. The embedding treats a patch as a plain vector of 108
# numbers: if the rows of $W_E$ are put in the same new order as the pixels, each patch gives the same token as before.
# The patches are a set, and only the learned vectors tell where each of them lies: if the position vectors change
# places together with the patches, each token is the same as before. The initial values of $W_E$ are all drawn
# independently from one distribution, and so are those of the position vectors. No order is therefore likelier than
# another at the start, and training treats all orders alike. Apart from chance, a ViT therefore learns shuffled
# pictures as well as the original ones. To check the core of this argument, we copy a ViT, reorder the rows of its
# $W_E$ and its position vectors in this way, and give the copy the shuffled pictures.

# %% tags=["fold"]
# @title Checks the claims and prints the lines below
torch.manual_seed(0)
vit = ViT(P).to(DEVICE).eval()
other = ViT(P).to(DEVICE).eval()
other.load_state_dict(vit.state_dict())
place = torch.arange(24 * 24, device=DEVICE).view(1, 1, 24, 24).float()
moved = shuffled(place).long()  # [1, 1, 24, 24]: where the pixel at each place comes from
from_patch = F.unfold(moved.float(), P, stride=P)[0].T.long()  # [N, P * P]: the pixels' old places, patch by patch
row, column = from_patch // 24, from_patch % 24
patch = (row // P * (24 // P) + column // P)[:, 0]  # [N]: which old patch it was
pixel = (row % P * P + column % P)[0]  # [P * P]: the order within a patch, the same in all
with torch.no_grad():
    other.embed.weight.copy_(vit.embed.weight.flatten(2)[..., pixel].unflatten(2, (P, P)))
    other.positions[1:] = vit.positions[1:][patch]
    difference = (other(shuffled(pictures[:8].to(DEVICE))) - vit(pictures[:8].to(DEVICE))).abs().max()
print(f"largest difference of the logits: {difference:.0e}")
assert difference < 1e-4

# %% [markdown]
# Up to rounding errors, the reordered copy gives the shuffled pictures the same logits that the ViT gives the original
# ones.
#
# A convolutional network has no such way out: most pixels that its filters of 3 by 3 pixels now see together were not
# neighbours before. Its layers and its training are the same; only its assumptions have become false. If it is ahead of
# the ViT on the original pictures and loses this lead on shuffled ones, then the lead came from the assumptions.
#
# ## How many images?
#
# Now we compare our ViT with a small convolutional network (CNN): three layers of filters of 3 by 3 pixels with batch
# normalisation (lesson 09) and ReLU. After each of the first two layers we keep only the largest number in every square
# of 2 by 2, and the network ends with the mean over the grid and a linear head. The CNN has fewer parameters than the
# ViT, but needs about one and a half times as many operations for a picture. Here both learn from 800 pictures, the CNN
# for 300 steps and the ViT for 500, and both are tested on 1,000 new pictures. They use the same learning rate, which
# was tuned for neither.

# %% tags=["fold"]
# @title Prints the lines below


def fitted(kind, count, steps, data, seed, make=None):
    """A model of that kind, trained on the first `count` pictures of `data`, and a function that prepares pictures for it."""
    torch.manual_seed(seed)
    model = (make or (ViT if "ViT" in kind else SmallCNN))().to(DEVICE)
    seeded = torch.Generator().manual_seed(seed)
    images, right = data[0][:count].to(DEVICE), data[1][:count].to(DEVICE)
    prepare = shuffled if "shuffled" in kind else (lambda some: some)

    def batches():
        while True:
            chosen = torch.randint(len(images), (32,), generator=seeded).to(DEVICE)
            some = augmented(images[chosen], seeded) if "augmented" in kind else images[chosen]
            yield prepare(some), right[chosen]

    def loss(model, batch):
        return F.cross_entropy(model(batch[0]), batch[1])

    train(model, batches(), loss, steps=steps, what=f"{kind}, {count:,} pictures")
    return model, prepare


models = {}
for kind, steps in {"CNN": 300, "ViT": 500}.items():
    models[kind], prepare = fitted(kind, 800, steps, (pictures, labels), seed=0)
    size, right = (
        sum(weight.numel() for weight in models[kind].parameters()),
        accuracy(models[kind], new_pictures, new_labels),
    )
    print(f"{kind} with {size:,} parameters, trained on 800 pictures for {steps} steps: accuracy {right:.3f}")

# %% [markdown]
# Guessing gives an accuracy of a quarter. One run of a few hundred steps says little, so our conclusions rest on a
# stored run: up to 12,800 pictures, 4,000 steps for every model, and three seeds.
#
# The stored run has two more curves. For one of them the CNN is trained on shuffled pictures. The ViT needs no such
# curve: as we saw, shuffled pictures would give it the same one, apart from chance. For the other the ViT is trained
# with **data augmentation**. Whenever a picture is used, chance decides whether it is mirrored and how far it is moved,
# up to three pixels in each direction, so that each picture comes in $2 \cdot 7 \cdot 7 = 98$ variants. The moves teach
# by example what the convolutional network has built in: that an object stays what it is when it moves.

# %% tags=["fold"]
# @title Draws Figure 5
STORED = ["CNN", "CNN, shuffled pixels", "ViT", "ViT, augmented"]
LARGER, SIDES = [100, 400, 1600, 12800], [12, 8, 6, 4, 3]  # pictures; sides of a patch, for later


def long_runs():
    """The stored run: accuracies by kind, number of pictures and seed; and by patch size."""
    grid = {kind: [[] for _ in LARGER] for kind in STORED}
    by_side = {str(side): [] for side in SIDES}
    for seed in range(3):
        data = single_things(12800, seed=seed)
        for kind in STORED:
            for place, count in enumerate(LARGER):
                model, prepare = fitted(kind, count, 4000, data, seed)
                grid[kind][place].append(accuracy(model, prepare(new_pictures), new_labels))
        for side in SIDES:
            model, _ = fitted("ViT, augmented", 6400, 1500, data, seed, make=lambda: ViT(side))
            by_side[str(side)].append(accuracy(model, new_pictures, new_labels))
    return {"grid": grid, "sizes": by_side}


if stored_runs.full():
    kept = long_runs()
else:
    record = stored_runs.load("13_vision_transformer")
    kept = record["results"]["long"]
    print(stored_runs.how(record))
grid = kept["grid"]

SHADES = {"CNN": plots.VERMILLION, "CNN, shuffled pixels": plots.ORANGE, "ViT": plots.BLUE, "ViT, augmented": plots.SKY}
# pictures in millions; top-1 accuracy on ImageNet: Dosovitskiy et al. 2021, table 5; BiT: table 2 of its paper, and of theirs
PUBLISHED = {
    "BiT (CNN)": ([1.3, 14, 303], [81.30, 85.39, 87.54]),
    "ViT-B/16": ([1.3, 14, 303], [77.91, 83.97, 84.15]),
    "ViT-L/16": ([1.3, 14, 303], [76.53, 85.15, 87.12]),
    "ViT-H/14": ([14, 303], [85.13, 88.04]),
}
figure, (left, right) = plots.canvas(11, 3.8, 2)
means = {kind: [sum(found) / len(found) for found in grid[kind]] for kind in STORED}
bands = {kind: ([min(found) for found in grid[kind]], [max(found) for found in grid[kind]]) for kind in STORED}
options = {"x_label": "pictures", "y_label": "accuracy", "colours": SHADES, "bands": bands}
plots.curves(LARGER, means, axes=left, **options)
left.set(xscale="log", title="stored: 4,000 steps, three seeds")
left.set_xticks(LARGER, [f"{count:,}" for count in LARGER])
left.minorticks_off()
plots.legend_of(left, fontsize=9, loc="lower right")
for (name, (millions, values)), colour in zip(
    PUBLISHED.items(), (plots.VERMILLION, plots.BLUE, plots.GREEN, plots.PURPLE)
):
    style = {"fmt": "o-"} if "H" not in name else {"fmt": "s--", "markersize": 9, "markerfacecolor": "none"}
    right.errorbar(millions, values, color=colour, label=name, **style)  # hollow, so that what is beneath can be seen
right.set(xscale="log", title="published: ImageNet", xlabel="millions of pictures", ylabel="accuracy, %")
right.set_xticks([1.3, 14, 303], ["1.3", "14", "303"])
right.minorticks_off()
right.grid(True)
plots.legend_of(right, fontsize=9, loc="lower right")
show(
    figure,
    f"Left, stored accuracies for {', '.join(f'{count:,}' for count in LARGER)} pictures: "
    + "; ".join(f"{kind} {', '.join(f'{value:.2f}' for value in values)}" for kind, values in means.items())
    + ". Right, published accuracies in per cent after pre-training on 1.3, 14 and 303 million pictures (ViT-H/14 "
    "only on 14 and 303 million): "
    + "; ".join(f"{name} {', '.join(f'{value:.1f}' for value in values)}" for name, (_, values) in PUBLISHED.items())
    + ".",
)

# %% [markdown]
# **Figure 5.** Accuracy against number of training pictures, on a logarithmic axis. Left, our models, from the stored
# run: the mean of three seeds, and the range from the lowest to the highest. Right, the published comparison. The
# models are first trained (*pre-trained*) on ImageNet (1.3 million photographs of 1,000 classes), ImageNet-21k (14
# million) or JFT (303 million, not public), then trained briefly on ImageNet and tested there. BiT is a very large
# convolutional network with residual connections.

# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
for kind, values in means.items():
    print(f"{kind:21}", "  ".join(f"{count:,}: {value:.3f}" for count, value in zip(LARGER, values)))
gaps = [cnn - vit for cnn, vit in zip(means["CNN"], means["ViT"])]
print("CNN ahead of ViT by", ", ".join(f"{gap:.3f}" for gap in gaps))
assert all(gap > 0 for gap in gaps) and gaps[0] > 0.35 > 0.06 > gaps[-1]
assert means["CNN, shuffled pixels"][2] < means["ViT"][2] and means["CNN, shuffled pixels"][3] < means["ViT"][3]
assert means["ViT, augmented"][0] > means["ViT"][0] + 0.2

# %% [markdown]
# Our models show three results:
#
# - **The convolutional network is ahead of the ViT for every number of pictures, but its lead in accuracy shrinks**:
#   from 0.50 at 100 pictures to 0.02 at 12,800. Locality and equivariance help most where pictures are few, since they
#   replace what pictures would have to teach.
# - **The lead comes from its assumptions.** On shuffled pixels the lead is gone. With 100 or 400 shuffled pictures the
#   convolutional network is about as good as the ViT, which shuffling does not change, and with more it is clearly
#   worse: a strong assumption that is wrong can be worse than a weak one.
# - **Augmentation replaces many pictures.** At 100 pictures it brings the ViT from 0.39 to 0.88, about as far as 1,600
#   pictures do without it. It suits these pictures: their objects differ in place anyway, and a mirrored object keeps
#   its name. But the comparison with the convolutional network of the figure is uneven, since that one learned without
#   augmentation. With augmentation (not drawn; see the section on DeiT) it reaches 0.98 at 100 pictures, so a gap of
#   0.1 remains.
#
# In the published comparison the curves cross: at 14 million pictures BiT is still ahead of all ViTs, but at 303
# million the largest of them, ViT-H/14, has overtaken it. Ours cannot cross, since with 1,600 pictures or more our
# convolutional network makes hardly any mistakes, which leaves a ViT nothing to gain. The published curves also show
# that larger models need more pictures: at 1.3 million, ViT-L is behind the smaller ViT-B.
#
# Neither half of the figure compares architectures alone. In the left half all models are trained alike, but this one
# way of training was tuned for neither and need not suit both equally well; in the right half training differs, too.
# DeiT shows how much this matters (Touvron et al., 2021; below): trained differently, a ViT-B/16 reaches 81.8 % on the
# same 1.3 million pictures, where the figure has 77.9 %.
#
# <details><summary>Going further: the fine print of Figure 5</summary>
#
# - The *ratio* of the mistakes does not fall as the gap does: at 100 pictures the ViT makes about five times as many as
#   the convolutional network, at 12,800 more than ten times as many. This last ratio is rough, since the convolutional
#   network makes only one or two mistakes there in 1,000 pictures.
# - In 4,000 steps each of 100 pictures is seen about 1,280 times, each of 12,800 about ten times. The last point of a
#   curve may therefore be partly a matter of steps.
# - With augmentation, the convolutional network reaches its 0.98 at 100 pictures after only 300 steps instead of 4,000.
#   It is the teacher in the section on DeiT.
# - In the published comparison ViT and BiT differ in schedule and resolution. The last training of the ViTs was at 384
#   by 384 pixels, whereas DeiT's 81.8 % is for pictures of 224 by 224.
#
# </details>
#
# ## Accuracy over compute, and hybrids
#
# Training takes computation as well as pictures, and the ViT paper makes a claim about computation, too. Its authors
# train ResNets, ViTs and hybrids of several sizes on JFT and plot the accuracy against the operations that the training
# takes (figure 5 of the paper). On average over five data sets, a ViT needs only about a quarter to a half of the
# compute of a ResNet to be as good, and the ViTs keep improving within the range tried.
#
# A *hybrid* lets a convolutional network make the tokens. You know the last feature map of such a network from lesson
# 03, where a decoder attended to the cells of the map; in a hybrid each cell becomes a token of a Transformer. Let us
# try this with a CNN that is built like ours but untrained, since we only look at the shapes:

# %%
cells = SmallCNN().to(DEVICE).layers(pictures[:8].to(DEVICE))  # [8, 64, 6, 6]: feature maps of a CNN, not trained here
hybrid = nn.Conv2d(64, D, kernel_size=1).to(DEVICE)(cells).flatten(2).mT  # [8, 36, D]: each cell is a patch of 1 by 1
assert hybrid.shape == (8, 36, D)

# %% [markdown]
# What follows, from the class token on, is the same. In the paper, hybrids are slightly better than pure ViTs where
# compute is small, and the advantage vanishes for larger models. In lesson 14, such a hybrid detects objects.
#
# ## What the positions have learned
#
# From here on we look into one trained ViT. It has patches of 4 by 4 pixels, so that its places form a grid of 6 by 6,
# and learned from 12,800 pictures with augmentation, for 4,000 steps; its weights are stored with this lesson.

# %% tags=["fold"] label="loads the trained ViT"
# @title Loads the trained ViT
SIDE = 4
if stored_runs.full():
    chosen = fitted("ViT, augmented", 12800, 4000, single_things(12800, seed=0), 0, make=lambda: ViT(SIDE))[0]
    stored_weights.keep("13_vision_transformer.vit", chosen)
vit = stored_weights.load("13_vision_transformer.vit", ViT(SIDE)).to(DEVICE)
print(f"accuracy {accuracy(vit, new_pictures, new_labels):.3f}")

# %% [markdown]
# The model was told nothing about rows and columns: each place has a vector of its own, random at first. Is the vector
# of a place similar to those of its neighbours? From all position vectors we subtract their mean, since what they share
# says nothing about the place, and compare the rest by their cosines:


# %%
def place_similarity(positions):
    """The cosines [N, N] between the position vectors [N + 1, D] of the patches, their mean subtracted."""
    own = positions.detach()[1:].cpu()  # [N, D], without the class token's
    own = F.normalize(own - own.mean(dim=0), dim=-1)
    return own @ own.T


places = place_similarity(vit.positions)  # [36, 36]

# %% tags=["fold"]
# @title Draws Figure 6
torch.manual_seed(0)
untrained = place_similarity(ViT(SIDE).positions)
figure = plots.canvas(6, 5.2)[0]
figure.clear()
panels = figure.subplots(6, 6)
for place, panel in enumerate(panels.flat):
    panel.imshow(places[place].view(6, 6), cmap=plots.MAP, vmin=-1, vmax=1)
    panel.set(xticks=[], yticks=[])
    panel.plot(place % 6, place // 6, "x", color=plots.VERMILLION, markersize=6, markeredgewidth=2)
figure.colorbar(panels[0, 0].images[0], ax=panels, label="cosine", shrink=0.6)
show(
    figure,
    "36 small maps, one for each place of a grid of 6 by 6. Each shows how similar the position vector of the marked place "
    "is to those of all places: light at the mark and, for most, near it. For most marks in the middle, the border is "
    "dark; for many marks on the border, the middle is dark and other parts of the border are light.",
)
apart = patch_distances(6, 6)
print(f"{'mean cosine of':15} neighbours  places half a side or more apart")
for name, S in (("untrained", untrained), ("trained", places)):
    print(f"{name:15} {S[apart == 1].mean():+10.2f}  {S[apart >= 3].mean():+27.2f}")
assert places[apart == 1].mean() > 0.3 > 0 > places[apart >= 3].mean()

# %% [markdown]
# **Figure 6.** One map for each of the 36 places of a ViT with patches of 4 by 4 pixels. A cross marks the place, and
# the map shows the cosines of its position vector with those of all places, from dark (−1) to light (1).
#
# The model has found out much of what it was never told: the position vectors of neighbouring places have become
# similar, and those of distant places dissimilar. An untrained model shows no such difference. The maps show a second
# pattern: the places in the middle resemble one another, and many places on the border resemble other places on the
# border, some of them far away. Only the training can have taught all this, since an untrained ViT prefers no order of
# the patches. The authors of the ViT also tried encodings that are given a row and a column, and found them no better.
#
# ## What do the heads attend to?
#
# The attention weights of a model can be read for each block, each head and each query. The token whose query is chosen
# is called the *asking* token. Where do the heads look? Choose pictures, heads and patches:

# %% tags=["fold"]
# @title Explorer of Figure 7
across = 24 // SIDE  # patches side by side
SHOWN = [place for place, label in enumerate(new_labels.tolist()) if label in (0, 3)][:6]  # circles and crosses


def attended(image):
    """The attention weights [depth, heads, N + 1, N + 1] of the trained ViT for one picture."""
    return attention_weights(vit.blocks, lambda: vit(image[None].to(DEVICE)))[:, 0].cpu()


def chosen_weights(picture, block, head, asking):
    A = attended(new_pictures[SHOWN[int(picture) - 1]])[int(block) - 1, int(head) - 1]
    row = A[0 if asking == 0 else int(asking)]
    return row, row[1:].view(across, across)


def draw_attention(picture, block, head, asking):
    row, weights = chosen_weights(picture, block, head, asking)
    image = visible(new_pictures[SHOWN[int(picture) - 1]])
    name = "class token" if asking == 0 else f"patch {int(asking) - 1}"
    patch = None if asking == 0 else int(asking) - 1
    return drawings.weights_over([image], [weights], [f"asking: {name}"], [patch], largest=True)


def say_attention(picture, block, head, asking):
    row, weights = chosen_weights(picture, block, head, asking)
    best = weights.flatten().argmax().item()
    name = "the class token" if asking == 0 else f"patch {int(asking) - 1}"
    return f"Block {int(block)}, head {int(head)}: {name} gives most weight to patch {best} (outlined), {weights.max():.2f}, and {row[0]:.2f} to the class token."


explore(
    draw_attention,
    alt=say_attention,
    picture=Slider("picture", 1, len(SHOWN), 1, 1),
    block=Slider("block", 1, 2, 2, 1),
    head=Slider("head", 1, 4, 1, 1),
    asking=Slider("asks (0: class token)", 0, 36, 0, 1),
)

# %% [markdown]
# **Figure 7.** The attention weights of one head. Left, the picture; right, the weights given to the patches, the
# lighter the larger. The patch with the largest weight is outlined in light blue and the asking patch, if a patch asks,
# in orange. The slider at the bottom counts tokens: 0 is the class token, and 1 to 36 are the patches 0 to 35.
#
# One head and one picture say little, so we need measures that summarise many. The first is the **attention distance**
# of a head: the mean distance between the asking patch and the patches it attends to, weighted by attention. For a
# filter of a convolution it would be small.

# %%
A = attention_weights(vit.blocks, lambda: vit(new_pictures[:200].to(DEVICE))).cpu()  # [depth, B, heads, N + 1, N + 1]
among = A[..., 1:, 1:] / A[..., 1:, 1:].sum(dim=-1, keepdim=True)  # among patches only, each row with sum 1
apart = SIDE * patch_distances(across, across)  # [N, N], in pixels
distance = (among * apart).sum(dim=-1).mean(dim=(1, 3))  # [depth, heads], mean over pictures and asking patches

# %% tags=["fold"]
# @title Prints the lines below
assert_close(distance, attention_distance(A, across, SIDE))
around = (apart < 1.5 * SIDE).float()  # [N, N]: the patch itself and those around it
near, even = ((way * apart).sum(dim=-1).div(way.sum(dim=-1)).mean() for way in (around, torch.ones_like(apart)))
print("attention distance, in pixels")
print(f"  own patch and those around it, equally: {near:.1f}")
print(f"  all patches, equally: {even:.1f}")
for block, values in enumerate(distance.tolist(), 1):
    print(f"  heads of block {block}:", ", ".join(f"{value:.1f}" for value in values))
print(f"heads nearer to the first than to the second: {(distance < (near + even) / 2).sum()} of {distance.numel()}")

# %% [markdown]
# The first two numbers give the scale, and the last line counts the heads that look near: none of the heads of our ViT
# is local, not even in block 1. This does not mean that they spread their attention evenly. A head may have favourites,
# as long as these are not nearby. In the large ViTs of the paper, pre-trained on JFT, some heads of the first layers
# look near and others far, and in the upper layers all look far. Raghu et al. (2021) found that the local heads are
# missing if the same models are trained on ImageNet alone. A convolution cannot help looking near; these large ViTs had
# to learn to do so, and learned it only from many pictures.
#
# The second measure is about the class token: which patches reach it? The weights of the last block are only a part of
# the answer, since the patches have exchanged information before. **Attention rollout** (Abnar and Zuidema, 2020)
# follows the weights through all blocks. In each block the weights are averaged over the heads; the residual connection
# counts as attention of each token to itself, with half of the weight; and the resulting matrices
# $\tfrac12 A + \tfrac12 I$ are multiplied, each later block from the left:

# %%
itself = torch.eye(A.shape[-1])  # the identity: each token attends to itself alone
R = itself
for weights in A.mean(dim=2):  # [B, N + 1, N + 1], mean over the heads; the first block comes first
    R = (weights + itself) / 2 @ R  # [B, N + 1, N + 1]
reaches = R[:, 0, 1:] / R[:, 0, 1:].sum(dim=-1, keepdim=True)  # [B, N]: from the patches to the class token, row 0

# %% tags=["fold"]
# @title Draws Figure 8
assert_close(R, rollout(A))
some = SHOWN[:4]
shown = [scenes.SHAPES[label] for label in new_labels[some].tolist()]
most = [f"{name}, {own.max():.2f} from patch {own.argmax()}" for name, own in zip(shown, reaches[some])]
show(
    drawings.weights_over(
        visible(new_pictures[some]),
        [own.view(across, across) for own in reaches[some]],
        shown,
        largest=True,
    ),
    "Four pictures and, beside each, the attention rollout of the class token over the 36 patches, under the same grid. "
    f"The largest share in each, outlined: {'; '.join(most)}.",
)
seen = visible(new_pictures[:200])
things = (seen - 0.93).abs().sum(dim=1, keepdim=True) > 0.45  # [B, 1, 24, 24]; every background has brightness 0.93
covered = F.avg_pool2d(things.float(), SIDE).flatten(
    1
)  # [B, N]: the share of each patch that differs from the background
ways = {
    "equal weights": torch.full((36,), 1 / 36),
    "one map for all, the mean of the rollouts": reaches.mean(dim=0),
    "the rollout of each picture": reaches,
}
last = A[-1][:, :, 0, 1:] / A[-1][:, :, 0, 1:].sum(
    dim=-1, keepdim=True
)  # [B, heads, N]: what the class token reads at the end
ways |= {f"the last block alone, head {head + 1}": last[:, head] for head in range(4)}
print("share on what differs from the background")
shares = {name: (given * covered).sum(dim=1).mean().item() for name, given in ways.items()}
for name, share in shares.items():
    print(f"  {name:42} {share:.2f}")
even, mean, own, *heads = shares.values()
assert own - 0.05 > mean > even + 0.1 and max(heads) > 0.85
at_best = covered[some, reaches[some].argmax(dim=1)]  # [4]: shares of the lightest patches
assert 0 < at_best.min() and at_best.max() < 1  # each lies at an edge

# %% [markdown]
# **Figure 8.** Attention rollout of the class token for four pictures. To the right of each picture is its rollout: how
# much of each patch reaches the class token. The lighter a patch, the larger its share; each map has a scale of its
# own, whose largest value is written below, and its patch is outlined.
#
# Does the rollout follow the object? The printed lines measure how much of it lies on what differs from the background,
# pieces of a second object included (a patch that is half object counts by half), on average over 200 pictures. Equal
# weights are the baseline. A single map for all pictures beats this baseline simply because objects cover some places
# of the window, above all the middle, more often than others; only the gain from the second line to the third is due to
# the individual picture. The rollout does follow the object, then, although about half of it lies on the background.
# The last lines show one reason: the heads of the last block (block 2) do different work. In head 1 the class token
# attends almost only to the object; in the other heads it looks elsewhere, too, and the rollout averages over all of
# them. None of this explains why, in all four pictures, the lightest patch lies at the edge of the object.
#
# In the large ViTs the rollouts of photographs follow the objects as well (figure 6 of the paper). But a rollout leaves
# out the values, the MLPs and the normalisations. Such a map illustrates what the model may be using, but it is no
# proof.
#
# ## Patch size
#
# With smaller patches there are more tokens, each with less in it. What do smaller patches cost, and what do they
# bring? Choose a patch size:


# %% tags=["fold"]
# @title Explorer of Figure 9
def operations_of(P, D=48, D_F=192, depth=2, S=24, C=3):
    """Operations of a ViT for one picture: two for each multiplication with its addition, in products of matrices."""
    N = (S // P) ** 2 + 1
    return 2 * (N - 1) * C * P**2 * D + depth * (8 * N * D**2 + 4 * N * D * D_F + 4 * N**2 * D)


def draw_sides(side):
    side = int(side)
    figure, (left, right) = plots.canvas(10, 3.6, 2)
    drawings.outline(left, visible(new_pictures[SHOWN[0]]), side)
    left.set_title(f"{(24 // side) ** 2} patches")
    costs = [operations_of(each) / 1e6 for each in SIDES]
    found = [kept["sizes"][str(each)] for each in SIDES]
    for cost, values, each in zip(costs, found, SIDES):
        colour = plots.VERMILLION if each == side else plots.GREY
        right.plot([cost] * len(values), values, "o", color=colour, markersize=6)
        right.annotate(
            f"P = {each}", (cost, sum(values) / len(values)), xytext=(8, -3), textcoords="offset points", color=colour
        )
    right.set(
        xscale="log", xlabel="million operations for one picture", ylabel="accuracy", ylim=(0.85, 1), xlim=(0.5, 20)
    )
    right.set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    right.minorticks_off()
    right.grid(True)
    return figure


def say_sides(side):
    side = int(side)
    values = kept["sizes"][str(side)]
    return (
        f"Patches of {side} by {side}: {(24 // side) ** 2} of them, {operations_of(side) / 1e6:.1f} million operations; stored "
        f"accuracy {sum(values) / len(values):.3f} ({min(values):.3f} to {max(values):.3f})."
    )


explore(draw_sides, alt=say_sides, side=Choice("patch side in pixels", [str(side) for side in SIDES], "6"))

# %% [markdown]
# **Figure 9.** Patch size, cost and accuracy. Left, a picture and its patches; right, the accuracy of three seeds
# against the operations for one picture, on a logarithmic axis, with the chosen size in colour (stored: 6,400 pictures
# with augmentation, 1,500 steps).

# %% tags=["fold", "nbval-check-output"]
# @title Prints the lines below
for side in SIDES:
    print(say_sides(side))

# %% [markdown]
# Each halving of the side gives four times as many patches. From 12 to 6 pixels the operations grow only threefold,
# since the class token and the patch embedding cost the same at every size; where the $N^2$ term dominates, each
# halving would cost sixteen times as much.
#
# It is less clear what we gain. Patches of 12 by 12 do worst, but among the other sizes, the seeds of a single size
# differ as much as the sizes do. This does not rule out a gain, since 1,500 steps are few: with $P = 6$, Figure 5 has
# 0.98 after 4,000 steps, from only 1,600 augmented pictures. The ViTs of the paper do gain from smaller patches,
# whichever set they are pre-trained on. With ImageNet alone, ViT-B reaches 73.4 % with patches of 32 by 32 and 77.9 %
# with patches of 16 by 16.
#
# ## Another image size
#
# A ViT was trained on pictures of 224 by 224 pixels and must now read pictures of 384 by 384. With the same patches
# of 16 by 16 pixels there are $24 \cdot 24 = 576$ patches instead of $14 \cdot 14 = 196$. The blocks accept any
# number of tokens, but there are only 196 position vectors for patches. Where do the others come from?
#
# Adding new vectors at the end would be wrong: patch 196 of the new grid lies in its ninth row, not below the old
# picture. The new grid covers the *same* picture more finely, so a new place lies *between* old places. Hence one
# interpolates: the position vectors are laid out as a grid, and each value in between is computed from its neighbours,
# here as a weighted mean of the nearest four (*bilinear* interpolation), for each feature separately. The class token's
# position stays as it is. For one feature of our model, from a grid of 6 by 6 to one of 9 by 9:

# %%
one = vit.positions.detach()[1:, 0].view(6, 6)  # feature 0 of the 36 places, as a grid
finer = F.interpolate(one[None, None], size=(9, 9), mode="bilinear", align_corners=False)[0, 0]  # [9, 9]

# %% tags=["fold"]
# @title Draws Figure 10
figure, panels = plots.canvas(7.4, 3.3, 2)
bound = one.abs().max().item()
for panel, values, title in zip(panels, (one, finer), ("learned, 6 by 6", "interpolated, 9 by 9")):
    plots.field(values, limits=(-bound, bound), title=title, axes=panel)
    panel.set(xticks=[], yticks=[])
show(
    figure,
    "Feature 0 of the position vectors, as a grid of 6 by 6 places and interpolated to 9 by 9 places: the same picture, finer.",
)

# %% [markdown]
# **Figure 10.** One feature of the learned position vectors: left, on the grid for which it was learned, right,
# interpolated to a finer grid of the same picture. The colour shows the value.
#
# <details><summary>Going further: how programs interpolate</summary>
#
# With `align_corners=False`, as here, the two grids cover the same area, so that the centres of their corner patches do
# not coincide. In the authors' own program these centres do coincide, and the library `transformers` uses bicubic
# interpolation, which takes in more neighbours. The model, positions included, is then usually trained a little further
# at the new size.
#
# </details>
#
# ## DeiT: learning from a convolutional network
#
# If a ViT lacks what a convolution knows beforehand, can a convolutional network teach it? **Knowledge distillation**
# (Hinton et al., 2015) trains a model, the student, to imitate the answers of a second model, the teacher. In DeiT
# (Touvron et al., 2021) the teacher is a convolutional network, and the student gets an additional token, the
# **distillation token**, with a head of its own. The class token's head learns the true label $y$, while the
# distillation token's head learns the teacher's answer, the class to which the teacher gives the largest logit,
# $y_t = \arg\max z_t$ (**hard distillation**):
#
# $$\mathcal L = \tfrac12 \operatorname{CE}(z_\text{class}, y) + \tfrac12 \operatorname{CE}(z_\text{distill}, y_t)$$
#
# Here $\operatorname{CE}$ is the cross-entropy, $z_\text{class}$ and $z_\text{distill}$ are the logits of the two heads
# and $z_t$ those of the teacher. For one picture with four classes:

# %%
z_class, z_distill, z_t, y = normal(4), normal(4), normal(4), 2  # random here: two heads, the teacher, the label
y_t = z_t.argmax()  # hard: which class the teacher names, not how sure it is
loss = -(z_class.log_softmax(dim=-1)[y] + z_distill.log_softmax(dim=-1)[y_t]) / 2
answer = (z_class.softmax(dim=-1) + z_distill.softmax(dim=-1)).argmax()  # after training, without the teacher

# %% [markdown]
# The last line is for later, when the teacher is no longer needed: the answer is the class for which the probabilities
# of both heads have the largest sum.
#
# Why ask a teacher at all if the true labels are known? First, the teacher sees each picture *after* augmentation. If
# little of the object is left, the label stays the same, but the teacher goes by what it can still see. Second, the
# teacher's mistakes show which pictures look alike to a convolutional network. And there is a third use for a teacher:
# where the labels are *not* known, it can still answer.
#
# This third use is the easiest to show, and is known as **pseudo-labelling**. The teacher is a convolutional network
# that has learned from 100 labelled pictures, with augmentation. It classifies 6,400 pictures, these 100 among them,
# and a ViT learns from its answers alone; there is no distillation token and there are no true labels. Two more ViTs
# serve for comparison: the first learns from the 100 labels alone, the second from 6,400 true labels (the model of
# Figure 9 with $P = 6$; its pictures are of the same kind, but not the same). All three ViTs are trained for 1,500
# steps, with augmentation. The stored accuracies, with the range of three seeds:


# %% tags=["fold", "nbval-check-output"]
# @title Checks the claims and prints the lines below
def taught(steps, seed, data):
    """Accuracies of a CNN that learned from 100 labels, of a ViT that did, and of a ViT that learned from the CNN's answers."""
    images, right = data
    teacher, _ = fitted("CNN, augmented", 100, 300, data, seed)
    alone, _ = fitted("ViT, augmented", 100, steps, data, seed)
    with torch.no_grad():
        answers = torch.cat([teacher(some.to(DEVICE)).argmax(dim=-1).cpu() for some in images[:6400].split(500)])
    student, _ = fitted("ViT, augmented", 6400, steps, (images, answers), seed)
    return [accuracy(model, new_pictures, new_labels) for model in (teacher, alone, student)]


if stored_runs.full():
    lessons = [taught(1500, seed, single_things(6400, seed=seed)) for seed in range(3)]
else:
    lessons = record["results"]["taught"]
for name, values in zip(
    ("teacher: CNN, 100 labels", "ViT, 100 labels", "ViT, 6,400 answers of the CNN", "ViT, 6,400 true labels"),
    [*zip(*lessons), kept["sizes"]["6"]],  # the last from "Patch size": as many steps, augmented, in part other pictures
):
    print(f"{name:30} {sum(values) / 3:.3f}  ({min(values):.3f} to {max(values):.3f})")
taught_by_100 = sum(lesson[0] for lesson in lessons) / 3
assert 0.05 < taught_by_100 - means["ViT, augmented"][0] < 0.15  # the gap that remains below Figure 5

# %% [markdown]
# Taught by the convolutional network, the ViT stays behind its teacher but is well ahead of the ViT that learned from
# the 100 labels alone, and hardly worse than a ViT that learned from 6,400 *true* labels. After the same 100 labels the
# teacher names 98 % of new pictures correctly and the ViT 87 %. If, as we suppose in view of Figure 5, most of this
# lead is what a convolution knows beforehand, then the teacher's answers pass some of that knowledge on.
#
# In the published result (Touvron et al., 2021; ImageNet, ViT-B at 224 by 224 pixels) the ViT reaches 81.8 % without a
# teacher and 83.4 % with the distillation token. The paper compares several teachers. Convolutional networks are the
# better ones: even a network that itself reached only 80.0 % brought its student to 82.7 %, while a ViT, although it
# was the better model with 81.8 %, brought its student hardly further than training without a teacher does. But most of
# what DeiT gained over the first ViT came from augmentation and a careful way of training.
#
# ## Learning without labels
#
# Labels can be left out altogether. MAE (He et al., 2022) hides three quarters of the patches and trains a ViT to
# reconstruct their pixels, much as BERT is trained to fill in hidden words. In DINO (Caron et al., 2021) a student has
# to give the answer that a teacher, a moving average of the student itself, gives for a different crop of the same
# picture; in the attention maps of its class token the objects of a photograph stand out, although no label ever named
# an object.
#
# ## Swin: attention in windows
#
# In a ViT every patch attends to every other: the scores and weighted sums of a layer take $4N^2D$ operations
# (lesson 06), and $N$ grows with the area of the picture. For large pictures with small patches, **Swin** (Liu, Ze et
# al., 2021) brings back locality. The grid of patches is cut into **windows** of $M$ by $M$ patches, usually $M = 7$,
# and each patch attends only to the patches of its own window. Scores and weighted sums then take $4NM^2D$ operations,
# proportional to $N$.
#
# But then no information could pass from window to window. Therefore the windows are **shifted** in every second layer,
# by half a window down and to the right, so that a new window lies across the borders of the old ones. At the edges of
# the picture only parts of windows would then be left. In practice one therefore leaves the windows where they are and
# rolls the grid of patches the opposite way, up and to the left: what leaves on one side comes in again on the opposite
# side, and all windows keep the same size.

# %% tags=["fold"]
# @title Draws Figure 11
show(
    drawings.windows(M=4, shift=2),
    "Three grids of 8 by 8 patches. Left, four windows of 4 by 4, each with a colour. Middle, the thick lines of the "
    "next layer's windows lie two patches further down and to the right, across the colours; two rows and two columns "
    "at the edges are hatched. Right, the grid was moved until these lines form four squares; the hatched patches came "
    "in on the other side.",
)

# %% [markdown]
# **Figure 11.** Left, four windows of 4 by 4 patches (thick lines and colours). Middle, the windows of the next layer,
# shifted by two patches down and to the right: only one is complete, and the others are cut by the edges of the
# picture. Right, the same windows after the grid was rolled by two patches up and two to the left: now they are four
# squares again. The hatched patches were rolled out of the grid at its top or left edge and came in again on the
# opposite side.
#
# In code, each window then is one entry of a batch:

# %%
M, shift = 4, 2
cells = normal(8, 8, D)  # a grid of 8 by 8 patches
rolled = cells.roll((-shift, -shift), dims=(0, 1))
windows = rolled.view(2, M, 2, M, D).transpose(1, 2).reshape(4, M * M, D)  # [windows, M * M, D]
Y = F.scaled_dot_product_attention(windows, windows, windows)  # each patch attends within its window; no mask yet
Y = Y.view(2, 2, M, M, D).transpose(1, 2).reshape(8, 8, D).roll((shift, shift), dims=(0, 1))  # back to the grid

# %% tags=["fold"] label="checks that every patch is back in its place"
# @title Checks that every patch is back in its place
back = windows.view(2, 2, M, M, D).transpose(1, 2).reshape(8, 8, D).roll((shift, shift), dims=(0, 1))
assert torch.equal(back, cells)

# %% [markdown]
# In the shifted layer, patches that were in different windows can thus attend to each other. But the roll also puts
# patches from opposite edges of the picture into one window, where they have nothing to do with each other. A mask,
# which the code above leaves out, keeps them apart; you can write it in the stretch exercise of the assignment.
#
# Two more features bring Swin close to convolutional networks. First, its positions are relative: a learned number is
# added to each score, and this number depends only on how many rows down and how many columns to the right one patch
# lies from the other. Second, the layers form groups, called **stages**, and from each stage to the next the grid
# becomes coarser: every square of 2 by 2 neighbouring patches is merged into a single patch.
#
# ## ConvNeXt: the answer of the convolutional networks
#
# Is it attention that makes these models good? **ConvNeXt** (Liu, Zhuang et al., 2022) starts from a ResNet-50, a
# convolutional network that reaches 76.1 % on ImageNet, and borrows features from Transformers, one after another. The
# modern way of training, longer and with much the same augmentation as DeiT's, brings it to 78.8 % all by itself. Then
# the design changes, too. Among other changes, each stage gets a different number of layers, the input gets a patch
# embedding, and the layers become wider, with filters of 7 by 7 that work on each channel separately. GELU replaces
# ReLU, LayerNorm replaces batch normalisation, and there are fewer activation functions and normalisations. Together
# they bring the network to 82.0 %, slightly more than a Swin of the same size (81.3 %), without any attention. Some of
# what looked like the strength of attention can thus be had from the training and from the rest of the design.
#
# ## Real images
#
# All pictures so far were drawn by a program. Do the findings hold for real ones? scikit-learn comes with 1,797 images
# of handwritten digits, 8 by 8 pixels each. We train on 1,000 and test on the other 797; the ViT has patches of 2 by 2
# pixels.

# %% tags=["fold"]
# @title Draws Figure 12
found, which = digits()
order = torch.randperm(len(found), generator=torch.Generator().manual_seed(0))
found, which = found[order], which[order]
show(
    captioning.gallery(
        ((found[:8] * 6 + 4.9) / 16).expand(-1, 3, -1, -1).clamp(0, 1), [str(digit) for digit in which[:8].tolist()]
    ),
    f"Eight handwritten digits: {', '.join(str(digit) for digit in which[:8].tolist())}.",
)


def on_digits(kind, steps, seed):
    """The accuracy of a model that learned 1,000 digits."""
    make = {"CNN": lambda: SmallCNN(C=1, classes=10), "ViT": lambda: ViT(P=2, S=8, C=1, classes=10)}[kind]
    model, _ = fitted(kind, 1000, steps, (found, which), seed, make=make)
    return accuracy(model, found[1000:], which[1000:])


if stored_runs.full():
    handwritten = {kind: [on_digits(kind, 1000, seed) for seed in range(3)] for kind in ("CNN", "ViT")}
    results = {"long": kept, "taught": lessons, "digits": handwritten}
    record = stored_runs.keep("13_vision_transformer", results, seed="0 to 2", seconds=time.perf_counter() - BEGUN)
handwritten = record["results"]["digits"]
for kind in handwritten:
    values = handwritten[kind]
    print(
        f"{kind}: now {on_digits(kind, 400, 0):.3f} after 400 steps; stored, 1,000 steps, three seeds: {sum(values) / 3:.3f} ({min(values):.3f} to {max(values):.3f})"
    )
assert min(handwritten["CNN"]) > max(handwritten["ViT"])

# %% [markdown]
# **Figure 12.** Eight of the handwritten digits, with their labels.
#
# On these real images the ranking is the same: in the stored run the worst seed of the convolutional network is ahead
# of the best seed of the ViT.
#
# ## Circle or cross?
#
# Let us return to the pictures of the beginning. What do the two models that learned from 800 pictures say about the
# first six circles and crosses of the test? And what does the ViT with smaller patches say, after its longer training
# on 12,800 pictures with augmentation?

# %% tags=["fold"]
# @title Draws Figure 13
some = new_pictures[SHOWN]
answers = {}
for name, model in {"CNN, 800": models["CNN"], "ViT, 800": models["ViT"], "ViT, 12,800": vit}.items():
    with torch.no_grad():
        answers[name] = [scenes.SHAPES[number] for number in model(some.to(DEVICE)).argmax(dim=-1).tolist()]
truth = [scenes.SHAPES[label] for label in new_labels[SHOWN].tolist()]
figure = captioning.gallery(visible(some), truth)
figure.set_size_inches(15, 3.6)
for place, axes in enumerate(figure.axes):
    for line, (name, said) in enumerate(answers.items()):
        shade = plots.GREEN if said[place] == truth[place] else plots.VERMILLION
        below = {"xycoords": "axes fraction", "xytext": (0, -4 - 16 * line), "textcoords": "offset points"}
        axes.annotate(f"{name}: {said[place]}", (0.5, 0), color=shade, ha="center", va="top", fontsize=12, **below)
show(figure, f"Six new pictures: {', '.join(truth)}. Below each, the three answers that are printed here.")
for name, said in answers.items():
    print(f"{name:11}", "  ".join(f"{word:9}" for word in said), sum(a == b for a, b in zip(said, truth)), "of 6 right")

# %% [markdown]
# **Figure 13.** Six new pictures with their labels; below each, what three models say, right in green and wrong in
# orange.
#
# At the beginning we asked what the tokens of a picture are. Our answer was patches, and with a strided convolution it
# took one line of code. Apart from the class token, the rest is the Transformer of lesson 09. What such a model does
# not know about pictures, it has to learn from pictures: which places are neighbours, which patches belong together,
# and that a circle is still a circle when it has moved.

# %% [markdown]
# ## Summary
#
# | part | formula | shape |
# |---|---|---|
# | patches | $N = (H/P)(W/P)$, row by row | $[B, N, CP^2]$ |
# | patch embedding | patches $\cdot\, W_E + b_E$ = convolution with filter and stride $P$ | $[B, N, D]$ |
# | class token, positions | $[\,x_\text{class}; X\,] + \text{positions}$, learned | $[B, N+1, D]$ |
# | encoder | $L$ pre-norm blocks without a mask, last normalisation | $[B, N+1, D]$ |
# | head | logits from the class token, or from the mean of the patches | $[B, K]$ |
# | hard distillation | $\tfrac12\operatorname{CE}(z_\text{class}, y) + \tfrac12\operatorname{CE}(z_\text{distill}, \arg\max z_t)$ | a number |
# | windows of $M$ by $M$ | scores and sums $4NM^2D$ instead of $4N^2D$ | |
#
# ```python
# nn.Conv2d(C, D, kernel_size=P, stride=P)(images).flatten(2).mT  # [B, N, D]
# F.interpolate(grid, size=(rows, columns), mode="bilinear", align_corners=False)  # grid [1, D, old rows, old columns]
# ```
#
# The picture to remember is Figure 3: an image becomes a sentence of patches, and everything after that is a Transformer.

# %% [markdown]
# ## Before you go on
#
# <details><summary><b>1.</b> A picture with 32 rows, 48 columns and three channels is cut with P = 8. How many patches
# are there, and how many numbers does each hold? Which patch is the first of the second row?</summary>
#
# There are $4 \cdot 6 = 24$ patches with $3 \cdot 64 = 192$ numbers each. Each row has six patches, so the first of the
# second row is patch 6 (counted from 0).
#
# </details>
#
# <details><summary><b>2.</b> All pictures of a set are turned upside down, in training and in the test. Does the ViT
# become worse? Does the convolutional network?</summary>
#
# Neither becomes worse. For the ViT this is one of the orders of pixels that it does not notice. For the convolutional
# network neighbours remain neighbours; only the filters are learned upside down.
#
# </details>
#
# <details><summary><b>3.</b> The side of a patch is halved. What happens to the number of tokens, to the attention
# weights and to the parameters?</summary>
#
# There are four times as many patches, and about sixteen times as many attention weights. The parameters hardly change:
# the embedding has a quarter of its weights left, and there are more position vectors.
#
# </details>
#
# <details><summary><b>4.</b> Why does the class token have a position vector, although it has no place in the
# picture?</summary>
#
# It need not have one: its own vector and its position vector are both learned and only ever appear as a sum, so that
# one vector would do. The position vector is there because it makes the code simpler.
#
# </details>
#
# <details><summary><b>5.</b> A head has an attention distance of 12 pixels in pictures of 24 by 24. Is it a head that
# looks far?</summary>
#
# Not necessarily: a head that attends to all patches equally has about this distance. One has to compare.
#
# </details>
#
# <details><summary><b>6.</b> Swin with M = 7 reads 56 by 56 patches. By which factor do the operations of scores and
# weighted sums fall?</summary>
#
# They fall by the factor $N/M^2 = 3136/49 = 64$.
#
# </details>

# %% [markdown]
# ## Pitfalls
#
# - **Two orders have to agree**: how a patch is flattened (channel, row, column) and how the patches are counted (row
#   by row). A `reshape` of $[C, H, W]$ to $[N, CP^2]$ has the right shape and mixes the pixels of different patches.
# - **$CP^2 = D$ by chance**: in ViT-B/16 both are 768, so that a transposed matrix raises no error.
# - **The class token comes first**: leave it out (`X[:, 1:]`) before you put outputs or positions back into a grid.
# - **"ViTs need more data"** is a statement about models *and* how they are trained. Augmentation and a teacher change
#   it.
# - **A map of attention weights is no explanation.** Compare it at least with the maps for other pictures.
#
# <details><summary><b>If you also use lecture slides</b>: where some of them differ</summary>
#
# - *"Average pool"* at the end: the ViT of the paper has a class token. Averaging is a variant that works as well.
# - *"The 2D position of each patch"*: the paper's encoding is learned, one vector for each place; the model has to
#   learn that the places form a grid.
# - *"Vision Transformers"* over a picture of DETR: that model detects objects, with a convolutional network in front
#   (lesson 14).
#
# </details>

# %% [markdown]
# ## Where to go next
#
# - **Practise**: the [assignment of this unit](../assignments/13_vision_transformer/13_vision_transformer.ipynb), and
#   the [milestone](../milestones/13_my_vit.ipynb), where your solutions run together.
# - **Read on**: [lesson 14](14_set_prediction.ipynb) detects objects with a Transformer, and
#   [lesson 16](16_vision_language.ipynb) joins pictures and language.
# - **Look up**: the [glossary](../docs/glossary.md).

# %% [markdown]
# ## References
#
# - A. Dosovitskiy et al. (2021). An image is worth 16x16 words: Transformers for image recognition at scale. ICLR.
#   arXiv:2010.11929. *Table 5: the published curve; figure 5: compute; appendix D: pooling, positions, attention
#   distance.*
# - H. Touvron, M. Cord, M. Douze, F. Massa, A. Sablayrolles, H. Jégou (2021). Training data-efficient image
#   Transformers & distillation through attention. ICML. arXiv:2012.12877.
# - A. Kolesnikov et al. (2020). Big transfer (BiT): general visual representation learning. ECCV. arXiv:1912.11370.
# - K. He, X. Chen, S. Xie, Y. Li, P. Dollár, R. Girshick (2022). Masked autoencoders are scalable vision learners.
#   CVPR. arXiv:2111.06377.
# - M. Caron et al. (2021). Emerging properties in self-supervised vision Transformers. ICCV. arXiv:2104.14294.
# - Liu, Ze, et al. (2021). Swin Transformer: hierarchical vision Transformer using shifted windows. ICCV.
#   arXiv:2103.14030.
# - Liu, Zhuang, et al. (2022). A ConvNet for the 2020s. CVPR. arXiv:2201.03545.
# - M. Raghu, T. Unterthiner, S. Kornblith, C. Zhang, A. Dosovitskiy (2021). Do vision Transformers see like
#   convolutional neural networks? NeurIPS. arXiv:2108.08810.
# - S. Abnar, W. Zuidema (2020). Quantifying attention flow in Transformers. ACL. arXiv:2005.00928.
# - G. Hinton, O. Vinyals, J. Dean (2015). Distilling the knowledge in a neural network. arXiv:1503.02531.
# - E. Alpaydin, C. Kaynak (1998). Optical recognition of handwritten digits. UCI Machine Learning Repository. *The
#   digits, CC BY 4.0.*
