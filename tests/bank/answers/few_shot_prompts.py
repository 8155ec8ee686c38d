"""Answers to few_shot_prompts (assignment 11), written from the text of the exercise alone."""

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("loops over lines and examples, filled from the left end of each prompt")
def by_loops(x, y, query, examples, pad):
    B, K = x.shape
    tokens = torch.full((B, 2 * K + 1), pad, dtype=torch.int64, device=x.device)
    mask = torch.zeros((B, 2 * K + 1), dtype=torch.bool, device=x.device)
    predicts = torch.zeros_like(mask)
    for b in range(B):
        e = int(examples[b])
        at = 2 * (K - e)
        mask[b, at:] = True
        for k in range(e):
            tokens[b, at] = x[b, k]
            tokens[b, at + 1] = y[b, k]
            predicts[b, at] = True
            at += 2
        tokens[b, at] = query[b]
        predicts[b, at] = True
    return tokens, mask, predicts


@right("gather from x and y side by side, all lines at once")
def by_gather(x, y, query, examples, pad):
    B, K = x.shape
    position = torch.arange(2 * K + 1, device=x.device)
    begin = (2 * (K - examples)).unsqueeze(1)
    pairs = torch.stack((x, y), dim=-1).reshape(B, 2 * K)
    joined = torch.cat((pairs, query.unsqueeze(1)), dim=1).to(torch.int64)
    index = (position - begin).clamp(min=0).to(torch.int64)
    index[:, -1] = 2 * K
    mask = position >= begin
    tokens = torch.where(mask, joined.gather(1, index), pad)
    return tokens, mask, mask & (position % 2 == 0)


@right("each line rolled to the right by its unused places, then masked")
def by_roll(x, y, query, examples, pad):
    K = x.shape[1]
    body = torch.stack([x, y], 2).flatten(1).long()
    unused = [2 * (K - e) for e in examples.tolist()]
    rows = torch.stack([row.roll(shift) for row, shift in zip(body, unused)])
    rows = torch.cat([rows, query.long()[:, None]], dim=1)
    position = torch.arange(2 * K + 1, device=x.device)
    mask = position[None] >= torch.tensor(unused, device=x.device)[:, None]
    return rows.masked_fill(~mask, pad), mask, mask & ~(position % 2).bool()


@right("Python lists, one tensor at the end")
def by_lists(x, y, query, examples, pad):
    K = x.size(1)
    tokens, mask, predicts = [], [], []
    for xs, ys, q, e in zip(x.tolist(), y.tolist(), query.tolist(), examples.tolist()):
        prompt = [token for pair in list(zip(xs, ys))[:e] for token in pair] + [q]
        left = 2 * K + 1 - len(prompt)
        tokens.append([int(pad)] * left + prompt)
        mask.append([False] * left + [True] * len(prompt))
        predicts.append([False] * left + [True, False] * e + [True])
    device = x.device
    return (
        torch.tensor(tokens, dtype=torch.int64, device=device),
        torch.tensor(mask, dtype=torch.bool, device=device),
        torch.tensor(predicts, dtype=torch.bool, device=device),
    )


@right("questions and answers shifted apart, written with steps of two")
def by_steps(x, y, query, examples, pad):
    B, K = x.shape
    slot = torch.arange(K, device=x.device) - (K - examples[:, None])
    used = slot >= 0
    slot = slot.clamp(min=0).to(torch.int64)
    tokens = torch.full((B, 2 * K + 1), pad, dtype=torch.int64, device=x.device)
    mask = torch.ones((B, 2 * K + 1), dtype=torch.bool, device=x.device)
    predicts = torch.zeros((B, 2 * K + 1), dtype=torch.bool, device=x.device)
    tokens[:, 0:-1:2] = torch.where(used, x.long().gather(1, slot), pad)
    tokens[:, 1::2] = torch.where(used, y.long().gather(1, slot), pad)
    tokens[:, -1] = query
    mask[:, 0:-1:2] = used
    mask[:, 1::2] = used
    predicts[:, 0:-1:2] = used
    predicts[:, -1] = True
    return tokens, mask, predicts


@right("F.pad of each prompt on the left, stacked")
def by_padding(x, y, query, examples, pad):
    K = x.shape[1]
    tokens, mask, predicts = [], [], []
    for b, e in enumerate(examples.tolist()):
        prompt = torch.cat([torch.stack([x[b, :e], y[b, :e]], dim=1).reshape(-1), query[b : b + 1]]).long()
        left = (2 * K - 2 * e, 0)
        tokens.append(F.pad(prompt, left, value=pad))
        mask.append(F.pad(torch.ones_like(prompt), left).bool())
        second = torch.arange(1, 2 * e + 2, device=x.device) % 2
        predicts.append(F.pad(second, left) == 1)
    return torch.stack(tokens), torch.stack(mask), torch.stack(predicts)


@right("right-padded first, then flipped: pad_sequence of the reversed prompts")
def by_flip(x, y, query, examples, pad):
    K = x.shape[1]
    backwards = []
    for xs, ys, q, e in zip(x.long(), y.long(), query.long(), examples):
        pairs = torch.stack([ys[: int(e)].flip(0), xs[: int(e)].flip(0)], dim=-1).flatten()
        backwards.append(torch.cat([q[None], pairs]))
    backwards.append(torch.full((2 * K + 1,), pad, dtype=torch.int64, device=x.device))
    tokens = torch.nn.utils.rnn.pad_sequence(backwards, batch_first=True, padding_value=pad)[:-1].flip(1)
    ranks = torch.arange(2 * K, -1, -1, device=x.device)
    mask = ranks <= 2 * examples[:, None]
    return tokens, mask, mask & (ranks.remainder(2) == 0)


@right("calls itself on the halves of the batch, down to single lines")
def recursive_in_halves(x, y, query, examples, pad):
    B = x.shape[0]
    if B > 1:
        half = B // 2
        first = recursive_in_halves(x[:half], y[:half], query[:half], examples[:half], pad)
        second = recursive_in_halves(x[half:], y[half:], query[half:], examples[half:], pad)
        return tuple(torch.cat(both) for both in zip(first, second))
    K, e = x.shape[1], int(examples)
    tokens = torch.empty((1, 2 * K + 1), dtype=torch.int64, device=x.device).fill_(pad)
    begin = 2 * (K - e)
    tokens[0, begin:-1:2], tokens[0, begin + 1 :: 2] = x[0, :e], y[0, :e]
    tokens[0, -1] = query[0]
    mask = torch.arange(2 * K + 1, device=x.device)[None] >= begin
    predicts = mask.clone()
    predicts[:, 1::2] = False
    return tokens, mask, predicts


@right("scatter: each token is sent to its place, unused ones to a place that is cut off")
def by_scatter(x, y, query, examples, pad):
    B, K = x.shape
    begin = 2 * (K - examples.long()).unsqueeze(1)
    k = torch.arange(K, device=x.device)
    to = torch.where(k < examples[:, None], begin + 2 * k, 2 * K + 1)
    wide = torch.full((B, 2 * K + 3), pad, dtype=torch.int64, device=x.device)
    wide = wide.scatter(1, to, x.long()).scatter(1, to + 1, y.long())
    wide[:, 2 * K] = query
    tokens = wide[:, : 2 * K + 1].clone()
    places = torch.arange(2 * K + 1, device=x.device).expand(B, -1)
    return tokens, places.ge(begin), places.ge(begin) & places.fmod(2).eq(0)


@right("boolean assignment: the places of mask take the used tokens in order")
def by_boolean_assignment(x, y, query, examples, pad):
    B, K = x.shape
    n = 2 * examples.unsqueeze(-1)
    place = torch.arange(2 * K + 1, device=x.device)
    mask = place.flip(0) <= n
    all_tokens = torch.cat([torch.stack([x, y], -1).reshape(B, -1), query[:, None]], -1).to(torch.int64)
    used = (place < n) | (place == 2 * K)
    tokens = torch.full_like(all_tokens, pad)
    tokens[mask] = all_tokens[used]
    predicts = torch.zeros_like(mask)
    predicts[:, ::2] = mask[:, ::2]
    return tokens, mask, predicts


@right("a stable sort brings the unused places to the front")
def by_sorting(x, y, query, examples, pad):
    B, K = x.shape
    place = torch.arange(2 * K + 1, device=x.device).repeat(B, 1)
    used = (place < 2 * examples[:, None]) | (place == 2 * K)
    order = used.to(torch.uint8).argsort(dim=1, stable=True)
    everything = torch.cat([torch.stack([x, y], dim=2).flatten(1), query[:, None]], dim=1).long()
    tokens = everything.where(used, torch.full_like(everything, pad)).gather(1, order)
    mask = used.gather(1, order)
    return tokens, mask, mask.logical_and(place % 2 == 0)


@right("groups of lines with the same number of examples")
def by_groups(x, y, query, examples, pad):
    B, K = x.shape
    tokens = x.new_full((B, 2 * K + 1), pad, dtype=torch.long)
    mask = tokens.new_zeros(tokens.shape, dtype=torch.bool)
    predicts = mask.clone()
    tokens[:, 2 * K] = query
    mask[:, 2 * K] = predicts[:, 2 * K] = True
    for e in range(1, K + 1):
        lines = (examples == e).nonzero().flatten()
        pairs = torch.stack([x[lines, :e], y[lines, :e]], dim=-1).reshape(-1, 2 * e).long()
        columns = torch.arange(2 * (K - e), 2 * K, device=x.device)
        tokens[lines[:, None], columns] = pairs
        mask[lines[:, None], columns] = True
        predicts[lines[:, None], columns[::2]] = True
    return tokens, mask, predicts


@right("column by column from the right end")
def by_columns(x, y, query, examples, pad):
    B, K = x.shape
    line = torch.arange(B, device=x.device)
    columns, masks, marks = [query.long()], [torch.ones_like(query, dtype=torch.bool)], [torch.ones_like(query).bool()]
    for back in range(1, K + 1):
        k = examples.long() - back
        there = k >= 0
        for source, marked in ((y, False), (x, True)):
            columns.append(torch.where(there, source[line, k.clamp(min=0)].long(), pad))
            masks.append(there)
            marks.append(there if marked else torch.zeros_like(there))
    return tuple(torch.stack(part[::-1], dim=1) for part in (columns, masks, marks))


# ---------------------------------------------------------------- parts that the wrong ones share


def _parts(x, y, query, examples, pad):
    """The right tensors, and the positions and beginnings they are made of."""
    B, K = x.shape
    position = torch.arange(2 * K + 1, device=x.device)
    begin = 2 * (K - examples.long())[:, None]
    joined = torch.cat([torch.stack([x, y], -1).reshape(B, 2 * K), query[:, None]], 1).long()
    index = (position - begin).clamp(min=0)
    index[:, -1] = 2 * K
    mask = position >= begin
    tokens = torch.where(mask, joined.gather(1, index), pad)
    return tokens, mask, mask & (position % 2 == 0), position, begin


# ---------------------------------------------------------------- wrong: the prompt


@wrong("padded on the right: the prompt begins at position 0, and the query does not stand at the end", kind="concept")
def padded_on_the_right(x, y, query, examples, pad):
    B, K = x.shape
    tokens = torch.full((B, 2 * K + 1), pad, dtype=torch.int64, device=x.device)
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    predicts = torch.zeros_like(mask)
    for b in range(B):
        e = int(examples[b])
        tokens[b, 0 : 2 * e : 2], tokens[b, 1 : 2 * e : 2] = x[b, :e], y[b, :e]
        tokens[b, 2 * e] = query[b]
        mask[b, : 2 * e + 1] = True
        predicts[b, 0 : 2 * e + 1 : 2] = True
    return tokens, mask, predicts


@wrong(
    "the query stands at the end, but the examples stay at the left end, with the padding between them", kind="concept"
)
def padding_in_the_middle(x, y, query, examples, pad):
    B, K = x.shape
    position = torch.arange(2 * K + 1, device=x.device)
    tokens = torch.cat([torch.stack([x, y], -1).reshape(B, 2 * K), query[:, None]], 1).long()
    mask = (position < 2 * examples[:, None]) | (position == 2 * K)
    return tokens.masked_fill(~mask, pad), mask, mask & (position % 2 == 0)


@wrong(
    "the last e examples are used instead of the first e: what stands at the left is overwritten by padding",
    kind="concept",
)
def last_examples(x, y, query, examples, pad):
    B, K = x.shape
    position = torch.arange(2 * K + 1, device=x.device)
    tokens = torch.cat([torch.stack([x, y], -1).reshape(B, 2 * K), query[:, None]], 1).long()
    mask = position >= 2 * (K - examples[:, None])
    return tokens.masked_fill(~mask, pad), mask, mask & (position % 2 == 0)


@wrong("the examples are in reversed order, the first one next to the query", kind="concept")
def reversed_examples(x, y, query, examples, pad):
    B, K = x.shape
    position = torch.arange(2 * K + 1, device=x.device)
    pairs = torch.stack([x.flip(1), y.flip(1)], -1).reshape(B, 2 * K)
    tokens = torch.cat([pairs, query[:, None]], 1).long()
    mask = position >= 2 * (K - examples[:, None])
    return tokens.masked_fill(~mask, pad), mask, mask & (position % 2 == 0)


# Right, and not registered: answers below are changes of it.
def _plain(x, y, query, examples, pad):
    return _parts(x, y, query, examples, pad)[:3]


change(_plain, "answers_first", "each answer stands before its question", "concept",
       ("_parts(x, y, query, examples, pad)", "_parts(y, x, query, examples, pad)"))


# Right, and not registered: answers below are changes of it.
def _unpacked(x, y, query, examples, pad):
    tokens, mask, predicts, *_ = _parts(x, y, query, examples, pad)
    return tokens, mask, predicts


change(_unpacked, "all_questions_first", "cat instead of stack: all questions of a prompt, then all its answers, "
       "instead of question, answer, question", "concept",
       before("return", """
        for b, e in enumerate(examples.tolist()):
            begin = tokens.shape[1] - 2 * e - 1
            tokens[b, begin:-1] = torch.cat([x[b, :e], y[b, :e]])"""))


@wrong("the query stands at the beginning of the prompt, before the examples, instead of at the end", kind="concept")
def query_first(x, y, query, examples, pad):
    tokens, mask, predicts, *_ = _parts(x, y, query, examples, pad)
    for b, e in enumerate(examples.tolist()):
        tokens[b, tokens.shape[1] - 2 * e - 1 :] = tokens[b, tokens.shape[1] - 2 * e - 1 :].roll(1)
    return tokens, mask, predicts


change(_plain, "number_of_the_first_line", "every line uses the number of examples of the first line", "concept",
       ("_parts(x, y, query, examples, pad)", "_parts(x, y, query, examples[:1].expand(x.shape[0]), pad)"))


@wrong(
    "an example takes one place in the padding's count, not two: the prompt begins at K − e and has old places over",
    kind="concept",
)
def begins_at_K_minus_e(x, y, query, examples, pad):
    B, K = x.shape
    tokens = torch.full((B, 2 * K + 1), pad, dtype=torch.int64, device=x.device)
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    predicts = torch.zeros_like(mask)
    for b, e in enumerate(examples.tolist()):
        begin = K - e
        tokens[b, begin : begin + 2 * e : 2], tokens[b, begin + 1 : begin + 2 * e : 2] = x[b, :e], y[b, :e]
        mask[b, begin:] = True
        predicts[b, begin : begin + 2 * e : 2] = True
    tokens[:, -1], predicts[:, -1] = query, True
    return tokens, mask, predicts


@wrong(
    "the places left of the prompt hold the unused examples instead of `pad`; only the masks know of padding",
    kind="concept",
)
def unused_instead_of_pad(x, y, query, examples, pad):
    K = x.shape[1]
    body = torch.stack([x, y], 2).flatten(1).long()
    rows = torch.stack([row.roll(2 * (K - e)) for row, e in zip(body, examples.tolist())])
    _, mask, predicts, *_ = _parts(x, y, query, examples, pad)
    return torch.cat([rows, query.long()[:, None]], 1), mask, predicts


change(_unpacked, "pads_with_zero", "the padding is 0 whatever `pad` is", "concept",
       ("return tokens", "return tokens * mask"))


@wrong("a prompt gets e − 1 of its examples: the loop over them ends one too early", kind="edge")
def one_example_less(x, y, query, examples, pad):
    return _parts(x, y, query, (examples - 1).clamp(min=0), pad)[:3]


@wrong("examples that occurred before in the line are left out as duplicates, and the prompt is shorter", kind="edge")
def without_duplicates(x, y, query, examples, pad):
    B, K = x.shape
    tokens = torch.full((B, 2 * K + 1), pad, dtype=torch.int64, device=x.device)
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    predicts = torch.zeros_like(mask)
    for b, e in enumerate(examples.tolist()):
        pairs = list(dict.fromkeys(zip(x[b, :e].tolist(), y[b, :e].tolist())))
        prompt = [token for pair in pairs for token in pair] + [int(query[b])]
        tokens[b, -len(prompt) :] = torch.tensor(prompt, device=x.device)
        mask[b, -len(prompt) :] = True
        predicts[b, -len(prompt) :: 2] = True
    return tokens, mask, predicts


@wrong(
    "answers are looked up in a dictionary by their question: a question that occurs twice gets its last answer twice",
    kind="edge",
)
def answers_from_a_dictionary(x, y, query, examples, pad):
    answers = y.clone()
    for b, e in enumerate(examples.tolist()):
        known = dict(zip(x[b, :e].tolist(), y[b, :e].tolist()))
        for k in range(e):
            answers[b, k] = known[x[b, k].item()]
    return _parts(x, answers, query, examples, pad)[:3]


@wrong(
    "a question of padding's number ends the prompt's examples: they are counted until x equals pad, at most e",
    kind="edge",
)
def examples_until_pad(x, y, query, examples, pad):
    until = (x != pad).long().cumprod(1).sum(1)
    return _parts(x, y, query, torch.minimum(until, examples.long()), pad)[:3]


change(_plain, "at_least_one_example", "a zero-shot prompt gets one example: the number is at least 1", "edge",
       ("_parts(x, y, query, examples, pad)", "_parts(x, y, query, examples.clamp(min=1), pad)"))
change(_unpacked, "zero_as_a_sign", "0 stands for an empty place until the end, and then becomes `pad`: tokens with "
       "the number 0 become `pad` too", "edge",
       ("_parts(x, y, query, examples, pad)", "_parts(x, y, query, examples, 0)"),
       before("return", "tokens[tokens == 0] = pad"))


# ---------------------------------------------------------------- wrong: mask


change(_unpacked, "mask_by_value",
       "mask is tokens != pad: a token of the prompt that has the number of `pad` counts as padding there", "edge",
       ("mask, predicts, *_", "_, predicts, *_"), ("return tokens, mask", "return tokens, tokens != pad"))
change(_unpacked, "mask_from_the_first_other_token",
       "mask begins at the first token that is not `pad`: a first question of that number counts as padding", "edge",
       ("return tokens, mask, predicts", """
        begun = (tokens != pad).cumsum(1) > 0
        begun[:, -1] = True
        return tokens, begun, predicts & begun"""))
change(_unpacked, "mask_inverted", "mask is the wrong way round, True at the padding", "concept",
       ("return tokens, mask", "return tokens, ~mask"))


@wrong("> in the place of >=: the first token of a prompt is masked out as padding", kind="edge")
def mask_one_too_late(x, y, query, examples, pad):
    tokens, mask, predicts, position, begin = _parts(x, y, query, examples, pad)
    mask = position > begin
    mask[:, -1] = True
    return tokens, mask, predicts


@wrong(
    "with e = 0 the slice [-2 * e:] is the whole line, so that a zero-shot prompt has no padding in mask", kind="edge"
)
def minus_zero(x, y, query, examples, pad):
    tokens, mask, predicts, *_ = _parts(x, y, query, examples, pad)
    body = torch.zeros_like(mask[:, 1:])
    for b, e in enumerate(examples.tolist()):
        body[b, -2 * e :] = True
    return tokens, torch.cat([body, torch.ones_like(mask[:, :1])], dim=1), predicts


@wrong("mask is the attention's mask, causal and without padding, [B, T, T] instead of [B, T]", kind="shape")
def causal_mask(x, y, query, examples, pad):
    tokens, mask, predicts, position, _ = _parts(x, y, query, examples, pad)
    return tokens, mask[:, None, :] & (position[:, None] >= position), predicts


# ---------------------------------------------------------------- wrong: predicts


@wrong("predicts is True at the answers instead of at the positions before them", kind="concept")
def predicts_at_answers(x, y, query, examples, pad):
    tokens, mask, _, position, _ = _parts(x, y, query, examples, pad)
    return tokens, mask, mask & (position % 2 == 1)


change(_unpacked, "query_predicts_nothing",
       "predicts is False at the query, since its answer is not in the prompt", "concept",
       before("return", "predicts[:, -1] = False"))


@wrong("predicts is True at the query alone, not at the questions of the examples", kind="concept")
def query_alone_predicts(x, y, query, examples, pad):
    tokens, mask, _, position, _ = _parts(x, y, query, examples, pad)
    return tokens, mask, (position == position[-1]).repeat(len(tokens), 1)


change(_unpacked, "predicts_in_the_padding", "predicts is every second position, also in the padding", "concept",
       ("predicts, *_", "_, position, _"),
       ("return tokens, mask, predicts", "return tokens, mask, (position % 2 == 0).repeat(len(tokens), 1)"))
change(_unpacked, "predicts_everywhere",
       "predicts is True at all tokens of the prompt, as in pretraining, also at answers", "concept",
       ("mask, predicts, *_", "mask, *_"), ("return tokens, mask, predicts", "return tokens, mask, mask.clone()"))


@wrong(
    "predicts is found by value: True where a token is among the line's questions, so also at answers of that number",
    kind="edge",
)
def predicts_by_value(x, y, query, examples, pad):
    tokens, mask, *_ = _parts(x, y, query, examples, pad)
    predicts = torch.zeros_like(mask)
    for b, e in enumerate(examples.tolist()):
        predicts[b] = mask[b] & torch.isin(tokens[b], torch.cat([x[b, :e], query[b : b + 1]]))
    return tokens, mask, predicts


change(_unpacked, "predicts_skips_pad",
       "questions that have the number of `pad` are left out of predicts (mask is right)", "edge",
       ("return tokens, mask, predicts", "return tokens, mask, predicts & (tokens != pad)"))
change(predicts_at_answers, "predicts_from_the_left_end",
       "predicts stays as in a prompt padded on the right, while tokens and mask are padded on the left", "concept",
       ("mask & (position % 2 == 1)", "(position % 2 == 0) & (position <= 2 * examples[:, None])"))
change(_unpacked, "zero_shot_predicts_nothing",
       "without examples nothing is predicted: the line of a zero-shot prompt is all False in predicts", "edge",
       ("return tokens, mask, predicts", "return tokens, mask, predicts & (examples[:, None] > 0)"))
change(_unpacked, "labels_instead_of_predicts",
       "predicts holds the answers that are to be predicted (−100 elsewhere) instead of True and False", "interface",
       ("return tokens, mask, predicts", "return tokens, mask, torch.where(predicts, tokens.roll(-1, 1), -100)"))


# ---------------------------------------------------------------- wrong: shapes and sizes


@wrong("lines get the length of the batch's longest prompt, 2 max(e) + 1, instead of 2K + 1", kind="shape")
def longest_of_the_batch(x, y, query, examples, pad):
    width = 2 * int(examples.max()) + 1
    return tuple(part[:, -width:] for part in _parts(x, y, query, examples, pad)[:3])


@wrong("one place too many: the query's answer gets a place with `pad` at the end, 2K + 2 in all", kind="shape")
def place_for_the_answer(x, y, query, examples, pad):
    tokens, mask, predicts, *_ = _parts(x, y, query, examples, pad)
    return F.pad(tokens, (0, 1), value=pad), F.pad(mask, (0, 1)), F.pad(predicts, (0, 1))


@wrong("squeeze() on the results: with a single line they come back as [2K + 1]", kind="shape")
def squeezed(x, y, query, examples, pad):
    return tuple(part.squeeze() for part in _parts(x, y, query, examples, pad)[:3])


change(_plain, "squeezed_inputs", "x.squeeze() to be rid of axes of size 1: K = 1 or B = 1 fails", "shape",
       ("_parts(x, y, query, examples, pad)", "_parts(x.squeeze(), y.squeeze(), query, examples, pad)"))
change(_plain, "at_most_64", "at most 64 examples are used: longer prompts lose the rest", "edge",
       ("_parts(x, y, query, examples, pad)", "_parts(x, y, query, examples.clamp(max=64), pad)"))


@wrong("the beginning of the prompt is computed in int8, so that 2(K − e) from 128 on wraps around", kind="numerics")
def begins_in_int8(x, y, query, examples, pad):
    tokens, _, _, position, begin = _parts(x, y, query, examples, pad)
    mask = position >= begin.to(torch.int8).long()
    return torch.where(mask, tokens, pad), mask, mask & (position % 2 == 0)


# ---------------------------------------------------------------- wrong: numbers, layouts, types, state


change(_unpacked, "through_float32", "tokens go through float32 on the way: numbers beyond 2^24 change", "numerics",
       ("return tokens", "return tokens.to(torch.float32).long()"))


@wrong("padding of a negative number is refused with an exception, though any number may be `pad`", kind="edge")
def refuses_negative_pad(x, y, query, examples, pad):
    if pad < 0:
        raise ValueError("pad has to be a token")
    return _parts(x, y, query, examples, pad)[:3]


@wrong("x.view(-1) fails where x or y is no contiguous block", kind="layout")
def by_view(x, y, query, examples, pad):
    B, K = x.shape
    pairs = torch.stack([x.view(-1), y.view(-1)], dim=-1)
    return _parts(pairs[:, 0].reshape(B, K), pairs[:, 1].reshape(B, K), query, examples, pad)[:3]


@wrong("x is read by as_strided as if its lines lay one behind the other: views give other tokens", kind="layout")
def by_strides(x, y, query, examples, pad):
    B, K = x.shape
    return _parts(x.as_strided((B, K), (K, 1)), y, query, examples, pad)[:3]


change(_unpacked, "type_of_x", "tokens has the type of x, so int32 where x is int32; the text asks for int64, but not "
       "whether x may be int32", "interface",
       ("return tokens", "return tokens.to(x.dtype)"), verdict="open")
change(_unpacked, "masks_of_integers", "mask and predicts are int64 with 0 and 1, not torch.bool", "interface",
       ("return tokens, mask, predicts", "return tokens, mask.long(), predicts.long()"))
change(_unpacked, "predicts_before_mask", "predicts comes before mask", "interface",
       ("return tokens, mask, predicts", "return tokens, predicts, mask"))
change(_plain, "without_predicts", "tokens and mask alone come back, without predicts", "interface",
       ("3", "2"))


@wrong("the result is printed, and None comes back", kind="interface")
def printed(x, y, query, examples, pad):
    print(*_parts(x, y, query, examples, pad)[:3], sep="\n")


@wrong("x and y are overwritten with `pad` beyond the examples that are used", kind="interface")
def unused_overwritten(x, y, query, examples, pad):
    unused = torch.arange(x.shape[1], device=x.device) >= examples[:, None]
    x[unused] = pad
    y[unused] = pad
    return _parts(x, y, query, examples, pad)[:3]


@wrong("`examples` is counted down to 0 in place while the prompt is filled from the right", kind="interface")
def counts_down(x, y, query, examples, pad):
    tokens, mask, predicts, *_ = _parts(x, y, query, examples, pad)
    for b in range(len(x)):
        at = tokens.shape[1] - 2
        while examples[b] > 0:
            examples[b] -= 1
            tokens[b, at], tokens[b, at - 1] = y[b, examples[b]], x[b, examples[b]]
            at -= 2
    return tokens, mask, predicts


@wrong(
    "positions and padding are made on the CPU: inputs on another device fail or give results on the CPU",
    kind="interface",
)
def on_the_cpu(x, y, query, examples, pad):
    B, K = x.shape
    tokens = torch.full((B, 2 * K + 1), pad, dtype=torch.int64)
    mask = torch.zeros((B, 2 * K + 1), dtype=torch.bool)
    predicts = torch.zeros((B, 2 * K + 1), dtype=torch.bool)
    for b, e in enumerate(examples.tolist()):
        begin = 2 * (K - e)
        tokens[b, begin:-1:2], tokens[b, begin + 1 :: 2] = x[b, :e], y[b, :e]
        mask[b, begin:], predicts[b, begin::2] = True, True
    tokens[:, -1] = query
    return tokens, mask, predicts


_masks = {}


@wrong(
    "mask is kept for each size of the batch and used again, whatever `examples` says in later calls", kind="interface"
)
def mask_kept(x, y, query, examples, pad):
    tokens, mask, predicts, *_ = _parts(x, y, query, examples, pad)
    mask = _masks.setdefault((tuple(x.shape), x.device), mask)
    return tokens, mask.clone(), predicts


_lines = {}


@wrong(
    "the tensor of tokens is made once for each size and filled again in each call: padding of earlier calls is not "
    "renewed, and earlier results change",
    kind="interface",
)
def tokens_kept(x, y, query, examples, pad):
    right_tokens, mask, predicts, *_ = _parts(x, y, query, examples, pad)
    key = (tuple(x.shape), x.device)
    if key not in _lines:
        _lines[key] = torch.full_like(right_tokens, pad)
    tokens = _lines[key]
    tokens[mask] = right_tokens[mask]
    return tokens, mask, predicts


@right("the arguments are called questions, answers, ...: calls by name fail")
def other_names(questions, answers, query, examples, pad):
    return _parts(questions, answers, query, examples, pad)[:3]


@wrong("`examples` comes before `query`: calls by position mix them up", kind="interface")
def other_order(x, y, examples, query, pad):
    return _parts(x, y, query, examples.clamp(0, x.shape[1]), pad)[:3]


change(_unpacked, "expanded_mask",
       "mask is an expanded view whose lines share their memory, where all lines agree", "layout",
       before("return", """
        if (examples == examples[0]).all():
            mask = mask[:1].expand(len(x), -1)"""), verdict="open")
