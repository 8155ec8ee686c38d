"""A forbidden call that is kept out of sight is found by reading; what only stands beside it is no fault."""

import re
import time

import pytest

from autograder.grading import newer_python
from autograder.intake.statements import statements
from autograder.intake.student_code import Notebook

IMPORTS = "import math\nimport torch\nimport torch.nn.functional as F\ntorch.backends.cudnn.deterministic = True"
SOFTMAX = """def stable_softmax(e, dim=-1):
    '''softmax'''
    a = (e - e.amax(dim=dim, keepdim=True)).exp()
    return a / a.sum(dim=dim, keepdim=True)"""
TEST = "print(torch.allclose(stable_softmax(e), torch.softmax(e, dim=-1)))"
HONEST = {
    "collected": f"import gc\ne = torch.randn(3, 4)\n{TEST}\ngc.collect()",
    "collected under another name": f"from gc import collect\n{TEST}\ncollect()",
    "a mask called inside": "inside = torch.ones(3, 4) > 0\nprint(torch.softmax(e, dim=-1)[inside])",
    "a mask in a function": f"def test(inside):\n    {TEST}\n    return inside.sum()\ntest(e)",
    "a mask of an object": f"class Box:\n    def __init__(self):\n        self.inside = 1\nbox = Box()\n{TEST[:-1]}, box.inside)",
    "a sum called runner": "runner = 0\nfor e in torch.randn(5, 3, 4):\n    runner += e.softmax(dim=-1).max()",
    "scipy in a test": "from scipy.special import softmax\na = softmax(x)\nprint(a, stable_softmax(torch.tensor(x)))",
    "numpy in a test": "import numpy as np\nwith torch.no_grad():\n    e = a = np.softmax(x)",
    "a counted processor": f"import multiprocessing\nworkers = multiprocessing.cpu_count(); {TEST}",
    "threads in another exercise": """from concurrent.futures import ThreadPoolExecutor
def attention_pooling(q, X):
    with ThreadPoolExecutor(16) as pool:
        scores = torch.stack(list(pool.map(lambda x: x @ q, X)))
    return scores.softmax(dim=-1) @ X
""",
    "threads in a test": f"import threading\nthread = threading.Thread(target=lambda: {TEST})\nthread.start()",
    "a pool in a test": f"from concurrent.futures import *\nwith ThreadPoolExecutor() as pool:\n    pool.map(abs, e)\n    {TEST}",
    "something evasive elsewhere": f"import inspect\nprint(inspect.currentframe())\n{TEST}",
}
SERVED = """import queue
asked, given = queue.Queue(), queue.Queue()
def serve():
    while True:
        given.put(torch.softmax(*asked.get()))
START
def stable_softmax(e, dim=-1):
    asked.put((e, dim))
    return given.get()"""
POOLED = (
    "def stable_softmax(e, dim=-1):\n    with ThreadPoolExecutor() as pool:\n        return pool.submit(F.softmax, e)"
)
HIDDEN = {
    "thread": SERVED.replace("START", "import threading\nthreading.Thread(target=serve).start()"),
    "alias": SERVED.replace("START", "from threading import Thread as T\nt = T(target=serve)\nt.start()"),
    "starred": SERVED.replace("START", "from _thread import *\nstart_new_thread(serve, ())"),
    "helper": SERVED.replace("START", "from threading import Thread\ndef go(f): return Thread(target=f)\ngo(serve).start()"),
    "rebound": SERVED.replace("START", "import threading as u\nthreading = inside = u\nthreading.Thread(target=serve).start()"),
    "through torch": SERVED.replace("asked", "torch.asked").replace("START", "import _thread as t\nt.start_new(serve, ())"),
    "pool": f"from concurrent.futures import ThreadPoolExecutor\n{POOLED}",
    "pool within": POOLED.replace(":\n", ":\n    from concurrent.futures import ThreadPoolExecutor\n", 1),
    "objects": "import gc\ndef stable_softmax(e):\n    [one.called.clear() for one in gc.get_objects()]\n    return e.softmax(0)",
    "frames": "import sys\ndef stable_softmax(e):\n    sys._getframe().f_back.f_locals.clear()\n    return e.softmax(0)",
    "scipy": "def stable_softmax(e):\n    import scipy.special as s\n    return torch.tensor(s.softmax(e.numpy()))",
    "scipy by name": "from scipy.special import softmax as f\ng, h = f, 1\ndef stable_softmax(e):\n    return g(e.numpy())",
    "numpy patched into torch": "import numpy as np\ntorch.mine = np.softmax\ndef stable_softmax(e):\n    return torch.mine(e)",
}  # fmt: skip


def hidden(source, exercises=("stable_softmax", "attention_pooling")):
    return Notebook([IMPORTS, SOFTMAX, source], exercises).hidden_call(("softmax",), "stable_softmax")


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST)
def test_what_does_nothing_for_the_exercise_is_no_fault_of_it(source):
    assert hidden(source) == hidden(source, ()) == ""


@pytest.mark.parametrize("source", HIDDEN.values(), ids=HIDDEN)
def test_a_call_that_is_kept_out_of_sight_is_found(source):
    assert hidden(source) == "softmax"


def test_what_another_exercise_may_call_is_a_fault_where_it_is_reached():
    pooling = HONEST["threads in another exercise"]
    assert hidden(f"{pooling}\ndef stable_softmax(e):\n    return attention_pooling(e, e)") == "softmax"


def spent(read, source):
    """The least seconds of computing that it takes to read a text, of three tries."""
    times = []
    for _ in range(3):
        before = time.process_time()
        read(source)
        times.append(time.process_time() - before)
    return min(times)


def read_names(count):
    names = [f"x{number}" for number in range(30)]
    line = f"{'='.join(names)}=f({','.join(names)})"
    notebook = Notebook(["\n".join([line] * count), "import gc\ngc.get_objects()", "def e(q):\n    return x0"])
    for _ in range(8):
        notebook.hidden_call(("softmax",), "e")


def find_newer(source):
    return [re.search(pattern, source, re.MULTILINE) for pattern in newer_python._SYNTAX.values()]


READINGS = {
    "blank lines": (lambda count: statements.__wrapped__("\n" * count + "#"), 15_000),
    "statements of a line": (lambda count: statements.__wrapped__("a=1;" * count), 2_500),
    "no Python": (lambda count: find_newer("def f(q:" + "\n" * count + " return"), 15_000),
    "names that need one another": (read_names, 100),
}


@pytest.mark.parametrize(("read", "count"), READINGS.values(), ids=READINGS)
def test_four_times_the_code_takes_no_more_than_eight_times_as_long(read, count):
    assert spent(read, 4 * count) < 8 * spent(read, count) + 0.1
