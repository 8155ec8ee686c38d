"""Unit 02, Bahdanau attention: three scores, weights, contexts, a decoder that looks back, and how well it looks."""

from autograder.exercises.unit_02_bahdanau_attention.additive import additive_scores
from autograder.exercises.unit_02_bahdanau_attention.alignment import alignment_error_rate
from autograder.exercises.unit_02_bahdanau_attention.bilinear import bilinear_scores
from autograder.exercises.unit_02_bahdanau_attention.context import context_vectors
from autograder.exercises.unit_02_bahdanau_attention.decoder import decode_with_attention
from autograder.exercises.unit_02_bahdanau_attention.dot import dot_product_scores
from autograder.exercises.unit_02_bahdanau_attention.step import AttentionStep
from autograder.exercises.unit_02_bahdanau_attention.weights import attention_weights

EXERCISES = (
    dot_product_scores,
    bilinear_scores,
    additive_scores,
    attention_weights,
    context_vectors,
    AttentionStep,
    decode_with_attention,
    alignment_error_rate,
)
