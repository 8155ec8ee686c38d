"""A student's own function or class, taken out of the notebook in which it was solved, with what it needs and nothing else."""

import ast
import json
import symtable
from contextlib import suppress
from pathlib import Path


def notebooks(unit: str, folder: Path) -> list[Path]:
    """The notebooks in a folder that may hold a unit's solved assignment, the one under its own name first, then the newest."""
    if folder.is_file():
        return [folder]
    found = [file for file in folder.rglob(f"*{unit}*.ipynb") if not any(part.startswith(".") for part in file.parts)]
    return sorted(found, key=lambda file: (file.name != f"{unit}.ipynb", -file.stat().st_mtime))


def definition(name: str, file: Path):
    """What a notebook's last definition of `name` gives, with the imports, functions, classes and values that it looks up.

    Nothing else of the notebook is run: no check, no training, no figure.

    Returns:
        the function or class; None where the notebook does not define it, or where what it needs cannot be run.
    """
    statements = _statements(file)
    if not any(name in _names(one)[0] for one in statements):
        return None
    namespace: dict = {"__name__": "__main__"}
    for one in _needed(name, statements):
        with suppress(Exception):  # an import that this environment lacks may not be needed after all
            exec(compile(ast.Module([one], []), file.name, "exec"), namespace)
    return namespace.get(name)


def _statements(file: Path) -> list[ast.stmt]:
    """The statements of all code cells in order; magics are left out, and so is a cell that is no Python."""
    found: list[ast.stmt] = []
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        cells = json.loads(file.read_text(encoding="utf-8-sig"))["cells"]
        for cell in cells:
            if cell["cell_type"] == "code":
                lines = "".join(cell["source"]).splitlines()
                with suppress(SyntaxError, ValueError):
                    found += ast.parse("\n".join("" if one.lstrip()[:1] in ("%", "!") else one for one in lines)).body
    return found


def _needed(name: str, statements: list[ast.stmt]) -> list[ast.stmt]:
    """The imports, and in the notebook's order whatever binds `name` or a name that this looks up."""
    read = [_names(one) for one in statements]
    wanted, waiting, known = set(), [name], set()
    while waiting:
        known.add(looked := waiting.pop())
        for number, (bound, needs) in enumerate(read):
            if looked in bound and number not in wanted:
                wanted.add(number)
                waiting += needs - known
    imports = (ast.Import, ast.ImportFrom)
    return [one for number, one in enumerate(statements) if number in wanted or isinstance(one, imports)]


def _names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a statement binds, and those of the notebook that it, or what it defines, looks up."""
    top = symtable.symtable(ast.unparse(statement), "cell", "exec")
    bound = {
        one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported() or one.is_namespace()
    }
    # Encoder.forward = forward changes Encoder
    bound |= {_root(target) for target in getattr(statement, "targets", ())}
    tables, needs = [top], set()
    while tables:
        table = tables.pop()
        symbols = [one for one in table.get_symbols() if one.is_referenced() and (table is top or one.is_global())]
        needs |= {one.get_name() for one in symbols}
        tables += table.get_children()
    return bound, needs


def _root(target: ast.expr) -> str:
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""
