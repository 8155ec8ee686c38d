"""Which mistake a result is taken for, and which it is not; and what it looks like where none explains it."""

import torch
from conftest import plain


def test_partial_points_come_with_their_reason(examine):
    result = examine("scaled_dot_product_attention", lambda Q, X: _attend(Q, X, dim=1))
    assert (result.points, result.max_points, result.misconception) == (2, 3, "softmax_over_axis_one")
    assert result.message.endswith("2 of 3 points, for: one sequence")


def _attend(Q, X, dim):
    A = (Q @ X.mT / Q.shape[-1] ** 0.5).softmax(dim)
    return A @ X, A


def test_two_mistakes_at_once_are_not_taken_for_either(examine):
    def both(Q, X):
        A = (Q @ X.mT).softmax(-2)
        return A @ X, A

    result = examine("scaled_dot_product_attention", both)
    assert not result.passed
    assert result.misconception is None


def test_a_mistake_that_the_code_elsewhere_does_not_make_is_no_explanation(examine):
    result = examine("grid_to_vectors", lambda G: G.flatten(2).mT.squeeze())  # on one image alone like `images_joined`
    assert (result.problem, result.misconception) == ("wrong_shape", None)
    assert "squeeze()" in result.message


def test_right_results_in_another_order_are_told_so(examine):
    def turned(s, G, W, U, v):
        E = torch.tanh((s @ W)[:, None, None] + G.permute(0, 2, 3, 1) @ U) @ v
        A = E.flatten(1).softmax(dim=-1).view_as(E)
        return A, (A[:, None] * G).sum(dim=(2, 3))

    result = examine("grid_attention", turned)
    assert not result.passed
    assert "should return c, A, and returns A, c" in plain(result.message)


def test_a_list_too_long_to_travel_is_not_counted(examine):
    result = examine("grid_to_vectors", lambda G: [x for rows in G.flatten(2).mT for x in rows])
    assert "a list of 16 or more" in plain(result.message)


def test_whole_numbers_that_leave_torch_are_not_told_of_gradients(examine):
    result = examine("greedy_decode", lambda decoder, s, max_length: torch.ones(len(s), 2, dtype=torch.long).numpy())
    assert result.problem == "not_a_tensor" and "gradient" not in result.message
