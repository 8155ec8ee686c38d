"""Whether a run of a notebook gives what its claims say: cells with nbval's tag, compared as nbval does."""

import difflib
from collections import defaultdict

from nbformat import NotebookNode
from nbval.plugin import coalesce_streams, find_comment_markers, find_metadata_tags, transform_streams_for_comparison

# what nbval leaves out: what changes from run to run, and pictures, which change from machine to machine
LEFT_OUT = {"metadata", "traceback", "output_type", "name", "execution_count", "image/png", "image/jpeg"}
LEFT_OUT |= {"application/vnd.jupyter.widget-view+json"}


def claims(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells whose output is claimed."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    marks = [{**dict(find_metadata_tags(cell.metadata)), **dict(find_comment_markers(cell.source))} for cell in code]
    return [cell for cell, marked in zip(code, marks) if marked.get("check")]


def broken(committed: NotebookNode, run: NotebookNode) -> list[str]:
    """A readable difference for each claim of `committed` that is not what came out in `run`; empty if all hold."""
    given = {cell.id: cell for cell in run.cells}
    found = []
    for cell in claims(committed):
        claimed, came = (_by_kind(one.outputs if one else []) for one in (cell, given.get(cell.id)))
        for kind in sorted({*claimed, *came}):
            if claimed.get(kind) != came.get(kind):
                found.append(_difference(cell, kind, claimed.get(kind, []), came.get(kind, [])))
    return found


def _by_kind(outputs: list[NotebookNode]) -> dict[str, list]:
    """What is compared, in order, under "stdout", "text/plain" and so on: the order between kinds is left open."""
    kinds = defaultdict(list)
    for output in transform_streams_for_comparison(coalesce_streams([NotebookNode(one) for one in outputs])):
        flat = {**{kind: value for kind, value in output.items() if kind != "data"}, **output.get("data", {})}
        for kind, value in flat.items():
            if kind not in LEFT_OUT:
                kinds[kind].append(value)
    return kinds


def _difference(cell: NotebookNode, kind: str, claimed: list, came: list) -> str:
    lines = [[line for value in values for line in str(value).splitlines()] for values in (claimed, came)]
    differ = "\n".join(difflib.unified_diff(*lines, "committed", "this run", lineterm="", n=1))
    first = next((line for line in cell.source.splitlines() if line and not line.startswith("#")), "")
    return f"cell {cell.id} ({first}), {kind}:\n{differ or f'{len(claimed)} pieces are {len(came)}'}"
