"""Unit 05, self-attention and positions: a layer, what permuting does to it, and three ways to tell the order."""

from autograder.exercises.unit_05_self_attention.layer import SelfAttentionLayer
from autograder.exercises.unit_05_self_attention.learned import LearnedPositions
from autograder.exercises.unit_05_self_attention.offsets import offset_spread
from autograder.exercises.unit_05_self_attention.permuting import equivariance_gap
from autograder.exercises.unit_05_self_attention.rotary import rotary_encoding
from autograder.exercises.unit_05_self_attention.waves import sinusoidal_encoding  # noqa: I001 - in the assignment's order

EXERCISES = (
    SelfAttentionLayer,
    equivariance_gap,
    LearnedPositions,
    sinusoidal_encoding,
    rotary_encoding,
    offset_spread,
)
