"""Answers to query_masks (assignment 17)."""

import torch
import torch.nn.functional as F
from answers import change, right, wrong

# ---------------------------------------------------------------- right


@right("Four blocks, glued to rows and the rows to the mask")
def four_blocks(lengths, Q, N, loss):
    B, device = len(lengths), lengths.device
    tokens = (torch.arange(N, device=device) < lengths[:, None])[:, None]
    seen = tokens.repeat(1, N, 1)
    across = tokens.repeat(1, Q, 1) if loss == "matching" else torch.zeros(B, Q, N, dtype=torch.bool, device=device)
    back = torch.full((B, N, Q), loss != "contrast", device=device)
    own = torch.ones(B, Q, Q, dtype=torch.bool, device=device)
    if loss == "writing":
        seen = seen.tril()
    return torch.cat([torch.cat([own, across], dim=2), torch.cat([back, seen], dim=2)], dim=1)


@right("Every position has a level; rows see columns of no higher level, or of the same side")
def levels(lengths, Q, N, loss):
    place = torch.arange(-Q, N, device=lengths.device)
    if loss == "matching":
        level = torch.zeros_like(place)
    elif loss == "writing":
        level = (place + 1).clamp(min=0)
    else:
        level = (place >= 0).long()
    square = level[:, None] == level if loss == "contrast" else level[:, None] >= level
    return square & (place < lengths[:, None])[:, None, :]


@right("Plain loops over all entries and a rule in words")
def rule_in_words(lengths, Q, N, loss):
    def may(row, column, length):
        if column >= Q + length:
            return False
        if column < Q:
            return row < Q or loss != "contrast"
        if row < Q:
            return loss == "matching"
        return loss != "writing" or column <= row

    S = range(Q + N)
    lists = [[[may(row, column, length) for column in S] for row in S] for length in lengths.tolist()]
    return torch.tensor(lists, dtype=torch.bool, device=lengths.device)


@right("All True at first, and slices of it switched off")
def switched_off(lengths, Q, N, loss):
    masks = torch.ones(len(lengths), Q + N, Q + N, dtype=torch.bool, device=lengths.device)
    if loss != "matching":
        masks[:, :Q, Q:] = False
    if loss == "contrast":
        masks[:, Q:, :Q] = False
    if loss == "writing":
        for n in range(N):
            masks[:, Q + n, Q + n + 1 :] = False
    for b in range(len(lengths)):
        masks[b, :, Q + int(lengths[b]) :] = False
    return masks


@right("A table of two by two, enlarged by repeat_interleave, with the padding's columns taken out")
def enlarged_table(lengths, Q, N, loss):
    device = lengths.device
    table = {"matching": [[1, 1], [1, 1]], "writing": [[1, 0], [1, 1]], "contrast": [[1, 0], [0, 1]]}[loss]
    sizes = torch.tensor([Q, N], device=device)
    square = torch.tensor(table, device=device).repeat_interleave(sizes, 0).repeat_interleave(sizes, 1)
    if loss == "writing":
        square[Q:] = square[Q:].tril(Q)
    columns = torch.stack([F.pad(torch.ones(Q + int(n), device=device), (0, N - int(n))) for n in lengths])
    return torch.einsum("rc,bc->brc", square.to(columns.dtype), columns).ne(0)


@right("Additive masks of 0 and -inf, summed, and compared with 0 at the end")
def additive_first(lengths, Q, N, loss):
    S, low = Q + N, float("-inf")
    added = torch.zeros(len(lengths), S, S, device=lengths.device)
    place = torch.arange(S, device=lengths.device)
    added = added.masked_fill((place - Q >= lengths.view(-1, 1)).unsqueeze(1), low)
    queries = place < Q
    if loss == "contrast":
        added = added.masked_fill(queries ^ queries[:, None], low)
    if loss == "writing":
        future = torch.full((S, S), low, device=lengths.device).triu(1)
        future[:Q, :Q] = 0
        added = added + future
    return added == 0


@right("Each row gets the interval of columns it sees, from a first to a last one")
def an_interval_for_each_row(lengths, Q, N, loss):
    place = torch.arange(Q + N, device=lengths.device)
    text = place >= Q
    first = torch.where(text, Q, 0) if loss == "contrast" else torch.zeros_like(place)
    ends = (lengths.long() + Q)[:, None].repeat(1, Q + N)
    if loss != "matching":
        ends[:, :Q] = Q
    if loss == "writing":
        ends[:, Q:] = ends[:, Q:].minimum(place[Q:] + 1)
    return (place >= first[:, None]) & (place < ends[..., None])


# ---------------------------------------------------------------- wrong


def _tokens(lengths, Q, N):
    """[B, 1, Q+N]: the columns that are no padding."""
    return (torch.arange(Q + N, device=lengths.device) < Q + lengths[:, None])[:, None]


def _square(lengths, Q, N, loss):
    """[Q+N, Q+N]: the rules without padding."""
    text = torch.arange(Q + N, device=lengths.device) >= Q
    if loss == "matching":
        return torch.ones(Q + N, Q + N, dtype=torch.bool, device=lengths.device)
    if loss == "contrast":
        return text[:, None] == text
    return ~text | (text[:, None] & torch.ones(Q + N, Q + N, dtype=torch.bool, device=lengths.device).tril())


# Right, and not registered: answers below are changes of it.
def _plain(lengths, Q, N, loss):
    square = _square(lengths, Q, N, loss)
    if loss == "writing":
        square[Q:, Q:] = square[Q:, Q:].tril()
    return square & _tokens(lengths, Q, N)


change(_plain, "writing_queries_read", "with 'writing' the queries see the text", "concept",
       ("square[Q:, Q:] = square[Q:, Q:].tril()", "square[:Q] = True"))
change(_plain, "writing_without_queries", "with 'writing' the text does not see the queries", "concept",
       ("square[Q:, Q:] = square[Q:, Q:].tril()", "square[Q:, :Q] = False"))
change(_plain, "writing_sees_the_future", "with 'writing' the text sees the tokens that come after", "concept",
       ("square[Q:, Q:].tril()", "True"))
change(_plain, "writing_without_itself", "with 'writing' a text position does not see itself", "edge",
       (".tril()", ".tril(-1)"))


@wrong("with 'writing' the triangle is laid over the queries too, which see only queries before them", kind="concept")
def causal_over_all(lengths, Q, N, loss):
    square = _square(lengths, Q, N, loss)
    return (square.tril() if loss == "writing" else square) & _tokens(lengths, Q, N)


change(_plain, "triangle_from_the_first_query",
       "with 'writing' the triangle of the text's rows starts at the first query, not at the first token", "concept",
       ("square[Q:, Q:] = square[Q:, Q:].tril()", "square[Q:] = square[Q:].tril()"))
change(_plain, "upper_triangle", "with 'writing' the triangle is the upper one", "concept",
       (".tril()", ".T.clone()"))


@wrong("rows and columns are swapped: with 'writing' the queries see the text and not the other way", kind="concept")
def rows_for_columns(lengths, Q, N, loss):
    return _square(lengths, Q, N, loss).T & _tokens(lengths, Q, N)


change(_plain, "matching_is_causal", "with 'matching' the text is causal", "concept",
       ('"writing"', '"matching"'))


@wrong("with 'contrast' the text is causal", kind="concept")
def contrast_is_causal(lengths, Q, N, loss):
    square = _square(lengths, Q, N, loss)
    return (square & _square(lengths, Q, N, "writing") if loss == "contrast" else square) & _tokens(lengths, Q, N)


@wrong("with 'contrast' nothing is separated: it is treated as 'matching'", kind="concept")
def contrast_sees_all(lengths, Q, N, loss):
    return _square(lengths, Q, N, "matching" if loss == "contrast" else loss) & _tokens(lengths, Q, N)


change(_plain, "contrast_lonely_queries", "with 'contrast' each query sees itself alone", "concept",
       ('"writing"', '"contrast"'),
       ("square[Q:, Q:] = square[Q:, Q:].tril()",
        "square[:Q, :Q] = torch.eye(Q, dtype=torch.bool, device=lengths.device)"))


@wrong("True and False are swapped: True marks what is forbidden", kind="concept")
def true_is_forbidden(lengths, Q, N, loss):
    return ~(_square(lengths, Q, N, loss) & _tokens(lengths, Q, N))


@wrong("padding is not hidden, lengths are ignored", kind="concept")
def padding_is_seen(lengths, Q, N, loss):
    return _square(lengths, Q, N, loss).repeat(len(lengths), 1, 1)


@wrong("rows of padding positions are all False as well", kind="concept")
def padding_rows_empty(lengths, Q, N, loss):
    tokens = _tokens(lengths, Q, N)
    return _square(lengths, Q, N, loss) & tokens & tokens.transpose(1, 2)


@wrong("the queries are forgotten when padding is found: columns from lengths[b] on are hidden", kind="concept")
def lengths_from_the_first_query(lengths, Q, N, loss):
    return _square(lengths, Q, N, loss) & _tokens(lengths - Q, Q, N)


@wrong("the text stands first and the queries behind it", kind="concept")
def text_first(lengths, Q, N, loss):
    return (_square(lengths, Q, N, loss) & _tokens(lengths, Q, N)).roll((N, N), (1, 2))


@wrong("the first padding position counts as a token (<= in place of <)", kind="edge")
def one_token_more(lengths, Q, N, loss):
    return _square(lengths, Q, N, loss) & _tokens(lengths + 1, Q, N)


@wrong("padding positions may attend to themselves (the diagonal is always True)", kind="concept")
def diagonal_always(lengths, Q, N, loss):
    diagonal = torch.eye(Q + N, dtype=torch.bool, device=lengths.device)
    return (_square(lengths, Q, N, loss) & _tokens(lengths, Q, N)) | diagonal


@wrong("the masks are as wide as the longest text, not N", kind="shape")
def as_wide_as_the_longest(lengths, Q, N, loss):
    longest = int(lengths.max())
    return _square(lengths, Q, longest, loss) & _tokens(lengths, Q, longest)


@wrong("the masks are additive ones of 0 and -inf, not True and False", kind="interface")
def additive(lengths, Q, N, loss):
    masks = _square(lengths, Q, N, loss) & _tokens(lengths, Q, N)
    return torch.zeros(masks.shape, device=lengths.device).masked_fill(~masks, float("-inf"))


_made = {}


@wrong("masks are kept for each (B, Q, N, loss): a later call with other lengths gets the old ones", kind="process")
def kept_masks(lengths, Q, N, loss):
    key = (len(lengths), Q, N, loss)
    if key not in _made:
        _made[key] = _square(lengths, Q, N, loss) & _tokens(lengths, Q, N)
    return _made[key]
