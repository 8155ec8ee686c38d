"""Facts about wrong shapes: which size stands where another is asked for."""

from utils.checking.diagnosis.facts import Cases


def size_facts(name: str, axes: list, wanted: tuple, got: tuple, sizes: dict) -> dict:
    """For a result with as many axes as asked for, in another shape: what each wrong axis holds instead."""
    if len(wanted) != len(got) or len(axes) != len(wanted):
        return {}
    found = {}
    for place, (axis, asked, came) in enumerate(zip(axes, wanted, got)):
        if asked == came or axis not in sizes:  # a length that the right result decides has a sentence of its own
            continue
        back = f"axis −{len(axes) - place}"
        for other, size in sizes.items():
            if size == came and other != axis:
                found["size", name, axis, other, Cases(2)] = (
                    f"{name} has {other} entries along {back}, where {axis} are asked for."
                )
        if abs(asked - came) == 1:
            told = "too few" if came < asked else "too many"
            found["count", name, axis, told, Cases(2)] = f"{name} has one entry {told} along {axis}, its {back}."
        if came == 2 * asked:
            found["double", name, axis, Cases(2)] = f"{name} is twice as long as asked for along {axis}, its {back}."
    return found
