"""Label smoothing, the warm-up and the length penalty of unit 10 against torch, transformers, and numbers worked out by hand."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close
from transformers import get_inverse_sqrt_schedule
from transformers.trainer_pt_utils import LabelSmoother

from autograder.bank.catalogue import find_exercise
from utils.data.translation import PAD, STOP

B, T, V = 4, 7, 13


def reference(name):
    return find_exercise(name).reference


def sentences():
    """Logits, and targets of which some are padding."""
    torch.manual_seed(0)
    targets = torch.randint(STOP + 1, V, (B, T))
    for b, length in enumerate((7, 3, 5, 1)):
        targets[b, length - 1], targets[b, length:] = STOP, PAD
    return torch.randn(B, T, V) * 3, targets


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.35, 1.0])
def test_smoothed_cross_entropy_is_torchs(smoothing):
    logits, targets = sentences()
    theirs = F.cross_entropy(logits.mT, targets, label_smoothing=smoothing, ignore_index=PAD)
    assert_close(reference("smoothed_cross_entropy")(logits, targets, smoothing), theirs)


def test_smoothed_cross_entropy_is_that_of_transformers():
    logits, targets = sentences()
    labels = targets.masked_fill(targets == PAD, -100)
    theirs = LabelSmoother(epsilon=0.1)({"logits": logits}, labels)
    assert_close(reference("smoothed_cross_entropy")(logits, targets, 0.1), theirs)


def test_its_gradient_is_how_far_the_prediction_is_from_the_smoothed_target():
    logits, targets = sentences()
    logits.requires_grad_()
    (gradient,) = torch.autograd.grad(reference("smoothed_cross_entropy")(logits, targets, 0.2), logits)
    q = 0.8 * F.one_hot(targets, V) + 0.2 / V
    real = (targets != PAD).unsqueeze(-1)
    assert_close(gradient, (logits.detach().softmax(dim=-1) - q) * real / real.sum())


@pytest.mark.parametrize(("D", "warmup"), [(512, 4000), (64, 100), (10, 1)])
def test_the_learning_rate_is_that_of_transformers_with_the_papers_peak(D, warmup):
    peak = (D * warmup) ** -0.5
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=peak)
    theirs = get_inverse_sqrt_schedule(optimiser, num_warmup_steps=warmup).lr_lambdas[0]
    steps = torch.tensor([1, 2, max(warmup // 2, 1), warmup, warmup + 1, 3 * warmup, 100_000])
    wanted = torch.tensor([peak * theirs(step) for step in steps.tolist()])
    assert_close(reference("learning_rate")(steps, D, warmup), wanted, rtol=1e-5, atol=0.0)


def test_the_base_models_rate_has_its_peak_after_4000_steps():
    rates = reference("learning_rate")(torch.arange(1, 20_001), 512, 4000)
    assert rates.argmax() + 1 == 4000 and math.isclose(rates.max(), 6.987712e-4, rel_tol=1e-5)
    assert_close(rates[15_999], rates[3_999] / 2)  # at four times the step, half


def test_the_penalty_is_that_of_wu_et_al():
    tokens = torch.tensor([[7, STOP, PAD, PAD], [5, 6, 4, STOP], [9, 8, 7, 6], [STOP, PAD, PAD, PAD]])
    logs = torch.tensor(
        [[-1.0, -0.5, -9.0, 3.0], [-0.5, -0.5, -0.5, -0.5], [-1.0, -1.0, -1.0, -1.0], [-2.5, 0, 0, -math.inf]]
    )
    scores = reference("penalised_scores")(logs, tokens, 0.6)
    wanted = [-1.5 / (7 / 6) ** 0.6, -2.0 / 1.5**0.6, -4.0 / 1.5**0.6, -2.5]  # a single word has no penalty
    assert_close(scores, torch.tensor(wanted))


def test_without_a_penalty_the_shorter_translation_wins_and_with_one_the_longer_may():
    tokens = torch.tensor([[7, STOP, PAD, PAD], [5, 6, 4, STOP]])
    logs = torch.tensor([[-1.0, -0.8, 0.0, 0.0], [-0.5, -0.5, -0.5, -0.5]])
    best = [int(reference("penalised_scores")(logs, tokens, alpha).argmax()) for alpha in (0.0, 0.6)]
    assert best == [0, 1]
