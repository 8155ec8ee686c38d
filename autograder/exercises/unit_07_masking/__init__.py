"""Unit 07, masking: who may see whom, what a sequence's probability is, and what need not be computed twice."""

from autograder.exercises.unit_07_masking import (  # noqa: F401 - declare more of the mistakes in the others
    exponentials,
    feeding,
    losses,
    projections,
)
from autograder.exercises.unit_07_masking.causal import causal_mask
from autograder.exercises.unit_07_masking.generation import generate_with_cache
from autograder.exercises.unit_07_masking.layer import MaskedMultiHeadAttention
from autograder.exercises.unit_07_masking.padding import padding_mask
from autograder.exercises.unit_07_masking.probability import sequence_log_probability
from autograder.exercises.unit_07_masking.softmax import masked_softmax

EXERCISES = (
    causal_mask,
    padding_mask,
    masked_softmax,
    MaskedMultiHeadAttention,
    sequence_log_probability,
    generate_with_cache,
)
