"""What a folded cell holds, in a few words, for the line that unfolds it."""

import ast
import re

FIGURE = re.compile(r"\*\*(Figure \d+)\.\*\*")
LONGEST = 110  # characters of a label
MOST = 4  # names in a label


def label(cell, following) -> str:
    """The cell's own label, its first comment, or what can be seen of it: the figure it draws, what it defines or asserts."""
    if own := cell.metadata.get("label"):
        return f"Code: {own}"
    first = cell.source.partition("\n")[0]
    if first.startswith("# ") and len(first) <= LONGEST:
        return f"Code: {first[2:].strip().rstrip('.')}"
    if figure := _figure(cell, following):
        return f"Code of the explorer in {figure}" if is_explorer(cell) else f"Code that draws {figure}"
    return _seen(cell.source, printed=any("text" in output for output in cell.get("outputs", [])))


def is_explorer(cell) -> bool:
    """Whether a cell shows a figure that a reader can move in a notebook."""
    return cell.cell_type == "code" and bool(re.search(r"^explore\(", cell.source, re.MULTILINE))


def _figure(cell, following) -> str | None:
    drawn = any("image/png" in output.get("data", {}) for output in cell.get("outputs", []))
    caption = FIGURE.match(following.source) if drawn and following is not None else None
    return caption[1] if caption else None


def _seen(source: str, printed: bool) -> str:
    statements = ast.parse(re.sub(r"^[%!].*$", "pass", source, flags=re.MULTILINE)).body
    kinds = {_kind(one) for one in statements}
    defined = [one for one in statements if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    if isinstance(statements[0], ast.Import | ast.ImportFrom):
        return "Code: imports and helpers"
    if kinds == {"assertion"}:
        return "Code: assertions"
    if len(defined) == 1 and (said := _docstring(defined[0])):
        return said
    if printed:
        return "Code: prints the lines below"
    names = [one.name for one in defined] or [name for one in statements for name in _assigned(one)]
    return f"Code: {_listed(names)}" if names else "Code"


def _docstring(defined) -> str | None:
    said = (ast.get_docstring(defined) or "").partition("\n\n")[0]
    whole = f"Code: {defined.name} · {' '.join(said.split()).rstrip('.')}"
    return whole if said and len(whole) <= LONGEST else None


def _assigned(statement: ast.stmt) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
    return [name for name in names if name != "_"]


def _listed(names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:MOST]) + (", …" if len(names) > MOST else "")


def _kind(statement: ast.stmt) -> str:
    called = statement.value.func if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) else None
    name = getattr(called, "id", getattr(called, "attr", ""))
    return "assertion" if isinstance(statement, ast.Assert) or name == "assert_close" else name or "other"
