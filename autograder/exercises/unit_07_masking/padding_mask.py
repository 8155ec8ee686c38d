"""Exercise 2: which positions of a batch of sequences hold tokens."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """Different lengths in no order: the longest neither first nor last where there are three, none as long as N."""
    N, B = sizes["N"], sizes["B"]
    lengths = rng.permutation(N - 1)[:B] + 1 if B < N else rng.integers(1, max(N, 2), size=B)
    lengths = sorted(int(length) for length in lengths)
    order = [*lengths[1:2], *lengths[2:], *lengths[:1]]
    return {"lengths": torch.tensor(order, dtype=torch.int64).numpy()}


def _one_full(inputs, rng):
    inputs["lengths"][1] = inputs["N"]


def _one_empty(inputs, rng):
    inputs["lengths"][1] = 0


@exercise(
    points=2,
    section="Padding masks",
    source="Vaswani et al. 2017, section 3.2.3; key_padding_mask of nn.MultiheadAttention",
    outputs="mask",
    formula="mask[b, 0, n] = (n < lengths[b]), n = 0, …, N − 1; mask [B, 1, N], torch.bool, True at tokens and False at padding;"
    " the axis of size 1 stands for the queries, which may all attend to the same keys",
    cases=[
        Case("sequences that are all shorter than N", sizes={"B": 3, "N": 8}),
        Case("a sequence that fills all positions", sizes={"B": 4, "N": 7}, edit=_one_full),
        Case("a sequence of length 0", sizes={"B": 3, "N": 6}, edit=_one_empty),
        Case("more sequences than positions", sizes={"B": 9}),
        Case("one sequence", sizes={"B": 1, "N": 5}),
    ],
    draws=_drawn,
    differentiable=False,
)
def padding_mask(lengths: Int[Tensor, "B"], N: int) -> Bool[Tensor, "B 1 N"]:
    rows = [[[place < length for place in range(N)]] for length in lengths.tolist()]
    return torch.tensor(rows, device=lengths.device)


def _places(lengths, N):
    return torch.arange(N, device=lengths.device)


def _words(lengths, N, more=0):
    """[B, N], True at the first lengths + more positions."""
    return _places(lengths, N) < lengths[:, None] + more


@padding_mask.misconception
def no_axis_for_the_queries(lengths, N):
    """The mask is [B, N]. Against scores E [B, N_Q, N] its B would meet the queries. With an axis of size 1 in their place, [B,
    1, N], the row of each sequence serves all its queries."""
    return _words(lengths, N)


@padding_mask.misconception
def as_a_key_padding_mask(lengths, N):
    """This is what nn.MultiheadAttention takes for its key_padding_mask: [B, N], True at the padding. In this course True
    means: may attend, and an axis of size 1 stands for the queries, [B, 1, N]."""
    return ~_words(lengths, N)


@padding_mask.misconception
def axis_behind_the_keys(lengths, N):
    """The mask is [B, N, 1]: it would hide queries and not keys. The keys are the last axis: [B, 1, N]."""
    return _words(lengths, N)[:, :, None]


@padding_mask.misconception
def axis_for_heads_too(lengths, N):
    """There is an axis for the heads as well, [B, 1, 1, N]. Asked for is [B, 1, N]; whoever has heads adds their axis."""
    return _words(lengths, N)[:, None, None]


@padding_mask.misconception
def axis_in_front(lengths, N):
    """The axis of size 1 is in front, [1, B, N]. The sequences are the batch, the first axis: [B, 1, N]."""
    return _words(lengths, N)[None]


@padding_mask.misconception
def as_long_as_the_longest(lengths, N):
    """The mask ends with the longest sequence. It must fit the scores, whose N may be larger: use N."""
    return _words(lengths, int(lengths.max()))[:, None]


@padding_mask.misconception
def square(lengths, N):
    """The mask is [B, N, N], and the rows of padding are False all through. Which queries there are is not known here; and a
    row without any True is one whose softmax has nothing to sum. Hide keys only: [B, 1, N]."""
    words = _words(lengths, N)
    return words[:, :, None] & words[:, None, :]


@padding_mask.misconception
def square_with_all_queries(lengths, N):
    """The mask is [B, N, N]: the row is right, but written out once for each query. An axis of size 1 says the same for any
    number of queries: [B, 1, N]."""
    return _words(lengths, N)[:, None].expand(-1, N, -1)


@padding_mask.misconception
def sorted_by_length(lengths, N):
    """The sequences were sorted by length. Row b belongs to sequence b."""
    return _words(lengths.sort(descending=True).values, N)[:, None]


@padding_mask.misconception
def minus_infinity(lengths, N):
    """These are numbers to be added to the scores, 0 and −∞. Asked for is a mask of True and False: True at tokens."""
    return torch.zeros(len(lengths), 1, N, device=lengths.device).masked_fill(~_words(lengths, N)[:, None], -torch.inf)


@padding_mask.misconception
def lengths_not_as_a_column(lengths, N):
    """Positions and lengths are both a single row here, so that torch pairs the first position with the first length. Lengths
    must be a column, [B, 1], so that each sequence meets each position."""
    return (_places(lengths, N) < lengths)[:, None]


@padding_mask.misconception
def nothing_hidden(lengths, N):
    """Everything is True. Positions from a sequence's length on are padding, and False. With mask[b, :length] of a mask [B, 1,
    N] the index runs along the axis of size 1: the positions are the last axis."""
    return torch.ones(len(lengths), 1, N, dtype=torch.bool, device=lengths.device)


@padding_mask.alternative
def by_comparing_places(lengths, N):
    return (torch.arange(N, device=lengths.device) < lengths.unsqueeze(1)).unsqueeze(1)


@padding_mask.alternative
def at_once(lengths, N):
    return _places(lengths, N).view(1, 1, N).lt(lengths.reshape(-1, 1, 1))


@padding_mask.alternative
def line_by_line(lengths, N):
    mask = torch.zeros(len(lengths), 1, N, dtype=torch.bool, device=lengths.device)
    for b, length in enumerate(lengths):
        mask[b, :, :length] = True
    return mask


@padding_mask.alternative
def by_counting(lengths, N):
    return (torch.ones(len(lengths), 1, N, device=lengths.device).cumsum(-1) <= lengths[:, None, None]).bool()
