"""Exercise 5 again: mistakes in the probability of a token, and in its logarithm."""

import torch

from autograder.exercises.unit_11_language_models.perplexity.declaration import (
    _both,
    _mean,
    _predicted,
    _surprisal,
    perplexity,
)


@perplexity.misconception
def logarithm_of_a_softmax(logits, tokens, lengths):
    """The formula is right, but not where a token is very unlikely: its probability is rounded to 0, and the logarithm of 0 is
    −∞. log_softmax and F.cross_entropy compute the logarithm of the softmax in one step and stay finite."""
    p = logits[:, :-1].softmax(dim=-1).gather(2, tokens[:, 1:, None])[:, :, 0]
    return _both(_mean(-p.log(), _predicted(tokens, lengths)))


def _with_a_small_number(change):
    def made(logits, tokens, lengths):
        """A small number was added to the probabilities, or set as their lower bound, so that no logarithm is −∞. It hides how
        unlikely a token was: take log_softmax or F.cross_entropy, which stay exact."""
        p = logits[:, :-1].softmax(dim=-1).gather(2, tokens[:, 1:, None])[:, :, 0]
        return _both(_mean(-change(p).log(), _predicted(tokens, lengths)))

    return made


for _exponent in (8, 9, 10, 12):
    _made = _with_a_small_number(lambda p, small=10.0**-_exponent: p + small)
    _made.__name__ = f"one_in_ten_to_the_{_exponent}_in_the_logarithm"
    perplexity.misconception(_made)


def _above_20(cut):
    def made(logits, tokens, lengths):
        """Where the loss is above some bound, such as 20, something else stands in the place of exp(loss), or of the loss too.
        However far off a model is, its perplexity is exp(loss), and no number here is too large for that."""
        loss = _mean(_surprisal(logits, tokens), _predicted(tokens, lengths))
        return cut(loss) if loss > 20 else _both(loss)

    return made


for _name, _cut in {
    "loss_cut_off": lambda loss: _both(loss.clamp(max=20)),
    "perplexity_cut_off": lambda loss: (loss, loss.clamp(max=20).exp()),
    "perplexity_infinite": lambda loss: (loss, torch.full_like(loss, torch.inf)),
}.items():
    _made = _above_20(_cut)
    _made.__name__ = _name
    perplexity.misconception(_made)


@perplexity.misconception
def product_of_probabilities(logits, tokens, lengths):
    """The probabilities are multiplied before the logarithm, or a root, is taken. In a long text, or with an unlikely token, the
    product is too small to be written down and becomes 0: sum logarithms of probabilities."""
    p = (-_surprisal(logits, tokens)).exp().masked_fill(~_predicted(tokens, lengths), 1.0)
    return _both(-p.prod().log() / (lengths - 1).sum())


@perplexity.misconception
def softmax_twice(logits, tokens, lengths):
    """The softmax is applied twice: the logits were turned into probabilities, and these were treated as logits again.
    F.cross_entropy and log_softmax take the logits as they are."""
    return _both(_mean(_surprisal(logits.softmax(dim=-1), tokens), _predicted(tokens, lengths)))


@perplexity.misconception
def softmax_over_positions(logits, tokens, lengths):
    """The softmax runs over the positions of a text. At each position the tokens of the vocabulary share a probability of 1:
    the softmax runs over the last axis of logits."""
    nll = -logits.log_softmax(dim=1)[:, :-1].gather(2, tokens[:, 1:, None])[:, :, 0]
    return _both(_mean(nll, _predicted(tokens, lengths)))


@perplexity.misconception
def probability_for_its_logarithm(logits, tokens, lengths):
    """The logarithm is missing: the loss is minus the mean probability of the tokens. It should be minus the mean of log p."""
    return _both(_mean(-(-_surprisal(logits, tokens)).exp(), _predicted(tokens, lengths)))


@perplexity.misconception
def likeliest_tokens(logits, tokens, lengths):
    """The loss is that of the model's likeliest tokens, so it says how sure the model is, not whether it is right. Asked for
    is how likely the tokens of the text are."""
    best = -logits[:, :-1].log_softmax(dim=-1).amax(dim=-1)
    return _both(_mean(best, _predicted(tokens, lengths)))


@perplexity.misconception
def entropy_of_the_predictions(logits, tokens, lengths):
    """The loss is the mean entropy of the predicted distributions, −Σ p log p over the vocabulary: it does not depend on which
    token came. The loss takes −log p of the token that the text has next."""
    log_p = logits[:, :-1].log_softmax(dim=-1)
    return _both(_mean(-(log_p.exp() * log_p).sum(dim=-1), _predicted(tokens, lengths)))
