"""What a folded cell holds, in a few words: the first line of the cell, which JupyterLab and Colab leave in view, and the
book's line that unfolds it."""

import ast
import re

from nbformat import NotebookNode

from autograder.authoring.reading import is_folded

TITLE = "# @title "  # Colab shows what follows; JupyterLab shows the whole line
FIGURE = re.compile(r"\*\*(Figure \d+)\.\*\*")
LONGEST = 110  # characters of a label
MOST = 4  # names in a label


def give_titles(nb: NotebookNode) -> None:
    """Writes its label into the first line of each folded cell of a lesson, but for the set-up, which says what it does."""
    for cell, following in zip(nb.cells, [*nb.cells[1:], None]):
        if is_folded(cell) and "setup" not in cell.metadata.tags:
            words = label(cell, following)
            cell.source = f"{TITLE}{words[0].upper()}{words[1:]}\n{without_title(cell.source)}"


def without_title(source: str) -> str:
    """A cell's code as its author wrote it."""
    return source.partition("\n")[2] if source.startswith(TITLE) else source


def label(cell: NotebookNode, following: NotebookNode | None) -> str:
    """The cell's own label, its first comment, or what can be seen of it: the figure it draws, what it defines or asserts."""
    if own_label := cell.metadata.get("label"):
        return own_label
    source = without_title(cell.source)
    first = source.partition("\n")[0]
    if first.startswith("# ") and len(first) <= LONGEST:
        return first[2:].strip().rstrip(".")
    if figure := _figure_number(source, following):
        return f"explorer of {figure}" if is_explorer(cell) else f"draws {figure}"
    return _visible_contents(source)


def is_explorer(cell: NotebookNode) -> bool:
    """Whether a cell shows a figure that a reader can move in a notebook."""
    return cell.cell_type == "code" and bool(re.search(r"^explore\(", cell.source, re.MULTILINE))


def _figure_number(source: str, following: NotebookNode | None) -> str | None:
    drawing_call = re.search(r"^\s*(show|explore)\(", source, re.MULTILINE)
    caption = FIGURE.match(following.source) if drawing_call and following is not None else None
    return caption[1] if caption else None


def _visible_contents(source: str) -> str:
    statements = ast.parse(re.sub(r"^[%!].*$", "pass", source, flags=re.MULTILINE)).body
    kinds = {_statement_kind(statement) for statement in statements}
    definitions = [statement for statement in statements if isinstance(statement, ast.FunctionDef | ast.ClassDef)]
    if isinstance(statements[0], ast.Import | ast.ImportFrom):
        return "imports and settings"
    if kinds == {"assertion"}:
        return "assertions"
    if len(definitions) == 1 and (docstring := _docstring_label(definitions[0])):
        return docstring
    nodes = [node for statement in statements for node in _nodes_run(statement)]
    if any(isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print" for node in nodes):
        checked = any(isinstance(node, ast.Assert) for node in nodes)
        return "checks the claims and prints the lines below" if checked else "prints the lines below"
    if definitions:
        return f"defines {_listed([definition.name for definition in definitions])}"
    names = [name for statement in statements for name in _assigned_names(statement)]
    return f"computes {_listed(names)}" if names else "computes what follows"


def _nodes_run(statement: ast.stmt) -> list[ast.AST]:
    """The nodes of the syntax tree that run when a statement does; of a definition, none."""
    return [] if isinstance(statement, ast.FunctionDef | ast.ClassDef) else [*ast.walk(statement)]


def _docstring_label(definition: ast.FunctionDef | ast.ClassDef) -> str | None:
    first_paragraph = (ast.get_docstring(definition) or "").partition("\n\n")[0]
    whole = f"defines {definition.name} · {' '.join(first_paragraph.split()).rstrip('.')}"
    return whole if first_paragraph and len(whole) <= LONGEST else None


def _assigned_names(statement: ast.stmt) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    return [name for name in names if name != "_"]


def _listed(names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:MOST]) + (", …" if len(names) > MOST else "")


def _statement_kind(statement: ast.stmt) -> str:
    function = (
        statement.value.func if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) else None
    )
    name = getattr(function, "id", getattr(function, "attr", ""))
    return "assertion" if isinstance(statement, ast.Assert) or name == "assert_close" else name or "other"
