"""Numbers that remember how they came about, so that a size can be told in a lesson's symbols: int(8*D/3)."""

import math
import operator
from contextvars import ContextVar
from fractions import Fraction

SUM, QUOTIENT, PRODUCT, POWER, WHOLE = range(5)  # how tightly a text holds together
made: ContextVar[list | None] = ContextVar("made", default=None)  # the numbers that were computed, where somebody asks


class _Traced:
    """What a size and a ratio have in common: `text`, how it is written, and `tight`, how well that holds together."""

    text: str
    tight: int

    def __round__(self, digits=None):
        if digits is not None:
            return round(plain(self), digits)
        return traced(round(plain(self)), f"round({self.text})")

    def __floor__(self):
        return traced(math.floor(plain(self)), f"floor({self.text})")

    def __ceil__(self):
        return traced(math.ceil(plain(self)), f"ceil({self.text})")

    def __neg__(self):
        return traced(-plain(self), f"-{_written(self, POWER)}", PRODUCT)

    def __divmod__(self, other):
        return self // other, self % other


class Size(_Traced, int):
    """An integer in symbols; it is the number wherever one is asked for."""


class Ratio(_Traced, float):
    """A number with a fraction, on its way from sizes to a size."""

    def __int__(self):  # what `int` makes of it is no Size any more: it can be found among the numbers made
        return plain(traced(math.trunc(plain(self)), f"int({self.text})"))


def traced(value, text: str, tight: int = WHOLE):
    """The number `value`, written `text`."""
    number = (Size if isinstance(value, int) else Ratio)(value)
    number.text, number.tight = text, tight
    if made.get() is not None:
        made.get().append(number)
    return number


def constant(value: float) -> Ratio:
    """A number that stands in a program; Python asks it before it asks the size to its right."""
    fraction = Fraction(value).limit_denominator(64)
    short = str(fraction) if float(fraction) == value and len(str(fraction)) < len(repr(value)) else repr(value)
    number = Ratio(value)
    number.text, number.tight = short, QUOTIENT if "/" in short else WHOLE if value >= 0 else SUM
    return number


def plain(number):
    """The same number without its history."""
    return int.__int__(number) if isinstance(number, int) else float.__float__(number)


def written(number) -> str:
    """How a number was come by; a plain one is written as it is."""
    return number.text if isinstance(number, _Traced) else repr(number)


def _written(number, tight: int) -> str:
    """In brackets, unless it holds together as tightly as its place asks for."""
    holds = number.tight if isinstance(number, _Traced) else WHOLE if number >= 0 else SUM
    return written(number) if holds >= tight else f"({written(number)})"


# by the operator's name: what it does, its sign, how tightly its sides must hold together, and how tightly the whole does
_OPERATORS = {
    "add": (operator.add, " + ", SUM, SUM, SUM),
    "sub": (operator.sub, " - ", SUM, QUOTIENT, SUM),
    "mul": (operator.mul, "*", QUOTIENT, PRODUCT, PRODUCT),
    "truediv": (operator.truediv, "/", QUOTIENT, POWER, QUOTIENT),
    "floordiv": (operator.floordiv, "//", QUOTIENT, POWER, QUOTIENT),
    "mod": (operator.mod, "%", QUOTIENT, POWER, QUOTIENT),
    "pow": (operator.pow, "**", WHOLE, POWER, POWER),
}
_NEUTRAL = (("add", 0), ("mul", 1), ("floordiv", 1))  # sum and prod begin with it, and torch divides by one group


def _method(name: str, swapped: bool):
    operate, sign, tight_left, tight_right, tight = _OPERATORS[name]

    def method(self, other):
        if not isinstance(other, (int, float)):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        value = operate(plain(left), plain(right))
        if (name, plain(other)) in _NEUTRAL and type(value) is type(plain(self)) and value == self:
            return self
        if not isinstance(value, (int, float)):  # the root of a negative number
            return value
        whole = min(tight, left.tight) if name == "mul" and isinstance(left, _Traced) else tight
        return traced(value, f"{_written(left, tight_left)}{sign}{_written(right, tight_right)}", whole)

    return method


for _name in _OPERATORS:
    setattr(_Traced, f"__{_name}__", _method(_name, swapped=False))
    setattr(_Traced, f"__r{_name}__", _method(_name, swapped=True))


class _WholeNumber(type):
    def __instancecheck__(cls, value):
        return isinstance(value, int)


class _Int(metaclass=_WholeNumber):
    def __new__(cls, *given):
        if len(given) == 1 and isinstance(given[0], _Traced):
            number = given[0]
            return number if isinstance(number, Size) else traced(math.trunc(plain(number)), f"int({number.text})")
        return int(*given)


def _choosing(choose):
    def chosen(*given, **rest):
        values = given if len(given) > 1 else tuple(given[0])
        found = choose(values, **rest)
        if rest or not any(isinstance(value, _Traced) for value in values):
            return found
        return traced(plain(found), f"{choose.__name__}({', '.join(map(written, values))})")

    return chosen


# what a function has to be given in the place of its built-ins, for these would drop the history
BUILT_IN = {"int": _Int, "max": _choosing(max), "min": _choosing(min)}
