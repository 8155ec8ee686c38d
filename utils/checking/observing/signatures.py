"""What a function's signature says: the names of its parameters, and whether it takes arguments."""

import inspect
from collections.abc import Iterable
from types import FunctionType, MethodType
from typing import Any

from torch import nn


def parameter_names(parameters: list) -> list[str]:
    """Parameters' names as a signature lists them: *args, **rest, and a * or / where one may be given in one way only."""
    names = []
    for place, parameter in enumerate(parameters):
        before = [other.kind for other in parameters[:place]]
        if parameter.kind == parameter.KEYWORD_ONLY and not {parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL} & set(
            before
        ):
            names.append("*")
        names.append(
            {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "") + parameter.name
        )
        after = parameters[place + 1].kind if place + 1 < len(parameters) else None
        if parameter.kind == parameter.POSITIONAL_ONLY != after:
            names.append("/")
    return names


def can_bind(signature: inspect.Signature, *arguments: Any, **named: Any) -> bool:
    """Whether the signature takes these arguments."""
    try:
        signature.bind(*arguments, **named)
    except TypeError:
        return False
    return True


def takes_in_order(target: Any, names: Iterable[str]) -> bool:
    """Whether a plain function, or a module's forward, takes just these names by position: what can be seen at once."""
    function: Any = target.forward if isinstance(target, nn.Module) else target
    bound = isinstance(function, MethodType)
    function = function.__func__ if bound else function
    if type(function) is not FunctionType or vars(function):  # where it has attributes, they may say another signature
        return False
    code = function.__code__
    return not code.co_kwonlyargcount and code.co_varnames[bound : code.co_argcount] == tuple(names)
