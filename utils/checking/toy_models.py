"""Inputs of an exercise's function that are no tensors: small models, built from a case's numbers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from utils.checking import asking
from utils.checking.asking import Asked, AskedTooOften
from utils.checking.records import DrawnCase, Helper
from utils.checking.toy_networks import (
    ToyAdapter,
    ToyLayer,
    ToyMaskedModel,
    ToyNetwork,
    ToyShift,
    ToyTower,
    shape_or_type,
)
from utils.data import scenes

MANY = 10_000  # after so many words a loop cannot be meant to end
FALL = 0.3  # the decrease of a score for each position that a key lies further back


class ToyDecoder:
    """A decoder without training: `decoder(y, s)` gives the next words' logits and the next state.

    Args:
        E: a vector for each word, [V, D_H].
        W: from state to state, [D_H, D_H].
        U: from state to logits, [D_H, V].
        b: added to the logits, [V].
        limit: the number of words after which it refuses, over all calls and rows; 0 for none.

    Calling it with words y [B] and states s [B, D_H] gives logits [B, V] and states [B, D_H].

    Raises:
        AskedTooOften: more words were asked for than `limit` allows.
        ValueError: words or states are no batch.
    """

    def __init__(self, E: Tensor, W: Tensor, U: Tensor, b: Tensor, limit: int = 0):
        self.E, self.W, self.U, self.b, self.limit = E, W, U, b, limit
        self.asked = 0

    def __call__(self, y: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        _refuse_other_shapes("decoder", y, s)
        self.asked += len(y)
        if self.asked > MANY:
            raise AskedTooOften(f"the decoder was asked for more than {MANY} words: does the loop end?")
        _refuse_more(self.too_much(Asked(self.asked), self.limit))
        asking.note(words=len(y))
        s = torch.tanh(s @ self.W + self.E[y])  # [B, D_H]
        return s @ self.U + self.b, s  # [B, V], [B, D_H]

    @staticmethod
    def too_much(asked: Asked, limit: int) -> str:
        """What is wrong if this is asked of a decoder that has this limit; "" if nothing is."""
        if not limit or asked.words <= limit:
            return ""
        return (
            f"taking the likeliest word each time, all sentences together need {limit} words at most, and more were"
            " asked for. Does the loop end as soon as all have ended, or max_length is reached? Is [START] fed first,"
            " and then the likeliest word, with the state that came with it?"
        )


class ToyAttentionStep:
    """A decoder step with attention, without training: `step(y, s, H, mask)` gives logits, the next state and the weights.

    Args:
        E: a vector for each word, [V, D_S].
        W: from state to state, [D_S, D_S].
        K: from state to what it looks for, [D_S, D_H].
        C: from context to state, [D_H, D_S].
        U: from state to logits, [D_S, V].
        limit: the number of words after which it refuses, over all calls and rows; 0 for none.

    Words y [B], states s [B, D_S], encoder states H [B, T_x, D_H] and mask [B, T_x], True at words, give logits [B, V],
    states [B, D_S] and weights [B, T_x].

    Raises:
        AskedTooOften: more words were asked for than `limit` allows.
        ValueError: words or states are no batch.
    """

    def __init__(self, E: Tensor, W: Tensor, K: Tensor, C: Tensor, U: Tensor, limit: int = 0):
        self.E, self.W, self.K, self.C, self.U, self.limit = E, W, K, C, U, limit
        self.asked = 0

    def __call__(self, y: Tensor, s: Tensor, H: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        _refuse_other_shapes("step", y, s)
        self.asked += len(y)
        _refuse_more(self.too_much(Asked(self.asked), self.limit))
        asking.note(words=len(y))
        e = (H @ (s @ self.K)[:, :, None])[:, :, 0]  # [B, T_x]
        a = e.masked_fill(~mask, -torch.inf).softmax(dim=-1)  # [B, T_x]
        c = (a[:, None, :] @ H)[:, 0]  # [B, D_H]
        s = torch.tanh(s @ self.W + self.E[y] + c @ self.C)  # [B, D_S]
        return s @ self.U, s, a

    @staticmethod
    def too_much(asked: Asked, limit: int) -> str:
        """What is wrong if this is asked of a step that has this limit; "" if nothing is."""
        return (
            f"the step was asked for {asked.words} words, more than there are" if asked.words > (limit or MANY) else ""
        )


class ToyCachedDecoder:
    """A decoder of L attention layers without training; the keys and values of what it has read are kept by whoever calls it.

    Args:
        E: a vector for each token, [V, D].
        P: a vector for each position, [N_max, D].
        W: for each layer from vectors to queries, keys and values side by side, [L, D, 3*D].
        U: from the last layer's vectors to logits, [D, V].
        limit: the number of tokens after which it refuses, over all calls and rows; 0 for none.

    `decoder(tokens, positions, mask, K, V)` reads n new tokens [B, n] at positions [n], for each row the same. K and V
    [B, L, m, D] are the keys and values of the m tokens before them, in order, None where there are none; mask [n, m + n] is
    True where a new token may look. Scores fall with the distance. It gives logits [B, n, V] and keys and values of the new
    tokens alone, [B, L, n, D] each.

    Raises:
        AskedTooOften: more tokens were fed than `limit` allows.
        ValueError: shapes or types are others.
    """

    def __init__(self, E: Tensor, P: Tensor, W: Tensor, U: Tensor, limit: int = 0):
        self.E, self.P, self.W, self.U, self.limit = E, P, W, U, limit
        self.asked = 0

    def __call__(
        self, tokens: Tensor, positions: Tensor, mask: Tensor, K: Tensor | None = None, V: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        self._refuse_others(tokens, positions, mask, K, V)
        self.asked += tokens.numel()
        _refuse_more(self.too_much(Asked(self.asked), self.limit))
        asking.note(words=tokens.numel())
        X, keys, values = self.E[tokens] + self.P[positions], [], []  # [B, n, D]
        far = FALL * (positions[:, None] - torch.arange(mask.shape[1], device=X.device))  # [n, m + n]
        hidden, lowest, scale = ~mask, torch.finfo(X.dtype).min, X.shape[-1] ** -0.5
        for layer, W in enumerate(self.W):
            q, k, v = (X @ W).chunk(3, dim=-1)
            keys.append(k)
            values.append(v)
            if K is not None and V is not None:
                k, v = torch.cat([K[:, layer], k], dim=1), torch.cat([V[:, layer], v], dim=1)  # [B, m + n, D]
            E = (q @ k.mT * scale - far).masked_fill(hidden, lowest)  # [B, n, m + n]
            X = torch.tanh(X + E.softmax(dim=-1) @ v)
        return X @ self.U, torch.stack(keys, dim=1), torch.stack(values, dim=1)

    @staticmethod
    def too_much(asked: Asked, limit: int) -> str:
        """What is wrong if this is fed to a decoder that has this limit; "" if nothing is."""
        if asked.words <= (limit or MANY):
            return ""
        return (
            f"the decoder was fed more than {limit or MANY} tokens. With keys and values kept, each token of prompt"
            " and continuation is fed once"
        )

    def _refuse_others(self, tokens: Any, positions: Any, mask: Any, K: Any, V: Any) -> None:
        arguments = {"tokens": tokens, "positions": positions, "mask": mask, "K": K, "V": V}
        shapes = {
            name: tuple(argument.shape) if isinstance(argument, Tensor) else None
            for name, argument in arguments.items()
        }
        size = shapes["tokens"]
        if size is None or len(size) != 2 or 0 in size:
            raise ValueError(
                f"the decoder's tokens are [B, n], of each line one at least; it was given {shape_or_type(tokens)}"
            )
        B, n = size
        m = shapes["K"][2] if shapes["K"] and len(shapes["K"]) == 4 else 0
        cache = (B, len(self.W), m, self.E.shape[1]) if K is not None else None
        for name, array in {"K": K, "V": V}.items():
            if array is not None and len(shapes[name] or ()) != 4:
                rule = f"{name} is None as long as nothing is in the cache, and then [B, L, m, D]"
                raise ValueError(f"the decoder's {rule}; it was given {shape_or_type(array)}")
        for name, shape in {"positions": (n,), "mask": (n, m + n), "K": cache, "V": cache}.items():
            if shapes[name] != shape:
                rule = f"{name} should be {list(shape) if shape else shape} where n = {n} tokens come to m = {m} in the cache"
                raise ValueError(f"the decoder's {rule}; it was given {shape_or_type(arguments[name])}")
        if mask.dtype != torch.bool or tokens.is_floating_point() or positions.is_floating_point():
            types = ", ".join(f"{name} of {arguments[name].dtype}" for name in ("tokens", "positions", "mask"))
            raise ValueError(f"tokens and positions are integers, the mask is True and False; it was given {types}")
        if not (0 <= positions.min() and positions.max() < len(self.P)):
            raise ValueError(f"positions are 0 to {len(self.P) - 1}; it was given {positions.tolist()}")


class ToyTranslator:
    """A Transformer decoder of one block without training: it reads a source once, and then gives logits word by word.

    Args:
        E: a vector for each word, [V, D].
        W: from vectors to the queries, keys and values of self-attention side by side, [D, 3*D].
        C: from vectors to the queries, from the source to the keys and values of cross-attention, side by side, [D, 3*D].
        U: from vectors to logits, [D, V].
        b: added to the logits, [V].
        limit: the number of words after which it refuses, over all steps and rows; 0 for none. With a limit it also refuses to
            read a source, and to begin a row, more than once.

    `read(memory)` gives the keys and values of a source [B, N, D], [B, N, D] each. `step(y, K, V, mask, cache)` takes the last
    words y [B], these K and V, a mask [B, N], True at words, and what the step before gave, None at the first; it gives logits
    [B, V] and the cache: the keys and values of all words fed up to now, [B, m, D] each. Scores fall with the distance.

    Raises:
        AskedTooOften: a source was read again, a row begun again, or more words were asked for than `limit` allows.
        ValueError: shapes or types are others, or the cache holds more words than were fed.
    """

    def __init__(self, E: Tensor, W: Tensor, C: Tensor, U: Tensor, b: Tensor, limit: int = 0):
        self.E, self.W, self.C, self.U, self.b, self.limit = E, W, C, U, b, limit
        self.asked = self.steps = self.reads = self.rows = self.begun = 0

    def __call__(self, *_, **__):
        raise TypeError("it is not called itself: decoder.read(memory) and decoder.step(y, K, V, mask, cache) are")

    def read(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        D = len(self.C)
        if not isinstance(memory, Tensor) or memory.ndim != 3 or memory.shape[2] != D:
            raise ValueError(f"read takes the memory [B, N, {D}]; it was given {shape_or_type(memory)}")
        _refuse_more(self.too_much(Asked(reads=self.reads + 1), self.limit))
        self.reads, self.rows = self.reads + 1, self.rows + len(memory)
        asking.note(reads=1, rows=len(memory))
        K, V = (memory @ self.C[:, D:]).chunk(2, dim=-1)
        return K, V

    def step(
        self, y: Tensor, K: Tensor, V: Tensor, mask: Tensor, cache: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        self._refuse_others(y, K, V, mask, cache)
        self.asked, self.steps = self.asked + len(y), self.steps + 1
        self.begun += len(y) * (cache is None)
        if self.asked > MANY:
            raise AskedTooOften(f"step was asked for more than {MANY} words: does the loop end?")
        _refuse_more(self.too_much(Asked(self.asked, rows=self.rows, begun=self.begun), self.limit))
        asking.note(words=len(y), begun=len(y) * (cache is None))
        try:
            X = self.E[y][:, None]  # [B, 1, D]
        except IndexError:
            rule = f"words are numbers from 0 to {len(self.E) - 1}, of each row the likeliest by its own logits"
            raise ValueError(f"{rule}; it was given {y.tolist()}") from None
        q, k, v = (X @ self.W).chunk(3, dim=-1)
        if cache is not None:
            k, v = (torch.cat([old, new], dim=1) for old, new in zip(cache, (k, v)))  # [B, m, D]
        far = FALL * torch.arange(k.shape[1] - 1, -1, -1, device=X.device)  # [m]
        scale, lowest = X.shape[-1] ** -0.5, torch.finfo(X.dtype).min
        X = X + (q @ k.mT * scale - far).softmax(dim=-1) @ v
        scores = (X @ self.C[:, : len(self.C)] @ K.mT * scale).masked_fill(~mask[:, None], lowest)  # [B, 1, N]
        X = torch.tanh(X + scores.softmax(dim=-1) @ V)
        return (X @ self.U)[:, 0] + self.b, (k, v)

    @staticmethod
    def too_much(asked: Asked, limit: int) -> str:
        """What is wrong if this is asked of a translator that has this limit; "" if nothing is."""
        if limit and asked.reads > 1:
            return (
                "read was called more than once. The keys and values of the source do not change from step to step: read the"
                " whole memory once, before the loop, and give K and V to each step"
            )
        if limit and 0 < asked.rows < asked.begun:
            return (
                "translations were begun again: the cache is None at the first step alone. It holds the keys and values of the"
                " words fed up to now: hand it to the next step, and feed each word once"
            )
        if limit and asked.words > limit:
            return (
                f"taking the likeliest word each time, all rows together need {limit} words at most, and more were asked"
                " for. Does the loop end as soon as all rows have ended, or max_length is reached? Is [START] fed first, and"
                " then the likeliest word, with the cache of the step before, and K, V and the mask unchanged?"
            )
        return ""

    def _refuse_others(self, y: Any, K: Any, V: Any, mask: Any, cache: Any) -> None:
        if not isinstance(y, Tensor) or y.ndim != 1 or y.is_floating_point() or not len(y):
            kind = f" of {y.dtype}" if isinstance(y, Tensor) and y.is_floating_point() else ""
            raise ValueError(
                f"step takes the last words y [B], integers, of one row at least; it was given {shape_or_type(y)}{kind}"
            )
        arguments, B, D = {"K": K, "V": V, "mask": mask}, len(y), len(self.C)
        N = K.shape[1] if isinstance(K, Tensor) and K.ndim == 3 else "N"
        for name, shape in {"K": [B, N, D], "V": [B, N, D], "mask": [B, N]}.items():
            if not isinstance(arguments[name], Tensor) or [*arguments[name].shape] != shape:
                described = f"{name} {shape}".replace("'", "")
                raise ValueError(
                    f"where y has {B} rows, step takes {described}; it was given {shape_or_type(arguments[name])}"
                )
        if mask.dtype != torch.bool:
            raise ValueError(f"step takes a mask of True and False; it was given one of {mask.dtype}")
        if cache is None:
            return
        pair = (
            isinstance(cache, (tuple, list)) and len(cache) == 2 and all(isinstance(tensor, Tensor) for tensor in cache)
        )
        if not pair or any(tensor.ndim != 3 or tensor.shape != cache[0].shape or len(tensor) != B for tensor in cache):
            shapes = ", ".join(map(shape_or_type, cache)) if isinstance(cache, (tuple, list)) else shape_or_type(cache)
            raise ValueError(
                "the cache is None at the first step, and then the second of the two things that the step before gave, with"
                f" as many rows as y, {B}; it was given {shapes}"
            )
        if cache[0].shape[1] > self.steps:
            raise ValueError(
                f"the cache holds {cache[0].shape[1]} words behind {self.steps} steps. What a step gives back holds the keys and"
                " values of all words up to now: hand it to the next step as it is, and append nothing to it"
            )


def _refuse_more(text: str) -> None:
    if text:
        raise AskedTooOften(text)


class WithinLimits:
    """Sees to it that while it is entered no more is asked for than the limits of helpers among these inputs allow.

    What is asked of their copies, and of others of their kind, counts too.

    Raises:
        AskedTooOften: at its end, if more was asked for.
    """

    def __init__(self, inputs: Mapping[str, Any]):
        helpers = [helper for helper in inputs.values() if isinstance(helper, Helper) and helper.limit]
        self.limits = tuple((KINDS[helper.helper], helper.limit) for helper in helpers)

    def __enter__(self):
        self.before = asking.so_far()

    def __exit__(self, error, *_):
        for kind, limit in self.limits if error is None else ():
            _refuse_more(kind.too_much(asking.so_far().since(self.before), limit))


def _refuse_other_shapes(what: str, y: Tensor, s: Tensor) -> None:
    """Raises ValueError unless `y` is a batch of words and `s` a batch of as many states, as a real model's layers would."""
    are_fitting = (
        isinstance(y, Tensor) and isinstance(s, Tensor) and not y.is_floating_point() and y.ndim == 1 and s.ndim == 2
    )
    if not are_fitting or len(y) != len(s):
        raise ValueError(
            f"the {what} takes tokens y [B], integers, and states s [B, D]; it was given {shape_or_type(y)}, {shape_or_type(s)}"
            + (": as many tokens as states are asked for" if are_fitting else "")
        )


def scene_images(numbers: Tensor, limit: int = 0) -> Float[Tensor, "B 3 H W"]:
    """Pictures of scenes, from numbers = [how many, seed]: a case names them in two numbers."""
    return _images(*numbers.tolist()).to(numbers.device, copy=True)


@lru_cache(maxsize=4)
def _images(count: int, seed: int) -> Tensor:
    return scenes.images(scenes.scenes(count, seed=seed))


KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        ToyDecoder,
        ToyAttentionStep,
        ToyLayer,
        ToyMaskedModel,
        ToyCachedDecoder,
        ToyTranslator,
        ToyNetwork,
        ToyTower,
        ToyAdapter,
        ToyShift,
        scene_images,
    )
}
TENSORS = ("scene_images",)  # helpers that are a short way to write a tensor


def build(helper: Helper, tensor: Callable[[np.ndarray], Tensor]) -> Any:
    """The helper that a case describes; `tensor` makes a tensor of an array."""
    arguments = {name: tensor(array) for name, array in helper.arguments.items()}
    return KINDS[helper.helper](**arguments, limit=helper.limit)


def unfolded(case: DrawnCase) -> DrawnCase:
    """The case with its tensors written out, so that nobody who finds the case can read off how they were made."""

    def plain(value):
        return (
            build(value, torch.from_numpy).numpy() if isinstance(value, Helper) and value.helper in TENSORS else value
        )

    return replace(case, inputs={name: plain(value) for name, value in case.inputs.items()})
