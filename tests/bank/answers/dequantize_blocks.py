"""Test answers for dequantize_blocks (assignment 15): right ones in unusual styles, wrong ones with what is wrong."""

import math

import torch
import torch.nn.functional as F

from answers import before, change, right, wrong


def _codes(packed):
    """All codes in order, as int64."""
    return torch.stack((packed.long() // 16, packed.long() % 16), dim=1).flatten()


def _numbers(packed, absmax, code):
    """All numbers with their scales, padding included."""
    rows = code[_codes(packed)].reshape(len(absmax), -1)
    return (rows * absmax.unsqueeze(1)).flatten()


# ---------------------------------------------------------------- right


@right("shifts and masks on the bytes themselves, F.embedding for the code book, repeat_interleave for the scales")
def by_embedding(packed, absmax, code, D_out, D_in):
    codes = torch.stack((packed >> 4, packed & 15), dim=-1).flatten().int()
    numbers = F.embedding(codes, code.unsqueeze(1)).squeeze(1)
    block = 2 * packed.shape[0] // absmax.shape[0]
    return (numbers * absmax.repeat_interleave(block))[: D_out * D_in].unflatten(0, (D_out, D_in))


@right("a table of all 256 bytes with their two numbers")
def table_of_bytes(packed, absmax, code, D_out, D_in):
    table = torch.cartesian_prod(code, code)
    rows = table[packed.to(torch.int64)].reshape(absmax.numel(), -1)
    return torch.mul(absmax[:, None], rows).reshape(-1)[: D_out * D_in].view(D_out, D_in)


@right("signed bytes: their high halves are negative indices of the code book, counted from its end")
def negative_indices(packed, absmax, code, D_out, D_in):
    signed = packed.view(torch.int8)
    numbers = torch.empty(2 * len(packed), dtype=code.dtype, device=code.device)
    numbers[0::2] = code[(signed >> 4).long()]
    numbers[1::2] = code[(signed & 15).long()]
    scaled = torch.einsum("sb,s->sb", numbers.view(len(absmax), -1), absmax)
    return scaled.flatten()[: D_out * D_in].reshape(D_out, D_in)


@right("weight by weight in a loop over rows and columns")
def weight_by_weight(packed, absmax, code, D_out, D_in):
    block = packed.size(0) * 2 // absmax.size(0)
    codes = [half for byte in packed.tolist() for half in divmod(byte, 16)]
    W = torch.empty(D_out, D_in, dtype=code.dtype, device=code.device)
    for i in range(D_out):
        places = range(i * D_in, i * D_in + D_in)
        known = torch.tensor([codes[n] for n in places], device=code.device)
        scales = torch.tensor([n // block for n in places], device=code.device)
        W[i] = code[known] * absmax[scales]
    return W


@right("indices of W's own numbers: bytes, halves and blocks are looked up for each of them")
def by_place(packed, absmax, code, D_out, D_in):
    n = torch.arange(D_out * D_in, device=packed.device).view(D_out, D_in)
    byte = packed[n // 2].long()
    codes = torch.where(n % 2 == 0, byte // 16, byte % 16)
    return code[codes] * absmax[n // (2 * len(packed) // len(absmax))]


@right("numpy on the CPU for the codes alone")
def codes_by_numpy(packed, absmax, code, D_out, D_in):
    import numpy as np

    halves = np.stack(np.divmod(packed.cpu().numpy(), 16), axis=1).astype(np.int64)
    rows = code[torch.from_numpy(halves.reshape(len(absmax), -1)).to(code.device)]
    return (rows * absmax.reshape(-1, 1)).ravel()[: D_out * D_in].reshape(D_out, D_in)


@right("a code book for each block, of which gather takes the numbers")
def books_of_blocks(packed, absmax, code, D_out, D_in):
    books = torch.outer(absmax, code)
    codes = torch.empty(2 * len(packed), dtype=torch.int64, device=packed.device)
    codes[1::2] = packed % 16
    codes[::2] = packed.div(16, rounding_mode="floor")
    return books.gather(1, codes.view(len(absmax), -1)).reshape(-1).narrow(0, 0, D_out * D_in).view(D_out, D_in)


@right("sixteen masks, one for each code, and the sum of what they choose")
def by_masks(packed, absmax, code, D_out, D_in):
    codes = torch.cat((packed[:, None] // 16, packed[:, None] % 16), dim=1).reshape(len(absmax), -1)
    rows = torch.zeros(codes.shape, dtype=code.dtype, device=code.device)
    for c in range(16):
        rows = rows.masked_fill(codes == c, code[c])
    rows = rows * absmax.view(-1, 1)
    return rows.flatten()[: D_out * D_in].view(D_out, D_in)


@right("split by blocks, each multiplied by its scale and put together again")
def split_by_blocks(packed, absmax, code, D_out, D_in):
    parts = packed.split(len(packed) // len(absmax)) if len(packed) >= len(absmax) else packed
    numbers = []
    for part, scale in zip(parts, absmax):
        numbers.append(code.index_select(0, _codes(part)) * scale)
    return torch.cat(numbers)[: D_out * D_in].reshape(D_out, D_in)


@right("four bits of each half, put together by powers of two")
def bits(packed, absmax, code, D_out, D_in):
    powers = torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], device=packed.device)
    bit = (packed.long().unsqueeze(1) & powers) > 0
    codes = (bit.view(-1, 2, 4) * powers[4:]).sum(-1).flatten()
    block = 2 * len(packed) // len(absmax)
    scales = absmax.unsqueeze(1).expand(-1, block).flatten()
    return torch.take(code, codes).mul(scales)[: D_out * D_in].view(D_out, D_in)


@right("the result is a transposed table in memory")
def transposed_in_memory(packed, absmax, code, D_out, D_in):
    numbers = _numbers(packed, absmax, code)[: D_out * D_in]
    return numbers.reshape(D_out, D_in).T.contiguous().T


@right("halved by recursion until one block is left")
def recursive(packed, absmax, code, D_out, D_in):
    def numbers(part, scales):
        if len(scales) == 1:
            return code[_codes(part)] * scales
        left = len(scales) // 2
        cut = len(part) // len(scales) * left
        return torch.cat((numbers(part[:cut], scales[:left]), numbers(part[cut:], scales[left:])))

    return numbers(packed, absmax)[: D_out * D_in].view(D_out, D_in)


@right("whole blocks of padding, if there were any, are left out first, then the rest of the padding")
def padding_first_left_out(packed, absmax, code, D_out, D_in):
    block = 2 * len(packed) // len(absmax)
    blocks = -(-D_out * D_in // block)
    return _numbers(packed[: blocks * block // 2], absmax[:blocks], code)[: D_out * D_in].view(D_out, D_in)


# Right, and not registered: answers below are changes of it.
def _plain(packed, absmax, code, D_out, D_in):
    rows = code[_codes(packed)].reshape(len(absmax), -1)
    return (rows * absmax.unsqueeze(1)).flatten()[: D_out * D_in].view(D_out, D_in)


# ---------------------------------------------------------------- wrong: bytes and codes


change(_plain, "low_half_first", "the low half of a byte comes before the high one", "concept",
       ("code[_codes(packed)].reshape(len(absmax), -1)",
        "code[_codes(packed).view(-1, 2).flip(1).reshape(len(absmax), -1)]"))
change(_plain, "one_behind_the_other",
       "all high halves come first and all low ones behind them, they do not take turns", "concept",
       before("rows =", "codes = torch.cat((packed // 16, packed % 16)).long()"), ("_codes(packed)", "codes"))
change(_plain, "by_fifteen", "bytes are taken apart by 15, not by 16", "concept",
       before("rows =", "codes = torch.stack((packed.long() // 15 % 16, packed.long() % 15), dim=1)"),
       ("_codes(packed)", "codes"))
change(_plain, "rounded", "packed / 16 is rounded to the nearest code, not down", "concept",
       before("rows =", "high = (packed.double() / 16).round().clamp(max=15).long()"),
       ("_codes(packed)", "torch.stack((high, packed.long() % 16), dim=1)"))
change(_plain, "bytes_as_indices",
       "codes of uint8 in square brackets: torch takes them for a mask and fails", "interface",
       before("rows =", "codes = torch.stack((packed >> 4, packed & 15), dim=1).flatten()"),
       ("_codes(packed)", "codes"))
change(_plain, "not_shifted",
       "the high half is masked (& 240) and not shifted: its indices lie beyond the code book", "concept",
       before("rows =", "codes = torch.stack((packed & 240, packed & 15), dim=1).flatten().long()"),
       ("_codes(packed)", "codes"))
change(_plain, "high_half_twice",
       "one code in each byte is looked up, the high one, and stands for both numbers", "concept",
       ("_codes(packed)", "(packed // 16).long().repeat_interleave(2)"))
change(_plain, "twos_complement",
       "the codes are taken for signed numbers of two's complement: code 0 is looked up for code 8", "concept",
       ("_codes(packed)", "(_codes(packed) + 8) % 16"))


# ---------------------------------------------------------------- wrong: the code book


change(_plain, "book_of_the_example",
       "codes stand for (c - 8) / 8 as in the example; the argument code is not used", "concept",
       ("code[_codes(packed)]", "((_codes(packed) - 8) / 8).to(code.dtype)"))
change(_plain, "even_steps",
       "codes stand for 16 even steps from the first to the last number of the code book", "concept",
       ("code[_codes(packed)]", "torch.lerp(code[0], code[15], _codes(packed).to(code.dtype) / 15)"))


@wrong("the code book is divided by its largest number, so that its last code stands for absmax", kind="concept")
def book_up_to_one(packed, absmax, code, D_out, D_in):
    return _numbers(packed, absmax, code / code[-1])[: D_out * D_in].view(D_out, D_in)


@wrong("code 15 gives back absmax itself, as if the largest weight were kept exactly", kind="concept")
def largest_is_exact(packed, absmax, code, D_out, D_in):
    book = torch.cat((code[:15], torch.ones_like(code[:1])))
    return _numbers(packed, absmax, book)[: D_out * D_in].view(D_out, D_in)


# Right, and not registered: answers below are changes of it.
def _by_numbers(packed, absmax, code, D_out, D_in):
    return _numbers(packed, absmax, code)[: D_out * D_in].view(D_out, D_in)


change(_by_numbers, "sorted_by_magnitude", "the code book is sorted by magnitude before it is looked up", "concept",
       ("_numbers(packed, absmax, code)", "_numbers(packed, absmax, code[code.abs().argsort(stable=True)])"))
change(_by_numbers, "two_decimals", "the numbers of the code book are rounded to two decimals", "numerics",
       ("_numbers(packed, absmax, code)", "_numbers(packed, absmax, code.float().round(decimals=2).to(code.dtype))"))


# ---------------------------------------------------------------- wrong: scales


change(_by_numbers, "without_scales", "the scales are forgotten: numbers of the code book come back", "concept",
       ("_numbers(packed, absmax, code)", "code[_codes(packed)]"))
change(_plain, "divided", "the numbers are divided by their scales, as on the way there", "concept",
       ("rows * absmax", "rows / absmax"))


@wrong("scales take turns (repeat for repeat_interleave): number n gets the scale of block n % blocks", kind="concept")
def scales_take_turns(packed, absmax, code, D_out, D_in):
    numbers = code[_codes(packed)]
    return (numbers * absmax.repeat(len(numbers) // len(absmax)))[: D_out * D_in].view(D_out, D_in)


@wrong("the scale of a row of W and not of a block: block is taken for D_in", kind="concept")
def scales_of_rows(packed, absmax, code, D_out, D_in):
    W = code[_codes(packed)][: D_out * D_in].view(D_out, D_in)
    rows = torch.arange(D_out, device=W.device).clamp(max=len(absmax) - 1)
    return W * absmax[rows].unsqueeze(1)


@wrong("block is D_out*D_in / blocks, rounded up: wrong where the last block is filled up", kind="edge")
def block_without_padding(packed, absmax, code, D_out, D_in):
    block = math.ceil(D_out * D_in / len(absmax))
    scales = absmax.repeat_interleave(block)[: D_out * D_in]
    return (code[_codes(packed)][: D_out * D_in] * scales).view(D_out, D_in)


@wrong(
    "block is bytes / blocks: each scale serves for half a block only, and the last one for all that follow",
    kind="concept",
)
def half_blocks(packed, absmax, code, D_out, D_in):
    block = max(len(packed) // len(absmax), 1)
    number = (torch.arange(D_out * D_in, device=packed.device) // block).clamp(max=len(absmax) - 1)
    return (code[_codes(packed)][: D_out * D_in] * absmax[number]).view(D_out, D_in)


@wrong(
    "the block number comes from the byte: byte p gets the scale p // block, so that blocks are twice too long",
    kind="concept",
)
def blocks_of_bytes(packed, absmax, code, D_out, D_in):
    block = 2 * len(packed) // len(absmax)
    scales = absmax[torch.arange(len(packed), device=packed.device) // block]
    pairs = code[_codes(packed)].view(-1, 2) * scales.unsqueeze(1)
    return pairs.flatten()[: D_out * D_in].view(D_out, D_in)


@wrong("blocks have 64 numbers, whatever the shapes say", kind="concept")
def always_64(packed, absmax, code, D_out, D_in):
    number = (torch.arange(D_out * D_in, device=packed.device) // 64).clamp(max=len(absmax) - 1)
    return (code[_codes(packed)][: D_out * D_in] * absmax[number]).view(D_out, D_in)


@wrong("blocks are counted from 1: the first number of each block but the first gets the scale before it", kind="edge")
def off_by_one(packed, absmax, code, D_out, D_in):
    block = 2 * len(packed) // len(absmax)
    number = (torch.arange(D_out * D_in, device=packed.device) - 1).clamp(min=0) // block
    return (code[_codes(packed)][: D_out * D_in] * absmax[number]).view(D_out, D_in)


change(_by_numbers, "zero_scale_is_one", "a scale of 0 is replaced by 1", "edge",
       ("_numbers(packed, absmax, code)", "_numbers(packed, absmax.masked_fill(absmax == 0, 1), code)"))


@wrong("a single block is returned without its scale", kind="edge")
def single_block_unscaled(packed, absmax, code, D_out, D_in):
    numbers = _numbers(packed, absmax, code) if len(absmax) > 1 else code[_codes(packed)]
    return numbers[: D_out * D_in].view(D_out, D_in)


change(_by_numbers, "first_scale_for_all", "all numbers get the scale of the first block", "concept",
       ("_numbers(packed, absmax, code)", "(code[_codes(packed)] * absmax[0])"))


# ---------------------------------------------------------------- wrong: the way back to a matrix


change(_by_numbers, "by_columns", "the numbers are put into W column by column", "concept",
       (".view(D_out, D_in)", ".view(D_in, D_out).T"))
change(_by_numbers, "in_times_out", "the result is [D_in, D_out]", "shape",
       (".view(D_out, D_in)", ".view(D_in, D_out)"))
change(transposed_in_memory, "one_list", "the result is one list and not a matrix", "shape",
       ("numbers = _numbers", "return _numbers"), ("return numbers.reshape(D_out, D_in).T.contiguous().T", ""))
change(_by_numbers, "padding_kept",
       "the padding is not left out: reshape fails where the last block is filled up", "edge",
       ("_numbers(packed, absmax, code)[: D_out * D_in].view", "_numbers(packed, absmax, code).reshape"))
change(_by_numbers, "padding_in_front",
       "the last D_out*D_in numbers are taken, as if the padding stood in front", "edge",
       (": D_out * D_in", "-D_out * D_in :"))


@wrong(
    "zeros at the end are taken for padding, even where they are weights; what is missing then is filled with 1",
    kind="edge",
)
def padding_told_by_zeros(packed, absmax, code, D_out, D_in):
    numbers = _numbers(packed, absmax, code)
    kept = numbers.nonzero().flatten()
    end = int(kept[-1]) + 1 if len(kept) else 0
    numbers = F.pad(numbers[:end], (0, max(D_out * D_in - end, 0)), value=1)
    return numbers[: D_out * D_in].view(D_out, D_in)


@wrong(
    "padding is sought in each row of W: the list is cut into D_out equal parts, and each part to D_in numbers",
    kind="edge",
)
def padding_in_each_row(packed, absmax, code, D_out, D_in):
    numbers = _numbers(packed, absmax, code)
    return numbers[: len(numbers) // D_out * D_out].view(D_out, -1)[:, :D_in]


change(_by_numbers, "squeezed", "squeeze() on the result: with D_out = 1 or D_in = 1 an axis is missing", "shape",
       (".view(D_out, D_in)", ".view(D_out, D_in).squeeze()"))


@wrong("the loop stops before the last byte, whose weights stay 0", kind="edge")
def last_byte_forgotten(packed, absmax, code, D_out, D_in):
    numbers = _numbers(packed, absmax, code)
    kept = torch.arange(len(numbers), device=numbers.device) < 2 * (len(packed) - 1)
    return torch.where(kept, numbers, torch.zeros_like(numbers))[: D_out * D_in].view(D_out, D_in)


# ---------------------------------------------------------------- wrong: numbers and types


change(_by_numbers, "always_float32", "the result is float32 whatever the type of code and absmax is", "interface",
       ("_numbers(packed, absmax, code)", "_numbers(packed, absmax.float(), code.float())"))


@right("computed in float32 and converted back: float64 loses digits, and large numbers become infinite")
def there_and_back_to_float32(packed, absmax, code, D_out, D_in):
    return _numbers(packed, absmax.float(), code.float())[: D_out * D_in].view(D_out, D_in).to(code.dtype)


@wrong("the scales are converted to float16 on the way: large ones become infinite and small ones 0", kind="numerics")
def scales_in_half(packed, absmax, code, D_out, D_in):
    return _numbers(packed, absmax.half().to(absmax.dtype), code)[: D_out * D_in].view(D_out, D_in)


@wrong(
    "bfloat16 only: the numbers n are counted in the type of code, which skips whole numbers above 256", kind="numerics"
)
def counted_in_floats(packed, absmax, code, D_out, D_in):
    block = 2 * len(packed) // len(absmax)
    n = torch.arange(D_out * D_in, device=code.device).to(code.dtype)
    number = torch.div(n, block, rounding_mode="floor").long().clamp(max=len(absmax) - 1)
    return (code[_codes(packed)][: D_out * D_in] * absmax[number]).view(D_out, D_in)


@wrong("the product is made by logarithms: digits are lost", kind="numerics")
def by_logarithms(packed, absmax, code, D_out, D_in):
    number = code[_codes(packed)].reshape(len(absmax), -1)
    product = number.sign() * (number.abs().log() + absmax.unsqueeze(1).log()).exp()
    return product.flatten()[: D_out * D_in].view(D_out, D_in)


@wrong("weights of magnitude below 10^-6 are set to 0", kind="numerics")
def small_ones_cut_off(packed, absmax, code, D_out, D_in):
    W = _numbers(packed, absmax, code)[: D_out * D_in].view(D_out, D_in)
    return torch.where(W.abs() < 1e-6, 0.0, W)


@wrong("the scale is code * sum of all scales * share of the block: the sum of large scales overflows", kind="numerics")
def shares_of_the_sum(packed, absmax, code, D_out, D_in):
    total = absmax.sum()
    shares = torch.where(absmax == 0, 0, absmax / total)
    return (_numbers(packed, shares, code) * total)[: D_out * D_in].view(D_out, D_in)


@wrong("block numbers are bytes: from the 257th block on the scales of the first ones are used again", kind="numerics")
def block_numbers_in_bytes(packed, absmax, code, D_out, D_in):
    number = torch.arange(len(absmax), device=absmax.device).to(torch.uint8).long()
    return _numbers(packed, absmax[number], code)[: D_out * D_in].view(D_out, D_in)


@wrong("recursion with one call for each byte: RecursionError for matrices of some thousand weights", kind="edge")
def byte_by_byte(packed, absmax, code, D_out, D_in):
    values = packed.tolist()

    def codes(p):
        return [] if p == len(values) else [*divmod(values[p], 16), *codes(p + 1)]

    rows = code[torch.tensor(codes(0), device=code.device)].reshape(len(absmax), -1)
    return (rows * absmax.unsqueeze(1)).flatten()[: D_out * D_in].view(D_out, D_in)


# ---------------------------------------------------------------- wrong: inputs, layouts, state, interface


@wrong("packed is shifted in place", kind="interface")
def shifted_in_place(packed, absmax, code, D_out, D_in):
    low = packed & 15
    high = packed.bitwise_right_shift_(4)
    rows = code[torch.stack((high, low), dim=1).long()].reshape(len(absmax), -1)
    return (rows * absmax.unsqueeze(1)).flatten()[: D_out * D_in].view(D_out, D_in)


@wrong("the scales are limited from below in place: zeros in absmax are changed", kind="interface")
def scales_changed(packed, absmax, code, D_out, D_in):
    W = _numbers(packed, absmax, code)[: D_out * D_in].view(D_out, D_in)
    absmax.detach().clamp_(min=1e-8)
    return W


@wrong("the bytes are read in the order of memory: a step between them is left out of account", kind="layout")
def memory_order(packed, absmax, code, D_out, D_in):
    storage = packed.untyped_storage()
    start = packed.storage_offset()
    whole = torch.tensor([], dtype=torch.uint8, device=packed.device).set_(storage)[start : start + len(packed)]
    return _numbers(whole, absmax, code)[: D_out * D_in].view(D_out, D_in)


@wrong("packed.view(torch.int16) pairs bytes: fails where bytes have a step or are an odd number", kind="layout")
def two_bytes_at_once(packed, absmax, code, D_out, D_in):
    words = packed.view(torch.int16).long()
    codes = torch.stack([words >> shift & 15 for shift in (4, 0, 12, 8)], dim=1)
    rows = code[codes].reshape(len(absmax), -1)
    return (rows * absmax.unsqueeze(1)).flatten()[: D_out * D_in].view(D_out, D_in)


@wrong(
    "the places are counted on the CPU: scales are looked up by them and multiplied with a table on the CPU",
    kind="interface",
)
def table_on_the_cpu(packed, absmax, code, D_out, D_in):
    codes = torch.zeros(2 * len(packed), dtype=torch.int64)
    codes[0::2], codes[1::2] = packed >> 4, packed & 15
    rows = (code[codes].reshape(len(absmax), -1) * absmax.unsqueeze(1)).flatten()
    return torch.zeros(D_out * D_in, dtype=code.dtype).add(rows[: D_out * D_in]).view(D_out, D_in)


_scales = {}


@wrong("scales are kept by the shape of W: a second matrix of the same shape gets those of the first", kind="interface")
def scales_remembered(packed, absmax, code, D_out, D_in):
    known = _scales.setdefault((D_out, D_in, len(absmax)), absmax.clone()).to(absmax)
    return _numbers(packed, known, code)[: D_out * D_in].view(D_out, D_in)


@wrong("the arguments code and absmax have changed places, so that a call by position mixes them up", kind="interface")
def other_order(packed, code, absmax, D_out, D_in):
    return _numbers(packed, absmax, code)[: D_out * D_in].view(D_out, D_in)


@right("the sizes are called rows and columns, so that a call by name fails")
def other_names(packed, absmax, code, rows, columns):
    return _numbers(packed, absmax, code)[: rows * columns].view(rows, columns)


change(_by_numbers, "nested_list", "a nested Python list comes back, not a tensor", "interface",
       (".view(D_out, D_in)", ".view(D_out, D_in).tolist()"))


@wrong("the result is printed and not returned", kind="interface")
def printed(packed, absmax, code, D_out, D_in):
    print(_numbers(packed, absmax, code)[: D_out * D_in].view(D_out, D_in))


@wrong("the weights come back beside the block length, as a pair", kind="interface")
def with_the_block(packed, absmax, code, D_out, D_in):
    return _numbers(packed, absmax, code)[: D_out * D_in].view(D_out, D_in), 2 * len(packed) // len(absmax)


# ---------------------------------------------------------------- left open


change(_by_numbers, "detached", "gradients do not reach absmax and code; the text asks for none", "gradient",
       (".view(D_out, D_in)", ".view(D_out, D_in).detach()"), verdict="open")
change(there_and_back_to_float32, "in_float64", "computed in float64, and not in the type of the inputs, and rounded "
       "once at the end: the same numbers", "numerics",
       (".float", ".double", 2), verdict="open")
