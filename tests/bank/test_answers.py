"""A bank of answers, written from the assignments' texts alone: wrong ones are caught and told, right ones pass."""

import os

import pytest
from answers import BANK, answers_to

from autograder.bank import catalogue
from autograder.bank.freezing import freeze
from autograder.grading.concluding import conclude_look, failing_places
from autograder.grading.looks import first_look, joint_places, whole_look
from utils.checking.concluding import examine
from utils.checking.observing.observe import observe

pytestmark = pytest.mark.slow

EXERCISES = sorted(file.stem for file in BANK.glob("*.py"))
SEEDS = os.environ.get("BANK_SEEDS", "one").split(",")
# torch has no cdist for bfloat16, which costs nobody anything
# by less than a scale of single precision may be off in double
SLIPS = {  # wrong answers that are not caught, or not on every draw: what would catch them is not built
    "masked_cross_entropy": {"counts_in_bfloat16", "words_as_floats"},
    "MultiHeadAttention": {
        "KeepsContext",
        "ByDistances",
    },
    "scaled_dot_product_attention": {"eps_in_the_sum"},  # by 1e-5, as far as single precision is off
    "tiled_attention": {"epsilon"},
    "generate_with_cache": {"by_half_precision"},
    "greedy_decode": {"ended_states_zeroed", "by_single_precision"},
    "rotary_encoding": {"rough_pi"},  # less wrong at far positions than angles of single precision may be
    "SwiGLU": {"ByTanh"},  # what cancels is 10⁻⁸ of the rest
    "TransformerBlock": {"CancellingNorm", "MaskKept"},
    "balance_loss": {"counts_in_bfloat16", "sum_token_by_token"},
    "interpolate_positions": {"centres_in_single", "divides_at_the_end", "weights_with_eps"},
    "bpe_decode": {"merges_in_float32"},  # a vocabulary that shows it would forbid a list of all tokens
    "byte_pair_merges": {"text_in_float32"},  # the same, for a table of all pairs
    "perplexity": {"sum_token_by_token"},  # in bfloat16, which asks for a few digits only
    "LoRALinear": {"FactorInFloat32"},  # in double by 6·10⁻⁸ at most, which is less than is asked for
    "add_adapters": {"to_the_cpu"},  # the toy network stays on the CPU
    "prefix_attention": {"by_logsumexp"},  # where it shows, rounding the scores moves the weights as far
    "VisionTransformer": {
        "MeanWithEps",
        "OtherEpsilon",
    },
    "distillation_loss": {"constant_for_one_class"},
    "PatchEmbedding": {"PatchesConvolved", "PatchAfterPatch"},  # the numbers are right
    "zero_shot_probabilities": {"scale_at_most_100"},  # so near to 0 that classes are 0 or 1 either way
    "kept_captions": {"by_numpy"},  # which has no bfloat16
    "negative_probabilities": {"minus_ten_thousand"},  # no similarity is below that
    "matching_batch": {"picked_by_a_product"},  # by 6·10⁻⁸ in double, which is less than is asked for
}
UNSAID = ("wrong_value", "not_finite", "wrong_shape", "exception")  # problems that say little by themselves
TOLD = 0.5  # the least share of an exercise's wrong answers whose mistake is named, related, or of a kind that says it


# one group an exercise: where several processes test, all that is asked of its answers is asked in the one that examined them
GROUPED = [pytest.param(name, marks=pytest.mark.xdist_group(f"answers to {name}")) for name in EXERCISES]


@pytest.fixture(scope="module", params=GROUPED, ids=lambda name: name)
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
    wrong, right = (20, 6) if catalogue.find_exercise(name).unit >= "16" else (40, 8)
    assert verdicts.count("wrong") >= wrong and verdicts.count("right") >= right, name


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


def test_the_first_look_of_grading_says_what_all_cases_say(examined):
    name, answers = examined
    look = first_look(name, SEEDS[0])
    joint = look.among(joint_places(look, whole_look(name, SEEDS[0])))
    for answer, results in answers:
        if results[0].passed:
            observations = [observe(answer.object, case) for case in joint.cases]
            if failing_places(joint, observations):  # then grading measures the room for rounding, too
                result = conclude_look(joint, observations, reveal=True).result
                assert result.passed, f"{answer.name} ({answer.words})\n{result.message}"
        else:
            pairs = ((place, observe(answer.object, case)) for place, case in enumerate(look.cases))
            assert not all(look.is_passed(*pair) or look.is_within_rounding(*pair) for pair in pairs), (
                f"{answer.name} ({answer.words}) passes the first look"
            )


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
