"""Test answers for greedy_decode: right ones in unusual styles, and wrong ones."""
import torch
from torch import nn

from answers import after, before, change, right, wrong

PAD, START, STOP = 0, 1, 2


# -------------------- right answers
@right("A loop with a boolean for each sentence, words by torch.where")
def by_where(decoder, s, max_length):
    words = torch.full((s.shape[0],), START, dtype=torch.long, device=s.device)
    ended = torch.zeros(s.shape[0], dtype=torch.bool, device=s.device)
    written = []
    for _ in range(max_length):
        logits, s = decoder(words, s)
        words = torch.where(ended, PAD, logits.argmax(dim=-1))
        written.append(words)
        ended = ended | (words == STOP)
        if ended.all():
            break
    return torch.stack(written, dim=1)


@right("while with a growing tensor; a sentence has ended if STOP is among its words")
def looks_back(decoder, s, max_length):
    y = s.new_full((len(s), 1), START).long()
    while y.shape[1] <= max_length and not (y == STOP).any(dim=1).all():
        logits, s = decoder(y[:, -1], s)
        fresh = logits.max(dim=1).indices.masked_fill((y == STOP).any(dim=1), PAD)
        y = torch.cat([y, fresh[:, None]], dim=1)
    return y[:, 1:]


@right("Recursion over the steps, with a tuple of columns")
def recursive(decoder, s, max_length):
    def rest(words, state, alive, left):
        logits, state = decoder(words, state)
        words = logits.argmax(-1) * alive + PAD * ~alive
        alive = alive & words.ne(STOP)
        if left == 1 or not alive.any():
            return (words,)
        return (words, *rest(words, state, alive, left - 1))

    B = s.size(0)
    alive = torch.ones(B, dtype=torch.bool, device=s.device)
    return torch.stack(rest(alive.long() * START, s, alive, max_length), dim=-1)


@right("A table full of PAD that is written column by column and cut in the end")
def table_and_cut(decoder, s, max_length):
    B = s.shape[0]
    table = torch.full((B, max_length), PAD, dtype=torch.long, device=s.device)
    last = torch.full((B,), START, dtype=torch.long, device=s.device)
    open_ = torch.arange(B, device=s.device)
    t = 0
    while t < max_length and open_.numel():
        logits, s = decoder(last, s)
        table[open_, t] = logits.argmax(dim=-1)[open_]
        last = table[:, t].clone()
        open_ = open_[last[open_] != STOP]
        t += 1
    return table[:, :t]


@right("Counts how many sentences are still open, in Python lists; a tensor is made of them in the end")
def with_lists(decoder, s, max_length):
    B = len(s)
    sentences, ended = [[] for _ in range(B)], [False] * B
    feed = [START] * B
    for _ in range(max_length):
        logits, s = decoder(torch.tensor(feed, dtype=torch.long, device=s.device), s)
        best = logits.argmax(dim=-1).tolist()
        feed = [PAD if over else word for over, word in zip(ended, best)]
        for sentence, word in zip(sentences, feed):
            sentence.append(word)
        ended = [over or word == STOP for over, word in zip(ended, feed)]
        if all(ended):
            break
    return torch.tensor(sentences, dtype=torch.long, device=s.device)


def _steps(decoder, s):
    """Yields the words of each step and, behind them, whether all sentences have ended."""
    words = torch.ones(len(s), dtype=torch.long, device=s.device).mul(START)
    ended = torch.zeros_like(words, dtype=torch.bool)
    while not ended.all():
        logits, s = decoder(words, s)
        words = torch.argmax(logits, dim=-1).masked_fill(ended, PAD)
        ended = ended.logical_or(words == STOP)
        yield words


@right("A generator that ends by itself, zipped with the range of allowed steps")
def by_a_generator(decoder, s, max_length):
    return torch.stack([words for _, words in zip(range(max_length), _steps(decoder, s))], dim=1)


@right("Under no_grad, since words have no gradient; the choice by topk")
@torch.no_grad()
def without_gradients(decoder, s, max_length):
    state, y, alive, columns = s, torch.tensor([START], device=s.device).repeat(s.shape[0]), None, []
    for step in range(max_length):
        scores, state = decoder(y, state)
        y = scores.topk(1, dim=-1).indices[:, 0]
        y = y if alive is None else torch.where(alive, y, torch.full_like(y, PAD))
        columns.append(y[:, None])
        alive = (y != STOP) if alive is None else alive & (y != STOP)
        if not bool(alive.any()):
            break
    return torch.cat(columns, dim=1)


class _Writer:
    def __init__(self, decoder, s):
        self.decoder, self.s = decoder, s
        self.words = torch.full(s.shape[:1], START, dtype=torch.int64, device=s.device)
        self.lengths = torch.full_like(self.words, -1)
        self.columns = []

    @property
    def done(self):
        return bool((self.lengths >= 0).all())

    def step(self):
        logits, self.s = self.decoder(self.words, self.s)
        best = logits.argmax(dim=-1)
        self.words = best.where(self.lengths < 0, torch.full_like(best, PAD))
        self.columns.append(self.words)
        ends = (self.words == STOP) & (self.lengths < 0)
        self.lengths = torch.where(ends, torch.full_like(self.lengths, len(self.columns)), self.lengths)


@right("An object with the lengths of the sentences so far; -1 while one is open")
def with_an_object(decoder, s, max_length):
    writer = _Writer(decoder, s)
    while len(writer.columns) < max_length and not writer.done:
        writer.step()
    return torch.stack(writer.columns).t()


@right("The pace is kept by a product of not-yet-STOP; for with an else-free early return")
def early_return(decoder, s, max_length):
    y = torch.full((s.shape[0], 1), START, dtype=torch.long, device=s.device)
    going = torch.ones_like(y)
    out = torch.empty((s.shape[0], 0), dtype=torch.long, device=s.device)
    for _ in range(max_length):
        logits, s = decoder(y.squeeze(1), s)
        y = going * logits.argmax(dim=1, keepdim=True) + (1 - going) * PAD
        out = torch.hstack([out, y])
        going = going * y.ne(STOP).long()
        if going.sum() == 0:
            return out
    return out


@right("Ended is the maximum over time of word == STOP, kept by cummax of flags; stable sort for the choice")
def by_flags(decoder, s, max_length):
    flags = [torch.zeros(s.shape[0], dtype=torch.long, device=s.device)]
    words = [torch.full_like(flags[0], START)]
    while len(words) <= max_length:
        logits, s = decoder(words[-1], s)
        best = logits.sort(dim=-1, descending=True, stable=True).indices[:, 0]
        words.append(best.masked_fill(flags[-1].bool(), PAD))
        flags.append(torch.maximum(flags[-1], (words[-1] == STOP).long()))
        if flags[-1].min() == 1:
            break
    return torch.stack(words[1:], dim=1)


@right("The likeliest word as the one equal to the row's maximum, first of all by argmax of a boolean")
def by_equality(decoder, s, max_length):
    B, device = s.shape[0], s.device
    words, over, result = torch.full((B,), START, device=device), torch.full((B,), False, device=device), []
    for t in range(1, max_length + 1):
        logits, s = decoder(words, s)
        is_best = logits == logits.amax(dim=-1, keepdim=True)
        words = is_best.to(torch.uint8).argmax(dim=-1)
        words[over] = PAD
        result += [words]
        over = torch.logical_or(over, words.eq(STOP))
        if t == max_length or over.sum().item() == B:
            return torch.column_stack(result)


# -------------------- wrong: stopping, padding
def _begin(s, word=START):
    """First words, and that none has ended."""
    return (
        torch.full((s.shape[0],), word, dtype=torch.long, device=s.device),
        torch.zeros(s.shape[0], dtype=torch.bool, device=s.device),
    )


# Right, and not registered: answers below are changes of it.
def _plain(decoder, s, max_length):
    words, ended = _begin(s)
    written = []
    for _ in range(max_length):
        logits, s = decoder(words, s)
        words = torch.where(ended, PAD, logits.argmax(dim=-1))
        written.append(words)
        ended = ended | (words == STOP)
        if ended.all():
            break
    return torch.stack(written, dim=1)


change(_plain, "writes_on", "after its STOP a sentence goes on with the likeliest words instead of PAD", "concept",
       ("torch.where(ended, PAD, logits.argmax(dim=-1))", "logits.argmax(dim=-1)"))
change(_plain, "filled_with_stop", "an ended sentence is filled up with STOP instead of PAD", "concept",
       ("PAD", "STOP"))
change(_plain, "filled_with_minus_hundred",
       "an ended sentence is filled up with -100 instead of PAD in what is returned", "concept",
       (".append(words)", ".append(words.masked_fill(ended, -100))"))
change(_plain, "stop_is_lost",
       "the STOP itself is replaced by PAD: a sentence counts as ended before its STOP is kept", "concept",
       ("words = torch.where(ended, PAD, logits.argmax(dim=-1))", """
        words = logits.argmax(dim=-1)
        ended = ended | (words == STOP)
        words = torch.where(ended, PAD, words)"""),
       ("ended = ended | (words == STOP)", ""))
change(_plain, "padded_one_late", "PAD begins one step late: one more likeliest word stands behind the STOP", "concept",
       before("written = []", "before = ended"),
       ("words = torch.where(ended, PAD, logits.argmax(dim=-1))", """
        best = logits.argmax(dim=-1)
        words = torch.where(before, PAD, best)"""),
       ("ended = ended | (words == STOP)", "before, ended = ended, ended | (words == STOP)"))
change(_plain, "ended_forgotten", "ended does not stay True: it is computed anew from the last words, so a sentence "
       "goes on after one PAD", "concept",
       ("ended | (words == STOP)", "words == STOP"))
change(_plain, "pad_ends_too", "a PAD that is the likeliest word ends a sentence too, though only STOP does", "edge",
       ("(words == STOP)", "(words == STOP) | (words == PAD)"))
change(_plain, "stops_at_a_column_of_pads", "the loop is left when all words of one step are STOP or PAD, although a "
       "PAD may be the likeliest word of a sentence that goes on", "edge",
       ("ended.all()", "((words == STOP) | (words == PAD)).all()"))
change(_plain, "no_special_words",
       "PAD and START are excluded from the choice, even where one of them is the likeliest word", "concept",
       ("logits.argmax(dim=-1)", "logits[:, STOP:].argmax(dim=-1) + STOP"))
change(_plain, "stop_and_start_exchanged",
       "STOP and START are exchanged: START (1) ends a sentence, and STOP (2) is fed first", "concept",
       ("_begin(s)", "_begin(s, STOP)"), ("STOP", "START"))
change(_plain, "any_for_all", "writing stops as soon as any sentence has ended", "concept",
       (".all()", ".any()"))
change(_plain, "first_sentence_decides", "writing stops when the first sentence of the batch has ended", "concept",
       ("ended.all()", "ended[0]"))
change(_plain, "all_at_the_same_step",
       "writing stops only when all sentences write STOP at the very same step", "concept",
       after("logits, s = decoder(words, s)", "best = logits.argmax(dim=-1)"), ("logits.argmax(dim=-1)", "best"),
       ("ended.all()", "(words == STOP).all()"))
change(_plain, "counted_stops", "STOPs are counted over the batch, those that the decoder proposes for ended sentences "
       "too: it may stop too early", "concept",
       ("written = []", "written, stops = [], 0"),
       ("words = torch.where(ended, PAD, logits.argmax(dim=-1))", """
        best = logits.argmax(dim=-1)
        words = torch.where(ended, PAD, best)"""),
       ("if ended.all():", """
        stops += int((best == STOP).sum())
        if stops >= len(s):"""))
change(_plain, "never_early",
       "there is no early stop: max_length columns are always written and the decoder is asked as often", "process",
       ("""
        if ended.all():
            break""", ""))


@wrong(
    "the decoder is asked max_length times although all have ended; only the result is cut to the right "
    "length",
    kind="process",
)
def asks_on_and_cuts(decoder, s, max_length):
    words, ended = _begin(s)
    written, needed = [], 0
    for _ in range(max_length):
        logits, s = decoder(words, s)
        needed += not bool(ended.all())
        words = torch.where(ended, PAD, logits.argmax(dim=-1))
        written.append(words)
        ended = ended | (words == STOP)
    return torch.stack(written[:needed], dim=1)


change(_plain, "one_column_of_pads", "whether all have ended is asked before the words of the step are looked at: one "
       "call and one column of PAD too many", "process",
       after("logits, s = decoder(words, s)", "over = bool(ended.all())"), ("ended.all()", "over"))
change(_plain, "asks_once_more",
       "the decoder is asked once more after all have ended, its answer thrown away", "process",
       ("""
        for _ in range(max_length):
            logits, s = decoder(words, s)""", """
        logits, s = decoder(words, s)
        while len(written) < max_length:"""),
       before("if", "logits, s = decoder(words, s)"))
change(_plain, "filled_up_to_max_length",
       "the result is filled up with PAD to max_length columns although all sentences ended earlier", "shape",
       ("""
        written = []
        for _ in range(max_length):""", """
        table = torch.zeros(s.shape[0], max_length, dtype=torch.long, device=s.device)
        for t in range(max_length):"""),
       ("written.append(words)", "table[:, t] = words"), ("torch.stack(written, dim=1)", "table"))
change(_plain, "last_stop_dropped",
       "the last column is dropped where all its words are STOP or PAD, so that the last STOP is lost", "edge",
       ("written.append(words)", ""), before("return", "    written.append(words)"),
       ("torch.stack(written, dim=1)", "torch.stack(written, dim=1) if written else words.new_zeros(len(words), 0)"))
change(_plain, "forced_stop",
       "the last word of a sentence that has not ended by max_length is replaced by STOP", "edge",
       before("return", "written[-1] = torch.where(ended, written[-1], STOP)"))
change(_plain, "one_too_many", "max_length + 1 words are written where no early stop comes", "edge",
       ("range(max_length)", "range(max_length + 1)"))
change(_plain, "one_too_few",
       "at most max_length - 1 words are written (none for max_length = 1), as if START counted", "edge",
       ("written = []", "written = [words]"), ("range(max_length)", "range(max_length - 1)"),
       ("torch.stack(written, dim=1)", "torch.stack(written, dim=1)[:, 1:]"))
change(_plain, "fifty_words", "max_length is ignored: up to 50 words are written", "edge",
       ("for _ in range(max_length):", "while not ended.all() and len(written) < 50:"),
       ("""
        if ended.all():
            break""", ""))
change(_plain, "thirty_two_columns", "a table with 32 columns takes the words: a longer sentence raises", "edge",
       ("""
        written = []
        for _ in range(max_length):""", """
        table = torch.zeros(s.shape[0], 32, dtype=torch.long, device=s.device)
        for t in range(max_length):"""),
       ("written.append(words)", "table[:, t] = words"),
       ("return torch.stack(written, dim=1)", "return table[:, : t + 1]"))
change(_plain, "stops_at_repetition",
       "writing stops when the words of a step are the same as those of the step before", "concept",
       ("words = torch.where", "before, words = words, torch.where"),
       ("ended.all()", "ended.all() or torch.equal(before, words)"))


# -------------------- wrong: what is fed, what is returned
def _write(decoder, s, max_length, choose=lambda logits: logits.argmax(dim=-1), first=START, ask=None):
    """The right loop, with another choice or another way to ask; returns the list of columns."""
    words, ended = _begin(s, first)
    written = []
    for _ in range(max_length):
        logits, s = decoder(words, s) if ask is None else ask(words, s)
        words = torch.where(ended, PAD, choose(logits))
        written.append(words)
        ended = ended | (words == STOP)
        if ended.all():
            break
    return written


# Right, and not registered: answers below are changes of it.
def _stacked(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length), dim=1)


change(_stacked, "begins_with_pad", "PAD is fed first instead of START", "concept",
       ("_write(decoder, s, max_length)", "_write(decoder, s, max_length, first=PAD)"))
change(_plain, "one_start_for_all", "only the first sentence begins with START, the others with PAD", "layout",
       ("words, ended = _begin(s)", """
        words = torch.zeros(s.shape[0], dtype=torch.long, device=s.device)
        words[:1] = START
        ended = words == STOP"""))


@wrong("START is fed at every step instead of the words just written", kind="concept")
def always_start(decoder, s, max_length):
    written = _write(decoder, s, max_length, ask=lambda words, s: decoder(torch.full_like(words, START), s))
    return torch.stack(written, dim=1)


@wrong(
    "the words before the last ones are fed: the decoder gets START twice and lags one step behind",
    kind="concept",
)
def one_word_behind(decoder, s, max_length):
    fed = [_begin(s)[0]]

    def ask(words, s):
        fed.append(words)
        return decoder(fed[-2], s)

    return torch.stack(_write(decoder, s, max_length, ask=ask), dim=1)


@wrong("the states are not passed on: the decoder gets the first ones at each step", kind="concept")
def first_states_for_ever(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length, ask=lambda words, _: decoder(words, s)), dim=1)


@wrong("the states are passed on added to the ones before (a residual connection)", kind="concept")
def residual_states(decoder, s, max_length):
    def ask(words, s):
        logits, new = decoder(words, s)
        return logits, s + new

    return torch.stack(_write(decoder, s, max_length, ask=ask), dim=1)


change(residual_states, "coarse_states", "the states are rounded to bfloat16 between the steps", "numerics",
       ("s + new", "new.bfloat16().to(new.dtype)"))


@wrong("the words are fed as a column [B, 1] instead of [B]", kind="shape")
def fed_as_a_column(decoder, s, max_length):
    def ask(words, s):
        logits, new = decoder(words[:, None], s)
        return logits.reshape(len(words), -1), new.reshape(s.shape)

    return torch.stack(_write(decoder, s, max_length, ask=ask), dim=1)


change(fed_as_a_column, "states_with_layers",
       "the states are fed with an axis for layers in front, [1, B, D_H] instead of [B, D_H]", "shape",
       ("words[:, None], s", "words, s[None]"))


@wrong(
    "ended sentences are taken out of the words but not out of the states, so the states no longer belong to "
    "the words",
    kind="concept",
)
def states_of_others(decoder, s, max_length):
    B = s.shape[0]
    table = torch.zeros(B, max_length, dtype=torch.long, device=s.device)
    rows = torch.arange(B, device=s.device)
    words = torch.full((B,), START, dtype=torch.long, device=s.device)
    for t in range(max_length):
        logits, s = decoder(words, s[: len(words)])
        words = logits.argmax(dim=-1)
        table[rows, t] = words
        rows, words = rows[words != STOP], words[words != STOP]
        if not len(rows):
            break
    return table[:, : t + 1]


@wrong("the sentences come back in the order in which they ended, not in that of the batch", kind="concept")
def in_order_of_ending(decoder, s, max_length):
    words = torch.stack(_write(decoder, s, max_length), dim=1)
    lengths = (words == STOP).long().cumsum(dim=1).eq(0).sum(dim=1)
    return words[lengths.argsort(stable=True)]


change(_stacked, "start_returned", "START is returned in front of the words", "interface",
       ("_write(decoder, s, max_length)", "[_begin(s)[0], *_write(decoder, s, max_length)]"))


@wrong("the first word of each sentence is cut off, as if it were the START", kind="edge")
def first_word_cut(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length), dim=1)[:, 1:]


change(_stacked, "steps_first", "the words come back as [L, B]: the steps are stacked along the first axis", "shape",
       ("dim=1", "dim=0"))


@wrong("the steps are joined end to end into one axis, [L·B]", kind="shape")
def end_to_end(decoder, s, max_length):
    return torch.cat(_write(decoder, s, max_length))


@wrong("axes of size 1 are squeezed away: a batch of one or a single step loses an axis", kind="layout")
def squeezed(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length), dim=1).squeeze()


@wrong("nested Python lists, cut behind each STOP, are returned instead of a padded tensor", kind="interface")
def lists_cut(decoder, s, max_length):
    rows = torch.stack(_write(decoder, s, max_length), dim=1).tolist()
    return [row[: row.index(STOP) + 1] if STOP in row else row for row in rows]


@wrong("words and last states are returned as a pair, instead of the words alone", kind="interface")
def pair_returned(decoder, s, max_length):
    states = [s]

    def ask(words, s):
        logits, new = decoder(words, s)
        states.append(new)
        return logits, new

    return torch.stack(_write(decoder, s, max_length, ask=ask), dim=1), states[-1]


@right("the words are int32 instead of torch.long")
def short_integers(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length), dim=1).int()


change(short_integers, "float_words", "the words come back as float numbers, in the type of the states", "interface",
       (".int()", ".to(s.dtype)"))
change(by_where, "on_the_cpu", "the first words and the booleans are made on the CPU: states on another device raise, "
       "or the words come back there", "interface",
       ("START, dtype=torch.long, device=s.device", "START"), ("dtype=torch.bool, device=s.device", "dtype=torch.bool"),
       ("PAD", "torch.zeros_like(words)"))


# -------------------- wrong: choosing
change(_stacked, "least_likely", "the least likely word is taken (argmin)", "concept",
       ("_write(decoder, s, max_length)", "_write(decoder, s, max_length, lambda logits: logits.argmin(dim=-1))"))


@wrong("the second likeliest word is taken", kind="concept")
def second_best(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length, lambda logits: logits.topk(2, dim=-1).indices[:, 1]), dim=1)


@wrong("the softmax runs over the batch before the likeliest word is chosen", kind="concept")
def softmax_over_the_batch(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length, lambda logits: logits.softmax(dim=0).argmax(dim=-1)), dim=1)


@wrong("all sentences get the likeliest word of the sum of their logits", kind="concept")
def one_word_for_all(decoder, s, max_length):
    written = _write(decoder, s, max_length, lambda logits: logits.sum(dim=0).argmax().expand(len(logits)))
    return torch.stack(written, dim=1)


def _drawn(logits):
    maker = torch.Generator().manual_seed(0)
    p = logits.detach().double().softmax(dim=-1).cpu()
    return torch.multinomial(p, 1, generator=maker)[:, 0].to(logits.device)


@wrong("words are drawn from the softmax (with a fixed seed) instead of taking the likeliest", kind="concept")
def drawn(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length, _drawn), dim=1)


@wrong("a word is never written twice in a row: the next best is taken instead", kind="concept")
def no_repetition(decoder, s, max_length):
    before = [_begin(s, PAD)[0] - 1]

    def choose(logits):
        banned = torch.arange(logits.shape[-1], device=logits.device) == before[-1][:, None]
        before.append(logits.masked_fill(banned, -float("inf")).argmax(dim=-1))
        return before[-1]

    return torch.stack(_write(decoder, s, max_length, choose), dim=1)


@wrong("a word whose probability is below one half is replaced by PAD", kind="concept")
def unsure_words_are_pad(decoder, s, max_length):
    def choose(logits):
        p, best = logits.softmax(dim=-1).max(dim=-1)
        return torch.where(p < 0.5, PAD, best)

    return torch.stack(_write(decoder, s, max_length, choose), dim=1)


@wrong("the choice is made from the running sum of the logits of all steps", kind="concept")
def summed_logits(decoder, s, max_length):
    total = [0]

    def choose(logits):
        total[0] = total[0] + logits
        return total[0].argmax(dim=-1)

    return torch.stack(_write(decoder, s, max_length, choose), dim=1)


change(_stacked, "by_exponentials", "the choice is made from exp(logits) without subtracting a maximum: logits above "
       "88 (709 in double) are inf and tie", "numerics",
       ("_write(decoder, s, max_length)",
        "_write(decoder, s, max_length, lambda logits: logits.exp().argmax(dim=-1))"))


@wrong("the choice is made from sigmoids of the logits, which are all 1 for large ones, and tie", kind="numerics")
def by_sigmoids(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length, lambda logits: logits.sigmoid().argmax(dim=-1)), dim=1)


@right("double precision logits are rounded to float32 before the choice: near ties are decided wrongly")
def by_single_precision(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length, lambda logits: logits.float().argmax(dim=-1)), dim=1)


change(by_single_precision, "by_whole_numbers", "logits are rounded to whole numbers before the choice", "numerics",
       (".float", ".round"))


@wrong("logits are held between -30 and 30 before the choice: larger ones tie", kind="numerics")
def held_within_thirty(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length, lambda logits: logits.clamp(-30, 30).argmax(dim=-1)), dim=1)


# -------------------- wrong: layout, other manners
change(by_where, "width_for_batch",
       "the number of sentences is taken from the wrong axis of s (D_H): only square states work", "shape",
       ("(s.shape[0],)", "(s.shape[-1],)"), ("s.shape[0], dtype", "s.shape[-1], dtype"))


@wrong("item() is called on the chosen words, so only a batch of one sentence works", kind="layout")
def single_sentence(decoder, s, max_length):
    word, written = START, []
    for _ in range(max_length):
        logits, s = decoder(torch.full((s.shape[0],), word, dtype=torch.long, device=s.device), s)
        word = logits.argmax(dim=-1).item()
        written.append(word)
        if word == STOP:
            break
    return torch.tensor([written], device=s.device)


@wrong("the states are copied through a flat view, which raises for transposed or sliced states", kind="layout")
def flat_view(decoder, s, max_length):
    B, D_H = s.shape
    return torch.stack(_write(decoder, s.view(B * D_H).view(B, D_H), max_length), dim=1)


change(_plain, "states_overwritten",
       "the states that came in are overwritten with the new ones at each step (copy_)", "interface",
       ("logits, s = decoder(words, s)", """
        logits, new = decoder(words, s)
        with torch.no_grad():
            s.copy_(new)"""))


@right("states of ended sentences are set to 0 in place in what the decoder gave: where it gave back the s it was called with (or a view), the input is changed")
def ended_states_zeroed(decoder, s, max_length):
    words, ended = _begin(s)
    written = []
    for _ in range(max_length):
        logits, s = decoder(words, s)
        words = torch.where(ended, PAD, logits.argmax(dim=-1))
        written.append(words)
        ended = ended | (words == STOP)
        with torch.no_grad():
            s[ended] = 0
        if ended.all():
            break
    return torch.stack(written, dim=1)


change(_plain, "kept_between_calls", "the list of steps is a default argument and is kept from call to call: a second "
       "call returns the first one's words too, or raises", "interface",
       ("s, max_length", "s, max_length, written=[]"), ("written = []", ""))


@right("the states are called state, so a call with s= raises")
def other_names(decoder, state, max_length):
    return torch.stack(_write(decoder, state, max_length), dim=1)


change(_stacked, "calls_eval",
       "the decoder is called .eval(), which not every callable has: a plain function raises", "interface",
       before("return", "decoder.eval()"))


# -------------------- wrong: two mistakes
change(_plain, "filled_with_stop_and_start",
       "ended sentences are filled up with STOP, and START is returned in front", "concept",
       ("written = []", "written = [words]"), ("PAD", "STOP"))


@wrong("writing stops as soon as any sentence has ended, and the result is [L, B]", kind="concept")
def any_and_steps_first(decoder, s, max_length):
    words, _ = _begin(s)
    written = []
    for _ in range(max_length):
        logits, s = decoder(words, s)
        words = logits.argmax(dim=-1)
        written.append(words)
        if (words == STOP).any():
            break
    return torch.stack(written)


@wrong("PAD is fed first instead of START, and the states are not passed on", kind="concept")
def pad_and_first_states(decoder, s, max_length):
    return torch.stack(_write(decoder, s, max_length, first=PAD, ask=lambda words, _: decoder(words, s)), dim=1)


@wrong("no early stop, and sentences go on with likeliest words behind their STOP", kind="concept")
def neither_stop_nor_pad(decoder, s, max_length):
    words, written = _begin(s)[0], []
    for _ in range(max_length):
        logits, s = decoder(words, s)
        words = logits.argmax(dim=-1)
        written.append(words)
    return torch.stack(written, dim=1)


change(_plain, "stop_lost_and_one_too_many",
       "the STOP is replaced by PAD, and max_length + 1 words may be written", "concept",
       ("range(max_length)", "range(max_length + 1)"),
       ("words = torch.where(ended, PAD, logits.argmax(dim=-1))", """
        words = logits.argmax(dim=-1)
        ended = ended | (words == STOP)
        words = torch.where(ended, PAD, words)"""),
       ("ended = ended | (words == STOP)", ""))


@wrong("the words are int32, and the result is filled up with PAD to max_length columns", kind="interface")
def short_and_filled_up(decoder, s, max_length):
    written = _write(decoder, s, max_length)
    words = torch.stack(written, dim=1).int()
    return nn.functional.pad(words, (0, max_length - len(written)), value=PAD)


@wrong("START is fed at every step, and the words are chosen by argmin", kind="concept")
def always_start_and_least_likely(decoder, s, max_length):
    def ask(words, s):
        return decoder(torch.full_like(words, START), s)

    return torch.stack(_write(decoder, s, max_length, lambda logits: logits.argmin(dim=-1), ask=ask), dim=1)
