# %% [markdown]
# # Milestone: my translator translates, my captioner describes
#
# In assignments 01 to 03 you wrote an encoder, a loss, decoders that attend, and a captioner's first state, each by
# itself. Here they become **two models that you wrote**: one translates English into French, the other describes
# pictures. You need nothing but your solved notebooks. This is not graded, and takes about two minutes on most
# machines, most of it training.
#
# Run the notebook from the top. What you have not solved yet is lent by the course, and a list below says what is yours;
# come back when you have solved more. [Lesson 02](../notebooks/02_bahdanau_attention.ipynb) and
# [lesson 03](../notebooks/03_image_captioning.ipynb) explain the models.

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
import textwrap

import torch
import torch.nn.functional as F
from torch import nn

from utils.data import scenes
from utils.data.translation import PAD, START, batches, corpus, lecture, vocabulary
from utils.device import device
from utils.figures import captioning, plots
from utils.figures.plots import show
from utils.milestones.parts import my_parts
from utils.models.grid_cnn import grids, pretrained_cnn
from utils.models.training import train

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
my = my_parts("03_my_translator", work)

# %% [markdown]
# ## The translator
#
# Your `Encoder` reads the English sentence, and your `AttentionStep` attends to its states at every step of
# `decode_with_attention`. In training yours feeds the decoder the correct French tokens (what the course lends hides
# three in ten of them), and your `masked_cross_entropy` is the loss.

# %%
english, french = vocabulary("english"), vocabulary("french")
D = 96


class Translator(nn.Module):
    """English to French, made of the parts above."""

    def __init__(self):
        super().__init__()
        self.encoder = my.Encoder(len(english), D, D)
        self.step = my.AttentionStep(len(french), D, D, D, D)

    def forward(self, batch):
        H, h = self.encoder(batch.source, batch.lengths)  # [B, T_x, D], [B, D]
        return my.decode_with_attention(self.step, batch.target, h, H, batch.source != PAD)

    def translate(self, words):
        """The French words for an English sentence, and the attention weights of each over the English words."""
        source = torch.tensor([english.encode(words)], device=DEVICE)  # [1, T_x]
        H, h = self.encoder(source, torch.tensor([source.shape[1]], device=DEVICE))
        written, weights = write(self.step, h, H, source != PAD, french)
        return written, weights[:, : len(words)]  # without [STOP]


@torch.no_grad()
def write(step, state, seen, mask, language, longest=20):
    """The most likely word, which is fed to the next step, and so on; with the weights [words, T_x] of each step."""
    last, text, weights = [START], [], seen.new_zeros(0, seen.shape[1])
    while len(text) < longest:
        logits, state, a = step(torch.tensor(last, device=DEVICE), state, seen, mask)
        last = logits.argmax(dim=-1).tolist()
        if not language.decode(last):  # [STOP]
            break
        text, weights = text + language.decode(last), torch.cat([weights, a])
    return text, weights.cpu()


# %% tags=["live"]
translator = Translator().to(DEVICE)
kept = {lecture(name, "french").source for name in ("sky", "bread", "agreement")}  # for Figure 1
pairs = [pair for pair in corpus("french", 4000, 3, 14) if pair.source not in kept]
steps = 550
drawn = (batch.to(DEVICE) for batch in batches(pairs, "french", size=48, steps=steps))
losses = train(
    translator,
    drawn,
    lambda model, batch: my.masked_cross_entropy(model(batch)[0], batch.target),
    steps=steps,
    rate=5e-3,
    what="my translator",
)
print(f"loss: {losses[0]:.2f} at first, {sum(losses[-20:]) / 20:.2f} at the end")

# %% [markdown]
# It has never seen the following sentences. The rows of the picture are the words that the translator wrote, and each
# row shows where it attended while it wrote its word.

# %% tags=["fold"]
# @title Draws Figure 1
for name in ("sky", "bread", "agreement"):
    pair = lecture(name, "french")
    written, weights = translator.translate(pair.source)
    print(f"{' '.join(pair.source)}\n  mine   {' '.join(written)}\n  right  {' '.join(pair.target)}")
show(
    plots.heat_map(weights, rows=written, columns=pair.source, title="My translator's attention"),
    "Attention weights of the translator: a row for each French word that it wrote, a column for each English word.",
)

# %% [markdown]
# **Figure 1.** The attention of the translator over *the agreement on the European economic area was signed in August
# 1992.* Where it writes *zone économique européenne*, the bright cells should run backwards, from *area* to
# *European*; after so short a training a word may be missing, or a row brightest beside its word. The column of
# `[STOP]` is left out, so that some rows sum to less than 1.
#
# Try sentences of your own, with words from `english.words`; put a space before a full stop, too:

# %% tags=["play"]
mine = "we see the sky"
print(" ".join(translator.translate(mine.split())[0]))

# %% [markdown]
# ## The captioner
#
# Attention once more, now over the cells of a picture: your `InitialState` makes the first state from the grid that a
# small trained network computes, and your `CaptionStep` writes. In training `decode_with_attention` leads it from
# word to word.

# %% tags=["live"]
words = scenes.vocabulary()


class Captioner(nn.Module):
    """Words for a grid [B, D, H, W]."""

    def __init__(self, D=64):
        super().__init__()
        self.place = nn.Parameter(torch.randn(D, 6, 6) * 0.5)  # what tells the cells apart
        self.begin = my.InitialState(D, D)
        self.step = my.CaptionStep(len(words), 32, D, D, 32)

    def forward(self, grid, Y):
        """The logits [B, T, V], with the correct words fed in: the decoding of assignment 02, over cells instead of words."""
        return my.decode_with_attention(self.look, Y, *self.read(grid))[0]

    def read(self, grid):
        """The first state, the cells [B, 36, D], and a mask that hides none of them."""
        cells = (grid + self.place).flatten(2).transpose(1, 2)
        return self.begin(grid), cells, torch.ones(cells.shape[:2], dtype=torch.bool, device=DEVICE)

    def look(self, y, s, cells, mask):
        return self.step(y, s, cells)


seen = scenes.scenes(3000, seed=1)
eye = pretrained_cnn()
features = F.avg_pool2d(grids(eye, scenes.images(seen)), 2).to(DEVICE)  # [3000, 64, 6, 6]
captions = scenes.words(seen).to(DEVICE)  # [3000, T]
captioner, steps = Captioner().to(DEVICE), 500
chosen = (torch.randint(len(seen), (64,)).to(DEVICE) for _ in range(steps))
losses = train(
    captioner,
    chosen,
    lambda model, rows: my.masked_cross_entropy(model(features[rows], captions[rows]), captions[rows]),
    steps=steps,
    rate=8e-3,
    what="my captioner",
)
print(f"loss: {losses[0]:.2f} at first, {sum(losses[-20:]) / 20:.2f} at the end")

# %% tags=["fold"]
# @title Draws Figure 2
new = scenes.scenes(3, seed=77)
pictures = scenes.images(new)
fresh = F.avg_pool2d(grids(eye, pictures), 2).to(DEVICE).split(1)
told = [" ".join(write(captioner.look, *captioner.read(grid), words)[0]) for grid in fresh]
show(
    captioning.gallery(pictures, [textwrap.fill(one, 24) for one in told]),
    "Three pictures that the captioner had not seen, and what it wrote: " + "; ".join(told) + ".",
)

# %% [markdown]
# **Figure 2.** Three pictures that the captioner had never seen, and what it says of them. Each scene has two things;
# look for a wrong size, colour, shape or side.
#
# The last cell notes this milestone; `progress("all")` in any assignment shows it. The next one comes after lesson 09.

# %%
my.reached()
