"""What answers to units 11 and 15, written by readers who saw the texts alone, asked of every exercise."""

import numpy as np
import torch
from conftest import plain

from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import freeze
from utils.checking.concluding import examine
from utils.checking.explaining.places import place_facts


def graded_message(name, made):
    return plain(examine(freeze(find_exercise(name), "one", grading=True), made).message)


def test_a_parameter_that_is_cut_off_but_not_frozen_is_told():
    made = find_exercise("LoRALinear").reference

    class LoRALinear(made):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.linear.requires_grad_(True)

        def forward(self, X):
            update = made.forward(self, X) - self.linear(X)
            frozen = torch.nn.functional.linear(X, self.linear.weight.detach(), self.linear.bias.detach())
            return frozen + update.detach() - update.detach() + (X @ self.A.T @ self.B.T) * self.alpha / self.r

    assert "requires_grad is still True there" in graded_message("LoRALinear", LoRALinear)


def test_what_is_left_out_of_a_result_is_asked_about_where_no_gradient_arrives():
    made = find_exercise("LoRALinear").reference

    class LoRALinear(made):
        def forward(self, X):
            return super().forward(X) if self.B.any() else self.linear(X)

    message = graded_message("LoRALinear", LoRALinear)
    assert "no gradient reaches" in message and "left out of this result, as by an if?" in message


def test_a_parameter_too_many_of_the_shape_of_another_is_asked_to_be_that_one():
    made = find_exercise("GPT").reference

    class GPT(made):
        def __init__(self, V, N, D, H, D_F, L):
            super().__init__(V, N, D, H, D_F, L)
            self.head = torch.nn.Linear(D, V, bias=False)

    message = graded_message("GPT", GPT)
    assert "head.weight, of the shape of tokens.weight" in message and "tied" in message


def test_the_same_number_everywhere_is_not_said_to_be_of_another_call():
    message = graded_message("induction_scores", lambda A, tokens: A.new_zeros(A.shape[1]))
    assert "another call" not in message


def test_shapes_are_told_by_the_results_own_axes_where_all_sizes_are_1():
    made = find_exercise("GPT").reference

    class GPT(made):
        def forward(self, tokens):
            return super().forward(tokens).squeeze(0)

    assert "expected [B, n, V] = [1, 1, 1]" in plain(
        examine(freeze(find_exercise("GPT"), "one", grading=True), GPT).message
    )


def test_what_is_right_at_one_position_alone_may_be_right_elsewhere_in_parts():
    expected = np.arange(12.0).reshape(3, 4)
    actual = expected + np.array([[1, 1, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0]])
    assert [fact.sentence for fact in place_facts("Y", ["B", "N"], expected, actual, 1e-5)] == [
        "Only at the last position along N is Y right throughout."
    ]
