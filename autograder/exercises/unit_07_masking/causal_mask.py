"""Exercise 1: which keys a query may attend to when the future is hidden, for queries at any position of the sequence."""

import torch
from jaxtyping import Bool
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _at_the_end(inputs, rng):
    """The queries are the last of the sequence: what decoding with a cache asks for."""
    inputs["offset"] = inputs["N_X"] - inputs["N_Q"]


def _in_the_middle(inputs, rng):
    """There are keys before the first query and behind the last."""
    inputs["offset"] = int(rng.integers(1, inputs["N_X"] - inputs["N_Q"] - 1))


def _case(text, offset=0, **more):
    return Case(text, values={"offset": offset}, **more)


@exercise(
    points=2,
    section="The causal mask",
    source="Vaswani et al. 2017, section 3.2.3",
    outputs="mask",
    formula="mask[m, n] = (n ≤ offset + m), for queries m = 0, …, N_Q − 1 and keys n = 0, …, N_X − 1; mask [N_Q, N_X],"
    " torch.bool, True where the query may attend",
    cases=[
        _case("as many queries as keys, offset 0", sizes={"N_Q": "N_X", "N_X": 5}),
        _case("the last queries of a sequence", sizes={"N_Q": 3}, edit=_at_the_end),
        _case("queries in the middle of the keys", sizes={"N_Q": 3, "N_X": 10}, edit=_in_the_middle),
        _case("more keys than queries, offset 0", sizes={"N_Q": 3}),
        _case("a single query, the newest", sizes={"N_Q": 1, "N_X": 6}, edit=_at_the_end),
        _case("a single query, the first", sizes={"N_Q": 1, "N_X": 4}),
    ],
    differentiable=False,
    waived={"ones": "a sequence has no fewer keys than queries"},
)
def causal_mask(N_Q: int, N_X: int, offset: int) -> Bool[Tensor, "N_Q N_X"]:
    return torch.tensor([[n <= offset + m for n in range(N_X)] for m in range(N_Q)])


def _places(N_Q, N_X):
    """The queries' positions as a column, the keys' as a row."""
    return torch.arange(N_Q)[:, None], torch.arange(N_X)


def _lower(N_Q, N_X, diagonal=0):
    return torch.ones(N_Q, N_X).tril(diagonal).bool()


@causal_mask.misconception
def past_hidden(N_Q, N_X, offset):
    """The past is hidden and the future is not: each query attends to its own position and to those after it. Rows are queries,
    columns are keys: the allowed part is the lower left one, n ≤ offset + m."""
    return torch.ones(N_Q, N_X).triu(offset).bool()


@causal_mask.misconception
def polarity_reversed_and_offset_ignored(N_Q, N_X, offset):
    """The mask is True where attention is forbidden, above the diagonal; in this course, as in scaled_dot_product_attention,
    True means: may attend. And the offset plays no part: query 0 stands at position offset."""
    return ~_lower(N_Q, N_X)


@causal_mask.misconception
def itself_hidden_and_offset_ignored(N_Q, N_X, offset):
    """No query may attend to the key at its own position, and the offset plays no part. Query m stands at position offset + m,
    and may attend to the keys 0 to offset + m, its own among them."""
    return _lower(N_Q, N_X, -1)


@causal_mask.misconception
def transposed(N_Q, N_X, offset):
    """Rows and columns are exchanged, so that the rows are keys. A row belongs to a query, as in the scores E [N_Q, N_X]."""
    return _lower(N_Q, N_X, offset).T


@causal_mask.misconception(universal=True)
def offset_ignored(N_Q, N_X, offset):
    """The offset plays no part: query 0 is taken for the first token of the sequence. It stands at position offset, and may
    attend to the keys 0 to offset. torch's is_causal makes this mask too, whatever the number of keys."""
    return _lower(N_Q, N_X)


@causal_mask.misconception
def offset_subtracted(N_Q, N_X, offset):
    """The offset has the wrong sign: a query at a later position may attend to fewer keys. Query m stands at position offset +
    m, so that a larger offset allows more keys."""
    return _lower(N_Q, N_X, -offset)


@causal_mask.misconception(universal=True)
def aligned_at_the_end(N_Q, N_X, offset):
    """The last query may always attend to the last key, whatever the offset: N_X − N_Q was taken for it. That is right only
    where the queries are the newest of all tokens."""
    return _lower(N_Q, N_X, N_X - N_Q)


@causal_mask.misconception
def offset_twice(N_Q, N_X, offset):
    """The offset counts twice, so that each query may attend to as many keys of the future as the offset says. Query m stands
    at offset + m, key n at n: add it on one side only."""
    return _lower(N_Q, N_X, 2 * offset)


@causal_mask.misconception
def offset_on_the_keys(N_Q, N_X, offset):
    """Only keys from position offset on are allowed: what came before the first query is hidden. That is just what the queries
    should attend to, the past: all keys up to offset + m."""
    n, x = _places(N_Q, N_X)
    return (x >= offset) & (x <= offset + n)


@causal_mask.misconception
def minus_infinity(N_Q, N_X, offset):
    """These are numbers to be added to the scores, 0 and −∞. Asked for is a mask of True and False: True where the query may
    attend."""
    return torch.zeros(N_Q, N_X).masked_fill(~_lower(N_Q, N_X, offset), -torch.inf)


@causal_mask.misconception
def all_rows_from_the_offset(N_Q, N_X, offset):
    """There is a row for each position from offset on. Only the N_Q queries have one: N_Q rows, from offset to offset + N_Q −
    1."""
    return _lower(N_X, N_X)[offset:]


@causal_mask.misconception
def keys_end_with_the_queries(N_Q, N_X, offset):
    """The mask has columns for the keys up to the last query only. There may be keys behind it; they are forbidden, but have a
    column: [N_Q, N_X]."""
    return _lower(N_Q, offset + N_Q, offset)


@causal_mask.misconception
def places_not_as_a_column(N_Q, N_X, offset):
    """The positions of queries and of keys are both a single row here, so that torch pairs the first query with the first key
    alone. One of them must be a column, [N_Q, 1], for each query to meet each key."""
    return torch.arange(N_X) <= torch.arange(N_Q) + offset


@causal_mask.misconception
def a_batch_axis_too_many(N_Q, N_X, offset):
    """The mask has axes of size 1 in front. It is the same for each sequence and each head, [N_Q, N_X]; axes in front come by
    themselves when it meets the scores."""
    return _lower(N_Q, N_X, offset)[None, None]


@causal_mask.misconception
def query_and_key_exchanged(N_Q, N_X, offset):
    """Query and key are exchanged: the condition asks whether the query's number is at most offset + the key's. It is the key
    that must not stand behind the query: n ≤ offset + m."""
    m, n = _places(N_Q, N_X)
    return m <= offset + n


@causal_mask.alternative
def by_comparing_places(N_Q, N_X, offset):
    return torch.arange(N_X)[None, :] <= torch.arange(offset, offset + N_Q)[:, None]


@causal_mask.alternative
def with_a_triangle(N_Q, N_X, offset):
    return torch.tril(torch.ones(N_Q, N_X, dtype=torch.bool), diagonal=offset)


@causal_mask.alternative
def without_the_upper_triangle(N_Q, N_X, offset):
    return ~torch.full((N_Q, N_X), True).triu(offset + 1)


@causal_mask.alternative
def rows_of_a_square(N_Q, N_X, offset):
    return torch.tril(torch.ones(N_X, N_X))[offset : offset + N_Q] == 1


@causal_mask.alternative
def row_by_row(N_Q, N_X, offset):
    mask = torch.zeros(N_Q, N_X, dtype=torch.bool)
    for n in range(N_Q):
        mask[n, : offset + n + 1] = True
    return mask
