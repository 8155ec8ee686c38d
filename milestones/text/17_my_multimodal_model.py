# %% [markdown]
# # Milestone: my model answers questions about a picture
#
# In assignment 17 you wrote what puts a picture in front of a text, and a resampler that reads many vectors with a
# few. Here they become **a bridge between two models that know nothing of each other**: a network that sees, and a
# language model that has only ever read. Both stay as they are, and only the bridge learns. You need nothing but your
# solved notebook. This is not graded, and takes about a minute on most machines, most of it training.
#
# Run the notebook from the top. What you have not solved yet is lent by the course, and a list below says what is
# yours; come back when you have solved more. [Lesson 17](../notebooks/17_multimodal_llms.ipynb) explains the model.

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
import random

import torch
import torch.nn.functional as F
from torch import nn

from utils.data import questions, scenes
from utils.data.translation import START, STOP
from utils.device import device
from utils.figures import plots
from utils.figures.plots import show
from utils.measures import stored_weights
from utils.milestones.parts import my_parts
from utils.models.grid_cnn import pretrained_cnn
from utils.models.multimodal import TextReader, cells_with_places, padded
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
my = my_parts("17_my_multimodal_model", work)

# %% [markdown]
# ## An eye, a reader, and your bridge
#
# The eye is the CNN of lesson 03, which makes 36 vectors of a picture. The reader is the language model of lesson 17,
# which has learned from texts alone to answer questions about a caption. Your `Resampler` sums up the 36 vectors in a
# few, between two linear layers, and your `picture_prefix` puts them in front of the question, where the reader used
# to find the caption. Its labels mark the answer as the one word to learn.

# %%
seen, new = scenes.scenes(3000, seed=1), scenes.scenes(400, seed=2)
pictures = scenes.images(new)  # [400, 3, 48, 48]
eye = pretrained_cnn()
cells, new_cells = (cells_with_places(eye, one).to(DEVICE) for one in (scenes.images(seen), pictures))  # [·, 36, 72]
reader = stored_weights.load("17_multimodal_llms.reader", TextReader()).to(DEVICE).requires_grad_(False)
words = scenes.vocabulary()


class Bridge(nn.Module):
    """What the eye sees [B, 36, D_P] becomes R vectors for the reader [B, R, D]."""

    def __init__(self, R=8, D_P=72, D=96, H=6):
        super().__init__()
        self.cells, self.vectors = nn.Linear(D_P, D), nn.Linear(D, D)
        self.resampler = my.Resampler(D, H, R)

    def forward(self, cells):
        return self.vectors(self.resampler(self.cells(cells)))


def read(bridge, cells, asked):
    """Logits [B, N, words] after each position, and the labels [B, N] of what comes next."""
    rows = [[*question.tokens(), question.target()] for question in asked]
    tokens, lengths = padded(rows).to(DEVICE), torch.tensor([len(row) for row in rows], device=DEVICE)
    picture = bridge(cells[[question.scene for question in asked]])  # [B, R, D]
    start, stop = (reader.words(tokens.new_full((len(rows), 1), token)) for token in (START, STOP))
    picture = torch.cat([start, picture, stop], dim=1)  # in the place of [START], a caption and [STOP]
    inputs, labels = my.picture_prefix(picture, reader.words(tokens), tokens, lengths - 1, lengths)
    return reader(inputs[:, :-1]), labels[:, 1:].long()


# %% tags=["live"]
bridge, steps = Bridge().to(DEVICE), 900
chance, asked = random.Random(0), questions.EvenQuestions(seen)


def loss(bridge, batch):
    logits, labels = read(bridge, cells, batch)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


drawn = (asked.draw(chance, 32) for _ in range(steps))
losses = train(bridge, drawn, loss, steps=steps, rate=2e-3, what="my bridge")
trained, all_weights = (sum(one.numel() for one in model.parameters()) for model in (bridge, reader))
print(f"{trained:,} weights learned, none of the reader's {all_weights:,}")
print(f"loss: {losses[0]:.2f} at first, {sum(losses[-20:]) / 20:.2f} at the end")


# %% [markdown]
# Now it is asked about pictures that it has never seen, 200 questions of each kind, with every answer equally often.


# %% tags=["fold"]
# @title Draws Figure 1
@torch.no_grad()
def answers(asked):
    """The probabilities of the next word [B, words] after each question about a new picture."""
    logits, labels = read(bridge, new_cells, asked)
    return logits[labels != -100].softmax(dim=-1).cpu()


tests, share = questions.EvenQuestions(new), {}
for kind in questions.ANSWERS:
    test = tests.test(kind, each=200)
    found = answers(test).argmax(dim=-1).tolist()
    share[kind] = sum(word == question.target() for word, question in zip(found, test)) / len(test)
    print(f"{kind:7} right {share[kind]:.2f}, by guessing {questions.CHANCE[kind]:.2f}")
figure, (axes,) = plots.canvas(6.5, 3.2)
plots.bars(list(share.values()), list(share), value_label="share right", limits=(0, 1.12), axes=axes)
for place, kind in enumerate(share):
    axes.plot([place - 0.4, place + 0.4], [questions.CHANCE[kind]] * 2, color=plots.ORANGE, linewidth=3)
show(
    figure,
    "Bars for the share of right answers by kind of question, each with a line for guessing: "
    + ", ".join(f"{kind} {value:.2f}, guessing {questions.CHANCE[kind]:.2f}" for kind, value in share.items())
    + ".",
)

# %% [markdown]
# **Figure 1.** The share of questions about new pictures that the model answers right, by kind; the orange lines are
# what guessing would reach. Questions about *where* a thing is usually take the bridge longest to learn; give it more
# steps, and see.

# %% tags=["fold"]
# @title Draws Figure 2
SHOWN, told = (1, 2, 3), []
figure, panels = plots.canvas(11, 5.2, len(SHOWN))
for axes, place in zip(panels, SHOWN):
    some = questions.questions(new[place], place)
    some = [some[number] for number in (0, 1, 6, 7)]  # one of each kind
    says = [words.words[number] for number in answers(some).argmax(dim=-1)]
    lines = [
        f"{' '.join(question.words)}? {answer} " + ("✓" if answer == question.answer else f"✗ {question.answer}")
        for question, answer in zip(some, says)
    ]
    axes.imshow(pictures[place].permute(1, 2, 0).clamp(0, 1))
    axes.set_axis_off()
    axes.set_title("\n".join(lines), fontsize=10, loc="left")
    told.append("; ".join(lines))
show(figure, "Three pictures, each with four questions and the model's answers. " + ". Next: ".join(told) + ".")

# %% [markdown]
# **Figure 2.** Three new pictures, with the model's answers to a question of each kind. A ✓ follows a right answer; a
# ✗ follows a wrong one, and behind it stands the right one.
#
# ## A question of your own
#
# Choose a picture by its number, from 0 to 399, and ask, in small letters and without a question mark. The reader
# knows the kinds of question above and the words in `words.words`. Run both cells below when you have changed them.

# %% tags=["play"]
number, mine = 1, "what colour is the circle"

# %% tags=["fold"]
# @title Draws Figure 3
unknown = [word for word in mine.split() if word not in words.numbers]
assert not unknown, f"The reader does not know: {', '.join(unknown)}."
own = questions.Question("own", tuple(mine.split()), "red", number)  # the answer is not looked at
likely = answers([own])[0].topk(5)
names = [words.words[word] for word in likely.indices]
print(f"{mine}? {names[0]}")
figure, (left, axes) = plots.canvas(9, 3, 2, width_ratios=[1, 1.8])
left.imshow(pictures[number].permute(1, 2, 0).clamp(0, 1))
left.set_axis_off()
plots.bars(likely.values, names, title=f"{mine}?", value_label="probability", limits=(0, 1.12), axes=axes)
show(
    figure,
    f"Left, a picture: {' '.join(new[number].caption)}. Right, bars for the five likeliest answers to “{mine}?”: "
    + ", ".join(f"{name} {value:.2f}" for name, value in zip(names, likely.values.tolist()))
    + ".",
)

# %% [markdown]
# **Figure 3.** Your question, and the five words that the model finds likeliest as its answer. Ask about a shape that
# is not in the picture: the model has never learned to say that there is none.
#
# The last cell notes this milestone; `progress("all")` in any assignment shows it. It is the last one of the course.

# %%
my.reached()
