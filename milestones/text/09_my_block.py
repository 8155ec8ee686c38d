# %% [markdown]
# # Milestone: my Transformer block sorts
#
# In assignments 05, 07 and 09 you wrote positions, masked attention, a norm and a gated MLP, each by itself. Here
# they become **a Transformer block that you wrote**. Two of these blocks learn to sort letters, and you can watch
# them look the letters up. You need nothing but your solved notebooks. This is not graded, and takes about a minute
# on most machines, most of it training.
#
# Run the notebook from the top. What you have not solved yet is lent by the course, and a list below says what is
# yours; come back when you have solved more. [Lesson 09](../notebooks/09_transformer_block.ipynb) explains the block.

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

from utils.device import device
from utils.figures import plots
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
my = my_parts("09_my_block", work)

# %% [markdown]
# ## The block
#
# A pre-norm block has two branches, and what each of them computes is added to what came in: first your
# `MaskedMultiHeadAttention`, then your `SwiGLU`, both behind your `rms_norm`. Your `LearnedPositions` tell the
# positions apart, each of which has a place of the sorted row to fill.

# %%
LETTERS = "abcdefghijklmnopqrstuvwxyz"
N, D, H = 10, 64, 2  # letters in a row, width, heads


class Block(nn.Module):
    """A pre-norm block, made of the parts above."""

    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.ones(2, D))  # of the two norms
        self.attention, self.mlp = my.MaskedMultiHeadAttention(H, D // H), my.SwiGLU(D, 2 * D)

    def forward(self, X, mask):
        Y, A = self.attention(my.rms_norm(X, self.weights[0], 1e-6), mask)  # [B, N, D], [B, H, N, N]
        X = X + Y
        return X + self.mlp(my.rms_norm(X, self.weights[1], 1e-6)), A


class Sorter(nn.Module):
    """For each place of the sorted row the logits of the letter that belongs there [B, N, 26], and all weights."""

    def __init__(self, mask):
        super().__init__()
        self.mask = mask  # [N, N], True where attention is allowed
        self.letters, self.positions = nn.Embedding(len(LETTERS), D), my.LearnedPositions(N, D)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.weight, self.head = nn.Parameter(torch.ones(D)), nn.Linear(D, len(LETTERS))

    def forward(self, tokens):
        X, weights = self.positions(self.letters(tokens)), []
        for block in self.blocks:
            X, A = block(X, self.mask)
            weights.append(A)
        return self.head(my.rms_norm(X, self.weight, 1e-6)), torch.stack(weights, dim=1)  # [B, 2, H, N, N]


def rows(count):
    return torch.randint(len(LETTERS), (count, N)).to(DEVICE)


def loss(model, tokens):
    return F.cross_entropy(model(tokens)[0].flatten(0, 1), tokens.sort(dim=1).values.flatten())


@torch.no_grad()
def right(model, tokens):
    """The share of rows with the right letter, for each of the N places."""
    return (model(tokens)[0].argmax(dim=-1) == tokens.sort(dim=1).values).float().mean(dim=0).cpu()


# %% [markdown]
# Nobody tells the model how one sorts. It sees rows of random letters, and is told what each place of the sorted row
# should hold. Each position may attend to all others, so the mask is True everywhere.

# %% tags=["live"]
sorter, steps = Sorter(torch.ones(N, N, dtype=torch.bool, device=DEVICE)).to(DEVICE), 600
losses = train(sorter, (rows(64) for _ in range(steps)), loss, steps=steps, rate=5e-3, what="my blocks")
print(f"loss: {losses[0]:.2f} at first, {sum(losses[-20:]) / 20:.2f} at the end")
new = rows(4000)
print(f"letters in the right place in 4,000 new rows: {right(sorter, new).mean():.1%}")


# %% [markdown]
# Real words are new to it, too:


# %% tags=["fold"]
# @title Draws Figure 1
@torch.no_grad()
def sort(word):
    """The letters that the model writes, and the attention weights [2, H, N, N]."""
    logits, weights = sorter(torch.tensor([[LETTERS.index(letter) for letter in word]], device=DEVICE))
    return "".join(LETTERS[letter] for letter in logits[0].argmax(dim=-1).tolist()), weights[0].cpu()


for word in ("everything", "university", "background"):
    written, weights = sort(word)
    print(f"{word}   mine {written}   right {''.join(sorted(word))}")
same = torch.tensor([[read == wrote for read in word] for wrote in written])  # [N, N]
found = (weights * same).sum(dim=-1).mean(dim=-1)  # [2, H], the weight on letters equal to the one written
block, head = divmod(int(found.argmax()), H)
figure, (axes,) = plots.canvas(6.6, 5.2)
plots.heat_map(
    weights[block, head],
    list(written),
    list(word),
    title=f"block {block + 1}, head {head + 1}",
    row_label="written",
    column_label="read",
    limits=None,
    numbers="",
    axes=axes,
)
show(
    figure,
    f"Attention weights of one head: a row for each letter written ({written}), a column for each letter of {word}.",
)

# %% [markdown]
# **Figure 1.** The letters of *background* and where they were looked up, in the head that gives most weight to the
# letter which is then written. Rows are the places of the sorted row, from top to bottom. A row that fetches its
# letter is bright where this letter stands in the word; in other rows a neighbour in the alphabet may be as bright,
# or brighter.
#
# Try ten letters of your own:

# %% tags=["play"]
mine = "perceptron"  # ten small letters, a to z
print(sort(mine)[0])

# %% [markdown]
# ## What if it may only look back?
#
# Now a new model of the same kind gets a causal mask, as language models have it: a position sees itself and what
# came before. It trains for 400 steps instead of 600; all else is as it was.

# %% tags=["live"]
looks_back, steps = Sorter(torch.ones(N, N, dtype=torch.bool, device=DEVICE).tril()).to(DEVICE), 400
losses = train(looks_back, (rows(64) for _ in range(steps)), loss, steps=steps, rate=5e-3, what="looking back")
print(f"loss: {losses[0]:.2f} at first, {sum(losses[-20:]) / 20:.2f} at the end")

# %% tags=["fold"]
# @title Draws Figure 2
many = rows(200_000).cpu()
counts = torch.zeros(len(LETTERS), len(LETTERS))  # how often each letter comes first, and which is then the least
counts.index_put_((many[:, 0], many.min(dim=1).values), torch.ones(len(many)), accumulate=True)
best = (counts.max(dim=1).values.sum() / len(many)).item()  # the best guess after each first letter
shares = {"may look everywhere": right(sorter, new), "may only look back": right(looks_back, new)}
places = range(1, N + 1)
figure = plots.curves(places, shares, x_label="place in the sorted row", y_label="share of letters that are right")
axes = figure.axes[0]
axes.set(xticks=places, ylim=(0, 1.08))
plots.level(axes, best, "the best guess at place 1")
show(
    figure,
    "Share of right letters at each place. "
    + "; ".join(f"{name}: {line[0]:.2f} at place 1, {line[-1]:.2f} at place {N}" for name, line in shares.items()),
)
print(f"place 1: {shares['may only look back'][0]:.2f} when looking back; the best guess would give {best:.2f}")

# %% [markdown]
# **Figure 2.** The share of right letters at each place of the sorted row. Place 1 has to name the least of ten
# letters, and under the causal mask it has seen only one of them: unless this is an *a*, it can only guess. The
# dotted line is the most that one can expect of any model there, however long it trains. The next places may do even
# worse, since their letters are harder to guess. Place 10 sees the whole row, so it can be right all the same.
#
# The last cell notes this milestone; `progress("all")` in any assignment shows it. The next one comes after lesson
# 11.

# %%
my.reached()
