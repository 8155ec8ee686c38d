"""What can be read of a cell that as a whole is not Python: the definitions beside an unclosed bracket or a line of prose."""

import ast
import re

from IPython.core.interactiveshell import InteractiveShell

MAX_PIECES, MAX_JOINED = 200, 12
_GOES_ON = re.compile(r"[\s)\]}#]|(?:else|elif|except|finally)\b|$")  # a line that belongs to the one above it
_COMPOUND = re.compile(r"@|(?:async|def|class|for|while|if|with|try)\b")
_OF_A_BODY = re.compile(r"(?m)\b(?:return|yield)\b|^[ \t]+\S")


def readable_pieces(shell: InteractiveShell, source: str) -> list[str]:
    """The parts of a cell, from top to bottom, that can be run although others are not Python.

    A definition is left out with what is broken behind it where that may be the rest of its body.
    """
    pieces, readable, start = _split(source), [], 0
    if len(pieces) > MAX_PIECES:
        return []
    while start < len(pieces):
        ends = range(start + 1, min(len(pieces), start + MAX_JOINED) + 1)
        end = next((end for end in ends if _compiles(shell, "\n".join(pieces[start:end]))), 0)
        if end:
            readable.append("\n".join(pieces[start:end]))
        elif _OF_A_BODY.search(pieces[start]) and not _COMPOUND.match(pieces[start]):
            while readable and not _COMPOUND.match(readable.pop()):
                pass
        start = end or start + 1
    return readable


def _split(source: str) -> list[str]:
    pieces: list[str] = []
    for line in source.splitlines():
        if pieces and (_GOES_ON.match(line) or pieces[-1].splitlines()[-1].startswith("@")):
            pieces[-1] += f"\n{line}"
        else:
            pieces.append(line)
    return pieces


def _compiles(shell: InteractiveShell, piece: str) -> bool:
    try:
        compile(shell.transform_cell(piece), "<piece>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
