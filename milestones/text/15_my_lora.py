# %% [markdown]
# # Milestone: my LoRA adapts a translator
#
# In assignment 15 you wrote a linear layer with an update of low rank, and the function that puts such layers into a
# network. Here they do what they are made for: **a model that somebody else has trained learns a new task with your
# adapters**, while all of its own weights stay as they are. You need nothing but your solved notebook. This is not
# graded, and takes about a minute on most machines, most of it training.
#
# Run the notebook from the top. What you have not solved yet is lent by the course, and a list below says what is
# yours; come back when you have solved more. Its two parts work hand in hand, so they are yours together or lent
# together. [Lesson 15](../notebooks/15_lora.ipynb) explains the method and the two tasks.

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
import copy

import torch

from utils.data import word_order
from utils.data.translation import PAD, vocabulary
from utils.data.word_order import S
from utils.device import device
from utils.figures import plots
from utils.figures.plots import show
from utils.measures import stored_weights
from utils.milestones.parts import my_parts
from utils.models.translator import Translator, exact, fit, write

torch.set_num_threads(1)  # for matrices this small, sharing the work costs more than doing it
DEVICE = device()

# %% [markdown] tags=["whose-code"]
# ## Whose code is it?
#
# The next cell looks for your solved notebooks in the course's folder `assignments`. If they lie elsewhere, write that
# folder's path in `work`; Google Drive has to be mounted first. Only your functions and classes are taken from them,
# with what they need; each is examined by its own check.

# %%
work = None  # or a folder, such as "/content/drive/MyDrive/attention"
my = my_parts("15_my_lora", work)

# %% [markdown]
# ## A translator and a new task
#
# The small decoder of lesson 15 has learned to translate from English to French, and its weights are stored. Its new
# task is to leave the French words in the order of the English ones. There are 200 sentences to learn from, and 1,000
# others to test it with; we count the translations that are right to the last word.

# %%
base = stored_weights.load("15_lora.base", Translator()).to(DEVICE)
different = word_order.differing(word_order.sentences(12000, seed=0)[6000:])  # pairs whose order differs
learned, new = (word_order.tokens(pairs, english_order=True) for pairs in (different[:200], different[-1000:]))
size = sum(weight.numel() for weight in base.parameters())
before = exact(base, new)
print(f"{size:,} parameters; of the new task's sentences, {before:.1%} are translated exactly")

# %% [markdown]
# ## The adapters
#
# Your `add_adapters` freezes a copy of the translator and looks for the layers `query` and `value` in each of its
# three blocks. In the place of each it puts a `LoRALinear` of yours, around the layer's own weight and bias. From
# then on, only $A$ and $B$ learn.


# %%
def adapted(r, alpha=8):
    """A frozen copy of the translator with my adapters of rank r, and how many of its parameters learn."""

    def adapter(layer):
        mine = my.LoRALinear(layer.in_features, layer.out_features, r, alpha)
        mine.linear.weight, mine.linear.bias = layer.weight, layer.bias  # the layer's own, which stay frozen
        return mine

    torch.manual_seed(0)
    model = my.add_adapters(copy.deepcopy(base), ["query", "value"], adapter).to(DEVICE)
    return model, sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


translator, learning = adapted(r=4)
print(f"{learning:,} parameters learn, {learning / size:.1%} of the translator's {size:,}")

# %% tags=["live"]
steps = 250
losses = fit(translator, learned, steps=steps, rate=2e-2, seed=0, what="my adapters")
after = exact(translator, new)
print(f"loss: {losses[0]:.2f} at first, {sum(losses[-20:]) / 20:.2f} at the end")
print(f"exact translations of new sentences: {before:.1%} before, {after:.1%} after")

# %% [markdown]
# None of the following sentences was among the 200:


# %% tags=["fold"]
# @title Defines translate · The French words that a translator writes for an English sentence of seven words at most
def translate(model, sentence):
    """The French words that a translator writes for an English sentence of seven words at most."""
    row = vocabulary("english").encode(sentence.split())
    X = torch.tensor([[PAD] * (S - len(row)) + row])  # [1, S]
    return " ".join(word_order.words(write(model, X, 16)[0, S:].tolist()))


for pair in different[-3:]:
    sentence = " ".join(pair.source)
    print(sentence)
    print("  right ", " ".join(word_order.in_english_order(pair)))
    print("  before", translate(base, sentence))
    print("  after ", translate(translator, sentence))

# %% [markdown]
# Try sentences of your own, of up to seven words from `vocabulary("english").words`:

# %% tags=["play"]
mine = "we see the red house"
print("before", translate(base, mine))
print("after ", translate(translator, mine))

# %% [markdown]
# ## How much rank does it take?
#
# The same training once more, with other ranks. `alpha` stays 8, so the factor $\alpha/r$ changes with the rank.

# %% tags=["live"]
steps = 250
found = {4: (learning, after)}
for r in (1, 2, 8):
    model, count = adapted(r)
    fit(model, learned, steps=steps, rate=2e-2, seed=0, what=f"rank {r}")
    found[r] = count, exact(model, new)
for r, (count, share) in sorted(found.items()):
    print(f"rank {r}: {count:5,} parameters learn, exact {share:.1%}")

# %% tags=["fold"]
# @title Draws Figure 1
names = ["before", *(f"rank {r}\n{count:,} learn" for r, (count, _) in sorted(found.items()))]
shares = [before, *(share for _, (_, share) in sorted(found.items()))]
figure, (axes,) = plots.canvas(8, 3.4)
plots.bars(
    shares,
    names,
    title="the new task, with my adapters",
    value_label="share exact",
    colour=[plots.GREY, *[plots.ORANGE] * len(found)],
    limits=(0, 1.12),
    axes=axes,
)
show(
    figure,
    "Bars for the share of new sentences that are translated exactly: before, "
    f"{before:.2f}; " + ", ".join(f"with rank {r} {share:.2f}" for r, (_, share) in sorted(found.items())) + ".",
)

# %% [markdown]
# **Figure 1.** The share of new sentences that the translator gets exactly right, before it is adapted and with your
# adapters, by their rank; below each bar, how many parameters learned. Each bar is a single training of 250 steps: a
# small difference between two of them says little, and a low rank might catch up in more steps.
#
# Try other layers in `adapted`, and run the cells from there on: the blocks also have `key`, `output`, `up` and
# `down`.
#
# The last cell notes this milestone; `progress("all")` in any assignment shows it. The next one comes after lesson
# 17.

# %%
my.reached()
