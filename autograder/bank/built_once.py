"""Modules of trusted classes, built once for many observations: what is observed often is changed in its calls alone."""

from functools import lru_cache

import torch

_PLAIN = (int, float, str, type(None))


class BuiltOnce(type):
    """Makes classes that differ from their base in `forward` at most: whichever is called for, one module is built, and lent.

    Who observes puts weights and mode into it each time, and is done with it before the next is called for. Random numbers go on
    as after a building. What comes back from another device is not lent again, nor what has buffers, which keep what few digits
    made of them.
    """

    def __call__(cls, *arguments, **named):
        plain = all(isinstance(one, _PLAIN) for one in (*arguments, *named.values()))
        build = _built if plain else _built.__wrapped__
        module, state = build(cls.__base__, arguments, tuple(named.items()))
        parameters = [*module.parameters()]
        if any(True for _ in module.buffers()) or any(one.device.type != "cpu" for one in parameters):
            return type.__call__(cls, *arguments, **named)
        torch.set_rng_state(state)
        if any(one.dtype != torch.get_default_dtype() for one in parameters):
            module.to(dtype=torch.get_default_dtype())
        module.__class__ = cls
        return module


@lru_cache(maxsize=16)
def _built(form, arguments: tuple, named: tuple) -> tuple:
    """A module, and the state of random numbers behind it."""
    return form(*arguments, **dict(named)), torch.get_rng_state()
