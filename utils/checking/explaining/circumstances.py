"""Facts about where code fails: what is true of every case that fails, and of none that passes."""

import numpy as np

from utils.checking.records import DrawnCase

LARGE = 80.0  # exp of more overflows single precision soon
ENOUGH = 2  # cases that fail, and that pass, before what parts them counts
FEW = 3  # sizes that part what fails from what passes: of more nobody can say which it is


def circumstances(case: DrawnCase) -> dict[str, bool]:
    """What may or may not be true of a case, by the words for it: "there is no batch axis"."""
    found = {}
    batch = max((sum(axis.startswith("B") for axis in shape.split()) for shape in case.symbols.values()), default=0)
    found["there is no batch axis"] = batch == 0
    found["there are several batch axes"] = batch > 1
    found["there is not exactly one batch axis"] = batch != 1
    for axis, size in case.sizes.items():
        found[f"{axis} is 1"] = size == 1
    found["some size is 1"] = 1 in case.sizes.values()
    for name, value in case.inputs.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "b" and value.ndim:
            found[f"a row of {name} is False all through"] = bool((~value).all(axis=-1).any())
            found[f"{name} has a False"] = not value.all()
        if value is None or isinstance(value, bool):
            found[f"{name} is {value}"] = True
    for name, number in case.given_sizes.items():
        if name not in case.sizes:
            found |= {f"{name} is smaller than {axis}": number < size for axis, size in case.sizes.items()}
    if any(_is_real(value) for value in case.inputs.values()):  # of several inputs nobody can say which it is
        found[f"some input has numbers beyond ±{LARGE:g}"] = has_large_numbers(case)
    return found


def has_large_numbers(case: DrawnCase) -> bool:
    """Whether some input has a number, not an infinite one, of which exp may be too large."""
    reals = [value for value in case.inputs.values() if _is_real(value)]
    return any(bool((np.abs(value[np.isfinite(value)]) > LARGE).any()) for value in reals)


def _is_real(value) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def where(failed: list[DrawnCase], passed: list[DrawnCase]) -> str:
    """The first circumstance under which everything fails, and nothing without it; empty where there is none."""
    ordinary = [one for one in passed if 1 not in one.sizes.values()]  # where a size is 1, much is right by luck
    if len(failed) < ENOUGH or len(ordinary) < ENOUGH:
        return ""
    fails, passes = [circumstances(one) for one in failed], [circumstances(one) for one in passed]
    for words in fails[0]:
        if all(one.get(words) for one in fails) and not any(_may_hold(one, words) for one in passes):
            return words
    return _beyond([one.given_sizes for one in failed], [one.given_sizes for one in passed], len(ordinary))


def _may_hold(found: dict[str, bool], words: str) -> bool:
    """Whether words are true of a case, or cannot be said of it: a size that it has no name for."""
    return found.get(words, words.endswith(" is 1"))


def _beyond(failed: list[dict], passed: list[dict], ordinary: int) -> str:
    """The sizes beyond which everything fails and nothing passes, if there are some and not too many."""
    found = []
    for axis in failed[0]:
        small, large = ([one[axis] for one in sizes if axis in one] for sizes in (passed, failed))
        known = len(small) >= ordinary and len(large) == len(failed)
        if known and len(set(small)) > ENOUGH and max(small) < min(large):
            found.append(axis)
    found = [axis for axis in found if not any(other != axis and other in axis.split("*") for other in found)]
    return f"{' or '.join(found)} is large (small ones pass)" if 0 < len(found) <= FEW else ""
