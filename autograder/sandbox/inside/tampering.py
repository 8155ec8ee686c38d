"""Whether a notebook has changed the code that examines it."""

import builtins
import sys
from types import CodeType, ModuleType

_OWN = (__name__, f"{__package__}.runner")
_WATCHED = tuple(module for name, module in sys.modules.items() if name.startswith("utils.checking.") or name in _OWN)
_NOTED = ("__slotnames__", "__warningregistry__")  # what Python itself adds to a class or a module


class Original:
    """What the modules that observe hold, and their classes, when this is made: values, and the code of functions."""

    def __init__(self):
        self.held = []
        for module in _WATCHED:
            classes = [value for value in vars(module).values() if _is_class_of(value, module)]
            self.held += [(vars(owner), {name: (value, _code(value)) for name, value in vars(owner).items()}, owner)
                          for owner in (module, *classes)]  # fmt: skip

    def is_unchanged(self) -> bool:
        """Whether the modules and classes hold what they held.

        Names that are new in a module, as compilers leave them, change nothing unless the module's own code looks one up:
        of its own accord, or as a name that is built in.
        """
        return all(
            all(namespace.get(name) is value and _code(value) is code for name, (value, code) in held.items())
            and not any(_matters(name, owner, held) for name in namespace.keys() - held.keys())
            for namespace, held, owner in self.held
        )


def _is_class_of(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and value.__module__ == module.__name__


def _code(value: object) -> CodeType | None:
    """The code of a function or of a method, None of anything else."""
    return getattr(getattr(value, "__func__", value), "__code__", None)


def _matters(name: str, owner: type | ModuleType, held: dict) -> bool:
    """Whether a new name can change what code does: any in a class, and in a module those that its code looks up."""
    if name in _NOTED:
        return False
    return isinstance(owner, type) or hasattr(builtins, name) or name in _names_looked_up(owner, held)


def _names_looked_up(module: ModuleType, held: dict) -> set[str]:
    values = [value for value, _ in held.values()]
    values += [inner for cls in values if _is_class_of(cls, module) for inner in vars(cls).values()]
    waiting = [code for value in values for code in map(_code, (value, *_accessors(value))) if code is not None]
    names: set[str] = set()
    while waiting:
        code = waiting.pop()
        names.update(code.co_names)
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return names


def _accessors(value: object) -> tuple:
    return tuple(getattr(value, name, None) for name in ("fget", "fset", "__wrapped__"))
