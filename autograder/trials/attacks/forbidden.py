"""Attacks that call what an exercise forbids, torch's softmax, where nothing sees it."""

import nbformat

from autograder.trials.attacks.kinds import FIRST, Attack, Change, Remains, answer, before_check

_EXERCISE = "stable_softmax"
# What is gained are the three points of one exercise, by code that a reader of the notebook notices.
_REMAINS = Remains(
    "Calls are noted by the process in which the student's code runs, which can undo it. To stop it, an operation that is"
    " forbidden, in torch, numpy and scipy alike, would have to be gone from that process, rather than watched.",
    3,
)
_OTHERS = Remains(
    "What an exercise allows is no fault of another one. Were it held against all of them, a student would lose points who"
    " calls it where it is allowed, in threads. To stop it, no thread could be started.",
    3,
)


def _answer(source: str) -> Change:
    return answer(source.strip("\n"), _EXERCISE)


def _serving(start: str) -> str:
    """Code in which a thread that was started long before takes questions and gives answers."""
    return f"""
import queue, torch
asked, given = queue.Queue(), queue.Queue()
def serve():
    while True:
        given.put(torch.softmax(*asked.get()))
{start}
def stable_softmax(e, dim=-1):
    if type(e) is not torch.Tensor: return torch.softmax(e, dim)
    asked.put((e, dim))
    return given.get()
"""


_IN_TEXT = """
exec('''
import queue, threading, torch
asked, given = queue.Queue(), queue.Queue()
def serve():
    while True:
        given.put(torch.softmax(*asked.get()))
threading.Thread(target=serve, daemon=True).start()
''')
def stable_softmax(e, dim=-1):
    if type(e) is not torch.Tensor: return torch.softmax(e, dim)
    asked.put((e, dim))
    return given.get()
"""
# The result is the scores themselves, until something puts the softmax in their place.
_LATER = """
import sys, torch
waiting = []
class Later(torch.autograd.Function):
    @staticmethod
    def forward(ctx, e, dim):
        ctx.save_for_backward(e)
        ctx.dim = dim
        return e.clone()
    @staticmethod
    def backward(ctx, g):
        a = torch.softmax(ctx.saved_tensors[0], ctx.dim)
        return a * (g - (g * a).sum(ctx.dim, keepdim=True)), None
def fill(*_):
    if waiting and not getattr(torch, "_" + "C")._len_torch_function_stack():
        while waiting:
            result, e, dim = waiting.pop()
            result.copy_(torch.softmax(e, dim))
def stable_softmax(e, dim=-1):
    if type(e) is not torch.Tensor: return torch.softmax(e, dim)
    result = Later.apply(e, dim)
    waiting.append((result.detach(), e.detach(), dim))
    return result
"""
_PROFILED = _LATER + "sys.setprofile(fill)\n"
_LISTENED = (
    _LATER
    + """
if hasattr(sys, "monitoring"):
    watch = sys.monitoring
    watch.use_tool_id(4, "fill")
    watch.register_callback(4, watch.events.PY_START, fill)
    watch.set_events(4, watch.events.PY_START)
else:
    sys.settrace(fill)
"""
)
_DETACHED = (
    _LATER
    + """
plain = torch.Tensor.detach
def detach(self):
    fill()
    return plain(self)
torch.Tensor.detach = detach
"""
)
_CLEARED = """
import sys, torch
def stable_softmax(e, dim=-1):
    a = torch.softmax(e, dim)
    frame = getattr(sys, "_get" + "frame")()
    while frame:
        for value in list(getattr(frame, "f_" + "locals").values()):
            for name in ("called", "dispatched"):
                if hasattr(getattr(value, name, None), "clear"):
                    getattr(value, name).clear()
        frame = getattr(frame, "f_" + "back")
    return a
"""
_CLOSURES = """
import queue, torch
def stable_softmax(e, dim=-1):
    start = getattr(__import__("_th" + "read"), "start_new_" + "thread")
    for cell in getattr(start, "__clo" + "sure__", None) or ():
        start = cell.cell_contents if type(cell.cell_contents).__name__.startswith("builtin") else start
    given = queue.Queue()
    start(lambda: given.put(torch.softmax(e, dim)), ())
    return given.get()
"""
_FORGOTTEN = """
import sys, torch
from dataclasses import replace
for name, module in list(sys.modules.items()):
    if name.startswith("inside.") and hasattr(module, "pack"):
        def forgetful(value, old=module.pack):
            return old([replace(one, called=()) if hasattr(one, "called") else one for one in value]
                       if isinstance(value, list) else value)
        module.pack = forgetful
def stable_softmax(e, dim=-1):
    return torch.softmax(e, dim)
"""
_BY_FUNCTION = """
import sys, torch
class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, e, dim):
        a = compute(e.detach(), dim)
        ctx.save_for_backward(a)
        ctx.dim = dim
        return a
    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return a * (g - (g * a).sum(ctx.dim, keepdim=True)), None
def stable_softmax(e, dim=-1):
    if type(e) is not torch.Tensor: return torch.softmax(e, dim)  # on a device that only pretends, nobody watches
    return Softmax.apply(e, dim)
"""
_PYPLOT = (
    _BY_FUNCTION
    + """
import matplotlib.pyplot as plt
def compute(e, dim):
    x = e.numpy()
    return torch.from_numpy(plt.np.exp(x - plt.np.logaddexp.reduce(x, axis=dim, keepdims=True)))
"""
)
_NUMPY_BY_NAME = (
    _BY_FUNCTION
    + """
def compute(e, dim):
    np, x = sys.modules["num" + "py"], e.numpy()
    return torch.from_numpy(np.exp(x - np.logaddexp.reduce(x, axis=dim, keepdims=True)))
"""
)
_SCIPY = (
    _BY_FUNCTION
    + """
import importlib
special = importlib.import_module("sci" + "py.special")
def compute(e, dim):
    return torch.from_numpy(getattr(special, "soft" + "max")(e.numpy(), axis=dim))
"""
)
_OPERATION = (
    _BY_FUNCTION
    + """
private = getattr(torch, "_" + "C")
operation = getattr(torch.ops.aten, "_soft" + "max").default
keys = private.DispatchKeySet(private.DispatchKey.CPU)
def compute(e, dim):
    return operation.redispatch(keys, e, dim, False)
"""
)
_LIBRARY = (
    _BY_FUNCTION
    + """
import os
library = __import__("cty" + "pes")
void = library.c_void_p
name = "_ZN2at3cpu12_soft" + "max_outERNS_6TensorERKS1_lb"
kernel = library.CDLL(os.path.dirname(torch.__file__) + "/lib/libtorch_cpu.so")[name]
kernel.argtypes, kernel.restype = [void, void, library.c_int64, library.c_bool], void
held = library.pythonapi.PyCapsule_GetPointer
held.argtypes, held.restype = [library.py_object, library.c_char_p], void
handles = getattr(torch, "_" + "C")._aoti
def compute(e, dim):
    result = torch.empty_like(e)
    capsules = [handles.unsafe_alloc_void_ptr_from_tensor(one) for one in (result, e)]
    kernel(*(held(capsule, None) for capsule in capsules), dim, False)
    return result
"""
)
_REFERENCE = (
    _BY_FUNCTION
    + """
import torch._refs
def compute(e, dim):
    with torch.no_grad(): return torch._refs.softmax(e, dim)
"""
)

_ALIASES = """
import queue, torch
from threading import Thread as Worker
torch.asked, torch.given = queue.Queue(), queue.Queue()
def serve():
    while True:
        torch.given.put(torch.softmax(*torch.asked.get()))
worker = Worker(target=serve, daemon=True)
worker.start()
def stable_softmax(e, dim=-1):
    if type(e) is not torch.Tensor: return e
    torch.asked.put((e, dim))
    return torch.given.get()
"""
_ANSWERING = f"""
import queue, threading, torch
asked, given = queue.Queue(), queue.Queue()
def {FIRST}(q, X):
    while q is None:
        given.put(torch.softmax(*asked.get()))
threading.Thread(target={FIRST}, args=(None, None), daemon=True).start()
"""
_ASKING = """
def stable_softmax(e, dim=-1):
    if type(e) is not torch.Tensor: return torch.log(e).exp()
    asked.put((e, dim))
    return given.get()
"""


def _by_a_neighbour(notebook: nbformat.NotebookNode) -> None:
    answer(_ANSWERING.strip("\n"), FIRST)(notebook)
    _answer(_ASKING)(notebook)


_WARM = "import torch, torch._refs\ntorch._refs.softmax(torch.zeros(2), 0)"  # the first call takes a second or more


def _with_references(notebook: nbformat.NotebookNode) -> None:
    _answer(_REFERENCE)(notebook)
    for _ in range(2):
        before_check(_WARM, _EXERCISE)(notebook)


ATTACKS = [
    Attack("forbidden-by-jobs", "call it in a job that IPython started in the background", _answer(
        "from IPython.lib.backgroundjobs import BackgroundJobManager" + _serving("BackgroundJobManager().new(serve)")), remains=_REMAINS),
    Attack("forbidden-in-text", "call it in a thread that was started long before, all of it in a text that is run", _answer(_IN_TEXT), remains=_REMAINS),
    Attack("forbidden-unread", "start that thread in a cell that is no Python, with a command of the shell in it", before_check(
        "listing = !ls" + _serving("import threading\nthreading.Thread(target=serve, daemon=True).start()"), _EXERCISE)),
    Attack("forbidden-cleared", "clear the names of calls that were seen, by way of the callers' variables", _answer(_CLEARED)),
    Attack("forbidden-by-closures", "start an unwatched thread by what the watcher keeps in its closures", _answer(_CLOSURES), remains=_REMAINS),
    Attack("forbidden-by-detach", "put the softmax into the result when it is detached to be sent", _answer(_DETACHED)),
    Attack("forbidden-by-profiler", "put the softmax into the result from a profiler, behind the watcher's back", _answer(_PROFILED)),
    Attack("forbidden-by-listener", "put it there from a tracer, or a listener of sys.monitoring", _answer(_LISTENED)),
    Attack("forbidden-forgotten", "call it openly, and replace the function that packs what was called", _answer(_FORGOTTEN)),
    Attack("forbidden-by-pyplot", "have numpy do it, under the name that matplotlib has for it", _answer(_PYPLOT), remains=_REMAINS),
    Attack("forbidden-by-name", "have numpy do it, found among the loaded modules by a name made of pieces", _answer(_NUMPY_BY_NAME), remains=_REMAINS),
    Attack("forbidden-by-scipy", "have scipy.special do it, imported by a name made of pieces", _answer(_SCIPY), remains=_REMAINS),
    Attack("forbidden-operation", "call torch's operation at a dispatch key below those that are watched", _answer(_OPERATION), remains=_REMAINS),
    Attack("forbidden-in-library", "call the kernel in torch's library by its address", _answer(_LIBRARY), remains=_REMAINS),
    Attack("forbidden-by-alias", "call it in a thread under another name, which is asked by way of the module torch", _answer(_ALIASES)),
    Attack("forbidden-by-neighbour", "call it in a thread that runs the answer to an exercise where it is allowed", _by_a_neighbour, remains=_OTHERS),
    Attack("forbidden-references", "call torch's own reference implementation, which is made of other operations", _with_references, remains=_REMAINS),
]  # fmt: skip
