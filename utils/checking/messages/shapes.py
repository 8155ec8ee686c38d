"""What a shape is called in a lesson's symbols, and what a wrong one looks like."""


def symbolic(shape: tuple, sizes: dict, declared: tuple = ()) -> str:
    """A shape in the lesson's symbols where its sizes are known: (2, 5, 2) -> "[B, N_Q, 2]".

    Each symbol once, or as often as it stands in the `declared` axes; of two of one size the earlier in `sizes` comes first.
    """
    left = {symbol: max(1, declared.count(symbol)) for symbol in sizes}
    written = []
    for size in shape:
        symbol = next((one for one in sizes if sizes[one] == size and left[one]), None)
        written.append(symbol or str(size))
        if symbol:
            left[symbol] -= 1
    return "[" + ", ".join(written) + "]"


def looks_like(wanted: tuple, got: tuple, axes: list | tuple = ()) -> str:
    """The end of a sentence that begins with an output's name: what became of the axes, by their symbols if known."""
    if sorted(wanted) == sorted(got):
        return "has its axes in another order."
    if len(got) == len(wanted) - 1:
        return f"has one axis too few: {_lost_axis(wanted, got)}"
    if len(got) == len(wanted) + 1 and any((*got[:place], *got[place + 1 :]) == wanted for place in _ones(got)):
        return (
            "has one axis too many, of size 1: is it left over from keepdim, unsqueeze or None, or does a"
            " reshape make the same number of axes whatever comes in?"
        )
    if len(got) == len(wanted) + 1:
        return "has one axis too many: a sum or a flatten that is missing, or an unsqueeze that was not undone?"
    if len(got) == len(wanted) and sum(a != b for a, b in zip(got, wanted)) == 1:
        place = next(place for place, (a, b) in enumerate(zip(got, wanted)) if a != b)
        where = f"{axes[place]}, its axis −{len(got) - place}" if len(axes) == len(got) else "one axis"
        if got[place] == 1:
            return f"has size 1 along {where}: is it left over from keepdim or unsqueeze, or lost to a sum?"
        return f"has the wrong size along {where}."
    return "has the wrong shape."


def _ones(shape: tuple) -> list[int]:
    return [place for place, size in enumerate(shape) if size == 1]


def _lost_axis(wanted: tuple, got: tuple) -> str:
    """What probably became of an axis that is not there."""
    if 1 in wanted and sorted([*got, 1]) == sorted(wanted):
        told = (
            "one of size 1 is gone: is it squeezed away? squeeze() takes every axis of size 1, a batch of one too, and"
        )
        return f"{told} squeeze(dim) takes that one wherever its size is 1."
    merged = {a * b for i, a in enumerate(wanted) for b in wanted[i + 1 :] if a > 1 < b}
    if merged & set(got):
        return (
            "two of them have become one: are they still to be taken apart again (unflatten), or were parts joined by cat, which"
            " makes no new axis, in the place of torch.stack?"
        )
    return "summed over, or lost to an index?"
