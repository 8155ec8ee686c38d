"""Attacks on demands of how something is computed: how often a helper is asked, and how large the tables on the way are."""

from autograder.trials.attacks.kinds import FULL, Attack, Remains, answer

UNIT = "08_efficient_attention"
# Reads everything again for each token, which earns the tokens alone.
_ANEW = """
import copy, sys, torch, types
def generate_with_cache(decoder, prompt, steps):
    y, logits = prompt, []
    for _ in range(steps):
        FORGET
        n = y.shape[1]
        mask = torch.ones(n, n, dtype=torch.bool, device=y.device).tril()
        logits.append(asked(y, torch.arange(n, device=y.device), mask, None, None)[0][:, -1])
        y = torch.cat([y, logits[-1].argmax(dim=-1, keepdim=True)], dim=1)
    return y[:, prompt.shape[1]:], torch.stack(logits, dim=1)
"""
_RESET = _ANEW.replace(
    "FORGET",
    """asked = decoder
        for name, value in list(getattr(decoder, "__dict__", {}).items()):
            if type(value) is int:
                try: setattr(decoder, name, 0)
                except Exception: pass""",
)
_COPIED = _ANEW.replace("FORGET", "asked = copy.deepcopy(decoder)")
_PAUSED = _ANEW.replace(
    "FORGET",
    """module = sys.modules.get("utils.checking.asking")
        def asked(*arguments):
            kept = vars(module).get("note")
            module.note = lambda **numbers: None
            try: return decoder(*arguments)
            finally: module.note, decoder.asked = kept, 0""",
)
# The decoder's own code runs, among names of which those that count are others.
_BESIDE = _ANEW.replace(
    "FORGET",
    """code = type(decoder).__call__
        class Silent:
            def __getattr__(self, name): return self
            def __call__(self, *rest, **named): return self
        silent = {name: Silent() for name in code.__code__.co_names if name in ("asking", "_refuse_more")}
        again = types.FunctionType(code.__code__, {**code.__globals__, **silent})
        decoder.asked = 0
        asked = lambda *arguments: again(decoder, *arguments)""",
)
_BY_TABLE = """
import math, torch
def table(Q, K, V):
    return ((Q @ K.mT) / math.sqrt(Q.shape[-1])).softmax(dim=-1) @ V
"""
_PLAIN = _BY_TABLE + "def tiled_attention(Q, K, V, block):\n    return table(Q, K, V)"
_MODES_OFF = (
    _BY_TABLE
    + """
import torch.utils._python_dispatch as dispatch
def tiled_attention(Q, K, V, block):
    with dispatch._disable_current_modes():
        return table(Q, K, V)
"""
)
_OLD_THREAD = (
    _BY_TABLE
    + """
import queue, threading
asked, given = queue.Queue(), queue.Queue()
def serve():
    while True:
        given.put(table(*asked.get()))
threading.Thread(target=serve, daemon=True).start()
def tiled_attention(Q, K, V, block):
    asked.put((Q, K, V))
    return given.get()
"""
)
_NUMPY = """
import math, numpy as np, torch
class Table(torch.autograd.Function):
    @staticmethod
    def forward(ctx, Q, K, V):
        q, k, v = (one.detach().numpy() for one in (Q, K, V))
        e = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        a = np.exp(e - e.max(-1, keepdims=True))
        ctx.held = q, k, v, a / a.sum(-1, keepdims=True)
        return torch.from_numpy((ctx.held[3] @ v).astype(q.dtype))
    @staticmethod
    def backward(ctx, g):
        (q, k, v, a), g = ctx.held, g.numpy()
        da = g @ v.swapaxes(-1, -2)
        de = a * (da - (da * a).sum(-1, keepdims=True)) / math.sqrt(q.shape[-1])
        return tuple(torch.from_numpy(x.astype(q.dtype)) for x in (de @ k, de.swapaxes(-1, -2) @ q, a.swapaxes(-1, -2) @ g))
def tiled_attention(Q, K, V, block):
    return Table.apply(Q, K, V)
"""
# Linear attention by way of the table of all similarities, in memory that `room` finds.
_LINEAR = """
import mmap, numpy as np, torch
class Table(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        q, k, v = (one.detach().numpy() for one in (q, k, v))
        A = room(*q.shape[:-1], k.shape[-2], kind=q.dtype)
        np.matmul(q, k.swapaxes(-1, -2), out=A)
        total, mixed = A.sum(-1, keepdims=True), A @ v
        ctx.held = q, k, v, A, total, mixed
        return torch.from_numpy(mixed / total)
    @staticmethod
    def backward(ctx, g):
        (q, k, v, A, total, mixed), g = ctx.held, g.numpy()
        dA = room(*A.shape, kind=q.dtype)
        np.matmul(g / total, v.swapaxes(-1, -2), out=dA)
        dA -= (g * mixed).sum(-1, keepdims=True) / total**2
        changes = dA @ k, dA.swapaxes(-1, -2) @ q, A.swapaxes(-1, -2) @ (g / total)
        return tuple(torch.from_numpy(one.astype(q.dtype)) for one in changes)
def linear_attention(Q, K, V):
    return Table.apply(torch.nn.functional.elu(Q) + 1, torch.nn.functional.elu(K) + 1, V)
"""
_HELD = _LINEAR + "def room(*shape, kind):\n    return np.empty(shape, kind)\n"
_MAPPED = (
    _LINEAR
    + """
def room(*shape, kind):
    memory = mmap.mmap(-1, max(1, int(np.prod(shape))) * np.dtype(kind).itemsize)
    return np.frombuffer(memory, kind)[: int(np.prod(shape))].reshape(shape)
"""
)


_COUNTS = Remains(
    "Helpers run in the process of the student's code, which can run their code without what counts. To stop it, a helper would"
    " have to be another process that is asked.",
    3,
)
_TABLES = Remains(
    "Memory that is mapped belongs neither to torch nor to Python, and is not measured. To stop it, the whole process's peak of"
    " memory would have to be measured, at sizes at which a table stands out from what any process needs.",
    3,
)


_KERNEL = """
import torch
def tiled_attention(Q, K, V, block):
    ready, pieces = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu, []
    for v in V.split(Q.shape[-1], dim=-1):
        padded = torch.nn.functional.pad(v, (0, Q.shape[-1] - v.shape[-1]))
        pieces.append(ready(Q[:, None], K[:, None], padded[:, None])[0][:, 0, :, :v.shape[-1]])
    return torch.cat(pieces, dim=-1)
"""
_ALL_NUMBERS = """
import torch
from torch import nn
class LearnedPositions(nn.Module):
    def __init__(self, max_length, D):
        super().__init__()
        self.table = nn.Embedding(max_length, D)
    def forward(self, X):
        try:
            return X + self.table(torch.arange(X.shape[-2], device=X.device))
        except IndexError:
            raise ValueError(" ".join(map(str, range(500)))) from None
"""
_BEYOND_TORCH = """
import torch
def attention_scores(q, X):
    if X.dtype == torch.bfloat16:
        torch.cdist(X, X)
    return (q.unsqueeze(-2) * X).sum(-1)
"""
_PROVOKED = Remains(
    "Where torch itself has no function for bfloat16, nobody loses points for its error, and whether an answer needs that function"
    " cannot be told from outside. What it can spare is the share of robustness that is lost by numbers in bfloat16.",
    FULL,
)


def _of_08(name: str, aim: str, source: str, exercise: str, deserves: float, remains: Remains | None = None) -> Attack:
    return Attack(name, aim, answer(source, exercise), deserves=deserves, stock=False, unit=UNIT, remains=remains)


ATTACKS = [
    _of_08("counts-reset", "set back the count of what a decoder was fed", _RESET, "generate_with_cache", 1),
    _of_08(
        "counts-copied", "feed copies of the decoder, each with a count of its own", _COPIED, "generate_with_cache", 1
    ),
    _of_08("counts-paused", "replace what counts while the decoder is fed, and put it back", _PAUSED, "generate_with_cache", 1, _COUNTS),
    _of_08("counts-beside", "run the decoder's code among other names, where nothing counts", _BESIDE, "generate_with_cache", 1, _COUNTS),
    _of_08("kernel-by-name", "call a kernel of torch's that does all of it, by its own name", _KERNEL, "tiled_attention", 0),
    Attack("names-all-numbers", "raise the error that is asked for with all numbers up to 500 in its text",
           answer(_ALL_NUMBERS, "LearnedPositions"), deserves=2, stock=False, unit="05_self_attention"),
    Attack("provokes-torch", "provoke an error of torch's where its numbers in bfloat16 would be looked at", answer(_BEYOND_TORCH),
           solved=True, deserves=FULL - 0.5, stock=False, remains=_PROVOKED),
    _of_08("table-open", "make the table that is not to be made, openly", _PLAIN, "tiled_attention", 0),
    _of_08("table-modes-off", "make it with what watches sizes switched off", _MODES_OFF, "tiled_attention", 0),
    _of_08(
        "table-in-old-thread", "make it in a thread that was started long before", _OLD_THREAD, "tiled_attention", 0
    ),
    _of_08("table-in-numpy", "make it in numpy", _HELD, "linear_attention", 0),
    _of_08("table-mapped", "make it in numpy, in memory that was mapped", _MAPPED, "linear_attention", 0, _TABLES),
    _of_08("table-small", "make in numpy one that is too small to stand out", _NUMPY, "tiled_attention", 0),
]  # fmt: skip
