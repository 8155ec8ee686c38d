"""What an author declares of a misconception travels to whoever judges: in the frozen exercise, and in students' files."""

from autograder.bank.catalogue import find_exercise
from autograder.bank.declaration import Case, Exercise
from autograder.bank.freezing import frozen_exercise, self_check
from utils.checking.packs.packed_exercise import unpack_exercise

POOLINGS = ("always_the_class_token", "always_the_mean", "always_the_mean_of_all_tokens")


def halves(X):
    return X / 2


halves.__module__ = "autograder.exercises.unit_01_sample"


def twice(X):
    """The numbers come twice as large, whatever X holds."""
    return X * 2


def test_a_misconception_speaks_of_every_result_where_its_author_says_so_and_not_by_a_word_of_its_sentence():
    exercise = Exercise(halves, points=1, section="", outputs="Y", formula="", cases=[Case("any")])
    assert exercise.misconception(twice) is twice and exercise.misconception(universal=True)(twice) is twice
    by_itself, marked = exercise.misconceptions
    assert (by_itself.universal, marked.universal) == (False, True)
    assert by_itself.sentence == marked.sentence == "The numbers come twice as large, whatever X holds."


def test_which_misconceptions_speak_of_every_result_stands_in_the_frozen_exercise_and_in_its_packed_form():
    frozen = frozen_exercise(find_exercise("VisionTransformer"), [])
    assert set(POOLINGS) <= set(frozen.universal) < set(frozen.misconceptions)
    assert unpack_exercise(self_check(frozen)).universal == frozen.universal
