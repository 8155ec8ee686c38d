# %% [markdown]
# # Milestone: my ViT reads digits
#
# In assignment 13 you wrote the parts of a Vision Transformer: patches that become vectors, a class token with
# positions, and the encoder with its head. Here they become **one model that you wrote**, and it learns to read
# handwriting: real digits, and one that you draw yourself. You need nothing but your solved notebook. This is not
# graded, and takes about a minute on most machines, most of it training.
#
# Run the notebook from the top. What you have not solved yet is lent by the course, and a list below says what is
# yours; come back when you have solved more. [Lesson 13](../notebooks/13_vision_transformer.ipynb) explains the
# model.

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
import torch
import torch.nn.functional as F
from torch import nn

from utils.data.digits import digits
from utils.device import device
from utils.figures import plots
from utils.figures.plots import show
from utils.milestones.parts import my_parts
from utils.models.training import train
from utils.models.vision_transformers import augmented

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
torch.manual_seed(0)
DEVICE = device()

# %% [markdown] tags=["whose-code"]
# ## Whose code is it?
#
# The next cell looks for your solved notebooks in the course's folder `assignments`. If they lie elsewhere, write that
# folder's path in `work`; Google Drive has to be mounted first. Only your functions and classes are taken from them,
# with what they need; each is examined by its own check.

# %%
work = None  # or a folder, such as "/content/drive/MyDrive/attention"
my = my_parts("13_my_vit", work)

# %% [markdown]
# ## The model
#
# An image has 8 by 8 pixels, and a patch has 2 by 2. Your `PatchEmbedding` therefore makes 16 vectors of it, your
# `add_class_token_and_positions` puts the class token in front of them, and your `VisionTransformer` reads all 17 and
# gives the logits of the ten digits.


# %%
class DigitReader(nn.Module):
    """Images [B, 1, 8, 8] give the logits of the ten digits [B, 10]."""

    def __init__(self, D=48, H=4, D_F=96, depth=2):
        super().__init__()
        self.patches = my.PatchEmbedding(1, 2, D)
        self.class_token = nn.Parameter(0.02 * torch.randn(D))
        self.positions = nn.Parameter(0.5 * torch.randn(17, D))  # of the class token and of 16 patches
        self.encoder = my.VisionTransformer(D, H, D_F, depth, 10, False)

    def forward(self, images):
        patches = self.patches(images)  # [B, 16, D]
        return self.encoder(my.add_class_token_and_positions(patches, self.class_token, self.positions))


# %% [markdown]
# scikit-learn brings along 1,797 digits that people wrote by hand. The model learns from 1,400 of them. So that it
# does not learn them by heart, they are shown with a little noise, and half of them moved by up to one pixel. The
# other 397 are held out.

# %% tags=["live"]
images, labels = digits()  # [1797, 1, 8, 8], [1797]
order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
seen, new = order[:1400], order[1400:]
seeded = torch.Generator().manual_seed(1)


def batch():
    rows = seen[torch.randint(len(seen), (64,), generator=seeded)]
    shown = images[rows] + 0.4 * torch.randn(64, 1, 8, 8, generator=seeded)
    shown[:32] = augmented(shown[:32], seeded, reach=1, mirror=False)  # moved by up to one pixel
    return shown.to(DEVICE), labels[rows].to(DEVICE)


reader = DigitReader().to(DEVICE)
steps = 1000
losses = train(
    reader,
    (batch() for _ in range(steps)),
    lambda model, drawn: F.cross_entropy(model(drawn[0]), drawn[1]),
    steps=steps,
    rate=3e-3,
    what="my ViT",
)
print(f"loss: {losses[0]:.2f} at first, {sum(losses[-20:]) / 20:.2f} at the end")

# %% tags=["fold"]
# @title Draws Figure 1
with torch.no_grad():
    read = reader(images[new].to(DEVICE)).argmax(dim=-1).cpu()  # [397]
right = read == labels[new]
print(f"right: {right.sum()} of {len(new)} held-out digits, {right.float().mean():.1%}")

COLUMNS = 9
chosen = [right.nonzero()[:, 0][: 2 * COLUMNS], (~right).nonzero()[:, 0][:COLUMNS]]
figure, grid = plots.rows_of(10.5, 4.6, COLUMNS, COLUMNS, COLUMNS)
for axes in sum(grid, []):
    axes.set_axis_off()
for axes, place in [*zip(grid[0] + grid[1], chosen[0].tolist()), *zip(grid[2], chosen[1].tolist())]:
    says, is_right = read[place].item(), right[place].item()
    axes.imshow(images[new[place], 0], cmap="gray_r")
    axes.set_title(f"{says}" if is_right else f"{says}, is {labels[new[place]]}")
    axes.title.set_color(plots.BLACK if is_right else plots.VERMILLION)
wrong = [f"{labels[new[place]]} read as {read[place]}" for place in chosen[1].tolist()]
show(
    figure,
    f"Two rows of handwritten digits that were read correctly, {', '.join(map(str, read[chosen[0]].tolist()))}; "
    f"in a third row mistakes: {', '.join(wrong) or 'none'}.",
)

# %% [markdown]
# **Figure 1.** Digits that the model had never seen, each under what it read. In the first two rows it is right. The
# last row, with red titles, holds digits that it got wrong, if there are any, nine at most: first what it read, then
# what it is. Would you have read all of them?
#
# ## A digit of your own
#
# Draw a digit as eight lines of eight signs: `#` is ink, `:` is less of it, `.` still less, and a space is paper.
# Begin below the first `"""`. You may also write 1 and 0. The digits of the data are upright, as high as the square,
# and soft at their edges; yours will be easier to read if it is so, too. Run both cells below when you have changed
# it.

# %% tags=["play"]
mine = """
  :##:
 :#::#:
     #:
   :#:
    :#:
     :#
 :.  ##
  ###:
"""

# %% tags=["fold"]
# @title Draws Figure 2
INK = {" ": 0.0, ".": 0.3, ":": 0.6, "#": 1.0, "0": 0.0, "1": 1.0}
lines = (mine.split("\n")[1:9] + [""] * 8)[:8]
lines = [line.ljust(8)[:8] for line in lines]
strange = sorted(set("".join(lines)) - set(INK))
assert not strange, f"Draw with # : . and spaces, or with 0 and 1, and without {' '.join(strange)}."
ink = torch.tensor([[INK[sign] for sign in line] for line in lines])  # [8, 8]
with torch.no_grad():
    image = images.min() + (images.max() - images.min()) * ink  # paper and ink as in the data
    chances = reader(image[None, None].to(DEVICE)).softmax(dim=-1)[0].cpu()  # [10]
print(f"It reads: {chances.argmax()}")

figure, (left, axes) = plots.canvas(9, 3, 2, width_ratios=[1, 2.4])
left.imshow(ink, cmap="gray_r", vmin=0, vmax=1)
left.set(xticks=[], yticks=[], title="your digit")
left.spines[:].set_visible(True)
digit_names = [str(digit) for digit in range(10)]
plots.bars(chances, digit_names, title="what the model reads", value_label="probability", limits=(0, 1.12), axes=axes)
show(
    figure,
    "Left, the digit that was drawn. Right, a bar for each of the ten digits with its probability: "
    + ", ".join(f"{digit} {chance:.2f}" for digit, chance in enumerate(chances.tolist()))
    + ".",
)

# %% [markdown]
# **Figure 2.** Your digit, and the probability that the model gives to each of the ten. Change a line or two, and see
# when it changes its mind. What does it say to a picture that is no digit at all?
#
# The last cell notes this milestone; `progress("all")` in any assignment shows it. The next one comes after lesson
# 15.

# %%
my.reached()
