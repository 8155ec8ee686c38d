"""Exercise 7, a stretch: several documents in one row of a batch."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _row(N, lengths):
    """Documents of these lengths one after another, as many as fit, and 0 behind them."""
    numbers = [number for number, length in enumerate(lengths, 1) for _ in range(int(length))]
    return (numbers + [0] * N)[:N]


def _drawn(inputs, sizes, rng):
    """Documents of one to four tokens in each row, of which some end with padding."""
    B, N = sizes["B"], sizes["N"]
    rows = [_row(max(N - b % 3, 1), rng.integers(1, 5, size=N)) for b in range(B)]
    return {"documents": torch.tensor([row + [0] * (N - len(row)) for row in rows], dtype=torch.int64).numpy()}


def _rows(*lengths):
    """An edit that gives the rows documents of these lengths."""

    def edit(inputs, rng):
        N = inputs["documents"].shape[1]
        inputs["documents"] = torch.tensor([_row(N, one) for one in lengths], dtype=torch.int64).numpy()

    return edit


@exercise(
    points=0,
    section="Padding masks",
    source="Raffel et al. 2020, section 3.1.2 (packing); Brown et al. 2020, appendix B; flash_attn_varlen_func of FlashAttention",
    outputs="mask positions",
    formula="mask[b, 0, m, n] = (documents[b, m] = documents[b, n], not 0, and n ≤ m); mask [B, 1, N, N], torch.bool;"
    " positions[b, n] = how many tokens of the same document stand before n, and 0 at padding; positions [B, N], torch.int64",
    cases=[
        Case("two documents and padding", sizes={"B": 1, "N": 7}, edit=_rows((3, 2))),
        Case("rows cut at different places", sizes={"B": 4, "N": 9}, edit=_rows((3, 4), (5, 1, 2), (2, 2, 3, 2), (6,))),
        Case("documents of a single token", sizes={"B": 2, "N": 5}, edit=_rows((1, 1, 1), (1, 1, 2, 1))),
        Case("a row of padding alone", sizes={"B": 3, "N": 6}, edit=_rows((4,), (), (2, 4))),
        Case("one document that fills its row", sizes={"B": 2, "N": 4}, edit=_rows((4,), (4,))),
        Case("documents of drawn lengths"),
    ],
    draws=_drawn,
    differentiable=False,
)
def packed_mask(documents: Int[Tensor, "B N"]) -> tuple[Bool[Tensor, "B 1 N N"], Int[Tensor, "B N"]]:
    rows, N = documents.tolist(), range(documents.shape[1])
    mask = [[[[row[m] == row[n] != 0 and n <= m for n in N] for m in N]] for row in rows]
    positions = [[row[:n].count(row[n]) if row[n] else 0 for n in N] for row in rows]
    return torch.tensor(mask, device=documents.device), torch.tensor(positions, device=documents.device)


def _same(documents):
    """[B, N, N], True where query and key have the same number, padding among itself too."""
    return documents[:, :, None] == documents[:, None, :]


def _causal(documents):
    N = documents.shape[1]
    return torch.ones(N, N, dtype=torch.bool, device=documents.device).tril()


def _allowed(documents):
    return _same(documents) & _causal(documents) & (documents != 0)[:, None, :]


def _counted(documents):
    """How many tokens of the same number stand before each, padding among itself too."""
    return (_same(documents) & _causal(documents)).sum(dim=-1) - 1


def _packed(documents, allowed=None, positions=None):
    mask = _allowed(documents) if allowed is None else allowed
    places = _counted(documents).masked_fill(documents == 0, 0) if positions is None else positions
    return mask[:, None], places


@packed_mask.misconception
def padding_as_a_document(documents):
    """Padding is treated as one more document: its positions attend to each other, because 0 equals 0. Padding belongs to no
    document: its rows and columns are False throughout."""
    return _packed(documents, _same(documents) & _causal(documents))


@packed_mask.misconception
def padding_as_a_document_with_positions(documents):
    """Padding is treated as one more document, in the mask and in the positions, because 0 equals 0. Padding belongs to no
    document: its rows and columns are False throughout, and its position is 0."""
    return _packed(documents, _same(documents) & _causal(documents), _counted(documents))


@packed_mask.misconception
def padding_counted(documents):
    """The mask is right, but the positions count through the padding as if it were one more document. Padding has position 0."""
    return _packed(documents, positions=_counted(documents))


@packed_mask.misconception
def minus_one_at_padding(documents):
    """The positions are right at tokens, and −1 at padding: a padding may attend to nothing, and 0 less 1 is −1. Padding has
    position 0."""
    return _packed(documents, positions=_allowed(documents).sum(dim=-1) - 1)


@packed_mask.misconception
def documents_see_each_other(documents):
    """This is the causal mask with the padding mask: a token attends also to the documents before its own in the row. They only
    share the row to save padding; a key is allowed only if it belongs to the same document."""
    tokens = documents != 0
    return _packed(documents, _causal(documents) & tokens[:, None, :] & tokens[:, :, None])


@packed_mask.misconception
def padded_queries_see_everything(documents):
    """This is the causal mask with the padding mask: a token attends also to the documents before its own in the row, and so
    does the padding. A key is allowed only if it belongs to the query's own document, and padding belongs to none."""
    return _packed(documents, _causal(documents) & (documents != 0)[:, None, :])


@packed_mask.misconception
def future_not_hidden(documents):
    """Each token attends to its whole document, to later tokens too. The mask has to be causal as well: the key is not later
    than the query, n ≤ m."""
    return _packed(documents, _same(documents) & (documents != 0)[:, None, :])


@packed_mask.misconception
def past_hidden(documents):
    """Within its document each token attends to itself and to later tokens. Rows are queries and columns are keys, and the key is
    not later than the query: n ≤ m."""
    return _packed(documents, _allowed(documents).mT)


@packed_mask.misconception
def padding_attends_to_itself(documents):
    """Each padding attends to itself. Some libraries want this, so that no softmax runs over nothing; here padding belongs to no
    document, and its rows are False throughout."""
    itself = torch.eye(documents.shape[1], dtype=torch.bool, device=documents.device)
    return _packed(documents, _allowed(documents) | itself)


@packed_mask.misconception
def itself_hidden(documents):
    """In your mask no token attends to itself, so the first one of each document has no key at all. The key is not later than
    the query, n ≤ m: its own key is allowed."""
    return _packed(documents, _allowed(documents).tril(-1))


@packed_mask.misconception
def positions_of_the_row(documents):
    """The positions run on through the whole row. Each document is a sequence of its own: its first token has position 0, as if
    it stood alone in a row."""
    N = documents.shape[1]
    return _packed(
        documents, positions=torch.arange(N, device=documents.device).expand_as(documents) * (documents != 0)
    )


@packed_mask.misconception
def positions_of_the_row_and_its_padding(documents):
    """The positions run on through the whole row, padding included. Each document is a sequence of its own: its first token has
    position 0, as if it stood alone in a row. Padding has position 0."""
    return _packed(documents, positions=torch.arange(documents.shape[1], device=documents.device).expand_as(documents))


@packed_mask.misconception
def positions_from_one(documents):
    """The first token of each document has position 1. Positions count from 0: a position is the number of tokens of the same
    document before it, without the token itself."""
    return _packed(documents, positions=(_counted(documents) + 1).masked_fill(documents == 0, 0))


@packed_mask.misconception
def borders_of_the_first_row(documents):
    """All rows have the borders of the first row's documents. Each row is packed in its own way: row b of the mask and of the
    positions follows from documents[b]."""
    mask, positions = _packed(documents[:1].expand_as(documents))
    return mask, positions


@packed_mask.misconception
def no_axis_for_the_heads(documents):
    """The mask is [B, N, N]. Against scores [B, H, N, N] its batch would meet the heads. With an axis of size 1 in their place,
    [B, 1, N, N], all heads of a row share its mask."""
    mask, positions = _packed(documents)
    return mask.squeeze(1), positions


@packed_mask.alternative
def from_the_starts(documents):
    N = torch.arange(documents.shape[1], device=documents.device)
    new = torch.ones_like(documents, dtype=torch.bool)
    new[:, 1:] = documents[:, 1:] != documents[:, :-1]
    start = torch.where(new, N, 0).cummax(dim=1).values  # where the document of each position begins
    tokens = documents > 0
    mask = (start[:, :, None] <= N) & (N <= N[:, None]) & tokens[:, :, None]
    return mask.unsqueeze(1), (N - start) * tokens


@packed_mask.alternative
def row_by_row(documents):
    B, N = documents.shape
    mask = torch.zeros(B, 1, N, N, dtype=torch.bool, device=documents.device)
    positions = torch.zeros_like(documents)
    for b in range(B):
        for n in range(N):
            if documents[b, n] > 0:
                first = n if n == 0 or documents[b, n] != documents[b, n - 1] else n - int(positions[b, n - 1]) - 1
                mask[b, 0, n, first : n + 1] = True
                positions[b, n] = n - first
    return mask, positions


@packed_mask.alternative
def with_one_hot_vectors(documents):
    B, N = documents.shape
    of = (documents[..., None] == torch.arange(1, N + 1, device=documents.device)).float()  # [B, N, documents]
    together = (of @ of.mT).tril()
    return together.bool()[:, None], (together.sum(dim=-1) - 1).clamp(min=0).long()


@packed_mask.alternative
def block_by_block(documents):
    masks, positions = [], []
    for row in documents:
        lengths = [int((row == number).sum()) for number in range(1, int(row.max()) + 1)]
        rest = len(row) - sum(lengths)
        blocks = [torch.ones(n, n, dtype=torch.bool).tril() for n in lengths] + [
            torch.zeros(rest, rest, dtype=torch.bool)
        ]
        masks.append(torch.block_diag(*blocks).bool())
        positions.append(torch.cat([torch.arange(n) for n in lengths] + [torch.zeros(rest, dtype=torch.int64)]))
    return torch.stack(masks)[:, None].to(documents.device), torch.stack(positions).to(documents.device)
