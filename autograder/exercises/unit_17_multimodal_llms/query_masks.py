"""Exercise 2: the three self-attention masks of the Q-Former."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

MATCHING, WRITING, CONTRAST = "matching", "writing", "contrast"


def _lengths(inputs, sizes, rng):
    """Different lengths where there are enough; never all of them without padding."""
    lengths = rng.integers(1, sizes["N"] + 1, size=sizes["B"])
    lengths[rng.integers(sizes["B"])] = max(1, sizes["N"] - 1)
    return {"lengths": lengths}


def _all_full(inputs, rng):
    inputs["lengths"][:] = inputs["N"]


def _case(text, loss, edit=None, edge=False, **sizes):
    return Case(text, values={"loss": loss}, sizes={"B": 2, "Q": 3, "N": 5, **sizes}, part=loss, edit=edit, edge=edge)


@exercise(
    points={MATCHING: 1, WRITING: 1, CONTRAST: 1},
    section="Three losses, three masks",
    source="Li et al. 2023 (BLIP-2), figure 2",
    formula="allowed [B, Q + N, Q + N], True where a row may attend to a column, the queries first; 'matching': everybody to"
    " everybody; 'writing': queries to queries, text to queries and to the text up to itself; 'contrast': queries to queries,"
    " text to text; nobody to text positions from lengths[b] on",
    outputs="allowed",
    cases=[
        _case("texts with padding", MATCHING),
        _case("more queries than positions", MATCHING, Q=6, N=4),
        _case("texts with padding", WRITING),
        _case("more queries than positions", WRITING, Q=6, N=4),
        _case("texts that fill all positions", WRITING, edit=_all_full, N=4),
        _case("texts with padding", CONTRAST),
        _case("more texts than positions", CONTRAST, B=5, N=4),
        _case("one query", CONTRAST, Q=1, edge=True),
    ],
    draws=_lengths,
    differentiable=False,
)
def query_masks(lengths: Int[Tensor, "B"], Q: int, N: int, loss: str) -> Bool[Tensor, "B Q+N Q+N"]:
    def may(length, row, column):
        if column >= Q + length:
            return False
        if row < Q:
            return column < Q or loss == MATCHING
        if column < Q:
            return loss != CONTRAST
        return loss != WRITING or column <= row

    rows = [
        [[may(length, row, column) for column in range(Q + N)] for row in range(Q + N)] for length in lengths.tolist()
    ]
    return torch.tensor(rows, device=lengths.device)


def _corners(lengths, Q, N, *, to_text, to_queries, causal, own=True, tokens=None):
    """The mask from its four corners: whether queries see the text, the text the queries, and the text later text."""
    place = torch.arange(N, device=lengths.device)
    text = (place < lengths[:, None] if tokens is None else tokens)[:, None]  # [B, 1, N]
    yes = torch.ones(len(lengths), 1, 1, dtype=torch.bool, device=lengths.device)
    among = text & (place <= place[:, None] if causal else torch.ones_like(place, dtype=torch.bool)[:, None])
    upper = torch.cat([(yes & own).expand(-1, Q, Q), (text & to_text).expand(-1, Q, N)], dim=2)
    lower = torch.cat([(yes & to_queries).expand(-1, N, Q), among.expand(-1, N, N)], dim=2)
    return torch.cat([upper, lower], dim=1)


def _right(lengths, Q, N, loss, **wrong):
    given = {"to_text": loss == MATCHING, "to_queries": loss != CONTRAST, "causal": loss == WRITING}
    return _corners(lengths, Q, N, **{**given, **wrong})


@query_masks.misconception(universal=True)
def queries_read_what_is_written(lengths, Q, N, loss):
    """In 'writing', the queries attend to the text. It is what the text network has to predict: whatever the queries read there,
    they hand back to it, and the loss is small without a look at the picture."""
    return _right(lengths, Q, N, loss, to_text=loss != CONTRAST)


@query_masks.misconception
def text_without_queries(lengths, Q, N, loss):
    """In 'writing', the text does not attend to the queries. They are all that it has of the picture."""
    return _right(lengths, Q, N, loss, to_queries=loss == MATCHING)


@query_masks.misconception
def text_never_causal(lengths, Q, N, loss):
    """In 'writing', the text attends to later text. It predicts the next token, and would read it off."""
    return _right(lengths, Q, N, loss, causal=False)


@query_masks.misconception
def text_always_causal(lengths, Q, N, loss):
    """The text is causal also where nothing is written. For 'matching' and 'contrast' it is read as a whole."""
    return _right(lengths, Q, N, loss, causal=True)


@query_masks.misconception
def text_sees_queries_in_contrast(lengths, Q, N, loss):
    """In 'contrast', the text attends to the queries. Then its vector knows the picture, and the comparison is too easy: the loss
    asks for vectors that were made apart."""
    return _right(lengths, Q, N, loss, to_queries=True)


@query_masks.misconception
def queries_see_text_in_contrast(lengths, Q, N, loss):
    """In 'contrast', the queries attend to the text. Then they know what they are compared with: the loss asks for vectors that
    were made apart."""
    return _right(lengths, Q, N, loss, to_text=loss != WRITING)


@query_masks.misconception
def queries_causal_too(lengths, Q, N, loss):
    """In 'writing', the whole sequence is causal, the queries included. Queries have no order: each attends to all of them."""
    whole = _right(lengths, Q, N, loss)
    return whole.tril() if loss == WRITING else whole


@query_masks.misconception
def padding_seen(lengths, Q, N, loss):
    """Padding is attended to: lengths is not looked at. Positions from lengths[b] on hold no token."""
    return _right(lengths, Q, N, loss, tokens=torch.ones(len(lengths), N, dtype=torch.bool, device=lengths.device))


@query_masks.misconception
def text_first(lengths, Q, N, loss):
    """The text comes first and the queries behind it. The order is [queries; text], in rows and in columns."""
    return _right(lengths, Q, N, loss).roll((-Q, -Q), dims=(1, 2))


@query_masks.misconception
def padding_rows_empty(lengths, Q, N, loss):
    """The rows of padding allow nothing. What happens there is used nowhere, but a row without any True makes a softmax NaN; here
    these rows follow the same rules as the other rows of text."""
    text = torch.arange(N, device=lengths.device) < lengths[:, None]
    rows = torch.cat([torch.ones(len(lengths), Q, dtype=torch.bool, device=lengths.device), text], dim=1)
    return _right(lengths, Q, N, loss) & rows[:, :, None]


@query_masks.alternative
def from_corners(lengths, Q, N, loss):
    return _right(lengths, Q, N, loss)


@query_masks.alternative
def from_a_table_of_kinds(lengths, Q, N, loss):
    text = (torch.arange(Q + N, device=lengths.device) >= Q).long()
    kinds = torch.tensor(
        {MATCHING: [[1, 1], [1, 1]], WRITING: [[1, 0], [1, 1]], CONTRAST: [[1, 0], [0, 1]]}[loss], device=lengths.device
    )
    allowed = kinds[text[:, None], text].bool()
    if loss == WRITING:
        place = torch.arange(Q + N, device=lengths.device)
        allowed = allowed & ((place <= place[:, None]) | ~text.bool())
    return allowed & (torch.arange(Q + N, device=lengths.device) < Q + lengths[:, None])[:, None]


@query_masks.alternative
def text_by_text(lengths, Q, N, loss):
    found = []
    for length in lengths.tolist():
        one = torch.zeros(Q + N, Q + N, dtype=torch.bool, device=lengths.device)
        one[:Q, :Q] = True
        one[Q:, Q:] = torch.ones(N, N, device=lengths.device).tril().bool() if loss == WRITING else True
        one[Q:, :Q] = loss in (MATCHING, WRITING)
        one[:Q, Q:] = loss == MATCHING
        one[:, Q + length :] = False
        found.append(one)
    return torch.stack(found)
