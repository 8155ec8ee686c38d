"""What a fact is: a key and a sentence. Facts are told if all failed cases share their keys; some take more than one case."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

MOST, ENOUGH = 0.6, 4  # of the cases that fail: the share that makes a fact worth telling, and how many there must be

Facts = dict[tuple, str]


class Later(Mapping):
    """Facts that are looked for when something asks for them first: of most cases nothing ever does."""

    def __init__(self, find: Callable[[], Facts]):
        self._find = find

    @cached_property
    def _found(self) -> Facts:
        return self._find()

    def __getitem__(self, key: tuple) -> str:
        return self._found[key]

    def __iter__(self) -> Iterator[tuple]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __reduce__(self):
        return dict, (dict(self),)


@dataclass(frozen=True)
class Cases:
    """Stands in a key for the number of cases that must share it: what fits easily by accident takes several."""

    number: int

    def __str__(self):
        return f"on {self.number} cases"


def called(axes: list, axis: int, count: int) -> str:
    """What an axis, one of `count`, is called: "N"; with its place where another is called so too: "N (axis −1)"."""
    if len(axes) < count - axis:
        return f"axis {axis}"
    own = axes[axis - count].lstrip("*")
    return f"{own} (axis −{count - axis})" if [one.lstrip("*") for one in axes].count(own) > 1 else own


def common(each: list[Facts], most: int = 2, different: int | None = None) -> list[tuple]:
    """The keys that all cases have in common, in the order of the first; of a kind, which a key begins with, the first alone.

    Args:
        different: how many of the cases differ in their sizes, if not all do: two draws of one case show no more than one.
    """
    count = len(each) if different is None else different
    keys = [key for key in (each[0] if each else ()) if all(key in one for one in each) and count >= _needed(key)]
    kinds: dict = {}
    for key in keys:
        kinds.setdefault(key[0], key)  # √D_Q and √D_V may be equal in all cases
    return list(kinds.values())[:most]


def mostly(each: list[Facts], shown: Facts) -> list[tuple]:
    """The first key that most cases share, the one that is shown among them, where a few cases cannot show it."""
    shares = {key: sum(key in one for one in each) / len(each) for key in shown}
    return [key for key in shown if MOST <= shares[key] and len(each) >= max(_needed(key), ENOUGH)][:1]


def _needed(key: tuple) -> int:
    return max((one.number for one in key if isinstance(one, Cases)), default=1)
