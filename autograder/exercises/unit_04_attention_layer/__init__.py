"""Unit 04, the attention layer: from one query's scores to cross-attention, and a measurement of why √D."""

from autograder.exercises.unit_04_attention_layer.attention import scaled_dot_product_attention
from autograder.exercises.unit_04_attention_layer.cross_attention import CrossAttentionLayer
from autograder.exercises.unit_04_attention_layer.gradient import gradient_through_softmax
from autograder.exercises.unit_04_attention_layer.layer import AttentionLayer
from autograder.exercises.unit_04_attention_layer.pooling import attention_pooling
from autograder.exercises.unit_04_attention_layer.scores import attention_scores
from autograder.exercises.unit_04_attention_layer.softmax import stable_softmax  # noqa: I001 - in the assignment's order

EXERCISES = (
    attention_scores,
    stable_softmax,
    attention_pooling,
    scaled_dot_product_attention,
    AttentionLayer,
    CrossAttentionLayer,
    gradient_through_softmax,
)
