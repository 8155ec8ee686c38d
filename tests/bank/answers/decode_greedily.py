"""Answers to decode_greedily (assignment 10)."""

import itertools

import torch
import torch.nn.functional as F
from answers import after, change, right, wrong

PAD, START, STOP = 0, 1, 2


# ---------------------------------------------------------------- right


@right("A for loop with a flag for each row, torch.where and a pad at the end")
def flags_and_where(decoder, memory, mask, max_length):
    B = memory.shape[0]
    K, V = decoder.read(memory)
    y = torch.full((B,), START, dtype=torch.long, device=memory.device)
    done = torch.zeros(B, dtype=torch.bool, device=memory.device)
    cache, out = None, []
    for _ in range(max_length):
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = torch.where(done, torch.full_like(y, PAD), logits.argmax(-1))
        out.append(y)
        done = done | (y == STOP)
        if done.all():
            break
    out = torch.stack(out, dim=1)
    return F.pad(out, (0, max_length - out.shape[1]), value=PAD)


@right("Recursion over the steps; what is left is filled when it comes back")
def recursive(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)

    def rest(y, cache, alive, left):
        if left == 0 or not alive.any():
            return [torch.full_like(y, PAD)] * left
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = logits.argmax(dim=1) * alive
        return [y, *rest(y, cache, alive & (y != STOP), left - 1)]

    alive = torch.ones(len(memory), dtype=torch.bool, device=memory.device)
    return torch.stack(rest(alive.long() * START, None, alive, max_length), dim=1)


@right("Columns of a table; rows that still write are indexed, the decoder gets the whole batch")
def table(decoder, memory, mask, max_length):
    B, device = len(memory), memory.device
    K, V = decoder.read(memory)
    result = torch.zeros(B, max_length, dtype=torch.long, device=device)
    last, open_rows, cache, t = torch.ones(B, dtype=torch.long, device=device), torch.arange(B, device=device), None, 0
    while t < max_length and open_rows.numel():
        logits, cache = decoder.step(last, K, V, mask, cache)
        result[open_rows, t] = logits.argmax(dim=-1)[open_rows]
        last = result[:, t].clone()
        open_rows = open_rows[last[open_rows] != STOP]
        t += 1
    return result


def _columns(decoder, memory, mask):
    K, V = decoder.read(memory)
    y, cache = torch.full(memory.shape[:1], START, device=memory.device), None
    going = y > 0
    while going.any():
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = logits.max(dim=-1).indices.masked_fill(~going, PAD)
        going = going & y.ne(STOP)
        yield y
    while True:
        yield torch.full_like(y, PAD)


@right("A generator that goes on with padding for ever, and islice")
def by_a_generator(decoder, memory, mask, max_length):
    return torch.stack(list(itertools.islice(_columns(decoder, memory, mask), max_length)), dim=-1)


@right("Writes on in all rows, and erases what stands behind the first STOP with a cumulative product")
def erased_at_the_end(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    y = torch.full((len(memory), max_length + 1), PAD, dtype=torch.long, device=memory.device)
    y[:, 0], cache = START, None
    for t in range(max_length):
        logits, cache = decoder.step(y[:, t], K, V, mask, cache)
        y[:, t + 1] = logits.argmax(dim=-1)
        if (y == STOP).any(dim=1).all():
            break
    before = torch.cumprod((y != STOP).long(), dim=1)[:, :-1]
    return y[:, 1:] * before


class _Sentence:
    def __init__(self):
        self.words, self.cache = [START], None

    @property
    def ended(self):
        return self.words[-1] == STOP

    def row(self, length):
        return (self.words[1:] + [PAD] * length)[:length]


@right("An object for each sentence, which is asked alone as a batch of one")
def objects(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    sentences = [_Sentence() for _ in range(len(memory))]
    for _ in range(max_length):
        for b, one in enumerate(sentences):
            if not one.ended:
                y = torch.tensor(one.words[-1:], device=memory.device)
                logits, one.cache = decoder.step(y, K[[b]], V[[b]], mask[[b]], one.cache)
                one.words.append(int(logits.argmax()))
    return torch.tensor([one.row(max_length) for one in sentences], device=memory.device)


@right("Sorting instead of argmax, lengths instead of flags, int32 words")
def sorted_and_counted(decoder, memory, mask, max_length):
    kv = decoder.read(memory)
    B = memory.size(0)
    lengths = torch.full((B,), max_length, device=memory.device)
    words, cache = [torch.full((B,), START, dtype=torch.int32, device=memory.device)], None
    for t in range(max_length):
        logits, cache = decoder.step(words[-1], *kv, mask, cache)
        words.append(logits.sort(dim=-1, descending=True).indices[:, 0].int())
        lengths = torch.where((words[-1] == STOP) & (lengths == max_length), t + 1, lengths)
        if bool((lengths <= t + 1).all()):
            break
    found = F.pad(torch.stack(words[1:], dim=1), (0, max_length - len(words) + 1))
    return found.where(torch.arange(max_length, device=memory.device) < lengths[:, None], torch.zeros_like(found))


@right("Finished rows are dropped from y, K, V, the mask and the cache")
def shrinking(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    out = mask.new_zeros(len(mask), max_length, dtype=torch.int64)
    rows = torch.arange(len(mask), device=mask.device)
    y, cache = torch.full_like(rows, START), None
    for t in range(max_length):
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = logits.argmax(-1)
        out[rows, t] = y
        keep = y != STOP
        if not keep.any():
            break
        rows, y, K, V, mask = (one[keep] for one in (rows, y, K, V, mask))
        cache = tuple(one[keep] for one in cache)
    return out


# ---------------------------------------------------------------- wrong: the cache and what is read


def _loop(
    decoder, memory, mask, max_length, *, first=START, keep=None, choose=None, after=None, ends=torch.all, steps=None
):
    """The columns that a right loop writes; what is handed in changes one thing."""
    K, V = decoder.read(memory)
    y = torch.full((len(memory),), first, dtype=torch.long, device=memory.device)
    done, cache, out = torch.zeros_like(y, dtype=torch.bool), None, []
    for t in range(steps or max_length):
        logits, new = decoder.step(y, K, V, mask, cache)
        cache = keep(cache, new, t) if keep else new
        word = choose(logits) if choose else logits.argmax(-1)
        y = after(done, word) if after else torch.where(done, PAD, word)
        out.append(y)
        done = done | (y == STOP)
        if ends is not None and ends(done):
            break
    return out


def _padded(columns, max_length, value=PAD):
    columns = columns + [torch.full_like(columns[0], value)] * (max_length - len(columns))
    return torch.stack(columns, dim=1)


@wrong("the cache that comes back is thrown away: each step gets None", "concept")
def cache_thrown_away(decoder, memory, mask, max_length):
    return _padded(_loop(decoder, memory, mask, max_length, keep=lambda old, new, t: None), max_length)


@wrong("the cache of the first step is kept and never replaced", "concept")
def first_cache_for_ever(decoder, memory, mask, max_length):
    return _padded(
        _loop(decoder, memory, mask, max_length, keep=lambda old, new, t: new if old is None else old), max_length
    )


@wrong("new keys and values are appended to the old ones, though step gives all of them", "concept")
def appended(decoder, memory, mask, max_length):
    def keep(old, new, t):
        return new if old is None else tuple(torch.cat(pair, dim=1) for pair in zip(old, new))

    return _padded(_loop(decoder, memory, mask, max_length, keep=keep), max_length)


@wrong("only the newest key and value are kept in the cache", "concept")
def last_entry_alone(decoder, memory, mask, max_length):
    return _padded(
        _loop(decoder, memory, mask, max_length, keep=lambda old, new, t: tuple(one[:, -1:] for one in new)),
        max_length,
    )


@wrong("keys and values of the cache change places from step to step", "concept")
def cache_turned_round(decoder, memory, mask, max_length):
    return _padded(_loop(decoder, memory, mask, max_length, keep=lambda old, new, t: (new[1], new[0])), max_length)


@wrong("a list of all caches is handed on instead of the last one", "interface")
def list_of_caches(decoder, memory, mask, max_length):
    caches = []

    def keep(old, new, t):
        caches.append(new)
        return caches

    return _padded(_loop(decoder, memory, mask, max_length, keep=keep), max_length)


@wrong("the source is read in each step", "process")
def read_in_each_step(decoder, memory, mask, max_length):
    y = torch.full((len(memory),), START, device=memory.device)
    done, cache, out = torch.zeros_like(y, dtype=torch.bool), None, []
    for _ in range(max_length):
        K, V = decoder.read(memory)
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = torch.where(done, PAD, logits.argmax(-1))
        out.append(y)
        done = done | (y == STOP)
        if done.all():
            break
    return _padded(out, max_length)


@wrong("the source is read once for each sentence", "process")
def read_for_each_sentence(decoder, memory, mask, max_length):
    rows = [_loop(decoder, memory[b : b + 1], mask[b : b + 1], max_length) for b in range(len(memory))]
    return torch.cat([_padded(row, max_length) for row in rows])


@wrong("no cache is used: all words up to now are fed again, one after the other, for each new word", "process")
def everything_again(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    words = torch.full((len(memory), 1), START, dtype=torch.long, device=memory.device)
    for _ in range(max_length):
        cache = None
        for t in range(words.shape[1]):
            logits, cache = decoder.step(words[:, t], K, V, mask, cache)
        new = logits.argmax(-1).masked_fill((words == STOP).any(1), PAD)
        words = torch.cat([words, new[:, None]], dim=1)
        if (words == STOP).any(1).all():
            break
    return F.pad(words[:, 1:], (0, max_length + 1 - words.shape[1]))


@wrong("the memory is given to step as keys and as values; read is not called", "concept")
def memory_for_keys_and_values(decoder, memory, mask, max_length):
    y = torch.full((len(memory),), START, device=memory.device)
    done, cache, out = torch.zeros_like(y, dtype=torch.bool), None, []
    for _ in range(max_length):
        logits, cache = decoder.step(y, memory, memory, mask, cache)
        y = torch.where(done, PAD, logits.argmax(-1))
        out.append(y)
        done = done | (y == STOP)
        if done.all():
            break
    return _padded(out, max_length)


@wrong("the keys are given for the values too", "concept")
def keys_for_values(decoder, memory, mask, max_length):
    class Other:
        def read(self, memory):
            K, _ = decoder.read(memory)
            return K, K

        step = staticmethod(decoder.step)

    return _padded(_loop(Other(), memory, mask, max_length), max_length)


@wrong("values and keys are unpacked in the wrong order", "concept")
def unpacked_the_wrong_way(decoder, memory, mask, max_length):
    V, K = decoder.read(memory)
    y = memory.new_full((len(memory),), START).long()
    ended, cache = y == STOP, None
    out = torch.zeros(len(memory), max_length, dtype=torch.long, device=memory.device)
    for t in range(max_length):
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = logits.argmax(1) * ~ended
        out[:, t] = y
        ended |= y == STOP
        if ended.all():
            break
    return out


# Right, and not registered: answers below are changes of it.
def _plain(decoder, memory, mask, max_length):
    return _padded(_loop(decoder, memory, mask, max_length), max_length)


# ---------------------------------------------------------------- wrong: the mask


change(_plain, "inverted_mask", "the mask is inverted, as torch's key_padding_mask would have it", "concept",
       ("_loop(decoder, memory, mask, max_length)", "_loop(decoder, memory, ~mask, max_length)"))


@wrong("no mask: ones for all positions of the source", "concept")
def ones_for_a_mask(decoder, memory, mask, max_length):
    everything = torch.ones(memory.shape[:2], dtype=torch.bool, device=memory.device)
    return _padded(_loop(decoder, memory, everything, max_length), max_length)


@wrong("the padding is set to 0 in the memory, and nothing is masked", "concept")
def memory_zeroed(decoder, memory, mask, max_length):
    return _padded(_loop(decoder, memory * mask[..., None], torch.ones_like(mask), max_length), max_length)


@wrong("a causal mask is given in the place of the source's", "concept")
def causal_mask(decoder, memory, mask, max_length):
    N = memory.shape[1]
    triangle = torch.ones(N, N, dtype=torch.bool, device=memory.device).tril()
    return _padded(_loop(decoder, memory, triangle, max_length), max_length)


change(_plain, "mask_of_the_first", "the mask of the first sentence is used for all", "concept",
       ("_loop(decoder, memory, mask, max_length)", "_loop(decoder, memory, mask[:1].expand_as(mask), max_length)"))
change(_plain, "mask_with_an_axis", "the mask has an axis for the queries, [B, 1, N]", "interface",
       ("_loop(decoder, memory, mask, max_length)", "_loop(decoder, memory, mask[:, None], max_length)"))


@wrong("the mask is a float mask of 0 and minus infinity", "interface")
def float_mask(decoder, memory, mask, max_length):
    hidden = torch.zeros_like(memory[..., 0]).masked_fill(~mask, -torch.inf)
    return _padded(_loop(decoder, memory, hidden, max_length), max_length)


# ---------------------------------------------------------------- wrong: what is fed and chosen


change(_plain, "pad_first", "PAD is fed first", "concept",
       ("_loop(decoder, memory, mask, max_length)", "_loop(decoder, memory, mask, max_length, first=PAD)"))
change(_plain, "stop_first", "STOP is fed first, as fairseq does", "concept",
       ("_loop(decoder, memory, mask, max_length)", "_loop(decoder, memory, mask, max_length, first=STOP)"))


@wrong("START is fed at each step", "concept")
def start_each_time(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    start = torch.full((len(memory),), START, device=memory.device)
    done, cache, out = torch.zeros_like(start, dtype=torch.bool), None, []
    while len(out) < max_length and not done.all():
        logits, cache = decoder.step(start, K, V, mask, cache)
        word = logits.argmax(-1).masked_fill(done, PAD)
        out.append(word)
        done |= word == STOP
    return _padded(out, max_length)


@wrong("all words up to now are fed to step, [B, t]", "interface")
def all_words_fed(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    words, cache = torch.full((len(memory), 1), START, device=memory.device), None
    for _ in range(max_length):
        logits, cache = decoder.step(words, K, V, mask, cache)
        words = torch.cat([words, logits.argmax(-1, keepdim=True)], dim=1)
    return words[:, 1:]


@wrong("argmax over the batch", "shape")
def argmax_over_the_batch(decoder, memory, mask, max_length):
    return _padded(_loop(decoder, memory, mask, max_length, choose=lambda logits: logits.argmax(dim=0)), max_length)


@wrong("the words are drawn from the softmax, not the likeliest", "concept")
def sampled(decoder, memory, mask, max_length):
    def choose(logits):
        return torch.multinomial(logits.softmax(-1), 1)[:, 0]

    return _padded(_loop(decoder, memory, mask, max_length, choose=choose), max_length)


@wrong("the second likeliest word is taken", "concept")
def second_likeliest(decoder, memory, mask, max_length):
    return _padded(
        _loop(decoder, memory, mask, max_length, choose=lambda logits: logits.topk(2, dim=-1).indices[:, 1]),
        max_length,
    )


@wrong("the least likely word: argmin", "concept")
def least_likely(decoder, memory, mask, max_length):
    return _padded(_loop(decoder, memory, mask, max_length, choose=lambda logits: logits.argmin(-1)), max_length)


@wrong("the likeliest logit is returned and not its place", "concept")
def logits_for_words(decoder, memory, mask, max_length):
    return _padded(_loop(decoder, memory, mask, max_length, choose=lambda logits: logits.max(-1).values), max_length)


@wrong("no word may be written twice in a translation", "concept")
def never_twice(decoder, memory, mask, max_length):
    used = []

    def choose(logits):
        for word in used:
            logits = logits.scatter(1, word[:, None], -1e9)
        word = logits.argmax(-1)
        used.append(word)
        return word

    return _padded(_loop(decoder, memory, mask, max_length, choose=choose), max_length)


# ---------------------------------------------------------------- wrong: where it ends


@wrong("words behind STOP stay in the result", "concept")
def words_behind_stop(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    y = torch.full((len(memory),), START, device=memory.device)
    done, cache, out = torch.zeros_like(y, dtype=torch.bool), None, []
    for _ in range(max_length):
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = logits.argmax(-1)
        out.append(y)
        done |= y == STOP
        if done.all():
            break
    return _padded(out, max_length)


change(_plain, "always_to_the_end", "the loop never ends before max_length, though padding is right", "process",
       ("_loop(decoder, memory, mask, max_length)", "_loop(decoder, memory, mask, max_length, ends=None)"))
change(_plain, "any_ends", "the loop ends as soon as any sentence has ended", "concept",
       ("_loop(decoder, memory, mask, max_length)", "_loop(decoder, memory, mask, max_length, ends=torch.any)"))


@wrong("the loop ends when the first sentence of the batch has ended", "concept")
def the_first_row_ends(decoder, memory, mask, max_length):
    return _padded(_loop(decoder, memory, mask, max_length, ends=lambda done: done[0]), max_length)


@wrong("the loop ends only if all rows write STOP at the same step", "concept")
def all_at_one_step(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    y = torch.full((len(memory),), START, device=memory.device)
    done, cache, out = torch.zeros_like(y, dtype=torch.bool), None, []
    while len(out) < max_length and not (y == STOP).all():
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = torch.where(done, PAD, logits.argmax(-1))
        done |= y == STOP
        out.append(y)
    return _padded(out, max_length)


@wrong("it is looked one step late whether all have ended", "process")
def one_step_late(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    y = torch.full((len(memory),), START, device=memory.device)
    done, cache, out = torch.zeros_like(y, dtype=torch.bool), None, []
    for _ in range(max_length):
        before = done.all()
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = torch.where(done, PAD, logits.argmax(-1))
        done = done | (y == STOP)
        out.append(y)
        if before:
            break
    return _padded(out, max_length)


@wrong("a row is done if the word before was STOP: it goes on after one PAD", "concept")
def only_the_word_before(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    y = torch.full((len(memory),), START, device=memory.device)
    ever, cache, out = torch.zeros_like(y, dtype=torch.bool), None, []
    for _ in range(max_length):
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = torch.where(y == STOP, PAD, logits.argmax(-1))
        ever |= y == STOP
        out.append(y)
        if ever.all():
            break
    return _padded(out, max_length)


@wrong("the STOP itself becomes PAD: done is updated before the word is written", "concept")
def stop_erased(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    y = torch.full((len(memory),), START, device=memory.device)
    done, cache, out = torch.zeros_like(y, dtype=torch.bool), None, []
    for _ in range(max_length):
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = logits.argmax(-1)
        done = done | (y == STOP)
        y = y.masked_fill(done, PAD)
        out.append(y)
        if done.all():
            break
    return _padded(out, max_length)


@wrong("rows that have ended are filled with STOP, and so is the rest", "concept")
def filled_with_stop(decoder, memory, mask, max_length):
    columns = _loop(decoder, memory, mask, max_length, after=lambda done, word: torch.where(done, STOP, word))
    return _padded(columns, max_length, STOP)


@wrong("rows that have ended are filled with -100", "concept")
def filled_with_minus_100(decoder, memory, mask, max_length):
    found = _padded(_loop(decoder, memory, mask, max_length), max_length)
    return found.masked_fill(found == PAD, -100)


@wrong("the result is only as wide as the longest translation", "shape")
def as_wide_as_the_longest(decoder, memory, mask, max_length):
    return torch.stack(_loop(decoder, memory, mask, max_length), dim=1)


@wrong("padding stands in front of the words", "concept")
def padded_in_front(decoder, memory, mask, max_length):
    columns = _loop(decoder, memory, mask, max_length)
    return F.pad(torch.stack(columns, dim=1), (max_length - len(columns), 0))


@wrong("START stands in front, [B, max_length + 1]", "shape")
def start_in_front(decoder, memory, mask, max_length):
    found = _padded(_loop(decoder, memory, mask, max_length), max_length)
    return F.pad(found, (1, 0), value=START)


@wrong("START takes the first of the max_length places", "concept")
def start_counts(decoder, memory, mask, max_length):
    out = torch.zeros(len(memory), max_length, dtype=torch.long, device=memory.device)
    out[:, 0] = START
    K, V = decoder.read(memory)
    cache, done = None, torch.zeros_like(out[:, 0], dtype=torch.bool)
    for t in range(1, max_length):
        logits, cache = decoder.step(out[:, t - 1], K, V, mask, cache)
        out[:, t] = logits.argmax(-1).masked_fill(done, PAD)
        done |= out[:, t] == STOP
        if done.all():
            break
    return out


@wrong("one word fewer than max_length is written, the last place stays PAD", "edge")
def one_word_fewer(decoder, memory, mask, max_length):
    columns = _loop(decoder, memory, mask, max_length, steps=max_length - 1) if max_length > 1 else []
    out = torch.zeros(len(memory), max_length, dtype=torch.long, device=memory.device)
    for t, column in enumerate(columns):
        out[:, t] = column
    return out


@wrong("at most 20 words, whatever max_length is", "edge")
def twenty_at_most(decoder, memory, mask, max_length):
    return _padded(_loop(decoder, memory, mask, max_length, steps=min(20, max_length)), max_length)


@wrong("the last place is always STOP, also where a translation is cut off", "concept")
def stop_forced(decoder, memory, mask, max_length):
    found = _padded(_loop(decoder, memory, mask, max_length), max_length)
    cut = ~(found == STOP).any(dim=1)
    found[cut, -1] = STOP
    return found


@wrong("time first: [max_length, B]", "shape")
def time_first(decoder, memory, mask, max_length):
    return _padded(_loop(decoder, memory, mask, max_length), max_length).T


@wrong("a list of lists without a tensor", "interface")
def lists_returned(decoder, memory, mask, max_length):
    return _padded(_loop(decoder, memory, mask, max_length), max_length).tolist()


@wrong("the words come as floats", "interface")
def floats(decoder, memory, mask, max_length):
    out = torch.zeros(len(memory), max_length, device=memory.device)
    for t, column in enumerate(_loop(decoder, memory, mask, max_length)):
        out[:, t] = column
    return out


@wrong("works for a batch of one only: .item()", "layout")
def one_sentence_only(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    words, word, cache = [], START, None
    while len(words) < max_length and word != STOP:
        y = torch.full((len(memory),), word, device=memory.device)
        logits, cache = decoder.step(y, K, V, mask, cache)
        word = logits.argmax().item()
        words.append(word)
    return torch.tensor([words + [PAD] * (max_length - len(words))], device=memory.device)


@wrong("the decoder is called as if it were a module", "interface")
def decoder_called(decoder, memory, mask, max_length):
    y = torch.full((len(memory), 1), START, device=memory.device)
    for _ in range(max_length):
        logits = decoder(y, memory, mask)
        y = torch.cat([y, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
    return y[:, 1:]


@wrong("words are chosen by a softmax that overflows: exp without a maximum", "numerics")
def overflowing(decoder, memory, mask, max_length):
    def choose(logits):
        return (logits.exp() / logits.exp().sum(-1, keepdim=True)).argmax(-1)

    return _padded(_loop(decoder, memory, mask, max_length, choose=choose), max_length)


@wrong("0, 1 and 2 are mixed up: START is 2 and STOP is 1", "concept")
def start_and_stop_mixed_up(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    y = torch.full((len(memory),), STOP, device=memory.device)
    done, cache, out = torch.zeros_like(y, dtype=torch.bool), None, []
    while len(out) < max_length and not done.all():
        logits, cache = decoder.step(y, K, V, mask, cache)
        y = logits.argmax(-1).masked_fill(done, PAD)
        out.append(y)
        done |= y == START
    return _padded(out, max_length)
