"""Runs a lesson's code once with other random numbers, and notes how far each of its assertions was from failing.

Run as `python -m autograder.trials.watched_lesson notebooks/text/09_transformer_block.py 2`, it prints a JSON list; figures are
made and not drawn.
"""

import ast
import io
import json
import operator
import os
import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from typing import Any

import jupytext

from autograder import settings

# What is added to a lesson's seeds from one run to the next.
STEP = 1000
_OPERATORS = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}


@dataclass
class Seen:
    """An assertion of a lesson: its text, whether it held, and its least margin, a share of the larger of the two numbers.

    The margin is None where nothing is compared by size; an assertion that is never reached is not listed.
    """

    text: str
    held: bool = True
    margin: float | None = None


class _Watching(ast.NodeTransformer):
    """Has every assertion tell whether it holds, and what its comparisons by size compare; none ends the lesson."""

    def __init__(self):
        self.texts: list[str] = []

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        key = ast.Constant(len(self.texts))
        self.texts.append(ast.unparse(node.test))
        test = _Comparisons(key).visit(node.test)
        return ast.Expr(ast.Call(ast.Name("_held", ast.Load()), [key, test], []))


class _Comparisons(ast.NodeTransformer):
    def __init__(self, key: ast.Constant):
        self.key = key

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if not all(type(comparison) in _OPERATORS for comparison in node.ops):
            return node
        kinds = ast.Tuple([ast.Constant(type(comparison).__name__) for comparison in node.ops], ast.Load())
        numbers = ast.Tuple([node.left, *node.comparators], ast.Load())
        return ast.Call(ast.Name("_compared", ast.Load()), [self.key, kinds, numbers], [])


def watched(code: list[str]) -> list[Seen]:
    """What the assertions of some cells say when they are run in one namespace."""
    watching = _Watching()
    assertions: dict[int, Seen] = {}
    by_name = {kind.__name__: function for kind, function in _OPERATORS.items()}

    def assertion_of(key: int) -> Seen:
        return assertions.setdefault(key, Seen(watching.texts[key]))

    def compared(key: int, kinds: tuple, numbers: tuple) -> Any:
        assertion, all_hold = assertion_of(key), True
        for kind, left, right in zip(kinds, numbers, numbers[1:]):
            distance = _distance(left, right)
            if distance is not None:
                assertion.margin = distance if assertion.margin is None else min(assertion.margin, distance)
            all_hold = all_hold & by_name[kind](left, right) if all_hold is not True else by_name[kind](left, right)
        return all_hold

    def held(key: int, test: object) -> None:
        assertion = assertion_of(key)
        assertion.held = assertion.held and bool(test)

    trees = [ast.fix_missing_locations(watching.visit(ast.parse(cell))) for cell in code]
    space = {"__name__": "__main__", "_compared": compared, "_held": held}
    for tree in trees:
        exec(compile(tree, "<lesson>", "exec"), space)
    return [assertions[key] for key in sorted(assertions)]


def _distance(left: object, right: object) -> float | None:
    """How far two numbers are from being equal, as a share of the larger; of tensors that of the nearest pair."""
    import torch

    try:
        a, b = (torch.as_tensor(number).detach().to("cpu", torch.float64) for number in (left, right))
        share = (a - b).abs() / torch.maximum(a.abs(), b.abs()).clamp_min(1e-300)
    except (TypeError, ValueError, RuntimeError):
        return None  # not numbers
    return share.min().item() if share.numel() else None


def _shifted(by: int) -> None:
    """From now on a seed of torch stands for other random numbers; data that Python draws stay as they are."""
    import torch

    original_seeding = torch.manual_seed

    class Generator(torch.Generator):
        def manual_seed(self, seed):
            return super().manual_seed(seed + by)

    vars(torch).update(manual_seed=lambda seed: original_seeding(seed + by), Generator=Generator)
    torch.random.manual_seed = torch.manual_seed


def main(twin: str, run: str) -> None:
    """Prints what the assertions of a lesson's text twin say in one run; run 0 has the lesson's own random numbers."""
    os.environ |= {"COURSE_STATIC": "1", "COURSE_DEVICE": "cpu", "MPLBACKEND": "agg"}
    cells = [cell for cell in jupytext.read(twin).cells if cell.cell_type == "code"]
    _shifted(STEP * int(run))
    from utils.figures import explorers, plots

    plots.show = lambda *_, **__: None
    plots.publish = lambda *_, **__: None
    explorers.explore = lambda *_, **__: None
    os.chdir(settings.LESSONS)
    code = [cell.source for cell in cells if "setup" not in cell.metadata.get("tags", [])]
    with redirect_stdout(io.StringIO()):
        assertions = watched(code)
    print(json.dumps([asdict(assertion) for assertion in assertions]))


if __name__ == "__main__":
    main(*sys.argv[1:3])
