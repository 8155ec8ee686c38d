"""What a shape is called in a lesson's symbols, and what one that nothing else is known of looks like."""


def symbolic(shape: tuple, sizes: dict, declared: tuple = ()) -> str:
    """A shape in the lesson's symbols where its sizes are known: (2, 5, 2) -> "[B, N_Q, 2]".

    Each symbol once, or as often as it stands in the `declared` axes; of two of one size the earlier in `sizes` comes first.
    """
    left = {symbol: max(1, declared.count(symbol)) for symbol in sizes}
    last = _last(shape, sizes, declared)
    for symbol in last:
        left[symbol] -= 1
    written = []
    for size in shape[: len(shape) - len(last)]:
        fitting = next((symbol for symbol in sizes if sizes[symbol] == size and left[symbol] > 0), None)
        written.append(fitting or str(size))
        if fitting:
            left[fitting] -= 1
    return "[" + ", ".join([*written, *last]) + "]"


def _last(shape: tuple, sizes: dict, declared: tuple) -> list[str]:
    """The declared axes that a shape ends with, as far as their sizes are those, of a shape with as many axes or more."""
    found: list[str] = []
    for size, axis in zip(reversed(shape), reversed(declared)):
        if len(shape) < len(declared) or sizes.get(axis) != size:
            break
        found.insert(0, axis)
    return found


def looks_like(wanted: tuple, got: tuple, axes: list | tuple = ()) -> str:
    """The end of a sentence that begins with an output's name, for a wrong shape that no fact tells more of."""
    if len(got) == len(wanted) - 1:
        return "has one axis too few: summed over, or lost to an index?"
    if len(got) == len(wanted) + 1:
        return "has one axis too many: a sum or a flatten that is missing, or an unsqueeze that was not undone?"
    if not got:
        return "is a single number: is a sum or a mean taken over all axes, or one entry returned alone?"
    wrong = [place for place, (a, b) in enumerate(zip(got, wanted)) if a != b]
    if len(got) == len(wanted) and len(wrong) == 1:
        where = f"{axes[wrong[0]]}, its axis −{len(got) - wrong[0]}" if len(axes) == len(got) else "one axis"
        return f"is too {'short' if got[wrong[0]] < wanted[wrong[0]] else 'long'} along {where}."
    return "has the wrong shape."
