"""Unit 05, self-attention and positions: a layer that takes positions, permutation equivariance, three positional encodings."""

EXERCISES = (  # in the assignment's order
    "SelfAttentionLayer",
    "equivariance_gap",
    "LearnedPositions",
    "sinusoidal_encoding",
    "offset_spread",
    "rotary_encoding",
    "add_linear_biases",
)
