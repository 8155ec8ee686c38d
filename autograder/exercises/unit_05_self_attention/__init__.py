"""Unit 05, self-attention and positions: a layer, what permuting does to it, and three ways to tell the order."""

EXERCISES = (  # in the assignment's order
    "SelfAttentionLayer",
    "equivariance_gap",
    "LearnedPositions",
    "sinusoidal_encoding",
    "rotary_encoding",
    "offset_spread",
)
