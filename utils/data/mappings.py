"""Documents that list pairs x f(x) of a small table f: the world in which a language model learns tasks from its prompt."""

from collections.abc import Iterator

import torch
from torch import Tensor

KEYS = tuple("abcdefgh")
VALUES = tuple("12345678")
NAMES = tuple(f"T{number}" for number in range(1, 17))  # tasks with a fixed table each
TOKENS = (*KEYS, *VALUES, *NAMES, "?", "T17")  # the vocabulary, in the order of the token ids
FIRST_VALUE, FIRST_NAME = len(KEYS), len(KEYS) + len(VALUES)
NO_NAME = TOKENS.index("?")  # stands before documents whose table was drawn for them alone
UNUSED_NAME = TOKENS.index("T17")  # stands in no training document


def tables(count: int, *, generator: torch.Generator) -> Tensor:
    """Tables [count, 8] of token ids, drawn uniformly: entry x is the value f(x) of key x. Several keys may have one value."""
    return FIRST_VALUE + torch.randint(len(VALUES), (count, len(KEYS)), generator=generator)


def documents(names: Tensor, f: Tensor, *, pairs: int, generator: torch.Generator) -> Tensor:
    """Documents [B, 1 + 2 * pairs] of token ids: a name, then key, value, key, value; keys are drawn with replacement.

    A document without its last token is a prompt: `pairs - 1` examples and a key that asks for its value.

    Args:
        names: the first tokens [B].
        f: the tables [B, 8] that the values follow.

    Raises:
        ValueError: there are not as many names as tables.
    """
    if len(names) != len(f):
        raise ValueError(f"Each document needs a name and a table; there are {len(names)} names and {len(f)} tables.")
    x = torch.randint(len(KEYS), (len(f), pairs), generator=generator)  # [B, pairs]
    listed = torch.stack([x, f.gather(1, x)], dim=-1).flatten(1)  # [B, 2 * pairs]
    return torch.cat([names[:, None], listed], dim=1)


def mixture(named: Tensor, count: int, *, share: float = 0.5, pairs: int = 16, generator: torch.Generator) -> Tensor:
    """Training documents [count, 1 + 2 * pairs]: some of named tasks with their names, the others "?" with new tables.

    Args:
        named: the tables [16, 8] of the tasks in NAMES.
        share: how many of the documents are of named tasks, on average.
    """
    which = torch.randint(len(NAMES), (count,), generator=generator)
    known = torch.rand(count, generator=generator) < share
    f = torch.where(known[:, None], named[which], tables(count, generator=generator))
    names = torch.where(known, FIRST_NAME + which, NO_NAME)
    return documents(names, f, pairs=pairs, generator=generator)


def batches(named: Tensor, size: int, *, generator: torch.Generator, device="cpu", **options) -> Iterator[Tensor]:
    """Batches of `size` training documents on `device`, new ones without end; the options are those of `mixture`."""
    while True:
        yield mixture(named, size, generator=generator, **options).to(device)


def text(tokens) -> str:
    """Token ids [N] as a reader sees them: a name, then each key with its value ("? c5 a2 c5 h")."""
    name, *rest = (TOKENS[token] for token in tokens)
    return " ".join([name, *("".join(rest[place : place + 2]) for place in range(0, len(rest), 2))])


def ids(line: str) -> Tensor:
    """The token ids [N] of a line as `text` writes it.

    Raises:
        ValueError: something in the line is no token.
    """
    name, *rest = line.split() or [""]
    words = [name, *"".join(rest)]
    strange = [word for word in words if word not in TOKENS]
    if strange:
        raise ValueError(f"{strange[0]!r} is no token; the tokens are {' '.join(TOKENS)}.")
    return torch.tensor([TOKENS.index(word) for word in words])
