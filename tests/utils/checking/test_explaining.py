"""What is named or said of a condition holds for all that was seen, not for the part of it that fits."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from answers import answers_to
from examining import examine_hidden
from torch import nn

from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import freeze
from utils.checking.concluding import examine
from utils.checking.explaining import weights
from utils.checking.explaining.facts import Fact, Kind
from utils.checking.messages.wrong_numbers import numbers
from utils.checking.records import Output


def masked_softmax(E, mask):
    """Right, but for a single key, which gets a weight of 1 whatever the mask says."""
    if E.shape[-1] == 1:
        return E.softmax(dim=-1)
    nothing = ~mask.expand(E.shape).any(dim=-1, keepdim=True)
    hidden = E.masked_fill(~mask, -torch.inf)
    return torch.where(nothing, 0.0, torch.where(nothing, 0.0, hidden).softmax(dim=-1))


def attention_weights(E, mask):
    """Right, but that weights below a thousandth become 0: on wide spreads, and in long sentences of ordinary scores."""
    A = E.masked_fill(~mask.unsqueeze(-2), -torch.inf).softmax(dim=-1)
    return torch.where(A < 1e-3, 0.0, A)


def test_a_mistake_that_would_fail_where_the_code_passes_is_not_named():
    result = examine_hidden(freeze(find_exercise("masked_softmax"), "six", grading=True), masked_softmax)
    assert not result.passed and result.misconception is None


def test_a_condition_is_told_only_where_nothing_else_fails():
    result = examine_hidden(freeze(find_exercise("attention_weights"), "eight", grading=True), attention_weights)
    assert not result.passed and {"spread", "scale"} <= {one.condition for one in result.verdicts if not one.passed}
    assert "numbers that differ much in size" not in " ".join(result.message.split())


def said(name, made, seed="six"):
    """The message on what was made, in one line."""
    result = examine_hidden(freeze(find_exercise(name), seed, grading=True), made)
    assert not result.passed
    return " ".join(result.message.split())


class ExchangedWidths(nn.Module):
    """Right, but that __init__ takes D_Q before D_X."""

    def __init__(self, D_Q, D_X, D_V):
        super().__init__()
        self.W_K, self.W_V = nn.Linear(D_X, D_Q, bias=False), nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        A = (Q @ self.W_K(X).mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
        return A @ self.W_V(X), A


def test_where_arguments_by_position_alone_fail_their_order_is_told_and_no_layer_is_blamed():
    told = said("AttentionLayer", ExchangedWidths)
    assert "by position it is not" in told and "__init__(self, D_X, D_Q, D_V)" in told
    assert "wrong shape" not in told


def nearly_normalised(Q, X):
    """Weights that sum to a little less than 1, within tolerance in short rows of large weights."""
    E = Q @ X.mT / math.sqrt(Q.shape[-1])
    P = (E - E.amax(dim=-1, keepdim=True)).exp()
    A = P / (P.sum(dim=-1, keepdim=True) + 1.5e-5)
    return A @ X, A


def test_what_is_off_within_tolerance_is_not_called_right():
    for seed in ("one", "two", "three"):
        told = said("scaled_dot_product_attention", nearly_normalised, seed)
        assert "A is right" not in told and "Sizes larger than 1 give the right result" not in told
        assert "fails exactly where" not in told and "All else that was checked holds" not in told


def times_infinity(E, mask):
    return (E + (~mask.unsqueeze(-2)).to(E.dtype) * -torch.inf).softmax(dim=-1)


def test_nan_is_no_sign_of_another_input():
    told = said("attention_weights", times_infinity)
    assert "contains NaN" in told and "one would get" not in told


def cut_if_a_row_is_empty(E, mask):
    """Right numbers, but no gradient as soon as one row allows nothing."""
    nothing = ~mask.any(dim=-1, keepdim=True)
    A = E.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return A.detach().masked_fill(nothing, 0.0) if nothing.any() else A


def test_no_gradient_is_no_gradient_of_nan():
    told = said("masked_softmax", cut_if_a_row_is_empty)
    assert "no gradient reaches E" in told and "NaN" not in told


def blind_to_the_third(decoder, prompt, steps):
    """Right for two tokens; from the third on the last logits are those of the token before."""
    N = prompt.shape[1]
    new, K, V, chosen, said = prompt, None, None, [], []
    for step in range(steps):
        m, n = 0 if K is None else K.shape[2], new.shape[1]
        mask = torch.arange(m + n, device=new.device) <= torch.arange(m, m + n, device=new.device)[:, None]
        if step > 1:
            mask = mask & (torch.arange(m + n, device=new.device) != N)
        logits, k, v = decoder(new, torch.arange(m, m + n, device=new.device), mask, K, V)
        K, V = (one if old is None else torch.cat([old, one], dim=2) for old, one in ((K, k), (V, v)))
        said.append(logits[:, -1])
        new = said[-1].argmax(dim=-1, keepdim=True)
        chosen.append(new)
    return torch.cat(chosen, dim=1), torch.stack(said, dim=1)


def test_the_last_position_is_told_only_where_no_longer_case_belies_it():
    told = said("generate_with_cache", blind_to_the_third)
    assert "right but for the last position" not in told
    assert "right at the first 2 positions" in told or "right at the first positions" in told


class OtherDefault(nn.Module):
    """Right wherever a context is given; without one, keys and values are those of the first vector alone."""

    def __init__(self, H, D_H):
        super().__init__()
        self.H, self.W_QKV, self.W_O = H, nn.Linear(H * D_H, 3 * H * D_H), nn.Linear(H * D_H, H * D_H)

    def forward(self, X, context="none"):
        source = X if context is None else X[:, :1] if isinstance(context, str) else context
        W, b = self.W_QKV.weight.chunk(3), self.W_QKV.bias.chunk(3)
        Q, K, V = (
            nn.functional.linear(one, W[n], b[n]).unflatten(-1, (self.H, -1)).transpose(1, 2)
            for n, one in enumerate((X, source, source))
        )
        A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
        return self.W_O((A @ V).transpose(1, 2).flatten(-2)), A


def test_a_wrong_default_is_not_told_as_an_order_of_arguments():
    assert "by position it is not" not in said("MultiHeadAttention", OtherDefault)


class Gated(nn.Module):
    """The layers of SwiGLU."""

    def __init__(self, D, D_F):
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(D, D_F, bias=False), nn.Linear(D, D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D, bias=False)


class HalfGate(Gated):
    """The gate is rounded to a few digits: each number has an error of its own."""

    def forward(self, X):
        return self.W_3(F.silu(self.W_1(X).bfloat16()).to(X.dtype) * self.W_2(X))


class ActivatedBefore(Gated):
    """Wrong, but X is used at every position: where numbers are large its derivative there is small, and not 0."""

    def forward(self, X):
        return self.W_3(self.W_1(F.silu(X)) * self.W_2(X))


def test_errors_of_either_sign_are_no_constant_that_is_added():
    assert "one constant that is added" not in said("SwiGLU", HalfGate, seed="one")


def test_a_small_derivative_is_not_told_as_none():
    assert "The derivative of Y with respect to X is 0" not in said("SwiGLU", ActivatedBefore, seed="one")


def test_earlier_and_later_are_said_of_positions_alone():
    wanted = np.full((4, 4), 0.25)
    lower = np.triu(wanted)  # nothing for what stands below the diagonal
    told = [weights._support("A", axes, wanted, lower) for axes in (["N", "N"], ["T", "E"])]
    told = [" ".join(fact.sentence for fact in facts) for facts in told]
    assert "positions earlier than the query's own" in told[0] and "entries along E" in told[1]
    assert "query" not in told[1]


def straight_through(class_logits, distillation_logits, teacher_logits, labels):
    """Right, but that the teacher's decision passes a gradient on."""
    soft = teacher_logits.softmax(dim=-1)
    decided = F.one_hot(teacher_logits.argmax(dim=-1), teacher_logits.shape[-1]) + soft - soft.detach()
    other = -(decided * distillation_logits.log_softmax(dim=-1)).sum(dim=-1).mean()
    return (F.cross_entropy(class_logits, labels) + other) / 2


def test_a_gradient_where_none_should_be_is_told():
    assert "a gradient reaches teacher_logits, and none should" in said("distillation_loss", straight_through)


UNTRUE = [  # exercise, answer of the bank, words that are not true of it
    ("SwiGLU", "ResidualWhereSquare", "as it was given"),  # where the gates are 0, X is added to nothing
    ("SwiGLU", "ResidualWhereSquare", "and should not"),
    ("count_block", "no_norm_for_one_feature", "first position"),  # a small D happens to stand there
    ("distillation_loss", "with_both_terms", "torch.stack"),  # the other values are no pieces of the loss
    ("balance_loss", "squeezed", "One number added to all"),  # what is added changes nothing but the rounding of 1
    ("count_vit", "strides_assumed", "last two axes"),  # there is one
    ("layer_norm", "one_feature_unchanged", "back to weight"),  # where it is 0 by right
    ("mixture_of_experts", "hidden_clamped", "first position along T"),  # in one draw of numbers
]


@pytest.mark.parametrize("name, made, words", UNTRUE)
def test_what_holds_of_a_case_by_chance_is_not_told(name, made, words):
    answer = next(one for one in answers_to(name) if one.name == made)
    for seed in ("sample", "third"):
        result = examine_hidden(freeze(find_exercise(name), seed, grading=True), answer.object)
        assert not result.passed and words not in " ".join(result.message.split())


def test_a_result_beside_what_it_was_made_of_is_told_as_right():
    answer = next(one for one in answers_to("distillation_loss") if one.name == "with_both_terms")
    result = examine(freeze(find_exercise("distillation_loss"), "one"), answer.object)
    assert "The first of them is loss, and right: return it alone." in " ".join(result.message.split())


def answer(exercise, name):
    return next(one.object for one in answers_to(exercise) if one.name == name)


def test_an_open_question_does_not_shut_out_what_gradients_show():
    message = said("next_token_distribution", answer("next_token_distribution", "softmax_over_rows"))
    assert "does the softmax run along that axis" in message


def test_a_weight_that_nothing_depends_on_is_named():
    message = said("GPT", answer("GPT", "SinesAndCosines"))
    assert "No gradient flows from logits back to positions.weight" in message


def test_what_is_infinite_is_told_from_what_is_no_number():
    message = said("perplexity", answer("perplexity", "one_maximum_for_all"))
    assert "is infinite: log of 0" in message and "NaN" not in message


class AllAlike(find_exercise("LoRALinear").reference):
    """Right, but that A starts with ones alone."""

    def __init__(self, D_in, D_out, r, alpha):
        super().__init__(D_in, D_out, r, alpha)
        nn.init.ones_(self.A)


def test_what_a_new_module_should_start_with_is_told():
    message = said("LoRALinear", AllAlike)
    assert "A should hold numbers that differ, and yours holds the same number everywhere" in message


def bank_answer(name, answer):
    return next(one.object for one in answers_to(name) if one.name == answer)


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("normal_float", "filled_up", "something too many in its middle, 240 long, behind the first"),
        ("quantize_blocks", "maximum_over_blocks", "absmax has the size block along blocks"),
        ("prefix_attention", "heads_on_the_batch_axis", "equal, or one of them 1 or missing"),
        ("add_adapters", "deep_copy", "What came back is not the network that was given but another one"),
        ("add_adapters", "names_sorted", "The list names came back changed"),
        ("LoRALinear", "ShortcutForZeros", "an update that is still 0, and begins to learn"),
    ],
)
def test_what_a_wrong_size_or_a_changed_input_looks_like_is_told(name, answer, words):
    assert words in said(name, bank_answer(name, answer), "one")


def test_of_a_byte_that_is_wrong_both_halves_are_told():
    wanted, got = (Output("tensor", "torch.uint8", shape=(2,), values=np.array(one)) for one in ([1, 21], [1, 4]))
    assert numbers("packed", wanted, got) == "expected packed[1] = 21 (halves 1 and 5), yours is 4 (halves 0 and 4)"


def test_bytes_in_square_brackets_are_said_to_be_a_mask():
    def dequantize_blocks(packed, absmax, code, D_out, D_in):
        codes = torch.stack([packed // 16, packed % 16], dim=1)
        return (code[codes].reshape(len(absmax), -1) * absmax[:, None]).flatten()[: D_out * D_in].reshape(D_out, D_in)

    assert "bytes (torch.uint8) in square brackets are a mask" in said("dequantize_blocks", dequantize_blocks)


def test_of_two_wrong_results_both_are_named():
    def quantize_blocks(W, code, block):
        rows = F.pad(W.reshape(-1), (0, -W.numel() % block)).reshape(-1, block)
        absmax = rows.amax(dim=1)  # without abs()
        scaled = rows / torch.where(absmax > 0, absmax, 1)[:, None]
        codes = (scaled[..., None] - code).abs().argmin(dim=-1).flatten()
        return (16 * codes[::2] + codes[1::2]).to(torch.uint8), absmax

    assert "absmax is wrong as well" in said("quantize_blocks", quantize_blocks)


def test_a_zero_that_is_merely_too_small_is_no_place_without_weight():
    assert "where it should be 0" not in said("prefix_attention", bank_answer("prefix_attention", "limited"), "one")
    wanted, got = np.array([[0.4, 0.6, 0]]), np.array([[0.3, 0.5, 0.2]])
    assert Fact(Kind.LEAK, "A") in weights.weight_facts("A", ["N", "M"], wanted, got, 1e-5, {})
    wanted = np.array([[0.4, 0.6 - 1e-40, 1e-40, 0]])
    assert Fact(Kind.LEAK, "A") not in weights.weight_facts("A", ["N", "M"], wanted, np.full((1, 4), 0.25), 1e-5, {})
