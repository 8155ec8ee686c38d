"""Answers to text_masks (assignment 16)."""

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("Each row gets a limit, the smaller of the length and n + 1 when writing, and columns are compared with it")
def a_limit_for_each_row(lengths, N, M, mode):
    B = lengths.shape[0]
    places = torch.arange(N, device=lengths.device)
    limits = lengths[:, None].expand(B, N)
    if mode == "write":
        limits = torch.minimum(limits, places + 1)
    own = places < limits[..., None]
    cross = torch.full((B, N, M), mode != "contrast", dtype=torch.bool, device=lengths.device)
    return own, cross


@right("Expanded views of the tokens, and tril")
def views_and_tril(lengths, N, M, mode):
    tokens = torch.arange(N, device=lengths.device).unsqueeze(0) < lengths.unsqueeze(1)
    own = tokens.unsqueeze(1).expand(-1, N, -1)
    picture = torch.tensor(mode in ("match", "write"), device=lengths.device).expand(len(lengths), N, M)
    return (own.tril() if mode == "write" else own), picture


@right("Plain loops that set one entry at a time")
def plain_loops(lengths, N, M, mode):
    B = len(lengths)
    own = torch.zeros(B, N, N, dtype=torch.bool, device=lengths.device)
    cross = torch.zeros(B, N, M, dtype=torch.bool, device=lengths.device)
    for b, length in enumerate(lengths.tolist()):
        for n in range(N):
            own[b, n, : min(length, n + 1) if mode == "write" else length] = True
            if mode != "contrast":
                cross[b, n] = True
    return own, cross


@right("A one behind the last token, a running sum over it, and the places where it is still 0")
def ended_by_cumsum(lengths, N, M, mode):
    ends = torch.zeros(len(lengths), N + 1, dtype=torch.int64, device=lengths.device)
    ends.scatter_(1, lengths.long().reshape(-1, 1), 1)
    padding = ends.cumsum(1)[:, None, :N]
    future = torch.ones(N, N, dtype=torch.int64, device=lengths.device).triu(1) * (mode == "write")
    own = (padding + future) == 0
    return own, torch.full_like(own[:, :, :1], mode != "contrast").repeat(1, 1, M)


@right("Additive masks of 0 and -inf, turned into True and False at the end")
def additive_first(lengths, N, M, mode):
    B, device = lengths.shape[0], lengths.device
    added = torch.zeros(B, N, N, device=device)
    added = added.masked_fill((torch.arange(N, device=device) >= lengths[:, None])[:, None, :], float("-inf"))
    if mode == "write":
        added = added + torch.full((N, N), float("-inf"), device=device).triu(1)
    seen = torch.zeros(B, N, M, device=device)
    if mode == "contrast":
        seen = seen + float("-inf")
    return added == 0, seen == 0


@right("Products of zeros and ones by einsum")
def by_einsum(lengths, N, M, mode):
    device = lengths.device
    tokens = (torch.arange(N, device=device)[None] < lengths[:, None]).float()
    rows = torch.ones(N, N, device=device)
    before = {"contrast": rows, "match": rows, "write": rows.tril()}[mode]
    own = torch.einsum("bk,nk->bnk", tokens, before) > 0.5
    picture = {"contrast": torch.zeros, "match": torch.ones, "write": torch.ones}[mode]
    return own, picture(len(lengths), N, M, device=device).bool()


@right("One text at a time by a helper, stacked")
def stacked_texts(lengths, N, M, mode):
    def one(length):
        row = F.pad(torch.ones(length, dtype=torch.bool, device=lengths.device), (0, N - length))
        square = torch.stack([row] * N)
        return torch.tril(square) if mode == "write" else square

    own = torch.stack([one(int(length)) for length in lengths])
    cross = own.new_zeros(len(lengths), N, M) if mode == "contrast" else own.new_ones(len(lengths), N, M)
    return own, cross


@right("A match statement, and rows looked up in a table of all prefixes")
def prefixes_looked_up(lengths, N, M, mode):
    prefixes = torch.ones(N + 1, N, dtype=torch.bool, device=lengths.device).tril(-1)
    own = prefixes[lengths.long()][:, None].repeat(1, N, 1)
    cross = lengths.new_zeros((len(lengths), N, M), dtype=torch.bool)
    match mode:
        case "contrast":
            pass
        case "match":
            cross = ~cross
        case "write":
            own = torch.logical_and(own, prefixes[1:])
            cross = ~cross
    return own, cross


# ---------------------------------------------------------------- wrong: concepts


def _parts(lengths, N, M):
    places = torch.arange(N, device=lengths.device)
    tokens = (places < lengths[:, None])[:, None].repeat(1, N, 1)
    causal = places[None, :] <= places[:, None]
    cells = torch.ones(len(lengths), N, M, dtype=torch.bool, device=lengths.device)
    return tokens, causal, cells


# Right, and not registered: answers below are changes of it.
def _plain(lengths, N, M, mode):
    tokens, causal, cells = _parts(lengths, N, M)
    return (tokens & causal if mode == "write" else tokens), (~cells if mode == "contrast" else cells)


change(_plain, "contrast_sees_the_picture", "in mode 'contrast' every cell of the picture is seen", "concept",
       ('(~cells if mode == "contrast" else cells)', "cells"))
change(_plain, "match_is_causal", "in mode 'match' positions see only tokens up to themselves", "concept",
       ('tokens & causal if mode == "write" else tokens', 'tokens if mode == "contrast" else tokens & causal'))
change(_plain, "contrast_is_causal", "in mode 'contrast' positions see only tokens up to themselves", "concept",
       ('tokens & causal if mode == "write" else tokens', 'tokens if mode == "match" else tokens & causal'))
change(_plain, "write_sees_the_future", "in mode 'write' positions see the tokens that come after them", "concept",
       ('(tokens & causal if mode == "write" else tokens)', "tokens"))
change(_plain, "write_without_itself",
       "in mode 'write' a position does not see itself, only what comes before", "concept",
       ("tokens & causal", "tokens & causal.tril(-1)"))
change(_plain, "upper_triangle",
       "in mode 'write' the triangle is the upper one: positions see themselves and what comes after", "concept",
       ("tokens & causal", "tokens & causal.T"))
change(_plain, "write_sees_padding", "in mode 'write' padding is not hidden: the triangle alone decides", "concept",
       before("return", 'own = causal.expand(len(lengths), N, N) if mode == "write" else tokens'),
       ('(tokens & causal if mode == "write" else tokens)', "own"))
change(_plain, "encoder_sees_padding", "in modes 'contrast' and 'match' padding is not hidden", "concept",
       before("return", 'own = tokens & causal if mode == "write" else torch.ones_like(tokens)'),
       ('(tokens & causal if mode == "write" else tokens)', "own"))
change(_plain, "rows_in_place_of_columns", "padding is hidden in the rows of own, not in its columns", "concept",
       before("return", "rows = tokens.transpose(1, 2)"),
       ('tokens & causal if mode == "write" else tokens', 'rows & causal if mode == "write" else rows'))
change(_plain, "rows_and_columns", "rows of padding positions are all False in own, in every mode", "concept",
       before("return", "both = tokens & tokens.transpose(1, 2)"),
       ('tokens & causal if mode == "write" else tokens', 'both & causal if mode == "write" else both'))
change(_plain, "padding_does_not_look", "rows of padding positions see no cell of the picture", "concept",
       before("return", 'cross = cells & tokens[:, 0, :, None] & (mode != "contrast")'),
       ('(~cells if mode == "contrast" else cells)', "cross"))


@wrong("True and False are swapped: True marks what is forbidden", kind="concept")
def true_is_forbidden(lengths, N, M, mode):
    tokens, causal, cells = _parts(lengths, N, M)
    own = tokens & causal if mode == "write" else tokens
    return ~own, (cells if mode == "contrast" else ~cells)


change(_plain, "write_without_the_picture",
       "in mode 'write' the picture is not seen, as in a language model", "concept",
       ('~cells if mode == "contrast" else cells', 'cells if mode == "match" else ~cells'))


@wrong("in mode 'write' the triangle is laid over the cells of the picture too", kind="concept")
def causal_over_the_cells(lengths, N, M, mode):
    tokens, causal, cells = _parts(lengths, N, M)
    if mode == "write":
        return tokens & causal, cells.tril()
    return tokens, (~cells if mode == "contrast" else cells)


@wrong("the picture's cells are cut off at the text's length", kind="concept")
def cells_cut_at_the_length(lengths, N, M, mode):
    tokens, causal, cells = _parts(lengths, N, M)
    cross = cells & (torch.arange(M, device=lengths.device) < lengths[:, None])[:, None] & (mode != "contrast")
    return (tokens & causal if mode == "write" else tokens), cross


@wrong("padding positions may attend to themselves (the diagonal is always True)", kind="concept")
def diagonal_always(lengths, N, M, mode):
    tokens, causal, cells = _parts(lengths, N, M)
    own = (tokens & causal if mode == "write" else tokens) | torch.eye(N, dtype=torch.bool, device=lengths.device)
    return own, (~cells if mode == "contrast" else cells)


change(_plain, "only_the_first_looks", "in mode 'match' only the first position looks at the picture", "concept",
       before("return", """
        if mode == "match":
            cells[:, 1:] = False"""))
change(_plain, "padding_in_front",
       "padding is taken to stand at the front: the last lengths[b] positions count as tokens", "concept",
       before("return", "tokens = tokens.flip(-1)"))
change(_plain, "one_length_for_all", "the length of the first text is used for all texts", "concept",
       before("return", "tokens = tokens[:1].repeat(len(lengths), 1, 1)"))


@wrong("in mode 'write' rows of padding positions are all True, so that no softmax meets an empty row", kind="concept")
def padding_rows_open(lengths, N, M, mode):
    tokens, causal, cells = _parts(lengths, N, M)
    own = (tokens & causal) | ~tokens.transpose(1, 2) if mode == "write" else tokens
    return own, (~cells if mode == "contrast" else cells)


change(_plain, "only_the_summary_reads",
       "in mode 'contrast' only the first position attends to the text, the other rows are False", "concept",
       before("return", """
        if mode == "contrast":
            tokens[:, 1:] = False"""))


# ---------------------------------------------------------------- wrong: edges


@wrong("position lengths[b], the first of the padding, counts as a token (<= in place of <)", kind="edge")
def one_token_more(lengths, N, M, mode):
    _, causal, cells = _parts(lengths, N, M)
    tokens = (torch.arange(N, device=lengths.device) <= lengths[:, None])[:, None].repeat(1, N, 1)
    return (tokens & causal if mode == "write" else tokens), (~cells if mode == "contrast" else cells)


change(_plain, "one_token_less", "the last token of each text counts as padding (< lengths - 1)", "edge",
       ("_parts(lengths, N, M)", "_parts(lengths - 1, N, M)"))
change(_plain, "triangle_shifted",
       "in mode 'write' each position sees the one after it too (triangle shifted by one)", "edge",
       ("causal, cells", "_, cells"), ("tokens & causal", "tokens.tril(1)"))


# ---------------------------------------------------------------- wrong: shapes


change(_plain, "cells_in_rows", "cross is laid out as [B, M, N]", "shape",
       before("return", 'cross = (~cells if mode == "contrast" else cells).transpose(1, 2)'),
       ('(~cells if mode == "contrast" else cells)', "cross"))
change(_plain, "left_to_broadcasting", "in the encoder's modes own stays [B, 1, N], to be broadcast later", "shape",
       ('"write" else tokens', '"write" else tokens[:, :1]'))


@wrong("own is as wide as the longest text, not N", kind="shape")
def as_wide_as_the_longest(lengths, N, M, mode):
    longest = int(lengths.max())
    tokens, causal, _ = _parts(lengths, longest, M)
    cross = torch.full((len(lengths), N, M), mode != "contrast", device=lengths.device)
    return (tokens & causal if mode == "write" else tokens), cross


@wrong("with B = 1 the axis of the texts is squeezed away", kind="shape")
def batch_squeezed(lengths, N, M, mode):
    tokens, causal, cells = _parts(lengths, N, M)
    own = tokens & causal if mode == "write" else tokens
    return own.squeeze(0), (~cells if mode == "contrast" else cells).squeeze(0)


@wrong("both masks have an axis for the heads, [B, 1, N, N] and [B, 1, N, M]", kind="shape")
def axis_for_the_heads(lengths, N, M, mode):
    tokens, causal, cells = _parts(lengths, N, M)
    own = tokens & causal if mode == "write" else tokens
    return own.unsqueeze(1), (~cells if mode == "contrast" else cells).unsqueeze(1)


# ---------------------------------------------------------------- wrong: interface, types, state


@wrong("both masks are additive ones of 0 and -inf, not True and False", kind="interface")
def additive_masks(lengths, N, M, mode):
    tokens, causal, cells = _parts(lengths, N, M)
    own = tokens & causal if mode == "write" else tokens
    cross = ~cells if mode == "contrast" else cells
    return tuple(torch.zeros(m.shape, device=m.device).masked_fill(~m, float("-inf")) for m in (own, cross))


change(_plain, "zeros_and_ones", "own holds the numbers 0 and 1, not True and False", "interface",
       ('(tokens & causal if mode == "write" else tokens)', '(tokens & causal if mode == "write" else tokens).long()'))
change(_plain, "none_for_nothing", "in mode 'contrast' cross is None", "interface",
       ("~cells", "None"))


@wrong("cross comes first, own second", kind="interface")
def cross_first(lengths, N, M, mode):
    tokens, causal, cells = _parts(lengths, N, M)
    return (~cells if mode == "contrast" else cells), (tokens & causal if mode == "write" else tokens)


@wrong("the positions are counted on the CPU, which fails with lengths on another device", kind="interface")
def places_on_the_cpu(lengths, N, M, mode):
    tokens = (torch.arange(N) < lengths[:, None])[:, None].repeat(1, N, 1)
    cross = torch.full((len(lengths), N, M), mode != "contrast", device=lengths.device)
    return (tokens.tril() if mode == "write" else tokens), cross


@wrong("lengths are lowered by one in place", kind="interface")
def lowered_in_place(lengths, N, M, mode):
    lengths -= 1
    tokens = (torch.arange(N, device=lengths.device) <= lengths[:, None])[:, None].repeat(1, N, 1)
    cross = torch.full((len(lengths), N, M), mode != "contrast", device=lengths.device)
    return (tokens.tril() if mode == "write" else tokens), cross


_made = {}


@wrong("masks are kept for each (B, N, M, mode): a later call with other lengths gets the old ones", kind="process")
def kept_masks(lengths, N, M, mode):
    key = (len(lengths), N, M, mode)
    if key not in _made:
        tokens, causal, cells = _parts(lengths, N, M)
        _made[key] = (tokens & causal if mode == "write" else tokens), (~cells if mode == "contrast" else cells)
    return _made[key]
