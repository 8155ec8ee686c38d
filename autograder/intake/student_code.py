"""Reads a notebook's code without running it: which names a cell defines, and calls that hide from being watched."""

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import lru_cache
from itertools import pairwise

from autograder.intake.guard import SECONDS, guarded
from autograder.intake.name_use import NameUse, name_use

# The characters that an ordinary cell has at most. What was read of larger cells is not kept: it would fill the memory.
ORDINARY = 10_000
MAX_NESTING = 300  # levels of a cell's code: nobody writes more by hand
_CHAIN = re.compile(r"(?:\.[\s\\]*+\w++[\s\\]*+){300}")  # Python reads `import a.b.c…` in time of the length squared

# What IPython assigns: `files = !ls`, `took = %timeit -o f()`; and what it looks up: `f?`, `??f`, `torch.*max*?`.
_ASSIGNED = re.compile(r"([^=#]*)=[^\S\n]*(?:!|%(?=[^\W\d]))")
_LOOKED_UP = re.compile(r"\s*(?:\?\??[\w.*]+|[\w.*]+\?\??)\s*")

EVASIVE = {  # names of Python's and the course's own means by which a call to torch could go unwatched
    "threading", "_thread", "concurrent", "multiprocessing", "ctypes", "gc", "_getframe", "inside", "runner", "WatchedCalls",
    "_C", "_python_dispatch", "overrides", "__code__", "__globals__", "__closure__", "tb_frame", "f_back", "f_locals",
    "currentframe", "asyncio", "run_in_executor", "__torch_function__", "__torch_dispatch__",
    "call_recorder", "_Functions", "_Dispatched",
}  # fmt: skip
HARMLESS = {  # a module among them -> what in it has nothing to do with calls
    "gc": {"collect", "enable", "disable", "isenabled", "freeze", "unfreeze", "set_threshold", "get_stats", "get_count"},
    "multiprocessing": {"cpu_count", "freeze_support", "set_start_method", "get_start_method", "set_sharing_strategy"},
    "threading": {"active_count", "current_thread", "get_ident"},
}  # fmt: skip
ORDINARY_WORDS = {"inside", "runner", "overrides"}  # as attributes, these are meant only behind what is imported
UNWATCHED = ("numpy", "scipy", "sklearn", "jax")  # libraries whose calls nothing watches


def parse(source: str) -> list[ast.stmt]:
    """The statements of a cell, without IPython's own syntax; none if it is not Python, or nested too deeply to read."""
    return _read(source)[0]


def _words_instead(error: BaseException, source: str) -> tuple[list, frozenset]:
    return [], frozenset() if isinstance(error, (SyntaxError, ValueError)) else frozenset(re.findall(r"\w+", source))


def _read(source: str) -> tuple[list[ast.stmt], frozenset[str]]:
    """What `_read_anew` returns; it is kept for cells of ordinary size, since most are as they were handed out."""
    return (_kept if len(source) <= ORDINARY else _read_anew)(source)


@guarded(_words_instead, SECONDS)
def _read_anew(source: str) -> tuple[list[ast.stmt], frozenset[str]]:
    """A cell's statements; and, where Python itself may read what is not read here, the cell's words instead.

    Python's own parser bounds the nesting that it accepts. The walk after it goes from node to node without recursion, so
    that no nesting overflows the stack.
    """
    plain = "\n".join("pass" if line.lstrip()[:1] in ("%", "!") else line for line in source.splitlines())
    if plain.count(".") > MAX_NESTING and _CHAIN.search(plain):
        raise RecursionError("a chain of names")
    try:
        tree = ast.parse(plain)
    except SyntaxError:
        tree = ast.parse("\n".join(_in_python(source.splitlines())))
    level: list[ast.AST] = [tree]
    depth = 0
    while level:
        level, depth = [inner for node in level for inner in ast.iter_child_nodes(node)], depth + 1
        if depth > MAX_NESTING:
            raise RecursionError("nested too deeply")
    return tree.body, frozenset()


def _in_python(lines: list[str]) -> Iterator[str]:
    """A cell's lines with what is IPython's own in them as Python: a command as the call for which it stands.

    A command that goes on over several lines stays one statement of as many.
    """
    is_continued = False
    for line in lines:
        goes_on = line.endswith("\\")
        if is_continued:
            yield "" if goes_on else ")"
            is_continued = goes_on
            continue
        assigned = _ASSIGNED.match(line)
        indent = line[: len(line) - len(line.lstrip())]
        if line.lstrip()[:1] in ("%", "!") or _LOOKED_UP.fullmatch(line) or assigned:
            yield f"{assigned[1] + '=' if assigned else indent}get_ipython().getoutput({'' if goes_on else ')'}"
            is_continued = goes_on
        else:
            yield line


_kept = lru_cache(maxsize=1024)(_read_anew)


@lru_cache(maxsize=4096)
def defined(source: str) -> frozenset[str]:
    """The top-level names that a cell binds by a definition or an assignment."""
    return frozenset(name for statement in parse(source) for name in _bound_names(statement))


@lru_cache(maxsize=4096)
def finished(source: str) -> frozenset[str]:
    """The top-level names that a cell binds to something other than a stub, which raises NotImplementedError or does nothing."""
    statements = parse(source)
    stubs = {name for statement in statements if _is_stub(statement) for name in _bound_names(statement)}
    return (
        frozenset(name for statement in statements if not _is_stub(statement) for name in _bound_names(statement))
        - stubs
    )


def _is_stub(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ClassDef):
        methods = [method for method in statement.body if isinstance(method, ast.FunctionDef)]
        return (
            bool(methods)
            and any(map(_is_stub, methods))
            and all(_is_stub(method) or _is_empty(method) for method in methods)
        )
    return isinstance(statement, ast.FunctionDef) and all(map(_does_nothing, statement.body))


def _is_empty(method: ast.FunctionDef) -> bool:
    """A constructor that only calls its parent's."""
    return all(_does_nothing(statement) or any(map(_calls_parent, ast.walk(statement))) for statement in method.body)


def _calls_parent(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    parent = node.func.value
    called = parent.func if isinstance(parent, ast.Call) and not parent.args else None
    return isinstance(called, ast.Name) and called.id == "super" and node.func.attr == "__init__"


def _does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return any(isinstance(node, ast.Name) and node.id == "NotImplementedError" for node in ast.walk(statement))
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass) or constant


def parses(source: str) -> bool:
    """Whether a cell is Python as it stands, alone."""
    return bool(parse(source)) or not source.strip()


def _bound_names(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


class Notebook:
    """The names that a notebook's code uses, and the calls that these could hide.

    Args:
        exercises: the exercises that it is examined for. What another of them may call is no fault of this one.
    """

    def __init__(self, sources: list[str], exercises: Iterable[str] = ()):
        uses_and_words = [_names(source) for source in sources]
        self.uses = [use for uses, _ in uses_and_words for use in uses]
        # Code that cannot be read could hide calls, too.
        self.unread = frozenset().union(*(words for _, words in uses_and_words if words & (EVASIVE | {*UNWATCHED})))
        self.exercises = frozenset(exercises)
        self.imports: dict[str, set[str]] = {}  # what the names that it imports stand for, as far as that counts
        self.library: dict[str, set[str]] = {}  # what it calls functions of unwatched libraries -> those functions
        self.own: set[str] = set()  # the names that it binds other than by an import
        self.binding: dict[str, list[int]] = {}
        self.needing: dict[str, list[int]] = {}
        for place, use in enumerate(self.uses):
            for name, paths in use.imports.items():
                if name in use.binds:
                    self.imports.setdefault(name, set()).update(map(_essence, paths))
                    if functions := _functions(paths):
                        self.library.setdefault(name, set()).update(functions)
            self.own |= use.binds - use.imports.keys()
            for name in use.binds:
                self.binding.setdefault(name, []).append(place)
            for name in use.needs:
                self.needing.setdefault(name, []).append(place)
        self.own -= self.imports.keys()
        modules = {path for use in self.uses for path in use.modules}
        self.is_unwatched = any(path[0] in UNWATCHED for path in modules)
        self.has_stars = any(path[-1] == "*" and _is_evasive(path) for path in modules)
        self.hiding = {place for place, use in enumerate(self.uses) if self._can_hide(use)}
        self.can_hide = bool(self.hiding) or any(len(path) > 1 and _is_evasive(path) for path in modules)

    def hidden_call(self, forbidden: tuple, name: str) -> str:
        """A forbidden function that `name` names, a helper of it, or code that can hide calls and shares something with it.

        Calls to torch are watched at run time. This looks at notebooks that also use something that could have kept such a
        call out of sight, or that call a library that nothing watches.

        Returns:
            the function's name; empty if there is none, or if nothing in the notebook could hide it.
        """
        if not self.can_hide and not self.is_unwatched and not self.unread:
            return ""
        reached = self._reached(self.binding.get(name, ()), frozenset())
        called = self._library_functions(reached) | (self.unread - self.own - {name})
        if self.can_hide:
            suspects = reached | self._hidden_helpers(reached, name)
            called |= {function for place in suspects for function in self._used_names(self.uses[place])}
        return next((function for word in forbidden for function in sorted(called) if word in function), "")

    def _reached(self, places: Iterable[int], barred: frozenset[int]) -> set[int]:
        """These statements, and those that bind what they need, and so on; none that is barred."""
        return _closure(places, barred, lambda place: self.uses[place].needs, self.binding)

    def _reaching(self, places: Iterable[int], barred: frozenset[int]) -> set[int]:
        """These statements, and those that need what they bind, and so on; none that is barred."""
        return _closure(places, barred, lambda place: self.uses[place].binds - self.imports.keys(), self.needing)

    def _hidden_helpers(self, reached: set[int], name: str) -> set[int]:
        """What is reached by code that can hide calls and that shares something with the exercise.

        A thread can do an exercise's work only where something carries the question to it, and the answer back. A test
        of the exercise that uses threads shares no more with it than definitions and imports.
        """
        barred = frozenset(
            place for other in self.exercises - {name} for place in self.binding.get(other, ()) if place not in reached
        )
        needed = {shared for place in reached for shared in self.uses[place].needs} - {name}
        carrying = {
            shared for shared in needed if any(self.uses[place].carries for place in self.binding.get(shared, ()))
        }
        sharing = [place for shared in carrying for place in (*self.needing[shared], *self.binding[shared])]
        linked = self._reaching(sharing, barred | {*self.binding.get(name, ())})
        return self._reached(linked & self._reaching(self.hiding, barred), barred)

    def _can_hide(self, use: NameUse) -> bool:
        """Whether a statement uses something by which a call could go unwatched."""
        if self.has_stars and use.needs - self.binding.keys() - vars(builtins).keys():
            return True
        within = {name: set(map(_essence, paths)) for name, paths in use.imports.items()}
        for root, *attributes in use.chains:
            meant = {*within.get(root, ()), *(self.imports.get(root, ()) if root in use.needs else ())}
            is_free = root in use.needs and root not in self.own
            meant_or_itself = meant or {root if is_free else ""}
            if any(_is_evasive((one, *attributes), bool(meant) or is_free) for one in meant_or_itself):
                return True
        return False

    def _library_functions(self, places: Iterable[int]) -> set[str]:
        """The functions of unwatched libraries that statements name."""
        functions, named = set[str](), set[str]()
        for use in (self.uses[place] for place in places):
            within = {name: _functions(paths) for name, paths in use.imports.items()}
            for root, *attributes in use.chains:
                is_shared = root in use.needs and root in self.library
                if is_shared or within.get(root):
                    functions.update(attributes)
                    named |= {root} if is_shared else set()
            functions.update(*(within.get(root, ()) for root in {root for root, *_ in use.chains}))
        return functions.union(*(self.library[name] for name in named))

    def _used_names(self, use: NameUse) -> set[str]:
        """Names of attributes and functions that are used, apart from the notebook's own and what belongs to `self`."""
        attributes = {attribute for root, *rest in use.chains for attribute in rest[root == "self" :]}
        plain = {root for root, *_ in use.chains if root in use.needs and root not in self.own}
        return attributes | plain | use.texts


def _names_instead(error: BaseException, source: str) -> tuple[tuple[NameUse, ...], frozenset[str]]:
    return (), frozenset(re.findall(r"\w+", source))


def _names(source: str) -> tuple[tuple[NameUse, ...], frozenset[str]]:
    """What `_names_anew` returns; it is kept for cells of ordinary size."""
    return (_kept_names if len(source) <= ORDINARY else _names_anew)(source)


@guarded(_names_instead, SECONDS)
def _names_anew(source: str) -> tuple[tuple[NameUse, ...], frozenset[str]]:
    """What each statement of a cell does with names; and the cell's words instead where it cannot be read."""
    statements, words = _read(source)
    return tuple(map(name_use, statements)), words


_kept_names = lru_cache(maxsize=1024)(_names_anew)


def _closure(
    places: Iterable[int], barred: frozenset[int], names: Callable[[int], Set[str]], by_name: Mapping[str, list[int]]
) -> set[int]:
    """These places, and those that each of their names leads to, and so on; each name is followed once."""
    found, followed = set[int](), set[str]()
    waiting = [place for place in places if place not in barred]
    while waiting:
        place = waiting.pop()
        if place in found:
            continue
        found.add(place)
        for name in names(place) - followed:
            followed.add(name)
            waiting += [other for other in by_name.get(name, ()) if other not in found and other not in barred]
    return found


def _functions(paths: Iterable[tuple[str, ...]]) -> set[str]:
    """What is imported of unwatched libraries."""
    return {path[-1] for path in paths if path[0] in UNWATCHED}


def _essence(path: tuple[str, ...]) -> str:
    """A word that stands for what is imported, where calls could hide in it; there are few, however much is imported."""
    if any(word in EVASIVE and following not in HARMLESS.get(word, ()) for word, following in pairwise(path)):
        return "ctypes"
    return path[-1] if path[-1] in EVASIVE else ""


def _is_evasive(path: tuple[str, ...], is_imported: bool = True) -> bool:
    """Whether a name with attributes behind it stands for something by which a call could go unwatched."""
    for word, following in zip(path, (*path[1:], "")):
        is_meant = is_imported or word not in ORDINARY_WORDS
        if word in EVASIVE and is_meant and following not in HARMLESS.get(word, ()):
            return True
    return False
