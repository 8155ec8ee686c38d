"""What a function's signature says: the names of its parameters, and whether it takes arguments."""

import inspect
from typing import Any


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
