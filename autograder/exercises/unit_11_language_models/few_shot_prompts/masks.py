"""Exercise 7 again: mistakes in which positions hold tokens, and at which of them an answer is predicted."""

from autograder.exercises.unit_11_language_models.few_shot_prompts.declaration import (
    _at_questions,
    _first,
    _made,
    _pairs,
    _places,
    _real,
    few_shot_prompts,
)


@few_shot_prompts.misconception
def mask_from_pad(x, y, query, examples, pad):
    """mask is False wherever the token is equal to pad. A question, an answer or the query may have the same number, as with a
    pad that is the end-of-text token: which positions are padding follows from `examples` alone."""
    tokens = _first(_pairs(x, y), x, query, examples, pad)
    return _made(x, y, query, examples, pad, mask=tokens != pad)


@few_shot_prompts.misconception
def both_masks_from_pad(x, y, query, examples, pad):
    """Wherever the token is equal to pad, mask and predicts are False. A question, an answer or the query may have the same
    number, as with a pad that is the end-of-text token: which positions are padding follows from `examples` alone."""
    real = _first(_pairs(x, y), x, query, examples, pad) != pad
    return _made(x, y, query, examples, pad, mask=real, predicts=real & _at_questions(x, examples))


@few_shot_prompts.misconception
def mask_without_the_query(x, y, query, examples, pad):
    """mask is True at the examples but not at the query. The query is a token of the prompt like the others, and the model has to
    read it."""
    mask = _real(x, examples)
    return _made(x, y, query, examples, pad, mask=mask & (_places(x) < mask.shape[1] - 1))


@few_shot_prompts.misconception
def mask_counts_examples(x, y, query, examples, pad):
    """mask is True at the last e + 1 positions, as if each of the e examples were a single token. An example is two tokens, a
    question and an answer, and the query is one more."""
    return _made(x, y, query, examples, pad, mask=_places(x) >= 2 * x.shape[1] - examples[:, None])


@few_shot_prompts.misconception
def predicts_at_the_answers(x, y, query, examples, pad):
    """predicts is True at the answers themselves. A language model's logits at one position are for the next token: an answer is
    predicted at the position before it, where its question stands, and that of the query at the query."""
    return _made(x, y, query, examples, pad, predicts=_real(x, examples) & (_places(x) % 2 == 1))


@few_shot_prompts.misconception
def predicts_at_answers_and_query(x, y, query, examples, pad):
    """In the examples predicts is True at the answers themselves, only the query is as it should be. The logits at one position
    are for the next token: as at the query, each answer is predicted where its question stands."""
    last = _places(x) == 2 * x.shape[1]
    return _made(x, y, query, examples, pad, predicts=_real(x, examples) & ((_places(x) % 2 == 1) | last))


@few_shot_prompts.misconception
def predicts_without_the_query(x, y, query, examples, pad):
    """predicts is False at the query. Its answer is not in the prompt, but it is the very one that is asked for: the token after
    the query is an answer too."""
    predicts = _at_questions(x, examples)
    return _made(x, y, query, examples, pad, predicts=predicts & (_places(x) < predicts.shape[1] - 1))


@few_shot_prompts.misconception
def predicts_at_the_query_alone(x, y, query, examples, pad):
    """predicts is True at the query alone. The answers of the examples are predicted as well, each where its question stands, and
    a loss over these trains the model to learn from examples."""
    return _made(x, y, query, examples, pad, predicts=(_places(x) == 2 * x.shape[1]).expand(len(x), -1))


@few_shot_prompts.misconception
def predicts_every_token(x, y, query, examples, pad):
    """predicts is True at all tokens of the prompt, at answers too. After an answer comes the next question, which nobody can
    foretell: predicts is True only where the next token is an answer."""
    return _made(x, y, query, examples, pad, predicts=_real(x, examples))


@few_shot_prompts.misconception
def predicts_in_the_padding(x, y, query, examples, pad):
    """predicts is True at every second position, in the padding as well. No answer follows there: it is True at the questions
    that the prompt holds, and at its query."""
    return _made(x, y, query, examples, pad, predicts=(_places(x) % 2 == 0).expand(len(x), -1))
