"""Answers to picture_prefix (assignment 17)."""

import torch
import torch.nn.functional as F
from answers import change, left_open, right, wrong

# ---------------------------------------------------------------- right


@right("One number line over all M + N positions, compared with both borders moved by M")
def one_number_line(picture, words, tokens, prompts, lengths):
    B, M, _ = picture.shape
    N = words.shape[1]
    place = torch.arange(-M, N, device=tokens.device)
    learned = (place >= prompts.reshape(B, 1)) & (place < lengths.reshape(B, 1))
    padded = torch.cat([tokens[:, :1].expand(B, M), tokens], dim=1)
    return torch.cat([picture, words], dim=1), torch.where(learned, padded, -100)


@right("Plain loops over texts and positions, on a sheet filled with -100")
def entry_by_entry(picture, words, tokens, prompts, lengths):
    B, M = picture.shape[:2]
    labels = tokens.new_full((B, M + tokens.shape[1]), -100)
    for b in range(B):
        for n in range(int(prompts[b]), int(lengths[b])):
            labels[b, M + n] = tokens[b, n]
    return torch.hstack((picture, words)), labels


@right("Empty tensors filled by slices, one slice of answer tokens for each text")
def filled_by_slices(picture, words, tokens, prompts, lengths):
    (B, M, D), N = picture.shape, tokens.size(1)
    inputs = words.new_empty(B, M + N, D)
    inputs[:, :M], inputs[:, M:] = picture, words
    labels = torch.full((B, M + N), -100, dtype=tokens.dtype, device=tokens.device)
    for row, source, start, end in zip(labels, tokens, prompts.tolist(), lengths.tolist()):
        row[M + start : M + end] = source[start:end]
    return inputs, labels


@right("A copy of the tokens, overwritten with -100 outside the answer, and padded on the left")
def copied_and_padded(picture, words, tokens, prompts, lengths):
    place = torch.arange(tokens.shape[-1], device=tokens.device)[None]
    labels = tokens.clone()
    labels[place < prompts[:, None]] = -100
    labels[place >= lengths[:, None]] = -100
    M = picture.shape[-2]
    inputs = F.pad(words, (0, 0, M, 0)) + F.pad(picture, (0, 0, 0, words.shape[-2]))
    return inputs, F.pad(labels, (M, 0), value=-100)


@right("A switch turned on at the prompt's end and off at the text's, summed along the text")
def switched_by_cumsum(picture, words, tokens, prompts, lengths):
    B, N = tokens.shape
    switch = torch.zeros(B, N + 1, dtype=torch.int64, device=tokens.device)
    switch.scatter_add_(1, prompts.long()[:, None], torch.ones_like(switch))
    switch.scatter_add_(1, lengths.long()[:, None], -torch.ones_like(switch))
    on = switch.cumsum(dim=1)[:, :N].to(tokens.dtype)
    text = tokens * on - 100 * (1 - on)
    nothing = torch.full_like(picture[..., 0], -100, dtype=tokens.dtype)
    return torch.concatenate((picture, words), 1), torch.concatenate((nothing, text), 1)


@right("The addresses of all answer tokens by nonzero, and one assignment by index")
def by_addresses(picture, words, tokens, prompts, lengths):
    M = picture.size(1)
    place = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
    row, column = torch.nonzero((place - prompts[:, None] >= 0) & (place - lengths[:, None] < 0), as_tuple=True)
    labels = torch.full((len(tokens), M + tokens.size(1)), -100, device=tokens.device).to(tokens.dtype)
    labels[row, column + M] = tokens[row, column]
    return torch.stack([torch.vstack(pair) for pair in zip(picture, words)]), labels


@right("Each text is cut into prompt, answer and padding, and glued again")
def cut_and_glued(picture, words, tokens, prompts, lengths):
    M, N = picture.shape[1], tokens.shape[1]
    rows = []
    for text, start, end in zip(tokens, prompts.tolist(), lengths.tolist()):
        rows.append(torch.cat([text.new_full((M + start,), -100), text[start:end], text.new_full((N - end,), -100)]))
    return torch.cat((picture.transpose(1, 2), words.transpose(1, 2)), dim=-1).transpose(1, 2), torch.stack(rows)


# ---------------------------------------------------------------- wrong


def _text(tokens, start, end):
    """The text's labels, learned from start up to end."""
    place = torch.arange(tokens.shape[1], device=tokens.device)
    return tokens.masked_fill((place < start[:, None]) | (place >= end[:, None]), -100)


def _behind(picture, text, value=-100):
    return torch.cat([text.new_full(picture.shape[:2], value), text], dim=1)


def _inputs(picture, words):
    return torch.cat([picture, words], dim=1)


@wrong("the labels are already shifted: each position holds the token that comes next", kind="concept")
def shifted_already(picture, words, tokens, prompts, lengths):
    labels = _behind(picture, _text(tokens, prompts, lengths))
    return _inputs(picture, words), torch.cat([labels[:, 1:], labels.new_full((len(labels), 1), -100)], dim=1)


# Right, and not registered: answers below are changes of it.
def _plain(picture, words, tokens, prompts, lengths):
    return _inputs(picture, words), _behind(picture, _text(tokens, prompts, lengths))


change(_plain, "prompt_is_learned", "the prompt is learned too: only picture and padding are left out", "concept",
       ("_text(tokens, prompts, lengths)", "_text(tokens, torch.zeros_like(prompts), lengths)"))


@wrong("padding is learned: everything behind the prompt counts as the answer", kind="concept")
def padding_is_learned(picture, words, tokens, prompts, lengths):
    return _inputs(picture, words), _behind(picture, _text(tokens, prompts, lengths * 0 + tokens.shape[1]))


change(_plain, "question_for_answer", "the prompt is learned and the answer is not (the two are swapped)", "concept",
       ("_text(tokens, prompts, lengths)", "_text(tokens, torch.zeros_like(prompts), prompts)"))
change(_plain, "words_first", "the words stand before the picture in the inputs", "concept",
       ("_inputs(picture, words)", "_inputs(words, picture)"))


@wrong("the -100 of the picture stand behind the text's labels, not before them", kind="concept")
def picture_labels_behind(picture, words, tokens, prompts, lengths):
    text = _text(tokens, prompts, lengths)
    return _inputs(picture, words), torch.cat([text, text.new_full(picture.shape[:2], -100)], dim=1)


@wrong("padding is recognised by token 0, not by the lengths", kind="concept")
def padding_is_token_zero(picture, words, tokens, prompts, lengths):
    place = torch.arange(tokens.shape[1], device=tokens.device)
    text = tokens.masked_fill((place < prompts[:, None]) | (tokens == 0), -100)
    return _inputs(picture, words), _behind(picture, text)


@wrong("prompts and lengths are counted from the start of the picture, not of the text", kind="concept")
def counted_from_the_picture(picture, words, tokens, prompts, lengths):
    labels = _behind(picture, tokens)
    return _inputs(picture, words), _text(labels, prompts.clamp(min=picture.shape[1]), lengths)


@wrong("the end is taken as prompt plus length, as if lengths held the answer's length", kind="concept")
def length_of_the_answer(picture, words, tokens, prompts, lengths):
    return _inputs(picture, words), _behind(picture, _text(tokens, prompts, prompts + lengths))


change(_plain, "one_prompt_for_all", "the prompt of the first text is used for all texts", "concept",
       ("_text(tokens, prompts, lengths)", "_text(tokens, prompts[:1], lengths)"))


@wrong("what is not to be learned at prompt and padding is marked by -1 in place of -100", kind="concept")
def minus_one(picture, words, tokens, prompts, lengths):
    text = _text(tokens, prompts, lengths)
    return _inputs(picture, words), _behind(picture, text.masked_fill(text == -100, -1))


change(_plain, "picture_labelled_zero", "at the picture the labels are 0 in place of -100", "concept",
       ("_text(tokens, prompts, lengths)", "_text(tokens, prompts, lengths), value=0"))


@wrong("the vectors of padding words are set to zero in the inputs", kind="concept")
def padding_zeroed(picture, words, tokens, prompts, lengths):
    kept = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
    return _inputs(picture, words * kept[..., None].to(words.dtype)), _behind(picture, _text(tokens, prompts, lengths))


@wrong("the answer's first token is not learned (place > prompts in place of >=)", kind="edge")
def first_answer_token_lost(picture, words, tokens, prompts, lengths):
    return _inputs(picture, words), _behind(picture, _text(tokens, prompts + 1, lengths))


change(_plain, "last_answer_token_lost", "the answer's last token is not learned: it ends at lengths - 1", "edge",
       ("_text(tokens, prompts, lengths)", "_text(tokens, prompts, lengths - 1)"))


@wrong("one position of padding is learned: places up to and including lengths[b] count", kind="edge")
def one_padding_learned(picture, words, tokens, prompts, lengths):
    return _inputs(picture, words), _behind(picture, _text(tokens, prompts, lengths + 1))


@wrong("the picture gets D labels in place of M", kind="shape")
def as_many_labels_as_features(picture, words, tokens, prompts, lengths):
    text = _text(tokens, prompts, lengths)
    nothing = text.new_full((len(tokens), picture.shape[-1]), -100)
    return _inputs(picture, words), torch.cat([nothing, text], dim=1)


change(_plain, "labels_of_the_text_alone", "the labels cover the N positions of the text alone", "shape",
       ("_behind(picture, _text(tokens, prompts, lengths))", "_text(tokens, prompts, lengths)"))


@wrong("-100 is written into the given tokens", kind="interface")
def written_into_the_tokens(picture, words, tokens, prompts, lengths):
    place = torch.arange(tokens.shape[1], device=tokens.device)
    tokens[(place < prompts[:, None]) | (place >= lengths[:, None])] = -100
    return _inputs(picture, words), _behind(picture, tokens)


@left_open("the labels are always int64, also for tokens of int32", kind="interface")
def always_long(picture, words, tokens, prompts, lengths):
    nothing = torch.full(picture.shape[:2], -100, device=tokens.device)
    return _inputs(picture, words), torch.cat([nothing, _text(tokens, prompts, lengths)], dim=1)


@wrong("the positions are counted on the CPU, which fails with tokens on another device", kind="interface")
def places_on_the_cpu(picture, words, tokens, prompts, lengths):
    place = torch.arange(tokens.shape[1])
    text = tokens.masked_fill((place < prompts[:, None]) | (place >= lengths[:, None]), -100)
    return _inputs(picture, words), _behind(picture, text)


change(_plain, "words_detached", "the words are detached, because the language model is frozen", "gradient",
       ("_inputs(picture, words)", "_inputs(picture, words.detach())"))
