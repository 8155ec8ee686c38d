"""A bank of answers, written from the assignments' texts alone: wrong ones are caught and told, right ones pass."""

import os

import pytest
from answers import BANK, answers_to

from autograder.bank import catalogue
from autograder.bank.audit import examine
from autograder.bank.freezing import freeze

pytestmark = pytest.mark.slow

EXERCISES = sorted(file.stem for file in BANK.glob("*.py"))
SEEDS = os.environ.get("BANK_SEEDS", "one").split(",")
SLIPS = {  # wrong answers that are not caught, or not on every draw: what would catch them is not built
    "masked_cross_entropy": {"counts_in_bfloat16", "words_as_floats"},
    "MultiHeadAttention": {"KeepsContext"},
    "generate_with_cache": {"by_half_precision"},
    "greedy_decode": {"coarse_states", "stops_at_a_column_of_pads", "ended_states_zeroed", "by_single_precision"},
    "rotary_encoding": {"rough_pi"},  # less wrong at far positions than angles of single precision may be
    "tiled_attention": {"by_recursion"},
    "SwiGLU": {"ByTanh"},  # what cancels is 10⁻⁸ of the rest
    "TransformerBlock": {"NormBeginsAtZero", "CancellingNorm", "MaskKept"},
    "count_block": {"on_the_cpu"},  # integers are read as numbers, which another device's do not let one do
    "top_k_gates": {"chosen_by_probability"},  # the same but for logits closer than a softmax resolves
    "balance_loss": {"counts_in_bfloat16", "sum_token_by_token"},
    "mixture_of_experts": {"zeros_without_device"},
    "interpolate_positions": {
        "centres_in_single",
        "by_differences",
        "divides_at_the_end",
        "small_ones_cut_off",
        "centred_first",
        "centres_in_bfloat16",
    },
    "VisionTransformer": {"ZeroTokensMasked", "NumberOfPatchesKept", "MeanWithEps"},
    "count_vit": {"on_the_cpu"},
    "distillation_loss": {
        "decision_after_softmax",
        "teacher_in_float32",
        "table_on_the_default_device",
        "constant_for_one_class",
    },
    "shifted_window_mask": {"kept_without_the_shift", "numbered_in_bfloat16", "compared_with_tolerance"},
    "patchify": {"shifted_and_back"},
    "add_class_token_and_positions": {"differences_of_sums"},
    "PatchEmbedding": {"ViewOfThePixels", "TinyTokensVanish", "PatchesConvolved", "PatchAfterPatch"},
}
UNSAID = ("wrong_value", "not_finite", "wrong_shape", "exception")  # problems that say little by themselves
TOLD = 0.5  # the least share of an exercise's wrong answers whose mistake is named, related, or of a kind that says it


@pytest.fixture(scope="module", params=EXERCISES)
def examined(request):
    """For one exercise: (answer, its result on each seed)."""
    exercise = catalogue.find_exercise(request.param)
    drawn = [freeze(exercise, seed, grading=True) for seed in SEEDS]
    return request.param, [
        (one, [examine(frozen, one.object) for frozen in drawn]) for one in answers_to(request.param)
    ]


def test_the_bank_is_as_large_as_it_should_be(examined):
    name, answers = examined
    verdicts = [answer.verdict for answer, _ in answers]
    assert verdicts.count("wrong") >= 40 and verdicts.count("right") >= 8, name


def test_right_answers_pass(examined):
    name, answers = examined
    for answer, results in answers:
        if answer.verdict == "right":
            failed = [result.message for result in results if not result.passed]
            assert not failed, f"{answer.name} ({answer.words})\n{failed[0]}"


def test_wrong_answers_are_caught(examined):
    name, answers = examined
    slipped = {
        answer.name for answer, results in answers if answer.verdict == "wrong" and any(one.passed for one in results)
    }
    assert slipped <= SLIPS.get(name, set())


def test_most_wrong_answers_are_told_what_is_wrong(examined):
    name, answers = examined
    caught = [results for answer, results in answers if answer.verdict == "wrong" and not results[0].passed]
    told = [one for one in caught if one[0].misconception or one[0].relation or one[0].problem not in UNSAID]
    assert len(told) >= TOLD * len(caught), f"{len(told)} of {len(caught)}"


def test_no_sentence_is_the_kits_own_error(examined):
    name, answers = examined
    for answer, results in answers:
        for result in results:
            assert result.passed or result.message.startswith("✗ "), answer.name
            assert "Traceback" not in result.message, answer.name
