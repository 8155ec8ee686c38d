"""Toy translators whose translations end where they should; and the loop around them, with what goes wrong in it."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from autograder.bank.families.sentences import NEVER, TRIES, written
from utils.checking import toy_models
from utils.checking.records import Helper
from utils.data.translation import PAD, START, STOP

CUT, LONG = 4, 24  # a max_length that cuts translations off, and one that only what never ends needs
GROUPS = 8  # of sources that are drawn for each decoder: the first that fits is taken
MARGIN = 0.01  # between the two likeliest words, so that rounding cannot change a choice
# mistakes
SHOWING = (
    {"carry": False},
    {"feed": False},
    {"first": PAD},
    {"first": STOP},
    {"reads": False},
    {"exchanged": True},
)


def drawn(inputs, sizes, rng) -> dict:
    """A decoder without a limit, and sources: their vectors and the mask.

    Raises:
        RuntimeError: none of many draws fits.
    """
    limit, B, N, D, V = (sizes[name] for name in ("max_length", "B", "N", "D", "V"))
    shapes = {"E": (V, D), "W": (D, 3 * D), "C": (D, 3 * D), "U": (D, V)}
    groups = 1 if limit >= LONG else GROUPS
    for _ in range(TRIES):
        arrays = {name: rng.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
        arrays |= {name: arrays[name] * np.float32(2 * D**-0.5) for name in "WCU"}
        arrays["b"] = np.float32([NEVER if word in (PAD, START, STOP) else 0 for word in range(V)])
        memories = rng.standard_normal((groups, B, N, D)).astype("float32")
        masks = np.stack([_tokens(B, N, rng) for _ in range(groups)])
        stops = [NEVER] if limit >= LONG else _stops(_built(Helper("ToyTranslator", arrays)), memories, masks, limit)
        for memory, mask, stop in zip(memories, masks, stops):
            if stop == NEVER and 1 < limit < LONG:
                continue  # none would end
            arrays["b"][STOP] = stop
            decoder = Helper("ToyTranslator", {**arrays, "b": arrays["b"].copy()})
            if _fits(_built(decoder), torch.from_numpy(memory), torch.from_numpy(mask), limit):
                return {"decoder": decoder, "memory": memory, "mask": mask}
    raise RuntimeError(f"no toy decoder of {sizes} fits")


def counted(inputs, rng) -> None:
    """Lets the source be read once, and the decoder be asked for as many tokens as are needed: an edit of a case."""
    decoder, *given = (inputs[name] for name in ("decoder", "memory", "mask"))
    words = translated(_built(decoder), *map(torch.from_numpy, given), inputs["max_length"])
    inputs["decoder"] = replace(decoder, limit=words.numel())


def loud(inputs, rng) -> None:
    """Makes logits of hundreds; which is the largest stays as it was: an edit of a case."""
    given = inputs["decoder"].arguments
    louder = {**given, "U": given["U"] * 300, "b": given["b"] * 300}
    inputs["decoder"] = replace(inputs["decoder"], arguments=louder)


def _built(decoder: Helper) -> toy_models.ToyTranslator:
    """The decoder, to be run, without a limit."""
    return toy_models.build(replace(decoder, limit=0), torch.from_numpy)


def _tokens(B: int, N: int, rng) -> np.ndarray:
    """A mask [B, N] of sources, one of which has no padding."""
    lengths = rng.integers(min(2, N), N + 1, size=B)
    lengths[rng.integers(B)] = N
    return np.arange(N) < lengths[:, None]


def _stops(decoder, memories: np.ndarray, masks: np.ndarray, limit: int) -> list[float]:
    """For each group of sources what to add to the logit of [STOP] so that its translations end where they should; NEVER if
    nothing does. All groups [G, B, N, D] are read at once."""
    together, logits = [torch.from_numpy(one).flatten(0, 1) for one in (memories, masks)], []
    translated(decoder, *together, limit, until=None, logits=logits)
    logits = torch.stack(logits, dim=1)  # [G*B, limit, V]
    missing = (logits.amax(dim=-1) - (logits[..., STOP] - NEVER)).numpy()  # [G*B, limit]
    return [_stop(one, limit, 1 in memories.shape[2:]) for one in np.split(missing, len(memories))]


def _stop(missing: np.ndarray, limit: int, narrow: bool) -> float:
    """What is added to [STOP], of which `missing` [B, limit] says how much it lacks in order to be the likeliest."""
    steps = np.sort(missing, axis=None)
    for low, high in zip(steps, steps[1:]):
        if high - low > 2 * MARGIN:
            lengths = np.cumprod(missing > low, axis=1).sum(axis=1) + 1
            if _end_well(lengths, limit, narrow):
                return float(low + high) / 2
    return NEVER


def _end_well(lengths: np.ndarray, limit: int, narrow: bool) -> bool:
    """Whether translations are as long as a case of this max_length asks for; fewer do where a size is 1."""
    B, at_once, longest = len(lengths), int((lengths == 1).sum()), int(lengths.max())
    if limit == 1:
        return 0 < at_once < B or B == 1
    if limit <= CUT:
        return int(lengths.min()) < limit - 1 and longest > limit and at_once <= B // 3
    if narrow or B == 1:
        return (2 if narrow else 4) <= longest < limit - 1
    different = len(set(lengths.tolist())) >= min(B, 3) and at_once <= B // 3
    return different and 4 <= longest < limit - 1 and int(lengths[0]) < longest


def _fits(decoder, memory: Tensor, mask: Tensor, limit: int) -> bool:
    """Whether translations end where they should, each choice is clear, and mistakes show."""
    logits = []
    words = translated(decoder, memory, mask, limit, logits=logits)
    lengths, B = written(words), len(words)
    best = torch.stack(logits, dim=1).topk(2, dim=-1).values  # [B, L, 2]
    clear = (best[..., 0] - best[..., 1] > MARGIN) | (torch.arange(words.shape[1]) >= lengths[:, None])
    if limit >= LONG:
        end_well = sum(len(set(row)) for row in words.tolist()) >= 3 * B
    else:
        end_well = _end_well((lengths + ~(words == STOP).any(dim=1)).numpy(), limit, 1 in memory.shape[1:])
    if not (clear.all() and end_well) or 1 in (*memory.shape, limit):
        return bool(clear.all() and end_well)
    if words.shape[1] < limit and words.shape[1] in (*memory.shape, len(decoder.E)):
        return False  # a result of that width would be told as one of another axis
    mistakes = ({"mask": mask, **one} for one in (*SHOWING, {"mask": torch.ones_like(mask)}, {"mask": ~mask}))
    made = (translated(decoder, memory, limit=limit, **one) for one in mistakes)
    return not any(torch.equal(fill(one, limit), fill(words, limit)) for one in made)


def translated(
    decoder,
    memory,
    mask,
    limit,
    *,
    first=START,
    carry=True,
    feed=True,
    until=all,
    pad=PAD,
    stays=True,
    reads=True,
    exchanged=False,
    logits=None,
) -> Tensor:
    """The tokens of as many steps as the batch needs, [B, L]; each option but `logits` makes a mistake.

    Args:
        until: whether the loop ends, given which rows have ended: when all have, or any; None where only the limit ends it.
        pad: what an ended row is filled with; None for whatever the decoder says.
        stays: whether an ended row stays so.
        logits: a list, to which those of each step are appended.
    """
    K, V = decoder.read(memory) if reads else (memory, memory)
    K, V = (V, K) if exchanged else (K, V)
    y = torch.full((len(memory),), first, device=memory.device)
    ended, cache, words = torch.zeros_like(y, dtype=torch.bool), None, []
    while len(words) < limit and not (until and until(ended)):
        said, new = decoder.step(y, K, V, mask, cache)
        cache = new if carry else None
        if logits is not None:
            logits.append(said)
        chosen = said.argmax(dim=-1)
        chosen = chosen if pad is None else torch.where(ended, pad, chosen)
        words.append(chosen)
        ended = (ended & stays) | (chosen == STOP)
        y = chosen if feed else y
    return torch.stack(words, dim=1)


def fill(words: Tensor, max_length: int) -> Tensor:
    """The tokens, and padding for what is left of max_length."""
    return torch.nn.functional.pad(words, (0, max_length - words.shape[1]), value=PAD)


def all_once():
    """Ends a loop when each row has ended once, whether or not it stays so."""
    seen: list[Tensor] = []

    def until(ended: Tensor) -> bool:
        seen.append(ended)
        return bool(torch.stack(seen).any(dim=0).all())

    return until
