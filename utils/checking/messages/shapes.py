"""Words for shapes: in a lesson's symbols, and for a wrong shape about which there is no fact."""


def symbolic(shape: tuple, sizes: dict, declared: tuple = ()) -> str:
    """A shape in the lesson's symbols where its sizes are known: (2, 5, 2) -> "[B, N_Q, 2]".

    Each symbol is used once, or as often as it is in the `declared` axes; of two symbols of one size, the earlier in `sizes`
    comes first.
    """
    uses_left = {symbol: max(1, declared.count(symbol)) for symbol in sizes}
    last = _final_axes(shape, sizes, declared)
    for symbol in last:
        uses_left[symbol] -= 1
    symbols = []
    for size in shape[: len(shape) - len(last)]:
        fitting = next((symbol for symbol in sizes if sizes[symbol] == size and uses_left[symbol] > 0), None)
        symbols.append(fitting or str(size))
        if fitting:
            uses_left[fitting] -= 1
    return "[" + ", ".join([*symbols, *last]) + "]"


def _final_axes(shape: tuple, sizes: dict, declared: tuple) -> list[str]:
    """The last declared axes whose sizes a shape ends with; none where the shape has fewer axes than are declared."""
    axes: list[str] = []
    for size, axis in zip(reversed(shape), reversed(declared)):
        if len(shape) < len(declared) or sizes.get(axis) != size:
            break
        axes.insert(0, axis)
    return axes


def looks_like(wanted: tuple, got: tuple, axes: list | tuple = ()) -> str:
    """The end of a sentence that begins with an output's name, for a wrong shape about which there is no fact."""
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
