"""Facts about weights, which are positive and sum to 1 over the last axis: their sums, their temperature, where they lie."""

import numpy as np

from utils.checking.explaining.scales import NEARLY, asked, named_factors

_PLACES = "NTL"  # the first letters of axes of positions
_SUMS = 1e-3
_VANISHING = 1e-30  # a weight below it may be rounded to 0 elsewhere
_LEAST = -80.0  # logarithm of a weight that single precision holds
_EXACT = 2e-3  # of the size of log-weights: how far a pattern in them may be off


def are_weights(values: np.ndarray) -> bool:
    """Whether numbers are positive and sum to 1 over the last axis, or over the last two together."""
    return bool(weighed_axes(values))


def weighed_axes(values: np.ndarray) -> int:
    """Over how many of the last axes positive numbers sum to 1: one, two (a map), or 0 where they are no weights."""
    if not values.ndim or (values < 0).any():
        return 0
    if values.shape[-1] > 1 and _ones(values.sum(axis=-1)):
        return 1
    return 2 if values.ndim > 1 and values.shape[-2] > 1 and _ones(values.sum(axis=(-1, -2))) else 0


def look_past(weights: list, wrong: list) -> str:
    """Where to look if weights are right, and other results that are made with them are not."""
    made = wrong[0] if len(wrong) == 1 else "them"
    return f"look at what is done with {weights[0]}, and at what else goes into {made}"


def _ones(sums: np.ndarray) -> bool:
    return bool(np.allclose(sums, 1, atol=_SUMS))


def _ones_or_zeros(sums: np.ndarray) -> np.ndarray:
    return np.isclose(sums, 1, atol=_SUMS) | (sums == 0)


def _alike(got: np.ndarray, other: np.ndarray, limit: float) -> bool:
    """Whether weights are these others: within a tolerance that is small beside the differences among those."""
    return bool(np.allclose(got, other, rtol=1e-3, atol=min(10 * limit, np.ptp(other) / 20)))


def weight_facts(name: str, axes: list, wanted: np.ndarray, got: np.ndarray, limit: float, sizes: dict) -> dict:
    """Facts about a result that should hold weights; none where it should not, or where numbers are not finite."""
    if not are_weights(wanted) or not np.isfinite(got).all():
        return {}
    if weighed_axes(wanted) == 2:
        return _map_facts(name, axes, wanted, got, limit, sizes)
    powers = np.exp(got - got.max(axis=-1, keepdims=True))
    if _alike(powers / powers.sum(axis=-1, keepdims=True), wanted, limit):
        return {("before", name): f"{name} holds scores: what is asked for is their softmax over the last axis."}
    found = _sums(name, axes, wanted, got, limit)
    if (got < -limit).any():
        found["negative", name] = f"Some numbers of {name} are negative; weights never are."
        return found
    twice = np.exp(wanted) / np.exp(wanted).sum(axis=-1, keepdims=True)
    if _alike(got, twice, limit):
        found["twice", name] = f"{name} is the softmax of the right weights: it went through a softmax twice."
    found |= _support(name, axes, wanted, got)
    if not found or {("sum", name, "less"), ("sum", name, "more"), ("lost", name)} & set(found):
        found |= _temperature(name, wanted, got, limit, sizes)
    if not {"temperature", "proportion", "sum over", "twice", "cut", "kept"} & {key[0] for key in found}:
        found |= _pattern(name, wanted, got, limit) or _order(name, wanted, got, limit)
    if are_weights(got):
        if ((got == 0) | (got == 1)).all():
            found["hard", name] = (
                f"In each row of {name} one position has all the weight: is a maximum taken in the place of a softmax?"
            )
        shown = wanted > 0
        if _alike(got, shown / shown.sum(axis=-1, keepdims=True), limit):
            found["uniform", name] = (
                f"All positions that may get weight get the same in {name}: the scores make no difference."
            )
    return found


def _map_facts(name: str, axes: list, wanted: np.ndarray, got: np.ndarray, limit: float, sizes: dict) -> dict:
    """Facts about weights over two axes together: a softmax along one of them, or one after the other; else as over one axis."""
    height, width = axes[-2:] if len(axes) > 1 else ("axis −2", "axis −1")
    for axis, other in ((-1, width), (-2, height)):
        totals = got.sum(axis=axis)
        if _ones(totals) and totals.shape[-1] > 1:
            told = f"{name} sums to 1 over {other} alone; it should sum to 1 over {height} and {width} together."
            return {("sum over", name, axis): told}
    flat = [one.reshape(*one.shape[:-2], -1) for one in (wanted, got)]
    found = weight_facts(name, [*axes[:-2], f"{height}*{width}"], *flat, limit, sizes)
    for axis, other in ((-1, height), (-2, width)):
        totals = got.sum(axis=axis)
        if _ones(got.sum(axis=(-1, -2))) and not np.ptp(np.round(totals, 5)) and totals.shape[-1] > 1:
            told = f"Each index along {other} gets the same total of {name}, whatever the scores"
            found = {
                ("totals", name, other): f"{told}: is there a softmax along one axis, and then another step?",
                **found,
            }
            break
    for row, one in (
        ("Rows of", "Maps of"),
        ("Some rows", "Some maps"),
        ("Each row", "Each map"),
        ("each row", "each map"),
        ("some rows", "some maps"),
        ("rows sum", "maps sum"),
    ):
        found = {key: text.replace(row, one) for key, text in found.items()}
    return found


def _sums(name: str, axes: list, wanted: np.ndarray, got: np.ndarray, limit: float) -> dict:
    sums = got.sum(axis=-1)
    if _ones(sums):
        return {}
    if got.ndim > 1 and got.shape[-1] == got.shape[-2] and _alike(got.swapaxes(-1, -2), wanted, limit):
        return {("transposed", name): f"{name} is right, but its last two axes are exchanged."}
    last = f"{axes[-1]}, the last axis" if axes and not axes[-1].startswith("*") else "the last axis"
    together = "its last two axes together"
    if axes and "*" in axes[-1][1:]:  # a map, whose two axes count as one
        last = " and ".join(axes[-1].split("*")) + " together"
        together = f"{', '.join(axes[-2:-1])}{', ' * (len(axes) > 1)}{last}"
    for back in range(2, got.ndim + 1):
        if got.shape[-back] > 1 and _ones(got.sum(axis=-back)):
            other = f"{axes[-back]} (axis −{back})" if len(axes) >= back else f"axis −{back}"
            return {("sum over", name, back): f"{name} sums to 1 over {other}; it should sum to 1 over {last}."}
    if np.all(_ones_or_zeros(sums)):
        return {("empty", name): f"In some rows of {name} all weights are 0; each row should sum to 1 over {last}."}
    if got.ndim > 1 and got.shape[-2] > 1 and _ones(got.sum(axis=(-1, -2))):
        return {("sum over", name, "both"): f"{name} sums to 1 over {together}; each row should by itself."}
    how = "less" if (sums < 1 + _SUMS).all() else "more" if (sums > 1 - _SUMS).all() else "other"
    words = {"less": "less than 1", "more": "more than 1", "other": "other numbers than 1"}[how]
    rows = "Some rows" if _ones_or_zeros(sums).any() else "Rows"
    told = f"{rows} of {name} sum to {words}; each should sum to 1 over {last}."
    return {
        ("sum", name, how): told,
        ("sum", name, "?"): f"{rows} of {name} do not sum to 1, as they should over {last}.",
    }


def _pattern(name: str, wanted: np.ndarray, got: np.ndarray, limit: float) -> dict:
    """Whether rows hold the right weights elsewhere, or scores a factor for each row, or a number for each column."""
    apart = np.abs(got - wanted).max()
    if apart > NEARLY and np.allclose(np.sort(got, axis=-1), np.sort(wanted, axis=-1), rtol=1e-3, atol=10 * limit):
        return {
            ("moved in rows", name): f"Each row of {name} holds the right weights, at other positions than asked for."
        }
    if got.ndim < 2 or min(got.shape[-2:]) < 3 or (wanted <= 1e-9).any() or (got <= 1e-9).any():
        return {}
    a, b = (np.log(one) - np.log(one).mean(axis=-1, keepdims=True) for one in (wanted, got))
    if np.ptp(a, axis=-1).min() < 0.1 or np.abs(b - a).max() < 0.05:
        return {}
    factors = (a * b).sum(axis=-1, keepdims=True) / (a * a).sum(axis=-1, keepdims=True)
    if np.abs(b - factors * a).max() < _EXACT * (1 + np.abs(b).max()):
        told = (
            f"In each row the weights of {name} stand to each other as if the scores were the right ones times a factor"
        )
        return {
            (
                "row temperature",
                name,
            ): f"{told} of the row's own: are they divided by something that differs from row to row?"
        }
    added = (b - a).mean(axis=-2, keepdims=True)
    if np.abs(b - a - added).max() < _EXACT * (1 + np.abs(b).max()):
        told = f"The weights of {name} are as if a number had been added to the scores of each column, the same for all rows"
        return {
            ("column", name): f"{told}: is something added to the scores of a key, or the same vector to all queries?"
        }
    return {}


def _order(name: str, wanted: np.ndarray, got: np.ndarray, limit: float) -> dict:
    """Whether larger weights are larger in each row, though their sizes are others; or whether they come from other scores."""
    shown = (wanted > 0).sum(axis=-1) > 1
    if not shown.any():
        return {}
    if np.abs(got - wanted).max() < NEARLY:  # which is told as such
        return {}
    order = wanted.argsort(axis=-1, kind="stable")
    theirs, ours = (np.diff(np.take_along_axis(one, order, axis=-1), axis=-1)[shown] for one in (wanted, got))
    if ((ours > 0) | (ours == 0) & (theirs == 0)).all():
        told = f"In each row the weights of {name} have the right order, from smallest to largest"
        return {("order", name): f"{told}, but not all have the right size."}
    if not np.allclose(got.sum(axis=-1), 1, atol=10 * limit) or not np.ptp(got):
        return {}
    told = f"Rows of {name} sum to 1, but they are not the softmax of the right scores"
    told += ": is the mistake in the scores, in the softmax itself, or in what is done with its result?"
    return {("other scores", name): told}


def _support(name: str, axes: list, wanted: np.ndarray, got: np.ndarray) -> dict:
    """Weight where there should be none, and none where there should be some."""
    found = {}
    leaked, lost = (wanted == 0) & (got > 0), (wanted > 1e-6) & (got == 0)
    vanishing = (wanted > 0) & (
        wanted < _VANISHING
    )  # beside such weights, a 0 may be one that is too small for its type
    if leaked.any() and not vanishing.any():
        found["leak", name] = f"{name} gives weight to {_receivers(axes)} where it should be 0."
    if lost.any():
        found["lost", name] = f"{name} gives no weight at all to some {_receivers(axes)} that should get some."
        found |= _triangle(name, axes, wanted > 1e-6, lost)
    return found


def _receivers(axes: list) -> str:
    """What weights are given to, in words."""
    return "positions" if not axes or axes[-1][0] in _PLACES else f"entries along {axes[-1]}"


def _triangle(name: str, axes: list, shown: np.ndarray, lost: np.ndarray) -> dict:
    """Whether what is lost lies on one side of the diagonal, or on it, in two rows or more, of which each keeps something."""
    if lost.ndim < 2 or not all(axis[0] in _PLACES for axis in axes[-2:]):
        return {}
    losing = lost.any(axis=-1)
    if losing.sum() < 2 or not (shown & ~lost).any(axis=-1)[losing].all():
        return {}
    rows, columns = np.indices(lost.shape[-2:])
    kinds = {
        "after": (columns > rows, "later than the query's own: is a causal mask in the way"),
        "before": (columns < rows, "earlier than the query's own"),
        "same": (columns == rows, "equal to the query's own: is each vector kept from itself"),
    }
    for where, words in kinds.values():
        if where.any() and np.array_equal(lost, shown & np.broadcast_to(where, lost.shape)):
            return {("lost", name): f"{name} gives no weight to positions {words}?".replace("own?", "own.")}
    return {}


def _temperature(name: str, wanted: np.ndarray, got: np.ndarray, limit: float, sizes: dict) -> dict:
    """Whether logarithms of weights are those of the right ones times a factor, up to a constant in each row."""
    both = (wanted > 1e-6) & (got > 1e-12)
    if (both.sum(axis=-1) < 2).all():
        return {}
    logs = [np.where(both, np.log(np.where(both, one, 1.0)), np.nan) for one in (wanted, got)]
    a, b = (one - np.nanmean(np.where(both.any(-1, keepdims=True), one, 0.0), axis=-1, keepdims=True) for one in logs)
    a, b = np.where(both, a, 0.0), np.where(both, b, 0.0)
    weight = (a * a).sum()
    if weight < 1e-3:
        return {}
    factor = (a * b).sum() / weight
    if np.abs(b - factor * a).max() > _EXACT * (1 + np.abs(b).max()):
        return {}
    found = {}
    if abs(factor) < 1e-3:
        return {}  # all weights are alike
    lost = (wanted > 1e-6) & (got == 0)
    if abs(factor - 1) >= 1e-3 and (factor * np.log(wanted[lost]) > _LEAST).any():
        return {}  # no factor before a softmax makes a 0 of these
    if abs(factor - 1) < 1e-3 and lost.any():
        if np.allclose(got[both], wanted[both], rtol=1e-3):
            told = f"Where {name} is not 0 it is right, but some weights are 0 that should not be: what sets them to 0?"
            return {("cut", name): told}
        if np.allclose(got.sum(axis=-1)[(wanted > 1e-6).any(axis=-1)], 1, atol=10 * limit):
            told = f"In each row of {name} the weights that are not 0 stand in the right proportion and sum to 1, but some are 0"
            return {
                (
                    "kept",
                    name,
                ): f"{told} that should not be: are only some positions kept, and the rest shared out among them?"
            }
    if abs(factor - 1) < 1e-3 and not lost.any():
        if not np.allclose(got[both], wanted[both], rtol=1e-3) and not _ones(got.sum(axis=-1)[both.any(axis=-1)]):
            total = got.sum(axis=-1)
            rows = "some rows" if _ones_or_zeros(total).any() else "each row"
            told = f"In {rows} of {name} the weights that should not be 0 are in the right proportion, but their sum is not 1"
            counts = (wanted > 0).sum(axis=-1)
            again = np.allclose(total * counts, 1, atol=1e-2) and np.ptp(counts) > 0
            late = not got[wanted == 0].any() and (wanted == 0).any() and (got.sum(axis=-1) < 1 + _SUMS).all()
            hint = (
                ": did the others take part in the softmax, and become 0 after it, or is there one more factor?"
                if late
                else "."
            )
            if again:
                hint = (
                    ", but 1 over the number of positions that get weight: is there one more division by that number?"
                )
            found["proportion", name] = told + hint
        return found
    like = f"In each row the weights of {name} stand to each other as if the scores before the softmax were"
    for label, *cases in named_factors(factor, sizes, 1e-3):
        hint = ": do powers of 2 stand in the place of powers of e?" if label == "ln 2" else asked(label)
        told = f"{like} {label} times the right ones{hint}"
        if label == "−1":
            told = f"{like} the right ones with the opposite sign."
        found["temperature", name, label, *cases] = told
    found["temperature", name, "?"] = f"{like} the right ones times one factor: are they divided by another size?"
    return found
