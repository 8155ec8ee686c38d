"""What a fact is: a key and a sentence. Facts are told if all failed cases share their keys; some take more than one case."""

from dataclasses import dataclass

Facts = dict[tuple, str]


@dataclass(frozen=True)
class Cases:
    """Stands in a key for the number of cases that must share it: what fits easily by accident takes several."""

    number: int

    def __str__(self):
        return f"on {self.number} cases"


def common(each: list[Facts], most: int = 2) -> list[tuple]:
    """The keys that all cases have in common, in the order of the first; of a kind, which a key begins with, the first alone."""
    keys = [key for key in (each[0] if each else ()) if all(key in one for one in each) and len(each) >= _needed(key)]
    kinds: dict = {}
    for key in keys:
        kinds.setdefault(key[0], key)  # √D_Q and √D_V may be equal in all cases
    return list(kinds.values())[:most]


def _needed(key: tuple) -> int:
    return max((one.number for one in key if isinstance(one, Cases)), default=1)
