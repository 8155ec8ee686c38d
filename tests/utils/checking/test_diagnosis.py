"""Which mistake a result is taken for, and which it is not; and what it looks like where none explains it."""

import pytest
import torch
from conftest import plain

from autograder.bank import catalogue


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


def mistaken(name):
    """A mistake of `rotary_encoding` by its name in the bank."""
    return next(one.object for one in catalogue.find_exercise("rotary_encoding").misconceptions if one.name == name)


def in_halves_and_neighbours(halves, neighbours):
    def rotary(X, positions, base=10000.0, interleaved=False):
        return (neighbours if interleaved else halves)(X, positions, base, interleaved)

    return rotary


def test_of_two_parts_with_a_mistake_each_the_one_that_is_shown_has_its_name(examine):
    made = in_halves_and_neighbours(mistaken("turned_backwards"), mistaken("positions_from_one"))
    result = examine("rotary_encoding", made)
    assert (result.points, result.misconception) == (0, "turned_backwards")


def test_a_mistake_in_what_is_written_comes_before_what_is_not(examine):
    def unwritten(*_):
        raise NotImplementedError

    result = examine("rotary_encoding", in_halves_and_neighbours(mistaken("turned_backwards"), unwritten))
    assert (result.points, result.misconception) == (0, "turned_backwards")
    assert "Another part is not written yet" in plain(result.message)
    reference = catalogue.find_exercise("rotary_encoding").reference
    result = examine("rotary_encoding", in_halves_and_neighbours(unwritten, reference))
    assert (result.points, result.problem) == (2, "unfinished")
    assert "Another part" not in result.message


def test_wrong_weights_are_described_before_what_is_made_with_them(examine):
    def sharp(Q, X):
        A = (3 * Q @ X.mT / Q.shape[-1] ** 0.5).softmax(dim=-1) ** 2
        return A @ X, A

    said = plain(examine("scaled_dot_product_attention", sharp).message)
    assert "Rows of A sum to less than 1; each should sum to 1 over N_X, the last axis." in said

    def doubled(Q, X):
        Y, A = _attend(Q, X, dim=-1)
        return Y + Y * Y, A

    assert "A is right, Y is not: look at what is done with A, and at what else goes into Y." in plain(
        examine("scaled_dot_product_attention", doubled).message
    )


@pytest.mark.parametrize(
    ("flops", "said"),
    [
        (lambda N, D: (8 * N.int() * D * D + 4 * N.int() * N.int() * D).long(), "past what 32 bits hold"),
        (lambda N, D: 24 * N * D * D + 12 * N * N * D, "Each number of flops is 3 times the right one"),
    ],
)
def test_whole_numbers_are_compared_as_such(examine, flops, said):
    result = examine("attention_cost", lambda N, D, H, size: (flops(N, D), H * N * N * size))
    assert said in plain(result.message)


def test_a_small_term_is_no_constant_factor(examine):
    result = examine("attention_cost", lambda N, D, H, size: (8 * N * D * D + 4 * N * N * D + N * D, H * N * N * size))
    assert result.misconception is None and "factor" not in result.message


def test_an_error_is_explained_by_the_line_it_comes_from(examine):
    def spread(E):
        N = E.shape[-1]
        return torch.stack([E.diagonal(k).amax(-1) - E.diagonal(k).amin(-1) for k in range(1 - N, N)], dim=-1)

    assert "diagonal(k) takes the first two axes" in plain(examine("offset_spread", spread).message)


def test_what_a_line_looks_like_does_not_decide_alone_what_its_error_is(examine):
    def spread(E):
        return E.diagonal(offset, dim1=-2, dim2=-1)  # noqa: F821 - nothing defines it, which is the point

    said = plain(examine("offset_spread", spread).message)
    assert "A name is used that nothing defines" in said and "diagonal(k) takes" not in said

    def added(Q, X):
        return _attend(Q @ X.mT + torch.zeros(7, 11), X, dim=-1)

    said = plain(examine("scaled_dot_product_attention", added).message)
    assert "In sums and quotients all sizes are compared in this way" in said


def test_what_the_students_own_test_refuses_is_said_to_be_allowed(examine):
    def refusing(Q, X):
        if Q.ndim > 2: raise ValueError("one sequence only")  # fmt: skip  # noqa: E701
        return _attend(Q, X, dim=-1)

    said = plain(examine("scaled_dot_product_attention", refusing).message)
    assert (
        "A raise or an assert of your own refuses an input that must be accepted: ValueError: one sequence only" in said
    )


def test_a_default_that_is_missing_is_asked_for(examine):
    encoding = catalogue.find_exercise("sinusoidal_encoding").reference
    said = plain(examine("sinusoidal_encoding", lambda positions, D, base: encoding(positions, D, base)).message)
    assert "It is called without base here" in said
