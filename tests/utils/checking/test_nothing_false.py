"""No sentence is false of the answer it is told of: what is named agrees with what passes, and what is claimed was seen."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from examining import examine_hidden
from torch import nn

from autograder.bank.cases.drawing import draw
from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import expect, freeze, frozen_exercise
from utils.checking.explaining.facts import Kind
from utils.checking.explaining.misconceptions import diagnose
from utils.checking.explaining.relations import facts
from utils.checking.explaining.scales import scale_facts
from utils.checking.messages.shapes import symbolic
from utils.checking.observing.observe import observe


@cache
def graded(name):
    return freeze(find_exercise(name), "six", grading=True)


@pytest.fixture
def told(examine):
    """told(name, object): (the result, its message in one line) of a self-check, or of grading."""

    def told(name, made, grading=False):
        result = examine_hidden(graded(name), made) if grading else examine(name, made)
        assert not result.passed
        return result, " ".join(result.message.split())

    return told


def one_image_without_its_batch(G):
    """Right, but for a single image, which loses its batch axis: there the cells of all images are in one list, by chance."""
    X = G.flatten(-2).mT
    return X[0] if len(X) == 1 else X


def test_a_declared_mistake_that_would_fail_on_a_plain_case_that_passes_is_not_named(told):
    result, said = told("grid_to_vectors", one_image_without_its_batch)
    assert result.misconception is None and "one long list" not in said
    assert "X has one axis too few: one of size 1 is gone" in said


def by_std(X, weight, bias, eps):
    return (X - X.mean(dim=-1, keepdim=True)) / (X.std(dim=-1, correction=0, keepdim=True) + eps) * weight + bias


def by_root(X, weight, bias, eps):
    variance = X.var(dim=-1, correction=0, keepdim=True)
    return (X - X.mean(dim=-1, keepdim=True)) / (variance.sqrt() + eps) * weight + bias


def test_gradients_that_become_nan_are_told_where_they_do_alone(told):
    for made, nan in ((by_std, False), (by_root, True)):
        result, said = told("layer_norm", made, grading=True)
        assert result.misconception == "eps_outside_the_root"
        assert ("gradients become NaN" in said) == nan and "{NaN}" not in said


def copy_dropped(E, mask):
    E.masked_fill(~mask, -torch.inf)
    return E.softmax(dim=-1)


def test_an_input_whose_copy_is_dropped_is_not_said_to_be_unused(told):
    _, said = told("masked_softmax", copy_dropped, grading=True)
    assert "Is mask used, and is what comes of it kept, such as the copy that masked_fill returns?" in said


class Gated(nn.Module):
    """SwiGLU, with what `gate` and `up` do of their own."""

    def __init__(self, D, D_F):
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(D, D_F, bias=False), nn.Linear(D, D_F, bias=False)
        self.W_3 = nn.Linear(D_F, D, bias=False)

    def gate(self, X):
        return F.silu(self.W_1(X))

    def forward(self, X):
        return self.W_3(self.gate(X) * self.W_2(X))


class Overflowing(Gated):
    def gate(self, X):
        Z = self.W_1(X)
        return Z * Z.exp() / (1 + Z.exp())


class OneWayCut(Gated):
    def gate(self, X):
        return F.silu(self.W_1(X.detach()))


class NoReturn(Gated):
    def forward(self, X):
        self.W_3(self.gate(X) * self.W_2(X))


class HelperWithoutReturn(Gated):
    def gate(self, X):
        F.silu(self.W_1(X))


def test_nan_is_not_put_down_to_a_mask_where_nothing_is_hidden(told):
    _, said = told("SwiGLU", Overflowing)
    assert "contains NaN" in said and "exp of a large number overflows" in said and "mask" not in said


def test_a_wrong_gradient_has_the_headline_of_gradients_in_a_self_check(examine):
    assert examine("SwiGLU", OneWayCut).message.startswith("✗ SwiGLU · gradients: ")


@pytest.mark.parametrize("made", [NoReturn, HelperWithoutReturn])
def test_a_forgotten_return_is_told_as_that(told, made):
    _, said = told("SwiGLU", made)
    assert "Nothing is returned: the result is None." in said or "Something that this line uses is None" in said
    assert "`return" in said


def a_helper_without_return(Q, X):
    def weights(E):
        E.softmax(dim=-1)

    A = weights(Q @ X.mT / math.sqrt(Q.shape[-1]))
    return X, A


def test_a_result_that_is_none_comes_before_the_shape_of_another(told):
    _, said = told("scaled_dot_product_attention", a_helper_without_return)
    assert "A is None in what the function returns" in said and "has the size" not in said


def anything_for_no_position(A, tokens):
    right = find_exercise("induction_scores").reference
    scores = right(A, tokens)
    return scores + 1 if not scores.any() else scores


def test_large_numbers_are_not_blamed_where_none_is_large(told):
    result, said = told("induction_scores", anything_for_no_position)
    failed = [one for one in result.verdicts if not one.passed]
    assert any(one.extreme for one in failed) and "large" not in said


def random_numbers(E):
    return E + torch.randn_like(E)


def test_what_depends_on_chance_is_not_blamed_on_weights_where_there_are_none(told):
    _, said = told("add_linear_biases", random_numbers)
    assert "depend on chance, or on an earlier call." in said and "__init__" not in said


def test_an_argument_that_is_not_used_is_not_told_as_something_kept():
    exercise = find_exercise("layer_norm")
    one = draw(exercise, "six")[0]
    other = replace(one, inputs={**one.inputs, "eps": 0.5})
    frozen = frozen_exercise(exercise, [expect(exercise, one), expect(exercise, other)])
    seen = observe(lambda X, weight, bias, eps: exercise.reference(X, weight, bias, 0.5), one)
    assert not any(fact.kind is Kind.EARLIER for fact in facts(frozen, frozen.cases[0], seen))


def missing_bias(size, P, C, D, L, D_F, classes):
    return find_exercise("count_vit").reference(size, P, C, D, L, D_F, classes) - L * D_F


def table_too_many(size, P, C, D, L, D_F, classes):
    return find_exercise("count_vit").reference(size, P, C, D, L, D_F, classes) + 2 * D * D * L


@pytest.mark.parametrize(
    ("made", "said"), [(missing_bias, "is L·D_F too small."), (table_too_many, "is 2·D²·L too large.")]
)
def test_a_wrong_count_is_told_by_its_difference(told, made, said):
    assert said in told("count_vit", made)[1]


def wraps_at_64_bits(size, P, C, D, L, D_F, classes):
    right = find_exercise("count_vit").reference(size, P, C, D, L, D_F, classes)
    return right * 4 // 4


def test_numbers_past_64_bits_are_not_said_to_be_past_32(told):
    _, said = told("count_vit", wraps_at_64_bits, grading=True)
    assert "past what 64 bits hold" in said and "32 bits" not in said


def adapted_twice(network, names, adapter):
    network.requires_grad_(False)
    for parent in list(network.modules()):
        for name, layer in parent.named_children():
            if name in names and isinstance(layer, nn.Linear) and adapter(layer) is not None:
                setattr(parent, name, adapter(layer))
    return network


def test_an_adapter_that_is_called_twice_for_a_layer_says_so(told):
    assert "was given the same layer twice" in told("add_adapters", adapted_twice)[1]


def cut_at_20(logits, tokens, lengths):
    loss, _ = find_exercise("perplexity").reference(logits, tokens, lengths)
    return loss, loss.clamp(max=20).exp()


def test_a_perplexity_is_examined_above_a_loss_of_20(told):
    result, said = told("perplexity", cut_at_20, grading=True)
    assert result.misconception == "perplexity_cut_off" and "above some bound, such as 20" in said


def turned_backwards_for_neighbours(X, positions, base, interleaved):
    right = find_exercise("rotary_encoding").reference
    return right(X, -positions if interleaved else positions, base, interleaved)


def test_a_mistake_that_is_made_for_one_value_of_an_argument_is_told_with_it(told):
    result, said = told("rotary_encoding", turned_backwards_for_neighbours)
    assert result.misconception == "turned_backwards"
    assert "it fails exactly where interleaved is True. The pairs are rotated by −φ" in said


class ExchangedPoolings(find_exercise("VisionTransformer").reference):
    """The mean of all tokens where the class token is asked for, and the class token where the mean is."""

    def forward(self, X):
        tokens = self.norm(self.blocks(X) if not isinstance(self.blocks, nn.ModuleList) else self._through(X))
        return self.head(tokens[:, 0] if self.mean_pooling else tokens.mean(dim=1))

    def _through(self, X):
        for block in self.blocks:
            X = block(X)
        return X


def test_whatever_an_argument_says_is_not_told_where_another_part_belies_it(told):
    _, said = told("VisionTransformer", ExchangedPoolings)
    assert "whatever mean_pooling says" not in said


@pytest.mark.parametrize("universal", [True, False])
def test_a_mistake_is_universal_by_what_its_author_declares_and_not_by_the_words_of_its_sentence(told, universal):
    result, _ = told("VisionTransformer", ExchangedPoolings)
    exercise = frozen_exercise(find_exercise("VisionTransformer"), [])
    sentences = dict.fromkeys(exercise.misconceptions, "A sentence." if universal else "So it is, whatever comes in.")
    exercise = replace(exercise, misconceptions=sentences, universal=exercise.universal if universal else ())
    failed = [verdict for verdict in result.verdicts if not verdict.passed]
    named = diagnose(exercise, result.verdicts, failed).misconception
    assert (named in exercise.misconceptions) != universal


def test_axes_of_one_size_have_their_own_names_from_the_last_on():
    sizes = {"D": 1, "B_1": 3, "B_2": 2, "N": 1}
    assert symbolic((3, 2, 1, 1), sizes, ("*S", "D")) == "[B_1, B_2, N, D]"


def other_sign_and_empty_rows_left(E, mask):
    return (-E).masked_fill(~mask, -torch.inf).softmax(dim=-1)


def test_what_one_would_get_exactly_is_not_told_where_another_part_comes_out_otherwise(told):
    _, said = told("masked_softmax", other_sign_and_empty_rows_left)
    assert "exactly what one would get if E had the opposite sign" not in said


def a_number_where_nothing_repeats(A, tokens):
    scores = find_exercise("induction_scores").reference(A, tokens)
    return scores if (scores != 0).any() else scores.new_zeros(())


def test_of_zeros_alone_no_sum_and_no_mean_is_told(told):
    _, said = told("induction_scores", a_number_where_nothing_repeats, grading=True)
    assert "sum over" not in said and "mean over" not in said and "of what is asked for" not in said


def as_many_experts_as_the_greediest_token_has(X, gates, W_in, W_out):
    """Right numbers: experts that a token did not choose are multiplied by 0, and their gates get a gradient."""
    weights, chosen = gates.topk(max(1, int((gates != 0).sum(dim=-1).max())), dim=-1)
    Y = torch.zeros_like(X)
    for expert, (first, second) in enumerate(zip(W_in, W_out)):
        t, place = (chosen == expert).nonzero(as_tuple=True)
        Y = Y.index_add(0, t, weights[t, place, None] * (F.gelu(X[t] @ first) @ second))
    return Y


def test_a_gradient_where_none_should_be_is_not_said_to_be_cut_off(told):
    _, said = told("mixture_of_experts", as_many_experts_as_the_greediest_token_has)
    assert "detached" not in said and "not 0 at some places where it should be" in said


def test_numbers_that_are_right_beside_the_largest_alone_are_not_said_to_be_right_to_some_digits():
    wanted = np.array([[1e4, 2e4], [1.0, 2.0]])
    for got, right in ((wanted * (1 + 1e-4), True), (wanted + [[0.0], [0.5]], False)):
        (fact,) = scale_facts("Y", wanted, got, 1e-5, {}, vectors=False)
        assert ("right to about" in fact.sentence) == right
        assert ("off by little beside its largest" in fact.sentence) != right


def test_size_is_not_blamed_where_large_numbers_fail_in_a_small_type_alone(told):
    def counted_in_the_type_of_code(packed, absmax, code, D_out, D_in):
        block = 2 * len(packed) // len(absmax)
        place = torch.arange(D_out * D_in, device=code.device).to(code.dtype)  # bfloat16 skips numbers above 256
        number = torch.div(place, block, rounding_mode="floor").long().clamp(max=len(absmax) - 1)
        codes = torch.stack([packed.long() // 16, packed.long() % 16], dim=1).flatten()
        return (code[codes][: D_out * D_in] * absmax[number]).view(D_out, D_in)

    _, said = told("dequantize_blocks", counted_in_the_type_of_code, grading=True)
    assert "large ones do not" not in said, said
