"""Whether a notebook has changed the code that examines it."""

import builtins
import sys
from operator import attrgetter, is_
from types import CodeType, ModuleType

_OWN = (__name__, f"{__package__}.runner")
_WATCHED = tuple(module for name, module in sys.modules.items() if name.startswith("utils.checking.") or name in _OWN)
_CODE_OF = attrgetter("__code__")
_NOTED = ("__slotnames__", "__warningregistry__")  # what Python itself adds to a class or a module


class Original:
    """What the modules that observe hold, and their classes, when this is made: values, and the code of functions."""

    def __init__(self):
        self.held = []
        for module in _WATCHED:
            classes = [value for value in vars(module).values() if _is_class_of(value, module)]
            self.held += [_Held(owner) for owner in (module, *classes)]

    def is_unchanged(self) -> bool:
        """Whether the modules and classes hold what they held.

        Names that are new in a module, as compilers leave them, change nothing unless the module's own code looks one up:
        of its own accord, or as a name that is built in.
        """
        return all(held.is_unchanged() for held in self.held)


class _Held:
    """What one module or class holds when this is made."""

    def __init__(self, owner: type | ModuleType):
        self.owner, self.namespace = owner, vars(owner)
        self.values = dict(self.namespace)
        functions = [getattr(value, "__func__", value) for value in self.values.values()]
        self.functions = [function for function in functions if _code(function) is not None]
        self.codes = list(map(_CODE_OF, self.functions))

    def is_unchanged(self) -> bool:
        namespace, values = self.namespace, self.values
        if not all(map(is_, map(namespace.get, values), values.values())):
            return False
        if not all(map(is_, map(_CODE_OF, self.functions), self.codes)):
            return False
        return namespace.keys() == values.keys() or not any(map(self._matters, namespace.keys() - values.keys()))

    def _matters(self, name: str) -> bool:
        """Whether a new name can change what code does: any in a class, and in a module those that its code looks up."""
        if name in _NOTED:
            return False
        return isinstance(self.owner, type) or hasattr(builtins, name) or name in self._names_looked_up(self.owner)

    def _names_looked_up(self, module: ModuleType) -> set[str]:
        values = list(self.values.values())
        values += [inner for cls in values if _is_class_of(cls, module) for inner in vars(cls).values()]
        waiting = [code for value in values for code in map(_code, (value, *_accessors(value))) if code is not None]
        names: set[str] = set()
        while waiting:
            code = waiting.pop()
            names.update(code.co_names)
            waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        return names


def _is_class_of(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and value.__module__ == module.__name__


def _code(value: object) -> CodeType | None:
    """The code of a function or of a method, None of anything else."""
    return getattr(getattr(value, "__func__", value), "__code__", None)


def _accessors(value: object) -> tuple:
    return tuple(getattr(value, name, None) for name in ("fget", "fset", "__wrapped__"))
