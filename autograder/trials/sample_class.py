"""A sample class for unit 04: right answers in several styles, misconceptions, and broken files."""

import json
from collections.abc import Callable

import nbformat

UNIT = "04_attention_layer"

WRITTEN = (
    "Without the scale the gradient falls towards zero as D grows: the softmax saturates. The scores are sums of D terms,"
    " so their spread is √D; dividing by √D brings it back to 1. Dividing by D would make all weights nearly equal."
)


def sample_class(released: nbformat.NotebookNode, solved: nbformat.NotebookNode) -> dict[str, str | None]:
    """The sample submissions: student -> the text of the notebook handed in, None where none was.

    Args:
        released: the assignment's notebook, as students receive it.
        solved: the solution's notebook.
    """
    sources = {
        cell.id: _without_marks(cell.source)
        for cell in solved.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }

    def notebook(**changes: str) -> nbformat.NotebookNode:
        """The assignment filled with the solution, in which `changes` replaces the cells named."""
        filled = nbformat.from_dict(released)
        for cell in filled.cells:
            if cell.id in sources:
                cell.source = changes.get(cell.id, WRITTEN if cell.cell_type == "markdown" else sources[cell.id])
        return filled

    def edited(**edits: tuple[str, str]) -> str:
        """The solution with one piece of text replaced in each cell named; the piece must be there."""
        changes = {}
        for name, (old, new) in edits.items():
            if old not in sources[name]:
                raise ValueError(f"the solution of {name} no longer contains {old!r}")
            changes[name] = sources[name].replace(old, new)
        return nbformat.writes(notebook(**changes))

    def arranged(change: Callable) -> str:
        """The solution with its cells rearranged by `change`."""
        rearranged = notebook()
        change(rearranged)
        # The text is as an editor leaves it: nbformat would mend some of it, and warn.
        return json.dumps(rearranged)

    softmax, scale = "E.softmax(dim=-1)", " / math.sqrt(Q.shape[-1])  # [*B, N_Q, N_X]"
    return {
        "right-as-taught": nbformat.writes(notebook()),
        "right-with-einsum": nbformat.writes(notebook(**_WITH_EINSUM)),
        "right-with-loops": nbformat.writes(notebook(**_WITH_LOOPS)),
        "right-with-loops-copied": nbformat.writes(notebook(**{name: _disguised(code) for name, code in _WITH_LOOPS.items()})),
        "stub-untouched": nbformat.writes(nbformat.from_dict(released)),
        "scale-forgotten": edited(scaled_dot_product_attention=(scale, ""), AttentionLayer=(" / math.sqrt(K.shape[-1])", "")),
        "scaled-by-data-width": edited(AttentionLayer=("K.shape[-1]))", "X.shape[-1]))")),
        "softmax-over-queries": edited(scaled_dot_product_attention=(softmax, "E.softmax(dim=-2)")),
        "softmax-over-axis-one": edited(scaled_dot_product_attention=(softmax, "E.softmax(dim=1)")),
        "softmax-overflows": edited(stable_softmax=("(e - e.amax(dim=dim, keepdim=True)).exp()", "e.exp()")),
        "grid-row-by-row": edited(
            attention_pooling=("a = (flat @ q).softmax(dim=-1)", "a = (X @ q).softmax(dim=-1).reshape(-1)")
        ),
        "products-not-summed": edited(attention_scores=(".sum(dim=-1)", "")),
        "weights-not-returned": edited(scaled_dot_product_attention=("return A @ X, A", "return A @ X")),
        "return-forgotten": edited(attention_scores=("return (q", "scores = (q")),
        "uses-numpy": edited(attention_scores=("return (q", "return (q.numpy()[..., None, :] * X.numpy()).sum(-1)  # (q")),
        "input-overwritten": edited(stable_softmax=("powers = (e - e.amax(dim=dim, keepdim=True)).exp()",
                                                    "e -= e.amax(dim=dim, keepdim=True)\n    powers = e.exp()")),
        "forbidden-call": edited(stable_softmax=("powers = (e", "return torch.softmax(e, dim=dim)\n    powers = (e")),
        "roles-swapped": edited(CrossAttentionLayer=("self.W_Q(S), self.W_K(X), self.W_V(X)",
                                                     "self.W_Q(X), self.W_K(S), self.W_V(S)")),
        "outer-product-forgotten": edited(gradient_through_softmax=("J = torch.diag_embed(A) - A[:, :, None] * A[:, None, :]",
                                                               "J = torch.diag_embed(A)")),
        "syntax-error": edited(attention_scores=("def attention_scores(", "def attention_scores((")),
        "endless-loop": edited(attention_pooling=("flat = X", "while True:\n        pass\n    flat = X")),
        "check-deleted": arranged(_delete_check),
        "cell-duplicated": arranged(_duplicate_cell),
        "check-edited": arranged(_edit_check),
        "labels-stripped": arranged(_strip_labels),
        "notebook-cut-off": nbformat.writes(notebook())[:5000],
        "notebook-missing": None,
    }  # fmt: skip


def _without_marks(source: str) -> str:
    return "\n".join(
        line for line in source.splitlines() if line.strip() not in ("### BEGIN SOLUTION", "### END SOLUTION")
    )


def _cell_index(notebook: nbformat.NotebookNode, grade_id: str) -> int:
    return next(
        i for i, cell in enumerate(notebook.cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


def _delete_check(notebook: nbformat.NotebookNode) -> None:
    del notebook.cells[_cell_index(notebook, "check_attention_scores")]


def _duplicate_cell(notebook: nbformat.NotebookNode) -> None:
    place = _cell_index(notebook, "attention_scores")
    notebook.cells.insert(place + 1, nbformat.from_dict(notebook.cells[place]))


def _edit_check(notebook: nbformat.NotebookNode) -> None:
    stub = "def stable_softmax(e, dim=-1):\n    return e"
    notebook.cells[_cell_index(notebook, "stable_softmax")].source = stub
    notebook.cells[_cell_index(notebook, "check_stable_softmax")].source = "print('all checks passed')"


def _strip_labels(notebook: nbformat.NotebookNode) -> None:
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)


_WITH_EINSUM = {
    "attention_scores": """def attention_scores(q, X):
    return torch.einsum("...d,...nd->...n", q, X)""",
    "scaled_dot_product_attention": """def scaled_dot_product_attention(Q, X):
    E = torch.einsum("...qd,...xd->...qx", Q, X) / Q.shape[-1] ** 0.5
    A = torch.softmax(E, -1)
    return torch.einsum("...qx,...xd->...qd", A, X), A""",
    "gradient_through_softmax": """def gradient_through_softmax(Q, X, scaled):
    E = torch.einsum("qd,xd->qx", Q, X)
    A = torch.softmax(E / Q.shape[-1] ** 0.5 if scaled else E, -1)
    J = torch.einsum("qi,ij->qij", A, torch.eye(A.shape[-1]).to(A)) - torch.einsum("qi,qj->qij", A, A)
    return torch.linalg.matrix_norm(J)""",
}

_DISGUISE = {
    "vectors": "rows",
    "powers": "numerators",
    "power": "numerator",
    "total": "denominator",
    "norms": "results",
}


def _disguised(code: str) -> str:
    """A solution's code with other names and comments, as somebody hands in who copied it."""
    for name, other in _DISGUISE.items():
        code = code.replace(name, other)
    return code.replace("\n", "  # my own\n", 1)


_WITH_LOOPS = {
    "attention_scores": """attention_scores = lambda q, X: torch.stack(
    [(q * X[..., i, :]).sum(-1) for i in range(X.shape[-2])], dim=-1)""",
    "attention_pooling": """def attention_pooling(q, X):
    vectors = list(X.flatten(0, -2))
    largest = max(torch.dot(q, x) for x in vectors)
    powers = [torch.exp(torch.dot(q, x) - largest) for x in vectors]
    total = sum(powers)
    y = torch.zeros_like(q)
    for power, x in zip(powers, vectors):
        y = y + power / total * x
    return y, torch.stack(powers).reshape(X.shape[:-1]) / total""",
    "gradient_through_softmax": """def gradient_through_softmax(Q, X, scaled):
    norms = []
    for q in Q:
        e = X @ q / (math.sqrt(X.shape[1]) if scaled else 1)
        norms.append(torch.autograd.functional.jacobian(lambda e: torch.softmax(e, dim=0), e).norm())
    return torch.stack(norms)""",
}
