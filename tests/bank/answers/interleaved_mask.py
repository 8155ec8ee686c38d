"""Answers to interleaved_mask (assignment 17)."""

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("Differences of positions and picture numbers by broadcasting, the last picture by cummax")
def differences_and_cummax(pictures, lengths, last_only):
    B, N = pictures.shape
    at = torch.arange(N, device=pictures.device)
    rows, columns = pictures.unsqueeze(2), pictures.unsqueeze(1)
    allowed = (at[:, None] - at >= 0) | ((rows - columns == 0) & (rows > 0))
    if last_only:
        last = pictures.cummax(dim=1).values.unsqueeze(2)
        allowed = allowed & ~((rows == 0) & (columns > 0) & (columns < last))
    return allowed & (at < lengths[:, None]).unsqueeze(1)


@right("Plain loops over rows and columns with early continues")
def plain_loops(pictures, lengths, last_only):
    B, N = pictures.shape
    mask = torch.zeros(B, N, N, dtype=torch.bool)
    for b, (line, length) in enumerate(zip(pictures.tolist(), lengths.tolist())):
        last = 0
        for n in range(N):
            last = line[n] or last
            for m in range(length):
                if m > n and (line[n] == 0 or line[m] != line[n]):
                    continue
                if last_only and not line[n] and line[m] not in (0, last):
                    continue
                mask[b, n, m] = True
    return mask.to(pictures.device)


@right("One line of the batch at a time: tril, then the blocks of its pictures are filled, then columns are cleared")
def blocks_filled(pictures, lengths, last_only):
    made = []
    for line, length in zip(pictures, lengths.tolist()):
        N = len(line)
        square = torch.ones(N, N, dtype=torch.bool, device=line.device).tril()
        for k in line[line > 0].unique():
            here = line == k
            square |= torch.outer(here, here)
            if last_only:
                after = here.nonzero().max()
                late_text = (line > k).long().cumsum(0).gt(0) & (line == 0)
                late_text[: after + 1] = False
                square &= ~torch.outer(late_text, here)
        square[:, length:] = False
        made.append(square)
    return torch.stack(made)


@right("One-hot picture numbers multiplied as matrices of zeros and ones, clamped and compared at the end")
def one_hot_products(pictures, lengths, last_only):
    B, N = pictures.shape
    device = pictures.device
    hot = F.one_hot(pictures.long()).double()
    shown = hot.clone()
    shown[..., 0] = 0.0
    causal = torch.ones(N, N, device=device, dtype=torch.float64).tril()
    allowed = causal + shown @ shown.mT
    if last_only:
        last = F.one_hot(pictures.long().cummax(1)[0], hot.shape[-1]).double()
        last[..., 0] = 1.0
        seen = torch.where(pictures[..., None] == 0, last, torch.ones_like(last))
        allowed = allowed * (seen @ hot.mT)
    real = torch.arange(N, device=device).expand(B, N) < lengths[:, None]
    return allowed * real[:, None] > 0.5


@right("Each row gets a limit, the end of its own picture or itself, and columns are compared with it")
def a_limit_for_each_row(pictures, lengths, last_only):
    B, N = pictures.shape
    at = torch.arange(N, device=pictures.device).expand(B, N)
    follows = F.pad(pictures[:, 1:] == pictures[:, :-1], (0, 1), value=False) & (pictures > 0)
    limit = torch.where(follows, N, at).flip(1).cummin(1).values.flip(1)
    limit = torch.minimum(limit, lengths[:, None].to(limit.dtype) - 1)
    allowed = at[:, None, :] <= limit[:, :, None]
    if last_only:
        last = torch.cummax(pictures, 1).values
        text = (pictures == 0).to(torch.bool)
        hidden = text[:, :, None] & ~text[:, None, :] & (pictures[:, None, :] != last[:, :, None])
        allowed = allowed.logical_and(hidden.logical_not())
    return allowed


@right("Additive masks of 0 and -inf, turned into True and False at the end")
def additive_first(pictures, lengths, last_only):
    B, N = pictures.shape
    device = pictures.device
    never = float("-inf")
    added = torch.zeros(B, N, N, device=device)
    future = torch.full((N, N), never, device=device).triu(1)
    same = (pictures[:, :, None] == pictures[:, None, :]) & (pictures != 0)[:, :, None]
    added = added + future.expand(B, N, N).masked_fill(same, 0.0)
    if last_only:
        last = torch.stack([pictures[:, : n + 1].amax(1) for n in range(N)], 1)
        other = (pictures != 0)[:, None, :] & (pictures[:, None, :] != last[:, :, None])
        added = added.masked_fill(other & (pictures == 0)[:, :, None], never)
    added = added.masked_fill(torch.arange(N, device=device) >= lengths[:, None, None], never)
    return added == 0


@right("Text rows and picture rows are written as two masks and chosen by torch.where")
def two_kinds_of_rows(pictures, lengths, last_only):
    N = pictures.shape[1]
    p = torch.arange(N, device=pictures.device)
    real = p[None, None, :] < lengths.view(-1, 1, 1)
    causal = (p[None, :] <= p[:, None])[None]
    of_pictures = causal | (pictures[:, None, :] == pictures[:, :, None])
    last = pictures.cummax(1).values[:, :, None]
    near = (pictures[:, None, :] == 0) | (pictures[:, None, :] == last)
    of_text = causal & (near if last_only else torch.ones_like(near))
    return torch.where((pictures == 0)[:, :, None], of_text, of_pictures) & real


# ---------------------------------------------------------------- wrong: concepts


def _parts(pictures, lengths):
    """Causal [N, N]; same picture, text row, picture column, column of the last picture, real column [B, N or 1, N or 1]."""
    N = pictures.shape[1]
    places = torch.arange(N, device=pictures.device)
    causal = places[None, :] <= places[:, None]
    rows, columns = pictures[:, :, None], pictures[:, None, :]
    same = (rows == columns) & (rows > 0)
    of_last = columns == pictures.cummax(1).values[:, :, None]
    return causal, same, rows == 0, columns > 0, of_last, (places < lengths[:, None])[:, None]


# Right, and not registered: answers below are changes of it.
def _plain(pictures, lengths, last_only):
    causal, same, text, shown, of_last, real = _parts(pictures, lengths)
    mask = (causal | same) & real
    return mask & ~(text & shown & ~of_last) if last_only else mask


change(_plain, "causal_everywhere",
       "the vectors of a picture see only what stands before them: the mask is causal everywhere", "concept",
       ("(causal | same)", "causal"))
change(_plain, "pictures_see_each_other",
       "the vectors of all pictures see each other in both directions, not those of one picture only", "concept",
       ("causal | same", "causal | (~text & shown)"))


@wrong("the mask is open everywhere from the first picture vector to the last, text between included", kind="concept")
def one_large_block(pictures, lengths, last_only):
    causal, same, text, shown, of_last, real = _parts(pictures, lengths)
    is_shown = (pictures > 0).long()
    inside = (is_shown.cumsum(1) > 0) & (is_shown.flip(1).cumsum(1).flip(1) > 0)
    mask = (causal | (inside[:, :, None] & inside[:, None, :])) & real
    return mask & ~(text & shown & ~of_last) if last_only else mask


@wrong("last_only is ignored", kind="concept")
def last_only_ignored(pictures, lengths, last_only):
    causal, same, text, shown, of_last, real = _parts(pictures, lengths)
    return (causal | same) & real


change(_plain, "last_only_turned_round",
       "last_only is turned round: earlier pictures are hidden where it is False", "concept",
       ("return mask & ~(text & shown & ~of_last) if last_only else mask",
        "return mask if last_only else mask & ~(text & shown & ~of_last)"))
change(_plain, "last_only_for_pictures_alone",
       "with last_only it is the picture positions that do not see earlier pictures; text sees all", "concept",
       ("text & shown", "~text & shown"))
change(_plain, "text_sees_no_text", "with last_only text sees the last picture and no text but itself", "concept",
       before("return", "itself = torch.eye(pictures.shape[1], dtype=torch.bool, device=pictures.device)"),
       ("~(text & shown & ~of_last)", "(~text | (shown & of_last) | itself)"))
change(_plain, "first_in_place_of_last", "with last_only text sees the first picture only", "concept",
       ("of_last, real", "_, real"), ("shown & ~of_last", "(pictures > 1)[:, None, :]"))
change(_plain, "the_last_two", "with last_only text sees the last two pictures", "concept",
       ("of_last, real", "_, real"),
       before("mask =", "of_last = pictures[:, None, :] >= (pictures.cummax(1).values - 1)[:, :, None]"))
change(_plain, "last_vector_only",
       "with last_only text sees the last vector of the last picture alone, not the whole picture", "concept",
       before("mask =", "ends = (pictures != F.pad(pictures[:, 1:], (0, 1)))[:, None, :]"),
       ("~of_last", "~(of_last & ends)"))
change(_plain, "padding_seen", "padding is not hidden", "concept",
       ("(causal | same) & real", "causal | same"))
change(_plain, "rows_and_columns", "rows of padding positions are all False too", "concept",
       ("(causal | same) & real", "(causal | same) & real & real.transpose(1, 2)"))
change(_plain, "pictures_through_the_padding",
       "the pictures are opened after padding is hidden: a picture that the length cuts is seen whole", "concept",
       ("(causal | same) & real", "(causal & real) | same"))
change(_plain, "one_length_for_all", "the length of the first row is used for all rows of the batch", "concept",
       ("(causal | same) & real", "(causal | same) & real[:1]"))
change(_plain, "true_is_forbidden", "True and False are swapped: True marks what is forbidden", "concept",
       ("return mask & ~(text & shown & ~of_last) if last_only else mask",
        "return ~(mask & ~(text & shown & ~of_last)) if last_only else ~mask"))
change(_plain, "upper_triangle",
       "the triangle is the upper one: positions see themselves and what comes after", "concept",
       ("mask = (causal | same) & real", "mask = (causal.T | same) & real"))


@wrong("last_only is ignored and a picture is causal inside: only padding and the triangle are left", kind="concept")
def triangle_and_padding(pictures, lengths, last_only):
    causal, same, text, shown, of_last, real = _parts(pictures, lengths)
    return causal & real


# ---------------------------------------------------------------- wrong: edges


change(_plain, "triangle_shifted", "each position sees the one after it too (triangle shifted by one)", "edge",
       ("causal | same", "torch.ones_like(causal).tril(1) | same"))
change(_plain, "one_position_less", "the last real position is hidden too (< lengths - 1)", "edge",
       ("_parts(pictures, lengths)", "_parts(pictures, lengths - 1)"))


@wrong("pictures without text between them count as one: their vectors see each other in both directions", kind="edge")
def neighbours_are_one_picture(pictures, lengths, last_only):
    causal, same, text, shown, of_last, real = _parts(pictures, lengths)
    stretch = (pictures == 0).long().cumsum(1)
    together = (stretch[:, :, None] == stretch[:, None, :]) & ~text & shown
    mask = (causal | together) & real
    return mask & ~(text & shown & ~of_last) if last_only else mask


# ---------------------------------------------------------------- wrong: shapes, interface, process


def _right(pictures, lengths, last_only):
    causal, same, text, shown, of_last, real = _parts(pictures, lengths)
    mask = (causal | same) & real
    return mask & ~(text & shown & ~of_last) if last_only else mask


@wrong("axes of size 1 are squeezed away: fails with B = 1 or N = 1", kind="shape")
def squeezed(pictures, lengths, last_only):
    return _right(pictures, lengths, last_only).squeeze()


@wrong("the mask is an additive one of 0 and -inf, not True and False", kind="interface")
def additive_mask(pictures, lengths, last_only):
    mask = _right(pictures, lengths, last_only)
    return torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, float("-inf"))


@wrong("the numbers in `pictures` are replaced in place by the last picture's", kind="interface")
def filled_in_place(pictures, lengths, last_only):
    mask = _right(pictures, lengths, last_only)
    for n in range(1, pictures.shape[1]):
        pictures[:, n] = torch.maximum(pictures[:, n], pictures[:, n - 1])
    return mask


_made = {}


@wrong(
    "masks are kept for each shape and last_only: a later call with other pictures gets the old ones", kind="process"
)
def kept_masks(pictures, lengths, last_only):
    key = (tuple(pictures.shape), last_only)
    if key not in _made:
        _made[key] = _right(pictures, lengths, last_only)
    return _made[key]
