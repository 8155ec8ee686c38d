"""Metrics against sacrebleu, and the training loop."""

import pytest
import sacrebleu
import torch
from torch import nn

from utils.data.translation import corpus
from utils.measures.translation_quality import bleu, token_accuracy
from utils.models.training import train


def test_bleu_agrees_with_sacrebleu_on_spoilt_translations():
    references = [list(pair.target) for pair in corpus("french", 60, 8, 30)]
    spoilt = [words[: -1 - len(words) % 3] + words[2:4] for words in references]
    ours = bleu(spoilt, references)
    theirs = sacrebleu.corpus_bleu(
        [" ".join(words) for words in spoilt],
        [[" ".join(words) for words in references]],
        tokenize="none",
        smooth_method="none",
        force=True,
    ).score
    assert ours == pytest.approx(theirs, abs=1e-6) and 20 < ours < 95


def test_bleu_punishes_what_is_too_short_and_is_zero_without_a_match_of_four():
    words = "the cat sat on the mat today".split()
    assert bleu([words], [words]) == pytest.approx(100)
    assert bleu([words[:5]], [words]) == pytest.approx(100 * 2.718281828459045 ** (1 - 7 / 5))
    assert bleu(["the cat is on the mat".split()], ["the cat sat on the mat".split()]) == 0
    assert bleu([[]], [words]) == 0


def test_token_accuracy_counts_places_of_the_reference():
    assert token_accuracy("a b d".split(), "a b c d".split()) == 0.5
    assert token_accuracy("a b c d e".split(), "a b c d".split()) == 1
    assert token_accuracy([], ["a"]) == 0


def test_training_lowers_the_loss_and_is_the_same_each_time():
    def run():
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        X = torch.randn(64, 3)
        Y = X @ torch.randn(3, 2)
        curve = train(
            model, ((X, Y) for _ in range(400)), lambda m, b: (m(b[0]) - b[1]).square().mean(), steps=300, rate=0.05
        )
        return model, curve

    model, curve = run()
    assert len(curve) == 300 and curve[-1] < 1e-3 < curve[0] and not model.training
    assert run()[1] == curve
