# %% [markdown]
# # Milestone: my GPT writes
#
# In assignment 11 you wrote byte pair encoding, a GPT, and the distribution that the next token is drawn from, each
# by itself. Here they become **a language model that you wrote**: it cuts a text into tokens of its own, learns from
# it, and then writes. You need nothing but your solved notebook. This is not graded, and takes about a minute on most
# machines, most of it training.
#
# Run the notebook from the top. What you have not solved yet is lent by the course, and a list below says what is
# yours; come back when you have solved more. [Lesson 11](../notebooks/11_language_models.ipynb) explains the model.

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
import textwrap

import torch
import torch.nn.functional as F
from torch import nn

from utils.data import texts
from utils.device import device
from utils.figures import language_models as drawings
from utils.figures.plots import show
from utils.milestones.parts import my_parts
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
my = my_parts("11_my_gpt", work)

# %% [markdown]
# ## The tokens
#
# The text is 3,600 sentences of the course's grammar. Your `byte_pair_merges` learns 200 merges from the beginning of
# it, and your `bpe_encode` cuts the whole text by them, piece by piece. These two and `bpe_decode` belong together:
# while one of them is missing, all three are lent, and every character is a token.

# %%
text, _ = texts.grammar(4000)  # 2000, if your bpe_encode takes long
letters = sorted(set(text))
number = {letter: place for place, letter in enumerate(letters)}


def encode(text):
    numbers = torch.tensor([number[letter] for letter in text])
    return torch.cat([my.bpe_encode(piece, merges, len(letters)) for piece in numbers.split(1000)]).long()


def decode(tokens):
    return "".join(letters[place] for place in my.bpe_decode(tokens, merges, len(letters)).tolist())


beginning = torch.tensor([number[letter] for letter in text[:20_000]])  # 2_000, if byte_pair_merges takes long
merges = my.byte_pair_merges(beginning, len(letters), 200)  # [200, 2]
tokens = encode(text)
V = len(letters) + len(merges)
print(f"{len(text):,} characters, {len(tokens):,} tokens from a vocabulary of {V}")

# %% tags=["fold"]
# @title Draws Figure 1
sentence = "the young student reads two letters"
pieces = [decode(token[None]) for token in encode(sentence)]
show(drawings.pieces({f"{len(merges)} merges": pieces}), f"The sentence “{sentence}” in tokens: {' | '.join(pieces)}.")

# %% [markdown]
# **Figure 1.** A sentence as the model reads it. Blue boxes are tokens that merges have made, grey boxes single
# characters, and ␣ is a space. Merges may reach across the border between two words here, so a token may hold several
# words.
#
# ## The model
#
# Your `GPT` has two blocks of width 64, and reads 64 tokens at a time. As in the lesson, its embeddings start small:
# the tied head would otherwise begin with very large logits.

# %% tags=["live"]
N, D = 64, 64
gpt = my.GPT(V, N, D, 4, 4 * D, 2)
for layer in gpt.modules():
    if isinstance(layer, nn.Embedding):
        nn.init.normal_(layer.weight, std=D**-0.5)
gpt = gpt.to(DEVICE)


def windows():
    """Batches [16, N + 1] from random places of the text."""
    while True:
        begin = torch.randint(len(tokens) - N, (16, 1))
        yield tokens[begin + torch.arange(N + 1)].to(DEVICE)


def loss(model, batch):
    logits = model(batch[:, :-1])  # [16, N, V]; the last token is not read
    return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())  # the first one is not predicted


steps = 1200
losses = train(gpt, windows(), loss, steps=steps, rate=6e-3, what="my GPT")
last = sum(losses[-50:]) / 50
print(f"loss: {losses[0]:.2f} at first, {last:.2f} at the end")
print(f"bits per character at the end: {last / math.log(2) * len(tokens) / len(text):.2f}")


# %% [markdown]
# The loss is counted for each token, on the text that it learns from; bits per character can be compared whatever the
# tokens are. If your merges are still lent, note that number, and see later what your own make of it.
#
# ## It writes
#
# A token is drawn from your `next_token_distribution`, your `bpe_decode` turns it into characters, and the model
# reads on. Top-k keeps twelve tokens, and top-p the fewest of them that hold nine tenths of their probability. (What
# the course lends knows the temperature alone.) A ✓ marks a line that the grammar can say; a ✗ may still be good
# English.


# %%
def following(tokens, temperature, k=12, p=0.9):
    """The model's distribution of the next token [V], and what is drawn from [V]."""
    logits = gpt(tokens[None, -N:].to(DEVICE))[0, -1].cpu()
    softmax = logits.softmax(dim=-1)
    return softmax, my.next_token_distribution(logits, temperature, k, p)


@torch.no_grad()
def write(beginning, lines, temperature):
    """`lines` lines, the first of which begins with `beginning`; fewer if it writes over 200 characters a line."""
    read, written = encode("\n" + beginning), beginning
    while written.count("\n") < lines and len(written) < 200 * lines:
        token = torch.multinomial(following(read, temperature)[1], 1)  # [1]
        read, written = torch.cat([read, token]), written + decode(token)
    return written.split("\n")[:lines]


# %% tags=["fold"]
# @title Prints the lines below
for temperature in (0.5, 2.0):
    lines = write("", 20, temperature)
    right = sum(map(texts.is_sentence, lines))
    print(f"temperature {temperature}: the grammar can say {right} of {len(lines)} lines; the first four:")
    for line in lines[:4]:
        mark = "✓" if texts.is_sentence(line) else "✗"
        print(textwrap.fill(f"  {mark} {line}", 100, subsequent_indent="    "))

# %% [markdown]
# A low temperature plays safe, so that lines resemble one another. A high one gives unlikely tokens a chance: more
# variety, and more that can go wrong.
#
# Begin a sentence yourself. Use words of the text, which `print(text[:500])` shows; a space at the end tells the
# model that the last one is complete.

# %% tags=["play"]
print(textwrap.fill(write("we see the ", 1, temperature=1.0)[0], 100))

# %% tags=["fold"]
# @title Draws Figure 2
before = "the young student "
with torch.no_grad():
    softmax, drawn = following(encode("\n" + before), temperature=1.0)
likeliest = softmax.topk(min(20, V)).indices
names = [decode(token[None]) for token in likeliest]
show(
    drawings.next_token(names, softmax[likeliest], drawn[likeliest], title=f"{before}…"),
    f"The likeliest tokens after “{before}”, with probabilities before and after the controls: "
    + ", ".join(f"“{name}” {softmax[at]:.2f} and {drawn[at]:.2f}" for name, at in zip(names[:5], likeliest[:5])),
)

# %% [markdown]
# **Figure 2.** What may come after *the young student*. Outlined bars are the model's own distribution, filled bars
# what your function makes of it at temperature 1: a token that it cuts off has a 0 above it, and the others share
# what it had. (The function that the course lends cuts off nothing, so that the two agree.) ↵ is the end of a line.
#
# The last cell notes this milestone; `progress("all")` in any assignment shows it. The next one comes after lesson
# 13.

# %%
my.reached()
