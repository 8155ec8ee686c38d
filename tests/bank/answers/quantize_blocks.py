"""Test answers for quantize_blocks (assignment 15): right ones in unusual styles, wrong ones with what is wrong."""

import math

import torch
import torch.nn.functional as F

from answers import before, change, left_open, right, wrong


def _blocks(W, block):
    """One block in each row, zeros at the end."""
    flat = W.reshape(-1)
    return F.pad(flat, (0, -len(flat) % block)).reshape(-1, block)


def _divisor(absmax):
    return torch.where(absmax == 0, torch.ones_like(absmax), absmax).unsqueeze(1)


def _nearest(scaled, code):
    return (scaled.unsqueeze(-1) - code).abs().argmin(-1)


def _pack(codes):
    pairs = codes.reshape(-1, 2)
    return (16 * pairs[:, 0] + pairs[:, 1]).to(torch.uint8)


# ---------------------------------------------------------------- right


@right("searchsorted in the midpoints of the code book")
def by_midpoints(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    middles = ((code[1:] + code[:-1]) / 2).contiguous()
    codes = torch.searchsorted(middles, (rows / _divisor(absmax)).contiguous())
    return _pack(codes), absmax


@right("counts how many midpoints lie below a number, sixteen comparisons in a loop")
def counted_midpoints(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().max(dim=1).values
    scaled = rows / _divisor(absmax)
    codes = torch.zeros_like(rows, dtype=torch.uint8)
    for low, high in zip(code[:-1], code[1:]):
        codes += scaled > low / 2 + high / 2
    return (codes[:, ::2] << 4 | codes[:, 1::2]).flatten(), absmax


@right("one number of the code book after the other, the best one so far is kept")
def best_so_far(W, code, block):
    rows = _blocks(W, block)
    absmax = torch.linalg.vector_norm(rows, math.inf, dim=1)
    scaled = rows / _divisor(absmax)
    codes, best = torch.zeros_like(rows, dtype=torch.int64), torch.full_like(rows, math.inf)
    for c in range(16):
        distance = (scaled - code[c]).abs()
        codes[distance < best] = c
        best = torch.minimum(best, distance)
    return _pack(codes), absmax


@right("plain Python over lists, block by block")
def with_lists(W, code, block):
    numbers, book = [w for row in W.tolist() for w in row], code.tolist()
    packed, absmax = [], []
    for start in range(0, len(numbers), block):
        part = numbers[start : start + block]
        part += [0.0] * (block - len(part))
        scale = max(map(abs, part))
        absmax.append(scale)
        codes = [min(range(16), key=lambda c: abs(book[c] - (w / scale if scale else 0.0))) for w in part]
        packed += [16 * high + low for high, low in zip(codes[::2], codes[1::2])]
    return (
        torch.tensor(packed, dtype=torch.uint8, device=W.device),
        torch.tensor(absmax, dtype=W.dtype, device=W.device),
    )


@right("numpy on the CPU and back to the device")
def with_numpy(W, code, block):
    import numpy as np

    numbers, book = W.detach().cpu().numpy().ravel(), code.detach().cpu().numpy()
    rows = np.zeros((-(-numbers.size // block), block), dtype=numbers.dtype)
    rows.flat[: numbers.size] = numbers
    absmax = np.abs(rows).max(axis=1)
    scaled = np.divide(rows, absmax[:, None], out=np.zeros_like(rows), where=absmax[:, None] > 0)
    codes = np.abs(scaled[..., None] - book).argmin(-1).ravel()
    packed = (codes[::2] * 16 + codes[1::2]).astype(np.uint8)
    return torch.from_numpy(packed).to(W.device), torch.from_numpy(absmax).to(W.device)


@right("split into blocks, each of them coded by itself, with a special case for blocks of zeros")
def block_by_block(W, code, block):
    zero = (code == 0).nonzero()[0, 0]
    packed, scales = [], []
    for part in W.flatten().split(block):
        scale = part.abs().max()
        codes = zero.repeat(block)
        if scale > 0:
            codes[: len(part)] = _nearest(part / scale, code)
        packed.append(codes[0::2] * 16 + codes[1::2])
        scales.append(scale)
    return torch.cat(packed).to(torch.uint8), torch.stack(scales)


@right("the code book is multiplied by the scales instead; blocks of zeros get their code by torch.where")
def book_times_scale(W, code, block):
    rows = _blocks(W, block)
    absmax = torch.maximum(rows.amax(1), -rows.amin(1))
    # halves, so that no difference overflows
    books = code / 2 * absmax.unsqueeze(1)
    codes = (rows.unsqueeze(-1) / 2 - books.unsqueeze(1)).abs().min(-1).indices
    codes = torch.where(absmax.unsqueeze(1) > 0, codes, code.abs().argmin())
    return _pack(codes), absmax


@right("scales by scatter_reduce over the block numbers, no table of blocks")
def scattered(W, code, block):
    flat = W.reshape(-1)
    blocks = math.ceil(len(flat) / block)
    number = torch.arange(len(flat), device=W.device) // block
    absmax = torch.zeros(blocks, dtype=W.dtype, device=W.device).scatter_reduce(0, number, flat.abs(), "amax")
    scaled = torch.zeros(blocks * block, dtype=W.dtype, device=W.device)
    scaled[: len(flat)] = (flat / absmax[number]).nan_to_num(nan=0.0)
    high, low = _nearest(scaled, code).unflatten(0, (-1, 2)).unbind(1)
    return (high * 16 + low).byte(), absmax


@right("bytes as a product with the column (16, 1), in floating point")
def bytes_by_product(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().sort(dim=1, descending=True).values[:, 0]
    codes = _nearest(rows / _divisor(absmax), code).to(W.dtype).reshape(-1, 2)
    return (codes @ torch.tensor([16, 1], dtype=W.dtype, device=W.device)).round().to(torch.uint8), absmax


@right("halves the weights by recursion at a block border")
def recursive(W, code, block):
    def halves(numbers):
        blocks = len(numbers) // block
        if blocks > 1:
            cut = blocks // 2 * block
            (left, a), (right_, b) = halves(numbers[:cut]), halves(numbers[cut:])
            return torch.cat((left, right_)), torch.cat((a, b))
        absmax = numbers.abs().amax(0, keepdim=True)
        return _pack(_nearest(numbers / _divisor(absmax)[0], code)), absmax

    return halves(_blocks(W, block).flatten())


@right("columns are blocks: the table is kept transposed")
def columns_are_blocks(W, code, block):
    flat = torch.zeros(block * -(W.numel() // -block), dtype=W.dtype, device=W.device)
    flat[: W.numel()] = W.flatten()
    table = flat.view(-1, block).T.contiguous()
    absmax = table.abs().amax(0)
    scaled = table / absmax.masked_fill(absmax == 0, 1)
    codes = (code.view(16, 1, 1) - scaled).square().argmin(0).to(torch.uint8)
    return (codes[0::2] * 16 + codes[1::2]).T.flatten(), absmax


@right("searches by halves: four comparisons give the four bits of each code")
def bit_by_bit(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(dim=-1)
    scaled = rows.div(_divisor(absmax))
    middles = code[:-1].lerp(code[1:], 0.5)
    codes = torch.zeros(rows.shape, dtype=torch.int64, device=W.device)
    for bit in (8, 4, 2, 1):
        codes = codes + bit * (scaled > middles[codes + bit - 1])
    return codes.view(-1, 2).mul(torch.tensor([16, 1], device=W.device)).sum(1).to(torch.uint8), absmax


# Right, and not registered: answers below are changes of it.
def _plain(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    return _pack(_nearest(rows / _divisor(absmax), code)), absmax


# ---------------------------------------------------------------- wrong: scales


change(_plain, "largest_with_sign", "the scale is the largest number of a block, without its magnitude", "concept",
       (".abs().amax(1)", ".amax(1)"))
change(_plain, "signed_scale", "the scale is the number of largest magnitude with its sign", "concept",
       (".abs().amax(1)", ".gather(1, rows.abs().argmax(1, keepdim=True)).squeeze(1)"))
change(_plain, "one_scale_for_all", "one scale, that of the whole matrix, for all blocks", "concept",
       (".amax(1)", ".max().expand(len(rows)).clone()"))
change(_plain, "mean_magnitude", "the scale is the mean magnitude of a block", "concept",
       (".amax(1)", ".mean(1)"))
change(_plain, "euclidean", "the scale is the Euclidean norm of a block (which overflows, too)", "concept",
       (".abs().amax(1)", ".square().sum(1).sqrt()"))
change(_plain, "maximum_over_blocks", "the maximum is taken over the blocks (axis 0) and not within them", "shape",
       (".amax(1)", ".amax(0)"), before("return", "scaled = rows / torch.where(absmax == 0, 1, absmax)"),
       ("rows / _divisor(absmax)", "scaled"))
change(_plain, "scale_over_seven", "the scales come back as absmax / 7, as for signed integers of four bits", "concept",
       ("_pack(_nearest(rows / _divisor(absmax), code)), absmax",
        "_pack(_nearest(rows / _divisor(absmax), code)), absmax / 7"))
change(_plain, "divisor_at_least_one",
       "the divisor is at least 1, so that blocks of small weights are not spread to -1 … 1", "numerics",
       ("_divisor(absmax)", "absmax.clamp(min=1).unsqueeze(1)"))
change(_plain, "epsilon_in_the_divisor", "0.1 is added to each divisor against division by 0", "numerics",
       ("_divisor(absmax)", "(absmax + 0.1).unsqueeze(1)"))


@wrong("the weights are compared with the code book without the division by absmax", kind="concept")
def not_divided(W, code, block):
    rows = _blocks(W, block)
    return _pack(_nearest(rows, code)), rows.abs().amax(1)


# ---------------------------------------------------------------- wrong: blocks


change(_plain, "rows_apart", "blocks begin afresh in each row of W: each row is filled up by itself", "concept",
       ("_blocks(W, block)", "F.pad(W, (0, -W.shape[1] % block)).reshape(-1, block)"))
change(_plain, "by_columns", "W is read column by column", "concept",
       ("W, block", "W.T, block"))
change(_plain, "combs", "number n belongs to block n % blocks: blocks are combs and not runs", "concept",
       ("_blocks(W, block)", "_blocks(W, block).reshape(block, -1).T"))
change(_plain, "zeros_in_front", "the zeros are put in front of the numbers, not behind", "concept",
       ("rows = _blocks(W, block)", """
        flat = W.reshape(-1)
        rows = F.pad(flat, (-len(flat) % block, 0)).reshape(-1, block)"""))
change(_plain, "one_block_too_many",
       "a whole block of zeros is added where the numbers fill whole blocks already", "edge",
       ("rows = _blocks(W, block)", """
        flat = W.reshape(-1)
        rows = F.pad(flat, (0, block - len(flat) % block)).reshape(-1, block)"""))


@wrong("numbers that fill no whole block are dropped", kind="edge")
def rest_dropped(W, code, block):
    rows = W.reshape(-1).unfold(0, block, block) if W.numel() >= block else W.new_zeros(0, block)
    if len(rows) == 0:
        return torch.zeros(0, dtype=torch.uint8, device=W.device), rows.sum(1)
    absmax = rows.abs().amax(1)
    return _pack(_nearest(rows / _divisor(absmax), code)), absmax


change(_plain, "never_filled_up",
       "no zeros are filled in: reshape fails where the numbers fill no whole blocks", "edge",
       ("_blocks(W, block)", "W.reshape(-1, block)"))
change(_plain, "only_to_even",
       "the list is filled up to an even number only: packed lacks the bytes of the last block's padding", "edge",
       ("_pack(_nearest(rows / _divisor(absmax), code))",
        "_pack(_nearest(rows / _divisor(absmax), code))[: (W.numel() + 1) // 2]"))
change(_plain, "smaller_block", "a block is made smaller where W has fewer numbers than a block", "edge",
       ("W, block", "W, min(block, W.numel() + W.numel() % 2)"))
change(_plain, "last_number_repeated", "the last block is filled up with its last number and not with zeros", "edge",
       ("rows = _blocks(W, block)", """
        flat = W.reshape(-1)
        rows = torch.cat((flat, flat[-1:].expand(-len(flat) % block))).reshape(-1, block)"""))
change(_plain, "always_64", "blocks have 64 numbers whatever block is", "concept",
       ("code, block", "code, block=64"), ("W, block", "W, 64"))


# ---------------------------------------------------------------- wrong: zeros


@wrong("the padding gets code 0 (the most negative number), not the code that stands for 0", kind="edge")
def padding_is_code_zero(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    codes = _nearest(rows / _divisor(absmax), code).flatten()
    codes[W.numel() :] = 0
    return _pack(codes), absmax


change(_plain, "zero_over_zero", "0/0 in a block of zeros: its NaN get code 0", "edge",
       ("_divisor(absmax)", "absmax.unsqueeze(1)"))
change(_plain, "divisor_returned",
       "the absmax of a block of zeros comes back as 1, the divisor that replaces it", "edge",
       before("return", "absmax = torch.where(absmax == 0, 1, absmax)"), ("_divisor(absmax)", "absmax.unsqueeze(1)"))


@wrong(
    "numbers of a block of zeros get code 8 as in the example; in other code books another code stands for 0",
    kind="edge",
)
def zero_is_eight(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    codes = _nearest(rows / _divisor(absmax), code)
    codes[absmax == 0] = 8
    return _pack(codes), absmax


change(_plain, "one_zero_block_spoils_all",
       "if any block is all zeros, none of the blocks is divided by its absmax", "edge",
       before("return", "divisor = absmax if absmax.all() else torch.ones_like(absmax)"),
       ("_divisor(absmax)", "divisor.unsqueeze(1)"))


# ---------------------------------------------------------------- wrong: codes


change(_plain, "distance_with_sign",
       "distances without magnitude: the smallest is always that of the first code", "concept",
       ("_nearest(rows / _divisor(absmax), code)", "(code - (rows / _divisor(absmax)).unsqueeze(-1)).argmin(-1)"))


@wrong("the largest number of the code book that is not above the weight, not the nearest one", kind="concept")
def rounded_down(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    scaled = (rows / _divisor(absmax)).unsqueeze(-1)
    return _pack(((code <= scaled).sum(-1) - 1).clamp(min=0)), absmax


@wrong("the smallest number of the code book that is not below the weight, by searchsorted alone", kind="concept")
def rounded_up(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    codes = torch.searchsorted(code.contiguous(), (rows / _divisor(absmax)).contiguous()).clamp(max=15)
    return _pack(codes), absmax


change(_plain, "even_steps", "16 even steps from -1 to 1, whatever the code book is", "concept",
       ("_nearest(rows / _divisor(absmax), code)", "((rows / _divisor(absmax) + 1) * 7.5).round().to(torch.int64)"))
change(_plain, "signs_lost", "the magnitudes are coded, so that signs are lost", "concept",
       ("_blocks(W, block)", "_blocks(W, block).abs()"), (".abs().amax(1)", ".amax(1)"))


@wrong(
    "the code book is taken for symmetric: a negative weight gets 15 minus the code of its magnitude", kind="concept"
)
def mirrored(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    scaled = rows / _divisor(absmax)
    codes = _nearest(scaled.abs(), code)
    return _pack(torch.where(scaled < 0, 15 - codes, codes)), absmax


change(_plain, "last_code_forgotten",
       "the code 15 is never given: the search runs over 15 numbers of the code book", "edge",
       ("rows / _divisor(absmax), code", "rows / _divisor(absmax), code[:15]"))


@wrong("what rounding takes from a number is added to the next one of its block", kind="concept")
def error_carried_over(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    scaled, carried, codes = rows / _divisor(absmax), 0, []
    for column in scaled.unbind(1):
        codes.append(_nearest(column + carried, code))
        carried = column + carried - code[codes[-1]]
    return _pack(torch.stack(codes, 1)), absmax


change(_plain, "small_weights_cut_off", "weights below a tenth of absmax are taken for 0", "numerics",
       before("return", "scaled = F.hardshrink(rows / _divisor(absmax), 0.1)"), ("rows / _divisor(absmax)", "scaled"))


# ---------------------------------------------------------------- wrong: bytes


change(_plain, "low_half_first", "the first code of a pair is in the low half", "concept",
       ("_nearest(rows / _divisor(absmax), code)", "_nearest(rows / _divisor(absmax), code).reshape(-1, 2).flip(1)"))


@wrong(
    "the first half of all codes is in the high halves and the second in the low ones, not neighbours", kind="concept"
)
def halves_of_the_list(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    high, low = _nearest(rows / _divisor(absmax), code).flatten().chunk(2)
    return (16 * high + low).to(torch.uint8), absmax


change(_plain, "twos_complement", "codes are stored as signed numbers from -8 to 7 in two's complement", "concept",
       ("_nearest(rows / _divisor(absmax), code)", "(_nearest(rows / _divisor(absmax), code) - 8) % 16"))
change(_plain, "not_packed", "one code in each byte: nothing is packed", "shape",
       ("_pack(_nearest(rows / _divisor(absmax), code))",
        "_nearest(rows / _divisor(absmax), code).flatten().to(torch.uint8)"))
change(_plain, "bytes_in_rows", "packed has the shape [blocks, block / 2]", "shape",
       ("_pack(_nearest(rows / _divisor(absmax), code))",
        "_pack(_nearest(rows / _divisor(absmax), code)).reshape(len(rows), -1)"))
change(_plain, "absmax_as_column", "absmax has the shape [blocks, 1]", "shape",
       (".amax(1)", ".amax(1, keepdim=True)"), ("_divisor(absmax)", "torch.where(absmax == 0, 1, absmax)"))
change(_plain, "squeezed", "squeeze() on the scales: with a single block absmax has the shape [] and not [1]", "shape",
       ("_pack(_nearest(rows / _divisor(absmax), code)), absmax",
        "_pack(_nearest(rows / _divisor(absmax), code)), absmax.squeeze()"))


@wrong("packed is int64 and not uint8", kind="interface")
def type_forgotten(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    codes = _nearest(rows / _divisor(absmax), code).reshape(-1, 2)
    return 16 * codes[:, 0] + codes[:, 1], absmax


# ---------------------------------------------------------------- wrong: types, layouts, state, interface


@right("computed in float32: absmax of float64 comes back with fewer digits, and large weights are infinite")
def there_and_back_to_float32(W, code, block):
    rows = _blocks(W.float(), block)
    absmax = rows.abs().amax(1)
    return _pack(_nearest(rows / _divisor(absmax), code.float())), absmax.to(W.dtype)


@wrong("absmax goes into a table of float32, also for float64 weights", kind="interface")
def absmax_in_float32(W, code, block):
    rows = _blocks(W, block)
    absmax = torch.empty(len(rows), device=W.device)
    absmax[:] = rows.abs().amax(1)
    scaled = rows / _divisor(rows.abs().amax(1))
    return _pack(_nearest(scaled, code)), absmax


change(_plain, "by_view", "W.view(-1) fails for transposed or sliced weights", "layout",
       ("rows = _blocks(W, block)", """
        flat = W.view(-1)
        rows = F.pad(flat, (0, -len(flat) % block)).view(-1, block)"""))
change(_plain, "memory_order",
       "numbers are read in the order of memory, which is another one where W is transposed", "layout",
       before("rows =", "flat = W.T.reshape(-1) if W.stride(0) < W.stride(1) else W.reshape(-1)"),
       ("W, block", "flat, block"))


@wrong(
    "the division is in place: where no zeros are needed, the rows are a view of W, and W is changed", kind="interface"
)
def divided_in_place(W, code, block):
    flat = W.detach().reshape(-1)
    missing = -len(flat) % block
    if missing:
        flat = F.pad(flat, (0, missing))
    rows = flat.reshape(-1, block)
    absmax = rows.abs().amax(1)
    rows /= _divisor(absmax)
    return _pack(_nearest(rows, code)), absmax


@wrong("the zeros are made on the CPU, which fails for weights on another device", kind="interface")
def zeros_on_the_cpu(W, code, block):
    flat = W.reshape(-1)
    zeros = torch.zeros(-len(flat) % block, dtype=W.dtype)
    rows = torch.cat((flat, zeros)).reshape(-1, block)
    absmax = rows.abs().amax(1)
    return _pack(_nearest(rows / _divisor(absmax), code)), absmax


change(_plain, "block_numbers_in_bytes",
       "the block numbers are bytes: from the 257th block on the scales of the first ones are used again", "numerics",
       before("return", "number = torch.arange(len(rows), device=W.device).to(torch.uint8).long()"),
       ("_divisor(absmax)", "_divisor(absmax)[number]"))


@wrong(
    "recursion with one call for each pair of weights: RecursionError for matrices of some thousand weights",
    kind="edge",
)
def pair_by_pair(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    codes = _nearest(rows / _divisor(absmax), code).flatten().tolist()

    def pairs(n):
        return [] if n >= len(codes) else [16 * codes[n] + codes[n + 1], *pairs(n + 2)]

    return torch.tensor(pairs(0), dtype=torch.uint8, device=W.device), absmax


@wrong("absmax comes before packed in the result", kind="interface")
def results_swapped(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    return absmax, _pack(_nearest(rows / _divisor(absmax), code))


_books = []


change(_plain, "book_of_the_first_call",
       "the code book of the first call is kept and used in all later calls", "interface",
       before("rows =", "_books.append(code.clone())"),
       ("rows / _divisor(absmax), code", "rows / _divisor(absmax), _books[0].to(W)"))


@right("the third argument is called block_size, so that block by name fails")
def other_name(W, code, block_size):
    rows = _blocks(W, block_size)
    absmax = rows.abs().amax(1)
    return _pack(_nearest(rows / _divisor(absmax), code)), absmax


@wrong("the results are printed, and nothing comes back", kind="interface")
def printed(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    print(_pack(_nearest(rows / _divisor(absmax), code)), absmax)


# ---------------------------------------------------------------- left open


change(_plain, "divisor_at_least_tiny",
       "the divisor is at least 10^-8: blocks of tinier weights are not spread to -1 … 1", "numerics",
       ("_divisor(absmax)", "absmax.clamp(min=1e-8).unsqueeze(1)"), verdict="open")


@left_open("packed and absmax come back in a list and not in a tuple", kind="interface")
def in_a_list(W, code, block):
    rows = _blocks(W, block)
    absmax = rows.abs().amax(1)
    return [_pack(_nearest(rows / _divisor(absmax), code)), absmax]


def _in_blocks(W, block):
    return F.pad(W.reshape(-1), (0, -W.numel() % block)).reshape(-1, block)


def _in_bytes(codes):
    codes = codes.reshape(-1, 2)
    return (16 * codes[:, 0] + codes[:, 1]).to(torch.uint8)


@wrong("the absmax of a block of zeros is 1e-12, not 0", kind="edge")
def scale_never_zero(W, code, block):
    w = _in_blocks(W, block)
    absmax = w.abs().amax(1).clamp(min=1e-12)
    return _in_bytes(((w / absmax[:, None])[..., None] - code).abs().argmin(-1)), absmax


@wrong("divides by 1e-6 at least, so that small weights are all taken for 0", kind="numerics")
def divisor_clamped(W, code, block):
    w = _in_blocks(W, block)
    absmax = w.abs().amax(1)
    return _in_bytes(((w / absmax[:, None].clamp(min=1e-6))[..., None] - code).abs().argmin(-1)), absmax


@wrong("squares distances of weights that are not divided: those of large weights overflow, of small ones vanish", kind="numerics")
def squares_of_undivided_distances(W, code, block):
    w = _in_blocks(W, block)
    absmax = w.abs().amax(1)
    c = ((w[..., None] - code * absmax[:, None, None]) ** 2).argmin(-1)
    return _in_bytes(torch.where(absmax[:, None] == 0, (code == 0).int().argmax(), c)), absmax
