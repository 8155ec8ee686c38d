"""On Apple's GPUs, which have no double precision, every solution passes its checks, and no lesson asks for it there."""

import ast
from dataclasses import replace

import jupytext
import pytest
import torch
from conftest import ROOT, plain

from autograder import settings
from utils import device as devices
from utils.checking.concluding import conclude
from utils.checking.judging.judge import judge
from utils.checking.messages.exceptions import advice
from utils.checking.observing.devices import NO_DOUBLE, THERE, other_device
from utils.checking.observing.observe import observe
from utils.checking.records import Failure

UNITS = settings.units()
TRAINED = "caption_scenes"  # has no inputs of numbers, and needs a network that its notebook trains
BEGINNINGS = ("import", "from", "def", "class", "@")  # of cells that define something
ON_THE_CPU = {  # a line that asks for double precision, and why what it asks of is on the CPU
    "15_lora.py: p.double()": "`linspace` without a device",
}


def solved(unit: str) -> dict:
    """What the cells of a unit's solution define; nothing is trained, drawn or checked."""
    namespace = {"__name__": "__main__"}
    for cell in jupytext.read(settings.SOLUTIONS / unit / f"{unit}.py").cells:
        first = cell.source.splitlines()[:1]
        if cell.cell_type == "code" and "check(" not in cell.source and first and first[0].startswith(BEGINNINGS):
            exec(cell.source, namespace)
    return namespace


def on_apple(exercise, frozen, made):
    """The verdict of a self-check on a device without double precision: `observe` and `judge` as for "mps".

    Where inputs are to arrive in double precision they arrive in single there, as `observe` arranges it for "mps".
    """
    single = replace(frozen.case, precision="bfloat16" if frozen.case.precision == "bfloat16" else "float32")
    with other_device(double=False):
        seen = observe(made, single, THERE, trusted=True)
    outputs = tuple(replace(one, device="mps" if one.device else "") for one in seen.outputs)
    return judge(exercise, frozen, replace(seen, device="mps", outputs=outputs))


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_every_solution_passes_its_checks_on_a_device_without_double_precision(unit, shipped):
    namespace, failed = solved(unit), {}
    for exercise in (one for one in shipped.values() if one.unit == unit and one.name != TRAINED):
        cases = [one for one in exercise.cases if not one.case.elsewhere]
        result = conclude(exercise, [on_apple(exercise, one, namespace[exercise.name]) for one in cases])
        if not result.passed:
            failed[exercise.name] = result.message
    assert not failed


def test_an_answer_that_asks_apples_gpu_for_double_precision_is_told_so(shipped):
    def attention_scores(q, X):
        return (X.double() @ q.double().unsqueeze(-1)).squeeze(-1).to(X.dtype)

    exercise = shipped["attention_scores"]
    result = conclude(exercise, [on_apple(exercise, one, attention_scores) for one in exercise.cases[:3]])
    assert "Apple's GPUs (MPS) have no double precision, which your code asks for." in plain(result.message)


@pytest.mark.parametrize(
    "text, told",
    [
        (NO_DOUBLE + ". Please use float32 instead.", "no double precision"),
        ("Trying to convert Double to the MPS backend but it does not have support for that dtype.", "no double"),
        ("The operator 'aten::x' is not currently implemented for the MPS device.", 'environ["COURSE_DEVICE"] = "cpu"'),
    ],
)
def test_what_apples_gpu_refuses_is_explained(text, told):
    assert told in advice(Failure("call", "TypeError", text), {})


def asking_for_double(tree):
    """Expressions that ask for double precision of a tensor that may be on a device: x.double(), and x.to(torch.float64)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            double = node.func.attr == "double"
            asked = {ast.unparse(one) for one in [*node.args, *(word.value for word in node.keywords)]}
            if double or asked & {"torch.float64", "torch.double"}:
                yield node


@pytest.mark.parametrize("folder", ["notebooks/text", "solutions", "utils"])
def test_double_precision_is_asked_for_on_the_cpu_alone(folder):
    """Of what was brought there by .cpu(), or made without a device."""
    found = []
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in asking_for_double(ast.parse(file.read_text(encoding="utf-8"))):
            brought = ".cpu()" in ast.unparse(node.func) or "device" not in ast.unparse(node) and _makes(node)
            if not brought and f"{file.name}: {ast.unparse(node)}" not in ON_THE_CPU:
                found.append(f"{file.name}:{node.lineno}: {ast.unparse(node)}")
    assert not found


def _makes(node: ast.Call) -> bool:
    """Whether a call makes a tensor, of torch's own functions or of the lesson's."""
    return ast.unparse(node.func).startswith("torch.") or isinstance(node.func, ast.Name)


def test_an_apple_gpu_that_cannot_be_used_is_not_chosen(monkeypatch):
    """As before macOS 14, where it has no bfloat16; here torch was built without it."""
    monkeypatch.delenv("COURSE_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert devices.device().type == "cpu"
