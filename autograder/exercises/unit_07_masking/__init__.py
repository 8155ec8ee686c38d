"""Unit 07, masking: which queries may attend to which keys, how probable a sequence is, and on what an output depends."""

EXERCISES = (  # in the assignment's order
    "causal_mask",
    "padding_mask",
    "masked_softmax",
    "MaskedMultiHeadAttention",
    "sequence_log_probability",
    "find_dependencies",
    "packed_mask",
)
